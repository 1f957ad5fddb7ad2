r"""Modal integrals: the constants of M_m(eta), with which a body enters the kernels.

    T = 1/2 [eta_dot; w; v]^T M_m(eta) [eta_dot; w; v],   M_m = [[G, F^T, E^T], [F, J, m p~], [E, -m p~, m I]]

`kernels.modal` has the expansion of the blocks in eta.  The integrals of a sum of small rigid bodies are in `points`;
those of other masses, such as the mass matrix of a finite-element model, are given as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from limber.bodies.curved import CurvedPoints
from limber.bodies.shapes import Shapes
from limber.checks import Array
from limber.frozen import read_only
from limber.short_repr import short_repr

#: An integral smaller than this fraction of its natural size is rounding error.
ROUNDING = 64.0 * np.finfo(float).eps

LEVI_CIVITA = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    LEVI_CIVITA[_i, _j, _k], LEVI_CIVITA[_j, _i, _k] = 1.0, -1.0


def tilde(x: Array) -> Array:
    """x~ of vectors (..., 3), (..., 3, 3)."""
    return np.einsum("ijk,...j->...ik", LEVI_CIVITA, x)


def dyad(a: Array, b: Array) -> Array:
    """2 a.b I - a b^T - b a^T over the last axis: twice the inertia of a unit mass when a = b."""
    outer = a[..., :, None] * b[..., None, :]
    return 2.0 * np.einsum("...i,...i->...", a, b)[..., None, None] * np.eye(3) - (
        outer + np.swapaxes(outer, -1, -2)
    )


def upper(S: Array) -> Array:
    """Symmetric matrices (..., 3, 3) as (..., 6): xx, xy, xz, yy, yz, zz."""
    return S[..., (0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2)]


def full(J: Array) -> Array:
    """The symmetric matrices (..., 3, 3) of which `upper` gives (..., 6)."""
    return J[..., (0, 1, 2, 1, 3, 4, 2, 4, 5)].reshape(*J.shape[:-1], 3, 3)


def _moments(J: Array, F: Array) -> Array:
    """N (..., 3, 3) with J = tr(N + N^T) I - N - N^T (given as (..., 6)) and F~ = N - N^T."""
    quarter = 0.25 * (J[..., 0] + J[..., 3] + J[..., 5])
    return quarter[..., None, None] * np.eye(3) - 0.5 * (full(J) - tilde(F))


def _antisymmetric(F1: Array) -> bool:
    """Whether F1_rs = -F1_sr, except for rounding."""
    even = F1 + np.swapaxes(F1, 0, 1)
    if even.dtype == object:
        return not any(x != 0 and x.expand() != 0 for x in even.flat)  # type: ignore[attr-defined]
    return bool(np.abs(even).max(initial=0.0) <= ROUNDING * np.abs(F1).max(initial=0.0))


@dataclass(frozen=True, eq=False)
class ModalIntegrals:
    """The constants of M_m(eta) of a body of m modes.

    F1[r, s] is the coefficient of eta_s in F_r, and G1[r, q, s] that of eta_s in G_rq; J is expanded as
    J0 + J1_r eta_r + 1/2 J2_rs eta_r eta_s, and m p as S0 + E0_r eta_r + 1/2 S2_rs eta_r eta_s.  S2 and G1 may be left
    out if they are zero.  N0 (m, 3, 3) and N1 (m, m, 3, 3) combine J1, F0 and J2, F1 in the matrices of
    `kernels.modal`.  The products of second-order shapes are not in these numbers but in `curved`.
    """

    __repr__ = short_repr

    mass: float
    S0: Array  # (3,) first moment of mass
    J0: Array  # (6,) inertia about the origin: xx, xy, xz, yy, yz, zz
    E0: Array  # (m, 3)
    F0: Array  # (m, 3)
    J1: Array  # (m, 6)
    G0: Array  # (m, m) modal mass
    F1: Array  # (m, m, 3)
    J2: Array  # (m, m, 6)
    S2: Array = None  # type: ignore[assignment]  # (m, m, 3)
    G1: Array = None  # type: ignore[assignment]  # (m, m, m)
    curved: CurvedPoints | None = None
    N0: Array = field(init=False)
    N1: Array = field(init=False)
    #: whether there are S2, G1 or a symmetric part of F1, which point masses with linear shapes do not have
    second: bool = field(init=False)

    def __post_init__(self):
        m = len(self.G0)
        for name, shape in (("S2", (m, m, 3)), ("G1", (m, m, m))):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros(shape))
        for name in ("G0", "E0", "F0", "J1", "F1", "J2"):
            object.__setattr__(self, name, np.array(getattr(self, name)))
        object.__setattr__(self, "N0", _moments(self.J1, self.F0))
        object.__setattr__(self, "N1", _moments(self.J2, self.F1))
        if self.N1.dtype == float and self.G0.dtype == float:
            self._drop_rounding()
        second = np.any(self.S2) or np.any(self.G1) or not _antisymmetric(self.F1)
        object.__setattr__(self, "second", bool(second))
        read_only(self)

    def _drop_rounding(self) -> None:
        """Set integrals to zero that are zero by orthogonality or symmetry, except for rounding.

        Each is compared with the bound that the Cauchy-Schwarz inequality gives.  Sums over many points leave
        about 1e-15 of that bound instead of a zero, and zeros cost nothing in generated code.
        """
        mode = np.sqrt(np.maximum(np.diag(self.G0), 0.0))
        pair = np.outer(mode, mode)
        turn = mode * np.sqrt(self.J0[[0, 3, 5]].sum())
        for values, bound in (
            (self.G0, pair),
            (self.F1, pair[..., None]),
            (self.J2, pair[..., None]),
            (self.E0, mode[:, None] * np.sqrt(self.mass)),
            (self.F0, turn[:, None]),
            (self.J1, turn[:, None]),
            (self.N0, turn[:, None, None]),
            (self.N1, pair[..., None, None]),
        ):
            values[np.abs(values) <= ROUNDING * bound] = 0.0

    def total(self):
        """The mass."""
        return self.mass

    def integrals(self) -> ModalIntegrals:
        """These integrals; `MassPoints` has the same method."""
        return self

    def rigid_block(self) -> Array:
        """M_rr(0), 6 x 6."""
        p = tilde(self.S0)
        return np.block([[full(self.J0), p], [p.T, self.mass * np.eye(3)]])

    def mass_matrix(self) -> Array:
        """M_m(0), (m + 6) x (m + 6), modes first."""
        coupling = np.hstack([self.F0, self.E0])
        return np.block([[self.G0, coupling], [coupling.T, self.rigid_block()]])

    # --- in other frames ----------------------------------------------------------------------

    def placed(self, R: Array, shift: Array) -> ModalIntegrals:
        """The integrals in another frame, in which the old origin lies at `shift` and the old axes are the columns of R."""
        S0, E0, F0, F1 = (
            np.einsum("ij,...j->...i", R, x) for x in (self.S0, self.E0, self.F0, self.F1)
        )
        S2 = np.einsum("ij,...j->...i", R, self.S2)
        J0, J1, J2 = (R @ full(x) @ R.T for x in (self.J0, self.J1, self.J2))
        F0 = F0 + np.cross(shift, E0)
        J0 = J0 + dyad(S0, shift) + 0.5 * self.mass * dyad(shift, shift)
        J1 = J1 + dyad(E0, shift)
        F1, J2 = F1 + np.cross(shift, S2), J2 + dyad(S2, shift)
        return replace(
            self,
            S0=S0 + self.mass * shift, J0=upper(J0), E0=E0, F0=F0, J1=upper(J1), F1=F1, J2=upper(J2), S2=S2,
            curved=None if self.curved is None else self.curved.placed(R, shift),
        )  # fmt: skip

    def held_at(self, node: Shapes) -> ModalIntegrals:
        """The integrals of the body in the frame of a node, given as one point, to zeroth order in eta.

        Seen from the node, mode r moves the body in addition by the twist -xi_r, xi_r = [lambda_r; gamma_r] of the node,
        about the node.  This is what a ruthless body needs: F1, J2, S2, G1 and curved points are left out.
        """
        here = self.placed(np.eye(3), -node.position[0])
        turn, shift = node.rotation[0].T, node.translation[0].T  # (m, 3)
        xi = np.hstack([turn, shift])
        coupling, rigid = np.hstack([here.F0, here.E0]), here.rigid_block()
        G0 = here.G0 - xi @ coupling.T - coupling @ xi.T + xi @ rigid @ xi.T
        seen = coupling - xi @ rigid
        spun = tilde(turn) @ full(here.J0)
        J1 = full(here.J1) - (spun + np.swapaxes(spun, -1, -2)) - dyad(shift, here.S0)
        none = np.zeros_like(here.F1), np.zeros_like(here.J2)
        return ModalIntegrals(
            here.mass, here.S0, here.J0, seen[:, 3:], seen[:, :3], upper(J1), G0, *none
        )

    def scaled(self, factor: float) -> ModalIntegrals:
        """The integrals of masses that are all multiplied by a factor."""
        made = object.__new__(ModalIntegrals)
        curved = self.curved
        parts = {
            name: factor * x for name, x in vars(self).items() if name not in ("curved", "second")
        }
        vars(made).update(
            parts,
            curved=None if curved is None else replace(curved, weight=factor * curved.weight),
            second=self.second,
        )
        read_only(made)
        return made

    def without_modes(self) -> ModalIntegrals:
        """The integrals of the undeformed, rigid body."""
        E0, F0, J1, G0, F1, J2 = map(
            np.zeros, ((0, 3), (0, 3), (0, 6), (0, 0), (0, 0, 3), (0, 0, 6))
        )
        return ModalIntegrals(self.mass, self.S0, self.J0, E0, F0, J1, G0, F1, J2)

    def numbers(self) -> list[Array]:
        """All arrays, for a search for symbols."""
        return [np.asarray(x) for x in vars(self).values() if isinstance(x, np.ndarray | float)]
