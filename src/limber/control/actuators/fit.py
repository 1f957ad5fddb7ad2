"""Rotors and friction of servos in an assembly."""

from __future__ import annotations

from limber.assembly import Assembly
from limber.control.actuators.servo import Servo
from limber.errors import ArgumentValueError


def fit(assembly: Assembly, *servos: Servo) -> Assembly:
    """Return a copy of the assembly whose joints have the rotors and the friction of these servos; see
    `Servo.fitted`."""
    for servo in servos:
        if servo.body not in assembly.attachments:
            raise ArgumentValueError(
                f"servo {servo.name!r}: {servo.body!r} is not a body of {assembly.name!r}; it has: "
                f"{', '.join(map(repr, assembly.attachments))}."
            )
        joint = servo.fitted(assembly.attachments[servo.body].joint)
        assembly = assembly.with_joint(servo.body, joint)
    return assembly
