"""From a system and the name of a function to a traced program.

The kernels run once as plain Python on the nodes of a graph; see `limber.codegen.graph`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from types import SimpleNamespace

from limber.assembly.closures import Probe
from limber.assembly.pack import Packed
from limber.assembly.system import System
from limber.checks import shown
from limber.codegen import graph as g
from limber.codegen import parameters as named
from limber.codegen.graph import Graph, Scalar, Value
from limber.codegen.program import Argument, Program, split
from limber.constraints.independent import Independent
from limber.dynamics.evaluate import node_pair, truncated_bodies
from limber.dynamics.hybrid import driven_bodies
from limber.dynamics.sweep import accurate_sweeps
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels import layout as L
from limber.kernels import plain
from limber.kernels.functions import FUNCTIONS, HYBRID, INPUTS, INTERNAL, SWEEPS, Function, Quantity


@cache
def kernels(cut_off: bool = True) -> SimpleNamespace:
    """The kernels as plain Python on the values of graphs.

    cut_off : whether pivots of closure rows that depend on others are cut off (`fronts.inverse`), or all are inverted.
    """
    instead = {} if cut_off else {"fronts.inverse": lambda _: lambda d, _size: 1.0 / d}
    return plain.load(g.sin, g.cos, g.sqrt, g.log, instead)


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
    #: of functions of operational space, the ends that `system` watches (`constraints.operational.probed`)
    ends: tuple[tuple[str, int | None], ...] = ()
    #: of a closed system, its independent rows, of which `system` is made; None: all rows, cut off where they depend
    independent: Independent | None = None

    @property
    def closures(self) -> tuple[str, ...]:
        """The closures of the system, also those that have no independent rows."""
        lost = () if self.independent is None else self.independent.left_out
        kept = [n for n, closure in self.system.closures.items() if not isinstance(closure, Probe)]
        return tuple(dict.fromkeys((*kept, *lost)))

    @property
    def kernels(self) -> SimpleNamespace:
        """The kernels to trace."""
        return kernels(self.independent is None)


class Model:
    """A system in the form that the traced kernels take: lists, with values in place of parameters."""

    def __init__(self, request: Request, inputs: dict[str, list[Scalar]]):
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


def trace(request: Request) -> Program:
    """The program of one function of a system."""
    s = request.system
    if not isinstance(s, System):
        hint = " (an Assembly: build it first)" if hasattr(s, "build") else ""
        raise ArgumentTypeError(f"system must be a System, got {shown(s)}{hint}.")
    function = table_row(request.function)
    _check_options(request, function)
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
    if name == "correction":  # which `project` calls
        return INTERNAL[name]
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


def _check_options(request: Request, function: Function) -> None:
    s = request.system
    if request.function in ONLY_CLOSED and not request.closures:
        raise ArgumentValueError(
            f"{request.function}: the system {s.name!r} has no closures. Close a loop with Assembly.close(...) before build()."
        )
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
    if (request.function in OPERATIONAL) != bool(request.ends):
        raise ArgumentValueError(
            f'{request.function} is of ends: say which with ends=[("body", node), ...].'
            if request.function in OPERATIONAL
            else f"ends={shown(list(request.ends))} is for {', '.join(OPERATIONAL)}; {request.function} takes none."
        )
    if request.external and not function.forced:
        raise ArgumentValueError(
            f"external={shown(request.external)}: {request.function} takes no external forces; "
            f"{', '.join(name for name, row in GENERATED.items() if row.forced)} do."
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


def _argument(quantity: Quantity, s: System, request: Request | None = None) -> Argument:
    """An input or output of the table, with a description of each element of a vector."""
    shape = quantity.shape_in(s)
    words: tuple[str, ...] = ()
    if request is not None and quantity.shape == ("closures", 6):
        shape = len(request.closures), 6
        axes = ("moment x", "moment y", "moment z", "force x", "force y", "force z")
        words = tuple(f"{axis} of closure {name!r}" for name in request.closures for axis in axes)
    elif quantity.shape == ("nq",):
        words = tuple(s.describe_q(i) for i in range(s.nq))
    elif quantity.shape == ("nv",):
        words = tuple(s.describe_v(i) for i in range(s.nv))
    elif quantity.shape == ("rows",):
        words = tuple(
            f"row {i} of closure {name!r}"
            for name, span in s.closure_rows.items()
            for i in range(span.stop - span.start)
        )
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

#: Functions of closed systems, made of several kernels.
CLOSED = {
    "constraint_forces": Function(
        "closed.wrenches",
        ("q", "v", "tau", "forces"),
        (
            Quantity(
                "wrenches", ("closures", 6), "what the closures exert on their ends b, world axes"
            ),
        ),
        "dynamics",
    ),
    "constraint_residual": Function(
        "closed.violations",
        ("q", "v"),
        (
            Quantity("position", ("rows",), "by how much the closure rows are off, rad and m"),
            Quantity("velocity", ("rows",), "velocities of the closure rows"),
        ),
        "geometry",
    ),
    "project": Function(
        "closed.correction",
        ("q", "v"),
        (
            Quantity("q_new", ("nq",), "coordinates nearer to the closures"),
            Quantity("v_new", ("nv",), "speeds that the closures allow there"),
        ),
        "geometry",
    ),
}
#: Functions of operational space, of systems that watch ends.
OPERATIONAL = {
    "operational_inertia": Function(
        "operational.motion",
        ("q",),
        (
            Quantity("inertia", ("probes", "probes"), "inverse of J M^{-1} J^T of the ends"),
            Quantity("inverse", ("probes", "probes"), "J M^{-1} J^T of the ends"),
        ),
        "dynamics",
    ),
    "operational_acceleration": Function(
        "operational.motion",
        ("q", "v", "tau", "forces"),
        (Quantity("acceleration", ("probes",), "accelerations of the ends, world axes"),),
        "dynamics",
    ),
    "operational_response": Function(
        "operational.responses",
        ("q",),
        (Quantity("response", ("nv", "probes"), "M^{-1} J^T of the ends"),),
        "dynamics",
    ),
}
#: The functions that can be generated.
GENERATED = {**FUNCTIONS, **HYBRID, "step": STEP, **CLOSED, **OPERATIONAL}
ONLY_CLOSED = tuple(CLOSED)
#: The functions that closures change; the others are those of the tree.
OF_CLOSURES = ("forward_dynamics", "hybrid_dynamics", "step", *ONLY_CLOSED, *OPERATIONAL)

Values = dict[str, list[Scalar]]


def _results(request: Request, function: Function, model: Model, values: Values) -> list[Scalar]:
    """The outputs of a function, one after the other; of several sweeps, by the one with the fewest operations."""
    if request.function in COMPOSED:
        return COMPOSED[request.function](request, model, values)
    functions = [function]
    if request.function == "forward_dynamics":
        functions = [SWEEPS[name] for name in accurate_sweeps(request.system)]
    elif request.function == "hybrid_dynamics" and request.system.closures:
        functions = [INTERNAL["closed_hybrid_dynamics"]]
    if function.pivots and truncated_bodies(request.system):
        return _positive(model, _run(request, functions[0], model, values))
    found = [_run(request, f, model, values) for f in functions]
    return min(found, key=lambda out: len(g.needed(out)))


def _positive(model: Model, found: list[Scalar]) -> list[Scalar]:
    """What an articulated sweep has found; NaN where the mass matrix is not positive definite.

    The sweep leaves 1/D of every freedom in `work`, and the root of a negative one is NaN.
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
    run = getattr(getattr(request.kernels, module), kernel)
    run(*(model.dynamics if function.view == "dynamics" else model.geometry), *arguments, out)
    return out


