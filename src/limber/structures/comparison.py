r"""Comparison of a body with the model that it approximates.

The modal assurance is weighted with mass: MAC = (a^T M b)^2 / (a^T M a  b^T M b), so modes of one model have 1 with
themselves and 0 with each other.  Any combination of modes of equal frequency is a mode: those of the model are taken
in the combination that is closest to modes of the body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limber.checks import Array
from limber.frozen import read_only
from limber.structures.mode_set import LOADS

#: Frequencies that differ by less than this fraction count as equal.
EQUAL = 1e-3


@dataclass(frozen=True)
class StaticLoad:
    """The displacement of a node along a unit force there, m/N, or its rotation about a unit moment, rad/(N m).

    `full` is that of the full model and `body` that of the body.
    """

    node: str
    load: str
    full: float
    body: float

    @property
    def error(self) -> float:
        """The fraction of the deflection that the body lacks; a few shapes deflect less than all."""
        return 1.0 - self.body / self.full if self.full else 0.0


@dataclass(frozen=True, eq=False)
class Comparison:
    """The results of the full model in a report, in the axes of the body.

    full : what the body is compared with, in words.
    held : how it is held and what it carries, in words.
    omega : (k,) frequencies of the full model, rad/s, and `own` (m,) those of the body in the same state.
    mac : (m, k) modal assurance between modes of the body and of the full model.
    static : deflections under unit loads at nodes.
    movable : (6,) the mass along and the inertia about x, y, z that take part in all modes of the full model together;
        None if it is not known.
    remedy : what makes static deflections exact, in words.
    """

    full: str
    held: str
    omega: Array
    own: Array
    mac: Array
    static: tuple[StaticLoad, ...]
    movable: Array | None
    remedy: str

    def __post_init__(self):
        read_only(self)


def assurance(product: Array, omega: Array) -> Array:
    """MAC (m, k) from the products a^T M b (m, k) of normalized modes, of which the second ones have `omega` (k,)."""
    product = product.copy()
    start = 0
    for end in range(1, len(omega) + 1):
        if end < len(omega) and omega[end] - omega[end - 1] <= EQUAL * omega[end]:
            continue
        if end - start > 1:
            product[:, start:end] = _nearest(product[:, start:end])
        start = end
    return product**2


def _nearest(product: Array) -> Array:
    """The products (m, j) with those combinations of j modes that are closest to modes of the body."""
    part = (product**2).sum(axis=1)  # of each mode of the body in the space of the j modes
    most = np.sort(np.argsort(-part, kind="stable")[: product.shape[1]])
    most = most[
        np.argsort(part[most] < 0.5, kind="stable")
    ]  # if only some of j are there, these first
    left, _, right = np.linalg.svd(product[most])
    turn = np.eye(len(right))
    turn[: len(left), : len(left)] = left
    return product @ (turn @ right).T


def static_loads(names: list[str], full: Array, body: Array) -> tuple[StaticLoad, ...]:
    """The static loads of nodes from the compliances (6 k, 6 k) of the full model and of the body."""
    return tuple(
        StaticLoad(name, load, float(full[6 * i + j, 6 * i + j]), float(body[6 * i + j, 6 * i + j]))
        for i, name in enumerate(names)
        for j, load in enumerate(LOADS)
    )
