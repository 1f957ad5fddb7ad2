"""The error of implicit steps: in proportion to the tolerance, whatever the torque does."""

import numpy as np
import pytest

import limber as lb
from helpers.motions import arm, moving, spacecraft


def masses(*names):
    """Bodies of 1 kg that slide along x, one on the other."""
    a = lb.Assembly("masses")
    on = "world"
    for name in names:
        a.attach(name, lb.RigidBody(1.0, inertia=np.eye(3)), lb.Prismatic([1, 0, 0]), to=on)
        on = name
    return a.build()


def tumbling():
    """A free body with an arm on a universal joint."""
    a = lb.Assembly("tumbling")
    a.attach("hub", lb.RigidBody(1.0, inertia=np.diag([1.0, 2.0, 3.0])), lb.Free())
    body = lb.RigidBody(1.0, com=(0.5, 0, 0), inertia=0.1 * np.eye(3))
    a.attach("arm", body, lb.Universal([0, 1, 0], [0, 0, 1]), to="hub")
    return a.build()


@pytest.mark.parametrize(("system", "most"), [(tumbling, 0.3), (spacecraft, 5.0)])
def test_global_error_follows_the_tolerance(system, most):
    """What Newton's method leaves over must not add up over the steps: it would cost an order."""
    s = system()
    q, v = moving(s, 3.0)
    options = {"q0": q, "v0": v, "t_eval": [0.5]}
    fine = lb.simulate(s, 0.5, method="dop853", rtol=1e-12, atol=1e-14, **options)
    errors = []
    for tolerance in (1e-4, 1e-6, 1e-8):
        r = lb.simulate(s, 0.5, method="sdirk4", rtol=tolerance, atol=tolerance, **options)
        errors.append(max(np.abs(r.q - fine.q).max(), np.abs(r.v - fine.v).max()) / tolerance)
    assert max(errors) < most and max(errors) < 3.0 * min(errors), errors


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9])
def test_torque_that_jumps_in_time(tolerance):
    """Wherever in a step the jump falls, the first quarter included, where no stage looks."""
    s = arm()
    q, v = moving(s)
    options = {"method": "dop853", "rtol": 1e-12, "atol": 1e-14}
    first = lb.simulate(s, 0.1, q0=q, v0=v, t_eval=[0.1], **options)
    fine = lb.simulate(
        s, 0.2, t0=0.1, q0=first.q[0], v0=first.v[0], torque=np.ones(s.nv), t_eval=[0.2], **options
    )
    for step in (1e-3, 1.3e-3, 1.7e-3, 2.1e-3):
        r = lb.simulate(
            s, 0.2, q0=q, v0=v, torque=lambda t, q, v: np.full(s.nv, float(t > 0.1)), t_eval=[0.2],
            method="sdirk4", step=step, rtol=tolerance, atol=tolerance,
        )  # fmt: skip
        assert np.abs(r.q - fine.q).max() < 10.0 * tolerance


def test_saturated_servo_that_switches():
    s = masses("one")

    def torque(t, q, v):
        return np.clip(1e8 * (0.3 - q) - 1e5 * v, -10.0, 10.0)

    r = lb.simulate(s, 1.0, torque=torque, method="sdirk4", rtol=1e-8, atol=1e-10)
    plain = lb.simulate(s, 1.0, torque=torque, method="dop853", rtol=1e-10, atol=1e-12)
    assert np.abs(r.q - plain.q).max() < 1e-5


@pytest.mark.parametrize("force", [1.0, 1000.0])
@pytest.mark.parametrize("tolerance", [1e-6, 1e-3])
def test_dry_friction_from_rest_beside_a_stiff_servo(force, tolerance):
    """The slope across the jump at rest is no slope: it would hold the body fast."""
    s = masses("sled", "servo")

    def torque(t, q, v):
        return np.array([force * (2.0 - np.sign(v[0])), -1e4 * (q[1] - 0.1) - 1e3 * v[1]])

    r = lb.simulate(s, 1.0, torque=torque, method="sdirk4", rtol=tolerance, atol=tolerance)
    plain = lb.simulate(s, 1.0, torque=torque, method="dop853", rtol=1e-9, atol=1e-11)
    assert np.abs(r.q - plain.q).max() < 10.0 * tolerance * np.abs(plain.q).max()


@pytest.mark.parametrize("damping", [2e3, 5e3])
def test_slopes_taken_after_a_step_do_not_spoil_its_error(damping):
    """One that converged, but slowly, is kept."""
    s = masses("one")
    r = lb.simulate(
        s, 0.01, v0=[1.0], torque=lambda t, q, v: -damping * v, method="sdirk4", step=1e-4, rtol=1e-3, atol=1e-3
    )  # fmt: skip
    assert r.statistics.rejected == 0


@pytest.mark.parametrize("stiffness", [1e3, 1e5, 1e8])
def test_output_between_steps_of_a_stiff_torque(stiffness):
    """The rate at the end of a step is poor there: output must not rest on it."""
    s = masses("one")

    def exact(t):
        return (stiffness**2 * np.cos(t) + stiffness * np.sin(t)) / (1.0 + stiffness**2)

    r = lb.simulate(
        s, 1.0, v0=[exact(0.0)], torque=lambda t, q, v: -stiffness * (v - np.cos(t)), method="sdirk4",
        t_eval=np.linspace(0, 1, 1001), rtol=1e-6, atol=1e-6,
    )  # fmt: skip
    assert np.abs(r.v[:, 0] - exact(r.t)).max() < 1e-5


@pytest.mark.parametrize("tolerance", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("joint", [lb.Free(), lb.Spherical()])
def test_attitude_of_a_steady_spin(joint, tolerance):
    """No acceleration at all: the error is that of the quaternion alone."""
    a = lb.Assembly("top")
    a.attach("body", lb.RigidBody(1.0, inertia=np.eye(3)), joint)
    s = a.build()
    v = np.zeros(s.nv)
    v[:3] = 1.0, 2.0, 3.0
    turn = np.linalg.norm(v) * 10.0 / 2.0
    exact = np.append(np.cos(turn), np.sin(turn) * v[:3] / np.linalg.norm(v))
    r = lb.simulate(s, 10.0, v0=v, method="sdirk4", rtol=tolerance, atol=tolerance, t_eval=[10.0])
    assert np.abs(r.q[0, :4] - exact).max() < 20.0 * tolerance
