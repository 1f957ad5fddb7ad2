"""Names for the numbers of a body: its modal integrals, mass properties and node shapes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product

import numpy as np
import sympy as sp

from limber.assembly.pack import Attachment, Packed
from limber.kernels import layout as L

#: Numbers of one kind that are this much smaller than the largest are rounding.
ROUNDING = 1e-12
_AXES = "xyz"
_UPPER = ("xx", "xy", "xz", "yy", "yz", "zz")


def name_constants(
    packed: Packed, items: list[Attachment], named: Collection[str]
) -> tuple[list, dict[sp.Symbol, float]]:
    """The constants with symbols for the numbers of the bodies `named`, and the values of the symbols.

    Equal numbers of one kind share a symbol, opposite ones differ by sign.  Zeros and the unit modal masses
    of normalized modes stay numbers.
    """
    const = list(packed.const)
    values: dict[sp.Symbol, float] = {}
    topo = packed.topo.reshape(-1, L.COLUMNS)
    for k, item in enumerate(items, start=1):
        if item.name in named:
            for places, labels in _blocks(packed.topo, topo[k], packed.records[k], item):
                _name(const, places, [f"{label}_{item.name}" for label in labels], values)
    return const, values


def _name(const: list, places: Sequence[int], labels: list[str], values: dict) -> None:
    """Symbols for one kind of numbers."""
    numbers = [const[i] for i in places]
    largest = max((abs(x) for x in numbers if isinstance(x, float)), default=0.0)
    known: list[tuple[float, sp.Symbol]] = []
    for i, x, label in zip(places, numbers, labels):
        if not isinstance(x, float):
            continue  # symbolic already
        if abs(x) <= ROUNDING * largest:
            const[i] = 0.0
            continue
        if label.startswith("G_") and abs(x - 1.0) <= ROUNDING:  # a mass-normalized mode
            const[i] = 1.0
            continue
        for value, symbol in known:
            if abs(abs(x) - abs(value)) <= ROUNDING * abs(value):
                const[i] = symbol if x * value > 0 else -symbol
                break
        else:
            const[i] = symbol = sp.Symbol(label)
            known.append((x, symbol))
            values[symbol] = float(x)


def _blocks(
    topo: np.ndarray, row: np.ndarray, records: dict, item: Attachment
) -> Iterator[tuple[Sequence[int], list[str]]]:
    """The kinds of numbers of a body: where they lie in `const`, and a label for each."""
    c, m = int(row[L.CONST]), int(row[L.MODES])
    yield range(c + L.C_MASS, c + L.C_MASS + 1), ["m"]
    yield range(c + L.C_MOMENT, c + L.C_MOMENT + 3), [f"S_{a}" for a in _AXES]
    yield range(c + L.C_INERTIA, c + L.C_INERTIA + 6), [f"J_{a}" for a in _UPPER]
    if m:
        yield from _modal_blocks(topo, row, m)
    names = item.body.node_set.names
    starts = [(start, names[node]) for node, start in records.items() if node is not None]
    for offset, letter in ((0, "phi"), (3, "u")):
        places, labels = [], []
        for start, node in starts:
            for r, (i, axis) in product(range(m), enumerate(_AXES)):
                places.append(start + L.NODE_SHAPES + 6 * r + offset + i)
                labels.append(f"{letter}{r + 1}{axis}_{node}")
        yield places, labels
    yield (
        [start + i for start, _ in starts for i in range(3)],
        [f"{axis}_{node}" for _, node in starts for axis in _AXES],
    )


def _modal_blocks(topo: np.ndarray, row: np.ndarray, m: int) -> Iterator[tuple[range, list[str]]]:
    """The kinds of modal integrals, in the order of `layout`."""
    start = int(row[L.MODAL])
    modes = [str(r + 1) for r in range(m)]
    entries = [a + b for a, b in product(_AXES, _AXES)]
    kinds: list[tuple[str, list]] = [
        ("G", [modes, modes]),
        ("K", [modes, modes]),
        ("D", [modes, modes]),
        ("FE", [modes, [*(f"F{a}" for a in _AXES), *(f"E{a}" for a in _AXES)]]),
        ("N", [modes, entries]),
        ("F1", [modes, modes, _AXES]),
    ]
    if row[L.SECOND]:
        kinds += [("S2", [modes, modes, _AXES]), ("G1", [modes, modes, modes])]
    for kind, axes in kinds:
        indices = list(product(*axes))
        labels = [f"{kind}_{''.join(i)}" for i in indices]
        if kind == "FE":  # F and E are two kinds, side by side
            labels = [f"{letter[0]}_{r}{letter[1]}" for r, letter in indices]
        yield range(start, start + len(indices)), labels
        start += len(indices)
    pairs, at = [], int(row[L.PAIRS])
    for r in modes:
        count = int(topo[at])
        pairs += [f"{r}{s + 1}" for s in topo[at + 1 : at + 1 + count]]
        at += 1 + count
    labels = [f"N1_{pair}{entry}" for pair, entry in product(pairs, entries)]
    yield range(start, start + len(labels)), labels
