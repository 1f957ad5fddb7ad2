"""The parts of flexible bodies in files: the carrier of the mass, nodes, outlines, stiffness due to loads."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from limber.bodies.flexible import second_shapes
from limber.bodies.integrals import ModalIntegrals
from limber.bodies.load_stiffness import LoadStiffness
from limber.bodies.outline import Outline
from limber.bodies.shapes import Shapes
from limber.checks import array
from limber.errors import ArgumentValueError
from limber.io.cross_sections import Positive
from limber.io.document import Where
from limber.io.fields import Name, moments, numbers
from limber.io.section import Section
from limber.io.written import present


class PointsSection(Section):
    """Small rigid bodies that carry the mass, and their mode shapes."""

    mass: Annotated[Any, numbers(("n",))]
    position: Annotated[Any, numbers(("n", 3))]
    translation: Annotated[Any, numbers(("n", 3, "m"))]
    rotation: Annotated[Any, numbers(("n", 3, "m"))] | None = None
    inertia: Annotated[Any, moments("n")] | None = None
    com: Annotated[Any, numbers(("n", 3))] | None = None
    second: Annotated[Any, numbers(("n", 3, "m", "m"))] | None = None


class NodeShapesSection(Section):
    """Nodes without mass, at which other bodies attach."""

    names: list[Name]
    position: Annotated[Any, numbers(("n", 3))]
    translation: Annotated[Any, numbers(("n", 3, "m"))]
    rotation: Annotated[Any, numbers(("n", 3, "m"))]
    second: Annotated[Any, numbers(("n", 3, "m", "m"))] | None = None


class IntegralsSection(Section):
    """The mass of a flexible body as modal integrals, as `save` writes it for a reduced finite-element model."""

    mass: Positive
    S0: Annotated[Any, numbers((3,))]
    J0: Annotated[Any, numbers((6,))]
    E0: Annotated[Any, numbers(("m", 3))]
    F0: Annotated[Any, numbers(("m", 3))]
    J1: Annotated[Any, numbers(("m", 6))]
    G0: Annotated[Any, numbers(("m", "m"))]
    F1: Annotated[Any, numbers(("m", "m", 3))]
    J2: Annotated[Any, numbers(("m", "m", 6))]
    S2: Annotated[Any, numbers(("m", "m", 3))] | None = None
    G1: Annotated[Any, numbers(("m", "m", "m"))] | None = None

    def build(self, m: int) -> ModalIntegrals:
        """The integrals of m modes."""
        sizes = {"S0": (3,), "J0": (6,), "E0": (m, 3), "F0": (m, 3), "J1": (m, 6), "G0": (m, m)}
        sizes |= {"F1": (m, m, 3), "J2": (m, m, 6), "S2": (m, m, 3), "G1": (m, m, m)}
        hint = f"stiffness has {m} modes."
        given = {name: getattr(self, name) for name in sizes if getattr(self, name) is not None}
        arrays: dict[str, Any] = {
            name: array(name, x, sizes[name], hint) for name, x in given.items()
        }
        return ModalIntegrals(mass=self.mass, **arrays)


class OutlineSection(Section):
    """The outline of a body for pictures: points with their shapes, lines and triangles between them."""

    position: Annotated[Any, numbers(("p", 3))]
    translation: Annotated[Any, numbers(("p", 3, "m"))]
    rotation: Annotated[Any, numbers(("p", 3, "m"))] | None = None
    second: Annotated[Any, numbers(("p", 3, "m", "m"))] | None = None
    edges: Annotated[Any, numbers(("e", 2))] | None = None
    triangles: Annotated[Any, numbers(("t", 3))] | None = None

    def build(self, where: Where, m: int) -> Outline:
        """The outline of a body of m modes."""
        with where.checked():
            position = array("position", self.position, ("p", 3), "One point per row.")
            p = len(position)
            hint = f"There are {p} points and {m} modes."
            rotation = np.zeros((p, 3, m)) if self.rotation is None else self.rotation
            shapes = Shapes(
                position,
                array("translation", self.translation, (p, 3, m), hint),
                array("rotation", rotation, (p, 3, m), hint),
                second_shapes(self.second, p, m),
            )
            edges, triangles = (
                _numbers_of_points(name, getattr(self, name), width, p)
                for name, width in (("edges", 2), ("triangles", 3))
            )
        return Outline(shapes, edges, triangles)


def _numbers_of_points(name: str, given: Any, width: int, count: int) -> np.ndarray:
    """Rows of `width` numbers of points."""
    if given is None:
        return np.zeros((0, width), np.int64)
    values = array(name, given, ("e", width), "Numbers of points, from 0.")
    found = values.astype(np.int64)
    wrong = (found != values) | (found < 0) | (found >= count)
    if wrong.any():
        raise ArgumentValueError(
            f"{name} has {values[wrong][0]:g}: numbers of points are whole, from 0 to {count - 1}."
        )
    return found


class LoadStiffnessSection(Section):
    """The effect of loads on the stiffness of a body whose model leaves it out, for the warnings of `simulate`."""

    acceleration: Annotated[Any, numbers((3, "b", "b"))]
    angular: Annotated[Any, numbers((3, "b", "b"))]
    spin: Annotated[Any, numbers((3, 3, "b", "b"))]
    forces: Annotated[Any, numbers(("n", 3, "b", "b"))]

    def build(self, where: Where, n: int, m: int) -> LoadStiffness:
        """That of a body of n nodes and m modes."""
        with where.checked():
            b = np.shape(self.acceleration)[-1]
            if b not in (m, m + 6):
                raise ArgumentValueError(
                    f"acceleration has {b} columns; a body with {m} modes must have {m}, or {m + 6} with its rigid-body "
                    "motions."
                )
            sizes = {"acceleration": (3, b, b), "angular": (3, b, b), "spin": (3, 3, b, b)}
            sizes["forces"] = (n, 3, b, b)
            hint = f"The body has {n} nodes and {m} modes."
            given = {x: array(x, getattr(self, x), size, hint) for x, size in sizes.items()}
            return LoadStiffness(m, **given)


def outline_data(outline: Outline) -> dict[str, Any]:
    """An outline as files write it, without what is empty or zero."""
    data = present(outline, OutlineSection.model_fields)
    empty = {name for name in ("rotation", "edges", "triangles") if not np.any(data[name])}
    return {name: value for name, value in data.items() if name not in empty}
