"""The part of M_m(eta) and b_m that comes from curved points, for bodies with second-order shapes.

Curved point i (`bodies.curved`) has the weight w, the position l = l0 + gamma eta + 1/2 eta^T B eta, the
columns u_r = gamma_r + B_rs eta_s and the factor e of the translation of the body.  With U = [u, -l~, e I] it adds w U^T U
to M_m and w U^T a to b_m, where a = w x (w x l) + 2 w x l_dot + eta_dot^T B eta_dot is the acceleration it has when the
body frame and the modal rates are not accelerated.  In the terms of `modal`:

    G_rs += w u_r . u_s,   N_r += w u_r l^T,   E_r += w e u_r,   m p += w e l,   J += w (l . l I - l l^T)

and N_r and E_r give F_r, the centrifugal force and the parts of b_m with 2 w x l_dot in its rigid rows, as they do for
all other points.
Cost      about 6 m^2 + 30 m multiplications for each point
"""

from .layout import (
    CURVED,
    CURVED_POINTS,
    CURVED_POSITION,
    CURVED_RECORD,
    CURVED_SECOND,
    CURVED_SHAPES,
    CURVED_UNIT,
    CURVED_WEIGHT,
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
from .vec import accumulate3, add, axpy, cross, dot, load3, load9, scale, store3, store9


@kernel
def second_shape(topo, const, k, i, r, s):
    """B_rs of curved point i of body k."""
    m = topo[k + MODES]
    return load3(const, topo[k + CURVED_SECOND] + 3 * ((i * m + r) * m + s))


@kernel
def curved_column(topo, work, k, i, r):
    """u_r of curved point i of body k."""
    return load3(work, topo[k + W_CURVED] + 3 * (i * topo[k + MODES] + r))


@kernel
def curved_place(topo, const, work, q, k, i):
    """l of curved point i of body k: l0 + 1/2 (gamma_r + u_r) eta_r.  Needs the u_r."""
    m = topo[k + MODES]
    e = topo[k + Q_MODES]
    l = load3(const, topo[k + CURVED_POINTS] + i * CURVED_RECORD + CURVED_POSITION)
    for r in range(m):
        gamma = load3(const, topo[k + CURVED_SHAPES] + 3 * (i * m + r))
        l = axpy(0.5 * q[e + r], add(gamma, curved_column(topo, work, k, i, r)), l)
    return l


@kernel
def curved_moments(topo, const, work, q, k, moment, J):
    """Add the curved points of body k to its m p and J, which are given and returned, and to its N_r.

    Leaves the u_r in work.
    """
    m = topo[k + MODES]
    e = topo[k + Q_MODES]
    n = topo[topo[k + MODAL] + W_N]
    for i in range(topo[k + CURVED]):
        c = topo[k + CURVED_POINTS] + i * CURVED_RECORD
        weight = const[c + CURVED_WEIGHT]
        for r in range(m):
            u = load3(const, topo[k + CURVED_SHAPES] + 3 * (i * m + r))
            for s in range(m):
                u = axpy(q[e + s], second_shape(topo, const, k, i, r, s), u)
            store3(work, topo[k + W_CURVED] + 3 * (i * m + r), u)
        l = curved_place(topo, const, work, q, k, i)
        wl = scale(weight, l)
        for r in range(m):
            u = curved_column(topo, work, k, i, r)
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
        moment = axpy(const[c + CURVED_UNIT], wl, moment)
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
    for i in range(topo[k + CURVED]):
        c = topo[k + CURVED_POINTS] + i * CURVED_RECORD
        weight, unit = const[c + CURVED_WEIGHT], const[c + CURVED_UNIT]
        for r in range(m):
            wu = scale(weight, curved_column(topo, work, k, i, r))
            accumulate3(work, mu + 6 * r + 3, scale(unit, wu))
            for s in range(m):
                work[df + r * m + s] += dot(wu, curved_column(topo, work, k, i, s))


@kernel
def curved_bias(topo, const, work, q, v, k):
    """Add to Z and ZF of body k what b_m has of its curved points beside the terms of N_r and E_r.  Needs OMEGA and the u_r."""
    b = topo[k + WORK]
    m = topo[k + MODES]
    ed = topo[k + V_MODES]
    zf = topo[topo[k + MODAL] + W_ZF]
    w = load3(work, b + OMEGA)
    for i in range(topo[k + CURVED]):
        c = topo[k + CURVED_POINTS] + i * CURVED_RECORD
        weight = const[c + CURVED_WEIGHT]
        rate = (0.0, 0.0, 0.0)  # l_dot
        drift = (0.0, 0.0, 0.0)  # eta_dot^T B eta_dot
        for r in range(m):
            rate = axpy(v[ed + r], curved_column(topo, work, k, i, r), rate)
            row = scale(0.5 * v[ed + r], second_shape(topo, const, k, i, r, r))
            for s in range(r):
                row = axpy(v[ed + s], second_shape(topo, const, k, i, r, s), row)
            drift = axpy(2.0 * weight * v[ed + r], row, drift)
        l = curved_place(topo, const, work, q, k, i)
        force = axpy(2.0 * weight, cross(w, rate), drift)
        accumulate3(work, b + Z, cross(l, drift))
        accumulate3(work, b + Z + 3, scale(const[c + CURVED_UNIT], drift))
        for r in range(m):
            work[zf + r] += dot(curved_column(topo, work, k, i, r), force)
