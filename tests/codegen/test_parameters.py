"""Numbers of the model as inputs: at their values nothing changes, at others the system is another."""

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.generated import (
    COMPLEX,
    FIDELITIES,
    OF_NODE,
    arm_assembly,
    evaluated,
    mixed,
    mixed_assembly,
    parts,
    program,
    values,
)

TOLERANCE = 1e-12
INERTIA = np.array([[0.05, 0.002, -0.001], [0.002, 0.06, 0.004], [-0.001, 0.004, 0.07]])
STIFFNESS = np.array([[60.0, -7.0], [-7.0, 80.0]])
DAMPING = np.array([[0.5, 0.2], [0.2, 0.9]])
#: key -> another value, and the assembly that has it
OTHERS = {
    "gravity": ((1.0, 2.0, -3.0), lambda x: arm_assembly(gravity=x)),
    "hand.mass": (1.7, lambda x: arm_assembly(mass=x)),
    "hand.com": ((-0.1, 0.3, 0.2), lambda x: arm_assembly(com=x)),
    "hand.inertia": (INERTIA, lambda x: arm_assembly(inertia=x)),
    "base.mass": (0.4, lambda x: arm_assembly(base_mass=x)),
    "link.offset": ((0.3, -0.2, 0.1), lambda x: arm_assembly(offset=x)),
    "link.stiffness": (STIFFNESS, lambda x: arm_assembly(link={"stiffness": x})),
    "link.damping": (DAMPING, lambda x: arm_assembly(link={"damping": x})),
}
FUNCTIONS = ("forward_dynamics", "inverse_dynamics", "potential_energy", "kinetic_energy", "momentum", "pose", "jacobian")  # fmt: skip
NODE = {"body": "hand", "node": "grip"}


def answer(s, function, args):
    options = NODE if function in OF_NODE else {}
    return parts(getattr(lb, function)(s, *args, **options))


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("key", OTHERS)
def test_changed_parameters_are_a_rebuilt_system(fidelity, key):
    """Every function, at the value of the model and at another one."""
    rng = np.random.default_rng(1)
    other, build = OTHERS[key]
    s, rebuilt = arm_assembly().build(fidelity=fidelity), build(other).build(fidelity=fidelity)
    changed = False
    for function in FUNCTIONS:
        options = NODE if function in OF_NODE else {}
        p = program(s, function, parameters=[key], **options)
        args = values(rng, s, function)
        own = p.example[-1]
        for got, expected in zip(evaluated(p, [*args, own]), answer(s, function, args)):
            assert_close(got, expected, TOLERANCE, f"{function} at the model's {key}")
        for got, expected, before in zip(
            evaluated(p, [*args, other]), answer(rebuilt, function, args), answer(s, function, args)
        ):
            assert_close(got, expected, TOLERANCE, f"{function} at another {key}")
            changed |= not np.allclose(expected, before, rtol=1e-6)
    assert changed  # else the test shows nothing


JOINT = {
    "armature": 0.3, "stiffness": 5.0, "rest": 0.2, "damping": 0.4, "friction": 0.6, "static_friction": 0.9,
    "friction_speed": 0.2, "limits": (-0.3, 0.4), "stop_stiffness": 60.0, "stop_softness": 0.05,
}  # fmt: skip
#: key -> another value, and the options that have it
JOINT_OTHERS = {
    "joint_armature": (0.7, {"armature": 0.7}),
    "joint_stiffness": (9.0, {"stiffness": 9.0}),
    "joint_rest": (-0.4, {"rest": -0.4}),
    "joint_damping": (1.3, {"damping": 1.3}),
    "joint_friction": (0.1, {"friction": 0.1}),
    "joint_static_friction": (2.0, {"static_friction": 2.0}),
    "joint_stop_stiffness": (20.0, {"stop_stiffness": 20.0}),
    "joint_lower": (0.1, {"limits": (0.1, 0.4)}),
    "joint_upper": (-0.1, {"limits": (-0.3, -0.1)}),
}


