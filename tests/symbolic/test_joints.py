"""Joint kinematics of Kwatny & Blankenship, Section II: Tables I and II, Eqs. (12) to (36)."""

import numpy as np
import pytest
import sympy as sp

import limber as lb
from helpers.compare import assert_close

TOLERANCE = 1e-12
s = sp.Symbol("s")
z, z1, z2, y1, y2, y3, t1, t2, t3 = sp.symbols("z z1 z2 y1 y2 y3 t1 t2 t3")
sin, cos, tan, sec = sp.sin, sp.cos, sp.tan, sp.sec
SPHERICAL = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]]

#: (H, coordinates, Gamma) of Table II; the scan's s is the pitch
TABLE_2 = {
    "revolute": ([[0], [0], [1], [0], [0], [0]], [z], [[1]]),
    "prismatic": ([[0], [0], [0], [1], [0], [0]], [z], [[1]]),
    "screw": ([[1], [0], [0], [s], [0], [0]], [z], [[1]]),
    "universal-screw": (
        [[0, 1], [0, 0], [1, 0], [0, s], [0, 0], [0, 0]],
        [z1, z2],
        [[1, 0], [0, cos(z1)]],
    ),
    "universal": (
        [[0, 0], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]],
        [z1, z2],
        [[1, 0], [0, cos(z1)]],
    ),
    "spherical": (
        SPHERICAL,
        [y1, y2, y3],
        [
            [1, sin(y1) * tan(y2), cos(y1) * tan(y2)],
            [0, cos(y1), -sin(y1)],
            [0, sec(y2) * sin(y1), cos(y1) * sec(y2)],
        ],
    ),
}


@pytest.mark.parametrize("name", TABLE_2)
def test_gamma_of_table_2(name):
    """Table II: every kinematic matrix, to the letter."""
    H, q, Gamma = TABLE_2[name]
    joint = lb.symbolic.simple_joint(H, q)
    assert sp.Matrix(Gamma) == joint.Gamma
    assert sp.Matrix(H) == joint.H
    assert joint.q == tuple(q)


def test_three_axis_universal_joint():
    """Eqs. (35a), (35b), (35c): H, X and Gamma of the compound joint r = {1, 1, 1}."""
    joint = lb.symbolic.compound_joint([1, 1, 1], SPHERICAL, ["t1", "t2", "t3"])
    H = sp.zeros(6, 3)
    H[:3, :] = sp.Matrix(
        [
            [1, 0, -sin(t2)],
            [0, cos(t1), cos(t2) * sin(t1)],
            [0, -sin(t1), cos(t1) * cos(t2)],
        ]
    )
    X = sp.Matrix(
        [
            [
                cos(t2) * cos(t3),
                cos(t3) * sin(t1) * sin(t2) - cos(t1) * sin(t3),
                cos(t1) * cos(t3) * sin(t2) + sin(t1) * sin(t3),
                0,
            ],
            [
                cos(t2) * sin(t3),
                cos(t1) * cos(t3) + sin(t1) * sin(t2) * sin(t3),
                -cos(t3) * sin(t1) + cos(t1) * sin(t2) * sin(t3),
                0,
            ],
            [-sin(t2), cos(t2) * sin(t1), cos(t1) * cos(t2), 0],
            [0, 0, 0, 1],
        ]
    )
    assert H == joint.H
    assert X == joint.X
    assert sp.eye(3) == joint.Gamma
    # the remark after Table II: the simple joint has the same configuration
    assert lb.symbolic.simple_joint(SPHERICAL, ["t1", "t2", "t3"]).X == X


def test_six_freedoms():
    """Eq. (36): Gamma = diag(Gamma_1, Gamma_2), Gamma_2 the rotation, so x, y, z are in space axes."""
    ax, ay, az, x, y, z_ = names = sp.symbols("ax ay az x y z")
    joint = lb.symbolic.simple_joint(sp.eye(6), names)
    Gamma_1 = sp.Matrix(TABLE_2["spherical"][2]).subs(dict(zip((y1, y2, y3), (ax, ay, az))))
    assert joint.Gamma[:3, :3] == Gamma_1
    assert joint.Gamma[3:, 3:] == joint.X[:3, :3]
    assert joint.Gamma[:3, 3:] == sp.zeros(3) == joint.Gamma[3:, :3]
    assert list(joint.X[:3, 3]) == [x, y, z_]


