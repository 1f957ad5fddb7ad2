"""The same equations in the solvers of other libraries: SciPy's, and SUNDIALS' CVODE and IDA."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.constraints import project
from limber.dynamics import forward_dynamics, hybrid_dynamics, inverse_dynamics, jacobian, qdot
from limber.dynamics.evaluate import evaluated
from limber.dynamics.following import driven_speeds
from limber.dynamics.refusals import quaternions
from limber.dynamics.rows import row_space
from limber.errors import ArgumentValueError, DynamicsError, MissingExtraError, SimulationError
from limber.integrators import context as R
from limber.integrators.context import RUNAWAY
from limber.interrupts import keep_interrupts
from limber.simulation.forces import Forces
from limber.simulation.progress import Progress, interrupted
from limber.simulation.result import Result, Statistics, columns
from limber.simulation.validity import refuse_indefinite, warn_of_doubts

SCIPY = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
SUNDIALS = ("cvode", "ida")
PEERS = (*SCIPY, *SUNDIALS)

#: After every step: the time reached, and a function that gives the states within that step as a function y(t).
Steps = Iterator[tuple[float, Callable[[], Callable[[float], Array]]]]


class EquationsOfMotion:
    """The equations of a system with its forces over y = [q; v], in the two forms that solvers use.

    Times count from `origin`.  Quaternions in y may have any length: the dynamics receive them as unit quaternions, and
    their rates are proportional to their length.  Both forms are therefore smooth in the length as well, which no
    exact solution changes.  States of a closed system are projected onto the closures in the same way.
    """

    def __init__(self, system: System, applied: Forces, origin: float):
        self.system, self.applied, self.origin = system, applied, origin
        self.evaluations = 0
        self._quaternions = [at for _, at in quaternions(system)]

    def split(self, t: float, y: Array) -> tuple[Array, Array]:
        """q and v of a state, with unit quaternions and on the closures."""
        if not np.isfinite(y).all():
            raise self._diverged(t)
        q, v = np.array(y[: self.system.nq]), np.array(y[self.system.nq :])
        for at in self._quaternions:
            q[at] /= np.linalg.norm(q[at])
        for joint in self.applied.driven:
            joint.put(self.origin + t, q, v)
        if self.system.closures:
            try:
                q, v = project(self.system, q, v, locked=self.applied.names)
            except DynamicsError as error:
                raise self._stuck(t, error) from error
        return q, v

    def forces(self, t: float, q: Array, v: Array) -> tuple[Array, list[Array]]:
        """The torque and the wrenches, which must be finite; an error of their functions is raised here."""
        values = []
        for signal in self.applied.signals:
            value = signal.at(self.origin + t, q, v)
            if self.applied.failure:
                raise self.applied.failure[0]
            if not np.isfinite(value).all() and np.abs(v).max(initial=0.0) > RUNAWAY:
                raise self._diverged(t)
            signal.refuse_not_finite(self.system, self.origin + t, value)
            values.append(value)
        return values[0], values[1:]

    def flow_rates(self, t: float, y: Array) -> Array:
        """The power of the torque, the wrenches, and of dampers and friction (0 for actions of events)."""
        s = self.system
        q, v = self.split(t, y)
        tau, wrenches = self.all_forces(t, q, v)
        rates = np.zeros(R.FLOWS)
        rates[R.TORQUE_WORK] = tau @ v
        for (body, node), wrench in zip(self.applied.keys, wrenches):
            rates[R.WRENCH_WORK] += wrench @ jacobian(s, q, body, node) @ v
        rates[R.DAMPING_WORK] = -evaluated(s, "dissipation", (q, v))
        return rates

    def rates(self, t: float, y: Array) -> Array:
        """y' = [qdot(q, v); vdot] by forward dynamics."""
        q, v = self.split(t, y)
        tau, wrenches = self.forces(t, q, v)
        vdot, _ = self._moved(t, q, v, tau, wrenches)
        return np.concatenate([self._qdot(q, v, y), vdot])

    def all_forces(self, t: float, q: Array, v: Array) -> tuple[Array, list[Array]]:
        """`forces`, with the torques that prescribed motions require."""
        tau, wrenches = self.forces(t, q, v)
        if self.applied.driven:
            _, tau = self._moved(t, q, v, tau, wrenches)
        return tau, wrenches

    def _moved(self, t: float, q: Array, v: Array, tau: Array, wrenches) -> tuple[Array, Array]:
        """vdot, and tau with the torques that prescribed motions require."""
        if not self.applied.driven:
            return self._evaluated(t, forward_dynamics, wrenches, q, v, tau), tau
        rates = self._rates(t)
        return self._evaluated(t, partial(hybrid_dynamics, motion=rates), wrenches, q, v, tau)

    def _rates(self, t: float) -> dict[str, Array]:
        """The rates of the speeds of driven joints."""
        return {joint.body: joint.parts(self.origin + t)[2] for joint in self.applied.driven}

    def residual(self, t: float, y: Array, rates: Array) -> Array:
        """[q' - qdot(q, v); tau that the motion needs - tau], which is zero for a motion; by inverse dynamics, O(N)."""
        q, v = self.split(t, y)
        tau, wrenches = self.forces(t, q, v)
        vdot = np.array(rates[self.system.nq :])
        excess = self._evaluated(t, inverse_dynamics, wrenches, q, v, vdot) - tau
        for body, rate in self._rates(t).items():
            place = self.system.layout[body].v_joint
            excess[place] = vdot[place] - rate
        if self.system.closures:
            excess = self._closed_residual(q, v, vdot, excess)
        return np.concatenate([rates[: self.system.nq] - self._qdot(q, v, y), excess])

    def _closed_residual(self, q: Array, v: Array, vdot: Array, excess: Array) -> Array:
        """Excess accelerations along the degrees of freedom, due to the missing forces there, and across the closures.

        Those of driven joints are already in `excess`.
        """
        s, driven = self.system, self.applied.numbers
        free = ~driven_speeds(s, driven)
        basis = row_space(s, q, np.flatnonzero(free)).basis
        rates = evaluated(s, "row_accelerations", (q, v, vdot))
        across = evaluated(s, "correction", (q, rates), driven=driven)
        excess[free] = basis @ (basis.T @ excess[free]) + across[free]
        return excess

    def _diverged(self, t: float) -> SimulationError:
        return SimulationError(
            f"the simulation of {self.system.name!r} diverged at t = {self.origin + t:.6g} s: its state is no longer finite. Look at the "
            "result so far (error.result), at the torques, and for deformations that are not small."
        )

    def _qdot(self, q: Array, v: Array, y: Array) -> Array:
        rate = qdot(self.system, q, v)
        for at in self._quaternions:
            rate[at] *= np.linalg.norm(y[at])
        return rate

    def _evaluated(
        self, t: float, dynamics: Callable, wrenches: list[Array], *arguments: Array
    ) -> Any:
        self.evaluations += 1
        external = dict(zip(self.applied.keys, wrenches)) or None
        try:
            return dynamics(self.system, *arguments, external=external)
        except DynamicsError as error:
            raise self._stuck(t, error) from error

    def _stuck(self, t: float, error: DynamicsError) -> SimulationError:
        return SimulationError(
            f"the simulation of {self.system.name!r} got stuck at t = {self.origin + t:.6g} s: {error}"
        )


