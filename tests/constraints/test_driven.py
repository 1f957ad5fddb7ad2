"""Driven joints of closed systems: accelerations and drive forces equal the dense block solution."""

import warnings

import numpy as np
import pytest

import limber as lb
from constraints.known import KNOWN, four_bar, geared_pair
from constraints.random_closed import CUT, DOUBTFUL, Case, random_closed
from constraints.reference import BruteForce, opened, rows
from helpers.compare import assert_close
from helpers.random_systems import random_assembly
from limber.errors import ArgumentValueError, DynamicsError, ModelWarning

TOLERANCE = 1e-8

quiet = pytest.mark.filterwarnings("ignore::limber.errors.ModelWarning")


def sweep(quick, all_seeds):
    """Seeds, of which those beyond the first `quick` are slow."""
    return [
        seed if seed < quick else pytest.param(seed, marks=pytest.mark.slow)
        for seed in range(all_seeds)
    ]


def speeds_of(system, bodies):
    """Of every speed, whether it is that of the joint of one of the bodies."""
    found = np.zeros(system.nv, dtype=bool)
    for body in bodies:
        found[system.layout[body].v_joint] = True
    return found


def sizes(M, A, free):
    """Singular values of the rows in the free speeds, measured by kinetic energy; each row has unit size in all speeds."""
    whole = np.linalg.solve(np.linalg.cholesky(M), A.T).T
    size = np.linalg.norm(whole, axis=1, keepdims=True)
    part = np.linalg.solve(np.linalg.cholesky(M[np.ix_(free, free)]), A[:, free].T).T
    return np.linalg.svd(part / np.where(size > 0.0, size, 1.0), compute_uv=False)


def followed(rng, system, M, A, share=0.6):
    """Random joints that can be driven: the others follow, in a position that is not nearly singular for them."""
    rank = (sizes(M, A, np.ones(system.nv, dtype=bool)) > DOUBTFUL[1]).sum()
    chosen: list[str] = []
    for body in rng.permutation([n for n, joint in system.joints.items() if joint.dofs]):
        held = speeds_of(system, [*chosen, body])
        if held.all() or rng.random() > share:
            continue
        s = sizes(M, A, ~held)
        sure = not ((s > DOUBTFUL[0]) & (s < DOUBTFUL[1])).any()
        if sure and (s > DOUBTFUL[1]).sum() == rank:
            chosen.append(str(body))
    return chosen


def block_solution(M, rest, A, a0, tau, held, rates):
    """(vdot, tau) of [[M_ff, -A_f^T], [A_f, 0]] [vdot_f; lambda] = [tau_f - rest_f - M_fd vdot_d; -a0 - A_d vdot_d]."""
    f, m = ~held, len(A)
    vdot, force = np.where(held, rates, 0.0), np.array(tau)
    K = np.block([[M[np.ix_(f, f)], -A[:, f].T], [A[:, f], np.zeros((m, m))]])
    right = [(tau - rest - M @ vdot)[f], -a0 - A @ vdot]
    x = np.linalg.lstsq(K, np.concatenate(right), rcond=1e-13)[0]
    vdot[f], lam = x[: f.sum()], x[f.sum() :]
    force[held] = (M @ vdot + rest - A.T @ lam)[held]
    return vdot, force


def compare(case, seed, model=None):
    s, q, v, tau, external = case.system, case.q, case.v, case.tau, case.external
    rng = np.random.default_rng(seed)
    if model is None:
        found = rows(s, q, v, case.start)
        M = lb.mass_matrix(opened(s), q)
        rest = lb.inverse_dynamics(opened(s), q, v, 0.0 * v, external=external)
    else:
        found = rows(s, q, v, case.start, model.relative_motion)
        M, rest = model.mass_matrix(q), model.inverse_dynamics(q, v, 0.0 * v, external)
    driven = followed(rng, s, M, found.A)
    rates = rng.normal(size=s.nv)
    expected = block_solution(M, rest, found.A, found.a0, tau, speeds_of(s, driven), rates)
    motion = {body: rates[s.layout[body].v_joint] for body in driven}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the forces are unique, so nothing is to be said
        vdot, force = lb.hybrid_dynamics(s, q, v, tau, motion=motion, external=external)
    assert_close(vdot, expected[0], TOLERANCE, f"vdot with {driven}")
    assert_close(force, expected[1], TOLERANCE, f"forces of {driven}")
    swept = lb.forward_dynamics(s, q, v, tau, motion=motion, external=external)
    assert_close(swept, vdot, TOLERANCE, "vdot by forward_dynamics")
    return driven


