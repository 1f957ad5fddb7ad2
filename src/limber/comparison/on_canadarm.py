"""The Canadarm and its slew, under all controllers of arms.

Cycloids of 10, 5 and 5 s to 0.75, 0.25 and 0.5 rad; servos with rotors, friction and limits, encoders of 20 bit, noisy
tachometers and a delay of half a millisecond, as in `limber demo`.  The controllers know three quarters of the friction, or none.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import limber as lb
from limber import control, controlled_slew
from limber.checks import Array
from limber.comparison.planned import along, joints_along, oscillations
from limber.comparison.plant import Entry, Plant, entry
from limber.controlled_slew import KNOWN_FRICTION, LAW, LINKS, SLEW, TIP

#: Sample time of most controllers and of that with an extended Kalman filter, and the delay of commands, s.
SAMPLE, OBSERVED, DELAY = 0.002, 0.004, 0.0005
GOAL = (0.75, 0.25, 0.5)
#: The bandwidth of joints under PD, rad/s, and under computed torque, which takes the links for rigid: twice as much would be near
#: the border of stability.
BANDWIDTH, COMPUTED = 2.0, 1.0
ENTRIES: dict[str, Entry] = {}


def canadarm() -> Plant:
    """The plant; it moves in its plane."""
    servos = controlled_slew.servos()
    s = control.fit(lb.models.canadarm(modes={"y": 2}), *servos).build()
    q = s.neutral()
    for link, angle in zip(LINKS, GOAL):
        q[s.layout[link].q_joint] = angle
    goal = lb.pose(s, q, *TIP)[1]

    def error(result: lb.Result) -> Array:
        return np.linalg.norm(lb.pose(s, result.q, *TIP)[1] - goal, axis=1)

    return Plant(
        name="canadarm", title="Canadarm, slew of 10 s", system=s, q0=s.neutral(),
        path=lb.trajectories.Cycloid(rate=(0.075, 0.05, 0.1), duration=(10.0, 5.0, 5.0)),
        duration=30.0, window=(20.0, 30.0), error=error, error_unit="mm", error_scale=1e3, tolerance=0.02,
        deflections=deflections, watched="tip of link 1",
        loop=lambda controller: controlled_slew.loop(s, controller), entries=ENTRIES,
    )  # fmt: skip


def deflections(result: lb.Result) -> Array:
    """Of the tips of the links."""
    return np.column_stack([result.deflection(link, "tip")[:, 1] for link in LINKS])


def model(plant: Plant) -> lb.System:
    """The arm as controllers know it."""
    return control.without_friction(plant.system)


def end(plant: Plant) -> Array:
    """The configuration at the end of the slew."""
    q = plant.system.neutral()
    for link, angle in zip(LINKS, GOAL):
        q[plant.system.layout[link].q_joint] = angle
    return q


@cache
def tuned(plant: Plant) -> control.Tuned:
    """Gains that hold the joints, with the poles of the loop."""
    return control.tune(
        model(plant), "pd", q=end(plant), sample_time=SAMPLE, delay=DELAY, bandwidth=BANDWIDTH
    )


def gains(plant: Plant) -> dict:
    """As `PD` takes them."""
    return {"kp": tuned(plant).kp, "kd": tuned(plant).kd, "sample_time": SAMPLE}


def shaped(plant: Plant):
    """The slew, shaped for the two slowest oscillations that the loop leaves."""
    first, second = oscillations(tuned(plant).margins.loop.model().rates)[:2]
    return (control.zvd(*first) * control.zvd(*second)).shaped(plant.path)


@cache
def planned(plant: Plant) -> control.DesiredMotion:
    """The slew planned from rest to rest."""
    return control.rest_to_rest(model(plant), plant.path, SLEW, tip=TIP, tracking=0.1)


@entry(ENTRIES, "PD")
def pd(plant: Plant):
    """Each joint by itself."""
    return plant.loop(control.PD(**gains(plant), reference=plant.path))


@entry(ENTRIES, "PD, ZVD")
def pd_shaped(plant: Plant):
    """The same with a shaped path."""
    return plant.loop(control.PD(**gains(plant), reference=shaped(plant)))


@entry(ENTRIES, "PID, ZVD")
def pid_shaped(plant: Plant):
    """The same with an integral against friction."""
    ki = 0.1 * tuned(plant).kp
    return plant.loop(control.PID(**gains(plant), ki=ki, reference=shaped(plant)))


@entry(ENTRIES, "PD, damping")
def pd_damping(plant: Plant):
    """Springs and dampers that damp the links, those of the patent's loop below."""
    return plant.loop(
        control.PD(LAW.stiffness, LAW.damping, sample_time=SAMPLE, reference=plant.path)
    )


@entry(ENTRIES, "computed torque, rigid, ZVD")
def rigid(plant: Plant):
    """The rigid model along the shaped path."""
    return plant.loop(
        control.ComputedTorque(
            COMPUTED**2,
            1.6 * COMPUTED,
            sample_time=SAMPLE,
            system=model(plant),
            reference=shaped(plant),
        )
    )


@entry(ENTRIES, "PD, damping, planned path")
def pd_planned(plant: Plant):
    """Joints along the motion that ends at rest, without its torques."""
    reference = joints_along(model(plant), planned(plant))
    return plant.loop(
        control.PD(LAW.stiffness, LAW.damping, sample_time=SAMPLE, reference=reference)
    )


@entry(ENTRIES, "LQG, planned path")
def lqg(plant: Plant):
    """LQR along the planned motion, with a Kalman filter; its model is the plant itself, with all of the friction."""
    s = plant.system
    Q = np.ones(2 * s.nv)
    for link in LINKS:
        Q[s.layout[link].v_joint] = 100.0
    return plant.loop(
        control.LQR(
            Q, (1e-6, 1e-6, 1e-5), sample_time=OBSERVED, about=along(model(plant), planned(plant)),
            system=model(plant), delay=DELAY, observer=control.Kalman(1.0, extended=True, initial=1e-3),
        )
    )  # fmt: skip


@entry(ENTRIES, "patent, impedance")
def patent(plant: Plant):
    """The loop of US 5,546,508 along the same motion, with its torques and the same springs and dampers."""
    return plant.loop(
        control.FlexibleArmController(
            model(plant), planned(plant), law=LAW, friction=KNOWN_FRICTION, compiled=True
        )
    )


@entry(ENTRIES, "patent, optimal")
def optimal(plant: Plant):
    """The same with feedback of the whole state from its observer."""
    return plant.loop(
        control.FlexibleArmController(
            model(plant), planned(plant), law=control.Optimal((300.0, 200.0, 50.0)), state="observer",
            friction=KNOWN_FRICTION, compiled=True,
        )
    )  # fmt: skip
