"""Drawable geometry of a system, and reports with an animation that plays in a browser."""

from limber.drawing.geometry import Geometry, geometry
from limber.viewer.report import report

__all__ = ["Geometry", "geometry", "report"]
