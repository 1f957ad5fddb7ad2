"""The forces on a system at rest or in a steady motion, and the degrees of freedom in which they must balance.

`equilibrium`, `modes` and similar functions state their problem here: arguments are checked, and the forces that
closures carry are found.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.extent import extent
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.closing import closed_start, restored
from limber.dynamics.closure_loads import (
    closure_forces,
    closure_loads,
    closure_stiffness,
    relation_forces,
)
from limber.dynamics.evaluate import External, check_system, evaluated, named_wrenches, vectors
from limber.dynamics.freedoms import free_speeds
from limber.dynamics.inverse import forces_at_rest, inverse_dynamics
from limber.dynamics.kinematics import integrate
from limber.dynamics.reach import reach
from limber.dynamics.refusals import refuse, refuse_infinite
from limber.dynamics.rows import carried, closure_jacobian, worst
from limber.dynamics.stiffness import (
    load_forces,
    load_stiffness,
    modal_stiffness,
    own_stiffness_and_damping,
)
from limber.errors import ArgumentValueError
from limber.native.status import NOT_FINITE

#: Where all forces vanish, this fraction of those at the start is their scale.
VANISHED = 1e-6
#: A joint that is slower than this fraction of the fastest does not move far in the course of a motion.
SLOW = 1e-6
#: The forces of a motion that change by more than this fraction of those present do not belong to a steady one.
STEADY = 1e-7


@dataclass(frozen=True, eq=False)
class Statics:
    """The forces on a system, and the degrees of freedom in which they must balance.

    least : the scale (nv,) of forces that vanish during the search.
    """

    system: System
    v: Array
    tau: Array
    external: External | None
    free: np.ndarray
    least: Array | float = 0.0

    @property
    def moving(self) -> bool:
        """Whether there are nonzero speeds."""
        return bool(np.any(self.v))

    @property
    def carried(self) -> bool:
        """Whether there are closures, which carry a part of the forces."""
        return bool(self.system.closures)

    def multipliers(self, q: Array, exactly: np.ndarray | None = None) -> Array | None:
        """The closure forces, (rows,), that minimize the imbalance in the free degrees of freedom, or None.

        exactly : for each speed, whether its force must be balanced completely before those of others; all by default.

        The imbalance is measured in units of work, forces times the reach of their degrees of freedom.  Without
        closures the result is None.
        """
        if not self.carried:
            return None
        free = self.free
        first = np.ones(len(free), dtype=bool) if exactly is None else exactly[free]
        lengths = reach(self.system)[free]
        A = closure_jacobian(self.system, q)[:, free] * lengths
        lam, _ = carried(A, lengths * self.residual(q)[free], first, np.ones(len(free)))
        return lam

    def residual(self, q: Array, lam: Array | None = None) -> Array:
        """The unbalanced forces (nv,), or (n, nv) for several q, including closure forces."""
        r = forces_at_rest(self.system, q, self.v, self.external) - self.tau
        return r if lam is None else r - closure_forces(self.system, q, lam)

    def loads(self, q: Array, lam: Array | None = None) -> External | None:
        """The external wrenches, and those of closures."""
        return self.external if lam is None else closure_loads(self.system, q, lam, self.external)

    def sizes(self, q: Array, lam: Array | None = None) -> Array:
        """The size of the forces on each degree of freedom that balance in equilibrium, (nv,)."""
        s = self.system
        v = self.v if self.moving else None
        M = evaluated(s, "mass_matrix", (q,), anyhow=True)
        size = load_forces(s, q, M, v, self.loads(q, lam)) + np.abs(self.tau)
        size += np.abs(evaluated(s, "joint_forces", (q, self.v)))
        if lam is not None:
            size += np.abs(relation_forces(s, lam))
        elastic = modal_stiffness(s)
        for where in s.layout.values():
            size[where.v_modes] += np.abs(elastic[where.v_modes, where.v_modes]) @ np.abs(
                q[where.q_modes]
            )
        lengths = reach(s)
        # rounding of the largest forces affects all degrees of freedom
        work = (size * lengths)[self.free].max(initial=0.0)
        return np.maximum(size + 1e-5 * work / lengths, self.least)

    def stiffness(self, q: Array, lam: Array | None = None) -> tuple[Array, Array]:
        """The derivative (nv, nv) of the residual at constant multipliers, and its elastic part."""
        v = self.v if self.moving else None
        elastic, _ = own_stiffness_and_damping(self.system, q, self.v)
        slope = elastic + load_stiffness(self.system, q, v, self.external)
        if lam is not None:
            slope += closure_stiffness(self.system, q, lam)
        return slope, elastic

    def started(self, q: Array) -> Statics:
        """The same problem with the scale of the forces at q, where a search starts."""
        here = replace(self, least=0.0)
        return replace(here, least=VANISHED * here.sizes(q, here.multipliers(q)))

    def moved(self, q: Array, step: Array, part: float) -> Array:
        """q after a fraction of a step, with the closures satisfied again."""
        there = integrate(self.system, q, step, part)
        return restored(self.system, there, self.free) if self.carried else there


def stated(
    function: str,
    system: System,
    q: ArrayLike | None,
    v: ArrayLike | None,
    tau: ArrayLike | None,
    external: External | None,
    locked: Iterable[str],
    guess: bool = False,
) -> tuple[Statics, Array]:
    """Return the checked arguments of `equilibrium` or a similar function, and q.

    guess : whether q is an initial guess that need not satisfy the closures; a configuration that does is found from
        it.
    """
    check_system(system)
    zero = np.zeros(system.nv)
    guess = guess or q is None
    q = system.neutral() if q is None else q
    named = {
        "q": (q, system.nq),
        "v": (zero if v is None else v, system.nv),
        "tau": (zero if tau is None else tau, system.nv),
    }
    free = free_speeds(system, locked)
    inverse_dynamics(system, system.neutral(), zero, zero, external=external)  # checks `external`
    batch, arrays = vectors(system, **named, **named_wrenches(external))
    if batch:
        more = tau is not None or external
        raise ArgumentValueError(
            f"{'q, v, tau and external' if more else 'q and v'} must be one state, got a batch of shape {batch}. Call {function} once "
            "per state."
        )
    for name, a in zip(named, arrays):
        if not np.isfinite(a).all():
            refuse(system, NOT_FINITE, 0, "", {name: a})
    q_, v_, tau_ = (a[0] for a in arrays[:3])
    if external:
        refuse_infinite(np.hstack(arrays[3:]), list(named_wrenches(external)))
    refuse_modal_speeds(system, v_)
    forces_at_rest(system, q_, v_)  # rejects quaternions that are not unit
    problem = Statics(system, v_, tau_, external, free)
    if problem.carried:
        q_ = closed_start(function, system, q_, free, guess)
    return problem.started(q_), q_.copy()


def refuse_broken(problem: Statics, q: Array) -> None:
    """Reject speeds that violate a closure, at q or during the motion."""
    s = problem.system
    if not problem.carried:
        return
    A = closure_jacobian(s, q)
    rates = A @ problem.v
    times = instants(s, problem.v)
    # what a hub moves cancels in the rows of a loop that it carries, so rounding is that of their other entries
    if np.abs(rates).max() <= STEADY * np.abs(A).max() * np.abs(problem.v).max():
        off = evaluated(s, "violations", ([integrate(s, q, problem.v, t) for t in times],))
        at = int(np.abs(off).max(axis=1).argmax())
        if np.abs(off[at]).max() <= STEADY * extent(s):
            return
        what = f"after {times[at]:.3g} s {worst(s, off[at])}"
    else:
        what = worst(s, rates, "has the velocity {:.3g} (rad/s or m/s)")
    raise ArgumentValueError(
        f"v breaks a closure of {s.name!r}: {what}. A closed system moves steadily only if constant speeds "
        "satisfy its closures, like the spin of a hub that carries the whole loop."
    )


def refuse_modal_speeds(system: System, v: Array) -> None:
    """Reject speeds of modes, which no steady motion has."""
    for where in system.layout.values():
        for i in range(where.v_modes.start, where.v_modes.stop):
            if v[i] != 0.0:
                raise ArgumentValueError(
                    f"v[{i}] = {v[i]:g}, the speed of {system.describe_v(i)}, must be zero: in a steady motion no body "
                    "changes its deformation."
                )


def instants(system: System, v: Array) -> Array:
    """Times at which a steady motion is compared with its start: after fractions of a turn of each joint."""
    rates = np.abs(v) / reach(system)
    times = np.unique(1.0 / rates[rates > SLOW * rates.max()])
    return np.concatenate([0.61 * times, 1.93 * times])[:40]
