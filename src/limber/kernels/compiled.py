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

_lock = threading.Lock()


@cache
def _signatures() -> dict[str, tuple]:
    """Argument types of the entry points, by name."""
    from numba import types  # noqa: PLC0415

    f, i = types.float64, types.int64
    out = types.Array(f, 1, "C")
    given, ints = types.Array(f, 1, "C", readonly=True), types.Array(i, 1, "C", readonly=True)
    model = (ints, given, out)
    state = (*model, given, given)
    forces = (*state, given, ints, given, out, i, i)
    signatures: dict[str, tuple] = {"composite_body": forces, "newton_euler_sweep": forces}
    for name in ("articulated_body", "ruthless_body"):
        signatures[name] = (*state, given, out, i, i)
        signatures[f"{name}_external"] = forces
    for name in (
        "mass_matrix",
        "kinetic_energy",
        "potential_energy",
        "momentum",
        "qdot",
        "integrate",
        "pose",
        "jacobian",
    ):
        signatures[name] = (*state, i, i, f, out, i, i, i)
    words = types.Array(i, 1, "C")
    signatures["simulate"] = (words, i, out, out, out, out, given, out, given, given, out, out, i)
    here, there = types.CPointer(i), types.CPointer(f)
    signatures["full_sweep"] = signatures["ruthless_sweep"] = (here, *[there] * 6)
    signatures["engine_rates"] = (here, f, there, there)
    signatures["engine_forces"] = (here, f, there)
    signatures["engine_implicit"] = (here, *[there] * 5)
    signatures["operator_blocks"] = (*state, ints, out)
    signatures["block_multiply"] = (i, given, ints, given, out, i)
    signatures["tree_sweep"] = (i, given, ints, out, i)
    signatures["tree_shift"] = (i, ints, given, out, i)
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
def _load(name: str) -> Callable:
    from limber.kernels import entry  # noqa: PLC0415

    function = getattr(entry, name)
    function._cache = _disk_cache()(function.py_func)
    known = Path(function._cache._cache_file._index_path).exists()
    if not known:
        _announce(f"compiling {name} for this machine, once ...")
    start = time.perf_counter()
    function.compile(_signatures()[name])
    function.disable_compile()
    if not known:
        _announce(f"compiled {name} in {time.perf_counter() - start:.1f} s")
    return function


def load(name: str) -> Callable:
    """The compiled entry point `name`; compiles it if this machine has not yet."""
    with _lock:
        return _load(name)


@cache
def address(name: str) -> int:
    """The address of an entry point of C signature."""
    (compiled,) = load(name).overloads.values()  # type: ignore[attr-defined]
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)
