"""What the gravity of a planet does to a body, in a frame that falls around the planet along a reference orbit.

The world frame has inertial axes, z along the axis of the planet.  Its origin is at s from the centre of the planet and falls
with g(s).  A body whose frame is at p in the world is at r = s + p, and what pulls it through the world is g(x) - g(s) at
every place x.  With the potential

    U = mu / r + k (1 / r^3 - 3 z^2 / r^5),     k = mu J2 R^2 / 2,      g = grad U,     G = grad g,

the field is expanded at the frame of the body up to G, and U up to the second order.  With h and S the first and second
moments of mass about that frame, E_r and N_r those of mode r (`modal`), and S, h, N_r at the deformation of the moment,

    force   m (g(r) - g(s)) + G h + 1/2 grad (G : S)
    moment  h x (g(r) - g(s)) + axial(S G)                      axial(A)~ = A^T - A
    mode r  E_r . (g(r) - g(s)) + G : N_r

These are the exact derivatives of the expanded potential, so that it and the kinetic energy have a constant sum, and a
central field changes no angular momentum about the planet.  What the expansion leaves out is smaller than G h and G : S by
the ratio of the size of the body to r.

The difference g(r) - g(s) is formed without cancellation.  With 1/r = (1 + w)/s (after Battin, An Introduction to the
Mathematics and Methods of Astrodynamics, 8.4),

    u = p . (2 s + p) / s^2,    w = -u / (a (1 + a)),  a = sqrt(1 + u),     g(r) - g(s) = -mu / s^3 (p + ((1 + w)^3 - 1) r).

Cost      about 330 multiplications for a rigid body, and 15 m^2 + 60 m more for m modes
"""

from .inertia import rotate_symmetric
from .layout import (
    C_MASS,
    CONST,
    M_N0,
    MODAL,
    MODES,
    PLACE,
    RUTHLESS,
    W_MU,
    W_N,
    W_ZF,
    WORK,
    P,
    Z,
)
from .modal import body_mass, moment_of
from .scalar import kernel, sqrt
from .vec import (
    add,
    axpy,
    cross,
    dot,
    load3,
    load6,
    load9,
    mul,
    mul_sym,
    mul_t,
    neg,
    scale,
    store3,
    transpose,
)


@kernel
def closeness(s, p):
    """w, with 1/r = (1 + w)/s for r = s + p."""
    u = dot(p, axpy(2.0, s, p)) / dot(s, s)
    a = sqrt(1.0 + u)
    return -u / (a * (1.0 + a))


@kernel
def power_less_one(w, n):
    """(1 + w)^n - 1."""
    x = 0.0
    for _ in range(n):
        x += w * (1.0 + x)
    return x


@kernel
def difference(mu, k, s, p):
    """g(s + p) - g(s)."""
    r = add(s, p)
    w = closeness(s, p)
    i = 1.0 / sqrt(dot(s, s))
    i3 = i * i * i
    i5 = i3 * i * i
    point = scale(-mu * i3, axpy(power_less_one(w, 3), r, p))
    p5, p7 = power_less_one(w, 5), power_less_one(w, 7)
    z = r[2]
    radial = axpy(p5, r, p)
    polar = (0.0, 0.0, p[2] + p5 * z)
    tilted = add(axpy(z * z * p7, r, scale(z * z, p)), scale(p[2] * (z + s[2]), s))
    flat = add(
        add(scale(-3.0 * i5, radial), scale(-6.0 * i5, polar)), scale(15.0 * i5 * i * i, tilted)
    )
    return axpy(k, flat, point)


@kernel
def gradient(mu, k, r):
    """G at r, symmetric."""
    x, y, z = r
    i2 = 1.0 / dot(r, r)
    i3 = i2 * sqrt(i2)
    i5 = i3 * i2
    i7 = i5 * i2
    zz = z * z * i2
    same = -mu * i3 + k * i5 * (15.0 * zz - 3.0)
    outer = 3.0 * mu * i5 + k * i7 * (15.0 - 105.0 * zz)
    polar = 30.0 * k * z * i7
    return (
        same + outer * x * x,
        outer * x * y,
        outer * x * z + polar * x,
        same + outer * y * y,
        outer * y * z + polar * y,
        same + outer * z * z + 2.0 * polar * z - 6.0 * k * i5,
    )


