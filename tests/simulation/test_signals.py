"""Torques and the times of a run: nothing that is not finite, of another kind or far from zero passes unseen."""

import ctypes
import warnings

import numba
import numpy as np
import pytest
from numba import types

import limber as lb
from limber.simulation import integration
from limber.simulation.signals import SIGNATURE

POINTER = types.CPointer(types.float64)
METHODS = ["rk4", "rk45", "dop853", "sdirk4", "auto", "DOP853", "Radau"]


def arm(modes=2):
    a = lb.Assembly("arm")
    a.attach("link", lb.beam(1.0, 1.0, EI=50.0, modes=modes), lb.Revolute([0, 1, 0]))
    return a.build()


def options(method):
    return {"method": method, "step": 1e-3} if method == "rk4" else {"method": method}


@pytest.mark.parametrize("method", METHODS)
def test_one_nan_of_a_torque_is_an_error_with_its_time(method):
    """Even one that lasts so short that a step could pass it by."""
    s = arm()
    calls = []

    def torque(t, q, v):
        calls.append(t)
        return np.full(s.nv, np.nan if len(calls) == 40 else 0.01)

    with pytest.raises(lb.LimberError, match="torque was not finite at t = ") as caught:
        lb.simulate(s, 1.0, torque=torque, **options(method))
    assert f"t = {calls[39]:.6g} s" in str(caught.value)
    kept = caught.value.result
    assert np.isfinite(kept.q).all() and np.isfinite(kept.v).all() and np.isfinite(kept.tau).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", [RuntimeError, KeyboardInterrupt])
@pytest.mark.filterwarnings("ignore:the simulation was interrupted")
def test_no_row_is_left_that_was_not_computed(method, kind, tmp_path):
    """A torque that fails at any of its calls leaves rows that are those of an undisturbed run."""
    s = arm()
    times = np.linspace(0.0, 0.3, 61)
    whole = lb.simulate(
        s, 0.3, torque=lambda t, q, v: 0.1 * np.cos(t) - v, t_eval=times, **options(method)
    )
    for fails in [*range(1, 30), 45, 60, 75, 90]:
        calls = []

        def torque(t, q, v, calls=calls, fails=fails):
            calls.append(t)
            if len(calls) == fails:
                raise kind
            return 0.1 * np.cos(t) - v

        saved = {"save": tmp_path / "r.h5"} if method in ("dop853", "sdirk4") else {}
        try:
            kept = lb.simulate(s, 0.3, torque=torque, t_eval=times, **options(method), **saved)
        except RuntimeError as error:
            kept = error.result
        rows = len(kept)
        assert np.array_equal(kept.t, whole.t[:rows])
        assert np.allclose(kept.q, whole.q[:rows], rtol=0, atol=1e-12)
        assert np.allclose(kept.v, whole.v[:rows], rtol=0, atol=1e-10)


def test_an_error_at_the_start_has_a_result():
    def torque(t, q, v):
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken") as caught:
        lb.simulate(arm(), 1.0, torque=torque)
    assert len(caught.value.result) == 0


def test_a_compiled_torque_that_is_not_finite_is_an_error_with_its_time():
    @numba.cfunc(types.void(types.float64, POINTER, POINTER, POINTER))
    def torque(t, q, v, tau):
        tau[0] = np.nan if 0.2 < t < 0.25 else 0.0
        for i in range(1, 5):
            tau[i] = 0.0

    for method in ("rk45", "dop853", "sdirk4"):
        with pytest.raises(
            lb.LimberError, match=r"torque was not finite at t = 0\.2.*v\[0\]"
        ) as caught:
            lb.simulate(arm(), 1.0, torque=torque, method=method, max_step=0.01)
        assert caught.value.result.t[-1] <= 0.25


def test_compiled_torques_of_another_signature_are_refused():
    returns = numba.cfunc(types.float64(types.float64, POINTER, POINTER))(lambda t, q, v: 1.0)
    floats = numba.cfunc(types.void(types.float32, POINTER, POINTER, POINTER))(
        lambda t, q, v, tau: None
    )
    for torque in (returns, floats):
        with pytest.raises(
            lb.LimberError,
            match=r"torque is a compiled function with the signature .*writes its result",
        ):
            lb.simulate(arm(), 0.1, torque=torque)
    undeclared = ctypes.CDLL(None).cos
    with pytest.raises(lb.LimberError, match="argtypes None"):
        lb.simulate(arm(), 0.1, torque=undeclared)
    with pytest.raises(lb.LimberError, match="NULL pointer"):
        lb.simulate(arm(), 0.1, torque=SIGNATURE(0))


def test_masked_torques_are_refused():
    s = arm()
    masked = np.ma.masked_array(np.full(s.nv, 5.0), mask=[True] + [False] * (s.nv - 1))
    with pytest.raises(lb.LimberError, match="masked"):
        lb.simulate(s, 0.1, torque=lambda t, q, v: masked)


@pytest.mark.parametrize("method", METHODS)
def test_the_motion_does_not_depend_on_where_time_starts(method):
    s = arm()
    late = 1.7e9

    def torque(start):
        return lambda t, q, v: 0.1 * np.sin(2.0 * (t - start)) - 0.1 * v

    ends = [
        lb.simulate(
            s,
            start + 0.25,
            t0=start,
            torque=torque(start),
            rtol=1e-6,
            atol=1e-8,
            **options(method),
        )
        for start in (0.0, late)
    ]
    # A double around 1.7e9 is exact to 2.4e-7 s, which is all that the torque sees of the time: to tighter
    # tolerances of the steps its jumps are errors, and steps become as short as they are.
    assert np.allclose(ends[1].q[-1], ends[0].q[-1], rtol=0, atol=1e-8)
    assert np.allclose(ends[1].t - late, ends[0].t, rtol=0, atol=5e-7)


