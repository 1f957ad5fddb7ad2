"""Modes about steady motions: tops, rotors and turntables with known frequencies and growth rates."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import limber as lb
from helpers.random_systems import random_assembly, random_state

TOLERANCE = 1e-9
G = 9.81

seeds = st.integers(0, 2**32 - 1)


def close(actual, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


# against a linearization by differences


@settings(max_examples=15)
@given(seed=seeds)
def test_eigenvalues_are_those_of_the_linearized_forward_dynamics(seed):
    """x' = A x with A from differences of `forward_dynamics` by q and v, about any speeds of the joints."""
    rng = np.random.default_rng(seed)
    kinds = ("Revolute", "Prismatic", "Screw", "Universal", "Cylindrical")
    s = random_assembly(rng, bodies=3, flexible=0.5, kinds=kinds).build()
    q, v, _ = random_state(rng, s, eta_scale=0.1)
    for where in s.layout.values():
        v[where.v_modes] = 0.0
    if not v.any():
        return
    tau = lb.bias(s, q, v)
    h, n = 1e-5, s.nv
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    for i, e in enumerate(np.eye(n)):
        by_q = [lb.forward_dynamics(s, q + x * e, v, tau) for x in (h, -h)]
        by_v = [lb.forward_dynamics(s, q, v + x * e, tau) for x in (h, -h)]
        A[n:, i] = (by_q[0] - by_q[1]) / (2 * h)
        A[n:, n + i] = (by_v[0] - by_v[1]) / (2 * h)
    with warnings.catch_warnings():  # such motions are not steady
        warnings.simplefilter("ignore", lb.ModelWarning)
        m = lb.modes(s, q, v)
    values = np.linalg.eigvals(A)
    size = np.abs(values).max()
    for x in m.eigenvalues:
        near = np.abs(values - x).min()
        assert near < 1e-4 * size
    close(m.growth.max() / size, max(0.0, values.real.max()) / size, 1e-3)


# free bodies

INERTIA = np.array([1.0, 2.0, 2.5])


def spinning(axis, speed=3.0):
    body = lb.RigidBody(2.0, inertia=INERTIA)
    s = lb.Assembly("body").attach("body", body, lb.Free()).build()
    v = np.zeros(6)
    v[axis] = speed
    return lb.modes(s, s.neutral(), v)


def test_the_intermediate_axis_is_unstable():
    """Euler: growth^2 = w^2 (I2 - I1)(I3 - I2)/(I1 I3)."""
    m = spinning(1)
    a, b, c = INERTIA
    close(m.growth[0], 3.0 * np.sqrt((b - a) * (c - b) / (a * c)))
    assert m.omega[0] == 0.0 and not m.growth[1:].any()
    assert "growth" in str(m).splitlines()[0]


@pytest.mark.parametrize("axis", [0, 2])
def test_the_other_axes_nutate(axis):
    """In body axes with w sqrt((Ik - Ii)(Ik - Ij)/(Ii Ij)); what stands still in space turns with w."""
    m = spinning(axis)
    k, i, j = INERTIA[[axis, axis - 1, axis - 2]]
    nutation = 3.0 * np.sqrt((k - i) * (k - j) / (i * j))
    assert not m.growth.any()
    close(np.sort(m.omega), np.sort([0.0, 0.0, nutation, 3.0, 3.0, 3.0]), 1e-6)


def test_a_speed_along_a_line_changes_nothing():
    body = lb.RigidBody(2.0, inertia=INERTIA)
    s = lb.Assembly("body", gravity=(0, 0, -G)).attach("body", body, lb.Free()).build()
    m = lb.modes(s, s.neutral(), [0, 0, 0, 7e3, 0, 0], locked=())
    assert not m.omega.any() and not m.growth.any()


# tops

I3, WEIGHT, HEIGHT = 0.1, 2.0, 0.4
I1 = 0.3 + WEIGHT * HEIGHT**2  # about the joint


