"""Episodes of a task, all stepped by one call of generated code."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from limber.checks import Array, finite_numbers
from limber.codegen.compiler import compile, loaded, programmed
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
        self._nodes: dict[tuple[Any, Any], tuple[Any, Any]] = {}
        self.tau = np.zeros((count, s.nv))
        self.action = np.zeros((count, len(task.inputs)))  # type: ignore[arg-type]
        self.samples = np.zeros(count, dtype=np.int64)
        self.goal = np.zeros((count, 0))
        self.parameters = {
            name: np.tile(s.parameters[name].value, (count,) + (1,) * s.parameters[name].value.ndim)
            for name in self._names
        }
        # states go to and fro between two places
        self.q, self.v = np.tile(s.neutral(), (count, 1)), np.zeros((count, s.nv))
        self._next = np.empty_like(self.q), np.empty_like(self.v)
        self._steps = round(task.sample_time / task.step)  # type: ignore[operator]
        self._sized = False  # whether the size of goals is known
        self._bind()

    def _bind(self) -> None:
        """Make the functions that step from one state buffer to the other."""
        program = programmed(self.task.system, "step", None, None, None, (), self._names)
        code = loaded(program, LANES if self.count >= LANES else 1)
        held = (self.tau, np.array(self.task.step), *self.parameters.values())
        here, there = (self.q, self.v), self._next
        self._to, self._fro = (
            code.bound((*here, *held), there),
            code.bound((*there, *held), here),
        )

    def __getstate__(self) -> dict[str, Any]:
        """The state to copy and pickle: everything except compiled functions, which hold addresses of the arrays."""
        return {k: x for k, x in vars(self).items() if k not in ("_to", "_fro")} | {"_nodes": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy, which steps arrays of its own."""
        vars(self).update(state)
        self._bind()

    def start(self, which: int | slice, rng: np.random.Generator) -> None:
        """Start one episode again, or several as one."""
        q, v, goal, parameters = self.task.drawn(rng)
        if not self._sized:
            self.goal, self._sized = np.zeros((self.count, goal.size)), True
        if self.goal.shape[1] != goal.size:
            raise ArgumentValueError(
                f"start gave a goal of {goal.size} numbers, but one of {self.goal.shape[1]} before: all goals must have "
                "the same size."
            )
        self.q[which], self.v[which], self.goal[which] = q, v, goal
        self.action[which], self.samples[which] = 0.0, 0
        for name, x in parameters.items():
            self.parameters[name][which] = x

    def step(self, action: Any, over: np.ndarray | None = None) -> None:
        """Hold the torques of an action (count, inputs) for one sample.

        over : (count,) episodes that have ended and are not computed further.
        """
        given = finite_numbers("action", action, f"({self.count}, {self.action.shape[1]})")
        if given.shape != self.action.shape:
            raise ArgumentValueError(
                f"action must have shape {self.action.shape}, got {given.shape}."
            )
        self.action = np.clip(given, -1.0, 1.0)
        self.tau[:, self.task.inputs] = self.action * np.asarray(self.task.torque, dtype=float)
        for _ in range(self._steps):
            self._to()
            self._to, self._fro = self._fro, self._to
            (self.q, self.v), self._next = self._next, (self.q, self.v)
        self.samples += 1
        finite = np.isfinite(self.q).all(axis=1) & np.isfinite(self.v).all(axis=1)
        if over is not None:
            finite |= over
        if not finite.all():
            i = int(finite.argmin())
            t = self.samples[i] * self.task.sample_time
            raise SimulationError(
                f"episode {i} of {self.task.system.name!r} is no longer finite after {t:.6g} s, with steps of "
                f"{self.task.step:.3g} s. Give a smaller step=..., smaller torques or narrower ranges of parameters."
            )

    def moment(self) -> Moment:
        """The states now; the arrays are copies."""
        q, v = self.q.copy(), self.v.copy()
        parameters = {name: x.copy() for name, x in self.parameters.items()}

        @cache
        def node(body: str, node: str | int | None = None) -> tuple[Array, Array]:
            return self._node(body, node, q, v, list(parameters.values()))

        t = np.asarray(self.samples * self.task.sample_time, dtype=float)
        return Moment(
            self.task.system, t, q, v, self.action.copy(), self.goal.copy(), parameters, node
        )

    def _node(
        self, body: str, node: str | int | None, q: Array, v: Array, parameters: list[Array]
    ) -> tuple[Array, Array]:
        """Position and velocity of a node, in the systems with the drawn parameters."""
        if (body, node) not in self._nodes:
            self._nodes[body, node] = tuple(  # type: ignore[assignment]
                compile(self.task.system, f, body=body, node=node, parameters=self._names)
                for f in ("pose", "jacobian")
            )
        pose, jacobian = self._nodes[body, node]
        if self.count == 1:  # generated code is called faster on single states
            one = [x[0] for x in (q, *parameters)]
            return pose(*one)[1][None], (jacobian(*one)[3:] @ v[0])[None]
        _, position = pose(q, *parameters)
        return position, np.einsum("nij,nj->ni", jacobian(q, *parameters)[:, 3:], v)

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
        """(count,): whether episodes have terminated."""
        if self.task.terminated is None:
            return np.zeros(self.count, dtype=bool)
        return self._rows("terminated", self.task.terminated(now), 1).astype(bool)

    def truncated(self) -> np.ndarray:
        """(count,): whether episodes have reached their duration."""
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
        """The result of a function of the task, one row for each episode."""
        found = np.asarray(found)
        if found.shape[:1] != (self.count,) or (ndim is not None and found.ndim != ndim):
            wanted = {1: f"({self.count},)", 2: f"({self.count}, n)"}.get(
                ndim or 0, f"({self.count}, ...)"
            )
            raise ArgumentValueError(
                f"{what} must return an array of shape {wanted}, with one row for each episode, got shape {found.shape}."
            )
        return found
