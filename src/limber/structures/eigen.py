r"""The lowest modes of a structure by block Lanczos iteration.

Solves    K phi = omega^2 M phi for the smallest omega
Given     the flexibility G (K G f = f for the loads f that deform the structure), and M
Computes  omega and shapes with Phi^T M Phi = I
Method    Rayleigh-Ritz in the Krylov space of G M, whose largest eigenvalues are 1/omega^2, with a block of start
          vectors and full orthogonalization in M.  A block finds modes of equal frequency together.  When all have
          converged, random vectors are added and two more steps are made: a mode that had been missed would appear.
Cost      about 2 to 3 solutions and M-products per mode
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from limber.checks import Array
from limber.errors import ModelError

#: |G M phi - phi/omega^2| of a mode in units of |phi|/omega^2 (in M); frequencies are far more accurate than this.
ACCURACY = 1e-8
#: A vector of which less than this part is new is one of rounding errors.
NEW = 1e-10
#: A vector of unit length may have this negative mass by rounding.
INDEFINITE = 1e-6
#: Steps of verification once all modes have converged.
VERIFY = 2


class LowestModes:
    """Modes in ascending order of frequency; `find` continues where the last call of it stopped."""

    def __init__(self, flexibility: Callable[[Array], Array], M: sp.csr_array, start: Array):
        self.flexibility = flexibility
        self.M = M
        self.rng = np.random.default_rng(0)
        self.V = np.zeros((M.shape[0], 0))  # the basis, orthonormal in M
        self.MV = self.V
        self.T = np.zeros((0, 0))  # V^T M G M V
        self.next = self.flexibility(self.M @ start)
        self.exhausted = False

    def find(self, count: int, advanced: Callable[[float], None]) -> tuple[Array, Array, Array]:
        """omega^2 (k,), shapes (N, k) and their accuracy (k,) of the lowest modes; k < count if there are no more."""
        verified, before = 0, np.zeros(0)
        while True:
            self._step()
            value, part, accuracy = self._ritz(count)
            fits = value.size == count and bool(np.all(accuracy < ACCURACY))
            if self.exhausted:
                break
            if not fits:
                verified = 0
            elif verified == 0:
                # a fresh block beside the one of the iteration
                self.next = np.hstack([self.next, self._random()])
                verified, before = 1, value
            elif np.abs(value - before).max() > 1e-6 * value.min():
                verified, before = 1, value  # there was another mode
            else:
                verified += 1
            if verified > VERIFY:
                break
            done = np.count_nonzero(accuracy < ACCURACY) / count
            advanced(0.9 * done + 0.1 * verified / (VERIFY + 1))
        return 1.0 / value, self.V @ part, accuracy

    def _random(self) -> Array:
        size = min(4, self.next.shape[1])
        return self.flexibility(self.M @ self.rng.standard_normal((self.M.shape[0], size)))

    def _step(self) -> None:
        """Extend the basis by what is new in `next`, and apply G M to it."""
        new = self._orthonormal(self.next)
        if new.shape[1] == 0:
            new = self._orthonormal(self._random())
            self.exhausted = new.shape[1] == 0
        if self.exhausted:
            return
        Mnew = self.M @ new
        image = self.flexibility(Mnew)
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
        """A basis, orthonormal in M and to V, of what is new in a block."""
        size = np.sqrt(np.abs(np.einsum("nk,nk->k", block, self.M @ block)))
        block = block[:, size > 0.0] / size[size > 0.0]
        for _ in range(
            3
        ):  # twice is enough in exact scaling; the third time cleans what small parts amplify
            block = block - self.V @ (self.MV.T @ block)
            gram = block.T @ (self.M @ block)
            value, vector = np.linalg.eigh(0.5 * (gram + gram.T))
            if value.size and value[0] < -INDEFINITE:
                raise ModelError(
                    "M is not positive semidefinite: some motion of the structure has a negative mass. Entries may be "
                    "missing, or of the wrong sign."
                )
            keep = value > NEW**2
            block = block @ (vector[:, keep] / np.sqrt(value[keep]))
        return block

    def _ritz(self, count: int) -> tuple[Array, Array, Array]:
        """1/omega^2, coordinates in V and accuracy of the best approximations."""
        value, vector = np.linalg.eigh(self.T)
        most = value[-1] if value.size else 0.0
        chosen = np.flatnonzero(value > 1e-13 * most)[::-1][:count]
        value, vector = value[chosen], vector[:, chosen]
        if self.exhausted:
            return value, vector, np.zeros(value.size)
        gram = self.next.T @ (self.M @ self.next)
        last = vector[-self.newest :]
        error = np.sqrt(np.maximum(np.einsum("ik,ij,jk->k", last, gram, last), 0.0))
        return value, vector, error / value
