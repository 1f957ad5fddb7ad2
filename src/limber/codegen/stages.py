"""Jacobians in stages: programs one after another, each short enough for the registers of a GPU's thread.

All columns of a Jacobian in one program keep thousands of values at a time, far more than a thread has registers, so
that it waits for memory most of the time.  Columns that do not share much are computed apart, each group of them by a
kernel of its own; what they share is computed again by each.  The Jacobians of forward dynamics of trees,

    d vdot/dx = -M^{-1} d ID/dx at vdot,        d vdot/dtau = M^{-1},

are the groups of d ID/dx and of M^{-1}, and one product of matrices (see `derivatives`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from limber.codegen import graph as g
from limber.codegen.derivatives import derivative
from limber.codegen.graph import Graph, Value
from limber.codegen.program import Argument, Program
from limber.codegen.request import Request
from limber.codegen.trace import trace

#: Elements of a column: the number of an output, and the place in it.
Column = list[tuple[int, int]]

#: Jacobians of fewer nodes are one program.
LONG = 6000
#: Nodes of a group of columns, at first; larger ones are tried ...
GROUP = 4500
#: ... as long as all groups together have more than so many times the nodes of the Jacobian.
REPEATED = 1.6


@dataclass(frozen=True)
class Stage:
    """A program, and the names of the arrays that its outputs are written to.

    Its inputs are arrays of the same names: arguments of the whole, or outputs of earlier stages.  None among the results
    stands for elements that other stages write.
    """

    program: Program
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Stages:
    """The stages of a Jacobian; `kept` are the arrays between them.

    scaled : the arrays X that are multiplied in the end, in place: -inverse X.
    """

    stages: tuple[Stage, ...]
    kept: tuple[Argument, ...] = ()
    inverse: Argument | None = None
    scaled: tuple[Argument, ...] = ()


def stages(request: Request, wrt: str | Sequence[str], whole: Program) -> Stages | None:
    """The stages of a Jacobian; None if one program is better.

    request : the request for the function itself.
    whole : the Jacobian as one program.
    """
    if len(whole.nodes) <= LONG or whole.callees:
        return None
    if request.function == "forward_dynamics" and not request.system.closures:
        return _of_forward_dynamics(request, (wrt,) if isinstance(wrt, str) else wrt, whole)
    found = _groups(whole, tuple(o.name for o in whole.outputs))
    return Stages(found) if len(found) > 1 else None


def _of_forward_dynamics(request: Request, names: Sequence[str], whole: Program) -> Stages:
    outputs = dict(zip(names, whole.outputs))
    inverse = replace(derivative(request, "tau"), name="inverse_inertia")
    own = outputs.get("tau")
    kept_inverse = own or Argument("inverse", inverse.outputs[0].shape)
    found = list(_groups(inverse, (kept_inverse.name,)))
    others = [n for n in names if n != "tau"]
    if not others:
        return Stages(tuple(found))
    accelerations = trace(request)
    (vdot,) = accelerations.outputs
    slopes = derivative(replace(request, function="inverse_dynamics"), others)
    found.append(Stage(replace(accelerations, name="accelerations"), (vdot.name,)))
    scaled = tuple(outputs[n] for n in others)
    found += _groups(slopes, tuple(o.name for o in scaled))
    kept = (vdot,) if own else (vdot, kept_inverse)
    return Stages(tuple(found), kept, kept_inverse, scaled)


def _groups(p: Program, names: tuple[str, ...]) -> tuple[Stage, ...]:
    """Programs of some columns each; an output (rows, ...) has a column for each place behind its first dimension."""
    columns = [
        [(o, i) for i in range(j, argument.size, step)]
        for o, argument in enumerate(p.outputs)
        for step in [prod(argument.shape[1:])]
        for j in range(step)
    ]
    size, groups = GROUP, _divided(p, columns, GROUP)
    while _repeated(p, groups):
        size *= 2
        groups = _divided(p, columns, size)
    if len(groups) == 1:
        return (Stage(p, names),)
    return tuple(Stage(_part(p, f"{p.name}_{n}", group), names) for n, group in enumerate(groups))


def _divided(p: Program, columns: list[Column], size: int) -> list[list[Column]]:
    """Groups of successive columns, as many in each as need `size` nodes."""
    groups: list[list[Column]] = []
    seen: set[int] = set()
    for column in columns:
        new = _needed(p, column, seen)
        if not groups or len(seen) + len(new) > size:
            groups.append([])
            seen = set()
            new = _needed(p, column, seen)
        groups[-1].append(column)
        seen |= new
    return groups


def _repeated(p: Program, groups: list[list[Column]]) -> bool:
    """Whether groups compute too much of what others compute too."""
    total = sum(len(_needed(p, [x for column in group for x in column], set())) for group in groups)
    return len(groups) > 1 and total > REPEATED * len(p.nodes)


def _needed(p: Program, elements: Column, seen: set[int]) -> set[int]:
    """The nodes that some elements of the results need in addition to those that were seen."""
    pending = [x for o, i in elements if type(x := p.results[o][i]) is Value]
    new: set[int] = set()
    while pending:
        value = pending.pop()
        if value.index not in seen and value.index not in new and value.op != g.INPUT:
            new.add(value.index)
            pending.extend(g.arguments(value))
    return new


def _part(p: Program, name: str, columns: list[Column]) -> Program:
    """Some columns of a program, computed one after another, so that few values are in use at a time."""
    graph = Graph()
    inputs = [graph.inputs(i, a.size) for i, a in enumerate(p.inputs)]
    results: list[list] = [[None] * o.size for o in p.outputs]
    for column in columns:
        found = g.evaluate([p.results[o][i] for o, i in column], inputs, g.ELEMENTARY)
        for (o, i), x in zip(column, found):
            results[o][i] = x
    return Program(name, p.inputs, p.outputs, tuple(map(tuple, results)), graph)
