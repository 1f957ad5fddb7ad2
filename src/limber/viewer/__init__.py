"""Drawable geometry of a system, HTML reports with an animation, reports on bodies, and the live view in a browser."""

from limber.drawing.geometry import Geometry, geometry
from limber.viewer.body_page import body_page
from limber.viewer.live import View, view
from limber.viewer.report import report

__all__ = ["Geometry", "View", "body_page", "geometry", "report", "view"]
