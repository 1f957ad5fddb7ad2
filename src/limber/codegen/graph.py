"""Expression graphs: what the kernels become when they run on symbols.

A kernel that runs as plain Python (`limber.kernels.plain`) on `Value`s builds a graph of its arithmetic.
Numbers stay Python floats, so the zeros, ones and constants of a model fold away as the kernel runs.
Equal expressions are one node (hash-consing).  Signs are moved outward, so that few nodes contain a
minus, and x - y and y - x share one.  The nodes of a graph are in the order in which the kernel made
them, arguments first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

INPUT, ADD, SUB, MUL, DIV, NEG = "input", "add", "sub", "mul", "div", "neg"
SIN, COS, SQRT, LOG = "sin", "cos", "sqrt", "log"
CALL, RESULT = "call", "result"

Scalar = Any  # Value | float


class Value:
    """One node of a graph.  `a` and `b` are its arguments: values or floats (b is None for one)."""

    __slots__ = ("a", "b", "graph", "index", "op")
    __array_ufunc__ = None  # makes NumPy scalars leave the arithmetic to this class

    def __init__(self, graph: Graph, op: str, a: Any, b: Any, index: int):
        self.graph = graph
        self.op = op
        self.a = a
        self.b = b
        self.index = index

    def __add__(self, other):
        return self.graph.add(self, other)

    __radd__ = __add__

    def __sub__(self, other):
        return self.graph.sub(self, other)

    def __rsub__(self, other):
        return self.graph.sub(other, self)

    def __mul__(self, other):
        return self.graph.mul(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self.graph.div(self, other)

    def __rtruediv__(self, other):
        return self.graph.div(other, self)

    def __neg__(self):
        return self.graph.neg(self)

    def sqrt(self):
        return sqrt(self)

    def __repr__(self):
        return f"<{self.op} {self.index}>"


class Graph:
    """The nodes of one trace."""

    def __init__(self) -> None:
        self.nodes: list[Value] = []
        self._known: dict[tuple, Value] = {}

    def node(self, op: str, a: Any, b: Any = None) -> Value:
        """The node (op, a, b), made if it is new."""
        key = (
            op,
            a.index if type(a) is Value else (a,),
            b.index if type(b) is Value else (b,),
        )
        value = self._known.get(key)
        if value is None:
            value = Value(self, op, a, b, len(self.nodes))
            self.nodes.append(value)
            self._known[key] = value
        return value

    def inputs(self, argument: int, size: int) -> list[Value]:
        """The elements of input number `argument`."""
        return [self.node(INPUT, argument, i) for i in range(size)]

    def call(self, program: Any, arguments: list[Scalar]) -> list[Value]:
        """The results of another program, called on `arguments` (all its inputs in one list)."""
        call = Value(self, CALL, program, tuple(arguments), len(self.nodes))
        self.nodes.append(call)
        size = sum(o.size for o in program.outputs)
        return [self.node(RESULT, call, i) for i in range(size)]

    def neg(self, a: Scalar) -> Scalar:
        if type(a) is not Value:
            return -a
        if a.op == NEG:
            return a.a
        if a.op == SUB:
            return self.sub(a.b, a.a)
        return self.node(NEG, a)

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        if type(a) is not Value:
            a, b = b, a
        if type(b) is not Value:
            b = float(b)
            if b == 0.0:
                return a
            return self.sub(b, a.a) if a.op == NEG else self.node(ADD, a, b)
        if b.op == NEG:
            return self.sub(a, b.a)
        if a.op == NEG:
            return self.sub(b, a.a)
        if a.index > b.index:
            a, b = b, a
        return self.node(ADD, a, b)

    def sub(self, a: Scalar, b: Scalar) -> Scalar:
        if type(b) is not Value:
            return self.add(a, -b) if type(a) is Value else a - b
        if b.op == NEG:
            return self.add(a, b.a)
        if type(a) is Value:
            if a is b:
                return 0.0
            if a.op == NEG:
                return self.neg(self.add(a.a, b))
            if (SUB, b.index, a.index) in self._known:
                return self.node(NEG, self.node(SUB, b, a))
            return self.node(SUB, a, b)
        a = float(a)
        return self.neg(b) if a == 0.0 else self.node(SUB, a, b)

    def mul(self, a: Scalar, b: Scalar) -> Scalar:
        if type(a) is not Value:
            a, b = b, a
        if type(b) is not Value:
            return self._scaled(a, float(b))
        if a.op == NEG:
            return self.neg(self.mul(a.a, b))
        if b.op == NEG:
            return self.neg(self.mul(a, b.a))
        if a.index > b.index:
            a, b = b, a
        return self.node(MUL, a, b)

    def _scaled(self, a: Value, factor: float) -> Scalar:
        """a times a number; the number is the second argument of the node, and is positive."""
        if factor == 0.0:
            return 0.0
        if factor == 1.0:
            return a
        if factor < 0.0:
            return self.neg(self._scaled(a, -factor))
        if a.op == NEG:
            return self.neg(self._scaled(a.a, factor))
        if a.op == MUL and type(a.b) is not Value:
            return self._scaled(a.a, a.b * factor)
        return self.node(MUL, a, factor)

    def div(self, a: Scalar, b: Scalar) -> Scalar:
        if type(b) is not Value:
            return self.mul(a, 1.0 / b) if type(a) is Value else a / b
        if b.op == NEG:
            return self.neg(self.div(a, b.a))
        if type(a) is Value:
            return self.neg(self.div(a.a, b)) if a.op == NEG else self.node(DIV, a, b)
        a = float(a)
        return 0.0 if a == 0.0 else self.node(DIV, a, b)


def _elementary(op: str) -> Callable[[Scalar], Scalar]:
    number = getattr(math, op)

    def function(x: Scalar) -> Scalar:
        return x.graph.node(op, x) if type(x) is Value else number(x)

    return function


sin = _elementary(SIN)
cos = _elementary(COS)
sqrt = _elementary(SQRT)
log = _elementary(LOG)
#: What `evaluate` needs to go from one graph to another.
ELEMENTARY: dict[str, Callable] = {SIN: sin, COS: cos, SQRT: sqrt, LOG: log}


def arguments(value: Value) -> Iterable[Value]:
    """The nodes that `value` is computed from."""
    if value.op == CALL:
        return [x for x in value.b if type(x) is Value]
    return [x for x in (value.a, value.b) if type(x) is Value]


def needed(results: Iterable[Scalar]) -> list[Value]:
    """The nodes that `results` need, themselves included, in order; all others are dead."""
    pending = [x for x in results if type(x) is Value]
    seen: set[int] = set()
    found: list[Value] = []
    while pending:
        value = pending.pop()
        if value.index not in seen:
            seen.add(value.index)
            found.append(value)
            pending.extend(arguments(value))
    return sorted(found, key=lambda value: value.index)


#: How to compute a node on other scalars: op -> function of its arguments.
ARITHMETIC: dict[str, Callable] = {
    ADD: lambda a, b: a + b,
    SUB: lambda a, b: a - b,
    MUL: lambda a, b: a * b,
    DIV: lambda a, b: a / b,
    NEG: lambda a: -a,
}


def evaluate(
    results: Iterable[Scalar], inputs: list[list], functions: dict[str, Callable]
) -> list[Any]:
    """`results` computed on other scalars (numbers, CasADi, values of another graph).

    `inputs[argument][i]` stands for the inputs; `functions` has sin, cos, sqrt and log for the scalars.
    """
    results = list(results)
    do = ARITHMETIC | functions
    got: dict[int, Any] = {}

    def of(x):
        return got[x.index] if type(x) is Value else x

    for value in needed(results):
        if value.op == INPUT:
            got[value.index] = inputs[value.a][value.b]
        elif value.op == CALL:
            got[value.index] = value.a.evaluate([of(x) for x in value.b], functions)
        elif value.op == RESULT:
            got[value.index] = of(value.a)[value.b]
        elif value.b is None:
            got[value.index] = do[value.op](of(value.a))
        else:
            got[value.index] = do[value.op](of(value.a), of(value.b))
    return [of(x) for x in results]
