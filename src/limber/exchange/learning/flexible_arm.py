"""`limber/FlexibleArm-v0`: a planar arm of two flexible links moves its tip to a goal and comes to rest there."""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.assembly import Assembly
from limber.bodies import RigidBody, beam
from limber.checks import Array
from limber.dynamics import pose
from limber.exchange.learning.task import Moment, Task
from limber.joints import Fixed, Revolute

#: Each link: length, m, mass, kg, bending stiffness, N m^2; the payload: mass, kg, inertia, kg m^2.
LENGTH, MASS, EI, PAYLOAD, PAYLOAD_INERTIA = 1.0, 1.0, 60.0, 0.5, 0.005
#: Inertia of the motor of each joint, kg m^2.
ARMATURE = 0.2
#: The torque of an action of 1 at the shoulder and at the elbow, N m.
TORQUES = (8.0, 4.0)
#: Weights of vibration (a tip speed, m/s) and effort relative to distance (m) in the reward.
VIBRATION, EFFORT = 0.1, 0.001
#: The joint speed that ends an episode, rad/s, where the deformations of the links are no longer small, and its penalty.
FASTEST, LOST = 10.0, 500.0


def flexible_arm_task(**options: Any) -> Task:
    """The task of `limber/FlexibleArm-v0`: two links of one metre in a horizontal plane, with two modes each and a
    payload.

    Actions are the torques of the shoulder and of the elbow. Observations are the angles, the joint speeds, the modal
    coordinates and their rates, the position and the velocity of the tip, and the vector from the tip to the goal (all
    in the plane). The reward is minus the distance to the goal, minus a tenth of the tip speed due to bending, minus a
    thousandth of the squares of the actions. Goals are tip positions of undeformed arms at angles drawn from [-2, 2]
    and [0.3, 2]. A joint speed of 10 rad/s ends the episode, with a penalty of 500.

    options : override the arguments of `Task`, such as `randomize={"payload.mass": (0.2, 1.0)}`, `duration` or
        `sample_time`.
    """
    arm = Assembly("flexible arm")
    link = beam(LENGTH, MASS, EI=EI, modes={"y": 2}, damping=0.01)
    arm.attach("upper", link, Revolute("z", damping=0.05, armature=ARMATURE))
    arm.attach("lower", link, Revolute("z", damping=0.05, armature=ARMATURE), to="upper", at="tip")
    body = RigidBody(PAYLOAD, inertia=PAYLOAD_INERTIA * np.eye(3))
    arm.attach("payload", body, Fixed(), to="lower", at="tip")
    s = arm.build()
    joints_q = [s.layout[b].q_joint.start for b in ("upper", "lower")]
    joints_v = [s.layout[b].v_joint.start for b in ("upper", "lower")]
    modes_q = [i for x in s.layout.values() for i in range(x.q_modes.start, x.q_modes.stop)]
    modes_v = [i for x in s.layout.values() for i in range(x.v_modes.start, x.v_modes.stop)]

    def configuration(angles: Array) -> Array:
        q = s.neutral()
        q[joints_q] = angles
        return q

    def start(rng: np.random.Generator):
        first = rng.uniform([-np.pi / 4, 0.3], [np.pi / 4, 1.0])
        goal = pose(s, configuration(rng.uniform([-2.0, 0.3], [2.0, 2.0])), "payload")[1][:2]
        return configuration(first), np.zeros(s.nv), goal

    def rigid_velocity(now: Moment, tip: Array) -> Array:
        """The velocity of the tip that the joints alone give it."""
        elbow, _ = now.node("lower")
        turns = now.v[:, joints_v]
        arms = np.stack([tip, tip - elbow[:, :2]], axis=1)
        return np.einsum("nj,njx->nx", turns, np.stack([-arms[..., 1], arms[..., 0]], axis=-1))

    def tip_of(now: Moment) -> tuple[Array, Array]:
        position, velocity = now.node("payload")
        return position[:, :2], velocity[:, :2]

    def observation(now: Moment) -> Array:
        tip, velocity = tip_of(now)
        parts = [now.q[:, joints_q], now.v[:, joints_v], now.q[:, modes_q], now.v[:, modes_v]]
        return np.concatenate([*parts, tip, velocity, now.goal - tip], axis=1)

    def information(now: Moment) -> dict[str, Array]:
        tip, velocity = tip_of(now)
        bending = velocity - rigid_velocity(now, tip)
        return {
            "distance": np.linalg.norm(now.goal - tip, axis=1),
            "vibration": np.linalg.norm(bending, axis=1),
        }

    def reward(now: Moment) -> Array:
        found = information(now)
        effort = (now.action**2).sum(axis=1)
        lost = LOST * terminated(now)
        return -found["distance"] - VIBRATION * found["vibration"] - EFFORT * effort - lost

    def terminated(now: Moment) -> Array:
        return np.abs(now.v[:, joints_v]).max(axis=1) > FASTEST

    own = {
        "torque": TORQUES, "observation": observation, "reward": reward,
        "information": information, "terminated": terminated, "start": start,
    }  # fmt: skip
    return Task(s, **{**own, **options})
