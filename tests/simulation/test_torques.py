"""Torques of every kind give the same motion where they mean the same."""

import gc
import signal
import sys

import numba
import numpy as np
import pytest

import limber as lb
from helpers.motions import moving, spacecraft
from limber.simulation.signals import SIGNATURE


@pytest.fixture(scope="module")
def s():
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    a.attach("link", lb.beam(1.0, 2.0, EI=(80.0, 120.0), modes=1), lb.Revolute([0, 1, 0]))
    a.attach("load", lb.RigidBody(1.0), lb.Prismatic([1, 0, 0]), to="link", at="tip")
    return a.build()


def joints(s):
    return [s.layout[b].v_joint.start for b in ("link", "load")]


OPTIONS = {"method": "dop853", "rtol": 1e-10, "atol": 1e-11, "every": 0.05}


def test_constant_table_and_callable_are_one(s):
    tau = np.zeros(s.nv)
    tau[joints(s)] = 3.0, 9.0
    constant = lb.simulate(s, 0.5, torque=tau, **OPTIONS)
    assert (constant.tau == tau).all()
    short = lb.simulate(s, 0.5, torque=[3.0, 9.0], **OPTIONS)
    table = lb.simulate(s, 0.5, torque=lb.Table([0.0], [[3.0, 9.0]]), **OPTIONS)
    called = lb.simulate(s, 0.5, torque=lambda t, q, v: tau, **OPTIONS)
    for r in (short, table, called):
        assert np.abs(r.q - constant.q).max() < 1e-12
        assert np.allclose(r.tau, constant.tau, rtol=0, atol=1e-14)


def test_compiled_torque_functions_give_the_motion_of_python_ones(s):
    nq, nv = s.nq, s.nv
    a, b = joints(s)

    @numba.cfunc("void(float64, CPointer(float64), CPointer(float64), CPointer(float64))")
    def compiled(t, q, v, tau):
        for i in range(nv):
            tau[i] = -0.2 * v[i]
        tau[a] += 3.0 * np.sin(t)
        tau[b] += 9.0

    def python(t, q, v):
        assert q.shape == (nq,) and v.shape == (nv,)
        tau = -0.2 * v
        tau[a] += 3.0 * np.sin(t)
        tau[b] += 9.0
        return tau

    x, y = (lb.simulate(s, 0.5, torque=f, **OPTIONS) for f in (compiled, python))
    assert np.abs(x.q - y.q).max() < 1e-12
    assert np.allclose(x.tau, [python(t, q, v) for t, q, v in zip(x.t, x.q, x.v)], atol=1e-12)


@pytest.mark.parametrize("smooth", [False, True])
def test_tables_are_lines_or_splines(s, smooth):
    from scipy.interpolate import CubicSpline

    t = np.linspace(0.0, 0.4, 9)
    rows = np.column_stack([np.sin(9 * t), 9 + np.cos(7 * t)])
    r = lb.simulate(s, 0.5, torque=lb.Table(t, rows, smooth=smooth), **OPTIONS)
    at = np.minimum(r.t, 0.4)
    if smooth:
        expected = CubicSpline(t, rows)(at)
    else:
        expected = np.column_stack([np.interp(at, t, x) for x in rows.T])
    assert np.allclose(r.tau[:, joints(s)], expected, rtol=0, atol=1e-12)


def test_sampled_controller_is_called_at_its_times_and_held(s):
    class Controller:
        sample_time = 0.02

        def __init__(self):
            self.times = []

        def __call__(self, t, q, v):
            self.times.append(t)
            tau = np.zeros(s.nv)
            tau[joints(s)] = -3 * v[joints(s)]
            return tau

    c = Controller()
    r = lb.simulate(s, 0.5, torque=c, method="dop853", rtol=1e-9, atol=1e-10, every=0.005)
    assert np.allclose(c.times[:25], 0.02 * np.arange(25), atol=1e-12)
    held = r.tau[(r.t > 0.1 + 1e-9) & (r.t < 0.12 - 1e-9)]
    assert len(held) == 3 and (held == held[0]).all()


