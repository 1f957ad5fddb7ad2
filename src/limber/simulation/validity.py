"""Whether a result stays within the linear theory of its flexible bodies, and where its cut joints are singular."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.singular import judge, pivots_large
from limber.assembly.system import System
from limber.bodies import Body
from limber.checks import Array
from limber.dynamics.closure_loads import loads_in_motion
from limber.dynamics.evaluate import evaluated, force_key
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.loads import LOADED, loaded_structures
from limber.dynamics.sought import warn_on_the_way
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
from limber.simulation.efforts import warn_of_efforts
from limber.simulation.result import Result

#: Rotations of nodes are checked in so many rows, spread over the result; spins and axial loads in so many, and in the
#: fastest row.
ROWS, SPIN_ROWS = 1000, 5


class OfBody(NamedTuple):
    """The data for the limits of one flexible body; systems that differ in other bodies share it.

    steepest : (modes,), the largest rotation of any node per unit of each mode, which bounds the rotations of all
        nodes.
    """

    spread: Array
    lowest: float
    steepest: Array


_bodies: WeakKeyDictionary[Body, OfBody] = WeakKeyDictionary()


def _of_body(body: Body) -> OfBody:
    found = _bodies.get(body)
    if found is None:
        nominal = getattr(body, "nominal", body)
        if nominal is body:
            found = OfBody(spread(body), lowest_frequency(body), body.node_set.shapes.steepest())
        else:  # parameters change neither the shapes nor how mass is spread
            found = _of_body(nominal)._replace(lowest=lowest_frequency(body))
        _bodies[body] = found
    return found


class Limits:
    """The limits of the flexible bodies of a system, as arrays over the bodies.

    truncated : the bodies whose second-order shapes are truncated.
    beams, deep : those that axial loads soften or stiffen, and those that may tip over sideways.
    structures : whether there are bodies with other loads that change their stiffness.
    """

    def __init__(self, system: System):
        self.truncated = [name for name, body in system.bodies.items() if body.truncated]
        self.beams, self.deep = plain_beams(system), deep_beams(system)
        self.structures = any(b.load_stiffness is not None for b in system.bodies.values())
        bodies = {n: b for n, b in system.bodies.items() if b.modes}
        own = [_of_body(body) for body in bodies.values()]
        self.names = list(bodies)
        self.numbers = [system.number(name) - 1 for name in bodies]
        self.spread = [each.spread for each in own]
        self.lowest = np.array([each.lowest for each in own])
        self.steepest = np.concatenate([np.zeros(0), *(each.steepest for each in own)])
        places = [system.layout[name].q_modes for name in bodies]
        self.columns = [i for at in places for i in range(at.start, at.stop)]
        self.starts = np.cumsum([0, *(at.stop - at.start for at in places)])[:-1]
        # How fast one unit of each speed turns what is outboard of it, for a bound of all spins.
        self.turning = np.zeros(system.nv)
        for name, where in system.layout.items():
            columns = [h for group in system.joints[name].groups for h in group.H.T]
            self.turning[where.v_joint] = [np.linalg.norm(h[:3]) for h in columns]
            body = system.bodies[name]
            if body.modes:
                self.turning[where.v_modes] = _of_body(body).steepest

    def turned(self, q: Array) -> Array:
        """Bounds of the rotations of nodes, rad, (bodies,), given the largest value of each coordinate."""
        return np.add.reduceat(q[self.columns] * self.steepest, self.starts)

    @property
    def loaded(self) -> bool:
        """Whether there are bodies whose loads are checked."""
        return bool(self.beams.names or self.deep.names or self.structures)


_limits: WeakKeyDictionary[System, Limits] = WeakKeyDictionary()


def limits_of(system: System) -> Limits:
    """The limits of a system, computed once."""
    found = _limits.get(system)
    if found is None:
        found = _limits[system] = Limits(system)
    return found


def refuse_indefinite(result: Result, stuck: SimulationError | None = None) -> None:
    """Reject a motion in which the mass matrix of a body with truncated second-order shapes became indefinite.

    stuck : the error of a motion that got stuck, as happens where the mass matrix becomes singular.
    """
    s = result.system
    truncated = limits_of(s).truncated
    if not truncated:
        return
    for row in range(0, len(result), -(-len(result) // ROWS)):
        q = result.q[row]
        if not np.isfinite(q).all() or pivots_large(s, q) or (verdict := judge(s, q)).sound:
            continue
        name = verdict.body if verdict.body in truncated else truncated[0]
        error = SimulationError(
            f"the mass matrix of {s.name!r} is not positive definite at t = {result.t[row]:.6g} s, because of "
            f"{verdict.freedom} of body {verdict.body!r}. {_truncated(name)}"
        )
        error.result = result[:row]
        raise error
    if stuck is not None:
        raise _followed_by(stuck, _truncated(truncated[0]), result) from None


def _truncated(name: str) -> str:
    """Information about a body with truncated second-order shapes."""
    return (
        f"The geometric stiffening of {name!r} is truncated, since it is derived from unit loads alone, and in this form "
        "makes the mass matrix indefinite at deflections of a few per cent of the length. Use "
        "fewer modes, divide the body into several, or omit the stiffening."
    )


def _followed_by(error: SimulationError, text: str, result: Result) -> SimulationError:
    """The same error with more text."""
    longer = SimulationError(f"{error} {text}")
    longer.result = result
    return longer


def warn_of_doubts(result: Result) -> None:
    """Warn of rows that the theory does not cover, of torques above the limits of drives, and of singular cut joints."""
    warn_outside_theory(result)
    warn_of_efforts(result)
    # the warning about the first row was given when the run began
    for system, rows, part in result.parts():
        later = (rows > 0) & np.isfinite(part.q).all(axis=1)
        if warn_on_the_way(system, part.t[later], part.q[later]):
            return


def warn_outside_theory(result: Result) -> None:
    """Warn, once for each body, if its loads, spin or deformation are beyond small-deformation theory.

    The cost is O(bodies) for each of a few rows.
    """
    s = result.system
    limits = limits_of(s)
    if not limits.names or not len(result):
        return
    every = -(-len(result) // ROWS)
    rows_seen = slice((len(result) - 1) % every, None, every)  # the last one is among them
    t, q, v = result.t[rows_seen], result.q[rows_seen], result.v[rows_seen]
    sizes = np.empty((s.nq + s.nv, len(t)))  # by columns, along which maxima are found at once
    np.abs(q.T, out=sizes[: s.nq])
    np.abs(v.T, out=sizes[s.nq :])
    peaks = sizes.max(axis=1)
    largest, fastest = peaks[: s.nq], peaks[s.nq :]
    if not peaks.max() < RUNAWAY:
        return  # the error of a motion that diverged says so
    told: dict[str, Outside] = {}
    rows = few_rows(v)
    if limits.loaded:
        for found in _loaded(result, limits, rows_seen.start + every * rows):
            told[found.body] = found
    if limits.turning @ fastest > SPIN * limits.lowest.min():
        at_rest = np.zeros_like(v[rows])
        spins, _, _ = evaluated(s, "motions", (q[rows], v[rows], at_rest), key="motions")
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


def few_rows(v: Array) -> np.ndarray:
    """The rows (..., few) for the check of spins and loads: some spread over motions (..., n, nv), and the fastest."""
    fastest = np.einsum("...ij,...ij->...i", v, v).argmax(axis=-1)
    spread_out = np.arange(0, v.shape[-2], -(-v.shape[-2] // SPIN_ROWS))
    rows = np.empty((*fastest.shape, len(spread_out) + 1), dtype=np.int64)
    rows[..., :-1], rows[..., -1] = spread_out, fastest
    return rows


def _loaded(result: Result, limits: Limits, rows: np.ndarray) -> Iterator[Outside]:
    """The plain beams and reduced structures with large loads in some of these rows."""
    stages = result.stage[rows] if result.changes else None
    for stage in (0,) if stages is None else np.unique(stages):
        chosen = rows if stages is None else rows[stages == stage]
        system, t, tau = result.systems[stage], result.t[chosen], result.forces[chosen]
        external: Any = {key: x[chosen] for key, x in result.external.items()} or None
        state = result.q[chosen], result.v[chosen]
        given = (*state, forward_dynamics(system, *state, tau, external=external))
        if system.closures:
            external = loads_in_motion(system, *given, tau, external)
        if limits.structures:
            for found in loaded_structures(system, *given, external):
                yield loaded(found, f" at t = {t[found.row]:.6g} s")
        if limits.beams.names or limits.deep.names:
            key = force_key("carried_wrenches", external)
            _, wrenches = evaluated(system, "carried_wrenches", given, external=external, key=key)
            yield from _loaded_beams(limits, wrenches, t)


def _loaded_beams(limits: Limits, wrenches: Array, t: Array) -> Iterator[Outside]:
    """The beams with large loads, from `carried_wrenches` (rows, bodies, 6) at these times."""
    beams, deep = limits.beams, limits.deep
    if deep.names:
        parts = deep.parts(wrenches)  # (rows, beams, 2)
        for i in np.flatnonzero(parts.max(axis=(0, 2)) > TIPPING):
            worst, about = np.unravel_index(int(parts[:, i].argmax()), parts[:, i].shape)
            when = f" at t = {t[worst]:.6g} s"
            found = parts[worst, i, about], deep.critical[i, about]
            yield tipped(deep.names[i], deep.where[i], *found, when)
    if beams.names:
        loads = beams.loads(wrenches)
        rows = np.abs(loads).argmax(axis=0)
        largest = loads[rows, np.arange(len(rows))]
        for i in np.flatnonzero(np.abs(largest) > LOADED * beams.critical):
            when = f" at t = {t[rows[i]]:.6g} s"
            yield pulled(beams.names[i], largest[i], beams.critical[i], when)
