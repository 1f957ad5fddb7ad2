"""What the symbolic package refuses, and how it says so."""

import subprocess
import sys

import numpy as np
import pytest
import sympy as sp

import limber as lb
from helpers.refusals import GOOD, TURN, T, V, refused

m, L, g = sp.symbols("m L g")
H = [[0], [0], [1], [0], [0], [0]]


@pytest.mark.parametrize(
    ("map_", "names", "kind", "pattern"),
    [
        ([[1], [0]], ["a"], V, r"H must have shape \(6, r\).*got \(2, 1\)"),
        (np.zeros((6, 0)), [], V, r"H must have shape"),
        (np.zeros((6, 1)), ["a"], V, "column 0 of H is zero"),
        ("text", ["a"], T, "H must be a 6 x r matrix"),
        (3, ["a"], T, "H must be a 6 x r matrix"),
        ([[np.nan], [0], [0], [0], [0], [0]], ["a"], T, "H must be a 6 x r matrix"),
        (H, ["a", "b"], V, "names must have 1 entries, got 2"),
        (H, [], V, "names must have 1 entries, got 0"),
        (H, [1.0], T, "names must be strings or SymPy symbols"),
        (H, None, T, "names must be strings or SymPy symbols"),
        ([[0], [0], [1], [0], [0], [m]], ["m"], V, "names has m, which H contains"),
        (np.eye(6, 2), ["a", "a"], V, "names has duplicates"),
        (
            np.ones((6, 2)),
            ["a", "b"],
            V,
            "H: a simple joint needs independent columns, got 2 of rank 1",
        ),
        (np.ones((6, 7)), list("abcdefg"), V, "H has 7 columns"),
    ],
)
def test_simple_joint_refuses(map_, names, kind, pattern):
    with refused(kind, pattern):
        lb.symbolic.simple_joint(map_, names)


@pytest.mark.parametrize("r", [[1], [1, 2], [0, 2], [1.5, 0.5], "ab", None, [], [True, 1]])
def test_compound_joint_refuses_wrong_counts(r):
    with refused(V, "r "):
        lb.symbolic.compound_joint(r, np.eye(6, 2), ["a", "b"])


def test_build_refuses_symbols():
    """The message names the body and the symbols."""
    body = lb.RigidBody(m, (0, 0, L), np.eye(3))
    with refused(V, "body 'rod' contains the symbols L, m: a System needs numbers"):
        lb.Assembly("x").attach("rod", body, TURN).build()
    with refused(V, "body 'rod' contains the symbols L:"):
        lb.Assembly("x").attach("rod", GOOD, TURN, offset=(L, 0, 0)).build()
    with refused(V, "gravity of 'x' contains the symbols g:"):
        lb.Assembly("x", gravity=(0, 0, -g)).attach("rod", GOOD, TURN).build()
    joint = lb.symbolic.simple_joint(H, ["theta"])
    with refused(V, r"the joint of body 'rod' is symbolic, with the coordinates theta"):
        lb.Assembly("x").attach("rod", GOOD, joint).build()


def test_symbolic_bodies_are_still_checked():
    with refused(
        V, "inertia must be symmetric, but the entries m and 0 opposite each other differ"
    ):
        lb.RigidBody(1.0, inertia=[[m, m, 0], [0, m, 0], [0, 0, m]])
    with refused(V, r"com must have shape \(3,\), got \(2,\)"):
        lb.RigidBody(1.0, com=(L, L))
    with refused(T, "com must be real numbers or expressions of shape .*got 'a'"):
        lb.RigidBody(1.0, com=(L, "a", 0))
    with refused(V, "com contains nan"):
        lb.RigidBody(1.0, com=(L, np.nan, 0))
    assert lb.RigidBody(m, com=sp.Matrix([0, 0, L])).com.tolist() == [0, 0, L]
    with refused(T, "axis must be real numbers"):
        lb.Revolute((L, 0, 0))


def pendulum(joint=TURN):
    return lb.Assembly("x", gravity=(0, -g, 0)).attach(
        "rod", lb.RigidBody(m, (L, 0, 0), np.eye(3)), joint
    )


