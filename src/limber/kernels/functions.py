"""The functions of the state: one table of their kernels, inputs and outputs.

The compiled entry points (`limber.native.entries`), the public functions (`limber.dynamics`), generated code
(`limber.codegen`) and simulations read this table.  A new function of the state is a kernel, a row here, and a
public name.  The table names kernels and does not import them, so it serves the compiled and the traced ones alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, Protocol

from limber.kernels.layout import slope_scratch


class Sizes(Protocol):
    """The sizes that shapes depend on; a System has them."""

    nq: int
    nv: int
    rows: int
    probes: int
    bodies: Mapping[str, Any]
    closures: Mapping[str, Any]


@dataclass(frozen=True)
class Quantity:
    """An input or output: its name, its shape and what it means, in words.

    A shape consists of numbers and names of sizes: "nq", "nv", "bodies", "closures", "rows", "probes", "slope_rows".  A vector of shape ("nq",) has the layout
    of q, one of shape ("nv",) that of v.
    """

    name: str
    shape: tuple[int | str, ...]
    meaning: str

    def shape_in(self, system: Sizes) -> tuple[int, ...]:
        """The shape in numbers."""
        sizes = {
            "nq": system.nq, "nv": system.nv, "bodies": len(system.bodies),
            "closures": len(system.closures), "rows": system.rows, "probes": system.probes,
            "slope_rows": 1 + 3 * system.nv,
        }  # fmt: skip
        return tuple(sizes[n] if isinstance(n, str) else n for n in self.shape)


@dataclass(frozen=True)
class Function:
    """A function of the state.

    kernel : "module.function" in `limber.kernels`.
    takes : the arguments of the kernel between (topo, const, work) and its output, in order: names of INPUTS, "node"
        for (body, node record), "forces" for (count, index, wrenches).  "matrix" stands for scratch of nv^2
        numbers, which the kernel takes after the output, "slopes" for that of
        `slope_motion`, "spare" for another `work`, "complex" for that of the complex kernels.
    outputs : the parts of its output, which are stored one after the other.
    view : the packed arrays that it runs on: `System.dynamics`, or `System.geometry`, which describes the deformed
        bodies at either fidelity.
    zero : inputs of the kernel that callers do not give because they are zero.
    pivots : whether it leaves pivots in `work` that must be checked.
    inertial : whether its answer means nothing where the mass matrix is not positive definite.
    finite : whether an answer that is not finite is an error.
    """

    kernel: str
    takes: tuple[str, ...]
    outputs: tuple[Quantity, ...]
    view: Literal["dynamics", "geometry"]
    zero: tuple[str, ...] = ()
    pivots: bool = False
    inertial: bool = False
    finite: bool = True

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the vectors and numbers that callers give, in order."""
        return tuple(name for name in self.takes if name in INPUTS and name not in self.zero)

    @property
    def closing(self) -> bool:
        """Whether it depends on the closures of the system."""
        return "closed" in self.kernel or self.kernel.startswith("operational")

    @property
    def of_node(self) -> bool:
        """Whether it is about a node."""
        return "node" in self.takes

    @property
    def forced(self) -> bool:
        """Whether it takes external forces."""
        return "forces" in self.takes

    def size_in(self, system: Sizes) -> int:
        """How many numbers it gives."""
        return sum(prod(part.shape_in(system)) for part in self.outputs)

    def scratch_in(self, system: Sizes, work: int) -> int:
        """How many numbers of scratch it needs beyond the `work` that every kernel has, WORK_SIZE numbers."""
        if "complex" in self.takes:
            closed = system.rows + 6 * len(system.closures)
            return 2 * (work + 2 * system.nq + 3 * system.nv + closed)
        if "slopes" in self.takes:
            spare = work if "spare" in self.takes else 0
            return spare + slope_scratch(len(system.bodies), system.nv, work)
        return system.nv**2 if "matrix" in self.takes else 0


INPUTS = {
    part.name: part
    for part in (
        Quantity("q", ("nq",), "coordinates"),
        Quantity("v", ("nv",), "speeds"),
        Quantity("tau", ("nv",), "generalized forces"),
        Quantity("vdot", ("nv",), "rates of the speeds"),
        Quantity("dt", (), "time step, s"),
        Quantity("rows", ("rows",), "one number for each closure row"),
        Quantity(
            "starts", ("closures", 6), "coordinates of cut joints from which these are sought"
        ),
    )
}

_articulated = Function(
    "articulated.forward_dynamics",
    ("q", "v", "tau", "forces"),
    (Quantity("vdot", ("nv",), "rates of the speeds"),),
    "dynamics",
    pivots=True,
)
_inverse = Function(
    "newton_euler.inverse_dynamics",
    ("q", "v", "vdot", "forces"),
    (Quantity("tau", ("nv",), "generalized forces"),),
    "dynamics",
    inertial=True,
)

