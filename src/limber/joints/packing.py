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
    """A growing flat array of floats, or of objects where symbols are among them."""

    parts: list[np.ndarray] = field(default_factory=list)
    size: int = 0

    def add(self, *numbers) -> int:
        """Append numbers; returns where they start."""
        start = self.size
        for x in numbers:
            part = np.asarray(x).ravel()
            part = part if part.dtype == object else part.astype(float)
            self.parts.append(part)
            self.size += part.size
        return start


def pack_groups(topo, const: Constants, k: int, joint: Joint, group: int) -> int:
    """Fill the rows of a general joint's groups; returns the next free row."""
    q, v = topo[k, L.Q_JOINT], topo[k, L.V_JOINT]
    for g in joint.groups:
        row = topo[group]
        row[L.G_KIND], row[L.G_Q], row[L.G_V], row[L.G_DOFS] = g.kind, q, v, g.dofs
        row[L.G_CONST] = const.add(g.constants())
        q, v, group = q + g.nq, v + g.dofs, group + 1
    return group


def joint_work_size(kind: int, speeds: int) -> int:
    """Numbers of work that a joint takes; a general one has scratch for `manifold.screws_rate`."""
    scratch = 6 * speeds + speeds * speeds if kind == L.GENERAL else 0
    return speeds * L.JOINT_WORK + scratch


def flattened(topo, n: int) -> np.ndarray:
    """Rows of n bodies and their groups, named by where they start, in one flat array."""
    topo[0, [L.END, L.ROWS_END]] = (n + 1) * L.COLUMNS, len(topo) * L.COLUMNS
    topo[1 : n + 1, [L.PARENT, L.GROUP]] *= L.COLUMNS
    return topo.ravel()


@cache
def _float_kernels() -> SimpleNamespace:
    from limber.kernels import plain  # noqa: PLC0415

    return plain.load()


def pack_joint(joint: Joint) -> SimpleNamespace:
    """One joint as a general joint of a massless body, for the plain kernels."""
    topo = np.zeros((2 + len(joint.groups), L.COLUMNS), dtype=np.int64)
    const = Constants()
    const.add(np.zeros(L.CONST_START))
    topo[1, [L.DOFS, L.JOINT, L.GROUP, L.GROUPS]] = joint.dofs, L.GENERAL, 2, len(joint.groups)
    pack_groups(topo, const, 1, joint, 2)
    topo[1, L.W_JOINT] = L.WORK_BLOCK
    work = np.zeros(L.WORK_BLOCK + joint_work_size(L.GENERAL, joint.dofs))
    return SimpleNamespace(
        kernels=_float_kernels(),
        topo=flattened(topo, 1),
        const=np.concatenate(const.parts),
        work=work,
    )
