"""Equilibria: against closed forms, minima of the energy, and SciPy."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import limber as lb
from helpers.random_systems import random_assembly, random_state

TOLERANCE = 1e-9
G = 9.81
DOWN = (0.0, 0.0, -G)

seeds = st.integers(0, 2**32 - 1)


def close(actual, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def rod(length=0.7, mass=1.3):
    """A point mass below the joint, and the node "end" there."""
    return lb.RigidBody(mass, com=(0.0, 0.0, -length), nodes={"end": (0.0, 0.0, -length)})


def pendulum(**physics):
    joint = lb.Revolute([0, 1, 0], **physics)
    return lb.Assembly("pendulum", gravity=DOWN).attach("rod", rod(), joint).build()


def arm(fidelity="full"):
    """Two beams with springs and a stop, and a load on a spherical joint."""
    a = lb.Assembly("arm", gravity=DOWN)
    a.attach("one", lb.beam(2.0, 4.0, EI=400.0), lb.Revolute([0, 1, 0], stiffness=300.0))
    stop = {"limits": (-0.3, 0.05), "stop_stiffness": 1e4}
    a.attach("two", lb.beam(1.5, 2.0, EI=100.0), lb.Revolute([0, 1, 0], **stop), to="one", at="tip")
    load = lb.RigidBody(1.0, (0.2, 0.1, 0.0), (0.1, 0.1, 0.1))
    a.attach("load", load, lb.Spherical(), to="two", at="tip")
    return a.build(fidelity)


# the law


@settings(max_examples=15)
@given(seed=seeds)
def test_forces_balance_at_a_minimum_of_the_energy(seed):
    rng = np.random.default_rng(seed)
    a = random_assembly(rng, bodies=3, flexible=0.5, kinds=("Revolute", "Universal", "Spherical"))
    a.gravity = 0.1 * np.asarray(a.gravity)  # the bodies stay within small deformation
    s = a.build()
    start, _, _ = random_state(rng, s, eta_scale=0.1)
    q = lb.equilibrium(s, start)
    assert np.abs(lb.bias(s, q, np.zeros(s.nv))).max() < 1e-10
    assert not lb.modes(s, q).growth.any()
    assert lb.potential_energy(s, q) <= lb.potential_energy(s, start)


def test_the_configuration_is_the_one_that_scipy_finds():
    """The minimum of the energy of a planar arm with springs and a load at its tip."""
    a = lb.Assembly("arm", gravity=DOWN)
    a.attach("one", lb.beam(2.0, 4.0, EI=400.0), lb.Revolute([0, 1, 0], stiffness=300.0))
    a.attach(
        "two", lb.beam(1.5, 2.0, EI=100.0), lb.Revolute([0, 1, 0], stiffness=50.0), "one", "tip"
    )
    s = a.build()
    force = np.array([30.0, 5.0, 20.0])

    def energy(q):
        return lb.potential_energy(s, q) - force @ lb.pose(s, q, "two", "tip")[1]

    q = lb.equilibrium(s, external={("two", "tip"): [0.0, 0.0, 0.0, *force]})
    found = minimize(energy, s.neutral(), method="BFGS", options={"gtol": 1e-6, "maxiter": 1000})
    close(q, found.x, 1e-5)
    assert energy(q) <= found.fun + 1e-12 * abs(found.fun)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_springs_stops_and_quaternions_balance_to_rounding(fidelity):
    s = arm(fidelity)
    q = lb.equilibrium(s)
    assert np.abs(lb.bias(s, q, np.zeros(s.nv))).max() < 1e-11
    where = s.layout["load"].q_joint
    close(np.linalg.norm(q[where]), 1.0, 1e-14)
    # the load hangs from its joint
    R, _ = lb.pose(s, q, "load")
    if fidelity == "full":
        close(R @ [0.2, 0.1, 0.0], [0.0, 0.0, -np.hypot(0.2, 0.1)])
    assert q[s.layout["two"].q_joint][0] > 0.05  # into the stop


@pytest.mark.parametrize("seed", range(4))
def test_hard_stops_are_found_from_far_beyond_them(seed):
    """Chains that start up to two radians inside stops of 1e7 N m/rad."""
    rng = np.random.default_rng(seed)
    a = lb.Assembly("chain", gravity=DOWN)
    stop = {"limits": (-0.1, 0.1), "stop_stiffness": 1e7}
    place = ("world", None)
    for i, axis in enumerate("yxyz"):
        a.attach(f"link{i}", lb.beam(0.5, 1.0, EI=300.0), lb.Revolute(axis, **stop), *place)
        place = (f"link{i}", "tip")
    a.attach("load", lb.RigidBody(1.0, inertia=(0.1, 0.1, 0.1)), lb.Fixed(), *place)
    s = a.build()
    start = s.neutral()
    for where in s.layout.values():
        start[where.q_joint] = rng.uniform(-2.0, 2.0, where.q_joint.stop - where.q_joint.start)
    q = lb.equilibrium(s, start)
    assert np.abs(lb.bias(s, q, np.zeros(s.nv))).max() < 1e-8
    assert not lb.modes(s, q).growth.any()


def test_a_simulation_starts_at_rest_from_it_and_stays():
    s = arm()
    q = lb.equilibrium(s)
    run = lb.simulate(s, 0.5, q0=q)
    close(run.q[-1], q, 1e-7)


# closed forms


@pytest.mark.parametrize("start", [0.3, np.pi / 2, 2.5, 3.1, -2.0])
def test_a_pendulum_settles_below(start):
    close(lb.equilibrium(pendulum(), [start]), 0.0)


def test_an_unstable_equilibrium_is_returned_where_the_search_starts_in_it():
    assert lb.equilibrium(pendulum(), [np.pi])[0] == np.pi


def test_a_torque_holds_a_pendulum_off_the_vertical():
    close(lb.equilibrium(pendulum(), tau=[3.0]), np.arcsin(3.0 / (1.3 * G * 0.7)), 1e-12)


def test_a_dead_force_and_the_weight_share_the_line_of_a_pendulum():
    """The rod lies along the sum of the weight and the force: tan(angle) = -F/(m g)."""
    s = pendulum()
    q = lb.equilibrium(s, external={("rod", "end"): [0, 0, 0, 5.0, 0, 0]})
    close(q, -np.arctan2(5.0, 1.3 * G), 1e-12)


@pytest.mark.parametrize("damping", [0.0, 3.0])
def test_a_beam_under_a_tip_force_has_its_static_deflection(damping):
    """The tip sinks by F L^3/(3 EI), less what the modes left out carry."""
    b = lb.beam(2.0, 4.0, EI=400.0, modes=20, damping=damping)
    s = lb.Assembly("beam").attach("beam", b, lb.Fixed()).build()
    q = lb.equilibrium(s, external={("beam", "tip"): [0, 0, 0, 0, 0, -0.1]})
    _, p = lb.pose(s, q, "beam", "tip")
    close(p[2], -0.1 * 2.0**3 / (3 * 400.0), 1e-5)


def test_a_locked_joint_stays_and_the_modes_sag():
    s = arm()
    start = s.neutral()
    start[s.layout["one"].q_joint] = 0.4
    q = lb.equilibrium(s, start, locked=["one", "two"])
    assert q[s.layout["one"].q_joint] == 0.4 and q[s.layout["two"].q_joint] == 0.0
    held = lb.bias(s, q, np.zeros(s.nv))
    assert abs(held[s.layout["one"].v_joint][0]) > 10.0
    assert np.abs(held[s.layout["one"].v_modes]).max() < 1e-10


def test_freedoms_without_forces_stay():
    """A free body in space with a bent beam on it: the beam straightens, the body does not move."""
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(10.0, inertia=(1, 1, 1)), lb.Free())
    a.attach("boom", lb.beam(1.0, 1.0, EI=50.0, modes=1), lb.Revolute([0, 0, 1]), to="hub")
    s = a.build()
    start = s.neutral()
    start[:7] = [0.5, 0.5, -0.5, 0.5, 1.0, 2.0, 3.0]
    start[s.layout["boom"].q_modes] = [0.01, 0.02]
    start[s.layout["boom"].q_joint] = 0.7
    q = lb.equilibrium(s, start)
    close(q[s.layout["boom"].q_modes], 0.0, 1e-14)
    close(q[:7], start[:7], 1e-12)
    close(q[s.layout["boom"].q_joint], 0.7, 1e-12)


# steady motions


@pytest.mark.parametrize("speed", [3.0, 6.0])
def test_a_pendulum_on_a_turning_hoop_leaves_the_axis_above_the_critical_speed(speed):
    """cos(angle) = g/(w^2 l) where that is below 1, else the angle is zero."""
    a = lb.Assembly("hoop", gravity=DOWN)
    a.attach("hoop", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Revolute([0, 0, 1]))
    a.attach("bead", rod(), lb.Revolute([0, 1, 0]), to="hoop")
    s = a.build()
    q = lb.equilibrium(s, [0.3, 0.2], [speed, 0.0])
    close(np.cos(q[1]), min(1.0, G / (speed**2 * 0.7)), 1e-10)
    assert q[0] == 0.3


def test_a_spinning_beam_stretches_by_the_centrifugal_load():
    """A hanging rod of springs: EA u' = integral of rho A w^2 x, u(L) = rho A w^2 L^3/(3 EA), to first order."""
    b = lb.beam(1.0, 2.0, EI=10.0, EA=1e5, modes={"stretch": 12})
    s = lb.Assembly("rotor").attach("beam", b, lb.Revolute([0, 0, 1])).build()
    v = np.zeros(s.nv)
    v[-1] = 5.0
    q = lb.equilibrium(s, v=v, locked=["beam"])
    _, p = lb.pose(s, q, "beam", "tip")
    close(p[0] - 1.0, 2.0 * 25.0 / 3e5, 1e-3)
    close(lb.inverse_dynamics(s, q, v, np.zeros(s.nv))[:-1], 0.0)


