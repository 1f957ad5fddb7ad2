"""The range of validity of flexible bodies: spin, loads along and across beams, rotations of nodes.

A body with linear shapes is neither stiffened by its own rotation nor softened by a load.  Rotation at the rate W adds
a W^2 to the square of the first bending frequency w of a beam, with a = 1.2 at the axis and 1.7 if the radius of the
hub is a third of the length.  Without it, w is too low by the fraction 1 - (1 + a (W/w)^2)^(-1/2).  A load N along a
beam (positive in tension) changes the square of its first bending frequency by the fraction N / P, where P = pi^2 EI /
(4 L^2) is the load at which a cantilever buckles.  A beam without geometric stiffening ignores that: it neither buckles
nor stiffens.

A force across a beam that is stiffer in its plane than sideways makes it tip over, by bending and torsion together,
when its moment at the root reaches M (`BeamRecipe.tipping_moments`).  Below that it lowers the square of a frequency by
about the fraction (moment / M)^2.  The shapes of one beam, even of second order, do not couple bending and torsion.

A spin only stiffens what it pulls at.  The centrifugal forces W^2 r_perp stretch a body as their virial W^2 C does,
where C = int r r^T dm from the body frame and W^2 = |w|^2 1 - w w^T.  So the square of the spin that counts is the
largest eigenvalue of W^2 C over that of C.  It is |w|^2 sin^2 for a slender body at an angle to its axis of spin, and
zero for a shaft that spins about its own axis: the effects of such a spin (whirling, critical speeds) are in every
model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.system import System
from limber.bodies import Body
from limber.bodies.integrals import full, tilde
from limber.checks import Array
from limber.dynamics.carried import to_body_frame
from limber.dynamics.evaluate import External, evaluated
from limber.dynamics.loads import LOADED, Loaded, described_load, loaded_structures
from limber.errors import TheoryWarning, warn

#: A body that turns faster than this fraction of its lowest frequency (with its root held) is reported: that is 2 %.
SPIN = 0.2
#: A beam whose moment at the root is more than this fraction of that at which it tips over sideways is reported: that is 5 %.
TIPPING = 0.3
#: What a spin adds to the square of the first bending frequency of a cantilever, over the square of the spin.
SOUTHWELL = 1.2
#: Nodes that turn further than this, rad, shorten a beam by about 1 % of its length, which linear shapes leave out, and
#: the linear law of bending is off by 3 %.
ROTATION = 0.25
#: A mode is stiff if the square of its frequency is more than this fraction of the largest.
STIFF = 1e-9
#: Verdicts on many cases at once leave this fraction of each limit to rounding.
SLACK = 1e-3
#: The lowest frequencies of many cases are within SLACK if modal masses are conditioned better than this.
CONDITION = 1e3
#: Up to this many bodies that leave the theory in the same way get a warning each; if there are more, only the worst does.
SPOKEN = 3


class Outside(NamedTuple):
    """A body outside the range of its theory.

    way : the cause, "load", "moment", "spin" or "rotation".
    degree : how far outside it is, 1 at the limit at which warnings begin.
    """

    body: str
    way: str
    degree: float
    text: str


def tell(found: Iterable[Outside]) -> None:
    """Warn of bodies outside the range of their theory, with one warning for many with the same cause."""
    ways: dict[str, list[Outside]] = {}
    for item in found:
        ways.setdefault(item.way, []).append(item)
    for items in ways.values():
        if len(items) <= SPOKEN:
            for item in items:
                warn(_warning(item.text, item.degree))
            continue
        worst = max(items, key=lambda item: item.degree)
        others = [repr(item.body) for item in items if item is not worst]
        more = len(others) - SPOKEN
        listed = ", ".join(others[:SPOKEN]) + (f" and {more} more" if more > 0 else "")
        same = f"The same applies, to a lesser degree, to {len(others)} other bodies: {listed}."
        warn(_warning(f"{worst.text} {same}", worst.degree))


def _warning(text: str, degree: float) -> TheoryWarning:
    made = TheoryWarning(text)
    made.degree = degree
    return made


@dataclass(frozen=True, eq=False)
class PlainBeams:
    """The beams of a system that have bending modes and no geometric stiffening, as arrays over them.

    Those of a family have an axis of members in front of critical loads, and one for rows.
    """

    names: tuple[str, ...]
    numbers: np.ndarray  # of the bodies
    axis: Array  # (n, 3) of the beam, from its root, body axes
    critical: Array  # (n,) load at which a cantilever buckles, N

    def loads(self, wrenches: Array) -> Array:
        """The load along each beam at its root, N, positive in tension, from `carried_wrenches` (..., bodies, 6)."""
        return -np.einsum("...bi,bi->...b", wrenches[..., self.numbers, 3:], self.axis)


@dataclass(frozen=True, eq=False)
class DeepBeams:
    """The beams of a system that may tip over sideways, as arrays over them; see `PlainBeams`."""

    names: tuple[str, ...]
    where: tuple[str, ...]  # how their joints hold them, as text
    numbers: np.ndarray  # of the bodies
    critical: Array  # (n, 2) moments about y and z there at which they tip over, N m
    per_wrench: Array  # (n, 6, 2) these moments per unit of a carried wrench

    def parts(self, wrenches: Array) -> Array:
        """The moments where they are held over the critical ones, (..., n, 2), from `carried_wrenches` (..., bodies, 6)."""
        own = wrenches[..., self.numbers, :]
        return np.abs(np.einsum("...bi,bij->...bj", own, self.per_wrench)) / self.critical


#: The factors of a body by its name, numbers or, in a family, arrays (members,); None for those of the body itself.
Factors = Callable[[str], Mapping[str, Any] | None]

_beams: WeakKeyDictionary[System, PlainBeams] = WeakKeyDictionary()
_deep: WeakKeyDictionary[System, DeepBeams] = WeakKeyDictionary()


def deep_beams(system: System) -> DeepBeams:
    """The beams of a system that may tip over sideways."""
    if system not in _deep:
        _deep[system] = deep_beams_of(system, lambda name: None)
    return _deep[system]


def deep_beams_of(system: System, factors: Factors) -> DeepBeams:
    """`deep_beams` with these factors."""
    found = []
    for name, body in system.bodies.items():
        tipping = body.tipping(factors(name))
        if tipping is not None:
            found.append((name, system.number(name) - 1, *tipping))
    names, numbers, place, axes, critical = zip(*found) if found else ((), (), (), (), ())
    held = [held_at(system, name, l) for name, l in zip(names, place)]
    # the moment there is that about the body frame less place x force
    across = [
        to_body_frame(system, name).T @ np.vstack([R[:, 1:], tilde(l) @ R[:, 1:]])
        for name, (l, _), R in zip(names, held, axes)
    ]
    per_wrench = np.array(across, dtype=float).reshape(-1, 6, 2)
    numbered = np.array(numbers, dtype=np.int64)
    where = tuple(end for _, end in held)
    return DeepBeams(names, where, numbered, _over_bodies(critical, (2,)), per_wrench)


def _over_bodies(values: Sequence[Any], shape: tuple[int, ...]) -> Array:
    """Numbers of each body of this shape, as one array (bodies, *shape), or (members, 1, bodies, *shape)."""
    if not values:
        return np.zeros((0, *shape))
    found = np.stack(np.broadcast_arrays(*values), axis=-1 - len(shape))
    return found if found.ndim == 1 + len(shape) else found[:, None]


def held_at(system: System, name: str, root: Array) -> tuple[Array, str]:
    """The place on a beam where its joint holds it, and its name: its root, or the node that it hangs by."""
    item = system.attachments[name]
    if item.inboard is None:
        return root, "its root"
    return item.body.node_set.position[
        item.inboard
    ], f"node {item.body.node_set.names[item.inboard]!r}"


def tipped(name: str, where: str, part: float, critical: float, when: str = "") -> Outside:
    """A beam whose moment where it is held is this fraction of the critical one."""
    effect = "a real beam would buckle sideways"
    if part < 1.0:
        effect = f"a frequency may be {50.0 * part**2:.0f} % too high"
    text = (
        f"body {name!r} carries a moment of {part * critical:.4g} N m at {where}{when}, {part:.2g} of the "
        f"moment at which a tip force buckles a cantilever of this kind sideways, {critical:.4g} N m. The "
        f"shapes of one beam do not couple bending and torsion: {effect}. Divide it into several beams, or "
        f"reduce a frame (lb.structures.frame) with geometric_stiffening=True. Below {TIPPING:g} of that "
        "moment there is no warning."
    )
    return Outside(name, "moment", part / TIPPING, text)


def plain_beams(system: System) -> PlainBeams:
    """The beams of a system that loads would stiffen or soften if they had geometric stiffening."""
    if system not in _beams:
        _beams[system] = plain_beams_of(system, lambda name: None)
    return _beams[system]


def plain_beams_of(system: System, factors: Factors) -> PlainBeams:
    """`plain_beams` with these factors."""
    found = []
    for name, body in system.bodies.items():
        load = body.buckling(factors(name))
        if load is not None:
            found.append((name, system.number(name) - 1, *load))
    names, numbers, axes, critical = zip(*found) if found else ((), (), (), ())
    return PlainBeams(
        names,
        np.array(numbers, dtype=np.int64),
        np.array(axes, dtype=float).reshape(-1, 3),
        _over_bodies(critical, ()),
    )


def warn_of_axial_loads(
    system: System, q: Array, v: Array, external: External | None = None
) -> None:
    """Warn of each plain beam and reduced structure whose loads are not small, in equilibrium at (q, v)."""
    rows = (q[None], v[None], np.zeros((1, system.nv)))
    found = [loaded(x) for x in loaded_structures(system, *rows, external)]
    beams, deep = plain_beams(system), deep_beams(system)
    if beams.names or deep.names:
        zero = np.zeros(system.nv)
        _, wrenches = evaluated(system, "carried_wrenches", (q, v, zero), external=external)
        parts = deep.parts(wrenches)
        for i in np.flatnonzero(parts.max(axis=1, initial=0.0) > TIPPING):
            about = int(parts[i].argmax())
            found.append(
                tipped(deep.names[i], deep.where[i], parts[i, about], deep.critical[i, about])
            )
        loads = beams.loads(wrenches)
        for i in np.flatnonzero(np.abs(loads) > LOADED * beams.critical):
            found.append(pulled(beams.names[i], loads[i], beams.critical[i]))
    tell(found)


def loaded(found: Loaded, when: str = "") -> Outside:
    """A reduced structure under loads that its model ignores."""
    return Outside(found.name, "load", abs(found.part) / LOADED, described_load(found, when))


def pulled(name: str, load: float, critical: float, when: str = "") -> Outside:
    """A beam with this load along its axis."""
    part = abs(load) / critical
    off = f"about {50.0 * part:.0f} %" if part < 0.5 else "far"
    if load > 0.0:
        what, effect = "is under tension of", f"its lowest frequency is {off} too low"
    elif part < 1.0:
        what, effect = "is under compression of", f"its lowest frequency is {off} too high"
    else:
        what, effect = "is under compression of", "a real beam would buckle"
    text = (
        f"body {name!r} {what} {abs(load):.4g} N along its axis{when}, {part:.2g} of the load at which a "
        f"cantilever of this kind buckles, {critical:.4g} N. Its linear shapes ignore the effect of this load "
        f"on its stiffness: {effect}. Create it with geometric_stiffening=True. Below {LOADED:g} of that load "
        "there is no warning."
    )
    return Outside(name, "load", part / LOADED, text)


def lowest_frequency(body: Body) -> float:
    """The lowest natural frequency of a body with its joint held, rad/s, for comparison with its spin.

    It is infinite if nothing is stiff, or if the model of the body includes stiffening.
    """
    from scipy.linalg import eigh  # noqa: PLC0415 (slow to import)

    if body.stiffens:
        return np.inf
    squares = eigh(body.stiffness, body.modal_mass, eigvals_only=True)
    stiff = squares[squares > STIFF * squares.max(initial=0.0)]
    return float(np.sqrt(stiff[0])) if stiff.size else np.inf


def lowest_frequencies(body: Body, stiffness: Array, mass: Any) -> Array:
    """Lower bounds of `lowest_frequency` for many cases, (cases,), close to it.

    stiffness : (cases, m, m), those of the cases.
    mass : by what factor, a number or (cases,), their masses differ from those of the body.
    """
    if body.stiffens:
        return np.full(len(stiffness), np.inf)
    if np.linalg.cond(body.modal_mass) > CONDITION:
        return np.zeros(len(stiffness))
    root = np.linalg.inv(np.linalg.cholesky(body.modal_mass))
    size = np.maximum(np.abs(stiffness).max(axis=(1, 2)), np.finfo(float).tiny)
    squares = np.linalg.eigvalsh(root @ (stiffness / size[:, None, None]) @ root.T)
    squares[~(squares > 0.5 * STIFF * squares.max(axis=1, keepdims=True, initial=0.0))] = np.inf
    return np.asarray((1.0 - SLACK) * np.sqrt(squares.min(axis=1) / mass) * np.sqrt(size))


def warn_of_spins(system: System, q: Array, v: Array) -> None:
    """Warn of each body that rotates too fast for linear shapes."""
    if not np.any(v):
        return
    spins, _, _ = evaluated(system, "motions", (q, v, np.zeros(system.nv)))
    found = []
    for (name, body), spin in zip(system.bodies.items(), spins):
        lowest = lowest_frequency(body) if body.modes else np.inf
        if np.linalg.norm(spin) > SPIN * lowest:
            stretching = float(stretching_spin(spin, spread(body)))
            if stretching > SPIN * lowest:
                found.append(spun(name, float(np.linalg.norm(spin)), stretching, lowest))
    tell(found)


def spread(body: Body) -> Array:
    """(3, 3): the root of C, the second moments of the mass of a body about its frame, the largest of which is 1."""
    J = full(body.constants(None, False).inertia)
    value, vector = np.linalg.eigh(0.5 * np.trace(J) * np.eye(3) - J)
    if not value[-1] > 0.0:
        return np.eye(3)
    return (vector * np.sqrt(np.maximum(value / value[-1], 0.0))) @ vector.T


def stretching_spin(spin: Array, root: Array) -> Array:
    """The part (...,) of angular velocities (..., 3), rad/s, that stretches a body, from its `spread`."""
    square = np.einsum("...i,...i->...", spin, spin)[..., None, None]
    pull = square * np.eye(3) - spin[..., :, None] * spin[..., None, :]
    largest = np.linalg.eigvalsh(root @ pull @ root)[..., -1]
    return np.asarray(np.sqrt(np.maximum(largest, 0.0)), dtype=np.float64)


def spun(name: str, speed: float, spin: float, lowest: float, when: str = "") -> Outside:
    """A body that rotates too fast; the part `spin` of its speed stretches it."""
    part = spin / lowest
    of_which = "" if spin > 0.99 * speed else f", of which {spin:.3g} rad/s stretches it"
    if part < 1.0:
        off = 1.0 - (1.0 + SOUTHWELL * part**2) ** -0.5
        effect = f"bending frequencies are about {100.0 * off:.0f} % too low"
    else:
        effect = "the model may diverge where the real body does not"
    text = (
        f"body {name!r} turns at {speed:.3g} rad/s{when}{of_which}, {part:.2g} of its lowest frequency, "
        f"{lowest:.3g} rad/s. This model ignores stiffening due to rotation: {effect}. Give the body "
        "second-order shapes (geometric_stiffening=True for a beam or structure, second= in "
        f"FlexibleBody.from_nodes). Below {SPIN:g} of the frequency there is no warning."
    )
    return Outside(name, "spin", part / SPIN, text)


def warn_of_rotations(system: System, q: Array) -> None:
    """Warn of each body with a node that rotates too far for small deformation."""
    tell(x for name in system.bodies if (x := turned(system, name, q[None], [""])))


def turned(system: System, name: str, q: Array, when: Sequence[str]) -> Outside | None:
    """The body, if some of its nodes rotate too far in some of the configurations (n, nq)."""
    body = system.bodies[name]
    if not body.modes:
        return None
    nodes = body.node_set
    sizes = np.linalg.norm(nodes.shapes.turns(q[:, system.layout[name].q_modes]), axis=2)
    if not sizes.size or sizes.max() <= ROTATION:
        return None
    row, node = np.unravel_index(np.argmax(sizes), sizes.shape)
    missing = "its foreshortening is missing"
    if body.stiffens:
        missing = "its bending is no longer linear"
    text = (
        f"body {name!r}: node {nodes.names[node]!r} turns by {sizes[row, node]:.3g} rad{when[int(row)]}. The "
        f"shapes of a body are valid for small deformation; beyond {ROTATION:g} rad {missing}. Divide it into "
        "several bodies, or treat the numbers only as a sign of trouble."
    )
    return Outside(name, "rotation", float(sizes[row, node]) / ROTATION, text)
