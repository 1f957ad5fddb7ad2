"""Computed torque of closed systems against closed forms: driven, redundant and passive joints, measured or not."""

import numpy as np
import pytest

import limber as lb
from helpers.mechanisms import SliderCrank, at_crank, bar, carrying, five_bar, four_bar, geared
from limber.control import ComputedTorque, Encoder, Loop, Measured, Tachometer

pytestmark = pytest.mark.filterwarnings("ignore:the closures of")
TIGHT = {"rtol": 1e-9, "atol": 1e-11}
MOTORS = ["left upper", "right upper"]


def commanded(s, c, q, v, sensors=()):
    """The first command in a state."""
    Loop(s, c, sensors=sensors)
    at = Measured(0.0, q, v)
    c.start(0.0, at)
    return c.command(0.0, at)


def accelerations(*wanted):
    """A reference without feedback, for gains of zero."""
    return lambda t: (np.zeros(len(wanted)), np.zeros(len(wanted)), np.array(wanted))


def moving(s, q, **speeds):
    """q with speeds near these that the closures allow."""
    v = np.zeros(s.nv)
    for body, speed in speeds.items():
        v[s.layout[body.replace("_", " ")].v_joint] = speed
    return lb.project(s, q, v)


# --- as many drives as freedoms --------------------------------------------------------------------


@pytest.mark.parametrize("model", ["rigid", "flexible"])
@pytest.mark.parametrize("angle", [0.3, 1.7, -2.0])
def test_torques_of_a_slider_crank_are_those_of_lagrange(angle, model):
    g = SliderCrank()
    s, q, v = g.system(), g.q(angle), 1.4 * g.rates(angle)
    c = ComputedTorque(9.0, 6.0, sample_time=0.01, model=model, bodies="crank", reference=0.5)
    a = 6.0 * (0.0 - 1.4) + 9.0 * (0.5 - angle)
    assert commanded(s, c, q, v) == pytest.approx([g.torque(angle, 1.4, a), 0.0, 0.0], rel=1e-9)


def test_a_slide_may_be_driven_instead_of_the_crank():
    g = SliderCrank()
    s, q, rates = g.system(), g.q(0.8), g.rates(0.8)
    c = ComputedTorque(
        0.0, 0.0, sample_time=0.01, bodies="slider", reference=lambda t: (0.0, 0.0, 2.0)
    )
    # at rest x'' = (dx/da) a'', and the work of the force is that of the torque
    force = g.torque(0.8, 0.0, 2.0 / rates[2]) / rates[2]
    assert commanded(s, c, q, np.zeros(3)) == pytest.approx([0.0, 0.0, force], rel=1e-9)


def test_errors_decay_as_they_were_designed_to():
    """e'' + 20 e' + 100 e = 0; what is left is of first order in the sample time."""
    s = four_bar()
    q0, off = at_crank(s), []
    for T in (0.002, 0.001):
        c = ComputedTorque(100.0, 20.0, sample_time=T, bodies="crank", reference=1.1)
        r = lb.simulate(s, 0.5, q0=q0, torque=c, every=0.05, **TIGHT)
        e = 0.1 * (1.0 + 10.0 * r.t) * np.exp(-10.0 * r.t)
        off.append(np.abs(1.1 - r.joint("crank")[:, 0] - e).max())
    assert off[0] < 5e-4 and off[1] == pytest.approx(0.5 * off[0], rel=0.02)


def test_flexible_links_are_followed_by_the_flexible_model():
    """Its error goes to zero with the sample time, and that of the rigid one does not."""
    s = four_bar(flexible=True)
    q0, move, errors = at_crank(s), lb.trajectories.Quintic(1.0, 1.6, 0.5), {}
    for model in ("rigid", "flexible"):
        for T in (0.002, 0.001):
            c = ComputedTorque(
                100.0, 20.0, sample_time=T, model=model, bodies="crank", reference=move
            )
            r = lb.simulate(s, 0.6, q0=q0, torque=c, every=0.02)
            wanted = np.array([move(float(t)).position for t in r.t])
            errors[model, T] = np.abs(r.joint("crank")[:, 0] - wanted).max()
    assert errors["flexible", 0.001] == pytest.approx(0.5 * errors["flexible", 0.002], rel=0.1)
    assert errors["rigid", 0.001] > 0.8 * errors["rigid", 0.002]
    assert errors["flexible", 0.001] < errors["rigid", 0.001]


