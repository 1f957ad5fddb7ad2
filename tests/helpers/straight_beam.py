"""The matrices of a straight beam of finite elements in any direction, free at both ends."""

import numpy as np


def straight_beam(
    elements=4,
    start=(0.2, -0.1, 0.3),
    end=(1.4, 0.7, 0.9),
    EI=(60.0, 90.0),
    GJ=40.0,
    EA=4e4,
    mu=2.0,
    polar=0.02,
):
    """position (n, 3), M and K (6 n, 6 n) of Euler-Bernoulli elements: mass mu and polar inertia `polar` a length."""
    start, end = np.array(start), np.array(end)
    n, L = elements + 1, np.linalg.norm(end - start) / elements
    position = start + np.linspace(0, 1, n)[:, None] * (end - start)
    x = (end - start) / (L * elements)
    y = np.cross([0, 0, 1.0], x)
    R = np.array([x, y / np.linalg.norm(y), np.cross(x, y / np.linalg.norm(y))])
    K, M = np.zeros((12, 12)), np.zeros((12, 12))
    for rows, k, m in (([0, 6], EA / L, mu * L / 6), ([3, 9], GJ / L, polar * L / 6)):
        K[np.ix_(rows, rows)] = k * np.array([[1, -1], [-1, 1]])
        M[np.ix_(rows, rows)] = m * np.array([[2, 1], [1, 2]])
    bend = np.array(
        [
            [12, 6 * L, -12, 6 * L],
            [0, 4 * L**2, -6 * L, 2 * L**2],
            [0, 0, 12, -6 * L],
            [0, 0, 0, 4 * L**2],
        ]
    )
    mass = np.array(
        [
            [156, 22 * L, 54, -13 * L],
            [0, 4 * L**2, 13 * L, -3 * L**2],
            [0, 0, 156, -22 * L],
            [0, 0, 0, 4 * L**2],
        ]
    )
    bend, mass = (A + np.triu(A, 1).T for A in (bend, mass))
    for rows, sign, e in (([1, 5, 7, 11], 1, EI[1]), ([2, 4, 8, 10], -1, EI[0])):
        s = np.diag([1, sign, 1, sign])
        K[np.ix_(rows, rows)] = e / L**3 * s @ bend @ s
        M[np.ix_(rows, rows)] = mu * L / 420 * s @ mass @ s
    T = np.kron(np.eye(4), R)
    K, M = T.T @ K @ T, T.T @ M @ T
    whole = np.zeros((2, 6 * n, 6 * n))
    for j in range(elements):
        at = slice(6 * j, 6 * j + 12)
        whole[:, at, at] += np.array([M, K])
    return position, whole[0], whole[1]
