"""Kalman filters with readings that arrive late, that depend on forces, that are attitudes, or that have a bias."""

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg

import limber as lb
from helpers.shaken import Shaken as OfDensity
from limber.control import (
    LQR,
    Accelerometer,
    Controller,
    Encoder,
    ForceTorque,
    Gyro,
    Kalman,
    Loop,
    StarTracker,
    StrainGauge,
    margins,
    mean_test,
    nees,
    nis,
)
from limber.control.rotations import conjugate, product, quaternion_of

T = 0.005
DENSITY = 0.02


@pytest.fixture(scope="module")
def s():
    """A cart that carries a flexible jib with a load."""
    a = lb.Assembly("crane", gravity=(0, 0, -9.81))
    a.attach("cart", lb.RigidBody(4.0, inertia=[1.0] * 3), lb.Prismatic("x", damping=3.0))
    jib = lb.beam(1.2, 1.5, EI=120.0, modes={"z": 1}, damping=0.02)
    a.attach("jib", jib, lb.Revolute("y", armature=0.3, stiffness=80.0), "cart")
    a.attach("load", lb.RigidBody(0.8, inertia=[0.01] * 3), lb.Fixed(), "jib", "tip")
    return a.build()


@pytest.fixture(scope="module")
def q(s):
    return lb.equilibrium(s, s.neutral(), locked=["cart", "jib"])


def hold(s, q):
    """The torques that hold the crane."""
    rest = np.zeros(s.nv)
    return lb.inverse_dynamics(s, q, rest, rest)


class Shaken(OfDensity):
    density = DENSITY


def shaken(s, q, sensors, end, kind=Shaken, **options):
    """A run under random torques: the result, the controller, the errors of its filter and their covariances."""
    joints = [s.layout[body].v_joint.start for body in ("cart", "jib")]
    disturbance, weights = np.zeros(s.nv), np.ones(2 * s.nv)
    disturbance[joints], weights[joints] = DENSITY, 300.0
    kalman = Kalman(disturbance, initial=1e-5, record=True, **options)
    c = kind(weights, 0.01, sample_time=T, about=q, observer=kalman)
    loop = Loop(s, c, sensors=sensors, seed=4, initial=hold(s, q)[joints])
    times = T * np.arange(round(end / T) + 1)
    r = lb.simulate(s, end, q0=q, torque=loop, t_eval=times)
    seen = r.signals["estimate"]
    truth = np.hstack([r.q, r.v])[np.rint(seen.t / T).astype(int)]
    return r, c, seen.y - truth, np.array(kalman.covariances)


def encoder(**options):
    return Encoder(rate=200.0, noise=2e-6, **options)


def test_a_late_reading_is_that_of_a_past_state(s, q):
    """Against a filter whose state contains those of the last three samples (a textbook alternative)."""
    late = 3
    sensors = [encoder(), Gyro("jib", "tip", rate=200.0, noise=1e-5, delay=late * T)]
    r, c, _, _ = shaken(s, q, sensors, 0.4, kind=LQR)
    plant = lb.linearize(s, q, tau=hold(s, q))
    n, nv = plant.order, s.nv
    sampled = plant.sampled(T)
    places = c.torque_places
    W = np.zeros(nv)
    W[places] = DENSITY**2
    # Q by the trapezoidal rule
    grid = np.linspace(0.0, T, 2001)
    step = scipy.linalg.expm(plant.A * grid[1])
    Phis = [np.eye(n)]
    for _ in grid[1:]:
        Phis.append(step @ Phis[-1])
    noise = np.array([P @ (plant.B * W) @ plant.B.T @ P.T for P in Phis])
    Q = scipy.integrate.trapezoid(noise, grid, axis=0)
    outputs = [("angular_velocity", "jib", "tip"), "cart", "jib"]
    C = lb.linearize(s, q, tau=hold(s, q), inputs=[], outputs=outputs).C
    size = n * (late + 1)
    F, G, big = np.eye(size, k=-n), np.zeros((size, nv)), np.zeros((size, size))
    F[:n, :n], G[:n], big[:n, :n] = sampled.A, sampled.B, Q
    x, P = np.zeros(size), np.zeros((size, size))
    P[:n, :n] = 1e-10 * np.eye(n)
    x[places] = r.signals["encoder"].y[late] - q[places]  # the first reading that the filter gets

    def correct(x, P, H, y, R):
        gain = np.linalg.solve(H @ P @ H.T + R, H @ P).T
        return x + gain @ (y - H @ x), P - gain @ H @ P

    command = r.signals["command"]
    tau = {round(t / T): u - hold(s, q)[places] for t, u in zip(command.t, command.y[:, places])}
    found = {}
    for k in range(80):
        if k:
            before = tau.get(k - 1, np.zeros(len(places)))
            x, P = F @ x + G[:, places] @ before, F @ P @ F.T + big
        if k >= late:
            H = np.hstack([C[3:], np.zeros((2, size - n))])
            x, P = correct(x, P, H, r.signals["encoder"].y[k] - q[places], 4e-12 * np.eye(2))
            H = np.hstack([np.zeros((3, size - n)), C[:3]])
            x, P = correct(x, P, H, r.signals["gyro"].y[k - late], 1e-10 * np.eye(3))
        found[k] = x[:n], np.sqrt(np.diag(P)[:n])
    estimate, deviation = r.signals["estimate"], r.signals["deviation"]
    assert len(estimate.t) == 80 - late  # the loop starts with the first reading of the gyro
    for t, y, sigma in zip(estimate.t, estimate.y, deviation.y):
        x, expected = found[round(t / T)]
        assert np.allclose(y - np.append(q, np.zeros(nv)), x, atol=1e-3 * expected.max())
        assert np.allclose(sigma, expected, rtol=1e-4)


