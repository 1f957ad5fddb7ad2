"""Compile the entry points when first used, and keep them on disk.

The cache lies in a folder (`limber.cache`) named after the content of every kernel file, so that a
changed kernel is never run from a stale cache.
"""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from limber.cache import folder
from limber.interrupts import heard

_lock = threading.Lock()

#: Functions of the position alone, and of position and speeds.
POSITION = ("mass_matrix", "potential_energy", "pose", "jacobian")
MOTION = ("kinetic_energy", "momentum", "qdot", "integrate")


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
    }
    signatures["judge_pivots"] = (i, ints, x, x, x, x, x)
    for name in ("articulated", "ruthless", "composite", "newton_euler"):
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
    return signatures


@cache
def _cache_folder() -> Path:
    """A writable folder for this version of the kernels."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.name.encode() + file.read_bytes())
    return folder(digest.hexdigest()[:16])


@cache
def _disk_cache() -> type:
    """Numba's function cache, told to keep its files in our folder."""
    from numba.core import caching  # noqa: PLC0415

    class Locator(caching._CacheLocator):
        def __init__(self, py_func, py_file):
            self._line = py_func.__code__.co_firstlineno

        def get_cache_path(self):
            return str(_cache_folder())

        def get_source_stamp(self):
            return "content-addressed"

        def get_disambiguator(self):
            return str(self._line)

        @classmethod
        def from_function(cls, py_func, py_file):
            return cls(py_func, py_file)

    class Implementation(caching.CompileResultCacheImpl):
        _locator_classes = [Locator]

    class DiskCache(caching.FunctionCache):
        _impl_class = Implementation

    return DiskCache


def _announce(text: str) -> None:
    print(f"limber: {text}", file=sys.stderr, flush=True)


@cache
def _load(name: str):
    from limber.kernels import entry  # noqa: PLC0415

    function = getattr(entry, name)
    function._cache = _disk_cache()(function.py_func)
    known = Path(function._cache._cache_file._index_path).exists()
    if not known:
        _announce(f"compiling {name} for this machine, once ...")
    start = time.perf_counter()
    passed_over: list[BaseException] = []
    with heard(passed_over):
        function.compile(_signatures()[name])
    if passed_over:
        raise passed_over[0]
    if not known:
        _announce(f"compiled {name} in {time.perf_counter() - start:.1f} s")
    (compiled,) = function.overloads.values()
    return compiled


def load(name: str) -> Callable:
    """The compiled entry point `name`; compiles it if this machine has not yet.

    It takes the arguments of its signature and no others: TypeError.
    """
    with _lock:
        return _load(name).entry_point


@cache
def address(name: str) -> int:
    """The address of an entry point of C signature."""
    with _lock:
        compiled = _load(name)
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
