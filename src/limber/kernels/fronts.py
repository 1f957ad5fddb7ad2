"""Closure rows in the articulated-body sweeps: each is carried inward from its ends and eliminated where they meet.

With lambda the multipliers of the rows that pass through a body, a the acceleration of its frame, and the degrees of freedom
outboard eliminated,

    P a + z - U lambda = f,        U^T a + c + L lambda = 0

f is the force that the joint exerts on the body.  U is what the rows do to the body, L = A M^{-1} A^T of the
bodies outboard (the Omega of Rodriguez, Jain & Kreutz-Delgado), and c what is left of the rows' accelerations.  A degree of
freedom with gain K, pivot D and innovation nu = eps / D has e = H U (and the coefficient of a relation), and

    U <- U - K e,   c <- c + e nu,   L <- L + e e^T / D,     vdot = nu - K . a + (e / D) lambda

A row moves only what is between its ends.  At the body where the paths from its ends meet, once its modes are
eliminated, L therefore has the rank of A, and the rows of the closure are eliminated there:

    lambda_i = -(U_i . a + c_i + sum_j L_ij lambda_j) / L_ii,   P <- P + U_i U_i^T / L_ii, ...

Rows of one body are thus never in the way of other bodies: the cost is linear in the number of bodies if the number
of rows that pass through each is bounded, however many loops there are.  Rows that meet nowhere outboard of the body
where they are eliminated have L_ij = 0 there, which is neither stored nor computed.

Many rows may end on one body, as those of arms that hold one object do.  What they do to this hub are combinations C of
its 6 + m motions, and these take the place of the rows from the hub inward: row b of a hub has a unit wrench, or a
unit force on a mode.  Where row i is eliminated, its other end has brought its own U_i, c_i and L_ij.  It then takes the
hub's part over (`take_over`):

    row_i <- row_i + sum_b C_ib row_b   of U, c and L (its rows and columns),     lambda_b <- lambda_b + C_ib lambda_i

A row of a hub is not eliminated: its multiplier is the sum of what the rows on this hub exert.  The pivots are those that
the rows would have without it, but k arms on one object cost k times as much as one.

Rows may depend on each other.  Then a pivot is zero except for rounding, and so is c; 1 / L_ii is replaced by
`inverse`, which goes to zero there, so that the multiplier of that row is zero.  What is rounding follows from the
sizes S of the rows: what L_ii would be if nothing cancelled, and, once another row is eliminated, the error that it
leaves, S_i <- S_i + (L_ij / L_jj)^2 S_j.  A row that moves nothing at all, as that of a second bearing on one shaft, has
e = H U = 0 except for rounding; so the fraction ROUNDING of the squares of H and U counts for its size.  The moment of a force
whose place is known to rounding alone is no better known, which the fraction BLUR of the squares of the distances that make up
the place stands for: a second ball joint at the centre of another one moves nothing.

Cost      14 + n / 2 multiplications for each of n rows and each degree of freedom, 30 more for each row and body;
          100 + 16 n for each of n rows of a closure that is eliminated next to a rigid hub
"""

from .forces import force_to_joint
from .hubs import add_u, start_hub, take_over
from .inertia import downdate, load_inertia, store_inertia
from .joints import joint_row, joint_square
from .layout import (
    ATTACHED,
    BIAS,
    COLUMNS,
    D_PIVOTS,
    DOFS,
    DRIVEN,
    END,
    F_DONE,
    F_ERRORS,
    F_MOTIONS,
    F_ON,
    F_ROW,
    F_ROWS,
    F_SHARED,
    F_SQUARES,
    F_STRIDE,
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
    R_END,
    R_OWN,
    R_TAIL,
    RIGIDLY,
    ROT,
    ROW_RECORD,
    W_C,
    W_DF,
    W_E,
    W_ERRORS,
    W_FRONTS,
    W_INBOARD,
    W_JOINT,
    W_L,
    W_LAMBDA,
    W_MU,
    W_NODE,
    W_NS,
    W_PATH,
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
#: The part of the square of a wrench that is added to the square of what a joint feels of it: what a joint feels of a row
#: counts as zero below the root of DEPENDENT * ROUNDING, 1e-12, of the wrench.
ROUNDING = 1e-12
#: The part of the squares of the distances, from the origin to the bodies of a closure and from these to its ends, that is added
#: to the square of the lever of its forces, so that levers below 1e-14 of these distances count as zero.
BLUR = 1e-4


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
    """Zero the fronts, and start those of the hubs."""
    zero(work, topo[W_FRONTS], topo[W_LAMBDA] - topo[W_FRONTS])
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + FRONT] != 0 and topo[topo[k + FRONT] + F_MOTIONS] != 0:
            start_hub(topo, work, k)


