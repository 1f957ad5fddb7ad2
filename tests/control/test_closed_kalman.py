"""Kalman filters of closed systems: equivalent open systems, consistency, estimates that satisfy the closures."""

import numpy as np
import pytest

import limber as lb
from helpers.mechanisms import at_crank, carrying, five_bar, four_bar, geared
from helpers.shaken import Shaken as OfDensity
from limber.control import (
    LQR,
    ComputedTorque,
    Encoder,
    Kalman,
    Loop,
    StrainGauge,
    margins,
    mean_test,
    nees,
    nis,
    whiteness,
)

pytestmark = pytest.mark.filterwarnings("ignore:the closures of")
T = 0.005


@pytest.mark.parametrize("extended", [False, True])
def test_the_filter_of_a_geared_joint_is_that_of_one_with_the_rotor_inertia(extended):
    """Estimates and covariances agree at every sample; where the gear is known, two deviations are those of one joint."""
    closed, direct, ratio = geared()
    about, runs = 0.4, []
    link, motor = 2e-3, 3e-2  # deviations of the link and of the motor, before the gear is known
    both = 1.0 / np.sqrt(1.0 / link**2 + ratio**2 / motor**2)
    for s in (direct, closed):
        gear = s is closed
        kalman = Kalman(
            [0.3, 0.0] if gear else abs(ratio) * 0.3,
            initial=[motor, link] * 2 if gear else both,
            extended=extended,
            record=True,
        )
        weights = [0.0, 50.0, 0.0, 1.0] if gear else [50.0, 1.0]
        q = [ratio * about, about] if gear else [about]
        c = LQR(
            weights,
            0.1 * ratio**2 if gear else 0.1,
            sample_time=T,
            about=q,
            bodies="motor" if gear else "link",
            observer=kalman,
        )
        loop = Loop(s, c, sensors=[Encoder("link", rate=1 / T, noise=1e-4)], seed=2)
        off = np.array(q) + (0.1 * np.array([ratio, 1.0]) if gear else 0.1)
        r = lb.simulate(s, 0.15, q0=off, torque=loop, every=T, rtol=1e-9, atol=1e-11)
        rows = [1, 3] if gear else [0, 1]
        P = np.array(kalman.covariances)[:, rows][:, :, rows]
        runs.append((r.signals["estimate"].y[:, rows], P, r.signals["innovation encoder"].y))
    for one, other in zip(*runs):
        assert np.allclose(one, other, rtol=1e-5, atol=1e-7)


class Shaken(OfDensity):
    density = 0.5


def sensors(flexible):
    found = [Encoder("crank", rate=1 / T, noise=1e-4)]
    return [*found, StrainGauge("coupler", at=1.0, y=0.01, rate=1 / T, noise=2e-6)][: 1 + flexible]


