"""Computed torque with the rigid and the flexible model: joints follow, errors decay as designed, a free base moves."""

import numpy as np
import pytest

import limber as lb
from limber.control import ComputedTorque, Encoder, Kalman, Loop

TIGHT = {"rtol": 1e-9, "atol": 1e-11}


def arm(flexible=True, load=1.0):
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    for i, parent in ((1, "world"), (2, "link1")):
        body = lb.beam(1.0, 1.0, EI=2000.0, modes={"y": 1}, damping=0.01)
        if not flexible:
            body = lb.RigidBody(1.0, com=(0.5, 0, 0), inertia=[0.1] * 3, nodes={"tip": (1, 0, 0)})
        joint = lb.Revolute("z", armature=1.0)
        a.attach(f"link{i}", body, joint, to=parent, at=None if i == 1 else "tip")
    a.attach("load", lb.RigidBody(load, inertia=[0.01] * 3), lb.Fixed(), "link2", "tip")
    return a.build()


MOVE = lb.trajectories.Quintic([0.0, 0.2], [0.5, 0.9], 0.6)


def off(s, r, reference=MOVE):
    """The largest error of the joints."""
    q = np.hstack([r.joint(body).reshape(len(r.t), -1) for body in ("link1", "link2")])
    return np.abs(q - np.array([reference(float(t)).position for t in r.t])).max()


def started(s):
    q = s.neutral()
    for body, angle in zip(("link1", "link2"), MOVE.start):
        q[s.layout[body].q_joint] = angle
    return q


def test_a_rigid_arm_follows_as_the_sample_time_goes_to_zero():
    s = arm(flexible=False)
    errors = []
    for T in (0.004, 0.001):
        c = ComputedTorque(400.0, 40.0, sample_time=T, reference=MOVE)
        errors.append(off(s, lb.simulate(s, 0.7, q0=started(s), torque=c, every=0.01, **TIGHT)))
    assert errors[1] < 3e-4 and errors[1] < 0.3 * errors[0]


def test_errors_decay_as_they_were_designed_to():
    s = arm(flexible=False)
    c = ComputedTorque(100.0, 20.0, sample_time=0.0005, reference=[0.1, -0.1])
    r = lb.simulate(s, 0.5, torque=c, every=0.05, **TIGHT)
    e = (0.1 * (1.0 + 10.0 * r.t) * np.exp(-10.0 * r.t))[:, None] * [1.0, -1.0]
    q = np.column_stack([r.joint("link1"), r.joint("link2")])
    assert np.allclose([0.1, -0.1] - q, e, atol=1e-3)


def test_the_error_of_the_flexible_model_goes_to_zero_with_the_sample_time_and_that_of_the_rigid_one_does_not():
    s, errors = arm(), {}
    for model in ("rigid", "flexible"):
        for T in (0.001, 0.0005):
            c = ComputedTorque(100.0, 20.0, sample_time=T, model=model, reference=MOVE)
            r = lb.simulate(s, 0.7, q0=started(s), torque=c, every=0.01)
            errors[model, T] = off(s, r)
    assert errors["flexible", 0.0005] == pytest.approx(0.5 * errors["flexible", 0.001], rel=0.05)
    assert errors["rigid", 0.0005] == pytest.approx(errors["rigid", 0.001], rel=0.05)
    assert errors["flexible", 0.0005] < 0.25 * errors["rigid", 0.0005]


def test_torques_are_those_of_inverse_dynamics():
    s = arm()
    rng = np.random.default_rng(3)
    q, v = 0.05 * rng.standard_normal((2, s.nv))
    at = lb.control.Measured(0.0, q, v)
    reference = lambda t: (np.array([0.3, 0.1]), np.array([1.0, 2.0]), np.array([3.0, -4.0]))  # noqa: E731
    c = ComputedTorque(
        [9.0, 8.0], [6.0, 5.0], sample_time=0.01, model="flexible", reference=reference
    )
    lb.control.Loop(s, c)
    c.start(0.0, at)
    joints = [s.layout[b].v_joint.start for b in ("link1", "link2")]
    wanted = (
        [3.0, -4.0] + [6.0, 5.0] * ([1.0, 2.0] - v[joints]) + [9.0, 8.0] * ([0.3, 0.1] - q[joints])
    )
    assert np.allclose(lb.forward_dynamics(s, q, v, c.command(0.0, at))[joints], wanted)
    # the rigid model sees neither deformation nor its rate, whichever system it is taken from
    torques = []
    for system in (None, arm(flexible=True)):
        rigid = ComputedTorque(9.0, 6.0, sample_time=0.01, system=system, reference=reference)
        lb.control.Loop(s, rigid)
        rigid.start(0.0, at)
        torques.append(rigid.command(0.0, at))
    assert np.array_equal(*torques)


