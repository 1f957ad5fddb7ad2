"""Closures that are met by construction: frame b is placed where the cut joint puts it at a given q."""

from __future__ import annotations

import numpy as np

from constraints.cut_joints import compose, inverse, joint_pose
from constraints.reference import end_pose
from limber.assembly.closures import End


def close_here(
    assembly,
    system,
    q,
    end_a,
    end_b,
    joint,
    theta=None,
    name=None,
    offset=(0.0, 0.0, 0.0),
    rotation=None,
) -> None:
    """Close a loop of the assembly so that q meets it.

    system : the tree, built.  theta : coordinates of the cut joint; those at which its frames coincide by default.
    offset, rotation : of frame a in the node of end a.
    """
    rotation = np.eye(3) if rotation is None else rotation
    theta = joint.neutral() if theta is None else theta

    def frame(end, offset, rotation):
        body, where = end
        if body == "world":
            return End("world", None, np.asarray(where, dtype=float) + offset, rotation)
        node = None if where is None else system.node_number(body, where)
        return End(body, node, np.asarray(offset, dtype=float), rotation)

    a = end_pose(system, q, frame(end_a, offset, rotation))
    b = end_pose(system, q, frame(end_b, np.zeros(3), np.eye(3)))
    R, p = compose(compose(inverse(b), a), joint_pose(joint, theta))
    assembly.close(end_a, end_b, joint, name, offset, rotation, p, R)
