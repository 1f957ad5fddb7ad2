"""A flexible body seen from another frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.flexible import FlexibleBody
from limber.bodies.integrals import MassPoints
from limber.bodies.nodes import Nodes
from limber.checks import Array, array
from limber.checks import rotation as rotation_matrix


def placed(
    body: FlexibleBody, offset: ArrayLike | None = None, rotation: ArrayLike | None = None
) -> FlexibleBody:
    """`body` in another body frame: its old origin lies at `offset`, its old axes are the columns of
    `rotation`.

    Use it if the frame is given, as in a URDF, and a beam does not lie along its x axis.  None means no
    translation or no rotation.
    """
    shift = array("offset", np.zeros(3) if offset is None else offset, (3,))
    R = rotation_matrix("rotation", np.eye(3) if rotation is None else rotation)
    points, nodes, recipe = body.points, body.nodes, body.recipe
    if recipe is not None:
        if recipe.offset is None and recipe.rotation is None:
            recipe = replace(
                recipe,
                offset=None if offset is None else tuple(shift.tolist()),
                rotation=None if rotation is None else tuple(map(tuple, R.tolist())),
            )
        else:
            recipe = None  # a recipe has one placement, and this is the second
    return FlexibleBody(
        MassPoints(
            points.mass,
            _turn(R, points.position) + shift,
            _shapes(R, points.translation),
            _shapes(R, points.rotation),
            R @ points.inertia @ R.T,
            _turn(R, points.com),
        ),
        Nodes(
            nodes.names,
            _turn(R, nodes.position) + shift,
            _shapes(R, nodes.translation),
            _shapes(R, nodes.rotation),
        ),
        body.stiffness,
        body.damping,
        recipe,
    )


def _turn(R: Array, vectors: Array) -> Array:
    return np.einsum("ij,nj->ni", R, vectors)


def _shapes(R: Array, shapes: Array) -> Array:
    return np.einsum("ij,njm->nim", R, shapes)
