"""The slopes of torques and wrenches in the Newton matrix P - T of an implicit step (`implicit`).

T has r rows that are not zero, one for each torque that depends on the state.  With these rows alone in T, and E
the columns of the identity that belong to them,

    (P - E T)^-1 = (1 + Z S^-1 T) P^-1,         Z = P^-1 E,             S = 1 - T Z,

which costs r sweeps and an r x r factorization per step.  The slopes are differences of the torque function itself.
They are taken when the iteration turns out slow, and kept as long as it is not.  Compiled only.
"""

from limber.kernels.layout import NQ, NV
from limber.kernels.manifold import coordinate_rates
from limber.kernels.scalar import kernel
from limber.native.pointers import call_sweep, numbers_at, shifted, words_at

from . import lu
from .context import (
    AGE,
    APPLIED,
    BY_Q,
    BY_V,
    CONST,
    COUNT,
    FORCE,
    IMPLICIT_SWEEP,
    PIVOTS,
    POINT,
    RATE,
    SLOPED_ROWS,
    SLOPES_STATE,
    SPARE,
    STIFFENED_FREE,
    TOPO,
    WORK,
    ZERO_SPEEDS,
    S,
    T,
    Z,
)
from .rates import forces

#: Differences are taken over this part of a coordinate or a speed: the square root of the rounding unit.
NUDGE = 2.0**-26


@kernel
def take_slopes(context, memory, t, c, y, a):
    """dtau/dq (along the speeds) and dtau/dv at (t, y) by differences, and which rows are not zero.

    A speed is changed by as much as its acceleration a changes it in a stage.  Across a jump of the torque this gives a
    slope that is useful for the step, whereas a small difference would give one that keeps the speed from changing.
    """
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, tau = numbers_at(context[WORK]), numbers_at(context[APPLIED])
    state, rows = numbers_at(memory[SLOPES_STATE]), numbers_at(memory[SLOPED_ROWS])
    by_q, by_v = numbers_at(memory[BY_Q]), numbers_at(memory[BY_V])
    here, there = numbers_at(memory[FORCE]), numbers_at(memory[POINT])
    unit, rate = numbers_at(memory[SPARE]), numbers_at(memory[RATE])
    nq, nv = topo[NQ], topo[NV]
    v = shifted(there, nq)
    forces(context, t, y)
    for i in range(nv):
        here[i] = tau[i]
        rows[i] = 0.0
        unit[i] = 0.0
    for i in range(nq + nv):
        there[i] = y[i]
    for j in range(nv):
        unit[j] = 1.0
        coordinate_rates(topo, const, work, y, unit, rate)
        unit[j] = 0.0
        nudge = NUDGE
        for i in range(nq):
            if rate[i] != 0.0:
                nudge = max(nudge, NUDGE * abs(y[i]))
        for i in range(nq):
            there[i] = y[i] + nudge * rate[i]
        forces(context, t, there)
        for i in range(nv):
            by_q[i * nv + j] = (tau[i] - here[i]) / nudge
        for i in range(nq):
            there[i] = y[i]
        nudge, least = c * a[j], NUDGE * max(1.0, abs(v[j]))
        if not least < abs(nudge) < 1e300:
            nudge = least
        v[j] += nudge
        forces(context, t, there)
        v[j] = y[nq + j]
        for i in range(nv):
            by_v[i * nv + j] = (tau[i] - here[i]) / nudge
            if by_v[i * nv + j] != 0.0 or by_q[i * nv + j] != 0.0:
                rows[i] = 1.0
    count = 0
    for i in range(nv):
        if rows[i] != 0.0:
            rows[count] = i
            count += 1
    state[AGE] = 0.0
    state[COUNT] = count


@kernel
def prepare_slopes(context, memory, c, y):
    """Compute T, Z and the factorized S for this c, from the slopes."""
    topo, work = words_at(context[TOPO]), numbers_at(context[WORK])
    rows, pivots = numbers_at(memory[SLOPED_ROWS]), numbers_at(memory[PIVOTS])
    by_q, by_v = numbers_at(memory[BY_Q]), numbers_at(memory[BY_V])
    z, t, s = numbers_at(memory[Z]), numbers_at(memory[T]), numbers_at(memory[S])
    free, rest = numbers_at(memory[STIFFENED_FREE]), numbers_at(memory[ZERO_SPEEDS])
    unit = numbers_at(memory[FORCE])
    nv = topo[NV]
    r = int(numbers_at(memory[SLOPES_STATE])[COUNT])
    for j in range(nv):
        unit[j] = 0.0
    for i in range(r):
        row = int(rows[i])
        for j in range(nv):
            t[i * nv + j] = c * by_v[row * nv + j] + c * c * by_q[row * nv + j]
        unit[row] = 1.0
        column = shifted(z, i * nv)
        call_sweep(context[IMPLICIT_SWEEP], topo, free, work, y, rest, unit, 0, topo, free, column)
        unit[row] = 0.0
    for i in range(r):
        for j in range(r):
            x = 1.0 if i == j else 0.0
            for l in range(nv):
                x -= t[i * nv + l] * z[j * nv + l]
            s[i * r + j] = x
    lu.factorize(s, r, pivots)


@kernel
def use_slopes(memory, nv, x):
    """x becomes x + Z S^-1 T x."""
    z, t, s = numbers_at(memory[Z]), numbers_at(memory[T]), numbers_at(memory[S])
    y = numbers_at(memory[SPARE])
    r = int(numbers_at(memory[SLOPES_STATE])[COUNT])
    for i in range(r):
        y[i] = 0.0
        for j in range(nv):
            y[i] += t[i * nv + j] * x[j]
    lu.solve(s, r, numbers_at(memory[PIVOTS]), y)
    for i in range(r):
        for j in range(nv):
            x[j] += z[i * nv + j] * y[i]
