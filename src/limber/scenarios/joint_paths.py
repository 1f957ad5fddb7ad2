"""Joint paths in files; each starts at the initial position of its joint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from limber.assembly import System
from limber.checks import Array
from limber.errors import ModelWarning, warn
from limber.io.document import Where
from limber.io.fields import Flag, Number, number, numbers
from limber.io.section import Section
from limber.scenarios.states import check_body, refuse_twice
from limber.trajectories import (
    Cycloid,
    Hold,
    Quintic,
    Sequence,
    Together,
    Trajectory,
    Trapezoid,
    Waypoints,
)

Positive = Annotated[float, number(above=0.0)]


class CycloidSection(Section):
    """A cycloid, given by its distance or by its mean rate k; `printed` selects Eq. (44) as printed."""

    distance: Number | None = None
    rate: Number | None = None
    duration: Positive
    printed: Flag = False

    def build(self, start: float) -> Trajectory:
        """The path."""
        return Cycloid(self.distance, self.duration, start, rate=self.rate, printed=self.printed)


class QuinticSection(Section):
    """A quintic to `end`."""

    end: Number
    duration: Positive
    start_velocity: Number = 0.0
    end_velocity: Number = 0.0
    start_acceleration: Number = 0.0
    end_acceleration: Number = 0.0

    def build(self, start: float) -> Trajectory:
        """The path."""
        return Quintic(start, **dict(self))


class TrapezoidSection(Section):
    """A path to `end` with trapezoidal velocity."""

    end: Number
    max_velocity: Positive
    max_acceleration: Positive

    def build(self, start: float) -> Trajectory:
        """The path."""
        return Trapezoid(start, self.end, self.max_velocity, self.max_acceleration)


class WaypointsSection(Section):
    """A path from point to point that comes to rest at each of them."""

    points: Annotated[Any, numbers(("k",))]
    max_velocity: Positive
    max_acceleration: Positive
    pause: Annotated[float, number(minimum=0.0)] = 0.0

    def build(self, start: float) -> Trajectory:
        """The path."""
        points = [start, *self.points.tolist()]
        return Waypoints(points, self.max_velocity, self.max_acceleration, pause=self.pause)


class HoldSection(Section):
    """No motion."""

    duration: Annotated[float, number(minimum=0.0)] = 0.0

    def build(self, start: float) -> Trajectory:
        """The path."""
        return Hold(start, self.duration)


class PathSection(Section):
    """The path of one joint coordinate, under the key of its kind."""

    one_of: ClassVar[tuple[str, ...]] = (
        "cycloid",
        "quintic",
        "trapezoid",
        "waypoints",
        "hold",
        "sequence",
    )
    cycloid: CycloidSection | None = None
    quintic: QuinticSection | None = None
    trapezoid: TrapezoidSection | None = None
    waypoints: WaypointsSection | None = None
    hold: HoldSection | None = None
    sequence: list[PathSection] | None = None

    def build(self, start: float, where: Where) -> Trajectory:
        """The path from `start`."""
        if self.sequence is not None:
            parts: list[Trajectory] = []
            for i, section in enumerate(self.sequence):
                parts.append(section.build(start, where / "sequence" / i))
                start = float(parts[-1].end)
            with (where / "sequence").checked():
                return Sequence(parts)
        for kind in self.one_of:
            section = getattr(self, kind)
            if section is not None:
                with (where / kind).checked():
                    return section.build(start)
        raise where.error("the path is empty: give its numbers.")


class PathsSection(Section):
    """The paths of a joint: one path, or a list with one for each coordinate."""

    parts: list[PathSection]

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Accept one path or a list of them."""
        return {"parts": data if isinstance(data, list) else [data]}


def joint_paths(
    system: System, sections: Mapping[str, PathsSection], q0: Array, where: Where
) -> dict[str, Trajectory]:
    """The path of each named body's joint, from q0."""
    found: dict[str, Trajectory] = {}
    refuse_twice(system, sections, where)
    for name, section in sections.items():
        here = where / name
        check_body(system, name, here)
        with here.checked():
            body = system.body_of(name)
        joint, start = system.joints[name], q0[system.layout[name].q_joint]
        plain = joint.nq == joint.dofs and all(g.dofs == 1 for g in joint.groups)
        if not plain or len(section.parts) != joint.nq:
            need = (
                f"{joint.nq} paths"
                if plain
                else "a joint whose speeds are rates of its coordinates"
            )
            raise here.error(f"{joint!r} needs {need}, got {len(section.parts)} paths.")
        parts = [
            part.build(float(start[i]), here / i if len(section.parts) > 1 else here)
            for i, part in enumerate(section.parts)
        ]
        with here.checked():
            found[body] = Together(parts)
    return found


def warn_of_cuts(paths: Mapping[str, Trajectory], duration: float, where: Where) -> None:
    """Warn of paths that the end of the scenario cuts off."""
    for name, path in paths.items():
        if path.duration > duration * (1.0 + 1e-9):
            reached, end = path(duration).position.tolist(), path.end.tolist()
            text = (
                f"the path of {name!r} takes {path.duration:g} s, but the scenario ends after {duration:g} s: its last "
                f"{path.duration - duration:g} s are cut off, at {few(reached)} on the way to {few(end)}. Raise "
                "the duration, or shorten the path."
            )
            warn(str(where.error(text, name)), ModelWarning)


def few(values: list[float]) -> str:
    """Joint coordinates for a message."""
    return ", ".join(f"{x:.4g}" for x in values)
