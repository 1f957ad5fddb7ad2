"""Drag in orbit: the force on faces, its torque, and the decay of an orbit."""

import numpy as np
import pytest

import limber as lb
from helpers.flyers import bus
from limber.errors import ArgumentTypeError, ArgumentValueError

EARTH = lb.orbit.EARTH
LOW = lb.orbit.circular(400e3, np.radians(51.6), latitude=0.7)
DENSITY = 4e-12
AIR = lb.orbit.exponential(DENSITY, 400e3, 60e3)


def drag_only(env, system, q, v):
    """The generalized forces of drag."""
    bare = lb.orbit.Environment(env.orbit, gravity=env.gravity)
    return env.forces(system, 0.0, q, v) - bare.forces(system, 0.0, q, v)


def box():
    """A body with a face that is off its centre of mass."""
    a = lb.Assembly("box")
    body = lb.RigidBody(50.0, inertia=np.eye(3), nodes={"side": (0.3, 0.0, 0.2)})
    a.attach("box", body, lb.Free())
    return a.build()


def flow(env, place=(0.0, 0.0, 0.0)):
    """The velocity of a point at rest in the world through the air."""
    frame = env.frame(0.0)
    return frame.velocity - np.cross([0.0, 0.0, EARTH.spin], frame.position + place)


def test_a_sphere_feels_drag_along_the_flow():
    env = lb.orbit.Environment(LOW, drag=lb.orbit.Drag(lb.orbit.Face("bus", area=3.0, cd=2.0), AIR))
    s = bus()
    q, v = s.neutral(), np.zeros(s.nv)
    u = flow(env)
    found = drag_only(env, s, q, v)
    expected = -0.5 * DENSITY * 2.0 * 3.0 * np.linalg.norm(u) * u
    np.testing.assert_allclose(found[3:], expected, rtol=1e-8)
    np.testing.assert_allclose(found[:3], 0.0, atol=1e-18)


@pytest.mark.parametrize("two_sided", [False, True])
def test_a_plate_feels_its_projected_area_and_a_torque(two_sided):
    s = box()
    for turned in (0.0, 0.5, 2.0, 3.0):
        face = lb.orbit.Face("box", "side", 2.0, (0.0, 1.0, 0.0), two_sided=two_sided)
        env = lb.orbit.Environment(LOW, drag=lb.orbit.Drag([face], AIR))
        c, d = np.cos(turned), np.sin(turned)
        q, v = env.start(s, attitude=[[c, -d, 0.0], [d, c, 0.0], [0.0, 0.0, 1.0]])
        v[:] = 0.0
        R, p = lb.pose(s, q, "box", "side")
        u = flow(env, p)
        facing = R[:, 1] @ u
        facing = abs(facing) if two_sided else max(facing, 0.0)
        height = np.linalg.norm(env.frame(0.0).position + p) - EARTH.radius - 400e3
        force = R.T @ (-0.5 * DENSITY * np.exp(-height / 60e3) * 2.2 * 2.0 * facing * u)
        found = drag_only(env, s, q, v)
        np.testing.assert_allclose(found[3:], force, rtol=1e-7, atol=1e-14)
        np.testing.assert_allclose(
            found[:3], np.cross([0.3, 0.0, 0.2], force), rtol=1e-7, atol=1e-14
        )


