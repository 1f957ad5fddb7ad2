"""Model predictive control: its optimum, its bounds, its phases and its failures."""

import copy
import pickle
import sys

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.slews import arm, bar
from limber import control

pytest.importorskip("piqp")


def regulator(system, goal, intervals=30, **options):
    costs = [
        control.Effort(1e-2),
        control.Tracking(goal, q=10.0, v=0.1, final_q=50.0, final_v=5.0),
    ]
    return control.NMPC(system, intervals, sample_time=0.02, costs=costs, **options)


def test_arm_reaches_its_goal_within_bounds():
    s = arm()
    goal = s.neutral()
    goal[1] = 0.5
    nmpc = regulator(s, goal, torque=4.0, speed=0.9)
    r = lb.simulate(s, 2.5, torque=nmpc, every=0.02)
    assert_close(r.q[-1], goal, 5e-3)
    assert np.abs(r.signals["command"].y).max() <= 4.0 + 1e-6
    assert r.v[:, 1].max() < 0.9 + 2e-2
    assert (r.signals["solved"].y == 1.0).all()


def test_iterations_converge_to_the_optimal_motion():
    """From a state at rest, Newton steps of the first sample give what IPOPT finds of the same horizon."""
    s = bar()
    goal = np.array([0.8])
    costs = [control.Effort(0.1), control.Tracking(goal, q=1.0, final_q=20.0, final_v=2.0)]
    nmpc = control.NMPC(s, 20, sample_time=0.05, costs=costs, torque=1.0, accuracy=1e-9)
    nmpc.start(0.0, control.Measured(0.0, np.zeros(1), np.zeros(1)))
    best = control.OptimalControl(s, 1.0, 20, costs=costs, rest=False, torque=1.0).solve(
        tolerance=1e-9
    )
    assert_close(nmpc.plan[1], best.forces, 1e-4)


def test_reference_that_moves_is_followed():
    s = bar()

    def reference(t):
        return np.array([0.3 * np.sin(2 * t)]), np.array([0.6 * np.cos(2 * t)])

    costs = [control.Effort(1e-3), control.Tracking(reference, q=100.0, v=1.0)]
    nmpc = control.NMPC(s, 20, sample_time=0.02, costs=costs)
    r = lb.simulate(s, 2.0, v0=[0.6], torque=nmpc, every=0.02)
    assert_close(r.q[:, 0], 0.3 * np.sin(2 * r.t), 2e-2)


@pytest.mark.parametrize("samples", [0.5, 1.0, 2.25])
def test_the_horizon_begins_where_a_late_command_takes_effect(samples):
    s = arm()
    goal = s.neutral()
    goal[1] = 0.5
    plans = []

    class Recorded(control.NMPC):
        def command(self, t, measured):
            found = super().command(t, measured)
            plans.append((t, self.plan[0][0]))
            return found

    costs = [
        control.Effort(1e-2),
        control.Tracking(goal, q=10.0, v=0.1, final_q=50.0, final_v=5.0),
    ]
    nmpc = Recorded(s, 30, sample_time=0.02, costs=costs, torque=4.0, substeps=8)
    delay = 0.02 * samples
    loop = control.Loop(s, nmpc, delay=delay, initial=[0.3])
    times = np.unique(np.append(delay + 0.02 * np.arange(100), 2.5))
    r = lb.simulate(s, 2.5, torque=loop, t_eval=times)
    for t, x in plans[:100]:
        row = np.abs(r.t - t - delay).argmin()
        assert_close(x, np.concatenate([r.q[row], r.v[row]]), 1e-6)
    assert_close(r.q[-1], goal, 5e-3)


def test_preparation_between_samples_changes_nothing():
    """`idle` after each command, or the next command by itself."""
    s, goal = bar(), np.array([0.5])
    first, second = (regulator(s, goal, 10) for _ in range(2))
    q, v = np.zeros(1), np.zeros(1)
    for controller in (first, second):
        controller.start(0.0, control.Measured(0.0, q, v))
    step = lb.compile(s, "step")
    for k in range(10):
        measured = control.Measured(0.02 * k, q, v)
        u, other = (c.command(0.02 * k, measured) for c in (first, second))
        first.idle()
        assert_close(u, other, 1e-12)
        q, v = step(q, v, u, 0.02)


