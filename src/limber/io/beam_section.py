"""Beams in files."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from limber.bodies import FlexibleBody, beam
from limber.bodies.flexible import MOST_MODES
from limber.bodies.variation import Variation, varied
from limber.io.cross_sections import Positive, TaperSection, sections_data
from limber.io.document import Where
from limber.io.fields import (
    Check,
    Flag,
    Number,
    Vector,
    modal_damping,
    moments,
    number,
    numbers,
    whole,
)
from limber.io.rotations import RotationSection
from limber.io.section import Section

#: A bound that prevents a typing error from filling the memory.
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
        """A number is the number of bending modes per plane."""
        return {"bending": data} if isinstance(data, int) else data


class FactorsSection(Section):
    """Factors on numbers of a beam that were changed with its mode shapes kept (`System.with_parameters`)."""

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
                raise (where / "factors").error(
                    f"the beam has no modes for which {name} is the stiffness.", name
                )
        return varied(made, Variation(given))


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
