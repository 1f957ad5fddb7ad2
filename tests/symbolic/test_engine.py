"""The symbolic equations are those of the numeric engine, on every joint and body kind."""

import numpy as np
import pytest
import sympy as sp

import limber as lb
from helpers.compare import assert_close
from helpers.random_systems import (
    KINDS,
    random_assembly,
    random_flexible_body,
    random_joint,
    random_rigid_body,
    rotation_matrix,
)
from helpers.symbolic_states import euler_rates, euler_state

TOLERANCE = 1e-12


def assert_equal_to_engine(assembly, rng, states=3, print_all=False, **options):
    """M, C p + G, potential and poses at random states; the printed forms too if asked for."""
    eq, system = lb.symbolic.equations(assembly, **options), assembly.build()
    f = eq.lambdify()
    printed = None
    if print_all:
        parts = [eq.M, eq.C, eq.F, eq.G, sp.Matrix([eq.potential])]
        printed = sp.lambdify([list(eq.q), list(eq.p)], parts, cse=True)
    last = list(system.bodies)[-1]
    nodes = (None, 0) if system.bodies[last].node_set.names else (None,)
    arguments = [list(eq.q), *eq.values]
    poses = {node: sp.lambdify(arguments, eq.pose(last, node), cse=True) for node in nodes}
    for _ in range(states):
        x, q, v = euler_state(rng, system)
        M = lb.mass_matrix(system, q)
        assert_close(f.M(x), M, TOLERANCE, "mass matrix")
        assert_close(f.F(x, v) + f.G(x), lb.bias(system, q, v), TOLERANCE, "bias")
        assert_close(f.potential(x), lb.potential_energy(system, q), TOLERANCE, "potential")
        if printed:
            for ours, name in zip(printed(x, v), ("M", "C", "F", "G", "potential")):
                arguments = (x, v) if name in "CF" else (x,)
                expected = np.reshape(getattr(f, name)(*arguments), ours.shape)
                assert_close(ours, expected, TOLERANCE, f"printed {name}")
            assert_close(f.V(x) @ v, euler_rates(system, v, x), TOLERANCE, "V")
        for node, pose in poses.items():
            X = pose(x, *eq.values.values())
            R, p = lb.pose(system, q, last, node)
            assert_close(X[:3, :3], R, TOLERANCE, "orientation")
            assert_close(X[:3, 3], p, TOLERANCE, "position")
    return eq, f, system


@pytest.mark.parametrize("kind", KINDS)
def test_every_joint_kind(kind):
    """Between two rigid bodies, the first on an oblique revolute joint."""
    rng = np.random.default_rng(KINDS.index(kind))
    a = lb.Assembly("two", gravity=(0.3, -1.0, -9.81))
    a.attach("first", random_rigid_body(rng), lb.Revolute([1, 2, 3]))
    joint = random_joint(rng, [kind])
    a.attach("second", random_rigid_body(rng), joint, "first", "a", (0.1, 0.2, 0.3), inboard="b")
    assert_equal_to_engine(a, rng, print_all=True)


@pytest.mark.parametrize("seed", range(3))
def test_random_rigid_trees(seed):
    rng = np.random.default_rng(seed)
    kinds = ("Revolute", "Prismatic", "Spherical", "Universal", "Fixed")
    a = random_assembly(rng, bodies=4, flexible=0.0, kinds=kinds)
    assert_equal_to_engine(a, rng, states=2, print_all=seed == 2)


