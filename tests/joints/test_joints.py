"""Joint kinematics: maps, configurations and kinematic matrices (Kwatny & Blankenship, Section II)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

import limber as lb
from helpers.compare import assert_close
from helpers.random_systems import KINDS, random_coordinates, random_joint

TOLERANCE = 1e-12
DIFFERENCES = 1e-8


def twist(h):
    x, y, z = h[:3]
    X = np.zeros((4, 4))
    X[:3, :3] = [[0, -z, y], [z, 0, -x], [-y, x, 0]]
    X[:3, 3] = h[3:]
    return X


def pose(joint, theta):
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = joint.configuration(theta)
    return X


@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(sorted(KINDS)))
def test_joint_map_is_the_velocity_of_the_configuration(seed, kind):
    """X^{-1} X_dot = twist(H beta) with theta_dot = Gamma beta."""
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, kinds=[kind])
    theta = random_coordinates(rng, joint)
    beta = rng.standard_normal(joint.dofs)
    rate = joint.Gamma(theta) @ beta
    h = 1e-4
    at = {k: pose(joint, theta + k * h * rate) for k in (-2, -1, 1, 2)}
    Xdot = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
    velocity = np.linalg.solve(pose(joint, theta), Xdot)
    assert_close(velocity, twist(joint.H(theta) @ beta), DIFFERENCES, repr(joint))


@given(seed=st.integers(0, 2**32 - 1))
def test_simple_joint_is_a_product_of_exponentials(seed):
    """Eq. (15): lambda = lambda_r ... lambda_1, column 1 the outermost; H does not depend on theta."""
    rng = np.random.default_rng(seed)
    joint = random_joint(rng, kinds=["SimpleJoint"])
    theta = random_coordinates(rng, joint)
    H = joint.H(np.zeros(joint.nq))
    expected = np.eye(4)
    for h, x in zip(H.T, theta):
        expected = expm(twist(h) * x) @ expected
    assert_close(pose(joint, theta), expected, TOLERANCE)
    assert_close(joint.H(theta), H, TOLERANCE)


def test_gamma_of_the_spherical_joint_of_table_two():
    """Table II: Euler-angle rates of three body axes, here with numbers in place of y1, y2."""
    joint = lb.SimpleJoint(np.eye(6, 3))
    a, b = 0.4, -0.7
    expected = [
        [1, np.sin(a) * np.tan(b), np.cos(a) * np.tan(b)],
        [0, np.cos(a), -np.sin(a)],
        [0, np.sin(a) / np.cos(b), np.cos(a) / np.cos(b)],
    ]
    assert_close(joint.Gamma([a, b, 1.1]), expected, TOLERANCE)


def test_compound_universal_joint_of_equation_35():
    """Eq. (35): three revolutes, frames indexed from the outermost, so listed here in reverse."""
    x, y, z = np.eye(3)
    joint = lb.CompoundJoint([lb.Revolute(z), lb.Revolute(y), lb.Revolute(x)])
    t1, t2, t3 = 0.3, -0.5, 0.9
    s1, c1, s2, c2 = np.sin(t1), np.cos(t1), np.sin(t2), np.cos(t2)
    expected = np.zeros((6, 3))
    expected[:3] = [[1, 0, -s2], [0, c1, c2 * s1], [0, -s1, c1 * c2]]
    assert_close(joint.H([t3, t2, t1])[:, ::-1], expected, TOLERANCE)
    assert_close(joint.Gamma([t3, t2, t1]), np.eye(3), TOLERANCE)
    R, p = joint.configuration([t3, t2, t1])
    s3, c3 = np.sin(t3), np.cos(t3)
    assert_close(
        R,
        [
            [c2 * c3, c3 * s1 * s2 - c1 * s3, c1 * c3 * s2 + s1 * s3],
            [c2 * s3, c1 * c3 + s1 * s2 * s3, -c3 * s1 + c1 * s2 * s3],
            [-s2, c2 * s1, c1 * c2],
        ],
        TOLERANCE,
    )
    assert_close(p, np.zeros(3), TOLERANCE)


def test_two_body_axes_of_rotation_are_no_simple_joint():
    """The remark that every simple joint is holonomic is false: the bracket of x and y is z."""
    with pytest.raises(lb.LimberError, match="CompoundJoint"):
        lb.SimpleJoint(np.eye(6, 2))


@pytest.mark.parametrize(
    ("joint", "theta", "R", "p"),
    [
        (lb.Revolute([0, 0, 2]), [np.pi / 2], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], [0, 0, 0]),
        (lb.Prismatic([0, 3, 0]), [2.0], np.eye(3), [0, 2, 0]),
        (lb.Screw([1, 0, 0], 0.5), [np.pi], np.diag([1, -1, -1]), [np.pi / 2, 0, 0]),
        (lb.Cylindrical([0, 0, 1]), [np.pi, 0.7], np.diag([-1, -1, 1]), [0, 0, 0.7]),
        (lb.Planar([0, 0, 1]), [1, 2, np.pi], np.diag([-1, -1, 1]), [1, 2, 0]),
        (lb.Planar([0, 1, 0]), [1, 2, 0], np.eye(3), [2, 0, 1]),
        (lb.Spherical(), [0, 1, 0, 0], np.diag([1, -1, -1]), [0, 0, 0]),
        (lb.Free(), [0, 0, 0, 1, 4, 5, 6], np.diag([-1, -1, 1]), [4, 5, 6]),
        (lb.Fixed(), [], np.eye(3), [0, 0, 0]),
    ],
    ids=lambda x: repr(x) if isinstance(x, lb.Joint) else "",
)
def test_configuration_follows_the_conventions(joint, theta, R, p):
    got = joint.configuration(theta)
    assert_close(got[0], R, TOLERANCE)
    assert_close(got[1], p, TOLERANCE)


def test_free_joint_velocities_are_in_outboard_axes():
    q = np.array([np.cos(0.4), 0, 0, np.sin(0.4), 1, 2, 3])
    s = lb.Assembly("body").attach("b", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Free()).build()
    J = lb.jacobian(s, q, "b")
    R, _ = lb.pose(s, q, "b")
    assert_close(J, np.kron(np.eye(2), R), TOLERANCE)
    assert_close(lb.qdot(s, q, [0, 0, 0, 1, 0, 0])[4:], R[:, 0], TOLERANCE)


@pytest.mark.parametrize("angle", [1e-9, 0.3, 3.0, 20.0])
def test_integrate_is_the_exponential_on_quaternions(angle):
    s = lb.Assembly("body").attach("b", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Free()).build()
    rng = np.random.default_rng(1)
    q = s.neutral() + np.concatenate([rng.standard_normal(4), [1, 2, 3]])
    q[:4] /= np.linalg.norm(q[:4])
    w = rng.standard_normal(3)
    v = np.concatenate([angle * w / np.linalg.norm(w), rng.standard_normal(3)])
    moved = lb.integrate(s, q, v, 1.0)
    joint = lb.Free()
    assert_close(pose(joint, moved), pose(joint, q) @ expm(twist(v)), 1e-11)
    assert np.linalg.norm(moved[:4]) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize("name", ["friction_speed", "stribeck_speed", "stop_softness"])
@pytest.mark.parametrize("value", [1e-200, 1e200])
def test_what_smooths_a_law_has_a_square(name, value):
    with pytest.raises(lb.LimberError, match=f"{name} must be from 1e-100 to 1e.100, got"):
        lb.Revolute("z", static_friction=1.0, limits=(0, 1), stop_stiffness=1.0, **{name: value})


def test_limits_have_a_square():
    with pytest.raises(lb.LimberError, match=r"limits has the limit 1e.308, which is too large"):
        lb.Revolute("z", limits=(0, 1e308), stop_stiffness=0)


def test_options_belong_to_the_joint():
    """Arrays that were handed over stay the caller's: writable, and without effect afterwards."""
    damping = np.array([1.0, 2.0])
    joint = lb.Universal("x", "y", damping=damping)
    damping[0] = 7.0
    assert joint.physics.damping.tolist() == [1.0, 2.0]
    assert repr(joint).endswith("damping=(1.0, 2.0))")
