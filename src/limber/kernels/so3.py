r"""Rotations: exp(x~), its left Jacobian, quaternions.

With t^2 = x . x,

    exp(x~)  = I + a x~ + b x~^2,     a = sin t / t,           b = (1 - cos t) / t^2
    Tl(x)    = I + b x~ + c x~^2,     c = (t - sin t) / t^3

The coefficients are entire functions of u = t^2, a = g_1, b = g_2, c = g_3 of the family

    g_n(u) = sum_k (-u)^k / (2 k + n)!,   g_n = 1/n! - u g_(n+2),   dg_n/du = (n g_(n+2) - g_(n+1)) / 2

so two polynomials, g_4 and g_5, give all of them and their rates.  Eight terms are exact to rounding below
1 rad.  There is no branch at t = 0, and derivatives are smooth there.
"""

from math import factorial

from .scalar import kernel, sqrt
from .vec import add, axpy, cross, dot, load3, mul, scale

TERMS = 8
COEFFICIENTS_4 = tuple((-1) ** k / factorial(2 * k + 4) for k in range(TERMS))
COEFFICIENTS_5 = tuple((-1) ** k / factorial(2 * k + 5) for k in range(TERMS))
COEFFICIENTS_6 = tuple((-1) ** k / factorial(2 * k + 6) for k in range(TERMS))
COEFFICIENTS_7 = tuple((-1) ** k / factorial(2 * k + 7) for k in range(TERMS))

#: How often `exp_pose` halves its angle, which makes it exact to rounding up to 2**HALVINGS rad.
HALVINGS = 6


@kernel
def horner(coefficients, u):
    value = coefficients[TERMS - 1]
    for i in range(TERMS - 1):
        value = value * u + coefficients[TERMS - 2 - i]
    return value


@kernel
def series(u):
    """a, b, c and the rates db/du, dc/du, at u = x . x."""
    g4 = horner(COEFFICIENTS_4, u)
    g5 = horner(COEFFICIENTS_5, u)
    b = 1.0 / 2.0 - u * g4
    c = 1.0 / 6.0 - u * g5
    return 1.0 - u * c, b, c, g4 - 0.5 * c, 1.5 * g5 - 0.5 * g4


@kernel
def second_series(u):
    """b, c and their first and second rates by u, at u = x . x."""
    g6 = horner(COEFFICIENTS_6, u)
    g7 = horner(COEFFICIENTS_7, u)
    g4 = 1.0 / 24.0 - u * g6
    g5 = 1.0 / 120.0 - u * g7
    c = 1.0 / 6.0 - u * g5
    ddb = 2.0 * g6 - 1.25 * g5 + 0.25 * g4
    ddc = 0.25 * (15.0 * g7 - 7.0 * g6 + g5)
    return 1.0 / 2.0 - u * g4, c, g4 - 0.5 * c, 1.5 * g5 - 0.5 * g4, ddb, ddc


@kernel
def matrix(p, q, x):
    """I + p x~ + q x~^2."""
    px, py, pz = scale(p, x)
    xx, yy, zz = x[0] * x[0], x[1] * x[1], x[2] * x[2]
    xy, xz, yz = q * (x[0] * x[1]), q * (x[0] * x[2]), q * (x[1] * x[2])
    return (
        1.0 - q * (yy + zz),
        xy - pz,
        xz + py,
        xy + pz,
        1.0 - q * (xx + zz),
        yz - px,
        xz - py,
        yz + px,
        1.0 - q * (xx + yy),
    )


@kernel
def bend(x):
    """exp(x~) as a matrix, and b, c, db/du, dc/du at x."""
    a, b, c, db, dc = series(dot(x, x))
    return matrix(a, b, x), b, c, db, dc


@kernel
def exp_rotation(x):
    """exp(x~) as a matrix."""
    E, _, _, _, _ = bend(x)
    return E


@kernel
def left_jacobian(x):
    """Tl(x): the angular velocity of exp(x~) is Tl(x) x_dot, in the fixed axes."""
    _, b, c, _, _ = series(dot(x, x))
    return matrix(b, c, x)


@kernel
def turn_rates(x, xd, b, c, db, dc):
    """Angular velocity of exp(x~) and its rate at constant x_dot: Tl x_dot and (d/dt Tl) x_dot.

    With y = x x x_dot and u_dot = 2 x . x_dot: x_dot + b y + c x x y and
    u_dot (db/du y + dc/du x x y) + c x_dot x y.
    """
    y = cross(x, xd)
    z = cross(x, y)
    ud = 2.0 * dot(x, xd)
    return (
        add(xd, axpy(b, y, scale(c, z))),
        axpy(c, cross(xd, y), axpy(ud * db, y, scale(ud * dc, z))),
    )


@kernel
def quaternion_matrix(w, x, y, z):
    """Rotation matrix of the unit quaternion (w, x, y, z), scalar first."""
    return (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - w * z),
        2.0 * (x * z + w * y),
        2.0 * (x * y + w * z),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - w * x),
        2.0 * (x * z - w * y),
        2.0 * (y * z + w * x),
        1.0 - 2.0 * (x * x + y * y),
    )


@kernel
def quaternion_product(a, b):
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@kernel
def quaternion_rate(e, w):
    """Rate of the quaternion e of a frame that turns with w, in its own axes: e (0, w) / 2."""
    return quaternion_product(e, (0.0, 0.5 * w[0], 0.5 * w[1], 0.5 * w[2]))


@kernel
def normalized(e):
    s = 1.0 / sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2] + e[3] * e[3])
    return e[0] * s, e[1] * s, e[2] * s, e[3] * s


@kernel
def exp_pose(w, v):
    """exp of the twist [w; v] as (quaternion, position), by squaring that of 2^-HALVINGS of it HALVINGS times."""
    f = 1.0 / 2**HALVINGS
    w = scale(f, w)
    v = scale(f, v)
    u = dot(w, w)
    a, b, _, _, _ = series(0.25 * u)
    s = 0.5 * a
    e = (1.0 - 0.25 * u * b, s * w[0], s * w[1], s * w[2])
    p = mul(left_jacobian(w), v)
    for _ in range(HALVINGS):
        p = add(p, mul(quaternion_matrix(e[0], e[1], e[2], e[3]), p))
        e = quaternion_product(e, e)
    return normalized(e), p


@kernel
def load_quaternion(q, i):
    x, y, z = load3(q, i + 1)
    return q[i], x, y, z
