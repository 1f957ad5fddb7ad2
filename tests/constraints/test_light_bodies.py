"""Closures through a body that is far lighter than those that it ties: refused or told, not wrong without a word."""

import warnings

import numpy as np
import pytest

import limber as lb

HEAVY = 4e5  # kg


def docked(light):
    """Two spacecraft that are tied by a pin alone."""
    a = lb.Assembly("dock")
    inertia = (1e7, 1e7, 1e7)
    a.attach("station", lb.RigidBody(HEAVY, inertia=inertia, nodes={"port": (5, 0, 0)}), lb.Free())
    a.attach("pin", lb.RigidBody(light, inertia=[light] * 3), lb.Free(), offset=(5, 0, 0))
    ship = lb.RigidBody(HEAVY, inertia=inertia, nodes={"port": (-5, 0, 0)})
    a.attach("ship", ship, lb.Free(), offset=(10, 0, 0))
    a.close(("station", "port"), ("pin", None), lb.Spherical(), name="near")
    a.close(("pin", None), ("ship", "port"), lb.Spherical(), name="far")
    return a.build()


@pytest.mark.parametrize("light", [1e-7, 1e-9])
def test_masses_that_hide_what_closures_hold(light):
    s = docked(light)
    q, v = s.neutral(), np.zeros(s.nv)
    v[s.layout["station"].v_joint.start + 3] = 1.0
    said = "masses differ so much that their constraints are lost to rounding: 'near', 'far'"
    for function in (
        lambda: lb.freedoms(s, q),
        lambda: lb.simulate(s, 1.0),
        lambda: lb.impulse(s, q, v),
        lambda: lb.constraint_forces(s, q, 0 * v, 0 * v),
        lambda: lb.compile(s, "forward_dynamics"),
    ):
        with pytest.raises(lb.LimberError, match=said):
            function()


@pytest.mark.parametrize("light", [1e-3, 1e-6])
def test_speeds_meet_closures_through_a_light_body(light):
    """One correction loses digits; more of them bring them back."""
    s = docked(light)
    q, v = s.neutral(), np.zeros(s.nv)
    v[s.layout["station"].v_joint.start + 3] = 1.0
    along = [s.layout[name].v_joint.start + 3 for name in s.bodies]
    np.testing.assert_allclose(lb.impulse(s, q, v).v[along], 0.5, rtol=1e-8)
    np.testing.assert_allclose(lb.project(s, q, v)[1][along], 0.5, rtol=1e-8)
    back = lb.impulse(s, q, v, restitution=1.0).v
    np.testing.assert_allclose(back[along], [0.0, 1.0, 1.0], atol=1e-8)


@pytest.mark.parametrize(("light", "told"), [(1e-3, False), (1e-6, True)])
def test_lost_digits_are_told(light, told):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        lb.simulate(docked(light), 1.0)
    assert any("rounding changes their forces" in str(w.message) for w in said) == told
