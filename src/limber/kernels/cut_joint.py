"""Cut joints whose motions form no group: their map changes with coordinates that are not part of q.

The coordinates are recovered from the pose of O_b relative to O_a by STEPS steps of Marquardt's method, from the
start that the model gives; its damping is the square of the error where that is large, and its fourth power near the
solution.  Rotations weigh more than lengths and are satisfied first, however far the ends are apart.  The number of steps is
fixed, so that this runs on any scalar type.  The rows are a basis of the complement of the joint map, of unit twists in
the axes of O_b, by Householder's reflections.

Given     the relative pose and velocity
Computes  coordinates and map of the joint; its rows
Cost      about 500 multiplications for each of STEPS steps
"""

from . import ldlt
from .joints import general_joint_bias, general_joint_pose
from .layout import (
    COLUMNS,
    DOFS,
    G_DOFS,
    G_KIND,
    G_Q,
    GROUP,
    GROUPS,
    J_H,
    JOINT_WORK,
    K_FREED,
    K_JOINT,
    K_LEFT,
    K_ROW,
    K_SIGNS,
    K_SPANNED,
    Q_JOINT,
    SCREWS,
    START,
    START_SIZE,
    V_JOINT,
    W_JOINT,
    W_NODE,
)
from .manifold import group_step, screws_rate
from .scalar import kernel, sqrt
from .vec import add, cross, dot, load3, mul_t, scale, store3, sub, zero

#: The number of steps by which coordinates are recovered.
STEPS = 40
#: Added to the coordinates in each step.  It is far below rounding, but where the coordinates are zero, what is left of the
#: error would fall to numbers below the normal range otherwise, with which processors are slow.
NUDGE = 1e-30
#: Added to the diagonal of H H^T, relative to it, for joints whose axes coincide in some position.
TINY = 1e-15
#: Weight of squared lengths, which are measured in the length that is typical of the joint or the distance of its ends, relative
#: to those of angles.  If it were not small,
#: positions could be satisfied by the wrong rotations: a hinge that is followed by a slider has two angles for each of them.
LENGTHS = 1e-4
#: The square of an error, in radians, above which steps are damped strongly.  Below it damping must fall fast: what turns about
#: axes that are almost parallel, such as the two hinges of a rod, take out of an error by their difference is little, and
#: damping of the same size would stop them.
FAR = 2.0
#: Half a turn within the root of this is treated as half a turn.
HALF_TURN = 1e-14


@kernel
def skew_part(R, S):
    """The vector of (Q - Q^T) / 2 with Q = R^T S: the rotation from R to S if it is small, in the axes of either."""
    x = cross((R[0], R[3], R[6]), (S[0], S[3], S[6]))
    y = cross((R[1], R[4], R[7]), (S[1], S[4], S[7]))
    z = cross((R[2], R[5], R[8]), (S[2], S[5], S[8]))
    return scale(0.5, mul_t(S, add(x, add(y, z))))


@kernel
def turn_cosine(R, S):
    """The cosine of the angle of the rotation from R to S."""
    trace = 0.0
    for i in range(9):
        trace += R[i] * S[i]
    return 0.5 * (trace - 1.0)


@kernel
def chord(cosine):
    """What makes 2 sin(t / 2) of sin t: 1 / cos(t / 2).  The sine alone is zero at half a turn as well."""
    return 1.0 / sqrt(0.5 * (1.0 + cosine) + HALF_TURN)


@kernel
def column(topo, work, joint, i):
    """Column i of the joint map."""
    h = topo[joint + W_JOINT] + i * JOINT_WORK + J_H
    return load3(work, h), load3(work, h + 3)


@kernel
def factorize_map(topo, work, joint, weight, damping):
    """L D L^T of H H^T, lengths with this weight, whose diagonal grows by the part `damping` of itself."""
    r = topo[joint + DOFS]
    at = topo[joint + W_NODE]
    for i in range(r):
        w, u = column(topo, work, joint, i)
        for s in range(i + 1):
            w2, u2 = column(topo, work, joint, s)
            work[at + i * r + s] = dot(w, w2) + weight * dot(u, u2)
    for i in range(r):
        work[at + i * r + i] *= 1.0 + damping + TINY
    ldlt.factorize(work, at, r)


