"""LQR and Kalman filters of what floats, and of joints with quaternions."""

import warnings

import numpy as np
import pytest
import scipy.integrate
import scipy.linalg
import scipy.optimize

import limber as lb
from helpers.random_systems import random_assembly, random_state
from helpers.shaken import Shaken
from limber.control import (
    LQR,
    ComputedTorque,
    Encoder,
    Gyro,
    Kalman,
    Loop,
    ReactionWheel,
    StarTracker,
    Tachometer,
    lqr_gain,
    margins,
    mean_test,
    nees,
    spillover,
)

T = 0.1
WHEELS = ("x", "y", "z")
POSITION = ("base[3]", "base[4]", "base[5]")
#: Poles of the model agree with those of simulations to this, relative to 1.
POLES = 1e-6


def craft(wheels=True, panel=False, damping=0.0):
    a = lb.Assembly("craft")
    ends = {"side": (1, 0, 0), "back": (-1, 0, 0)}
    a.attach("base", lb.RigidBody(100.0, inertia=[20.0, 25.0, 30.0], nodes=ends), lb.Free())
    link = lb.RigidBody(5.0, (0.5, 0, 0), [0.05, 0.5, 0.5], {"tip": (1, 0, 0)})
    a.attach("upper", link, lb.Revolute("z"), "base", "side")
    a.attach("fore", link, lb.Revolute("y"), "upper", "tip")
    if panel:
        beam = lb.beam(3.0, 5.0, EI=2000.0, modes={"z": 1}, damping=0.005)
        a.attach("panel", beam, lb.Fixed(), "base", "back")
    for axis in WHEELS if wheels else ():
        wheel = ReactionWheel(axis, axis, inertia=0.05, mass=2.0, damping=damping)
        wheel.attach(a, to="base")
    return a.build()


def motors(s):
    return [body for body in s.layout if s.joints[body].dofs == 1]


def turned(s, rotation, arm=(0.0, 0.0)):
    x = np.zeros(s.nv)
    x[:3] = rotation
    x[[s.layout[body].v_joint.start for body in ("upper", "fore")]] = arm
    return lb.integrate(s, s.neutral(), x, 1.0)


def sampled_map(s, c, q, delay, step=1e-4):
    """The derivative of [dq, dv, last command] after a sample by those before, from simulations of the loop."""
    n, m, whole = s.nv, len(c.torque_places), 2 * s.nv
    loops: dict[bytes, Loop] = {}

    def after(x):
        start = np.zeros(n)
        start[c.torque_places] = c._end[2] + x[whole:]
        key = start.tobytes()  # a loop takes longer to make than to run
        if key not in loops:
            loops.clear()
            loops[key] = Loop(s, c, delay=delay, initial=start)
        loop = loops[key]
        r = lb.simulate(
            s, c.sample_time, q0=lb.integrate(s, q, x[:n], 1.0), v0=x[n:whole], torque=loop,
            t_eval=[0.0, c.sample_time], rtol=1e-12, atol=1e-13,
        )  # fmt: skip
        sent = r.signals["command"].y[0][c.torque_places] - c._end[2]
        return np.concatenate([lb.difference(s, q, r.q[-1]), r.v[-1], sent])

    size = whole + (m if delay else 0)
    columns = []
    for e in step * np.eye(whole + m)[:size]:
        by = [8.0 * (after(e) - after(-e)), after(2 * e) - after(-2 * e)]
        columns.append(((by[0] - by[1]) / (12.0 * step))[:size])
    return np.array(columns).T


def worst(found, expected):
    """The largest distance between poles in pairs."""
    distance = np.abs(found[:, None] - expected)
    rows, columns = scipy.optimize.linear_sum_assignment(distance)
    return distance[rows, columns].max()


def random_tree(seed, bodies=3):
    rng = np.random.default_rng(seed)
    kinds = ["Free", "Spherical", "Revolute", "Universal"]
    while True:
        a = random_assembly(rng, bodies=bodies, flexible=0.3, kinds=kinds, physics=False)
        s = a.build()
        if sum(s.joints[b].nq != s.joints[b].dofs for b in s.layout) >= 1 and s.nv <= 14:
            return s, rng


