"""Generated code of closed systems: the engine's answers, and derivatives.

Programs are run as graphs where no compiler is needed for the question.  Tolerances are parts of the largest result:
1e-12 for values, as for trees.  Central differences at h = 1e-6 have errors of about 1e-9 of the largest derivative.
"""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import limber as lb
from constraints.known import bricard, four_bar, scissor_boom, spatial_slider_crank
from constraints.random_closed import CUT, random_closed, random_tree
from helpers.compare import assert_close
from helpers.generated import COMPLEX, evaluated, program
from limber.codegen import compiler

TOLERANCE = 1e-12
DIFFERENCES = 1e-7


def state(made):
    """System, q, v and some tau of a known system."""
    assembly, q, v = made
    s = assembly.build()
    return s, q, v, np.random.default_rng(0).normal(size=s.nv)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("kind", CUT)
def test_traces_of_every_cut_joint_are_the_engine(kind, fidelity):
    closures = 1 if kind == "CompoundJoint" else 2
    case = random_closed(CUT.index(kind), fidelity, (kind,), bodies=3, closures=closures)
    s, q, v, tau = case.system, case.q, case.v, case.tau
    ends = tuple(case.external)
    wrenches = np.array([case.external[end] for end in ends])
    expected = lb.forward_dynamics(s, q, v, tau, external=case.external)
    where = q if fidelity == "full" else "all"
    for rows in ("all", where):
        p = program(s, "forward_dynamics", external=ends, rows=rows)
        (vdot,) = evaluated(p, [q, v, tau, wrenches])
        assert_close(vdot, expected, TOLERANCE, f"{kind}, rows={rows}")
    p = program(s, "constraint_forces", external=ends, rows=where)
    (found,) = evaluated(p, [q, v, tau, wrenches])
    forces = lb.constraint_forces(s, q, v, tau, external=case.external)
    for i, name in enumerate(s.closures):
        row = found[i] if np.ndim(forces[name]) else found[i, 0]
        scale = np.abs(found).max()
        assert_close(row / scale, forces[name] / scale, 1e-9, f"forces of {name}")
    position, velocity = evaluated(program(s, "constraint_residual", rows="all"), [q, v])
    for got, want in zip((position, velocity), lb.constraint_residual(s, q, v)):
        assert np.abs(got - want).max() < TOLERANCE


REDUNDANT = {
    "four-bar": (four_bar, "independent", 2),
    "Bricard": (bricard, "here", 4),
    "scissor boom": (lambda: scissor_boom(2), "here", 3),
    "flexible four-bar": (lambda: four_bar(flexible=True), "here", 4),
}


def central(function, s, args, spot, h=1e-6):
    """The derivative of a function by one of its arguments, on the tangent space of q."""
    columns = []
    for e in np.eye(s.nv):
        ahead, behind = list(args), list(args)
        if spot == 0:
            ahead[0], behind[0] = (lb.integrate(s, args[0], e, sign * h) for sign in (1, -1))
        else:
            ahead[spot], behind[spot] = args[spot] + h * e, args[spot] - h * e
        columns.append((function(*ahead) - function(*behind)) / (2 * h))
    return np.array(columns).T


@pytest.mark.parametrize("name", REDUNDANT)
def test_independent_rows_give_the_engine_and_right_derivatives(name):
    """The rest of the rows is enough for the accelerations, and smooth where the closures are not met."""
    make, rows, count = REDUNDANT[name]
    s, q, v, tau = state(make())
    p = program(s, "forward_dynamics", rows=q if rows == "here" else rows)
    assert p.origin.system.rows == count < s.rows
    assert f"{count} independent closure rows of {s.rows}" in p.about
    (vdot,) = evaluated(p, [q, v, tau])
    assert_close(vdot, lb.forward_dynamics(s, q, v, tau), TOLERANCE, name)
    jacobians = program(
        s, "forward_dynamics", wrt=("q", "v", "tau"), rows=q if rows == "here" else rows
    )
    found = evaluated(jacobians, [q, v, tau])
    for spot, jacobian in enumerate(found):
        expected = central(lambda *x: evaluated(p, x)[0], s, [q, v, tau], spot)
        assert_close(jacobian, expected, DIFFERENCES, f"{name}, input {spot}")
    # accelerations by forces, along what the closures allow: (F^T M F)^{-1}
    F = lb.freedoms(s, q).basis
    assert_close(found[2], F @ F.T, 1e-10, "d vdot / d tau")


