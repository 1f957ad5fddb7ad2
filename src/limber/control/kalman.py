r"""Kalman filters: the state of a system, including modes, from the readings of sensors.

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

Readings that also depend on the forces, y = h(q, v, tau), tell of the unknown ones, w: these are taken as held over a
sample, with the variance W/T, and are states of the filter for the time of the readings (`filter_model`). A late reading
corrects the estimate at the time at which it was taken (`filter_past`). The bias of a sensor is a state that is constant
or a random walk.

In a closed system x has the independent states of `lb.linearize`, and the estimate satisfies the closures (`estimate`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, finite_numbers, flag, listed, shown
from limber.control.channels import coordinate_names, speed_names
from limber.control.closed_joints import at_rest, holding_torques, owners, unread_joints
from limber.control.closed_motions import refuse_broken
from limber.control.controller import Measured
from limber.control.estimate import ClosedEstimate, Estimate
from limber.control.filter_model import (
    LinearFilter,
    filter_and_feedback,
    place_of_torque,
    reading_labels,
)
from limber.control.filter_noise import spread
from limber.control.filter_past import Past, Reading, Span
from limber.control.filter_readings import bias_places, loads_of, sensors_of
from limber.control.friction import warn_of_sticking
from limber.control.joint_controller import driven_channels, places_of_torques
from limber.control.joints import joint_places
from limber.control.linear_model import LinearModel
from limber.control.linearize import linearized
from limber.control.sampled import WHOLE, covariance_of_noise
from limber.control.sampled import held as over
from limber.dynamics import forward_dynamics
from limber.dynamics.inverse import inverse_dynamics
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn
from limber.simulation.table import joint_speeds

#: Modes count as in equilibrium if they are off by no more than this fraction of the largest, or by this much.
BALANCED, SMALL = 1e-3, 1e-9
#: Parts of the sample time count as equal if they agree to this many digits.
DIGITS = 9


class Kalman:
    """A Kalman filter that estimates q and v at every sample of a controller such as `LQR`, `ComputedTorque` or
    `ActiveDamping`.

    Parameters
    ----------
    disturbance : density of unknown generalized forces, N m s^(1/2) and so on: one number, or one for each speed.
    q : (nq,) the configuration about which the linear filter is linearized, at rest; in a closed system, an equilibrium
        that the torques can hold. By default it is the operating point of the controller: `about` for `LQR`; with a
        reference, its initial positions; otherwise the first readings of the encoders, each with the modes in static
        equilibrium. The estimate starts there, with the first encoder readings for the joints that are measured.
    initial : standard deviation of the first estimate, [dq, dv]: one number, or (2 nv,). In a closed system it is that of
        coordinates and speeds before it is known that they satisfy the closures.
    noise : {sensor: standard deviation}, where it should differ from that of the sensor itself. By default it is that
        of a sample: noise density, noise and quantization.
    bias : {sensor: standard deviation} of sensors whose bias is unknown and estimated, beginning with zero: one number,
        or one for each number of the reading. Its random walk is the `bias_walk` of the sensor. The other sensors must
        tell it apart from motions.
    load : {body: density of a random walk}, N m/s^(1/2), of unknown loads of joints that change slowly, such as
        friction or the weight of an unknown payload: one number, or one for each speed of the joint. They are estimated,
        beginning with zero, known to what they change in a second. `LQR`, `ComputedTorque` and `ActiveDamping` take them
        away from their torques; with the first two no error of the joints remains, as by integral action.
    sensors : names of the sensors that the filter takes, of any kind. By default it takes every Encoder, Tachometer,
        Gyro, Accelerometer, StrainGauge, ForceTorque and StarTracker of the loop.
    extended : whether A, B and H are recomputed at every estimate.
    record : whether `covariances` keeps P after every sample.

    Errors of joints with quaternions are rotation vectors, as of `lb.difference`; those of the linear filter are from q.
    After a sample, `q` and `v` are the estimate and `covariance` is P. The loop records "estimate", "deviation" (square
    roots of the diagonal of P), "load", "bias <sensor>" and "innovation <sensor>": S^(-1/2) (y - h), which is white with unit
    variance if the filter is consistent (`limber.control.consistency`), and nan where the sensor has sent nothing new. A
    reading corrects the estimate at the time at which it was taken, which may be between two samples, or some samples ago
    if the sensor has a `delay`: the filter then repeats everything since.
    """

    #: Arguments whose names are those of the estimate, and the attributes that keep them.
    kept_as: ClassVar[Mapping[str, str]] = {"q": "about", "load": "_loads"}

    def __init__(
        self,
        disturbance: ArrayLike,
        *,
        q: ArrayLike | None = None,
        initial: ArrayLike = 1e-2,
        noise: Mapping[str, float] | None = None,
        bias: Mapping[str, ArrayLike] | None = None,
        load: Mapping[str, ArrayLike] | None = None,
        sensors: Sequence[str] | None = None,
        extended: bool = False,
        record: bool = False,
    ):
        self.disturbance = finite_numbers("disturbance", disturbance, "() or (nv,)")
        self.initial = finite_numbers("initial", initial, "() or (2 nv,)")
        if (self.disturbance < 0.0).any() or (self.initial < 0.0).any():
            raise ArgumentValueError("disturbance and initial must not be negative.")
        self.about = None if q is None else finite_numbers("q", q, "(nq,)")
        deviations, walk = "{sensor: standard deviation}", "{body: density of its random walk}"
        for name, given, what in (
            ("noise", noise, deviations), ("bias", bias, deviations), ("load", load, walk),
        ):  # fmt: skip
            if given is not None and not isinstance(given, Mapping):
                raise ArgumentTypeError(f"{name} must be {what}, got {shown(given)}.")
        self.noise, self.bias, self._loads = dict(noise or {}), dict(bias or {}), dict(load or {})
        self.sensors = sensors
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
        self._sensors = sensors_of(loop, self.sensors, self.noise, self.bias)
        self.uses = tuple(sensor.name for sensor in self._sensors)
        self._places, biases, walks = bias_places(self._sensors)
        self._load_places, loads = loads_of(s, self._loads)
        self._load_at = len(biases) + np.arange(len(loads))
        self._biases, self._walk = np.append(biases, loads), np.append(walks, loads)
        self._forced = any(sensor.forced for sensor in self._sensors)
        late = max(sensor.sensor.delay for sensor in self._sensors)
        slowest = max(1.0 / sensor.sensor.rate for sensor in self._sensors)
        self._length = late + slowest + self.sample_time if late else 0.0
        n = 2 * s.nv
        self._W = spread("disturbance", self.disturbance, s.nv) ** 2
        self._deviation = spread("initial", self.initial, n)
        self._unread = unread_joints(s, loop)[0]
        self._driven = places_of_torques(loop)
        if self.about is not None and self.about.shape != (s.nq,):
            raise ArgumentValueError(f"q must have shape ({s.nq},), got {self.about.shape}.")
        self._out = None
        if loop.actuators:
            places = joint_places(s, None, "Kalman")
            driven = [i for i, place in enumerate(places.v.tolist()) if place in loop.driven]
            labels = tuple(places.labels[i] for i in driven)
            self._out = driven_channels(self, loop, labels), places.v[driven]
        self._point: Array | None = None
        self._fixed: LinearFilter | None = None
        self._told = self.about is not None
        if self.about is not None:
            self._settle(self.about)

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
                f"Kalman: the linear filter uses a configuration in which the modes of {', '.join(map(repr, off))} are "
                "not in balance, so its estimate will be biased. Give q=lb.equilibrium(system, q, locked=[...]) with all "
                f"joints {with_torques}locked, pass this configuration to the controller as about=... if it has that "
                "argument, or use extended=True.",
                ModelWarning,
            )

    def _linear_model(self) -> LinearFilter:
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
        assert model.T is not None
        read = [
            (*sensor.slopes(point, rest, tau, model.T), sensor.by_torques(point, rest, tau))
            for sensor in self._sensors
        ]
        return LinearFilter(model.A, model.B, model.T, tau, self._W, self.sample_time, read)

    def start(self, t: float, measured: Measured) -> None:
        """Reset the filter, with the joints at the encoder readings."""
        places = ((sensor.reader.q, sensor.name) for sensor in self._sensors)
        first = [(q, measured[name]) for q, name in places if q is not None]
        if not self._told:
            point = self._system.neutral()
            for joints, reading in first:
                point[joints] = reading
            self._settle(self._resting(point))
        assert self._point is not None
        q, rest = np.array(self._point), np.zeros(self._system.nv)
        for joints, reading in first:
            q[joints] = reading
        known = self._system, q, rest, self._deviation, self._biases
        self._estimate = Estimate(*known)
        if self._system.closures:
            self._estimate = ClosedEstimate(*known, self._unread, self._point)
        if self._forced:  # unknown forces act before the first readings too
            none = np.zeros((self._estimate.states, self._system.nv))
            self._estimate.add_forces(none, self._W / self.sample_time)
        self.covariances = []
        self._used = dict.fromkeys(self.uses, -math.inf)
        self._innovations: dict[str, Array] = {}
        self._lost = False  # whether readings were left out
        self._at, self._past = t, None
        if self._length:
            taken = min(measured.taken(name) for name in self.uses)
            self._at = min(t, max(taken, t - self._length))
            self._past = Past(self._length, self._at, self._estimate)
        self._last = t
        self._torques_before = self._torques(measured)

    def _resting(self, q: Array) -> Array:
        """A configuration at rest near the first readings of the encoders."""
        s = self._system
        if s.closures and len(self._unread):
            raise ArgumentValueError(
                f"Kalman: no Encoder reads the positions of {listed(owners(s, self._unread))} in the closed system "
                f"{s.name!r}, so it is not known where to search for them. Give q=(nq,), a configuration near the initial "
                "one."
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
    def load(self) -> Array:
        """The estimate of the loads: generalized forces (nv,)."""
        found = np.zeros(self._system.nv)
        found[self._load_places] = self._estimate.bias[self._load_at]
        return found

    @property
    def covariance(self) -> Array:
        """The covariance of the error [dq, dv] of the estimate."""
        return self._estimate.covariance

    def update(self, t: float, measured: Measured) -> tuple[Array, Array]:
        """Return the estimate of q and v at a sample."""
        now, before = self._torques(measured), self._torques_before
        mean = (1.0 - self._late) * now + self._late * before
        change = self._last + (self._late + 10.0**-DIGITS) * self.sample_time
        span = Span(t, mean, before, now, change)
        self._torques_before, self._last = now, t
        new = []
        for i, sensor in enumerate(self._sensors):
            self._innovations[sensor.name] = np.full(sensor.reader.errors, math.nan)
            taken = measured.taken(sensor.name)
            if taken > self._used[sensor.name]:
                self._used[sensor.name] = taken
                new.append(Reading(min(taken, t), i, np.array(measured[sensor.name])))
        spans, readings = [span], sorted(new, key=lambda reading: reading.taken)
        if self._past is not None:
            self._at, self._estimate, spans, readings = self._past.back(new, span)
        for span in spans:
            while readings and readings[0].taken <= span.until:
                reading = readings.pop(0)
                at = max(reading.taken, self._at)
                self._predict_until(at, span)
                innovation = self._correct(reading, span.at(at))
                if reading in new:
                    self._innovations[self._sensors[reading.sensor].name] = innovation
            self._predict_until(span.until, span)
            if self._past is not None:
                self._past.keep(span.until, self._estimate)
        if self.record:
            self.covariances.append(self.covariance.copy())
        return self.q, self.v

    def outputs(self) -> dict[str, Array]:
        """Return the signals to record at a sample."""
        biases = self._estimate.bias
        load = {"load": biases[self._load_at]} if len(self._load_at) else {}
        return {
            "estimate": np.concatenate([self.q, self.v]),
            # rounding may make variances of a diverging filter negative
            "deviation": np.sqrt(np.maximum(np.diag(self.covariance), 0.0)),
            **{f"innovation {name}": x for name, x in self._innovations.items()},
            **{f"bias {name}": biases[places] for name, places in self._places.items()},
            **load,
        }

    @property
    def output_labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of the recorded signals, by their names."""
        names = speed_names(self._system)
        rates = [f"{name} rate" for name in names]
        return {
            "estimate": (*coordinate_names(self._system), *rates),
            "deviation": (*names, *rates),
            **{f"innovation {x.name}": x.labels for x in self._sensors},
            **{f"bias {x.name}": x.labels for x in self._sensors if x.bias is not None},
            "load": tuple(names[i] for i in self._load_places),
        }

    # --- analysis -------------------------------------------------------------------------------------

    def seen(self, plant: LinearModel) -> LinearModel:
        """A plant with the states of the filter, those of `lb.linearize`, and the sensor readings as outputs.

        It is meant for `margins(kalman.seen(plant), controller)`, after the controller has been put in a loop. Delays of
        sensors are part of the model of the controller.
        """
        known = self._known()
        H, J = known.H, known.J
        if plant.order != H.shape[1] or plant.dt:
            raise ArgumentValueError(
                f"plant must be continuous with {H.shape[1]} states, as lb.linearize(system, ...) gives, got {plant.name!r} with "
                f"{plant.order}{' and sampled' if plant.dt else ''}."
            )
        D = np.zeros((len(H), len(plant.inputs)))
        if J.any():
            places = [place_of_torque(self._system, name) for name in plant.inputs]
            D = J[:, places]
        return replace(plant, C=H, D=D, outputs=reading_labels(self._sensors))

    def with_feedback(self, feedback: LinearModel, places: np.ndarray) -> LinearModel:
        """The filter and a feedback as one sampled model, from the readings to the torques, with steady-state filter
        gains; the torques have the estimated loads taken away.

        feedback : a sampled model from the states of `lb.linearize` to the torques.
        places : places of the torques in v.
        """
        delay = self._whole, self._late
        loads = self._load_places, self._biases[self._load_at]
        return filter_and_feedback(self._known(), self._sensors, feedback, places, delay, loads)

    def _known(self) -> LinearFilter:
        """The linear filter at the operating point."""
        if getattr(self, "_point", None) is None:
            raise ArgumentTypeError(
                "Kalman: the configuration about which the filter is linearized is not known yet. Put its controller in "
                "an lb.control.Loop; controllers other than LQR also need a run, or Kalman(..., q=...)."
            )
        return self._linear_model()

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

    def _predict_until(self, t: float, span: Span) -> None:
        part = round((t - self._at) / self.sample_time, DIGITS)
        self._at = t
        if part:
            self._predict(span.mean, part)

    def _predict(self, tau: Array, part: float) -> None:
        s, T, e = self._system, part * self.sample_time, self._estimate
        tau = tau + self.load
        if self._fixed is not None:
            assert self._point is not None
            Phi, Gamma, Q = self._fixed.over(part)
            x = Phi @ e.off(self._point) + Gamma @ (tau - self._fixed.tau)
            e.move_to(self._point, x, self._fixed.T)
        else:
            model = linearized(s, (e.q, e.v, tau))
            e.states_of(model)
            rate = e.in_states(np.concatenate([e.v, forward_dynamics(s, e.q, e.v, tau)]))
            Phi, moved = over(model.A, np.column_stack([model.B, rate]), T)
            Q, Gamma = covariance_of_noise(model.A, model.B, self._W, T), moved[:, :-1]
            e.move(moved[:, -1])
        by_others = np.zeros((len(Phi), len(e.bias)))
        by_others[:, self._load_at] = Gamma[:, self._load_places]
        e.advance(Phi, by_others, Q, self._walk**2 * T)
        if self._forced:
            e.add_forces(Gamma, self._W / self.sample_time)

    def _correct(self, reading: Reading, tau: Array) -> Array:
        """Correct the estimate with a reading; return its innovation."""
        sensor, e = self._sensors[reading.sensor], self._estimate
        n, b = e.states, len(e.bias)
        tau = tau + self.load
        H, h, J = self._expected(reading.sensor, tau)
        by_all = np.zeros((len(H), len(e.P)))
        by_all[:, :n], by_all[:, n + self._load_at] = H, J[:, self._load_places]
        error = sensor.difference(reading.y, h, far=self._fixed is not None)
        if len(e.force):
            by_all[:, n + b :] = J
            error = error - J @ e.force
        if sensor.bias is not None:
            places = self._places[sensor.name]
            by_all[:, n + places] = np.eye(len(H))
            error = error - e.bias[places]
        if self._fixed is not None:
            assert self._point is not None
            error = error - H @ e.off(self._point) - J @ (tau - self._fixed.tau)
        R = np.diag(sensor.deviation**2)
        S = by_all @ e.P @ by_all.T + R
        try:
            root = np.linalg.cholesky(S)
        except np.linalg.LinAlgError:
            self._warn_lost(sensor.name, reading.taken)
            return np.full(len(error), math.nan)
        G = np.linalg.solve(S, by_all @ e.P).T
        change = G @ error
        if self._fixed is None:
            e.move(change[:n])
        else:
            assert self._point is not None
            e.move_to(self._point, e.off(self._point) + change[:n], self._fixed.T)
        e.shift_others(change[n:])
        left = np.eye(len(e.P)) - G @ by_all
        e.P = left @ e.P @ left.T + G @ R @ G.T
        return np.linalg.solve(root, error)

    def _warn_lost(self, sensor: str, t: float) -> None:
        """Say once in a run that readings are left out because the filter has lost the plant."""
        if self._lost:
            return
        self._lost = True
        warn(
            f"Kalman: the filter has lost the plant at t = {t:.4g} s. The covariance of the reading of sensor {sensor!r} is no longer "
            "positive definite, so this reading and others like it are left out. The model differs too much from the plant: "
            "let it expect larger unknown forces by disturbance=..., or give it a better model.",
            ModelWarning,
        )

    def _expected(self, i: int, tau: Array) -> tuple[Array, Array, Array]:
        """H, the reading that the model expects, and J; the linear filter's reading is that at its operating point."""
        if self._fixed is not None:
            return self._fixed.read[i]
        e, sensor = self._estimate, self._sensors[i]
        return *sensor.slopes(e.q, e.v, tau, e.T), sensor.by_torques(e.q, e.v, tau)
