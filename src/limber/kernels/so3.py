r"""Rotations: exp(x~), its left Jacobian, quaternions.

With t^2 = x . x,

    exp(x~)  = I + a x~ + b x~^2,     a = sin t / t,           b = (1 - cos t) / t^2
    Tl(x)    = I + b x~ + c x~^2,     c = (t - sin t) / t^3

The coefficients are even in t and are evaluated as polynomials in u = t^2, nine terms, which
reach rounding below 1 rad: no branch at t = 0, and they differentiate cleanly.
"""

from math import factorial

from .scalar import kernel, sqrt
from .vec import add, axpy, cross, dot, load3, mul, scale

TERMS = 9
COEFFICIENTS_A = tuple((-1) ** k / factorial(2 * k + 1) for k in range(TERMS))
COEFFICIENTS_B = tuple((-1) ** k / factorial(2 * k + 2) for k in range(TERMS))
COEFFICIENTS_C = tuple((-1) ** k / factorial(2 * k + 3) for k in range(TERMS))
# derivatives with respect to u, padded to the same length
RATES_B = (*(k * COEFFICIENTS_B[k] for k in range(1, TERMS)), 0.0)
RATES_C = (*(k * COEFFICIENTS_C[k] for k in range(1, TERMS)), 0.0)

#: Halvings of `exp_pose`: exact to rounding up to 2**HALVINGS rad.
HALVINGS = 6


@kernel
def horner(coefficients, u):
    value = coefficients[TERMS - 1]
    for i in range(TERMS - 1):
        value = value * u + coefficients[TERMS - 2 - i]
    return value


@kernel
def matrix(p, q, x):
    """I + p x~ + q x~^2."""
    px, py, pz = scale(p, x)
    qx, qy, qz = scale(q, x)
    xx, yy, zz = qx * x[0], qy * x[1], qz * x[2]
    xy, xz, yz = qx * x[1], qx * x[2], qy * x[2]
    return (
        1.0 - yy - zz,
        xy - pz,
        xz + py,
        xy + pz,
        1.0 - xx - zz,
        yz - px,
        xz - py,
        yz + px,
        1.0 - xx - yy,
    )


@kernel
def exp_rotation(x):
    """exp(x~) as a matrix."""
    u = dot(x, x)
    return matrix(horner(COEFFICIENTS_A, u), horner(COEFFICIENTS_B, u), x)


@kernel
def left_jacobian(x):
    """Tl(x): the angular velocity of exp(x~) is Tl(x) x_dot, in the fixed axes."""
    u = dot(x, x)
    return matrix(horner(COEFFICIENTS_B, u), horner(COEFFICIENTS_C, u), x)


@kernel
def left_jacobian_rate(x, xd):
    """(d/dt Tl(x)) x_dot."""
    u = dot(x, x)
    ud = 2.0 * dot(x, xd)
    y = cross(x, xd)
    rate = add(scale(horner(RATES_B, u) * ud, y), scale(horner(RATES_C, u) * ud, cross(x, y)))
    return axpy(horner(COEFFICIENTS_C, u), cross(xd, y), rate)


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
    """exp of the twist [w; v] as (quaternion, position): 2^-HALVINGS of it, squared that often."""
    f = 1.0 / 2**HALVINGS
    w = scale(f, w)
    v = scale(f, v)
    u = dot(w, w)
    s = 0.5 * horner(COEFFICIENTS_A, 0.25 * u)
    e = (1.0 - 0.25 * u * horner(COEFFICIENTS_B, 0.25 * u), s * w[0], s * w[1], s * w[2])
    p = mul(left_jacobian(w), v)
    for _ in range(HALVINGS):
        p = add(p, mul(quaternion_matrix(e[0], e[1], e[2], e[3]), p))
        e = quaternion_product(e, e)
    return normalized(e), p


@kernel
def load_quaternion(q, i):
    x, y, z = load3(q, i + 1)
    return q[i], x, y, z
