"""Rows of closures that move nothing, but for rounding: the motion is that of the system without them."""

import numpy as np
import pytest

import limber as lb

TOLERANCE = 1e-11

pytestmark = pytest.mark.filterwarnings("ignore:the closures of:limber.errors.ModelWarning")

JOINTS = {
    "planar": lambda n: lb.Planar(n),
    "cylindrical": lambda n: lb.Cylindrical(n),
    "universal": lambda n: lb.Universal(n, np.cross(n, [1.0, 0.0, 0.0])),
    "screw": lambda n: lb.Screw(n, 0.3),
    "revolute": lambda n: lb.Revolute(n),
}


def random_rotation(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.linalg.det(Q)


def rigid(rng):
    return lb.RigidBody(
        rng.uniform(1, 3), 0.2 * rng.normal(size=3), np.diag(rng.uniform(0.5, 1, 3))
    )


@pytest.mark.parametrize("at_origin", [False, True])
@pytest.mark.parametrize("closures", [1, 4])
def test_ball_joints_at_the_centre_of_a_ball_joint_do_nothing(closures, at_origin):
    """Their levers are zero but for rounding, be they one or many, and wherever in the world they are."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        a = lb.Assembly("pair", gravity=(0, 0, -9.81))
        a.attach("a", rigid(rng), lb.Free())
        place = {"offset": rng.normal(size=3), "rotation": random_rotation(rng)}
        a.attach("b", rigid(rng), lb.Spherical(), to="a", **place)
        a.attach(
            "c", rigid(rng), lb.Revolute(rng.normal(size=3)), to="b", offset=rng.normal(size=3)
        )
        s = c = a.build()
        q = lb.integrate(s, s.neutral(), rng.normal(size=s.nv), 1.0)
        if at_origin:
            q[4:7] = -lb.pose(s, q, "a")[0] @ place["offset"]
        state = q, rng.normal(size=s.nv), rng.normal(size=s.nv)
        for i in range(closures):
            grip = (("b", None), ("a", None), lb.Spherical(), f"ball{i}")
            c = lb.attach(grip, in_place=True)(c, *state[:2]).system
        expected = lb.forward_dynamics(s, *state)
        error = np.abs(lb.forward_dynamics(c, *state) - expected).max()
        assert error < TOLERANCE * np.abs(expected).max(), seed


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", JOINTS)
def test_a_joint_that_is_welded_moves_as_one_body(kind, seed):
    """Of the six rows across a joint, those that it does not move are rounding, in any order."""
    rng = np.random.default_rng(seed)
    axis = np.eye(3)[
        rng.integers(3)
    ]  # along an axis, rows are next to nothing instead of sums that cancel
    a = lb.Assembly("pair", gravity=(0, 0, -9.81))
    a.attach("a", rigid(rng), lb.Free())
    place = {"offset": rng.normal(size=3), "rotation": random_rotation(rng)}
    a.attach("b", rigid(rng), JOINTS[kind](axis), to="a", **place)
    s = a.build()
    q = lb.integrate(s, s.neutral(), rng.normal(size=s.nv), 0.5)
    weld = lb.attach((("b", None), ("a", None), lb.Fixed(), "weld"), in_place=True)
    v, tau = np.zeros(s.nv), rng.normal(size=s.nv)
    c = weld(s, q, v).system
    joint = s.layout["b"].v_joint
    free = np.delete(np.arange(s.nv), np.arange(joint.start, joint.stop))
    M, rest = lb.mass_matrix(s, q), lb.bias(s, q, v)
    expected = np.zeros(s.nv)
    expected[free] = np.linalg.solve(M[np.ix_(free, free)], (tau - rest)[free])
    found = lb.forward_dynamics(c, q, v, tau)
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()
    assert lb.freedoms(c, q).rank == s.joints["b"].dofs


@pytest.mark.parametrize("joint", [lb.Fixed(), lb.Planar([1, 0, 0]), lb.Spherical()])
def test_a_closure_at_a_clamped_node_does_nothing(joint):
    """The shapes of the node are rounding, as those of a clamp that was found by subtraction."""
    rng = np.random.default_rng(1)
    n, m = 5, 3
    move, turn = rng.normal(size=(n, 3, m)), rng.normal(size=(n, 3, m))
    move[0], turn[0] = 1e-17 * rng.normal(size=(3, m)), 1e-17 * rng.normal(size=(3, m))
    body = lb.FlexibleBody.from_nodes(
        rng.uniform(1, 2, n), rng.normal(size=(n, 3)), move, turn, np.diag([30.0, 50.0, 90.0])
    )
    a = lb.Assembly("clamped", gravity=(0, 0, -9.81))
    a.attach("base", body, lb.Fixed())
    a.attach("arm", rigid(rng), lb.Revolute([0, 1, 0]), to="base", at=3)
    open_tree = a.build()
    place = lb.pose(open_tree, open_tree.neutral(), "base", 0)[1]
    a.close(("base", 0), ("world", tuple(place)), joint)
    closed = a.build()
    q, v, tau = (0.1 * rng.normal(size=closed.nv) for _ in range(3))
    expected = lb.forward_dynamics(open_tree, q, v, tau)
    found = lb.forward_dynamics(closed, q, v, tau)
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()
    assert lb.freedoms(closed, q).rank == 0


def welded_pair(seed, closed):
    """Two bodies that are fixed to the tip of a beam, and to each other if `closed`; a state."""
    rng = np.random.default_rng(seed)
    a = lb.Assembly("pair on a beam", gravity=(1.0, -2.0, -9.0))
    beam = lb.beam(1.0, 1.0, EI=(80.0, 50.0), modes=2, polar_inertia=0.02)
    a.attach("beam", beam, lb.Revolute("z"))
    for name in ("one", "two"):
        place = {"offset": rng.normal(size=3), "rotation": random_rotation(rng)}
        a.attach(name, rigid(rng), lb.Fixed(), "beam", "tip", **place)
    s = a.build()
    q, v, tau = (0.1 * rng.normal(size=s.nv) for _ in range(3))
    weld = lb.attach((("one", None), ("two", None), lb.Fixed(), "weld"), in_place=True)
    return weld(s, q, v).system if closed else s, q, v, tau


@pytest.mark.parametrize("seed", range(4))
def test_a_closure_between_bodies_that_only_modes_carry_does_nothing(seed):
    """What the modes of the beam do to both ends cancels: the rows are rounding, beside nothing else that moves them."""
    (tree, *state), (closed, *_) = welded_pair(seed, False), welded_pair(seed, True)
    expected = lb.forward_dynamics(tree, *state)
    found = lb.forward_dynamics(closed, *state)
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()
