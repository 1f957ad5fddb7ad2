"""Text from files and users, made safe to show on a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    """`text` on one line, with control characters such as "\\x1b", "\\r" and "\\n" escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_lines(text: str) -> str:
    """`text` with the control characters of each line escaped."""
    return "\n".join(map(printable, text.split("\n")))


class PrintableMessage(Exception):
    """An exception or warning whose message is safe to show on a terminal, whatever names it contains."""

    def __str__(self) -> str:
        return printable_lines(super().__str__())
