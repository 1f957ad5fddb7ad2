"""Fisher information, covariance, and the combinations of unknowns that readings determine or not.

With the derivatives J of the weighted residuals with respect to the scaled unknowns, the Fisher information is F = J^T
J, and the covariance of the best estimate is F^-1. The right singular vectors of J are combinations of the unknowns
whose estimates are uncorrelated, each with the standard error 1 / (its singular value).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from limber.checks import Array

#: Singular values below this fraction of the largest are zero: the readings do not change along such a combination.
ZERO = 1e-9
#: Combinations with a larger standard error than this, relative to the values of the unknowns, are not known.
LOOSE = 0.5
#: Unknowns with less than this fraction of the largest weight are left out of the words for a combination.
SHOWN = 0.1


@dataclass(frozen=True, eq=False)
class Combination:
    """A combination of relative changes of the unknowns, and how well the readings determine it.

    weights : {name: weight}, of unit length.
    standard_error : relative; infinite if the readings do not depend on it.
    """

    weights: dict[str, float]
    standard_error: float

    @property
    def known(self) -> bool:
        """Whether the readings determine it."""
        return self.standard_error <= LOOSE

    @property
    def words(self) -> str:
        """The combination as a sum of its main unknowns, in words."""
        largest = max(map(abs, self.weights.values()))
        main = {name: w for name, w in self.weights.items() if abs(w) >= SHOWN * largest}
        if len(main) == 1:
            return next(iter(main))
        parts = sorted(main.items(), key=lambda item: -abs(item[1]))
        text = " ".join(f"{'-' if w < 0.0 else '+'} {abs(w):.2f} {name}" for name, w in parts)
        return text.removeprefix("+ ")

    def __str__(self) -> str:
        if not np.isfinite(self.standard_error):
            return f"{self.words}: not seen by the readings at all"
        return f"{self.words}: {'known to' if self.known else 'not known, only to'} {100.0 * self.standard_error:.2g} %"


def without(J: Array, nuisance: Array) -> Array:
    """The part of the derivatives J that remains when other unknowns, with the derivatives `nuisance`, are estimated
    too.
    """
    if not nuisance.shape[1]:
        return J
    basis = scipy.linalg.orth(nuisance / np.maximum(np.linalg.norm(nuisance, axis=0), 1e-300))
    return J - basis @ (basis.T @ J)


def combinations(J: Array, names: Sequence[str]) -> tuple[Combination, ...]:
    """The combinations of unknowns, ordered by how well they are known, the best first; J is the result of
    `without`."""
    _, values, V = np.linalg.svd(np.linalg.qr(J, mode="r"), full_matrices=True)
    sizes = np.zeros(len(names))
    sizes[: len(values)] = values
    floor = ZERO * sizes.max(initial=0.0)
    found = []
    for size, vector in zip(sizes, V):
        row = vector * np.sign(vector[np.abs(vector).argmax()])
        error = 1.0 / size if size > floor else np.inf
        found.append(Combination(dict(zip(names, row.tolist())), float(error)))
    return tuple(found)


def covariance(J: Array) -> Array:
    """The inverse of J^T J; for unknowns that J does not determine, the diagonal is infinite and the rest of rows and
    columns nan.
    """
    unit, sizes, V = _directions(J)
    seen = sizes > ZERO * sizes.max(initial=0.0)
    W = V[seen] / sizes[seen, None]
    C = W.T @ W / np.outer(unit, unit)
    lost = np.sqrt((V[~seen] ** 2).sum(axis=0)) > np.sqrt(ZERO)
    C[lost], C[:, lost] = np.nan, np.nan
    C[lost, lost] = np.inf
    return C


def unseen(J: Array) -> tuple[Array, Array]:
    """The directions (k, n) that J does not determine, orthonormal if every unknown has the size of its column, and these
    sizes (n,).
    """
    unit, sizes, V = _directions(J)
    return V[sizes <= ZERO * sizes.max(initial=0.0)], unit


def _directions(J: Array) -> tuple[Array, Array, Array]:
    """The norms of the columns, 1 for zero ones; and the singular values and directions of J with columns of norm 1."""
    scale = np.linalg.norm(J, axis=0)
    unit = np.where(scale > 0.0, scale, 1.0)
    _, values, V = np.linalg.svd(np.linalg.qr(J / unit, mode="r"), full_matrices=True)
    sizes = np.zeros(J.shape[1])
    sizes[: len(values)] = values
    return unit, sizes, V
