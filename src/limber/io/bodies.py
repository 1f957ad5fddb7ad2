"""Bodies in files: `rigid`, `beam`, `nodes` (modes given at nodes), `modal` (modes given everywhere)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np

from limber.bodies import Body, FlexibleBody, RigidBody, beam
from limber.bodies.flexible import MOST_MODES, modal_matrices, second_shapes
from limber.bodies.integrals import ModalIntegrals
from limber.bodies.load_stiffness import LoadStiffness
from limber.bodies.nodes import Nodes
from limber.bodies.outline import Outline
from limber.bodies.points import MassPoints
from limber.bodies.shapes import Shapes
from limber.bodies.variation import Variation, varied
from limber.checks import array, listed
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.io.cross_sections import Positive, TaperSection, sections_data
from limber.io.document import Where
from limber.io.fields import (
    Check,
    FileName,
    Flag,
    Inertia,
    Name,
    Number,
    Vector,
    modal_damping,
    moments,
    number,
    numbers,
    whole,
)
from limber.io.npz import from_npz
from limber.io.recovery import ARRAYS as RECOVERY_ARRAYS
from limber.io.recovery import RecoverySection, packed, recovery_data, unpacked
from limber.io.rotations import RotationSection
from limber.io.section import Section, validated

#: A bound that keeps a slip of the finger from filling the memory.
MAX_ELEMENTS = 10_000


def _load(value: Any) -> Any:
    """[mass, inertia], the inertia one number or that of a body."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[1], list):
        return number().check(value[0]), moments().check(value[1])
    return numbers((2,)).check(value)


_LOAD_SCHEMA = {
    "type": "array",
    "prefixItems": [{"type": "number"}, {"anyOf": [{"type": "number"}, moments().schema]}],
    "minItems": 2,
    "maxItems": 2,
}


class RigidSection(Section):
    """A rigid body: mass (kg), com (m), inertia about com (kg m^2, matrix or its diagonal), nodes."""

    mass: Annotated[float, number(minimum=0.0)]
    com: Vector = (0.0, 0.0, 0.0)
    inertia: Inertia | None = None
    nodes: dict[Name, Vector] | None = None
    check_inertia: Flag = True

    def build(self, where: Where) -> RigidBody:
        """The body."""
        with where.checked():
            return RigidBody(self.mass, self.com, self.inertia, self.nodes, self.check_inertia)


class ModesSection(Section):
    """Numbers of modes of a beam."""

    short: ClassVar[str] = "a whole number of modes per bending plane"
    bending: Annotated[int, whole(0, MOST_MODES)] = 0
    y: Annotated[int, whole(0, MOST_MODES)] = 0
    z: Annotated[int, whole(0, MOST_MODES)] = 0
    torsion: Annotated[int, whole(0, MOST_MODES)] = 0
    stretch: Annotated[int, whole(0, MOST_MODES)] = 0

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """A number is that of bending modes per plane."""
        return {"bending": data} if isinstance(data, int) else data


class FactorsSection(Section):
    """Factors by which numbers of a beam were changed while its mode shapes were kept (`System.with_parameters`)."""

    mass: Positive | None = None
    stiffness: Positive | None = None
    EIy: Positive | None = None
    EIz: Positive | None = None
    GJ: Positive | None = None
    EA: Positive | None = None
    GAy: Positive | None = None
    GAz: Positive | None = None


