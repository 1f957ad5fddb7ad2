"""Slosh: the formulas against the flow that they stand for, frequencies of the models, and what is refused."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import j1, jvp

import limber as lb
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.orbit.slosh import ZERO

LIQUID = lb.orbit.Slosh(radius=0.8, depth=1.3, mass=900.0)


def tank(kind, **more):
    """A tank on the ground."""
    a = lb.Assembly("tank", gravity=(0.0, 0.0, -2.5))
    a.attach("shell", lb.RigidBody(50.0, inertia=10.0 * np.eye(3)), lb.Fixed())
    LIQUID.attach(a, "liquid", to="shell", acceleration=2.5, kind=kind, **more)
    return a.build()


def test_the_zero_is_that_of_the_bessel_function():
    assert abs(jvp(1, ZERO)) < 1e-15


def test_the_model_has_the_forces_and_moments_of_the_flow():
    """The pressure of the first mode, cosh(k z) J1(k r) cos(angle) with z from the bottom, on walls and bottom."""
    R, h = LIQUID.radius, LIQUID.depth
    k = ZERO / R
    force = quad(lambda z: np.cosh(k * z), 0.0, h)[0] * np.pi * R * j1(ZERO)
    moment = quad(lambda z: (z - h / 2) * np.cosh(k * z), 0.0, h)[0] * np.pi * R * j1(ZERO)
    moment += np.pi * quad(lambda r: r**2 * j1(k * r), 0.0, R)[0]
    np.testing.assert_allclose(LIQUID.moving_height + LIQUID.length, moment / force, rtol=1e-12)


def test_masses_and_lengths_are_those_of_sp_106():
    d, h = 2.0 * LIQUID.radius, LIQUID.depth
    np.testing.assert_allclose(
        LIQUID.moving_mass / 900.0, d / (4.4 * h) * np.tanh(3.68 * h / d), rtol=2e-3
    )
    np.testing.assert_allclose(LIQUID.length, d / 3.68 / np.tanh(3.68 * h / d), rtol=2e-3)
    moments = LIQUID.moving_mass * LIQUID.moving_height + LIQUID.fixed_mass * LIQUID.fixed_height
    assert abs(moments) < 1e-12 * 900.0


@pytest.mark.parametrize("kind", ["pendulum", "springs"])
def test_both_models_slosh_at_the_frequency_of_the_liquid(kind):
    R, h = LIQUID.radius, LIQUID.depth
    expected = np.sqrt(2.5 * ZERO / R * np.tanh(ZERO * h / R))
    np.testing.assert_allclose(LIQUID.frequency(2.5), expected, rtol=1e-14)
    s = tank(kind, damping=0.01)
    modes = lb.modes(s, s.neutral())
    np.testing.assert_allclose(modes.omega, [expected, expected], rtol=1e-9)
    np.testing.assert_allclose(modes.damping, 0.01, rtol=1e-9)


def test_a_burn_makes_the_propellant_slosh():
    a = lb.Assembly("stage")
    a.attach("stage", lb.RigidBody(1e6, inertia=1e7 * np.eye(3)), lb.Free())
    _, moving = LIQUID.attach(a, "liquid", to="stage")
    s = a.build()
    total = sum(body.mass for body in s.bodies.values())
    burn = lb.orbit.Burn("stage", (0.0, 0.0, 2.0 * total), start=0.0, duration=20.0)
    far = lb.orbit.circular(1e6, planet=lb.orbit.Planet(mu=1e-6, radius=1.0))
    env = lb.orbit.Environment(far, burns=burn)
    q = s.neutral()
    q[s.layout[moving].q_joint] = 1e-4, 0.0
    r = lb.simulate(s, 15.0, q0=q, environment=env, rtol=1e-10, atol=1e-12)
    found = r.joint(moving)[:, 0]
    np.testing.assert_allclose(found, 1e-4 * np.cos(LIQUID.frequency(2.0) * r.t), atol=2e-6)


def test_what_is_missing_is_named():
    a = lb.Assembly("tank")
    a.attach("shell", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Free())
    with pytest.raises(ArgumentTypeError, match="acceleration is missing"):
        LIQUID.attach(a, "liquid", to="shell", kind="springs")
    with pytest.raises(ArgumentTypeError, match="acceleration is missing"):
        LIQUID.attach(a, "liquid", to="shell", damping=0.01)
    with pytest.raises(ArgumentValueError, match='kind=\'waves\' must be "pendulum" or "springs"'):
        LIQUID.attach(a, "liquid", to="shell", kind="waves")
    with pytest.raises(ArgumentValueError, match="depth must be greater than 0"):
        lb.orbit.Slosh(1.0, 0.0, 1.0)
