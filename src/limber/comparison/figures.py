"""The figures by which controllers are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from limber.checks import Array
from limber.comparison.plant import Plant
from limber.simulation.result import Result


@dataclass(frozen=True)
class Figures:
    """The figures of one run.

    settling : s from the start of the motion until the error stays within the tolerance; nan if it does not within the
        run.
    residual : m, the largest peak-to-peak deflection in the window of the plant; nan for a run that ends before it.
    final_error : the largest error in the window, as `Plant.error`.
    peak_torque : N m, the largest command to any joint or wheel.
    energy : J, the integral of |torque times speed| over all joints or wheels.
    computing : s, the median processor time of one command, in Python with compiled dynamics, as `lb.simulate` runs it.
    sample_time : s.
    changed_settling, changed_error : as `settling` and `final_error`, on the changed plant.
    further, changed_further : the additional measure of the plant, and that of the changed plant; nan if there is none.
    """

    settling: float
    residual: float
    final_error: float
    peak_torque: float
    energy: float
    computing: float
    sample_time: float
    changed_settling: float = math.nan
    changed_error: float = math.nan
    further: float = math.nan
    changed_further: float = math.nan


def figures(
    plant: Plant, result: Result, changed: Result | None, computing: float, sample_time: float
) -> Figures:
    """The figures of a run, and of one on the changed plant if there was one."""
    residual = math.nan
    inside = _inside(plant, result)
    if inside.any():
        residual = float(np.ptp(plant.deflections(result)[inside], axis=0).max())
    torque, energy = _effort(plant, result)
    settling, final = _arrival(plant, result)
    other = (math.nan, math.nan) if changed is None else _arrival(plant, changed)
    further = [
        math.nan if plant.further is None or x is None else plant.further[1](x)
        for x in (result, changed)
    ]
    return Figures(
        settling, residual, final, torque, energy, computing, sample_time, *other, *further
    )


def _inside(plant: Plant, result: Result) -> np.ndarray:
    """Which rows are in the window."""
    first, last = plant.window
    return (result.t >= first) & (result.t <= last)


def _arrival(plant: Plant, result: Result) -> tuple[float, float]:
    """The settling time and the largest error in the window."""
    error, inside = plant.error(result), _inside(plant, result)
    final = float(error[inside].max()) if inside.any() else math.nan
    return _settling(result.t, error, plant.tolerance), final


def _settling(t: Array, error: Array, tolerance: float) -> float:
    """The time after which the error stays within the tolerance."""
    outside = np.flatnonzero(~(error <= tolerance))
    if not len(outside):
        return float(t[0])
    return float(t[outside[-1] + 1]) if outside[-1] + 1 < len(t) else float("nan")


def _effort(plant: Plant, result: Result) -> tuple[float, float]:
    """The largest command, and the energy that all of them moved."""
    command = result.signals["command"]
    # a command without actuators has a number for each speed, one with them for each joint or wheel
    if command.y.shape[1] == plant.system.nv:
        places = np.arange(plant.system.nv)
    else:
        places = np.array([plant.system.layout[name].v_joint.start for name in command.labels])
    speeds = np.column_stack([np.interp(command.t, result.t, result.v[:, i]) for i in places])
    power = np.abs(command.y * speeds).sum(axis=1)
    return float(np.abs(command.y).max()), float(np.trapezoid(power, command.t))
