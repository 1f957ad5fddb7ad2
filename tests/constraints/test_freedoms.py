"""Freedoms, redundant closures, constrained inverses and forces that are not unique."""

import warnings

import numpy as np
import pytest

import limber as lb
from constraints.known import KNOWN, bricard, double_four_bar, four_bar, rod
from constraints.random_closed import random_closed
from constraints.reference import solve
from helpers.compare import assert_close


@pytest.mark.parametrize(
    "name", ["four-bar", "Bricard", "arms", "flexible four-bar", "geared pair"]
)
def test_freedoms_are_as_counted(name):
    make, free, rank, count = KNOWN[name]
    assembly, q, v = make()
    s = assembly.build()
    found = lb.freedoms(s, q)
    assert (found.number, found.rank, len(found.jacobian)) == (free, rank, count)
    assert_close(found.jacobian @ found.basis, np.zeros((count, free)), 1e-12)
    M = lb.mass_matrix(s, q)
    assert_close(found.basis.T @ M @ found.basis, np.eye(free), 1e-12)
    # the basis spans the speeds that the closures allow
    assert_close(found.basis @ (found.basis.T @ M @ v), v, 1e-11)
    assert (len(found.redundant) > 0) == (rank < count)


def test_redundant_closures_are_named_and_printed():
    assembly, q, _ = four_bar()
    found = lb.freedoms(assembly.build(), q)
    assert found.redundant == {"pin": 3}
    assert str(found) == (
        "1 degree of freedom; 2 of 5 closure rows are independent. Redundant rows, which may be left out: 3 of 'pin'."
    )
    assert repr(found) == "Freedoms(number=1, rank=2 of 5 closure rows)"
    assembly, q, _ = bricard()
    assert str(lb.freedoms(assembly.build(), q)).startswith(
        "1 degree of freedom; 4 of 5 closure rows"
    )


def test_toggles_lose_rank():
    assembly, q, _ = double_four_bar()
    s = assembly.build()
    assert (lb.freedoms(s, q).number, lb.freedoms(s, np.zeros(s.nv)).number) == (1, 3)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("seed", range(3))
def test_accelerations_change_by_the_constrained_inverse(seed, fidelity):
    case = random_closed(70 + seed, fidelity, redundant=seed == 2)
    s, q, v, tau = case.system, case.q, case.v, case.tau
    W = lb.constrained_inverse(s, q)
    change = np.random.default_rng(seed).normal(size=s.nv)
    with_it = lb.forward_dynamics(s, q, v, tau + change)
    assert_close(with_it - lb.forward_dynamics(s, q, v, tau), W @ change, 1e-7)
    M, A = lb.mass_matrix(s, q), lb.freedoms(s, q).jacobian
    size = np.abs(W).max()
    assert_close(W @ M @ W / size, W / size, 1e-9)
    assert_close(A @ W / size, np.zeros_like(A), 1e-9)
    inverse = np.linalg.inv(M)
    dense = inverse - inverse @ A.T @ np.linalg.pinv(A @ inverse @ A.T, 1e-10) @ A @ inverse
    assert_close(W / size, dense / size, 1e-7)


def test_constrained_inverses_of_a_batch():
    assembly, q, _ = four_bar()
    s = assembly.build()
    states = np.array([[q, lb.assemble(s, q + 0.3)]])
    found = lb.constrained_inverse(s, states)
    assert found.shape == (1, 2, 3, 3)
    assert_close(found[0, 1], lb.constrained_inverse(s, states[0, 1]), 1e-13)
    with pytest.raises(lb.LimberError, match=r"q must have shape \(..., 3\), got \(2,\)"):
        lb.constrained_inverse(s, q[:2])


def test_power_is_the_rate_of_the_energy():
    """Closures do no work: the energy changes by the power of tau alone, dampers aside."""
    for seed in range(3):
        case = random_closed(80 + seed)
        s, q, v, tau = case.system, case.q, case.v, case.tau
        vdot = lb.forward_dynamics(s, q, v, tau)
        # M vdot + bias - tau is the force of the closures
        power = v @ (lb.inverse_dynamics(s, q, v, vdot) - tau)
        assert abs(power) < 1e-8 * max(np.abs(v) @ np.abs(tau), 1.0)


# forces


