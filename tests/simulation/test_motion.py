"""Joints of prescribed motion in simulations: exact on their paths, torques and power, every method, refusals."""

import numpy as np
import pytest
from numba import cfunc, types

import limber as lb
from helpers.compare import assert_close
from helpers.random_systems import random_assembly, random_state
from limber.errors import ArgumentTypeError, ArgumentValueError, SimulationError
from limber.trajectories import Cycloid, Hold, Quintic, Sequence, Together, Trapezoid

ROUNDING = 1e-13  # paths are evaluated by the same kernel in two compiled functions


def swing(amplitude, rate, offset=0.0):
    """x = offset + amplitude sin(rate t), as a function for `motion`."""

    def motion(t):
        s, c = np.sin(rate * t), np.cos(rate * t)
        return (
            offset + amplitude * s,
            amplitude * rate * c,
            -amplitude * rate**2 * s,
        )

    return motion


def coning(t, half=0.4, rate=2.0):
    """A frame that turns about x at a constant rate, tilted: quaternion, angular velocity, its rate."""
    turn = np.array([np.cos(0.5 * rate * t), np.sin(0.5 * rate * t), 0.0, 0.0])
    a, b = np.cos(half), np.sin(half)
    w, x, _, _ = turn
    q = np.array([w * a, x * a, x * 0.0 + w * b, x * b])  # turn * [a, 0, b, 0]
    axis = np.array([np.cos(2 * half), 0.0, np.sin(2 * half)])  # x seen from the tilted frame
    return q, rate * axis, np.zeros(3)


@pytest.fixture(scope="module")
def arm():
    """Three links, the second flexible, on a hub; damping, armature and friction in the joints."""
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    body = lb.RigidBody(2.0, (0.3, 0.1, 0), np.diag([0.1, 0.2, 0.2]), nodes={"tip": (0.6, 0, 0)})
    link = lb.beam(1.0, 1.5, EI=80.0, modes=1)
    a.attach("hub", body, lb.Revolute("z", armature=0.3, damping=0.2, friction=0.5))
    a.attach("link", link, lb.Revolute("y", damping=0.4), to="hub", at="tip")
    a.attach("hand", body, lb.Universal("y", "x", armature=0.1), to="link", at="tip")
    return a.build()


METHODS = [
    {"method": "dop853"},
    {"method": "rk4", "step": 2e-3},
    {"method": "sdirk4"},
    {"method": "auto", "engine": "generated"},
    {"method": "LSODA"},
    {"method": "ida"},
]


@pytest.mark.parametrize("options", METHODS, ids=lambda o: o["method"])
def test_every_method_follows_the_motion_and_balances_the_energy(arm, options):
    motion = {"hub": swing(0.5, 3.0), "hand": Together([Cycloid(0.4, 0.2), Hold(0.1)])}
    wrench = {("hand", "tip"): lb.Table([0.0, 0.1, 0.3], np.outer([0, 1, -1], np.ones(6)))}
    reference = lb.simulate(arm, 0.3, motion=motion, external=wrench, every=0.05, rtol=1e-10, atol=1e-12, method="dop853")  # fmt: skip
    tight = {"rtol": 1e-8, "atol": 1e-10}
    r = lb.simulate(arm, 0.3, motion=motion, external=wrench, every=0.05, **tight, **options)
    exact = np.array([np.hstack(motion["hub"](t)) for t in r.t])
    assert np.array_equal(r.joint("hub")[:, 0], exact[:, 0])
    assert np.array_equal(r.joint_speed("hub")[:, 0], exact[:, 1])
    assert_close(r.joint("hand"), motion["hand"](r.t).position, ROUNDING)
    np.testing.assert_allclose(r.q, reference.q, rtol=0, atol=2e-6)
    np.testing.assert_allclose(r.tau, reference.tau, rtol=0, atol=2e-4)
    assert r.power_audit().accuracy < 2e-6
    assert r.driven == ("hub", "hand")
    assert_close(r.vdot[:, arm.layout["hub"].v_joint], exact[:, 2:], 1e-8)
    assert np.array_equal(r.driving["hand"], r.tau[:, arm.layout["hand"].v_joint])


