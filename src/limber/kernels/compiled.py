"""Compile the entry points when first used, and keep them on disk.

An entry of the cache (`limber.cache`) is named after all that its code depends on: the content of every
kernel file, so that a changed kernel is never run from a stale cache, the compiler and the processor.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from limber import cache as disk
from limber import forks
from limber.errors import CompileError
from limber.interrupts import heard

_lock = forks.lock()
_loaded: dict = {}  # Numba's results, by entry point

#: Functions of the position alone, and of position and speeds.
POSITION = ("mass_matrix", "potential_energy", "pose", "jacobian")
MOTION = ("kinetic_energy", "momentum", "qdot", "integrate", "spins")


@cache
def _signatures() -> dict[str, tuple]:
    """Argument types of the entry points, by name."""
    from numba import types  # noqa: PLC0415

    from limber.kernels.borrowed import Vector  # noqa: PLC0415

    f, i = types.float64, types.int64
    x, ints = Vector(f), Vector(i)
    here, there = types.CPointer(i), types.CPointer(f)
    model, tail = (i, i, ints, x), (x, x, i, i)
    signatures: dict[str, tuple] = {
        "dynamics": (*model, ints, x, x, x, x, *tail),
        "of_position": (*model, i, i, x, *tail),
        "of_motion": (*model, f, x, x, *tail),
        "node_accelerations": (ints, x, i, i, x, x, x, *tail),
    }
    signatures["judge_pivots"] = (i, ints, x, x, x, x, x)
    for name in ("articulated", "ruthless", "composite", "newton_euler", "wrench"):
        signatures[f"{name}_sweep"] = (here, *[there] * 5, i, here, there, there)
    for name in POSITION + MOTION:
        signatures[name] = (here, *[there] * 4, i, i, f, there)
    signatures["simulate"] = (ints, i, *[x] * 10, i)
    signatures["engine_rates"] = (here, f, there, there)
    signatures["engine_forces"] = (here, f, there)
    signatures["engine_implicit"] = (here, *[there] * 5)
    signatures["operator_blocks"] = (ints, x, x, x, x, ints, x)
    signatures["block_multiply"] = (i, x, ints, x, x, i)
    signatures["tree_sweep"] = (i, x, ints, x, i)
    signatures["tree_shift"] = (i, ints, x, x, i)
    signatures["trajectory"] = (x, x, i, x, x)
    return signatures


@cache
def _kernels() -> str:
    """A digest of the kernel files."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _machine() -> str:
    """A digest of what compiles, and what for."""
    import llvmlite  # noqa: PLC0415
    import numba  # noqa: PLC0415
    from numba.core.registry import cpu_target  # noqa: PLC0415

    target = cpu_target.target_context.codegen().magic_tuple()
    parts = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, target)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def _announce(text: str) -> None:
    print(f"limber: {text}", file=sys.stderr, flush=True)


def _load(name: str):
    """Numba's result for an entry point, from the cache or compiled now."""
    from limber.kernels import entry  # noqa: PLC0415

    function = getattr(entry, name)
    if not hasattr(function, "overloads"):  # Numba left it as it was
        raise CompileError(
            "the environment variable NUMBA_DISABLE_JIT is set, but the numeric functions of Limber run compiled only. "
            "Unset it and start Python again."
        )
    file = f"kernels/{_kernels()}/{name}-{_machine()}.bin"
    passed_over: list[BaseException] = []
    with heard(passed_over):
        found = _rebuilt(function.targetctx, disk.read(file))
        if found is None:
            _announce(f"compiling {name} for this machine, once ...")
            start = time.perf_counter()
            function.compile(_signatures()[name])
            _announce(f"compiled {name} in {time.perf_counter() - start:.1f} s")
    if passed_over:
        raise passed_over[0]
    if found is None:
        (found,) = function.overloads.values()
        disk.keep(file, _reduced(found))
    return found


def _reduced(compiled) -> bytes:
    """A result of Numba's as bytes, as its own cache has it."""
    from numba.core.serialize import dumps  # noqa: PLC0415

    # addresses would mean nothing to another process
    assert not compiled.library.has_dynamic_globals
    return dumps(compiled._reduce())


def _rebuilt(context, content: bytes | None):
    """The result of Numba's that was reduced to `content`, or None."""
    from numba.core.compiler import CompileResult  # noqa: PLC0415
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415

    if content is None:
        return None
    context.refresh()
    try:
        with global_compiler_lock:
            return CompileResult._rebuild(context, *pickle.loads(content))
    except Exception:  # whatever it is, it is not the code that was kept
        return None


def _result(name: str):
    if name not in _loaded:  # those that are there need no lock, which may be held for long
        with _lock:
            if name not in _loaded:
                _loaded[name] = _load(name)
    return _loaded[name]


def load(name: str) -> Callable:
    """The compiled entry point `name`; compiles it if this machine has not yet.

    It takes the arguments of its signature and no others: TypeError.
    """
    return _result(name).entry_point


@cache
def address(name: str) -> int:
    """The address of an entry point of C signature."""
    with _lock:  # the code is linked now
        compiled = _result(name)
        wrapper = compiled.fndesc.llvm_cfunc_wrapper_name
        return compiled.library.get_pointer_to_function(wrapper)
