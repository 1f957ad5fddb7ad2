"""The way into machine code: entry points, their compilation, the cache on disk, the dispatcher of single calls.

`load(name)` gives an entry point of `limber.native.entries` that Python calls, `address(name)` one that other
compiled code calls; `limber.native.calls` has the functions of the state of one system, ready to be called.
"""

from limber.native.compilation import Library

_library = Library("limber.native.entries")
load, address = _library.load, _library.address
