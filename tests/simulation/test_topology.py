"""Changes of topology as actions of events: momentum, energy, pieces put together by hand, locks, and what is refused."""

import warnings

import numpy as np
import pytest

import limber as lb
from helpers.random_systems import random_assembly, random_state
from simulation.grasping import GRASP, flyer, gap

TIGHT = {"rtol": 1e-10, "atol": 1e-12, "method": "dop853"}
TOLERANCE = 1e-9
METHODS = ["rk45", "tsit5", "dop853", "sdirk4", "auto"]


def dense_impulse(s, q, v):
    """The speeds after a rigid grasp of the rim by the palm, by dense matrices from the Jacobians of the two nodes."""
    (J_a, p_a), (J_b, p_b) = (
        (lb.jacobian(s, q, *end), lb.pose(s, q, *end)[1]) for end in GRASP[:2]
    )
    x, y, z = p_a - p_b
    across = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    J_b = np.vstack([J_b[:3], J_b[3:] - across @ J_b[:3]])  # at the palm
    A, M = J_a - J_b, lb.mass_matrix(s, q)
    inverse = np.linalg.solve(M, A.T)
    return v - inverse @ np.linalg.solve(A @ inverse, A @ v)


@pytest.mark.parametrize("flexible", [False, True])
@pytest.mark.parametrize(
    ("method", "rtol", "drift"), [("dop853", 1e-10, 1e-10), ("sdirk4", 1e-7, 1e-6), ("auto", 1e-9, 1e-9)]
)  # fmt: skip
def test_momentum_goes_through_a_grasp_and_energy_is_accounted_for(flexible, method, rtol, drift):
    s, q, v = flyer(flexible)
    near = gap(s)
    events = [
        lb.Event(lambda t, q, v: near(t, q, v) - 0.2, lb.attach(GRASP, in_place=True), -1, name="near"),
        lb.Event(1.5, lb.lock("arm1/boom")),
        lb.Event(2.0, [lb.release("grasp"), lb.unlock("arm1/boom")]),
    ]  # fmt: skip
    r = lb.simulate(s, 2.1, q0=q, v0=v, events=events, method=method, rtol=rtol, atol=1e-2 * rtol)
    assert [(c.kind, c.name) for c in r.changes] == [
        ("attach", "grasp"), ("lock", "arm1/boom"), ("release", "grasp"), ("unlock", "arm1/boom"),
    ]  # fmt: skip
    for change in r.changes:
        assert np.abs(change.momentum_after - change.momentum_before).max() < 1e-12
        assert change.energy_lost >= 0.0
    grasp, lock, *others = r.changes
    assert grasp.t < 1.5 and grasp.energy_lost > 0.1 and lock.energy_lost > 0.0
    assert all(c.energy == 0.0 and not c.wrenches for c in others)
    assert np.abs(r.momentum - r.momentum[0]).max() < drift
    audit = r.power_audit()
    assert np.abs(audit.residual).max() < drift
    assert audit.impacts[-1] == pytest.approx(grasp.energy + lock.energy, rel=1e-14)
    assert "work of impacts" in str(audit)
    position, velocity = r.constraint_residual()
    assert np.nanmax(np.abs(position)) < 1e-12 and np.nanmax(np.abs(velocity)) < 1e-12
    assert [i.closures for i in r.topology] == [(), ("grasp",), ("grasp", "lock of arm1/boom"), ()]


