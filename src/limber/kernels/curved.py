"""The part of M_m(eta) and b_m that comes from second-order shapes.

Curved point i (`bodies.curved`) has the weight w, the position l = l' + D s with l' = l0 + gamma eta, the columns
u_r = gamma_r + D b_r and the factor e of the translation of the body, where D are the directions of B, b_r = (B eta)_r and
s = 1/2 eta^T B eta along them.  With U = [u, -l~, e I], the point has w U^T U in M_m and w U^T a in b_m, where
a = w x (w x l) + 2 w x l_dot + D delta, delta = eta_dot^T B eta_dot, is its acceleration when the body frame and the modal
rates are not accelerated.  The terms without B are in the modal integrals of `modal`.  What the others add to these is

    G_rs += w (b_r b_s + b_r c_s + c_r b_s),  c_r = D . gamma_r          E_r += w e D b_r         m p += w e D s
    N_r  += w (gamma_r (D s)^T + D b_r l^T)                              J += tr(X) I - X,  X = w (D s g^T + g (D s)^T)
    b_r  += w (sigma gamma_r . d - b_r d . l_dot + (c_r + b_r) delta)    b_w += w l x D delta,    b_v += w e D delta

with g = l' + D s / 2, sigma = b_r eta_dot_r, d = 2 w x D.  N_r and E_r have their part in F, in the centrifugal force and in
the rigid rows of b_m, as in `modal`.  Inverse dynamics, which needs no M_m, adds the forces themselves (`curved_forces`).
Cost      about (4 d + 0.5) m^2 + 24 m multiplications for each point, with d directions; `curved_forces` (1.5 d) m^2 + (9 + 7 d) m + 75
"""

from .layout import (
    ACC,
    B_ALONG,
    B_DIRECTION,
    B_DIRECTIONS,
    B_POINT,
    B_POINTS,
    B_SECOND,
    B_SHAPES,
    B_WORK,
    BENT,
    C_POSITION,
    C_UNIT,
    C_WEIGHT,
    CURVED_RECORD,
    MODAL,
    MODES,
    OMEGA,
    Q_MODES,
    V_MODES,
    W_ALONG,
    W_B,
    W_CURVED,
    W_DELTA,
    W_DF,
    W_MU,
    W_N,
    W_PLACE,
    W_S,
    W_SIGMA,
    W_TAU,
    W_ZF,
    WORK,
    Z,
)
from .scalar import kernel
from .vec import accumulate3, add, axpy, cross, dot, load3, load9, scale, store3, store9


@kernel
def direction(topo, const, bent, j):
    """D_j."""
    return load3(const, topo[bent + B_DIRECTION] + 3 * j)


@kernel
def shape_of(topo, const, k, i, r):
    """gamma_r of curved point i of body k."""
    return load3(const, topo[topo[k + BENT] + B_SHAPES] + 3 * (i * topo[k + MODES] + r))


@kernel
def along(topo, bent, i, j):
    """Where the numbers of curved point i along direction j are in work; b_r is at W_B + r."""
    return (
        topo[bent + W_CURVED] + (i * topo[bent + B_DIRECTIONS] + j) * topo[bent + B_WORK] + W_ALONG
    )


@kernel
def place_of(topo, bent, i):
    """Where l of curved point i is in work: with the numbers along its first direction."""
    return topo[bent + W_CURVED] + i * topo[bent + B_DIRECTIONS] * topo[bent + B_WORK] + W_PLACE


