"""The spatial operators of a system at a state, in the notation of the sources."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from limber import native
from limber.algebra.ends import ClosureOperators, EndOperators
from limber.algebra.leaves import BlockDiagonal, EndMap, Named, Shift, Transition
from limber.algebra.operator import Identity, Operator, Zero
from limber.algebra.spaces import Space
from limber.assembly.system import System
from limber.checks import Array, array, numbers
from limber.dynamics.ends import Ends, checked_ends
from limber.dynamics.evaluate import check_system, evaluated, vectors, workspaces
from limber.dynamics.freedoms import undeformed
from limber.dynamics.refusals import refuse
from limber.errors import ArgumentValueError
from limber.frozen import Frozen
from limber.kernels import layout as L
from limber.native.status import OK, STATES
from limber.notebook import table


def operators(
    system: System,
    q: ArrayLike,
    v: ArrayLike | None = None,
    vdot: ArrayLike | None = None,
    *,
    ends: Ends | None = None,
) -> Operators:
    """The spatial operators of `system` at (q, v, vdot); v and vdot are zero by default.

    The result is a namespace of lazy operators and stacked vectors; see `Operators`.  Only the vectors alpha
    and f depend on vdot.  The operators of a closed system are those of its tree; `loops` has those of its closures.

    ends : ("body", node), or a list of them, for `ends` of the result.
    """
    check_system(system)
    zero = np.zeros(system.nv)
    batch, (q, speeds, rates) = vectors(
        system,
        q=(q, system.nq),
        v=(zero if v is None else v, system.nv),
        vdot=(zero if vdot is None else vdot, system.nv),
    )
    if batch:
        raise ArgumentValueError(
            f"q, v and vdot must be one state, got a batch of shape {batch}. Make operators once per state."
        )
    found = None if ends is None else checked_ends(system, ends)
    return Operators(system, q[0], speeds[0], rates[0], found)


class Operators(Frozen):
    """Spatial operators at one state.  The namespace is immutable; each operator is made when it is first used.

    Spaces: `bodies` (m + 6 numbers per body, modes first), `speeds` (the layout of v), `parents` (for each
    body a vector of its parent; 6 on the world).

    H, phi, M are the patent's script H, capital Phi and M_m, including rotations; E_phi, R, P, D, G, K, tau, tau_bar,
    E_psi, psi are as in the patent.  S, L, Delta_phi, Delta_psi and Phi = phi S, Psi = psi S are those of the report; S
    has identities at (parent, child).  A is the patent's A, with Delta_phi = A B_hinge.  Upsilon, Omega and, for a set
    of ends, B, J, Lambda are those of the framework paper: `at(ends)` has them, and B(ends), J(ends), Lambda(ends) are
    shorthand for it.  `loops` has its A, B, J, Lambda of the closures of a closed system.  a, b, V, alpha, f are
    stacked vectors; `a` includes gravity at the bodies on the world, `b` includes K eta + D eta_dot.  `armature` is
    J_a, the contribution of the joint rotors to the mass operator, `mass` = H phi M phi^T H^T + J_a; `joint_force`
    holds the forces of springs, dampers, friction and stops.
    """

    def __init__(self, system: System, q: Array, v: Array, vdot: Array, ends: Ends | None = None):
        self._ends = ends
        self.system, self.q, self.v, self.vdot = system, q.copy(), v.copy(), vdot.copy()
        names = list(system.layout)
        topo = system.dynamics.topo.reshape(-1, L.COLUMNS)[1 : len(names) + 1]
        modes, dofs = topo[:, L.MODES], topo[:, L.DOFS]
        self.parent = topo[:, L.PARENT] // L.COLUMNS - 1
        inner = np.where(self.parent >= 0, modes[self.parent], 0) + 6
        self.bodies = Space("bodies", names, modes + 6)
        self.speeds = Space("speeds", names, modes + dofs)
        self.parents = Space("parents", names, inner)
        self.hinges = Space("hinges", names, np.full(len(names), 6))
        self.I = Identity(self.bodies)
        self.S = Shift(self.bodies, self.parents, self.parent)
        self._fill()
        self._freeze()
        for space in (self.bodies, self.speeds, self.parents, self.hinges):
            space.family = self

    def _fill(self) -> None:
        """Blocks of Delta_phi, H, M and the vectors a, b, V from the kernels."""
        system, n = self.system, len(self.parent)
        N, d, p = self.bodies.sizes, self.speeds.sizes, self.parents.sizes
        sizes = np.array([p * N, d * N, N * N, N, N, N])
        starts = np.concatenate([[0], np.cumsum(sizes.ravel())])[:-1].astype(np.int64)
        where = np.ascontiguousarray(starts.reshape(6, n).T).ravel()
        out = np.empty(int(sizes.sum()))
        packed = system.dynamics
        pool = workspaces(packed)
        work = pool.take()
        status = native.load("operator_blocks")(
            packed.topo, packed.const, work, self.q, self.v, where, out
        )
        pool.give_back(work)
        if status != OK:
            refuse(system, status % STATES, 0, "", {"q": self.q[None], "v": self.v[None]})
        cuts = np.cumsum(sizes.sum(axis=1))[:-1]
        delta, H, M, a, b, V = (x.copy() for x in np.split(out, cuts))
        base = starts.reshape(6, n) - starts.reshape(6, n)[:, :1]
        self.Delta_phi = BlockDiagonal("Delta_phi", self.parents, self.bodies, delta, base[0])
        self.H = BlockDiagonal("H", self.speeds, self.bodies, H, base[1])
        self.M = BlockDiagonal("M", self.bodies, self.bodies, M, base[2])
        self.a, self.b, self.V = a, b, V
        self.joint_force = evaluated(system, "joint_forces", (self.q, self.v))

    def _repr_html_(self) -> str:
        parts = inspect.getmembers(type(self), lambda x: isinstance(x, cached_property))
        rows = [
            (name, (part.__doc__ or "").partition("\n")[0])
            for name, part in parts
            if name[0] != "_"
        ]
        bases = [("H", "Joint maps, a row for each speed."), ("M", "Inertias of the bodies.")]
        rows = sorted(
            [*bases, *rows, ("S", "From parents to bodies."), ("Delta_phi", "The phi(p, k).")]
        )
        title = f"Operators of {self.system.name!r} at one state"
        return table(title, ("name", "what it is"), rows, left=(0, 1))

    # --- Newton-Euler ---------------------------------------------------------------------------------
    @cached_property
    def phi(self) -> Transition:
        """(I - E_phi)^{-1}: a force at every body, added up towards the base."""
        return Transition("phi", self.S, self.Delta_phi)

    @cached_property
    def E_phi(self) -> Operator:
        """S Delta_phi: a force at every body, carried to its parent."""
        return Named("E_phi", self.S @ self.Delta_phi)

    @cached_property
    def Phi(self) -> Operator:
        """The report's Phi = phi S."""
        return Named("Phi", self.phi @ self.S)

    @cached_property
    def _rotors(self) -> list[Array]:
        """The blocks of J_a."""
        own = evaluated(self.system, "armatures", (self.q,))
        return [np.diag(own[self.speeds.part(k)]) for k in range(len(self.parent))]

    @cached_property
    def armature(self) -> Operator:
        """J_a, the armatures of the joints: diagonal, zero for modes; the zero operator if no joint has an armature."""
        if not any(block.any() for block in self._rotors):
            return Zero(self.speeds, self.speeds)
        return BlockDiagonal.from_blocks("J_a", self.speeds, self.speeds, self._rotors)

    @cached_property
    def mass(self) -> MassOperator:
        """The mass operator H phi M phi^T H^T + J_a, with its inverse in closed form."""
        return MassOperator(self)

    @cached_property
    def A(self) -> BlockDiagonal:
        """The patent's A of each body's parent: from the joint's inboard frame (body axes) to the parent."""
        blocks = [b[:, -6:] for b in self.Delta_phi.blocks]
        return BlockDiagonal.from_blocks("A", self.parents, self.hinges, blocks)

    @cached_property
    def B_hinge(self) -> BlockDiagonal:
        """[0, I]: the rigid part of a modal force; Delta_phi = A B_hinge."""
        blocks = [np.eye(6, n, n - 6) for n in self.bodies.sizes]
        return BlockDiagonal.from_blocks("B_hinge", self.hinges, self.bodies, blocks)

    # --- composite and articulated bodies ---------------------------------------------------------
    @cached_property
    def R(self) -> BlockDiagonal:
        """Composite inertias: R = M + E_phi R E_phi^T (patent, Eq. (47))."""
        R = [block.copy() for block in self.M.blocks]
        for k in reversed(range(len(R))):
            if self.parent[k] >= 0:
                step = self.Delta_phi.of(k)
                R[self.parent[k]] += step @ R[k] @ step.T
        return BlockDiagonal.from_blocks("R", self.bodies, self.bodies, R)

    @cached_property
    def P(self) -> BlockDiagonal:
        """Articulated inertias: M = P - E_psi P E_psi^T (patent, Eqs. (51), (66))."""
        P = [block.copy() for block in self.M.blocks]
        for k in reversed(range(len(P))):
            if self.parent[k] >= 0:
                H, step = self.H.of(k), self.Delta_phi.of(k)
                U = P[k] @ H.T
                plus = P[k] - U @ np.linalg.solve(H @ U + self._rotors[k], U.T)
                P[self.parent[k]] += step @ (0.5 * (plus + plus.T)) @ step.T
        return BlockDiagonal.from_blocks("P", self.bodies, self.bodies, P)

    @cached_property
    def D(self) -> BlockDiagonal:
        """H P H^T + J_a."""
        blocks = [H @ P @ H.T + J for H, P, J in zip(self.H.blocks, self.P.blocks, self._rotors)]
        return BlockDiagonal.from_blocks("D", self.speeds, self.speeds, blocks)

    @cached_property
    def G(self) -> BlockDiagonal:
        """P H^T D^{-1}."""
        blocks = [
            np.linalg.solve(D, H @ P).T
            for D, H, P in zip(self.D.blocks, self.H.blocks, self.P.blocks)
        ]
        return BlockDiagonal.from_blocks("G", self.bodies, self.speeds, blocks)

    @cached_property
    def L(self) -> BlockDiagonal:
        """Delta_phi G, the report's gain."""
        blocks = [d @ g for d, g in zip(self.Delta_phi.blocks, self.G.blocks)]
        return BlockDiagonal.from_blocks("L", self.parents, self.speeds, blocks)

    @cached_property
    def K(self) -> Operator:
        """E_phi G = S L."""
        return Named("K", self.S @ self.L)

    @cached_property
    def tau(self) -> BlockDiagonal:
        """G H."""
        blocks = [g @ h for g, h in zip(self.G.blocks, self.H.blocks)]
        return BlockDiagonal.from_blocks("tau", self.bodies, self.bodies, blocks)

    @cached_property
    def tau_bar(self) -> BlockDiagonal:
        """I - G H."""
        return self.tau.map("tau_bar", lambda block: np.eye(len(block)) - block)

    @cached_property
    def Delta_psi(self) -> BlockDiagonal:
        """Delta_phi tau_bar: the psi(p, k)."""
        blocks = [d @ t for d, t in zip(self.Delta_phi.blocks, self.tau_bar.blocks)]
        return BlockDiagonal.from_blocks("Delta_psi", self.parents, self.bodies, blocks)

    @cached_property
    def E_psi(self) -> Operator:
        """E_phi tau_bar = S Delta_psi."""
        return Named("E_psi", self.S @ self.Delta_psi)

    @cached_property
    def psi(self) -> Transition:
        """(I - E_psi)^{-1}: a force added up towards the base through free joints."""
        return Transition("psi", self.S, self.Delta_psi)

    @cached_property
    def Psi(self) -> Operator:
        """The report's Psi = psi S."""
        return Named("Psi", self.psi @ self.S)

    # --- ends -----------------------------------------------------------------------------------------
    def at(self, ends: Ends) -> EndOperators:
        """B, J and Lambda of ends, ("body", node) or a list of them, between the same spaces."""
        return EndOperators(self, checked_ends(self.system, ends))

    @cached_property
    def ends(self) -> EndOperators:
        """B, J and Lambda of the ends that were passed to `operators`."""
        if self._ends is None:
            raise ArgumentValueError(
                'these operators were made without ends: use operators(..., ends=[("link", "tip")]), or `at(ends)`.'
            )
        return self.at(self._ends)

    @cached_property
    def loops(self) -> ClosureOperators:
        """A, B, J, Lambda of the closures of the system, and the constrained inverse."""
        if not self.system.closures:
            raise ArgumentValueError(
                f"the system {self.system.name!r} has no closures. Close a loop with Assembly.close(...) before build()."
            )
        return ClosureOperators(self)

    def B(self, ends: Ends) -> EndMap:
        """Wrenches [moment, force] at nodes ("body", node), world axes, carried to their bodies."""
        return self.at(ends).B

    @cached_property
    def geometry(self) -> Array:
        """The configuration of the geometry in the dynamics, which is undeformed if the system is ruthless."""
        return undeformed(self.system, self.q) if self.system.fidelity == "ruthless" else self.q

    def frame_node(self, name: str) -> int | None:
        """The node whose frame the blocks of a body refer to; None is the body frame."""
        item = self.system.attachments[name]
        held = self.system.fidelity == "ruthless" or not item.body.modes
        return item.inboard if held else None

    def J(self, ends: Ends) -> Operator:
        """The Jacobian operator B^T phi^T H^T (framework paper, Eq. (2.14))."""
        return self.at(ends).J

    @cached_property
    def Upsilon(self) -> BlockDiagonal:
        """Block diagonal of Omega: Upsilon(k) = psi^T(p, k) Upsilon(p) psi(p, k) + H^T D^{-1} H."""
        blocks: list[Array] = []
        for k in range(len(self.parent)):
            H = self.H.of(k)
            own = H.T @ np.linalg.solve(self.D.of(k), H)
            if self.parent[k] >= 0:
                step = self.Delta_psi.of(k)
                own = own + step.T @ blocks[self.parent[k]] @ step
            blocks.append(own)
        return BlockDiagonal.from_blocks("Upsilon", self.bodies, self.bodies, blocks)

    @cached_property
    def Omega(self) -> Operator:
        """psi^T H^T D^{-1} H psi (framework paper, Eq. (3.10))."""
        return Named("Omega", self.psi.T @ self.H.T @ self.D.inv() @ self.H @ self.psi)

    def Lambda(self, ends: Ends) -> Operator:
        """J M^{-1} J^T = B^T Omega B: the admittance at the ends."""
        return self.at(ends).Lambda

    # --- vectors ----------------------------------------------------------------------------------------
    @cached_property
    def alpha(self) -> Array:
        """Accelerations phi^T (H^T vdot + a); they include gravity as an acceleration of the base."""
        return self.phi.T @ (self.H.T @ self.vdot + self.a)

    @cached_property
    def f(self) -> Array:
        """Interaction forces phi (M alpha + b); H f + J_a vdot + joint_force are the generalized forces of vdot."""
        return self.phi @ (self.M @ self.alpha + self.b)

    # --- estimation and factorization ---------------------------------------------------------------
    @cached_property
    def whitening(self) -> Operator:
        """W = I - H psi K: from generalized forces to innovations (report, Eq. (4.15))."""
        return Identity(self.speeds) - self.H @ self.psi @ self.K

    def filter(self, T: ArrayLike) -> Filtered:
        """The Kalman filter of the report's Eq. (4.15), run over the forces T as measurements."""
        T = array("T", T, (self.speeds.size,))
        state = self.psi @ (self.K @ T)
        innovations = T - self.H @ state
        residuals = self.D.inv() @ innovations
        return Filtered(state, innovations, residuals, self.G, self.K, self.P, self.D)

    def smooth(self, residuals: ArrayLike) -> Smoothed:
        """The smoother of the report's Eqs. (4.21), (4.22): from D^{-1} eps to M^{-1} T."""
        residuals = array("residuals", residuals, (self.speeds.size,))
        costate = self.psi.T @ (self.H.T @ residuals)
        return Smoothed(costate, residuals - self.K.T @ costate)

    def log_det(self) -> float:
        """The log-determinant of the mass matrix, the sum of those of D, in O(N)."""
        return float(sum(np.linalg.slogdet(block)[1] for block in self.D.blocks))

    @cached_property
    def D_root(self) -> BlockDiagonal:
        """D^{-1/2}, the inverse of the Cholesky factor of D: D^{-1} = (D^{-1/2})^T D^{-1/2}."""
        return self.D.map("D^-1/2", lambda block: np.linalg.inv(np.linalg.cholesky(block)))

    @cached_property
    def sqrt(self) -> Operator:
        """(I + H phi K) D^{1/2}: a causal square root of the mass operator, sqrt sqrt^T = mass."""
        root = self.D.map("D^1/2", lambda block: np.linalg.cholesky(block))
        return (Identity(self.speeds) + self.H @ self.phi @ self.K) @ root

    def decoupled_velocities(self) -> Array:
        """nu = sqrt^T v, velocities in which the kinetic energy is nu.nu/2."""
        return self.sqrt.T @ self.v

    # --- users' own -------------------------------------------------------------------------------------
    def diagonal(
        self, name: str, function: Callable[[str], ArrayLike], rows: Space, columns: Space
    ) -> BlockDiagonal:
        """Make a block-diagonal operator of your own: `function(body name)` returns its block."""
        blocks = [
            numbers(f"{name}: the block of {body!r}", function(body), "(rows, columns)")
            for body in self.bodies.labels
        ]
        return BlockDiagonal.from_blocks(name, rows, columns, blocks)


@dataclass(frozen=True, eq=False)
class Filtered:
    """The Kalman filter over the chain: predicted state, innovations, weighted residuals, and its gains."""

    state: Array  # z, the residual force on every body
    innovations: Array  # eps = T - H z
    residuals: Array  # nu = D^{-1} eps
    gain: Operator  # G, the Kalman gain
    predictor_gain: Operator  # K
    covariance: Operator  # P
    innovations_covariance: Operator  # D


@dataclass(frozen=True, eq=False)
class Smoothed:
    """The smoother: costate and estimate, the accelerations M^{-1} T."""

    costate: Array
    estimate: Array


class MassOperator(Named):
    """H phi M phi^T H^T + J_a; its inverse is (I - H psi K)^T D^{-1} (I - H psi K) (patent, Eq. (56))."""

    def __init__(self, ops: Operators):
        bodies = ops.H @ ops.phi @ ops.M @ ops.phi.T @ ops.H.T
        super().__init__(
            "mass", bodies if isinstance(ops.armature, Zero) else bodies + ops.armature
        )
        self.ops = ops
        self.structure = "full"

    def inv(self):
        W = self.ops.whitening
        return W.T @ self.ops.D.inv() @ W


__all__ = ["Operators", "operators"]
