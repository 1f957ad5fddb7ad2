"""The rates of the state y = [q; v] in a simulation, and the forces in them, behind C signatures.

A simulation calls its parts by address (`native.pointers`), so that the integrators compile only once:
rates(context, t, y, dy) gives dy/dt, forces(context, t, y) leaves tau in the context's TAU and all applied forces in
APPLIED, and a sweep is forward dynamics.  Generated code can take the place of the entries of this file.

Torques and wrenches are signals.  A signal has a kind: CONSTANT, TABLE (a cubic or a line between rows), CALLED (a
function pointer, called at every evaluation) or SAMPLED (called at sample times by `advance`; in between it is
held, or follows the closed forms of `sampled`).
Wrenches are turned into generalized forces and added to the torque, and so are the forces of an environment, which its own
function gives (`environment`).  Compiled only: simulations are not traced.
"""

from limber.kernels.energy import dissipated_power
from limber.kernels.layout import NQ, NV
from limber.kernels.manifold import coordinate_rates
from limber.kernels.scalar import kernel
from limber.native.pointers import call, call_rates, call_sweep, numbers_at, shifted, words_at

from .context import (
    APPLIED,
    CALLED,
    CLOSURE_ROWS,
    CONST,
    DAMPING_BAND,
    DAMPING_WORK,
    FIELD,
    FIELD_FORCES,
    FUNCTION,
    KIND,
    LEAVING,
    MOTIONS,
    NODES,
    NUMBER,
    ORIGIN_TIME,
    PLAN,
    RATES,
    ROWS,
    SAMPLED,
    SHARED,
    SIGNAL,
    SIGNALS,
    SWEEP,
    TABLE,
    TABLE_DATA,
    TAU,
    TOPO,
    TORQUE_WORK,
    VALUE,
    WIDTH,
    WORK,
    WRENCH_DATA,
    WRENCH_FORCES,
    WRENCH_WORK,
    WRENCHES,
)
from .faults import note_fault
from .motions import keep_wrench_parts, prescribe, put_rates, settle
from .sampled import follow_laws


@kernel
def tolerance(rtol, atol, old, new):
    """The tolerance of an element of the state.

    It is never zero, so that an element that stays at zero counts as free of error even if atol is zero.
    """
    return max(atol + rtol * max(abs(old), abs(new)), 1e-300)


@kernel
def independent(context, size):
    """How many of the `size` elements of the state are independent, at least."""
    rows = context[CLOSURE_ROWS]
    return max(size - 2 * rows, 2) if rows > 0 else max(size, 1)


@kernel
def interpolated(table, rows, width, t, out):
    """The values of a table at time t; before its first row and after its last one they are constant.

    A row has a time, `width` values, their slopes just after it and those just before it.  The values between two rows
    lie on a cubic, which is a straight line if the slopes are those of the chord.
    """
    row = 3 * width + 1
    low = 0
    high = rows - 1
    while high - low > 1:
        middle = (low + high) // 2
        if table[middle * row] <= t:
            low = middle
        else:
            high = middle
    a = low * row + 1
    b = high * row + 1
    h = table[b - 1] - table[a - 1]
    x = (t - table[a - 1]) / h if h > 0.0 else 0.0
    x = min(max(x, 0.0), 1.0)
    z = 1.0 - x
    w0, w1 = z * z * (1.0 + 2.0 * x), x * x * (1.0 + 2.0 * z)
    s0, s1 = h * x * z * z, -h * x * x * z
    for i in range(width):
        out[i] = w0 * table[a + i] + w1 * table[b + i]
        out[i] += s0 * table[a + width + i] + s1 * table[b + 2 * width + i]


@kernel
def call_signal(context, signal, t, y):
    """Call the function of a signal at (t, y) and check that its values are finite."""
    topo, out = words_at(context[TOPO]), numbers_at(signal[VALUE])
    at = t + numbers_at(context[SHARED])[ORIGIN_TIME]
    call(signal[FUNCTION], at, y, shifted(y, topo[NQ]), out)
    note_fault(context, signal[NUMBER], t, out, signal[WIDTH], y)


