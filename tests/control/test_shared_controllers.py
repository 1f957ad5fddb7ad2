"""One controller in several loops: each run has the controller of its own loop."""

import copy
import gc
import pickle

import numpy as np
import pytest
import scipy.optimize

import limber as lb
from limber import control
from limber.control import loop as loops


def pendulum(mass):
    a = lb.Assembly("pendulum", gravity=(0, -9.81, 0))
    a.attach("rod", lb.RigidBody(mass, (0.5, 0, 0), [0.1, 0.1, 0.1]), lb.Revolute("z"))
    return a.build()


def off(loop):
    return np.abs(lb.simulate(loop.system, 0.5, torque=loop, every=0.1).q).max()


def test_a_loop_runs_with_its_own_system_after_another_one_was_made():
    pd = control.PD(100.0, 20.0, sample_time=0.01, gravity=True, reference=0.0)
    made = [control.Loop(pendulum(mass), pd) for mass in (1.0, 5.0)]
    assert (
        max(off(loop) for loop in (*made, *made)) < 1e-12
    )  # rad; 0.1 with the weight of the other
    copies = [copy.deepcopy(made[0]), pickle.loads(pickle.dumps(made[0]))]
    assert max(off(loop) for loop in copies) < 1e-12


def test_a_loop_runs_with_the_gains_for_its_own_delay():
    s = pendulum(1.0)
    bent = np.array([0.1])

    def run(loop):
        return lb.simulate(s, 0.5, q0=bent, torque=loop, every=0.05).q

    def made():
        return control.LQR(1.0, 0.01, sample_time=0.01, about=s.neutral())

    alone = [run(control.Loop(s, made(), delay=delay)) for delay in (0.0, 0.04)]
    shared = made()
    both = [control.Loop(s, shared, delay=delay) for delay in (0.0, 0.04)]
    for loop, expected in zip(both, alone):
        assert np.array_equal(run(loop), expected)
    lb.simulate(s, 0.1, torque=shared)  # a loop of its own, without a delay
    assert np.array_equal(run(both[1]), alone[1])


def test_a_shared_observer_is_that_of_the_loop_that_runs():
    sensors = [control.Encoder(rate=100.0, noise=1e-4)]
    kalman = control.Kalman(0.1)

    def made(mass, observer):
        s = pendulum(mass)
        c = control.LQR(1.0, 0.01, sample_time=0.01, about=s.neutral(), observer=observer)
        return control.Loop(s, c, sensors=sensors, seed=1)

    alone = off(made(1.0, control.Kalman(0.1)))
    first, _ = made(1.0, kalman), made(5.0, kalman)
    assert off(first) == alone


def test_a_run_is_not_resumed_with_a_controller_that_was_elsewhere():
    s, pd = pendulum(1.0), control.PID(100.0, 10.0, 20.0, sample_time=0.01, reference=0.3)
    first, second = control.Loop(s, pd), control.Loop(s, pd)
    half = lb.simulate(s, 0.5, torque=first)
    lb.simulate(s, 0.5, torque=second)
    with pytest.raises(lb.LimberError, match="or its controller has been used in another run"):
        lb.simulate(s, 1.0, t0=0.5, q0=half.q[-1], v0=half.v[-1], torque=first.resumed())


def test_nothing_is_kept_of_loops_that_are_gone():
    gc.collect()
    before = len(loops._PREPARED_FOR)
    control.Loop(pendulum(1.0), control.PD(1.0, sample_time=0.1))
    gc.collect()
    assert len(loops._PREPARED_FOR) == before


def test_controllers_do_not_know_the_parameters_of_a_run():
    """A rod that is twice as heavy hangs below its reference by half its weight over the stiffness of the model."""
    s = pendulum(1.0)
    angle, kp, inertia = 0.5, 25.0, 0.1 + 0.25
    q = scipy.optimize.brentq(
        lambda x: inertia * kp * (angle - x) - 0.5 * 9.81 * np.cos(x), -1.0, 1.0, xtol=1e-14
    )

    def law():
        return lb.control.ComputedTorque(kp, 10.0, sample_time=0.002, reference=[angle])

    heavier = {"rod.mass": 2.0}
    one = lb.simulate(s, 8.0, torque=law(), parameters=heavier, t_eval=[8.0])
    two = lb.simulate(s, 8.0, torque=law(), parameters={"rod.mass": [1.0, 2.0]}, t_eval=[8.0])
    assert one.q[-1, 0] == pytest.approx(q, abs=1e-6)
    assert two.q[:, -1, 0] == pytest.approx([angle, q], abs=1e-5)
