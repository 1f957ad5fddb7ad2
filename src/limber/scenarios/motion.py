"""Prescribed motions of joints in scenario files: paths from the initial positions, which the joints follow exactly."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from limber.assembly import System
from limber.checks import Array
from limber.io.document import Where
from limber.scenarios.joint_paths import PathsSection, few, joint_paths, warn_of_cuts
from limber.trajectories import Trajectory


def motions(
    system: System,
    sections: Mapping[str, PathsSection],
    q0: Array,
    v0: Array,
    duration: float,
    where: Where,
) -> dict[str, Trajectory]:
    """The motions of a scenario, in the form that `simulate` accepts; their initial speeds are written to v0."""
    for name in sections:
        if name in system.joints and system.joints[name].dofs == 0:
            raise where.error(f"the joint of {name!r} is fixed, so it has no motion.", name)
    paths = joint_paths(system, sections, q0, where)
    warn_of_cuts(paths, duration, where)
    for name, path in paths.items():
        place, starts = system.layout[name].v_joint, np.ravel(path(0.0).velocity)
        given = v0[place]
        if given.any() and (np.abs(given - starts) > 1e-9 * (1.0 + np.abs(starts))).any():
            raise where.error(
                f"the joint of {name!r} starts with the speed {few(given.tolist())} of `initial`, but its motion starts "
                f"with {few(starts.tolist())}: make the two agree, or leave the speed out.",
                name,
            )
        v0[place] = starts
    return paths
