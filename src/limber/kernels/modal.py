"""The modal mass matrix M_m(eta) of one body and its gyroscopic force b_m.

With p the centre of mass, J the inertia about the body-frame origin, and summation over s, t,

    M_m = [[G, F^T, E^T], [F, J, m p~], [E, -m p~, m I]]
    m p = S0 + E0_s eta_s + 1/2 S2_st eta_s eta_t       E_r = E0_r + S2_rs eta_s
    J   = J0 + J1_s eta_s + 1/2 J2_st eta_s eta_t       F_r = F0_r + F1_rs eta_s
    G   = G0 + G1_s eta_s

S2 and G1 vanish for point masses.  b_m follows from the Lagrangian of M_m, in inertial
accelerations (the modal integrals are those of Jain & Rodriguez, Appendix C):

    b_eta_r = (F1_rs - F1_sr) . w eta_dot_s - 1/2 w . N_r w
              + (G1_rst - 1/2 G1_str) eta_dot_s eta_dot_t,           N_r = dJ/deta_r
    b_w     = J_dot w + w x (J w + F eta_dot) + F1_rs eta_dot_r eta_dot_s
    b_v     = w x (w x m p) + 2 w x E eta_dot + S2_rs eta_dot_r eta_dot_s

A ruthless body keeps the zeroth order of M_m and what of b_m is free of eta and eta_dot.
Cost: about 14 m^2 + 50 m multiplications for point masses; 4 m^3 + 10 m^2 more with S2 and G1.
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
from .vec import add, axpy, cross, dot, load3, load6, mul_sym, skew, store3, store6, store9, sub


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
        j1 = fe0 + 6 * m
        mu = topo[k + W_MODES]
        df = mu + 6 * m
        nj = df + m * m
        for r in range(m * m):
            work[df + r] = const[g0 + r]
        if topo[RUTHLESS] != 0:
            for r in range(m):
                store6(work, mu + 6 * r, load6(const, fe0 + 6 * r))
                store6(work, nj + 6 * r, load6(const, j1 + 6 * r))
        else:
            f1 = j1 + 6 * m
            j2 = f1 + 3 * m * m
            s2 = j2 + 6 * m * m
            second = topo[k + SECOND]
            e = topo[k + Q_MODES]
            for r in range(m):
                F = load3(const, fe0 + 6 * r)
                E = load3(const, fe0 + 6 * r + 3)
                J1 = load6(const, j1 + 6 * r)
                N = J1
                E0 = E
                for s in range(m):
                    F = axpy(q[e + s], load3(const, f1 + 3 * (r * m + s)), F)
                    N = axpy6(q[e + s], load6(const, j2 + 6 * (r * m + s)), N)
                if second != 0:
                    for s in range(m):
                        E = axpy(q[e + s], load3(const, s2 + 3 * (r * m + s)), E)
                store3(work, mu + 6 * r, F)
                store3(work, mu + 6 * r + 3, E)
                store6(work, nj + 6 * r, N)
                half = 0.5 * q[e + r]
                J = axpy6(half, J1, axpy6(half, N, J))
                moment = axpy(half, E0, axpy(half, E, moment))
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
def store_modal_force(topo, const, work, q, v, k, w, N, nj):
    """ZF_r = K eta + D eta_dot - 1/2 w . N_r w, with the N_r at N[nj:]."""
    m = topo[k + MODES]
    stiffness = topo[k + MODAL] + m * m
    damping = stiffness + m * m
    zf = topo[k + W_MODES] + 12 * m + m * m
    e = topo[k + Q_MODES]
    ed = topo[k + V_MODES]
    xx, xy, xz = w[0] * w[0], 2.0 * w[0] * w[1], 2.0 * w[0] * w[2]
    yy, yz, zz = w[1] * w[1], 2.0 * w[1] * w[2], w[2] * w[2]
    for r in range(m):
        n = load6(N, nj + 6 * r)
        force = -0.5 * (n[0] * xx + n[1] * xy + n[2] * xz + n[3] * yy + n[4] * yz + n[5] * zz)
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
    nj = mu + 6 * m + m * m
    zf = nj + 6 * m
    ed = topo[k + V_MODES]
    w = load3(work, b + OMEGA)
    store_modal_force(topo, const, work, q, v, k, w, work, nj)
    h = mul_sym(load6(work, b + P), w)  # J w + F eta_dot
    u = cross(w, moment_of(work, b))  # w x m p + 2 E eta_dot
    n = (0.0, 0.0, 0.0)
    f = (0.0, 0.0, 0.0)
    if topo[RUTHLESS] == 0:
        f1 = topo[k + MODAL] + 3 * m * m + 12 * m
        for r in range(m):
            rate = v[ed + r]
            n = axpy(rate, mul_sym(load6(work, nj + 6 * r), w), n)
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
                work[zf + r] += 2.0 * dot(turn, w)
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
