"""Small finite-element structures, assembled by the textbook, for the tests of reduction."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

# one Euler-Bernoulli element along x, freedoms x, y, z, rx, ry, rz of both ends
_LATERAL = [1, 5, 7, 11]  # bending in x-y: v1, theta_z1, v2, theta_z2
_VERTICAL = [2, 4, 8, 10]  # bending in x-z: w1, theta_y1, w2, theta_y2


def element(length, EIy, EIz, EA, GJ, rho_A, rho_J):
    """Stiffness and consistent mass (12, 12) of a uniform element along x."""
    L = length
    K, M = np.zeros((12, 12)), np.zeros((12, 12))
    bar = np.array([[1.0, -1.0], [-1.0, 1.0]]) / L
    bar_mass = np.array([[2.0, 1.0], [1.0, 2.0]]) * L / 6.0
    for freedoms, stiffness, mass in (([0, 6], EA, rho_A), ([3, 9], GJ, rho_J)):
        K[np.ix_(freedoms, freedoms)] += stiffness * bar
        M[np.ix_(freedoms, freedoms)] += mass * bar_mass
    for freedoms, EI, sign in ((_LATERAL, EIz, 1.0), (_VERTICAL, EIy, -1.0)):
        flip = np.diag([1.0, sign, 1.0, sign])
        k = np.array(
            [
                [12.0, 6.0 * L, -12.0, 6.0 * L],
                [6.0 * L, 4.0 * L**2, -6.0 * L, 2.0 * L**2],
                [-12.0, -6.0 * L, 12.0, -6.0 * L],
                [6.0 * L, 2.0 * L**2, -6.0 * L, 4.0 * L**2],
            ]
        )
        m = np.array(
            [
                [156.0, 22.0 * L, 54.0, -13.0 * L],
                [22.0 * L, 4.0 * L**2, 13.0 * L, -3.0 * L**2],
                [54.0, 13.0 * L, 156.0, -22.0 * L],
                [-13.0 * L, -3.0 * L**2, -22.0 * L, 4.0 * L**2],
            ]
        )
        K[np.ix_(freedoms, freedoms)] += EI / L**3 * flip @ k @ flip
        M[np.ix_(freedoms, freedoms)] += rho_A * L / 420.0 * flip @ m @ flip
    return K, M


def geometric_element(length):
    """Geometric stiffness (12, 12) of an element along x under a unit tension."""
    L = length
    K = np.zeros((12, 12))
    k = np.array(
        [
            [36.0, 3.0 * L, -36.0, 3.0 * L],
            [3.0 * L, 4.0 * L**2, -3.0 * L, -(L**2)],
            [-36.0, -3.0 * L, 36.0, -3.0 * L],
            [3.0 * L, -(L**2), -3.0 * L, 4.0 * L**2],
        ]
    ) / (30.0 * L)
    for freedoms, sign in ((_LATERAL, 1.0), (_VERTICAL, -1.0)):
        flip = np.diag([1.0, sign, 1.0, sign])
        K[np.ix_(freedoms, freedoms)] += flip @ k @ flip
    return K


#: One beam: 2 m, 3 kg, different in all directions.
BEAM = {
    "length": 2.0,
    "mass": 3.0,
    "EIy": 400.0,
    "EIz": 250.0,
    "EA": 2e6,
    "GJ": 150.0,
    "polar": 0.02,
}


def straight_beam(elements, *, axes=None, start=(0.0, 0.0, 0.0), **changes):
    """Positions, M, K and the geometric stiffness of a uniform straight beam.

    axes : 3 x 3, its columns the beam's x, y, z axes in those of the structure.
    """
    given = BEAM | changes
    h = given["length"] / elements
    k, m = element(
        h,
        given["EIy"],
        given["EIz"],
        given["EA"],
        given["GJ"],
        given["mass"] / given["length"],
        given["polar"] / given["length"],
    )
    R = np.eye(3) if axes is None else np.asarray(axes)
    turn = np.kron(np.eye(4), R)
    size = 6 * (elements + 1)
    K, M = np.zeros((size, size)), np.zeros((size, size))
    for e in range(elements):
        part = slice(6 * e, 6 * e + 12)
        K[part, part] += turn @ k @ turn.T
        M[part, part] += turn @ m @ turn.T

    def geometric(u):
        along = u.reshape(-1, 6)[:, :3] @ R[:, 0]
        result = np.zeros((size, size))
        for e, tension in enumerate(given["EA"] / h * np.diff(along)):
            part = slice(6 * e, 6 * e + 12)
            result[part, part] += tension * turn @ geometric_element(h) @ turn.T
        return sp.csr_array(result)

    x = np.linspace(0.0, given["length"], elements + 1)
    position = np.asarray(start) + np.outer(x, R[:, 0])
    return position, sp.csr_array(M), sp.csr_array(K), geometric