def balanced(s, rng):
    """A random configuration, with modes in equilibrium."""
    q = random_state(rng, s, 0.0)[0]
    flexible = any(body.modes for body in s.bodies.values())
    return lb.equilibrium(s, q, locked=list(s.layout)) if flexible else q


SLOW = [pytest.param(i, d, marks=pytest.mark.slow) for i in range(10) for d in (0.0, 0.4)]


@pytest.mark.parametrize(("seed", "delay"), [(0, 0.4), (1, 0.0), *SLOW])
def test_margins_have_the_poles_of_simulated_trees(seed, delay):
    """With torques on all joints, also on those with quaternions, under gravity."""
    s, rng = random_tree(seed, bodies=2 if seed < 2 else 3)
    q = balanced(s, rng)
    moving = [body for body in s.layout if s.joints[body].dofs]
    dt = 0.02
    c = LQR(1.0, 0.1, sample_time=dt, about=q, bodies=moving, delay=0.0)
    Loop(s, c)
    hold = lb.inverse_dynamics(s, q, np.zeros(s.nv), np.zeros(s.nv))
    plant = lb.linearize(s, q, np.zeros(s.nv), hold, inputs=moving)
    found = margins(plant, c, delay=delay * dt)
    jacobian = sampled_map(s, c, q, delay * dt)
    assert worst(found.poles, np.linalg.eigvals(jacobian)) < POLES


ARM = ("upper", "fore")
EVERYTHING_ELSE = (*WHEELS, *POSITION)


def regulator(s, about=None, free=EVERYTHING_ELSE, **options):
    about = turned(s, [0.3, -0.2, 0.1], [0.5, -0.7]) if about is None else about
    return LQR(1.0, 1.0, sample_time=T, about=about, free=free, **options)


@pytest.mark.parametrize("damping", [pytest.param(0.0, marks=pytest.mark.slow), 0.02])
def test_a_craft_with_wheels_has_the_poles_of_its_simulation(damping):
    """Attitude, arm and their rates; bearings with damping couple the wheels to them. All else stays at z = 1."""
    s = craft(damping=damping)
    c = regulator(s)
    Loop(s, c)
    plant = lb.linearize(s, c.about, inputs=motors(s))
    found = margins(c.reached(plant), c)
    assert found.stable and len(found.poles) == 10
    simulated = np.linalg.eigvals(sampled_map(s, c, c.about, 0.0))
    distance = np.abs(found.poles[:, None] - simulated)
    _, own = scipy.optimize.linear_sum_assignment(distance)
    assert distance[np.arange(10), own].max() < POLES
    rest = np.delete(simulated, own)
    assert len(rest) == 2 * s.nv - 10 and np.abs(rest - 1.0).max() < 1e-3
    assert not margins(plant, c).stable


def test_gains_are_those_of_the_model_in_which_wheels_follow_from_the_momentum():
    """Against the mechanics by hand: M_r dv = 0 for the rows r of the base gives the wheels and the velocity."""
    s = craft(damping=0.02)
    c = regulator(s)
    Loop(s, c)
    M = lb.mass_matrix(s, c.about)
    kept = [0, 1, 2, 6, 7]
    gone = np.setdiff1d(np.arange(s.nv), kept)
    F = np.zeros((s.nv, 5))
    F[kept] = np.eye(5)
    F[gone] = -np.linalg.solve(M[:6, gone], M[:6, kept])
    D = np.diag([0.0] * 8 + [0.02] * 3)
    slope = np.linalg.solve(M, -D @ F)[kept]
    forces = np.linalg.solve(M, np.eye(s.nv)[:, 6:])[kept]
    none = np.zeros((5, 5))
    A, B = np.block([[none, np.eye(5)], [none, slope]]), np.vstack([np.zeros((5, 5)), forces])
    held = scipy.linalg.expm(T * np.block([[A, B], [np.zeros((5, 15))]]))
    Phi, Gamma = held[:10, :10], held[:10, 10:]
    X = scipy.linalg.solve_discrete_are(Phi, Gamma, np.eye(10), np.eye(5))
    K = np.linalg.solve(np.eye(5) + Gamma.T @ X @ Gamma, Gamma.T @ X @ Phi)
    columns = np.append(kept, s.nv + np.array(kept))
    assert np.abs(c.gains[0][:, columns] - K).max() < 1e-8 * np.abs(K).max()
    assert not np.delete(c.gains[0], columns, axis=1).any()


