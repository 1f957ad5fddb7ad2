"""What a loop does when readings are lost or nan, or when commands are too large or not finite: hold, limit, safe stop."""

import numpy as np
import pytest

import limber as lb
from limber.control.guard import HOLD, LIMIT, OK, STOP, WAIT

T = 0.01


@pytest.fixture(scope="module")
def s():
    a = lb.Assembly("rotor")
    a.attach("wheel", lb.RigidBody(1.0, inertia=[2.0] * 3), lb.Revolute("z"))
    return a.build()


class Counter(lb.control.Controller):
    """Commands 1, 2, 3, ... since its start."""

    sample_time = T

    def start(self, t, measured):
        self.n = 0

    def command(self, t, measured):
        self.n += 1
        return [float(self.n)]


def run(s, controller, t_end=0.3, sensor=None, **options):
    """States of the guard, and torques just after each sample."""
    sensors = [] if sensor is None else [sensor]
    loop = lb.control.Loop(s, controller, sensors=sensors, **options)
    t = np.arange(round(t_end / T)) * T
    r = lb.simulate(s, t_end, torque=loop, t_eval=t + 0.5 * T)
    return r.signals["guard"].y[:, 0].astype(int), r.tau[:, 0], r


def encoder(**options):
    return lb.control.Encoder("wheel", rate=1.0 / T, **options)


def test_the_controller_waits_for_the_first_readings(s):
    state, torque, _ = run(s, Counter(), sensor=encoder(delay=0.025))
    assert state[:4].tolist() == [WAIT] * 3 + [OK]
    assert torque[:5].tolist() == [0, 0, 0, 1, 2]


def test_a_controller_that_uses_no_sensor_does_not_wait_for_one(s):
    guard = lb.control.Guard(Counter(), uses=())
    state, torque, _ = run(s, guard, sensor=encoder(failures=[(0.0, 1.0)]))
    assert (state == OK).all()
    assert torque[:3].tolist() == [1, 2, 3]


def test_the_last_command_is_held_while_readings_are_nan(s):
    state, torque, r = run(s, Counter(), sensor=encoder(failures=[(0.095, 0.145)]))
    assert state[9:16].tolist() == [OK] + [HOLD] * 5 + [OK]
    assert torque[9:16].tolist() == [10] * 6 + [11]
    assert np.isnan(r.signals["encoder"].y[10:15]).all()


def test_a_lost_sample_is_noticed_by_its_age(s):
    sensor = encoder(outages=[(0.095, 0.145)])
    state, torque, r = run(s, Counter(), sensor=sensor)
    assert (state == OK).all() and torque[-1] == 30  # nothing is said of age
    assert len(r.signals["encoder"]) == 25
    guard = lb.control.Guard(Counter(), oldest=0.025)
    state, torque, _ = run(s, guard, sensor=sensor)
    assert state[9:16].tolist() == [OK] * 3 + [HOLD] * 3 + [OK]


def test_a_safe_stop_after_too_long_without_readings(s):
    guard = lb.control.Guard(Counter(), hold=0.03)
    with pytest.warns(
        lb.ModelWarning, match=r"safe stop at t = 0\.13 s: Counter.*since t = 0\.09 s"
    ):
        state, torque, _ = run(s, guard, sensor=encoder(failures=[(0.095, 0.205)]))
    assert state[9:14].tolist() == [OK, HOLD, HOLD, HOLD, STOP]
    assert (state[13:] == STOP).all() and (torque[13:] == 0).all()


def test_a_stop_ends_after_sound_samples_if_it_may(s):
    guard = lb.control.Guard(Counter(), hold=0.03, recover=5)
    with pytest.warns(lb.ModelWarning, match="safe stop"):
        state, torque, _ = run(s, guard, sensor=encoder(failures=[(0.095, 0.195)]))
    assert (state[13:24] == STOP).all() and (state[24:] == OK).all()
    assert torque[24] == 1  # it was started again


def test_a_controller_may_have_a_safe_command_of_its_own(s):
    class Brakes(Counter):
        def safe_command(self, t, measured):
            return [-7.0]

    guard = lb.control.Guard(Brakes(), hold=0.0)
    with pytest.warns(lb.ModelWarning, match="safe stop"):
        state, torque, _ = run(s, guard, sensor=encoder(failures=[(0.095, 1.0)]))
    assert torque[10:].tolist() == [-7.0] * 20
    assert state[10] == STOP


def test_commands_that_are_not_finite_are_not_passed_on(s):
    class Breaks(Counter):
        def command(self, t, measured):
            n = super().command(t, measured)
            return [np.nan] if 0.095 < t < 0.115 else n

    state, torque, _ = run(s, Breaks())
    assert state[9:13].tolist() == [OK, HOLD, HOLD, OK]
    assert torque[9:13].tolist() == [10, 10, 10, 13]


