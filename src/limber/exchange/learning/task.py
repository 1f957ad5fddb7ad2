"""The definition of an environment: initial states, observations, rewards and randomization."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.parameters import find
from limber.assembly.system import System
from limber.checks import Array, array, listed, number, numbers, shown, takes, unit_quaternion
from limber.constraints import assemble, project
from limber.dynamics.evaluate import check_system
from limber.dynamics.refusals import quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError, LimberError
from limber.exchange.learning.steps import even_steps, fastest
from limber.simulation.closed_states import closed_state
from limber.simulation.table import joint_speeds

#: How many plants are drawn to find how long a step may be.
TRIED = 16

#: A range (low, high) or a function of a random generator.
Spread = Any


@dataclass(frozen=True, eq=False)
class Moment:
    """The states of all episodes at one moment; the first dimension of every array counts the episodes.

    t : seconds since the start of each episode.
    q, v : states.
    action : the last one, zero at the start.
    goal : the goal drawn for each episode.
    parameters : the numbers drawn by domain randomization, by name.

    `node(body, node)` returns the position and velocity of a node, world axes, (episodes, 3) each.
    """

    system: System
    t: Array
    q: Array
    v: Array
    action: Array
    goal: Array
    parameters: Mapping[str, Array]
    node: Callable[..., tuple[Array, Array]] = field(repr=False)


@dataclass(frozen=True, eq=False)
class Task:
    """A system with the observations, actions and rewards of a policy.

    task = lb.exchange.Task(s, 20.0, reward=lambda now: -abs(now.q[:, 0] - now.goal[:, 0]), start=...)

    system : the system.
    torque : the torque or force for an action of one, N m or N; a number, or one for each input. {joint: torque} drives
        only the joints that it names, by their own names or those of their bodies. Actions are clipped to [-1, 1].
    observation : a function of a `Moment` that returns an array (episodes, n); by default q, v and the goal.
    reward : a function of a `Moment` that returns an array (episodes,); zeros by default.
    terminated : a function of a `Moment` that returns an array (episodes,): which episodes have terminated. By default
        none end before their duration.
    information : a function of a `Moment` that returns arrays (episodes, ...) by name, for `info`.
    start : a function of a random generator that returns q and v of one episode and, if there is one, a goal: an array
        whose meaning the task defines. By default the neutral configuration (for a closed system, one from
        `lb.assemble`) at rest.
    inputs : the indices in v of the speeds that actions drive; by default those of all joints, or of those that `torque`
        names.
    sample_time : of actions, s; torques are held in between.
    step : the longest step of the integrator (the classical Runge-Kutta method), s. By default it is short enough for
        the modes, dampers, friction and stops of the system, at the ends of all ranges in `randomize` and for a few
        sampled episodes.
    duration : after which an episode is truncated, s.
    randomize : {parameter: (low, high)}, or a function of a random generator for each; names are those of
        `System.parameters`. Each episode draws its own numbers. If they move closures, the initial state is projected
        onto these.

    All functions receive the states of all episodes at once; the same task serves a single environment and a batch.
    """

    system: System
    torque: ArrayLike | Mapping[str, ArrayLike]
    observation: Callable[[Moment], Array] | None = None
    reward: Callable[[Moment], Array] | None = None
    terminated: Callable[[Moment], Array] | None = None
    information: Callable[[Moment], Mapping[str, Array]] | None = None
    start: Callable[[np.random.Generator], tuple[Any, ...]] | None = None
    inputs: Sequence[int] | None = None
    sample_time: float = 0.02
    step: float | None = None
    duration: float = 5.0
    randomize: Mapping[str, Spread] = field(default_factory=dict)

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        check_system(self.system)
        torque, inputs = _driven(self.system, self.torque, self.inputs)
        put("inputs", inputs)
        put("torque", torque)
        if not np.all(np.asarray(self.torque) > 0.0):
            raise ArgumentValueError(
                f"torque={shown(self.torque)} must be positive: it is the torque of an action of 1."
            )
        for name, arguments in (
            ("observation", ("moment",)), ("reward", ("moment",)), ("terminated", ("moment",)),
            ("information", ("moment",)), ("start", ("rng",)),
        ):  # fmt: skip
            if getattr(self, name) is not None:
                takes(name, getattr(self, name), *arguments)
        put("sample_time", number("sample_time", self.sample_time, above=0.0))
        put("duration", number("duration", self.duration, above=0.0))
        if not isinstance(self.randomize, Mapping):
            raise ArgumentTypeError(
                f'randomize must map parameters to ranges, as in {{"link.mass": (1.0, 2.0)}}, got {shown(self.randomize)}.'
            )
        for name in self.randomize:
            find(self.system, name)  # says what is wrong with the name
        ranges = {name: _bounds(name, x) for name, x in self.randomize.items() if not callable(x)}
        put(
            "randomize",
            {
                name: partial(_uniform, ranges[name]) if name in ranges else given
                for name, given in self.randomize.items()
            },
        )
        longest = number(
            "step", self._longest_step(ranges) if self.step is None else self.step, above=0.0
        )
        put("step", self.sample_time / even_steps(self.system, self.sample_time, longest))

    @property
    def last(self) -> int:
        """The number of samples after which an episode is truncated."""
        return max(1, round(self.duration / self.sample_time))

    def plant(self, parameters: Mapping[str, Array]) -> System:
        """The system with the drawn parameters."""
        try:
            return self.system.with_parameters(parameters)
        except LimberError as error:
            drawn = ", ".join(f"{name}={shown(x.tolist())}" for name, x in parameters.items())
            raise ArgumentValueError(
                f"randomize gave an impossible system, with {drawn}: {error}"
            ) from error

    def drawn(self, rng: np.random.Generator) -> tuple[Array, Array, Array, dict[str, Array]]:
        """q, v, the goal and the parameters of a new episode; the parameters are drawn before the initial state."""
        parameters = {
            name: np.asarray(draw(rng), dtype=float) for name, draw in self.randomize.items()
        }
        for name, x in parameters.items():
            shape = find(self.system, name).value.shape
            if x.shape != shape:
                raise ArgumentValueError(
                    f"randomize[{name!r}] gave an array of shape {x.shape}; the parameter has shape {shape}."
                )
        found = self._rest() if self.start is None else self.start(rng)
        if not isinstance(found, tuple) or len(found) not in (2, 3):
            raise ArgumentTypeError(
                f"start must return (q, v) or (q, v, goal), got {shown(found)}."
            )
        q = array("q of start", found[0], (self.system.nq,))
        v = array("v of start", found[1], (self.system.nv,))
        goal = (
            np.atleast_1d(numbers("goal of start", found[2], "(n,)"))
            if len(found) == 3
            else np.zeros(0)
        )
        if goal.ndim > 1:
            raise ArgumentValueError(
                f"the goal of start must be a number or a list of them, got shape {goal.shape}."
            )
        for body, at in quaternions(self.system):
            unit_quaternion(f"the quaternion of {body!r} in q of start", q[at])
        q, v = closed_state(self.system, q, v, "q of start", "v of start", "q, v")
        if parameters:
            plant = self.plant(parameters)
            if plant.closures:
                q, v = project(plant, q, v)  # start does not know what was drawn
        return q, v, goal, parameters

    def _rest(self) -> tuple[Array, Array]:
        """The initial state of episodes, unless the task defines another."""
        q = self.system.neutral()
        return assemble(self.system, q) if self.system.closures else q, np.zeros(self.system.nv)

    def _longest_step(self, ranges: Mapping[str, Array]) -> float:
        """The longest step that resolves all plants, at most a sample."""
        rng = np.random.default_rng(0)
        most, q = 1.0 / self.sample_time, self.system.neutral()
        for _ in range(TRIED if self.randomize or self.start is not None else 1):
            q, _, _, parameters = self.drawn(rng)
            most = max(most, fastest(self.plant(parameters), q))
        # ranges: both ends of each alone, and then of all together those that are faster
        ends: dict[str, Array] = {}
        for name, bounds in ranges.items():
            rates = [self._rate_with({name: x}, q) for x in bounds]
            ends[name] = bounds[int(np.argmax(rates))]
        return 1.0 / max(most, self._rate_with(ends, q))

    def _rate_with(self, parameters: Mapping[str, Array], q: Array) -> float:
        """The inverse of the longest step at q, or near it, with these parameters."""
        plant = self.plant(parameters)
        if parameters and plant.closures:
            q, _ = project(plant, q, np.zeros(plant.nv))
        return fastest(plant, q)


def _driven(system: System, torque: Any, inputs: Sequence[int] | None) -> tuple[Array, list[int]]:
    """The torques for actions of one, and the speeds that they drive."""
    if isinstance(torque, Mapping):
        if inputs is not None:
            raise ArgumentValueError(
                "torque names the joints that actions drive: leave out inputs."
            )
        if not torque:
            raise ArgumentValueError("torque names no joint: an action needs one at least.")
        slices = [system.joint_layout(name, "torque: body").v_joint for name in torque]
        places = [i for part in slices for i in range(part.start, part.stop)]
        if len(set(places)) < len(places):
            raise ArgumentValueError(
                f"torque names a joint twice, by its own name and by that of its body: {listed(torque)}."
            )
        chosen = _inputs(system, places)
        return system.speeds(torque)[chosen], chosen
    chosen = _inputs(system, inputs)
    given = numbers("torque", torque, f"() or ({len(chosen)},)")
    return array(
        "torque", given if given.ndim else np.full(len(chosen), given), (len(chosen),)
    ), chosen


def _inputs(system: System, given: Sequence[int] | None) -> list[int]:
    """The speeds whose generalized forces are actions."""
    if given is None:
        found = [int(i) for i in joint_speeds(system)]
    else:
        try:
            found = [index(i) for i in given]
        except TypeError:
            raise ArgumentTypeError(
                f"inputs must be a list of places in v, such as those of layout[...].v_joint, got {shown(given)}."
            ) from None
    if not found:
        raise ArgumentValueError(f"the system {system.name!r} has no joint speeds to drive.")
    for i in found:
        if not 0 <= i < system.nv:
            raise ArgumentValueError(f"inputs names speed {i}; the system has {system.nv} of them.")
    if len(set(found)) < len(found):
        raise ArgumentValueError(f"inputs={shown(found)} names a speed twice.")
    return found


def _bounds(name: str, given: Spread) -> Array:
    """The range of a parameter."""
    bounds = array(f"randomize[{name!r}]", given, (2,))
    if not bounds[0] <= bounds[1]:
        raise ArgumentValueError(
            f"randomize[{name!r}]={shown(given)} must be (low, high), or a function of a random generator."
        )
    return bounds


def _uniform(bounds: Array, rng: np.random.Generator) -> float:
    return rng.uniform(*bounds)
