"""Rigid and flexible bodies."""

from limber.bodies.base import Body
from limber.bodies.beam import beam
from limber.bodies.flexible import FlexibleBody
from limber.bodies.rigid import RigidBody

__all__ = ["Body", "FlexibleBody", "RigidBody", "beam"]
