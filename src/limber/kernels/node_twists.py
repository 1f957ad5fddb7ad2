"""How the modes of a body move its nodes as rigid frames: twists, their rates, and what a wrench there does to the modes.

Mode r moves the frame of a node by the twist s_r = [t_r; g_r - t_r x l] about the origin of the body frame, with
t_r = T(x) lambda_r and g_r = gamma_r + (B eta)_r.  All here is in body axes.

    s_r'  = [t_r'; g_r' - t_r' x l - t_r x l']
    s_r'' = [t_r''; g_r'' - t_r'' x l - 2 t_r' x l' - t_r x l'']

A wrench [n; f] at the node pulls mode r by s_r, and the slope of that by eta_i, with the wrench carried along by the node, is

    (ds_i/deta_r) . [n; f] = (dT/deta_i)^T n . lambda_r + B_ir . f - t_r . (g_i x f)              for row i, column r

since what differs from ds_r/deta_i is the motion of the node (docs/theory/derivatives.md).
"""

from .layout import BENT, MODES, V_MODES
from .nodes import accelerations, deformed, rates, second, shape, shape_at
from .scalar import kernel
from .second import pair, row_times
from .so3 import second_series
from .vec import add, axpy, cross, dot, scale, sub


@kernel
def node_motion(topo, const, q, v, vdot, k, node):
    """x, l and their first and second rates."""
    x, l = deformed(topo, const, q, k, node)
    xd, ld, _ = rates(topo, const, q, v, k, node)
    xdd, ldd = accelerations(topo, const, q, v, vdot, k, node)
    return x, l, xd, ld, xdd, ldd


@kernel
def turning(turn, x, xd, xdd):
    """T(x) turn for a constant vector `turn`, and its first and second rates."""
    b, c, db, dc, ddb, ddc = second_series(dot(x, x))
    u1 = 2.0 * dot(x, xd)
    u2 = 2.0 * (dot(xd, xd) + dot(x, xdd))
    b1, c1 = db * u1, dc * u1
    b2, c2 = ddb * u1 * u1 + db * u2, ddc * u1 * u1 + dc * u2
    y, y1, y2 = cross(x, turn), cross(xd, turn), cross(xdd, turn)
    z = cross(x, y)
    z1 = add(cross(xd, y), cross(x, y1))
    z2 = add(add(cross(xdd, y), scale(2.0, cross(xd, y1))), cross(x, y2))
    t = add(turn, axpy(b, y, scale(c, z)))
    t1 = add(axpy(b1, y, scale(b, y1)), axpy(c1, z, scale(c, z1)))
    t2 = add(
        axpy(b2, y, axpy(2.0 * b1, y1, scale(b, y2))), axpy(c2, z, axpy(2.0 * c1, z1, scale(c, z2)))
    )
    return t, t1, t2


@kernel
def twist(topo, const, q, v, vdot, k, node, r, motion):
    """s_r and its first and second rates, each as (angular, linear); `motion` is the `node_motion`."""
    x, l, xd, ld, xdd, ldd = motion
    turn, g = shape_at(topo, const, q, k, node, r)
    t, t1, t2 = turning(turn, x, xd, xdd)
    s1 = add(cross(t1, l), cross(t, ld))
    s2 = add(cross(t2, l), axpy(2.0, cross(t1, ld), cross(t, ldd)))
    s1, s2 = scale(-1.0, s1), scale(-1.0, s2)
    if topo[k + BENT] != 0:
        at = second(topo, k, node)
        s1 = add(s1, row_times(topo, const, k, at, r, v, topo[k + V_MODES]))
        s2 = add(s2, row_times(topo, const, k, at, r, vdot, topo[k + V_MODES]))
    return t, sub(g, cross(t, l)), t1, s1, t2, s2


@kernel
def turned_moment(x, b, c, db, dc, n, step):
    """The slope of T(x)^T n by x along `step`."""
    y, z = cross(x, n), cross(x, cross(x, n))
    y1 = cross(step, n)
    z1 = add(cross(step, y), cross(x, y1))
    u1 = 2.0 * dot(x, step)
    return add(axpy(-db * u1, y, scale(-b, y1)), axpy(dc * u1, z, scale(c, z1)))


@kernel
def add_pull_slopes(topo, const, q, k, node, n, f, carried, sign, out, at, stride):
    """Add to out[at + i stride + r] the slope of the pull of the wrench [n; f] at a node on mode i by mode r.

    The wrench moves with the node if `carried`, and keeps to the body axes if not.
    """
    m = topo[k + MODES]
    x, _ = deformed(topo, const, q, k, node)
    b, c, db, dc, _, _ = second_series(dot(x, x))
    for i in range(m):
        turn, g = shape_at(topo, const, q, k, node, i)
        slope = turned_moment(x, b, c, db, dc, n, turn)
        if carried:
            # - t_r . (g_i x f), with T^T on the right factor
            y = cross(f, g)
            z = cross(x, y)
            slope = add(slope, add(y, axpy(-b, z, scale(c, cross(x, z)))))
        for r in range(m):
            other, _ = shape(const, node, r)
            value = dot(slope, other)
            if topo[k + BENT] != 0:
                value += dot(pair(topo, const, k, second(topo, k, node), i, r), f)
            if carried:
                out[at + i * stride + r] += sign * value
            else:
                out[at + r * stride + i] += sign * value
