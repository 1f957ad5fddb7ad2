"""The forces of closures."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import Relation
from limber.assembly.system import System
from limber.checks import Array
from limber.constraints.mobility import loose_components
from limber.constraints.residual import check_closed
from limber.dynamics.evaluate import External, evaluated
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.freedoms import undeformed
from limber.dynamics.inverse import inverse_dynamics
from limber.dynamics.rows import row_space
from limber.errors import ModelWarning, warn

#: Rows are independent if corrections satisfy unit demands on them to this relative accuracy.
INDEPENDENT = 1e-10


def constraint_forces(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    external: External | None = None,
) -> dict[str, Array]:
    """The force that each closure exerts on its end b: {name: (..., 6)}, [moment, force] at that end in world axes.

    Arguments as in `forward_dynamics`, including `external`.  The opposite wrench, moved to end a, acts on end a.  A
    relation exerts a generalized force (...), which is multiplied by each of its coefficients.  If closures are
    redundant, their forces are not unique: those of least norm are returned, and a ModelWarning names the components
    that are not unique.  O(N) for each closure row in each state, and O(N^3) if the rows are redundant or nearly so.
    """
    check_closed(system, "constraint_forces")
    vdot = forward_dynamics(system, q, v, tau, external=external)
    force = inverse_dynamics(system, q, v, vdot, external=external) - np.asarray(tau, dtype=float)
    return closure_wrenches(system, q, force)


def closure_wrenches(system: System, q: ArrayLike, force: Array) -> dict[str, Array]:
    """The wrench of each closure on its end b if all of them together exert the generalized forces `force` (..., nv).

    These are forces or impulses, in the form of `constraint_forces`.
    """
    batch = force.shape[:-1]
    states = np.broadcast_to(np.asarray(q, dtype=float), (*batch, system.nq)).reshape(-1, system.nq)
    if system.fidelity == "ruthless":
        states = undeformed(system, states)
    found = np.zeros((len(states), len(system.closures), 6))
    loose: dict[str, np.ndarray] = {}
    with _threads(len(states)):
        for i, (state, f) in enumerate(zip(states, force.reshape(-1, system.nv))):
            lam = _independent_multipliers(system, state, f)
            if lam is not None:
                found[i] = evaluated(system, "wrenches", (state, lam))
                continue
            space = row_space(system, state)
            found[i] = evaluated(system, "wrenches", (state, space.multipliers(f)))
            if space.null.size:
                for name, components in loose_components(system, state, space).items():
                    loose[name] = loose.get(name, np.zeros(6, dtype=bool)) | components
    if loose:
        _warn_of_loose(system, loose)
    found = found.reshape(*batch, len(system.closures), 6)
    order = list(system.closure_rows)
    return {
        name: found[..., order.index(name), 0]
        if isinstance(closure, Relation)
        else found[..., order.index(name), :]
        for name, closure in system.closures.items()
    }


def _threads(states: int) -> AbstractContextManager:
    """A context in which BLAS has one thread if there are several states.

    The matrices are small.  If other programs keep the cores busy, threads would wait for each other, ten times as long
    as everything else takes.
    """
    if states == 1:
        return nullcontext()
    from limber.structures.threads import one_thread  # noqa: PLC0415 (structures are slow to import)

    return one_thread()


def _independent_multipliers(system: System, q: Array, force: Array) -> Array | None:
    """The multipliers with A^T lambda = force, by one O(N) sweep for each row; None unless all rows are independent.

    The corrections for unit demands, C = M^-1 A^T (A M^-1 A^T)^-1, have A C = 1, so C^T A^T lambda = lambda.
    """
    if system.fidelity != "full":
        return None
    unit = np.eye(system.rows)
    corrections = evaluated(system, "correction", (q, unit))
    off = evaluated(system, "row_rates", (q, corrections)) - unit
    return corrections @ force if np.abs(off).max(initial=0.0) <= INDEPENDENT else None


def _warn_of_loose(system: System, loose: dict[str, np.ndarray]) -> None:
    names = np.array(["mx", "my", "mz", "fx", "fy", "fz"])
    parts = [
        f"{name!r} ({', '.join(names[components])})"
        if not isinstance(system.closures[name], Relation)
        else f"{name!r}"
        for name, components in loose.items()
    ]
    warn(
        f"the closures of {system.name!r} are redundant, so some of their forces are not unique: {', '.join(parts)}. "
        "Those of least norm are returned; all other forces and all accelerations are unique.",
        ModelWarning,
    )