def test_a_motion_that_changes_its_own_forces_is_no_steady_one():
    s = pendulum()
    with pytest.warns(lb.ModelWarning, match="not steady: .* joint speed 0 of body 'rod'"):
        lb.equilibrium(s, [0.0], [2.0])


# failures


def test_what_nothing_holds_is_named():
    a = lb.Assembly("falling", gravity=DOWN)
    a.attach("stone", lb.RigidBody(2.0, inertia=(1, 1, 1)), lb.Free())
    s = a.build()
    with pytest.raises(
        lb.LimberError,
        match=r"joint speed 5 of body 'stone' has an unbalanced .* 19\.6.*nothing balances it",
    ):
        lb.equilibrium(s)
    with pytest.raises(ValueError, match=r"leaves none"):
        lb.equilibrium(s, locked=["stone"])


def test_a_load_beyond_what_the_system_carries_has_no_equilibrium():
    s = pendulum()
    with pytest.raises(
        lb.LimberError,
        match=r"no equilibrium .* body 'rod' has an unbalanced .* -2[1-3]\..*remedies",
    ):
        lb.equilibrium(s, tau=[30.0])


def test_wrong_arguments_are_refused():
    s = arm()
    v = np.zeros(s.nv)
    v[0] = 1.0
    with pytest.raises(ValueError, match=r"v\[0\] = 1, the speed of mode 1 of body 'one', must be"):
        lb.equilibrium(s, v=v)
    with pytest.raises(ValueError, match="Call equilibrium once per state"):
        lb.equilibrium(s, np.zeros((2, s.nq)) + s.neutral())
    with pytest.raises(ValueError, match=r"tau\[1\] is nan"):
        lb.equilibrium(s, tau=np.where(np.arange(s.nv) == 1, np.nan, 0.0))
    with pytest.raises(ValueError, match=r"external.*must be finite"):
        lb.equilibrium(s, external={("two", "tip"): [0, 0, 0, 0, 0, np.inf]})
    with pytest.raises(ValueError, match="'three' is not in the system"):
        lb.equilibrium(s, locked=["three"])
    with pytest.raises(TypeError, match=r"use \['one'\]"):
        lb.equilibrium(s, locked="one")
    with pytest.raises(ValueError, match="quaternion"):
        lb.equilibrium(s, np.zeros(s.nq))


