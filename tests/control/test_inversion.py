"""Stable inversion: the tip follows its path, internal dynamics are differentiated exactly, and what has no inverse is refused."""

import numpy as np
import pytest

import limber as lb
from limber.control import StableInversion, stable_inversion
from limber.control.inversion.internal import InternalDynamics
from limber.control.inversion.outputs import checked_outputs
from limber.control.joints import joint_places

ANGLE = [("angle", "link", "tip", "z")]
TURN = lb.trajectories.Quintic(0.2, 1.2, 0.8)


def link(damping=0.01, modes=2, mass=0.2):
    a = lb.Assembly("link")
    beam = lb.beam(1.0, 0.5, EI=10.0, modes={"y": modes}, damping=damping)
    a.attach("link", beam, lb.Revolute("z", armature=0.1), offset=(0.3, -0.2, 0.0))
    load = lb.RigidBody(mass, inertia=[0.001] * 3)
    a.attach("load", load, lb.Fixed(), "link", "tip")
    return a.build()


def arm(modes=1):
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    upper = lb.beam(1.0, 1.5, EI=300.0, modes={"y": modes}, damping=0.005)
    fore = lb.beam(1.0, 1.0, EI=150.0, modes={"y": modes}, damping=0.005)
    a.attach("upper", upper, lb.Revolute("z", armature=0.5))
    a.attach("fore", fore, lb.Revolute("z", armature=0.3), "upper", "tip")
    a.attach("load", lb.RigidBody(1.0, inertia=[0.01] * 3), lb.Fixed(), "fore", "tip")
    return a.build()


@pytest.fixture(scope="module")
def turned():
    return stable_inversion(link(), TURN, ANGLE)


def seen(result, point=(0.3, -0.2)):
    """The angle of the tip over time."""
    p = result.node("link", "tip").position[:, :2] - point
    return np.arctan2(p[:, 1], p[:, 0])


def wanted(path, t):
    return path(np.clip(t, 0.0, path.duration)).position


def test_the_tip_of_a_link_follows_by_torques_alone_and_better_with_light_feedback(turned):
    s, errors = link(), []
    end = turned.before + TURN.duration + turned.after
    for gains in ((0.0, 0.0), (5.0, 1.0)):
        c = StableInversion(turned, *gains, sample_time=0.001)
        assert c.begin == turned.before
        r = lb.simulate(s, end, q0=turned.start, torque=c, every=0.01, rtol=1e-8)
        errors.append(np.abs(seen(r) - wanted(TURN, r.t - c.begin)).max())
    assert errors[0] < 2e-5 and errors[1] < 1e-5  # rad, on a turn of 1 rad


def test_the_internal_motion_begins_before_the_path_and_the_joint_with_it(turned):
    assert len(turned.growing) == len(turned.decaying) == 2
    assert (turned.growing.real > 0.0).all() and (turned.decaying.real < 0.0).all()
    q, v, u = turned(np.array([-turned.before, -0.02, 0.0]))
    assert np.abs(u[0]).max() < 1e-3 * np.abs(u).max() < np.abs(u[2]).max()
    joint = link().layout["link"].v_joint
    assert np.abs(v[2, joint]).max() > 10.0 * np.abs(v[0, joint]).max()
    outputs = turned.internal.outputs.motion(q, v)
    assert np.allclose(outputs.value, 0.2, atol=1e-7) and np.allclose(outputs.rate, 0.0, atol=1e-5)


def test_without_preview_the_same_path_is_missed():
    """Computed torque of the rigid arm, on the same joint path as the tip's, for comparison."""
    s = link()
    q0 = s.neutral()
    q0[s.layout["link"].q_joint] = 0.2
    c = lb.control.ComputedTorque(400.0, 40.0, sample_time=0.001, reference=TURN)
    r = lb.simulate(s, 1.2, q0=q0, torque=c, every=0.01)
    assert np.abs(seen(r) - wanted(TURN, r.t)).max() > 1e-2


