"""The records of bodies and speeds behind the slopes of rigid systems, and the 6 x 3 matrices in them; see `slope_motion`."""

from .layout import COLUMNS, END, G_DOFS, GENERAL, GROUP, JOINT, SB_FORCE, SLOPE_BODY, SLOPE_SPEED
from .scalar import kernel
from .vec import accumulate3, add, axpy, cross, dot, load3, load9, mul, mul_t, scale, store3


@kernel
def body_record(k):
    """Where the record of body k begins."""
    return k // COLUMNS * SLOPE_BODY


@kernel
def speed_record(topo, i):
    """Where the record of speed i begins."""
    return topo[END] // COLUMNS * SLOPE_BODY + i * SLOPE_SPEED


@kernel
def cross_motion(w, u, x, y):
    """[w; u] x [x; y] of two motions."""
    return cross(w, x), add(cross(w, y), cross(u, x))


@kernel
def cross_force(w, u, n, f):
    """[w; u] x* [n; f] of a motion and a force."""
    return add(cross(w, n), cross(u, f)), cross(w, f)


@kernel
def load_motion(room, i):
    """The two parts of the spatial vector at room[i:]."""
    return load3(room, i), load3(room, i + 3)


@kernel
def store_motion(room, i, w, u):
    """Store the two parts of a spatial vector at room[i:]."""
    store3(room, i, w)
    store3(room, i + 3, u)


@kernel
def paired(room, i, n, f):
    """The scalar product of the spatial vector at room[i:] with [n; f]."""
    return dot(load3(room, i), n) + dot(load3(room, i + 3), f)


@kernel
def shifted_motion(room, i, x):
    """The motion at room[i:] that refers to the origin, at x."""
    w, u = load_motion(room, i)
    return w, add(u, cross(w, x))


@kernel
def times(room, i, x):
    """The 6 x 3 matrix at room[i:] times x, as (angular, linear)."""
    return mul(load9(room, i), x), mul(load9(room, i + 9), x)


@kernel
def row_of(room, i, sw, su):
    """S^T times the 6 x 3 matrix at room[i:]."""
    return add(mul_t(load9(room, i), sw), mul_t(load9(room, i + 9), su))


@kernel
def subtract_product(room, i, kw, ku, x):
    """Subtract K x^T from the 6 x 3 matrix at room[i:]."""
    for r in range(3):
        store3(room, i + 3 * r, axpy(-kw[r], x, load3(room, i + 3 * r)))
        store3(room, i + 9 + 3 * r, axpy(-ku[r], x, load3(room, i + 9 + 3 * r)))


@kernel
def pass_matrix(room, i, j, o):
    """Add the 6 x 3 matrix at room[i:], of wrenches at the tip of o, to that at room[j:], of wrenches at its root."""
    x, y, z = load3(room, i + 9), load3(room, i + 12), load3(room, i + 15)
    accumulate3(room, j, add(load3(room, i), axpy(o[1], z, scale(-o[2], y))))
    accumulate3(room, j + 3, add(load3(room, i + 3), axpy(o[2], x, scale(-o[0], z))))
    accumulate3(room, j + 6, add(load3(room, i + 6), axpy(o[0], y, scale(-o[1], x))))
    accumulate3(room, j + 9, x)
    accumulate3(room, j + 12, y)
    accumulate3(room, j + 15, z)


@kernel
def pass_force(room, b, p, o):
    """Add the wrench of the body record b to that of its parent, from which it is at o."""
    n, f = load_motion(room, b + SB_FORCE)
    accumulate3(room, p + SB_FORCE, add(n, cross(o, f)))
    accumulate3(room, p + SB_FORCE + 3, f)


@kernel
def group_start(topo, k, r):
    """The first speed of the group that speed r of the joint of body k belongs to."""
    first = 0
    if topo[k + JOINT] == GENERAL:
        g = topo[k + GROUP]
        while r >= first + topo[g + G_DOFS]:
            first += topo[g + G_DOFS]
            g += COLUMNS
    return first
