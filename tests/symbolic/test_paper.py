"""Problem 8: the examples of Kwatny & Blankenship, Sections III and IV, with their slips put right."""

import time
from functools import cache

import numpy as np
import pytest
import sympy as sp

import limber as lb
from helpers.compare import assert_close
from limber.symbolic.compact import compact
from limber.symbolic.exact import polynomial
from limber.symbolic.polynomial import Ring

TOLERANCE = 1e-12
PRINTED = 1e-6  # of numbers with six digits
sin, cos = sp.sin, sp.cos
t1, t2, t3, w1, w2, w3, u1, u2, u3 = sp.symbols("t1 t2 t3 w1 w2 w3 u1 u2 u3")
s1, s2, e = sp.symbols("s1 s2 e")
SPHERICAL = np.eye(6, 3)


def vanishes(expression, points=25, tolerance=TOLERANCE):
    """Zero at many random points."""
    names = sorted(expression.free_symbols, key=str)
    f = sp.lambdify(names, list(sp.Matrix([expression])))
    rng = np.random.default_rng(0)
    worst = max(np.abs(f(*x)).max() for x in rng.uniform(-3, 3, (points, len(names))))
    return worst < tolerance


# Section III: the thin disk


def disk(joint, p):
    """m = 5, R = 2: inertia diag(5, 5, 10)."""
    a = lb.Assembly("disk").attach("disk", lb.RigidBody(5, inertia=np.diag([5, 5, 10])), joint)
    return lb.symbolic.equations(a, p=p)


def test_disk_on_a_simple_spherical_joint_has_eulers_equations():
    """Eqs. (54a), (54b), the signs of (54b) those that Euler's equations demand."""
    eq = disk(lb.symbolic.simple_joint(SPHERICAL, [t1, t2, t3]), [w1, w2, w3])
    Gamma = sp.Matrix(
        [
            [1, sin(t1) * sp.tan(t2), cos(t1) * sp.tan(t2)],
            [0, cos(t1), -sin(t1)],
            [0, sp.sec(t2) * sin(t1), cos(t1) * sp.sec(t2)],
        ]
    )
    assert Gamma == eq.V
    assert sp.diag(5, 5, 10) == eq.M
    assert sp.Matrix([5 * w2 * w3, -5 * w1 * w3, 0]) == eq.F
    assert sp.zeros(3, 1) == eq.G
    assert not eq.lagrange


def test_disk_on_a_compound_joint_has_lagranges_equations():
    """Eqs. (55a), (55b): the last term of (55a) is 5 sin(t2)^2, and (55b) is negated as a whole."""
    eq = disk(lb.symbolic.compound_joint([1, 1, 1], SPHERICAL, [t1, t2, t3]), [u1, u2, u3])
    half = sp.Rational(1, 2)
    M = sp.Matrix(
        [
            [5, 0, -5 * sin(t2)],
            [0, 5 * half * (3 - cos(2 * t1)), -5 * half * cos(t2) * sin(2 * t1)],
            [
                -5 * sin(t2),
                -5 * half * cos(t2) * sin(2 * t1),
                10 * cos(t1) ** 2 * cos(t2) ** 2
                + 5 * cos(t2) ** 2 * sin(t1) ** 2
                + 5 * sin(t2) ** 2,
            ],
        ]
    )
    assert sp.simplify(eq.M - M) == sp.zeros(3)
    assert eq.lagrange
    printed = sp.Matrix(
        [
            u3 * (-5 * u2 * cos(2 * t1) * cos(t2) - 5 * u3 * cos(t2) ** 2 * sin(2 * t1)) / 2
            + u2
            * (5 * u3 * cos(t2) + (-5 * u3 * cos(2 * t1) * cos(t2) + 5 * u2 * sin(2 * t1)) / 2),
            u1 * (-5 * u3 * cos(t2) / 2 + 5 * u3 * cos(2 * t1) * cos(t2) - 5 * u2 * sin(2 * t1))
            - 5 * u2 * u3 * sin(2 * t1) * sin(t2) / 4
            + u3
            * (
                -5 * u1 * cos(t2)
                + 5 * u2 * sin(2 * t1) * sin(t2) / 2
                - 5 * u3 * cos(t1) ** 2 * sin(2 * t2)
            )
            / 2,
            u1 * (5 * u2 * cos(2 * t1) * cos(t2) + 5 * u3 * cos(t2) ** 2 * sin(2 * t1))
            + u2
            * (
                5 * u1 * cos(t2)
                - 5 * u2 * sin(2 * t1) * sin(t2) / 2
                + 5 * u3 * cos(t1) ** 2 * sin(2 * t2)
            ),
        ]
    )
    assert vanishes(eq.F + printed)
    # independently: Lagrange's equations of the kinetic energy of (55a)
    q, u = sp.Matrix([t1, t2, t3]), sp.Matrix([u1, u2, u3])
    energy = (u.T * M * u)[0] / 2
    lagrange = (M * u).jacobian(q) * u - sp.Matrix([energy.diff(x) for x in q])
    assert vanishes(eq.F - lagrange)