@kernel
def curved_moments(topo, const, work, q, k, moment, J):
    """Add the second-order terms of body k to its m p and J, which are given and returned, and to its N_r.

    Leaves l, b_r and s in work.
    """
    m = topo[k + MODES]
    e = topo[k + Q_MODES]
    n = topo[topo[k + MODAL] + W_N]
    bent = topo[k + BENT]
    points = topo[bent + B_POINTS]
    directions = topo[bent + B_DIRECTIONS]
    for i in range(points):
        c = topo[bent + B_POINT] + i * CURVED_RECORD
        l = load3(const, c + C_POSITION)
        for r in range(m):
            l = axpy(q[e + r], shape_of(topo, const, k, i, r), l)
        shift = (0.0, 0.0, 0.0)  # D s
        for j in range(directions):
            at = along(topo, bent, i, j)
            s = 0.0
            for r in range(m):
                row = topo[bent + B_SECOND] + ((i * directions + j) * m + r) * m
                b = 0.0
                for t in range(m):
                    b += const[row + t] * q[e + t]
                work[at + W_B + r] = b
                s += b * q[e + r]
            work[at + W_S] = 0.5 * s
            shift = axpy(0.5 * s, direction(topo, const, bent, j), shift)
        store3(work, place_of(topo, bent, i), axpy(1.0, shift, l))
        x, y, z = scale(const[c + C_WEIGHT], shift)
        moment = axpy(const[c + C_UNIT], (x, y, z), moment)
        g0, g1, g2 = axpy(0.5, shift, l)
        J = (
            J[0] + 2.0 * (y * g1 + z * g2),
            J[1] - (x * g1 + y * g0),
            J[2] - (x * g2 + z * g0),
            J[3] + 2.0 * (x * g0 + z * g2),
            J[4] - (y * g2 + z * g1),
            J[5] + 2.0 * (x * g0 + y * g1),
        )
    for r in range(m):
        N = load9(work, n + 9 * r)
        for j in range(directions):
            D = direction(topo, const, bent, j)
            A = (0.0, 0.0, 0.0)  # w s gamma_r
            B = (0.0, 0.0, 0.0)  # w b_r l
            for i in range(points):
                at = along(topo, bent, i, j)
                weight = const[topo[bent + B_POINT] + i * CURVED_RECORD + C_WEIGHT]
                A = axpy(weight * work[at + W_S], shape_of(topo, const, k, i, r), A)
                B = axpy(weight * work[at + W_B + r], load3(work, place_of(topo, bent, i)), B)
            N = (
                N[0] + A[0] * D[0] + D[0] * B[0],
                N[1] + A[0] * D[1] + D[0] * B[1],
                N[2] + A[0] * D[2] + D[0] * B[2],
                N[3] + A[1] * D[0] + D[1] * B[0],
                N[4] + A[1] * D[1] + D[1] * B[1],
                N[5] + A[1] * D[2] + D[1] * B[2],
                N[6] + A[2] * D[0] + D[2] * B[0],
                N[7] + A[2] * D[1] + D[2] * B[1],
                N[8] + A[2] * D[2] + D[2] * B[2],
            )
        store9(work, n + 9 * r, N)
    return moment, J


@kernel
def curved_columns(topo, const, work, k):
    """Add the second-order terms of body k to E and G, in MU and DF.  Needs the b_r."""
    m = topo[k + MODES]
    mu = topo[topo[k + MODAL] + W_MU]
    df = topo[topo[k + MODAL] + W_DF]
    bent = topo[k + BENT]
    directions = topo[bent + B_DIRECTIONS]
    for j in range(directions):
        D = direction(topo, const, bent, j)
        for r in range(m):
            pull = 0.0
            for i in range(topo[bent + B_POINTS]):
                c = topo[bent + B_POINT] + i * CURVED_RECORD
                at = along(topo, bent, i, j) + W_B
                linear = topo[bent + B_ALONG] + (i * directions + j) * m
                wb = const[c + C_WEIGHT] * work[at + r]
                wc = const[c + C_WEIGHT] * const[linear + r]
                pull += const[c + C_UNIT] * wb
                for s in range(r + 1):
                    g = wb * (const[linear + s] + work[at + s]) + wc * work[at + s]
                    work[df + r * m + s] += g
                    if s < r:
                        work[df + s * m + r] += g
            accumulate3(work, mu + 6 * r + 3, scale(pull, D))


