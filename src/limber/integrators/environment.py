"""The generalized forces of an environment in orbit, behind a C signature: gravity, drag, and burns that use up propellant.

The world frame has inertial axes, and its origin falls along a reference orbit, which is given as pieces of polynomials over
time.  What gravity does there is in `kernels.gravity`.

A face of area A with the normal n, which moves through air of density d with the velocity u, feels the force

    -1/2 d C_d A max(n . u, 0) u                        at its node,

where n . u is |u| for a face that has the same area from everywhere, and |n . u| for one that has two sides.  The air turns with
the planet.

A burn is a force at a node, in the axes of that node.  It takes mass from a tank, whose constants are set to those of the
time: the thrust is the momentum that the exhaust carries away, so M vdot + bias = tau holds with the current mass and no
further term.  The energy that this mass carries away is accounted for in LEAVING.  Compiled only.
"""

from math import exp

from limber.kernels.forces import apply_external
from limber.kernels.gravity import gravitate
from limber.kernels.inertia import apply_inertia, load_inertia
from limber.kernels.layout import (
    C_MASS,
    COLUMNS,
    END,
    NQ,
    PLACE,
    RUTHLESS,
    VEL,
    P,
)
from limber.kernels.layout import CONST as CONST_AT
from limber.kernels.layout import WORK as WORK_AT
from limber.kernels.motion import start_world, velocity, world_place
from limber.kernels.nodes import deformed, rates, undeformed
from limber.kernels.placement import place
from limber.kernels.scalar import kernel
from limber.kernels.so3 import exp_rotation
from limber.kernels.vec import add, cross, dot, load3, load9, mul, scale, store3, sub, zero
from limber.kernels.wrenches import collect
from limber.native.pointers import numbers_at, shifted, words_at

from .context import (
    BURN,
    BURN_END,
    BURN_FLOW,
    BURN_START,
    BURN_TANK,
    BURN_THRUST,
    CONST,
    E_AIR,
    E_AIR_ROWS,
    E_BURN_DATA,
    E_BURNS,
    E_FACE_DATA,
    E_FACES,
    E_NODES,
    E_NUMBERS,
    E_ORBIT,
    E_PIECES,
    E_TANK_BODIES,
    E_TANK_DATA,
    E_TANKS,
    E_WRENCHES,
    FACE,
    FACE_AREA,
    FACE_NORMAL,
    FACE_SIDES,
    FIELD_RECORD,
    IMPLICIT,
    LEAVING,
    MEMORY,
    N_MU,
    N_OBLATE,
    N_PIECE,
    N_RADIUS,
    N_SPIN,
    PIECE,
    SHARED,
    STIFFENED,
    STIFFENED_FREE,
    TANK,
    TOPO,
    WORK,
)


@kernel
def polynomial(a, i, x):
    """The polynomial of degree 5 at a[i:], constant first, and its slope."""
    y, slope = a[i + 5], 0.0
    for j in range(4, -1, -1):
        slope = slope * x + y
        y = y * x + a[i + j]
    return y, slope


@kernel
def reference_state(record, t):
    """Position and velocity of the origin of the world from the centre of the planet, at a time from the start of the run."""
    pieces, length = numbers_at(record[E_ORBIT]), numbers_at(record[E_NUMBERS])[N_PIECE]
    x = t / length
    # the pieces at both ends are extrapolated; x is not finite in a run that diverges
    i = int(min(max(x, 0.0), record[E_PIECES] - 1.0)) if x == x else 0
    x -= i
    at = PIECE * i
    a, da = polynomial(pieces, at, x)
    b, db = polynomial(pieces, at + 6, x)
    c, dc = polynomial(pieces, at + 12, x)
    return (a, b, c), (da / length, db / length, dc / length)


@kernel
def node_frame(topo, const, work, y, v, k, node):
    """The axes of its body in the world, its own in those of its body, place and velocity of a node in the world."""
    b = topo[k + WORK_AT]
    R, p = load9(work, b + PLACE), load3(work, b + PLACE + 9)
    w, u = load3(work, b + VEL), load3(work, b + VEL + 3)
    l = undeformed(const, node)
    E = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    if topo[RUTHLESS] == 0:
        x, l = deformed(topo, const, y, k, node)
        _, rate, _ = rates(topo, const, y, v, k, node)
        E = exp_rotation(x)
        u = add(u, rate)
    return R, E, add(p, mul(R, l)), mul(R, add(u, cross(w, l)))


@kernel
def density(record, altitude):
    """The density of the air: its logarithm is linear between the rows and extrapolated beyond them."""
    rows = record[E_AIR_ROWS]
    heights = numbers_at(record[E_AIR])
    logs = shifted(heights, rows)
    i = 0
    while i < rows - 2 and altitude > heights[i + 1]:
        i += 1
    part = (altitude - heights[i]) / (heights[i + 1] - heights[i])
    return exp(min(logs[i] + part * (logs[i + 1] - logs[i]), 50.0))


