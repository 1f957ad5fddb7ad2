"""The common style of figures: sizes, Matplotlib settings, saving."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.whole import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Widths of a column and of a page of a journal, inches.
COLUMN, PAGE = 3.5, 7.2
LINES = ("-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1.2, 1, 1.2)))
FORMATS = ("png", "svg", "pdf")

_SETTINGS: dict[str, Any] = {
    "font.size": 8.0,
    "axes.labelsize": 8.0,
    "axes.titlesize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "legend.columnspacing": 1.2,
    "legend.labelspacing": 0.25,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.35,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.direction": "out",
    "lines.linewidth": 1.1,
    "lines.solid_capstyle": "round",
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-3, 4),
    "axes.unicode_minus": True,
    "savefig.dpi": 300,
    "figure.dpi": 150,
    "svg.fonttype": "none",
    "svg.hashsalt": "limber",
    "pdf.fonttype": 42,
}


@contextmanager
def style(**settings: Any) -> Iterator[None]:
    """Apply Limber's Matplotlib settings within a `with` block; keywords have underscores instead of dots: font_size=9.

    Use it around your own figures to make them match.
    """
    matplotlib = library()
    chosen = dict(_SETTINGS)
    for name, value in settings.items():
        known = [key for key in matplotlib.rcParams if key.replace(".", "_") == name]
        if not known:
            raise ArgumentValueError(
                f"style has no setting {name!r}: give names of Matplotlib's rcParams with _ instead of dots, as in "
                "font_size=9."
            )
        chosen[known[0]] = value
    with matplotlib.rc_context(chosen):
        yield


def library() -> Any:
    """Import Matplotlib, which is slow to import."""
    import matplotlib  # noqa: PLC0415

    return matplotlib


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, with automatic layout."""
    from limber.plotting.ticks import PlainFigure  # noqa: PLC0415

    return PlainFigure(figsize=(width, height), layout="constrained")


def plain(text: str) -> str:
    """Escape a name for Matplotlib: no mathematics, and not hidden from legends."""
    text = text.replace("$", r"\$")
    return " " + text if text.startswith("_") else text


def target(path: Any, formats: tuple[str, ...] = FORMATS) -> Path:
    """Check that `path` is a file name with one of the endings, in an existing folder."""
    try:
        file = Path(path)
    except TypeError:
        raise ArgumentTypeError(f"path must be a file name, got {shown(path)}.") from None
    if file.suffix.lower().lstrip(".") not in formats:
        listed = ", ".join(f".{f}" for f in formats)
        raise ArgumentValueError(f"path={str(file)!r} must end in one of {listed}.")
    if not file.parent.is_dir():
        raise ArgumentValueError(
            f"path={str(file)!r}: the folder {str(file.parent)!r} does not exist. Make it first."
        )
    return file


def save(figure: Figure, file: Any, **options: Any) -> None:
    """Write a figure to a file, atomically, or to a stream; the same figure always gives the same file."""
    form = options.get("format") or Path(file).suffix.lower().lstrip(".")
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with style(), warnings.catch_warnings():
        # names in scripts that the font lacks show as boxes in PNG and as they are in SVG
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        if isinstance(file, str | PathLike):
            with replacing(file) as stream:
                figure.savefig(stream, metadata=metadata, **options | {"format": form})
        else:
            figure.savefig(file, metadata=metadata, **options)
