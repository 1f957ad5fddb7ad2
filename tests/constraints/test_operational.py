"""Operational space: inertias, biases, inverses and Jacobians of ends equal those of dense matrices."""

import numpy as np
import pytest

import limber as lb
from constraints.known import KNOWN
from constraints.random_closed import random_closed, random_node, random_tree
from constraints.reference import of_joints, solve, undeformed
from helpers.compare import assert_close, some_externals
from helpers.random_systems import random_state
from limber.constraints.operational import probed
from limber.kernels import layout as L
from limber.kernels import plain

TOLERANCE = 1e-9


def sweep(quick, all_seeds):
    """Seeds, of which those beyond the first `quick` are slow."""
    return [
        seed if seed < quick else pytest.param(seed, marks=pytest.mark.slow)
        for seed in range(all_seeds)
    ]


def some_ends(rng, assembly, count=2):
    return [
        (body, random_node(rng, assembly, body))
        for body in (
            list(assembly.attachments)[i]
            for i in rng.integers(len(assembly.attachments), size=count)
        )
    ]


def stacked(system, q, ends):
    """The Jacobian of the ends in the geometry of the dynamics."""
    where = undeformed(system, q) if system.fidelity == "ruthless" else q
    return np.vstack([lb.jacobian(system, where, *end) for end in ends])


def accelerations(system, q, v, vdot, ends):
    """J vdot + (dJ/dt) v; in a ruthless system (dJ/dt) v for the joints alone."""
    if system.fidelity == "full":
        return np.concatenate([lb.acceleration(system, q, v, vdot, *end) for end in ends])
    rigid, joints, zero = undeformed(system, q), of_joints(system, v), np.zeros(system.nv)
    own = [lb.acceleration(system, rigid, joints, zero, *end) for end in ends]
    return stacked(system, q, ends) @ vdot + np.concatenate(own)


def compare(system, q, v, tau, ends, external, inverse_mass, vdot):
    """All of operational space against a dense (constrained) inverse of the mass matrix."""
    o = lb.operational_inertia(system, q, ends)
    J = stacked(system, q, ends)
    expected = J @ inverse_mass @ J.T
    scale = max(np.abs(J @ J.T).max() * np.abs(inverse_mass).max(), 1e-300)
    assert_close(o.inverse / scale, expected / scale, TOLERANCE, "inverse")
    assert_close(o.jacobian, J, TOLERANCE, "Jacobian")
    assert_close(o.response / scale, inverse_mass @ J.T / scale, TOLERANCE, "response")
    # a Moore-Penrose inverse
    X, L = o.inertia, o.inverse
    assert_close(L @ X @ L / scale, L / scale, 1e-7)
    if np.abs(X).max() > 0.0:
        assert_close(X @ L @ X / np.abs(X).max(), X / np.abs(X).max(), 1e-6)
    assert_close(X @ L, (X @ L).T, 1e-6)
    f = np.linspace(-1.0, 1.0, len(J))
    a = o.acceleration(v, tau, f, external=external)
    free = accelerations(system, q, v, vdot, ends)
    assert_close(a, free + expected @ f, TOLERANCE, "acceleration")
    return o


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("seed", sweep(8, 150))
def test_random_trees_equal_dense_matrices(seed, fidelity):
    rng = np.random.default_rng([seed, len(fidelity)])
    assembly = random_tree(rng, int(rng.integers(2, 8)))
    s = assembly.build(fidelity)
    q, v, tau = random_state(rng, s)
    external = some_externals(rng, s)
    ends = some_ends(rng, assembly, int(rng.integers(1, 4)))
    vdot = lb.forward_dynamics(s, q, v, tau, external=external)
    compare(s, q, v, tau, ends, external, np.linalg.inv(lb.mass_matrix(s, q)), vdot)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("seed", sweep(6, 100))
