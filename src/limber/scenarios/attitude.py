"""Attitude controllers in scenario files."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np

from limber.assembly import System
from limber.checks import Array
from limber.control import AttitudeController, EigenAxisSlew, Unloading
from limber.control.attitude import SecondOrder, hub_modes, low_pass, notches
from limber.control.attitude.rigid import free_hub, placed
from limber.control.controller import Controller
from limber.control.rotations import product, quaternion_of_vector
from limber.control.shaping import KINDS, Shaper
from limber.io.document import Where
from limber.io.fields import Axis, Name, Number, Vector, choice, whole
from limber.io.section import Section
from limber.scenarios.sensors import NotNegative, Positive

Count = Annotated[int, whole(1, 100)]


class SlewSection(Section):
    """A rotation by an angle (rad) about a hub axis, optionally shaped for modes of the floating system. See
    `limber.control.EigenAxisSlew`.
    """

    axis: Axis
    angle: Number
    duration: Positive
    begin: NotNegative = 0.0
    shaper: Annotated[str, choice(*KINDS)] | None = None
    modes: Count = 1

    def build(self, system: System, hub: str, start: Array, q0: Array) -> EigenAxisSlew:
        """The slew from the initial attitude, for modes in the initial configuration."""
        axis = np.asarray(self.axis, dtype=float)
        turn = quaternion_of_vector(self.angle * axis / math.sqrt(axis @ axis))
        slew = EigenAxisSlew(start, product(start, turn), self.duration, begin=self.begin)
        if self.shaper is None:
            return slew
        shaper: Shaper | None = None
        for omega, _ in hub_modes(system, hub, q0)[: self.modes]:
            one = KINDS[self.shaper](omega)
            shaper = one if shaper is None else shaper * one
        return slew if shaper is None else slew.shaped(shaper)


class NotchesSection(Section):
    """Notches at the modes that torques on the hub excite most. See `limber.control.notches`."""

    short: ClassVar[str] = "how many"
    count: Count
    width: Positive = 0.3
    depth: NotNegative = 0.05

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Accept a number, which is the number of notches."""
        return data if isinstance(data, dict) else {"count": data}


class UnloadingSection(Section):
    """When thrusters unload the wheels. See `limber.control.Unloading`."""

    above: Positive
    below: NotNegative
    time: Positive
    target: Vector | None = None


class AttitudeSection(Section):
    """Quaternion feedback of a floating hub, which holds its attitude or makes a slew. See
    `limber.control.AttitudeController`.
    """

    hub: Name
    bandwidth: Positive
    damping: NotNegative = 0.7
    integral_time: Positive | None = None
    sample_time: Positive
    slew: SlewSection | None = None
    notches: NotchesSection | None = None
    low_pass: Positive | None = None
    unloading: UnloadingSection | None = None

    def build(self, system: System, q0: Array, where: Where) -> tuple[Controller, dict]:
        """The controller; it follows no joint paths."""
        with where.checked():
            if self.hub not in system.layout:
                raise (where / "hub").error(
                    f"{self.hub!r} is not a body; there are: {', '.join(system.layout)}."
                )
            filters: list[SecondOrder] = []
            if self.notches is not None:
                filters += notches(system, self.hub, q=q0, **dict(self.notches))
            if self.low_pass is not None:
                filters.append(low_pass(self.low_pass))
            reference = None
            if self.slew is not None:
                if abs(self.slew.angle) > math.pi:
                    raise (where / "slew" / "angle").error(
                        f"is {self.slew.angle:g} rad, but a slew turns the shorter way, by pi at most."
                    )
                free_hub(system, self.hub, "slew")
                first = system.layout[self.hub].q_joint.start
                start = product(placed(system, self.hub), q0[first : first + 4])
                reference = self.slew.build(system, self.hub, start, q0)
            unloading = None
            if self.unloading is not None:
                given = {key: x for key, x in dict(self.unloading).items() if x is not None}
                unloading = Unloading(**given)
            made = AttitudeController(
                self.hub, self.bandwidth, damping=self.damping, integral_time=self.integral_time,
                sample_time=self.sample_time, reference=reference, filters=filters, unloading=unloading,
                q=q0,
            )  # fmt: skip
        return made, {}
