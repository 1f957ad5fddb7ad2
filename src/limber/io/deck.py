"""Input decks of CalculiX and Abaqus: their node and element tables and their node sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from limber.checks import Array, shown
from limber.io.elements import Element
from limber.io.node_sets import NodeSets
from limber.io.sources import Source, number, whole_number

#: Element types by the start of their name: what they are, corners, nodes.  Longer starts are looked up first.
TYPES = {
    "C3D4": ("solid", 4, 4), "C3D5": ("solid", 5, 5), "C3D6": ("solid", 6, 6), "C3D8": ("solid", 8, 8),
    "C3D10": ("solid", 4, 10), "C3D15": ("solid", 6, 15), "C3D20": ("solid", 8, 20),
    "S3": ("surface", 3, 3), "S4": ("surface", 4, 4), "S6": ("surface", 3, 6), "S8": ("surface", 4, 8),
    "STRI65": ("surface", 3, 6), "STRI3": ("surface", 3, 3),
    "M3D3": ("surface", 3, 3), "M3D4": ("surface", 4, 4), "M3D6": ("surface", 3, 6), "M3D8": ("surface", 4, 8),
    "B31": ("line", 2, 2), "B32": ("line", 2, 3), "B33": ("line", 2, 2), "T3D2": ("line", 2, 2), "T3D3": ("line", 2, 3),
    "SPRINGA": ("line", 2, 2), "SPRING2": ("line", 2, 2), "DASHPOTA": ("line", 2, 2),
    "SPRING1": ("point", 1, 1), "MASS": ("point", 1, 1), "ROTARYI": ("point", 1, 1),
}  # fmt: skip
#: Keywords that say nothing about where nodes and elements are, and that the stored matrices already include.
_SILENT = {
    "HEADING", "MATERIAL", "DENSITY", "DAMPING", "EXPANSION", "ELSET", "SURFACE", "FREQUENCY",
    "SOLID SECTION", "SHELL SECTION", "BEAM SECTION", "MEMBRANE SECTION", "MASS", "SPRING", "DASHPOT",
    "ORIENTATION", "NODE PRINT", "EL PRINT", "NODE FILE", "EL FILE", "NODE OUTPUT", "ELEMENT OUTPUT", "OUTPUT",
    "CONTACT FILE", "CONTACT PRINT", "RIGID BODY", "EQUATION", "MPC", "TIE", "COUPLING", "KINEMATIC",
    "DISTRIBUTING COUPLING", "DISTRIBUTING", "TRANSFORM", "PARAMETER", "PREPRINT", "RESTART", "MATRIX GENERATE",
    "MATRIX OUTPUT", "USER MATERIAL", "DEPVAR", "ROTARY INERTIA",
    "BOUNDARY", "AMPLITUDE", "INITIAL CONDITIONS",
}  # fmt: skip
#: Keywords that create or move nodes, which the reader does not support.
_PLACING = ("SYSTEM", "NGEN", "NFILL", "NCOPY", "NMAP")
#: Keywords whose tables are read and may be in a separate file in Abaqus.
_TABLES = ("NODE", "ELEMENT", "NSET")
#: Keywords that have an END.
_ENDED = ("STEP", "PART", "INSTANCE", "ASSEMBLY")
#: The largest number of files that a deck may include, nested or one after another.
_INCLUDES = 100


@dataclass
class Deck:
    """The geometry in a deck: nodes, their positions and sets, elements, rigid bodies, and what is fixed."""

    numbers: list[int] = field(default_factory=list)
    places: list[Array] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    sets: NodeSets = field(default_factory=NodeSets)
    turning: dict[int, int] = field(default_factory=dict)  # rotation node -> its reference node
    elastic: list[tuple[float, float] | None] = field(
        default_factory=list
    )  # E, nu of each; None: others
    fixed_at: int | None = None  # the line of the first *BOUNDARY
    opened: Counter[str] = field(default_factory=Counter)  # how often each of _ENDED comes
    ended: Counter[str] = field(default_factory=Counter)  # and its END

    @property
    def position(self) -> Array:
        """(n, 3) in the order of `numbers`."""
        return np.array(self.places).reshape(-1, 3)


def read_deck(source: Source) -> Deck:
    """The tables of an input deck, of the files that it includes too."""
    deck = Deck()
    known: set[int] = set()
    options: dict[str, str] = {}
    rest: list[str] = []
    keyword, need = "", 0
    for file, line, text in _lines(source):
        if text.startswith("*"):
            if rest:
                raise _cut(file, line, need, rest)
            words = [word.strip() for word in text[1:].split(",")]
            keyword = " ".join(words[0].upper().split())
            options = _options(words[1:])
            _start(source, file, line, keyword, options, deck)
            continue
        if keyword == "NODE":
            _node(file, line, text, deck, known)
            if "NSET" in options:
                deck.sets.add(options["NSET"].strip("\"'"), deck.numbers[-1:])
        elif keyword == "ELASTIC":
            _elastic(file, line, text, deck)
        elif keyword == "INSTANCE":
            if any(
                number(file, x, line, "a number of *INSTANCE") for x in text.split(",") if x.strip()
            ):
                raise file.error(
                    "*INSTANCE moves or turns its part: write a flat deck (in Abaqus, with 'Do not use parts and "
                    "assemblies'), so that its nodes are in the same positions as in the matrices.",
                    line,
                )
        elif keyword == "NSET" and "ELSET" not in options:
            deck.sets.read_line(file, line, text, options)
        elif keyword == "ELEMENT":
            kind, corners, need = _type(file, line, options)
            rest += [x for x in text.split(",") if x.strip()]
            if len(rest) <= need:
                continue
            nodes = [whole_number(file, x, line, "a node of an element") for x in rest[1:]]
            if len(nodes) != need:
                raise file.error(
                    f"element {rest[0].strip()} of type {options['TYPE']} has {need} nodes, got {len(nodes)}.",
                    line,
                )
            if kind != "point":
                deck.elements.append((kind, corners, nodes))
            rest = []
    if rest:
        raise _cut(file, line, need, rest)
    for keyword, count in deck.opened.items():
        if count != deck.ended[keyword]:
            raise source.error(
                f"there is a *{keyword} without its *END {keyword}. Is the file cut off?"
            )
    for _, _, used in deck.elements:
        missing = [node for node in used if node not in known]
        if missing:
            raise source.error(
                f"an element uses node {missing[0]}, which no *NODE table has. Is the file cut off?"
            )
    return deck


def _lines(source: Source, depth: int = 0) -> Iterator[tuple[Source, int, str]]:
    """(file, line, text) without comments, included files in their place."""
    for line, text in _whole_lines(source):
        if text.upper().startswith("*INCLUDE"):
            name = _options(text.split(",")[1:]).get("INPUT", "").strip("\"'")
            if not name or depth >= _INCLUDES:
                raise source.error(
                    "*INCLUDE needs INPUT=file, and no file may include itself.", line
                )
            yield from _lines(Source(source.path.parent / name), depth + 1)
        else:
            yield source, line, text


def _whole_lines(source: Source) -> Iterator[tuple[int, str]]:
    """(line, text) without comments; a keyword line that ends with a comma continues on the next one, with more options."""
    begun, at = "", 0
    for line, raw in enumerate(source.text().splitlines(), 1):
        text = raw.strip()
        if not text or text.startswith("**"):
            continue
        if begun and not text[0].isalpha():
            yield at, begun
            begun = ""
        text, at = begun + text, at if begun else line
        begun = text if text.startswith("*") and text.endswith(",") else ""
        if not begun:
            yield at, text
    if begun:
        yield at, begun


def _options(words: list[str]) -> dict[str, str]:
    """TYPE=C3D8, ELSET=E as {"TYPE": "C3D8", "ELSET": "E"}."""
    pairs = (word.partition("=") for word in words)
    return {" ".join(key.upper().split()): value.strip() for key, _, value in pairs if key.strip()}


def _start(
    source: Source, file: Source, line: int, keyword: str, options: dict[str, str], deck: Deck
) -> None:
    """A keyword line."""
    if keyword in _PLACING:
        raise file.error(
            f"*{keyword} makes or moves nodes, which is not supported: write the deck with the coordinates of all nodes "
            "in *NODE tables.",
            line,
        )
    if keyword in _TABLES and "INPUT" in options:
        raise file.error(
            f"*{keyword} has its table in a separate file, INPUT={options['INPUT']}: write *{keyword} without INPUT and, "
            "in the "
            f"next line, *INCLUDE, INPUT={options['INPUT']}.",
            line,
        )
    if keyword == "NODE" and options.get("SYSTEM", "R").upper() != "R":
        raise file.error(
            f"*NODE with SYSTEM={options['SYSTEM']} has coordinates that are not Cartesian: write them in x, y, z.",
            line,
        )
    if keyword == "NODE":
        return
    if keyword == "ELEMENT":
        _type(file, line, options)
    elif keyword == "NSET":
        if not options.get("NSET"):
            raise file.error("*NSET needs NSET= the name of the set.", line)
        if "ELSET" in options:
            source.ignore(f"*NSET, NSET={options['NSET']}, ELSET={options['ELSET']}")
    elif keyword in _ENDED:
        deck.opened[keyword] += 1
        if keyword in ("PART", "INSTANCE") and deck.opened[keyword] > 1:
            raise file.error(
                "the deck has several parts and instances, whose nodes have other numbers in the matrices: write a flat "
                "deck (in Abaqus, with 'Do not use parts and assemblies').",
                line,
            )
    elif keyword.removeprefix("END ") in _ENDED:
        deck.ended[keyword.removeprefix("END ")] += 1
    elif keyword == "ELASTIC":
        isotropic = options.get("TYPE", "ISOTROPIC").upper() in ("ISOTROPIC", "ISO")
        deck.elastic.append((0.0, 0.0) if isotropic else None)
    elif keyword == "BOUNDARY" and deck.fixed_at is None:
        deck.fixed_at = line
    elif keyword == "RIGID BODY" and "ROT NODE" in options and "REF NODE" in options:
        turn, ref = (
            whole_number(file, options[key], line, f"{key} of *RIGID BODY")
            for key in ("ROT NODE", "REF NODE")
        )
        deck.turning[turn] = ref
    elif keyword not in _SILENT:
        source.ignore(f"*{shown(keyword)[1:-1]}")


def _type(file: Source, line: int, options: dict[str, str]) -> tuple[str, int, int]:
    """What an element type is, its corners and its nodes."""
    given = options.get("TYPE", "").upper()
    for start in sorted(TYPES, key=len, reverse=True):
        if given == start or (given.startswith(start) and not given[len(start)].isdigit()):
            return TYPES[start]
    raise file.error(
        f"the element type {shown(given)} is not supported. Supported types start with {', '.join(TYPES)}.",
        line,
    )


def _node(file: Source, line: int, text: str, deck: Deck, known: set[int]) -> None:
    """A line of a node table: a number and up to three coordinates; those left out are zero."""
    words = text.rstrip(",").split(",")
    node = whole_number(file, words[0], line, "the number of a node")
    if len(words) > 7 or len(words) < 2:
        raise file.error(
            f"node {node} must have one to three coordinates, got {shown(text)}.", line
        )
    place = [
        number(file, x, line, f"a coordinate of node {node}") if x.strip() else 0.0
        for x in words[1:4]
    ]
    if node in known:
        raise file.error(f"node {node} is defined twice: keep one.", line)
    known.add(node)
    deck.numbers.append(node)
    deck.places.append(np.array(place + [0.0] * (3 - len(place))))


def _elastic(file: Source, line: int, text: str, deck: Deck) -> None:
    """A line of *ELASTIC: E, nu, and a temperature; a material that has several lines depends on it."""
    first = deck.elastic[-1] == (0.0, 0.0)
    words = [*text.split(","), "", ""]
    deck.elastic[-1] = None
    if first and not "".join(words[2:]).strip():
        E, nu = (
            number(file, x, line, f"{name} of *ELASTIC") if x.strip() else 0.0
            for name, x in zip(("E", "nu"), words)
        )
        deck.elastic[-1] = (E, nu)


def _cut(file: Source, line: int, need: int, rest: list[str]):
    """The error of an element whose nodes end too early."""
    return file.error(
        f"element {shown(rest[0].strip())} has {len(rest) - 1} of its {need} nodes. Is the file cut off?",
        line,
    )
