"""`tune` of closed systems: poles are those of simulated motions, and gains those of equivalent open systems."""

import numpy as np
import pytest

import limber as lb
from helpers.mechanisms import (
    GRAVITY,
    SliderCrank,
    at_crank,
    bar,
    braced_boom,
    carrying,
    five_bar,
    floating_five_bar,
    four_bar,
    geared,
)
from helpers.sampled_map import sampled_map
from limber.control import Encoder, Loop, Tachometer, tune

pytestmark = pytest.mark.filterwarnings("ignore:the closures of")
T = 0.002
MOTORS = ["left upper", "right upper"]


def sprung():
    """A slider-crank mechanism with a spring at its slider."""
    g = SliderCrank()
    a = lb.Assembly("sprung slider-crank", gravity=(0, -GRAVITY, 0))
    a.attach("crank", bar(g.r), lb.Revolute("z"))
    a.attach("rod", bar(g.length), lb.Revolute("z"), to="crank", at="tip")
    spring = lb.Prismatic("x", stiffness=300.0, rest=1.0, damping=2.0)
    a.attach("slider", lb.RigidBody(g.slider, inertia=[0.1] * 3), spring)
    a.close(("rod", "tip"), ("slider", None), lb.Revolute("z"), name="pin")
    return a.build(), g.q(0.8)


def arms():
    """Two arms that hold a box, and their motors."""
    s, q = carrying()
    return s, q, [body for body in s.layout if body != "box"]


CASES = {
    "four-bar": lambda: (four_bar(True), None, ["crank"]),
    "slider-crank": lambda: (*sprung(), ["crank"]),
    "slider-crank with all motors": lambda: (*sprung(), None),
    "arms with a box": arms,
    "five-bar": lambda: (*five_bar(True), MOTORS),
}


def tuned_case(case, method, **options):
    """A system, what `tune` found, and the configuration that it holds."""
    s, q, bodies = CASES[case]()
    q = at_crank(s) if q is None else q
    found = tune(s, method, q=q, bodies=bodies, sample_time=T, **options)
    if any(body.modes for body in s.bodies.values()):
        q = lb.equilibrium(s, q, locked=list(found.bodies))
    return s, found, q


#: LQR of all cases but one takes seconds.
BOTH = [(case, "pd") for case in CASES] + [
    pytest.param(case, "lqr", marks=[] if case == "slider-crank" else pytest.mark.slow)
    for case in CASES
]


@pytest.mark.parametrize(("case", "method"), BOTH)
def test_poles_are_those_of_the_motion_from_sample_to_sample(case, method):
    s, found, q = tuned_case(case, method)
    assert found.margins.stable and min(x.disk for x in found.margins.loops) >= 0.4
    poles = np.linalg.eigvals(sampled_map(s, q, found.controller, T))
    # PD of flexible links holds them a little away from q, because it compensates the weight of straight ones
    tolerance = 2e-6 + 10.0 * np.abs(found.settles).max()
    expected = found.margins.poles
    assert np.allclose(np.sort_complex(poles), np.sort_complex(expected), atol=tolerance)


@pytest.mark.parametrize("case", CASES)
def test_mechanisms_settle_from_an_error_as_predicted(case):
    s, found, q = tuned_case(case, "pd", bandwidth=15.0)
    slow = np.log(np.abs(found.margins.poles).max()) / T
    assert slow < -1.0
    push = np.zeros(s.nv)
    push[s.layout[found.bodies[0]].v_joint] = 0.05
    q0, v0 = lb.project(s, q, push)
    end = 6.0 / -slow
    r = lb.simulate(s, end, q0=q0, v0=v0, torque=found.controller, every=end / 60)
    places = [s.layout[body].q_joint.start for body in found.bodies]
    off = np.abs(r.q[:, places] - q[places] - found.settles).max(axis=1)
    assert off[-1] < 0.03 * off.max() and off.max() > 1e-4


def test_a_slider_crank_has_the_inertia_of_its_closed_form():
    g, w = SliderCrank(), 5.0
    found = tune(g.system(), q=g.q(0.8), bodies="crank", sample_time=T, bandwidth=w, damping=0.7)
    assert found.kp == pytest.approx([g.inertia(0.8) * w**2], rel=1e-9)
    assert found.kd == pytest.approx([1.4 * g.inertia(0.8) * w], rel=1e-9)


@pytest.mark.parametrize("method", ["pd", "lqr"])
def test_a_geared_joint_is_tuned_like_one_with_the_rotor_inertia(method):
    closed, direct, ratio = geared()
    q, w = 0.4, 6.0
    one = tune(direct, method, q=[q], sample_time=T, bandwidth=w)
    two = tune(closed, method, q=[ratio * q, q], bodies="motor", sample_time=T, bandwidth=w)
    assert two.kp * ratio**2 == pytest.approx(one.kp, rel=1e-9)
    assert two.kd * ratio**2 == pytest.approx(one.kd, rel=1e-9)
    assert np.allclose(two.margins.poles, one.margins.poles, atol=1e-10)
    assert two.margins.loops[0].disk == pytest.approx(one.margins.loops[0].disk, rel=1e-6)


