"""Compilation of entry points when they are first used; the code is kept on disk.

A file of the cache (`limber.cache`) is named after everything on which its code depends: the compiler, the processor
and the content of the source files, so a changed kernel is never run from a stale cache.
"""

from __future__ import annotations

import gc
import hashlib
import pickle
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path

from limber import cache as disk
from limber import forks
from limber.errors import CompileError
from limber.interrupts import interrupts_wait, keep_interrupts

_lock = forks.lock()


@cache
def _sources(module: str) -> str:
    """A digest of the source files behind the code of a module: those of its package, of `native` and of `kernels`."""
    digest = hashlib.sha256()
    packages = sorted({"limber.kernels", "limber.native", module.rpartition(".")[0]})
    for package in packages:
        (folder,) = import_module(package).__path__
        for file in sorted(Path(folder).glob("*.py")):
            digest.update(f"{package}.{file.name}".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _machine() -> str:
    """A digest of the compiler and of the processor."""
    import llvmlite  # noqa: PLC0415
    import numba  # noqa: PLC0415
    from numba.core.registry import cpu_target  # noqa: PLC0415

    target = cpu_target.target_context.codegen().magic_tuple()
    parts = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, target)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _announce(text: str) -> None:
    print(f"limber: {text}", file=sys.stderr, flush=True)


class Library:
    """The entry points of one module, each compiled when it is first asked for.

    module : full name of a module whose functions are made by `limber.native.decorators`.
    """

    def __init__(self, module: str):
        self._module = module
        self._results: dict = {}  # Numba's results, by entry point
        self._addresses: dict[str, int] = {}

    def load(self, name: str) -> Callable:
        """The entry point `name`, for calls from Python; it is compiled if this machine has not done so yet.

        It raises a TypeError for arguments of other types than its signature has.
        """
        return self._result(name).entry_point

    def address(self, name: str) -> int:
        """The address of the entry point `name`, for calls from compiled code."""
        if name not in self._addresses:
            with _lock:  # the next lines link the code
                compiled = self._result(name)
                wrapper = compiled.fndesc.llvm_cfunc_wrapper_name
                self._addresses[name] = compiled.library.get_pointer_to_function(wrapper)
        return self._addresses[name]

    def _result(self, name: str):
        if (
            name not in self._results
        ):  # an entry point that is loaded needs no lock, which another thread may hold for long
            with _lock:
                if name not in self._results:
                    self._results[name] = _compiled(self._module, name)
        return self._results[name]


def _compiled(module: str, name: str):
    """Numba's result for an entry point, from the cache or compiled now."""
    with interrupts_wait():  # this imports Numba
        function = getattr(import_module(module), name)
    if not hasattr(function, "overloads"):  # Numba did not compile it
        raise CompileError(
            "the environment variable NUMBA_DISABLE_JIT is set, but the numeric functions of Limber run only when "
            "compiled. "
            "Unset it and start Python again."
        )
    file = f"kernels/{_sources(module)}/{name}-{_machine()}.bin"
    passed_over: list[BaseException] = []
    with interrupts_wait():  # an interrupt would look like a damaged file
        found = _rebuilt(function.targetctx, disk.read(file))
    with keep_interrupts(passed_over):
        if found is None:
            _announce(f"compiling {name} for this machine, once ...")
            start = time.perf_counter()
            with _without_collections():
                function.compile(function.arguments)
            _announce(f"compiled {name} in {time.perf_counter() - start:.1f} s")
    if passed_over:
        raise passed_over[0]
    if found is None:
        (found,) = function.overloads.values()
        disk.keep(file, _reduced(found))
    return found


@contextmanager
def _without_collections() -> Iterator[None]:
    """Disable garbage collection: a compilation makes millions of objects that stay, and checking them takes a tenth of its time.

    What it leaves is collected at its end, and not in the midst of a run, where thousands of weak references of Numba would
    pass over what the handler of a signal raises.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
            gc.collect()


def _reduced(compiled) -> bytes:
    """A compilation result of Numba as bytes, in the form of Numba's own cache."""
    from numba.core.serialize import dumps  # noqa: PLC0415

    # addresses would mean nothing to another process
    assert not compiled.library.has_dynamic_globals
    return dumps(compiled._reduce())


def _rebuilt(context, content: bytes | None):
    """The compilation result of Numba that was reduced to `content`, or None."""
    from numba.core.compiler import CompileResult  # noqa: PLC0415
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415

    if content is None:
        return None
    context.refresh()
    try:
        with global_compiler_lock:
            return CompileResult._rebuild(context, *pickle.loads(content))
    except Exception:  # whatever the content is, it is not the code that was kept
        return None
