"""Derivatives of forward and inverse dynamics and of closure forces from kernels; `derivatives` presents them.

All functions return arrays with the outputs as rows, (..., n, nv), and take inputs with leading batch dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.closures import Relation
from limber.assembly.parameter_constants import stepped
from limber.assembly.parameters import find
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import External, evaluated, force_key
from limber.dynamics.forward import forward_dynamics
from limber.dynamics.freedoms import undeformed
from limber.dynamics.inverse import inverse_dynamics
from limber.dynamics.rows import row_space
from limber.dynamics.sweep import fastest_sweep
from limber.errors import DynamicsError
from limber.kernels.functions import STEP

#: The functions that have derivatives, and the inputs of each.
INPUTS = {
    "forward_dynamics": ("q", "v", "tau"),
    "inverse_dynamics": ("q", "v", "vdot"),
    "constraint_forces": ("q", "v", "tau"),
}
#: The keys of `System._ready` for slopes.
READY = {name: f"slopes of {name}" for name in ("forward_dynamics", "inverse_dynamics")}

#: Symmetric matrices of which the kernels read both triangles; their slopes count by the upper one.
SYMMETRIC = ("stiffness", "damping")


@dataclass(slots=True)
class State:
    """The point of differentiation: a system, the name of the function, and its inputs."""

    system: System
    of: str
    q: ArrayLike
    v: ArrayLike
    x: ArrayLike
    external: External | None

    def evaluated(
        self, row: str, x: ArrayLike | None = None, const: Array | None = None, **options
    ):
        """A row of the table of functions at this state; x replaces the third input."""
        given = (self.q, self.v, self.x if x is None else x)
        return evaluated(
            self.system, self.of, given, external=self.external, row=row, const=const, **options
        )


@dataclass(slots=True)
class Found:
    """The value (..., n) of a function and its derivatives (..., n, nv) with respect to each of its inputs."""

    value: Array
    slopes: dict[str, Array] = field(default_factory=dict)


def transposed(x: Array) -> Array:
    """The derivatives with directions as columns; kernels write them as rows."""
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))


def slopes_by_rows(of: str, found: Array) -> dict[str, Array]:
    """The derivatives in the array (..., 1 + 3 nv, nv) that a kernel returns, the value first."""
    nv = found.shape[-1]
    return {n: found[..., 1 + i * nv : 1 + (i + 1) * nv, :] for i, n in enumerate(INPUTS[of])}


def slopes_at(at: State) -> Found:
    """The value of the function and its derivatives with respect to its inputs."""
    if at.of == "constraint_forces":
        return _of_closure_forces(at)
    forward = at.of == "forward_dynamics"
    if forward and at.system.closures:
        return _of_closed(at)
    if not forward:
        row = "inverse_slopes"
    elif any(body.modes for body in at.system.bodies.values()):
        row = "flexible_forward_slopes"
    else:
        row = "rigid_forward_slopes"
    usual = not forward or fastest_sweep(at.system) == "articulated"
    found = at.evaluated(row, key=force_key(READY[at.of], at.external) if usual else None)
    value = found[..., 0, :]
    if not usual:  # the value is that of lb.forward_dynamics to the last digit
        value = forward_dynamics(at.system, at.q, at.v, at.x, external=at.external)
    return Found(value, slopes_by_rows(at.of, found))


def _by_inputs(at: State, found: Array) -> dict[str, Array]:
    """The derivatives in an array (..., 3, nv, n) that a kernel returns."""
    return {name: transposed(found[..., i, :, :]) for i, name in enumerate(INPUTS[at.of])}


def _of_closed(at: State) -> Found:
    """Forward dynamics of a closed system and its derivatives."""
    vdot = forward_dynamics(at.system, at.q, at.v, at.x, external=at.external)
    found, _ = at.evaluated("closed_slopes_by_steps")
    return Found(vdot, _by_inputs(at, found))


# --- closure forces ---------------------------------------------------------------------------


def _of_closure_forces(at: State) -> Found:
    """The forces of the closures on their ends b, (..., 6 closures), and their derivatives.

    They are in the order of `System.closure_rows`.
    """
    _, found = at.evaluated("closed_slopes_by_steps")
    found = found.reshape(*found.shape[:-2], 6 * len(at.system.closures))
    return Found(_closure_forces(at, found.shape[:-3]), _by_inputs(at, found))


def _closure_forces(at: State, batch: tuple[int, ...]) -> Array:
    """The closure forces; configurations at which they are not unique are rejected."""
    s = at.system
    vdot = forward_dynamics(s, at.q, at.v, at.x, external=at.external)
    force = inverse_dynamics(s, at.q, at.v, vdot, external=at.external) - np.asarray(at.x, float)
    states = np.broadcast_to(np.asarray(at.q, dtype=float), (*batch, s.nq)).reshape(-1, s.nq)
    if s.fidelity == "ruthless":
        states = undeformed(s, states)
    found = np.zeros((len(states), 6 * len(s.closures)))
    for i, (state, f) in enumerate(zip(states, force.reshape(-1, s.nv))):
        space = row_space(s, state)
        if space.null.size:
            which = f" (state {i} of the batch)" if len(states) > 1 else ""
            raise DynamicsError(
                f"the closure forces of {s.name!r} have no derivatives{which}: {space.null.shape[1]} of its {s.rows} "
                "closure rows depend on the others, so the forces are not unique. Close the loops with joints that "
                "allow those motions, such as Spherical or CompoundJoint, or differentiate forward_dynamics."
            )
        found[i] = evaluated(s, "wrenches", (state, space.multipliers(f))).ravel()
    return found.reshape(*batch, -1)


def by_closure(system: System, x: Array, axis: int) -> dict[str, Array]:
    """The parts of each closure in an array with 6 numbers per closure along an axis; one number for a relation."""
    parts = np.split(x, len(system.closures), axis=axis)
    order = list(system.closure_rows)
    found = {name: parts[order.index(name)] for name in system.closures}
    for name in (n for n, c in system.closures.items() if isinstance(c, Relation)):
        found[name] = np.take(found[name], 0, axis=axis)
    return found


# --- slopes by parameters and by wrenches -----------------------------------------------------


def by_parameter(at: State, name: str, found: Found) -> Array:
    """Derivatives with respect to a parameter, (..., n, *shape), by a complex step of the constants for each number."""
    parameter = find(at.system, name)
    columns = []
    for i in range(parameter.value.size):
        const = stepped(at.system, at.system.dynamics, parameter, i, STEP * 1j)
        columns.append(_along_constants(at, const, found))
    stacked = np.stack(columns, axis=-1)
    slope = stacked.reshape(*stacked.shape[:-1], *parameter.value.shape)
    if parameter.quantity == "rotation":
        return _along_rotations(parameter.value, slope)
    if parameter.quantity in SYMMETRIC and parameter.value.ndim == 2:
        return np.triu(slope) + np.triu(np.swapaxes(slope, -1, -2), 1)
    return slope


def _along_rotations(R: Array, slope: Array) -> Array:
    """The part of a derivative (..., 3, 3) by a rotation matrix that belongs to rotations; the rest has no meaning."""
    turned = R.T @ slope
    return 0.5 * R @ (turned - np.swapaxes(turned, -1, -2))


def _along_constants(at: State, const: Array, found: Found) -> Array:
    """The derivative (..., n) along the imaginary parts of the constants."""
    if at.of == "inverse_dynamics":
        return at.evaluated("inverse_slope_by_constants", const=const)
    if at.system.closures:
        vdot, forces = at.evaluated("closed_slope_by_constants", const=const)
        if at.of == "forward_dynamics":
            return vdot
        return forces.reshape(*forces.shape[:-2], 6 * len(at.system.closures))
    force = at.evaluated("inverse_slope_by_constants", found.value, const)
    return -np.einsum("...ij,...j->...i", found.slopes["tau"], force)


def by_wrenches(at: State, found: Found) -> dict[tuple[str, str | int | None], Array]:
    """Derivatives by each wrench: those by generalized forces times J^T of its node; -J^T for inverse dynamics."""
    system, batch = at.system, found.value.shape[:-1]
    states = np.broadcast_to(np.asarray(at.q, dtype=float), (*batch, system.nq))[..., None, :]
    slopes = {}
    for key in at.external or {}:
        J = transposed(evaluated(system, "wrench_sweep", (states,), external={key: np.eye(6)}))
        slopes[key] = -J if at.of == "inverse_dynamics" else found.slopes["tau"] @ J
    return slopes
