"""The functions that can be generated, in addition to those of the table `kernels.functions`."""

from __future__ import annotations

from limber.errors import ArgumentValueError
from limber.kernels.functions import FUNCTIONS, HYBRID, INTERNAL, Function, Quantity

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


def table_row(name: str) -> Function:
    """The row of a function that can be generated."""
    if name == "correction":  # which `project` calls
        return INTERNAL[name]
    if name not in GENERATED:
        raise ArgumentValueError(
            f"function={name!r} cannot be generated; choose one of {', '.join(GENERATED)}."
        )
    return GENERATED[name]
