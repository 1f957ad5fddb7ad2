"""Bad input: states and other arguments of the dynamics functions."""

import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import limber as lb
from helpers.loops import for_each
from helpers.refusals import (
    EYE,
    GOOD,
    INF,
    NAN,
    NODES,
    QUATERNIONS,
    SPOILT,
    WELD,
    ZERO,
    Q,
    T,
    V,
    X,
    Y,
    chain,
    craft,
    flexible,
    refused,
    spoilt,
    stub,
    with_entry,
)

# --- states ---------------------------------------------------------------------------------------


GIVEN = {"q": Q, "v": ZERO, "tau": ZERO, "vdot": ZERO}

FUNCTIONS = {
    "forward_dynamics": (("q", "v", "tau"), lb.forward_dynamics),
    "composite": (("q", "v", "tau"), lambda *x: lb.forward_dynamics(*x, method="composite")),
    "inverse_dynamics": (("q", "v", "vdot"), lb.inverse_dynamics),
    "bias": (("q", "v"), lb.bias),
    "mass_matrix": (("q",), lb.mass_matrix),
    "kinetic_energy": (("q", "v"), lb.kinetic_energy),
    "potential_energy": (("q",), lb.potential_energy),
    "momentum": (("q", "v"), lb.momentum),
    "pose": (("q",), lambda s, q: lb.pose(s, q, "hand", "tip")),
    "jacobian": (("q",), lambda s, q: lb.jacobian(s, q, "hand")),
    "qdot": (("q", "v"), lb.qdot),
    "integrate": (("q", "v"), lambda s, q, v: lb.integrate(s, q, v, 0.1)),
    "modes": (("q", "v"), lb.modes),
}
ONE_ARGUMENT = {
    f"{function}-{name}": (function, name)
    for function, (names, _) in FUNCTIONS.items()
    for name in names
}
BATCHED = {row: pair for row, pair in ONE_ARGUMENT.items() if pair[0] != "modes"}


def call(function, **changes):
    """`function` of the craft at rest, with some arguments changed."""
    names, f = FUNCTIONS[function]
    return f(craft(), *((GIVEN | changes)[name] for name in names))


@pytest.mark.parametrize("way", [*SPOILT][:-3])  # axes, nan and inf: see below
@for_each("function, name", ONE_ARGUMENT)
def test_what_is_no_array_of_numbers_is_refused(function, name, way):
    if (function, way) == ("modes", "None"):
        return  # the neutral configuration, at rest
    spoil, kind, pattern = SPOILT[way]
    with refused(kind, rf"{name} {pattern}"):
        call(function, **{name: spoil(GIVEN[name])})


