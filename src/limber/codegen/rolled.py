"""From a long program to loops: equal stretches are written once, and values between stretches are kept in memory.

A processor of many threads fetches long straight-line code more slowly than it executes it.  The chains and trees of
equal bodies that make programs long have equal stretches (`limber.codegen.repeats`), each of which becomes a loop.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from limber.codegen import graph as g
from limber.codegen.frames import CARRIED, FAR, NEAR, Frames, frames
from limber.codegen.graph import Scalar, Value
from limber.codegen.program import Program
from limber.codegen.repeats import Stretch, stretches, uses
from limber.codegen.statements import Dialect

#: Programs of up to this many nodes are written as they are.
LONG = 3000
#: Loops must leave at most this part of the code.
SHORTER = 0.75
#: Inputs and far values that a loop loads one repetition ahead of their use.
AHEAD = 40
#: Loops of fewer nodes load two repetitions ahead.
SHORT = 300
#: Other inputs and far values are loaded so many nodes ahead of their use.
LEAD = 150


@dataclass
class Rolled:
    """The lines of a program, the tables that they use, and what they keep in the near and in the far memory."""

    lines: list[str]
    numbers: list[float]
    places: list[int]
    frames: Frames
    size: int  # nodes that are written


@dataclass
class _Loop:
    """What is being written: the strides that it goes in, and what it has loaded."""

    number: int
    stretch: Stretch
    strides: dict[tuple[str, int], str] = field(default_factory=dict)
    loaded: dict[tuple[int, ...], str] = field(default_factory=dict)
    ahead: dict[tuple, str] = field(default_factory=dict)
    ready: dict[tuple, int] = field(
        default_factory=dict
    )  # the node after which it can be loaded first
    early: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))  # by offset
    lines: list[str] = field(default_factory=list)
    sines: set[int] = field(default_factory=set)

    @property
    def depth(self) -> int:
        """How many repetitions ahead it loads."""
        return 2 if self.stretch.period < SHORT and self.stretch.count > 2 else 1


def rolled(program: Program, dialect: Dialect, carried: int, near: int) -> Rolled | None:
    """A program with loops; None if it is short or has too few equal stretches.

    carried, near : how many variables go from one repetition to the next, and the size of the near memory.
    """
    if len(program.nodes) <= LONG or getattr(program, "lines", None) is not None:
        return None
    if any(value.op == g.CALL for value in program.nodes):
        return None
    writer = _Writer(program, dialect)
    if sum(s.period for s in writer.stretches) > SHORTER * len(writer.nodes):
        return None
    return writer.rolled(carried, near)


class _Writer:
    def __init__(self, program: Program, dialect: Dialect):
        self.program, self.dialect = program, dialect
        self.nodes = [value for value in program.nodes if value.op != g.INPUT]
        self.where = {value.index: i for i, value in enumerate(self.nodes)}
        self.results: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for n, values in enumerate(program.results):
            for i, x in enumerate(values):
                if type(x) is Value and x.op != g.INPUT:
                    self.results[x.index].append((n, i))
        self.stretches = stretches(self.nodes, self.results)
        self.numbers: list[float] = []
        self.places: list[int] = []

    def rolled(self, carried: int, near: int) -> Rolled:
        outside = [self._outside(s) for s in self.stretches]
        used = uses(self.nodes)
        self.frames = frames(self.nodes, self.stretches, used, outside, carried, near)
        loops = [_Loop(n, s) for n, s in enumerate(self.stretches)]
        for loop in loops:
            self._look_ahead(loop)
        lines = []
        for loop, after in zip(loops, [*loops[1:], None]):
            lines += self._written(loop, after)
        for n, values in enumerate(self.program.results):
            for i, x in enumerate(values):
                if x is not None and (type(x) is not Value or x.op == g.INPUT):
                    lines.append(f"{self._output(n, str(i))} = {self._fixed(x)};")
        size = sum(s.period for s in self.stretches)
        return Rolled(lines, self.numbers, self.places, self.frames, size)

    def _alike(self, s: Stretch, j: int, argument: int) -> tuple:
        """An argument of node j of a stretch, in all repetitions."""
        found = []
        for k in range(s.count):
            value = self.nodes[s.start + k * s.period + j]
            found.append((value.a, value.b)[argument])
        return tuple(found)

    def _inside(self, s: Stretch, x: Value) -> bool:
        return s.start <= self.where[x.index] < s.start + s.period

    def _outside(self, s: Stretch) -> list[tuple[Value, ...]]:
        """The values from outside that a stretch uses, in all repetitions."""
        found: dict[tuple[int, ...], tuple[Value, ...]] = {}
        for j in range(s.period):
            value = self.nodes[s.start + j]
            for argument, x in enumerate((value.a, value.b)):
                if type(x) is Value and x.op != g.INPUT and not self._inside(s, x):
                    values = self._alike(s, j, argument)
                    found.setdefault(tuple(v.index for v in values), values)
        return list(found.values())

    # --- text ---------------------------------------------------------------------------------------

    def _written(self, loop: _Loop, after: _Loop | None) -> list[str]:
        """The lines of a stretch; one that is done once also loads what the loop after it begins with."""
        s, real = loop.stretch, self.dialect.real
        lines = []
        if s.count == 1:
            if after is not None and after.ahead:
                names = [f"{name}_{i}" for name in after.ahead.values() for i in range(after.depth)]
                lines.append(f"{real} {', '.join(names)};")
                self._begin(loop, after)
        elif loop.number == 0 or self.stretches[loop.number - 1].count > 1:
            for key, name in loop.ahead.items():
                for i in range(loop.depth):
                    lines.append(f"{real} {name}_{i} = {self._ahead(key, str(i))};")
        for key, name in loop.ahead.items():
            loop.lines.append(f"const {real} {name} = {name}_0;")
            for i in range(1, loop.depth):
                loop.lines.append(f"{name}_{i - 1} = {name}_{i};")
            loop.lines.append(f"{name}_{loop.depth - 1} = {self._ahead(key, 'later')};")
        for j in range(s.period):
            loop.lines += loop.early[j]
            self._node(loop, j)
        loop.lines += loop.early[s.period]
        body = [f"    {line}" for line in loop.lines]
        if s.count == 1:
            return [*lines, "{", *body, "}"]
        lines += ["#pragma unroll 1", f"for (int turn = 0; turn < {s.count}; ++turn) {{"]
        if loop.ahead:
            last, d = s.count - 1, loop.depth
            lines.append(f"    const int later = turn + {d} < {last} ? turn + {d} : {last};")
        for (memory, stride), name in loop.strides.items():
            unit = " * BLOCK" if memory == NEAR else ""
            lines.append(f"    {real} *const {name} = {memory}_values + turn * ({stride}{unit});")
        return [*lines, *body, "}"]

    def _begin(self, loop: _Loop, after: _Loop) -> None:
        """Load what the loop after a stretch begins with before the stretch ends."""
        s = loop.stretch
        for key, name in after.ahead.items():
            j = max(s.period - LEAD, after.ready[key] + 1 - s.start, 0)
            for i in range(after.depth):
                loop.early[j].append(f"{name}_{i} = {self._ahead(key, str(i))};")

    def _look_ahead(self, loop: _Loop) -> None:
        """Choose what is loaded ahead of its use: slow memory, whose values are there by then."""
        s = loop.stretch
        for j in range(s.period):
            value = self.nodes[s.start + j]
            for n, x in enumerate((value.a, value.b)):
                if type(x) is not Value or (x.op != g.INPUT and self._inside(s, x)):
                    continue
                values = self._alike(s, j, n)
                if s.count == 1:
                    self._load_early(loop, j, x)
                    continue
                key = self._source(s, values, loop.depth)
                if key is not None and (key in loop.ahead or len(loop.ahead) < AHEAD):
                    loop.ahead.setdefault(key, f"ahead{loop.number}x{len(loop.ahead)}")
                    first = values[: loop.depth]
                    loop.ready[key] = max(self.where.get(x.index, -1) for x in first)

    def _load_early(self, loop: _Loop, j: int, x: Value) -> None:
        """Load an input or a far value of a stretch that is done once."""
        key = (x.index,)
        if key in loop.loaded or (x.op != g.INPUT and self.frames.place[x.index][0] != FAR):
            return
        name = loop.loaded[key] = f"x{len(loop.loaded)}"
        text = self._input(x.a, str(x.b)) if x.op == g.INPUT else self._place(loop, [x.index])
        loop.early[max(j - LEAD, 0)].append(f"const {self.dialect.real} {name} = {text};")

    def _source(self, s: Stretch, values: tuple[Value, ...], depth: int) -> tuple | None:
        """Where a loop loads values from if it can do so ahead: (name of an array, first place, stride)."""
        if values[0].op == g.INPUT:
            numbers = [x.b for x in values]
            name = self.program.inputs[values[0].a].name
        else:
            places = [self.frames.place[x.index] for x in values]
            late = any(
                self.where[x.index] >= s.start + max(k - depth, 0) * s.period
                for k, x in enumerate(values)
            )
            if places[0][0] != FAR or late:
                return None
            numbers, name = [number for _, number in places], ""
        stride = _stride(numbers)
        return None if not stride else (name, numbers[0], stride)

    def _ahead(self, key: tuple, turn: str) -> str:
        name, first, stride = key
        at = f"({first} + {stride} * {turn})"
        return self.dialect.element.format(name=name, i=at) if name else f"far_values[{at}]"

    def _node(self, loop: _Loop, j: int) -> None:
        s, d = loop.stretch, self.dialect
        value = self.nodes[s.start + j]
        if value.op in (g.SIN, g.COS):
            self._sine(loop, j, value)
        else:
            texts = [
                self._argument(loop, j, n)
                for n, x in enumerate((value.a, value.b))
                if x is not None
            ]
            loop.lines.append(f"const {d.real} t{value.index} = {_expression(d, value.op, texts)};")
        alike = [self.nodes[s.start + k * s.period + j].index for k in range(s.count)]
        if value.index in self.frames.place:
            loop.lines.append(f"{self._place(loop, alike)} = t{value.index};")
        for m, (output, _) in enumerate(self.results.get(value.index, ())):
            elements = [self.results[index][m][1] for index in alike]
            loop.lines.append(f"{self._output(output, self._number(elements))} = t{value.index};")

    def _sine(self, loop: _Loop, j: int, value: Value) -> None:
        """sin and cos of one angle together, where a stretch has both."""
        if value.index in loop.sines:
            return
        angle = self._argument(loop, j, 0)
        op = g.COS if value.op == g.SIN else g.SIN
        other = value.graph._known.get((op, value.a.index, (None,)))
        if other is None or other.index not in self.where or not self._inside(loop.stretch, other):
            text = self.dialect.elementary.format(op=value.op, x=angle)
            loop.lines.append(f"const {self.dialect.real} t{value.index} = {text};")
            return
        loop.sines.add(other.index)
        s, c = (value, other) if value.op == g.SIN else (other, value)
        text = self.dialect.sincos.format(
            real=self.dialect.real, x=angle, s=f"t{s.index}", c=f"t{c.index}"
        )
        loop.lines += text.split("\n")

    def _argument(self, loop: _Loop, j: int, argument: int) -> str:
        s = loop.stretch
        values = self._alike(s, j, argument)
        first = values[0]
        if type(first) is not Value:
            return self._constant(values)
        if s.count > 1 and not (first.op != g.INPUT and self._inside(s, first)):
            key = self._source(s, values, loop.depth)
            if key in loop.ahead:
                return loop.ahead[key]
        if first.op == g.INPUT:
            at = self._number([x.b for x in values])
            return loop.loaded.get((first.index,)) or self._input(first.a, at)
        if self._inside(s, first):
            return f"t{first.index}"
        key = tuple(x.index for x in values)
        if key not in loop.loaded:
            name = f"x{len(loop.loaded)}"
            loop.lines.append(f"const {self.dialect.real} {name} = {self._place(loop, list(key))};")
            loop.loaded[key] = name
        return loop.loaded[key]

    def _place(self, loop: _Loop, indices: list[int]) -> str:
        """The memory of a value."""
        memory = self.frames.place[indices[0]][0]
        numbers = [self.frames.place[index][1] for index in indices]
        if memory == CARRIED:
            return f"carried{numbers[0]}"
        stride = _stride(numbers)
        if stride is None:
            return f"far_values[{self._table(numbers)}]"
        unit = " * BLOCK" if memory == NEAR else ""
        if stride == 0:
            return f"{memory}_values[{numbers[0]}{unit}]"
        name = loop.strides.setdefault((memory, stride), f"{memory}_{len(loop.strides)}")
        return f"{name}[{numbers[0]}{unit}]"

    def _number(self, numbers: list[int]) -> str:
        """A whole number, in each repetition."""
        stride = _stride(numbers)
        if stride is None:
            return self._table(numbers)
        return str(numbers[0]) if stride == 0 else f"({numbers[0]} + {stride} * turn)"

    def _table(self, numbers: list[int]) -> str:
        start = len(self.places)
        self.places += numbers
        return f"{self.program.name}_places[{start} + turn]"

    def _constant(self, values: tuple[float, ...]) -> str:
        if len(set(values)) == 1:
            return f"({self.dialect.number(values[0])})"
        start = len(self.numbers)
        self.numbers += values
        return f"{self.program.name}_numbers[{start} + turn]"

    def _input(self, argument: int, i: str) -> str:
        return self.dialect.element.format(name=self.program.inputs[argument].name, i=i)

    def _output(self, argument: int, i: str) -> str:
        return self.dialect.element.format(name=self.program.outputs[argument].name, i=i)

    def _fixed(self, x: Scalar) -> str:
        """A result that is not computed."""
        return self._input(x.a, str(x.b)) if type(x) is Value else self.dialect.number(x)


def _stride(numbers: list[int]) -> int | None:
    """The difference between each number and the next; None if it changes."""
    steps = {b - a for a, b in pairwise(numbers)}
    if not steps:
        return 0
    return steps.pop() if len(steps) == 1 else None


_SIGNS = {g.ADD: "+", g.SUB: "-", g.MUL: "*", g.DIV: "/"}


def _expression(d: Dialect, op: str, texts: list[str]) -> str:
    if op in _SIGNS:
        return f"{texts[0]} {_SIGNS[op]} {texts[1]}"
    return f"-{texts[0]}" if op == g.NEG else d.elementary.format(op=op, x=texts[0])
