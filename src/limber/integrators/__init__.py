"""Integration of a whole simulation as machine code: steps, dense output, events, implicit equations.

Compiled only: nothing here traces.  `load(name)` and `address(name)` give the entry points of
`limber.integrators.entries`, as those of `limber.native` do.
"""

from limber.native.compilation import Library

_library = Library("limber.integrators.entries")
load, address = _library.load, _library.address