@pytest.mark.parametrize("kind", ["Universal", "Screw", "Spherical"])
def test_derivatives_of_cut_joints_are_complex_steps(kind):
    """Complex steps of the program have no truncation error."""
    case = random_closed(3, kinds=(kind,), closures=1, tree=lambda rng: random_tree(rng, 3, 0.0))
    s, args = case.system, [case.q, case.v, case.tau]
    p = program(s, "forward_dynamics", rows=case.q)
    by_q, by_v = evaluated(program(s, "forward_dynamics", wrt=("q", "v"), rows=case.q), args)
    for spot, jacobian in enumerate((by_q, by_v)):
        rates = [lb.qdot(s, case.q, e) for e in np.eye(s.nv)] if spot == 0 else np.eye(s.nv)
        expected = []
        for rate in rates:
            moved = [x.astype(complex) for x in args]
            moved[spot] = moved[spot] + 1e-30j * rate
            expected.append(evaluated(p, moved, COMPLEX)[0].imag / 1e-30)
        assert_close(jacobian, np.array(expected).T, 1e-11, f"{kind}, input {spot}")


def test_large_code_is_warned_of(monkeypatch):
    monkeypatch.setattr(compiler, "LARGE", 100)
    with pytest.warns(
        lb.ModelWarning, match=r"has [0-9,]+ operations, and compiling it takes minutes"
    ):
        lb.compile(state(four_bar())[0], "forward_dynamics", "casadi")


def test_derivatives_along_the_motion_are_those_of_the_engine():
    """Two states of the same mechanism near each other differ as the derivative says, all closures met."""
    s, q, v, tau = state(bricard(speed=1.0))
    by_q, by_v = evaluated(program(s, "forward_dynamics", wrt=("q", "v"), rows=q), [q, v, tau])
    h = 1e-5
    sides = []
    for sign in (1, -1):
        at, speed = lb.project(s, lb.integrate(s, q, v, sign * h), v)
        sides.append((at, speed, lb.forward_dynamics(s, at, speed, tau)))
    (q1, v1, a1), (q0, v0, a0) = sides
    got = by_q @ (q1 - q0) + by_v @ (v1 - v0)
    assert np.abs(got - (a1 - a0)).max() < 1e-6 * np.abs(a1 - a0).max()


def test_step_holds_the_closures():
    """A thousand steps of compiled code, by projection in each; energy to the order of the method."""
    s, q, v, _ = state(four_bar(speed=3.0))
    step = lb.compile(s, "step")
    rest = np.zeros(s.nv)
    energy = lb.kinetic_energy(s, q, v) + lb.potential_energy(s, q)
    for _ in range(1000):
        q, v = step(q, v, rest, 1e-3)
    position, velocity = lb.constraint_residual(s, q, v)
    assert np.abs(position).max() < 1e-12 and np.abs(velocity).max() < 1e-11
    assert abs(lb.kinetic_energy(s, q, v) + lb.potential_energy(s, q) - energy) < 1e-7
    assert "2 independent closure rows of 5" in repr(step)
    again = pickle.loads(pickle.dumps(step))
    assert np.array_equal(again(q, v, rest, 1e-3)[0], step(q, v, rest, 1e-3)[0])


def test_project_is_one_step_of_the_engine():
    s, q, v, _ = state(spatial_slider_crank())
    random = np.random.default_rng(1)
    off, speeds = q + 1e-4 * random.normal(size=s.nq), v + random.normal(size=s.nv)
    moved, speed = evaluated(program(s, "project"), [off, speeds])
    before = np.abs(lb.constraint_residual(s, off)).max()
    assert np.abs(lb.constraint_residual(s, moved)).max() < before**1.5
    moved, speed = evaluated(program(s, "project"), [moved, speed])
    expected = lb.project(s, off, speeds)
    assert np.abs(moved - expected[0]).max() < 1e-8
    assert np.abs(lb.constraint_residual(s, moved, speed)[1]).max() < 1e-11


