"""What the rows of closures tell: violations, velocities, accelerations, and the wrenches of multipliers.

Given     q, v, vdot, multipliers; PLACE, OMEGA and VEL of the bodies (`closures.observe`), ACC for accelerations
Computes  N^T of the error twist, of V_rel and of its rate for each row; N lambda for each closure
Cost      about 300 multiplications for a closure and 12 for each of its rows
"""

from .closures import (
    crossed,
    crossed_acceleration,
    end_motion,
    end_place,
    end_pose,
    relative_acceleration,
    relative_pose,
    relative_velocity,
    row_at,
)
from .cut_joint import (
    HALF_TURN,
    chord,
    dependence,
    factorize_map,
    recover_coordinates,
    search_coordinates,
    skew_part,
    squared_length,
    store_rows,
    turn_cosine,
)
from .layout import (
    ACC,
    AXIAL,
    BALL,
    COMPOUND,
    CROSSED,
    K_AXIS,
    K_BACK,
    K_BODY,
    K_FIRST,
    K_JOINT,
    K_KIND,
    K_MAP,
    K_NODE,
    K_PITCH,
    K_ROWS,
    K_SCREW,
    LOCKED,
    MODES,
    PLACE,
    Q_JOINT,
    RUTHLESS,
    START_SIZE,
    V_MODES,
    WORK,
)
from .nodes import deformed, shape, shape_at
from .scalar import cos, kernel, sin
from .so3 import bend, matrix
from .vec import (
    add,
    axpy,
    cross,
    dot,
    load3,
    load9,
    mul,
    mul_t,
    scale,
    store3,
    sub,
)


@kernel
def half_turn(cosine):
    """2 at half a turn, where the direction of the error is not defined; zero a little away from it."""
    x = HALF_TURN / (0.5 * (1.0 + cosine) + HALF_TURN)
    return 2.0 * x * x


@kernel
def turn_error(topo, const, c, Ra, Rb):
    """The rotation by which O_b is off what the joint allows: a vector with its sine, in the axes of O_b, and its cosine."""
    if topo[c + K_KIND] == LOCKED:
        return skew_part(Ra, Rb), turn_cosine(Ra, Rb)
    elif topo[c + K_KIND] == AXIAL:
        axis = load3(const, topo[c + K_AXIS])
        other = mul_t(Rb, mul(Ra, axis))
        return cross(other, axis), dot(other, axis)
    else:
        return (0.0, 0.0, 0.0), 1.0


@kernel
def store_violations(topo, const, work, q, c, out):
    """The violations of the rows of a cut joint, in m and rad: first-order coordinates N^T x of the error twist x.

    Its rotation enters by 2 sin(t / 2), which grows up to half a turn.
    """
    Ra, pa = end_pose(topo, const, work, q, c, 0)
    Rb, pb = end_pose(topo, const, work, q, c, 1)
    at = topo[c + K_FIRST]
    if topo[c + K_KIND] == COMPOUND:
        R, p = relative_pose(Ra, pa, Rb, pb)
        e, cosine, p = recover_coordinates(topo, const, work, c, R, p)
        store_rows(topo, const, work, c, e, p)
        e = scale(chord(cosine), e)
    else:
        p = mul_t(Rb, sub(pb, pa))
        e, cosine = turn_error(topo, const, c, Ra, Rb)
        e = scale(chord(cosine), e)
        p = add(p, cross(e, p))
    first = 0
    if topo[c + K_KIND] == CROSSED:
        a1, a2 = crossed(topo, const, c, Ra, Rb)
        out[at] = const[topo[c + K_AXIS] + 6] - dot(a1, a2)
        first = 1
    last = topo[c + K_ROWS] - topo[c + K_SCREW]
    for j in range(first, last):
        n, f = row_at(topo, const, work, c, j)
        out[at + j] = dot(n, e) + dot(f, p)
    if first < last and topo[c + K_KIND] != CROSSED and topo[c + K_KIND] != BALL:
        out[at] += half_turn(cosine)
    if topo[c + K_SCREW] != 0:
        # the displacement s and the angle t about the axis: 2 h sin((s/h - t) / 2) is zero for any number of turns
        axis = load3(const, topo[c + K_AXIS])
        h = const[topo[c + K_PITCH]]
        s = dot(axis, p) / h
        x = mul_t(Ra, mul(Rb, (1.0, 0.0, 0.0)))
        y = mul_t(Ra, mul(Rb, (0.0, 1.0, 0.0)))
        z = mul_t(Ra, mul(Rb, (0.0, 0.0, 1.0)))
        sine = 0.5 * dot(axis, (y[2] - z[1], z[0] - x[2], x[1] - y[0]))
        cosine = 0.5 * (x[0] + y[1] + z[2] - 1.0)
        i = topo[c + K_MAP] + 6 * last
        size = dot(load3(const, i + 3), axis)
        off = cos(s) * cosine + sin(s) * sine
        sine = sin(s) * cosine - cos(s) * sine
        out[at + last] = size * h * (chord(off) * sine + half_turn(off))