def geared(**options):
    a = lb.Assembly("geared", gravity=(0.0, 0.0, -9.81))
    body = lb.RigidBody(1.0, (0.3, 0.0, 0.1), np.diag([0.1, 0.2, 0.3]), nodes={"grip": (1, 0, 0)})
    a.attach("base", body, lb.Revolute("y", **(JOINT | options)))
    a.attach("hand", body, lb.Universal("x", "z", damping=(0.1, 0.2)), to="base", at="grip")
    return a.build()


@pytest.mark.parametrize("key", JOINT_OTHERS)
def test_changed_joints_are_a_rebuilt_system(key):
    rng = np.random.default_rng(6)
    other, options = JOINT_OTHERS[key]
    s, rebuilt = geared(), geared(**options)
    changed = False
    for function in ("forward_dynamics", "bias", "potential_energy", "kinetic_energy"):
        p = program(s, function, parameters=[f"base.{key}"])
        args = values(rng, s, function)
        (same,) = evaluated(p, [*args, p.example[-1]])
        (got,) = evaluated(p, [*args, other])
        (before,), (after,) = answer(s, function, args), answer(rebuilt, function, args)
        assert_close(same, before, TOLERANCE, f"{function} at the model's {key}")
        assert_close(got, after, TOLERANCE, f"{function} at another {key}")
        changed |= not np.allclose(before, after, rtol=1e-6)
    assert changed


def test_joints_of_several_speeds_have_parameters_for_each():
    s = geared()
    rng = np.random.default_rng(3)
    args = values(rng, s, "bias")
    f = lb.compile(s, "bias", parameters=["hand.joint_damping"])
    more = f(*args, np.array([0.5, 0.7])) - f(*args, np.array([0.1, 0.2]))
    assert_close(more, np.array([0.0, 0.4, 0.5]) * args[1], TOLERANCE)


def on_a_ball(order, **options):
    """A body on a quaternion and a slide, whose speed is number `i`."""
    parts, i = [lb.Spherical(), lb.Prismatic("y")], 3
    if order == "slide first":
        parts, i = parts[::-1], 0
    given = {name: [x if k == i else None if name == "limits" else 0.0 for k in range(4)] for name, x in options.items()}  # fmt: skip
    body, soft = lb.RigidBody(2.0, (0.0, 0.3, -0.5), (1, 1, 1)), {"stop_softness": 0.05}
    return lb.Assembly("ball").attach("b", body, lb.CompoundJoint(parts, **given, **soft)).build()


@pytest.mark.parametrize("order", ["ball first", "slide first"])
@pytest.mark.parametrize("key", ["joint_armature", "joint_stiffness", "joint_rest", "joint_stop_stiffness", "joint_lower", "joint_upper"])  # fmt: skip
def test_quaternions_have_no_parameters_of_coordinates(order, key):
    """The parameter is one number, that of the speed that has a coordinate."""
    options = {name: JOINT[name] for name in ("armature", "stiffness", "rest", "limits", "stop_stiffness")}  # fmt: skip
    other, changes = JOINT_OTHERS[key]
    rebuilt = on_a_ball(order, **(options | changes))
    s = on_a_ball(order, **options)
    for function in ("mass_matrix", "bias", "potential_energy"):
        p = program(s, function, parameters=[f"b.{key}"])
        assert p.inputs[-1].shape == ()
        args = values(np.random.default_rng(2), s, function)
        (got,), (expected,) = evaluated(p, [*args, other]), answer(rebuilt, function, args)
        assert_close(got, expected, TOLERANCE, function)


def test_stops_have_parameters_where_there_are_limits():
    joint = lb.Universal("x", "y", limits=[None, (-1.0, None)], stop_stiffness=50.0)
    body = lb.RigidBody(1.0, (0.3, 0.0, 0.1), np.diag([0.1, 0.2, 0.3]))
    s = lb.Assembly("a").attach("b", body, joint).build()
    f = lb.compile(s, "bias", parameters=["b.joint_stop_stiffness", "b.joint_lower"])
    q, v = np.array([0.2, -1.3]), np.zeros(2)
    assert_close(f(q, v, 80.0, -1.1)[1], -80.0 * 0.2, 1e-6)
    with pytest.raises(lb.LimberError, match="joint_upper only if it was created with that limit"):
        lb.compile(s, "bias", parameters=["b.joint_upper"])


