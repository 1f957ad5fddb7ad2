"""Every shipped file loads and is what it says."""

import numpy as np
import pytest

import limber as lb
from helpers.files import EXAMPLES

#: A side file of a URDF, and a study, which tests/cli/test_campaign.py reads.
OTHERS = {"two_link_flexible.yaml", "canadarm_campaign.yaml"}
FILES = sorted(p.name for p in EXAMPLES.iterdir() if p.suffix in (".yaml", ".urdf"))


@pytest.mark.parametrize("name", [f for f in FILES if f not in OTHERS])
def test_example_loads_and_builds(name):
    path = EXAMPLES / name
    if lb.io.file_kind(path) == "scenario":
        scenario = lb.io.load_scenario(path)
        s, q, v = scenario.system, scenario.q0, scenario.v0
        tau = scenario.torque
        tau = None if isinstance(tau, lb.control.Loop) else tau
        tau = np.zeros(s.nv) if tau is None else tau(0.0) if isinstance(tau, lb.Table) else tau
    else:
        s = lb.load(path).build()
        q, v, tau = s.neutral(), np.zeros(s.nv), np.zeros(s.nv)
    assert np.isfinite(lb.forward_dynamics(s, q, v, tau)).all()


def test_slew_is_problem_7():
    """The rigid arm ends at 0.75, 0.25 and 0.5 rad; joints 2 and 3 hold after 5 s (Mohan & Saha)."""
    scenario = lb.io.load_scenario(EXAMPLES / "canadarm_slew.yaml")
    ends = [scenario.paths[f"link{i}"](10.0).position[0] for i in (1, 2, 3)]
    assert np.allclose(ends, [0.75, 0.25, 0.5], atol=1e-14)
    at_five = [scenario.paths[f"link{i}"](5.0).position[0] for i in (2, 3)]
    assert np.allclose(at_five, ends[1:], atol=1e-14)
    assert scenario.duration == 10.0 and scenario.every == 0.02
    assert scenario.system.nv == 15


def test_rigid_arm_under_the_torques_of_the_slew_follows_the_paths():
    """RK4 over the table with the modes removed: end points to 1e-6."""
    scenario = lb.io.load_scenario(EXAMPLES / "canadarm_slew.yaml")
    s = lb.models.canadarm(modes=0).build()
    joints = [place.v_joint.start for place in scenario.system.layout.values()]
    y = np.zeros(6)

    def rate(t, y):
        vdot = lb.forward_dynamics(s, y[:3], y[3:], scenario.torque(t)[joints])
        return np.concatenate([y[3:], vdot])

    h = 0.01
    for i in range(1000):
        t = i * h
        k1 = rate(t, y)
        k2 = rate(t + h / 2, y + h / 2 * k1)
        k3 = rate(t + h / 2, y + h / 2 * k2)
        k4 = rate(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    assert np.allclose(y, [0.75, 0.25, 0.5, 0, 0, 0], atol=2e-6)


def test_printed_slew_ends_with_twice_the_rate():
    scenario = lb.io.load_scenario(EXAMPLES / "canadarm_slew_printed.yaml")
    assert scenario.paths["link1"](10.0).velocity[0] == pytest.approx(0.15)
    assert scenario.paths["link2"](5.0).position[0] == pytest.approx(0.25)


def test_free_floating_is_problem_11():
    """No forces, a free base, flexible bodies: momentum and energy have no reason to change."""
    scenario = lb.io.load_scenario(EXAMPLES / "free_floating.yaml")
    s, q, v = scenario.system, scenario.q0, scenario.v0
    assert scenario.torque is None and not s.gravity.any()
    assert isinstance(s.joints["bus"], lb.Free)
    assert sum(isinstance(b, lb.FlexibleBody) for b in s.bodies.values()) == 4
    h = 1e-5
    vdot = lb.forward_dynamics(s, q, v, np.zeros(s.nv))
    change = [lb.momentum(s, lb.integrate(s, q, v, x), v + x * vdot) for x in (-h, h)]
    scale = np.abs(change[0]).max()
    assert np.abs(change[1] - change[0]).max() / (2 * h) < 1e-6 * scale
