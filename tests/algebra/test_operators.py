"""Operators against the compiled kernels and against dense matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limber as lb
from helpers.compare import assert_close, some_externals
from helpers.random_systems import random_assembly, random_state
from limber.algebra.algorithms import ALGORITHMS, fd2_with_accelerations
from limber.algebra.operator import Identity

TOLERANCE = 1e-9
seeds = st.integers(0, 2**32 - 1)
fidelities = st.sampled_from(["full", "ruthless"])


def case(seed, fidelity="full", bodies=6, **options):
    rng = np.random.default_rng(seed)
    options = {
        "flexible": 0.6,
        "rotary": bool(rng.integers(2)),
        "second": bool(rng.integers(2)),
    } | options
    s = random_assembly(rng, bodies=bodies, **options).build(fidelity=fidelity)
    return rng, s, *random_state(rng, s)


@given(seed=seeds, fidelity=fidelities)
def test_operators_give_what_the_kernels_give(seed, fidelity):
    _, s, q, v, vdot = case(seed, fidelity)
    o = lb.operators(s, q, v, vdot)
    M = lb.mass_matrix(s, q)
    assert_close(o.mass.dense(), M, TOLERANCE, "mass")
    assert_close(o.mass.inv().dense() @ M, np.eye(s.nv), TOLERANCE, "inverse")
    assert_close(o.H @ o.f, lb.inverse_dynamics(s, q, v, vdot), TOLERANCE, "forces")
    assert_close(o.phi.T @ (o.H.T @ v), o.V, TOLERANCE, "velocities")
    energy = 0.5 * o.V @ (o.M @ o.V)
    assert_close(energy, lb.kinetic_energy(s, q, v), TOLERANCE, "energy")


@given(seed=seeds)
def test_jacobian_operator_is_the_jacobian(seed):
    rng, s, q, v, _ = case(seed)
    o = lb.operators(s, q, v)
    ends = list(some_externals(rng, s, 3))
    expected = np.vstack([lb.jacobian(s, q, *end) for end in ends])
    assert_close(o.J(ends).dense(), expected, TOLERANCE)
    assert_close(o.J(ends) @ v, expected @ v, TOLERANCE)


@given(seed=seeds, fidelity=fidelities)
def test_admittance_at_the_ends(seed, fidelity):
    """J M^{-1} J^T = B^T Omega B (framework paper, Eq. (3.10))."""
    rng, s, q, v, _ = case(seed, fidelity)
    o = lb.operators(s, q, v)
    J = o.J(list(some_externals(rng, s)))
    ends = [tuple(label.rsplit("/", 1)) for label in J.codomain.labels]
    ends = [
        (b, None if n == "None" else n if n in s.bodies[b].node_set.names else int(n))
        for b, n in ends
    ]
    assert_close(o.Lambda(ends).dense(), (J @ o.mass.inv() @ J.T).dense(), TOLERANCE)


@pytest.mark.parametrize("method", ALGORITHMS)
@given(seed=seeds, fidelity=fidelities)
def test_algorithm_of_the_sources_equals_the_kernels(method, seed, fidelity):
    rng, s, q, v, tau = case(seed, fidelity)
    external = some_externals(rng, s)
    condition = np.linalg.cond(lb.mass_matrix(s, q)) if s.nv else 1.0
    tolerance = max(TOLERANCE, 1e-15 * condition)
    for options in ({}, {"external": external}):
        expected = lb.forward_dynamics(s, q, v, tau, **options)
        got = lb.forward_dynamics(s, q, v, tau, method=method, **options)
        assert_close(got, expected, tolerance, method)


def test_algorithms_take_batches():
    _, s, q, v, tau = case(3)
    wide = np.tile(tau, (2, 3, 1)) * np.arange(6).reshape(2, 3, 1)
    got = lb.forward_dynamics(s, q, v, wide, method="fd3")
    assert_close(got, lb.forward_dynamics(s, q, v, wide), TOLERANCE)


def test_fd2_gives_the_accelerations_of_the_bodies():
    """alpha is the rate of the velocity of every body frame: J v differenced along the motion."""
    _, s, q, v, tau = case(4, gravity=False, inboard=False)
    vdot, alpha = fd2_with_accelerations(o := lb.operators(s, q, v), tau, o.b)
    assert_close(alpha, lb.operators(s, q, v, vdot).alpha, TOLERANCE)
    h = 1e-5
    for body in s.bodies:
        ends = [(body, None)]
        at = {}
        for k in (-1, 1):
            x = lb.integrate(s, q, v + k * h / 2 * vdot, k * h)
            at[k] = lb.jacobian(s, x, body) @ (v + k * h * vdot)
        assert_close(o.B(ends).T @ alpha, (at[1] - at[-1]) / (2 * h), 1e-6, body)


# --- the language ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def o():
    _, s, q, v, _ = case(11, bodies=5)
    return lb.operators(s, q, v)


def test_application_equals_the_dense_product(o):
    rng = np.random.default_rng(0)
    for name in [
        "E_phi",
        "phi",
        "H",
        "M",
        "A",
        "R",
        "P",
        "D",
        "G",
        "K",
        "L",
        "tau",
        "tau_bar",
        "E_psi",
        "psi",
        "Phi",
        "Psi",
        "S",
        "Delta_phi",
        "Delta_psi",
        "Upsilon",
        "Omega",
        "mass",
    ]:
        op = getattr(o, name)
        dense = op.dense()
        assert dense.shape == op.shape
        x, y = rng.standard_normal((dense.shape[1], 4)), rng.standard_normal(dense.shape[0])
        assert_close(op @ x, dense @ x, TOLERANCE, name)
        assert_close(op @ x[:, 0], dense @ x[:, 0], TOLERANCE, name)
        assert_close(op.T @ y, dense.T @ y, TOLERANCE, name)
        assert_close(op.T.dense(), dense.T, TOLERANCE, name)


def test_structure_is_that_of_the_dense_matrix(o):
    """Causal: a body receives from its descendants only; anticausal the reverse."""
    for op in (o.phi, o.psi, o.H, o.K, o.E_phi, o.phi.T @ o.H.T, o.mass, o.M):
        for i, a in enumerate(op.codomain.labels):
            for j, b in enumerate(op.domain.labels):
                block = op.block(a, b)
                assert np.array_equal(block, op.block(i, j))
                if op.structure == "memoryless" and i != j:
                    assert not block.any()
                if (op.structure == "causal" and i > j) or (op.structure == "anticausal" and i < j):
                    assert not block.any()
    assert (o.mass.structure, o.K.structure, o.M.structure) == ("full", "causal", "memoryless")


def test_nilpotent_powers(o):
    assert not (o.E_phi ** len(o.parent)).dense().any()
    assert_close((o.E_phi**0).dense(), np.eye(o.bodies.size), 0)
    series = sum((o.E_phi**i).dense() for i in range(len(o.parent)))
    assert_close(o.phi.dense(), series, TOLERANCE)


def test_expressions_print_as_they_are_written(o):
    I = Identity(o.speeds)
    assert str(o.H @ o.phi @ o.M @ o.phi.T @ o.H.T) == "H phi M phi^T H^T"
    assert str((I - o.H @ o.psi @ o.K).T @ o.D.inv()) == "(I - H psi K)^T D^-1"
    assert str(2 * o.phi - o.psi) == "2 phi - psi"
    assert (o.E_phi @ o.tau_bar)._repr_latex_() == r"$\mathcal{E}_{\phi}\,\bar{\tau}$"
    assert "causal, bodies from bodies" in repr(o.phi)


def test_sums_differences_and_numbers(o):
    a, b = o.phi.dense(), o.psi.dense()
    assert_close((3.0 * o.phi - o.psi + o.I).dense(), 3 * a - b + np.eye(len(a)), TOLERANCE)
    assert_close((-(o.phi - o.psi)).T.dense(), (b - a).T, TOLERANCE)


def test_inverses(o):
    for op in (o.phi, o.psi, o.D, o.mass, o.M, o.phi.T, 2.0 * o.D, o.phi @ o.M @ o.phi.T):
        assert_close((op.inv() @ op).dense(), np.eye(op.shape[0]), TOLERANCE, str(op))


def test_users_define_their_own_diagonals(o):
    """Articulated momentum and gravity compensation, from a per-body function and the rest."""
    s = o.system
    weight = o.diagonal("m", lambda body: s.bodies[body].mass * np.eye(6), o.hinges, o.hinges)
    assert weight.structure == "memoryless"
    assert weight.block(0, 0)[0, 0] == pytest.approx(next(iter(s.bodies.values())).mass)
    at_rest = lb.operators(s, o.q)
    holding = at_rest.H @ (at_rest.phi @ (at_rest.M @ (at_rest.phi.T @ at_rest.a) + at_rest.b))
    assert_close(holding, lb.bias(s, o.q, np.zeros(s.nv)), TOLERANCE)
    with pytest.raises(lb.LimberError, match=r"m: the block of .* must be real numbers"):
        o.diagonal("m", lambda body: "heavy", o.hinges, o.hinges)
    with pytest.raises(lb.LimberError, match=r"m: the block of .* must have shape \(6, 6\)"):
        o.diagonal("m", lambda body: np.eye(5), o.hinges, o.hinges)


def test_operators_that_do_not_fit_are_refused(o):
    _, other_system, q, v, _ = case(12, bodies=5)
    other = lb.operators(other_system, q, v)
    with pytest.raises(
        lb.LimberError, match="H and phi cannot be multiplied: they belong to different"
    ):
        o.H @ other.phi
    with pytest.raises(
        lb.LimberError, match=r"phi and H cannot be multiplied: phi takes the bodies space"
    ):
        o.phi @ o.H
    with pytest.raises(lb.LimberError, match=r"phi .* and H .* cannot be added"):
        o.phi + o.H
    with pytest.raises(lb.LimberError, match="phi takes vectors of the bodies space"):
        o.phi @ np.ones(3)
    with pytest.raises(lb.LimberError, match="block 'nose' is not in the bodies space"):
        o.phi.block("nose", 0)
    with pytest.raises(lb.LimberError, match="ends must be a list"):
        o.B(["tip"])
    with pytest.raises(lb.LimberError, match="what phi is applied to must be real numbers"):
        o.phi @ "x"
    with pytest.raises(lb.LimberError, match="the factor of an operator must be real numbers"):
        "a" * o.phi
    with pytest.raises(lb.LimberError, match="T must have shape"):
        o.filter(np.ones(3))
    with pytest.raises(lb.LimberError, match="batch"):
        lb.operators(other_system, np.tile(q, (2, 1)))


def test_operators_are_immutable(o):
    with pytest.raises(lb.LimberError, match="immutable"):
        o.phi = None
    with pytest.raises(ValueError, match="read-only"):
        o.M.of(0)[0, 0] = 1.0


@given(seed=seeds)
def test_denoc_factors_the_mass_matrix(seed):
    """Mohan & Saha, Eqs. (28), (34): M = N_d^T N_l^T M N_l N_d = U D U^T."""
    _, s, q, _, _ = case(seed)
    d = lb.denoc(s, q)
    M = lb.mass_matrix(s, q)
    assert_close((d.U @ d.D @ d.U.T).dense(), M, TOLERANCE)
    o = lb.operators(s, q)
    N = (d.N_l @ d.N_d).dense()
    assert_close(N.T @ o.M.dense() @ N, M, TOLERANCE)
    U = d.U.dense()
    assert_close(np.diag(U), np.ones(s.nv), TOLERANCE)
    starts = o.speeds.starts
    for i, j in zip(starts[1:], starts[:-1]):  # upper block triangular
        assert not U[i:, j:i].any()
    assert_close(d.articulated[-1], o.M.of(len(d.articulated) - 1), TOLERANCE)
