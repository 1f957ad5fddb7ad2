"""Gravity in orbit: on mass points, as the derivative of a potential, in closed-form motions, and what it conserves."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import limber as lb
from helpers.flyers import PEBBLE, bus, expanded_potential, flexible, kepler, points, state_of
from limber.orbit.reference import gravity

LOW = lb.orbit.circular(400e3, np.radians(51.6), node=0.4, latitude=1.0)
TIGHT = {"rtol": 1e-12, "atol": 1e-13, "method": "dop853"}


def exact_gravity(planet, k, r):
    """`gravity` in extended precision."""
    i2 = 1 / (r @ r)
    i3 = i2 * np.sqrt(i2)
    zz = r[2] * r[2] * i2
    pole = np.array([0, 0, 1], dtype=np.longdouble)
    return (-planet.mu * i3 + k * i3 * i2 * (15 * zz - 3)) * r - 6 * k * i3 * i2 * r[2] * pole


@pytest.mark.parametrize("name", ["point", "j2"])
@pytest.mark.parametrize("second", [False, True])
def test_forces_are_those_of_gravity_on_mass_points(name, second):
    size = 0.01  # the expansion leaves out a part of size / radius of the orbit
    s = flexible(size, second=second)
    env = lb.orbit.Environment(LOW, gravity=name)
    q, v = state_of(s, env, size)
    r = np.array(env.frame(0.0).position, dtype=np.longdouble)
    planet, k = env.orbit.planet, env.orbit.planet.oblateness(name)
    expected = np.zeros(s.nv)
    for body, node, mass, _, place in points(s, q):
        f = mass * (exact_gravity(planet, k, r + place) - exact_gravity(planet, k, r))
        expected += lb.jacobian(s, q, body, node)[3:].T @ f.astype(float)
    found = env.forces(s, 0.0, q, v)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=3e-8 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["point", "j2"])
def test_forces_are_the_slopes_of_the_expanded_potential(name):
    s = flexible(5.0, second=True)
    orbit = lb.orbit.circular(400.0, 0.7, latitude=0.6, planet=PEBBLE)
    env = lb.orbit.Environment(orbit, gravity=name)
    q, v = state_of(s, env, 5.0)
    place = env.frame(0.0).position
    slopes = np.empty(s.nv)
    for i, unit in enumerate(np.eye(s.nv)):
        up, down = (
            expanded_potential(s, env, lb.integrate(s, q, unit, h), place) for h in (1e-4, -1e-4)
        )
        slopes[i] = (up - down) / 2e-4
    found = env.forces(s, 0.0, q, v)
    np.testing.assert_allclose(found, -slopes, rtol=0.0, atol=1e-7 * np.abs(slopes).max())


def test_a_ruthless_system_feels_its_undeformed_shape():
    env = lb.orbit.Environment(LOW)
    full, ruthless = flexible(), flexible(fidelity="ruthless")
    q, v = state_of(full, env)
    for where in full.layout.values():
        q[where.q_modes] = 0.0
    np.testing.assert_allclose(
        env.forces(ruthless, 0.0, q, v), env.forces(full, 0.0, q, v), rtol=1e-12, atol=1e-18
    )


@pytest.mark.parametrize("eccentricity", [0.0, 0.3])
def test_two_body_orbits_are_those_of_kepler(eccentricity):
    reference = lb.orbit.circular(900e3, 0.9)
    env = lb.orbit.Environment(reference)
    other = lb.orbit.elements(1.1e7, eccentricity, 1.1, node=0.2, argument=0.5, anomaly=0.3)
    s, frame = bus(), env.frame(0.0)
    place = frame.R.T @ (np.array(other.position) - frame.position)
    speed = frame.R.T @ (np.array(other.velocity) - frame.velocity)
    q, v = env.start(s, position=place, velocity=speed - np.cross(frame.angular_velocity, place))
    end = 1.4 * other.period
    r = lb.simulate(s, end, q0=q, v0=v, environment=env, t_eval=[end], **TIGHT)
    track = env.track(r)
    position, velocity = kepler(other, end)
    np.testing.assert_allclose(track.position[-1], position, rtol=0.0, atol=1e-9 * 1.1e7)
    np.testing.assert_allclose(track.velocity[-1], velocity, rtol=0.0, atol=1e-9 * 7e3)
    np.testing.assert_allclose(track.elements.eccentricity[-1], eccentricity, rtol=0.0, atol=1e-9)


def test_a_system_on_the_reference_stays_there():
    s = bus(inertia=(0.1, 0.1, 0.1))
    for name in ("point", "j2"):
        env = lb.orbit.Environment(LOW, gravity=name)
        q, v = env.start(s)
        r = lb.simulate(s, LOW.period, q0=q, v0=v, environment=env, **TIGHT)
        assert np.abs(r.joint("bus")[:, 4:]).max() < 1e-11


def test_relative_motion_is_that_of_clohessy_and_wiltshire():
    env, s = lb.orbit.Environment(LOW), bus(inertia=(1e-3, 1e-3, 1e-3))  # size would count, in 1e-6
    n = 2.0 * np.pi / LOW.period
    x0, v0 = 1e-3 * np.array([2.0, -3.0, 1.0]), 1e-6 * np.array([1.0, -2.0, 3.0])
    q, v = env.start(s, position=x0, velocity=v0)
    r = lb.simulate(s, LOW.period, q0=q, v0=v, environment=env, every=LOW.period / 20, **TIGHT)
    A = np.zeros((6, 6))
    A[:3, 3:] = np.eye(3)
    A[3, 0], A[3, 4], A[4, 3], A[5, 2] = 3.0 * n**2, 2.0 * n, -2.0 * n, -(n**2)
    expected = np.array([expm(A * t) @ [*x0, *v0] for t in r.t])
    found = np.einsum("nji,nj->ni", env.frame(r.t).R, r.joint("bus")[:, 4:])
    np.testing.assert_allclose(found, expected[:, :3], rtol=0.0, atol=1e-8 * np.abs(expected).max())


def test_librations_are_those_of_the_linear_theory():
    Ix, Iy, Iz = 10.0, 30.0, 35.0  # radial, along the track, normal: stable
    env, s = lb.orbit.Environment(LOW), bus(inertia=(Ix, Iy, Iz))
    n = 2.0 * np.pi / LOW.period
    turn = 1e-6 * np.array([1.0, -2.0, 1.5])
    t = np.linspace(0.0, LOW.period, 21)

    def librating(turn):
        q, v = env.start(s, attitude=Rotation.from_rotvec(turn).as_matrix())
        r = lb.simulate(
            s, t[-1], q0=q, v0=v, environment=env, t_eval=t, rtol=1e-13, atol=1e-15, method="dop853"
        )
        R, _ = lb.pose(s, r.q, "bus")
        relative = np.einsum("nji,njk->nik", env.frame(r.t).R, R)
        return Rotation.from_matrix(relative).as_rotvec()

    found = 0.5 * (librating(turn) - librating(-turn))  # terms of the second order cancel
    A = np.zeros((6, 6))
    A[:3, 3:] = np.eye(3)
    A[3, 0], A[3, 4] = -(n**2) * (Iz - Iy) / Ix, n * (Ix - Iz + Iy) / Ix
    A[4, 1], A[4, 3] = -4.0 * n**2 * (Iz - Ix) / Iy, -n * (Iy + Ix - Iz) / Iy
    A[5, 2] = -3.0 * n**2 * (Iy - Ix) / Iz
    pitch = np.sqrt(3.0 * n**2 * (Iy - Ix) / Iz)
    np.testing.assert_allclose(
        np.abs(np.linalg.eigvals(A[np.ix_([2, 5], [2, 5])])), pitch, rtol=1e-12
    )
    start = np.array([*turn, 0.0, 0.0, 0.0])
    expected = np.array([expm(A * x) @ start for x in t])[:, :3]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8 * np.abs(turn).max())
    np.testing.assert_allclose(
        found[:, 2], turn[2] * np.cos(pitch * t), rtol=0.0, atol=1e-8 * turn[2]
    )


def test_oblateness_turns_node_and_perigee_at_the_secular_rates():
    planet = lb.orbit.Planet(mu=lb.orbit.EARTH.mu, radius=lb.orbit.EARTH.radius, J2=1e-5)
    e, i, a = 0.2, 0.8, 9e6
    orbit = lb.orbit.elements(a, e, i, argument=0.4, planet=planet)
    env, s = lb.orbit.Environment(orbit, gravity="j2"), bus()
    q, v = env.start(s, position=(0.0, 10.0, 5.0))
    # after whole revolutions the periodic parts are what they were
    end = 10 * orbit.period
    r = lb.simulate(s, end, q0=q, v0=v, environment=env, every=orbit.period, rtol=1e-11, atol=1e-9)
    found = env.track(r).elements
    n = 2.0 * np.pi / orbit.period
    factor = 0.75 * n * planet.J2 * (planet.radius / (a * (1.0 - e**2))) ** 2
    for angle, rate in (
        (found.node, -2.0 * np.cos(i)),
        (found.argument, 5.0 * np.cos(i) ** 2 - 1.0),
    ):
        slope = np.polyfit(r.t, angle, 1)[0]
        np.testing.assert_allclose(slope, factor * rate, rtol=1e-3)


def test_energy_and_angular_momentum_of_a_flexible_flyer_are_conserved():
    s = flexible(5.0, second=True)
    orbit = lb.orbit.elements(1000.0, 0.2, 0.7, anomaly=0.6, planet=PEBBLE)
    for name in ("point", "j2"):
        env = lb.orbit.Environment(orbit, gravity=name)
        q, v = state_of(s, env, 1.0)
        r = lb.simulate(
            s, 30.0, q0=q, v0=v, environment=env, t_eval=np.linspace(0.0, 30.0, 7), **TIGHT
        )
        frame, track = env.frame(r.t), env.track(r)
        mass = sum(body.mass for body in s.bodies.values())
        energy, momentum = [], []
        for j in range(len(r)):
            p, u = frame.position[j], frame.velocity[j]
            h, l = r.momentum[j, :3], r.momentum[j, 3:]
            c = track.position[j] - p
            g = gravity(PEBBLE.mu, PEBBLE.oblateness(name), p)
            fixed = expanded_potential(s, env, r.q[j], p) - mass * (g @ c)
            energy.append(r.energy[j] + 0.5 * mass * u @ u + u @ l + fixed)
            momentum.append(h + np.cross(p, l) + mass * np.cross(c, u) + mass * np.cross(p, u))
        energy, momentum = np.array(energy), np.array(momentum)
        assert np.ptp(r.potential_energy) > 1e-4 * abs(energy[0])  # the modes take part
        np.testing.assert_allclose(energy, energy[0], rtol=1e-9)
        kept = (
            slice(2, 3) if name == "j2" else slice(0, 3)
        )  # oblateness leaves the part along the axis
        scale = np.abs(momentum[0]).max()
        np.testing.assert_allclose(
            momentum[:, kept], momentum[:1, kept].repeat(7, 0), rtol=0, atol=1e-9 * scale
        )
        assert r.power_audit().accuracy < 1e-9
