"""The part of M_m(eta) and b_m that comes from curved points, for bodies with second-order shapes.

Curved point i (`bodies.curved`) has the weight w, the position l = l0 + gamma eta + 1/2 eta^T B eta, the
columns u_r = gamma_r + B_rs eta_s and the factor e of the translation of the body.  With U = [u, -l~, e I] it adds w U^T U
to M_m and w U^T a to b_m, where a = w x (w x l) + 2 w x l_dot + eta_dot^T B eta_dot is the acceleration it has when the
body frame and the modal rates are not accelerated.  In the terms of `modal`:

    G_rs += w u_r . u_s,   N_r += w u_r l^T,   E_r += w e u_r,   m p += w e l,   J += w (l . l I - l l^T)

and N_r and E_r give F_r, the centrifugal force and the parts of b_m with 2 w x l_dot in its rigid rows, as they do for
all other points.
Cost      about (2 d + 1.5) m^2 + 33 m multiplications for each point, with d directions of B
"""

from .layout import (
    B_DIRECTIONS,
    B_POINT,
    B_POINTS,
    B_SECOND,
    B_SHAPES,
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
    W_CURVED,
    W_DF,
    W_MU,
    W_N,
    W_ZF,
    WORK,
    Z,
)
from .scalar import kernel
from .second import between, row_times
from .vec import accumulate3, add, axpy, cross, dot, load3, load9, scale, store3, store9


@kernel
def second_of(topo, k, i):
    """Where B of curved point i of body k begins."""
    m = topo[k + MODES]
    bent = topo[k + BENT]
    return topo[bent + B_SECOND] + i * topo[bent + B_DIRECTIONS] * m * m


@kernel
def column_of(topo, k, i, r):
    """Where u_r of curved point i of body k is in work; l stands in the place of u_m."""
    return topo[topo[k + BENT] + W_CURVED] + 3 * (i * (topo[k + MODES] + 1) + r)


@kernel
def curved_moments(topo, const, work, q, k, moment, J):
    """Add the curved points of body k to its m p and J, which are given and returned, and to its N_r.

    Leaves u_r and l in work.
    """
    m = topo[k + MODES]
    e = topo[k + Q_MODES]
    n = topo[topo[k + MODAL] + W_N]
    bent = topo[k + BENT]
    for i in range(topo[bent + B_POINTS]):
        c = topo[bent + B_POINT] + i * CURVED_RECORD
        l = load3(const, c + C_POSITION)
        for r in range(m):
            gamma = load3(const, topo[bent + B_SHAPES] + 3 * (i * m + r))
            u = add(gamma, row_times(topo, const, k, second_of(topo, k, i), r, q, e))
            store3(work, column_of(topo, k, i, r), u)
            l = axpy(0.5 * q[e + r], add(gamma, u), l)
        store3(work, column_of(topo, k, i, m), l)
        wl = scale(const[c + C_WEIGHT], l)
        for r in range(m):
            u = load3(work, column_of(topo, k, i, r))
            N = load9(work, n + 9 * r)
            N = (
                N[0] + u[0] * wl[0],
                N[1] + u[0] * wl[1],
                N[2] + u[0] * wl[2],
                N[3] + u[1] * wl[0],
                N[4] + u[1] * wl[1],
                N[5] + u[1] * wl[2],
                N[6] + u[2] * wl[0],
                N[7] + u[2] * wl[1],
                N[8] + u[2] * wl[2],
            )
            store9(work, n + 9 * r, N)
        moment = axpy(const[c + C_UNIT], wl, moment)
        xx, yy, zz = l[0] * wl[0], l[1] * wl[1], l[2] * wl[2]
        J = (
            J[0] + yy + zz,
            J[1] - l[0] * wl[1],
            J[2] - l[0] * wl[2],
            J[3] + xx + zz,
            J[4] - l[1] * wl[2],
            J[5] + xx + yy,
        )
    return moment, J


@kernel
def curved_columns(topo, const, work, k):
    """Add the curved points of body k to E and G, in MU and DF.  Needs the u_r."""
    m = topo[k + MODES]
    mu = topo[topo[k + MODAL] + W_MU]
    df = topo[topo[k + MODAL] + W_DF]
    bent = topo[k + BENT]
    for i in range(topo[bent + B_POINTS]):
        c = topo[bent + B_POINT] + i * CURVED_RECORD
        for r in range(m):
            wu = scale(const[c + C_WEIGHT], load3(work, column_of(topo, k, i, r)))
            accumulate3(work, mu + 6 * r + 3, scale(const[c + C_UNIT], wu))
            work[df + r * m + r] += dot(wu, load3(work, column_of(topo, k, i, r)))
            for s in range(r):
                g = dot(wu, load3(work, column_of(topo, k, i, s)))
                work[df + r * m + s] += g
                work[df + s * m + r] += g


@kernel
def curved_bias(topo, const, work, q, v, k):
    """Add to Z and ZF of body k what b_m has of its curved points beside the terms of N_r and E_r.

    Needs OMEGA, the u_r and l.
    """
    b = topo[k + WORK]
    m = topo[k + MODES]
    ed = topo[k + V_MODES]
    zf = topo[topo[k + MODAL] + W_ZF]
    bent = topo[k + BENT]
    w = load3(work, b + OMEGA)
    for i in range(topo[bent + B_POINTS]):
        c = topo[bent + B_POINT] + i * CURVED_RECORD
        rate = (0.0, 0.0, 0.0)  # l_dot
        for r in range(m):
            rate = axpy(v[ed + r], load3(work, column_of(topo, k, i, r)), rate)
        drift = between(topo, const, k, second_of(topo, k, i), v, ed, v, ed)
        force = scale(const[c + C_WEIGHT], axpy(2.0, cross(w, rate), drift))
        drift = scale(const[c + C_WEIGHT], drift)
        accumulate3(work, b + Z, cross(load3(work, column_of(topo, k, i, m)), drift))
        accumulate3(work, b + Z + 3, scale(const[c + C_UNIT], drift))
        for r in range(m):
            work[zf + r] += dot(load3(work, column_of(topo, k, i, r)), force)