@kernel
def moment_force(mu, k, r, S):
    """grad (G : S) / 2 at r, for the symmetric S."""
    i2 = 1.0 / dot(r, r)
    i5 = i2 * i2 * sqrt(i2)
    i7 = i5 * i2
    i9 = i7 * i2
    z = r[2]
    zz = z * z * i2
    t = S[0] + S[3] + S[5]
    Sr = mul_sym(S, r)
    a = dot(r, Sr) * i2
    b = Sr[2]
    along = mu * i5 * (1.5 * t - 7.5 * a)
    across = mu * 3.0 * i5
    along += 0.5 * k * i7 * (t * (15.0 - 105.0 * zz) + a * (945.0 * zz - 105.0) + 30.0 * S[5])
    along -= 210.0 * k * z * b * i9
    across += k * i7 * (15.0 - 105.0 * zz)
    polar = k * i7 * (15.0 * t * z - 105.0 * a * z + 30.0 * b)
    column = scale(30.0 * k * z * i7, (S[2], S[4], S[5]))
    f = add(axpy(along, r, scale(across, Sr)), column)
    return f[0], f[1], f[2] + polar


@kernel
def second_moment(J):
    """The integral of x x^T over the mass, from the inertia."""
    half = 0.5 * (J[0] + J[3] + J[5])
    return half - J[0], -J[1], -J[2], half - J[3], -J[4], half - J[5]


@kernel
def axial_of_product(S, G):
    """axial(S G): the integral of the cross product of x and G x, for S that of x x^T."""
    x = S[1] * G[2] + S[3] * G[4] + S[4] * G[5] - (S[2] * G[1] + S[4] * G[3] + S[5] * G[4])
    y = S[2] * G[0] + S[4] * G[1] + S[5] * G[2] - (S[0] * G[2] + S[1] * G[4] + S[2] * G[5])
    z = S[0] * G[1] + S[1] * G[3] + S[2] * G[4] - (S[1] * G[0] + S[3] * G[1] + S[4] * G[2])
    return x, y, z


@kernel
def times_symmetric(G, N):
    """G : N."""
    return (
        G[0] * N[0] + G[3] * N[4] + G[5] * N[8]
        + G[1] * (N[1] + N[3]) + G[2] * (N[2] + N[6]) + G[4] * (N[5] + N[7])
    )  # fmt: skip


@kernel
def gravitate(topo, const, work, q, k, mu, oblate, s):
    """Z and ZF of body k become the opposite of the gravity on it; `oblate` is the k of the file's head.

    Needs PLACE.  Leaves M_m in work.
    """
    b = topo[k + WORK]
    m = topo[k + MODES]
    body_mass(topo, const, work, q, k)
    R, p = load9(work, b + PLACE), load3(work, b + PLACE + 9)
    r = add(s, p)
    mass = const[topo[k + CONST] + C_MASS]
    h = mul(R, moment_of(work, b))
    S = second_moment(rotate_symmetric(R, load6(work, b + P)))
    g = difference(mu, oblate, s, p)
    G = gradient(mu, oblate, r)
    f = add(axpy(mass, g, mul_sym(G, h)), moment_force(mu, oblate, r, S))
    n = add(cross(h, g), axial_of_product(S, G))
    store3(work, b + Z, neg(mul_t(R, n)))
    store3(work, b + Z + 3, neg(mul_t(R, f)))
    if m > 0:
        g = mul_t(R, g)
        G = rotate_symmetric(transpose(R), G)
        modal = topo[k + MODAL]
        zf = topo[modal + W_ZF]
        for i in range(m):
            if topo[RUTHLESS] == 0:
                N = load9(work, topo[modal + W_N] + 9 * i)
            else:
                N = load9(const, topo[modal + M_N0] + 9 * i)
            E = load3(work, topo[modal + W_MU] + 6 * i + 3)
            work[zf + i] = -(dot(E, g) + times_symmetric(G, N))
