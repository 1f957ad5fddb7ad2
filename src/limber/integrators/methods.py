"""The integration methods, each one entry: a function that returns its `Method`.

Adding a method means adding an entry here; nothing else knows their names.
tests/integrators/test_methods.py checks the order conditions of all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from limber.integrators.method_record import Method, from_powers, hermite

_entries: dict[str, Callable[[], Method]] = {}


def _entry(make: Callable[[], Method]) -> Callable[[], Method]:
    _entries[make.__name__] = make
    return make


def method_names() -> tuple[str, ...]:
    """The names of all methods."""
    return tuple(_entries)


@cache
def method_named(name: str) -> Method:
    """The method of a name."""
    return _entries[name]()


@_entry
def rk4() -> Method:
    """The classical method with fixed steps."""
    A = np.zeros((4, 4))
    A[1, 0], A[2, 1], A[3, 2] = 0.5, 0.5, 1.0
    b = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
    c = np.array([0.0, 0.5, 0.5, 1.0])
    return Method("rk4", order=4, dense_order=3, A=A, b=b, c=c, dense=hermite(b, 5))


@_entry
def rk45() -> Method:
    """The pair 5(4) of Dormand & Prince with Shampine's interpolant."""
    from scipy.integrate import RK45  # noqa: PLC0415

    A = np.zeros((6, 6))
    A[:, :5] = RK45.A
    return Method(
        "rk45", order=5, dense_order=4, A=A, b=RK45.B, c=RK45.C, dense=from_powers(RK45.P),
        error_order=4, errors=RK45.E[None],
    )  # fmt: skip


@_entry
def tsit5() -> Method:
    """The pair 5(4) of Tsitouras, Computers & Mathematics with Applications 62 (2011), with its free interpolant."""
    A = np.zeros((6, 6))
    A[1, :1] = [0.161]
    A[2, :2] = [-0.008480655492356989, 0.335480655492357]
    A[3, :3] = [2.8971530571054935, -6.359448489975075, 4.3622954328695815]
    A[4, :4] = [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525]
    A[5, :5] = [
        5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383,
    ]  # fmt: skip
    b = np.array([
        0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774,
    ])  # fmt: skip
    c = np.array([0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0])
    error = np.array([
        -0.001780011052225777, -0.0008164344596567469, 0.007880878010261995, -0.1447110071732629,
        0.5823571654525552, -0.45808210592918697, 1.0 / 66.0,
    ])  # fmt: skip
    powers = np.array([
        [1.0, -2.763706197274826, 2.9132554618219126, -1.0530884977290216],
        [0.0, 0.1317, -0.2234, 0.1017],
        [0.0, 3.9302962368947516, -5.941033872131505, 2.490627285651253],
        [0.0, -12.411077166933676, 30.33818863028232, -16.548102889244902],
        [0.0, 37.50931341651104, -88.1789048947664, 47.37952196281928],
        [0.0, -27.896526289197286, 65.09189467479366, -34.87065786149661],
        [0.0, 1.5, -4.0, 2.5],
    ])  # fmt: skip
    return Method(
        "tsit5", order=5, dense_order=4, A=A, b=b, c=c, dense=from_powers(powers),
        error_order=4, errors=error[None],
    )  # fmt: skip


@_entry
def dop853() -> Method:
    """The method of Dormand & Prince of order 8(5,3), with dense output of order 7 from three extra stages.

    Hairer, Norsett & Wanner, II.5, II.6 and II.10.  The estimates of orders 5 and 3 are combined to one that behaves
    as an estimate of order 7.
    """
    from scipy.integrate import DOP853  # noqa: PLC0415

    cubic = hermite(DOP853.B, 16)
    return Method(
        "dop853", order=8, dense_order=7, A=DOP853.A, b=DOP853.B, c=DOP853.C,
        dense=np.column_stack([cubic, DOP853.D.T]),
        error_order=7, errors=np.array([DOP853.E5, DOP853.E3]), second_weight=0.01,
        extra_A=DOP853.A_EXTRA, extra_c=DOP853.C_EXTRA,
    )  # fmt: skip


#: The weight of the rate at the start in the error of `sdirk4`.  It is large enough that a jump right after the start
#: is noticed, and small enough that smooth motions take the same steps as without it (found by trial).
_START_WEIGHT = 0.05


@_entry
def sdirk4() -> Method:
    """SDIRK of order 4(3), L-stable and stiffly accurate: Hairer & Wanner II, Table 6.5.

    No stage of it lies in the first quarter of a step.  The error estimate is therefore the published one plus a
    second one of the same order that contains the rate at the start: it notices what jumps in that quarter, and an
    oscillation too fast for the step.
    """
    A = 0.25 * np.eye(5)
    A[1, :1] = [1 / 2]
    A[2, :2] = [17 / 50, -1 / 25]
    A[3, :3] = [371 / 1360, -137 / 2720, 15 / 544]
    A[4, :4] = [25 / 24, -49 / 48, 125 / 16, -85 / 12]
    c = A.sum(axis=1)
    error = A[4] - np.array([59 / 48, -17 / 96, 225 / 32, -85 / 12, 0.0])
    # The added weights keep order 3: they vanish on 1, c, c^2 and A c, of which the start has only the 1.
    conditions = np.array([np.ones(5), c, c**2, A @ c])
    some = [0, 1, 2, 4]
    error[some] += np.linalg.solve(conditions[:, some], [-_START_WEIGHT, 0.0, 0.0, 0.0])
    # Dense output has order 3.  The fifth condition makes it exact for squares where stiff torques dictate the stages.
    powers = np.zeros((5, 3))
    powers[[0, 1, 2, 3, 4], [0, 1, 2, 2, 1]] = 1.0, 1 / 2, 1 / 3, 1 / 6, 1.0
    dense = np.linalg.solve(np.vstack([conditions, np.linalg.solve(A, c**2)]), powers)
    # The rate at the start is the first stage, which no other stage uses.
    full_A, full_powers = np.zeros((6, 6)), np.zeros((7, 3))
    full_A[1:, 1:], full_powers[1:6] = A, dense
    return Method(
        "sdirk4", order=4, dense_order=3, A=full_A, b=full_A[5], c=np.append(0.0, c),
        dense=from_powers(full_powers), error_order=3,
        errors=np.array([[_START_WEIGHT, *error, 0.0]]), implicit=True,
    )  # fmt: skip