def test_a_rigid_model_is_the_mechanism_of_rigid_bodies():
    """However bent the links are, its torques are those of a rigid twin at the same motors."""
    s, q = five_bar(flexible=True)
    twin, q_twin = five_bar()
    q = lb.equilibrium(s, q, locked=MOTORS)
    reference = accelerations(3.0, -2.0)
    c = ComputedTorque(0.0, 0.0, sample_time=0.01, bodies=MOTORS, reference=reference, near=q)
    sensors = [Encoder(MOTORS, rate=100.0), Tachometer(MOTORS, rate=100.0)]
    read = np.full((2, s.nv), np.nan)
    at = [s.layout[body].v_joint.start for body in MOTORS]
    read[0, at], read[1, at] = q[at], [0.8, -0.5]
    torque = commanded(s, c, *read, sensors)[at]
    q_twin, v = moving(twin, q_twin)
    q_twin = lb.assemble(twin, [q[at[0]], q_twin[1], q[at[1]], q_twin[3]], locked=MOTORS)
    _, v = lb.project(twin, q_twin, [0.8, 0.0, -0.5, 0.0], locked=MOTORS)
    rates = {"left upper": 3.0, "right upper": -2.0}
    _, tau = lb.hybrid_dynamics(twin, q_twin, v, np.zeros(4), motion=rates)
    assert torque == pytest.approx(tau[[0, 2]], rel=1e-6)  # a beam has the inertia of a bar
    other = ComputedTorque(
        0.0, 0.0, sample_time=0.01, bodies=MOTORS, reference=reference, near=q, system=twin
    )
    assert commanded(s, other, *read, sensors)[at] == pytest.approx(torque, rel=1e-6)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_a_flexible_model_gives_motors_their_accelerations(fidelity):
    s, q = five_bar(flexible=True, fidelity=fidelity)
    q, v = moving(s, q, left_upper=1.0, right_upper=-0.4)
    c = ComputedTorque(
        0.0,
        0.0,
        sample_time=0.01,
        model="flexible",
        bodies=MOTORS,
        reference=accelerations(3.0, -2.0),
    )
    tau = commanded(s, c, q, v)
    at = [s.layout[body].v_joint.start for body in MOTORS]
    assert np.flatnonzero(tau).tolist() == at
    assert lb.forward_dynamics(s, q, v, tau)[at] == pytest.approx([3.0, -2.0], abs=1e-9)


def test_a_geared_joint_moves_like_one_with_the_rotor_inertia():
    closed, direct, ratio = geared()
    move = lb.trajectories.Quintic(0.2, 1.0, 0.4)
    turned = lb.trajectories.Quintic(ratio * 0.2, ratio * 1.0, 0.4)
    gains = {"sample_time": 0.005}
    runs = []
    for s, body, path, q0 in (
        (direct, "link", move, [0.25]),
        (closed, "motor", turned, [ratio * 0.25, 0.25]),
    ):
        c = ComputedTorque(100.0, 20.0, bodies=body, reference=path, **gains)
        runs.append(lb.simulate(s, 0.5, q0=q0, torque=c, every=0.05, **TIGHT))
    assert np.allclose(runs[0].joint("link"), runs[1].joint("link"), atol=1e-9)
    assert np.allclose(runs[0].tau[:, 0], ratio * runs[1].tau[:, 0], rtol=1e-6, atol=1e-6)


# --- fewer and more drives than freedoms ------------------------------------------------------------


