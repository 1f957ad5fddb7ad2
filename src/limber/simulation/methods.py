"""The integration methods: names and tableaus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from limber.checks import Array
from limber.integrators.context import DOP853, RK4, RK45, SDIRK

#: The weight of the rate at the start in the error of an implicit step: large enough that a jump right after the
#: start is seen, small enough that smooth motions take the steps they took without (found by trial).
START = 0.05


@dataclass(frozen=True)
class Method:
    """One method of the compiled engine."""

    name: str
    number: int
    order: int
    stages: int  # rates a step keeps, but for the one at its end
    tableau: Array
    adaptive: bool = True


@cache
def methods() -> dict[str, Method]:
    """The methods of the engine, by name."""
    from scipy.integrate import DOP853 as dop853  # noqa: PLC0415
    from scipy.integrate import RK45 as rk45  # noqa: PLC0415

    def tableau(stages, error_order, A, B, C, *own):
        square = np.zeros((stages, stages))
        square[: A.shape[0], : A.shape[1]] = A
        parts = [np.array([stages, error_order]), square, B, C, *own]
        return np.concatenate([np.ravel(x).astype(float) for x in parts])

    half = np.zeros((4, 4))
    half[1, 0], half[2, 1], half[3, 2] = 0.5, 0.5, 1.0
    classical = tableau(4, 3, half, np.array([1, 2, 2, 1]) / 6.0, np.array([0, 0.5, 0.5, 1]))
    fifth = tableau(6, 4, rk45.A, rk45.B, rk45.C, rk45.E, rk45.P)
    eighth = tableau(
        12, 7, dop853.A, dop853.B, dop853.C, dop853.E5, dop853.E3, dop853.A_EXTRA, dop853.C_EXTRA, dop853.D
    )  # fmt: skip
    return {
        m.name: m
        for m in (
            Method("rk4", RK4, 4, 4, classical, adaptive=False),
            Method("rk45", RK45, 5, 6, fifth),
            Method("dop853", DOP853, 8, 12, eighth),
            Method("sdirk4", SDIRK, 4, 6, _sdirk()),
        )
    }


def _sdirk() -> Array:
    """SDIRK of order 4(3), Hairer & Wanner II, Table 6.5; rows as `integrators.implicit` reads them.

    The embedded formula is theirs and another one, in which the rate at the start has the weight START.
    """
    A = 0.25 * np.eye(5)
    A[1, :1] = [1 / 2]
    A[2, :2] = [17 / 50, -1 / 25]
    A[3, :3] = [371 / 1360, -137 / 2720, 15 / 544]
    A[4, :4] = [25 / 24, -49 / 48, 125 / 16, -85 / 12]
    c = A.sum(axis=1)
    error = A[4] - np.array([59 / 48, -17 / 96, 225 / 32, -85 / 12, 0.0])
    # order 3 is kept: the weights of what is added vanish on 1, c, c^2 and A c; the start has zeros but for the 1
    conditions = np.array([np.ones(5), c, c**2, A @ c])
    some = [0, 1, 2, 4]
    error[some] += np.linalg.solve(conditions[:, some], [-START, 0.0, 0.0, 0.0])
    rows = np.zeros(6 * 6 + 2 * 6)
    rows[:41] = np.concatenate([A.ravel(), c, error, error @ A, [START]])
    # dense output of order 3; where stiff torques make the stages exact, it is so for squares: the last condition
    powers = np.zeros((5, 3))
    powers[[0, 1, 2, 3, 4], [0, 1, 2, 2, 1]] = 1.0, 1 / 2, 1 / 3, 1 / 6, 1.0
    dense = np.linalg.solve(np.vstack([conditions, np.linalg.solve(A, c**2)]), powers)
    return np.concatenate([[6, 3], rows, dense.ravel()])
