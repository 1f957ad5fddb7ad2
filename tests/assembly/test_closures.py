"""Closures of an assembly: what is taken, and what is refused in words."""

import warnings

import numpy as np
import pytest

import limber as lb
from helpers.closed import TURN, every_closure, four_bar, open_four_bar, rod

A, B, PIN = ("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z")


def test_closures_are_kept_as_given():
    made = open_four_bar().close(A, ("world", (1, 2, 3)), PIN, "pin", (0.1, 0, 0), TURN, (0, 1, 0))
    closure = made.closures["pin"]
    assert (closure.a.body, closure.a.node, closure.joint) == ("coupler", 1, PIN)
    assert closure.a.offset.tolist() == [0.1, 0, 0] and np.array_equal(closure.a.rotation, TURN)
    assert (closure.b.body, closure.b.node) == ("world", None)
    assert closure.b.offset.tolist() == [1, 3, 3] and np.array_equal(closure.b.rotation, np.eye(3))
    assert made.build().closures["pin"] is closure


def test_ends_are_nodes_by_name_or_number_or_body_frames():
    a = open_four_bar()
    a.close(("coupler", np.int64(0)), ["rocker", None], PIN)
    closure = a.closures["closure1"]
    assert (closure.a.node, closure.b.node) == (0, None)


def test_closures_without_a_name_are_counted():
    a = four_bar().close(A, B, PIN).close(A, B, PIN, "closure2").close(A, B, PIN)
    a.relate({"crank": 1.0}).gear("crank", "rocker", 1.0)
    assert list(a.closures) == ["pin", "closure1", "closure2", "closure3", "relation1", "relation2"]


def test_a_closure_may_have_the_name_of_a_body():
    assert "crank" in open_four_bar().close(A, B, PIN, name="crank").build().closures


def test_a_gear_is_a_relation():
    a = open_four_bar().gear("rocker", "crank", 3, 0.5).relate({"rocker": 1, ("crank", 0): -3}, 0.5)
    gear, relation = a.closures.values()
    assert dict(gear.terms) == dict(relation.terms) == {("rocker", 0): 1.0, ("crank", 0): -3.0}
    assert gear.value == relation.value == 0.5


def test_terms_come_body_by_body_and_those_of_zero_are_left_out():
    a = open_four_bar().attach("slider", rod(), lb.Cylindrical("z"))
    a.relate({("slider", 1): 2.0, "crank": 1.0, ("slider", 0): 3.0, "rocker": 0.0}, value=-0.0)
    (relation,) = a.closures.values()
    assert list(relation.terms) == [("slider", 0), ("slider", 1), ("crank", 0)]
    assert str(relation.value) == "0.0"


def test_closures_cannot_be_changed():
    s = every_closure().build()
    with pytest.raises(TypeError, match="does not support item assignment"):
        s.closures["other"] = None
    with pytest.raises(TypeError, match="does not support item assignment"):
        s.closures["rack"].terms["crank", 0] = 7.0
    with pytest.raises(AttributeError, match="cannot assign to field 'joint'"):
        s.closures["true"].joint = None
    for end in (s.closures["true"].a, s.closures["true"].b):
        with pytest.raises(ValueError, match="read-only"):
            end.offset[0] = 7.0


def test_what_is_made_of_a_closed_assembly_is_closed():
    made = every_closure(lb.beam(1.0, 1.0, EI=100.0, modes=1))
    assert list(made.rigid().closures) == list(made.closures)
    assert "14 closures" in repr(made) and "14 closures" in repr(made.build())
    assert "closures" not in repr(open_four_bar())


def test_ends_on_bodies_that_are_fixed_to_each_other_are_taken():
    """Such a closure holds nothing: its rows are redundant, which is for those to say who count rows."""
    a = lb.Assembly("frame").attach("post", lb.beam(1.0, 1.0, EI=10.0), lb.Fixed())
    a.attach("cap", rod(), lb.Fixed(), "post", "tip")
    a.close(("cap", "tip"), ("world", (1, 1, 0)), PIN)  # the post bends between them
    a.close(("cap", "tip"), ("post", "tip"), PIN)
    assert list(a.rigid().closures) == list(a.closures) == ["closure1", "closure2"]


ENDS = '"body", node. or ."world", .x, y, z..'

