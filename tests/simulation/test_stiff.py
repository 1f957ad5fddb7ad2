"""Stiff torque laws: the implicit method sees their slopes, and `auto` finds out that it should be used."""

import math

import numpy as np
import pytest

import limber as lb


def arm(fidelity="full"):
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    link = lb.beam(1.0, 2.0, EI=(80.0, 120.0), modes=1, damping=0.01)
    a.attach("upper", link, lb.Revolute([0, 1, 0]))
    a.attach("lower", link, lb.Revolute([0, 0, 1]), to="upper", at="tip")
    return a.build(fidelity=fidelity)


def joints(s):
    return [(s.layout[b].q_joint.start, s.layout[b].v_joint.start) for b in s.bodies]


def servo(s, stiffness, damping, law=lambda x: x):
    """Joints that follow a sine."""
    at_q, at_v = (list(places) for places in zip(*joints(s)))

    def torque(t, q, v):
        tau = np.zeros(s.nv)
        tau[at_v] = law(stiffness * (0.3 * math.sin(t) - q[at_q]) - damping * v[at_v])
        return tau

    return torque


def agree(a, b, tolerance):
    assert np.abs(a.q - b.q).max() < tolerance
    assert np.abs(a.v - b.v).max() < 100 * tolerance


def test_a_stiff_servo_takes_few_implicit_steps():
    s = arm()
    torque = servo(s, 2e4, 2e3)
    stiff = lb.simulate(s, 0.5, torque=torque, method="sdirk4")
    plain = lb.simulate(s, 0.5, torque=torque, method="dop853")
    agree(stiff, plain, 1e-6)
    assert stiff.statistics.evaluations < 0.2 * plain.statistics.evaluations
    assert stiff.statistics.rejected < 30


def test_servo_gains_beyond_explicit_methods_follow_the_closed_form():
    """The joints lag behind by damping over stiffness, 10 ms; explicit steps would be some 1e-8 s long."""
    s = arm()
    r = lb.simulate(s, 1.0, torque=servo(s, 1e8, 1e6), method="sdirk4")
    late = r.t > 0.5
    lag = np.arctan(0.01)
    for i, _ in joints(s):
        expected = 0.3 * np.cos(lag) * np.sin(r.t[late] - lag)
        assert np.abs(r.q[late, i] - expected).max() < 2e-6
    assert r.statistics.evaluations < 60_000


@pytest.mark.parametrize(
    "law",
    [
        pytest.param(lambda x: np.minimum(np.maximum(x, -60.0), 60.0), id="saturated"),
        pytest.param(lambda x: 60.0 * np.tanh(x / 60.0), id="smoothly saturated"),
    ],
)
def test_saturated_servos_agree_with_an_explicit_method(law):
    s = arm()
    torque = servo(s, 2e4, 2e3, law)
    stiff = lb.simulate(s, 0.5, torque=torque, method="sdirk4", rtol=1e-7, atol=1e-9)
    plain = lb.simulate(s, 0.5, torque=torque, method="dop853", rtol=1e-9, atol=1e-11)
    agree(stiff, plain, 2e-6)


def test_regularized_friction_agrees_with_radau():
    """Coulomb's law, regularized within 1e-4 rad/s: steep where it matters."""
    s = arm()
    places = [j for _, j in joints(s)]

    def torque(t, q, v):
        tau = np.zeros(s.nv)
        tau[places] = 4.0 * np.sin(2.0 * t) - 3.0 * np.tanh(v[places] / 1e-4)
        return tau

    stiff = lb.simulate(s, 0.6, torque=torque, method="sdirk4", rtol=1e-7, atol=1e-9)
    peer = lb.simulate(s, 0.6, torque=torque, method="Radau", rtol=1e-9, atol=1e-11)
    agree(stiff, peer, 1e-5)


def test_stiff_attitude_control():
    """Slopes along the speeds, where the coordinates are quaternions."""
    a = lb.Assembly("satellite")
    a.attach("hub", lb.RigidBody(10.0, inertia=np.diag([1.0, 2.0, 3.0])), lb.Free())
    s = a.build()
    q0 = s.neutral()
    q0[:4] = np.array([0.9, 0.2, -0.3, 0.1]) / np.linalg.norm([0.9, 0.2, -0.3, 0.1])

    def torque(t, q, v):
        tau = np.zeros(6)
        tau[:3] = -4e4 * q[0] * q[1:4] - 4e3 * v[:3]
        return tau

    stiff = lb.simulate(s, 1.0, q0=q0, torque=torque, method="sdirk4")
    plain = lb.simulate(s, 1.0, q0=q0, torque=torque, method="dop853", rtol=1e-9, atol=1e-11)
    agree(stiff, plain, 1e-5)
    assert stiff.statistics.evaluations < 0.2 * plain.statistics.evaluations


