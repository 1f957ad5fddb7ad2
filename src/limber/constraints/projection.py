"""States that meet the closures: projection of states that nearly do, and assembly from a rough guess."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, numbers
from limber.constraints.residual import check_closed, worst
from limber.dynamics.evaluate import evaluated
from limber.dynamics.freedoms import locked_speeds
from limber.dynamics.rows import closure_jacobian
from limber.errors import ArgumentValueError, DynamicsError

#: Violations below this are met, in rad and m.
MET = 1e-12
#: Where steps bring no more, violations below this are met as well.
NEARLY_MET = 1e-9
STEPS = 30


def project(
    system: System, q: ArrayLike, v: ArrayLike | None = None
) -> Array | tuple[Array, Array]:
    """q, or (q, v), changed as little as possible so that the closures are met; leading dimensions are a batch.

    Least change means least kinetic energy of the change: dv = M^{-1} A^T (A M^{-1} A^T)^{-1} A v, by O(N) sweeps; q
    takes such steps until the closures are met.  For states that are far off use `assemble`.
    """
    check_closed(system, "project")
    moved: Array = numbers("q", q, f"(..., {system.nq})")
    off = evaluated(system, "violations", (moved,))
    size = np.abs(off).max(initial=0.0)
    for _ in range(STEPS):
        if size <= MET:
            break
        following = evaluated(
            system, "integrate", (moved, evaluated(system, "correction", (moved, -off)), np.ones(1))
        )
        off_next = evaluated(system, "violations", (following,))
        size_next = np.abs(off_next).max(initial=0.0)
        if size_next >= size and size <= NEARLY_MET:
            break
        moved, off, size = following, off_next, size_next
    if not size <= NEARLY_MET:
        i = np.unravel_index(np.abs(off).max(axis=-1).argmax(), off.shape[:-1])
        raise DynamicsError(
            f"project: the closures of {system.name!r} cannot be met near this q: after {STEPS} steps "
            f"{worst(system, off[i])}. lb.assemble(system, q) starts farther away."
        )
    if v is None:
        return moved
    rates = evaluated(system, "row_rates", (moved, v))
    return moved, np.asarray(v, dtype=float) - evaluated(system, "correction", (moved, rates))


def assemble(
    system: System,
    q: ArrayLike | None = None,
    *,
    locked: Iterable[str] = (),
    trials: int = 20,
) -> Array:
    """A configuration that meets the closures, from a rough guess `q`; from neutral() without one.

    Joints move first and modes only if that is not enough, by Levenberg and Marquardt's method with the least change
    of coordinates.  Where it gets stuck it starts again from random changes of the guess, `trials` times, seeds fixed.

    locked : bodies whose joints keep their coordinates.
    """
    check_closed(system, "assemble")
    guess = system.neutral() if q is None else numbers("q", q, f"({system.nq},)")
    if guess.shape != (system.nq,):
        raise ArgumentValueError(f"q must have shape ({system.nq},), got {guess.shape}.")
    held = locked_speeds(system, locked)
    modes = np.zeros(system.nv, dtype=bool)
    for where in system.layout.values():
        modes[where.v_modes] = True
    best: tuple[float, Array] = (np.inf, guess)
    random = np.random.default_rng(0)
    for trial in range(trials + 1):
        start = guess
        if trial:
            change = random.normal(size=system.nv) * (0.05 * 1.3**trial)
            start = evaluated(
                system, "integrate", (guess, np.where(held | modes, 0.0, change), np.ones(1))
            )
        for moving in (~held & ~modes, ~held):
            found = _closed(system, start, moving)
            if found[0] < best[0]:
                best = found
            if best[0] <= NEARLY_MET:
                return best[1]
            if not modes.any():
                break
    off = evaluated(system, "violations", (best[1],))
    raise DynamicsError(
        f"assemble: the closures of {system.name!r} cannot be met from this guess: the closest that was found has "
        f"{worst(system, off)}. Give a better guess, lock fewer joints, or check lengths and offsets."
    )


def _closed(system: System, q: Array, moving: np.ndarray) -> tuple[float, Array]:
    """The largest violation and q, after steps of the `moving` speeds."""
    off = evaluated(system, "violations", (q,))
    damping = 1e-3
    for _ in range(200):
        size = float(np.abs(off).max())
        if size <= MET:
            break
        A = closure_jacobian(system, q)[:, moving]
        step = np.zeros(system.nv)
        square = A @ A.T
        scale = max(float(np.trace(square)) / len(square), 1e-30)
        level = damping * scale * min(1.0, float(off @ off))
        step[moving] = (
            -A.T @ np.linalg.lstsq(square + level * np.eye(len(square)), off, rcond=1e-14)[0]
        )
        step *= min(1.0, 1.0 / max(float(np.abs(step).max()), 1e-300))
        q_next = evaluated(system, "integrate", (q, step, np.ones(1)))
        off_next = evaluated(system, "violations", (q_next,))
        if off_next @ off_next < off @ off:
            q, off, damping = q_next, off_next, max(damping / 5.0, 1e-12)
        elif damping > 1e6 or size <= NEARLY_MET:
            break
        else:
            damping *= 10.0
    return float(np.abs(off).max()), q
