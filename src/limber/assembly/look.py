"""The shapes of a body for pictures, checked against the body."""

from __future__ import annotations

from collections.abc import Iterable

from limber.bodies import Body
from limber.bodies.line import line_of
from limber.errors import ArgumentValueError
from limber.shapes import Shape, Swept
from limber.shapes.shape import shapes_of


def checked_shapes(
    name: str, body: Body, given: Shape | Iterable[Shape] | None
) -> tuple[Shape, ...]:
    """The shapes of the body of that name: their nodes are nodes of it, and tubes and panels have a line to follow."""
    found = shapes_of(name, given)
    for shape in found:
        if shape.node is not None:
            body.node_set.index(f"shapes: node of a {shape.kind}", shape.node, f"body {name!r}")
        if isinstance(shape, Swept) and line_of(body) is None:
            raise ArgumentValueError(
                f"shapes of {name!r}: a {shape.kind} follows the line of a body, but the points of {name!r} do not "
                "lie on a line. Use a Box, a Cylinder or a Mesh."
            )
        if isinstance(shape, Swept) and shape.node is not None:
            raise ArgumentValueError(
                f"shapes of {name!r}: node={shape.node!r} of a {shape.kind}: it runs along the whole body. Omit node."
            )
    return found
