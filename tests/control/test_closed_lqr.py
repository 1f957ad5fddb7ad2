"""LQR of closed systems against closed forms, equivalent open systems and the same mechanism cut elsewhere."""

import numpy as np
import pytest
import scipy.linalg

import limber as lb
from helpers.mechanisms import (
    SliderCrank,
    at_crank,
    bar,
    braced_boom,
    carrying,
    five_bar,
    four_bar,
    geared,
)
from limber.control import LQR, Encoder, Loop, Tachometer, lqr_gain, margins

pytestmark = pytest.mark.filterwarnings("ignore:the closures of")
T = 0.005
MOTORS = ["left upper", "right upper"]


def place(s, body):
    return s.layout[body].v_joint.start


def plant_of(s, q, c, bodies):
    """The linear model about q with the torques that the controller holds it with."""
    tau = np.zeros(s.nv)
    tau[c.torque_places] = lb.inverse_dynamics(
        s, q, np.zeros(s.nv), np.zeros(s.nv), actuated=bodies
    )[c.torque_places]
    return lb.linearize(s, q, np.zeros(s.nv), tau, inputs=bodies)


def discrete(inertia, stiffness, weights, cost):
    """The gains of I x'' + k x = u, with weights of [x, x'], by SciPy."""
    A = np.array([[0.0, 1.0], [-stiffness / inertia, 0.0]])
    block = np.zeros((3, 3))
    block[:2, :2], block[1, 2] = A, 1.0 / inertia
    found = scipy.linalg.expm(block * T)
    Phi, Gamma = found[:2, :2], found[:2, 2:]
    X = scipy.linalg.solve_discrete_are(Phi, Gamma, np.diag(weights), np.atleast_2d(cost))
    return np.linalg.solve(cost + Gamma.T @ X @ Gamma, Gamma.T @ X @ Phi)[0]


# --- gains ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.6, 2.2])
def test_gains_of_a_slider_crank_are_those_of_its_one_freedom(angle):
    """The weights of all coordinates count, by how far the crank moves each."""
    g = SliderCrank()
    s, q, rates = g.system(), g.q(angle), g.rates(angle)
    Q, R = np.array([30.0, 5.0, 80.0, 2.0, 0.3, 7.0]), 0.02
    c = LQR(Q, R, sample_time=T, about=q, bodies="crank")
    Loop(s, c)
    weights = Q[:3] @ rates**2, Q[3:] @ rates**2
    expected = discrete(g.inertia(angle), g.stiffness(angle), weights, R)
    assert c.gains[0, 0] == pytest.approx([expected[0], 0, 0, expected[1], 0, 0], rel=1e-6)
    r = lb.simulate(s, T, q0=q, torque=c)
    assert r.tau[0, 0] == pytest.approx(g.torque(angle, 0.0, 0.0))


def test_a_geared_joint_has_the_gains_of_one_with_the_rotor_inertia():
    closed, direct, ratio = geared()
    about = 0.4
    Q, R = [50.0, 1.0], 0.1
    open_ = LQR(Q, R, sample_time=T, about=[about])
    Loop(direct, open_)
    whole = [0.0, Q[0], 0.0, Q[1]]  # weights of the link, torques of the motor
    c = LQR(whole, R * ratio**2, sample_time=T, about=[ratio * about, about], bodies="motor")
    Loop(closed, c)
    motor = c.gains[0, 0, [0, 2]]  # N m of the motor for each rad of the motor
    assert motor * ratio**2 == pytest.approx(open_.gains[0, 0], rel=1e-9)


def test_a_coordinate_on_which_no_acceleration_depends_is_held():
    """A linkage on a slide across its plane: the gains of the slide are those of its mass and that of the linkage."""
    a = lb.Assembly("linkage", gravity=(0, -9.81, 0))
    a.attach("slide", lb.RigidBody(5.0, inertia=[0.1] * 3), lb.Prismatic("z"))
    a.attach("crank", bar(1.0), lb.Revolute("z"), to="slide")
    a.attach("coupler", bar(2.5), lb.Revolute("z"), to="crank", at="tip")
    a.attach("rocker", bar(1.8), lb.Revolute("z"), to="slide", offset=(2.2, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), name="pin")
    s = a.build()
    q = lb.assemble(s, [0.3, 1.0, -0.5, 1.5], locked=["slide", "crank"])
    c = LQR([9.0, 1, 0, 0, 2.0, 1, 0, 0], 0.1, sample_time=T, about=q, bodies=["slide", "crank"])
    Loop(s, c)
    expected = discrete(8.0, 0.0, [9.0, 2.0], 0.1)
    assert c.gains[0, 0] == pytest.approx([expected[0], 0, 0, 0, expected[1], 0, 0, 0], abs=1e-8)


