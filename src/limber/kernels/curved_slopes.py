"""What second-order shapes add to the slopes of `modal_slopes`, point by point; see `curved` for the points.

A point at l with the columns u_r and the acceleration a needs w [l x a; e a] and w u_r . a.  With (B x)_j the row j of B times
x,

    by eta_j      dl = u_j,  du_r = B_rj,  da = (B eta_dd)_j + wd x u_j + w x (w x u_j + 2 (B eta_dot)_j)
    by eta_dot_j  da = 2 (B eta_dot)_j + 2 w x u_j

The same without B is in the modal integrals already, and is taken away.
Cost      about (6 d + 12) m^2 + 120 m multiplications for each point, with d directions
"""

from .curved import along, direction, shape_of
from .layout import (
    ACC,
    B_DIRECTIONS,
    B_POINT,
    B_POINTS,
    B_SECOND,
    BENT,
    C_POSITION,
    C_UNIT,
    C_WEIGHT,
    CURVED_RECORD,
    MODES,
    NV,
    OMEGA,
    Q_MODES,
    SV_GYRO,
    SV_PUSH,
    V_MODES,
    W_B,
    WORK,
)
from .scalar import kernel
from .second import between, pair, row_times
from .slope_records import speed_record
from .vec import accumulate3, add, axpy, cross, dot, load3, scale, sub


@kernel
def bent_by(topo, const, work, k, i, r):
    """D b_r of curved point i of body k."""
    bent = topo[k + BENT]
    total = (0.0, 0.0, 0.0)
    for j in range(topo[bent + B_DIRECTIONS]):
        b = work[along(topo, bent, i, j) + W_B + r]
        total = axpy(b, direction(topo, const, bent, j), total)
    return total


@kernel
def spun(w, aw, l, ld, a):
    """a + wd x l + w x (w x l + 2 l_dot)."""
    return add(a, add(cross(aw, l), cross(w, axpy(2.0, ld, cross(w, l)))))


@kernel
def add_curved_slopes(topo, const, work, q, v, vdot, room, k, out):
    """Add to SV_PUSH of the modes and to the slopes of ZF in `out`.  Needs OMEGA, ACC and the b_r."""
    m = topo[k + MODES]
    nv = topo[NV]
    e = topo[k + Q_MODES]
    ed = topo[k + V_MODES]
    by_q = nv + ed * nv + ed
    by_v = by_q + nv * nv
    bent = topo[k + BENT]
    b = topo[k + WORK]
    w, aw = load3(work, b + OMEGA), load3(work, b + ACC)
    for i in range(topo[bent + B_POINTS]):
        c = topo[bent + B_POINT] + i * CURVED_RECORD
        B = topo[bent + B_SECOND] + i * topo[bent + B_DIRECTIONS] * m * m
        weight = const[c + C_WEIGHT]
        # l, its rate and the acceleration, without B and with it
        l0, d0 = load3(const, c + C_POSITION), (0.0, 0.0, 0.0)
        a0 = scale(const[c + C_UNIT], load3(work, b + ACC + 3))
        for r in range(m):
            g = shape_of(topo, const, k, i, r)
            l0, d0, a0 = axpy(q[e + r], g, l0), axpy(v[ed + r], g, d0), axpy(vdot[ed + r], g, a0)
        l = axpy(0.5, between(topo, const, k, B, q, e, q, e), l0)
        d = add(d0, between(topo, const, k, B, v, ed, q, e))
        a = add(
            between(topo, const, k, B, vdot, ed, q, e), between(topo, const, k, B, v, ed, v, ed)
        )
        a = spun(w, aw, l, d, add(a0, a))
        a0 = spun(w, aw, l0, d0, a0)
        for j in range(m):
            g = shape_of(topo, const, k, i, j)
            u = add(g, bent_by(topo, const, work, k, i, j))
            rate = row_times(topo, const, k, B, j, v, ed)
            da = spun(w, aw, u, rate, row_times(topo, const, k, B, j, vdot, ed))
            da0 = add(cross(aw, g), cross(w, cross(w, g)))
            da_v = scale(2.0, add(rate, cross(w, u)))
            da0_v = scale(2.0, cross(w, g))
            moment = sub(add(cross(u, a), cross(l, da)), add(cross(g, a0), cross(l0, da0)))
            at = speed_record(topo, ed + j) + SV_PUSH
            unit = weight * const[c + C_UNIT]
            accumulate3(room, at, scale(weight, moment))
            accumulate3(room, at + 3, scale(unit, sub(da, da0)))
            accumulate3(room, at + 6, scale(weight, sub(cross(l, da_v), cross(l0, da0_v))))
            accumulate3(room, at + 9, scale(unit, sub(da_v, da0_v)))
            for r in range(m):
                g = shape_of(topo, const, k, i, r)
                u = add(g, bent_by(topo, const, work, k, i, r))
                pull = dot(pair(topo, const, k, B, r, j), a) + dot(u, da) - dot(g, da0)
                out[by_q + r * nv + j] += weight * pull
                out[by_v + r * nv + j] += weight * (dot(u, da_v) - dot(g, da0_v))


@kernel
def add_curved_spin(topo, const, work, v, room, k):
    """Add to SV_GYRO of the modes what is neither in N_r nor in MU: 2 w D x (sigma gamma_r - b_r l_dot)."""
    m = topo[k + MODES]
    ed = topo[k + V_MODES]
    bent = topo[k + BENT]
    for i in range(topo[bent + B_POINTS]):
        weight = 2.0 * const[topo[bent + B_POINT] + i * CURVED_RECORD + C_WEIGHT]
        rate = (0.0, 0.0, 0.0)
        for r in range(m):
            u = add(shape_of(topo, const, k, i, r), bent_by(topo, const, work, k, i, r))
            rate = axpy(v[ed + r], u, rate)
        for j in range(topo[bent + B_DIRECTIONS]):
            at = along(topo, bent, i, j) + W_B
            sigma = 0.0
            for r in range(m):
                sigma += work[at + r] * v[ed + r]
            D = direction(topo, const, bent, j)
            for r in range(m):
                sway = axpy(-work[at + r], rate, scale(sigma, shape_of(topo, const, k, i, r)))
                row = speed_record(topo, ed + r) + SV_GYRO
                accumulate3(room, row, scale(weight, cross(D, sway)))
