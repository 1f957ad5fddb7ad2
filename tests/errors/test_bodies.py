"""Bad input: bodies."""

import re

import numpy as np

import limber as lb
from helpers.loops import for_each
from helpers.refusals import (
    BEAM,
    EYE,
    NAN,
    NODES,
    T,
    V,
    X,
    Y,
    flexible,
    make_beam,
    refused,
    spoilt,
)

# --- bodies ---------------------------------------------------------------------------------------


def from_nodes_with(name):
    return lambda x: flexible(**{name: x})


def beam_with(name):
    return lambda x: make_beam(**{name: x})


BODY_ARGUMENTS = {
    "RigidBody mass": ("mass", 1.0, lambda x: lb.RigidBody(x)),
    "RigidBody com": ("com", X, lambda x: lb.RigidBody(1.0, x)),
    "RigidBody inertia": ("inertia", EYE, lambda x: lb.RigidBody(1.0, X, x), "or None"),
    "RigidBody node": ("nodes['a']", X, lambda x: lb.RigidBody(1.0, nodes={"a": x})),
    **{
        f"from_nodes {name}": (name, NODES[name], from_nodes_with(name))
        for name in ("position", "translation")
    },
    **{
        f"from_nodes {name}": (name, NODES[name], from_nodes_with(name), "or None")
        for name in ("rotation", "stiffness", "damping", "inertia", "com")
    },
    **{
        f"beam {name}": (name, BEAM[name], beam_with(name))
        for name in ("length", "mass", "damping")
    },
    **{
        f"beam {name}": (name, BEAM[name], beam_with(name), "or None")
        for name in ("EI", "GJ", "EA", "polar_inertia", "load")
    },
}


@spoilt(BODY_ARGUMENTS)
def test_numbers_of_bodies(name, g, call, spoil, kind, pattern):
    call(g)
    with refused(kind, f"{re.escape(name)}.*{pattern}"):
        call(spoil(g))


RIGID = [
    ((-1.0,), V, "mass must be at least 0, got -1"),
    ((1.0, X, np.diag([1.0, 2.0, -1.0])), V, "inertia must be positive semi.*-1:.*centre of mass"),
    ((1.0, X, np.tri(3)), V, "inertia must be symmetric.*its transpose by 1.*full matrix"),
    ((1.0, X, [1, 2]), V, r"inertia must have shape \(3,\), got \(2,\).*diagonal"),
    ((1.0, X, [1, 1, 5]), V, "inertia has the principal moments 1, 1 and 5.*sum of the o"),
    ((1.0, X, EYE, {}, 1), T, "check_inertia must be True or False, got 1"),
    ((1.0, X, EYE, [X]), T, "nodes must map names to points"),
    ((1.0, X, EYE, "tip"), T, "nodes must map names.*got 'tip'"),
    ((1.0, X, EYE, {1: X}), T, "nodes: a name must be .*got 1"),
    ((1.0, X, EYE, {"": X}), T, "nodes: a name must be a non-empty string"),
]


@for_each("arguments, kind, pattern", RIGID)
def test_bad_rigid_bodies_are_refused(arguments, kind, pattern):
    with refused(kind, pattern):
        lb.RigidBody(*arguments)


FLEXIBLE = [
    ({"mass": []}, V, "mass is empty: .*at least one node"),
    ({"mass": 1.0}, V, r"mass must have shape \(n,\), got \(\)"),
    ({"mass": [1, 2j]}, T, "mass must be real.*complex"),
    ({"mass": ["1", "2"]}, T, "mass must be real numbers.*text"),
    ({"mass": [1, NAN]}, V, r"mass\[1\] is nan: mass must be finite"),
    ({"mass": [1, -2]}, V, r"mass\[1\] = -2 of node 'tip' is negative"),
    ({"mass": [0, 0]}, V, "mass is zero at every node"),
    ({"mass": [1, 2, 3], "names": None}, V, "position.*mass has 3 nodes"),
    ({"translation": np.zeros((2, 2, 2))}, V, r"translation.*\(2, 3, m\)"),
    ({"rotation": np.zeros((2, 3, 3))}, V, "rotation.*has 2 modes"),
    ({"stiffness": None}, T, r"stiffness is missing: give the \(2, 2\) modal stiffness matrix"),
    ({"stiffness": [4.0, 9.0]}, V, "stiffness.*2 modes; np.diag"),
    ({"stiffness": EYE}, V, r"stiffness must have shape \(2, 2\)"),
    ({"stiffness": [[1, 2], [2, 1]]}, V, "stiffness must be positive semidefinite.*-1: .*equilib"),
    ({"stiffness": [[1, 2], [0, 1]]}, V, "stiffness must be symmetric"),
    ({"damping": -np.eye(2)}, V, "damping must be .*feed energy in"),
    ({"inertia": [EYE, -EYE]}, V, r"inertia\[1\] of node 'tip', .*semidefinite.*about the node"),
    ({"inertia": [EYE, np.diag([1, 1, 5])]}, V, r"inertia\[1\] of node 'tip'.*principal.*sum"),
    ({"com": [X, 5 * Y]}, V, r"inertia\[1\] of node 'tip'.*node"),
    ({"names": ["a"]}, V, "names must be 2 different.*got 1: \\['a'\\]"),
    ({"names": ["a", "a"]}, V, "names must be 2 different"),
    ({"names": [1, 2]}, V, "names must be 2 different.*strings"),
    ({"names": [["a"], ["b"]]}, V, "names must be 2 different"),
    ({"names": ["a", ""]}, V, "names must be 2 different non-empty"),
    ({"names": "ab"}, T, "names must be a list of 2 strings, got 'ab'"),
    ({"names": 2}, T, "names must be a list of 2 strings, got 2"),
]