def test_a_run_through_changes_equals_pieces_with_an_impulse_by_hand():
    s, q, v = flyer()
    times = 0.0, 0.8, 1.7, 2.5
    events = [
        lb.Event(0.8, lb.attach(GRASP, in_place=True)),
        lb.Event(1.7, lb.release("grasp")),
    ]
    outputs = np.linspace(0.0, 2.5, 26)
    r = lb.simulate(s, 2.5, q0=q, v0=v, events=events, t_eval=outputs, **TIGHT)
    pieces = [[], []]
    systems = s, None, s
    for system, t0, t1 in zip(systems, times, times[1:]):
        if system is None:
            v = dense_impulse(s, q, v)
            np.testing.assert_allclose(r.changes[0].v_after, v, atol=TOLERANCE)
            (R_a, p_a), (R_b, p_b) = (lb.pose(s, q, *end) for end in GRASP[:2])
            place = {"offset_b": R_b.T @ (p_a - p_b), "rotation_b": R_b.T @ R_a}
            ends = dict(zip(("end_a", "end_b", "joint"), GRASP))
            system = s.closed_by([ends | place])  # noqa: PLW2901
        inside = outputs[(outputs > t0) & (outputs <= t1)] if t0 else outputs[outputs <= t1]
        piece = lb.simulate(system, t1, t0=t0, q0=q, v0=v, t_eval=np.append(inside, t1), **TIGHT)
        pieces[0].append(piece.q[:-1])
        pieces[1].append(piece.v[:-1])
        q, v = piece.q[-1], piece.v[-1]
    np.testing.assert_allclose(r.q, np.concatenate(pieces[0]), atol=TOLERANCE)
    np.testing.assert_allclose(r.v, np.concatenate(pieces[1]), atol=TOLERANCE)


def double_pendulum(second, **place):
    a = lb.Assembly("pendulum", gravity=(0, 0, -9.81))
    link = lb.beam(1.0, 2.0, EI=200.0, modes=1)
    a.attach("upper", link, lb.Revolute("y"))
    a.attach("lower", link, second, "upper", "tip", **place)
    return a.build()


def test_a_locked_joint_moves_as_a_fixed_one():
    s = double_pendulum(lb.Revolute("y"))
    q = s.neutral()
    q[s.layout["lower"].q_joint] = angle = 0.4
    r = lb.simulate(s, 1.0, q0=q, events=lb.Event(0.0, lb.lock("lower")), **TIGHT)
    c, sine = np.cos(angle), np.sin(angle)
    fixed = double_pendulum(lb.Fixed(), rotation=[[c, 0, sine], [0, 1, 0], [-sine, 0, c]])
    exact = lb.simulate(fixed, 1.0, **TIGHT)
    for body in ("upper", "lower"):
        np.testing.assert_allclose(
            r.node(body, "tip").position, exact.node(body, "tip").position, atol=TOLERANCE
        )
    assert np.abs(r.joint("lower") - angle).max() < 1e-14
    # the moment that holds it
    held = r.constraint_forces("lock of lower")
    assert held.shape == (len(r),) and np.isnan(held[0]) and np.isfinite(held[1:]).all()


