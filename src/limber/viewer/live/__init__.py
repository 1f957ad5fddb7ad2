"""The live view of a system in a browser, by viser (the extra `view`)."""

from limber.viewer.live.view import View, view

__all__ = ["View", "view"]