def test_lanes_casadi_and_single_precision():
    s, q, v, tau = state(spatial_slider_crank())
    expected = lb.forward_dynamics(s, q, v, tau)
    batch = [np.tile(x, (3, 1)) for x in (q, v, tau)]
    batch[2][1] *= 2.0
    want = lb.forward_dynamics(s, *batch)
    assert_close(lb.compile(s, "forward_dynamics", lanes=2)(*batch), want, TOLERANCE)
    single = lb.compile(s, "forward_dynamics", dtype="float32")
    assert_close(single(*(x.astype(np.float32) for x in (q, v, tau))), expected, 1e-4)
    casadi = lb.compile(s, "forward_dynamics", "casadi")
    assert_close(casadi(q, v, tau).full().ravel(), expected, TOLERANCE)


def test_c_package_says_which_rows(tmp_path):
    s = state(four_bar())[0]
    path = lb.compile(s, "forward_dynamics", "c-package", path=tmp_path / "code", name="bar")
    assert "2 independent closure rows of 5" in next(path.glob("*.h")).read_text()
    assert lb.operation_count(s, "forward_dynamics").mul < 200
    with_all = lb.operation_count(s, "forward_dynamics", rows="all")
    assert with_all.mul > lb.operation_count(s, "forward_dynamics").mul


def test_numbers_of_closures_are_parameters():
    s, q, v, _ = state(four_bar())
    closure = s.closures["pin"]
    keys = ["pin.offset", "pin.offset_b"]
    p = program(s, "constraint_residual", parameters=keys, rows="all")
    assert [a.name for a in p.inputs] == ["q", "v", "pin_offset", "pin_offset_b"]
    shift = np.array([0.1, -0.2, 0.0])
    end = replace(closure.a, offset=closure.a.offset + shift)
    moved = s.closed_by([replace(closure, a=end)])
    got = evaluated(p, [q, v, closure.a.offset + shift, closure.b.offset])
    for x, y in zip(got, lb.constraint_residual(moved, q, v)):
        assert np.abs(x - y).max() < TOLERANCE


def test_numbers_of_relations_are_parameters():
    a = lb.Assembly("gears")
    for name in ("motor", "wheel"):
        a.attach(name, lb.RigidBody(1.0, inertia=np.ones(3)), lb.Revolute("z"))
    s = a.gear("wheel", "motor", ratio=-0.25, offset=0.1, name="mesh").build()
    keys = {"parameters": ["mesh.coefficients", "mesh.value"], "rows": "all"}
    f = program(s, "forward_dynamics", **keys)
    tau = np.array([1.0, 0.0])
    coefficients, value = np.array([1.0, 0.5]), np.array(0.1)
    (vdot,) = evaluated(f, [np.zeros(2), np.zeros(2), tau, coefficients, value])
    assert_close(vdot, np.array([1.0, -0.5]) / 1.25, TOLERANCE)
    with pytest.raises(lb.LimberError, match="closure 'mesh' has value, coefficients"):
        program(s, "forward_dynamics", parameters=["mesh.ratio"])


def test_refusals_say_what_to_do():
    s, q, _, _ = state(bricard())
    with pytest.raises(
        lb.LimberError, match=r"5 of the 5 .* only 4 .* In lb.compile this is rows=q"
    ):
        lb.compile(s, "forward_dynamics")
    with pytest.raises(lb.LimberError, match='rows="all" has no derivatives'):
        lb.operation_count(s, "forward_dynamics", wrt="q", rows="all")
    with pytest.raises(
        lb.LimberError, match="that satisfies the closures, but there 'ground' is off"
    ):
        lb.operation_count(s, "forward_dynamics", rows=q + 0.1)
    with pytest.raises(lb.LimberError, match="rows='some' must be"):
        lb.operation_count(s, "forward_dynamics", rows="some")
    with pytest.raises(lb.LimberError, match='rows="all" needs dtype="float64"'):
        lb.compile(s, "forward_dynamics", rows="all", dtype="float32")
    tree = s.closed_by([])
    with pytest.raises(
        lb.LimberError, match="constraint_forces: the system 'Bricard' has no closures"
    ):
        lb.compile(tree, "constraint_forces")
