"""Options of joints: what is refused, what is taken unless given, and what they print."""

import numpy as np
import pytest
import sympy as sp

import limber as lb

SPRUNG = {"stiffness": 2.0, "rest": 0.1}


def stopped(joint, mass=2.0):
    return lb.Assembly("stop").attach("b", lb.RigidBody(mass), joint).build()


# --- what cannot be ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("armature", 0.0),
        ("stiffness", 0.0),
        ("rest", 0.0),
        ("limits", (-1.0, 1.0)),
        ("stop_stiffness", 5.0),
    ],
)
def test_joints_without_coordinates_take_nothing_of_them_even_zero(name, value):
    turns = np.vstack([np.eye(3), np.zeros((3, 3))])
    for make in (
        lb.Spherical,
        lb.Free,
        lambda **x: lb.SimpleJoint(turns, **x),
        lambda **x: lb.CompoundJoint([lb.Spherical()], **x),
    ):
        with pytest.raises(lb.LimberError, match=f"takes no {name}: its speeds are not the rates"):
            make(**{name: value})


def test_zeros_stand_for_the_speeds_of_a_quaternion():
    parts = [lb.Spherical(), lb.Prismatic("y")]
    joint = lb.CompoundJoint(parts, stiffness=[0, 0, 0, 5], armature=[0, 0, 0, 1])
    assert joint.has_coordinate == (False, False, False, True)
    with pytest.raises(lb.LimberError, match="CompoundJoint takes no stiffness: its speeds"):
        lb.CompoundJoint(parts, stiffness=[0, 1, 0, 5])


ALONE = {
    "rest": "rest needs stiffness: .*alone. Remove it, or give stiffness .zero is allowed.",
    "friction_speed": "friction_speed needs friction or static_friction: ",
    "stribeck_speed": "stribeck_speed needs static_friction: ",
    "stop_stiffness": "stop_stiffness needs limits",
    "stop_damping": "stop_damping needs limits",
    "stop_softness": "stop_softness needs limits",
}


@pytest.mark.parametrize("name", ALONE)
def test_options_that_do_nothing_alone_are_refused(name):
    for value in (0.5, [0.5, 0.6], sp.Symbol("x")):
        with pytest.raises(lb.LimberError, match=ALONE[name]):
            lb.Universal("x", "y", damping=1.0, **{name: value})


def test_friction_alone_has_no_stribeck_speed():
    with pytest.raises(lb.LimberError, match="stribeck_speed needs static_friction"):
        lb.Revolute("z", friction=1.0, stribeck_speed=0.1)


def test_zero_is_given():
    """Generated code has parameters for options that are zero."""
    joint = lb.Revolute(
        "z", stiffness=0, rest=0.3, friction=0, friction_speed=0.1, static_friction=0, stribeck_speed=0.2,
        limits=(0, 1), stop_stiffness=0, stop_damping=2, stop_softness=0.1,
    )  # fmt: skip
    assert joint.physics.rest[0] == 0.3 and joint.physics.stop_damping[0] == 2.0


@pytest.mark.parametrize(
    "name",
    ["armature", "stiffness", "damping", "friction", "static_friction", "stop_stiffness", "stop_damping"],
)  # fmt: skip
@pytest.mark.parametrize("value", [1.1e100, 1e160, 1e308])
def test_what_is_too_large_to_compute_with_is_refused(name, value):
    options = {"limits": (0, 1), "stop_stiffness": 1.0} | {name: value}
    with pytest.raises(lb.LimberError, match=rf"{name} must be within 1e\+100, got"):
        lb.Revolute("z", **options)


def test_a_rest_too_far_away_is_refused():
    with pytest.raises(lb.LimberError, match=r"rest must be within 1e\+100, got -1e\+308"):
        lb.Revolute("z", stiffness=1.0, rest=-1e308)


# --- what is taken unless given ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "softness"),
    [
        ((0, 1000), 1e-4),
        ((-np.pi, np.pi), 1e-4),
        ((0, 0.5), 5e-5),
        ((None, 3), 1e-4),
        ((0, 1e-99), 1e-100),
    ],
)
def test_stops_set_in_over_a_part_of_the_range_or_of_one(limits, softness):
    joint = lb.Prismatic("x", limits=limits, stop_stiffness=1.0)
    assert joint.physics.stop_softness[0] == pytest.approx(softness, rel=1e-12)


# --- the energy of stops ----------------------------------------------------------------------------------


@pytest.mark.parametrize("softness", [1e-2, 1e-4, 1e-8, 1e-12, 1e-16, 1e-17, 1e-30, 1e-100])
@pytest.mark.parametrize("x", [-0.7, -1e-9, 0.0, 1e-9, 0.01, 0.7])
def test_the_energy_of_a_stop_of_any_softness_is_finite_and_right(softness, x):
    k = 1e6
    joint = lb.Prismatic("x", limits=(None, 1), stop_stiffness=k, stop_softness=softness)
    depth = (1.0 + x) - 1.0
    a, e = sp.Float(depth, 300), sp.Float(softness, 300)
    exact = k * float((a**2 + a * sp.sqrt(a**2 + e**2) + e**2 * sp.asinh(a / e)) / 4)
    energy = lb.potential_energy(stopped(joint), [1.0 + x])
    assert energy == pytest.approx(exact, rel=1e-9, abs=1e-16 * k * max(depth**2, softness**2))


# --- what they print --------------------------------------------------------------------------------------


def test_physics_prints_the_options_that_were_given():
    joint = lb.Universal("x", "y", damping=[0.1, 0.2], limits=(-1, None), stop_stiffness=5)
    assert repr(joint.physics) == (
        "JointPhysics(damping=[0.1, 0.2], lower=[-1.0, -1.0], upper=[inf, inf], stop_stiffness=[5.0, 5.0])"
    )
    assert repr(lb.Revolute("z").physics) == "JointPhysics()"
