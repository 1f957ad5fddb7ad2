"""Which sweep computes the forward dynamics of a system."""

from __future__ import annotations

from limber.assembly.system import System

#: Modes per body from which a ruthless system is faster with D_f inverted beforehand (`make bench`).
PRECOMPUTED_FROM = 8
#: The inverse made beforehand loses digits as the square of Omega Gamma: not used beyond this (1e-16 times
#: its square is 2e-11, and the bound is a generous one).
PRECOMPUTED_LOAD = 400.0


def accurate_sweeps(system: System) -> tuple[str, ...]:
    """The O(N) sweeps that give a system's forward dynamics to full accuracy; see `kernels.functions.SWEEPS`."""
    if system.fidelity == "ruthless" and system.dynamics.load <= PRECOMPUTED_LOAD:
        return "articulated", "precomputed"
    return ("articulated",)


def fastest_sweep(system: System) -> str:
    """The one of them that is fastest when compiled."""
    most = max(body.modes for body in system.bodies.values())
    many = most >= PRECOMPUTED_FROM
    return "precomputed" if many and "precomputed" in accurate_sweeps(system) else "articulated"
