"""Nodes: where the modes take them.

This file alone reads node records.  A node record `node` of body k is at l = l0 + gamma eta in the body frame and
turned by exp(x~), x = lambda eta; column r of lambda and gamma is what one unit of mode r does to it.

A term of l of second order in eta changes the functions below and none of their callers, which is why they are
given q, v and vdot where such a term depends on eta, eta_dot and eta_dd.
"""

from .layout import MODES, NODE_POSITION, NODE_SHAPES, Q_MODES, V_MODES
from .scalar import kernel
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
def shape_at(topo, const, q, k, node, r):
    """dx/deta_r and dl/deta_r at eta: lambda_r, gamma_r."""
    return shape(const, node, r)


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
    x, shift = combined(const, node, topo[k + MODES], q, topo[k + Q_MODES])
    return x, add(undeformed(const, node), shift)


@kernel
def rates(topo, const, q, v, k, node):
    """x_dot and l_dot, and what l_dd is where eta_dd is zero: nothing, since l is linear in eta."""
    xd, ld = combined(const, node, topo[k + MODES], v, topo[k + V_MODES])
    return xd, ld, (0.0, 0.0, 0.0)


@kernel
def accelerations(topo, const, q, v, vdot, k, node):
    """x_dd and l_dd."""
    return combined(const, node, topo[k + MODES], vdot, topo[k + V_MODES])
