"""Exact sensor readings along a motion, with derivatives with respect to the unknowns.

Each sensor of `limber.control` that is a function of the motion has one entry here: its reading without noise, which
`Sensor.reader` gives for one instant, for all times at once and with derivatives. The derivatives come from the kernels
by complex steps (`control.kernel_slopes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from limber.assembly import parameters as table
from limber.assembly.system import System
from limber.checks import Array, listed, shown
from limber.control.kernel_slopes import Moving, along_tangent, slopes_of
from limber.control.sensors import (
    Accelerometer,
    Encoder,
    ForceTorque,
    Gyro,
    StrainGauge,
    Tachometer,
)
from limber.control.sensors.base import Sensor
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.identification.sensitivity import Motion
from limber.simulation.opened_joint import opened_at, places_in

#: Symmetric matrices of which the kernels read both triangles.
BOTH = ("stiffness", "damping")


def reading(sensor: Sensor, motion: Motion) -> Moving:
    """The reading (n, width) of a sensor along a motion, without noise but with its constant bias, and its derivatives
    (n, width, d).
    """
    value, slopes = _KINDS[type(sensor)](sensor, motion)
    return value + sensor.bias, slopes


def checked(system: System, sensors: Any, argument: str = "sensors") -> list[Sensor]:
    """Check the given sensors: their names must differ, and all must be functions of the motion."""
    given = [sensors] if isinstance(sensors, Sensor) else sensors
    if not isinstance(given, Sequence) or not given:
        raise ArgumentTypeError(
            f"{argument} must be sensors, as in [lb.control.Encoder(rate=100.0)], got {shown(sensors)}."
        )
    for one in given:
        if type(one) not in _KINDS:
            raise ArgumentTypeError(
                f"{argument} may have {listed(kind.__name__ for kind in _KINDS)}, got {shown(one)}."
            )
        if system.closures and isinstance(one, ForceTorque):
            raise ArgumentTypeError(
                f"{argument}: the reading of {one.name!r} depends on the forces of the closures of {system.name!r}, whose "
                "derivatives are not supported. Leave this sensor out."
            )
        one.reader(system)  # checks its names
    names = [one.name for one in given]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ArgumentValueError(
            f"{argument} has several sensors with the name {', '.join(map(repr, twice))}: give each its own name=...."
        )
    return list(given)


def deviations(sensor: Sensor, width: int) -> Array:
    """The standard deviation of one reading according to the sensor: noise and quantization; zero if it has none."""
    variance = (
        sensor.noise_density**2 * sensor.rate + sensor.noise**2 + sensor.quantization**2 / 12.0
    )
    return np.broadcast_to(np.sqrt(variance), (width,)).astype(float)


# --- the sensors ----------------------------------------------------------------------------------


def _encoder(sensor: Any, motion: Motion) -> Moving:
    q = sensor.reader(motion.system).q
    _, slopes = along_tangent(motion.system, motion.q, motion.dq)
    return motion.q[:, q], slopes[:, q]


def _tachometer(sensor: Any, motion: Motion) -> Moving:
    v = sensor.reader(motion.system).v
    return motion.v[:, v], motion.dv[:, v]


def _strain_gauge(sensor: Any, motion: Motion) -> Moving:
    where = motion.system.layout[sensor.body]
    rows = sensor.rows(motion.system)
    return motion.q[:, where.q_modes] @ rows.T, rows @ motion.dq[:, where.v_modes]


def _gyro(sensor: Any, motion: Motion) -> Moving:
    node = sensor.body, motion.system.node_number(sensor.body, sensor.node)
    axes = _along(motion, "pose", ("q",), node)["R"]
    J, dJ = _along(motion, "jacobian", ("q",), node)["J"]
    n, d = len(J), dJ.shape[-1]
    nv = motion.system.nv
    J, dJ = J.reshape(n, 6, nv)[:, :3], dJ.reshape(n, 6, nv, d)[:, :3]
    value = np.einsum("nij,nj->ni", J, motion.v)
    slopes = J @ motion.dv + np.einsum("nijd,nj->nid", dJ, motion.v)
    return _in_axes(sensor, axes, (value, slopes))


def _accelerometer(sensor: Any, motion: Motion) -> Moving:
    node = sensor.body, motion.system.node_number(sensor.body, sensor.node)
    axes = _along(motion, "pose", ("q",), node)["R"]
    value, slopes = _along(motion, "acceleration", ("q", "v", "vdot"), node)["a"]
    slopes = slopes[:, 3:].copy()
    for j, (name, place) in enumerate(motion.numbers):
        if name == "gravity":
            slopes[:, place[0], j] -= 1.0
    return _in_axes(sensor, axes, (value[:, 3:] - motion.system.gravity, slopes))


def _force_torque(sensor: Any, motion: Motion) -> Moving:
    s = motion.system
    opened, cut = opened_at(s, sensor.body)
    at_q, at_v = places_in(s, opened)
    n, d = motion.dq.shape[0], motion.dq.shape[-1]
    q, v, vdot = (
        np.tile(opened.neutral(), (n, 1)),
        np.zeros((n, opened.nv)),
        np.zeros((n, opened.nv)),
    )
    q[:, at_q], v[:, at_v], vdot[:, at_v] = motion.q, motion.v, motion.vdot
    slopes = np.zeros((3, n, opened.nv, d))
    slopes[:, :, at_v] = motion.dq, motion.dv, motion.dvdot
    placed = (f"{sensor.body}.offset", f"{cut}.offset")
    numbers = [(placed[1] if name == placed[0] else name, place) for name, place in motion.numbers]
    whole = replace(
        motion, system=opened, q=q, v=v, vdot=vdot, numbers=numbers, dq=slopes[0], dv=slopes[1], dvdot=slopes[2],
    )  # fmt: skip
    value, slope = _along(whole, "inverse_dynamics", ("q", "v", "vdot"))["tau"]
    taken = opened.layout[cut].v_joint
    return value[:, taken], slope[:, taken]


_KINDS: dict[type, Callable[[Any, Motion], Moving]] = {
    Encoder: _encoder,
    Tachometer: _tachometer,
    StrainGauge: _strain_gauge,
    Gyro: _gyro,
    Accelerometer: _accelerometer,
    ForceTorque: _force_torque,
}


def _in_axes(sensor: Any, axes: Moving, vector: Moving) -> Moving:
    """A vector in world axes, in those of a sensor at a node with the axes R (n, 9)."""
    n, d = len(axes[0]), axes[1].shape[-1]
    R, dR = axes[0].reshape(n, 3, 3) @ sensor.rotation, axes[1].reshape(n, 3, 3, d)
    dR = np.einsum("nijd,jk->nikd", dR, sensor.rotation)
    value = np.einsum("nij,ni->nj", R, vector[0])
    slopes = np.einsum("nij,nid->njd", R, vector[1])
    return value, slopes + np.einsum("nijd,ni->njd", dR, vector[0])


# --- kernels along a motion -----------------------------------------------------------------------


def _along(
    motion: Motion, row: str, inputs: Sequence[str], node: tuple[str, int | None] | None = None
) -> dict[str, Moving]:
    """The outputs of a row of the table along a motion, with their derivatives with respect to the state and numbers of
    the model.
    """
    s, d = motion.system, motion.dq.shape[-1]
    states = {
        "q": (motion.q, motion.dq),
        "v": (motion.v, motion.dv),
        "vdot": (motion.vdot, motion.dvdot),
    }
    if d == 0:  # one direction in which nothing moves
        states = {key: (x, np.zeros((*x.shape[:1], s.nv, 1))) for key, (x, _) in states.items()}
    given = {key: states[key] for key in inputs}
    given["q"] = along_tangent(s, *given["q"])
    loads = {}
    if node is None:
        loads = {
            (body, s.node_number(body, at)): (x, np.zeros((*x.shape, max(d, 1))))
            for (body, at), x in motion.external.items()
        }
    found = slopes_of(s, row, given, node=node, external=loads)
    result = {key: (value, slopes[..., :d].copy()) for key, (value, slopes) in found.items()}
    still = {key: (x, np.zeros((*x.shape, 1))) for key, (x, _) in given.items()}
    loads = {end: (x, np.zeros((*x.shape, 1))) for end, (x, _) in loads.items()}
    for j, (name, place) in enumerate(motion.numbers):
        parameter = table.find(s, name)
        if node is not None and parameter.quantity != "offset":
            continue  # motions of nodes depend on no other
        both = parameter.quantity in BOTH and len(place) == 2 and place[0] != place[1]
        for at in (place, place[::-1]) if both else (place,):
            i = int(np.ravel_multi_index(at, parameter.value.shape)) if at else 0
            moved = slopes_of(
                s, row, still, node=node, external=loads, stepped=(parameter, i)
            )  # fmt: skip
            for key, (_, slopes) in result.items():
                slopes[..., j] += moved[key][1][..., 0]
    return result