@pytest.mark.parametrize("flexible", [False, True])
def test_a_filter_with_the_right_noise_is_consistent(flexible):
    s, end = four_bar(flexible), 2.0
    q, crank = at_crank(s), s.layout["crank"].v_joint
    disturbance, Q = np.zeros(s.nv), np.zeros(2 * s.nv)
    disturbance[crank] = Shaken.density
    Q[crank], Q[s.nv + crank.start] = 100.0, 1.0
    kalman = Kalman(disturbance, initial=1e-3, record=True)
    c = Shaken(Q, 0.01, sample_time=T, about=q, bodies="crank", observer=kalman)
    times = T * np.arange(round(end / T))
    loop = Loop(s, c, sensors=sensors(flexible), seed=4)
    r = lb.simulate(s, end, q0=q, torque=loop, t_eval=np.append(times, end))
    seen = r.signals["estimate"].y
    position, velocity = lb.constraint_residual(s, seen[:, : s.nq], seen[:, s.nq :])
    assert max(np.abs(position).max(), np.abs(velocity).max()) < 1e-9
    errors = seen - np.hstack([r.q, r.v])[:-1]
    # independent entries of [dq, dv]: their errors have an invertible covariance
    modes = list(range(s.layout["coupler"].v_modes.start, s.layout["coupler"].v_modes.stop))
    rows = np.array([crank.start, *modes])
    rows = np.append(rows, s.nv + rows)
    assert np.linalg.matrix_rank(kalman.covariance, tol=1e-12) <= len(rows)
    P = np.array(kalman.covariances)[:, rows][:, :, rows]
    ratio = nees(errors[:, rows], P)[20:]
    assert mean_test(ratio, len(rows), level=0.999, independent=len(ratio) // 10)
    for name in [name for name in r.signals if name.startswith("innovation")]:
        new = r.signals[name].y[20:]
        assert all(whiteness(new, level=0.9999))
        assert mean_test(nis(new), 1, level=0.9999)


def test_an_extended_filter_follows_a_mechanism_where_independent_coordinates_change():
    s = four_bar()
    q0, k = at_crank(s), Kalman(0.05, initial=1e-3, extended=True)
    for angle in np.linspace(1.0, 4.4, 30):
        q0 = lb.assemble(s, [angle, *q0[1:]], locked=["crank"])
    move = lb.trajectories.Quintic(4.4, 5.8, 0.6)
    c = ComputedTorque(
        100.0, 20.0, sample_time=0.02, bodies="crank", reference=move, observer=k, near=q0
    )
    loop = Loop(s, c, sensors=[Encoder("crank", rate=50.0, noise=1e-4)], seed=1)
    r = lb.simulate(s, 0.7, q0=q0, torque=loop, every=0.02)
    seen = r.signals["estimate"].y
    states = {lb.linearize(s, x[:3], x[3:]).states for x in seen[::5]}
    assert len(states) > 1  # the independent coordinates of the filter were not always the same
    error = seen - np.hstack([r.q, r.v])[: len(seen)]
    assert np.abs(error[:, :3]).max() < 1e-2
    assert np.abs(lb.constraint_residual(s, seen[:, :3])).max() < 1e-9
    assert nis(r.signals["innovation encoder"].y).mean() < 1.5


def test_margins_and_runs_have_the_same_filter_and_gains():
    """In a run, the commands follow from the readings by the linear model of filter and gains, once it has settled."""
    s = four_bar()
    q, kalman = at_crank(s), Kalman(0.5, initial=1e-3)
    c = LQR([100.0, 0, 0, 1.0, 0, 0], 0.01, sample_time=T, about=q, bodies="crank", observer=kalman)
    r = lb.simulate(s, 1.5, q0=q, torque=Loop(s, c, sensors=sensors(False), seed=1), every=0.5)
    K = c.linear()
    x, expected = np.zeros(K.order), []
    for y in r.signals["encoder"].y - q[0]:
        expected.append((K.C @ x + K.D @ y)[0])
        x = K.A @ x + K.B @ y
    hold = lb.inverse_dynamics(s, q, np.zeros(3), np.zeros(3), actuated=["crank"])
    error = r.signals["command"].y[:, 0] - hold[0] - expected
    assert np.abs(error[-100:]).max() < 1e-4 * np.abs(expected[-100:]).max()
    plant = lb.linearize(s, q, np.zeros(3), hold, inputs=["crank"])
    alone = LQR([100.0, 0, 0, 1.0, 0, 0], 0.01, sample_time=T, about=q, bodies="crank")
    Loop(s, alone)
    assert 0.0 < margins(kalman.seen(plant), c).disk < margins(plant, alone).disk


def test_computed_torque_with_a_filter_settles_at_its_reference():
    s = four_bar(flexible=True)
    q0 = at_crank(s)
    c = ComputedTorque(
        100.0,
        20.0,
        sample_time=T,
        model="flexible",
        bodies="crank",
        reference=1.05,
        observer=Kalman(0.05, initial=1e-3),
        near=q0,
    )
    r = lb.simulate(s, 0.7, q0=q0, torque=Loop(s, c, sensors=sensors(True), seed=1), every=0.1)
    assert abs(r.joint("crank")[-1, 0] - 1.05) < 2e-3


def test_what_is_not_known_is_refused():
    s, q = five_bar()
    motors = ["left upper", "right upper"]
    read = [Encoder(motors, rate=100.0, noise=1e-4)]

    def loop(kalman, about=q, bodies=motors):
        return Loop(
            s,
            LQR(1.0, 1.0, sample_time=T, about=about, bodies=bodies, observer=kalman),
            sensors=read,
        )

    with pytest.raises(lb.LimberError, match=r"Kalman: q is no equilibrium|does not satisfy"):
        loop(Kalman(1.0, q=q + 0.1))
    with pytest.raises(lb.LimberError, match=r"'left fore', 'right fore'.*near=\(nq,\)"):
        c = ComputedTorque(1.0, 1.0, sample_time=T, bodies=motors, observer=Kalman(1.0))
        Loop(s, c, sensors=read)


@pytest.mark.parametrize("extended", [False, True])
def test_arms_that_carry_a_box_on_a_quaternion_have_filters(extended):
    s, q = carrying()
    motors = [body for body in s.layout if body != "box"]
    kalman = Kalman(0.02, initial=1e-2, extended=extended)
    c = LQR(1.0, 1e-4, sample_time=T, about=q, bodies=motors, observer=kalman)
    loop = Loop(s, c, sensors=[Encoder(motors, rate=1 / T, noise=1e-4)], seed=1)
    _, v = lb.project(s, q, np.append([0.2, 0.0, 0.0, 0.1, 0.0, 0.0], np.zeros(6)))
    end = 0.2 if extended else 2.0
    r = lb.simulate(s, end, q0=q, v0=v, torque=loop, every=0.1)
    seen = r.signals["estimate"].y[-1]
    assert np.abs(lb.constraint_residual(s, seen[: s.nq])).max() < 1e-9
    assert np.abs(lb.difference(s, r.q[-1], seen[: s.nq])).max() < 1e-2
    assert extended or np.abs(lb.difference(s, q, r.q[-1])).max() < 5e-3