@pytest.mark.parametrize("joint", [lb.Spherical(), lb.Free(), lb.Universal("y", "z")])
def test_any_joint_can_be_locked_and_unlocked(joint):
    a = lb.Assembly("two", gravity=(0, 0, -9.81))
    body = lb.RigidBody(2.0, (0.3, 0, 0.1), (0.1, 0.2, 0.25), nodes={"end": (0.5, 0, 0)})
    a.attach("one", body, lb.Revolute("y"))
    a.attach("two", body, joint, "one", "end")
    s = a.build()
    q, v, _ = random_state(np.random.default_rng(3), s)
    events = [lb.Event(0.2, lb.lock("two")), lb.Event(0.6, lb.unlock("two"))]
    r = lb.simulate(s, 1.0, q0=q, v0=v, events=events, t_eval=np.linspace(0, 1, 51), **TIGHT)
    locked = (r.stage == 1) & (r.t > 0.2)
    assert np.abs(r.joint_speed("two")[locked]).max() < 1e-13
    assert np.ptp(r.joint("two")[locked], axis=0).max() < 1e-12
    assert np.abs(r.joint_speed("two")[r.t > 0.65]).max() > 1e-3
    assert np.abs(r.power_audit().residual).max() < 1e-7


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(i, marks=pytest.mark.slow) for i in range(6, 40))]
)
def test_random_sequences_keep_closures_and_the_balance_of_energy(seed):
    rng = np.random.default_rng(seed)
    s = random_assembly(rng, bodies=5).build()
    q, v, _ = random_state(rng, s, 0.1)
    bodies = list(s.layout)
    moving = [b for b in bodies if s.joints[b].dofs]
    held, events, locked = [], [], []
    for i, t in enumerate(np.sort(rng.uniform(0.02, 0.18, size=6))):
        kind = rng.integers(4)
        if kind == 0:
            one, other = rng.choice(bodies, size=2, replace=False)
            joint = (lb.Spherical(), lb.Fixed(), lb.Revolute("z"))[rng.integers(3)]
            grip = ((one, None), (other, None), joint, f"c{i}")
            held.append(f"c{i}")
            change = lb.attach(grip, in_place=True)
        elif kind == 1 and held:
            change = lb.release(held.pop())
        elif kind == 2 and locked:
            change = lb.unlock(locked.pop())
        else:
            free = [b for b in moving if b not in locked]
            if not free:
                continue
            locked.append(free[0])
            change = lb.lock(free[0])
        events.append(lb.Event(t, change))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)  # some closures are redundant
        r = lb.simulate(s, 0.2, q0=q, v0=v, events=events, **TIGHT)
    assert len(r.changes) == len(events)
    position, velocity = r.constraint_residual()
    assert np.nanmax(np.abs(position), initial=0.0) < 1e-9
    speeds = max(1.0, np.abs(r.v).max())
    assert np.nanmax(np.abs(velocity), initial=0.0) < 1e-9 * speeds
    assert r.power_audit().accuracy < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_a_function_that_the_closure_holds_at_zero_has_no_more_events(method):
    s, q, v = flyer()
    near = gap(s)
    start = near(0.0, q, v)
    event = lb.Event(lambda t, q, v: near(t, q, v) - 0.5 * start, lb.attach(GRASP, in_place=True))
    r = lb.simulate(
        s, 2.0, q0=q, v0=v, events=[event, lb.Event(1.6, lb.release("grasp"))], method=method
    )
    assert [c.kind for c in r.changes] == ["attach", "release"]
    assert len(r.events) == 2


def test_a_ruthless_system_gets_the_impulse_of_the_full_one():
    s, q, v = flyer()
    fast = lb.couple([_ruthless(s, "arm1/")], ("target", _ruthless(s, "target/")), name="ruthless")
    events = [lb.Event(0.0, lb.attach(GRASP, in_place=True)), lb.Event(0.2, lb.lock("arm1/boom"))]
    r = lb.simulate(fast, 0.4, q0=q, v0=0.1 * v, events=events)
    full = lb.simulate(s, 0.4, q0=q, v0=0.1 * v, events=events[:1])
    np.testing.assert_allclose(r.changes[0].v_after, full.changes[0].v_after, atol=1e-13)
    for change in r.changes:
        assert np.abs(change.momentum_after - change.momentum_before).max() < 1e-12
        assert change.energy_lost > 0.0
    assert np.nanmax(np.abs(r.constraint_residual())) < 1e-12


def _ruthless(s, part):
    """The bodies of a part of a system as a ruthless system of their own."""
    a = lb.Assembly(part, gravity=s.gravity)
    for name, item in s.attachments.items():
        if name.startswith(part):
            to = item.to.removeprefix(part)
            a.attach(name.removeprefix(part), item.body, item.joint, to, item.at)
    return a.build("ruthless")


def test_an_event_may_happen_only_once():
    s, q, v = flyer()
    near = gap(s)
    for once in (False, True):
        events = [
            lb.Event(lambda t, q, v: near(t, q, v) - 0.2, lb.attach(GRASP, in_place=True), once=once),
            lb.Event(1.0, lb.release("grasp")),
        ]  # fmt: skip
        r = lb.simulate(s, 1.5, q0=q, v0=v, events=events)
        assert (len(r.changes) == 2) == once and len(r.events) == len(r.changes)
    with pytest.raises(lb.LimberError, match="once must be True or False, got 1"):
        lb.Event(0.5, once=1)


