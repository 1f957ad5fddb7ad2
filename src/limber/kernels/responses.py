"""Responses of a tree to generalized forces, M^{-1} times many vectors, by one factorization.

Solves    M x = force                                        (Jain & Rodriguez, Eqs. (63), (64), at rest)
Given     q, forces
Computes  x; `factorize` leaves the gains K and the inverse pivots 1/D of `articulated` in work
Sweep     tip to base, base to tip, for each vector
Cost      about 100 multiplications for a rigid body, m^2 + 30 m more for m modes
"""

from .articulated import (
    align_all_forces,
    condense_modes,
    eliminate_unforced_joint,
    pass_to_parent,
    prepare,
    recover,
)
from .forces import force_to_joint, force_to_parent
from .joints import joint_row
from .layout import (
    A_B,
    ACC,
    COLUMNS,
    D_PIVOTS,
    DOFS,
    END,
    I_SHAPES,
    INBOARD,
    J_K,
    J_NU,
    JOINT_WORK,
    MODAL,
    MODES,
    MOVED_BY,
    PARENT,
    ROT,
    V_JOINT,
    V_MODES,
    W_DF,
    W_INBOARD,
    W_JOINT,
    W_MU,
    W_PIVOTS,
    W_ZF,
    WORK,
    Z,
)
from .scalar import kernel
from .vec import axpy, dot, load3, load9, mul, store3, zero


@kernel
def forget_forces(topo, work):
    """Let no forces act on the bodies and their modes."""
    for k in range(COLUMNS, topo[END], COLUMNS):
        zero(work, topo[k + WORK] + Z, 6)
        if topo[k + MODES] > 0:
            zero(work, topo[topo[k + MODAL] + W_ZF], topo[k + MODES])


@kernel
def factorize(topo, const, work, q, zeros):
    """Eliminate all degrees of freedom at rest and without forces; `zeros` are NV of them."""
    prepare(topo, const, work, q, zeros)
    forget_forces(topo, work)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        p = condense_modes(topo, const, work, zeros, k)
        eliminate_unforced_joint(topo, const, work, zeros, k, p)
        pass_to_parent(topo, work, k)
    zero(work, topo[WORK] + ACC, 6)


@kernel
def force_past_modes(topo, work, force, k):
    """Innovations of the modes of body k, in ZF, and what remains of the forces on it, in Z."""
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    mu = topo[modal + W_MU]
    df = topo[modal + W_DF]
    zf = topo[modal + W_ZF]
    b = topo[k + WORK]
    e = topo[k + V_MODES]
    n, f = load3(work, b + Z), load3(work, b + Z + 3)
    if topo[k + INBOARD] != 0:
        i = topo[k + W_INBOARD] + I_SHAPES
        for r in range(m):
            work[zf + r] -= dot(load3(work, i + 6 * r), n) + dot(load3(work, i + 6 * r + 3), f)
        n, f = force_to_joint(topo, work, k, n, f)
    aligned = topo[modal + A_B] != 0
    for r in range(m):
        # the forces on aligned modes are in ZF already
        eps = -work[zf + r] if aligned else force[e + r] - work[zf + r]
        for s in range(r):
            eps -= work[df + s * m + r] * work[zf + s]
        work[zf + r] = eps
        n = axpy(eps, load3(work, mu + 6 * r), n)
        f = axpy(eps, load3(work, mu + 6 * r + 3), f)
    for r in range(m):
        work[zf + r] *= work[df + r * m + r]
    store3(work, b + Z, n)
    store3(work, b + Z + 3, f)


@kernel
def force_past_joint(topo, work, force, k):
    """Innovations of the joint of body k, and what remains of the forces on it for its parent."""
    b = topo[k + WORK]
    n, f = load3(work, b + Z), load3(work, b + Z + 3)
    for r in range(topo[k + DOFS]):
        i = topo[k + W_JOINT] + r * JOINT_WORK
        eps = force[topo[k + V_JOINT] + r] - joint_row(topo, work, k, r, n, f)
        work[i + J_NU] = eps * work[topo[k + W_PIVOTS] + D_PIVOTS + r]
        n = axpy(eps, load3(work, i + J_K), n)
        f = axpy(eps, load3(work, i + J_K + 3), f)
    if topo[k + PARENT] != 0:
        R = load9(work, b + ROT)
        force_to_parent(topo, work, k, topo[k + MOVED_BY], mul(R, n), mul(R, f))


@kernel
def respond(topo, const, work, force, out):
    """out = M^{-1} force, after `factorize`; `force` and `out` have the layout of v."""
    forget_forces(topo, work)
    align_all_forces(topo, const, work, force)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        if topo[k + MODES] > 0:
            force_past_modes(topo, work, force, k)
        force_past_joint(topo, work, force, k)
    for k in range(COLUMNS, topo[END], COLUMNS):
        recover(topo, const, work, out, k)
