"""The superelement from which a body was reduced, kept for reports; `reduced` has the equations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from limber.bodies.flexible import FlexibleBody
from limber.checks import Array, listed
from limber.errors import ArgumentValueError
from limber.structures.comparison import Comparison, assurance, static_loads
from limber.structures.reduced_model import ReducedModel

if TYPE_CHECKING:
    from limber.structures.superelement import Superelement


class ReducedSuperelement(ReducedModel):
    """A superelement, and the numbers of the nodes that are held."""

    def __init__(self, part: Superelement, held: list[int], shapes: Array, origin: Array):
        self.part = part
        self.held = tuple(held)
        super().__init__(shapes, origin)

    def compare(
        self,
        body: FlexibleBody,
        interface: Any,
        loads: Mapping | None,
        count: int | None,
        progress: bool | None,
    ) -> Comparison:
        """Compare the body with the superelement, in `count` of its modes, by default as many as the body has."""
        if loads:
            raise ArgumentValueError(
                "loads are for bodies reduced from structures, but this body was reduced from a superelement. Leave them "
                "out, and attach the load in an assembly."
            )
        part, nodes = self.part, self._loaded_nodes(body, interface)
        motions = part.motions(self.origin)
        omega, exact = part.modes(list(self.held), motions)
        omega, exact = omega[: count or body.modes], exact[:, : count or body.modes]
        Z = part.admissible(list(self.held), motions)
        value, vector = scipy.linalg.eigh(body.stiffness, body.modal_mass)
        shapes = self.shapes @ vector
        names, held = part.names, [part.names[j] for j in self.held]
        return Comparison(
            full=f"the superelement of {len(part)} boundary nodes, {len(part.M)} degrees of freedom",
            held=f"clamped at {listed(held)}" if held else "free",
            omega=omega,
            own=np.sqrt(np.maximum(value, 0.0)),
            mac=assurance(shapes.T @ part.M @ exact, omega),
            static=static_loads([names[j] for j in nodes], *self._compliance(body, nodes, Z)),
            movable=self._movable(motions, Z),
            remedy="more modes, up to all of the superelement, reduce this error",
        )

    def buckling_force(self, node: str, direction: Array) -> float | None:
        """Not known: a superelement has no geometric stiffness."""
        return None

    def _loaded_nodes(self, body: FlexibleBody, interface: Any) -> list[int]:
        """The nodes with unit loads: those given, or all that are free and have six degrees of freedom."""
        part = self.part
        if interface is None:
            return [j for j in map(part.names.index, body.nodes.names) if j not in self.held]
        given = [interface] if isinstance(interface, str | int) else list(interface)
        found = [body.nodes.index("interface", node, "the body") for node in given]
        nodes = [part.names.index(body.nodes.names[i]) for i in found]
        for j in nodes:
            if j in self.held:
                raise ArgumentValueError(
                    f"interface has the node {part.names[j]!r}, which is held: a load there does not deform the component. "
                    "Give nodes that are free."
                )
        return nodes

    def _compliance(self, body: FlexibleBody, nodes: list[int], Z: Array) -> tuple[Array, Array]:
        """Compliances (6 k, 6 k) at nodes, of the superelement and of the body."""
        turn = np.kron(np.eye(2 * len(nodes)), self.axes)
        rows = self.part.freedoms[nodes].ravel()
        moved, own = turn @ Z[rows], turn @ self.shapes[rows]
        K = Z.T @ self.part.K @ Z
        return moved @ np.linalg.solve(K, moved.T), own @ np.linalg.solve(body.stiffness, own.T)

    def _movable(self, motions: Array, Z: Array) -> Array:
        """(6,): mass along and inertia about the axes of the body that take part in all modes."""
        turns, shifts = motions[:, :3] @ self.axes.T, motions[:, 3:] @ self.axes.T
        unit = np.hstack([shifts, turns])
        force = Z.T @ (self.part.M @ unit)
        inverse = np.linalg.pinv(Z.T @ self.part.M @ Z, rcond=1e-12, hermitian=True)
        total = np.einsum("ji,jk,ki->i", force, inverse, force)
        size = np.einsum("ai,ab,bi->i", unit, self.part.M, unit)
        return np.where(total > 1e-10 * size, total, 0.0)
