"""Forward dynamics by articulated-body inertias; modes and joint are eliminated in turn.

Solves    P(k) = sum_c A(c) Gamma(c) A(c)^T + M_m(k), D_f = H_f P H_f^T, P_R = P_rr - g mu^T,
          D_R = H P_R H^T + armature, P_R_plus = P_R - G_R H P_R, and the sweeps (64)
          (Jain & Rodriguez, Eqs. (63), (64); there z_R contains g eps_f and P_R a_mR, here the latter is
          added after the hinge is eliminated, as P_R_plus a_mR)
Given     q, v, tau, external wrenches
Computes  vdot; leaves P, its size, K, 1/D, nu in work
Sweep     base to tip, tip to base, base to tip
Cost      about 305 multiplications for a rigid body on a revolute joint; m^3/6 + 20 m^2 + 100 m
          + 300 more for m modes of any shape on a flexible parent.  Beams, whose integrals and shapes are
          mostly zeros, cost far less when traced: 750 altogether for an inner link with 4 modes

Every degree of freedom is eliminated by one rank-one step, which is the L D L^T factorization of D_f and of
D_R without square roots: D = h.P h, K = P h / D, P <- P - K (P h)^T, z <- z + K eps.

The modes of a body that carries others may be eliminated in coordinates zeta other than its own,
eta = B zeta with a constant B (`assembly.align`).  MU, DF, ZF and the node map then refer to zeta.
"""

from .driven import add_hinge_force, pass_joint
from .forces import (
    apply_external,
    bias_to_joint,
    force_to_parent,
    inertia_to_joint,
    inertia_to_parent,
)
from .inertia import apply_inertia, downdate, load_inertia, rotate_inertia, store_inertia
from .joints import along_joint, joint_column, joint_row
from .layout import (
    A_B,
    ACC,
    ALIGNED_NODE,
    ANY_ALIGNED,
    BIAS,
    COLUMNS,
    D_PIVOTS,
    D_SIZE,
    DOFS,
    DRIVEN,
    END,
    I_BIAS,
    INBOARD,
    J_K,
    J_NU,
    JOINT,
    JOINT_WORK,
    MODAL,
    MODES,
    MOVED_BY,
    PARENT,
    PHYSICS,
    REACH,
    REVOLUTE,
    ROT,
    SCRATCH,
    V_JOINT,
    V_MODES,
    W_DF,
    W_INBOARD,
    W_JOINT,
    W_MU,
    W_N,
    W_PIVOTS,
    W_ZF,
    WORK,
    P,
    Z,
)
from .modal import mass_and_bias
from .motion import carry, start_world, to_body_frame, turn_and_bias, world_place
from .physics import armature, speed_force
from .placement import place_by
from .revolute import eliminate_revolute
from .scalar import inlined, kernel
from .vec import add, axpy, dot, load3, load9, mul, scale, store3


@kernel
def align_forces(topo, const, work, tau, k):
    """Refer ZF - tau of body k to its aligned modal coordinates, eta = B zeta: ZF <- B^T (ZF - tau).

    In these coordinates few modes feel the bodies attached to k, each along a unit vector
    (`assembly.align`).
    """
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    B = topo[modal + A_B]
    spare = topo[modal + W_N]  # N is no longer needed
    zf = topo[modal + W_ZF]
    for r in range(m):
        work[spare + r] = work[zf + r] - tau[topo[k + V_MODES] + r]
    for r in range(m):
        x = 0.0
        for s in range(m):
            x += const[B + s * m + r] * work[spare + s]
        work[zf + r] = x


