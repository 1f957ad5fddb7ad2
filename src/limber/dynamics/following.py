"""Whether closures allow a prescribed motion of joints, and whether the resulting forces are unique.

With the columns A_f and A_d of the closure rows for free and driven speeds, A_f vdot_f = -A_d vdot_d - a0 must have a
solution.  It has one for every vdot_d if the columns of A_f span those of A; then the forces that the motion requires
are unique.  Otherwise more joints are driven than the closures leave free: single motions may be possible, but a
combination n of multipliers with A_f^T n = 0 exerts forces on driven joints alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, listed
from limber.dynamics.evaluate import evaluated, vectors
from limber.dynamics.freedoms import undeformed
from limber.dynamics.reach import reach, turning
from limber.dynamics.refusals import of_batch
from limber.dynamics.rows import DEPENDENT, NOTHING, closure_jacobian, row_digits, worst
from limber.errors import ArgumentValueError, ModelWarning, warn

#: Free joints follow driven ones if they meet a random demand to this fraction.
MET = 1e-6
#: Accelerations that break a closure by more than this fraction of those of its rows are rejected.
BROKEN = 1e-6
#: A component of a unit combination of multipliers below this counts as zero.
NONE = 1e-7


def follows(system: System, q: Array, driven: tuple[int, ...]) -> np.ndarray:
    """For each configuration (states, nq), whether free joints can follow every motion of the driven ones, in O(N).

    The free speeds must be able to produce the change of the rows due to random speeds of all joints.  Rows that move
    nothing except by rounding require nothing.
    """
    where = undeformed(system, q) if system.fidelity == "ruthless" else q
    speeds = np.random.default_rng(0).normal(size=system.nv) * reach(system)
    demand = evaluated(system, "row_rates", (where, speeds))
    change = evaluated(system, "correction", (where, demand), driven=driven)
    missed = evaluated(system, "row_rates", (where, change)) - demand
    largest = np.abs(demand).max(axis=-1, initial=0.0, keepdims=True)
    rounding = row_digits(system, q) * np.sqrt(system.nv)
    return (np.abs(missed) <= MET * largest + rounding).all(axis=-1)


def check_motion(
    system: System, q: ArrayLike, v: ArrayLike, vdot: Array, driven: tuple[int, ...], forces: bool
) -> None:
    """Reject accelerations vdot (..., nv) of driven joints that violate closures, with the result for the others.

    forces : whether the forces that the motion requires are requested: a ModelWarning says where they are not unique.
    """
    nv = system.nv
    _, (states, speeds, rates) = vectors(system, q=(q, system.nq), v=(v, nv), vdot=(vdot, nv))
    stiff = np.flatnonzero(~follows(system, states, driven)).tolist()
    for i in stiff:
        which = of_batch(i, len(states))
        _refuse_broken(system, states[i], speeds[i], rates[i], driven, which)
    if forces and stiff:
        warn_of_loose_forces(system, states[stiff[0]], driven)


def _refuse_broken(
    system: System, q: Array, v: Array, vdot: Array, driven: tuple[int, ...], which: str
) -> None:
    held = driven_speeds(system, driven)
    parts = np.array([vdot, np.where(held, vdot, 0.0), np.zeros(system.nv)])
    off, *sizes = evaluated(system, "row_accelerations", (q, v, parts))
    # at rest all parts are zero, and what is left of balanced forces is rounding; in motion, so is that of the positions of the ends
    turns = turning(system)
    moved = row_digits(system, q) * (turns @ np.abs(vdot) + (turns @ np.abs(v)) ** 2)
    rounding = moved + NOTHING * max(1.0, float(np.linalg.norm(system.gravity)))
    if (np.abs(off) > np.maximum(BROKEN * np.abs(sizes).max(), rounding)).any():
        said = worst(system, off, "would have the acceleration {:.3g} (rad/s^2 or m/s^2)")
        raise ArgumentValueError(
            f"motion: the closures of {system.name!r} cannot follow the motion of {loose_names(system, q, driven)}{which}: "
            f"{said}. More joints are driven than the closures leave free: drive fewer of them, or give rates that the "
            "closures allow."
        )


def refuse_tight(system: System, q: Array, driven: tuple[int, ...]) -> None:
    """Reject configurations (n, nq) next to which the rates of the driven joints would violate the closures."""
    if not driven:
        return
    for i in np.flatnonzero(~follows(system, q, driven)).tolist():
        raise ArgumentValueError(
            f"motion: more joints of {system.name!r} are driven than its closures leave free{of_batch(i, len(q))}, so the rates of "
            f"{loose_names(system, q[i], driven)} cannot be inputs of their own, and in other states the closures do not "
            "allow them. Drive fewer of these joints."
        )


def warn_of_loose_forces(system: System, q: Array, driven: tuple[int, ...]) -> None:
    """Warn that more joints are driven than the closures leave free."""
    warn(
        f"more joints of {system.name!r} are driven than its closures leave free, so the forces needed for "
        f"the motion of {loose_names(system, q, driven)} are not unique: one possible set is returned. The "
        "accelerations and all other driving forces are unique.",
        ModelWarning,
    )


def driven_speeds(system: System, driven: tuple[int, ...]) -> np.ndarray:
    """For each speed, whether it belongs to a driven joint."""
    held = np.zeros(system.nv, dtype=bool)
    for number, where in enumerate(system.layout.values(), 1):
        if number in driven:
            held[where.v_joint] = True
    return held


def loose_names(system: System, q: Array, driven: tuple[int, ...]) -> str:
    """The driven joints on which closures can exert forces that do not move any free joint, in words."""
    A, held = closure_jacobian(system, q), driven_speeds(system, driven)
    size = np.linalg.norm(A, axis=1, keepdims=True)
    unit = A / np.where(size > 0.0, size, 1.0)
    U, s, _ = np.linalg.svd(unit[:, ~held])
    null = U[:, int((s > DEPENDENT * max(s.max(initial=0.0), NONE)).sum()) :]
    loose = np.abs(null.T @ unit).max(axis=0, initial=0.0) > NONE
    names = [name for name, where in system.layout.items() if (held & loose)[where.v_joint].any()]
    every = [name for name, where in system.layout.items() if held[where.v_joint].any()]
    return listed(names or every)
