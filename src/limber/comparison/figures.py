"""The figures by which controllers are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.checks import Array
from limber.comparison.plant import Plant
from limber.simulation.result import Result


@dataclass(frozen=True)
class Figures:
    """What one run showed.

    settling : s from the start of the motion until the error stays within the tolerance; nan if it does not in the run.
    residual : m, the largest peak-to-peak deflection in the window of the plant; nan for a run that ends before it.
    final_error : the largest error in the window, as `Plant.error`.
    peak_torque : N m, the largest command to any joint or wheel.
    energy : J, the integral of |torque times speed| over all joints or wheels.
    computing : s, the median processor time of one command, in Python with compiled dynamics, as `lb.simulate` runs it.
    sample_time : s.
    """

    settling: float
    residual: float
    final_error: float
    peak_torque: float
    energy: float
    computing: float
    sample_time: float


def figures(plant: Plant, result: Result, computing: float, sample_time: float) -> Figures:
    """The figures of a run."""
    t = result.t
    error = plant.error(result)
    first, last = plant.window
    inside = (t >= first) & (t <= last)
    residual = final = float("nan")
    if inside.any():
        residual = float(np.ptp(plant.deflections(result)[inside], axis=0).max())
        final = float(error[inside].max())
    torque, energy = _effort(plant, result)
    return Figures(
        _settling(t, error, plant.tolerance), residual, final, torque, energy, computing, sample_time
    )  # fmt: skip


def _settling(t: Array, error: Array, tolerance: float) -> float:
    """The time from which on the error is within the tolerance."""
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
