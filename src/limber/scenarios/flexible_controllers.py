"""Controllers of flexible arms in scenario files; each has its section here, and its key in `ControllerSection`."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from limber.assembly import System
from limber.checks import Array
from limber.control import (
    LQR,
    ActiveDamping,
    CarriedObject,
    ComputedTorque,
    Kalman,
    SingularPerturbation,
    StableInversion,
    stable_inversion,
)
from limber.control.controller import Controller
from limber.control.inversion.outputs import checked_outputs
from limber.control.joints import deformed
from limber.dynamics import pose
from limber.io.document import Where
from limber.io.fields import Axis, Flag, Name, Number, choice, whole
from limber.io.section import Section
from limber.scenarios.floating import floats
from limber.scenarios.joint_paths import PathSection
from limber.scenarios.references import Paths, ReferenceSection, reference_of
from limber.scenarios.sensors import NotNegative, OneEach, Positive
from limber.scenarios.states import StateSection, check_quaternions
from limber.simulation import simulate
from limber.trajectories import Together, Trajectory


class KalmanSection(Section):
    """An observer that uses the sensors of the loop. See `limber.control.Kalman`."""

    disturbance: OneEach
    initial: OneEach = 1e-2
    noise: dict[str, OneEach] | None = None
    bias: dict[str, OneEach] | None = None
    load: dict[str, OneEach] | None = None
    sensors: list[Name] | None = None
    extended: Flag = False

    def build(self, system: System, q0: Array) -> Kalman:
        """The observer, which starts at the initial state of the scenario; a linear one about its equilibrium."""
        q = q0 if self.extended else _resting(system, q0)
        return Kalman(**dict(self), q=q)


def _resting(system: System, q0: Array) -> Array:
    """The initial configuration, of an open system with its modes in equilibrium."""
    return q0 if system.closures else deformed(system, q0)


class FollowingSection(Section):
    """The common keys of joint controllers that follow references and may have an observer."""

    kp: OneEach
    kd: OneEach
    sample_time: Positive
    bodies: list[Name] | None = None
    reference: dict[Name, ReferenceSection] | None = None
    limit: OneEach | None = None
    kalman: KalmanSection | None = None

    def build(self, system: System, q0: Array, where: Where) -> tuple[Controller, Paths]:
        """The controller, and the paths that it follows."""
        reference, paths = reference_of(system, self.reference or {}, q0, where / "reference")
        given = {key: getattr(self, key) for key in type(self).model_fields if key != "kalman"}
        given["reference"] = reference or None
        if self.kalman is not None:
            given["observer"] = self.kalman.build(system, q0)
        with where.checked():
            return self._made(q0, **given), paths

    def _made(self, q0: Array, **options: Any) -> Controller:
        raise NotImplementedError


class ComputedTorqueSection(FollowingSection):
    """Computed torque with the rigid or the flexible model. See `limber.control.ComputedTorque`."""

    model: Annotated[str, choice("rigid", "flexible")] = "rigid"

    def _made(self, q0: Array, **options: Any) -> Controller:
        return ComputedTorque(near=q0, **options)


class SingularPerturbationSection(FollowingSection):
    """Rigid computed torque with fast damping. See `limber.control.SingularPerturbation`."""

    damping: NotNegative = 0.3

    def _made(self, q0: Array, **options: Any) -> Controller:
        return SingularPerturbation(**options)


class ActiveDampingSection(FollowingSection):
    """PD control with damping of vibrations, designed about the initial state. See `limber.control.ActiveDamping`."""

    damping: Positive = 0.2
    modes: Annotated[int, whole(1, 1000)] = 1
    law: Annotated[str, choice("modal", "ppf")] = "modal"
    filter_time: NotNegative = 0.0
    gravity: Flag = False

    def _made(self, q0: Array, **options: Any) -> Controller:
        return ActiveDamping(about=q0, **options)


class LQRSection(Section):
    """State feedback about a configuration, with bodies bent by their weight, or along joint paths. See
    `limber.control.LQR`. The configuration is that of the initial positions of the joints, with the entries of `about`.

    With a reference, the nominal motion is the one in which the joints follow their paths exactly; joints with a
    quaternion, such as that of a floating base, need no path and move freely then.
    """

    Q: OneEach
    R: OneEach
    sample_time: Positive
    bodies: list[Name] | None = None
    free: list[Name] | None = None
    about: StateSection | None = None
    reference: dict[Name, ReferenceSection] | None = None
    points: Annotated[int, whole(2, 10_000)] = 11
    delay: NotNegative | None = None
    kalman: KalmanSection | None = None

    def build(self, system: System, q0: Array, where: Where) -> tuple[Controller, Paths]:
        """The controller, and the paths that it follows."""
        _, paths = reference_of(system, self.reference or {}, q0, where / "reference")
        for name, section in (self.reference or {}).items():
            if section.path is None:
                raise (where / "reference" / name).error(
                    "must be a path. To hold a joint where it starts, leave it out."
                )
        if self.about is not None and paths:
            raise where.error("has both a reference and about: give one of them.", "about")
        start = q0
        if self.about is not None:
            start = self.about.fill(system, "q", q0, where / "about")
            check_quaternions(system, start, where / "about")
        about: Any
        with where.checked():
            if paths:
                held = [
                    n
                    for n, j in system.joints.items()
                    if j.dofs and n not in paths and not floats(j)
                ]
                if held:
                    raise (where / "reference").error(
                        f"has no path of {', '.join(map(repr, held))}: give one for each joint, such as {{hold: {{}}}}."
                    )
                longest = max(path.duration for path in paths.values())
                about = simulate(system, longest, q0=q0, motion=dict(paths), every=self.sample_time)
            else:
                about = _resting(system, start)
            observer = None
            if self.kalman is not None:
                observer = self.kalman.build(system, q0 if self.kalman.extended else start)
            made = LQR(
                self.Q, self.R, sample_time=self.sample_time, about=about, bodies=self.bodies,
                free=self.free, points=self.points, delay=self.delay, observer=observer,
            )  # fmt: skip
        return made, paths


class StableInversionSection(Section):
    """Outputs of an arm follow paths exactly, by feedforward. See `limber.control.stable_inversion`.

    Each path begins at the initial value of its output.
    """

    outputs: list[list[Any]]
    path: list[PathSection]
    kp: OneEach = 0.0
    kd: OneEach = 0.0
    sample_time: Positive
    bodies: list[Name] | None = None
    before: NotNegative | None = None
    after: NotNegative | None = None
    limit: OneEach | None = None

    def build(self, system: System, q0: Array, where: Where) -> tuple[Controller, Paths]:
        """The controller; its paths are not joint paths."""
        with (where / "outputs").checked():
            outputs = checked_outputs(system, self.outputs)
        if len(outputs) != len(self.path):
            raise (where / "path").error(
                f"needs {len(outputs)} paths, one for each output; got {len(self.path)}."
            )
        start = outputs.motion(q0[None], np.zeros((1, system.nv))).value[0]
        path = _together(self.path, start, where / "path")
        with where.checked():
            inversion = stable_inversion(
                system, path, self.outputs, bodies=self.bodies, q=q0, before=self.before, after=self.after
            )  # fmt: skip
            made = StableInversion(
                inversion, self.kp, self.kd, sample_time=self.sample_time, limit=self.limit
            )
        return made, {}


class SqueezeSection(Section):
    """A force in N with which two closures press the object towards each other, or a path of the force that starts from
    zero.
    """

    one_of: ClassVar[tuple[str, ...]] = ("force", "path")
    between: list[Name]
    force: Number | None = None
    path: PathSection | None = None


class CarriedObjectSection(Section):
    """Rigid arms that carry an object and squeeze it. See `limber.control.CarriedObject`."""

    kp: OneEach
    kd: OneEach
    sample_time: Positive
    object: Name = "object"
    place: list[PathSection] | None = None
    turn: PathSection | None = None
    axis: Axis = (0.0, 0.0, 1.0)
    squeeze: list[SqueezeSection] = []
    ki: NotNegative = 2.0
    joint_damping: NotNegative = 0.0
    forces: dict[Name, Name] = {}

    def build(self, system: System, q0: Array, where: Where) -> tuple[Controller, Paths]:
        """The controller; its paths are not joint paths."""
        place = turn = None
        if self.place is not None:
            if len(self.place) != 3:
                raise (where / "place").error(
                    f"needs three paths, x, y and z; got {len(self.place)}."
                )
            bodies = [
                b for b in system.bodies if b == self.object or b.startswith(f"{self.object}/")
            ]
            if not bodies:
                raise (where / "object").error(
                    f"{self.object!r} is neither a body nor an object with bodies such as {self.object}/box."
                )
            place = _together(self.place, pose(system, q0, bodies[0])[1], where / "place")
        if self.turn is not None:
            turn = self.turn.build(0.0, where / "turn")
        squeeze: dict[Any, Any] = {}
        for i, one in enumerate(self.squeeze):
            here = where / "squeeze" / i
            if len(one.between) != 2:
                raise (here / "between").error("must be the names of two closures.")
            path = None if one.path is None else one.path.build(0.0, here / "path")
            squeeze[tuple(one.between)] = one.force if path is None else path
        with where.checked():
            made = CarriedObject(
                self.kp, self.kd, sample_time=self.sample_time, obj=self.object, place=place, turn=turn,
                axis=self.axis, squeeze=squeeze or None, ki=self.ki, joint_damping=self.joint_damping,
                forces=self.forces, q=q0,
            )  # fmt: skip
        return made, {}


def _together(sections: list[PathSection], start: Array, where: Where) -> Trajectory:
    """Paths side by side, each from its start."""
    parts = [x.build(float(start[i]), where / i) for i, x in enumerate(sections)]
    with where.checked():
        return Together(parts)
