"""Bad input: assemblies, and freedoms that move no mass."""

import numpy as np
import pytest

import limber as lb
from helpers.loops import for_each
from helpers.refusals import (
    EYE,
    GOOD,
    ROLL,
    SLIDE,
    THIN,
    TURN,
    WELD,
    T,
    V,
    X,
    Y,
    Z,
    chain,
    flexible,
    make_beam,
    refused,
    spoilt,
    stub,
)

# --- assemblies -----------------------------------------------------------------------------------


def attach(**changes):
    arguments = {"name": "arm", "body": GOOD, "joint": lb.Revolute(Z), "to": "base", "at": "tip"}
    return stub().attach(**(arguments | changes))


ASSEMBLY_ARGUMENTS = {
    "gravity": ("gravity", -Z, lambda x: lb.Assembly("a", gravity=x)),
    "gravity set": ("gravity", -Z, lambda x: setattr(lb.Assembly("a"), "gravity", x)),
    "offset": ("offset", X, lambda x: attach(offset=x)),
    "rotation": ("rotation", EYE, lambda x: attach(rotation=x), "or None"),
}


@spoilt(ASSEMBLY_ARGUMENTS)
def test_numbers_of_assemblies(name, g, call, spoil, kind, pattern):
    call(g)
    with refused(kind, f"{name}.*{pattern}"):
        call(spoil(g))


BARE = lb.RigidBody(1.0, inertia=EYE)
ATTACH = [
    ({"name": None}, T, "name must be a non-empty string, got None"),
    ({"name": ""}, T, "name must be a non-empty string, got ''"),
    ({"name": ["arm"]}, T, "name must be a non-empty string"),
    ({"name": "world"}, V, "name='world' is already taken"),
    ({"name": "base"}, V, "name='base' is already taken.*its own name"),
    ({"body": None}, T, "body of 'arm' must be a RigidBody.*got None"),
    ({"body": 1.0}, T, "body of 'arm' must be a RigidBody.*got 1.0"),
    ({"body": lb.RigidBody}, T, "body of 'arm' must be a RigidBody"),
    ({"body": lb.Free()}, T, r"body of 'arm'.*got Free\(\)"),
    ({"joint": None}, T, r"joint of 'arm' must be a joint such as lb\."),
    ({"joint": lb.Revolute}, T, "joint of 'arm'.*class.*Revolute"),
    ({"joint": "Revolute"}, T, "joint of 'arm'.*got 'Revolute'"),
    ({"to": "bose"}, V, "to='bose', the parent of 'arm', is not attached.*known.*'world', 'base'"),
    ({"to": "arm"}, V, "to='arm'.*not attached yet.*rules out cycles"),
    ({"to": None}, T, "to of 'arm' must be .*name of a body, got None"),
    ({"to": ["base"]}, T, r"to of 'arm' must be .*got \['base'\]"),
    ({"to": np.ones(2)}, T, "to of 'arm' must be .*got array"),
    ({"to": GOOD}, T, "to of 'arm' must be .*got RigidBody"),
    ({"to": "world"}, V, "at='tip' of 'arm': the world has no nodes"),
    ({"at": "tap"}, V, "at='tap' is not a node of body 'base'.*'tip', 's"),
    ({"at": 2}, V, "at=2 is out of range: body 'base' has 2 nodes, 0 to 1"),
    ({"at": -1}, V, "at=-1 is out of range: body 'base' has 2 nodes"),
    ({"at": 1.0}, T, "at must be a node name or number of body 'base'.*1.0"),
    ({"at": True}, T, "at must be a node name or number.*got True"),
    ({"at": np.array([0])}, T, "at must be a node name or number"),
    ({"at": X}, T, "at must be a node name or number of body 'base'"),
    ({"inboard": "tap"}, V, "inboard='tap' is not a node of body 'arm'"),
    ({"inboard": -1}, V, "inboard=-1 is out of range: body 'arm' has 2"),
    ({"body": BARE, "inboard": 0}, V, "inboard=0 is out of range: body 'arm' has no nodes"),
    ({"body": BARE, "inboard": "a"}, V, "inboard='a' is not a node of body 'arm'; its .*: none"),
    ({"offset": [1, 2]}, V, r"offset .*got \(2,\). It places.*'arm'"),
    ({"rotation": 2 * EYE}, V, "rotation must be a rotation .*not orthogonal .*columns.*'arm'"),
    ({"rotation": np.diag([1, 1, -1])}, V, "rotation must be .*a reflection. Its columns.*'arm'"),
    ({"rotation": [1, 0, 0, 0]}, V, r"rotation must have shape \(3, 3\)"),
]


