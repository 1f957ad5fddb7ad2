"""From a system and the name of a function to a traced program.

The kernels run once as plain Python on the nodes of a graph; see `limber.codegen.graph`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from limber.assembly.system import System
from limber.checks import shown
from limber.codegen import graph as g
from limber.codegen import parameters as named
from limber.codegen.composed import COMPOSED
from limber.codegen.generated import OF_CLOSURES, table_row
from limber.codegen.graph import Graph, Scalar
from limber.codegen.program import Argument, Program, split
from limber.codegen.request import Request, check_options
from limber.codegen.tracing import Model, Tracing
from limber.dynamics.refusals import truncated_bodies
from limber.dynamics.sweep import accurate_sweeps
from limber.errors import ArgumentTypeError
from limber.joints.coordinates import ANGLE, DISPLACEMENT, coordinates, speeds
from limber.kernels import layout as L
from limber.kernels.functions import INPUTS, INTERNAL, SWEEPS, Function, Quantity


def trace(request: Request) -> Program:
    """The program of one function of a system."""
    s = request.system
    if not isinstance(s, System):
        hint = " (an Assembly: build it first)" if hasattr(s, "build") else ""
        raise ArgumentTypeError(f"system must be a System, got {shown(s)}{hint}.")
    function = table_row(request.function)
    check_options(request, function)
    inputs = [_argument(INPUTS[name], s) for name in function.inputs]
    if request.driven:
        inputs[-1] = _with_rates(inputs[-1], s, request.driven)
    if request.external:
        inputs.append(_wrenches(s, request.external))
    inputs += [named.argument(s, key) for key in request.parameters]
    graph = Graph()
    values = {a.name: graph.inputs(i, a.size) for i, a in enumerate(inputs)}
    outputs = tuple(_argument(part, s, request) for part in function.outputs)
    results = [
        float(x) if type(x) is not g.Value else x
        for x in _results(function, Tracing(request, Model(request, values), values, trace))
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


def _results(function: Function, at: Tracing) -> list[Scalar]:
    """The outputs of a function, one after the other; of several sweeps, by the one with the fewest operations."""
    request = at.request
    if request.function in COMPOSED:
        return COMPOSED[request.function](at)
    functions = [function]
    if request.function == "forward_dynamics":
        functions = [SWEEPS[name] for name in accurate_sweeps(request.system)]
    elif request.function == "hybrid_dynamics" and request.system.closures:
        functions = [INTERNAL["closed_hybrid_dynamics"]]
    if function.pivots and truncated_bodies(request.system):
        return _positive(at.model, at.run(functions[0]))
    return min((at.run(f) for f in functions), key=lambda out: len(g.needed(out)))


def _positive(model: Model, found: list[Scalar]) -> list[Scalar]:
    """What an articulated sweep has found; NaN where the mass matrix is not positive definite.

    The sweep leaves 1/D of every degree of freedom in `work`, and the root of a negative one is NaN.
    """
    topo, _, work = model.dynamics
    roots: Scalar = 0.0
    for k in range(L.COLUMNS, topo[L.END], L.COLUMNS):
        m = topo[k + L.MODES]
        modes = topo[topo[k + L.MODAL] + L.W_DF] if m else 0
        pivots = [modes + r * (m + 1) for r in range(m)]
        pivots += [topo[k + L.W_PIVOTS] + L.D_PIVOTS + r for r in range(topo[k + L.DOFS])]
        for i in pivots:
            roots = roots + g.sqrt(work[i])
    return [x * roots / roots for x in found]


# --- descriptions ---------------------------------------------------------------------------------


def _example(request: Request, inputs: list[Argument]) -> tuple[tuple[float, ...], ...]:
    """Inputs for trying a program: the neutral configuration in slow motion."""
    s = request.system
    known = {"q": s.neutral().tolist(), "v": [0.1] * s.nv, "tau": [1.0] * s.nv, "dt": [1e-3]}
    for key in request.parameters:
        known[named.argument(s, key).name] = named.find(s, key).value.ravel().tolist()
    return tuple(tuple(known.get(a.name, [0.0] * a.size)) for a in inputs)


def _about(request: Request) -> str:
    text = f"{request.function} of the system {request.system.name!r}, {request.system.fidelity} fidelity"
    if request.body is not None:
        node = "body frame" if request.node is None else f"node {request.node!r}"
        text += f", {node} of body {request.body!r}"
    if request.ends:
        nodes = (f"{body!r}" if node is None else f"{body!r}/{node}" for body, node in request.ends)
        text += f", at the ends {', '.join(nodes)}"
    if request.function in OF_CLOSURES and request.closures:
        rows = (
            request.independent
            or f"all of its {request.system.rows} closure rows, cut off where they depend"
        )
        text += f", with {rows}"
    return text


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


def _argument(quantity: Quantity, s: System, request: Request | None = None) -> Argument:
    """An input or output of the table, with a description of each element of a vector."""
    shape = quantity.shape_in(s)
    words: tuple[str, ...] = ()
    if request is not None and quantity.shape == ("closures", 6):
        shape = len(request.closures), 6
        axes = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
        words = tuple(f"{axis} of closure {name!r}" for name in request.closures for axis in axes)
    elif quantity.shape == ("nq",):
        words = tuple(s.describe_q(i) + _kind(s, i, "q") for i in range(s.nq))
    elif quantity.shape == ("nv",):
        words = tuple(s.describe_v(i) + _kind(s, i, "v") for i in range(s.nv))
    elif quantity.shape == ("rows",):
        words = tuple(
            f"row {i} of closure {name!r}"
            for name, span in s.closure_rows.items()
            for i in range(span.stop - span.start)
        )
    return Argument(quantity.name, shape, quantity.meaning, words)


def _kind(s: System, i: int, of: str) -> str:
    """What a joint coordinate (`of` is "q") or speed ("v") is, in parentheses; empty for a mode."""
    motions = {ANGLE: "rotation", DISPLACEMENT: "translation"}
    for body, place in s.layout.items():
        at = place.q_joint if of == "q" else place.v_joint
        if at.start <= i < at.stop:
            found = coordinates(s.joints[body]) if of == "q" else speeds(s.joints[body])
            kind, name = found[i - at.start]
            return f" ({kind if of == 'q' else motions[kind]} {name}".rstrip() + ")"
    return ""
