"""Margins of loops against closed forms, python-control and the loops themselves; spillover."""

import numpy as np
import pytest

import limber as lb
from limber.control import margins, spillover
from limber.errors import ArgumentTypeError, ArgumentValueError

J = 0.08
KP, KD = 400.0, 20.0


@pytest.fixture(scope="module")
def link():
    """A link without rotor inertia."""
    a = lb.Assembly("link")
    a.attach("link", lb.RigidBody(1.0, inertia=np.diag([J, J, J])), lb.Revolute("z"))
    return lb.linearize(a.build(), inputs=["link"], outputs=["link", ("speed", "link")])


@pytest.fixture(scope="module")
def arm():
    a = lb.Assembly("arm")
    body = lb.beam(2.0, 3.0, EI=500.0, modes={"bending": 1}, damping=0.01)
    a.attach("upper", body, lb.Revolute("y", armature=1.0))
    a.attach("lower", body, lb.Revolute("y", armature=1.0), to="upper", at="tip")
    outputs = ["upper", "lower", ("speed", "upper"), ("speed", "lower")]
    return lb.linearize(a.build(), inputs=["upper", "lower"], outputs=outputs)


ARM_GAINS = np.hstack([np.diag([400.0, 200.0]), np.diag([80.0, 40.0])])


def test_a_100_hz_pd_on_a_light_link_is_unstable_and_told_what_sample_time_would_do(link):
    """z^2 + (a + b - 2) z + 1 + a - b has its roots within the circle for b < 2, with a = kp T^2 / 2 J, b = kd T / J."""
    found = margins(link, [[KP, KD]], sample_time=0.01)
    assert not found.stable and not found.loops
    text = str(found)
    assert "sampled at 100 Hz (every 10 ms): UNSTABLE" in text
    assert "grows by the factor" in text
    assert "stable if sampled faster: every 8 ms (125 Hz) or less" in text
    assert found.longest == pytest.approx(2.0 * J / KD, rel=1e-6)
    assert margins(link, [[KP, KD]], sample_time=0.99 * found.longest).stable
    assert not margins(link, [[KP, KD]], sample_time=1.01 * found.longest).stable


def test_a_motion_that_nothing_controls_is_told_as_a_pole_at_rest():
    a = lb.Assembly("car")
    body = lb.RigidBody(2.0, inertia=[0.1] * 3)
    a.attach("car", body, lb.Prismatic("x"))
    a.attach("wheel", body, lb.Revolute("z"), to="car")
    plant = lb.linearize(a.build(), inputs=["wheel"], outputs=["wheel", ("speed", "wheel")])
    found = margins(plant, [[1.0, 1.0]], sample_time=0.01)
    assert not found.stable
    assert np.abs(found.poles - 1.0).min() < 1e-6  # the car floats: two poles at z = 1
    assert "A pole is at z = 1" in str(found) and "LQR.reached(plant)" in str(found)


def test_continuous_margins_against_closed_forms_and_python_control(link):
    found = margins(link, [[KP, KD]])
    (loop,) = found.loops
    # |kp + i kd w| = J w^2
    w2 = (KD**2 + np.sqrt(KD**4 + 4.0 * J**2 * KP**2)) / (2.0 * J**2)
    phase = np.arctan(KD * np.sqrt(w2) / KP)
    assert loop.phase == pytest.approx(phase, rel=1e-9)
    assert loop.phase_at == pytest.approx(np.sqrt(w2), rel=1e-9)
    assert loop.delay == pytest.approx(phase / np.sqrt(w2), rel=1e-9)
    assert np.isinf(loop.gain_up) and loop.gain_down == 0.0
    control = pytest.importorskip("control")
    L = control.ss(link.A, link.B, np.array([[KP, KD]]) @ link.C, 0)
    disk, _, degrees = control.disk_margins(L, np.geomspace(1.0, 1e4, 20_000))
    assert loop.disk == pytest.approx(disk, rel=1e-6)
    assert np.degrees(loop.disk_phase) == pytest.approx(degrees, rel=1e-6)


