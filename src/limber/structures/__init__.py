"""Structures of finite elements, and their reduction to flexible bodies."""

from limber.structures.structure import Structure
from limber.structures.superelement import Superelement

__all__ = ["Structure", "Superelement"]
