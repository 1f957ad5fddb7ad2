"""Trajectories: joint motions over time, with velocities and accelerations."""

from limber.trajectories.base import Motion, Trajectory
from limber.trajectories.cycloid import Cycloid
from limber.trajectories.quintic import Quintic
from limber.trajectories.sequence import Hold, Sequence, Together
from limber.trajectories.trapezoid import Trapezoid
from limber.trajectories.waypoints import Waypoints

__all__ = [
    "Cycloid",
    "Hold",
    "Motion",
    "Quintic",
    "Sequence",
    "Together",
    "Trajectory",
    "Trapezoid",
    "Waypoints",
]
