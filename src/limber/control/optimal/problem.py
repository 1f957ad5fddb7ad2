"""Optimal control by multiple shooting with generated derivatives.

minimize    costs of states, forces, positions of nodes and time (`limber.control.optimal.terms`)
subject to  x_k+1 = step(x_k, u_k, T/N)  for every plant, under the same u
            bounds on joints, speeds, torques and positions of nodes; initial and final conditions

The unknowns are the states x = [q, v] at N + 1 times and the forces u, constant over each of the N intervals (Bock &
Plitt 1984). The matrices of the problem are sparse: each interval involves only its own states and forces, and the next
states. The derivatives of the intervals are exact. Second derivatives are differences of the exact first ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number, numbers, shown, whole
from limber.control.optimal.objective import Objective
from limber.control.optimal.pattern import Pattern
from limber.control.optimal.plant import Plants
from limber.control.optimal.solution import OptimalMotion
from limber.control.optimal.terms import NodeBounds, checked_terms, error_map
from limber.dynamics import inverse_dynamics
from limber.dynamics.equilibrium import equilibrium
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.trajectories import Quintic

#: The step of the differences that give second derivatives, relative to 1 + |z|.
DIFFERENCE = 1e-5
RESTS = ("all", "joints", False)


class OptimalControl:
    """An optimal control problem; the head of this file has the equations.

    Parameters
    ----------
    system : an open system.
    duration : T in s; or (shortest, longest) for a free duration.
    intervals : N; the forces are constant over each interval.
    q0, v0 : the initial state; by default the neutral configuration at rest.
    end : {body: coordinates of its joint} at the end, for the first plant; joints that are not named may end anywhere.
    rest : "all" if the motion ends with all speeds zero and the modes in their static deflection, "joints" if only the
        joints end at rest, False for neither; for the first plant.
    costs : `Effort`, `Tracking`, `Vibration`, `NodeTracking`, `MinimumTime`.
    nodes : `NodeBounds`.
    joints : the bodies whose joints are driven; by default all joints whose speeds are the rates of their coordinates.
    torque, speed : the largest torque and speed of each driven joint, N m and rad/s (or N and m/s): one number or one
        for each.
    coordinates : {body: (lowest, highest)} of joint coordinates.
    scenarios : {parameter: value} of further plants (`System.with_parameters`), which move under the same forces. Costs
        are means over all plants, and bounds hold for all of them; `end` and `rest` hold for the first.
    substeps : steps of the Runge-Kutta method in an interval; None for as many as the highest frequency requires.
    """

    def __init__(
        self,
        system: System,
        duration: float | tuple[float, float],
        intervals: int,
        *,
        q0: ArrayLike | None = None,
        v0: ArrayLike | None = None,
        end: Mapping[str, ArrayLike] | None = None,
        rest: str | bool = "all",
        costs: Any = (),
        nodes: Any = (),
        joints: Any = None,
        torque: ArrayLike | None = None,
        speed: ArrayLike | None = None,
        coordinates: Mapping[str, Any] | None = None,
        scenarios: Sequence[Mapping[str, Any]] = (),
        substeps: int | None = None,
    ):
        self.duration = _duration(duration)
        self.free = self.duration[0] < self.duration[1]
        self.intervals = whole("intervals", intervals, 1)
        self.costs, self.nodes = checked_terms(costs, nodes)
        if rest not in RESTS:
            raise ArgumentValueError(f'rest must be "all", "joints" or False, got {shown(rest)}.')
        self.plants = plants = Plants(system, joints, scenarios, self.free)
        self.system, self.rest = system, rest
        self.q0 = system.neutral() if q0 is None else array("q0", q0, (system.nq,))
        self.v0 = np.zeros(system.nv) if v0 is None else array("v0", v0, (system.nv,))
        self.substeps = plants.substeps(self.duration[1] / self.intervals, substeps, self.q0)
        self.goal = self._find_end({} if end is None else end)
        times = np.linspace(0.0, self.duration[1], self.intervals + 1)
        self.objective = Objective(plants, self.costs, times, self.goal)
        if self.objective.time and not self.free:
            raise ArgumentValueError(
                f"costs: MinimumTime needs a free duration, such as duration=(0.5, 3.0); got {duration}."
            )
        self._lay_out()
        self._bound(torque, speed, coordinates or {})
        self._make_patterns()

    # --- the unknowns ------------------------------------------------------------------------------

    def _find_end(self, end: Mapping[str, ArrayLike]) -> Array:
        """The final configuration: its joints, and the static deflection of the modes."""
        if not isinstance(end, Mapping):
            raise ArgumentTypeError(
                f"end must be {{body: coordinates of its joint}}, got {shown(end)}."
            )
        s = self.system
        self.end = {}
        q = np.array(self.q0)
        for body, value in end.items():
            s.number(body, "end: body")
            where = s.layout[body].q_joint
            self.end[body] = q[where] = array(
                f"end[{body!r}]", np.atleast_1d(value), (s.joints[body].nq,)
            )
        if any(body.modes for body in s.bodies.values()):
            held = [b for b, joint in s.joints.items() if joint.dofs]
            q = equilibrium(s, q, locked=held)
        return q

    def _lay_out(self) -> None:
        """Places of the unknowns: states of all plants and forces of each interval, the last states, the duration."""
        N, S, nx, nu = self.intervals, len(self.plants), self.plants.nx, self.plants.nu
        width = S * nx + nu
        starts = np.arange(N + 1) * width
        #: (plants, N + 1, nx), (N, nu)
        self.x_at = (
            starts[None, :, None] + np.arange(S)[:, None, None] * nx + np.arange(nx)[None, None]
        )
        self.u_at = starts[:N, None] + S * nx + np.arange(nu)
        self.size = int(starts[-1]) + S * nx + self.free
        self.T_at = self.size - 1

    def parts(self, z: Array) -> tuple[Array, Array, float]:
        """Split the unknowns into states (plants, N + 1, nx), forces (N, nu) and the duration."""
        T = float(z[self.T_at]) if self.free else self.duration[0]
        return z[self.x_at], z[self.u_at], T

    def joined(self, x: Array, u: Array, T: float) -> Array:
        """Join all unknowns into one vector."""
        z = np.empty(self.size)
        z[self.x_at], z[self.u_at] = x, u
        if self.free:
            z[self.T_at] = T
        return z

    def guess(self) -> Array:
        """An initial guess: the joints follow quintics, with the forces that this requires while the modes are at
        rest."""
        s, N, places = self.system, self.intervals, self.plants.places
        T = (
            self.duration[0]
            if not self.free
            else float(np.sqrt(self.duration[0] * self.duration[1]))
        )
        t = np.linspace(0.0, T, N + 1)
        move = Quintic(self.q0[places.q], self.goal[places.q], T)(t)
        q, v, vdot = np.tile(self.q0, (N + 1, 1)), np.zeros((N + 1, s.nv)), np.zeros((N + 1, s.nv))
        part = np.linspace(0.0, 1.0, N + 1)[:, None]
        for where in s.layout.values():
            modes = where.q_modes
            q[:, modes] = (1.0 - part) * self.q0[modes] + part * self.goal[modes]
        q[:, places.q], v[:, places.v], vdot[:, places.v] = move
        u = inverse_dynamics(s, q, v, vdot)[:, places.v]
        u = 0.5 * (u[1:] + u[:-1])
        x = np.tile(np.hstack([q, v]), (len(self.plants), 1, 1))
        x[:, 0] = np.concatenate([self.q0, self.v0])
        return np.clip(self.joined(x, u, T), self.lower, self.upper)

    # --- bounds ------------------------------------------------------------------------------------

    def _bound(self, torque: Any, speed: Any, coordinates: Mapping[str, Any]) -> None:
        s, places, nq = self.system, self.plants.places, self.system.nq
        lower, upper = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        for name, value, at in (
            ("torque", torque, self.u_at),
            ("speed", speed, self.x_at[:, 1:, nq + places.v]),
        ):
            if value is not None:
                limit = numbers(name, value, "() or (joints,)")
                if limit.shape not in ((), (len(places),)) or not (limit > 0.0).all():
                    raise ArgumentValueError(
                        f"{name} must be one number above 0, or {len(places)} of them, one for each of "
                        f"{', '.join(places.labels)}; got {shown(value)}."
                    )
                lower[at], upper[at] = -limit, limit
        for body, span in coordinates.items():
            s.number(body, "coordinates: body")
            low, high = _span(f"coordinates[{body!r}]", span)
            at = self.x_at[:, 1:, s.layout[body].q_joint]
            lower[at], upper[at] = low, high
        first, last = self.x_at[:, 0], self.x_at[0, -1]
        lower[first] = upper[first] = np.concatenate([self.q0, self.v0])
        fixed: list[int] = []
        for body in self.end:
            if s.joints[body].quaternions():
                continue  # rows of the constraints
            fixed += range(s.layout[body].q_joint.start, s.layout[body].q_joint.stop)
        for where in s.layout.values():
            if self.rest:
                fixed += [nq + i for i in range(where.v_joint.start, where.v_joint.stop)]
            if self.rest == "all":
                fixed += range(where.q_modes.start, where.q_modes.stop)
                fixed += [nq + i for i in range(where.v_modes.start, where.v_modes.stop)]
        goal = np.concatenate([self.goal, np.zeros(s.nv)])
        lower[last[fixed]] = upper[last[fixed]] = goal[fixed]
        if self.free:
            lower[self.T_at], upper[self.T_at] = self.duration
        self.lower, self.upper = lower, upper
        turned = [b for b in self.end if s.joints[b].quaternions()]
        rows = [np.arange(s.layout[b].v_joint.start, s.layout[b].v_joint.stop) for b in turned]
        self._turned = error_map(s, self.goal)[np.concatenate([np.zeros(0, dtype=int), *rows])][
            :, :nq
        ]
        self._limit_rows()

    def _limit_rows(self) -> None:
        """Lower and upper bounds of the constraints: steps, boxes of nodes, rotations at the end."""
        N, S = self.intervals, len(self.plants)
        steps = np.zeros(N * S * self.plants.nx)
        low, high = [steps], [steps]
        for box in self.nodes:
            self.system.node_number(box.body, box.node)
            for rows, value in ((low, box.lower), (high, box.upper)):
                rows.append(np.tile(np.broadcast_to(np.asarray(value, dtype=float), (3,)), N * S))
        turn = self._turned @ self.goal
        self.row_lower, self.row_upper = np.concatenate([*low, turn]), np.concatenate([*high, turn])

    # --- sparsity ----------------------------------------------------------------------------------

    def _make_patterns(self) -> None:
        N, S, nx, nq = self.intervals, len(self.plants), self.plants.nx, self.system.nq
        width = self.plants.shooting.width
        #: (plants, N, width): the unknowns that an interval depends on
        self._inner = np.empty((S, N, width), dtype=int)
        self._inner[:, :, :nx] = self.x_at[:, :-1]
        self._inner[:, :, nx : nx + self.plants.nu] = self.u_at
        if self.free:
            self._inner[:, :, -1] = self.T_at
        steps = np.arange(N * S * nx).reshape(S, N, nx)
        rows = [np.repeat(steps[..., None], width, axis=-1), steps]
        columns = [np.repeat(self._inner[:, :, None, :], nx, axis=2), self.x_at[:, 1:]]
        at = steps.size
        for _ in self.nodes:
            here = at + np.arange(3 * N * S).reshape(S, N, 3, 1)
            rows.append(np.repeat(here, nq, axis=-1))
            columns.append(np.repeat(self.x_at[:, 1:, None, :nq], 3, axis=2))
            at += 3 * N * S
        turns = len(self._turned)
        rows.append(np.repeat(at + np.arange(turns)[:, None], nq, axis=1))
        columns.append(np.tile(self.x_at[0, -1, :nq], (turns, 1)))
        self.rows = at + turns
        self.jacobian_pattern = Pattern(rows, columns, (self.rows, self.size))
        # second derivatives: blocks of intervals, of the last states, and of neighbouring forces
        blocks = [(self._inner[..., :, None], self._inner[..., None, :])]
        blocks.append((self.x_at[:, -1, :, None], self.x_at[:, -1, None, :]))
        if self.objective.change.any():
            blocks.append((self.u_at[:-1], self.u_at[1:]))
            blocks.append((self.u_at[1:], self.u_at[:-1]))
        blocks.append((self.u_at, self.u_at))
        pairs = [np.broadcast_arrays(*block) for block in blocks]
        self.hessian_pattern = Pattern(
            [r for r, _ in pairs], [c for _, c in pairs], (self.size, self.size), upper=True
        )

    # --- values ------------------------------------------------------------------------------------

    def _flat(self, x: Array, u: Array, T: float):
        """The arguments of the shooting of all plants and intervals."""
        N, S = self.intervals, len(self.plants)
        numbers = np.repeat(self.plants.numbers, N, axis=0)
        return (
            x[:, :-1].reshape(N * S, -1),
            np.tile(u, (S, 1)),
            np.full(N * S, T / N),
            self.substeps,
            numbers,
        )

    def cost(self, z: Array) -> tuple[float, Array]:
        """The cost and its gradient."""
        x, u, T = self.parts(z)
        N, dt, o = self.intervals, T / self.intervals, self.objective
        gradient = np.zeros(self.size)
        running = 0.5 * float((u * u * o.R).sum())
        gradient[self.u_at] = dt * u * o.R
        final = 0.0
        for case in range(len(self.plants)):
            cost, slope, _ = o.stages(case, x[case])
            running += float(cost[:-1].sum())
            final += float(cost[-1])
            slope[:-1] *= dt
            gradient[self.x_at[case]] += slope
        jumps = np.diff(u, axis=0)
        if o.change.any():
            pull = jumps * o.change
            final += 0.5 * float((pull * jumps).sum())
            gradient[self.u_at[1:]] += pull
            gradient[self.u_at[:-1]] -= pull
        if self.free:
            gradient[self.T_at] = running / N + o.time
        return dt * running + final + o.time * T, gradient

    def constraints(self, z: Array) -> Array:
        """All constraints: steps, positions of nodes, rotations at the end."""
        x, u, T = self.parts(z)
        x_new = self.plants.shooting.roll(*self._flat(x, u, T)).reshape(x[:, 1:].shape)
        parts = [(x_new - x[:, 1:]).ravel()]
        for box in self.nodes:
            for case in range(len(self.plants)):
                parts.append(self.plants.node(case, x[case, 1:], box.body, box.node)[0].ravel())
        parts.append(self._turned @ x[0, -1, : self.system.nq])
        return np.concatenate(parts)

    def _slopes(self, x: Array, u: Array, T: float) -> Array:
        """Derivatives (plants, N, nx, width) of the intervals, with respect to T instead of dt."""
        _, slopes = self.plants.shooting.shoot(*self._flat(x, u, T))
        slopes = slopes.reshape(len(self.plants), self.intervals, *slopes.shape[1:])
        if self.free:
            slopes[..., -1] /= self.intervals
        return slopes

    def jacobian(self, z: Array) -> Array:
        """The nonzero elements of the Jacobian of the constraints, in the order of its pattern."""
        x, u, T = self.parts(z)
        slopes = self._slopes(x, u, T)
        parts = [slopes, np.full(x[:, 1:].shape, -1.0)]
        for box in self.nodes:
            parts.append(
                np.array(
                    [self.plants.node(c, x[c, 1:], box.body, box.node)[1] for c in range(len(x))]
                )
            )
        parts.append(self._turned)
        return self.jacobian_pattern.values(parts)

    def hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """The nonzero elements of the upper triangle of the Hessian of factor * cost + multipliers . constraints."""
        x, u, T = self.parts(z)
        N, S, nx, nu = self.intervals, len(self.plants), self.plants.nx, self.plants.nu
        o, dt = self.objective, T / self.intervals
        H = self._curvature(x, u, T, multipliers[: N * S * nx].reshape(S, N, nx))
        last = np.zeros((S, nx, nx))
        at = N * S * nx
        for case in range(S):
            _, slope, Q = o.stages(case, x[case])
            H[case, :, :nx, :nx] += factor * dt * Q[:-1]
            last[case] += factor * Q[-1]
            if self.free:
                H[case, :, :nx, -1] += factor / N * slope[:-1]
                H[case, :, -1, :nx] += factor / N * slope[:-1]
                if case == 0:
                    H[case, :, nx : nx + nu, -1] += factor / N * u * o.R
                    H[case, :, -1, nx : nx + nu] += factor / N * u * o.R
        for box in self.nodes:
            force = multipliers[at : at + 3 * N * S].reshape(S, N, 3)
            at += 3 * N * S
            for case in range(S):
                bent = self._bent(case, x[case, 1:], box, force[case])
                H[case, 1:, : bent.shape[1], : bent.shape[1]] += bent[:-1]
                last[case, : bent.shape[1], : bent.shape[1]] += bent[-1]
        parts = [H, last]
        own = factor * dt * np.tile(o.R, (N, 1))
        if o.change.any():
            pair = -factor * np.tile(o.change, (N - 1, 1))
            parts += [pair, pair]
            own[1:] += factor * o.change
            own[:-1] += factor * o.change
        parts.append(own)
        return self.hessian_pattern.values(parts)

    def _curvature(self, x: Array, u: Array, T: float, multipliers: Array) -> Array:
        """Second derivatives (plants, N, width, width) of multipliers . steps."""
        S, N, nx = multipliers.shape
        width = self.plants.shooting.width
        z = np.concatenate([x[:, :-1], np.tile(u, (S, 1, 1))], axis=-1)
        h = DIFFERENCE * (1.0 + np.abs(z).max(axis=(0, 1)))
        H = np.empty((S, N, width, width))
        for j in range(width):
            sides = []
            for sign in (1.0, -1.0):
                moved, late = z, T
                if j < len(h):
                    moved = z.copy()
                    moved[..., j] += sign * h[j]
                    step = h[j]
                else:
                    step = DIFFERENCE * T
                    late = T + sign * step
                flat = moved.reshape(S * N, -1)
                _, slopes = self.plants.shooting.shoot(
                    flat[:, :nx], flat[:, nx:], np.full(S * N, late / N), self.substeps,
                    np.repeat(self.plants.numbers, N, axis=0),
                )  # fmt: skip
                slopes = slopes.reshape(S, N, nx, width)
                if self.free:
                    slopes[..., -1] /= N
                sides.append(np.einsum("sni,snij->snj", multipliers, slopes))
            H[..., j, :] = (sides[0] - sides[1]) / (2.0 * step)
        return 0.5 * (H + np.swapaxes(H, -1, -2))

    def _bent(self, case: int, x: Array, box: NodeBounds, force: Array) -> Array:
        """Second derivatives (n, nq, nq) of force . position of a node."""
        nq = self.system.nq
        H = np.empty((len(x), nq, nq))
        for j in range(nq):
            sides = []
            for sign in (1.0, -1.0):
                moved = np.array(x)
                moved[:, j] += sign * DIFFERENCE
                J = self.plants.node(case, moved, box.body, box.node)[1]
                sides.append(np.einsum("ki,kij->kj", force, J))
            H[:, j] = (sides[0] - sides[1]) / (2.0 * DIFFERENCE)
        return 0.5 * (H + np.swapaxes(H, 1, 2))

    # --- solving -----------------------------------------------------------------------------------

    def solve(
        self,
        guess: OptimalMotion | None = None,
        *,
        tolerance: float = 1e-6,
        iterations: int = 500,
        hessian: str = "exact",
        progress: bool = False,
    ) -> OptimalMotion:
        """Find the optimal motion near the initial guess, by IPOPT.

        Parameters
        ----------
        guess : a motion to start from, of a problem with the same number of intervals and plants; its multipliers are
            used too. By default the joints start on quintics.
        tolerance : of the optimality conditions, as scaled by IPOPT.
        iterations : the largest number of iterations.
        hessian : "exact", or "limited-memory" for BFGS updates.
        progress : whether IPOPT prints its iterations.
        """
        from limber.control.optimal.ipopt import solved  # noqa: PLC0415

        return solved(self, guess, tolerance, iterations, hessian, progress)

    def __repr__(self) -> str:
        T = "{:g} to {:g}".format(*self.duration) if self.free else f"{self.duration[0]:g}"
        return (
            f"OptimalControl({self.system.name!r}, {T} s, {self.intervals} intervals, {len(self.plants)} plant(s), "
            f"{self.size} unknowns)"
        )


def _duration(given: Any) -> tuple[float, float]:
    if isinstance(given, (tuple, list)):
        return _span("duration", given, 0.0)
    T = number("duration", given, above=0.0)
    return T, T


def _span(name: str, given: Any, above: float = -np.inf) -> tuple[float, float]:
    ends = np.asarray(given, dtype=float) if np.ndim(given) == 1 and len(given) == 2 else None
    if ends is None or not (above < ends[0] < ends[1]):
        raise ArgumentValueError(f"{name} must be (lowest, highest), got {shown(given)}.")
    return float(ends[0]), float(ends[1])
