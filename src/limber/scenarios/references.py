"""References of joints in scenario files: positions and paths."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from limber.assembly import System
from limber.checks import Array
from limber.io.document import Where
from limber.io.fields import numbers
from limber.io.section import Section
from limber.scenarios.joint_paths import PathSection, PathsSection, joint_paths
from limber.scenarios.states import check_body
from limber.trajectories import Hold, Trajectory

Paths = dict[str, Trajectory]


class ReferenceSection(Section):
    """The reference of a joint: a position, or a path from its initial position; lists for joints with several
    coordinates.
    """

    short: ClassVar[str] = "a number, a path"
    position: Annotated[Any, numbers(("r",), scalar=True)] | None = None
    path: list[PathSection] | None = None

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """Accept a number, a path, or a list of either."""
        first = data[0] if isinstance(data, list) and data else data
        if isinstance(first, dict) and not isinstance(data, list) and "position" in first:
            return data
        if isinstance(first, dict):
            return {"path": data if isinstance(data, list) else [data]}
        return {"position": data}


def reference_of(
    system: System, sections: dict[str, ReferenceSection], q0: Array, where: Where
) -> tuple[dict[str, Any], Paths]:
    """The references of joints in the form that `PID` accepts, and the paths by body; a position is a constant path."""
    found: dict[str, Any] = {}
    with_paths = {
        name: PathsSection.model_construct(parts=section.path)
        for name, section in sections.items()
        if section.path is not None
    }
    paths = joint_paths(system, with_paths, q0, where)
    for name, section in sections.items():
        check_body(system, name, where / name)
        with (where / name).checked():
            body = system.body_of(name)
        dofs = system.joints[body].dofs
        labels = [body] if dofs == 1 else [f"{body}[{i}]" for i in range(dofs)]
        if body in paths:
            for i, label in enumerate(labels):
                found[label] = _coordinate(paths[body], i)
            continue
        position: Any = section.position
        values = list(np.atleast_1d(position))
        if len(values) != dofs:
            raise (where / name).error(f"needs {dofs} numbers, got {len(values)}.")
        found |= dict(zip(labels, values))
        paths[body] = Hold(values, 1.0)
    return found, paths


def _coordinate(path: Trajectory, i: int) -> Any:
    """One coordinate of a path."""

    def reference(t: float) -> tuple[float, float, float]:
        position, velocity, acceleration = path(float(t))
        return position[i], velocity[i], acceleration[i]

    return reference