@kernel
def solve_map(topo, work, joint, weight, w, u):
    """The speeds that fit the twist [w; u] best, at V_JOINT; `factorize_map` must have been called."""
    at = topo[joint + V_JOINT]
    r = topo[joint + DOFS]
    for i in range(r):
        hw, hu = column(topo, work, joint, i)
        work[at + i] = dot(hw, w) + weight * dot(hu, u)
    ldlt.solve(work, topo[joint + W_NODE], r, work, at)


@kernel
def dependence(topo, work, joint, weight):
    """The sum of (|h|^2 / D)^2 over the columns h of the joint map, after `factorize_map` with this weight and no damping.

    D / |h|^2 is the square of the sine between a column and those before it, so the sum is huge where the map is singular.
    """
    r = topo[joint + DOFS]
    total = 0.0
    for i in range(r):
        w, u = column(topo, work, joint, i)
        ratio = (dot(w, w) + weight * dot(u, u)) * work[topo[joint + W_NODE] + i * r + i]
        total += ratio * ratio
    return total


@kernel
def move(topo, const, work, joint):
    """Add the speeds to the coordinates."""
    first = topo[joint + GROUP]
    spare = topo[joint + W_NODE]  # the factorization is no longer needed
    for g in range(first, first + topo[joint + GROUPS] * COLUMNS, COLUMNS):
        if topo[g + G_KIND] == SCREWS and topo[g + G_DOFS] > 1:
            j = topo[g + G_Q]
            for i in range(topo[g + G_DOFS]):
                work[spare + i] = work[j + i]
            screws_rate(topo, const, work, work, work, work, g)
            for i in range(topo[g + G_DOFS]):
                work[j + i] += work[spare + i]
        else:
            group_step(topo, const, work, work, work, 1.0, work, g)
    at = topo[joint + Q_JOINT]
    for i in range(topo[joint + START_SIZE]):
        work[at + i] += NUDGE


@kernel
def recover_coordinates(topo, const, work, c, R, p):
    """Coordinates and map of the joint of closure c from the pose of O_b in O_a; returns what is left of the error.

    This is a rotation, by a vector with its sine and by its cosine, and a displacement, in the axes of O_b.
    """
    joint = topo[c + K_JOINT]
    at = topo[joint + Q_JOINT]
    for i in range(topo[joint + START_SIZE]):
        work[at + i] = const[topo[joint + START] + i]
    return search_coordinates(topo, const, work, joint, R, p)


@kernel
def squared_length(topo, const, joint):
    """The square of a length that is typical of the joint: how far its axes are apart must count, however small it is."""
    return const[topo[joint + START] + topo[joint + START_SIZE]]


@kernel
def search_coordinates(topo, const, work, joint, R, p):
    """`recover_coordinates` of a cut joint from the coordinates at Q_JOINT on."""
    Rj, pj = general_joint_pose(topo, const, work, work, joint)
    weight = LENGTHS / (squared_length(topo, const, joint) + dot(p, p))
    for _ in range(STEPS):
        w = scale(chord(turn_cosine(Rj, R)), skew_part(Rj, R))
        u = mul_t(Rj, sub(p, pj))
        square = dot(w, w) + weight * dot(u, u)
        factorize_map(topo, work, joint, weight, square * square / (FAR + square))
        solve_map(topo, work, joint, weight, w, u)
        move(topo, const, work, joint)
        Rj, pj = general_joint_pose(topo, const, work, work, joint)
    return skew_part(Rj, R), turn_cosine(Rj, R), mul_t(Rj, sub(p, pj))


@kernel
def reflect(work, mirror, x):
    """Reflect the 6 numbers at work[x:] in the vector at work[mirror:]."""
    square = 1e-200  # a zero vector reflects nothing
    along = 0.0
    for i in range(6):
        square += work[mirror + i] * work[mirror + i]
        along += work[mirror + i] * work[x + i]
    s = -2.0 * along / square
    for i in range(6):
        work[x + i] += s * work[mirror + i]


