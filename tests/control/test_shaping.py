"""Input shaping: residual vibration against theory, several modes, frequencies that change along a path."""

import numpy as np
import pytest

import limber as lb
from helpers.mechanisms import bar, five_bar
from limber.control import ei, scheduled, zv, zvd

#: What is left, in parts, of an undamped mode whose frequency is 0.8 or 1.2 of the one designed for.
THEORY = {zv: 0.309, zvd: 0.0955, ei: 0.0503}


@pytest.mark.parametrize("kind", THEORY)
@pytest.mark.parametrize("ratio", [0.8, 1.2])
def test_residual_of_an_undamped_mode_is_that_of_theory(kind, ratio):
    assert kind(3.0).residual(ratio * 3.0) == pytest.approx(THEORY[kind], abs=5e-5)


def response(shaper, omega, damping, t):
    """The displacement and speed over omega of an oscillator at t, after unit impulses of the shaper."""
    w = omega * np.sqrt(1 - damping**2)
    z = (
        np.exp((-damping * omega + 1j * w) * (t - shaper.times[:, None]))
        * shaper.amplitudes[:, None]
    )
    return np.abs(np.where(t >= shaper.times[:, None], z, 0).sum(axis=0))


@pytest.mark.parametrize("kind", THEORY)
def test_residual_is_the_amplitude_after_the_last_impulse(kind):
    shaper = kind(5.0, 0.1)
    t = np.array([shaper.duration])
    for omega, damping in ((5.0, 0.1), (4.0, 0.05), (7.0, 0.2)):
        assert shaper.residual(omega, damping) == pytest.approx(
            response(shaper, omega, damping, t)[0]
        )


def test_damped_modes_are_left_at_rest():
    assert zv(5.0, 0.1).residual(5.0, 0.1) < 1e-14
    near = zvd(5.0, 0.1).residual([4.999, 5.0, 5.001], 0.1)
    assert near[1] < 1e-14 and near[[0, 2]].max() < 1e-6
    assert ei(5.0, 0.1, tolerance=0.03).residual(5.0, 0.1) == pytest.approx(0.03)


def test_products_leave_all_modes_at_rest():
    both = zv(3.0) * zvd(7.0, 0.02)
    assert both.amplitudes.sum() == pytest.approx(1.0) and len(both.times) == 6
    assert both.duration == pytest.approx(zv(3.0).duration + zvd(7.0, 0.02).duration)
    assert both.residual([3.0, 7.0], [0.0, 0.02]).max() < 1e-14
    assert len((zv(3.0) * zv(3.0)).times) == 3  # equal times are one
    assert np.allclose((zv(3.0) * zv(3.0)).amplitudes, zvd(3.0).amplitudes)


def boom(k=1):
    a = lb.Assembly("boom")
    a.attach("boom", lb.beam(4.0, 6.0, EI=900.0 * k, modes=1), lb.Revolute("z"))
    return a.build()


@pytest.mark.parametrize("kind", THEORY)
def test_a_shaped_slew_leaves_the_vibration_of_theory(kind):
    """The hub of a beam turns as prescribed; stiffnesses give 1 and 0.8 times the frequency of the design."""
    omega = lb.modes(boom(), locked=["boom"]).omega[0]
    move = lb.trajectories.Quintic(0.0, 0.02, 0.5)
    shaped = kind(omega).shaped(move)
    left = {}
    for ratio in (1.0, 0.8):
        s = boom(ratio**2)
        for name, motion in (("plain", move), ("shaped", shaped)):
            end = motion.duration
            r = lb.simulate(
                s, end + 0.5, motion={"boom": motion}, every=0.01, rtol=1e-10, atol=1e-13
            )
            eta = r.q[:, s.layout["boom"].q_modes][:, 0]
            rate = r.v[:, s.layout["boom"].v_modes][:, 0]
            left[name] = np.hypot(eta, rate / (ratio * omega))[r.t > end].max()
        part = left["shaped"] / left["plain"]
        expected = kind(omega).residual(ratio * omega)
        assert part == pytest.approx(float(expected), abs=2e-3)


def test_shaped_rates_are_the_slopes():
    move = lb.trajectories.Quintic([0.0, 1.0], [1.0, -1.0], 2.0)
    times = np.linspace(0.0, 2.0, 9)
    omega = np.stack([4.0 + times**2, 11.0 + np.sin(times)], axis=1)
    for shaped in (zv(4.0).shaped(move), scheduled("zvd", move, times, omega, [0.01, 0.0])):
        assert np.allclose(shaped(-0.1)[0], move.start)
        assert np.allclose(shaped(shaped.duration)[0], move.end)
        for t in (0.31, 1.17, 1.9, 2.2):
            h = 1e-5
            before, here, after = (shaped(t + x) for x in (-h, 0.0, h))
            assert np.allclose((after[0] - before[0]) / (2 * h), here[1], atol=1e-8)
            assert np.allclose((after[1] - before[1]) / (2 * h), here[2], atol=1e-7)


def test_a_constant_schedule_is_the_shaper():
    move = lb.trajectories.Quintic(0.0, 1.0, 1.0)
    fixed = (ei(9.0, 0.02) * ei(20.0, 0.01)).shaped(move)
    along = scheduled("ei", move, [0.0, 0.4, 1.0], np.tile([9.0, 20.0], (3, 1)), [0.02, 0.01])
    assert along.duration == pytest.approx(fixed.duration)
    for t in np.linspace(0.0, 2.0, 11):
        assert np.allclose(along(t), fixed(t), atol=1e-12)


