"""The same equations in the solvers of other libraries: SciPy's and SUNDIALS' CVODE."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics import forward_dynamics, qdot
from limber.dynamics.evaluate import quaternions
from limber.errors import ArgumentValueError, MissingExtraError, SimulationError
from limber.simulation.drive import SAMPLED, drive
from limber.simulation.result import Result, Statistics


def by_peer(
    system: System, method: str, span: tuple[float, float], q: Array, v: Array, torque: Any,
    times: Array, rtol: float, atol: float, largest: float,
) -> Result:  # fmt: skip
    """A simulation by another library's solver; Python is called at every evaluation."""
    nq = system.nq
    driven = drive(system, torque)
    if driven.kind == SAMPLED:
        raise ArgumentValueError(
            f"method={method!r}: a torque with a sample_time needs a method of limber, such as dop853."
        )
    parts = list(quaternions(system))

    def state(y):
        q, v = np.array(y[:nq]), np.array(y[nq:])
        for _, at in parts:
            q[at] /= np.linalg.norm(q[at])
        return q, v

    def rates(t, y):
        q, v = state(y)
        tau = driven.at(system, t, q, v)
        if driven.failure:
            raise driven.failure[0]
        return np.concatenate([qdot(system, q, v), forward_dynamics(system, q, v, tau)])

    if len(times) == 0 or (np.diff(times) <= 0.0).any():
        raise ArgumentValueError(
            f"method={method!r} of another library needs t_eval that increases, one time at least."
        )
    start = time.perf_counter()
    y0 = np.concatenate([q, v])
    if method == "cvode":
        rows, evaluations, message = _cvode(rates, span, y0, times, rtol, atol)
        steps = 0
    else:
        from scipy.integrate import solve_ivp  # noqa: PLC0415

        done = solve_ivp(rates, span, y0, method, times, rtol=rtol, atol=atol, max_step=largest)
        if not done.success:
            raise SimulationError(f"SciPy's {method} gave up: {done.message}")
        rows, evaluations, steps, message = done.y.T, done.nfev, len(done.t), done.message
    states = [state(y) for y in rows]
    Q = np.array([x for x, _ in states]).reshape(-1, nq)
    V = np.array([x for _, x in states]).reshape(-1, system.nv)
    taus = np.array([driven.at(system, t, *s) for t, s in zip(times, states)]).reshape(V.shape)
    statistics = Statistics(steps, 0, evaluations, time.perf_counter() - start)
    return Result(system, times, Q, V, taus, (), statistics, message)


def _cvode(rates, span, y0, times, rtol, atol):
    try:
        from sksundae.cvode import CVODE  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(
            'method="cvode" needs scikit-sundae: pip install "limber-dynamics[sundials]".'
        ) from error
    count = 0

    def rhs(t, y, dy):
        nonlocal count
        count += 1
        dy[:] = rates(t, y)

    solver = CVODE(rhs, rtol=rtol, atol=atol)
    wanted = times if times.size and times[0] == span[0] else np.concatenate([[span[0]], times])
    done = solver.solve(wanted, y0)
    if not done.success:
        raise SimulationError(f"CVODE gave up: {done.message}")
    rows = done.y if len(wanted) == len(times) else done.y[1:]
    return rows, count, str(done.message)