class BeamSection(Section):
    """A beam, as in `limber.beam`; offset and rotation place it in the body frame."""

    length: Positive
    mass: Positive | None = None
    EI: Annotated[Any, numbers((2,), scalar=True)] | None = None
    GJ: Positive | None = None
    EA: Positive | None = None
    GA: Annotated[Any, numbers((2,), scalar=True)] | None = None
    section: TaperSection | None = None
    modes: ModesSection = ModesSection(bending=2)
    elements: Annotated[int, whole(1, MAX_ELEMENTS)] = 10
    damping: Annotated[Any, modal_damping()] = 0.0
    polar_inertia: Number | None = None
    rotary_inertia: Annotated[Any, numbers((2,), scalar=True)] | None = None
    load: Annotated[Any, Check(_load, _LOAD_SCHEMA)] | None = None
    geometric_stiffening: Flag = False
    offset: Vector | None = None
    rotation: RotationSection | None = None
    factors: FactorsSection | None = None

    def build(self, where: Where) -> FlexibleBody:
        """The body."""
        names = set(BeamSection.model_fields) - {"section", "rotation", "modes", "factors"}
        section = None if self.section is None else self.section.sections(where / "section")
        with where.checked():
            made = beam(
                **{name: getattr(self, name) for name in names},
                section=section,
                modes={kind: n for kind, n in self.modes if n},
                rotation=None if self.rotation is None else self.rotation.build(),
            )
        if self.factors is None:
            return made
        given = {name: x for name, x in self.factors if x is not None}
        for name in given:
            if name not in ("mass", "stiffness", *made.beam_parts):
                raise (where / "factors").error(f"the beam has no modes that {name} makes.", name)
        return varied(made, Variation(given))


class PointsSection(Section):
    """Small rigid bodies that carry the mass, and their mode shapes."""

    mass: Annotated[Any, numbers(("n",))]
    position: Annotated[Any, numbers(("n", 3))]
    translation: Annotated[Any, numbers(("n", 3, "m"))]
    rotation: Annotated[Any, numbers(("n", 3, "m"))] | None = None
    inertia: Annotated[Any, moments("n")] | None = None
    com: Annotated[Any, numbers(("n", 3))] | None = None
    second: Annotated[Any, numbers(("n", 3, "m", "m"))] | None = None


class NodesSection(PointsSection):
    """The arguments of `FlexibleBody.from_nodes`, here or in an .npz; what stands here goes first."""

    mass: Annotated[Any, numbers(("n",))] | None = None
    position: Annotated[Any, numbers(("n", 3))] | None = None
    translation: Annotated[Any, numbers(("n", 3, "m"))] | None = None
    stiffness: Annotated[Any, numbers(("m", "m"))] | None = None
    damping: Annotated[Any, numbers(("m", "m"))] | None = None
    names: list[Name] | None = None
    file: FileName | None = None
    group: Name | None = None

    ARRAYS: ClassVar[tuple[str, ...]] = (
        "mass",
        "position",
        "translation",
        "rotation",
        "stiffness",
        "damping",
        "inertia",
        "com",
        "second",
        "names",
    )

    def build(self, where: Where) -> FlexibleBody:
        """The body."""
        given = {name: getattr(self, name) for name in self.ARRAYS}
        recovery: dict[str, Any] = {}
        if self.file is not None:
            known = (*self.ARRAYS, *(f"recovery/{name}" for name in RECOVERY_ARRAYS))
            read = from_npz(where / "file", self.file, self.group, known)
            recovery = nested({key: read.pop(key) for key in known if key in read and "/" in key})
            if "names" in read:
                read["names"] = [str(name) for name in read["names"].ravel()]
            given |= {name: x for name, x in read.items() if given[name] is None}
        for name in ("mass", "position", "translation", "stiffness"):
            if given[name] is None:
                raise where.error(f"{name!r} is missing: neither here nor in an .npz.")
        with where.checked():
            body = FlexibleBody.from_nodes(**given)
        return _recovering(body, recovery, where / "file")


class NodeShapesSection(Section):
    """Nodes without mass: where others attach."""

    names: list[Name]
    position: Annotated[Any, numbers(("n", 3))]
    translation: Annotated[Any, numbers(("n", 3, "m"))]
    rotation: Annotated[Any, numbers(("n", 3, "m"))]
    second: Annotated[Any, numbers(("n", 3, "m", "m"))] | None = None


