"""The operators of ends and of closures: B, J, Lambda, A (Rodriguez, Jain & Kreutz-Delgado, Secs. 2.3 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from limber.algebra.leaves import EndMap, Matrix, Named
from limber.algebra.operator import Identity, Operator
from limber.algebra.spaces import Space
from limber.assembly.closures import Closure
from limber.checks import Array
from limber.dynamics.evaluate import evaluated
from limber.dynamics.kinematics import jacobian, pose

if TYPE_CHECKING:
    from limber.algebra.operators import Operators

#: A combination of closure rows of unit mobility that has less than this fraction of it moves nothing.
DEPENDENT = 1e-12


def tilde(x: Array) -> Array:
    """The matrix of the cross product by x."""
    return np.array([[0, -x[2], x[1]], [x[2], 0, -x[0]], [-x[1], x[0], 0]])


class EndOperators:
    """Operators of a set of ends, all between the same spaces.

    B : from wrenches [moment, force] at the ends, world axes, to their bodies (2.13).
    J : B^T phi^T H^T, the Jacobian (2.14).
    Lambda : J M^{-1} J^T = B^T Omega B, the admittance (3.10); it is the inverse of the operational inertia.
    """

    def __init__(self, ops: Operators, ends: Sequence[tuple[str, int | None]]):
        self.ops, self.ends = ops, tuple(ends)
        labels = [f"{body}/{node}" for body, node in ends]
        self.space = Space("ends", labels, [6] * len(labels))
        self.space.family = ops

    @cached_property
    def B(self) -> EndMap:
        """Wrenches at the ends, carried to their bodies (2.13)."""
        system, q = self.ops.system, self.ops.geometry
        body, blocks = [], []
        for name, node in self.ends:
            modes = system.layout[name].v_modes
            frame = self.ops.frame_node(name)
            R, p = pose(system, q, name, frame)
            x = pose(system, q, name, node)[1] - p
            carry = np.block([[np.eye(3), tilde(x)], [np.zeros((3, 3)), np.eye(3)]])
            # the motion of the node per modal rate: its Jacobian minus the motion of the frame
            shapes = jacobian(system, q, name, node) - carry.T @ jacobian(system, q, name, frame)
            body.append(system.number(name) - 1)
            blocks.append(np.vstack([shapes[:, modes].T, np.kron(np.eye(2), R.T) @ carry]))
        return EndMap(self.ops.bodies, self.space, body, blocks)

    @cached_property
    def J(self) -> Operator:
        """The Jacobian operator B^T phi^T H^T (2.14)."""
        return Named("J", self.B.T @ self.ops.phi.T @ self.ops.H.T)

    @cached_property
    def Lambda(self) -> Operator:
        """The admittance J M^{-1} J^T = B^T Omega B (3.10)."""
        return Named("Lambda", self.B.T @ self.ops.Omega @ self.B)

    @cached_property
    def Lambda_recursive(self) -> Matrix:
        """Lambda as a matrix, by the recursion (A.5).

        For each pair of ends it is the Upsilon of the body where their paths to the base meet, carried outward by psi,
        or zero if they meet at the world.  It has an inverse.
        """
        ops, n = self.ops, len(self.ends)
        ways = [self._way(e) for e in range(n)]
        L = np.zeros((6 * n, 6 * n))
        for i in range(n):
            for j in range(i, n):
                common = ways[i].keys() & ways[j].keys()
                if common:
                    k = max(common)  # numbers grow outward
                    block = ways[i][k].T @ ops.Upsilon.of(k) @ ways[j][k]
                    L[6 * i : 6 * i + 6, 6 * j : 6 * j + 6] = block
                    L[6 * j : 6 * j + 6, 6 * i : 6 * i + 6] = block.T
        return Matrix("Lambda", self.space, self.space, L, meaning=self.B.T @ ops.Omega @ self.B)

    def _way(self, e: int) -> dict[int, Array]:
        """For each body k inboard of end e, psi(k, body of e) times B of e."""
        k, carried, found = self.B.body[e], self.B.end_blocks[e], {}
        while k >= 0:
            found[k] = carried
            carried = self.ops.Delta_psi.of(k) @ carried if self.ops.parent[k] >= 0 else carried
            k = int(self.ops.parent[k])
        return found


class ClosureOperators(EndOperators):
    """Operators of the closures of a system, in addition to those of EndOperators for the ends of its cut joints.

    A : from velocities of the ends to those of the closure rows, so that A J v = 0 (2.16).
    C : the rows of relations, on the speeds; zero rows for cut joints.
    rows : A J + C, or A J if there are no relations: the closure Jacobian.
    U : the right-hand side of the closures for the accelerations at the speeds v, rows vdot = U (2.16).
    admittance : A Lambda A^T, with C if there are relations: a matrix whose `inv()` is a pseudo-inverse if
        rows depend on each other.
    b : D^{-1/2} H psi B A^T, whose square b^T b is the admittance; (3.13) as printed leaves out D^{-1/2}.
    inverse : M^{-1} of the mechanism, W^T D^{-T/2} (I - b (A Lambda A^T)^{-1} b^T) D^{-1/2} W (3.13).
    """

    def __init__(self, ops: Operators):
        system = ops.system
        self._closures = {n: c for n, c in system.closures.items() if isinstance(c, Closure)}
        self._sides = [
            (name, side, end)
            for name, closure in self._closures.items()
            for side, end in enumerate((closure.a, closure.b))
            if end.body != "world"
        ]
        super().__init__(ops, [(end.body, end.node) for _, _, end in self._sides])
        sizes = [rows.stop - rows.start for rows in system.closure_rows.values()]
        self.row_space = Space("closures", list(system.closure_rows), sizes)
        self.row_space.family = ops

    @cached_property
    def A(self) -> Matrix:
        """The closure rows at the ends, the transpose of the wrench that each row exerts there (2.16)."""
        system, q = self.ops.system, self.ops.geometry
        wrenches = evaluated(system, "wrenches", (q, np.eye(system.rows)))
        order = list(system.closure_rows)
        A = np.zeros((system.rows, self.space.size))
        for e, (name, side, end) in enumerate(self._sides):
            rows = system.closure_rows[name]
            moment, force = np.split(wrenches[rows, order.index(name)], 2, axis=-1)
            arm = self._frame_b(name) - pose(system, q, end.body, end.node)[1]
            own = np.hstack([moment + np.cross(arm, force), force])
            A[rows, 6 * e : 6 * e + 6] = own if side == 1 else -own
        return Matrix("A", self.row_space, self.space, A)

    def _frame_b(self, name: str) -> Array:
        """Where the frame of end b is in the world."""
        end = self._closures[name].b
        if end.body == "world":
            return end.offset
        R, p = pose(self.ops.system, self.ops.geometry, end.body, end.node)
        return p + R @ end.offset

    @cached_property
    def C(self) -> Matrix:
        """The rows of relations."""
        system = self.ops.system
        C = np.zeros((system.rows, system.nv))
        for name, closure in system.closures.items():
            if not isinstance(closure, Closure):
                for (body, i), factor in closure.terms.items():
                    row = system.closure_rows[name].start
                    C[row, system.layout[body].v_joint.start + i] += factor
        return Matrix("C", self.row_space, self.ops.speeds, C)

    @property
    def _related(self) -> bool:
        return len(self._closures) < len(self.ops.system.closures)

    @cached_property
    def rows(self) -> Operator:
        """The closure Jacobian A J, plus C if there are relations."""
        rows = self.A @ self.J
        return rows + self.C if self._related else rows

    @cached_property
    def U(self) -> Array:
        """The right-hand side of the closures for the accelerations: rows vdot = U (2.16)."""
        ops = self.ops
        return -evaluated(ops.system, "row_accelerations", (ops.q, ops.v, np.zeros(ops.system.nv)))

    @cached_property
    def b(self) -> Operator:
        """D^{-1/2} H psi B A^T, plus D^{-1/2} W C^T if there are relations."""
        ops = self.ops
        b = ops.H @ ops.psi @ self.B @ self.A.T
        root = ops.D_root
        return root @ b + root @ ops.whitening @ self.C.T if self._related else root @ b

    @cached_property
    def admittance(self) -> Matrix:
        """A Lambda A^T as a matrix, formed by sweeps over its columns."""
        L = (self.b.T @ self.b).dense()
        name = "b^T b" if self._related else "A Lambda A^T"
        size = np.sqrt(np.diag(L))
        scale = np.where(size > DEPENDENT * size.max(initial=0.0), size, 1.0)
        values, vectors = np.linalg.eigh(L / np.outer(scale, scale))
        kept = values > DEPENDENT * values.max(initial=0.0)
        half = vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]
        meaning = self.b.T @ self.b if self._related else self.A @ self.Lambda @ self.A.T
        return Matrix(name, self.row_space, self.row_space, L, half @ half.T, meaning)

    @cached_property
    def inverse(self) -> Operator:
        """The inverse of the mass matrix in the motions that the closures allow (3.13)."""
        middle = Identity(self.ops.speeds) - self.b @ self.admittance.inv() @ self.b.T
        half = self.ops.D_root @ self.ops.whitening
        return half.T @ middle @ half
