"""Control: linear models of systems, and their analysis."""

from limber.control.linear_model import LinearModel
from limber.control.linearize import linearize

__all__ = ["LinearModel", "linearize"]
