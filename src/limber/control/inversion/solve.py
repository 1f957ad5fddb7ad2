r"""Stable inversion: the torques with which outputs follow a path exactly, although the system is not minimum phase.

If the tip of a flexible link follows a path from rest, the rest of the motion (`internal`) grows without bound forward
in time, because the tip first moves against the joint. Exactly one motion stays bounded, and it begins before the path
does (Devasia, Chen & Paden, IEEE Trans. Automatic Control 41 (1996) 930). It solves the boundary-value problem

    xdot = f(t, x)                       from `before` s before the path to `after` s after it
    L_s^T (x - x_start) = 0              at the beginning: x leaves the equilibrium along growing directions
    L_u^T (x - x_end) = 0                at the end: x approaches the equilibrium along decaying directions

where L_s and L_u span the left invariant subspaces of df/dx at the equilibria for decaying eigenvalues (including
errors of the outputs) and for growing ones. The solver is fourth-order collocation on an adaptive mesh
(`scipy.integrate.solve_bvp`), with exact derivatives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.integrate
import scipy.interpolate
import scipy.linalg
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, number, shown
from limber.control.inversion.internal import InternalDynamics
from limber.control.inversion.outputs import checked_outputs
from limber.control.joints import joint_places, not_plain
from limber.dynamics.derivatives import derivatives
from limber.dynamics.evaluate import check_system
from limber.errors import ArgumentTypeError, ArgumentValueError, DynamicsError
from limber.trajectories import Trajectory

#: Eigenvalues whose real parts are below this fraction of the largest one neither grow nor decay.
MARGINAL = 1e-9
#: Time constants that a motion takes to fade, where `before` and `after` are not given.
FADES = 12.0
#: Unless given, `after` is at most this many times the duration of the path.
LONGEST = 10.0
#: Points of the path at which equilibria are computed for a first guess, and most points of the mesh.
POINTS, MESH = 41, 5000
#: A step of Newton's method that is larger than this has failed.
ABSURD = 1e6
#: Newton steps for an equilibrium, and what counts as one, relative to the forces that are there.
STEPS, BALANCED = 50, 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class Inversion:
    """A motion whose outputs follow a path exactly; made by `stable_inversion`.

    path : the path; it begins at t = 0.
    before, after : how long the torques act before and after the path, s.
    growing, decaying : the eigenvalues of the internal dynamics at the beginning of the path, 1/s, without the outputs.
    left : the difference between the torques at both ends and those of the equilibria there, as fractions of the
        largest torques.
    start, end : (nv,) the equilibria before and after.
    """

    path: Trajectory
    before: float
    after: float
    growing: Array
    decaying: Array
    left: tuple[float, float]
    start: Array
    end: Array
    internal: InternalDynamics
    solution: Any

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, v (..., nv) and the torques (..., joints) at times counted from the beginning of the path."""
        times = np.asarray(t, dtype=float)
        flat = times.reshape(-1)
        nv = len(self.start)
        x = self.solution(np.clip(flat, -self.before, self.path.duration + self.after)).T
        x[flat < -self.before] = np.append(self.start, np.zeros(nv))
        x[flat > self.path.duration + self.after] = np.append(self.end, np.zeros(nv))
        q, v = np.ascontiguousarray(x[:, :nv]), np.ascontiguousarray(x[:, nv:])
        u = self.internal.solved(flat, q, v)[1]
        return tuple(x.reshape(*times.shape, -1) for x in (q, v, u))  # type: ignore[return-value]

    def __repr__(self) -> str:
        return (
            f"Inversion({self.internal.outputs.names}: from {self.before:.3g} s before a path of {self.path.duration:.3g} s to "
            f"{self.after:.3g} s after it)"
        )


