"""Docstrings of Limber as reStructuredText.

They are plain text: paragraphs, `names` in backticks, lists with "- ", indented examples, and arguments as
"name : what it is", with further lines indented.  Nothing in them is markup, so that all else is escaped.
"""

from __future__ import annotations

import re

#: "name : text", "one, two : text", "*rest : text"
ENTRY = re.compile(r"^(\*{0,2}[A-Za-z_][\w.*]*(?:, ?\*{0,2}[A-Za-z_][\w.*]*)*) : (.*)$")
COLUMNS = re.compile(r"\S {3,}\S")
UNDERLINE = re.compile(r"^-{3,}$")


def to_rst(lines: list[str]) -> list[str]:
    """The lines of a docstring as lines of reStructuredText."""
    made: list[str] = []
    for block in _blocks(lines):
        if made:
            made.append("")
        made.extend(_block(block))
    return [*made, ""]


def inline(text: str) -> str:
    """Text with `code` as code and all else literally."""
    pieces = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"\\ ``{piece[1:-1].strip()}``\\ " if i % 2 else re.sub(r"([\\*_|`<>])", r"\\\1", piece)
        for i, piece in enumerate(pieces)
    )


def _blocks(lines: list[str]) -> list[list[str]]:
    """Runs of lines that belong together: paragraphs, single entries and items with what is indented below them."""
    blocks: list[list[str]] = []
    fresh = True
    for line in lines:
        if not line.strip():
            fresh = True
            continue
        starts = not line.startswith(" ") and bool(ENTRY.match(line) or line.startswith("- "))
        inside = bool(blocks) and line.startswith(" ") and _is_list(blocks[-1][0])
        if (fresh and not inside) or starts or not blocks:
            blocks.append([])
        blocks[-1].append(line.rstrip())
        fresh = False
    return blocks


def _is_list(line: str) -> bool:
    return bool(ENTRY.match(line)) or line.startswith("- ")


def _block(block: list[str]) -> list[str]:
    first = block[0]
    if len(block) >= 2 and UNDERLINE.match(
        block[1]
    ):  # the heading of a section, and what follows it at once
        rest = _block(block[2:]) if len(block) > 2 else []
        return [f".. rubric:: {inline(first)}", *([""] if rest else []), *rest]
    if entry := ENTRY.match(first):
        names = ", ".join(f"``{name.strip()}``" for name in entry[1].split(","))
        text = " ".join([entry[2], *(line.strip() for line in block[1:])])
        return [names, f"    {inline(text)}"]
    if first.startswith("- "):
        return [f"- {inline(' '.join([first[2:], *(line.strip() for line in block[1:])]))}"]
    if all(line.startswith("    ") for line in block):
        return ["::", "", *block]
    if any(COLUMNS.search(line) for line in block):
        return ["::", "", *(f"    {line}" for line in block)]
    return [inline(" ".join(line.strip() for line in block))]
