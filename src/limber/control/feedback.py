"""Loops of a plant and a controller, continuous or sampled.

The controller gives u = K y, including the sign: negative feedback has negative gains. With plant (A, B, C, D) and
controller (Ak, Bk, Ck, Dk), commands are u = P r + w, where r is the output of the controller, P = diag(p) holds the
factors of the loops (1 closed, 0 open), and

    r = (1 - Dk D P)^{-1} (Dk C x + Ck xk + Dk D w)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, number, shown
from limber.control.frequency import spanned, with_peaks
from limber.control.linear_model import LinearModel
from limber.control.sampled import bilinear
from limber.errors import ArgumentTypeError, ArgumentValueError

#: Commands that are pending at once are states of a loop, of which there may be this many.
MOST_LATE = 500
#: A pole decays if |z| is below 1 by more than this, or its real part is negative by more than this part of the largest
#: pole: rounding moves poles that nothing controls by as much.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Feedback:
    """A plant and a controller with the same sample time.

    plant, controller : models of equal dt.
    given : the plant and the controller as they were passed, from which the loop can be made for another sample time;
        None if the controller is known for one sample time only.
    delay : of commands, s.
    continuous : the plant before it was sampled; None if a sampled plant was passed.
    """

    plant: LinearModel
    controller: LinearModel
    given: tuple[LinearModel, LinearModel] | None
    delay: float = 0.0
    continuous: LinearModel | None = None

    @property
    def dt(self) -> float:
        """The sample time; zero for a continuous loop."""
        return self.plant.dt

    def model(self, factors: ArrayLike = 1.0) -> LinearModel:
        """The model from w, which is added to the commands, to r, the output of the controller; loops are closed with
        these factors.

        The states are those of the plant, then those of the controller.
        """
        P, K = self.plant, self.controller
        m = len(P.inputs)
        p = np.diag(np.broadcast_to(np.asarray(factors, dtype=float), (m,)))
        through = K.D @ P.D
        solve: Array = np.linalg.inv(np.eye(m) - through @ p).astype(np.float64)
        from_x = solve @ np.hstack([K.D @ P.C, K.C])  # r by [x, xk]
        from_w = solve @ through
        u_x, u_w = p @ from_x, np.eye(m) + p @ from_w
        y_x = np.hstack([P.C, np.zeros((len(P.outputs), K.order))]) + P.D @ u_x
        A = np.zeros((P.order + K.order,) * 2)
        A[: P.order, : P.order] = P.A
        A[P.order :, P.order :] = K.A
        A[: P.order] += P.B @ u_x
        A[P.order :] += K.B @ y_x
        B = np.vstack([P.B @ u_w, K.B @ (P.D @ u_w)])
        return LinearModel(
            A, B, from_x, from_w, P.states + tuple(f"controller {x}" for x in K.states), P.inputs,
            tuple(f"answer {name}" for name in P.inputs), name=P.name, dt=self.dt,
        )  # fmt: skip

    def poles(self, factors: ArrayLike = 1.0) -> np.ndarray:
        """Poles of the closed loop; in z for a sampled one."""
        return self.model(factors).poles

    def opened(self, i: int) -> LinearModel:
        """L of loop i with the others closed: the response of -r_i to w_i. The closed loop has 1 + L = 0."""
        m = len(self.plant.inputs)
        factors = np.ones(m)
        factors[i] = 0.0
        found = self.model(factors)
        return replace(
            found, B=found.B[:, i : i + 1], C=-found.C[i : i + 1], D=-found.D[i : i + 1, i : i + 1],
            inputs=found.inputs[i : i + 1], outputs=found.outputs[i : i + 1],
        )  # fmt: skip

    def sampled_every(self, sample_time: float) -> Feedback:
        """The same loop with another sample time."""
        assert self.given is not None
        return _made(*self.given, sample_time, self.delay)

    def later(self, i: int, further: float) -> Feedback:
        """The same sampled loop with an additional delay, s, of the commands to input i."""
        assert self.continuous is not None
        delay = np.full(len(self.plant.inputs), self.delay)
        delay[i] += further
        return replace(self, plant=self.continuous.sampled(self.dt, delay), given=None)

    def growth(self, factors: ArrayLike = 1.0) -> float:
        """The largest of `growths` of the poles: below zero if the loop is stable."""
        return float(growths(self.poles(factors), self.dt).max(initial=-np.inf))

    @property
    def stable(self) -> bool:
        """Whether all poles decay."""
        return self.growth() < 0.0


def growths(poles: np.ndarray, dt: float) -> Array:
    """|z| - 1 of the poles of a sampled loop, or their real parts, plus the rounding: below zero for those that decay."""
    if dt:
        return np.abs(poles) - 1.0 + ROUNDING
    return poles.real + ROUNDING * np.abs(poles).max(initial=0.0)


def feedback_of(
    plant: Any, controller: Any, sample_time: float | None = None, delay: float = 0.0
) -> Feedback:
    """Make the loop of a plant and a controller.

    Parameters
    ----------
    plant : a LinearModel, continuous, or sampled like the controller.
    controller : a matrix K of gains, for u = -K y; a LinearModel, or an object whose method linear() returns one, from
        the plant's outputs to its inputs with its sign, u = K(s) y. A continuous controller with a sample time is
        discretized by the trapezoidal rule.
    sample_time : s; by default that of the controller.
    delay : from a sample to the change of its command, s.
    """
    if not isinstance(plant, LinearModel):
        raise ArgumentTypeError(
            f"plant must be a LinearModel, as lb.linearize returns, got {shown(plant)}."
        )
    plant.single("a loop")
    K = _controller(controller, plant)
    delay = number("delay", delay, minimum=0.0)
    if sample_time is not None:
        sample_time = number("sample_time", sample_time, above=0.0)
    if sample_time is None:
        sample_time = K.dt or plant.dt
    for name, model in (("controller", K), ("plant", plant)):
        if model.dt and abs(model.dt - sample_time) > 1e-9 * sample_time:
            raise ArgumentValueError(
                f"the {name} is sampled every {model.dt:g} s, but sample_time is {sample_time:g} s: they must agree."
            )
    if delay and not sample_time:
        raise ArgumentValueError(
            f"delay={delay:g} needs a sample_time: a continuous loop with a delay has infinitely many poles. Its delay "
            "margin says how much delay it tolerates."
        )
    if delay and plant.dt:
        raise ArgumentValueError(
            "the plant is already sampled, so a delay cannot be added: give the continuous plant."
        )
    late = len(plant.inputs) * delay / sample_time if delay else 0.0
    if late > MOST_LATE:
        raise ArgumentValueError(
            f"delay={delay:g} s with a sample every {sample_time:g} s has {late:.3g} commands in transit at the same "
            f"time, each of them a state of the loop; the maximum is {MOST_LATE}: give a longer sample_time or a shorter "
            "delay."
        )
    return _made(plant, K, sample_time, delay)


def _made(plant: LinearModel, K: LinearModel, sample_time: float, delay: float) -> Feedback:
    if not K.order:  # gains are the same at any sample time
        K = replace(K, dt=0.0)
    given = None if plant.dt or K.dt else (plant, K)
    continuous = None if plant.dt else plant
    if sample_time:
        if not K.dt:
            K = bilinear(K, sample_time)
        if not plant.dt:
            plant = plant.sampled(sample_time, delay)
    return Feedback(plant, K, given, delay, continuous)


def _controller(controller: Any, plant: LinearModel) -> LinearModel:
    """The controller as a model from the plant's outputs to its inputs."""
    m, p = len(plant.inputs), len(plant.outputs)
    linear = getattr(controller, "linear", None)
    if callable(linear):
        observed = hasattr(getattr(controller, "observer", None), "seen")
        controller = linear()
        if observed and controller.inputs != plant.outputs:
            raise ArgumentValueError(
                f"the controller has an observer and takes the readings {', '.join(controller.inputs)}; the outputs of the plant are "
                f"{', '.join(plant.outputs)}. Give the plant as kalman.seen(plant), where kalman is the observer."
            )
    if hasattr(controller, "input_labels") and hasattr(controller, "dt"):
        raise ArgumentTypeError(
            f"controller is a {type(controller).__name__} of python-control: give lb.control.from_control(control.ss(...)) of it. "
            "Its sign is included, u = K(s) y, so negative feedback means negative gains."
        )
    if not isinstance(controller, LinearModel):
        gains = array(
            "controller", controller, (m, p),
            "A matrix of gains K, u = -K y, has a row for each input of the plant and a column for each output.",
        )  # fmt: skip
        none = np.zeros((0, 0))
        return LinearModel(
            none,
            np.zeros((0, p)),
            np.zeros((m, 0)),
            -gains,
            (),
            plant.outputs,
            plant.inputs,
            "gains",
        )
    controller.single("a loop")
    if len(controller.inputs) != p or len(controller.outputs) != m:
        raise ArgumentValueError(
            f"the controller takes {len(controller.inputs)} measurements and gives {len(controller.outputs)} commands, "
            f"but the plant has {p} outputs and {m} inputs. Choose some of them with plant.select(inputs=[...], "
            "outputs=[...])."
        )
    return controller


def frequencies_of(loop: Feedback, zeros: np.ndarray) -> Array:
    """Frequencies for plots of a loop: they span its open- and closed-loop poles, and are dense near these and near its
    zeros.
    """
    opened, closed = loop.model(0.0).rates, loop.model().rates
    both = np.concatenate([opened, closed])
    omega = spanned(both, loop.dt, count=800, decades=2.0)
    if loop.dt:
        with np.errstate(divide="ignore", invalid="ignore"):
            zeros = np.log(zeros.astype(complex)) / loop.dt
    return with_peaks(omega, np.concatenate([both, zeros]))
