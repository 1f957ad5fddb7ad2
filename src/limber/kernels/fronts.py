"""Closure rows in the articulated-body sweeps: each is carried inward from its ends and eliminated where they meet.

With lambda the multipliers of the rows that pass through a body, a the acceleration of its frame, and the freedoms
outboard eliminated,

    P a + z - U lambda = f,        U^T a + c + L lambda = 0

f is the force that the joint exerts on the body.  U is what the rows do to the body, L = A M^{-1} A^T of the
freedoms outboard (the Omega of Rodriguez, Jain & Kreutz-Delgado), and c what is left of the rows' accelerations.  A
freedom with gain K, pivot D and innovation nu = eps / D has e = H U (and the coefficient of a relation), and

    U <- U - K e,   c <- c + e nu,   L <- L + e e^T / D,     vdot = nu - K . a + (e / D) lambda

A row moves only what is between its ends.  At the body where the paths from its ends meet, once its modes are
eliminated, L therefore has the rank of A, and the rows of the closure are eliminated there:

    lambda_i = -(U_i . a + c_i + sum_j L_ij lambda_j) / L_ii,   P <- P + U_i U_i^T / L_ii, ...

Rows of one body are thus never in the way of other bodies: the cost is linear in the number of bodies if the number
of rows that pass through each is bounded, however many loops there are.

Rows may depend on each other.  Then a pivot is zero but for rounding, and c is so too; 1 / L_ii is replaced by
`inverse`, which goes to zero there, so that the multiplier of that row is zero.  What is rounding follows from the
sizes S of the rows: what L_ii would be if nothing cancelled, and, once another row is eliminated, the error that it
leaves, S_i <- S_i + (L_ij / L_jj)^2 S_j.

Cost      30 + n multiplications for each of n rows and each freedom, 42 more for each row and body
"""

from .forces import force_to_joint
from .inertia import downdate, load_inertia, store_inertia
from .joints import joint_row
from .layout import (
    ATTACHED,
    BIAS,
    COLUMNS,
    D_PIVOTS,
    DOFS,
    END,
    F_DONE,
    F_LIST,
    F_ROWS,
    F_UP,
    FRONT,
    I_BIAS,
    I_SHAPES,
    J_K,
    J_NU,
    JOINT_WORK,
    MODAL,
    MODES,
    MOVED_BY,
    ORIGIN,
    PARENT,
    RIGIDLY,
    ROT,
    W_C,
    W_DF,
    W_E,
    W_INBOARD,
    W_JOINT,
    W_L,
    W_LAMBDA,
    W_MU,
    W_NODE,
    W_NS,
    W_PIVOTS,
    W_SIZE,
    W_U,
    W_UF,
    W_US,
    W_ZF,
    WORK,
    Z,
)
from .scalar import kernel
from .vec import accumulate3, add, axpy, cross, dot, load3, load9, mul, scale, store3, zero

#: A pivot of a row below this part of its size counts as zero.
DEPENDENT = 1e-12


@kernel
def inverse(d, size):
    """1/d of a pivot d >= 0; zero if d is far below DEPENDENT * size, with a smooth passage: d^7 / (d^8 + small^8).

    The passage is steep, so that next to singular positions pivots down to 10 DEPENDENT have their full effect.
    """
    small = DEPENDENT * size
    square = d * d
    fourth = square * square
    limit = small * small
    limit = limit * limit
    # 1e-300 makes it zero where a row moves nothing at all
    return d * square * fourth / (fourth * fourth + limit * limit + 1e-300)


@kernel
def clear(topo, work):
    """Zero the fronts."""
    for k in range(0, topo[END], COLUMNS):
        front = topo[k + FRONT]
        if front != 0:
            n = topo[front + F_ROWS]
            zero(work, topo[front + W_U], 6 * n)
            zero(work, topo[front + W_UF], topo[k + MODES] * n)
            zero(work, topo[front + W_E], topo[k + DOFS] * n)
            zero(work, topo[front + W_L], n * n)
            zero(work, topo[front + W_C], n)
            zero(work, topo[front + W_SIZE], n)
            zero(work, topo[front + W_US], topo[k + MODES] * n)
            zero(work, topo[front + W_NS], 2 * n)


@kernel
def add_wrench(topo, work, front, j, moment, force):
    """Add a wrench to U of row j of a front."""
    at = topo[front + W_U] + 6 * j
    accumulate3(work, at, moment)
    accumulate3(work, at + 3, force)
    at = topo[front + W_NS] + 2 * j
    work[at] += dot(moment, moment)
    work[at + 1] += dot(force, force)


@kernel
def add_mobility(work, at, first, n, x, d):
    """L_ij += x_i x_j d for i <= j from `first` on."""
    for i in range(first, n):
        s = work[x + i] * d
        for j in range(i, n):
            work[at + i * n + j] += s * work[x + j]


