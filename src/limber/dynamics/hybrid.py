"""Hybrid dynamics: some joints have a prescribed motion, all other degrees of freedom follow their forces."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, numbers, shown
from limber.dynamics.evaluate import NOT_READY, External, check_system, force_key, vectors
from limber.dynamics.following import check_motion
from limber.dynamics.refusals import of_batch
from limber.dynamics.sought import evaluated_or_told
from limber.errors import ArgumentTypeError, ArgumentValueError

#: {"body": (..., r)}: vdot of the joints whose motion is prescribed.
Motion = Mapping[str, ArrayLike]


def hybrid_dynamics(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    motion: Motion,
    external: External | None = None,
) -> tuple[Array, Array]:
    """Solve M(q) vdot + bias(q, v) = tau + J^T external for vdot and tau if vdot is given for some joints, in O(N).

    In a closed system, the closures are satisfied and exert forces as well.

    Parameters
    ----------
    q, v, tau : (..., nq), (..., nv), (..., nv), as in `forward_dynamics`.
    motion : {"body": (..., r)}, the rates of the r speeds of the joint of each driven body; a number if it has
        one speed.  The entries of tau for these joints have no effect.
    external : {("body", node): (..., 6)} wrench [moment, force] at the node, world axes.

    Returns (vdot, tau), both (..., nv) and complete: in tau, the entries of the driven joints are the forces that their
    motion requires, including armature, springs, dampers and friction of these joints.  Rates that violate the closures
    are rejected.  If more joints are driven than the closures leave free, single forces are not unique, and a
    ModelWarning says which.
    """
    check_system(system)
    driven, x = prescribed(system, tau, motion)
    row = "closed_hybrid_dynamics" if system.closures else "hybrid_dynamics"
    vdot, forces = with_motion(system, "hybrid_dynamics", row, q, v, x, external, driven)
    if system.closures:
        check_motion(system, q, v, vdot, driven, forces=True)
    return vdot, forces


def with_motion(
    system: System,
    name: str,
    row: str,
    q: ArrayLike,
    v: ArrayLike,
    x: Array,
    external: External | None,
    driven: tuple[int, ...],
) -> Any:
    """Evaluate a function of forward dynamics with driven joints; x is the result of `prescribed`."""
    key: Hashable = force_key(name, external)
    if key is not None:
        key = (key, driven)
        if external is None:
            try:
                answer = system._ready[key](q, v, x)
            except NOT_READY:
                answer = None
            if answer is not None:
                return answer
    return evaluated_or_told(
        system, name, (q, v, x), external=external, row=row, key=key, driven=driven
    )


def driven_bodies(
    system: System, bodies: Collection[str], argument: str = "motion"
) -> dict[str, slice]:
    """The driven bodies in the order of the system, and the indices of their joint speeds in v."""
    for body in bodies:
        system.number(body, f"{argument}: body")
        if system.joints[body].dofs == 0:
            raise ArgumentValueError(
                f"{argument}: the joint of body {body!r} is fixed, so it has no motion. Leave it out."
            )
    return {body: where.v_joint for body, where in system.layout.items() if body in bodies}


def prescribed(system: System, tau: ArrayLike, motion: Motion) -> tuple[tuple[int, ...], Array]:
    """The numbers of the driven bodies, and tau with vdot in the entries of their joints."""
    if not isinstance(motion, Mapping):
        raise ArgumentTypeError(
            f"motion must map body names to the rates of their joint speeds, got {shown(motion)}."
        )
    motion = system.by_body(motion, "motion")
    places = driven_bodies(system, motion)
    _, (force,) = vectors(system, tau=(tau, system.nv))
    shapes = {np.shape(tau)[:-1]: "tau"}
    rates = {}
    for body, place in places.items():
        size, name = place.stop - place.start, f"motion[{body!r}]"
        rate = numbers(name, motion[body], f"(..., {size})")
        if rate.ndim == 0 and size == 1:
            rate = rate.reshape(1)
        if rate.ndim == 0 or rate.shape[-1] != size:
            raise ArgumentValueError(
                f"{name} must have shape (..., {size}), got {rate.shape}: the joint has {size} "
                f"speed{'s' if size > 1 else ''}."
            )
        shapes.setdefault(rate.shape[:-1], name)
        rates[body] = rate
    try:
        batch = np.broadcast_shapes(*shapes)
    except ValueError:
        given = ", ".join(f"{name} {shape}" for shape, name in shapes.items())
        raise ArgumentValueError(
            f"the leading (batch) dimensions do not match: {given}. They must be equal or broadcast."
        ) from None
    force = force.reshape(*np.shape(tau)[:-1], system.nv)
    x = np.array(np.broadcast_to(force, (*batch, system.nv)))
    for body, rate in rates.items():
        x[..., places[body]] = rate
    if not np.isfinite(x).all():
        _refuse_infinite(rates)
    return tuple(system.number(body) for body in places), x


def _refuse_infinite(rates: dict[str, Array]) -> None:
    """Reject rates that are not finite."""
    for body, rate in rates.items():
        bad = np.argwhere(~np.isfinite(rate.reshape(-1, rate.shape[-1])))
        if bad.size:
            state, i = bad[0]
            which = of_batch(int(state), rate.size // rate.shape[-1])
            raise ArgumentValueError(
                f"motion[{body!r}][{i}] is {rate[..., i].flat[state]}{which}: the rate of a joint speed must be finite."
            )
