"""Slopes of inverse dynamics along q, by v and by vdot.

With c, spin and S of `slope_motion` and `flexible_motion`, and the sums I^C, B^C, E^C, f^C over the bodies outboard, the rows
of a joint speed i are y_i = I^C S_i, g_i = B^C^T S_i, e_i = E^C^T S_i.  Those of a mode sum the same over the children of its
body, each with its own S_i, and have what the body itself needs for the mode.  Then

    dtau_i = y_i . c_j + g_i . spin_j + e_i . ang(S_j)                       for i outboard of j
    dtau_i = S_i . push_j                                                    for i inboard of j
    push_j = I^C_j c_j + B^C_j spin_j + E^C_j ang(S_j) + S_j x* f^C_j        the last two by q

where push_j of a mode is again a sum over the children, and has the forces that the deformation of the body itself takes.
Two modes of one body also have the slopes of S_i (`node_twists`).  See docs/theory/derivatives.md.

Given     q, v, vdot, external wrenches
Computes  tau, and its slopes
Sweep     those of `newton_euler` and `flexible_records`, then tip to base
Cost      about 500 multiplications a rigid body, 65 m^2 + 800 m more for m modes, and 45 for each pair of speeds
"""

from .flexible_motion import moved_by_modes, twist_record
from .flexible_records import prepare_flexible
from .inertia import shift_rigid
from .layout import (
    ATTACHED,
    COLUMNS,
    DOFS,
    END,
    INBOARD,
    MODES,
    NODE,
    NV,
    PARENT,
    PHYSICS,
    PLACE,
    RIGIDLY,
    RUTHLESS,
    SB_FORCE,
    SB_GYRO,
    SB_MASS,
    SB_PLACE,
    SB_TURN,
    SV_K,
    SV_OWN,
    SV_PUSH,
    SV_RISE,
    SV_S,
    SV_SPIN,
    SV_TWIST,
    TWIST_RATE,
    TWIST_RISE,
    TWIST_S,
    V_JOINT,
    V_MODES,
    WORK,
)
from .newton_euler import inverse_dynamics
from .node_twists import add_pull_slopes
from .nodes import deformed
from .physics import armature, speed_slopes
from .scalar import kernel
from .slope_answers import add_rows, answer
from .slope_pairs import pair_with_inboard
from .slope_records import (
    body_record,
    cross_force,
    group_start,
    load_motion,
    paired,
    pass_matrix,
    speed_record,
    store_motion,
)
from .vec import accumulate3, add, cross, load3, load6, load9, mul, mul_t, scale, sub, zero


@kernel
def carried_force(room, b):
    """The wrench of the body record b, at the origin."""
    n, f = load_motion(room, b + SB_FORCE)
    return add(n, cross(load3(room, b + SB_PLACE), f)), f


@kernel
def pull_on_modes(topo, const, work, q, room, k, node, n, f, sign, out):
    """Add `sign` times the slopes of the pull of the wrench [n; f], at the origin, by a node of body k that carries it."""
    nv = topo[NV]
    R = load9(work, topo[k + WORK] + PLACE)
    _, l = deformed(topo, const, q, k, node)
    place = add(load3(room, body_record(k) + SB_PLACE), mul(R, l))
    n = sub(n, cross(place, f))
    at = nv + topo[k + V_MODES] * (nv + 1)
    add_pull_slopes(topo, const, q, k, node, mul_t(R, n), mul_t(R, f), True, sign, out, at, nv)


@kernel
def finish_modes(topo, const, work, q, room, k, out):
    """Add what the force on body k does as its modes move its own frame, on a deforming inboard node."""
    nv = topo[NV]
    i = topo[k + V_MODES]
    n, f = carried_force(room, body_record(k))
    for j in range(topo[k + MODES]):
        at = speed_record(topo, i + j)
        sw, su = load_motion(room, at + SV_TWIST)
        pn, pf = cross_force(sw, su, n, f)
        accumulate3(room, at + SV_PUSH, pn)
        accumulate3(room, at + SV_PUSH + 3, pf)
        for r in range(topo[k + MODES]):
            row = speed_record(topo, i + r) + SV_TWIST
            out[nv + (i + r) * nv + i + j] += paired(room, row, pn, pf)
    pull_on_modes(topo, const, work, q, room, k, topo[k + INBOARD], n, f, -1.0, out)


@kernel
def load_modes(topo, const, work, q, room, k, turned, out):
    """Add what body k and all outboard of it do to the modes of its parent."""
    nv = topo[NV]
    b, p = body_record(k), topo[k + PARENT]
    x = load3(room, b + SB_PLACE)
    i, m = topo[p + V_MODES], topo[p + MODES]
    fn, ff = carried_force(room, b)
    none = (0.0, 0.0, 0.0)
    for j in range(m):
        at = speed_record(topo, i + j)
        s = twist_record(topo, k, j)
        add_rows(room, b, x, at, s + TWIST_S)
        column = nv + i * nv + i + j
        yn, yf = answer(room, b, x, s + TWIST_S, none, 0, none)
        for r in range(m):
            row = twist_record(topo, k, r) + TWIST_S
            out[column + 2 * nv * nv + r * nv] += paired(room, row, yn, yf)
        if topo[RUTHLESS] == 0:
            sw, su = load_motion(room, s + TWIST_S)
            n, f = answer(room, b, x, s + TWIST_RISE, load3(room, s + TWIST_RATE), turned, sw)
            vn, vf = answer(room, b, x, s + TWIST_RATE, scale(0.5, sw), 0, none)
            vn, vf = scale(2.0, vn), scale(2.0, vf)
            for r in range(m):
                row = twist_record(topo, k, r) + TWIST_S
                out[column + r * nv] += paired(room, row, n, f)
                out[column + nv * nv + r * nv] += paired(room, row, vn, vf)
            if topo[p + INBOARD] != 0:
                ow, ou = load_motion(room, at + SV_TWIST)
                sw, su = sub(sw, ow), sub(su, ou)
            pn, pf = cross_force(sw, su, fn, ff)
            if topo[p + INBOARD] != 0:
                for r in range(m):
                    row = speed_record(topo, i + r) + SV_TWIST
                    out[column + r * nv] += paired(room, row, pn, pf)
            accumulate3(room, at + SV_PUSH, add(n, pn))
            accumulate3(room, at + SV_PUSH + 3, add(f, pf))
            accumulate3(room, at + SV_PUSH + 6, vn)
            accumulate3(room, at + SV_PUSH + 9, vf)
    if topo[RUTHLESS] == 0 and topo[k + ATTACHED] != RIGIDLY:
        pull_on_modes(topo, const, work, q, room, p, topo[k + NODE], fn, ff, 1.0, out)