def test_error_in_a_torque_function_is_raised_as_it_is_with_the_result_so_far(s):
    def broken(t, q, v):
        if t > 0.4:
            raise ZeroDivisionError("no sensor")
        return np.zeros(s.nv)

    with pytest.raises(ZeroDivisionError, match="no sensor") as caught:
        lb.simulate(s, 0.5, torque=broken, max_step=0.01)
    assert 0.3 < caught.value.result.t[-1] <= 0.4


def test_torque_of_wrong_size(s):
    with pytest.raises(lb.LimberError, match="must return 4 numbers"):
        lb.simulate(s, 0.5, torque=lambda t, q, v: np.zeros(s.nv + 1))
    for bad in (np.zeros(s.nv + 1), lb.Table([0.0], np.zeros((1, 17))), "full", [np.nan] * s.nv):
        with pytest.raises(lb.LimberError, match="torque"):
            lb.simulate(s, 0.5, torque=bad)


def test_functions_that_cannot_be_called_are_refused_before_the_run(s):
    with pytest.raises(
        TypeError, match=r"torque is called with .t, q, v., but its signature is .t, q."
    ):
        lb.simulate(s, 0.5, torque=lambda t, q: q)
    with pytest.raises(TypeError, match="the function of an Event is called with"):
        lb.Event(lambda q: q[0])
    with pytest.raises(TypeError, match="the action of an Event is called with"):
        lb.Event(0.1, lambda: "stop")
    calls = []
    lb.simulate(s, 0.1, torque=lambda *state: calls.append(state) or np.zeros(s.nv))
    assert calls


def test_nan_torque_stops_with_the_time_and_the_result_so_far(s):
    with pytest.raises(lb.LimberError, match=r"torque was not finite at t = 0\.2") as caught:
        lb.simulate(
            s, 0.5, torque=lambda t, q, v: np.full(s.nv, np.nan if t > 0.2 else 0.0), every=0.01
        )
    kept = caught.value.result
    assert 0.15 < kept.t[-1] <= 0.2 and np.isfinite(kept.q).all()


@pytest.mark.parametrize("method", ["dop853", "sdirk4", "RK45"])
def test_an_interrupt_that_ctypes_passes_over_is_heard(s, method):
    """Python raises nothing out of a callback: an engine goes on to the end of its stretch, then stops."""
    before = sys.unraisablehook

    @SIGNATURE
    def torque(t, q, v, tau):
        if t > 0.2:
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match="interrupted at t = "):
        r = lb.simulate(s, 1e4, torque=torque, method=method, max_step=0.01, every=0.1)
    assert 0.1 <= r.t[-1] < 5e3 and r.message.startswith("interrupted")
    assert sys.unraisablehook is before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("method", ["auto", "rk45", "RK45", "LSODA"])
def test_an_interrupt_at_any_moment_ends_a_run(s, method):
    def interrupt(number, frame):
        raise KeyboardInterrupt

    set_off = False

    def torque(t, q, v):
        nonlocal set_off
        if t > 0.1 and not set_off:  # well within the run, however slow the machine
            set_off = True
            signal.setitimer(signal.ITIMER_REAL, 0.1)
        return -0.1 * v

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.warns(UserWarning, match="interrupted"):
            r = lb.simulate(s, 1e4, torque=torque, every=0.01, method=method)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert 0 < len(r) < 1_000_000


class Late(Exception):
    """What the handler of a signal may raise."""


@pytest.mark.parametrize("method", ["dop853", "sdirk4", "RK45"])
@pytest.mark.parametrize("kind", [Late, SystemExit])
def test_an_exception_that_ctypes_passes_over_ends_the_run_with_its_result(s, method, kind):
    before = sys.unraisablehook

    @SIGNATURE
    def torque(t, q, v, tau):
        if t > 0.2:
            raise kind("asked to end")

    with pytest.raises(kind, match="asked to end") as caught:
        lb.simulate(s, 1e4, torque=torque, method=method, max_step=0.01, every=0.1)
    assert 0.1 <= caught.value.result.t[-1] < 5e3
    assert sys.unraisablehook is before


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("kind", [Late, SystemExit])
def test_an_exception_of_a_signal_handler_is_never_lost(s, kind):
    raised = 0

    def handler(number, frame):
        nonlocal raised
        raised += 1
        raise kind

    rng, zero = np.random.default_rng(0), np.zeros(s.nv)
    # finalizers of what other tests have left would pass over the exception, and so would hypothesis's watch on collections
    gc.collect()
    watches = gc.callbacks[:]
    gc.callbacks.clear()
    before, heard = signal.signal(signal.SIGALRM, handler), 0
    try:
        for _ in range(30):
            try:
                signal.setitimer(signal.ITIMER_REAL, float(rng.uniform(1e-3, 1e-2)))
                lb.simulate(s, 1e4, torque=lambda t, q, v: zero, method="rk4", step=1e-3, every=1e2)
            except kind:
                heard += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        gc.callbacks.extend(watches)
    assert raised == heard == 30


