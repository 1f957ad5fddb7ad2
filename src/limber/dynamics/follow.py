"""Equilibria under a load that grows in steps: their lowest frequency, and the load at which they become unstable.

Each equilibrium is found from the previous one by Newton's method along the branch.  Between a stable and an unstable
equilibrium, the lowest eigenvalue of the stiffness is a smooth function of the load; a search with superlinear
convergence finds its zero.  If forces follow the bodies, and for growing oscillations, the eigenvalues of the motion
decide instead.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, flag, numbers
from limber.dynamics import eigen
from limber.dynamics.equilibrium import Point, refuse_unbalanced, settled
from limber.dynamics.evaluate import External
from limber.dynamics.inverse import mass_matrix
from limber.dynamics.limits import warn_outside_limits
from limber.dynamics.modes import Matrices, matrices_at_rest, refuse_indefinite
from limber.dynamics.newton import corrected
from limber.dynamics.reach import reach
from limber.dynamics.small_motions import warn_if_singular
from limber.dynamics.statics import Statics, stated
from limber.dynamics.theory import tell, turned, warn_of_axial_loads
from limber.errors import ArgumentValueError, ModelWarning, warn
from limber.notebook import as_text

#: A larger change of a coordinate than this, in radians and fractions of the system's size, is not a step along a path.
JUMP = 0.3
#: A larger deformation between two factors than this, in rad and fractions of the system's size, counts as unbounded.
RUNAWAY = 3.0
#: The accuracy of a load found by bisection, as a fraction of the range of factors.
HALVED = 1e-9
#: The relative accuracy of a load at which the lowest frequency is zero.
EXACT = 1e-12
#: The kind of a critical load that was not found exactly.
UNRESOLVED = "unresolved"


@dataclass(frozen=True, eq=False, repr=False)
class LoadPath:
    """Equilibria under a growing load; they print as a table.

    factors : (n,) load factors, those requested up to the critical one.
    q : (n, nq) the equilibria.
    omega : (n,) the lowest nonzero natural frequency, rad/s; zero where the equilibrium is unstable.
    growth : (n,) the largest growth rate, 1/s; zero where the equilibrium is stable.
    critical : the load factor at which the equilibrium becomes unstable, or None if it stays stable.
    kind : what happens there: "buckling" (a frequency falls to zero), "flutter" (an oscillation begins to grow),
        "limit point" (there is no equilibrium nearby beyond it), "unresolved" (the search for it was abandoned, and
        `critical` is the last factor of the path), or "" if the equilibrium stays stable.
    shape : (nv,) the direction in which the system buckles or oscillates, v^T M v = 1, or None.
    bracket : the two factors between which the critical one lies, if it is unresolved; otherwise None.
    """

    factors: Array
    q: Array
    omega: Array
    growth: Array
    critical: float | None
    kind: str
    shape: np.ndarray | None
    bracket: tuple[float, float] | None = None

    def __repr__(self):
        lines = [f"{'load factor':>12}  {'lowest Hz':>10}  {'growth 1/s':>10}"]
        for factor, omega, growth in zip(self.factors, self.omega, self.growth):
            grows = f"{growth:10.5g}" if growth > 0.0 else ""
            lines.append(f"{factor:12.6g}  {omega / (2 * np.pi):10.5g}  {grows}".rstrip())
        if self.critical is None:
            lines.append("stable throughout")
        elif self.bracket is not None:
            lines.append("unresolved between {:.8g} and {:.8g}".format(*self.bracket))
        else:
            lines.append(f"{self.kind} at {self.critical:.8g}")
        return "\n".join(lines)

    _repr_html_ = as_text


def follow(
    system: System,
    factors: ArrayLike,
    q: ArrayLike | None = None,
    *,
    tau: ArrayLike | None = None,
    external: External | None = None,
    gravity: bool = False,
    locked: Iterable[str] = (),
) -> LoadPath:
    """Follow equilibria under a load that grows in steps, up to the load at which the system buckles.

    Each step starts at the previous equilibrium.  If the lowest frequency falls to zero between two steps, the critical
    load is found to rounding, and the path ends.  A structure that is not perfectly straight, or is loaded off its
    axis, bends instead of buckling: its frequency passes a minimum and rises again.  Systems may be closed.

    If the search for the critical load is abandoned, a `ModelWarning` says so, and the path up to there is returned
    with the factors between which that load lies.  A `TheoryWarning`, given once for the whole path, names bodies that
    leave the range of their theory.

    Parameters
    ----------
    factors : (n,) load factors in increasing order, such as np.linspace(0, 2, 21).
    q : (nq,) initial guess for the first equilibrium; the neutral configuration by default.
    tau, external : the load for a factor of 1: generalized forces, and wrenches as in `forward_dynamics`.
    gravity : whether the factor also multiplies the gravity of the system; otherwise gravity acts in full throughout.
    locked : names of bodies whose joints do not move.
    """
    problem, start = stated("follow", system, q, None, tau, external, locked, guess=True)
    steps = _checked(factors)
    gravity = flag("gravity", gravity)
    if not (gravity and np.any(system.gravity)) and not np.any(problem.tau) and not external:
        raise ArgumentValueError(
            "there is no load to follow: give tau, external, or gravity=True for a system with gravity."
        )
    load = _Load(problem, gravity)
    rows = [load.first(steps[0], start)]
    critical, kind, shape, bracket = None, "", None, None
    if rows[0].unstable:
        critical, kind, shape = rows[0].factor, rows[0].kind, rows[0].shape
        steps = steps[:1]
    for factor in steps[1:]:
        there, end = load.reached(rows[-1], factor, steps[-1] - steps[0])
        if there.unstable:
            found, bracket = load.crossing(rows[-1], there)
            rows.append(found)
            critical, kind, shape = found.factor, there.kind, found.like(there.shape)
            why = "no equilibrium was found between them"
        elif end:
            rows.append(there)
            critical, kind, shape = there.factor, end, there.shape
            if end == UNRESOLVED:
                bracket = (there.factor, factor)
                why = "bodies deform without bound on the way, as the model does near its buckling load"
        else:
            rows.append(there)
            continue
        break
    if bracket is not None:
        kind = UNRESOLVED
        warn(
            f"the load at which {system.name!r} becomes unstable lies between the factors {bracket[0]:.8g} and "
            f"{bracket[1]:.8g}, but the search for it stopped: {why}. The path ends at the first of them. Give "
            "factors between the two, or divide flexible bodies into several.",
            ModelWarning,
        )
    path = LoadPath(
        np.array([row.factor for row in rows]),
        np.array([row.q for row in rows]),
        np.array([row.omega for row in rows]),
        np.array([row.growth for row in rows]),
        critical,
        kind,
        shape,
        bracket,
    )
    _warn_of_theory(path, rows[int(np.abs(path.factors).argmax())])
    warn_if_singular((row.problem, row.q) for row in rows)
    return path


def _warn_of_theory(path: LoadPath, worst: _State) -> None:
    """Warn once of bodies outside their theory on a path; `worst` has the largest load."""
    problem, q = worst.problem, worst.q
    system = problem.system
    warn_of_axial_loads(system, q, problem.v, problem.loads(q, worst.multipliers))
    when = [f" at the load factor {factor:.6g}" for factor in path.factors]
    tell(x for name in system.bodies if (x := turned(system, name, path.q, when)))
    warn_outside_limits(
        system,
        q,
        f"the equilibrium of {system.name!r} under the largest load",
        "the stops push it back, so its stiffness is that of the stops.",
    )


@dataclass(frozen=True, eq=False)
class _State:
    """An equilibrium on the path, and the matrices of small motion about it."""

    factor: float
    q: Array
    problem: Statics
    multipliers: Array | None
    mass: Array
    matrices: Matrices

    @cached_property
    def solved(self) -> eigen.Solved:
        return self.matrices.solved()

    @property
    def unstable(self) -> bool:
        return bool(self.solved.growth.any())

    @property
    def growth(self) -> float:
        return float(self.solved.growth.max())

    @property
    def omega(self) -> float:
        """The lowest nonzero frequency; zero if the state is unstable."""
        above = self.solved.omega[self.solved.omega > 0.0]
        return 0.0 if self.unstable or not above.size else float(above.min())

    @property
    def kind(self) -> str:
        return "flutter" if self.solved.omega[self.solved.growth.argmax()] > 0.0 else "buckling"

    @cached_property
    def squares(self) -> Array:
        """The squares of the undamped frequencies, for a symmetric stiffness."""
        given = self.matrices
        return eigen.natural(given.M, given.elastic, given.loads, given.uncertain)[1]

    def margin(self, zeros: int) -> float:
        """A number that changes its sign where the state becomes unstable; `zeros` modes have no stiffness anywhere."""
        if self.matrices.follows:
            return self.omega**2 - self.growth**2
        squares = self.squares
        if (squares < 0.0).any():
            return float(squares.min())
        if np.count_nonzero(squares == 0.0) > zeros:
            return 0.0
        return float(squares[squares > 0.0].min(initial=np.inf))

    def like(self, shape: np.ndarray) -> np.ndarray:
        """The shape that is closest to another shape."""
        shapes = self.solved.shapes
        overlap = shapes.conj().T @ self.mass @ shape
        return shapes[:, np.abs(overlap).argmax()]

    @property
    def shape(self) -> np.ndarray:
        """The shape that grows most, or the one with the lowest nonzero frequency."""
        omega, shapes = self.solved.omega, self.solved.shapes
        if self.unstable:
            return shapes[:, self.solved.growth.argmax()]
        return shapes[:, np.where(omega > 0.0, omega, np.inf).argmin()]


class _LostError(Exception):
    """There is no equilibrium where one was expected."""


@dataclass(frozen=True, eq=False)
class _Load:
    """The load that a factor multiplies, and whether the factor also multiplies gravity."""

    full: Statics
    gravity: bool

    def problem(self, factor: float, q: Array) -> Statics:
        """The balance at a factor; q is the start of the search and satisfies the closures."""
        s = self.full.system
        if self.gravity:
            items, closures = tuple(s.attachments.values()), tuple(s.closures.values())
            s = System(s.name, items, factor * np.asarray(s.gravity), s.fidelity, closures)
        external: External = {
            k: factor * np.asarray(x) for k, x in (self.full.external or {}).items()
        }
        found = replace(self.full, system=s, tau=factor * self.full.tau, external=external or None)
        return found.started(q)

    def state(self, factor: float, found: Point, problem: Statics) -> _State:
        """The state at an equilibrium."""
        q, lam = found.q, found.multipliers
        M = mass_matrix(problem.system, q)
        refuse_indefinite(problem.system, q, M)
        return _State(factor, q, problem, lam, M, matrices_at_rest(problem, q, M, lam))

    def first(self, factor: float, q: Array) -> _State:
        """Find the equilibrium from q; raise a `DynamicsError` if there is none."""
        problem = self.problem(factor, q)
        found = settled(problem, q)
        if not found.balanced:
            refuse_unbalanced(problem, found)
        return self.state(factor, found, problem)

    def near(self, here: _State, factor: float) -> _State | None:
        """The state at another factor, if it is close enough for one search to find it."""
        problem = self.problem(factor, here.q)
        found = corrected(problem, here.q, JUMP, here.matrices.slopes)
        return None if found is None else self.state(factor, found, problem)

    def reached(self, start: _State, factor: float, span: float) -> tuple[_State, str]:
        """The state at the factor, or the last one before the path ends, and how it ends there."""
        at, q, part, end = start.factor, start.q, factor - start.factor, ""
        slopes: tuple[Array, Array] | None = start.matrices.slopes
        last: Point | None = None
        while at < factor:
            target = min(at + part, factor)
            found = corrected(self.problem(target, q), q, JUMP, slopes)
            if found is not None:
                at, q, last, slopes = target, found.q, found, None
                part *= 2.0
                if _deformed(self.full.system, start.q, q) > RUNAWAY:
                    end = UNRESOLVED
                    break
            elif part > HALVED * span:
                part *= 0.5
            else:
                end = "limit point"
                break
        return (start if last is None else self.state(at, last, self.problem(at, q))), end

    def crossing(
        self, stable: _State, unstable: _State
    ) -> tuple[_State, tuple[float, float] | None]:
        """Find the state between two others at which the frequency falls to zero, or an oscillation begins to grow.

        If the search fails, this is the last stable state, and the bracket has the factors between which the critical
        one lies.
        """
        from scipy.optimize import brentq  # noqa: PLC0415 (slow to import)

        zeros = 0 if stable.matrices.follows else int(np.count_nonzero(stable.squares == 0.0))
        found = [stable, unstable]

        def margin(factor: float) -> float:
            known = [state for state in found if state.factor == factor]
            if not known:
                nearest = min(found, key=lambda state: abs(state.factor - factor))
                there = self.near(nearest, factor)
                if there is None:
                    there, end = self.reached(stable, factor, factor - stable.factor)
                    if end:
                        raise _LostError
                found.append(there)
                known = [there]
            return known[0].margin(zeros)

        low, high = stable.factor, unstable.factor
        try:
            brentq(margin, low, high, xtol=EXACT * abs(high), rtol=EXACT)
        except _LostError:
            grows = [state for state in found if state.margin(zeros) <= 0.0]
            holds = [state for state in found if state.margin(zeros) > 0.0]
            last = max(holds, key=lambda state: state.factor)
            return last, (last.factor, min(state.factor for state in grows))
        return min(found, key=lambda state: abs(state.margin(zeros))), None


def _deformed(system: System, a: Array, b: Array) -> float:
    """The difference of the deformations of two configurations, in radians and fractions of the system's size."""
    lengths = reach(system)
    return max(
        float(np.abs((b - a)[where.q_modes] / lengths[where.v_modes]).max(initial=0.0))
        for where in system.layout.values()
    )


def _checked(factors: ArrayLike) -> Array:
    """The load factors, increasing."""
    steps = numbers("factors", factors, "(n,)")
    if steps.ndim != 1 or not steps.size or not np.isfinite(steps).all():
        raise ArgumentValueError(
            f"factors must be a list of finite numbers, such as np.linspace(0, 2, 21), got shape {steps.shape}."
        )
    if not (np.diff(steps) > 0.0).all():
        raise ArgumentValueError(
            "factors must be strictly increasing, as in np.linspace(0, 2, 21)."
        )
    return steps
