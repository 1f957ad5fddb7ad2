"""Armature, springs, dampers, friction and stops of joints in the symbolic equations."""

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
    random_physics,
    random_rigid_body,
    with_physics,
)
from helpers.symbolic_states import euler_state
from limber.errors import ModelError

TOLERANCE = 1e-12


def assert_functions_are_the_engines(f, system, rng, states=3):
    """M, bias and accelerations of the functions of equations, at random states."""
    for _ in range(states):
        x, q, v = euler_state(rng, system)
        tau = rng.normal(size=system.nv)
        bias = f.F(x, v) + f.G(x) + f.R(x, v)
        assert_close(f.M(x), lb.mass_matrix(system, q), TOLERANCE, "mass matrix")
        assert_close(bias, lb.bias(system, q, v), TOLERANCE, "bias")
        vdot = lb.forward_dynamics(system, q, v, tau)
        assert_close(f.pdot(x, v, tau), vdot, TOLERANCE, "forward dynamics")


def assert_printed_is_computed(eq, f, rng, system):
    """The expressions of the equations have the values of the functions made from them."""
    parts = sp.lambdify([list(eq.q), list(eq.p)], [eq.M, eq.C, eq.G, eq.R], cse=True)
    x, _, v = euler_state(rng, system)
    for ours, expected in zip(parts(x, v), (f.M(x), f.C(x, v), f.G(x), f.R(x, v))):
        assert_close(ours, np.reshape(expected, ours.shape), TOLERANCE)


def with_all_of_it(rng, joint):
    """The joint with all that its speeds can have."""
    options = random_physics(rng, joint)
    while joint.dofs and "friction" not in options:
        options = random_physics(rng, joint)
    return with_physics(joint, **options)


#: The expressions of a compound joint with all of it are long: SymPy takes a while to make a function of them.
PRINTED = [
    *((kind, kind != "CompoundJoint") for kind in KINDS),
    pytest.param("CompoundJoint", True, marks=pytest.mark.slow),
]


@pytest.mark.parametrize("kind, printed", PRINTED)
def test_every_joint_kind(kind, printed):
    """Spherical and free joints have dampers and friction on their speeds, the others all of it."""
    rng = np.random.default_rng(40 + KINDS.index(kind))
    a = lb.Assembly("two", gravity=(0.3, -1.0, -9.81))
    first = with_all_of_it(rng, lb.Revolute([1, 2, 3]))
    a.attach("first", random_rigid_body(rng), first)
    joint = with_all_of_it(rng, random_joint(rng, [kind]))
    a.attach("second", random_rigid_body(rng), joint, "first", "a", (0.1, 0.2, 0.3))
    eq, system = lb.symbolic.equations(a), a.build()
    assert_functions_are_the_engines(eq.lambdify(), system, rng)
    if printed:
        assert_printed_is_computed(eq, eq.lambdify(), rng, system)


@pytest.mark.parametrize("seed", range(2))
def test_random_trees(seed):
    rng = np.random.default_rng(seed)
    kinds = ("Revolute", "Prismatic", "Spherical", "Universal", "Fixed")
    a = random_assembly(rng, bodies=4, flexible=0.0, kinds=kinds, physics=True)
    f = lb.symbolic.equations(a).lambdify()
    assert_functions_are_the_engines(f, a.build(), rng)


def flexible_arm(rng):
    """A flexible body with damping between joints with physics."""
    a = lb.Assembly("arm", gravity=(0.1, -9.0, 0.4))
    a.attach("base", random_flexible_body(rng, 1), with_all_of_it(rng, lb.Revolute("z")))
    a.attach("tip", random_rigid_body(rng), with_all_of_it(rng, lb.Prismatic("x")), "base", 3)
    return a


@pytest.mark.parametrize("named", [False, True])
def test_flexible_body(named):
    rng = np.random.default_rng(3)
    a = flexible_arm(rng)
    f = lb.symbolic.equations(a, named=named).lambdify()
    assert_functions_are_the_engines(f, a.build(), rng)