def _called(request: Request, function: str) -> Callable[..., list[Value]]:
    """A function that calls the program of another function of the same system, with the same parameters."""
    inner = trace(replace(request, function=function, external=()))

    def call(values: Values, *arguments: list[Scalar]) -> list[Value]:
        named_values = [values[a.name] for a in inner.inputs[len(arguments) :]]
        flat = [x for part in (*arguments, *named_values) for x in part]
        graph = next(x.graph for part in values.values() for x in part if type(x) is Value)
        return graph.call(inner, flat)

    return call


def _step(request: Request, model: Model, values: Values) -> list[Scalar]:
    """The outputs of the step kernel, whose forward dynamics is a call of the program of `forward_dynamics`.

    The step of a closed system ends with `project`.
    """
    s = model.system
    inner = _called(request, "forward_dynamics")

    def accelerations(q, v, tau, vdot):
        vdot[:] = inner(values, q, v, tau)

    scratch = [[0.0] * n for n in (s.nq, s.nv, s.nq, s.nv)]
    q_new, v_new = [0.0] * s.nq, [0.0] * s.nv
    request.kernels.step.runge_kutta(
        *model.dynamics, accelerations, values["q"], values["v"], values["tau"], values["dt"][0],
        *scratch, q_new, v_new,
    )  # fmt: skip
    if s.closures:
        return list(_called(request, "project")(values, q_new, v_new))
    return [*q_new, *v_new]


