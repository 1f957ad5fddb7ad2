"""`limber/FlexibleSpacecraft-v0`: a hub with two flexible panels turns to a new attitude and comes to rest there."""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.checks import Array
from limber.exchange.learning.task import Moment, Task
from limber.models import spacecraft

#: The torque of an action of 1, N m about each axis of the hub.
TORQUE = 8.0
#: Weights of body rates (rad/s), rates of modes and effort relative to the angle (rad) in the reward.
RATE, VIBRATION, EFFORT = 0.5, 0.05, 0.001
#: The largest angle of a slew about each axis, rad.
ANGLE = 0.6
#: The angular speed that ends an episode, rad/s, where the deformations of the panels are no longer small, and its penalty.
FASTEST, LOST = 0.4, 1000.0


def flexible_spacecraft_task(**options: Any) -> Task:
    """The task of `limber/FlexibleSpacecraft-v0`: `lb.models.spacecraft` slews from rest to a random attitude.

    Actions are the torques about the hub axes. Observations are the rotation vector from the attitude to the goal (hub
    axes), the angular velocity of the hub, and the modal coordinates and their rates. The reward is minus the angle,
    minus half the angular speed, minus a twentieth of the norm of the modal rates, minus a thousandth of the squares of
    the actions. An angular speed of 0.4 rad/s ends the episode, with a penalty of 1000.

    options : override the arguments of `Task`, such as `randomize={"hub.mass": (250.0, 350.0)}`, `duration` or
        `sample_time`.
    """
    s = spacecraft().build()
    hub = s.layout["hub"]
    turn = slice(hub.q_joint.start, hub.q_joint.start + 4)
    rates = slice(hub.v_joint.start, hub.v_joint.start + 3)
    modes_q = [i for x in s.layout.values() for i in range(x.q_modes.start, x.q_modes.stop)]
    modes_v = [i for x in s.layout.values() for i in range(x.v_modes.start, x.v_modes.stop)]

    def start(rng: np.random.Generator):
        vector = rng.uniform(-ANGLE, ANGLE, 3)
        angle = np.linalg.norm(vector)
        goal = np.array([np.cos(angle / 2), *(np.sinc(angle / (2 * np.pi)) / 2 * vector)])
        return s.neutral(), np.zeros(s.nv), goal

    def to_goal(now: Moment) -> Array:
        """(n, 3): the rotation vector from the attitude to the goal, hub axes."""
        w, x, g, y = now.q[:, turn.start], now.q[:, turn][:, 1:], now.goal[:, 0], now.goal[:, 1:]
        real = w * g + (x * y).sum(axis=1)
        imaginary = w[:, None] * y - g[:, None] * x - np.cross(x, y)
        sign = np.where(real < 0.0, -1.0, 1.0)
        size = np.linalg.norm(imaginary, axis=1)
        angle = 2.0 * np.arctan2(size, sign * real)
        factor = np.where(size > 1e-12, angle / np.maximum(size, 1e-12), 2.0)
        return (sign * factor)[:, None] * imaginary

    def observation(now: Moment) -> Array:
        return np.concatenate(
            [to_goal(now), now.v[:, rates], now.q[:, modes_q], now.v[:, modes_v]], axis=1
        )

    def information(now: Moment) -> dict[str, Array]:
        return {
            "angle": np.linalg.norm(to_goal(now), axis=1),
            "vibration": np.linalg.norm(now.v[:, modes_v], axis=1),
        }

    def reward(now: Moment) -> Array:
        found = information(now)
        speed = np.linalg.norm(now.v[:, rates], axis=1)
        effort = (now.action**2).sum(axis=1)
        lost = LOST * terminated(now)
        return (
            -found["angle"] - RATE * speed - VIBRATION * found["vibration"] - EFFORT * effort - lost
        )

    def terminated(now: Moment) -> Array:
        return np.linalg.norm(now.v[:, rates], axis=1) > FASTEST

    own = {
        "torque": TORQUE, "observation": observation, "reward": reward, "information": information,
        "terminated": terminated, "start": start, "inputs": range(rates.start, rates.stop), "sample_time": 0.1, "duration": 60.0,
    }  # fmt: skip
    return Task(s, **{**own, **options})
