"""Bulk data of Nastran: grids and their coordinate systems, scalar points, elements for pictures.  Read by pyyeti."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from limber.checks import Array, shown
from limber.errors import MissingExtraError
from limber.io.elements import Element
from limber.io.sources import Source, several

#: Elements: what they are, corners, and the place of their first node among the fields.
_ELEMENTS = {
    "CBAR": ("line", 2, 2), "CBEAM": ("line", 2, 2), "CROD": ("line", 2, 2), "CTUBE": ("line", 2, 2),
    "CBEND": ("line", 2, 2), "CBUSH": ("line", 2, 2), "CONROD": ("line", 2, 1), "PLOTEL": ("line", 2, 1),
    "CTRIA3": ("surface", 3, 2), "CTRIAR": ("surface", 3, 2), "CTRIA6": ("surface", 3, 2),
    "CQUAD4": ("surface", 4, 2), "CQUADR": ("surface", 4, 2), "CQUAD8": ("surface", 4, 2), "CSHEAR": ("surface", 4, 2),
    "CTETRA": ("solid", 4, 2), "CPYRAM": ("solid", 5, 2), "CPENTA": ("solid", 6, 2), "CHEXA": ("solid", 8, 2),
}  # fmt: skip
#: Cards of constraints and reductions, which a matrix has in it or not; the reader cannot know, and says so.
_CONSTRAINTS = (
    *(
        "SPC",
        "SPC1",
        "SPCADD",
        "MPC",
        "MPCADD",
        "RBAR",
        "RBE1",
        "RBE2",
        "RBE3",
        "RROD",
        "RJOINT",
        "RSPLINE",
    ),
    *("SUPORT", "SUPORT1", "OMIT", "OMIT1"),
)
#: Elements that are not drawn, of mass, springs, dampers and connections.
_UNDRAWN = (
    *("CONM1", "CONM2", "CMASS1", "CMASS2", "CMASS3", "CMASS4", "CELAS1", "CELAS2", "CELAS3", "CELAS4"),
    *("CBUSH1D", "CDAMP1", "CDAMP2", "CVISC", "CGAP", "CFAST", "CWELD", "CSEAM", "GENEL"),
)  # fmt: skip
#: Parameters that multiply K2GG and M2GG.
_FACTORS = ("CK2", "CM2")
_SYSTEMS = {"CORD2R": 1, "CORD2C": 2, "CORD2S": 3}
_READ = ("GRID", "GRDSET", "SPOINT", *_SYSTEMS, "CORD1R", "CORD1C", "CORD1S", "EXTRN", "SECONCT")


def pyyeti(module: str) -> Any:
    """A module of pyyeti.nastran, or the error that names the extra."""
    try:
        import importlib  # noqa: PLC0415

        return importlib.import_module(f"pyyeti.nastran.{module}")
    except ImportError as error:
        raise MissingExtraError(
            "Files of Nastran are read by pyyeti, which is not installed: pip install 'limber-dynamics[nastran]'."
        ) from error


@dataclass
class Bulk:
    """The geometry in bulk data.

    position : (n, 3) of the grids in the basic system.
    axes : (n, 3, 3), transforms basic components into those of the system in which the grid moves.
    """

    grids: list[int] = field(default_factory=list)
    position: Array = field(default_factory=lambda: np.zeros((0, 3)))
    axes: Array = field(default_factory=lambda: np.zeros((0, 3, 3)))
    points: list[int] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)  # how many elements there are of each card
    held: list[int] = field(default_factory=list)  # grids with permanent constraints (PS)
    order: list[tuple[int, int]] | None = (
        None  # (grid, direction) of the rows of a superelement; direction 0: a point
    )


def read_bulk(source: Source) -> Bulk:
    """The geometry of a bulk-data file, and of those that it includes."""
    n2p = pyyeti("n2p")
    cards = _cards(source, ("PARAM", *_READ, *_CONSTRAINTS, *_ELEMENTS, *_UNDRAWN))
    found = Bulk()
    grids: dict[int, tuple[int, list[float], int]] = {}
    systems: dict[int, list[float]] = {}
    for name, fields in cards:
        _add(source, found, grids, systems, name, fields)
    found.grids = sorted(grids)
    if found.grids:
        _place(source, n2p, found, grids, systems)
    twice = set(found.points) & grids.keys()
    if twice or len(set(found.points)) != len(found.points):
        raise source.error(
            f"a SPOINT occurs twice, or has the number of a GRID: {several(sorted(twice))}."
        )
    found.points.sort()
    if found.held:
        source.ignore(f"the permanent constraints (PS) of GRID {several(sorted(found.held))}")
    known = {*grids}
    for _, corners, nodes in found.elements:
        missing = [node for node in nodes[:corners] if node not in known]
        if missing:
            raise source.error(
                f"an element uses GRID {missing[0]}, which the file does not have. Is it cut off?"
            )
    return found


def read_order(source: Source) -> list[tuple[int, int]] | None:
    """(grid, direction) of the rows of a superelement, from the EXTRN card of its punch file."""
    found = Bulk()
    for name, fields in _cards(source, ("EXTRN",)):
        _add(source, found, {}, {}, name, fields)
    return found.order


def _cards(source: Source, names: Sequence[str]) -> list[tuple[str, list]]:
    """(name, fields) of the cards of these names."""
    bulk = pyyeti("bulk")
    wide = re.search(
        rf"^[ ]*({'|'.join(names)})\*[ ]*,", source.text(), re.MULTILINE | re.IGNORECASE
    )
    if wide:
        line = source.text().count("\n", 0, wide.start()) + 1
        raise source.error(
            f"{wide[1].upper()}* has large fields that are separated by commas, which are not supported: write it in "
            "small or large fields of fixed width, or with commas and without the star.",
            line,
        )
    with source.foreign("bulk data of Nastran"):
        cards = bulk.rdcards(
            str(source.path),
            rf"({'|'.join(names)})\*?(?=[\s,]|$)",
            return_var="list",
            regex=True,
            keep_name=True,
            encoding="latin_1",
        )
        return [(str(card[0]).upper().rstrip("*").strip(), card[1:]) for card in cards or ()]


def _add(source: Source, found: Bulk, grids: dict, systems: dict, name: str, fields: list) -> None:
    """One card."""
    if name == "GRID":
        number = _whole(source, name, fields, 0)
        place = [_real(source, f"GRID {number}", fields, i) for i in (2, 3, 4)]
        if number in grids:
            raise source.error(f"GRID {number} occurs twice: keep one.")
        grids[number] = (
            _whole(source, f"GRID {number}", fields, 1, 0),
            place,
            _whole(source, f"GRID {number}", fields, 5, 0),
        )
        if _whole(source, f"GRID {number}", fields, 6, 0):
            found.held.append(number)
    elif name == "GRDSET":
        raise source.error(
            "GRDSET is not supported: write the coordinate systems in the GRID cards."
        )
    elif name in _SYSTEMS:
        number = _whole(source, name, fields, 0)
        numbers = [_real(source, f"{name} {number}", fields, i) for i in range(2, 11)]
        row = [number, _SYSTEMS[name], _whole(source, f"{name} {number}", fields, 1, 0), *numbers]
        if number <= 0 or row[2] == number or systems.setdefault(number, row) != row:
            raise source.error(
                f"{name} {number} occurs twice with different numbers, or refers to itself."
            )
    elif name.startswith("CORD1"):
        raise source.error(
            f"{name} is not supported: write it as {name.replace('1', '2')}, by points."
        )
    elif name == "SPOINT":
        found.points += _listed(source, name, fields)
    elif name == "EXTRN":
        pairs = [x for x in fields if x != ""]
        if found.order is not None or len(pairs) % 2:
            raise source.error(
                "EXTRN must occur once and contain pairs of a point and its directions."
            )
        found.order = []
        for i in range(0, len(pairs), 2):
            point, directions = (
                _whole(source, name, pairs, i),
                str(_whole(source, name, pairs, i + 1)),
            )
            if set(directions) - set("0123456"):
                raise source.error(
                    f"EXTRN has the directions {shown(directions)} of point {point}."
                )
            found.order += [(point, int(d)) for d in directions]
    elif name in _CONSTRAINTS:
        source.ignore(name)
    elif name == "PARAM":
        which, value = str(_field(fields, 0)).strip().upper(), _field(fields, 1)
        if which in _FACTORS and value not in ("", 1.0):
            source.ignore(f"PARAM {which} = {shown(value)}")
    if name in (*_ELEMENTS, *_UNDRAWN) and name != "PLOTEL":
        found.kinds[name] = found.kinds.get(name, 0) + 1
    if name in _ELEMENTS:
        kind, corners, first = _ELEMENTS[name]
        nodes = [_whole(source, name, fields, first + i, 0) for i in range(corners)]
        if 0 not in nodes:  # a bushing or a bar to the ground
            found.elements.append((kind, corners, nodes))


def _place(source: Source, n2p: Any, found: Bulk, grids: dict, systems: dict) -> None:
    """Positions and axes of the grids."""
    with source.foreign("coordinate systems"):
        known = n2p.build_coords(np.array(list(systems.values()))) if systems else {}
    for number, (place, _, moved) in grids.items():
        missing = [c for c in (place, moved) if c not in (0, -1) and c not in known]
        if missing:
            raise source.error(
                f"GRID {number} is in the coordinate system {missing[0]}, which the file does not have. Is it cut off?"
            )
        if moved == -1:
            raise source.error(
                f"GRID {number} is a fluid point (CD = -1), but Limber supports structures only."
            )
    with source.foreign("coordinate systems of grids"):
        uset = n2p.addgrid(
            None,
            np.array(found.grids),
            "b",
            np.array([grids[g][0] for g in found.grids]),
            np.array([grids[g][1] for g in found.grids]),
            np.array([grids[g][2] for g in found.grids]),
            known,
        )
        table = uset.loc[:, "x":"z"].to_numpy().reshape(-1, 6, 3)
        motions = n2p.rbgeom_uset(uset).reshape(-1, 6, 6)
    found.position = np.array(table[:, 0])
    found.axes = np.array(motions[:, :3, :3])
    if not (np.isfinite(found.position).all() and np.isfinite(found.axes).all()):
        raise source.error("a coordinate system or a GRID has numbers that are not finite.")


def _field(fields: Sequence, at: int) -> Any:
    """A field; blank ones and those past the end are empty."""
    return fields[at] if at < len(fields) else ""


def _whole(source: Source, card: str, fields: Sequence, at: int, blank: int | None = None) -> int:
    """A field with a whole number."""
    value = _field(fields, at)
    if value == "" and blank is not None:
        return blank
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or abs(int(value)) > 10**9
    ):
        raise source.error(f"field {at + 1} of {card} must be a whole number, got {shown(value)}.")
    return int(value)


def _real(source: Source, card: str, fields: Sequence, at: int) -> float:
    """A field with a number; blank is zero."""
    value = _field(fields, at)
    value = 0.0 if value == "" else value
    if isinstance(value, str) or not np.isfinite(value):
        raise source.error(f"field {at + 1} of {card} must be a finite number, got {shown(value)}.")
    return float(value)


def _listed(source: Source, card: str, fields: Sequence) -> list[int]:
    """Numbers, and ranges `1 THRU 8`."""
    values = [x for x in fields if x != ""]
    if len(values) == 3 and str(values[1]).strip().upper() == "THRU":
        first, last = _whole(source, card, values, 0), _whole(source, card, values, 2)
        if not first <= last <= first + 10**6:
            raise source.error(f"{card} {first} THRU {last} is not a range.")
        return list(range(first, last + 1))
    return [_whole(source, card, values, i) for i in range(len(values))]
