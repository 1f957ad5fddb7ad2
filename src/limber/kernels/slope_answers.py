"""The responses of bodies to steps of coordinates and speeds: I c + B spin + E turn, and the rows of these matrices (`inverse_slopes`)."""

from .layout import (
    MODES,
    NV,
    SB_GYRO,
    SB_MASS,
    SB_PLACE,
    SB_TURN,
    SV_GYRO,
    SV_K,
    SV_PUSH,
    SV_TURN,
    SV_TWIST,
    TWIST_RATE,
    TWIST_RISE,
    TWIST_S,
    V_MODES,
)
from .scalar import inlined, kernel
from .slope_records import (
    body_record,
    load_motion,
    paired,
    row_of,
    shifted_motion,
    speed_record,
    times,
)
from .vec import accumulate3, add, axpy, cross, dot, load3, load6, mul_sym, scale


@inlined
def inertial(room, b, w, u):
    """The inertia of the body record b times the motion [w; u], both at the body."""
    h = load3(room, b + SB_MASS + 1)
    n = add(mul_sym(load6(room, b + SB_MASS + 4), w), cross(h, u))
    return n, axpy(room[b + SB_MASS], u, cross(w, h))


@inlined
def answer(room, b, x, rise, spin, turned, turn):
    """I c + B spin (+ E turn, if `turned`) of the record b, whose body is at x; c is the motion at room[rise:].  At the origin."""
    cw, cu = shifted_motion(room, rise, x)
    n, f = inertial(room, b, cw, cu)
    bn, bf = times(room, b + SB_GYRO, spin)
    n, f = add(n, bn), add(f, bf)
    if turned != 0:
        bn, bf = times(room, b + SB_TURN, turn)
        n, f = add(n, bn), add(f, bf)
    return add(n, cross(x, f)), f


@kernel
def move_own_body(topo, room, k, turned, out):
    """Add what the modes of body k do by moving its own frame; needs SB_MASS, SB_GYRO and SB_TURN of the body alone."""
    nv = topo[NV]
    b = body_record(k)
    x = load3(room, b + SB_PLACE)
    i = topo[k + V_MODES]
    m = topo[k + MODES]
    for j in range(m):
        # the forces that the step needs, and what it does to the rows of the modes through MU
        at = speed_record(topo, i + j)
        own = at + SV_TWIST
        turn, spin = load3(room, own + TWIST_S), load3(room, own + TWIST_RATE)
        n, f = answer(room, b, x, own + TWIST_RISE, spin, turned, turn)
        accumulate3(room, at + SV_PUSH, n)
        accumulate3(room, at + SV_PUSH + 3, f)
        n, f = answer(room, b, x, own + TWIST_RATE, scale(0.5, turn), 0, turn)
        accumulate3(room, at + SV_PUSH + 6, scale(2.0, n))
        accumulate3(room, at + SV_PUSH + 9, scale(2.0, f))
        for r in range(m):
            row = speed_record(topo, i + r)
            yn, yf = load_motion(room, row + SV_K)
            g = load3(room, row + SV_GYRO)
            slope = paired(room, own + TWIST_RISE, yn, yf) + dot(g, spin)
            slope += dot(load3(room, row + SV_TURN), turn)
            column = nv + (i + r) * nv + i + j
            out[column] += slope
            column += nv * nv
            out[column] += 2.0 * paired(room, own + TWIST_RATE, yn, yf) + dot(g, turn)
            column += nv * nv
            out[column] += paired(room, own + TWIST_S, yn, yf)
    for j in range(m):
        own = speed_record(topo, i + j) + SV_TWIST
        # rows by S of the frame: those of the forces, MU included, then the rows themselves
        mn, mf = load_motion(room, speed_record(topo, i + j) + SV_K)
        n, f = answer(room, b, x, own + TWIST_S, (0.0, 0.0, 0.0), 0, (0.0, 0.0, 0.0))
        mn, mf = add(mn, n), add(mf, f)
        for r in range(m):
            row = speed_record(topo, i + r) + SV_TWIST
            column = nv + (i + r) * nv + i + j
            n, f = load_motion(room, speed_record(topo, i + j) + SV_PUSH)
            out[column] += paired(room, row, n, f)
            n, f = load_motion(room, speed_record(topo, i + j) + SV_PUSH + 6)
            out[column + nv * nv] += paired(room, row, n, f)
            out[column + 2 * nv * nv] += paired(room, row, mn, mf)
    for j in range(m):
        at = speed_record(topo, i + j)
        add_rows(room, b, x, at, at + SV_TWIST)


@inlined
def add_rows(room, b, x, at, s):
    """Add to the rows of the speed `at` what the body record b, at x, does along the motion at room[s:]."""
    w, u = shifted_motion(room, s, x)
    n, f = inertial(room, b, w, u)
    accumulate3(room, at + SV_K, add(n, cross(x, f)))
    accumulate3(room, at + SV_K + 3, f)
    accumulate3(room, at + SV_GYRO, row_of(room, b + SB_GYRO, w, u))
    accumulate3(room, at + SV_TURN, row_of(room, b + SB_TURN, w, u))
