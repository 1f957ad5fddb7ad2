"""Joints, one kind per file."""

from limber.joints.base import Joint
from limber.joints.compound import CompoundJoint
from limber.joints.cylindrical import Cylindrical
from limber.joints.fixed import Fixed
from limber.joints.free import Free
from limber.joints.grasps import (
    FrictionlessPoint,
    Grasp,
    HardPoint,
    RigidGrasp,
    SlidingLine,
    SoftFinger,
)
from limber.joints.planar import Planar
from limber.joints.prismatic import Prismatic
from limber.joints.revolute import Revolute
from limber.joints.screw import Screw
from limber.joints.simple import SimpleJoint
from limber.joints.spherical import Spherical
from limber.joints.universal import Universal

__all__ = [
    "CompoundJoint",
    "Cylindrical",
    "Fixed",
    "Free",
    "FrictionlessPoint",
    "Grasp",
    "HardPoint",
    "Joint",
    "Planar",
    "Prismatic",
    "Revolute",
    "RigidGrasp",
    "Screw",
    "SimpleJoint",
    "SlidingLine",
    "SoftFinger",
    "Spherical",
    "Universal",
]
