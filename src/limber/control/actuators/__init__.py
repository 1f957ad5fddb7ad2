"""Actuators: each turns commands into generalized forces of a system, with its limits, lag and losses."""

from limber.control.actuators.base import Actuator, Drive
from limber.control.actuators.fit import fit
from limber.control.actuators.moment_gyro import MomentGyro
from limber.control.actuators.reaction_wheel import ReactionWheel
from limber.control.actuators.series_elastic import SeriesElastic
from limber.control.actuators.servo import Servo
from limber.control.actuators.thruster import Thruster

__all__ = [
    "Actuator",
    "Drive",
    "MomentGyro",
    "ReactionWheel",
    "SeriesElastic",
    "Servo",
    "Thruster",
    "fit",
]
