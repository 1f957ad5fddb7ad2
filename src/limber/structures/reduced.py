r"""The structure from which a body was reduced, kept for reports.

Body and structure are compared in the degrees of freedom u of the structure, held as it was for the reduction.  The
body moves in span [Phi, R], where R are the rigid-body motions that the supports leave:

    frequencies    of Phi^T K Phi (the stiffness of the body) and [Phi, R]^T M [Phi, R], M with loads at nodes
    compliance     W P Phi (Phi^T K Phi)^{-1} (W P Phi)^T against W P G P^T W^T, with W the rows of loaded nodes and
                   P = I - R (R^T M R)^{-1} R^T M (inertia relief)
    movable mass   diag(S^T M_f M_ff^{-1} M_f^T S) less the part of R; S are unit motions of the body frame, f the
                   degrees of freedom that are not held
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import cg

from limber.bodies.flexible import FlexibleBody
from limber.checks import Array, listed
from limber.structures.choice import Choice, chosen_modes
from limber.structures.comparison import EQUAL, Comparison, assurance, static_loads
from limber.structures.load_factors import lowest_factors
from limber.structures.reduced_model import ReducedModel
from limber.structures.rigid import rigid_motions
from limber.structures.stiffening import geometric_stiffness
from limber.structures.support import Support
from limber.structures.threads import one_thread

if TYPE_CHECKING:
    from limber.structures.reduce import Reduction


class ReducedStructure(ReducedModel):
    """A structure, and how it was reduced."""

    def __init__(self, work: Reduction, choice: Choice, shapes: Array, origin: Array):
        self.work = work
        self.choice = choice
        super().__init__(shapes, origin)

    def compare(
        self,
        body: FlexibleBody,
        interface: Any,
        loads: Mapping | None,
        count: int | None,
        progress: bool | None,
    ) -> Comparison:
        """Compare the body with the structure, in `count` modes, by default as many as the body has."""
        work = self.work.again(loads, progress)
        nodes = self._loaded_nodes(work, body, interface)
        with work.progress, one_thread():
            support = work.support()
            omega, exact = self._modes(work, support, count)
            own, shapes = self._body_modes(work, support, body)
            full, compliance = self._compliance(work, support, body, nodes)
            movable = self._movable(work, support)
        return Comparison(
            full=f"the structure of {len(work.structure)} nodes, {work.structure.active.sum()} degrees of freedom",
            held=_held(work),
            omega=omega,
            own=own,
            mac=assurance(shapes.T @ (work.M @ exact), omega),
            static=static_loads([work.places.name(j) for j in nodes], full, compliance),
            movable=movable,
            remedy="method='static-correction' with this node in interface=... makes it exact",
        )

    def buckling_force(self, node: str, direction: Array) -> float | None:
        """The force at a node along a direction of the body frame, N, at which the structure buckles, if any does.

        It is also None if the structure is not clamped: then the joint of the body determines how it is held.
        """
        s = self.work.structure
        if not self.work.clamped:
            return None
        support = self.work.support_of_loads(self.work.support())
        rows = self.work.rows.rows(self.work.places.number(node, "node"))[:3]
        u = support.static((rows.T @ (self.axes.T @ direction))[:, None])[:, 0]
        S = (-geometric_stiffness(s, u)).tocsr()
        factors, _, _ = lowest_factors(s.K, S, support, 1, lambda part: None)
        return float(factors[0]) if factors.size else None

    def _loaded_nodes(self, work: Reduction, body: FlexibleBody, interface: Any) -> list[int]:
        """The nodes with unit loads: those given, the interface, those that carry loads, or the tip."""
        places = work.places
        if interface is not None:
            nodes = places.numbers("interface", interface)
            work.refuse_held(
                nodes, ": a load there does not deform the structure. Give nodes that are free."
            )
            return nodes
        if work.interface or work.load_nodes:
            return list(dict.fromkeys([*work.interface, *work.load_nodes]))
        held = {*work.clamped, *work.pinned}
        numbers = {name: places.number(name, "node") for name in body.nodes.names}
        kept = [j for j in numbers.values() if not held.issuperset(places.members(j))]
        if body.end_node is not None and numbers[body.end_node] in kept:
            return [numbers[body.end_node]]
        far = np.linalg.norm(places.position(kept) - self.origin, axis=1)
        return [kept[int(far.argmax())]] if kept else []

    def _modes(self, work: Reduction, support: Support, count: int | None) -> tuple[Array, Array]:
        """omega and shapes (N, k) of the lowest modes of the structure, with the interface nodes free."""
        advanced = work.progress.of("computing modes")
        modes = work.lowest_modes(support.elastic)
        band = self.choice.band
        if count is None and band is not None:
            below = Choice(band=(0.0, band[1]))
            value, shapes, _ = chosen_modes(below, modes, work.effective_mass, advanced)
        else:
            # one more, which is kept if its frequency is that of the last: the two are compared together
            wanted = count or self.shapes.shape[1]
            value, shapes, _ = modes.find(wanted + 1, advanced)
            if value.size > wanted and value[-1] > (1.0 + 2.0 * EQUAL) * value[-2]:
                value, shapes = value[:wanted], shapes[:, :wanted]
        return np.sqrt(value), shapes

    def _body_modes(
        self, work: Reduction, support: Support, body: FlexibleBody
    ) -> tuple[Array, Array]:
        """omega and shapes (N, m) of the body, held and loaded like the structure."""
        basis = np.hstack([self.shapes, support.rigid])
        m, r = body.modes, support.rigid.shape[1]
        K = scipy.linalg.block_diag(body.stiffness, np.zeros((r, r)))
        value, vector = scipy.linalg.eigh(K, basis.T @ (work.M @ basis))
        return np.sqrt(np.maximum(value[r:], 0.0)), basis @ vector[:, r : r + m]

    def _compliance(
        self, work: Reduction, support: Support, body: FlexibleBody, nodes: list[int]
    ) -> tuple[Array, Array]:
        """Compliances (6 k, 6 k) at nodes, of the structure and of the body."""
        turn = sp.block_diag([self.axes] * (2 * len(nodes))) if nodes else sp.csr_array((0, 0))
        W = (turn @ work.rows.stacked(nodes)).tocsr()
        moved = W @ support.without_rigid(self.shapes)
        body_compliance = moved @ np.linalg.solve(body.stiffness, moved.T)
        if not nodes:
            return np.zeros((0, 0)), body_compliance
        return W @ support.elastic(W.T.toarray()), body_compliance

    def _movable(self, work: Reduction, support: Support) -> Array:
        """(6,): mass along and inertia about the axes of the body that take part in all modes."""
        s = work.structure
        motions = rigid_motions(s.position, s.freedoms, self.origin)
        turns, shifts = motions[:, :3] @ self.axes.T, motions[:, 3:] @ self.axes.T
        force = s.M @ np.hstack([shifts, turns])
        free = np.flatnonzero(~work.held() & (s.M.diagonal() > 0.0))
        M = s.M[free][:, free]
        inverse = sp.diags_array(1.0 / M.diagonal())
        moved = np.column_stack(
            [cg(M, f, rtol=1e-13, maxiter=1000, M=inverse)[0] for f in force[free].T]
        )
        total = np.einsum("ni,ni->i", force[free], moved)
        R = support.rigid
        if R.shape[1]:
            part = R.T @ force
            total = total - np.einsum("ri,ri->i", part, np.linalg.solve(R.T @ (s.M @ R), part))
        size = np.einsum("ni,ni->i", np.hstack([shifts, turns]), force)
        return np.where(total > 1e-10 * size, total, 0.0)


def _held(work: Reduction) -> str:
    """How the structure is held and what it carries."""
    parts = [
        f"{word} {_named(work, places)}"
        for word, places in (("clamped at", work.clamped_at), ("pinned at", work.pinned_at))
        if places
    ]
    if not parts:
        parts = ["free"]
    if work.load_nodes:
        parts.append(f"with the loads at {_named(work, work.load_nodes)}")
    return ", ".join(parts)


def _named(work: Reduction, places: list[int]) -> str:
    return listed(map(work.places.name, places)) if len(places) <= 4 else f"{len(places)} nodes"