#: The sweeps that compute forward dynamics; `limber.dynamics.sweep` picks one.
SWEEPS: dict[str, Function] = {
    "articulated": _articulated,
    "precomputed": replace(_articulated, kernel="precomputed.forward_dynamics"),
    "closed": replace(_articulated, kernel="closed.forward_dynamics"),
    "composite": replace(
        _articulated,
        kernel="composite.forward_dynamics",
        takes=("q", "v", "tau", "forces", "matrix"),
        pivots=False,
    ),
}

#: The functions with a public name.
FUNCTIONS: dict[str, Function] = {
    "forward_dynamics": _articulated,
    "inverse_dynamics": _inverse,
    "bias": replace(
        _inverse,
        outputs=(Quantity("bias", ("nv",), "generalized forces at zero vdot"),),
        zero=("vdot",),
    ),
    "mass_matrix": Function(
        "composite.mass_matrix",
        ("q",),
        (Quantity("M", ("nv", "nv"), "mass matrix"),),
        "dynamics",
        inertial=True,
    ),
    "kinetic_energy": Function(
        "energy.kinetic_energy",
        ("q", "v"),
        (Quantity("energy", (), "kinetic energy, J"),),
        "dynamics",
        inertial=True,
    ),
    "potential_energy": Function(
        "energy.potential_energy",
        ("q",),
        (Quantity("energy", (), "energy of gravity, bodies and joints, J"),),
        "geometry",
    ),
    "momentum": Function(
        "energy.momentum",
        ("q", "v"),
        (Quantity("momentum", (6,), "[angular, linear] about the world origin"),),
        "dynamics",
        inertial=True,
    ),
    "pose": Function(
        "observe.pose",
        ("q", "node"),
        (
            Quantity("R", (3, 3), "axes of the node in the world, by columns"),
            Quantity("p", (3,), "position of the node in the world, m"),
        ),
        "geometry",
    ),
    "jacobian": Function(
        "observe.jacobian",
        ("q", "node"),
        (Quantity("J", (6, "nv"), "velocity of the node, [angular; linear], is J v"),),
        "geometry",
    ),
    "acceleration": Function(
        "observe.node_acceleration",
        ("q", "v", "vdot", "node"),
        (Quantity("a", (6,), "acceleration of the node, [angular; linear]"),),
        "geometry",
    ),
    "qdot": Function(
        "manifold.coordinate_rates",
        ("q", "v"),
        (Quantity("qdot", ("nq",), "rates of the coordinates"),),
        "geometry",
    ),
    "integrate": Function(
        "manifold.integrate",
        ("q", "v", "dt"),
        (Quantity("q_new", ("nq",), "coordinates after dt"),),
        "geometry",
    ),
}

_hybrid = replace(
    _articulated,
    kernel="hybrid.hybrid_dynamics",
    outputs=(
        Quantity("vdot", ("nv",), "rates of the speeds"),
        Quantity("forces", ("nv",), "generalized forces, those that drive joints among them"),
    ),
)

#: The function of a system with driven joints, which only they make differ from forward dynamics.
HYBRID: dict[str, Function] = {"hybrid_dynamics": _hybrid}

#: Functions that only other parts of Limber call.
INTERNAL: dict[str, Function] = {
    "closed_hybrid_dynamics": replace(_hybrid, kernel="hybrid.closed_hybrid_dynamics"),
    "motions": Function(
        "observe.motions",
        ("q", "v", "vdot"),
        (
            Quantity("spins", ("bodies", 3), "angular velocities of the bodies, body axes"),
            Quantity("accelerations", ("bodies", 6), "their accelerations less gravity, body axes"),
            Quantity("axes", ("bodies", 3, 3), "rotations from body to world axes"),
        ),
        "geometry",
    ),
    "carried_wrenches": Function(
        "newton_euler.carried_wrenches",
        ("q", "v", "vdot", "forces"),
        (
            Quantity("tau", ("nv",), "generalized forces"),
            Quantity("wrenches", ("bodies", 6), "what the joints exert on the bodies"),
        ),
        "dynamics",
    ),
    "dissipation": Function(
        "energy.dissipation",
        ("q", "v"),
        (Quantity("power", (), "power dissipated by dampers, friction and stops, W"),),
        "dynamics",
    ),
    "joint_forces": Function(
        "physics.joint_forces",
        ("q", "v"),
        (Quantity("force", ("nv",), "generalized forces of springs, dampers, friction and stops"),),
        "dynamics",
    ),
    "joint_slopes": Function(
        "physics.joint_slopes",
        ("q", "v"),
        (
            Quantity("by_q", ("nv",), "slopes of the joint forces by the coordinates"),
            Quantity("by_v", ("nv",), "slopes of the joint forces by the speeds"),
        ),
        "dynamics",
    ),
    "armatures": Function(
        "physics.armatures",
        ("q",),
        (Quantity("armature", ("nv",), "armatures of the joints"),),
        "dynamics",
    ),
    "wrenches": Function(
        "closed.wrenches",
        ("q", "rows"),
        (Quantity("wrenches", ("closures", 6), "what the closures exert on their ends b"),),
        "geometry",
    ),
    "violations": Function(
        "closed.violations",
        ("q",),
        (Quantity("violations", ("rows",), "by how much the closure rows are off"),),
        "geometry",
    ),
    "cut_coordinates": Function(
        "closed.cut_coordinates",
        ("q", "starts"),
        (
            Quantity(
                "found",
                ("closures", 13),
                "coordinates of cut joints, how far off they are, and how singular the joints",
            ),
        ),
        "geometry",
        finite=False,
    ),
    "row_rates": Function(
        "closed.row_rates",
        ("q", "v"),
        (Quantity("rates", ("rows",), "velocities of the closure rows"),),
        "geometry",
    ),
    "row_accelerations": Function(
        "closed.row_accelerations",
        ("q", "v", "vdot"),
        (Quantity("accelerations", ("rows",), "accelerations of the closure rows"),),
        "dynamics",
    ),
    "correction": Function(
        "closed.correction",
        ("q", "rows"),
        (Quantity("dv", ("nv",), "the least change of speeds that changes the rows so"),),
        "geometry",
        pivots=True,
    ),
    "operational_motion": Function(
        "operational.motion",
        ("q", "v", "tau", "forces"),
        (
            Quantity("inverse", ("probes", "probes"), "J M^{-1} J^T of the ends"),
            Quantity("sizes", ("probes",), "what its diagonal would be if nothing cancelled"),
            Quantity("acceleration", ("probes",), "accelerations of the ends"),
        ),
        "dynamics",
        pivots=True,
    ),
    "operational_responses": Function(
        "operational.responses",
        ("q",),
        (Quantity("responses", ("probes", "nv"), "M^{-1} J^T of the ends, transposed"),),
        "dynamics",
        pivots=True,
    ),
    "wrench_sweep": Function(
        "wrenches.wrench_forces",
        ("q", "forces"),
        (Quantity("tau", ("nv",), "generalized forces of the wrenches"),),
        "dynamics",
    ),
}

