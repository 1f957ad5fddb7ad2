"""Which cases of a batch may leave the theory of their bodies, judged for many cases at once.

Those in doubt get the closer look of `validity`, which says what is wrong with them.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from limber.assembly import modal
from limber.assembly.family import Family, parts
from limber.assembly.joint_parameters import of_speeds
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.cores import split
from limber.dynamics.evaluate import workspaces
from limber.dynamics.limits import allowed_depth, stops_of
from limber.dynamics.loads import LOADED
from limber.dynamics.sweep import fastest_sweep
from limber.dynamics.theory import (
    ROTATION,
    SLACK,
    SPIN,
    TIPPING,
    deep_beams_of,
    lowest_frequencies,
    plain_beams_of,
)
from limber.integrators.context import RUNAWAY
from limber.kernels import layout as L
from limber.kernels.functions import ROWS as FUNCTIONS
from limber.native.calls import Call
from limber.simulation.efforts import ABOVE
from limber.simulation.validity import ROWS, few_rows, limits_of

#: The number of cases of a batch that are examined at once.
CASES_AT_ONCE = 512


def cases_in_doubt(family: Family, cases: np.ndarray, q: Array, v: Array, tau: Array) -> np.ndarray:
    """The numbers of those among `cases` whose motions may leave the theory of their bodies, or exceed effort limits.

    Those of all others give `warn_of_doubts` and `refuse_indefinite` nothing to report.  Loads are evaluated as
    there; spins and rotations are bounded; many cases at once, at a cost of microseconds each.

    family : open systems, of which those of `cases` are `certain`.
    q, v, tau : (members, n, ...) of all of them, finite for `cases`.
    """
    limits, n = limits_of(family.system), q.shape[1]
    if limits.truncated or limits.structures:
        return cases
    above = cases[_above_efforts(family.system, tau)[cases]]
    if not (limits.names and n and len(cases)):
        return above
    every = -(-n // ROWS)
    seen = slice((n - 1) % every, None, every)
    found = []
    for part in parts(cases, CASES_AT_ONCE):
        whole = slice(part[0], part[-1] + 1)  # of cases in a row, rows are not copied
        at: Any = whole if whole.stop - whole.start == len(part) else part
        doubt = _CaseLimits(family, part).in_doubt(q[at, seen], v[at, seen], tau[at, seen])
        found.append(part[doubt])
    return np.union1d(np.concatenate(found), above)


def starts_in_doubt(family: Family, q: Array) -> np.ndarray:
    """(members,): whether these configurations (members, nq) may be outside the limits of joints."""
    stops = stops_of(family.system)
    lower, upper = (np.tile(x, (len(q), 1)) for x in (stops.lower, stops.upper))
    doubt = np.zeros(len(q), dtype=bool)
    if not len(q):
        return doubt
    for body, joint in family.system.joints.items():
        given, where = of_speeds(joint, family.of_joint(body)), family.system.layout[body].v_joint
        here = np.flatnonzero((stops.speeds >= where.start) & (stops.speeds < where.stop))
        for name, limit in (("lower", lower), ("upper", upper)):
            if name in given:
                limit[:, here] = given[name][:, stops.speeds[here] - where.start]
        if (
            "stop_stiffness" in given
        ):  # where the system has no stop, its coordinate is not among `stops`
            new = (given["stop_stiffness"] != 0.0) & (joint.physics.stop_stiffness == 0.0)
            doubt |= new.any(axis=1)
    x = q[:, stops.coordinates]
    with np.errstate(invalid="ignore"):
        depth = np.maximum(lower - x, x - upper)
        return doubt | ~(depth <= allowed_depth(lower, upper)).all(axis=1)


def _above_efforts(system: System, tau: Array) -> np.ndarray:
    """(cases,): whether torques (cases, n, nv) are above the effort limits of the joints."""
    limit = np.full(system.nv, np.inf)
    for body, joint in system.joints.items():
        limit[system.layout[body].v_joint] = joint.physics.effort_limit
    at = np.flatnonzero(np.isfinite(limit))
    most = (1.0 + ABOVE) * limit[at]
    return np.asarray((np.abs(tau[..., at]) > most).any(axis=(1, 2)))


def lowest_of_cases(family: Family, cases: np.ndarray, const: Array) -> Array:
    """(cases,): lower bounds, within SLACK, of the lowest frequency of any body, rad/s.

    const : the constants of these members of the family.
    """
    system, common = family.system, limits_of(family.system)
    found = np.full(len(cases), np.inf)
    for name, own in zip(common.names, common.lowest):
        lowest = own
        if family.of_body(name):
            body, at = system.bodies[name], system.number(name) * L.COLUMNS
            K = const[:, modal.block_place(system.dynamics.topo, at, "K")]
            K = K.reshape(-1, body.modes, body.modes)
            mass = family.factors(name, cases).get("mass", 1.0)
            lowest = lowest_frequencies(body, K, mass / body.factors({}).get("mass", 1.0))
        np.minimum(found, lowest, out=found)
    return found


class _CaseLimits:
    """The limits of some members of a family; parameters change only frequencies and critical loads."""

    def __init__(self, family: Family, cases: np.ndarray):
        self.family, self.system, self.cases = family, family.system, cases
        self.common = limits_of(family.system)

    @cached_property
    def _const(self) -> Array:
        """The constants of the cases, (cases, numbers)."""
        if self.family.values:
            return self.family.constants(self.cases)
        const = self.system.dynamics.const
        return np.broadcast_to(const, (len(self.cases), const.size))

    @cached_property
    def _lowest(self) -> Array:
        return lowest_of_cases(self.family, self.cases, self._const)

    def in_doubt(self, q: Array, v: Array, tau: Array) -> np.ndarray:
        """(cases,): whether motions (cases, n, ...) may leave the theory."""
        common = self.common
        # copies with the cases along the rows, over which maxima are found at once
        largest, fastest = (np.abs(x.swapaxes(0, 1), order="C").max(axis=0) for x in (q, v))
        doubt = ~(np.maximum(largest.max(axis=1), fastest.max(axis=1)) < RUNAWAY)
        doubt |= fastest @ common.turning > (1.0 - SLACK) * SPIN * self._lowest
        turns = np.add.reduceat(largest[:, common.columns] * common.steepest, common.starts, axis=1)
        doubt |= turns.max(axis=1) > (1.0 - SLACK) * ROTATION
        return doubt | self._overloaded(q, v, tau)

    def _overloaded(self, q: Array, v: Array, tau: Array) -> np.ndarray:
        """(cases,): whether loads of beams are beyond their limits in the few rows that are checked, or unknown."""
        known = {name: self.family.factors(name, self.cases) for name in self.system.bodies}
        beams = plain_beams_of(self.system, known.__getitem__)
        deep = deep_beams_of(self.system, known.__getitem__)
        if not (beams.names or deep.names):
            return np.zeros(len(q), dtype=bool)
        at = np.arange(len(q))[:, None], few_rows(v)
        state = q[at], v[at]
        good, vdot = self._evaluated(f"{fastest_sweep(self.system)}_sweep", *state, tau[at])
        fine, (_, wrenches) = self._evaluated("carried_wrenches", *state, vdot)
        limit = (1.0 - SLACK) * LOADED * beams.critical
        held = (np.abs(beams.loads(wrenches)) <= limit).all(axis=(1, 2))
        upright = (deep.parts(wrenches) <= (1.0 - SLACK) * TIPPING).all(axis=(1, 2, 3))
        return ~(good & fine & held & upright)

    def _evaluated(self, row: str, *given: Array):
        """A row of the table of functions in states (cases, few, ...): where it succeeds, (cases,), and its outputs."""
        system, (count, few) = self.system, given[0].shape[:2]
        packed = system.dynamics
        call = Call(system, row, packed.topo, packed.const)
        size = FUNCTIONS[row].scratch_in(system, int(packed.topo[L.WORK_SIZE]))
        pool, const, vectors = workspaces(packed, size), self._const, [x.ravel() for x in given]
        out = np.zeros(count * few * call.size)
        good = np.empty(count, dtype=bool)

        def part(start: int, stop: int) -> int:
            work = pool.take()
            good[start:stop] = call.run_each(const, vectors, work, out, few, start, stop)
            pool.give_back(work)
            return 0

        split(part, count)
        return good, call.parts(out, (count, few))