UNKNOWN = {
    "hand.joint_armature": "has mass, .*joint_damping. A joint has joint_armature only if it was created with armature, which may be",
    "base.armature": "Did you mean 'joint_armature'",
    "base.joint_limits": "are joint_lower and joint_upper",
    "base.joint_friction_speed": "friction_speed of a joint is a constant in the code, not a parameter",
    "base.effort_limit": "effort_limit of a joint is a constant in the code, not a parameter",
    "hand.joint_rest": "joint_rest only if it was created with stiffness",
    "hand.stiffness": "joint_stiffness only if it was created with stiffness",
    "hand.ofset": "Did you mean 'offset'",
    "ball.joint_stiffness": "Spherical takes no stiffness",
}


@pytest.mark.parametrize("key", UNKNOWN)
def test_parameters_that_there_are_not_are_refused_in_words(key):
    a = lb.Assembly("geared")
    body = lb.RigidBody(1.0, (0.3, 0.0, 0.1), np.diag([0.1, 0.2, 0.3]), nodes={"grip": (1, 0, 0)})
    a.attach("base", body, lb.Revolute("y", **JOINT))
    a.attach("hand", body, lb.Universal("x", "z", damping=(0.1, 0.2)), to="base", at="grip")
    a.attach("ball", body, lb.Spherical(), to="hand", at="grip")
    with pytest.raises(lb.LimberError, match=f"parameter '{key}' is unknown.*{UNKNOWN[key]}"):
        lb.compile(a.build(), "bias", parameters=[key])


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_all_parameters_at_once(fidelity):
    """mass, com and inertia of one body together; external forces before them."""
    rng = np.random.default_rng(2)
    changes = {"gravity": (1.0, 2.0, -3.0), "mass": 1.7, "com": (-0.1, 0.3, 0.2), "inertia": INERTIA, "offset": (0.3, -0.2, 0.1), "link": {"stiffness": STIFFNESS, "damping": DAMPING}}  # fmt: skip
    keys = ["link.damping", "hand.inertia", "gravity", "hand.mass", "link.offset", "link.stiffness", "hand.com"]  # fmt: skip
    given = [OTHERS[key][0] for key in keys]
    s, rebuilt = arm_assembly().build(fidelity=fidelity), arm_assembly(**changes).build(fidelity=fidelity)  # fmt: skip
    ends = (("hand", "grip"), ("link", 2))
    f = lb.compile(s, "forward_dynamics", external=ends, parameters=keys, lanes=4)
    q, v, tau, wrenches = values(rng, s, "forward_dynamics", 2)
    expected = lb.forward_dynamics(rebuilt, q, v, tau, external=dict(zip(ends, wrenches)))
    assert_close(f(q, v, tau, wrenches, *given), expected, TOLERANCE)
    assert [a.name for a in f.program.inputs][3:6] == ["external", "link_damping", "hand_inertia"]
    # a batch over one parameter, the rest shared
    masses = np.linspace(0.5, 2.0, 6)
    given[3] = masses
    got = f(q, v, tau, wrenches, *given)
    for mass, x in zip(masses, got):
        system = arm_assembly(**(changes | {"mass": mass})).build(fidelity=fidelity)
        assert_close(x, lb.forward_dynamics(system, q, v, tau, external=dict(zip(ends, wrenches))), TOLERANCE)  # fmt: skip


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_parameters_of_bodies_on_inboard_nodes_and_flexible_parents(fidelity):
    """`ball` hangs by its own node b on a node of a flexible body: mass, com, inertia and offset of it."""
    rng = np.random.default_rng(3)
    a = mixed_assembly()
    old = a.attachments["ball"]
    changed = mixed_assembly()
    body = lb.RigidBody(1.9, (0.1, -0.2, 0.15), INERTIA, nodes=dict(old.body.nodes))
    fresh = lb.Assembly("mixed", gravity=changed.gravity)
    for item in changed.attachments.values():
        mine = item.name == "ball"
        fresh.attach(
            item.name, body if mine else item.body, item.joint, item.to, item.at,
            (0.3, 0.1, -0.2) if mine else item.offset, item.rotation, item.inboard,
        )  # fmt: skip
    s, rebuilt = mixed(fidelity), fresh.build(fidelity=fidelity)
    keys = ["ball.mass", "ball.com", "ball.inertia", "ball.offset"]
    for function in ("forward_dynamics", "inverse_dynamics", "momentum", "potential_energy"):
        args = values(rng, s, function)
        p = program(s, function, parameters=keys)
        got = evaluated(p, [*args, 1.9, (0.1, -0.2, 0.15), INERTIA, (0.3, 0.1, -0.2)])
        assert_close(got[0], getattr(lb, function)(rebuilt, *args), TOLERANCE, function)


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("function", ["forward_dynamics", "inverse_dynamics", "step", "potential_energy"])  # fmt: skip
def test_derivatives_with_respect_to_parameters_are_complex_steps(fidelity, function):
    """As inputs, and, not listed in `parameters`, at the model's value: the same numbers."""
    rng = np.random.default_rng(4)
    s = arm_assembly().build(fidelity=fidelity)
    args = values(rng, s, function)
    for key in ("gravity", "hand.mass", "link.offset") if function == "step" else OTHERS:
        p = program(s, function, parameters=[key])
        own = np.reshape(p.example[-1], p.inputs[-1].shape)
        columns = []
        for i in range(own.size):
            moved = np.asarray(own, dtype=complex).ravel().copy()
            moved[i] += 1e-30j
            columns.append([x.imag / 1e-30 for x in evaluated(p, [*args, moved], COMPLEX)])
        listed = evaluated(program(s, function, parameters=[key], wrt=key), [*args, own])
        bound_program = program(s, function, wrt=key)
        assert [a.name for a in bound_program.inputs] == [
            a.name for a in program(s, function).inputs
        ]
        bound = evaluated(bound_program, args)
        for o, output in enumerate(p.outputs):
            expected = np.stack([c[o] for c in columns], axis=-1)
            expected = expected.reshape((*output.shape, *own.shape))
            assert_close(listed[o], expected, TOLERANCE, f"{function} by {key}")
            assert_close(bound[o], expected, TOLERANCE, f"{function} by {key}, at its value")


