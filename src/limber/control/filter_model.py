r"""The linear filter about an operating point, and its steady state as part of a linear model of a controller.

The estimate at a sample with all its readings, of which one sensor's may come d samples late, is

    x_m = F_m (Phi x_{m+1} + Gamma u_m) + G_m (y_m - J u'_m),    m = D, D - 1, ..., 0,    F_m = 1 - G_m H

where x_m and y_m are the estimate and the readings m samples ago, u_m are the mean forces during the sample before, u'_m
those at its end, and D is the largest d. G_m has columns for the sensors with d <= m and zeros for the others: G_D is the
gain of a filter without late readings, and each of the others follows from the covariance of the one before. Unknown
forces are held during a sample where readings depend on them, so that the reading tells of the same force that moved the
state: with the forces w, of variance V, and Gamma V their covariance with the state,

    P <- Phi P Phi^T + Q,    S = [H J] [[P, Gamma V], [V Gamma^T, V]] [H J]^T + R,    G = (P H^T + Gamma V J^T) S^-1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from limber.assembly.system import System
from limber.checks import Array
from limber.control import channels
from limber.control.filter_readings import FilterSensor
from limber.control.linear_model import LinearModel
from limber.control.reach import shown_states
from limber.control.riccati import discrete_riccati
from limber.control.sampled import WHOLE, covariance_of_noise, held
from limber.errors import ArgumentValueError, DynamicsError

#: Of this many parts of a sample the filter remembers its model.
REMEMBERED = 1000
#: Motions decay if their rates are negative by more than this fraction of the largest entry of A.
STILL = 1e-12


class LinearFilter:
    """What a linear filter knows about its operating point.

    A, B, T : of `lb.linearize`, with inputs at all speeds.
    tau : (nv,) the forces there.
    W : (nv,) squared densities of the unknown forces.
    read : for each sensor H, the reading at the operating point, and J.
    """

    def __init__(
        self,
        A: Array,
        B: Array,
        T: Array,
        tau: Array,
        W: Array,
        sample_time: float,
        read: list[tuple[Array, Array, Array]],
    ):
        self.A, self.B, self.T, self.tau, self.W = A, B, T, tau, W
        self.sample_time, self.read = sample_time, read
        self._parts: dict[float, tuple[Array, Array, Array]] = {}

    @property
    def H(self) -> Array:
        """Of all sensors."""
        return np.vstack([H for H, _, _ in self.read])

    @property
    def J(self) -> Array:
        """Of all sensors."""
        return np.vstack([J for _, _, J in self.read])

    def over(self, part: float) -> tuple[Array, Array, Array]:
        """Phi, Gamma and Q over a fraction of the sample time."""
        found = self._parts.get(part)
        if found is None:
            if len(self._parts) >= REMEMBERED:
                self._parts.clear()
            h = part * self.sample_time
            Q = covariance_of_noise(self.A, self.B, self.W, h)
            found = self._parts[part] = (*held(self.A, self.B, h), Q)
        return found


def reading_labels(sensors: Sequence[FilterSensor]) -> tuple[str, ...]:
    """The names of all numbers that sensors read."""
    return tuple(f"{sensor.name} {label}" for sensor in sensors for label in sensor.labels)


def place_of_torque(system: System, name: str) -> int:
    """The place in v of an input of `lb.linearize`, by its name."""
    for body, where in system.layout.items():
        for kind, part in (("torque", where.v_joint), ("mode_force", where.v_modes)):
            if part.start < part.stop:
                (channel,) = channels.checked(system, [(kind, body)], "inputs", channels.INPUTS)
                if name in channel.names:
                    return part.start + channel.names.index(name)
    raise ArgumentValueError(
        f"plant: its input {name!r} is no torque of {system.name!r}. Accelerometers and force-torque sensors also depend on the "
        "inputs directly, and Kalman.seen knows that of torques only."
    )


def late_samples(sensors: Sequence[FilterSensor], sample_time: float) -> list[int]:
    """By how many samples the readings of each sensor are late, where all are read at every sample."""
    found = []
    for one in sensors:
        rate, samples = one.sensor.rate * sample_time, one.sensor.delay / sample_time
        if abs(rate - round(rate)) > WHOLE or rate < 0.5:
            remedy = "a whole multiple of the rate of the controller"
            if rate < 1.0:
                remedy = f"the rate of the controller and {rate**-0.5:.3g} times the noise, which is the same noise density"
            raise ArgumentValueError(
                f"Kalman: sensor {one.name!r} is not read at every sample of the controller ({one.sensor.rate:g} Hz and "
                f"{1.0 / sample_time:g} Hz), so that the filter has no fixed gains and no margins. For margins, give it "
                f"{remedy}."
            )
        if abs(samples - round(samples)) > WHOLE:
            raise ArgumentValueError(
                f"Kalman: sensor {one.name!r} has a delay of {samples:.4g} samples of the controller; margins need a whole number of them."
            )
        found.append(round(samples))
    return found


def filter_and_feedback(
    known: LinearFilter,
    sensors: Sequence[FilterSensor],
    feedback: LinearModel,
    places: np.ndarray,
    delay: tuple[int, float],
    loads: tuple[np.ndarray, Array],
) -> LinearModel:
    """The filter and a feedback as one sampled model, from the readings to the torques; see `Kalman.with_feedback`.

    delay : of the commands: whole samples, and a fraction of one.
    loads : places in v and densities of the random walks of the loads that are estimated.
    """
    known, k = _shown(known, feedback)
    m = len(places)
    Phi, Gamma, _ = known.over(1.0)
    samples = late_samples(sensors, known.sample_time)
    biases = np.concatenate([_walk(one) for one in sensors])
    errors = np.repeat(samples, [one.reader.errors for one in sensors])
    gains = _gains(known, sensors, biases, loads, errors)
    ahead, H, walking = _with_others(known, biases, loads)
    J, n, D, r, size = known.J[:, places], len(Phi), max(samples), len(H), len(ahead)
    driven = np.zeros((size, m))
    driven[:n] = Gamma[:, places]
    taken = np.zeros((m, size))  # the loads that the torques take away
    taken[:, size - len(loads[0]) :] = places[:, None] == loads[0]
    # What the forces are: those of the last whole sample, and those of the one before.
    whole, part = delay
    parts = [0.0] * whole + [1.0 - part] + ([part] if part else [])
    commands = len(parts) + D
    # States: the estimate D samples ago at the last sample, readings since, commands, and states of the feedback; then the inputs.
    begin = np.cumsum([0, size, r * D, m * commands, k.order])
    everything = np.eye(begin[-1] + r)
    state, readings, sent, inner, reading = (
        everything[a:b] for a, b in zip(begin, [*begin[1:], begin[-1] + r])
    )
    history = np.vstack([reading, readings])

    def mean(m_ago: int) -> Array:
        rows = [sent[m * (m_ago + i) :][:m] * weight for i, weight in enumerate(parts)]
        return np.sum(rows, axis=0)

    x, oldest = state, state
    for m_ago in range(D, -1, -1):
        G = gains[m_ago]
        expected = ahead @ x + driven @ mean(m_ago)
        last = sent[m * (m_ago + whole) :][:m]
        y = history[r * m_ago :][:r] - J @ last
        x = expected + G @ (y - H @ expected)
        if m_ago == D:
            oldest = x
    command = k.C @ inner + k.D @ x[:n] - taken @ x
    x = x[:n]
    new = np.vstack([
        oldest, history[: r * D], np.vstack([command, sent])[: m * commands], k.A @ inner + k.B @ x,
    ])  # fmt: skip
    labels = reading_labels(sensors)
    states = (
        *(f"estimate {name}" for name in k.inputs),
        *(f"bias {labels[i]}" for i in walking.tolist()),
        *(f"load v[{i}]" for i in loads[0].tolist()),
        *(f"{name} {i} ago" for i in range(1, D + 1) for name in labels),
        *(f"{name} {i} ago" for i in range(1, commands + 1) for name in k.outputs),
        *(f"feedback {name}" for name in k.states),
    )
    w = begin[-1]
    return LinearModel(
        new[:, :w], new[:, w:], command[:, :w], command[:, w:], states, labels, k.outputs, k.name,
        known.sample_time,
    )  # fmt: skip


def _shown(known: LinearFilter, feedback: LinearModel) -> tuple[LinearFilter, LinearModel]:
    """The filter without the states that no reading and no feedback depends on, such as the position of a spacecraft
    without sensors of it, if these do not decay; otherwise unchanged.
    """
    A = known.A
    shown = shown_states(A, np.vstack([known.H, feedback.B, feedback.D]))
    others = np.flatnonzero(~shown)
    rates = np.linalg.eigvals(A[np.ix_(others, others)]).real
    if not (rates >= -STILL * np.abs(A).max(initial=0.0)).any():
        return known, feedback
    kept = np.flatnonzero(shown)
    read = [(h[:, kept], reading, J) for h, reading, J in known.read]
    smaller = LinearFilter(
        A[np.ix_(kept, kept)], known.B[kept], known.T[:, kept], known.tau, known.W,
        known.sample_time, read,
    )  # fmt: skip
    names = tuple(feedback.inputs[i] for i in kept)
    return smaller, replace(feedback, B=feedback.B[:, kept], D=feedback.D[:, kept], inputs=names)


def _walk(one: FilterSensor) -> Array:
    """The random walk of the biases that are estimated; zero for the others. A constant bias is known in the end."""
    return np.zeros(one.reader.errors) if one.bias is None else one.walk


def _with_others(
    known: LinearFilter, walk: Array, loads: tuple[np.ndarray, Array]
) -> tuple[Array, Array, np.ndarray]:
    """The transition and H of [x, biases, loads], and the numbers of the readings whose biases walk."""
    Phi, Gamma, _ = known.over(1.0)
    walking = np.flatnonzero(walk > 0.0)
    n, places = len(Phi), loads[0]
    A = np.eye(n + len(walking) + len(places))
    A[:n, :n], A[:n, n + len(walking) :] = Phi, Gamma[:, places]
    return A, np.hstack([known.H, np.eye(len(walk))[:, walking], known.J[:, places]]), walking


def _gains(
    known: LinearFilter,
    sensors: Sequence[FilterSensor],
    walk: Array,
    loads: tuple[np.ndarray, Array],
    late: np.ndarray,
) -> dict[int, Array]:
    """G_m by m."""
    _, Gamma, Q = known.over(1.0)
    A, H, walking = _with_others(known, walk, loads)
    n, size, T, J = len(Q), len(A), known.sample_time, known.J
    noise = np.zeros((size, size))
    noise[:n, :n] = Q
    noise[n:, n:] = np.diag(np.append(walk[walking], loads[1]) ** 2 * T)
    V = known.W / T
    shared = np.vstack([Gamma * V, np.zeros((size - n, len(V)))])  # of the state and the forces
    R = np.diag(np.concatenate([one.deviation for one in sensors]) ** 2)
    try:
        P = _settled(A, noise, H, J, R, shared, V)
    except np.linalg.LinAlgError:
        raise DynamicsError(
            "Kalman: the gains of the filter do not settle: some motions neither decay nor are seen by the sensors, or no "
            "disturbance acts on them. A feedback that uses them needs more sensors, such as a StarTracker for an attitude; what "
            "floats needs a disturbance of its own joint, too, as without it the filter is sure of the momentum."
        ) from None
    gains = {}
    for m in range(int(late.max(initial=0)), -1, -1):
        seen = np.flatnonzero(late <= m)
        h, j = H[seen], J[seen]
        L = P @ h.T + shared @ j.T
        S = h @ L + j @ shared.T @ h.T + (j * V) @ j.T + R[np.ix_(seen, seen)]
        gain = np.linalg.solve(S, L.T).T
        gains[m] = np.zeros((size, len(H)))
        gains[m][:, seen] = gain
        P = A @ (P - gain @ L.T) @ A.T + noise
    return gains


def _settled(
    A: Array, noise: Array, H: Array, J: Array, R: Array, shared: Array, V: Array
) -> Array:
    """The covariance of the state before its readings, once it does not change any more."""
    if not J.any():
        return discrete_riccati(A.T, H.T, noise, R)
    # That after the readings: its noise and the noise of the next readings are correlated.
    cross = noise @ H.T + shared @ J.T
    both = H @ cross + J @ shared.T @ H.T + (J * V) @ J.T + R
    part, C = np.linalg.solve(both, cross.T).T, H @ A
    P = discrete_riccati((A - part @ C).T, C.T, noise - part @ cross.T, both)
    return A @ P @ A.T + noise