@kernel
def eliminate_modes(topo, work, tau, k, p):
    """Eliminate the modes of body k from its articulated inertia P and force Z: P_R at work[p:], z_R in Z.

    Right-looking L D L^T of [[D_f, mu^T], [mu, P_rr]], upper triangle by rows.  Row r of DF and MU
    end as the gain (the pivot row over D); the diagonal as 1/D; ZF as the innovation nu_f = eps_f / D.
    """
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    mu = topo[modal + W_MU]
    df = topo[modal + W_DF]
    zf = topo[modal + W_ZF]
    b = topo[k + WORK]
    e = topo[k + V_MODES]
    A, B, C = load_inertia(work, b + P)
    n = load3(work, b + Z)
    f = load3(work, b + Z + 3)
    if topo[modal + A_B] != 0:
        for r in range(m):
            work[zf + r] = -work[zf + r]
    else:
        for r in range(m):
            work[zf + r] = tau[e + r] - work[zf + r]
    for r in range(m):
        row = df + r * m
        d = 1.0 / work[row + r]
        work[row + r] = d
        u = load3(work, mu + 6 * r)
        g = load3(work, mu + 6 * r + 3)
        ku = scale(d, u)
        kg = scale(d, g)
        store3(work, mu + 6 * r, ku)
        store3(work, mu + 6 * r + 3, kg)
        eps = work[zf + r]
        nu = eps * d
        work[zf + r] = nu
        for s in range(r + 1, m):
            lsr = work[row + s]
            l = lsr * d
            work[row + s] = l
            # row s of DF from its diagonal on; the entries of row r up to s are gains by now
            work[df + s * m + s] -= l * lsr
            for t in range(s + 1, m):
                work[df + s * m + t] -= l * work[row + t]
            i = mu + 6 * s
            store3(work, i, axpy(-lsr, ku, load3(work, i)))
            store3(work, i + 3, axpy(-lsr, kg, load3(work, i + 3)))
            work[zf + s] -= lsr * nu
        A, B, C = downdate(A, B, C, ku, kg, u, g)
        n = axpy(eps, ku, n)
        f = axpy(eps, kg, f)
    store_inertia(work, p, A, B, C)
    store3(work, b + Z, n)
    store3(work, b + Z + 3, f)


@kernel
def driving_force(topo, const, q, v, tau, k, r):
    """The force that drives joint speed r of body k: tau minus the force f of the joint (`physics`)."""
    force = tau[topo[k + V_JOINT] + r]
    if topo[k + PHYSICS] != 0:
        force -= speed_force(topo, const, q, v, k, r)
    return force


@kernel
def eliminate_joint(topo, const, work, q, v, tau, k, p):
    """Eliminate the joint speeds of body k from P_R at work[p:] and z_R in Z; turn to parent axes.

    Leaves P_R_plus in SCRATCH and z_plus + P_R_plus a in Z, with a the hinge's BIAS, unless the parent
    is the world.  Each speed takes one rank-one step.  An armature adds to the pivot D and not to P, so that
    P_R_plus H^T = K armature.  This is zero, as `revolute` assumes, only without armature.  A joint whose motion is
    prescribed is not eliminated (`driven`).
    """
    if topo[k + DRIVEN] != 0:
        pass_joint(topo, work, tau, k, p)
        return
    if topo[k + JOINT] == REVOLUTE and topo[k + PHYSICS] == 0:
        eliminate_revolute(topo, work, tau, k, p)
        return
    for r in range(topo[k + DOFS]):
        force = driving_force(topo, const, q, v, tau, k, r)
        work[topo[k + W_JOINT] + r * JOINT_WORK + J_NU] = force
    eliminate_speeds(topo, const, work, k, p)


@kernel
def eliminate_unforced_joint(topo, const, work, zeros, k, p):
    """`eliminate_joint` of a joint on which no motor, spring or stop acts; `zeros` are NV of them."""
    if topo[k + DRIVEN] != 0:
        pass_joint(topo, work, zeros, k, p)
        return
    if topo[k + JOINT] == REVOLUTE and topo[k + PHYSICS] == 0:
        eliminate_revolute(topo, work, zeros, k, p)
        return
    for r in range(topo[k + DOFS]):
        work[topo[k + W_JOINT] + r * JOINT_WORK + J_NU] = 0.0
    eliminate_speeds(topo, const, work, k, p)