@pytest.mark.parametrize("method", ["pd", "lqr"])
def test_redundant_motors_share_the_stiffness_of_one(method):
    """Both joints of a gear have motors; the poles are those of one motor that feels the inertia of both."""
    closed, direct, ratio = geared()
    both = tune(closed, method, q=[0.4 * ratio, 0.4], sample_time=T, bandwidth=6.0)
    one = tune(direct, method, q=[0.4], sample_time=T, bandwidth=6.0)
    assert np.allclose(both.margins.poles, one.margins.poles, atol=1e-9)
    if method == "pd":
        assert both.kp * [ratio**2, 1.0] == pytest.approx(0.5 * one.kp.repeat(2), rel=1e-9)


def test_where_a_soft_mechanism_settles_under_its_weight_is_told():
    a = lb.Assembly("soft four-bar", gravity=(0, -GRAVITY, 0))
    a.attach(
        "crank",
        lb.beam(1.0, 1.0, EI=60.0, modes={"y": 1}, damping=0.05),
        lb.Revolute("z", armature=0.2),
    )
    a.attach("coupler", bar(2.5), lb.Revolute("z"), to="crank", at="tip")
    a.attach("rocker", bar(1.8), lb.Revolute("z"), offset=(2.2, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), name="pin")
    s = a.build()
    q = at_crank(s)
    found = tune(s, q=q, bodies="crank", sample_time=0.005)
    r = lb.simulate(s, 4.0, q0=q, torque=found.controller, every=1.0)
    off = r.joint("crank")[-1, 0] - q[s.layout["crank"].q_joint.start]
    assert abs(off) > 1e-3 and found.settles == pytest.approx([off], rel=0.25)
    assert "settles with crank" in str(found)
    assert not tune(s, "lqr", q=q, bodies="crank", sample_time=0.005).settles.any()


def test_sensors_of_the_motors_are_enough_for_the_gains_without_gravity():
    s, q = five_bar()
    found = tune(s, q=q, bodies=MOTORS, sample_time=T, bandwidth=40.0)
    rate = 1.0 / T
    sensors = [Encoder(MOTORS, rate=rate), Tachometer(MOTORS, rate=rate)]
    with pytest.raises(lb.LimberError, match="needs the positions of all joints"):
        Loop(s, found.controller, sensors=sensors)
    pid = lb.control.PID(found.kp, 4.0 * found.kp, found.kd, sample_time=T, bodies=MOTORS, reference=q[[0, 2]])  # fmt: skip
    r = lb.simulate(s, 6.0, q0=q, torque=Loop(s, pid, sensors=sensors), every=1.0)
    assert np.abs(r.q[-1] - q).max() < 1e-4


def test_without_a_configuration_the_mechanism_is_assembled():
    s, _ = sprung()
    found = tune(s, bodies="crank", sample_time=T, bandwidth=5.0)
    same = tune(s, q=lb.assemble(s), bodies="crank", sample_time=T, bandwidth=5.0)
    assert found.kp == pytest.approx(same.kp, rel=1e-12)


def test_what_cannot_be_tuned_is_refused():
    s, q = braced_boom()
    with pytest.raises(lb.LimberError, match=r"lock the joint of 'brace'.*bodies=\[\.\.\.\]"):
        tune(s, q=q, bodies=["boom", "brace"], sample_time=T)
    assert tune(s, q=q, bodies="boom", sample_time=T, bandwidth=3.0).margins.stable

    s, q = floating_five_bar()
    with pytest.raises(lb.LimberError, match=r"involve only joints with quaternions.*free base"):
        tune(s, q=q, bodies=MOTORS, sample_time=T)
    with pytest.raises(lb.LimberError, match="joint of body 'base' has a quaternion"):
        tune(s, q=q, bodies="base", sample_time=T)


@pytest.mark.parametrize("angle", [0.0, 1e-3, np.pi])
def test_a_motor_that_does_not_hold_a_singular_position_is_refused(angle):
    """The slider does not move with the crank at its dead points: the equilibrium is half a metre away."""
    s, _ = sprung()
    with pytest.raises(
        lb.LimberError, match=r"singular position, in which .*'slider' does not hold"
    ):
        tune(s, q=SliderCrank().q(angle), bodies=["slider"], sample_time=T)
    tune(s, q=SliderCrank().q(angle + 0.05), bodies=["slider"], sample_time=T)
