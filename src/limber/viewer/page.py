"""The common page of all reports: one self-contained HTML file."""

from __future__ import annotations

from html import escape
from importlib.resources import files


def page(
    *, title: str, summary: str, notes: str, main: str, plots: str, tables: str, scripts: str = ""
) -> str:
    """The text of a page.

    Parameters
    ----------
    title, summary : the heading and the text below it.
    notes, main, plots, tables : HTML of the paragraphs below those, and of the parts of the page.
    scripts : HTML of the scripts; a page without them does not allow any.
    """
    parts = {
        "title": escape(title),
        "generator": "Limber",
        "summary": escape(summary),
        "notes": notes,
        "main": main,
        "plots": plots,
        "tables": tables,
        "scripts": f"{scripts}\n" if scripts else "",
        "policy": "script-src 'unsafe-inline'; " if scripts else "",
        "style": source("page.css"),
    }
    return filled(source("page.html"), parts)


def source(name: str) -> str:
    """A file of this package."""
    return (files("limber.viewer") / name).read_text(encoding="utf-8").rstrip()


def filled(template: str, parts: dict[str, str]) -> str:
    """Replace the {{names}} of a template, once; the inserted text is not scanned again."""
    pieces = template.split("{{")
    out = [pieces[0]]
    for piece in pieces[1:]:
        name, rest = piece.split("}}", 1)
        out += [parts[name], rest]
    return "".join(out)
