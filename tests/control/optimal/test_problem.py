"""Optimal motions: derivatives of the problem, known optima, bounds, and what other plants do under the same forces."""

import sys

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.slews import arm, bar, craft
from limber import control
from limber.codegen.shooting import Shooting

DIFFERENCES = 1e-6


def test_slopes_of_intervals_are_those_of_the_steps():
    """Against differences, with several substeps, parameters that differ between intervals, and dt."""
    s, rng = arm(), np.random.default_rng(0)
    shooting = Shooting(s, [1], ["load.mass"], timed=True)
    x, u = 0.1 * rng.standard_normal((4, 2 * s.nv)), rng.standard_normal((4, 1))
    dt, mass = np.array([0.01, 0.02, 0.03, 0.01]), rng.uniform(0.2, 1.0, (4, 1))
    x_new, slopes = shooting.shoot(x, u, dt, 3, mass)
    assert_close(x_new, shooting.roll(x, u, dt, 3, mass), 1e-14)
    for i in range(4):
        plant, h = s.with_parameters({"load.mass": mass[i, 0]}), dt[i] / 3
        step, tau = lb.compile(plant, "step"), np.array([0.0, u[i, 0]])
        q, v = x[i, :2], x[i, 2:]
        for _ in range(3):
            q, v = step(q, v, tau, h)
        assert_close(x_new[i], np.concatenate([q, v]), 1e-12)
    z, h = np.hstack([x, u, dt[:, None]]), 1e-6
    for j in range(6):
        ahead, back = (
            shooting.roll(m[:, :4], m[:, 4:5], m[:, 5], 3, mass)
            for m in (z + h * np.eye(6)[j], z - h * np.eye(6)[j])
        )
        assert_close(slopes[:, :, j], (ahead - back) / (2 * h), DIFFERENCES)


def problems():
    yield "free time, two plants", control.OptimalControl(
        arm(), (0.5, 2.0), 4, end={"hub": 0.5}, substeps=2, torque=5.0,
        costs=[
            control.MinimumTime(), control.Effort(0.1, change=0.2), control.Vibration(0.3, 0.4),
            control.Tracking(arm().neutral(), q=0.2, final_v=0.1),
        ],
        nodes=[control.NodeBounds("hub", "tip", lower=(-1, -1, -1))],
        scenarios=[{"hub.EI": 0.8 * np.array(arm().parameters["hub.EI"].value)}],
    )  # fmt: skip
    turned = [np.cos(0.3), np.sin(0.3), 0, 0]
    yield "quaternions", control.OptimalControl(
        craft(), 1.0, 3, end={"body": turned, "paddle": 0.3}, substeps=1,
        costs=[
            control.Effort(0.1), control.Tracking(craft().neutral(), q=1.0, v=0.1),
        ],
        nodes=[control.NodeBounds("paddle", "end", upper=3.0)],
    )  # fmt: skip


@pytest.mark.parametrize("which", [0, 1])
def test_derivatives_of_problems_are_differences(which):
    _, p = list(problems())[which]
    rng = np.random.default_rng(1)
    z = p.joined(*p.parts(p.guess() + 0.01 * rng.standard_normal(p.size)))
    multipliers, factor, h = rng.standard_normal(p.rows), 0.7, 1e-6
    J = p.jacobian_pattern.matrix(p.jacobian(z)).toarray()
    upper = p.hessian_pattern.matrix(p.hessian(z, factor, multipliers)).toarray()
    H = upper + np.triu(upper, 1).T

    def slope(z):
        return factor * p.cost(z)[1] + p.jacobian_pattern.matrix(p.jacobian(z)).T @ multipliers

    for j in range(p.size):
        ahead, back = z + h * np.eye(p.size)[j], z - h * np.eye(p.size)[j]
        assert_close(J[:, j], (p.constraints(ahead) - p.constraints(back)) / (2 * h), DIFFERENCES)
        assert_close(p.cost(z)[1][j], (p.cost(ahead)[0] - p.cost(back)[0]) / (2 * h), DIFFERENCES)
        assert_close(H[:, j], (slope(ahead) - slope(back)) / (2 * h), 1e-5)


def test_fastest_slew_of_a_rigid_bar_is_bang_bang():
    """Inertia J, torque M, angle a: T = 2 sqrt(a J / M), half the time ahead and half back."""
    problem = control.OptimalControl(
        bar(), (0.1, 5.0), 20, end={"bar": 1.0}, torque=2.0, costs=control.MinimumTime()
    )
    motion = problem.solve()
    assert motion.success and motion.violation < 1e-8
    assert motion.duration == pytest.approx(2 * np.sqrt(1.0 / 3 / 2.0), rel=1e-5)
    assert_close(motion.forces[:, 0], np.repeat([2.0, -2.0], 10), 1e-4)
    again = problem.solve(motion)
    assert again.success and again.iterations < motion.iterations