@kernel
def add_wrench(topo, work, front, j, moment, force, blur):
    """Add a wrench to U of row j of a front.

    `blur` is added to the square of its moment where rounding is made of it, and its part ROUNDING where sizes are.
    """
    at = topo[front + W_U] + 6 * j
    accumulate3(work, at, moment)
    accumulate3(work, at + 3, force)
    turns, pulls = dot(moment, moment), dot(force, force)
    at = topo[front + W_PATH] + 2 * j
    work[at] += turns + blur
    work[at + 1] += pulls
    if topo[front + F_SQUARES] != 0:
        at = topo[front + W_NS] + 2 * j
        work[at] += turns + ROUNDING * blur
        work[at + 1] += pulls


@kernel
def add_mobility(topo, work, front, x, d):
    """L_ij += x_i x_j d for i <= j; all rows must be in one part (`assembly.loops`)."""
    n = topo[front + F_ROWS]
    for i in range(n):
        s = work[x + i] * d
        row = topo[front + W_L] + i * topo[front + F_STRIDE]
        for j in range(i, n):
            work[row + j] += s * work[x + j]


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
        add_mobility(topo, work, front, x, d)
        for j in range(n):
            work[topo[front + W_SIZE] + j] += work[topo[front + W_US] + r * n + j] * d
            work[x + j] *= d


@kernel
def eliminate_from(topo, work, front, i, j, g):
    """Subtract g times row i of a front from U and c of row j; at the world, U is no longer needed."""
    c = topo[front + W_C]
    if front != topo[FRONT]:
        add_u(work, topo[front + W_U], j, i, -g)
    work[c + j] -= g * work[c + i]


@kernel
def add_errors(topo, work, front, tail, d, error):
    """The errors that a row with the entries tail[j] of L, the pivot 1/d and its own size `error` leaves in hubs.

    They are a matrix, because the row leaves one error in all motions of a hub: other rows on it have sums of these.
    """
    n, first = topo[front + F_ROWS], topo[front + F_DONE]
    for j in range(first, n):
        g = work[tail + j] * d * d * error
        e = topo[front + W_ERRORS] + (j - first) * (n - first) - first
        for s in range(j, n):
            work[e + s] += g * work[tail + s]


@kernel
def settle_errors(topo, work, front):
    """Add to the sizes of the rows that are not eliminated the errors that those that are have left."""
    t = topo[front + F_ROWS] - topo[front + F_DONE]
    at = topo[front + W_SIZE] + topo[front + F_DONE]
    for j in range(t):
        work[at + j] += work[topo[front + W_ERRORS] + j * (t + 1)]


