"""Configuration matrix, kinematic matrix and joint map of one joint (Kwatny & Blankenship, Section II)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from limber.joints.packing import pack_joint
from limber.joints.simple import bracket
from limber.kernels import layout as L
from limber.symbolic.compact import compact
from limber.symbolic.exact import exact_number, polynomial
from limber.symbolic.kernels import KERNELS
from limber.symbolic.polynomial import Ring, polynomials
from limber.symbolic.quotient import adjugate_and_determinant, quotient

if TYPE_CHECKING:
    from limber.symbolic.joints import SymbolicJoint

#: How far the bracket of two columns of numbers may lie from their span.
INTEGRABLE = 1e-10


@dataclass(frozen=True, eq=False)
class Structure:
    """How the speeds of one simple joint fail to commute: [v_i, v_j] = sum_k c[k][i, j] v_k.

    For a map closed under the Lie bracket of se(3) the c are constants and `integrable` is true.  For any
    other they are functions of the coordinates, V^-1 [v_i, v_j] with the fields v of Gamma.
    """

    integrable: bool
    c: list[sp.Matrix]  # r matrices, antisymmetric


class JointKinematics:
    """X, Gamma and H of a joint, from the kernels on polynomials in its coordinates."""

    def __init__(self, joint: SymbolicJoint):
        self.joint = joint
        self.ring = Ring()
        packed = pack_joint(joint)
        self.topo = packed.topo
        self.const = polynomials(self.ring, [polynomial(self.ring, x) for x in packed.const])
        self.work_size = packed.work.size
        self.theta = np.empty(len(joint.q), dtype=object)
        self.theta[:] = [self.ring.generator(joint.q[i], joint.q[i]) for i in joint.order]

    @cached_property
    def _pose_and_map(self) -> tuple[sp.Matrix, sp.Matrix]:
        n = len(self.joint.q)
        if n == 0:
            return sp.eye(4), sp.zeros(6, 0)
        work = np.zeros(self.work_size, dtype=object)
        R, p = KERNELS.joints.general_joint_pose(self.topo, self.const, work, self.theta, L.COLUMNS)
        start = self.topo[L.COLUMNS + L.W_JOINT] + L.J_H
        rows = start + L.JOINT_WORK * np.arange(n)[:, None] + np.arange(6)
        H = sp.zeros(6, n)
        for column, i in zip(work[rows], self.joint.order):
            H[:, i] = sp.Matrix([compact(x) for x in polynomials(self.ring, column)])
        return configuration_matrix(self.ring, [*R, *p]), H

    @property
    def X(self) -> sp.Matrix:
        """4 x 4 configuration matrix."""
        return self._pose_and_map[0]

    @property
    def H(self) -> sp.Matrix:
        """6 x r joint map."""
        return self._pose_and_map[1]

    @cached_property
    def Gamma(self) -> sp.Matrix:
        """diag(Gamma_1, ..., Gamma_p), Eq. (25)."""
        n = len(self.joint.q)
        result = sp.eye(n)
        for (group, places), structure in zip(self.blocks, self.structures):
            if len(places) > 1:
                block = self._block(group, structure.integrable)
                for i, row in enumerate(places):
                    for j, column in enumerate(places):
                        result[row, column] = block[i, j]
        return result

    @cached_property
    def blocks(self) -> list[tuple[int, list[int]]]:
        """Per simple joint, inboard to outboard: its row of topo and the user's numbers of its speeds."""
        found, done = [], 0
        for g, group in enumerate(self.joint.groups):
            found.append(((2 + g) * L.COLUMNS, self.joint.order[done : done + group.dofs]))
            done += group.dofs
        return found

    @cached_property
    def structures(self) -> list[Structure]:
        """The structure of each simple joint, inboard to outboard."""
        found = []
        for (group, places), parts in zip(self.blocks, self.joint.groups):
            H = sp.Matrix(parts.H.tolist())
            c = structure_constants(H)
            if c is not None:
                found.append(Structure(True, c))
            else:
                V = self._block(group, False)
                found.append(
                    Structure(False, structure_functions(V, [self.joint.q[i] for i in places]))
                )
        return found

    def _block(self, g: int, integrable: bool) -> sp.Matrix:
        """Gamma of one simple joint of several columns: B Gamma = H in the least-squares sense, Eq. (19)."""
        topo, ring = self.topo, self.ring
        r = topo[g + L.G_DOFS]
        work = np.zeros(self.work_size, dtype=object)
        KERNELS.manifold.screw_twists(topo, self.const, work, self.theta, g)
        start = topo[g + L.W_TWISTS]
        B = polynomials(ring, work[start : start + 6 * r]).reshape(r, 6).T
        h = topo[g + L.G_MAP]
        H = self.const[h : h + 6 * r].reshape(r, 6).T
        if integrable:
            # the columns of B lie in the span of H: any rows that H is regular on will do
            rows = regular_rows(sp.Matrix(6, r, [x.expand() for x in H.ravel()]))
            left, right = B[rows], H[rows]
        else:
            left, right = B.T @ B, B.T @ H
        adjugate, determinant = adjugate_and_determinant(left)
        return sp.Matrix(r, r, [quotient(x, determinant) for x in (adjugate @ right).ravel()])


