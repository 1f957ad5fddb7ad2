"""Slopes of the forces that a flexible body needs: by its deformation, by its rates, and by its angular velocity.

The motion of the body frame is given, the forces are Z and ZF of `newton_euler.body_force`.  With the notation of `modal`,
a = [wd; vd] the acceleration of the body frame, N~ = tr(N) I - N, and summation over r and s,

    by eta_j      b_w:   dJ_j wd + E_j x vd + F1_rj eta_dd_r + w x dJ_j w + 2 N1_rj~ w eta_dot_r,     dJ_j = N_j~ + N_j^T~
                  b_v:   wd x E_j + w x (w x E_j) + S2_rj eta_dd_r + 2 w x S2_rj eta_dot_r
                  b_i:   K_ij + F1_ij . wd + S2_ij . vd + G1_isj eta_dd_s + N1_ij : w~^2
    by eta_dot_j  b_w:   2 N_j~ w + (F1_js + F1_sj) eta_dot_s
                  b_v:   2 w x E_j + (S2_js + S2_sj) eta_dot_s
                  b_i:   D_ij + (F1_ij - F1_ji) . w + (G1_ijs - 1/2 G1_jsi + G1_isj - 1/2 G1_sji) eta_dot_s
    by w          b_i:   -dJ_i w + (F1_is - F1_si) eta_dot_s

`curved_slopes` adds what second-order shapes do.  A ruthless body has K, D and the first term by w.
Cost      about 25 m^2 + 100 m multiplications for point masses
"""

from .curved_slopes import add_curved_slopes, add_curved_spin
from .layout import (
    ACC,
    BENT,
    DENSE,
    M_D,
    M_F1,
    M_G1,
    M_K,
    M_N0,
    M_N1,
    M_S2,
    MODAL,
    MODES,
    NV,
    OMEGA,
    PAIRS,
    RUTHLESS,
    SECOND,
    SV_GYRO,
    SV_PUSH,
    V_MODES,
    W_MU,
    W_N,
    WORK,
)
from .scalar import kernel
from .slope_records import speed_record
from .vec import (
    accumulate3,
    add,
    axpy,
    cross,
    dot,
    load3,
    load9,
    scale,
    store3,
    sub,
    transpose,
    zero,
)


@kernel
def traced(N, x):
    """(tr(N) I - N) x."""
    return (
        (N[4] + N[8]) * x[0] - N[1] * x[1] - N[2] * x[2],
        (N[0] + N[8]) * x[1] - N[3] * x[0] - N[5] * x[2],
        (N[0] + N[4]) * x[2] - N[6] * x[0] - N[7] * x[1],
    )


@kernel
def inertia_slope(N, x):
    """(dJ/deta_r) x, given N_r."""
    return add(traced(N, x), traced(transpose(N), x))


@kernel
def pair_matrix(topo, const, i, n1, m, s):
    """The N1 of pair s of a mode whose pairs are at topo[i:] and whose N1 are at const[n1:], and the mode that it is by."""
    if topo[i] == m and m >= DENSE:
        c = n1 + 3 * s
        return load3(const, c) + load3(const, c + 3 * m) + load3(const, c + 6 * m), s
    else:
        return load9(const, n1 + 9 * s), topo[i + 1 + s]


@kernel
def add_pairs(topo, const, work, v, room, k, out):
    """The terms with N1."""
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    nv = topo[NV]
    ed = topo[k + V_MODES]
    w = load3(work, topo[k + WORK] + OMEGA)
    i = topo[modal + PAIRS]
    n1 = topo[modal + M_N1]
    for r in range(m):
        pairs = topo[i]
        for s in range(pairs):
            N, j = pair_matrix(topo, const, i, n1, m, s)
            turn = traced(N, w)
            # N : w~^2 = -w . N~ w
            out[nv + (ed + r) * nv + ed + j] -= dot(w, turn)
            accumulate3(room, speed_record(topo, ed + j) + SV_PUSH, scale(2.0 * v[ed + r], turn))
        i += 1 + pairs
        n1 += 9 * pairs


