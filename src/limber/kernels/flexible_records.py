"""Slopes of the dynamics of flexible systems: the outward sweep, in which each body leaves what the inward sweep needs.

The inertia, B and E of each body alone, the wrench that its joint carries, and the rows and forces of its modes as far as the body
itself goes: what its deformation takes (`modal_slopes`), and what the motion of its frame does, where modes move it.

Given     q, v, vdot, external wrenches, after `newton_euler.inverse_dynamics`
Computes  the records of all bodies, speeds and twists; the slopes of the modes of a body as far as their own body goes
Sweep     base to tip
Cost      about 350 multiplications for a rigid body, 25 m^2 + 500 m more for m modes
"""

from .flexible_motion import move
from .inertia import rotate_symmetric
from .layout import (
    BENT,
    COLUMNS,
    END,
    INBOARD,
    MODAL,
    MODES,
    NV,
    OMEGA,
    PLACE,
    RUTHLESS,
    SB_FORCE,
    SB_GYRO,
    SB_MASS,
    SB_PLACE,
    SB_TURN,
    SB_VEL,
    SV_GYRO,
    SV_K,
    SV_PUSH,
    SV_TURN,
    V_MODES,
    W_DF,
    W_MU,
    W_N,
    WORK,
    P,
    Z,
)
from .modal import axpy9, body_mass, moment_of
from .modal_slopes import slopes_by_modes, slopes_by_spin, traced
from .motion import world_place
from .node_twists import add_pull_slopes
from .nodes import deformed, shape, shape_at, undeformed
from .scalar import kernel
from .slope_answers import move_own_body
from .slope_motion import add_wrench, set_off, start_slopes, store_gyro
from .slope_records import (
    body_record,
    load_motion,
    shifted_motion,
    speed_record,
    store_motion,
)
from .so3 import left_jacobian
from .vec import (
    accumulate3,
    add,
    axpy,
    cross,
    load3,
    load6,
    load9,
    matmul,
    mul,
    mul_t,
    store3,
    store6,
    store9,
    zero,
)


@kernel
def start_record(topo, work, v, room, k):
    """The inertia, the wrench at the joint, and B of body k; the wrench includes all that is outboard."""
    at = topo[k + WORK]
    b = body_record(k)
    R = load9(work, at + PLACE)
    mass = work[at + P + 15]
    h = mul(R, moment_of(work, at))
    J = rotate_symmetric(R, load6(work, at + P))
    room[b + SB_MASS] = mass
    store3(room, b + SB_MASS + 1, h)
    store6(room, b + SB_MASS + 4, J)
    store_motion(room, b + SB_FORCE, mul(R, load3(work, at + Z)), mul(R, load3(work, at + Z + 3)))
    w = mul(R, load3(work, at + OMEGA))
    u = add(load3(room, b + SB_VEL + 3), cross(w, load3(room, b + SB_PLACE)))
    store_gyro(room, b + SB_GYRO, w, u, mass, h, J)
    zero(room, b + SB_TURN, 18)
    if topo[k + MODES] > 0 and topo[RUTHLESS] == 0:
        add_modal_gyro(topo, work, v, room, k, R)


@kernel
def add_modal_gyro(topo, work, v, room, k, R):
    """Add to B of body k what its modal rates do: 2 (tr(N) I - N), and -2 p~ with their momentum p."""
    modal = topo[k + MODAL]
    N = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    p = (0.0, 0.0, 0.0)
    for r in range(topo[k + MODES]):
        rate = 2.0 * v[topo[k + V_MODES] + r]
        N = axpy9(rate, load9(work, topo[modal + W_N] + 9 * r), N)
        p = axpy(rate, load3(work, topo[modal + W_MU] + 6 * r + 3), p)
    x, y, z = load3(R, 0), load3(R, 3), load3(R, 6)
    M = matmul(R, transposed_rows(traced(N, x), traced(N, y), traced(N, z)))
    px, py, pz = mul(R, p)
    i = body_record(k) + SB_GYRO
    store9(room, i, axpy9(1.0, M, load9(room, i)))
    accumulate3(room, i + 9, (0.0, pz, -py))
    accumulate3(room, i + 12, (-pz, 0.0, px))
    accumulate3(room, i + 15, (py, -px, 0.0))


