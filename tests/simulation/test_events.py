"""Events: found where they are, acted on, in both directions."""

import numpy as np
import pytest

import limber as lb


def height(t, q, v):
    return q[0]


def bounced(t, q, v):
    return np.maximum(q, 0.0), -0.8 * v


@pytest.mark.parametrize("method", ["rk45", "tsit5", "dop853", "sdirk4", "auto"])
def test_bouncing_ball_hits_when_it_must(ball, method):
    """Restitution 0.8 from 1 m: impacts at t1 (1 + 2 (0.8 + 0.8^2 + ...)), t1 = sqrt(2 / g)."""
    event = lb.Event(height, bounced, direction=-1, name="impact")
    r = lb.simulate(ball, 3.0, q0=[1.0], events=event, method=method, rtol=1e-9, atol=1e-10)
    t1 = np.sqrt(2 / 9.81)
    expected = t1 * (1 + 2 * np.cumsum([0.0, *(0.8**k for k in range(1, 6))]))
    assert [e.name for e in r.events] == ["impact"] * 6
    assert np.allclose([e.t for e in r.events], expected, rtol=0, atol=1e-7)
    assert r.q.min() > -1e-9


def test_fixed_steps_see_events_too(ball):
    event = lb.Event(height, bounced, direction=-1)
    r = lb.simulate(ball, 1.5, q0=[1.0], events=event, method="rk4", step=0.01)
    assert np.allclose([e.t for e in r.events], np.sqrt(2 / 9.81) * np.array([1, 2.6]), atol=1e-9)


def test_direction_and_terminal(ball):
    up = lb.Event(lambda t, q, v: q[0] - 0.5, direction=1, terminal=True, name="up")
    r = lb.simulate(ball, 3.0, q0=[0.0], v0=[5.0], events=up)
    t = (5 - np.sqrt(25 - 9.81)) / 9.81
    assert r.events[0].t == pytest.approx(t, abs=1e-9)
    assert r.t[-1] == pytest.approx(t, abs=1e-9) and "up" in r.message
    down = lb.Event(lambda t, q, v: q[0] - 0.5, direction=-1, name="down")
    r = lb.simulate(ball, 1.0, q0=[0.0], v0=[5.0], events=down)
    assert r.events[0].t == pytest.approx((5 + np.sqrt(25 - 9.81)) / 9.81, abs=1e-9)
    both = lb.Event(lambda t, q, v: q[0] - 0.5)
    assert len(lb.simulate(ball, 1.0, q0=[0.0], v0=[5.0], events=both).events) == 2


def test_events_at_times_change_the_state(ball):
    kick = lb.Event(0.25, lambda t, q, v: (q, v + 2.0), name="kick")
    r = lb.simulate(ball, 0.5, events=kick, t_eval=[0.25, 0.5])
    assert [(e.t, e.name) for e in r.events] == [(0.25, "kick")]
    assert r.q[1, 0] == pytest.approx(-9.81 / 2 * 0.25 + 2.0 * 0.25, abs=1e-9)


def test_action_stops(ball):
    r = lb.simulate(
        ball, 3.0, q0=[1.0], events=lb.Event(height, lambda t, q, v: "stop", name="ground")
    )
    assert r.message.startswith("stopped by event 'ground'") and r.t[-1] < 0.46


def test_two_functions_in_one_step_fire_in_order(ball):
    events = [
        lb.Event(lambda t, q, v: q[0] - 0.3, name="low"),
        lb.Event(lambda t, q, v: q[0] - 0.6, name="high"),
    ]
    r = lb.simulate(ball, 0.44, q0=[1.0], events=events)
    assert [e.name for e in r.events] == ["high", "low"]


def test_bad_events_are_refused_and_their_errors_raised(ball):
    with pytest.raises(lb.LimberError, match="direction"):
        lb.Event(height, direction=2)
    with pytest.raises(lb.LimberError, match="action"):
        lb.Event(height, action=3)
    with pytest.raises(lb.LimberError, match="events"):
        lb.simulate(ball, 1.0, events=[height])
    with pytest.raises(lb.LimberError, match="events"):
        lb.simulate(ball, 1.0, events=3)
    with pytest.raises(lb.LimberError, match="action of event 'x'"):
        lb.simulate(ball, 1.0, q0=[1.0], events=lb.Event(height, lambda t, q, v: 3, name="x"))
    with pytest.raises(RuntimeError, match="broken"):
        lb.simulate(ball, 1.0, q0=[1.0], events=lb.Event(broken))


def broken(t, q, v):
    if t > 0.0:
        raise RuntimeError("broken")
    return 1.0


def test_the_direction_that_does_not_count_stays_so(rotor):
    class Still:
        sample_time = 0.1

        def __call__(self, t, q, v):
            return np.zeros(1)

    up = lb.Event(lambda t, q, v: q[0] - 0.49, direction=1, name="up")
    never = lb.Event(lambda t, q, v: 0.499 - q[0], direction=1, name="never")
    r = lb.simulate(
        rotor, 1.0, v0=[1.0], events=[up, never], torque=Still(), method="rk4", step=0.1
    )
    assert [e.name for e in r.events] == ["up"]


def test_no_events_may_be_given_as_none(rotor):
    assert len(lb.simulate(rotor, 1.0, events=None)) == 501


def test_event_functions_cannot_change_the_state(rotor):
    r = lb.simulate(rotor, 1.0, v0=[1.0], events=lb.Event(lambda t, q, v: (v.__imul__(0), 1.0)[1]))
    assert r.q[-1, 0] == pytest.approx(1.0)


def test_a_stopped_run_ends_with_the_row_of_its_event(rotor, tmp_path):
    stop = lb.Event(lambda t, q, v: q[0] - 0.25, terminal=True, name="there")
    r = lb.simulate(rotor, 1.0, v0=[1.0], events=stop, t_eval=[0.0, 1.0])
    assert np.allclose(r.t, [0.0, 0.25]) and r.q[-1, 0] == pytest.approx(0.25)
    pytest.importorskip("h5py")
    kept = lb.simulate(rotor, 1.0, v0=[1.0], events=stop, every=0.1, save=tmp_path / "r.h5")
    assert (lb.Result.load(tmp_path / "r.h5").t == kept.t).all() and kept.t[-1] == pytest.approx(
        0.25
    )


@pytest.mark.parametrize("value", [np.nan, np.zeros(2), None, "high"])
def test_event_functions_must_return_one_finite_number(rotor, value):
    for start in (0.0, 0.5):  # at the start, and on the way
        event = lb.Event(lambda t, q, v, start=start: 1.0 if t < start else value, name="e")
        with pytest.raises(
            lb.LimberError, match="function of event 'e' must return one finite number"
        ):
            lb.simulate(rotor, 1.0, v0=[1.0], events=event)
