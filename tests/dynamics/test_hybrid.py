"""Hybrid dynamics: joints of prescribed motion beside free ones, against the partitioned dense equations."""

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.random_systems import random_assembly, random_state
from limber.errors import ArgumentTypeError, ArgumentValueError, DynamicsError

TOLERANCE = 1e-10
ROUNDING = 1e-13  # the same arithmetic, but in another compiled function
SEEDS = range(12)


def movable(system):
    return [name for name, joint in system.joints.items() if joint.dofs]


def random_system(rng, fidelity):
    assembly = random_assembly(
        rng, bodies=7, rotary=True, physics=rng.random() < 0.7, second=fidelity == "full"
    )
    return assembly.build(fidelity=fidelity)


def random_motion(rng, system, share=0.5):
    bodies = [name for name in movable(system) if rng.random() < share]
    return {name: rng.normal(size=system.joints[name].dofs) for name in bodies}


def columns(system, motion):
    """The speeds of the driven joints, and all others."""
    driven = np.zeros(system.nv, dtype=bool)
    for name in motion:
        driven[system.layout[name].v_joint] = True
    return driven, ~driven


def partitioned(system, q, v, tau, motion, external=None):
    """vdot from M_ff vdot_f = tau_f - bias_f - M_fd vdot_d, and tau, by dense matrices."""
    driven, free = columns(system, motion)
    M = lb.mass_matrix(system, q)
    bias = lb.inverse_dynamics(system, q, v, np.zeros(system.nv), external=external)
    vdot, forces = np.zeros(system.nv), np.array(tau)
    for name, rate in motion.items():
        vdot[system.layout[name].v_joint] = rate
    right = tau[free] - bias[free] - M[np.ix_(free, driven)] @ vdot[driven]
    vdot[free] = np.linalg.solve(M[np.ix_(free, free)], right)
    forces[driven] = (M @ vdot + bias)[driven]
    return vdot, forces


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("seed", SEEDS)
def test_hybrid_dynamics_equals_the_partitioned_equations(seed, fidelity):
    rng = np.random.default_rng(seed)
    s = random_system(rng, fidelity)
    q, v, tau = random_state(rng, s)
    node = (f"b{seed % 7}", None)
    external = {node: rng.normal(size=6)} if seed % 2 else None
    for share in (0.3, 0.7, 1.0):
        motion = random_motion(rng, s, share)
        expected, forces = partitioned(s, q, v, tau, motion, external)
        vdot, found = lb.hybrid_dynamics(s, q, v, tau, motion=motion, external=external)
        assert_close(vdot, expected, TOLERANCE)
        assert_close(found, forces, TOLERANCE)
        assert_close(lb.inverse_dynamics(s, q, v, vdot, external=external), found, TOLERANCE)
        swept = lb.forward_dynamics(s, q, v, tau, motion=motion, external=external)
        assert_close(swept, expected, TOLERANCE)


def test_hybrid_dynamics_with_its_own_forces_is_forward_dynamics():
    rng = np.random.default_rng(3)
    s = random_system(rng, "full")
    q, v, tau = random_state(rng, s)
    vdot, forces = lb.hybrid_dynamics(s, q, v, tau, motion=random_motion(rng, s))
    assert_close(lb.forward_dynamics(s, q, v, forces), vdot, TOLERANCE)


def test_without_driven_joints_it_is_forward_dynamics():
    rng = np.random.default_rng(4)
    s = random_system(rng, "full")
    q, v, tau = random_state(rng, s)
    vdot, forces = lb.hybrid_dynamics(s, q, v, tau, motion={})
    assert np.array_equal(forces, tau)
    assert_close(vdot, lb.forward_dynamics(s, q, v, tau), ROUNDING)


def test_all_joints_of_a_rigid_system_driven_is_inverse_dynamics():
    rng = np.random.default_rng(5)
    s = random_assembly(rng, bodies=8, flexible=0.0, physics=True).build()
    q, v, vdot = random_state(rng, s)
    motion = {name: vdot[s.layout[name].v_joint] for name in movable(s)}
    found, forces = lb.hybrid_dynamics(s, q, v, np.zeros(s.nv), motion=motion)
    assert np.array_equal(found, vdot)
    assert_close(forces, lb.inverse_dynamics(s, q, v, vdot), TOLERANCE)


