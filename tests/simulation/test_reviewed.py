"""What a reviewer found: torques that jump, events that move the state, controllers with a memory, bad callables."""

import numpy as np
import pytest

import limber as lb


@pytest.fixture(scope="module")
def s():
    a = lb.Assembly("one")
    a.attach("b", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Revolute([0, 0, 1]))
    return a.build()


@pytest.fixture(scope="module")
def ball():
    a = lb.Assembly("ball", gravity=(0, 0, -9.81))
    a.attach("b", lb.RigidBody(1.0), lb.Prismatic([0, 0, 1]))
    return a.build()


@pytest.mark.parametrize("method", ["auto", "dop853", "rk45", "sdirk4"])
def test_no_step_looks_across_a_pulse(s, method):
    """An impulse of 1 N m s within 10 ms, after 5 s of nothing."""
    pulse = lb.Table([0, 5, 5 + 1e-9, 5.01, 5.01 + 1e-9, 10], [[0], [0], [100], [100], [0], [0]])
    r = lb.simulate(s, 10, torque=pulse, method=method)
    assert r.v[-1, 0] == pytest.approx(1.0, abs=1e-6)
    triangle = lb.Table([0, 5, 5.1, 5.2], [[0], [0], [10], [0]])
    assert lb.simulate(s, 10, torque=triangle, method=method).v[-1, 0] == pytest.approx(
        1.0, abs=1e-9
    )


def test_a_finely_sampled_table_is_not_cut_to_pieces(s):
    t = np.linspace(0, 10, 20_001)
    r = lb.simulate(s, 10, torque=lb.Table(t, np.sin(t)[:, None]), method="dop853")
    assert r.statistics.steps < 500


def test_an_action_that_moves_the_state_away_fires_once(s, ball):
    back = lb.Event(lambda t, q, v: q[0] - 1.0, action=lambda t, q, v: ([0.0], v))
    r = lb.simulate(s, 4.5, v0=[1.0], events=back)
    assert np.allclose([e.t for e in r.events], [1, 2, 3, 4], atol=1e-9)
    bounce = lb.Event(lambda t, q, v: q[0], action=lambda t, q, v: (q, -v))
    r = lb.simulate(ball, 3.0, q0=[1.0], events=bounce)
    assert np.allclose([e.t for e in r.events], np.sqrt(2 / 9.81) * np.array([1, 3, 5]), atol=1e-6)


def test_an_action_that_leads_back_to_its_event_is_refused(s):
    trap = lb.Event(lambda t, q, v: q[0] - 0.5, lambda t, q, v: (q - 1e-9, v), name="trap")
    with pytest.raises(lb.LimberError, match=r"without end at t = 0\.5.*1001 being 'trap'"):
        lb.simulate(s, 1.0, v0=[1.0], events=trap)


def test_the_direction_that_does_not_count_stays_so(s):
    class Still:
        sample_time = 0.1

        def __call__(self, t, q, v):
            return np.zeros(1)

    up = lb.Event(lambda t, q, v: q[0] - 0.49, direction=1, name="up")
    never = lb.Event(lambda t, q, v: 0.499 - q[0], direction=1, name="never")
    r = lb.simulate(s, 1.0, v0=[1.0], events=[up, never], torque=Still(), method="rk4", step=0.1)
    assert [e.name for e in r.events] == ["up"]


def test_a_controller_is_called_once_at_each_sample(s):
    class Count:
        sample_time = 0.1

        def __init__(self):
            self.times = []

        def __call__(self, t, q, v):
            self.times.append(t)
            return np.array([float(len(self.times))])

    ends = []
    for options in ({}, {"t_eval": [1.0]}, {"every": 0.25}):
        c = Count()
        ends.append(lb.simulate(s, 1.0, torque=c, **options).v[-1, 0])
        assert np.allclose(c.times, 0.1 * np.arange(10))
    assert ends == pytest.approx([5.5] * 3)


