r"""Parameters from measured transfer functions.

Solves    min over p of sum |H(i w; p) - H_measured|^2 / variance,    H = D + C (i w - A)^{-1} B
Slopes    dH = dD + dC X + Y dA X + Y dB,    X = (i w - A)^{-1} B,  Y = C (i w - A)^{-1}
          A, B, C, D are those of `lb.linearize`, and their derivatives with respect to the parameters are exact too
          (`linear_slopes`).
Variance  of the real and the imaginary part of H with the coherence g^2 and n averages: |H|^2 (1 - g^2) / (2 n g^2)
          (Bendat & Piersol, Random Data, 9.2).  |H| is that of the model, because weights with the errors of the
          measured magnitudes would favour points that are measured too small.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from limber.assembly.system import System
from limber.checks import Array, array, listed, number, numbers, shown, whole
from limber.constraints import assemble
from limber.control import channels
from limber.control.closed_joints import at_rest, independent_places
from limber.control.joints import joint_places
from limber.control.linear_model import LinearModel
from limber.control.linearize import OF_CLOSURES
from limber.dynamics.evaluate import check_system
from limber.dynamics.reach import coordinate_reach
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.identification.closed_starts import refuse_ruthless
from limber.identification.identified import Identified
from limber.identification.least_squares import Channel, Problem
from limber.identification.linear_slopes import AtRest, linear_slopes
from limber.identification.solve import solved
from limber.identification.unknowns import Sought, sought, with_numbers

#: Coherences above this are set to this value, because no measurement is free of noise.
COHERENT = 1.0 - 1e-9
#: Magnitudes of the model count as far as they are within this factor of the measured ones.
APART = 3.0
#: Changes of weights by less than this fraction are not worth another search.
SETTLED = 0.01
#: A configuration is not the one that was meant if a coordinate settles this far away, in rad or fractions of the system's size.
FALLEN = 0.1
#: What is said of the noise.
LEVEL = "response"


def fit_frequency_response(
    system: System,
    parameters: Any,
    omega: ArrayLike,
    response: ArrayLike,
    inputs: Any,
    outputs: Any,
    *,
    q: ArrayLike | None = None,
    settled: bool = True,
    motors: str | Sequence[str] | None = None,
    coherence: ArrayLike | None = None,
    averages: int = 1,
    noise: float | None = None,
    max_evaluations: int = 100,
) -> Identified:
    """Estimate parameters of a system from measured transfer functions.

    Parameters
    ----------
    parameters : as for `lb.identify`.
    omega : (k,) frequencies, rad/s.
    response : complex (k, outputs, inputs), or (k,) for one of each; nan where there is none.
    inputs, outputs : as for `lb.linearize`.
    q : (nq,) the configuration about which the system moved, at rest; by default the neutral one, or the one that `lb.assemble`
        finds from there. Constant torques hold the joints there.
    settled : whether the modes are in static equilibrium there; the equilibrium follows the parameters.
    motors : in a closed system, the bodies whose joints constant torques hold; by default those whose torques are inputs. The modes
        and the joints without motors are in equilibrium near q, which follows the parameters.
    coherence : with the shape of `response`, from 0 to 1: how much of each output is due to its input. With `averages`
        it gives the weights of the frequencies.
    averages : the number of averages behind `response` and `coherence`.
    noise : relative standard deviation of `response` where there is no coherence; by default estimated from the
        residuals.
    max_evaluations : of the model.

    The residuals of the result are those of real and imaginary parts over frequency, relative to the magnitude of the
    response.
    """
    started = time.perf_counter()
    check_system(system)
    unknowns = sought(system, parameters)
    w = array("omega", omega, ("k",))
    configuration = system.neutral() if q is None else array("q", q, (system.nq,))
    if system.closures and q is None:
        configuration = assemble(system)
    held = _held(system, configuration, settled, motors, inputs, outputs)
    point = AtRest(configuration, settled, inputs, outputs, held)
    model = point.of(system).model(system)
    shape = (len(w), len(model.outputs), len(model.inputs))
    H = _complex("response", response, shape)
    if np.isinf(H).any():
        raise ArgumentValueError(
            f"response is infinite at {w[np.argwhere(np.isinf(H))[0, 0]]:g} rad/s: it must be finite, or nan where it was not "
            "measured."
        )
    if (H == 0.0).any():
        raise ArgumentValueError(
            f"response is zero at {w[np.argwhere(H == 0.0)[0, 0]]:g} rad/s, so its relative error is not defined: give nan "
            "where an output was not measured, or where it does not follow the input."
        )
    level = np.ones(shape)
    estimated: tuple[str, ...] = ()
    sigma = 1.0
    if coherence is not None:
        if noise is not None:
            raise ArgumentTypeError("give coherence or noise, not both: each says how far to trust the response.")  # fmt: skip
        g = numbers("coherence", coherence, str(shape)).reshape(H.shape)
        if not ((g > 0.0) & (g <= 1.0) | np.isnan(H)).all():
            raise ArgumentValueError("coherence must be greater than 0 and at most 1.")
        g = np.minimum(g, COHERENT)
        level = np.sqrt((1.0 - g) / (2.0 * whole("averages", averages, 1) * g))
    elif noise is not None:
        sigma = number("noise", noise, above=0.0)
    else:
        estimated = (LEVEL,)
    problem = FrequencyProblem(system, unknowns, w, H, level, model, point)
    problem.noise[LEVEL] = np.array([sigma])
    most = whole("max_evaluations", max_evaluations, 1)
    return solved(problem, estimated, (1.0,), most, started, "fit_frequency_response")


def _held(
    system: System, q: Array, settled: bool, motors: Any, inputs: Any, outputs: Any
) -> np.ndarray | None:
    """The places in v of the joints of a closed system that torques hold; None for an open system."""
    if not system.closures:
        if motors is not None:
            raise ArgumentTypeError(
                f"motors is for closed systems, but {system.name!r} is open: constant torques hold all of its joints. Leave it out."
            )
        return None
    refuse_ruthless(system)
    if not settled:
        raise ArgumentValueError(
            f"settled=False is for open systems, but {system.name!r} has the closures {listed(system.closures)}."
        )
    read = channels.checked(system, outputs, "outputs", channels.OUTPUTS)
    carried = [one.names[0] for one in read if one.kind in OF_CLOSURES]
    if carried:
        raise ArgumentValueError(
            f"outputs: {listed(carried)} depends on the forces of the closures of {system.name!r}, whose derivatives with respect to "
            "parameters are not supported. Leave it out."
        )
    if motors is None:
        acting = channels.checked(system, inputs, "inputs", channels.INPUTS)
        motors = list(dict.fromkeys(one.of for one in acting if one.kind == "torque"))
    held = np.zeros(0, dtype=int)
    if len(motors) > 0:
        held = np.sort(joint_places(system, motors, "motors").v)
    at = at_rest(system, q, held)
    fallen = np.abs((at - q) / coordinate_reach(system))
    if fallen.max() > FALLEN:
        raise ArgumentValueError(
            f"q is not near an equilibrium of {system.name!r}: {system.describe_q(int(fallen.argmax()))} would settle at "
            f"{at[fallen.argmax()]:.4g}. Name the joints that hold it, motors=[...], or give q=lb.equilibrium(...)."
        )
    if len(independent_places(system, at, [held])) < len(held):
        raise ArgumentValueError(
            f"motors: the closures of {system.name!r} let the joints of {listed(motors)} not move independently, so it is not "
            "known how they share the load. Name as many joints as hold the system: motors=[...]."
        )
    return held


def _complex(name: str, given: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    try:
        H = np.asarray(given, dtype=complex)
    except (TypeError, ValueError):
        raise ArgumentTypeError(
            f"{name} must be complex numbers of shape {shape}, got {shown(given)}."
        ) from None
    if H.ndim == 1 and shape[1:] == (1, 1):
        H = H[:, None, None]
    if H.shape != shape:
        raise ArgumentValueError(
            f"{name} must have shape {shape}, one for each frequency, output and input, got {H.shape}."
        )
    return H


class FrequencyProblem(Problem):
    """Residuals of transfer functions, relative to their magnitudes times `level`.

    The magnitudes are the measured ones at first, and those of the model after `reweigh`.
    """

    def __init__(
        self,
        system: System,
        unknowns: Sequence[Sought],
        omega: Array,
        H: np.ndarray,
        level: Array,
        model: LinearModel,
        point: AtRest,
    ):
        self.omega, self.point = omega, point
        self._measured, self._level = H, level
        self._units = self._units_for(np.abs(H))
        self._there = []
        channels = []
        for i, output in enumerate(model.outputs):
            for j, entry in enumerate(model.inputs):
                there = np.flatnonzero(np.isfinite(H[:, i, j]))
                if not len(there):
                    continue
                for part in ("real", "imaginary"):
                    label = f"{output} / {entry}, {part}"
                    axis = "frequency (rad/s)"
                    self._there.append((i, j, part))
                    channels.append(Channel("response", label, "", axis, LEVEL, 0, 0, there, omega[there], np.empty(0)))  # fmt: skip
        super().__init__(system, unknowns, self._scaled(channels), {})

    def _units_for(self, size: Array) -> Array:
        """The units of the residuals for magnitudes (k, outputs, inputs)."""
        typical = np.nan_to_num(np.abs(self._measured)).max(axis=0, keepdims=True, initial=0.0)
        # a response next to zero would have all the weight
        return np.maximum(size, 1e-6 * typical) * self._level

    def _scaled(self, channels: list[Channel]) -> list[Channel]:
        """The channels with the measured response in the present units."""
        self.channels = channels
        parts = self._channel_parts(self._measured)
        return [replace(c, y=y) for c, y in zip(channels, parts)]

    def reweigh(self, z: Array) -> float:
        """Weight the residuals by the magnitudes of the model at z; return by which fraction the weights changed."""
        system, point = self._system(z)
        modelled, measured = (
            np.abs(_response(point.model(system), self.omega)[0]),
            np.abs(self._measured),
        )
        units = self._units_for(np.clip(modelled, measured / APART, measured * APART))
        change = float(np.nanmax(np.abs(units / self._units - 1.0), initial=0.0))
        if change > SETTLED:
            self._units = units
            self.channels = self._scaled(self.channels)
            self._kept.clear()
        return change

    def until(self, part: float) -> Problem:
        """Return the problem itself: windows do not apply to frequencies."""
        return self

    def _system(self, z: Array) -> tuple[System, AtRest]:
        """The system with these unknowns, and its state at rest."""
        system = with_numbers(self.system, self.unknowns, self.values(z))
        return system, self.point.of(system)

    def _channel_parts(self, H: np.ndarray) -> list[np.ndarray]:
        """The numbers of each channel from (k, outputs, inputs, ...)."""
        found = []
        for c, (i, j, part) in zip(self.channels, self._there):
            units = self._units[c.there, i, j]
            x = H[c.there, i, j] / units.reshape(-1, *(1,) * (H.ndim - 3))
            found.append(x.real if part == "real" else x.imag)
        return found

    def _modelled(self, z: Array) -> list[Array]:
        system, point = self._system(z)
        H, _, _ = _response(point.model(system), self.omega)
        return self._channel_parts(H)

    def _with_slopes(self, z: Array) -> tuple[list[Array], list[Array]]:
        system, point = self._system(z)
        H, X, Y = _response(point.model(system), self.omega)
        columns = []
        for one in self.unknowns:
            dA, dB, dC, dD = linear_slopes(system, point, one.number)
            columns.append(dD + dC @ X + Y @ (dA @ X + dB))
        slopes = np.stack(columns, axis=-1) * self.by_z(z)
        return self._channel_parts(H), self._channel_parts(slopes)


def _response(model: LinearModel, omega: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """H (k, p, m), X (k, n, m) and Y (k, p, n)."""
    s = 1j * omega[:, None, None] * np.eye(model.order) - model.A
    X = np.linalg.solve(s, np.broadcast_to(model.B, (len(omega), *model.B.shape)).astype(complex))
    Y = np.linalg.solve(
        np.swapaxes(s, -1, -2), np.broadcast_to(model.C.T, (len(omega), *model.C.T.shape)).astype(complex)
    )  # fmt: skip
    return model.D + model.C @ X, X, np.swapaxes(Y, -1, -2)
