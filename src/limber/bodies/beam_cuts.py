"""Cut beams: additional modes that move the part outboard of a section as a rigid body.

The generalized force of such a mode, with the mode held at zero, is the work of the section force on a unit
displacement or rotation of the cut.  By virtual work it is the force that the inboard part exerts, whatever the
outboard part carries and however it moves.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from limber.bodies.beam import beam_nodes, mass_points, shapes_of
from limber.bodies.flexible import FlexibleBody
from limber.bodies.nodes import Nodes
from limber.bodies.points import MassPoints
from limber.bodies.quadrature import gauss_legendre
from limber.bodies.recipe import BeamRecipe
from limber.bodies.shapes import Shapes
from limber.checks import Array


@lru_cache(maxsize=16)
def cut_beam(recipe: BeamRecipe, x: tuple[float, ...], components: tuple[int, ...]) -> FlexibleBody:
    """The beam with further modes that cut it at x: those of the first section come first, one for each of the section
    forces `components`, by number.

    A node at a section belongs to the part outboard, except for the root.  The beam has no stiffness and no damping, which
    do no work on a cut.
    """
    along, shapes = shapes_of(recipe)
    cuts = np.array(x)
    stations, share = _between_cuts(cuts, recipe.length, max(count for _, count in recipe.modes))
    carrier = mass_points(along, shapes, stations, share, recipe.geometric_stiffening)
    nodes = beam_nodes(recipe.length, shapes, recipe.elements, recipe.geometric_stiffening)
    R = np.eye(3) if recipe.rotation is None else np.array(recipe.rotation)
    shift = np.zeros(3) if recipe.offset is None else np.array(recipe.offset)
    placed = carrier.placed(R, shift)
    sections = cuts[:, None] * R[:, 0] + shift
    at_nodes = nodes.position[:, :1]
    at_node = (at_nodes >= cuts - 1e-9 * recipe.length) & (at_nodes > 0.0)
    cut_points, cut_nodes = (
        _moved(points, outboard, R, sections, components)
        for points, outboard in (
            (placed.shapes, stations[:, None] > cuts),
            (nodes.shapes.placed(R, shift), at_node),
        )
    )
    zero = np.zeros((cut_nodes.modes, cut_nodes.modes))
    points = MassPoints(placed.mass, cut_points, placed.inertia, placed.com)
    return FlexibleBody(points, Nodes(nodes.names, cut_nodes), zero, zero)


def _between_cuts(x: Array, length: float, most: int) -> tuple[Array, Array]:
    """Gauss points between the cuts and their shares of the length, for shapes of up to so many modes of a kind."""
    ends = np.unique(np.clip([0.0, *x, length], 0.0, length))
    parts = np.diff(ends)
    # as many as on the whole beam for long parts, fewer for short ones
    found = [gauss_legendre(16 + int((32 + 8 * most) * part / length)) for part in parts]
    at = [start + 0.5 * part * (1.0 + xi) for start, part, (xi, _) in zip(ends[:-1], parts, found)]
    share = [0.5 * part / length * weight for part, (_, weight) in zip(parts, found)]
    return np.concatenate(at), np.concatenate(share)


def _moved(
    points: Shapes, outboard: np.ndarray, R: Array, sections: Array, components: tuple[int, ...]
) -> Shapes:
    """Points with further modes that move those outboard (n, sections) along or about the axes of the beam, columns of R."""
    n, m = len(points), points.modes
    moves, turns = np.zeros((2, n, 3, len(sections), len(components)))
    lever = points.position[:, None] - sections  # (n, sections, 3)
    for i, component in enumerate(components):
        axis = R[:, component % 3]
        if component < 3:
            moves[..., i] = axis[:, None]
        else:
            turns[..., i] = axis[:, None]
            moves[..., i] = np.swapaxes(np.cross(axis, lever), 1, 2)
    moves, turns = ((x * outboard[:, None, :, None]).reshape(n, 3, -1) for x in (moves, turns))
    second = None
    if points.second is not None:
        total = m + moves.shape[2]
        second = np.zeros((n, 3, total, total))
        second[:, :, :m, :m] = points.second
    return Shapes(
        points.position,
        np.concatenate([points.translation, moves], axis=2),
        np.concatenate([points.rotation, turns], axis=2),
        second,
    )