@kernel
def store_drag(topo, const, work, record, y, v, s, s_rate):
    """The wrenches of drag on all faces."""
    numbers, faces = numbers_at(record[E_NUMBERS]), numbers_at(record[E_FACE_DATA])
    index, wrenches = words_at(record[E_NODES]), numbers_at(record[E_WRENCHES])
    for i in range(record[E_FACES]):
        R, E, p, rate = node_frame(topo, const, work, y, v, index[2 * i], index[2 * i + 1])
        r = add(s, p)
        spin = numbers[N_SPIN]
        u = sub(add(s_rate, rate), (-spin * r[1], spin * r[0], 0.0))
        speed = dot(u, u) ** 0.5
        face = shifted(faces, FACE * i)
        facing = speed
        if face[FACE_SIDES] > 0.0:
            facing = dot(mul(R, mul(E, load3(face, FACE_NORMAL))), u)
            facing = max(facing, 0.0) if face[FACE_SIDES] == 1.0 else abs(facing)
        air = density(record, dot(r, r) ** 0.5 - numbers[N_RADIUS])
        store3(wrenches, 6 * i + 3, scale(-0.5 * air * face[FACE_AREA] * facing, u))


@kernel
def store_thrust(topo, const, work, record, t, y, v):
    """The wrenches of the burns."""
    first, burns = record[E_FACES], numbers_at(record[E_BURN_DATA])
    index, wrenches = words_at(record[E_NODES]), numbers_at(record[E_WRENCHES])
    for i in range(record[E_BURNS]):
        burn, at = shifted(burns, BURN * i), first + i
        if burn[BURN_START] <= t < burn[BURN_END]:
            R, E, _, _ = node_frame(topo, const, work, y, v, index[2 * at], index[2 * at + 1])
            store3(wrenches, 6 * at + 3, mul(R, mul(E, load3(burn, BURN_THRUST))))
        else:
            zero(wrenches, 6 * at, 6)


@kernel
def used(record, tank, t):
    """The propellant that has left a tank, and how much leaves now, kg and kg/s."""
    burns = numbers_at(record[E_BURN_DATA])
    mass, flow = 0.0, 0.0
    for i in range(record[E_BURNS]):
        burn = shifted(burns, BURN * i)
        if int(burn[BURN_TANK]) == tank:
            start, end = burn[BURN_START], burn[BURN_END]
            mass += burn[BURN_FLOW] * (min(max(t, start), end) - start)
            if start <= t < end:
                flow += burn[BURN_FLOW]
    return mass, flow


@kernel
def drain(context, record, t):
    """Set the mass, the moment of mass and the inertia of the tanks to those of the time t."""
    topo, bodies = words_at(context[TOPO]), words_at(record[E_TANK_BODIES])
    tanks = numbers_at(record[E_TANK_DATA])
    for i in range(record[E_TANKS]):
        tank = shifted(tanks, TANK * i)
        mass, _ = used(record, i, t)
        part = 1.0 - mass / tank[0]
        at = topo[bodies[i] + CONST_AT] + C_MASS
        for j in range(TANK):
            numbers_at(context[CONST])[at + j] = part * tank[j]
        if context[IMPLICIT] != 0:  # implicit steps have constants of their own
            memory = words_at(context[MEMORY])
            for j in range(TANK):
                numbers_at(memory[STIFFENED])[at + j] = part * tank[j]
                numbers_at(memory[STIFFENED_FREE])[at + j] = part * tank[j]


@kernel
def leaving_power(topo, work, record, t):
    """The power of the energy that leaves with propellant: all parts of a tank lose mass in proportion.

    Needs the inertias of the bodies themselves.
    """
    bodies, tanks = words_at(record[E_TANK_BODIES]), numbers_at(record[E_TANK_DATA])
    power = 0.0
    for i in range(record[E_TANKS]):
        mass, flow = used(record, i, t)
        if flow > 0.0:
            b = topo[bodies[i] + WORK_AT]
            w, u = load3(work, b + VEL), load3(work, b + VEL + 3)
            A, B, C = load_inertia(work, b + P)
            n, f = apply_inertia(A, B, C, w, u)
            power -= flow / (tanks[TANK * i] - mass) * 0.5 * (dot(n, w) + dot(f, u))
    return power


@kernel
def forces(context, t, y, out):
    """The generalized forces at the time t, from the start of the run, and the state y = [q; v]."""
    topo, const = words_at(context[TOPO]), numbers_at(context[CONST])
    work, record = numbers_at(context[WORK]), words_at(context[FIELD_RECORD])
    numbers = numbers_at(record[E_NUMBERS])
    v = shifted(y, topo[NQ])
    s, s_rate = reference_state(record, t)
    drain(context, record, t)
    start_world(topo, const, work)
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, y, k)
        world_place(topo, work, k)
        velocity(topo, work, v, k)
        gravitate(topo, const, work, y, k, numbers[N_MU], numbers[N_OBLATE], s)
    loads = record[E_FACES] + record[E_BURNS]
    if loads > 0:
        store_drag(topo, const, work, record, y, v, s, s_rate)
        store_thrust(topo, const, work, record, t, y, v)
        index, wrenches = words_at(record[E_NODES]), numbers_at(record[E_WRENCHES])
        apply_external(topo, const, work, y, loads, index, wrenches)
    numbers_at(context[SHARED])[LEAVING] = leaving_power(topo, work, record, t)
    collect(topo, work, out)