def top(spherical, speed):
    """An upright symmetric top: on a spherical joint, or on two gimbals in which it spins."""
    a = lb.Assembly("top", gravity=(0, 0, -G))
    disc = lb.RigidBody(WEIGHT, com=(0, 0, HEIGHT), inertia=(0.3, 0.3, I3))
    if spherical:
        s = a.attach("disc", disc, lb.Spherical()).build()
        return lb.modes(s, s.neutral(), [0, 0, speed])
    gimbals = lb.CompoundJoint([lb.Revolute("x"), lb.Revolute("y"), lb.Revolute("z")])
    s = a.attach("disc", disc, gimbals).build()
    return lb.modes(s, s.neutral(), [0, 0, speed])


@pytest.mark.parametrize("spherical", [True, False])
def test_a_fast_top_sleeps(spherical):
    """Slow precession and nutation, (I3 w -+ sqrt(I3^2 w^2 - 4 I1 m g l))/(2 I1); less w in body axes."""
    speed = 160.0
    root = np.sqrt((I3 * speed) ** 2 - 4.0 * I1 * WEIGHT * G * HEIGHT)
    expected = (I3 * speed + np.array([-root, root])) / (2.0 * I1)
    if spherical:
        expected = np.abs(expected - speed)
    m = top(spherical, speed)
    assert not m.growth.any()
    close(np.sort(m.omega), np.sort([0.0, *expected]), 1e-7)


@pytest.mark.parametrize("spherical", [True, False])
def test_a_slow_top_falls(spherical):
    speed = 30.0
    root = np.sqrt(4.0 * I1 * WEIGHT * G * HEIGHT - (I3 * speed) ** 2)
    m = top(spherical, speed)
    close(m.growth.max(), root / (2.0 * I1), 1e-7)
    about = I3 * speed / (2.0 * I1)
    value = m.eigenvalues[m.growth.argmax()]
    close(abs(value.imag), abs(about - speed) if spherical else about, 1e-7)
    assert m.damping[m.growth.argmax()] < 0.0


# rotors


def turntable(speed, stiffness=50.0, damping=0.0, mass=2.0):
    """A point mass on springs along both axes of a turntable, whose speed is held."""
    a = lb.Assembly("turntable")
    a.attach("table", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Revolute("z"))
    spring = {"stiffness": stiffness, "damping": damping}
    springs = lb.CompoundJoint([lb.Prismatic("x", **spring), lb.Prismatic("y", **spring)])
    s = a.attach("mass", lb.RigidBody(mass), springs, to="table").build()
    return lb.modes(s, s.neutral(), [speed, 0.0, 0.0], locked=["table"])


@pytest.mark.parametrize("speed", [2.0, 5.0, 8.0])
def test_a_mass_on_a_turntable_whirls_with_the_spring_less_and_plus_the_spin(speed):
    m = turntable(speed)
    assert not m.growth.any()
    close(m.omega, np.sort(np.abs(np.array([5.0, -5.0]) + speed)), 1e-7)


@pytest.mark.parametrize("speed", [3.0, 8.0])
def test_damping_that_turns_with_a_shaft_makes_it_unstable_above_the_critical_speed(speed):
    """z'' + (d/m + 2 i w) z' + (k/m - w^2) z = 0 in the frame of the shaft."""
    m = turntable(speed, damping=0.4)
    values = np.roots([1.0, 0.2 + 2j * speed, 25.0 - speed**2])
    close(m.growth.max(), max(0.0, values.real.max()), 1e-8)
    assert (m.growth.max() > 0.0) == (speed > 5.0)


