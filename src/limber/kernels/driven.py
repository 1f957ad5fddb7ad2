"""Joints with prescribed motion in the articulated-body sweeps: they are not eliminated.

Solves    M_ff vdot_f = tau_f - bias_f - M_fd vdot_d  for the free speeds f, given vdot_d of the driven joints, and
          tau_d = M_df vdot_f + M_dd vdot_d + bias_d    (hybrid dynamics); in a closed system, with A_f^T lambda and
          A_d^T lambda in addition to tau_f and tau_d (`fronts`)
Given     P_R and z_R of a body; the entries of tau that belong to a driven joint are its beta_dot
Computes  what the parent gets: P_R itself, and z_R + P_R (a + H^T beta_dot) with a the hinge's BIAS; later H f, with
          f = z_R + P_R alpha the force across the hinge
Sweep     a step of the inward and one of the outward sweep of `articulated`
Cost      159 multiplications for a revolute joint, instead of 160 for its elimination; 6 a speed for H f

The gain K of a driven joint is zero and its pivot D is infinite, as if its armature were infinite.  The rest of the
sweeps therefore needs to know nothing of it.
"""

from .inertia import apply_inertia, load_inertia, rotate_inertia, store_inertia
from .joints import along_joint, joint_column, joint_row
from .layout import (
    BIAS,
    D_COLUMN,
    D_FORCE,
    D_PIVOTS,
    DOFS,
    DRIVE_RECORD,
    DRIVEN,
    J_K,
    J_NU,
    JOINT_WORK,
    PARENT,
    PHYSICS,
    ROT,
    SCRATCH,
    V_JOINT,
    W_JOINT,
    W_PIVOTS,
    WORK,
    Z,
)
from .physics import armature, speed_force
from .scalar import inlined, kernel
from .vec import add, dot, load3, load9, mul, store3, zero

#: 1/D of a driven joint: zero, except for the checks of pivots, which require positive numbers.
INFINITE_PIVOT = 1e-300


@inlined
def pass_joint(topo, work, tau, k, p):
    """`eliminate_joint` of `articulated` for a driven joint: P_R at work[p:] and z_R in Z go to the parent."""
    b = topo[k + WORK]
    w = load3(work, b + BIAS)
    u = load3(work, b + BIAS + 3)
    for r in range(topo[k + DOFS]):
        i = topo[k + W_JOINT] + r * JOINT_WORK
        rate = tau[topo[k + V_JOINT] + r]
        w, u = along_joint(topo, work, k, r, rate, w, u)
        zero(work, i + J_K, 6)
        work[topo[k + W_PIVOTS] + D_PIVOTS + r] = INFINITE_PIVOT
        work[i + J_NU] = rate
    A, B, C = load_inertia(work, p)
    n, f = apply_inertia(A, B, C, w, u)
    n = add(n, load3(work, b + Z))
    f = add(f, load3(work, b + Z + 3))
    for r in range(topo[k + DOFS]):
        i = topo[k + DRIVEN] + r * DRIVE_RECORD
        w, u = joint_column(topo, work, k, r, A, B, C)
        store3(work, i + D_COLUMN, w)
        store3(work, i + D_COLUMN + 3, u)
        work[i + D_FORCE] = joint_row(topo, work, k, r, n, f)
    if topo[k + PARENT] == 0:
        return
    R = load9(work, b + ROT)
    A, B, C = rotate_inertia(R, A, B, C)
    store_inertia(work, b + SCRATCH, A, B, C)
    store3(work, b + Z, mul(R, n))
    store3(work, b + Z + 3, mul(R, f))


@kernel
def add_hinge_force(topo, work, k, w, u):
    """Complete H f of the driven joint of body k: add H P_R [w; u], the acceleration of the hinge without its BIAS."""
    for r in range(topo[k + DOFS]):
        i = topo[k + DRIVEN] + r * DRIVE_RECORD
        work[i + D_FORCE] += dot(load3(work, i + D_COLUMN), w)
        work[i + D_FORCE] += dot(load3(work, i + D_COLUMN + 3), u)


@kernel
def drive_force(topo, const, work, q, v, vdot, k, r):
    """The force that the motion of speed r of the driven joint of body k takes, after a sweep: H f and its physics."""
    force = work[topo[k + DRIVEN] + r * DRIVE_RECORD + D_FORCE]
    if topo[k + PHYSICS] != 0:
        force += speed_force(topo, const, q, v, k, r)
        force += armature(topo, const, k, r) * vdot[topo[k + V_JOINT] + r]
    return force
