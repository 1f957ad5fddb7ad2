"""What all shapes have in common: a place on a body, and a colour."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, did_you_mean, integer, rotation, shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.frozen import read_only

#: Points (p, 3) and triangles (t, 3) between them, by their numbers.
Triangles = tuple[Array, np.ndarray]

#: Names of colours that are accepted in addition to #rrggbb.
NAMED = {
    "white": "#ffffff",
    "black": "#000000",
    "grey": "#808080",
    "silver": "#c0c0c0",
    "red": "#d62728",
    "orange": "#ff7f0e",
    "gold": "#d4a017",
    "yellow": "#f0d000",
    "green": "#2ca02c",
    "blue": "#1f77b4",
    "navy": "#1b2a6b",
    "purple": "#9467bd",
}


@dataclass(frozen=True, eq=False, kw_only=True)
class Shape(ABC):
    """The base class of all shapes.

    Parameters
    ----------
    at : position of its centre in the frame of the body, or of the node, m.
    rotation : 3 x 3; the columns are its axes in that frame.
    node : a node of a flexible body that carries the shape: it moves and rotates with the node as one piece.  By
        default a shape bends with its body.
    colour : "#rrggbb", (r, g, b) from 0 to 1, or one of a few names; by default the colour of the body.
    """

    #: its name in files
    kind: ClassVar[str]

    at: Any = field(default=(0.0, 0.0, 0.0))
    rotation: Any = None
    node: str | int | None = None
    colour: Any = None

    def __post_init__(self) -> None:
        hint = f"It places the {self.kind}."
        put = object.__setattr__
        put(self, "at", array("at", self.at, (3,), hint))
        turn = np.eye(3) if self.rotation is None else self.rotation
        put(self, "rotation", rotation("rotation", turn, hint))
        if self.node is not None and not isinstance(self.node, str) and integer(self.node) is None:
            raise ArgumentTypeError(
                f"node of a {self.kind} must be the name or number of a node, got {shown(self.node)}."
            )
        put(self, "colour", None if self.colour is None else colour_of(self.colour))
        self._check()
        read_only(self)

    @abstractmethod
    def _check(self) -> None:
        """Check and keep the sizes."""

    def placed(self, points: Array) -> Array:
        """Transform points from the frame of the shape to that of its body or node."""
        return points @ self.rotation.T + self.at

    @abstractmethod
    def triangles(self) -> Triangles:
        """Return the surface in the frame of the body or node."""

    def sizes(self) -> dict[str, Any]:
        """The arguments of the shape other than place and colour, by name."""
        common = {f.name for f in fields(Shape)}
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in common}


def colour_of(given: Any) -> str:
    """A colour as "#rrggbb"."""
    if isinstance(given, str):
        if re.fullmatch(r"#[0-9a-fA-F]{6}", given):
            return given.lower()
        if given in NAMED:
            return NAMED[given]
        raise ArgumentValueError(
            f"colour={shown(given)} must be #rrggbb or one of {', '.join(NAMED)}. {did_you_mean(given, NAMED)}"
        )
    parts = array("colour", given, (3,), "Give #rrggbb, or (r, g, b) from 0 to 1.")
    if parts.min() < 0.0 or parts.max() > 1.0:
        raise ArgumentValueError(f"colour={shown(given)} must have numbers from 0 to 1.")
    return "#" + "".join(f"{round(255.0 * x):02x}" for x in parts)


def shapes_of(owner: str, given: Shape | Iterable[Shape] | None) -> tuple[Shape, ...]:
    """The shapes of a body, one or several, checked; `owner` is for the message."""
    if given is None:
        return ()
    if isinstance(given, Shape):
        return (given,)
    try:
        found = tuple(given)
    except TypeError:
        found = (given,)  # type: ignore[assignment]
    for shape in found:
        if not isinstance(shape, Shape):
            raise ArgumentTypeError(
                f"shapes of {owner!r} must be shapes such as lb.shapes.Box((1, 0.2, 0.1)), got {shown(shape)}."
            )
    return found


def between(start: ArrayLike, end: ArrayLike) -> tuple[float, Array, Array]:
    """The length, the middle, and a rotation whose z axis runs from `start` to `end`."""
    a, b = (array(name, x, (3,)) for name, x in (("start", start), ("end", end)))
    along = b - a
    length = float(np.linalg.norm(along))
    if length == 0.0:
        raise ArgumentValueError(f"start and end are both {shown(start)}: give two points.")
    z = along / length
    x = np.cross(np.eye(3)[int(np.abs(z).argmin())], z)
    x /= np.linalg.norm(x)
    return length, 0.5 * (a + b), np.column_stack([x, np.cross(z, x), z])