def test_closed_systems_equal_the_constrained_inverse(seed, fidelity):
    case = random_closed(7000 + seed, fidelity, redundant=seed % 3 == 0)
    s, q = case.system, case.q
    found = solve(s, q, case.v, case.tau, case.external, case.start)
    basis = lb.freedoms(s, q).basis
    rng = np.random.default_rng(seed)
    ends = some_ends(rng, case.assembly)
    args = case.v, case.tau, ends, case.external, basis @ basis.T, found.vdot
    compare(s, q, *args)


@pytest.mark.parametrize("name", ["four-bar", "Bricard", "scissor boom", "arms"])
def test_known_mechanisms_have_as_many_directions_as_freedoms(name):
    assembly, q, _ = KNOWN[name][0]()
    s = assembly.build()
    free = lb.freedoms(s, q).number
    last = list(s.layout)[-1]
    assert lb.operational_inertia(s, q, (last, None)).rank == min(free, 6)


def test_equation_of_motion_at_the_ends():
    """inertia a + bias = consistent_inverse^T tau + force, and what null_space lets through does not move the ends."""
    s = lb.models.canadarm().build()
    rng = np.random.default_rng(1)
    q, v, tau = 0.1 * rng.standard_normal((3, s.nv))
    o = lb.operational_inertia(s, q, ("link3", "tip"), components="linear")
    f = np.array([1.0, -2.0, 3.0])
    a = o.acceleration(v, tau, f)
    assert_close(o.inertia @ a + o.bias(v), o.consistent_inverse.T @ tau + f, 1e-8)
    vdot = lb.forward_dynamics(s, q, v, tau, external={("link3", "tip"): [0, 0, 0, *f]})
    assert_close(a, lb.acceleration(s, q, v, vdot, "link3", "tip")[3:], 1e-8)
    assert_close(o.jacobian @ o.consistent_inverse, np.eye(3), 1e-8)
    N = o.null_space
    assert_close(N @ N, N, 1e-7)
    assert np.abs(o.jacobian @ N).max() < 1e-8
    quiet = lb.forward_dynamics(s, q, v, tau + N.T @ rng.standard_normal(s.nv))
    still = lb.forward_dynamics(s, q, v, tau)
    assert_close(o.jacobian @ quiet, o.jacobian @ still, 1e-6)
    # the least kinetic energy of all speeds with a given velocity of the tip
    M, x = lb.mass_matrix(s, q), np.array([0.3, 0.1, -0.2])
    least = o.consistent_inverse @ x
    other = least + N @ rng.standard_normal(s.nv)
    assert least @ M @ least <= other @ M @ other


def test_batches():
    s = lb.models.canadarm().build()
    rng = np.random.default_rng(2)
    q, v, tau = 0.1 * rng.standard_normal((3, 4, 2, s.nv))
    ends = [("link2", "tip"), ("link3", "tip")]
    o = lb.operational_inertia(s, q, ends, components=[2, 3, 4])
    assert o.inverse.shape == o.inertia.shape == (4, 2, 6, 6)
    assert o.rank.shape == (4, 2)
    assert o.jacobian.shape == (4, 2, 6, s.nv)
    assert o.consistent_inverse.shape == (4, 2, s.nv, 6)
    assert o.null_space.shape == (4, 2, s.nv, s.nv)
    assert o.bias(v).shape == o.acceleration(v, tau, np.ones(6)).shape == (4, 2, 6)
    one = lb.operational_inertia(s, q[3, 1], ends, components=[2, 3, 4])
    assert np.ndim(one.rank) == 0
    for name in ("inverse", "inertia", "rank", "consistent_inverse", "null_space"):
        assert_close(getattr(o, name)[3, 1], getattr(one, name), 1e-12, name)
    assert_close(o.bias(v)[3, 1], one.bias(v[3, 1]), 1e-12)
    assert_close(lb.jacobian(s, q, ends)[3, 1, 6:], lb.jacobian(s, q[3, 1], "link3", "tip"), 1e-15)


