"""The choice of the sweep that computes the forward dynamics of a system."""

from __future__ import annotations

from limber.assembly.system import System

#: The number of modes of a body from which a ruthless system is faster with D_f inverted beforehand (`make bench`).
PRECOMPUTED_FROM = 8
#: The precomputed inverse loses digits in proportion to the square of Omega Gamma, so it is not used beyond this value
#: (1e-16 times its square is 2e-11, and the bound of Omega Gamma is a generous one).
PRECOMPUTED_LOAD = 400.0


def accurate_sweeps(system: System) -> tuple[str, ...]:
    """The O(N) sweeps that give a system's forward dynamics to full accuracy; see `kernels.functions.SWEEPS`."""
    if system.closures:
        return ("closed",)
    if system.fidelity == "ruthless" and system.dynamics.load <= PRECOMPUTED_LOAD:
        return "articulated", "precomputed"
    return ("articulated",)


def fastest_sweep(system: System) -> str:
    """The fastest of the accurate sweeps when compiled."""
    if system.closures:
        return "closed"
    most = max(body.modes for body in system.bodies.values())
    many = most >= PRECOMPUTED_FROM
    return "precomputed" if many and "precomputed" in accurate_sweeps(system) else "articulated"
