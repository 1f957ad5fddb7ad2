"""Frames: beams in space, joined at nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from limber.bodies import Body, RigidBody, Section
from limber.bodies.recovery import MemberStations, Recovery
from limber.bodies.section_forces import SectionForces
from limber.checks import (
    Array,
    array,
    axis,
    integer,
    number,
    shown,
    suggestion,
    whole,
)
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.structures.buckling import missed_in_members
from limber.structures.frame_elements import FrameElements, Piece, make_elements
from limber.structures.member import Member, check_pins, members_of
from limber.structures.outline import OutlineRows, frame_outline
from limber.structures.structure import Node, Structure

#: A member whose direction differs from its `up` by less than this, rad, has no section axes.
PARALLEL = 1e-6
#: Section forces of a mode below this fraction of its largest are zero.
NONE = 1e-9


class Frame(Structure):
    """A structure of beams, made by `frame`.

    members : the members, as `Member`s with everything filled in.
    elements : the elements; `edges` has their nodes.
    member_of : (e,) the number of the member to which each element belongs.
    """

    def __init__(
        self,
        position: Array,
        M: Any,
        K: Any,
        names: Sequence[str],
        members: Sequence[Member],
        elements: FrameElements,
        member_of: np.ndarray,
        given: Sequence[str],
    ):
        self._given_names = tuple(given)  # nodes that follow others among them
        self.members = tuple(members)
        self.elements = elements
        self.member_of = member_of
        super().__init__(
            position, M, K, names=names, edges=elements.nodes, geometric=elements.geometric
        )

    def member_forces(self, u: ArrayLike) -> SectionForces:
        """Return the section forces and strains at both ends of every element, stations (e, 2).

        Parameters
        ----------
        u : displacements of the nodes, (6 n,), or (6 n, m) for m columns, such as mode shapes.
        """
        shape: tuple[int | str, ...] = (6 * len(self),)
        if np.ndim(u) == 2:
            shape = (*shape, "m")
        return self.elements.forces(array("u", u, shape, "6 degrees of freedom per node."))

    def outline_rows(self) -> OutlineRows:
        """The points that pictures show: those of the bent members."""
        starts = np.append(True, np.diff(self.member_of) != 0)
        ends = np.append(starts[1:], True)
        members = [self.members[i] for i in self.member_of]
        pins = np.array([["a" in str(m.pins), "b" in str(m.pins)] for m in members])
        pins &= np.stack([starts, ends], axis=1)
        divided = np.array([m.divide for m in members])
        return frame_outline(self.position, self.elements, pins, divided)

    @cached_property
    def member_names(self) -> tuple[str, ...]:
        """The names of the members, "a-b" for one between the nodes a and b; a second one between them is "a-b#2"."""
        names: dict[str, None] = {}
        for member in self.members:
            base = name = f"{self._node_name(member.a)}-{self._node_name(member.b)}"
            copy = 1
            while name in names:
                copy += 1
                name = f"{base}#{copy}"
            names[name] = None
        return tuple(names)

    def recovery(self, shapes: Array) -> Recovery:
        """Return the section forces due to shapes (6 n, m) at both ends of every element, with the end names."""
        forces = self.member_forces(shapes)

        def flat(x: Array) -> Array:
            return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])

        members = tuple(self._member_stations(i, name) for i, name in enumerate(self.member_names))
        found = SectionForces(
            flat(forces.forces),
            flat(forces.strains),
            flat(forces.surface),
            flat(forces.constants),
            self._absent(flat(forces.forces), members),
            self.stations,
        )
        nodes = tuple(self.names[j] for j in self.elements.nodes.ravel())
        return Recovery(forces=found, nodes=nodes, members=members)

    def _member_stations(self, i: int, name: str) -> MemberStations:
        elements = np.flatnonzero(self.member_of == i)
        ends = np.cumsum(self.elements.length[elements])
        distance = np.stack([ends - self.elements.length[elements], ends], axis=1)
        stations = 2 * elements[:, None] + np.arange(2)
        nodes = self._node_name(self.members[i].a), self._node_name(self.members[i].b)
        return MemberStations(
            name, nodes, tuple(stations.ravel().tolist()), tuple(distance.ravel().tolist())
        )

    def _absent(self, forces: Array, members: tuple[MemberStations, ...]) -> np.ndarray:
        """(stations, 6): components that are zero along a member in all modes, but not because of its ball joints."""
        absent = np.zeros(forces.shape[:2], dtype=bool)
        lever = np.array([*3 * [1.0], *3 * [self.elements.length.max()]])[:, None]
        least = NONE * np.abs(forces / lever).max(axis=(0, 1))  # (modes,)
        for member, found in zip(self.members, members):
            at = list(found.stations)
            zero = (np.abs(forces[at] / lever) <= least).all(axis=(0, 2))
            released = {"": [], "ab": [1, 2, 3, 4, 5]}.get(str(member.pins), [3])
            zero[released] = False
            absent[at] = zero
        return absent

    @cached_property
    def stations(self) -> tuple[str, ...]:
        """The names of the sections at both ends of every element.

        The end at a of an element between the nodes a and b is "a:b", the other "b:a"; those of a second element
        between the same nodes are "a:b#2" and "b:a#2".
        """
        names: dict[str, None] = {}
        for a, b in self.elements.nodes.tolist():
            pair = self.names[a], self.names[b]
            copy, label = 1, ""
            while f"{pair[0]}:{pair[1]}{label}" in names:
                copy += 1
                label = f"#{copy}"
            names |= dict.fromkeys((f"{pair[0]}:{pair[1]}{label}", f"{pair[1]}:{pair[0]}{label}"))
        return tuple(names)

    def _node_name(self, which: str | int) -> str:
        return which if isinstance(which, str) else self._given_names[int(which)]

    knows_loads = True

    def modal_stiffness(self, u: Array, shapes: Array) -> Array:
        """The same as for any structure, computed from the elements directly."""
        return self.elements.modal_stiffness(u, shapes)

    def missed_buckling(self, u: Array) -> tuple[float, str] | None:
        """The same as for any structure, for compressed members that are single elements."""
        axial = self.member_forces(u).axial.min(axis=1)
        pressed = np.zeros(len(self.members))
        np.maximum.at(pressed, self.member_of, -axial)
        largest = np.abs(axial).max(initial=0.0)
        length = np.zeros(len(self.members))
        np.add.at(length, self.member_of, self.elements.length)
        EI = np.array([min(min(section.EI) for section in m.section) for m in self.members])
        real = pressed > 1e-9 * largest
        euler = np.full(len(self.members), np.inf)
        euler[real] = np.pi**2 * EI[real] / (length[real] ** 2 * pressed[real])
        names = [f"{m.a}-{m.b}" for m in self.members]
        single = np.array([m.divide == 1 for m in self.members])
        return missed_in_members(names, euler, single, len(names))

    def __repr__(self):
        return f"Frame(members={len(self.members)}, nodes={len(self)})"


def frame(
    nodes: Mapping[str, ArrayLike] | ArrayLike,
    elements: Sequence[Any] | np.ndarray,
    sections: Section | Mapping[str, Any] | Sequence[Any] | None = None,
    *,
    up: ArrayLike | str = "z",
    divide: int = 1,
    pins: str = "",
    bodies: Mapping[Node, RigidBody | float] | None = None,
    rigid: Mapping[Node, Node] | None = None,
) -> Frame:
    """A structure of straight beams joined at nodes, with consistent mass.

    Parameters
    ----------
    nodes : names and positions of the nodes, m, or an (n, 3) array of positions, whose nodes are named "0", "1", ...
    elements : the beams, each a pair of nodes (a, b), (a, b, section) or a `Member`, which has more options.
    sections : one `Section` for all, a dict of sections by name, or a list with one per element, in which a pair of
        sections is a taper.  It may be omitted if every element has its own section.
    up : the direction to which the z axes of the sections point, as closely as the members allow.  Members that are
        parallel to it have their y axes along the frame's y axis, or along x if that is their direction.
    divide : the number of elements into which each member is divided.  Those between a and b have the nodes "a-b.1",
        "a-b.2", ...
    pins : ends of the members with ball joints: "a", "b", "ab" for a truss, or "" for none.
    bodies : rigid bodies, or point masses in kg, at nodes; the axes of a body are those of the frame.
    rigid : nodes that follow others rigidly, {follower: leader}.  Members and bodies at a follower are connected to its
        leader, and the follower is not a node of the structure.

    Statics are exact for forces and moments at nodes, for any taper, with and without shear deformation.  As elements
    get smaller, frequencies of slender bending converge from above with the fourth power of their length; those of
    torsion and stretch, and the effects of shear deformation and rotary inertia, converge with the second.
    """
    names, position = _nodes(nodes)
    numbers = {name: i for i, name in enumerate(names)}
    default_up = axis("up", up)
    members = members_of(elements, sections, whole("divide", divide, 1), check_pins("pins", pins))
    leader = _leaders(rigid, names, numbers)
    ends = np.array(
        [
            [_node(f"elements[{i}]", end, names, numbers) for end in (member.a, member.b)]
            for i, member in enumerate(members)
        ]
    )
    to_end = np.array([[m.offset_a, m.offset_b] for m in members], dtype=float)
    points = position[ends] + to_end  # (members, 2, 3)
    to_end += position[ends] - position[leader[ends]]
    ends = leader[ends]
    span = points[:, 1] - points[:, 0]
    length = np.linalg.norm(span, axis=1)
    size = np.abs(position - position.mean(axis=0)).max()
    if length.min() <= 1e-9 * size:
        i = int(length.argmin())
        raise ArgumentValueError(
            f"elements[{i}] from {members[i].a!r} to {members[i].b!r} has no length: its ends are at the same position."
        )
    axes = _axes(span / length[:, None], members, default_up)

    kept = np.unique(leader)
    used = np.unique(ends)
    idle = np.setdiff1d(kept, used)
    if idle.size:
        raise ArgumentValueError(
            f"node {names[idle[0]]!r} belongs to no member: connect it, or remove it from nodes."
        )
    renumbered = np.zeros(len(names), dtype=int)
    renumbered[kept] = np.arange(kept.size)
    pieces = _Pieces([names[i] for i in kept], position[kept])
    for i, member in enumerate(members):
        pieces.add(i, member, renumbered[ends[i]], points[i], to_end[i])
    all_names, all_positions = pieces.names, np.array(pieces.position)
    member_of = np.array(pieces.member)
    parts = np.array([m.divide for m in members])
    built, M, K = make_elements(
        np.array(pieces.nodes),
        axes[member_of],
        np.array(pieces.offset),
        (length / parts)[member_of],
        np.array(pieces.kind),
        list(pieces.kinds),
        np.array(pieces.pins),
        len(all_names),
    )
    M = M + _body_masses(bodies, names, numbers, leader, renumbered, position, len(all_names))
    return Frame(all_positions, M, K, all_names, members, built, member_of, names)


class _Pieces:
    """The elements into which members are divided, and the nodes between them."""

    def __init__(self, names: list[str], position: Array):
        self.names = names
        self.taken = set(names)
        self.position = list(position)
        self.nodes: list[list[int]] = []
        self.offset: list[Array] = []
        self.pins: list[tuple[bool, bool]] = []
        self.member: list[int] = []
        self.kind: list[int] = []
        self.kinds: dict[Piece, int] = {}

    def add(self, i: int, member: Member, ends: np.ndarray, points: Array, offset: Array) -> None:
        """The elements of member i."""
        count = int(member.divide)  # type: ignore[arg-type]
        chain = [int(ends[0]), *self._between(member, count, points), int(ends[1])]
        first, second = member.section
        none = np.zeros(3)
        for k in range(count):
            self.nodes.append(chain[k : k + 2])
            at = offset[0] if k == 0 else none, offset[1] if k == count - 1 else none
            self.offset.append(np.array(at))
            pins = str(member.pins)
            self.pins.append(("a" in pins and k == 0, "b" in pins and k == count - 1))
            part = (0.0, 1.0) if first == second else (k / count, (k + 1) / count)
            self.kind.append(self.kinds.setdefault((first, second, *part), len(self.kinds)))
            self.member.append(i)

    def _between(self, member: Member, count: int, points: Array) -> range:
        """New nodes that divide a member."""
        start = len(self.position)
        name = base = f"{member.a}-{member.b}"
        copy = 1
        while count > 1 and f"{name}.1" in self.taken:
            copy += 1
            name = f"{base}#{copy}"
        for k in range(1, count):
            self.names.append(f"{name}.{k}")
            self.position.append(points[0] + k / count * (points[1] - points[0]))
        self.taken.update(self.names[start:])
        return range(start, start + count - 1)


def _nodes(nodes: Any) -> tuple[list[str], Array]:
    """Names and positions."""
    if isinstance(nodes, Mapping):
        for name in nodes:
            if not isinstance(name, str) or not name:
                raise ArgumentTypeError(
                    f"nodes: a name must be a non-empty string, got {shown(name)}."
                )
        points = [array(f"nodes[{name!r}]", p, (3,)) for name, p in nodes.items()]
        names, position = list(nodes), np.array(points).reshape(-1, 3)
    else:
        position = array("nodes", nodes, ("n", 3), "One point per node, or a dict of names.")
        names = [str(i) for i in range(len(position))]
    if len(names) < 2:
        raise ArgumentValueError(f"nodes has {len(names)} entries: a frame needs at least two.")
    return names, position


def _node(argument: str, which: Any, names: list[str], numbers: dict[str, int]) -> int:
    """The number of a node given by name or number; `argument` is for error messages."""
    if isinstance(which, str):
        if which in numbers:
            return numbers[which]
        raise ArgumentValueError(
            f"{argument} has the node {which!r}, which nodes does not have.{suggestion(which, names)}"
        )
    i = integer(which)
    if i is None:
        raise ArgumentTypeError(
            f"{argument} must have names or numbers of nodes, got {shown(which)}."
        )
    if not 0 <= i < len(names):
        raise ArgumentValueError(
            f"{argument} has the node {i}, which is out of range: there are {len(names)} nodes, 0 to {len(names) - 1}."
        )
    return i


def _leaders(rigid: Any, names: list[str], numbers: dict[str, int]) -> np.ndarray:
    """(n,): the node with which each node moves, itself unless it follows another."""
    leader = np.arange(len(names))
    if rigid is None:
        return leader
    if not isinstance(rigid, Mapping):
        raise ArgumentTypeError(
            f"rigid must be a dict of followers to their leaders, got {shown(rigid)}."
        )
    followers = []
    for follower, to in rigid.items():
        followers.append(_node("rigid", follower, names, numbers))
        leader[followers[-1]] = _node("rigid", to, names, numbers)
    for _ in followers:  # chains of followers, at most this long
        leader = leader[leader]
    for i in followers:
        if leader[i] in followers:
            raise ArgumentValueError(
                f"rigid forms a cycle at node {names[i]!r}: a follower cannot be its own leader."
            )
    return leader


def _axes(x: Array, members: list[Member], default: Array) -> Array:
    """(members, 3, 3): the axes of the members as columns."""
    up = np.array([default if m.up is None else m.up for m in members])
    side = np.linalg.norm(np.cross(x, up), axis=1)
    given = np.array([m.up is not None for m in members])
    wrong = np.flatnonzero(given & (side < PARALLEL))
    if wrong.size:
        raise ArgumentValueError(
            f"elements[{wrong[0]}].up is parallel to the member: it must point sideways, because it defines the section's "
            "z axis."
        )
    y = np.cross(up, x)
    for i in np.flatnonzero(side < PARALLEL):
        axis_y = np.eye(3)[1 if abs(x[i, 1]) < 0.9 else 0]
        y[i] = axis_y - (axis_y @ x[i]) * x[i]
    y /= np.linalg.norm(y, axis=1)[:, None]
    z = np.cross(x, y)
    angle = np.array([m.angle for m in members])[:, None]
    c, s = np.cos(angle), np.sin(angle)
    return np.stack([x, c * y + s * z, c * z - s * y], axis=2)


def _body_masses(bodies, names, numbers, leader, renumbered, position, size) -> sp.csr_array:
    """The mass matrix of bodies at nodes."""
    total = 6 * size
    if bodies is None:
        return sp.csr_array((total, total))
    if not isinstance(bodies, Mapping):
        raise ArgumentTypeError(
            f"bodies must be a dict of nodes to the bodies at them, got {shown(bodies)}."
        )
    rows, columns, values = [], [], []
    for which, body in bodies.items():
        at = _node("bodies", which, names, numbers)
        mass, moment, inertia = _body_moments(f"bodies[{which!r}]", body)
        lever, first = _tilde(position[at] - position[leader[at]]), _tilde(moment)
        inertia = inertia - first @ lever - lever @ first - mass * lever @ lever
        first = first + mass * lever
        block = np.block([[mass * np.eye(3), -first], [first, inertia]])
        freedoms = 6 * renumbered[leader[at]] + np.arange(6)
        rows.append(np.repeat(freedoms, 6))
        columns.append(np.tile(freedoms, 6))
        values.append(block.ravel())
    if not rows:
        return sp.csr_array((total, total))
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sp.coo_array(entries, shape=(total, total)).tocsr()


def _body_moments(name: str, body: Any) -> tuple[float, Array, Array]:
    """Mass, first moment and inertia about the node of a body there."""
    if not isinstance(body, Body):
        return number(name, body, minimum=0.0), np.zeros(3), np.zeros((3, 3))
    if body.modes or body.free_symbols:
        raise ArgumentTypeError(
            f"{name} must be a rigid body with numbers, or a mass in kg, got {shown(body)}."
        )
    moments = body.constants(None, True)
    inertia = moments.inertia[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3)
    return float(moments.mass), moments.moment, inertia


def _tilde(x: Array) -> Array:
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])
