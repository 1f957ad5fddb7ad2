"""Episodes of a task, all stepped by one call of generated code."""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.checks import Array, finite_numbers
from limber.codegen import compile
from limber.errors import ArgumentValueError, SimulationError
from limber.exchange.learning.task import Moment, Task

#: States that one instruction handles.
LANES = 8


class Episodes:
    """`count` episodes of a task side by side, as arrays.

    Torques are held over a sample, which is divided into equal steps of the classical Runge-Kutta method.
    """

    def __init__(self, task: Task, count: int):
        s = task.system
        self.task, self.count = task, count
        self._names = list(task.randomize)
        self._step = compile(
            s, "step", parameters=self._names, lanes=LANES if count >= LANES else 1
        )
        self._nodes: dict[tuple[Any, Any], tuple[Any, Any]] = {}
        self._steps = round(task.sample_time / task.step)  # type: ignore[operator]
        self.q = np.tile(s.neutral(), (count, 1))
        self.v, self.tau = np.zeros((count, s.nv)), np.zeros((count, s.nv))
        self._spare = np.empty_like(self.q), np.empty_like(self.v)
        self.action = np.zeros((count, len(task.inputs)))  # type: ignore[arg-type]
        self.samples = np.zeros(count, dtype=np.int64)
        self.goal = np.zeros((count, 0))
        self.parameters = {
            name: np.tile(s.parameters[name].value, (count,) + (1,) * s.parameters[name].value.ndim)
            for name in self._names
        }

    def start(self, i: int, rng: np.random.Generator) -> None:
        """Start episode i afresh."""
        q, v, goal, parameters = self.task.drawn(rng)
        if self.goal.shape[1] != goal.size:
            self.goal = np.zeros((self.count, goal.size))
        self.q[i], self.v[i], self.goal[i] = q, v, goal
        self.action[i], self.samples[i] = 0.0, 0
        for name, x in parameters.items():
            self.parameters[name][i] = x

    def step(self, action: Any) -> None:
        """Hold the torques of an action (count, inputs) for one sample."""
        given = finite_numbers("action", action, f"({self.count}, {self.action.shape[1]})")
        if given.shape != self.action.shape:
            raise ArgumentValueError(
                f"action must have shape {self.action.shape}, got {given.shape}."
            )
        self.action = np.clip(given, -1.0, 1.0)
        self.tau[:, self.task.inputs] = self.action * np.asarray(self.task.torque, dtype=float)
        q, v = self.q, self.v
        next_q, next_v = self._spare
        more = [self.parameters[name] for name in self._names]
        for _ in range(self._steps):
            self._step(q, v, self.tau, self.task.step, *more, out=(next_q, next_v))
            q, next_q, v, next_v = next_q, q, next_v, v
        self.q, self.v, self._spare = q, v, (next_q, next_v)
        self.samples += 1
        finite = np.isfinite(q).all(axis=1) & np.isfinite(v).all(axis=1)
        if not finite.all():
            i = int(finite.argmin())
            raise SimulationError(
                f"episode {i} of {self.task.system.name!r} is no longer finite after {self.samples[i] * self.task.sample_time:.6g} "
                f"s, with steps of {self.task.step:.3g} s. Give a smaller step=..., smaller torques or narrower ranges of "
                "parameters."
            )

    def moment(self) -> Moment:
        """The states now; the arrays are copies."""
        return Moment(
            self.task.system,
            np.asarray(self.samples * self.task.sample_time, dtype=float),
            self.q.copy(),
            self.v.copy(),
            self.action.copy(),
            self.goal.copy(),
            {name: x.copy() for name, x in self.parameters.items()},
            self._node,
        )

    def _node(self, body: str, node: str | int | None = None) -> tuple[Array, Array]:
        """Position and velocity of a node, in the systems with the parameters that were drawn."""
        if (body, node) not in self._nodes:
            self._nodes[body, node] = tuple(  # type: ignore[assignment]
                compile(self.task.system, f, body=body, node=node, parameters=self._names)
                for f in ("pose", "jacobian")
            )
        pose, jacobian = self._nodes[body, node]
        more = [self.parameters[name] for name in self._names]
        _, position = pose(self.q, *more)
        J = jacobian(self.q, *more)[:, 3:]
        return position, np.einsum("nij,nj->ni", J, self.v)

    # --- what a policy gets ----------------------------------------------------------------------

    def observed(self, now: Moment) -> Array:
        """(count, n): observations in single precision."""
        if self.task.observation is None:
            found = np.concatenate([now.q, now.v, now.goal], axis=1)
        else:
            found = self._rows("observation", self.task.observation(now), 2)
        return found.astype(np.float32)

    def rewarded(self, now: Moment) -> Array:
        """(count,): rewards."""
        if self.task.reward is None:
            return np.zeros(self.count)
        return self._rows("reward", self.task.reward(now), 1).astype(float)

    def terminated(self, now: Moment) -> np.ndarray:
        """(count,): whether episodes have ended by what happened in them."""
        if self.task.terminated is None:
            return np.zeros(self.count, dtype=bool)
        return self._rows("terminated", self.task.terminated(now), 1).astype(bool)

    def truncated(self) -> np.ndarray:
        """(count,): whether episodes have lasted as long as they may."""
        return self.samples >= self.task.last

    def information(self, now: Moment) -> dict[str, Array]:
        """Arrays whose first dimension counts the episodes."""
        if self.task.information is None:
            return {}
        return {
            name: self._rows(f"information[{name!r}]", x, None)
            for name, x in self.task.information(now).items()
        }

    def _rows(self, what: str, found: Any, ndim: int | None) -> Array:
        """What a function of the task gave, one row for each episode."""
        found = np.asarray(found)
        if found.shape[:1] != (self.count,) or (ndim is not None and found.ndim != ndim):
            wanted = {1: f"({self.count},)", 2: f"({self.count}, n)"}.get(
                ndim or 0, f"({self.count}, ...)"
            )
            raise ArgumentValueError(
                f"{what} must give an array of shape {wanted}, a row for each episode, got shape {found.shape}."
            )
        return found
