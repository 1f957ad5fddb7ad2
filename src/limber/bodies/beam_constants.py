"""The constants of a beam along its axis, from numbers or from sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.section import Section, check_sections
from limber.checks import Array, number, repeated
from limber.errors import ArgumentTypeError, ArgumentValueError

#: Lengths, masses and stiffnesses above this, or below its inverse, must be mistakes.
LARGEST = 1e30
#: The constants that are inertias, and those that are stiffnesses.
INERTIAS = ("mass", "polar", "rotary_y", "rotary_z")
STIFFNESSES = ("EIy", "EIz", "GJ", "EA", "GAy", "GAz")


@dataclass(frozen=True)
class BeamConstants:
    """The constants of a beam at one station; those that were not given are zero.

    Mass and inertias are those of a uniform beam of the whole length that has this section everywhere.
    """

    mass: float
    EIy: float = 0.0
    EIz: float = 0.0
    GJ: float = 0.0
    EA: float = 0.0
    GAy: float = 0.0
    GAz: float = 0.0
    polar: float = 0.0
    rotary_y: float = 0.0
    rotary_z: float = 0.0

    @property
    def slender(self) -> bool:
        """Whether there is neither shear deformation nor rotary inertia of bending."""
        return not (self.GAy or self.GAz or self.rotary_y or self.rotary_z)


@dataclass(frozen=True)
class AlongBeam:
    """The constants of a beam at any station."""

    at_part: Callable[[float], BeamConstants]
    length: float
    uniform: bool

    @property
    def root(self) -> BeamConstants:
        """The constants at x = 0."""
        return self.at_part(0.0)

    def scaled(self, factors: Mapping[str, float]) -> AlongBeam:
        """The constants multiplied by factors: of "mass" for all inertias, of "stiffness" as a whole and by name."""
        whole = {
            name: factors.get("stiffness", 1.0) * factors.get(name, 1.0) for name in STIFFNESSES
        }
        whole |= dict.fromkeys(INERTIAS, factors.get("mass", 1.0))

        def at_part(part: float) -> BeamConstants:
            at = self.at_part(part)
            return BeamConstants(**{name: f * getattr(at, name) for name, f in whole.items()})

        return AlongBeam(at_part, self.length, self.uniform)

    def __call__(self, name: str, x: Array) -> Array:
        """A constant at the stations x."""
        if self.uniform:
            return np.full(x.shape, getattr(self.root, name))
        return np.array([getattr(self.at_part(part), name) for part in (x / self.length).tolist()])


def from_section(length: float, section: Section | tuple[Section, Section]) -> AlongBeam:
    """The constants of a beam of one section, or of two between which it tapers."""
    ends = check_sections("section", section)
    for end in ends:
        if end.EIyz or any(end.shear_centre):
            raise ArgumentValueError(
                "section couples bending in the two planes or bending and torsion (EIyz, shear_centre): the modes of "
                "such a beam are not pure bending in y or z or pure torsion. Use lb.structures.frame."
            )

    @cache
    def at_part(part: float) -> BeamConstants:
        here = ends[0].between(ends[1], part)
        GAy, GAz = here.kGA or (0.0, 0.0)
        inertia = {"polar": here.rhoIx, "rotary_y": here.rhoI[0], "rotary_z": here.rhoI[1]}
        return BeamConstants(
            mass=here.rhoA * length,
            EIy=here.EI[0],
            EIz=here.EI[1],
            GJ=here.GJ,
            EA=here.EA,
            GAy=GAy,
            GAz=GAz,
            **{name: value * length for name, value in inertia.items()},  # type: ignore[operator]
        )

    return AlongBeam(at_part, length, ends[0] == ends[1])


def from_numbers(
    length: float,
    mass: float | None,
    EI: float | ArrayLike | None,
    GJ: float | None,
    EA: float | None,
    GA: float | ArrayLike | None,
    polar_inertia: float | None,
    rotary_inertia: float | ArrayLike | None,
    counts: dict[str, int],
) -> AlongBeam:
    """The constants of a uniform beam; what the modes need must be there."""
    if mass is None:
        raise ArgumentTypeError(
            "mass must be real numbers of shape () (a single number), got None: give the mass of the whole beam, "
            "or its section."
        )
    mass = number("mass", mass, above=0.0)
    bending = max(counts["y"], counts["z"])
    EIy, EIz = _pair("EI", EI, "bending", bending)
    GJ = _stiffness("GJ", GJ, "torsion", counts["torsion"])
    EA = _stiffness("EA", EA, "stretch", counts["stretch"])
    GAy, GAz = _pair("GA", GA)
    rotary = (0.0, 0.0)
    if rotary_inertia is not None:
        pair = repeated(
            "rotary_inertia", rotary_inertia, 2, "Give one number, or (about y, about z)."
        )
        rotary = (
            number("rotary_inertia", pair[0], minimum=0.0),
            number("rotary_inertia", pair[1], minimum=0.0),
        )
    polar = _polar_inertia(polar_inertia, mass, EIy, EIz, EA, rotary, counts["torsion"])
    constants = BeamConstants(mass, EIy, EIz, GJ, EA, GAy, GAz, polar, *rotary)
    return AlongBeam(lambda part: constants, length, True)


def check_range(length: float, along: AlongBeam, load: Array) -> None:
    """Reject numbers with which frequencies overflow."""
    for part in (0.0, 1.0):
        at = along.at_part(part)
        given = {
            "length": length, "mass": at.mass, "EI": at.EIz, "GJ": at.GJ, "EA": at.EA,
            "polar_inertia": at.polar, "GA": at.GAy, "rotary_inertia": at.rotary_y,
        }  # fmt: skip
        others = [("EI", at.EIy), ("GA", at.GAz), ("rotary_inertia", at.rotary_z)]
        for name, value in [*given.items(), *others, *(("load", x) for x in load)]:
            if value and not 1.0 / LARGEST <= value <= LARGEST:
                raise ArgumentValueError(
                    f"{name} = {value:g} is out of range: beams are computed for values from {1.0 / LARGEST:g} to "
                    f"{LARGEST:g} (frequencies would overflow otherwise). Check that the units are SI."
                )


def _stiffness(name: str, value: float | None, kind: str, count: int) -> float:
    if value is None:
        if count:
            raise ArgumentValueError(
                f"{name} is missing, but modes requests {count} of {kind}. Give {name}, or do not request these modes."
            )
        return 0.0
    return number(name, value, above=0.0)


def _pair(name: str, value, kind: str = "", count: int = 0) -> tuple[float, float]:
    if value is None:
        return (_stiffness(name, None, kind, count),) * 2
    letters = "(EIy, EIz)" if name == "EI" else "(GAy, GAz)"
    pair = repeated(name, value, 2, f"Give one number or {letters}.")
    return number(name, pair[0], above=0.0), number(name, pair[1], above=0.0)


def _polar_inertia(given, mass, EIy, EIz, EA, rotary, torsion: int) -> float:
    if given is not None:
        bound = {"above": 0.0} if torsion else {"minimum": 0.0}
        polar = number("polar_inertia", given, **bound)
        if any(rotary) and not abs(rotary[0] - rotary[1]) <= polar * (1.0 + 1e-9):
            raise ArgumentValueError(
                f"polar_inertia = {polar:g} is smaller than the difference of rotary_inertia = {rotary}: no section has "
                "these values. For any plane section it is their sum."
            )
        return polar
    if any(rotary):
        return rotary[0] + rotary[1]
    if not torsion:
        return 0.0
    if EA and EIy:
        return mass * (EIy + EIz) / EA
    raise ArgumentTypeError(
        "polar_inertia is missing: torsion modes need the beam's moment of inertia about its axis. Give "
        "polar_inertia, or EI and EA, which determine it for a homogeneous section."
    )
