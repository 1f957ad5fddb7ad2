"""Forward dynamics of ruthlessly linearized systems: D_f is inverted once, before run time.

The geometry and M_m of a ruthless body are constants, so its modes can be eliminated beforehand.
With Gamma the stacked articulated inertias of the children at their nodes, zeta the node maps, Lambda = M_ff^{-1},
Y = Lambda zeta^T, Omega = zeta Y (Jain & Rodriguez, Eqs. (77), (78)) and phi the lever arms from the body frame to the nodes,

    W    = (Gamma^{-1} + Omega)^{-1}                      N = phi - M_rf Y
    P_R  = M_rr - M_rf Lambda M_fr + N W N^T
    z_R  = z_r + M_rf Lambda eps + N (z_t + W (Y^T eps - Omega z_t)),     eps = T_f - z_f
    f_t  = z_t + W (N^T alpha + Y^T eps - Omega z_t)
    eta_dd = Lambda eps - Lambda M_fr alpha - Y f_t

which is (63), (64) with (77) inserted and all constants multiplied out.  W comes from Gamma by
rank-one steps along the columns of C, Omega = C C^T: u = Gamma c, Gamma <- Gamma - u u^T/(1 + c.u),
so that a singular Gamma (a tip, a free hinge) needs no special case.

Given, computes, sweeps: as in `articulated`
Cost      about 1300 multiplications for a body with one such child and 3 m^2 + 43 m more for m modes,
          the m^2 for K eta, D eta_dot and Lambda eps only
"""

from .articulated import eliminate_joint, joint_accelerations, note_size
from .forces import apply_external, force_to_parent, inertia_to_parent
from .inertia import (
    apply_inertia,
    column,
    downdate,
    load_inertia,
    shift_force,
    shift_inertia,
    store_inertia,
)
from .layout import (
    ACC,
    ARM,
    ATTACHED,
    COLUMNS,
    END,
    LOADS,
    M_N0,
    MODAL,
    MODES,
    OMEGA,
    PARENT,
    PRE_C,
    PRE_LAMBDA,
    PRE_LM,
    PRE_N,
    PRE_OMEGA,
    PRE_P,
    PRE_Y,
    RANK,
    RIGIDLY,
    SCRATCH,
    SLOT,
    V_MODES,
    W_GAMMA,
    W_LOAD,
    W_LOAD_SPARE,
    W_ZF,
    WORK,
    P,
    Z,
)
from .modal import rigid_mass_and_bias, store_modal_force
from .motion import carry, start_world, turn_and_bias, world_place
from .placement import place
from .scalar import kernel
from .vec import (
    accumulate3,
    add,
    axpy,
    dot,
    load3,
    neg,
    scale,
    store3,
    zero,
)


@kernel
def start_body(topo, const, work, q, v, k):
    """Compute P, Z, ZF of body k without its children, and clear its loads."""
    rigid_mass_and_bias(topo, const, work, k)
    m = topo[k + MODES]
    if m > 0:
        b = topo[k + WORK]
        modal = topo[k + MODAL]
        i = topo[modal + PRE_P]
        for r in range(21):
            work[b + P + r] = const[i + r]
        w = load3(work, b + OMEGA)
        store_modal_force(topo, const, work, q, v, k, w, const, topo[modal + M_N0])
        size = 6 * topo[modal + LOADS]
        zero(work, topo[modal + W_GAMMA], size * size)
        zero(work, topo[modal + W_LOAD], size)


@kernel
def load_node(topo, work, k):
    """Add the inertia (SCRATCH) and force (Z) at the joint of body k, parent axes, to its node of the parent."""
    p = topo[k + PARENT]
    b = topo[k + WORK]
    arm = load3(work, b + ARM)
    A, B, C = load_inertia(work, b + SCRATCH)
    A, B, C = shift_inertia(arm, A, B, C)
    n, f = shift_force(arm, load3(work, b + Z), load3(work, b + Z + 3))
    modal = topo[p + MODAL]
    size = 6 * topo[modal + LOADS]
    slot = 6 * topo[k + SLOT]
    i = topo[modal + W_GAMMA] + slot * size + slot
    for r in range(6):
        u, g = column(A, B, C, r)
        store3(work, i + r * size, u)
        store3(work, i + r * size + 3, g)
    z = topo[modal + W_LOAD] + slot
    store3(work, z, n)
    store3(work, z + 3, f)