def test_the_plan_keeps_to_the_clock_when_samples_are_lost():
    """A reference that moves is read at the time of the sample, not so many samples after the start."""
    s = bar()

    def reference(t):
        return np.array([t]), np.array([1.0])

    costs = [control.Effort(1e-3), control.Tracking(reference, q=100.0, v=1.0)]
    nmpc = control.NMPC(s, 10, sample_time=0.02, costs=costs, accuracy=1e-9)
    on_path = control.Measured(0.0, np.zeros(1), np.ones(1))
    nmpc.start(0.0, on_path)
    assert_close(nmpc.command(0.0, on_path), [0.0], 1e-3)
    nmpc.idle()
    later = control.Measured(0.1, np.full(1, 0.1), np.ones(1))  # four samples were lost
    assert_close(nmpc.command(0.1, later), [0.0], 1e-3)


def test_copies_run_by_themselves():
    s, goal = bar(), np.array([0.5])
    first = regulator(s, goal, 10)
    r = lb.simulate(s, 0.2, torque=first, every=0.02)
    for other in (copy.deepcopy(first), pickle.loads(pickle.dumps(first))):
        again = lb.simulate(s, 0.2, torque=other, every=0.02)
        assert np.array_equal(again.q, r.q)


def test_without_a_solution_the_last_plan_goes_on():
    """A start beyond the bounds of a joint, which no torque can undo in a sample."""
    s = bar()
    nmpc = regulator(s, np.zeros(1), 10, coordinates={"bar": (-0.5, 0.5)}, torque=1.0)
    with pytest.warns(
        lb.ModelWarning, match="the quadratic program has no solution at t = 0 s"
    ) as told:
        r = lb.simulate(s, 0.1, q0=[0.7], torque=nmpc, every=0.02)
    assert len(told) == 1 and (r.signals["solved"].y == 0.0).all()
    assert np.isfinite(r.q).all()


def test_bad_controllers_are_refused():
    with pytest.raises(lb.LimberError, match="NMPC needs an Effort with a weight above 0"):
        control.NMPC(bar(), 5, sample_time=0.1, costs=control.Tracking([0.0], q=1.0))
    with pytest.raises(
        lb.LimberError, match="does not support MinimumTime, which is for OptimalControl"
    ):
        control.NMPC(bar(), 5, sample_time=0.1, costs=control.MinimumTime())
    with pytest.raises(lb.LimberError, match="give it an observer"):
        control.Loop(bar(), regulator(bar(), np.zeros(1), 5), sensors=[control.Encoder(rate=100.0)])


def test_state_from_sensors_by_a_filter():
    """Encoder and tachometer at the hinge; a filter estimates the mode."""
    s = arm()
    goal = s.neutral()
    goal[1] = 0.3
    nmpc = regulator(s, goal, torque=4.0, observer=control.Kalman(0.05, initial=1e-3))
    sensors = [
        control.Encoder(rate=50.0, counts=2**16),
        control.Tachometer(rate=50.0, noise_density=1e-4),
    ]
    r = lb.simulate(s, 2.5, torque=control.Loop(s, nmpc, sensors=sensors, seed=1), every=0.02)
    assert_close(r.q[-1], goal, 1e-2)
    assert "estimate" in r.signals


def test_missing_solver_names_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "piqp", None)
    with pytest.raises(lb.LimberError, match=r"limber-dynamics\[mpc\]"):
        regulator(bar(), np.zeros(1), 5)


def test_a_controller_forgets_the_limits_of_the_servos_it_had_before():
    a = lb.Assembly("carts")
    cart = lb.RigidBody(2.0, inertia=[1.0] * 3)
    a.attach("first", cart, lb.Prismatic("x"))
    a.attach("second", cart, lb.Prismatic("x", stiffness=10.0, damping=1.0), "first")
    s = a.build()
    nmpc = regulator(s, [0.5, 0.0], intervals=15, joints="first")
    before = lb.simulate(s, 0.4, torque=nmpc)
    servo = control.Servo("first", limit=1.0)
    held = lb.simulate(s, 0.4, torque=control.Loop(s, nmpc, actuators=[servo]))
    assert np.abs(held.signals["command"].y).max() < 1.0 + 1e-6
    after = lb.simulate(s, 0.4, torque=nmpc)
    assert np.array_equal(before.q, after.q)
    assert np.abs(after.signals["command"].y).max() > 2.0
