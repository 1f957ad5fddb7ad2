"""Products of Jacobians with vectors, without the Jacobians: by forward and by reverse differentiation of graphs.

    directional   J(x) dx      cost about 2 to 3 evaluations of the function
    adjoint       J(x)^T dy    cost about 3 to 4 evaluations, however many inputs there are

Derivatives are with respect to the plain inputs.  The derivative of a call of another program is a call of the
derivative of that program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from limber.codegen import graph as g
from limber.codegen.derivatives import Tangent, tangents
from limber.codegen.graph import Graph, Scalar, Value
from limber.codegen.program import Argument, Program


def directional(program: Program) -> Program:
    """The program of the derivative along a direction: its inputs are those of `program`, then one `d<name>` for each."""
    graph, count = program.graph, len(program.inputs)
    seeds = {}
    for i, argument in enumerate(program.inputs):
        values = graph.inputs(i, argument.size)
        for value, seed in zip(values, graph.inputs(count + i, argument.size)):
            seeds[value.index] = {0: seed}
    found = tangents(program, seeds, _along)
    inputs = (*program.inputs, *_changed(program.inputs, program.inputs))
    return replace(
        program,
        name=f"{program.name}_directional",
        inputs=inputs,
        outputs=_changed(program.outputs, inputs),
        results=tuple(tuple(row.get(0, 0.0) for row in rows) for rows in found),
        derivatives={},
    )


def adjoint(program: Program) -> Program:
    """The program of the transposed derivative: from one `d<name>` for each output to one for each input."""
    graph, count = program.graph, len(program.inputs)
    bars: dict[int, Scalar] = {}
    of_calls: dict[int, dict[int, Scalar]] = {}
    for i, results in enumerate(program.results):
        for x, seed in zip(results, graph.inputs(count + i, len(results))):
            _add(bars, x, seed)
    for value in reversed(program.nodes):
        if value.op == g.CALL and value.index in of_calls:
            for x, bar in _against(graph, value, of_calls.pop(value.index)):
                _add(bars, x, bar)
        elif value.op == g.RESULT and value.index in bars:
            of_calls.setdefault(value.a.index, {})[value.b] = bars.pop(value.index)
        elif value.op != g.INPUT and value.index in bars:
            for x, bar in _shares(value, bars.pop(value.index)):
                _add(bars, x, bar)
    inputs = (*program.inputs, *_changed(program.outputs, program.inputs))
    return replace(
        program,
        name=f"{program.name}_adjoint",
        inputs=inputs,
        outputs=_changed(program.inputs, inputs),
        results=tuple(
            tuple(bars.get(x.index, 0.0) for x in graph.inputs(i, a.size))
            for i, a in enumerate(program.inputs)
        ),
        derivatives={},
    )


def _changed(arguments: Sequence[Argument], others: Sequence[Argument]) -> tuple[Argument, ...]:
    """Arguments named `d<name>`, with more of a d where derivatives of derivatives have others of that name."""
    taken = {a.name for a in others}
    found = []
    for argument in arguments:
        name = f"d{argument.name}"
        while name in taken:
            name = f"d{name}"
        taken.add(name)
        found.append(Argument(name, argument.shape))
    return tuple(found)


def _of_callee(callee: Program, derive: Callable[[Program], Program]) -> Program:
    """A derivative of a program that others call, made once."""
    known = callee.derivatives
    if derive not in known:
        known[derive] = derive(callee)
    return known[derive]


def _along(graph: Graph, call: Value, given: list[Tangent]) -> list[Tangent]:
    """The derivatives of the results of a call: a call of the directional derivative."""
    size = sum(o.size for o in call.a.outputs)
    if not any(given):
        return [{}] * size
    directions = [tangent.get(0, 0.0) for tangent in given]
    entries = graph.call(_of_callee(call.a, directional), [*call.b, *directions])
    return [{0: x} for x in entries]


def _against(graph: Graph, call: Value, bars: dict[int, Scalar]) -> Iterable[tuple[Scalar, Scalar]]:
    """What the derivatives by the results of a call add to those by its arguments: a call of the adjoint."""
    weights = [bars.get(i, 0.0) for i in range(sum(o.size for o in call.a.outputs))]
    return zip(call.b, graph.call(_of_callee(call.a, adjoint), [*call.b, *weights]))


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
