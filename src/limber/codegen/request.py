"""What to trace: a function of a system, and the options of `compile` that shape its mathematics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from types import SimpleNamespace

from limber.assembly.closures import Probe
from limber.assembly.system import System
from limber.checks import shown
from limber.codegen import graph as g
from limber.codegen import parameters as named
from limber.codegen.generated import GENERATED, ONLY_CLOSED, OPERATIONAL
from limber.constraints.independent import Independent
from limber.dynamics.hybrid import driven_bodies
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.kernels import plain
from limber.kernels.functions import Function


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


def check_options(request: Request, function: Function) -> None:
    """Reject options that the function does not take, and what the system does not have."""
    s = request.system
    if request.function in ONLY_CLOSED and not request.closures:
        raise ArgumentValueError(
            f"{request.function}: the system {s.name!r} has no closures. Close a loop with Assembly.close(...) before build()."
        )
    if function.of_node:
        if request.body is None:
            raise ArgumentValueError(
                f'{request.function} applies to a node: specify it with body="...", node=...; the bodies are '
                f"{', '.join(map(repr, list(s.bodies)[:12]))}."
            )
        s.node_number(request.body, request.node)
    elif request.body is not None or request.node is not None:
        raise ArgumentValueError(
            f"{request.function} applies to the entire system: leave out body and node."
        )
    if request.function == "hybrid_dynamics":
        if not request.driven:
            raise ArgumentValueError(
                "hybrid_dynamics needs driven=[...], the bodies whose joints have prescribed motion."
            )
        driven_bodies(s, request.driven, "driven")
    elif request.driven:
        raise ArgumentValueError(
            f"driven={shown(list(request.driven))} is for hybrid_dynamics; {request.function} does not accept it."
        )
    if (request.function in OPERATIONAL) != bool(request.ends):
        raise ArgumentValueError(
            f'{request.function} applies to ends: specify them with ends=[("body", node), ...].'
            if request.function in OPERATIONAL
            else f"ends={shown(list(request.ends))} is for {', '.join(OPERATIONAL)}; {request.function} does not accept it."
        )
    if request.external and not function.forced:
        raise ArgumentValueError(
            f"external={shown(request.external)}: {request.function} does not accept external forces; "
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
