r"""The lowest modes and buckling loads of a structure by block Lanczos iteration.

Solves    K phi = omega^2 M phi for the smallest omega, or K phi = lambda S phi for the smallest lambda > 0, where S,
          the softening by a load, may be indefinite
Given     the flexibility G (K G f = f for the loads f that deform the structure), and M or S
Computes  omega^2 and shapes with Phi^T M Phi = I, or lambda and shapes with Phi^T K Phi = I
Method    Rayleigh-Ritz in the Krylov space of G M, whose largest eigenvalues are 1/omega^2, or of G S, with a block of
          start vectors and full orthogonalization in M or K.  A block finds equal values together.  When all have
          converged, random vectors are added and two more steps are made, in which a missed mode would appear.
Cost      about 2 to 3 solutions and products with a matrix per mode
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from limber.checks import Array
from limber.errors import ModelError

#: |G M phi - phi/omega^2| of a mode in units of |phi|/omega^2 (in M); frequencies are far more accurate than this.
ACCURACY = 1e-8
#: A vector of which less than this fraction is new is one of rounding errors.
NEW = 1e-10
#: So short is a vector that should have unit length only if rounding errors of a product had made it look new.
SHRUNK = 1e-2
#: A vector of unit length may have this negative mass by rounding.
INDEFINITE = 1e-6
#: Columns of the first block.
BLOCK = 8
#: Steps of verification once all modes have converged.
VERIFY = 2
#: Values 1/omega^2 below this fraction of the largest are rounding.
SMALLEST = 1e-13
#: Load factors beyond the inverse of this, times the least factor in magnitude, are not looked for.
SMALLEST_LOAD = 1e-3


class BlockLanczos(ABC):
    """The largest positive eigenvalues of a compact operator that is symmetric in the inner product of M."""

    def __init__(self, M: sp.csr_array, start: Array):
        self.M = M
        self.rng = np.random.default_rng(0)
        self.V = np.zeros((M.shape[0], 0))  # the basis, orthonormal in M
        self.MV = self.V
        self.T = np.zeros((0, 0))  # V^T M A V for the operator A
        self.next = self._smooth(start)
        self.exhausted = False
        #: (k,) all approximate eigenvalues so far, ascending
        self.ritz = np.zeros(0)

    @abstractmethod
    def least(self) -> float:
        """The smallest eigenvalue to search for."""

    @abstractmethod
    def _smooth(self, block: Array) -> Array:
        """Vectors in the range of the operator, from any vectors."""

    @abstractmethod
    def _image(self, block: Array, Mblock: Array) -> Array:
        """The operator applied to a block whose product with M is known."""

    def find(
        self, count: int, advanced: Callable[[float], None], patience: float = np.inf
    ) -> tuple[Array, Array, Array]:
        """The inverse eigenvalues (k,), ascending, vectors (N, k) and their accuracy (k,).

        There are fewer than `count` if there are no more.

        patience : the size of the basis at which the search is abandoned; `finished` says whether it was not.
        """
        verified, before = 0, np.zeros(0)
        self.finished = True
        while True:
            self._step()
            value, part, accuracy = self._ritz(count)
            fits = (value.size == count or self.none_left) and bool(np.all(accuracy < ACCURACY))
            if self.exhausted:
                break
            if not fits:
                verified = 0
            elif verified == 0:
                # a fresh block in addition to the one of the iteration
                self.next = np.hstack([self.next, self._random()])
                verified, before = 1, value
            elif value.size != before.size or _changed(value, before):
                verified, before = 1, value  # there was another mode
            else:
                verified += 1
            if verified > VERIFY:
                break
            if self.V.shape[1] > patience:
                self.finished = False
                break
            done = np.count_nonzero(accuracy < ACCURACY) / count
            advanced(0.9 * done + 0.1 * verified / (VERIFY + 1))
        return 1.0 / value, self.V @ part, accuracy

    def _random(self) -> Array:
        size = min(4, self.next.shape[1])
        return self._smooth(self.rng.standard_normal((self.M.shape[0], size)))

    def _step(self) -> None:
        """Extend the basis by the new directions in `next`, and apply the operator to them."""
        new = self._orthonormal(self.next)
        if new.shape[1] == 0:
            new = self._orthonormal(self._random())
            self.exhausted = new.shape[1] == 0
        if self.exhausted:
            return
        Mnew = self.M @ new
        image = self._image(new, Mnew)
        size, more = self.V.shape[1], new.shape[1]
        self.V, self.MV = np.hstack([self.V, new]), np.hstack([self.MV, Mnew])
        column = self.MV.T @ image
        T = np.zeros((size + more,) * 2)
        T[:size, :size] = self.T
        T[:, size:] = column
        T[size:, :size] = column[:size].T
        self.T = 0.5 * (T + T.T)
        self.newest = more
        self.next = image - self.V @ column

    def _orthonormal(self, block: Array) -> Array:
        """A basis, orthonormal in M and to V, of the new directions in a block."""
        size = np.sqrt(np.abs(np.einsum("nk,nk->k", block, self.M @ block)))
        block = block[:, size > 0.0] / size[size > 0.0]
        # Twice is enough in exact scaling; the third time cleans what small parts amplify.
        for least in (NEW, SHRUNK, SHRUNK):
            block = block - self.V @ (self.MV.T @ block)
            gram = block.T @ (self.M @ block)
            value, vector = np.linalg.eigh(0.5 * (gram + gram.T))
            if value.size and value[0] < -INDEFINITE:
                raise ModelError(
                    "M is not positive semidefinite: some motion of the structure has a negative mass. Entries may be "
                    "missing, or of the wrong sign."
                )
            keep = value > least**2
            block = block @ (vector[:, keep] / np.sqrt(value[keep]))
        return block

    def _ritz(self, count: int) -> tuple[Array, Array, Array]:
        """Eigenvalues, coordinates in V and accuracy of the best approximations."""
        value, vector = np.linalg.eigh(self.T)
        self.ritz = value
        least = self.least()
        wanted = np.flatnonzero(value > least)[::-1]
        chosen = wanted[:count]
        if self.exhausted:
            self.none_left = wanted.size < count
            return value[chosen], vector[:, chosen], np.zeros(chosen.size)
        gram = self.next.T @ (self.M @ self.next)
        last = vector[-self.newest :]
        error = np.sqrt(np.maximum(np.einsum("ik,ij,jk->k", last, gram, last), 0.0))
        # the next values are small, and will stay so
        self.none_left = wanted.size < min(count, value.size) and bool(
            np.all((value + error < least) | (value > least))
        )
        return value[chosen], vector[:, chosen], error[chosen] / value[chosen]


def _changed(value: Array, before: Array) -> bool:
    return bool(value.size) and bool(np.abs(value - before).max() > 1e-6 * value.min())


class LowestModes(BlockLanczos):
    """Modes in ascending order of frequency; `find` continues where its last call stopped."""

    def __init__(self, flexibility: Callable[[Array], Array], M: sp.csr_array, start: Array):
        self.flexibility = flexibility
        super().__init__(M, start)

    def least(self) -> float:
        """Rounding."""
        return SMALLEST * float(self.ritz.max(initial=0.0))

    def _smooth(self, block: Array) -> Array:
        return self.flexibility(self.M @ block)

    def _image(self, block: Array, Mblock: Array) -> Array:
        return self.flexibility(Mblock)


class LowestLoads(BlockLanczos):
    """Load factors in ascending order, for a load that reduces the stiffness K of a structure by S.

    least_value : inverse load factors below it are not searched for.  None: those below `SMALLEST_LOAD` of the largest
        in magnitude; they accumulate at zero.
    """

    def __init__(
        self,
        flexibility: Callable[[Array], Array],
        K: sp.csr_array,
        S: sp.csr_array,
        start: Array,
        least_value: float | None = None,
    ):
        self.flexibility = flexibility
        self.S = S
        self.least_value = least_value
        super().__init__(K, start)

    def least(self) -> float:
        """The given value, or a fraction of the largest."""
        if self.least_value is not None:
            return self.least_value
        return SMALLEST_LOAD * float(np.abs(self.ritz).max(initial=0.0))

    def _smooth(self, block: Array) -> Array:
        return self.flexibility(self.S @ block)

    def _image(self, block: Array, Mblock: Array) -> Array:
        return self.flexibility(self.S @ block)
