"""The inward steps that all force sweeps share: external forces, the inboard node, the parent.

Forces go to the parent by the transpose of the velocity map.  A wrench (N, F) at the joint's outboard
frame, in parent axes, adds (node map)^T (N, F) to the parent's modal force and (N + o x F, F) to its
rigid force.
"""

from .inertia import (
    accumulate_inertia,
    apply_inertia,
    load_inertia,
    rotate_inertia,
    shift_force,
    shift_inertia,
    store_inertia,
)
from .layout import (
    ATTACHED,
    I_BIAS,
    I_POS,
    I_ROT,
    I_SHAPES,
    MODAL,
    MODES,
    ORIGIN,
    PARENT,
    PLACE,
    RIGIDLY,
    RUTHLESS,
    SCRATCH,
    W_DF,
    W_INBOARD,
    W_MU,
    W_NODE,
    W_ZF,
    WORK,
    P,
    Z,
)
from .nodes import deformed, shape, shape_at, undeformed
from .scalar import kernel
from .so3 import left_jacobian
from .vec import accumulate3, add, cross, dot, load3, load9, mul_t, neg, store3, sub, transpose


@kernel
def apply_external(topo, const, work, q, ext_count, ext_index, ext):
    """Subtract external wrenches from Z and ZF.

    Row e of ext_index is (body, node record); ext[6 e:] is the wrench [moment, force] at the node in
    world axes.  Needs PLACE and fresh forces.
    """
    for e in range(ext_count):
        k = ext_index[2 * e]
        node = ext_index[2 * e + 1]
        m = topo[k + MODES]
        b = topo[k + WORK]
        R = load9(work, b + PLACE)
        n = mul_t(R, load3(ext, 6 * e))
        f = mul_t(R, load3(ext, 6 * e + 3))
        l = undeformed(const, node)
        if m > 0:
            zf = topo[topo[k + MODAL] + W_ZF]
            if topo[RUTHLESS] == 0:
                x, l = deformed(topo, const, q, k, node)
                moment = mul_t(left_jacobian(x), n)
                for r in range(m):
                    turn, shift = shape_at(topo, const, q, k, node, r)
                    work[zf + r] -= dot(turn, moment) + dot(shift, f)
            else:
                for r in range(m):
                    turn, shift = shape(const, node, r)
                    work[zf + r] -= dot(turn, n) + dot(shift, f)
        accumulate3(work, b + Z, neg(add(n, cross(l, f))))
        accumulate3(work, b + Z + 3, neg(f))


@kernel
def force_to_joint(topo, work, k, n, f):
    """Carry a wrench at the body frame (body axes) to the deforming inboard node (node axes)."""
    i = topo[k + W_INBOARD]
    E = load9(work, i + I_ROT)
    return mul_t(E, sub(n, cross(load3(work, i + I_POS), f))), mul_t(E, f)


@kernel
def inertia_to_joint(topo, work, k):
    """Refer P, MU and DF (s >= r) of body k from its body frame to its deforming inboard node, in place.

    With V_F = X V_O - Pi eta_dot: P -> X^T P X, MU_r -> X^T (MU_r - P Pi_r),
    DF_rs -> DF_rs - Pi_r . (MU_s - P Pi_s) - MU_r . Pi_s   (H_f P H_f^T of Jain & Rodriguez, (62)).
    """
    b = topo[k + WORK]
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    mu = topo[modal + W_MU]
    df = topo[modal + W_DF]
    i = topo[k + W_INBOARD]
    A, B, C = load_inertia(work, b + P)
    for s in range(m):
        pw = load3(work, i + I_SHAPES + 6 * s)
        pv = load3(work, i + I_SHAPES + 6 * s + 3)
        n, f = apply_inertia(A, B, C, pw, pv)
        n = sub(load3(work, mu + 6 * s), n)
        f = sub(load3(work, mu + 6 * s + 3), f)
        for r in range(s, m):
            # MU_r of these rows still refers to the body frame
            work[df + s * m + r] -= (
                dot(load3(work, i + I_SHAPES + 6 * r), n)
                + dot(load3(work, i + I_SHAPES + 6 * r + 3), f)
                + dot(load3(work, mu + 6 * r), pw)
                + dot(load3(work, mu + 6 * r + 3), pv)
            )
        store3(work, mu + 6 * s, n)
        store3(work, mu + 6 * s + 3, f)
    for r in range(m):
        n, f = force_to_joint(topo, work, k, load3(work, mu + 6 * r), load3(work, mu + 6 * r + 3))
        store3(work, mu + 6 * r, n)
        store3(work, mu + 6 * r + 3, f)
    A, B, C = shift_inertia(neg(load3(work, i + I_POS)), A, B, C)
    A, B, C = rotate_inertia(transpose(load9(work, i + I_ROT)), A, B, C)
    store_inertia(work, b + P, A, B, C)


