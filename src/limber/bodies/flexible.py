"""Flexible bodies, which deform by small amounts in assumed modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.base import Body, Drawing, Quantity
from limber.bodies.beam_parts import Part, beam_parts
from limber.bodies.constants import BodyConstants
from limber.bodies.integrals import ModalIntegrals
from limber.bodies.load_stiffness import LoadStiffness
from limber.bodies.nodes import Nodes, node_names
from limber.bodies.outline import Outline
from limber.bodies.points import MassPoints
from limber.bodies.recipe import BeamRecipe, damping_matrix
from limber.bodies.recovery import Recovery, gauge_shapes
from limber.bodies.shapes import Shapes
from limber.bodies.variation import (
    NONE,
    Variation,
    accepts,
    checked,
    matrices,
    quantities,
    stiffness_parameters,
    varied,
    varied_by,
)
from limber.checks import (
    Array,
    array,
    distributable,
    free_symbols,
    inertias,
    semidefinite,
    shown_number,
)
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.registry import registered


class FullModel(Protocol):
    """The model from which a body was reduced, for comparison in its report (`limber.structures.reduced`)."""

    def placed(self, R: Array, shift: Array) -> FullModel:
        """Return the same for the body in another frame."""
        ...

    def compare(
        self,
        body: FlexibleBody,
        interface: Any,
        loads: Any,
        count: int | None,
        progress: bool | None,
    ) -> Any:
        """Compare the body with the full model."""
        ...

    def buckling_force(self, node: str, direction: Array) -> float | None:
        """The force at a node at which the full model buckles, N, if it is known."""
        ...


#: The most modes of a kind that a beam may have.
MOST_MODES = 100
#: Mappings that a body computes when they are first used.
_MAPPINGS = ("beam_parts", "stiffness_parameters")


class FlexibleBody(Body):
    """A body that deforms in m assumed modes; `FlexibleBody.from_nodes`, `beam` and `Structure.reduce` make one.

    The body is immutable.  Its attributes:

    - `carrier` represents its mass, either as small rigid bodies (`MassPoints`) or as modal integrals.
    - `nodes` are the points at which other bodies attach.
    - `stiffness` and `damping` are its (m, m) modal matrices.
    - `recipe` has the arguments of a beam, for files.
    - `outline` has the lines and the surface of a reduced structure, for pictures.
    - `reduced_from` is what the body was reduced from, for its report; files and copies do not contain it.
    - `variation` has the parameters changed by `with_parameters`, and `nominal` is the body before the change.
    - `recovery` has the strains and section forces per unit of each mode.
    - `load_stiffness` is the effect that loads would have on the stiffness if the model included it.
    """

    kind = "flexible"

    def __init__(
        self,
        carrier: MassPoints | ModalIntegrals,
        nodes: Nodes,
        stiffness: Array,
        damping: Array,
        recipe: BeamRecipe | None = None,
        reduced_from: FullModel | None = None,
        outline: Outline | None = None,
        recovery: Recovery | None = None,
        load_stiffness: LoadStiffness | None = None,
    ):
        if not isinstance(carrier, MassPoints | ModalIntegrals) or not isinstance(nodes, Nodes):
            raise ArgumentTypeError(
                "FlexibleBody cannot be constructed directly: use FlexibleBody.from_nodes(...) or beam(...)."
            )
        self.carrier = carrier
        self.nodes = nodes
        self.stiffness = stiffness
        self.damping = damping
        self.recipe = recipe
        self.reduced_from = reduced_from
        self.outline = outline
        self.recovery = recovery
        self.load_stiffness = load_stiffness
        self.mass = carrier.total()
        self.variation = NONE
        self._nominal: FlexibleBody | None = None
        self._freeze()

    def __getstate__(self) -> dict[str, Any]:
        # a structure is large, and its functions cannot be pickled; neither can read-only mappings, which are made again
        kept = {name: x for name, x in self.__dict__.items() if name not in _MAPPINGS}
        return kept | {"reduced_from": None}

    @classmethod
    def from_nodes(
        cls,
        mass: ArrayLike,
        position: ArrayLike,
        translation: ArrayLike,
        rotation: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        damping: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        com: ArrayLike | None = None,
        names: list[str] | None = None,
        second: ArrayLike | None = None,
        strain: Mapping[str, ArrayLike] | ArrayLike | None = None,
    ) -> FlexibleBody:
        """Make a flexible body from n nodes and m modes, as given by a finite-element program.

        Parameters
        ----------
        mass : (n,) node masses, kg.
        position : (n, 3) undeformed positions in the body frame, m.
        translation : (n, 3, m); the displacement of node j is translation[j] @ eta.
        rotation : (n, 3, m); the rotation vector of node j is rotation[j] @ eta.  None: the nodes do not rotate.
        stiffness, damping : (m, m), symmetric positive semidefinite.  Damping None: zero.
        inertia : (n, 3, 3) about the node in body axes, or (n, 3) the diagonals.  None: point masses (at `com`).
            Each must, about its own centre of mass, satisfy the conditions of `RigidBody`.
        com : (n, 3) from each node to its centre of mass.  None: at the node.
        names : n names.  None: "0", "1", ...
        second : (n, 3, m, m), symmetric in the modes; node j is displaced by translation[j] @ eta +
            1/2 eta^T second[j] eta.  These second-order shapes stiffen a spinning or loaded body.  None: the nodes move
            along straight lines.
        strain : strain gauges, {name: (m,)} or (g, m): the strain that each shows per unit of every mode, for
            `Result.strain`.

        Clamped modes vanish at the origin of the body frame.  For modes that do not, attach the body with `inboard=`
        the node that carries the joint.  Any of the numbers may be SymPy expressions, for `lb.symbolic.equations`.
        """
        mass = array("mass", mass, ("n",), "Give one mass per node.", True)
        n = mass.size
        if n == 0:
            raise ArgumentValueError("mass is empty: a flexible body needs at least one node.")
        named = node_names(names, n)
        symbolic = mass.dtype == object
        if not symbolic and mass.min() < 0.0:
            j = int(mass.argmin())
            raise ArgumentValueError(
                f"mass[{j}] = {mass[j]:g} of node {named[j]!r} is negative: masses must be at least 0."
            )
        if not symbolic and mass.sum() == 0.0:
            raise ArgumentValueError("mass is zero at every node: a flexible body needs mass.")
        position = array("position", position, (n, 3), f"mass has {n} nodes.", True)
        translation = array(
            "translation", translation, (n, 3, "m"), "Give one shape per mode.", True
        )
        m = translation.shape[2]
        rotation = np.zeros((n, 3, m)) if rotation is None else rotation
        rotation = array("rotation", rotation, (n, 3, m), f"translation has {m} modes.", True)
        com = np.zeros((n, 3)) if com is None else com
        com = array("com", com, (n, 3), "The offset from each node to its mass centre.", True)
        square = np.einsum("ni,ni->n", com, com)[:, None, None] * np.eye(3)
        offset = mass[:, None, None] * (square - com[:, :, None] * com[:, None, :])
        inertia = offset if inertia is None else inertia
        inertia = inertias("inertia", inertia, (n,), "Inertias are about the node, in body axes.")
        for j in range(n):
            distributable(
                f"inertia[{j}] of node {named[j]!r}, referred to its mass centre,",
                inertia[j] - offset[j],
                mass[j],
                "no mass distribution has this inertia. Inertias must be about the node, not about the mass centre.",
                scale=0.0 if inertia.dtype == object else np.abs(inertia[j]).max(),
            )
        if stiffness is None:
            raise ArgumentTypeError(
                f"stiffness is missing: give the ({m}, {m}) modal stiffness matrix, as in np.diag(omega**2)."
            )
        stiffness, damping = modal_matrices(stiffness, damping, m)
        shapes = Shapes(position, translation, rotation, second_shapes(second, n, m))
        points = MassPoints(mass, shapes, inertia, com)
        gauges, shown_strain = gauge_shapes(strain, m, "modes")
        recovery = None if shown_strain is None else Recovery(gauges, shown_strain)
        return cls(points, Nodes(named, shapes), stiffness, damping, recovery=recovery)

    @property
    def free_symbols(self) -> frozenset:
        """The symbols in the parameters."""
        numbers = [*self.carrier.numbers(), *self.nodes.shapes.numbers()]
        return frozenset(free_symbols(*numbers, self.stiffness, self.damping))

    @property
    def points(self) -> MassPoints | None:
        """The mass points; None if the mass is given by modal integrals."""
        return self.carrier if isinstance(self.carrier, MassPoints) else None

    @property
    def modal_mass(self) -> Array:
        """The mass matrix (m, m) of the modes at rest."""
        return self.integrals.G0

    @property
    def end_node(self) -> str | None:
        """The node "tip", if there is one."""
        return "tip" if "tip" in self.nodes.names else None

    @property
    def node_set(self) -> Nodes:
        """The nodes in the form common to all bodies."""
        return self.nodes

    @property
    def nominal(self) -> FlexibleBody:
        """The body before its parameters were changed, or the body itself."""
        return self if self._nominal is None else self._nominal

    @cached_property
    def integrals(self) -> ModalIntegrals:
        """The modal integrals, computed once."""
        if self._nominal is not None:
            return self._nominal.integrals.scaled(self.variation.factor("mass"))
        return self.carrier.integrals()

    @cached_property
    def beam_parts(self) -> Mapping[str, Part]:
        """The parts of the stiffness of a beam, by the names of its stiffnesses; empty for other bodies."""
        from limber.bodies.beam_forces import (  # noqa: PLC0415 (it is above this module)
            beam_of,
        )

        recipe = beam_of(self)
        return {} if recipe is None or not self.modes else beam_parts(recipe)

    @cached_property
    def stiffness_parameters(self) -> Mapping[str, Mapping[str, float]]:
        """The parameters of a nominal beam that are stiffnesses; see `limber.bodies.variation`."""
        return stiffness_parameters(self)

    def constants(self, inboard: int | None, ruthless: bool) -> BodyConstants:
        """Return the constants in the body frame, or in that of the inboard node if the modes do not move it."""
        nodes, integrals = self.nodes.with_body_frame(), self.integrals
        if inboard is not None and (ruthless or self.modes == 0):
            node = nodes.shapes[[inboard]]
            integrals = integrals.held_at(node)
            nodes = replace(nodes, shapes=nodes.shapes.held_at(node))
        if integrals.curved is not None:
            nodes = replace(nodes, shapes=nodes.shapes.with_second())
        moments = integrals.mass, integrals.S0, integrals.J0
        return BodyConstants(nodes, *moments, integrals, self.stiffness, self.damping)

    def parameters(self) -> Mapping[str, Quantity]:
        """The mass, the modal stiffness and damping, and the numbers of a beam; see `limber.bodies.variation`."""
        return quantities(self)

    def parameter_constants(
        self, given: Mapping[str, Sequence[Any]], inboard: int | None
    ) -> dict[str, list[Any]]:
        """Return stiffness, damping and the factor on all inertias, if they depend on the given parameters."""
        known = self.variation
        other = varied_by(self, given)
        found: dict[str, list[Any]] = {}
        if other.factor("mass") is not known.factor("mass"):
            mass = (
                given["mass"][0] if "mass" in given else given["mass_scale"][0] * self.nominal.mass
            )
            found["inertias"] = [mass / self.mass]
        K, D = matrices(self.nominal, other)
        if K is not self.stiffness:
            found["stiffness"] = K.ravel().tolist()
        if D is not self.damping:
            found["damping"] = D.ravel().tolist()
        return found

    def changed_constants(
        self, new: Body, given: Mapping[str, Sequence[Any]], inboard: int | None
    ) -> dict[str, Any]:
        """Return the constants of a varied body that differ from those of this one."""
        found: dict[str, Any] = {}
        if new.mass != self.mass:
            found["inertias"] = [new.mass / self.mass]
        for name in ("stiffness", "damping"):
            if getattr(new, name) is not getattr(self, name):
                found[name] = getattr(new, name).ravel()
        return found

    def with_parameters(self, given: Mapping[str, ArrayLike]) -> FlexibleBody:
        """Return the same body with other numbers and the same mode shapes; see `limber.bodies.variation`."""
        return varied(self.nominal, varied_by(self, checked(self, given)))

    def accepts(self, given: Mapping[str, Array]) -> np.ndarray:
        """Return which numbers of many cases are certainly valid, (cases,)."""
        return accepts(given)

    def factors(self, given: Mapping[str, Sequence[Any]]) -> Mapping[str, Any]:
        """The factors of the body with these parameters, `Variation.factors`."""
        return varied_by(self, given).factors

    def without_modes(self) -> FlexibleBody:
        """Return the body without modes."""
        if not self.modes:
            return self
        nodes = self.nodes
        return FlexibleBody(
            self.carrier.without_modes(),
            replace(nodes, shapes=nodes.shapes.without_modes()),
            np.zeros((0, 0)),
            np.zeros((0, 0)),
            outline=None if self.outline is None else self.outline.without_modes(),
        )

    def with_numbers(self, variation: Variation, **numbers: Any) -> FlexibleBody:
        """Return this nominal body with the read-only numbers of a variation."""
        made = object.__new__(FlexibleBody)
        cached = ("integrals", *_MAPPINGS)
        kept = {name: x for name, x in vars(self).items() if name not in cached}
        mass = numbers["carrier"].total()
        vars(made).update(kept, **numbers, mass=mass, variation=variation, _nominal=self)
        return made

    def with_damping(self, damping: Array) -> FlexibleBody:
        """Return the body with this modal damping matrix; that of a beam is stored in its recipe."""
        if self._nominal is not None:
            return self.with_parameters({"damping": damping})
        _, D = modal_matrices(self.stiffness, damping, self.modes)
        recipe = self.recipe
        if recipe is not None:
            recipe = replace(recipe, damping=damping_matrix(D))
        return FlexibleBody(
            self.carrier,
            self.nodes,
            self.stiffness,
            D,
            recipe,
            self.reduced_from,
            self.outline,
            self.recovery,
            self.load_stiffness,
        )

    def report(self, **options: Any) -> Any:
        """Report how far to trust the body; see `limber.structures.report` for the options."""
        return registered("FlexibleBody.report")(self, **options)

    def recovered(self) -> Recovery | None:
        """The quantities recovered from the modes; for a beam, the section forces at its nodes."""
        from limber.bodies.beam_forces import beam_forces  # noqa: PLC0415 (it is above this module)

        if self.recovery is not None or self.recipe is None or not self.modes:
            return self.recovery
        return Recovery(forces=beam_forces(self), beam=self.recipe)

    @property
    def stations(self) -> tuple[str, ...]:
        """The names of the sections of a beam or reduced frame, for `Result.section_forces`; empty for other bodies."""
        recovery = self.recovered()
        return () if recovery is None else recovery.stations

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the members of a reduced frame; empty for other bodies."""
        recovery = self.recovered()
        return () if recovery is None else tuple(member.name for member in recovery.members)

    def with_recovery(self, recovery: Recovery | None) -> FlexibleBody:
        """Return the body with these strains and section forces per mode, which are those of the nominal body."""
        if self._nominal is not None:
            return varied(self._nominal.with_recovery(recovery), self.variation)
        return FlexibleBody(
            self.carrier,
            self.nodes,
            self.stiffness,
            self.damping,
            self.recipe,
            self.reduced_from,
            self.outline,
            recovery,
            self.load_stiffness,
        )

    def buckling(self, factors: Mapping[str, Any] | None = None) -> tuple[Array, Any] | None:
        """The axis and the buckling load pi^2 EI / (4 L^2) of a beam without geometric stiffening."""
        recipe = self.recipe
        EI = None if recipe is None or self.stiffens else recipe.bending_stiffness(factors)
        if recipe is None or EI is None:
            return None
        turn = np.eye(3) if recipe.rotation is None else np.array(recipe.rotation)
        return turn[:, 0], np.pi**2 * EI / (4.0 * recipe.length**2)

    def tipping(
        self, factors: Mapping[str, Any] | None = None
    ) -> tuple[Array, Array, Array] | None:
        """The place, axes and tipping moments of a beam, if there are any."""
        recipe = self.recipe
        moments = None if recipe is None else recipe.tipping_moments(factors)
        if recipe is None or moments is None or not np.isfinite(moments).any():
            return None
        place = np.zeros(3) if recipe.offset is None else np.array(recipe.offset)
        return place, np.eye(3) if recipe.rotation is None else np.array(recipe.rotation), moments

    @property
    def truncated(self) -> bool:
        """Whether the second-order shapes are known for the nodes but not for the mass."""
        return self.stiffens and self.integrals.curved is None and self.integrals.second

    def extent(self) -> float:
        """The largest distance of a mass point or node from the body frame."""
        return float(np.linalg.norm(self._every_point().position, axis=1).max())

    def largest_motion(self) -> tuple[Array, Array]:
        """The largest components of the mode shapes at the mass points and nodes.

        If the mass is given by integrals, the root mean square of the displacement counts too, because a few nodes say
        little about the motion of the whole body.
        """
        rotation, translation = self._every_point().largest()
        if self.points is None:
            mean = np.sqrt(np.maximum(np.diag(self.integrals.G0), 0.0) / self.mass)
            translation = np.maximum(translation, mean)
        return rotation, translation

    def _every_point(self) -> Shapes:
        """The mass points and the nodes, without their second-order shapes."""
        parts = (self._mass_points(), self.nodes.shapes)
        return Shapes.joined([replace(x, second=None) for x in parts])

    def _mass_points(self) -> Shapes:
        """The shapes of the mass points, if it has any."""
        return self.nodes.shapes[:0] if self.points is None else self.points.shapes

    def drawing(self) -> Drawing:
        """The outline, or else a line, which also passes through the mass points if there are few nodes."""
        return Drawing(True, self._mass_points(), None, self.outline)

    def __repr__(self):
        return f"FlexibleBody(mass={shown_number(self.mass)}, modes={self.modes}, nodes={len(self.nodes.names)})"