@kernel
def transposed_rows(x, y, z):
    """The matrix with these columns."""
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@kernel
def turn_to_world(topo, work, room, k):
    """Take what `modal_slopes` left in the records of the modes of body k to world axes and to the origin; set SV_K and SV_TURN."""
    at = topo[k + WORK]
    R = load9(work, at + PLACE)
    x = load3(room, body_record(k) + SB_PLACE)
    mu = topo[topo[k + MODAL] + W_MU]
    for r in range(topo[k + MODES]):
        speed = speed_record(topo, topo[k + V_MODES] + r)
        n, f = mul(R, load3(work, mu + 6 * r)), mul(R, load3(work, mu + 6 * r + 3))
        store_motion(room, speed + SV_K, add(n, cross(x, f)), f)
        for i in range(speed + SV_PUSH, speed + SV_PUSH + 12, 6):
            n, f = mul(R, load3(room, i)), mul(R, load3(room, i + 3))
            store_motion(room, i, add(n, cross(x, f)), f)
        store3(room, speed + SV_GYRO, mul(R, load3(room, speed + SV_GYRO)))
        zero(room, speed + SV_TURN, 3)


@kernel
def start_modes(topo, const, work, q, v, vdot, room, k, out):
    """Slopes of the forces on the modes of body k, its frame's motion given, in `out`, and the records of the modes."""
    m = topo[k + MODES]
    nv = topo[NV]
    slopes_by_modes(topo, const, work, q, v, vdot, room, k, out)
    if topo[k + BENT] != 0:
        body_mass(topo, const, work, q, k)
    R = load9(work, topo[k + WORK] + PLACE)
    b = body_record(k)
    _, u = shifted_motion(room, b + SB_VEL, load3(room, b + SB_PLACE))
    slopes_by_spin(topo, const, work, v, room, k, mul_t(R, u))
    turn_to_world(topo, work, room, k)
    by_vdot = nv + 2 * nv * nv + topo[k + V_MODES] * (nv + 1)
    df = topo[topo[k + MODAL] + W_DF]
    for i in range(m):
        for j in range(m):
            out[by_vdot + i * nv + j] = work[df + i * m + j]


@kernel
def add_bent_wrench(topo, const, work, q, room, k, node, n, f, out):
    """Add what an external wrench at a node of flexible body k does to the slopes of its modes."""
    nv = topo[NV]
    i = topo[k + V_MODES]
    R = load9(work, topo[k + WORK] + PLACE)
    for r in range(topo[k + MODES]):
        speed = speed_record(topo, i + r)
        if topo[RUTHLESS] == 0:
            x, _ = deformed(topo, const, q, k, node)
            turn, shift = shape_at(topo, const, q, k, node, r)
            turn, shift = mul(R, mul(left_jacobian(x), turn)), mul(R, shift)
            accumulate3(room, speed + SV_PUSH, cross(f, shift))
        else:
            turn, shift = shape(const, node, r)
            turn, shift = mul(R, turn), mul(R, shift)
        accumulate3(room, speed + SV_TURN, add(cross(n, turn), cross(f, shift)))
    if topo[RUTHLESS] == 0:
        at = nv + i * (nv + 1)
        add_pull_slopes(topo, const, q, k, node, mul_t(R, n), mul_t(R, f), False, -1.0, out, at, nv)


@kernel
def prepare_flexible(topo, const, work, q, v, vdot, ext_count, ext_index, ext, room, out):
    """The outward sweep, after `inverse_dynamics`."""
    start_slopes(topo, const, room)
    for k in range(COLUMNS, topo[END], COLUMNS):
        world_place(topo, work, k)
        if k == COLUMNS:
            set_off(topo, work, room, v, k)
        move(topo, const, work, q, v, vdot, room, k)
        if topo[k + MODES] > 0:
            start_modes(topo, const, work, q, v, vdot, room, k, out)
        start_record(topo, work, v, room, k)
    for e in range(ext_count):
        k, node = ext_index[2 * e], ext_index[2 * e + 1]
        n, f = load_motion(ext, 6 * e)
        l = undeformed(const, node)
        if topo[k + MODES] > 0:
            if topo[RUTHLESS] == 0:
                _, l = deformed(topo, const, q, k, node)
            add_bent_wrench(topo, const, work, q, room, k, node, n, f, out)
        add_wrench(topo, work, room, k, l, n, f)
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + INBOARD] != 0:
            move_own_body(topo, room, k, ext_count, out)