@pytest.mark.parametrize("seed", sweep(12, 300))
def test_random_systems_equal_the_block_solution(seed):
    compare(random_closed(6000 + seed), seed)


@pytest.mark.parametrize("seed", sweep(4, 100))
def test_ruthless_systems_equal_the_block_solution(seed):
    compare(random_closed(7000 + seed, "ruthless"), seed)


@pytest.mark.parametrize("kind", CUT)
def test_every_cut_joint_equals_the_block_solution(kind):
    compare(random_closed(8000 + CUT.index(kind), kinds=[kind], closures=2, bodies=6), 1)


@pytest.mark.parametrize("seed", sweep(8, 150))
def test_redundant_closures_equal_the_block_solution(seed):
    compare(random_closed(9000 + seed, redundant=True, bodies=5, closures=3), seed)


@pytest.mark.parametrize("seed", sweep(4, 60))
def test_flexible_systems_equal_the_brute_force_model(seed):
    case = random_closed(
        10000 + seed, tree=lambda rng: random_assembly(rng, 4, flexible=0.7, max_modes=3)
    )
    compare(case, seed, BruteForce(case.assembly))


@pytest.mark.parametrize("name", ["four-bar", "flexible four-bar", "pinned chain", "arms"])
def test_known_systems_equal_the_block_solution(name):
    assembly, q, v = KNOWN[name][0]()
    s = assembly.build()
    assert compare(Case(assembly, s, q, v, np.linspace(-1.0, 1.0, s.nv), {}), 3)


@quiet
def test_the_drive_force_makes_the_motion():
    """Forward dynamics with the forces of hybrid dynamics has the same accelerations."""
    assembly, q, v = four_bar(flexible=True)
    s = assembly.build()
    tau = np.linspace(-1.0, 1.0, s.nv)
    vdot, force = lb.hybrid_dynamics(s, q, v, tau, motion={"rocker": 1.3})
    assert_close(lb.forward_dynamics(s, q, v, force), vdot, 1e-9)


def test_batches():
    assembly, q, v = four_bar()
    s = assembly.build()
    rate = np.linspace(-2.0, 2.0, 5)[:, None]
    vdot, force = lb.hybrid_dynamics(s, q, v, np.zeros(s.nv), motion={"crank": rate})
    for i in range(5):
        one = lb.hybrid_dynamics(s, q, v, np.zeros(s.nv), motion={"crank": rate[i]})
        assert np.array_equal(one[0], vdot[i]) and np.array_equal(one[1], force[i])


# more joints driven than closures leave free


def test_rates_that_closures_cannot_follow_are_refused_by_name():
    assembly, q, v = four_bar()
    s = assembly.build()
    zero = np.zeros(s.nv)
    right = lb.forward_dynamics(s, q, v, zero)
    motion = {"crank": right[0], "rocker": right[2] + 0.5}
    text = (
        r"motion: the closures of 'four-bar' cannot follow the motion of 'crank', 'rocker': 'pin' would have the "
        r"acceleration .* \(rad/s\^2 or m/s\^2\)\. More joints are driven than the closures leave free"
    )
    for function in (lb.forward_dynamics, lb.hybrid_dynamics):
        with pytest.raises(ArgumentValueError, match=text):
            function(s, q, v, zero, motion=motion)
    batch = {name: np.array([[rate], [rate]]) for name, rate in motion.items()}
    batch["rocker"][0] -= 0.5
    with pytest.raises(ArgumentValueError, match=r"\(state 1 of the batch\)"):
        lb.forward_dynamics(s, q, v, zero, motion=batch)


def test_forces_of_too_many_drives_are_told_not_to_be_unique():
    assembly, q, v = four_bar()
    s = assembly.build()
    zero = np.zeros(s.nv)
    right = lb.forward_dynamics(s, q, v, zero)
    motion = {"crank": right[0], "rocker": right[2]}
    with pytest.warns(ModelWarning, match="the motion of 'crank', 'rocker' are not unique"):
        vdot, force = lb.hybrid_dynamics(s, q, v, zero, motion=motion)
    assert_close(vdot, right, 1e-10)
    # any of them makes the motion
    assert_close(lb.forward_dynamics(s, q, v, force), right, 1e-9)