class IntegralsSection(Section):
    """The mass of a flexible body as modal integrals: what `save` writes for a reduced finite-element model."""

    mass: Positive
    S0: Annotated[Any, numbers((3,))]
    J0: Annotated[Any, numbers((6,))]
    E0: Annotated[Any, numbers(("m", 3))]
    F0: Annotated[Any, numbers(("m", 3))]
    J1: Annotated[Any, numbers(("m", 6))]
    G0: Annotated[Any, numbers(("m", "m"))]
    F1: Annotated[Any, numbers(("m", "m", 3))]
    J2: Annotated[Any, numbers(("m", "m", 6))]
    S2: Annotated[Any, numbers(("m", "m", 3))] | None = None
    G1: Annotated[Any, numbers(("m", "m", "m"))] | None = None

    def build(self, m: int) -> ModalIntegrals:
        """The integrals of m modes."""
        sizes = {"S0": (3,), "J0": (6,), "E0": (m, 3), "F0": (m, 3), "J1": (m, 6), "G0": (m, m)}
        sizes |= {"F1": (m, m, 3), "J2": (m, m, 6), "S2": (m, m, 3), "G1": (m, m, m)}
        hint = f"stiffness has {m} modes."
        given = {name: getattr(self, name) for name in sizes if getattr(self, name) is not None}
        arrays: dict[str, Any] = {
            name: array(name, x, sizes[name], hint) for name, x in given.items()
        }
        return ModalIntegrals(mass=self.mass, **arrays)


class OutlineSection(Section):
    """What pictures show of a body: points with their shapes, lines and triangles between them."""

    position: Annotated[Any, numbers(("p", 3))]
    translation: Annotated[Any, numbers(("p", 3, "m"))]
    rotation: Annotated[Any, numbers(("p", 3, "m"))] | None = None
    second: Annotated[Any, numbers(("p", 3, "m", "m"))] | None = None
    edges: Annotated[Any, numbers(("e", 2))] | None = None
    triangles: Annotated[Any, numbers(("t", 3))] | None = None

    def build(self, where: Where, m: int) -> Outline:
        """The outline of a body of m modes."""
        with where.checked():
            position = array("position", self.position, ("p", 3), "One point per row.")
            p = len(position)
            hint = f"There are {p} points and {m} modes."
            rotation = np.zeros((p, 3, m)) if self.rotation is None else self.rotation
            shapes = Shapes(
                position,
                array("translation", self.translation, (p, 3, m), hint),
                array("rotation", rotation, (p, 3, m), hint),
                second_shapes(self.second, p, m),
            )
            edges, triangles = (
                _numbers_of_points(name, getattr(self, name), width, p)
                for name, width in (("edges", 2), ("triangles", 3))
            )
        return Outline(shapes, edges, triangles)


def _numbers_of_points(name: str, given: Any, width: int, count: int) -> np.ndarray:
    """Rows of `width` numbers of points."""
    if given is None:
        return np.zeros((0, width), np.int64)
    values = array(name, given, ("e", width), "Numbers of points, from 0.")
    found = values.astype(np.int64)
    wrong = (found != values) | (found < 0) | (found >= count)
    if wrong.any():
        raise ArgumentValueError(
            f"{name} has {values[wrong][0]:g}: numbers of points are whole, from 0 to {count - 1}."
        )
    return found


class LoadStiffnessSection(Section):
    """What loads would do to the stiffness of a body whose model leaves it out; `simulate` warns by it."""

    acceleration: Annotated[Any, numbers((3, "b", "b"))]
    angular: Annotated[Any, numbers((3, "b", "b"))]
    spin: Annotated[Any, numbers((3, 3, "b", "b"))]
    forces: Annotated[Any, numbers(("n", 3, "b", "b"))]

    def build(self, where: Where, n: int, m: int) -> LoadStiffness:
        """That of a body of n nodes and m modes."""
        with where.checked():
            b = np.shape(self.acceleration)[-1]
            if b not in (m, m + 6):
                raise ArgumentValueError(
                    f"acceleration has {b} columns; a body of {m} modes has {m}, or {m + 6} with its rigid-body motions."
                )
            sizes = {"acceleration": (3, b, b), "angular": (3, b, b), "spin": (3, 3, b, b)}
            sizes["forces"] = (n, 3, b, b)
            hint = f"The body has {n} nodes and {m} modes."
            given = {x: array(x, getattr(self, x), size, hint) for x, size in sizes.items()}
            return LoadStiffness(m, **given)