def twist(X, q, rate):
    """X^-1 dX/dt of Eq. (7) as [w; v]."""
    Xd = sum((X.diff(x) * r for x, r in zip(q, rate)), sp.zeros(4))
    R = X[:3, :3]
    W, v = R.T * Xd[:3, :3], R.T * Xd[:3, 3]
    return sp.Matrix([W[2, 1], W[0, 2], W[1, 0], *v])


a, b, c = sp.symbols("a b c", positive=True)
MAPS = {
    "oblique, not unit": [[1], [2], [3], [0.5], [0], [-1]],
    "symbolic axis": [[a], [b], [c], [0], [0], [s]],
    "symbolic unit axis": [[cos(a)], [0], [sin(a)], [0], [s], [0]],
    "spherical, oblique": [[1, 1, 1], [0, 1, 1], [0, 0, 1], [0] * 3, [0] * 3, [0] * 3],
    "planar, off centre": [[0, 0, 0], [0, 0, 0], [2, 0, 0], [0, 1, 0], [s, 0, 1], [0, 0, 0]],
}


@pytest.mark.parametrize("name", MAPS)
def test_configuration_moves_as_the_joint_map_says(name):
    """Eqs. (9), (10), (16): X^-1 dX/dt = H p with dq/dt = Gamma p, and X(0) = I, at random points."""
    H = sp.Matrix(MAPS[name])
    q = sp.symbols(f"q1:{H.shape[1] + 1}")
    joint = lb.symbolic.simple_joint(H, q)
    assert joint.X.subs(dict.fromkeys(q, 0)) == sp.eye(4)
    p = sp.symbols(f"p1:{len(q) + 1}")
    error = twist(joint.X, q, joint.Gamma * sp.Matrix(p)) - joint.H * sp.Matrix(p)
    check = sp.lambdify([*q, *p, a, b, c, s], list(error))
    for x in np.random.default_rng(0).uniform(0.1, 1.0, (10, 2 * len(q) + 4)):
        assert_close(check(*x), np.zeros(6), TOLERANCE)


def test_compound_map_moves_the_configuration():
    """Eqs. (25) to (34): a screw of pitch s outside a spherical joint, X^-1 dX/dt = H(q) p."""
    H = sp.Matrix.hstack(sp.Matrix([0, 1, 2, 0, 0, s]), sp.Matrix(SPHERICAL))
    joint = lb.symbolic.compound_joint([1, 3], H, ["q1", "q2", "q3", "q4"])
    p = sp.symbols("p1:5")
    error = twist(joint.X, joint.q, joint.Gamma * sp.Matrix(p)) - joint.H * sp.Matrix(p)
    check = sp.lambdify([*joint.q, *p, s], list(error))
    for x in np.random.default_rng(0).uniform(-1.0, 1.0, (10, 9)):
        assert_close(check(*x), np.zeros(6), TOLERANCE)


def test_symbolic_and_numeric_joints_agree():
    """The same kernels: X, H and Gamma against lb.SimpleJoint and lb.CompoundJoint."""
    rng = np.random.default_rng(1)
    one, two = np.eye(6, 3), np.array([[0], [0], [1], [0.3], [0], [0.1]])
    theta = rng.uniform(-1, 1, 4)
    numeric = lb.CompoundJoint([lb.SimpleJoint(two), lb.SimpleJoint(one)])
    symbolic = lb.symbolic.compound_joint([3, 1], np.hstack([one, two]), ["a", "b", "c", "d"])
    values = dict(zip(symbolic.q, theta))
    order = [3, 0, 1, 2]  # of the numeric one, which starts inboard
    R, p = numeric.configuration(theta[order])
    X = np.array(symbolic.X.subs(values), dtype=float)
    assert_close(X[:3, :3], R, TOLERANCE)
    assert_close(X[:3, 3], p, TOLERANCE)
    assert_close(
        np.array(symbolic.H.subs(values), float)[:, order], numeric.H(theta[order]), TOLERANCE
    )
    Gamma = np.array(symbolic.Gamma.subs(values), dtype=float)
    assert_close(Gamma[np.ix_(order, order)], numeric.Gamma(theta[order]), TOLERANCE)
