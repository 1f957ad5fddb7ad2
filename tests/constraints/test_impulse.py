"""Impulses and changes of topology: momentum, energy, and what is active."""

import numpy as np
import pytest

import limber as lb
from constraints.holding import GRASPS, held
from constraints.random_closed import random_closed
from limber.dynamics.evaluate import evaluated

TOLERANCE = 1e-10


def flyers(fidelity="full"):
    """(system, q, v): a free-flying arm and a tumbling target, and a random state with the hand somewhere."""
    a = lb.Assembly("flyer")
    hull = lb.RigidBody(50.0, inertia=(5.0, 6.0, 7.0), nodes={"shoulder": (0.5, 0, 0)})
    a.attach("hull", hull, lb.Free())
    boom = lb.beam(1.0, 3.0, EI=100.0, GJ=80.0, modes=1, polar_inertia=0.01, elements=2)
    a.attach("boom", boom, lb.Universal("z", "y"), "hull", "shoulder")
    a.attach("hand", lb.RigidBody(2.0, (0.5, 0, 0), (0.1, 0.2, 0.2), nodes={"palm": (1.0, 0, 0)}),
             lb.Revolute("y", stiffness=30.0, rest=0.2), "boom", "tip")  # fmt: skip
    t = lb.Assembly("target")
    t.attach(
        "body",
        lb.RigidBody(8.0, (0.1, 0, 0), (1.0, 2.0, 2.5), nodes={"rim": (-0.5, 0, 0)}),
        lb.Free(),
    )
    s = lb.couple([a.build(fidelity)], ("target", t.build(fidelity)))
    rng = np.random.default_rng(1)
    q = lb.integrate(s, s.neutral(), 0.2 * rng.normal(size=s.nv), 1.0)
    return s, q, rng.normal(size=s.nv)


GRASP = (("arm1/hand", "palm"), ("target/body", "rim"), lb.RigidGrasp(), "grasp")


@pytest.mark.parametrize("seed", range(6))
def test_corrections_are_the_least_in_kinetic_energy(seed):
    """The change is M^-1 A^T (A M^-1 A^T)^-1 A v, wherever in the tree the rows are eliminated."""
    case = random_closed(seed)
    s, q = case.system, case.q
    v = np.random.default_rng(seed).normal(size=s.nv)
    A = lb.freedoms(s, q).jacobian
    M = lb.mass_matrix(s, q)
    exact = np.linalg.solve(M, A.T @ np.linalg.solve(A @ np.linalg.solve(M, A.T), A @ v))
    found = evaluated(s, "correction", (q, A @ v))
    np.testing.assert_allclose(found, exact, atol=1e-8 * np.abs(exact).max())


@pytest.mark.parametrize("grasp", GRASPS.values(), ids=GRASPS)
@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_momentum_is_kept_and_energy_never_grows(grasp, e):
    s, q, v = flyers()
    closed = lb.attach((*GRASP[:2], grasp, "grasp"), in_place=True)(s, q, v).system
    jump = lb.impulse(closed, q, v, restitution=e)
    before, after = lb.momentum(s, q, v), lb.momentum(s, q, jump.v)
    assert np.abs(after - before).max() < 1e-12 * np.abs(before).max()
    energy = lb.kinetic_energy(s, q, v)
    kept = lb.kinetic_energy(s, q, jump.v)
    assert kept == pytest.approx(energy, rel=1e-12) if e == 1.0 else kept < energy
    rates = [lb.constraint_residual(closed, q, x)[1] for x in (v, jump.v)]
    np.testing.assert_allclose(rates[1], -e * rates[0], atol=1e-12)


def test_impulses_change_the_momentum_of_each_part():
    s, q, v = flyers()
    change = lb.attach(GRASP, in_place=True)(s, q, v)
    (p,) = change.wrenches.values()
    c = change.system.closures["grasp"]
    R, x = lb.pose(s, q, "target/body", c.b.node)
    end = x + R @ c.b.offset
    only = s.layout["target/body"].v_joint
    parts = [np.zeros(s.nv), np.zeros(s.nv)]
    parts[0][only], parts[1][only] = v[only], change.v[only]
    gained = lb.momentum(s, q, parts[1]) - lb.momentum(s, q, parts[0])
    np.testing.assert_allclose(gained[3:], p[3:], atol=TOLERANCE)
    np.testing.assert_allclose(gained[:3], p[:3] + np.cross(end, p[3:]), atol=TOLERANCE)


def test_ruthless_systems_have_the_impulse_of_the_full_one():
    s, q, v = flyers("ruthless")
    change = lb.attach(GRASP, in_place=True)(s, q, v)
    full, q_full, v_full = flyers()
    again = lb.attach(GRASP, in_place=True)(full, q_full, v_full)
    assert change.system.fidelity == "ruthless"
    np.testing.assert_allclose(change.v, again.v, atol=1e-12)


