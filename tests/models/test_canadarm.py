"""The three-link arm of the Canadarm paper (Mohan & Saha), Table 2."""

import numpy as np
import pytest

import limber as lb

TOLERANCE = 1e-12

#: Table 2: length (m), mass (kg); E I = 1e5 N m^2 for every link.
TABLE_2 = ((6.0, 140.0), (7.0, 85.0), (2.0, 95.0))


def close(actual, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def rods(theta):
    """Mass matrix of three hinged rods in the plane, in relative angles, from the speeds of the rods."""
    M, angles = np.zeros((3, 3)), np.cumsum(theta)
    normals = np.array([-np.sin(angles), np.cos(angles)]).T
    joint = np.zeros((2, 3))  # Jacobian of the inboard hinge
    for i, (length, mass) in enumerate(TABLE_2):
        spin = (np.arange(3) <= i).astype(float)
        middle = joint + 0.5 * length * np.outer(normals[i], spin)
        M += mass * middle.T @ middle + mass * length**2 / 12.0 * np.outer(spin, spin)
        joint = joint + length * np.outer(normals[i], spin)
    return M


@pytest.mark.parametrize(("modes", "size"), [(0, 3), (1, 9), (2, 15), (3, 21)])
def test_sizes(modes, size):
    """Two bending planes and one hinge per link; the paper's two modes give 15."""
    s = lb.models.canadarm(modes).build()
    assert list(s.bodies) == ["link1", "link2", "link3"]
    assert s.nq == s.nv == size
    assert not np.any(s.gravity)


def test_default_is_the_papers_two_modes_without_damping():
    s = lb.models.canadarm().build()
    assert s.nv == 15
    assert not any(s.bodies[name].damping.any() for name in s.bodies)


def test_links_have_the_data_of_table_2():
    s = lb.models.canadarm().build()
    for name, (length, mass) in zip(s.bodies, TABLE_2):
        link = s.bodies[name]
        close(link.mass, mass)
        close(link.nodes.position[-1], [length, 0.0, 0.0])
        first = 1.8751040687119611**4 * 1e5 / (mass * length**3)
        close(np.diag(link.stiffness)[:2], first)


def test_arm_reaches_fifteen_metres_and_turns_about_z():
    s = lb.models.canadarm().build()
    q = s.neutral()
    close(lb.pose(s, q, "link3", "tip")[1], [15.0, 0.0, 0.0])
    q[[4, 9, 14]] = np.pi / 2
    close(lb.pose(s, q, "link3", "tip")[1], [-7.0, 6.0 - 2.0, 0.0])


@pytest.mark.parametrize("theta", [(0.0, 0.0, 0.0), (0.3, -0.8, 1.1)])
def test_rigid_arm_is_three_hinged_rods(theta):
    s = lb.models.canadarm(modes=0).build()
    M = lb.mass_matrix(s, theta)
    close(M / M.max(), rods(theta) / M.max())


def test_straight_rigid_arm_has_the_inertia_of_its_rods_about_the_shoulder():
    """sum m (d + L/2)^2 + m L^2/12 with d = 0, 6, 13: 1680 + 8018 1/3 + 18651 2/3 = 28350 kg m^2."""
    M = lb.mass_matrix(lb.models.canadarm(modes=0).build(), np.zeros(3))
    close(M[0, 0], 28350.0)
    close(M[2, 2], 95.0 * 4.0 / 3.0)


def test_undeformed_flexible_arm_has_the_hinge_inertia_of_the_rigid_one():
    theta = np.array([0.3, -0.8, 1.1])
    flexible, rigid = lb.models.canadarm().build(), lb.models.canadarm(modes=0).build()
    q, hinges = flexible.neutral(), [4, 9, 14]
    q[hinges] = theta
    M = lb.mass_matrix(flexible, q)[np.ix_(hinges, hinges)]
    close(M / M.max(), lb.mass_matrix(rigid, theta) / M.max())


def test_free_hinges_are_three_rigid_modes():
    s = lb.models.canadarm().build()
    omega = lb.modes(s, s.neutral()).omega
    assert not omega[:3].any() and (omega[3:] > 0.1).all()


def test_damping_is_that_of_every_mode():
    s = lb.models.canadarm(damping=0.05).build()
    for link in s.bodies.values():
        close(np.diag(link.damping), 0.1 * np.sqrt(np.diag(link.stiffness)))


def test_torsion_has_no_data_in_the_paper():
    with pytest.raises(ValueError, match="GJ is missing"):
        lb.models.canadarm({"bending": 1, "torsion": 1})
