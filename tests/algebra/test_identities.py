"""Every operator identity of the sources, one test each, on random trees."""

import pickle

import numpy as np
import pytest

import limber as lb
from helpers.random_systems import random_assembly, random_state
from limber.algebra.identities import identities, residual

TOLERANCE = 1e-10


def system(seed, bodies, fidelity, flexible=0.5):
    rng = np.random.default_rng(seed)
    assembly = random_assembly(
        rng, bodies=bodies, flexible=flexible, rotary=bool(seed % 2), gravity=True, second=seed == 4
    )
    s = assembly.build(fidelity=fidelity)
    return s, random_state(rng, s)


CASES = {
    "flexible": (1, 8, "full"),
    "rotary": (2, 20, "full"),
    "ruthless": (3, 12, "ruthless"),
    "60 bodies": (4, 60, "full"),
}
SYSTEMS = {name: system(*case) for name, case in CASES.items()}
SYSTEMS["rigid"] = system(5, 25, "full", flexible=0.0)
OPERATORS = {name: lb.operators(s, *state[:2]) for name, (s, state) in SYSTEMS.items()}
IDENTITIES = {name: identities(ops) for name, ops in OPERATORS.items()}


@pytest.mark.parametrize("equation", IDENTITIES["rigid"])
def test_identity(equation):
    rng = np.random.default_rng(0)
    for name, table in IDENTITIES.items():
        assert residual(*table[equation], rng) < TOLERANCE, name


def test_every_block_of_identities_is_there():
    """A.1 to A.7 of the report, the lemmas of the patent and of the framework paper."""
    names = " ".join(IDENTITIES["rigid"])
    for number in [*range(6, 18), *range(22, 28), *range(32, 44), *range(45, 49), 50]:
        assert f"(a.{number})" in names
    for lemma in ("5.1", "6.1", "6.2", "6.3"):
        assert f"lemma {lemma})" in names
    assert all(f"lemma {i})" in names for i in range(1, 6))


def test_lemma_7_1_gives_the_accelerations():
    """Patent, Eq. (57): vdot in one expression, K_m theta and damping in b."""
    s, (q, v, T) = SYSTEMS["flexible"]
    o = OPERATORS["flexible"]
    W = lb.algebra.operator.Identity(o.speeds) - o.H @ o.psi @ o.K
    eps = T - o.H @ (o.psi @ (o.K @ T + o.P @ o.a + o.b))
    vdot = W.T @ (o.D.inv() @ eps) - o.K.T @ (o.psi.T @ o.a)
    # the a of the sources is that of each hinge alone; H P a of the body itself is in P a above
    expected = lb.forward_dynamics(s, q, v, T)
    assert np.abs(vdot - expected).max() < TOLERANCE * np.abs(expected).max()


def test_wrong_identity_is_seen():
    o = OPERATORS["flexible"]
    rng = np.random.default_rng(0)
    assert residual(o.phi, o.psi, rng) > 1e-3
    assert residual(o.mass, o.D, rng) > 1e-3


def test_verify_identities_reports_residuals():
    s, (q, _, _) = SYSTEMS["rotary"]
    found = lb.verify_identities(s, q)
    assert set(found) == set(IDENTITIES["rigid"])
    assert max(found.values()) < TOLERANCE
    assert all(type(x) is float for x in found.values())
    assert dict(found) == found == pickle.loads(pickle.dumps(found))


@pytest.mark.parametrize("base", [lb.Revolute("z"), lb.Free()])
def test_residuals_of_zero_sides_are_rounding(base):
    """Beyond a free joint that carries nothing, psi - I and Psi Delta_psi are zero: (a.8) compares rounding errors."""
    body = lb.RigidBody(2.0, com=(0.1, 0.2, 0.3), inertia=np.diag([0.3, 0.4, 0.5]))
    a = lb.Assembly("two").attach("base", body, base)
    s = a.attach("loose", body, lb.Free(), "base", offset=(1.0, 0.5, 0.2)).build()
    q = lb.integrate(s, s.neutral(), np.linspace(0.1, 0.9, s.nv), 1.0)
    assert max(lb.verify_identities(s, q).values()) < TOLERANCE


def test_residuals_are_printed_beside_their_formulas():
    s, (q, _, _) = SYSTEMS["rotary"]
    found = lb.verify_identities(s, q)
    assert found.formulas["report (a.6)"] == "Phi = phi S"
    assert found.formulas["patent (66)"] == "M = P - E_psi P E_psi^T"
    lines = str(found).splitlines()
    assert len(lines) == len(found) and repr(found) == str(found)
    for line, (key, x) in zip(lines, found.items()):
        assert line.startswith(key) and line.endswith(found.formulas[key]) and f"{x:.1e}" in line


def test_the_algebra_is_reachable_without_deep_imports():
    s, (q, _, _) = SYSTEMS["rotary"]
    o = lb.operators(s, q)
    assert isinstance(o.speeds, lb.algebra.Space) and isinstance(o.I, lb.algebra.Identity)
    x = np.arange(float(o.speeds.size))
    assert np.array_equal(lb.algebra.Identity(o.speeds) @ x, x)
