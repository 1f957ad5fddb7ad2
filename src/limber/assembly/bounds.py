"""Bounds that depend on the numbers of a packed tree: how far its bodies extend, and what its modes carry."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from limber.checks import Array
from limber.joints import Joint
from limber.kernels import layout as L


def reach(topo: np.ndarray, const: Array, joints: Sequence[Joint]) -> float:
    """REACH of a system whose joints keep their distances; 0 if it is not known.

    It is known if no joint slides, except for joints on the world, and if no column of a joint map is longer than 1:
    `state_checks.within_bounds` relies on both.
    """
    squares = np.zeros(len(joints) + 1)
    for k, joint in enumerate(joints, start=1):
        groups = joint.groups
        p = int(topo[k * L.COLUMNS + L.PARENT]) // L.COLUMNS
        if _travel(joint) > 0.0 and (p != 0 or len(groups) > 1):
            return 0.0
        if any(np.square(group.H).sum(axis=0).max() > 1.0 + 1e-12 for group in groups):
            return 0.0
        if p != 0:
            distance = _offset(topo, const, k)
            squares[k] = squares[p] + distance @ distance
    return max(1.0, float(squares.max()))


def load_bound(topo: np.ndarray, const: Array, joints: Sequence[Joint]) -> float:
    """A bound of the eigenvalues of Omega Gamma of a ruthless system over its bodies and configurations."""
    carried = _carried(topo, const, joints)
    largest = 0.0
    loaded: dict[int, list[int]] = {}
    for k in range(1, len(joints) + 1):
        row = k * L.COLUMNS
        if topo[row + L.ATTACHED]:
            loaded.setdefault(int(topo[row + L.PARENT]), []).append(k)
    for parent, children in loaded.items():
        modal = int(topo[parent + L.MODAL])
        size, rank = 6 * len(children), int(topo[modal + L.RANK])
        at = int(topo[modal + L.PRE_C])
        C = const[at : at + size * rank].reshape(rank, size).T
        bound = np.repeat(carried[children].reshape(-1), 3)  # of Gamma, twice a block-diagonal one
        largest = max(largest, float(np.linalg.norm(np.sqrt(2.0 * bound)[:, None] * C, 2)) ** 2)
    return largest


def _carried(topo: np.ndarray, const: Array, joints: Sequence[Joint]) -> Array:
    """For each body, bounds of the inertia about its joint and of the mass of everything it carries, including itself.

    They hold in every configuration, because every mass is assumed as far from the joint as it can be.
    """
    n = len(joints) + 1
    mass, inertia, moment = np.zeros((3, n))  # moment: mass times largest distance
    for k in range(n - 1, 0, -1):
        c = int(topo[k * L.COLUMNS + L.CONST])
        own, J = const[c + L.C_MASS], const[c + L.C_INERTIA : c + L.C_INERTIA + 6]
        trace = J[0] + J[3] + J[5]
        mass[k] += own
        moment[k] += np.sqrt(own * max(trace / 2.0, 0.0))
        inertia[k] += trace
        p = int(topo[k * L.COLUMNS + L.PARENT]) // L.COLUMNS
        far = float(np.linalg.norm(_offset(topo, const, k))) + _travel(joints[k - 1])
        mass[p] += mass[k]
        moment[p] += moment[k] + mass[k] * far
        inertia[p] += inertia[k] + 2.0 * moment[k] * far + mass[k] * far**2
    return np.column_stack([inertia, mass])


def _offset(topo: np.ndarray, const: Array, k: int) -> Array:
    """From the parent's body frame to the joint of body k, undeformed."""
    c = int(topo[k * L.COLUMNS + L.CONST]) + L.C_OFFSET
    return const[c : c + 3]


def _travel(joint: Joint) -> float:
    """The assumed displacement of a joint: one metre if it can slide, otherwise zero."""
    return 1.0 if any(np.any(group.H[3:]) for group in joint.groups) else 0.0