def stable_inversion(
    system: System,
    path: Trajectory,
    outputs: Any,
    *,
    bodies: Any = None,
    q: ArrayLike | None = None,
    before: float | None = None,
    after: float | None = None,
    tolerance: float = 1e-5,
    rest: float = 1e-3,
) -> Inversion:
    """Find the bounded motion of an arm whose outputs follow a path exactly, and its torques.

    The head of this file has the equations.

    Parameters
    ----------
    system : an open system in which all joint speeds are the rates of their coordinates. Dry friction is best left out
        (`without_friction`).
    path : the path of the outputs, in m and rad, from rest to rest.
    outputs : as many as there are joints with torques: ("position", body, node, "x"); ("angle", body, node, "z"), the
        angle of a node as seen from the first joint of its arm, or from a point given as a fifth entry; ("rotation",
        body, node, "z"), the rotation angle of the node itself.
    bodies : those whose joints have torques; None for all.
    q : (nq,) a configuration near the beginning of the path, the initial guess for the equilibrium there; neutral by
        default.
    before, after : s; by default long enough for the slowest growing and decaying motions to fade.
    tolerance : of the collocation, relative to the rates of the state.
    rest : the fraction of the largest torques that may remain at both ends.

    A problem that cannot be inverted raises an error that says why: torques that do not act directly on the outputs,
    equilibria that do not exist, or times before and after the path that are too short.
    """
    check_system(system)
    what = "closures" if system.closures else not_plain(system)
    if what:
        raise ArgumentValueError(
            f"stable_inversion is for open systems with plain coordinates, but {system.name!r} has {what}."
        )
    places, seen = (
        joint_places(system, bodies, "stable_inversion"),
        checked_outputs(system, outputs),
    )
    if len(seen) != len(places):
        raise ArgumentValueError(
            f"stable_inversion needs as many outputs as there are torques, {len(places)} ({', '.join(places.labels)}); got {len(seen)}: "
            f"{seen.names}. Name the joints with torques: bodies=[...]."
        )
    guess = system.neutral() if q is None else array("q", q, (system.nq,))
    number("tolerance", tolerance, above=0.0)
    number("rest", rest, above=0.0)
    internal = InternalDynamics(
        system, places, seen, _resting(path, len(seen)), 10.0 / path.duration
    )
    times = np.linspace(0.0, path.duration, POINTS)
    internal.refuse_unmoved(guess)
    still = _balanced(internal, guess, times, *np.zeros((2, POINTS, system.nv)))
    internal.refuse_unreached(still)
    A = [
        internal.slopes(np.array([t]), np.append(x, np.zeros(system.nv))[:, None])[..., 0]
        for t, x in ((-1.0, still[0]), (path.duration + 1.0, still[-1]))
    ]
    decay, _ = _subspaces(A[0])
    _, growth = _subspaces(A[1])
    _refuse_unmatched(system, decay, growth)
    growing, decaying = _rates(A[0], internal.decay, len(seen))
    at_end = _rates(A[1], internal.decay, len(seen))[1]
    lead = _fading("before", before, growing, math.inf)
    trail = _fading("after", after, at_end, LONGEST * path.duration)
    solution = _solved(internal, path, still, (decay, growth), (lead, trail), tolerance)
    made = Inversion(
        path, lead, trail, growing, decaying, (0.0, 0.0), still[0], still[-1], internal, solution
    )
    left = _left(made)
    _refuse_unrested(made, left, rest, at_end)
    return replace(made, left=left)


def _resting(path: Any, m: int) -> Any:
    """The path as a function of times (n,), at rest before and after."""
    if not isinstance(path, Trajectory):
        raise ArgumentTypeError(
            f"path must be a Trajectory such as lb.trajectories.Quintic, got {shown(path)}."
        )
    size = int(np.prod(path.shape, dtype=int))
    if size != m:
        raise ArgumentValueError(f"path has {size} components, but there are {m} outputs.")
    for name, t in (("begins", 0.0), ("ends", path.duration)):
        speed = np.abs(np.atleast_1d(path(t).velocity))
        if speed.max() > 1e-9 * max(1.0, float(np.abs(path(path.breaks).velocity).max())):
            raise ArgumentValueError(
                f"path {name} with the velocity {shown(path(t).velocity)}: stable inversion needs paths from rest to rest."
            )
    return _Resting(path, m)


@dataclass(frozen=True)
class _Resting:
    """A path of m components as a function of times (n,), at rest before and after; an object, so that it can be pickled."""

    path: Trajectory
    m: int

    def __call__(self, t: Array) -> tuple[Array, Array, Array]:
        last = self.path.duration
        at = self.path(np.clip(t, 0.0, last))
        y, rate, second = (np.reshape(x, (len(t), self.m)) for x in at)
        inside = ((t > 0.0) & (t < last))[:, None]
        return y, np.where(inside, rate, 0.0), np.where(inside, second, 0.0)


