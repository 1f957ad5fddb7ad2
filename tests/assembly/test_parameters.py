"""A system with other numbers is the system that is built with them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import limber as lb
from helpers.closed import every_closure
from helpers.compare import assert_close
from helpers.random_systems import (
    random_assembly,
    random_state,
    rotation_matrix,
    with_physics,
)
from limber.bodies.beam_forces import section_forces_of

TOLERANCE = 1e-11
FIDELITIES = ("full", "ruthless")
#: Quantities that scale what is there.
SCALES = ("mass_scale", "stiffness_scale", "damping_scale")


def slow(seeds):
    return [pytest.param(seed, marks=pytest.mark.slow) for seed in seeds]


def other(rng, parameter):
    """Another value that the parameter may have."""
    value, quantity = parameter.value, parameter.quantity
    if quantity in ("offset", "offset_b", "com", "gravity", "joint_rest", "value"):
        return value + rng.uniform(-0.1, 0.1, value.shape)
    if quantity == "rotation":
        return rotation_matrix(rng)
    if quantity == "joint_friction":
        return 0.7 * value
    if quantity in ("joint_static_friction", "joint_lower", "joint_upper"):
        return 1.3 * value
    if quantity in ("stiffness", "damping", "inertia"):
        return rng.uniform(0.6, 1.4) * value
    return rng.uniform(0.6, 1.4) * value + (0.01 if quantity in ("damping_ratio",) else 0.0)


def body_with(body, given):
    """The body with other numbers, made anew."""
    if isinstance(body, lb.RigidBody):
        own = {"mass": body.mass, "com": body.com, "inertia": body.inertia}
        return lb.RigidBody(**(own | given), nodes=body.nodes)
    points = body.points
    mu = given.get("mass", body.mass) / body.mass * given.get("mass_scale", 1.0)
    K = given.get("stiffness", body.stiffness) * given.get("stiffness_scale", 1.0)
    D = given.get("damping", body.damping) * given.get("damping_scale", 1.0)
    return lb.FlexibleBody.from_nodes(
        mass=mu * points.mass, position=points.position, translation=points.translation,
        rotation=points.rotation, stiffness=K, damping=D, inertia=mu * points.inertia, com=points.com,
        names=list(body.nodes.names), second=points.second,
    )  # fmt: skip


def joint_with(joint, given):
    """The joint with other physics, made anew."""
    physics, options = joint.physics, dict(joint.physics.given)
    bounds = {"lower": np.array(physics.lower), "upper": np.array(physics.upper)}
    limited = np.isfinite(physics.lower) | np.isfinite(physics.upper)
    there = dict.fromkeys(("armature", "stiffness", "rest"), np.array(joint.has_coordinate))
    there |= {"stop_stiffness": limited}
    for name, value in given.items():
        option = name.removeprefix("joint_")
        if option in bounds:
            bounds[option][np.isfinite(bounds[option])] = value
            options["stop_softness"] = physics.stop_softness
        else:
            options[option] = np.array(getattr(physics, option))
            options[option][there.get(option, slice(None))] = value
    if limited.any():
        pairs = [[x if np.isfinite(x) else None for x in pair] for pair in zip(*bounds.values())]
        options["limits"] = [None if pair == [None, None] else tuple(pair) for pair in pairs]
    return with_physics(joint, **options)


def rebuilt(system, values):
    """The assembly of a system with other numbers, built anew."""
    given = {}
    for name, value in values.items():
        owner, _, quantity = name.rpartition(".")
        given.setdefault(owner, {})[quantity] = value
    a = lb.Assembly(system.name, gravity=values.get("gravity", system.gravity))
    for name, item in system.attachments.items():
        mine = given.get(name, {})
        of_joint = {k: x for k, x in mine.items() if k.startswith("joint_")}
        of_body = {
            k: x for k, x in mine.items() if k not in of_joint and k not in ("offset", "rotation")
        }
        a.attach(
            name,
            body_with(item.body, of_body) if of_body else item.body,
            joint_with(item.joint, of_joint) if of_joint else item.joint,
            to=item.to, at=item.at, offset=mine.get("offset", item.offset),
            rotation=mine.get("rotation", item.rotation), inboard=item.inboard,
        )  # fmt: skip
    return a.build(system.fidelity)


def assert_same(found, expected, state, tolerance=TOLERANCE):
    """Every function of two systems gives the same, and their arrays are the same."""
    q, v, tau = state
    body = list(found.bodies)[-1]
    answers = [
        (
            lb.forward_dynamics(s, q, v, tau),
            lb.inverse_dynamics(s, q, v, tau),
            lb.mass_matrix(s, q),
            lb.bias(s, q, v),
            lb.kinetic_energy(s, q, v),
            lb.potential_energy(s, q),
            lb.momentum(s, q, v),
            lb.pose(s, q, body)[1],
            lb.jacobian(s, q, body),
        )
        for s in (found, expected)
    ]
    for i, (x, y) in enumerate(zip(*answers)):
        assert_close(x, y, tolerance, f"answer {i}")
    for x, y in ((found.dynamics, expected.dynamics), (found.geometry, expected.geometry)):
        assert np.array_equal(x.topo, y.topo)
        if not any(
            body.stiffens for body in found.bodies.values()
        ):  # curved points have many forms
            size = np.abs(y.const).max()
            assert np.allclose(x.const, y.const, rtol=1e-10, atol=1e-13 * size)
        assert np.isclose(x.load, y.load, rtol=1e-9)


def system_of(seed, fidelity):
    rng = np.random.default_rng(seed)
    second = seed % 2 == 1 and fidelity == "full"
    a = random_assembly(rng, bodies=4, physics=True, rotary=seed % 3 == 0, second=second)
    return rng, a.build(fidelity)


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("seed", [0, 1, *slow(range(2, 6))])
def test_every_parameter_changes_as_a_rebuilt_system_does(seed, fidelity):
    rng, s = system_of(seed, fidelity)
    state = random_state(rng, s, 0.3)
    for name, parameter in s.parameters.items():
        values = {name: other(rng, parameter)}
        if name.endswith(("joint_lower", "joint_upper")) and not s.joints[parameter.body].physics.given:  # fmt: skip
            continue
        found = s.with_parameters(values)
        assert_same(found, rebuilt(s, values), state)
        assert_close(found.parameters[name].value, values[name], 1e-14, name)


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("seed", [11, *slow(range(12, 16))])
def test_many_parameters_change_together_and_one_after_the_other(seed, fidelity):
    rng, s = system_of(seed, fidelity)
    state = random_state(rng, s, 0.3)
    values = {name: other(rng, p) for name, p in s.parameters.items() if p.quantity not in SCALES}
    at_once = s.with_parameters(values)
    assert_same(at_once, rebuilt(s, values), state)
    chained = s
    for name, value in values.items():
        chained = chained.with_parameters({name: value})
    assert_same(chained, at_once, state)
    back = chained.with_parameters({name: s.parameters[name].value for name in values})
    assert_same(back, s, state)
    assert_same(pickle.loads(pickle.dumps(at_once)), at_once, state)


def test_closures_have_parameters_too():
    """Offsets of cut joints, values and coefficients of relations, in a system with every kind of closure."""
    rng = np.random.default_rng(4)
    a = every_closure()
    s = a.build()
    q, v, _ = random_state(rng, s, 0.3)
    for name, closure in s.closures.items():
        given = [p for p in s.parameters.values() if p.closure == name]
        assert given
        for p in given:
            value = p.value + rng.uniform(0.05, 0.1, p.value.shape)
            found = s.with_parameters({p.name: value})
            new = closures_with(closure, p.quantity, value)
            expected = s.closed_by([new if c.name == name else c for c in s.closures.values()])
            assert_close(found.dynamics.const, expected.dynamics.const, 1e-14, p.name)
            assert_close(lb.constraint_residual(found, q), lb.constraint_residual(expected, q), 1e-12)  # fmt: skip
            assert_close(lb.constraint_residual(found, q, v)[1], lb.constraint_residual(expected, q, v)[1], 1e-12)  # fmt: skip
            assert_close(found.parameters[p.name].value, value, 1e-15)
            assert list(found.with_full_fidelity().closures) == list(s.closures)


def closures_with(closure, quantity, value):
    """A closure with another number."""
    if quantity == "value":
        return replace(closure, value=float(value))
    if quantity == "coefficients":
        return replace(closure, terms=dict(zip(closure.terms, value.tolist())))
    end = "b" if quantity == "offset_b" else "a"
    return replace(closure, **{end: replace(getattr(closure, end), offset=value)})


@pytest.mark.parametrize("stiffening", [False, True])
def test_reduced_structures_are_scaled_as_their_materials_are(stiffening):
    """E, density and damping of a whole frame by factors: the same shapes, the same numbers."""

    def system(E, rho, damping):
        tube = lb.Section.tube(0.06, 0.003, lb.Material(E * 70e9, rho * 2700.0, nu=0.3))
        frame = lb.structures.frame(
            {"root": (0, 0, 0), "elbow": (1.0, 0, 0), "tip": (1.5, 0.5, 0.2)},
            [("root", "elbow"), ("elbow", "tip")],
            tube,
        )
        body = frame.reduce(
            clamped="root", modes=4, damping=damping, geometric_stiffening=stiffening
        )
        a = lb.Assembly("frame", gravity=(0, 0, -9.81))
        a.attach("frame", body, lb.Revolute("y"))
        a.attach("load", lb.RigidBody(1.0, inertia=0.1 * np.eye(3)), lb.Revolute("z"), "frame", "tip")  # fmt: skip
        return a.build()

    nominal, other = system(1.0, 1.0, 0.01), system(1.44, 0.81, 0.02)
    scale = np.ones(nominal.nv)
    scale[nominal.layout["frame"].v_modes] = 0.9  # a new body has modal masses of one
    found = nominal.with_parameters(
        {
            "frame.stiffness_scale": 1.44,
            "frame.mass_scale": 0.81,
            "frame.damping_scale": 2.0 * np.sqrt(1.44 * 0.81),
        }
    )
    rng = np.random.default_rng(2)
    q, v, tau = (0.05 * rng.normal(size=nominal.nv) for _ in range(3))
    expected = lb.forward_dynamics(other, scale * q, scale * v, tau / scale) / scale
    assert_close(lb.forward_dynamics(found, q, v, tau), expected, 1e-7)
    assert_close(lb.modes(found, q).omega, lb.modes(other, scale * q).omega, 1e-7)
    for body in ("frame",):
        forces = [section_forces_of(s.bodies[body], None, "").forces for s in (found, other)]
        assert_close(forces[0], 0.9 * forces[1], 1e-7)
        loads = [s.bodies[body].load_stiffness for s in (found, other)]
        if not stiffening:
            for name in ("acceleration", "angular", "spin", "forces"):
                x, y = (getattr(load, name) for load in loads)
                assert_close(x, 0.81 * y, 1e-6, name)


def test_what_systems_remember_follows():
    """Warnings of buckling, spin and limits are those of the new numbers."""
    a = lb.Assembly("mast", gravity=(-9.81, 0, 0))
    a.attach("mast", lb.beam(4.0, 1.0, EI=100.0, modes=2), lb.Fixed())
    a.attach("load", lb.RigidBody(0.1), lb.Fixed(), to="mast", at="tip")
    s = a.build()
    lb.simulate(s, 0.01, t_eval=[0.01])
    heavy = s.with_parameters({"load.mass": 1.6})
    with pytest.warns(lb.TheoryWarning, match="mast"):
        lb.simulate(heavy, 0.01, t_eval=[0.01])
    stiff = heavy.with_parameters({"mast.EI": 2000.0})
    lb.simulate(stiff, 0.01, t_eval=[0.01])
    assert_close(lb.modes(stiff, stiff.neutral()).omega, lb.modes(heavy, heavy.neutral()).omega * np.sqrt(20.0), 1e-10)  # fmt: skip


@pytest.mark.parametrize(
    "values, message",
    [
        ({"link.mass": -1.0}, "parameters of body 'link': mass must be greater than 0, got -1"),
        ({"hand.mass": -1.0}, "parameters of body 'hand': mass must be at least 0, got -1"),
        ({"hand.inertia": np.diag([1.0, 0.1, 0.1])}, "no mass distribution has this inertia"),
        ({"hand.inertia": 0.0 * np.eye(3), "hand.mass": 0.0}, "body 'hand': .* moves no mass"),
        ({"link.offset": (1.0, 2.0)}, r"link.offset must have shape \(3,\), got \(2,\). It is the offset of body 'link'"),
        ({"link.rotation": 2.0 * np.eye(3)}, "body 'link': rotation .* not orthogonal"),
        ({"hand.joint_damping": -0.1}, "body 'hand': damping must be at least 0, got -0.1"),
        ({"hand.joint_lower": 2.0}, "lower must be below upper, got 2 and 1"),
        ({"hand.joint_friction": 0.5}, "A joint has joint_friction only if it was created with friction"),
        ({"link.masss": 1.0}, "Did you mean 'mass'"),
        ({"lonk.mass": 1.0}, "parameter 'lonk.mass': body='lonk' is not in the system"),
        ({"mass": 1.0}, "parameter 'mass' is unknown: give \"gravity\" or"),
        ({"gravity": np.inf}, "gravity"),
        ([1.0], "parameters must map names to numbers"),
    ],
)  # fmt: skip
def test_refusals(values, message):
    a = lb.Assembly("arm")
    a.attach("link", lb.beam(1.0, 2.0, EI=50.0, modes=1), lb.Revolute("y"))
    joint = lb.Revolute("y", damping=0.1, limits=(-1.0, 1.0), stop_stiffness=10.0)
    a.attach("hand", lb.RigidBody(1.0, (0.1, 0, 0), 0.1 * np.eye(3)), joint, to="link", at="tip")
    s = a.build()
    with pytest.raises(lb.LimberError, match=message):
        s.with_parameters(values)


def test_parameters_are_listed_with_values_and_units():
    s = lb.models.canadarm(damping=0.01).build()
    listed = s.parameters
    assert listed["link1.EI"].value == 1e5 and "N m^2" in listed["link1.EI"].meaning
    assert listed["link2.mass"].value == 85.0 and "kg" in listed["link2.mass"].meaning
    assert listed["link3.damping_ratio"].value == 0.01
    assert "gravity" in listed and "link1.offset" in listed and "link1.rotation" in listed
    assert s.with_parameters({}) is s


def test_files_hold_systems_with_other_numbers(tmp_path):
    """Joints, their parts, places and closures are written as they are now, and come back bit for bit."""
    a = lb.Assembly("x", gravity=(0, 0, -9.81))
    body = lb.RigidBody(1.0, (0.1, 0, 0), 0.1 * np.eye(3), nodes={"n": (0.5, 0, 0)})
    stops = {"limits": (-1.0, 1.0), "stop_stiffness": 10.0}
    friction = {"friction": 0.2, "static_friction": 0.3}
    a.attach(
        "a", body, lb.Revolute("y", armature=0.1, stiffness=2.0, rest=0.1, **friction, **stops)
    )
    slide = lb.Prismatic("z", friction=0.2, limits=(None, 0.4), stop_stiffness=5.0)
    a.attach("b", body, lb.CompoundJoint([lb.Revolute("x", damping=0.3), slide]), to="a", at="n")
    a.attach("c", body, lb.Universal("x", "z", damping=(0.1, 0.2)), to="b", at="n")
    a.close(("world", (1, 0, 0.2)), ("c", "n"), lb.Spherical(), name="pin")
    a.relate({"a": 1.0, ("c", 0): -0.5}, value=0.1, name="gear")
    s = a.build()
    given = {name: 1.1 * p.value for name, p in s.parameters.items() if p.quantity != "rotation"}
    found = s.with_parameters(given | {"b.rotation": np.eye(3)[[1, 2, 0]]})
    lb.save(found, tmp_path / "x.yaml")
    read = lb.load(tmp_path / "x.yaml").build()
    assert np.array_equal(read.dynamics.topo, found.dynamics.topo)
    assert np.array_equal(read.dynamics.const, found.dynamics.const)


def test_systems_whose_parameters_were_listed_pickle():
    s = lb.models.canadarm().build()
    assert "link1.EI" in s.parameters
    again = pickle.loads(pickle.dumps(s))
    assert list(again.parameters) == list(s.parameters)