def test_torques_are_those_of_inverse_dynamics(arm):
    r = lb.simulate(arm, 0.5, motion={"link": swing(0.3, 5.0)}, torque=[2.0, 5.0, 0.1, 0.2], every=0.1)  # fmt: skip
    needed = lb.inverse_dynamics(arm, r.q, r.v, r.vdot)
    assert_close(r.tau, needed, 1e-9)
    assert np.array_equal(r.tau[:, arm.layout["hub"].v_joint], np.full((6, 1), 2.0))
    # played back as torques, they move the free arm along the same path
    table = lb.Table(*_sampled(arm, 0.5))
    played = lb.simulate(
        arm, 0.5, torque=table, v0=r.v[0], q0=r.q[0], every=0.1, rtol=1e-9, atol=1e-11
    )
    np.testing.assert_allclose(played.q, r.q, rtol=0, atol=1e-4)


def _sampled(arm, end):
    times = np.linspace(0.0, end, 2001)
    options = {"rtol": 1e-9, "atol": 1e-11, "t_eval": times}
    r = lb.simulate(arm, end, motion={"link": swing(0.3, 5.0)}, torque=[2.0, 5.0, 0.1, 0.2], **options)  # fmt: skip
    return r.t, r.tau


@pytest.mark.filterwarnings("ignore:the configuration that 'random' starts from")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("method", ["dop853", "sdirk4"])
def test_random_trees_with_driven_joints_balance_their_energy(seed, method):
    rng = np.random.default_rng(seed)
    s = random_assembly(rng, bodies=5, rotary=True, physics=True).build()
    q, v, _ = random_state(rng, s, 0.1)
    plain = [n for n, j in s.joints.items() if j.dofs and all(g.nq == 1 for g in j.groups)]
    motion = {}
    for name in plain[::2]:
        at, speed = q[s.layout[name].q_joint], v[s.layout[name].v_joint]
        motion[name] = Together([Quintic(x, x + 0.2, 0.2, start_velocity=u) for x, u in zip(at, speed)])  # fmt: skip
    options = {"q0": q, "v0": v, "rtol": 1e-8, "atol": 1e-10, "every": 0.02}
    r = lb.simulate(s, 0.1, motion=motion, method=method, **options)
    assert motion and r.power_audit().accuracy < 1e-6
    for name, path in motion.items():
        assert_close(r.joint(name), path(r.t).position, ROUNDING)


def test_a_spherical_joint_follows_a_function_of_quaternions():
    a = lb.Assembly("cone", gravity=(0, 0, -9.81))
    body = lb.RigidBody(1.0, (0.2, 0, 0.1), np.diag([0.1, 0.2, 0.25]), nodes={"tip": (1, 0, 0)})
    a.attach("base", body, lb.Spherical())
    a.attach("swinger", body, lb.Spherical(), to="base", at="tip")
    s = a.build()
    r = lb.simulate(s, 2.0, motion={"base": coning}, rtol=1e-9, atol=1e-11, every=0.25)
    assert_close(r.joint("base"), np.array([coning(t)[0] for t in r.t]), 1e-14)
    assert r.power_audit().accuracy < 1e-7
    implicit = lb.simulate(s, 2.0, motion={"base": coning}, rtol=1e-8, atol=1e-10, every=0.25, method="sdirk4")  # fmt: skip
    np.testing.assert_allclose(implicit.q, r.q, rtol=0, atol=1e-5)
    assert implicit.power_audit().accuracy < 1e-6


def test_all_joints_driven_is_inverse_dynamics(arm):
    """There is nothing to integrate; the work is found to the tolerance all the same."""
    a = lb.Assembly("rigid", gravity=(0, 0, -9.81))
    body = lb.RigidBody(2.0, (0.3, 0.1, 0), np.diag([0.1, 0.2, 0.2]), nodes={"tip": (0.6, 0, 0)})
    a.attach("one", body, lb.Revolute("y")).attach("two", body, lb.Revolute("z"), "one", "tip")
    s = a.build()
    paths = {"one": Quintic(0.0, 2.0, 1.0), "two": Sequence([Hold(0.3, 0.4), Quintic(0.3, -1.0, 0.6)])}  # fmt: skip
    r = lb.simulate(s, 1.0, motion=paths, every=0.1)
    q, v, vdot = (np.column_stack([paths[n](r.t)[i] for n in paths]) for i in range(3))
    assert_close(r.q, q, ROUNDING)
    assert_close(r.tau, lb.inverse_dynamics(s, q, v, vdot), 1e-10)
    assert r.power_audit().accuracy < 1e-6


