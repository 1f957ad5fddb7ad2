"""The modal mass matrix M_m(eta) of one body and its gyroscopic force b_m.

With p the centre of mass, J the inertia about the body-frame origin and summation over s, t,

    M_m = [[G, F^T, E^T], [F, J, m p~], [E, -m p~, m I]]
    m p = S0 + E0_s eta_s + 1/2 S2_st eta_s eta_t       E_r = E0_r + S2_rs eta_s
    J   = J0 + J1_s eta_s + 1/2 J2_st eta_s eta_t       F_r = F0_r + F1_rs eta_s
    G   = G0 + G1_s eta_s

S2 and G1 vanish for point masses.  Points with second-order shapes add the terms of `curved`.  b_m follows from the Lagrangian of M_m, in inertial
accelerations (the modal integrals are those of Jain & Rodriguez, Appendix C):

    b_eta_r = (F1_rs - F1_sr) . w eta_dot_s - 1/2 w . (dJ/deta_r) w
              + (G1_rst - 1/2 G1_str) eta_dot_s eta_dot_t
    b_w     = J_dot w + w x (J w + F eta_dot) + F1_rs eta_dot_r eta_dot_s
    b_v     = w x (w x m p) + 2 w x E eta_dot + S2_rs eta_dot_r eta_dot_s

J and F are combined in one 3 x 3 matrix per mode, N_r = N0_r + N1_rs eta_s, the sum of m gamma_r l^T over
point masses.  It has fewer entries than the two of them and gives everything that b_m needs:

    dJ/deta_r = tr(N_r + N_r^T) I - N_r - N_r^T,   F_r~ = N_r - N_r^T,   -1/2 w . (dJ/deta_r) w = N_r : w~^2
    J_dot w + w x F eta_dot = 2 (tr(N) I - N) w,   N = N_r eta_dot_r

A ruthless body keeps the zeroth order of M_m and those terms of b_m that contain neither eta nor eta_dot.
Cost: about 15 m^2 + 50 m multiplications for point masses; 4 m^3 + 10 m^2 more with S2 and G1.
"""

from .curved import curved_bias, curved_columns, curved_moments
from .layout import (
    A_B,
    A_F1,
    A_FE0,
    A_G0,
    BENT,
    C_INERTIA,
    C_MASS,
    C_MOMENT,
    CONST,
    DENSE,
    M_D,
    M_F1,
    M_FE0,
    M_G0,
    M_G1,
    M_K,
    M_N0,
    M_N1,
    M_S2,
    MODAL,
    MODES,
    OMEGA,
    PAIRS,
    Q_MODES,
    RUTHLESS,
    SECOND,
    V_MODES,
    W_DF,
    W_MU,
    W_N,
    W_ZF,
    WORK,
    P,
    Z,
)
from .scalar import inlined, kernel
from .vec import (
    add,
    axpy,
    cross,
    dot,
    load3,
    load6,
    load9,
    mul_sym,
    scale,
    skew,
    store3,
    store6,
    store9,
    sub,
)


@kernel
def axpy9(s, x, y):
    return (
        s * x[0] + y[0],
        s * x[1] + y[1],
        s * x[2] + y[2],
        s * x[3] + y[3],
        s * x[4] + y[4],
        s * x[5] + y[5],
        s * x[6] + y[6],
        s * x[7] + y[7],
        s * x[8] + y[8],
    )


@kernel
def axial(N):
    """F with F~ = N - N^T."""
    return N[7] - N[5], N[2] - N[6], N[3] - N[1]


@kernel
def body_mass(topo, const, work, q, k):
    """M_m(eta) of body k: P (rigid block), and MU, DF, N in its modal work."""
    if topo[k + MODES] > 0:
        rigid_block(topo, const, work, q, k, True)
        modal_columns(topo, const, work, q, k, False, True)
    else:
        c = topo[k + CONST]
        J = load6(const, c + C_INERTIA)
        store_rigid(work, topo[k + WORK] + P, const[c + C_MASS], load3(const, c + C_MOMENT), J)


@inlined
def modal_columns(topo, const, work, q, k, aligned, curved):
    """MU and DF of body k, in its modal coordinates or, if `aligned` and if it has them, in its aligned ones.

    Second-order shapes have their part in them if `curved`.  Needs N unless the system is ruthless.
    """
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    mu = topo[modal + W_MU]
    df = topo[modal + W_DF]
    n = topo[modal + W_N]
    e = topo[k + Q_MODES]
    if aligned and topo[modal + A_B] != 0:
        g0 = topo[modal + A_G0]
        fe0 = topo[modal + A_FE0]
        f1 = topo[modal + A_F1]
        for r in range(m):
            F = load3(const, fe0 + 6 * r)
            for s in range(m):
                F = axpy(q[e + s], load3(const, f1 + 3 * (r * m + s)), F)
            store3(work, mu + 6 * r, F)
            store3(work, mu + 6 * r + 3, load3(const, fe0 + 6 * r + 3))
    else:
        g0 = topo[modal + M_G0]
        fe0 = topo[modal + M_FE0]
        for r in range(6 * m):
            work[mu + r] = const[fe0 + r]
        if topo[RUTHLESS] == 0:
            for r in range(m):
                store3(work, mu + 6 * r, axial(load9(work, n + 9 * r)))
    for r in range(m * m):
        work[df + r] = const[g0 + r]
    if topo[modal + SECOND] != 0:
        s2 = topo[modal + M_S2]
        g1 = topo[modal + M_G1]
        for r in range(m):
            E = load3(work, mu + 6 * r + 3)
            for s in range(m):
                E = axpy(q[e + s], load3(const, s2 + 3 * (r * m + s)), E)
            store3(work, mu + 6 * r + 3, E)
        for r in range(m * m):
            for s in range(m):
                work[df + r] += const[g1 + r * m + s] * q[e + s]
    if curved and topo[k + BENT] != 0:
        curved_columns(topo, const, work, k)


