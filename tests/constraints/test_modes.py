"""Modes of closed systems: closed forms, reductions, trees of the same mechanics, and brute-force differences."""

import numpy as np
import pytest

import limber as lb
from constraints.known import (
    bricard,
    double_four_bar,
    double_four_bar_rate,
    flexible_slider_crank,
    four_bar,
    pinned_chain,
    rod,
)
from constraints.reference import freedoms, rows
from helpers.compare import assert_close

TOLERANCE = 1e-9
DIFFERENCES = 1e-6  # of second differences of the energy
DOWN = (0.0, -9.81, 0.0)


def squares(found):
    """The squares of the frequencies, negative for directions of falling, in increasing order."""
    return np.sort(found.omega**2 - found.growth**2)


def on_manifold(s, q, x):
    """The configuration that satisfies the closures at q moved by x, and by combinations of the rows."""
    p = lb.integrate(s, q, x, 1.0)
    for _ in range(20):
        found = rows(s, p, np.zeros(s.nv))
        p = lb.integrate(s, p, -np.linalg.lstsq(found.A, found.residual, rcond=1e-9)[0], 1.0)
    return p


def brute_squares(s, q, tau, h=2e-3):
    """Squares of frequencies from second differences of the energy along the closures, and their own basis.

    The forces tau, of speeds that are rates of coordinates, have the potential -tau . q.
    """
    F, M = freedoms(s, q), lb.mass_matrix(s, q)
    F = F @ np.linalg.inv(np.linalg.cholesky(F.T @ M @ F)).T
    n = F.shape[1]

    def energy(y):
        p = on_manifold(s, q, F @ y)
        return lb.potential_energy(s, p) - (p - q) @ tau

    middle = energy(np.zeros(n))

    def second(y):
        near, far = (energy(a * h * y) + energy(-a * h * y) - 2.0 * middle for a in (1, 2))
        return (16.0 * near - far) / (12.0 * h**2)

    eye = np.eye(n)
    own = [second(e) for e in eye]
    K = np.diag(own)
    for i in range(n):
        for j in range(i):
            K[i, j] = K[j, i] = 0.5 * (second(eye[i] + eye[j]) - own[i] - own[j])
    return np.linalg.eigvalsh(K)


@pytest.mark.parametrize("cells", [1, 3])
def test_parallelograms_swing_as_their_cranks_do(cells):
    assembly, q, _ = double_four_bar(cells)
    s = assembly.build()
    hanging = lb.modes(s, -q, tau=np.zeros(s.nv))
    upright = lb.modes(s, q, tau=np.zeros(s.nv))
    rate = double_four_bar_rate(0.0, cells)  # g times masses over inertias
    assert_close(hanging.omega, [np.sqrt(-rate)], TOLERANCE)
    assert_close(upright.growth, [np.sqrt(-rate)], TOLERANCE)
    assert hanging.imbalance < 1e-14


@pytest.mark.parametrize(
    "make",
    [four_bar, lambda: pinned_chain(3), bricard, lambda: four_bar(flexible=True)],
    ids=["four-bar", "pinned chain", "Bricard", "flexible four-bar"],
)
@pytest.mark.filterwarnings("ignore::limber.TheoryWarning")
def test_stiffness_is_the_second_difference_of_the_energy(make):
    """Among them rows that depend on each other; a torque on the first joint is held."""
    assembly, q, _ = make()
    s = assembly.build()
    tau = np.zeros(s.nv)
    tau[s.layout[next(iter(s.layout))].v_joint.start] = 1.5
    q = lb.equilibrium(s, q, tau=tau)
    found = lb.modes(s, q, tau=tau)
    assert found.imbalance < 1e-9
    expected = brute_squares(s, q, tau)
    assert_close(squares(found) / expected.max(), expected / expected.max(), DIFFERENCES)


