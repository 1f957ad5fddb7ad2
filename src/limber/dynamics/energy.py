"""Energies and momentum."""

from __future__ import annotations

from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import check_system, of_motion, of_position, short


def kinetic_energy(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """v^T M(q) v / 2, in O(N).  q (..., nq), v (..., nv) -> (...)."""
    answer = short(system, "kinetic_energy", q, v)
    if answer is None:
        check_system(system)
        answer = of_motion(system, system.dynamics, "kinetic_energy", q, v, ())
    return answer[()]


def potential_energy(system: System, q: ArrayLike) -> Array:
    """Elastic energy of the modes plus gravity, zero for undeformed bodies at the world origin.

    q (..., nq) -> (...).  Gravity sees the deformed geometry at either fidelity.
    """
    answer = short(system, "potential_energy", q)
    if answer is None:
        check_system(system)
        answer = of_position(system, system.geometry, "potential_energy", q, ())
    return answer[()]


def momentum(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """Momentum [angular; linear] about the world origin, world axes.  -> (..., 6); O(N)."""
    answer = short(system, "momentum", q, v)
    if answer is not None:
        return answer
    check_system(system)
    return of_motion(system, system.dynamics, "momentum", q, v, (6,))
