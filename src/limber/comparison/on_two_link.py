"""The two-link flexible arm of De Luca & Siciliano (1991), under all controllers of arms.

Links of half a metre that bend at 0.48 Hz with what they carry; quintics of 3 s.  Encoders, tachometers and a strain gauge on
each link have noise; there is neither friction nor damping, so that what a controller does not damp stays.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import limber as lb
from limber import control
from limber.checks import Array
from limber.comparison.planned import along, joints_along, oscillations
from limber.comparison.plant import Entry, Plant, entry

#: Sample time of quick controllers, and of those with an extended Kalman filter, s.
SAMPLE, OBSERVED = 0.001, 0.002
DELAY = 2e-4
#: Springs (N m/rad) and dampers (N m s/rad) of the joints, near the stiffest that this sample time bears.
KP, KD = (2.4, 0.54), (1.9, 0.43)
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
ENTRIES: dict[str, Entry] = {}


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


def two_link() -> Plant:
    """The plant."""
    s = arm()
    goal = lb.pose(s, end(s), "load")[1]

    def error(result: lb.Result) -> Array:
        return np.linalg.norm(lb.pose(s, result.q, "load")[1] - goal, axis=1)

    def loop(controller) -> control.Loop:
        return control.Loop(
            s, controller, sensors=sensors(), actuators=[control.Servo(hub, limit=2.0) for hub in HUBS],
            delay=DELAY, seed=5,
        )  # fmt: skip

    return Plant(
        name="two-link", title="Two-link flexible arm, motion of 3 s", system=s, q0=s.neutral(),
        path=lb.trajectories.Quintic((0.0, 0.0), GOAL, 3.0), duration=15.0, window=(10.0, 15.0),
        error=error, error_unit="mm", error_scale=1e3, tolerance=0.01,
        deflections=deflections, watched="tip of link 1",
        loop=loop, entries=ENTRIES,
    )  # fmt: skip


def deflections(result: lb.Result) -> Array:
    """Of the tips of the links."""
    return np.column_stack([result.deflection(f"link{i}", "tip")[:, 1] for i in (1, 2)])


def sensors() -> list:
    """Encoders of 18 bit, tachometers, a strain gauge on each link."""
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
    """The configuration at the end of the motion."""
    q = s.neutral()
    for hub, angle in zip(HUBS, GOAL):
        q[s.layout[hub].q_joint] = angle
    return q


def shaped(plant: Plant):
    """The motion, shaped for the two slowest oscillations that the loop of PD leaves."""
    controller = control.PD(KP, KD, sample_time=SAMPLE)
    control.Loop(plant.system, controller)
    outputs = [(what, hub) for what in ("coordinate", "speed") for hub in HUBS]
    rest = np.zeros(plant.system.nv)
    model = lb.linearize(plant.system, end(plant.system), rest, rest, inputs=HUBS, outputs=outputs)
    loop = control.margins(model, controller, delay=DELAY).loop
    first, second = oscillations(loop.model().rates)[:2]
    return (control.zvd(*first) * control.zvd(*second)).shaped(plant.path)


@cache
def planned(plant: Plant, sample_time: float = SAMPLE) -> control.DesiredMotion:
    """The motion planned from rest to rest."""
    return control.rest_to_rest(
        plant.system, plant.path, plant.path.duration, tip=("load", None), sample_time=sample_time,
        tracking=0.02, change=0.05,
    )  # fmt: skip


@entry(ENTRIES, "PD")
def pd(plant: Plant):
    """Springs and dampers at the joints."""
    return plant.loop(control.PD(KP, KD, sample_time=SAMPLE, reference=plant.path))


@entry(ENTRIES, "PD, ZVD")
def pd_shaped(plant: Plant):
    """The same with a shaped path."""
    return plant.loop(control.PD(KP, KD, sample_time=SAMPLE, reference=shaped(plant)))


@entry(ENTRIES, "PD, planned path")
def pd_planned(plant: Plant):
    """Joints along the motion that ends at rest, without its torques."""
    reference = joints_along(plant.system, planned(plant))
    return plant.loop(control.PD(KP, KD, sample_time=SAMPLE, reference=reference))


@entry(ENTRIES, "computed torque, rigid, ZVD")
def rigid(plant: Plant):
    """The rigid model."""
    return plant.loop(control.ComputedTorque(4.0, 3.2, sample_time=SAMPLE, reference=shaped(plant)))


@entry(ENTRIES, "computed torque, flexible, planned path")
def flexible(plant: Plant):
    """The flexible model with a Kalman filter, along the joints of the planned motion."""
    reference = joints_along(plant.system, planned(plant))
    return plant.loop(
        control.ComputedTorque(
            36.0, 12.0, sample_time=OBSERVED, model="flexible", reference=reference,
            observer=control.Kalman(0.02, extended=True, initial=1e-3),
        )
    )  # fmt: skip


@entry(ENTRIES, "active damping, ZVD")
def damped(plant: Plant):
    """PD with torques that damp two vibrations, whose motion a Kalman filter estimates."""
    return plant.loop(
        control.ActiveDamping(
            KP, KD, sample_time=SAMPLE, damping=0.5, modes=2, about=end(plant.system), reference=shaped(plant),
            observer=control.Kalman(0.02, extended=True, initial=1e-3),
        )
    )  # fmt: skip


@entry(ENTRIES, "singular perturbation, ZVD")
def two_scales(plant: Plant):
    """Slow computed torque and fast damping; joints must be slow against the links for that."""
    return plant.loop(
        control.SingularPerturbation(
            1.0, 1.6, sample_time=OBSERVED, reference=shaped(plant),
            observer=control.Kalman(0.02, extended=True, initial=1e-3),
        )
    )  # fmt: skip


@entry(ENTRIES, "LQG, planned path")
def lqg(plant: Plant):
    """LQR along the planned motion, with a Kalman filter."""
    Q = np.ones(2 * plant.system.nv)
    for hub in HUBS:
        Q[plant.system.layout[hub].v_joint] = 30.0
    return plant.loop(
        control.LQR(
            Q, 1.0, sample_time=OBSERVED, about=along(plant.system, planned(plant)), delay=DELAY,
            observer=control.Kalman(0.02, extended=True, initial=1e-3),
        )
    )  # fmt: skip


@entry(ENTRIES, "patent, impedance")
def patent(plant: Plant):
    """The loop of US 5,546,508 along the planned motion, with the springs and dampers of PD."""
    return plant.loop(
        control.FlexibleArmController(
            plant.system, planned(plant), law=control.Impedance(KP, KD), compiled=True
        )
    )