def test_without_wheels_the_arm_is_held_and_the_base_is_named():
    s = craft(wheels=False)
    about = turned(s, [0.3, -0.2, 0.1], [0.5, -0.7])
    words = r"attitude of 'base'; the position of 'base'.*free=\['base'\]"
    with pytest.warns(lb.ModelWarning, match=words):
        Loop(s, regulator(s, free=None))
    c = regulator(s, free="base")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sensors = [Encoder(rate=10.0), Tachometer(rate=10.0)]  # those of the arm are enough
        loop = Loop(s, c, sensors=sensors)
    off = lb.integrate(s, about, np.append(np.zeros(6), [0.4, -0.3]), 1.0)
    r = lb.simulate(s, 20.0, q0=off, torque=loop, every=1.0)
    assert np.abs(lb.difference(s, about, r.q[-1])[6:]).max() < 1e-3
    assert np.abs(lb.momentum(s, r.q[-1], r.v[-1])).max() < 1e-8
    exact = lb.simulate(s, 20.0, q0=off, torque=regulator(s, free="base"), every=1.0)
    assert np.abs(r.q - exact.q).max() < 1e-9
    K = lqr_gain(c.reached(lb.linearize(s, about, inputs=list(ARM))), 1.0, 1.0, T)
    assert np.abs(c.gains[0][:, [6, 7, 14, 15]] - K).max() < 1e-8 * np.abs(K).max()


def test_what_is_left_free_beside_wheels_is_said():
    s = craft()
    words = (
        r"the position of 'base'; the joint of 'x'; .* the joint of 'z'.*free=\['base\[3\]'.*'z'\]"
    )
    with pytest.warns(lb.ModelWarning, match=words):
        Loop(s, regulator(s, free=None))
    told, asked = regulator(s, free=None), regulator(s)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        Loop(s, told)
    Loop(s, asked)
    assert np.array_equal(told.gains, asked.gains)
    with pytest.warns(lb.ModelWarning, match="Left free: the position of 'base'"):
        Loop(s, regulator(s, free=["base[0]", "base[1]", "base[2]"]))  # the wheels are held instead
    Q = np.ones(2 * s.nv)
    Q[[3, 4, 5, 8, 9, 10, 14, 15, 16, 19, 20, 21]] = 0.0  # zeros are as good
    zeros = LQR(Q, 1.0, sample_time=T, about=asked.about)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Loop(s, zeros)
    assert np.array_equal(zeros.gains, asked.gains)


def test_torques_on_a_base_hold_it_and_leave_idle_joints_free():
    """A base is no rotor, although its coordinates do not change the mass matrix either."""
    s = craft(wheels=False)
    about = turned(s, [0.3, -0.2, 0.1], [0.5, -0.7])
    c = LQR(1.0, 1.0, sample_time=T, about=about, bodies=["base"])
    with pytest.warns(
        lb.ModelWarning, match=r"Left free: the joint of 'upper'; the joint of 'fore'\."
    ):
        Loop(s, c)
    assert not c.gains[0][:, [6, 7, 14, 15]].any()
    c = LQR(1.0, 1.0, sample_time=T, about=about, bodies=["base"], free=["upper", "fore"])
    Loop(s, c)
    plant = lb.linearize(s, about, inputs=["base"])
    found = margins(c.reached(plant), c)
    assert found.stable and len(found.poles) == 12
    simulated = np.linalg.eigvals(sampled_map(s, c, about, 0.0))
    distance = np.abs(found.poles[:, None] - simulated)
    _, own = scipy.optimize.linear_sum_assignment(distance)
    assert distance[np.arange(12), own].max() < POLES


def test_an_empty_list_of_what_is_free_is_like_none():
    gains = []
    for free in (None, []):
        s = craft(wheels=False)
        c = regulator(s, free=free)
        with pytest.warns(lb.ModelWarning, match="Left free"):
            Loop(s, c)
        gains.append(c.gains)
    assert np.array_equal(*gains)


