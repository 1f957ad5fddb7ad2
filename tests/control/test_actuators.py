"""Servos, series elastic joints, wheels, gyros and thrusters against closed forms and conservation laws."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import limber as lb

OPTIONS = {"method": "dop853", "rtol": 1e-10, "atol": 1e-12}


class Commands(lb.control.Controller):
    """Commands by a function of time."""

    def __init__(self, function, sample_time):
        self.function, self.sample_time = function, sample_time

    def command(self, t, measured):
        return np.atleast_1d(self.function(t))


def rotor(joint, inertia=2.0):
    a = lb.Assembly("rotor")
    a.attach("wheel", lb.RigidBody(1.0, inertia=[inertia] * 3), joint)
    return a


def run(system, actuators, function, t_end, sample_time=0.01, **options):
    loop = lb.control.Loop(system, Commands(function, sample_time), actuators=actuators)
    return lb.simulate(system, t_end, torque=loop, **{**OPTIONS, **options})


# --- servos --------------------------------------------------------------------------------------


def test_the_rotor_counts_once_in_the_joint():
    servo = lb.control.Servo("wheel", ratio=100.0, rotor_inertia=1e-4)
    assert servo.armature == pytest.approx(1.0)
    bare = rotor(lb.Revolute("z"))
    with pytest.raises(lb.LimberError, match=r"joint has armature=0.*lb\.control\.fit"):
        run(bare.build(), [servo], lambda t: 1.0, 0.1)
    with pytest.raises(lb.LimberError, match="counted twice"):
        lb.control.fit(rotor(lb.Revolute("z", armature=1.0)), servo)
    with pytest.raises(lb.LimberError, match=r"armature=0\.9"):
        run(rotor(lb.Revolute("z", armature=0.9)).build(), [servo], lambda t: 1.0, 0.1)
    r = run(lb.control.fit(bare, servo).build(), [servo], lambda t: 6.0, 1.0)
    assert r.v[-1, 0] == pytest.approx(6.0 / (2.0 + 1.0), rel=1e-9)
    assert not bare.attachments["wheel"].joint.physics.armature.any()  # the first one is as it was


def test_friction_of_the_servo_is_that_of_the_joint():
    servo = lb.control.Servo("wheel", friction=0.5, damping=0.1)
    a = lb.control.fit(rotor(lb.Revolute("z", damping=0.2)), servo)
    physics = a.attachments["wheel"].joint.physics
    assert physics.friction[0] == 0.5 and physics.damping[0] == pytest.approx(0.3)
    with pytest.raises(lb.LimberError, match="only friction=0"):
        run(rotor(lb.Revolute("z", damping=0.2)).build(), [servo], lambda t: 1.0, 0.1)


@pytest.mark.parametrize("method", ["dop853", "sdirk4", "rk4"])
def test_the_current_loop_is_integrated_in_closed_form(method):
    T = 0.02
    servo = lb.control.Servo("wheel", current_time=T)
    s = rotor(lb.Revolute("z")).build()
    options = {"step": 1e-3} if method == "rk4" else {}
    r = run(s, [servo], lambda t: 3.0 if t < 0.095 else -1.0, 0.2, method=method, **options)
    t = r.t
    first = 3.0 * (1 - np.exp(-t / T))
    there = 3.0 * (1 - np.exp(-0.1 / T))
    second = -1.0 + (there + 1.0) * np.exp(-(t - 0.1) / T)
    tau = np.where(t <= 0.1, first, second)
    assert np.allclose(r.tau[:, 0], tau, rtol=0, atol=1e-12)
    impulse = 3.0 * (0.1 - T * (1 - np.exp(-0.1 / T)))
    impulse += -0.1 + (there + 1.0) * T * (1 - np.exp(-0.1 / T))
    assert 2.0 * r.v[-1, 0] == pytest.approx(impulse, rel=1e-9)
    assert r.power_audit().accuracy < (1e-7 if method == "rk4" else 1e-9)


@pytest.mark.parametrize("method", ["dop853", "sdirk4"])
def test_back_emf_leads_to_the_no_load_speed_in_closed_form(method):
    k, R, U, N, eta, I = 0.07, 0.35, 24.0, 50.0, 0.8, 2.0
    servo = lb.control.Servo(
        "wheel", ratio=N, torque_constant=k, resistance=R, voltage=U, efficiency=eta
    )
    s = rotor(lb.Revolute("z"), I).build()
    r = run(s, [servo], lambda t: 1e6, 0.02, 0.01, method=method)
    no_load = U / (k * N)
    time_constant = I * R / (N**2 * k**2 * eta)
    expected = no_load * (1 - np.exp(-r.t / time_constant))
    assert np.allclose(r.v[:, 0], expected, rtol=1e-6, atol=1e-8)


def test_limits_of_torque_rate_and_power():
    s = rotor(lb.Revolute("z")).build()
    r = run(s, [lb.control.Servo("wheel", limit=2.0)], lambda t: 5.0, 0.5)
    assert np.abs(r.tau).max() == 2.0
    r = run(
        s, [lb.control.Servo("wheel", torque_rate=50.0)], lambda t: 0.0 if t < 0.1 else 5.0, 0.5
    )
    steps = np.diff(np.unique(r.tau[:, 0].round(9)))
    assert np.allclose(steps, 0.5)  # of 50 N m/s in 0.01 s
    assert r.tau[-1, 0] == 5.0
    r = run(s, [lb.control.Servo("wheel", power=3.0)], lambda t: 5.0, 2.0)
    assert (r.tau[:, 0] * r.v[:, 0]).max() <= 3.0 * (1 + 1e-9)
    assert r.tau[-1, 0] == pytest.approx(3.0 / r.v[-1, 0])
    free = solve_ivp(
        lambda t, v: min(5.0, 3.0 / max(v[0], 1e-9)) / 2.0, (0, 2), [0.0], rtol=1e-10, atol=1e-12
    )
    assert r.v[-1, 0] == pytest.approx(free.y[0, -1], rel=1e-6)


def test_the_rate_of_the_torque_is_limited_from_the_first_command_on():
    s = rotor(lb.Revolute("z")).build()
    r = run(s, [lb.control.Servo("wheel", torque_rate=7.0)], lambda t: 100.0, 0.2)
    assert (r.tau[:, 0] <= 7.0 * r.t + 1e-9).all()
    assert r.tau[-1, 0] == pytest.approx(7.0 * 0.2, abs=0.071)  # it grows at samples of 0.01 s


def test_a_stuck_servo_keeps_its_torque_and_a_dead_one_gives_none():
    s = rotor(lb.Revolute("z")).build()
    servo = lb.control.Servo("wheel", stuck=[(0.1, 0.2)], dead=[(0.3, 0.405)])
    r = run(s, [servo], lambda t: 1.0 if t < 0.095 else 2.0, 0.5, every=0.001)

    def between(a, b):
        return np.unique(r.tau[(r.t > a + 1e-9) & (r.t < b - 1e-9), 0]).tolist()

    assert between(0.0, 0.2) == [1.0]
    assert between(0.2, 0.3) == [2.0]
    assert between(0.3, 0.405) == [0.0]
    assert between(0.405, 0.5) == [2.0]


@pytest.mark.parametrize("t0", [10.0, 1.7e9])
def test_failures_have_times_of_the_simulation_as_those_of_sensors(t0):
    """Times that count from an epoch have seven digits behind the point; the run must come to its end all the same."""
    s = rotor(lb.Revolute("z")).build()
    servo = lb.control.Servo("wheel", dead=[(t0 + 0.055, t0 + 0.105)], stuck=[(t0 + 0.2, t0 + 0.3)])
    sensor = lb.control.Encoder(rate=100.0, failures=[(t0 + 0.05, t0 + 0.1)])
    controller = Commands(lambda t: 1.0 if t < t0 + 0.195 else 3.0, 0.01)
    guard = lb.control.Guard(controller, uses=())
    loop = lb.control.Loop(s, guard, actuators=[servo], sensors=[sensor])
    r = lb.simulate(s, t0 + 0.4, t0=t0, torque=loop, **OPTIONS)
    # torque 1 but for 0.05 s without any, and 3 for the last 0.1 s
    assert r.v[-1, 0] == pytest.approx((0.3 - 0.05 + 3.0 * 0.1) / 2.0, abs=8 * np.spacing(t0))
    assert np.isnan(r.signals["encoder"].y).sum() == 5


def test_two_servos_on_one_joint_are_refused():
    s = rotor(lb.Revolute("z")).build()
    with pytest.raises(lb.LimberError, match=r"two of them drive v\[0\]"):
        run(s, [lb.control.Servo("wheel", "a"), lb.control.Servo("wheel", "b")], lambda t: 0.0, 1.0)


# --- series elastic joints ----------------------------------------------------------------------


def test_a_series_elastic_joint_swings_at_its_two_mass_frequency():
    sea = lb.control.SeriesElastic("link", stiffness=200.0, ratio=50.0, rotor_inertia=4e-4)
    a = lb.Assembly("sea")
    sea.attach(a, lb.RigidBody(1.0, inertia=[0.5] * 3), lb.Revolute("z"))
    s = a.build()
    assert list(s.layout) == ["link motor", "link"]
    assert lb.modes(s, s.neutral()).omega.max() == pytest.approx(
        np.sqrt(200.0 * (1 / 1.0 + 1 / 0.5))
    )
    r = run(s, [sea], lambda t: 1.5, 1.0)
    total = 1.0 * r.v[:, 0] + 0.5 * (r.v[:, 0] + r.v[:, 1])
    assert np.allclose(total, 1.5 * r.t, atol=1e-9)  # the momentum grows by the torque
    with pytest.raises(lb.LimberError, match="needs rotor_inertia"):
        lb.control.SeriesElastic("link", stiffness=1.0)


# --- wheels and gyros ---------------------------------------------------------------------------


def craft(*devices):
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(50.0, inertia=np.diag([8.0, 9.0, 10.0])), lb.Free())
    for device in devices:
        device.attach(a, to="hub")
    return a.build()


def test_a_wheel_turns_the_craft_the_other_way_and_momentum_is_kept():
    wheel = lb.control.ReactionWheel("wheel", "z", inertia=0.02, mass=1.0, torque=0.1)
    s = craft(wheel)
    r = run(s, [wheel], lambda t: 0.5, 10.0)
    assert np.abs(r.tau[:, s.layout["wheel"].v_joint]).max() == 0.1
    assert np.allclose(r.momentum, 0.0, atol=1e-9)
    assert r.joint_speed("hub")[-1, 2] == pytest.approx(-0.1 * 10.0 / 10.0, rel=1e-6)


def test_a_wheel_stops_gaining_at_its_momentum():
    wheel = lb.control.ReactionWheel("wheel", "x", inertia=0.02, mass=1.0, torque=0.2, momentum=1.0)
    s = craft(wheel)
    r = run(s, [wheel], lambda t: 0.2 if t < 10 else -0.2, 12.0)
    speed = r.joint_speed("wheel")[:, 0]
    assert 0.98 * wheel.speed_limit < speed.max() <= wheel.speed_limit
    assert speed[-1] < 0.7 * wheel.speed_limit  # braking has the full torque


def test_a_moment_gyro_gives_the_torque_of_its_momentum_and_rate():
    h, rate = 5.0, 0.2
    gyro = lb.control.MomentGyro(
        "gyro", "z", "x", momentum=h, speed=600.0, mass=2.0, gimbal_inertia=0.05, gimbal_mass=1.0,
        gimbal_rate=rate, bandwidth=2000.0,
    )  # fmt: skip
    s = craft(gyro)
    v0 = gyro.spun_up(s)
    loop = lb.control.Loop(s, Commands(lambda t: 1.0, 0.01), actuators=[gyro])
    r = lb.simulate(s, 1.0, v0=v0, torque=loop, rtol=1e-9, atol=1e-11)
    assert np.allclose(r.momentum, r.momentum[0], atol=1e-8)
    assert r.joint_speed("gyro")[-1, 0] == pytest.approx(600.0, rel=1e-3)
    # the rotor's momentum turns from x towards y, so the craft gets the opposite about y
    angle = r.joint("gyro gimbal")[-1, 0]
    load = h * np.cos(angle) * abs(r.joint_speed("hub")[-1, 1])
    gain = gyro.bandwidth * (gyro.gimbal_inertia + 0.5 * gyro.rotor_inertia)
    assert r.joint_speed("gyro gimbal")[-1, 0] == pytest.approx(rate - load / gain, rel=1e-3)
    early = int(np.searchsorted(r.t, 0.1))
    angle, turning = r.joint("gyro gimbal")[early, 0], r.joint_speed("hub")[early, 1]
    assert turning == pytest.approx(-h * np.sin(angle) / 9.06, rel=1e-2)
    with pytest.raises(lb.LimberError, match="perpendicular"):
        lb.control.MomentGyro(
            "gyro", "z", "z", momentum=h, speed=1.0, mass=1.0, gimbal_inertia=1.0, gimbal_mass=1.0
        )
    with pytest.raises(lb.LimberError, match=r"gyro\.attach"):
        run(craft(), [gyro], lambda t: 0.0, 1.0)


# --- thrusters -----------------------------------------------------------------------------------


def thruster(**options):
    given = {"force": 2.0, "period": 0.1} | options
    return lb.control.Thruster("jet", "hub", (0, 1.0, 0), "x", **given)


def test_a_thruster_gives_the_impulse_of_its_pulses_in_body_axes():
    s = craft()
    r = run(s, [thruster()], lambda t: 0.5, 0.5, sample_time=0.1, every=0.001)
    on = np.linalg.norm(r.tau, axis=1) > 0
    assert on.mean() == pytest.approx(0.25, abs=0.01)
    assert np.allclose(r.tau[on], [0, 0, -2.0, 2.0, 0, 0])
    assert r.v[-1, 2] == pytest.approx(-0.5 * 0.5 / 10.0, rel=1e-8)  # moment times time / inertia
    off = s.layout["hub"].v_joint
    assert off == slice(0, 6)


def test_pulses_shorter_than_the_minimum_are_saved_up():
    s = craft()
    jet = thruster(minimum_pulse=0.03)
    r = run(s, [jet], lambda t: 0.2, 1.0, sample_time=0.1, every=0.0005)
    on = np.abs(r.tau[:, 2]) > 0
    edges = np.flatnonzero(np.diff(on.astype(int)))
    lengths = np.diff(r.t[edges])[::2]
    assert lengths.min() >= 0.03 - 1e-3
    total = r.signals["command"].y.sum() * 0.1 / 2.0
    assert on.mean() * 1.0 == pytest.approx(total, abs=0.03)
    resolved = thruster(resolution=0.02)
    r = run(s, [resolved], lambda t: 0.5, 1.0, sample_time=0.1, every=0.0005)
    assert (np.abs(r.tau[:, 2]) > 0).mean() == pytest.approx(0.25, abs=0.021)


@pytest.mark.parametrize("options", [{}, {"minimum_pulse": 0.03}, {"resolution": 0.02}])
def test_a_thruster_does_not_fire_later_what_it_could_not_give_at_once(options):
    def command(t):
        return 50.0 if t < 0.45 else 0.0

    r = run(craft(), [thruster(**options)], command, 1.0, sample_time=0.1)
    assert r.v[-1, 2] == pytest.approx(-2.0 * 0.5 / 10.0, rel=1e-8)  # five periods at full force


def test_a_thruster_whose_period_is_not_the_sample_time_is_refused():
    """Its impulse would be another one than its commands ask for."""
    with pytest.raises(lb.LimberError, match=r"2 times what is commanded\. Give period=0\.05"):
        run(craft(), [thruster()], lambda t: 0.5, 0.5, sample_time=0.05)


def test_misalignment_and_failure_of_thrusters():
    angle = 0.01
    jet = thruster(misalignment=(0, 0, angle))
    expected = 2.0 * np.array([np.cos(angle), np.sin(angle), 0])
    assert np.allclose(jet.wrench[3:], expected)
    assert np.allclose(jet.wrench[:3], np.cross([0, 1, 0], expected))
    s = craft()
    r = run(s, [thruster(stuck_off=[(0.0, 10.0)])], lambda t: 0.5, 0.5, sample_time=0.1)
    assert not r.tau.any()
    a = lb.Assembly("arm")
    a.attach("hub", lb.RigidBody(1.0, inertia=[1, 1, 1]), lb.Revolute("z"))
    with pytest.raises(lb.LimberError, match="Free joint"):
        run(a.build(), [thruster()], lambda t: 0.5, 0.5)
    with pytest.raises(lb.LimberError, match="could not fire"):
        thruster(minimum_pulse=0.2)


# --- commands ------------------------------------------------------------------------------------


def test_a_command_has_one_number_for_each_channel():
    s = rotor(lb.Revolute("z")).build()
    with pytest.raises(lb.LimberError, match=r"must be 1 numbers.*\(wheel\)"):
        run(s, [lb.control.Servo("wheel")], lambda t: np.zeros(2), 0.1)


# --- what the loops of other numbers, initial commands and failures do ---------------------------


def test_a_thruster_does_not_fire_while_it_is_stuck_off_be_it_within_a_pulse():
    s = craft()
    for off, firing in (([], 3.0), ([(0.5, 0.7)], 2.8), ([(0.5, 1.5)], 2.0), ([(2.2, 9.0)], 2.2)):
        jet = lb.control.Thruster(
            "jet", "hub", (0, 0, 0), "x", force=2.0, period=1.0, stuck_off=off
        )
        r = run(s, [jet], lambda t: 2.0, 3.0, sample_time=1.0, t_eval=[0.0, 0.6, 1.2, 3.0])
        momentum = np.linalg.norm(r.momentum[-1, 3:])
        assert momentum == pytest.approx(2.0 * firing, rel=1e-9)
        if off == [(0.5, 1.5)]:
            assert not r.tau[1:3].any()


def test_the_initial_command_is_in_effect_also_where_the_rate_of_the_torque_is_limited():
    s = rotor(lb.Revolute("z")).build()
    servo = lb.control.Servo("wheel", torque_rate=10.0)
    loop = lb.control.Loop(
        s, Commands(lambda t: 5.0, 0.01), actuators=[servo], delay=0.1, initial=[3.0]
    )
    t = np.arange(0.005, 0.5, 0.01)
    r = lb.simulate(s, t[-1], torque=loop, t_eval=t, **OPTIONS)
    # the first command may be off it by what the rate makes of the time since
    expected = np.where(t < 0.1, 3.0, np.minimum(5.0, 3.0 + 10.0 * (t - 0.005)))
    assert np.allclose(r.tau[:, 0], expected, atol=1e-9)


def test_a_plant_may_have_another_rotor_and_friction_than_its_servo_says():
    servo = lb.control.Servo("wheel", ratio=10.0, rotor_inertia=0.01, friction=0.2, damping=0.05)
    s = lb.control.fit(rotor(lb.Revolute("z")), servo).build()
    names = {"wheel.joint_armature": 1.0, "wheel.joint_friction": 0.2, "wheel.joint_damping": 0.05}
    for name, value in names.items():
        values = value * np.array([0.5, 1.0, 1.5])
        loops = [
            lb.control.Loop(s, Commands(lambda t: 3.0, 0.01), actuators=[servo]) for _ in values
        ]
        batch = lb.simulate(s, 0.5, torque=loops, parameters={name: values}, **OPTIONS)
        assert batch.finished.all(), batch.failures
        for i, x in enumerate(values):
            alone = lb.simulate(s.with_parameters({name: x}), 0.5, torque=[3.0], **OPTIONS)
            assert batch[i].v[-1, 0] == pytest.approx(alone.v[-1, 0], rel=1e-8)
    bare = rotor(lb.Revolute("z")).build()
    loop = lb.control.Loop(s, Commands(lambda t: 3.0, 0.01), actuators=[servo])
    with pytest.raises(lb.LimberError, match=r"joint has armature=0.*lb\.control\.fit"):
        lb.simulate(bare, 0.1, torque=loop)


def test_an_attitude_controller_does_not_know_how_thrusters_are_misaligned():
    """Its first commands are those for the nominal directions."""
    commands = []
    for misaligned in ((0.0, 0.0, 0.0), (0.02, -0.03, 0.05)):
        jets = [
            lb.control.Thruster(
                f"{arm} {sign:+d}", "hub", np.eye(3)[arm], sign * np.eye(3)[(arm + 1) % 3],
                force=1.0, period=0.1, misalignment=misaligned,
            )
            for arm in range(3)
            for sign in (1, -1)
        ]  # fmt: skip
        c = lb.control.AttitudeController("hub", 0.2, sample_time=0.1, reference=[0.6, 0, 0.8, 0])
        s = craft()
        r = lb.simulate(s, 0.05, torque=lb.control.Loop(s, c, actuators=jets))
        commands.append(r.signals["command"].y[0])
    assert commands[0].any()
    np.testing.assert_array_equal(*commands)
