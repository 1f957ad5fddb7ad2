"""Cross sections of beams in files: a form with its material, or numbers."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any

from limber.bodies import Material, Section
from limber.errors import ArgumentTypeError
from limber.io.document import Where
from limber.io.fields import Flag, Number, number, numbers
from limber.io.section import Section as FileSection

Positive = Annotated[float, number(above=0.0)]
Pair = Annotated[Any, numbers((2,), scalar=True)]


class MaterialSection(FileSection):
    """A material, as in `limber.Material`."""

    E: Positive
    rho: Positive
    nu: Number | None = None
    G: Positive | None = None

    def build(self, where: Where) -> Material:
        """The material."""
        with where.checked():
            return Material(self.E, self.rho, self.nu, self.G)


class CircleSection(FileSection):
    """A solid circle."""

    radius: Positive


class TubeSection(FileSection):
    """A hollow circle: outer radius and wall thickness."""

    radius: Positive
    wall: Positive


class RectangleSection(FileSection):
    """A solid rectangle: width along y, height along z."""

    width: Positive
    height: Positive


class BoxSection(FileSection):
    """A hollow rectangle: outer width and height, and wall thickness."""

    width: Positive
    height: Positive
    wall: Positive


#: What reads the sizes of each form.
SIZES: dict[str, type[FileSection]] = {
    "circle": CircleSection,
    "tube": TubeSection,
    "rectangle": RectangleSection,
    "box": BoxSection,
}


class CrossSectionSection(FileSection):
    """A cross section: one of circle, tube, rectangle and box with a material, or the numbers of `limber.Section`."""

    circle: CircleSection | None = None
    tube: TubeSection | None = None
    rectangle: RectangleSection | None = None
    box: BoxSection | None = None
    material: MaterialSection | None = None
    slender: Flag = False
    EA: Positive | None = None
    EI: Pair | None = None
    GJ: Positive | None = None
    rhoA: Positive | None = None
    kGA: Pair | None = None
    rhoI: Pair | None = None
    rhoIx: Positive | None = None
    EIyz: Number | None = None
    shear_centre: Annotated[Any, numbers((2,))] | None = None
    surface: Annotated[Any, numbers(("n", 2))] | None = None
    E: Positive | None = None
    shear_stress: Annotated[Any, numbers((3,))] | None = None

    def build(self, where: Where) -> Section:
        """The cross section."""
        forms = [name for name in SIZES if getattr(self, name) is not None]
        numeric = {name: getattr(self, name) for name in NUMBERS if getattr(self, name) is not None}
        with where.checked():
            if len(forms) + bool(numeric) != 1:
                got = " and ".join([*forms, *numeric]) or "nothing"
                raise ArgumentTypeError(
                    f"a section needs one of {', '.join(SIZES)}, or its numbers; got {got}."
                )
            if forms and self.material is None:
                raise ArgumentTypeError(
                    f"{forms[0]} needs a material: {{E: ..., nu: ..., rho: ...}}."
                )
            if numeric and (self.material is not None or self.slender):
                raise ArgumentTypeError(
                    "material and slender can only be used with a form; the numbers of a section already include both."
                )
            missing = [name for name in NUMBERS[:4] if name not in numeric]
            if numeric and missing:
                raise ArgumentTypeError(f"{missing[0]} is missing.")
            if numeric:
                return Section(**numeric)
        form, material = getattr(self, forms[0]), self.material.build(where / "material")  # type: ignore[union-attr]
        with where.checked():
            made = getattr(Section, forms[0])(*(size for _, size in form), material)
        return made.slender() if self.slender else made


#: The numbers of a section; the first four are needed.
NUMBERS = tuple(field.name for field in fields(Section) if field.name != "form")


class TaperSection(CrossSectionSection):
    """One cross section, or {root: ..., tip: ...} for a tapered beam."""

    root: CrossSectionSection | None = None
    tip: CrossSectionSection | None = None

    def sections(self, where: Where) -> Section | tuple[Section, Section]:
        """The argument `section` of a beam."""
        if self.root is None and self.tip is None:
            return self.build(where)
        if self.root is None or self.tip is None or len(self.model_fields_set) > 2:
            raise where.error(
                "a taper must have root and tip, each a cross section, and nothing else."
            )
        return self.root.build(where / "root"), self.tip.build(where / "tip")


def sections_data(section: Section | tuple[Section, Section]) -> dict[str, Any]:
    """The argument `section` of a beam as files write it."""
    if isinstance(section, tuple):
        return {name: cross_section_data(end) for name, end in zip(("root", "tip"), section)}
    return cross_section_data(section)


def cross_section_data(section: Section) -> dict[str, Any]:
    """A section as files write it."""
    form = section.form
    if form is not None:
        names = SIZES[form.kind].model_fields
        data: dict[str, Any] = {form.kind: dict(zip(names, form.sizes))}
        material = {name: getattr(form.material, name) for name in MaterialSection.model_fields}
        data["material"] = {name: x for name, x in material.items() if x is not None}
        return data | ({"slender": True} if form.slender else {})
    plain = Section(section.EA, section.EI, section.GJ, section.rhoA)
    return {
        name: getattr(section, name)
        for i, name in enumerate(NUMBERS)
        if i < 4 or getattr(section, name) != getattr(plain, name)
    }
