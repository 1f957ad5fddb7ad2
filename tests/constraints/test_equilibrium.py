"""Equilibria and load paths of closed systems."""

import numpy as np
import pytest

import limber as lb
from constraints.known import double_four_bar, four_bar, pinned_chain, rod
from helpers.compare import assert_close

TOLERANCE = 1e-9


def force_of(s, q, name, tau=None):
    """The force of a closure at rest."""
    zero = np.zeros(s.nv)
    return lb.constraint_forces(s, q, zero, zero if tau is None else tau)[name]


@pytest.mark.filterwarnings("ignore:the closures")
def test_chains_hang_in_a_catenary():
    """Of links of equal weight: tan of the slope of link i grows by weight / horizontal force from link to link."""
    assembly, q, _ = pinned_chain(8, planar=True)
    s = assembly.build()
    q = lb.equilibrium(s, q)
    pull = force_of(s, q, "far end")[3:]
    slopes = np.tan(np.cumsum(q))
    weight = 9.81
    expected = (pull[1] - weight * (np.arange(8)[::-1] + 0.5)) / pull[0]
    assert_close(slopes, expected, TOLERANCE)
    assert np.abs(lb.constraint_residual(s, q)).max() < 1e-11
    again = lb.equilibrium(s, q)
    assert_close(again, q, 1e-12)


def test_equilibria_are_found_from_guesses_that_break_closures():
    assembly, q, _ = four_bar()
    s = assembly.build()
    found = lb.equilibrium(s, q + np.array([0.3, -0.2, 0.1]))
    assert np.abs(lb.constraint_residual(s, found)).max() < 1e-11
    zero = np.zeros(s.nv)
    assert np.abs(lb.forward_dynamics(s, found, zero, zero)).max() < 1e-7


def test_a_sprung_linkage_balances_its_weight_and_torques():
    """The power of all forces along the one freedom is zero."""
    a = lb.Assembly("sprung", gravity=(0, -9.81, 0))
    a.attach("crank", rod(1.0, 1.0), lb.Revolute("z", stiffness=20.0, rest=1.0))
    a.attach("coupler", rod(2.5, 2.0), lb.Revolute("z"), "crank", "tip")
    a.attach("rocker", rod(1.8, 1.5), lb.Revolute("z"), offset=(2.2, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), "pin")
    s = a.build()
    tau, load = np.array([0.0, 0.0, 4.0]), {("coupler", "mid"): [0, 0, 0, 3.0, -5.0, 0]}
    q = lb.equilibrium(s, [1.0, -0.7, 1.2], tau=tau, external=load)
    zero = np.zeros(s.nv)
    power = lb.freedoms(s, q).basis.T @ (lb.inverse_dynamics(s, q, zero, zero, external=load) - tau)
    assert np.abs(power).max() < 1e-9
    assert lb.modes(s, q, tau=tau, external=load).imbalance < 1e-9


def test_locked_joints_stay():
    assembly, q, _ = four_bar(flexible=True)
    s = assembly.build()
    with pytest.warns(lb.TheoryWarning):
        found = lb.equilibrium(s, q, locked=["crank"])
    assert found[s.layout["crank"].q_joint] == q[s.layout["crank"].q_joint]
    assert np.abs(lb.constraint_residual(s, found)).max() < 1e-11
    assert np.abs(found[s.layout["coupler"].q_modes]).max() > 1e-4


def test_systems_that_cannot_move_stay_where_they_are():
    assembly, q, _ = four_bar()
    s = assembly.build()
    assert_close(lb.equilibrium(s, q, locked=["crank"]), q, 1e-10)


def test_beams_between_walls_sag_as_the_closed_form():
    """w L^4 / (384 EI) in the middle of a clamped beam, with wL/2 and wL^2/12 at the walls."""
    length, mass, EI, g = 2.0, 3.0, 1e5, 9.81
    a = lb.Assembly("beam", gravity=(0, -g, 0))
    body = lb.beam(length, mass, EI=EI, EA=1e8, modes={"y": 7, "stretch": 1}, load=(1e8, 1e8))
    a.attach("beam", body, lb.Fixed())
    a.close(("world", (length, 0, 0)), ("beam", "tip"), lb.Fixed(), "wall")
    s = a.build()
    q = lb.equilibrium(s)
    load = mass * g / length
    _, middle = lb.pose(s, q, "beam", "node5")
    assert_close(1e5 * middle[1], -1e5 * load * length**4 / (384.0 * EI), 1e-3)
    with pytest.warns(lb.ModelWarning, match=r"not unique: 'wall' \(mx, my, fz\)"):
        wrench = force_of(s, q, "wall")
    assert_close(wrench[4], load * length / 2.0, 1e-9)
    assert_close(wrench[2], -load * length**2 / 12.0, 1e-3)


