"""Sensors: each gives readings of a system at its own rate, with delay, noise, bias, quantization and range."""

from limber.control.sensors.base import Instant, Measurement, Reader, Sensor
from limber.control.sensors.encoder import Encoder
from limber.control.sensors.tachometer import Tachometer

__all__ = ["Encoder", "Instant", "Measurement", "Reader", "Sensor", "Tachometer"]
