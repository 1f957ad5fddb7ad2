"""The environment of a system in orbit, for `lb.simulate(..., environment=...)`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number, rotation, shown
from limber.dynamics.evaluate import check_system
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn
from limber.joints import Free
from limber.orbit.air import Drag, listed_as
from limber.orbit.burns import Burn, check_tanks
from limber.orbit.field import Field, refuse_held
from limber.orbit.orbits import Orbit
from limber.orbit.reference import reference
from limber.orbit.track import Motion, Track, centre_of_mass, node_motion

GRAVITIES = ("point", "j2")
#: The largest polar flattening of a planet; that of the Earth is 0.3 %, that of Saturn 10 %.
FLAT = 0.1


class OrbitalFrame(NamedTuple):
    """The orbital frame of the reference orbit, at one time or at n times.

    Its x axis points away from the planet, its z axis along the angular momentum, and y completes them; in a circular
    orbit y points along the velocity.

    R : (3, 3) or (n, 3, 3), its axes in inertial ones; it transforms orbital components into world components.
    position, velocity : of its origin from the centre of the planet, inertial axes.
    angular_velocity : of the frame, in its own axes.
    """

    R: Array
    position: Array
    velocity: Array
    angular_velocity: Array


@dataclass(frozen=True)
class Environment:
    """The environment of a free-flying system in orbit.

    The world frame of a simulation in this environment has the inertial axes of the orbit, with z along the axis of the
    planet.  Its origin falls along the reference orbit under the same gravity.  So q and v of a Free base are its
    position, attitude and speeds in a frame that moves with the orbit without rotating: positions are metres, not
    thousands of kilometres.  A system may be at any distance from the reference: no term is linearized in that
    distance.

    Parameters
    ----------
    orbit : the reference orbit, `lb.orbit.circular(...)`, `elements(...)` or `state(...)`.
    gravity : "point" for that of a point mass, "j2" to include the second zonal harmonic.
    drag : `lb.orbit.Drag(faces)`, or None.
    burns : one or several `lb.orbit.Burn(...)`.
    """

    orbit: Orbit
    gravity: str = "point"
    drag: Drag | None = None
    burns: Sequence[Burn] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.orbit, Orbit):
            raise ArgumentTypeError(
                "orbit must be an orbit, such as lb.orbit.circular(altitude=400e3) gives, got "
                f"{shown(self.orbit)}."
            )
        if not isinstance(self.gravity, str) or self.gravity not in GRAVITIES:
            raise ArgumentValueError(f'gravity={shown(self.gravity)} must be "point" or "j2".')
        if self.drag is not None and not isinstance(self.drag, Drag):
            raise ArgumentTypeError(
                f"drag must be lb.orbit.Drag(...) or None, got {shown(self.drag)}."
            )
        object.__setattr__(self, "burns", listed_as(Burn, "burns", self.burns))

    def __str__(self) -> str:
        altitude = np.linalg.norm(self.orbit.position) - self.orbit.planet.radius
        parts = [f"orbit from {altitude / 1e3:.6g} km", f"gravity {self.gravity}"]
        counts = {"face": 0 if self.drag is None else len(self.drag.faces), "burn": len(self.burns)}
        parts += [f"{n} {what}{'s' * (n > 1)}" for what, n in counts.items() if n]
        return ", ".join(parts)

    def bind(self, system: System, start: float, end: float) -> Field:
        """Return the forces on a system between two times, for compiled code."""
        self.check(system)
        field = Field(system, self.orbit, self.gravity, self.drag, self.burns, start, end)
        if field.lowest < -FLAT * self.orbit.planet.radius:
            warn(
                f"environment: between t = {start:g} and {end:g} s the reference orbit is {-field.lowest / 1e3:.4g} km below the surface of "
                "the planet, where the models of its gravity and air are not valid. Lengths of orbits are in metres, "
                "from the centre of the planet; "
                "altitudes are above its equatorial radius.",
                ModelWarning,
            )
        return field

    def forces(self, system: System, t: float, q: ArrayLike, v: ArrayLike) -> Array:
        """Return the generalized forces (nv,) of the environment on a system at one time and state."""
        check_system(system)
        t = number("t", t)
        q, v = array("q", q, (system.nq,)), array("v", v, (system.nv,))
        return self.bind(system, t, t + 1.0).at(t, q, v)

    def check(self, system: System) -> None:
        """Reject a system that is held by the world or has gravity of its own, and tanks that are inconsistent with the burns."""
        check_system(system)
        check_tanks(system, self.burns)
        if np.any(system.gravity):
            raise ArgumentValueError(
                f"environment: {system.name!r} has gravity {system.gravity.tolist()} of its own, but in orbit gravity "
                "comes from the planet: build the system with gravity=(0, 0, 0)."
            )
        for name, item in system.attachments.items():
            if item.to == "world" and not isinstance(item.joint, Free):
                raise ArgumentValueError(
                    f"environment: body {name!r} is attached to the world by {item.joint!r}; the world falls around the "
                    "planet, and a body that flies there must be attached to it by lb.Free()."
                )
        refuse_held(system)

    def frame(self, t: ArrayLike) -> OrbitalFrame:
        """Return the orbital frame of the reference orbit at a time, or at times (n,)."""
        times = np.atleast_1d(array("t", t, () if np.ndim(t) == 0 else ("n",)))
        r, v, a = reference(self.orbit, self.gravity).at(times)
        far = np.linalg.norm(r, axis=1, keepdims=True)
        h = np.cross(r, v)
        size = np.linalg.norm(h, axis=1, keepdims=True)
        x, z = r / far, h / size
        R = np.stack([x, np.cross(z, x), z], axis=2)
        # A force out of the plane rotates the plane about x.
        turn = (
            far * np.sum(a * z, axis=1, keepdims=True) / size,
            np.zeros((len(r), 1)),
            size / far**2,
        )
        found = OrbitalFrame(R, r, v, np.hstack(turn))
        return found if np.ndim(t) else OrbitalFrame(*(part[0] for part in found))

    def start(
        self,
        system: System,
        body: str | None = None,
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        velocity: ArrayLike = (0.0, 0.0, 0.0),
        attitude: ArrayLike | None = None,
        rate: ArrayLike = (0.0, 0.0, 0.0),
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        t: float = 0.0,
    ) -> tuple[Array, Array]:
        """Return the state q, v of a system whose base has a given position and motion in the orbital frame.

        Parameters
        ----------
        body : the base, attached to the world by a Free joint; None if there is only one.
        position, velocity : position of its joint frame in the orbital frame (`OrbitalFrame`), and its rate there, m
            and m/s.  This places the frame, not the centre of mass.
        attitude : (3, 3), the columns are the axes of that frame in orbital axes.  None: parallel to them.
        rate : angular velocity relative to the orbital frame, in orbital axes, rad/s.
        q, v : the other coordinates and speeds; by default the neutral configuration at rest.
        t : the time.
        """
        from scipy.spatial.transform import Rotation  # noqa: PLC0415

        self.check(system)
        bases = [name for name, item in system.attachments.items() if item.to == "world"]
        if body is None and len(bases) > 1:
            raise ArgumentValueError(
                f"body: {system.name!r} has several bases, {', '.join(bases)}: name one."
            )
        name = bases[0] if body is None else body
        if name not in bases:
            raise ArgumentValueError(
                f"body={shown(body)} is not attached to the world; the bodies that are: {', '.join(map(repr, bases))}."
            )
        q = system.neutral() if q is None else np.array(array("q", q, (system.nq,)))
        v = np.zeros(system.nv) if v is None else np.array(array("v", v, (system.nv,)))
        place, speed = array("position", position, (3,)), array("velocity", velocity, (3,))
        turned = np.eye(3) if attitude is None else rotation("attitude", attitude)
        turning = array("rate", rate, (3,))
        frame = self.frame(number("t", t))
        item, where = system.attachments[name], system.layout[name]
        R = frame.R @ turned
        p = frame.R @ place
        p_rate = frame.R @ (speed + np.cross(frame.angular_velocity, place))
        w = frame.R @ (turning + frame.angular_velocity)
        x, y, z, s = Rotation.from_matrix(item.rotation.T @ R).as_quat()
        q[where.q_joint] = [s, x, y, z, *(item.rotation.T @ (p - item.offset))]
        v[where.v_joint] = [*(R.T @ w), *(R.T @ p_rate)]
        return q, v

    def track(
        self, result: Motion, body: str | None = None, node: str | int | None = None
    ) -> Track:
        """Return the motion of the centre of mass, or of a node of a body, about the planet.

        result : a `Result` in this environment.
        """
        if not hasattr(result, "parts"):
            raise ArgumentTypeError(
                f"result must be one Result of lb.simulate, got {shown(result)}. Those of a batch are in its `results`."
            )
        if body is None and node is not None:
            raise ArgumentTypeError(
                f"node={shown(node)} is given without a body: name the body as well, or leave both out for the centre of "
                "mass."
            )
        place, speed = centre_of_mass(result) if body is None else node_motion(result, body, node)
        frame = self.frame(result.t)
        relative = np.einsum("nji,nj->ni", frame.R, place)
        return Track(
            result.t, frame.position + place, frame.velocity + speed, relative, self.orbit.planet
        )
