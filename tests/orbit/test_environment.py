"""The environment in a simulation: engines, methods, driven joints, batches, files, and what is refused."""

import numpy as np
import pytest

import limber as lb
from helpers.flyers import bus, flexible, state_of
from limber.errors import ArgumentTypeError, ArgumentValueError

LOW = lb.orbit.circular(400e3, 0.9)
TIGHT = {"rtol": 1e-11, "atol": 1e-12}


@pytest.fixture(scope="module")
def flyer():
    env = lb.orbit.Environment(LOW, gravity="j2")
    s = flexible()
    return env, s, *state_of(s, env, 0.2)


def test_all_engines_and_methods_agree(flyer):
    env, s, q, v = flyer
    given = {"q0": q, "v0": v, "environment": env, "t_eval": [0.0, 20.0], **TIGHT}
    expected = lb.simulate(s, 20.0, method="dop853", **given)
    for more in ({"method": "sdirk4"}, {"method": "dop853", "engine": "generated"}):
        found = lb.simulate(s, 20.0, **given, **more)
        np.testing.assert_allclose(found.q, expected.q, rtol=0.0, atol=1e-7)
        np.testing.assert_allclose(found.environment, expected.environment, rtol=0.0, atol=1e-10)
    free = lb.simulate(s, 20.0, **(given | {"environment": None}))
    assert np.abs(free.q - expected.q).max() > 1e-5
    assert free.environment is None


def test_accelerations_and_the_power_audit_count_the_environment(flyer):
    env, s, q, v = flyer
    push = {("hub", "b"): np.array([0.0, 0.1, 0.0, 0.2, 0.0, 0.0])}
    r = lb.simulate(s, 10.0, q0=q, v0=v, environment=env, external=push, every=0.01, **TIGHT)
    slope = np.gradient(r.v, r.t, axis=0)[1:-1]
    np.testing.assert_allclose(r.vdot[1:-1], slope, rtol=0.0, atol=1e-3)
    np.testing.assert_allclose(
        r.environment[7], env.forces(s, r.t[7], r.q[7], r.v[7]), rtol=1e-9, atol=1e-15
    )
    audit = r.power_audit()
    assert audit.accuracy < 1e-8
    assert abs(audit.external[-1]) > 0.0


def test_driven_joints_take_the_forces_of_the_environment(flyer):
    env, s, q, v = flyer
    still = lambda t: (0.0, 0.0, 0.0)  # noqa: E731
    q, v = q.copy(), v.copy()
    q[s.layout["left"].q_joint] = v[s.layout["left"].v_joint] = 0.0
    r = lb.simulate(s, 5.0, q0=q, v0=v, environment=env, motion={"left": still}, **TIGHT)
    needed = lb.inverse_dynamics(s, r.q, r.v, r.vdot) - r.environment
    np.testing.assert_allclose(r.tau, needed, rtol=0.0, atol=1e-9)


def test_cases_of_a_batch_are_single_runs(flyer):
    env, s, q, v = flyer
    given = {"environment": env, "t_eval": [0.0, 5.0], "method": "rk4", "step": 0.01}
    batch = lb.simulate(s, 5.0, q0=q, v0=np.stack([v, 2.0 * v]), engine="generated", **given)
    single = lb.simulate(s, 5.0, q0=q, v0=2.0 * v, engine="generated", **given)
    np.testing.assert_array_equal(batch.q[1], single.q)


def test_results_with_an_environment_come_back_from_files(flyer, tmp_path):
    env, s, q, v = flyer
    given = {"q0": q, "v0": v, "environment": env, "every": 0.5}
    r = lb.simulate(s, 2.0, save=tmp_path / "run.h5", **given)
    back = lb.Result.load(tmp_path / "run.h5")
    np.testing.assert_array_equal(back.environment, r.environment)
    np.testing.assert_array_equal(r[1:3].environment, r.environment[1:3])
    assert lb.Result.load(tmp_path / "run.h5").vdot == pytest.approx(r.vdot)


def test_a_run_goes_on_from_where_another_ended(flyer):
    env, s, q, v = flyer
    whole = lb.simulate(s, 40.0, q0=q, v0=v, environment=env, t_eval=[30.0, 40.0], **TIGHT)
    part = lb.simulate(s, 40.0, t0=30.0, q0=whole.q[0], v0=whole.v[0], environment=env, **TIGHT)
    np.testing.assert_allclose(part.q[-1], whole.q[-1], rtol=0.0, atol=1e-8)


def test_the_start_is_given_in_the_orbital_frame():
    env = lb.orbit.Environment(LOW)
    turn = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    a = lb.Assembly("turned")
    a.attach(
        "bus",
        lb.RigidBody(1.0, inertia=np.eye(3)),
        lb.Free(),
        offset=(1.0, 2.0, 3.0),
        rotation=turn,
    )
    s = a.build()
    place, rate = np.array([5.0, -7.0, 2.0]), np.array([0.1, 0.2, -0.3])
    q, v = env.start(
        s, position=place, velocity=(1.0, 0.0, -2.0), attitude=turn, rate=rate, t=100.0
    )
    frame = env.frame(100.0)
    R, p = lb.pose(s, q, "bus")
    np.testing.assert_allclose(R, frame.R @ turn, atol=1e-14)
    np.testing.assert_allclose(p, frame.R @ place, atol=1e-12)
    twist = lb.jacobian(s, q, "bus") @ v
    np.testing.assert_allclose(frame.R.T @ twist[:3], rate + frame.angular_velocity, atol=1e-14)
    step = 1e-3
    later = env.frame(100.0 + step).R.T @ (p + step * twist[3:])
    np.testing.assert_allclose((later - place) / step, [1.0, 0.0, -2.0], atol=1e-4)


