"""Systems side by side: coupled systems equal those of one assembly, and nothing is packed twice."""

import pickle

import numpy as np
import pytest

import limber as lb
from constraints.holding import GRASPS, arm, box, held
from limber.assembly import pack
from limber.assembly.system import System


def as_one_assembly(parts, fidelity):
    """The parts in one assembly, attached body by body."""
    a = lb.Assembly("coupled", gravity=next(iter(parts.values())).gravity, fidelity=fidelity)
    for part, system in parts.items():
        for item in system.attachments.values():
            to = item.to if item.to == "world" else f"{part}/{item.to}"
            a.attach(
                f"{part}/{item.name}",
                item.body,
                item.joint,
                to,
                item.at,
                item.offset,
                item.rotation,
                item.inboard,
            )
    return a.build()  # fmt: skip


def parts(fidelity):
    """Systems of all kinds: flexible, stiffened, general joints, springs, rigid."""
    stiffened = lb.Assembly("panel", gravity=(0, 0, -9.81))
    panel = lb.beam(
        2.0, 3.0, EI=50.0, GJ=30.0, modes=2, polar_inertia=0.01, geometric_stiffening=True
    )
    stiffened.attach("panel", panel, lb.Free())
    stiffened.attach("flap", panel, lb.Universal("y", "z", damping=0.1), "panel", "tip")
    return {
        "arm1": arm(-1.0, True).build(fidelity),
        "arm2": arm(1.0).build(fidelity),
        "object": stiffened.build(fidelity),
    }


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_coupled_systems_equal_one_assembly(fidelity):
    systems = parts(fidelity)
    s = lb.couple([systems["arm1"], systems["arm2"]], systems["object"])
    one = as_one_assembly(systems, fidelity)
    assert list(s.bodies) == list(one.bodies)
    assert s.layout == one.layout
    rng = np.random.default_rng(0)
    q = lb.integrate(one, one.neutral(), 0.3 * rng.normal(size=one.nv), 1.0)
    v, tau = rng.normal(size=(2, one.nv))
    push = {("object/flap", "tip"): rng.normal(size=6)}
    for function in (lb.forward_dynamics, lb.inverse_dynamics):
        assert np.array_equal(
            function(s, q, v, tau, external=push), function(one, q, v, tau, external=push)
        )
    assert np.array_equal(lb.mass_matrix(s, q), lb.mass_matrix(one, q))
    assert np.array_equal(
        lb.jacobian(s, q, "arm1/hand", "palm"), lb.jacobian(one, q, "arm1/hand", "palm")
    )
    assert lb.potential_energy(s, q) == lb.potential_energy(one, q)


def test_rigid_systems_keep_their_bound_of_distances():
    arms = [arm(-1.0).build(), arm(1.0).build()]
    s = lb.couple(arms, box().build())
    one = as_one_assembly({"arm1": arms[0], "arm2": arms[1], "object": box().build()}, "full")
    head = slice(0, 7)
    assert np.array_equal(s.dynamics.const[head], one.dynamics.const[head])
    q = one.neutral()
    zero = np.zeros(one.nv)
    assert np.array_equal(
        lb.forward_dynamics(s, q, zero, zero), lb.forward_dynamics(one, q, zero, zero)
    )


def test_own_closures_of_the_parts_stay():
    geared = arm(0.0)
    geared.gear(("hand", 0), "fore", 2.0, name="gears")
    geared.close(("world", (1.0, 0, 0.5)), ("hand", "palm"), lb.Spherical(), "pin")
    s = lb.couple(
        [geared, arm(1.0)],
        box(),
        [(("arm2/hand", "palm"), ("object/box", "right"), lb.RigidGrasp(), "grasp")],
    )
    assert list(s.closures) == ["arm1/gears", "arm1/pin", "grasp"]
    assert dict(s.closures["arm1/gears"].terms) == {("arm1/hand", 0): 1.0, ("arm1/fore", 0): -2.0}
    assert s.closures["arm1/pin"].a.body == "world"
    assert s.closures["arm1/pin"].b.body == "arm1/hand"


