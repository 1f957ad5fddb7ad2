"""Runs that pass positions in which a cut joint is singular."""

import warnings

import numpy as np
import pytest

import limber as lb


@pytest.mark.filterwarnings("ignore:joint of the closure 'links' moves its ends in a plane")
def test_the_row_at_a_singular_position_of_a_cut_joint_is_told():
    """Once, with its time; rows beside it are right, and nothing is said of them."""
    hinges = [lb.SimpleJoint([[0], [0], [1], [0], [-x], [0]]) for x in (0.0, 0.5, 1.0)]
    joint = lb.CompoundJoint(hinges)
    a = lb.Assembly("held").attach("body", lb.RigidBody(2.0, inertia=[0.5, 0.6, 0.7]), lb.Free())
    links = a.close(("world", (0, 0, 0)), ("body", None), joint, name="links").build()
    theta = [1.0, 2.5, 0.3]
    R, p = joint.configuration(theta)
    hinge = p + R @ [
        1.0,
        0.0,
        0.0,
    ]  # it moves straight to the first one, where the links are folded
    half = sum(theta) / 2
    q0 = np.concatenate([[np.cos(half), 0.0, 0.0, np.sin(half)], p])
    v0 = np.concatenate([np.zeros(3), -R.T @ hinge])
    with pytest.warns(lb.ModelWarning, match="'links' is singular at q at t = 1 s") as told:
        through = lb.simulate(links, 1.5, q0=q0, v0=v0, t_eval=[0.0, 0.5, 1.0, 1.2, 1.5])
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        beside = lb.simulate(links, 1.5, q0=q0, v0=v0, t_eval=[0.0, 0.999, 1.001, 1.5])
    np.testing.assert_allclose(through.q[-1], beside.q[-1], atol=1e-12)
