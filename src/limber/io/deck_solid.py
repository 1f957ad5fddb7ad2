"""The geometric stiffness of solids in a deck, from its elements and material; the stored matrices do not have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from limber.bodies.section import Material
from limber.checks import Array
from limber.io.deck import Deck

#: Corners and order of the elements by their number of nodes.
_CELLS = {4: (4, 1), 10: (4, 2), 8: (8, 1), 20: (8, 2)}


@dataclass(frozen=True)
class DeckSolid:
    """The geometric stiffness of the stresses that displacements (3 n,) of solid elements cause.

    position : (n, 3), m.
    cells : (e, k) numbers of nodes, one table for each number k of nodes of an element.
    material : isotropic; its density is not used.
    """

    position: Array
    cells: tuple[np.ndarray, ...]
    material: Material

    @cached_property
    def _elements(self) -> list[Any]:
        from limber.structures.cells import cell_of  # noqa: PLC0415 (the extra `mesh`)
        from limber.structures.solid_elements import SolidElements  # noqa: PLC0415

        return [
            SolidElements(
                self.position,
                cells,
                cell_of(*_CELLS[cells.shape[1]], cells.shape[1] == 20),
                self.material,
            )
            for cells in self.cells
        ]

    def __call__(self, u: Array) -> sp.csr_array:
        """K_g (3 n, 3 n) of displacements u."""
        return sum(
            (elements.geometric(u) for elements in self._elements[1:]),
            self._elements[0].geometric(u),
        )


def deck_solid(
    deck: Deck, rows: Mapping[int, int], position: Array, scales: tuple[float, float]
) -> DeckSolid | None:
    """That of a deck whose elements are all solids of one isotropic material; None for others.

    rows : the row of each node in `position`.
    scales : metres and kilograms in the units of the deck.
    """
    length, mass = scales
    tables: dict[int, list[list[int]]] = {}
    for kind, _, nodes in deck.elements:
        if kind != "solid" or len(nodes) not in _CELLS or any(node not in rows for node in nodes):
            return None
        tables.setdefault(len(nodes), []).append([rows[node] for node in nodes])
    if len(deck.elastic) != 1 or deck.elastic[0] is None or not tables:
        return None
    E, nu = deck.elastic[0]
    if not (E > 0.0 and -1.0 < nu < 0.5):
        return None
    material = Material(E=E * mass / length, nu=nu, rho=1.0)
    return DeckSolid(position, tuple(np.array(table) for table in tables.values()), material)
