"""Exact derivatives of forward and inverse dynamics, and of closure forces, at a state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from limber.assembly import parameters
from limber.assembly.system import System
from limber.checks import Array, did_you_mean, shown
from limber.dynamics.evaluate import External, check_system
from limber.dynamics.forward import ready_answer
from limber.dynamics.slopes import (
    INPUTS,
    READY,
    State,
    by_closure,
    by_parameter,
    by_wrenches,
    slopes_at,
    slopes_by_rows,
)
from limber.dynamics.sought import warn_where_missed
from limber.errors import ArgumentTypeError, ArgumentValueError

#: An array, or one for each closure.
Slope = Array | Mapping[str, Array]


@dataclass(frozen=True, eq=False, repr=False)
class Derivatives:
    """The derivatives of a function of the state; those that were not requested raise an AttributeError.

    of : the name of the function.
    value : (..., nv) the function itself.
    q, v, tau, vdot : (..., nv, nv), row i is the derivative of value[i]; q along `lb.integrate`, in the layout of v.
    external : {("body", node): (..., nv, 6)}, the derivatives with respect to each given wrench, in world axes.
    parameters : {name: (..., nv, *shape)}, the derivatives with respect to parameters of the model, with the shape of
        each.

    For constraint_forces, each of these is a mapping by the names of the closures.  Its arrays have an axis of length 6
    instead of the first nv, or no such axis for a relation.
    """

    of: str
    value: Any
    slopes: Mapping[str, Slope] = field(default_factory=dict)
    wrenches: Mapping[tuple[str, str | int | None], Slope] | None = None
    named: Mapping[str, Slope] | None = None

    def _by(self, name: str) -> Any:
        if name not in self.slopes:
            there = [
                *self.slopes,
                *([] if self.wrenches is None else ["external"]),
                *(self.named or ()),
            ]
            raise AttributeError(
                f"these derivatives of {self.of} are with respect to {', '.join(there)}, not {name}: add it to `by` "
                "of lb.derivatives."
                if name in INPUTS[self.of]
                else f"{self.of} has no input {name}, so there are no derivatives with respect to it."
            )
        return self.slopes[name]

    @property
    def q(self) -> Any:
        """Derivatives with respect to q, in the layout of v."""
        return self._by("q")

    @property
    def v(self) -> Any:
        """Derivatives with respect to v."""
        return self._by("v")

    @property
    def tau(self) -> Any:
        """Derivatives of forward dynamics with respect to tau; for an open system, the inverse of the mass matrix."""
        return self._by("tau")

    @property
    def vdot(self) -> Any:
        """Derivatives of inverse dynamics with respect to vdot, which are the mass matrix."""
        return self._by("vdot")

    @property
    def external(self) -> Mapping[tuple[str, str | int | None], Any]:
        """Derivatives with respect to the external wrenches."""
        if self.wrenches is None:
            raise AttributeError(
                f"these derivatives of {self.of} do not include external wrenches: pass external=... to lb.derivatives, and "
                'if you also pass `by`, name "external" there.'
            )
        return self.wrenches

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Derivatives with respect to parameters of the model, by name."""
        if not self.named:
            raise AttributeError(
                f"these derivatives of {self.of} are not with respect to parameters of the model: name some, such as "
                '"link1.mass", in `by` of lb.derivatives.'
            )
        return self.named

    def __repr__(self):
        parts = [f"{name} {_shape(x)}" for name, x in self.slopes.items()]
        parts += [f"external[{key!r}] {_shape(x)}" for key, x in (self.wrenches or {}).items()]
        parts += [f"parameters[{key!r}] {_shape(x)}" for key, x in (self.named or {}).items()]
        return f"Derivatives of {self.of}, value {_shape(self.value)}: {', '.join(parts)}"