def test_speeds_that_commute_have_springs_and_stops():
    """A cylindrical joint as one group of two screws: its coordinates are generators beside its frame."""
    rng = np.random.default_rng(4)
    physics = {
        "stiffness": [3.0, 70.0],
        "rest": [0.2, -0.1],
        "armature": [0.3, 0.0],
        "damping": [0.1, 2.0],
        "limits": [None, (-0.2, 0.3)],
        "stop_stiffness": 500.0,
    }
    H = np.eye(6)[:, [2, 5]]
    a = lb.Assembly("a").attach("b", random_rigid_body(rng), lb.SimpleJoint(H, **physics))
    eq, system = lb.symbolic.equations(a), a.build()
    assert len(system.joints["b"].groups) == 1 and eq.lagrange
    assert_functions_are_the_engines(eq.lambdify(), system, rng)


OPTIONS = {
    "armature": 0.4,
    "stiffness": 12.0,
    "rest": 0.3,
    "damping": 0.7,
    "friction": 0.6,
    "friction_speed": 0.2,
    "static_friction": 0.9,
    "stribeck_speed": 0.5,
    "stop_stiffness": 40.0,
    "stop_damping": 0.8,
    "stop_softness": 0.1,
}


@pytest.mark.parametrize("put_in", ["lambdify", "subs"])
def test_symbols_for_all_of_it_then_numbers_equal_numbers_at_once(put_in):
    values = {sp.Symbol(name): x for name, x in OPTIONS.items()}

    def build(options):
        rng = np.random.default_rng(6)
        a = lb.Assembly("a", gravity=(0, -9.81, 0))
        turn = lb.Revolute("z", limits=(-0.3, 0.4), **options)
        a.attach("one", random_rigid_body(rng), turn)
        both = {k: [x, 2 * x] for k, x in options.items()}
        slide = lb.CompoundJoint([lb.Prismatic("x"), lb.Revolute("y")], limits=(None, 0.2), **both)
        a.attach("two", random_rigid_body(rng), slide, "one", "a")
        ball = {k: options[k] for k in ("damping", "friction", "friction_speed")}
        return a.attach("three", random_rigid_body(rng), lb.Spherical(**ball), "two", "a")

    eq = lb.symbolic.equations(build({name: sp.Symbol(name) for name in OPTIONS}))
    assert {str(x) for x in eq.parameters} == set(OPTIONS)
    f = eq.lambdify(values) if put_in == "lambdify" else eq.subs(values).lambdify()
    assert_functions_are_the_engines(f, build(OPTIONS).build(), np.random.default_rng(7))


def oscillator(**physics):
    m = sp.Symbol("m")
    a = lb.Assembly("oscillator", gravity=(0, 0, 0))
    return a.attach("mass", lb.RigidBody(m), lb.Prismatic("x", **physics))


def test_oscillator_is_the_textbook():
    m, k, d, x, v = sp.symbols("m k d x v")
    eq = lb.symbolic.equations(oscillator(stiffness=k, damping=d), q=[x], p=[v])
    assert sp.Matrix([m]) == eq.M
    assert sp.Matrix([d]) == eq.C and sp.Matrix([d * v]) == eq.F
    assert sp.Matrix([k * x]) == eq.G and eq.potential == k * x**2 / 2
    assert sp.zeros(1, 1) == eq.R and eq.lagrange
    assert str(eq).splitlines()[0].endswith("M pdot + C p + G = Q_p, qdot = V p")
    pdot = eq.lambdify({m: 2.0, k: 8.0, d: 0.5}).pdot([0.3], [-1.0], [4.0])
    assert pdot == pytest.approx([(4.0 + 0.5 - 2.4) / 2.0], rel=1e-15)


def test_friction_and_stops_are_what_the_joint_documents():
    mu, vs, k, x, v = sp.symbols("mu vs k x v")
    physics = {"friction": mu, "friction_speed": vs}
    eq = lb.symbolic.equations(oscillator(**physics), q=[x], p=[v])
    assert sp.Matrix([mu * v / sp.sqrt(v**2 + vs**2)]) == eq.R
    stop = {"limits": (None, 2), "stop_stiffness": k, "stop_damping": 0, "stop_softness": 1}
    eq = lb.symbolic.equations(oscillator(**stop), q=[x], p=[v])
    force = k * (x - 2 + sp.sqrt((x - 2) ** 2 + 1)) / 2
    assert sp.simplify(eq.R[0] - force) == 0
    assert eq.potential == 0 and sp.zeros(1, 1) == eq.G