def configuration_matrix(ring: Ring, pose, floats: bool | None = None) -> sp.Matrix:
    """[R, p; 0, 1] from the twelve scalars (R by rows, p) of a kernel."""
    x = [compact(v, floats) for v in polynomials(ring, pose)]
    rows = [[*x[3 * i : 3 * i + 3], x[9 + i]] for i in range(3)]
    return sp.Matrix([*rows, [0, 0, 0, 1]])


def structure_constants(H: sp.Matrix) -> list[sp.Matrix] | None:
    """c with [h_i, h_j] = sum_k c[k][i, j] h_k, or None if a bracket leaves the span of H."""
    r = H.shape[1]
    c = [sp.zeros(r, r) for _ in range(r)]
    if r == 1:
        return c
    numeric = not H.free_symbols
    columns = [np.array(H[:, j], dtype=float if numeric else object).ravel() for j in range(r)]
    inverse = None if numeric else ((H.T * H).inv() * H.T).applyfunc(sp.simplify)
    for i in range(r):
        for j in range(i + 1, r):
            b = bracket(columns[i], columns[j])
            if numeric:
                found = np.linalg.lstsq(np.array(columns).T, b)[0]
                left = np.abs(np.array(columns).T @ found - b).max()
                if left > INTEGRABLE * max(1.0, np.abs(b).max()):
                    return None
                x = [exact_number(round(float(e), 15)) for e in found]
            else:
                x = (inverse * sp.Matrix(b)).applyfunc(sp.simplify)
                if any(sp.simplify(e) != 0 for e in H * x - sp.Matrix(b)):
                    return None
            for k in range(r):
                c[k][i, j], c[k][j, i] = x[k], -x[k]
    return c


def structure_functions(V: sp.Matrix, q: list[sp.Symbol]) -> list[sp.Matrix]:
    """c with [v_i, v_j] = sum_k c[k][i, j] v_k for the columns v of V(q), Eq. (38)."""
    r = len(q)
    c = [sp.zeros(r, r) for _ in range(r)]
    inverse = V.inv()
    for i in range(r):
        for j in range(i + 1, r):
            field = V[:, j].jacobian(q) * V[:, i] - V[:, i].jacobian(q) * V[:, j]
            x = (inverse * field).applyfunc(sp.simplify)
            for k in range(r):
                c[k][i, j], c[k][j, i] = x[k], -x[k]
    return c


def regular_rows(H: sp.Matrix) -> list[int]:
    """Rows of H that make a regular square matrix."""
    if H.free_symbols:
        return list(H.T.rref()[1])
    A = np.array(H, dtype=float)
    rows: list[int] = []
    for i in np.argsort(-np.abs(A).max(axis=1), kind="stable"):
        if np.linalg.matrix_rank(A[[*rows, i]]) > len(rows):
            rows.append(int(i))
    return sorted(rows)
