"""The last sweeps of `forward_slopes`: responses of a whole tree to steps of all speeds, many columns at a time.

A step of speed j is felt directly by its own joint (innovations SV_OWN), by its parent (SV_PUSH), and by what is outboard,
whose accelerations have the common change SV_RISE and whose angular velocities change by SV_SPIN.  The rest is the
articulated-body recursion on vectors, in which nothing is transformed, since all vectors refer to one point:

    inward    nu -= S.F / D,   F(parent) += F - K (S.F)
    outward   vdot = nu - K.a(parent) - gyro.spin - turn.rotation,   a = a(parent) + S vdot

Columns are taken in blocks of LANE_COLUMNS, each with a step of q, of v and of tau, LANES in all.  A lane is the innermost
loop, so that it is computed in vector registers.

Cost      12 multiplications for each column and speed that is not outboard of it, 15 more for each column and speed
"""

from .layout import (
    COLUMNS,
    DOFS,
    END,
    LANE_COLUMNS,
    LANES,
    LANES_BODY,
    LANES_SPEED,
    NV,
    PARENT,
    SV_D,
    SV_GYRO,
    SV_K,
    SV_OWN,
    SV_PUSH,
    SV_RISE,
    SV_S,
    SV_SPIN,
    SV_TURN,
    V_JOINT,
)
from .scalar import kernel
from .slope_records import speed_record
from .vec import load3, load6, zero

# lanes of a body
FORCE, RISE, MOVED = 0, 6 * LANES, 12 * LANES


@kernel
def body_lanes(topo, k):
    """Where the lanes of body k begin."""
    return speed_record(topo, topo[NV]) + k // COLUMNS * (LANES_BODY * LANES)


@kernel
def speed_lanes(topo, i):
    """Where the lanes of speed i begin."""
    return body_lanes(topo, topo[END]) + i * (LANES_SPEED * LANES)


@kernel
def fill_lane(room, lane, n, at):
    """Set one lane of n rows to the n numbers at room[at:]."""
    for t in range(n):
        room[lane + t * LANES] = room[at + t]


@kernel
def add_to_lane(room, lane, n, at):
    """Add the n numbers at room[at:] to one lane of n rows."""
    for t in range(n):
        room[lane + t * LANES] += room[at + t]


@kernel
def start_block(topo, room, first, last, j0, j1):
    """The lanes of the columns j0 .. j1, which belong to the bodies first .. last, before the sweeps."""
    nv = topo[NV]
    seeds = speed_lanes(topo, nv)
    zero(room, speed_lanes(topo, 0), nv * LANES)
    zero(room, seeds, 6 * LANES)
    for k in range(0, last + COLUMNS, COLUMNS):
        zero(room, body_lanes(topo, k) + FORCE, 6 * LANES)
    world = body_lanes(topo, 0)
    zero(room, world + RISE, 7 * LANES)
    for k in range(first, last + COLUMNS, COLUMNS):
        i = topo[k + V_JOINT]
        parent = body_lanes(topo, topo[k + PARENT])
        for j in range(max(i, j0), min(i + topo[k + DOFS], j1)):
            at = speed_record(topo, j)
            lane = j - j0
            fill_lane(room, seeds + lane, 3, at + SV_SPIN)
            fill_lane(room, seeds + LANE_COLUMNS + lane, 3, at + SV_S)
            fill_lane(room, seeds + 3 * LANES + lane, 3, at + SV_S)
            for kind in range(3):
                add_to_lane(room, parent + FORCE + lane, 6, at + SV_PUSH + 6 * kind)
                own = speed_lanes(topo, i)
                fill_lane(room, own + lane, topo[k + DOFS], at + SV_OWN + 6 * kind)
                lane += LANE_COLUMNS


