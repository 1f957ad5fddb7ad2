"""Events with actions: the motion after them goes on as it must, and no event is lost."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import limber as lb
from helpers.random_systems import random_assembly, random_state

G = 9.81
METHODS = ["rk45", "dop853", "sdirk4", "auto"]
FIRST_HIT = np.sqrt(2 / G)


def balls(count):
    a = lb.Assembly("balls", gravity=(0, 0, -G))
    for i in range(count):
        a.attach(f"b{i}", lb.RigidBody(1.0), lb.Prismatic([0, 0, 1]))
    return a.build()


def bounce(i, restitution, floor=0.0):
    def act(t, q, v):
        v = v.copy()
        v[i] *= -restitution
        return q, v

    return lb.Event(lambda t, q, v: q[i] - floor, act, direction=-1, name=f"hit{i}")


def hits(restitution, count):
    """Impacts of a ball dropped from 1 m: t1 (1 + 2 (e + e^2 + ...)), t1 = sqrt(2 / g)."""
    powers = restitution ** np.arange(1, count)
    return FIRST_HIT * (1 + 2 * np.cumsum([0.0, *powers]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("restitution", [0.9, 0.99])
def test_a_ball_bounces_two_hundred_times_as_the_closed_form(method, restitution):
    times = hits(restitution, 201)
    end = 0.5 * (times[199] + times[200])
    r = lb.simulate(
        balls(1),
        end,
        q0=[1.0],
        events=bounce(0, restitution),
        method=method,
        rtol=1e-10,
        atol=1e-12,
    )
    assert np.allclose([e.t for e in r.events], times[:200], rtol=0, atol=1e-11)
    assert r.q.min() > 0.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("floor", [0.0, 1.0, -3.0, 1e3])
def test_bounces_without_end_are_told_with_event_and_time(method, floor):
    limit = FIRST_HIT * 3.0  # 1 + 2 (1/2 + 1/4 + ...)
    with pytest.raises(lb.LimberError, match=r"without end at t = 1\.3545.*'hit0'") as caught:
        lb.simulate(balls(1), 5.0, q0=[floor + 1.0], events=bounce(0, 0.5, floor), method=method)
    kept = caught.value.result
    assert kept.q.min() > floor and len(kept.events) > 20
    assert kept.events[-1].t == pytest.approx(limit, abs=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("apart", [0.0, 1e-16, 1e-13, 1e-11, 1e-7])
def test_two_balls_that_hit_at_the_same_time_both_bounce(method, apart):
    r = lb.simulate(
        balls(2), 3.0, q0=[1.0, 1.0 + apart], events=[bounce(0, 0.9), bounce(1, 0.9)], method=method
    )
    times = hits(0.9, 5)
    for i in range(2):
        found = [e.t for e in r.events if e.name == f"hit{i}"]
        assert np.allclose(found, times[times < 3.0], rtol=0, atol=1e-6)
    assert r.q.min() > 0.0


def test_three_balls_hit_in_one_instant():
    events = [bounce(i, 0.9) for i in range(3)]
    r = lb.simulate(balls(3), 2.0, q0=[1.0] * 3, events=events)
    assert sorted(e.name for e in r.events) == ["hit0"] * 3 + ["hit1"] * 3 + ["hit2"] * 3


def pendulum():
    a = lb.Assembly("pendulum", gravity=(0, 0, -G))
    a.attach("rod", lb.RigidBody(1.0, com=(1, 0, 0)), lb.Revolute([0, 1, 0]))
    return a.build()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(5))
def test_a_pendulum_does_not_pass_a_wall(method, seed):
    rng = np.random.default_rng(seed)
    wall, restitution = rng.uniform(1.6, 1.9), rng.uniform(0.3, 0.95)
    event = lb.Event(
        lambda t, q, v: q[0] - wall, lambda t, q, v: (q, -restitution * v), direction=1
    )
    r = lb.simulate(pendulum(), 10.0, events=event, method=method)
    assert r.q.max() <= wall + 1e-12 and len(r.events) >= 4


def test_a_function_that_dips_through_zero_within_a_step_is_seen():
    """A ball thrown up that passes a mark and comes back, in steps far longer than it stays there."""
    s = balls(1)
    top = 5.0**2 / (2 * G)
    for depth in (1e-2, 1e-4, 1e-6):
        mark = top - depth
        r = lb.simulate(
            s,
            1.0,
            v0=[5.0],
            events=lb.Event(lambda t, q, v, mark=mark: q[0] - mark, name="mark"),
            rtol=1e-10,
        )
        wait = np.sqrt(2 * depth / G)
        times = 5.0 / G + np.array([-wait, wait])
        assert np.allclose([e.t for e in r.events], times, rtol=0, atol=1e-7)
        down = lb.Event(lambda t, q, v, mark=mark: q[0] - mark, direction=-1)
        r = lb.simulate(s, 1.0, v0=[5.0], events=down, rtol=1e-10)
        assert np.allclose([e.t for e in r.events], times[1:], rtol=0, atol=1e-7)
    over = lb.Event(lambda t, q, v: q[0] - top - 1e-9)
    assert not lb.simulate(s, 1.0, v0=[5.0], events=over, rtol=1e-10).events


def test_an_event_that_starts_at_zero_happens_when_it_comes_back():
    r = lb.simulate(balls(1), 3.0, v0=[5.0], events=bounce(0, 0.8))
    assert r.events[0].t == pytest.approx(10.0 / G, abs=1e-9) and r.q.min() > -1e-12


STARTS = [*METHODS, "rk4"]


def started(method, **options):
    return lb.simulate(method=method, step=0.01 if method == "rk4" else None, **options)


@pytest.mark.parametrize("method", STARTS)
@pytest.mark.parametrize("floor", [0.0, 0.3, -7.0])
def test_a_ball_that_starts_on_the_floor_moving_down_bounces_at_once(method, floor):
    start = [0.1 + 0.2] if floor == 0.3 else [floor]  # which is 0.3 but for rounding
    run = {"system": balls(1), "t_end": 1.0, "q0": start, "events": bounce(0, 0.8, floor)}
    r = started(method, v0=[-5.0], **run)
    assert [e.t for e in r.events] == pytest.approx([0.0, 8.0 / G], abs=1e-6)
    assert r.events[0].t == 0.0 and r.q.min() > floor - 1e-12
    assert r.v[0, 0] == -5.0 and r.energy[1] == pytest.approx(0.64 * 12.5 + G * floor)
    r = started(method, v0=[4.0], **run)  # thrown up, it comes back later
    assert [e.t for e in r.events] == pytest.approx([8.0 / G], abs=1e-6)


@pytest.mark.parametrize("method", STARTS)
def test_a_ball_at_rest_on_the_floor_meets_it_at_the_start(method):
    with pytest.warns(lb.ModelWarning, match="event 'hit0' at t = 0 s leaves .* at rest at zero"):
        r = started(method, system=balls(1), t_end=0.1, events=bounce(0, 0.8))
    assert [e.t for e in r.events] == [0.0]
    stop = lb.Event(lambda t, q, v: q[0], direction=-1, terminal=True, name="ground")
    r = started(method, system=balls(1), t_end=0.1, events=stop)
    assert len(r) == 1 and r.message == "stopped by event 'ground' at t = 0 s"


def test_all_events_at_the_start_happen():
    events = [bounce(i, 0.9) for i in range(3)]
    r = lb.simulate(balls(3), 0.1, v0=[-1.0, 1.0, -2.0], events=events)
    assert [(e.t, e.name) for e in r.events] == [(0.0, "hit0"), (0.0, "hit2")]
    assert r.q[1:].min() > 0.0


def test_without_a_direction_a_function_that_starts_at_zero_has_no_event_there():
    both = lb.Event(lambda t, q, v: q[0])
    for v0 in (-2.0, 0.0, 2.0):
        r = lb.simulate(balls(1), 1.0, v0=[v0], events=both)
        assert [e.t for e in r.events] == pytest.approx([2 * v0 / G] if v0 > 0 else [], abs=1e-9)


def test_a_run_that_goes_on_from_a_stop_whose_action_turned_it_back_does_not_stop_at_once():
    stop = lb.Event(
        lambda t, q, v: q[0], lambda t, q, v: (q, -0.8 * v), direction=-1, terminal=True
    )
    s = balls(1)
    for q0, v0, expected in ((1.0, 0.0, hits(0.8, 3)), (0.0, -5.0, [0.0, 8 / G, 14.4 / G])):
        times, state = [], {"t0": 0.0, "q0": [q0], "v0": [v0]}
        for _ in range(3):
            r = lb.simulate(s, 5.0, events=stop, rtol=1e-10, atol=1e-12, **state)
            times.append(r.t[-1])
            assert (np.diff(r.t) > 0.0).all()
            state = {"t0": r.t[-1], "q0": r.q[-1], "v0": r.v[-1]}
        assert np.allclose(times, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("write", [lambda x: x.__setitem__(0, 1.0), lambda x: x.__imul__(-1.0)])
@pytest.mark.parametrize("which", [0, 1])
def test_an_action_that_writes_into_its_state_is_told_to_return_it(write, which):
    def act(t, q, v):
        write((q, v)[which])

    event = lb.Event(lambda t, q, v: q[0] - 0.5, act, name="wall")
    with pytest.raises(lb.LimberError, match=r"event 'wall' writes into q or v.*return \(q, v\)"):
        lb.simulate(slider(), 1.0, v0=[1.0], events=event)


def test_motion_brought_to_rest_at_zero_and_carried_on_is_warned_of():
    with pytest.warns(lb.ModelWarning, match="event 'hit0'.*at rest at zero"):
        lb.simulate(balls(1), 1.0, q0=[1.0], events=bounce(0, 0.0))


@pytest.mark.parametrize("order", [1, -1])
def test_an_action_that_throws_a_body_back_into_a_wall_it_touches_is_answered(order):
    """Two bodies reach their marks at once: one bounces off a wall, the action of the other throws it there again."""
    s = balls(2)
    wall = bounce(0, 1.0)
    thrown = lb.Event(
        lambda t, q, v: q[1], lambda t, q, v: (q, [-3.0, 1.0]), direction=-1, name="thrown"
    )
    r = lb.simulate(s, 0.6, q0=[1.0, 1.0], events=[wall, thrown][::order])
    assert sum(e.name == "thrown" for e in r.events) == 1
    left = 0.6 - FIRST_HIT
    assert r.v[-1, 0] == pytest.approx(3.0 - G * left, abs=1e-6) and r.q[:, 0].min() > -1e-9


def restarted(s, q, v, g, restitution, end):
    """The same by SciPy, started again after every impact; times of impacts, and the state at the end."""
    nq = s.nq

    def rates(t, y):
        return np.concatenate(
            [lb.qdot(s, y[:nq], y[nq:]), lb.forward_dynamics(s, y[:nq], y[nq:], np.zeros(s.nv))]
        )

    def event(t, y):
        return g(t, y[:nq], y[nq:])

    event.terminal, event.direction = True, -1
    t, y, times = 0.0, np.concatenate([q, v]), []
    while t < end and len(times) < 50:
        # away from the zero first, so that the next crossing is a new one
        away = min(1e-4, end - t)
        step = solve_ivp(rates, (t, t + away), y, method="DOP853", rtol=1e-11, atol=1e-12)
        t, y = t + away, step.y[:, -1]
        if t >= end:
            break
        run = solve_ivp(
            rates, (t, end), y, method="DOP853", rtol=1e-11, atol=1e-12, events=event, max_step=0.02
        )
        t, y = run.t[-1], run.y[:, -1].copy()
        if run.status == 1:
            times.append(t)
            y[nq:] *= -restitution
    return times, y


def check_against_restarts(seed):
    rng = np.random.default_rng(seed)
    kinds = ("Revolute", "Prismatic", "Screw", "Cylindrical", "Universal", "Planar")
    s = random_assembly(rng, bodies=int(rng.integers(1, 4)), kinds=kinds).build()
    q, v, _ = random_state(rng, s, eta_scale=0.1)
    direction = rng.normal(size=s.nq)
    level = float(direction @ q) - rng.uniform(0.01, 0.1)

    def g(t, q, v):
        return float(direction @ q) - level

    restitution, end = rng.uniform(0.6, 0.95), 0.5
    times, y = restarted(s, q, v, g, restitution, end)
    if any(np.diff([0.0, *times, end]) < 1e-2):
        return  # too close together for the reference to be told apart
    event = lb.Event(g, lambda t, q, v: (q, -restitution * v), direction=-1)
    for method in ("dop853", "sdirk4"):
        r = lb.simulate(s, end, q0=q, v0=v, events=event, method=method, rtol=1e-10, atol=1e-11)
        assert len(r.events) == len(times)
        assert np.allclose([e.t for e in r.events], times, rtol=0, atol=1e-6)
        size = 1.0 + np.abs(y).max()
        assert np.allclose(np.concatenate([r.q[-1], r.v[-1]]), y, rtol=0, atol=1e-4 * size)


@pytest.mark.parametrize("seed", range(5))
def test_actions_agree_with_scipy_started_again(seed):
    check_against_restarts(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 55))
def test_actions_of_many_systems_agree_with_scipy_started_again(seed):
    check_against_restarts(seed)


def top():
    a = lb.Assembly("top", gravity=(0, 0, -G))
    body = lb.RigidBody(
        1.0,
        com=[0.1, 0.2, 0.3],
        inertia=np.diag([0.02, 0.03, 0.04]),
        nodes={"c": [0.1, 0.2, -0.15]},
    )
    a.attach("top", body, lb.Spherical())
    return a.build()


@pytest.mark.parametrize("method", ["dop853", "sdirk4"])
def test_an_action_that_returns_its_state_changes_nothing(method):
    """Quaternions are made unit again on the way, which must not look like a move off the zero."""
    s = top()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        v0, level = 3 * rng.normal(size=3), rng.uniform(-0.6, 0.6)

        def g(t, q, v, level=level):
            return q[1] - level

        plain, acted = (
            lb.simulate(s, 2.0, v0=v0, events=lb.Event(g, act), method=method, every=2.0).events
            for act in (None, lambda t, q, v: (q, v))
        )
        assert len(plain) == len(acted)


def test_functions_that_start_at_zero_are_no_events():
    """To rounding of their terms, which may cancel; turned by quaternions or added up."""
    s = top()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        q0 = rng.normal(size=4)
        q0 /= np.linalg.norm(q0)
        level = lb.pose(s, q0, "top", "c")[1][2]
        event = lb.Event(lambda t, q, v, level=level: lb.pose(s, q, "top", "c")[1][2] - level)
        r = lb.simulate(s, 0.01, q0=q0, v0=rng.normal(size=3), events=event)
        assert all(e.t > 1e-6 for e in r.events)
    s = balls(2)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        q0, w = rng.uniform(1, 2, size=2), rng.uniform(0.5, 2, 2)
        gap = w[0] * q0[0] / 3 - w[1] * q0[1] / 7
        event = lb.Event(
            lambda t, q, v, w=w, gap=gap: (w[0] * q[0] / 3 - gap) - w[1] * q[1] / 7, terminal=True
        )
        r = lb.simulate(s, 0.01, q0=q0, v0=rng.normal(size=2), events=event)
        assert r.t[-1] > 1e-6


@pytest.mark.parametrize("restitution", [0.02, 0.1, 0.3])
def test_a_ball_that_hardly_bounces_does_not_sink(restitution):
    low = lb.Event(lambda t, q, v: q[0] + 1e-9, terminal=True, name="below the floor")
    with pytest.raises(lb.LimberError, match="without end") as caught:
        lb.simulate(balls(1), 5.0, q0=[1.0], events=[bounce(0, restitution), low])
    assert caught.value.result.q.min() > -1e-12


def test_the_tip_of_a_flexible_arm_does_not_pass_a_floor():
    a = lb.Assembly("arm", gravity=(0, 0, -G))
    link = lb.beam(length=1.0, mass=2.0, EI=200.0, modes=2, damping=0.01)
    a.attach("u", link, lb.Revolute([0, 1, 0]))
    s = a.build()

    def height(t, q, v):
        return lb.pose(s, q, "u", "tip")[1][2] + 0.5

    def impulse(t, q, v):
        J = lb.jacobian(s, q, "u", "tip")[5]
        per = np.linalg.solve(lb.mass_matrix(s, q), J)
        return q, v - 1.02 * (J @ v) / (J @ per) * per

    event = lb.Event(height, impulse, direction=-1, name="floor")
    with pytest.raises(lb.LimberError, match=r"without end at t = 0\.2687.*'floor'") as caught:
        lb.simulate(s, 1.0, events=event, method="dop853")
    r = caught.value.result
    assert lb.pose(s, r.q, "u", "tip")[1][:, 2].min() > -0.5 - 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_a_motion_that_starts_from_rest_at_zero_has_no_events(method):
    a = lb.Assembly("slider")
    a.attach("s", lb.RigidBody(1.0), lb.Prismatic([1, 0, 0]))
    s = a.build()
    for torque in (lambda t, q, v: [t], lambda t, q, v: [1 - np.cos(3 * t)], [1.0]):
        for g in (lambda t, q, v: v[0], lambda t, q, v: q[0]):
            assert not lb.simulate(s, 1.0, torque=torque, method=method, events=lb.Event(g)).events


def slider():
    a = lb.Assembly("slider")
    a.attach("s", lb.RigidBody(1.0), lb.Prismatic([1, 0, 0]))
    return a.build()


@pytest.mark.parametrize("method", METHODS)
def test_functions_of_time_cross_late_in_time_as_early(method):
    for start in (0.0, 1.7e9):
        event = lb.Event(lambda t, q, v, start=start: q[0] - 2 * np.sin(3 * (t - start)))
        r = lb.simulate(slider(), start + 3.0, t0=start, v0=[1.0], events=event, method=method)
        assert [e.t - start for e in r.events] == pytest.approx([0.8929277], abs=1e-6)
    until = lb.Event(
        lambda t, q, v: 0.1 * np.exp(t - 1.7e9) - 0.2
    )  # far beyond the end it overflows
    r = lb.simulate(slider(), 1.7e9 + 1.0, t0=1.7e9, v0=[1.0], events=until, method=method)
    assert r.events[0].t - 1.7e9 == pytest.approx(np.log(2.0), abs=1e-6)


def test_many_events_of_a_healthy_motion_are_no_endless_sequence():
    a = lb.Assembly("rotor")
    a.attach("r", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Revolute([0, 0, 1]))
    s = a.build()
    turns = lb.Event(lambda t, q, v: np.sin(q[0] + 0.1), lambda t, q, v: (q, v))
    stop = lb.Event(0.5, terminal=True)
    r = lb.simulate(s, 2e6, v0=[3141.6], events=[turns, stop], max_step=5e-4, t_eval=[0.0])
    assert len(r.events) == 501
    marks = [lb.Event(0.5, name=str(i)) for i in range(120)]
    assert len(lb.simulate(s, 1.0, events=marks).events) == 120
    lines = [lb.Event(lambda t, q, v: q[0] - 0.5, name=str(i)) for i in range(120)]
    assert len(lb.simulate(s, 1.0, v0=[1.0], events=lines).events) == 120


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((None, [1.0]), "q of the action of event 'e' must be real numbers"),
        (([0.0], None), "v of the action of event 'e' must be real numbers"),
        (([0.0, 1.0], [0.0]), r"q of the action of event 'e' must have shape \(1,\), got \(2,\)"),
        (([0.0], [np.nan]), r"v of the action of event 'e'\[0\] is nan"),
        ("ok", "the action of event 'e' must return None, \"stop\" or"),
        (1.0, "the action of event 'e' must return None, \"stop\" or"),
    ],
)
def test_bad_answers_of_actions_are_refused_with_their_event(answer, message):
    event = lb.Event(lambda t, q, v: q[0] - 0.5, lambda t, q, v: answer, name="e")
    with pytest.raises(lb.LimberError, match=message):
        lb.simulate(slider(), 1.0, v0=[1.0], events=event)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"terminal": "no"}, "terminal must be True or False, got 'no'"),
        ({"terminal": 3}, "terminal must be True or False, got 3"),
        ({"direction": np.array([1, 2])}, "direction must be -1, 0 or 1"),
        ({"name": ("a", 1)}, "name must be text"),
    ],
)
def test_bad_events_are_refused_in_words(options, message):
    with pytest.raises(lb.LimberError, match=message):
        lb.Event(lambda t, q, v: q[0], **options)


def test_truth_values_are_no_event_functions():
    event = lb.Event(lambda t, q, v: q[0] > 0.5, terminal=True, name="far")
    with pytest.raises(lb.LimberError, match="event 'far' must return a number that crosses zero"):
        lb.simulate(slider(), 1.0, v0=[1.0], events=event)


def test_an_action_that_moves_the_state_away_fires_once(rotor, ball):
    back = lb.Event(lambda t, q, v: q[0] - 1.0, action=lambda t, q, v: ([0.0], v))
    r = lb.simulate(rotor, 4.5, v0=[1.0], events=back)
    assert np.allclose([e.t for e in r.events], [1, 2, 3, 4], atol=1e-9)
    bounce = lb.Event(lambda t, q, v: q[0], action=lambda t, q, v: (q, -v))
    r = lb.simulate(ball, 3.0, q0=[1.0], events=bounce)
    assert np.allclose([e.t for e in r.events], np.sqrt(2 / 9.81) * np.array([1, 3, 5]), atol=1e-6)


def test_an_action_that_leads_back_to_its_event_is_refused(rotor):
    trap = lb.Event(lambda t, q, v: q[0] - 0.5, lambda t, q, v: (q - 1e-9, v), name="trap")
    with pytest.raises(lb.LimberError, match=r"without end at t = 0\.5.*1001 being 'trap'"):
        lb.simulate(rotor, 1.0, v0=[1.0], events=trap)