@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("push", [-1.0, 1.0])
def test_letting_go_of_a_function_at_zero_is_no_crossing(direction, push):
    """A mass is locked where an event function is zero; when it is unlocked, forces push it to either side."""
    a = lb.Assembly("mass")
    a.attach("m", lb.RigidBody(1.0), lb.Prismatic("x"))
    count = []
    events = [
        lb.Event(lambda t, q, v: q[0] - 0.3, lambda t, q, v: count.append(t), direction),
        lb.Event(0.3, lb.lock("m")),
        lb.Event(0.6, lb.unlock("m")),
    ]
    lb.simulate(a.build(), 1.0, v0=[1.0], torque=lambda t, q, v: [push * (t > 0.6)], events=events)
    assert len(count) == (direction >= 0)  # it arrives from below


def test_changes_at_one_instant_happen_in_the_order_of_the_list():
    s, q, v = flyer()
    other = (*GRASP[:2], lb.HardPoint(1.0), "point")
    events = [
        lb.Event(0.5, [lb.attach(GRASP, in_place=True), lb.release("grasp")]),
        lb.Event(0.5, lb.attach(other, in_place=True)),
        lb.Event(0.5, lb.release("point")),
        lb.Event(0.5, lb.attach("grasp")),
    ]
    r = lb.simulate(s, 1.0, q0=q, v0=v, events=events)
    assert [c.kind for c in r.changes] == ["attach", "release", "attach", "release", "attach"]
    assert [i.closures for i in r.topology] == [(), ("grasp",)]
    # the last grasp finds the ends at one speed already
    assert r.changes[-1].energy_lost < 1e-12
    with pytest.raises(
        lb.SimulationError,
        match=r"an event without a name at t = 0.5 s: release: the closure 'grasp' is not active",
    ):
        lb.simulate(s, 1.0, q0=q, v0=v, events=[lb.Event(0.5, lb.release("grasp")), events[0]])


def test_changes_at_the_start_and_at_the_end():
    s, q, v = flyer()
    events = [lb.Event(0.0, lb.attach(GRASP, in_place=True)), lb.Event(1.0, lb.release("grasp"))]
    r = lb.simulate(s, 1.0, q0=q, v0=v, events=events)
    assert [c.t for c in r.changes] == [0.0, 1.0]
    assert list(r.stage[[0, 1, -1]]) == [
        0,
        1,
        1,
    ]  # rows at the time of a change are those before it
    stopped = lb.simulate(
        s, 1.0, q0=q, v0=v, events=lb.Event(0.5, lb.attach(GRASP, in_place=True), terminal=True)
    )
    assert stopped.stage[-1] == 1  # the last row of a run that an event stops is the one after it
    np.testing.assert_array_equal(stopped.v[-1], stopped.changes[0].v_after)


def test_closures_that_the_system_began_with_are_released_and_attached_again():
    s, q, v = flyer()
    closed = lb.attach(GRASP, in_place=True)(s, q, v)
    events = [lb.Event(0.3, lb.release("grasp")), lb.Event(0.30000001, lb.attach("grasp"))]
    r = lb.simulate(closed.system, 0.6, q0=closed.q, v0=closed.v, events=events, **TIGHT)
    one = lb.simulate(closed.system, 0.6, q0=closed.q, v0=closed.v, **TIGHT)
    np.testing.assert_allclose(r.q, one.q, atol=1e-7)
    forces = r.constraint_forces()
    assert list(forces) == ["grasp"] and forces["grasp"].shape == (len(r), 6)
    np.testing.assert_allclose(forces["grasp"][5], one.constraint_forces("grasp")[5], rtol=1e-6)


