"""Bad input: attempts to change what does not change."""

import copy
import pickle
from collections.abc import Mapping

import numpy as np
import pytest

import limber as lb
from helpers.loops import for_each
from helpers.refusals import (
    BALL,
    GOOD,
    NODES,
    ROLL,
    SLIDE,
    THIN,
    TURN,
    Q,
    X,
    Y,
    Z,
    chain,
    craft,
    flexible,
    make_beam,
    refused,
)

# --- immutability ---------------------------------------------------------------------------------

OBJECTS = {
    "RigidBody": GOOD,
    "FlexibleBody": flexible(),
    "beam": make_beam(),
    "System": craft,
    "ruthless System": lambda: chain((THIN, TURN)).build("ruthless"),
    "Revolute": ROLL,
    "Prismatic": SLIDE,
    "Screw": lb.Screw(X, 0.1),
    "Cylindrical": lb.Cylindrical(X),
    "Universal": lb.Universal(X, Y),
    "Planar": lb.Planar([1, 2, 3]),
    "Spherical": lb.Spherical(),
    "Free": lb.Free(),
    "Fixed": lb.Fixed(),
    "SimpleJoint": lb.SimpleJoint(np.eye(6)[:, :3]),
    "CompoundJoint": BALL,
}


def arrays(x):
    """Every array that x and its parts hold."""
    if isinstance(x, np.ndarray):
        yield x
    elif isinstance(x, (tuple, list)):
        for part in x:
            yield from arrays(part)
    elif isinstance(x, Mapping):
        yield from arrays(list(x.values()))
    elif hasattr(x, "__dict__"):
        scratch = ("_ready", "pools")
        yield from arrays([part for name, part in vars(x).items() if name not in scratch])


@pytest.fixture(params=OBJECTS.values(), ids=OBJECTS)
def thing(request):
    return request.param() if callable(request.param) else request.param


def test_attributes_cannot_be_set(thing):
    kind = type(thing).__name__
    for name in [*vars(thing), "anything"]:
        with refused(AttributeError, f"{kind} is immutable: '{name}' cannot be set. Create a new"):
            setattr(thing, name, 1.0)
        with refused(AttributeError, f"{kind} is immutable: '{name}' cannot be deleted"):
            delattr(thing, name)


@pytest.mark.parametrize(
    "again",
    [lambda x: x, copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
    ids=["itself", "copy", "deepcopy", "pickle"],
)
def test_arrays_cannot_be_written(thing, again):
    if isinstance(thing, lb.FlexibleBody):
        assert thing.integrals.mass > 0.0  # computed on demand, and then kept
    twin = again(thing)
    assert repr(twin) == repr(thing)
    found = list(arrays(twin))
    assert found or isinstance(thing, lb.Fixed)
    for x in found:
        with pytest.raises(ValueError, match="read-only"):
            x[...] = 0.0
    with refused(AttributeError, ".* is immutable"):
        twin.anything = 1.0


@pytest.mark.parametrize("name", ["bodies", "joints", "parents", "layout", "attachments"])
def test_mappings_cannot_be_written(name):
    for mapping in (GOOD.nodes, getattr(craft(), name)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            mapping["other"] = None


PARTS = {
    "Attachment": (lambda: craft().attachments["arm"], "joint"),
    "BodyLayout": (lambda: craft().layout["arm"], "v_joint"),
    "Nodes": (lambda: THIN.nodes, "position"),
    "MassPoints": (lambda: THIN.points, "mass"),
    "Group": (lambda: lb.Free().groups[0], "H"),
}


@for_each("part, name", PARTS)
def test_parts_cannot_be_set(part, name):
    with pytest.raises(AttributeError, match=f"cannot assign to field '{name}'"):
        setattr(part(), name, None)


def test_names_of_nodes_cannot_be_changed():
    for body in (THIN, flexible(), GOOD):
        assert isinstance(body.node_set.names, tuple)


def test_arguments_are_copied():
    """What the caller does to his arrays later does not reach the objects."""
    com, axis, H, offset = X.copy(), Z.copy(), np.eye(6)[:, :3].copy(), Y.copy()
    given = {name: np.array(x) for name, x in NODES.items() if name != "names"}
    body = lb.RigidBody(1.0, com, nodes={"a": com})
    turn, simple = lb.Revolute(axis), lb.SimpleJoint(H)
    bent = lb.FlexibleBody.from_nodes(**given)
    assembly = lb.Assembly("a", gravity=axis).attach("b", bent, turn, offset=offset)
    for x in (com, axis, H, offset, *given.values()):
        assert x.flags.writeable
        x[...] = 7.0
    assert body.com.tolist() == body.nodes["a"].tolist() == X.tolist()
    assert turn.axis.tolist() == assembly.gravity.tolist() == Z.tolist()
    assert np.array_equal(simple.groups[0].H, np.eye(6)[:, :3])
    assert np.array_equal(bent.points.translation, NODES["translation"])
    assert np.array_equal(bent.stiffness, NODES["stiffness"])
    assert assembly.attachments["b"].offset.tolist() == Y.tolist()


def test_neutral_is_a_copy():
    craft().neutral()[:] = 7.0
    assert np.array_equal(craft().neutral(), Q)