def test_commands_are_cut_to_the_limit(s):
    state, torque, _ = run(s, lb.control.Guard(Counter(), limit=5.0))
    assert state[:7].tolist() == [OK] * 5 + [LIMIT] * 2
    assert torque[:8].tolist() == [1, 2, 3, 4, 5, 5, 5, 5]


def test_sensors_that_the_controller_does_not_use_may_fail(s):
    sensors = [encoder(), lb.control.Gyro("wheel", rate=100.0, failures=[(0.0, 10.0)])]
    loop = lb.control.Loop(s, lb.control.PD(1.0, 1.0, sample_time=T), sensors=sensors)
    r = lb.simulate(s, 0.1, torque=loop)
    assert (r.signals["guard"].y == OK).all()


def test_a_saturated_or_stuck_servo_is_known_to_the_controller(s):
    class Watches(Counter):
        def __init__(self):
            self.applied = []

        def command(self, t, measured):
            self.applied.append(None if measured.applied is None else float(measured.applied[0]))
            return super().command(t, measured)

    watch = Watches()
    servo = lb.control.Servo("wheel", limit=3.0, stuck=[(0.055, 0.085)])
    run(s, watch, actuators=[servo])
    assert watch.applied[:6] == [None, 1.0, 2.0, 3.0, 3.0, 3.0]
    watch = Watches()
    run(s, watch, actuators=[lb.control.Servo("wheel", stuck=[(0.055, 0.085)])])
    assert watch.applied[5:11] == [5.0, 6.0, 6.0, 6.0, 6.0, 10.0]


def test_wrong_arguments_are_named():
    with pytest.raises(lb.LimberError, match="limit must not be negative"):
        lb.control.Guard(Counter(), limit=-1.0)
    with pytest.raises(lb.LimberError, match="recover must be a whole number"):
        lb.control.Guard(Counter(), recover=0)
    with pytest.raises(lb.LimberError, match="has no method 'start'"):
        lb.control.Guard(object())
    ends = Counter()
    ends.finish = 3.0  # a time: it would be called when the motion has ended
    with pytest.raises(lb.LimberError, match=r"Counter.finish must be a method, .* got 3.0: give"):
        lb.control.Guard(ends)


def test_a_reference_that_is_nan_for_a_while_is_held_and_then_stopped(s):
    def reference(t):
        return 0.5 if t < 0.095 or 0.145 < t < 0.195 else np.nan

    pid = lb.control.PID(2.0, 1.0, 1.0, sample_time=T, reference=reference)
    with pytest.warns(lb.ModelWarning, match=r"safe stop at t = 0\.3.*no finite command"):
        state, torque, _ = run(s, pid, 0.4)
    assert state[9:16].tolist() == [OK] + [HOLD] * 5 + [OK]
    assert (torque[10:15] == torque[9]).all()
    assert np.isfinite(torque).all()
    assert state[-1] == STOP


def test_joints_without_a_reference_hold_where_they_started(s):
    pd = lb.control.PD(2.0, 1.0, sample_time=T, reference={"wheel": None})
    state, torque, _ = run(s, pd)
    assert (state == OK).all()
    assert (torque == 0.0).all()


@pytest.mark.parametrize("given", [None, "full", [1j]])
def test_what_is_no_command_is_refused_with_the_name_of_the_controller(s, given):
    class Wrong(Counter):
        def command(self, t, measured):
            return given

    with pytest.raises(lb.LimberError, match=r"Wrong\.command returned"):
        run(s, Wrong())


def test_a_stop_before_the_first_command_ends_the_initial_one():
    """A sensor that never works: the initial torque acts as long as readings are waited for, and no longer."""
    a = lb.Assembly("link").attach("link", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Revolute("z"))
    s = a.build()
    pd = lb.control.PD(1.0, 1.0, sample_time=0.01)
    dead = lb.control.Encoder(rate=100.0, failures=[(0.0, 10.0)])
    for hold, stopped in (
        (None, 0.11),
        (0.03, 0.04),
        (0.07, 0.08),
    ):  # by samples, in spite of rounding
        loop = lb.control.Loop(s, lb.control.Guard(pd, hold=hold), sensors=[dead], initial=[2.0])
        with pytest.warns(lb.ModelWarning, match="safe stop"):
            r = lb.simulate(s, 0.2, torque=loop, every=0.001)
        assert r.tau[r.t < stopped - 1e-6].min() == 2.0
        assert not r.tau[r.t > stopped + 1e-6].any()
