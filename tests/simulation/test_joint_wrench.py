"""The wrench through joints, against Newton's and Euler's laws for the whole system and against the sensor."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import limber as lb

WEIGHT = np.array([0.0, -9.81, 0.0])


def arm():
    a = lb.Assembly("arm", gravity=WEIGHT)
    a.attach(
        "upper",
        lb.beam(1.0, 2.0, EI=90.0, modes={"y": 2}, damping=0.01),
        lb.Revolute("z"),
        offset=(0.2, 0.1, 0.0),
        joint_name="shoulder",
    )
    a.attach("fore", lb.beam(0.7, 1.0, EI=40.0, modes=1), lb.Revolute("y"), "upper", "tip")
    return a.build()


def four_bar():
    def bar(length, mass):
        inertia = (1e-4, mass * length**2 / 12, mass * length**2 / 12)
        return lb.RigidBody(mass, (length / 2, 0, 0), inertia, nodes={"tip": (length, 0, 0)})

    a = lb.Assembly("four-bar", gravity=WEIGHT)
    a.attach("crank", bar(0.1, 0.3), lb.Revolute("z"))
    beam = lb.beam(0.5, 0.6, EI=300.0, modes={"y": 3}, damping=0.01)
    a.attach("coupler", beam, lb.Revolute("z"), to="crank", at="tip")
    a.attach("rocker", bar(0.4, 0.5), lb.Revolute("z"), offset=(0.45, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Spherical(), name="pin")
    return a.build()


def rates(result, h=1e-6):
    """The rate of the momentum [angular, linear] about the world origin, by central differences along the motion."""
    s, q, v, vdot = result.system, result.q, result.v, result.vdot
    ends = [lb.momentum(s, lb.integrate(s, q, v, x), v + x * vdot) for x in (h, -h)]
    return (ends[0] - ends[1]) / (2 * h)


def test_the_root_joint_carries_the_rate_of_momentum_minus_weight_and_loads():
    s = arm()
    push = np.array([0.1, 0.2, 0.3, 2.0, 1.0, -3.0])
    r = lb.simulate(s, 0.2, external={("fore", "tip"): push}, every=0.01)
    found = r.joint_wrench("upper")
    assert np.array_equal(found, r.joint_wrench("shoulder"))
    tip = r.node("fore", "tip").position
    force = rates(r)[:, 3:] - 3.0 * WEIGHT - push[3:]
    assert np.abs(found[:, 3:] - force).max() < 1e-6 * np.abs(force).max()
    # about the world origin: first moments of mass from the momentum that a unit speed of the base would have
    free = _freed(s)
    first = [lb.mass_matrix(free, np.concatenate([[1.0, *[0.0] * 6], q]))[:3, 3:6] for q in r.q]
    moment_of_weight = np.array([h @ WEIGHT for h in first])
    moment = rates(r)[:, :3] - moment_of_weight - push[:3] - np.cross(tip, push[3:])
    about_origin = found[:, :3] + np.cross([0.2, 0.1, 0.0], found[:, 3:])
    assert np.abs(about_origin - moment).max() < 1e-6 * np.abs(moment).max()


def _freed(s):
    """The same arm on a free base whose own first moment of mass is zero."""
    a = lb.Assembly("free", gravity=WEIGHT)
    a.attach("base", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Free())
    for name, item in s.attachments.items():
        to = "base" if item.to == "world" else item.to
        a.attach(
            name, item.body, item.joint, to, item.at, offset=item.offset, rotation=item.rotation
        )
    return a.build()


def test_the_ground_joints_of_a_closed_chain_carry_its_weight_and_inertia_together():
    s = four_bar()
    guess = s.neutral()
    guess[s.layout["coupler"].q_joint], guess[s.layout["rocker"].q_joint] = 0.9, 1.7
    q0 = lb.assemble(s, guess, locked=["crank"])
    w = 20.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        r = lb.simulate(s, 0.05, q0=q0, motion={"crank": lambda t: (w * t, w, 0.0)}, every=0.002)
        crank, rocker = r.joint_wrench("crank"), r.joint_wrench("rocker")
    both = crank + rocker
    force = rates(r)[:, 3:] - 1.4 * WEIGHT
    assert np.abs(both[:, 3:] - force).max() < 1e-6 * np.abs(force).max()
    # the torque of the drive is the moment about the axis of the crank, and the rocker turns freely
    assert np.allclose(crank[:, 2], r.driving["crank"][:, 0], atol=1e-8)
    assert np.abs(rocker[:, 2]).max() < 1e-8


@pytest.mark.parametrize("related", ["first", "second"])
def test_relations_among_the_closures_do_not_change_what_the_ground_carries(related):
    """Cutting a joint open may put the closures in another order."""
    a = lb.Assembly("pair", gravity=WEIGHT)
    rod = lb.RigidBody(1.0, (0.4, 0.1, 0.2), (0.1, 0.2, 0.3), {"tip": (1.0, 0.0, 0.0)})
    for i, name in enumerate(("first", "second")):
        a.attach(name, rod, lb.Universal("y", "z"), offset=(0.0, 1.0 * i, 0.0))
        a.attach(f"{name} hand", rod, lb.Spherical(), name, "tip")
    a.close(("first hand", "tip"), ("second hand", "tip"), lb.Planar("y"), offset=(0, 1, 0))
    s = a.relate({(related, 0): 1.0}).build()
    rng = np.random.default_rng(3)
    q, v = lb.project(s, s.neutral(), 0.3 * rng.normal(size=s.nv))
    r = lb.Result(s, np.zeros(1), q[None], v[None], rng.normal(size=(1, s.nv)))
    both = r.joint_wrench("first") + r.joint_wrench("second")
    force = rates(r)[:, 3:] - 4.0 * WEIGHT
    assert np.abs(both[:, 3:] - force).max() < 1e-6 * np.abs(force).max()


@pytest.mark.parametrize("joint", [lb.Revolute("z"), lb.Spherical(), lb.Free()])
def test_a_locked_joint_carries_what_a_fixed_one_does(joint):
    def hung(joint):
        a = lb.Assembly("hung", gravity=WEIGHT)
        a.attach("upper", lb.RigidBody(2.0, (0.3, 0, 0), (0.1, 0.2, 0.3)), lb.Universal("z", "x"))
        fore = lb.RigidBody(1.0, (0.4, 0.1, 0), (0.1, 0.2, 0.3))
        a.attach("fore", fore, joint, to="upper", offset=(0.5, 0, 0))
        return a.build()

    r = lb.simulate(hung(joint), 0.3, events=lb.Event(0.0, lb.lock("fore")), every=0.1)
    fixed = hung(lb.Fixed())
    expected = lb.Result(fixed, r.t, r.q[:, :2], r.v[:, :2], r.tau[:, :2]).joint_wrench("fore")
    assert np.allclose(r.joint_wrench("fore")[1:], expected[1:], rtol=1e-7, atol=1e-7)
    q, v, tau = r.q[-1], r.v[-1], r.tau[-1]
    outputs = [("joint_force", "fore")]
    locked = lb.linearize(r.systems[1], q, v, tau, ["upper"], outputs)
    found = lb.linearize(fixed, q[:2], v[:2], tau[:2], ["upper"], outputs)
    assert np.allclose(locked.D, found.D, rtol=1e-9, atol=1e-9)


def test_a_force_torque_sensor_reads_the_same():
    s = arm()

    class Idle(lb.control.Controller):
        sample_time = 0.01

        def command(self, t, measured):
            return np.zeros(s.nv)

    sensor = lb.control.ForceTorque("fore", rate=100.0)
    r = lb.simulate(s, 0.05, torque=lb.control.Loop(s, Idle(), sensors=[sensor]), every=0.01)
    read = r.signals["force-torque"]
    assert np.allclose(r.joint_wrench("fore")[: len(read.t)], read.y, rtol=1e-6, atol=1e-9)


def test_nothing_holds_a_free_craft():
    s = lb.models.spacecraft().build()
    r = lb.simulate(s, 0.1)
    assert r.joint_wrench("hub").shape == (len(r), 6)
    assert np.abs(r.joint_wrench("hub")).max() < 1e-9
    with pytest.raises(lb.LimberError, match="is not in the system"):
        r.joint_wrench("hull")
    fallen = replace(r, environment=np.zeros((len(r), s.nv)))
    with pytest.raises(lb.LimberError, match="ForceTorque"):
        fallen.joint_wrench("hub")
