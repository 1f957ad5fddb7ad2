"""Results of CalculiX (.frd): nodes, elements and mode shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike

import numpy as np

from limber.checks import Array, shown
from limber.errors import ModelWarning, warn
from limber.io.deck import Deck
from limber.io.elements import outline
from limber.io.sources import Source, number, whole_number
from limber.io.units import scales
from limber.notebook import as_text
from limber.short_repr import short_repr

#: Elements by their type in the file: what they are, corners, nodes.
_TYPES = {
    1: ("solid", 8, 8), 2: ("solid", 6, 6), 3: ("solid", 4, 4), 4: ("solid", 8, 20), 5: ("solid", 6, 15),
    6: ("solid", 4, 10), 7: ("surface", 3, 3), 8: ("surface", 3, 6), 9: ("surface", 4, 4), 10: ("surface", 4, 8),
    11: ("line", 2, 2), 12: ("line", 2, 3),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class FrdModes:
    """Mode shapes from an .frd file.

    names : names of the n nodes, which are their numbers.
    position : (n, 3), m.
    omega : (m,) rad/s.
    translation : (n, 3, m), mass-normalized as CalculiX writes them; the file has no rotations.
    edges, triangles : row numbers, for pictures; None if there are none.
    """

    __repr__ = short_repr

    names: tuple[str, ...]
    position: Array
    omega: Array
    translation: Array
    edges: np.ndarray | None
    triangles: np.ndarray | None

    _repr_html_ = as_text

    def __str__(self) -> str:
        """Return a table of the frequencies and of the node that moves most in each mode."""
        size = np.linalg.norm(self.translation, axis=1)  # (n, m)
        width = max(len("moves most at node"), *map(len, self.names))
        lines = [
            f"{len(self.names)} nodes",
            f"mode  {'rad/s':>12}  {'Hz':>12}  {'moves most at node':>{width}}",
        ]
        for i, omega in enumerate(self.omega):
            node = self.names[int(size[:, i].argmax())]
            lines.append(
                f"{i + 1:4d}  {omega:12.6g}  {omega / (2.0 * np.pi):12.6g}  {node:>{width}}"
            )
        return "\n".join(lines)


def read_frd(path: str | PathLike, *, units: str | tuple[float, float] = "m-kg") -> FrdModes:
    """Read the mode shapes from an .frd file of a *FREQUENCY step with *NODE FILE and U.

    path : the path of the file, in text format.
    units : units of the deck, as in `read_calculix`.

    The file has six digits and no masses, so it does not make a body by itself: compare its shapes with those of
    `read_calculix`, or pass them to `FlexibleBody.from_nodes` with node masses.
    """
    source, (length, mass) = Source(path), scales(units)
    deck = Deck()
    shapes = list(_blocks(source, deck))
    if not shapes:
        raise source.error(
            "the file contains no mode shapes: a *FREQUENCY step writes them with *NODE FILE and U."
        )
    n = len(deck.numbers)
    translation = np.zeros((n, 3, len(shapes)))
    for r, (_, shape) in enumerate(shapes):
        missing = [node for node in deck.numbers if node not in shape]
        if missing or len(shape) != n:
            raise source.error(
                f"mode {r + 1} has {len(shape)} of {n} nodes; node {missing[0] if missing else 'unknown'} is missing. Is "
                "the file cut off?"
            )
        translation[:, :, r] = [shape[node] for node in deck.numbers]
    rows = {node: i for i, node in enumerate(deck.numbers)}
    return FrdModes(
        tuple(map(str, deck.numbers)),
        length * deck.position,
        2.0 * np.pi * np.array([value for value, _ in shapes]),
        translation / np.sqrt(mass),  # a mode of modal mass 1 in the units of mass and in kilograms
        *outline(deck.elements, rows),
    )


def frd_geometry(source: Source) -> Deck:
    """Nodes and elements of a file .frd."""
    deck = Deck()
    for _ in _blocks(source, deck, geometry_only=True):
        pass
    return deck


def _blocks(
    source: Source, deck: Deck, geometry_only: bool = False
) -> Iterator[tuple[float, dict[int, Array]]]:
    """Fill `deck` and give (frequency in Hz, displacements by node) of each mode."""
    lines = iter(enumerate(source.text().splitlines(), 1))
    ended, others = False, set()
    for line, text in lines:
        key = text[:6].strip()
        if key == "2C":
            _check_format(source, text, line)
            for at, row in _rows(source, lines, "the node table"):
                node, values = _values(source, row, at)
                deck.numbers.append(node)
                deck.places.append(values)
        elif key == "3C":
            _check_format(source, text, line)
            _elements(source, lines, deck)
        elif key == "100C":
            if geometry_only:
                return
            _check_format(source, text, line)
            modal = "MODAL" in text.upper()
            frequency = number(source, text[12:24], line, "the frequency of a mode")
            name_line, name = next(lines, (line, ""))
            what = name[5:13].strip().upper()
            if not name.lstrip().startswith("-4"):
                raise source.error(
                    "a block of results must start with -4. Is the file cut off?", name_line
                )
            shape = {}
            for at, row in _rows(source, lines, f"the block of results {shown(what)}"):
                if what == "DISP" and modal:
                    node, values = _values(source, row, at)
                    shape[node] = values
            if what == "DISP" and modal:
                yield frequency, shape
            else:
                others.add(what)
        elif key == "9999":
            ended = True
    if not ended:
        raise source.error(
            "the file ends without its last line 9999: it is cut off. Run the job again."
        )
    if others:
        warn(
            f"{source.path}: ignored: results {', '.join(sorted(others))}; only displacements of modes are read.",
            ModelWarning,
        )


def _check_format(source: Source, text: str, line: int) -> None:
    """Blocks are in text with ten digits for a node (format 1); binary ones are rejected."""
    if text[73:75].strip() not in ("0", "1"):
        raise source.error(
            "the block is binary or in an unknown format: write results with *NODE FILE (in text), not *NODE OUTPUT.",
            line,
        )


def _rows(source: Source, lines: Iterator[tuple[int, str]], what: str) -> Iterator[tuple[int, str]]:
    """The lines -1 and -2 of a block up to its end, -3."""
    for line, text in lines:
        key = text[:3].strip()
        if key == "-3":
            return
        if key in ("-1", "-2"):
            yield line, text
        elif key not in ("-4", "-5"):
            raise source.error(f"{what} has the line {shown(text)}. Is the file complete?", line)
    raise source.error(f"{what} does not end with -3: the file is cut off. Run the job again.")


def _values(source: Source, row: str, line: int) -> tuple[int, Array]:
    """Node and three numbers of twelve characters."""
    node = whole_number(source, row[3:13], line, "the number of a node")
    texts = row[13:25], row[25:37], row[37:49]
    return node, np.array([number(source, x, line, f"a value of node {node}") for x in texts])


def _elements(source: Source, lines: Iterator[tuple[int, str]], deck: Deck) -> None:
    """The element table."""
    known = set(deck.numbers)
    kind: tuple[str, int, int] | None = None
    nodes: list[int] = []
    for line, row in _rows(source, lines, "the element table"):
        if row.startswith(" -1"):
            code = whole_number(source, row[13:18], line, "the type of an element")
            if code not in _TYPES:
                raise source.error(f"the element type {code} is not supported.", line)
            kind, nodes = _TYPES[code], []
            continue
        nodes += [whole_number(source, x, line, "a node of an element") for x in row[3:].split()]
        if kind is None or len(nodes) > kind[2] or not known.issuperset(nodes):
            raise source.error("an element has too many nodes, or nodes without a position.", line)
        if len(nodes) == kind[2]:
            deck.elements.append((kind[0], kind[1], nodes))