def test_some_closures_and_batches():
    s, q, v = held(GRASPS["hard point"])
    v = v + 1.0
    one = lb.impulse(s, q, v, closures=["left"])
    assert list(one.wrenches) == ["left"]
    assert np.abs(lb.constraint_residual(s, q, one.v)[1][s.closure_rows["left"]]).max() < 1e-12
    assert np.abs(lb.constraint_residual(s, q, one.v)[1]).max() > 1e-3
    assert np.array_equal(lb.impulse(s, q, v, closures=[]).v, v)
    assert lb.impulse(s, np.stack([q, q]), v, closures=[]).v.shape == (2, s.nv)
    with pytest.raises(lb.LimberError, match="q"):
        lb.impulse(s, q[:-1], v, closures=[])
    many = lb.impulse(s, q, np.stack([v, 2.0 * v]))
    np.testing.assert_allclose(
        many.wrenches["right"][1], 2.0 * many.wrenches["right"][0], rtol=1e-9
    )
    with pytest.raises(lb.LimberError, match="restitution must lie between 0 and 1"):
        lb.impulse(s, q, v, 1.5)
    with pytest.raises(lb.LimberError, match=r"has no closure 'lft'.*'left'"):
        lb.impulse(s, q, v, closures=["lft"])


def test_attach_and_release():
    s, q, v = flyers()
    with pytest.raises(
        lb.LimberError,
        match=r"attach: the ends do not coincide: 'grasp' is off by .*in_place=True",
    ):
        lb.attach(GRASP)(s, q, v)
    held_now = lb.attach(GRASP, in_place=True)(s, q, v)
    assert np.array_equal(held_now.q, q)
    assert held_now.system._trees is s._trees
    position, rates = lb.constraint_residual(held_now.system, held_now.q, held_now.v)
    assert max(np.abs(position).max(), np.abs(rates).max()) < 1e-12
    free = lb.release("grasp")(held_now.system, held_now.q, held_now.v)
    assert not free.system.closures
    assert np.array_equal(free.v, held_now.v)
    # a closure that is known by its name is attached where its ends are together
    known = held_now.system.closures
    again = lb.attach("grasp")(free.system, free.q, free.v, known)
    assert list(again.system.closures) == ["grasp"]
    np.testing.assert_allclose(again.v, free.v, atol=1e-12)
    with pytest.raises(lb.LimberError, match="is already active"):
        lb.attach("grasp")(again.system, q, v, known)
    with pytest.raises(lb.LimberError, match=r"release: the closure 'grip' is not active.*'grasp'"):
        lb.release("grip")(again.system, q, v)
    with pytest.raises(lb.LimberError, match="attach: there is no closure 'grip'"):
        lb.attach("grip")(s, q, v)
    bounced = lb.attach(GRASP, in_place=True, restitution=0.5)(s, q, v)
    assert bounced.system is s
    assert bounced.wrenches


@pytest.mark.parametrize("body", ["arm1/hand", "arm1/boom", "arm1/hull", "target/body"])
def test_lock_and_unlock(body):
    s, q, v = flyers()
    locked = lb.lock(body)(s, q, v)
    speeds = s.layout[body].v_joint
    assert np.abs(locked.v[speeds]).max() < 1e-12
    assert lb.kinetic_energy(s, q, locked.v) < lb.kinetic_energy(s, q, v)
    assert locked.system.rows == s.joints[body].dofs
    assert lb.freedoms(locked.system, q).rank == locked.system.rows
    vdot = lb.forward_dynamics(locked.system, locked.q, locked.v, np.ones(s.nv))
    assert np.abs(vdot[speeds]).max() < 1e-9
    if s.parents[body] != "world":  # the lock acts between two bodies
        np.testing.assert_allclose(
            lb.momentum(s, q, locked.v), lb.momentum(s, q, v), rtol=1e-12, atol=1e-12
        )
    unlocked = lb.unlock(body)(locked.system, locked.q, locked.v)
    assert not unlocked.system.closures
    with pytest.raises(lb.LimberError, match="is already locked"):
        lb.lock(body)(locked.system, q, v)
    with pytest.raises(lb.LimberError, match="is not locked"):
        lb.unlock(body)(s, q, v)


def test_spherical_joints_are_locked_by_three_rows():
    a = lb.Assembly("ball", gravity=(0, 0, -9.81))
    rod = lb.RigidBody(1.0, (0.5, 0, 0), (0.1, 0.2, 0.3), nodes={"tip": (1.0, 0, 0)})
    a.attach("first", rod, lb.Spherical())
    a.attach("second", rod, lb.Spherical(), "first", "tip", inboard="tip")
    s = a.build()
    rng = np.random.default_rng(3)
    q, v = lb.integrate(s, s.neutral(), rng.normal(size=s.nv), 1.0), rng.normal(size=s.nv)
    locked = lb.lock("second")(s, q, v)
    assert locked.system.rows == 3
    assert lb.freedoms(locked.system, q).number == 3
    assert np.abs(locked.v[s.layout["second"].v_joint]).max() < 1e-12