def test_a_gap_is_an_error_with_the_result_so_far_or_taken_as_it_is():
    s, q, v = flyer()
    with pytest.raises(
        lb.SimulationError,
        match=r"'catch' at t = 0.5 s: attach: the ends do not coincide: 'grasp' .* in_place",
    ) as caught:
        lb.simulate(s, 1.0, q0=q, v0=v, events=lb.Event(0.5, lb.attach(GRASP), name="catch"))
    assert caught.value.result.t[-1] == 0.5
    lb.simulate(s, 1.0, q0=q, v0=v, events=lb.Event(0.5, lb.attach(GRASP, in_place=True)))


def test_an_elastic_impact_keeps_energy_and_leaves_the_closure_inactive():
    a = lb.Assembly("ball", gravity=(0, 0, -9.81))
    a.attach("ball", lb.RigidBody(2.0), lb.Prismatic("z"))
    s = a.build()
    floor = (("world", (0, 0, 0)), ("ball", None), lb.FrictionlessPoint(), "floor")
    for e in (1.0, 0.8):
        hit = lb.Event(lambda t, q, v: q[0], lb.attach(floor, restitution=e), -1)
        r = lb.simulate(s, 2.0, q0=[1.0], events=hit, **TIGHT)
        first = np.sqrt(2 / 9.81)
        heights = e ** np.arange(1, len(r.changes))
        times = first * (1 + 2 * np.cumsum([0.0, *heights]))
        np.testing.assert_allclose([c.t for c in r.changes], times, atol=1e-10)
        assert [i.closures for i in r.topology] == [()]
        impulse = 2.0 * (1.0 + e) * 9.81 * first
        assert abs(r.changes[0].impulse[5]) == pytest.approx(impulse, rel=1e-9)
        assert np.abs(r.power_audit().residual).max() < 1e-9
        assert (np.abs(r.power_audit().impacts).max() < 1e-11) == (e == 1.0)


def test_ends_that_have_parted_again_are_attached_by_name():
    a = lb.Assembly("ball", gravity=(0, 0, -9.81))
    a.attach("ball", lb.RigidBody(2.0), lb.Prismatic("z"))
    floor = (("world", (0, 0, 0)), ("ball", None), lb.FrictionlessPoint(), "floor")
    hits = []

    def hit(t, q, v):
        hits.append(t)
        return lb.attach(floor, restitution=0.5) if len(hits) == 1 else lb.attach("floor")

    r = lb.simulate(a.build(), 2.0, q0=[1.0], events=lb.Event(lambda t, q, v: q[0], hit, -1))
    assert [i.closures for i in r.topology] == [(), ("floor",)]
    assert abs(r.q[-1, 0]) < 1e-12


def test_functions_may_ask_for_changes_and_forces_go_on_acting():
    s, q, v = flyer()
    seen = []

    def act(t, q, v):
        seen.append(t)
        return [lb.attach(GRASP, in_place=True), lb.lock("arm1/hand")] if len(seen) == 1 else None

    class Held:
        sample_time = 0.05

        def __call__(self, t, q, v):
            tau = np.zeros(s.nv)
            tau[s.layout["arm1/boom"].v_joint] = 0.3 * np.sin(5 * t)
            return tau

    push = {("target/body", "rim"): [0, 0, 0.1, 0.2, 0, 0]}
    events = [lb.Event(0.51, act), lb.Event(1.02, act)]
    r = lb.simulate(s, 1.5, q0=q, v0=v, torque=Held(), external=push, events=events, **TIGHT)
    assert [c.kind for c in r.changes] == ["attach", "lock"] and seen == [0.51, 1.02]
    assert np.abs(r.power_audit().residual).max() < TOLERANCE
    body = s.layout["arm1/boom"].v_joint
    np.testing.assert_allclose(r.tau[:, body][-1], 0.3 * np.sin(5 * 1.45), rtol=1e-14)


