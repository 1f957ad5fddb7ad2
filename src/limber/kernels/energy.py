"""Kinetic and potential energy, momentum.

The kinetic energy and the momentum use M_m at the fidelity of the system, so that T = v.M v/2.
Sweep     base to tip
Cost      about 70 multiplications for a rigid body, 10 m^2 + 60 m + 100 more for m modes
"""

from .inertia import apply_inertia, load_inertia
from .layout import (
    C_INERTIA,
    C_MASS,
    C_MOMENT,
    COLUMNS,
    CONST,
    DOFS,
    END,
    GRAVITY,
    M_D,
    M_K,
    MODAL,
    MODES,
    NV,
    PHYSICS,
    PLACE,
    Q_MODES,
    V_JOINT,
    V_MODES,
    VEL,
    W_DF,
    W_MU,
    WORK,
    P,
)
from .modal import body_mass, moment_of, rigid_block
from .motion import start_world, velocity, world_place
from .physics import armature, conservative_force, joint_energy, speed_force
from .placement import place
from .scalar import kernel
from .vec import add, axpy, cross, dot, load3, load6, load9, mul, mul_sym, store3


@kernel
def body_momentum(topo, const, work, q, v, k):
    """Momentum [angular; linear] of body k at its body frame, body axes: the rigid rows of M_m V_m.

    Needs VEL.  Leaves M_m of a flexible body in work.
    """
    b = topo[k + WORK]
    w, u = load3(work, b + VEL), load3(work, b + VEL + 3)
    if topo[k + MODES] > 0:
        body_mass(topo, const, work, q, k)
        A, B, C = load_inertia(work, b + P)
        n, f = apply_inertia(A, B, C, w, u)
        mu = topo[topo[k + MODAL] + W_MU]
        for r in range(topo[k + MODES]):
            rate = v[topo[k + V_MODES] + r]
            n = axpy(rate, load3(work, mu + 6 * r), n)
            f = axpy(rate, load3(work, mu + 6 * r + 3), f)
    else:
        c = topo[k + CONST]
        moment = load3(const, c + C_MOMENT)
        n = add(mul_sym(load6(const, c + C_INERTIA), w), cross(moment, u))
        f = axpy(const[c + C_MASS], u, cross(w, moment))
    return n, f


@kernel
def kinetic_energy(topo, const, work, q, v, out):
    """out[0] = 1/2 sum (V_m^T M_m V_m + armature beta^2)."""
    start_world(topo, const, work)
    twice = 0.0
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, q, k)
        velocity(topo, work, v, k)
        b = topo[k + WORK]
        w = load3(work, b + VEL)
        u = load3(work, b + VEL + 3)
        n, f = body_momentum(topo, const, work, q, v, k)
        twice += dot(n, w) + dot(f, u)
        m = topo[k + MODES]
        modal = topo[k + MODAL]
        mu = topo[modal + W_MU]
        df = topo[modal + W_DF]
        e = topo[k + V_MODES]
        for r in range(m):
            h = dot(load3(work, mu + 6 * r), w) + dot(load3(work, mu + 6 * r + 3), u)
            for s in range(m):
                h += work[df + r * m + s] * v[e + s]
            twice += h * v[e + r]
        for r in range(topo[k + DOFS]):
            beta = v[topo[k + V_JOINT] + r]
            twice += armature(topo, const, k, r) * beta * beta
    out[0] = 0.5 * twice


@kernel
def potential_energy(topo, const, work, q, out):
    """out[0] = elastic energy of modes and joints minus gravity times the mass moments about the origin."""
    start_world(topo, const, work)
    g = load3(const, GRAVITY)
    total = 0.0
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, q, k)
        world_place(topo, work, k)
        b = topo[k + WORK]
        c = topo[k + CONST]
        moment = load3(const, c + C_MOMENT)
        if topo[k + MODES] > 0:
            rigid_block(topo, const, work, q, k, True)
            moment = moment_of(work, b)
        moment = mul(load9(work, b + PLACE), moment)
        total -= dot(g, axpy(const[c + C_MASS], load3(work, b + PLACE + 9), moment))
        m = topo[k + MODES]
        e = topo[k + Q_MODES]
        stiffness = topo[topo[k + MODAL] + M_K]
        for r in range(m):
            for s in range(m):
                total += 0.5 * const[stiffness + r * m + s] * q[e + r] * q[e + s]
        if topo[k + PHYSICS] != 0:
            total += joint_energy(topo, const, q, k)
    out[0] = total


@kernel
def dissipated_power(topo, const, band, q, v):
    """The power dissipated at (q, v) by the dampers of modes and joints, by friction and by the damping of stops.

    band : half of the bandwidth of the modal damping matrices; entries farther from the diagonal are zero.
    """
    total = 0.0
    for k in range(COLUMNS, topo[END], COLUMNS):
        m = topo[k + MODES]
        e = topo[k + V_MODES]
        d = topo[topo[k + MODAL] + M_D]
        for r in range(m):
            force = 0.5 * const[d + r * m + r] * v[e + r]
            for s in range(max(r - band, 0), r):
                force += const[d + r * m + s] * v[e + s]
            total += 2.0 * force * v[e + r]  # the matrix is symmetric
        if topo[k + PHYSICS] != 0:
            for r in range(topo[k + DOFS]):
                force = speed_force(topo, const, q, v, k, r)
                force -= conservative_force(topo, const, q, k, r)
                total += force * v[topo[k + V_JOINT] + r]
    return total


@kernel
def dissipation(topo, const, work, q, v, out):
    """out[0] = `dissipated_power`."""
    out[0] = dissipated_power(topo, const, topo[NV], q, v)


@kernel
def momentum(topo, const, work, q, v, out):
    """out = momentum [angular; linear] of the system about the world origin, world axes."""
    start_world(topo, const, work)
    angular = (0.0, 0.0, 0.0)
    linear = (0.0, 0.0, 0.0)
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, q, k)
        world_place(topo, work, k)
        velocity(topo, work, v, k)
        b = topo[k + WORK]
        R = load9(work, b + PLACE)
        n, f = body_momentum(topo, const, work, q, v, k)
        n = mul(R, n)
        f = mul(R, f)
        linear = add(linear, f)
        angular = add(angular, add(n, cross(load3(work, b + PLACE + 9), f)))
    store3(out, 0, angular)
    store3(out, 3, linear)
