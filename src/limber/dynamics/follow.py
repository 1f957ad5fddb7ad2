"""Following a load in steps: equilibria, their lowest frequency, and the load at which they become unstable."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, flag, numbers
from limber.dynamics.equilibrium import apart, equilibrium, settled, stated
from limber.dynamics.evaluate import External
from limber.dynamics.inverse import mass_matrix
from limber.dynamics.modes import Modes, modes
from limber.errors import ArgumentValueError

#: A change of a coordinate by more than this, in radians and parts of the system's size, is no step along a path.
JUMP = 0.3
#: A load that is found by halving is exact to this part of the range of factors.
HALVED = 1e-9
#: A load at which the lowest frequency is zero is exact to this part of itself.
EXACT = 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class LoadPath:
    """Equilibria under a growing load; they print as a table.

    factors : (n,) load factors, those that were asked for up to the critical one.
    q : (n, nq) the equilibria.
    omega : (n,) the lowest natural frequency that is not zero, rad/s; zero where the equilibrium is unstable.
    growth : (n,) the largest growth rate, 1/s; zero where the equilibrium is stable.
    critical : the load factor at which the equilibrium becomes unstable, or None if it stays stable.
    kind : what happens there: "buckling" (a frequency falls to zero), "flutter" (an oscillation begins to grow),
        "limit point" (there is no equilibrium nearby beyond it), or "" if it stays stable.
    shape : (nv,) the direction in which it buckles or swings, v^T M v = 1, or None.
    """

    factors: Array
    q: Array
    omega: Array
    growth: Array
    critical: float | None
    kind: str
    shape: np.ndarray | None

    def __repr__(self):
        lines = [f"{'load factor':>12}  {'lowest Hz':>10}  {'growth 1/s':>10}"]
        for factor, omega, growth in zip(self.factors, self.omega, self.growth):
            grows = f"{growth:10.5g}" if growth > 0.0 else ""
            lines.append(f"{factor:12.6g}  {omega / (2 * np.pi):10.5g}  {grows}".rstrip())
        if self.critical is None:
            lines.append("stable throughout")
        else:
            lines.append(f"{self.kind} at {self.critical:.8g}")
        return "\n".join(lines)


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
    """Follow equilibria under a load that grows in steps, to the load at which the system buckles.

    Each step starts at the equilibrium before it.  Where the lowest frequency falls to zero between two steps, the
    load is found to rounding, and the path ends.  A structure that is not perfectly straight, or loaded off its axis,
    bends instead of buckling: its frequency passes a minimum and rises again.  Systems may be closed.

    Parameters
    ----------
    factors : (n,) load factors in increasing order, as in np.linspace(0, 2, 21).
    q : (nq,) where the search for the first equilibrium starts; the neutral configuration unless given.
    tau, external : the load for a factor of 1: generalized forces, and wrenches as in `forward_dynamics`.
    gravity : whether the factor multiplies the gravity of the system as well; otherwise it acts in full throughout.
    locked : names of bodies whose joints do not move.
    """
    problem, start = stated("follow", system, q, None, tau, external, locked, guess=True)
    held = list(locked)
    steps = _checked(factors)
    gravity = flag("gravity", gravity)
    if not (gravity and np.any(system.gravity)) and not np.any(problem.tau) and not external:
        raise ArgumentValueError(
            "there is no load to follow: give tau or external, or gravity=True for a system with gravity."
        )
    load = _Load(system, problem.tau, external, gravity, held)
    rows = [load.state(steps[0], start)]
    critical, kind, shape = None, "", None
    if rows[0].unstable:
        critical, kind, shape = rows[0].factor, rows[0].kind, rows[0].shape
        steps = steps[:1]
    for factor in steps[1:]:
        there = load.reached(rows[-1], factor, steps[-1] - steps[0])
        if there.factor < factor:  # the path ends
            rows.append(there)
            critical, kind, shape = there.factor, "limit point", there.shape
            break
        if there.unstable:
            rows.append(load.crossing(rows[-1], there))
            critical, kind, shape = rows[-1].factor, there.kind, rows[-1].like(there.shape)
            break
        rows.append(there)
    return LoadPath(
        np.array([row.factor for row in rows]),
        np.array([row.q for row in rows]),
        np.array([row.omega for row in rows]),
        np.array([row.growth for row in rows]),
        critical,
        kind,
        shape,
    )


class _State(NamedTuple):
    """An equilibrium on the path and its modes."""

    factor: float
    q: Array
    modes: Modes
    mass: Array

    @property
    def unstable(self) -> bool:
        return bool(self.modes.growth.any())

    @property
    def growth(self) -> float:
        return float(self.modes.growth.max())

    @property
    def omega(self) -> float:
        """The lowest frequency that is not zero; zero if the state is unstable."""
        above = self.modes.omega[self.modes.omega > 0.0]
        return 0.0 if self.unstable or not above.size else float(above[0])

    @property
    def square(self) -> float:
        """omega^2, or -growth^2: it changes its sign where the state becomes unstable."""
        return self.omega**2 - self.growth**2

    @property
    def kind(self) -> str:
        return "flutter" if self.modes.omega[self.modes.growth.argmax()] > 0.0 else "buckling"

    def like(self, shape: np.ndarray) -> np.ndarray:
        """The one of its shapes that is nearest to another shape."""
        overlap = self.modes.shapes.conj().T @ self.mass @ shape
        return self.modes.shapes[:, np.abs(overlap).argmax()]

    @property
    def shape(self) -> np.ndarray:
        """The shape that grows most, or the lowest that is not of frequency zero."""
        if self.unstable:
            return self.modes.shapes[:, self.modes.growth.argmax()]
        return self.modes.shapes[:, int(np.argmax(self.modes.omega > 0.0))]


@dataclass(frozen=True, eq=False)
class _Load:
    """A system and the load that a factor multiplies."""

    system: System
    tau: Array
    external: External | None
    gravity: bool
    locked: list[str]

    def _at(self, factor: float) -> tuple[System, dict[str, Any]]:
        """The system and the load at a factor."""
        s = self.system
        if self.gravity:
            items = tuple(s.attachments.values())
            closures = tuple(s.closures.values())
            s = System(s.name, items, factor * np.asarray(s.gravity), s.fidelity, closures)
        external = {k: factor * np.asarray(x) for k, x in (self.external or {}).items()} or None
        return s, {"tau": factor * self.tau, "external": external, "locked": self.locked}

    def state(self, factor: float, q: Array) -> _State:
        """The equilibrium that is found from q; a `DynamicsError` says that there is none."""
        s, load = self._at(factor)
        q = equilibrium(s, q, **load)
        return _State(factor, q, modes(s, q, **load), mass_matrix(s, q))

    def reached(self, here: _State, factor: float, span: float) -> _State:
        """The state at the factor, or the last one before the path ends."""
        part = factor - here.factor
        while here.factor < factor:
            target = min(here.factor + part, factor)
            s, load = self._at(target)
            problem, q = stated("follow", s, here.q, None, **load, guess=True)
            there = settled(problem, q, farthest=JUMP)
            if there.balanced and apart(s, here.q, there.q) <= JUMP:
                found = modes(s, there.q, **load)
                here = _State(target, there.q, found, mass_matrix(s, there.q))
                part *= 2.0
            elif part > HALVED * span:
                part *= 0.5
            else:
                break
        return here

    def crossing(self, stable: _State, unstable: _State) -> _State:
        """The state at which the frequency falls to zero, or an oscillation begins to grow, between two."""
        from scipy.optimize import brentq  # noqa: PLC0415 (slow to import)

        found = [stable]

        def square(factor: float) -> float:
            found.append(self.state(factor, stable.q))
            return found[-1].square

        brentq(
            square, stable.factor, unstable.factor, xtol=EXACT * abs(unstable.factor), rtol=EXACT
        )
        return min(found[1:], key=lambda state: abs(state.square))


def _checked(factors: ArrayLike) -> Array:
    """The load factors, increasing."""
    steps = numbers("factors", factors, "(n,)")
    if steps.ndim != 1 or not steps.size or not np.isfinite(steps).all():
        raise ArgumentValueError(
            f"factors must be a list of finite numbers, as np.linspace(0, 2, 21), got shape {steps.shape}."
        )
    if not (np.diff(steps) > 0.0).all():
        raise ArgumentValueError("factors must increase strictly, as in np.linspace(0, 2, 21).")
    return steps
