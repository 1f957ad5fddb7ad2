"""Bodies in files: `rigid`, `beam`, `nodes` (modes given at nodes), `modal` (modes given everywhere)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np

from limber.bodies import Body, FlexibleBody, RigidBody
from limber.bodies.flexible import modal_matrices, second_shapes
from limber.bodies.integrals import ModalIntegrals
from limber.bodies.nodes import Nodes
from limber.bodies.points import MassPoints
from limber.bodies.shapes import Shapes
from limber.checks import array, listed
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.io.beam_section import BeamSection, beam_data
from limber.io.document import Where
from limber.io.fields import FileName, Name, numbers
from limber.io.modal_sections import (
    IntegralsSection,
    LoadStiffnessSection,
    NodeShapesSection,
    OutlineSection,
    PointsSection,
    outline_data,
)
from limber.io.npz import from_npz
from limber.io.recovery import ARRAYS as RECOVERY_ARRAYS
from limber.io.recovery import RecoverySection, packed, recovery_data, unpacked
from limber.io.rigid_section import RigidSection, rigid_data
from limber.io.section import Section, validated
from limber.io.written import present, same


class NodesSection(PointsSection):
    """The arguments of `FlexibleBody.from_nodes`, here or in an .npz; entries here take precedence."""

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
                raise where.error(f"{name!r} is missing both here and in an .npz file.")
        with where.checked():
            body = FlexibleBody.from_nodes(**given)
        return _recovering(body, recovery, where / "file")


class ModalSection(Section):
    """A flexible body whose mass is at points other than its nodes or is given by modal integrals.

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
                f"{beside[0]!r} is given together with 'file', which contains the entire body. Leave one of them out.", beside[0]
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
                "give either 'points' or 'integrals', which define the mass of the body."
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
                raise ArgumentValueError("names contains a name twice: every node needs its own.")
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

    beam : the beam with the modes and section forces of the body.
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
    """One body, given by the key of its kind."""

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


def body_data(body: Body, expand: bool) -> dict[str, Any]:
    """A body as files write it; `expand` writes beams as their numbers instead of their recipe."""
    if body.kind not in WRITERS:
        raise ArgumentTypeError(
            f"a body of kind {body.kind!r} cannot be written to a file; those of kind {listed(WRITERS)} can."
        )
    data = WRITERS[body.kind](body, expand)
    recovery = body.recovery if "beam" in data else body.recovered()
    if recovery is None:
        return data
    found = recovery_data(recovery)
    return data | {
        "recovery": found if recovery.beam is None else found | {"beam": beam_data(recovery.beam)}
    }


def flexible_data(body: FlexibleBody, expand: bool) -> dict[str, Any]:
    """A flexible body as files write it."""
    if body.recipe is not None and not expand:
        return {"beam": beam_data(body.recipe)}
    points, nodes = body.points, body.nodes
    matrices = {"stiffness": body.stiffness, "damping": body.damping}
    shapes = present(nodes, ("position", "translation", "rotation", "second"))
    named = {"names": list(nodes.names)} | shapes
    outline = {} if body.outline is None else {"outline": outline_data(body.outline)}
    if points is None:
        integrals = present(body.carrier, IntegralsSection.model_fields)
        content = {"integrals": integrals, "nodes": named} | matrices | outline
        if body.load_stiffness is not None:
            fields = LoadStiffnessSection.model_fields
            content["load_stiffness"] = present(body.load_stiffness, fields)
        return {"modal": content}
    masses = present(points, PointsSection.model_fields)
    if not outline and all(name in masses and same(shapes[name], masses[name]) for name in shapes):
        return {"nodes": {"names": list(nodes.names)} | masses | matrices}
    return {"modal": {"points": masses, "nodes": named} | matrices | outline}


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
