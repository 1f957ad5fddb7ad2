"""The layer between the public functions and the compiled entry points: shapes, batches, threads, messages."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import Closure
from limber.assembly.pack import Packed
from limber.assembly.singular import regular
from limber.assembly.system import System
from limber.checks import Array, numbers, shown
from limber.dynamics.charts import (
    View,
    chosen_starts,
    found_at_once,
    sought,
    starting,
    starts_near,
    usable,
    usual_starts,
)
from limber.dynamics.cores import split
from limber.dynamics.refusals import of_batch, refuse, refuse_infinite, truncated_bodies
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels import layout as L
from limber.kernels.functions import ROWS
from limber.native.calls import Call
from limber.native.status import OK, SINGULAR, STATES, UNSURE

External = dict[tuple[str, str | int | None], ArrayLike]

#: The errors of a lookup in `System._ready` that fails: the argument is not a System, there was no such call yet, or the
#: key cannot be hashed.
NOT_READY = (AttributeError, KeyError, TypeError)

#: The types of nodes that can be parts of keys.
_NODE_TYPES = frozenset({str, int, np.int64, type(None)})


def check_system(system) -> None:
    """Reject anything but a built System."""
    if not isinstance(system, System):
        built = " Call its build() first." if hasattr(system, "build") else ""
        hint = built or " Make one with lb.Assembly(...), attach(...) and build()."
        raise ArgumentTypeError(
            f"system must be a limber System, got {type(system).__name__}.{hint}"
        )


def vectors(system: System, **named: tuple[ArrayLike, int]) -> tuple[tuple[int, ...], list[Array]]:
    """The batch shape, and each argument broadcast to it as a contiguous (states, size) array.

    `named` maps argument names to (value, size of its last axis).
    """
    arrays = []
    for name, (value, size) in named.items():
        a = numbers(name, value, f"(..., {size})")
        if a.ndim == 0 or a.shape[-1] != size:
            if name == "q":
                why = f"{system.name!r} has nq = {size}; its neutral() is an example"
            elif name.startswith("external"):
                why = "a wrench is [moment, force] in world axes"
            else:
                why = f"{system.name!r} has nv = {size}"
            raise ArgumentValueError(f"{name} must have shape (..., {size}), got {a.shape}: {why}.")
        arrays.append(a)
    first = arrays[0].shape[:-1]
    if len(first) == 1 and all(a.shape[:-1] == first and _plain(a) for a in arrays):
        return first, arrays
    try:
        batch = np.broadcast_shapes(*(a.shape[:-1] for a in arrays))
    except ValueError:
        shapes = ", ".join(f"{n} {a.shape}" for n, a in zip(named, arrays))
        raise ArgumentValueError(
            f"the leading (batch) dimensions do not match: {shapes}. They must be equal or broadcast."
        ) from None
    flat = []
    for a in arrays:
        wide = np.broadcast_to(a, (*batch, a.shape[-1])).reshape(math.prod(batch), a.shape[-1])
        flat.append(np.ascontiguousarray(wide) if wide.flags.aligned else wide.copy())
    return batch, flat


def _plain(a: Array) -> bool:
    flags = a.flags
    return flags.c_contiguous and flags.aligned


def node_pairs(system: System, packed: Packed, external: Mapping | None) -> np.ndarray:
    """Flat (body, node record) pairs of the keys of `external`."""
    if external is None:
        return np.empty(0, dtype=np.int64)
    if not isinstance(external, Mapping):
        raise ArgumentTypeError(
            'external must map ("body", node) to a wrench [moment, force], as in '
            f'{{("link", "tip"): [0, 0, 0, 0, 0, -9.81]}}; got {shown(external)}.'
        )
    pairs = []
    for key in external:
        if not (isinstance(key, tuple) and len(key) == 2):
            raise ArgumentTypeError(f'external: a key must be ("body", node), got {shown(key)}.')
        body, node = key
        k = system.number(body, f"external[{key!r}]: body")
        record = packed.records[k][system.node_number(body, node, f"external[{key!r}]: node")]
        pairs += [k * L.COLUMNS, record]
    return np.array(pairs, dtype=np.int64)


def node_pair(system: System, packed: Packed, body: str, node: str | int | None) -> np.ndarray:
    """(body, node record) of one node."""
    k = system.number(body)
    record = packed.records[k][system.node_number(body, node)]
    return np.array([k * L.COLUMNS, record], dtype=np.int64)


def named_wrenches(external: External | None) -> dict[str, tuple[ArrayLike, int]]:
    """The wrenches as arguments for `vectors`; `node_pairs` has checked their keys."""
    return {f"external[{key!r}]": (wrench, 6) for key, wrench in (external or {}).items()}


class Workspaces:
    """Scratch arrays of one system and size, which calls reuse; threads may share them."""

    def __init__(self, size: int):
        self.size = size
        self.free: list[np.ndarray] = []

    def take(self) -> np.ndarray:
        """A scratch array with arbitrary content."""
        # list.pop and list.append are atomic
        try:
            return self.free.pop()
        except IndexError:
            return np.empty(self.size)

    def give_back(self, work: np.ndarray) -> None:
        """Hand a scratch array back for reuse."""
        self.free.append(work)


def workspaces(packed: Packed, extra: int = 0) -> Workspaces:
    """The workspaces of a packed system, with `extra` numbers after those of the kernels."""
    pool = packed.pools.get(extra)
    if pool is None:
        pool = packed.pools.setdefault(extra, Workspaces(int(packed.topo[L.WORK_SIZE]) + extra))
    return pool


def node_key(name: str, body: str, node: str | int | None) -> Hashable:
    """The key of `System._ready` for a call for a node; None for a body or node of an unusual type.

    The type is part of the key, because True and 1.0 equal 1 but are not nodes.
    """
    kind = type(node)
    return (name, body, node, kind) if isinstance(body, str) and kind in _NODE_TYPES else None


def force_key(name: str, external: External | None) -> Hashable:
    """The key of `System._ready` for a call with or without external forces; None for forces at unusual nodes."""
    if external is None:
        return name
    if type(external) is not dict or not external:
        return None
    keys = []
    for where in external:
        key = node_key(name, *where) if type(where) is tuple and len(where) == 2 else None
        if key is None:
            return None
        keys.append(key)
    return keys[0] if len(keys) == 1 else tuple(keys)


def evaluated(
    system: System,
    name: str,
    given: tuple[ArrayLike, ...],
    *,
    node: tuple[str, str | int | None] | None = None,
    external: External | None = None,
    row: str | None = None,
    key: Hashable = None,
    driven: tuple[int, ...] = (),
    anyhow: bool = False,
    const: np.ndarray | None = None,
) -> Any:
    """Evaluate a function of the table `kernels.functions` for arrays with leading batch dimensions, on all cores.

    This is the checked path, which evaluates every call or says what is wrong with it.  It stores a function for
    single states in `system._ready` under the key; the public functions try that one first.

    name : the name of the function in messages.
    given : its inputs, in the order of the table.
    node : the body and node of the function.
    row : its row of the table, if the row has another name.
    driven : the numbers of the bodies whose joints have prescribed motion (`dynamics.hybrid`).
    const : constants that replace those of the system.
    anyhow : whether to evaluate even if the mass matrix is not positive definite, as for forces at rest.
    """
    check_system(system)
    row = row or name
    function = ROWS[row]
    charted = (
        function.closing and row != "cut_coordinates" and bool(system.closures and sought(system))
    )
    checked = (
        charted and row == "closed_sweep"
    )  # single states show whether the usual starts are good enough
    key = None if charted and not checked else key
    packed = system.dynamics if function.view == "dynamics" else system.geometry
    packed = packed.with_driven(driven)
    ready = system._ready.get(key)
    if ready is not None and not checked:
        call = ready.call
    elif node is not None:
        call = Call(system, row, packed.topo, packed.const, node_pair(system, packed, *node))
    else:
        nodes = node_pairs(system, packed, external)
        call = Call(system, row, packed.topo, packed.const if const is None else const, nodes)
    named = {part: (x, size) for (part, size), x in zip(call.inputs.items(), given)}
    wrenches = named_wrenches(external)
    batch, arrays = vectors(system, **named, **wrenches)
    inputs = dict(zip(named, arrays))
    if wrenches:
        inputs["external"] = np.hstack(arrays[len(named) :])
        refuse_infinite(inputs["external"], list(wrenches))
    workspace = workspaces(packed, function.scratch_in(system, int(packed.topo[L.WORK_SIZE])))
    truncated = function.inertial and bool(truncated_bodies(system))
    if truncated and not anyhow:
        _refuse_indefinite(system, inputs["q"])
    if charted:
        out = _run_on_charts(system, name, row, call, inputs, workspace, driven)
    else:
        out = _run(system, name, row, call, inputs, workspace, driven)
    if key is not None and ready is None and not truncated:
        single = call.checking_coordinates(found_at_once(system)) if checked else call
        system._ready[key] = single.single(workspace.free, workspace.size)
    return call.parts(out, batch)


def _run(
    system: System,
    name: str,
    row: str,
    call: Call,
    inputs: dict[str, Array],
    workspace,
    driven: tuple[int, ...],
    which: Callable[[int], str] | None = None,
) -> Array:
    """Return the outputs of a call for all states, one after the other; raise the error of its status.

    which : gives the number of a state in its batch, for messages, if these states are part of a batch.
    """
    sweep = row if row.endswith("_sweep") else "articulated_sweep"
    given = [a.ravel() for a in inputs.values()]
    states = len(inputs["q"])
    out = np.empty(states * call.size)

    def part(start: int, stop: int) -> int:
        work = workspace.take()
        status = call.run(given, work, out, start, stop)
        while status % STATES == UNSURE:
            state = status // STATES
            if not regular(system, inputs["q"][state], sweep, driven):
                status = STATES * state + SINGULAR
            else:
                status = call.run(given, work, out, state + 1, stop)
        workspace.give_back(work)
        return status

    # The states are counted by the size of q, so without coordinates they cannot be split.
    for status in split(part, states) if system.nq else [part(0, states)]:
        if status != OK:
            state, why = divmod(int(status), STATES)
            said = of_batch(state, states) if which is None else which(state)
            refuse(system, why, state, said, inputs, name, driven)
    return out


def _run_on_charts(
    system: System,
    name: str,
    row: str,
    call: Call,
    inputs: dict[str, Array],
    workspace,
    driven: tuple[int, ...],
) -> Array:
    """`_run` with starts from which the coordinates of all cut joints are found (`charts`)."""
    view = ROWS[row].view
    q = inputs["q"]
    same = len(q) > 1 and bool(
        (q == q[0]).all()
    )  # one configuration in many states, as for a Jacobian
    chosen = chosen_starts(system, q[:1] if same else q, view, _cut_coordinates(system, name))
    chosen = np.broadcast_to(chosen, (len(q), chosen.shape[1]))
    usual = usual_starts(system)
    kinds, kind = np.unique(chosen, axis=0, return_inverse=True)
    out = np.empty((len(chosen), call.size))
    for number, starts in enumerate(kinds):
        states = np.flatnonzero(kind.reshape(-1) == number)

        def which(state: int, states: np.ndarray = states) -> str:
            return of_batch(int(states[state]), len(chosen))

        there = call
        if not np.array_equal(starts, usual):
            there = call.with_constants(starting(call.const, system, view, starts))
        given = {part: x[states] for part, x in inputs.items()}
        found = _run(system, name, row, there, given, workspace, driven, which)
        out[states] = found.reshape(-1, call.size)
    return out.reshape(-1)


def _cut_coordinates(system: System, name: str) -> Callable[[Array, Array], Array]:
    """The function that `charts.chosen_starts` evaluates, for a function with a name."""
    return lambda q, starts: usable(evaluated(system, name, (q, starts), row="cut_coordinates"))


def starts_at(system: System, row: str, q: Array) -> dict[int, Array]:
    """Where a row of the table that depends on q, (..., nq), reads starts of cut joints, and working starts, (...).

    It is empty if there are no cut joints with searched coordinates, or the row does not depend on them.
    """
    function = ROWS[row]
    if not (function.closing and system.closures and sought(system)):
        return {}
    states = np.reshape(q, (-1, system.nq))
    chosen = chosen_starts(system, states, function.view, _cut_coordinates(system, row))
    places = [i for c in sought(system) for i in range(*c.places[function.view].indices(2**62))]
    return {place: np.array(x).reshape(q.shape[:-1]) for place, x in zip(places, chosen.T)}


def constants_at(system: System, q: Array, view: View, name: str) -> Array:
    """The constants of a view with which the coordinates of cut joints at q, (nq,), are found.

    name : the name of the function in messages.
    """
    const = (system.dynamics if view == "dynamics" else system.geometry).const.copy()
    near = starts_near(system, q, view, _cut_coordinates(system, name))
    for closure in sought(system):
        const[closure.places[view]] = near[closure.name]
    return const


def with_starts_at(system: System, q: Array, name: str) -> System:
    """The same system, with starts of its cut joints from which their coordinates are found near q, (nq,).

    name : the name of the function in messages.
    """
    if not sought(system):
        return system
    near = starts_near(system, q, "geometry", _cut_coordinates(system, name))
    closures = [
        replace(c, start=tuple(near[c.name].tolist()))
        if isinstance(c, Closure) and c.name in near
        else c
        for c in system.closures.values()
    ]
    return system._with(tuple(closures))


def _refuse_indefinite(system: System, q: Array) -> None:
    """Reject configurations (states, nq) at which the pivots of the articulated sweep are not positive."""
    packed, zero = system.dynamics, np.zeros((len(q), system.nv))
    call = Call(system, "articulated_sweep", packed.topo, packed.const)
    inputs = {"q": q, "v": zero, "tau": zero}
    _run(system, "the dynamics", "articulated_sweep", call, inputs, workspaces(packed), ())
