"""`spillover`: the effect of a controller on the modes that its design model left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from limber.control.feedback import Feedback, feedback_of, growths
from limber.control.linear_model import LinearModel
from limber.control.locus import critical, followed, gains_beyond, gains_to_one
from limber.control.margins import unit_gains
from limber.control.poles import Pole, grouped
from limber.errors import ArgumentValueError
from limber.notebook import as_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A unit gain of a loop counts for the mode whose frequency is nearest to it, and within this fraction of it.
NEAR = 0.2


@dataclass(frozen=True)
class ModeChange:
    """A mode of the plant, in open and closed loop.

    before, after : its pole without and with the controller, in continuous time, 1/s. If the two poles of a mode
        separate, the one that decays more slowly or grows faster.
    truncated : whether the design model lacks it.
    stable : whether it decays with the controller.
    gain : the factor of all gains at which it reaches the stability limit: above 1 for a stable mode, below 1 for an
        unstable one; inf if there is none.
    phase : rad, the smallest phase margin of the loops where their gain is 1 near this mode; inf if it is not 1 there,
        nan in an unstable loop.
    """

    before: Pole
    after: Pole
    truncated: bool
    stable: bool
    gain: float
    phase: float

    @property
    def moved(self) -> complex:
        """The change of the pole, 1/s."""
        return self.after.value - self.before.value


@dataclass(frozen=True, eq=False, repr=False)
class Spillover:
    """Modes of the full plant under a controller designed on a smaller model; it prints as a table.

    modes : of the full plant, the slowest first.
    design_stable, stable : whether the loop is stable with the design model, and with the full plant.
    poles : of the loop with the full plant.
    others : those of them that grow and come from no mode, but from the controller or from commands in transit.
    """

    modes: tuple[ModeChange, ...]
    design_stable: bool
    stable: bool
    poles: np.ndarray
    loop: Feedback
    others: np.ndarray

    @property
    def truncated(self) -> tuple[ModeChange, ...]:
        """The modes that the design model lacks."""
        return tuple(mode for mode in self.modes if mode.truncated)

    @property
    def unstable(self) -> tuple[ModeChange, ...]:
        """The modes that the controller makes unstable or leaves unstable."""
        return tuple(mode for mode in self.modes if not mode.stable)

    def __repr__(self) -> str:
        return (
            f"Spillover({len(self.truncated)} truncated modes of {len(self.modes)}, {len(self.unstable)} unstable; print it for "
            "the table)"
        )

    _repr_html_ = as_text

    def __str__(self) -> str:
        words = {True: "stable", False: "UNSTABLE"}
        lines = [
            f"Loop with the design model: {words[self.design_stable]}; with the full plant: {words[self.stable]}."
        ]
        heads = [
            "mode",
            "Hz open",
            "damping",
            "Hz closed",
            "damping",
            "gain to limit",
            "phase",
            "",
        ]
        rows = []
        for i, mode in enumerate(self.modes):
            notes = ["truncated"] * mode.truncated + ["UNSTABLE"] * (not mode.stable)
            rows.append(
                [
                    str(i),
                    *_frequency(mode.before),
                    *_frequency(mode.after),
                    "any" if np.isinf(mode.gain) else f"x {mode.gain:.4g}",
                    _phase(mode.phase),
                    ", ".join(notes),
                ]
            )
        widths = [max(map(len, column)) for column in zip(heads, *rows)]
        lines += [
            "  ".join(x.ljust(w) for x, w in zip(row, widths)).rstrip() for row in (heads, *rows)
        ]
        if self.others.size:
            lines.append(
                "UNSTABLE apart from these modes: the controller itself, or commands in transit. The gains are too large "
                "for "
                "the sample time and the delay."
            )
        return "\n".join(lines)

    def plot(self, **options: Any) -> Figure:
        """Plot the damping of every mode over frequency, in open and closed loop; see
        `limber.control.linear_plots.spillover_figure`.
        """
        from limber.control.linear_plots import spillover_figure  # noqa: PLC0415

        return spillover_figure(self, **options)


def spillover(
    full: Any,
    reduced: Any,
    controller: Any,
    *,
    sample_time: float | None = None,
    delay: float = 0.0,
) -> Spillover:
    """Find the effect of a controller, designed on a reduced model, on all modes of the full one.

    Parameters
    ----------
    full, reduced : LinearModels with equal inputs and outputs; the second is usually made from the first by `modal` or
        `balanced`.
    controller, sample_time, delay : as in `margins`.

    The poles of the full plant are followed as all gains of the controller grow from 0 to 1, so each closed-loop pole
    is identified with the mode that it came from. They are then followed further, until they become unstable. The modes
    of the full plant nearest to the poles of the reduced one are those that the design model has; the others are
    truncated.
    """
    loop = feedback_of(full, controller, sample_time, delay)
    design = feedback_of(reduced, controller, sample_time, delay)
    if full.dt:
        raise ArgumentValueError(
            f"spillover is for continuous plants, but {full.name!r} is sampled: give the continuous plant and sample_time."
        )
    if full.inputs != reduced.inputs or full.outputs != reduced.outputs:
        raise ArgumentValueError(
            "full and reduced must have the same inputs and outputs, in the same order."
        )
    modes = grouped(full.rates)
    known = _known(modes, reduced)
    # both poles of a pair are followed: where they meet on the real axis, they go different ways
    values = np.array([x for mode in modes for x in _poles(mode)])
    owner = np.repeat(np.arange(len(modes)), [len(_poles(mode)) for mode in modes])
    start = loop.poles(0.0)
    first = np.exp(values * loop.dt) if loop.dt else values
    _, near = linear_sum_assignment(np.abs(first[:, None] - start))
    start = np.append(start[near], np.delete(start, near))  # those of modes come first
    rising, beyond = gains_to_one(), gains_beyond()
    paths = followed(loop, start, rising)
    further = followed(loop, paths[-1], beyond)
    phases = _phases(loop, modes) if loop.stable else [float("nan")] * len(modes)
    found = []
    for i, mode in enumerate(modes):
        own = np.flatnonzero(owner == i)
        sizes = growths(paths[-1], loop.dt)[own]
        stable = bool((sizes < 0.0).all())
        gains, courses = (beyond, further) if stable else (rising, paths)
        gain = min(critical(loop, gains, courses[:, j]) for j in own)
        worst = own[int(sizes.argmax())]
        found.append(
            ModeChange(
                mode,
                _moved(mode, values[worst], paths[:, worst], loop.dt),
                i not in known,
                stable,
                gain,
                phases[i],
            )
        )
    rest = paths[-1, len(values) :]
    others = rest[growths(paths[-1], loop.dt)[len(values) :] >= 0.0]
    return Spillover(tuple(found), design.stable, loop.stable, loop.poles(), loop, others)


def _poles(mode: Pole) -> list[complex]:
    """The pole of a mode, or both of a pair."""
    return [mode.value, mode.value.conjugate()] if mode.count == 2 else [mode.value]


def _moved(mode: Pole, start: complex, path: np.ndarray, dt: float) -> Pole:
    """The mode at the end of a path from `start`. In a sampled loop a path turns about the origin, and its angle is
    followed.
    """
    if dt:
        value = start + np.log(path[1:] / path[:-1]).sum() / dt
    else:
        value = start + (path[-1] - path[0])
    value = complex(value.real, abs(value.imag)) if mode.count == 2 else complex(value)
    return Pole(value, mode.count, mode.at_rest and abs(value) < 1e-12)


def _known(modes: list[Pole], reduced: LinearModel) -> set[int]:
    """The numbers of the modes nearest to the poles of the design model, relative to their frequency."""
    poles = grouped(reduced.rates)
    size = max((abs(mode.value) for mode in modes), default=1.0)
    cost = np.array(
        [
            [abs(a.value - b.value) / max(abs(a.value), abs(b.value), 1e-7 * size) for b in modes]
            for a in poles
        ]
    ).reshape(len(poles), len(modes))
    return set(linear_sum_assignment(cost)[1].tolist())


def _phases(loop: Feedback, modes: list[Pole]) -> list[float]:
    """The least phase margin near each mode."""
    found = [float("inf")] * len(modes)
    frequencies = np.array([max(abs(mode.value.imag), mode.omega) for mode in modes])
    for i in range(len(loop.plant.inputs)):
        for phase, w in unit_gains(loop, i):
            nearest = int(np.argmin(np.abs(frequencies - w)))
            if abs(frequencies[nearest] - w) < NEAR * w:
                found[nearest] = min(found[nearest], abs(phase))
    return found


def _phase(phase: float) -> str:
    if np.isnan(phase):
        return "-"
    return "any" if np.isinf(phase) else f"{np.degrees(phase):.3g} deg"


def _frequency(pole: Pole) -> list[str]:
    damping = "-" if pole.at_rest else f"{pole.damping:.4g}"
    return [f"{pole.omega / (2.0 * np.pi):.5g}", damping]