@pytest.mark.parametrize("sample_time, delay", [(0.0, 0.0), (0.002, 0.0), (0.004, 0.003)])
def test_gains_at_the_margins_put_poles_on_the_border(arm, sample_time, delay):
    options = {"sample_time": sample_time, "delay": delay} if sample_time else {}
    found = margins(arm, ARM_GAINS, **options)
    assert found.stable and len(found.loops) == 2
    for i, loop in enumerate(found.loops):
        factors = np.ones(2)
        for gain in (loop.gain_up, loop.gain_down):
            if 0.0 < gain < np.inf:
                factors[i] = gain
                poles = found.loop.poles(factors)
                border = np.abs(np.abs(poles) - 1.0) if sample_time else np.abs(poles.real)
                assert border.min() < 1e-7 * max(1.0, np.abs(poles).max())
                factors[i] = 1.0 + 0.9 * (gain - 1.0)
                assert found.loop.growth(factors) < 0.0
        low, high = loop.disk_gain
        assert loop.gain_down <= low < 1.0 < high <= loop.gain_up * (1.0 + 1e-9)
        assert loop.disk_phase <= loop.phase * (1.0 + 1e-9)
    assert found.disk <= min(loop.disk for loop in found.loops) * (1.0 + 1e-9)


@pytest.mark.parametrize("sample_time", [None, 0.01, 0.1])
@pytest.mark.parametrize("gain", [0.1, 4.0])
def test_a_loop_that_integrates_has_no_gain_margin_at_rest(sample_time, gain):
    """k / (s (s + 1)) has a real part of -k at frequency zero, beside an endless imaginary one: any small gain is stable."""
    a = lb.Assembly("damped")
    a.attach("link", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Revolute("z", damping=1.0))
    plant = lb.linearize(a.build(), inputs=["link"], outputs=["link"])
    found = margins(plant, [[gain]], sample_time=sample_time)
    (loop,) = found.loops
    assert loop.gain_down == 0.0
    for factor in (1e-3, 0.5, 2.0, 0.999 * min(loop.gain_up, 1e4)):
        assert found.loop.growth(factor) < 0.0
    assert np.isinf(loop.gain_up) if sample_time is None else found.loop.growth(1.001 * loop.gain_up) > 0.0  # fmt: skip


def test_delay_margin_is_the_delay_that_the_loop_bears(panel):
    K, T = [[80.0, 60.0]], 0.002
    found = margins(panel, K, sample_time=T)
    # the margin adds delay to the frequency response of the sampled loop: exact at whole samples
    whole = int(found.loops[0].delay / T)
    assert margins(panel, K, sample_time=T, delay=whole * T).stable
    assert not margins(panel, K, sample_time=T, delay=(whole + 1) * T).stable


@pytest.mark.parametrize("delay", [0.0, 0.5])
@pytest.mark.parametrize("sample_time", [0.004, 0.015, 0.02])
def test_the_delay_margin_counts_parts_of_samples(arm, sample_time, delay):
    """Commands that come late by a part of a sample change the gain of the loop, not its phase alone."""
    found = margins(arm, ARM_GAINS, sample_time=sample_time, delay=delay * sample_time)
    for i, loop in enumerate(found.loops):
        for part in (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 0.999):
            assert found.loop.later(i, part * loop.delay).growth() < 0.0
        assert abs(found.loop.later(i, loop.delay).growth()) < 1e-7
        assert found.loop.later(i, 1.001 * loop.delay).growth() > 0.0


def test_each_input_may_have_a_delay_of_its_own(arm):
    """The response of an input is that of the model in which all have its delay."""
    delays, z = np.array([0.013, 0.005]), np.exp(0.3j)
    both = arm.sampled(0.01, delays)

    def response(model):
        return model.C @ np.linalg.solve(z * np.eye(model.order) - model.A, model.B) + model.D

    for k, delay in enumerate(delays):
        np.testing.assert_allclose(response(both)[:, k], response(arm.sampled(0.01, delay))[:, k])
    assert both.states[-3:] == ("torque upper 1 ago", "torque lower 1 ago", "torque upper 2 ago")
    with pytest.raises(ArgumentValueError, match="one for each of 2 inputs"):
        arm.sampled(0.01, [0.1, 0.1, 0.1])


def test_dynamic_controllers_and_objects_with_linear(link):
    lead = lb.LinearModel.of([[-300.0]], [[1.0, 0.0]], [[900.0 * 300.0]], [[-900.0 - KP, 0.0]])
    as_model = margins(link, lead, sample_time=0.001)

    class Lead:
        def linear(self):
            from limber.control.sampled import bilinear

            return bilinear(lead, 0.001)

    as_object = margins(link, Lead())
    assert as_object.sample_time == 0.001 and as_object.longest is None
    assert np.allclose(np.sort_complex(as_object.poles), np.sort_complex(as_model.poles))


