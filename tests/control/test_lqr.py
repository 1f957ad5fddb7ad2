"""LQR, gains along a motion, Kalman filters and their consistency."""

import warnings

import numpy as np
import pytest
import scipy.linalg

import limber as lb
from helpers.shaken import Shaken as OfDensity
from limber.control import (
    LQR,
    Kalman,
    linearize,
    lqr_gain,
    margins,
    mean_test,
    nees,
    nis,
    whiteness,
)


def arm(gravity=0.0):
    a = lb.Assembly("arm", gravity=(0, -gravity, 0))
    link = lb.beam(1.0, 1.0, EI=60.0, modes={"y": 1}, damping=0.002)
    a.attach("link1", link, lb.Revolute("z", armature=0.3))
    a.attach("link2", link, lb.Revolute("z", armature=0.2), "link1", "tip")
    return a.build()


@pytest.fixture(scope="module")
def s():
    return arm()


def weights(s, joints=100.0):
    Q = np.full(2 * s.nv, 1.0)
    for body in s.layout:
        Q[s.layout[body].v_joint] = joints
    return Q


def test_gains_are_those_of_a_long_horizon(s):
    """Dynamic programming, backwards over so many samples that the gains no longer change."""
    model = linearize(s, inputs=["link1", "link2"])
    K = lqr_gain(model, weights(s), 0.1, sample_time=0.01)
    d = model.sampled(0.01)
    X = Q = np.diag(weights(s))
    for _ in range(3000):
        gain = np.linalg.solve(0.1 * np.eye(2) + d.B.T @ X @ d.B, d.B.T @ X @ d.A)
        X = Q + d.A.T @ X @ (d.A - d.B @ gain)
    assert np.allclose(K, gain, rtol=1e-6, atol=1e-6 * np.abs(K).max())


def test_the_cost_of_other_gains_is_higher(s):
    """The cost of u = -K x is tr X with X = A' X A + Q + K' R K."""
    d = linearize(s, inputs=["link1", "link2"]).sampled(0.01)
    Q, R = np.diag(weights(s)), 0.1 * np.eye(2)
    K = lqr_gain(d, Q, R)

    def cost(K):
        A = d.A - d.B @ K
        return np.trace(scipy.linalg.solve_discrete_lyapunov(A.T, Q + K.T @ R @ K))

    rng = np.random.default_rng(0)
    for _ in range(5):
        assert cost(K * (1.0 + 0.02 * rng.standard_normal(K.shape))) > cost(K)


def test_a_deformed_arm_is_brought_to_rest_faster_than_by_pd(s):
    q0 = s.neutral()
    q0[s.layout["link1"].q_modes] = 0.05
    left = {}
    for name, c in (
        ("lqr", LQR(weights(s), 0.05, sample_time=0.005, about=s.neutral())),
        ("pd", lb.control.PD(30.0, 6.0, sample_time=0.005, reference=0.0)),
    ):
        r = lb.simulate(s, 3.0, q0=q0, torque=c, t_eval=[0.0, 3.0])
        left[name] = (r.kinetic_energy + r.potential_energy)[-1]
    assert left["lqr"] < 0.05 * left["pd"]


def test_delay_is_counted_with(s):
    """With the commands on their way in the state, the loop is as stable as its poles say."""
    late = LQR(weights(s), 0.01, sample_time=0.01, about=s.neutral(), delay=0.015)
    lb.control.Loop(s, late, delay=0.015)
    told = LQR(weights(s), 0.01, sample_time=0.01, about=s.neutral())
    lb.control.Loop(s, told, delay=0.015)
    assert np.array_equal(told.gains, late.gains)
    plant = linearize(s, inputs=["link1", "link2"])
    found = margins(plant, late, delay=0.015)
    assert found.stable
    K = lqr_gain(plant, weights(s), 0.01, 0.01, 0.015)
    d = plant.sampled(0.01, 0.015)
    expected = np.abs(np.linalg.eigvals(d.A - d.B @ K)).max()
    assert np.abs(found.poles).max() == pytest.approx(expected, rel=1e-6)


def test_gains_along_a_motion_follow_it(s):
    move = lb.trajectories.Quintic([0.0, 0.0], [0.4, 1.0], 1.0)
    motion = {b: lb.trajectories.Quintic(0.0, x, 1.0) for b, x in zip(s.layout, move.end)}
    nominal = lb.simulate(s, 1.0, motion=motion, every=0.005)
    c = LQR(weights(s), 0.05, sample_time=0.005, about=nominal, points=5)
    q0, v0 = nominal.q[0].copy(), nominal.v[0].copy()
    q0[s.layout["link1"].q_joint] += 0.02  # it starts off the motion
    r = lb.simulate(s, 4.0, q0=q0, v0=v0, torque=c, every=0.01)
    assert c.gains.shape == (5, 2, 2 * s.nv) and np.ptp(c.gains, axis=0).max() > 1.0
    assert (
        np.abs(r.q[-1] - nominal.q[-1])[[s.layout[b].q_joint.start for b in s.layout]].max() < 2e-3
    )


