"""Readings: exact values from the model, noise of the stated density, bias, quantization, range, delay."""

import numpy as np
import pytest
from scipy.stats import chi2, kstest

import limber as lb
from limber.control.sensors.base import Instant, Measurement

TOLERANCE = 1e-10


class Still(lb.control.Controller):
    """No torque, at 100 Hz."""

    sample_time = 0.01

    def command(self, t, measured):
        return np.zeros(self.nv)

    def prepare(self, loop):
        self.nv = loop.system.nv


@pytest.fixture(scope="module")
def s():
    a = lb.Assembly("craft", gravity=(0.3, -9.0, 1.0))
    hub = lb.RigidBody(
        8.0, com=(0.1, 0, 0), inertia=np.diag([1, 2, 2.5]), nodes={"imu": (0.1, 0.2, 0.3)}
    )
    a.attach("hub", hub, lb.Free())
    beam = lb.beam(
        2.0, 1.0, EI=(30.0, 50.0), GJ=40.0, polar_inertia=0.01, modes={"bending": 2, "torsion": 1}
    )
    a.attach("panel", beam, lb.Revolute([0, 1, 0], damping=0.1), to="hub", at="imu")
    a.attach("tool", lb.RigidBody(0.5, com=(0.1, 0, 0)), lb.Fixed(), to="panel", at="tip")
    return a.build()


@pytest.fixture(scope="module")
def state(s):
    rng = np.random.default_rng(3)
    q, v = 0.1 * rng.normal(size=s.nq), rng.normal(size=s.nv)
    q[:4] = rng.normal(size=4)
    q[:4] /= np.linalg.norm(q[:4])
    return q, v


def readings(s, state, sensor, count=1, **options):
    """The samples of a sensor over a run from a state."""
    q, v = state
    loop = lb.control.Loop(s, Still(), sensors=[sensor], **options)
    r = lb.simulate(
        s, (count - 0.5) / sensor.rate, q0=q, v0=v, torque=loop, t_eval=[0.0], rtol=1e-10
    )
    return r, r.signals[sensor.name]


def test_encoders_and_tachometers_read_coordinates_and_speeds(s, state):
    q, v = state
    _, y = readings(s, state, lb.control.Encoder("panel", rate=50.0))
    assert y.labels == ("panel",)
    assert y.y[0] == q[s.layout["panel"].q_joint]
    _, y = readings(s, state, lb.control.Tachometer("panel", rate=50.0))
    assert y.y[0] == v[s.layout["panel"].v_joint]


def test_gyro_and_accelerometer_agree_with_the_motion_of_the_result(s, state):
    R = np.array([[0, 0, 1.0], [1, 0, 0], [0, 1, 0]])
    for body, node in (("hub", "imu"), ("panel", "tip"), ("tool", None)):
        gyro = lb.control.Gyro(body, node, rate=100.0, rotation=R)
        r, y = readings(s, state, gyro)
        motion = r.node(body, node)
        expected = R.T @ motion.R[0].T @ motion.angular_velocity[0]
        assert np.allclose(y.y[0], expected, rtol=0, atol=TOLERANCE)
        force = lb.control.Accelerometer(body, node, rate=100.0, rotation=R)
        r, y = readings(s, state, force)
        expected = R.T @ motion.R[0].T @ (motion.acceleration[0] - s.gravity)
        assert np.allclose(y.y[0], expected, rtol=0, atol=1e-9)


def test_an_accelerometer_at_rest_feels_the_support_against_its_weight():
    a = lb.Assembly("pendulum", gravity=(0, 0, -9.81))
    a.attach("link", lb.RigidBody(2.0, com=(0, 0, -1.0)), lb.Revolute([0, 1, 0]))
    s = a.build()
    _, y = readings(s, (s.neutral(), np.zeros(1)), lb.control.Accelerometer("link", rate=10.0))
    assert np.allclose(y.y[0], [0, 0, 9.81])


