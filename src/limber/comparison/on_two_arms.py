"""Two flexible arms carry a crate, which they hold from both sides and squeeze.

Each arm has two flexible links and six joints with rotors; there is no gravity. The crate moves by 0.15 m and rotates
by 0.2 rad in 1 s while the arms build up a squeeze force of 40 N. The joints are measured, and the wrists have
force-torque sensors; the controllers know the rigid model of the arms.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import limber as lb
from limber import control
from limber.checks import Array
from limber.comparison.plant import Catalogue, Plant

SAMPLE = 0.005
SIDES = {"left": "arm1", "right": "arm2"}
BOTH = ("left", "right")
START, GOAL = (0.0, 0.0, 0.9), (0.1, 0.1, 0.95)
MOTION, TURN, SQUEEZE = 1.0, 0.2, 40.0
LINKS = tuple(f"{arm}/{link}" for arm in SIDES.values() for link in ("upper", "fore"))
#: The settings of each controller, chosen from values that `limber compare two-arms --tune` tries (docs/guide/comparison.md).
SETTINGS = {
    "PD of the joints": {"bandwidth": 8.0},
    "load sharing": {"bandwidth": 10.0},
    "load sharing, held squeeze": {"bandwidth": 10.0},
    "the same, state known exactly": {"bandwidth": 10.0},
}
CATALOGUE = Catalogue()


def arm(x: float, weight: float) -> lb.Assembly:
    """An arm with its shoulder at x, under the gravity `weight`, m/s^2."""
    a = lb.Assembly("arm", gravity=(0, 0, -weight))
    link = lb.beam(1.0, 4.0, EI=2e4, GJ=1e4, modes=1, polar_inertia=0.01, damping=0.02)
    hand = lb.RigidBody(1.0, (0.1, 0, 0), (0.02, 0.02, 0.02), nodes={"palm": (0.2, 0, 0)})
    wrist = lb.CompoundJoint([lb.Revolute(axis) for axis in "xyz"], armature=0.1)
    a.attach("upper", link, lb.Universal("z", "y", armature=1.0), offset=(x, 0, 0))
    a.attach("fore", link, lb.Revolute("y", armature=1.0, friction=0.0), "upper", "tip")
    a.attach("hand", hand, wrist, "fore", "tip")
    return a


def grasped(weight: float = 0.0) -> tuple[lb.System, Array, lb.System, Array]:
    """The arms with the crate in their hands, the rigid model of the system, and a configuration of each.

    weight : the acceleration of gravity, downward, m/s^2.
    """
    crate = lb.Assembly("crate", gravity=(0, 0, -weight))
    sides = {"left": (-0.4, 0, 0), "right": (0.4, 0, 0)}
    crate.attach("box", lb.RigidBody(6.0, inertia=(0.3, 0.5, 0.6), nodes=sides), lb.Free())
    arms = [arm(-1.3, weight), arm(1.3, weight)]
    twin = lb.couple([a.rigid() for a in arms], crate)
    q = twin.neutral()
    for name, shoulder, elbow in (("arm1", -1.2, 1.3), ("arm2", -1.9, -1.3)):
        q[twin.layout[f"{name}/upper"].q_joint] = 0.0, shoulder
        q[twin.layout[f"{name}/fore"].q_joint] = elbow
    q[twin.layout["object/box"].q_joint][4:] = START
    state = lb.constraints.Changed(twin, q, np.zeros(twin.nv))
    for side, name in SIDES.items():
        grasp = ((f"{name}/hand", "palm"), ("object/box", side), lb.RigidGrasp(), side)
        state = lb.attach(grasp, in_place=True)(state.system, state.q, state.v)
    s = lb.couple(arms, crate).closed_by(list(state.system.closures.values()))
    q0 = s.neutral()
    for body, where in s.layout.items():
        q0[where.q_joint] = state.q[twin.layout[body].q_joint]
    return s, q0, state.system, state.q


def two_arms() -> Plant:
    """The plant."""
    s, q0, _, _ = grasped()
    other = {f"{link}.stiffness_scale": 0.8 for link in LINKS}
    other |= {f"{arm}/fore.joint_friction": 1.0 for arm in SIDES.values()}  # N m

    def error(result: lb.Result) -> Array:
        return np.linalg.norm(lb.pose(s, result.q, "object/box")[1] - np.array(GOAL), axis=1)

    def loop(controller, exact: bool = False) -> control.Loop:
        return control.Loop(s, controller, sensors=() if exact else sensors(s), seed=2)

    return Plant(
        name="two-arms", title="Two flexible arms with a crate, motion of 1 s", system=s, q0=q0,
        changed=s.with_parameters({**other, "object/box.mass": 9.0}),
        path=lb.trajectories.Quintic(START, GOAL, MOTION), duration=4.0, window=(3.0, 4.0),
        error=error, error_unit="mm", error_scale=1e3, tolerance=1e-3, deflections=deflections,
        watched="upper link of the left arm", loop=loop, entries=CATALOGUE.entries(SETTINGS),
        further=("squeeze off by N", squeeze_error),
    )  # fmt: skip


def sensors(s: lb.System, noise: float = 1.0) -> list:
    """Encoders and tachometers of the arms, and a force-torque sensor at each wrist.

    noise : a factor of the noise, 1 for that of the plant.
    """
    joints = [body for body in s.joints if body.startswith("arm")]
    wrists = [
        control.ForceTorque(f"{name}/hand", f"{side} wrist", rate=200.0, noise=0.2 * noise)
        for side, name in SIDES.items()
    ]
    return [
        control.Encoder(joints, rate=200.0, counts=2**20),
        control.Tachometer(joints, rate=200.0, noise=2e-4 * noise),
        *wrists,
    ]


def deflections(result: lb.Result) -> Array:
    """Deflections of the tips of the links, in both planes."""
    return np.hstack([result.deflection(link, "tip")[:, [2, 1]] for link in LINKS])


def squeeze_error(result: lb.Result) -> float:
    """The largest error of the squeeze force in the last second, N."""
    worst = 0.0
    for i in np.flatnonzero(result.t >= result.t[-1] - 1.0)[::10]:
        q, v, tau = result.q[i], result.v[i], result.tau[i]
        found = lb.grasp_map(result.system, q)
        forces = lb.constraint_forces(result.system, q, v, tau)
        held = found.pressing(*BOTH) @ found.multipliers({n: forces[n] for n in found.columns})
        worst = max(worst, abs(float(held) - SQUEEZE))
    return worst


@cache
def planned(plant: Plant) -> lb.Result:
    """The motion of the rigid model with the crate on its path."""
    _, _, twin, q = grasped()
    place, turn = plant.path, lb.trajectories.Quintic(0.0, TURN, MOTION)

    def crate(t: float) -> tuple:
        (p, v, a), (angle, rate, spin) = (
            [np.ravel(x) for x in path(min(t, MOTION))] for path in (place, turn)
        )
        if t > MOTION:
            v, a, rate, spin = 0.0 * v, 0.0 * a, 0.0 * rate, 0.0 * spin
        c, s = np.cos(angle[0]), np.sin(angle[0])
        R = np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
        w = np.array([rate[0], 0, 0])
        half = 0.5 * angle[0]
        there = [np.cos(half), np.sin(half), 0, 0, *p]
        return there, [*w, *(R.T @ v)], [spin[0], 0, 0, *(R.T @ a - np.cross(w, R.T @ v))]

    return lb.simulate(
        twin, plant.duration, q0=q, motion={"object/box": crate}, every=SAMPLE, rtol=1e-9
    )


@CATALOGUE.entry("PD of the joints", bandwidth=(2.0, 3.0, 5.0, 8.0))
def pd(plant: Plant, bandwidth: float = 8.0):
    """Each joint along its path on the rigid arms; the squeeze force is not controlled."""
    plan = planned(plant)
    twin = plan.system
    bodies = [body for body in twin.joints if body.startswith("arm") and twin.joints[body].dofs]
    q, v = (
        np.concatenate([np.arange(x.start, x.stop) for x in places])
        for places in (
            [twin.layout[body].q_joint for body in bodies],
            [twin.layout[body].v_joint for body in bodies],
        )
    )
    M = np.diag(lb.mass_matrix(twin, plan.q[0]))[v]

    def reference(t: float) -> tuple[Array, Array, Array]:
        i = min(round(t / SAMPLE), len(plan) - 1)
        return plan.q[i, q], plan.v[i, v], np.zeros(len(v))

    return plant.loop(
        control.PD(
            bandwidth**2 * M, 2.0 * bandwidth * M, sample_time=SAMPLE, bodies=bodies, reference=reference
        )
    )  # fmt: skip


def carried(plant: Plant, bandwidth: float, exact: bool = False, ki: float = 10.0):
    """Load sharing with the rigid model."""
    _, _, twin, _ = grasped()
    forces = None if exact else {side: f"{side} wrist" for side in BOTH}
    return plant.loop(
        control.CarriedObject(
            bandwidth**2, 2.0 * bandwidth, sample_time=SAMPLE, place=plant.path,
            turn=lb.trajectories.Quintic(0.0, TURN, MOTION), axis="x", system=twin,
            squeeze={BOTH: lb.trajectories.Quintic(0.0, SQUEEZE, MOTION)}, ki=ki, joint_damping=20.0,
            forces=forces, q=plant.q0,
        ),
        exact,
    )  # fmt: skip


@CATALOGUE.entry("load sharing", bandwidth=(5.0, 7.0, 10.0))
def shared(plant: Plant, bandwidth: float = 10.0):
    """The torques of the rigid model that carry and squeeze, and feedback of the crate's pose."""
    return carried(plant, bandwidth, ki=0.0)


@CATALOGUE.entry("load sharing, held squeeze", bandwidth=(5.0, 7.0, 10.0))
def held(plant: Plant, bandwidth: float = 10.0):
    """The same with feedback of the squeeze force measured at the wrists."""
    return carried(plant, bandwidth)


@CATALOGUE.entry("the same, state known exactly", bandwidth=(5.0, 7.0, 10.0))
def exact(plant: Plant, bandwidth: float = 10.0):
    """The same with exact measurements, which shows the cost of the sensors."""
    return carried(plant, bandwidth, exact=True)