class ModalSection(Section):
    """A flexible body whose mass is not at its nodes but at points of its own or given by modal integrals.

    All of it may be in an .npz instead, whose arrays are named "stiffness", "nodes/position", "integrals/S0", ...
    """

    points: PointsSection | None = None
    integrals: IntegralsSection | None = None
    nodes: NodeShapesSection | None = None
    stiffness: Annotated[Any, numbers(("m", "m"))] | None = None
    damping: Annotated[Any, numbers(("m", "m"))] | None = None
    outline: OutlineSection | None = None
    load_stiffness: LoadStiffnessSection | None = None
    file: FileName | None = None
    group: Name | None = None

    def _from_file(self, where: Where) -> FlexibleBody:
        """The body that is in the .npz."""
        beside = [key for key in self.model_fields_set if key not in ("file", "group")]
        if beside:
            raise where.error(
                f"{beside[0]!r} is given beside 'file', which has all of the body. Leave one of them out.", beside[0]
            )  # fmt: skip
        assert self.file is not None
        return body_of_arrays(
            ModalSection, from_npz(where / "file", self.file, self.group, None), where / "file"
        )

    def build(self, where: Where) -> FlexibleBody:
        """The body."""
        if self.file is not None:
            return self._from_file(where)
        for name in ("nodes", "stiffness"):
            if getattr(self, name) is None:
                raise where.error(f"{name!r} is missing.")
        assert self.nodes is not None and self.stiffness is not None
        if (self.points is None) == (self.integrals is None):
            raise where.error(
                "give either 'points' or 'integrals', which carry the mass of the body."
            )
        carrier: MassPoints | ModalIntegrals
        if self.points is not None:
            with where.checked("points"):
                body = FlexibleBody.from_nodes(
                    **{name: getattr(self.points, name) for name in PointsSection.model_fields},
                    stiffness=self.stiffness,
                    damping=self.damping,
                )
            carrier, stiffness, damping = body.carrier, body.stiffness, body.damping
        else:
            assert self.integrals is not None
            with where.checked():
                stiffness, damping = modal_matrices(
                    self.stiffness, self.damping, len(self.stiffness)
                )
            with (where / "integrals").checked():
                carrier = self.integrals.build(len(stiffness))
        n, m = len(self.nodes.names), len(stiffness)
        with (where / "nodes").checked():
            if len(set(self.nodes.names)) != n:
                raise ArgumentValueError("names has a name twice: every node needs its own.")
            shapes = Shapes(
                array("position", self.nodes.position, (n, 3), "One row per name."),
                array("translation", self.nodes.translation, (n, 3, m), "As many modes as points."),
                array("rotation", self.nodes.rotation, (n, 3, m), "As many modes as points."),
                second_shapes(self.nodes.second, n, m),
            )
        outline = None if self.outline is None else self.outline.build(where / "outline", m)
        nodes = Nodes(tuple(self.nodes.names), shapes)
        loaded = None
        if self.load_stiffness is not None:
            loaded = self.load_stiffness.build(where / "load_stiffness", n, m)
        return FlexibleBody(
            carrier, nodes, stiffness, damping, outline=outline, load_stiffness=loaded
        )


