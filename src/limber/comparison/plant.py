"""The description of a plant and its controllers for a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from limber.assembly.system import System
from limber.checks import Array
from limber.control import Loop
from limber.simulation.result import Result
from limber.trajectories import Trajectory


@dataclass(frozen=True)
class Entry:
    """A controller of a comparison: a function from a plant to a loop, with optional settings.

    settings : the chosen settings.
    tried : {setting: values} among which they were chosen, see `tuning`.
    """

    make: Callable[..., Loop]
    settings: Mapping[str, Any] = field(default_factory=dict)
    tried: Mapping[str, tuple] = field(default_factory=dict)

    def __call__(self, plant: Plant, **settings: Any) -> Loop:
        """The loop with the chosen settings, or with others."""
        return self.make(plant, **{**self.settings, **settings})


class Catalogue:
    """Controllers by name, in the order of their definition.

    @CATALOGUE.entry("PD", bandwidth=(0.5, 1.0, 2.0))
    def pd(plant, bandwidth=1.0): ...
    """

    def __init__(self) -> None:
        self._made: dict[str, tuple[Callable[..., Loop], dict[str, tuple]]] = {}

    def entry(
        self, name: str, **tried: tuple
    ) -> Callable[[Callable[..., Loop]], Callable[..., Loop]]:
        """Register a function from a plant to a loop as a controller; `tried` has values of its settings."""

        def kept(make: Callable[..., Loop]) -> Callable[..., Loop]:
            self._made[name] = make, tried
            return make

        return kept

    def entries(self, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Entry]:
        """The controllers with settings by name; settings that are not given have the defaults of the function."""
        return {
            name: Entry(make, settings.get(name, {}), tried)
            for name, (make, tried) in self._made.items()
        }


@dataclass(frozen=True, eq=False)
class Plant:
    """A system, a motion to make, and the measures of its quality.

    name, title : for tables and pictures.
    system, q0 : the controlled system, and its initial configuration.
    changed : the same system with other stiffnesses and masses, which no controller knows.
    path : the commanded motion: joints of an arm; the fraction of the slew, from 0 to 1, of a spacecraft; the position
        of an object.
    duration : of a run, s.
    window : (from, until) s, in which the residual vibration is measured.
    error : the distance from the goal at each time of a result: m for a tip, rad for an attitude.
    error_unit, error_scale : of `error` in tables, and the conversion factor.
    tolerance : the error below which the motion counts as settled, in units of `error`.
    deflections : (n, k) m, of the observed parts at each time of a result; pictures show the first one.
    watched : the observed parts, in words.
    loop : makes the loop of a controller with the plant's sensors and actuators.
    entries : the controllers by name, each an `Entry` or another function from the plant to a loop.
    further : an additional column of the table: its head, and a function from a result to a number; None if there is
        none.
    """

    name: str
    title: str
    system: System
    q0: Array
    changed: System
    path: Trajectory
    duration: float
    window: tuple[float, float]
    error: Callable[[Result], Array]
    error_unit: str
    error_scale: float
    tolerance: float
    deflections: Callable[[Result], Array]
    watched: str
    loop: Callable[..., Loop]
    entries: Mapping[str, Callable[..., Loop]]
    further: tuple[str, Callable[[Result], float]] | None = None
