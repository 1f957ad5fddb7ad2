"""The pieces of which every trajectory consists, joint by joint; `kernels.paths` evaluates them.

One joint in one piece has an origin o in time, coefficients c and a swing b at the frequency w: with
x = t - o its position is c0 + c1 x + ... + c5 x^5 + b/w sin(w x).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array
from limber.kernels.path_layout import COEFFICIENTS, FREQUENCY, ORIGIN, PIECE, SWING

#: Breaks closer than this fraction of the duration are one.
CLOSE = 1e-12


def piece(
    origin: ArrayLike, coefficients: Sequence[ArrayLike], swing: ArrayLike = 0.0, frequency: ArrayLike = 1.0
) -> Array:  # fmt: skip
    """One piece, (n, PIECE), of n joints; what is the same for all of them may be a number."""
    given = [origin, *coefficients, swing, frequency]
    origin, *coefficients, swing, frequency = np.broadcast_arrays(*map(np.atleast_1d, given))
    made = np.zeros((origin.size, PIECE))
    made[:, ORIGIN], made[:, SWING], made[:, FREQUENCY] = origin, swing, frequency
    made[:, COEFFICIENTS : COEFFICIENTS + len(coefficients)] = np.transpose(coefficients)
    return made


def chosen(which: ArrayLike, one: Array, other: Array) -> Array:
    """The joints of one piece where `which`, those of the other elsewhere."""
    return np.where(np.atleast_1d(which)[:, None], one, other)


def later(pieces: Array, by: float) -> Array:
    """Pieces (..., PIECE) moved in time."""
    moved = np.array(pieces)
    moved[..., ORIGIN] += by
    return moved


def together(knots: Sequence[Array], pieces: Sequence[Array]) -> tuple[Array, Array]:
    """The knots and pieces of several paths side by side."""
    every = np.unique(np.concatenate(knots))
    starts = np.append(-np.inf, every)
    rows = [p[np.searchsorted(k, starts, "right")] for k, p in zip(knots, pieces)]
    return every, np.concatenate(rows, axis=1)


def merged(times: ArrayLike) -> Array:
    """Times in order; of those that rounding alone keeps apart, one."""
    times = np.unique(times)
    apart = np.diff(times) > CLOSE * times[-1]
    return times[np.append(True, apart)]
