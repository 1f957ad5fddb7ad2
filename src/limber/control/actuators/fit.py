"""Rotors and friction of servos in an assembly."""

from __future__ import annotations

from limber.assembly import Assembly
from limber.control.actuators.servo import Servo


def fit(assembly: Assembly, *servos: Servo) -> Assembly:
    """Return a copy of the assembly whose joints have the rotors and the friction of these servos; see
    `Servo.fitted`."""
    for servo in servos:
        body = assembly.body_of(servo.body, f"servo {servo.name!r}: body")
        joint = servo.fitted(assembly.attachments[body].joint)
        assembly = assembly.with_joint(body, joint)
    return assembly
