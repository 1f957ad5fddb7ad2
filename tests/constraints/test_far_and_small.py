"""Closures far from the origin, as in orbits, and of mechanisms that are small: what counts as met goes with their size."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import limber as lb

TURNED = Rotation.from_quat([0.4, -0.2, 0.4, 0.8]).as_matrix()


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


def flying_bar(coupler, inboard=None):
    """A four-bar linkage on a free base, in a plane that is not one of the base's, and a configuration that closes it."""

    def rod(length):
        return lb.RigidBody(
            1.0, (length / 2, 0, 0), [1e-3, 0.1, 0.1], {"root": (0, 0, 0), "tip": (length, 0, 0)}
        )

    ground = np.array([0.3, 0.2, 0.5])
    a = lb.Assembly("flying")
    a.attach("base", lb.RigidBody(5.0, (0.1, 0.2, 0.3), (1, 2, 2.5)), lb.Free())
    a.attach("crank", rod(1.0), lb.Revolute("z"), "base", offset=ground, rotation=TURNED)
    coupler = coupler or rod(2.5)
    a.attach("coupler", coupler, lb.Revolute("z"), "crank", "tip", inboard=inboard)
    ground = ground + TURNED @ [2.2, 0, 0]
    a.attach("rocker", rod(1.8), lb.Revolute("z"), "base", offset=ground, rotation=TURNED)
    s = a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), name="pin").build()
    q = s.neutral()
    for name, angle in {"crank": 1.0, "coupler": -0.5, "rocker": 1.5}.items():
        q[s.layout[name].q_joint] = angle
    return s, lb.assemble(s, q, locked=["base", "crank"])


def bent():
    """A coupler whose shapes bend it in the plane of the linkage and stretch it, and move all of its nodes."""
    x = np.array([0.0, 1.25, 2.5])
    translation = np.zeros((3, 3, 2))
    translation[:, 1, 0], translation[:, 0, 1] = [0.3, -0.2, 0.3], [-0.1, 0.0, 0.1]
    rotation = np.zeros((3, 3, 2))
    rotation[:, 2, 0] = [-0.4, 0.0, 0.4]
    return lb.FlexibleBody.from_nodes(
        mass=[0.3, 0.4, 0.3],
        position=np.stack([x, 0 * x, 0 * x], axis=1),
        translation=translation,
        rotation=rotation,
        stiffness=np.diag([50.0, 200.0]),
        inertia=np.full((3, 3), 0.02),
        names=["root", "middle", "tip"],
    )


@pytest.mark.filterwarnings("ignore:the closures of:limber.errors.ModelWarning")
@pytest.mark.filterwarnings("ignore:more joints of 'flying' are driven:limber.errors.ModelWarning")
@pytest.mark.parametrize("radius", [1e5, 4e8])
@pytest.mark.parametrize("flexible", [False, True])
def test_a_mechanism_far_from_the_origin_moves_as_it_does_there(flexible, radius):
    """Its redundant rows are known to the digits of places; they are neither freedoms nor do they hide other rows."""
    s, near = flying_bar(bent(), "root") if flexible else flying_bar(None)
    rng = np.random.default_rng(1)
    v, tau = lb.project(s, near, rng.normal(size=s.nv))[1], rng.normal(size=s.nv)
    far = near.copy()
    far[4:7] += radius * np.array([0.6, 0.64, 0.48])
    assert lb.freedoms(s, far).number == lb.freedoms(s, near).number
    vdot = lb.forward_dynamics(s, near, v, tau)
    motion = {name: vdot[s.layout[name].v_joint] for name in ("crank", "coupler", "rocker")}
    functions = [
        lambda q: lb.forward_dynamics(s, q, v, tau),
        lambda q: lb.hybrid_dynamics(s, q, v, tau, motion=motion)[0],
        lambda q: lb.constrained_inverse(s, q),
        lambda q: lb.impulse(s, q, tau).v,
        lambda q: lb.linearize(s, q, v, tau).A,
    ]
    for function in functions:
        expected = function(near)
        error = np.abs(function(far) - expected).max()
        assert error < 1e-14 * radius * np.abs(expected).max()


@pytest.mark.filterwarnings("ignore:the closures of:limber.errors.ModelWarning")
def test_a_closure_inside_a_large_rigid_body_does_nothing():
    """Places within a body of kilometres have digits of 1e-13 m."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        places = 1e3 * rng.normal(size=(5, 3))
        heavy = {"mass": 1.0, "inertia": (1e6, 1e6, 1e6)}
        a = lb.Assembly("large", gravity=(0, 0, -9.81))
        a.attach("a", lb.RigidBody(com=places[0], **heavy), lb.Spherical())
        b = lb.RigidBody(com=places[1], nodes={"end": places[2]}, **heavy)
        a.attach("b", b, lb.Revolute("z"), "a", offset=places[3])
        a.attach("c", lb.RigidBody(**heavy), lb.Fixed(), "b", offset=places[4], rotation=TURNED)
        s = a.build()
        q, v = lb.integrate(s, s.neutral(), rng.normal(size=s.nv), 1.0), np.zeros(s.nv)
        inside = ("c", None), ("b", "end"), lb.Cylindrical(rng.normal(size=3)), "inside"
        s = lb.attach(inside, in_place=True)(s, q, v).system
        assert lb.freedoms(s, q).number == s.nv
        assert not lb.constraint_forces(s, q, v, np.ones(s.nv))["inside"].any()