def test_loops_that_cannot_be_closed_name_the_closure():
    a = lb.Assembly("too short")
    for name, x in (("left", 0.0), ("right", 3.0)):
        a.attach(name, rod(1.0, 1.0), lb.Revolute("z"), offset=(x, 0, 0))
    a.close(("left", "tip"), ("right", "tip"), lb.Revolute("z"), "knee")
    with pytest.raises(lb.LimberError, match=r"equilibrium: .* 'knee' is off by 1 \(rad or m\)"):
        lb.equilibrium(a.build())


def test_freedoms_that_nothing_holds_are_named():
    assembly, q, _ = four_bar()
    s = assembly.build()
    tau = np.array([100.0, 0.0, 0.0])
    with pytest.raises(lb.LimberError, match=r"'four-bar' has no equilibrium near this q: joint"):
        lb.equilibrium(s, q, tau=tau)


# load paths


def truss(height=0.4, stiffness=2000.0):
    """Two springy rods that lean on each other: a von Mises truss, its apex at (1, height)."""
    a = lb.Assembly("truss")
    for name, x in (("left", 0.0), ("right", 2.0)):
        a.attach(f"{name} foot", rod(0.1, 0.1), lb.Revolute("z"), offset=(x, 0, 0))
        slide = lb.Prismatic("x", stiffness=stiffness, rest=np.hypot(1.0, height))
        a.attach(name, lb.RigidBody(0.2, inertia=(0.01, 0.01, 0.01)), slide, f"{name} foot")
    a.close(("left", None), ("right", None), lb.Revolute("z"), "apex")
    s = a.build()
    angle, length = np.arctan2(height, 1.0), np.hypot(1.0, height)
    return s, np.array([angle, length, np.pi - angle, length])


def truss_force(y, height=0.4, stiffness=2000.0):
    """The downward force that holds the apex at the height y."""
    length = np.hypot(1.0, y)
    return 2.0 * stiffness * (np.hypot(1.0, height) - length) * y / length


@pytest.mark.slow
def test_a_truss_snaps_through_at_its_limit_load():
    s, q = truss()
    y = np.linspace(0.0, 0.4, 200001)
    limit = truss_force(y).max()
    load = {("left", None): [0, 0, 0, 0, -1.0, 0]}
    path = lb.follow(s, np.linspace(0.0, 1.5 * limit, 16), q, external=load)
    assert path.kind in ("limit point", "buckling")
    assert_close(path.critical, limit, 1e-6)
    _, apex = lb.pose(s, path.q[3], "left")
    assert_close(truss_force(apex[1]), path.factors[3], TOLERANCE)


def test_a_guided_column_buckles_at_eulers_load():
    """Clamped below and guided above by a Prismatic closure: pi^2 EI/L^2 if its head may move aside."""
    length, EI = 2.0, 50.0
    a = lb.Assembly("column")
    options = {"geometric_stiffening": True, "load": (1e6, 1e6)}
    a.attach("column", lb.beam(length, 1.0, EI=EI, modes={"y": 6}, **options), lb.Fixed())
    guide = lb.CompoundJoint([lb.Prismatic("x"), lb.Prismatic("y")])
    a.close(("world", (length, 0, 0)), ("column", "tip"), guide, "guide")
    load = {("column", "tip"): [0, 0, 0, -1.0, 0, 0]}
    euler = np.pi**2 * EI / length**2
    path = lb.follow(a.build(), euler * np.linspace(0.0, 1.2, 7), external=load)
    assert path.kind == "buckling"
    assert_close(path.critical, euler, 1e-4)


def test_load_paths_keep_the_closures():
    """A hanging four-bar linkage under a torque on its crank: every point is the equilibrium of its load."""
    assembly, q, _ = four_bar()
    s = assembly.build()
    tau = np.array([1.0, 0.0, 0.0])
    start = lb.equilibrium(s, q)
    path = lb.follow(s, np.linspace(0.0, 4.0, 5), start, tau=tau)
    assert np.abs(lb.constraint_residual(s, path.q)).max() < 1e-11
    assert np.abs(np.diff(path.q[:, 0])).min() > 1e-3
    for factor, there, omega in zip(path.factors, path.q, path.omega):
        vdot = lb.forward_dynamics(s, there, np.zeros(s.nv), factor * tau)
        assert np.abs(vdot).max() < 1e-8
        found = lb.modes(s, there, tau=factor * tau).omega
        assert_close(found[0], omega, TOLERANCE)


def test_a_path_in_singular_positions_is_said_once():
    """The double four-bar lies flat; without gravity it stays so, with a bit of it nothing balances."""
    assembly, _, _ = double_four_bar()
    s = assembly.build()
    with pytest.warns(lb.ModelWarning, match="in a singular position") as said:
        path = lb.follow(s, [0.0, 0.5, 1.0], np.zeros(s.nq), gravity=True)
    assert len(said) == 1
    assert path.kind == "limit point" and path.critical == 0.0
