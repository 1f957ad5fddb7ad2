r"""`regression`: inertias and joint parameters of rigid arms from measured torques, by linear least squares.

Solves    min over b of sum |tau - tau(model) - Y_b (b - b(model))|^2 / noise^2,    b the base parameters
          (`base_parameters`)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, flag, listed, numbers, shown, suggestion
from limber.dynamics import inverse_dynamics
from limber.dynamics.evaluate import External, check_system
from limber.errors import ArgumentTypeError, ArgumentValueError, DynamicsError, ModelWarning, warn
from limber.identification.base_parameters import (
    OF_JOINT,
    Base,
    Number,
    base_of,
    columns,
    numbers_of,
    values_of,
    with_values,
)
from limber.identification.consistent import consistent as made_consistent
from limber.identification.consistent import pseudo_inertia
from limber.identification.information import covariance

#: How often the noise of the torques is estimated: the weights of the joints follow it.
PASSES = 3
#: Torques have rounding errors of this fraction of the largest.
ROUNDING = 1e-12
#: Pseudo-inertias whose least eigenvalue is below minus this fraction of the largest are impossible.
POSSIBLE = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """Base parameters of a rigid system from torques, and a system that has them. It prints as a table.

    names : the base parameters, each a sum of numbers of bodies and joints in words. The numbers of a body are its
        mass, its first moments mx, my, mz (mass times com) and its inertia Ixx, ..., Izz about the origin of its frame.
    values, standard_errors, model : {name: ...}; `model` has the values of the given system.
    covariance : (n, n) of the values.
    combinations : {name: {number: weight}}, the sums.
    unseen : the numbers on which torques do not depend in any motion.
    numbers : {number: value}, one set of numbers with these base parameters. Torques do not determine them
        individually.
    impossible : the bodies whose values in `numbers` belong to no mass distribution.
    residuals : (n, nv), the residuals of the torques.
    noise : (nv,) standard deviations of the torques, as given or as estimated.
    warnings : doubtful results, in words.
    """

    names: tuple[str, ...]
    values: Mapping[str, float]
    standard_errors: Mapping[str, float]
    model: Mapping[str, float]
    covariance: Array
    combinations: Mapping[str, Mapping[str, float]]
    unseen: tuple[str, ...]
    numbers: Mapping[str, float]
    impossible: tuple[str, ...]
    residuals: Array
    noise: Array
    warnings: tuple[str, ...]
    _given: System = field(repr=False)
    _numbers: tuple[Number, ...] = field(repr=False)

    @property
    def system(self) -> System:
        """The system with `numbers`; raises a DynamicsError if some of its bodies are impossible."""
        if self.impossible:
            raise DynamicsError(
                f"no mass distribution has the numbers found for {listed(self.impossible)}: torques determine only sums "
                "of numbers, and the others are taken from the model. Call regression(..., consistent=True), which finds "
                "possible numbers."
            )
        return with_values(self._given, self._numbers, np.array(list(self.numbers.values())))

    def __repr__(self) -> str:
        return f"Regression({self._given.name!r}: {len(self.names)} base parameters; print it for the table)"

    def __str__(self) -> str:
        lines = [
            f"{len(self.names)} base parameters of {len(self.numbers)} numbers of {self._given.name!r} from "
            f"{self.residuals.size} torques",
            f"{'value':>13}{'std. error':>13}{'model':>13}  base parameter",
        ]
        for name in self.names:
            cells = f"{self.values[name]:13.6g}{self.standard_errors[name]:13.3g}{self.model[name]:13.6g}"
            lines.append(f"{cells}  {name}")
        if self.unseen:
            lines.append(f"no effect on torques: {', '.join(self.unseen)}")
        lines.append(f"noise of the torques: {', '.join(f'{x:.3g}' for x in self.noise)}")
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)


def regression(
    system: System,
    q: ArrayLike,
    v: ArrayLike,
    vdot: ArrayLike,
    tau: ArrayLike,
    *,
    bodies: str | Iterable[str] | None = None,
    joints: str | Iterable[str] = ("armature", "damping", "friction"),
    external: External | None = None,
    noise: ArrayLike | None = None,
    consistent: bool = False,
) -> Regression:
    """Estimate inertias and joint parameters of a rigid system from measured motions and torques, by linear least
    squares.

    Inverse dynamics is linear in these numbers, so there is no initial guess and no search: use it as a quick start for
    `lb.identify`. Torques determine only certain sums of numbers, the base parameters, which the result names in words.
    Errors of the torques are treated as white noise. Errors of q, v and vdot, which come from differentiated encoder
    readings, are not accounted for, so vdot should be filtered, and the standard errors are lower bounds.

    Parameters
    ----------
    system : an open system of rigid bodies. Numbers that are not estimated keep its values.
    q, v, vdot, tau : (n, nq), (n, nv), (n, nv), (n, nv), measured at n times.
    bodies : names of the bodies whose inertias are estimated; all by default.
    joints : which joint parameters to estimate, of armature, damping, friction and stiffness, in all joints that were
        made with them, even if they are zero.
    external : {("body", node): (n, 6)}, measured wrenches, as for `lb.inverse_dynamics`.
    noise : standard deviation of the torques, one number or (nv,); by default estimated from the residuals.
    consistent : whether the result must be physically possible: bodies with positive mass and an inertia that some mass
        distribution has, and joint parameters that are not negative. Numbers that torques do not determine stay near
        those of the system. Otherwise, the numbers that do not lead a base parameter keep the values of the system.

    A ModelWarning names base parameters that the motion did not excite, and impossible bodies.
    """
    check_system(system)
    _refuse(system)
    sought = numbers_of(system, _bodies(system, bodies), _joints(joints))
    if not sought:
        raise ArgumentValueError(
            "regression: there is nothing to estimate. Name bodies, or in joints=... numbers that the joints were "
            "created with."
        )
    n = np.shape(q)[0] if np.ndim(q) == 2 else "n"
    q_ = array("q", q, (n, system.nq))
    v_, vdot_, tau_ = (
        array(name, x, (len(q_), system.nv)) for name, x in (("v", v), ("vdot", vdot), ("tau", tau))
    )
    base = base_of(system, sought)
    Y = columns(system, sought, q_, v_, vdot_, external)[..., base.chosen]
    unexplained = tau_ - inverse_dynamics(system, q_, v_, vdot_, external=external)
    if unexplained.size < len(base.chosen):
        raise ArgumentValueError(
            f"{unexplained.size} torques cannot determine {len(base.chosen)} base parameters: give more states."
        )
    least = ROUNDING * max(float(np.abs(tau_).max()), 1e-300)
    change, rest, sigma, J = _solved(Y, unexplained, _noise(system, noise), least)
    start = values_of(system, sought)
    values = start.copy()
    values[base.chosen] += change
    if flag("consistent", consistent):
        R: Array = np.asarray(np.linalg.qr(J, mode="r"), dtype=float)
        own = [
            one
            for one in system.bodies
            if any(x.body == one and x.parameter is None for x in sought)
        ]
        values = made_consistent(base, R, base.W @ start + change, start, own)
        change = base.W @ (values - start)
        rest = unexplained - Y @ change
    impossible = _impossible(sought, values)
    C = covariance(J)
    words, now = base.words, base.W @ start + change
    told = tuple(_doubts(words, C, impossible))
    for text in told:
        warn(f"regression: {text}", ModelWarning)
    errors = np.sqrt(np.diag(C))
    return Regression(
        tuple(words), dict(zip(words, now.tolist())), dict(zip(words, errors.tolist())),
        dict(zip(words, (base.W @ start).tolist())), C, _sums(base), base.unseen,
        {one.name: float(x) for one, x in zip(sought, values)}, impossible, rest, sigma, told, system, tuple(sought),
    )  # fmt: skip


def _refuse(system: System) -> None:
    flexible = [name for name, body in system.bodies.items() if body.modes]
    if flexible:
        raise ArgumentValueError(
            f"regression is for rigid bodies, but {listed(flexible)} of {system.name!r} are flexible and their modes are "
            "not measured. Give the arm with rigid links, or use lb.identify."
        )
    if system.closures:
        raise ArgumentValueError(
            f"regression is for open systems, but {system.name!r} has closures: {', '.join(system.closures)}."
        )


def _bodies(system: System, given: Any) -> list[str]:
    if given is None:
        return list(system.bodies)
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        system.number(name, "bodies")
    return [name for name in system.bodies if name in names]


def _joints(given: Any) -> list[str]:
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in OF_JOINT:
            raise ArgumentValueError(
                f"joints: {shown(name)} is not one of {', '.join(OF_JOINT)}.{suggestion(str(name), OF_JOINT)}"
            )
    return names


def _noise(system: System, given: Any) -> Array | None:
    if given is None:
        return None
    x = numbers("noise", given, f"() or ({system.nv},)")
    if x.shape not in ((), (system.nv,)) or not (x > 0.0).all():
        raise ArgumentTypeError(
            f"noise must be one standard deviation greater than 0, or {system.nv}, got {shown(given)}."
        )
    return np.broadcast_to(x, (system.nv,)).astype(float)


def _solved(
    Y: Array, y: Array, known: Array | None, least: float
) -> tuple[Array, Array, Array, Array]:
    """The best change of the base parameters, the residuals, the noise (nv,) and the weighted columns.

    least : the smallest noise, which exact torques have from rounding.
    """
    nv, count = Y.shape[1:]
    sigma = np.ones(nv) if known is None else known
    for _ in range(PASSES if known is None else 1):
        J = (Y / sigma[:, None]).reshape(-1, count)
        unit = np.linalg.norm(J, axis=0)
        unit[unit == 0.0] = 1.0
        change = np.linalg.lstsq(J / unit, (y / sigma).ravel(), rcond=None)[0] / unit
        rest = y - Y @ change
        if known is None:
            # each unknown takes its share of the residuals of each joint
            Q = np.linalg.qr(J / unit)[0]
            left = 1.0 - np.square(Q).sum(axis=1).reshape(y.shape).mean(axis=0)
            variance = np.square(rest).mean(axis=0) / np.maximum(left, 1.0 / len(y))
            sigma = np.maximum(np.sqrt(variance), least)
    return change, rest, sigma, (Y / sigma[:, None]).reshape(-1, count)


def _impossible(sought: list[Number], values: Array) -> tuple[str, ...]:
    """The bodies whose ten numbers belong to no mass distribution."""
    found: dict[str, Array] = {}
    for one, x in zip(sought, values):
        if one.parameter is None:
            found.setdefault(one.body, np.zeros(10))[one.place] = x
    bad = []
    for body, p in found.items():
        eigenvalues = np.linalg.eigvalsh(pseudo_inertia(p))
        if eigenvalues[0] < -POSSIBLE * np.abs(eigenvalues).max() or p[0] < 0.0:
            bad.append(body)
    return tuple(bad)


def _sums(base: Base) -> dict[str, dict[str, float]]:
    return {
        name: {base.numbers[j].name: float(row[j]) for j in np.flatnonzero(row).tolist()}
        for name, row in zip(base.words, base.W)
    }


def _doubts(words: list[str], C: Array, impossible: tuple[str, ...]) -> list[str]:
    found = []
    dark = [name for name, x in zip(words, np.diag(C)) if not np.isfinite(x)]
    if dark:
        found.append(
            f"the motion does not determine {'; '.join(dark)}: move the joints differently (lb.identification.excitation)."
        )
    if impossible:
        found.append(
            f"no mass distribution has the numbers of {listed(impossible)}: use consistent=True to find possible numbers."
        )
    return found