def test_an_arm_in_gravity_follows_a_line():
    s = arm()
    q = s.neutral()
    q[s.layout["upper"].q_joint], q[s.layout["fore"].q_joint] = 0.3, 1.2
    line = lb.trajectories.Quintic([1.0, 1.2], [0.3, 1.5], 0.8)
    outputs = [("position", "fore", "tip", "x"), ("position", "fore", "tip", "y")]
    made = stable_inversion(s, line, outputs, q=q)
    c = StableInversion(made, 20.0, 3.0, sample_time=0.001)
    r = lb.simulate(s, made.before + 0.9, q0=made.start, torque=c, every=0.02)
    p = r.node("fore", "tip").position
    assert np.abs(p[:, :2] - wanted(line, r.t - c.begin)).max() < 2e-5  # m


@pytest.mark.parametrize("kind", ["position", "angle", "rotation"])
def test_slopes_of_the_internal_dynamics_are_exact(kind):
    s = arm()
    q = s.neutral()
    q[s.layout["upper"].q_joint], q[s.layout["fore"].q_joint] = 0.3, 1.2
    outputs = [(kind, "fore", "tip", "x" if kind == "position" else "z"), ("position", "fore", "tip", "y")]  # fmt: skip

    def path(t):
        return np.ones((len(t), 2)), np.zeros((len(t), 2)), np.zeros((len(t), 2))

    places = joint_places(s, None, "test")
    internal = InternalDynamics(s, places, checked_outputs(s, outputs), path, 5.0)
    rng = np.random.default_rng(1)
    x = np.append(q, np.zeros(s.nv))[:, None] + 0.02 * rng.standard_normal((2 * s.nv, 3))
    t = np.array([0.3, 1.0, 1.7])
    by_steps = np.empty((2 * s.nv, 2 * s.nv, 3))
    for i in range(2 * s.nv):
        step = np.zeros((2 * s.nv, 1))
        step[i] = 1e-6
        by_steps[:, i] = (internal.rates(t, x + step) - internal.rates(t, x - step)) / 2e-6
    exact = internal.slopes(t, x)
    assert np.abs(exact - by_steps).max() < 1e-6 * np.abs(exact).max()


def test_slopes_of_outputs_in_space_are_exact():
    a = lb.Assembly("arm")
    beam = lb.beam(1.0, 1.0, EI=50.0, GJ=30.0, modes={"bending": 1, "torsion": 1}, polar_inertia=0.01)  # fmt: skip
    a.attach("upper", beam, lb.Universal("z", "y"))
    a.attach("fore", lb.beam(1.0, 1.0, EI=50.0, modes=1), lb.Revolute([0.3, 1, 0.2]), "upper", "tip")  # fmt: skip
    s = a.build()
    kinds = [("position", "tip", "y"), ("angle", "tip", "z"), ("rotation", "tip", "z"), ("rotation", "node3", "x")]  # fmt: skip
    outputs = checked_outputs(s, [(kind, "fore", node, axis) for kind, node, axis in kinds])
    q, v, vdot = 0.3 * np.random.default_rng(0).standard_normal((3, 2, s.nv))

    def motion(step):
        m = outputs.motion(q + step[: s.nv], v + step[s.nv :])
        return m.value, m.rate, m.drift + np.einsum("nij,nj->ni", m.slopes, vdot)

    exact = outputs.slopes(q, v, vdot)
    for i, step in enumerate(1e-6 * np.eye(2 * s.nv)):
        for slope, more, less in zip(exact, motion(step), motion(-step)):
            assert np.allclose(slope[:, :, i], (more - less) / 2e-6, rtol=1e-6, atol=1e-5)


def test_torques_of_a_small_turn_are_those_of_the_inverse_transfer_function():
    """U = Y'' / (s^2 G) over the whole time axis, by fast Fourier transforms."""
    s, size = link(modes=1, mass=0.5), 1e-3
    turn = lb.trajectories.Quintic(0.0, size, 0.6)
    made = stable_inversion(s, turn, ANGLE)
    model = lb.linearize(s, inputs=["link"], outputs=[("position", "link", "tip", "y")])
    t = np.arange(-4.0, 4.0, 1e-3)
    inside = (t >= 0.0) & (t <= turn.duration)
    second = np.where(inside, turn(np.clip(t, 0.0, turn.duration)).acceleration, 0.0)
    omega = 2.0 * np.pi * np.fft.rfftfreq(len(t), 1e-3)
    omega[0] = 1e-3
    eye = np.eye(model.order)
    G = np.array([(model.C @ np.linalg.solve(1j * w * eye - model.A, model.B))[0, 0] for w in omega])  # fmt: skip
    u = np.fft.irfft(np.fft.rfft(second) / (-(omega**2) * G), len(t))
    near = (t > -made.before) & (t < turn.duration + made.after)
    assert np.allclose(made(t[near])[2][:, 0], u[near], atol=2e-3 * np.abs(u).max())


