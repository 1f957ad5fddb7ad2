"""The solvers of other libraries: the same motions, and what they keep when they cannot go on."""

import sys

import numpy as np
import pytest

import limber as lb
from helpers.motions import arm, distance, moving, spacecraft
from limber.errors import SimulationError
from limber.simulation.forces import forces_of
from limber.simulation.peers import SCIPY, SUNDIALS, EquationsOfMotion
from limber.simulation.progress import Progress


def peer(name):
    """A solver's name; its tests are skipped where its library is missing."""
    if name in SUNDIALS:
        pytest.importorskip("sksundae", reason="scikit-sundae is not installed (extra sundials)")
    return name


@pytest.fixture(params=[*SCIPY, *SUNDIALS])
def method(request):
    return peer(request.param)


@pytest.fixture(scope="module")
def slider():
    a = lb.Assembly("slider")
    a.attach("b", lb.RigidBody(1.0), lb.Prismatic([0, 0, 1]))
    return a.build()


@pytest.mark.parametrize("make", [arm, spacecraft])
@pytest.mark.parametrize("name", SUNDIALS)
def test_sundials_agrees_with_the_engine(make, name):
    s = make()
    q, v = moving(s)
    times = np.linspace(0, 0.5, 11)
    r = lb.simulate(s, 0.5, q0=q, v0=v, t_eval=times, method=peer(name), rtol=1e-8, atol=1e-9)
    own = lb.simulate(s, 0.5, q0=q, v0=v, t_eval=times, method="dop853", rtol=1e-11, atol=1e-12)
    assert distance(s, r.q, own.q) < 1e-6
    assert np.abs(r.v - own.v).max() < 1e-4
    assert 0 < r.statistics.steps < r.statistics.evaluations


def test_ida_solves_a_ruthless_system():
    a = lb.Assembly("ruthless", gravity=(0, 0, -9.81))
    a.attach("link", lb.beam(1.0, 2.0, EI=80.0, modes=2, damping=0.01), lb.Revolute([0, 1, 0]))
    s = a.build(fidelity="ruthless")
    torque = lb.Table([0.0, 1.0], [[0.0], [5.0]])
    options = {"torque": torque, "every": 0.1, "rtol": 1e-8, "atol": 1e-9}
    r = lb.simulate(s, 1.0, method=peer("ida"), **options)
    assert np.abs(r.q - lb.simulate(s, 1.0, method="dop853", **options).q).max() < 1e-6


def test_ida_needs_no_forward_dynamics_on_the_way(slider, monkeypatch):
    calls = []
    forward = lb.forward_dynamics

    def counted(*arguments, **options):
        calls.append(arguments)
        return forward(*arguments, **options)

    monkeypatch.setattr("limber.simulation.peers.forward_dynamics", counted)
    r = lb.simulate(slider, 1.0, torque=[1.0], method=peer("ida"))
    assert len(calls) == 1  # the rates at the start
    assert r.q[-1, 0] == pytest.approx(0.5, abs=1e-5)


def test_residual_is_zero_for_rates_and_nowhere_else():
    """Both forms have the same solution, at quaternions of any length, and no direction is left open."""
    s = spacecraft()
    q, v = moving(s)
    motion = EquationsOfMotion(s, forces_of(s, np.linspace(-1.0, 1.0, s.nv), None), 0.0)
    y = np.concatenate(
        [1.3 * q, v]
    )  # the coordinates of the joints and modes as well: any state will do
    rates = motion.rates(0.0, y)
    assert np.abs(motion.residual(0.0, y, rates)).max() < 1e-9
    base = motion.residual(0.0, y, np.zeros_like(y))
    columns = [motion.residual(0.0, y, e) - base for e in np.eye(len(y))]
    assert np.linalg.cond(np.array(columns)) < 1e4
    for at in motion._quaternions:
        assert abs(y[at] @ rates[at]) < 1e-14  # lengths stay


@pytest.mark.parametrize("name", ["RK45", "BDF", *SUNDIALS])
def test_first_and_largest_step(slider, name):
    free = lb.simulate(slider, 1.0, v0=[1.0], method=peer(name))
    short = lb.simulate(slider, 1.0, v0=[1.0], method=name, step=1e-3, max_step=0.01)
    assert free.statistics.steps < 50 < 100 <= short.statistics.steps < 200
    assert short.q[-1, 0] == pytest.approx(1.0, abs=1e-5)
    assert len(lb.simulate(slider, 1.0, v0=[1.0], method=name, step=10.0)) == 501


