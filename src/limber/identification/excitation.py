r"""Optimal excitation: joint motions, as finite Fourier series, that determine parameters best.

    theta(t) = theta_0 + sum_k a_k (sin k w t) + b_k (1 - cos k w t),    w = 2 pi / duration

with theta' = theta'' = 0 at the start (Swevers, Ganseman et al., 1997, without this condition).
Solves    max over a, b of log det F ("D") or -log trace F^-1 ("A"), F the exact Fisher information of the sensors'
          readings, within limits of position, speed and acceleration, which hold at all times, and of torque, which the
          search enforces at the times of the readings; motions that exceed it in between are scaled down
How       SciPy's SLSQP; F is exact, and its derivatives with respect to the coefficients are differences
Cost      an iteration takes one evaluation of the derivatives of all readings for each coefficient
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from limber.assembly.system import System
from limber.checks import Array, array, number, shown, whole
from limber.control.joints import joint_places
from limber.control.sensors.base import Sensor, checked_seed
from limber.dynamics.closed import refuse_closures
from limber.dynamics.evaluate import check_system
from limber.errors import ArgumentTypeError, ArgumentValueError, collected_warnings, warn
from limber.identification.expected import Expected, described, slopes_of_readings
from limber.identification.experiment import Experiment, prepared
from limber.identification.information import without
from limber.identification.placement import score_of
from limber.identification.sensitivity import balanced, simulated
from limber.trajectories import Trajectory
from limber.trajectories.pieces import piece
from limber.trajectories.quintic import quintic_coefficients

#: Points of each period of the highest harmonic at which limits are checked, and the part of the limits that series keep there if
#: they keep all of them in between.
GRID = 24
HELD = float(np.cos(np.pi / GRID))
#: Points for each reading, or each harmonic if these are more, at which torques are checked.
BETWEEN = 10
#: Pieces of a path in each period of the highest harmonic.
PIECES = 24
#: The step of differences, as a fraction of the coefficients that reach a limit.
STEP = 1e-4
#: The first motion has this fraction of what limits allow.
FIRST = 0.9
#: A motion with too large a torque is scaled down up to this many times, in proportion to it, at least by this factor.
SHORTENED, SHORTER = 20, 1.01
#: The quantities that may be limited.
LIMITS = ("position", "speed", "acceleration", "torque")


class FourierPath(Trajectory):
    """The motion of one joint along a Fourier series; it ends in the state in which it starts.

    Parameters
    ----------
    start : the position at t = 0.
    sine, cosine : (harmonics,) coefficients a and b.
    duration : of the period, s.

    Position, velocity and acceleration are those of the series at the points of a fine grid; in between, the path is a
    polynomial of degree five. The position error is less than 1e-8 of the coefficients.
    """

    def __init__(self, start: float, sine: ArrayLike, cosine: ArrayLike, duration: float):
        T = self.duration = number("duration", duration, above=0.0)
        self.shape = ()
        self.sine = array("sine", sine, ("harmonics",))
        self.cosine = array("cosine", cosine, (len(self.sine),))
        count = len(self.sine)
        knots = np.linspace(0.0, T, PIECES * count + 1)
        c = np.concatenate([self.sine, self.cosine])
        p, v, a = (rows @ c for rows in _basis(knots, count, T))
        p = p + number("start", start)
        at = [(p[k : k + 1], v[k : k + 1], a[k : k + 1]) for k in range(len(knots))]
        pieces = [piece(0.0, at[0][:2])]
        for k in range(len(knots) - 1):
            length = knots[k + 1] - knots[k]
            pieces.append(piece(knots[k], quintic_coefficients(at[k], at[k + 1], length)))
        pieces.append(piece(T, at[-1][:2]))
        self._finish([0.0, T], knots, pieces)


@dataclass(frozen=True, eq=False, repr=False)
class Excitation:
    """A motion for identification. It prints as a table.

    motion : {body: path}, in the form that `lb.simulate` and `Experiment` accept.
    experiment : the motion with the times of the readings; add readings with `dataclasses.replace(experiment,
        readings=...)` for use with `lb.identify`.
    expected : what the readings would determine.
    first : the same for the initial motion of the search.
    largest : {body: {"position": ..., "speed": ..., "acceleration": ..., "torque": ...}}, the largest values in the
        motion.
    scores : of the criterion, from the first motion to the best.
    """

    motion: Mapping[str, FourierPath]
    experiment: Experiment
    expected: Expected
    first: Expected
    largest: Mapping[str, Mapping[str, float]]
    scores: tuple[float, ...]

    def __repr__(self) -> str:
        return f"Excitation of {', '.join(self.motion)}, score {self.scores[0]:.4g} -> {self.scores[-1]:.4g}; print it for the table"

    def __str__(self) -> str:
        names = self.expected.names
        width = max(map(len, ("std. error of", *names)))
        lines = [f"{'std. error of':{width}}{'first motion':>14}{'best motion':>14}"]
        for name in names:
            cells = (self.first.standard_errors[name], self.expected.standard_errors[name])
            lines.append(f"{name:{width}}" + "".join(f"{x:14.3g}" for x in cells))
        for body, sizes in self.largest.items():
            lines.append(f"{body}: " + ", ".join(f"{what} up to {x:.4g}" for what, x in sizes.items()))  # fmt: skip
        return "\n".join(lines)


def excitation(
    system: System,
    parameters: Any,
    sensors: Sensor | Sequence[Sensor],
    joints: str | Sequence[str],
    *,
    duration: float,
    rate: float,
    limits: Mapping[str, Any],
    harmonics: int = 4,
    q0: ArrayLike | None = None,
    settled: bool = True,
    criterion: str = "D",
    noise: Mapping[str, Any] | None = None,
    seed: int = 0,
    iterations: int = 20,
) -> Excitation:
    """Find the joint motion whose readings determine the parameters best, among Fourier series within limits.

    Parameters
    ----------
    parameters, noise : as for `lb.identify`; the motion is optimal for the values from which a search would start.
    sensors : whose readings are taken. The joints are driven, so encoders on them provide no information; strain
        gauges, accelerometers and force-torque sensors do.
    joints : bodies whose joints are driven, each with one coordinate.
    duration : of the motion, s, which is the period of the first harmonic.
    rate : sample rate of the readings, Hz.
    limits : {"position": ..., "speed": ..., "acceleration": ..., "torque": ...}, the largest values, one number or
        {body: number}; positions count from q0. At least one is needed.
    harmonics : of the Fourier series, at least 2.
    q0 : (nq,) where the motion starts, at rest; neutral by default.
    settled : whether the modes are in static equilibrium at the start.
    criterion : "D" minimizes the volume of the error ellipsoid (log det F), "A" the sum of the squared relative errors.
    seed : of the first motion, which is random.
    iterations : the largest number of iterations of the search.
    """
    check_system(system)
    refuse_closures(system, "excitation")
    score = score_of(criterion)
    places = joint_places(system, joints, "excitation")
    bodies = places.labels
    several = [
        one for one in bodies if one not in system.bodies
    ]  # labels of joints with more have numbers
    if several:
        raise ArgumentValueError(
            f"excitation is for joints with one coordinate each, but {', '.join(several)} belong to a joint with more."
        )
    T = number("duration", duration, above=0.0)
    count = whole("harmonics", harmonics, 2)
    bounds = _limits(limits, bodies)
    start = system.neutral() if q0 is None else array("q0", q0, (system.nq,))
    t = np.arange(0.0, T + 0.5 / number("rate", rate, above=0.0), 1.0 / rate)
    search = _Search(system, parameters, sensors, noise, bodies, start[places.q], start, settled, T, t, count, bounds, score)  # fmt: skip
    with collected_warnings() as told:
        x = search.first(np.random.default_rng(checked_seed("seed", seed)))
        best, scores = search.best(x, whole("iterations", iterations, 1))
        told.clear()
        found = search.described(best), search.described(x)
    for one in {str(one): one for one in told}.values():
        warn(one)
    plan = search.experiment(best)
    return Excitation(plan.motion or {}, plan, *found, search.largest(best), scores)


class _Search:
    """The search for coefficients x: those of motions that start smoothly, joint by joint."""

    def __init__(self, system, parameters, sensors, noise, bodies, centre, q0, settled, T, t, count, bounds, score):  # fmt: skip
        self.system, self.parameters, self.sensors, self.noise = system, parameters, sensors, noise
        self.bodies, self.centre, self.q0, self.settled = bodies, centre, q0, settled
        self.T, self.t, self.count, self.bounds, self.score = T, t, count, bounds, score
        _, velocity, acceleration = _basis(np.zeros(1), count, T)
        self.smooth = scipy.linalg.null_space(np.vstack([velocity, acceleration]))
        self.size = self.smooth.shape[1]
        grid = np.linspace(0.0, T, GRID * count + 1)
        self.rows = [part @ self.smooth for part in _basis(grid, count, T)]
        self.between = np.linspace(0.0, T, BETWEEN * max(count, len(t)) + 1)
        self._known: dict[bytes, tuple[float, Array]] = {}

    def paths(self, x: Array) -> dict[str, FourierPath]:
        found = {}
        for i, body in enumerate(self.bodies):
            c = self.smooth @ x[i * self.size : (i + 1) * self.size]
            found[body] = FourierPath(float(self.centre[i]), c[: self.count], c[self.count :], self.T)  # fmt: skip
        return found

    def experiment(self, x: Array) -> Experiment:
        return Experiment(self.t, {}, motion=self.paths(x), q0=self.q0, settled=self.settled, name="excitation")  # fmt: skip

    def slopes(self, x: Array) -> tuple:
        return slopes_of_readings(self.system, self.parameters, self.experiment(x), self.sensors, self.noise)  # fmt: skip

    def described(self, x: Array) -> Expected:
        unknowns, rows, priors = self.slopes(x)
        data = np.vstack([slope for _, slope in rows])
        n = len(unknowns)
        return described(unknowns, without(data[:, :n], data[:, n:]), np.vstack([data, priors]))

    def value(self, x: Array) -> tuple[float, Array]:
        """The score, and the margins to the torque limits."""
        key = x.tobytes()
        if key not in self._known:
            unknowns, rows, priors = self.slopes(x)
            J = np.vstack([*(slope for _, slope in rows), priors])
            n = len(unknowns)
            self._known[key] = self.score(without(J[:, :n], J[:, n:])), self._torque_left(x, self.t)
        return self._known[key]

    def _torques(self, x: Array, times: Array) -> Array:
        plan = prepared(self.system, [], self.experiment(x), 0, 1e-8, 1e-10)
        run = balanced(plan.system, plan.run)
        result = simulated(plan.system, run, times)
        places = [self.system.layout[body].v_joint.start for body in self.bodies]
        return result.tau[:, places]

    def _torque_left(self, x: Array, times: Array) -> Array:
        limited = [i for i, body in enumerate(self.bodies) if np.isfinite(self.bounds["torque"][body])]  # fmt: skip
        if not limited:
            return np.zeros(0)
        torque = self._torques(x, times)
        left = [1.0 - (torque[:, i] / self.bounds["torque"][self.bodies[i]]) ** 2 for i in limited]
        return np.concatenate(left)

    def linear(self) -> tuple[Array, Array]:
        """C, d with |C x| <= d: limits of position, speed and acceleration.

        At the points of the grid the limits are reduced by the largest overshoot that a series can have between them
        (Ehlich & Zeller 1964).
        """
        C, d = [np.zeros((0, self.size * len(self.bodies)))], [np.zeros(0)]
        for i, body in enumerate(self.bodies):
            for what, rows in zip(LIMITS, self.rows):
                limit = self.bounds[what][body]
                if np.isfinite(limit):
                    part = np.zeros((len(rows), self.size * len(self.bodies)))
                    part[:, i * self.size : (i + 1) * self.size] = rows / (limit * HELD)
                    C.append(part)
                    d.append(np.ones(len(rows)))
        return np.vstack(C), np.concatenate(d)

    def first(self, rng: np.random.Generator) -> Array:
        """A random motion, as large as the limits allow."""
        x = rng.standard_normal(self.size * len(self.bodies))
        C, _ = self.linear()
        if len(C):
            x *= FIRST / np.abs(C @ x).max()
        for _ in range(30):
            left = self._torque_left(x, self.between)
            if not len(left) or left.min() > 0.0:
                return x
            x *= 0.7
        raise ArgumentValueError(
            "limits: the torques that hold the joints at q0 already exceed their limits. Give a larger torque limit, or "
            "another q0."
        )

    def best(self, x: Array, iterations: int) -> tuple[Array, tuple[float, ...]]:
        """The best coefficients found within the limits, and the scores along the way."""
        unit = float(np.abs(x).max())
        C, _ = self.linear()
        C = C * unit
        scores = [self.value(x)[0]]
        allowed = [(scores[0], x)]

        def whole(y: Array) -> tuple[float, Array]:
            return self.value(y * unit)

        def slopes(y: Array) -> tuple[Array, Array]:
            score, left = whole(y)
            by = [whole(y + STEP * e) for e in np.eye(len(y))]
            return (
                np.array([(a - score) / STEP for a, _ in by]),
                np.array([(b - left) / STEP for _, b in by]).T.reshape(len(left), len(y)),
            )

        def note(y: Array) -> None:
            """Keep the largest part of a motion that is within all limits: on its way, the search may leave them."""
            part = y / max(1.0, float(np.abs(C @ y).max(initial=0.0)))
            for _ in range(SHORTENED):
                left = self._torque_left(part * unit, self.between)
                if left.min(initial=0.0) >= 0.0:
                    score, _ = whole(part)
                    allowed.append((score, part * unit))
                    scores.append(score)
                    return
                part = part / np.sqrt(max(1.0 - float(left.min()), SHORTER))

        constraints = []
        if len(C):
            both = np.vstack([C, -C])
            constraints.append({"type": "ineq", "fun": lambda y: 1.0 - both @ y, "jac": lambda y: -both})  # fmt: skip
        if len(whole(x / unit)[1]):
            constraints.append({"type": "ineq", "fun": lambda y: whole(y)[1], "jac": lambda y: slopes(y)[1]})  # fmt: skip
        minimize(
            lambda y: -whole(y)[0], x / unit, jac=lambda y: -slopes(y)[0], method="SLSQP", constraints=constraints,
            callback=note, options={"maxiter": iterations, "ftol": 1e-4},
        )  # fmt: skip
        score, best = max(allowed, key=lambda pair: pair[0])
        return best, (*scores, score)

    def largest(self, x: Array) -> dict[str, dict[str, float]]:
        torque = self._torques(x, self.between)
        rows = [part @ self.smooth for part in _basis(self.between, self.count, self.T)]
        found = {}
        for i, body in enumerate(self.bodies):
            mine = x[i * self.size : (i + 1) * self.size]
            sizes = [float(np.abs(part @ mine).max()) for part in rows]
            found[body] = dict(zip(LIMITS, [*sizes, float(np.abs(torque[:, i]).max())]))
        return found


def _basis(t: Array, count: int, T: float) -> tuple[Array, Array, Array]:
    """Positions, velocities and accelerations (..., 2 count) of each coefficient, sines first."""
    k = 2.0 * np.pi / T * np.arange(1, count + 1)
    angle = np.asarray(t)[..., None] * k
    sine, cosine = np.sin(angle), np.cos(angle)
    return (
        np.concatenate([sine, 1.0 - cosine], axis=-1),
        np.concatenate([k * cosine, k * sine], axis=-1),
        np.concatenate([-(k**2) * sine, k**2 * cosine], axis=-1),
    )


def _limits(given: Any, bodies: Sequence[str]) -> dict[str, dict[str, float]]:
    if not isinstance(given, Mapping) or not given:
        raise ArgumentTypeError(
            f'limits must have at least one of {", ".join(LIMITS)}, as in {{"speed": 1.0}}, got {shown(given)}.'
        )
    found = {what: dict.fromkeys(bodies, np.inf) for what in LIMITS}
    for what, value in given.items():
        if what not in LIMITS:
            raise ArgumentValueError(f"limits: {shown(what)} is not one of {', '.join(LIMITS)}.")
        each: Mapping[str, Any] = (
            value if isinstance(value, Mapping) else dict.fromkeys(bodies, value)
        )
        for body, x in each.items():
            if body not in bodies:
                raise ArgumentValueError(
                    f"limits[{what!r}]: {shown(body)} is not one of the driven joints, {', '.join(bodies)}."
                )
            found[what][body] = number(f"limits[{what!r}] of {body!r}", x, above=0.0)
    return found
