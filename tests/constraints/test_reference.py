"""The reference for closed systems is itself right: rows, bias, forces."""

import numpy as np
import pytest

import limber as lb
from constraints.cut_joints import coordinates, joint_map, joint_pose, moved, own_acceleration
from constraints.random_closed import CUT, check, random_closed, random_cut_coordinates
from constraints.reference import (
    BruteForce,
    block_solution,
    derivative,
    differenced,
    end_pose,
    opened,
    rows,
    solve,
    undeformed,
)
from helpers.compare import assert_close
from helpers.random_systems import random_assembly, random_joint

TOLERANCE = 1e-10


@pytest.mark.parametrize("kind", CUT)
@pytest.mark.parametrize("seed", range(3))
def test_kinematics_of_cut_joints_equal_those_of_joints(kind, seed):
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, [kind])
    theta = random_cut_coordinates(rng, joint)
    beta = rng.normal(size=joint.dofs)
    R, p = joint_pose(joint, theta)
    assert_close(R, joint.configuration(theta)[0], 1e-13)
    assert_close(p, joint.configuration(theta)[1], 1e-13)
    assert_close(joint_map(joint, theta), joint.H(theta), 1e-13)
    rate = derivative(lambda t: joint_map(joint, moved(joint, theta, beta * t)) @ beta)
    assert_close(own_acceleration(joint, theta, beta), rate, TOLERANCE)
    found, left = coordinates(joint, (R, p))
    assert_close(left, np.zeros(6), 1e-11)
    assert_close(joint_map(joint, found), joint_map(joint, theta), TOLERANCE)


@pytest.mark.parametrize("kind", CUT)
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_rows_equal_differences_of_poses(kind, fidelity):
    case = random_closed(CUT.index(kind), fidelity, kinds=[kind], bodies=4, closures=2)
    assert check(case) < 1e-12
    exact = rows(case.system, case.q, case.v, case.start)
    other = rows(case.system, case.q, case.v, case.start, motion=differenced)
    assert_close(exact.A, other.A, TOLERANCE, "A")
    assert_close(exact.a0, other.a0, TOLERANCE, "a0")


def point_masses(second):
    """Trees of bodies whose mass is in their nodes, which the brute-force model takes."""
    return lambda rng: random_assembly(rng, 4, flexible=0.7, second=second, max_modes=3)


@pytest.mark.parametrize("second", [False, True], ids=["plain", "stiffened"])
@pytest.mark.parametrize("seed", range(3))
def test_flexible_systems_equal_the_brute_force_model(seed, second):
    """M, bias, the rows of the closures and their rates without any of the engine's recursions."""
    case = random_closed(seed, tree=point_masses(second))
    state = case.q, case.v, case.tau, case.external, case.start
    ours = solve(case.system, *state)
    theirs = solve(case.system, *state, model=BruteForce(case.assembly))
    assert_close(ours.rows.A, theirs.rows.A, TOLERANCE, "A")
    assert_close(ours.rows.a0, theirs.rows.a0, TOLERANCE, "a0")
    assert_close(ours.vdot, theirs.vdot, 1e-9, "vdot")
    for name, force in ours.forces.items():
        assert_close(force, theirs.forces[name], 1e-9, name)


@pytest.mark.parametrize("seed", range(6))
def test_solution_solves_the_block_system(seed):
    case = random_closed(seed, redundant=seed % 2 == 1)
    state = case.q, case.v, case.tau, case.external, case.start
    found = solve(case.system, *state)
    vdot, lam = block_solution(case.system, *state)
    assert_close(found.vdot, vdot, 1e-9)
    assert_close(found.lam, lam, 1e-8)
    assert_close(found.rows.A @ found.vdot, -found.rows.a0, 1e-10)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_closure_forces_act_on_the_tree_as_external_ones(seed, fidelity):
    """The tree under the forces on b, and their reactions on a, moves as the closed system does.

    External forces of a ruthless system act on its undeformed geometry.
    """
    case = random_closed(100 + seed, fidelity, closures=2)
    s, q, v, tau = case.system, case.q, case.v, case.tau.copy()
    found = solve(s, q, v, tau, start=case.start)
    tree, shape = opened(s), q if fidelity == "full" else undeformed(s, q)
    for name, closure in s.closures.items():
        force = found.forces[name]
        if not hasattr(closure, "joint"):
            for (body, i), c in closure.terms.items():
                tau[s.layout[body].v_joint.start + i] += c * force[0]
            continue
        origin = end_pose(s, shape, closure.b)[1]
        for end, sign in ((closure.a, -1.0), (closure.b, 1.0)):
            if end.body != "world":
                arm = origin - lb.pose(s, shape, end.body, end.node)[1]
                moment = force[:3] + np.cross(arm, force[3:])
                loads = {(end.body, end.node): sign * np.append(moment, force[3:])}
                tau -= lb.inverse_dynamics(tree, q, v, 0.0 * v, external=loads)
                tau += lb.inverse_dynamics(tree, q, v, 0.0 * v)
    assert_close(lb.forward_dynamics(tree, q, v, tau), found.vdot, 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_power_equals_energy_rate(seed):
    case = random_closed(200 + seed)
    s, q, v, tau = case.system, case.q, case.v, case.tau
    vdot = solve(s, q, v, tau, start=case.start).vdot
    tree, power = opened(s), v @ tau
    for name, where in s.layout.items():
        if s.bodies[name].modes:
            power -= v[where.v_modes] @ s.bodies[name].damping @ v[where.v_modes]
    scale = np.abs(vdot).max()

    def energy(t):
        moving = lb.integrate(tree, q, v, t), v + t * vdot
        return lb.kinetic_energy(tree, *moving) + lb.potential_energy(tree, moving[0])

    rate = derivative(energy, 1.0 / max(10.0, scale))
    assert abs(rate - power) < 1e-7 * max(1.0, abs(v @ lb.mass_matrix(tree, q) @ vdot))
