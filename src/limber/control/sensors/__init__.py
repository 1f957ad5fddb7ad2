"""Sensors: each gives readings of a system at its own rate, with delay, noise, bias, quantization and range."""

from limber.control.sensors.accelerometer import Accelerometer
from limber.control.sensors.base import Instant, Measurement, Reader, Sensor
from limber.control.sensors.encoder import Encoder
from limber.control.sensors.force_torque import ForceTorque
from limber.control.sensors.gyro import Gyro
from limber.control.sensors.mounted import MountedSensor
from limber.control.sensors.star_tracker import StarTracker
from limber.control.sensors.strain_gauge import StrainGauge
from limber.control.sensors.tachometer import Tachometer

__all__ = [
    "Accelerometer",
    "Encoder",
    "ForceTorque",
    "Gyro",
    "Instant",
    "Measurement",
    "MountedSensor",
    "Reader",
    "Sensor",
    "StarTracker",
    "StrainGauge",
    "Tachometer",
]