@pytest.mark.parametrize("kind", [None, "rotary", "second"])
@pytest.mark.parametrize("inboard", [None, 1])
def test_flexible_tree(kind, inboard):
    """A rigid and a flexible child on a deforming node; clamped and free-free modes, rotary nodes, second-order shapes."""
    rotary, second = kind == "rotary", kind == "second"
    rng = np.random.default_rng(7)
    a = lb.Assembly("tree", gravity=(0.1, -9.0, 0.4))
    modes = 2 if inboard is None else 1
    body = random_flexible_body(rng, modes, rotary=rotary, clamped=inboard is None, second=second)
    a.attach("base", body, lb.Revolute([0, 0, 1]), inboard=inboard)
    a.attach("arm", random_rigid_body(rng), lb.Revolute([0, 1, 0]), "base", 3, (0.1, 0, 0.2))
    tip = random_flexible_body(rng, 1, rotary=rotary, second=second)
    turn = rotation_matrix(rng)
    a.attach("tip", tip, lb.Prismatic([1, 0, 0]), "base", 2, rotation=turn)
    assert_equal_to_engine(a, rng)


def spatial_arm(modes=1):
    """Two beams that bend in both planes."""
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    link = lb.beam(1.0, 2.0, EI=(30.0, 20.0), modes=modes)
    a.attach("upper", link, lb.Revolute([0, 0, 1]))
    return a.attach("lower", link, lb.Revolute([0, 1, 0]), "upper", "tip")


def test_spatial_flexible_arm_with_named_integrals():
    """Every integral has a name and a value; with the values the equations are the engine's."""
    a = spatial_arm()
    eq, _, _ = assert_equal_to_engine(a, np.random.default_rng(0), named=True)
    assert set(eq.parameters) <= set(eq.values)
    assert sp.Symbol("m_upper") in eq.values
    assert eq.values[sp.Symbol("m_upper")] == pytest.approx(2.0)
    assert not eq.G.atoms(sp.Float) and not any("root" in str(x) for x in eq.values)


def planar_arm():
    """Two beams that bend in the plane in which they turn: node rotations about one axis."""
    a = lb.Assembly("planar", gravity=(0, -9.81, 0))
    for name, to in (("one", "world"), ("two", "one")):
        rotation, translation = np.zeros((2, 3, 1)), np.zeros((2, 3, 1))
        translation[1, 1, 0], rotation[1, 2, 0] = 1.0, 1.375
        link = lb.FlexibleBody.from_nodes(
            [0.3, 0.5], [[0.5, 0, 0], [1, 0, 0]], translation, rotation, [[40.0]], [[0.1]]
        )
        a.attach(name, link, lb.Revolute([0, 0, 1]), to, None if to == "world" else 1)
    return a


def test_planar_flexible_arm_has_sines_of_the_bent_angle():
    eq, _, _ = assert_equal_to_engine(planar_arm(), np.random.default_rng(0))
    eta, q = sp.symbols("eta1_one q_two")
    angle = sp.Rational(11, 8) * eta
    inner = {x.args[0] for x in eq.M.atoms(sp.sin, sp.cos)}
    assert inner == {angle + q}


@pytest.mark.parametrize("order", [1, 2])
def test_truncated_equations_are_consistent(order):
    """The difference to the engine falls with the power order + 1 of the deformation (and its rate)."""
    a = spatial_arm()
    system, f = a.build(), lb.symbolic.equations(a, order=order).lambdify()
    rng = np.random.default_rng(3)
    modal = np.array([True, True, False] * 2)
    x, v, vdot = rng.normal(size=(3, 6))
    errors = []
    for h in (1e-2, 5e-3):
        scale = np.where(modal, h, 1.0)
        state = x * scale, v * scale, vdot * scale
        tau = lb.inverse_dynamics(system, *state)
        ours = f.M(state[0]) @ state[2] + f.F(*state[:2]) + f.G(state[0])
        errors.append(np.abs(ours - tau).max())
    assert errors[0] < 1.0
    assert np.log2(errors[0] / errors[1]) > order + 0.8


def quasi_velocity_arm():
    """A free body with a spherical joint and a damped flexible tip."""
    rng = np.random.default_rng(5)
    a = lb.Assembly("craft", gravity=(0.5, 0, -2.0))
    a.attach("hull", random_rigid_body(rng), lb.Spherical())
    body = random_flexible_body(rng, 1)
    a.attach("boom", body, lb.SimpleJoint(np.eye(6, 3)), "hull", "a")
    return a


