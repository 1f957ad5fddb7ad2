"""`margins`: stability margins of a loop before it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from limber.checks import Array
from limber.control.delay_margin import delay_margin
from limber.control.feedback import Feedback, feedback_of, frequencies_of
from limber.control.frequency import Responder
from limber.control.linear_model import LinearModel
from limber.control.poles import transmission_zeros
from limber.notebook import as_text
from limber.structures.threads import one_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Sample times that are examined are this many times shorter and longer than the one given, on a grid of this many.
SHORTER, LONGER, TRIED = 1e-4, 1e3, 70
#: Where the loop is stable without sampling, sample times are halved further, down to this fraction.
FURTHER = 1e-12
#: Sample times so short that more commands than this are pending at once are not tried.
ON_THEIR_WAY = 20.0
#: A loop that integrates has an infinite gain at frequency zero; rounding leaves such a number where it is real.
ENDLESS = 1e12
#: L counts as real at an end of the frequencies if its imaginary part is below this fraction of it: that of a loop
#: that integrates is infinite at frequency zero, while its real part is meaningless.
REAL = 1e-3
#: A pole this near to z = 1 counts as at rest: rounding moves a double one, such as that of a floating base, by 1e-8.
AT_REST = 1e-6
#: Halvings of the interval in which a crossing lies, and refinements of the grid about a peak by the factor 20.
BISECTIONS, REFINEMENTS = 44, 5


@dataclass(frozen=True)
class LoopMargins:
    """Margins of one loop with the others closed. A margin that the loop does not have is inf, or 0 for `gain_down`.

    input : the plant input at which the loop is opened.
    gain_up, gain_down : factors of the loop gain, above and below 1, at which a pole reaches the stability limit.
    phase : rad, by which the loop may lag or lead.
    delay : additional delay that the loop tolerates, s. Beyond 40 samples, and for a plant that was passed as a sampled
        model, it is computed from the phase, which is exact at whole samples.
    disk : size a of the disk margin, within which gain and phase may change together. See `disk_gain` and `disk_phase`.
    gain_up_at, gain_down_at, phase_at, delay_at, disk_at : the frequencies at which they occur, rad/s.
    """

    input: str
    gain_up: float
    gain_down: float
    phase: float
    delay: float
    disk: float
    gain_up_at: float
    gain_down_at: float
    phase_at: float
    delay_at: float
    disk_at: float

    @property
    def disk_gain(self) -> tuple[float, float]:
        """The range of gain factors that the disk margin allows, for any phase within the disk."""
        return disk_gains(self.disk)

    @property
    def disk_phase(self) -> float:
        """The phase, rad, that the disk margin allows."""
        return 2.0 * float(np.arctan(0.5 * self.disk))


def disk_gains(a: float) -> tuple[float, float]:
    """The gains from (2 - a) / (2 + a) to its inverse."""
    low = (2.0 - a) / (2.0 + a)
    return (low, 1.0 / low) if low > 0.0 else (low, float("inf"))


@dataclass(frozen=True, eq=False, repr=False)
class Margins:
    """Stability and margins of a loop; it prints as text, and `plot` draws the loop gains.

    poles : of the closed loop; in z for a sampled one.
    stable : whether all of them decay.
    loops : margins of each loop at the plant inputs, with the others closed; empty for an unstable loop.
    disk : the disk margin of all loops at once, each varying independently; a lower bound if there are several.
    sample_time : s; zero for a continuous loop.
    delay : of commands, s.
    longest : the sample time, s, below which the same controller is stable, if it can run at other sample times: inf if
        it is stable at all that were tried, 0 if at none; None if unknown.
    """

    poles: np.ndarray
    stable: bool
    loops: tuple[LoopMargins, ...]
    disk: float
    sample_time: float
    delay: float
    longest: float | None
    loop: Feedback

    def __repr__(self) -> str:
        return f"Margins({'stable' if self.stable else 'unstable'}, {len(self.loops)} loops; print it for the text)"

    _repr_html_ = as_text

    def __str__(self) -> str:
        lines = [f"{self._when()}: {'stable' if self.stable else 'UNSTABLE'}."]
        if not self.stable:
            lines.append(self._growing())
        lines += self._sampling()
        if self.loops:
            lines += _table(self.loops)
            low, high = disk_gains(self.disk)
            if len(self.loops) > 1:
                lines.append(
                    f"All loops together tolerate gain factors from {low:.3g} to {high:.3g}, or phase shifts of at least "
                    f"{np.degrees(2.0 * np.arctan(0.5 * self.disk)):.3g} deg (disk margin {self.disk:.3g})."
                )
        return "\n".join(lines)

    def plot(self, omega: ArrayLike | None = None, **options: Any) -> Figure:
        """Plot the loop gain of each loop over frequency, with its margins; see
        `limber.control.linear_plots.loop_gains`.
        """
        from limber.control.linear_plots import loop_gains  # noqa: PLC0415

        return loop_gains(self, omega, **options)

    def _when(self) -> str:
        if not self.sample_time:
            return "Continuous loop"
        text = f"Loop sampled at {1.0 / self.sample_time:.4g} Hz (every {1e3 * self.sample_time:.4g} ms)"
        return text + (f", commands {1e3 * self.delay:.4g} ms late" if self.delay else "")

    def _growing(self) -> str:
        if self.sample_time:
            worst = self.poles[np.argmax(np.abs(self.poles))]
            size = abs(worst)
            if abs(worst - 1.0) < AT_REST:
                return (
                    f"A pole is at z = 1, to within {AT_REST:g}: a motion at rest that the controller does not hold. In a "
                    "system that floats it may be left free on purpose; take the margins of LQR.reached(plant) then."
                )
            if abs(size - 1.0) < 1e-9:
                return f"A pole is at |z| = 1, at {_hertz(worst, self.sample_time)}: it is not controlled, or not damped."
            return f"A motion at {_hertz(worst, self.sample_time)} grows by the factor {size:.4g} with each sample."
        worst = self.poles[np.argmax(self.poles.real)]
        hertz = abs(worst.imag) / (2.0 * np.pi)
        if abs(worst.real) < 1e-9 * max(1.0, abs(worst)):
            return f"A pole is on the imaginary axis, at {hertz:.4g} Hz: it is not controlled, or not damped."
        return f"A motion at {hertz:.4g} Hz grows with the rate {worst.real:.4g} per s."

    def _sampling(self) -> list[str]:
        if self.longest is None or not self.sample_time:
            return []
        if self.longest == 0.0:
            delay = " with this delay" if self.delay else ""
            return [
                f"No shorter sample time down to {_shortest(self.loop):.3g} s makes it stable{delay}: the controller must "
                "be changed."
            ]
        if np.isinf(self.longest):
            return []
        rate = f"{1e3 * self.longest:.4g} ms ({1.0 / self.longest:.4g} Hz)"
        if self.stable:
            return [f"With these gains it remains stable up to a sample time of {rate}."]
        return [f"The same controller is stable if sampled faster: every {rate} or less."]


def margins(
    plant: Any, controller: Any, *, sample_time: float | None = None, delay: float = 0.0
) -> Margins:
    """Analyse a loop before it runs: poles, stability, gain, phase and delay margins, disk margins, and sample times.

    The plant is sampled exactly: its inputs are held between samples and may be delayed. The margins are those of each
    loop at the plant inputs with the others closed, and the disk margin of all loops at once.

    Parameters
    ----------
    plant : a LinearModel from commands to measurements, continuous or sampled.
    controller : a matrix K of gains, for u = -K y, with a row for each input and a column for each output of the plant;
        or a LinearModel, continuous or sampled, or an object whose linear() returns one, from the plant's outputs to
        its inputs with its sign: u = K y.
    sample_time : s. By default that of the controller; if it has none, the loop is continuous.
    delay : from the sample to the command, s; it may be longer than a sample time.
    """
    loop = feedback_of(plant, controller, sample_time, delay)
    with one_thread():
        stable = loop.stable
        found = tuple(_loop_margins(loop, i) for i in range(len(plant.inputs))) if stable else ()
        disk = 0.0
        if stable:
            disk = found[0].disk if len(found) == 1 else _disk_of_all(loop)
        longest = _longest(loop)
    return Margins(loop.poles(), stable, found, disk, loop.dt, loop.delay, longest, loop)


def _loop_margins(loop: Feedback, i: int) -> LoopMargins:
    """The margins of loop i of a stable loop."""
    L = loop.opened(i)
    omega = frequencies_of(loop, transmission_zeros(L))
    responder = Responder(L)

    def at(w: Array) -> np.ndarray:
        return responder.along(w)[:, 0, 0]

    values = at(omega)
    # gain: where L is real and negative; at both ends of the frequencies it always is real
    real = _crossings(lambda w: at(w).imag, omega, values.imag)
    points = [*zip(real, at(real).real), *_ends(loop, L, responder)]
    critical = [(-1.0 / x, w) for w, x in points if -ENDLESS < x < 0.0]
    up = min((c for c in critical if c[0] > 1.0), default=(np.inf, np.nan))
    down = max((c for c in critical if c[0] < 1.0), default=(0.0, np.nan))
    turns = unit_gains(loop, i)
    phase = min(((abs(a), w) for a, w in turns), default=(np.inf, np.nan))
    delay = min((((a % (2.0 * np.pi)) / w, w) for a, w in turns), default=(np.inf, np.nan))
    delay = delay_margin(loop, i, delay)
    peak, peak_at = _peak(lambda w: np.abs(1.0 / (1.0 + at(w)) - 0.5), omega)
    return LoopMargins(
        loop.plant.inputs[i], up[0], down[0], phase[0], delay[0], 1.0 / peak,
        up[1], down[1], phase[1], delay[1], peak_at,
    )  # fmt: skip


def unit_gains(loop: Feedback, i: int) -> list[tuple[float, float]]:
    """Where |L| = 1 in loop i: the phase by which L may lag there (negative: lead), and the frequency."""
    L = loop.opened(i)
    omega = frequencies_of(loop, transmission_zeros(L))
    responder = Responder(L)

    def at(w: Array) -> np.ndarray:
        return responder.along(w)[:, 0, 0]

    unit = _crossings(lambda w: np.abs(at(w)) - 1.0, omega, np.abs(at(omega)) - 1.0)
    return list(zip(np.angle(-at(unit)).tolist(), unit.tolist()))


def _ends(loop: Feedback, L: LinearModel, responder: Responder) -> list[tuple[float, float]]:
    """The ends of the frequencies at which L is real, and L there: zero, and half the sample rate or infinity."""
    nyquist = np.pi / loop.dt if loop.dt else np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        low = responder.along(np.array([1e-12]))[0, 0, 0]
        high = responder.along(np.array([nyquist]))[0, 0, 0] if loop.dt else L.D[0, 0]
    return [(w, float(x.real)) for w, x in ((0.0, low), (nyquist, high)) if abs(x.imag) < REAL * abs(x)]  # fmt: skip


def _crossings(f: Callable[[Array], Array], omega: Array, values: Array) -> Array:
    """The zeros of f between frequencies at which it has these values, all bisected at once."""
    left = np.flatnonzero(np.isfinite(values[:-1] + values[1:]) & (values[:-1] * values[1:] < 0.0))
    low, high, below = omega[left], omega[left + 1], values[left] < 0.0
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        before = (f(middle) < 0.0) == below
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return 0.5 * (low + high)


def _peak(f: Callable[[Array], Array], omega: Array) -> tuple[float, float]:
    """The maximum of f, and its location: the best of a grid, then of finer grids around it."""
    best = (0.0, np.nan)
    for _ in range(REFINEMENTS):
        values = f(omega)
        values = np.where(np.isfinite(values), values, 0.0)
        i = int(np.argmax(values))
        best = max(best, (float(values[i]), float(omega[i])))
        omega = np.linspace(omega[max(i - 1, 0)], omega[min(i + 1, len(omega) - 1)], 41)
    return best


def _disk_of_all(loop: Feedback) -> float:
    """1 / max of the largest singular value of S - 1/2, S = (1 + L)^{-1} at the plant's inputs: S = 1 + r by w."""
    closed = loop.model()
    omega = frequencies_of(loop, np.zeros(0))
    responder, half = Responder(closed), 0.5 * np.eye(len(closed.inputs))

    def size(w: Array) -> Array:
        return np.linalg.norm(responder.along(w) + half, 2, axis=(1, 2))

    peak, _ = _peak(size, omega)
    return 1.0 / peak