def test_newtons_matrix_is_exact_for_a_linear_system():
    """A stage takes one correction, and a second evaluation that finds nothing left."""
    a = lb.Assembly("masses")
    a.attach("one", lb.RigidBody(2.0, inertia=np.eye(3)), lb.Prismatic([1, 0, 0]))
    a.attach("two", lb.RigidBody(3.0, inertia=np.eye(3)), lb.Prismatic([1, 0, 0]), to="one")
    s = a.build()
    K = np.array([[7e4, -2e4], [-2e4, 5e4]])
    D = np.array([[700.0, -90.0], [40.0, 300.0]])

    def torque(t, q, v):
        return -K @ q - D @ v

    r = lb.simulate(s, 1.0, q0=[0.1, -0.2], torque=torque, method="sdirk4")
    slopes = 2 * s.nv + 1
    assert r.statistics.evaluations < 10.2 * (r.statistics.steps + r.statistics.rejected) + slopes
    fine = lb.simulate(
        s, 1.0, q0=[0.1, -0.2], torque=torque, method="dop853", rtol=1e-11, atol=1e-13
    )
    agree(r, fine, 1e-5)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_order_with_a_torque_law(fidelity):
    """Error against number of steps, as the tolerance tightens."""
    s = arm(fidelity)
    torque = servo(s, 300.0, 20.0)
    options = {"torque": torque, "t_eval": [0.2]}
    fine = lb.simulate(s, 0.2, method="dop853", rtol=1e-13, atol=1e-15, **options)
    steps, errors = [], []
    for tolerance in (1e-6, 1e-8):
        r = lb.simulate(s, 0.2, method="sdirk4", rtol=tolerance, atol=tolerance, **options)
        steps.append(r.statistics.steps)
        errors.append(np.abs(r.q - fine.q).max())
    order = np.log(errors[0] / errors[1]) / np.log(steps[1] / steps[0])
    assert abs(order - 4.0) < 0.5, (steps, errors)


def test_a_torque_of_time_alone_is_not_asked_for_slopes():
    s = arm()
    calls = 0

    def torque(t, q, v):
        nonlocal calls
        calls += 1
        return [np.sin(t), np.cos(t)]

    r = lb.simulate(s, 1.0, torque=torque, method="sdirk4", t_eval=[1.0])
    assert calls <= r.statistics.evaluations + 2


@pytest.mark.parametrize("speed", [0.0, 1.0])
@pytest.mark.parametrize("friction_speed", [1e-3, 1e-5, 1e-7])
def test_auto_sees_at_once_that_a_joint_sticks(friction_speed, speed):
    """Explicit steps would be as short as mass friction_speed / friction: 10,000 and more of them."""
    a = lb.Assembly("block", gravity=(5.0, 0.0, 0.0))
    slide = lb.Prismatic("x", friction=20.0, friction_speed=friction_speed)
    s = a.attach("block", lb.RigidBody(2.0), slide).build()
    runs = [lb.simulate(s, 10.0, v0=[speed]) for _ in range(2)]
    assert runs[0].statistics.steps < 300
    assert np.array_equal(runs[0].q, runs[1].q)
    creep = friction_speed / np.sqrt(3.0)  # where friction is half of its level
    assert runs[0].v[-1, 0] == pytest.approx(creep, rel=1e-3)


def test_auto_sees_that_a_joint_sticks_after_a_long_time():
    """Two bodies, of which one swings for ever and one starts to stick when most of the run is over."""
    a = lb.Assembly("two", gravity=(0.0, 0.0, -9.81))
    a.attach("swing", lb.RigidBody(1.0, (0.5, 0, 0), (0.1, 0.1, 0.1)), lb.Revolute("y"))
    slide = lb.Prismatic("x", friction=1.0, friction_speed=1e-6)
    s = a.attach("block", lb.RigidBody(1.0), slide).build()
    r = lb.simulate(s, 60.0, v0=[0.0, 50.0])
    assert abs(r.v[-1, 1]) < 1e-6
    alone = lb.simulate(s, 60.0, v0=[0.0, 50.0], method="sdirk4")
    assert r.statistics.evaluations < alone.statistics.evaluations
    assert r.q[-1, 1] == pytest.approx(1250.0, rel=1e-6)


def test_auto_stays_with_explicit_steps_that_accuracy_limits():
    a = lb.Assembly("chain", gravity=(0.0, 0.0, -9.81))
    to = "world"
    for i in range(4):
        link = lb.RigidBody(1.0, (0.25, 0, 0), (0.01, 0.02, 0.02), nodes={"end": (0.5, 0, 0)})
        a.attach(f"link{i}", link, lb.Revolute("y"), to, None if to == "world" else "end")
        to = f"link{i}"
    s = a.build()
    auto, explicit = (lb.simulate(s, 10.0, method=method) for method in ("auto", "dop853"))
    assert auto.statistics.steps == explicit.statistics.steps
    assert np.array_equal(auto.q, explicit.q)


def test_auto_goes_over_to_implicit_steps_and_repeats_itself():
    s = arm()
    torque = servo(s, 1e6, 1e5)
    runs = [lb.simulate(s, 4.0, torque=lambda t, q, v: torque(t, q, v)) for _ in range(2)]
    assert np.array_equal(runs[0].q, runs[1].q) and np.array_equal(runs[0].v, runs[1].v)
    assert runs[0].statistics.steps == runs[1].statistics.steps
    # explicit steps are a few damping times long: there would be millions of them
    assert runs[0].statistics.evaluations < 1_000_000
