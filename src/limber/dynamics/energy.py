"""Energies and momentum."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import check_system, run, vectors


def kinetic_energy(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """v^T M(q) v / 2, in O(N).  q (..., nq), v (..., nv) -> (...)."""
    check_system(system)
    batch, (q, v) = vectors(system, q=(q, system.nq), v=(v, system.nv))
    out = np.empty((len(q), 1))
    run(system, system.dynamics, "kinetic_energy", (q, v), out)
    return out.reshape(batch)[()]


def potential_energy(system: System, q: ArrayLike) -> Array:
    """Elastic energy of the modes plus gravity, zero for undeformed bodies at the world origin.

    q (..., nq) -> (...).  Gravity sees the deformed geometry at either fidelity.
    """
    check_system(system)
    batch, (q,) = vectors(system, q=(q, system.nq))
    out = np.empty((len(q), 1))
    zero = np.zeros((len(q), system.nv))
    run(system, system.geometry, "potential_energy", (q, zero), out)
    return out.reshape(batch)[()]


def momentum(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """Momentum [angular; linear] about the world origin, world axes.  -> (..., 6); O(N)."""
    check_system(system)
    batch, (q, v) = vectors(system, q=(q, system.nq), v=(v, system.nv))
    out = np.empty((len(q), 6))
    run(system, system.dynamics, "momentum", (q, v), out)
    return out.reshape(*batch, 6)
