"""A system with other numbers is the system that is built with them."""

import pickle

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.random_systems import (
    random_assembly,
    random_state,
    rotation_matrix,
    with_physics,
)

TOLERANCE = 1e-11
FIDELITIES = ("full", "ruthless")
#: Quantities that scale what is there.
SCALES = ("mass_scale", "stiffness_scale", "damping_scale")


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
@pytest.mark.parametrize("seed", range(6))
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
@pytest.mark.parametrize("seed", range(10, 14))
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
