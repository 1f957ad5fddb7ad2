"""Units of finite-element files: most do not state them, and Limber computes in SI."""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.checks import Array, number, shown
from limber.errors import ArgumentValueError

#: Metres and kilograms in the units of length and mass; times are in seconds.
KNOWN = {
    "m-kg": (1.0, 1.0),
    "mm-t": (1e-3, 1e3),
    "mm-kg": (1e-3, 1.0),
    "in-slinch": (0.0254, 175.12683524647636),
    "ft-slug": (0.3048, 14.593902937206364),
}


def scales(units: Any) -> tuple[float, float]:
    """Metres and kilograms in the units of length and mass of a file: a name of `KNOWN`, or the two numbers."""
    if isinstance(units, str):
        if units not in KNOWN:
            raise ArgumentValueError(
                f"units={units!r} is not known. Give one of {', '.join(map(repr, KNOWN))}, or (metres, kilograms) in the "
                "units of length and mass."
            )
        return KNOWN[units]
    if not isinstance(units, (tuple, list)) or len(units) != 2:
        raise ArgumentValueError(
            f"units must be one of {', '.join(map(repr, KNOWN))}, or (metres, kilograms) in the units of length and mass, "
            f"got {shown(units)}."
        )
    length, mass = (number(f"units[{i}]", x, above=0.0) for i, x in enumerate(units))
    return length, mass


def in_si(matrix: Any, turns: np.ndarray, length: float, mass: float) -> Any:
    """A mass or stiffness matrix in SI: energies grow by mass * length^2, displacements by length, rotations not.

    turns : which of the degrees of freedom are rotations (or, mass-normalized or not, without a dimension).
    """
    if length == 1.0 and mass == 1.0:
        return matrix
    each: Array = np.sqrt(mass) * np.where(turns, length, 1.0)
    if hasattr(matrix, "tocsr"):
        import scipy.sparse as sp  # noqa: PLC0415

        scale = sp.diags_array(each)
        return (scale @ matrix @ scale).tocsr()
    return matrix * np.outer(each, each)
