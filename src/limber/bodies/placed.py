"""A flexible body seen from another frame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from limber.bodies.flexible import FlexibleBody
from limber.bodies.variation import varied
from limber.checks import array
from limber.checks import rotation as rotation_matrix


def placed(
    body: FlexibleBody, offset: ArrayLike | None = None, rotation: ArrayLike | None = None
) -> FlexibleBody:
    """`body` in another body frame: its old origin is at `offset`, its old axes are the columns of `rotation`.

    Use it if the frame is given, as in a URDF, and a beam does not lie along its x axis.  None means no
    translation or no rotation.
    """
    shift = array("offset", np.zeros(3) if offset is None else offset, (3,))
    R = rotation_matrix("rotation", np.eye(3) if rotation is None else rotation)
    if body.nominal is not body:
        return varied(placed(body.nominal, offset, rotation), body.variation)
    nodes, recipe = body.nodes, body.recipe
    if recipe is not None:
        if recipe.offset is None and recipe.rotation is None:
            recipe = replace(
                recipe,
                offset=None if offset is None else tuple(shift.tolist()),
                rotation=None if rotation is None else tuple(map(tuple, R.tolist())),
            )
        else:
            recipe = None  # a recipe has one placement, and this is the second
            body = body.with_recovery(body.recovered())
    recovery = body.recovery
    if recovery is not None and recovery.beam is not None:
        recovery = replace(recovery, beam=recovery.beam.placed(R, shift))
    return FlexibleBody(
        body.carrier.placed(R, shift),
        replace(nodes, shapes=nodes.shapes.placed(R, shift)),
        body.stiffness,
        body.damping,
        recipe,
        None if body.reduced_from is None else body.reduced_from.placed(R, shift),
        None if body.outline is None else body.outline.placed(R, shift),
        recovery,
        None if body.load_stiffness is None else body.load_stiffness.placed(R, shift),
    )