@kernel
def bias_to_joint(topo, work, k):
    """Add M_m times the inboard bias to Z and ZF, and refer them to the inboard node, in place.

    P and MU must still refer to the body frame.
    """
    b = topo[k + WORK]
    m = topo[k + MODES]
    modal = topo[k + MODAL]
    mu = topo[modal + W_MU]
    zf = topo[modal + W_ZF]
    i = topo[k + W_INBOARD]
    A, B, C = load_inertia(work, b + P)
    aw = load3(work, i + I_BIAS)
    av = load3(work, i + I_BIAS + 3)
    n, f = apply_inertia(A, B, C, aw, av)
    n = add(n, load3(work, b + Z))
    f = add(f, load3(work, b + Z + 3))
    for r in range(m):
        work[zf + r] += dot(load3(work, mu + 6 * r), aw) + dot(load3(work, mu + 6 * r + 3), av)
        work[zf + r] -= dot(load3(work, i + I_SHAPES + 6 * r), n)
        work[zf + r] -= dot(load3(work, i + I_SHAPES + 6 * r + 3), f)
    n, f = force_to_joint(topo, work, k, n, f)
    store3(work, b + Z, n)
    store3(work, b + Z + 3, f)


@kernel
def inertia_to_parent(topo, work, k, columns):
    """Add the inertia at the joint of body k (SCRATCH, parent axes) to P, MU, DF (s >= r) of its parent.

    P(p) += phi Gamma phi^T, MU_r += phi Gamma pi_r, DF_rs += pi_r . Gamma pi_s, with pi the node map
    (the A(k) Gamma A(k)^T of Jain & Rodriguez, Eq. (63)).  The node map has `columns` columns.
    """
    b = topo[k + WORK]
    p = topo[k + PARENT]
    A, B, C = load_inertia(work, b + SCRATCH)
    o = load3(work, b + ORIGIN)
    if topo[k + ATTACHED] != RIGIDLY:
        m = topo[p + MODES]
        modal = topo[p + MODAL]
        mu = topo[modal + W_MU]
        df = topo[modal + W_DF]
        i = topo[k + W_NODE]
        for r in range(columns):
            n, f = apply_inertia(A, B, C, load3(work, i + 6 * r), load3(work, i + 6 * r + 3))
            for s in range(r, columns):
                work[df + r * m + s] += dot(n, load3(work, i + 6 * s)) + dot(
                    f, load3(work, i + 6 * s + 3)
                )
            accumulate3(work, mu + 6 * r, add(n, cross(o, f)))
            accumulate3(work, mu + 6 * r + 3, f)
    A, B, C = shift_inertia(o, A, B, C)
    accumulate_inertia(work, topo[p + WORK] + P, A, B, C)


@kernel
def force_to_parent(topo, work, k, columns, n, f):
    """Add the wrench at the joint of body k (parent axes) to Z and ZF of its parent.

    The node map has `columns` columns.
    """
    b = topo[k + WORK]
    p = topo[k + PARENT]
    if topo[k + ATTACHED] != RIGIDLY:
        zf = topo[topo[p + MODAL] + W_ZF]
        i = topo[k + W_NODE]
        for r in range(columns):
            work[zf + r] += dot(load3(work, i + 6 * r), n) + dot(load3(work, i + 6 * r + 3), f)
    n, f = shift_force(load3(work, b + ORIGIN), n, f)
    b = topo[p + WORK]
    accumulate3(work, b + Z, n)
    accumulate3(work, b + Z + 3, f)
