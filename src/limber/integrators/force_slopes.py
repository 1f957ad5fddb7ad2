"""The slopes of torques and wrenches in the Newton matrix P - T of an implicit step (`implicit`).

T has r rows that are not zero, one for each torque that depends on the state: with those rows alone, and E
the columns of the identity that belong to them,

    (P - E T)^-1 = (1 + Z S^-1 T) P^-1,         Z = P^-1 E,             S = 1 - T Z,

r sweeps and an r x r factorization a step.  The slopes of the torque are differences of the function itself,
taken when the iteration turns out slow, and kept as long as it is not.
Compiled only.
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
    FREE,
    IMPLICIT_SWEEP,
    ORDER,
    POINT,
    RATE,
    REST,
    SLOPED,
    SPARE,
    STATE,
    TOPO,
    WORK,
    S,
    T,
    Z,
)
from .rates import forces

#: The part of a coordinate or speed by which slopes are taken: the square root of the rounding unit.
NUDGE = 2.0**-26


@kernel
def take_slopes(context, memory, t, c, y, a):
    """dtau/dq (along the speeds) and dtau/dv at (t, y) by differences, and which rows are not zero.

    A speed is moved as far as its acceleration a moves it in a stage: across a jump of the torque the slope is
    one that means something for the step, where that of a small difference would hold the speed fast.
    """
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, tau = numbers_at(context[WORK]), numbers_at(context[APPLIED])
    state, rows = numbers_at(memory[STATE]), numbers_at(memory[SLOPED])
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
    """T, Z and the factorized S of this c, from the slopes."""
    topo, work = words_at(context[TOPO]), numbers_at(context[WORK])
    rows, order = numbers_at(memory[SLOPED]), numbers_at(memory[ORDER])
    by_q, by_v = numbers_at(memory[BY_Q]), numbers_at(memory[BY_V])
    z, t, s = numbers_at(memory[Z]), numbers_at(memory[T]), numbers_at(memory[S])
    free, rest, unit = numbers_at(memory[FREE]), numbers_at(memory[REST]), numbers_at(memory[FORCE])
    nv = topo[NV]
    r = int(numbers_at(memory[STATE])[COUNT])
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
    lu.factorize(s, r, order)


@kernel
def use_slopes(memory, nv, x):
    """x + Z S^-1 T x."""
    z, t, s = numbers_at(memory[Z]), numbers_at(memory[T]), numbers_at(memory[S])
    y = numbers_at(memory[SPARE])
    r = int(numbers_at(memory[STATE])[COUNT])
    for i in range(r):
        y[i] = 0.0
        for j in range(nv):
            y[i] += t[i * nv + j] * x[j]
    lu.solve(s, r, numbers_at(memory[ORDER]), y)
    for i in range(r):
        for j in range(nv):
            x[j] += z[i * nv + j] * y[i]