def test_torques_that_are_held_belong_to_their_joints():
    """The torque that holds a four-bar has another stiffness at its crank than at its rocker."""
    assembly, q, _ = four_bar()
    s = assembly.build()
    found = []
    for name in ("crank", "rocker"):
        tau = lb.inverse_dynamics(s, q, np.zeros(s.nv), np.zeros(s.nv), actuated=[name])
        found.append(squares(lb.modes(s, q, tau=tau)))
        assert_close(found[-1], brute_squares(s, q, tau), DIFFERENCES)
    assert abs(found[0] - found[1]) > 0.1


def long_beam(joint, **options):
    """A beam between the world and a wall, and the square of the rate sqrt(EI/mu)/L^2."""
    length, mass, EI = 2.0, 3.0, 100.0
    options = {"load": (1e6 * mass, 1e6 * mass * length**2), "elements": 2, **options}
    a = lb.Assembly("beam")
    modes = {"y": 7, "stretch": 6}
    beam = lb.beam(length, mass, EI=EI, EA=1e5, modes=modes, **options)
    a.attach("beam", beam, lb.Fixed())
    a.close(("beam", "tip"), ("world", (length, 0, 0)), joint, "wall")
    return a.build(), np.sqrt(EI * length / mass) / length**2, np.sqrt(1e5 * length / mass) / length


def test_beams_between_walls_have_the_frequencies_of_the_closed_form():
    """Bending cos x cosh x = 1 and stretch sin x = 0: clamped at both ends by a Fixed closure."""
    s, bending, stretch = long_beam(lb.Fixed())
    found = lb.modes(s).omega
    roots = np.array([4.730040744862704, 7.853204624095838, 10.99560783800167])
    expected = np.sort([*(roots**2 * bending), stretch * np.pi])
    assert_close(found[:4], expected, 1e-8)


def test_beams_on_a_ball_joint_have_the_frequencies_of_the_closed_form():
    """tan x = tanh x: clamped at one end and pinned at the other."""
    s, bending, _ = long_beam(lb.Revolute("z"))
    roots = np.array([3.926602312047919, 7.068582745628732])
    assert_close(lb.modes(s).omega[:2], roots**2 * bending, 1e-3)


def test_strings_between_walls_are_tuned_by_their_tension():
    """A pinned beam that is stretched between walls: w_n^2 = (n pi/L)^4 EI/mu + (n pi/L)^2 N/mu, for a small strain."""
    length, mass, EI, EA, pull = 1.0, 0.1, 0.02, 4e5, 5e-5
    a = lb.Assembly("string")
    modes = {"y": 8, "stretch": 2}
    body = lb.beam(
        length, mass, EI=EI, EA=EA, modes=modes, geometric_stiffening=True, load=(1e4, 0.0)
    )
    a.attach("string", body, lb.Revolute("z"))
    a.close(("world", (length + pull, 0, 0)), ("string", "tip"), lb.Revolute("z"), "bridge")
    s = a.build()
    q = lb.equilibrium(s)
    with pytest.warns(lb.ModelWarning, match="not unique"):
        force = lb.constraint_forces(s, q, np.zeros(s.nv), np.zeros(s.nv))["bridge"]
    tension = force[3]
    assert_close(tension, EA * pull / length, 1e-9)
    k = np.arange(1, 4) * np.pi / length
    expected = np.sqrt((k**4 * EI + k**2 * tension) / (mass / length))
    assert_close(lb.modes(s, q).omega[:3], expected, 1e-4)
    assert lb.modes(s, q).imbalance < 1e-9