def test_cheapest_slew_of_a_rigid_bar_is_linear_in_time():
    """min of the integral of u^2: u = 6 J a / T^2 (1 - 2 t/T); its mean over intervals."""
    T, N = 2.0, 40
    motion = control.OptimalControl(bar(), T, N, end={"bar": 1.0}, costs=control.Effort()).solve()
    middle = (np.arange(N) + 0.5) / N
    assert motion.success
    assert_close(motion.forces[:, 0], 6 * (1.0 / 3) / T**2 * (1 - 2 * middle), 2e-3)


def test_motion_is_what_simulate_gives_and_ends_at_rest():
    motion = control.OptimalControl(
        arm(), 1.2, 30, end={"hub": 0.6}, costs=control.Effort(), torque=8.0
    ).solve()
    assert motion.success and np.abs(motion.forces).max() <= 8.0 + 1e-6
    result = lb.simulate(arm(), 1.2, torque=motion.torque, rtol=1e-9, atol=1e-9, every=0.4)
    assert_close(result.q[-1], motion.q[-1], 1e-4)
    assert np.abs(motion.v[-1]).max() < 1e-8 and abs(motion.q[-1, 0]) < 1e-8
    assert len(motion.plot().axes) == 4 and "converged" in repr(motion)


def test_nodes_stay_in_their_box():
    free, boxed = (
        control.OptimalControl(
            bar(), 1.0, 10, end={"bar": 2.5}, costs=control.Effort(), nodes=nodes
        ).solve()
        for nodes in ([], [control.NodeBounds("bar", "tip", upper=(np.inf, 0.99, np.inf))])
    )
    height = [lb.pose(bar(), m.q, "bar", "tip")[1][:, 1] for m in (free, boxed)]
    assert boxed.success and height[0].max() > 0.99 and height[1].max() < 0.99 + 1e-6
    assert boxed.cost > free.cost


def test_node_reaches_its_target():
    target = (np.cos(0.7), np.sin(0.7), 0.0)
    motion = control.OptimalControl(
        bar(), 1.0, 10, rest="joints",
        costs=[control.Effort(1e-6), control.NodeTracking("bar", "tip", target, final=1.0)],
    ).solve()  # fmt: skip
    assert_close(lb.pose(bar(), motion.q[-1], "bar", "tip")[1], target, 1e-4)


def test_quaternions_turn_to_the_end():
    """The hinge of the paddle is along y, and its reaction turns the body about y."""
    turned = np.array([np.cos(0.05), 0.0, np.sin(0.05), 0.0])
    motion = control.OptimalControl(
        craft(), 1.0, 10, end={"body": turned}, rest=False, costs=control.Effort(0.01)
    ).solve()
    assert motion.success
    assert_close(np.abs(motion.q[-1, :4] @ turned), 1.0, 1e-9)
    assert_close(np.linalg.norm(motion.q[:, :4], axis=1), np.ones(11), 1e-9)


def left_over(motion, factor):
    """The energy of the modes after a motion of a plant whose stiffness is that of the model times a factor."""
    s = arm().with_parameters({"hub.EI": factor * np.array(arm().parameters["hub.EI"].value)})
    r = lb.simulate(s, motion.duration, torque=motion.torque, every=motion.duration)
    e = np.concatenate([r.q[-1] - motion.problem.goal, r.v[-1]])
    return 0.5 * e @ control.optimal.terms.modal_energy(s, motion.problem.goal) @ e


def test_robust_motion_vibrates_less_with_other_stiffness():
    EI = np.array(arm().parameters["hub.EI"].value)
    options = {"end": {"hub": 0.6}, "torque": 8.0}
    plain = control.OptimalControl(arm(), 1.2, 30, costs=control.Effort(1e-3), **options).solve()
    robust = control.OptimalControl(
        arm(), 1.2, 30, costs=[control.Effort(1e-3), control.Vibration(final=1e4)],
        scenarios=[{"hub.EI": 0.8 * EI}, {"hub.EI": 1.2 * EI}], **options,
    ).solve()  # fmt: skip
    assert plain.success and robust.success
    for factor in (0.8, 1.2):
        assert left_over(robust, factor) < 0.1 * left_over(plain, factor)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"costs": control.MinimumTime()}, "MinimumTime needs a free duration"),
        ({"costs": [3.0]}, "costs must be a list of lb.control.Effort"),
        ({"end": {"none": 1.0}}, "none"),
        ({"torque": [1.0, 2.0]}, "torque must be one number above 0, or 1 of them"),
        ({"rest": "never"}, 'rest must be "all", "joints" or False'),
        ({"coordinates": {"bar": 3.0}}, r"coordinates\['bar'\] must be \(lowest, highest\)"),
        ({"costs": control.Vibration(1.0)}, "has no modes"),
        ({"costs": control.Effort(-1.0)}, "Effort.weight must be one number"),
    ],
)
def test_bad_problems_are_refused(options, message):
    with pytest.raises(lb.LimberError, match=message):
        control.OptimalControl(bar(), 1.0, 5, **options)


def test_missing_casadi_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    problem = control.OptimalControl(bar(), 1.0, 5, end={"bar": 1.0}, costs=control.Effort())
    with pytest.raises(lb.LimberError, match=r"limber-dynamics\[symbolic\]"):
        problem.solve()
