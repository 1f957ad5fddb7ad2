"""Observers under gravity: about which configuration they work, what they record, and the margins of filter and gains."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import limber as lb
from limber.control import LQR, ActiveDamping, ComputedTorque, Encoder, Kalman, Loop, margins, nis
from limber.control.filter_readings import FilterSensor

TIMES = {"sample_time": 0.002}


@pytest.fixture(scope="module")
def s():
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    link = lb.beam(1.0, 2.0, EI=100.0, modes={"y": 1}, damping=0.02)
    a.attach("link", link, lb.Revolute("z", armature=0.5))
    a.attach("load", lb.RigidBody(1.0, inertia=[0.01] * 3), lb.Fixed(), "link", "tip")
    return a.build()


@pytest.fixture(scope="module")
def q(s):
    """The arm at rest, its joint at 0.5 rad."""
    return lb.equilibrium(s, [0.0, 0.5], locked=["link"])


def loop(s, controller, **options):
    return Loop(s, controller, sensors=[Encoder(rate=500.0, noise=1e-5)], seed=1, **options)


@pytest.mark.parametrize("kind", ["lqr", "computed torque", "active damping"])
def test_a_filter_works_about_the_point_of_its_controller(s, q, kind):
    kalman = Kalman(0.05)
    if kind == "lqr":
        c = LQR([1.0, 100.0, 1.0, 1.0], 0.05, about=q, observer=kalman, **TIMES)
    elif kind == "computed torque":
        c = ComputedTorque(100.0, 20.0, model="flexible", reference=[0.5], observer=kalman, **TIMES)
    else:
        c = ActiveDamping(
            200.0,
            20.0,
            damping=0.5,
            about=q,
            reference=[0.5],
            gravity=True,
            observer=kalman,
            **TIMES,
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error", lb.ModelWarning)
        r = lb.simulate(s, 1.0, q0=q, torque=loop(s, c), every=0.1)
    if kind != "active damping":  # its gravity torque is that of undeformed links
        assert abs(r.joint("link")[-1] - 0.5) < 2e-4
    error = r.signals["estimate"].y[-1] - np.append(r.q[-1], r.v[-1])
    assert (np.abs(error) < 4.0 * np.sqrt(np.diag(kalman.covariance))).all()


def test_a_filter_says_where_modes_are_not_in_balance(s, q):
    c = LQR(1.0, 0.05, about=q, observer=Kalman(0.05, q=[0.0, 0.5]), **TIMES)
    with pytest.warns(lb.ModelWarning, match="modes of 'link' are not in balance"):
        loop(s, c)


def held(s, q):
    """The arm about its equilibrium, from the torque to the whole state, and the torque that holds it."""
    hold = lb.inverse_dynamics(s, q, np.zeros(2), np.zeros(2))
    return lb.linearize(s, q, np.zeros(2), hold, inputs=["link"]), hold[1]


def test_margins_are_those_of_filter_and_gains_together(s, q):
    plant, _ = held(s, q)
    kalman = Kalman(0.05)
    c = LQR([1.0, 100.0, 1.0, 1.0], 0.05, about=q, observer=kalman, **TIMES)
    Loop(s, c, sensors=[Encoder(rate=500.0, counts=2**14)])
    with pytest.raises(lb.LimberError, match=r"kalman\.seen\(plant\)"):
        margins(plant, c)
    assert margins(kalman.seen(plant), c).loops[0].gain_up == pytest.approx(16.75, abs=0.01)
    gains = LQR([1.0, 100.0, 1.0, 1.0], 0.05, about=q, **TIMES)
    Loop(s, gains)
    assert margins(plant, gains).loops[0].gain_up == pytest.approx(67.33, abs=0.01)


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.002, 0.005])
def test_filter_and_gains_are_the_linear_model_that_margins_have(s, q, delay):
    """In a run, the commands follow from the readings by this model, once the gains of the filter have settled."""
    c = LQR([1.0, 100.0, 1.0, 1.0], 0.05, about=q, observer=Kalman(0.05), delay=delay, **TIMES)
    r = lb.simulate(s, 4.0, q0=q, torque=loop(s, c, delay=delay), every=1.0)
    K, (_, torque) = c.linear(), held(s, q)
    x, expected = np.zeros(K.order), []
    for y in r.signals["encoder"].y - q[1]:
        expected.append((K.C @ x + K.D @ y)[0])
        x = K.A @ x + K.B @ y
    error = r.signals["command"].y[:, 1] - torque - expected
    assert np.abs(error[-100:]).max() < 1e-5 * np.abs(expected[-100:]).max()


def test_a_filter_without_fixed_gains_has_no_margins(s, q):
    c = LQR(1.0, 0.05, about=q, observer=Kalman(0.05), **TIMES)
    Loop(s, c, sensors=[Encoder(rate=700.0, noise=1e-5)], seed=1)
    with pytest.raises(
        lb.LimberError, match=r"'encoder' is not read at every sample .* a whole multiple"
    ):
        c.linear()
    Loop(s, c, sensors=[Encoder(rate=0.5 / TIMES["sample_time"], noise=1e-5)], seed=1)
    with pytest.raises(
        lb.LimberError, match=r"the rate of the controller and 1\.41 times the noise"
    ):
        c.linear()


def test_a_filter_that_lost_the_plant_says_so_once_and_leaves_readings_out(s, q):
    """A covariance that rounding has spoiled, as that of an estimate far off does, is not used, and no error."""
    kalman = Kalman(0.05, extended=True)
    pd = ComputedTorque(100.0, 20.0, model="flexible", reference=[0.5], observer=kalman, **TIMES)
    update, samples = kalman.update, []

    def spoiled(t, measured):
        samples.append(t)
        if len(samples) == 3:
            kalman._estimate.P[:] = -np.eye(len(kalman._estimate.P))
        return update(t, measured)

    kalman.update = spoiled
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", lb.ModelWarning)
        r = lb.simulate(s, 0.05, q0=q, torque=loop(s, pd), every=0.002)
    told = [str(w.message) for w in found if "lost the plant at t = " in str(w.message)]
    assert len(told) == 1 and "sensor 'encoder'" in told[0] and "disturbance=" in told[0]
    innovation = r.signals["innovation encoder"].y[:, 0]
    assert np.isfinite(innovation[:2]).all() and np.isnan(innovation[2])
    assert np.isfinite(r.signals["estimate"].y).all()


@pytest.mark.parametrize("extended", [False, True])
def test_a_filter_knows_when_late_commands_took_effect(s, q, extended):
    """The innovations of an arm on its way to q are as small with a delay of 0.9 samples as with one of a whole sample."""

    def innovations(delay):
        kalman = Kalman(0.02, extended=extended)
        c = LQR([1.0, 100.0, 1.0, 1.0], 0.05, about=q, observer=kalman, sample_time=0.01)
        sensors = [Encoder(rate=100.0, noise=1e-5)]
        late = Loop(s, c, sensors=sensors, seed=1, delay=delay, initial=[held(s, q)[1]])
        r = lb.simulate(s, 0.6, q0=q + np.array([0.0, 0.2]), torque=late, every=0.1)
        return nis(r.signals["innovation encoder"].y[10:]).mean()

    assert innovations(0.009) < 1.5 * innovations(0.01)


def test_a_filter_counts_with_servos_of_any_name(s, q):
    """The filter knows which joint a servo drives; a name of its own must not make it forget the torque."""
    found = []
    for name in (None, "shoulder motor"):
        c = LQR([1.0, 100.0, 1.0, 1.0], 0.05, about=q, observer=Kalman(0.05), **TIMES)
        held = loop(s, c, actuators=[lb.control.Servo("link", name)])
        found.append(lb.simulate(s, 0.2, q0=q, torque=held, every=0.1).signals["estimate"].y)
    assert np.array_equal(*found)


def test_signals_of_a_filter_name_what_they_estimate(s, q):
    c = LQR(1.0, 0.1, about=q, observer=Kalman(0.1), **TIMES)
    loop = Loop(s, c, sensors=[Encoder(rate=500.0, noise=1e-4)], seed=1)
    signals = lb.simulate(s, 0.02, q0=q, torque=loop).signals
    names = ("link.mode0", "link.joint0", "link.mode0 rate", "link.joint0 rate")
    assert signals["estimate"].labels == signals["deviation"].labels == names
    assert signals["innovation encoder"].labels == ("link",)


def test_slopes_of_readings_are_those_of_differences():
    """Of joints whose speeds are the rates of their coordinates, and of one whose speeds are not."""
    a = lb.Assembly("wrist")
    body = lb.RigidBody(1.0, (0.1, 0, 0), 0.1 * np.eye(3))
    a.attach("upper", lb.beam(1.0, 2.0, EI=200.0, modes={"y": 1}), lb.Revolute("z"))
    a.attach("hand", body, lb.SimpleJoint(np.eye(6)[:, :3]), "upper", "tip")
    s = a.build()
    rng = np.random.default_rng(1)
    q, v, T = 0.3 * rng.normal(size=s.nq), rng.normal(size=s.nv), rng.normal(size=(2 * s.nv, 3))
    for sensor in (
        Encoder(rate=100.0, bodies="upper"),
        Encoder(rate=100.0, bodies="hand"),
        lb.control.Tachometer(rate=100.0, bodies="upper"),
    ):
        taken = FilterSensor(s, sensor, {sensor.name: 1.0}, {})
        tau = np.zeros(s.nv)
        H, h = taken.slopes(q, v, tau, T)
        taken.reader = replace(taken.reader, rates=None, v=None)
        by_differences, same = taken.slopes(q, v, tau, T)
        assert np.abs(H - by_differences).max() < 1e-8 and (h == same).all()