@kernel
def store_coordinates(topo, const, work, q, c, starts, at, out, into):
    """The coordinates of the joint of a COMPOUND closure, sought from those at starts[at:], and the error that is left.

    The error is the rotation, as in `store_violations`, and the displacement, behind room for 6 coordinates.  The `dependence` of
    the joint map follows.  A search that goes astray leaves numbers that are huge or not finite.
    """
    Ra, pa = end_pose(topo, const, work, q, c, 0)
    Rb, pb = end_pose(topo, const, work, q, c, 1)
    R, p = relative_pose(Ra, pa, Rb, pb)
    joint = topo[c + K_JOINT]
    coordinates = topo[joint + Q_JOINT]
    for i in range(topo[joint + START_SIZE]):
        work[coordinates + i] = starts[at + i]
    e, cosine, p = search_coordinates(topo, const, work, joint, R, p)
    e = scale(chord(cosine), e)
    for i in range(topo[joint + START_SIZE]):
        out[into + i] = work[coordinates + i]
    store3(out, into + 6, e)
    out[into + 6] += half_turn(cosine)
    store3(out, into + 9, p)
    weight = 1.0 / squared_length(topo, const, joint)
    factorize_map(topo, work, joint, weight, 0.0)
    out[into + 12] = dependence(topo, work, joint, weight)


@kernel
def store_rates(topo, const, work, q, v, c, out):
    """The velocities N^T V_rel of the rows of a cut joint."""
    Ra, pa = end_pose(topo, const, work, q, c, 0)
    Rb, pb = end_pose(topo, const, work, q, c, 1)
    wa, ua, _, _ = end_motion(topo, const, work, q, v, c, 0)
    wb, ub, _, _ = end_motion(topo, const, work, q, v, c, 1)
    w = sub(wb, wa)
    u = mul_t(Rb, sub(sub(ub, ua), cross(wa, sub(pb, pa))))
    at = topo[c + K_FIRST]
    first = 0
    if topo[c + K_KIND] == CROSSED:
        a1, a2 = crossed(topo, const, c, Ra, Rb)
        out[at] = dot(cross(a1, a2), w)
        first = 1
    elif topo[c + K_KIND] == COMPOUND:
        R, p = relative_pose(Ra, pa, Rb, pb)
        recover_coordinates(topo, const, work, c, R, p)
        store_rows(topo, const, work, c, w, u)
    w = mul_t(Rb, w)
    for j in range(first, topo[c + K_ROWS]):
        n, f = row_at(topo, const, work, c, j)
        out[at + j] = dot(n, w) + dot(f, u)