def test_any_times_may_be_asked_for(slider, method):
    for times in ([], [0.0], [0.25, 0.25, 0.25000001], [0.0, 0.0, 1.0, 1.0]):
        r = lb.simulate(slider, 1.0, v0=[1.0], t_eval=times, method=method)
        assert r.t.tolist() == times and np.allclose(r.q[:, 0], times, atol=1e-6)
        assert r.message == "reached t_end"
        assert r.q.shape == r.v.shape == r.tau.shape == (len(times), 1)


def test_error_in_a_torque_carries_the_result_so_far(slider, method):
    def broken(t, q, v):
        if t > 0.5:
            raise OSError("bus")
        return np.zeros(1)

    with pytest.raises(OSError, match="bus") as caught:
        lb.simulate(slider, 1.0, v0=[1.0], torque=broken, max_step=0.01, method=method)
    kept = caught.value.result
    assert 0.4 < kept.t[-1] <= 0.5 and np.allclose(kept.q[:, 0], kept.t, atol=1e-6)
    assert kept.tau.shape == (len(kept), 1) and np.isfinite(kept.tau).all()
    with pytest.raises(ZeroDivisionError) as caught:
        lb.simulate(slider, 1.0, torque=lambda t, q, v: [1 / 0], method=method)
    assert len(caught.value.result) == 0


def test_nan_torque_carries_the_result_so_far(slider, method):
    torque = lambda t, q, v: np.full(1, np.nan if t > 0.5 else 0.0)  # noqa: E731
    with pytest.raises(
        SimulationError, match=r"torque was not finite at t = 0\.5.*body 'b'"
    ) as caught:
        lb.simulate(slider, 1.0, v0=[1.0], torque=torque, max_step=0.01, method=method)
    assert 0.4 < caught.value.result.t[-1] <= 0.5


def test_diverging_motion_carries_the_result_so_far(slider, method):
    """q'' = 50 q^3 is infinite soon after 0.37 s."""

    def cubed(t, q, v):
        with np.errstate(over="ignore"):
            return 50 * q**3

    with np.errstate(all="ignore"), pytest.raises(SimulationError) as caught:
        lb.simulate(slider, 10.0, q0=[1.0], torque=cubed, every=0.01, method=method)
    kept = caught.value.result
    assert 0.2 < kept.t[-1] < 0.5 and np.isfinite(kept.q).all()
    assert kept.message == str(caught.value)


def test_interrupted_run_returns_what_it_has(slider, method):
    def stop(t, q, v):
        if t > 0.5:
            raise KeyboardInterrupt
        return [0.0]

    with pytest.warns(UserWarning, match=r"interrupted at t = 0\.") as caught:
        r = lb.simulate(slider, 1.0, v0=[1.0], torque=stop, max_step=0.01, method=method)
    assert caught[0].filename == __file__
    assert 0.4 < r.t[-1] <= 0.5 and r.message.startswith("interrupted at t = 0.")
    assert r.statistics.steps > 0


def test_progress_is_shown(slider, method, monkeypatch):
    times = []
    monkeypatch.setattr(Progress, "show", lambda bar, run: times.append(run.t))
    r = lb.simulate(slider, 1.0, v0=[1.0], method=method, progress=True)
    assert (
        len(times) == r.statistics.steps and np.diff([0.0, *times]).min() > 0.0 and times[-1] == 1.0
    )


def test_what_peers_do_not_take_is_refused(slider):
    class Sampled:
        sample_time = 0.1

        def __call__(self, t, q, v):
            return [0.0]

    with pytest.raises(lb.LimberError, match="sample_time"):
        lb.simulate(slider, 1.0, torque=Sampled(), method="RK45")
    with pytest.raises(lb.LimberError, match="does not support events"):
        lb.simulate(slider, 1.0, events=lb.Event(0.5), method="Radau")


def test_missing_library_is_named(slider, monkeypatch):
    for name in SUNDIALS:
        monkeypatch.setitem(sys.modules, f"sksundae.{name}", None)
        with pytest.raises(lb.LimberError, match=rf"method='{name}' needs scikit-sundae: pip"):
            lb.simulate(slider, 1.0, method=name)
