r"""Geometric stiffening of a structure, in functionals of unit loads.

A static load f stresses the structure, u = G f, and K_g(u) is the stiffness of that stress against the modes.  A
second-order displacement 1/2 eta^T B eta of the points where f acts does the same work:

    f . B_rs = -kappa_rs(f),     kappa(f) = Phi^T K_g(G f) Phi

It follows which load belongs to each functional of B:

    sum m B              three accelerations              -> S2
    sum m l0 x B         three angular accelerations      -> F1, its symmetric part
    sum m (l0 B + B l0)  six products of spin             -> J2
    B of a node          three unit forces there          -> second-order shapes of the node

Moments at nodes are neglected: they do not stiffen, and nodes do not rotate by second-order terms.  The flexible part G
of M_m is constant.  This is the truncated form: it may lose its positive definiteness at large deflections, which the
dynamics functions reject.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from limber.bodies.integrals import ModalIntegrals, upper
from limber.bodies.load_stiffness import LoadStiffness
from limber.checks import Array
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelError
from limber.structures.matrices import SYMMETRY
from limber.structures.rigid import rigid_motions
from limber.structures.support import Support

if TYPE_CHECKING:
    from limber.structures.structure import Structure

_PRODUCTS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


def check_stiffening(structure: Structure) -> None:
    """Reject stiffening of a structure whose geometric stiffness is not known."""
    if structure.geometric is None:
        raise ArgumentValueError(
            "geometric_stiffening=True needs the geometric stiffness of the structure, which M and K do not contain. "
            "Make the structure with geometric=..., a function of the displacements (frames have one), use lb.beam, or "
            "divide "
            "the structure into several bodies."
        )


def geometric_stiffness(structure: Structure, u: Array) -> sp.csr_array:
    """The checked geometric stiffness of the stresses due to the displacements u (N,)."""
    assert structure.geometric is not None
    K = structure.geometric(u)
    size = structure.K.shape
    if not (sp.issparse(K) or isinstance(K, np.ndarray)) or K.shape != size:
        got = getattr(K, "shape", type(K).__name__)
        raise ArgumentTypeError(
            f"geometric must return a matrix of shape {size}, sparse or dense, got {got}."
        )
    matrix = sp.csr_array(K)
    if not np.isfinite(matrix.data).all():
        raise ModelError("geometric returned a matrix that is not finite.")
    largest = np.abs(matrix.data).max(initial=0.0)
    if abs(matrix - matrix.T).max() > 1e3 * SYMMETRY * max(largest, 1e-300):
        raise ModelError(
            "geometric returned a matrix that is not symmetric; the geometric stiffness of a stress is."
        )
    return matrix


class UnitLoads:
    """kappa of loads on a structure with shapes (N, m)."""

    def __init__(self, structure: Structure, support: Support, shapes: Array):
        self.structure = structure
        self.support = support
        self.shapes = shapes
        self._known: list[tuple[Array, Array, Array]] = []

    def second_order(self, f: Array, advanced: Callable[[float], None]) -> Array:
        """(k, m, m): f . B for the loads f (N, k)."""
        u = self.support.elastic(f)
        advanced(0.5)
        found = -_symmetric(self.structure.modal_stiffness(u, self.shapes))
        advanced(1.0)
        self._known.append((f, u, found))
        return found

    def second_displacements(self, rows: sp.csr_array) -> Array:
        """(k, m, m): second-order displacements along rows (k, N) of the degrees of freedom, for pictures.

        They are those of the sum of static deformations u that does as much work in all loads f known so far as B does.
        So they are exact where unit forces were applied, and interpolated by the structure itself elsewhere.
        """
        f, u = (np.hstack([known[i] for known in self._known]) for i in (0, 1))
        work = np.concatenate([known[2] for known in self._known])
        size = np.sqrt(np.maximum((f * u).sum(axis=0), 0.0))
        size = np.where(size > 1e-12 * size.max(initial=0.0), size, np.inf)
        compliance = f.T @ u / np.outer(size, size)
        share = np.linalg.pinv(0.5 * (compliance + compliance.T), rcond=1e-11, hermitian=True)
        sums = np.tensordot(share, work / size[:, None, None], axes=1)
        return np.tensordot((rows @ u) / size, sums, axes=1)


def load_stiffness(
    structure: Structure,
    support: Support,
    shapes: Array,
    position: Array,
    forces: Array,
) -> LoadStiffness:
    """The effect of loads on the stiffness of a body with shapes (N, m).

    support : the structure with its clamped nodes held, or free.
    position : (n, 3) of the nodes in the body frame.
    forces : (N, 3 k) unit forces at the nodes that the body keeps.
    """
    motions = unit_motions(position, structure.freedoms)
    basis = np.hstack([shapes, motions[:, :6]]) if support.rigid.shape[1] else shapes
    u = support.elastic(np.hstack([structure.M @ motions, forces]))
    kappa = _symmetric(structure.modal_stiffness(u, basis))
    b = basis.shape[1]
    spin = np.zeros((3, 3, b, b))
    for k, (i, j) in enumerate(_PRODUCTS):
        spin[i, j] = spin[j, i] = -0.5 * kappa[6 + k]
    by_force = kappa[12:].reshape(-1, 3, b, b)
    return LoadStiffness(shapes.shape[1], -kappa[3:6], -kappa[:3], spin, by_force)


def _symmetric(kappa: Array) -> Array:
    """Without the rounding errors that are not."""
    return 0.5 * (kappa + np.swapaxes(kappa, 1, 2))


def unit_motions(position: Array, freedoms: int) -> Array:
    """(N, 12): accelerations of the nodes in three unit angular accelerations, three linear ones and six products of spin."""
    products = np.zeros((len(position), freedoms, 6))
    for k, (i, j) in enumerate(_PRODUCTS):
        products[:, i, k] += position[:, j]
        products[:, j, k] += position[:, i]
    return np.hstack([rigid_motions(position, freedoms, np.zeros(3)), products.reshape(-1, 6)])


def stiffened(
    integrals: ModalIntegrals,
    loads: UnitLoads,
    position: Array,
    advanced: Callable[[float], None],
) -> ModalIntegrals:
    """Modal integrals with the second-order functionals of three accelerations, three angular ones and six products."""
    structure = loads.structure
    f = structure.M @ unit_motions(position, structure.freedoms)
    B = loads.second_order(f, advanced).transpose(1, 2, 0)  # (m, m, 12)
    D = np.zeros((*B.shape[:2], 3, 3))  # sum m (l0_i B_j + l0_j B_i)
    for k, (i, j) in enumerate(_PRODUCTS):
        D[..., i, j] = D[..., j, i] = B[..., 6 + k]
    trace = np.trace(D, axis1=2, axis2=3)[..., None, None]
    return replace(
        integrals,
        S2=integrals.S2 + B[..., 3:6],
        F1=integrals.F1 + B[..., :3],
        J2=integrals.J2 + upper(trace * np.eye(3) - D),
    )
