"""Starting points of the search for the coordinates of cut joints, so that it succeeds.

Cut joints whose motions do not form a group have coordinates that are not part of q.  The kernels search for them from
a start (`kernels.cut_joint`): near it they certainly find them, farther away only in some positions.  The results
depend only on the positions of the ends, whichever of several possible coordinates are found.  So if the usual start
fails, others are tried, with fixed seeds, and a state is evaluated with the first that finds its coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.closures import Closure
from limber.assembly.cut_joints import cut_joint_rows, random_position
from limber.assembly.extent import extent
from limber.assembly.packed import Packed
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.freedoms import undeformed
from limber.joints import Joint
from limber.kernels import layout as L
from limber.native.status import DEPENDENT

#: How many other starts are tried at a time, until all coordinates are found, and for how many states at a time.
TRIED, STATES = (8, 24, 96, 384), 64
#: Coordinates whose error is below this are found, in rad and in fractions of the size of the system or of the distance of the
#: ends.  Where none are, another start replaces the usual one if it leaves less than this fraction of its error.
FOUND, BETTER = 1e-9, 0.5
#: The same for coordinates that were sought from a start that is meant for such configurations (`evaluate.with_starts_at`).
CLOSE = 0.1
#: The joint map is singular if one of its singular values is below this fraction of another; `starts_near` are so far from there,
#: in rad and m.
SINGULAR, NEAR = 1e-6, 0.05
#: A hinge that advances by more than this fraction of the length of its twist is a screw.
ADVANCE = 1e-9
#: How many numbers `cut_coordinates` takes and gives for each closure, coordinates first.
TAKES, GIVES = 6, 13
#: Where the errors are among them, and where the `dependence` of the joint map is.
ERRORS, DEPENDENCE = slice(6, 12), 12
#: The error beyond which a search has diverged and its coordinates are useless.
ASTRAY = 1e30

View = Literal["dynamics", "geometry"]


@dataclass(frozen=True, eq=False)
class Sought:
    """A closure whose coordinates the kernels must search for.

    number : the number of the closure in the order of the kernels.
    rows : its closure rows.
    usual : (nq,) the coordinates from which the kernels start the search.
    others : (n, nq) other starts, anywhere.
    places : the places of the start in the constants of each view.
    part : the slice of its coordinates among those of all such closures.
    enough : the error of the usual start up to which no others are tried.
    """

    name: str
    joint: Joint
    number: int
    rows: slice
    usual: Array
    others: Array
    places: dict[View, slice]
    part: slice
    enough: float


_sought: WeakKeyDictionary[System, tuple[Sought, ...]] = WeakKeyDictionary()


def sought(system: System) -> tuple[Sought, ...]:
    """The closures of a system whose coordinates the kernels must search for."""
    found = _sought.get(system)
    if found is None:
        found = _sought[system] = tuple(_look(system))
    return found


def _look(system: System):
    at = 0
    for number, (name, rows) in enumerate(system.closure_rows.items()):
        closure = system.closures[name]
        if isinstance(closure, Closure) and cut_joint_rows(closure.joint).kind == L.COMPOUND:
            joint = closure.joint
            places: dict[View, slice] = {
                "dynamics": _start_place(system.dynamics, number),
                "geometry": _start_place(system.geometry, number),
            }
            usual = system.dynamics.const[places["dynamics"]]
            part = slice(at, at + joint.nq)
            enough = CLOSE if closure.start else FOUND
            others = _other_starts(joint)
            yield Sought(name, joint, number, rows, usual, others, places, part, enough)
            at += joint.nq


def _start_place(packed: Packed, number: int) -> slice:
    """The place of the start of a closure in the constants."""
    topo = packed.topo
    joint = topo[topo[L.CLOSURES] + number * L.COLUMNS + L.K_JOINT]
    return slice(topo[joint + L.START], topo[joint + L.START] + topo[joint + L.START_SIZE])


def _other_starts(joint: Joint) -> Array:
    """Starts anywhere, (n, nq): any angles and quaternions; sliders, which are always found, keep their values."""
    random = np.random.default_rng(0)
    starts = np.zeros((sum(TRIED), joint.nq))
    at = 0
    for group in joint.groups:
        part = starts[:, at : at + group.nq]
        if group.kind == L.SCREWS:
            for i, h in enumerate(group.H.T):
                if h[:3].any():
                    part[:, i] = random.uniform(-np.pi, np.pi, len(starts)) / np.linalg.norm(h[:3])
        else:
            quaternions = random.normal(size=(len(starts), 4))
            part[:, :4] = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
        at += group.nq
    return starts


#: (q, starts) -> coordinates and errors (states, closures, GIVES)
Evaluate = Callable[[Array, Array], Array]


@dataclass(frozen=True, eq=False)
class _Chosen:
    """Configurations (states, nq) and the starts that were chosen for them.

    straight : the same of a ruthless system without deformations, or None.  Its rows are those of the undeformed geometry,
        which does not satisfy the closures.  The coordinates of the deformed one, which does, are next to those that fit it
        best, and are its starts.
    met : whether the usual starts find all coordinates, with errors far below a millionth; False means that it is not known.
    singular : (states, closures that are sought), where the map of a cut joint is singular.
    """

    q: Array
    starts: Array
    singular: np.ndarray
    straight: _Chosen | None = None
    met: bool = False


_last: WeakKeyDictionary[System, _Chosen] = WeakKeyDictionary()


def chosen_starts(system: System, q: Array, view: View, evaluate: Evaluate) -> Array:
    """For each of the configurations q, (states, nq), the starts of all closures with searched coordinates, in order.

    evaluate : `cut_coordinates`, with which the usual starts are checked and others tried.
    """
    # functions of closed systems are evaluated several times in a row at the same configurations
    last = _last.get(system)
    straight = last.straight if last is not None and view == "geometry" else None
    if straight is not None and np.array_equal(straight.q, q):
        return straight.starts
    if last is None or not np.array_equal(last.q, q):
        last = _last[system] = _chosen(system, q.copy(), evaluate)
    return last.straight.starts if view == "dynamics" and last.straight else last.starts


def _chosen(system: System, q: Array, evaluate: Evaluate) -> _Chosen:
    starts, singular, met = _choose(system, q, evaluate)
    if system.fidelity != "ruthless":
        return _Chosen(q, starts, singular, met=met)
    found = evaluate(q, _given(system, starts))
    near, straight = starts.copy(), undeformed(system, q)
    missed = {}
    for closure in sought(system):
        theta = found[:, closure.number, : closure.joint.nq]
        well = theta.any(axis=1)  # it did not diverge
        near[well, closure.part] = theta[well]
        missed[closure] = np.flatnonzero(~(_error(system, q, found, closure) <= FOUND))
    states = np.unique(np.concatenate(list(missed.values())))
    if states.size:  # the undeformed geometry may be the one that satisfies the closures
        starts_there, _, _ = _choose(system, straight[states], evaluate)
        for closure, which in missed.items():
            there = starts_there[np.searchsorted(states, which)]
            near[which, closure.part] = there[:, closure.part]
    return _Chosen(q, starts, singular, _Chosen(straight, near, singular))


def known_to_be_met(system: System, q: Array) -> bool:
    """Whether the last call showed that closures with searched coordinates are satisfied at q, (..., nq)."""
    last = _last.get(system)
    if last is None or not last.met or last.singular.any():
        return False
    return np.array_equal(last.q, np.reshape(q, (-1, system.nq)))


def singular_joint(system: System, q: Array) -> tuple[str, int] | None:
    """A closure whose cut joint is singular, and at which of the configurations q, (states, nq), of the last call."""
    last = _last.get(system)
    if last is None or not (last.singular.any() and np.array_equal(q[: len(last.q)], last.q)):
        return None
    state, closure = np.argwhere(last.singular)[0]
    return sought(system)[closure].name, int(state)


def _choose(system: System, q: Array, evaluate: Evaluate) -> tuple[Array, np.ndarray, bool]:
    """`chosen_starts` at configurations as the rows have them, where joints are singular, and whether the usual starts are known
    to be good enough."""
    closures = sought(system)
    met = True
    chosen = np.tile(usual_starts(system), (len(q), 1))
    found = evaluate(q, _given(system, chosen[:1]))
    for closure in closures:
        least = _error(system, q, found, closure)
        off = np.abs(found[:, closure.number, ERRORS]).max(initial=0.0)
        met = met and bool(off <= found_at_once(system))
        missed = np.flatnonzero(~(least <= closure.enough))
        for first in range(0, len(missed), STATES):
            some = missed[first : first + STATES]
            _seek(system, q, closure, some, least, chosen, evaluate)
    others = np.flatnonzero((chosen != usual_starts(system)).any(axis=1))
    if others.size:
        found[others] = evaluate(q[others], _given(system, chosen[others]))
    dependence = found[:, [closure.number for closure in closures], DEPENDENCE]
    singular = ~(dependence <= DEPENDENT)
    return chosen, singular, met


def usable(found: Array) -> Array:
    """What `cut_coordinates` gives, (states, closures, GIVES), with no coordinates and the error ASTRAY where a search went astray."""
    astray = ~(np.abs(found[..., :DEPENDENCE]).max(axis=-1, initial=0.0) < ASTRAY)
    found[astray] = 0.0
    found[astray, ERRORS.start] = ASTRAY
    return found


def found_at_once(system: System) -> float:
    """The error of coordinates, in m and rad, up to which they are found and the closure is known to be satisfied."""
    return FOUND * min(1.0, extent(system))


def usual_starts(system: System) -> Array:
    """The coordinates from which the kernels search for those of all closures."""
    return np.concatenate([closure.usual for closure in sought(system)])


def _seek(
    system: System, q: Array, closure: Sought, missed: np.ndarray, least: Array, chosen: Array, evaluate: Evaluate
) -> None:  # fmt: skip
    """Replace the starts of a closure in `chosen` where the search failed, if others work better.

    least : the errors of the usual ones, (states,).
    """
    least = BETTER * least

    def tried(left: np.ndarray, starts: Array) -> Array:
        """What is found from starts (left, n, nq), (left, n, GIVES); the best are chosen."""
        n = starts.shape[1]
        there = np.repeat(q[left], n, axis=0)
        every = np.zeros((len(there), chosen.shape[1]))
        every[:, closure.part] = starts.reshape(len(there), -1)
        found = evaluate(there, _given(system, every))
        errors = _error(system, there, found, closure).reshape(len(left), n)
        best = errors.argmin(axis=1)
        every_state = np.arange(len(left))
        error = errors[every_state, best]
        better = error < least[left]
        chosen[left[better], closure.part] = starts[every_state, best][better]
        least[left[better]] = error[better]
        return found[:, closure.number].reshape(len(left), n, GIVES)

    first = 0
    for count in TRIED:
        starts = closure.others[first : first + count]
        found = tried(missed, np.broadcast_to(starts, (len(missed), *starts.shape)))
        missed, found = missed[least[missed] > FOUND], found[least[missed] > FOUND]
        if missed.size and _advancing(closure.joint):
            tried(missed, _other_turns(closure.joint, found))
            missed = missed[least[missed] > FOUND]
        if not missed.size:
            break
        first += count


def _advancing(joint: Joint) -> list[tuple[int, int]]:
    """The screws of a joint: the numbers of their coordinates and speeds."""
    found, q, v = [], 0, 0
    for group in joint.groups:
        if group.has_rates:
            for i, h in enumerate(group.H.T):
                if abs(h[:3] @ h[3:]) > ADVANCE * (h @ h):
                    found.append((q + i, v + i))
        q, v = q + group.nq, v + group.dofs
    return found


def _other_turns(joint: Joint, found: Array) -> Array:
    """Coordinates that differ from those found, (..., GIVES), by whole turns of screws.

    The turns remove the remaining displacement.  A turn does not change rotations, so wherever a search ends, the
    rotations are right, and some turns are missing.
    """
    screws = _advancing(joint)
    starts = found[..., : joint.nq].copy()
    for place in np.ndindex(found.shape[:-1]):
        theta, left = starts[place], found[place][ERRORS][3:]
        if not theta.any():  # it diverged
            continue
        H = joint.H(theta)
        rates = np.array([np.linalg.norm(H[:3, v]) for _, v in screws])
        axes = np.array([H[:3, v] for _, v in screws]).T / rates
        ways = (
            axes * [axis @ H[3:, v] for axis, (_, v) in zip(axes.T, screws)] * (2 * np.pi / rates)
        )
        slides = H[3:, ~H[:3].any(axis=0)]
        turns = np.linalg.lstsq(np.hstack([ways, slides]), left, rcond=1e-9)[0][: len(screws)]
        for (i, _), turn, rate in zip(screws, np.round(turns), rates):
            theta[i] += 2 * np.pi * turn / rate
    return starts


def _given(system: System, starts: Array) -> Array:
    """The starts of all closures with searched coordinates, in the form of `cut_coordinates`."""
    given = np.zeros((len(starts), len(system.closures) * TAKES))
    for closure in sought(system):
        first = closure.number * TAKES
        given[:, first : first + closure.joint.nq] = starts[:, closure.part]
    return given


_displacements: WeakKeyDictionary[System, Array] = WeakKeyDictionary()


def displacements(system: System) -> Array:
    """Which of the coordinates q are displacements of joints, (nq,)."""
    if system not in _displacements:
        found = np.zeros(system.nq, dtype=bool)
        for name, where in system.layout.items():
            at = where.q_joint.start
            for group in system.joints[name].groups:
                if group.kind == L.SCREWS:
                    found[at : at + group.nq] = ~group.H[:3].any(axis=0)
                elif group.kind == L.FREE:
                    found[at + 4 : at + group.nq] = True
                at += group.nq
        _displacements[system] = found
    return _displacements[system]


def _error(system: System, q: Array, found: Array, closure: Sought) -> Array:
    """How far the ends are from where the coordinates that were found have them, (states,)."""
    off = np.abs(found[:, closure.number, ERRORS])
    size = np.maximum(extent(system), np.abs(q[:, displacements(system)]).max(axis=1, initial=0.0))
    return np.maximum(off[:, :3].max(axis=1), off[:, 3:].max(axis=1) / size)


def starts_near(system: System, q: Array, view: View, evaluate: Evaluate) -> dict[str, Array]:
    """Starts from which the coordinates of the cut joints are found near q, (nq,), by the names of the closures.

    They are the coordinates at q or, if the joint map is singular, some close to them, because a symmetry might stall
    the search.
    """
    starts = chosen_starts(system, q[None], view, evaluate)
    if view == "dynamics" and system.fidelity == "ruthless":
        q = undeformed(system, q)
    (found,) = evaluate(q[None], _given(system, starts))
    near = {}
    for closure in sought(system):
        joint = closure.joint
        theta = found[closure.number, : joint.nq]
        size = np.linalg.svd(joint.H(theta), compute_uv=False)
        if size[-1] < SINGULAR * size[0]:
            theta = random_position(joint, NEAR, about=theta)
        near[closure.name] = theta
    return near


def starting(const: Array, system: System, view: View, starts: Array) -> Array:
    """The constants of a view with these starts of all closures with searched coordinates."""
    const = const.copy()
    for closure in sought(system):
        const[closure.places[view]] = starts[closure.part]
    return const