def test_resistance_is_printed_where_there_is_any():
    mu = sp.Symbol("mu")
    eq = lb.symbolic.equations(oscillator(friction=mu), q=["x"], p=["v"])
    assert str(eq).splitlines()[0].endswith("M pdot + C p + G + R = Q_p, qdot = V p")
    assert str(eq).splitlines()[-1] == "R[0] = mu*v/sqrt(v**2 + 1.0e-6)"
    assert r"G + R = Q_p" in eq.latex() and "\nR = " in eq.latex()
    without = eq.subs({mu: 0})
    assert " + R" not in str(without) and r" + R" not in without.latex()


@pytest.mark.parametrize("floats", [True, False, None])
def test_numbers_of_the_resistance_are_printed_as_asked_for(floats):
    physics = {"friction": 0.25, "friction_speed": 0.3}
    eq = lb.symbolic.equations(oscillator(**physics), p=["v"], floats=floats)
    v = sp.Symbol("v")
    quarter, square = sp.Rational(1, 4), sp.Rational(9, 100)
    if floats:
        quarter, square = sp.Float(0.25), sp.Float(0.09)
    assert eq.R[0] == quarter * v / sp.sqrt(v**2 + square)
    assert bool(eq.R.atoms(sp.Float)) == bool(floats)


def test_physics_of_symbolic_joints_is_in_the_order_of_their_columns():
    """A compound joint counts from the outermost column, the engine and `CompoundJoint` from the innermost."""
    rng = np.random.default_rng(8)
    body = random_rigid_body(rng)
    columns = np.eye(6)[:, [2, 1, 5]]
    physics = {
        "armature": [0.1, 0.2, 0.3],
        "stiffness": [4.0, 5.0, 6.0],
        "rest": [0.1, 0.2, 0.3],
        "damping": [0.5, 0.6, 0.7],
        "friction": [1.0, 2.0, 3.0],
        "friction_speed": [0.1, 0.2, 0.3],
        "limits": [(-0.1, 0.1), (-0.2, 0.2), (None, 0.3)],
        "stop_stiffness": [10.0, 20.0, 30.0],
    }
    inboard_first = {name: x[::-1] for name, x in physics.items()}
    symbolic = lb.symbolic.compound_joint([1, 1, 1], columns, ["a", "b", "c"], **physics)
    assert symbolic.physics.damping.tolist() == physics["damping"]
    parts = [lb.SimpleJoint(columns[:, [i]]) for i in (2, 1, 0)]
    numeric = lb.CompoundJoint(parts, **inboard_first)
    a = lb.Assembly("a", gravity=(0, -3.0, -9.81)).attach("b", body, symbolic)
    system = lb.Assembly("a", gravity=(0, -3.0, -9.81)).attach("b", body, numeric).build()
    f = lb.symbolic.equations(a).lambdify()
    for q, v in rng.normal(size=(3, 2, 3)):
        bias = f.F(q, v) + f.G(q) + f.R(q, v)
        assert_close(bias[::-1], lb.bias(system, q[::-1].copy(), v[::-1].copy()), TOLERANCE)
        assert_close(f.M(q)[::-1, ::-1], lb.mass_matrix(system, q[::-1].copy()), TOLERANCE)


def test_simple_joint_takes_dampers_and_friction_on_its_speeds():
    """The engine's spherical joint has the same speeds."""
    d, mu = sp.symbols("d mu")
    body = lb.RigidBody(2.0, inertia=np.diag([1.0, 2.0, 2.5]))
    ball = lb.symbolic.simple_joint(np.eye(6, 3), ["a", "b", "c"], damping=[d, 0, 2], friction=mu)
    eq = lb.symbolic.equations(lb.Assembly("a").attach("b", body, ball))
    free = lb.symbolic.simple_joint(np.eye(6, 3), ["a", "b", "c"])
    difference = eq.C - lb.symbolic.equations(lb.Assembly("a").attach("b", body, free)).C
    assert difference.expand() == sp.diag(d, 0, 2)
    assert all(x.free_symbols == {mu, p} for x, p in zip(eq.R, eq.p))
    numeric = lb.Spherical(damping=[0.5, 0.0, 2.0], friction=0.3)
    system = lb.Assembly("a").attach("b", body, numeric).build()
    f = eq.lambdify({d: 0.5, mu: 0.3})
    assert_functions_are_the_engines(f, system, np.random.default_rng(9))