@pytest.mark.parametrize("case", ["late", "between samples", "forces", "extended"])
def test_filters_of_late_readings_and_forces_are_consistent(s, q, case):
    """The errors are as large as the filter says. Forces that are held over a sample move joints a little less than white
    ones of the same density, so that the mean is a little below the number of states."""
    accelerometer = Accelerometer("load", rate=200.0, noise=2e-3)
    strain = StrainGauge("jib", at=0.1, z=0.01, rate=200.0, noise=1e-8)
    sensors = {
        "late": [encoder(delay=3 * T)],
        "between samples": [
            encoder(delay=0.0073),
            Gyro("jib", "tip", rate=130.0, noise=1e-5, delay=0.0021),
            strain,
        ],
        "forces": [encoder(), accelerometer, ForceTorque("load", rate=100.0, noise=2e-3, delay=T)],
        "extended": [encoder(delay=T), accelerometer],
    }[case]
    end = 0.3 if case == "extended" else 3.0
    r, _, errors, P = shaken(s, q, sensors, end, extended=case == "extended")
    ratio = nees(errors, P)[30:]
    count = len(ratio) // 10
    assert ratio.mean() < 1.5 * 2 * s.nv and ratio.mean() > 0.2 * 2 * s.nv
    assert ratio.mean() < mean_test(ratio, 2 * s.nv, level=0.999, independent=count).high
    for sensor in sensors:
        new = r.signals[f"innovation {sensor.name}"].y[30:]
        assert nis(new).mean() < 1.3 * new.shape[1]


def test_an_accelerometer_makes_the_estimate_better(s, q):
    deviations = []
    for sensors in ([encoder()], [encoder(), Accelerometer("load", rate=200.0, noise=2e-3)]):
        r, _, errors, _ = shaken(s, q, sensors, 1.0)
        deviations.append(r.signals["deviation"].y[-1, -1])
        assert np.sqrt(np.mean(errors[30:, -1] ** 2)) < 1.3 * deviations[-1]
    assert deviations[1] < 0.4 * deviations[0]


