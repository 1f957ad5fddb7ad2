"""Steps of environments: they follow dampers, friction, stops, closures and all that is drawn."""

import numpy as np
import pytest

import limber as lb
from helpers.gradients import four_bar
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.exchange.learning.flexible_arm import flexible_arm_task

pytest.importorskip("gymnasium", reason="the extra gym is not installed")

#: Of angles, rad, and speeds, rad/s, that are of the order of one.
TOLERANCE = 1e-5


def pendulum(joint):
    bob = lb.RigidBody(0.5, (0, 0, -0.3), 1e-3 * np.eye(3))
    return lb.Assembly("pendulum", gravity=(0, 0, -9.81)).attach("bob", bob, joint).build()


def after_a_second(task, action):
    e = lb.exchange.Environment(task)
    _, info = e.reset(seed=0)
    for _ in range(round(1.0 / task.sample_time)):
        e.step(action)
    return np.concatenate([e._episodes.q[0], e._episodes.v[0]]), info


@pytest.mark.parametrize(
    "physics",
    [
        {"damping": 7.0},
        {"damping": 50.0},
        {"friction": 3.5},
        {"limits": (-0.5, 0.5), "stop_stiffness": 1e4},
    ],
)
def test_steps_follow_dampers_friction_and_stops(physics):
    s = pendulum(lb.Revolute("x", **physics))
    found, _ = after_a_second(lb.exchange.Task(s, 5.0), [0.6])
    r = lb.simulate(s, 1.0, torque=[3.0], rtol=1e-9, atol=1e-11)
    assert np.allclose(found, [r.q[-1, 0], r.v[-1, 0]], atol=TOLERANCE)


@pytest.mark.parametrize("gravity, friction", [(0.0, 2.0), (-9.81, 0.0), (-9.81, 0.5)])
def test_steps_follow_the_modes_of_a_joint_that_slides_or_is_held_against_gravity(
    gravity, friction
):
    a = lb.Assembly("boom", gravity=(0, 0, gravity))
    beam = lb.beam(3.0, 4.0, EI=2e3, modes={"z": 2}, damping=0.01)
    a.attach("boom", beam, lb.Revolute("y", friction=friction, friction_speed=0.05))
    a.attach("load", lb.RigidBody(2.0), lb.Fixed(), to="boom", at="tip")
    s = a.build()
    rest = lb.equilibrium(s, locked=["boom"])
    task = lb.exchange.Task(s, 200.0, start=lambda rng: (rest, np.zeros(s.nv)), sample_time=0.02)
    sliding = s.with_parameters({"boom.joint_friction": 0.0})
    assert task.step * lb.modes(sliding, rest).omega.max() <= 0.5 * (1.0 + 1e-3)


@pytest.mark.parametrize("given", [(60.0, 2400.0), lambda rng: rng.uniform(1200.0, 2400.0)])
def test_steps_follow_the_stiffest_plant_that_is_drawn(given):
    names = ("upper.EI", "lower.EI")
    task = flexible_arm_task(randomize=dict.fromkeys(names, given))
    stiff = task.system.with_parameters(dict.fromkeys(names, 2400.0))
    fastest = lb.modes(stiff, task.drawn(np.random.default_rng(0))[0]).omega.max()
    assert task.step * fastest < 0.6
    assert flexible_arm_task().step * fastest > 2.8  # RK4 is unstable


@pytest.mark.filterwarnings("ignore:the closures of 'four-bar' are redundant")
def test_closed_systems_need_no_step_and_start_on_the_closures_that_were_drawn():
    s = four_bar()
    q = lb.assemble(s, [1.2, -0.9, 1.4])
    task = lb.exchange.Task(
        s,
        5.0,
        inputs=[0],
        start=lambda rng: (q, np.zeros(3)),
        randomize={"rocker.offset": lambda rng: np.array([rng.uniform(1.4, 1.6), 0.0, 0.0])},
    )
    for seed in range(3):
        start, _, _, drawn = task.drawn(np.random.default_rng(seed))
        plant = s.with_parameters(drawn)
        assert np.abs(lb.constraint_residual(plant, start)).max() < 1e-9
        assert np.abs(lb.constraint_residual(s, start)).max() > 1e-3
    found, info = after_a_second(task, [1.0])
    plant = s.with_parameters({"rocker.offset": info["rocker.offset"]})
    begin = lb.project(plant, q)
    r = lb.simulate(plant, 1.0, q0=begin, torque=[5.0, 0.0, 0.0], rtol=1e-9, atol=1e-11)
    assert np.allclose(found, [*r.q[-1], *r.v[-1]], atol=1e-3)
    unstarted = lb.exchange.Task(s, 5.0)
    assert np.abs(lb.constraint_residual(s, unstarted.drawn(None)[0])).max() < 1e-9


def test_systems_that_cannot_be_are_not_drawn():
    s = pendulum(lb.Revolute("x"))
    with pytest.raises(ArgumentValueError, match=r"randomize gave an impossible system.*mass"):
        lb.exchange.Task(s, 5.0, randomize={"bob.mass": (-2.0, 1.0)})
    later = iter([1.0] * 16 + [-1.0])
    task = lb.exchange.Task(s, 5.0, randomize={"bob.mass": lambda rng: next(later)})
    with pytest.raises(ArgumentValueError, match=r"with bob.mass=-1.0: .*mass"):
        task.drawn(np.random.default_rng(0))
    with pytest.raises(ArgumentValueError, match=r"bob.mass.*nan"):
        lb.exchange.Task(s, 5.0, randomize={"bob.mass": lambda rng: np.nan})


def test_samples_of_too_many_steps_are_refused():
    s = pendulum(lb.Revolute("x"))
    with pytest.raises(ArgumentValueError, match=r"would take 2e\+10 steps of 1e-12 s"):
        lb.exchange.Task(s, 5.0, step=1e-12)
    with pytest.raises(ArgumentValueError, match=r"would take .* less damping"):
        lb.exchange.Task(pendulum(lb.Revolute("x", damping=1e9)), 5.0)


def test_tasks_of_the_wrong_kind_are_refused_in_words():
    s = pendulum(lb.Revolute("x"))
    for given, words in (
        ({"inputs": ["bob"]}, "inputs must be a list of places in v"),
        ({"inputs": 0}, "inputs must be a list of places in v"),
        ({"randomize": ["bob.mass"]}, "randomize must map parameters to ranges"),
        ({"observation": 3}, r"observation must be a function of \(moment\), got 3"),
    ):
        with pytest.raises(ArgumentTypeError, match=words):
            lb.exchange.Task(s, 5.0, **given)
