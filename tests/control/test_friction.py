"""Dry friction in linear models: what is omitted, and what is warned of."""

import warnings

import numpy as np
import pytest

import limber as lb
from limber.control.sampled import covariance_of_noise

ROUGH = {"friction": 1.0, "static_friction": 2.0, "friction_speed": 1e-3}


def arm(**options):
    a = lb.Assembly("arm")
    link = lb.beam(1.0, 2.0, EI=200.0, modes={"y": 1}, damping=0.01)
    a.attach("upper", link, lb.Revolute("z", armature=0.1, **options))
    a.attach("fore", link, lb.Revolute("z", armature=0.1), "upper", "tip")
    return a.build()


@pytest.mark.parametrize("speed", [1e-4, 1e-3, 1e-2, 1.0])
def test_without_friction_the_breakaway_level_is_zero_too(speed):
    v = np.full(4, speed)
    q = np.zeros(4)
    expected = lb.bias(arm(), q, v)
    assert np.abs(lb.bias(arm(**ROUGH), q, v) - expected).max() > 0.1
    assert np.allclose(
        lb.bias(lb.control.without_friction(arm(**ROUGH)), q, v), expected, atol=1e-14
    )


def test_without_friction_each_axis_of_a_joint_is_smooth():
    a = lb.Assembly("ball")
    a.attach("ball", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Spherical(friction=[1.0, 2.0, 3.0]))
    smooth = lb.control.without_friction(a.build())
    assert np.allclose(lb.bias(smooth, [1.0, 0, 0, 0], [1.0, 1.0, 1.0]), 0.0)


def test_a_joint_that_sticks_is_told_of_and_one_that_moves_is_not():
    s = arm(**ROUGH)
    with pytest.warns(
        lb.ModelWarning,
        match=r"linearize: the friction of the joint of 'upper'.*2e\+03.*without_friction",
    ):
        stuck = lb.linearize(s)
    slope = stuck.A[4:, 4:] - lb.linearize(arm()).A[4:, 4:]
    assert np.abs(lb.mass_matrix(s, np.zeros(4)) @ slope).max() == pytest.approx(2000.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.linearize(lb.control.without_friction(s))
        lb.linearize(s, v=np.full(4, 0.1))
        lb.linearize(s, motion={"upper": [0.0]})


@pytest.mark.parametrize("extended", [False, True])
def test_a_linear_filter_of_a_joint_that_sticks_is_told_of(extended):
    s = arm(**ROUGH)
    encoder = lb.control.Encoder(rate=100.0, noise=1e-4, seed=1)
    kalman = lb.control.Kalman(0.1, extended=extended)
    law = lb.control.ComputedTorque(4.0, 3.0, sample_time=0.01, observer=kalman)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        lb.simulate(s, 0.03, torque=lb.control.Loop(s, law, sensors=[encoder]))
    said = [str(w.message) for w in told if "Kalman: the friction" in str(w.message)]
    assert len(said) == (0 if extended else 1)
    assert all("extended=True" in text for text in said)


def test_process_noise_of_motions_that_decay_within_a_sample_is_that_of_the_lyapunov_equation():
    rates = np.array([1e-3, 1.0, 1e3, 1e6])
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(4, 4)))[0]
    A, B, T = -turn @ np.diag(rates) @ turn.T, turn, 0.02
    Q = covariance_of_noise(A, B, np.ones(4), T)
    expected = np.diag(-np.expm1(-2.0 * rates * T) / (2.0 * rates))
    assert np.allclose(turn.T @ Q @ turn, expected, rtol=1e-9, atol=1e-13)