@kernel
def rows_to_joint(topo, work, k):
    """Refer the rows of body k to its deforming inboard node, as `forces.bias_to_joint` does with forces."""
    front = topo[k + FRONT]
    n = topo[front + F_ROWS]
    i = topo[k + W_INBOARD]
    for j in range(n):
        at = topo[front + W_U] + 6 * j
        moment, force = load3(work, at), load3(work, at + 3)
        work[topo[front + W_C] + j] += dot(moment, load3(work, i + I_BIAS)) + dot(
            force, load3(work, i + I_BIAS + 3)
        )
        for r in range(topo[k + MODES]):
            s = i + I_SHAPES + 6 * r
            turn, shift = load3(work, s), load3(work, s + 3)
            work[topo[front + W_UF] + r * n + j] -= dot(moment, turn) + dot(force, shift)
            squares = topo[front + W_NS] + 2 * j
            work[topo[front + W_US] + r * n + j] += (
                dot(turn, turn) * work[squares] + dot(shift, shift) * work[squares + 1]
            )
        moment, force = force_to_joint(topo, work, k, moment, force)
        store3(work, at, moment)
        store3(work, at + 3, force)


@kernel
def rows_past_modes(topo, work, k):
    """What the elimination of the modes of body k does to its rows.  UF ends as e / D."""
    front = topo[k + FRONT]
    n = topo[front + F_ROWS]
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    u, uf, c = topo[front + W_U], topo[front + W_UF], topo[front + W_C]
    for r in range(m):
        row = topo[modal + W_DF] + r * m
        gain = topo[modal + W_MU] + 6 * r
        kn, kf = load3(work, gain), load3(work, gain + 3)
        nu = work[topo[modal + W_ZF] + r]
        x = uf + r * n
        for j in range(n):
            e = work[x + j]
            for s in range(r + 1, m):
                work[uf + s * n + j] -= work[row + s] * e
            at = u + 6 * j
            store3(work, at, axpy(-e, kn, load3(work, at)))
            store3(work, at + 3, axpy(-e, kf, load3(work, at + 3)))
            work[c + j] += e * nu
        d = work[row + r]
        add_mobility(work, topo[front + W_L], 0, n, x, d)
        for j in range(n):
            work[topo[front + W_SIZE] + j] += work[topo[front + W_US] + r * n + j] * d
            work[x + j] *= d


@kernel
def eliminate_among_rows(topo, work, front, i):
    """Eliminate row i from c, L and U of the rows after it.  Row i of L and its U and c end as the gains; returns 1/D."""
    n = topo[front + F_ROWS]
    u, c, row = topo[front + W_U], topo[front + W_C], topo[front + W_L] + i * n
    d = work[row + i]
    un, uf = load3(work, u + 6 * i), load3(work, u + 6 * i + 3)
    for j in range(i + 1, n):
        x = work[row + j]
        g = x * d
        at = u + 6 * j
        store3(work, at, axpy(-g, un, load3(work, at)))
        store3(work, at + 3, axpy(-g, uf, load3(work, at + 3)))
        work[c + j] -= g * work[c + i]
        work[topo[front + W_SIZE] + j] += g * g * work[topo[front + W_SIZE] + i]
        for s in range(j, n):
            work[topo[front + W_L] + j * n + s] -= g * work[row + s]
    for j in range(i + 1, n):
        work[row + j] *= d
    return d


@kernel
def eliminate_rows(topo, work, k, p):
    """Eliminate the rows that end at body k from P_R at work[p:], z_R in Z and its other rows."""
    front = topo[k + FRONT]
    n = topo[front + F_ROWS]
    b = topo[k + WORK]
    u, c = topo[front + W_U], topo[front + W_C]
    A, B, C = load_inertia(work, p)
    moment, force = load3(work, b + Z), load3(work, b + Z + 3)
    for i in range(topo[front + F_DONE]):
        pivot = topo[front + W_L] + i * n + i
        work[pivot] = inverse(work[pivot], work[topo[front + W_SIZE] + i])
        d = eliminate_among_rows(topo, work, front, i)
        un, uf = load3(work, u + 6 * i), load3(work, u + 6 * i + 3)
        gn, gf = scale(d, un), scale(d, uf)
        A, B, C = downdate(A, B, C, scale(-1.0, gn), scale(-1.0, gf), un, uf)
        moment = axpy(work[c + i], gn, moment)
        force = axpy(work[c + i], gf, force)
        store3(work, u + 6 * i, gn)
        store3(work, u + 6 * i + 3, gf)
        work[c + i] *= d
    store_inertia(work, p, A, B, C)
    store3(work, b + Z, moment)
    store3(work, b + Z + 3, force)