def test_what_no_torque_reaches_is_refused(s):
    a = lb.Assembly("arm")
    a.attach(
        "link", lb.beam(1.0, 1.0, EI=60.0, modes=1), lb.Revolute("z")
    )  # undamped, out of the plane too
    with pytest.raises(lb.LimberError, match="no gains stabilize"):
        lqr_gain(linearize(a.build(), inputs=["link"]), 1.0, 1.0, 0.01)
    with pytest.raises(lb.LimberError, match="needs the full state"):
        c = LQR(1.0, 1.0, sample_time=0.01, about=s.neutral())
        lb.control.Loop(s, c, sensors=[lb.control.Encoder(rate=100.0)])


def sensors():
    return [
        lb.control.Encoder(rate=200.0, noise=1e-4),
        lb.control.Gyro("link2", "tip", rate=200.0, noise=2e-3),
        lb.control.StrainGauge("link1", at=0.1, y=0.01, rate=100.0, noise=2e-6),
    ]


class Shaken(OfDensity):
    density = 0.02


@pytest.mark.parametrize("extended", [False, True])
def test_a_filter_with_the_right_noise_is_consistent(s, extended):
    disturbance = np.zeros(s.nv)
    for body in s.layout:
        disturbance[s.layout[body].v_joint] = Shaken.density
    kalman = Kalman(disturbance, initial=1e-3, extended=extended, record=True)
    T = 0.005
    c = Shaken(weights(s), 0.05, sample_time=T, about=s.neutral(), observer=kalman)
    end = 1.5 if extended else 6.0
    times = T * np.arange(round(end / T))
    r = lb.simulate(
        s,
        end,
        torque=lb.control.Loop(s, c, sensors=sensors(), seed=4),
        t_eval=np.append(times, end),
    )
    seen = r.signals["estimate"]
    assert np.allclose(seen.t, times)
    errors = seen.y - np.hstack([r.q, r.v])[:-1]
    ratio = nees(errors, kalman.covariances)[20:]
    # Errors follow each other: one in ten samples counts.  Forces that are held over a sample move joints a little less than
    # white ones of the same density, so the mean comes out a little below the number of states.
    assert mean_test(ratio, 2 * s.nv, level=0.999, independent=len(ratio) // 10)
    for name in ("encoder", "gyro", "strain gauge"):
        log = r.signals[f"innovation {name}"]
        new = log.y[20:][:: 2 if name == "strain gauge" else 1]
        assert all(whiteness(new, level=0.9999))
        assert mean_test(nis(new), new.shape[1], level=0.9999)


def test_a_filter_that_trusts_its_model_too_much_is_found_out(s):
    kalman = Kalman(1e-4, initial=1e-3, record=True)
    c = Shaken(weights(s), 0.05, sample_time=0.005, about=s.neutral(), observer=kalman)
    r = lb.simulate(s, 2.0, torque=lb.control.Loop(s, c, sensors=sensors(), seed=4), every=0.5)
    new = r.signals["innovation encoder"].y
    found = mean_test(nis(new), new.shape[1])
    assert not found and found.value > found.high
    assert not all(whiteness(new))


def test_noise_integral_is_that_of_theory():
    """A double integrator under white acceleration."""
    from limber.control.sampled import covariance_of_noise

    Q = covariance_of_noise(
        np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0], [1.0]]), np.array([2.0]), 0.3
    )
    assert np.allclose(Q, 2.0 * np.array([[0.3**3 / 3, 0.3**2 / 2], [0.3**2 / 2, 0.3]]))


def test_what_a_filter_cannot_use_is_refused(s):
    def loop(kalman, *sensors):
        c = LQR(1.0, 1.0, sample_time=0.01, about=s.neutral(), observer=kalman)
        return lb.control.Loop(s, c, sensors=sensors, seed=1)

    with pytest.raises(lb.LimberError, match="has no noise, but the filter needs"):
        loop(Kalman(1.0), lb.control.Encoder(rate=100.0))
    with pytest.raises(lb.LimberError, match="the loop has no sensors"):
        loop(Kalman(1.0))


