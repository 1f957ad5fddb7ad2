"""Series elastic joints: a motor, a spring, and the body that the spring turns."""

from __future__ import annotations

from typing import Any

from limber.assembly import Assembly
from limber.bodies import Body, RigidBody
from limber.checks import number
from limber.control.actuators.servo import Servo
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.joints import Joint, Prismatic, Revolute


class SeriesElastic(Servo):
    """A servo that drives its body through a spring.

    `attach(assembly, body, joint, to=...)` adds the gear output, a massless body named "<body> motor" whose joint has
    the rotor and the friction, and then the body itself, on a joint about the same axis that is the spring. The
    coordinate of the body's joint is the deflection of the spring; the angle of the body is the sum of both
    coordinates. Other springs, stops, damping and friction of the joint stay with the motor, and act on its coordinate
    alone. `inserted(assembly)` does the same for a body that is already in an assembly.

    Parameters
    ----------
    body : the name of the driven body.
    stiffness, spring_damping : of the spring, N m/rad and N m s/rad.
    options : those of `Servo`; rotor_inertia is required. The command is the torque at the gear output.
    """

    def __init__(self, body: str, *, stiffness: float, spring_damping: float = 0.0, **options: Any):
        if not isinstance(body, str):
            raise ArgumentTypeError(f"body must be the name of a body, got {body!r}.")
        self.driven = body
        self.stiffness = number(f"stiffness of {body!r}", stiffness, above=0.0)
        self.spring_damping = number(f"spring_damping of {body!r}", spring_damping, minimum=0.0)
        super().__init__(f"{body} motor", options.pop("name", None), **options)
        if not self.rotor_inertia:
            raise ArgumentValueError(
                f"series elastic joint {body!r} needs rotor_inertia: without it, the motor side of the spring would have "
                "no inertia."
            )

    def attach(
        self, assembly: Assembly, body: Body, joint: Joint, to: str = "world", **where: Any
    ) -> Assembly:
        """Add motor, spring and body to an assembly; `joint` gives the axis, and `where` is as in `Assembly.attach`."""
        inboard = where.pop("inboard", None)
        spring = self._spring(joint)
        assembly.attach(self.body, RigidBody(0.0), self.fitted(joint), to, **where)
        return assembly.attach(self.driven, body, spring, to=self.body, inboard=inboard)

    def inserted(self, assembly: Assembly) -> Assembly:
        """Return a copy of an assembly in which the motor and the spring replace the stiff joint of the body."""
        found = assembly.body_of(self.driven, "series elastic joint: body")
        if found != self.driven:
            raise ArgumentValueError(
                f"series elastic joint: {self.driven!r} is a joint of {assembly.name!r}: give the name of its body, "
                f"{found!r}."
            )
        joint = assembly.attachments[self.driven].joint
        spring = self._spring(joint)
        return assembly.with_body_before(
            self.driven, self.body, RigidBody(0.0), self.fitted(joint), spring
        )

    def _spring(self, joint: Joint) -> Joint:
        """The spring, about the axis of a joint."""
        if not isinstance(joint, (Revolute, Prismatic)):
            raise ArgumentTypeError(
                f"joint of series elastic body {self.driven!r} must be Revolute or Prismatic, got {joint!r}."
            )
        return type(joint)(joint.axis, stiffness=self.stiffness, damping=self.spring_damping)
