"""Small finite-element structures, assembled by the textbook, for the tests of reduction."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

import limber as lb

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


def named_beam(elements, **changes):
    """The straight beam as a structure with nodes "root", "1", "2", ..., "tip"."""
    position, M, K, geometric = straight_beam(elements, **changes)
    names = ["root", *map(str, range(1, elements)), "tip"]
    return lb.Structure(position, M, K, names=names, geometric=geometric)


def brick(cells, size, E=70e9, nu=0.3, rho=2700.0):
    """Positions, M and K of a solid box of 8-node bricks with three freedoms a node, with full integration.

    cells : numbers of bricks along x, y, z; size : lengths along x, y, z.
    """
    nx, ny, nz = cells
    h = np.array(size) / cells
    corners = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    k, m = np.zeros((24, 24)), np.zeros((24, 24))
    lame, shear = E * nu / ((1 + nu) * (1 - 2 * nu)), E / (2 * (1 + nu))
    elastic = np.diag([2 * shear] * 3 + [shear] * 3)
    elastic[:3, :3] += lame
    for point in corners:
        s = 0.5 + (point - 0.5) / np.sqrt(3.0)
        ends = np.where(corners, s, 1.0 - s)  # (8, 3): the factors of each shape function
        N = ends.prod(axis=1)
        slope = np.where(corners, 1.0, -1.0) / h
        dN = np.array([slope[:, i] * np.delete(ends, i, axis=1).prod(axis=1) for i in range(3)])
        B = np.zeros((6, 24))
        for i in range(3):
            B[i, i::3] = dN[i]
        for row, (i, j) in enumerate([(0, 1), (1, 2), (2, 0)], start=3):
            B[row, i::3], B[row, j::3] = dN[j], dN[i]
        weight = h.prod() / 8.0
        k += weight * B.T @ elastic @ B
        m += weight * rho * np.kron(np.outer(N, N), np.eye(3))
    number = np.arange((nx + 1) * (ny + 1) * (nz + 1)).reshape(nx + 1, ny + 1, nz + 1)
    nodes = np.stack(
        [number[i : nx + i, j : ny + j, l : nz + l].ravel() for i, j, l in corners], axis=1
    )
    freedoms = (3 * nodes[:, :, None] + np.arange(3)).reshape(len(nodes), 24)
    rows, columns = np.repeat(freedoms, 24, axis=1).ravel(), np.tile(freedoms, (1, 24)).ravel()
    M, K = (
        sp.coo_array(
            (np.tile(x.ravel(), len(nodes)), (rows, columns)), shape=(3 * number.size,) * 2
        )
        for x in (m, k)
    )
    axes = [np.linspace(0.0, s, c + 1) for s, c in zip(size, cells)]
    position = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return position, M.tocsr(), K.tocsr()


def box_surface(cells):
    """The triangles of the surface of `brick`."""
    number = np.arange(np.prod(np.array(cells) + 1)).reshape(np.array(cells) + 1)
    triangles = []
    for axis in range(3):
        for end in (0, -1):
            face = number.take(end, axis=axis)
            a, b, c, d = face[:-1, :-1], face[1:, :-1], face[1:, 1:], face[:-1, 1:]
            triangles += [np.stack([x.ravel() for x in t], 1) for t in ((a, b, c), (a, c, d))]
    return np.concatenate(triangles)