def nested(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The arrays of an .npz as a file has them: "nodes/position" is an entry of a mapping."""
    found: dict[str, Any] = {}
    for key, values in arrays.items():
        *path, last = key.split("/")
        inside = found
        for part in path:
            inside = inside.setdefault(part, {})
            if not isinstance(inside, dict):
                inside = {}
        inside[last] = values.tolist()
    return found


def body_of_arrays(
    kind: type[ModalSection | NodesSection], arrays: dict[str, np.ndarray], where: Where
) -> FlexibleBody:
    """The body of an .npz, with the strains and section forces there."""
    content = nested(arrays)
    recovery = {"recovery": content.pop("recovery")} if "recovery" in content else {}
    return _recovering(validated(kind, content, where, "").build(where), recovery, where)


def _recovering(body: FlexibleBody, content: dict[str, Any], where: Where) -> FlexibleBody:
    """The body with what an .npz says about strains and section forces, if it does."""
    recovery = content.get("recovery")
    if recovery is None:
        return body
    if not isinstance(recovery, dict):
        raise where.error("recovery must be arrays recovery/gauges, recovery/strain, ....")
    section = validated(BodyRecoverySection, unpacked(recovery, where), where, "recovery/")
    return section.build(body, where)


def flattened(content: dict[str, Any], prefix: str = "") -> dict[str, np.ndarray]:
    """The content of a section of a body as the arrays of an .npz."""
    arrays: dict[str, np.ndarray] = {}
    for key, value in content.items():
        if isinstance(value, dict):
            arrays |= flattened(value, f"{prefix}{key}/")
        else:
            arrays[f"{prefix}{key}"] = np.array(value)
    return arrays


class BodyRecoverySection(RecoverySection):
    """Strains and section forces of a body.

    beam : the beam whose modes the body has, and whose section forces are its own.
    """

    beam: BeamSection | None = None

    def build(self, body: Any, where: Where) -> FlexibleBody:
        """The body with them."""
        made = super().build(body, where)
        if self.beam is None:
            return made
        beam = self.beam.build(where / "beam")
        if (beam.modes, beam.node_set.names) != (body.modes, body.node_set.names):
            raise where.error("the beam must have the modes and the nodes of the body.", "beam")
        whole, given = beam.recovered(), made.recovery
        assert whole is not None and given is not None
        return made.with_recovery(replace(given, forces=whole.forces, beam=whole.beam))


class BodySection(Section):
    """One body, by the key that names its kind: the table of the sections that read them."""

    one_of: ClassVar[tuple[str, ...]] = ("rigid", "beam", "nodes", "modal")
    rigid: RigidSection | None = None
    beam: BeamSection | None = None
    nodes: NodesSection | None = None
    modal: ModalSection | None = None
    recovery: BodyRecoverySection | None = None

    def build_body(self, where: Where) -> Body:
        """The body."""
        for kind in self.one_of:
            section = getattr(self, kind, None)
            if section is not None:
                body = section.build(where / kind)
                if self.recovery is None:
                    return body
                return self.recovery.build(body, where / "recovery")
        kind = next(kind for kind in self.one_of if where.has(kind))
        raise where.error(f"{kind} is empty: give its numbers.", kind)


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bit for bit."""
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def body_data(body: Body, expand: bool) -> dict[str, Any]:
    """A body as files write it; `expand` writes beams as their numbers instead of their recipe."""
    if body.kind not in WRITERS:
        raise ArgumentTypeError(
            f"a body of kind {body.kind!r} has no form in files; those of kind {listed(WRITERS)} have."
        )
    data = WRITERS[body.kind](body, expand)
    recovery = body.recovery if "beam" in data else body.recovered()
    if recovery is None:
        return data
    found = recovery_data(recovery)
    return data | {
        "recovery": found if recovery.beam is None else found | {"beam": beam_data(recovery.beam)}
    }


def rigid_data(body: RigidBody, expand: bool) -> dict[str, Any]:
    """A rigid body as files write it."""
    data: dict[str, Any] = {"mass": body.mass}
    if not same(body.com, np.zeros(3)):
        data["com"] = body.com
    if not same(body.inertia, np.zeros((3, 3))):
        data["inertia"] = body.inertia
    if body.nodes:
        data["nodes"] = dict(body.nodes)
    if not body.check_inertia:
        data["check_inertia"] = False
    return {"rigid": data}


def flexible_data(body: FlexibleBody, expand: bool) -> dict[str, Any]:
    """A flexible body as files write it."""
    if body.recipe is not None and not expand:
        return {"beam": beam_data(body.recipe)}
    points, nodes = body.points, body.nodes
    matrices = {"stiffness": body.stiffness, "damping": body.damping}
    shapes = _present(nodes, ("position", "translation", "rotation", "second"))
    named = {"names": list(nodes.names)} | shapes
    outline = {} if body.outline is None else {"outline": outline_data(body.outline)}
    if points is None:
        integrals = _present(body.carrier, IntegralsSection.model_fields)
        content = {"integrals": integrals, "nodes": named} | matrices | outline
        if body.load_stiffness is not None:
            fields = LoadStiffnessSection.model_fields
            content["load_stiffness"] = _present(body.load_stiffness, fields)
        return {"modal": content}
    masses = _present(points, PointsSection.model_fields)
    if not outline and all(name in masses and same(shapes[name], masses[name]) for name in shapes):
        return {"nodes": {"names": list(nodes.names)} | masses | matrices}
    return {"modal": {"points": masses, "nodes": named} | matrices | outline}


def outline_data(outline: Outline) -> dict[str, Any]:
    """An outline as files write it, without what is empty or zero."""
    data = _present(outline, OutlineSection.model_fields)
    empty = {name for name in ("rotation", "edges", "triangles") if not np.any(data[name])}
    return {name: value for name, value in data.items() if name not in empty}


def _present(owner: Any, names: Iterable[str]) -> dict[str, Any]:
    """The attributes of these names that are not None."""
    values = {name: getattr(owner, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


#: What writes bodies, by their kind: of a body, and whether to expand it, {key of its section: content}.
WRITERS: dict[str, Callable[[Any, bool], dict[str, Any]]] = {
    RigidBody.kind: rigid_data,
    FlexibleBody.kind: flexible_data,
}


def npz_data(data: dict[str, Any]) -> tuple[str, dict[str, np.ndarray]] | None:
    """The key of the section and the arrays of a body for an .npz, from `body_data`; None for rigid bodies and beams."""
    for kind in ("nodes", "modal"):
        if kind in data:
            recovery = {"recovery": packed(data["recovery"])} if "recovery" in data else {}
            return kind, flattened(data[kind] | recovery)
    return None


def beam_data(recipe: Any) -> dict[str, Any]:
    """The arguments of a beam that are not the defaults."""
    data: dict[str, Any] = {"length": recipe.length}
    if recipe.factors:
        data["factors"] = dict(recipe.factors)
    for name in ("mass", "GJ", "EA", "polar_inertia", "load", "offset", "rotation"):
        if getattr(recipe, name) is not None:
            data[name] = getattr(recipe, name)
    for name in ("EI", "GA", "rotary_inertia"):
        pair = getattr(recipe, name)
        if pair is not None:
            data[name] = pair[0] if pair[0] == pair[1] else pair
    if recipe.section is not None:
        data["section"] = sections_data(recipe.section)
    counts = {kind: n for kind, n in recipe.modes if n}
    if counts.get("y") == counts.get("z") and "y" in counts:
        counts = {"bending": counts.pop("y")} | {k: n for k, n in counts.items() if k != "z"}
    data["modes"] = counts["bending"] if set(counts) == {"bending"} else counts
    data["elements"] = recipe.elements
    if recipe.geometric_stiffening:
        data["geometric_stiffening"] = True
    if np.any(recipe.damping):
        equal = np.ndim(recipe.damping) == 1 and len(set(recipe.damping)) == 1
        data["damping"] = recipe.damping[0] if equal else recipe.damping
    return {name: data[name] for name in BeamSection.model_fields if name in data}
