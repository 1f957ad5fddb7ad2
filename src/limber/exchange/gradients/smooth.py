"""Generated functions with their derivatives: along a direction, and transposed.

    directional   (x, dx) -> J(x) dx        for forward differentiation
    adjoint       (x, w) -> J(x)^T w        for reverse differentiation

Both are functions of the same kind, so derivatives of any order are available.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import text
from limber.codegen import directional as differentiated
from limber.codegen import graph as g
from limber.codegen.call import Caller
from limber.codegen.compiler import loaded, programmed
from limber.codegen.cuda import CudaFunction
from limber.codegen.graph import Graph
from limber.codegen.program import Program, split
from limber.dynamics.refusals import quaternions
from limber.errors import ArgumentTypeError, ArgumentValueError

#: States that one instruction handles in batches.
LANES = 8


class Smooth:
    """A program with its code and its derivatives, which are made on demand.

    Inputs and outputs have the shapes of the program, or these shapes behind common batch dimensions; inputs without
    batch dimensions are shared by all states of the batch.
    """

    def __init__(self, program: Program, origin: Smooth | None = None):
        self.program = replace(program, listed=True)
        self.origin = origin  # what this is the directional derivative of
        self._codes: dict[int, Caller] = {}

    @cached_property
    def directional(self) -> Smooth:
        """The directional derivative: takes the inputs, then a change of each; returns the change of each output."""
        return Smooth(differentiated.directional(self.program), self)

    @cached_property
    def adjoint(self) -> Smooth:
        """The transposed derivative: takes the inputs, then a weight for each output; returns a gradient for each
        input.
        """
        return Smooth(differentiated.adjoint(self.program))

    def lanes(self, count: int) -> int:
        """The number of states that one instruction handles, for this number of states."""
        return LANES if count >= LANES else 1

    def code(self, count: int) -> Caller:
        """The compiled function for this number of states: NumPy arrays in, a tuple of NumPy arrays out."""
        lanes = self.lanes(count)
        if lanes not in self._codes:
            self._codes[lanes] = loaded(self.program, lanes)
        return self._codes[lanes]

    @cached_property
    def kernel(self) -> CudaFunction:
        """The function on the GPU: arrays (*shape, states) in and out."""
        return CudaFunction(self.program, False)

    def batch(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The batch dimensions of inputs of these shapes, which must be compatible."""
        owns = (s[: len(s) - len(a.shape)] for a, s in zip(self.program.inputs, shapes))
        return next((own for own in owns if own), ())


class Signature:
    """The arguments that a function was made with: their names, order and shapes."""

    def __init__(self, program: Program):
        self.name, self.about = program.name, program.about
        self.inputs = program.inputs
        self.single = len(program.outputs) == 1

    def ordered(self, given: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        """All arguments in order; some may be given by name."""
        names = [a.name for a in self.inputs]
        rest = names[len(given) :]
        wrong = [name for name in named if name not in rest]
        if wrong or len(given) + len(named) != len(names):
            got = ", ".join([f"{len(given)} in order", *named])
            raise ArgumentTypeError(f"{self.name} takes {', '.join(names)}; got {got}.")
        return [*given, *(named[name] for name in rest)]

    def batch(self, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The common batch dimensions of arguments of these shapes."""
        owns = []
        for a, shape in zip(self.inputs, shapes):
            own = len(shape) - len(a.shape)
            if own < 0 or shape[own:] != a.shape:
                what = f" ({a.meaning})" if a.meaning else ""
                raise ArgumentValueError(
                    f"{a.name}{what} must have shape {text(a.shape)}, or this shape after batch dimensions, got "
                    f"{text(shape)}."
                )
            owns.append(shape[:own])
        try:
            return np.broadcast_shapes(*owns)
        except ValueError:
            said = ", ".join(f"{a.name} {text(s)}" for a, s in zip(self.inputs, shapes))
            raise ArgumentValueError(f"the batch dimensions do not match: {said}.") from None


def smooth_function(
    system: System, function: str, options: dict[str, Any]
) -> tuple[Signature, Smooth]:
    """A function of a system, by the name and the options of `lb.compile`; its quaternions are normalized first."""
    wanted = {
        "body": None, "node": None, "wrt": None, "external": (), "parameters": (), "driven": (), "ends": (),
    } | options  # fmt: skip
    program = programmed(system, function, **wanted)
    return Signature(program), Smooth(_of_any_quaternions(system, program))


def _of_any_quaternions(system: System, program: Program) -> Program:
    """The program with q / |q| in place of every quaternion q.

    Its derivatives along q itself are zero, and those across are derivatives with respect to rotations: they do not
    depend on how the rotation formulas extend off the unit sphere.
    """
    places = [at for _, at in quaternions(system)] if program.inputs[0].name == "q" else []
    if not places:
        return program
    graph = Graph()
    inputs = [graph.inputs(i, a.size) for i, a in enumerate(program.inputs)]
    for at in places:
        turn = inputs[0][at]
        norm = g.sqrt(sum(x * x for x in turn))
        inputs[0][at] = [x / norm for x in turn]
    found = graph.call(program, [x for part in inputs for x in part])
    name = f"{program.name}_of_any_quaternions"
    results = split(found, program.outputs)
    return replace(program, name=name, results=results, graph=graph, derivatives={})
