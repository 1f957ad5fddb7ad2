"""Nonlinear model predictive control by real-time iterations.

At every sample the plan over a horizon of N intervals, of one sample time each, is improved by one Newton step: all
intervals are linearized about the plan, and one quadratic program gives the change of states and forces (Diehl et al.
2005). The work has two phases:

    preparation   shift the plan by one interval, linearize it, pass the matrices to the solver; needs no measurement
    feedback      set the measured state as the start of the horizon; solve, send the first forces

If commands take effect after a delay, the horizon begins at that time: the measured state is predicted up to it under
the forces already sent.

`command` does the preparation first if `idle` has not done it since the last sample. A loop with time between its
samples calls `idle` there, so that the delay from measurement to command is that of the feedback phase alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, number, numbers, shown, whole
from limber.control.controller import Controller, Measured
from limber.control.joint_controller import driven_channels
from limber.control.joints import same_layout
from limber.control.optimal import qp
from limber.control.optimal.objective import Objective
from limber.control.optimal.pattern import Pattern
from limber.control.optimal.plant import Plants
from limber.control.optimal.terms import Effort, MinimumTime, checked_terms
from limber.dynamics import inverse_dynamics
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn


class NMPC(Controller):
    """Nonlinear model predictive control; the head of this file describes the work at each sample.

    Parameters
    ----------
    system : the model, an open system.
    intervals : N, the length of the horizon in samples.
    sample_time : s.
    costs : `Effort`, which every joint needs, `Tracking`, `Vibration`, `NodeTracking`. References are functions of
        simulation time.
    nodes : `NodeBounds`.
    joints, torque, speed, coordinates, substeps : as for `OptimalControl`.
    end : the configuration about which `Vibration` is measured; neutral by default.
    observer : if the state is not fully measured, an object that estimates it, such as `Kalman`.
    start_iterations : Newton steps at the first sample, from a plan that holds the measured configuration.
    qp_iterations : the largest number of iterations of the solver of the quadratic program, PIQP (extra "mpc").
    accuracy : absolute and relative accuracy of the cost of that program; a smaller value takes more iterations.
    delay : the delay from a sample to the effect of its command, s, over which the state is predicted; by default that
        of the loop.

    If the program has no solution, for example because bounds cannot be met, the shifted plan of the last sample is
    used; a warning says so once per run, and the signal "solved" is 0 at that sample. Bounds on states apply from the
    end of the first interval.
    """

    def __init__(
        self,
        system: System,
        intervals: int,
        *,
        sample_time: float,
        costs: Any,
        nodes: Any = (),
        joints: Any = None,
        torque: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        coordinates: Mapping[str, Any] | None = None,
        end: ArrayLike | None = None,
        substeps: int | None = None,
        observer: Any = None,
        start_iterations: int = 10,
        qp_iterations: int = 50,
        accuracy: float = 1e-6,
        delay: float | None = None,
    ):
        self.sample_time = number("sample_time", sample_time, above=0.0)
        self.intervals = whole("intervals", intervals, 2)
        self.costs, self.nodes = checked_terms(costs, nodes)
        self.start_iterations = whole("start_iterations", start_iterations, 1)
        self.qp_iterations = whole("qp_iterations", qp_iterations, 1)
        self.accuracy = number("accuracy", accuracy, above=0.0)
        self.delay = None if delay is None else number("delay", delay, minimum=0.0)
        self._delay = self.delay or 0.0
        qp.imported()
        self.plants = plants = Plants(system, joints, owner="NMPC")
        self.system, self.observer = system, observer
        self.joints, self.torque, self.speed, self.coordinates = joints, torque, speed, coordinates
        neutral = system.neutral()
        self.end = neutral if end is None else numbers("end", end, f"({system.nq},)")
        self.substeps = plants.substeps(self.sample_time, substeps, neutral)
        for cost in self.costs:
            if isinstance(cost, MinimumTime):
                raise ArgumentTypeError(
                    "costs: NMPC has a fixed horizon, so it does not support MinimumTime, which is for OptimalControl."
                )
            if isinstance(cost, Effort) and np.any(cost.change):
                raise ArgumentValueError(
                    "costs: Effort.change is for OptimalControl; NMPC supports only Effort.weight."
                )
        self._limits(torque, speed, coordinates or {})
        self._objective = self._objective_from(0.0)
        if not (self._objective.R > 0.0).all():
            raise ArgumentValueError(
                "costs: NMPC needs an Effort with a weight above 0 for every joint."
            )
        self._make_patterns()
        self._width, self._out = system.nv, plants.places.v
        self._initial = np.zeros(plants.nu)

    def _objective_from(self, t: float) -> Objective:
        times: Array = t + self.sample_time * np.arange(self.intervals + 1.0)
        return Objective(self.plants, self.costs, times, self.end)

    def _limits(self, torque: Any, speed: Any, coordinates: Mapping[str, Any]) -> None:
        """Bounds of the forces and of the state."""
        s, places = self.system, self.plants.places
        self._x_lower, self._x_upper = (
            np.full(self.plants.nx, -np.inf),
            np.full(self.plants.nx, np.inf),
        )
        found = []
        for name, value in (("torque", torque), ("speed", speed)):
            limit = np.inf if value is None else numbers(name, value, "() or (joints,)")
            if np.shape(limit) not in ((), (len(places),)) or not np.all(limit > 0.0):
                raise ArgumentValueError(
                    f"{name} must be one number above 0, or {len(places)} of them, one for each of "
                    f"{', '.join(places.labels)}; got {shown(value)}."
                )
            found.append(np.broadcast_to(limit, (len(places),)).astype(float))
        self._largest, speeds = found
        self._u_limit = self._largest
        self._x_lower[s.nq + places.v], self._x_upper[s.nq + places.v] = -speeds, speeds
        for body, span in coordinates.items():
            s.number(body, "coordinates: body")
            low, high = (float(x) for x in span)
            where = s.layout[body].q_joint
            self._x_lower[where], self._x_upper[where] = low, high

    # --- the quadratic program ---------------------------------------------------------------------

    def _make_patterns(self) -> None:
        """Places in z = [du_0, dx_1, du_1, ..., dx_N]."""
        N, nx, nu, nq = self.intervals, self.plants.nx, self.plants.nu, self.system.nq
        starts = np.arange(N) * (nx + nu)
        self._u_at, self._x_at = (
            starts[:, None] + np.arange(nu),
            starts[:, None] + nu + np.arange(nx),
        )
        rows = np.arange(N * nx).reshape(N, nx)
        size = N * (nx + nu)

        def blocks(rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, ...]:
            return np.broadcast_arrays(rows[..., :, None], columns[..., None, :])  # type: ignore[return-value]

        states, forces = blocks(rows[1:], self._x_at[:-1]), blocks(rows, self._u_at)
        parts = (states, forces, (rows, self._x_at))
        self._A = Pattern([p[0] for p in parts], [p[1] for p in parts], (N * nx, size))
        costs = (blocks(self._x_at, self._x_at), (self._u_at, self._u_at))
        self._P = Pattern([p[0] for p in costs], [p[1] for p in costs], (size, size), upper=True)
        boxes = len(self.nodes)
        of_boxes = np.arange(boxes * N * 3).reshape(boxes, N, 3)
        row, column = blocks(of_boxes, np.tile(self._x_at[:, :nq], (boxes, 1, 1)))
        self._G = Pattern([row], [column], (boxes * N * 3, size))
        self._ones = np.full((N, nx), -1.0)

    def _program(self) -> qp.Program:
        """The quadratic program about the plan."""
        N, nx, dt = self.intervals, self.plants.nx, self.sample_time
        x, u, o = self._x, self._u, self._objective
        x_new, slopes = self.plants.shooting.shoot(
            x[:-1], u, np.full(N, dt), self.substeps, self.plants.numbers[0], self._slopes
        )
        self._first = slopes[0, :, :nx].copy()
        A = self._A.values([slopes[1:, :, :nx], slopes[:, :, nx:], self._ones])
        b = x[1:] - x_new
        _, slope, Q = o.stages(0, x)
        scale = np.full(N + 1, dt)
        scale[-1] = 1.0
        P = self._P.values([Q[1:] * scale[1:, None, None], np.tile(dt * o.R, (N, 1))])
        c = np.empty(N * (nx + self.plants.nu))
        c[self._x_at] = slope[1:] * scale[1:, None]
        c[self._u_at] = dt * u * o.R
        z_lower, z_upper = np.empty_like(c), np.empty_like(c)
        z_lower[self._u_at], z_upper[self._u_at] = -self._u_limit - u, self._u_limit - u
        z_lower[self._x_at], z_upper[self._x_at] = self._x_lower - x[1:], self._x_upper - x[1:]
        G, lower, upper = self._boxes(x)
        return qp.Program(
            self._P.matrix(P), c, self._A.matrix(A), b.ravel(), self._G.matrix(G), lower, upper, z_lower, z_upper
        )  # fmt: skip

    def _boxes(self, x: Array) -> tuple[Array, Array, Array]:
        """Derivatives and bounds of the nodes in boxes."""
        slopes, lower, upper = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
        for box in self.nodes:
            p, J = self.plants.node(0, x[1:], box.body, box.node)
            slopes.append(J.ravel())
            lower.append((np.broadcast_to(box.lower, p.shape) - p).ravel())
            upper.append((np.broadcast_to(box.upper, p.shape) - p).ravel())
        return self._G.values(slopes), np.concatenate(lower), np.concatenate(upper)

    # --- the controller ----------------------------------------------------------------------------

    def prepare(self, loop: Any) -> None:
        """Find the actuators, and check that the state is known."""
        s = loop.system
        if not same_layout(s, self.system):
            raise ArgumentValueError(
                f"NMPC: its model {self.system.name!r} and the system of the loop {s.name!r} have different bodies or "
                "modes."
            )
        self.uses: tuple[str, ...] = ()
        if self.observer is not None:
            self.observer.prepare(loop)
            self.uses = tuple(self.observer.uses)
        elif loop.sensors:
            raise ArgumentValueError(
                "NMPC needs the full state, which sensors do not measure: give it an observer=..., such as "
                "lb.control.Kalman."
            )
        self._width, self._out = s.nv, self.plants.places.v
        self._u_limit = self._largest
        if loop.actuators:
            self._width, self._out = (
                len(loop.channels),
                driven_channels(self, loop, self.plants.places.labels),
            )
            self._u_limit = np.minimum(self._largest, loop.limits[self._out])
        self._delay = loop.delay if self.delay is None else self.delay
        self._initial = (
            np.zeros(self.plants.nu) if loop.initial is None else loop.initial[self._out]
        )

    def start(self, t: float, measured: Measured) -> None:
        """Plan to hold the measured configuration, and improve this plan."""
        if self.observer is not None:
            self.observer.start(t, measured)
        self._told, self._ready = False, False
        self._qp: qp.Solver | None = None
        self._solved = 1.0
        self._since: float | None = None
        self._sent: list[tuple[float, Array]] = []
        self._t = t + self._delay
        self._objective = self._objective_from(self._t)
        self._slopes = np.empty((self.intervals, self.plants.nx, self.plants.shooting.width))
        x = self._state(t, measured)
        q, rest = x[: self.system.nq], np.zeros(self.system.nv)
        hold = inverse_dynamics(self.system, q, rest, rest)[self.plants.places.v]
        self._u = np.tile(np.clip(hold, -self._u_limit, self._u_limit), (self.intervals, 1))
        self._x = self._rolled(x)
        for _ in range(self.start_iterations):
            self._prepare_program()
            self.feedback(x)
        self._prepare_program()

    def _state(self, t: float, measured: Measured) -> Array:
        """The state at which a command of time t takes effect; an observer is updated once per sample."""
        if self.observer is not None and self._since != t:
            self._estimate, self._since = self.observer.update(t, measured), t
        q, v = (measured.q, measured.v) if self.observer is None else self._estimate
        return self._predicted(t, np.concatenate([q, v]))

    def _predicted(self, t: float, x: Array) -> Array:
        """The state x at time t, predicted over the delay under the forces sent before."""
        end = t + self._delay
        while len(self._sent) > 1 and self._sent[1][0] + self._delay <= t:
            del self._sent[0]  # another one has taken its place
        effects = [(sent + self._delay, u) for sent, u in self._sent]
        if not effects or effects[0][0] > t:
            effects.insert(0, (t, self._initial))
        for (start, u), stop in zip(effects, [*(start for start, _ in effects[1:]), end]):
            dt = min(stop, end) - max(start, t)
            if dt > 1e-9 * self.sample_time:
                substeps = int(np.ceil(self.substeps * dt / self.sample_time))
                x = self.plants.shooting.roll(x[None], u[None], np.full(1, dt), substeps)[0]
        return x

    def _rolled(self, x: Array) -> Array:
        """The states under the forces of the plan, from x."""
        states = [x]
        dt = np.full(1, self.sample_time)
        for u in self._u:
            states.append(
                self.plants.shooting.roll(states[-1][None], u[None], dt, self.substeps)[0]
            )
        return np.array(states)

    def _prepare_program(self) -> None:
        self._now = self._program()
        if self._qp is None:
            self._qp = qp.Solver(self._now, self.qp_iterations, self.accuracy)
        else:
            self._qp.prepare(self._now)
        self._start_b = self._now.b[: self.plants.nx].copy()
        self._ready = True

    def idle(self) -> None:
        """Run the preparation phase for the next sample; called when the command is out."""
        if not self._ready:
            self._shift()
            self._prepare_program()

    def _prepare_for(self, t: float) -> None:
        """Run the preparation phase for a horizon from t, unless `idle` has done it; samples may have been lost
        since."""
        late = t - self._t > 0.5 * self.sample_time
        while t - self._t > 0.5 * self.sample_time:
            self._shift()
        if late or not self._ready:
            self._prepare_program()

    def _shift(self) -> None:
        """Move the plan by one interval."""
        self._t += self.sample_time
        self._x[:-1], self._u[:-1] = self._x[1:], self._u[1:].copy()
        last = self._x[-2:-1], self._u[-1:]
        self._x[-1] = self.plants.shooting.roll(*last, np.full(1, self.sample_time), self.substeps)[
            0
        ]
        ahead: Array = self._t + self.sample_time * np.arange(
            self.intervals - 1.0, self.intervals + 1.0
        )
        self._objective.shift(ahead)

    def feedback(self, x: Array) -> Array:
        """Run the feedback phase: return the first forces (joints,) of the plan from the state x (nx,)."""
        x = self.plants.near(x, self._x[0])
        self._now.b[: self.plants.nx] = self._start_b - self._first @ (x - self._x[0])
        assert self._qp is not None
        z = self._qp.solve(self._now)
        self._ready = False
        self._solved = 0.0 if z is None else 1.0
        if z is not None:
            self._u += z[self._u_at]
            self._x[1:] += z[self._x_at]
            self._x[0] = x
            self._x = self.plants.unit(self._x)
        else:
            self._x = self._rolled(x)
        np.clip(self._u, -self._u_limit, self._u_limit, out=self._u)
        return self._u[0]

    def command(self, t: float, measured: Measured) -> Array:
        """The forces of the joints."""
        x = self._state(t, measured)
        self._prepare_for(t + self._delay)
        torque = self.feedback(x)
        if self._delay:
            self._sent.append((t, torque.copy()))
        if not self._solved and not self._told:
            self._told = True
            warn(
                f"NMPC: the quadratic program has no solution at t = {t:.6g} s; the controller continues with the plan of the previous sample. This "
                'warning appears once; the signal "solved" shows the state of later samples.',
                ModelWarning,
            )
        command = np.zeros(self._width)
        command[self._out] = torque
        return command

    def __getstate__(self) -> dict[str, Any]:
        # Copies are made for runs of their own, which begin with `start`.
        return {key: value for key, value in vars(self).items() if key not in ("_qp", "_now")}

    @property
    def plan(self) -> tuple[Array, Array]:
        """The planned states (N + 1, nq + nv) and forces (N, joints)."""
        return self._x.copy(), self._u.copy()

    def outputs(self) -> dict[str, Any]:
        """Return whether the program was solved, and the outputs of the observer."""
        outputs = getattr(self.observer, "outputs", None)
        return {"solved": self._solved, **(outputs() if outputs is not None else {})}

    def __repr__(self) -> str:
        return (
            f"NMPC({self.intervals} intervals of {self.sample_time:g} s, {self.plants.nx} states)"
        )
