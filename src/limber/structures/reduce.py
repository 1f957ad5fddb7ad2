"""Reduction of a structure to a flexible body of a few modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from limber.bodies.flexible import FlexibleBody, modal_matrices
from limber.bodies.nodes import Nodes
from limber.bodies.recovery import Recovery, gauge_shapes
from limber.bodies.shapes import Shapes
from limber.checks import Array, array, did_you_mean, flag, listed, repeated, shown
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelError
from limber.structures.choice import Choice, chosen_modes, mode_choice
from limber.structures.eigen import LowestModes
from limber.structures.inertia import modal_integrals
from limber.structures.interface import NodeRows
from limber.structures.loads import loaded_mass
from limber.structures.mode_set import LOADS, ModeSet, attachment_shapes, constraint_shapes
from limber.structures.progress import Progress
from limber.structures.reduced import ReducedStructure
from limber.structures.rigid import rigid_motions
from limber.structures.stiffening import UnitLoads, check_stiffening, stiffened
from limber.structures.support import Support
from limber.structures.threads import one_thread

if TYPE_CHECKING:
    from limber.structures.structure import Node, Structure

METHODS = ("normal", "static-correction", "craig-bampton")
#: A body keeps all nodes of a structure, unless told which, if they have rotations and are not more than this.
MANY = 200
#: Columns of the first block of the eigenvalue iteration.
BLOCK = 8


class Reduction:
    """The work of `Structure.reduce`, whose arguments it has, checked."""

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
        self.clamped = node_numbers(structure, "clamped", clamped)
        self.pinned = node_numbers(structure, "pinned", pinned)
        self.interface = node_numbers(structure, "interface", interface)
        self.method = _method(method, self.interface)
        self.rows = NodeRows(structure, _patches(structure, patches))
        both = [j for j in self.interface if j in (*self.clamped, *self.pinned)]
        if both:
            raise ArgumentValueError(
                f"interface has the node {structure.names[both[0]]!r}, which is held as well. A clamped node carries bodies "
                "without being an interface; leave it out there."
            )
        twice = [j for j in self.pinned if j in self.clamped]
        if twice:
            raise ArgumentValueError(
                f"pinned has the node {structure.names[twice[0]]!r}, which is clamped as well. Leave it out of one of them."
            )
        self.load_nodes, self.M = loaded_mass(structure, self.rows, loads)
        self.progress = Progress(progress)

    @property
    def named(self) -> list[int]:
        """The nodes that the arguments name and the body must keep; of several clamped nodes none."""
        single = self.clamped if len(self.clamped) == 1 else []
        return [*single, *self.pinned, *self.interface, *self.load_nodes]

    def again(self, loads: Mapping[Node, Any] | None, progress: bool | None) -> Reduction:
        """The same, with other loads unless they are None."""
        made = copy(self)
        made.progress = Progress(progress)
        if loads is not None:
            made.load_nodes, made.M = loaded_mass(self.structure, self.rows, loads)
        return made

    def numbers(self, argument: str, value: Any) -> list[int]:
        """The numbers of one node or several of the structure, given by name or number."""
        return node_numbers(self.structure, argument, value)

    def held(self) -> np.ndarray:
        """(N,): which freedoms are held."""
        s = self.structure
        held = np.zeros((len(s), s.freedoms), bool)
        held[self.clamped] = True
        held[self.pinned, :3] = True
        return held.ravel()

    def support(self) -> Support:
        """The structure as it is held."""
        s = self.structure
        support = Support(s, self.held(), self.M, self.progress.of("factoring K"))
        if self.clamped and support.rigid.shape[1]:
            raise ModelError(
                f"clamped={listed(s.names[j] for j in self.clamped)} does not hold the structure: {support.rigid.shape[1]} rigid-body "
                "motions are left, since these nodes have no rotation freedoms. Clamp three or more nodes that are not "
                "on a line, such as all of a face, or reduce it free with interface=... and attach it with inboard=...."
            )
        return support

    def normal_modes(self, support: Support, choice: Choice) -> tuple[Array, Array, Array]:
        """omega^2, shapes and accuracy of the normal modes, with the interface nodes free or, for Craig-Bampton, held."""
        if choice.count == 0:
            return np.zeros(0), np.zeros((self.M.shape[0], 0)), np.zeros(0)
        flexibility: Callable[[Array], Array] = support.elastic
        if self.method == "craig-bampton":
            rows = self.rows.stacked(self.interface)
            self._refuse_without_interior(rows)
            flexibility = support.constrained(rows)
        elif choice.part is not None and support.rigid.shape[1]:
            raise ArgumentValueError(
                'modes={"effective_mass": ...} needs a structure that is held: modes of a free one do not react to '
                "accelerations of its frame. Give clamped=..., a number of modes or a band."
            )
        modes = self.lowest_modes(flexibility)
        return chosen_modes(choice, modes, self.effective_mass, self.progress.of("computing modes"))

    def _refuse_without_interior(self, rows: sp.csr_array) -> None:
        """Refuse modes of a structure none of whose freedoms is left if its interface nodes are held too."""
        free = np.flatnonzero(self.structure.active.ravel() & ~self.held())
        if (
            rows.shape[0] >= free.size
            and np.linalg.matrix_rank(rows[:, free].toarray()) == free.size
        ):
            raise ModelError(
                "with its interface nodes held the structure has no modes: all of its freedoms are those of supports and "
                "interface nodes. Ask for modes=0, which leaves the shapes of the interface nodes (static condensation), "
                "or divide the structure more finely."
            )

    def lowest_modes(self, flexibility: Callable[[Array], Array]) -> LowestModes:
        """The iteration that finds modes of the structure with its loads."""
        rng = np.random.default_rng(1)
        return LowestModes(flexibility, self.M, rng.standard_normal((self.M.shape[0], BLOCK)))

    def effective_mass(self, shapes: Array) -> Array:
        """(k, 6): the parts of mass (x, y, z) and inertia (about x, y, z) that shapes (N, k), orthonormal in M, have.

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
        s = self.structure
        if given is None:
            return s.position[self.clamped[0]] if self.clamped else np.zeros(3)
        if isinstance(given, str | int | np.integer):
            return s.position[s.node(given, "origin")]
        return array("origin", given, (3,), "A node, or a point in the axes of the structure.")

    def body_nodes(self, nodes: Any) -> list[int]:
        """The nodes that the body keeps."""
        s = self.structure
        if nodes is None:
            wanted = np.flatnonzero(self.rows.turning).tolist() if len(s) <= MANY else []
        elif isinstance(nodes, str) and nodes == "all" and "all" not in s.names:
            wanted = list(range(len(s)))
        else:
            wanted = node_numbers(s, "nodes", nodes)
        kept = sorted({*wanted, *self.named})
        if not kept:
            raise ArgumentValueError(
                "the body would have no node to which anything attaches: name nodes in interface=... or nodes=...."
            )
        return kept

    def shapes_of(self, nodes: list[int], shapes: Array) -> tuple[Array, Array]:
        """Translation and rotation shapes (k, 3, m) of nodes."""
        single = self.clamped if len(self.clamped) == 1 else []
        moves = np.array(
            [
                np.zeros((6, shapes.shape[1])) if j in single else self.rows.rows(j) @ shapes
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
    gauges, rows = gauge_shapes(strain, structure.K.shape[0], "freedoms of the structure")
    if flag("geometric_stiffening", geometric_stiffening):
        check_stiffening(structure)
    kept = work.body_nodes(nodes)
    position = structure.position - work.origin(origin)
    with work.progress, one_thread():
        support = work.support()
        _, normal, _ = work.normal_modes(support, choice)
        omega, phi = _coordinates(work, support, normal, own)
        integrals = modal_integrals(structure.M, position, phi)
        translation, rotation = work.shapes_of(kept, phi)
        second = unit = None
        if geometric_stiffening:
            unit = UnitLoads(structure, support, phi)
            integrals = stiffened(integrals, unit, position, work.progress.of("unit loads"))
            second = _node_second(work, unit, kept)
    drawn = structure.outline_rows()
    outline = None if drawn is None else drawn.outline(work.origin(origin), phi, unit)
    m = omega.size
    ratio = repeated("damping", damping, m, f"One damping ratio, or one for each of the {m} modes.")
    if ratio.min() < 0.0:
        raise ArgumentValueError(f"damping ratios must not be negative, got {shown(damping)}.")
    matrices = modal_matrices(np.diag(omega**2), np.diag(2.0 * ratio * omega), m)
    names = tuple(structure.names[j] for j in kept)
    node_shapes = Shapes(position[kept], translation, rotation, second)
    full = ReducedStructure(work, choice, phi, work.origin(origin))
    stations, forces = structure.section_forces(phi)
    recovery = None
    if rows is not None or forces is not None:
        recovery = Recovery(gauges, None if rows is None else rows @ phi, stations, forces)
    found = Nodes(names, node_shapes)
    return FlexibleBody(
        integrals, found, *matrices, reduced_from=full, outline=outline, recovery=recovery
    )


def _coordinates(
    work: Reduction, support: Support, normal: Array, own: Array
) -> tuple[Array, Array]:
    """omega and shapes of all that the body has."""
    names = work.structure.names
    modes = ModeSet(work.structure, support)
    modes.add(normal, [f"mode {i + 1}" for i in range(normal.shape[1])])
    if work.method == "static-correction":
        static = attachment_shapes(support, work.rows.stacked(work.interface))
        modes.add(
            static,
            [f"the shape of a {x} at node {names[j]!r}" for j in work.interface for x in LOADS],
        )
    elif work.method == "craig-bampton":
        static = constraint_shapes(support, work.rows.stacked(work.interface))
        modes.add(static, [f"interface shape {i + 1}" for i in range(static.shape[1])])
    modes.add(own, [f"shapes[..., {i}]" for i in range(own.shape[1])])
    if not modes.labels:
        raise ArgumentValueError(
            "modes=0 and no other shapes: the body would have no mode at all. Use a RigidBody instead."
        )
    return modes.coordinates()


def _node_second(work: Reduction, unit: UnitLoads, kept: list[int]) -> Array:
    """Second-order shapes (k, 3, m, m) of nodes from unit forces there."""
    forces = sp.vstack([work.rows.rows(j)[:3] for j in kept], format="csr").T.toarray()
    second = unit.second_order(forces, work.progress.of("unit forces"))
    return second.reshape(len(kept), 3, *second.shape[1:])


def _user_shapes(structure: Structure, work: Reduction, shapes: ArrayLike | None) -> Array:
    """The user's shapes (N, k)."""
    n, f = len(structure), structure.freedoms
    if shapes is None:
        return np.zeros((n * f, 0))
    hint = f"The {f} freedoms of {n} nodes, one shape a column."
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


def node_numbers(structure: Structure, argument: str, value: Any) -> list[int]:
    """The numbers of one node or several, or of none; a node that is there twice is refused."""
    if value is None:
        return []
    if isinstance(value, str | int | np.integer):
        return [structure.node(value, argument)]
    try:
        given = list(value)
    except TypeError:
        raise ArgumentTypeError(
            f"{argument} must be a node or a list of nodes, got {shown(value)}."
        ) from None
    numbers = [structure.node(x, argument) for x in given]
    if len(set(numbers)) < len(numbers):
        twice = next(j for j in numbers if numbers.count(j) > 1)
        raise ArgumentValueError(f"{argument} has the node {structure.names[twice]!r} twice.")
    return numbers


def _patches(structure: Structure, patches) -> dict[int, list[int]]:
    if patches is None:
        return {}
    if not isinstance(patches, Mapping):
        raise ArgumentTypeError(
            f"patches must be a dict of nodes to lists of nodes, got {shown(patches)}."
        )
    return {
        structure.node(node, "patches"): node_numbers(structure, f"patches[{node!r}]", patch)
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