@pytest.mark.parametrize("case", ["late", "forces", "both", "load"])
@pytest.mark.parametrize("delay", [0.0, 1.5 * T])
def test_margins_count_with_late_readings_and_forces(s, q, case, delay):
    """In a run, the commands follow from the readings by the linear model, once the gains have settled."""
    walk = 0.0 if case == "load" else 2e-2
    accelerometer = Accelerometer("load", rate=200.0, noise=2e-3, bias_walk=walk)
    sensors = {
        "late": [encoder(delay=2 * T), Gyro("jib", "tip", rate=200.0, noise=1e-5)],
        "forces": [encoder(), accelerometer],
        "both": [encoder(delay=T), accelerometer],
        "load": [encoder(delay=T), accelerometer],
    }[case]
    bias = {"accelerometer": 1e-3} if case in ("forces", "both") else {}
    load = {"jib": 0.5} if case == "load" else {}
    kalman = Kalman(0.1, initial=1e-4, bias=bias, load=load)
    c = LQR(1.0, 0.1, sample_time=T, about=q, observer=kalman)
    torque = hold(s, q)[[0, 2]]
    loop = Loop(s, c, sensors=sensors, seed=1, delay=delay, initial=torque)
    K, T_end = c.linear(), 10.0
    r = lb.simulate(s, T_end, q0=q, torque=loop, every=1.0)
    at_rest = {"encoder": q[[0, 2]]}
    if case != "late":
        steady = lb.simulate(s, T, q0=q, torque=hold(s, q), every=T)
        motion = steady.node("load")
        at_rest["accelerometer"] = motion.R[0].T @ (motion.acceleration[0] - s.gravity)
    readings = np.hstack([
        r.signals[x.name].y[: round(T_end / T)] - at_rest.get(x.name, 0.0) for x in sensors
    ])  # fmt: skip
    command = r.signals["command"]
    x, expected = np.zeros(K.order), []
    for y in readings:
        expected.append(K.C @ x + K.D @ y)
        x = K.A @ x + K.B @ y
    late = len(expected) - len(command.t)
    error = command.y[:, [0, 2]] - torque - np.array(expected)[late:]
    if case == "load":  # it is the integral of the readings, from the beginning
        error = error - error[-100:].mean(axis=0)
    assert np.abs(error[-100:]).max() < 1e-4 * np.abs(np.array(expected)[-100:]).max()
    plant = kalman.seen(lb.linearize(s, q, tau=hold(s, q), inputs=["cart", "jib"]))
    assert margins(plant, c, delay=delay).stable


def test_margins_of_late_readings_need_whole_samples(s, q):
    c = LQR(1.0, 0.1, sample_time=T, about=q, observer=Kalman(0.1))
    Loop(s, c, sensors=[encoder(delay=0.4 * T)], seed=1)
    with pytest.raises(lb.LimberError, match=r"delay of 0\.4 samples"):
        c.linear()


def test_the_bias_of_a_gyro_is_found(s, q):
    gyro = Gyro("jib", "tip", rate=200.0, noise=1e-5, bias=[0.0, 0.05, 0.0])
    r, _, errors, P = shaken(s, q, [encoder(), gyro], 2.0, bias={"gyro": [0.0, 0.1, 0.0]})
    bias = r.signals["bias gyro"]
    assert bias.labels == ("x", "y", "z")
    assert np.allclose(bias.y[-1], [0.0, 0.05, 0.0], atol=1e-4)
    ratio = nees(errors, P)[30:]
    assert ratio.mean() < 1.3 * 2 * s.nv
    _, _, errors, P = shaken(s, q, [encoder(), gyro], 0.5)  # without it, all is wrong
    assert nees(errors, P)[30:].mean() > 1000.0


class Watched(Controller):
    """No torques, but an estimate."""

    sample_time = 0.02

    def __init__(self, observer):
        self.observer = observer

    def prepare(self, loop):
        self.nv = loop.system.nv
        self.observer.prepare(loop)
        self.uses = self.observer.uses

    def start(self, t, measured):
        self.observer.start(t, measured)

    def command(self, t, measured):
        self.observer.update(t, measured)
        return np.zeros(self.nv)


def test_a_star_tracker_gives_the_attitude_of_a_free_body():
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(50.0, inertia=[5.0, 6.0, 7.0]), lb.Free())
    s = a.build()
    kalman = Kalman(1e-4, initial=[1e-2] * 3 + [1e-6] * 3 + [0.5] * 3 + [1e-6] * 3, extended=True)
    turned = lb.integrate(s, s.neutral(), np.array([6e-3, -4e-3, 5e-3, 0, 0, 0]), 1.0)
    sensors = [
        StarTracker("hub", rate=10.0, delay=0.07, noise=[1e-5, 1e-5, 5e-5]),
        Gyro("hub", rate=50.0, noise=1e-4),
    ]
    loop = Loop(s, Watched(kalman), sensors=sensors, seed=2)
    v0 = np.array([0.1, 0.2, -0.3, 0.0, 0.0, 0.0])
    r = lb.simulate(s, 1.2, q0=turned, v0=v0, torque=loop, every=0.02)
    seen = r.signals["estimate"]
    for t, y in list(zip(seen.t, seen.y))[25:]:
        exact = quaternion_of(lb.pose(s, r.q[round(t / 0.02)], "hub")[0])
        mine = quaternion_of(lb.pose(s, y[: s.nq], "hub")[0])
        assert np.abs(2.0 * product(conjugate(exact), mine)[1:]).max() < 6e-5
    assert r.signals["innovation star tracker"].labels == ("x", "y", "z")
    assert 1.5 < nis(r.signals["innovation star tracker"].y).mean() < 5.0