#: the arguments of close, and what the message says
CLOSE = {
    "no end": (("coupler", B, PIN), f"end_a of the closure 'closure1' must be .{ENDS}, got 'coupler'"),
    "one part": ((A, ("rocker",), PIN), "end_b of the closure 'closure1' must be"),
    "number": ((A, (3, "tip"), PIN), "end_b of the closure 'closure1' must be"),
    "no body": ((("couple", "tip"), B, PIN), "end_a of the closure 'closure1': there is no body 'couple'. Did you mean 'coupler'. Attach the bodies before you close a loop; known so far: 'world', 'crank'"),
    "no node": ((A, ("rocker", "tipp"), PIN), "end_b='tipp' is not a node of body 'rocker' in the closure 'closure1'; its nodes are: 'mid', 'tip'. Did you mean 'tip'"),
    "node number": ((A, ("rocker", 2), PIN), "end_b=2 is out of range: body 'rocker' in the closure 'closure1' has 2 nodes, 0 to 1"),
    "negative node": ((A, ("rocker", -1), PIN), "end_b=-1 is out of range"),
    "kind of node": ((A, ("rocker", 0.5), PIN), "end_b must be a node name or number of body 'rocker'"),
    "world node": ((A, ("world", "tip"), PIN), "end_b must be real numbers of shape .3,., got text: 'tip'. end_b of the closure 'closure1': the world has no nodes"),
    "infinite": ((A, ("world", (1, np.inf, 0)), PIN), r"end_b\[1\] is inf"),
    "itself": ((A, ("coupler", "mid"), PIN), "the closure 'closure1' has both ends on 'coupler': a closure connects two bodies"),
    "both world": ((("world", (0, 0, 0)), ("world", (1, 0, 0)), PIN), "has both ends on 'world'"),
    "no joint": ((A, B, "revolute"), "joint of the closure 'closure1' must be a joint such as lb.Revolute"),
    "class": ((A, B, lb.Revolute), "must be a joint such as lb.Revolute"),
    "free": ((A, B, lb.Free()), "joint of the closure 'closure1' allows all six motions, so it constrains nothing: remove"),
    "six": ((A, B, lb.CompoundJoint([lb.Spherical(), *map(lb.Prismatic, "xyz")])), "allows all six motions"),
    "dependent": ((A, B, lb.CompoundJoint([lb.Spherical(), lb.Planar("z")])), "has 6 speeds, of which only 5 are independent"),
    "physics": ((A, B, lb.Revolute("z", damping=1.0)), "joint of the closure 'closure1' has damping: a cut joint has no coordinates of its own"),
    "physics of a part": ((A, B, lb.CompoundJoint([PIN, lb.Revolute("x", stiffness=1.0)])), "'closure1' has stiffness"),
    "limits": ((A, B, lb.Revolute("z", limits=(-1, 1), stop_stiffness=0)), "'closure1' has limits"),
    "name": ((A, B, PIN, "pin"), "name='pin' is already taken: every closure needs its own name"),
    "empty name": ((A, B, PIN, ""), "name must be a non-empty string"),
    "name of a kind": ((A, B, PIN, 3), "name must be a non-empty string, got 3"),
    "offset": ((A, B, PIN, None, (0, 0)), "offset must have shape .3,., got .2,.. It places the joint of the closure 'closure1' at end_a"),
    "reflection": ((A, B, PIN, None, (0, 0, 0), np.diag([1, 1, -1])), "rotation must be a rotation matrix, but it is a reflection.* of the closure 'closure1' at end_a"),
    "not orthogonal": ((A, B, PIN, None, (0, 0, 0), None, (0, 0, 0), 2 * np.eye(3)), "rotation_b must be a rotation matrix, but it is not orthogonal.* at end_b"),
}  # fmt: skip


@pytest.mark.parametrize("arguments, says", CLOSE.values(), ids=CLOSE)
def test_closures_that_cannot_work_are_refused(arguments, says):
    a = four_bar()
    with pytest.raises(lb.LimberError, match=says):
        a.close(*arguments)
    assert list(a.closures) == ["pin"]


#: the arguments of relate, and what the message says
RELATE = {
    "none": (({},), "terms of 'relation1' must map joints to coefficients"),
    "list": (([("crank", 1)],), "terms of 'relation1' must map joints to coefficients"),
    "no body": (({"krank": 1},), "terms of 'relation1': there is no body 'krank'. Did you mean 'crank'"),
    "world": (({"world": 1},), "there is no body 'world'"),
    "key": (({3: 1},), "a joint must be the name of its body, or .name, index of the coordinate., got 3"),
    "index": (({("crank", True): 1},), "a joint must be the name of its body"),
    "no coordinate": (({("crank", 1): 1},), "the joint of 'crank' has only coordinate 0, so there is no coordinate 1"),
    "negative": (({("slider", -1): 1},), "has coordinates 0 to 1, so there is no coordinate -1"),
    "which": (({"slider": 1},), "the joint of 'slider' has 2 coordinates; name one of them, as in .'slider', 0."),
    "fixed": (({"cap": 1},), "the joint of 'cap' is fixed and has no coordinate"),
    "ball": (({("ball", 0): 1},), r"the speeds of the joint of 'ball', Spherical\(\), are not the rates of its"),
    "twice": (({"crank": 1, ("crank", 0): 2},), "coordinate 0 of the joint of 'crank' is named twice. Give the sum of"),
    "zero": (({"crank": 0, "rocker": 0.0},), "all coefficients are zero, so nothing is related"),
    "coefficient": (({"crank": "x"},), r"terms\['crank'\] of 'relation1' must be real numbers"),
    "nan": (({"crank": np.nan},), r"terms\['crank'\] of 'relation1' is nan"),
    "value": (({"crank": 1}, np.inf), "value of 'relation1' is inf"),
    "name": (({"crank": 1}, 0, "pin"), "name='pin' is already taken"),
}  # fmt: skip


