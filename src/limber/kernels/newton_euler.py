"""Inverse dynamics by the Newton-Euler recursion.

Solves    T = H f_m,  f_m(k) = phi f_m(child) + M_m(k) alpha_m(k) + b_m(k) + K_m(k) theta(k)
          (Jain & Rodriguez, Eq. (45))
Given     q, v, vdot, external wrenches
Computes  tau
Sweep     base to tip (velocities, accelerations), tip to base (forces)
Cost      about 160 multiplications for a rigid body on a one-axis joint; 15 m^2 + 100 m + 250
          more for m modes on a flexible parent
"""

from .forces import apply_external, force_to_joint, force_to_parent
from .inertia import apply_inertia, load_inertia
from .layout import (
    ACC,
    AXIS,
    COLUMNS,
    DOFS,
    END,
    GENERAL,
    I_SHAPES,
    INBOARD,
    J_H,
    JOINT,
    JOINT_WORK,
    MODES,
    PARENT,
    ROT,
    V_JOINT,
    V_MODES,
    W_INBOARD,
    W_JOINT,
    W_MODES,
    WORK,
    P,
    Z,
)
from .modal import mass_and_bias, modal_force_offset
from .motion import acceleration, start_world, turn_and_bias, world_place
from .placement import place
from .scalar import kernel
from .vec import accumulate3, dot, load3, load9, mul


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
        mu = topo[k + W_MODES]
        df = mu + 6 * m
        zf = modal_force_offset(topo, k)
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
        zf = modal_force_offset(topo, k)
        e = topo[k + V_MODES]
        for r in range(m):
            tau[e + r] = work[zf + r]
        if topo[k + INBOARD] != 0:
            i = topo[k + W_INBOARD] + I_SHAPES
            for r in range(m):
                tau[e + r] -= dot(load3(work, i + 6 * r), n) + dot(load3(work, i + 6 * r + 3), f)
            n, f = force_to_joint(topo, work, k, n, f)
    joint = topo[k + JOINT]
    t = topo[k + V_JOINT]
    if joint == GENERAL:
        h = topo[k + W_JOINT] + J_H
        for r in range(topo[k + DOFS]):
            i = h + r * JOINT_WORK
            tau[t + r] = dot(load3(work, i), n) + dot(load3(work, i + 3), f)
    elif topo[k + DOFS] == 1:
        axis = topo[k + AXIS]
        if axis < 3:
            tau[t] = pick(n, axis)
        else:
            tau[t] = pick(f, axis - 3)
    return n, f


@kernel
def pick(x, i):
    """Component i of a 3-vector."""
    if i == 0:
        return x[0]
    elif i == 1:
        return x[1]
    else:
        return x[2]


@kernel
def inverse_dynamics(topo, const, work, q, v, vdot, ext_count, ext_index, ext, tau):
    """tau of (q, v, vdot); see the head of this file."""
    start_world(topo, const, work)
    for k in range(COLUMNS, topo[END], COLUMNS):
        place(topo, const, work, q, k)
        turn_and_bias(topo, const, work, v, k)
        acceleration(topo, work, vdot, k)
        mass_and_bias(topo, const, work, q, v, k, 0)
        inertial_force(topo, work, vdot, k)
    if ext_count > 0:
        for k in range(COLUMNS, topo[END], COLUMNS):
            world_place(topo, work, k)
        apply_external(topo, const, work, q, ext_count, ext_index, ext)
    for k in range(topo[END] - COLUMNS, 0, -COLUMNS):
        n, f = project_force(topo, work, k, tau)
        if topo[k + PARENT] != 0:
            R = load9(work, topo[k + WORK] + ROT)
            force_to_parent(topo, work, k, topo[topo[k + PARENT] + MODES], mul(R, n), mul(R, f))
