"""Expressions simplify by the identities, to less work and the same result."""

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.random_systems import random_assembly, random_state
from limber.algebra.identities import identities
from limber.algebra.operator import Identity
from limber.algebra.plan import sweeps

TOLERANCE = 1e-10
_small = lb.models.canadarm(modes=0).build()
EQUATIONS = list(identities(lb.operators(_small, _small.neutral())))


@pytest.fixture(scope="module")
def o():
    rng = np.random.default_rng(7)
    s = random_assembly(rng, bodies=8, flexible=0.6, rotary=True).build()
    q, v, _ = random_state(rng, s)
    return lb.operators(s, q, v)


@pytest.fixture(scope="module")
def geared():
    rng = np.random.default_rng(8)
    s = random_assembly(rng, bodies=8, flexible=0.6, rotary=True, physics=True).build()
    q, v, _ = random_state(rng, s)
    return lb.operators(s, q, v)


def letters(o):
    I = Identity(o.speeds)
    ends = [(list(o.system.bodies)[-1], 1)]
    return {
        **{
            n: getattr(o, n)
            for n in [
                "H",
                "phi",
                "M",
                "psi",
                "K",
                "D",
                "P",
                "G",
                "L",
                "S",
                "Phi",
                "Psi",
                "R",
                "E_phi",
                "E_psi",
                "mass",
            ]
        },
        "I": I,
        "Ib": o.I,
        "W": I - o.H @ o.psi @ o.K,
        "V": I + o.H @ o.phi @ o.K,
        "J": o.J(ends),
        "B": o.B(ends),
        "Di": o.D.inv(),
    }


CASES = {
    # expression: what it becomes
    "W @ H @ phi": "H psi",
    "V @ H @ psi": "H phi",
    "(I - H @ Psi @ L) @ H @ phi": "H psi",
    "phi.T @ H.T @ W.T": "psi^T H^T",
    "(H @ phi @ M @ phi.T @ H.T).inv()": "(I - H psi K)^T D^-1 (I - H psi K)",
    "mass.inv()": "(I - H psi K)^T D^-1 (I - H psi K)",
    "(V @ D @ V.T).inv()": "(I - H psi K)^T D^-1 (I - H psi K)",
    "J @ (H @ phi @ M @ phi.T @ H.T).inv() @ J.T": "B^T Omega B",
    "J @ mass.inv() @ J.T": "B^T Omega B",
    "V.inv()": "I - H psi K",
    "W.inv()": "I + H phi K",
    "W.T.inv()": "(I + H phi K)^T",
    "(Ib - E_phi).inv()": "phi",
    "V @ W": "I",
    "phi - psi @ K @ H @ phi": "psi",
    "psi + phi @ K @ H @ psi": "phi",
    "H @ phi @ M - H @ psi @ K @ H @ phi @ M": "H psi M",
    "phi.T - phi.T @ H.T @ K.T @ psi.T": "psi^T",
    "Ib - G @ H": "tau_bar",
    "P @ H.T @ Di @ H": "tau",
    "H @ P @ H.T": "D",
    "phi @ S @ L": "phi K",
    "psi.T @ H.T @ Di @ H @ psi": "Omega",
    "2 * phi - phi + psi - phi": "psi",
    "M @ phi.T": "M phi^T",
    "P + (psi - Ib) @ P + P @ (phi - Ib).T": "psi M phi^T",
    "P + (psi - Ib) @ P + P @ (psi - Ib).T": "psi M psi^T",
    "R + (phi - Ib) @ R + R @ (phi - Ib).T": "phi M phi^T",
    "P + (phi - Ib) @ P + P @ (phi - Ib).T + (phi - Ib) @ P @ H.T @ Di @ H @ P @ (phi - Ib).T": "phi M phi^T",
    "H @ (psi @ P + P @ phi.T - P)": "H psi M phi^T",
    "phi - phi": "0",
    "M - P + E_psi @ P @ E_psi.T": "0",
}


@pytest.mark.parametrize("text", CASES)
def test_expression_simplifies(o, text):
    expression = eval(text, letters(o))
    simple = expression.simplify()
    assert str(simple) == CASES[text]
    rng = np.random.default_rng(0)
    x = rng.standard_normal((expression.domain.size, 2))
    assert_close(simple @ x, expression @ x, TOLERANCE)
    assert simple.simplify() is simple or str(simple.simplify()) == str(simple)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_identity_simplifies_to_zero(o, equation):
    """Left minus right is zero by the rules alone, for any system."""
    left, right = identities(o)[equation]
    assert str((left - right).simplify()) == "0"


@pytest.mark.parametrize("equation", EQUATIONS)
def test_identity_simplifies_to_zero_with_armature(geared, equation):
    left, right = identities(geared)[equation]
    assert str((left - right).simplify()) == "0"