@kernel
def fill_joint(topo, const, q, v, room, k, turned, out):
    """The rows and pushes of the joint speeds of body k, and the slopes of the joint by its own speeds."""
    nv = topo[NV]
    by_q = nv
    by_v = by_q + nv * nv
    by_vdot = by_v + nv * nv
    b = body_record(k)
    x = load3(room, b + SB_PLACE)
    i = topo[k + V_JOINT]
    dofs = topo[k + DOFS]
    fn, ff = carried_force(room, b)
    none = (0.0, 0.0, 0.0)
    for r in range(dofs):
        at = speed_record(topo, i + r)
        zero(room, at + SV_K, 12)
        add_rows(room, b, x, at, at + SV_S)
        sw, su = load_motion(room, at + SV_S)
        n, f = answer(room, b, x, at + SV_RISE, load3(room, at + SV_SPIN), turned, sw)
        store_motion(room, at + SV_OWN, n, f)
        pn, pf = cross_force(sw, su, fn, ff)
        store_motion(room, at + SV_PUSH, add(n, pn), add(f, pf))
        n, f = answer(room, b, x, at + SV_RISE + 6, sw, 0, none)
        store_motion(room, at + SV_PUSH + 6, n, f)
    for r in range(dofs):
        at = speed_record(topo, i + r)
        first = group_start(topo, k, r)
        for t in range(dofs):
            other = speed_record(topo, i + t)
            push = at + (SV_PUSH if t < first else SV_OWN)
            n, f = load_motion(room, push)
            column = (i + t) * nv + i + r
            out[by_q + column] = paired(room, other + SV_S, n, f)
            n, f = load_motion(room, at + SV_PUSH + 6)
            out[by_v + column] = paired(room, other + SV_S, n, f)
            n, f = load_motion(room, at + SV_K)
            out[by_vdot + column] = paired(room, other + SV_S, n, f)
        if topo[k + PHYSICS] != 0:
            by_theta, by_beta = speed_slopes(topo, const, q, v, k, r)
            row = (i + r) * (nv + 1)
            out[by_q + row] += by_theta
            out[by_v + row] += by_beta
            out[by_vdot + row] += armature(topo, const, k, r)


@kernel
def composite_to_parent(topo, room, k):
    """Add what a body and those outboard of it sum up to its parent."""
    b, p = body_record(k), body_record(topo[k + PARENT])
    o = sub(load3(room, b + SB_PLACE), load3(room, p + SB_PLACE))
    mass = room[b + SB_MASS]
    h, J = load3(room, b + SB_MASS + 1), load6(room, b + SB_MASS + 4)
    h, J = shift_rigid(o, mass, h, J)
    room[p + SB_MASS] += mass
    accumulate3(room, p + SB_MASS + 1, h)
    for i in range(6):
        room[p + SB_MASS + 4 + i] += J[i]
    pass_matrix(room, b + SB_GYRO, p + SB_GYRO, o)
    pass_matrix(room, b + SB_TURN, p + SB_TURN, o)


@kernel
def fill(topo, const, work, q, v, room, k, turned, out):
    """The slopes that couple the speeds of body k with each other and with all inboard, and what its parent needs of it."""
    if topo[k + INBOARD] != 0:
        finish_modes(topo, const, work, q, room, k, out)
    fill_joint(topo, const, q, v, room, k, turned, out)
    for i in range(topo[k + V_MODES], topo[k + V_MODES] + topo[k + MODES]):
        pair_with_inboard(topo, room, k, i, True, turned, out)
    for i in range(topo[k + V_JOINT], topo[k + V_JOINT] + topo[k + DOFS]):
        pair_with_inboard(topo, room, k, i, False, turned, out)
    if topo[k + PARENT] != 0:
        if topo[topo[k + PARENT] + MODES] > 0 and moved_by_modes(topo, k):
            load_modes(topo, const, work, q, room, k, turned, out)
        composite_to_parent(topo, room, k)


@kernel
def fill_slopes(topo, const, work, q, v, vdot, ext_count, ext_index, ext, out, room):
    """The slopes of tau along q, by v and by vdot, in `out` from number NV on, after `inverse_dynamics`."""
    nv = topo[NV]
    zero(out, nv, 3 * nv * nv)
    prepare_flexible(topo, const, work, q, v, vdot, ext_count, ext_index, ext, room, out)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        fill(topo, const, work, q, v, room, k, ext_count, out)


@kernel
def inverse_slopes(topo, const, work, q, v, vdot, ext_count, ext_index, ext, out, room):
    """out = tau, then its slopes along q, by v and by vdot, (nv, nv) each."""
    inverse_dynamics(topo, const, work, q, v, vdot, ext_count, ext_index, ext, out)
    fill_slopes(topo, const, work, q, v, vdot, ext_count, ext_index, ext, out, room)