@pytest.mark.parametrize("speed", [0.0, 40.0, 200.0])
def test_a_disc_on_a_shaft_splits_into_forward_and_backward_whirl(speed):
    """It a'' - i Ip w a' + k a = 0: (Ip w +- sqrt(Ip^2 w^2 + 4 It k))/(2 It), the shaft being elastic hinges."""
    transverse, polar, stiffness = 0.02, 0.035, 80.0
    a = lb.Assembly("rotor")
    hinges = lb.Universal("x", "y", stiffness=stiffness)
    tiny = lb.RigidBody(1e-9, inertia=np.full(3, 1e-12))
    a.attach("shaft", tiny, hinges)
    a.attach(
        "disc",
        lb.RigidBody(3.0, inertia=(transverse, transverse, polar)),
        lb.Revolute("z"),
        "shaft",
    )
    s = a.build()
    m = lb.modes(s, s.neutral(), [0.0, 0.0, speed])
    gyro = polar * speed / (2.0 * transverse)
    root = np.sqrt(gyro**2 + stiffness / transverse)
    close(m.omega, [0.0, root - gyro, root + gyro], 1e-6)
    assert not m.growth.any()


def test_a_turning_flexible_shaft_shows_its_frequency_less_and_plus_the_spin():
    """A round cantilever shaft that turns about its own axis, in the frame of the shaft."""
    b = lb.beam(1.0, 2.0, EI=30.0, modes=1, polar_inertia=1e-6)
    s = lb.Assembly("shaft").attach("shaft", b, lb.Revolute("x")).build()
    own = np.sqrt(b.stiffness[0, 0])
    v = np.zeros(s.nv)
    v[-1] = 0.4 * own
    m = lb.modes(s, s.neutral(), v, locked=["shaft"])
    close(m.omega, [0.6 * own, 1.4 * own], 1e-5)


def test_a_bead_on_a_turning_hoop_swings_about_its_place():
    """omega = w sin(angle), with cos(angle) = g/(w^2 l)."""
    a = lb.Assembly("hoop", gravity=(0, 0, -G))
    a.attach("hoop", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Revolute("z"))
    bead = lb.RigidBody(1.3, com=(0, 0, -0.7))
    s = a.attach("bead", bead, lb.Revolute("y"), to="hoop").build()
    v = [6.0, 0.0]
    q = lb.equilibrium(s, [0.0, 0.2], v, locked=["hoop"])
    close(lb.modes(s, q, v, locked=["hoop"]).omega, 6.0 * np.sin(q[1]))
    below = lb.modes(s, [0.0, 0.0], v, locked=["hoop"])
    close(below.growth, np.sqrt(36.0 - G / 0.7))


@pytest.mark.parametrize(
    "speed, flap, lag",
    [(2.0, 4.1373, 3.6218), (5.0, 6.4495, 4.0739), (10.0, 11.2023, 5.0490)],
)
def test_a_stiffened_beam_on_a_spinning_hub(speed, flap, lag):
    """The lowest frequencies out of and in the plane of rotation, EI = rho A = L = 1 (Wright et al. 1982)."""
    b = lb.beam(1.0, 1.0, EI=1.0, modes=6, geometric_stiffening=True)
    s = lb.Assembly("rotor").attach("beam", b, lb.Revolute("z")).build()
    v = np.zeros(s.nv)
    v[-1] = speed
    m = lb.modes(s, s.neutral(), v, locked=["beam"])
    close(m.omega[:2], sorted([flap, lag]), 6e-4)
    assert not m.growth.any()


def test_a_plain_beam_is_unstable_where_it_spins_faster_than_it_swings():
    """Without stiffening, omega^2 = omega_1^2 - w^2 in the plane of rotation."""
    b = lb.beam(1.0, 1.0, EI=1.0, modes=1)
    s = lb.Assembly("rotor").attach("beam", b, lb.Revolute("z")).build()
    m = lb.modes(s, s.neutral(), [0.0, 0.0, 5.0], locked=["beam"])
    close(m.growth, [np.sqrt(25.0 - b.stiffness[0, 0]), 0.0])


# words


def test_a_motion_that_is_not_steady_is_said():
    s = lb.Assembly("pendulum", gravity=(0, 0, -G))
    s = s.attach("rod", lb.RigidBody(1.0, com=(0, 0, -1)), lb.Revolute("y")).build()
    with pytest.warns(lb.ModelWarning, match="is not steady: along it"):
        lb.modes(s, [0.0], [2.0])