@kernel
def store_mirror(work, x, first, sign):
    """Make the vector at work[x:] the one whose reflection leaves of it, from `first` on, only component `first`.

    That component gets the opposite of `sign`, which is fixed, so that the rows change steadily with the position: a sign
    of the component itself would be that of a rounding error where the component is zero.
    """
    zero(work, x, first)
    rest = 0.0
    for i in range(first + 1, 6):
        rest += work[x + i] * work[x + i]
    lead = sign * work[x + first] + 1e-100
    size = sqrt(lead * lead)
    # lead + sqrt(lead^2 + rest), without cancellation where lead is negative
    work[x + first] = sign * (lead + size + rest / (size + sqrt(lead * lead + rest)))


@kernel
def store_rows(topo, const, work, c, w, u):
    """The rows, at `row_of`, and the twist that the rate of the map adds to accelerations at the relative velocity [w; u].

    They are the complement of the map and of the twists that are free besides it, by Householder's reflections, with lengths in
    the one that is typical of the joint: rows of a small joint that mix rotations and lengths would hide the latter.
    """
    joint = topo[c + K_JOINT]
    mirrors = topo[c + K_ROW]
    dofs = topo[joint + DOFS]
    r = topo[c + K_SPANNED]
    square = squared_length(topo, const, joint)
    per_length = 1.0 / sqrt(square)
    for i in range(r):
        if i < dofs:
            hw, hu = column(topo, work, joint, i)
        else:
            at = topo[c + K_FREED] + 6 * (i - dofs)
            hw, hu = load3(const, at), load3(const, at + 3)
        x = mirrors + 6 * i
        store3(work, x, hw)
        store3(work, x + 3, scale(per_length, hu))
        for s in range(i):
            reflect(work, mirrors + 6 * s, x)
        store_mirror(work, x, i, const[topo[c + K_SIGNS] + i])
    for j in range(r, 6):
        row = mirrors + 6 * j
        zero(work, row, 6)
        work[row + j] = 1.0
        for s in range(r - 1, -1, -1):
            reflect(work, mirrors + 6 * s, row)
        turn, shift = load3(work, row), scale(per_length, load3(work, row + 3))
        unit = 1.0 / sqrt(dot(turn, turn) + dot(shift, shift))
        store3(work, row, scale(unit, turn))
        store3(work, row + 3, scale(unit, shift))
    work[topo[c + K_LEFT] + 7] = fit_speeds(topo, work, joint, mirrors, 1.0 / square, w, u)
    return general_joint_bias(topo, work, work, joint)


@kernel
def fit_speeds(topo, work, joint, spare, weight, w, u):
    """The speeds that fit the twist [w; u] best, at V_JOINT; lengths count as angles do.  Returns the `dependence` of the map.

    The weight of lengths that suits the joint gives all digits of speeds that it allows.  What they leave of the twist, which it
    does not allow, is fitted afterwards.  There is room for the speeds at work[spare:].
    """
    at = topo[joint + V_JOINT]
    factorize_map(topo, work, joint, weight, 0.0)
    dependent = dependence(topo, work, joint, weight)
    solve_map(topo, work, joint, weight, w, u)
    for i in range(topo[joint + DOFS]):
        hw, hu = column(topo, work, joint, i)
        w = sub(w, scale(work[at + i], hw))
        u = sub(u, scale(work[at + i], hu))
        work[spare + i] = work[at + i]
    factorize_map(topo, work, joint, 1.0, 0.0)
    solve_map(topo, work, joint, 1.0, w, u)
    for i in range(topo[joint + DOFS]):
        work[at + i] += work[spare + i]
    return dependent


@kernel
def row_of(topo, work, c, j):
    """Row j of closure c."""
    i = topo[c + K_ROW] + 6 * (topo[c + K_SPANNED] + j)
    return load3(work, i), load3(work, i + 3)
