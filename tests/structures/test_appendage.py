"""Appendages: frequencies and participation factors of a supplier become a body with these numbers."""

import numpy as np
import pytest
import scipy.linalg as la

import limber as lb
from limber.structures import appendage

# an array along +y that bends out of its plane (twice), in its plane, and twists
MASS, COM, INERTIA = 60.0, (0.0, 7.0, 0.0), (800.0, 40.0, 830.0)
HERTZ = [0.12, 0.31, 0.55, 0.78]
TRANSLATION = np.zeros((3, 4))
ROTATION = np.zeros((3, 4))
TRANSLATION[2, [0, 3]], ROTATION[0, [0, 3]] = (6.2, 3.0), (60.0, 9.0)
TRANSLATION[0, 1], ROTATION[2, 1] = -6.0, 58.0
ROTATION[1, 2] = 5.0


def array_of(**changes):
    given = {
        "mass": MASS,
        "com": COM,
        "inertia": INERTIA,
        "frequencies": HERTZ,
        "translation": TRANSLATION,
        "rotation": ROTATION,
    }
    return appendage(**(given | changes))


def test_frequencies_with_the_root_held_and_damping_are_those_given():
    ratios = [0.005, 0.01, 0.002, 0.02]
    s = lb.Assembly("array").attach("array", array_of(damping=ratios), lb.Fixed()).build()
    found = lb.modes(s)
    np.testing.assert_allclose(found.frequencies, HERTZ, rtol=1e-12)
    np.testing.assert_allclose(found.damping, ratios, rtol=1e-9)
    assert array_of().nodes.names == ("root",) and array_of().mass == MASS


def test_the_report_says_that_the_body_was_made_from_participation_factors():
    assert "made from nodes or from participation factors" in str(array_of().report())


def test_free_frequencies_equal_those_of_the_hybrid_mass_matrix():
    """Lever arms, signs and the inertia of the hub: compared with matrices made by hand, translations first."""
    at = np.array([0.2, 1.2, -0.3])

    def cross(r):
        x, y, z = r
        return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])

    C = cross(COM)
    own = np.block([[MASS * np.eye(3), -MASS * C], [MASS * C, np.diag(INERTIA) - MASS * C @ C]])
    X = np.block([[np.eye(3), -cross(at)], [np.zeros((3, 3)), np.eye(3)]])
    M = np.eye(10)
    M[:6, :6] = la.block_diag(1800.0 * np.eye(3), np.diag([1500.0, 1200.0, 1400.0])) + X.T @ own @ X
    M[:6, 6:] = X.T @ np.vstack([TRANSLATION, ROTATION])
    M[6:, :6] = M[:6, 6:].T
    K = np.diag([0.0] * 6 + [(2.0 * np.pi * f) ** 2 for f in HERTZ])
    want = np.sqrt(la.eigh(K, M, eigvals_only=True)[6:])
    a = lb.Assembly("craft")
    a.attach("hub", lb.RigidBody(1800.0, inertia=(1500.0, 1200.0, 1400.0)), lb.Free())
    a.attach("array", array_of(), lb.Fixed(), to="hub", offset=at)
    np.testing.assert_allclose(lb.modes(a.build()).omega[6:], want, rtol=1e-9)


def test_files_keep_the_body(tmp_path):
    a = lb.Assembly("array").attach("array", array_of(damping=0.01), lb.Revolute("y"))
    lb.save(a, tmp_path / "array.yaml")
    again = lb.load(tmp_path / "array.yaml").attachments["array"].body
    np.testing.assert_array_equal(again.integrals.F0, array_of().integrals.F0)


def test_modes_that_carry_more_than_the_body_has_are_rejected():
    with pytest.raises(
        lb.LimberError, match=r"effective mass of 237\.186 for z, but the body has 60"
    ):
        array_of(translation=2.236 * TRANSLATION)
    with pytest.raises(lb.LimberError, match="Check the signs"):
        array_of(rotation=-ROTATION)
    with pytest.raises(lb.LimberError, match=r"translation must .*\(3, 4\)"):
        array_of(translation=TRANSLATION.T)
    with pytest.raises(lb.LimberError, match="frequencies must be"):
        array_of(frequencies=[0.12, 0.31, -0.55, 0.78])
