"""A traced function: named arguments in, named results out, and the graph between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

from limber.codegen import graph as g
from limber.codegen.graph import Graph, Scalar, Value


@dataclass(frozen=True)
class Argument:
    """One input or output array: its name, its shape (row-major) and what it means, in words."""

    name: str
    shape: tuple[int, ...]
    meaning: str = ""
    elements: tuple[str, ...] = ()  # what each element is, in words

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True)
class OperationCount:
    """The operations of generated code; squares count as multiplications, subtractions and signs as additions."""

    mul: int
    add: int
    div: int
    transcendental: int

    def __add__(self, other: OperationCount) -> OperationCount:
        return OperationCount(
            self.mul + other.mul,
            self.add + other.add,
            self.div + other.div,
            self.transcendental + other.transcendental,
        )


@dataclass(eq=False)
class Program:
    """`results[i]` are the elements of output i, in terms of the inputs in `graph`; None for one that is not computed here."""

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    results: tuple[tuple[Scalar, ...], ...]
    graph: Graph = field(repr=False)
    about: str = ""
    system: str = ""  # the name of the system it belongs to
    example: tuple[tuple[float, ...], ...] = ()  # inputs to try it with
    origin: Any = field(default=None, repr=False)  # the `trace.Request` it was traced for
    listed: bool = False  # whether even a single result comes in a tuple
    #: programs of its Jacobian, by the inputs they are for, and others by what made them
    derivatives: dict[Any, Program] = field(default_factory=dict, repr=False)

    @cached_property
    def nodes(self) -> list[Value]:
        """The nodes that have to be computed, in order."""
        return g.needed(x for output in self.results for x in output)

    @property
    def callees(self) -> list[Program]:
        """The programs this one calls, each once, callees of callees first."""
        found: list[Program] = []
        for value in self.nodes:
            if value.op == g.CALL:
                for program in (*value.a.callees, value.a):
                    if program not in found:
                        found.append(program)
        return found

    def evaluate(self, flat: list, functions: dict[str, Callable]) -> list[Any]:
        """All results in one list, given all inputs in one list, for any scalar type."""
        inputs, start = [], 0
        for argument in self.inputs:
            inputs.append(flat[start : start + argument.size])
            start += argument.size
        return g.evaluate((x for output in self.results for x in output), inputs, functions)

    def count(self) -> OperationCount:
        """The operations of one evaluation."""
        tally = dict.fromkeys((g.MUL, g.ADD, g.SUB, g.NEG, g.DIV, *g.ELEMENTARY), 0)
        total = OperationCount(0, 0, 0, 0)
        for value in self.nodes:
            if value.op in tally:
                tally[value.op] += 1
            elif value.op == g.CALL:
                total += value.a.count()
        return total + OperationCount(
            tally[g.MUL],
            tally[g.ADD] + tally[g.SUB] + tally[g.NEG],
            tally[g.DIV],
            sum(tally[op] for op in g.ELEMENTARY),
        )


def needed(program: Program, model: Program | None = None) -> tuple[Program, ...]:
    """The programs that code for `program` and a model of its control law has, each after those that it calls."""
    own = () if model is None else (*model.callees, model)
    return (*own, *program.callees, program)


def inlined(program: Program) -> Program:
    """The same program without calls: every callee written out in place."""
    if not program.callees:
        return program
    graph = Graph()
    inputs = [graph.inputs(i, argument.size) for i, argument in enumerate(program.inputs)]
    flat = [x for argument in inputs for x in argument]
    results = program.evaluate(flat, g.ELEMENTARY)
    return replace(program, results=split(results, program.outputs), graph=graph, derivatives={})


def split(flat: list[Scalar], arguments: tuple[Argument, ...]) -> tuple[tuple[Scalar, ...], ...]:
    """One list, cut into the elements of each argument."""
    parts, start = [], 0
    for argument in arguments:
        parts.append(tuple(flat[start : start + argument.size]))
        start += argument.size
    return tuple(parts)