def test_only_joints_in_conflict_are_named():
    a = geared_pair()[0]
    a.attach("free", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Revolute("z"))
    s = a.build()
    first, second = list(s.bodies)[:2]
    motion = dict.fromkeys(s.bodies, 0.3)
    with pytest.raises(ArgumentValueError, match=f"the motion of '{first}', '{second}':"):
        lb.forward_dynamics(s, s.neutral(), np.zeros(3), np.zeros(3), motion=motion)


def test_projection_with_locked_joints():
    assembly, q, v = four_bar(flexible=True)
    s = assembly.build()
    rng = np.random.default_rng(0)
    off = lb.integrate(s, q, rng.normal(size=s.nv), 1e-3)
    moved, speeds = lb.project(s, off, v + 0.1, locked=["crank"])
    where = s.layout["crank"]
    assert np.array_equal(moved[where.q_joint], off[where.q_joint])
    assert np.array_equal(speeds[where.v_joint], (v + 0.1)[where.v_joint])
    position, velocity = lb.constraint_residual(s, moved, speeds)
    assert np.abs(position).max() < 1e-12 and np.abs(velocity).max() < 1e-12
    # the change of the speeds is the least in kinetic energy: it is orthogonal to all that the closures allow
    held = speeds_of(s, ["crank"])
    A = lb.freedoms(s, moved).jacobian[:, ~held]
    allowed = np.linalg.svd(A)[2][np.linalg.matrix_rank(A, 1e-9) :].T
    change = (speeds - v - 0.1)[~held]
    work = allowed.T @ lb.mass_matrix(s, moved)[np.ix_(~held, ~held)] @ change
    assert np.abs(work).max() < 1e-10


def test_speeds_of_locked_joints_that_closures_do_not_allow_are_refused():
    assembly, q, v = four_bar()
    s = assembly.build()
    with pytest.raises(
        DynamicsError, match="do not allow these speeds of the locked joints: 'pin'"
    ):
        lb.project(s, q, v + np.eye(3)[0], locked=["crank", "rocker"])


@pytest.mark.filterwarnings("ignore:the closures")
def test_modes_start_at_rest_where_the_joints_alone_follow_a_motion():
    """A crank that turns from the start moves the rod as if it were rigid; nothing strikes its modes."""
    a = lb.Assembly("slider-crank")
    crank = lb.RigidBody(1.0, (0.1, 0, 0), (0, 0.01, 0.01), nodes={"pin": (0.2, 0, 0)})
    a.attach("crank", crank, lb.Revolute("z"))
    rod = lb.beam(1.0, 0.5, EI=200.0, modes={"y": 2, "z": 1})
    a.attach("rod", rod, lb.Revolute("z"), "crank", "pin")
    a.attach("slider", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Prismatic("x"))
    a.close(("rod", "tip"), ("slider", None), lb.Revolute("z"))
    s = a.build()
    q0 = lb.assemble(s, s.neutral() + np.eye(s.nq)[0], locked=["crank"])
    start = q0[s.layout["crank"].q_joint]
    r = lb.simulate(s, 0.01, q0=q0, motion={"crank": lambda t: (start + 300.0 * t, 300.0, 0.0)})
    assert np.abs(r.v[0, s.layout["rod"].v_modes]).max() < 1e-11
    assert np.abs(lb.constraint_residual(s, q0, r.v[0])[1]).max() < 1e-10
    joint = s.layout["rod"].q_joint.start
    law = -300.0 * 0.2 * np.cos(start) / np.cos(start + q0[joint]) - 300.0
    assert r.v[0, s.layout["rod"].v_joint] == pytest.approx(law)


@quiet
def test_joints_that_are_held_at_rest_may_be_more_than_the_closures_leave_free():
    """What rounding leaves of the balanced weights is no motion that breaks a closure."""
    assembly, q, _ = four_bar()
    s, rest = assembly.build(), np.zeros(3)
    vdot, forces = lb.hybrid_dynamics(s, q, rest, rest, motion={"crank": 0.0, "rocker": 0.0})
    assert np.abs(vdot).max() < TOLERANCE and np.abs(forces).max() > 1.0
    with pytest.raises(ArgumentValueError, match="cannot follow the motion"):
        lb.hybrid_dynamics(s, q, rest, rest, motion={"crank": 0.0, "rocker": 1e-9})
