"""The same equations in the solvers of other libraries: SciPy's, and SUNDIALS' CVODE and IDA."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics import forward_dynamics, inverse_dynamics, qdot
from limber.dynamics.evaluate import quaternions
from limber.errors import ArgumentValueError, DynamicsError, MissingExtraError, SimulationError
from limber.interrupts import heard
from limber.kernels.records import SAMPLED
from limber.simulation.drive import RUNAWAY, Drive
from limber.simulation.progress import Progress, interrupted
from limber.simulation.result import Result, Statistics

SCIPY = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
SUNDIALS = ("cvode", "ida")
PEERS = (*SCIPY, *SUNDIALS)

#: After every step: the time reached, and what makes the states within that step, y(t).
Steps = Iterator[tuple[float, Callable[[], Callable[[float], Array]]]]


class Motion:
    """The equations of a driven system over y = [q; v], in the two forms that solvers take.

    Quaternions in y may have any length: the dynamics see them unit, and their rates grow with them.  So both
    forms are smooth along the length too, which no exact solution changes.
    """

    def __init__(self, system: System, driven: Drive):
        self.system, self.driven = system, driven
        self.evaluations = 0
        self._quaternions = [at for _, at in quaternions(system)]

    def split(self, t: float, y: Array) -> tuple[Array, Array]:
        """q and v of a state, quaternions unit."""
        if not np.isfinite(y).all():
            raise self._diverged(t)
        q, v = np.array(y[: self.system.nq]), np.array(y[self.system.nq :])
        for at in self._quaternions:
            q[at] /= np.linalg.norm(q[at])
        return q, v

    def torque(self, t: float, q: Array, v: Array) -> Array:
        """tau, which must be finite; what a torque function raises is raised here."""
        s = self.system
        tau = self.driven.at(s, t, q, v)
        if self.driven.failure:
            raise self.driven.failure[0]
        bad = np.flatnonzero(~np.isfinite(tau))
        if bad.size:
            if np.abs(v).max(initial=0.0) > RUNAWAY:
                raise self._diverged(t)
            raise SimulationError(
                f"the simulation of {s.name!r} got stuck: torque was not finite at t = {t:.6g} s, first for v[{bad[0]}], "
                f"{s.describe_v(bad[0])}. Look at the function that makes it; the result so far is in error.result."
            )
        return tau

    def rates(self, t: float, y: Array) -> Array:
        """y' = [qdot(q, v); vdot] by forward dynamics."""
        q, v = self.split(t, y)
        tau = self.torque(t, q, v)
        vdot = self._evaluated(t, forward_dynamics, q, v, tau)
        return np.concatenate([self._qdot(q, v, y), vdot])

    def residual(self, t: float, y: Array, rates: Array) -> Array:
        """[q' - qdot(q, v); tau of the motion - tau], zero for a motion; by inverse dynamics, O(N)."""
        q, v = self.split(t, y)
        tau = self.torque(t, q, v)
        needed = self._evaluated(t, inverse_dynamics, q, v, np.array(rates[self.system.nq :]))
        return np.concatenate([rates[: self.system.nq] - self._qdot(q, v, y), needed - tau])

    def _diverged(self, t: float) -> SimulationError:
        return SimulationError(
            f"the simulation of {self.system.name!r} diverged at t = {t:.6g} s: its state is no longer finite. Look at the "
            "result so far (error.result), at torques and at deformations beyond small."
        )

    def _qdot(self, q: Array, v: Array, y: Array) -> Array:
        rate = qdot(self.system, q, v)
        for at in self._quaternions:
            rate[at] *= np.linalg.norm(y[at])
        return rate

    def _evaluated(self, t: float, dynamics: Callable, *arguments: Array) -> Array:
        self.evaluations += 1
        try:
            return dynamics(self.system, *arguments)
        except DynamicsError as error:
            raise SimulationError(
                f"the simulation of {self.system.name!r} got stuck at t = {t:.6g} s: {error}"
            ) from error