@kernel
def store_rigid(work, p, mass, moment, J):
    """Store the spatial inertia of a body with this mass, moment of mass and inertia at work[p:]."""
    store6(work, p, J)
    store9(work, p + 6, skew(moment))
    store6(work, p + 15, (mass, 0.0, 0.0, mass, 0.0, mass))


@kernel
def dense_sum(x, j, a, i, m, N):
    """N + sum_s x[j + s] N1_s, for the m matrices at a[i:], which are stored as all first, all second and all third rows."""
    for s in range(m):
        y = x[j + s]
        c = i + 3 * s
        N = axpy9(y, load3(a, c) + load3(a, c + 3 * m) + load3(a, c + 6 * m), N)
    return N


@kernel
def rigid_block(topo, const, work, q, k, curved):
    """P of a flexible body without its children, and N in its modal work; second-order shapes count if `curved`."""
    c = topo[k + CONST]
    m = topo[k + MODES]
    moment = load3(const, c + C_MOMENT)
    J = load6(const, c + C_INERTIA)
    if topo[RUTHLESS] == 0:
        modal = topo[k + MODAL]
        fe0 = topo[modal + M_FE0]
        n0 = topo[modal + M_N0]
        n = topo[modal + W_N]
        i = topo[modal + PAIRS]
        n1 = topo[modal + M_N1]
        e = topo[k + Q_MODES]
        S = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for r in range(m):
            N0 = load9(const, n0 + 9 * r)
            pairs = topo[i]
            if pairs == m and m >= DENSE:
                N = dense_sum(q, e, const, n1, m, N0)
            else:
                N = N0
                for s in range(pairs):
                    N = axpy9(q[e + topo[i + 1 + s]], load9(const, n1 + 9 * s), N)
            i += 1 + pairs
            n1 += 9 * pairs
            store9(work, n + 9 * r, N)
            S = axpy9(0.5 * q[e + r], axpy9(1.0, N0, N), S)
            moment = axpy(q[e + r], load3(const, fe0 + 6 * r + 3), moment)
        if topo[modal + SECOND] != 0:
            s2 = topo[modal + M_S2]
            for r in range(m):
                for s in range(m):
                    half = 0.5 * q[e + r] * q[e + s]
                    moment = axpy(half, load3(const, s2 + 3 * (r * m + s)), moment)
        # J0 + tr(S + S^T) I - S - S^T
        J = (
            J[0] + 2.0 * (S[4] + S[8]),
            J[1] - (S[1] + S[3]),
            J[2] - (S[2] + S[6]),
            J[3] + 2.0 * (S[0] + S[8]),
            J[4] - (S[5] + S[7]),
            J[5] + 2.0 * (S[0] + S[4]),
        )
        if curved and topo[k + BENT] != 0:
            moment, J = curved_moments(topo, const, work, q, k, moment, J)
    store_rigid(work, topo[k + WORK] + P, const[c + C_MASS], moment, J)


@kernel
def rigid_mass_and_bias(topo, const, work, k):
    """P and Z of a rigid body: its inertia, w x J w and w x (w x m p)."""
    c = topo[k + CONST]
    b = topo[k + WORK]
    mass = const[c + C_MASS]
    moment = load3(const, c + C_MOMENT)
    J = load6(const, c + C_INERTIA)
    w = load3(work, b + OMEGA)
    store_rigid(work, b + P, mass, moment, J)
    store3(work, b + Z, cross(w, mul_sym(J, w)))
    store3(work, b + Z + 3, cross(w, cross(w, moment)))


@kernel
def mass_and_bias(topo, const, work, q, v, k, aligned, curved):
    """`body_mass` and `body_bias` of body k, with MU and DF as `modal_columns` gives them.

    Unless `curved`, what second-order shapes add is left to `curved.curved_forces`.
    """
    if topo[k + MODES] > 0:
        rigid_block(topo, const, work, q, k, curved)
        modal_columns(topo, const, work, q, k, aligned, curved)
        body_bias(topo, const, work, q, v, k, curved)
    else:
        rigid_mass_and_bias(topo, const, work, k)