def test_a_panel_that_bends_turns_its_face():
    beam = lb.beam(4.0, 3.0, EI=(50.0, 80.0), GJ=10.0, modes=1)
    a = lb.Assembly("panel")
    a.attach("hub", lb.RigidBody(5.0, inertia=np.eye(3)), lb.Free())
    a.attach("panel", beam, lb.Fixed(), to="hub")
    s = a.build()
    face = lb.orbit.Face("panel", "tip", 1.5, (0.0, 1.0, 0.0), two_sided=True)
    env = lb.orbit.Environment(LOW, drag=lb.orbit.Drag([face], AIR))
    rng = np.random.default_rng(1)
    q, v = env.start(s)
    q[s.layout["panel"].q_modes] = 0.2 * rng.normal(size=beam.modes)
    v = 0.3 * rng.normal(size=s.nv)
    R, p = lb.pose(s, q, "panel", "tip")
    J = lb.jacobian(s, q, "panel", "tip")[3:]
    u = flow(env, p) + J @ v
    height = np.linalg.norm(env.frame(0.0).position + p) - EARTH.radius - 400e3
    force = -0.5 * DENSITY * np.exp(-height / 60e3) * 2.2 * 1.5 * abs(R[:, 1] @ u) * u
    np.testing.assert_allclose(drag_only(env, s, q, v), J.T @ force, rtol=1e-6, atol=1e-12)


def test_drag_lowers_a_circular_orbit_as_theory_says():
    still = lb.orbit.Planet(EARTH.mu, EARTH.radius)  # its air does not turn
    orbit = lb.orbit.circular(300e3, 0.3, planet=still)
    area, mass = 10.0, 100.0
    air = lb.orbit.exponential(1e-12, 300e3, 1e7)  # nearly constant over the decay
    env = lb.orbit.Environment(orbit, drag=lb.orbit.Drag(lb.orbit.Face("bus", area=area), air))
    s = bus(mass=mass)
    q, v = env.start(s)
    r = lb.simulate(
        s, 3 * orbit.period, q0=q, v0=v, environment=env, every=orbit.period, rtol=1e-10, atol=1e-9
    )
    a = env.track(r).elements.semi_major
    fall = (
        -2.0 * np.pi * 2.2 * area / mass * 1e-12 * a[0] ** 2
    )  # of a circular orbit in a revolution
    np.testing.assert_allclose(np.diff(a), fall, rtol=1e-3)
    assert r.power_audit().accuracy < 1e-8


def test_air_is_interpolated_in_its_logarithm():
    table = lb.orbit.density_table([300e3, 400e3, 500e3], [1e-11, 1e-12, 1e-14])
    s = bus()
    sizes = {}
    for height in (250e3, 350e3, 450e3, 550e3):
        orbit = lb.orbit.circular(height, planet=lb.orbit.Planet(EARTH.mu, EARTH.radius))
        env = lb.orbit.Environment(orbit, drag=lb.orbit.Drag([lb.orbit.Face("bus")], table))
        size = np.linalg.norm(drag_only(env, s, s.neutral(), np.zeros(6))[3:])
        sizes[height] = size / (0.5 * 2.2 * np.sum(np.square(orbit.velocity)))
    expected = [10**-10.5, 10**-11.5, 1e-13, 1e-15]
    np.testing.assert_allclose(list(sizes.values()), expected, rtol=1e-6)


def test_wrong_air_and_faces_are_refused():
    with pytest.raises(
        ArgumentTypeError, match=r"faces must be lb\.orbit\.Face objects, got 'bus'"
    ):
        lb.orbit.Drag("bus")
    with pytest.raises(ArgumentTypeError, match="air must be an atmosphere"):
        lb.orbit.Drag(lb.orbit.Face("bus"), air=1e-12)
    with pytest.raises(
        ArgumentValueError, match="altitude must have at least two increasing values"
    ):
        lb.orbit.density_table([2.0, 1.0], [1.0, 1.0])
    with pytest.raises(ArgumentValueError, match="density must be positive"):
        lb.orbit.density_table([1.0, 2.0], [1.0, 0.0])
    with pytest.raises(ArgumentTypeError, match=r"drag must be lb\.orbit\.Drag"):
        lb.orbit.Environment(LOW, drag=lb.orbit.Face("bus"))
    env = lb.orbit.Environment(LOW, drag=lb.orbit.Drag(lb.orbit.Face("wing")))
    with pytest.raises(ArgumentValueError, match="'wing' is not in the system"):
        lb.simulate(bus(), 1.0, environment=env)
