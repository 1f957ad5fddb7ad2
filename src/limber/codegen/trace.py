"""From a system and the name of a function to a traced program.

The kernels run once as plain Python on the nodes of a graph; see `limber.codegen.graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

from limber import forks
from limber.assembly.pack import Packed
from limber.assembly.system import System
from limber.checks import shown
from limber.codegen import graph as g
from limber.codegen import parameters as named
from limber.codegen.graph import Graph, Scalar
from limber.codegen.program import Argument, Program, split
from limber.dynamics.forward import INDIRECT_LOAD
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels import layout as L
from limber.kernels import plain


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


class Model:
    """A system as the traced kernels take it: lists, with values where parameters stand."""

    def __init__(self, request: Request, inputs: dict[str, list[Scalar]]):
        self.system = request.system
        found = {key: named.find(request.system, key) for key in request.parameters}
        given = {key: (p, inputs[p.argument.name]) for key, p in found.items()}
        self.dynamics = self._lists(request.system.dynamics, given)
        self.geometry = (
            self.dynamics
            if request.system.geometry is request.system.dynamics
            else self._lists(request.system.geometry, given)
        )

    def _lists(self, packed: Packed, given) -> tuple[list, list, list]:
        topo = packed.topo.tolist()
        return topo, named.constants(self.system, packed, given), [None] * topo[L.WORK_SIZE]


#: The kernels are modules: one trace at a time may replace a function in them.
_lock = forks.lock()


def trace(request: Request) -> Program:
    """The program of one function of a system."""
    with _lock:
        return _traced(request)


def _traced(request: Request) -> Program:
    s = request.system
    if not isinstance(s, System):
        hint = " (an Assembly: build it first)" if hasattr(s, "build") else ""
        raise ArgumentTypeError(f"system must be a System, got {shown(s)}{hint}.")
    if request.function not in FUNCTIONS:
        raise ArgumentValueError(
            f"function={request.function!r} cannot be generated; choose one of {', '.join(FUNCTIONS)}."
        )
    function = FUNCTIONS[request.function]
    _check_options(request, function)
    inputs = [_INPUTS[name](s) for name in function.inputs]
    if request.external:
        inputs.append(_wrenches(s, request.external))
    inputs += [named.find(s, key).argument for key in request.parameters]
    graph = Graph()
    values = {a.name: graph.inputs(i, a.size) for i, a in enumerate(inputs)}
    outputs = tuple(function.outputs(s))
    flat = function.run(request, Model(request, values), values)
    results = tuple(tuple(float(x) if type(x) is not g.Value else x for x in p) for p in flat)
    return Program(
        request.function,
        tuple(inputs),
        outputs,
        split([x for p in results for x in p], outputs),
        graph,
        _about(request),
        s.name,
        _example(request, inputs),
        request,
    )


def _example(request: Request, inputs: list[Argument]) -> tuple[tuple[float, ...], ...]:
    """Inputs to try a program with: the neutral configuration, moving a little."""
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
    if request.external and not function.forces:
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
    for values, what in ((request.external, "external"), (request.parameters, "parameters")):
        if len(set(values)) != len(values):
            raise ArgumentValueError(f"{what}={shown(list(values))} names one of them twice.")


def _wrenches(s: System, ends: Sequence[tuple[str, str | int]]) -> Argument:
    axes = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
    words = tuple(
        f"{axis} at node {node!r} of body {body!r}" for body, node in ends for axis in axes
    )
    meaning = "wrenches [moment, force] at the nodes, world axes"
    return Argument("external", (len(ends), 6), meaning, words)


# --- arguments ------------------------------------------------------------------------------------


def _of_q(name: str, meaning: str) -> Callable[[System], Argument]:
    def argument(s: System) -> Argument:
        return Argument(name, (s.nq,), meaning, tuple(s.describe_q(i) for i in range(s.nq)))

    return argument


def _of_v(name: str, meaning: str) -> Callable[[System], Argument]:
    def argument(s: System) -> Argument:
        return Argument(name, (s.nv,), meaning, tuple(s.describe_v(i) for i in range(s.nv)))

    return argument


_INPUTS: dict[str, Callable[[System], Argument]] = {
    "q": _of_q("q", "coordinates"),
    "v": _of_v("v", "speeds"),
    "tau": _of_v("tau", "generalized forces"),
    "vdot": _of_v("vdot", "rates of the speeds"),
    "dt": lambda s: Argument("dt", (), "time step, s"),
}


# --- functions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Function:
    """A function that can be generated: names of inputs, outputs, and how to run its kernel."""

    inputs: tuple[str, ...]
    outputs: Callable[[System], list[Argument]]
    run: Callable[[Request, Model, dict[str, list[Scalar]]], list[list[Scalar]]]
    of_node: bool = False
    forces: bool = False


def _external(request: Request, values) -> tuple[int, list[int], list[Scalar]]:
    """ext_count, ext_index, ext of the kernels."""
    s, packed = request.system, request.system.dynamics
    index = []
    for body, node in request.external:
        k = s.number(body)
        index += [k * L.COLUMNS, packed.records[k][s.node_number(body, node)]]
    return len(request.external), index, values.get("external", [])


def _forward_dynamics(request, model, values):
    state = (values["q"], values["v"], values["tau"])
    sweeps = [kernels().articulated]
    if model.system.fidelity == "ruthless" and model.system.dynamics.load <= INDIRECT_LOAD:
        sweeps.append(kernels().precomputed)  # D_f precomputed: shorter for many modes
    found = []
    for sweep in sweeps:
        out = [0.0] * model.system.nv
        sweep.forward_dynamics(*model.dynamics, *state, *_external(request, values), out)
        found.append(out)
    return [min(found, key=lambda out: len(g.needed(out)))]


def _inverse_dynamics(request, model, values):
    nv = model.system.nv
    vdot = values.get("vdot", [0.0] * nv)
    out = [0.0] * nv
    kernels().newton_euler.inverse_dynamics(
        *model.dynamics, values["q"], values["v"], vdot, *_external(request, values), out
    )
    return [out]


def _mass_matrix(request, model, values):
    out = [0.0] * model.system.nv**2
    kernels().composite.mass_matrix(*model.dynamics, values["q"], out)
    return [out]


def _of_position(module: str, name: str, part: str, size: Callable[[System], int]):
    def run(request, model, values):
        out = [0.0] * size(model.system)
        arguments = [values[n] for n in ("q", "v") if n in values]
        if "dt" in values:
            arguments.append(values["dt"][0])
        getattr(getattr(kernels(), module), name)(*getattr(model, part), *arguments, out)
        return [out]

    return run


def _of_node(name: str, size: Callable[[System], int]):
    def run(request, model, values):
        s = model.system
        k = s.number(request.body)
        record = s.geometry.records[k][s.node_number(request.body, request.node)]
        out = [0.0] * size(s)
        kernel = getattr(kernels().observe, name)
        kernel(*model.geometry, values["q"], k * L.COLUMNS, record, out)
        return [out]

    return run


def _step(request, model, values):
    """The step kernel, its forward dynamics a call of the program that `forward_dynamics` gives."""
    s = model.system
    keys = request.parameters
    inner = trace(Request(s, "forward_dynamics", parameters=keys))
    extra = [x for key in keys for x in values[named.find(s, key).argument.name]]
    step = kernels().step

    def accelerations(topo, const, work, q, v, tau, vdot):
        graph = values["q"][0].graph if values["q"] else values["dt"][0].graph
        vdot[:] = graph.call(inner, [*q, *v, *tau, *extra])

    ordinary, step.accelerations = step.accelerations, accelerations
    try:
        scratch = [[0.0] * n for n in (s.nq, s.nv, s.nq, s.nv)]
        q_new, v_new = [0.0] * s.nq, [0.0] * s.nv
        step.runge_kutta(
            *model.dynamics, values["q"], values["v"], values["tau"], values["dt"][0],
            *scratch, q_new, v_new,
        )  # fmt: skip
    finally:
        step.accelerations = ordinary
    return [q_new, v_new]


def _vector(name: str, meaning: str, of_q: bool = False) -> Callable[[System], list[Argument]]:
    make = _of_q if of_q else _of_v
    return lambda s: [make(name, meaning)(s)]


FUNCTIONS: dict[str, Function] = {
    "forward_dynamics": Function(
        ("q", "v", "tau"), _vector("vdot", "rates of the speeds"), _forward_dynamics, forces=True
    ),
    "inverse_dynamics": Function(
        ("q", "v", "vdot"), _vector("tau", "generalized forces"), _inverse_dynamics, forces=True
    ),
    "bias": Function(
        ("q", "v"), _vector("bias", "generalized forces at zero vdot"), _inverse_dynamics, forces=True
    ),
    "mass_matrix": Function(
        ("q",), lambda s: [Argument("M", (s.nv, s.nv), "mass matrix")], _mass_matrix
    ),
    "kinetic_energy": Function(
        ("q", "v"),
        lambda s: [Argument("energy", (), "kinetic energy, J")],
        _of_position("energy", "kinetic_energy", "dynamics", lambda s: 1),
    ),
    "potential_energy": Function(
        ("q",),
        lambda s: [Argument("energy", (), "elastic and gravitational energy, J")],
        _of_position("energy", "potential_energy", "geometry", lambda s: 1),
    ),
    "momentum": Function(
        ("q", "v"),
        lambda s: [Argument("momentum", (6,), "[angular, linear] about the world origin")],
        _of_position("energy", "momentum", "dynamics", lambda s: 6),
    ),
    "pose": Function(
        ("q",),
        lambda s: [
            Argument("R", (3, 3), "axes of the node in the world, by columns"),
            Argument("p", (3,), "position of the node in the world, m"),
        ],
        _of_node("pose", lambda s: 12),
        of_node=True,
    ),
    "jacobian": Function(
        ("q",),
        lambda s: [Argument("J", (6, s.nv), "velocity of the node, [angular; linear], is J v")],
        _of_node("jacobian", lambda s: 6 * s.nv),
        of_node=True,
    ),
    "qdot": Function(
        ("q", "v"),
        _vector("qdot", "rates of the coordinates", of_q=True),
        _of_position("manifold", "coordinate_rates", "geometry", lambda s: s.nq),
    ),
    "integrate": Function(
        ("q", "v", "dt"),
        _vector("q_new", "coordinates after dt", of_q=True),
        _of_position("manifold", "integrate", "geometry", lambda s: s.nq),
    ),
    "step": Function(
        ("q", "v", "tau", "dt"),
        lambda s: [
            _of_q("q_new", "coordinates after the step")(s),
            _of_v("v_new", "speeds after the step")(s),
        ],
        _step,
    ),
}  # fmt: skip
