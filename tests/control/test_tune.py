"""`tune`: gains of rigid joints are those of theory, loops of flexible ones are stable, controllers hold the joints."""

import numpy as np
import pytest

import limber as lb
from limber.control import tune


def rotor(**physics):
    a = lb.Assembly("rotor")
    a.attach("rotor", lb.RigidBody(1.0, inertia=[2.0] * 3), lb.Revolute("z", **physics))
    return a.build()


def arm(modes=1, **physics):
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    link = lb.beam(1.0, 1.0, EI=200.0, modes=modes)
    a.attach("link1", link, lb.Revolute("z", armature=0.5, **physics))
    a.attach("link2", link, lb.Revolute("z", armature=0.3, **physics), "link1", "tip")
    return a.build()


def test_a_rigid_joint_has_the_bandwidth_and_the_damping():
    pd = tune(rotor(), bandwidth=3.0, damping=0.5, sample_time=1e-4)
    assert pd.kp == pytest.approx([2.0 * 9.0]) and pd.kd == pytest.approx([2.0 * 3.0])
    lqr = tune(rotor(), "lqr", bandwidth=3.0, sample_time=1e-5)
    assert lqr.kp == pytest.approx([18.0], rel=1e-3)
    assert lqr.kd == pytest.approx([2.0 * np.sqrt(3.0) * 3.0], rel=1e-3)
    assert not pd.unmoved and pd.margins.stable and lqr.margins.stable


def test_dry_friction_does_not_flatter_the_loop():
    with_it, without = (
        tune(rotor(**x), bandwidth=3.0, sample_time=1e-3) for x in ({"friction": 0.5}, {})
    )
    assert np.allclose(
        np.sort_complex(with_it.margins.poles), np.sort_complex(without.margins.poles)
    )


@pytest.mark.parametrize("method", ["pd", "lqr"])
def test_flexible_arms_hold_where_they_are_tuned(method):
    s = arm()
    q = s.neutral()
    q[s.layout["link1"].q_joint] = 0.7
    found = tune(s, method, q=q, sample_time=0.002, delay=0.001)
    assert found.margins.stable and min(x.disk for x in found.margins.loops) >= 0.4
    assert found.unmoved == ("link1.mode1", "link2.mode1")  # bending out of the plane
    start = lb.equilibrium(s, q, locked=["link1", "link2"])
    moved = start.copy()
    moved[s.layout["link2"].q_joint] += 0.02
    loop = lb.control.Loop(s, found.controller, delay=0.001)
    r = lb.simulate(s, 4.0, q0=moved, torque=loop, t_eval=[0.0, 4.0])
    # gravity of the PD is that of undeformed links
    assert np.abs(r.q[-1] - start).max() < (2e-2 if method == "pd" else 1e-3)


def test_a_bandwidth_that_is_given_is_used_whatever_it_does():
    wild = tune(arm(), bandwidth=2000.0, sample_time=0.01)
    assert not wild.margins.stable and "UNSTABLE" in str(wild)
    assert "link1" in str(wild) and "kp" in str(wild)


def test_what_cannot_be_tuned_is_refused():
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(20.0, inertia=[3.0] * 3), lb.Free())
    with pytest.raises(lb.LimberError, match="quaternion in the joint of 'hub'"):
        tune(a.build(), sample_time=0.01)
    with pytest.raises(lb.LimberError, match="method must be 'pd' or 'lqr'"):
        tune(rotor(), "pid", sample_time=0.01)
    upright = [0.0, 0.0, 0.5 * np.pi, 0.0, 0.0, 0.0]
    with pytest.raises(lb.LimberError, match="no bandwidth down to"):
        tune(arm(), q=upright, sample_time=0.05, delay=0.5)


