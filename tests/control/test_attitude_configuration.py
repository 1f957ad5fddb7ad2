"""Attitude control of a craft whose appendages are turned: its inertia, axes and modes are those of their position."""

import warnings

import numpy as np
import pytest

import limber as lb
from limber import control
from limber.errors import ModelWarning

TURNED = 1.5  # rad, the angle of the boom
START = 0.1  # rad, the initial error about x


def craft(wheel_on="hub", panel=False):
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(100.0, inertia=(20.0, 20.0, 20.0)), lb.Free())
    boom = lb.RigidBody(40.0, com=(3.0, 0, 0), inertia=(1.0, 30.0, 30.0))
    if panel:
        boom = lb.beam(4.0, 20.0, EI=(100.0, 400.0), modes=1, damping=0.01)
    drive = lb.Revolute("z", stiffness=1e5, damping=1e3, rest=TURNED)
    a.attach("boom", boom, drive, to="hub", offset=(0.5, 0, 0))
    wheels = [
        control.ReactionWheel(axis, axis, inertia=0.05, mass=3.0, torque=5.0) for axis in "xyz"
    ]
    for wheel in wheels:
        wheel.attach(a, to=wheel_on if wheel.name == "x" else "hub")
    s = a.build()
    return s, wheels, s.configuration({"boom": TURNED})


def overshoot(s, wheels, q0, **options):
    wanted = [np.cos(START / 2), np.sin(START / 2), 0, 0]
    c = control.AttitudeController(
        "hub", 0.1, sample_time=0.1, damping=0.7, reference=wanted, **options
    )
    r = lb.simulate(s, 90.0, q0=q0, torque=control.Loop(s, c, actuators=wheels), every=0.5)
    error = r.signals["attitude error"].y
    return error[:, 0].max() / START, np.abs(error[:, 1:]).max()


@pytest.mark.parametrize("wheel_on", ["hub", "boom"])
def test_errors_decay_as_designed_in_the_configuration_that_is_given(wheel_on):
    s, wheels, q = craft(wheel_on)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ModelWarning)
        over, across = overshoot(s, wheels, q, q=q)
    assert over == pytest.approx(0.0460, abs=2e-3)  # exp(-pi zeta / sqrt(1 - zeta^2))
    assert across < 1e-5
    text = "wheels or gyros have other axes" if wheel_on == "boom" else "the inertia of the craft"
    with pytest.warns(ModelWarning, match=text):
        over, across = overshoot(s, wheels, q)
    assert abs(over - 0.0460) > 0.2


def test_the_design_model_may_have_other_modes():
    s, wheels, q = craft(panel=True)
    rigid = lb.Assembly("rigid")
    rigid.attach("hub", lb.RigidBody(100.0, inertia=(20.0, 20.0, 20.0)), lb.Free())
    boom = lb.RigidBody(20.0, (2.0, 0, 0), (1e-3, 80.0 / 3.0, 80.0 / 3.0))
    rigid.attach("boom", boom, lb.Revolute("z"), to="hub", offset=(0.5, 0, 0))
    found = []
    for options in ({}, {"system": rigid.build()}):
        c = control.AttitudeController("hub", 0.1, sample_time=0.1, q=q, **options)
        control.Loop(s, c, actuators=wheels)
        found.append(c.craft.inertia)
    np.testing.assert_allclose(*found, rtol=0.02)  # the rigid model lacks the wheels


def test_optimal_feedback_is_designed_in_the_configuration_that_is_given():
    s, wheels, q = craft(panel=True)
    plant = control.attitude_model(s, "hub", ["x", "y", "z"], q=q)
    disk = []
    for options in ({"q": q}, {}):
        c = control.OptimalAttitude("hub", sample_time=0.1, **options)
        control.Loop(s, c, actuators=wheels, delay=0.05)
        found = control.margins(plant, c, delay=0.05)
        disk.append(found.disk if found.stable else 0.0)
    assert disk[0] > 0.4 > 1.5 * disk[1]


SCENARIO = """
limber: 1
model:
  bodies:
    hub:
      rigid: {mass: 100, inertia: [20, 40, 30]}
      joint: free
    boom:
      to: hub
      offset: [1, 0, 0]
      beam: {length: 4, mass: 20, EI: [100, 400], modes: 1, damping: 0.01}
      joint: {revolute: z, stiffness: 1.0e+5, damping: 1000, rest: 1.5}
initial: {q: {boom: 1.5}}
duration: 1
controller:
  attitude:
    {hub: hub, bandwidth: 0.1, sample_time: 0.1, notches: 1, slew: {axis: x, angle: 0.1, duration: 20, shaper: zv}}
"""


def test_scenarios_design_for_the_initial_configuration(tmp_path):
    path = tmp_path / "turned.yaml"
    path.write_text(SCENARIO, encoding="utf-8")
    case = lb.io.load_scenario(path)
    s, c = case.system, case.settings["torque"].controller.controller
    q = s.configuration({"boom": TURNED})
    omega = control.hub_modes(s, "hub", q)[0][0]
    assert abs(control.hub_modes(s, "hub")[0][0] / omega - 1.0) > 0.02  # it matters
    assert c.filters[0].omega == pytest.approx(omega)
    assert c.reference.duration == pytest.approx(20.0 + control.zv(omega).duration)
    expected = control.AttitudeController("hub", 0.1, sample_time=0.1, q=q)
    control.Loop(s, expected)
    np.testing.assert_allclose(c.craft.inertia, expected.craft.inertia)
