"""Structures of finite elements, and their reduction to flexible bodies."""

from limber.structures.structure import Structure

__all__ = ["Structure"]
