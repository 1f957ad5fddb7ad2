"""The control laboratory: sensors, actuators and controllers in loops of several sample rates; linear models.

    loop = lb.control.Loop(system, controller, sensors=[...], actuators=[...], delay=...)
    result = lb.simulate(system, 10.0, torque=loop)

`limber.control.controller` tells what a controller is.
"""

from limber.control.actuators import Actuator, Drive
from limber.control.controller import Controller, DiscreteLinear, Measured
from limber.control.guard import Guard
from limber.control.linear_model import LinearModel
from limber.control.linearize import linearize
from limber.control.loop import Loop
from limber.control.pid import PD, PID
from limber.control.sensors import (
    Accelerometer,
    Encoder,
    ForceTorque,
    Gyro,
    Sensor,
    StarTracker,
    StrainGauge,
    Tachometer,
)

__all__ = [
    "PD",
    "PID",
    "Accelerometer",
    "Actuator",
    "Controller",
    "DiscreteLinear",
    "Drive",
    "Encoder",
    "ForceTorque",
    "Guard",
    "Gyro",
    "LinearModel",
    "Loop",
    "Measured",
    "Sensor",
    "StarTracker",
    "StrainGauge",
    "Tachometer",
    "linearize",
]