def _balanced(
    internal: InternalDynamics, guess: Array, times: Array, v: Array, vdot: Array
) -> Array:
    """Configurations (n, nv) whose outputs are on the path and whose forces balance at given v and vdot (n, nv).

    They are found in sequence by Newton's method. With v and vdot zero they are equilibria.
    """
    s, nv, m = internal.system, internal.system.nv, len(internal.places)
    found, q = [], np.array(guess)
    for t, speed, rate in zip(times, v, vdot):
        wanted = internal.path(np.array([t]))[0]
        u = np.zeros(m)
        for _ in range(STEPS):
            d = derivatives(s, q, speed, rate, of="inverse_dynamics")
            y = internal.outputs.motion(q[None], np.zeros((1, nv)))
            off = internal.outputs.missing(y.value, wanted)[0]
            force = internal.B @ u - d.value
            W = np.block([[d.q, -internal.B], [y.slopes[0], np.zeros((m, m))]])
            try:
                step = np.linalg.solve(W, np.append(force, off))
            except np.linalg.LinAlgError:
                step = np.full(nv + m, np.nan)
            if not np.isfinite(step).all() or np.abs(step[:nv]).max() > ABSURD:
                step = np.full(nv + m, np.nan)
                break
            scale = min(1.0, 0.5 / max(float(np.abs(step[internal.places.v]).max()), 1e-300))
            q, u = q + scale * step[:nv], u + step[nv:]
            size = np.abs(step[:nv]).max()
            if scale == 1.0 and size <= BALANCED * max(1.0, float(np.abs(q).max())):
                break
        else:
            step = np.full(nv + m, np.nan)
        if not np.isfinite(step).all():
            raise DynamicsError(
                f"stable inversion: no equilibrium of {s.name!r} was found with {internal.outputs.names} at {shown(wanted[0].tolist())}, "
                f"{t:.4g} s after the start of the path. The arm cannot reach this position, is singular there, or has "
                "joints without torques that nothing holds. If none of these is the case, give q, a configuration near "
                "the start of the path."
            )
        found.append(q)
    return np.array(found)


def _subspaces(A: Array) -> tuple[Array, Array]:
    """Orthonormal bases of the left invariant subspaces for eigenvalues that do not grow, and for those that grow."""
    least = MARGINAL * np.abs(np.linalg.eigvals(A)).max()
    bases = []
    for chosen in (lambda re, im: re <= least, lambda re, im: re > least):
        _, Z, count = scipy.linalg.schur(A.T, output="real", sort=chosen)
        bases.append(Z[:, :count])
    return bases[0], bases[1]


def _rates(A: Array, decay: float, m: int) -> tuple[Array, Array]:
    """The growing and the decaying eigenvalues, without the 2 m of the outputs."""
    values = np.linalg.eigvals(A)
    least = MARGINAL * np.abs(values).max()
    of_outputs = np.argsort(np.abs(values + decay))[: 2 * m]
    own = np.delete(values, of_outputs)
    own = own[np.argsort(np.abs(own))]
    return own[own.real > least], own[own.real < -least]


def _refuse_unmatched(system: System, decay: Array, growth: Array) -> None:
    n = 2 * system.nv
    if decay.shape[1] + growth.shape[1] != n:
        raise DynamicsError(
            f"stable inversion: at the start of the path {n - decay.shape[1]} motions of the internal dynamics of "
            f"{system.name!r} grow, but {growth.shape[1]} at its end, so no bounded motion leads from one to the other. "
            "Shorten the path."
        )


def _fading(name: str, given: float | None, rates: Array, longest: float) -> float:
    """`before` or `after`: as given, or long enough for the slowest of the rates to fade."""
    if given is not None:
        return number(name, given, minimum=0.0)
    slowest = float(np.abs(rates.real).min()) if len(rates) else math.inf
    return min(FADES / slowest, longest)


