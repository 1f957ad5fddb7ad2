"""How Numba compiles kernels: each function once.

Numba optimizes every function together with all that it calls, and makes machine code of it.  A function in the midst of a
tree of calls is then optimized once for every level above it, and nobody ever calls its own machine code.  Here
a function that only compiled code calls stays as it was lowered.  The entry point at the top links all functions
below it, is optimized as a whole, and becomes machine code.

The passes over a function are those of Numba that kernels have a use for: kernels hold no closures, literal arguments,
`with` blocks, exceptions or arrays.
"""

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)


class _Part(JITCodeLibrary):
    """The code of a function that entry points link."""

    _complete = None

    def finalize(self):
        """Leave the code as it is."""
        self._finalized = True

    def _get_module_for_linking(self):
        """The function with all below it, for code that others compile with Numba."""
        if self._complete is None:
            self._complete = super()._get_module_for_linking().clone()
            for library in _callers_first(self._linking_libraries):
                self._complete.link_in(library._get_module_for_linking(), preserve=True)
        return self._complete


class _Alone:
    """The code of one function without those below it, as `_Whole` links it."""

    def __init__(self, part):
        self._reload_init = getattr(part, "_reload_init", set())  # Numba 0.62 has none
        self._part = part

    def _get_module_for_linking(self):
        return JITCodeLibrary._get_module_for_linking(self._part)


class _Whole(JITCodeLibrary):
    """The code of an entry point."""

    def finalize(self):
        """Link all functions below the entry point, then optimize and make machine code."""
        self._linking_libraries = _callers_first(self._linking_libraries)
        super().finalize()

    def _optimize_final_module(self):
        """Optimize twice: the second time finds small functions that are better part of their callers, 2 % of a sweep."""
        super()._optimize_final_module()
        super()._optimize_final_module()
        missing = [f.name for f in self._final_module.functions if f.is_declaration]
        missing = [name for name in missing if name.startswith("_ZN")]  # compiled by Numba
        if missing:
            raise AssertionError(f"not linked: {', '.join(missing)}")


def _callers_first(libraries):
    """These libraries and all below them, each after those that call it.

    The linker takes a function only if what it has linked so far calls it.
    """
    seen, done = set(), []

    def visit(library):
        if library not in seen:
            seen.add(library)
            for below in library._linking_libraries if isinstance(library, _Part) else ():
                visit(below)
            done.append(library)

    for library in libraries:
        visit(library)
    return [_Alone(x) if isinstance(x, _Part) else x for x in reversed(done)]


def _with_library(state, kind):
    state.library = kind(state.targetctx.codegen(), state.func_id.func_qualname)
    state.library.enable_object_caching()


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerPart(NativeLowering):
    """Lowering of a function that entry points link."""

    _name = "lower_part"

    def run_pass(self, state):
        """Lower, and let other functions call the result."""
        _with_library(state, _Part)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state["cr"]
        fndesc, library = lowered.fndesc, state.library
        # a name for Numba's tables: a function without an address
        name = _dynfunc.make_function(
            fndesc.lookup_module(), fndesc.qualname, "", 0, lowered.env, (library,)
        )
        state.targetctx.insert_user_function(name, fndesc, [library])
        state["cr"] = lowered._replace(cfunc=name)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class LowerWhole(NativeLowering):
    """Lowering of an entry point."""

    _name = "lower_whole"

    def run_pass(self, state):
        """Lower, link and make machine code."""
        _with_library(state, _Whole)
        return super().run_pass(state)


class _Passes(CompilerBase):
    lowering = NativeLowering

    def define_pipelines(self):
        """The passes over a function."""
        passes = PassManager("kernels")
        passes.add_pass(TranslateByteCode, "analyzing bytecode")
        passes.add_pass(FixupArgs, "fix up args")
        passes.add_pass(IRProcessing, "processing IR")
        passes.add_pass(GenericRewrites, "constant indices")
        passes.add_pass(ReconstructSSA, "ssa")
        passes.add_pass(NopythonTypeInference, "nopython frontend")
        passes.add_pass(PreLowerStripPhis, "remove phis nodes")
        passes.add_pass(IRLegalization, "ensure IR is legal prior to lowering")
        passes.add_pass(AnnotateTypes, "annotate types")
        passes.add_pass(self.lowering, "lowering")
        passes.add_pass(NoPythonBackend, "nopython mode backend")
        passes.finalize()
        return [passes]


class PartCompiler(_Passes):
    """Compiles functions that entry points link."""

    lowering = LowerPart


class WholeCompiler(_Passes):
    """Compiles entry points."""

    lowering = LowerWhole
