"""Reduction of a structure to a flexible body of a few modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from limber.bodies.flexible import FlexibleBody, modal_matrices
from limber.bodies.nodes import Nodes
from limber.bodies.recovery import gauge_shapes
from limber.bodies.shapes import Shapes
from limber.checks import Array, array, did_you_mean, flag, listed, repeated, shown
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelError
from limber.structures.choice import Choice, chosen_modes, mode_choice
from limber.structures.eigen import BLOCK, LowestModes
from limber.structures.inertia import modal_integrals
from limber.structures.interface import NodeRows, independent_rows
from limber.structures.loads import loaded_mass
from limber.structures.matrices import warn_of_rounding
from limber.structures.mode_set import LOADS, ModeSet, attachment_shapes, constraint_shapes
from limber.structures.progress import Progress
from limber.structures.reduced import ReducedStructure
from limber.structures.rigid import rigid_motions
from limber.structures.stiffening import UnitLoads, check_stiffening, load_stiffness, stiffened
from limber.structures.support import Support
from limber.structures.threads import one_thread

if TYPE_CHECKING:
    from limber.structures.places import Places
    from limber.structures.structure import Node, Structure

METHODS = ("normal", "static-correction", "craig-bampton")
#: A body keeps all nodes of a structure, unless specified otherwise, if they have rotations and are not more than this.
MANY = 200


class Reduction:
    """The work of `Structure.reduce`, with its checked arguments."""

    def __init__(
        self,
        structure: Structure,
        clamped: Node | Iterable[Node] | None,
        pinned: Node | Iterable[Node] | None,
        interface: Node | Iterable[Node],
        method: str,
        loads: Mapping[Node, Any] | None,
        patches: Mapping[Node, Iterable[Node]] | None,
        progress: bool | None,
    ):
        self.structure = structure
        self.places = structure.places
        #: nodes and groups that are held
        self.clamped_at = self.places.numbers("clamped", clamped)
        self.pinned_at = self.places.numbers("pinned", pinned)
        #: the nodes that are held
        self.clamped = self.places.nodes(self.clamped_at)
        self.pinned = self.places.nodes(self.pinned_at)
        self.interface = self.places.numbers("interface", interface)
        self.method = _method(method, self.interface)
        self.rows = NodeRows(structure, _patches(self.places, patches))
        self.refuse_held(
            self.interface,
            " as well. A clamped node carries bodies without being an interface; leave it out there.",
        )
        twice = [j for j in self.pinned if j in self.clamped]
        if twice:
            raise ArgumentValueError(
                f"pinned has the node {structure.names[twice[0]]!r}, which is clamped as well. Remove it from one of the "
                "two."
            )
        self.load_nodes, self.M = loaded_mass(self.rows, loads)
        self.progress = Progress(progress)

    def refuse_held(self, interface: list[int], remedy: str) -> None:
        """Reject interface nodes that are held, and groups that contain such nodes."""
        held, names = {*self.clamped, *self.pinned}, self.structure.names
        for place in interface:
            both = [j for j in self.places.members(place) if j in held]
            if both:
                group = f"the group {self.places.name(place)!r} with " if both[0] != place else ""
                raise ArgumentValueError(
                    f"interface has {group}the node {names[both[0]]!r}, which is held{remedy}"
                )

    @property
    def root(self) -> list[int]:
        """The clamped node or group, if it is one; it does not move."""
        return self.clamped_at if len(self.clamped_at) == 1 else []

    @property
    def named(self) -> list[int]:
        """The nodes and groups that the arguments name and the body must keep; none of several clamped ones."""
        return [*self.root, *self.pinned_at, *self.interface, *self.load_nodes]

    def again(self, loads: Mapping[Node, Any] | None, progress: bool | None) -> Reduction:
        """The same, with other loads unless they are None."""
        made = copy(self)
        made.progress = Progress(progress)
        if loads is not None:
            made.load_nodes, made.M = loaded_mass(self.rows, loads)
        return made

    def held(self) -> np.ndarray:
        """(N,): which degrees of freedom are held."""
        s = self.structure
        held = np.zeros((len(s), s.freedoms), bool)
        held[self.clamped] = True
        held[self.pinned, :3] = True
        return held.ravel()

    def support(self) -> Support:
        """The structure with its held nodes."""
        s = self.structure
        support = Support(s, self.held(), self.M, self.progress.of("factoring K"))
        if self.clamped and support.rigid.shape[1]:
            raise ModelError(
                f"clamped={listed(s.names[j] for j in self.clamped)} does not hold the structure: "
                f"{support.rigid.shape[1]} rigid-body motions remain, because these nodes have no rotational degrees of "
                "freedom. Clamp three or more nodes that are not on a line, such as all nodes of a face, or reduce it "
                "free with interface=... and attach it with inboard=...."
            )
        return support

    def support_of_loads(self, support: Support) -> Support:
        """The structure as held by the joint of the body: at its clamped nodes.  Other bodies act at pinned ones."""
        if not self.pinned:
            return support
        s = self.structure
        held = np.zeros((len(s), s.freedoms), bool)
        held[self.clamped] = True
        return Support(s, held.ravel(), self.M)

    def normal_modes(self, support: Support, choice: Choice) -> tuple[Array, Array, Array]:
        """omega^2, shapes and accuracy of the normal modes, with the interface nodes free or, for Craig-Bampton, held."""
        if choice.count == 0:
            return np.zeros(0), np.zeros((self.M.shape[0], 0)), np.zeros(0)
        flexibility: Callable[[Array], Array] = support.elastic
        if self.method == "craig-bampton":
            rows, _ = self.interface_rows
            self._refuse_without_interior(rows)
            flexibility = support.constrained(rows)
        elif choice.part is not None and support.rigid.shape[1]:
            raise ArgumentValueError(
                'modes={"effective_mass": ...} needs a structure that is held: the modes of a free one do not react to '
                "accelerations of its frame. Give clamped=..., a number of modes or a band."
            )
        modes = self.lowest_modes(flexibility)
        return chosen_modes(choice, modes, self.effective_mass, self.progress.of("computing modes"))

    @cached_property
    def interface_rows(self) -> tuple[sp.csr_array, list[str]]:
        """The motions of the interface nodes (r, N), and the forces along them, without those that others imply.

        Nodes of solids and trusses share the neighbours that determine their rotations, so their motions may depend on
        each other.
        """
        rows = self.rows.stacked(self.interface)
        labels = [f"{x} at node {self.places.name(j)!r}" for j in self.interface for x in LOADS]
        free = np.flatnonzero(self.structure.active.ravel() & ~self.held())
        kept = independent_rows(rows[:, free].toarray())
        return rows[kept], [labels[i] for i in kept]

    def _refuse_without_interior(self, rows: sp.csr_array) -> None:
        """Reject modes of a structure without free degrees of freedom when its interface nodes are held too."""
        free = np.flatnonzero(self.structure.active.ravel() & ~self.held())
        if (
            rows.shape[0] >= free.size
            and np.linalg.matrix_rank(rows[:, free].toarray()) == free.size
        ):
            raise ModelError(
                "with its interface nodes held, the structure has no modes: all of its degrees of freedom belong to "
                "supports and interface nodes. Use modes=0, which keeps the shapes of the interface nodes (static "
                "condensation), or divide the structure more finely."
            )

    def lowest_modes(self, flexibility: Callable[[Array], Array]) -> LowestModes:
        """The iteration that finds modes of the structure with its loads."""
        rng = np.random.default_rng(1)
        return LowestModes(flexibility, self.M, rng.standard_normal((self.M.shape[0], BLOCK)))

    def effective_mass(self, shapes: Array) -> Array:
        """(k, 6): the fractions of mass (x, y, z) and inertia (about x, y, z) of shapes (N, k), orthonormal in M.

        They are nan for an axis about which the structure has no inertia.
        """
        s = self.structure
        rigid = rigid_motions(s.position, s.freedoms, self.origin(None))[:, [3, 4, 5, 0, 1, 2]]
        force = self.M @ rigid
        total = np.einsum("ni,ni->i", rigid, force)
        real = total > 1e-12 * np.array([*3 * [total[0]], *3 * [max(total[3:].max(), 1e-300)]])
        return (shapes.T @ force) ** 2 / np.where(real, total, np.nan)

    def origin(self, given: Any) -> Array:
        """The origin of the body frame in the axes of the structure."""
        if given is None:
            first = self.clamped_at[:1]
            return self.places.position(first)[0] if first else np.zeros(3)
        if isinstance(given, str | int | np.integer):
            return self.places.position([self.places.number(given, "origin")])[0]
        return array("origin", given, (3,), "A node, or a point in the axes of the structure.")

    def body_nodes(self, nodes: Any) -> list[int]:
        """The nodes and groups that the body keeps."""
        s = self.structure
        if nodes is None:
            wanted = np.flatnonzero(self.rows.turning).tolist() if len(s) <= MANY else []
        elif isinstance(nodes, str) and nodes == "all" and "all" not in s.names:
            wanted = list(range(len(s)))
        else:
            wanted = self.places.numbers("nodes", nodes)
        kept = sorted({*wanted, *self.named})
        if not kept:
            raise ArgumentValueError(
                "the body would have no node to which anything attaches: name nodes in interface=... or nodes=...."
            )
        return kept

    def shapes_of(self, nodes: list[int], shapes: Array) -> tuple[Array, Array]:
        """Translation and rotation shapes (k, 3, m) of nodes and groups."""
        moves = np.array(
            [
                np.zeros((6, shapes.shape[1])) if j in self.root else self.rows.rows(j) @ shapes
                for j in nodes
            ]
        )
        return moves[:, :3], moves[:, 3:]


def reduce(
    structure: Structure,
    *,
    clamped: Node | Iterable[Node] | None,
    pinned: Node | Iterable[Node] | None,
    interface: Node | Iterable[Node],
    modes: int | dict,
    method: str,
    loads: Mapping[Node, Any] | None,
    shapes: ArrayLike | None,
    patches: Mapping[Node, Iterable[Node]] | None,
    nodes: Any,
    origin: Any,
    damping: float | ArrayLike,
    geometric_stiffening: bool,
    strain: Any,
    progress: bool | None,
) -> FlexibleBody:
    """`Structure.reduce`, which documents the arguments."""
    work = Reduction(structure, clamped, pinned, interface, method, loads, patches, progress)
    choice = mode_choice(modes)
    own = _user_shapes(structure, work, shapes)
    gauges, rows = gauge_shapes(strain, structure.K.shape[0], "degrees of freedom of the structure")
    if flag("geometric_stiffening", geometric_stiffening):
        check_stiffening(structure)
    kept = work.body_nodes(nodes)
    position = structure.position - work.origin(origin)
    with work.progress, one_thread():
        support = work.support()
        _, normal, _ = work.normal_modes(support, choice)
        omega, phi = _coordinates(work, support, normal, own)
        warn_of_rounding(structure.K, omega, phi)
        integrals = modal_integrals(structure.M, position, phi)
        translation, rotation = work.shapes_of(kept, phi)
        second = unit = loaded = None
        if geometric_stiffening:
            unit = UnitLoads(structure, support, phi)
            integrals = stiffened(integrals, unit, position, work.progress.of("unit loads"))
            second = _node_second(work, unit, kept)
        elif structure.knows_loads:
            carried = work.support_of_loads(support)
            loaded = load_stiffness(structure, carried, phi, position, _unit_forces(work, kept))
    drawn = structure.outline_rows()
    outline = None if drawn is None else drawn.outline(work.origin(origin), phi, unit)
    m = omega.size
    ratio = repeated(
        "damping", damping, m, f"Give one damping ratio, or one for each of the {m} modes."
    )
    if ratio.min() < 0.0:
        raise ArgumentValueError(f"damping ratios must not be negative, got {shown(damping)}.")
    matrices = modal_matrices(np.diag(omega**2), np.diag(2.0 * ratio * omega), m)
    names = tuple(map(work.places.name, kept))
    at = work.places.position(kept) - work.origin(origin)
    node_shapes = Shapes(at, translation, rotation, second)
    full = ReducedStructure(work, choice, phi, work.origin(origin))
    recovered = structure.recovery(phi)
    if rows is not None:
        recovered = replace(recovered, gauges=gauges, strain=rows @ phi)
    empty = recovered.forces is None and recovered.strain is None
    recovery = None if empty else recovered
    found = Nodes(names, node_shapes)
    return FlexibleBody(
        integrals,
        found,
        *matrices,
        reduced_from=full,
        outline=outline,
        recovery=recovery,
        load_stiffness=loaded,
    )


def _coordinates(
    work: Reduction, support: Support, normal: Array, own: Array
) -> tuple[Array, Array]:
    """omega and shapes of all modes of the body."""
    modes = ModeSet(work.structure, support)
    modes.add(normal, [f"mode {i + 1}" for i in range(normal.shape[1])])
    if work.method == "static-correction":
        rows, labels = work.interface_rows
        modes.add(attachment_shapes(support, rows), [f"the shape of a {x}" for x in labels])
    elif work.method == "craig-bampton":
        static = constraint_shapes(support, work.interface_rows[0])
        modes.add(static, [f"interface shape {i + 1}" for i in range(static.shape[1])])
    modes.add(own, [f"shapes[..., {i}]" for i in range(own.shape[1])])
    if not modes.labels:
        raise ArgumentValueError(
            "modes=0 and no other shapes: the body would have no mode at all. Use a RigidBody instead."
        )
    return modes.coordinates()


def _node_second(work: Reduction, unit: UnitLoads, kept: list[int]) -> Array:
    """Second-order shapes (k, 3, m, m) of nodes from unit forces there."""
    second = unit.second_order(_unit_forces(work, kept), work.progress.of("unit forces"))
    return second.reshape(len(kept), 3, *second.shape[1:])


def _unit_forces(work: Reduction, kept: list[int]) -> Array:
    """(N, 3 k): unit forces at nodes."""
    return sp.vstack([work.rows.rows(j)[:3] for j in kept], format="csr").T.toarray()


def _user_shapes(structure: Structure, work: Reduction, shapes: ArrayLike | None) -> Array:
    """The user's shapes (N, k)."""
    n, f = len(structure), structure.freedoms
    if shapes is None:
        return np.zeros((n * f, 0))
    hint = f"The {f} degrees of freedom of {n} nodes; each column is a shape."
    given = array("shapes", shapes, (n, f, "k"), hint)
    largest = np.abs(given).max(initial=0.0)
    for kind, nodes, end in (("clamped", work.clamped, f), ("pinned", work.pinned, 3)):
        for j in nodes:
            if np.abs(given[j, :end]).max(initial=0.0) > 1e-9 * largest:
                raise ArgumentValueError(
                    f"shapes moves node {structure.names[j]!r}, which is {kind}: shapes must be zero there. Subtract the "
                    "rigid-body motion of that node, or do not hold it."
                )
    result = given.reshape(n * f, -1).copy()
    result[~structure.active] = 0.0
    return result


def _patches(places: Places, patches) -> dict[int, list[int]]:
    """The nodes of patches by the node that they move."""
    if patches is None:
        return {}
    if not isinstance(patches, Mapping):
        raise ArgumentTypeError(
            f"patches must be a dict of nodes to lists of nodes, got {shown(patches)}."
        )
    return {
        places.structure.node(node, "patches"): places.nodes(
            places.numbers(f"patches[{node!r}]", patch)
        )
        for node, patch in patches.items()
    }


def _method(method: Any, interface: list[int]) -> str:
    if method not in METHODS:
        raise ArgumentValueError(
            f"method={shown(method)} is unknown. {did_you_mean(str(method), METHODS)}"
        )
    if method != "normal" and not interface:
        raise ArgumentValueError(
            f"method={method!r} needs the nodes that other bodies load: name them in interface=...."
        )
    return method
