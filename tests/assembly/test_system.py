"""Assemblies and systems: layout, immutability, attachment."""

import copy
import pickle

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.random_systems import random_assembly, random_state


def test_layout_is_modes_then_joint_in_order_of_attachment():
    a = lb.Assembly("a")
    a.attach("one", lb.beam(1, 1, EI=1, modes=1, polar_inertia=1), lb.Free(), inboard="root")
    a.attach("two", lb.RigidBody(1, inertia=np.eye(3)), lb.Fixed(), to="one", at="tip")
    a.attach("three", lb.beam(1, 1, EI=1, modes=2, polar_inertia=1), lb.Spherical(), "one", 3)
    s = a.build()
    assert (s.nq, s.nv) == (2 + 7 + 4 + 4, 2 + 6 + 4 + 3)
    assert s.layout["one"].q_joint == slice(2, 9)
    assert s.layout["three"].v_modes == slice(8, 12)
    assert list(s.bodies) == ["one", "two", "three"]
    assert s.parents["three"] == "one"
    assert_close(s.neutral()[[2, 13]], [1, 1], 0)


def test_attachment_goes_through_offset_and_rotation_of_the_bent_node():
    a = lb.Assembly("a")
    beam = lb.beam(2.0, 1.0, EI=1.0, modes=1)
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    a.attach("beam", beam, lb.Fixed())
    a.attach(
        "box",
        lb.RigidBody(1, inertia=np.eye(3)),
        lb.Prismatic([1, 0, 0]),
        "beam",
        "tip",
        (0.1, 0.2, 0.3),
        turn,
    )
    s = a.build()
    q = s.neutral()
    q[s.layout["beam"].q_modes] = [0.2, -0.1]
    q[s.layout["box"].q_joint] = 0.5
    R, p = lb.pose(s, q, "beam", "tip")
    Rb, pb = lb.pose(s, q, "box")
    assert_close(Rb, R @ turn, 1e-14)
    assert_close(pb, p + R @ (np.array([0.1, 0.2, 0.3]) + turn @ [0.5, 0, 0]), 1e-14)


def test_a_body_may_hang_on_the_frame_of_a_parent_held_at_a_node():
    """`at=None` is the parent's body frame, also when the parent's joint sits elsewhere on it."""
    for body in (
        lb.RigidBody(1.0, (0.3, 0, 0), np.eye(3), nodes={"a": (0.5, 0.2, 0)}),
        lb.beam(1.0, 1.0, EI=10.0, modes=1),
    ):
        node = "a" if isinstance(body, lb.RigidBody) else "node4"
        a = lb.Assembly("a")
        a.attach("parent", body, lb.Revolute([0, 0, 1]), inboard=node)
        a.attach("child", lb.RigidBody(1, inertia=np.eye(3)), lb.Revolute([0, 1, 0]), to="parent")
        for fidelity in ("full", "ruthless"):
            s = a.build(fidelity=fidelity)
            q, _, _ = random_state(np.random.default_rng(0), s)
            _, p = lb.pose(s, q, "parent")
            assert_close(lb.pose(s, q, "child")[1], p, 1e-14)
            at_node = lb.pose(s, q, "parent", node)[1]
            assert_close(at_node, np.zeros(3), 1e-14)


def test_building_does_not_freeze_the_assembly_and_systems_are_independent():
    a = lb.Assembly("a").attach("one", lb.RigidBody(1, inertia=np.eye(3)), lb.Free())
    first = a.build()
    a.attach("two", lb.RigidBody(1, inertia=np.eye(3)), lb.Revolute([1, 0, 0]), to="one")
    assert (first.nv, a.build().nv) == (6, 7)


def test_systems_pickle_and_are_their_own_copies():
    rng = np.random.default_rng(4)
    s = random_assembly(rng, bodies=4).build()
    state = random_state(rng, s)
    expected = lb.forward_dynamics(s, *state)
    assert_close(lb.forward_dynamics(pickle.loads(pickle.dumps(s)), *state), expected, 0)
    assert copy.copy(s) is s and copy.deepcopy([s])[0] is s  # they do not change


