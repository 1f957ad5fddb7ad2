"""Products of Jacobians with vectors, without the Jacobians: by forward and by reverse differentiation of graphs.

    directional   J(x) dx      cost about 2 to 3 evaluations of the function
    adjoint       J(x)^T dy    cost about 3 to 4 evaluations, however many inputs there are

Derivatives are with respect to the plain inputs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from limber.codegen import graph as g
from limber.codegen.derivatives import tangents
from limber.codegen.graph import Scalar, Value
from limber.codegen.program import Argument, Program, inlined


def directional(program: Program) -> Program:
    """The program of the derivative along a direction: its inputs are those of `program`, then one `d<name>` for each."""
    program = inlined(program)
    graph, count = program.graph, len(program.inputs)
    seeds = {}
    for i, argument in enumerate(program.inputs):
        values = graph.inputs(i, argument.size)
        for value, seed in zip(values, graph.inputs(count + i, argument.size)):
            seeds[value.index] = {0: seed}
    found = tangents(program, seeds)
    return replace(
        program,
        name=f"{program.name}_directional",
        inputs=(*program.inputs, *map(_changed, program.inputs)),
        outputs=tuple(_changed(a) for a in program.outputs),
        results=tuple(tuple(row.get(0, 0.0) for row in rows) for rows in found),
        derivatives={},
    )


def adjoint(program: Program) -> Program:
    """The program of the transposed derivative: from one `d<name>` for each output to one for each input."""
    program = inlined(program)
    graph, count = program.graph, len(program.inputs)
    bars: dict[int, Scalar] = {}
    for i, results in enumerate(program.results):
        for x, seed in zip(results, graph.inputs(count + i, len(results))):
            _add(bars, x, seed)
    for value in reversed(program.nodes):
        if value.op != g.INPUT and value.index in bars:
            for x, bar in _shares(value, bars.pop(value.index)):
                _add(bars, x, bar)
    return replace(
        program,
        name=f"{program.name}_adjoint",
        inputs=(*program.inputs, *map(_changed, program.outputs)),
        outputs=tuple(_changed(a) for a in program.inputs),
        results=tuple(
            tuple(bars.get(x.index, 0.0) for x in graph.inputs(i, a.size))
            for i, a in enumerate(program.inputs)
        ),
        derivatives={},
    )


def _changed(argument: Argument) -> Argument:
    return Argument(f"d{argument.name}", argument.shape)


def _add(bars: dict[int, Scalar], x: Scalar, bar: Scalar) -> None:
    if type(x) is Value:
        bars[x.index] = bars[x.index] + bar if x.index in bars else bar


def _shares(value: Value, bar: Scalar) -> Iterable[tuple[Scalar, Scalar]]:
    """What the derivative by a node adds to those by its arguments."""
    graph, a, b = value.graph, value.a, value.b
    if value.op == g.ADD:
        return (a, bar), (b, bar)
    if value.op == g.SUB:
        return (a, bar), (b, -bar)
    if value.op == g.MUL:
        return (a, bar * b), (b, bar * a)
    if value.op == g.DIV:
        share = graph.div(bar, b)
        return (a, share), (b, -(share * value))
    if value.op == g.NEG:
        return ((a, -bar),)
    if value.op == g.SIN:
        return ((a, bar * g.cos(a)),)
    if value.op == g.COS:
        return ((a, -(bar * g.sin(a))),)
    if value.op == g.LOG:
        return ((a, graph.div(bar, a)),)
    return ((a, graph.div(0.5 * bar, value)),)  # a root
