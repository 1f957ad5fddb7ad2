"""What a reader leaves out of a file, collected for one warning."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from limber.errors import ModelWarning, warn
from limber.io.xml_tree import Element


class LeftOut:
    """What is left out of a file: each kind once, with the line of its first occurrence."""

    def __init__(self, file: Path):
        self.file = file
        self._things: dict[str, int] = {}
        self._notes: dict[str, None] = {}

    def note(self, words: str) -> None:
        """Say something about the file, as a clause of the warning."""
        self._notes.setdefault(words)

    def tag(self, element: Element, parent: str) -> None:
        """Say that an element is left out."""
        self._things.setdefault(f"<{element.tag}> in <{parent}>", element.line)

    def attributes(self, element: Element, known: Collection[str]) -> None:
        """Say which attributes of an element are left out: all but the known ones."""
        for name in element.attributes:
            if name not in known:
                self._things.setdefault(f"{name} of <{element.tag}>", element.line)

    def tags(self, element: Element, known: Collection[str]) -> None:
        """Say which children of an element are left out: all but the known ones."""
        for child in element.children:
            if child.tag not in known:
                self.tag(child, element.tag)

    def report(self) -> None:
        """Give one warning about all of it."""
        listed = "; ".join(f"{what} (line {line})" for what, line in self._things.items())
        parts = ([f"left out: {listed}"] if listed else []) + list(self._notes)
        if parts:
            warn(f"{self.file}: {'; '.join(parts)}.", ModelWarning)