#: The value of a function, then its slopes by q, v and tau or vdot: one array of 1 + 3 nv rows.
SLOPES: dict[str, Function] = {
    "rigid_forward_slopes": Function(
        "forward_slopes.forward_slopes",
        ("q", "v", "tau", "forces", "slopes"),
        (
            Quantity(
                "slopes", ("slope_rows", "nv"), "vdot, and its slopes along q, by v and by tau"
            ),
        ),
        "dynamics",
        pivots=True,
    ),
    "flexible_forward_slopes": Function(
        "flexible_slopes.flexible_forward_slopes",
        ("q", "v", "tau", "forces", "spare", "slopes"),
        (
            Quantity(
                "slopes", ("slope_rows", "nv"), "vdot, and its slopes along q, by v and by tau"
            ),
        ),
        "dynamics",
        pivots=True,
    ),
    "inverse_slopes": Function(
        "inverse_slopes.inverse_slopes",
        ("q", "v", "vdot", "forces", "slopes"),
        (
            Quantity(
                "slopes", ("slope_rows", "nv"), "tau, and its slopes along q, by v and by vdot"
            ),
        ),
        "dynamics",
        inertial=True,
    ),
}

#: The length of complex steps.  Its square is far below rounding, and yet above the smallest normal number: arithmetic
#: below that is slow.
STEP = 1e-100

#: Slopes by complex steps; these are no kernels but entry points (`limber.native.slope_entries`).
BY_STEPS: dict[str, Function] = {
    "inverse_slope_by_constants": Function(
        "slope of inverse dynamics along the imaginary parts of the constants",
        ("q", "v", "vdot", "forces", "complex"),
        (Quantity("slope", ("nv",), "slope of tau"),),
        "dynamics",
        inertial=True,
    ),
    "closed_slopes_by_steps": Function(
        "slopes of forward dynamics of closed systems by complex steps",
        ("q", "v", "tau", "forces", "complex"),
        (
            Quantity("slopes", (3, "nv", "nv"), "slopes of vdot along q, by v, by tau, transposed"),
            Quantity("forces", (3, "nv", "closures", 6), "the same of what the closures exert"),
        ),
        "dynamics",
    ),
    "closed_slope_by_constants": Function(
        "slope of forward dynamics of closed systems along the imaginary parts of the constants",
        ("q", "v", "tau", "forces", "complex"),
        (
            Quantity("slope", ("nv",), "slope of vdot"),
            Quantity("forces", ("closures", 6), "slope of what the closures exert"),
        ),
        "dynamics",
    ),
}

#: All functions by name; the sweeps are called articulated_sweep and so on.
ROWS: dict[str, Function] = {
    **{f"{name}_sweep": function for name, function in SWEEPS.items()},
    **{name: f for name, f in FUNCTIONS.items() if name != "forward_dynamics"},
    **HYBRID,
    **INTERNAL,
    **SLOPES,
    **BY_STEPS,
}

#: The compiled entry point of each kernel, which is named after the first row with that kernel.
ENTRIES: dict[str, str] = {ROWS[name].kernel: name for name in reversed(ROWS)}