@for_each("changes, kind, pattern", FLEXIBLE)
def test_bad_flexible_bodies_are_refused(changes, kind, pattern):
    with refused(kind, pattern):
        flexible(**changes)


def test_flexible_body_is_not_made_directly():
    with refused(
        T,
        r"FlexibleBody cannot be constructed directly.*: use FlexibleBody.from_nodes\(\.\.\.\) or beam",
    ):
        lb.FlexibleBody(NODES["mass"], NODES["position"], EYE, EYE)


TORSION = {"EA": None, "polar_inertia": None, "modes": {"torsion": 1}}
BEAMS = [
    ({"length": 0.0}, V, "length must be greater than 0, got 0"),
    ({"mass": -1.0}, V, "mass must be greater than 0, got -1"),
    ({"EI": (1, -1)}, V, "EI must be greater than 0, got -1"),
    ({"EI": (1, 2, 3)}, V, r"EI must have shape \(2,\).*\(EIy, EIz\)"),
    ({"EI": None}, V, "EI is missing, but modes requests 1 of bending"),
    ({"GJ": None}, V, "GJ is missing, but modes requests 1 of torsion"),
    ({"EA": None}, V, "EA is missing, but modes requests 1 of stretch"),
    ({"GJ": -1.0}, V, "GJ must be greater than 0"),
    (TORSION, T, "polar_inertia is missing: torsion modes need .*Give polar_inertia, or EI and EA"),
    ({"polar_inertia": 0.0}, V, "polar_inertia must be greater"),
    ({"damping": -0.1}, V, "damping ratios must not be negative"),
    ({"damping": [0.1, 0.2]}, V, r"damping must have shape \(4,\).*mode"),
    ({"load": (-1.0, 0.0)}, V, r"load must not be negative.*\(-1.0"),
    ({"load": (1.0, (0.1, -0.2, 0.2))}, V, r"load must not be negative"),
    ({"load": (1.0, np.ones((3, 3)))}, V, r"load\[1\] has products of inertia"),
    ({"load": 1.0}, V, r"load must have shape \(2,\).*mass, inertia"),
    ({"elements": 0}, V, "elements must be a whole number, at least 1"),
    ({"elements": 1.5}, V, "elements must be a whole number.*1.5"),
    ({"elements": True}, V, "elements must be a whole number.*True"),
    ({"elements": "2"}, V, "elements must be a whole number.*'2'"),
    ({"modes": 0}, V, "modes requests no modes; use a RigidBody"),
    ({"modes": {}}, V, "modes requests no modes"),
    ({"modes": -1}, V, r"modes\['bending'\] must be .*got -1"),
    ({"modes": {"torsion": 0.5}}, V, r"modes\['torsion'\].*got 0.5"),
    ({"modes": True}, T, "modes must be a number of modes.*got True"),
    ({"modes": 2.0}, T, "modes must be a number of modes.*got 2.0"),
    ({"modes": {"twist": 1}}, V, "modes has the unknown key 'twist'.*tor"),
    ({"geometric_stiffening": 1}, T, "geometric_stiffening must be True or False, got 1"),
    ({"EI": 1e40}, V, r"EI = 1e\+40 is out of range.*units"),
    ({"length": 1e-200}, V, "length = 1e-200 is out of range.*units"),
    ({"load": (1e300, 0)}, V, r"load = 1e\+300 is out of range"),
]


@for_each("changes, kind, pattern", BEAMS)
def test_bad_beams_are_refused(changes, kind, pattern):
    with refused(kind, pattern):
        make_beam(**changes)
