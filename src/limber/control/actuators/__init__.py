"""Actuators: each turns commands into generalized forces of a system, with its limits, lag and losses."""

from limber.control.actuators.base import Actuator, Drive

__all__ = ["Actuator", "Drive"]