def test_stiff_modes_and_stiff_torque_laws_with_driven_joints():
    a = lb.Assembly("stiff")
    link = lb.beam(1.0, 1.0, EI=1e4, modes={"y": 2})
    a.attach("one", link, lb.Revolute("z")).attach("two", link, lb.Revolute("z"), "one", "tip")
    s = a.build()
    free = s.layout["two"].v_joint

    def torque(t, q, v):
        tau = np.zeros(s.nv)
        tau[free] = -30.0 * (q[s.layout["two"].q_joint] - 0.2) - 30.0 * v[free]
        return tau

    rows = {"motion": {"one": Cycloid(0.5, 0.08)}, "torque": torque, "every": 0.02}
    stiff = lb.simulate(s, 0.1, method="sdirk4", rtol=1e-6, atol=1e-8, **rows)
    plain = lb.simulate(s, 0.1, method="dop853", rtol=1e-8, atol=1e-10, **rows)
    np.testing.assert_allclose(stiff.q, plain.q, rtol=0, atol=1e-5)
    assert stiff.power_audit().accuracy < 1e-4
    auto = lb.simulate(s, 0.1, **rows)
    np.testing.assert_allclose(auto.q, plain.q, rtol=0, atol=1e-5)


def test_accelerations_may_jump_where_the_path_says_so(arm):
    path = Trapezoid(0.0, 1.0, 2.0, 8.0)
    r = lb.simulate(arm, 1.0, motion={"hub": path}, every=0.05, rtol=1e-9, atol=1e-11)
    same = lb.simulate(arm, 1.0, motion={"hub": path}, every=0.05, rtol=1e-9, atol=1e-11, method="rk45")  # fmt: skip
    np.testing.assert_allclose(r.q, same.q, rtol=0, atol=1e-7)
    assert r.power_audit().accuracy < 1e-7


def test_a_run_may_start_within_a_motion(arm):
    motion = {"hub": swing(0.5, 3.0)}
    whole = lb.simulate(arm, 1.0, motion=motion, every=0.25, rtol=1e-9, atol=1e-11)
    rest = lb.simulate(arm, 1.0, t0=0.5, motion=motion, every=0.25, rtol=1e-9, atol=1e-11, q0=whole.q[2], v0=whole.v[2])  # fmt: skip
    np.testing.assert_allclose(rest.q, whole.q[2:], rtol=0, atol=1e-7)


def test_events_see_the_prescribed_motion(arm):
    hub = arm.layout["hub"].q_joint.start
    seen = lb.Event(lambda t, q, v: q[hub] - 0.25, name="quarter")
    stop = lb.Event(lambda t, q, v: v[arm.layout["hub"].v_joint][0], terminal=True, name="turns")
    r = lb.simulate(arm, 2.0, motion={"hub": swing(0.5, 3.0)}, events=[seen, stop])
    assert [e.name for e in r.events] == ["quarter", "turns"]
    assert r.events[0].t == pytest.approx(np.pi / 18, rel=1e-12)
    assert r.events[1].t == pytest.approx(np.pi / 6, rel=1e-12)
    assert r.q[-1, hub] == 0.5
    assert_close(r.tau[-1], lb.inverse_dynamics(arm, r.q[-1], r.v[-1], r.vdot[-1]), 1e-9)


def test_actions_leave_driven_joints_alone(arm):
    free, held = arm.layout["link"].v_joint, arm.layout["hub"].v_joint

    def kick(where):
        def action(t, q, v):
            v = v.copy()
            v[where] += 1.0
            return q, v

        return lb.Event(0.2, action, name="kick")

    motion = {"hub": swing(0.5, 3.0)}
    r = lb.simulate(arm, 0.4, motion=motion, events=kick(free), rtol=1e-9, atol=1e-11)
    assert r.power_audit().accuracy < 1e-7 and r.power_audit().actions[-1] != 0.0
    with pytest.raises(ArgumentValueError, match="the action of event 'kick' changes the joint of body 'hub', whose motion"):  # fmt: skip
        lb.simulate(arm, 0.4, motion=motion, events=kick(held))


def test_sampled_torques_and_compiled_motions(arm):
    class Hold5:
        sample_time = 0.05

        def __call__(self, t, q, v):
            return [0.0, 5.0 - v[1], 0.0, 0.0]

    @cfunc(types.void(types.float64, *[types.CPointer(types.float64)] * 3))
    def compiled(t, q, v, out):
        out[0], out[1], out[2] = (
            0.5 * np.sin(3.0 * t),
            1.5 * np.cos(3.0 * t),
            -4.5 * np.sin(3.0 * t),
        )

    r = lb.simulate(arm, 0.5, motion={"hub": compiled}, torque=Hold5(), every=0.1)
    same = lb.simulate(arm, 0.5, motion={"hub": swing(0.5, 3.0)}, torque=Hold5(), every=0.1)
    np.testing.assert_allclose(r.q, same.q, rtol=0, atol=1e-12)
    assert r.power_audit().accuracy < 1e-6


