"""Initial states of closed systems, which must satisfy the closures or are rejected."""

from __future__ import annotations

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, listed
from limber.constraints import freedoms, project
from limber.dynamics.evaluate import evaluated
from limber.dynamics.following import follows, warn_of_loose_forces
from limber.dynamics.freedoms import locked_speeds, modal_speeds
from limber.dynamics.rows import closure_jacobian, row_units, worst
from limber.dynamics.small_motions import freedoms_if_singular
from limber.dynamics.sought import warn_where_missed
from limber.errors import ArgumentValueError, DynamicsError, ModelWarning, warn

#: Closures that are off by less than this, in rad and fractions of the system's size, or whose speeds are by this fraction of the
#: largest speed or of 1, are met by projection.
SMALL = 1e-6
#: Rows are independent if random demands on them are met to this fraction.
MET = 1e-6


def closed_state(
    system: System,
    q: Array,
    v: Array,
    what: str,
    speeds: str,
    instead: str,
    driven: tuple[str, ...] = (),
    following: bool = False,
) -> tuple[Array, Array]:
    """(q, v) on the closures of a system, which must be violated by no more than a small error.

    what, speeds : the configuration and its speeds in words.
    instead : the names (q, v) of what to give instead.
    driven : bodies whose joints stay as they are.
    following : whether the speeds of the other joints are those that follow from the driven ones, whatever v has.  Modes then
        move only if the joints alone cannot follow.
    """
    if not system.closures:
        return q, v
    locked = f", locked={list(driven)}" if driven else ""
    if off := apart(system, q):
        name = instead.split(", ", maxsplit=1)[0]
        raise ArgumentValueError(
            f"{what} does not satisfy the closures of {system.name!r}: {off}. Use {name} = lb.assemble(system, "
            f"guess{locked}), or lb.project(system, q{locked}) if q is nearly right."
        )
    rates = evaluated(system, "row_rates", (q, v))
    moved = np.abs(rates / row_units(system)).max(initial=0.0)
    slow = moved <= SMALL * max(1.0, np.abs(v).max(initial=0.0))
    if not slow and not following:
        said = worst(system, rates, "is off by {:.3g} (rad/s or m/s)")
        raise ArgumentValueError(
            f"{speeds} violates the closures of {system.name!r}: {said}. Use {instead} = lb.project(system, "
            f"{instead}{locked}), which changes them as little as possible."
        )
    if following and not slow:
        v = _without_modes(system, q, v, driven)
    try:
        q, v = project(system, q, v, locked=driven)
    except DynamicsError as error:
        if not driven:
            raise
        raise ArgumentValueError(
            f"motion: the closures of {system.name!r} cannot follow the motion of {listed(driven)} where it starts. {error}"
        ) from error
    return q, v


def _without_modes(system: System, q: Array, v: Array, driven: tuple[str, ...]) -> Array:
    """v with speeds of the free joints, of least kinetic energy, that satisfy the closures; v itself if modes must move too."""
    modes = modal_speeds(system)
    moving = ~locked_speeds(system, driven) & ~modes
    if not (modes.any() and moving.any()):
        return v
    A = closure_jacobian(system, q)
    M = evaluated(system, "mass_matrix", (q,))[np.ix_(moving, moving)]
    root = np.linalg.cholesky(M)
    speeds = v.copy()
    wanted = -A @ v
    unit = np.linalg.lstsq(np.linalg.solve(root, A[:, moving].T).T, wanted, rcond=MET)[0]
    speeds[moving] += np.linalg.solve(root.T, unit)
    left = np.abs(A @ speeds / row_units(system)).max(initial=0.0)
    return speeds if left <= SMALL * max(1.0, np.abs(speeds).max(initial=0.0)) else v


def apart(system: System, q: Array) -> str:
    """Describe the closure that q violates most, and its violation; empty if q satisfies them up to a small error."""
    if not system.closures:
        return ""
    off = evaluated(system, "violations", (q,))
    largest = np.abs(off / row_units(system)).max(initial=0.0)
    return "" if largest <= SMALL else worst(system, off)


def warn_of_redundancy(
    system: System, q: Array, driven: tuple[int, ...], when: str = "where the simulation starts"
) -> None:
    """Warn of closures whose rows depend on each other, with the rank and their names, and of too many driven joints.

    Rows are independent if a correction satisfies random demands on all of them, which takes O(N) to check.
    """
    if not system.closures:
        return
    demands = np.random.default_rng(0).normal(size=system.rows)
    answer = evaluated(system, "row_rates", (q, evaluated(system, "correction", (q, demands))))
    lost = np.abs(answer - demands).max()
    if lost > MET:
        found = freedoms(system, q)
        if found.redundant:
            parts = ", ".join(f"{count} of {name!r}" for name, count in found.redundant.items())
            motion = "The motion is unique nevertheless; not all of their forces are (lb.constraint_forces)."
            if freedoms_if_singular(system, q):
                motion = (
                    "The position is singular: nearby, the closures do not allow all of these degrees of freedom. The "
                    "motion continues in one of the ways that they allow; from rest it is not unique."
                )
            warn(
                f"the closures of {system.name!r} are redundant {when}: {found.rank} of {system.rows} rows "
                f"are independent, and {found.number} degree(s) of freedom remain. Redundant rows: {parts}. {motion}",
                ModelWarning,
            )
        else:
            warn(
                f"the closures of {system.name!r} are nearly dependent {when}: rounding changes their forces by a "
                f"fraction of about {lost:.0e}. The position is close to a singular one, or the closures connect bodies "
                "whose masses differ very much.",
                ModelWarning,
            )
    warn_where_missed(system, q)
    if driven and not follows(system, q, driven):
        warn_of_loose_forces(system, q, driven)