def test_what_a_torque_function_returns_is_looked_at():
    a = lb.Assembly("beam")
    a.attach("a", lb.beam(1.0, 1.0, EI=10.0, modes=1), lb.Revolute([0, 0, 1]))
    s = a.build()
    r = lb.simulate(
        s, 0.1, torque=lambda t, q, v: np.ones(1)
    )  # the joint alone, as a constant [1.0] is
    assert r.tau[-1].tolist() == [0.0, 0.0, 1.0]
    for bad in (np.zeros(2), None, 1j * np.zeros(3)):
        with pytest.raises(lb.LimberError, match="must return 3 numbers"):
            lb.simulate(s, 0.1, torque=lambda t, q, v, bad=bad: bad)
    with pytest.raises(
        lb.LimberError, match=r"torque was not finite at t = 0\.0.*mode 2 of body 'a'"
    ):
        lb.simulate(s, 0.1, torque=lambda t, q, v: np.where(t > 0.05, [0, np.nan, 0], 0.0))


def test_an_object_with_an_address_is_still_a_function(s):
    class Bus:
        address = 502

        def __call__(self, t, q, v):
            return np.ones(1)

    assert lb.simulate(s, 1.0, torque=Bus()).v[-1, 0] == pytest.approx(1.0)


def test_event_functions_cannot_change_the_state(s):
    r = lb.simulate(s, 1.0, v0=[1.0], events=lb.Event(lambda t, q, v: (v.__imul__(0), 1.0)[1]))
    assert r.q[-1, 0] == pytest.approx(1.0)


def test_odd_requests(s, tmp_path):
    with pytest.raises(lb.LimberError, match="step"):
        lb.simulate(s, 1.0, method="rk4", step=1e-20)
    with pytest.raises(lb.LimberError, match="method"):
        lb.simulate(s, 1.0, method=["rk4"])
    with pytest.raises(lb.LimberError, match="events"):
        lb.simulate(s, 1.0, events=3)
    assert len(lb.simulate(s, 1.0, events=None)) == 501
    assert lb.simulate(s, 1e12, v0=[1.0]).q[-1, 0] == pytest.approx(1e12)
    path = tmp_path / "r.h5"
    pytest.importorskip("h5py")
    lb.simulate(s, 1.0).save(path)
    whole = path.read_bytes()
    for share in (0.3, 0.6, 0.9):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(lb.LimberError, match="cut off"):
            lb.Result.load(path)


def test_a_stopped_run_ends_with_the_row_of_its_event(s, tmp_path):
    stop = lb.Event(lambda t, q, v: q[0] - 0.25, terminal=True, name="there")
    r = lb.simulate(s, 1.0, v0=[1.0], events=stop, t_eval=[0.0, 1.0])
    assert np.allclose(r.t, [0.0, 0.25]) and r.q[-1, 0] == pytest.approx(0.25)
    pytest.importorskip("h5py")
    kept = lb.simulate(s, 1.0, v0=[1.0], events=stop, every=0.1, save=tmp_path / "r.h5")
    assert (lb.Result.load(tmp_path / "r.h5").t == kept.t).all() and kept.t[-1] == pytest.approx(
        0.25
    )


def test_an_error_in_a_torque_carries_the_result_so_far(s):
    def broken(t, q, v):
        if t > 0.5:
            raise OSError("bus")
        return np.zeros(1)

    with pytest.raises(OSError, match="bus") as caught:
        lb.simulate(s, 1.0, v0=[1.0], torque=broken, max_step=0.01)
    assert 0.4 < caught.value.result.t[-1] <= 0.5


def test_results_refuse_what_they_cannot_do(s):
    r = lb.simulate(s, 1.0, v0=[1.0])
    assert len(r.resample([])) == 0
    for bad in (r[:1], r[:0], r[::-1]):
        with pytest.raises(lb.LimberError, match="resample needs 2 rows"):
            bad.resample([0.0])
    with pytest.raises(lb.LimberError, match="power_audit needs the rows of a simulation"):
        r[:0].power_audit()
    with pytest.raises(lb.LimberError, match="this result has no such record"):
        lb.Result(r.system, r.t, r.q, r.v, r.tau).power_audit()


@pytest.mark.parametrize("value", [np.nan, np.zeros(2), None, "high"])
def test_what_an_event_function_returns_is_looked_at(s, value):
    for start in (0.0, 0.5):  # at the start, and on the way
        event = lb.Event(lambda t, q, v, start=start: 1.0 if t < start else value, name="e")
        with pytest.raises(
            lb.LimberError, match="function of event 'e' must return one finite number"
        ):
            lb.simulate(s, 1.0, v0=[1.0], events=event)
