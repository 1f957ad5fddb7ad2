"""Optimal control and model predictive control over generated derivatives."""

from limber.control.optimal.handover import acados, do_mpc_model, opti
from limber.control.optimal.nmpc import NMPC
from limber.control.optimal.problem import OptimalControl
from limber.control.optimal.solution import OptimalMotion
from limber.control.optimal.terms import (
    Effort,
    MinimumTime,
    NodeBounds,
    NodeTracking,
    Tracking,
    Vibration,
)

__all__ = [
    "NMPC",
    "Effort",
    "MinimumTime",
    "NodeBounds",
    "NodeTracking",
    "OptimalControl",
    "OptimalMotion",
    "Tracking",
    "Vibration",
    "acados",
    "do_mpc_model",
    "opti",
]