@pytest.mark.parametrize("tilt", [0.0, 0.7])
def test_singular_positions_lower_the_rank(tilt):
    """A stretched planar arm cannot move its tip along itself, whatever the axes of its plane."""
    axis = np.array([0.0, np.sin(tilt), np.cos(tilt)])
    a = lb.Assembly("arm")
    rod = lb.RigidBody(1.0, (0.5, 0, 0), [0.1, 0.1, 0.1], {"tip": (1, 0, 0)})
    a.attach("upper", rod, lb.Revolute(axis))
    a.attach("lower", rod, lb.Revolute(axis), "upper", "tip")
    s, tip = a.build(), ("lower", "tip")
    assert lb.operational_inertia(s, [0.3, 0.5], tip).rank == 2
    assert lb.operational_inertia(s, [0.3, 0.5], tip, components="linear").rank == 2
    stretched = lb.operational_inertia(s, [0.3, 0.0], tip, components="linear")
    assert stretched.rank == 1
    x = np.array([1.0, 0.0, 0.0])
    across = np.cos(0.3) * np.cross(axis, x) - np.sin(0.3) * x
    J = stretched.jacobian
    mobility = across @ J @ np.linalg.inv(lb.mass_matrix(s, [0.3, 0.0])) @ J.T @ across
    assert_close(stretched.inertia, np.outer(across, across) / mobility, 1e-9)
    both = lb.operational_inertia(s, [[0.3, 0.5], [0.3, 0.0]], tip, components="linear")
    assert both.rank.tolist() == [2, 1]
    assert "rank=1 to 2" in repr(both)
    assert lb.operational_inertia(s, [0.3, 0.5], ("upper", None), components="linear").rank == 0


def test_a_long_chain():
    a, rod = lb.Assembly("chain"), lb.RigidBody(1.0, (0.5, 0, 0), [0.1, 0.1, 0.1])
    for i in range(200):
        inboard = f"rod{i - 1}" if i else "world"
        a.attach(f"rod{i}", rod, lb.Revolute("yz"[i % 2]), inboard, offset=(1.0 * (i > 0), 0, 0))
    s = a.build()
    q = 0.1 * np.random.default_rng(0).standard_normal(s.nv)
    last = list(s.layout)[-1]
    o = lb.operational_inertia(s, q, (last, None))
    assert o.inverse.shape == (6, 6)
    J = lb.jacobian(s, q, last)
    assert_close(o.inverse, J @ np.linalg.solve(lb.mass_matrix(s, q), J.T), 1e-7)


def test_what_is_wrong_is_said():
    s = lb.models.canadarm().build()
    q = s.neutral()
    for ends, words in (
        ("link3", r"ends must be a list of \(\"body\", node\)"),
        ([], "ends must be"),
        ([("link3", "tip", 1)], "ends must be"),
        (("link9", "tip"), "ends: body='link9' is not in the system"),
        (("link3", "tap"), "tap"),
    ):
        with pytest.raises(lb.LimberError, match=words):
            lb.operational_inertia(s, q, ends)
    for components in ("lin", [0, 6], [1, 1], [], 3):
        with pytest.raises(lb.LimberError, match='components must be "all"'):
            lb.operational_inertia(s, q, ("link3", "tip"), components=components)
    o = lb.operational_inertia(s, q, ("link3", "tip"))
    with pytest.raises(lb.LimberError, match=r"force must have shape \(..., 6\)"):
        o.acceleration(np.zeros(s.nv), np.zeros(s.nv), np.zeros(3))
    with pytest.raises(lb.LimberError, match="node='tip' is given together with a list of ends"):
        lb.jacobian(s, q, [("link3", "tip")], "tip")
    with pytest.raises(lb.LimberError, match=r"q\[0\] is nan"):
        lb.operational_inertia(s, np.full(s.nq, np.nan), ("link3", "tip"))


# free-floating manipulators