@kernel
def rows_past_joint(topo, work, k):
    """What the elimination of the joint of body k does to its rows.  E ends as e / D."""
    front = topo[k + FRONT]
    n, first = topo[front + F_ROWS], topo[front + F_DONE]
    u, c = topo[front + W_U], topo[front + W_C]
    for r in range(topo[k + DOFS]):
        i = topo[k + W_JOINT] + r * JOINT_WORK
        kn, kf = load3(work, i + J_K), load3(work, i + J_K + 3)
        nu = work[i + J_NU]
        x = topo[front + W_E] + r * n
        for j in range(first, n):
            at = u + 6 * j
            moment, force = load3(work, at), load3(work, at + 3)
            e = work[x + j] + joint_row(topo, work, k, r, moment, force)
            work[x + j] = e
            store3(work, at, axpy(-e, kn, moment))
            store3(work, at + 3, axpy(-e, kf, force))
            work[c + j] += e * nu
        d = work[topo[k + W_PIVOTS] + D_PIVOTS + r]
        add_mobility(work, topo[front + W_L], first, n, x, d)
        for j in range(first, n):
            work[topo[front + W_SIZE] + j] += work[x + j] * work[x + j] * d
            work[x + j] *= d


@kernel
def rows_to_parent(topo, work, k):
    """Carry the rows that go on from body k to the front of its parent."""
    front = topo[k + FRONT]
    n, first = topo[front + F_ROWS], topo[front + F_DONE]
    p = topo[k + PARENT]
    onto = topo[p + FRONT]
    rows = topo[onto + F_ROWS]
    b = topo[k + WORK]
    up = topo[front + F_UP] - first
    R = load9(work, b + ROT)
    bias_n, bias_f = load3(work, b + BIAS), load3(work, b + BIAS + 3)
    o = load3(work, b + ORIGIN)
    for j in range(first, n):
        t = topo[up + j]
        at = topo[front + W_U] + 6 * j
        moment, force = load3(work, at), load3(work, at + 3)
        work[topo[onto + W_C] + t] += (
            work[topo[front + W_C] + j] + dot(moment, bias_n) + dot(force, bias_f)
        )
        work[topo[onto + W_SIZE] + t] += work[topo[front + W_SIZE] + j]
        moment, force = mul(R, moment), mul(R, force)
        if topo[k + ATTACHED] != RIGIDLY:
            i = topo[k + W_NODE]
            for r in range(topo[k + MOVED_BY]):
                work[topo[onto + W_UF] + r * rows + t] += dot(load3(work, i + 6 * r), moment) + dot(
                    load3(work, i + 6 * r + 3), force
                )
        add_wrench(topo, work, onto, t, add(moment, cross(o, force)), force)
        for s in range(j, n):
            work[topo[onto + W_L] + t * rows + topo[up + s]] += work[topo[front + W_L] + j * n + s]


@kernel
def multipliers_at(topo, work, k, w, u):
    """lambda of the rows that are eliminated at body k, given its acceleration [w; u] and the other multipliers."""
    front = topo[k + FRONT]
    n = topo[front + F_ROWS]
    lam = topo[W_LAMBDA]
    for i in range(topo[front + F_DONE] - 1, -1, -1):
        at = topo[front + W_U] + 6 * i
        x = work[topo[front + W_C] + i] + dot(load3(work, at), w) + dot(load3(work, at + 3), u)
        for j in range(i + 1, n):
            x += work[topo[front + W_L] + i * n + j] * work[lam + topo[topo[front + F_LIST] + j]]
        work[lam + topo[topo[front + F_LIST] + i]] = -x


@kernel
def solve_at_world(topo, work, w, u):
    """lambda of the rows that are eliminated at the world, which has the acceleration [w; u]."""
    front = topo[FRONT]
    if front != 0:
        n = topo[front + F_ROWS]
        for i in range(n):
            pivot = topo[front + W_L] + i * n + i
            work[pivot] = inverse(work[pivot], work[topo[front + W_SIZE] + i])
            d = eliminate_among_rows(topo, work, front, i)
            at = topo[front + W_U] + 6 * i
            store3(work, at, scale(d, load3(work, at)))
            store3(work, at + 3, scale(d, load3(work, at + 3)))
            work[topo[front + W_C] + i] *= d
        multipliers_at(topo, work, 0, w, u)


@kernel
def drive_joint(topo, work, k):
    """Add what the multipliers do to the innovations of the joint of body k."""
    front = topo[k + FRONT]
    n = topo[front + F_ROWS]
    for r in range(topo[k + DOFS]):
        x = 0.0
        for j in range(topo[front + F_DONE], n):
            x += (
                work[topo[front + W_E] + r * n + j]
                * work[topo[W_LAMBDA] + topo[topo[front + F_LIST] + j]]
            )
        work[topo[k + W_JOINT] + r * JOINT_WORK + J_NU] += x


@kernel
def drive_modes(topo, work, k):
    """Add what the multipliers do to the innovations of the modes of body k."""
    front = topo[k + FRONT]
    n = topo[front + F_ROWS]
    for r in range(topo[k + MODES]):
        x = 0.0
        for j in range(n):
            x += (
                work[topo[front + W_UF] + r * n + j]
                * work[topo[W_LAMBDA] + topo[topo[front + F_LIST] + j]]
            )
        work[topo[topo[k + MODAL] + W_ZF] + r] += x
