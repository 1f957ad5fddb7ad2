"""The way into machine code: entry points, their compilation, the cache on disk, the dispatcher of single calls.

`load(name)` gives an entry point of `limber.native.entries` that Python calls, `address(name)` one that other
compiled code calls (those of complex numbers are in `limber.native.complex_entries`); `limber.native.calls` has the functions of the state of one system, ready to be called.
"""

from limber.kernels.functions import COMPLEX
from limber.native.compilation import Library

_library = Library("limber.native.entries")
_complex = Library("limber.native.complex_entries")
load = _library.load


def address(name: str) -> int:
    """The address of the entry point `name`, for calls from compiled code."""
    return (_complex if name in COMPLEX else _library).address(name)