def second_shapes(second: ArrayLike | None, n: int, m: int) -> Array | None:
    """Second-order shapes of n nodes in m modes, checked."""
    if second is None:
        return None
    second = array("second", second, (n, 3, m, m), f"There are {n} nodes and {m} modes.", True)
    skew = second - np.swapaxes(second, 2, 3)
    if second.dtype == object:
        unequal = np.vectorize(lambda x: x != 0 and x.expand() != 0, otypes=[bool])(skew)
    else:
        unequal = np.abs(skew) > 1e-9 * np.abs(second).max()
    if unequal.any():
        j, i, r, s = np.argwhere(unequal)[0].tolist()
        raise ArgumentValueError(
            f"second[{j}, {i}] is not symmetric in the modes: entry ({r}, {s}) is "
            f"{shown_number(second[j, i, r, s])} and entry ({s}, {r}) is {shown_number(second[j, i, s, r])}. The "
            "displacement is 1/2 eta^T second eta, so the matrix must be symmetric."
        )
    if not np.any(second):
        return None
    return 0.5 * (second + np.swapaxes(second, 2, 3)) if second.dtype != object else second


def modal_matrices(stiffness: ArrayLike, damping: ArrayLike | None, m: int) -> tuple[Array, Array]:
    """Stiffness and damping of m modes, checked."""
    hint = f"There are {m} modes; np.diag(...) makes the matrix from one number per mode."
    stiffness = array("stiffness", stiffness, (m, m), hint, True)
    stiffness = semidefinite("stiffness", stiffness, "a negative stiffness has no equilibrium.")
    damping = np.zeros((m, m)) if damping is None else damping
    damping = array("damping", damping, (m, m), hint, True)
    return stiffness, semidefinite("damping", damping, "it would feed energy in.")