@kernel
def eliminate_among_rows(topo, work, front, i):
    """Eliminate row i, with 1/D in place of L_ii, from c, L and U of the rows after it.

    Row i of L ends as the gains; U and c of row i are left as they are.  Returns 1/D.
    """
    n, first = topo[front + F_ROWS], topo[front + F_DONE]
    row = topo[front + F_ROW] + i * ROW_RECORD
    end, own, tail = topo[row + R_END], topo[row + R_OWN], topo[row + R_TAIL]
    d = work[own + i]
    size = topo[front + W_SIZE]
    error = work[size + i]
    if topo[front + F_ERRORS] != 0:
        add_errors(topo, work, front, tail, d, error)
    for j in range(i + 1, end):
        g = work[own + j] * d
        eliminate_from(topo, work, front, i, j, g)
        work[size + j] += g * g * error
        row += ROW_RECORD
        for s in range(j, end):
            work[topo[row + R_OWN] + s] -= g * work[own + s]
        for s in range(first, n):
            work[topo[row + R_TAIL] + s] -= g * work[tail + s]
    for j in range(first, n):
        g = work[tail + j] * d
        eliminate_from(topo, work, front, i, j, g)
        if topo[front + F_ERRORS] == 0:
            work[size + j] += g * g * error
        row = topo[front + W_L] + j * topo[front + F_STRIDE]
        for s in range(j, n):
            work[row + s] -= g * work[tail + s]
    for j in range(i + 1, end):
        work[own + j] *= d
    for j in range(first, n):
        work[tail + j] *= d
    return d


@kernel
def invert_pivot(topo, work, front, i):
    """Put 1/D of row i of a front in place of its pivot, once all rows before it are eliminated."""
    take_over(topo, work, front, i)
    at = topo[topo[front + F_ROW] + i * ROW_RECORD + R_OWN] + i
    work[at] = inverse(work[at], work[topo[front + W_SIZE] + i])


@kernel
def eliminate_rows(topo, work, k, p):
    """Eliminate the rows that end at body k from P_R at work[p:], z_R in Z and its other rows."""
    front = topo[k + FRONT]
    b = topo[k + WORK]
    u, c = topo[front + W_U], topo[front + W_C]
    A, B, C = load_inertia(work, p)
    moment, force = load3(work, b + Z), load3(work, b + Z + 3)
    for i in range(topo[front + F_DONE]):
        invert_pivot(topo, work, front, i)
        d = eliminate_among_rows(topo, work, front, i)
        un, uf = load3(work, u + 6 * i), load3(work, u + 6 * i + 3)
        gn, gf = scale(d, un), scale(d, uf)
        A, B, C = downdate(A, B, C, scale(-1.0, gn), scale(-1.0, gf), un, uf)
        moment = axpy(work[c + i], gn, moment)
        force = axpy(work[c + i], gf, force)
        store3(work, u + 6 * i, gn)
        store3(work, u + 6 * i + 3, gf)
        work[c + i] *= d
    if topo[front + F_ERRORS] != 0:
        settle_errors(topo, work, front)
    store_inertia(work, p, A, B, C)
    store3(work, b + Z, moment)
    store3(work, b + Z + 3, force)


