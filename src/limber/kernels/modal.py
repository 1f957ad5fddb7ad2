"""The modal mass matrix M_m(eta) of one body and its gyroscopic force b_m.

With p the centre of mass, J the inertia about the body-frame origin, L its second moment of mass (the sum
of m l l^T over point masses), and summation over s, t,

    M_m = [[G, F^T, E^T], [F, J, m p~], [E, -m p~, m I]]
    m p = S0 + E0_s eta_s + 1/2 S2_st eta_s eta_t       E_r = E0_r + S2_rs eta_s
    J   = J0 + tr(L) I - L                              F_r = F0_r + F1_rs eta_s
    L   = L1_s eta_s + 1/2 L2_st eta_s eta_t            G   = G0 + G1_s eta_s

S2 and G1 vanish for point masses.  b_m follows from the Lagrangian of M_m, in inertial
accelerations (the modal integrals are those of Jain & Rodriguez, Appendix C, but for L, which has
fewer entries than J):

    b_eta_r = (F1_rs - F1_sr) . w eta_dot_s + 1/2 N_r : w~^2
              + (G1_rst - 1/2 G1_str) eta_dot_s eta_dot_t,           N_r = dL/deta_r
    b_w     = J_dot w + w x (J w + F eta_dot) + F1_rs eta_dot_r eta_dot_s
    b_v     = w x (w x m p) + 2 w x E eta_dot + S2_rs eta_dot_r eta_dot_s

A ruthless body keeps the zeroth order of M_m and what of b_m is free of eta and eta_dot.
Cost: about 13 m^2 + 45 m multiplications for point masses; 4 m^3 + 10 m^2 more with S2 and G1.
"""

from .layout import (
    C_INERTIA,
    C_MASS,
    C_MOMENT,
    CONST,
    MODAL,
    MODES,
    OMEGA,
    Q_MODES,
    RUTHLESS,
    SECOND,
    V_MODES,
    W_MODES,
    WORK,
    P,
    Z,
)
from .scalar import kernel
from .vec import (
    add,
    axpy,
    cross,
    dot,
    load3,
    load6,
    mul_sym,
    scale,
    skew,
    store3,
    store6,
    store9,
    sub,
)


@kernel
def axpy6(s, x, y):
    return (
        s * x[0] + y[0],
        s * x[1] + y[1],
        s * x[2] + y[2],
        s * x[3] + y[3],
        s * x[4] + y[4],
        s * x[5] + y[5],
    )


@kernel
def inertia_of(L):
    """tr(L) I - L: the inertia of a second moment of mass."""
    return L[3] + L[5], -L[1], -L[2], L[0] + L[5], -L[4], L[0] + L[3]


@kernel
def body_mass(topo, const, work, q, k):
    """M_m(eta) of body k: P (rigid block), and MU, DF, NJ in its modal work."""
    c = topo[k + CONST]
    b = topo[k + WORK]
    m = topo[k + MODES]
    mass = const[c + C_MASS]
    moment = load3(const, c + C_MOMENT)
    J = load6(const, c + C_INERTIA)
    if m > 0:
        g0 = topo[k + MODAL]
        fe0 = g0 + 3 * m * m
        l1 = fe0 + 6 * m
        mu = topo[k + W_MODES]
        df = mu + 6 * m
        nl = df + m * m
        for r in range(m * m):
            work[df + r] = const[g0 + r]
        if topo[RUTHLESS] != 0:
            for r in range(m):
                store6(work, mu + 6 * r, load6(const, fe0 + 6 * r))
                store6(work, nl + 6 * r, load6(const, l1 + 6 * r))
        else:
            f1 = l1 + 6 * m
            l2 = f1 + 3 * m * m
            s2 = l2 + 6 * m * m
            second = topo[k + SECOND]
            e = topo[k + Q_MODES]
            L = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
            for r in range(m):
                F = load3(const, fe0 + 6 * r)
                E = load3(const, fe0 + 6 * r + 3)
                for s in range(m):
                    F = axpy(q[e + s], load3(const, f1 + 3 * (r * m + s)), F)
                store3(work, mu + 6 * r, F)
                half = 0.5 * q[e + r]
                moment = axpy(half, E, moment)
                if second != 0:
                    for s in range(m):
                        E = axpy(q[e + s], load3(const, s2 + 3 * (r * m + s)), E)
                store3(work, mu + 6 * r + 3, E)
                moment = axpy(half, E, moment)
                L1 = load6(const, l1 + 6 * r)
                N = L1
                for s in range(m):
                    N = axpy6(q[e + s], load6(const, l2 + 6 * (r * m + s)), N)
                store6(work, nl + 6 * r, N)
                L = axpy6(half, axpy6(1.0, L1, N), L)
            J = axpy6(1.0, inertia_of(L), J)
            if second != 0:
                g1 = s2 + 3 * m * m
                for r in range(m * m):
                    for s in range(m):
                        work[df + r] += const[g1 + r * m + s] * q[e + s]
    store6(work, b + P, J)
    store9(work, b + P + 6, skew(moment))
    store6(work, b + P + 15, (mass, 0.0, 0.0, mass, 0.0, mass))