def test_tighter_tolerances_converge():
    s, q, v = flyer()
    near = gap(s)
    events = [
        lb.Event(lambda t, q, v: near(t, q, v) - 0.2, lb.attach(GRASP, in_place=True), -1),
        lb.Event(1.6, lb.release("grasp")),
    ]
    run = {"q0": q, "v0": v, "events": events, "t_eval": [0.0, 2.0], "method": "dop853"}
    exact = lb.simulate(s, 2.0, rtol=1e-12, atol=1e-14, **run)
    errors = [
        np.abs(lb.simulate(s, 2.0, rtol=x, atol=1e-2 * x, **run).q[-1] - exact.q[-1]).max()
        for x in (1e-5, 1e-7, 1e-9)
    ]
    assert errors[0] < 1e-3 and errors[1] < 0.1 * errors[0] and errors[2] < 0.1 * errors[1]


def test_resampling_does_not_smooth_over_a_change():
    s, q, v = flyer()
    events = [
        lb.Event(0.777, lb.attach(GRASP, in_place=True)),
        lb.Event(1.111, lb.release("grasp")),
    ]
    run = {"q0": q, "v0": v, "events": events, **TIGHT}
    fine = lb.simulate(s, 1.5, t_eval=np.linspace(0.0, 1.5, 1201), **run)
    errors = []
    for rows in (301, 601):
        r = lb.simulate(s, 1.5, t_eval=np.linspace(0.0, 1.5, rows), **run).resample(fine.t)
        np.testing.assert_array_equal(r.stage, fine.stage)
        errors.append(np.abs(r.q - fine.q).max())
    assert errors[1] < 0.1 * errors[0]
    at = fine.resample([0.777, 0.7770001])
    np.testing.assert_allclose(at.v[0], fine.changes[0].v, atol=1e-12)
    np.testing.assert_allclose(at.v[1], fine.changes[0].v_after, atol=1e-4)


def test_forces_and_residuals_are_nan_where_a_closure_is_inactive():
    s, q, v = flyer()
    events = [
        lb.Event(0.5, lb.attach(GRASP, in_place=True)),
        lb.Event(1.0, [lb.release("grasp"), lb.lock("arm1/hand")]),
    ]
    r = lb.simulate(s, 1.5, q0=q, v0=v, events=events, t_eval=np.linspace(0.0, 1.5, 31))
    forces = r.constraint_forces()
    active = (r.t > 0.5) & (r.t <= 1.0)
    np.testing.assert_array_equal(np.isfinite(forces["grasp"]).all(axis=1), active)
    np.testing.assert_array_equal(np.isfinite(forces["lock of arm1/hand"]), r.t > 1.0)
    position, _ = r.constraint_residual()
    assert r.closure_rows == {"grasp": slice(0, 6), "lock of arm1/hand": slice(6, 7)}
    np.testing.assert_array_equal(np.isfinite(position[:, 0]), active)
    np.testing.assert_array_equal(np.isfinite(position[:, 6]), r.t > 1.0)
    # forces follow from Newton's law of the target
    k = int(np.flatnonzero(active)[3])
    mass, com = 8.0, r.node("target/body")
    R = com.R[k]
    spin, rate = com.angular_velocity[k], com.angular_acceleration[k]
    arm = R @ [0.1, 0, 0]
    acceleration = com.acceleration[k] + np.cross(rate, arm) + np.cross(spin, np.cross(spin, arm))
    np.testing.assert_allclose(forces["grasp"][k, 3:], mass * acceleration, atol=1e-9)
    part = r[12:18]
    np.testing.assert_array_equal(part.constraint_forces("grasp"), forces["grasp"][12:18])
    with pytest.raises(
        lb.LimberError,
        match="'grab' is not a closure of 'coupled'; its closures are: 'grasp', 'lock",
    ):
        r.constraint_forces("grab")


