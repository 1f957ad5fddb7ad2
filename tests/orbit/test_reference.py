"""The reference orbit: it is followed once, also along steep falls, and not for ever."""

import numpy as np
import pytest

import limber as lb
from helpers.flyers import bus, kepler
from limber.errors import ArgumentValueError, ModelWarning
from limber.orbit import reference

#: Of positions, as a part of the distance from the planet.
CLOSE = 1e-12


def test_frames_are_the_same_in_whichever_order_they_are_asked_for():
    times = np.array([0.0, 4000.0, -2500.0, 900.0, 12000.0, 901.0])
    orbit = lb.orbit.elements(8e6, 0.1, 1.9, node=1.0, anomaly=0.4, epoch=500.0)
    reference.reference.cache_clear()
    one_by_one = np.array([lb.orbit.Environment(orbit, "j2").frame(t).position for t in times])
    reference.reference.cache_clear()
    assert np.array_equal(lb.orbit.Environment(orbit, "j2").frame(times).position, one_by_one)


def test_many_frames_follow_the_orbit_once(monkeypatch):
    calls = []
    rates = reference.Way._rates

    def counted(self, t, state):
        calls.append(t)
        return rates(self, t, state)

    monkeypatch.setattr(reference.Way, "_rates", counted)
    reference.reference.cache_clear()
    env = lb.orbit.Environment(lb.orbit.circular(500e3, 0.3))
    env.frame(20000.0)
    needed = len(calls)
    for t in np.linspace(0.0, 20000.0, 50):
        env.frame(t)
    q, v = env.start(bus(), t=19000.0)
    lb.simulate(bus(), 20000.0, t0=19000.0, q0=q, v0=v, environment=env, every=500.0)
    assert len(calls) == needed


def test_a_fall_from_far_away_is_followed_where_it_is_flown():
    # Perigee is 80 km from the centre of the planet, and the run ends before it is near.
    orbit = lb.orbit.elements(4e7, 0.998, 0.4, anomaly=np.pi)
    env = lb.orbit.Environment(orbit)
    end = 0.4 * orbit.period
    position, _ = kepler(orbit, end)
    frame = env.frame(end)
    assert np.abs(frame.position - position).max() < CLOSE * np.linalg.norm(position)
    pieces, length = reference.reference(orbit, "point").pieces(0.0, end)
    assert len(pieces) < 2000
    x = 0.5 ** np.arange(6)
    middle = pieces.reshape(-1, 3, 6) @ x
    times = (np.arange(len(pieces)) + 0.5) * length
    assert np.abs(middle - env.frame(times).position).max() < CLOSE * np.linalg.norm(position)
    s = bus()
    q, v = env.start(s, position=(50.0, 0.0, 0.0))
    r = lb.simulate(s, end, q0=q, v0=v, environment=env, rtol=1e-12, atol=1e-10, t_eval=[0.0, end])
    found = env.track(r).elements
    np.testing.assert_allclose(found.semi_major[-1], found.semi_major[0], rtol=1e-12)


def test_orbits_that_cannot_be_followed_are_refused():
    s, low = bus(), lb.orbit.circular(400e3)
    with pytest.raises(
        ArgumentValueError, match=r"revolutions away from the epoch .* epoch=8e\+08"
    ):
        lb.simulate(s, 8e8 + 1.0, t0=8e8, environment=lb.orbit.Environment(low))
    with pytest.raises(ArgumentValueError, match="revolutions away from the epoch"):
        lb.orbit.Environment(low).frame(-1e12)
    falling = lb.orbit.Environment(lb.orbit.state((7e6, 0.0, 0.0), (0.0, 1.0, 0.0)))
    with pytest.raises(ArgumentValueError, match="stays farther from the centre of the planet"):
        lb.simulate(s, 8000.0, environment=falling)


def test_a_reference_below_the_surface_is_told():
    # A semi-major axis in kilometres, and an altitude for a semi-major axis.
    s = bus()
    for wrong in (6778.0, 400e3):
        env = lb.orbit.Environment(lb.orbit.elements(wrong))
        with pytest.warns(ModelWarning, match=r"the reference orbit is \d+ km below the surface"):
            lb.simulate(s, 1e-3, environment=env)
    sounding = lb.orbit.Environment(lb.orbit.state((6.6e6, 0.0, 0.0), (800.0, 300.0, 0.0)))
    lb.simulate(s, 200.0, environment=sounding, every=50.0)  # a warning would be an error here


def test_the_axis_of_a_parabola_is_infinite():
    mu = lb.orbit.EARTH.mu
    orbit = lb.orbit.state((2.0**23, 0.0, 0.0), (0.0, 0.0, np.sqrt(2.0 * mu / 2.0**23)))
    assert abs(orbit.osculating.semi_major) > 1e18
    assert orbit.period == np.inf or orbit.period > 1e15