def door(hinges=2):
    """A door on ball joints: attached at the first, and closed at the others, in a row along z."""
    nodes = {f"hinge{i}": (0, 0, 0.8 * i) for i in range(hinges)}
    body = lb.RigidBody(10.0, (0.4, 0.0, 0.4), (1.0, 1.5, 1.0), nodes)
    a = lb.Assembly("door", gravity=(0, 0, -9.81))
    a.attach("door", body, lb.Spherical())
    for i in range(1, hinges):
        a.close(("world", (0, 0, 0.8 * i)), ("door", i), lb.Spherical(), f"hinge{i}")
    return a.build()


def test_two_ball_joints_share_the_load_along_their_line():
    """What they carry across it is unique: the moment of the weight; the force along it is not."""
    s = door()
    q, zero = s.neutral(), np.zeros(3)
    with pytest.warns(lb.ModelWarning, match=r"'door' are redundant.* not unique: 'hinge1' \(fz\)"):
        force = lb.constraint_forces(s, q, zero, zero)["hinge1"]
    assert_close(force, [0, 0, 0, -10.0 * 9.81 * 0.4 / 0.8, 0, 0], 1e-12)
    assert str(lb.freedoms(s, q)).endswith("1 of 'hinge1'.")


def test_several_ball_joints_in_a_row_are_all_named():
    s = door(3)
    q, zero = s.neutral(), np.zeros(3)
    with pytest.warns(lb.ModelWarning) as told:
        forces = lb.constraint_forces(s, q, zero, zero)
    assert "'hinge1' (fx, fy, fz), 'hinge2' (fx, fy, fz)" in str(told[0].message)
    moment = 0.8 * forces["hinge1"][3] + 1.6 * forces["hinge2"][3]
    assert_close(moment, -10.0 * 9.81 * 0.4, 1e-12)
    assert lb.freedoms(s, q).redundant == {"hinge1": 3, "hinge2": 3}


def test_forces_of_a_batch_are_those_of_each_state():
    assembly, q, v = four_bar()
    s = assembly.build()
    speeds = np.array([[0.0], [1.0], [-2.0]]) * v
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        found = lb.constraint_forces(s, q, speeds, np.ones(s.nv))["pin"]
        each = lb.constraint_forces(s, q, speeds[2], np.ones(s.nv))["pin"]
    assert found.shape == (3, 6)
    assert_close(found[2], each, 1e-12)


# torques of some joints


def test_torques_of_one_joint_make_the_motion():
    assembly, q, v = four_bar()
    s = assembly.build()
    vdot = lb.forward_dynamics(s, q, v, [3.0, 0.0, 0.0])
    for name in s.layout:
        tau = lb.inverse_dynamics(s, q, v, vdot, actuated=[name])
        assert np.flatnonzero(tau).tolist() == [s.layout[name].v_joint.start]
        assert_close(lb.forward_dynamics(s, q, v, tau), vdot, 1e-10)
    assert_close(lb.inverse_dynamics(s, q, v, vdot, actuated=["crank"]), [3.0, 0.0, 0.0], 1e-10)


def test_several_torques_have_the_least_weighted_norm():
    assembly, q, v = four_bar()
    s = assembly.build()
    vdot = lb.forward_dynamics(s, q, v, [3.0, 0.0, 0.0])
    basis = lb.freedoms(s, q).basis[:, 0]
    weights = np.array([1.0, 4.0, 0.5])
    for w, given in ((np.ones(3), None), (weights, weights)):
        tau = lb.inverse_dynamics(s, q, v, vdot, actuated=list(s.layout), weights=given)
        # of all tau with the same power along the freedom, the one along basis / weights
        expected = basis / w * (basis[0] * 3.0) / (basis**2 / w).sum()
        assert_close(tau, expected, 1e-10)
    two = lb.inverse_dynamics(s, q, v, vdot, actuated=["crank", "rocker"])
    assert two[1] == 0.0
    part = basis[[0, 2]]
    assert_close(two[[0, 2]], part * basis[0] * 3.0 / (part @ part), 1e-10)


def test_torques_of_a_batch():
    assembly, q, v = four_bar()
    s = assembly.build()
    tau = np.array([[1.0, 0, 0], [2.0, 0, 0]])
    vdot = lb.forward_dynamics(s, q, v, tau)
    assert_close(lb.inverse_dynamics(s, q, v, vdot, actuated=["crank"]), tau, 1e-10)


