"""States that satisfy the closures: projection of states that nearly do, and assembly from a rough guess."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, numbers, whole
from limber.constraints.residual import check_closed
from limber.dynamics.closing import MET, assembled, gap, nearly_met
from limber.dynamics.evaluate import evaluated
from limber.dynamics.freedoms import locked_joints, locked_speeds
from limber.dynamics.refusals import of_batch
from limber.dynamics.rows import worst
from limber.errors import ArgumentValueError, DynamicsError

#: The number of steps of a projection.
STEPS = 30
#: Closure rows that are slower than this fraction of the largest speed, or of 1, are at rest.
SLOW = 1e-9


def project(
    system: System, q: ArrayLike, v: ArrayLike | None = None, *, locked: Iterable[str] = ()
) -> Array | tuple[Array, Array]:
    """Change q, or (q, v), as little as possible so that the closures are satisfied; leading dimensions are a batch.

    The least change is the one of least kinetic energy: dv = M^{-1} A^T (A M^{-1} A^T)^{-1} A v, by O(N) sweeps; q
    takes such steps until the closures are satisfied.  For states that are far from satisfying them use `assemble`.

    locked : bodies whose joints keep their coordinates and speeds; M and A are then those of the other speeds.
    """
    check_closed(system, "project")
    held = locked_joints(system, locked)
    start = numbers("q", q, f"(..., {system.nq})")
    moved: Array = start.copy()
    off = evaluated(system, "violations", (moved,))
    size = gap(system, off)
    for _ in range(STEPS):
        if size <= MET:
            break
        following = evaluated(
            system, "integrate", (moved, _correction(system, moved, -off, held), np.ones(1))
        )
        off_next = evaluated(system, "violations", (following,))
        size_next = gap(system, off_next)
        if size_next >= size and nearly_met(system, start, off):
            break
        moved, off, size = following, off_next, size_next
    if not nearly_met(system, start, off):
        rows = off.reshape(-1, system.rows)
        i = int(np.abs(rows).max(axis=1).argmax())
        raise DynamicsError(
            f"project: the closures of {system.name!r} cannot be satisfied near this q{of_batch(i, len(rows))}: after "
            f"{STEPS} "
            f"steps {worst(system, rows[i])}. lb.assemble(system, q) can start farther away."
        )
    if v is None:
        return moved
    speeds = allowed_speeds(system, moved, v, held)
    if held:
        _refuse_speeds(system, moved, speeds)
    return moved, speeds


def allowed_speeds(
    system: System, q: ArrayLike, v: ArrayLike, held: tuple[int, ...] = (), restitution: float = 0.0
) -> Array:
    """Return v without the part that violates the closures, A v_new = -restitution A v; to rounding.

    One correction is exact except for rounding.  If closures connect bodies of very different mass, rounding is large,
    and more corrections help.
    """
    speeds = np.asarray(v, dtype=float)
    off = evaluated(system, "row_rates", (q, speeds))
    wanted = -restitution * off
    off = off - wanted
    for _ in range(STEPS):
        following = speeds - _correction(system, q, off, held)
        off_next = evaluated(system, "row_rates", (q, following)) - wanted
        if not np.abs(off_next).max(initial=0.0) < 0.5 * np.abs(off).max(initial=0.0):
            break
        speeds, off = following, off_next
    return speeds


def _correction(system: System, q: ArrayLike, rows: Array, held: tuple[int, ...]) -> Array:
    return evaluated(system, "correction", (q, rows), driven=held)


def _refuse_speeds(system: System, q: Array, v: Array) -> None:
    """Reject speeds of locked joints that the closures do not allow."""
    rates = evaluated(system, "row_rates", (q, v)).reshape(-1, system.rows)
    limit = SLOW * np.maximum(1.0, np.abs(v).max(axis=-1, initial=0.0)).reshape(-1)
    bad = np.flatnonzero(np.abs(rates).max(axis=-1, initial=0.0) > limit)
    if bad.size:
        i = int(bad[0])
        raise DynamicsError(
            f"project: the closures of {system.name!r} do not allow these speeds of the locked joints{of_batch(i, len(rates))}: "
            f"{worst(system, rates[i], 'has the velocity {:.3g} (rad/s or m/s)')}. Lock fewer joints."
        )


def assemble(
    system: System,
    q: ArrayLike | None = None,
    *,
    locked: Iterable[str] = (),
    trials: int = 20,
) -> Array:
    """Find a configuration that satisfies the closures, from a rough guess `q` or else from neutral().

    Joints move first, and modes only if that is not enough, by the Levenberg-Marquardt method with the least change of
    coordinates, measured in radians and fractions of the system's size.  If the search gets stuck, it restarts from
    random changes of the guess, `trials` times, with fixed seeds.

    locked : bodies whose joints keep their coordinates.
    """
    check_closed(system, "assemble")
    guess = system.neutral() if q is None else numbers("q", q, f"({system.nq},)").copy()
    if guess.shape != (system.nq,):
        raise ArgumentValueError(f"q must have shape ({system.nq},), got {guess.shape}.")
    trials = whole("trials", trials, 0)
    return assembled(system, guess, locked_speeds(system, locked), trials, "assemble")