@pytest.mark.parametrize("rate", [30.0, 250.0])
@pytest.mark.parametrize("extended", [False, True])
def test_readings_between_samples_count_at_their_own_times(rate, extended):
    a = lb.Assembly("rotor")
    a.attach("wheel", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Revolute("z", damping=0.3))
    system = a.build()
    kalman = Kalman(1e-3, initial=[1e-3, 1.0], extended=extended)
    c = lb.control.LQR([1.0, 1.0], 1.0, sample_time=0.01, about=[0.0], observer=kalman)
    loop = lb.control.Loop(system, c, sensors=[lb.control.Encoder(rate=rate, noise=1e-6)], seed=1)
    times = 0.01 * np.arange(100)
    r = lb.simulate(system, 1.0, v0=[2.0], torque=loop, t_eval=np.append(times, 1.0))
    errors = r.signals["estimate"].y - np.hstack([r.q, r.v])[:-1]
    assert np.abs(errors[20:]).max() < 2e-3  # a turn of 2 rad/s is off by 7 ms otherwise
    assert np.abs(errors[20:, 0]).max() < 1e-4
    found = r.signals["innovation encoder"].y
    new = ~np.isnan(found[:, 0])
    # a reading at a sample, or since the last one
    last = np.floor(times * rate + 1e-9)
    assert (new == np.append(True, np.diff(last) > 0)).all()
    assert len(nis(found)) == new.sum()
    assert whiteness(found) == whiteness(found[new])


@pytest.mark.parametrize("delay", [0.0, 0.011])
def test_a_known_plant_follows_its_motion_in_spite_of_the_delay(delay):
    """The torques of the motion arrive in time: errors are those of holding them, of second order in the sample time."""
    a = lb.Assembly("arm")
    link = lb.RigidBody(1.0, (0.5, 0, 0), [0.1, 0.1, 0.1], {"tip": (1, 0, 0)})
    a.attach("upper", link, lb.Revolute("z"))
    a.attach("fore", link, lb.Revolute("z"), "upper", "tip")
    s = a.build()
    wait = 0.1  # the first commands are still under way then
    move = lb.trajectories.Quintic(0.0, 1.0, 1.0)

    def path(t):
        return tuple(np.where(t < wait, 0.0, x) for x in move(max(t - wait, 0.0)))

    nominal = lb.simulate(s, 1.0, motion=dict.fromkeys(s.layout, path), every=0.002)
    c = lb.control.LQR(100.0, 0.05, sample_time=0.002, about=nominal)
    r = lb.simulate(s, 0.9, torque=lb.control.Loop(s, c, delay=delay), every=0.01)
    assert (
        np.abs(r.q - nominal.resample(r.t).q).max() < 2e-5
    )  # rad; 4e-4 and 6e-3 if they were late


def test_joints_without_actuators_are_told_before_the_size_of_R():
    a = lb.Assembly("arm").attach(
        "arm", lb.RigidBody(1.0, (0.3, 0, 0), (0.1,) * 3), lb.Revolute("y")
    )
    spring = lb.control.SeriesElastic("arm", stiffness=100.0, rotor_inertia=0.01)
    s = spring.inserted(a).build()
    with pytest.raises(lb.LimberError, match=r"no actuator drives 'arm'.*bodies="):
        c = lb.control.LQR(1.0, [0.1], sample_time=0.01, about=s.neutral())
        lb.control.Loop(s, c, actuators=[spring])


def test_bounds_of_consistency_need_a_probability_and_samples():
    new = np.random.default_rng(0).normal(size=(50, 1))
    for check in (lambda x: mean_test(nis(new), 1, x), lambda x: whiteness(new, level=x)):
        with pytest.raises(lb.LimberError, match=r"level must be a probability below 1, .* got 95"):
            check(95)
    with pytest.raises(lb.LimberError, match="level must be greater than 0"):
        mean_test(nis(new), 1, 0.0)
    with pytest.raises(lb.LimberError, match="values is empty"):
        mean_test(np.ones(0), 1)


def test_joints_without_torques_that_are_out_of_balance_are_told():
    link = lb.RigidBody(1.0, (0.5, 0, 0), [0.1] * 3, {"tip": (1, 0, 0)})
    a = lb.Assembly("arm", gravity=(0, -9.81, 0)).attach("upper", link, lb.Revolute("z"))
    s = a.attach("fore", link, lb.Revolute("z"), "upper", "tip").build()

    def prepare(q):
        lb.control.Loop(s, lb.control.LQR(1.0, 0.1, sample_time=0.01, about=q, bodies="upper"))

    bent = np.array([0.3, 0.4])
    with pytest.warns(
        lb.ModelWarning, match=r"of 'upper' could hold: joint speed 0 of body 'fore'"
    ):
        prepare(bent)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare(lb.equilibrium(s, bent, locked=["upper"]))


def test_modes_that_are_out_of_balance_are_told(s):
    """Straight links under their weight are no state of rest: the joints would be held elsewhere."""
    heavy = arm(gravity=-9.81)
    bent = lb.equilibrium(heavy, locked=["link1", "link2"])
    with warnings.catch_warnings():
        warnings.simplefilter("error", lb.ModelWarning)
        lb.control.Loop(heavy, LQR(weights(heavy), 0.05, sample_time=0.002, about=bent))
        lb.control.Loop(s, LQR(weights(s), 0.05, sample_time=0.002, about=s.neutral()))
    with pytest.warns(lb.ModelWarning, match="not an equilibrium of 'arm' .* mode 1 of body"):
        lb.control.Loop(heavy, LQR(weights(heavy), 0.05, sample_time=0.002, about=heavy.neutral()))
