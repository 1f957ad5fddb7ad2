"""The generalized forces of an environment in orbit, behind a C signature: the gravity of a planet.

The world frame has inertial axes, and its origin falls along a reference orbit, which is given as pieces of polynomials over
time.  What gravity does there is in `kernels.gravity`.  Compiled only.
"""

from limber.kernels.gravity import gravitate
from limber.kernels.layout import COLUMNS, END
from limber.kernels.motion import start_world, world_place
from limber.kernels.placement import place
from limber.kernels.scalar import kernel
from limber.kernels.wrenches import collect
from limber.native.pointers import numbers_at, words_at

from .context import (
    CONST,
    E_NUMBERS,
    E_ORBIT,
    E_PIECES,
    FIELD_RECORD,
    N_MU,
    N_OBLATE,
    N_PIECE,
    PIECE,
    TOPO,
    WORK,
)


@kernel
def polynomial(a, i, x):
    """The value of the polynomial of degree 5 at a[i:], constant first."""
    return a[i] + x * (a[i + 1] + x * (a[i + 2] + x * (a[i + 3] + x * (a[i + 4] + x * a[i + 5]))))


@kernel
def reference_position(record, t):
    """The origin of the world from the centre of the planet, at a time from the start of the run."""
    pieces, length = numbers_at(record[E_ORBIT]), numbers_at(record[E_NUMBERS])[N_PIECE]
    x = t / length
    # the pieces at both ends go on beyond them; x is not finite in a run that diverges
    i = int(min(max(x, 0.0), record[E_PIECES] - 1.0)) if x == x else 0
    x -= i
    at = PIECE * i
    return polynomial(pieces, at, x), polynomial(pieces, at + 6, x), polynomial(pieces, at + 12, x)


@kernel
def forces(context, t, y, out):
    """The generalized forces at (t, y)."""
    topo, const, work = (
        words_at(context[TOPO]),
        numbers_at(context[CONST]),
        numbers_at(context[WORK]),
    )
    record = words_at(context[FIELD_RECORD])
    numbers = numbers_at(record[E_NUMBERS])
    s = reference_position(record, t)
    start_world(topo, const, work)
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, y, k)
        world_place(topo, work, k)
        gravitate(topo, const, work, y, k, numbers[N_MU], numbers[N_OBLATE], s)
    collect(topo, work, out)