def test_an_unstable_equilibrium_that_symmetry_leads_to_is_told_of():
    """A column pressed beyond buckling shortens, and no force pushes it sideways."""
    section = lb.Section(EA=1e6, EI=100.0, GJ=80.0, rhoA=0.5)
    column = lb.structures.frame(
        {"root": (0, 0, 0), "tip": (2, 0, 0)}, [("root", "tip")], section, divide=4
    )
    body = column.reduce(
        clamped="root",
        interface="tip",
        modes=4,
        method="static-correction",
        geometric_stiffening=True,
    )
    s = lb.Assembly("column").attach("column", body, lb.Fixed()).build()
    euler = np.pi**2 * 100.0 / 16.0
    with pytest.warns(lb.ModelWarning, match="'column' is unstable: after.* mostly in mode 1 of"):
        q = lb.equilibrium(s, external={("column", "tip"): [0, 0, 0, -1.5 * euler, 0, 0]})
    assert lb.pose(s, q, "column", "tip")[1][0] == pytest.approx(2.0 - 1.5 * euler * 2.0 / 1e6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.equilibrium(s, external={("column", "tip"): [0, 0, 0, -0.9 * euler, 0, 0]})
        lb.equilibrium(
            s, q, external={("column", "tip"): [0, 0, 0, -1.5 * euler, 0, 0]}
        )  # asked for
    aside = {("column", "tip"): [0, 0, 0, -1.5 * euler, 0.1, 0]}
    with pytest.raises(lb.LimberError, match="the stiffness is not positive") as told:
        lb.equilibrium(s, external=aside)
    assert "locked" not in str(told.value)  # its joint is fixed


@pytest.mark.parametrize("joint", ["slider", "plane", "free"])
@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_joint_that_turns_and_slides_settles_alike_at_any_size(size, joint):
    """A body that falls over on springs: how far it may go does not mix radians with metres."""
    weight = 10.0 * size
    k, rate = 40.0, 40.0 * size**2
    joints = {
        "slider": lb.CompoundJoint(
            [lb.Revolute("y", stiffness=0.01 * rate), lb.Prismatic("z", stiffness=k)]
        ),
        "plane": lb.Planar("y", stiffness=[k, k, 0.01 * rate]),
        "free": lb.Free(),
    }
    a = lb.Assembly("body", gravity=(0, 0, -weight))
    body = lb.RigidBody(1.0, (0, 0, size), 0.1 * size**2 * np.ones(3), nodes={"tip": (0, 0, size)})
    a.attach("body", body, joints[joint])
    if joint == "free":
        a.close(("world", (0, 0, 0)), ("body", None), lb.Spherical(), name="pin")
    s = a.build()
    turns = lb.jacobian(s, s.neutral(), "body")[:3].any(axis=0)
    q = lb.equilibrium(s, lb.integrate(s, s.neutral(), 0.05 * turns, 1.0))
    height = lb.pose(s, q, "body", "tip")[1][2] / size
    sag = {"slider": weight / k, "plane": weight / k, "free": 0.0}[joint] / size
    assert abs(height + 1.0 + sag) < 0.05
