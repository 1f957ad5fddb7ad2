"""The kernels as ordinary Python, for any scalar type.

`load(sin, cos, sqrt, log)` imports every kernel file of this package a second time, under a new package
name, with `limber.kernels.scalar` replaced: the decorators compile nothing, and the elementary functions
are those of the scalar type.  Nothing is rewritten; the compiled and the plain kernels are one source.
Every call of `load` leaves its modules in `sys.modules`, so load once for each scalar type.

    kernels = plain.load(graph.sin, graph.cos, graph.sqrt, graph.log)
    kernels.articulated.forward_dynamics(topo, const, work, q, v, tau, 0, none, none, vdot)

with `work`, `q`, ... sequences of such scalars: values of `codegen.graph`, whose traces become C, CUDA and
CasADi functions, polynomials of `symbolic.polynomial`, or numbers.
"""

import importlib
import importlib.util
import itertools
import math
import sys
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace

_numbers = itertools.count()

#: The kernel modules, sorted by name.
MODULES = (
    "articulated",
    "closed",
    "closures",
    "columns",
    "composite",
    "curved_slopes",
    "energy",
    "flexible_motion",
    "flexible_records",
    "flexible_slopes",
    "forces",
    "forward_slopes",
    "hybrid",
    "inverse_slopes",
    "joints",
    "ldlt",
    "manifold",
    "modal",
    "modal_slopes",
    "motion",
    "newton_euler",
    "node_twists",
    "nodes",
    "observe",
    "operational",
    "physics",
    "placement",
    "precomputed",
    "response_columns",
    "responses",
    "slope_answers",
    "slope_motion",
    "slope_pairs",
    "slope_records",
    "so3",
    "step",
    "vec",
)


def load(
    sin=math.sin,
    cos=math.cos,
    sqrt=math.sqrt,
    log=math.log,
    instead: Mapping[str, Callable[[Callable], Callable]] | None = None,
    compiled: tuple[str, Callable[[Callable], Callable]] | None = None,
) -> SimpleNamespace:
    """A namespace of the kernel modules, running on the scalars that the four functions accept.

    instead : maps the name of a kernel, such as "so3.bend", to a function that takes this kernel and returns the
        function that all modules call in its place.
    compiled : a name and a decorator for all kernels, which compiles them for another type of numbers.  Compiled code
        that is kept on disk refers to its modules by name, so the name must be the same in every process.
    """
    changes = dict(instead or {})
    label, decorator = compiled or (f"plain{next(_numbers)}", lambda function: function)

    def kernel(function: Callable) -> Callable:
        change = changes.pop(f"{function.__module__.rpartition('.')[2]}.{function.__name__}", None)
        return decorator(function) if change is None else change(function)

    name = f"limber.kernels._{label}"
    package = ModuleType(name)
    package.__path__ = list(importlib.import_module("limber.kernels").__path__)
    scalar = ModuleType(f"{name}.scalar")
    scalar.__dict__.update(sin=sin, cos=cos, sqrt=sqrt, log=log, kernel=kernel, inlined=kernel)
    sys.modules[name] = package
    sys.modules[scalar.__name__] = scalar
    loaded = SimpleNamespace(**{m: importlib.import_module(f"{name}.{m}") for m in MODULES})
    if changes:
        raise LookupError(f"instead: there are no kernels {', '.join(changes)}.")
    return loaded
