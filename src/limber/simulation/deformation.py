"""The deformation of bodies over time: displacements of nodes, and the strains of gauges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limber.checks import Array, shown
from limber.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from limber.simulation.result import Result


def deflection(result: Result, body: str, node: str | int) -> Array:
    """The displacement of a node from its undeformed place, (n, 3), in the axes of its body."""
    s = result.system
    number = None if node is None else s.node_number(body, node)
    if number is None:
        raise ArgumentTypeError(
            f"node must be a node of body {body!r}, by name or number, got None: the body frame does not deform."
        )
    shapes = s.bodies[body].node_set.shapes[[number]]
    return shapes.displacements(result.modal(body))[:, 0]


def strain(result: Result, body: str, gauge: str | None) -> Array:
    """The strain that the gauges of a body show, (n, gauges), or one of them, (n,)."""
    result.system.number(body)
    recovery = result.system.bodies[body].recovery
    if recovery is None or recovery.strain is None:
        raise ArgumentValueError(
            f"body {body!r} has no strain gauges. Give strain=... to FlexibleBody.from_nodes or Structure.reduce; for "
            "beams and frames, section_forces gives the strains."
        )
    if gauge is None:
        return result.modal(body) @ recovery.strain.T
    if gauge not in recovery.gauges:
        known = ", ".join(map(repr, recovery.gauges))
        raise ArgumentValueError(
            f"gauge={shown(gauge)} is not a gauge of body {body!r}; its gauges are: {known}."
        )
    return result.modal(body) @ recovery.strain[recovery.gauges.index(gauge)]