@kernel
def rigid_mass_and_bias(topo, const, work, k):
    """P and Z of a rigid body: its inertia, w x J w and w x (w x m p)."""
    c = topo[k + CONST]
    b = topo[k + WORK]
    mass = const[c + C_MASS]
    moment = load3(const, c + C_MOMENT)
    J = load6(const, c + C_INERTIA)
    w = load3(work, b + OMEGA)
    store6(work, b + P, J)
    store9(work, b + P + 6, skew(moment))
    store6(work, b + P + 15, (mass, 0.0, 0.0, mass, 0.0, mass))
    store3(work, b + Z, cross(w, mul_sym(J, w)))
    store3(work, b + Z + 3, cross(w, cross(w, moment)))


@kernel
def mass_and_bias(topo, const, work, q, v, k):
    """`body_mass` and `body_bias` of body k."""
    if topo[k + MODES] > 0:
        body_mass(topo, const, work, q, k)
        body_bias(topo, const, work, q, v, k)
    else:
        rigid_mass_and_bias(topo, const, work, k)


@kernel
def moment_of(work, b):
    """m p of the body whose work block starts at b, from the skew block of a fresh P."""
    return work[b + P + 13], work[b + P + 8], work[b + P + 9]


@kernel
def store_modal_force(topo, const, work, q, v, k, w, N, nl):
    """ZF_r = K eta + D eta_dot + 1/2 N_r : w~^2, with the N_r at N[nl:]."""
    m = topo[k + MODES]
    stiffness = topo[k + MODAL] + m * m
    damping = stiffness + m * m
    zf = topo[k + W_MODES] + 12 * m + m * m
    e = topo[k + Q_MODES]
    ed = topo[k + V_MODES]
    hx, hy, hz = -0.5 * w[0] * w[0], -0.5 * w[1] * w[1], -0.5 * w[2] * w[2]
    xx, yy, zz = hy + hz, hx + hz, hx + hy
    xy, xz, yz = w[0] * w[1], w[0] * w[2], w[1] * w[2]
    for r in range(m):
        n = load6(N, nl + 6 * r)
        force = n[0] * xx + n[1] * xy + n[2] * xz + n[3] * yy + n[4] * yz + n[5] * zz
        for s in range(m):
            force += const[stiffness + r * m + s] * q[e + s]
            force += const[damping + r * m + s] * v[ed + s]
        work[zf + r] = force


@kernel
def body_bias(topo, const, work, q, v, k):
    """b_m of a flexible body plus its elastic and damping forces: Z (rigid part), ZF in modal work.

    Needs OMEGA and a fresh `body_mass`.
    """
    b = topo[k + WORK]
    m = topo[k + MODES]
    mu = topo[k + W_MODES]
    nl = mu + 6 * m + m * m
    zf = nl + 6 * m
    ed = topo[k + V_MODES]
    w = load3(work, b + OMEGA)
    store_modal_force(topo, const, work, q, v, k, w, work, nl)
    h = mul_sym(load6(work, b + P), w)  # J w + F eta_dot
    u = cross(w, moment_of(work, b))  # w x m p + 2 E eta_dot
    n = (0.0, 0.0, 0.0)
    f = (0.0, 0.0, 0.0)
    if topo[RUTHLESS] == 0:
        f1 = topo[k + MODAL] + 3 * m * m + 12 * m
        rate_of_L = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        twice = scale(2.0, w)
        for r in range(m):
            rate = v[ed + r]
            rate_of_L = axpy6(rate, load6(work, nl + 6 * r), rate_of_L)
            h = axpy(rate, load3(work, mu + 6 * r), h)
            u = axpy(2.0 * rate, load3(work, mu + 6 * r + 3), u)
            if topo[k + SECOND] != 0:
                turn, drift, gyro = second_order_bias(topo, const, v, k, r, w)
                n = axpy(rate, turn, n)
                f = axpy(rate, drift, f)
                work[zf + r] += gyro
            else:
                # F1 is antisymmetric
                turn = (0.0, 0.0, 0.0)
                for s in range(m):
                    turn = axpy(v[ed + s], load3(const, f1 + 3 * (r * m + s)), turn)
                work[zf + r] += dot(turn, twice)
        n = add(n, mul_sym(inertia_of(rate_of_L), w))
    store3(work, b + Z, add(n, cross(w, h)))
    store3(work, b + Z + 3, add(f, cross(w, u)))


@kernel
def second_order_bias(topo, const, v, k, r, w):
    """Terms of mode r that point masses do not have.

    Returns F1_rs eta_dot_s, S2_rs eta_dot_s and the modal force
    (F1_rs - F1_sr) . w eta_dot_s + (G1_rst - 1/2 G1_str) eta_dot_s eta_dot_t.
    """
    m = topo[k + MODES]
    f1 = topo[k + MODAL] + 3 * m * m + 12 * m
    s2 = f1 + 9 * m * m
    g1 = s2 + 3 * m * m
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
