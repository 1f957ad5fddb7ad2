"""Assemblies and the systems that they build."""

from limber.assembly.assembly import Assembly
from limber.assembly.system import System

__all__ = ["Assembly", "System"]
