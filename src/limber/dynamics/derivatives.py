"""Exact slopes of forward and inverse dynamics at a state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, did_you_mean, shown
from limber.dynamics.evaluate import External, check_system, evaluated, force_key
from limber.dynamics.forward import forward_dynamics, ready_answer
from limber.dynamics.inverse import inverse_dynamics, mass_matrix
from limber.errors import ArgumentTypeError, ArgumentValueError

#: The functions that have derivatives, and the inputs of each.
INPUTS = {
    "forward_dynamics": ("q", "v", "tau"),
    "inverse_dynamics": ("q", "v", "vdot"),
}
#: The keys of `System._ready` for their slopes.
READY = {name: f"slopes of {name}" for name in INPUTS}


@dataclass(frozen=True, eq=False, repr=False)
class Derivatives:
    """The slopes of a function of the state; those that were not asked for raise an AttributeError.

    of : the name of the function.
    value : (..., nv) the function itself.
    q, v, tau, vdot : (..., nv, nv), row i is the slope of value[i]; q along `lb.integrate`, in the layout of v.
    external : {("body", node): (..., nv, 6)}, the slopes by each wrench that was given, in world axes.
    """

    of: str
    value: Array
    slopes: Mapping[str, Array] = field(default_factory=dict)
    wrenches: Mapping[tuple[str, str | int | None], Array] | None = None

    def _by(self, name: str) -> Array:
        if name not in self.slopes:
            raise AttributeError(
                f"these derivatives of {self.of} are by {', '.join(self.slopes) or 'external'}, not by {name}: name it "
                "in `by` of lb.derivatives."
                if name in INPUTS[self.of]
                else f"{self.of} has no input {name}, and these derivatives have no slopes by it."
            )
        return self.slopes[name]

    @property
    def q(self) -> Array:
        """Slopes along q, in the layout of v."""
        return self._by("q")

    @property
    def v(self) -> Array:
        """Slopes by v."""
        return self._by("v")

    @property
    def tau(self) -> Array:
        """Slopes by tau, of forward dynamics: the inverse of the mass matrix of an open system."""
        return self._by("tau")

    @property
    def vdot(self) -> Array:
        """Slopes by vdot, of inverse dynamics: the mass matrix."""
        return self._by("vdot")

    @property
    def external(self) -> Mapping[tuple[str, str | int | None], Array]:
        """Slopes by the external wrenches."""
        if self.wrenches is None:
            raise AttributeError(
                f'these derivatives of {self.of} are not by external wrenches: give some, and name "external" in `by` of '
                "lb.derivatives if you give it."
            )
        return self.wrenches

    def __repr__(self):
        parts = [f"{name} {x.shape}" for name, x in self.slopes.items()]
        parts += [f"external[{key!r}] {x.shape}" for key, x in (self.wrenches or {}).items()]
        return f"Derivatives of {self.of}, value {self.value.shape}: {', '.join(parts)}"


def derivatives(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    x: ArrayLike,
    of: str = "forward_dynamics",
    *,
    external: External | None = None,
    by: str | Iterable[str] | None = None,
) -> Derivatives:
    """The exact slopes of forward or inverse dynamics at a state, or at a batch of states.

    Parameters
    ----------
    q, v : (..., nq), (..., nv); leading dimensions are a batch, run on all cores.
    x : (..., nv), tau for forward dynamics, vdot for inverse dynamics.
    of : "forward_dynamics", whose slopes are those of vdot, or "inverse_dynamics", whose slopes are those of tau.
    external : {("body", node): (..., 6)} wrench [moment, force] at the node, world axes.  A wrench keeps its direction
        in the world when the body turns.
    by : the inputs by which slopes are wanted, of "q", "v", "tau" (or "vdot") and "external"; all of them unless given.

    Returns an object with .value and, as asked for, .q, .v, .tau or .vdot, each (..., nv, nv), and .external with (..., nv, 6)
    for each wrench.  Slopes by q are along `lb.integrate(s, q, dx, 1)`, with dx in the layout of v, so that they exist
    for quaternions too.  They are exact to rounding for every joint and body at either fidelity, joint physics included.

    Forward dynamics of a closed system has the slopes of the constrained accelerations at fixed tau, with the closures'
    accelerations demanded at every q and v: also along changes that the closures do not allow.  Inverse dynamics of a
    closed system is that of its open tree.
    """
    answer = None
    if by is None and external is None and of in INPUTS:
        answer = ready_answer(system, READY[of], None, q, v, x)
    if answer is not None:
        return Derivatives(of, answer[0], _by_rows(of, answer))
    check_system(system)
    if of not in INPUTS:
        known = ", ".join(map(repr, INPUTS))
        raise ArgumentValueError(f"of must be one of {known}, got {shown(of)}.")
    names = _checked(of, external, by)
    forward = of == "forward_dynamics"
    if forward and system.closures:
        value, slopes = _of_closed(system, q, v, x, external)
    elif _rigid(system):
        key = force_key(READY[of], external)
        row = "rigid_forward_slopes" if forward else "rigid_inverse_slopes"
        found = evaluated(system, of, (q, v, x), external=external, row=row, key=key)
        value, slopes = found[..., 0, :], _by_rows(of, found)
    elif forward:
        value, slopes = _of_forward(system, q, v, x, external)
    else:
        value, slopes = _of_inverse(system, q, v, x, external)
    wrenches = None
    if "external" in names:
        respond = slopes["tau"] if forward else None
        wrenches = _by_wrenches(system, q, external or {}, value.shape[:-1], respond)
    return Derivatives(of, value, {n: slopes[n] for n in names if n != "external"}, wrenches)


def _rigid(system: System) -> bool:
    """Whether all bodies are rigid."""
    return not any(body.modes for body in system.bodies.values())


def _by_rows(of: str, found: Array) -> dict[str, Array]:
    """The slopes in the array (..., 1 + 3 nv, nv) that a kernel gives."""
    nv = found.shape[-1]
    return {name: found[..., 1 + i * nv : 1 + (i + 1) * nv, :] for i, name in enumerate(INPUTS[of])}


def _checked(of: str, external: External | None, by) -> tuple[str, ...]:
    """The names of the inputs by which slopes are wanted."""
    known = (*INPUTS[of], *(["external"] if external else []))
    if by is None:
        return known
    given = (by,) if isinstance(by, str) else by
    names = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(n, str) for n in names):
        raise ArgumentTypeError(
            f"by must be the name of an input of {of} or several, got {shown(by)}."
        )
    if not names:
        raise ArgumentValueError(f"by names no input: expected some of {', '.join(known)}.")
    for name in names:
        if name in known:
            continue
        if name == "external":
            raise ArgumentValueError(
                'by="external" needs the wrenches to be given: external={("body", node): wrench}.'
            )
        if name == "gravity" or "." in name:
            raise ArgumentValueError(
                f"by={name!r}: slopes by parameters of the model are not available here yet. "
                f"lb.compile(system, {of!r}, wrt={name!r}) generates a function that has them."
            )
        raise ArgumentValueError(
            f"by={name!r} is no input of {of}, which has {', '.join(known)}. {did_you_mean(name, known)}"
        )
    return tuple(dict.fromkeys(names))


def _transposed(x: Array) -> Array:
    """The slopes with directions by columns; kernels write them by rows."""
    return np.ascontiguousarray(np.swapaxes(x, -1, -2))


def _of_inverse(system, q, v, vdot, external) -> tuple[Array, dict[str, Array]]:
    """Inverse dynamics and its slopes."""
    value = inverse_dynamics(system, q, v, vdot, external=external)
    by_q, by_v = evaluated(
        system, "inverse_dynamics", (q, v, vdot), external=external, row="inverse_slopes_by_steps"
    )
    M = np.broadcast_to(mass_matrix(system, q), (*value.shape, system.nv)).copy()
    return value, {"q": _transposed(by_q), "v": _transposed(by_v), "vdot": M}


def _of_forward(system, q, v, tau, external) -> tuple[Array, dict[str, Array]]:
    """Forward dynamics of a tree and its slopes: those of inverse dynamics at vdot, times -M^{-1}."""
    vdot = forward_dynamics(system, q, v, tau, external=external)
    found = evaluated(
        system, "forward_dynamics", (q, v, vdot), external=external, row="forward_slopes_by_steps"
    )
    return vdot, {name: _transposed(x) for name, x in zip(("q", "v", "tau"), found)}


def _of_closed(system, q, v, tau, external) -> tuple[Array, dict[str, Array]]:
    """Forward dynamics of a closed system and its slopes."""
    vdot = forward_dynamics(system, q, v, tau, external=external)
    found = evaluated(
        system, "forward_dynamics", (q, v, tau), external=external, row="closed_slopes_by_steps"
    )
    return vdot, {name: _transposed(x) for name, x in zip(("q", "v", "tau"), found)}


def _by_wrenches(system, q, external, batch, respond) -> dict[tuple[str, str | int | None], Array]:
    """Slopes by each wrench: J^T of its node, negative for inverse dynamics, times `respond` for forward dynamics."""
    states = np.broadcast_to(np.asarray(q, dtype=float), (*batch, system.nq))[..., None, :]
    found = {}
    for key in external:
        forces = evaluated(system, "wrench_sweep", (states,), external={key: np.eye(6)})
        J = _transposed(forces)
        found[key] = -J if respond is None else respond @ J
    return found