def test_a_free_base_moves_as_it_must():
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(20.0, inertia=(3.0, 3.0, 3.0)), lb.Free())
    link = lb.RigidBody(2.0, com=(0.5, 0, 0), inertia=[0.2] * 3)
    a.attach("link", link, lb.Revolute("z"), "hub", offset=(0.5, 0, 0))
    s = a.build()
    for model in ("rigid", "flexible"):
        c = ComputedTorque(
            0.0,
            0.0,
            sample_time=0.01,
            model=model,
            bodies=["link"],
            reference=lambda t: (0.0, 0.0, 2.0),
        )
        lb.control.Loop(s, c)
        v = 0.3 * np.arange(s.nv)
        at = lb.control.Measured(0.0, s.neutral(), v)
        c.start(0.0, at)
        tau = c.command(0.0, at)
        place = s.layout["link"].v_joint
        assert np.count_nonzero(tau) == 1
        assert np.allclose(lb.forward_dynamics(s, s.neutral(), v, tau)[place], 2.0)


def test_what_is_not_known_is_refused():
    s = arm()
    encoder, tachometer = lb.control.Encoder(rate=1000.0), lb.control.Tachometer(rate=1000.0)
    with pytest.raises(lb.LimberError, match="speeds of all joints: add a Tachometer"):
        lb.control.Loop(s, ComputedTorque(1.0, 1.0, sample_time=0.01), sensors=[encoder])
    c = ComputedTorque(1.0, 1.0, sample_time=0.01, model="flexible")
    with pytest.raises(lb.LimberError, match="the modes, which the flexible model needs"):
        lb.control.Loop(s, c, sensors=[encoder, tachometer])
    with pytest.raises(lb.LimberError, match="model must be 'rigid' or 'flexible'"):
        ComputedTorque(1.0, 1.0, sample_time=0.01, model="stiff")
    other = ComputedTorque(1.0, 1.0, sample_time=0.01, system=lb.models.canadarm().build())
    with pytest.raises(lb.LimberError, match="must have the bodies and joints"):
        lb.control.Loop(s, other)


def test_what_an_observer_records_is_among_the_signals():
    s = arm()
    c = ComputedTorque(100.0, 20.0, sample_time=0.002, observer=Kalman(0.05))
    loop = Loop(s, c, sensors=[Encoder(rate=500.0, noise=1e-5)], seed=1)
    r = lb.simulate(s, 0.01, torque=loop)
    assert {"estimate", "deviation", "innovation encoder"} <= set(r.signals)


def test_names_of_bodies_may_have_brackets():
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    link = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1), nodes={"tip": (1.0, 0, 0)})
    a.attach("link[0]", link, lb.Universal("z", "y"))
    a.attach("link[1]", link, lb.Revolute("z"), "link[0]", "tip")
    s = a.build()
    ends = []
    for model in ("rigid", "flexible"):
        c = lb.control.ComputedTorque(
            100.0, 20.0, sample_time=0.01, model=model, reference=[0.1, 0.2, 0.3]
        )
        ends.append(lb.simulate(s, 0.5, torque=c).q[-1])
    assert np.allclose(*ends, atol=1e-9)
    path = lb.trajectories.Quintic(s.neutral(), s.neutral() + 0.1, 1.0)
    with pytest.raises(lb.LimberError, match=r"leaves none of the 3 speeds"):
        lb.control.frequencies_along(s, path, [0.0, 1.0])