@kernel
def moment_of(work, b):
    """m p of the body whose work block starts at b, from the skew block of a fresh P."""
    return work[b + P + 13], work[b + P + 8], work[b + P + 9]


@kernel
def store_modal_force(topo, const, work, q, v, k, w, N, at):
    """ZF_r = K eta + D eta_dot + N_r : w~^2, with the N_r at N[at:]."""
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    stiffness = topo[modal + M_K]
    damping = topo[modal + M_D]
    zf = topo[modal + W_ZF]
    e = topo[k + Q_MODES]
    ed = topo[k + V_MODES]
    xx, yy, zz = w[0] * w[0], w[1] * w[1], w[2] * w[2]
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    for r in range(m):
        n = load9(N, at + 9 * r)
        force = (n[1] + n[3]) * xy + (n[2] + n[6]) * xz + (n[5] + n[7]) * yz
        force -= n[0] * (yy + zz) + n[4] * (xx + zz) + n[8] * (xx + yy)
        for s in range(m):
            force += const[stiffness + r * m + s] * q[e + s]
            force += const[damping + r * m + s] * v[ed + s]
        work[zf + r] = force


@kernel
def body_bias(topo, const, work, q, v, k, curved):
    """b_m of a flexible body plus its elastic and damping forces: Z (rigid part), ZF in modal work.

    Needs OMEGA and a fresh `body_mass`; reads MU only if the body has S2 or curved points.
    """
    b = topo[k + WORK]
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    mu = topo[modal + W_MU]
    n = topo[modal + W_N]
    zf = topo[modal + W_ZF]
    ed = topo[k + V_MODES]
    w = load3(work, b + OMEGA)
    if topo[RUTHLESS] == 0:
        store_modal_force(topo, const, work, q, v, k, w, work, n)
    else:
        store_modal_force(topo, const, work, q, v, k, w, const, topo[modal + M_N0])
    moment = cross(w, mul_sym(load6(work, b + P), w))
    u = cross(w, moment_of(work, b))  # w x m p + 2 E eta_dot
    f = (0.0, 0.0, 0.0)
    if topo[RUTHLESS] == 0:
        fe0 = topo[modal + M_FE0]
        f1 = topo[modal + M_F1]
        N = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        t = scale(2.0, w)
        for r in range(m):
            rate = v[ed + r]
            N = axpy9(rate, load9(work, n + 9 * r), N)
            if topo[modal + SECOND] != 0 or (curved and topo[k + BENT] != 0):
                u = axpy(2.0 * rate, load3(work, mu + 6 * r + 3), u)
            else:
                u = axpy(2.0 * rate, load3(const, fe0 + 6 * r + 3), u)
            if topo[modal + SECOND] != 0:
                turn, drift, gyro = second_order_bias(topo, const, v, k, r, w)
                moment = axpy(rate, turn, moment)
                f = axpy(rate, drift, f)
                work[zf + r] += gyro
            else:
                # F1 is antisymmetric
                turn = (0.0, 0.0, 0.0)
                for s in range(m):
                    turn = axpy(v[ed + s], load3(const, f1 + 3 * (r * m + s)), turn)
                work[zf + r] += dot(turn, t)
        # 2 (tr(N) I - N) w
        moment = (
            moment[0] + (N[4] + N[8]) * t[0] - N[1] * t[1] - N[2] * t[2],
            moment[1] + (N[0] + N[8]) * t[1] - N[3] * t[0] - N[5] * t[2],
            moment[2] + (N[0] + N[4]) * t[2] - N[6] * t[0] - N[7] * t[1],
        )
    store3(work, b + Z, moment)
    store3(work, b + Z + 3, add(f, cross(w, u)))
    if curved and topo[k + BENT] != 0:
        curved_bias(topo, const, work, q, v, k)


@kernel
def second_order_bias(topo, const, v, k, r, w):
    """The terms of mode r that vanish for point masses.

    Returns F1_rs eta_dot_s, S2_rs eta_dot_s and the modal force
    (F1_rs - F1_sr) . w eta_dot_s + (G1_rst - 1/2 G1_str) eta_dot_s eta_dot_t.
    """
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    f1 = topo[modal + M_F1]
    s2 = topo[modal + M_S2]
    g1 = topo[modal + M_G1]
    ed = topo[k + V_MODES]
    turn = (0.0, 0.0, 0.0)
    back = (0.0, 0.0, 0.0)
    drift = (0.0, 0.0, 0.0)
    gyro = 0.0
    for s in range(m):
        rate = v[ed + s]
        turn = axpy(rate, load3(const, f1 + 3 * (r * m + s)), turn)
        back = axpy(rate, load3(const, f1 + 3 * (s * m + r)), back)
        drift = axpy(rate, load3(const, s2 + 3 * (r * m + s)), drift)
        for t in range(m):
            g = const[g1 + (r * m + s) * m + t] - 0.5 * const[g1 + (s * m + t) * m + r]
            gyro += g * rate * v[ed + t]
    return turn, drift, gyro + dot(sub(turn, back), w)
