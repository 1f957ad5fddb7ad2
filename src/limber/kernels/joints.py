"""Joints: configuration, joint map, and the acceleration that a moving joint map adds.

A joint is FIXED, REVOLUTE or PRISMATIC along a coordinate axis, or GENERAL: a sequence of
groups from inboard to outboard.  A group of SCREWS is a simple joint of Kwatny & Blankenship
(Propositions 1 and 2): lambda = lambda_r ... lambda_1 with lambda_i = exp(h_i theta_i), and a
joint map H of constant columns in the group's outboard axes.  SPHERICAL and FREE groups carry
quaternions.  The joint map of the whole sequence (Proposition 3) refers to the outboard frame.

`joint_row`, `joint_column`, `along_joint` and `turned_joint` are products with one row of H for any kind of joint.
Sweeps use them and do not need to know the kind.
"""

from .inertia import apply_inertia, column
from .layout import (
    AXIS,
    COLUMNS,
    DOFS,
    FREE,
    G_DOFS,
    G_KIND,
    G_MAP,
    G_Q,
    G_SCREWS,
    GENERAL,
    GROUP,
    GROUPS,
    J_H,
    JOINT,
    JOINT_WORK,
    S_AXIS,
    S_LINEAR,
    S_RATE,
    S_SINE,
    S_VERSINE,
    SCREW,
    SCREWS,
    SPHERICAL,
    V_JOINT,
    W_JOINT,
)
from .scalar import cos, kernel, sin
from .so3 import load_quaternion, matrix, quaternion_matrix
from .vec import add, axpy, cross, dot, load3, matmul, mul, mul_t, scale, store3, zero


@kernel
def screw_pose(const, c, theta):
    """exp(h theta) of one screw as (R, p), Eq. (12): h = [n u; h2], u a unit vector or zero.

    R = I + sin(n theta) u~ + (1 - cos(n theta)) u~^2
    p = theta u u.h2 + sin(n theta)/n h2_perp + (1 - cos(n theta))/n u x h2
    """
    angle = const[c + S_RATE] * theta
    s = sin(angle)
    versine = 1.0 - cos(angle)
    R = matrix(s, versine, load3(const, c + S_AXIS))
    p = scale(theta, load3(const, c + S_LINEAR))
    p = axpy(s, load3(const, c + S_SINE), p)
    return R, axpy(versine, load3(const, c + S_VERSINE), p)


@kernel
def group_pose(topo, const, q, g):
    """(R, p) of group g: R turns its outboard components into inboard ones."""
    j = topo[g + G_Q]
    if topo[g + G_KIND] == SPHERICAL:
        e = load_quaternion(q, j)
        return quaternion_matrix(e[0], e[1], e[2], e[3]), (0.0, 0.0, 0.0)
    elif topo[g + G_KIND] == FREE:
        e = load_quaternion(q, j)
        return quaternion_matrix(e[0], e[1], e[2], e[3]), load3(q, j + 4)
    else:
        r = topo[g + G_DOFS]
        c = topo[g + G_SCREWS]
        R, p = screw_pose(const, c + (r - 1) * SCREW, q[j + r - 1])
        for i in range(r - 2, -1, -1):
            Ri, pi = screw_pose(const, c + i * SCREW, q[j + i])
            p = add(p, mul(R, pi))
            R = matmul(R, Ri)
        return R, p


@kernel
def group_column(topo, const, work, g, i, h):
    """Write column i of the constant joint map of group g at work[h:h+6]."""
    if topo[g + G_KIND] == SCREWS:
        c = topo[g + G_MAP] + 6 * i
        store3(work, h, load3(const, c))
        store3(work, h + 3, load3(const, c + 3))
    else:
        zero(work, h, 6)
        work[h + i] = 1.0


@kernel
def general_joint_pose(topo, const, work, q, k):
    """Configuration (R, p) of the general joint of body k; writes its joint map to work.

    Eqs. (26) to (28) of Kwatny & Blankenship.  The groups are taken from inboard to outboard: each new
    group transforms the columns so far to its own outboard frame.
    """
    j = topo[k + W_JOINT]
    first = topo[k + GROUP]
    R, p = group_pose(topo, const, q, first)
    done = topo[first + G_DOFS]
    for i in range(done):
        group_column(topo, const, work, first, i, j + i * JOINT_WORK + J_H)
    for g in range(first + COLUMNS, first + topo[k + GROUPS] * COLUMNS, COLUMNS):
        Rg, pg = group_pose(topo, const, q, g)
        for i in range(done):
            h = j + i * JOINT_WORK + J_H
            hw = load3(work, h)
            hv = add(load3(work, h + 3), cross(hw, pg))
            store3(work, h, mul_t(Rg, hw))
            store3(work, h + 3, mul_t(Rg, hv))
        for i in range(topo[g + G_DOFS]):
            group_column(topo, const, work, g, i, j + (done + i) * JOINT_WORK + J_H)
        done += topo[g + G_DOFS]
        p = add(p, mul(R, pg))
        R = matmul(R, Rg)
    return R, p