def test_motors_that_the_closures_lock_are_refused():
    s, q = braced_boom()
    with pytest.raises(lb.LimberError, match=r"torques of 'brace' move nothing.*bodies=\[\.\.\.\]"):
        Loop(s, LQR(1.0, 1.0, sample_time=T, about=q, bodies="brace"))


@pytest.mark.parametrize("delay", [0.0, 0.007])
def test_the_loop_has_the_poles_of_the_linear_model(delay):
    s, q = five_bar(flexible=True)
    q = lb.equilibrium(s, q, locked=MOTORS)
    Q = np.linspace(1.0, 3.0, 2 * s.nv)
    c = LQR(Q, 0.01, sample_time=T, about=q, bodies=MOTORS)
    Loop(s, c, delay=delay)
    plant = plant_of(s, q, c, MOTORS)
    assert plant.order == 2 * (s.nv - 2)
    K = lqr_gain(plant, plant.T.T @ np.diag(Q) @ plant.T, 0.01, T, delay)
    sampled = plant.sampled(T, delay)
    expected = np.linalg.eigvals(sampled.A - sampled.B @ K)
    # pending commands are states both of the loop and of the controller, with poles at zero
    found, expected = (
        np.sort_complex(x[np.abs(x) > 1e-2])
        for x in (margins(plant, c, delay=delay).poles, expected)
    )
    assert len(found) >= plant.order and np.allclose(found, expected, atol=1e-9)


