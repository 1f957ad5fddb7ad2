"""Impulses of closures that become active: speeds jump, momentum is conserved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, listed, number, shown, suggestion
from limber.constraints.forces import closure_wrenches
from limber.constraints.projection import allowed_speeds
from limber.constraints.residual import check_closed
from limber.dynamics.closing import worst
from limber.dynamics.evaluate import evaluated
from limber.dynamics.inverse import inverse_dynamics
from limber.dynamics.rows import row_space
from limber.dynamics.sought import warn_where_missed
from limber.errors import ArgumentTypeError, ArgumentValueError, DynamicsError

#: The speeds after an impulse satisfy the closures to this fraction of the largest, or of 1.
MET = 1e-6


@dataclass(frozen=True, eq=False)
class Impulse:
    """The jump of the speeds when closures become active.

    v : (..., nv), the speeds after the jump.
    wrenches : {name: (..., 6)}, the impulse of each closure on its end b, [moment, force] times time, at that end in
        world axes; a relation has one number (...), as in `constraint_forces`.
    """

    v: Array
    wrenches: dict[str, Array]


def impulse(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    restitution: float = 0.0,
    closures: Iterable[str] | None = None,
) -> Impulse:
    """Compute the speeds after closures become active at q, if the speeds v violate them.

    Solves M (v_plus - v) = A^T p and A v_plus = -restitution * A v, by O(N) sweeps for v_plus, and for the impulses as
    in `constraint_forces`.  Momentum is conserved, except for what closures and joints on the world supply; kinetic
    energy never increases.  Closures that v satisfies remain satisfied.  A ruthless system gets the impulse of the full
    one: if bodies are deformed, the closures of the undeformed geometry would be violated, and momentum would not be
    conserved.

    restitution : from 0 (the ends stay together) to 1 (they separate as fast as they approached).
    closures : names of the active closures; all by default.
    """
    check_closed(system, "impulse")
    e = number("restitution", restitution, minimum=0.0)
    if e > 1.0:
        raise ArgumentValueError(f"restitution must lie between 0 and 1, got {e:g}.")
    if closures is not None:
        active = [system.closures[name] for name in _names(system, closures)]
        if not active:  # no jump, but the same checks and the same shape
            batch = evaluated(system, "row_rates", (q, v)).shape[:-1]
            speeds = np.asarray(v, dtype=float)
            return Impulse(np.broadcast_to(speeds, (*batch, system.nv)).copy(), {})
        system = system.closed_by(active)
    system = system.with_full_fidelity()
    rates = evaluated(system, "row_rates", (q, v))
    after = allowed_speeds(
        system, np.asarray(q, dtype=float), np.asarray(v, dtype=float), restitution=e
    )
    change = after - np.asarray(v, dtype=float)
    left = evaluated(system, "row_rates", (q, after)) + e * rates
    if np.abs(left).max(initial=0.0) > MET * max(1.0, np.abs(after).max(initial=0.0)):
        row = int(np.abs(left).reshape(-1, system.rows).max(axis=1).argmax())
        states = np.broadcast_to(np.asarray(q, dtype=float), (*left.shape[:-1], system.nq))
        row_space(system, states.reshape(-1, system.nq)[row])  # rejects masses that differ too much
        raise DynamicsError(
            f"impulse: no speeds were found that satisfy the closures of {system.name!r}: "
            f"{worst(system, left.reshape(-1, system.rows)[row], 'is off by {:.3g} (rad/s or m/s)')}. Their rows are redundant; "
            "leave out the constraints on motions that the joints between their ends do not allow anyway."
        )
    warn_where_missed(system, q)
    rest = np.zeros_like(change)
    # M change, in O(N)
    force = inverse_dynamics(system, q, rest, change) - inverse_dynamics(system, q, rest, rest)
    return Impulse(after, closure_wrenches(system, q, force))


def _names(system: System, closures: Iterable[str]) -> list[str]:
    """Names of closures, checked."""
    if isinstance(closures, str) or not isinstance(closures, Iterable):
        raise ArgumentTypeError(f"closures must be a list of names, got {shown(closures)}.")
    names = list(closures)
    for name in names:
        if name not in system.closures:
            raise ArgumentValueError(
                f"closures: {system.name!r} has no closure {shown(name)}.{suggestion(str(name), system.closures)} It has: "
                f"{listed(system.closures)}."
            )
    return names
