"""Whether a result stays within the linear theory of its flexible bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.system import System
from limber.bodies import Body
from limber.checks import Array
from limber.dynamics.evaluate import evaluated
from limber.dynamics.stiffening import LOADED, described, plain_beams
from limber.errors import TheoryWarning, warn
from limber.integrators.context import RUNAWAY
from limber.simulation.result import Result

#: A body that turns faster than this part of its lowest frequency (with its root held) is stiffened by it noticeably.
#: Rotation at the rate W adds a W^2 to the square of the first bending frequency w of a beam, a = 1.2 at the axis and
#: 1.7 where the radius of the hub is a third of the length.  Without it w is too low by a part of about a/2 (W/w)^2,
#: which (W/w)^2 is a guide for: 4 % here.
SPIN = 0.2
#: Nodes that turn further than this, rad, shorten a beam by about 1 % of its length, which linear shapes leave out, and
#: the linear law of bending is off by 3 %.
ROTATION = 0.25
#: Rotations of nodes are checked in so many rows, spread over the result; spins and axial loads in so many, and in the
#: fastest row.
ROWS, SPIN_ROWS = 1000, 5


class Limits:
    """The limits of the flexible bodies of a system, as arrays over the bodies."""

    def __init__(self, system: System):
        bodies = {n: b for n, b in system.bodies.items() if b.modes}
        self.names = list(bodies)
        self.numbers = [system.number(name) - 1 for name in bodies]
        self.lowest = np.array(
            [np.inf if b.stiffens else _lowest_frequency(b) for b in bodies.values()]
        )
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


def warn_outside_theory(result: Result) -> None:
    """Warn, once for each body, if its deformation or its spin is beyond small-deformation theory.

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
    told: dict[Any, str] = {}
    speeds = np.einsum("ij,ij->i", v, v)
    rows = np.array([*range(0, len(t), -(-len(t) // SPIN_ROWS)), int(speeds.argmax())])
    for name, text in _loaded(result[rows_seen], rows):
        told[limits.names.index(name)] = text
    if limits.turning @ fastest > SPIN * limits.lowest.min():
        spins = np.sqrt(evaluated(s, "spins", (q[rows], v[rows]))[:, limits.numbers])
        for i in np.flatnonzero(spins.max(axis=0) > SPIN * limits.lowest):
            told[i] = _spun(limits.names[i], t[rows], spins[:, i], limits.lowest[i])
    for i in np.flatnonzero(limits.turned(largest) > ROTATION):
        told[i] = _turned(s, limits.names[i], t, q) or told.get(i, "")
    for i in sorted(told):
        if told[i]:
            warn(told[i], TheoryWarning)


def _loaded(result: Result, rows: Array) -> Iterator[tuple[str, str]]:
    """The plain beams with a large load along their axes in some of these rows, and the warnings about them."""
    s = result.system
    beams = plain_beams(s)
    if not beams.names or not len(rows):
        return
    seen = result.rows(rows)
    given = (seen.q, seen.v, seen.vdot)
    _, wrenches = evaluated(s, "carried_wrenches", given, external=dict(seen.external) or None)
    loads = beams.loads(wrenches)
    for i in np.flatnonzero(np.abs(loads).max(axis=0) > LOADED * beams.critical):
        row = int(np.argmax(np.abs(loads[:, i])))
        when = f" at t = {seen.t[row]:.6g} s"
        yield beams.names[i], described(beams.names[i], loads[row, i], beams.critical[i], when)


def _lowest_frequency(body: Body) -> float:
    """The lowest natural frequency of a body with its joint held, rad/s; infinite where nothing is stiff."""
    from scipy.linalg import eigh  # noqa: PLC0415 (slow to import)

    squares = eigh(body.stiffness, body.modal_mass, eigvals_only=True)
    stiff = squares[squares > 1e-9 * squares.max(initial=0.0)]
    return float(np.sqrt(stiff[0])) if stiff.size else np.inf


def _turned(s: System, name: str, t: Array, q: Array) -> str:
    """The warning about nodes that turn too far, or nothing."""
    nodes = s.bodies[name].node_set
    sizes = np.linalg.norm(nodes.shapes.turns(q[:, s.layout[name].q_modes]), axis=2)
    if not sizes.size or sizes.max() <= ROTATION:
        return ""
    row, node = np.unravel_index(np.argmax(sizes), sizes.shape)
    missing = "its foreshortening is missing"
    if s.bodies[name].stiffens:
        missing = "the law of its bending is no longer linear"
    return (
        f"body {name!r}: node {nodes.names[node]!r} turns by {sizes[row, node]:.3g} rad at t = {t[row]:.6g} s. The shapes of "
        f"a body are those of small deformation; beyond {ROTATION:g} rad {missing}. Divide it into several bodies, or take "
        "the numbers as a sign of trouble only."
    )


def _spun(name: str, t: Array, spins: Array, lowest: float) -> str:
    """The warning about a body that turns too fast."""
    row = int(np.argmax(spins))
    part = spins[row] / lowest
    if part < 1.0:
        effect = f"frequencies of bending are about {100.0 * part**2:.0f} % too low"
    else:
        effect = "the model may diverge where the real body does not"
    return (
        f"body {name!r} turns at {spins[row]:.3g} rad/s at t = {t[row]:.6g} s, {part:.2g} of its lowest frequency, "
        f"{lowest:.3g} rad/s. This model leaves out the stiffening by rotation: {effect} ((turning rate / frequency)^2, "
        "as a guide). Give the body second-order shapes (geometric_stiffening=True of a beam or structure, second= of "
        f"FlexibleBody.from_nodes). Below {SPIN:g} of the frequency no warning comes."
    )
