"""Energies and momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import check_system, of_position


def kinetic_energy(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """v^T M(q) v / 2, in O(N).  q (..., nq), v (..., nv) -> (...)."""
    check_system(system)
    return of_position(system, system.dynamics, "kinetic_energy", q, v, ())[()]


def potential_energy(system: System, q: ArrayLike) -> Array:
    """Elastic energy of the modes plus gravity, zero for undeformed bodies at the world origin.

    q (..., nq) -> (...).  Gravity sees the deformed geometry at either fidelity.
    """
    check_system(system)
    return of_position(system, system.geometry, "potential_energy", q, np.zeros(system.nv), ())[()]


def momentum(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """Momentum [angular; linear] about the world origin, world axes.  -> (..., 6); O(N)."""
    check_system(system)
    return of_position(system, system.dynamics, "momentum", q, v, (6,))