def floating(rng, fidelity="full"):
    a = lb.Assembly("floating")
    panel = lb.beam(1.0, 2.0, EI=20.0, modes=1, polar_inertia=0.05)
    a.attach("hub", lb.RigidBody(20.0, (0.1, 0, 0.05), [2, 3, 4], {"port": (0.5, 0, 0)}), lb.Free())
    a.attach("panel", panel, lb.Fixed(), "hub", offset=(0, 0.5, 0))
    a.attach(
        "upper",
        lb.beam(1.5, 3.0, EI=40.0, modes=2, polar_inertia=0.05),
        lb.Universal("y", "z"),
        "hub",
        "port",
    )
    a.attach("lower", lb.RigidBody(2.0, (0.5, 0, 0), [0.1, 0.2, 0.2], {"hand": (1, 0, 0)}), lb.Revolute("y", armature=0.1), "upper", "tip")  # fmt: skip
    s = a.build(fidelity)
    q, v, _ = random_state(rng, s)
    return s, q, v


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_generalized_jacobian_of_motion_without_momentum(fidelity):
    rng = np.random.default_rng(5)
    s, q, v = floating(rng, fidelity)
    base = s.layout["hub"].v_joint
    # momentum is linear in v: choose the speeds of the base that make it zero
    unit = np.eye(s.nv)[base]
    own = lb.momentum(s, q, unit).T
    v[base] = 0.0
    v[base] = -np.linalg.solve(own, lb.momentum(s, q, v))
    assert np.abs(lb.momentum(s, q, v)).max() < 1e-12
    ends = [("lower", "hand"), ("panel", "tip"), ("hub", None)]
    G = lb.generalized_jacobian(s, q, ends)
    assert_close(G @ v, lb.jacobian(s, q, ends) @ v, 1e-11)
    assert not G[:, base].any()
    many = lb.generalized_jacobian(s, np.array([q, q]), ("lower", "hand"))
    assert_close(many[1], G[:6], 1e-12)


def test_generalized_jacobian_along_a_motion():
    """Internal forces keep the momentum at zero, so J_g gives the velocity of the hand all along."""
    rng = np.random.default_rng(6)
    s, q, v = floating(rng)
    run = lb.simulate(
        s, 0.3, q0=q, v0=0.0 * v, torque=np.r_[np.zeros(s.nv - 1), 0.4], rtol=1e-10, atol=1e-12
    )
    q, v = run.q[-1], run.v[-1]
    assert np.abs(v).max() > 0.01
    hand = lb.jacobian(s, q, "lower", "hand") @ v
    assert_close(lb.generalized_jacobian(s, q, ("lower", "hand")) @ v, hand, 1e-7)


def test_bases_that_do_not_float_are_refused():
    with pytest.raises(
        lb.LimberError, match=r"carried by '.*', which a Revolute joint attaches to the world"
    ):
        arm = lb.models.canadarm().build()
        lb.generalized_jacobian(arm, arm.neutral(), ("link3", "tip"))
    a = lb.Assembly("held")
    a.attach("hub", lb.RigidBody(20.0, (0, 0, 0), [2, 3, 4]), lb.Free())
    a.close(("world", (0, 0, 0)), ("hub", None), lb.Spherical(), name="rope")
    with pytest.raises(lb.LimberError, match="the closure 'rope' connects 'hub' to 'world'"):
        held = a.build()
        lb.generalized_jacobian(held, held.neutral(), ("hub", None))


def test_kernels_are_one_source():
    """The kernels as plain Python give what the compiled ones give."""
    case = random_closed(2, closures=1, bodies=3)
    s, q = case.system, case.q
    ends = ((list(s.layout)[-1], None),)
    watched = probed(s, ends)
    packed = watched.dynamics
    k = plain.load().operational
    work = np.full(packed.topo[L.WORK_SIZE], np.nan)  # nothing may be read before it is written
    none, out = np.empty(0, dtype=np.int64), np.full(36 + 6 + 6, np.nan)
    k.motion(packed.topo, packed.const, work, q, case.v, case.tau, 0, none, none, out)
    o = lb.operational_inertia(s, q, ends)
    assert_close(out[:36].reshape(6, 6), o.inverse, 1e-12)
    assert_close(out[42:], o.acceleration(case.v, case.tau), 1e-11)
    work[:], out = np.nan, np.full(6 * s.nv, np.nan)
    k.responses(packed.topo, packed.const, work, q, out)
    assert_close(out.reshape(6, s.nv).T, o.response, 1e-11)
