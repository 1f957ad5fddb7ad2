"""Bad input: joints."""

import re

import numpy as np
import pytest

import limber as lb
from helpers.loops import for_each
from helpers.refusals import BALL, T, V, X, Y, refused, spoilt

# --- joints ---------------------------------------------------------------------------------------

JOINT_ARGUMENTS = {
    "Revolute": ("axis", X, lb.Revolute),
    "Prismatic": ("axis", X, lb.Prismatic),
    "Screw axis": ("axis", X, lambda x: lb.Screw(x, 0.1)),
    "Screw pitch": ("pitch", 0.1, lambda x: lb.Screw(X, x)),
    "Cylindrical": ("axis", X, lb.Cylindrical),
    "Universal axis1": ("axis1", X, lambda x: lb.Universal(x, Y)),
    "Universal axis2": ("axis2", X, lambda x: lb.Universal(Y, x)),
    "Planar": ("normal", X, lb.Planar),
    "SimpleJoint": ("H", np.eye(6)[:, :3], lb.SimpleJoint),
    "configuration": ("theta", [0.0, 1.0, 0.0, 0.0, 0.0], BALL.configuration),
    "H": ("theta", [0.0, 1.0, 0.0, 0.0, 0.0], BALL.H),
    "Gamma": ("theta", [0.0, 1.0, 0.0, 0.0, 0.0], BALL.Gamma),
}


@spoilt(JOINT_ARGUMENTS)
def test_numbers_of_joints(name, g, call, spoil, kind, pattern):
    call(g)
    with refused(kind, f"{name}.*{pattern}"):
        call(spoil(g))


JOINTS = [
    *(
        (lambda kind=kind: kind([0, 0, 0]), V, "(axis|normal) is the zero vector: give a direction")
        for kind in (lb.Revolute, lb.Prismatic, lb.Cylindrical, lb.Planar)
    ),
    (lambda: lb.Screw([0, 0, 0], 1.0), V, "axis is the zero vector"),
    (lambda: lb.Universal([0, 0, 0], X), V, "axis1 is the zero vector"),
    (lambda: lb.Universal(X, [0, 0, 0]), V, "axis2 is the zero vector"),
    (lambda: lb.Universal(X, -2 * X), V, "axis1 and axis2 are parallel.*use Revolute"),
    (lambda: lb.Revolute([1, 2]), V, r"axis must have shape \(3,\), got \(2,\).*three numbers"),
    (lambda: lb.SimpleJoint(np.eye(6)[:, :2]), V, "H is not integrable.*Use CompoundJoint"),
    (lambda: lb.SimpleJoint(np.ones((6, 2))), V, "H must have .*2 of rank 1: remove"),
    (lambda: lb.SimpleJoint(np.zeros((6, 1))), V, "H must have 1 to 6 independent .*1 of rank 0"),
    (lambda: lb.SimpleJoint(np.ones((6, 7))), V, "H must have 1 to 6 .*got 7"),
    (lambda: lb.SimpleJoint(np.zeros((6, 0))), V, "H has no columns: .*use Fixed"),
    (lambda: lb.SimpleJoint(np.ones(6)), V, r"H must have shape \(6, r\), got \(6,\)"),
    (lambda: lb.SimpleJoint(np.eye(6)[:2]), V, r"H must .*\(2, 6\). H has one column"),
    (lambda: lb.CompoundJoint([BALL, BALL]), V, "joints have 8 speeds together, but .*at most 6"),
    (lambda: lb.CompoundJoint(lb.Free()), T, r"joints must be a list of joints, got Free\(\)"),
    (lambda: lb.CompoundJoint([lb.Revolute]), T, r"joints\[0\] must be a joint such as"),
    (lambda: lb.CompoundJoint([lb.Free(), "z"]), T, r"joints\[1\] must be a joint.*got 'z'"),
]


@for_each("call, kind, pattern", JOINTS)
def test_bad_joints_are_refused(call, kind, pattern):
    with refused(kind, pattern):
        call()


@pytest.mark.parametrize("factor", [0.0, 1.01, 1 - 2e-6, 1e200])
@pytest.mark.parametrize("function", ["configuration", "H", "Gamma"])
@pytest.mark.parametrize("joint, at", [(lb.Spherical(), 0), (lb.Free(), 0), (BALL, 1)], ids=repr)
def test_quaternions_of_joints(joint, at, function, factor):
    theta = joint.neutral()
    theta[at] = factor
    where = rf"theta\[{at}:{at + 4}\], a quaternion of {re.escape(repr(joint))}, has norm"
    with refused(V, f"{where}.*it must be 1 to within 1e-06. Normalize it"):
        getattr(joint, function)(theta)
