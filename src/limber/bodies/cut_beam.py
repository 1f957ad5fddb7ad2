"""Cut beams: the parts of a beam between sections as bodies of their own, which move exactly as in the whole beam.

Every part has the frame, the modes and the nodes of the beam, and the mass between two sections.  The wrenches that the
parts beyond a section need for their motion sum up to what the section carries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from limber.bodies.beam import axis_points, beam_nodes, mass_points, shapes_of
from limber.bodies.flexible import FlexibleBody
from limber.bodies.quadrature import gauss_legendre
from limber.bodies.recipe import BeamRecipe
from limber.bodies.shapes import Shapes
from limber.checks import Array


@dataclass(frozen=True, eq=False)
class CutBeam:
    """A beam cut at n sections.

    parts : n + 1 bodies, from the root to the tip.  They have no stiffness and no damping, which are forces inside the
        beam.
    part_of : the number of the part to which each node of the beam belongs, and the body frame, which comes last.
    sections : the points of the axis at the sections.
    axes : (3, 3), the axes of the undeformed beam are its columns.
    """

    parts: tuple[FlexibleBody, ...]
    part_of: np.ndarray
    sections: Shapes
    axes: Array


@lru_cache(maxsize=16)
def cut_beam(recipe: BeamRecipe, x: tuple[float, ...]) -> CutBeam:
    """The beam cut at x, which must increase.

    A node at a section belongs to the part beyond it, except for the root.
    """
    along, shapes = shapes_of(recipe)
    cuts, length, bent = np.array(x), recipe.length, recipe.geometric_stiffening
    at, share = _between(cuts, length, max(count for _, count in recipe.modes))
    R = np.eye(3) if recipe.rotation is None else np.array(recipe.rotation)
    shift = np.zeros(3) if recipe.offset is None else np.array(recipe.offset)
    owner = np.searchsorted(cuts, at)
    nodes = beam_nodes(length, shapes, recipe.elements, bent)
    x_nodes = nodes.position[:, 0]
    part_of = np.searchsorted(cuts, x_nodes + 1e-9 * length, side="right")
    part_of[x_nodes == 0.0] = 0
    nodes = replace(nodes, shapes=nodes.shapes.placed(R, shift))
    zero = np.zeros((len(shapes), len(shapes)))
    parts = []
    for i in range(len(cuts) + 1):
        points = mass_points(along, shapes, at[owner == i], share[owner == i], bent)
        parts.append(FlexibleBody(points.placed(R, shift), nodes, zero, zero))
    sections = axis_points(shapes, cuts, length, bent).placed(R, shift)
    return CutBeam(tuple(parts), np.append(part_of, 0), sections, R)


def _between(x: Array, length: float, most: int) -> tuple[Array, Array]:
    """Gauss points between the cuts and their shares of the length, for shapes of up to so many modes of a kind."""
    ends = np.unique(np.clip([0.0, *x, length], 0.0, length))
    parts = np.diff(ends)
    # as many as on the whole beam for long parts, fewer for short ones
    found = [gauss_legendre(16 + int((32 + 8 * most) * part / length)) for part in parts]
    at = [start + 0.5 * part * (1.0 + xi) for start, part, (xi, _) in zip(ends[:-1], parts, found)]
    share = [0.5 * part / length * weight for part, (_, weight) in zip(parts, found)]
    return np.concatenate(at), np.concatenate(share)
