"""The scalar layer under every kernel: decorator and elementary functions.

A kernel module imports its decorator and its elementary functions from here and from
nowhere else.  `limber.kernels.plain` loads the same kernel files a second time with
this module replaced, so that they run as ordinary Python on any scalar type.
"""

from math import cos, log, sin, sqrt

import numba

__all__ = ["OPTIONS", "cos", "inlined", "kernel", "log", "sin", "sqrt"]

#: Rounding may change (fused multiply-add, reassociation); NaN and infinity keep their meaning,
#: which the input checks rely on.
_FASTMATH = {"contract", "reassoc", "nsz", "arcp"}

#: What all compiled code of limber has in common.
OPTIONS = {"fastmath": _FASTMATH, "error_model": "numpy", "nogil": True}

#: Kernels are called by kernels only, on raw pointers: they need no way in from Python.
kernel = numba.njit(**OPTIONS, no_cpython_wrapper=True, no_cfunc_wrapper=True)
#: Kernels that return many numbers to one caller: a call would pass them through memory.
inlined = numba.njit(**OPTIONS, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
