r"""Kalman filters: the state of a system, including modes, from encoders, tachometers, gyros and strain gauges.

The error of the state, along `lb.integrate`, is x = [dq, dv], with the covariance P. From one sample to the next,

    x <- Phi x + w,    P <- Phi P Phi^T + Q,    Phi = exp(A T),    Q = integral of exp(A s) B W B^T exp(A s)^T over 0..T

where A, B are those of `lb.linearize`, and W holds the densities of unknown forces. A reading y = h(q, v) + noise
corrects the state by

    S = H P H^T + R,    G = P H^T S^-1,    x = G (y - h),    P <- (1 - G H) P (1 - G H)^T + G R G^T

(Joseph form; Bar-Shalom, Li & Kirubarajan, Estimation with Applications, 5.2 and 10.3). The linear filter uses A, B and
H at one state; the extended filter recomputes them at every estimate, which it propagates by

    x(T) = x + T phi_1(A T) f(x),    phi_1(z) = (e^z - 1) / z

(exponential Rosenbrock-Euler: second order, and stable for modes of any frequency). If the delay of the loop is not a
multiple of the sample time, two commands act between two samples, and the filter uses their time average.

In a closed system x has the independent states of `lb.linearize`, and the estimate satisfies the closures (`estimate`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, finite_numbers, flag, listed, shown, suggestion
from limber.control.channels import coordinate_names, speed_names
from limber.control.closed_joints import at_rest, holding_torques, owners, unread_joints
from limber.control.closed_motions import refuse_broken
from limber.control.controller import Measured
from limber.control.estimate import ClosedEstimate, Estimate, reading_slopes
from limber.control.filter_noise import reading_deviation, spread
from limber.control.friction import warn_of_sticking
from limber.control.joint_controller import driven_channels
from limber.control.joints import joint_places, not_plain
from limber.control.linear_model import LinearModel
from limber.control.linearize import linearized
from limber.control.riccati import discrete_riccati
from limber.control.sampled import WHOLE, covariance_of_noise
from limber.control.sampled import held as over
from limber.control.sensors import Encoder, Gyro, StrainGauge, Tachometer
from limber.dynamics import forward_dynamics
from limber.dynamics.inverse import inverse_dynamics
from limber.errors import ArgumentTypeError, ArgumentValueError, DynamicsError, ModelWarning, warn
from limber.simulation.table import joint_speeds

#: Sensors whose readings depend on q and v alone.
READ = (Encoder, Tachometer, Gyro, StrainGauge)
#: Modes count as in equilibrium if they are off by no more than this fraction of the largest, or by this much.
BALANCED, SMALL = 1e-3, 1e-9
#: Parts of the sample time count as equal if they agree to this many digits; of this many the filter remembers its
#: model.
DIGITS, REMEMBERED = 9, 1000


class Kalman:
    """A Kalman filter that estimates q and v at every sample of a controller such as `LQR`, `ComputedTorque` or
    `ActiveDamping`.

    Parameters
    ----------
    disturbance : density of unknown generalized forces, N m s^(1/2) and so on: one number, or one for each speed.
    q : (nq,) the configuration about which the linear filter is linearized, at rest; in a closed system, an equilibrium
        that the torques can hold. By default it is the operating
        point of the controller: `about` for `LQR`; with a reference, its initial positions; otherwise the first
        readings of the encoders, each with the modes in static equilibrium. The estimate starts there, with the first
        encoder readings for the joints that are measured.
    initial : standard deviation of the first estimate, [dq, dv]: one number, or (2 nv,). In a closed system it is that of
        coordinates and speeds before it is known that they satisfy the closures.
    noise : {sensor: standard deviation}, where it should differ from that of the sensor itself. By default it is that
        of a sample: noise density, noise and quantization.
    extended : whether A, B and H are recomputed at every estimate.
    record : whether `covariances` keeps P after every sample.

    After a sample, `q` and `v` are the estimate and `covariance` is P. The loop records "estimate", "deviation" (square
    roots of the diagonal of P) and "innovation <sensor>": S^(-1/2) (y - h), which is white with unit variance if the
    filter is consistent (`limber.control.consistency`), and nan where the sensor has sent nothing new. A reading
    corrects the estimate at the time at which it was taken, which may be between two samples. Readings are taken as
    current, so the sensors must not have a delay.
    """

    #: Arguments whose names are those of the estimate, and the attributes that keep them.
    kept_as: ClassVar[Mapping[str, str]] = {"q": "about"}

    def __init__(
        self,
        disturbance: ArrayLike,
        *,
        q: ArrayLike | None = None,
        initial: ArrayLike = 1e-2,
        noise: Mapping[str, float] | None = None,
        extended: bool = False,
        record: bool = False,
    ):
        self.disturbance = finite_numbers("disturbance", disturbance, "() or (nv,)")
        self.initial = finite_numbers("initial", initial, "() or (2 nv,)")
        if (self.disturbance < 0.0).any() or (self.initial < 0.0).any():
            raise ArgumentValueError("disturbance and initial must not be negative.")
        self.about = None if q is None else finite_numbers("q", q, "(nq,)")
        if noise is not None and not isinstance(noise, Mapping):
            raise ArgumentTypeError(
                f"noise must be {{sensor: standard deviation}}, got {shown(noise)}."
            )
        self.noise = dict(noise or {})
        self.extended, self.record = flag("extended", extended), flag("record", record)
        self.covariances: list[Array] = []
        self.uses: tuple[str, ...] = ()

    # --- the loop -------------------------------------------------------------------------------------

    def prepare(self, loop: Any) -> None:
        """Look up the system, the sensors and the actuators."""
        s: System = loop.system
        if not loop.sensors:
            raise ArgumentValueError(
                "Kalman: the loop has no sensors, so the state is known exactly. Leave out the observer, or add sensors."
            )
        self._system, self.sample_time, self._initial = s, loop.sample_time, loop.initial
        samples = loop.delay / loop.sample_time
        self._whole = int(samples + WHOLE)
        self._late = samples - self._whole if samples - self._whole > WHOLE else 0.0
        self._sensors = [
            (sensor, reader, reading_deviation(sensor, reader.errors, self.noise))
            for sensor, reader in zip(loop.sensors, loop.readers)
            if isinstance(sensor, READ)
        ]
        if not self._sensors:
            raise ArgumentValueError(
                "Kalman: it takes readings of Encoder, Tachometer, Gyro and StrainGauge, and the loop has none of these."
            )
        self.uses = tuple(sensor.name for sensor, _, _ in self._sensors)
        for name in self.noise:
            if name not in self.uses:
                raise ArgumentValueError(
                    f"Kalman: noise has {shown(name)}, which is not a sensor that the filter takes.{suggestion(str(name), self.uses)} "
                    f"These are: {listed(self.uses)}."
                )
        n = 2 * s.nv
        self._W = spread("disturbance", self.disturbance, s.nv) ** 2
        self._deviation = spread("initial", self.initial, n)
        self._unread = unread_joints(s, loop)[0]
        self._driven = _torque_places(loop)
        if self.about is not None and self.about.shape != (s.nq,):
            raise ArgumentValueError(f"q must have shape ({s.nq},), got {self.about.shape}.")
        self._out = None
        if loop.actuators:
            places = joint_places(s, None, "Kalman")
            driven = [i for i, place in enumerate(places.v.tolist()) if place in loop.driven]
            labels = tuple(places.labels[i] for i in driven)
            self._out = driven_channels(self, loop, labels), places.v[driven]
        if not self.extended and not_plain(s):
            raise ArgumentValueError(f"Kalman: {s.name!r} has {not_plain(s)}: give extended=True.")
        self._point: Array | None = None
        self._fixed: tuple | None = None
        self._told = self.about is not None
        if self.about is not None:
            self._settle(self.about)

    def __getstate__(self) -> dict[str, Any]:
        # The reader of a sensor is a function of the system, which is made again.
        state = dict(vars(self))
        if "_sensors" in state:
            state["_sensors"] = [(sensor, None, noise) for sensor, _, noise in self._sensors]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_sensors" in state:
            self._sensors = [
                (sensor, sensor.reader(self._system), noise) for sensor, _, noise in self._sensors
            ]

    def work_about(self, q: Array) -> None:
        """Set the operating point (nq,) of the controller, unless the filter has a q of its own."""
        if self.about is None:
            self._told = True
            self._settle(q)

    def _settle(self, q: Array) -> None:
        """Set the operating point q of the filter."""
        self._point = np.array(q)
        if not self.extended:
            self._warn_of_imbalance(self._point)
            self._fixed = self._linear_model()

    def _warn_of_imbalance(self, q: Array) -> None:
        s = self._system
        balanced = at_rest(s, q, self._driven)
        sizes = np.maximum(np.abs(q), np.abs(balanced))
        modes = [np.arange(s.nq)[w.q_modes] for w in s.layout.values()]
        largest = max((sizes[i].max(initial=0.0) for i in modes), default=0.0)
        off = [
            name
            for name, i in zip(s.layout, modes)
            if np.abs(q - balanced)[i].max(initial=0.0) > BALANCED * largest + SMALL
        ]
        if off:
            with_torques = "that have torques " if s.closures else ""
            warn(
                f"Kalman: the linear filter is about a configuration in which the modes of {', '.join(map(repr, off))} are not in "
                f"balance, so that its estimate will be off. Give q=lb.equilibrium(system, q, locked=[...]) with all joints {with_torques}locked, "
                "to the controller as about=... if it has one, or extended=True.",
                ModelWarning,
            )

    def _linear_model(self) -> tuple:
        """Phi, Gamma, Q, the torques that hold the joints, T, and H and h of every sensor, at the operating point."""
        s, rest = self._system, np.zeros(self._system.nv)
        point = self._point
        assert point is not None
        tau, joints = np.zeros(s.nv), joint_speeds(s)
        if s.closures:
            refuse_broken(s, point[None], rest[None])
            tau[self._driven] = holding_torques(s, point, self._driven, "Kalman: q")
        else:
            tau[joints] = inverse_dynamics(s, point, rest, rest)[joints]
        warn_of_sticking("Kalman", s, rest, (), "extended=True describes both.")
        model = linearized(s, (point, rest, tau))
        Phi, Gamma = model.sampled(self.sample_time).A, model.sampled(self.sample_time).B
        Q = covariance_of_noise(model.A, model.B, self._W, self.sample_time)
        assert model.T is not None
        read = [reading_slopes(s, reader, point, rest, model.T) for _, reader, _ in self._sensors]
        return Phi, Gamma, Q, tau, model.T, read

    def start(self, t: float, measured: Measured) -> None:
        """Reset the filter, with the joints at the encoder readings."""
        first = [(r.q, measured[sensor.name]) for sensor, r, _ in self._sensors if r.q is not None]
        if not self._told:
            point = self._system.neutral()
            for places, reading in first:
                point[places] = reading
            self._settle(self._resting(point))
        assert self._point is not None
        q, rest = np.array(self._point), np.zeros(self._system.nv)
        for places, reading in first:
            q[places] = reading
        self._estimate = Estimate(self._system, q, rest, self._deviation)
        if self._system.closures:
            self._estimate = ClosedEstimate(
                self._system, q, rest, self._deviation, self._unread, self._point
            )
        self.covariances = []
        self._used = dict.fromkeys(self.uses, -math.inf)
        self._innovations: dict[str, Array] = {}
        self._at = t
        self._torques_before = self._torques(measured)
        self._parts: dict[float, tuple[Array, Array, Array]] = {}

    def _resting(self, q: Array) -> Array:
        """A configuration at rest near the first readings of the encoders."""
        s = self._system
        if s.closures and len(self._unread):
            raise ArgumentValueError(
                f"Kalman: no Encoder reads the positions of {listed(owners(s, self._unread))} in the closed system {s.name!r}, so that it is not "
                "known where to look for them. Give q=(nq,), a configuration near the initial one."
            )
        return at_rest(s, q, self._driven)

    @property
    def q(self) -> Array:
        """The estimate of q."""
        return self._estimate.q

    @property
    def v(self) -> Array:
        """The estimate of v."""
        return self._estimate.v

    @property
    def covariance(self) -> Array:
        """The covariance of the error [dq, dv] of the estimate."""
        return self._estimate.covariance

    def update(self, t: float, measured: Measured) -> tuple[Array, Array]:
        """Return the estimate of q and v at a sample."""
        now = self._torques(measured)
        tau = (1.0 - self._late) * now + self._late * self._torques_before
        self._torques_before = now
        new = []
        for i, (sensor, _, deviation) in enumerate(self._sensors):
            self._innovations[sensor.name] = np.full(len(deviation), math.nan)
            taken = measured.taken(sensor.name)
            if taken > self._used[sensor.name]:
                self._used[sensor.name] = taken
                new.append((min(max(taken, self._at), t), i))
        for taken, i in sorted(new):
            self._predict_until(taken, tau)
            sensor, reader, deviation = self._sensors[i]
            self._correct(i, sensor.name, measured[sensor.name], reader, deviation)
        self._predict_until(t, tau)
        if self.record:
            self.covariances.append(self.covariance.copy())
        return self.q, self.v

    def outputs(self) -> dict[str, Array]:
        """Return the signals to record at a sample."""
        return {
            "estimate": np.concatenate([self.q, self.v]),
            # rounding may make variances of a diverging filter negative
            "deviation": np.sqrt(np.maximum(np.diag(self.covariance), 0.0)),
            **{f"innovation {name}": x for name, x in self._innovations.items()},
        }

    @property
    def output_labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of the recorded signals, by their names."""
        names = speed_names(self._system)
        rates = [f"{name} rate" for name in names]
        return {
            "estimate": (*coordinate_names(self._system), *rates),
            "deviation": (*names, *rates),
            **{f"innovation {s.name}": tuple(reader.labels) for s, reader, _ in self._sensors},
        }

    # --- analysis -------------------------------------------------------------------------------------

    def seen(self, plant: LinearModel) -> LinearModel:
        """A plant with the states of the filter, those of `lb.linearize`, and the sensor readings as outputs.

        It is meant for `margins(kalman.seen(plant), controller)`, after the controller has been put in a loop.
        """
        H = self._readings()
        if plant.order != H.shape[1] or plant.dt:
            raise ArgumentValueError(
                f"plant must be continuous with {H.shape[1]} states, as lb.linearize(system, ...) gives, got {plant.name!r} with "
                f"{plant.order}{' and sampled' if plant.dt else ''}."
            )
        return replace(plant, C=H, D=np.zeros((len(H), len(plant.inputs))), outputs=self._labels)

    def with_feedback(self, feedback: LinearModel, places: np.ndarray) -> LinearModel:
        """The filter and a feedback as one sampled model, from the readings to the torques, with steady-state filter
        gains.

        feedback : a sampled model from the states of `lb.linearize` to the torques.
        places : places of the torques in v.
        """
        m, T = len(places), self.sample_time
        for sensor, _, _ in self._sensors:
            if abs(T * sensor.rate - round(T * sensor.rate)) > WHOLE or T * sensor.rate < 0.5:
                raise ArgumentValueError(
                    f"Kalman: sensor {sensor.name!r} is not read at every sample of the controller ({sensor.rate:g} Hz and "
                    f"{1.0 / T:g} Hz), so that the filter has no fixed gains and no margins."
                )
        Phi, Gamma, Q, *_ = self._linear_model()
        n, H = len(Phi), self._readings()
        R = np.diag(np.concatenate([deviation for _, _, deviation in self._sensors]) ** 2)
        try:
            P = discrete_riccati(Phi.T, H.T, Q, R)
        except np.linalg.LinAlgError:
            raise DynamicsError(
                "Kalman: the gains of the filter do not settle: some motions neither decay nor are seen by the sensors, or no "
                "disturbance acts on them."
            ) from None
        G = np.linalg.solve(H @ P @ H.T + R, H @ P).T
        # The estimate x = F (Phi x + Gamma u) + G y, where u is the mean of the commands that acted between the samples: the one that
        # took effect there, and the one before.  States are the last estimate, the commands since, and those of the feedback.
        parts = [0.0] * self._whole + [1.0 - self._late] + ([self._late] if self._late else [])
        late = len(parts)
        F, k = np.eye(n) - G @ H, feedback
        x = np.hstack([F @ Phi, *(part * F @ Gamma[:, places] for part in parts), np.zeros((n, k.order))])  # fmt: skip
        inner = np.hstack([np.zeros((k.order, n + m * late)), k.A])
        own = np.hstack([np.zeros((m, n + m * late)), k.C])
        u, by_y = own + k.D @ x, k.D @ G
        shifted = np.eye(m * (late - 1), x.shape[1], n)
        A = np.vstack([x, u, shifted, inner + k.B @ x])
        B = np.vstack([G, by_y, np.zeros((m * (late - 1), len(H))), k.B @ G])
        states = (
            *(f"estimate {name}" for name in k.inputs),
            *(f"{name} {i} ago" for i in range(1, late + 1) for name in k.outputs),
            *(f"feedback {name}" for name in k.states),
        )
        return LinearModel(A, B, u, by_y, states, self._labels, k.outputs, k.name, T)

    def _readings(self) -> Array:
        """H of all sensors."""
        if getattr(self, "_point", None) is None:
            raise ArgumentTypeError(
                "Kalman: it is not known yet about which configuration the filter works. Put its controller in a lb.control.Loop; "
                "all but LQR need a run as well, or Kalman(..., q=...)."
            )
        return np.vstack([H for H, _ in self._linear_model()[-1]])

    @property
    def _labels(self) -> tuple[str, ...]:
        return tuple(
            f"{s.name} {label}" for s, reader, _ in self._sensors for label in reader.labels
        )

    # --- the filter -----------------------------------------------------------------------------------

    def _torques(self, measured: Measured) -> Array:
        """The generalized forces that act at a sample."""
        tau = np.zeros(self._system.nv)
        applied = self._initial if measured.applied is None else measured.applied
        if applied is None:
            return tau
        if self._out is None:
            return np.asarray(applied)
        channels, places = self._out
        tau[places] = np.asarray(applied)[channels]
        return tau

    def _predict_until(self, t: float, tau: Array) -> None:
        part = round((t - self._at) / self.sample_time, DIGITS)
        self._at = t
        if part:
            self._predict(tau, part)

    def _over(self, part: float) -> tuple[Array, Array, Array]:
        """Phi, Gamma and Q of the linear filter over a fraction of the sample time."""
        assert self._fixed is not None and self._point is not None
        if part == 1.0:
            return self._fixed[:3]
        if part not in self._parts:
            if len(self._parts) >= REMEMBERED:
                self._parts.clear()
            s, T = self._system, part * self.sample_time
            model = linearized(s, (self._point, np.zeros(s.nv), self._fixed[3]))
            Q = covariance_of_noise(model.A, model.B, self._W, T)
            self._parts[part] = (*over(model.A, model.B, T), Q)
        return self._parts[part]

    def _predict(self, tau: Array, part: float) -> None:
        s, T, e = self._system, part * self.sample_time, self._estimate
        if self._fixed is not None:
            assert self._point is not None
            Phi, Gamma, Q = self._over(part)
            x = Phi @ e.off(self._point) + Gamma @ (tau - self._fixed[3])
            e.move_to(self._point, x, self._fixed[4])
        else:
            model = linearized(s, (e.q, e.v, tau))
            n = model.order
            e.states_of(model)
            rate = e.in_states(np.concatenate([e.v, forward_dynamics(s, e.q, e.v, tau)]))
            block = np.zeros((n + 1, n + 1))
            block[:n, :n], block[:n, -1] = model.A * T, rate * T
            found = scipy.linalg.expm(block)
            Phi, moved = found[:n, :n], found[:n, -1]
            Q = covariance_of_noise(model.A, model.B, self._W, T)
            e.move(moved)
        e.P = Phi @ e.P @ Phi.T + Q

    def _correct(self, i: int, name: str, y: Array, reader: Any, deviation: Array) -> None:
        H, h = self._read(i, reader)
        e, R = self._estimate, np.diag(deviation**2)
        S = H @ e.P @ H.T + R
        root = np.linalg.cholesky(S)
        error = y - h
        self._innovations[name] = np.linalg.solve(root, error)
        G = np.linalg.solve(S, H @ e.P).T
        if self._fixed is None:
            e.move(G @ error)
        else:
            assert self._point is not None
            e.move_to(self._point, e.off(self._point) + G @ error, self._fixed[4])
        left = np.eye(len(e.P)) - G @ H
        e.P = left @ e.P @ left.T + G @ R @ G.T

    def _read(self, i: int, reader: Any) -> tuple[Array, Array]:
        """H and the expected reading."""
        e = self._estimate
        if self._fixed is None:
            return reading_slopes(self._system, reader, e.q, e.v, e.T)
        H, h = self._fixed[-1][i]
        assert self._point is not None
        return H, h + H @ e.off(self._point)


def _torque_places(loop: Any) -> np.ndarray:
    """The places in v of the torques: those of actuators, or of the controller if it says, or those of all joints."""
    if loop.actuators:
        return np.array(sorted({i for i in loop.driven if i is not None}), dtype=int)
    places = getattr(loop.controller.controller, "torque_places", None)
    return np.array(joint_speeds(loop.system)) if places is None else places
