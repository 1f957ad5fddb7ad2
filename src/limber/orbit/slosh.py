"""Slosh of propellant in an upright cylindrical tank, as a pendulum or as a mass on springs.

Liquid of depth h in a cylinder of radius R, under an acceleration g along its axis, sloshes from side to side in its
first mode with

    omega^2 = (g x / R) tanh(x h / R),          x = 1.8412, the first zero of J1'.

The forces and moments of that motion on the tank are those of a mass m1 on a pendulum of length L, whose bob rests at H
above the centre of mass of the liquid (Abramson, The Dynamic Behavior of Liquids in Moving Containers, NASA SP-106,
chapter 6; Dodge, The New Dynamic Behavior of Liquids in Moving Containers, Southwest Research Institute 2000, table
3.1):

    m1 / m = 2 R tanh(x h / R) / (x h (x^2 - 1)),       L = R / (x tanh(x h / R)),      H = h / 2 - (2 R / x) tanh(x h / (2 R)).

A mass on springs with stiffness m1 omega^2 at the height H is equivalent for one acceleration.  The rest of the liquid
is fixed in the tank, placed so that the common centre of mass is unchanged.  Higher modes are neglected: the mass of
the second is 3 % of m1 in a deep tank.  The inertia of the fixed part is that of a solid cylinder of its mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.assembly import Assembly
from limber.bodies import RigidBody
from limber.checks import number, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.joints import CompoundJoint, Fixed, Prismatic, Universal

#: The first zero of the derivative of the Bessel function J1.
ZERO = 1.8411837813406593


@dataclass(frozen=True)
class Slosh:
    """The first slosh mode of the liquid in an upright cylindrical tank.

    radius, depth : of the liquid, m.
    mass : of all the liquid, kg.
    """

    radius: float
    depth: float
    mass: float

    def __post_init__(self) -> None:
        for name in ("radius", "depth", "mass"):
            object.__setattr__(self, name, number(name, getattr(self, name), above=0.0))

    @property
    def moving_mass(self) -> float:
        """The mass that sloshes, kg."""
        x = ZERO * self.depth / self.radius
        return self.mass * 2.0 * float(np.tanh(x)) / (x * (ZERO**2 - 1.0))

    @property
    def fixed_mass(self) -> float:
        """The mass that does not slosh, kg."""
        return self.mass - self.moving_mass

    @property
    def length(self) -> float:
        """The length of the pendulum, m."""
        return self.radius / (ZERO * float(np.tanh(ZERO * self.depth / self.radius)))

    @property
    def moving_height(self) -> float:
        """The height of the moving mass at rest above the centre of mass of the liquid, m."""
        return self.depth / 2.0 - 2.0 * self.radius / ZERO * float(
            np.tanh(ZERO * self.depth / (2.0 * self.radius))
        )

    @property
    def fixed_height(self) -> float:
        """The height of the centre of mass of the fixed part above that of the liquid, m."""
        return -self.moving_mass * self.moving_height / self.fixed_mass

    def frequency(self, acceleration: float) -> float:
        """The slosh frequency, rad/s, under an acceleration along the axis, m/s^2."""
        return float(np.sqrt(number("acceleration", acceleration, minimum=0.0) / self.length))

    def attach(
        self,
        assembly: Assembly,
        name: str,
        *,
        to: str,
        at: str | int | None = None,
        offset: ArrayLike = (0.0, 0.0, 0.0),
        rotation: ArrayLike | None = None,
        acceleration: float | None = None,
        damping: float = 0.0,
        kind: str = "pendulum",
    ) -> tuple[str, str]:
        """Attach the liquid to an assembly as two bodies, and return their names, `name` and "`name` slosh".

        The first body is the fixed part, which burns may use up; the second is the moving part.

        Parameters
        ----------
        to, at, offset, rotation : the place of the centre of the bottom of the tank, as in `Assembly.attach`; the z
            axis there points up the tank, along the acceleration.
        acceleration : the acceleration for which the spring stiffness and the damping hold, m/s^2.
        damping : damping ratio at this acceleration.
        kind : "pendulum", whose restoring force comes from the actual acceleration; or "springs", whose stiffness is
            correct only for `acceleration`.
        """
        part = number("damping", damping, minimum=0.0)
        if not isinstance(kind, str) or kind not in ("pendulum", "springs"):
            raise ArgumentValueError(f'kind={shown(kind)} must be "pendulum" or "springs".')
        if acceleration is None and (kind == "springs" or part > 0.0):
            raise ArgumentTypeError(
                "acceleration is missing: the stiffness of springs and the damping are valid for one acceleration, in "
                "m/s^2."
            )
        turn = np.eye(3) if rotation is None else rotation
        middle = self.depth / 2.0
        bob = middle + self.moving_height
        R, h, m0 = self.radius, self.depth, self.fixed_mass
        lateral = m0 * (3.0 * R**2 + h**2) / 12.0
        rest = RigidBody(
            m0,
            com=(0.0, 0.0, middle + self.fixed_height),
            inertia=np.diag([lateral, lateral, m0 * R**2 / 2.0]),
            nodes={"slosh": (0.0, 0.0, bob), "hinge": (0.0, 0.0, bob + self.length)},
        )
        assembly.attach(name, rest, Fixed(), to=to, at=at, offset=offset, rotation=turn)
        moving = f"{name} slosh"
        omega = 0.0 if acceleration is None else self.frequency(acceleration)
        m1, L = self.moving_mass, self.length
        if kind == "pendulum":
            joint = Universal("x", "y", damping=2.0 * part * omega * m1 * L**2)
            assembly.attach(moving, RigidBody(m1, com=(0.0, 0.0, -L)), joint, to=name, at="hinge")
        else:
            sliding = CompoundJoint(
                [Prismatic("x"), Prismatic("y")],
                stiffness=m1 * omega**2,
                damping=2.0 * part * omega * m1,
            )
            assembly.attach(moving, RigidBody(m1), sliding, to=name, at="slosh")
        return name, moving
