"""Sensors and section forces of systems in orbit, under gravity, drag and burns that use up propellant."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import limber as lb
from limber.errors import ModelWarning

ORBIT = lb.orbit.elements(7.3e6, 0.03, 1.9, node=1.0, argument=2.0, anomaly=0.4)
#: A planet that hardly pulls.
FAR = lb.orbit.circular(1e6, planet=lb.orbit.Planet(mu=1e-6, radius=1.0))
TIGHT = {"rtol": 1e-12, "atol": 1e-12}
CLOSE = 1e-9


class Still(lb.control.Controller):
    """No torques."""

    sample_time = 1.0

    def prepare(self, loop):
        self._none = np.zeros(loop.system.nv)

    def command(self, t, measured):
        return self._none


def tug(closed=False):
    """A bus, and a flexible arm that pushes it with an engine and a tank at its tip, which may be closed there."""
    a = lb.Assembly("tug")
    hull = lb.RigidBody(
        300.0, (0.1, 0.0, 0.05), np.diag([200.0, 300.0, 250.0]), nodes={"dock": (1.0, 0.0, 0.0)}
    )
    a.attach("hull", hull, lb.Free())
    arm = lb.beam(4.0, 10.0, EI=4000.0, modes=1, damping=0.02)
    a.attach("arm", arm, lb.Revolute("y", stiffness=500.0, damping=50.0), to="hull", at="dock")
    engine = lb.RigidBody(60.0, (0.3, 0.1, 0.0), np.diag([30.0, 20.0, 25.0]))
    if closed:
        a.attach("engine", engine, lb.Free())
    else:
        a.attach("engine", engine, lb.Fixed(), to="arm", at="tip")
    tank = lb.RigidBody(40.0, (0.1, 0.0, 0.0), np.diag([3.0, 2.0, 2.0]))
    a.attach("tank", tank, lb.Fixed(), to="engine", offset=(0.2, 0.0, 0.1))
    if closed:
        a.close(("arm", "tip"), ("engine", None), lb.Fixed(), name="weld")
    return a.build()


def environment():
    """Everything at once; the air is as dense as no air is there."""
    faces = [lb.orbit.Face("engine", area=9.0), lb.orbit.Face("hull", area=4.0)]
    drag = lb.orbit.Drag(faces, lb.orbit.exponential(1e-9, 900e3, 60e3))
    burn = lb.orbit.Burn("engine", (-5.0, 0.0, 2.0), 101.0, 9.0, isp=1.0, tank="tank")
    return lb.orbit.Environment(ORBIT, "j2", drag, burn)


def flown(s, q, v):
    """Ten seconds from t = 100 s on, with a force-torque sensor and an accelerometer."""
    sensors = [
        lb.control.ForceTorque("arm", "root", rate=1.0),
        lb.control.Accelerometer("hull", "dock", "specific force", rate=1.0),
    ]
    loop = lb.control.Loop(s, Still(), sensors=sensors)
    return lb.simulate(
        s, 110.0, t0=100.0, q0=q, v0=v, torque=loop, environment=environment(), every=1.0, **TIGHT
    )


@pytest.fixture(scope="module")
def pushed():
    s = tug()
    q, v = environment().start(
        s, position=(100.0, 3e4, -20.0), rate=(0.0, 0.001, 0.002), velocity=(1.0, 2.0, 0.5), t=100.0
    )
    q[s.layout["arm"].q_joint] = 0.3
    return flown(s, q, v)


def at(result, sensor):
    """The readings, at the output times."""
    samples = result.signals[sensor]
    assert np.allclose(samples.t, result.t[: len(samples.t)])
    return samples.y


def test_a_force_torque_sensor_feels_what_the_environment_does_outboard(pushed):
    # Newton for the hull, which gets the opposite of the reading: everything else on it is known.
    y = at(pushed, "root")[3:9]
    rows = slice(3, 9)
    s, env = pushed.system, environment()
    motion = pushed.node("hull")
    for reading, i in zip(y, range(*rows.indices(len(pushed)))):
        R, w, wdot = motion.R[i], motion.angular_velocity[i], motion.angular_acceleration[i]
        c = R @ [0.1, 0.0, 0.05]
        moved = 300.0 * (motion.acceleration[i] + np.cross(wdot, c) + np.cross(w, np.cross(w, c)))
        alone = lb.Assembly("hull")
        alone.attach("hull", s.bodies["hull"], lb.Free())
        faces = [lb.orbit.Face("hull", area=4.0)]
        there = lb.orbit.Environment(ORBIT, "j2", lb.orbit.Drag(faces, env.drag.air))
        hull = pushed.system.layout["hull"]
        forces = there.forces(
            alone.build(), pushed.t[i], pushed.q[i, hull.q_joint], pushed.v[i, hull.v_joint]
        )
        np.testing.assert_allclose(R @ reading[3:], R @ forces[3:] - moved, rtol=0, atol=1e-8)
    assert np.abs(y[:, 3]).max() > 1.0


def test_force_torque_sensors_of_closed_systems_feel_the_environment(pushed):
    tree, closed = pushed.system, tug(closed=True)
    q, v = closed.neutral(), np.zeros(closed.nv)
    for name in ("hull", "arm"):
        old, new = tree.layout[name], closed.layout[name]
        q[new.q_joint], v[new.v_joint] = pushed.q[0, old.q_joint], pushed.v[0, old.v_joint]
    R, p = lb.pose(tree, pushed.q[0], "engine")
    w, u = (lb.jacobian(tree, pushed.q[0], "engine") @ pushed.v[0]).reshape(2, 3)
    x, y, z, s = Rotation.from_matrix(R).as_quat()
    q[closed.layout["engine"].q_joint] = s, x, y, z, *p
    v[closed.layout["engine"].v_joint] = *(R.T @ w), *(R.T @ u)
    result = flown(closed, q, v)
    for sensor in ("root", "specific force"):
        np.testing.assert_allclose(at(result, sensor), at(pushed, sensor), rtol=0, atol=1e-6)


def test_an_accelerometer_in_free_fall_reads_nothing():
    a = lb.Assembly("ball")
    ball = lb.RigidBody(10.0, inertia=np.eye(3))
    a.attach("ball", ball, lb.Free())
    s = a.build()
    env = lb.orbit.Environment(ORBIT, "j2")
    q, v = env.start(s, position=(1e3, 1e5, -2e4))
    loop = lb.control.Loop(s, Still(), sensors=[lb.control.Accelerometer("ball", rate=1.0)])
    r = lb.simulate(s, 5.0, q0=q, v0=v, torque=loop, environment=env, **TIGHT)
    assert np.abs(r.signals["accelerometer"].y).max() < 1e-11
    assert np.abs(r.environment).max() > 0.1


def test_section_forces_are_those_of_the_propellant_that_is_left():
    a = lb.Assembly("stack")
    a.attach("hull", lb.RigidBody(50.0, inertia=np.eye(3)), lb.Free())
    a.attach("boom", lb.beam(4.0, 2.0, EI=4000.0, modes=1), lb.Fixed(), to="hull")
    tank = lb.RigidBody(40.0, inertia=np.eye(3))
    a.attach("tank", tank, lb.Fixed(), to="boom", at="tip")
    s = a.build()
    burn = lb.orbit.Burn("hull", (-30.0, 0.0, 0.0), 0.0, 10.0, isp=1.0, tank="tank")
    env = lb.orbit.Environment(FAR, burns=burn)
    r = lb.simulate(s, 8.0, environment=env, every=1.0, **TIGHT)
    with pytest.warns(ModelWarning, match="do not include what the environment does there"):
        axial = r.section_forces("boom", "tip").forces[:, 0, 0]
    left = r.masses["tank"]
    np.testing.assert_allclose(axial, left * 30.0 / (52.0 + left), rtol=CLOSE)