def test_strain_gauges_read_the_curvature_of_the_modes(s, state):
    sensor = lb.control.StrainGauge("panel", at=["root", "tip"], y=0.02, z=0.01, rate=100.0)
    r, y = readings(s, state, sensor)
    per_mode = lb.structures.beam_forces(s.bodies["panel"], [0.0, s.bodies["panel"].recipe.length])
    curvature = per_mode.strains @ r.modal("panel")[0]
    expected = -0.02 * curvature[:, 5] + 0.01 * curvature[:, 4]
    assert y.labels == ("root", "tip")
    assert np.allclose(y.y[0], expected, rtol=1e-12, atol=1e-15)


def test_a_force_torque_sensor_carries_the_weight_and_the_inertia_outboard(s, state):
    _, y = readings(s, state, lb.control.ForceTorque("tool", rate=100.0))
    _, f = readings(s, state, lb.control.Accelerometer("tool", rate=100.0))
    r, _ = readings(s, state, lb.control.Gyro("tool", rate=100.0))
    motion = r.node("tool")
    R = motion.R[0]
    w, a = R.T @ motion.angular_velocity[0], R.T @ motion.angular_acceleration[0]
    c, m = np.array([0.1, 0, 0]), 0.5
    force = m * (f.y[0] + np.cross(a, c) + np.cross(w, np.cross(w, c)))
    assert np.allclose(y.y[0], [*np.cross(c, force), *force], rtol=0, atol=1e-9)


def test_a_force_torque_sensor_in_a_joint_shows_its_torque_and_external_forces(s, state):
    q, v = state
    loop = lb.control.Loop(s, Still(), sensors=[lb.control.ForceTorque("panel", rate=100.0)])
    wrench = np.array([1.0, 2, 3, 4, 5, 6])
    options = {"q0": q, "v0": v, "external": {("tool", None): wrench}, "rtol": 1e-10}
    r = lb.simulate(s, 0.005, torque=loop, t_eval=[0.0], **options)
    about_axis = r.signals["force-torque"].y[0, 1]
    # the joint gets no torque, but for its damper
    assert about_axis == pytest.approx(-0.1 * v[s.layout["panel"].v_joint][0], abs=1e-9)


def test_a_star_tracker_reads_the_attitude_and_errs_by_small_rotations(s, state):
    exact = lb.control.StarTracker("hub", "imu", rate=2.0)
    _, y = readings(s, state, exact)
    assert np.allclose(y.y[0] * np.sign(state[0][0]), state[0][:4], atol=TOLERANCE)
    errors = np.array([1e-5, 1e-5, 8e-5])
    sensor = lb.control.StarTracker("hub", rate=2.0, noise=errors, seed=4)
    measurement = Measurement(sensor, sensor.reader(s), None)
    instant = Instant(0.0, *state, None)
    n = 2000
    w, *xyz = np.transpose([measurement.sample(i, instant) for i in range(n)])
    assert np.allclose(w**2 + np.sum(np.square(xyz), axis=0), 1.0)
    e = y.y[0] * [1, -1, -1, -1]
    small = 2 * np.array(
        [
            e[0] * xyz[0] + e[1] * w + e[2] * xyz[2] - e[3] * xyz[1],
            e[0] * xyz[1] - e[1] * xyz[2] + e[2] * w + e[3] * xyz[0],
            e[0] * xyz[2] + e[1] * xyz[1] - e[2] * xyz[0] + e[3] * w,
        ]
    )
    assert_variance(small.T, errors)


# --- errors --------------------------------------------------------------------------------------


def assert_variance(values, sigma, confidence=1e-6):
    """The variance of each column is sigma^2, by the chi-square distribution."""
    n = len(values)
    found = np.sum(np.square(values), axis=0) / np.square(sigma)
    assert (found > chi2.ppf(confidence, n)).all() and (found < chi2.ppf(1 - confidence, n)).all()


def samples(s, state, sensor, count):
    measurement = Measurement(sensor, sensor.reader(s), None)
    instant = Instant(0.0, *state, None)
    return np.array([measurement.sample(i, instant) for i in range(count)])