def test_a_motion_out_of_balance_is_said():
    b = lb.beam(1.0, 2.0, EI=30.0, EA=1e3, modes={"stretch": 1})
    s = lb.Assembly("rotor").attach("beam", b, lb.Revolute("z")).build()
    with pytest.warns(
        lb.ModelWarning, match="not in balance. Not an equilibrium: mode 1 of body 'beam'"
    ):
        lb.modes(s, s.neutral(), [0.0, 5.0])
    q = lb.equilibrium(s, v=[0.0, 5.0], locked=["beam"])
    lb.modes(s, q, [0.0, 5.0], locked=["beam"])


# what must not matter


@pytest.mark.parametrize("speed", [1e-3, 1.0, 7500.0])
def test_drifting_does_not_change_the_modes(speed):
    """Galileo: a cart with a beam, and a satellite with a panel, at constant velocity."""
    cart = lb.Assembly("cart").attach(
        "beam", lb.beam(1.0, 1.0, EI=1.0, modes={"y": 2}), lb.Prismatic("x")
    )
    satellite = lb.Assembly("satellite")
    satellite.attach("hull", lb.RigidBody(2.0, inertia=(1.0, 2.0, 3.0)), lb.Free())
    satellite.attach("panel", lb.beam(2.0, 1.0, EI=1.0, modes=2), lb.Fixed(), "hull")
    for s, at in ((cart.build(), -1), (satellite.build(), 3)):
        v = np.zeros(s.nv)
        v[at] = speed
        expected = lb.modes(s).omega
        np.testing.assert_allclose(lb.modes(s, v=v).omega, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("inertia", [1.0, 1e6, 1e12])
def test_the_inertia_of_a_locked_hub_does_not_matter(inertia):
    c, z = np.cos(0.5), np.sin(0.5)
    a = lb.Assembly("rotor")
    a.attach("hub", lb.RigidBody(1.0, inertia=(inertia,) * 3), lb.Revolute("z"))
    beam = lb.beam(1.0, 1.0, EI=1.0, modes=2, geometric_stiffening=True)
    a.attach("beam", beam, lb.Fixed(), "hub", rotation=[[c, 0, z], [0, 1, 0], [-z, 0, c]])
    s = a.build()
    v = np.append(0.5, np.zeros(4))
    q = lb.equilibrium(s, v=v, locked=["hub"])
    assert np.abs(lb.bias(s, q, v)[1:]).max() < 1e-12
    found = lb.modes(s, q, v, locked=["hub"])
    np.testing.assert_allclose(found.omega[:2], [3.29917718, 3.77046972], rtol=1e-7)
    assert not found.note
    with pytest.warns(lb.ModelWarning, match="not in balance"):
        assert "Not an equilibrium" in lb.modes(s, v=v, locked=["hub"]).note


@pytest.mark.parametrize("spin", [1.0, 50.0, 500.0])
def test_a_wheel_on_a_beam_splits_its_frequencies(spin):
    """The equations M x'' + D x' + K x = 0 by differences of the bias."""
    a = lb.Assembly("rotor")
    a.attach("beam", lb.beam(1.0, 1.0, EI=1.0, modes=2, polar_inertia=0.01), lb.Fixed())
    wheel = lb.RigidBody(0.5, inertia=(0.02, 0.01, 0.01))
    a.attach("wheel", wheel, lb.Revolute("x"), "beam", "tip")
    s = a.build()
    q, v, h = s.neutral(), np.append(np.zeros(4), spin), 1e-6
    steps = h * np.eye(5)[:4]
    D = np.array([(lb.bias(s, q, v + x) - lb.bias(s, q, v - x))[:4] for x in steps]).T / (2.0 * h)
    K = np.array([(lb.bias(s, q + x, v) - lb.bias(s, q - x, v))[:4] for x in steps]).T / (2.0 * h)
    M = lb.mass_matrix(s, q)[:4, :4]
    F = np.block([[np.zeros((4, 4)), np.eye(4)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    expected = np.sort(np.linalg.eigvals(F).imag)[4:]
    np.testing.assert_allclose(lb.modes(s, v=v, locked=["wheel"]).omega, expected, rtol=1e-6)
