"""The solution of a least-squares problem of identification, and its diagnostics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import least_squares
from scipy.stats import chi2, norm
from scipy.stats import t as student

from limber.checks import Array, listed
from limber.errors import ArgumentValueError, DynamicsError, ModelWarning, collected_warnings, warn
from limber.identification.continuation import HELD, Searched, automatic
from limber.identification.identified import Identified, Residuals
from limber.identification.information import combinations, covariance, unseen, without
from limber.identification.least_squares import Problem
from limber.identification.unknowns import Sought, with_numbers
from limber.identification.whiteness import probability_of_white

#: The confidence of bounds.
CONFIDENCE = 0.95
#: Estimated noise and weights that depend on the model are settled if they change by no more than this fraction; at most this
#: many times are they found again.
SETTLED, PASSES = 0.01, 10
#: Residuals count as coloured, or as too large or too small, if noise had them with a lower probability than this.
DOUBT = 1e-4
#: Residuals below this fraction of the noise are rounding errors of readings without noise.
UNSEEN = 1e-2
#: If residuals are larger than this many times the noise, the search may have ended at a wrong minimum.
ASTRAY = 10.0
#: Numbers below this fraction of what they were at the start are near zero.
SMALL = 1e-2
#: The search for starts and biases alone, which comes first, ends if cost or unknowns change by no more than this
#: fraction.
ROUGH = 1e-3
#: A search that ends this close to values that are impossible for the model was stopped by them.
BESIDE = 1e-4
#: The search ends if cost or unknowns change by no more than this fraction.
PRECISION = 1e-8


def solved(
    problem: Problem,
    estimated: tuple[str, ...],
    parts: Sequence[float] | None,
    most: int,
    started: float,
    owner: str,
) -> Identified:
    """Solve a problem, and warn of doubtful results.

    Parameters
    ----------
    estimated : the sensors whose noise is estimated from the residuals.
    parts : fractions of the experiments, fitted in sequence; None for all at once and, if the fit is poor, a growing part.
    most : largest number of evaluations in one search.
    started : the clock time at the start.
    owner : the caller, for warnings.
    """
    if problem.readings < problem.size:
        raise ArgumentValueError(
            f"{problem.readings} readings cannot determine {problem.size} unknowns: {listed(problem.names)}."
        )
    with collected_warnings() as told:
        for name in estimated:  # until it is, each sensor counts by the size of its signal
            problem.noise[name] = _signal(problem, name)
        problem.find_units()

        def search(shorter: Problem, z: Array, deviation: float, count: int) -> Searched:
            return _searched(shorter, z, estimated, count, deviation)

        if parts is None:
            done = automatic(problem, estimated, most, search)
            evaluations = done.evaluations
        else:
            z, evaluations = np.zeros(problem.size), 0
            for part in parts:
                shorter = problem.until(part)
                if shorter.readings >= problem.size:
                    done = search(shorter, z, np.inf if part == 1.0 else HELD, most)
                    z, evaluations = done.z, evaluations + done.evaluations
        told.clear()
        found = _found(problem, done.z, done.search, evaluations, estimated, started)
    for one in {str(one): one for one in told}.values():
        warn(one)
    for text in found.warnings:
        warn(f"{owner}: {text}", ModelWarning)
    return found


def _searched(
    problem: Problem, z: Array, estimated: Sequence[str], most: int, deviation: float
) -> Searched:
    """The result of a search from z.

    deviation : how far the unknowns of the model are from their starts, as the standard deviation of z; infinite if nothing
        is known. It keeps those near their starts about which the data say nothing.
    """
    n = len(problem.unknowns)
    held = np.eye(problem.size)[:n] / deviation if np.isfinite(deviation) else np.zeros((0, problem.size))  # fmt: skip
    still = np.zeros(problem.size)
    for name in estimated:  # in the first search, each sensor counts by the size of its signal
        problem.noise[name] = _signal(problem, name)
    z, evaluations = _others_first(problem, z, most)
    for _ in range(PASSES):
        _refuse_bad_start(problem, z)
        # the first step of the search may be as large as its variables, so these are 1 + z
        low, high = problem.bounds
        search = least_squares(
            lambda x: np.concatenate([problem.residuals(x - 1.0), held @ (x - 1.0), still]), 1.0 + z,
            lambda x: _determined(np.vstack([problem.jacobian(x - 1.0), held])), (1.0 + low, 1.0 + high),
            x_scale="jac", ftol=PRECISION, xtol=PRECISION, gtol=PRECISION, max_nfev=most,
        )  # fmt: skip
        z, evaluations = search.x - 1.0, evaluations + search.nfev + search.njev
        changed = problem.reweigh(z)
        for name in estimated:
            level = _estimated(problem, search.fun, name)
            changed = max(changed, float(np.abs(level / problem.noise[name] - 1.0).max()))
            problem.noise[name] = level
        if changed <= SETTLED:
            break
    return Searched(z, search, evaluations, dict(problem.noise))


def _others_first(problem: Problem, z: Array, most: int) -> tuple[Array, int]:
    """z with the best initial states and biases for its parameters, and the number of evaluations of the model.

    Nothing is known about these, so a search of everything at once would move the parameters far to compensate for
    them.
    """
    n = len(problem.unknowns)
    if not problem.others:
        return z, 0
    _refuse_bad_start(problem, z)

    still = np.zeros(len(problem.others))

    def whole(x: Array) -> Array:
        return np.concatenate([z[:n], x - 1.0])

    search = least_squares(
        lambda x: np.append(problem.residuals(whole(x)), still), 1.0 + z[n:],
        lambda x: _determined(problem.jacobian(whole(x))[:, n:]),
        x_scale="jac", ftol=ROUGH, xtol=ROUGH, gtol=ROUGH, max_nfev=most,
    )  # fmt: skip
    return whole(search.x), search.nfev + search.njev


def _determined(J: Array) -> Array:
    """J with a row for each unknown, so that combinations which change no residual stay as they are in each step.

    A step of least squares may otherwise be of any length along them.
    """
    nowhere, unit = unseen(J)
    rows = np.zeros((J.shape[1], J.shape[1]))
    rows[: len(nowhere)] = nowhere * unit
    return np.vstack([J, rows])


def _refuse_bad_start(problem: Problem, z: Array) -> None:
    """Raise an error that says why the model cannot be simulated with the initial guess."""
    if not np.isfinite(problem.residuals(z)).all():
        problem.modelled(z)  # raises what is wrong
        raise DynamicsError("identify: the model gives readings that are not finite at the start of the search.")  # fmt: skip


def _columns(problem: Problem, name: str) -> dict[int, list[int]]:
    """The channels of a sensor by its numbers."""
    found: dict[int, list[int]] = {}
    for k, c in enumerate(problem.channels):
        if c.noise == name:
            found.setdefault(c.column, []).append(k)
    return found


def _signal(problem: Problem, name: str) -> Array:
    """The magnitudes of the signals of a sensor; one for numbers without any."""
    level = np.ones(len(problem.noise[name]))
    for column, channels in _columns(problem, name).items():
        y = np.concatenate([problem.channels[k].y for k in channels])
        level[column] = float(y.std()) or 1.0
    return level


def _estimated(problem: Problem, residuals: Array, name: str) -> Array:
    """The noise of a sensor from its residuals, corrected for the number of unknowns."""
    ends = np.cumsum([len(c.y) for c in problem.channels])
    level = problem.noise[name].copy()
    share = 1.0 - problem.size / problem.readings
    for column, channels in _columns(problem, name).items():
        parts = [residuals[ends[k] - len(problem.channels[k].y) : ends[k]] for k in channels]
        rest = np.concatenate(parts) * level[column]
        size = float(np.sqrt((rest @ rest) / max(len(rest) * share, 1.0)))
        # data without any noise: the simulation's own errors remain
        floor = 1e-9 * max(float(np.abs(problem.channels[k].y).max(initial=0.0)) for k in channels)
        level[column] = max(size, floor, 1e-300)
    return level


# --- what was found -------------------------------------------------------------------------------


def _found(
    problem: Problem,
    z: Array,
    search: Any,
    evaluations: int,
    estimated: tuple[str, ...],
    started: float,
) -> Identified:
    unknowns, n = problem.unknowns, len(problem.unknowns)
    values, slopes = problem.slopes(z)
    weighted = [slope / problem.sigma(c) for slope, c in zip(slopes, problem.channels)]
    data = np.vstack(weighted)
    C = covariance(np.vstack([data, problem.prior_jacobian(z)]))
    alone = without(data[:, :n], data[:, n:])
    names = tuple(one.name for one in unknowns)
    rows = tuple(
        Residuals(
            c.experiment, c.label, c.unit, c.axis, c.x, c.y, value, problem.sigma(c),
            probability_of_white((c.y - value) / problem.sigma(c)),
        )
        for value, c in zip(values, problem.channels)
    )  # fmt: skip
    chi_square = float(sum(r.normalized @ r.normalized for r in rows))
    freedom = problem.readings - problem.size
    by_z = problem.by_z(z)
    errors = np.sqrt(np.diag(C))
    reach = norm.ppf(0.5 + CONFIDENCE / 2.0)
    if estimated:
        reach = student.ppf(0.5 + CONFIDENCE / 2.0, max(freedom, 1))
    with np.errstate(invalid="ignore", over="ignore"):
        bounds = {
            one.name: (_value(one, z[i] - reach * errors[i]), _value(one, z[i] + reach * errors[i]))
            for i, one in enumerate(unknowns)
        }
        physical = C * np.outer(by_z, by_z)
    found = dict(zip(names, problem.values(z)))
    told = combinations(alone * _relative(problem, z), names)
    scaled = alone / by_z[:n]
    return Identified(
        with_numbers(problem.system, unknowns, found.values()),
        names, found, dict(zip(names, np.sqrt(np.diag(physical))[:n].tolist())), bounds,
        {one.name: one.start for one in unknowns},
        physical[:n, :n], scaled.T @ scaled,
        {
            name: (float(by_z[i] * z[i]), float(by_z[i] * errors[i]))
            for i, name in enumerate(problem.names[n:], n)
        },
        told, rows, dict(problem.noise), estimated, chi_square, freedom,
        tuple(_doubts(problem, search, told, rows, estimated, chi_square, freedom)),
        str(search.message), evaluations, time.perf_counter() - started,
    )  # fmt: skip


def _relative(problem: Problem, z: Array) -> Array:
    """The change of z for a change of each number by its full value; one for numbers near zero."""
    found = np.ones(len(problem.unknowns))
    for i, (one, value) in enumerate(zip(problem.unknowns, problem.values(z))):
        if not one.log and abs(value) > SMALL * one.unit:
            found[i] = abs(value) / one.unit
    return found


def _value(one: Sought, z: float) -> float:
    try:
        return one.value(float(z))
    except OverflowError:
        return np.inf


def _doubts(
    problem: Problem,
    search: Any,
    told: Sequence[Any],
    rows: Sequence[Residuals],
    estimated: Sequence[str],
    chi_square: float,
    freedom: int,
) -> list[str]:
    """Doubtful results, in words."""
    found = []
    if search.status == 0:
        found.append(
            f"the search did not converge within {search.nfev} evaluations, so the values are not the best ones. Give "
            "better starts or a larger max_evaluations."
        )
    if problem.refused is not None:
        z, why = problem.refused
        if np.abs(search.x - 1.0 - z).max() < BESIDE:
            found.append(
                "the search ended next to values that are impossible for the model, so the result may not be the best "
                f"one: {why} Give other starts, or fix some of the parameters."
            )
    for one in told:
        if not one.known:
            size = "at all" if not np.isfinite(one.standard_error) else f"better than to {100.0 * one.standard_error:.2g} %"  # fmt: skip
            found.append(
                f"the readings do not determine {one.words} {size}: several values fit them equally well. Fix one of these "
                "parameters, give it a prior, or measure more (lb.identification.excitation, place_sensors)."
            )
    for one, active in zip(problem.unknowns, search.active_mask):
        if active:
            bound = one.low if active < 0 else one.high
            found.append(
                f"{one.name} is at its bound, {bound:g}: its standard error is meaningless there, and the model or the "
                "bound may be wrong."
            )
    seen = [r for r in rows if float(np.mean(r.normalized**2)) > UNSEEN**2]
    coloured = [r for r in seen if r.white < DOUBT / len(rows)]
    if coloured:
        which = listed(f"{r.label} in {r.experiment}" for r in coloured)
        found.append(
            f"residuals are not white: {which}. The model leaves something out, or the noise is correlated; the standard "
            "errors are then too small. Look at result.plot()."
        )
    if not estimated and freedom > 0:
        ratio = np.sqrt(chi_square / freedom)
        if min(chi2.sf(chi_square, freedom), chi2.cdf(chi_square, freedom)) < DOUBT:
            astray = (
                "The search may also have ended far from the best values: identification.regression gives better values to start "
                "from, and windows=(0.05, 0.1, 0.2, 0.5, 1.0) fits these parts of the data in sequence. "
            )
            found.append(
                f"residuals are {ratio:.3g} times as large as the noise of the sensors implies: the noise is not what was "
                f"assumed, or the model leaves something out. {astray if ratio > ASTRAY else ''}The standard errors "
                "assume the noise of the sensors."
            )
    return found
