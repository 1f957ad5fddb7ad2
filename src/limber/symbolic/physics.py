"""The physics of joints in two parts: the part that is polynomial in q and p, and friction and stops, which have roots.

Armature, springs and dampers enter M, the potential and C through the kernels on polynomials.  Friction and
stops are `physics.joint_forces`, run on SymPy's scalars with nothing else left in the physics records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import sympy as sp

from limber.kernels import layout as L
from limber.symbolic.exact import exact_expression
from limber.symbolic.kernels import KERNELS

#: The entries of a physics record that enter the polynomials.
POLYNOMIAL = (L.PH_ARMATURE, L.PH_STIFFNESS, L.PH_REST, L.PH_DAMPING)
RESISTANCE = tuple(i for i in range(L.PHYSICS_RECORD) if i not in POLYNOMIAL)


def records(topo: np.ndarray) -> Iterator[tuple[int, int]]:
    """For every joint speed with physics its place in v, in the order of the kernels, and that of its record."""
    for k in range(L.COLUMNS, topo[L.END], L.COLUMNS):
        if topo[k + L.PHYSICS]:
            for r in range(topo[k + L.DOFS]):
                yield int(topo[k + L.V_JOINT] + r), int(topo[k + L.PHYSICS] + r * L.PHYSICS_RECORD)


def without_resistance(topo: np.ndarray, const: Iterable) -> tuple[np.ndarray, list]:
    """topo and const without friction and stops."""
    topo = topo.copy()
    for k in range(L.COLUMNS, topo[L.END], L.COLUMNS):
        topo[[k + L.HAS_FRICTION, k + L.HAS_STOPS]] = 0
    return topo, _without(RESISTANCE, topo, const)


def resistance(topo: np.ndarray, const: Iterable, q: Any, p: Any) -> list[sp.Expr]:
    """The forces of friction and stops, in the order of the kernels, as are the symbols q and p."""
    bare = _without(POLYNOMIAL, topo, const)
    for _, start in records(topo):
        for i in range(start, start + L.PHYSICS_RECORD):
            bare[i] = exact_expression(bare[i])
    out = [0.0] * len(p)
    KERNELS.physics.joint_forces(topo, bare, None, q, p, out)
    return [exact_expression(x) for x in out]


def _without(entries: Sequence[int], topo: np.ndarray, const: Iterable) -> list:
    """const with zeros for these entries of the physics records."""
    const = list(const)
    for _, start in records(topo):
        for i in entries:
            const[start + i] = 0.0
    return const
