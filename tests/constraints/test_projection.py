"""States that meet closures: `lb.project`, `lb.assemble`, and `lb.constraint_residual`, which measures them."""

import numpy as np
import pytest

import limber as lb
from constraints.known import bricard, four_bar, pinned_chain, rod
from constraints.random_closed import random_closed
from constraints.reference import rows, solve
from helpers.compare import assert_close

MET = 1e-11


def test_projection_meets_positions_and_speeds():
    for seed in range(6):
        case = random_closed(50 + seed)
        s, rng = case.system, np.random.default_rng(seed)
        q = lb.integrate(s, case.q, 1e-3 * rng.normal(size=s.nv), 1.0)
        v = case.v + 0.1 * rng.normal(size=s.nv)
        kept = q.copy(), v.copy()
        p, u = lb.project(s, q, v)
        position, velocity = lb.constraint_residual(s, p, u)
        assert max(np.abs(position).max(), np.abs(velocity).max()) < MET
        assert np.array_equal(q, kept[0]) and np.array_equal(v, kept[1])
        assert_close(rows(s, p, u, case.start).A @ u, np.zeros(s.rows), MET)


def test_projection_changes_speeds_by_the_least_kinetic_energy():
    assembly, q, _ = pinned_chain(5)
    s = assembly.build()
    v = np.random.default_rng(0).normal(size=s.nv)
    _, u = lb.project(s, q, v)
    assert_close(lb.freedoms(s, q).basis.T @ lb.mass_matrix(s, q) @ (v - u), np.zeros(7), MET)


def test_states_that_meet_the_closures_stay_and_are_copied():
    assembly, q, v = four_bar()
    s = assembly.build()
    p, u = lb.project(s, q, v)
    assert_close(p, q, 1e-15)
    assert_close(u, v, 1e-14)
    assert lb.project(s, p) is not p
    assert lb.assemble(s, p) is not p


def test_batches_are_projected_one_by_one():
    assembly, q, v = pinned_chain(4)
    s = assembly.build()
    change = 1e-2 * np.random.default_rng(1).normal(size=(2, 3, s.nv))
    p, u = lb.project(s, q + change, v)
    assert p.shape == u.shape == (2, 3, s.nv)
    each = lb.project(s, (q + change)[1, 2], v)
    assert_close(p[1, 2], each[0], 1e-11)
    assert_close(u[1, 2], each[1], 1e-11)
    assert lb.project(s, np.zeros((0, s.nq))).shape == (0, s.nq)


def test_projections_that_fail_name_the_closure():
    s = lb.Assembly("short").attach("a", rod(1.0, 1.0), lb.Revolute("z"))
    s.close(("world", (1.5, 0.2, 0)), ("a", "tip"), lb.Spherical(), "peg")
    with pytest.raises(
        lb.LimberError, match=r"project: .* near this q: after 30 steps 'peg' is off"
    ):
        lb.project(s.build(), [0.1])
    with pytest.raises(lb.LimberError, match=r"near this q \(state \d of the batch\): after 30"):
        lb.project(s.build(), [[0.1], [0.2]])


@pytest.mark.parametrize("seed", range(4))
def test_four_bars_are_assembled_from_rough_guesses(seed):
    assembly, q, _ = four_bar()
    s = assembly.build()
    found = lb.assemble(s, q + np.random.default_rng(seed).uniform(-1.5, 1.5, 3))
    assert np.abs(rows(s, found, np.zeros(s.nv)).residual).max() < MET


def test_locked_joints_keep_their_coordinates():
    assembly, q, _ = four_bar(flexible=True)
    s = assembly.build()
    crank = s.layout["crank"].q_joint
    guess = q + np.where(q != 0.0, 0.2, 0.0)
    found = lb.assemble(s, guess, locked=["crank"])
    assert found[crank] == guess[crank]
    assert np.abs(lb.constraint_residual(s, found)).max() < 1e-9