def test_energy_falls_by_what_dampers_friction_and_stops_take():
    """d/dt (T + potential) = p . (Q_p - R) - p . D p, by central differences."""
    rng = np.random.default_rng(10)
    a = flexible_arm(rng)
    eq, system = lb.symbolic.equations(a), a.build()
    f = eq.lambdify()
    x, _, p = euler_state(rng, system)
    Q = rng.normal(size=len(p))
    pdot = f.pdot(x, p, Q)

    def energy(t):
        q, v = x + t * p, p + t * pdot
        return 0.5 * v @ f.M(q) @ v + f.potential(q)

    h = 1e-5
    rate = (energy(h) - energy(-h)) / (2 * h)
    D = f.C(x, np.zeros(len(p)))
    assert rate == pytest.approx(p @ (Q - f.R(x, p)) - p @ D @ p, rel=1e-7)


def test_potential_has_the_springs_and_leaves_out_the_stops():
    rng = np.random.default_rng(11)
    body, q = random_rigid_body(rng), np.array([0.7])
    spring = {"stiffness": 9.0, "rest": 0.2}
    stop = {"limits": (-0.5, 0.5), "stop_stiffness": 100.0}

    def assembly(**physics):
        return lb.Assembly("a").attach("b", body, lb.Revolute("y", **physics))

    f = lb.symbolic.equations(assembly(**spring, **stop)).lambdify()
    assert_close(f.potential(q), lb.potential_energy(assembly(**spring).build(), q), TOLERANCE)
    assert lb.potential_energy(assembly(**spring, **stop).build(), q) > f.potential(q) + 1.0


def test_options_that_act_on_nothing_need_no_numbers():
    """The rest position of no spring and the speeds of no friction are in no equation."""
    m, r, s = sp.symbols("m r s")
    nothing = {"stiffness": 0, "rest": r, "friction": 0, "friction_speed": s}
    eq = lb.symbolic.equations(oscillator(damping=1, **nothing))
    assert eq.parameters == [m]
    assert eq.lambdify({m: 2.0}).pdot([0.5], [1.0], [3.0]) == pytest.approx([1.0])


def test_build_refuses_symbols_in_joints():
    k = sp.Symbol("k")
    for joint in (
        lb.Revolute("z", stiffness=k),
        lb.CompoundJoint([lb.Revolute("z", stiffness=k), lb.Revolute("x")]),
    ):
        a = lb.Assembly("a").attach("b", lb.RigidBody(1.0, inertia=np.eye(3)), joint)
        with pytest.raises(ModelError, match="the joint of body 'b' contains the symbols k: a Sys"):
            a.build()


def test_names_of_parameters_of_joints_are_taken():
    k = sp.Symbol("k")
    with pytest.raises(lb.LimberError, match="'k' is the name of a coordinate and a parameter"):
        lb.symbolic.equations(oscillator(stiffness=k), q=["k"])
    with pytest.raises(lb.LimberError, match="'k' is the name of a speed and a parameter"):
        lb.symbolic.equations(oscillator(friction=k), p=["k"])
    with pytest.raises(lb.LimberError, match="damping has k, which names a coordinate"):
        lb.symbolic.simple_joint(np.eye(6, 1), ["k"], damping=2 * k)


def test_expressions_do_not_hide_wrong_numbers():
    k = sp.Symbol("k")
    two = lambda **physics: lb.Universal("x", "y", **physics)  # noqa: E731
    for call, pattern in (
        (lambda: two(damping=[k, -1]), r"damping\[1\] must be at least 0, got -1"),
        (lambda: two(damping=[k, sp.oo]), r"damping\[1\] is inf"),
        (
            lambda: two(friction=1, friction_speed=sp.Matrix([0, k])),
            r"friction_speed\[0\] must be greater",
        ),
        (lambda: two(damping=[k, 1e200]), r"damping must be within 1e\+100, got 1e\+200"),
        (lambda: two(damping=[k] * 3), r"damping must have shape \(2,\), got \(3,\)"),
        (lambda: two(effort_limit=k), "effort_limit must be real numbers"),
        (lambda: two(limits=(0, k), stop_stiffness=1), "each a number or None"),
        (
            lambda: lb.symbolic.simple_joint(np.eye(6, 3), ["a", "b", "c"], stiffness=k),
            "takes no stiffness: its speeds are not the rates of coordinates",
        ),
        (
            lambda: lb.symbolic.simple_joint(np.eye(6, 1), ["a"], stifness=k),
            "has no option 'stifness'. Did you mean 'stiffness'",
        ),
    ):
        with pytest.raises(lb.LimberError, match=pattern):
            call()
