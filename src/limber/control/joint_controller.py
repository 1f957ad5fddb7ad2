"""The common part of joint controllers: their joints, references, sensors and actuators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, number, numbers, shown
from limber.control.closed_joints import at_rest
from limber.control.controller import Controller, Measured
from limber.control.joints import JointPlaces, by_label, joint_places
from limber.control.reference import Reference, reference_of
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.simulation.table import joint_speeds


class JointController(Controller):
    """The base class of controllers that make joints follow a reference; `PID` describes the options."""

    def __init__(self, sample_time: float, bodies: Any, reference: Any, limit: ArrayLike | None):
        self.sample_time = number("sample_time", sample_time, above=0.0)
        self.bodies, self.reference = bodies, reference
        self.limit = None if limit is None else numbers("limit", limit, "() or (joints,)")
        if self.limit is not None and not (self.limit > 0.0).all():
            raise ArgumentValueError(f"limit must be greater than 0, got {shown(limit)}.")
        self._places: JointPlaces | None = None
        self._guess: Array | None = None  # where joints are that no sensor reads

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.sample_time:g} s)"

    def prepare(self, loop: Any) -> None:
        """Find the joints in the system, their sensors and their actuators."""
        s: System = loop.system
        self._system = s
        places = self._places = joint_places(s, self.bodies, type(self).__name__)
        reference = self.reference
        if isinstance(reference, Mapping):
            reference = by_label(s, reference, "reference")
        self._reference: Reference | None = reference_of(reference, places)
        self._limit = np.full(len(places), math.inf)
        if self.limit is not None:
            self._limit = one_each("limit", self.limit, places)
        self._measures_speeds = self._find_sensors(loop, places)
        self._width, self._out = s.nv, places.v
        if loop.actuators:
            self._width, self._out = len(loop.channels), driven_channels(self, loop, places.labels)
            self._limit = np.minimum(self._limit, loop.limits[self._out])
        self._limited = bool(np.isfinite(self._limit).any())

    def _find_sensors(self, loop: Any, places: JointPlaces) -> bool:
        """Find the required sensors, and whether they measure the speeds of all joints."""
        #: Sensors with the places in q and in v that they read.
        self._read_by = [
            (x, _places(r.q), _places(r.v)) for x, r in zip(loop.sensors, loop.readers)
        ]
        if not loop.sensors:
            self.uses: tuple[str, ...] = ()
            return True
        positions: set[int] = set()
        speeds: set[int] = set()
        uses: list[str] = []
        for sensor, reader in zip(loop.sensors, loop.readers):
            for found, wanted, read in (
                (positions, places.q, reader.q),
                (speeds, places.v, reader.v),
            ):
                common = set() if read is None else {int(i) for i in read} & set(wanted.tolist())
                if common:
                    found.update(common)
                    uses.append(sensor.name)
        missing = [
            label for label, i in zip(places.labels, places.q.tolist()) if i not in positions
        ]
        if missing:
            raise ArgumentValueError(
                f"{type(self).__name__}: no sensor reads the position of {', '.join(map(repr, missing))}. Add an Encoder, or name the "
                "joints to be controlled: bodies=[...]."
            )
        self.uses = tuple(dict.fromkeys(uses))
        return speeds == set(places.v.tolist())

    def start(self, t: float, measured: Measured) -> None:
        """Reset the controller, at rest at the current joint positions."""
        places = self._prepared
        self._held = np.array(measured.q[places.q])
        if self.observer is not None:
            known = np.isfinite(measured.q)
            guess = self._system.neutral() if self._guess is None else self._guess
            point = np.where(known, measured.q, guess)
            point[places.q] = self._wanted(t)[0]
            self._observe_about(at_rest(self._system, point, places.v))
            self.observer.start(t, measured)

    def _wanted(self, t: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration of the reference; joints without one hold their initial position."""
        if self._reference is None:
            rest = np.zeros(len(self._held))
            return self._held, rest, rest
        return self._reference(t, self._held)

    def _placed(self, torque: Array) -> Array:
        """The command that has these torques of the joints."""
        command = np.zeros(self._width)
        command[self._out] = torque
        return command

    @property
    def torque_places(self) -> np.ndarray:
        """The places in v of the torques that the controller commands."""
        return self._prepared.v

    @property
    def _prepared(self) -> JointPlaces:
        if self._places is None:
            raise ArgumentTypeError(
                f"{type(self).__name__} is not in a loop yet: pass it to lb.control.Loop or lb.simulate."
            )
        return self._places


def _places(read: Any) -> frozenset[int]:
    """Places that a sensor reads, as a set."""
    return frozenset() if read is None else frozenset(int(i) for i in read)


def driven_channels(controller: Any, loop: Any, labels: tuple[str, ...]) -> np.ndarray:
    """The numbers of the actuator channels that drive the named joint speeds.

    labels : of the joint speeds (`JointPlaces`); actuators may have other names than the joints that they drive.
    """
    joints = joint_places(loop.system, None, type(controller).__name__)
    place = dict(zip(joints.labels, joints.v.tolist()))
    missing = [label for label in labels if place.get(label, -1) not in loop.driven]
    if missing:
        raise ArgumentValueError(
            f"{type(controller).__name__}: no actuator drives {', '.join(map(repr, missing))}; the channels of the actuators are "
            f"{', '.join(map(repr, loop.channels))}. Name the joints to be controlled: bodies=[...]."
        )
    return np.array([loop.driven.index(place[label]) for label in labels], dtype=int)


def one_each(name: str, given: Array, places: JointPlaces) -> Array:
    """One number for each joint."""
    if given.ndim > 1 or given.size not in (1, len(places)):
        raise ArgumentValueError(
            f"{name} must be one number, or {len(places)} of them, one for each of {', '.join(places.labels)}; got "
            f"{shown(given.tolist())}."
        )
    return np.broadcast_to(given, (len(places),)).astype(float)


def places_of_torques(loop: Any) -> np.ndarray:
    """The places in v of the torques: those of actuators, or of the controller if it says, or those of all joints."""
    if loop.actuators:
        return np.array(sorted({i for i in loop.driven if i is not None}), dtype=int)
    places = getattr(loop.controller.controller, "torque_places", None)
    return np.array(joint_speeds(loop.system)) if places is None else places