@kernel
def slopes_by_modes(topo, const, work, q, v, vdot, room, k, out):
    """Slopes of Z by eta and by eta_dot in SV_PUSH of the modes, body axes, and those of ZF in `out`.

    Needs OMEGA, ACC and what `body_force` leaves.
    """
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    b = topo[k + WORK]
    nv = topo[NV]
    ed = topo[k + V_MODES]
    by_q = nv + ed * nv + ed
    by_v = by_q + nv * nv
    for i in range(m):
        zero(room, speed_record(topo, ed + i) + SV_PUSH, 12)
        for j in range(m):
            out[by_q + i * nv + j] = const[topo[modal + M_K] + i * m + j]
            out[by_v + i * nv + j] = const[topo[modal + M_D] + i * m + j]
    if topo[RUTHLESS] != 0:
        return
    add_pairs(topo, const, work, v, room, k, out)
    f1 = topo[modal + M_F1]
    w = load3(work, b + OMEGA)
    aw, av = load3(work, b + ACC), load3(work, b + ACC + 3)
    for j in range(m):
        N = load9(work, topo[modal + W_N] + 9 * j)
        E = load3(work, topo[modal + W_MU] + 6 * j + 3)
        moment = add(inertia_slope(N, aw), add(cross(E, av), cross(w, inertia_slope(N, w))))
        force = add(cross(aw, E), cross(w, cross(w, E)))
        moment_v = scale(2.0, traced(N, w))
        force_v = scale(2.0, cross(w, E))
        for r in range(m):
            F = load3(const, f1 + 3 * (r * m + j))
            back = load3(const, f1 + 3 * (j * m + r))
            moment = axpy(vdot[ed + r], F, moment)
            moment_v = axpy(v[ed + r], add(F, back), moment_v)
            out[by_q + r * nv + j] += dot(F, aw)
            out[by_v + r * nv + j] += dot(sub(F, back), w)
        if topo[modal + SECOND] != 0:
            force, force_v = add_second_order(topo, const, work, v, vdot, k, j, force, force_v, out)
        at = speed_record(topo, ed + j) + SV_PUSH
        accumulate3(room, at, moment)
        accumulate3(room, at + 3, force)
        accumulate3(room, at + 6, moment_v)
        accumulate3(room, at + 9, force_v)
    if topo[k + BENT] != 0:
        add_curved_slopes(topo, const, work, q, v, vdot, room, k, out)


@kernel
def add_second_order(topo, const, work, v, vdot, k, j, force, force_v, out):
    """The terms of column j with S2 and G1; the forces are given and returned."""
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    nv = topo[NV]
    ed = topo[k + V_MODES]
    by_q = nv + ed * nv + ed
    by_v = by_q + nv * nv
    s2 = topo[modal + M_S2]
    g1 = topo[modal + M_G1]
    b = topo[k + WORK]
    w, av = load3(work, b + OMEGA), load3(work, b + ACC + 3)
    drift = (0.0, 0.0, 0.0)
    for r in range(m):
        S = load3(const, s2 + 3 * (r * m + j))
        back = load3(const, s2 + 3 * (j * m + r))
        drift = axpy(v[ed + r], S, drift)
        force = axpy(vdot[ed + r], S, force)
        force_v = axpy(v[ed + r], add(S, back), force_v)
        out[by_q + r * nv + j] += dot(S, av)
        by_eta = 0.0
        by_rate = 0.0
        for s in range(m):
            forth = const[g1 + (r * m + s) * m + j]
            by_eta += forth * vdot[ed + s]
            g = const[g1 + (r * m + j) * m + s] + forth
            g -= 0.5 * (const[g1 + (j * m + s) * m + r] + const[g1 + (s * m + j) * m + r])
            by_rate += g * v[ed + s]
        out[by_q + r * nv + j] += by_eta
        out[by_v + r * nv + j] += by_rate
    return axpy(2.0, cross(w, drift), force), force_v


@kernel
def slopes_by_spin(topo, const, work, v, room, k, u):
    """Slopes of ZF by the spin of `slope_motion` in SV_GYRO of the modes, body axes.

    The body is accelerated by [-w x spin; 2 spin x u] then, with u the velocity of its frame.  Needs OMEGA, MU and N, what
    second-order shapes add to them included.
    """
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    ed = topo[k + V_MODES]
    w = load3(work, topo[k + WORK] + OMEGA)
    for r in range(m):
        mu = topo[modal + W_MU] + 6 * r
        slope = add(cross(w, load3(work, mu)), scale(2.0, cross(u, load3(work, mu + 3))))
        if topo[RUTHLESS] != 0:
            slope = sub(slope, inertia_slope(load9(const, topo[modal + M_N0] + 9 * r), w))
        else:
            slope = sub(slope, inertia_slope(load9(work, topo[modal + W_N] + 9 * r), w))
            f1 = topo[modal + M_F1]
            for s in range(m):
                F = load3(const, f1 + 3 * (r * m + s))
                slope = axpy(v[ed + s], sub(F, load3(const, f1 + 3 * (s * m + r))), slope)
        store3(room, speed_record(topo, ed + r) + SV_GYRO, slope)
    if topo[k + BENT] != 0:
        add_curved_spin(topo, const, work, v, room, k)
