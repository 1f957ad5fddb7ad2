"""Messages about states that the compiled functions reject: what is wrong with them."""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary

import numpy as np

from limber.assembly.singular import judge
from limber.assembly.system import System
from limber.checks import Array, unit_quaternion
from limber.errors import ArgumentValueError, DynamicsError
from limber.native.status import NOT_FINITE, NOT_UNIT, OVERFLOW

#: If there is no finite result, a coordinate beyond this is the cause.
HUGE = 1e30

_truncated: WeakKeyDictionary[System, tuple[str, ...]] = WeakKeyDictionary()


def truncated_bodies(system: System) -> tuple[str, ...]:
    """The bodies whose second-order shapes are truncated, so that the mass matrix may become indefinite."""
    if system not in _truncated:
        full = system.fidelity == "full"
        names = tuple(name for name, body in system.bodies.items() if full and body.truncated)
        _truncated[system] = names
    return _truncated[system]


def of_batch(state: int, states: int) -> str:
    """The part of a message that identifies the state."""
    return f" (state {state} of the batch)" if states > 1 else ""


def refuse_infinite(ext: Array, names: list[str]) -> None:
    """Reject external wrenches that are not finite."""
    if not np.isfinite(ext).all():
        state, i = np.argwhere(~np.isfinite(ext))[0]
        which = of_batch(state, len(ext))
        raise ArgumentValueError(
            f"{names[i // 6]}[{i % 6}] is {ext[state, i]}{which}: a wrench [moment, force] must be finite."
        )


def refuse(
    system: System,
    status: int,
    state: int,
    which: str,
    inputs: dict[str, Array],
    entry: str = "the dynamics",
    driven: tuple[int, ...] = (),
) -> None:
    """Raise the error of a status, with the argument, the element and the body; `which` is from `of_batch`."""
    if status == NOT_FINITE:
        for name, a in inputs.items():
            x = a[state]
            bad = np.flatnonzero(~np.isfinite(x))
            if bad.size:
                i = int(bad[0])
                if name.startswith("external"):
                    owner = "a moment" if i < 3 else "a force"
                else:
                    owner = system.describe_q(i) if name == "q" else system.describe_v(i)
                raise ArgumentValueError(f"{name}[{i}] is {x[i]}{which}: {owner} must be finite.")
    if status == NOT_UNIT:
        q = inputs["q"][state]
        worst = max(quaternions(system), key=lambda x: abs(math.hypot(*q[x[1]]) - 1.0))
        name, at = worst
        where = f"q[{at.start}:{at.stop}]{which}, the quaternion of body {name!r},"
        unit_quaternion(where, q[at], tolerance=0.0)
    if status == OVERFLOW:
        raise DynamicsError(
            f"{entry} of {system.name!r} is not finite{which}: the state is so large that it overflows. Look for "
            "huge coordinates, speeds or times."
        )
    q = inputs["q"][state]
    largest = int(np.abs(q).argmax()) if q.size else 0
    if q.size and abs(q[largest]) > HUGE:
        why = (
            f"q[{largest}] = {q[largest]:.3g}, {system.describe_q(largest)}, is so large that the equations overflow. "
            "Look for huge coordinates."
        )
    else:
        why = why_singular(system, q, driven) or (
            "the state is so large that the equations overflow. Look for huge speeds or forces."
        )
    raise DynamicsError(f"the dynamics of {system.name!r} has no finite result{which}: {why}")


def why_singular(system: System, q: Array, driven: tuple[int, ...] = ()) -> str:
    """Why the articulated inertia is singular at a configuration, and what to look for; empty if it is not."""
    verdict = judge(system, q, driven)
    if verdict.sound:
        return ""
    if (bent := _truncated_outboard(system, verdict.body)) is not None:
        whose = (
            "Its geometric stiffening"
            if bent == verdict.body
            else f"The geometric stiffening of {bent!r}"
        )
        return (
            f"the mass matrix is not positive definite at this configuration, because of {verdict.freedom} of "
            f"body {verdict.body!r}. {whose} is truncated, since it is derived from unit loads alone, and this "
            "form fails at deflections of a few per cent of the length. Use fewer modes, divide the body into "
            "several, or omit the stiffening."
        )
    return (
        f"the articulated inertia is singular at this configuration, where {verdict.freedom} of body "
        f"{verdict.body!r} moves no mass, alone or together with degrees of freedom outboard of it. Look for "
        "a body without mass or inertia at the end of a stretched-out chain, for a compound joint whose axes "
        "are aligned, and for deformations of a radian or more."
    )


def _truncated_outboard(system: System, body: str) -> str | None:
    """A body with truncated second-order shapes that is this one or outboard of it."""
    for name in truncated_bodies(system):
        at = name
        while at not in (body, "world"):
            at = system.parents[at]
        if at == body:
            return name
    return None


def quaternions(system: System):
    """(body name, slice of q) of every quaternion."""
    for name, where in system.layout.items():
        start = where.q_joint.start
        for at in system.joints[name].quaternions():
            yield name, slice(start + at.start, start + at.stop)
