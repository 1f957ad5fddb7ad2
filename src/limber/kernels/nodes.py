"""Nodes: where the modes take them.

This file alone reads node records.  A node record `node` of body k is at l = l0 + gamma eta + 1/2 eta^T B eta in the
body frame and turned by exp(x~), x = lambda eta; column r of lambda and gamma is what one unit of mode r does to it.
B is there only for bodies with second-order shapes.
"""

from .layout import B_NODE, BENT, MODES, NODE_POSITION, NODE_SHAPES, Q_MODES, V_MODES
from .scalar import kernel
from .second import between, row_times
from .vec import add, axpy, load3


@kernel
def undeformed(const, node):
    """l0."""
    return load3(const, node + NODE_POSITION)


@kernel
def shape(const, node, r):
    """Rotation and displacement by one unit of mode r of the undeformed body: lambda_r, gamma_r."""
    s = node + NODE_SHAPES + 6 * r
    return load3(const, s), load3(const, s + 3)


@kernel
def second(topo, k, node):
    """Where B begins."""
    return node + topo[topo[k + BENT] + B_NODE]


@kernel
def shape_at(topo, const, q, k, node, r):
    """dx/deta_r and dl/deta_r at eta: lambda_r, gamma_r + (B eta)_r."""
    turn, shift = shape(const, node, r)
    if topo[k + BENT] != 0:
        shift = add(
            shift, row_times(topo, const, k, second(topo, k, node), r, q, topo[k + Q_MODES])
        )
    return turn, shift


@kernel
def combined(const, node, m, a, i):
    """lambda a and gamma a with the m numbers a[i:]."""
    turn = (0.0, 0.0, 0.0)
    shift = (0.0, 0.0, 0.0)
    for r in range(m):
        turning, shifting = shape(const, node, r)
        turn = axpy(a[i + r], turning, turn)
        shift = axpy(a[i + r], shifting, shift)
    return turn, shift


@kernel
def deformed(topo, const, q, k, node):
    """x and l."""
    e = topo[k + Q_MODES]
    x, shift = combined(const, node, topo[k + MODES], q, e)
    if topo[k + BENT] != 0:
        shift = axpy(0.5, between(topo, const, k, second(topo, k, node), q, e, q, e), shift)
    return x, add(undeformed(const, node), shift)


@kernel
def rates(topo, const, q, v, k, node):
    """x_dot and l_dot, and what l_dd is where eta_dd is zero: eta_dot^T B eta_dot."""
    ed = topo[k + V_MODES]
    xd, ld = combined(const, node, topo[k + MODES], v, ed)
    drift = (0.0, 0.0, 0.0)
    if topo[k + BENT] != 0:
        ld = add(ld, between(topo, const, k, second(topo, k, node), v, ed, q, topo[k + Q_MODES]))
        drift = between(topo, const, k, second(topo, k, node), v, ed, v, ed)
    return xd, ld, drift


@kernel
def accelerations(topo, const, q, v, vdot, k, node):
    """x_dd and l_dd."""
    ed = topo[k + V_MODES]
    xdd, ldd = combined(const, node, topo[k + MODES], vdot, ed)
    if topo[k + BENT] != 0:
        ldd = add(
            ldd, between(topo, const, k, second(topo, k, node), vdot, ed, q, topo[k + Q_MODES])
        )
        ldd = add(ldd, between(topo, const, k, second(topo, k, node), v, ed, v, ed))
    return xdd, ldd
