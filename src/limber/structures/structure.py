"""Structures: nodes with a mass and a stiffness matrix, as given by finite elements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.flexible import FlexibleBody
from limber.bodies.nodes import node_names
from limber.bodies.recovery import Recovery
from limber.checks import Array, array, integer, listed, shown, suggestion
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.structures import matrices
from limber.structures.buckling import Buckling, structure_buckling
from limber.structures.modes import StructureModes, structure_modes
from limber.structures.outline import OutlineRows, node_outline
from limber.structures.places import Located, Places, checked_groups, warn_of_shadowed
from limber.structures.reduce import reduce
from limber.structures.stiffening import geometric_stiffness

#: A node of a structure, by name or number.
Node = str | int | np.integer
#: u (freedoms * n,), the displacements under a static load -> K_g, the geometric stiffness of their stresses.
Geometric = Callable[[Array], Any]


class Structure(Located):
    """An elastic structure of n nodes with full finite-element matrices; `reduce` makes a body from it.

    Parameters
    ----------
    position : (n, 3) undeformed positions of the nodes, m.
    M, K : mass and stiffness matrix, sparse or dense, with 6 degrees of freedom per node (x, y, z, then the rotations
        about x, y, z) or 3 (x, y, z), node after node, all in the axes of `position`.  They are those of the free
        structure: K does not resist rigid-body motion.  Rotations that no element uses have rows and columns of zeros.
    names : n names of the nodes.  None: "0", "1", ...
    edges, triangles : (e, 2) and (t, 3) node numbers, the lines and the surface that pictures show.
    groups : {name: node numbers}, such as the nodes of a face.  The arguments of `reduce` accept the name of a group in
        place of that of a node: it is held as a whole, or moves as the rigid body that fits its nodes best.
    geometric : a function of the displacements u (6 n or 3 n) under some static load.  It returns the geometric
        stiffness matrix of the stresses that u causes, linear in u.  `reduce(geometric_stiffening=True)` and
        `buckling` need it.

    The structure is immutable.  It is checked when it is made: wrong sizes, asymmetry, negative masses and stiffnesses,
    loose nodes and parts, supports to the ground and mixed units are rejected.
    """

    def __init__(
        self,
        position: ArrayLike,
        M: Any,
        K: Any,
        *,
        names: Sequence[str] | None = None,
        edges: ArrayLike | None = None,
        triangles: ArrayLike | None = None,
        groups: Mapping[str, Iterable[int]] | None = None,
        geometric: Geometric | None = None,
    ):
        self.position = array("position", position, ("n", 3), "One point per node.")
        n = len(self.position)
        if n < 2:
            raise ArgumentValueError(
                f"position has {n} node{'' if n else 's'}: a structure needs at least two."
            )
        self.names = node_names(names, n)
        self.M = matrices.symmetric_matrix("M", M, n)
        self.K = matrices.symmetric_matrix("K", K, n)
        if self.M.shape != self.K.shape:
            raise ArgumentValueError(
                f"M and K must have the same size, got {self.M.shape} and {self.K.shape} for {n} nodes. If one matrix has "
                "no rotations, add rows and columns of zeros for them."
            )
        #: degrees of freedom of each node, 6 or 3
        self.freedoms = self.K.shape[0] // n
        matrices.check_definite("M", self.M, self.names)
        matrices.check_mass(self.M, self.position)
        matrices.check_definite("K", self.K, self.names)
        matrices.check_connected(self.M, self.K, self.names)
        matrices.check_free(self.K, self.position, self.names)
        matrices.check_units(self.M, self.K, self.position)
        self.edges = _node_numbers("edges", edges, 2, n)
        self.triangles = _node_numbers("triangles", triangles, 3, n)
        self.groups = checked_groups(groups, n)
        warn_of_shadowed(self.groups, self.names)
        if geometric is not None and not callable(geometric):
            raise ArgumentTypeError(
                f"geometric must be a function of the displacements, got {shown(geometric)}."
            )
        self.geometric = geometric
        self._freeze()

    def _freeze(self) -> None:
        self._lock_matrices()
        super()._freeze()

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self._lock_matrices()

    def _lock_matrices(self) -> None:
        for matrix in (self.M, self.K):
            for part in (matrix.data, matrix.indices, matrix.indptr):
                part.setflags(write=False)

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.position)

    @cached_property
    def active(self) -> np.ndarray:
        """(freedoms * n,): which degrees of freedom have stiffness; the others are rotations that no element uses."""
        return self.K.diagonal() > 0.0

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The numbers of the nodes by name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def places(self) -> Places:
        """The nodes and groups, as the arguments of `reduce` name them."""
        return Places(self)

    def node(self, which: Node, argument: str = "node") -> int:
        """Return the number of a node given by name or number; `argument` is for error messages."""
        if isinstance(which, str):
            if which in self.numbers:
                return self.numbers[which]
            known = ", ".join(map(repr, self.names[:12])) + (", ..." if len(self) > 12 else "")
            groups = f"; its groups are: {listed(self.groups)}" if self.groups else ""
            raise ArgumentValueError(
                f"{argument}={which!r} is not a node of the structure; its nodes are: {known}{groups}."
                f"{suggestion(which, (*self.names, *self.groups))}"
            )
        i = integer(which)
        if i is None:
            raise ArgumentTypeError(
                f"{argument} must be a node name or number of the structure, got {shown(which)}."
            )
        if not 0 <= i < len(self):
            raise ArgumentValueError(
                f"{argument}={shown(i)} is out of range: the structure has nodes 0 to {len(self) - 1}."
            )
        return i

    def reduce(
        self,
        *,
        clamped: Node | Iterable[Node] | None = None,
        pinned: Node | Iterable[Node] | None = None,
        interface: Node | Iterable[Node] = (),
        modes: int | dict = 10,
        method: str = "normal",
        loads: Mapping[Node, Any] | None = None,
        shapes: ArrayLike | None = None,
        patches: Mapping[Node, Iterable[Node]] | None = None,
        nodes: Iterable[Node] | str | None = None,
        origin: Node | ArrayLike | None = None,
        damping: float | ArrayLike = 0.0,
        geometric_stiffening: bool = False,
        strain: Mapping[str, ArrayLike] | ArrayLike | None = None,
        progress: bool | None = None,
    ) -> FlexibleBody:
        """Make a flexible body that deforms like the structure, in a few shapes.

        Parameters
        ----------
        clamped : one or several nodes or groups that are held in all degrees of freedom.  The body frame is there, in
            the middle of a group, and so is the joint of the body.  Without clamped nodes the modes are those of the
            free structure: attach the body with `inboard=` the node that carries its joint.
        pinned : one or several nodes whose displacements alone are held; the modes rotate them.  Attach the body with
            `inboard=` that node.
        interface : nodes or groups at which other bodies or forces act.  A group becomes one node of the body, with its
            name, in the middle of its nodes; it moves as the rigid body that fits their displacements best (RBE3).
        modes : which normal modes to use: a number of the lowest ones; {"band": (low, high)}, all between two
            frequencies in rad/s; or {"effective_mass": 0.95}, as many as have that fraction of the total mass in each
            of the "directions", from x, y, z, rx, ry, rz, by default ("x", "y", "z").
        method : "normal" uses normal modes only, with the interface nodes free.  "static-correction" adds the static
            deformation under unit forces and moments at the interface nodes (residual attachment modes), which makes
            the static deflection under such loads exact.  "craig-bampton" uses normal modes with the interface nodes
            held and adds the static deformation due to their displacements and rotations.
        loads : {node: (mass, inertia)} that the nodes carry, kg and kg m^2 about the node, (3, 3), a diagonal
            (Ixx, Iyy, Izz) or one number for all axes.  The normal modes are computed with these loads and so fit the
            loaded body better.  This only affects the shapes: attach the load itself as a body.
        shapes : (n, 6, k) or (n, 3, k), shapes of your own in addition to the modes, or instead of them with `modes=0`.
        patches : {node: nodes}; a node without rotations of its own, such as a node of a solid, moves as the rigid body
            that fits the displacements of these nodes best.  By default it is fitted to itself and its neighbours in K.
        nodes : which nodes the body keeps, by name, in addition to those that other arguments name; "all" for all.
            None keeps all nodes with rotations of their own if the structure has no more than 200 nodes, and no others.
        origin : the origin of the body frame: a node, a group or a point.  None: the (first) clamped node or group, or
            the origin of the structure's axes if there is none.
        damping : damping ratio of all modes of the body, or one per mode, in ascending order of frequency.
        geometric_stiffening : whether loads stiffen or soften the body; needs a structure with `geometric`.
        strain : strain gauges, {name: row} or (g, freedoms * n): the strain that each shows per displacement of every
            degree of freedom; `gauge` of solids and plates gives such rows.  `Result.strain` returns the strains.
        progress : whether to show a progress bar; by default it is shown in a terminal, if it takes more than a second.

        The shapes are orthonormal in the mass matrix, so the stiffness of the body is diag(omega^2), and contain no
        rigid-body motion.  A shape that depends on others is rejected by name.  Motions of interface nodes that follow
        from those of others, such as nodes of solids that rotate with the same neighbours, are left out.  Mass
        properties come from the full mass matrix; the axes of the body are those of the structure.
        """
        return reduce(
            self,
            clamped=clamped,
            pinned=pinned,
            interface=interface,
            modes=modes,
            method=method,
            loads=loads,
            shapes=shapes,
            patches=patches,
            nodes=nodes,
            origin=origin,
            damping=damping,
            geometric_stiffening=geometric_stiffening,
            strain=strain,
            progress=progress,
        )

    def outline_rows(self) -> OutlineRows | None:
        """The points that pictures show: the nodes, or None if there are neither edges nor triangles."""
        return node_outline(self)

    def recovery(self, shapes: Array) -> Recovery:
        """Return the section forces due to shapes (N, m), if the structure has sections."""
        return Recovery()

    def modes(
        self,
        modes: int | dict = 10,
        *,
        clamped: Node | Iterable[Node] | None = None,
        pinned: Node | Iterable[Node] | None = None,
        loads: Mapping[Node, Any] | None = None,
        patches: Mapping[Node, Iterable[Node]] | None = None,
        progress: bool | None = None,
    ) -> StructureModes:
        """Normal modes of the structure itself, with their effective masses, for comparison with a reduced body.

        Arguments as in `reduce`.  Rigid-body motions are not among the modes.
        """
        return structure_modes(
            self,
            modes,
            clamped=clamped,
            pinned=pinned,
            loads=loads,
            patches=patches,
            progress=progress,
        )

    def buckling(
        self,
        count: int = 5,
        *,
        clamped: Node | Iterable[Node] | None = None,
        pinned: Node | Iterable[Node] | None = None,
        held: Mapping[Node, Any] | None = None,
        forces: Mapping[Node, ArrayLike] | None = None,
        moments: Mapping[Node, ArrayLike] | None = None,
        gravity: ArrayLike | None = None,
        spin: ArrayLike | None = None,
        about: Node | ArrayLike | None = None,
        patches: Mapping[Node, Iterable[Node]] | None = None,
        progress: bool | None = None,
    ) -> Buckling:
        """Find the factors by which loads must be multiplied for the structure to buckle, and the buckling shapes.

        Parameters
        ----------
        count : how many of the lowest factors to compute.
        clamped, pinned : nodes that are held in all degrees of freedom, or in their displacements only.
        held : {node: freedoms}, from "x", "y", "z", "rx", "ry", "rz", other degrees of freedom that are held: {"top":
            ("x", "y")} lets the top of a column slide along z.
        forces, moments : {node: (x, y, z)}, N and N m, in the axes of the structure; they keep their directions.
        gravity : (3,) m/s^2.  For a structure whose support has the acceleration a, use the gravity -a.
        spin : (3,) rad/s, a steady rotation about an axis through `about`.  Its forces grow with the square of the
            speed, so the structure buckles at this speed times the square root of a factor.  The change of the
            centrifugal forces due to the displacements is included; gyroscopic forces are not.
        about : a node or a point on the axis of the spin.  None: the (first) clamped node, or the origin.
        patches : {node: nodes}; a force or a moment at a node is spread over these nodes, as by a rigid body that fits
            their displacements.  By default a force acts on its node alone, and a moment at a node without rotations on
            its neighbours.
        progress : whether to show a progress bar; by default it is shown in a terminal, if it takes more than a second.

        All loads act together and are multiplied by the same factor.  The structure is assumed to deform linearly until
        it buckles.  It must have elements, or the function `geometric`.  In frames all section forces count, in plates
        the in-plane stresses, in solids all stresses.  Moments at nodes are semitangential.  Warping of sections is not
        modelled.  Frame members that are single elements do not bend between their nodes: a note in the result, and a
        warning if it may matter, says so.
        """
        return structure_buckling(
            self,
            count,
            clamped=clamped,
            pinned=pinned,
            held=held,
            forces=forces,
            moments=moments,
            gravity=gravity,
            spin=spin,
            about=about,
            patches=patches,
            progress=progress,
        )

    #: whether `modal_stiffness` is cheap, as it is with elements; a user's function may be slow
    knows_loads: ClassVar[bool] = False

    def modal_stiffness(self, u: Array, shapes: Array) -> Array:
        """(k, m, m): shapes^T K_g shapes, the geometric stiffness of shapes (N, m) under the displacements u (N, k)."""
        found = [shapes.T @ (geometric_stiffness(self, column) @ shapes) for column in u.T]
        return np.array(found).reshape(-1, shapes.shape[1], shapes.shape[1])

    def missed_buckling(self, u: Array) -> tuple[float, str] | None:
        """The lowest factor at which parts may buckle in a way that the elements cannot show, with an explanation.

        u : (N,) displacements under the loads.
        """
        return None

    def __repr__(self):
        return f"Structure(nodes={len(self)}, freedoms={len(self) * self.freedoms})"


def _node_numbers(name: str, value: ArrayLike | None, width: int, n: int) -> np.ndarray | None:
    """Rows of node numbers, or None."""
    if value is None:
        return None
    rows = array(name, value, ("e" if width == 2 else "t", width), "Node numbers, from 0.")
    whole = rows.astype(np.int64)
    if rows.size and (np.any(whole != rows) or whole.min() < 0 or whole.max() >= n):
        bad = rows[(whole != rows) | (whole < 0) | (whole >= n)][0]
        raise ArgumentValueError(f"{name} has {bad:g}: node numbers are whole, from 0 to {n - 1}.")
    whole.setflags(write=False)
    return whole
