"""From a program to the text of its arithmetic, shared by C, SIMD C and CUDA.

A piece of straight-line code is a list of assignments.  A value that is used once, near where it is
computed, is written where it is used; every other value gets a name.  A long program is cut into
pieces, each a function, and the array `w` passes values that later pieces need.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

from limber.codegen import graph as g
from limber.codegen.graph import Value
from limber.codegen.program import Argument, Program

#: A value is written at its only use if that is at most this many nodes away ...
NEAR = 24
#: ... and the expression stays shorter than this.
LONGEST = 90
#: Programs of more nodes than this are cut into pieces of about this size.
PIECE = 3000


@dataclass(frozen=True)
class Dialect:
    """How one language writes things; the fields with braces are formats."""

    real: str = "double"  # the type of a value
    suffix: str = ""  # of constants
    element: str = "{name}[{i}]"  # element i of an argument
    elementary: str = "{op}({x})"  # sin, cos, sqrt, log
    sincos: str = "const {real} {s} = sin({x});\nconst {real} {c} = cos({x});"
    callee: str = "{name}"
    constant: str = "{x}"  # a constant where a value must stand alone

    def number(self, x: float) -> str:
        """A constant, exact in double precision."""
        return repr(float(x)) + self.suffix

    def at(self, argument: Argument, i: int) -> str:
        """Element i of an argument; a scalar is an array of one."""
        return self.element.format(name=argument.name, i=i)


DOUBLE = Dialect()
SINGLE = Dialect(
    "float",
    "f",
    elementary="{op}f({x})",
    sincos="const {real} {s} = sinf({x});\nconst {real} {c} = cosf({x});",
)


@dataclass
class Piece:
    """Straight-line code: assignments to names or to elements of arrays, in order."""

    lines: list[str] = field(default_factory=list)
    inputs: set[int] = field(default_factory=set)  # which inputs it reads


@dataclass
class Code:
    """The pieces of one program and the size of the array `w` between them."""

    program: Program
    pieces: list[Piece]
    workspace: int
    loops: bool = False  # whether it is made of loops


def written(program: Program, dialect: Dialect = DOUBLE) -> Code:
    """The code of a program."""
    lines = getattr(program, "lines", None)
    if lines is not None:  # a product of matrices
        return Code(program, [Piece(lines(dialect), {0, 1})], 0, loops=True)
    return _Writer(program, dialect).code()


class _Writer:
    def __init__(self, program: Program, dialect: Dialect):
        self.program = program
        self.dialect = dialect
        self.nodes = program.nodes
        self.place = {value.index: i for i, value in enumerate(self.nodes)}
        self.results: dict[int, list[str]] = {}
        self.constants: list[tuple[str, float]] = []
        for argument, values in zip(program.outputs, program.results):
            for i, x in enumerate(values):
                target = dialect.at(argument, i)
                if type(x) is Value:
                    self.results.setdefault(x.index, []).append(target)
                elif x is not None:
                    self.constants.append((target, x))
        self.uses: Counter[int] = Counter()
        self.last: dict[int, int] = {}
        for i, value in enumerate(self.nodes):
            for x in g.arguments(value):
                self.uses[x.index] += 1
                self.last[x.index] = i
        self.pending: dict[int, tuple[str, int]] = {}  # unwritten expressions, with precedence
        self.slots: dict[int, int] = {}  # values kept in w

    def code(self) -> Code:
        size = len(self.nodes)
        count = max(1, round(size / PIECE))
        bounds = self._bounds(size, count)
        pieces: list[Piece] = []
        free: list[int] = []
        workspace = 0
        for start, stop in pairwise(bounds):
            self.piece = Piece()
            self.named: dict[int, str] = {}
            for i in range(start, stop):
                self._write(self.nodes[i], i, stop)
            # keep what later pieces need
            for i in range(start, stop):
                index = self.nodes[i].index
                if self.last.get(index, -1) >= stop and self._travels(self.nodes[i]):
                    if free:
                        slot = free.pop()
                    else:
                        slot, workspace = workspace, workspace + 1
                    self.slots[index] = slot
                    self.piece.lines.append(f"w[{slot}] = {self._use(self.nodes[i])[0]};")
            for index, slot in list(self.slots.items()):
                if self.last[index] < stop:
                    free.append(slot)
                    del self.slots[index]
            pieces.append(self.piece)
        for target, x in self.constants:
            pieces[-1].lines.append(f"{target} = {self._alone(x)};")
        return Code(self.program, pieces, workspace)

    def _bounds(self, size: int, count: int) -> list[int]:
        """Where the pieces begin and end; the results of a call stay with it, in its array."""
        bounds = [0]
        for i in range(1, count):
            bound = size * i // count
            while bound < size and self.nodes[bound].op == g.RESULT:
                bound += 1
            if bounds[-1] < bound < size:
                bounds.append(bound)
        return [*bounds, size]

    @staticmethod
    def _travels(value: Value) -> bool:
        return value.op not in (g.INPUT, g.CALL)

    def _write(self, value: Value, i: int, stop: int) -> None:
        """The code of one node: pending text, or an assignment."""
        op, index = value.op, value.index
        if op == g.INPUT:
            pass
        elif op == g.CALL:
            self._call(value)
            return
        elif op == g.RESULT:
            self.named[index] = f"r{value.a.index}[{value.b}]"
        elif op in (g.SIN, g.COS):
            self._sine(value, i, stop)
        else:
            text, precedence = self._expression(value)
            alone = self.uses[index] == 1 and index not in self.results
            near = self.last.get(index, -1) - i <= NEAR and self.last.get(index, -1) < stop
            if alone and near and len(text) < LONGEST:
                self.pending[index] = (text, precedence)
            else:
                self._name(value, text)
        for target in self.results.get(index, ()):
            self.piece.lines.append(f"{target} = {self._use(value)[0]};")

    def _name(self, value: Value, text: str) -> None:
        name = f"t{value.index}"
        self.piece.lines.append(f"const {self.dialect.real} {name} = {text};")
        self.named[value.index] = name

    def _sine(self, value: Value, i: int, stop: int) -> None:
        """sin and cos of one angle together, where both are needed in this piece."""
        if value.index in self.named:
            return
        other = value.graph._known.get(
            (g.COS if value.op == g.SIN else g.SIN, value.a.index, (None,))
        )
        angle = self._use(value.a)[0]  # used by both, so a name or an input
        if other is not None and i < self.place.get(other.index, -1) < stop:
            s, c = (value, other) if value.op == g.SIN else (other, value)
            names = f"t{s.index}", f"t{c.index}"
            text = self.dialect.sincos.format(
                real=self.dialect.real, x=angle, s=names[0], c=names[1]
            )
            self.piece.lines += text.split("\n")
            self.named[s.index], self.named[c.index] = names
        else:
            self._name(value, self.dialect.elementary.format(op=value.op, x=angle))

    def _call(self, value: Value) -> None:
        """A call of another program: arguments and results in arrays."""
        program: Program = value.a
        real = self.dialect.real
        names, start = [], 0
        for n, argument in enumerate(program.inputs):
            name = f"a{value.index}_{n}"
            names.append(name)
            self.piece.lines.append(f"{real} {name}[{max(argument.size, 1)}];")
            for j in range(argument.size):
                self.piece.lines.append(f"{name}[{j}] = {self._text(value.b[start + j])};")
            start += argument.size
        size = sum(o.size for o in program.outputs)
        self.piece.lines.append(f"{real} r{value.index}[{max(size, 1)}];")
        at = 0
        for output in program.outputs:
            names.append(f"r{value.index} + {at}" if at else f"r{value.index}")
            at += output.size
        callee = self.dialect.callee.format(name=program.name)
        self.piece.lines.append(f"{callee}({', '.join(names)});")

    def _alone(self, x: float) -> str:
        return self.dialect.constant.format(x=self.dialect.number(x))

    def _text(self, x) -> str:
        return self._use(x)[0] if type(x) is Value else self._alone(x)

    def _use(self, value: Value) -> tuple[str, int]:
        """Text of a value where it is used, and its precedence (3 an atom, 2 a product, 1 a sum)."""
        if value.op == g.INPUT:
            self.piece.inputs.add(value.a)
            return self.dialect.at(self.program.inputs[value.a], value.b), 3
        if value.index in self.pending:
            return self.pending.pop(value.index)
        if value.index in self.named:
            return self.named[value.index], 3
        return f"w[{self.slots[value.index]}]", 3

    def _operand(self, x, least: int) -> str:
        if type(x) is not Value:
            text = self.dialect.number(x)
            return f"({text})" if text.startswith("-") else text
        text, precedence = self._use(x)
        return text if precedence >= least else f"({text})"

    def _expression(self, value: Value) -> tuple[str, int]:
        a, b = value.a, value.b
        if value.op == g.ADD:
            return f"{self._operand(a, 1)} + {self._operand(b, 2)}", 1
        if value.op == g.SUB:
            return f"{self._operand(a, 1)} - {self._operand(b, 2)}", 1
        if value.op == g.MUL:
            return f"{self._operand(a, 2)} * {self._operand(b, 3)}", 2
        if value.op == g.DIV:
            return f"{self._operand(a, 2)} / {self._operand(b, 3)}", 2
        if value.op == g.NEG:
            return f"-{self._operand(a, 3)}", 1
        return self.dialect.elementary.format(op=value.op, x=self._use(a)[0]), 3
