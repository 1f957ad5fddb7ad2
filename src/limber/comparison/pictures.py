"""Pictures and tables of a comparison."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np

from limber.comparison.plant import Plant
from limber.comparison.running import Outcome
from limber.whole import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Columns of small pictures.
COLUMNS = 4
#: The largest deflection that pictures show, as a multiple of the median of the runs.
SHOWN = 2.0


def figure(plant: Plant, outcomes: Sequence[Outcome]) -> Figure:
    """The deflection over time under each controller, and its error on a logarithmic scale, all on the same scales."""
    from limber.plotting.style import new_figure  # noqa: PLC0415

    done = [x for x in outcomes if x.result is not None]
    rows = max(1, math.ceil(len(done) / COLUMNS))
    drawn = new_figure(7.2, 2.5 * rows + 0.3)
    axes = drawn.subplots(2 * rows, COLUMNS, squeeze=False, sharex=True)
    peaks = [np.abs(plant.deflections(x.result)[:, 0]).max() for x in done if x.result is not None]
    top = 1e3 * min(max(peaks), SHOWN * float(np.median(peaks))) * 1.05
    scale, tolerance = plant.error_scale, plant.tolerance
    for i, outcome in enumerate(done):
        result = outcome.result
        assert result is not None
        above, below = (
            axes[2 * (i // COLUMNS), i % COLUMNS],
            axes[2 * (i // COLUMNS) + 1, i % COLUMNS],
        )
        above.plot(result.t, 1e3 * plant.deflections(result)[:, 0], "C0", linewidth=0.8)
        above.set_ylim(-top, top)
        above.set_title(fill(outcome.controller, 24))
        for run, colour in ((outcome.changed, "0.65"), (result, "C1")):
            if run is not None:
                error = scale * np.maximum(plant.error(run), 1e-3 * tolerance)
                below.semilogy(run.t, error, colour, linewidth=0.8)
        below.axhline(scale * tolerance, color="0.4", linewidth=0.6, linestyle=":")
        start = float(plant.error(result)[0])
        below.set_ylim(3e-3 * scale * tolerance, 3.0 * scale * max(start, tolerance))
        for ax in (above, below):
            ax.axvline(plant.path.duration, color="0.7", linewidth=0.6)
            if i % COLUMNS:
                ax.tick_params(labelleft=False)
        if i + COLUMNS >= len(done):  # nothing is below it
            below.tick_params(labelbottom=True)
        if not i % COLUMNS:
            above.set_ylabel("deflection, mm")
            below.set_ylabel(f"error, {plant.error_unit}")
    for i in range(len(done), rows * COLUMNS):
        for k in (0, 1):
            axes[2 * (i // COLUMNS) + k, i % COLUMNS].set_axis_off()
    drawn.supxlabel("time, s", fontsize=8)
    drawn.suptitle(
        f"{plant.title}: deflection of the {plant.watched}, and error of the end\n(grey: error on the changed plant; "
        "dotted: the tolerance; vertical line: the end of the commanded motion)",
        fontsize=8,
    )
    return drawn


def draw(plant: Plant, outcomes: Sequence[Outcome], file: Path) -> None:
    """Write the picture as a PNG file with a small palette."""
    from PIL import Image  # noqa: PLC0415

    from limber.plotting.style import save, style  # noqa: PLC0415

    with style():
        save(figure(plant, outcomes), file, dpi=110)
    with Image.open(file) as picture:
        few = picture.convert("RGB").quantize(64)
    few.save(file, optimize=True)


def heads(plant: Plant) -> tuple[str, ...]:
    """The columns of a table."""
    further = () if plant.further is None else (plant.further[0],)
    changed = () if plant.further is None else (f"changed: {plant.further[0]}",)
    return (
        "controller", "settling s", "residual mm", f"error {plant.error_unit}", *further, "changed: settling s",
        f"changed: error {plant.error_unit}", *changed, "peak torque N m", "energy J", "computing us", "sample ms",
    )  # fmt: skip


def row(plant: Plant, outcome: Outcome) -> tuple[str, ...]:
    """A row of a table; for a failed run, the message replaces the figures."""
    f = outcome.figures
    if f is None:
        return (outcome.controller, f"failed: {outcome.failure}", *[""] * (len(heads(plant)) - 2))
    further: tuple[str, ...] = ()
    changed: tuple[str, ...] = (
        _time(f.changed_settling),
        _short(plant.error_scale * f.changed_error),
    )
    if plant.further is not None:
        further, changed = (_short(f.further),), (*changed, _short(f.changed_further))
    if outcome.changed is None:
        changed = ("fails", *[""] * (len(changed) - 1))
    return (
        outcome.controller, _time(f.settling), _short(1e3 * f.residual), _short(plant.error_scale * f.final_error),
        *further, *changed, _short(f.peak_torque), _short(f.energy), f"{1e6 * f.computing:.0f}",
        f"{1e3 * f.sample_time:g}",
    )  # fmt: skip


def _short(x: float) -> str:
    """Three digits, without powers of ten where possible."""
    return f"{x:.0f}" if 1e3 <= abs(x) < 1e5 else f"{x:.3g}"


def _time(seconds: float) -> str:
    return "not" if math.isnan(seconds) else f"{seconds:.1f}"


def markdown(plant: Plant, outcomes: Sequence[Outcome]) -> str:
    """The table of a plant in Markdown."""
    names = heads(plant)
    lines = [
        "| " + " | ".join(names) + " |",
        "| --- |" + " ---: |" * (len(names) - 1),
        *("| " + " | ".join(row(plant, x)).replace("\n", " ") + " |" for x in outcomes),
    ]
    return "\n".join(lines) + "\n"


def put(page: Path, plant: Plant, outcomes: Sequence[Outcome]) -> bool:
    """Put the table of a plant into a page, replacing the one between its marks; False if the page has none."""
    text = page.read_text(encoding="utf-8")
    first, last = f"<!-- table of {plant.name} -->\n", f"<!-- end of {plant.name} -->"
    if first not in text or last not in text:
        return False
    before, rest = text.split(first, 1)
    after = rest.split(last, 1)[1]
    with replacing(page) as stream:
        stream.write((before + first + markdown(plant, outcomes) + last + after).encode())
    return True