def _solved(
    internal: InternalDynamics,
    path: Trajectory,
    still: Array,
    bases: tuple[Array, Array],
    margins: tuple[float, float],
    tolerance: float,
) -> Any:
    """The state (2 nv,) as a function of time, from before the path to after it."""
    nv, T = internal.system.nv, path.duration
    decay, growth = (basis.T for basis in bases)
    start, end = (np.append(x, np.zeros(nv)) for x in (still[0], still[-1]))
    inside = np.linspace(0.0, T, 2 * POINTS - 1)
    before, after = (np.linspace(0.0, x, max(1, math.ceil(x / inside[1])) + 1) for x in margins)
    mesh = np.unique(np.concatenate([-before, inside, path.breaks, T + after]))
    spline = _slow(internal, still, T)
    at, moving = np.clip(mesh, 0.0, T), ((mesh > 0.0) & (mesh < T))[:, None]
    guess = np.vstack([spline(at).T, np.where(moving, spline(at, 1), 0.0).T])

    def ends(a: Array, b: Array) -> Array:
        return np.append(decay @ (a - start), growth @ (b - end))

    def slopes_at_ends(a: Array, b: Array) -> tuple[Array, Array]:
        zero = np.zeros_like
        return np.vstack([decay, zero(growth)]), np.vstack([zero(decay), growth])

    message = "Newton's method does not converge."
    try:
        with np.errstate(all="ignore"):  # steps of Newton's method that lead nowhere
            found = scipy.integrate.solve_bvp(
                internal.rates, ends, mesh, guess, fun_jac=internal.slopes, bc_jac=slopes_at_ends,
                tol=tolerance, max_nodes=MESH,
            )  # fmt: skip
        if found.status == 0 and np.isfinite(found.y).all():
            return found.sol
        message = found.message if found.status else message
    except (DynamicsError, np.linalg.LinAlgError):
        pass
    raise DynamicsError(
        f"stable inversion: no bounded motion of {internal.system.name!r} was found. {message} At rest along the path, "
        f"the effect of the torques on the accelerations of {internal.outputs.names} is {internal.reach(still):.2g} of "
        "their effect at the joints, and deformations may make it zero: use angles instead of positions, fewer modes, or "
        "a slower path that stays away from singular positions."
    )


def _slow(internal: InternalDynamics, still: Array, T: float) -> Any:
    """An initial guess, a spline over [0, T]: the deformations balance the inertia forces along the equilibria.

    One pass is enough: each pass differentiates the spline twice, which amplifies errors.
    """
    times = np.linspace(0.0, T, len(still))
    spline = scipy.interpolate.CubicSpline(times, still, bc_type="clamped")
    try:
        q = _balanced(internal, still[0], times, spline(times, 1), spline(times, 2))
    except DynamicsError:  # it is a guess: a worse one may do as well
        return spline
    return scipy.interpolate.CubicSpline(times, q, bc_type="clamped")


def _left(made: Inversion) -> tuple[float, float]:
    """The torques that remain at both ends."""
    T = made.path.duration
    times = np.linspace(-made.before, T + made.after, 401)
    u = made(times)[2]
    far = made.before + made.after + T
    rest = made(np.array([-far, T + far]))[2]
    part = (times - times[0]) / (times[-1] - times[0])
    largest = np.abs(u - (1.0 - part[:, None]) * rest[0] - part[:, None] * rest[1]).max()
    return tuple(float(np.abs(u[i] - rest[i]).max() / max(largest, 1e-300)) for i in (0, -1))  # type: ignore[return-value]


def _refuse_unrested(
    made: Inversion, left: tuple[float, float], rest: float, at_end: Array
) -> None:
    """Reject motions that do not begin and end at rest."""
    for name, part, rates, what in (
        ("before", left[0], made.growing, "grow"),
        ("after", left[1], at_end, "decay"),
    ):
        if part <= rest:
            continue
        given = getattr(made, name)
        slowest = float(np.abs(rates.real).min()) if len(rates) else 0.0
        if slowest:
            need = math.log(1.0 / rest) / slowest
            advice = (
                f"The slowest internal motions that {what} do so at {slowest:.3g} /s: give {name}={need:.3g} or longer"
                + (", or add damping." if name == "after" else ", or allow a larger rest.")
            )
        else:
            advice = "Some internal motions do not decay at all: add damping to the bodies and to the joints without torques."
        raise DynamicsError(
            f"stable inversion: {name}={given:.3g} s is too short: {100 * part:.2g} % of the largest torque remains at "
            f"that end, but rest={rest:g} is allowed. {advice}"
        )