@kernel
def sweep_inward(topo, room, last):
    """Forces on all bodies up to `last`, and the innovations of their speeds."""
    for k in range(last, 0, -COLUMNS):
        b = body_lanes(topo, k)
        f = b + FORCE
        e = b + MOVED  # free as yet
        i = topo[k + V_JOINT]
        for r in range(topo[k + DOFS]):
            at = speed_record(topo, i + r)
            nu = speed_lanes(topo, i + r)
            s0, s1, s2, s3, s4, s5 = load6(room, at + SV_S)
            d = room[at + SV_D]
            for w in range(LANES):
                room[e + w] = -(
                    s0 * room[f + w]
                    + s1 * room[f + LANES + w]
                    + s2 * room[f + 2 * LANES + w]
                    + s3 * room[f + 3 * LANES + w]
                    + s4 * room[f + 4 * LANES + w]
                    + s5 * room[f + 5 * LANES + w]
                )
            for w in range(LANES):
                room[nu + w] += d * room[e + w]
            for t in range(6):
                gain = room[at + SV_K + t]
                for w in range(LANES):
                    room[f + t * LANES + w] += gain * room[e + w]
        if topo[k + PARENT] != 0:
            p = body_lanes(topo, topo[k + PARENT]) + FORCE
            for w in range(6 * LANES):
                room[p + w] += room[f + w]


@kernel
def sweep_outward(topo, room, first, last, j0, j1, turned):
    """Accelerations of all bodies and speeds."""
    seeds = speed_lanes(topo, topo[NV])
    for k in range(COLUMNS, topo[END], COLUMNS):
        b = body_lanes(topo, k)
        p = body_lanes(topo, topo[k + PARENT])
        i = topo[k + V_JOINT]
        a = p + RISE
        for r in range(topo[k + DOFS] - 1, -1, -1):
            at = speed_record(topo, i + r)
            nu = speed_lanes(topo, i + r)
            if k >= first:
                g0, g1, g2 = load3(room, at + SV_GYRO)
                for w in range(LANES):
                    room[nu + w] -= room[p + MOVED + w] * (
                        g0 * room[seeds + w]
                        + g1 * room[seeds + LANES + w]
                        + g2 * room[seeds + 2 * LANES + w]
                    )
                if turned != 0:
                    g0, g1, g2 = load3(room, at + SV_TURN)
                    for w in range(LANES):
                        room[nu + w] -= room[p + MOVED + w] * (
                            g0 * room[seeds + 3 * LANES + w]
                            + g1 * room[seeds + 4 * LANES + w]
                            + g2 * room[seeds + 5 * LANES + w]
                        )
            k0, k1, k2, k3, k4, k5 = load6(room, at + SV_K)
            for w in range(LANES):
                room[nu + w] -= (
                    k0 * room[a + w]
                    + k1 * room[a + LANES + w]
                    + k2 * room[a + 2 * LANES + w]
                    + k3 * room[a + 3 * LANES + w]
                    + k4 * room[a + 4 * LANES + w]
                    + k5 * room[a + 5 * LANES + w]
                )
            for t in range(6):
                s = room[at + SV_S + t]
                for w in range(LANES):
                    room[b + RISE + t * LANES + w] = room[a + t * LANES + w] + s * room[nu + w]
            a = b + RISE
        if topo[k + DOFS] == 0:
            for w in range(6 * LANES):
                room[b + RISE + w] = room[a + w]
        for w in range(LANES):
            room[b + MOVED + w] = room[p + MOVED + w]
        if first <= k and k <= last:
            for j in range(max(i, j0), min(i + topo[k + DOFS], j1)):
                rise = speed_record(topo, j) + SV_RISE
                lane = j - j0
                for kind in range(2):
                    add_to_lane(room, b + RISE + lane, 6, rise + 6 * kind)
                    room[b + MOVED + lane] = 1.0
                    lane += LANE_COLUMNS


@kernel
def solve_columns(topo, room, turned, out):
    """Slopes by q, v and tau, (nv, nv) each, in `out` from number NV on; `turned` is 0 if SV_TURN is not there."""
    nv = topo[NV]
    first = COLUMNS
    for j0 in range(0, nv, LANE_COLUMNS):
        j1 = min(j0 + LANE_COLUMNS, nv)
        while topo[first + V_JOINT] + topo[first + DOFS] <= j0:
            first += COLUMNS
        last = first
        while topo[last + V_JOINT] + topo[last + DOFS] < j1:
            last += COLUMNS
        start_block(topo, room, first, last, j0, j1)
        sweep_inward(topo, room, last)
        sweep_outward(topo, room, first, last, j0, j1, turned)
        for i in range(nv):
            nu = speed_lanes(topo, i)
            for kind in range(3):
                row = nv + (kind * nv + i) * nv
                for w in range(j1 - j0):
                    out[row + j0 + w] = room[nu + kind * LANE_COLUMNS + w]
