"""Inverse dynamics by the Newton-Euler recursion.

Solves    T = H f_m,  f_m(k) = phi f_m(child) + M_m(k) alpha_m(k) + b_m(k) + K_m(k) theta(k)
          (Jain & Rodriguez, Eq. (45)); `physics` adds the forces of the joints to T
Given     q, v, vdot, external wrenches
Computes  tau
Sweep     base to tip (velocities, accelerations), tip to base (forces)
Cost      about 160 multiplications for a rigid body on a one-axis joint; 15 m^2 + 100 m + 250
          more for m modes on a flexible parent
"""

from .curved import curved_forces
from .forces import apply_external, force_to_joint, force_to_parent
from .inertia import apply_inertia, load_inertia
from .joints import joint_row
from .layout import (
    ACC,
    BENT,
    COLUMNS,
    DOFS,
    END,
    I_SHAPES,
    INBOARD,
    MODAL,
    MODES,
    NV,
    PARENT,
    ROT,
    V_JOINT,
    V_MODES,
    W_DF,
    W_INBOARD,
    W_MU,
    W_ZF,
    WORK,
    P,
    Z,
)
from .modal import mass_and_bias
from .motion import acceleration, start_world, turn_and_bias, world_place
from .physics import add_joint_forces
from .placement import place
from .scalar import kernel
from .vec import accumulate3, dot, load3, load9, mul, store3


@kernel
def body_force(topo, const, work, q, v, vdot, k):
    """M_m alpha_m + b_m of body k and its elastic and damping forces: Z and ZF.  Needs OMEGA and ACC."""
    mass_and_bias(topo, const, work, q, v, k, False, False)
    inertial_force(topo, work, vdot, k)
    if topo[k + BENT] != 0:
        curved_forces(topo, const, work, q, v, vdot, k)


@kernel
def inertial_force(topo, work, vdot, k):
    """Add M_m alpha_m of body k to Z and ZF."""
    b = topo[k + WORK]
    m = topo[k + MODES]
    A, B, C = load_inertia(work, b + P)
    aw = load3(work, b + ACC)
    av = load3(work, b + ACC + 3)
    n, f = apply_inertia(A, B, C, aw, av)
    accumulate3(work, b + Z, n)
    accumulate3(work, b + Z + 3, f)
    if m > 0:
        modal = topo[k + MODAL]
        mu = topo[modal + W_MU]
        df = topo[modal + W_DF]
        zf = topo[modal + W_ZF]
        e = topo[k + V_MODES]
        for r in range(m):
            Fr = load3(work, mu + 6 * r)
            Er = load3(work, mu + 6 * r + 3)
            force = dot(Fr, aw) + dot(Er, av)
            for s in range(m):
                force += work[df + r * m + s] * vdot[e + s]
            work[zf + r] += force
            a = vdot[e + r]
            accumulate3(work, b + Z, (a * Fr[0], a * Fr[1], a * Fr[2]))
            accumulate3(work, b + Z + 3, (a * Er[0], a * Er[1], a * Er[2]))


@kernel
def project_force(topo, work, k, tau):
    """tau of body k from Z and ZF, and the wrench that its joint carries (outboard axes)."""
    b = topo[k + WORK]
    m = topo[k + MODES]
    n = load3(work, b + Z)
    f = load3(work, b + Z + 3)
    if m > 0:
        zf = topo[topo[k + MODAL] + W_ZF]
        e = topo[k + V_MODES]
        for r in range(m):
            tau[e + r] = work[zf + r]
        if topo[k + INBOARD] != 0:
            i = topo[k + W_INBOARD] + I_SHAPES
            for r in range(m):
                tau[e + r] -= dot(load3(work, i + 6 * r), n) + dot(load3(work, i + 6 * r + 3), f)
            n, f = force_to_joint(topo, work, k, n, f)
    t = topo[k + V_JOINT]
    for r in range(topo[k + DOFS]):
        tau[t + r] = joint_row(topo, work, k, r, n, f)
    return n, f


@kernel
def carried_wrenches(topo, const, work, q, v, vdot, ext_count, ext_index, ext, out):
    """tau, then for each body the wrench that its joint has to exert on it, at the frame of its constants, in its axes."""
    inverse_dynamics(topo, const, work, q, v, vdot, ext_count, ext_index, ext, out)
    for k in range(COLUMNS, topo[END], COLUMNS):
        i = topo[NV] + 6 * (k // COLUMNS - 1)
        store3(out, i, load3(work, topo[k + WORK] + Z))
        store3(out, i + 3, load3(work, topo[k + WORK] + Z + 3))


@kernel
def inverse_dynamics(topo, const, work, q, v, vdot, ext_count, ext_index, ext, tau):
    """tau of (q, v, vdot); see the head of this file."""
    start_world(topo, const, work)
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, q, k)
        turn_and_bias(topo, const, work, q, v, k)
        acceleration(topo, work, vdot, k)
        body_force(topo, const, work, q, v, vdot, k)
    if ext_count > 0:
        for k in range(COLUMNS, topo[END], COLUMNS):
            world_place(topo, work, k)
        apply_external(topo, const, work, q, ext_count, ext_index, ext)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        n, f = project_force(topo, work, k, tau)
        add_joint_forces(topo, const, q, v, vdot, tau, k)
        if topo[k + PARENT] != 0:
            R = load9(work, topo[k + WORK] + ROT)
            force_to_parent(topo, work, k, topo[topo[k + PARENT] + MODES], mul(R, n), mul(R, f))