@kernel
def rows_to_parent(topo, work, k):
    """Carry the rows that continue from body k past its joint, which was eliminated, to the front of its parent.

    E ends as e / D.  Fronts that share their blocks need no copies.  A driven joint (`driven`) moves as prescribed, so
    it adds nothing to L, and E keeps e.
    """
    front = topo[k + FRONT]
    n, first = topo[front + F_ROWS], topo[front + F_ON]
    onto = topo[topo[k + PARENT] + FRONT]
    rows = topo[onto + F_ROWS]
    b = topo[k + WORK]
    up = topo[front + F_UP] - first
    e, dofs = topo[front + W_E], topo[k + DOFS]
    free = dofs if topo[k + DRIVEN] == 0 else 0
    pivots = topo[k + W_PIVOTS] + D_PIVOTS
    R = load9(work, b + ROT)
    bias_n, bias_f = load3(work, b + BIAS), load3(work, b + BIAS + 3)
    o = load3(work, b + ORIGIN)
    for j in range(first, n):
        t = topo[up + j]
        at = topo[front + W_U] + 6 * j
        moment, force = load3(work, at), load3(work, at + 3)
        c, size = work[topo[front + W_C] + j], work[topo[front + W_SIZE] + j]
        past = topo[front + W_PATH] + 2 * j
        turns, pulls = work[past], work[past + 1]
        for r in range(dofs):
            i = topo[k + W_JOINT] + r * JOINT_WORK
            x = work[e + r * n + j] + joint_row(topo, work, k, r, moment, force)
            work[e + r * n + j] = x
            moment = axpy(-x, load3(work, i + J_K), moment)
            force = axpy(-x, load3(work, i + J_K + 3), force)
            c += x * work[i + J_NU]
            if free != 0:
                rounding = ROUNDING * joint_square(topo, work, k, r, turns, pulls)
                size += (x * x + rounding) * work[pivots + r]
        c += dot(moment, bias_n) + dot(force, bias_f)
        moment, force = mul(R, moment), mul(R, force)
        if topo[k + ATTACHED] != RIGIDLY:
            i = topo[k + W_NODE]
            for r in range(topo[k + MOVED_BY]):
                turn, shift = load3(work, i + 6 * r), load3(work, i + 6 * r + 3)
                x = dot(turn, moment) + dot(shift, force)
                rounding = ROUNDING * (dot(turn, turn) * turns + dot(shift, shift) * pulls)
                work[topo[onto + W_UF] + r * rows + t] += x
                work[topo[onto + W_US] + r * rows + t] += x * x + rounding
        lever = cross(o, force)
        moment = add(moment, lever)
        if topo[onto + F_SHARED] != 0:
            zero(work, at, 6)
            zero(work, topo[onto + W_NS] + 2 * j, 2)
            work[topo[onto + W_C] + j] = c
            work[topo[onto + W_SIZE] + j] = size
        else:
            work[topo[onto + W_C] + t] += c
            work[topo[onto + W_SIZE] + t] += size
            past = topo[onto + W_PATH] + 2 * t
            work[past] += turns
            work[past + 1] += pulls
        work[past] += dot(lever, lever)
        add_wrench(topo, work, onto, t, moment, force, 0.0)
    if topo[onto + F_SHARED] != 0:
        for r in range(free):
            add_mobility(topo, work, front, e + r * n, work[pivots + r])
    else:
        mobility_to_parent(topo, work, k, free)
    for r in range(free):
        for j in range(first, n):
            work[e + r * n + j] *= work[pivots + r]


@kernel
def mobility_to_parent(topo, work, k, free):
    """Add L of the rows that go on from body k, with what the `free` speeds of its joint add, to that of its parent."""
    front = topo[k + FRONT]
    n, first = topo[front + F_ROWS], topo[front + F_ON]
    onto = topo[topo[k + PARENT] + FRONT]
    up = topo[front + F_UP] - first
    e, pivots = topo[front + W_E], topo[k + W_PIVOTS] + D_PIVOTS
    for j in range(first, n):
        row = topo[onto + F_ROW] + topo[up + j] * ROW_RECORD
        at = topo[front + W_L] + j * topo[front + F_STRIDE]
        for s in range(j, n):
            x = work[at + s]
            for r in range(free):
                x += work[e + r * n + j] * work[pivots + r] * work[e + r * n + s]
            t = topo[up + s]
            if t < topo[row + R_END]:
                work[topo[row + R_OWN] + t] += x
            else:
                work[topo[row + R_TAIL] + t] += x


@kernel
def eliminate_at_world(topo, work, w, u):
    """Eliminate the rows that end at the world, which has the acceleration [w; u]: c of all rows takes it over from U."""
    front = topo[FRONT]
    c = topo[front + W_C]
    for i in range(topo[front + F_ROWS]):
        at = topo[front + W_U] + 6 * i
        work[c + i] += dot(load3(work, at), w) + dot(load3(work, at + 3), u)
    for i in range(topo[front + F_DONE]):
        invert_pivot(topo, work, front, i)
        work[c + i] *= eliminate_among_rows(topo, work, front, i)
    if topo[front + F_ERRORS] != 0:
        settle_errors(topo, work, front)
