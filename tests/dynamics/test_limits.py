"""Configurations outside the limits of joints are told about, once and in words."""

import warnings

import numpy as np
import pytest

import limber as lb


def elbow(limits=(-3.07, -0.07), stiffness=3e3, damping=30.0):
    joint = lb.Revolute("y", limits=limits, stop_stiffness=stiffness, damping=damping)
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    a.attach(
        "upper", lb.RigidBody(3.0, (0, 0, 0.2), (0.1, 0.1, 0.1)), lb.Revolute("y", damping=30.0)
    )
    a.attach(
        "lower", lb.RigidBody(3.0, (0, 0, 0.2), (0.1, 0.1, 0.1)), joint, "upper", None, (0, 0, 0.4)
    )
    return a.build()


@pytest.mark.parametrize("method", ["auto", "RK45"])
def test_a_start_outside_of_the_limits_is_told(method):
    with pytest.warns(lb.ModelWarning) as caught:
        lb.simulate(elbow(), 0.01, method=method)
    (warning,) = caught
    assert (
        "'arm' starts from, the neutral one, is outside the limits of the joint of 'lower' (-3.07 to -0.07): stops push back"
        in str(warning.message)
    )


def test_many_starts_say_it_once():
    s = elbow((None, -0.5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for x in np.linspace(0.0, 1.0, 5):
            lb.simulate(s, 0.01, q0=[0.0, x])
    (warning,) = caught
    assert "q0, is outside the limits of the joint of 'lower' (at most -0.5)" in str(
        warning.message
    )


def test_modes_outside_of_the_limits_are_told():
    with pytest.warns(lb.ModelWarning, match=r"modes are requested is outside .* of the stops"):
        lb.modes(elbow())


@pytest.mark.parametrize(
    ("s", "q"),
    [(elbow(), [0.0, -1.0]), (elbow(stiffness=0.0), [0.0, 1.0]), (elbow((-1.0, 1.0)), [3.0, 1.0])],
    ids=["inside", "limits to be read", "at the limit"],
)
def test_other_configurations_are_not_told_about(s, q):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.simulate(s, 0.01, q0=q)
        lb.modes(s, q)


def test_a_joint_that_rests_on_its_stop_goes_on_without_a_word():
    joint = lb.Revolute("y", limits=(-0.5, 0.5), stop_stiffness=1e3, damping=30.0)
    body = lb.RigidBody(3.0, (0, 0, 0.2), (0.1, 0.1, 0.1))
    s = lb.Assembly("arm", gravity=(0, 0, -9.81)).attach("a", body, joint).build()
    rest = lb.simulate(s, 20.0, q0=[0.3], method="sdirk4")
    assert rest.q[-1, 0] > 0.502
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.simulate(s, 0.1, q0=rest.q[-1], v0=rest.v[-1], method="sdirk4")


def test_quaternions_before_a_slide_are_skipped():
    slide = lb.Prismatic("y", limits=(0.0, 1.0), stop_stiffness=50.0)
    a = lb.Assembly("a").attach(
        "b", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.CompoundJoint([lb.Spherical(), slide])
    )
    with pytest.warns(lb.ModelWarning, match=r"joint of 'b' \(0 to 1\)"):
        lb.simulate(a.build(), 0.01, q0=[1, 0, 0, 0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.simulate(a.build(), 0.01, q0=[1, 0, 0, 0, 0.5])


@pytest.mark.parametrize(
    "options",
    [
        {"friction": 1e100, "friction_speed": 1e-100},
        {"limits": (0, 1), "stop_stiffness": 1e100, "stop_damping": 1e100},
    ],
)
def test_modes_of_overflowing_numbers_are_refused_in_words(options):
    a = lb.Assembly("a").attach(
        "b", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Revolute("y", **options)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(lb.LimberError, match=r"too large to compute with\. Look for a joint"):
            lb.modes(a.build())


def test_a_joint_that_rests_deep_in_a_soft_stop_is_not_told_about():
    """The weight presses the blade by 0.03 rad into its stop, more than a small part of the range; it stays there."""
    a = lb.Assembly("rotor", gravity=(0, 0, -9.81))
    joint = lb.Revolute("y", limits=(-0.3, 0.05), stop_stiffness=3e4, damping=50.0)
    a.attach("blade", lb.RigidBody(33.0, (3.0, 0, 0), (1, 100, 100)), joint)
    s = a.build()
    q = lb.equilibrium(s)
    assert q[0] > 0.05 + 0.03
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        r = lb.simulate(s, 0.5, q0=q)
        lb.modes(s, q)
    assert np.abs(r.q - q).max() < 1e-6
    with pytest.warns(lb.ModelWarning, match="stops push back"):
        lb.simulate(s, 0.01, q0=[0.2])
