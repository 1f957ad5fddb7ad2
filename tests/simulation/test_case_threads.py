"""The threads in which the cases of a batch run."""

import threading
from contextlib import contextmanager

import numpy as np
import pytest
from numba import cfunc, types

import limber as lb
from limber.dynamics.cores import at_most_cores
from limber.simulation import case_threads
from limber.simulation.table import Table


class Bar:
    def __init__(self):
        self.done = 0

    def show(self, more):
        self.done += more


@contextmanager
def measured(monkeypatch, cost):
    """Cases that take cost(threads) seconds each by the clock; yields the threads that were tried."""
    now, tried, run = [0.0], [], case_threads._run

    def timed(pool, function, waiting, bar, at_once):
        count = run(pool, function, waiting, bar, at_once)
        now[0] += count * cost(at_once)
        tried.append(at_once)
        return count

    with monkeypatch.context() as m:
        m.setattr(case_threads, "_run", timed)
        m.setattr(case_threads.time, "perf_counter", lambda: now[0])
        yield tried


@pytest.mark.parametrize(
    "cost, expected",
    [
        (lambda n: 1.0, [1, 2, 1]),  # all of it holds the lock
        (lambda n: 1.0 + 0.2 * n, [1, 2, 1]),  # and more threads are slower
        (lambda n: max(1.0 / n, 0.3), [1, 2, 4, 8, 4]),
        (lambda n: 1.0 / n, [1, 2, 4, 8, 12, 12]),
    ],
)
def test_cases_in_python_use_as_many_threads_as_are_faster(monkeypatch, cost, expected):
    seen, bar = [], Bar()
    with at_most_cores(12), measured(monkeypatch, cost) as tried:
        monkeypatch.setattr(case_threads, "cores", lambda: 12)
        case_threads.run_cases(seen.append, range(100), bar, True)
    assert tried == expected
    assert sorted(seen) == list(range(100)) and bar.done == 100


@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_few_cases_run_once_each(count):
    for python in (False, True):
        seen, bar = [], Bar()
        case_threads.run_cases(seen.append, range(count), bar, python)
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