@pytest.mark.parametrize("rate", [10.0, 1000.0])
def test_the_variance_of_a_sample_is_the_density_squared_times_the_rate(s, state, rate):
    density = 2e-3
    sensor = lb.control.Gyro("hub", rate=rate, noise_density=density, seed=11)
    exact = samples(s, state, lb.control.Gyro("hub", rate=rate), 1)[0]
    noise = samples(s, state, sensor, 4000) - exact
    sigma = density * np.sqrt(rate)
    assert_variance(noise, [sigma] * 3)
    assert all(kstest(x / sigma, "norm").pvalue > 1e-6 for x in noise.T)
    # white: neighbouring samples have nothing in common, and neither have the axes
    neighbours = np.sum(noise[1:] * noise[:-1], axis=0) / sigma**2 / np.sqrt(len(noise))
    assert (np.abs(neighbours) < 5).all()
    assert abs(noise[:, 0] @ noise[:, 1]) / sigma**2 / np.sqrt(len(noise)) < 5
    # so the integral over a time T has the variance density^2 T
    ends = noise.reshape(40, 100, 3).sum(axis=1) / rate
    assert_variance(ends, [density * np.sqrt(100 / rate)] * 3)


def test_a_bias_walks_by_its_density(s, state):
    sensor = lb.control.Tachometer("panel", rate=100.0, bias=0.5, bias_walk=1e-2, seed=5)
    values = samples(s, state, sensor, 5000)
    assert values[0] == state[1][s.layout["panel"].v_joint] + 0.5
    assert_variance(np.diff(values, axis=0), [1e-2 / np.sqrt(100.0)])


def test_noise_depends_on_seed_name_and_sample_alone(s, state):
    def noise(**options):
        return samples(s, state, lb.control.Gyro("hub", rate=10.0, noise=1.0, **options), 600)

    first = noise(seed=1)
    assert (noise(seed=1) == first).all()
    assert not (noise(seed=2) == first).any()
    assert not (noise(seed=1, name="other gyro") == first).any()
    sensor = lb.control.Gyro("hub", rate=10.0, noise=1.0, seed=1)
    late = Measurement(sensor, sensor.reader(s), None)
    assert (late.sample(599, Instant(0.0, *state, None)) == first[599]).all()


def test_noise_without_a_seed_is_refused(s):
    sensor = lb.control.Gyro("hub", rate=10.0, noise=1.0)
    with pytest.raises(lb.LimberError, match=r"'gyro' has noise but no seed"):
        lb.control.Loop(s, Still(), sensors=[sensor])
    lb.control.Loop(s, Still(), sensors=[sensor], seed=3)


def test_readings_are_quantized_and_cut_to_the_range(s, state):
    _, y = readings(s, state, lb.control.Encoder("panel", rate=50.0, counts=1000), count=20)
    counts = y.y / (2 * np.pi / 1000)
    assert np.abs(counts - np.rint(counts)).max() < 1e-9
    _, exact = readings(s, state, lb.control.Encoder("panel", rate=50.0), count=20)
    assert np.abs(y.y - exact.y).max() <= np.pi / 1000 * (1 + 1e-9)
    _, y = readings(s, state, lb.control.Gyro("hub", rate=50.0, range=0.1))
    assert np.abs(y.y).max() == 0.1


def test_quantization_error_of_a_moving_joint_has_the_variance_of_a_uniform_one(s, state):
    step = 0.01
    sensor = lb.control.Encoder("panel", rate=1.0, quantization=step)
    reader = sensor.reader(s)
    measurement = Measurement(sensor, reader, None)
    q, v = (x.copy() for x in state)
    errors = []
    for i, angle in enumerate(np.random.default_rng(0).uniform(-1, 1, 3000)):
        q[reader.q] = angle
        errors.append(measurement.sample(i, Instant(0.0, q, v, None))[0] - angle)
    assert np.var(errors) == pytest.approx(step**2 / 12, rel=0.06)


def test_readings_arrive_after_their_delay(s, state):
    class Watch(Still):
        def __init__(self):
            self.seen = []

        def command(self, t, measured):
            self.seen.append((t, measured.taken("gyro"), measured["gyro"].copy()))
            return super().command(t, measured)

    q, v = state
    watch = Watch()
    sensor = lb.control.Gyro("hub", rate=100.0, delay=0.025)
    loop = lb.control.Loop(s, watch, sensors=[sensor])
    r = lb.simulate(s, 0.095, q0=q, v0=v, torque=loop)
    sent = r.signals["gyro"]
    assert np.allclose(sent.t, np.arange(10) / 100.0)
    for t, taken, reading in watch.seen:
        assert taken == pytest.approx(t - 0.03)  # of 25 ms ago is the one of 30 ms ago
        assert (reading == sent.y[np.argmin(abs(sent.t - taken))]).all()
    assert watch.seen[0][0] == pytest.approx(0.03)  # the controller starts with the first reading
    guard = r.signals["guard"].y[:, 0]
    assert guard.tolist() == [1.0] * 3 + [0.0] * 7