@pytest.mark.parametrize("make", [planar_arm, quasi_velocity_arm])
def test_mdot_minus_2c_is_skew_but_for_damping(make):
    """Also with quasi-velocities: C is the Levi-Civita form."""
    a = make()
    eq = lb.symbolic.equations(a)
    f, n = eq.lambdify(), len(eq.q)
    rng = np.random.default_rng(1)
    x, _, p = euler_state(rng, a.build())
    h = 1e-6
    rate = f.V(x) @ p
    Mdot = (f.M(x + h * rate) - f.M(x - h * rate)) / (2 * h)
    N = Mdot - 2 * f.C(x, p)
    damping = np.zeros((n, n))
    at = 0
    for item in a.attachments.values():
        m = item.body.modes
        if m:
            damping[at : at + m, at : at + m] = item.body.damping
        at += m + item.joint.dofs
    assert_close(N + N.T, -4 * damping, 1e-7)


@pytest.mark.parametrize("make", [planar_arm, quasi_velocity_arm])
def test_energy_rate_is_the_power_of_the_forces(make):
    """d/dt (T + potential) = p . Q_p - damping, at random points, by central differences."""
    a = make()
    eq = lb.symbolic.equations(a)
    f = eq.lambdify()
    rng = np.random.default_rng(2)
    x, _, p = euler_state(rng, a.build())
    Q = rng.normal(size=len(p))
    pdot, qdot = f.pdot(x, p, Q), f.V(x) @ p

    def energy(t):
        q, v = x + t * qdot, p + t * pdot
        return 0.5 * v @ f.M(q) @ v + f.potential(q)

    h = 1e-5
    losses, at = 0.0, 0
    for item in a.attachments.values():
        m = item.body.modes
        losses += p[at : at + m] @ item.body.damping @ p[at : at + m] if m else 0.0
        at += m + item.joint.dofs
    rate = (energy(h) - energy(-h)) / (2 * h)
    assert rate == pytest.approx(p @ Q - losses, abs=1e-7 * max(1.0, abs(rate)))


def test_two_link_arm_is_the_textbook():
    """Symbolic masses, lengths, gravity: the equations of every robotics book, to the letter after expansion."""
    m1, m2, l1, r1, r2, I1, I2, g = sp.symbols("m1 m2 l1 r1 r2 I1 I2 g")
    q1, q2, w1, w2 = sp.symbols("q1 q2 w1 w2")
    a = lb.Assembly("arm", gravity=(0, -g, 0))
    joint = lb.Revolute([0, 0, 1])
    one = lb.RigidBody(m1, (r1, 0, 0), sp.diag(0, 0, I1), {"end": (l1, 0, 0)})
    a.attach("one", one, joint)
    a.attach("two", lb.RigidBody(m2, (r2, 0, 0), sp.diag(0, 0, I2)), joint, "one", "end")
    eq = lb.symbolic.equations(a, q=[q1, q2], p=[w1, w2])
    h = m2 * l1 * r2
    M11 = I1 + I2 + m1 * r1**2 + m2 * (l1**2 + r2**2) + 2 * h * sp.cos(q2)
    M12 = I2 + m2 * r2**2 + h * sp.cos(q2)
    M = sp.Matrix([[M11, M12], [M12, I2 + m2 * r2**2]])
    C = h * sp.sin(q2) * sp.Matrix([[-w2, -(w1 + w2)], [w1, 0]])
    G2 = m2 * r2 * g * sp.cos(q1 + q2)
    G = sp.Matrix([(m1 * r1 + m2 * l1) * g * sp.cos(q1) + G2, G2])
    for ours, book in ((eq.M, M), (eq.C, C), (eq.G, G), (eq.F, C * sp.Matrix([w1, w2]))):
        assert (ours - book).expand() == sp.zeros(*book.shape)
    assert sp.count_ops(eq.G) <= sp.count_ops(G)
    assert eq.parameters == sorted([m1, m2, l1, r1, r2, I1, I2, g], key=str)
    assert eq.lagrange and eq.X["two"] == eq.X[1] == eq.X["one"].subs(q1, q2)
    assert eq.Q([1, 2]) == sp.Matrix([1, 2])
    numbers = eq.subs({m1: 2, m2: 1, l1: 1, r1: 0.5, r2: 0.25, I1: 0, I2: 0, g: 0})
    assert sp.zeros(2, 1) == numbers.G and numbers.parameters == []
    assert_close(numbers.lambdify().M([0.3, 0.0]), [[2.0625, 0.3125], [0.3125, 0.0625]], TOLERANCE)