def cut_pair(cut, gravity=DOWN, fidelity="full"):
    """A hub with an arm on it, as a tree, or with the arm free in space and joined to the hub by a closure."""
    a = lb.Assembly("arm on a hub", gravity)
    hub = lb.RigidBody(2.0, inertia=(0.3, 0.4, 0.5), nodes={"rim": (0.4, 0.1, 0.0)})
    options = {"geometric_stiffening": True, "GJ": 30.0, "polar_inertia": 0.02}
    arm = lb.beam(1.2, 1.0, EI=(60.0, 90.0), modes={"bending": 1, "torsion": 1}, **options)
    a.attach("hub", hub, lb.Revolute("z"))
    if cut:
        a.attach("arm", arm, lb.Free())
        a.close(("hub", "rim"), ("arm", None), lb.Revolute("z"), "hinge")
    else:
        a.attach("arm", arm, lb.Revolute("z"), "hub", "rim")
    a.attach("tip", rod(0.5, 0.7, 0.05), lb.Universal("y", "z"), "arm", "tip")
    return a.build(fidelity)


def cut_state(tree, closed, q, v):
    """The state of the cut pair that is that of the tree."""
    p, u = closed.neutral(), np.zeros(closed.nv)
    for name in tree.layout:
        t, c = tree.layout[name], closed.layout[name]
        p[c.q_modes], u[c.v_modes] = q[t.q_modes], v[t.v_modes]
        if name != "arm":
            p[c.q_joint], u[c.v_joint] = q[t.q_joint], v[t.v_joint]
    R, place = lb.pose(tree, q, "arm")
    angle = np.arctan2(R[1, 0], R[0, 0])
    turned = np.array([np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2)])
    p[closed.layout["arm"].q_joint] = [*turned, *place]
    J = lb.jacobian(tree, q, "arm")
    u[closed.layout["arm"].v_joint] = np.concatenate([R.T @ (J[:3] @ v), R.T @ (J[3:] @ v)])
    return p, u


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_a_cut_tree_has_the_modes_of_the_tree(fidelity):
    """Where the joints are held by torques too, which the closure carries; of all torques, the least are held."""
    tree, closed = cut_pair(False, fidelity=fidelity), cut_pair(True, fidelity=fidelity)
    q = lb.equilibrium(tree, [0.3, *np.zeros(3), -0.4, 0.2, 0.1])
    p, _ = cut_state(tree, closed, q, np.zeros(tree.nv))
    expected = lb.modes(tree, q, tau=np.zeros(tree.nv))
    found = lb.modes(closed, p, tau=np.zeros(closed.nv))
    tolerance = 1e-9 if fidelity == "full" else 2e-3
    assert_close(found.omega, expected.omega, tolerance)
    assert found.imbalance < (1e-9 if fidelity == "full" else 1e-2)


def test_a_cut_tree_has_the_modes_of_the_tree_in_a_steady_spin():
    """Gyroscopic and centrifugal terms, about a free body that turns."""
    tree, closed = cut_pair(False, gravity=(0, 0, 0)), cut_pair(True, gravity=(0, 0, 0))
    v = np.zeros(tree.nv)
    v[tree.layout["hub"].v_joint] = 3.0
    q = lb.equilibrium(tree, [0.3, *np.zeros(3), 0.1, 0.0, 0.1], v, locked=["hub"])
    p, u = cut_state(tree, closed, q, v)
    for locked in ([], ["hub"]):
        expected, found = lb.modes(tree, q, v, locked), lb.modes(closed, p, u, locked)
        assert_close(found.omega, expected.omega, 1e-7)
        assert_close(found.growth, expected.growth, 1e-6)
    again = lb.equilibrium(closed, p, u, locked=["hub"])
    assert_close(again, p, 1e-8)