def test_small_motions_are_those_of_the_linear_loop():
    s = four_bar(flexible=True)
    q, Q = at_crank(s), np.ones(2 * s.nv)
    c = LQR(Q, 0.01, sample_time=T, about=q, bodies="crank")
    loop = Loop(s, c)
    plant = plant_of(s, q, c, ["crank"])
    off = 1e-4 * plant.T @ np.append(np.ones(plant.order // 2), np.zeros(plant.order // 2))
    start = lb.project(s, lb.integrate(s, q, off[: s.nv], 1.0))
    r = lb.simulate(s, 0.2, q0=start, torque=loop, every=T, rtol=1e-10, atol=1e-13)
    K = lqr_gain(plant, plant.T.T @ plant.T, 0.01, T)
    sampled = plant.sampled(T)
    x = np.full(plant.order, 1e-4)
    x[plant.order // 2 :] = 0.0
    expected = []
    for _ in r.t:
        expected.append((plant.T @ x)[: s.nv])
        x = (sampled.A - sampled.B @ K) @ x
    assert np.abs(r.q - q - np.array(expected)).max() < 2e-3 * np.abs(expected).max()


def cut(where):
    """A four-bar linkage with a flexible crank, cut at either end of its coupler."""
    a = lb.Assembly("four-bar", gravity=(0, -9.81, 0))
    crank = lb.beam(1.0, 1.0, EI=80.0, modes={"y": 2}, damping=0.02)
    a.attach("crank", crank, lb.Revolute("z"))
    a.attach("rocker", bar(1.8), lb.Revolute("z"), offset=(2.2, 0, 0))
    to, other = ("crank", "rocker") if where == "rocker" else ("rocker", "crank")
    a.attach("coupler", bar(2.5), lb.Revolute("z"), to=to, at="tip")
    a.close(("coupler", "tip"), (other, "tip"), lb.Revolute("z"), name="pin")
    s = a.build()
    q = s.neutral()
    guess = {"crank": 1.0, "rocker": 1.5, "coupler": -0.5 if to == "crank" else 1.7}
    for body, angle in guess.items():
        q[s.layout[body].q_joint] = angle
    return s, lb.equilibrium(s, lb.assemble(s, q, locked=["crank"]), locked=["crank"])


def test_it_does_not_matter_where_a_loop_is_cut():
    found = []
    for where in ("rocker", "crank"):
        s, q = cut(where)
        Q = np.zeros(2 * s.nv)
        for body, weight in (("crank", 50.0), ("rocker", 20.0)):
            Q[[place(s, body), s.nv + place(s, body)]] = weight, 1.0
        Q[s.layout["crank"].v_modes] = 3.0
        c = LQR(Q, 0.01, sample_time=T, about=q, bodies="crank")
        Loop(s, c)
        plant = plant_of(s, q, c, ["crank"])
        crank = np.r_[s.layout["crank"].v_modes, s.layout["crank"].v_joint]
        by_crank = plant.T @ np.linalg.inv(plant.T[np.append(crank, s.nv + crank)])
        found.append((np.sort_complex(margins(plant, c).poles), c.gains[0, 0] @ by_crank))
    assert np.allclose(found[0][0], found[1][0], atol=1e-7)
    assert np.allclose(found[0][1], found[1][1], rtol=1e-5)


# --- motions --------------------------------------------------------------------------------------


def test_a_motion_is_followed_from_an_error():
    s = four_bar()
    q0, move = at_crank(s), lb.trajectories.Quintic(1.0, 2.2, 0.8)
    nominal = lb.simulate(s, 0.8, q0=q0, motion={"crank": move}, every=0.004)
    Q = [400.0, 0.0, 0.0, 10.0, 0.0, 0.0]
    c = LQR(Q, 0.01, sample_time=0.004, about=nominal, points=7, bodies="crank")
    exact = lb.simulate(s, 0.8, q0=q0, torque=c, every=0.04)
    assert np.abs(exact.q - nominal.resample(exact.t).q).max() < 1e-3
    off = lb.assemble(s, q0 + np.array([0.1, 0.0, 0.0]), locked=["crank"])
    r = lb.simulate(s, 1.2, q0=off, torque=c, every=0.04)
    assert abs(r.q[-1, 0] - 2.2) < 2e-3 and np.abs(r.v[-1]).max() < 2e-2


# --- what is measured, redundant motors, quaternions ------------------------------------------------


def test_sensors_of_the_motors_are_enough_without_modes():
    s, q = five_bar()
    runs = []
    off = lb.assemble(s, q + np.array([0.05, 0.0, -0.05, 0.0]), locked=MOTORS)
    for sensors in ((), [Encoder(MOTORS, rate=1 / T), Tachometer(MOTORS, rate=1 / T)]):
        c = LQR([100.0] * 4 + [1.0] * 4, 1e-3, sample_time=T, about=q, bodies=MOTORS)
        loop = Loop(s, c, sensors=sensors)
        runs.append(lb.simulate(s, 1.5, q0=off, torque=loop, every=0.1))
    assert np.allclose(runs[0].q, runs[1].q, atol=1e-10)
    assert np.abs(runs[0].q[-1] - q).max() < 2e-3


def test_arms_that_carry_a_box_are_held_by_all_their_motors():
    """The box has a free joint, on whose quaternion no gains act; six motors share three freedoms."""
    s, q = carrying()
    motors = [body for body in s.layout if body != "box"]
    c = LQR(1.0, 1e-4, sample_time=T, about=q, bodies=motors)
    loop = Loop(s, c)
    assert not c.gains[0][:, 6:12].any() and np.count_nonzero(c.gains[0].any(axis=0)) == 6
    _, v = lb.project(s, q, np.append([0.2, 0.0, 0.0, 0.1, 0.0, 0.0], np.zeros(6)))
    r = lb.simulate(s, 2.0, q0=q, v0=v, torque=loop, every=0.1)
    assert np.abs(r.v).max() > 0.05 and np.abs(r.q[-1] - q).max() < 1e-3


def test_what_cannot_be_held_is_refused():
    s, q = five_bar()
    with pytest.raises(lb.LimberError, match=r"about is not an equilibrium.*locked=\[\.\.\.\]"):
        Loop(s, LQR(1.0, 1.0, sample_time=T, about=q, bodies="left upper"))
    with pytest.raises(lb.LimberError, match=r"does not satisfy the closures.*lb\.project"):
        Loop(s, LQR(1.0, 1.0, sample_time=T, about=q + 0.1, bodies=MOTORS))
    c = LQR(1.0, 1.0, sample_time=T, about=q, bodies=MOTORS)
    with pytest.raises(
        lb.LimberError, match=r"do not read both for .*Add an Encoder and a Tachometer"
    ):
        Loop(s, c, sensors=[Encoder(MOTORS, rate=100.0)])
    other = LQR(1.0, 1.0, sample_time=T, about=q, bodies=MOTORS, system=s.closed_by([]))
    with pytest.raises(lb.LimberError, match="bodies, joints, modes and closures of 'five-bar'"):
        Loop(s, other)
    bent, q = five_bar(flexible=True)
    q = lb.equilibrium(bent, q, locked=MOTORS)
    with pytest.raises(lb.LimberError, match=r"including modes.*Kalman"):
        both = [Encoder(MOTORS, rate=100.0), Tachometer(MOTORS, rate=100.0)]
        Loop(bent, LQR(1.0, 1.0, sample_time=T, about=q, bodies=MOTORS), sensors=both)
