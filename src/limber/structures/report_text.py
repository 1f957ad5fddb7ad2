"""Reports on bodies as tables of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from limber.checks import Array
from limber.printable import printable
from limber.structures.choice import DIRECTIONS

if TYPE_CHECKING:
    from limber.structures.comparison import StaticLoad
    from limber.structures.report import BodyReport, BucklingForce, Match

#: How many rows a printed table has at most.
LISTED = 40

MODES = ("mode", "Hz", "rad/s", "damping", *DIRECTIONS)
MATCHES = ("full", "Hz", "body", "Hz", "error", "MAC")
STATIC = ("node", "unit", "full", "body", "error")


def text(r: BodyReport) -> str:
    """All of a report."""
    blocks = ["\n".join(f"{name:<12}{value}" for name, value in summary(r).items())]
    blocks.append(
        "Modes with the body frame held, and their fractions of mass and inertia\n"
        + _table(MODES, modes(r), LISTED, keep=1 if r.movable_parts is None else 2)
    )
    if r.comparison is not None:
        blocks.append(f"{heading(r)}\n" + _table(MATCHES, [match(m) for m in r.matches], LISTED))
    if r.static:
        blocks.append(
            "Deflection under unit loads, m/N and rad/(N m)\n"
            + _table(STATIC, [static(s) for s in r.static], LISTED, left=2)
        )
    return "\n\n".join([*blocks, *(["\n".join(r.notes)] if r.notes else [])])


def summary(r: BodyReport) -> dict[str, str]:
    """The names and values of the properties of the whole body."""
    moments, principal = np.diag(r.inertia), np.linalg.eigvalsh(r.inertia)
    products = r.inertia[(0, 0, 1), (1, 2, 2)]
    size = float(moments.max())
    rows = {
        "body": printable(r.name) or "-",
        "mass": f"{r.mass:.6g} kg",
        "centre": f"{_vector(r.com, r.body.extent())} m",
        "inertia": f"{_vector(moments, size)} kg m², products xy, xz, yz {_vector(products, size)}; "
        f"principal {_vector(principal, size)}",
    }
    if r.comparison is not None:
        rows["full model"] = f"{r.comparison.full}, {r.comparison.held}"
        rows["good to"] = _good_to(r)
    if r.buckling is not None:
        rows["buckling"] = _buckling(r.buckling)
    return rows


def _buckling(b: BucklingForce) -> str:
    full = "" if b.full is None else f"; the full model at {b.full:.5g} N"
    return f"at a force of {b.force:.5g} N along {b.along} at {printable(b.node)!r}{full}"


def _good_to(r: BodyReport) -> str:
    if not r.good_modes:
        return "no mode within 1 % of the full model"
    return f"{r.good_to:.5g} Hz: the first {r.good_modes} of {len(r.matches)} compared modes agree within 1 %, MAC > 0.9"


def heading(r: BodyReport) -> str:
    """The title of the comparison."""
    assert r.comparison is not None
    return f"Modes of the full model, {r.comparison.held}, and those of the body that are most like them"


def modes(r: BodyReport) -> list[list[str]]:
    """Rows of `MODES`: modes, the sum of their parts and, if it is known, its largest possible value."""
    rows = [
        [
            str(i + 1),
            f"{r.frequencies[i]:.6g}",
            f"{r.omega[i]:.6g}",
            "-" if np.isnan(r.damping[i]) else f"{r.damping[i]:.4g}",
            *_parts(part),
        ]
        for i, part in enumerate(r.parts)
    ]
    rows.append(["sum", "", "", "", *_parts(r.parts.sum(axis=0))])
    if r.movable_parts is not None:
        rows.append(["can move", "", "", "", *_parts(r.movable_parts)])
    return rows


def match(m: Match) -> list[str]:
    """A row of `MATCHES`; modes that are not similar are not a pair."""
    hertz = [f"{x / (2.0 * np.pi):.6g}" for x in (m.omega, m.own)]
    own = [str(m.body + 1), hertz[1], percent(m.error)] if m.alike else 3 * ["-"]
    return [str(m.full + 1), hertz[0], *own, f"{m.mac:.4f}"]


def static(s: StaticLoad) -> list[str]:
    """A row of `STATIC`."""
    return [printable(s.node), s.load, f"{s.full:.6g}", f"{s.body:.6g}", percent(s.error)]


def percent(part: float) -> str:
    """A fraction as a percentage; rounding errors are zero."""
    return "0 %" if abs(part) < 5e-9 else f"{100.0 * part:.3g} %"


def _parts(parts: Array) -> list[str]:
    return ["-" if np.isnan(x) else f"{x:.4f}" for x in parts]


def _vector(values: np.ndarray, size: float) -> str:
    """Numbers; those that are rounding errors of others of this size are zero."""
    return ", ".join(f"{0.0 if abs(x) < 1e-12 * size else x:.6g}" for x in values)


def _table(
    heads: Sequence[str], rows: list[list[str]], most: int, left: int = 0, keep: int = 0
) -> str:
    """Columns, the first `left` of them to the left; of many rows the first `most`, and the last `keep`."""
    last = rows[len(rows) - keep :]
    body = rows[: len(rows) - keep]
    shown = [*body[:most], *last]
    widths = [max(map(len, column)) for column in zip(heads, *shown)]
    lines = [
        "  ".join(
            x.ljust(w) if i < left else x.rjust(w) for i, (x, w) in enumerate(zip(row, widths))
        )
        for row in (heads, *shown)
    ]
    if len(body) > most:
        lines.insert(1 + most, f"... and {len(body) - most} more")
    return "\n".join(line.rstrip() for line in lines)
