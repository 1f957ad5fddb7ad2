"""Cross sections of beams and their materials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies import section_formulas
from limber.bodies.section_formulas import Geometry
from limber.checks import array, number, repeated, shown
from limber.errors import ArgumentTypeError, ArgumentValueError

Pair = tuple[float, float]


@dataclass(frozen=True)
class Material:
    """An isotropic material.

    Parameters
    ----------
    E : Young's modulus, Pa.
    rho : density, kg/m^3.
    nu, G : Poisson's ratio, or shear modulus, Pa; give one of them.
    """

    E: float
    rho: float
    nu: float | None = None
    G: float | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "E", number("E", self.E, above=0.0))
        put(self, "rho", number("rho", self.rho, above=0.0))
        if (self.nu is None) == (self.G is None):
            which = "neither" if self.nu is None else "both"
            raise ArgumentTypeError(
                f"give either nu or G, got {which}: each follows from the other, G = E / (2 (1 + nu))."
            )
        if self.G is not None:
            put(self, "G", number("G", self.G, above=0.0))
        else:
            put(self, "nu", number("nu", self.nu))  # type: ignore[arg-type]
            if not -1.0 < self.nu <= 0.5:  # type: ignore[operator]
                raise ArgumentValueError(
                    f"nu must be above -1 and at most 0.5, got {self.nu:g}: an isotropic material cannot have this value."
                )

    @property
    def shear_modulus(self) -> float:
        """G, Pa."""
        return self.E / (2.0 * (1.0 + self.nu)) if self.G is None else self.G  # type: ignore[operator]

    @property
    def poisson_ratio(self) -> float:
        """nu."""
        return 0.5 * self.E / self.G - 1.0 if self.nu is None else self.nu  # type: ignore[operator]


@dataclass(frozen=True)
class Form:
    """The form from which a section was made: its kind, sizes in the order of the arguments, and material."""

    kind: str
    sizes: tuple[float, ...]
    material: Material
    slender: bool = False

    def __str__(self) -> str:
        return f"{self.kind} {' x '.join(f'{size:.4g}' for size in self.sizes)}"


@dataclass(frozen=True)
class Section:
    """A cross section in the y-z plane of a beam along x, with axes through the centroid.

    `Section.circle`, `.tube`, `.rectangle`, `.box` and `.polygon` make one from its form and a `Material`.  To give the
    constants themselves, use the parameters below.

    Parameters
    ----------
    EA : axial stiffness, N.
    EI : bending stiffness, N m^2: one number or (EIy, EIz).  EIz is for bending in the x-y plane, EIy in x-z.
    GJ : torsional stiffness, N m^2.
    rhoA : mass per length, kg/m.
    kGA : shear stiffness, N: one number or (along y, along z).  None: no shear deformation (Euler-Bernoulli theory).
    rhoI : rotary inertia per length, kg m: one number or (about y, about z).  None: that of a homogeneous section,
        rhoA EI / EA, if kGA is given (Timoshenko theory), and zero otherwise.
    rhoIx : moment of inertia per length about the axis, kg m.  None: that of a homogeneous section, rhoA (EIy + EIz) /
        EA.
    EIyz : E times the integral of y z over the section, N m^2; zero if y and z are principal axes.
    shear_centre : (y, z) of the shear centre, m.
    surface : points (y, z) at which strain and stress are reported, m.
    E : Young's modulus of the material at the surface, Pa.  None: no stress is available.
    shear_stress : the largest shear stress in the section per unit torsional moment, 1/m^3, and per unit shear force
        along y and along z, 1/m^2.  None: no shear stress is available.
    form : what the section was made from, for tapers and files; do not set it.
    """

    EA: float
    EI: Any
    GJ: float
    rhoA: float
    kGA: Any = None
    rhoI: Any = None
    rhoIx: float | None = None
    EIyz: float = 0.0
    shear_centre: Any = (0.0, 0.0)
    surface: Any = ()
    E: float | None = None
    shear_stress: Any = None
    form: Form | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        for name in ("EA", "GJ", "rhoA"):
            put(self, name, number(name, getattr(self, name), above=0.0))
        EI = _pair("EI", self.EI, "(EIy, EIz)", above=0.0)
        put(self, "EI", EI)
        homogeneous = self.rhoA / self.EA
        if self.kGA is not None:
            put(self, "kGA", _pair("kGA", self.kGA, "(kGAy, kGAz)", above=0.0))
        if self.rhoI is None:
            share = 0.0 if self.kGA is None else homogeneous
            put(self, "rhoI", (share * EI[0], share * EI[1]))
        else:
            put(self, "rhoI", _pair("rhoI", self.rhoI, "(rho Iy, rho Iz)", minimum=0.0))
        polar = homogeneous * (EI[0] + EI[1]) if self.rhoIx is None else self.rhoIx
        put(self, "rhoIx", number("rhoIx", polar, above=0.0))
        put(self, "EIyz", number("EIyz", self.EIyz))
        if self.EIyz**2 >= EI[0] * EI[1]:
            raise ArgumentValueError(
                f"EIyz = {self.EIyz:g} is too large: its square must be below EIy EIz = {EI[0] * EI[1]:g}, or the section "
                "has no bending stiffness about some axis."
            )
        centre = array("shear_centre", self.shear_centre, (2,), "(y, z) in the section.")
        put(self, "shear_centre", tuple(centre.tolist()))
        points = np.zeros((0, 2)) if len(self.surface) == 0 else self.surface
        surface = array("surface", points, ("n", 2), "Give points (y, z) on the surface.")
        put(self, "surface", tuple(map(tuple, surface.tolist())))
        if self.E is not None:
            put(self, "E", number("E", self.E, above=0.0))
        if self.shear_stress is not None:
            hint = "Give the stresses due to unit torsion and to unit shear forces along y and z."
            stresses = array("shear_stress", self.shear_stress, (3,), hint)
            if stresses.min() < 0.0:
                raise ArgumentValueError(
                    f"shear_stress must not be negative, got {shown(self.shear_stress)}: it is the largest stress under a "
                    "unit load."
                )
            put(self, "shear_stress", tuple(stresses.tolist()))

    # --- by form ------------------------------------------------------------------------------

    @classmethod
    def circle(cls, radius: float, material: Material) -> Section:
        """A solid circle."""
        radius = number("radius", radius, above=0.0)
        return cls._of("circle", (radius,), material)

    @classmethod
    def tube(cls, radius: float, wall: float, material: Material) -> Section:
        """A hollow circle, by its outer radius and wall thickness."""
        radius = number("radius", radius, above=0.0)
        wall = number("wall", wall, above=0.0)
        if wall > radius:
            raise ArgumentValueError(
                f"wall = {wall:g} is thicker than the outer radius {radius:g}: this tube cannot exist. Check that radius "
                "is not a diameter and wall not an inner radius."
            )
        return cls._of("tube", (radius, wall), material)

    @classmethod
    def rectangle(cls, width: float, height: float, material: Material) -> Section:
        """A solid rectangle, by its width along y and height along z."""
        sizes = number("width", width, above=0.0), number("height", height, above=0.0)
        return cls._of("rectangle", sizes, material)

    @classmethod
    def box(cls, width: float, height: float, wall: float, material: Material) -> Section:
        """A thin-walled hollow rectangle, by its outer width along y, outer height along z and wall thickness."""
        sizes = number("width", width, above=0.0), number("height", height, above=0.0)
        wall = number("wall", wall, above=0.0)
        if 2.0 * wall >= min(sizes):
            raise ArgumentValueError(
                f"wall = {wall:g} leaves no hole in a box of {sizes[0]:g} x {sizes[1]:g}. Use Section.rectangle for a "
                "solid one."
            )
        return cls._of("box", (*sizes, wall), material)

    @classmethod
    def polygon(
        cls,
        points: ArrayLike,
        material: Material,
        *,
        holes: Sequence[ArrayLike] = (),
        mesh: float | None = None,
    ) -> Section:
        """Any polygon, computed by the finite elements of `sectionproperties`; needs the extra `sections`.

        The shear stiffnesses are those without lateral contraction, 5/6 GA for a rectangle.

        Parameters
        ----------
        points : (n, 2) corners (y, z) in order, in axes with any origin, m.  The centroid lies on the axis of the beam.
        material : the material of the whole section.
        holes : polygons that are cut out, each (n, 2).
        mesh : the largest area of a triangle of the mesh, m^2.  None: 1/1000 of the area of the polygon.
        """
        from limber.bodies.section_polygon import polygon_section  # noqa: PLC0415

        return polygon_section(cls, points, check_material(material), holes, mesh)

    @classmethod
    def _of(cls, kind: str, sizes: tuple[float, ...], material: Material, slender=False) -> Section:
        check_material(material)
        geometry = getattr(section_formulas, kind)(*sizes, material.poisson_ratio)
        made = cls.from_geometry(geometry, material)
        if slender:
            made = made.slender()
        return replace(made, form=Form(kind, sizes, material, slender))

    @classmethod
    def from_geometry(cls, geometry: Geometry, material: Material, **more: Any) -> Section:
        """A section of one material, by its area, moments, torsion constant and shear coefficients."""
        E, G, rho = material.E, material.shear_modulus, material.rho
        A, (Iy, Iz) = geometry.area, geometry.second_moments
        return cls(
            EA=E * A,
            EI=(E * Iy, E * Iz),
            GJ=G * geometry.torsion,
            rhoA=rho * A,
            kGA=(geometry.shear[0] * G * A, geometry.shear[1] * G * A),
            rhoI=(rho * Iy, rho * Iz),
            rhoIx=rho * (Iy + Iz),
            surface=geometry.surface,
            E=E,
            shear_stress=geometry.shear_stress,
            **more,
        )

    # --- made from others ---------------------------------------------------------------------

    def slender(self) -> Section:
        """Return the same section without shear deformation and rotary inertia of bending (Euler-Bernoulli theory)."""
        form = None if self.form is None else replace(self.form, slender=True)
        return replace(self, kGA=None, rhoI=(0.0, 0.0), form=form)

    @property
    def stress_constants(self) -> tuple[float, float, float, float]:
        """E and the largest shear stresses per unit load; nan for those that are not known."""
        E = np.nan if self.E is None else self.E
        return (E, *(3 * (np.nan,) if self.shear_stress is None else self.shear_stress))

    def __repr__(self) -> str:
        made = "" if self.form is None else f"{self.form}, "
        EI = "({:.4g}, {:.4g})".format(*self.EI)
        return (
            f"Section({made}EA={self.EA:.4g}, EI={EI}, GJ={self.GJ:.4g}, rhoA={self.rhoA:.4g}"
            f"{', slender' if self.is_slender else ''})"
        )

    @property
    def is_slender(self) -> bool:
        """Whether the section has neither shear deformation nor rotary inertia of bending."""
        return self.kGA is None and not any(self.rhoI)

    def between(self, other: Section, part: float) -> Section:
        """Return the section at `part` of a member that tapers from this section (0) to another (1).

        The dimensions of two sections of the same form and material vary linearly.  Otherwise all constants do, and
        there is no shear stress.
        """
        if self == other:
            return self
        a, b = self.form, other.form
        if a is not None and b is not None and (a.kind, a.material, a.slender) == (
            b.kind, b.material, b.slender
        ):  # fmt: skip
            sizes = tuple(_mix(x, y, part) for x, y in zip(a.sizes, b.sizes))
            return Section._of(a.kind, sizes, a.material, a.slender)
        if (self.kGA is None) != (other.kGA is None):
            raise ArgumentValueError(
                "a member cannot taper from a section with shear deformation to one without. Use section.slender() "
                "at both ends, or give kGA for both."
            )
        apart = ("kGA", "surface", "E", "shear_stress", "form")
        names = [x.name for x in fields(self) if x.name not in apart]
        mixed = {name: _mixed(getattr(self, name), getattr(other, name), part) for name in names}
        mixed["E"] = self.E if self.E == other.E else None
        if self.kGA is not None:
            mixed["kGA"] = _mixed(self.kGA, other.kGA, part)
        if len(self.surface) == len(other.surface):
            mixed["surface"] = tuple(
                _mixed(p, q, part) for p, q in zip(self.surface, other.surface)
            )
        return Section(**mixed)


def _pair(name: str, value: Any, expected: str, **bound: float) -> Pair:
    """One positive number twice, or two."""
    pair = repeated(name, value, 2, f"Give one number or {expected}.")
    return number(name, pair[0], **bound), number(name, pair[1], **bound)


def _mix(a: float, b: float, part: float) -> float:
    return (1.0 - part) * a + part * b


def _mixed(a: Any, b: Any, part: float) -> Any:
    """Numbers, or tuples of them, between a and b."""
    if isinstance(a, tuple):
        return tuple(_mix(x, y, part) for x, y in zip(a, b))
    return _mix(a, b, part)


def check_material(material: Any) -> Material:
    """Reject anything that is not a material."""
    if not isinstance(material, Material):
        raise ArgumentTypeError(
            f"material must be an lb.Material, as in lb.Material(E=70e9, nu=0.33, rho=2700), got {shown(material)}."
        )
    return material


def check_sections(name: str, value: Any) -> tuple[Section, Section]:
    """One section for a whole member, or the two at its ends."""
    ends = (value, value) if isinstance(value, Section) else value
    if not isinstance(ends, tuple | list) or len(ends) != 2 or not all(
        isinstance(x, Section) for x in ends
    ):  # fmt: skip
        raise ArgumentTypeError(
            f"{name} must be an lb.Section, or two of them for a taper, got {shown(value)}."
        )
    ends[0].between(ends[1], 0.5)  # rejects inconsistent combinations
    return ends[0], ends[1]
