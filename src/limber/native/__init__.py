"""Access to machine code: entry points, their compilation, the cache on disk, the dispatcher of single calls.

`load(name)` returns an entry point of `limber.native.entries` for calls from Python, `address(name)` one for calls from
other compiled code (those of derivatives by complex steps are in `limber.native.slope_entries`).
`limber.native.calls` has the functions of the state of one system, ready to be called.
"""

from limber.kernels.functions import BY_STEPS
from limber.native.compilation import Library

_library = Library("limber.native.entries")
_slopes = Library("limber.native.slope_entries")
load = _library.load


def address(name: str) -> int:
    """The address of the entry point `name`, for calls from compiled code."""
    return (_slopes if name in BY_STEPS else _library).address(name)
