"""`report`: a campaign as one HTML file with distributions, scatter matrix, worst cases and sensitivities."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.checks import Array, shown
from limber.drawing.colours import COLOURS
from limber.errors import ArgumentTypeError
from limber.plotting.style import PAGE, new_figure, plain, style, target
from limber.viewer.page import page
from limber.viewer.svg import INK, THEMED, svg_of
from limber.viewer.tables import Rows, pair_table, wide_table
from limber.whole import replacing

if TYPE_CHECKING:
    from limber.campaigns.result import Campaign
    from limber.campaigns.sensitivity import Sensitivity

#: At most this many panels of distributions, columns and rows of the scatter matrix, and worst cases of a quantity.
PANELS, ACROSS, DOWN, WORST = 12, 8, 6, 5
#: At most this many points in a panel of the scatter matrix; worst cases are always among them.
POINTS = 2000
#: At most this many failures are listed.
FAILURES = 20


def report(campaign: Campaign, path: Any, *, title: str = "") -> Path:
    """Write a self-contained HTML file that opens from disk.

    path : the file, .html.
    title : the heading; by default the name of the study.
    """
    file = target(path, ("html", "htm"))
    if not isinstance(title, str):
        raise ArgumentTypeError(f"title must be text, got {shown(title)}.")
    c = campaign
    found = [c.sensitivity(name) for name in list(c.numbers)[:PANELS]]
    text = page(
        title=title or c.study.name,
        summary=_summary(c),
        notes="\n".join(f"<p>{escape(x)}</p>" for x in (c.study.description, *c.remarks) if x),
        main=f"{_requirements(c)}<h2>Worst cases</h2>\n{_worst(c)}\n{_failures(c)}",
        plots="\n".join([*_distributions(c), *_sensitivities(found), _scatter(c)]),
        tables=_tables(c, found),
    )
    with replacing(file) as stream:
        stream.write(text.encode())
    return file


def _summary(c: Campaign) -> str:
    counts = ", ".join(
        f"{int((c.status == s).sum())} {s}" for s in dict.fromkeys(sorted(c.status.tolist()))
    )
    sample = c.study.sample
    return f"{len(c)} cases by {sample.method}, seed {c.study.seed}: {counts}"


def _labels(c: Campaign) -> dict[str, str]:
    """Quantities with their units."""
    units = {q.name: q.unit for q in c.study.quantities}
    return {n: f"{n}, {units[n]}" if units.get(n) else n for n in c.numbers}


def _wide(content: str) -> str:
    return f'<div style="grid-column: 1 / -1">{content}</div>'


def _requirements(c: Campaign) -> str:
    """The requirements of the study, if it has any."""
    if not c.requirements:
        return ""
    labels = _labels(c)
    rows: Rows = [
        (labels[n], x.limits, f"{x.met} of {x.cases}", f"{100 * x.fraction:.4g} %", x.interval)
        for n, x in c.requirements.items()
    ]
    heads = ("quantity", "required", "cases", "met in", "95 % interval")
    return f"<h2>Requirements</h2>\n{wide_table('', heads, rows)}\n"


def _worst(c: Campaign) -> str:
    labels = _labels(c)
    variables = c.study.single_variables[:ACROSS]
    rows: Rows = []
    listed: dict[int, None] = {}
    for name, x in c.numbers.items():
        for case in c.worst(name, WORST):
            own = (f"{c.values[v][case]:.4g}" for v in variables)
            rows.append((labels[name], str(case), f"{x[case]:.6g}", *own))
            listed[case] = None
    commands: Rows = [
        (str(case), str(c.study.seeds[case]), c.command(case)) for case in sorted(listed)
    ]
    return "\n".join(
        [
            wide_table(
                "Cases and their variables", ("quantity", "case", "value", *variables), rows
            ),
            wide_table("How to repeat them", ("case", "seed", "command"), commands),
        ]
    )


def _failures(c: Campaign) -> str:
    failed = c.failures
    if not failed:
        return ""
    rows: Rows = [
        (str(i), str(c.study.seeds[i]), why) for i, why in list(failed.items())[:FAILURES]
    ]
    more = f", of which {FAILURES} are listed" if len(failed) > FAILURES else ""
    return wide_table(f"{len(failed)} cases failed{more}", ("case", "seed", "reason"), rows)


def _tables(c: Campaign, found: list[Sensitivity]) -> str:
    labels = _labels(c)
    keys = ("cases", "min", "p05", "median", "mean", "p95", "p99", "max", "deviation")
    rows = [
        (labels[name], *(f"{row[key]:.5g}" for key in keys)) for name, row in c.statistics.items()
    ]
    parts = [_wide(wide_table("Statistics", ("quantity", *keys), rows))]
    if found:
        heads = ("quantity", *found[0].variables)
        lines = []
        for each in found:
            for key, x in each.values.items():
                name = each.quantity if len(each.values) == 1 else f"{each.quantity}, {key}"
                low, high = each.low[key], each.high[key]
                cells = (f"{a:.3f} [{b:.3f}, {d:.3f}]" for a, b, d in zip(x, low, high))
                lines.append((name, *cells))
        kind = found[0].kind
        caption = f"{kind[0].upper()}{kind[1:]}, with 95 % intervals"
        parts.append(_wide(wide_table(caption, heads, lines)))
    drawn: Rows = [(name, str(v.record)) for name, v in c.study.variables.items()]
    parts.append(pair_table("Variables", drawn))
    study: Rows = [("sample", str(c.study.sample.record)), ("seed", str(c.study.seed))]
    study += [(name, str(x)) for name, x in c.study.record["versions"].items()]
    parts.append(pair_table("Study", study))
    return "\n".join(p for p in parts if p)


def _figure(
    draw: Callable[[Any], None], width: float, height: float, prefix: str, label: str
) -> str:
    """A picture as a figure of the page, in the colours of its text."""
    with style(
        figure_facecolor="none", axes_facecolor="none", savefig_facecolor="none", grid_alpha=0.14, **THEMED
    ):  # fmt: skip
        figure = new_figure(width, height)
        draw(figure)
        svg = svg_of(figure, prefix)
    label = escape(label, quote=True)
    return (
        f'<figure class="plot" style="cursor: auto" role="img" aria-label="{label}">{svg}</figure>'
    )


def _distributions(c: Campaign) -> list[str]:
    """A histogram of each quantity, with its median, 95 % and worst case."""
    labels, statistics = _labels(c), c.statistics
    found = []
    for number, (name, x) in enumerate(list(c.numbers.items())[:PANELS]):
        there = x[np.isfinite(x)]
        if not there.size:
            continue
        marks = (
            (statistics[name]["median"], "-", "median"),
            (statistics[name]["p95"], "--", "95 %"),
            (x[c.worst(name, 1)[0]], ":", "worst"),
        )
        infinite = int(np.isinf(x).sum())
        label = labels[name] + (f", without {infinite} infinite ones" if infinite else "")

        def draw(figure: Any, there: Array = there, marks: Any = marks, label: str = label) -> None:
            axes = figure.subplots()
            bins = int(np.clip(np.sqrt(there.size), 5, 60))
            axes.hist(there, bins=bins, color=COLOURS[0], alpha=0.75)
            for value, line, text in marks:
                axes.axvline(
                    value,
                    ymax=0.8,
                    linestyle=line,
                    color=INK,
                    linewidth=1.0,
                    label=f"{text} {value:.4g}",
                )
            axes.set_xlabel(plain(label))
            axes.set_ylabel("cases")
            axes.set_ylim(0.0, 1.35 * axes.get_ylim()[1])  # room for the legend
            axes.legend(loc="upper center", ncols=3)

        found.append(_figure(draw, 4.0, 2.4, f"dist{number}-", f"distribution of {name}"))
    return found


def _sensitivities(found: list[Sensitivity]) -> list[str]:
    """Bars with their intervals, a panel for each quantity."""
    pictures = []
    for number, each in enumerate(found):
        if not any(np.isfinite(x).any() for x in each.values.values()):
            continue

        def draw(figure: Any, each: Sensitivity = each) -> None:
            axes = figure.subplots()
            count = len(each.values)
            places = np.arange(len(each.variables), dtype=float)
            for i, (key, x) in enumerate(each.values.items()):
                at = places + (i - (count - 1) / 2) * 0.8 / count
                sure = np.isfinite(x)
                spread = np.array([x - each.low[key], each.high[key] - x])[:, sure].clip(min=0.0)
                axes.barh(at[sure], x[sure], 0.75 / count, color=COLOURS[i], alpha=0.75, label=key)
                axes.errorbar(
                    x[sure],
                    at[sure],
                    xerr=spread,
                    fmt="none",
                    ecolor=INK,
                    elinewidth=0.8,
                    capsize=2,
                )
            axes.axvline(0.0, color=INK, linewidth=0.6)
            axes.set_yticks(places, [plain(v) for v in each.variables])
            axes.invert_yaxis()
            axes.set_xlabel(plain(f"{each.kind} of {each.quantity}"))
            if count > 1:
                axes.legend(loc="best")

        height = 1.0 + 0.32 * len(each.variables)
        label = f"sensitivity of {each.quantity}"
        pictures.append(_figure(draw, 4.0, height, f"sens{number}-", label))
    return pictures


def _scatter(c: Campaign) -> str:
    """The quantities over the variables, a panel for each pair; cases that are worst in a quantity are marked."""
    names = list(c.numbers)[:DOWN]
    variables = c.study.single_variables[:ACROSS]
    if not names or not variables:
        return ""
    labels = _labels(c)
    chosen = np.arange(len(c))
    if len(c) > POINTS:
        chosen = np.sort(np.random.default_rng(0).choice(len(c), POINTS, replace=False))

    size = float(np.clip(60.0 / np.sqrt(len(chosen)), 2.0, 6.0))

    def draw(figure: Any) -> None:
        panels = figure.subplots(
            len(names), len(variables), squeeze=False, sharex="col", sharey="row"
        )
        for i, name in enumerate(names):
            y, worst = c.numbers[name], c.worst(name, WORST)
            for k, variable in enumerate(variables):
                axes, x = panels[i, k], c.values[variable]
                axes.plot(
                    x[chosen],
                    y[chosen],
                    ".",
                    color=COLOURS[0],
                    markersize=size,
                    alpha=0.6,
                    rasterized=True,
                    markeredgewidth=0,
                )
                axes.plot(
                    x[worst],
                    y[worst],
                    "o",
                    color=COLOURS[1],
                    markersize=4.0,
                    markerfacecolor="none",
                )
                axes.locator_params(nbins=3)
                if i + 1 == len(names):
                    axes.set_xlabel(plain(variable))
                if k == 0:
                    axes.set_ylabel(plain(labels[name]))

    height = 0.5 + 1.25 * len(names)
    picture = _figure(draw, 1.35 * PAGE, height, "scatter-", "scatter matrix")
    more = f" {POINTS} of the cases are shown." if len(c) > POINTS else ""
    text = f"<p class='soft'>Quantities over variables; the {WORST} worst cases of each are marked.{more}</p>"
    return _wide(f"{picture}{text}")