def many_joints():
    a = (
        four_bar()
        .attach("slider", rod(), lb.Cylindrical("z"))
        .attach("ball", rod(), lb.Spherical())
    )
    return a.attach("cap", rod(), lb.Fixed(), "crank", "tip")


@pytest.mark.parametrize("arguments, says", RELATE.values(), ids=RELATE)
def test_relations_that_cannot_work_are_refused(arguments, says):
    a = many_joints()
    with pytest.raises(lb.LimberError, match=says):
        a.relate(*arguments)
    assert list(a.closures) == ["pin"]


#: the arguments of gear, and what the message says
GEAR = {
    "same": (("crank", "crank", 1), "driven and driver of 'relation1' are the same joint, 'crank'"),
    "same by index": (("crank", ("crank", 0), 1), "are the same joint"),
    "driven": (("krank", "rocker", 1), "driven of 'relation1': there is no body 'krank'. Did you mean 'crank'"),
    "driver": (("crank", ("slider", 2), 1), "driver of 'relation1': the joint of 'slider' has coordinates 0 to 1"),
    "list": ((["crank", 0], "rocker", 1), "driven of 'relation1': a joint must be the name of its body"),
    "ratio": (("crank", "rocker", "x"), "ratio of 'relation1' must be real numbers"),
    "infinite": (("crank", "rocker", np.inf), "ratio of 'relation1' is inf"),
    "offset": (("crank", "rocker", 1, np.nan), "offset of 'relation1' is nan"),
    "name": (("crank", "rocker", 1, 0, "pin"), "name='pin' is already taken"),
}  # fmt: skip


@pytest.mark.parametrize("arguments, says", GEAR.values(), ids=GEAR)
def test_gears_that_cannot_work_are_refused(arguments, says):
    a = many_joints()
    with pytest.raises(lb.LimberError, match=says):
        a.gear(*arguments)
    assert list(a.closures) == ["pin"]


def test_symbols_are_refused():
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x")
    a = open_four_bar()
    with pytest.raises(lb.LimberError, match="offset must be real numbers of shape"):
        a.close(A, B, PIN, offset=(x, 0, 0))
    with pytest.raises(lb.LimberError, match="rotation_b must be real numbers of shape"):
        a.close(A, B, PIN, rotation_b=sympy.diag(x, 1, 1))
    with pytest.raises(lb.LimberError, match="end_b must be real numbers of shape"):
        a.close(A, ("world", (x, 0, 0)), PIN)
    joint = lb.symbolic.simple_joint([[0], [0], [1], [0], [0], [0]], ["x"])
    with pytest.raises(lb.LimberError, match="joint of the closure 'closure1' is symbolic"):
        a.close(A, B, joint)
    with pytest.raises(lb.LimberError, match=r"terms\['crank'\] of 'relation1' must be real"):
        a.relate({"crank": x})
    a.attach("named", rod(), joint)
    with pytest.raises(
        lb.LimberError, match="terms of 'relation1': the joint of 'named' is symbolic"
    ):
        a.relate({"named": 1.0})


def hinge_at(x, y):
    """A hinge about z at a place."""
    return lb.SimpleJoint(np.array([0, 0, 1.0, y, -x, 0])[:, None])


@pytest.mark.parametrize(
    "parts, told",
    [
        ([lb.Revolute("z"), hinge_at(0.5, 0), hinge_at(1, 0)], True),
        ([lb.Revolute("z"), hinge_at(0.5, 0), hinge_at(0.5, 0.5)], True),
        ([lb.Revolute("z"), hinge_at(0.5, 0), hinge_at(0.5, 0.5), lb.Prismatic("z")], True),
        ([lb.Revolute("z"), lb.Prismatic("x"), hinge_at(0.5, 0)], False),
        ([lb.Revolute("z"), hinge_at(0.5, 0)], False),
        ([lb.Planar("z")], False),
        ([lb.Cylindrical("z")], False),
        ([lb.Revolute("z"), lb.Revolute("x"), hinge_at(0.5, 0)], False),
    ],
)
def test_links_whose_reach_is_not_held_are_told(parts, told):
    """Three parallel hinges allow all motions in a plane, as far as their links reach, which no row knows."""
    a = lb.Assembly("loop").attach("body", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Free())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        a.close(("world", (0, 0, 0)), ("body", None), lb.CompoundJoint(parts), name="arm")
    assert [str(w.message).startswith("joint of the closure 'arm' moves") for w in found] == [
        True
    ] * told
