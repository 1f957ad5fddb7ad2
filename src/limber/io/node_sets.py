"""Node sets of input decks: *NSET, and NSET= of *NODE."""

from __future__ import annotations

from limber.checks import shown
from limber.io.sources import Source, whole_number

#: The most nodes of a line of *NSET, GENERATE.
_MOST = 10_000_000


class NodeSets:
    """Numbers of nodes by the name of their set; case does not matter, and the first way to write a name is kept."""

    def __init__(self) -> None:
        self._nodes: dict[str, dict[int, None]] = {}  # an ordered set, by the name in upper case
        self._names: dict[str, str] = {}

    def add(self, name: str, nodes: list[int]) -> None:
        """Put nodes into a set, which may have some already."""
        self._names.setdefault(name.upper(), name)
        self._nodes.setdefault(name.upper(), {}).update(dict.fromkeys(nodes))

    def read_line(self, file: Source, line: int, text: str, options: dict[str, str]) -> None:
        """A line of *NSET: nodes and names of earlier sets, or with GENERATE first, last and step."""
        name = options["NSET"].strip("\"'")
        words = [word.strip().strip("\"'") for word in text.split(",") if word.strip()]
        if "GENERATE" in options:
            self.add(name, self._range(file, line, name, words))
            return
        for word in words:
            if word.isdecimal():  # a number is a node, whatever sets are called
                self.add(name, [whole_number(file, word, line, f"a node of the set {name}")])
            elif word.upper() in self._nodes:
                self.add(name, list(self._nodes[word.upper()]))
            else:
                raise file.error(
                    f"the set {name} must have numbers of nodes and names of sets above it, got {shown(word)}.",
                    line,
                )

    def _range(self, file: Source, line: int, name: str, words: list[str]) -> list[int]:
        what = f"a number of *NSET, GENERATE of the set {name}"
        numbers = [whole_number(file, word, line, what) for word in words]
        if len(numbers) in (2, 3):
            first, last, step = [*numbers, 1][:3]
            if step and first <= last < first + _MOST * step:
                return list(range(first, last + 1, step))
        raise file.error(
            f"*NSET, GENERATE of the set {name} must be first, last and step, got {shown(', '.join(words))}.",
            line,
        )

    def by_name(self) -> dict[str, list[int]]:
        """The nodes of every set."""
        return {self._names[key]: list(nodes) for key, nodes in self._nodes.items()}
