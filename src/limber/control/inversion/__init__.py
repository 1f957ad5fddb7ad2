"""Stable inversion: feedforward with which the tip of a flexible arm follows a path exactly."""

from limber.control.inversion.controller import StableInversion
from limber.control.inversion.solve import Inversion, stable_inversion

__all__ = ["Inversion", "StableInversion", "stable_inversion"]