def two_links():
    a = lb.Assembly("arm")
    link = lb.beam(2.0, 2.0, EI=3000.0, modes={"y": 1})
    a.attach("upper", link, lb.Revolute("z"))
    a.attach("fore", link, lb.Revolute("z"), "upper", "tip")
    a.attach("load", lb.RigidBody(2.0, inertia=[0.01] * 3), lb.Fixed(), "fore", "tip")
    return a.build()


def test_a_reference_that_moves_other_joints_than_bodies_names_is_refused():
    s, one = two_links(), lb.trajectories.Quintic(0.0, 1.0, 1.0)
    with pytest.raises(
        lb.LimberError, match=r"gives 1 coordinates, .* of 'upper', 'fore' have 2\. Give bodies"
    ):
        lb.control.frequencies_along(s, one, [0.0, 1.0])
    assert lb.control.frequencies_along(s, one, [0.0, 1.0], bodies="fore").shape == (2, 1)


def test_frequencies_that_follow_the_configuration_leave_less_than_one_frequency():
    """A quick turn, a slow bend of the elbow, and a quick turn of the folded arm."""
    s, quintic = two_links(), lb.trajectories.Quintic
    there, bent, back = [0.03, 0.0], [0.03, 1.0], [0.0, 1.0]
    parts = [quintic([0.0, 0.0], there, 0.2), lb.trajectories.Hold(there, 0.6)]
    move = lb.trajectories.Sequence([*parts, quintic(there, bent, 4.0), quintic(bent, back, 0.2)])
    times = np.linspace(0.0, move.duration, 41)
    omega = lb.control.frequencies_along(s, move, times, bodies=["upper", "fore"])
    assert omega.shape == (41, 1) and omega[-1] > 1.1 * omega[0]

    def left(shaped):
        motion = {}
        for i, name in enumerate(("upper", "fore")):
            motion[name] = lambda t, i=i: tuple(float(x[i]) for x in shaped(t))
            motion[name].breaks = shaped.breaks
        end = shaped.duration + 0.1
        r = lb.simulate(s, end, motion=motion, t_eval=[0.0, end], rtol=1e-6, atol=1e-9)
        return np.sqrt((r.kinetic_energy + r.potential_energy)[-1])

    assert left(scheduled("zv", move, times, omega)) < 0.15 * left(zv(omega[-1, 0]).shaped(move))


def test_what_cannot_be_is_refused():
    move = lb.trajectories.Quintic(0.0, 1.0, 1.0)
    with pytest.raises(lb.LimberError, match="damping must be below 1"):
        zv(1.0, 1.0)
    with pytest.raises(lb.LimberError, match="add up to 1"):
        lb.control.Shaper([0.0, 1.0], [0.5, 0.4])
    with pytest.raises(lb.LimberError, match="loses more than that"):
        ei(1.0, 0.5, tolerance=0.9)
    with pytest.raises(lb.LimberError, match="overtake"):
        scheduled("zv", move, [0.0, 0.1, 1.0], [1.0, 30.0, 30.0])
    with pytest.raises(lb.LimberError, match="kind must be one of zv, zvd, ei"):
        scheduled("zvv", move, [0.0, 1.0], [1.0, 1.0])
    with pytest.raises(lb.LimberError, match="reference must be a trajectory"):
        zv(1.0).shaped(3.0)


@pytest.mark.filterwarnings("ignore:the closures of")
def test_frequencies_of_a_mechanism_are_those_of_its_linear_model_with_the_motors_held():
    a = lb.Assembly("five-bar with flexible uppers")
    for side, x in (("left", 0.0), ("right", 1.0)):
        upper = lb.beam(0.8, 1.0, EI=200.0, modes={"y": 1})
        a.attach(f"{side} upper", upper, lb.Revolute("z"), offset=(x, 0, 0))
        a.attach(f"{side} fore", bar(1.0), lb.Revolute("z"), to=f"{side} upper", at="tip")
    a.close(("left fore", "tip"), ("right fore", "tip"), lb.Revolute("z"), name="tool")
    s, rigid = a.build(), five_bar()[1]
    q = s.configuration(dict(zip(s.layout, rigid)))
    motors = ["left upper", "right upper"]
    places = [s.layout[body].q_joint.start for body in motors]
    move = lb.trajectories.Quintic(q[places], q[places] + [-0.4, -0.3], 1.0)
    omega = lb.control.frequencies_along(s, move, [0.0, 0.5, 1.0], 2, bodies=motors, q=q)
    assert omega[2, 0] != pytest.approx(omega[0, 0], rel=0.02)
    for t, found in zip((0.0, 0.5, 1.0), omega):
        there = q.copy()
        there[places] = move(t).position
        model = lb.linearize(s, lb.assemble(s, there, locked=motors), inputs=motors)
        n = model.order // 2
        held = [s.layout[body].v_joint.start for body in motors]
        free = [s.layout[f"{side} upper"].v_modes.start for side in ("left", "right")]
        to = model.T[held + free, :n]  # from the coordinates of the model to motors and modes
        K, B = to @ model.A[n:, :n] @ np.linalg.inv(to), to @ model.B[n:]
        stiffness = K[2:, 2:] - B[2:] @ np.linalg.solve(B[:2], K[:2, 2:])
        assert found == pytest.approx(np.sort(np.sqrt(np.linalg.eigvals(-stiffness).real)), rel=1e-6)  # fmt: skip