def test_files_keep_which_joints_were_driven(arm, tmp_path):
    r = lb.simulate(arm, 0.2, motion={"hub": swing(0.5, 3.0)}, every=0.1, save=tmp_path / "run.h5")
    back = lb.Result.load(tmp_path / "run.h5")
    assert back.driven == ("hub",) == r[1:].driven
    assert np.array_equal(back.driving["hub"], r.driving["hub"])


def wrong_speed(t):
    return 0.5 * np.sin(t), 0.5 * np.sin(t), -0.5 * np.sin(t)


def wrong_rate(t):
    return 0.5 * np.sin(t), 0.5 * np.cos(t), 0.5 * np.cos(t)


@pytest.mark.parametrize(
    ("motion", "error", "text"),
    [
        ({"hbu": Hold(0.0)}, ArgumentValueError, r"motion: body='hbu' is not in the system.*'hub'"),
        ({"hub": 0.3}, ArgumentTypeError, r"motion\['hub'\] must be a trajectory.*Hold\(\.\.\.\)"),
        ({"hand": Hold(0.0)}, ArgumentValueError, r"shape \(\); the joint of body 'hand' has 2 coordinates"),
        ({"hub": lambda t, q: (0, 0, 0)}, ArgumentTypeError, r"is called with \(t\)"),
        ({"hub": lambda t: (0.0, 0.0)}, ArgumentValueError, r"must return \(position, velocity, acceleration\), for this joint 1 coordinates"),
        ({"hub": wrong_speed}, ArgumentValueError, "the velocity that the function returns is not the rate of its position"),
        ({"hub": wrong_rate}, ArgumentValueError, "the acceleration that the function returns is not the rate of its velocity"),
        ({"hub": lambda t: (np.nan, 0.0, 0.0)}, SimulationError, "the position was not finite"),
        ({"hub": Sequence([Hold(0.0, 0.2), Quintic(0.0, 1.0, 0.3, start_velocity=1.0)])}, ArgumentValueError, r"motion\['hub'\] has a jump in its velocity at t = 0.2 s"),
        (Hold(0.0), ArgumentTypeError, "motion must map names of bodies to trajectories"),
    ],
)  # fmt: skip
def test_motions_that_make_no_sense_are_refused(arm, motion, error, text):
    with pytest.raises(error, match=text):
        lb.simulate(arm, 1.0, motion=motion)


def test_initial_states_must_agree_with_the_motion(arm):
    motion = {"hub": swing(0.5, 3.0, 0.1)}
    with pytest.raises(ArgumentValueError, match=r"q0 has \[0.0\] for the joint of body 'hub', but its motion starts with \[0.1\]"):  # fmt: skip
        lb.simulate(arm, 1.0, motion=motion, q0=arm.neutral())
    with pytest.raises(ArgumentValueError, match="v0 has"):
        lb.simulate(arm, 1.0, motion=motion, v0=np.zeros(arm.nv))


def test_trajectories_of_joints_with_quaternions_are_refused_in_words():
    a = lb.Assembly("ball").attach("ball", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Spherical())
    with pytest.raises(ArgumentValueError, match=r"motion\['ball'\].*coordinates with a quaternion, which trajectories.*Give a function"):  # fmt: skip
        lb.simulate(a.build(), 1.0, motion={"ball": Hold([0.0, 0.0, 0.0])})
    with pytest.raises(ArgumentValueError, match="the quaternion at t = 0 s, has norm 2"):
        lb.simulate(a.build(), 1.0, motion={"ball": lambda t: ([2.0, 0, 0, 0], np.zeros(3), np.zeros(3))})  # fmt: skip


def test_a_function_that_fails_later_is_told_with_the_result_so_far(arm):
    def fails(t):
        if 0.30 < t < 0.45:
            raise RuntimeError("no plan")
        return 0.0, 0.0, 0.0

    with pytest.raises(RuntimeError, match="no plan") as told:
        lb.simulate(arm, 1.0, motion={"hub": fails}, every=0.1)
    assert len(told.value.result) > 1
