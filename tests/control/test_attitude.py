"""Attitude control against closed forms, conservation laws, and margins against runs."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import limber as lb
from limber import control
from limber.control.attitude.filters import FilterBank
from limber.control.rotations import conjugate, product, quaternion_of_vector

AXES = [[1, 1, 1], [-1, 1, 1], [-1, -1, 1], [1, -1, 1]]
WHEELS = [
    control.datasheet("honeywell-hr16-50").make(f"wheel{i}", axis) for i, axis in enumerate(AXES)
]
NAMES = [wheel.name for wheel in WHEELS]
TURN = np.radians(20.0) * np.array([0.8, 0.0, 0.6])
REST = np.array([1.0, 0.0, 0.0, 0.0])


def craft(modes=2, devices=WHEELS):
    a = lb.models.spacecraft(modes)
    for device in devices:
        device.attach(a, to="hub")
    return a.build()


def pairs(period):
    """Thrusters that turn the hub about each axis both ways, in couples."""
    made = []
    for axis, (arm, push) in enumerate(
        (((0, 0, 0.8), "y"), ((0.8, 0, 0), "z"), ((0.8, 0, 0), "y"))
    ):
        for sign in ("", "-"):
            other = "-" if not sign else ""
            for side, direction in ((1, sign + push), (-1, other + push)):
                made.append(
                    control.Thruster(
                        f"axis {axis} {sign or '+'} {side}", "hub", side * np.array(arm), direction, force=1.0,
                        period=period, minimum_pulse=0.01,
                    )
                )  # fmt: skip
    return made


def angle(q, wanted):
    """How far the hub is from an attitude, rad."""
    away = product(conjugate(wanted), q[:4])
    return 2.0 * np.linalg.norm(away[1:])


@pytest.fixture(scope="module")
def rigid():
    return craft(0)


@pytest.fixture(scope="module")
def flexible():
    return craft(2)


# --- slews ---------------------------------------------------------------------------------------------


def test_a_slew_turns_about_its_axis_and_its_rates_are_derivatives():
    start = quaternion_of_vector(np.array([0.3, -0.2, 0.5]))
    slew = control.EigenAxisSlew(start, product(start, quaternion_of_vector(TURN)), 60.0, begin=5.0)
    np.testing.assert_allclose(slew.angle * slew.axis, TURN, atol=1e-14)
    assert slew.duration == 60.0
    h, t = 1e-4, 30.0
    turned = product(conjugate(slew(t - h).quaternion), slew(t + h).quaternion)
    np.testing.assert_allclose(2.0 * turned[1:] / (2.0 * h), slew(t).rate, atol=1e-9)
    change = (slew(t + h).rate - slew(t - h).rate) / (2.0 * h)
    np.testing.assert_allclose(change, slew(t).acceleration, atol=1e-9)
    np.testing.assert_allclose(slew(5.0).quaternion, start, atol=1e-15)


def test_the_shorter_way_is_taken():
    far = quaternion_of_vector(np.array([0.0, 0.0, 1.5 * np.pi]))
    assert control.EigenAxisSlew(REST, far, 10.0).angle == pytest.approx(0.5 * np.pi)


def test_a_rigid_craft_follows_a_slew_and_its_wheels_take_the_momentum(rigid):
    end = quaternion_of_vector(TURN)
    slew = control.EigenAxisSlew(REST, end, 60.0)
    c = control.AttitudeController("hub", 0.3, sample_time=0.1, reference=slew)
    r = lb.simulate(rigid, 70.0, torque=control.Loop(rigid, c, actuators=WHEELS), every=1.0)
    # what is left is the motion within one sample of held torques
    assert np.abs(r.signals["attitude error"].y).max() < 1e-4
    assert angle(r.q[-1], end) < 1e-5
    assert np.abs(r.momentum).max() < 1e-10
    middle = np.searchsorted(r.t, 30.0)
    rate, stored = r.v[middle, :3], r.signals["stored momentum"].y[300]
    np.testing.assert_allclose(c.craft.inertia @ rate, -stored, rtol=1e-3, atol=1e-3)


def test_errors_decay_as_those_of_an_oscillator():
    s = lb.models.spacecraft(0).build()
    w, z, T = 0.5, 0.7, 0.005
    c = control.AttitudeController("hub", w, damping=z, sample_time=T, reference=REST)
    q0 = s.neutral()
    q0[:4] = quaternion_of_vector(1e-3 * np.array([1.0, -2.0, 1.5]))
    r = lb.simulate(s, 12.0, q0=q0, torque=c, every=0.5)
    wd = w * np.sqrt(1 - z * z)
    shape = np.exp(-z * w * r.t) * (np.cos(wd * r.t) + z * w / wd * np.sin(wd * r.t))
    expected = 1e-3 * np.outer(shape, [1.0, -2.0, 1.5])
    np.testing.assert_allclose(2.0 * r.q[:, 1:4], expected, atol=5e-6)


def test_the_integral_takes_out_a_constant_torque():
    s = lb.models.spacecraft(0).build()
    push = {("hub", None): [0.05, -0.02, 0.03, 0, 0, 0]}
    left = []
    for time in (None, 5.0):
        c = control.AttitudeController("hub", 0.5, sample_time=0.1, integral_time=time)
        left.append(np.linalg.norm(lb.simulate(s, 80.0, torque=c, external=push).q[-1, 1:4]))
    assert left[0] > 1e-4 and left[1] < 1e-3 * left[0]


# --- filters and margins -------------------------------------------------------------------------------


def test_a_notch_has_its_depth_and_a_low_pass_rolls_off():
    n = control.notch(2.0, width=0.3, depth=0.1)
    np.testing.assert_allclose(np.abs(n.response([0.0, 2.0, 1e6])), [1.0, 0.1, 1.0], rtol=1e-5)
    low = control.low_pass(2.0, damping=0.5)
    np.testing.assert_allclose(np.abs(low.response([0.0, 2.0, 200.0])), [1.0, 1.0, 1e-4], rtol=1e-3)


def test_a_sampled_filter_has_the_response_of_the_filter_at_its_frequency():
    T = 0.2
    for each in (control.notch(3.0, 0.3, 0.2), control.low_pass(3.0)):
        A, B, C, D = each.sampled(T)
        z = np.exp(3.0j * T)
        got = C @ np.linalg.solve(z * np.eye(2) - A, B) + D
        np.testing.assert_allclose(got, each.response(3.0), rtol=1e-12)
    with pytest.raises(lb.LimberError, match=r"below 15\.71 rad/s"):
        control.notch(20.0).sampled(T)


def test_filters_in_a_row_are_one_linear_model():
    bank = FilterBank((control.notch(3.0), control.low_pass(5.0)), 0.1)
    A, B, C, D = bank.matrices()
    x, random = np.zeros(len(A)), np.random.default_rng(0)
    for _ in range(20):
        u = random.normal(size=3)
        np.testing.assert_allclose(bank.step(u), C @ x + D @ u, atol=1e-13)
        x = A @ x + B @ u


def test_notches_sit_at_modes_of_the_floating_system(flexible):
    omega = lb.modes(flexible, flexible.neutral()).omega
    for each in control.notches(flexible, "hub", 5):
        assert np.abs(omega - each.omega).min() < 1e-9 * each.omega
    assert control.notches(flexible, "hub", 1)[0].omega == pytest.approx(omega[omega > 0][0])
    with pytest.raises(lb.LimberError, match="has 10 modes with a frequency above zero"):
        control.notches(flexible, "hub", 11)


@pytest.mark.parametrize(("count", "stable"), [(0, False), (5, True)])
def test_margins_tell_what_a_run_shows(flexible, count, stable):
    """At 10 Hz and 50 ms late, the loop excites the panels unless notches keep it off them."""
    filters = control.notches(flexible, "hub", count, width=0.3) if count else ()
    c = control.AttitudeController("hub", 0.3, sample_time=0.1, filters=filters)
    loop = control.Loop(flexible, c, actuators=WHEELS, delay=0.05)
    plant = control.attitude_model(flexible, "hub", NAMES)
    assert control.margins(plant, c, delay=0.05).stable is stable
    q0 = flexible.neutral()
    for panel in ("long panel", "short panel"):
        q0[flexible.layout[panel].q_modes] = 1e-4
    r = lb.simulate(flexible, 60.0, q0=q0, torque=loop, every=0.1)
    bending = np.abs(r.v[:, flexible.layout["short panel"].v_modes]).max(axis=1)
    grown = float(bending[-100:].max() / bending[300:400].max())
    assert grown < 0.8 if stable else grown > 1.2


def test_the_linear_model_gives_the_commands_of_the_controller(flexible):
    options = {"sample_time": 0.1, "reference": REST}
    filters = control.notches(flexible, "hub", 2)
    for c in (
        control.AttitudeController("hub", 0.3, **options),
        control.AttitudeController("hub", 0.3, integral_time=20.0, filters=filters, **options),
        control.OptimalAttitude("hub", **options),
    ):
        control.Loop(flexible, c, actuators=WHEELS, delay=0.05)
        model, x = c.linear(), np.zeros(c.linear().order)
        q, v, random = flexible.neutral(), np.zeros(flexible.nv), np.random.default_rng(1)
        c.start(0.0, lb.control.Measured(0.0, q, v))
        for i in range(5):
            y = 1e-7 * random.normal(size=6)
            q[:4], v[:3] = quaternion_of_vector(y[:3]), y[3:]
            got = c.command(0.1 * i, lb.control.Measured(0.1 * i, q, v))
            np.testing.assert_allclose(got, model.C @ x + model.D @ y, atol=1e-10)
            x = model.A @ x + model.B @ y


@pytest.mark.parametrize(
    ("walk", "delay", "slow"),
    [(0.0, 0.0, 0.0), (3e-6, 0.2, 0.0), (3e-6, 0.4, 0.1), (0.0, 0.1, 0.3)],
)
def test_the_linear_model_has_the_estimator_in_it(flexible, walk, delay, slow):
    """Readings of every sample, late ones too, when the gains of the filter have settled."""
    T = 0.1
    sensors = [
        control.StarTracker("hub", rate=1 / T, delay=delay, noise=1e-5, seed=1),
        control.Gyro("hub", rate=1 / T, noise_density=1e-5, bias_walk=walk, delay=slow, seed=1),
    ]
    c = control.AttitudeController(
        "hub", 0.3, sample_time=T, reference=REST, integral_time=30.0,
        observer=control.AttitudeEstimator(bias=1e-5 if walk else 1e-12),
    )  # fmt: skip
    control.Loop(flexible, c, sensors=sensors, actuators=WHEELS)
    model = c.linear()
    late, gyro_late, random = round(delay / T), round(slow / T), np.random.default_rng(2)
    y = 1e-6 * random.normal(size=(1200, 6))
    y[:1000] = 0.0
    names = [sensor.name for sensor in sensors]
    q, v, x = np.full(flexible.nq, np.nan), np.full(flexible.nv, np.nan), np.zeros(model.order)
    for i, now in enumerate(y):
        star = quaternion_of_vector(y[max(i - late, 0), :3])
        readings = dict(zip(names, (star, y[max(i - gyro_late, 0), 3:])))
        taken = dict(zip(names, ((i - late) * T, (i - gyro_late) * T)))
        measured = lb.control.Measured(i * T, q, v, readings, taken)
        if i == 0:
            c.start(0.0, measured)
        got = c.command(i * T, measured)
        np.testing.assert_allclose(got, model.C @ x + model.D @ now, atol=2e-9)
        x = model.A @ x + model.B @ now
    assert np.abs(got).max() > 1e-5


def test_margins_count_the_estimator(flexible):
    """A good gyro tells nearly all; one that is late delays the whole loop, with the attitude propagated by the rate."""
    plant = control.attitude_model(flexible, "hub", NAMES)
    for late in (0.0, 0.2):
        c, exact = (control.AttitudeController("hub", 0.1, sample_time=0.1) for _ in range(2))
        control.Loop(flexible, exact, actuators=WHEELS)
        control.Loop(
            flexible, c, actuators=WHEELS, seed=1,
            sensors=[
                control.StarTracker("hub", rate=2.0, delay=0.2, noise=1e-5),
                control.Gyro("hub", rate=10.0, noise_density=1e-6, delay=late),
            ],
        )  # fmt: skip
        ahead = np.kron([[1.0, late], [0.0, 1.0]], np.eye(3))
        law = exact.linear()
        law = replace(law, B=law.B @ ahead, D=law.D @ ahead)
        expected = control.margins(plant, law, delay=0.05 + late).disk
        assert control.margins(plant, c, delay=0.05).disk == pytest.approx(expected, rel=0.03)
    slow = control.Gyro("hub", rate=5.0)
    c = control.AttitudeController("hub", 0.1, sample_time=0.1)
    control.Loop(
        flexible, c, actuators=WHEELS, sensors=[slow, control.StarTracker("hub", rate=2.0)]
    )
    with pytest.raises(lb.LimberError, match="gyro is not read at every sample"):
        c.linear()


def test_margins_take_an_estimator_that_is_given_as_the_one_by_default(flexible):
    plant = control.attitude_model(flexible, "hub", NAMES)
    sensors = [
        control.StarTracker("hub", rate=2.0, delay=0.2, noise=1e-5),
        control.Gyro("hub", rate=10.0, noise_density=1e-6),
    ]
    for make in (
        lambda **options: control.AttitudeController("hub", 0.1, sample_time=0.1, **options),
        lambda **options: control.OptimalAttitude("hub", sample_time=0.1, **options),
    ):
        found = []
        for options in ({}, {"observer": control.AttitudeEstimator()}):
            c = make(**options)
            control.Loop(flexible, c, actuators=WHEELS, sensors=sensors, seed=1)
            assert c.linear().inputs == plant.outputs
            found.append(control.margins(plant, c, delay=0.05).disk)
        assert found[0] == pytest.approx(found[1])


def test_a_shaped_slew_leaves_the_panels_quieter(flexible):
    end = quaternion_of_vector(0.25 * TURN)
    profile = lb.trajectories.Trapezoid(0.0, 1.0, 1.0, 0.004)  # turned on and off at once
    slew = control.EigenAxisSlew(REST, end, profile)
    first, second = (omega for omega, _ in control.hub_modes(flexible, "hub")[:2])
    shaper = control.zvd(first) * control.zvd(second)
    swings = []
    for reference in (slew, slew.shaped(shaper)):
        c = control.AttitudeController("hub", 0.1, sample_time=0.1, reference=reference)
        loop = control.Loop(flexible, c, actuators=WHEELS)
        over = reference.duration
        r = lb.simulate(flexible, over + 10.0, torque=loop, every=0.1)
        swings.append(np.ptp(r.deflection("long panel", "tip")[r.t > over, 2]))
    assert swings[1] < 0.1 * swings[0]


def test_optimal_feedback_damps_the_panels_that_a_slew_excites(flexible):
    """Late commands included; the same turn without it swings for minutes."""
    c = control.OptimalAttitude("hub", sample_time=0.1)
    control.Loop(flexible, c, actuators=WHEELS, delay=0.05)
    plant = control.attitude_model(flexible, "hub", NAMES)
    assert control.margins(plant, c, delay=0.05).disk > 0.6
    profile = lb.trajectories.Trapezoid(0.0, 1.0, 1.0, 0.004)
    slew = control.EigenAxisSlew(REST, quaternion_of_vector(0.25 * TURN), profile)
    c = control.OptimalAttitude("hub", sample_time=0.1, reference=slew)
    loop = control.Loop(flexible, c, actuators=WHEELS, delay=0.05)
    r = lb.simulate(flexible, slew.duration + 40.0, torque=loop, every=0.1)
    tip = r.deflection("long panel", "tip")[:, 2]
    assert np.ptp(tip[r.t > slew.duration + 30.0]) < 0.05 * np.ptp(tip)
    assert np.abs(r.signals["attitude error"].y[-100:]).max() < 2e-5
    with pytest.raises(lb.LimberError, match="OptimalAttitude has no filters"):
        control.OptimalAttitude("hub", sample_time=0.1, filters=())


# --- the estimator -------------------------------------------------------------------------------------


def test_the_estimator_finds_attitude_and_bias_within_its_covariance(rigid):
    bias = np.array([3e-5, -2e-5, 5e-5])
    turned = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    sensors = [
        control.Gyro("hub", rate=10.0, noise_density=1e-6, bias=turned.T @ bias, rotation=turned),
        control.StarTracker("hub", rate=2.0, delay=0.3, noise=[2e-5, 2e-5, 1e-4], rotation=turned),
    ]
    estimator = control.AttitudeEstimator(bias=1e-4)
    slew = control.EigenAxisSlew(REST, quaternion_of_vector(TURN), 60.0)
    c = control.AttitudeController("hub", 0.2, sample_time=0.1, reference=slew, observer=estimator)
    loop = control.Loop(rigid, c, sensors=sensors, actuators=WHEELS, seed=5)
    r = lb.simulate(rigid, 120.0, torque=loop, every=0.1)
    away = product(conjugate(r.q[-1, :4]), estimator.quaternion)
    error = np.concatenate([2.0 * away[1:], estimator.bias - bias])
    # the last sample is one sample time before the end, where the craft rests
    assert error @ np.linalg.solve(estimator.covariance, error) < 22.5  # 99.9 % of chi^2(6)
    assert np.abs(estimator.bias - bias).max() < 4e-6
    assert angle(r.q[-1], quaternion_of_vector(TURN)) < 2e-4


# --- momentum, gyros, thrusters ------------------------------------------------------------------------


def test_thrusters_unload_the_wheels_and_the_attitude_stays(rigid):
    v0 = np.zeros(rigid.nv)
    v0[[rigid.layout[name].v_joint.start for name in NAMES]] = [30.0, 20.0, -15.0, 10.0]
    c = control.AttitudeController(
        "hub", 0.3, sample_time=0.1, unloading=control.Unloading(above=3.0, below=0.5, time=30.0)
    )
    loop = control.Loop(rigid, c, actuators=[*WHEELS, *pairs(0.1)])
    r = lb.simulate(rigid, 80.0, v0=v0, torque=loop, every=0.5)
    stored = np.linalg.norm(r.signals["stored momentum"].y, axis=1)
    active = r.signals["unloading"].y[:, 0] > 0.5
    assert stored[0] > 3.0 and stored[-1] < 0.5
    assert active[0] and not active[-1]
    # an exponential, from its begin to its end, but for the smallest pulses
    at = r.signals["stored momentum"].t
    expected = stored[0] * np.exp(-at[active] / 30.0)
    np.testing.assert_allclose(stored[active], expected, atol=0.05)
    assert np.abs(r.signals["attitude error"].y).max() < 1e-3


def test_moment_gyros_turn_the_craft():
    tilt = np.arctan(np.sqrt(0.5))
    gyros = []
    for i, around in enumerate(np.radians([0.0, 90.0, 180.0, 270.0])):
        out = np.array([np.cos(around), np.sin(around), 0.0])
        side = np.array([-np.sin(around), np.cos(around), 0.0])
        gimbal = np.cos(tilt) * np.array([0, 0, 1.0]) + np.sin(tilt) * out
        gyros.append(
            control.MomentGyro(
                f"gyro{i}", gimbal, side, momentum=20.0, speed=600.0, mass=5.0, gimbal_inertia=0.02,
                gimbal_mass=2.0, gimbal_rate=1.0,
            )
        )  # fmt: skip
    s = craft(0, gyros)
    v0 = np.zeros(s.nv)
    for gyro in gyros:
        v0 = gyro.spun_up(s, v0)
    end = quaternion_of_vector(TURN)
    slew = control.EigenAxisSlew(REST, end, 30.0)
    c = control.AttitudeController("hub", 0.5, sample_time=0.05, reference=slew)
    r = lb.simulate(s, 40.0, v0=v0, torque=control.Loop(s, c, actuators=gyros), every=0.5)
    assert angle(r.q[-1], end) < 1e-3
    assert np.abs(r.signals["command"].y).max() < 1.0


def test_thrusters_alone_hold_an_attitude():
    s = lb.models.spacecraft(0).build()
    c = control.AttitudeController("hub", 0.3, sample_time=0.1, reference=REST)
    q0 = s.neutral()
    q0[:4] = quaternion_of_vector(np.array([0.05, -0.02, 0.03]))
    r = lb.simulate(s, 60.0, q0=q0, torque=control.Loop(s, c, actuators=pairs(0.1)), every=0.5)
    assert angle(r.q[-1], REST) < 1e-3
    assert np.abs(r.q[-1, 4:7]).max() < 0.05  # couples: the craft stays where it is


# --- refusals ------------------------------------------------------------------------------------------


def controller(**options):
    return control.AttitudeController("hub", 0.3, sample_time=0.1, **options)


def test_what_cannot_work_is_refused(rigid, flexible):
    arm = lb.models.canadarm().build()
    with pytest.raises(lb.LimberError, match=r"'link1' must be a rigid body with a Free joint"):
        control.Loop(arm, control.AttitudeController("link1", 0.3, sample_time=0.1))
    with pytest.raises(lb.LimberError, match="cannot turn the hub about all three axes"):
        control.Loop(rigid, controller(), actuators=WHEELS[:2])
    with pytest.raises(lb.LimberError, match="no Gyro is mounted on 'hub'"):
        control.Loop(rigid, controller(), sensors=[control.StarTracker("hub", rate=2.0)])
    unloading = control.Unloading(above=3.0, below=1.0, time=10.0)
    with pytest.raises(lb.LimberError, match="unloading needs wheels"):
        control.Loop(rigid, controller(unloading=unloading), actuators=WHEELS)
    with pytest.raises(lb.LimberError, match="below=4 must be less than above=3"):
        control.Unloading(above=3.0, below=4.0, time=1.0)
    with pytest.raises(lb.LimberError, match=r"filters must be filters such as lb\.control\.notch"):
        controller(filters=[1.0])
    with pytest.raises(lb.LimberError, match="at t = 0 s it returned"):
        lb.simulate(rigid, 1.0, torque=controller(reference=lambda t: [1.0, 2.0, 3.0]))
    with pytest.raises(lb.LimberError, match="profile must end at 1"):
        control.EigenAxisSlew(REST, REST, lb.trajectories.Quintic(0.0, 2.0, 1.0))
    with pytest.raises(lb.LimberError, match="is not in a loop yet"):
        controller().linear()


def test_a_slew_beyond_the_wheels_is_told():
    """A quintic of 5.77 / T^2 peak acceleration and 1.875 / T peak rate, against torque and momentum of the wheel."""
    craft = lb.Assembly("craft")
    craft.attach("hub", lb.RigidBody(300.0, inertia=(90.0, 80.0, 100.0)), lb.Free())
    wheels = [
        lb.control.ReactionWheel(f"w{axis}", axis, inertia=0.1, mass=1.0, torque=0.2, momentum=2.0)
        for axis in "xyz"
    ]
    for wheel in wheels:
        wheel.attach(craft, to="hub")
    s = craft.build()
    half = 0.25
    end = [np.cos(half), 0, 0, np.sin(half)]  # by 0.5 rad about z

    def told(duration):
        slew = lb.control.EigenAxisSlew([1, 0, 0, 0], end, duration)
        c = lb.control.AttitudeController("hub", 0.3, sample_time=0.1, reference=slew)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            lb.control.Loop(s, c, actuators=wheels)
        return [str(x.message) for x in found if x.category is lb.ModelWarning]

    J = 100.0 + 2 * 0.05  # the two other wheels turn with the hub, across their axes
    fast = told(20.0)
    torque = 5.7735 * 0.5 / 20.0**2 * J
    assert f"a torque of {torque:.3g} N m from the wheel 'wz', which can provide 0.2" in fast[0]
    assert f"a momentum of {1.875 * 0.5 / 20.0 * J:.3g} N m s" in fast[1]
    enough = 20.0 * (1.875 * 0.5 / 20.0 * J / 2.0)
    assert len(told(0.99 * enough)) == 1 and told(1.01 * enough) == []


@pytest.mark.parametrize("rate", [10.0, 100.0])
def test_the_estimator_knows_its_errors_with_gyros_of_any_rate(rate):
    """NEES of the attitude over independent runs of 8 s, by hand: a reading counts for one sample of the controller."""
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(100.0, inertia=[30.0, 60.0, 80.0]), lb.Free())
    s = a.build()
    found = []
    for seed in range(25):
        estimator = control.AttitudeEstimator(bias=1e-6)
        c = control.AttitudeController("hub", 0.2, sample_time=0.1, observer=estimator)
        sensors = [
            control.StarTracker("hub", rate=1.0, noise=2e-5),
            control.Gyro("hub", rate=rate, noise_density=1e-5),
        ]
        loop = control.Loop(s, c, sensors=sensors, seed=seed)
        r = lb.simulate(s, 7.9, torque=loop, every=7.9)
        away = product(conjugate(estimator.quaternion), r.q[-1][:4])
        error = 2.0 * away[1:] * np.sign(away[0])
        found.append(error @ np.linalg.solve(estimator.covariance[:3, :3], error))
    assert control.mean_test(found, 3, level=0.999)


@pytest.mark.parametrize(("star_late", "gyro_late"), [(0.25, 0.0), (0.0, 0.05)])
def test_late_readings_count_at_their_own_times(rigid, star_late, gyro_late):
    """While a slew accelerates, the present rate would turn a late attitude by 1e-4 rad too far."""
    found = []
    for seed in range(4):
        estimator = control.AttitudeEstimator(bias=1e-6)
        slew = control.EigenAxisSlew(REST, quaternion_of_vector(np.array([0.3, 0.2, -0.4])), 20.0)
        c = control.AttitudeController(
            "hub", 0.2, sample_time=0.1, reference=slew, observer=estimator
        )
        sensors = [
            control.StarTracker("hub", rate=2.0, delay=star_late, noise=2e-5),
            control.Gyro("hub", rate=10.0, delay=gyro_late, noise_density=1e-5),
        ]
        loop = control.Loop(rigid, c, sensors=sensors, seed=seed)
        r = lb.simulate(rigid, 5.9, torque=loop, every=0.1)
        away = product(conjugate(estimator.quaternion), r.q[-2][:4])  # the last sample
        error = 2.0 * away[1:] * np.sign(away[0])
        found.append(error @ np.linalg.solve(estimator.covariance[:3, :3], error))
    assert control.mean_test(found, 3, level=0.999)