def _longest(loop: Feedback) -> float | None:
    """The sample time up to which the same controller is stable; see `Margins`."""
    if loop.given is None or not loop.dt:
        return None

    def grows(T: float) -> float:
        return loop.sampled_every(T).growth()

    shortest = _shortest(loop)
    times = np.geomspace(max(shortest, SHORTER * loop.dt), loop.dt, TRIED)
    if loop.stable:
        times = loop.dt * np.geomspace(1.0, LONGER, TRIED)
        last = float(times[0])
        for T in times[1:]:
            if grows(float(T)) >= 0.0:
                return float(brentq(grows, last, float(T), rtol=1e-9))
            last = float(T)
        return float("inf")
    first = float(times[-1])
    for T in times[::-1][1:]:
        if grows(float(T)) < 0.0:
            return float(brentq(grows, float(T), first, rtol=1e-9))
        first = float(T)
    while 0.5 * first >= shortest:
        if grows(0.5 * first) < 0.0:
            return float(brentq(grows, 0.5 * first, first, rtol=1e-9))
        first *= 0.5
    return 0.0


def _shortest(loop: Feedback) -> float:
    """The shortest sample time at which the same controller is tried."""
    if loop.delay:
        return max(SHORTER * loop.dt, min(loop.dt, loop.delay / ON_THEIR_WAY))
    assert loop.given is not None
    direct = loop.given[
        0
    ].D.any()  # the answer of a sampled controller to it does not become that of a continuous one
    return loop.dt * (FURTHER if not direct and loop.sampled_every(0.0).stable else SHORTER)