@pytest.mark.parametrize("delay", [0.0, 0.5 * T])
def test_readings_at_a_jump_of_the_torques_tell_of_those_before(s, q, delay):
    """The same readings of an accelerometer, with times that are equal but for rounding."""

    def estimate(rate):
        accelerometer = Accelerometer("load", rate=rate, delay=T)
        noise = {"encoder": 1e-5, "accelerometer": 1e-3}
        c = LQR(1.0, 0.1, sample_time=T, about=q, observer=Kalman(0.5, noise=noise))
        sensors = [Encoder(rate=200.0), accelerometer]
        loop = Loop(s, c, sensors=sensors, delay=delay, initial=hold(s, q)[[0, 2]])
        aside = q + np.array([0.1, *np.zeros(s.nq - 1)])
        return lb.simulate(s, 0.4, q0=aside, torque=loop).signals["estimate"].y

    assert np.allclose(estimate(600.0), estimate(200.0), atol=1e-10)


@pytest.mark.parametrize("delay", [0.0, T])
def test_an_unknown_force_from_the_beginning_does_not_mislead_the_filter(s, q, delay):
    """A force of the size that the density allows: all errors are within what the filter expects of them."""
    sensors = [encoder(), Accelerometer("load", rate=200.0, noise=1e-2, delay=delay)]
    kalman = Kalman(0.1, initial=1e-4, record=True)
    c = LQR(1.0, 0.1, sample_time=T, about=q, observer=kalman)
    loop = Loop(s, c, sensors=sensors, seed=1, initial=hold(s, q)[[0, 2]])
    pushed = {("load", None): [0.0, 0.0, 0.0, 0.0, 0.0, 0.5]}
    r = lb.simulate(s, 0.05, q0=q, torque=loop, external=pushed, every=T)
    seen = r.signals["estimate"]
    truth = np.hstack([r.q, r.v])[np.rint(seen.t / T).astype(int)]
    ratio = nees(seen.y - truth, np.array(kalman.covariances))
    assert ratio.max() < 25.0


def test_sensors_that_a_filter_takes_can_be_chosen(s, q):
    silent = Accelerometer("load", rate=200.0)  # without noise: only recorded
    kalman = Kalman(0.1, sensors=["encoder"])
    c = LQR(1.0, 0.1, sample_time=T, about=q, observer=kalman)
    Loop(s, c, sensors=[encoder(), silent], seed=1)
    assert kalman.uses == ("encoder",)
    with pytest.raises(lb.LimberError, match="'accelerometer' has no noise"):
        Loop(s, LQR(1.0, 0.1, sample_time=T, about=q, observer=Kalman(0.1)), sensors=[silent])
    for given, said in (
        ({"sensors": ["encoders"]}, "Did you mean 'encoder'"),
        ({"sensors": "encoder"}, r"names such as \['encoder', 'gyro'\]"),
        ({"bias": {"gyro": 0.1}}, "bias has 'gyro', which is not a sensor that the filter takes"),
        ({"bias": {"encoder": -0.1}}, "not negative"),
    ):
        c = LQR(1.0, 0.1, sample_time=T, about=q, observer=Kalman(0.1, **given))
        with pytest.raises(lb.LimberError, match=said):
            Loop(s, c, sensors=[encoder()], seed=1)