def test_one_parameter_an_input_another_at_its_value():
    """wrt names both: d/d(hand.mass) at the given mass, d/d(gravity) at the model's gravity."""
    rng = np.random.default_rng(5)
    s = arm_assembly().build()
    q, v, vdot = values(rng, s, "inverse_dynamics")
    p = program(s, "inverse_dynamics", parameters=["hand.mass"], wrt=["gravity", "hand.mass"])
    assert [a.name for a in p.inputs] == ["q", "v", "vdot", "hand_mass"]
    by_gravity, by_mass = evaluated(p, [q, v, vdot, 2.5])
    heavy = arm_assembly(mass=2.5).build()
    expected = evaluated(
        program(heavy, "inverse_dynamics", wrt=["gravity", "hand.mass"]), [q, v, vdot]
    )
    assert_close(by_gravity, expected[0], TOLERANCE)
    assert_close(by_mass, expected[1], TOLERANCE)
    # inverse dynamics is linear in the mass of a body (about a fixed centre and inertia)
    lighter = lb.inverse_dynamics(arm_assembly(mass=1.5).build(), q, v, vdot)
    assert_close(by_mass, lb.inverse_dynamics(heavy, q, v, vdot) - lighter, 1e-11)


def two(first, second):
    body = lb.RigidBody(1.0, (0.1, 0, 0), np.eye(3))
    a = lb.Assembly("two").attach(first, body, lb.Revolute([0, 0, 1]))
    return a.attach(second, body, lb.Revolute([0, 1, 0]), to=first).build()