@for_each("changes, kind, pattern", ATTACH)
def test_bad_attachments_are_refused(changes, kind, pattern):
    with refused(kind, pattern):
        attach(**changes)


def test_failed_attach_leaves_no_trace():
    assembly = stub()
    with refused(V, "rotation must"):
        assembly.attach("arm", GOOD, lb.Free(), rotation=2 * EYE)
    assert list(assembly.attachments) == ["base"]
    assembly.attach("arm", GOOD, lb.Free())


def test_later_changes_do_not_reach_a_system():
    assembly = stub()
    system = assembly.build()
    assembly.attach("arm", GOOD, lb.Free(), to="base")
    assembly.gravity = (0, 0, -9.81)
    assert list(system.bodies) == ["base"] and not system.gravity.any()
    with pytest.raises(TypeError, match="does not support item assignment"):
        assembly.attachments["other"] = None


BUILD = [
    (lambda: lb.Assembly("hull").build(), V, "assembly 'hull' is empty: attach"),
    (lambda: stub().build("exact"), V, 'fidelity must be "full" or'),
    (lambda: stub().build(None), V, "fidelity must be .*got None"),
    (lambda: stub().build(np.ones(2)), V, "fidelity must be .*got arr"),
    (lambda: lb.Assembly((0, 0, -9.81)), T, r"name must be a string.*gravity=\(0, 0, -9.81\)"),
    (lambda: lb.Assembly(None), T, "name must be a string, got None"),
]


@for_each("call, kind, pattern", BUILD)
def test_assemblies_that_cannot_be_built_are_refused(call, kind, pattern):
    with refused(kind, pattern):
        call()


# --- massless bodies ------------------------------------------------------------------------------

NOTHING = lb.RigidBody(0.0)
POINT = lb.RigidBody(1.0, X)
WHEEL = lb.RigidBody(0.0, inertia=EYE)
TILTED = [[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]]


MASSLESS = {
    "leaf": (chain((GOOD, TURN), (NOTHING, TURN)), "'b': joint speed 0 .*Revolute"),
    "alone": (chain((NOTHING, lb.Free())), "'a': joint speed 0 .*Free"),
    "sliding leaf": (chain((GOOD, TURN), (NOTHING, SLIDE)), "'b': joint speed 0 .*Prismatic"),
    "point on its axis": (chain((lb.RigidBody(1.0, Z), TURN)), "'a': joint speed 0 .*Revolute"),
    "point on a ball": (chain((POINT, lb.Spherical())), "'a': joint speed 0 .*Spherical"),
    "free point": (chain((POINT, lb.Free())), "'a': joint speed 0 .*Free"),
    "rolling beam": (chain((THIN, ROLL)), "'a': joint speed 0 .*Revolute"),
    "tilted rolling beam": (chain((THIN, ROLL), rotation=TILTED), "'a': joint speed 0 .*Revolute"),
    "free beam": (chain((THIN, lb.Free())), "'a': joint speed 0 .*Free"),
    "welded subtree": (
        chain((GOOD, TURN), (NOTHING, ROLL), (NOTHING, WELD), (NOTHING, WELD)),
        "'b': joint speed 0 .*Revolute",
    ),
    "parallel slides": (chain((NOTHING, SLIDE), (GOOD, SLIDE)), "'a': joint speed 0 .*Prismatic"),
    "sliding wheel": (chain((WHEEL, SLIDE)), "'a': joint speed 0 .*Prismatic"),
    "same axis twice": (chain((GOOD, lb.CompoundJoint([TURN, TURN]))), "'a': joint speed 1 .*Comp"),
}
WHAT_TO_DO = (
    ".*moves no mass.*singular.*Give '.' or a body outboard of it mass.*polar_inertia.*an armature"
)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@for_each("assembly, pattern", MASSLESS)
def test_freedoms_that_move_no_mass_are_refused(assembly, pattern, fidelity):
    with refused(V, f"body {pattern}{WHAT_TO_DO}"):
        assembly.build(fidelity)


