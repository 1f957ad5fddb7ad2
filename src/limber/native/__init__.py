"""The way into machine code: entry points, their compilation and the cache on disk.

`load(name)` gives an entry point of `limber.native.entries` that Python calls, `address(name)` one that other
compiled code calls.
"""

from limber.native.compilation import Library

_library = Library("limber.native.entries")
load, address = _library.load, _library.address