def test_elements_and_states_are_the_same_orbit():
    given = (8e6, 0.1, 0.7)
    angles = {"node": -1.2, "argument": 2.0, "anomaly": -0.4}
    orbit = lb.orbit.elements(*given, **angles)
    found = orbit.osculating
    np.testing.assert_allclose(
        [found.semi_major, found.eccentricity, found.inclination], given, rtol=1e-12
    )
    np.testing.assert_allclose(
        [found.node, found.argument, found.anomaly], list(angles.values()), rtol=1e-12
    )
    assert lb.orbit.state(orbit.position, orbit.velocity) == orbit
    flat = lb.orbit.circular(400e3).osculating
    assert float(flat.node) == float(flat.argument) == 0.0


def test_what_the_world_holds_is_refused():
    env = lb.orbit.Environment(LOW)
    a = lb.Assembly("arm")
    a.attach("link", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Revolute("z"))
    with pytest.raises(
        ArgumentValueError, match=r"body 'link' is attached to the world by .* lb.Free\(\)"
    ):
        lb.simulate(a.build(), 1.0, environment=env)
    a = lb.Assembly("heavy", gravity=(0.0, 0.0, -9.81))
    a.attach("bus", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Free())
    with pytest.raises(ArgumentValueError, match=r"gravity \[0.0, 0.0, -9.81\] of its own"):
        lb.simulate(a.build(), 1.0, environment=env)
    a = lb.Assembly("held")
    a.attach("bus", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Free())
    a.close(("bus", None), ("world", (0.0, 0.0, 0.0)), lb.Spherical(), name="pin")
    with pytest.raises(ArgumentValueError, match="closure 'pin' attaches the system to the world"):
        lb.simulate(a.build(), 1.0, environment=env)


def test_events_do_not_hold_a_flyer_to_the_world():
    s, env = bus(), lb.orbit.Environment(LOW)
    held = (("bus", None), ("world", None), lb.Fixed(), "pin")
    for change, name in ((lb.attach(held, in_place=True), "pin"), (lb.lock("bus"), "lock of bus")):
        with pytest.raises(
            ArgumentValueError,
            match=rf"event 'dock' at t = 0.5 s: closure '{name}' attaches the system to the world",
        ):
            lb.simulate(s, 1.0, environment=env, events=lb.Event(0.5, change, name="dock"))


def test_wrong_arguments_are_refused():
    s = bus()
    with pytest.raises(
        ArgumentTypeError, match=r"environment must be an lb.orbit.Environment, got 3"
    ):
        lb.simulate(s, 1.0, environment=3)
    with pytest.raises(
        ArgumentValueError,
        match="method='DOP853' is a method of another library, which does not support an environment",
    ):
        lb.simulate(s, 1.0, environment=lb.orbit.Environment(LOW), method="DOP853")
    with pytest.raises(ArgumentValueError, match='gravity=\'j4\' must be "point" or "j2"'):
        lb.orbit.Environment(LOW, gravity="j4")
    with pytest.raises(ArgumentTypeError, match="orbit must be an orbit"):
        lb.orbit.Environment(400e3)
    with pytest.raises(
        ArgumentValueError, match=r"semi_major=-1 is inconsistent with eccentricity=0\.1"
    ):
        lb.orbit.elements(-1.0, 0.1)
    with pytest.raises(ArgumentValueError, match="must not be parallel"):
        lb.orbit.state((7e6, 0.0, 0.0), (1.0, 0.0, 0.0))
    with pytest.raises(ArgumentTypeError, match=r"planet must be an lb\.orbit\.Planet"):
        lb.orbit.Orbit((7e6, 0.0, 0.0), (0.0, 1.0, 0.0), planet="earth")
    for orbit in (lb.orbit.circular, lb.orbit.elements):
        with pytest.raises(ArgumentTypeError, match=r"planet must be an lb\.orbit\.Planet.*'mars'"):
            orbit(7e6, planet="mars")
    env = lb.orbit.Environment(LOW)
    with pytest.raises(ArgumentTypeError, match="system must be a limber System, got NoneType"):
        env.start(None)
    with pytest.raises(ArgumentTypeError, match="system must be a limber System, got NoneType"):
        env.forces(None, 0.0, [], [])
    with pytest.raises(ArgumentTypeError, match=r"result must be one Result of lb\.simulate"):
        env.track(None)
    batch = lb.simulate(s, 1.0, q0=np.tile(s.neutral(), (2, 1)), environment=env, every=1.0)
    with pytest.raises(ArgumentTypeError, match="Those of a batch are in its `results`"):
        env.track(batch)
    with pytest.raises(ArgumentTypeError, match="node='tip' is given without a body"):
        env.track(batch.results[0], node="tip")
    assert env.frame([]).R.shape == (0, 3, 3)