def test_poles_of_pd_are_those_of_the_run_where_the_weight_is_compensated():
    """An arm that stands upright is held: the compensation takes away what makes it fall."""
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    a.attach("rod", lb.RigidBody(2.0, (0.5, 0, 0), [0.1, 0.1, 0.2]), lb.Revolute("z"))
    s, upright = a.build(), np.array([0.5 * np.pi])
    tuned = lb.control.tune(s, "pd", q=upright, sample_time=0.001, bandwidth=2.0, damping=1.25)
    slow = np.log(tuned.margins.poles.real.max()) / 0.001
    assert tuned.margins.stable and slow == pytest.approx(-1.0, rel=0.01)  # w (1.25 - 0.75)
    r = lb.simulate(s, 4.0, q0=upright + 1e-3, torque=tuned.controller, every=1.0)
    assert np.allclose(r.q[4, 0] - upright, (r.q[3, 0] - upright) * np.exp(slow), rtol=0.01)


def test_where_an_arm_settles_under_its_weight_is_told():
    """gravity=True of the controller compensates the weight of straight links."""
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    for name, to in (("upper", "world"), ("fore", "upper")):
        link = lb.beam(1.0, 1.0, EI=100.0, modes={"y": 1}, damping=0.05)
        joint = lb.Revolute("z", armature=0.3)
        a.attach(name, link, joint, to, None if to == "world" else "tip")
    s = a.build()
    tuned = lb.control.tune(s, "pd", sample_time=0.005)
    bent = lb.equilibrium(s, locked=["upper", "fore"])
    r = lb.simulate(s, 8.0, q0=bent, torque=tuned.controller, every=1.0)
    off = [r.joint(name)[-1, 0] for name in ("upper", "fore")]
    assert np.abs(off).max() > 2e-3
    np.testing.assert_allclose(tuned.settles, off, rtol=0.25)
    assert "settles with" in str(tuned)
    for other in (
        lb.control.tune(s, "lqr", sample_time=0.005),
        lb.control.tune(s.with_parameters({"gravity": np.zeros(3)}), "pd", sample_time=0.005),
    ):
        assert not other.settles.any()
        assert "settles with" not in str(other)


@pytest.mark.parametrize("method", ["pd", "lqr"])
def test_joints_without_motors_are_left_alone(method):
    """A link on a series elastic drive: its spring is a joint that no motor turns. The loop moves as its margins say."""
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    drive = lb.control.SeriesElastic("link", stiffness=400.0, spring_damping=0.5, rotor_inertia=0.3)
    link = lb.RigidBody(2.0, (0.4, 0, 0), [0.01, 0.2, 0.2])
    drive.attach(a, link, lb.Revolute("z"))
    s = a.build()
    motor = "link motor"
    start = s.configuration({motor: 0.4})
    tuned = tune(s, method, q=start, bodies=motor, sample_time=0.002, delay=0.001)
    assert tuned.joints == (motor,) and tuned.bodies == (motor,) and tuned.margins.stable
    q = lb.equilibrium(s, start, locked=[motor])
    off = q + np.array([1e-5, 0.0])
    hold = lb.inverse_dynamics(s, q, np.zeros(2), np.zeros(2))
    loop = lb.control.Loop(s, tuned.controller, delay=0.001, initial=hold)
    r = lb.simulate(s, 3.0, q0=off, torque=loop, every=0.002, rtol=1e-11, atol=1e-13)
    late = np.abs(r.q - r.q[-1]).max(axis=1)
    rate = np.log(np.abs(tuned.margins.poles).max()) / 0.002
    begin, end = late[50:150].max(), late[550:650].max()
    assert np.log(end / begin) < 0.75 * rate  # within one second
    if method == "pd":
        assert np.log(end / begin) == pytest.approx(rate, rel=0.25)
    with pytest.raises(lb.LimberError, match="Did you mean 'link motor'"):
        tune(s, method, bodies="link motors", sample_time=0.002)


@pytest.mark.parametrize("method", ["pd", "lqr"])
def test_gains_belong_to_their_joints_in_any_order_of_the_names(method):
    s, names = arm(modes={"y": 1}), ["link1", "link2"]
    found = [tune(s, method, bodies=x, sample_time=0.001, bandwidth=2.0) for x in (names, names[::-1])]  # fmt: skip
    assert found[0].kp[0] > 2.0 * found[0].kp[1]
    assert np.allclose(found[0].kp, found[1].kp[::-1])
    start = s.neutral() + 0.01
    runs = [lb.simulate(s, 0.1, q0=start, torque=x.controller, every=0.1).q for x in found]
    assert np.allclose(*runs, atol=1e-9)
