"""Where the values of a rolled program are stored between its stretches.

Values that one repetition of a loop computes and another stretch, or another repetition, uses are stored in memory.
The values that the repetitions compute at the same place form a row, with one value for each link.  Rows share a column
if no two values of a link are needed at the same time.  The columns of all links are frames of equal size, so a loop
goes from link to link by adding a constant.  There are two memories: the near one is fast and small, and the far one
holds what does not fit there.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from limber.codegen.graph import Value
from limber.codegen.repeats import Stretch

Cell = tuple[int, int]  # a row, and a link


CARRIED, NEAR, FAR = "carried", "near", "far"
#: Nodes that are computed while the far memory is read.
LATENCY = 150


@dataclass
class Frames:
    """Places of values, by their indices: the memory and the number in it; and what each memory holds."""

    place: dict[int, tuple[str, int]]
    size: dict[str, int]
    accesses: dict[str, int]  # in one evaluation


@dataclass
class _Row:
    """Values of equal meaning: one for each link, or one alone (component -1)."""

    component: int
    values: dict[int, int] = field(default_factory=dict)  # link -> index of a value
    pinned: bool = False  # whether some of its values are used together with those of other rows


@dataclass
class _Column:
    """Rows that share memory, from link `first` to link `last`; or all links share one place."""

    carried: bool
    pinned: bool
    rows: list[int] = field(default_factory=list)
    busy: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))

    def fits(self, spans: list[tuple[int, tuple[int, int]]]) -> bool:
        """Whether more values can have places here."""
        return all(
            span[0] >= stop or span[1] <= start
            for link, span in spans
            for start, stop in self.busy.get(link, ())
        )

    @property
    def links(self) -> tuple[int, int]:
        """The first link, and the number of links."""
        return min(self.busy), max(self.busy) - min(self.busy) + 1


def frames(
    nodes: list[Value],
    stretches: list[Stretch],
    uses: dict[int, list[int]],
    outside: list[list[tuple[Value, ...]]],
    carried: int,
    near: int,
) -> Frames:
    """The places of all values that leave their repetition.

    outside : for each stretch, the values from outside that its nodes use: one for each repetition.
    carried : how many variables may go from one repetition to the next.
    near : the size of the near memory.
    """
    return _Placing(nodes, stretches, uses, outside).frames(carried, near)


class _Placing:
    def __init__(self, nodes, stretches, uses, outside):
        self.stretches: list[Stretch] = stretches
        self.outside = outside
        self.where = {value.index: i for i, value in enumerate(nodes)}
        self.turn: list[tuple[int, int, int]] = []  # of each node: stretch, repetition, offset
        for n, s in enumerate(stretches):
            for k in range(s.count):
                self.turn += [(n, k, j) for j in range(s.period)]
        self.uses = uses
        # one line stores the values of all repetitions, also of those in which nothing outside uses them
        outward = {
            (self.turn[i][0], self.turn[i][2])
            for i, value in enumerate(nodes)
            if any(self.turn[j][:2] != self.turn[i][:2] for j in uses[value.index])
        }
        self.leaving = [
            value.index
            for i, value in enumerate(nodes)
            if (self.turn[i][0], self.turn[i][2]) in outward
        ]
        self.rows: list[_Row] = []
        self.cell: dict[int, Cell] = {}
        self.line: list[tuple[int, int, int]] = []  # of each stretch: component, sign, first link
        self.components = 0

    def frames(self, carried: int, near: int) -> Frames:
        for n in range(len(self.stretches)):
            self.line.append(self._aligned(n))
        self._rows_of_loops()
        for n, s in enumerate(self.stretches):
            if s.count > 1:
                for values in self.outside[n]:
                    self._join(n, values)
        for index in self.leaving:
            if index not in self.cell:
                self._add(_Row(-1), index, 0)
        return self._placed(self._columns(), carried, near)

    def _aligned(self, n: int) -> tuple[int, int, int]:
        """The link of each repetition of a loop, sign * k + first, after the loops whose values it uses."""
        votes: Counter[tuple[int, int, int]] = Counter()
        if self.stretches[n].count > 1:
            for values in self.outside[n]:
                for k in range(len(values) - 1):
                    (a, i, j), (b, i_next, j_next) = (
                        self.turn[self.where[x.index]] for x in values[k : k + 2]
                    )
                    if a == b < n and j == j_next and abs(i_next - i) == 1:
                        component, sign, first = self.line[a]
                        direction = sign * (i_next - i)
                        votes[component, direction, sign * i + first - direction * k] += 1
        if votes:
            return votes.most_common(1)[0][0]
        self.components += 1
        return self.components - 1, 1, 0

    def _add(self, row: _Row, index: int, link: int) -> None:
        self.rows.append(row)
        row.values[link] = index
        self.cell[index] = (len(self.rows) - 1, link)

    def _rows_of_loops(self) -> None:
        known: dict[tuple[int, int], int] = {}
        for index in self.leaving:
            n, k, j = self.turn[self.where[index]]
            if self.stretches[n].count == 1:
                continue
            component, sign, first = self.line[n]
            if (n, j) not in known:
                known[n, j] = len(self.rows)
                self.rows.append(_Row(component))
            self.rows[known[n, j]].values[sign * k + first] = index
            self.cell[index] = (known[n, j], sign * k + first)

    def _join(self, n: int, values: tuple[Value, ...]) -> None:
        """Give the values that are computed once a place in the row of those that they are used with."""
        if len({x.index for x in values}) == 1:
            return
        component, sign, first = self.line[n]
        rows, lines = set(), set()
        for k, x in enumerate(values):
            if x.index in self.cell:
                row, link = self.cell[x.index]
                rows.add(row)
                lines.add(link - sign * k)
        if not rows:
            rows, lines = {len(self.rows)}, {first}
            self.rows.append(_Row(component))
        row = min(rows)
        if len(rows) == 1 and len(lines) == 1 and self.rows[row].component == component:
            line = lines.pop()
            mine = self.rows[row].values
            fits = all(mine.get(sign * k + line, x.index) == x.index for k, x in enumerate(values))
            if fits and len({x.index for x in values}) == len(values):
                for k, x in enumerate(values):
                    mine[sign * k + line] = x.index
                    self.cell[x.index] = (row, sign * k + line)
                return
        for x in values:  # no row of its own: found by a table, in the far memory
            if x.index not in self.cell:
                self._add(_Row(-1), x.index, 0)
            self.rows[self.cell[x.index][0]].pinned = True

    def _span(self, index: int) -> tuple[int, int]:
        """From the node that computes a value to the first that uses it in the last repetition that does."""
        own = self.where[index]
        if not self.uses[index]:  # a result, stored for other repetitions
            return own, own
        last = self.turn[max(self.uses[index])][:2]
        if last == self.turn[own][:2]:
            return own, max(self.uses[index])
        return own, min(i for i in self.uses[index] if self.turn[i][:2] == last)

    def _columns(self) -> list[_Column]:
        """Rows that are never needed at the same time share a column."""
        columns: list[_Column] = []
        begin = {
            n: min(self.where[index] for index in row.values.values())
            for n, row in enumerate(self.rows)
            if row.values
        }
        for n in sorted(begin, key=begin.__getitem__):
            row = self.rows[n]
            spans = sorted((self._span(index), link) for link, index in row.values.items())
            carried = (
                row.component >= 0
                and not row.pinned
                and all(a[1] <= b[0] for (a, _), (b, _) in pairwise(spans))
            )
            alone = carried or row.component < 0
            mine = [(0 if alone else link, span) for span, link in spans]
            for column in columns:
                if (
                    (column.carried, column.pinned) == (carried, row.pinned)
                    and (self.rows[column.rows[0]].component == row.component or carried)
                    and column.fits(mine)
                ):
                    break
            else:
                column = _Column(carried, row.pinned)
                columns.append(column)
            column.rows.append(n)
            for link, span in mine:
                column.busy[link].append(span)
        return columns

    def _visits(self, index: int) -> int:
        """How often a value is written or read."""
        return 1 + len(self._readers(index))

    def _readers(self, index: int) -> set[tuple[int, int]]:
        """The stretches and repetitions that read a value."""
        return {self.turn[i][:2] for i in self.uses[index]} - {self.turn[self.where[index]][:2]}

    def _haste(self, index: int) -> float:
        """How much a value gains by being near: its visits, where reading counts more in short stretches."""
        return 1.0 + sum(1.0 + LATENCY / self.stretches[n].period for n, _ in self._readers(index))

    def _placed(self, columns: list[_Column], carried: int, near: int) -> Frames:
        """Columns that are visited most are in the faster memories, as long as there is room."""
        held = [
            [index for n in column.rows for index in self.rows[n].values.values()]
            for column in columns
        ]
        gain = [sum(self._haste(index) for index in indices) for indices in held]
        width = [column.links[1] for column in columns]
        left = {CARRIED: carried, NEAR: near}
        frames = Frames(
            {}, dict.fromkeys((CARRIED, NEAR, FAR), 0), dict.fromkeys((CARRIED, NEAR, FAR), 0)
        )
        for i in sorted(range(len(columns)), key=lambda i: (-gain[i] / width[i], i)):
            column = columns[i]
            memory = FAR
            if width[i] == 1 and not column.pinned and left[CARRIED] > 0:
                memory = CARRIED
            elif not column.pinned and width[i] <= left[NEAR]:
                memory = NEAR
            if memory != FAR:
                left[memory] -= width[i]
            start = frames.size[memory]
            for n in column.rows:
                row = self.rows[n]
                for link, index in row.values.items():
                    at = 0 if column.carried or row.component < 0 else link - column.links[0]
                    frames.place[index] = (memory, start + at)
            frames.size[memory] += width[i]
            frames.accesses[memory] += sum(map(self._visits, held[i]))
        return frames