def test_long_chain_builds_and_runs():
    """3,000 bodies: linear memory, no recursion limit."""
    a = lb.Assembly("chain", gravity=(0, 0, -9.81))
    body = lb.RigidBody(1.0, (0, 0, -0.05), 0.01 * np.eye(3))
    to = "world"
    for i in range(3000):
        a.attach(str(i), body, lb.Revolute(np.eye(3)[i % 3]), to=to, offset=(0, 0, -0.1))
        to = str(i)
    s = a.build()
    q, v = 0.01 * np.ones(s.nq), np.zeros(s.nv)
    vdot = lb.forward_dynamics(s, q, v, np.zeros(s.nv))
    tau = lb.inverse_dynamics(s, q, v, vdot)
    assert np.abs(tau).max() < 1e-6 * np.abs(lb.bias(s, q, v)).max()


def test_a_flexible_body_without_modes_is_a_rigid_body():
    """Held at a node or not, at either fidelity: the joint sits at the node, the masses stay."""
    points = {"mass": [1.0, 2.0, 0.5], "position": [[0.1, 0, 0], [0.5, 0.3, 0], [0.2, 0.1, 0.7]]}
    stiff = lb.FlexibleBody.from_nodes(
        **points, translation=np.zeros((3, 3, 0)), stiffness=np.zeros((0, 0)), names=["a", "b", "c"]
    )
    mass, x = np.array(points["mass"]), np.array(points["position"])
    com = mass @ x / mass.sum()
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(mass, x - com))
    rigid = lb.RigidBody(mass.sum(), com, inertia, nodes=dict(zip("abc", x)))
    for inboard in (None, "c"):
        results = []
        for body in (stiff, rigid):
            a = lb.Assembly("a", gravity=(0, 0, -9.81))
            a.attach("one", body, lb.Revolute([1, 2, 3]), offset=(0.1, 0.2, 0.3), inboard=inboard)
            a.attach("two", rigid, lb.Spherical(), to="one", at="b")
            for fidelity in ("full", "ruthless"):
                s = a.build(fidelity=fidelity)
                q, v, tau = random_state(np.random.default_rng(1), s)
                results.append(
                    np.concatenate(
                        [
                            lb.forward_dynamics(s, q, v, tau),
                            lb.bias(s, q, v),
                            lb.pose(s, q, "two")[1],
                            lb.pose(s, q, "one")[1],
                        ]
                    )
                )
        for other in results[1:]:
            assert_close(other, results[0], 1e-12)


def test_modes_of_any_scale_are_taken():
    """Each mode is judged by its own mass: scaling a shape by a million changes nothing but units."""
    scales = np.array([1.0, 1e-6])
    x = np.linspace(0, 1, 7)
    shapes = np.zeros((7, 3, 2))
    shapes[:, 1] = np.column_stack([x**2, x**3 - 0.7 * x**2]) * scales
    body = lb.FlexibleBody.from_nodes(
        np.ones(7), np.column_stack([x, 0.1 * x**2, 0 * x]), shapes, None, np.diag(scales**2)
    )
    for fidelity in ("full", "ruthless"):
        s = lb.Assembly("a").attach("b", body, lb.Revolute([0, 0, 1])).build(fidelity=fidelity)
        omega = lb.modes(s, s.neutral(), locked=["b"]).omega
        assert omega.min() > 0.1


def test_configurations_and_speeds_by_name():
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Free())
    wing = lb.beam(1.0, 1.0, EI=1.0, modes={"y": 2})
    a.attach("wing", wing, lb.Revolute("z"), "hub", joint_name="drive")
    s = a.build()
    q = s.configuration({"hub": [1, 0, 0, 0, 5, 6, 7], "drive": 0.4}, modes={"wing": [0.1, 0.2]})
    assert q.tolist() == [1, 0, 0, 0, 5, 6, 7, 0.1, 0.2, 0.4]
    assert s.configuration({}).tolist() == s.neutral().tolist()
    v = s.speeds({"hub": [1, 2, 3, 4, 5, 6], "wing": [0.3]}, modes={"wing": [7, 8]})
    assert v.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0.3]
    with pytest.raises(lb.LimberError, match=r"'hub' has 7 coordinates, got 0\.5"):
        s.configuration({"hub": 0.5})
    with pytest.raises(lb.LimberError, match="'hub' has no modes, got 1"):
        s.speeds({}, modes={"hub": 1})
    with pytest.raises(lb.LimberError, match=r"joints: body='wign'.*Did you mean 'wing'"):
        s.configuration({"wign": 0.5})
    with pytest.raises(lb.LimberError, match=r"joints must map names to numbers.*got \[1\.0\]"):
        s.speeds([1.0])
    with pytest.raises(lb.LimberError, match="coordinates of 'drive' must be finite"):
        s.configuration({"drive": float("nan")})