class PeerRun:
    """The progress of a run, and its rows at the output times; times count from the start of the run."""

    def __init__(self, equations: EquationsOfMotion, times: Array):
        self.equations, self.times = equations, times
        self.reached = 0.0
        self.steps = 0
        self._began = time.perf_counter()
        self._rows: list[tuple[Array, ...]] = []
        self._flows = np.zeros(R.FLOWS)

    @property
    def t(self) -> float:
        """The time reached."""
        return self.equations.origin + self.reached

    def start(self, y: Array) -> None:
        """Keep the rows that are due at the start."""
        self._keep(0.0, lambda t: y)

    def reach(self, t: float, at: Callable[[float], Array]) -> None:
        """Proceed to a time and keep the rows up to it; at(t) is the state within the step."""
        while len(self._rows) < len(self.times) and self.times[len(self._rows)] <= t:
            due = self.times[len(self._rows)]
            self._flow(due, at)
            self._keep(due, at)
        self._flow(t, at)

    def _flow(self, t: float, at: Callable[[float], Array]) -> None:
        """Integrate the energy supplied up to a time, by a Gauss formula of order 8."""
        half = 0.5 * (t - self.reached)
        if half > 0.0:
            for x, weight in zip(*np.polynomial.legendre.leggauss(4)):
                place = self.reached + (1.0 + x) * half
                self._flows += half * weight * self.equations.flow_rates(place, at(place))
        self.reached = t

    def _keep(self, t: float, at: Callable[[float], Array]) -> None:
        while len(self._rows) < len(self.times) and self.times[len(self._rows)] == t:
            q, v = self.equations.split(t, at(t))
            tau, wrenches = self.equations.all_forces(t, q, v)
            self._rows.append(
                (np.concatenate([q, v, self._flows]), np.concatenate([tau, *wrenches]))
            )

    def result(self, message: str) -> Result:
        """The result so far."""
        seconds = time.perf_counter() - self._began
        rows = len(self._rows)
        y, forces = zip(*self._rows) if rows else ((), ())
        s, applied = self.equations.system, self.equations.applied
        found = columns(
            s, np.reshape(y, (rows, s.nq + s.nv + R.FLOWS)),
            np.reshape(forces, (rows, s.nv + 6 * len(applied.keys))), applied.keys,
        )  # fmt: skip
        return Result(
            s, self.equations.origin + self.times[:rows], **found, message=message, driven=applied.names,
            statistics=Statistics(self.steps, 0, self.equations.evaluations, seconds),
        )  # fmt: skip