@pytest.mark.parametrize("model", ["rigid", "flexible"])
def test_what_is_not_driven_moves_freely(model):
    s, q = five_bar()
    q, v = moving(s, q, left_upper=1.0)
    c = ComputedTorque(
        0.0,
        0.0,
        sample_time=0.01,
        model=model,
        bodies="left upper",
        reference=lambda t: (0.0, 0.0, 2.0),
    )
    tau = commanded(s, c, q, v)
    assert np.flatnonzero(tau).tolist() == [0]
    assert lb.forward_dynamics(s, q, v, tau)[0] == pytest.approx(2.0)


def two_motors(ratio=2.0):
    """Two motors on one shaft: b turns `ratio` times as fast as a."""
    a = lb.Assembly("shaft")
    a.attach("a", lb.RigidBody(1.0, inertia=[0.3] * 3), lb.Revolute("z"))
    a.attach("b", lb.RigidBody(1.0, inertia=[0.05] * 3), lb.Revolute("z"))
    a.gear("b", "a", ratio=ratio)
    return a.build(), 0.3 + 0.05 * ratio**2


@pytest.mark.parametrize("weight", [1.0, 4.0])
def test_redundant_motors_share_the_torque_by_their_weights(weight):
    """Of all u_a + 2 u_b = I a, the least u_a^2 + w u_b^2; the acceleration a is nearest to 3 and to 10 / 2."""
    s, inertia = two_motors()
    c = ComputedTorque(
        0.0, 0.0, sample_time=0.01, weights=[1.0, weight], reference=accelerations(3.0, 10.0)
    )
    total = inertia * 0.5 * (3.0 + 10.0 / 2.0)
    expected = total / (1.0 + 4.0 / weight) * np.array([1.0, 2.0 / weight])
    assert commanded(s, c, np.zeros(2), np.zeros(2)) == pytest.approx(expected)


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.0])
def test_joints_that_the_closures_lock_have_no_torque(angle):
    """A boom with a truss of two bars on it: the motors of the truss cannot move anything, and that of the boom does all."""
    a = lb.Assembly("boom", gravity=(0, -9.81, 0))
    a.attach("boom", bar(2.0), lb.Revolute("z"))
    a.attach("strut", bar(1.1), lb.Revolute("z"), to="boom", offset=(1.0, 0.1, 0))
    a.attach("brace", bar(1.4), lb.Revolute("z"), to="boom")
    a.close(("strut", "tip"), ("brace", "tip"), lb.Revolute("z"), name="top")
    s = a.build()
    q = lb.assemble(s, [angle, 1.6, 0.8], locked=["boom"])
    c = ComputedTorque(0.0, 0.0, sample_time=0.01, reference=accelerations(2.0, 5.0, -7.0))
    tau = commanded(s, c, q, np.zeros(3))
    assert np.flatnonzero(tau).tolist() == [0]
    assert lb.forward_dynamics(s, q, np.zeros(3), tau)[0] == pytest.approx(2.0)


def test_arms_that_carry_a_box_are_measured_at_their_joints_only():
    """Six motors move three freedoms, and the box follows: nothing measures its free joint."""
    s, q = carrying()
    motors = [body for body in s.layout if body != "box"]
    q, v = moving(s, q, left0=0.5, right0=0.2)
    vdot = lb.forward_dynamics(s, q, v, np.append([30.0, 5.0, -2.0, 40.0, 3.0, 1.0], np.zeros(6)))
    c = ComputedTorque(
        0.0, 0.0, sample_time=0.01, bodies=motors, reference=accelerations(*vdot[:6]), near=q
    )
    read_q, read_v = q.copy(), v.copy()
    read_q[6:], read_v[6:] = np.nan, np.nan
    sensors = [Encoder(motors, rate=100.0), Tachometer(motors, rate=100.0)]
    tau = commanded(s, c, read_q, read_v, sensors)
    assert not tau[6:].any()
    assert lb.forward_dynamics(s, q, v, tau) == pytest.approx(vdot, abs=1e-7)
    assert tau == pytest.approx(lb.inverse_dynamics(s, q, v, vdot, actuated=motors), abs=1e-7)


