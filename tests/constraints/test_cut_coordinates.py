"""Cut joints that have coordinates of their own: found wherever the ends are, at any distance."""

import numpy as np
import pytest

import limber as lb
from constraints.placing import close_here
from constraints.reference import derivative, end_pose, rows
from helpers.random_systems import random_state
from limber.dynamics.closure_loads import closure_stiffness
from limber.dynamics.rows import row_space

JOINTS = {
    "frictionless point": lb.FrictionlessPoint(),
    "sliding line": lb.SlidingLine(0.1),
    "hinge and slider": lb.CompoundJoint([lb.Revolute("z"), lb.Prismatic("x")]),
    "hinge, slider and hinge": lb.CompoundJoint(
        [lb.Revolute("z"), lb.Prismatic("x"), lb.Revolute("y")]
    ),
    "ball and slider": lb.CompoundJoint([lb.Spherical(), lb.Prismatic("x")]),
    "telescope": lb.CompoundJoint([lb.Universal("x", "y"), lb.Prismatic("z")]),
    "screw and slider": lb.CompoundJoint([lb.Screw("z", 0.1), lb.Prismatic([1, 0, 0.5])]),
}


def quaternion(R):
    """The unit quaternion of a rotation, by the eigenvector of Bar-Itzhack's matrix."""
    K = np.array(
        [
            [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0, R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [0, 0, R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
            [0, 0, 0, R[2, 2] - R[0, 0] - R[1, 1]],
        ]
    )
    return np.linalg.eigh(K, UPLO="U")[1][:, -1]


@pytest.mark.parametrize("length", [0.001, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("name", JOINTS)
def test_a_body_held_by_a_cut_joint_moves_as_one_on_that_joint(name, length):
    """A free body that a joint holds, cut, accelerates as the body that is attached by the joint, at any distance."""
    joint = JOINTS[name]
    body = lb.RigidBody(2.0, (0.1, -0.2, 0.3), (0.5, 0.6, 0.7))
    on = lb.Assembly("on", gravity=(1.0, -9.0, 3.0)).attach("body", body, joint).build()
    held = lb.Assembly("held", gravity=(1.0, -9.0, 3.0)).attach("body", body, lb.Free())
    held = held.close(("world", (0, 0, 0)), ("body", None), joint, name="cut").build()
    rng = np.random.default_rng(0)
    slides = np.linalg.norm(lb.jacobian(on, on.neutral(), "body")[:3], axis=0) < 1e-9
    for _ in range(20):
        way = rng.uniform(-2.5, 2.5, on.nv) * np.where(slides, length, 1.0)
        at = lb.integrate(on, on.neutral(), way, 1.0)
        speed = 0.1 * rng.standard_normal(on.nv)
        R, p = lb.pose(on, at, "body")
        q = np.concatenate([quaternion(R), p])
        position = lb.constraint_residual(held, q)
        assert np.abs(position).max() < 1e-12 * max(1.0, length)

        rates = lb.forward_dynamics(on, at, speed, np.zeros(on.nv))
        wanted = lb.acceleration(on, at, speed, rates, "body")
        twist = lb.jacobian(on, at, "body") @ speed
        v = np.linalg.solve(lb.jacobian(held, q, "body"), twist)
        rates = lb.forward_dynamics(held, q, v, np.zeros(6))
        found = lb.acceleration(held, q, v, rates, "body")
        assert np.allclose(found, wanted, rtol=1e-7, atol=1e-7 * np.abs(wanted).max())


def turned_about(axis, place):
    """A hinge about an axis through a place, in the axes of the frame before it."""
    axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    return lb.SimpleJoint(np.concatenate([axis, np.cross(place, axis)])[:, None])


RODS = {
    "two hinges": [lb.Revolute("z"), turned_about([0, 0, 1], (0.5, 0, 0))],
    "a long rod": [lb.Revolute("z"), turned_about([0, 0, 1], (20.0, 0, 0))],
    "hinges that are not quite parallel": [
        lb.Revolute("z"),
        turned_about([0, 0.2, 1], (0.5, 0.1, 0.3)),
    ],
    "a hinge and a cross": [
        lb.Revolute("z"),
        turned_about([0, 0, 1], (0.5, 0, 0)),
        turned_about([0, 1, 0], (0.5, 0, 0)),
    ],
    "almost parallel hinges and a slider": [
        lb.Revolute("z"),
        lb.Revolute([0, 0.1, 1]),
        lb.Prismatic("x"),
    ],
}


@pytest.mark.parametrize("name", RODS)
def test_rods_without_mass_are_found_in_all_positions(name):
    """A closure by two hinges of a rod is met wherever these turn, all the way round."""
    joint = lb.CompoundJoint(RODS[name])
    a = lb.Assembly("held").attach("body", lb.RigidBody(2.0, inertia=(1, 1, 1)), lb.Free())
    held = a.close(("world", (0, 0, 0)), ("body", None), joint, name="rod").build()
    angles = np.linspace(-3.1, 3.1, 32)
    q = []
    for first in angles:
        for second in angles:
            R, p = joint.configuration([first, second, 0.7][: joint.nq])
            q.append(np.concatenate([quaternion(R), p]))
    q = np.array(q)
    off = np.abs(lb.constraint_residual(held, q)).max(axis=1)
    assert (off < 1e-12 * np.maximum(1.0, np.abs(q[:, 4:]).max(axis=1))).all()


def hinge_then_slider(seed):
    """A flexible arm whose tip is held by a hinge and a slider in general directions, and a state that meets them."""
    rng = np.random.default_rng(seed)
    a = lb.Assembly("arm", gravity=(1.0, -2.0, -9.0))
    link = lb.beam(1.0, 1.0, EI=80.0, modes=1, polar_inertia=0.02)
    a.attach("lower", link, lb.Universal("x", "y"))
    a.attach("upper", link, lb.Spherical(), "lower", "tip")
    tree = a.build()
    q, _, _ = random_state(rng, tree)
    axes = rng.normal(size=(2, 3))
    joint = lb.CompoundJoint([lb.Revolute(axes[0]), lb.Prismatic(axes[1])])
    theta = rng.uniform(-0.8, 0.8, 2)
    close_here(a, tree, q, ("world", (0, 0, 0)), ("upper", "tip"), joint, theta, "cut")
    return a.build(), q, theta


def along(system, q, direction, step=0.01):
    """-d(A^T lambda)/dx along a direction, of rows of the reference whose wrench on end b is carried along."""

    def basis(p, rows):
        R = end_pose(system, p, system.closures["cut"].b)[0]
        return np.kron(np.eye(2), R.T) @ rows.force["cut"]

    here = rows(system, q, np.zeros(system.nv))
    wrench = basis(q, here) @ np.ones(len(here.A))

    def force(x):
        p = lb.integrate(system, q, direction, x)
        there = rows(system, p, np.zeros(system.nv), here.theta)
        return there.A.T @ (basis(p, there).T @ wrench)

    return here.A.T @ np.ones(len(here.A)), -derivative(force, step)


@pytest.mark.parametrize("seed", range(4))
def test_the_stiffness_of_closure_forces_is_that_of_the_reference(seed):
    """The slope of A^T lambda along the freedoms: rows change steadily, also where a part of them is zero."""
    s, q, _ = hinge_then_slider(seed)
    space = row_space(s, q)
    T = space.basis / np.abs(space.basis).max(axis=0)
    forces, slopes = zip(*(along(s, q, t) for t in T.T))
    lam = np.linalg.lstsq(space.A.T, forces[0], rcond=None)[0]
    expected = T.T @ np.array(slopes).T
    found = T.T @ closure_stiffness(s, q, lam) @ T
    assert np.allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_a_closure_whose_angles_are_not_found_is_told():
    """So is one that q does not meet; where it is met, nothing is said."""
    joint = lb.CompoundJoint([lb.Revolute("z"), turned_about([0, 0, 1], (0.5, 0, 0))])
    a = lb.Assembly("held").attach("body", lb.RigidBody(2.0, inertia=(1, 1, 1)), lb.Free())
    held = a.close(("world", (0, 0, 0)), ("body", None), joint, name="rod").build()
    R, p = joint.configuration([0.4, 0.3])
    met = np.concatenate([quaternion(R), p])
    off = met + np.array([0, 0, 0, 0, 0.1, 0.0, 0.0])
    zero = np.zeros(6)
    for _ in range(2):
        lb.forward_dynamics(held, met, zero, zero)
        for function in (lb.forward_dynamics, lb.constraint_forces, lb.derivatives):
            with pytest.warns(lb.ModelWarning, match="closure 'rod' is off by .* not found"):
                function(held, off, zero, zero)
    with pytest.warns(lb.ModelWarning, match="of state 1, so that"):
        lb.forward_dynamics(held, [met, off], np.zeros((2, 6)), zero)


def test_a_closure_that_is_missed_beside_a_driven_joint_is_told():
    joint = lb.CompoundJoint([lb.Revolute("z"), turned_about([0, 0, 1], (0.5, 0, 0))])
    body = lb.RigidBody(2.0, inertia=(1, 1, 1))
    a = lb.Assembly("held").attach("body", body, lb.Planar("z"))
    a.attach("drum", body, lb.Revolute("z"))
    held = a.close(("world", (0, 0, 0)), ("body", None), joint, name="rod").build()
    for _ in range(2):
        with pytest.warns(lb.ModelWarning, match="closure 'rod' is off by"):
            lb.forward_dynamics(
                held, [0.9, 0, 0, 0], np.zeros(4), np.zeros(4), motion={"drum": 0.5}
            )
