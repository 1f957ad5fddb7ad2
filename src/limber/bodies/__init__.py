"""Rigid and flexible bodies."""

from limber.bodies.beam import beam
from limber.bodies.flexible import FlexibleBody
from limber.bodies.rigid import RigidBody

__all__ = ["FlexibleBody", "RigidBody", "beam"]