def test_wrong_names_of_what_is_free_are_refused():
    s = craft()
    for free, words in (
        (["base[6]"], r"free has 'base\[6\]', but the joint of 'base' has 6 speeds"),
        (["hub"], "LQR: free: body.*'hub'"),
        (3, "LQR: free: bodies must be the names"),
    ):
        with pytest.raises(lb.LimberError, match=words):
            Loop(s, regulator(s, free=free))


@pytest.mark.parametrize("angle", [1.0, 3.1])
def test_a_slew_is_the_same_for_both_signs_of_the_quaternion(angle):
    s = craft()
    axis = np.array([1.0, 1.0, -1.0]) / np.sqrt(3.0)
    about = turned(s, [0.3, -0.2, 0.1])
    x = np.append(angle * axis, [0.0] * 3 + [0.4, -0.5] + [0.0] * 3)
    start = lb.integrate(s, about, x, 1.0)
    runs = []
    for sign, other, end in ((1.0, 1.0, 90.0), (-1.0, 1.0, 20.0), (1.0, -1.0, 20.0)):
        q0, target = np.array(start), np.array(about)
        q0[:4] *= sign
        target[:4] *= other
        runs.append(lb.simulate(s, end, q0=q0, torque=regulator(s, target), every=1.0))
    error = lb.difference(s, about, runs[0].q)
    assert abs(np.linalg.norm(error[0, :3]) - angle) < 1e-12
    assert (
        np.abs(error[-1, [0, 1, 2, 6, 7]]).max() < 2e-3 and np.abs(runs[0].v[-1, :3]).max() < 1e-3
    )
    assert (np.linalg.norm(error[:, :3], axis=1) < angle + 1e-9).all()
    for run in runs[1:]:
        assert np.abs(run.v - runs[0].v[:21]).max() < 1e-9
        assert np.abs(run.tau - runs[0].tau[:21]).max() < 1e-9