def by_peer(
    system: System, method: str, origin: float, length: float, y: Array, forces: Forces, times: Array,
    rtol: float, atol: float, first: float | None, largest: float, progress: bool | None,
) -> Result:  # fmt: skip
    """A simulation by another library's solver; Python is called at every evaluation."""
    if forces.torque.kind == R.SAMPLED:
        raise ArgumentValueError(
            f"method={method!r}: a torque with a sample_time needs a method of Limber, such as dop853."
        )
    if method in SUNDIALS and y.size == 0:
        raise ArgumentValueError(
            f'method={method!r} needs a state, but {system.name!r} has no degrees of freedom. Use method="auto".'
        )
    equations = EquationsOfMotion(system, forces, origin)
    run = PeerRun(equations, times)
    steps = _scipy if method in SCIPY else _sundials
    message = "reached t_end"
    try:
        with Progress((origin, origin + length), progress) as bar, keep_interrupts(forces.failure):
            run.start(y)
            for t, dense in steps(method, equations, length, y, rtol, atol, first, largest):
                run.steps += 1
                run.reach(t, dense())
                bar.show(run)
    except KeyboardInterrupt:
        message = interrupted(run.t)
    except BaseException as error:
        error.result = run.result(str(error))  # type: ignore[attr-defined]
        raise
    result = run.result(message)
    refuse_indefinite(result)
    warn_of_doubts(result)
    return result


def _scipy(method, equations: EquationsOfMotion, length, y, rtol, atol, first, largest) -> Steps:
    from scipy import integrate  # noqa: PLC0415

    if first is not None:
        first = min(first, length)
    solver = getattr(integrate, method)(
        equations.rates, 0.0, y, length, rtol=rtol, atol=atol, first_step=first, max_step=largest
    )
    while solver.status == "running":
        reached = solver.t
        message = solver.step()
        if solver.status == "failed":
            raise _gave_up(f"SciPy's {method}", equations.origin + reached, message)
        yield solver.t, solver.dense_output


def _sundials(method, equations: EquationsOfMotion, length, y, rtol, atol, first, largest) -> Steps:
    try:
        library = import_module(f"sksundae.{method}")
    except ImportError as error:
        raise MissingExtraError(
            f'method={method!r} needs scikit-sundae: pip install "limber-dynamics[sundials]".'
        ) from error

    def explicit(t, y, rates):
        rates[:] = equations.rates(t, y)

    def implicit(t, y, rates, residual):
        residual[:] = equations.residual(t, y, rates)

    smallest = 4.0 * np.spacing(length)  # a smaller step would not change the time
    largest = max(min(largest, length), smallest)
    options = {
        "rtol": rtol, "atol": atol, "first_step": min(first or 0.0, largest),
        "min_step": smallest, "max_step": largest,
    }  # fmt: skip
    if method == "cvode":
        solver: Any = library.CVODE(explicit, **options)
        solver.init_step(0.0, y)
    else:
        solver = library.IDA(implicit, **options)
        solver.init_step(0.0, y, equations.rates(0.0, y))

    def within(t):
        # A "normal" step back to a time within the last one interpolates.
        return done.y if t == done.t else solver.step(t, "normal").y

    reached = 0.0
    while reached < length:
        done = solver.step(length, "onestep", length)
        if not done.success:
            raise _gave_up(method.upper(), equations.origin + reached, done.message)
        if done.t > reached:  # otherwise it only returned from where it was asked to interpolate
            reached = done.t
            yield reached, lambda: within


def _gave_up(solver: str, t: float, message: str) -> SimulationError:
    return SimulationError(
        f"{solver} gave up at t = {t:.6g} s: {message.rstrip('.')}. Look at the result so far (error.result); loosen rtol if "
        'the model is correct, or use method="auto".'
    )
