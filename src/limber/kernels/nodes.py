"""Nodes: where the modes take them.

This file alone reads node records.  A node of a body with m modes is at l = l0 + gamma eta and turned by
exp(x~), x = lambda eta; column r of lambda and gamma is what one unit of mode r does to it.  eta is q[i : i + m],
its rates are v[e : e + m] and vdot[e : e + m].

A term of l of second order in eta changes the functions below and none of their callers, which is why these
take all of eta, eta_dot and eta_dd that such a term depends on.
"""

from .layout import NODE_POSITION, NODE_SHAPES
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
def shape_at(const, node, m, q, i, r):
    """dx/deta_r and dl/deta_r at eta: lambda_r, gamma_r."""
    return shape(const, node, r)


@kernel
def combined(const, node, m, a, i):
    """lambda a and gamma a, with a = a[i : i + m]."""
    turn = (0.0, 0.0, 0.0)
    shift = (0.0, 0.0, 0.0)
    for r in range(m):
        turning, shifting = shape(const, node, r)
        turn = axpy(a[i + r], turning, turn)
        shift = axpy(a[i + r], shifting, shift)
    return turn, shift


@kernel
def deformed(const, node, m, q, i):
    """x and l at eta."""
    x, shift = combined(const, node, m, q, i)
    return x, add(undeformed(const, node), shift)


@kernel
def rates(const, node, m, q, i, v, e):
    """x_dot and l_dot, and what l_dd is where eta_dd is zero: nothing, since l is linear in eta."""
    xd, ld = combined(const, node, m, v, e)
    return xd, ld, (0.0, 0.0, 0.0)


@kernel
def accelerations(const, node, m, q, i, v, vdot, e):
    """x_dd and l_dd."""
    return combined(const, node, m, vdot, e)