def test_sampled_gains_are_told_of_other_sample_times(link):
    none = np.zeros((0, 0))
    gains = lb.LinearModel.of(none, np.zeros((0, 2)), np.zeros((1, 0)), [[-KP, -KD]], dt=0.01)
    found = margins(link, gains)
    assert found.sample_time == 0.01 and not found.stable
    assert found.longest == pytest.approx(2.0 * J / KD, rel=1e-6)


def test_a_motion_that_nothing_controls_is_told():
    still = lb.LinearModel.of(np.zeros((2, 2)), [[0.0], [0.0]], [[1.0, 0.0]])
    assert "not controlled" in str(margins(still, [[1.0]]))


def test_loops_are_refused_by_what_is_wrong(link):
    with pytest.raises(ArgumentTypeError, match="plant must be a LinearModel"):
        margins(np.eye(2), [[1.0]])
    with pytest.raises(ArgumentValueError, match="a row for each input"):
        margins(link, [[1.0, 2.0, 3.0]])
    with pytest.raises(ArgumentValueError, match=r"delay=0.1 needs a sample_time"):
        margins(link, [[1.0, 2.0]], delay=0.1)
    sampled = lb.LinearModel.of([[0.5]], [[1.0, 0.0]], [[1.0]], dt=0.01)
    with pytest.raises(ArgumentValueError, match="they must agree"):
        margins(link, sampled, sample_time=0.02)
    with pytest.raises(ArgumentValueError, match="takes 1 measurements and gives 1 commands"):
        margins(link, lb.LinearModel.of([[0.5]], [[1.0]], [[1.0]]))


# --- spillover ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def panel():
    a = lb.Assembly("hub")
    a.attach("hub", lb.RigidBody(2.0, inertia=np.diag([0.1, 0.1, 0.2])), lb.Revolute("z"))
    body = lb.beam(3.0, 2.0, EI=(1e5, 60.0), modes={"bending": 3}, damping=0.003)
    a.attach("panel", body, lb.Fixed(), to="hub", offset=(0.2, 0.0, 0.0))
    return lb.linearize(a.build(), inputs=["hub"], outputs=["hub", ("speed", "hub")])


def test_spillover_names_the_truncated_modes_that_the_controller_destabilizes(panel):
    reduced = panel.modal(2)
    found = spillover(panel, reduced, [[80.0, 60.0]], sample_time=0.02, delay=0.01)
    assert found.design_stable and not found.stable
    assert (
        len(found.truncated) == len(found.modes) - 3
    )  # two poles at rest and the first mode are known
    assert all(mode.truncated for mode in found.unstable) and found.unstable
    text = str(found)
    assert "with the design model: stable; with the full plant: UNSTABLE" in text
    assert text.count("truncated, UNSTABLE") == len(found.unstable)
    grows = [m.after.value.real for m in found.unstable]
    worst = np.log(np.abs(found.poles).max()) / 0.02
    assert max(grows) == pytest.approx(worst, rel=1e-6)
    for mode in found.unstable:
        assert 0.0 < mode.gain < 1.0
        assert abs(found.loop.growth(0.9 * min(m.gain for m in found.unstable))) < 1.0


def test_modes_that_the_loop_does_not_reach_stay(panel):
    found = spillover(panel, panel.modal(2), [[80.0, 60.0]], sample_time=0.002)
    assert found.stable and not found.unstable
    across = [m for m in found.modes if abs(m.moved) < 1e-6 * abs(m.before.value)]
    assert len(across) >= 3  # the bending modes across the plane
    assert all(np.isinf(m.gain) for m in across)


def test_gains_at_which_modes_leave_agree_with_the_margins(panel):
    K = [[80.0, 60.0]]
    found = spillover(panel, panel.modal(2), K, sample_time=0.006)
    assert found.stable
    first = min(mode.gain for mode in found.modes)
    (loop,) = margins(panel, K, sample_time=0.006).loops
    if np.isfinite(first):
        assert first >= loop.gain_up * 0.999


def test_pictures_are_drawn(panel, tmp_path):
    K = [[80.0, 60.0]]
    one = panel.select(outputs=["coordinate hub"])
    figures = [
        panel.bode(against={"reduced": panel.modal(2)}),
        panel.singular_values(np.geomspace(1.0, 100.0, 20)),
        one.pole_zero(limit=200.0),
        panel.root_locus(K, limit=60.0),
        panel.root_locus(K, sample_time=0.02, factors=[0.0, 0.5, 1.0, 2.0]),
        spillover(panel, panel.modal(2), K).plot(title="spillover"),
    ]
    for i, figure in enumerate(figures):
        assert all(axes.has_data() for axes in figure.axes)
        figure.savefig(tmp_path / f"{i}.png", dpi=50)
    one.bode(path=tmp_path / "bode.svg")
    assert (tmp_path / "bode.svg").stat().st_size > 1000
    with pytest.raises(ArgumentValueError, match="one input and one output"):
        panel.root_locus()


