"""A function that is being traced: its model and its inputs as values of a graph, and how kernels run on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

from limber.assembly.pack import Packed
from limber.codegen import parameters as named
from limber.codegen.graph import Scalar, Value
from limber.codegen.program import Program
from limber.codegen.request import Request
from limber.dynamics.evaluate import node_pair
from limber.kernels import layout as L
from limber.kernels.functions import INPUTS, Function

Values = dict[str, list[Scalar]]


class Model:
    """A system in the form that the traced kernels take: lists, with values in place of parameters."""

    def __init__(self, request: Request, inputs: Values):
        self.system = request.system
        found = {key: named.find(request.system, key) for key in request.parameters}
        given = {
            key: (p, inputs[named.argument(self.system, key).name]) for key, p in found.items()
        }
        driven = tuple(sorted(request.system.number(body) for body in request.driven))
        packed = request.system.dynamics.with_driven(driven)
        self.dynamics = self._lists(packed, given)
        self.geometry = (
            self.dynamics
            if request.system.geometry is packed
            else self._lists(request.system.geometry, given)
        )

    def _lists(self, packed: Packed, given) -> tuple[list, list, list]:
        topo = packed.topo.tolist()
        return topo, named.constants(self.system, packed, given), [None] * topo[L.WORK_SIZE]


@dataclass(frozen=True, eq=False)
class Tracing:
    """A function that is being traced.

    values : its inputs, by name.
    trace : gives the program of another request.
    """

    request: Request
    model: Model
    values: Values
    trace: Callable[[Request], Program]

    def run(self, function: Function, **instead: list[Scalar]) -> list[Scalar]:
        """The outputs of one kernel for the inputs, or for those that are given instead."""
        request, values = self.request, self.values | instead
        s = request.system
        packed = s.dynamics if function.view == "dynamics" else s.geometry
        arguments: list = []
        for name in function.takes:
            if name == "node":
                assert request.body is not None
                arguments += node_pair(s, packed, request.body, request.node).tolist()
            elif name == "forces":
                pairs = [node_pair(s, packed, *end).tolist() for end in request.external]
                index = [number for pair in pairs for number in pair]
                arguments += [len(pairs), index, values.get("external", [])]
            elif name in function.zero:
                arguments.append([0.0] * prod(INPUTS[name].shape_in(s)))
            else:
                arguments.append(values[name] if INPUTS[name].shape else values[name][0])
        out: list[Scalar] = [0.0] * function.size_in(s)
        module, _, kernel = function.kernel.partition(".")
        run = getattr(getattr(request.kernels, module), kernel)
        model = self.model.dynamics if function.view == "dynamics" else self.model.geometry
        run(*model, *arguments, out)
        return out

    def called(self, function: str) -> Callable[..., list[Value]]:
        """A function that calls the program of another function of the same system, with the same parameters."""
        inner = self.trace(replace(self.request, function=function, external=()))

        def call(*arguments: list[Scalar]) -> list[Value]:
            others = [self.values[a.name] for a in inner.inputs[len(arguments) :]]
            flat = [x for part in (*arguments, *others) for x in part]
            graph = next(x.graph for part in self.values.values() for x in part if type(x) is Value)
            return graph.call(inner, flat)

        return call