@kernel
def eliminate_speeds(topo, const, work, k, p):
    """The elimination of `eliminate_joint`, with the forces that drive the speeds in J_NU, where nu takes their place."""
    b = topo[k + WORK]
    A, B, C = load_inertia(work, p)
    n = load3(work, b + Z)
    f = load3(work, b + Z + 3)
    for r in range(topo[k + DOFS]):
        i = topo[k + W_JOINT] + r * JOINT_WORK
        u, g = joint_column(topo, work, k, r, A, B, C)
        d = 1.0 / (joint_row(topo, work, k, r, u, g) + armature(topo, const, k, r))
        eps = work[i + J_NU] - joint_row(topo, work, k, r, n, f)
        ku = scale(d, u)
        kg = scale(d, g)
        store3(work, i + J_K, ku)
        store3(work, i + J_K + 3, kg)
        work[topo[k + W_PIVOTS] + D_PIVOTS + r] = d
        work[i + J_NU] = eps * d
        A, B, C = downdate(A, B, C, ku, kg, u, g)
        n = axpy(eps, ku, n)
        f = axpy(eps, kg, f)
    if topo[k + PARENT] == 0:
        return
    dn, df = apply_inertia(A, B, C, load3(work, b + BIAS), load3(work, b + BIAS + 3))
    R = load9(work, b + ROT)
    A, B, C = rotate_inertia(R, A, B, C)
    store_inertia(work, b + SCRATCH, A, B, C)
    store3(work, b + Z, mul(R, add(n, dn)))
    store3(work, b + Z + 3, mul(R, add(f, df)))


@inlined
def note_size(topo, const, work, k):
    """Leave in the pivot record of body k a bound of the inertia that P becomes on its way to the world.

    The angular part of P, its trace a, grows by |o|^2 c at every joint, with c the trace of the linear part.
    `native.state_checks` compares pivots with these bounds, which lie together, instead of going through all P.
    """
    i = topo[k + WORK] + P
    angular = work[i] + work[i + 3] + work[i + 5]
    linear = work[i + 15] + work[i + 18] + work[i + 20]
    work[topo[k + W_PIVOTS] + D_SIZE] = angular + const[REACH] * linear


@inlined
def condense_modes(topo, const, work, tau, k):
    """Eliminate the modes of body k and return where in `work` its P_R is."""
    b = topo[k + WORK]
    if topo[k + INBOARD] != 0:
        bias_to_joint(topo, work, k)
        inertia_to_joint(topo, work, k)
    p = b + P
    if topo[k + MODES] > 0:
        p = b + SCRATCH
        eliminate_modes(topo, work, tau, k, p)
    note_size(topo, const, work, k)
    return p


@inlined
def condense_joint(topo, const, work, q, v, tau, k, p):
    """Eliminate the joint of body k, whose P_R is at work[p:], and add what remains to its parent."""
    eliminate_joint(topo, const, work, q, v, tau, k, p)
    pass_to_parent(topo, work, k)


@inlined
def pass_to_parent(topo, work, k):
    """Add what remains of body k, without its modes and its joint, to its parent."""
    if topo[k + PARENT] != 0:
        b = topo[k + WORK]
        inertia_to_parent(topo, work, k, topo[k + MOVED_BY])
        n, f = load3(work, b + Z), load3(work, b + Z + 3)
        force_to_parent(topo, work, k, topo[k + MOVED_BY], n, f)


@inlined
def condense(topo, const, work, q, v, tau, k):
    """One step of the inward sweep: eliminate the degrees of freedom of body k and add what remains to its parent."""
    p = condense_modes(topo, const, work, tau, k)
    condense_joint(topo, const, work, q, v, tau, k, p)


@inlined
def joint_accelerations(topo, work, k, vdot, w, u):
    """vdot of the joint of body k; [w; u] with BIAS becomes [w; u] + H^T beta_dot (outboard axes)."""
    if topo[k + DRIVEN] != 0:
        add_hinge_force(topo, work, k, w, u)
    b = topo[k + WORK] + BIAS
    w = add(w, load3(work, b))
    u = add(u, load3(work, b + 3))
    t = topo[k + V_JOINT]
    for r in range(topo[k + DOFS] - 1, -1, -1):
        i = topo[k + W_JOINT] + r * JOINT_WORK
        a = work[i + J_NU] - dot(load3(work, i + J_K), w) - dot(load3(work, i + J_K + 3), u)
        vdot[t + r] = a
        w, u = along_joint(topo, work, k, r, a, w, u)
    return w, u


