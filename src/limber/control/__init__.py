"""The control laboratory: sensors, actuators and controllers in loops of several sample rates.

    loop = lb.control.Loop(system, controller, sensors=[...], actuators=[...], delay=...)
    result = lb.simulate(system, 10.0, torque=loop)

`limber.control.controller` tells what a controller is.
"""

from limber.control.actuators import Actuator, Drive
from limber.control.controller import Controller, DiscreteLinear, Measured
from limber.control.guard import Guard
from limber.control.loop import Loop
from limber.control.pid import PD, PID
from limber.control.sensors import Encoder, Sensor, Tachometer

__all__ = [
    "PD",
    "PID",
    "Actuator",
    "Controller",
    "DiscreteLinear",
    "Drive",
    "Encoder",
    "Guard",
    "Loop",
    "Measured",
    "Sensor",
    "Tachometer",
]
