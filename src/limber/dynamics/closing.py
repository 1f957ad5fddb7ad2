"""Configurations that satisfy closures: found from a rough guess, or restored nearby."""

from __future__ import annotations

import numpy as np

from limber.assembly.extent import extent
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import evaluated, with_starts_at
from limber.dynamics.freedoms import modal_speeds
from limber.dynamics.reach import reach
from limber.dynamics.rows import DEPENDENT, closure_jacobian, fine_units, row_units, worst
from limber.errors import ArgumentValueError, DynamicsError

#: Violations below this are met, in rad and m, or fractions of the system's size if that is below 1 m.
MET = 1e-12
#: Where steps no longer help, violations below this are accepted as well, and so are those below the second times the largest
#: coordinate or the system's size, because positions have no more digits.
NEARLY_MET, ROUNDED = 1e-9, 1e-13
#: Steps of a search from a guess, and of a restoration nearby.
STEPS, NEARBY = 200, 12
#: A violation below this fraction of a radian and of the system's size is one of a configuration that should meet the
#: closures, and so is a start whose violation is below the second: it is changed a little, not assembled.
SLIGHT, CLOSE = 1e-6, 1e-3
#: How often the assembly of a start begins again from random changes.
TRIALS = 20


def gap(system: System, off: Array) -> float:
    """The largest of the violations `off`, in rad and m, or fractions of the system's size if that is below 1 m."""
    return float(np.abs(off / fine_units(system)).max(initial=0.0))


def nearly_met(system: System, q: Array, off: Array) -> bool:
    """Whether violations `off` are as small as rounding allows near q, or near a batch of q."""
    digits = ROUNDED * max(extent(system), float(np.abs(q).max(initial=0.0)))
    limits = np.maximum(NEARLY_MET * fine_units(system), digits)
    return bool((np.abs(off) <= limits).all())


def assembled(system: System, guess: Array, held: np.ndarray, trials: int, function: str) -> Array:
    """Find a configuration that satisfies the closures, as `lb.assemble`; `held` says which speeds do not move."""
    modes, lengths = modal_speeds(system), reach(system)
    best: tuple[float, Array] = (np.inf, guess)
    random = np.random.default_rng(0)
    for trial in range(trials + 1):
        start = guess
        if trial:
            change = random.normal(size=system.nv) * (0.05 * 1.3**trial) * lengths
            start = evaluated(
                system, "integrate", (guess, np.where(held | modes, 0.0, change), np.ones(1))
            )
        for moving in (~held & ~modes, ~held):
            q = searched(system, start, moving)
            off = evaluated(system, "violations", (q,))
            if nearly_met(system, guess, off):
                return q
            best = min(best, (gap(system, off), q), key=lambda found: found[0])
            if not modes.any():
                break
    off = evaluated(system, "violations", (best[1],))
    raise DynamicsError(
        f"{function}: the closures of {system.name!r} cannot be satisfied from this guess: at the closest "
        f"configuration found, {worst(system, off)}. Give a better guess, lock fewer joints, or check lengths "
        "and offsets."
    )


def searched(system: System, q: Array, moving: np.ndarray) -> Array:
    """Move q by steps of the `moving` speeds, in radians and fractions of the system's size, towards the closures."""
    start, units = q, fine_units(system)
    off = evaluated(system, "violations", (q,)) / units
    lengths = reach(system)[moving]
    damping = 1e-3
    for _ in range(STEPS):
        if np.abs(off).max(initial=0.0) <= MET:
            break
        A = closure_jacobian(system, q)[:, moving] * lengths / units[:, None]
        square = A @ A.T
        scale = max(float(np.trace(square)) / len(square), 1e-30)
        level = damping * scale * min(1.0, float(off @ off))
        change = -A.T @ np.linalg.lstsq(square + level * np.eye(len(square)), off, rcond=1e-14)[0]
        step = np.zeros(system.nv)
        step[moving] = lengths * change / max(1.0, float(np.abs(change).max(initial=0.0)))
        q_next = evaluated(system, "integrate", (q, step, np.ones(1)))
        off_next = evaluated(system, "violations", (q_next,)) / units
        if off_next @ off_next < off @ off:
            q, off, damping = q_next, off_next, max(damping / 5.0, 1e-12)
        elif damping > 1e6 or nearly_met(system, start, units * off):
            break
        else:
            damping *= 10.0
    return q


def closed_start(function: str, system: System, q: Array, moving: np.ndarray, guess: bool) -> Array:
    """Find a configuration that satisfies the closures, from one that should, or from a guess.

    moving : indices of the speeds that may move.
    """
    off = evaluated(system, "violations", (q,))
    size = gap(system, off)
    if not guess and np.abs(off / row_units(system)).max() > SLIGHT:
        raise ArgumentValueError(
            f"lb.{function}: q does not satisfy the closures of {system.name!r}: {worst(system, off)}. "
            "lb.project(system, q) or lb.assemble(system, q) finds a configuration that does."
        )
    if size <= MET:
        return q
    if size <= CLOSE:
        try:
            return restored(system, q, moving)
        except DynamicsError:
            if not guess:
                return q
    held = np.ones(system.nv, dtype=bool)
    held[moving] = False
    return assembled(system, q, held, TRIALS, function)


def restored(system: System, q: Array, moving: np.ndarray) -> Array:
    """Move q as little as possible so that the closures are satisfied; a `DynamicsError` if that fails nearby.

    moving : indices of the speeds that may move.  Their changes are measured in radians and fractions of the system's
        size.
    """
    system = with_starts_at(system, q, "the search for a configuration nearby")
    start, off = q, evaluated(system, "violations", (q,))
    size = gap(system, off)
    lengths = reach(system)[moving]
    for _ in range(NEARBY):
        if size <= MET:
            return q
        step = np.zeros(system.nv)
        A = closure_jacobian(system, q)[:, moving] * lengths
        rows = np.linalg.norm(A, axis=1)  # radians and metres: rank is that of rows of unit size
        unit = 1.0 / np.where(rows > 0.0, rows, 1.0)
        step[moving] = -lengths * np.linalg.lstsq(unit[:, None] * A, unit * off, rcond=DEPENDENT)[0]
        q_next = evaluated(system, "integrate", (q, step, np.ones(1)))
        off_next = evaluated(system, "violations", (q_next,))
        size_next = gap(system, off_next)
        if size_next >= size:
            break
        q, off, size = q_next, off_next, size_next
    if not nearly_met(system, start, off):
        raise DynamicsError(
            f"the closures of {system.name!r} cannot be satisfied near this q: {worst(system, off)}."
        )
    return q