def test_grasp_release_and_exchange_pack_only_closures(monkeypatch):
    """Nothing of the tree is computed again: the parts are not packed for coupling, nor the tree for other closures."""
    arms, obj = [arm(-1.3, True).build(), arm(1.3, True).build()], box("flexible").build()

    def refuse(*_):
        raise AssertionError("a body was packed again")

    for name in ("_body_data", "_pack_nodes", "_pack_modal", "pack_groups"):
        monkeypatch.setattr(pack, name, refuse)
    monkeypatch.setattr("limber.assembly.system.pack", refuse)
    monkeypatch.setattr("limber.assembly.system.refuse_singular", refuse)
    s = lb.couple(arms, obj)
    left = (("arm1/hand", "palm"), ("object/box", "left"), GRASPS["hard point"], "left")
    right = (("arm2/hand", "palm"), ("object/flap", "tip"), GRASPS["rigid"], "right")
    grasped = s.closed_by([left])
    exchanged = grasped.closed_by([right])
    assert exchanged._trees is grasped._trees is s._trees
    assert exchanged.layout is s.layout
    assert list(exchanged.closures) == ["right"]
    # what is new of the numbers: the frames and rows of the closure, far below 1 % of the tree's work
    tree = s.dynamics.const.size
    assert np.shares_memory(s.dynamics.const, s._trees[0].const)
    assert np.array_equal(exchanged.dynamics.const[:tree], s.dynamics.const)
    assert exchanged.dynamics.const.size - tree < 100
    assert s.closed_by([]).dynamics is s._trees[0]


def test_names():
    s = lb.couple({"left": arm(-1.0), "right": arm(1.0)}, ("panel", box()), name="pair")
    assert s.name == "pair"
    assert [name.partition("/")[0] for name in s.bodies] == ["left"] * 3 + ["right"] * 3 + ["panel"]
    s = lb.couple([("left", arm(-1.0)), arm(1.0)], box())
    assert {name.partition("/")[0] for name in s.bodies} == {"left", "arm2", "object"}
    assert isinstance(s, System)


def test_pickles_keep_coupled_systems():
    s, q, v = held(GRASPS["soft finger"])
    again = pickle.loads(pickle.dumps(s))
    tau = np.zeros(s.nv)
    assert np.array_equal(lb.forward_dynamics(again, q, v, tau), lb.forward_dynamics(s, q, v, tau))


def test_errors():
    heavy, light = arm(0.0), arm(0.0, gravity=(0, 0, 0))
    with pytest.raises(
        lb.LimberError, match=r"arm1 has gravity .* and object has .*must have the same gravity"
    ):
        lb.couple([heavy], box(gravity=(0, 0, 0)))
    with pytest.raises(lb.LimberError, match=r"arm1 has fidelity 'full' and arm2 has 'ruthless'"):
        lb.couple([heavy, arm(0.0).build("ruthless")], box())
    with pytest.raises(lb.LimberError, match="two systems are called 'object'"):
        lb.couple({"object": light}, box(gravity=(0, 0, 0)))
    with pytest.raises(lb.LimberError, match="without a slash"):
        lb.couple({"a/b": light}, box())
    with pytest.raises(lb.LimberError, match="arms is empty"):
        lb.couple([], box())
    with pytest.raises(lb.LimberError, match="arm1 must be a System or an Assembly"):
        lb.couple([3.0], box())
    with pytest.raises(lb.LimberError, match="arms must be a list of systems"):
        lb.couple(heavy, box())
    with pytest.raises(lb.LimberError, match="a closure must be"):
        lb.couple([heavy], box(), ["grasp"])
    with pytest.raises(lb.LimberError, match=r"the closure 'closure1'.*'hand'"):
        lb.couple([heavy], box(), [(("hand", "palm"), ("object/box", "left"), lb.Fixed())])
    with pytest.raises(lb.LimberError, match="name='g' is already taken"):
        s = lb.couple([heavy], box())
        end = ("arm1/hand", "palm"), ("object/box", "left"), lb.Fixed(), "g"
        s.closed_by([end, end])
    with pytest.raises(lb.LimberError, match="; expected one of"):
        s.closed_by([{"end_a": end[0], "end_b": end[1], "joint": end[2], "ofset": (0, 0, 0)}])
    with pytest.raises(lb.LimberError, match="belongs to another system"):
        box().build().closed_by(s.closed_by([end]).closures.values())


def test_several_objects_are_refused_with_the_way_out():
    body = lb.Assembly("box").attach("box", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Free())
    for objects in ({"a": body, "b": body}, [body, body]):
        with pytest.raises(lb.LimberError, match=r"object must be .*several objects go into one"):
            lb.couple([body], objects)