@pytest.mark.parametrize("wheels", [True, False])
def test_gains_along_a_motion_of_a_free_flyer(wheels):
    s = craft(wheels)
    move = {b: lb.trajectories.Quintic(0.0, x, 4.0) for b, x in zip(ARM, (0.8, -1.0))}
    if wheels:
        move |= {"x": lb.trajectories.Quintic(0.0, 300.0, 4.0)}
        move |= dict.fromkeys(WHEELS[1:], lb.trajectories.Hold(0.0))
    nominal = lb.simulate(s, 4.0, motion=move, every=0.05)
    assert np.abs(lb.difference(s, nominal.q[0], nominal.q[-1])[:3]).max() > 0.1
    free = EVERYTHING_ELSE if wheels else "base"
    c = LQR(1.0, 1.0, sample_time=0.05, about=nominal, free=free, points=7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loop = Loop(s, c)
    assert np.ptp(c.gains, axis=0).max() > 0.1
    on = lb.simulate(s, 4.0, torque=loop, every=0.1)
    held = [0, 1, 2, 6, 7] if wheels else [6, 7]
    assert np.abs(lb.difference(s, nominal.resample(on.t).q, on.q)[:, held]).max() < 5e-4
    off = np.zeros(s.nv)
    off[[0, 1, 6, 7]] = 0.5 * wheels, -0.4 * wheels, 0.1, -0.1
    r = lb.simulate(s, 60.0, q0=lb.integrate(s, s.neutral(), off, 1.0), torque=c, every=1.0)
    assert np.abs(lb.difference(s, nominal.q[-1], r.q[-1])[held]).max() < 5e-3


def test_a_motion_with_momentum_is_refused():
    s = craft(wheels=False)
    v0 = np.append([0.1, 0.0, 0.0], np.zeros(5))
    r = lb.simulate(s, 1.0, v0=v0, every=0.1)
    with pytest.raises(lb.LimberError, match=r"about is a motion in which 'craft' has a momentum"):
        Loop(s, LQR(1.0, 1.0, sample_time=T, about=r, free="base"))


# --- filters --------------------------------------------------------------------------------------

#: Forces are held over a sample, which moves joints less than white ones: with small ones the noise of sensors hides that.
DENSITY = 2e-4
DEVIATION = 1e-3


def sensors(**options):
    return [
        StarTracker("base", rate=10.0, noise=[1e-4, 1e-4, 4e-4], **options),
        Gyro("base", rate=10.0, noise=2e-4),
        Encoder(rate=10.0, noise=1e-4),
    ]


def shaken(seed):
    class Random(Shaken):
        density = DENSITY

        def start(self, t, measured):
            super().start(t, measured)
            self._rng = np.random.default_rng(seed)

    return Random


def disturbance(s):
    found = np.zeros(s.nv)
    found[[s.layout[body].v_joint.start for body in motors(s)]] = DENSITY
    return found


def lqg(s, kalman, cls=LQR, about=None, **options):
    c = cls(
        1.0,
        1.0,
        sample_time=T,
        about=s.neutral() if about is None else about,
        free=EVERYTHING_ELSE,
        observer=kalman,
    )
    return c, Loop(s, c, **options)


def errors_of(extended, seeds, end=2.0):
    """NEES of all states at the end of runs, with the star tracker a sample late in every other run."""
    s = craft()
    found = []
    for seed in seeds:
        kalman = Kalman(disturbance(s), initial=DEVIATION, extended=extended, record=True)
        late = {"delay": T} if seed % 2 else {}
        _, loop = lqg(s, kalman, shaken(seed), sensors=sensors(**late), seed=100 + seed)
        x = DEVIATION * np.random.default_rng(50 + seed).standard_normal(2 * s.nv)
        q0 = lb.integrate(s, s.neutral(), x[: s.nv], 1.0)
        r = lb.simulate(s, end, q0=q0, v0=x[s.nv :], torque=loop, t_eval=[0.0, end - T, end])
        seen = r.signals["estimate"]
        assert abs(seen.t[-1] - (end - T)) < 1e-9
        error = [lb.difference(s, r.q[1], seen.y[-1, : s.nq]), seen.y[-1, s.nq :] - r.v[1]]
        found.append(nees([np.concatenate(error)], [kalman.covariances[-1]])[0])
    return mean_test(found, 2 * s.nv, level=0.999)


@pytest.mark.parametrize("extended", [False, True])
def test_filters_of_a_free_flyer_are_consistent(extended):
    assert errors_of(extended, range(2 if extended else 8))


@pytest.mark.slow
@pytest.mark.parametrize("extended", [False, True])
def test_filters_of_a_free_flyer_are_consistent_over_many_seeds(extended):
    assert errors_of(extended, range(20, 120))


def test_the_linear_filter_has_the_covariance_of_an_independent_riccati_recursion():
    s = craft(damping=0.02)
    q = turned(s, [0.4, -0.9, 0.2], [0.5, -0.7])
    kalman = Kalman(0.05, initial=1e-2, record=True)
    _, loop = lqg(s, kalman, about=q, sensors=sensors(), seed=1)
    lb.simulate(s, 3.0, q0=q, torque=loop, every=1.0)
    n = s.nv
    M = lb.mass_matrix(s, q)
    D = np.diag([0.0] * (n - 3) + [0.02] * 3)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [np.zeros((n, n)), -np.linalg.solve(M, D)]])
    B = np.vstack([np.zeros((n, n)), np.linalg.inv(M)])

    def rate(t):
        return (x := scipy.linalg.expm(A * t) @ B * 0.05) @ x.T

    Q = scipy.integrate.quad_vec(rate, 0.0, T, epsabs=1e-16, epsrel=1e-12)[0]
    Phi = scipy.linalg.expm(A * T)
    rows = [0, 1, 2, n, n + 1, n + 2, 6, 7, 8, 9, 10]  # attitude, its rate, joints
    H = np.eye(2 * n)[rows]
    R = np.diag(np.square([1e-4, 1e-4, 4e-4, *[2e-4] * 3, *[1e-4] * 5]))
    P = 1e-4 * np.eye(2 * n)
    for k, found in enumerate(kalman.covariances):
        if k:
            P = Phi @ P @ Phi.T + Q
        G = np.linalg.solve(H @ P @ H.T + R, H @ P).T
        P = (np.eye(2 * n) - G @ H) @ P
        P = 0.5 * (P + P.T)
        scale = np.sqrt(np.outer(np.diag(P), np.diag(P)))
        assert (np.abs(found - P) / scale).max() < 1e-6
    assert len(kalman.covariances) >= 30


