"""The operators of ends and closures: B, J, Lambda, A, and the inverse that closures leave."""

import numpy as np
import pytest

import limber as lb
from constraints.random_closed import random_closed
from constraints.reference import opened
from helpers.closed import four_bar
from helpers.compare import assert_close
from helpers.random_systems import random_assembly, random_state
from limber.algebra import closed_steps
from limber.algebra.identities import identities

TOLERANCE = 1e-9


@pytest.fixture(scope="module", params=["full", "ruthless"])
def tree(request):
    rng = np.random.default_rng(3)
    s = random_assembly(rng, bodies=8, flexible=0.6, gravity=True).build(request.param)
    q, v, _ = random_state(rng, s)
    names = list(s.layout)
    return lb.operators(s, q, v, ends=[(names[2], None), (names[-1], 0), (names[5], 1)])


@pytest.fixture(scope="module", params=[(2, "full"), (1, "ruthless"), (5, "full")])
def closed(request):
    seed, fidelity = request.param  # the last has a relation and dependent rows
    case = random_closed(seed, fidelity, redundant=seed == 5)
    return case, lb.operators(case.system, case.q, case.v)


def test_admittance_is_the_inverse_operational_inertia(tree):
    e = tree.ends
    expected = lb.operational_inertia(tree.system, tree.q, list(e.ends)).inverse
    assert_close(e.Lambda.dense(), expected, TOLERANCE)
    assert_close(e.Lambda_recursive.dense(), expected, TOLERANCE)
    assert_close(tree.Lambda(list(e.ends)).dense(), expected, TOLERANCE)


def test_operators_of_one_set_of_ends_fit_together(tree):
    e = tree.ends
    admittance = e.J @ tree.mass.inv() @ e.J.T
    assert str(admittance.simplify()) == "B^T Omega B"
    assert str((admittance - e.Lambda).simplify()) == "0"
    assert str((tree.mass.inv() @ e.J.T).simplify()) == "(I - H psi K)^T D^-1 H psi B"
    x = np.linspace(-1.0, 1.0, e.space.size)
    assert_close(e.Lambda @ x, e.Lambda.T @ x, TOLERANCE)
    with pytest.raises(lb.LimberError, match="cannot be multiplied"):
        e.J @ tree.at(list(e.ends)).J.T @ e.Lambda  # ends of another call are another space


def test_inverse_of_the_admittance():
    s = lb.models.canadarm().build()
    q = 0.1 * np.random.default_rng(0).standard_normal(s.nv)
    e = lb.operators(s, q, ends=("link3", "tip")).ends
    inertia = e.Lambda_recursive.inv()
    expected = lb.operational_inertia(s, q, ("link3", "tip")).inertia
    assert_close(inertia.dense(), expected, 1e-7)
    assert str(inertia) == "Lambda^-1"
    assert inertia.latex() == r"\Lambda^{-1}"
    assert "Lambda" in str(inertia.plan())


def test_closure_rows(closed):
    case, o = closed
    assert_close(o.loops.rows.dense(), lb.freedoms(case.system, case.q).jacobian, TOLERANCE)
    assert np.abs(o.loops.rows @ case.v).max() < 1e-9 * max(np.abs(case.v).max(), 1.0)


def test_inverse_that_the_closures_leave(closed):
    """(3.13) with D^{-1/2} in b equals the constrained inverse; differences of accelerations show it."""
    case, o = closed
    s, q, v, tau = case.system, case.q, case.v, case.tau
    basis = lb.freedoms(s, q).basis
    assert_close(o.loops.inverse.dense(), basis @ basis.T, TOLERANCE)
    more = np.linspace(-1.0, 1.0, s.nv)
    change = lb.forward_dynamics(s, q, v, tau + more) - lb.forward_dynamics(s, q, v, tau)
    assert_close(o.loops.inverse @ more, change, 1e-8)


@pytest.mark.filterwarnings("ignore::limber.errors.ModelWarning")
@pytest.mark.parametrize(
    "method", ["composite", "fd1", "fd2", "fd3", "fd4", "coupled", "split", "denoc", "cg"]
)
def test_every_method_gives_the_accelerations_of_the_closed_system(closed, method):
    """Steps (A) to (F) of the framework paper, with any algorithm of the tree as step (A)."""
    case, _ = closed
    s, state = case.system, (case.q, case.v, case.tau)
    expected = lb.forward_dynamics(s, *state, external=case.external)
    found = lb.forward_dynamics(s, *state, external=case.external, method=method)
    assert_close(found, expected, 1e-8)
    both = lb.forward_dynamics(s, *(np.array([x, x]) for x in state), method=method)
    assert both.shape == (2, s.nv)


def test_closure_forces_of_the_steps_are_the_multipliers(closed):
    case, o = closed
    s, q, v, tau = case.system, case.q, case.v, case.tau
    tree = opened(s)
    free = lb.forward_dynamics(tree, q, v, tau)
    f = closed_steps.closure_forces(o, free)
    vdot = closed_steps.closed(o, free)
    force = lb.inverse_dynamics(s, q, v, vdot) - tau
    assert_close(-(o.loops.rows.T @ f), force, 1e-8)
    assert_close(o.loops.rows @ vdot, o.loops.U, 1e-8)


def test_closures_without_relations_simplify():
    s = four_bar().build()
    o = lb.operators(s, s.neutral())
    c = o.loops
    admittance = c.A @ c.J @ o.mass.inv() @ c.J.T @ c.A.T
    assert str(admittance.simplify()) == "A B^T Omega B A^T"
    assert str((c.b.T @ c.b).simplify()) == "A B^T Omega B A^T"
    assert str(c.A @ c.Lambda @ c.A.T) == str(c.admittance) == "A Lambda A^T"
    assert r"\left(A\,\Lambda\,A^T\right)^{-1}" in c.inverse.latex()
    assert r"D^{-1/2}" in c.inverse.latex()


def test_identities_of_closed_systems(closed):
    case, o = closed
    found = lb.verify_identities(case.system, case.q)
    assert max(found.values()) < 1e-9
    for number in ("2.16", "2.17", "3.13"):
        left, right = identities(o)[f"framework ({number})"]
        assert str((left - right).simplify()) == "0", number
    numbers = ("2.14", "2.16", "2.17", "3.10", "3.12", "3.13", "A.5", "A.6")
    assert all(f"framework ({number})" in found for number in numbers)


def test_identities_of_given_ends():
    s = lb.models.canadarm().build()
    found = lb.verify_identities(s, s.neutral(), ends=[("link2", "tip"), ("link3", "tip")])
    assert max(found.values()) < 1e-9
    assert found.formulas["framework (A.5)"] == "Lambda = B^T Omega B"
    assert "framework (3.13)" not in found


def test_what_is_not_there_is_said():
    s = lb.models.canadarm().build()
    o = lb.operators(s, s.neutral())
    with pytest.raises(lb.LimberError, match="has no closures"):
        o.loops  # noqa: B018
    with pytest.raises(lb.LimberError, match="were made without ends"):
        o.ends  # noqa: B018
    with pytest.raises(lb.LimberError, match="A is 5 x 12: it has no inverse"):
        closed = four_bar().build()
        lb.operators(closed, closed.neutral()).loops.A.inv()
