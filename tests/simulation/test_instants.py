"""Events at one instant: each happens once, whatever the order of the list, the rounding and the method."""

from collections import Counter

import numpy as np
import pytest

import limber as lb

G = 9.81
METHODS = ["rk45", "dop853", "sdirk4", "auto", "rk4"]


def system(name, axis, count=1, gravity=0.0):
    a = lb.Assembly(name, gravity=(0, 0, -gravity))
    for i in range(count):
        a.attach(f"b{i}", lb.RigidBody(1.0), lb.Prismatic(axis))
    return a.build()


CART, BALL, TWO_BALLS = system("cart", "x"), system("ball", "z", 1, G), system("balls", "z", 2, G)


def simulated(s, t_end, method, step=1e-3, **options):
    return lb.simulate(s, t_end, method=method, step=step if method == "rk4" else None, **options)


def names(result):
    return [e.name for e in result.events]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("other", [-1.0, 2.5])
@pytest.mark.parametrize("direction", [0, -1, 1])
def test_an_action_is_carried_out_once_where_two_functions_share_a_zero(method, other, direction):
    rng = np.random.default_rng(0)
    counts = direction * np.sign(other) >= 0
    for k in range(12):
        w, phase = rng.uniform(2, 15), rng.uniform(4.5, 6)
        start = (2 * np.pi - phase) / w

        def g(t, q, v, w=w, phase=phase, of_time=bool(k % 2)):
            return np.sin(w * (t if of_time else q[0]) + phase)

        kick = lb.Event(g, lambda t, q, v: (q, v + 1.0), direction=1, name="kick")
        same = lb.Event(lambda t, q, v, g=g: other * g(t, q, v), direction=direction, name="same")
        for events in ([kick, same], [same, kick]):
            r = simulated(CART, start + 0.05, method, v0=[1.0], events=events, max_step=0.03)
            expected = [e.name for e in events if e is kick or counts]
            assert names(r) == expected
            assert [e.t for e in r.events] == pytest.approx([start] * len(expected), abs=1e-9)
            assert r.v[-1, 0] == 2.0


@pytest.mark.parametrize("method", METHODS)
def test_events_on_the_way_back_from_a_short_dip_happen_once_each(method):
    for k in range(10):
        centre = 1 + 0.014 * k

        def g(t, q, v, centre=centre):
            return (q[0] - centre) ** 2 - 0.002**2

        back = lb.Event(g, direction=1, name="a")
        other = lb.Event(lambda t, q, v, g=g: -g(t, q, v), direction=-1, name="b")
        for events in ([back, other], [other, back]):
            r = simulated(CART, 1.5, method, 0.1, v0=[1.0], events=events, max_step=0.1)
            assert names(r) == [e.name for e in events]
            assert [e.t for e in r.events] == pytest.approx([centre + 0.002] * 2, abs=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("direction", [1, -1, 0])
def test_dips_one_after_the_other_are_no_endless_sequence(method, direction):
    places = {1: [0.002], -1: [-0.002], 0: [-0.002, 0.002]}[direction]
    for k in range(5):
        first = 1 + 0.014 * k

        def g(t, q, v, first=first):
            return ((q[0] - first) ** 2 - 0.002**2) * ((q[0] - first - 2) ** 2 - 0.002**2)

        for action in (None, lambda t, q, v: (q, v)):
            event = lb.Event(g, action, direction=direction)
            r = simulated(CART, 4.0, method, 0.1, v0=[1.0], events=event, max_step=0.1)
            expected = [first + shift + place for shift in (0, 2) for place in places]
            assert [e.t for e in r.events] == pytest.approx(expected, abs=1e-6)


def bounce(restitution=0.9, number=0):
    def act(t, q, v):
        v = v.copy()
        v[number] *= -restitution
        return q, v

    return lb.Event(lambda t, q, v: q[number], act, direction=-1, name="bounce")


@pytest.mark.parametrize("method", METHODS)
def test_the_order_of_the_list_decides_which_event_is_first_and_not_which_happen(method):
    logs = [
        lb.Event(lambda t, q, v: q[0], direction=-1, name="log"),
        lb.Event(lambda t, q, v: -2.0 * q[0], name="log"),
        lb.Event(lambda t, q, v: q[0] / 3.0, name="log"),
    ]
    for log in logs:
        for events in ([bounce(), log], [log, bounce()]):
            r = simulated(BALL, 4.0, method, q0=[1.0], events=events)
            assert names(r) == [e.name for e in events] * 6
            assert r.q.min() > 0.0


def test_a_function_that_an_action_turns_back_at_its_zero_does_not_cross_it():
    """The event counts upward; the ball comes down and leaves upward again."""
    up = lb.Event(lambda t, q, v: q[0], direction=1, name="up")
    for events in ([bounce(), up], [up, bounce()]):
        for method in METHODS:
            r = simulated(BALL, 4.0, method, q0=[1.0], events=events)
            assert names(r) == ["bounce"] * 6


def test_all_events_of_the_instant_at_which_a_run_stops_happen():
    stop = lb.Event(lambda t, q, v: q[0], terminal=True, name="stop")
    log = lb.Event(lambda t, q, v: -3.0 * q[0], name="log")
    for events in ([stop, log, bounce()], [bounce(), log, stop]):
        r = lb.simulate(BALL, 4.0, q0=[1.0], events=events)
        assert names(r) == [e.name for e in events]
        assert "stopped by event 'stop'" in r.message and r.v[-1, 0] > 0.0


def test_events_at_a_time_and_crossings_at_that_time_happen_in_the_order_of_the_list():
    def faster(t, q, v):
        return q, 2.0 * v

    for t0 in (0.0, 0.1):
        at = lb.Event(0.3, faster, name="time")
        crosses = lb.Event(lambda t, q, v: t - 0.3, faster, name="function")
        for events in ([at, crosses], [crosses, at]):
            for method in METHODS:
                r = simulated(CART, 0.5, method, t0=t0, v0=[1.0], events=events)
                assert sorted(names(r)) == ["function", "time"]
                assert [e.t for e in r.events] == pytest.approx([0.3, 0.3], abs=1e-15)
                assert r.v[-1, 0] == 4.0


@pytest.mark.parametrize("method", METHODS)
def test_a_blow_goes_through_bodies_that_touch(method):
    """Newton's cradle: three equal carts in a row, two of them at rest and touching."""
    s = system("cradle", "x", 3)

    def hit(i):
        def act(t, q, v):
            v = v.copy()
            v[i], v[i + 1] = v[i + 1], v[i]
            return q, v

        return lb.Event(lambda t, q, v: q[i + 1] - q[i] - 0.1, act, direction=-1, name=f"hit{i}")

    events = [hit(1), hit(0)]
    r = simulated(s, 1.0, method, q0=[-0.3, 0.0, 0.1], v0=[1.0, 0.0, 0.0], events=events)
    assert names(r) == ["hit0", "hit1"]
    assert np.allclose(r.v[-1], [0.0, 0.0, 1.0])


@pytest.mark.parametrize("method", METHODS)
def test_balls_that_hit_together_again_and_again_have_no_event_twice(method):
    events = [bounce(0.9, 0), bounce(0.9, 1), lb.Event(lambda t, q, v: q[1] * 3, name="log")]
    r = simulated(TWO_BALLS, 4.0, method, q0=[1.0, 1.0], events=events)
    assert Counter(names(r)) == {"bounce": 12, "log": 6}
    assert r.q.min() > 0.0