@pytest.mark.parametrize(
    "names", [("a.b", "a_b"), ("1st", "2"), ("é", "ü"), ("A", "a"), ("int", "q"), ("a", "a_1"), ("out", "in")]
)  # fmt: skip
def test_bodies_of_any_name_have_parameters(names):
    """Names that are no identifiers, or become the same one, are told apart."""
    s = two(*names)
    keys = [f"{name}.mass" for name in names]
    f = lb.compile(s, "kinetic_energy", parameters=keys)
    spelled = [a.name for a in f.program.inputs]
    assert len({x.upper() for x in spelled}) == 4
    assert all(x.isidentifier() and x.isascii() for x in spelled)
    q, v = np.array([0.3, 0.4]), np.array([1.0, 2.0])
    assert_close(f(q, v, 1.0, 1.0), lb.kinetic_energy(s, q, v), TOLERANCE)
    d = lb.compile(s, "kinetic_energy", wrt=keys)
    first, second = (
        f(q, v, *x) - f(q, v, *y) for x, y in (((2.0, 1.0), (1.0, 1.0)), ((1.0, 2.0), (1.0, 1.0)))
    )
    assert_close(d(q, v), (first, second), TOLERANCE)  # linear in each mass


def beams(stiffening=False):
    """Two beams, one with shear deformation, and a body, all with joint physics."""
    a = lb.Assembly("beams", gravity=(0.3, -0.2, -9.81))
    modes = {"bending": 1, "torsion": 1, "stretch": 1}
    first = lb.beam(
        1.0, 2.0, EI=(50.0, 70.0), GJ=40.0, EA=1e3, GA=500.0, modes=modes, damping=0.02, polar_inertia=0.1,
        load=(1.0, 0.1), geometric_stiffening=stiffening,
    )  # fmt: skip
    second = lb.beam(0.7, 1.0, EI=60.0, modes={"y": 2}, damping=0.01)
    a.attach("first", first, lb.Revolute("y", damping=0.1))
    a.attach("second", second, lb.Revolute("z"), to="first", at="tip")
    hand = lb.RigidBody(0.5, (0.1, 0, 0.05), 0.02 * np.eye(3))
    a.attach("hand", hand, lb.Universal("x", "z"), to="second", at="tip", offset=(0.1, 0, 0))
    return a


@pytest.mark.parametrize("fidelity, stiffening", [("full", False), ("full", True), ("ruthless", False)])  # fmt: skip
def test_generated_code_has_the_parameters_of_the_engine(fidelity, stiffening):
    """Every parameter of every body, one at a time and some together, against `System.with_parameters`."""
    rng = np.random.default_rng(8)
    s = beams(stiffening).build(fidelity)
    state = values(rng, s, "forward_dynamics")
    state[0] = 0.1 * state[0]
    for name, parameter in s.parameters.items():
        other = rng.uniform(0.7, 1.4) * parameter.value
        if parameter.quantity == "rotation":
            other = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            other *= np.linalg.det(other)
        p = program(s, "inverse_dynamics", parameters=[name])
        (got,) = evaluated(p, [*state, other])
        assert_close(got, lb.inverse_dynamics(s.with_parameters({name: other}), *state), 1e-10, name)  # fmt: skip
    together = {
        "first.mass": 3.0,
        "first.EIy": 80.0,
        "first.damping_ratio": 0.05,
        "second.mass_scale": 0.6,
    }
    together |= {"second.EI": 90.0, "hand.mass": 0.8, "hand.rotation": np.eye(3)[[1, 2, 0]]}
    p = program(s, "forward_dynamics", parameters=list(together))
    (got,) = evaluated(p, [*state, *together.values()])
    assert_close(got, lb.forward_dynamics(s.with_parameters(together), *state), 1e-9)
