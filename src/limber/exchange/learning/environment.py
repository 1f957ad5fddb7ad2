"""`Environment` and `VectorEnvironment`: tasks as Gymnasium environments."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from limber.checks import Array, finite_numbers, shown, text, whole
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError
from limber.exchange.learning.episodes import Episodes
from limber.exchange.learning.frames import Frames
from limber.exchange.learning.task import Task

try:
    from gymnasium import Env
    from gymnasium.spaces import Box
    from gymnasium.utils import seeding
    from gymnasium.vector import AutoresetMode, VectorEnv
    from gymnasium.vector.utils import batch_space
except ImportError:

    class Env:  # type: ignore[no-redef]
        """What environments are where there is no Gymnasium."""

        def __new__(cls, *args: Any, **options: Any):
            """Say what is missing."""
            raise MissingExtraError(
                "environments need Gymnasium, which is not installed: pip install 'limber-dynamics[gym]'."
            )

    VectorEnv = Env  # type: ignore[misc, assignment]

RENDER_MODES = ["rgb_array"]


def _checked(task: Task, render_mode: str | None) -> None:
    if not isinstance(task, Task):
        raise ArgumentTypeError(f"task must be a Task (lb.exchange.Task), got {shown(task)}.")
    if render_mode is not None and render_mode not in RENDER_MODES:
        raise ArgumentValueError(
            f"render_mode={shown(render_mode)} must be None or one of {', '.join(RENDER_MODES)}."
        )


def _spaces(episodes: Episodes) -> tuple[Any, Any]:
    """The spaces of observations and of actions of one episode; episodes are started for it."""
    episodes.start(slice(None), np.random.default_rng(0))
    width = episodes.observed(episodes.moment()).shape[1]
    actions = episodes.action.shape[1]
    return (
        Box(-np.inf, np.inf, (width,), np.float32),
        Box(-1.0, 1.0, (actions,), np.float32),
    )


def _frames_a_second(task: Task) -> int:
    return max(1, round(1.0 / task.sample_time))


def _refuse_unstarted(started: bool) -> None:
    if not started:
        raise ArgumentValueError("the environment has not been started: call reset() first.")


class Environment(Env):
    """A Gymnasium environment that runs one episode of a task at a time.

    task : a `lb.exchange.Task`.
    render_mode : None or "rgb_array".
    """

    def __init__(self, task: Task, *, render_mode: str | None = None):
        _checked(task, render_mode)
        self.metadata = {"render_modes": RENDER_MODES, "render_fps": _frames_a_second(task)}
        self.task, self.render_mode = task, render_mode
        self._episodes = Episodes(task, 1)
        self.observation_space, self.action_space = _spaces(self._episodes)
        self._frames = Frames(task.system)
        self._started = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        """Start a new episode; the same seed gives the same episode."""
        super().reset(seed=seed)
        self._episodes.start(0, self.np_random)
        self._started = True
        now = self._episodes.moment()
        return self._episodes.observed(now)[0], self._info(now)

    def step(self, action: Any):
        """Hold the torques of an action for one sample."""
        _refuse_unstarted(self._started)
        e = self._episodes
        wanted = e.action.shape[1:]
        given = finite_numbers("action", action, text(wanted))
        if given.shape != wanted:
            raise ArgumentValueError(
                f"action must have shape {text(wanted)}, got {text(given.shape)}."
            )
        e.step(given[None])
        now = e.moment()
        return (
            e.observed(now)[0],
            float(e.rewarded(now)[0]),
            bool(e.terminated(now)[0]),
            bool(e.truncated()[0]),
            self._info(now),
        )

    def render(self) -> Array | None:
        """The system in its present state: an array of pixels (height, width, 3), or None without a render mode."""
        return None if self.render_mode is None else self._frames.picture(self._episodes.q[0])

    def _info(self, now: Any) -> dict[str, Any]:
        found = self._episodes.information(now)
        return {name: x[0] for name, x in (*found.items(), *now.parameters.items())}


class VectorEnvironment(VectorEnv):
    """A Gymnasium vector environment: many episodes of a task, stepped by one call of generated code.

    task : a `lb.exchange.Task`.
    num_envs : the number of environments.
    render_mode : None or "rgb_array".

    An episode that has ended starts again at the next step, which ignores its action and gives it no reward
    (`AutoresetMode.NEXT_STEP`, Gymnasium's default). With `reset(seed=s)`, episode i is that of an `Environment` with
    the seed s + i; a list has one seed for each.
    """

    def __init__(self, task: Task, num_envs: int, *, render_mode: str | None = None):
        _checked(task, render_mode)
        self.metadata = {
            "render_modes": RENDER_MODES,
            "render_fps": _frames_a_second(task),
            "autoreset_mode": AutoresetMode.NEXT_STEP,
        }
        self.task, self.render_mode = task, render_mode
        self.num_envs = whole("num_envs", num_envs, 1)
        self._episodes = Episodes(task, self.num_envs)
        self.single_observation_space, self.single_action_space = _spaces(self._episodes)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._frames = Frames(task.system)
        self._generators: list[np.random.Generator] = []
        self._over = np.zeros(self.num_envs, dtype=bool)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None):
        """Start new episodes in all environments."""
        if seed is not None or not self._generators:
            self._generators = [seeding.np_random(x)[0] for x in self._seeds(seed)]
        for i, rng in enumerate(self._generators):
            self._episodes.start(i, rng)
        self._over[:] = False
        now = self._episodes.moment()
        return self._episodes.observed(now), self._info(now)

    def step(self, actions: Any):
        """Hold the torques of actions (num_envs, inputs) for one sample."""
        _refuse_unstarted(bool(self._generators))
        e, again = self._episodes, self._over
        e.step(actions, again)
        for i in np.flatnonzero(again):
            e.start(int(i), self._generators[i])
        now = e.moment()
        rewards = np.where(again, 0.0, e.rewarded(now))
        terminated = e.terminated(now) & ~again
        truncated = e.truncated() & ~again
        self._over = terminated | truncated
        return e.observed(now), rewards, terminated, truncated, self._info(now)

    def render(self) -> tuple[Array, ...] | None:
        """An image of each episode, or None without a render mode."""
        if self.render_mode is None:
            return None
        return tuple(self._frames.picture(q) for q in self._episodes.q)

    def _seeds(self, seed: Any) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + i for i in range(self.num_envs)]
        try:
            found = [None if x is None else index(x) for x in seed]
        except TypeError:
            raise ArgumentTypeError(
                f"seed must be a whole number or a list of {self.num_envs}, got {shown(seed)}."
            ) from None
        if len(found) != self.num_envs:
            raise ArgumentValueError(
                f"seed must be a whole number or a list of {self.num_envs}, got {len(found)} of them."
            )
        return found

    def _info(self, now: Any) -> dict[str, Any]:
        """Arrays by name, and for each whose it is, as Gymnasium has them."""
        found = {**self._episodes.information(now), **now.parameters}
        mine = {f"_{name}": np.ones(self.num_envs, dtype=bool) for name in found}
        return {**found, **mine}
