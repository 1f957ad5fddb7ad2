"""Control: linear models of systems, and their analysis."""

from limber.control.linear_model import LinearModel
from limber.control.linearize import linearize
from limber.control.margins import LoopMargins, Margins, margins
from limber.control.python_control import from_control
from limber.control.spillover import ModeChange, Spillover, spillover

__all__ = [
    "LinearModel",
    "LoopMargins",
    "Margins",
    "ModeChange",
    "Spillover",
    "from_control",
    "linearize",
    "margins",
    "spillover",
]
