"""The threads in which the cases of a batch run."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest
from numba import cfunc, types

import limber as lb
from limber.dynamics.cores import at_most_cores
from limber.simulation import batch, case_threads
from limber.simulation.table import Table


class Bar:
    def __init__(self):
        self.done = 0

    def show(self, more):
        self.done += more


@contextmanager
def measured(monkeypatch, seconds):
    """Cases of which an evaluation takes seconds(threads) by the clock; yields the threads that were tried."""
    tried, run = [], case_threads._run

    def timed(pool, function, waiting, bar, at_once):
        tried.append(at_once)
        costs = run(pool, function, waiting, bar, at_once)
        return [(work, work * seconds(at_once)) for work, _ in costs]

    with monkeypatch.context() as m:
        m.setattr(case_threads, "_run", timed)
        yield tried


@pytest.mark.parametrize(
    "seconds, expected",
    [
        (lambda n: n, [1, 2, 1]),  # all of it holds the lock
        (lambda n: n * (1.0 + 0.2 * n), [1, 2, 1]),  # and more threads are slower
        (lambda n: max(1.0, 0.3 * n), [1, 2, 4, 8, 4]),
        (lambda n: 1.0, [1, 2, 4, 8, 12, 12]),
    ],
)
def test_cases_in_python_use_as_many_threads_as_are_faster(monkeypatch, seconds, expected):
    """Whatever the cases cost: from one to a hundred times as much."""
    cost = np.random.default_rng(0).integers(1, 100, 100).tolist()
    seen, bar = [], Bar()

    def run(case):
        seen.append(case)
        return cost[case]

    with at_most_cores(12), measured(monkeypatch, seconds) as tried:
        monkeypatch.setattr(case_threads, "cores", lambda: 12)
        case_threads.run_cases(run, range(100), bar, True)
    assert tried == expected
    assert sorted(seen) == list(range(100)) and bar.done == 100


def test_cases_that_fail_at_once_are_no_measurement(monkeypatch):
    with measured(monkeypatch, lambda n: 1.0) as tried:
        monkeypatch.setattr(case_threads, "cores", lambda: 4)
        case_threads.run_cases(lambda case: int(case > 5), range(40), Bar(), True)
    assert tried == [1, 1, 1, 1, 2, 4, 4]


def test_a_batch_knows_what_its_cases_cost():
    """The measurement uses the evaluations of each case; of a failed one up to its failure."""
    a = lb.Assembly("pendulum")
    a.attach("link", lb.RigidBody(1.0, (1.0, 0, 0)), lb.Revolute("z"))
    s, found, run_cases = a.build(), [], case_threads.run_cases

    def torque(t, q, v):
        if t > 0.05 and q[0] > 0.5:
            raise ValueError("too far")
        return 0 * v

    def noted(run, cases, bar, python):
        run_cases(lambda case: found.append(run(case)) or found[-1], cases, bar, python)

    with pytest.MonkeyPatch.context() as m:
        m.setattr(batch, "run_cases", noted)
        given = {"torque": torque, "method": "rk4", "step": 0.01, "every": 0.05, "progress": False}
        result = lb.simulate(s, 0.1, q0=[[0.0], [0.1], [1.0]], **given)
    assert result.status.tolist() == ["finished", "finished", "failed"]
    assert found[0] == result[1].statistics.evaluations >= 40
    assert 0 < found[1] < 40


@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_few_cases_run_once_each(count):
    for python in (False, True):
        seen, bar = [], Bar()

        def run(case, seen=seen):
            seen.append(case)
            return 1

        case_threads.run_cases(run, range(count), bar, python)
        assert sorted(seen) == list(range(count)) and bar.done == count


def test_no_case_begins_after_an_error():
    """Those that run at the same time end."""
    begun, lock = [], threading.Lock()

    def run(case):
        with lock:
            begun.append(case)
        if case == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        case_threads.run_cases(run, range(10_000), Bar(), False)
    assert len(begun) < 10_000


SIGNATURE = types.void(types.float64, *[types.CPointer(types.float64)] * 3)


def test_what_is_python_is_told_from_what_is_compiled():
    @cfunc(SIGNATURE)
    def compiled(t, q, v, out):
        out[0] = 0.0

    @cfunc(types.float64(types.float64))
    def wrong(t):
        return t

    nothing = {"external": None, "motion": None, "events": ()}
    table = Table(np.linspace(0, 1, 5), np.zeros((5, 1)))
    for torque in (None, np.zeros(1), table, compiled, wrong):
        assert not case_threads.calls_python(nothing, [torque])
    pd = lb.control.PD(1.0, 0.1, sample_time=0.01)
    for torque in (pd, lambda t, q, v: 0 * v):
        assert case_threads.calls_python(nothing, [None, torque])
    for name in ("external", "motion"):
        assert case_threads.calls_python(nothing | {name: {"x": lambda t, q, v: v}}, [])
        for x in (compiled, table, lb.trajectories.Cycloid(1.0, 1.0)):
            assert not case_threads.calls_python(nothing | {name: {"x": x}}, [])
        assert not case_threads.calls_python(nothing | {name: "wrong"}, [])
    assert case_threads.calls_python(nothing | {"events": [lb.Event(0.1)]}, [])