def test_errors_of_finalizers_during_a_run_are_reported_and_do_not_end_it(s):
    reported, before = [], sys.unraisablehook

    class Broken:
        def __del__(self):
            raise ValueError("of a finalizer")

    def torque(t, q, v):
        Broken()
        return np.zeros(s.nv)

    sys.unraisablehook = reported.append
    try:
        r = lb.simulate(s, 0.1, torque=torque)
    finally:
        sys.unraisablehook = before
    assert r.message == "reached t_end" and reported


def test_torques_and_events_see_unit_quaternions():
    """So that they can ask limber for poses."""
    s = spacecraft()
    q, v = moving(s)

    def torque(t, q, v):
        R, _ = lb.pose(s, q, "hub")
        tau = np.zeros(s.nv)
        at = s.layout["hub"].v_joint.start
        tau[at + 3 : at + 6] = R.T @ np.array([0.0, 0.0, 1.0])
        return tau

    event = lb.Event(lambda t, q, v: lb.pose(s, q, "ball")[1][2] - 1e3)
    options = {"q0": q, "v0": v, "t_eval": [1.0]}
    fine = lb.simulate(s, 1.0, torque=torque, method="Radau", rtol=1e-7, atol=1e-9, **options)
    for method in ("rk45", "dop853", "sdirk4"):
        r = lb.simulate(
            s, 1.0, torque=torque, events=event, method=method, rtol=1e-3, atol=1e-3, **options
        )
        assert np.abs(r.q - fine.q).max() < 0.02, method


class Feedforward:
    """Computed torque along a path of corners."""

    def __init__(self, s, path, breaks):
        self.s, self.path, self.breaks = s, path, breaks

    def __call__(self, t, q, v):
        position, velocity, acceleration = self.path(t)
        wanted = acceleration + 25.0 * (position - q) + 10.0 * (velocity - v)
        return lb.inverse_dynamics(self.s, q, v, wanted)


@pytest.mark.parametrize("method", ["rk45", "dop853", "sdirk4"])
def test_no_step_looks_across_the_breaks_of_a_torque(method):
    s = lb.models.canadarm(modes=0).build()
    path = lb.trajectories.Trapezoid(np.zeros(3), [0.8, -0.5, 0.4], 0.2, 0.1)
    options = {"method": method, "rtol": 1e-9, "atol": 1e-11}
    told = lb.simulate(s, 8.0, torque=Feedforward(s, path, path.breaks), **options)
    assert told.statistics.rejected <= 5
    assert np.abs(told.q - path(told.t).position).max() < 1e-10
    untold = lb.simulate(s, 8.0, torque=Feedforward(s, path, None), **options)
    assert untold.statistics.rejected > 20 * max(told.statistics.rejected, 1)


def test_a_jump_of_a_table_costs_no_steps(s):
    t = np.array([0.0, 0.2, np.nextafter(0.2, 1.0), 0.5])
    tau = np.array([[0.0, 0.0], [5.0, 2.0], [-5.0, 4.0], [1.0, -3.0]])
    jumps = lb.simulate(s, 0.5, torque=lb.Table(t, tau), **OPTIONS)
    smooth = lb.simulate(s, 0.5, torque=lb.Table(t[[0, 1, 3]], tau[[0, 1, 3]]), **OPTIONS)
    assert jumps.statistics.rejected <= smooth.statistics.rejected + 2