# --- closed systems -------------------------------------------------------------------------------


def _constraint_forces(request: Request, model: Model, values: Values) -> list[Scalar]:
    """The wrenches of the multipliers that forward dynamics leaves in its work; of the undeformed geometry if ruthless."""
    s = request.system
    _run(request, SWEEPS["closed"], model, values)
    topo, _, work = model.dynamics
    multipliers = work[topo[L.W_LAMBDA] : topo[L.W_LAMBDA] + s.rows]
    q = list(values["q"])
    if s.fidelity == "ruthless":
        for where in s.layout.values():
            q[where.q_modes] = [0.0] * (where.q_modes.stop - where.q_modes.start)
    found = _run(request, INTERNAL["wrenches"], model, values | {"q": q, "rows": multipliers})
    by_name = {name: found[6 * i : 6 * i + 6] for i, name in enumerate(s.closure_rows)}
    return [x for name in request.closures for x in by_name.get(name, [0.0] * 6)]


def _constraint_residual(request: Request, model: Model, values: Values) -> list[Scalar]:
    """Positions and velocities of the closure rows."""
    position = _run(request, INTERNAL["violations"], model, values)
    return [*position, *_run(request, INTERNAL["row_rates"], model, values)]


def _project(request: Request, model: Model, values: Values) -> list[Scalar]:
    """One step of `constraints.project`, at positions and then at speeds."""
    correction = _called(request, "correction")
    off = _run(request, INTERNAL["violations"], model, values)
    change = correction(values, values["q"], [-x for x in off])
    q_new = _run(request, FUNCTIONS["integrate"], model, values | {"v": change, "dt": [1.0]})
    rates = _run(request, INTERNAL["row_rates"], model, values | {"q": q_new})
    change = correction(values, q_new, rates)
    return [*q_new, *(v - dv for v, dv in zip(values["v"], change))]


# --- operational space ----------------------------------------------------------------------------


def _operational_inertia(request: Request, model: Model, values: Values) -> list[Scalar]:
    """J M^{-1} J^T and its inverse, by L D L^T."""
    rest: list[Scalar] = [0.0] * request.system.nv
    motion = INTERNAL["operational_motion"]
    n = request.system.probes
    inverse = _run(request, motion, model, values | {"v": rest, "tau": rest})[: n * n]
    factors = list(inverse)
    request.kernels.ldlt.factorize(factors, 0, n)
    columns = []
    for i in range(n):
        column: list[Scalar] = [0.0] * n
        column[i] = 1.0
        request.kernels.ldlt.solve(factors, 0, n, column, 0)
        columns.append(column)
    return [*(columns[max(i, j)][min(i, j)] for i in range(n) for j in range(n)), *inverse]


def _operational_acceleration(request: Request, model: Model, values: Values) -> list[Scalar]:
    """The accelerations of the ends."""
    return _run(request, INTERNAL["operational_motion"], model, values)[-request.system.probes :]


def _operational_response(request: Request, model: Model, values: Values) -> list[Scalar]:
    """M^{-1} J^T, a column for each row of the ends."""
    n, nv = request.system.probes, request.system.nv
    found = _run(request, INTERNAL["operational_responses"], model, values)
    return [found[i * nv + j] for j in range(nv) for i in range(n)]


#: The functions that are made of several kernels.
COMPOSED = {
    "operational_inertia": _operational_inertia,
    "operational_acceleration": _operational_acceleration,
    "operational_response": _operational_response,
    "step": _step,
    "constraint_forces": _constraint_forces,
    "constraint_residual": _constraint_residual,
    "project": _project,
}