@kernel
def curved_bias(topo, const, work, q, v, k):
    """Add to Z and ZF of body k the second-order terms of b_m that are not in N_r and E_r.

    Needs OMEGA, l and the b_r.
    """
    b = topo[k + WORK]
    m = topo[k + MODES]
    ed = topo[k + V_MODES]
    zf = topo[topo[k + MODAL] + W_ZF]
    bent = topo[k + BENT]
    points = topo[bent + B_POINTS]
    directions = topo[bent + B_DIRECTIONS]
    w = scale(2.0, load3(work, b + OMEGA))
    for i in range(points):
        c = topo[bent + B_POINT] + i * CURVED_RECORD
        weight = const[c + C_WEIGHT]
        rate = (0.0, 0.0, 0.0)  # l_dot
        for r in range(m):
            rate = axpy(v[ed + r], shape_of(topo, const, k, i, r), rate)
        drift = (0.0, 0.0, 0.0)  # w D delta
        for j in range(directions):
            D = direction(topo, const, bent, j)
            at = along(topo, bent, i, j)
            sigma = 0.0
            delta = 0.0
            for r in range(m):
                row = topo[bent + B_SECOND] + ((i * directions + j) * m + r) * m
                sigma += work[at + W_B + r] * v[ed + r]
                half = 0.5 * const[row + r] * v[ed + r]
                for t in range(r):
                    half += const[row + t] * v[ed + t]
                delta += half * v[ed + r]
            delta = 2.0 * weight * delta
            work[at + W_SIGMA] = weight * sigma
            work[at + W_DELTA] = delta
            rate = axpy(sigma, D, rate)
            drift = axpy(delta, D, drift)
        for j in range(directions):
            turn = cross(w, direction(topo, const, bent, j))
            work[along(topo, bent, i, j) + W_TAU] = weight * dot(turn, rate)
        accumulate3(work, b + Z, cross(load3(work, place_of(topo, bent, i)), drift))
        accumulate3(work, b + Z + 3, scale(const[c + C_UNIT], drift))
    for j in range(directions):
        turn = cross(w, direction(topo, const, bent, j))
        for r in range(m):
            sway = (0.0, 0.0, 0.0)
            force = 0.0
            for i in range(points):
                at = along(topo, bent, i, j)
                linear = topo[bent + B_ALONG] + (i * directions + j) * m
                sway = axpy(work[at + W_SIGMA], shape_of(topo, const, k, i, r), sway)
                force += const[linear + r] * work[at + W_DELTA]
                force += work[at + W_B + r] * (work[at + W_DELTA] - work[at + W_TAU])
            work[zf + r] += force + dot(sway, turn)


@kernel
def curved_forces(topo, const, work, q, v, vdot, k):
    """Add to Z and ZF of body k what B adds to M_m alpha_m + b_m, where neither M_m nor b_m has it yet.

    With a' the acceleration of a point without B and da what B adds to it, the point has
    w (l x da + D s x a') and w e da in the rigid rows, and w (gamma_r . da + b_r D . (a' + da)) in row r.
    Needs OMEGA and ACC.
    """
    b = topo[k + WORK]
    m = topo[k + MODES]
    e = topo[k + Q_MODES]
    ed = topo[k + V_MODES]
    zf = topo[topo[k + MODAL] + W_ZF]
    bent = topo[k + BENT]
    directions = topo[bent + B_DIRECTIONS]
    w = load3(work, b + OMEGA)
    aw = load3(work, b + ACC)
    for i in range(topo[bent + B_POINTS]):
        c = topo[bent + B_POINT] + i * CURVED_RECORD
        l = load3(const, c + C_POSITION)
        rate = (0.0, 0.0, 0.0)  # of l'
        a = scale(const[c + C_UNIT], load3(work, b + ACC + 3))
        for r in range(m):
            shape = shape_of(topo, const, k, i, r)
            l = axpy(q[e + r], shape, l)
            rate = axpy(v[ed + r], shape, rate)
            a = axpy(vdot[ed + r], shape, a)
        shift = (0.0, 0.0, 0.0)  # D s
        drift = (0.0, 0.0, 0.0)  # D sigma
        da = (0.0, 0.0, 0.0)
        for j in range(directions):
            at = along(topo, bent, i, j)
            s = 0.0
            sigma = 0.0
            push = 0.0
            for r in range(m):
                row = topo[bent + B_SECOND] + ((i * directions + j) * m + r) * m
                x = 0.0
                y = 0.0
                for t in range(m):
                    x += const[row + t] * q[e + t]
                    y += const[row + t] * v[ed + t]
                work[at + W_B + r] = x
                s += x * q[e + r]
                sigma += x * v[ed + r]
                push += x * vdot[ed + r] + y * v[ed + r]
            D = direction(topo, const, bent, j)
            shift = axpy(0.5 * s, D, shift)
            drift = axpy(sigma, D, drift)
            da = axpy(push, D, da)
        weight = const[c + C_WEIGHT]
        a = add(a, add(cross(aw, l), cross(w, axpy(2.0, rate, cross(w, l)))))
        da = add(da, add(cross(aw, shift), cross(w, axpy(2.0, drift, cross(w, shift)))))
        a = scale(weight, a)
        da = scale(weight, da)
        accumulate3(work, b + Z, add(cross(add(l, shift), da), cross(shift, a)))
        accumulate3(work, b + Z + 3, scale(const[c + C_UNIT], da))
        for r in range(m):
            work[zf + r] += dot(shape_of(topo, const, k, i, r), da)
        a = add(a, da)
        for j in range(directions):
            at = along(topo, bent, i, j)
            pull = dot(direction(topo, const, bent, j), a)
            for r in range(m):
                work[zf + r] += work[at + W_B + r] * pull