def test_bad_breaks_are_refused(s):
    class Torque:
        breaks = [0.1, np.nan]

        def __call__(self, t, q, v):
            return np.zeros(s.nv)

    with pytest.raises(lb.LimberError, match=r"torque.breaks\[1\] is nan"):
        lb.simulate(s, 0.1, torque=Torque())


@pytest.mark.parametrize("method", ["auto", "dop853", "rk45", "sdirk4"])
def test_no_step_looks_across_a_pulse(rotor, method):
    """An impulse of 1 N m s within 10 ms, after 5 s of nothing."""
    pulse = lb.Table([0, 5, 5 + 1e-9, 5.01, 5.01 + 1e-9, 10], [[0], [0], [100], [100], [0], [0]])
    r = lb.simulate(rotor, 10, torque=pulse, method=method)
    assert r.v[-1, 0] == pytest.approx(1.0, abs=1e-6)
    triangle = lb.Table([0, 5, 5.1, 5.2], [[0], [0], [10], [0]])
    assert lb.simulate(rotor, 10, torque=triangle, method=method).v[-1, 0] == pytest.approx(
        1.0, abs=1e-9
    )


def test_a_finely_sampled_table_is_not_cut_to_pieces(rotor):
    t = np.linspace(0, 10, 20_001)
    r = lb.simulate(rotor, 10, torque=lb.Table(t, np.sin(t)[:, None]), method="dop853")
    assert r.statistics.steps < 500


def test_a_controller_is_called_once_at_each_sample(rotor):
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
        ends.append(lb.simulate(rotor, 1.0, torque=c, **options).v[-1, 0])
        assert np.allclose(c.times, 0.1 * np.arange(10))
    assert ends == pytest.approx([5.5] * 3)


def test_torque_functions_must_return_finite_numbers_for_all_speeds_or_all_joints():
    a = lb.Assembly("beam")
    a.attach("a", lb.beam(1.0, 1.0, EI=10.0, modes=1), lb.Revolute([0, 0, 1]))
    s = a.build()
    # numbers for the joints alone, as in a constant [1.0]
    r = lb.simulate(s, 0.1, torque=lambda t, q, v: np.ones(1))
    assert r.tau[-1].tolist() == [0.0, 0.0, 1.0]
    for bad in (np.zeros(2), None, 1j * np.zeros(3)):
        with pytest.raises(lb.LimberError, match="must return 3 numbers"):
            lb.simulate(s, 0.1, torque=lambda t, q, v, bad=bad: bad)
    with pytest.raises(
        lb.LimberError, match=r"torque was not finite at t = 0\.0.*mode 2 of body 'a'"
    ):
        lb.simulate(s, 0.1, torque=lambda t, q, v: np.where(t > 0.05, [0, np.nan, 0], 0.0))


def test_an_object_with_an_address_is_still_a_function(rotor):
    class Bus:
        address = 502

        def __call__(self, t, q, v):
            return np.ones(1)

    assert lb.simulate(rotor, 1.0, torque=Bus()).v[-1, 0] == pytest.approx(1.0)


def test_torques_above_the_effort_limit_of_a_joint_are_told():
    a = lb.Assembly("arm")
    for name, limit, to in (
        ("upper", 2.0, "world"),
        ("fore", 3.0, "upper"),
        ("hand", np.inf, "fore"),
    ):
        link = lb.RigidBody(1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
        a.attach(name, link, lb.Revolute("z", effort_limit=limit), to)
    s = a.build()
    table = lb.Table([0.0, 1.0], [[0.0, 0.0, 0.0], [3.0, -9.0, 50.0]])
    told = r"joint 'fore' gives 9 .* at t = 1 s, 3 times its effort_limit of 3.* applies to 'upper'"
    with pytest.warns(lb.ModelWarning, match=told):
        lb.simulate(s, 1.0, torque=table, every=0.1)
    lb.simulate(s, 1.0, torque=[2.0, -3.0, 50.0])  # at the limits, not above
    with pytest.warns(lb.ModelWarning, match=r"joint 'upper' .* effort_limit"):
        lb.simulate(s, 0.2, motion={"upper": lb.trajectories.Quintic(0.0, 1.0, 0.2)}, every=0.01)