def test_wrong_arguments_are_named(s):
    E = lb.control.Encoder
    cases = {
        "rate of sensor 'encoder'": lambda: E(rate=0.0),
        "noise of sensor 'encoder' must not be negative": lambda: E(rate=1.0, noise=-1.0),
        "give counts or quantization": lambda: E(rate=1.0, counts=10, quantization=0.1),
        "has a quaternion": lambda: E("hub", rate=1.0).reader(s),
        "is fixed": lambda: E("tool", rate=1.0).reader(s),
        "is not a gauge of body 'panel'": lambda: lb.control.StrainGauge(
            "panel", "g1", rate=1.0
        ).reader(s),
        "give y or z": lambda: lb.control.StrainGauge("panel", at="root", rate=1.0),
        "does not support range": lambda: lb.control.StarTracker("hub", rate=1.0, range=1.0),
        "must be one number or 3": lambda: lb.control.Loop(
            s, Still(), sensors=[lb.control.Gyro("hub", rate=1.0, bias=[1.0, 2.0])]
        ),
        "one for each of x, y, z; got": lambda: lb.control.Loop(
            s, Still(), sensors=[lb.control.StarTracker("hub", rate=1.0, noise=[1e-5, 1e-4])]
        ),
        "two sensors have the name": lambda: lb.control.Loop(
            s, Still(), sensors=[E("panel", rate=1.0), E("panel", rate=2.0)]
        ),
    }
    for text, make in cases.items():
        with pytest.raises(lb.LimberError, match=text.replace("(", r"\(")):
            make()


@pytest.mark.parametrize("value", [np.nan, np.inf, [0.1, np.nan]])
@pytest.mark.parametrize("what", ["quantization", "noise", "noise_density", "bias", "bias_walk"])
def test_errors_of_sensors_are_finite(what, value):
    with pytest.raises(lb.LimberError, match=f"{what} of sensor 'encoder' must be finite"):
        lb.control.Encoder(rate=10.0, **{what: value})


@pytest.mark.parametrize("gain", [np.nan, np.inf])
@pytest.mark.parametrize("which", ["kp", "kd"])
def test_gains_are_finite(which, gain):
    gains = {"kp": 1.0, "kd": 1.0, which: gain}
    for made in (lb.control.PD, lb.control.ComputedTorque):
        with pytest.raises(lb.LimberError, match=f"{which} must be finite"):
            made(**gains, sample_time=0.01)


def test_intervals_that_end_before_they_begin_are_refused():
    with pytest.raises(lb.LimberError, match=r"outages of sensor 'encoder' has .*\(0.2, 0.1\)"):
        lb.control.Encoder(rate=10.0, outages=[(0.0, 0.1), (0.2, 0.1)])
    with pytest.raises(lb.LimberError, match=r"dead of servo 'a' has .*\(0.5, 0.2\)"):
        lb.control.Servo("a", dead=[(0.5, 0.2)])


# --- closed systems ---------------------------------------------------------------------------------


def hung():
    """Three links from the world to a point of the world."""
    a = lb.Assembly("hung", gravity=(0.3, -9.81, 0))
    link = lb.RigidBody(2.0, (0.5, 0, 0), inertia=(0.1, 0.2, 0.2), nodes={"tip": (1, 0, 0)})
    beam = lb.beam(1.0, 1.0, EI=50.0, modes={"y": 1})
    a.attach("one", link, lb.Revolute("z", damping=0.4))
    a.attach("two", beam, lb.Revolute("z"), to="one", at="tip")
    a.attach("three", link, lb.Revolute("z"), to="two", at="tip")
    a.close(("three", "tip"), ("world", (1.2, 0.0, 0.0)), lb.Spherical(), name="pin")
    return a.build()


