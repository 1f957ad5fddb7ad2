"""Joints in the flat arrays of the kernels (`limber.kernels.layout`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from limber.kernels import layout as L

if TYPE_CHECKING:
    from limber.joints.base import Joint


@dataclass
class Constants:
    """A growing flat array of floats, or of objects if some of them are symbols."""

    parts: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def add(self, *numbers) -> int:
        """Append numbers and return the index of the first."""
        start = self.size
        for x in numbers:
            part = np.asarray(x).ravel()
            part = part if part.dtype == object else part.astype(float)
            self.parts.append(part)
            self.size += part.size
        return start


def pack_groups(topo, const: Constants, k: int, joint: Joint, group: int) -> int:
    """Fill the rows of the groups of a general joint, and return the next free row."""
    q, v = topo[k, L.Q_JOINT], topo[k, L.V_JOINT]
    for g in joint.groups:
        row = topo[group]
        row[L.G_KIND], row[L.G_Q], row[L.G_V], row[L.G_DOFS] = g.kind, q, v, g.dofs
        if g.kind == L.SCREWS:
            row[L.G_SCREWS] = const.add(*g.screws())
            row[L.G_MAP] = const.add(g.H.T)
        q, v, group = q + g.nq, v + g.dofs, group + 1
    return group


def lay_out_joint(topo, k: int, at: int) -> int:
    """Set the offsets of the work of the joint of body k and its groups, from `at` on, and return its end."""
    row = topo[k]
    row[L.W_JOINT] = at
    at += int(row[L.DOFS]) * L.JOINT_WORK
    for group in topo[row[L.GROUP] : row[L.GROUP] + row[L.GROUPS]]:
        if group[L.G_KIND] == L.SCREWS:
            at = place_blocks(group, L.group_work(int(group[L.G_DOFS])), at)
    return at


def place_blocks(row, sizes: dict[int, int], at: int) -> int:
    """Write the offsets of consecutive blocks, from `at` on, to their columns, and return the end of the last."""
    for column, size in sizes.items():
        row[column] = at
        at += size
    return at


def flattened(topo, n: int, groups: int) -> np.ndarray:
    """The rows of n bodies, their groups and their modal rows in one flat array, with references by starting index."""
    topo[0, [L.END, L.GROUPS_END]] = (n + 1) * L.COLUMNS, (n + 1 + groups) * L.COLUMNS
    topo[1 : n + 1, [L.PARENT, L.GROUP, L.MODAL, L.BENT]] *= L.COLUMNS
    return topo.ravel()


@cache
def _float_kernels() -> SimpleNamespace:
    from limber.kernels import plain  # noqa: PLC0415

    return plain.load()


def pack_joint(joint: Joint) -> SimpleNamespace:
    """One joint as a general joint of a massless body, for the plain kernels."""
    groups = len(joint.groups)
    topo = np.zeros((2 + groups, L.COLUMNS), dtype=np.int64)
    const = Constants()
    const.add(np.zeros(L.CONST_START))
    topo[1, [L.DOFS, L.JOINT, L.GROUP, L.GROUPS]] = joint.dofs, L.GENERAL, 2, groups
    pack_groups(topo, const, 1, joint, 2)
    work = np.zeros(lay_out_joint(topo, 1, L.WORK_BLOCK))
    return SimpleNamespace(
        kernels=_float_kernels(),
        topo=flattened(topo, 1, groups),
        const=np.concatenate(const.parts),
        work=work,
    )