# Section IV: the arm of three bodies and six freedoms


@cache
def arm(simple):
    """r1 = {1, 1}, r2 = {1}, r3 = {1, 1, 1}, or the simple joints {2}, {1}, {3}; unit gravity down."""
    H1 = [[0, 0], [1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
    H2 = [[0], [1], [0], [0], [0], [0]]
    H3 = [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0] * 3, [0] * 3, [0] * 3]

    def joint(r, H, names):
        if simple:
            return lb.symbolic.simple_joint(H, names)
        return lb.symbolic.compound_joint(r, H, names)

    a = lb.Assembly("arm", gravity=(0, 0, -1))
    bar = lb.RigidBody(1, (0, 0, 1.5), np.diag([9 / 12, 9 / 12, 0]), {"end": (0, 0, 3)})
    m3, L3, R3 = 0.5, 0.7, 0.35
    across = m3 * (L3**2 + 3 * R3**2) / 12
    inertia = np.diag([across, across, m3 * R3**2 / 12])
    gripper = lb.RigidBody(m3, (0, 0, L3 / 2), inertia, {"end": (0, 0, L3)})
    a.attach("upper", bar, joint([1, 1], H1, [s1, s2]))
    a.attach("lower", bar, joint([1], H2, [e]), "upper", "end")
    a.attach("gripper", gripper, joint([1, 1, 1], H3, [t1, t2, t3]), "lower", "end")
    return a


@cache
def arm_equations(simple):
    return lb.symbolic.equations(arm(simple), p=["w1", "w2", "u1", "v1", "v2", "v3"])


@pytest.mark.parametrize("simple", [False, True])
def test_the_whole_arm_takes_seconds(simple):
    """M, C, G, potential, X and V of the arm: far below two minutes."""
    start = time.perf_counter()
    eq = lb.symbolic.equations(arm(simple))
    assert eq.M.shape == eq.C.shape == eq.V.shape == (6, 6)
    assert len(eq.X) == 3 and eq.G.shape == (6, 1) and eq.potential != 0
    seconds = time.perf_counter() - start
    print(f"{'simple' if simple else 'compound'} arm: {seconds:.2f} s")
    assert seconds < 20


@pytest.mark.parametrize("simple", [False, True])
def test_end_effector(simple):
    """XEndEf of Section IV, as printed: three rows of rotation and position."""
    rows = [
        (
            cos(e) * cos(s1) * cos(s2) - cos(s2) * sin(e) * sin(s1),
            -sin(s2),
            cos(s1) * cos(s2) * sin(e) + cos(e) * cos(s2) * sin(s1),
            3 * cos(s2) * sin(s1),
        ),
        (
            cos(e) * cos(s1) * sin(s2) - sin(e) * sin(s1) * sin(s2),
            cos(s2),
            cos(s1) * sin(e) * sin(s2) + cos(e) * sin(s1) * sin(s2),
            3 * sin(s1) * sin(s2),
        ),
        (
            -cos(s1) * sin(e) - cos(e) * sin(s1),
            0,
            cos(e) * cos(s1) - sin(e) * sin(s1),
            3 * cos(s1),
        ),
    ]
    printed = sp.zeros(4)
    printed[3, 3] = 1
    for i, (a, b, c, d) in enumerate(rows):
        printed[i, 0] = (
            cos(t1) * cos(t2) * a
            + b * (cos(t1) * cos(t3) * sin(t2) + sin(t1) * sin(t3))
            + c * (-(cos(t3) * sin(t1)) + cos(t1) * sin(t2) * sin(t3))
        )
        printed[i, 1] = b * cos(t2) * cos(t3) - a * sin(t2) + c * cos(t2) * sin(t3)
        printed[i, 2] = (
            cos(t2) * a * sin(t1)
            + b * (cos(t3) * sin(t1) * sin(t2) - cos(t1) * sin(t3))
            + c * (cos(t1) * cos(t3) + sin(t1) * sin(t2) * sin(t3))
        )
        printed[i, 3] = d + 3 * c + sp.Rational(7, 10) * printed[i, 2]
    assert vanishes(arm_equations(simple).pose("gripper", "end") - printed)


@pytest.mark.parametrize("simple", [False, True])
def test_potential_energy(simple):
    """GravPotChn of Section IV prints the heights of the mass centres over their own joints, masses and
    the joints' heights left out; with them it is the potential."""
    eq = arm_equations(simple)
    c = cos(e) * cos(s1) - sin(e) * sin(s1)
    wrist = cos(t2) * (-cos(s1) * sin(e) - cos(e) * sin(s1)) * sin(t1)
    wrist += c * (cos(t1) * cos(t3) + sin(t1) * sin(t2) * sin(t3))
    own = [3 * cos(s1) / 2, 3 * c / 2, sp.Rational(35, 100) * wrist]
    half = [sp.Rational(3, 2), sp.Rational(3, 2), sp.Rational(35, 100)]
    for body, height, length in zip(("upper", "lower", "gripper"), own, half):
        assert vanishes(eq.pose(body)[2, 2] * length - height)
    heights = [own[0], 3 * cos(s1) + own[1], 3 * cos(s1) + 3 * c + own[2]]
    potential = heights[0] + heights[1] + heights[2] / 2
    assert vanishes(eq.potential - potential)
    gradient = eq.V.T * sp.Matrix([potential.diff(x) for x in eq.q])  # Eq. (53c) with V^T
    assert vanishes(eq.G - gradient, tolerance=1e-9)


def printed_last_row(simple):
    """The last row of the inertia matrix as Section IV prints it (r, in cos[r + s1/2], is e)."""
    I, J, m = 0.0969792, 0.00510417, 0.525
    if simple:
        first = 2 * m * cos(s1 / 2) ** 2 * sin(s2) + I * cos(e + s1) * sin(s2)
        return sp.Matrix([[first, -m * sin(s1) - I * sin(e + s1), 0, 0, 0, I]])
    reach = 2 * m * cos(e + s1 / 2) * cos(s1 / 2)
    first = (
        2 * m * cos(s1 / 2) ** 2 * cos(t1) * cos(t2) * sin(s2)
        + I * cos(e + s1) * cos(t1) * cos(t2) * sin(s2)
        + J * cos(t2) * sin(e + s1) * sin(s2) * sin(t1)
        - I * cos(s2) * sin(t2)
        - reach * cos(s2) * sin(t2)
    )
    second = (
        -0.175
        * cos(t1)
        * cos(t2)
        * (6 * cos(s1 / 2) ** 2 * cos(s2) * sin(s1) + 3 * sin(2 * s1) / 2)
        + I * cos(t1) * cos(t2) * (-cos(e + s1) * cos(s2) * sin(s1) - cos(s1) * sin(e + s1))
        + J * cos(t2) * (cos(s1) * cos(e + s1) - cos(s2) * sin(s1) * sin(e + s1)) * sin(t1)
        - I * sin(s1) * sin(s2) * sin(t2)
        - reach * sin(s1) * sin(s2) * sin(t2)
    )
    return sp.Matrix(
        [
            [
                first,
                second,
                -I * sin(t2) - m * cos(e) * sin(t2),
                -I * sin(t2),
                -0.091875 * cos(t1) * cos(t2) * sin(t1),
                I * cos(t1) ** 2 * cos(t2) ** 2
                + J * cos(t2) ** 2 * sin(t1) ** 2
                + I * sin(t2) ** 2,
            ]
        ]
    )


def recursion(simple, shift):
    """H^t Phi^t M Phi H of Eqs. (43) to (52), with the rotation of joint k - shift across joint k."""
    joints = [item.joint for item in arm(simple).attachments.values()]
    lengths = [sp.Integer(3), sp.Integer(3), sp.Rational(7, 10)]
    masses = [sp.Integer(1), sp.Integer(1), sp.Rational(1, 2)]
    thin, across = sp.Rational(3, 4), sp.Rational(931, 9600) - sp.Rational(49, 800)
    along = sp.Rational(1, 2) * sp.Rational(35, 100) ** 2 / 12
    inertias = [sp.diag(thin, thin, 0)] * 2 + [sp.diag(across, across, along)]

    def o(z):
        tilde = sp.Matrix([[0, -z, 0], [z, 0, 0], [0, 0, 0]])
        return sp.Matrix(sp.BlockMatrix([[sp.eye(3), sp.zeros(3)], [-tilde, sp.eye(3)]]))

    total, velocity, done = sp.zeros(6), sp.zeros(6), 0
    for k, joint in enumerate(joints):
        if k:
            L = joints[k - shift].X[:3, :3].T
            velocity = sp.diag(L, L) * o(lengths[k - 1]) * velocity
        r = joint.H.shape[1]
        velocity[:, done : done + r] = joint.H
        done += r
        at = o(lengths[k] / 2)
        spatial = at.T * sp.diag(inertias[k], masses[k] * sp.eye(3)) * at
        total += velocity.T * spatial * velocity
    return total


@pytest.mark.parametrize("simple", [False, True])
def test_last_row_of_the_inertia_matrix(simple):
    """Section IV.  The printed rows take the rotation of joint k - 1 across joint k in Eq. (45), a slip of one
    index in the program behind them: with it Eq. (52b) gives them to the digit, without it ours."""
    slipped, right = recursion(simple, 1), recursion(simple, 0)
    assert vanishes(slipped[5, :] - printed_last_row(simple), tolerance=PRINTED)
    M = arm_equations(simple).M
    assert vanishes(M - right)
    # where no rotation is between the two freedoms, the slip does not show
    assert vanishes(M[5, 3:] - printed_last_row(simple)[:, 3:], tolerance=PRINTED)
    assert not vanishes(M[5, :3] - printed_last_row(simple)[:, :3], tolerance=1e-3)


def test_mass_matrix_of_the_compound_arm_is_the_engines():
    """Eq. (52b) against lb.mass_matrix; its bars have no inertia about their axes, which the engine takes."""
    a = lb.Assembly("arm", gravity=(0, 0, -1))
    x, y, z = np.eye(3)
    numeric = {
        "upper": lb.CompoundJoint([lb.Revolute(z), lb.Revolute(y)]),
        "lower": lb.Revolute(y),
        "gripper": lb.CompoundJoint([lb.Revolute(x), lb.Revolute(z), lb.Revolute(y)]),
    }
    for name, item in arm(False).attachments.items():
        a.attach(name, item.body, numeric[name], item.to, item.at)
    system, f = a.build(), arm_equations(False).lambdify()
    rng = np.random.default_rng(2)
    for _ in range(10):
        q, p = rng.normal(size=(2, 6))
        order = [1, 0, 2, 5, 4, 3]  # numeric joints count from inboard
        M = lb.mass_matrix(system, q[order])[np.ix_(order, order)]
        assert_close(f.M(q), M, TOLERANCE)
        assert_close(f.F(q, p) + f.G(q), lb.bias(system, q[order], p[order])[order], TOLERANCE)


@pytest.mark.parametrize("simple", [False, True])
def test_coriolis_forces_are_those_of_the_paper(simple):
    """Eq. (53b), its sign put right: C p = (J - J^T/2 - S^T M) p with J = d(M p)/dq V and S = V^-1 sum p_j X_j, X_j
    the commutators of Eq. (38).  The simple shoulder is not integrable: the formula holds for it as it stands."""
    eq = arm_equations(simple)
    q, p, V = list(eq.q), eq.p, eq.V
    J = (eq.M * p).jacobian(q) * V
    X = sp.zeros(6)
    slopes = [V[:, k].jacobian(q) for k in range(6)]
    for j in range(6):
        for k in range(6):
            X[:, k] += p[j] * (slopes[k] * V[:, j] - slopes[j] * V[:, k])
    assert eq.integrable != simple
    f = sp.lambdify([q, list(p)], [J, X, V, eq.M, eq.F, eq.C])
    rng = np.random.default_rng(4)
    for _ in range(10):
        x, w = rng.uniform(-1, 1, (2, 6))
        J_, X_, V_, M_, F_, C_ = f(x, w)
        S = np.linalg.solve(V_, X_)
        assert_close(F_.ravel(), J_ @ w - J_.T @ w / 2 - S.T @ M_ @ w, TOLERANCE)
        assert_close(C_ @ w, F_.ravel(), TOLERANCE)


def sizes(M):
    """Characters without spaces, and operations."""
    return np.array([len(str(M).replace(" ", "")), sp.count_ops(M)])


def test_simple_joints_shorten_the_inertia_matrix():
    """Section IV: "only about 25 % as large".  Measured 0.77 (characters) and 0.75 (operations) on the arm itself,
    and 0.33 and 0.32 on the matrix of the paper's program (the slip of one index takes the wrist angles
    out of the coupling), which is what the remark is about."""
    ratio = sizes(arm_equations(True).M) / sizes(arm_equations(False).M)
    ring = Ring()
    slipped = [
        sp.Matrix(6, 6, [compact(polynomial(ring, x)) for x in recursion(simple, 1)])
        for simple in (True, False)
    ]
    with_slip = sizes(slipped[0]) / sizes(slipped[1])
    print(f"simple / compound, characters and operations: {ratio}; with the slip: {with_slip}")
    assert (ratio < 0.85).all() and (ratio > 0.6).all()
    assert (with_slip < 0.4).all()
