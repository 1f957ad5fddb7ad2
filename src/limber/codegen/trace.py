"""From a system and the name of a function to a traced program.

The kernels run once as plain Python on the nodes of a graph; see `limber.codegen.graph`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from types import SimpleNamespace

from limber.assembly.pack import Packed
from limber.assembly.system import System
from limber.checks import shown
from limber.codegen import graph as g
from limber.codegen import parameters as named
from limber.codegen.graph import Graph, Scalar
from limber.codegen.program import Argument, Program, split
from limber.dynamics.closed import refuse_closures
from limber.dynamics.evaluate import node_pair
from limber.dynamics.hybrid import driven_bodies
from limber.dynamics.sweep import accurate_sweeps
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels import layout as L
from limber.kernels import plain
from limber.kernels.functions import FUNCTIONS, HYBRID, INPUTS, SWEEPS, Function, Quantity


@cache
def kernels() -> SimpleNamespace:
    """The kernels as plain Python on the values of graphs."""
    return plain.load(g.sin, g.cos, g.sqrt, g.log)


@dataclass(frozen=True)
class Request:
    """What to trace: the arguments of `compile` that shape the mathematics."""

    system: System
    function: str
    body: str | None = None
    node: str | int | None = None
    external: tuple[tuple[str, str | int], ...] = ()
    parameters: tuple[str, ...] = ()
    driven: tuple[str, ...] = ()


class Model:
    """A system in the form that the traced kernels take: lists, with values in place of parameters."""

    def __init__(self, request: Request, inputs: dict[str, list[Scalar]]):
        self.system = request.system
        found = {key: named.find(request.system, key) for key in request.parameters}
        given = {key: (p, inputs[p.argument.name]) for key, p in found.items()}
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


def trace(request: Request) -> Program:
    """The program of one function of a system."""
    s = request.system
    if not isinstance(s, System):
        hint = " (an Assembly: build it first)" if hasattr(s, "build") else ""
        raise ArgumentTypeError(f"system must be a System, got {shown(s)}{hint}.")
    function = table_row(request.function)
    if request.function in OF_CLOSED:
        refuse_closures(s, f"generated code of {request.function!r}")
    _check_options(request, function)
    inputs = [_argument(INPUTS[name], s) for name in function.inputs]
    if request.driven:
        inputs[-1] = _with_rates(inputs[-1], s, request.driven)
    if request.external:
        inputs.append(_wrenches(s, request.external))
    inputs += [named.find(s, key).argument for key in request.parameters]
    graph = Graph()
    values = {a.name: graph.inputs(i, a.size) for i, a in enumerate(inputs)}
    outputs = tuple(_argument(part, s) for part in function.outputs)
    results = [
        float(x) if type(x) is not g.Value else x
        for x in _results(request, function, Model(request, values), values)
    ]
    return Program(
        request.function,
        tuple(inputs),
        outputs,
        split(results, outputs),
        graph,
        _about(request),
        s.name,
        _example(request, inputs),
        request,
    )


def table_row(name: str) -> Function:
    """The row of a function that can be generated."""
    if name not in GENERATED:
        raise ArgumentValueError(
            f"function={name!r} cannot be generated; choose one of {', '.join(GENERATED)}."
        )
    return GENERATED[name]


def _example(request: Request, inputs: list[Argument]) -> tuple[tuple[float, ...], ...]:
    """Inputs for trying a program: the neutral configuration in slow motion."""
    s = request.system
    known = {"q": s.neutral().tolist(), "v": [0.1] * s.nv, "tau": [1.0] * s.nv, "dt": [1e-3]}
    for key in request.parameters:
        parameter = named.find(s, key)
        known[parameter.argument.name] = parameter.value.ravel().tolist()
    return tuple(tuple(known.get(a.name, [0.0] * a.size)) for a in inputs)


def _about(request: Request) -> str:
    text = f"{request.function} of the system {request.system.name!r}, {request.system.fidelity} fidelity"
    if request.body is not None:
        node = "body frame" if request.node is None else f"node {request.node!r}"
        text += f", {node} of body {request.body!r}"
    return text


def _check_options(request: Request, function: Function) -> None:
    s = request.system
    if function.of_node:
        if request.body is None:
            raise ArgumentValueError(
                f'{request.function} is of a node: say which with body="...", node=...; the bodies are '
                f"{', '.join(map(repr, list(s.bodies)[:12]))}."
            )
        s.node_number(request.body, request.node)
    elif request.body is not None or request.node is not None:
        raise ArgumentValueError(
            f"{request.function} is of the whole system: leave out body and node."
        )
    if request.function == "hybrid_dynamics":
        if not request.driven:
            raise ArgumentValueError(
                "hybrid_dynamics needs driven=[...], the bodies whose joints have prescribed motion."
            )
        driven_bodies(s, request.driven, "driven")
    elif request.driven:
        raise ArgumentValueError(
            f"driven={shown(list(request.driven))} is for hybrid_dynamics; {request.function} takes none."
        )
    if request.external and not function.forced:
        raise ArgumentValueError(
            f"external={shown(request.external)}: {request.function} takes no external forces; "
            "forward_dynamics, inverse_dynamics and bias do."
        )
    for end in request.external:
        if not (isinstance(end, tuple) and len(end) == 2):
            raise ArgumentTypeError(
                f"external must be a list of (body, node) pairs, got {shown(end)}."
            )
        s.node_number(*end)
    for key in request.parameters:
        named.find(s, key)
    named_once = {
        "external": request.external,
        "parameters": request.parameters,
        "driven": request.driven,
    }
    for what, values in named_once.items():
        if len(set(values)) != len(values):
            raise ArgumentValueError(f"{what}={shown(list(values))} names one of them twice.")


def _wrenches(s: System, ends: Sequence[tuple[str, str | int]]) -> Argument:
    axes = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
    words = tuple(
        f"{axis} at node {node!r} of body {body!r}" for body, node in ends for axis in axes
    )
    meaning = "wrenches [moment, force] at the nodes, world axes"
    return Argument("external", (len(ends), 6), meaning, words)


def _with_rates(tau: Argument, s: System, driven: tuple[str, ...]) -> Argument:
    """The input `tau` of hybrid dynamics, whose entries for driven joints are rates of speeds."""
    words = list(tau.elements)
    for body in driven:
        for i in range(s.layout[body].v_joint.start, s.layout[body].v_joint.stop):
            words[i] = f"vdot of {words[i]}"
    return replace(
        tau, meaning="generalized forces, and vdot of the driven joints", elements=tuple(words)
    )


def _argument(quantity: Quantity, s: System) -> Argument:
    """An input or output of the table, with a description of each element of a vector."""
    shape = quantity.shape_in(s)
    words: tuple[str, ...] = ()
    if quantity.shape == ("nq",):
        words = tuple(s.describe_q(i) for i in range(s.nq))
    elif quantity.shape == ("nv",):
        words = tuple(s.describe_v(i) for i in range(s.nv))
    return Argument(quantity.name, shape, quantity.meaning, words)


# --- running kernels ------------------------------------------------------------------------------

#: One step of an integrator.  It is not a row of the table, but made of two functions that are.
STEP = Function(
    "step.runge_kutta",
    ("q", "v", "tau", "dt"),
    (
        Quantity("q_new", ("nq",), "coordinates after the step"),
        Quantity("v_new", ("nv",), "speeds after the step"),
    ),
    "dynamics",
)

#: The functions that can be generated.
GENERATED = {**FUNCTIONS, **HYBRID, "step": STEP}
#: The functions that closures change; the others are those of the tree.
OF_CLOSED = ("forward_dynamics", "hybrid_dynamics", "step")

Values = dict[str, list[Scalar]]


def _results(request: Request, function: Function, model: Model, values: Values) -> list[Scalar]:
    """The outputs of a function, one after the other; of several sweeps, by the one with the fewest operations."""
    if request.function == "step":
        return _step(request, model, values)
    functions = [function]
    if request.function == "forward_dynamics":
        functions = [SWEEPS[name] for name in accurate_sweeps(request.system)]
    found = [_run(request, f, model, values) for f in functions]
    return min(found, key=lambda out: len(g.needed(out)))


def _run(request: Request, function: Function, model: Model, values: Values) -> list[Scalar]:
    """The outputs of one kernel."""
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
    run = getattr(getattr(kernels(), module), kernel)
    run(*(model.dynamics if function.view == "dynamics" else model.geometry), *arguments, out)
    return out


def _step(request: Request, model: Model, values: Values) -> list[Scalar]:
    """The outputs of the step kernel, whose forward dynamics is a call of the program of `forward_dynamics`."""
    s = model.system
    keys = request.parameters
    inner = trace(Request(s, "forward_dynamics", parameters=keys))
    extra = [x for key in keys for x in values[named.find(s, key).argument.name]]

    def accelerations(q, v, tau, vdot):
        graph = values["q"][0].graph if values["q"] else values["dt"][0].graph
        vdot[:] = graph.call(inner, [*q, *v, *tau, *extra])

    scratch = [[0.0] * n for n in (s.nq, s.nv, s.nq, s.nv)]
    q_new, v_new = [0.0] * s.nq, [0.0] * s.nv
    kernels().step.runge_kutta(
        *model.dynamics, accelerations, values["q"], values["v"], values["tau"], values["dt"][0],
        *scratch, q_new, v_new,
    )  # fmt: skip
    return [*q_new, *v_new]