def test_a_box_is_released_by_an_arm_that_moves_as_prescribed():
    """A release has no impulse: the arm keeps its path, and the box flies on along a line."""
    a = lb.Assembly("thrower")
    arm = lb.RigidBody(1.0, (0.5, 0, 0), (0.1, 0.1, 0.1), {"tip": (1, 0, 0)})
    a.attach("arm", arm, lb.Revolute("z"))
    a.attach("box", lb.RigidBody(2.0, inertia=(0.1, 0.2, 0.3)), lb.Free())
    a.close(("arm", "tip"), ("box", None), lb.Fixed(), "grip")
    s = a.build()
    path = lb.trajectories.Quintic(0.0, 1.0, 1.0)
    q = np.array([0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    r = lb.simulate(
        s, 1.0, q0=q, motion={"arm": path}, events=[lb.Event(0.5, lb.release("grip"))], **TIGHT
    )
    assert [(c.kind, c.name, c.wrenches) for c in r.changes] == [("release", "grip", {})]
    assert np.abs(r.joint("arm")[:, 0] - [path(t).position for t in r.t]).max() < 1e-9
    before, after = r.changes[0].q, r.q[-1]
    speed = path(0.5).velocity * np.array([-np.sin(before[0]), np.cos(before[0]), 0.0])
    assert np.abs(after[5:] - before[5:] - 0.5 * speed).max() < TOLERANCE


@pytest.mark.parametrize(
    ("events", "options", "text"),
    [
        ([lb.Event(0.5, lb.attach("grasp"))], {}, "attach: there is no closure 'grasp'. Known closures: none. To attach a closure"),
        ([lb.Event(0.5, lb.release("grasp"))], {}, "release: there is no closure 'grasp'"),
        ([lb.Event(0.5, lb.lock("boom"))], {}, "lock: body='boom' is not in the system 'coupled'"),
        ([lb.Event(0.5, lb.attach((("arm1/hnd", "palm"), *GRASP[1:])))], {}, "end_a of the closure 'grasp': there is no body"),
        ([lb.Event(0.5, lb.lock("arm1/boom"))], {"engine": "generated"}, 'engine="generated" has code for one set of closures'),
        ([lb.Event(0.5, lb.lock("arm1/hand"))], {"motion": {"arm1/boom": lb.trajectories.Hold(0.0)}}, "while joints have prescribed motion"),
        ([lb.Event(0.5, lb.lock("arm1/hand"))], {"method": "RK45"}, "does not support events"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_before_the_run(events, options, text):
    s, q, v = flyer()
    v = v if "motion" not in options else np.zeros(s.nv)
    with pytest.raises(lb.LimberError) as caught:
        lb.simulate(s, 1.0, q0=q, v0=v, events=events, **options)
    assert text in str(caught.value)
    assert not hasattr(caught.value, "result")


def test_what_fails_in_the_run_names_event_and_time():
    s, q, v = flyer()
    grasp = lb.attach(GRASP, in_place=True)
    cases = [
        ([lb.Event(0.1, grasp, name="a"), lb.Event(0.2, grasp, name="b")], "event 'b' at t = 0.2 s: attach: the closure 'grasp' is already active"),
        ([lb.Event(0.1, lb.unlock("arm1/hand"), name="u")], "event 'u' at t = 0.1 s: unlock: the joint of 'arm1/hand' is not locked"),
        ([lb.Event(0.1, [grasp, lb.release("grasp")]), lb.Event(0.2, lb.attach({"terms": {"arm1/boom": 1.0}, "name": "grasp"}, in_place=True))], "the name 'grasp' is that of a cut joint earlier"),
    ]  # fmt: skip
    for events, text in cases:
        with pytest.raises(lb.SimulationError) as caught:
            lb.simulate(s, 0.3, q0=q, v0=v, events=events)
        assert text in str(caught.value)
        assert len(caught.value.result) > 1
    with pytest.raises(
        lb.LimberError, match=r"action must be a function .* or one or several changes of topology"
    ):
        lb.Event(0.1, [1.0])


def test_redundant_closures_are_told_of_where_they_become_active():
    s, q, v = flyer()
    twice = (*GRASP[:3], "again")
    events = [
        lb.Event(0.1, lb.attach(GRASP, in_place=True)),
        lb.Event(0.2, lb.attach(twice, in_place=True)),
    ]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lb.simulate(s, 0.3, q0=q, v0=v, events=events)
    assert any("redundant after attach 'again': 6 of 12 rows" in str(w.message) for w in caught)