def test_equations_refuse():
    with refused(T, "assembly must be an Assembly"):
        lb.symbolic.equations(lb.Assembly("x").attach("rod", GOOD, TURN).build())
    with refused(V, "assembly 'x' is empty"):
        lb.symbolic.equations(lb.Assembly("x"))
    for order in (0, -1, 1.5, True):
        with refused(V, "order must be None or a whole number"):
            lb.symbolic.equations(pendulum(), order=order)
    with refused(V, "named has 'arm', which is not a body"):
        lb.symbolic.equations(pendulum(), named=["arm"])
    with refused(V, "'m_rod' is the name of a coordinate or speed and of a number"):
        fixed = lb.Assembly("x").attach("rod", GOOD, TURN)
        lb.symbolic.equations(fixed.attach("b", GOOD, TURN), named=True, q=["m_rod", "b"])
    with refused(V, "assembly 'x' has no degrees of freedom"):
        lb.symbolic.equations(lb.Assembly("x").attach("rod", GOOD, lb.Fixed()))
    with refused(V, "q must have 1 entries, got 2"):
        lb.symbolic.equations(pendulum(), q=["a", "b"])
    with refused(V, "q names 'arm', which is not a body"):
        lb.symbolic.equations(pendulum(), q={"arm": ["a"]})
    with refused(V, "'m' is the name of a coordinate and a parameter"):
        lb.symbolic.equations(pendulum(), q=["m"])
    with refused(V, "'a' is the name of a coordinate and a speed"):
        lb.symbolic.equations(pendulum(), q=["a"], p=["a"])


def test_skewed_placements_are_refused():
    a = sp.Symbol("a")
    good = [[sp.cos(a), -sp.sin(a), 0], [sp.sin(a), sp.cos(a), 0], [0, 0, 1]]
    bad = [[sp.cos(a), sp.sin(a), 0], [sp.sin(a), sp.cos(a), 0], [0, 0, 1]]
    lb.symbolic.equations(lb.Assembly("x").attach("rod", GOOD, TURN, rotation=good))
    with refused(V, "rotation of 'rod' must be a rotation matrix, but R R.T - I has the entry"):
        lb.symbolic.equations(lb.Assembly("x").attach("rod", GOOD, TURN, rotation=bad))


def test_parts_refuse():
    eq = lb.symbolic.equations(pendulum())
    with refused(V, "body='arm' is not in the assembly"):
        eq.pose("arm")
    with refused(V, "node='tip' is not a node of body 'rod'"):
        eq.pose("rod", "tip")
    with refused(V, "values lacks numbers for g, m: "):
        eq.lambdify({L: 1.0})
    with refused(V, r"forces must be 1 numbers or expressions.*got shape \(2, 1\)"):
        eq.Q([1, 2])
    with refused(V, "forces must be 1 numbers or expressions.*real and finite, got .*nan"):
        eq.Q([np.nan])
    for forces in ("ab", None, 5, [None], ["a b"]):
        with refused(T, "forces must be 1 numbers or expressions, one per coordinate, real and"):
            eq.Q(forces)
    with refused(V, r"q must have shape \(1,\), got \(2,\)"):
        eq.lambdify({L: 1.0, m: 1.0, g: 1.0}).M([0.0, 1.0])


def test_a_body_that_is_not_there_has_no_configuration():
    X = lb.symbolic.equations(pendulum()).X
    for key in (5, -2, "arm", None, 1.0, True, [0], slice(0, 1)):
        with refused(V, r"X\[.*\]: there is no such body.*0 to 0, of: 'rod'"):
            X[key]
        assert key not in X and X.get(key, "none") == "none"
    assert X["rod"] == X[0] == X[np.int64(-1)] == X.get("rod") and "rod" in X and 0 in X


def test_values_are_numbers_of_symbols():
    eq = lb.symbolic.equations(pendulum())
    for values in ("text", 5, [m], {5: 1.0}, {m + 1: 1.0}, {None: 1.0}):
        with refused(T, "values must map symbols or their names to numbers"):
            eq.lambdify(values)
    for value, kind in ((None, T), ("a", T), (L, T), (1j, T), (True, T), ([1], V), (np.nan, V)):
        with refused(kind, r"values\[m\] "):
            eq.lambdify({m: value, L: 1.0, g: 1.0})
    exact = {m: sp.Rational(1, 2), L: sp.sqrt(2), g: 9}
    named = {str(symbol): value for symbol, value in exact.items()}
    assert eq.lambdify(exact).G([0.3]) == eq.lambdify(named).G([0.3])
    assert np.allclose(eq.lambdify(exact).G([0.3]), 4.5 * np.sqrt(2) * np.cos(0.3))


