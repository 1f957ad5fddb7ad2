"""Jacobians of traced programs, by forward differentiation of their graphs.

Every node has derivatives only along the directions that reach it, so zeros cost nothing.  The
directions of q are those of the tangent space: q_dot = N(q) e_j, column j of the kinematic matrix.
Forward dynamics of trees is differentiated as the solution of inverse dynamics ID(q, v, vdot) = tau:

    d vdot/dx = -M^{-1} d ID/dx at vdot,        d vdot/dtau = M^{-1}

which costs far less than the derivative of the articulated-body sweeps.  Forward dynamics of closed systems is
differentiated directly, with A(q) vdot + a0(q, v) = 0 at every q and v, even along changes that the closures do not
allow.

The derivative of a step is chained: the Jacobian of forward dynamics is one program, called at the four stages, and its
products with the derivatives of the stages are loops.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from limber.assembly.system import System
from limber.checks import shown
from limber.codegen import graph as g
from limber.codegen import parameters as named
from limber.codegen import products
from limber.codegen.generated import table_row
from limber.codegen.graph import Graph, Scalar, Value
from limber.codegen.program import Argument, Program, split
from limber.codegen.request import Request, kernels
from limber.codegen.trace import trace
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels import layout as L

#: The derivatives of one node, by direction; the others are zero.
Tangent = dict[int, Scalar]
#: Arguments of a call with more directions than this go through products that are written as loops ...
FEW = 2
#: ... if these have at least so many multiplications.
LOOPED = 300


def derivative(request: Request, wrt: str | Sequence[str]) -> Program:
    """The program of the Jacobians of a function; see `compile`."""
    names = (wrt,) if isinstance(wrt, str) else wrt
    if not isinstance(names, Sequence) or not all(isinstance(n, str) for n in names) or not names:
        raise ArgumentTypeError(f"wrt must be the name of an input or several, got {shown(wrt)}.")
    if len(set(names)) != len(names):
        raise ArgumentValueError(f"wrt={shown(list(names))} names one of them twice.")
    # parameters that are not inputs are differentiated at their values in the model
    inputs = (*table_row(request.function).inputs, *(["external"] if request.external else []))
    bound = tuple(n for n in dict.fromkeys(names) if n not in (*inputs, *request.parameters))
    for key in bound:
        if key != "gravity" and "." not in key:
            known = ", ".join((*inputs, *request.parameters))
            raise ArgumentValueError(
                f"wrt={key!r} is not an input of {request.function}, which has {known}; parameters such as "
                '"<body>.mass" can be named too.'
            )
    request = replace(request, parameters=(*request.parameters, *bound))
    program = trace(request)
    places = {a.name: i for i, a in enumerate(program.inputs)}
    spots = [places[n if n in inputs else named.argument(request.system, n).name] for n in names]
    if request.function == "forward_dynamics" and not request.system.closures:
        columns = _of_forward_dynamics(request, program, spots)
    else:
        columns = _jacobians(request.system, program, spots)
    made = _assembled(request, program, names, spots, columns, len(bound))
    made.listed = not isinstance(wrt, str)
    return made


def of_step(request: Request, forces: Sequence[int], timed: bool) -> Program:
    """The program of a step and its slopes: q_new, v_new, and one matrix d(q_new, v_new) / d(q, v, tau[forces], dt).

    Its slopes are those by the plain coordinates.  The columns of dt are there if `timed`.
    """
    s = request.system
    program = trace(replace(request, function="step"))
    places = {a.name: i for i, a in enumerate(program.inputs)}
    names = ("q", "v", "tau", "dt") if timed else ("q", "v", "tau")
    found = _jacobians(
        s, program, [places[n] for n in names], tangent=False, elements={places["tau"]: forces}
    )
    rows = [
        [x for matrix in parts for x in matrix[i]] for parts in found for i in range(len(parts[0]))
    ]
    slopes = Argument("slopes", (s.nq + s.nv, len(rows[0])))
    return replace(
        program,
        name="step_slopes",
        outputs=(*program.outputs, slopes),
        results=(*program.results, tuple(x for row in rows for x in row)),
        derivatives={},
    )


def _assembled(request, program, names, spots, columns, bound) -> Program:
    """The program of the Jacobians `columns[output][input]`, matrices by rows."""
    s = request.system
    outputs, results = [], []
    for o, output in enumerate(program.outputs):
        shape = (s.nv,) if _is_configuration(output) else output.shape
        for name, spot, matrix in zip(names, spots, columns[o]):
            argument = program.inputs[spot]
            size = (s.nv,) if argument.name == "q" else argument.shape
            outputs.append(
                Argument(
                    f"d{output.name}_d{argument.name}",
                    (*shape, *size),
                    f"derivative of {output.meaning or output.name} with respect to {name}",
                )
            )
            results.append(tuple(x for row in matrix for x in row))
    graph, inputs = program.graph, program.inputs
    if bound:
        inputs = program.inputs[:-bound]
        graph = Graph()
        values: list[list] = [graph.inputs(i, a.size) for i, a in enumerate(inputs)]
        for key in request.parameters[-bound:]:
            values.append(named.find(s, key).value.ravel().tolist())
        flat = g.evaluate((x for part in results for x in part), values, g.ELEMENTARY)
        results = list(split(flat, tuple(outputs)))
    return Program(
        f"{program.name}_derivative",
        inputs,
        tuple(outputs),
        tuple(results),
        graph,
        f"derivatives of {program.about}",
        program.system,
        program.example[: len(inputs)],
    )


def _is_configuration(argument: Argument) -> bool:
    return argument.name == "q_new"


# --- the general case -----------------------------------------------------------------------------


def _jacobians(
    s: System,
    program: Program,
    spots: Sequence[int],
    tangent: bool = True,
    elements: Mapping[int, Sequence[int]] | None = None,
) -> list[list[list[list[Scalar]]]]:
    """Jacobian matrices (lists of rows) of each output with respect to each input in `spots`.

    They are derivatives on the tangent space, or with respect to the plain coordinates.

    elements : {spot: which of its elements}, for inputs of which not all elements matter.
    """
    seeds: dict[int, Tangent] = {}
    ranges, start = [], 0
    for spot in spots:
        argument = program.inputs[spot]
        values = program.graph.inputs(spot, argument.size)
        if argument.name == "q" and tangent:
            columns = kinematic_matrix(s, values)
        else:
            which = (elements or {}).get(spot, range(argument.size))
            columns = [[float(i == j) for i in range(argument.size)] for j in which]
        for j, column in enumerate(columns):
            for value, x in zip(values, column):
                if type(x) is Value or x != 0.0:
                    seeds.setdefault(value.index, {})[start + j] = x
        ranges.append(range(start, start + len(columns)))
        start += len(columns)
    found = tangents(program, seeds)
    jacobians = []
    for output, results, derivatives in zip(program.outputs, program.results, found):
        rows = derivatives
        if _is_configuration(output) and tangent:
            rows = on_tangent_space(s, list(results), rows)
        jacobians.append([[[row.get(j, 0.0) for j in span] for row in rows] for span in ranges])
    return jacobians


def tangents(
    program: Program,
    seeds: dict[int, Tangent],
    through_call: Callable[[Graph, Value, list[Tangent]], list[Tangent]] | None = None,
) -> list[list[Tangent]]:
    """Derivatives of every result of a program, given those of some nodes of its graph.

    through_call : those of the results of a call, given those of its arguments; by the Jacobian of the callee unless given.
    """
    graph = program.graph
    done: dict[int, Tangent] = dict(seeds)
    calls: dict[int, list[Tangent]] = {}

    def of(x) -> Tangent:
        return done.get(x.index, {}) if type(x) is Value else {}

    for value in program.nodes:
        if value.index in done or value.op == g.INPUT:
            continue
        if value.op == g.CALL:
            calls[value.index] = (through_call or _through_call)(
                graph, value, [of(x) for x in value.b]
            )
            continue
        if value.op == g.RESULT:
            tangent = calls[value.a.index][value.b]
        else:
            tangent = _rule(graph, value, of(value.a), of(value.b))
        if tangent:
            done[value.index] = tangent
    return [[of(x) for x in output] for output in program.results]


def _rule(graph: Graph, value: Value, da: Tangent, db: Tangent) -> Tangent:
    """The chain rule of one node."""
    a, b = value.a, value.b
    if not da and not db:
        return {}
    if value.op == g.ADD:
        result = _sum(da, db)
    elif value.op == g.SUB:
        result = _sum(da, {j: -x for j, x in db.items()})
    elif value.op == g.MUL:
        result = _sum({j: x * b for j, x in da.items()}, {j: x * a for j, x in db.items()})
    elif value.op == g.DIV:
        inverse = graph.div(1.0, b)
        upper = _sum(da, {j: -(value * x) for j, x in db.items()})
        result = {j: x * inverse for j, x in upper.items()}
    elif value.op == g.NEG:
        result = {j: -x for j, x in da.items()}
    else:
        if value.op == g.SIN:
            slope = g.cos(a)
        elif value.op == g.COS:
            slope = -g.sin(a)
        elif value.op == g.LOG:
            slope = graph.div(1.0, a)
        else:
            slope = graph.div(0.5, value)
        result = {j: x * slope for j, x in da.items()}
    return {j: x for j, x in result.items() if type(x) is Value or x != 0.0}


def _sum(x: Tangent, y: Tangent) -> Tangent:
    result = dict(x)
    for j, value in y.items():
        result[j] = result[j] + value if j in result else value
    return result


def _through_call(graph: Graph, call: Value, given: list[Tangent]) -> list[Tangent]:
    """Derivatives of the results of a call: the Jacobian of the callee, called on the same arguments."""
    callee: Program = call.a
    active = [i for i, tangent in enumerate(given) if tangent]
    jacobian = _callee_jacobian(callee, tuple(active))
    entries = graph.call(jacobian, list(call.b))
    rows = [
        entries[r * len(active) : (r + 1) * len(active)]
        for r in range(sum(o.size for o in callee.outputs))
    ]
    tangents = [given[i] for i in active]
    full = [n for n, tangent in enumerate(tangents) if len(tangent) > FEW]
    directions = sorted({j for n in full for j in tangents[n]})
    if len(rows) * len(full) * len(directions) < LOOPED:
        return [_combined(row, tangents) for row in rows]
    # one product of matrices for the tangents with many directions, written as loops
    flat = [row[n] for row in rows for n in full]
    flat += [tangents[n].get(j, 0.0) for n in full for j in directions]
    product = graph.call(products.product(len(rows), len(full), len(directions)), flat)
    width = len(directions)
    few = [n for n in range(len(active)) if n not in set(full)]
    return [
        _sum(
            dict(zip(directions, product[r * width : (r + 1) * width])),
            _combined([row[n] for n in few], [tangents[n] for n in few]),
        )
        for r, row in enumerate(rows)
    ]


def _combined(slopes: Sequence[Scalar], tangents: Sequence[Tangent]) -> Tangent:
    """The sum of slope times tangent."""
    total: Tangent = {}
    for slope, tangent in zip(slopes, tangents):
        total = _sum(total, {j: x * slope for j, x in tangent.items()})
    return total


def _callee_jacobian(callee: Program, active: tuple[int, ...]) -> Program:
    """The program of d results / d inputs[active] of a callee, in its plain coordinates."""
    known = callee.derivatives
    if active not in known:
        ends = list(accumulate(a.size for a in callee.inputs))
        where = [bisect_right(ends, i) for i in active]  # the input each of them belongs to
        spots = sorted(set(where))
        request = callee.origin
        of_tree = request.function == "forward_dynamics" and not request.system.closures
        if of_tree and not _has_quaternions(request.system):
            (matrices,) = _of_forward_dynamics(request, callee, spots, tangent=False)
        else:
            # off the unit sphere, articulated bodies and inverse dynamics are not exact inverses of each other
            (matrices,) = _jacobians(request.system, callee, spots, tangent=False)
        columns = []
        for i, spot in zip(active, where):
            start = ends[spot] - callee.inputs[spot].size
            columns.append([row[i - start] for row in matrices[spots.index(spot)]])
        rows = list(zip(*columns))
        known[active] = Program(
            f"{callee.name}_jacobian_{len(known)}",
            callee.inputs,
            (Argument("jacobian", (len(rows), len(active))),),
            (tuple(x for row in rows for x in row),),
            callee.graph,
        )
    return known[active]


def _has_quaternions(s: System) -> bool:
    return s.nq != s.nv


# --- forward dynamics -----------------------------------------------------------------------------


def _of_forward_dynamics(
    request: Request, program: Program, spots: Sequence[int], tangent: bool = True
):
    s, graph = request.system, program.graph
    vdot = list(program.results[0])
    tau = next(i for i, a in enumerate(program.inputs) if a.name == "tau")
    # M^{-1}, from the triangle that the outward sweep reaches first
    seeds = {x.index: {j: 1.0} for j, x in enumerate(graph.inputs(tau, s.nv))}
    (rows,) = tangents(program, seeds)
    inverse = [[rows[min(i, j)].get(max(i, j), 0.0) for j in range(s.nv)] for i in range(s.nv)]
    others = [spot for spot in spots if spot != tau]
    found = {tau: inverse}
    if others:
        back = trace(replace(request, function="inverse_dynamics"))
        (forces,) = _jacobians(s, back, others, tangent)
        values: list[list] = [graph.inputs(i, a.size) for i, a in enumerate(program.inputs)]
        values[tau] = vdot  # where inverse dynamics has vdot
        for spot, matrix in zip(others, forces):
            width = len(matrix[0]) if matrix else 0
            flat = g.evaluate((x for row in matrix for x in row), values, g.ELEMENTARY)
            moved = [flat[i * width : (i + 1) * width] for i in range(s.nv)]
            found[spot] = [
                [_minus_dot(inverse[i], [row[j] for row in moved]) for j in range(width)]
                for i in range(s.nv)
            ]
    return [[found[spot] for spot in spots]]


def _minus_dot(x: Sequence[Scalar], y: Sequence[Scalar]) -> Scalar:
    total: Scalar = 0.0
    for a, b in zip(x, y):
        total = total - a * b
    return total


# --- the tangent space ----------------------------------------------------------------------------


def kinematic_matrix(s: System, q: list[Scalar]) -> list[list[Scalar]]:
    """The columns N(q) e_j of q_dot = N(q) v."""
    packed = s.geometry
    topo, const = packed.topo.tolist(), packed.const.tolist()
    columns = []
    for j in range(s.nv):
        rate: list[Scalar] = [0.0] * s.nq
        unit = [float(i == j) for i in range(s.nv)]
        work = [None] * topo[L.WORK_SIZE]
        kernels().manifold.coordinate_rates(topo, const, work, q, unit, rate)
        columns.append(rate)
    return columns


def on_tangent_space(s: System, q: list[Scalar], rows: list[Tangent]) -> list[Tangent]:
    """Turn derivatives of coordinates (nq rows) into derivatives of speeds (nv rows): N(q)^+ rows."""
    columns = kinematic_matrix(s, q)
    result: list[Tangent] = [{} for _ in range(s.nv)]
    for where in s.layout.values():
        for i, j in zip(_indices(where.q_modes), _indices(where.v_modes)):
            result[j] = rows[i]
        theta, beta = _indices(where.q_joint), _indices(where.v_joint)
        if len(beta) == 1:
            result[beta[0]] = rows[theta[0]]
        elif beta:
            N = [[columns[j][i] for j in beta] for i in theta]
            for j, row in zip(beta, _least_squares(N, [rows[i] for i in theta])):
                result[j] = row
    return result


def _indices(part: slice) -> list[int]:
    return list(range(part.start, part.stop))


def _least_squares(N: list[list[Scalar]], rows: list[Tangent]) -> list[Tangent]:
    """x with N x = rows, N of full column rank: (N^T N) x = N^T rows."""
    n = len(N[0])
    normal: list[Scalar] = [
        sum((N[k][i] * N[k][j] for k in range(len(N))), 0.0) for i in range(n) for j in range(n)
    ]
    ldlt = kernels().ldlt
    ldlt.factorize(normal, 0, n)
    directions = sorted({d for row in rows for d in row})
    result: list[Tangent] = [{} for _ in range(n)]
    for d in directions:
        x = [sum((N[k][i] * rows[k].get(d, 0.0) for k in range(len(N))), 0.0) for i in range(n)]
        ldlt.solve(normal, 0, n, x, 0)
        for i in range(n):
            result[i][d] = x[i]
    return result
