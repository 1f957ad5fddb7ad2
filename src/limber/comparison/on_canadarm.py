"""The Canadarm and its slew, under all controllers for arms.

The joint paths are cycloids of 10, 5 and 5 s to 0.75, 0.25 and 0.5 rad. There are servos with rotors, friction and
limits, 20-bit encoders, noisy tachometers and a delay of half a millisecond, as in `limber demo`. The controllers know
three quarters of the friction, or none; Kalman filters know all of it.
"""

from __future__ import annotations

import numpy as np

import limber as lb
from limber import control, controlled_slew
from limber.checks import Array
from limber.comparison.arm import BEST, Arm
from limber.comparison.arm_controllers import CATALOGUE
from limber.controlled_slew import KNOWN_FRICTION, LAW, LINKS, TIP

GOAL = (0.75, 0.25, 0.5)
#: The settings of each controller, chosen from values that `limber compare canadarm --tune` tries (docs/guide/comparison.md).
SETTINGS = {
    "PD": {"bandwidth": BEST},
    "PD, ZV": {"bandwidth": BEST},
    "PD, ZVD": {"bandwidth": BEST},
    "PD, EI": {"bandwidth": BEST},
    "PID, ZVD": {"bandwidth": BEST, "integral": 0.05},
    "PD, planned path": {"bandwidth": BEST},
    "computed torque, rigid, ZVD": {"bandwidth": BEST},
    "computed torque, flexible, planned path": {"bandwidth": 3.0},
    "active damping, ZVD": {"bandwidth": BEST, "active": 0.1},
    "singular perturbation, ZVD": {"bandwidth": 0.5},
    "LQG, planned path": {"effort": 0.1, "doubt": 1.0},
    "stable inversion, PD": {"duration": 1.0},
    "patent, impedance": {"bandwidth": BEST},
    "patent, optimal": {"force": 0.1},
    "NMPC": {"effort": 3.0, "doubt": 1.0},
}


def canadarm() -> Arm:
    """The plant; it moves in its plane."""
    servos = controlled_slew.servos()
    s = control.fit(lb.models.canadarm(modes={"y": 2}), *servos).build()
    end = s.neutral()
    for link, angle in zip(LINKS, GOAL):
        end[s.layout[link].q_joint] = angle
    goal = lb.pose(s, end, *TIP)[1]
    softer = {f"{link}.stiffness_scale": 0.8 for link in LINKS}

    def error(result: lb.Result) -> Array:
        return np.linalg.norm(lb.pose(s, result.q, *TIP)[1] - goal, axis=1)

    return Arm(
        name="canadarm", title="Canadarm, slew of 10 s", system=s, q0=s.neutral(),
        changed=s.with_parameters({**softer, "link3.mass_scale": 1.5}),
        path=lb.trajectories.Cycloid(rate=(0.075, 0.05, 0.1), duration=(10.0, 5.0, 5.0)),
        duration=30.0, window=(20.0, 30.0), error=error, error_unit="mm", error_scale=1e3, tolerance=0.02,
        deflections=deflections, watched="tip of link 1",
        loop=lambda controller: controlled_slew.loop(s, controller), entries=CATALOGUE.entries(SETTINGS),
        model=control.without_friction(s), joints=LINKS, tip=TIP, end=end,
        sample=0.002, observed=0.004, horizon=(0.05, 80), delay=0.0005, plan={"tracking": 0.1}, disturbance=1.0,
        torque=(1500.0, 700.0, 70.0), energy=3.0, by_hand=(LAW.stiffness, LAW.damping), friction=KNOWN_FRICTION,
        outputs=(("angle", "link1", "tip", "z"), ("rotation", "link2", "tip", "z"), ("rotation", "link3", "tip", "z")),
    )  # fmt: skip


def deflections(result: lb.Result) -> Array:
    """Deflections of the tips of the links."""
    return np.column_stack([result.deflection(link, "tip")[:, 1] for link in LINKS])
