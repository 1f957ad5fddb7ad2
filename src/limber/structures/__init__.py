"""Finite-element structures, and their reduction to flexible bodies."""

from limber.bodies.beam_forces import beam_forces
from limber.structures.appendage import appendage
from limber.structures.buckling import Buckling
from limber.structures.frame import Frame, frame
from limber.structures.member import Member
from limber.structures.plate import Plate, plate
from limber.structures.report import BodyReport, report
from limber.structures.solid import Solid, solid
from limber.structures.structure import Structure
from limber.structures.superelement import Superelement

__all__ = [
    "BodyReport",
    "Buckling",
    "Frame",
    "Member",
    "Plate",
    "Solid",
    "Structure",
    "Superelement",
    "appendage",
    "beam_forces",
    "frame",
    "plate",
    "report",
    "solid",
]
