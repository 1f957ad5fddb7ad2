"""Text that comes from files and users, as it may be shown on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """`text` on one line, with escapes for what a terminal would obey instead of showing: "\\x1b", "\\r", "\\n"."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """The same line by line."""
    return "\n".join(map(printable, text.split("\n")))


class PrintableMessage(Exception):
    """An exception or warning whose message may be shown on a terminal, whatever names it has in it."""

    def __str__(self) -> str:
        return printable_lines(super().__str__())
