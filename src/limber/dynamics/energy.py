"""Energies and momentum."""

from __future__ import annotations

from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import NOT_READY, evaluated


def kinetic_energy(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """The kinetic energy v^T M(q) v / 2, in O(N).  q (..., nq), v (..., nv) -> (...)."""
    try:
        answer = system._ready["kinetic_energy"](q, v)
    except NOT_READY:
        answer = None
    if answer is None:
        answer = evaluated(system, "kinetic_energy", (q, v), key="kinetic_energy")
    return answer


def potential_energy(system: System, q: ArrayLike) -> Array:
    """The potential energy of modes, gravity, and springs and stops of joints.

    Without springs and stops it is zero for undeformed bodies at the world origin.

    q (..., nq) -> (...).  The deformed geometry is used at either fidelity.
    """
    try:
        answer = system._ready["potential_energy"](q)
    except NOT_READY:
        answer = None
    if answer is None:
        answer = evaluated(system, "potential_energy", (q,), key="potential_energy")
    return answer


def momentum(system: System, q: ArrayLike, v: ArrayLike) -> Array:
    """The momentum [angular; linear] about the world origin, in world axes.  -> (..., 6); O(N)."""
    try:
        answer = system._ready["momentum"](q, v)
    except NOT_READY:
        answer = None
    return evaluated(system, "momentum", (q, v), key="momentum") if answer is None else answer