def test_force_torque_sensors_feel_the_forces_of_closures():
    """The base and the closure together exert what the momentum of all bodies and their weight ask for."""
    s = hung()
    q = lb.assemble(s, np.array([0.9, 0.0, -1.2, -1.2]))
    v = lb.project(s, q, np.array([0.7, 0.1, 0.3, 0.2]))[1]
    sensors = [lb.control.ForceTorque(body, body, rate=100.0) for body in ("one", "two", "three")]
    pushed = {("one", "tip"): np.array([0, 0, 3.0, 4.0, 5.0, 0])}
    loop = lb.control.Loop(s, Still(), sensors=sensors)
    with pytest.warns(lb.ModelWarning, match="redundant"):  # a ball joint in a plane system
        r = lb.simulate(s, 0.005, q0=q, v0=v, torque=loop, t_eval=[0.0], external=pushed)
        on_world = r.constraint_forces("pin")[0]
    found = {body: r.signals[body].y[0] for body in ("one", "two", "three")}
    vdot = lb.forward_dynamics(s, q, v, np.zeros(4), external=pushed)
    h = 1e-6
    ahead, back = (
        lb.momentum(s, lb.integrate(s, q, v + 0.5 * vdot * t, t), v + vdot * t) for t in (h, -h)
    )
    rate = ((ahead - back) / (2.0 * h))[3:5]
    expected = rate - 5.0 * s.gravity[:2] - [4.0, 5.0] + on_world[3:5]
    assert np.allclose(found["one"][3:5], expected, atol=1e-6)
    # hinges have no moment, but for their dampers
    moments = [found[body][2] for body in found]
    assert np.allclose(moments, [-0.4 * v[0], 0.0, 0.0], atol=1e-9)
    assert np.abs(found["three"][3:5]).min() > 0.1


def test_counts_in_a_turn_are_refused_for_joints_that_slide():
    body = lb.RigidBody(1.0, inertia=(1, 1, 1))
    a = lb.Assembly("gantry").attach("arm", body, lb.Revolute("z"))
    s = a.attach("slide", body, lb.Prismatic("x"), "arm").build()
    for bodies in (None, "slide"):
        with pytest.raises(
            lb.LimberError, match=r"counts=1000 means counts per revolution.*quantization"
        ):
            lb.control.Encoder(bodies, rate=100.0, counts=1000).reader(s)
    lb.control.Encoder("arm", rate=100.0, counts=1000).reader(s)
    lb.control.Encoder("slide", rate=100.0, quantization=1e-6).reader(s)


def test_a_gauge_that_no_mode_strains_is_refused():
    def link(**modes):
        a = lb.Assembly("link")
        a.attach("link", lb.beam(1.0, 1.0, EI=100.0, EA=1e4, modes=modes), lb.Revolute("z"))
        return a.build()

    across = lb.control.StrainGauge("link", at=0.2, z=0.01, rate=10.0)
    with pytest.raises(lb.LimberError, match="would always read zero"):
        across.reader(link(y=1))
    assert across.rows(link(z=1)).any()
    # stretch strains every point of a section, in sensors and in outputs of linear models
    stretched = link(stretch=1)
    model = lb.linearize(stretched, outputs=[("strain", "link", 0.2, 0.0, 0.01)])
    assert np.allclose(across.rows(stretched), model.C[:, :1]) and model.C[0, 0] > 0.1
    with pytest.raises(lb.LimberError, match=r"\['x'\] is not a closure"):
        lb.linearize(stretched, outputs=[("closure_force", ["x"])])


def test_spans_of_failures_begin_and_end_at_samples_in_spite_of_rounding():
    """Sample 111 at 30 Hz is at 3.6999999999999997 s."""
    for span, lost in (((3.7, 3.8), [111, 112, 113]), ((3.6, 3.7), [108, 109, 110])):
        sensor = lb.control.Encoder(rate=30.0, failures=[span])
        s = (
            lb.Assembly("link")
            .attach("link", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Revolute("z"))
            .build()
        )
        measurement = Measurement(sensor, sensor.reader(s), None)
        read = [
            measurement.sample(i, Instant(i * (1.0 / 30.0), np.zeros(1), np.zeros(1), None))
            for i in range(120)
        ]
        assert np.flatnonzero(np.isnan(np.ravel(read))).tolist() == lost