@pytest.mark.parametrize("extended", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_lqg_turns_a_flexible_craft_from_far_away(extended):
    s = craft(panel=True)
    start = turned(s, 2.4 * np.array([0.6, 0.0, 0.8]), [0.4, -0.5])
    runs = []
    for sign, end in ((1.0, 70.0), (-1.0, 3.0)):
        q0 = np.array(start)
        q0[:4] *= sign
        _, loop = lqg(s, Kalman(0.02, extended=extended), sensors=sensors(), seed=1)
        runs.append(lb.simulate(s, end, q0=q0, torque=loop, every=1.0))
    assert np.abs(runs[0].v[:4] - runs[1].v).max() < 1e-9
    error = lb.difference(s, s.neutral(), runs[0].q[-1])
    held = [0, 1, 2, *(s.layout[body].v_joint.start for body in ARM)]
    assert np.abs(error[held]).max() < 1e-2


def test_margins_and_runs_of_lqg_have_the_same_filter_and_gains():
    """Commands follow from the readings by the linear model, once the filter has settled."""
    s = craft()
    q = turned(s, [0.4, -0.9, 0.2], [0.5, -0.7])
    kalman = Kalman(0.02, initial=1e-3)
    c, loop = lqg(s, kalman, about=q, sensors=sensors(), delay=0.4 * T, seed=1)
    plant = lb.linearize(s, q, inputs=motors(s))
    found = margins(c.reached(kalman.seen(plant)), c, delay=0.4 * T)
    assert found.stable and found.disk > 0.3
    r = lb.simulate(s, 25.0, q0=q, torque=loop, every=5.0)
    tracked, gyro, encoder = (r.signals[x].y for x in ("star tracker", "gyro", "encoder"))
    seen = np.hstack([tracked, np.tile(q[4:], (len(tracked), 1))])
    joints = [s.layout[body].q_joint.start for body in motors(s)]
    readings = np.hstack([lb.difference(s, q, seen)[:, :3], gyro, encoder - q[joints]])
    K = c.linear()
    x, expected = np.zeros(K.order), []
    for y in readings:
        expected.append(K.C @ x + K.D @ y)
        x = K.A @ x + K.B @ y
    sent = r.signals["command"].y[:, c.torque_places]
    last = slice(len(sent) - 100, len(sent))
    error = (sent - np.array(expected)[: len(sent)])[last]
    assert np.abs(error).max() < 1e-3 * np.abs(sent[last]).max()


@pytest.mark.parametrize("extended", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_biases_and_loads_of_a_free_flyer_are_found(extended):
    s = craft()
    bias = np.array([2e-3, -1e-3, 3e-3])
    read = sensors()
    read[1] = Gyro("base", rate=10.0, noise=2e-4, bias=bias)
    moments = {
        ("upper", None): [0.0, 0.0, 0.3, *[0.0] * 3],
        ("base", None): [0.0, 0.0, -0.3, *[0.0] * 3],
    }
    kalman = Kalman(disturbance(s), bias={"gyro": 1e-2}, load={"upper": 0.1}, extended=extended)
    _, loop = lqg(s, kalman, sensors=read, seed=3)
    r = lb.simulate(s, 40.0, torque=loop, external=moments, every=1.0)
    assert np.abs(r.signals["bias gyro"].y[-1] - bias).max() < 3e-4
    assert abs(r.signals["load"].y[-1, 0] - 0.3) < 0.1


def test_a_feedback_of_what_no_sensor_shows_has_no_margins():
    s = craft()
    kalman = Kalman(0.02)
    c = LQR(1.0, 1.0, sample_time=T, about=s.neutral(), bodies=list(s.layout), observer=kalman)
    Loop(s, c, sensors=sensors(), seed=1)
    with pytest.raises(lb.LimberError, match="feedback that uses them needs more sensors"):
        c.linear()


def test_batches_take_the_law_of_plain_joints_and_refuse_that_of_quaternions():
    s = craft(wheels=False)
    start = turned(s, [0.3, -0.2, 0.1], [0.7, -0.4])
    runs = [
        lb.simulate(
            s, 2.0, q0=np.array([start, s.neutral()]), torque=regulator(s, free="base"), every=T,
            method="rk4", step=0.01, engine=engine,
        )
        for engine in ("general", "generated")
    ]  # fmt: skip
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-12
    assert not isinstance(regulator(s, free="base").sampled_law(s), str)
    wheels = craft()
    assert "LQR of joints with quaternions" in regulator(wheels).sampled_law(wheels)


def test_a_ball_joint_that_hangs_is_free_about_the_vertical():
    """The vertical is along none of the axes of the joint; about it alone, nothing brings the arm back."""
    a = lb.Assembly("pendulum", gravity=(0, 0, -9.81))
    tilted = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    tilted *= np.linalg.det(tilted)
    body = lb.RigidBody(
        2.0, tilted.T @ [0.0, 0.0, -0.5], [0.3, 0.4, 0.5], {"tip": tilted.T @ [0.0, 0.0, -1.0]}
    )
    a.attach("ball", body, lb.Spherical(), rotation=tilted)
    spin = lb.RigidBody(1.0, (0.1, 0.0, 0.0), [0.05, 0.06, 0.07])
    a.attach("drive", spin, lb.Revolute([0.3, 0.5, 0.8]), "ball", "tip")
    a.attach("other", spin, lb.Revolute([0.9, -0.5, 0.1]), "ball", "tip")
    s = a.build()
    q = lb.equilibrium(s, locked=["drive", "other"])
    c = LQR(1.0, 0.1, sample_time=0.05, about=q)
    with pytest.warns(lb.ModelWarning, match=r"'ball\[\d\]', parts of the attitude of 'ball'"):
        Loop(s, c)
    hold = lb.inverse_dynamics(s, q, np.zeros(s.nv), np.zeros(s.nv))
    found = margins(
        c.reached(lb.linearize(s, q, np.zeros(s.nv), hold, inputs=["drive", "other"])), c
    )
    assert found.stable and len(found.poles) == 2 * s.nv - 2


def test_spillover_of_the_panel_of_a_craft():
    s = craft(panel=True)
    c = regulator(s, s.neutral())
    Loop(s, c)
    full = c.reached(lb.linearize(s, inputs=motors(s)))
    assert full.order == 12
    found = spillover(full, full.balanced(10), c)
    assert found.stable and found.design_stable and len(found.truncated) == 1


def test_computed_torque_of_the_arm_of_a_free_flyer_takes_a_linear_filter():
    s = craft(wheels=False)
    kalman = Kalman(0.02)
    c = ComputedTorque(4.0, 4.0, sample_time=T, bodies=ARM, reference=[0.5, -0.4], observer=kalman)
    r = lb.simulate(s, 8.0, torque=Loop(s, c, sensors=sensors(), seed=1), every=1.0)
    assert np.abs(r.q[-1, 7:] - [0.5, -0.4]).max() < 2e-3


def test_margins_of_four_wheels_need_one_that_is_held_or_none_that_is_read():
    a = lb.Assembly("craft")
    a.attach("base", lb.RigidBody(100.0, inertia=[20.0, 25.0, 30.0]), lb.Free())
    names = ["a", "b", "c", "d"]
    for name, axis in zip(names, ([1, 1, 1], [-1, 1, 1], [-1, -1, 1], [1, -1, 1])):
        ReactionWheel(name, axis, inertia=0.05, mass=2.0).attach(a, to="base")
    s = a.build()
    plant = lb.linearize(s, inputs=names)
    for free, read, stable in ((names, 3, False), (names, 2, True), (names[:3], 3, True)):
        kalman = Kalman(0.02)
        c = LQR(
            1.0, 1.0, sample_time=T, about=s.neutral(), free=[*free, *POSITION], observer=kalman
        )
        Loop(s, c, sensors=sensors()[:read], seed=1)
        assert margins(c.reached(kalman.seen(plant)), c).stable == stable
