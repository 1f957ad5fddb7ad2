"""Two arms that carry one object: its pose follows, errors decay as designed, and the squeeze force is held."""

import numpy as np
import pytest

import limber as lb
from limber.comparison.on_two_arms import BOTH, grasped, sensors
from limber.control import CarriedObject

PLACE = lb.trajectories.Quintic([0, 0, 0.9], [0.1, 0.1, 1.0], 0.5)
TURN = lb.trajectories.Quintic(0.0, 0.2, 0.5)
PATH = {"place": PLACE, "turn": TURN, "axis": "x", "sample_time": 0.01}


def test_rigid_arms_follow_and_hold_the_squeeze_force_to_the_last_digit_that_sampling_leaves():
    *_, s, q = grasped(9.81)
    c = CarriedObject(100.0, 20.0, squeeze={BOTH: 40.0}, ki=20.0, **PATH)
    r = lb.simulate(s, 0.7, q0=q, torque=c, every=0.05)
    off, held = r.signals["object error"].y, r.signals["squeeze"]
    assert np.abs(off[:, :3]).max() < 3e-3 and np.abs(off[:, 3:]).max() < 1e-3  # rad, m
    assert np.abs(held.y[held.t > 0.4, 0] - 40.0).max() < 0.2  # N
    R, p = lb.pose(s, r.q[-1], "object/box")
    assert np.allclose(p, PLACE.end, atol=1e-3)
    assert np.allclose(R[:, 1], [0.0, np.cos(0.2), np.sin(0.2)], atol=2e-3)


def test_errors_of_the_pose_decay_as_they_were_designed_to():
    *_, s, q = grasped(9.81)
    away = lb.trajectories.Quintic([0.02, 0.0, 0.9], [0.02, 0.0, 0.9], 1.0)
    c = CarriedObject(100.0, 20.0, place=away, sample_time=0.002)
    r = lb.simulate(s, 0.2, q0=q, torque=c, every=0.02)
    x = r.node("object/box").position[:, 0]
    assert np.allclose(0.02 - x, 0.02 * (1.0 + 10.0 * r.t) * np.exp(-10.0 * r.t), atol=2e-4)


def test_flexible_arms_are_controlled_by_their_rigid_twin():
    s, q, twin, _ = grasped(0.0)
    press = lb.trajectories.Quintic(0.0, 40.0, 0.4)
    options = PATH | {"sample_time": 0.005}  # the lowest frequency is 26 Hz
    c = CarriedObject(
        100.0, 20.0, squeeze={BOTH: press}, ki=10.0, joint_damping=20.0, system=twin, **options
    )
    r = lb.simulate(s, 0.8, q0=q, torque=c, every=0.05)
    off, held = r.signals["object error"].y, r.signals["squeeze"]
    assert np.abs(off[:, 3:]).max() < 5e-4  # m
    assert np.abs(held.y[held.t > 0.7, 0] - 40.0).max() < 0.6  # N, of 40


@pytest.mark.parametrize(("delay", "limit"), [(0.02, None), (0.0, 60.0)])
def test_the_squeeze_force_is_that_of_the_torques_in_effect(delay, limit):
    """A delay or a guard puts other torques into effect than those of the last command."""
    *_, s, q = grasped(9.81)
    c = CarriedObject(100.0, 20.0, squeeze={BOTH: 40.0}, ki=20.0, **PATH)
    loop = lb.control.Loop(s, lb.control.Guard(c, limit=limit), delay=delay)
    r = lb.simulate(s, 0.1, q0=q, torque=loop, every=0.01)
    commands = np.vstack([np.zeros((3, s.nv)), r.signals["command"].y])
    for k in range(1, 10):
        before = commands[k + 2 - round(delay / 0.01)]  # in effect until this sample
        exact = lb.grasp_map(s, r.q[k])
        found = lb.constraint_forces(s, r.q[k], r.v[k], before)
        held = exact.pressing(*BOTH) @ exact.multipliers({n: found[n] for n in exact.columns})
        assert r.signals["squeeze"].y[k, 0] == pytest.approx(held, abs=1e-6)


WRISTS = {side: f"{side} wrist" for side in BOTH}


@pytest.mark.parametrize("flexible", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_squeeze_force_is_held_by_what_wrists_feel(flexible):
    """The controller does not know the state of the object, of modes, or of closures."""
    s, q, twin, q_twin = grasped(9.81 if not flexible else 0.0)
    if not flexible:
        s, q = twin, q_twin
    press = lb.trajectories.Quintic(0.0, 40.0, 0.4)
    options = PATH | {"sample_time": 0.005}
    c = CarriedObject(
        100.0, 20.0, squeeze={BOTH: press}, ki=10.0, joint_damping=20.0, system=twin, forces=WRISTS,
        q=q, **options,
    )  # fmt: skip
    loop = lb.control.Loop(s, c, sensors=sensors(s, noise=0.5), seed=4)
    r = lb.simulate(s, 0.8, q0=q, torque=loop, every=0.05)
    place = r.node("object/box").position[-1]
    assert np.allclose(place, PLACE.end, atol=2e-3)
    exact = lb.grasp_map(s, r.q[-1])
    found = lb.constraint_forces(s, r.q[-1], r.v[-1], r.tau[-1])
    held = exact.pressing(*BOTH) @ exact.multipliers({n: found[n] for n in exact.columns})
    assert held == pytest.approx(40.0, abs=1.0)  # N
    assert np.abs(r.signals["squeeze"].y[-20:, 0] - 40.0).max() < 1.5


def test_what_cannot_be_controlled_is_refused():
    s, _, twin, _ = grasped(9.81)

    def refused(text, system=twin, sensors=(), **options):
        with pytest.raises(lb.LimberError, match=text):
            c = CarriedObject(100.0, 20.0, sample_time=0.01, **options)
            lb.control.Loop(system, c, sensors=sensors)

    refused("has modes: give system=, its rigid counterpart", system=s)
    refused("'top' is not a closure of the object", squeeze={("left", "top"): 1.0})
    refused("squeeze must be", squeeze={"left": 1.0})
    refused("place must be a Trajectory of 3 components", place=TURN)
    encoder = lb.control.Encoder(["arm1/fore"], rate=100.0)
    refused("forces: closure 'left' has none", sensors=[encoder], squeeze={BOTH: 1.0})
    refused("the initial position of the object must be given: pass q=", sensors=[encoder])
    q = twin.neutral()
    refused("no sensor reads the position of the joint of 'arm1/upper'", sensors=[encoder], q=q)
    refused("the loop has no sensors", forces={"left": "wrist"})
    all_of_them = sensors(twin)
    refused("no ForceTorque sensor 'hand'", sensors=all_of_them, q=q, forces={"left": "hand"})
    refused(
        "inboard of the hand of this closure",
        sensors=all_of_them,
        q=q,
        forces={"left": "right wrist"},
    )
    with pytest.raises(lb.LimberError, match="kp must be one non-negative number or six"):
        CarriedObject([1.0, 2.0], 1.0, sample_time=0.01)
