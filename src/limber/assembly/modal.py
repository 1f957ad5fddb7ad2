"""The modal constants of a body, part by part, as the kernels read them (`limber.kernels.layout`).

All code that writes, finds or names these numbers in `const` uses the columns of the modal row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from limber.kernels import layout as L

#: The column of each part in the modal row.
COLUMN = {name: column for name, (column, _) in L.MODAL_SHAPES.items()} | {"N1": L.M_N1}

Pairs = Sequence[np.ndarray]


def coupled(N1: np.ndarray) -> Pairs:
    """For each mode r, the modes s whose N1_rs is not zero."""
    return [np.flatnonzero(row.any(axis=(1, 2))) for row in N1]


def block(given: Mapping[str, np.ndarray], pairs: Pairs, second: bool) -> dict[str, np.ndarray]:
    """The parts of the modal constants as flat arrays, from numbers or labels given by the names of the integrals."""
    given = {**given, "FE0": np.hstack([given["F0"], given["E0"]])}
    parts = {name: given[name] for name in L.MODAL_SHAPES if second or name not in L.SECOND_ORDER}
    N1 = given["N1"]
    parts["N1"] = np.concatenate([_of_mode(N1[r], s).ravel() for r, s in enumerate(pairs)])
    return {name: part.ravel() for name, part in parts.items()}


def _of_mode(N1: np.ndarray, s: np.ndarray) -> np.ndarray:
    """The N1_rs of one mode r, (m, 3, 3), in the order of PAIRS or, if it is DENSE, in that of `modal.dense_sum`."""
    dense = len(s) == len(N1) >= L.DENSE
    return np.swapaxes(N1, 0, 1) if dense else N1[s]


def pairs_of(topo: np.ndarray, k: int) -> Pairs:
    """The result of `coupled` for the body whose row starts at topo[k]."""
    pairs, at = [], int(topo[topo[k + L.MODAL] + L.PAIRS])
    for _ in range(topo[k + L.MODES]):
        count = int(topo[at])
        pairs.append(topo[at + 1 : at + 1 + count])
        at += 1 + count
    return pairs


def inertial(topo: np.ndarray, k: int) -> list[tuple[Any, float]]:
    """The places in `const` of numbers that depend on all masses of a body, and the power of the masses in them."""
    c, m = int(topo[k + L.CONST]), int(topo[k + L.MODES])
    found: list[tuple[Any, float]] = [(slice(c + L.C_MASS, c + L.C_INERTIA + 6), 1)]
    if not m:
        return found
    row = int(topo[k + L.MODAL])
    found += [(where, 1) for name, where in places(topo, k).items() if name not in ("K", "D")]
    if topo[row + L.A_B]:
        sizes = {L.A_G0: m * m, L.A_FE0: 6 * m, L.A_F1: 3 * m * m}
        found += [(_block(topo, row, column, size), 1) for column, size in sizes.items()]
    if topo[L.RUTHLESS]:
        loads, rank = 6 * int(topo[row + L.LOADS]), int(topo[row + L.RANK])
        found.append((_block(topo, row, L.PRE_P, 21), 1))
        sizes = {L.PRE_LAMBDA: m * m, L.PRE_Y: m * loads, L.PRE_OMEGA: loads * loads}
        found += [(_block(topo, row, column, size), -1) for column, size in sizes.items()]
        found.append((_block(topo, row, L.PRE_C, loads * rank), -0.5))
    bent = int(topo[k + L.BENT])
    if bent and topo[bent + L.B_POINTS]:
        size = int(topo[bent + L.B_POINTS]) * L.CURVED_RECORD
        start = int(topo[bent + L.B_POINT]) + L.C_WEIGHT
        found.append((slice(start, start + size, L.CURVED_RECORD), 1))
    return found


def _block(topo: np.ndarray, row: int, column: int, size: int) -> slice:
    start = int(topo[row + column])
    return slice(start, start + size)


def block_place(topo: np.ndarray, k: int, name: str) -> slice:
    """The slice of `const` that holds one part of the modal constants of a body whose size is known from its modes."""
    column, axes = L.MODAL_SHAPES[name]
    return _block(topo, int(topo[k + L.MODAL]), column, math.prod(L.shape(axes, int(topo[k + L.MODES]))))  # fmt: skip


def places(topo: np.ndarray, k: int) -> dict[str, slice]:
    """The slices of `const` that hold the parts of the modal constants of a body, by name."""
    m, row = int(topo[k + L.MODES]), int(topo[k + L.MODAL])
    second = bool(topo[row + L.SECOND])
    sizes = {
        name: math.prod(L.shape(axes, m))
        for name, (_, axes) in L.MODAL_SHAPES.items()
        if second or name not in L.SECOND_ORDER
    }
    sizes["N1"] = 9 * sum(map(len, pairs_of(topo, k)))
    starts = {name: int(topo[row + COLUMN[name]]) for name in sizes}
    return {name: slice(start, start + sizes[name]) for name, start in starts.items()}