@kernel
def load_square(a, i):
    """The symmetric 6 x 6 matrix at a[i:], by rows, as an inertia."""
    return (
        (a[i], a[i + 1], a[i + 2], a[i + 7], a[i + 8], a[i + 14]),
        (
            a[i + 3],
            a[i + 4],
            a[i + 5],
            a[i + 9],
            a[i + 10],
            a[i + 11],
            a[i + 15],
            a[i + 16],
            a[i + 17],
        ),
        (a[i + 21], a[i + 22], a[i + 23], a[i + 28], a[i + 29], a[i + 35]),
    )


@kernel
def soften_one(const, c, rank, work, w):
    """`soften` for a single load, in registers."""
    A, B, C = load_square(work, w)
    for step in range(rank):
        x = load3(const, c + 6 * step)
        y = load3(const, c + 6 * step + 3)
        u, g = apply_inertia(A, B, C, x, y)
        d = 1.0 / (1.0 + dot(x, u) + dot(y, g))
        A, B, C = downdate(A, B, C, scale(d, u), scale(d, g), u, g)
    for r in range(6):
        u, g = column(A, B, C, r)
        store3(work, w + 6 * r, u)
        store3(work, w + 6 * r + 3, g)


@kernel
def soften(const, c, rank, work, w, u, size):
    """Gamma at work[w:] becomes W = (Gamma^{-1} + C C^T)^{-1}; the columns of C at const[c:], scratch at work[u:]."""
    for step in range(rank):
        x = c + step * size
        d = 1.0
        for r in range(size):
            y = 0.0
            for s in range(size):
                y += work[w + r * size + s] * const[x + s]
            work[u + r] = y
            d += y * const[x + r]
        d = 1.0 / d
        for r in range(size):
            y = d * work[u + r]
            for s in range(size):
                work[w + r * size + s] -= y * work[u + s]


@kernel
def six_rows(S, i, size, x, j, r):
    """Rows r .. r + 5 of S x as (angular, linear): S symmetric at S[i:], x at x[j:]."""
    n = (0.0, 0.0, 0.0)
    f = (0.0, 0.0, 0.0)
    for s in range(size):
        n = axpy(x[j + s], load3(S, i + s * size + r), n)
        f = axpy(x[j + s], load3(S, i + s * size + r + 3), f)
    return n, f


@kernel
def eliminate_modes(topo, const, work, tau, k):
    """P_R and z_R of body k: eliminate the modes, and the loads on the nodes that they move, from P and Z.

    Leaves eps in ZF and z_t + W (Y^T eps - Omega z_t) in the loads' force.
    """
    b = topo[k + WORK]
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    size = 6 * topo[modal + LOADS]
    zf = topo[modal + W_ZF]
    lm = topo[modal + PRE_LM]
    Y = topo[modal + PRE_Y]
    N = topo[modal + PRE_N]
    omega = topo[modal + PRE_OMEGA]
    W = topo[modal + W_GAMMA]
    z = topo[modal + W_LOAD]
    x = topo[modal + W_LOAD_SPARE]
    n = load3(work, b + Z)
    f = load3(work, b + Z + 3)
    for r in range(m):
        eps = tau[topo[k + V_MODES] + r] - work[zf + r]
        work[zf + r] = eps
        n = axpy(eps, load3(const, lm + 6 * r), n)
        f = axpy(eps, load3(const, lm + 6 * r + 3), f)
    if size > 0:
        if size == 6:
            soften_one(const, topo[modal + PRE_C], topo[modal + RANK], work, W)
        else:
            soften(const, topo[modal + PRE_C], topo[modal + RANK], work, W, x, size)
        # x = Y^T eps - Omega z_t
        for s in range(0, size, 6):
            u, g = six_rows(const, omega, size, work, z, s)
            u = neg(u)
            g = neg(g)
            for r in range(m):
                eps = work[zf + r]
                u = axpy(eps, load3(const, Y + r * size + s), u)
                g = axpy(eps, load3(const, Y + r * size + s + 3), g)
            store3(work, x + s, u)
            store3(work, x + s + 3, g)
        for s in range(0, size, 6):
            u, g = six_rows(work, W, size, work, x, s)
            u = add(u, load3(work, z + s))
            g = add(g, load3(work, z + s + 3))
            store3(work, z + s, u)
            store3(work, z + s + 3, g)
        for s in range(size):
            n = axpy(work[z + s], load3(const, N + 6 * s), n)
            f = axpy(work[z + s], load3(const, N + 6 * s + 3), f)
        add_congruence(const, N, work, W, size, b + P)
    store3(work, b + Z, n)
    store3(work, b + Z + 3, f)


