"""Least-squares problems of identification: residuals and their derivatives with respect to the scaled unknowns z.

z has the unknown numbers of the model, followed by nuisance parameters. The residuals are (model - reading) / standard
deviation of every reading, channel by channel, followed by those of the priors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.errors import LimberError
from limber.identification.unknowns import Sought


@dataclass(frozen=True, eq=False)
class Channel:
    """Readings y (n,) over x (n,), which is time or frequency.

    experiment, label, unit, axis : for tables and pictures; axis is the meaning of x.
    noise, column : the entry of the noise that applies to them.
    plan, there : the number of the experiment, and the rows of it that these readings are.
    """

    experiment: str
    label: str
    unit: str
    axis: str
    noise: str
    column: int
    plan: int
    there: np.ndarray
    x: Array
    y: Array


@dataclass(frozen=True)
class Other:
    """A further unknown, which starts from zero.

    deviation : its standard deviation before the experiment, infinite if nothing is known.
    unit : the change that corresponds to a unit of z.
    """

    name: str
    deviation: float
    unit: float = 1.0


class Problem:
    """A least-squares problem; `noise` has the standard deviation of each column of the readings, by name.

    Subclasses define `_modelled` and `_with_slopes`. Results are cached until z changes, because a search evaluates its
    start and its end again.
    """

    def __init__(
        self,
        system: System,
        unknowns: Sequence[Sought],
        channels: Sequence[Channel],
        noise: dict[str, Array],
        others: Sequence[Other] = (),
    ):
        self.system, self.unknowns, self.channels = system, list(unknowns), list(channels)
        self.noise, self.others = noise, list(others)
        self.readings = sum(len(c.y) for c in self.channels)
        self.size = len(self.unknowns) + len(self.others)
        self.names = [*(one.name for one in self.unknowns), *(one.name for one in self.others)]
        self.refused: tuple[Array, str] | None = (
            None  # the last z with which the model cannot move, and why
        )
        self._kept: dict[Callable[[Array], Any], tuple[bytes, Any]] = {}

    def reweigh(self, z: Array) -> float:
        """Weight the residuals by the model at z, if the weights depend on it; return by which fraction they changed."""
        return 0.0

    def until(self, part: float) -> Problem:
        """The problem with only the first part of each experiment."""
        raise NotImplementedError

    def _modelled(self, z: Array) -> list[Array]:
        raise NotImplementedError

    def _with_slopes(self, z: Array) -> tuple[list[Array], list[Array]]:
        raise NotImplementedError

    def modelled(self, z: Array) -> list[Array]:
        """The modelled readings of each channel."""
        return self._answer(self._modelled, z)

    def slopes(self, z: Array) -> tuple[list[Array], list[Array]]:
        """The modelled readings (n,) of each channel, and their derivatives (n, size) with respect to z."""
        return self._answer(self._with_slopes, z)

    def _answer(self, function: Callable[[Array], Any], z: Array) -> Any:
        key = z.tobytes()
        if function not in self._kept or self._kept[function][0] != key:
            self._kept[function] = key, function(z)
        return self._kept[function][1]

    def find_units(self) -> None:
        """Give numbers that start at zero, and whose size nothing tells, units of their own.

        These change the readings by as much as the model is off at the start, or by as much as the noise if that is more.
        """
        if all(one.sized for one in self.unknowns):
            return
        z = np.zeros(self.size)
        off = self.residuals(z)[: self.readings]
        if not np.isfinite(off).all():
            return  # the search says what is wrong
        effects = np.linalg.norm(self.data_jacobian(z), axis=0)
        wanted = max(float(np.linalg.norm(off)), self.readings**0.5)
        for i, one in enumerate(self.unknowns):
            if not one.sized and effects[i] > 0.0:
                unit = one.unit * wanted / float(effects[i])
                self.unknowns[i] = replace(one, unit=unit, sized=True)
        self._kept.clear()

    # --- the unknowns -----------------------------------------------------------------------------

    @property
    def bounds(self) -> tuple[Array, Array]:
        """The bounds of z."""
        high = np.full(self.size, np.inf)
        low = -high
        for i, one in enumerate(self.unknowns):
            low[i], high[i] = one.range
        return low, high

    def values(self, z: Array) -> list[float]:
        """The unknown numbers of the model."""
        return [one.value(float(x)) for one, x in zip(self.unknowns, z)]

    def by_z(self, z: Array) -> Array:
        """The derivative of each unknown with respect to its z."""
        own = [one.slope(float(x)) for one, x in zip(self.unknowns, z)]
        return np.array([*own, *(one.unit for one in self.others)])

    # --- as SciPy takes it ------------------------------------------------------------------------

    def sigma(self, c: Channel) -> float:
        """The standard deviation of the readings of a channel."""
        return float(self.noise[c.noise][c.column])

    def residuals(self, z: Array) -> Array:
        """All residuals; nan where the model cannot be simulated with these numbers."""
        priors = self._priors(z)[0]
        try:
            values = self.modelled(z)
        except (LimberError, OverflowError) as error:
            self.refused = z.copy(), str(error)
            return np.full(self.readings + len(priors), np.nan)
        parts = [(value - c.y) / self.sigma(c) for value, c in zip(values, self.channels)]
        return np.concatenate([*parts, priors])

    def jacobian(self, z: Array) -> Array:
        """The derivatives of all residuals with respect to z."""
        return np.vstack([self.data_jacobian(z), self.prior_jacobian(z)])

    def data_jacobian(self, z: Array) -> Array:
        """The derivatives of the residuals of readings with respect to z."""
        _, slopes = self.slopes(z)
        parts = [slope / self.sigma(c) for slope, c in zip(slopes, self.channels)]
        return np.vstack([np.zeros((0, self.size)), *parts])

    def prior_jacobian(self, z: Array) -> Array:
        """The derivatives of the residuals of priors with respect to z."""
        return self._priors(z)[1]

    def _priors(self, z: Array) -> tuple[Array, Array]:
        """The residuals of priors and their derivatives."""
        found: list[tuple[float, int, float]] = []
        for i, one in enumerate(self.unknowns):
            if one.prior is not None:
                (mean, deviation), x = one.prior, float(z[i])
                found.append(((one.value(x) - mean) / deviation, i, one.slope(x) / deviation))
        for i, other in enumerate(self.others, len(self.unknowns)):
            if np.isfinite(other.deviation):
                slope = other.unit / other.deviation
                found.append((slope * float(z[i]), i, slope))
        rows = np.zeros((len(found), self.size))
        for row, (_, i, slope) in zip(rows, found):
            row[i] = slope
        return np.array([residual for residual, _, _ in found]), rows