def test_outputs_begin_when_the_controller_does():
    """A controller may set what it records in `start`, which waits for the first late reading."""

    class Largest(Controller):
        sample_time = 0.01

        def start(self, t, measured):
            self.largest = 0.0

        def command(self, t, measured):
            self.largest = max(self.largest, abs(measured["tachometer"][0]))
            return [0.0]

        def outputs(self):
            return {"largest": self.largest}

    a = lb.Assembly("wheel")
    a.attach("wheel", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Revolute("z"))
    s = a.build()
    loop = Loop(s, Largest(), sensors=[lb.control.Tachometer(rate=100.0, delay=0.02)])
    r = lb.simulate(s, 0.1, v0=[1.0], torque=loop)
    assert r.signals["largest"].t[0] == pytest.approx(0.02)
    assert r.signals["guard"].t[0] == 0.0


def test_the_first_readings_have_the_initial_torques(s, q):
    """An arm that `initial` holds does not fall at its first sample, nor at that of a run that continues."""
    pd = lb.control.PD([300.0, 300.0], [30.0, 30.0], sample_time=0.01, reference=q[[0, 2]])
    sensors = [encoder(), Accelerometer("load", rate=100.0), ForceTorque("jib", rate=100.0)]
    loop = Loop(s, pd, sensors=sensors, seed=1, delay=0.02, initial=hold(s, q)[[0, 2]])
    r = lb.simulate(s, 0.02, q0=q, torque=loop)
    assert np.allclose(np.linalg.norm(r.signals["accelerometer"].y[:2], axis=1), 9.81)
    weight = 9.81 * sum(body.mass for name, body in s.bodies.items() if name != "cart")
    assert r.signals["force-torque"].y[0, 5] == pytest.approx(weight)
    whole = lb.simulate(s, 0.1, q0=q, torque=loop, rtol=1e-10, atol=1e-12)
    first = lb.simulate(s, 0.04, q0=q, torque=loop, rtol=1e-10, atol=1e-12)
    state = {"q0": first.q[-1], "v0": first.v[-1]}
    rest = lb.simulate(s, 0.1, t0=0.04, torque=loop.resumed(), rtol=1e-10, atol=1e-12, **state)
    for name in ("accelerometer", "force-torque"):
        both = np.vstack([x.signals[name].y for x in (first, rest)])
        assert np.allclose(both, whole.signals[name].y, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["lqr", "extended lqr", "computed torque"])
def test_loads_that_are_estimated_leave_no_error_of_the_joints(s, q, kind):
    """The weight of a heavier load is a torque of the joint, which the filter finds and the controller takes away."""
    joints, heavy = [0, 2], {"load.mass": 1.1}

    def run(load):
        kalman = Kalman(0.1, initial=1e-3, load=load, extended=kind == "extended lqr")
        reference = {"sample_time": T, "reference": q[joints], "observer": kalman}
        if kind == "computed torque":
            c = lb.control.ComputedTorque(25.0, 10.0, **reference)
        else:
            weights = [300.0, 1.0, 300.0, 1.0, 1.0, 1.0]
            c = LQR(weights, 0.01, sample_time=T, about=q, observer=kalman)
        loop = Loop(s, c, sensors=[encoder()], seed=1, delay=T, initial=hold(s, q)[joints])
        end = 0.6 if kind == "extended lqr" else 5.0
        return lb.simulate(s, end, q0=q, torque=loop, parameters=heavy, every=0.1)

    r = run({"jib": 4.0})
    change = s.with_parameters(heavy)
    at_end = np.array(r.q[-1])
    rest = np.zeros(s.nv)
    needed = lb.inverse_dynamics(change, at_end, rest, rest) - hold(s, q)
    found = r.signals["load"]
    assert found.labels == ("jib.joint0",)
    if kind == "extended lqr":
        assert found.y[-40:, 0].mean() == pytest.approx(-needed[2], rel=0.3)
    else:
        assert abs(r.joint("jib")[-1, 0] - q[2]) < 3e-4
        without = run({})
        assert abs(without.joint("jib")[-1, 0] - q[2]) > 3e-3


def test_loads_are_those_of_moving_joints(s, q):
    for load, said in (
        ({"load": 1.0}, "for a body on a joint that moves"),
        ({"jib": 0.0}, "above zero"),
        ({"jibb": 1.0}, "Did you mean 'jib'"),
        (1.0, "load must be {body: density"),
    ):
        with pytest.raises(lb.LimberError, match=said):
            c = LQR(1.0, 0.1, sample_time=T, about=q, observer=Kalman(0.1, load=load))
            Loop(s, c, sensors=[encoder()], seed=1)
