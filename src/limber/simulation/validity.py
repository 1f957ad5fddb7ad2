"""Whether a result stays within the linear theory of its flexible bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.singular import judge, pivots_large
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.closure_loads import loads_in_motion
from limber.dynamics.evaluate import evaluated
from limber.dynamics.loads import LOADED, loaded_structures
from limber.dynamics.theory import (
    ROTATION,
    SPIN,
    TIPPING,
    Outside,
    deep_beams,
    loaded,
    lowest_frequency,
    plain_beams,
    pulled,
    spread,
    spun,
    stretching_spin,
    tell,
    tipped,
    turned,
)
from limber.errors import SimulationError
from limber.integrators.context import RUNAWAY
from limber.simulation.result import Result

#: Rotations of nodes are checked in so many rows, spread over the result; spins and axial loads in so many, and in the
#: fastest row.
ROWS, SPIN_ROWS = 1000, 5


class Limits:
    """The limits of the flexible bodies of a system, as arrays over the bodies."""

    def __init__(self, system: System):
        bodies = {n: b for n, b in system.bodies.items() if b.modes}
        self.names = list(bodies)
        self.numbers = [system.number(name) - 1 for name in bodies]
        self.spread = [spread(body) for body in bodies.values()]
        self.lowest = np.array([lowest_frequency(body) for body in bodies.values()])
        # The largest rotation of any node by one unit of each mode gives a bound of the rotations of all nodes.
        steepest = [body.node_set.shapes.steepest() for body in bodies.values()]
        self.steepest = np.concatenate([np.zeros(0), *steepest])
        places = [system.layout[name].q_modes for name in bodies]
        self.columns = [i for at in places for i in range(at.start, at.stop)]
        self.starts = np.cumsum([0, *(at.stop - at.start for at in places)])[:-1]
        # How fast one unit of each speed turns what is outboard of it, for a bound of all spins.
        self.turning = np.zeros(system.nv)
        for name, where in system.layout.items():
            columns = [h for group in system.joints[name].groups for h in group.H.T]
            self.turning[where.v_joint] = [np.linalg.norm(h[:3]) for h in columns]
            self.turning[where.v_modes] = system.bodies[name].node_set.shapes.steepest()

    def turned(self, q: Array) -> Array:
        """Bounds of the rotations of nodes, rad, (bodies,), given the largest of each coordinate."""
        return np.add.reduceat(q[self.columns] * self.steepest, self.starts)


_limits: WeakKeyDictionary[System, Limits] = WeakKeyDictionary()


def refuse_indefinite(result: Result, stuck: SimulationError | None = None) -> None:
    """Refuse a motion in which the mass matrix of a body with truncated second-order shapes became indefinite.

    stuck : the error of a motion that got stuck, which is what it does where the mass matrix becomes singular.
    """
    s = result.system
    truncated = [name for name, body in s.bodies.items() if body.truncated]
    if not truncated:
        return
    for row in range(0, len(result), -(-len(result) // ROWS)):
        q = result.q[row]
        if not np.isfinite(q).all() or pivots_large(s, q) or (verdict := judge(s, q)).sound:
            continue
        name = verdict.body if verdict.body in truncated else truncated[0]
        error = SimulationError(
            f"the mass matrix of {s.name!r} is not positive definite at t = {result.t[row]:.6g} s, by {verdict.freedom} of "
            f"body {verdict.body!r}. {_truncated(name)}"
        )
        error.result = result[:row]
        raise error
    if stuck is not None:
        raise _followed_by(stuck, _truncated(truncated[0]), result) from None


def _truncated(name: str) -> str:
    """What to know about a body with truncated second-order shapes."""
    return (
        f"The geometric stiffening of {name!r} is in truncated form, all that unit loads tell of a structure, and in that "
        "form the mass matrix becomes indefinite at deflections of a few per cent of the length. Reduce it to fewer modes, "
        "divide it into several bodies, or leave the stiffening out."
    )


def _followed_by(error: SimulationError, text: str, result: Result) -> SimulationError:
    """The same error with more text."""
    longer = SimulationError(f"{error} {text}")
    longer.result = result
    return longer


def warn_outside_theory(result: Result) -> None:
    """Warn, once for each body, if its loads, spin or deformation are beyond small-deformation theory.

    The cost is O(bodies) for each of a few rows.
    """
    s = result.system
    limits = _limits.get(s)
    if limits is None:
        limits = _limits[s] = Limits(s)
    if not limits.names or not len(result):
        return
    every = -(-len(result) // ROWS)
    rows_seen = slice((len(result) - 1) % every, None, every)  # the last one is among them
    t, q, v = result.t[rows_seen], result.q[rows_seen], result.v[rows_seen]
    largest, fastest = (np.maximum(x.max(axis=0), -x.min(axis=0)) for x in (q, v))
    if not max(largest.max(), fastest.max()) < RUNAWAY:
        return  # the error of a motion that diverged says so
    told: dict[str, Outside] = {}
    speeds = np.einsum("ij,ij->i", v, v)
    rows = np.array([*range(0, len(t), -(-len(t) // SPIN_ROWS)), int(speeds.argmax())])
    for found in _loaded(result[rows_seen], rows):
        told[found.body] = found
    if limits.turning @ fastest > SPIN * limits.lowest.min():
        spins, _, _ = evaluated(s, "motions", (q[rows], v[rows], np.zeros_like(v[rows])))
        for body, (k, root) in enumerate(zip(limits.numbers, limits.spread)):
            stretching = stretching_spin(spins[:, k], root)
            row = int(np.argmax(stretching))
            if stretching[row] > SPIN * limits.lowest[body]:
                when = f" at t = {t[rows][row]:.6g} s"
                speed, part = float(np.linalg.norm(spins[row, k])), float(stretching[row])
                name = limits.names[body]
                told[name] = spun(name, speed, part, limits.lowest[body], when)
    for i in np.flatnonzero(limits.turned(largest) > ROTATION):
        bent = turned(s, limits.names[i], q, [f" at t = {x:.6g} s" for x in t])
        if bent is not None:
            cause = told.get(bent.body)
            text = bent.text if cause is None else f"{cause.text} {bent.text}"
            told[bent.body] = (cause or bent)._replace(text=text)
    tell(told[name] for name in limits.names if name in told)


def _loaded(result: Result, rows: Array) -> Iterator[Outside]:
    """The plain beams and reduced structures with large loads in some of these rows."""
    s = result.system
    beams, deep = plain_beams(s), deep_beams(s)
    structures = any(body.load_stiffness is not None for body in s.bodies.values())
    if not (beams.names or deep.names or structures) or not len(rows):
        return
    for system, _, seen in result.rows(rows).parts():
        given = (seen.q, seen.v, seen.vdot)
        external: Any = dict(seen.external) or None
        if system.closures:
            external = loads_in_motion(system, *given, seen.tau, external)
        for found in loaded_structures(system, *given, external):
            yield loaded(found, f" at t = {seen.t[found.row]:.6g} s")
        if not (beams.names or deep.names):
            continue
        _, wrenches = evaluated(system, "carried_wrenches", given, external=external)
        parts = deep.parts(wrenches)  # (rows, beams, 2)
        for i in np.flatnonzero(parts.max(axis=(0, 2), initial=0.0) > TIPPING):
            worst, about = np.unravel_index(int(parts[:, i].argmax()), parts[:, i].shape)
            when = f" at t = {seen.t[worst]:.6g} s"
            yield tipped(deep.names[i], parts[worst, i, about], deep.critical[i, about], when)
        loads = beams.loads(wrenches)
        for i in np.flatnonzero(np.abs(loads).max(axis=0) > LOADED * beams.critical):
            row = int(np.argmax(np.abs(loads[:, i])))
            when = f" at t = {seen.t[row]:.6g} s"
            yield pulled(beams.names[i], loads[row, i], beams.critical[i], when)
