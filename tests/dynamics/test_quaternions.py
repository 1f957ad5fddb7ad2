"""Quaternions within the tolerance count as the unit ones they stand for; others are refused, everywhere."""

import numpy as np
import pytest

import limber as lb
from helpers.random_systems import quaternion_slices, random_assembly, random_state
from limber.algebra.algorithms import ALGORITHMS

#: What is left of the difference between two normalized quaternions.
ROUNDING = 1e-12
#: Chains of nine bodies on balls: an error of a quaternion grows with every body.
SEEDS = {"rigid": (1, 0.0), "flexible": (2, 0.5)}


def system(seed, flexible, fidelity="full"):
    rng = np.random.default_rng(seed)
    kinds = ("Spherical", "Free", "Revolute")
    options = {"bodies": 9, "flexible": flexible, "tree": False, "kinds": kinds}
    return random_assembly(rng, **options).build(fidelity=fidelity)


def state(s, error):
    """A state, and the same one with the norm of each quaternion `error` off, up or down."""
    q, v, tau = random_state(np.random.default_rng(7), s)
    off = q.copy()
    for i, at in enumerate(quaternion_slices(s)):
        off[at] *= 1.0 + error * (-1) ** i
    return q, off, v, tau


def last(s):
    return list(s.bodies)[-1]


FUNCTIONS = {
    "inverse_dynamics": lb.inverse_dynamics,
    "bias": lambda s, q, v, x: lb.bias(s, q, v),
    "mass_matrix": lambda s, q, v, x: lb.mass_matrix(s, q),
    "kinetic_energy": lambda s, q, v, x: lb.kinetic_energy(s, q, v),
    "potential_energy": lambda s, q, v, x: lb.potential_energy(s, q),
    "momentum": lambda s, q, v, x: lb.momentum(s, q, v),
    "pose": lambda s, q, v, x: np.vstack(lb.pose(s, q, last(s), 0)),
    "jacobian": lambda s, q, v, x: lb.jacobian(s, q, last(s), 0),
    "qdot": lambda s, q, v, x: lb.qdot(s, q, v),
    "integrate": lambda s, q, v, x: lb.integrate(s, q, v, 0.1),
    "operators": lambda s, q, v, x: lb.operators(s, q, v).mass.dense(),
}
FUNCTIONS |= {
    method: lambda s, q, v, x, method=method: lb.forward_dynamics(s, q, v, x, method=method)
    for method in ("articulated", "composite", *ALGORITHMS)
}
#: These take one state at a time.
SINGLE = ("operators", "pose")


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS)
def test_nearly_unit_quaternions_count_as_unit(f, seed, fidelity, request):
    s = system(*seed, fidelity)
    q, off, v, x = state(s, 9e-7)
    exact = f(s, q, v, x)
    bound = ROUNDING * max(np.abs(exact).max(), 1.0)
    bound *= 1e4 if "cg" in request.node.name else 1.0
    before = off.copy()
    for _ in range(2):  # the careful way, and straight into compiled code
        np.testing.assert_allclose(f(s, off, v, x), exact, rtol=0, atol=bound)
    assert np.array_equal(off, before)
    if not any(name in request.node.name for name in SINGLE):
        # the algorithms of the algebra take the states of a batch one by one
        states = 5 if any(name in request.node.name for name in ALGORITHMS) else 200
        mixed = np.tile(q, (states, 1))
        mixed[::3] = off
        np.testing.assert_allclose(f(s, mixed, v, x), [exact] * states, rtol=0, atol=bound)


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_quaternions_out_of_tolerance_are_refused(f):
    s = system(*SEEDS["flexible"])
    _, off, v, x = state(s, 2e-6)
    with pytest.raises(lb.LimberError, match="must be 1 to within 1e-06"):
        f(s, off, v, x)


GENERATED = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "qdot", "integrate")


@pytest.mark.parametrize("function", GENERATED)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_generated_code_agrees_with_the_engine(function, dtype):
    s = random_assembly(
        np.random.default_rng(4), bodies=3, flexible=0.0, kinds=("Spherical", "Free")
    ).build()
    q, off, v, x = (a.astype(dtype) for a in state(s, 9e-7 if dtype == "float64" else 4e-7))
    arguments = {"mass_matrix": (), "qdot": (v,), "integrate": (v, 0.1)}.get(function, (v, x))
    f = lb.compile(s, function, dtype=dtype)
    exact = f(q, *arguments)
    bound = (1e-12 if dtype == "float64" else 1e-4) * np.abs(exact).max()
    np.testing.assert_allclose(f(off, *arguments), exact, rtol=0, atol=bound)
    np.testing.assert_allclose(f(list(off), *arguments), exact, rtol=0, atol=bound)
    mixed = np.stack([q, off, q])
    np.testing.assert_allclose(f(mixed, *arguments), [exact] * 3, rtol=0, atol=bound)
    if dtype == "float64":
        engine = getattr(lb, function)(s, off, *arguments)
        np.testing.assert_allclose(exact, engine, rtol=0, atol=10 * bound)
    far = state(s, 1e-5)[1].astype(dtype)
    with pytest.raises(lb.LimberError, match=r"q\[\d+:\d+\] has norm .*must be 1 to within"):
        f(far, *arguments)
    with pytest.raises(lb.LimberError, match=r"q\[\d+:\d+\] of state \(1,\) has norm"):
        f(np.stack([q, far, q]), *arguments)


def test_values_that_are_not_finite_pass_through_generated_code():
    s = lb.Assembly("ball").attach("b", lb.RigidBody(1, inertia=np.eye(3)), lb.Spherical()).build()
    f = lb.compile(s, "qdot")
    q, v = np.stack([s.neutral(), np.full(4, np.nan)]), np.ones(3)
    assert np.isnan(f(q[1], v)).all()
    both = f(
        q, v
    )  # the C compiler may compile the loop over states and the single call differently
    np.testing.assert_allclose(both[0], f(q[0], v), rtol=0, atol=1e-13)
    assert np.isnan(both[1]).all()


def test_joints_take_nearly_unit_quaternions_as_unit():
    theta = np.array([0.8, 0.0, 0.6, 0.0])
    for joint in (lb.Spherical(), lb.Free()):
        full = np.concatenate([theta, np.zeros(joint.nq - 4)])
        off = full * (1.0 + 9e-7)
        R, _ = joint.configuration(off)
        assert np.abs(R - joint.configuration(full)[0]).max() < 1e-15
        assert np.abs(joint.Gamma(off) - joint.Gamma(full)).max() < 1e-15
        with pytest.raises(lb.LimberError, match="must be 1 to within"):
            joint.configuration(full * (1.0 + 2e-6))


def test_a_quaternion_that_is_unit_to_rounding_is_used_as_it_is():
    """So that a state on the manifold gives the same numbers whatever is checked."""
    s = system(*SEEDS["rigid"])
    q, _, v, _ = state(s, 0.0)
    for at in quaternion_slices(s):
        q[at] /= np.linalg.norm(q[at])
    for _ in range(20):
        q = lb.integrate(s, q, v, 0.01)
        for at in quaternion_slices(s):
            assert abs(q[at] @ q[at] - 1.0) < 2.0**-50
