"""What drives a simulation: the rates of the state y = [q; v], forces included, behind a C signature.

A simulation calls its parts by address (`pointers`), so that the integrators compile once, whatever they
drive: rates(context, t, y, dy) gives dy/dt, forces(context, t, y) leaves tau in the context's TAU, a sweep is
forward dynamics.

The context is one of the `records`; generated code can stand in for the entries of
this file.  Forces have a kind: CONSTANT (tau stays what it is), TABLE (a cubic or a line between rows),
CALLED (a function pointer at every evaluation) or SAMPLED (called at sample times by `march`, held
between).  Compiled only: simulations are not traced.
"""

from .layout import NQ, NV
from .manifold import coordinate_rates
from .pointers import call, call_sweep, numbers_at, shifted, words_at
from .records import CALLED, CONST, FUNCTION, KIND, ROWS, SWEEP, TABLE, TABLE_DATA, TAU, TOPO, WORK
from .scalar import kernel


@kernel
def tolerance(rtol, atol, old, new):
    """The tolerance of an element of the state; never zero, so that what stays at zero has no error if atol is."""
    return max(atol + rtol * max(abs(old), abs(new)), 1e-300)


@kernel
def interpolated(table, rows, nv, t, tau):
    """tau at time t from a table, held outside.

    Rows of a time, nv values, nv slopes just after and nv just before it: a cubic between two rows, which
    is a straight line if the slopes are those of the chord.
    """
    width = 3 * nv + 1
    low = 0
    high = rows - 1
    while high - low > 1:
        middle = (low + high) // 2
        if table[middle * width] <= t:
            low = middle
        else:
            high = middle
    a = low * width + 1
    b = high * width + 1
    h = table[b - 1] - table[a - 1]
    x = (t - table[a - 1]) / h if h > 0.0 else 0.0
    x = min(max(x, 0.0), 1.0)
    z = 1.0 - x
    w0, w1 = z * z * (1.0 + 2.0 * x), x * x * (1.0 + 2.0 * z)
    s0, s1 = h * x * z * z, -h * x * x * z
    for i in range(nv):
        tau[i] = w0 * table[a + i] + w1 * table[b + i]
        tau[i] += s0 * table[a + nv + i] + s1 * table[b + 2 * nv + i]


@kernel
def forces(context, t, y):
    """tau at (t, y), in the context's TAU."""
    topo = words_at(context[TOPO])
    if context[KIND] == TABLE:
        table = numbers_at(context[TABLE_DATA])
        interpolated(table, context[ROWS], topo[NV], t, numbers_at(context[TAU]))
    elif context[KIND] == CALLED:
        call(context[FUNCTION], t, y, shifted(y, topo[NQ]), numbers_at(context[TAU]))


@kernel
def rates(context, t, y, dy):
    """dy/dt at (t, y)."""
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, tau = numbers_at(context[WORK]), numbers_at(context[TAU])
    v, vdot = shifted(y, topo[NQ]), shifted(dy, topo[NQ])
    forces(context, t, y)
    coordinate_rates(topo, const, work, y, v, dy)
    call_sweep(context[SWEEP], topo, const, work, y, v, tau, 0, topo, const, vdot)
