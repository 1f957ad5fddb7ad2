"""The scalar layer under every kernel: decorator and elementary functions.

A kernel module imports its decorator and its elementary functions only from here.
`limber.kernels.plain` loads the same kernel files a second time with this module
replaced, so that they run as ordinary Python on any scalar type.
"""

from math import cos, log, sin, sqrt

import numba

from .pipeline import PartCompiler

__all__ = ["OPTIONS", "cos", "inlined", "kernel", "log", "sin", "sqrt"]

#: Rounding may change (fused multiply-add, reassociation).  NaN and infinity keep their meaning, because the
#: checks of inputs rely on it.
_FASTMATH = {"contract", "reassoc", "nsz", "arcp"}

#: The options of all compiled code.
OPTIONS = {"fastmath": _FASTMATH, "error_model": "numpy", "nogil": True}

#: Kernels are called only by other compiled code, on raw pointers, so they need no wrapper for Python.
kernel = numba.njit(
    **OPTIONS, pipeline_class=PartCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True
)
#: For kernels that take or return many numbers at a single place: a call would pass these through memory, and a
#: processor waits 5 ns where they are read in other pieces than they were written in.
inlined = numba.njit(
    **OPTIONS,
    pipeline_class=PartCompiler,
    forceinline=True,
    no_cpython_wrapper=True,
    no_cfunc_wrapper=True,
)