def _shape(x: Slope) -> str:
    """The shape of an array, or of the array of each closure."""
    if isinstance(x, Mapping):
        return f"{{{', '.join(f'{name!r}: {a.shape}' for name, a in x.items())}}}"
    return str(x.shape)


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
    """Exact derivatives of forward or inverse dynamics, or of closure forces, at a state or a batch of states.

    Parameters
    ----------
    q, v : (..., nq), (..., nv); leading dimensions are a batch, evaluated on all cores.
    x : (..., nv), tau for forward dynamics and closure forces, vdot for inverse dynamics.
    of : "forward_dynamics" for the derivatives of vdot, "inverse_dynamics" for those of tau, or "constraint_forces" for
        those of the forces that each closure of a closed system exerts (`lb.constraint_forces`).
    external : {("body", node): (..., 6)} wrench [moment, force] at the node, world axes.  A wrench keeps its direction
        in the world when the body turns.
    by : the inputs with respect to which to differentiate, from "q", "v", "tau" (or "vdot") and "external"; all of them
        by default.  It may also contain parameters of the model, any of `System.parameters`: "link1.mass", "link1.EI",
        "link2.joint_damping".

    Returns an object with .value and, as requested, .q, .v, .tau or .vdot, each (..., nv, nv), and .external with (...,
    nv, 6) for each wrench.  .parameters has (..., nv, *shape) for each parameter that `by` names.  A symmetric matrix,
    such as an inertia, counts by its upper triangle.  Derivatives with respect to a rotation matrix are for changes
    under which it remains a rotation matrix.  Derivatives with respect to q are along `lb.integrate(s, q, dx, 1)`, with
    dx in the layout of v, so they also exist for quaternions.  All derivatives are exact to rounding for every joint
    and body at either fidelity, including joint physics.

    For forward dynamics of a closed system these are the derivatives of the constrained accelerations at fixed tau.
    The accelerations satisfy the closures at every q and v, even along changes that the closures do not allow.  Inverse
    dynamics of a closed system is that of its open tree.  For closure forces, .value, .q and so on are mappings from
    the names of the closures to arrays whose rows are [moment, force] on end b; a relation has one row, without an
    axis.  If closures are redundant, their forces are not unique, and a DynamicsError says so.
    """
    answer = None
    if by is None and external is None and isinstance(of, str) and of in READY:
        answer = ready_answer(system, READY[of], None, q, v, x)
    if answer is not None:
        return Derivatives(of, answer[0], slopes_by_rows(of, answer))
    check_system(system)
    if not isinstance(of, str) or of not in INPUTS:
        known = ", ".join(map(repr, INPUTS))
        raise ArgumentValueError(f"of must be one of {known}, got {shown(of)}.")
    if of == "constraint_forces" and not system.closures:
        raise ArgumentValueError(
            f"of='constraint_forces': {system.name!r} has no closures. Make some with Assembly.close, or "
            "differentiate forward_dynamics."
        )
    names = _checked(system, of, external, by)
    at = State(system, of, q, v, x, external)
    if system.closures and of != "inverse_dynamics":
        warn_where_missed(system, q)
    found = slopes_at(at)
    slopes: dict[str, Slope] = {name: found.slopes[name] for name in names if name in INPUTS[of]}
    wrenches: Any = by_wrenches(at, found) if "external" in names else None
    named: Any = None
    if by is not None:
        named = {name: by_parameter(at, name, found) for name in names if _is_parameter(name)}
    if of != "constraint_forces":
        return Derivatives(of, found.value, slopes, wrenches, named)

    def apart(arrays):
        axis = found.value.ndim - 1
        return arrays and {key: by_closure(system, a, axis) for key, a in arrays.items()}

    value = apart({"value": found.value})["value"]
    return Derivatives(of, value, apart(slopes), apart(wrenches), apart(named))


def _is_parameter(name: str) -> bool:
    """Whether a name is that of a parameter of the model."""
    return name == "gravity" or "." in name


def _checked(system: System, of: str, external: External | None, by) -> tuple[str, ...]:
    """Return the checked names of the inputs with respect to which to differentiate."""
    known = (*INPUTS[of], *(["external"] if external else []))
    if by is None:
        return known
    given = (by,) if isinstance(by, str) else by
    names = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(n, str) for n in names):
        raise ArgumentTypeError(
            f"by must be the name of one input of {of} or a list of names, got {shown(by)}."
        )
    if not names:
        raise ArgumentValueError(f"by names no input: expected some of {', '.join(known)}.")
    for name in names:
        if name in known:
            continue
        if name == "external":
            raise ArgumentValueError(
                'by="external" requires the wrenches: give external={("body", node): wrench}.'
            )
        if _is_parameter(name):
            parameters.find(system, name)  # says what is wrong with it
            continue
        raise ArgumentValueError(
            f"by={name!r} is not an input of {of}, which has {', '.join(known)}. {did_you_mean(name, known)}"
        )
    return tuple(dict.fromkeys(names))