def test_ten_microseconds_late_in_time_are_ten_microseconds():
    s = arm()
    for method in ("rk45", "dop853", "sdirk4", "auto"):
        end = 1.7e9 + 1e-5
        r = lb.simulate(s, end, t0=1.7e9, v0=np.eye(s.nv)[-1], t_eval=[end], method=method)
        assert r.q[0, -1] == pytest.approx(end - 1.7e9, rel=1e-6)


def test_tables_and_events_late_in_time():
    a = lb.Assembly("m")
    a.attach("m", lb.RigidBody(1.0), lb.Prismatic([1, 0, 0]))
    s, late = a.build(), 1.7e9
    table = lb.Table(late + np.array([0.0, 1.0, 2.0]), [[0.0], [1.0], [1.0]])
    half = lb.Event(lambda t, q, v: q[0] - 1 / 6, name="half")
    r = lb.simulate(
        s, late + 2.0, t0=late, torque=table, events=[half, lb.Event(late + 1.5, name="timed")]
    )
    assert r.q[-1, 0] == pytest.approx(1 / 6 + 0.5 + 0.5, abs=1e-6)
    assert [e.name for e in r.events] == ["half", "timed"]
    assert r.events[0].t - late == pytest.approx(1.0, abs=1e-6)


def test_max_step_holds_for_fixed_steps_too():
    r = lb.simulate(arm(), 1.0, method="rk4", step=0.1, max_step=0.01)
    assert r.statistics.steps >= 100


def test_leaving_linear_theory_is_warned_of():
    s = arm(modes=1)
    lowest = np.sqrt(s.bodies["link"].stiffness[0, 0])
    slow, fast = 0.19 * lowest * np.eye(s.nv)[-1], 0.3 * lowest * np.eye(s.nv)[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.simulate(s, 0.01, v0=slow)
    with pytest.warns(lb.TheoryWarning, match="body 'link' turns at .* are about 5 % too low"):
        lb.simulate(s, 0.01, v0=fast)
    with pytest.warns(lb.TheoryWarning, match="body 'link' turns at .* may diverge"):
        lb.simulate(s, 0.001, v0=4.0 * fast)
    bent = 0.4 / np.abs(s.bodies["link"].nodes.rotation[:, :, 0]).max()
    with pytest.warns(lb.TheoryWarning, match="node 'tip' turns by 0.4 rad at t = 0 s"):
        lb.simulate(s, 0.01, q0=bent * np.eye(s.nq)[0])


@pytest.mark.filterwarnings("ignore:the simulation was interrupted")
@pytest.mark.parametrize("method", ["dop853", "sdirk4", "rk4"])
def test_an_interrupt_between_callbacks_spoils_no_row(method):
    """Where Python raises as a callback begins, ctypes passes over it and the torque is not written."""
    s = arm()
    times = np.linspace(0.0, 0.3, 61)

    def law(t, v):
        return 0.1 * np.cos(t) - 5.0 * v

    whole = lb.simulate(s, 0.3, torque=lambda t, q, v: law(t, v), t_eval=times, **options(method))
    for passed_over in (5, 20, 33, 50):
        calls = []

        @SIGNATURE
        def torque(t, q, v, tau, calls=calls, passed_over=passed_over):
            calls.append(t)
            if len(calls) == passed_over:
                raise KeyboardInterrupt
            speeds = np.frombuffer((ctypes.c_double * s.nv).from_address(v))
            np.frombuffer((ctypes.c_double * s.nv).from_address(tau))[:] = law(t, speeds)

        kept = lb.simulate(s, 0.3, torque=torque, t_eval=times, **options(method))
        assert kept.message.startswith("interrupted") and len(kept) < len(whole)
        assert np.allclose(kept.q, whole.q[: len(kept)], rtol=0, atol=1e-12)


def test_an_interrupt_at_the_very_end_has_the_result(monkeypatch):
    def interrupted(result):
        raise KeyboardInterrupt

    monkeypatch.setattr(integration, "warn_of_doubts", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        lb.simulate(arm(), 0.1)
    assert len(caught.value.result) == 501


def test_slices_and_nodes_of_results_are_refused_in_words():
    r = lb.simulate(arm(), 0.01)
    for rows in (slice("a", "b"), slice(1.5, None), slice(None, None, 0)):
        with pytest.raises(lb.LimberError, match="a slice of rows must be of whole numbers"):
            r[rows]
    with pytest.raises(lb.LimberError, match="node must be a node of body 'link'"):
        r.deflection("link", None)
    with pytest.raises(lb.LimberError, match="smooth must be True or False"):
        lb.Table([0, 1], [[0.0], [1.0]], smooth="no")
    with pytest.raises(lb.LimberError, match="progress must be True, False or None"):
        lb.simulate(arm(), 0.01, progress="no")
    with pytest.raises(lb.LimberError, match="engine="):
        lb.simulate(arm(), 0.01, engine=np.array(["general", "x"]))
