"""Slopes of inverse dynamics that couple a speed with those inboard of it; see `inverse_slopes`.

Given     the rows and pushes of the speed, S, spin and c of the others
Cost      about 45 multiplications for each pair
"""

from .flexible_motion import moved_by_modes, twist_record
from .layout import (
    DOFS,
    MODES,
    NV,
    PARENT,
    RUTHLESS,
    SV_GYRO,
    SV_K,
    SV_PUSH,
    SV_RISE,
    SV_S,
    SV_SPIN,
    SV_TURN,
    TWIST_RATE,
    TWIST_RISE,
    TWIST_S,
    V_JOINT,
    V_MODES,
)
from .scalar import inlined, kernel
from .slope_records import load_motion, paired, speed_record
from .vec import dot, load3


@inlined
def rows_and_pushes(room, at):
    """y, g, e and the forces of steps of q and v of the speed `at`."""
    yn, yf = load_motion(room, at + SV_K)
    qn, qf = load_motion(room, at + SV_PUSH)
    vn, vf = load_motion(room, at + SV_PUSH + 6)
    return yn, yf, load3(room, at + SV_GYRO), load3(room, at + SV_TURN), qn, qf, vn, vf


@inlined
def pair_with_joint(topo, room, p, i, rows, turned, out):
    """The slopes that couple speed i with the joint speeds of body p, which are inboard of it."""
    nv = topo[NV]
    by_v, by_vdot = nv * nv, 2 * nv * nv
    yn, yf, g, e, qn, qf, vn, vf = rows
    for j in range(topo[p + V_JOINT], topo[p + V_JOINT] + topo[p + DOFS]):
        other = speed_record(topo, j)
        s, u = load_motion(room, other + SV_S)
        slope = paired(room, other + SV_RISE, yn, yf) + dot(g, load3(room, other + SV_SPIN))
        if turned != 0:
            slope += dot(e, s)
        mass = dot(s, yn) + dot(u, yf)
        row = nv + i * nv + j
        column = nv + j * nv + i
        out[row] = slope
        out[row + by_v] = paired(room, other + SV_RISE + 6, yn, yf) + dot(g, s)
        out[row + by_vdot] = mass
        out[column] = dot(s, qn) + dot(u, qf)
        out[column + by_v] = dot(s, vn) + dot(u, vf)
        out[column + by_vdot] = mass


@inlined
def pair_with_modes(topo, room, c, i, rows, turned, out):
    """The slopes that couple speed i with the modes of the parent of c, where c is on the way to the speed."""
    nv = topo[NV]
    by_v, by_vdot = nv * nv, 2 * nv * nv
    yn, yf, g, e, qn, qf, vn, vf = rows
    p = topo[c + PARENT]
    for r in range(topo[p + MODES]):
        j = topo[p + V_MODES] + r
        other = twist_record(topo, c, r)
        s, u = load_motion(room, other + TWIST_S)
        mass = dot(s, yn) + dot(u, yf)
        row = nv + i * nv + j
        column = nv + j * nv + i
        out[row + by_vdot] = mass
        out[column + by_vdot] = mass
        out[column] = dot(s, qn) + dot(u, qf)
        out[column + by_v] = dot(s, vn) + dot(u, vf)
        if topo[RUTHLESS] == 0:
            slope = paired(room, other + TWIST_RISE, yn, yf) + dot(
                g, load3(room, other + TWIST_RATE)
            )
            if turned != 0:
                slope += dot(e, s)
            out[row] = slope
            out[row + by_v] = 2.0 * paired(room, other + TWIST_RATE, yn, yf) + dot(g, s)


@kernel
def pair_with_inboard(topo, room, k, i, modal, turned, out):
    """The slopes that couple speed i of body k, a mode or a joint speed, with all speeds inboard of it."""
    rows = rows_and_pushes(room, speed_record(topo, i))
    c = k
    p = k if modal else topo[k + PARENT]
    while p != 0:
        if c != p and topo[p + MODES] > 0 and moved_by_modes(topo, c):
            pair_with_modes(topo, room, c, i, rows, turned, out)
        pair_with_joint(topo, room, p, i, rows, turned, out)
        c = p
        p = topo[p + PARENT]