#: Where they hold without armature only.
UNGEARED = {
    "(H @ phi @ M @ phi.T @ H.T).inv()",
    "J @ (H @ phi @ M @ phi.T @ H.T).inv() @ J.T",
    "H @ P @ H.T",
    "P + (psi - Ib) @ P + P @ (psi - Ib).T",
    "M - P + E_psi @ P @ E_psi.T",
}


@pytest.mark.parametrize("text", CASES)
def test_expression_simplifies_with_armature(geared, text):
    expression = eval(text, letters(geared))
    simple = expression.simplify()
    assert (str(simple) == CASES[text]) == (text not in UNGEARED)
    if ".inv()" in text and text in UNGEARED:
        return  # there is no closed form to compare with
    x = np.random.default_rng(0).standard_normal((expression.domain.size, 2))
    assert_close(simple @ x, expression @ x, TOLERANCE)


def test_what_is_not_zero_is_not_simplified_to_zero(o):
    for expression in (
        o.phi - o.psi,
        o.mass - o.D,
        o.P - o.M,
        o.H @ o.phi @ o.P - o.H @ o.psi @ o.P,
    ):
        assert str(expression.simplify()) != "0"


def test_simplified_inverse_of_the_mass_operator_inverts_it(o):
    M = lb.mass_matrix(o.system, o.q)
    inverse = (o.H @ o.phi @ o.M @ o.phi.T @ o.H.T).inv()
    assert_close((inverse @ M), np.eye(len(M)), 1e-9)


def test_plan_counts_sweeps_before_and_after(o):
    J = letters(o)["J"]
    plan = (J @ (o.H @ o.phi @ o.M @ o.phi.T @ o.H.T).inv() @ J.T).plan()
    assert sweeps(plan.after) == 2 < sweeps(plan.before)
    directions = [s.direction for s in plan.after if s.direction != "in place"]
    assert directions == ["tip to base", "base to tip"]
    cost = [sum(s.multiplications for s in steps) for steps in (plan.before, plan.after)]
    assert cost[1] < cost[0]
    text = str(plan)
    assert "as written: J (H phi M phi^T H^T)^-1 J^T" in text
    assert "simplified: B^T Omega B" in text
    assert "2 sweeps" in text


def test_plan_counts_the_numbers_of_the_blocks():
    """A chain of n rigid bodies on revolute joints: phi takes 36 - zeros multiplications a body."""
    a = lb.Assembly("chain")
    rng = np.random.default_rng(0)
    to = "world"
    for i in range(5):
        body = lb.RigidBody(1.0, rng.uniform(size=3), np.eye(3))
        turn, _ = np.linalg.qr(rng.standard_normal((3, 3)))
        turn *= np.linalg.det(turn)
        a.attach(str(i), body, lb.Revolute([0, 0, 1]), to, None, rng.uniform(size=3), turn)
        to = str(i)
    o = lb.operators(s := a.build(), s.neutral() + 0.3)
    (step,) = o.phi.plan().after
    assert step.multiplications == 4 * 27  # the lower left 3 x 3 of phi is zero
    assert step.direction == "tip to base"
    (step,) = o.phi.T.plan().after
    assert step.direction == "base to tip"


def test_inverse_without_closed_form_says_so(o):
    with pytest.raises(lb.LimberError, match="no closed form"):
        (o.phi + o.psi).inv() @ np.ones(o.bodies.size)
    with pytest.raises(lb.LimberError, match="it has no inverse"):
        o.H.inv()


def test_expressions_print_and_render(o):
    inverse = (o.H @ o.phi @ o.M @ o.phi.T @ o.H.T).inv()
    assert str(inverse) == "(H phi M phi^T H^T)^-1"
    assert inverse.simplify()._repr_latex_() == (
        r"$\left(I - H\,\psi\,K\right)^T\,D^{-1}\,\left(I - H\,\psi\,K\right)$"
    )


# --- estimation and factorization -----------------------------------------------------------------


def test_filter_and_smoother_solve_with_the_mass_matrix(o):
    T = np.random.default_rng(1).standard_normal(o.speeds.size)
    filtered = o.filter(T)
    assert_close(filtered.innovations, o.whitening @ T, TOLERANCE)
    assert_close(
        filtered.innovations_covariance @ filtered.residuals, filtered.innovations, TOLERANCE
    )
    estimate = o.smooth(filtered.residuals).estimate
    assert_close(lb.mass_matrix(o.system, o.q) @ estimate, T, TOLERANCE)


def test_determinant_root_and_decoupled_velocities(o):
    M = lb.mass_matrix(o.system, o.q)
    assert o.log_det() == pytest.approx(np.linalg.slogdet(M)[1], rel=1e-12)
    root = o.sqrt.dense()
    assert_close(root @ root.T, M, TOLERANCE)
    nu = o.decoupled_velocities()
    assert nu @ nu / 2 == pytest.approx(lb.kinetic_energy(o.system, o.q, o.v), rel=1e-12)
