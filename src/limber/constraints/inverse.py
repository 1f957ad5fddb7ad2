"""The inverse mass matrix of a closed system."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.constraints.residual import check_closed
from limber.dynamics.evaluate import vectors
from limber.dynamics.rows import row_space
from limber.dynamics.sought import warn_where_missed


def constrained_inverse(system: System, q: ArrayLike) -> Array:
    """The inverse mass matrix of a closed system, W = M^{-1} - M^{-1} A^T (A M^{-1} A^T)^+ A M^{-1}.

    q (..., nq) -> (..., nv, nv): a change of tau by dtau changes vdot by W dtau.  W is symmetric and positive
    semidefinite, its rank is the number of degrees of freedom, A W = 0 and W M W = W.  With the basis T of
    `lb.freedoms`, W = T T^T.  Closures may be redundant.  O(N^3) in each state; `mass_matrix` is that of the tree.
    """
    check_closed(system, "constrained_inverse")
    batch, (states,) = vectors(system, q=(q, system.nq))
    found = np.empty((len(states), system.nv, system.nv))
    for i, state in enumerate(states):
        T = row_space(system, state).basis
        found[i] = T @ T.T
    warn_where_missed(system, q)
    return found.reshape(*batch, system.nv, system.nv)
