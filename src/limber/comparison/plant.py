"""What a comparison needs to know of a plant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from limber.assembly.system import System
from limber.checks import Array
from limber.control import Loop
from limber.simulation.result import Result
from limber.trajectories import Trajectory

#: A function from a plant to a control loop for it.
Entry = Callable[["Plant"], Loop]


@dataclass(frozen=True, eq=False)
class Plant:
    """A system, a motion to be made, and what is measured of it.

    name, title : for tables and pictures.
    system, q0 : what is controlled, and where it starts.
    path : the motion that is asked for: joints of an arm; a part of the turn, from 0 to 1, of a spacecraft.
    duration : how long a run is, s.
    window : (from, until) s, in which the residual vibration is measured.
    error : how far the end is from its goal at each time of a result: m of a tip, rad of an attitude.
    error_unit, error_scale : of `error` in tables, and the factor into it.
    tolerance : the error below which it must stay to count as settled, in units of `error`.
    deflections : (n, k) m, of the parts that are watched at each time of a result; pictures show the first one.
    watched : what that is, in words.
    loop : the loop of a controller with the plant's sensors and actuators.
    entries : the controllers by name.
    """

    name: str
    title: str
    system: System
    q0: Array
    path: Trajectory
    duration: float
    window: tuple[float, float]
    error: Callable[[Result], Array]
    error_unit: str
    error_scale: float
    tolerance: float
    deflections: Callable[[Result], Array]
    watched: str
    loop: Callable[[Any], Loop]
    entries: Mapping[str, Entry]


def entry(entries: dict[str, Entry], name: str) -> Callable[[Entry], Entry]:
    """Put a function from a plant to a loop among the entries of the plant, under a name."""

    def kept(make: Entry) -> Entry:
        entries[name] = make
        return make

    return kept
