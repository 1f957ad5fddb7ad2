"""Environments of Gymnasium: the checker, seeds, batches against single ones, domain randomization."""

import copy
import subprocess
import sys

import numpy as np
import pytest

import limber as lb
from limber.errors import ArgumentTypeError, ArgumentValueError, SimulationError

gymnasium = pytest.importorskip("gymnasium", reason="the extra gym is not installed")

NAMES = ["limber/FlexibleArm-v0", "limber/FlexibleSpacecraft-v0"]
#: Lanes and single states round differently.
TOLERANCE = 1e-5  # of observations in single precision


@pytest.fixture(scope="module", autouse=True)
def registered():
    import limber.exchange.gym  # noqa: F401


def pendulum():
    a = lb.Assembly("pendulum", gravity=(0, 0, -9.81))
    return a.attach("bob", lb.RigidBody(2.0, (0, 0, -1.5)), lb.Revolute("x")).build()


def task(**options):
    return lb.exchange.Task(pendulum(), 5.0, **options)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore:.*Box observation space m.*imum value is.*infinity")
def test_checker_of_gymnasium_passes(name):
    from gymnasium.utils.env_checker import check_env

    check_env(gymnasium.make(name, render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_vector_environment_gives_the_numbers_of_single_ones(name):
    ranges = {"upper.EI": (50.0, 70.0)} if "Arm" in name else {"hub.mass": (250.0, 350.0)}
    many = gymnasium.make_vec(name, num_envs=9, randomize=ranges)
    single = gymnasium.make(name, randomize=ranges)
    first, info = many.reset(seed=5)
    rng = np.random.default_rng(0)
    actions = [rng.uniform(-1, 1, many.action_space.shape).astype(np.float32) for _ in range(5)]
    rows = [many.step(a) for a in actions]
    for i in (0, 8):
        seen, own = single.reset(seed=5 + i)
        assert np.array_equal(seen, first[i])
        (parameter,) = ranges
        assert own[parameter] == info[parameter][i] and info[f"_{parameter}"].all()
        for a, row in zip(actions, rows):
            seen, reward, *_ = single.step(a[i])
            assert np.allclose(seen, row[0][i], atol=TOLERANCE, rtol=TOLERANCE)
            assert np.isclose(reward, row[1][i], atol=1e-8)


def test_same_seed_gives_the_same_episode():
    e = gymnasium.make(NAMES[0], randomize={"payload.mass": (0.2, 1.0)})

    def run():
        seen, info = e.reset(seed=1)
        return [
            seen,
            info["payload.mass"],
            *(e.step(np.array([0.3, -0.2], "f"))[0] for _ in range(3)),
        ]

    assert all(np.array_equal(a, b) for a, b in zip(run(), run()))
    _, again = e.reset()
    assert again["payload.mass"] != e.reset(seed=1)[1]["payload.mass"]


def test_step_is_that_of_simulate_with_the_drawn_parameters():
    e = lb.exchange.Environment(task(step=1e-3, randomize={"bob.mass": (1.0, 3.0)}))
    _, info = e.reset(seed=0)
    for _ in range(5):
        seen, *_ = e.step(np.array([0.5]))
    changed = pendulum().with_parameters({"bob.mass": info["bob.mass"]})
    r = lb.simulate(changed, 0.1, torque=[2.5], method="rk4", step=1e-3)
    assert np.allclose(seen, [r.q[-1, 0], r.v[-1, 0]], rtol=1e-6)


def test_nodes_move_as_in_the_system():
    from limber.exchange.learning.episodes import Episodes

    s = lb.exchange.gym.flexible_arm_task().system
    ranges = {"lower.offset": lambda rng: rng.uniform(0, 0.1, 3)}
    episodes = Episodes(lb.exchange.gym.flexible_arm_task(randomize=ranges), 2)
    for i in range(2):
        episodes.start(i, np.random.default_rng(i))
    episodes.step(np.ones((2, 2)))
    now = episodes.moment()
    position, velocity = now.node("payload")
    for i in range(2):
        mine = s.with_parameters({"lower.offset": now.parameters["lower.offset"][i]})
        assert np.allclose(position[i], lb.pose(mine, now.q[i], "payload")[1])
        assert np.allclose(velocity[i], lb.jacobian(mine, now.q[i], "payload")[3:] @ now.v[i])


def test_vibration_is_what_modes_give_the_tip():
    t = lb.exchange.gym.flexible_arm_task()
    e = lb.exchange.Environment(t)
    e.reset(seed=0)
    for _ in range(10):
        *_, info = e.step(np.array([1.0, -1.0]))
    q, v = e._episodes.q[0], e._episodes.v[0].copy()
    for where in t.system.layout.values():
        v[where.v_joint] = 0.0
    by_modes = lb.jacobian(t.system, q, "payload")[3:] @ v
    assert np.isclose(info["vibration"], np.linalg.norm(by_modes))


def test_ended_episodes_start_afresh_at_the_next_step():
    many = lb.exchange.VectorEnvironment(
        task(
            duration=0.06,
            start=lambda rng: (rng.uniform(-1, 1, 1), [0.0]),
            reward=lambda now: now.t,
        ),
        3,
    )
    many.reset(seed=0)
    steps = [many.step(np.zeros((3, 1))) for _ in range(5)]
    assert [row[3].tolist() for row in steps] == [
        [x] * 3 for x in (False, False, True, False, False)
    ]
    assert np.allclose([row[1][0] for row in steps], [0.02, 0.04, 0.06, 0.0, 0.02])
    assert np.array_equal(steps[3][0][:, 1], np.zeros(3))  # at rest, at a new start


def test_termination_comes_from_the_task():
    e = lb.exchange.Environment(task(terminated=lambda now: now.q[:, 0] > 1e-4))
    e.reset(seed=0)
    assert [e.step(np.array([1.0]))[2] for _ in range(3)] == [True, True, True]
    assert not e.step(np.array([1.0]))[3]


def test_pictures_have_one_size():
    e = gymnasium.make(NAMES[0], render_mode="rgb_array")
    e.reset(seed=0)
    first = e.render()
    e.reset(seed=1)
    second = e.render()
    assert first.shape == second.shape and first.dtype == np.uint8
    assert (first != second).any() and (first == 255).mean() > 0.5


def test_what_cannot_work_is_refused():
    with pytest.raises(ArgumentValueError, match=r"torque.*must be positive"):
        lb.exchange.Task(pendulum(), 0.0)
    with pytest.raises(ArgumentValueError, match="names speed 3; the system has 1"):
        task(inputs=[3])
    with pytest.raises(ArgumentValueError, match=r"parameter 'bob.EI' is unknown"):
        task(randomize={"bob.EI": (1, 2)})
    with pytest.raises(ArgumentValueError, match=r"must be \(low, high\)"):
        task(randomize={"bob.mass": (2, 1)})
    with pytest.raises(ArgumentTypeError, match=r"reward is called with \(moment\)"):
        task(reward=lambda: 0)
    with pytest.raises(ArgumentValueError, match=r"reward must return an array of shape \(1,\)"):
        e = lb.exchange.Environment(task(reward=lambda now: 1.0))
        e.reset()
        e.step(np.zeros(1))
    with pytest.raises(ArgumentTypeError, match="task must be a Task"):
        lb.exchange.Environment(pendulum())
    with pytest.raises(ArgumentValueError, match="render_mode='human' must be"):
        lb.exchange.Environment(task(), render_mode="human")
    with pytest.raises(ArgumentValueError, match="action"):
        e.step([np.nan])
    for new in (lb.exchange.Environment(task()), lb.exchange.VectorEnvironment(task(), 2)):
        with pytest.raises(ArgumentValueError, match=r"not been started: call reset\(\) first"):
            new.step(np.zeros(1))


def test_torques_by_the_names_of_joints_make_these_the_inputs():
    a = lb.Assembly("arm")
    for name, to in (("upper", "world"), ("fore", "upper"), ("hand", "fore")):
        link = lb.RigidBody(1.0, (0.5, 0, 0), (0.1, 0.1, 0.1))
        a.attach(name, link, lb.Revolute("z"), to, joint_name=f"{name} joint")
    s = a.build()
    named = lb.exchange.Task(s, {"hand joint": 2.0, "upper": 5.0})
    numbered = lb.exchange.Task(s, [2.0, 5.0], inputs=[2, 0])
    assert named.inputs == numbered.inputs and np.array_equal(named.torque, numbered.torque)
    with pytest.raises(
        ArgumentValueError, match=r"'hnd' is not in the system .* Did you mean 'hand'"
    ):
        lb.exchange.Task(s, {"hnd": 2.0})
    with pytest.raises(ArgumentValueError, match="leave out inputs"):
        lb.exchange.Task(s, {"hand": 2.0}, inputs=[2])
    with pytest.raises(ArgumentTypeError, match="torque must be real numbers"):
        lb.exchange.Task(s, "strong")


def test_an_episode_that_blows_up_is_an_error():
    e = lb.exchange.Environment(lb.exchange.gym.flexible_arm_task(sample_time=0.1, step=0.1))
    e.reset(seed=0)
    with pytest.raises(SimulationError, match="Give a smaller step"):
        for _ in range(200):
            e.step(np.ones(2))


def test_moments_keep_their_nodes():
    e = lb.exchange.Environment(task(information=lambda now: kept.append(now) or {}))
    kept = []
    e.reset(seed=0)
    for _ in range(5):
        e.step(np.array([1.0]))
    for now in kept:
        position, velocity = now.node("bob")
        assert np.allclose(position[0], lb.pose(e.task.system, now.q[0], "bob")[1])
        assert np.allclose(velocity[0], lb.jacobian(e.task.system, now.q[0], "bob")[3:] @ now.v[0])


def test_what_an_ended_episode_does_afterwards_is_no_error():
    def start(rng):
        return [0.0], [0.0]

    many = lb.exchange.VectorEnvironment(
        task(start=start, terminated=lambda now: np.arange(2) == 1), 2
    )
    many.reset(seed=0)
    many.step(np.zeros((2, 1)))
    many._episodes.v[1] = np.inf
    seen, _, terminated, _, _ = many.step(np.zeros((2, 1)))
    assert np.isfinite(seen).all() and not terminated.any()
    many._episodes.v[0] = np.inf
    with pytest.raises(SimulationError, match="episode 0 of 'pendulum' is no longer finite"):
        many.step(np.zeros((2, 1)))


def test_closed_systems_start_on_their_closures():
    bar = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1), nodes={"tip": (1, 0, 0)})
    a = lb.Assembly("four-bar", gravity=(0, -9.81, 0))
    a.attach("crank", bar, lb.Revolute("z"))
    a.attach("coupler", bar, lb.Revolute("z"), "crank", "tip")
    a.attach("rocker", bar, lb.Revolute("z"), offset=(1.5, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"))
    s = a.build()
    q = lb.assemble(s, [1.2, -0.9, 1.4])
    e = lb.exchange.Environment(
        lb.exchange.Task(s, 5.0, inputs=[0], start=lambda rng: (q, np.zeros(3)), step=0.005)
    )
    e.reset(seed=0)
    for _ in range(10):
        e.step(np.array([1.0]))
    assert np.abs(lb.constraint_residual(s, e._episodes.q[0])).max() < 1e-9
    apart = lb.exchange.Task(s, 5.0, start=lambda rng: (np.ones(3), np.zeros(3)), step=0.005)
    with pytest.raises(ArgumentValueError, match="q of start does not satisfy the closures"):
        lb.exchange.Environment(apart)


@pytest.mark.parametrize("count", [None, 2, 9])
def test_copies_go_on_as_the_original_and_share_nothing(count):
    t = lb.exchange.gym.flexible_arm_task(randomize={"payload.mass": (0.2, 1.0)})
    e = lb.exchange.Environment(t) if count is None else lb.exchange.VectorEnvironment(t, count)
    e.reset(seed=0)
    action = np.full(e.action_space.shape, 0.5)
    for _ in range(3):  # an odd number: states have changed places
        e.step(action)
    kept = copy.deepcopy(e)
    first = [e.step(action)[0] for _ in range(3)]
    again = [kept.step(action)[0] for _ in range(3)]
    assert np.array_equal(first, again)
    assert np.array_equal(e.reset()[0], kept.reset()[0])


def test_all_goals_have_one_size():
    sizes = iter([*[1] * 17, 1, 1, 2])
    many = lb.exchange.VectorEnvironment(
        task(start=lambda rng: ([0.0], [0.0], np.ones(next(sizes)))), 3
    )
    with pytest.raises(ArgumentValueError, match="goal of 2 numbers, but one of 1 before"):
        many.reset(seed=0)
    with pytest.raises(ArgumentValueError, match="goal of start must be a number or a list"):
        task(start=lambda rng: ([0.0], [0.0], np.ones((2, 2))))


def test_shapes_and_seeds_that_are_wrong_are_told_as_they_were_given():
    e = lb.exchange.Environment(task())
    e.reset(seed=0)
    with pytest.raises(ArgumentValueError, match=r"action must have shape \(1,\), got \(\)"):
        e.step(0.5)
    many = lb.exchange.VectorEnvironment(task(), 2)
    for seed in (1.5, [1, 2.5], "ab"):
        with pytest.raises(ArgumentTypeError, match="seed must be a whole number or a list of 2"):
            many.reset(seed=seed)
    assert np.array_equal(many.reset(seed=np.array([3, 4]))[0], many.reset(seed=3)[0])


def test_slow_samples_have_a_frame_a_second():
    assert lb.exchange.Environment(task(sample_time=5.0)).metadata["render_fps"] == 1


def test_without_gymnasium_the_names_are_there_and_construction_says_what_to_install():
    code = """
import inspect, sys
from limber.errors import MissingExtraError
sys.modules["gymnasium"] = None
import limber as lb
assert hasattr(lb.exchange, "Environment") and not hasattr(lb.exchange, "Environments")
assert "task" in str(inspect.signature(lb.exchange.VectorEnvironment.__init__))
for make in (
    lambda: lb.exchange.Environment(None),
    lambda: lb.exchange.VectorEnvironment(None, 3),
    lambda: __import__("limber.exchange.gym"),
):
    try:
        make()
    except MissingExtraError as error:
        assert "pip install 'limber-dynamics[gym]'" in str(error)
    else:
        raise AssertionError
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_torques_by_name_drive_only_the_joints_that_they_name():
    a = lb.Assembly("pendulum on a cart", gravity=(0, 0, -9.81))
    a.attach("cart", lb.RigidBody(1.0), lb.Prismatic("x"), joint_name="rail")
    a.attach("rod", lb.RigidBody(0.2, (0, 0, 0.5), 0.01 * np.eye(3)), lb.Revolute("y"), to="cart")
    s = a.build()
    for name in ("cart", "rail"):
        task = lb.exchange.Task(s, torque={name: 8.0}, duration=0.1)
        assert (task.inputs, task.torque.tolist()) == ([0], [8.0])
    both = lb.exchange.Task(s, torque={"rod": [0.5], "rail": 8.0})
    assert (both.inputs, both.torque.tolist()) == ([1, 0], [0.5, 8.0])
    env = lb.exchange.Environment(task)
    assert env.action_space.shape == (1,)
    env.reset(seed=0)
    env.step(np.array([0.5]))
    seen = env.step(np.array([0.5]))[0]
    r = lb.simulate(s, 2 * task.sample_time, torque=[4.0, 0.0], rtol=1e-10, atol=1e-12)
    assert np.allclose(seen, [*r.q[-1], *r.v[-1]], rtol=0, atol=1e-6)  # in single precision
    for torque, inputs, words in (
        ({"crt": 1.0}, None, "Did you mean 'cart'"),
        ({"cart": [1.0, 2.0]}, None, "'cart' has 1 speed"),
        ({"cart": 0.0}, None, "must be positive"),
        ({}, None, "torque names no joint"),
        ({"cart": 1.0}, [0], "leave out inputs"),
        ({"cart": 1.0, "rail": 2.0}, None, "names a joint twice"),
        ("much", None, "torque must be"),
    ):
        with pytest.raises(lb.LimberError, match=words):
            lb.exchange.Task(s, torque=torque, inputs=inputs)