def test_names_find_symbols_with_assumptions():
    mass = sp.Symbol("m", positive=True)
    body = lb.RigidBody(mass, (1, 0, 0), np.eye(3))
    eq = lb.symbolic.equations(lb.Assembly("x").attach("rod", body, TURN))
    assert eq.lambdify({"m": 2.0}).M([0.0]) == eq.lambdify({mass: 2.0}).M([0.0]) == 3.0


def test_subs_says_what_it_takes():
    eq = lb.symbolic.equations(pendulum())
    for args in (("text",), (5,), (None,), (), (m, 1, 2), ({m: None},), ({m: "a b"},), (m, [1])):
        with refused(V, r"subs\(.*give \{symbol: value\}"):
            eq.subs(*args)
    assert eq.subs({m: 2}).M == eq.subs(m, 2).M == eq.subs([(m, 2)]).M


def test_numbers_of_functions_are_checked():
    f = lb.symbolic.equations(pendulum()).lambdify({L: 1.0, m: 1.0, g: 1.0})
    for call, name in (
        (lambda x: f.M(x), "q"),
        (lambda x: f.V(x), "q"),
        (lambda x: f.F([0.0], x), "p"),
        (lambda x: f.pdot([0.0], [0.0], x), "Q_p"),
    ):
        for bad, kind in (("a", T), (None, T), ([0.0, 1.0], V), ([np.nan], V)):
            with refused(kind, rf"^{name}(\[0\])? (must|is)"):
                call(bad)


def test_options_of_equations_are_checked():
    for named in (5, None):
        with refused(T, "named must be True, False or names of bodies"):
            lb.symbolic.equations(pendulum(), named=named)
    for floats in ("yes", 5, 1.0):
        with refused(T, "floats must be True, False or None"):
            lb.symbolic.equations(pendulum(), floats=floats)
    with refused(V, r"body=\[\] is not in the assembly"):
        lb.symbolic.equations(pendulum()).pose([])


