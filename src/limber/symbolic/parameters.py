"""Names for the numbers of a body: its modal integrals, mass properties and node shapes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product

import numpy as np
import sympy as sp

from limber.assembly import modal
from limber.assembly.pack import Attachment, Packed
from limber.bodies.shapes import record_labels
from limber.errors import ArgumentValueError
from limber.kernels import layout as L

#: Numbers of one kind that are this much smaller than the largest are rounding.
ROUNDING = 1e-12
_AXES = "xyz"
#: The axes of the integrals: m is a mode, 3 a component.
_INTEGRALS = {name: axes for name, (_, axes) in L.MODAL_SHAPES.items() if name != "FE0"} | {
    "F0": "m3",
    "E0": "m3",
    "N1": "mm33",
}
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
    for k, item in enumerate(items, start=1):
        if item.name in named:
            for places, labels in _blocks(packed.topo, k * L.COLUMNS, packed.records[k], item):
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
            if symbol in values:
                raise ArgumentValueError(
                    f"two numbers would be named {label!r}: give the bodies or nodes in it other names, or leave a "
                    "body out of named=."
                )
            known.append((x, symbol))
            values[symbol] = float(x)


def _blocks(
    topo: np.ndarray, k: int, records: dict, item: Attachment
) -> Iterator[tuple[Sequence[int], list[str]]]:
    """The kinds of numbers of a body: where they lie in `const`, and a label for each."""
    c, m = int(topo[k + L.CONST]), int(topo[k + L.MODES])
    yield range(c + L.C_MASS, c + L.C_MASS + 1), ["m"]
    yield range(c + L.C_MOMENT, c + L.C_MOMENT + 3), [f"S_{a}" for a in _AXES]
    yield range(c + L.C_INERTIA, c + L.C_INERTIA + 6), [f"J_{a}" for a in _UPPER]
    if m:
        yield from _modal_blocks(topo, k)
    names = item.body.node_set.names
    starts = [(start, names[node]) for node, start in records.items() if node is not None]
    labelled = [
        [[(start + i, label) for i, label in kind] for kind in record_labels(node, m)]
        for start, node in starts
    ]
    for kind in zip(*labelled):  # of all nodes
        yield [i for node in kind for i, _ in node], [label for node in kind for _, label in node]


def _modal_blocks(topo: np.ndarray, k: int) -> Iterator[tuple[range, list[str]]]:
    """The kinds of modal integrals; F0 and E0 are one."""
    pairs, second = modal.pairs_of(topo, k), bool(topo[topo[k + L.MODAL] + L.SECOND])
    labels = modal.block(_modal_labels(int(topo[k + L.MODES])), pairs, second)
    for name, place in modal.places(topo, k).items():
        yield range(place.start, place.stop), labels[name].tolist()


def _modal_labels(m: int) -> dict[str, np.ndarray]:
    """A label for every number of the modal integrals, such as N1_12xy; N1_1_12xy of ten modes and more."""
    between = "" if m < 10 else "_"
    names = {"m": [f"{between}{r + 1}" for r in range(m)], "3": list(_AXES)}
    found = {}
    for kind, axes in _INTEGRALS.items():
        letter = kind.removesuffix("0")
        labels = [
            f"{letter}_{''.join(i).removeprefix('_')}" for i in product(*(names[a] for a in axes))
        ]
        shape = [len(names[a]) for a in axes]
        found[kind] = np.array(labels, dtype=object).reshape(shape)
    return found
