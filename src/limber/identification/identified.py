"""The result of an identification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.identification.information import Combination

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Residuals:
    """The readings of one number of a sensor in one experiment, and the corresponding readings of the model.

    axis : the meaning of `t`: time, or frequency.
    t, measured, modelled : (n,), for the readings that exist.
    deviation : the standard deviation of one reading.
    white : the probability that white noise is at least as correlated as the residuals.
    """

    experiment: str
    label: str
    unit: str
    axis: str
    t: Array
    measured: Array
    modelled: Array
    deviation: float
    white: float

    @property
    def residuals(self) -> Array:
        """Measured minus modelled."""
        return self.measured - self.modelled

    @property
    def normalized(self) -> Array:
        """The residuals in standard deviations."""
        return self.residuals / self.deviation

    def __repr__(self) -> str:
        return f"Residuals({self.experiment!r}, {self.label!r}, {len(self.t)} readings)"


@dataclass(frozen=True, eq=False, repr=False)
class Identified:
    """Identified parameters, their uncertainty, and the residuals. It prints as a table.

    system : with the identified parameters.
    names : of the unknown numbers of the model.
    values, standard_errors, bounds, starts : {name: ...}; bounds are the 95 % bounds.
    covariance, information : (n, n), in the order of `names`: the covariance of the values, including priors, and the
        Fisher information of the readings alone, with unknown initial states and biases estimated too.
    nuisance : {name: (value, standard error)}, unknown initial states and biases.
    combinations : the combinations of the numbers that the readings determine, the best known first.
    residuals : one for each number of a sensor in each experiment.
    noise : {name of a sensor: standard deviation of each of its numbers}, as given or as estimated.
    estimated_noise : the sensors whose noise was estimated.
    chi_square, freedom : the sum of the squares of all normalized residuals, and its expected value.
    warnings : doubtful results, in words.
    message, evaluations, seconds : how the search ended, and its cost.
    """

    system: System
    names: tuple[str, ...]
    values: Mapping[str, float]
    standard_errors: Mapping[str, float]
    bounds: Mapping[str, tuple[float, float]]
    starts: Mapping[str, float]
    covariance: Array
    information: Array
    nuisance: Mapping[str, tuple[float, float]]
    combinations: tuple[Combination, ...]
    residuals: tuple[Residuals, ...]
    noise: Mapping[str, Array]
    estimated_noise: tuple[str, ...]
    chi_square: float
    freedom: int
    warnings: tuple[str, ...]
    message: str
    evaluations: int
    seconds: float

    @property
    def correlation(self) -> Array:
        """(n, n): the correlations of the values."""
        deviations = np.sqrt(np.diag(self.covariance))
        return self.covariance / np.outer(deviations, deviations)

    @property
    def identifiable(self) -> bool:
        """Whether the readings determine every combination of the numbers."""
        return all(one.known for one in self.combinations)

    def plot(self, *, width: float | None = None, path: Any = None) -> Figure:
        """Plot the residuals over time, their distribution and their autocorrelation, one row for each number of a
        sensor.

        Parameters
        ----------
        width : inches; by default that of a page.
        path : also write the figure to this file, .png, .svg or .pdf.
        """
        from limber.identification.plots import plot_residuals  # noqa: PLC0415 (Matplotlib is slow to import)

        return plot_residuals(self, width, path)

    def plot_fit(self, *, width: float | None = None, path: Any = None) -> Figure:
        """Plot the measured and modelled readings over time, one panel for each number of a sensor.

        Parameters
        ----------
        width : inches; by default that of a page.
        path : also write the figure to this file, .png, .svg or .pdf.
        """
        from limber.identification.plots import plot_fit  # noqa: PLC0415

        return plot_fit(self, width, path)

    def __repr__(self) -> str:
        values = ", ".join(f"{name} = {x:.6g}" for name, x in self.values.items())
        return f"Identified({self.system.name!r}: {values}; print it for the table)"

    def __str__(self) -> str:
        width = max(map(len, ("parameter", *self.names, *self.nuisance)))
        heads = ("value", "std. error", "in %", "95 % from", "to", "start")
        count = sum(len(r.t) for r in self.residuals)
        lines = [
            f"{len(self.names)} parameters of {self.system.name!r} from {count} readings; "
            f"{self.evaluations} evaluations, {self.seconds:.2g} s",
            f"{'parameter':{width}}" + "".join(f"{head:>13}" for head in heads),
        ]
        for name in self.names:
            value, error = self.values[name], self.standard_errors[name]
            part = 100.0 * error / abs(value) if value else np.inf
            low, high = self.bounds[name]
            cells = f"{value:13.6g}{error:13.3g}{part:13.2g}{low:13.6g}{high:13.6g}{self.starts[name]:13.6g}"
            lines.append(f"{name:{width}}{cells}")
        for name, (value, error) in self.nuisance.items():
            lines.append(f"{name:{width}}{value:13.6g}{error:13.3g}")
        lines.append("what the readings determine, in relative changes:")
        lines += [f"  {one}" for one in self.combinations]
        ratio = self.chi_square / max(self.freedom, 1)
        lines.append(f"residuals: {np.sqrt(ratio):.3g} times the noise (rms)")
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)
