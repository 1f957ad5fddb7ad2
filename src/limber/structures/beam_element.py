r"""Beam elements in space, many at once.

An element transfers the loads on its end 2 to its end 1 by statics alone, so its section forces are exact however its
section varies.  With the section forces T(x) due to unit forces and moments at end 2 and the compliance S(x) of
the section, the flexibility of the element is

    F = int T^T S T dx,        K = D^T F^-1 D,        D = [-phi^T, 1]

where D subtracts the rigid-body motion of end 1 from the displacements of end 2.  The strains S T F^-1 D u are
integrated from end 1 to displacements, which are the exact static ones; consistent mass and geometric stiffness are
integrals over them.  Shear deformation is in S, so nothing locks, and slender elements are those without it.  The
integrals are taken at the points of a Gauss collocation method, with whose coefficients both ends agree to rounding.

The geometric stiffness is the work of the section forces n = (N, Vy, Vz) and m = (Mx, My, Mz) in the second-order
strains of a beam that rotates by the rotation vectors theta (Reissner, Simo),

    int n . (theta x (theta x e1) / 2 - theta x u') - m . (theta x theta') / 2 dx

in which the part of N is taken as N (v'^2 + w'^2) / 2 (Engesser); both agree if there is no shear deformation.  With
the rotation vectors of the nodes as degrees of freedom, the elements at a node fit together at any angle.

The degrees of freedom of an element are displacement and rotation of end 1, then of end 2, in the axes of the element:
x along it.  Section forces are N, Vy, Vz, Mx, My, Mz; strains eps, gamma_y = v' - theta_z, gamma_z = w' + theta_y, and
the derivatives of the three rotations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from limber.bodies.quadrature import gauss_legendre
from limber.bodies.section import Section
from limber.checks import Array


def compliance(section: Section) -> Array:
    """S (6, 6): the strains due to unit section forces."""
    S = np.zeros((6, 6))
    S[0, 0] = 1.0 / section.EA
    if section.kGA is not None:
        S[1, 1], S[2, 2] = 1.0 / section.kGA[0], 1.0 / section.kGA[1]
    (EIy, EIz), EIyz = section.EI, section.EIyz
    S[4:, 4:] = np.array([[EIz, EIyz], [EIyz, EIy]]) / (EIy * EIz - EIyz**2)
    y, z = section.shear_centre
    about_shear_centre = np.array([z, -y, 1.0])  # the torque of Vy, Vz, Mx about it
    S[1:4, 1:4] += np.outer(about_shear_centre, about_shear_centre) / section.GJ
    return S


def inertia(section: Section) -> Array:
    """(6,): mass and moments of inertia per length, the diagonal of the section's mass matrix."""
    return np.array([*3 * [section.rhoA], section.rhoIx, *section.rhoI])


@cache
def collocation(points: int) -> tuple[Array, Array, Array]:
    """Gauss points c on [0, 1], their weights b, and A with the integrals from 0 to c_i of the polynomials through them."""
    xi, weight = gauss_legendre(points)
    c, b = 0.5 * (1.0 + xi), 0.5 * weight
    powers = c[:, None] ** np.arange(points)
    integrals = c[:, None] ** np.arange(1, points + 1) / np.arange(1, points + 1)
    return c, b, integrals @ np.linalg.inv(powers)


@dataclass(frozen=True, eq=False)
class ElementMatrices:
    """Matrices of n elements in their own axes."""

    mass: Array  # (n, 12, 12)
    stiffness: Array  # (n, 12, 12)
    geometric: Array  # (n, 6, 12, 12) per unit of each of the section forces at end 2
    end_forces: Array  # (n, 6, 12): the section forces at end 2


def section_forces(length: Array, remaining: Array) -> Array:
    """T: section forces at a distance `remaining` from end 2 due to unit forces and moments there."""
    T = np.zeros((*np.broadcast_shapes(length.shape, remaining.shape), 6, 6))
    T[...] = np.eye(6)
    T[..., 4, 2] = -remaining
    T[..., 5, 1] = remaining
    return T