class Course:
    """How far a run has come, and its rows at the times asked for."""

    def __init__(self, motion: Motion, start: float, times: Array):
        self.motion, self.t, self.times = motion, start, times
        self.steps = 0
        self._began = time.perf_counter()
        self._rows: list[tuple[Array, Array, Array]] = []

    def reach(self, t: float, dense: Callable[[], Callable[[float], Array]]) -> None:
        """Go on to a time, keeping the rows up to it."""
        at = None
        while len(self._rows) < len(self.times) and self.times[len(self._rows)] <= t:
            at = at or dense()
            due = self.times[len(self._rows)]
            q, v = self.motion.split(due, at(due))
            self._rows.append((q, v, self.motion.torque(due, q, v)))
        self.t = t

    def result(self, message: str) -> Result:
        """What there is so far."""
        s = self.motion.system
        q, v, tau = zip(*self._rows) if self._rows else ((), (), ())
        rows = len(q)
        seconds = time.perf_counter() - self._began
        return Result(
            s, self.times[:rows], np.reshape(q, (rows, s.nq)), np.reshape(v, (rows, s.nv)), np.reshape(tau, (rows, s.nv)),
            (), Statistics(self.steps, 0, self.motion.evaluations, seconds), message,
        )  # fmt: skip


def by_peer(
    system: System, method: str, span: tuple[float, float], y: Array, driven: Drive, times: Array,
    rtol: float, atol: float, first: float | None, largest: float, progress: bool | None,
) -> Result:  # fmt: skip
    """A simulation by another library's solver; Python is called at every evaluation."""
    if driven.kind == SAMPLED:
        raise ArgumentValueError(
            f"method={method!r}: a torque with a sample_time needs a method of limber, such as dop853."
        )
    if method in SUNDIALS and y.size == 0:
        raise ArgumentValueError(
            f'method={method!r} needs a state, and {system.name!r} has no freedoms. Take method="auto".'
        )
    motion = Motion(system, driven)
    course = Course(motion, span[0], times)
    steps = _scipy if method in SCIPY else _sundials
    message = "reached t_end"
    try:
        with Progress(span, progress) as bar, heard(driven.failure):
            course.reach(span[0], lambda: lambda t: y)
            for t, dense in steps(method, motion, span, y, rtol, atol, first, largest):
                course.steps += 1
                course.reach(t, dense)
                bar.show(course)
    except KeyboardInterrupt:
        message = interrupted(course.t)
    except Exception as error:
        error.result = course.result(str(error))  # type: ignore[attr-defined]
        raise
    return course.result(message)


def _scipy(method, motion: Motion, span, y, rtol, atol, first, largest) -> Steps:
    from scipy import integrate  # noqa: PLC0415

    if first is not None:
        first = min(first, span[1] - span[0])
    solver = getattr(integrate, method)(
        motion.rates, span[0], y, span[1], rtol=rtol, atol=atol, first_step=first, max_step=largest
    )
    while solver.status == "running":
        reached = solver.t
        message = solver.step()
        if solver.status == "failed":
            raise _gave_up(f"SciPy's {method}", reached, message)
        yield solver.t, solver.dense_output


def _sundials(method, motion: Motion, span, y, rtol, atol, first, largest) -> Steps:
    try:
        library = import_module(f"sksundae.{method}")
    except ImportError as error:
        raise MissingExtraError(
            f'method={method!r} needs scikit-sundae: pip install "limber-dynamics[sundials]".'
        ) from error

    def explicit(t, y, rates):
        rates[:] = motion.rates(t, y)

    def implicit(t, y, rates, residual):
        residual[:] = motion.residual(t, y, rates)

    start, end = span
    smallest = 4.0 * np.spacing(max(abs(start), abs(end)))  # that moves the time
    largest = max(min(largest, end - start), smallest)
    options = {
        "rtol": rtol, "atol": atol, "first_step": min(first or 0.0, largest),
        "min_step": smallest, "max_step": largest,
    }  # fmt: skip
    if method == "cvode":
        solver: Any = library.CVODE(explicit, **options)
        solver.init_step(start, y)
    else:
        solver = library.IDA(implicit, **options)
        solver.init_step(start, y, motion.rates(start, y))

    def within(t):
        return (
            done.y if t == done.t else solver.step(t, "normal").y
        )  # interpolates: no step is made

    reached = start
    while reached < end:
        done = solver.step(end, "onestep", end)
        if not done.success:
            raise _gave_up(method.upper(), reached, done.message)
        if done.t > reached:  # else it only comes back from where it was asked to interpolate
            reached = done.t
            yield reached, lambda: within


def _gave_up(solver: str, t: float, message: str) -> SimulationError:
    return SimulationError(
        f"{solver} gave up at t = {t:.6g} s: {message.rstrip('.')}. Look at the result so far (error.result); loosen rtol if "
        'the model is right, or take method="auto".'
    )