def test_sympy_is_imported_only_when_used():
    code = "import sys, limber; assert 'sympy' not in sys.modules; limber.symbolic; assert 'sympy' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_sympy_names_the_extra():
    code = (
        "import sys; sys.modules['sympy'] = None\nimport limber\n"
        "try: limber.symbolic\nexcept ImportError as e: assert 'limber-dynamics[symbolic]' in str(e)\n"
        "else: raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# --- no string is run as code -------------------------------------------------------------------------

CODE = "__import__('builtins').print('CODE WAS RUN')"


@pytest.mark.parametrize("text", [CODE, "x", "1", "2*m"])
def test_strings_are_not_read_as_expressions(text, capfd):
    """SymPy evaluates strings as Python code, wherever it takes expressions."""
    eq = lb.symbolic.equations(pendulum())
    sixth = [[0], [0], [1], [0], [0], [text]]
    doors = {
        "subs, value": lambda: eq.subs({m: text}),
        "subs, pair": lambda: eq.subs(m, text),
        "subs, list": lambda: eq.subs([(m, text)]),
        "forces": lambda: eq.Q([text]),
        "forces as a string": lambda: eq.Q(text),
        "forces as objects": lambda: eq.Q(np.array([text], dtype=object)),
        "map": lambda: lb.symbolic.simple_joint(sixth, ["a"]),
        "map as objects": lambda: lb.symbolic.simple_joint(np.array(sixth, dtype=object), ["a"]),
        "flat map": lambda: lb.symbolic.simple_joint([0, 0, 1, 0, 0, text], ["a"]),
        "map as a string": lambda: lb.symbolic.simple_joint(text, ["a"]),
        "compound map": lambda: lb.symbolic.compound_joint([1], sixth, ["a"]),
        "numeric map": lambda: lb.SimpleJoint(sixth),
        "value": lambda: eq.lambdify({m: text, L: 1.0, g: 1.0}),
        "mass": lambda: lb.RigidBody(text),
        "mass of a symbolic body": lambda: lb.RigidBody(text, (L, 0, 0)),
        "centre of mass": lambda: lb.RigidBody(m, (L, text, 0)),
        "inertia": lambda: lb.RigidBody(m, inertia=[[L, 0, 0], [0, L, 0], [0, 0, text]]),
        "node": lambda: lb.RigidBody(m, nodes={"tip": (L, 0, text)}),
        "gravity": lambda: lb.Assembly("x", gravity=(0, g, text)),
        "offset": lambda: lb.Assembly("x").attach("rod", GOOD, TURN, offset=(L, 0, text)),
        "rotation": lambda: lb.Assembly("x").attach("rod", GOOD, TURN, rotation=[[L, text, 0]] * 3),
        "axis": lambda: lb.Revolute((0, 0, text)),
        "coordinate": lambda: eq.lambdify({m: 1.0, L: 1.0, g: 1.0}).M([text]),
    }
    for name, door in doors.items():
        with pytest.raises(lb.LimberError):
            door()
        assert capfd.readouterr().out == "", name


def test_names_of_any_spelling_are_names(capfd):
    """Not code, neither when the symbols are made nor when functions of them are."""
    names = [CODE, "sin", "lambda", "x0", "a b", "numpy"]
    joint = lb.symbolic.compound_joint([1] * 6, np.eye(6), names)
    body = lb.RigidBody(1.0, (1, 0, 0), np.eye(3))
    a = lb.Assembly("x").attach(CODE, body, joint)
    eq = lb.symbolic.equations(a)
    assert [str(s) for s in eq.q] == names
    plain = lb.symbolic.equations(a, q=list("abcdef"), p=list("uvwxyz"))
    q, p = 0.1 * np.arange(6), np.ones(6)
    assert np.array_equal(eq.lambdify().M(q), plain.lambdify().M(q))
    assert np.array_equal(eq.lambdify().C(q, p), plain.lambdify().C(q, p))
    assert np.array_equal(eq.lambdify().V(q), plain.lambdify().V(q))
    assert capfd.readouterr().out == ""


def test_values_go_to_symbols_by_their_names():
    eq = lb.symbolic.equations(pendulum())
    assert eq.subs({"m": 2}).M == eq.subs("m", 2).M == eq.subs([("m", 2)]).M == eq.subs({m: 2}).M
    assert eq.subs({"m": 2 * L}).M == eq.subs({m: 2 * L}).M
    assert eq.subs({m * L: 3}).G == eq.subs([(m * L, 3)]).G != eq.G
    assert eq.subs({m: L, L: m}).G == eq.G  # at once
    assert eq.subs([(m, L), (L, 2)]).G == eq.subs({m: 2, L: 2}).G  # one after the other
    renamed = eq.subs({m: sp.Symbol("M")})
    assert renamed.subs({"M": 2}).M == eq.subs({m: 2}).M


def test_unknown_symbols_are_refused_with_those_that_are_known():
    eq = lb.symbolic.equations(pendulum())
    x = sp.Symbol("x")
    for values in ({"x": 2}, {x: 2}, {x * m: 2}):
        with refused(V, r"subs: 'x' is not a symbol of these equations, which have L, g, m, q_rod"):
            eq.subs(values)
    for args in ((x, 2), ([(m, 2), (m, 3)],)):
        with refused(V, r"subs: '[xm]' is not a symbol of these equations, which have L, g"):
            eq.subs(*args)
    with refused(V, "subs: 'm' is not a symbol of these equations, which have L, g, q_rod"):
        eq.subs({m: 2}).subs({m: 2})
    for values in ({"x": 2.0}, {x: 2.0}):
        with refused(V, "values: 'x' is not a symbol of these equations, which have L, g, m"):
            eq.lambdify(values)


def test_symbols_of_other_assumptions_are_refused():
    mass, other = sp.Symbol("m", positive=True), sp.Symbol("m", real=True)
    body = lb.RigidBody(mass, (1, 0, 0), np.eye(3))
    eq = lb.symbolic.equations(lb.Assembly("x").attach("rod", body, TURN))
    pattern = (
        r"Symbol\('m'.*which have Symbol\('m', positive=True\).*Give that symbol, or its name, 'm'"
    )
    for values in ({m: 2}, {other: 2}):
        with refused(V, f"subs: {pattern}"):
            eq.subs(values)
        with refused(V, f"values: {pattern}"):
            eq.lambdify(values)
    assert eq.subs({"m": 2}).M == eq.subs({mass: 2}).M
    twice = lb.RigidBody(mass, (m, 0, 0), np.eye(3))
    eq = lb.symbolic.equations(lb.Assembly("x").attach("rod", twice, TURN))
    with refused(V, "subs: 'm' is the name of 2 symbols, which differ in their assumptions"):
        eq.subs({"m": 2})
