"""`lb.difference` is the inverse of `lb.integrate`."""

import numpy as np
import pytest

import limber as lb
from helpers.random_systems import random_assembly, random_state

TOLERANCE = 1e-10


@pytest.mark.parametrize("seed", range(12))
def test_the_difference_leads_from_one_configuration_to_the_other(seed):
    rng = np.random.default_rng(seed)
    s = random_assembly(rng, bodies=6).build()
    a, v, _ = random_state(rng, s)
    x = 0.5 * v / max(1.0, np.abs(v).max())
    b = lb.integrate(s, a, x, 1.0)
    assert np.abs(lb.difference(s, a, b) - x).max() < TOLERANCE


def free():
    a = lb.Assembly("free").attach("hub", lb.RigidBody(1.0, inertia=[1.0, 2.0, 2.5]), lb.Free())
    return a.attach("ball", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Spherical(), "hub").build()


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-5, 1.1e-4, 0.3, 2.0, 3.0, 3.14159])
def test_rotations_of_up_to_half_a_turn_are_found(angle):
    s, rng = free(), np.random.default_rng(3)
    axis = rng.standard_normal((2, 3))
    axis /= np.linalg.norm(axis, axis=1)[:, None]
    start = lb.integrate(s, s.neutral(), rng.standard_normal(s.nv), 1.0)
    x = np.concatenate([angle * axis[0], rng.standard_normal(3), angle * axis[1]])
    assert np.abs(lb.difference(s, start, lb.integrate(s, start, x, 1.0)) - x).max() < 1e-9


def test_the_sign_of_a_quaternion_makes_no_difference():
    s, rng = free(), np.random.default_rng(4)
    a, b = (lb.integrate(s, s.neutral(), 2.0 * rng.standard_normal((5, s.nv)), 1.0) for _ in "ab")
    flipped = np.array(b)
    flipped[:, :4] *= -1.0
    flipped[:, 7:] *= -1.0
    assert np.array_equal(lb.difference(s, a, b), lb.difference(s, a, flipped))
    assert np.array_equal(lb.difference(s, a[0], b)[2], lb.difference(s, a[0], b[2]))


def test_what_is_no_configuration_is_refused():
    s = free()
    with pytest.raises(lb.LimberError, match=r"q_to must have shape \(\.\.\., 11\), got \(4,\)"):
        lb.difference(s, s.neutral(), np.zeros(4))
    with pytest.raises(
        lb.LimberError, match=r"q_from\[\.\.\., 0:4\], the quaternion of body 'hub', has norm 0"
    ):
        lb.difference(s, np.zeros(11), s.neutral())
    some = np.tile(s.neutral(), (3, 1))
    with pytest.raises(lb.LimberError, match=r"q_from \(3, 11\) and q_to \(2, 11\) do not match"):
        lb.difference(s, some, some[:2])
    some[1, :4] *= 2.0
    with pytest.raises(lb.LimberError, match="has norm 2"):
        lb.difference(s, some, s.neutral())
    assert lb.difference(s, some[:0], s.neutral()).shape == (0, s.nv)
