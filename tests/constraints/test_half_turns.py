"""A cut joint whose frames are half a turn apart is not closed, and the loop is found the right way round."""

import numpy as np
import pytest

import limber as lb

NEAR = (0.0, 1e-12, 1e-8, 1e-4, 0.1)


def held(joint):
    """A free body whose frame a cut joint holds to that of the world."""
    a = lb.Assembly("held")
    a.attach("body", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Free())
    return a.close(("world", (0, 0, 0)), ("body", None), joint, name="grip").build()


JOINTS = {
    "revolute": lb.Revolute("z"),
    "prismatic": lb.Prismatic("z"),
    "cylindrical": lb.Cylindrical("z"),
    "screw": lb.Screw("z", 0.3),
    "planar": lb.Planar("z"),
    "fixed": lb.Fixed(),
    "compound": lb.CompoundJoint([lb.Revolute("z"), lb.Prismatic("x")]),
}


@pytest.mark.parametrize("name", JOINTS)
@pytest.mark.parametrize("off", NEAR)
def test_half_a_turn_is_a_violation_and_assembly_turns_back(name, off):
    """The body is turned about x by half a turn, or nearly so."""
    s = held(JOINTS[name])
    q = s.neutral()
    angle = np.pi - off
    q[:4] = np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0
    if off == 0.0:
        q[0] = 0.0
    assert np.abs(lb.constraint_residual(s, q)).max() > 0.5
    met = lb.assemble(s, q)
    assert np.abs(lb.constraint_residual(s, met)).max() < 1e-9
    R, _ = lb.pose(s, met, "body")
    assert R[2, 2] > 0.999


def test_half_a_pitch_of_a_screw_is_a_violation():
    s = held(lb.Screw("z", 0.3))
    q = s.neutral()
    q[6] = 0.3 * np.pi
    assert np.isclose(
        np.abs(lb.constraint_residual(s, q)).max(), 2.0 * 0.3 / np.hypot(1.0, 0.3), rtol=0.2
    )
    q[6] = 0.3 * 2.0 * np.pi
    assert np.abs(lb.constraint_residual(s, q)).max() < 1e-14


def test_a_universal_joint_may_turn_by_half():
    """Its axes are crossed the right way there: it is a position that the joint allows."""
    s = held(lb.Universal("x", "y"))
    q = s.neutral()
    q[:4] = 0.0, 1.0, 0.0, 0.0
    assert np.abs(lb.constraint_residual(s, q)).max() < 1e-14


@pytest.mark.parametrize("name", JOINTS)
def test_small_errors_are_angles(name):
    s = held(JOINTS[name])
    q = s.neutral()
    for angle in (1e-9, 1e-5, 1e-2):
        q[:4] = np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0
        size = np.linalg.norm(lb.constraint_residual(s, q))
        assert np.isclose(size, angle, rtol=angle**2 + 1e-6)