@kernel
def evaluate_signal(context, signal, t, y):
    """Bring the values of a signal up to (t, y)."""
    if signal[KIND] == TABLE:
        table, out = numbers_at(signal[TABLE_DATA]), numbers_at(signal[VALUE])
        interpolated(table, signal[ROWS], signal[WIDTH], t, out)
    elif signal[KIND] == CALLED:
        call_signal(context, signal, t, y)
    elif signal[KIND] == SAMPLED:
        v = shifted(y, words_at(context[TOPO])[NQ])
        follow_laws(numbers_at(signal[PLAN]), t, v, numbers_at(signal[VALUE]))


@kernel
def forces(context, t, y):
    """Compute tau at (t, y) in the context's TAU, and its sum with the forces of wrenches and environment in APPLIED.

    Driven joints in y are set to their motion; APPLIED has the rates of their speeds (`motions`).
    """
    topo, signals, count = words_at(context[TOPO]), words_at(context[SIGNALS]), context[WRENCHES]
    tau, applied = numbers_at(context[TAU]), numbers_at(context[APPLIED])
    if context[MOTIONS] > 0:
        prescribe(context, t + numbers_at(context[SHARED])[ORIGIN_TIME], y)
    for i in range(count + 1):
        evaluate_signal(context, shifted(signals, SIGNAL * i), t, y)
    apart = count > 0 or context[FIELD] != 0 or context[MOTIONS] > 0
    if count > 0:
        const, work = numbers_at(context[CONST]), numbers_at(context[WORK])
        call_sweep(
            context[WRENCH_FORCES], topo, const, work, y, y, y, count, words_at(context[NODES]),
            numbers_at(context[WRENCH_DATA]), applied,
        )  # fmt: skip
    elif apart:
        for i in range(topo[NV]):
            applied[i] = 0.0
    if context[FIELD] != 0:
        field = numbers_at(context[FIELD_FORCES])
        call_rates(context[FIELD], context, t, y, field)
        for i in range(topo[NV]):
            applied[i] += field[i]
    if context[MOTIONS] > 0:
        keep_wrench_parts(context)
    if apart:
        for i in range(topo[NV]):
            applied[i] += tau[i]
    if context[MOTIONS] > 0:
        put_rates(context, applied)


@kernel
def rates(context, t, y, dy):
    """dy/dt at (t, y)."""
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, applied = numbers_at(context[WORK]), numbers_at(context[APPLIED])
    v, vdot = shifted(y, topo[NQ]), shifted(dy, topo[NQ])
    forces(context, t, y)
    coordinate_rates(topo, const, work, y, v, dy)
    call_sweep(context[SWEEP], topo, const, work, y, v, applied, 0, topo, const, vdot)
    if context[MOTIONS] > 0:
        settle(context, y)


@kernel
def flow_rates(context, y, dy):
    """The power of the torques, of wrenches and environment, and of dampers and friction, written behind the rates of the state.

    The forces at y must have been evaluated.  Actions of events change the energy at once and have no power.
    """
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    tau, applied = numbers_at(context[TAU]), numbers_at(context[APPLIED])
    nq, nv = topo[NQ], topo[NV]
    v, flows = shifted(y, nq), shifted(dy, nq + nv)
    torque, all_forces = 0.0, 0.0
    for i in range(nv):
        torque += tau[i] * v[i]
        all_forces += applied[i] * v[i]
    flows[TORQUE_WORK], flows[WRENCH_WORK] = torque, all_forces - torque
    flows[WRENCH_WORK] += numbers_at(context[SHARED])[LEAVING]
    if context[DAMPING_BAND] >= 0:
        flows[DAMPING_WORK] = -dissipated_power(topo, const, context[DAMPING_BAND], y, v)


@kernel
def evaluate(context, t, y, dy):
    """The rates of the state and of the energy supplied, at (t, y)."""
    call_rates(context[RATES], context, t, y, dy)
    flow_rates(context, y, dy)
