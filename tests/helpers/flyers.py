"""Free-flyers for tests, the exact gravity on their mass points, and Kepler's closed form."""

import numpy as np

import limber as lb

#: A planet so small that the size of a system counts.
PEBBLE = lb.orbit.Planet(mu=4e6, radius=500.0, J2=0.05, spin=1e-3)


def bus(inertia=(10.0, 20.0, 15.0), mass=100.0):
    """One rigid body."""
    a = lb.Assembly("satellite")
    a.attach("bus", lb.RigidBody(mass, inertia=np.diag(inertia)), lb.Free())
    return a.build()


def panel(rng, size, stiffness=2.0, second=False):
    """A flexible body of four point masses and two modes."""
    position = size * rng.normal(size=(4, 3))
    translation = rng.normal(size=(4, 3, 2))
    curved = 0.1 / size * rng.normal(size=(4, 3, 2, 2))
    return lb.FlexibleBody.from_nodes(
        mass=rng.uniform(0.5, 2.0, 4), position=position, translation=translation,
        stiffness=stiffness * np.diag([1.0, 3.0]), names=list("abcd"),
        second=curved + curved.swapaxes(2, 3) if second else None,
    )  # fmt: skip


def flexible(size=1.0, second=False, fidelity="full"):
    """A tree of two flexible bodies on a rigid one, made of point masses."""
    rng = np.random.default_rng(4)
    hub = lb.FlexibleBody.from_nodes(
        mass=[3.0, 2.0, 4.0, 1.0], position=size * rng.normal(size=(4, 3)), translation=np.zeros((4, 3, 0)),
        stiffness=np.zeros((0, 0)), names=list("abcd"),
    )  # fmt: skip
    a = lb.Assembly("flyer")
    a.attach("hub", hub, lb.Free())
    a.attach("left", panel(rng, size, second=second), lb.Revolute("y"), to="hub", at="a")
    a.attach("right", panel(rng, size), lb.Spherical(), to="left", at="b")
    return a.build(fidelity=fidelity)


def state_of(system, env, scale=1.0, seed=5):
    """A random state near the reference orbit."""
    rng = np.random.default_rng(seed)
    q = lb.integrate(system, system.neutral(), rng.normal(size=system.nv) * scale, 0.3)
    v = 0.1 * scale * rng.normal(size=system.nv)
    return q, v


def kepler(orbit, t):
    """Position and velocity on a two-body ellipse at a time from the epoch, by Kepler's equation."""
    el, mu = orbit.osculating, orbit.planet.mu
    a, e = float(el.semi_major), float(el.eccentricity)
    n = np.sqrt(mu / a**3)
    E0 = 2.0 * np.arctan2(
        np.sqrt(1.0 - e) * np.sin(el.anomaly / 2.0), np.sqrt(1.0 + e) * np.cos(el.anomaly / 2.0)
    )
    M = E0 - e * np.sin(E0) + n * t
    E = M
    for _ in range(50):
        E = E - (E - e * np.sin(E) - M) / (1.0 - e * np.cos(E))
    anomaly = 2.0 * np.arctan2(
        np.sqrt(1.0 + e) * np.sin(E / 2.0), np.sqrt(1.0 - e) * np.cos(E / 2.0)
    )
    there = lb.orbit.elements(
        a,
        e,
        el.inclination,
        node=el.node,
        argument=el.argument,
        anomaly=anomaly,
        planet=orbit.planet,
    )
    return np.array(there.position), np.array(there.velocity)


def points(system, q):
    """(mass, place of the body frame, place) of every mass point in the world."""
    for name, body in system.bodies.items():
        _, origin = lb.pose(system, q, name)
        for node, mass in zip("abcd", body.points.mass):
            yield name, node, mass, origin, lb.pose(system, q, name, node)[1]


def _series(alpha, r2, b, c):
    """(r2 + 2 b x + c x^2)^alpha up to x^2."""
    x1 = 2.0 * b / r2
    second = alpha * c / r2 + 0.5 * alpha * (alpha - 1.0) * x1**2
    return r2**alpha * np.array([1.0, alpha * x1, second])


def expanded_potential(system, env, q, s):
    """The potential of gravity, expanded to the second order about the frame of each body, in the falling frame at s."""
    planet = env.orbit.planet
    k = planet.oblateness(env.gravity)
    total = 0.0
    g = lb.orbit.reference.gravity(planet.mu, k, s)
    for _, _, mass, origin, place in points(system, q):
        d, r = place - origin, s + origin
        r2, b, c = r @ r, r @ d, d @ d
        i1, i3, i5 = (_series(alpha, r2, b, c) for alpha in (-0.5, -1.5, -2.5))
        zz = np.array([r[2] ** 2, 2.0 * r[2] * d[2], d[2] ** 2])
        zz5 = np.array(
            [
                zz[0] * i5[0],
                zz[0] * i5[1] + zz[1] * i5[0],
                zz[0] * i5[2] + zz[1] * i5[1] + zz[2] * i5[0],
            ]
        )
        U = (planet.mu * i1 + k * (i3 - 3.0 * zz5)).sum()
        total -= mass * (U - g @ place)
    return total