SHAPES = {
    "0-d": lambda x: 1.0,
    "short": lambda x: x[:-1],
    "long": lambda x: np.append(x, 0.0),
    "column": lambda x: x[:, None],
    "list of lists": lambda x: [[1, 2], [3, 4]],
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@for_each("function, name", ONE_ARGUMENT)
def test_wrong_shapes_are_refused(function, name, shape):
    size, what = (19, "nq") if name == "q" else (16, "nv")
    pattern = rf"{name} must have shape \(\.\.\., {size}\), got \(.*\): 'craft' has {what} = {size}"
    with refused(V, pattern):
        call(function, **{name: shape(GIVEN[name])})


WHERE = {"q": (12, "mode 2 of body 'arm'"), "v": (15, "joint speed 3 of body 'hand'")}
WHERE |= {"tau": (8, "joint speed 2 of body 'dish'"), "vdot": (9, "mode 1 of body 'arm'")}


@pytest.mark.parametrize("entry", [NAN, INF, -INF])
@for_each("function, name", ONE_ARGUMENT)
def test_numbers_that_are_not_finite_are_refused(function, name, entry):
    i, owner = WHERE[name]
    spoilt = with_entry(GIVEN[name], i, entry)
    with refused(V, rf"{name}\[{i}\] is {entry}: {owner} must be finite"):
        call(function, **{name: spoilt})


@pytest.mark.parametrize("states, state", [(3, 1), (300, 257)])
@for_each("function, name", BATCHED)
def test_numbers_that_are_not_finite_in_a_batch_are_refused_with_their_state(
    function, name, states, state
):
    i, owner = WHERE[name]
    batch = np.tile(GIVEN[name], (states, 1))
    batch[state, i] = NAN
    with refused(V, rf"{name}\[{i}\] is nan \(state {state} of the batch\): {owner} must be"):
        call(function, **{name: batch})


def test_first_bad_state_of_a_batch_is_named():
    batch = np.tile(Q, (2, 150, 1))
    batch[1, 100, 3] = batch[0, 70, 4] = INF
    with refused(V, r"q\[4\] is inf \(state 70 of the batch\)"):
        call("forward_dynamics", q=batch)


@pytest.mark.parametrize("body, at", QUATERNIONS.items(), ids=QUATERNIONS)
@pytest.mark.parametrize("factor", [0.0, 1 - 3e-6, 1 + 3e-6, 2.0, -1e200])
@for_each("function", {name: name for name in FUNCTIONS})
def test_quaternions_that_are_not_unit_are_refused(function, factor, body, at):
    q = with_entry(Q, at, factor)
    whose = rf"the quaternion of body '{body}', has norm .*: it must be 1 to within 1e-06"
    with refused(V, rf"q\[{at}:{at + 4}\], {whose}. Normalize it, or advance q with lb.integ"):
        call(function, q=q)
    if function != "modes":
        with refused(V, rf"q\[{at}:{at + 4}\] \(state 1 of the batch\), {whose}"):
            call(function, q=np.stack([Q, q]))


def test_quaternions_nearly_unit_are_accepted():
    q = with_entry(with_entry(Q, 0, 1 + 5e-7), 7, 1 - 5e-7)
    call("forward_dynamics", q=q)
    q[15] = 1.1  # the worst is the one that is blamed
    with refused(V, r"q\[15:19\], the quaternion of body 'hand', has norm 1.1"):
        call("forward_dynamics", q=q)


@for_each("function, name", {row: x for row, x in BATCHED.items() if x[1] != "q"})
def test_batches_that_do_not_broadcast_are_refused(function, name):
    batch = {"q": np.tile(Q, (3, 1)), name: np.zeros((2, 16))}
    with refused(V, rf"the leading \(batch\) .*q \(3, 19\).*{name} \(2, 16\).*broadcast"):
        call(function, **batch)


@pytest.mark.parametrize("name", ["q", "v"])
@pytest.mark.parametrize("states", [0, 1, 3])
def test_modes_of_a_batch_are_refused(name, states):
    with refused(V, rf"q and v must be one state, got a batch of shape \({states},\). Call modes"):
        call("modes", **{name: np.tile(GIVEN[name], (states, 1))})


SYSTEMS = {
    "Assembly": (stub(), "got Assembly. Call its build"),
    "body": (GOOD, "got RigidBody. Make one with lb.Assembly"),
    "class": (lb.System, "got type"),
    "None": (None, "got NoneType"),
    "name": ("craft", "got str"),
    "list": ([Q], "got list"),
    "array": (Q, "got ndarray"),
}


@for_each("system, pattern", SYSTEMS)
@for_each("function", {name: name for name in FUNCTIONS})
def test_what_is_no_system_is_refused(function, system, pattern):
    names, f = FUNCTIONS[function]
    with refused(T, f"system must be a limber System, {pattern}"):
        f(system, *(GIVEN[name] for name in names))


WRENCH, PUSH = np.zeros(6), with_entry(np.zeros((3, 6)), 16, INF)
EXTERNAL = [
    ("tip", T, r'external must map \("body", node\) to a wrench .*as in .*got \'tip'),
    ([WRENCH], T, r"external must map .*got \[array"),
    (WRENCH, T, "external must map"),
    ({"arm": WRENCH}, T, r'external: a key must be \("body", node\), got \'arm'),
    ({("arm", 0, 0): WRENCH}, T, "external: a key must be .*got .'arm', 0, 0"),
    ({("leg", 0): WRENCH}, V, r"external\[.*'leg', 0\)\]: body='leg' is not in .*'craft'; it has"),
    ({("world", None): WRENCH}, V, r"external.*body='world' is not in the system"),
    ({(2, "tip"): WRENCH}, T, r"external\[.*\]: body must be the name.*got 2"),
    ({("arm", "tap"): WRENCH}, V, r"external\[.*'tap'\)\]: node='tap' is not a node of body 'arm'"),
    ({("arm", -1): WRENCH}, V, r"external.*: node=-1 is out of range: body 'arm'"),
    ({("arm", 99): WRENCH}, V, "external.*node=99 .*11 nodes, 0 to 10"),
    ({("arm", 0.5): WRENCH}, T, "external.*node must be a node name or number"),
    ({("arm", "tip"): X}, V, r"external\[.*\] must have shape .* 6\), got \(3,\): .*moment"),
    ({("arm", "tip"): None}, T, r"external\[.*\] must be real numbers.*got None"),
    ({("arm", "tip"): "push"}, T, r"external\[.*\] must be real numbers.*'push'"),
    ({("arm", "tip"): WRENCH + 1j}, T, r"external\[.*\] must be .*complex"),
    ({("arm", "tip"): [[1], [1, 2]]}, T, r"external\[.*\] must be real"),
    ({("hand", 0): WRENCH, ("arm", 1): PUSH[2]}, V, r"external\[.*'arm', 1\)\]\[4\] is inf: a"),
    ({("arm", None): PUSH}, V, r"external\[\('arm', None\)\]\[4\] is inf \(state 2 of the batch\)"),
]


@for_each("external, kind, pattern", EXTERNAL)
@pytest.mark.parametrize("function", [lb.forward_dynamics, lb.inverse_dynamics])
def test_bad_wrenches_are_refused(function, external, kind, pattern):
    with refused(kind, pattern):
        function(craft(), Q, ZERO, ZERO, external=external)


@pytest.mark.parametrize("function", [lb.forward_dynamics, lb.inverse_dynamics])
def test_wrenches_that_do_not_broadcast_are_refused(function):
    external = {("arm", "tip"): np.zeros((4, 6))}
    assert function(craft(), Q, ZERO, ZERO, external=external).shape == (4, 16)
    with refused(V, r"the leading .*q \(3, 19\).*external\[\('arm', 'tip'\)\] \(4, 6\)"):
        function(craft(), np.tile(Q, (3, 1)), ZERO, ZERO, external=external)


@pytest.mark.parametrize("method", ["aba", "", None, ["composite"], 1])
def test_unknown_methods_are_refused(method):
    pattern = f"method must be one of 'articulated', 'composite', 'fd1', .*'cg', got {re.escape(repr(method))}"
    with refused(V, pattern):
        lb.forward_dynamics(craft(), Q, ZERO, ZERO, method=method)


PLACES = [
    (("leg",), V, "body='leg' is not in the system 'craft'; it has: 'hull', .*'hand'"),
    (("world",), V, "body='world' is not in the system 'craft'"),
    ((None,), T, "body must be the name of a body, got None"),
    ((2,), T, "body must be the name of a body, got 2"),
    (("hand", "tap"), V, "node='tap' is not a node of body 'hand'; its nodes are: 'tip', 'side'"),
    (("hand", -1), V, "node=-1 is out of range: body 'hand' has 2 nodes, 0 to 1"),
    (("hand", 2), V, "node=2 is out of range: body 'hand' has 2 nodes, 0 to 1"),
    (("hand", True), T, "node must be a node name or number of body 'hand', got True"),
    (("hand", X), T, "node must be a node name or number of body 'hand', got array"),
]


def test_a_body_without_nodes_has_its_frame():
    s = lb.Assembly("a").attach("load", lb.RigidBody(1.0), lb.Prismatic("x")).build()
    with refused(V, "node='x' is not a node of body 'load', which has none; None stands for its"):
        lb.pose(s, [0.0], "load", "x")


@for_each("place, kind, pattern", PLACES)
@pytest.mark.parametrize("function", [lb.pose, lb.jacobian])
def test_unknown_bodies_and_nodes_are_refused(function, place, kind, pattern):
    with refused(kind, pattern):
        function(craft(), Q, *place)


@spoilt({"dt": ("dt", 0.1, lambda dt: lb.integrate(craft(), Q, ZERO, dt))})
def test_bad_time_steps_are_refused(name, g, call, spoil, kind, pattern):
    with refused(kind, f"{name} {pattern}"):
        call(spoil(g))


LOCKED = [
    ("arm", T, r"locked must be a list of body names, got the string 'arm': use \['arm'\]"),
    (None, T, "locked must be a list of body names, got None"),
    (1, T, "locked must be a list of body names, got 1"),
    (["leg"], V, "locked: body='leg' is not in the system 'craft'; it has: 'hull'"),
    ([1], T, "locked: body must be the name of a body, got 1"),
]


@for_each("locked, kind, pattern", LOCKED)
def test_bad_lists_of_locked_bodies_are_refused(locked, kind, pattern):
    with refused(kind, pattern):
        lb.modes(craft(), Q, locked=locked)


def test_modes_of_nothing_or_of_bodies_that_deform_are_refused():
    with refused(V, r"locked=\['base'\] leaves none of the 1 speeds of 'stub' free"):
        lb.modes(stub().build(), [0.0], locked=["base"])
    with refused(V, r"v\[\d+\] = 1, the speed of mode 1 of body .*, must be zero"):
        lb.modes(craft(), Q, ZERO + 1.0)


LARGE = {
    "kinetic_energy": {"v": ZERO + 1e200},
    "momentum": {"v": ZERO + 1e308},
    "integrate": {"v": ZERO + 1e200},
    "pose": {"q": with_entry(Q, 11, 1e200)},
    "mass_matrix": {"q": with_entry(Q, 11, 1e200)},
    "forward_dynamics": {"v": ZERO + 1e200},
    "inverse_dynamics": {"v": ZERO + 1e200},
}


@pytest.mark.parametrize("function, changes", LARGE.items(), ids=LARGE)
def test_states_that_overflow_are_refused(function, changes):
    (name, x), *_ = changes.items()
    who = "the dynamics of 'craft' has no finite result" if "dyn" in function else function
    with refused(V, rf"{who}.*: .*overflow.*huge"):
        call(function, **changes)
    with refused(V, rf"{who}.*\(state 1 of the batch\): .*overflow"):
        call(function, **{name: np.stack([GIVEN[name], x])})


# --- unusual but right ----------------------------------------------------------------------------

UNUSUAL = {
    "list": list,
    "float32": lambda x: x.astype(np.float32),
    "int": lambda x: x.astype(int),
    "big-endian": lambda x: x.astype(">f8"),
    "long double": lambda x: x.astype(np.longdouble),
    "fractions": lambda x: [Fraction(float(e)) for e in x],
    "decimals": lambda x: [Decimal(float(e)) for e in x],
    "strided": lambda x: np.repeat(x, 2)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "buffer": memoryview,
}


@pytest.mark.parametrize("form", UNUSUAL.values(), ids=UNUSUAL)
@pytest.mark.parametrize("function", ["forward_dynamics", "bias", "mass_matrix"])
def test_unusual_arrays_of_numbers_are_taken(function, form):
    expected = call(function)
    changes = {name: form(x) for name, x in GIVEN.items()}
    assert np.array_equal(call(function, **changes), expected)


@pytest.mark.parametrize("function", [name for name in FUNCTIONS if name not in ("modes", "pose")])
def test_empty_batch_gives_empty_results(function):
    one, none = call(function), call(function, q=np.zeros((2, 0, 19)))
    assert none.shape == (2, 0, *np.shape(one))


def test_system_without_freedoms():
    system = chain((GOOD, WELD), (GOOD, WELD)).build()
    none, batch = np.zeros(0), np.zeros((5, 0))
    for f in (lb.forward_dynamics, lb.inverse_dynamics):
        assert f(system, none, none, none).shape == (0,)
        assert f(system, batch, none, none).shape == (5, 0)
    assert lb.mass_matrix(system, batch).shape == (5, 0, 0)
    assert lb.jacobian(system, none, "b").shape == (6, 0)
    assert lb.pose(system, batch, "b", "tip")[1] == pytest.approx(np.tile(X + Y, (5, 1)))
    assert lb.momentum(system, none, none) == pytest.approx(np.zeros(6))
    assert lb.integrate(system, none, none, 0.1).shape == (0,)
    with refused(V, ".*none of the 0 speeds of 'chain'"):
        lb.modes(system, none)


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e200, 1.7e308])
def test_axes_of_any_length(scale):
    assert lb.Revolute([0, 0, -scale]).axis == pytest.approx([0, 0, -1])
    assert lb.Planar([scale, scale, 0]).normal == pytest.approx([0.5**0.5, 0.5**0.5, 0])


def test_point_masses_away_from_their_nodes():
    """`com` without `inertia`: points at `com`.  The same inertia, given, passes despite rounding."""
    com = np.array([[0.1, 0.7, -0.3], [0.3, 0.2, 0.9]])
    about_node = [m * (c @ c * EYE - np.outer(c, c)) for m, c in zip(NODES["mass"], com)]
    implied, given = flexible(com=com, inertia=None), flexible(com=com, inertia=about_node)
    moved = flexible(com=None, inertia=None, position=NODES["position"] + com)
    assert implied.points.inertia == pytest.approx(given.points.inertia)
    assert np.allclose(implied.integrals.J0, moved.integrals.J0, rtol=1e-12)