def test_loop_gains_are_drawn_with_their_margins(arm, link):
    found = margins(arm, ARM_GAINS, sample_time=0.002)
    magnitude, phase = found.plot().axes
    lines = {line.get_label(): line for line in magnitude.lines}
    assert {"torque upper", "torque lower"} <= set(lines)
    for loop, name in zip(found.loops, ("torque upper", "torque lower")):
        look = lines[name].get_color()
        marks = [x for x in magnitude.lines if x.get_marker() == "s" and x.get_color() == look]
        (mark,) = marks
        assert mark.get_xdata()[0] == pytest.approx(loop.phase_at / (2.0 * np.pi))
        assert mark.get_ydata()[0] == pytest.approx(1.0, rel=1e-6)
        (angle,) = [x for x in phase.lines if x.get_marker() == "s" and x.get_color() == look]
        assert abs(angle.get_ydata()[0] + 180.0) == pytest.approx(np.degrees(loop.phase), abs=0.5)
    unstable = margins(link, [[KP, KD]], sample_time=0.01).plot(np.geomspace(1.0, 300.0, 50))
    assert all(axes.has_data() for axes in unstable.axes)


def test_pairs_that_are_only_rounding_are_not_drawn():
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(100.0, inertia=(40.0, 30.0, 20.0)), lb.Free())
    wing = lb.beam(3.0, 4.0, EI=20.0, modes=1, damping=0.01)
    a.attach("wing", wing, lb.Fixed(), "hub", offset=(0.3, 0, 0))
    model = lb.control.attitude_model(a.build(), "hub")
    assert model.inputs == ("torque hub x", "torque hub y", "torque hub z")
    magnitudes = model.bode().axes[:3]
    assert [len(axes.lines) for axes in magnitudes] == [2, 2, 2]  # rotation and rate about one axis
    assert min(line.get_ydata().min() for axes in magnitudes for line in axes.lines) > 1e-12


def test_a_sample_time_far_shorter_is_found_and_what_was_tried_is_said(link):
    w = 1e6
    gains = [[J * w**2, 2.0 * J * w]]
    found = margins(link, gains, sample_time=0.01)
    assert not found.stable
    assert 1e-8 < found.longest < 1e-5
    assert margins(link, gains, sample_time=0.9 * found.longest).stable
    assert not margins(link, gains, sample_time=1.1 * found.longest).stable
    never = margins(link, [[-1.0, 1.0]], sample_time=0.01)
    assert never.longest == 0.0
    assert "No shorter sample time down to 1e-06 s makes it stable" in str(never)


def test_delays_of_very_many_samples_are_refused(link):
    with pytest.raises(lb.LimberError, match="1e\\+04 commands in transit"):
        margins(link, [[1.0, 1.0]], sample_time=0.01, delay=100.0)


@pytest.mark.parametrize(
    ("length", "gains", "sample_time"),
    [(2.0, [100.0, 40.0], 0.0135), (3.0, [80.0, 90.0], 0.006), (3.0, [130.0, 90.0], 0.05)],
)
def test_a_loop_that_is_not_stable_has_a_mode_that_is_not(length, gains, sample_time):
    """The poles of a mode meet at half the sample rate, and one of them leaves the unit circle on the real axis."""
    a = lb.Assembly("satellite")
    a.attach("hub", lb.RigidBody(2.0, inertia=[0.1, 0.1, 0.2]), lb.Revolute("z"))
    panel = lb.beam(length, 2.0, EI=(1e5, 60.0), modes={"bending": 4}, damping=0.003)
    a.attach("panel", panel, lb.Fixed(), to="hub", offset=(0.2, 0.0, 0.0))
    plant = lb.linearize(a.build(), inputs=["hub"], outputs=["hub", ("speed", "hub")])
    found = lb.control.spillover(plant, plant.modal(2), [gains], sample_time=sample_time)
    assert not found.stable and found.unstable
    for mode in found.unstable:
        sizes = np.abs(np.exp(mode.after.value * sample_time) - found.poles)
        assert sizes.min() < 1e-9  # it is a pole of the loop
        assert mode.after.value.real > 0.0 and mode.gain < 1.0
        border = np.abs(found.loop.poles(mode.gain))
        assert np.abs(border - 1.0).min() < 1e-7


