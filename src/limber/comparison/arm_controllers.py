"""Every controller for arms, for any arm of a comparison.

Each has a number that says how hard it works, chosen as described in `tuning`. ZV, EI, PID and active damping use the
springs and dampers (`arm.springs`) that are best with ZVD. Bandwidths are multiples of the lowest frequency of the arm
with its joints held.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from limber import control
from limber.comparison.arm import (
    BEST,
    Arm,
    asked_for,
    gains,
    lowest,
    planned,
    shaped,
    springs,
    under_rigid,
)
from limber.comparison.planned import along, joints_along
from limber.comparison.plant import Catalogue
from limber.control import Loop
from limber.control.inversion.outputs import checked_outputs
from limber.trajectories import Quintic

#: Bandwidths of joints that are tried, and factors of the disturbances that filters of the whole state count with.
BANDWIDTHS, DOUBTS = (BEST, 0.7, 2.0), (1.0, 10.0)
CATALOGUE = Catalogue()


# --- joints by themselves ----------------------------------------------------------------------------


@CATALOGUE.entry("PD", bandwidth=BANDWIDTHS)
def pd(arm: Arm, bandwidth: float = BEST) -> Loop:
    """PD control of each joint separately."""
    return arm.loop(control.PD(**gains(arm, bandwidth), reference=arm.path))


def _pd_shaped(arm: Arm, bandwidth: float, kind: Any) -> Loop:
    path = shaped(arm, springs(arm, bandwidth).rates, kind)
    return arm.loop(control.PD(**gains(arm, bandwidth), reference=path))


@CATALOGUE.entry("PD, ZV")
def pd_zv(arm: Arm, bandwidth: float = BEST) -> Loop:
    """The same with a path shaped for the oscillations of the loop."""
    return _pd_shaped(arm, bandwidth, control.zv)


@CATALOGUE.entry("PD, ZVD", bandwidth=BANDWIDTHS)
def pd_zvd(arm: Arm, bandwidth: float = BEST) -> Loop:
    """A shaper that tolerates errors of the frequencies."""
    return _pd_shaped(arm, bandwidth, control.zvd)


@CATALOGUE.entry("PD, EI")
def pd_ei(arm: Arm, bandwidth: float = BEST) -> Loop:
    """A shaper that tolerates larger errors."""
    return _pd_shaped(arm, bandwidth, control.ei)


@CATALOGUE.entry("PID, ZVD", integral=(0.05, 0.2))
def pid(arm: Arm, bandwidth: float = BEST, integral: float = 0.1) -> Loop:
    """An integral against friction; its rate is a fraction of the lowest frequency."""
    found = springs(arm, bandwidth)
    path = shaped(arm, found.rates)
    ki = integral * lowest(arm) * found.kp
    return arm.loop(control.PID(**gains(arm, bandwidth), ki=ki, reference=path))


@CATALOGUE.entry("PD, planned path", bandwidth=BANDWIDTHS)
def pd_planned(arm: Arm, bandwidth: float = BEST) -> Loop:
    """Joints along a motion of the flexible arm that ends at rest, without its torques."""
    reference = joints_along(arm.model, planned(arm))
    return arm.loop(control.PD(**gains(arm, bandwidth), reference=reference))


# --- models in the loop ------------------------------------------------------------------------------


@CATALOGUE.entry("computed torque, rigid, ZVD", bandwidth=(BEST, 0.7, 1.0))
def rigid(arm: Arm, bandwidth: float = BEST) -> Loop:
    """The rigid model."""
    kp, kd, rates = under_rigid(arm, bandwidth)
    path = shaped(arm, rates)
    return arm.loop(
        control.ComputedTorque(
            kp, kd, sample_time=arm.sample, system=arm.model, reference=path
        )
    )  # fmt: skip


@CATALOGUE.entry("computed torque, flexible, planned path", bandwidth=(1.0, 3.0))
def flexible(arm: Arm, bandwidth: float = 1.4) -> Loop:
    """The flexible model with a Kalman filter, along the joints of the planned motion."""
    w = bandwidth * lowest(arm)
    return arm.loop(
        control.ComputedTorque(
            w * w, 2.0 * w, sample_time=arm.observed, model="flexible", system=arm.model,
            reference=joints_along(arm.model, planned(arm)), observer=arm.filter(),
        )
    )  # fmt: skip


@CATALOGUE.entry("active damping, ZVD", active=(0.1, 0.4))
def damped(arm: Arm, bandwidth: float = BEST, active: float = 0.3) -> Loop:
    """PD with torques that damp two vibrations, whose motion a linear Kalman filter estimates."""
    found = springs(arm, bandwidth)
    return arm.loop(
        control.ActiveDamping(
            **gains(arm, bandwidth), damping=active, modes=2, about=arm.end, system=arm.model, reference=shaped(arm, found.rates),
            observer=control.Kalman(arm.disturbance, initial=1e-3),
        )
    )  # fmt: skip


@CATALOGUE.entry("singular perturbation, ZVD", bandwidth=(0.25, 0.35, 0.5))
def two_scales(arm: Arm, bandwidth: float = 0.35) -> Loop:
    """Slow computed torque and fast damping; the joints must be slow compared with the links."""
    kp, kd, rates = under_rigid(arm, bandwidth, arm.observed)
    return arm.loop(
        control.SingularPerturbation(
            kp, kd, sample_time=arm.observed, reference=shaped(arm, rates),
            observer=arm.filter(),
        )
    )  # fmt: skip


@CATALOGUE.entry("LQG, planned path", effort=(0.1, 1.0), doubt=DOUBTS)
def lqg(arm: Arm, effort: float = 1.0, doubt: float = 1.0) -> Loop:
    """LQR along the planned motion, with a Kalman filter."""
    Q = np.ones(2 * arm.system.nv)
    for joint in arm.joints:
        Q[arm.system.layout[joint].v_joint] = 100.0
    R = effort * np.square(1.0 / np.array(arm.torque))
    return arm.loop(
        control.LQR(
            Q, R, sample_time=arm.observed, about=along(arm.model, planned(arm)), system=arm.model,
            delay=arm.delay, observer=arm.filter(doubt),
        )
    )  # fmt: skip


@CATALOGUE.entry("stable inversion, PD", duration=(0.6, 1.0))
def inversion(arm: Arm, duration: float = 1.0) -> Loop:
    """Torques with which nodes of the links follow a path exactly, and PD of the joints; the path begins as soon as the
    torques allow.

    duration : of the path, as a fraction of that of the motion.
    """
    outputs = checked_outputs(arm.model, list(arm.outputs))
    rest = np.zeros((1, arm.model.nv))
    ends = [outputs.motion(q[None], rest).value[0] for q in (arm.q0, arm.end)]
    path = Quintic(ends[0], ends[1], duration * arm.path.duration)
    found = control.stable_inversion(arm.model, path, list(arm.outputs), q=arm.q0, **arm.inversion)
    return arm.loop(control.StableInversion(found, **gains(arm)))


@CATALOGUE.entry("patent, impedance", bandwidth=BANDWIDTHS)
def patent(arm: Arm, bandwidth: float = BEST) -> Loop:
    """The loop of US 5,546,508 along the planned motion, with its torques, and springs and dampers at the joints."""
    found = springs(arm, bandwidth)
    return arm.loop(
        control.FlexibleArmController(
            arm.model, planned(arm), law=control.Impedance(tuple(found.kp), tuple(found.kd)), friction=arm.friction, compiled=True
        )
    )  # fmt: skip


@CATALOGUE.entry("patent, optimal", force=(0.1, 0.5))
def optimal(arm: Arm, force: float = 0.1) -> Loop:
    """The same with feedback of the whole state from its observer."""
    law = control.Optimal(tuple(force * np.array(arm.torque)), energy=arm.energy)
    return arm.loop(
        control.FlexibleArmController(
            arm.model, planned(arm), law=law, state="observer", friction=arm.friction, compiled=True
        )
    )


@CATALOGUE.entry("NMPC", effort=(0.3, 3.0), doubt=DOUBTS)
def nmpc(arm: Arm, effort: float = 0.3, doubt: float = 1.0) -> Loop:
    """Follows the commanded path and itself plans how the arm comes to rest; with a Kalman filter."""
    sample_time, intervals = arm.horizon
    joints = dict.fromkeys(arm.joints, 1.0 / 0.02**2)
    speeds = dict.fromkeys(arm.joints, 1.0 / 0.2**2)
    return arm.loop(
        control.NMPC(
            arm.model, intervals, sample_time=sample_time, end=arm.end, observer=arm.filter(doubt),
            costs=[
                control.Effort(effort / np.square(arm.torque)),
                control.Tracking(asked_for(arm), q=joints, v=speeds, final_q=joints, final_v=speeds),
                control.Vibration(1.0 / arm.energy, final=1.0 / arm.energy),
            ],
        )
    )  # fmt: skip