def _hertz(z: complex, dt: float) -> str:
    return f"{abs(np.angle(z)) / (2.0 * np.pi * dt):.4g} Hz"


def _table(loops: tuple[LoopMargins, ...]) -> list[str]:
    def hz(w: float) -> str:
        return "" if not np.isfinite(w) else f" at {w / (2.0 * np.pi):.4g} Hz"

    heads = ["loop", "gain up", "gain down", "phase", "delay", "disk"]
    rows = [
        [
            m.input,
            "any" if np.isinf(m.gain_up) else f"x {m.gain_up:.4g}{hz(m.gain_up_at)}",
            "any" if m.gain_down == 0.0 else f"x {m.gain_down:.4g}{hz(m.gain_down_at)}",
            "any" if np.isinf(m.phase) else f"{np.degrees(m.phase):.4g} deg{hz(m.phase_at)}",
            "any" if np.isinf(m.delay) else f"{1e3 * m.delay:.4g} ms",
            f"{m.disk:.3g} (x {m.disk_gain[0]:.3g} to {m.disk_gain[1]:.3g}, {np.degrees(m.disk_phase):.3g} deg)",
        ]
        for m in loops
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows)]
    return ["  ".join(x.ljust(w) for x, w in zip(row, widths)).rstrip() for row in (heads, *rows)]
