"""Detection of degrees of freedom that move no mass, before any computation with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from limber import native
from limber.assembly.extent import extent
from limber.checks import Array
from limber.errors import ModelError, ModelWarning, warn
from limber.kernels import layout as L
from limber.native import status as S
from limber.native.calls import Call

if TYPE_CHECKING:
    from limber.assembly.system import System

#: How many configurations are tried before a system counts as singular.
CONFIGURATIONS = 3
#: A system that magnifies relative changes of its numbers by this factor loses half of its 16 digits.
HALF = 1e8


def refuse_singular(system: System) -> None:
    """Reject a system whose mass matrix is singular in every configuration; warn if it is nearly singular."""
    for seed in range(CONFIGURATIONS):
        q = generic_configuration(system, seed)
        if pivots_large(system, q):
            return
        verdict = judge(system, q)
        if verdict.sound:
            break
    else:
        raise ModelError(
            f"body {verdict.body!r}: {verdict.freedom} moves no mass, alone or together with degrees of freedom "
            "outboard of it, so its acceleration is undefined (the articulated inertia is singular). Give "
            f"{verdict.body!r} or a body outboard of it mass and inertia in that direction (a beam has no inertia "
            "about its own axis unless it has a polar_inertia), give its joint an armature if a drive acts "
            "there, or lock that degree of freedom. Other possible causes are a compound joint whose axes are "
            "not independent, and massless bodies in series with more degrees of freedom than the body that they "
            "carry. Read robot files with massless links at their ends with lenient=True, which gives their "
            "joints an armature."
        )
    if verdict.loss > HALF:
        warn(
            f"system {system.name!r}, body {verdict.body!r}: {verdict.freedom} moves almost no mass, alone or "
            "together with degrees of freedom outboard of it: forward dynamics loses about "
            f"{np.log10(verdict.loss):.0f} of 16 digits. Give {verdict.body!r} or a body outboard of it more mass "
            "and inertia in that direction, give its joint an armature, or lock that degree of freedom.",
            ModelWarning,
        )


def generic_configuration(system: System, seed: int = 0) -> Array:
    """A configuration of undeformed bodies with all joints away from special positions.

    Joints are turned by up to 0.7 rad and moved by up to 0.7 times the size of the system; equal seeds give equal
    configurations.
    """
    rng = np.random.default_rng(seed)
    q, length = system.neutral(), extent(system)
    for name, where in system.layout.items():
        at = where.q_joint.start
        for group in system.joints[name].groups:
            step = rng.uniform(-0.7, 0.7, group.nq)
            if group.kind == L.SCREWS:
                turn, move = np.linalg.norm(group.H.reshape(2, 3, -1), axis=1)
                step /= np.maximum(turn, move / length)
            else:
                step[4:] *= length
            q[at : at + group.nq] += step
            if group.kind != L.SCREWS:
                quaternion = slice(at, at + 4)
                q[quaternion] /= np.linalg.norm(q[quaternion])
            at += group.nq
    return q


def pivots_large(system: System, q: Array) -> bool:
    """Whether no pivot at q is small compared with the inertias it came from; see `native.state_checks`."""
    packed = system.dynamics
    zero, out = np.zeros(system.nv), np.empty(system.nv)
    work = np.empty(packed.topo[L.WORK_SIZE])
    call = Call(system, "articulated_sweep", packed.topo, packed.const)
    status = call.run((q, zero, zero), work, out, 0, 1)
    return status == S.OK


@dataclass(frozen=True)
class Verdict:
    """How far the mass matrix is from being singular at a configuration.

    sound : whether it is regular.
    body, freedom : the worst degree of freedom, in words.
    loss : the factor by which relative changes of the numbers of the model may be magnified in its acceleration.
    """

    sound: bool
    body: str
    freedom: str
    loss: float


def judge(system: System, q: Array, driven: tuple[int, ...] = ()) -> Verdict:
    """The verdict on one configuration; see `native.state_checks`.

    driven : the numbers of the bodies whose joints have prescribed motion.
    """
    sound, found = _judged(system, q, "articulated_sweep", driven)
    order = _elimination_order(system)
    vectors = found.reshape(S.JUDGED, system.nv)[:, order]
    changes, responses = vectors[S.CHANGES], vectors[S.RESPONSES]
    loss = np.maximum(changes / S.NUDGE, np.abs(responses))
    loss[~np.isfinite(loss)] = np.inf
    rounding = ~(changes <= S.PIVOT_CHANGE)
    # The first pivot that is rounding error is to blame, because it spoils those after it.
    worst = int(rounding.argmax() if rounding.any() else vectors[S.RATIOS].argmax())
    return Verdict(sound, *_freedom(system, order[worst]), float(loss.max()))


def regular(system: System, q: Array, sweep: str, driven: tuple[int, ...] = ()) -> bool:
    """Whether the mass matrix is regular at q, judged by the pivots of a sweep."""
    return _judged(system, q, sweep, driven)[0]


def _judged(system: System, q: Array, sweep: str, driven: tuple[int, ...]) -> tuple[bool, Array]:
    packed = system.dynamics.with_driven(driven)
    found, work = np.empty(S.JUDGED * system.nv), np.empty(packed.topo[L.WORK_SIZE])
    status = native.load("judge_pivots")(
        native.address(sweep), packed.topo, packed.const, packed.nudged, q, work, found
    )
    return status == S.OK, found


def _elimination_order(system: System) -> np.ndarray:
    """Indices of v in the order in which the articulated sweep eliminates them: tip to base, modes first."""
    parts = [np.arange(w.v_modes.start, w.v_joint.stop) for w in system.layout.values()]
    return np.concatenate(parts[::-1]).astype(np.int64)


def _freedom(system: System, i: int) -> tuple[str, str]:
    """The body that v[i] belongs to, and what it is."""
    for name, where in system.layout.items():
        if where.v_modes.start <= i < where.v_modes.stop:
            return name, f"mode {i - where.v_modes.start + 1}"
        if where.v_joint.start <= i < where.v_joint.stop:
            return name, f"joint speed {i - where.v_joint.start} ({system.joints[name]!r})"
    raise IndexError(i)
