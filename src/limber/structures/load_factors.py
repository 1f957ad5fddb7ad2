r"""The lowest load factors at which a structure buckles.

Solves    (K - lambda S) phi = 0 for the smallest lambda > 0; S is the softening due to the loads
Method    block Lanczos iteration.  If the reversed loads buckle the structure far earlier, it is slow for the smallest
          positive lambda.  Then K is replaced by K - s S and lambda by lambda - s.  A shift s is below the lowest
          factor as long as K - s S is positive definite, which its Cholesky factorization shows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp

from limber.checks import Array
from limber.structures.cholesky import Cholesky, NotHeldError
from limber.structures.eigen import BLOCK, LowestLoads
from limber.structures.support import Support

#: The size of a basis at which the search without a shift is abandoned, in addition to four vectors for each factor.
PATIENCE = 120


def lowest_factors(
    K: sp.csr_array,
    S: sp.csr_array,
    support: Support,
    count: int,
    advanced: Callable[[float], None],
) -> tuple[Array, Array, float]:
    """The lowest factors, their shapes (N, k), and the limit beyond which there may be others."""
    start = np.random.default_rng(1).standard_normal((S.shape[0], BLOCK))
    search = LowestLoads(support.static, K, S, start)
    factors, shapes, _ = search.find(count, advanced, PATIENCE + 4 * count)
    least = search.least()
    limit = 1.0 / least if least else np.inf
    if search.finished:
        return factors, shapes, limit
    shift = min(limit, 0.5 / max(search.ritz[-1], least))
    while (factor := _definite(support, K - shift * S)) is None:
        shift *= 0.5
    if shift == limit:
        return factors[:0], shapes[:, :0], limit
    search = LowestLoads(
        partial(support.solved, factor), K - shift * S, S, start, 1.0 / (limit - shift)
    )
    factors, shapes, _ = search.find(count, advanced)
    return shift + factors, shapes, limit


def _definite(support: Support, A: sp.csr_array) -> Cholesky | None:
    """The factor of a matrix, if it is positive definite."""
    try:
        return support.factored(A)
    except NotHeldError:
        return None
