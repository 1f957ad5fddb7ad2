"""Drawable geometry of a system, reports with an animation that plays in a browser, and reports on bodies."""

from limber.drawing.geometry import Geometry, geometry
from limber.viewer.body_page import body_page
from limber.viewer.report import report

__all__ = ["Geometry", "body_page", "geometry", "report"]