def test_a_pendulum_on_two_cranks_is_tuned_to_the_spin():
    """A bifilar centrifugal pendulum: w^2 = W^2 R/l (m + m_c)/(m + 2 m_c/3), m of the bob and m_c of a crank."""
    R, length, bob, crank, spin = 0.8, 0.3, 2.0, 0.4, 5.0
    a = lb.Assembly("bifilar")
    hub = lb.RigidBody(1.0, inertia=(1, 1, 1), nodes={"up": (R, 0.1, 0), "down": (R, -0.1, 0)})
    a.attach("hub", hub, lb.Revolute("z"))
    for side in ("up", "down"):
        a.attach(side, rod(length, crank), lb.Revolute("z"), "hub", side)
    nodes = {"up": (0, 0.1, 0), "down": (0, -0.1, 0)}
    body = lb.RigidBody(bob, inertia=(0.1, 0.1, 0.1), nodes=nodes)
    a.attach("bob", body, lb.Revolute("z"), "up", "tip", inboard="up")
    a.close(("down", "tip"), ("bob", "down"), lb.Revolute("z"), "pin")
    s = a.build()
    v = np.zeros(s.nv)
    v[0] = spin
    q = lb.equilibrium(s, [0.0, 0.3, 0.3, -0.3], v, locked=["hub"])
    assert_close(q, np.zeros(4), 1e-9)
    expected = spin * np.sqrt(R / length * (bob + crank) / (bob + 2.0 * crank / 3.0))
    assert_close(lb.modes(s, q, v, locked=["hub"]).omega, [expected], TOLERANCE)


def test_flexible_slider_crank_with_its_crank_held():
    assembly, q, _ = flexible_slider_crank()
    s = assembly.build()
    found = lb.modes(s, q, locked=[next(iter(s.layout))])
    assert found.shapes.shape == (s.nv, lb.freedoms(s, q).number - 1)
    assert np.abs(lb.freedoms(s, q).jacobian @ found.shapes).max() < 1e-9
    assert_close(found.shapes.T @ lb.mass_matrix(s, q) @ found.shapes, np.eye(2), 1e-9)
    assert not found.shapes[s.layout[next(iter(s.layout))].v_joint].any()


def test_gears_add_the_stiffness_of_springs_by_their_ratios():
    a = lb.Assembly("geared")
    a.attach("motor", rod(0.1, 1.0), lb.Revolute("z", stiffness=2.0))
    a.attach("wheel", rod(0.4, 1.0), lb.Revolute("z", stiffness=5.0, damping=0.01))
    a.gear("motor", "wheel", ratio=3.0)
    inertia = 0.4**2 / 3.0 + 9.0 * 0.1**2 / 3.0
    omega = np.sqrt((5.0 + 9.0 * 2.0) / inertia)
    found = lb.modes(a.build())
    assert_close(found.omega, [omega], TOLERANCE)
    assert_close(found.damping, [0.01 / (2.0 * omega * inertia)], TOLERANCE)


def test_singular_positions_are_told():
    assembly, _, _ = double_four_bar()
    s = assembly.build()
    with pytest.warns(
        lb.ModelWarning, match="singular position: its closures leave 3 degree.s. of freedom"
    ):
        lb.modes(s, np.zeros(s.nv))


def test_configurations_that_break_closures_are_refused():
    assembly, q, _ = four_bar()
    s = assembly.build()
    with pytest.raises(
        lb.LimberError,
        match=r"lb.modes: q does not satisfy the closures of 'four-bar': 'pin' is off",
    ):
        lb.modes(s, q + 0.01)


def test_speeds_that_break_closures_are_refused():
    assembly, q, v = four_bar()
    s = assembly.build()
    with pytest.raises(lb.LimberError, match=r"v breaks a closure of 'four-bar': 'pin' has the ve"):
        lb.modes(s, q, [1.0, 0.0, 0.0])
    with pytest.raises(lb.LimberError, match=r"v breaks a closure of 'four-bar': after .* 'pin'"):
        lb.modes(s, q, v)


def test_systems_without_freedoms_have_no_modes():
    assembly, q, _ = four_bar()
    s = assembly.build()
    with pytest.raises(lb.LimberError, match="the closures of 'four-bar' allow no motion"):
        lb.modes(s, q, locked=["crank"])


def test_modal_damping_of_a_closed_system():
    s, _, _ = long_beam(lb.Fixed())
    damped = lb.modal_damping(s, 0.02)
    assert_close(damped.achieved, np.full(len(damped.omega), 0.02), 1e-3)
    assert_close(lb.modes(damped.system).damping, damped.achieved, 1e-9)
    assert damped.system.closures
