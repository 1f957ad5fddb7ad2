"""Closures that a joint of the tree meets in all of its positions: they move nothing, but for rounding, and hold nothing."""

import numpy as np
import pytest

import limber as lb

pytestmark = pytest.mark.filterwarnings("ignore::limber.ModelWarning")


def shaft(seed, bearings):
    """A shaft in a general direction, with so many bearings beyond its own joint."""
    rng = np.random.default_rng(seed)
    R = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    R *= np.linalg.det(R)
    axis, offset = rng.standard_normal(3), rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    a = lb.Assembly("shaft", gravity=tuple(9.0 * rng.standard_normal(3)))
    nodes = {f"bearing{i}": tuple((0.7 + 0.2 * i) * axis) for i in range(bearings)}
    body = lb.RigidBody(2.0, tuple(rng.standard_normal(3)), (1.0, 1.2, 1.4), nodes)
    a.attach("shaft", body, lb.Revolute(axis), offset=tuple(offset), rotation=R)
    for name, place in nodes.items():
        where = tuple(offset + R @ np.array(place))
        a.close(("shaft", name), ("world", where), lb.Revolute(axis), rotation_b=R, name=name)
    return a.build()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bearings", [1, 3])
def test_more_bearings_on_one_shaft_change_nothing(seed, bearings):
    """Rows that are zero but for rounding do not hold the shaft."""
    held, free = shaft(seed, bearings), shaft(seed, 0)
    q, v, tau = np.array([[0.4], [0.3], [1.0]])
    assert lb.freedoms(held, q).basis.shape == (1, 1)
    vdot = lb.forward_dynamics(free, q, v, tau)
    assert np.allclose(lb.forward_dynamics(held, q, v, tau), vdot, rtol=1e-12)
    assert np.allclose(lb.inverse_dynamics(held, q, v, vdot, actuated=["shaft"]), tau)
    rest = lb.equilibrium(held, q)
    assert np.allclose(rest, lb.equilibrium(free, q), atol=1e-9)
    assert np.allclose(lb.modes(held, rest).omega, lb.modes(free, rest).omega)


def test_a_shaft_with_two_bearings_swings_as_with_one():
    """The same in a simulation."""
    swings = [lb.simulate(shaft(3, n), 2.0, q0=[0.4], rtol=1e-9, atol=1e-11).q for n in (0, 1)]
    assert np.ptp(swings[0]) > 0.1
    assert np.allclose(*swings, atol=1e-7)