@pytest.mark.slow
def test_the_tip_of_the_canadarm_follows_with_its_orientation():
    s = lb.models.canadarm(modes={"y": 2}, damping=0.01).build()
    q = s.neutral()
    for body, angle in zip(("link1", "link2", "link3"), (0.2, 0.8, 0.5)):
        q[s.layout[body].q_joint] = angle
    tip = lb.pose(s, q, "link3", "tip")[1][:2]
    path = lb.trajectories.Quintic([*tip, 1.5], [tip[0] - 1.5, tip[1] + 1.0, 1.9], 10.0)
    where = ("position", "x"), ("position", "y"), ("rotation", "z")
    made = stable_inversion(s, path, [(kind, "link3", "tip", axis) for kind, axis in where], q=q)
    c = StableInversion(made, sample_time=0.005)
    r = lb.simulate(s, made.before + 11.0, q0=made.start, torque=c, every=0.05)
    off = r.node("link3", "tip").position[:, :2] - wanted(path, r.t - c.begin)[:, :2]
    assert np.abs(off).max() < 5e-6  # m, on a way of 1.8 m


def test_what_has_no_bounded_inverse_is_refused_in_words():
    s = link(modes=1)
    for options, text in (
        ({"before": 0.02}, r"before=0.02 s is too short: .* remains at that end.* give before="),
        ({"after": 0.02}, r"after=0.02 s is too short.* give after="),
    ):
        with pytest.raises(lb.errors.DynamicsError, match=text):
            stable_inversion(s, TURN, ANGLE, **options)
    undamped = link(damping=0.0, modes=1)  # seen at a third of the link, its zeros are imaginary
    with pytest.raises(lb.errors.DynamicsError, match="do not decay at all: add damping"):
        stable_inversion(undamped, TURN, [("angle", "link", "node3", "z")])
    with pytest.raises(lb.errors.DynamicsError, match="no motion of 'link' moves the output 'position link tip z'"):  # fmt: skip
        stable_inversion(s, TURN, [("position", "link", "tip", "z")])
    far = lb.trajectories.Quintic(0.2, 2.0, 0.8)
    with pytest.raises(
        lb.errors.DynamicsError, match=r"no equilibrium of 'link'.* cannot reach this"
    ):
        stable_inversion(s, far, [("position", "link", "tip", "y")])


@pytest.mark.slow
def test_a_path_that_bends_the_link_too_much_is_refused():
    with pytest.raises(lb.errors.DynamicsError, match="no bounded motion of 'link' was found"):
        stable_inversion(link(), lb.trajectories.Quintic(0.0, 2.0, 0.4), ANGLE)


def test_wrong_arguments_are_refused(turned):
    s = link()
    with pytest.raises(lb.LimberError, match="as many outputs as there are torques, 1"):
        stable_inversion(s, TURN, ANGLE * 2)
    with pytest.raises(lb.LimberError, match="kind must be 'position', 'angle' or 'rotation'"):
        stable_inversion(s, TURN, [("speed", "link", "tip", "z")])
    with pytest.raises(lb.LimberError, match="must have a kind, a body, a node and an axis"):
        stable_inversion(s, TURN, [("angle", "link")])
    moving = lb.trajectories.Quintic(0.0, 1.0, 0.8, start_velocity=0.1)
    with pytest.raises(lb.LimberError, match=r"path begins with the velocity.* rest to rest"):
        stable_inversion(s, moving, ANGLE)
    with pytest.raises(lb.LimberError, match="path has 2 components, but there are 1 outputs"):
        stable_inversion(s, lb.trajectories.Quintic([0, 0], [1, 1], 0.8), ANGLE)
    with pytest.raises(lb.LimberError, match="inversion must be the result of lb"):
        StableInversion(TURN, sample_time=0.01)
    encoder = lb.control.Encoder(rate=1000.0)
    c = StableInversion(turned, 1.0, 1.0, sample_time=0.001)
    with pytest.raises(lb.LimberError, match="which kd needs: add a Tachometer"):
        lb.control.Loop(s, c, sensors=[encoder])