def test_ruthless_bodies_of_many_modes():
    """Those whose modes are eliminated beforehand (`kernels.precomputed`)."""
    a = lb.Assembly("beams", gravity=(0, 0, -9.81))
    link = lb.beam(
        2.0, 3.0, EI=40.0, GJ=30.0, modes={"bending": 4, "torsion": 2}, polar_inertia=0.1
    )
    to = "world"
    for name in ("l1", "l2", "l3"):
        joint = lb.Revolute("z") if name == "l2" else lb.Spherical()
        a.attach(name, link, joint, to=to, at=None if to == "world" else "tip")
        to = name
    s = a.build(fidelity="ruthless")
    q, v, tau = random_state(np.random.default_rng(1), s, 0.1)
    for motion in ({"l2": 0.7}, {"l1": [1.0, 2.0, 3.0], "l3": [0.1, 0.2, 0.3]}):
        expected, _ = partitioned(s, q, v, tau, motion)
        assert_close(lb.forward_dynamics(s, q, v, tau, motion=motion), expected, TOLERANCE)


def test_batches_of_states_and_of_motions():
    rng = np.random.default_rng(6)
    s = random_system(rng, "full")
    name = movable(s)[2]
    states = [random_state(rng, s) for _ in range(5)]
    q, v, tau = (np.array(x) for x in zip(*states))
    rate = rng.normal(size=(5, s.joints[name].dofs))
    vdot, forces = lb.hybrid_dynamics(s, q, v, tau, motion={name: rate})
    assert vdot.shape == forces.shape == (5, s.nv)
    for i in range(5):
        one = lb.hybrid_dynamics(s, q[i], v[i], tau[i], motion={name: rate[i]})
        assert np.array_equal(one[0], vdot[i]) and np.array_equal(one[1], forces[i])
    wide = lb.forward_dynamics(s, q[0], v[0], tau[0], motion={name: rate})
    assert wide.shape == (5, s.nv)


def test_a_driven_joint_may_be_the_singular_one():
    """Two axes in line are singular when free, and no longer so when one of them is driven."""
    a = lb.Assembly("in line")
    a.attach("first", lb.RigidBody(0.0), lb.Revolute("z"))
    joint = lb.CompoundJoint([lb.Revolute("y"), lb.Revolute("z")])
    a.attach("second", lb.RigidBody(1.0, inertia=(1.0, 2.0, 3.0)), joint, to="first")
    s = a.build()
    q, zero = np.zeros(3), np.zeros(3)
    with pytest.raises(DynamicsError, match="moves no mass"):
        lb.forward_dynamics(s, q, zero, zero)
    vdot, forces = lb.hybrid_dynamics(s, q, zero, zero, motion={"first": 0.5})
    assert_close(vdot, [0.5, 0.0, -0.5], TOLERANCE)
    assert_close(forces, [0.0, 0.0, 0.0], TOLERANCE)
    with pytest.raises(DynamicsError, match="moves no mass"):
        lb.forward_dynamics(s, q, zero, zero, motion={})


@pytest.fixture(scope="module")
def pair():
    a = lb.Assembly("pair")
    body = lb.RigidBody(1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1), nodes={"tip": (1, 0, 0)})
    a.attach("base", body, lb.Free()).attach("mount", body, lb.Fixed(), to="base")
    a.attach("arm", body, lb.Revolute("z"), to="mount", at="tip")
    return a.build()


@pytest.mark.parametrize(
    ("motion", "error", "text"),
    [
        ({"amr": 1.0}, ArgumentValueError, r"motion: body='amr' is not in the system.*'arm'"),
        ({"mount": 1.0}, ArgumentValueError, "motion: the joint of body 'mount' is fixed"),
        ({"arm": [1.0, 2.0]}, ArgumentValueError, r"motion\['arm'\] must have shape \(..., 1\), got \(2,\): the joint has 1 speed\."),
        ({"base": 1.0}, ArgumentValueError, r"motion\['base'\] must have shape \(..., 6\).*6 speeds"),
        ({"arm": np.nan}, ArgumentValueError, r"motion\['arm'\]\[0\] is nan"),
        ({"arm": "fast"}, ArgumentTypeError, r"motion\['arm'\]"),
        ([("arm", 1.0)], ArgumentTypeError, "motion must map body names"),
    ],
)  # fmt: skip
def test_motions_that_make_no_sense_are_refused(pair, motion, error, text):
    state = pair.neutral(), np.zeros(pair.nv), np.zeros(pair.nv)
    for function in (lb.forward_dynamics, lb.hybrid_dynamics):
        with pytest.raises(error, match=text):
            function(pair, *state, motion=motion)


def test_other_methods_take_no_motion(pair):
    state = pair.neutral(), np.zeros(pair.nv), np.zeros(pair.nv)
    with pytest.raises(ArgumentValueError, match='motion requires method="articulated"'):
        lb.forward_dynamics(pair, *state, motion={"arm": 1.0}, method="composite")
