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
    """The deflection over time under each controller, and its error on a logarithmic scale, all to the same scales."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    done = [x for x in outcomes if x.result is not None]
    rows = max(1, math.ceil(len(done) / COLUMNS))
    drawn = Figure(figsize=(7.2, 2.5 * rows + 0.3), layout="constrained")
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
        error = scale * np.maximum(plant.error(result), 1e-3 * tolerance)
        below.semilogy(result.t, error, "C1", linewidth=0.8)
        below.axhline(scale * tolerance, color="0.4", linewidth=0.6, linestyle=":")
        start = float(plant.error(result)[0])
        below.set_ylim(3e-3 * scale * tolerance, 3.0 * scale * max(start, tolerance))
        for ax in (above, below):
            ax.axvline(plant.path.duration, color="0.7", linewidth=0.6)
            if i % COLUMNS:
                ax.tick_params(labelleft=False)
        if not i % COLUMNS:
            above.set_ylabel("deflection, mm")
            below.set_ylabel(f"error, {plant.error_unit}")
    for i in range(len(done), rows * COLUMNS):
        for k in (0, 1):
            axes[2 * (i // COLUMNS) + k, i % COLUMNS].set_axis_off()
    drawn.supxlabel("time, s", fontsize=8)
    drawn.suptitle(
        f"{plant.title}: deflection of the {plant.watched}, and error of the end (dotted: the tolerance)",
        fontsize=8,
    )
    return drawn


def draw(plant: Plant, outcomes: Sequence[Outcome], file: Path) -> None:
    """Write the picture as a PNG file; its few colours need no more than a palette."""
    from PIL import Image  # noqa: PLC0415

    from limber.plotting.style import save, style  # noqa: PLC0415

    with style():
        save(figure(plant, outcomes), file, dpi=110)
    with Image.open(file) as picture:
        few = picture.convert("RGB").quantize(64)
    few.save(file, optimize=True)


def heads(plant: Plant) -> tuple[str, ...]:
    """The columns of a table."""
    return (
        "controller", "settling s", "residual mm", f"error {plant.error_unit}", "peak torque N m", "energy J",
        "computing us", "sample ms",
    )  # fmt: skip


def row(plant: Plant, outcome: Outcome) -> tuple[str, ...]:
    """A row of a table; a run that failed has its message in place of its figures."""
    f = outcome.figures
    if f is None:
        return (outcome.controller, f"failed: {outcome.failure}", *[""] * 6)
    settling = "not" if math.isnan(f.settling) else f"{f.settling:.1f}"
    return (
        outcome.controller, settling, f"{1e3 * f.residual:.3g}", f"{plant.error_scale * f.final_error:.3g}",
        f"{f.peak_torque:.3g}", f"{f.energy:.3g}", f"{1e6 * f.computing:.0f}", f"{1e3 * f.sample_time:g}",
    )  # fmt: skip


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
    """Put the table of a plant into a page, in place of the one between its marks; False if the page has none."""
    text = page.read_text(encoding="utf-8")
    first, last = f"<!-- table of {plant.name} -->\n", f"<!-- end of {plant.name} -->"
    if first not in text or last not in text:
        return False
    before, rest = text.split(first, 1)
    after = rest.split(last, 1)[1]
    with replacing(page) as stream:
        stream.write((before + first + markdown(plant, outcomes) + last + after).encode())
    return True