@kernel
def add_congruence(const, N, work, W, size, p):
    """P += N W N^T, with the columns of N at const[N:], six numbers each."""
    A, B, C = load_inertia(work, p)
    for s in range(size):
        # column s of N W, as a sum of columns of N; then its outer product with column s of N
        u = (0.0, 0.0, 0.0)
        g = (0.0, 0.0, 0.0)
        for r in range(size):
            y = work[W + s * size + r]
            u = axpy(y, load3(const, N + 6 * r), u)
            g = axpy(y, load3(const, N + 6 * r + 3), g)
        a = load3(const, N + 6 * s)
        e = load3(const, N + 6 * s + 3)
        A = (
            A[0] + u[0] * a[0],
            A[1] + u[0] * a[1],
            A[2] + u[0] * a[2],
            A[3] + u[1] * a[1],
            A[4] + u[1] * a[2],
            A[5] + u[2] * a[2],
        )
        B = (
            B[0] + u[0] * e[0],
            B[1] + u[0] * e[1],
            B[2] + u[0] * e[2],
            B[3] + u[1] * e[0],
            B[4] + u[1] * e[1],
            B[5] + u[1] * e[2],
            B[6] + u[2] * e[0],
            B[7] + u[2] * e[1],
            B[8] + u[2] * e[2],
        )
        C = (
            C[0] + g[0] * e[0],
            C[1] + g[0] * e[1],
            C[2] + g[0] * e[2],
            C[3] + g[1] * e[1],
            C[4] + g[1] * e[2],
            C[5] + g[2] * e[2],
        )
    store_inertia(work, p, A, B, C)


@kernel
def recover_modes(topo, const, work, k, vdot, w, u):
    """vdot of the modes of body k, given the acceleration [w; u] of its frame."""
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    size = 6 * topo[modal + LOADS]
    zf = topo[modal + W_ZF]
    e = topo[k + V_MODES]
    i = topo[modal + PRE_LAMBDA]
    lm = topo[modal + PRE_LM]
    Y = topo[modal + PRE_Y]
    N = topo[modal + PRE_N]
    W = topo[modal + W_GAMMA]
    z = topo[modal + W_LOAD]
    x = topo[modal + W_LOAD_SPARE]
    for s in range(size):
        work[x + s] = dot(load3(const, N + 6 * s), w) + dot(load3(const, N + 6 * s + 3), u)
    for s in range(0, size, 6):
        n, f = six_rows(work, W, size, work, x, s)
        accumulate3(work, z + s, n)
        accumulate3(work, z + s + 3, f)
    for r in range(m):
        a = -dot(load3(const, lm + 6 * r), w) - dot(load3(const, lm + 6 * r + 3), u)
        for s in range(m):
            a += const[i + r * m + s] * work[zf + s]
        for s in range(size):
            a -= const[Y + r * size + s] * work[z + s]
        vdot[e + r] = a


@kernel
def condense(topo, const, work, q, v, tau, k):
    """One step of the inward sweep: eliminate the degrees of freedom of body k and add what remains to its parent."""
    if topo[k + MODES] > 0:
        eliminate_modes(topo, const, work, tau, k)
    note_size(topo, const, work, k)
    eliminate_joint(topo, const, work, q, v, tau, k, topo[k + WORK] + P)
    if topo[k + PARENT] != 0:
        if topo[k + ATTACHED] == RIGIDLY:
            inertia_to_parent(topo, work, k, 0)
            b = topo[k + WORK]
            force_to_parent(topo, work, k, 0, load3(work, b + Z), load3(work, b + Z + 3))
        else:
            load_node(topo, work, k)


@kernel
def forward_dynamics(topo, const, work, q, v, tau, ext_count, ext_index, ext, vdot):
    """vdot of (q, v, tau) of a ruthless system; see the head of this file."""
    end = topo[END]
    start_world(topo, const, work)
    for k in range(COLUMNS, end, COLUMNS):
        place(topo, const, work, q, k)
        turn_and_bias(topo, const, work, q, v, k)
        start_body(topo, const, work, q, v, k)
    if ext_count > 0:
        for k in range(COLUMNS, end, COLUMNS):
            world_place(topo, work, k)
        apply_external(topo, const, work, q, ext_count, ext_index, ext)
    for k in range(end - COLUMNS, 0, -COLUMNS):
        condense(topo, const, work, q, v, tau, k)
    for k in range(COLUMNS, end, COLUMNS):
        p = topo[k + PARENT]
        a = topo[p + WORK] + ACC
        b = topo[k + WORK]
        w, u = load3(work, a), load3(work, a + 3)
        w, u = carry(topo, work, k, vdot, topo[p + V_MODES], topo[p + MODES], w, u)
        w, u = joint_accelerations(topo, work, k, vdot, w, u)
        if topo[k + MODES] > 0:
            recover_modes(topo, const, work, k, vdot, w, u)
        store3(work, b + ACC, w)
        store3(work, b + ACC + 3, u)
