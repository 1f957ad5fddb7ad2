"""The two-link flexible arm of De Luca & Siciliano (1991), under all controllers for arms.

The links are half a metre long and bend at 0.48 Hz with their load; the joint paths are quintics of 3 s. Encoders,
tachometers and a strain gauge on each link have noise. There is neither friction nor damping, so vibration that a
controller does not damp persists.
"""

from __future__ import annotations

import numpy as np

import limber as lb
from limber import control
from limber.checks import Array
from limber.comparison.arm import BEST, Arm
from limber.comparison.arm_controllers import CATALOGUE

DELAY = 2e-4
LINK, DENSITY, EI = 0.5, 0.2, 1.0
M_LINK, M_HUB, M_LOAD = DENSITY * LINK, 1.0, 0.1
J_HUB, J_LOAD = 0.1, 5e-4
#: What each link carries: mass and inertia about its tip.
CARRIED = (
    (M_HUB + M_LINK + M_LOAD, J_HUB + M_LINK * LINK**2 / 3.0 + J_LOAD + M_LOAD * LINK**2),
    (M_LOAD, J_LOAD),
)
HUBS = ("hub1", "hub2")
GOAL = (0.8, -0.6)
#: The settings of each controller, chosen from values that `limber compare two-link --tune` tries (docs/guide/comparison.md).
SETTINGS = {
    "PD": {"bandwidth": BEST},
    "PD, ZV": {"bandwidth": 0.7},
    "PD, ZVD": {"bandwidth": 0.7},
    "PD, EI": {"bandwidth": 0.7},
    "PID, ZVD": {"bandwidth": 0.7, "integral": 0.05},
    "PD, planned path": {"bandwidth": BEST},
    "computed torque, rigid, ZVD": {"bandwidth": BEST},
    "computed torque, flexible, planned path": {"bandwidth": 3.0},
    "active damping, ZVD": {"bandwidth": 0.7, "active": 0.1},
    "singular perturbation, ZVD": {"bandwidth": 0.25},
    "LQG, planned path": {"effort": 1.0, "doubt": 10.0},
    "stable inversion, PD": {"duration": 1.0},
    "patent, impedance": {"bandwidth": BEST},
    "patent, optimal": {"force": 0.1},
    "NMPC": {"effort": 3.0, "doubt": 1.0},
}


def arm() -> lb.System:
    """The arm: hubs, links with two modes each, payload."""
    a = lb.Assembly("two-link arm")
    links = [
        lb.beam(LINK, M_LINK, EI=EI, modes={"y": 2}, load=load, elements=1) for load in CARRIED
    ]
    a.attach("hub1", _round(0.0, J_HUB), lb.Revolute("z"))
    a.attach("link1", links[0], lb.Fixed(), to="hub1")
    a.attach("hub2", _round(M_HUB, J_HUB), lb.Revolute("z"), to="link1", at="tip")
    a.attach("link2", links[1], lb.Fixed(), to="hub2")
    a.attach("load", _round(M_LOAD, J_LOAD), lb.Fixed(), to="link2", at="tip")
    return a.build()


def _round(mass: float, inertia: float) -> lb.RigidBody:
    return lb.RigidBody(mass, inertia=inertia * np.eye(3))


def two_link() -> Arm:
    """The plant."""
    s = arm()
    goal = lb.pose(s, end(s), "load")[1]
    softer = {f"link{i}.stiffness_scale": 0.8 for i in (1, 2)}

    def error(result: lb.Result) -> Array:
        return np.linalg.norm(lb.pose(s, result.q, "load")[1] - goal, axis=1)

    def loop(controller) -> control.Loop:
        return control.Loop(
            s, controller, sensors=sensors(), actuators=[control.Servo(hub, limit=2.0) for hub in HUBS],
            delay=DELAY, seed=5,
        )  # fmt: skip

    return Arm(
        name="two-link", title="Two-link flexible arm, motion of 3 s", system=s, q0=s.neutral(),
        changed=s.with_parameters({**softer, "load.mass": 1.5 * M_LOAD}),
        path=lb.trajectories.Quintic((0.0, 0.0), GOAL, 3.0), duration=15.0, window=(10.0, 15.0),
        error=error, error_unit="mm", error_scale=1e3, tolerance=0.01,
        deflections=deflections, watched="tip of link 1", loop=loop, entries=CATALOGUE.entries(SETTINGS),
        model=s, joints=HUBS, tip=("load", None), end=end(s),
        sample=0.001, observed=0.002, horizon=(0.02, 75), delay=DELAY, plan={"tracking": 0.02, "change": 0.05},
        disturbance=0.02, torque=(0.2, 0.1), energy=1e-3, by_hand=((2.4, 0.54), (1.9, 0.43)),
        outputs=(("rotation", "link1", "tip", "z"), ("rotation", "hub2", None, "z")),
        inversion={"rest": 0.02},
    )  # fmt: skip


def deflections(result: lb.Result) -> Array:
    """Deflections of the tips of the links."""
    return np.column_stack([result.deflection(f"link{i}", "tip")[:, 1] for i in (1, 2)])


def sensors() -> list:
    """18-bit encoders, tachometers, and a strain gauge on each link."""
    gauges = [
        control.StrainGauge(f"link{i}", at=0.02, y=1e-3, name=f"gauge{i}", rate=1000.0, noise=2e-7)
        for i in (1, 2)
    ]
    return [
        control.Encoder(rate=1000.0, counts=2**18, noise=2e-6),
        control.Tachometer(rate=1000.0, noise=2e-4),
        *gauges,
    ]


def end(s: lb.System) -> Array:
    """The final configuration of the motion."""
    q = s.neutral()
    for hub, angle in zip(HUBS, GOAL):
        q[s.layout[hub].q_joint] = angle
    return q
