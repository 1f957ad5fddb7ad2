"""The scalar layer under every kernel: decorator and elementary functions.

A kernel module imports its decorator and its elementary functions only from here.
`limber.kernels.plain` loads the same kernel files a second time with this module
replaced, so that they run as ordinary Python on any scalar type.
"""

from math import cos, log, sin, sqrt

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.typed_passes import NopythonTypeInference

__all__ = ["OPTIONS", "cos", "inlined", "kernel", "log", "sin", "sqrt"]

#: Rounding may change (fused multiply-add, reassociation).  NaN and infinity keep their meaning, because the
#: checks of inputs rely on it.
_FASTMATH = {"contract", "reassoc", "nsz", "arcp"}

#: The options of all compiled code.
OPTIONS = {"fastmath": _FASTMATH, "error_model": "numpy", "nogil": True}


class _Part(JITCodeLibrary):
    """The code of a kernel, which is optimized and becomes machine code in the entry points that call it, and nowhere else."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """Zero, which means that there is no machine code of this name."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self):
        """Whose `set_env` Numba calls: nothing of Python's is to be set in machine code that is not there."""
        return self

    def set_env(self, env_name, env):
        pass


@register_pass(mutates_CFG=False, analysis_only=True)
class _AsPart(AnalysisPass):
    """Lower the function into a `_Part`."""

    _name = "lower_as_part"

    def __init__(self):
        AnalysisPass.__init__(self)

    def run_pass(self, state):
        state.library = _Part(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class _KernelCompiler(CompilerBase):
    """Numba's compiler, which by itself would optimize every kernel together with all that it calls, at each level of calls anew."""

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_AsPart, NopythonTypeInference)
        passes.finalize()
        return [passes]


_PART = {
    **OPTIONS,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _KernelCompiler,
}
#: Kernels are called only by other compiled code, on raw pointers, so they need no wrapper for Python.
kernel = numba.njit(**_PART)
#: For kernels that return many numbers to a single caller: a call would pass the numbers through memory.
inlined = numba.njit(**_PART, forceinline=True)
