"""Closures far from the origin, as in orbits, and of mechanisms that are small: what counts as met goes with their size."""

import numpy as np
import pytest

import limber as lb


def docked(radius):
    """A ship on the arm of a station, `radius` away from the origin, and a rough guess."""
    a = lb.Assembly("dock")
    station = lb.RigidBody(4e3, inertia=(1e3, 1e3, 1e3), nodes={"port": (2, 0, 0)})
    ship = lb.RigidBody(2e3, inertia=(1e3, 1e3, 1e3), nodes={"port": (-2, 0, 0)})
    arm = lb.RigidBody(30.0, (1, 0, 0), (1, 30, 30), nodes={"tip": (2, 0, 0)})
    a.attach("station", station, lb.Free())
    a.attach("arm", arm, lb.Revolute("z"), "station", "port")
    a.attach("ship", ship, lb.Free())
    a.close(("arm", "tip"), ("ship", "port"), lb.Revolute("y"), name="dock")
    s = a.build()
    q, place = s.neutral(), radius * np.array([0.6, 0.64, 0.48])
    q[s.layout["station"].q_joint][4:] = place
    q[s.layout["ship"].q_joint][4:] = place + np.array([6.05, 0.02, 0])
    return s, q


@pytest.mark.parametrize("radius", [7e6, 4e7])
def test_far_from_the_origin(radius):
    """Places have about 1e-16 of their distance for a digit, and closures cannot be met more closely."""
    s, q = docked(radius)
    q = lb.assemble(s, q)
    v = np.zeros(s.nv)
    for name in ("station", "ship"):
        v[s.layout[name].v_joint] = 0, 0.01, 0.02, 100, 7000, 0
    q, v = lb.project(s, q, v)
    assert np.abs(lb.constraint_residual(s, q)).max() < 1e-15 * radius
    r = lb.simulate(s, 10.0, q0=q, v0=v, every=1.0, rtol=1e-9)
    assert np.abs(r.constraint_residual()[0]).max() < 1e-15 * radius
    before, after = (lb.momentum(s, r.q[i], r.v[i])[3:] for i in (0, -1))
    np.testing.assert_allclose(after, before, rtol=0.0, atol=1e-8 * np.abs(before).max())


def four_bar(size, ground=2.2):
    def rod(length):
        inertia = [1e-4 * size**2, length**2 / 12, length**2 / 12]
        return lb.RigidBody(1.0, (length / 2, 0, 0), inertia, {"tip": (length, 0, 0)})

    a = lb.Assembly("bar")
    a.attach("crank", rod(size), lb.Revolute("z"))
    a.attach("coupler", rod(2.5 * size), lb.Revolute("z"), to="crank", at="tip")
    a.attach("rocker", rod(1.8 * size), lb.Revolute("z"), offset=(ground * size, 0, 0))
    return a.close(("coupler", "tip"), ("rocker", "tip"), lb.Spherical(), name="pin").build()


@pytest.mark.parametrize("size", [1e5, 1e-5, 1e-8])
def test_sizes(size):
    s = four_bar(size)
    q = lb.assemble(s, [1.0, -0.5, 1.5], locked=["crank"])
    assert np.abs(lb.constraint_residual(s, q)).max() < 1e-11 * size
    q = lb.project(s, q + np.array([1e-3, 0, 2e-3]))
    assert np.abs(lb.constraint_residual(s, q)).max() < 1e-11 * size


def test_a_small_linkage_that_cannot_be_closed():
    """The gap of 1e-10 m is a tenth of this linkage."""
    with pytest.raises(lb.LimberError, match="cannot be satisfied from this guess"):
        lb.assemble(four_bar(1e-9, ground=5.4), [0.0, 0.1, 3.0], trials=2)


def test_ends_of_a_small_system_that_are_apart_are_not_attached():
    """A gap of 0.9 micrometres is a fifth of these rods."""
    size, apart = 5e-6, 0.9e-6
    inertia = [1e-25, 1e-24, 1e-24]
    rod = lb.RigidBody(1e-12, (size / 2, 0, 0), inertia, {"tip": (size, 0, 0)})
    a = lb.Assembly("micro")
    a.attach("left", rod, lb.Revolute("z"))
    a.attach("right", rod, lb.Revolute("z"), offset=(0, apart, 0))
    grasp = (("left", "tip"), ("right", "tip"), lb.Spherical(), "grasp")
    with pytest.raises(lb.LimberError, match="the ends do not coincide: 'grasp' is off by 9e-07"):
        lb.attach(grasp)(a.build(), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize("size", [1e-6, 1e3])
def test_a_flexible_linkage_of_any_size_has_the_equilibrium_of_the_same_shape(size):
    """Lengths scaled by `size`, EI and the spring by its third power and square, weights by `size`: angles stay."""

    def settled(size):
        def rod(length):
            inertia = np.array([0.01, length**2 / 12, length**2 / 12]) * size**2
            nodes = {"tip": (length * size, 0, 0)}
            return lb.RigidBody(1.0, (length * size / 2, 0, 0), inertia, nodes)

        a = lb.Assembly("bar", gravity=(0, -9.81 * size, 0))
        a.attach("crank", rod(1.0), lb.Revolute("z", stiffness=2.0 * size**2))
        beam = lb.beam(2.5 * size, 1.0, EI=50.0 * size**3, modes=2)
        a.attach("coupler", beam, lb.Revolute("z"), to="crank", at="tip")
        a.attach("rocker", rod(1.8), lb.Revolute("z"), offset=(2.2 * size, 0, 0))
        s = a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), name="pin").build()
        guess = s.neutral()
        for name, angle in (("crank", 1.0), ("coupler", -0.5), ("rocker", 1.5)):
            guess[s.layout[name].q_joint] = angle
        q = lb.equilibrium(s, guess)
        return [q[s.layout[name].q_joint][0] for name in ("crank", "coupler", "rocker")]

    np.testing.assert_allclose(settled(size), settled(1.0), atol=1e-8)


@pytest.mark.parametrize("method", ["dop853", "sdirk4"])
@pytest.mark.parametrize("factor", [1e-9, 1e6, 1e9])
def test_a_relation_holds_in_a_run_whatever_its_coefficients(factor, method):
    """Multiplied by any number, a relation says the same."""

    def run(factor):
        a = lb.Assembly("geared", gravity=(0, -9.81, 0))
        rod = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1))
        a.attach("pinion", rod, lb.Revolute("z")).attach("wheel", rod, lb.Revolute("z"))
        s = a.relate({"pinion": factor, "wheel": -2.0 * factor}, name="gear").build()
        return lb.simulate(s, 2.0, q0=[0.6, 0.3], every=0.1, method=method, rtol=1e-8).q

    q = run(factor)
    assert np.abs(q @ [1.0, -2.0]).max() < 1e-14
    np.testing.assert_allclose(q, run(1.0), atol=1e-6)
