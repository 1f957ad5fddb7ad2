"""Functions that do not take closed systems say so, and the functions of the tree answer."""

import numpy as np
import pytest

import limber as lb
from helpers.closed import four_bar, open_four_bar
from limber.dynamics.closed import refuse_closures


def test_closed_systems_are_refused_in_words():
    text = "f does not support closed systems, but 'four-bar' has the closure 'pin': the result would be that of the open tree. If you want the open tree, build the assembly without its closures"
    with pytest.raises(lb.LimberError, match=text):
        refuse_closures(four_bar().build(), "f")


def test_functions_of_the_tree_answer_for_the_tree():
    closed, tree = four_bar().build(), open_four_bar().build()
    rng = np.random.default_rng(0)
    q, v, vdot = rng.normal(size=(3, tree.nv))
    for function, state in (
        (lb.mass_matrix, (q,)),
        (lb.bias, (q, v)),
        (lb.inverse_dynamics, (q, v, vdot)),
        (lb.kinetic_energy, (q, v)),
        (lb.potential_energy, (q,)),
        (lb.momentum, (q, v)),
    ):
        assert np.array_equal(function(closed, *state), function(tree, *state))
    assert np.array_equal(
        lb.jacobian(closed, q, "coupler", "tip"), lb.jacobian(tree, q, "coupler", "tip")
    )


def test_several_closures_are_all_named():
    s = four_bar().gear("rocker", "crank", 1.0, name="belt").build()
    with pytest.raises(lb.LimberError, match="has the closures 'pin', 'belt'"):
        refuse_closures(s, "f")


def test_scenarios_refuse_what_they_cannot_do(tmp_path):
    lb.save(four_bar(), tmp_path / "model.yaml")
    paths = ", ".join(f"{body}: {{hold: {{}}}}" for body in ("crank", "coupler", "rocker"))
    case = (
        f"limber: 1\nmodel: model.yaml\nduration: 1\ntorque: {{follow: {{joints: {{{paths}}}}}}}\n"
    )
    (tmp_path / "case.yaml").write_text(case)
    with pytest.raises(
        lb.FileError, match=r"case.yaml:4:.*`follow` of a scenario does not support"
    ):
        lb.io.load_scenario(tmp_path / "case.yaml")


def test_relations_say_how_mimic_joints_are_left_out():
    body = lb.RigidBody(1.0, inertia=(1, 1, 1))
    a = lb.Assembly("grip").attach("left", body, lb.Prismatic("y"))
    a.attach("right", body, lb.Prismatic("-y")).gear("right", "left", 1.0)
    with pytest.raises(lb.LimberError, match="To ignore the mimic joints of a URDF file, use read_urdf with mimic=False"):  # fmt: skip
        refuse_closures(a.build(), "f")