# --- what is measured -----------------------------------------------------------------------------


def test_joints_without_sensors_follow_by_the_closures_through_a_whole_turn():
    s = four_bar()
    q0 = at_crank(s)
    turn = lb.trajectories.Quintic(1.0, 1.0 + 2.0 * np.pi, 1.5)
    runs = []
    for sensors in ((), [Encoder("crank", rate=200.0), Tachometer("crank", rate=200.0)]):
        c = ComputedTorque(100.0, 20.0, sample_time=0.005, bodies="crank", reference=turn, near=q0)
        loop = Loop(s, c, sensors=sensors)
        runs.append(lb.simulate(s, 1.6, q0=q0, torque=loop, every=0.1, **TIGHT))
    assert np.allclose(runs[0].q, runs[1].q, atol=1e-7)
    assert abs(runs[0].q[-1, 0] - turn.end) < 2e-3


def test_readings_that_contradict_each_other_are_reconciled():
    """Encoders of all joints have noise, and the model takes the nearest configuration of the mechanism."""
    s = four_bar()
    q0 = at_crank(s)
    c = ComputedTorque(100.0, 20.0, sample_time=0.005, bodies="crank", reference=1.2)
    noisy = [Encoder(rate=200.0, noise=1e-3), Tachometer(rate=200.0, noise=1e-2)]
    r = lb.simulate(s, 1.0, q0=q0, torque=Loop(s, c, sensors=noisy, seed=3), every=0.1)
    assert abs(r.q[-1, 0] - 1.2) < 5e-3


# --- refused --------------------------------------------------------------------------------------


def test_what_is_not_known_is_refused():
    s, q = five_bar()
    options = {"sample_time": 0.01, "bodies": MOTORS}
    encoder, tachometer = Encoder(MOTORS, rate=100.0), Tachometer(MOTORS, rate=100.0)
    both = [encoder, tachometer]
    with pytest.raises(lb.LimberError, match=r"'left fore', 'right fore'.*near=\(nq,\)"):
        Loop(s, ComputedTorque(1.0, 1.0, **options), sensors=both)
    with pytest.raises(lb.LimberError, match="speeds of all joints: add a Tachometer"):
        Loop(s, ComputedTorque(1.0, 1.0, near=q, **options), sensors=[encoder])
    with pytest.raises(lb.LimberError, match=r"near must have shape \(4,\), got \(2,\)"):
        Loop(s, ComputedTorque(1.0, 1.0, near=[0.0, 1.0], **options), sensors=both)
    with pytest.raises(lb.LimberError, match="weights must be greater than 0"):
        ComputedTorque(1.0, 1.0, weights=[1.0, 0.0], **options)
    with pytest.raises(
        lb.LimberError, match="must have the closures of 'five-bar', 'tool'; it has none"
    ):
        Loop(s, ComputedTorque(1.0, 1.0, system=s.closed_by([]), **options))
    one = ComputedTorque(1.0, 1.0, sample_time=0.01, bodies="left upper", near=q)
    read = np.full((2, 4), np.nan)
    read[:, 0] = q[0], 0.0
    seen = [Encoder("left upper", rate=100.0), Tachometer("left upper", rate=100.0)]
    with pytest.raises(
        lb.LimberError, match=r"do not determine the motion of .*Measure more joints"
    ):
        commanded(s, one, *read, seen)


def test_other_controllers_of_the_kind_are_for_open_systems():
    s = four_bar(flexible=True)
    c = lb.control.SingularPerturbation(1.0, 1.0, sample_time=0.01, bodies="crank")
    with pytest.raises(lb.LimberError, match=r"is for open systems.*Use ComputedTorque"):
        Loop(s, c)