def test_modes_without_mass():
    same = flexible(translation=np.ones((2, 3, 2)), rotation=None, inertia=None, com=None)
    assembly = chain((same, TURN))
    with refused(V, f"body 'a': mode 2{WHAT_TO_DO}"):
        assembly.build()
    with refused(V, "body 'a': its modal mass matrix is singular.*remove the dependent modes"):
        assembly.build("ruthless")


MASSLESS_BETWEEN = {
    "gimbal": chain((NOTHING, TURN), (NOTHING, lb.Revolute(Y)), (GOOD, ROLL)),
    "carriage": chain((NOTHING, SLIDE), (GOOD, lb.Prismatic(Y))),
    "welded load": chain((NOTHING, TURN), (NOTHING, WELD), (GOOD, WELD)),
    "before a beam": chain((NOTHING, ROLL), (THIN, TURN), (GOOD, lb.Spherical())),
    "welded leaf": chain((GOOD, TURN), (NOTHING, WELD)),
    "wheel": chain((GOOD, lb.Free()), (WHEEL, ROLL)),
    "point on an arm": chain((POINT, TURN)),
    "beam with polar inertia": chain((make_beam(), lb.Free())),
}


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@for_each("assembly", MASSLESS_BETWEEN)
def test_massless_bodies_in_between(assembly, fidelity):
    system = assembly.build(fidelity)
    q = system.neutral()
    for name, joint in system.joints.items():
        if not list(joint.quaternions()):
            q[system.layout[name].q_joint] = 0.4
    tau = np.linspace(1.0, 2.0, system.nv)
    vdot = lb.forward_dynamics(system, q, np.zeros(system.nv), tau)
    bias = lb.bias(system, q, np.zeros(system.nv))
    assert lb.mass_matrix(system, q) @ vdot + bias == pytest.approx(tau, rel=1e-9)


@pytest.mark.parametrize("method", ["articulated", "composite"])
@pytest.mark.parametrize(
    "body",
    [
        BARE,
        GOOD,
    ],
    ids=["centred", "off centre"],
)
def test_singular_configurations_are_refused(body, method):
    system = chain((body, lb.CompoundJoint([TURN, lb.Revolute(Y), TURN]))).build()
    q, zero, tau = np.array([[0.3, 0.5, 0.4], [0.0, 0.0, 0.0]]), np.zeros(3), np.ones(3)
    lb.forward_dynamics(system, q[0], zero, tau, method=method)
    pattern = "the dynamics of 'chain' has no finite result{}: .*singular.*axes are aligned"
    with refused(V, pattern.format("")):
        lb.forward_dynamics(system, q[1], zero, tau, method=method)
    with refused(V, pattern.format(r" \(state 1 of the batch\)")):
        lb.forward_dynamics(system, q, zero, tau, method=method)


@pytest.mark.parametrize("method", ["articulated", "composite"])
def test_deformation_beyond_the_expansion_is_refused(method):
    """Rotary nodes are expanded in eta: far outside, the mass matrix loses its sign."""
    rotation, translation = np.zeros((2, 3, 1)), np.zeros((2, 3, 1))
    rotation[1, 2, 0], translation[1, 1, 0] = 1.0, 0.5
    body = lb.FlexibleBody.from_nodes(
        [1.0, 1.0],
        [[0, 0, 0], [1, 0, 0]],
        translation,
        rotation,
        [[1.0]],
        inertia=np.tile(np.diag([2.0, 2.0, 2.5]), (2, 1, 1)),
        com=[[0, 0, 0], [0, 1.0, 0]],
    )
    system = chain((body, lb.Fixed())).build()
    q = np.linspace(0.0, 5.0, 50)[:, None]
    with refused(V, "the dynamics of 'chain' has no finite result.*deformations of a radian"):
        lb.forward_dynamics(system, q, 0 * q, 0 * q, method=method)
