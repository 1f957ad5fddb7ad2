"""Rigid and flexible bodies."""

from limber.bodies.base import Body
from limber.bodies.beam import beam
from limber.bodies.flexible import FlexibleBody
from limber.bodies.rigid import RigidBody
from limber.bodies.section import Material, Section

__all__ = ["Body", "FlexibleBody", "Material", "RigidBody", "Section", "beam"]