def test_symbolic_parameters_then_numbers_equal_numbers_at_once():
    """A flexible body with symbolic masses, shapes, positions and stiffness; symbolic placement and gravity."""
    mu, l, k, d, u, r, g, b, alpha = sp.symbols("mu l k d u r g b alpha")
    values = {mu: 0.4, l: 0.8, k: 30.0, d: 0.2, u: 0.9, r: 1.1, g: 9.81, b: 0.3, alpha: 0.7}

    def number(x):
        return np.array(sp.Array(x).subs(values).tolist(), dtype=float)

    def build(convert):
        a = lb.Assembly("beam", gravity=convert([0, 0, -g]))
        shapes = np.zeros((2, 3, 1), dtype=object)
        turns = np.zeros((2, 3, 1), dtype=object)
        shapes[1, 2, 0], turns[1, 1, 0] = u, -r
        body = lb.FlexibleBody.from_nodes(
            convert([mu, 2 * mu]),
            convert([[l / 2, 0, 0], [l, 0, 0]]),
            convert(shapes.tolist()),
            convert(turns.tolist()),
            convert([[k]]),
            convert([[d]]),
            convert([(mu * b**2 * sp.eye(3)).tolist()] * 2),
        )
        turn = [[sp.cos(alpha), -sp.sin(alpha), 0], [sp.sin(alpha), sp.cos(alpha), 0], [0, 0, 1]]
        a.attach("beam", body, lb.Revolute([0, 1, 0]), rotation=convert(turn))
        load = lb.RigidBody(1.5, convert([b, 0, 0]), np.eye(3))
        return a.attach("load", load, lb.Revolute([1, 0, 0]), "beam", 1, convert([0, b, 0]))

    f = lb.symbolic.equations(build(lambda x: x)).lambdify(values)
    numeric = build(number).build()
    for x in np.random.default_rng(0).uniform(-0.4, 0.4, (3, 2, 3)):
        assert_close(f.M(x[0]), lb.mass_matrix(numeric, x[0]), TOLERANCE)
        assert_close(f.F(*x) + f.G(x[0]), lb.bias(numeric, *x), TOLERANCE)


def test_printed_forms():
    """str, repr, LaTeX, and floats as asked for."""
    a = lb.Assembly("rod", gravity=(0, 0, -9.81))
    a.attach("rod", lb.RigidBody(0.35, (0.5, 0, 0), np.eye(3) / 3), lb.Revolute([0, 1, 0]))
    exact, rounded = (lb.symbolic.equations(a, floats=x) for x in (False, True))
    assert exact.M[0, 0] == sp.Rational(1, 3) + sp.Rational(7, 80)
    assert isinstance(rounded.M[0, 0], sp.Float)
    assert float(rounded.M[0, 0]) == pytest.approx(1 / 3 + 0.35 / 4, rel=1e-15)
    assert "M[0, 0] = 101/240" in str(exact) and "Lagrange's equations of 'rod'" in str(exact)
    assert repr(exact) == "Equations('rod', q=[q_rod], p=[qdot_rod])"
    assert r"\frac{101}{240}" in exact._repr_latex_() and r"\dot{q}_{rod}" in exact.latex()