def test_modes_that_do_not_vibrate_are_followed_to_where_they_do():
    """Two real poles meet and vibrate with growing amplitudes."""
    plant = lb.control.LinearModel.of([[-2.0, 0.0], [0.0, -30.0]], [[1.0], [1.0]], [[1.0, 1.0]])
    found = spillover(plant, plant.modal(1), [[40.0]], sample_time=0.05, delay=0.025)
    assert not found.stable
    (mode,) = found.unstable
    assert mode.truncated and abs(mode.after.value.imag) > 30.0
    loop = margins(plant, [[40.0 * mode.gain]], sample_time=0.05, delay=0.025)
    assert np.abs(loop.poles).max() == pytest.approx(1.0, abs=1e-6)


def test_spillover_tells_of_an_instability_that_comes_from_no_mode():
    """A gain that is far too high for the delay: each mode decays, and the command under way grows."""
    plant = lb.control.LinearModel.of([[-20.0, 0.0], [0.0, -60.0]], [[1.0], [1.0]], [[1.0, 1.0]])
    for gain, grows in ((20.0, 0), (100.0, 1)):
        found = spillover(plant, plant.modal(1), [[gain]], sample_time=0.05, delay=0.025)
        assert not found.unstable and len(found.others) == grows and found.stable == (not grows)
        assert ("UNSTABLE apart from these modes" in str(found)) == bool(grows)


def test_rounding_does_not_decide_which_of_two_poles_that_met_is_the_mode():
    """The same loop in other states: a mode and the command under way meet, vibrate and part again."""
    rng = np.random.default_rng(8)
    for _ in range(20):
        turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
        A, B, C = turn @ np.diag([-20.0, -60.0]) @ turn.T, turn @ [[1.0], [1.0]], [[1.0, 1.0]]
        plant = lb.control.LinearModel.of(A, B, C @ turn.T)
        found = spillover(plant, plant.modal(1), [[100.0]], sample_time=0.05, delay=0.025)
        assert not found.unstable and len(found.others) == 1


def test_a_joint_that_nothing_controls_is_never_stable_by_rounding():
    """A cart under control carries a free joint, whose double pole rounding splits into a pair at |z| = 1."""
    a = lb.Assembly("crane", gravity=(0, 0, -9.81))
    a.attach("cart", lb.RigidBody(20.0, inertia=[1.0] * 3), lb.Prismatic("x", damping=5.0))
    mast = lb.beam(2.0, 4.0, EI=500.0, modes={"y": 3, "z": 3}, damping=0.01)
    upright = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    a.attach("mast", mast, lb.Fixed(), "cart", offset=(0, 0, 0.2), rotation=upright)
    fork = lb.RigidBody(3.0, inertia=[0.02] * 3)
    a.attach("fork", fork, lb.Revolute("y", armature=0.05), "mast", "tip")
    plant = lb.linearize(a.build(), inputs=["cart"], outputs=["cart", ("speed", "cart")])
    for K in ([[200.0, 0.0]], [[200.0, 30.0]], [[4000.0, 500.0]]):
        for T in (None, 0.001, 0.004, 0.01):
            found = margins(plant, K, sample_time=T)
            assert not found.stable and found.longest in (None, 0.0)
        report = spillover(plant, plant.modal(4), K, sample_time=0.01, delay=0.005)
        assert not report.stable and report.unstable


def test_an_input_without_effect_and_without_gains_has_endless_margins(link):
    """Its loop has neither inputs nor outputs; so has the motor of a craft that only moves what LQR leaves free."""
    idle = np.zeros((2, 1))
    both = lb.control.LinearModel(
        link.A, np.hstack([link.B, idle]), link.C, np.hstack([link.D, idle]),
        link.states, (*link.inputs, "idle"), link.outputs, "two motors",
    )  # fmt: skip
    alone = margins(link, [[KP, KD]], sample_time=0.001)
    with np.errstate(all="raise"):
        found = margins(both, [[KP, KD], [0.0, 0.0]], sample_time=0.001)
    one, other = found.loops
    assert (one.gain_up, one.phase) == (alone.loops[0].gain_up, alone.loops[0].phase)
    assert np.isinf([other.gain_up, other.phase, other.delay]).all() and other.gain_down == 0.0
