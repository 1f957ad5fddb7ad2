"""Attitude control does not depend on the axes in which the hub is placed, and forces on a hub have no reaction."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import limber as lb
from limber import control

TURN = Rotation.from_rotvec([0.7, -1.1, 0.5])


def craft(**place):
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(100.0, inertia=[30.0, 60.0, 80.0]), lb.Free(), **place)
    panel = lb.beam(4.0, 5.0, EI=50.0, modes=1, damping=0.005)
    a.attach("panel", panel, lb.Fixed(), to="hub", offset=(0.5, 0, 0))
    return a.build()


def attitude(system, q):
    return Rotation.from_matrix(lb.pose(system, q, "hub")[0])


@pytest.mark.parametrize("kind", ["feedback", "optimal"])
def test_margins_do_not_depend_on_the_attitude(kind):
    def found(system, q=None):
        c = control.AttitudeController("hub", 0.3, sample_time=0.1)
        if kind == "optimal":
            c = control.OptimalAttitude("hub", sample_time=0.1)
        control.Loop(system, c)
        return control.margins(control.attitude_model(system, "hub", q=q), c).disk

    straight = craft()
    turned = straight.neutral()
    turned[straight.layout["hub"].q_joint][:4] = np.roll(TURN.as_quat(), 1)
    expected = found(straight)
    assert expected > 0.5
    assert found(straight, turned) == pytest.approx(expected, rel=1e-6)
    assert found(craft(rotation=TURN.as_matrix())) == pytest.approx(expected, rel=1e-6)


def test_a_reference_is_an_attitude_in_the_world():
    s = craft(rotation=TURN.as_matrix())
    wanted = Rotation.from_rotvec([0.2, 0.9, -0.4])
    c = control.AttitudeController(
        "hub", 0.5, sample_time=0.1, reference=np.roll(wanted.as_quat(), 1)
    )
    r = lb.simulate(s, 40.0, torque=c, every=10.0)
    assert (attitude(s, r.q[-1]) * wanted.inv()).magnitude() < 2e-3


def test_optimal_attitude_damps_a_craft_that_is_placed_turned():
    v0 = {}
    for name, s in (("straight", craft()), ("turned", craft(rotation=TURN.as_matrix()))):
        v = np.zeros(s.nv)
        v[s.layout["hub"].v_joint.start : s.layout["hub"].v_joint.start + 3] = 1e-3, 2e-3, -1e-3
        c = control.OptimalAttitude("hub", sample_time=0.1)
        r = lb.simulate(s, 20.0, v0=v, torque=c, every=20.0)
        v0[name] = r.v[-1]
    assert np.allclose(v0["turned"], v0["straight"], rtol=0.0, atol=1e-8)


def test_a_slew_of_a_scenario_turns_a_placed_hub_about_its_own_axis(tmp_path):
    text = """
limber: 1
model:
  bodies:
    hub:
      rigid: {mass: 100, inertia: [30, 60, 80]}
      joint: free
      rotation: {rpy: [0.7, -1.1, 0.5]}
duration: 30
controller:
  attitude: {hub: hub, bandwidth: 1, sample_time: 0.1, slew: {axis: [0, 1, 0], angle: ANGLE, duration: 15}}
"""
    path = tmp_path / "slew.yaml"
    path.write_text(text.replace("ANGLE", "0.6"), encoding="utf-8")
    case = lb.io.load_scenario(path)
    r = lb.simulate(case.system, case.duration, **case.settings)
    turned = attitude(r.system, r.q[0]).inv() * attitude(r.system, r.q[-1])
    assert np.allclose(turned.as_rotvec(), [0.0, 0.6, 0.0], atol=1e-4)
    path.write_text(text.replace("ANGLE", "4.0"), encoding="utf-8")
    with pytest.raises(lb.LimberError, match="shorter way"):
        lb.io.load_scenario(path)


def test_a_joint_on_a_moving_body_is_no_floating_one():
    a = lb.Assembly("pair")
    a.attach("carrier", lb.RigidBody(10.0, inertia=[1.0, 1.0, 1.0]), lb.Free())
    a.attach("hub", lb.RigidBody(2.0, inertia=[1.0, 1.0, 1.0]), lb.Free(), to="carrier")
    s = a.build()
    jet = control.Thruster("jet", "hub", [0, 0, 0], "x", force=1.0, period=0.1)
    with pytest.raises(lb.LimberError, match="pushed back"):
        control.Loop(s, control.PD(1.0, sample_time=0.1), actuators=[jet])
    for use in (
        lambda: control.attitude_model(s, "hub"),
        lambda: control.Loop(s, control.AttitudeController("hub", 1.0, sample_time=0.1)),
    ):
        with pytest.raises(lb.LimberError, match="which moves"):
            use()