def element_matrices(length: Array, S: Array, mu: Array) -> ElementMatrices:
    """Matrices of n elements: length (n,), compliance S (n, p, 6, 6) and inertia mu (n, p, 6) at p Gauss points."""
    n, p = S.shape[:2]
    c, b, A = collocation(p)
    x = length[:, None] * c
    weight = length[:, None] * b
    T = section_forces(length[:, None], length[:, None] - x)
    ST = S @ T
    weighted = (weight[..., None, None] * ST).reshape(n, 6 * p, 6)
    F = np.swapaxes(T.reshape(n, 6 * p, 6), 1, 2) @ weighted
    D = np.zeros((n, 6, 12))
    D[:, :, :6] = -_moved(length)
    D[:, :, 6:] = np.eye(6)
    end_forces: Array = np.linalg.solve(F, D)  # type: ignore[assignment]
    stiffness = np.swapaxes(D, 1, 2) @ end_forces
    strains = ST @ end_forces[:, None]  # (n, p, 6, 12)

    def integral(values: Array) -> Array:
        """From end 1 to the Gauss points."""
        flat = A @ values.reshape(n, p, -1)
        return length[:, None, None, None] * flat.reshape(values.shape)

    motion = np.zeros((n, p, 6, 12))
    motion[:, :, 3:] = integral(strains[:, :, 3:])
    motion[:, :, 3:, 3:6] += np.eye(3)
    slopes = strains[:, :, :3].copy()  # u', v', w'
    slopes[:, :, 1] += motion[:, :, 5]
    slopes[:, :, 2] -= motion[:, :, 4]
    motion[:, :, :3] = integral(slopes)
    motion[:, :, :3, :3] += np.eye(3)

    root = np.sqrt(weight[..., None] * mu)[..., None] * motion
    geometric = _geometric(weight, length[:, None] - x, slopes, motion[:, :, 3:], strains[:, :, 3:])
    return ElementMatrices(_gram(root), 0.5 * (stiffness + np.swapaxes(stiffness, 1, 2)), geometric, end_forces)  # fmt: skip


def _geometric(weight: Array, remaining: Array, slopes: Array, turns: Array, bends: Array) -> Array:
    """(n, 6, 12, 12) from u', theta and theta' (n, p, 3, 12) at Gauss points with these weights and distances from end 2."""

    def product(a: Array, b: Array, by: Array = weight) -> Array:
        """The matrix of the quadratic form int a b dx, twice its symmetric part."""
        half = np.swapaxes(by[..., None] * a, 1, 2) @ b
        return half + np.swapaxes(half, 1, 2)

    (du, dv, dw), (tx, ty, tz), (bx, by, bz) = (
        np.moveaxis(rows, 2, 0) for rows in (slopes, turns, bends)
    )
    arm = weight * remaining
    # int (theta x theta')_y / 2 and _z, of moments that are constant and of those that grow with the distance from end 2
    about_y, about_z = (
        [0.5 * (product(a, db, w) - product(b, da, w)) for w in (weight, arm)]
        for a, da, b, db in ((tz, bz, tx, bx), (tx, bx, ty, by))
    )
    return np.stack(
        [
            0.5 * (product(dv, dv) + product(dw, dw)),
            product(tx, dw) - product(tz, du) + 0.5 * product(tx, ty) - about_z[1],
            product(ty, du) - product(tx, dv) + 0.5 * product(tx, tz) + about_y[1],
            0.5 * (product(tz, by) - product(ty, bz)),
            -about_y[0],
            -about_z[0],
        ],
        axis=1,
    )


def _gram(rows: Array) -> Array:
    """sum over points and rows of row^T row."""
    flat = rows.reshape(len(rows), -1, 12)
    return np.swapaxes(flat, 1, 2) @ flat


def _moved(length: Array) -> Array:
    """(n, 6, 6): the motion of end 2 when the element moves rigidly with end 1."""
    moved = np.zeros((length.size, 6, 6))
    moved[:] = np.eye(6)
    moved[:, 1, 5] = length
    moved[:, 2, 4] = -length
    return moved


def released(matrices: ElementMatrices, pins: tuple[bool, bool]) -> ElementMatrices:
    """The same elements with ball joints at their ends 1 and 2 as given by `pins`.

    The rotations of such an end follow from those that remain, by statics.  An element with two ball joints does not
    rotate about its own axis.
    """
    if not any(pins):
        return matrices
    freed = [3, 4, 5] * pins[0] + [9, 10, 11] * pins[1]
    if all(pins):
        freed.remove(3)
    kept = [i for i in range(12) if i not in freed]
    K = matrices.stiffness
    C = np.zeros((len(K), 12, 12))
    C[:, kept, kept] = 1.0
    rows = np.ix_(range(len(K)), freed, kept)
    C[rows] = -np.linalg.solve(K[np.ix_(range(len(K)), freed, freed)], K[rows])
    if all(pins):
        C[:, :, 3] = 0.0

    def turned(matrix: Array) -> Array:
        return np.swapaxes(C, 1, 2) @ matrix @ C

    geometric = np.swapaxes(C, 1, 2)[:, None] @ matrices.geometric @ C[:, None]
    stiffness = turned(K)
    for end, pinned in enumerate(pins):
        if pinned:  # rounding would be stiffness
            rotations = slice(6 * end + 3, 6 * end + 6)
            stiffness[:, rotations] = stiffness[:, :, rotations] = 0.0
    return ElementMatrices(turned(matrices.mass), stiffness, geometric, matrices.end_forces @ C)