@kernel
def modal_accelerations(topo, const, work, k, vdot, w, u):
    """vdot of the modes of body k by back substitution, given its frame's acceleration.

    ZF ends as the accelerations of the modal coordinates that were eliminated.
    """
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    mu = topo[modal + W_MU]
    df = topo[modal + W_DF]
    zf = topo[modal + W_ZF]
    e = topo[k + V_MODES]
    for r in range(m - 1, -1, -1):
        a = work[zf + r]
        a -= dot(load3(work, mu + 6 * r), w) + dot(load3(work, mu + 6 * r + 3), u)
        for s in range(r + 1, m):
            a -= work[df + r * m + s] * work[zf + s]
        work[zf + r] = a
    if topo[modal + A_B] != 0:
        B = topo[modal + A_B]
        for r in range(m):
            a = 0.0
            for s in range(m):
                a += const[B + r * m + s] * work[zf + s]
            vdot[e + r] = a
    else:
        for r in range(m):
            vdot[e + r] = work[zf + r]


@inlined
def recover_joint(topo, work, vdot, k):
    """vdot of the joint of body k, and the acceleration of its outboard frame."""
    p = topo[k + PARENT]
    b = topo[p + WORK]
    w, u = load3(work, b + ACC), load3(work, b + ACC + 3)
    w, u = carry(topo, work, k, work, topo[topo[p + MODAL] + W_ZF], topo[k + MOVED_BY], w, u)
    return joint_accelerations(topo, work, k, vdot, w, u)


@inlined
def recover_modes(topo, const, work, vdot, k, w, u):
    """vdot of the modes of body k and its acceleration, given that of its joint's outboard frame."""
    b = topo[k + WORK]
    if topo[k + MODES] > 0:
        modal_accelerations(topo, const, work, k, vdot, w, u)
        if topo[k + INBOARD] != 0:
            w, u = to_body_frame(topo, work, k, vdot, w, u)
            i = topo[k + W_INBOARD] + I_BIAS
            w = add(w, load3(work, i))
            u = add(u, load3(work, i + 3))
    store3(work, b + ACC, w)
    store3(work, b + ACC + 3, u)


@inlined
def recover(topo, const, work, vdot, k):
    """One step of the outward sweep: vdot and acceleration of body k."""
    w, u = recover_joint(topo, work, vdot, k)
    recover_modes(topo, const, work, vdot, k, w, u)


@kernel
def prepare(topo, const, work, q, v):
    """The outward sweep before the elimination: places, Coriolis accelerations, masses and bias forces."""
    start_world(topo, const, work)
    for k in range(COLUMNS, topo[END], COLUMNS):
        place_by(topo, const, work, q, k, topo[k + ALIGNED_NODE], topo[k + MOVED_BY])
        turn_and_bias(topo, const, work, q, v, k)
        mass_and_bias(topo, const, work, q, v, k, True, True)


@kernel
def align_all_forces(topo, const, work, tau):
    """`align_forces` of all bodies that are eliminated in aligned coordinates."""
    for k in range(COLUMNS, topo[END], COLUMNS):
        if topo[k + MODES] > 0 and topo[topo[k + MODAL] + A_B] != 0:
            align_forces(topo, const, work, tau, k)


@kernel
def forward_dynamics(topo, const, work, q, v, tau, ext_count, ext_index, ext, vdot):
    """vdot of (q, v, tau); see the head of this file."""
    end = topo[END]
    prepare(topo, const, work, q, v)
    if ext_count > 0:
        for k in range(COLUMNS, end, COLUMNS):
            world_place(topo, work, k)
        apply_external(topo, const, work, q, ext_count, ext_index, ext)
    if topo[ANY_ALIGNED] != 0:
        align_all_forces(topo, const, work, tau)
    for k in range(end - COLUMNS, 0, -COLUMNS):
        condense(topo, const, work, q, v, tau, k)
    for k in range(COLUMNS, end, COLUMNS):
        recover(topo, const, work, vdot, k)