def test_modes_bend_only_if_joints_are_not_enough():
    assembly, q, _ = four_bar(flexible=True)
    s = assembly.build()
    modes = s.layout["coupler"].q_modes
    start = q.copy()
    start[s.layout["rocker"].q_joint] += 0.1
    assert np.array_equal(lb.assemble(s, start)[modes], np.zeros(3))
    start[s.layout["coupler"].q_joint] += 0.02
    bent = lb.assemble(s, start, locked=["crank", "coupler"])
    assert np.abs(bent[modes]).max() > 1e-3


def test_neutral_is_the_guess_unless_one_is_given():
    s = bricard()[0].build()
    assert np.abs(lb.constraint_residual(s, lb.assemble(s))).max() < 1e-9


def test_impossible_lengths_are_told_with_the_gap():
    a = lb.Assembly("too short")
    for name, x in (("left", 0.0), ("right", 3.0)):
        a.attach(name, rod(1.0, 1.0), lb.Revolute("z"), offset=(x, 0, 0))
    a.close(("left", "tip"), ("right", "tip"), lb.Revolute("z"), "knee")
    with pytest.raises(lb.LimberError, match=r"at the closest .*, 'knee' is off by 1 \(rad or m\)"):
        lb.assemble(a.build(), [0.4, 2.0], trials=3)


def test_bad_arguments_are_named():
    assembly, q, v = four_bar()
    s = assembly.build()
    tree = lb.Assembly("tree").attach("a", rod(1.0, 1.0), lb.Revolute("z")).build()
    for call, said in (
        (lambda: lb.project(tree, [0.0]), "project: the system 'tree' has no closures"),
        (lambda: lb.assemble(s, [q, q]), r"q must have shape \(3,\), got \(2, 3\)"),
        (lambda: lb.assemble(s, q, locked="crank"), "locked must be a list of body names"),
        (lambda: lb.assemble(s, q, locked=["cranc"]), "Did you mean 'crank'"),
        (lambda: lb.assemble(s, q, trials=-1), "trials must be"),
        (lambda: lb.project(s, [np.nan, 0, 0]), r"q\[0\] is nan"),
        (lambda: lb.constraint_residual(s, q, vdot=v), "vdot is given without v"),
        (lambda: lb.constraint_residual(s, q, v, v[:2]), r"vdot must have shape \(..., 3\)"),
        (lambda: lb.project(s, q, v[:2]), r"v must have shape \(..., 3\)"),
    ):
        with pytest.raises(lb.LimberError, match=said):
            call()


@pytest.mark.parametrize("seed", range(4))
def test_accelerations_of_rows_are_those_of_the_reference(seed):
    """A vdot + a0 of the engine's rows spans that of the reference: zero together, and of the same size."""
    case = random_closed(60 + seed)
    s, q, v = case.system, case.q, case.v
    expected = solve(s, q, v, case.tau, start=case.start)
    _, _, met = lb.constraint_residual(s, q, v, expected.vdot)
    assert np.abs(met).max() < 1e-7 * max(1.0, np.abs(expected.vdot).max())
    change = np.random.default_rng(seed).normal(size=(3, s.nv))
    _, _, off = lb.constraint_residual(s, q, v, expected.vdot + change)
    assert_close(off, change @ lb.freedoms(s, q).jacobian.T, 1e-7)


@pytest.mark.parametrize("factor", [1e-12, 1e-9, 1e9])
def test_relations_are_met_in_whatever_units_they_are_written(factor):
    """A relation times any factor is the same one: two rods in gear, whose angles are off by 0.3 rad."""
    a = lb.Assembly("gears")
    a.attach("wheel", rod(1.0, 1.0), lb.Revolute("z"))
    a.attach("pinion", rod(0.5, 1.0), lb.Revolute("z"), offset=(2, 0, 0))
    s = a.relate({"wheel": factor, "pinion": -2.0 * factor}, value=0.3 * factor).build()
    for q in (lb.assemble(s, [0.1, 0.05]), lb.project(s, [0.1, 0.05])):
        assert abs(q[0] - 2.0 * q[1] - 0.3) < MET
    with pytest.raises(lb.LimberError, match="q0 does not satisfy the closures"):
        lb.simulate(s, 0.1, q0=[0.1, 0.05])