@kernel
def general_joint_velocity(topo, work, v, k):
    """Relative velocity (w, v) of the general joint of body k, outboard axes: H^T beta."""
    j = topo[k + W_JOINT] + J_H
    b = topo[k + V_JOINT]
    w = (0.0, 0.0, 0.0)
    u = (0.0, 0.0, 0.0)
    for i in range(topo[k + DOFS]):
        w = axpy(v[b + i], load3(work, j + i * JOINT_WORK), w)
        u = axpy(v[b + i], load3(work, j + i * JOINT_WORK + 3), u)
    return w, u


@kernel
def general_joint_bias(topo, work, v, k):
    """(dH^T/dt) beta, outboard components: the columns of a group move with the groups outside it.

    d(H_g^T)/dt beta_g = (H_g^T beta_g) x V_outer, V_outer the velocity across the outer groups.
    """
    j = topo[k + W_JOINT] + J_H
    b = topo[k + V_JOINT]
    first = topo[k + GROUP]
    outer_w = (0.0, 0.0, 0.0)
    outer_v = (0.0, 0.0, 0.0)
    bias_w = (0.0, 0.0, 0.0)
    bias_v = (0.0, 0.0, 0.0)
    i = topo[k + DOFS]
    for g in range(first + (topo[k + GROUPS] - 1) * COLUMNS, first - 1, -COLUMNS):
        w = (0.0, 0.0, 0.0)
        u = (0.0, 0.0, 0.0)
        for _ in range(topo[g + G_DOFS]):
            i -= 1
            w = axpy(v[b + i], load3(work, j + i * JOINT_WORK), w)
            u = axpy(v[b + i], load3(work, j + i * JOINT_WORK + 3), u)
        bias_w = add(bias_w, cross(w, outer_w))
        bias_v = add(bias_v, add(cross(w, outer_v), cross(u, outer_w)))
        outer_w = add(outer_w, w)
        outer_v = add(outer_v, u)
    return bias_w, bias_v


@kernel
def along(axis, s):
    """The vector of length s along coordinate axis `axis`."""
    if axis == 0:
        return s, 0.0, 0.0
    elif axis == 1:
        return 0.0, s, 0.0
    else:
        return 0.0, 0.0, s


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
def axis_column(R, axis):
    """Column `axis` of R."""
    if axis == 0:
        return R[0], R[3], R[6]
    elif axis == 1:
        return R[1], R[4], R[7]
    else:
        return R[2], R[5], R[8]


@kernel
def joint_row(topo, work, k, r, n, f):
    """H_r (n, f): the generalized force of joint speed r of a wrench at the joint of body k, outboard axes."""
    if topo[k + JOINT] == GENERAL:
        h = topo[k + W_JOINT] + r * JOINT_WORK + J_H
        return dot(load3(work, h), n) + dot(load3(work, h + 3), f)
    else:
        axis = topo[k + AXIS]
        if axis < 3:
            return pick(n, axis)
        else:
            return pick(f, axis - 3)


@kernel
def joint_square(topo, work, k, r, n, f):
    """The square of H_r (n, f) for moments and forces of these squares, at most, if nothing cancels."""
    if topo[k + JOINT] == GENERAL:
        h = topo[k + W_JOINT] + r * JOINT_WORK + J_H
        turn, slide = load3(work, h), load3(work, h + 3)
        return dot(turn, turn) * n + dot(slide, slide) * f
    else:
        if topo[k + AXIS] < 3:
            return n
        else:
            return f


@kernel
def joint_column(topo, work, k, r, A, B, C):
    """P H_r^T, for the inertia (A, B, C) at the joint of body k, outboard axes."""
    if topo[k + JOINT] == GENERAL:
        h = topo[k + W_JOINT] + r * JOINT_WORK + J_H
        return apply_inertia(A, B, C, load3(work, h), load3(work, h + 3))
    else:
        return column(A, B, C, topo[k + AXIS])


@kernel
def along_joint(topo, work, k, r, s, w, u):
    """[w; u] + H_r^T s, outboard axes."""
    if topo[k + JOINT] == GENERAL:
        h = topo[k + W_JOINT] + r * JOINT_WORK + J_H
        return axpy(s, load3(work, h), w), axpy(s, load3(work, h + 3), u)
    else:
        axis = topo[k + AXIS]
        if axis < 3:
            return add(w, along(axis, s)), u
        else:
            return w, add(u, along(axis - 3, s))


@kernel
def turned_joint(topo, work, k, r, R):
    """R applied to both parts of H_r^T: the motion of joint speed r of body k in the axes that R leads to."""
    if topo[k + JOINT] == GENERAL:
        h = topo[k + W_JOINT] + r * JOINT_WORK + J_H
        return mul(R, load3(work, h)), mul(R, load3(work, h + 3))
    else:
        axis = topo[k + AXIS]
        if axis < 3:
            return axis_column(R, axis), (0.0, 0.0, 0.0)
        else:
            return (0.0, 0.0, 0.0), axis_column(R, axis - 3)
