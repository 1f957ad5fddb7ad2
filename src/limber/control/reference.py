"""References for joints: trajectories, functions, or positions to hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.checks import Array, finite_numbers, shown
from limber.control.joints import JointPlaces
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.trajectories import Trajectory

#: (t, positions to hold) -> (position, velocity, acceleration), each (joints,)
Reference = Callable[[float, Array], tuple[Array, Array, Array]]


def reference_of(given: Any, places: JointPlaces) -> Reference | None:
    """The motion that the joints should follow.

    given : None to hold the initial position; one number for each joint; a `Trajectory` over simulation time; a
        function t -> position, (position, velocity) or (position, velocity, acceleration); or {joint: any of these},
        where joints that are not named hold their initial position.
    """
    n = len(places)
    if given is None:
        return None
    if isinstance(given, Mapping):
        return _by_name(given, places)
    if isinstance(given, Trajectory):
        size = int(np.prod(given.shape, dtype=int))
        if size != n:
            raise ArgumentValueError(
                f"reference: the trajectory moves {size} joints, but the controller has {n}: {', '.join(places.labels)}."
            )
        return _Followed(given, n)
    if callable(given):
        return _Called(given, n)
    values = finite_numbers("reference", given, f"({n},)")
    if values.shape not in ((), (n,)):
        raise ArgumentValueError(
            f"reference must be one number, or {n} of them, one for each of {', '.join(places.labels)}; got {shown(given)}."
        )
    return _Held(np.full(n, values) if values.ndim == 0 else values, np.zeros(n))


# References are objects, not functions within functions, so that loops can be sent to other processes.


@dataclass(frozen=True)
class _Held:
    """Positions to hold."""

    position: Array
    rest: Array

    def __call__(self, t: float, start: Array) -> tuple[Array, Array, Array]:
        return self.position, self.rest, self.rest


@dataclass(frozen=True)
class _Followed:
    """A trajectory of n joints."""

    trajectory: Trajectory
    n: int

    def __call__(self, t: float, start: Array) -> tuple[Array, Array, Array]:
        return tuple(np.reshape(x, (self.n,)) for x in self.trajectory(float(t)))  # type: ignore[return-value]


@dataclass(frozen=True)
class _Called:
    """A function of time, of n joints."""

    function: Callable[[float], Any]
    n: int

    def __call__(self, t: float, start: Array) -> tuple[Array, Array, Array]:
        return _checked(self.function(t), t, self.n)


@dataclass(frozen=True)
class _Named:
    """References of some of n joints, by number; the others hold their initial position."""

    parts: tuple[tuple[int, Reference], ...]
    n: int

    def __call__(self, t: float, start: Array) -> tuple[Array, Array, Array]:
        rows = np.zeros((3, self.n))
        rows[0] = start
        for i, part in self.parts:
            for row, value in zip(rows, part(t, start[i : i + 1])):
                row[i] = value[0]
        return rows[0], rows[1], rows[2]


def _checked(given: Any, t: float, n: int) -> tuple[Array, Array, Array]:
    """The return value of a reference function, with zero rates if it has none."""
    parts = given if isinstance(given, tuple) else (given,)
    rows = np.zeros((3, n))
    try:
        for row, part in zip(rows, parts, strict=False):
            row[:] = part
        fits = 1 <= len(parts) <= 3
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ArgumentTypeError(
            f"reference(t) must return the position of {n} joints, (position, velocity) or (position, velocity, acceleration); "
            f"at t = {t:.6g} s it returned {shown(given)}."
        )
    return rows[0], rows[1], rows[2]


def _by_name(given: Mapping[str, Any], places: JointPlaces) -> Reference:
    """The reference of joints by name; joints that are not named hold their initial position."""
    for name in given:
        if name not in places.labels:
            raise ArgumentValueError(
                f"reference: {shown(name)} is not a joint of the controller; its joints are: {', '.join(places.labels)}."
            )
    parts = []
    for i, label in enumerate(places.labels):
        if label in given:
            one = JointPlaces((label,), places.q[i : i + 1], places.v[i : i + 1])
            made = reference_of(given[label], one)
            if made is not None:
                parts.append((i, made))
    return _Named(tuple(parts), len(places))
