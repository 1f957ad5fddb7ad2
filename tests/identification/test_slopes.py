"""Slopes of readings by unknowns are those of the simulated readings, which central differences of order eight give."""

import numpy as np
import pytest

import limber as lb
from limber.identification import sensitivity, simulated_experiment
from limber.identification.experiment import prepared
from limber.identification.problem import Bias, TimeProblem
from limber.identification.readings import checked, deviations
from limber.identification.unknowns import sought

#: Of the largest slope of a channel, with simulations of rtol 1e-12.
TOLERANCE = 1e-6
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)


def arm(joint=None) -> lb.System:
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    a.attach("base", lb.RigidBody(4.0, (0.1, 0, 0), (0.1, 0.2, 0.2), nodes={"out": (0.3, 0, 0)}), joint or lb.Revolute("z", armature=0.1, damping=0.5))  # fmt: skip
    a.attach("link", lb.beam(1.0, 1.0, EI=(200.0, 300.0), modes=1, damping=0.02), lb.Revolute("y", damping=0.3), "base", "out")  # fmt: skip
    a.attach("tool", lb.RigidBody(0.5, (0.05, 0, 0.02), 0.01 * np.eye(3)), lb.Fixed(), "link", "tip")  # fmt: skip
    return a.build()


SENSORS = [
    lb.control.Encoder("link", rate=50.0, noise=1e-3),
    lb.control.Tachometer("link", rate=50.0, noise=1e-3),
    lb.control.StrainGauge("link", at=0.3, y=0.01, z=0.02, rate=50.0, noise=1e-5),
    lb.control.Gyro("tool", rate=50.0, noise=1e-3),
    lb.control.Accelerometer(
        "link", "tip", rate=50.0, noise=1e-2, rotation=[[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    ),
    lb.control.ForceTorque("link", rate=50.0, noise=1e-2),
]
PARAMETERS = [
    "link.EIy", "link.damping_ratio", "link.mass", "tool.mass", "tool.com[0]", "tool.inertia[0, 1]",
    "link.offset[2]", "link.joint_damping", "gravity[2]",
]  # fmt: skip
T = np.linspace(0.0, 0.4, 11)


def problem(s, sensors=SENSORS, parameters=PARAMETERS, **options) -> TimeProblem:
    read = checked(s, sensors)
    data = simulated_experiment(s, sensors, T, **options)
    plan = prepared(s, read, data, 0, 1e-12, 1e-14)
    noise = {one.name: deviations(one, len(one.reader(s).labels)) for one in read}
    biases = [Bias("encoder", 0, "encoder link", np.inf)]
    return TimeProblem(s, [plan], read, sought(s, parameters), biases, noise)


def check(p: TimeProblem, step: float = 2e-3) -> None:
    z = np.zeros(p.size)
    values, slopes = p.slopes(z)
    for mine, other in zip(values, p.modelled(z)):
        assert np.allclose(mine, other, atol=1e-9 * np.abs(other).max(initial=1.0))
    largest = [np.abs(slope).max(axis=0) for slope in slopes]
    for j, name in enumerate(p.names):
        along = np.eye(p.size)[j]
        pairs = [(p.modelled(i * step * along), p.modelled(-i * step * along)) for i in (1, 2, 3, 4)]  # fmt: skip
        for k, c in enumerate(p.channels):
            same = [v for v, other in zip(values, p.channels) if other.noise == c.noise]
            if (
                largest[k][j] == 0.0
            ):  # the channel does not depend on this unknown: only errors of simulations change
                up, down = pairs[-1]
                assert np.abs(up[k] - down[k]).max() <= 1e-10 * np.abs(same).max(), (name, c.label)
                continue
            reference = sum(w * (up[k] - down[k]) for w, (up, down) in zip(WEIGHTS, pairs)) / step
            # a channel that hardly depends on this unknown has differences of the errors of simulations
            floor = 1e-12 * np.abs(same).max() / step
            error = np.abs(slopes[k][:, j] - reference).max()
            assert error <= TOLERANCE * largest[k][j] + floor, (name, c.label, error, largest[k][j])


def table(s, seed: int = 0) -> lb.Table:
    t = np.linspace(0.0, 0.4, 9)
    return lb.Table(t, 3.0 * np.random.default_rng(seed).standard_normal((9, 2)), smooth=True)


def test_slopes_of_all_sensors():
    s = arm()
    check(problem(s, torque=table(s), settled=True, unknown_start=["link.joint0"]))


def test_slopes_with_unknown_start_and_wrench():
    s = arm()
    wrench = lb.Table([0.0, 0.1, 0.101, 0.4], [[0] * 6, [0, 0, 0, 5, 0, 9], [0] * 6, [0] * 6])
    options = {"external": {("tool", None): wrench}, "unknown_start": ["base.joint0 rate", "link.mode1"]}  # fmt: skip
    check(problem(s, SENSORS[:2] + SENSORS[4:], PARAMETERS[3:5], **options))


def test_slopes_with_prescribed_motion():
    s = arm()
    path = lb.trajectories.Cycloid(0.0, 0.6, 0.4)
    check(problem(s, SENSORS[2:], PARAMETERS[1:5], motion={"base": path}, settled=True))


def test_slopes_with_quaternions():
    s = arm(lb.Spherical())
    torque = lb.Table(np.linspace(0.0, 0.4, 9), np.random.default_rng(1).standard_normal((9, 4)), smooth=True)  # fmt: skip
    options = {
        "v0": [0.5, 1.0, -0.5, 0, 0, 0.0],
        "unknown_start": ["base.joint1", "base.joint0 rate"],
    }
    # with shorter steps, errors of the simulations show
    check(problem(s, SENSORS[:5], PARAMETERS[1:4], torque=torque, **options), step=8e-3)


def test_slopes_of_one_freedom_and_of_none():
    for gravity in (-9.81, 0.0):
        a = lb.Assembly("pendulum", gravity=(0, gravity, 0))
        rod = lb.RigidBody(2.0, (0.4, 0, 0), 0.1 * np.eye(3))
        a.attach("rod", rod, lb.Revolute("z", damping=0.3))
        encoder = [lb.control.Encoder(rate=50.0, noise=1e-3)]
        p = problem(a.build(), encoder, ["rod.mass", "rod.com[0]", "rod.joint_damping"])
        check(p)
        # without gravity nothing moves, and the bias alone changes the readings
        assert p.slopes(np.zeros(4))[1][0].any(axis=0).tolist() == [gravity != 0.0] * 3 + [True]


@pytest.mark.parametrize(
    "joint",
    [
        lb.Revolute("y", damping=0.3, friction=0.8),
        lb.Revolute("y", damping=0.3, friction=0.8, static_friction=1.2, friction_speed=0.02),
        lb.Revolute("y", damping=0.3, limits=(-0.05, 0.1), stop_stiffness=1e4),
        lb.Revolute("y", damping=300.0),
    ],
    ids=["friction", "static friction", "stops", "strong damper"],
)
def test_slopes_where_forces_change_abruptly(joint):
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    a.attach("link", lb.beam(1.0, 1.0, EI=200.0, modes={"z": 1}, damping=0.02), joint)
    a.attach("tool", lb.RigidBody(1.0, inertia=0.01 * np.eye(3)), lb.Fixed(), "link", "tip")
    s = a.build()
    acting = {"friction": "link.joint_friction", "damping": "link.joint_damping"}
    own = next(acting[x] for x in acting if x in joint.physics.options)
    torque = lb.Table([0.0, 0.1, 0.11, 0.3, 0.31, 0.4], [[-8.0], [-8.0], [-25.0], [-25.0], [5.0], [5.0]])  # fmt: skip
    sensors = [
        lb.control.Encoder(rate=50.0, noise=1e-3),
        lb.control.StrainGauge("link", at=0.3, z=0.02, rate=50.0, noise=1e-5),
    ]
    parameters = ["link.EI", "tool.mass", own]
    check(problem(s, sensors, parameters, torque=torque, v0=[0.4, 0.0]), step=1e-4)


def spun(link, joint) -> lb.System:
    a = lb.Assembly("spun")
    hub = lb.RigidBody(4.0, (0, 0, 0), (0.1, 0.2, 0.2), nodes={"out": (0.3, 0, 0)})
    a.attach("hub", hub, lb.Revolute("z", damping=0.01))
    a.attach("link", link, joint, "hub", "out")
    return a.build()


def test_slopes_where_a_spin_up_raises_frequencies_from_zero():
    rod = lb.RigidBody(1.0, (0.3, 0, 0), (0.01, 0.03, 0.03))
    s = spun(rod, lb.Revolute("z", damping=0.01))
    torque = lb.Table([0.0, 0.2, 0.201, 0.4], [[80.0, 0.0], [80.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    sensors = [lb.control.Encoder("link", rate=50.0, noise=1e-3)]
    sensors += [lb.control.Tachometer("link", rate=50.0, noise=1e-3)]
    p = problem(s, sensors, ["link.mass", "link.com[0]", "link.joint_damping"], torque=torque, v0=[0.0, 0.3])  # fmt: skip
    check(p, step=5e-4)


@pytest.mark.filterwarnings("ignore::limber.errors.TheoryWarning")
def test_slopes_where_a_spin_up_stiffens_a_beam():
    beam = lb.beam(2.0, 1.0, EI=10.0, modes={"y": 2}, damping=0.01, geometric_stiffening=True)
    s = spun(beam, lb.Fixed())
    path = lb.trajectories.Quintic(0.0, 8.0, 0.4)
    gauge = [lb.control.StrainGauge("link", at=0.2, y=0.01, rate=50.0, noise=1e-5)]
    p = problem(s, gauge, ["link.EI", "link.damping_ratio", "link.mass"], motion={"hub": path}, q0=[0.0, 0.01, 0.0])  # fmt: skip
    check(p, step=5e-4)


def test_slopes_of_loads_that_are_faster_than_the_system():
    def shake(t):
        w = 200.0
        return 0.02 * np.sin(w * t), 0.02 * w * np.cos(w * t), -0.02 * w**2 * np.sin(w * t)

    rod = lb.RigidBody(1.0, (0.3, 0, 0), (0.01, 0.03, 0.03))
    s = spun(rod, lb.Revolute("z", stiffness=1.0))
    sensors = [lb.control.Encoder("link", rate=50.0, noise=1e-3)]
    check(problem(s, sensors, ["link.mass", "link.joint_stiffness"], motion={"hub": shake}, q0=[0.0, 0.5], v0=[4.0, 0.0]))  # fmt: skip


@pytest.mark.timeout(60)
def test_slopes_that_are_only_errors_of_the_simulation_do_not_divide_intervals():
    rod = lb.RigidBody(1.0, (0.3, 0.01, 0), (0.01, 0.03, 0.03))
    a = lb.Assembly("hanging", gravity=(0, -9.81, 0))
    a.attach("rod", rod, lb.Revolute("z", damping=0.01))
    a.attach("beam", lb.beam(0.5, 0.4, EI=10.0, modes=2), lb.Revolute("y", damping=0.01), "rod")
    s = a.build()
    rest, t = lb.equilibrium(s), np.linspace(0.0, 0.4, 11)
    encoder = [lb.control.Encoder("rod", rate=50.0, noise=1e-3)]
    plan = prepared(s, encoder, simulated_experiment(s, encoder, t, q0=rest), 0, 1e-8, 1e-10)
    numbers = [("rod.mass", ()), ("rod.joint_damping", ()), ("beam.EI", ())]
    ends, stages = sensitivity._intervals(s, plan.run)
    start = sensitivity._start(s, plan.run, numbers)
    _, wrong = sensitivity._tested(s, plan.run, numbers, ends, stages, start)
    assert wrong.max() < sensitivity.VIOLATED


def test_slopes_of_several_flexible_links():
    a = lb.models.canadarm(damping=0.005)
    a.attach("payload", lb.RigidBody(200.0, inertia=20.0 * np.eye(3)), lb.Fixed(), "link3", "tip")
    s = a.build()
    sensors = [
        lb.control.Encoder(rate=50.0, noise=1e-4),
        lb.control.StrainGauge("link2", at=0.3, y=0.05, rate=50.0, noise=1e-6),
    ]
    torque = lb.Table([0.0, 0.15, 0.16, 0.4], [[50, 30, 9], [-20, 30, 9], [60, -40, 5], [9, 9, 9]])
    check(problem(s, sensors, ["link1.EI", "payload.mass"], torque=torque))


@pytest.mark.parametrize("sensor", SENSORS, ids=lambda one: one.name)
def test_readings_are_those_of_the_sensor(sensor):
    s = arm()
    data = simulated_experiment(s, [sensor], T, torque=table(s))
    r = lb.simulate(s, 0.4, t_eval=T, torque=table(s), rtol=1e-10, atol=1e-12)
    from limber.control.sensors import Instant

    class Still(Instant):
        def __init__(self, i):
            super().__init__(r.t[i], r.q[i], r.v[i], None)
            self.__dict__.update(vdot=r.vdot[i], tau=r.tau[i], wrenches={})

    Still.system = s

    read = np.array([sensor.reader(s).read(Still(i)) for i in range(len(T))])
    assert np.allclose(data.readings[sensor.name], read, atol=1e-6 * np.abs(read).max())


def test_slopes_of_a_joint_whose_speeds_are_no_rates_of_its_coordinates():
    H = np.vstack([np.eye(3), np.zeros((3, 3))])
    a = lb.Assembly("ball", gravity=(0, 0, -9.81))
    a.attach("ball", lb.RigidBody(1.0, (0.5, 0.1, 0), [0.1, 0.2, 0.25]), lb.SimpleJoint(H))
    s = a.build()
    q0, v0, t = np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.5, 0.7]), np.linspace(0.05, 0.5, 10)
    run = sensitivity.Run(t, 0.0, q0, v0, False, np.zeros((6, 0)))
    found = sensitivity.moving(s, run, [("ball.mass", ())])
    up, down = (
        lb.simulate(
            s.with_parameters({"ball.mass": 1.0 + h}), 0.5, q0=q0, v0=v0, t_eval=t, rtol=1e-11, atol=1e-13
        )
        for h in (1e-4, -1e-4)
    )  # fmt: skip
    assert np.allclose(found.dv[..., 0], (up.v - down.v) / 2e-4, atol=1e-6)
    moved = [lb.qdot(s, q, dq) for q, dq in zip(found.q, found.dq[..., 0])]
    assert np.allclose(moved, (up.q - down.q) / 2e-4, atol=1e-6)