@kernel
def end_acceleration(topo, const, work, q, vdot, c, side):
    """What the accelerations ACC of its body and those of the modes add to that of an end (`end_motion`), world axes."""
    k = topo[c + K_BODY[side]]
    b = topo[k + WORK]
    _, o, arm = end_place(topo, const, work, q, c, side)
    w = load3(work, b + ACC)
    u = add(load3(work, b + ACC + 3), cross(w, o))
    if topo[k + MODES] > 0:
        node = topo[c + K_NODE[side]]
        turn = (0.0, 0.0, 0.0)
        for r in range(topo[k + MODES]):
            a = vdot[topo[k + V_MODES] + r]
            if topo[RUTHLESS] == 0:
                turning, shifting = shape_at(topo, const, q, k, node, r)
            else:
                turning, shifting = shape(const, node, r)
            turn = axpy(a, turning, turn)
            u = axpy(a, shifting, u)
        if topo[RUTHLESS] == 0:
            x, _ = deformed(topo, const, q, k, node)
            _, tb, tc, _, _ = bend(x)
            turn = mul(matrix(tb, tc, x), turn)
        w = add(w, turn)
        u = add(u, cross(turn, arm))
    R = load9(work, b + PLACE)
    return mul(R, w), mul(R, u)


@kernel
def store_accelerations(topo, const, work, q, v, vdot, c, out):
    """The accelerations of the rows of a cut joint, with ACC of the bodies in work."""
    Ra, pa = end_pose(topo, const, work, q, c, 0)
    Rb, pb = end_pose(topo, const, work, q, c, 1)
    wa, ua, alpha_a, acc_a = end_motion(topo, const, work, q, v, c, 0)
    wb, ub, alpha_b, acc_b = end_motion(topo, const, work, q, v, c, 1)
    more_a, more_acc_a = end_acceleration(topo, const, work, q, vdot, c, 0)
    more_b, more_acc_b = end_acceleration(topo, const, work, q, vdot, c, 1)
    r = sub(pb, pa)
    w, u = relative_velocity(r, wa, ua, wb, ub)
    alpha, acc = relative_acceleration(
        r, w, u, wa, add(alpha_a, more_a), add(acc_a, more_acc_a), add(alpha_b, more_b), add(acc_b, more_acc_b)
    )  # fmt: skip
    at = topo[c + K_FIRST]
    first = 0
    if topo[c + K_KIND] == CROSSED:
        a1, a2 = crossed(topo, const, c, Ra, Rb)
        out[at] = crossed_acceleration(a1, a2, cross(a1, a2), w, alpha)
        first = 1
    elif topo[c + K_KIND] == COMPOUND:
        R, p = relative_pose(Ra, pa, Rb, pb)
        recover_coordinates(topo, const, work, c, R, p)
        bias_w, bias_u = store_rows(topo, const, work, c, mul_t(Rb, w), mul_t(Rb, u))
        alpha = sub(alpha, mul(Rb, bias_w))
        acc = sub(acc, mul(Rb, bias_u))
    alpha = mul_t(Rb, alpha)
    acc = mul_t(Rb, acc)
    for j in range(first, topo[c + K_ROWS]):
        n, f = row_at(topo, const, work, c, j)
        out[at + j] = dot(n, alpha) + dot(f, acc)


@kernel
def store_wrench(topo, const, work, q, c, rows, out, at):
    """What multipliers `rows` of a cut joint exert on b: [moment, force] at the frame of end b, world axes, at out[at:]."""
    Ra, pa = end_pose(topo, const, work, q, c, 0)
    Rb, pb = end_pose(topo, const, work, q, c, 1)
    first = topo[c + K_FIRST]
    moment = (0.0, 0.0, 0.0)
    force = (0.0, 0.0, 0.0)
    start = 0
    if topo[c + K_KIND] == CROSSED:
        a1, a2 = crossed(topo, const, c, Ra, Rb)
        moment = scale(rows[first], mul_t(Rb, cross(a1, a2)))
        start = 1
    elif topo[c + K_KIND] == COMPOUND:
        R, p = relative_pose(Ra, pa, Rb, pb)
        w, _, u = recover_coordinates(topo, const, work, c, R, p)
        store_rows(topo, const, work, c, w, u)
    for j in range(start, topo[c + K_ROWS]):
        n, f = row_at(topo, const, work, c, j)
        moment = axpy(rows[first + j], n, moment)
        force = axpy(rows[first + j], f, force)
    moment = sub(moment, cross(load3(const, topo[c + K_BACK]), force))
    store3(out, at, mul(Rb, moment))
    store3(out, at + 3, mul(Rb, force))