def test_torques_of_a_tree_need_a_motor_at_every_moving_joint():
    tree = lb.Assembly("tree").attach("a", rod(1.0, 1.0), lb.Revolute("z"))
    s = tree.attach("b", rod(1.0, 1.0), lb.Revolute("z"), "a", "tip").build()
    q, v, vdot = np.ones(2), np.ones(2), np.ones(2)
    tau = lb.inverse_dynamics(s, q, v, vdot)
    assert_close(lb.inverse_dynamics(s, q, v, vdot, actuated=["a", "b"]), tau, 1e-13)
    with pytest.raises(
        lb.LimberError, match="no torques of the actuated joints produce this motion"
    ):
        lb.inverse_dynamics(s, q, v, vdot, actuated=["a"])


def test_motions_that_motors_cannot_make_are_refused():
    assembly, q, v = KNOWN["pinned chain"][0]()
    s = assembly.build()
    vdot = lb.forward_dynamics(s, q, v, np.ones(s.nv))
    with pytest.raises(lb.LimberError, match=r"no torques .* Actuate more joints"):
        lb.inverse_dynamics(s, q, v, vdot, actuated=["link0"])


def test_accelerations_that_break_closures_are_refused():
    assembly, q, v = four_bar()
    s = assembly.build()
    with pytest.raises(
        lb.LimberError, match=r"vdot breaks a closure of 'four-bar': 'pin' would ha"
    ):
        lb.inverse_dynamics(s, q, v, np.zeros(s.nv), actuated=["crank"])


def test_a_mechanism_whose_free_motion_falls_as_a_whole_may_be_held():
    """On a slide that falls, nothing moves relative to anything else: closures see rounding, and no acceleration."""
    a = lb.Assembly("lift", gravity=(0, -9.81, 0))
    body = lb.RigidBody(5.0, inertia=[0.1] * 3)
    a.attach("slide", body, lb.Prismatic("y"))
    for name, length, to in (("crank", 1.0, "slide"), ("coupler", 2.5, "crank")):
        bar = lb.RigidBody(1.0, (length / 2, 0, 0), [0.01, 0.1, 0.1], {"tip": (length, 0, 0)})
        place = {} if to == "slide" else {"at": "tip"}
        a.attach(name, bar, lb.Revolute("z"), to=to, **place)
    bar = lb.RigidBody(1.0, (0.9, 0, 0), [0.01, 0.1, 0.1], {"tip": (1.8, 0, 0)})
    a.attach("rocker", bar, lb.Revolute("z"), to="slide", offset=(2.2, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), name="pin")
    s, rest = a.build(), np.zeros(4)
    q = lb.assemble(s, [0.3, 1.0, -0.5, 1.5], locked=["slide", "crank"])
    tau = lb.inverse_dynamics(s, q, rest, rest, actuated=["slide", "crank"])
    assert tau[0] == pytest.approx(8.0 * 9.81) and not tau[2:].any()
    with pytest.raises(lb.LimberError, match="vdot breaks a closure of 'lift': 'pin'"):
        lb.inverse_dynamics(s, q, rest, np.array([0, 1e-6, 0, 0]), actuated=["slide", "crank"])


def test_bad_arguments_of_actuation_are_named():
    assembly, q, v = four_bar()
    s = assembly.build()
    vdot = lb.forward_dynamics(s, q, v, np.zeros(s.nv))
    for options, said in (
        ({"actuated": "crank"}, "actuated must be a list of body names"),
        ({"actuated": []}, "actuated names no joint with a speed"),
        ({"actuated": ["cranc"]}, "Did you mean 'crank'"),
        ({"weights": [-1.0, 1.0, 1.0]}, "weights must be finite and not negative"),
        ({"weights": [1.0, 1.0]}, r"weights must have shape \(3,\)"),
        ({"weights": np.nan}, "weights"),
    ):
        with pytest.raises(lb.LimberError, match=said):
            lb.inverse_dynamics(s, q, v, vdot, **options)


def test_forces_of_unique_closures_come_without_warning():
    case = random_closed(90)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.constraint_forces(case.system, case.q, case.v, case.tau)
    assert solve(case.system, case.q, case.v, case.tau, start=case.start).null.size == 0
