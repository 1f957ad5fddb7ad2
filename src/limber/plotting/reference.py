"""The reference of a plot: another result, or a desired motion of the joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.checks import Array, numbers, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.plotting.results import pictured
from limber.simulation.result import Result


@dataclass(frozen=True, eq=False)
class Reference:
    """Joint coordinates, and speeds where known, by body, at times t among those of the result.

    `rows` are the rows of the result at those times.
    """

    t: Array
    rows: np.ndarray
    joints: dict[str, Array]
    speeds: dict[str, Array]
    result: Result | None = None


def reference_of(result: Result, given: Any, bodies: list[str]) -> Reference:
    """The reference that a user gave: a Result, or a function of t."""
    if isinstance(given, Result):
        return _of_result(result, given, bodies)
    if callable(given):
        return _of_function(result, given, bodies)
    raise ArgumentTypeError(
        "reference must be another Result, or a function of t that gives joint coordinates (a trajectory); got "
        f"{shown(given)}."
    )


def _of_result(result: Result, other: Result, bodies: list[str]) -> Reference:
    other = pictured("reference", other, 1, "there is nothing to compare with")
    for body in bodies:
        size = result.joint(body).shape[1]
        if body not in other.system.layout or other.joint(body).shape[1] != size:
            raise ArgumentValueError(
                f"reference: its system {other.system.name!r} has no body {body!r} with {size} joint coordinates. "
                "Choose the bodies they share by bodies=[...]."
            )
    ends = other.t[0], other.t[-1]
    rows = np.flatnonzero((result.t >= ends[0]) & (result.t <= ends[1]))
    if rows.size == 0:
        raise ArgumentValueError("reference: the two results have no time in common.")
    t = result.t[rows]
    same = len(t) == len(other) and np.array_equal(t, other.t)
    at = other if same else other.resample(t)
    return Reference(
        t, rows, {b: at.joint(b) for b in bodies}, {b: at.joint_speed(b) for b in bodies}, at
    )


def _of_function(result: Result, function: Any, bodies: list[str]) -> Reference:
    given = [function(float(t)) for t in result.t]
    moves = all(isinstance(x, tuple) for x in given)
    position = _rows("reference(t)", [x[0] for x in given] if moves else given)
    s = result.system
    joints = _split(
        position, s.nq, {b: s.layout[b].q_joint for b in s.layout}, bodies, "coordinates"
    )
    speeds = {}
    if moves and all(len(x) > 1 for x in given):
        velocity = _rows("reference(t)[1]", [x[1] for x in given])
        slices = {b: s.layout[b].v_joint for b in s.layout}
        speeds = _split(velocity, s.nv, slices, bodies, "speeds")
    return Reference(result.t, np.arange(len(result)), joints, speeds)


def _rows(name: str, values: list) -> Array:
    rows = [np.atleast_1d(numbers(name, x, "(r,)")) for x in values]
    if len({x.shape for x in rows}) > 1 or (rows and rows[0].ndim > 1):
        raise ArgumentValueError(
            f"{name} must give the same number of values at every time, got shapes {sorted({x.shape for x in rows})}."
        )
    return np.array(rows)


def _split(values: Array, full: int, slices: dict[str, slice], bodies: list[str], what: str):
    """The columns of every body of `bodies`: out of all of q or v, of all joints, or of these joints."""
    columns = values.shape[1]
    if columns == full:
        return {b: values[:, slices[b]] for b in bodies}
    for names in (list(slices), bodies):
        sizes = [slices[b].stop - slices[b].start for b in names]
        if columns == sum(sizes):
            ends = np.cumsum([0, *sizes])
            parts = {b: values[:, i:j] for b, i, j in zip(names, ends, ends[1:])}
            return {b: parts[b] for b in bodies}
    joints = sum(x.stop - x.start for x in slices.values())
    raise ArgumentValueError(
        f"reference(t) gave {columns} joint {what}; expected {joints}, one for each of the joints in order, or {full} "
        "for the whole state."
    )
