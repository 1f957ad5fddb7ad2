"""Linear models of systems at rest, with their exact derivatives with respect to numbers of the model.

Constant torques hold the joints, and modes may be in static equilibrium. Both follow the number p: along it,

    modes in equilibrium   q_m' = -K_mm^{-1} f_m',     held joints   tau_j' = f_j' + K_jm q_m',

where f' is the derivative of inverse dynamics with respect to p at rest, and K that with respect to q. A and B are
derivatives of forward dynamics along x and u, and their own derivatives along p are mixed second derivatives
(`mixed_slopes`). C and D follow from those and from the Jacobians of nodes. The model of a closed system has independent
coordinates: (A, C) T with [dq, dv] = T x, so that dT = d[dq, dv] along p counts too (`closed_rest`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from limber.assembly import parameters
from limber.assembly.parameters import Parameter
from limber.assembly.system import System
from limber.checks import Array
from limber.control import channels
from limber.control.channels import Channel
from limber.control.closed_joints import at_rest, holding_torques
from limber.control.kernel_slopes import along_tangent, slopes_of
from limber.control.linear_model import LinearModel
from limber.control.linearize import all_slopes, linearize
from limber.dynamics import derivatives, inverse_dynamics
from limber.dynamics.carried import to_body_frame
from limber.identification.closed_rest import ClosedRest
from limber.identification.mixed_slopes import Twice, mixed_slopes
from limber.identification.sensitivity import Number, in_balance, modes_of

#: The shapes of section forces are proportional to a stiffness, and those of strains depend on no number of the model, so that
#: differences of them are exact; their relative step.
STEP = 0.125


@dataclass(frozen=True, eq=False)
class AtRest:
    """A configuration at rest about which a system makes small motions, and the inputs and outputs of its linear model.

    settled : whether the modes of q are in static equilibrium.
    held : in a closed system, the places in v of the joints that torques hold; the others are in equilibrium.
    """

    q: Array
    settled: bool
    inputs: Any
    outputs: Any
    held: np.ndarray | None = None

    def of(self, system: System) -> AtRest:
        """The same with the modes in the equilibrium of this system."""
        if self.held is not None:
            return replace(self, q=at_rest(system, self.q, self.held))
        return replace(self, q=in_balance(system, self.q)) if self.settled else self

    def torques(self, system: System) -> Array:
        """The torques (nv,) that hold the joints."""
        rest = np.zeros(system.nv)
        if self.held is not None:
            rest[self.held] = holding_torques(system, self.q, self.held, "q")
            return rest
        tau = inverse_dynamics(system, self.q, rest, rest)
        tau[modes_of(system)] = 0.0
        return tau

    def model(self, system: System) -> LinearModel:
        """The linear model of a system whose modes are in its equilibrium."""
        rest = np.zeros(system.nv)
        return linearize(system, self.q, rest, self.torques(system), self.inputs, self.outputs)


def linear_slopes(
    system: System, point: AtRest, number: Number
) -> tuple[Array, Array, Array, Array]:
    """The derivatives of A, B, C and D with respect to one number of the model; the modes of `point` are in
    equilibrium.
    """
    nv = system.nv
    moved = _Moved(system, point, parameters.find(system, number[0]), number[1])
    outputs = channels.checked(system, point.outputs, "outputs", channels.OUTPUTS)
    A, B = np.zeros((2 * nv, 2 * nv)), np.zeros((2 * nv, moved.directions - 2 * nv))
    A[nv:], B[nv:] = np.split(moved.vdot.mixed, [2 * nv], axis=1)
    rows = [_KINDS[one.kind](moved, one)[list(one.components)] for one in outputs]
    C, D = np.split(np.concatenate(rows), [2 * nv], axis=1)
    if moved.closed is None:
        return A, B, C, D
    T, dT = moved.closed.motions()
    n = T.shape[1] // 2
    kept = np.append(moved.closed.kept, nv + moved.closed.kept)
    lower = moved.vdot.slopes[:, : 2 * nv] @ dT
    A, B = (A @ T)[kept], B[kept]
    A[n:] += lower[moved.closed.kept]
    C = C @ T + all_slopes(system, point.q, moved.tau.value, inputs=moved.inputs, outputs=outputs)[:, : 2 * nv] @ dT  # fmt: skip
    return A, B, C, D


class _Moved:
    """A state at rest with derivatives along x = [dq, dv] and the inputs u, and along p, one number of the model."""

    def __init__(self, system: System, point: AtRest, parameter: Parameter, place: tuple[int, ...]):
        self.system, self.parameter, self.place = system, parameter, place
        self.outputs = point.outputs
        self.inputs = channels.checked(system, point.inputs, "inputs", channels.INPUTS)
        nv = system.nv
        count = sum(len(one.components) for one in self.inputs)
        self.directions = 2 * nv + count
        self.dq, self.dv, df = np.zeros((3, nv, self.directions))
        self.dq[:, :nv], self.dv[:, nv : 2 * nv] = np.eye(nv), np.eye(nv)
        self.wrenches: dict[tuple[str, int | None], Twice] = {}
        column = 2 * nv
        for one in self.inputs:
            for component in one.components:
                if one.kind in ("force", "moment"):
                    none = Twice.along(np.zeros(6), np.zeros((6, self.directions)))
                    slopes = self.wrenches.setdefault((one.of, one.node), none).slopes
                    slopes[component + (3 if one.kind == "force" else 0), column] = 1.0
                else:
                    where = system.layout[one.of]
                    part = where.v_modes if one.kind == "mode_force" else where.v_joint
                    df[part.start + component, column] = 1.0
                column += 1
        self.closed = None
        if point.held is not None:
            self.closed = ClosedRest(system, point.q, point.torques(system), point.held, parameter, place)  # fmt: skip
            self.along_p, torques = self.closed.along_p, self.closed.torques
        else:
            self.along_p, torques = self._held(point)
        _, coordinates = along_tangent(system, point.q, self.dq)
        _, shift = along_tangent(system, point.q, self.along_p[:, None])
        self.q = Twice(point.q, coordinates, shift[:, 0], self._turned(point.q, shift))
        self.v = Twice.along(np.zeros(nv), self.dv)
        self.tau = Twice.along(point.torques(system), df, torques)

    def _held(self, point: AtRest) -> tuple[Array, Array]:
        """The derivatives of q, in the layout of v, and of tau along p."""
        s, rest = self.system, np.zeros(self.system.nv)
        by = derivatives(s, point.q, rest, rest, "inverse_dynamics", by=("q", self.parameter.name))
        force = by.parameters[self.parameter.name][(slice(None), *self.place)]
        moved, modes = np.zeros(s.nv), modes_of(s)
        if point.settled and len(modes):
            moved[modes] = -np.linalg.solve(by.q[np.ix_(modes, modes)], force[modes])
        torques = force + by.q @ moved
        torques[modes] = 0.0
        return moved, torques

    def _turned(self, q: Array, shift: Array) -> Array:
        """The derivatives along p of the slopes of coordinates, which are not zero for joints that move with p."""
        found = np.zeros((len(q), self.directions))
        if self.closed is not None:
            nv = self.system.nv
            given = {
                "q": (np.tile(q, (nv, 1)), np.tile(shift, (nv, 1, 1))),
                "v": (np.eye(nv), np.zeros((nv, nv, 1))),
            }
            (out,) = slopes_of(self.system, "qdot", given).values()
            found[:, :nv] = out[1][..., 0].T
        return found

    def mixed(
        self, row: str, given: dict[str, Twice], node: tuple[str, int | None] | None = None
    ) -> dict[str, Twice]:
        """The outputs of a row of the table."""
        return mixed_slopes(
            self.system, row, given, self.parameter, self.place, node=node, external=self.wrenches
        )

    @cached_property
    def vdot(self) -> Twice:
        """Forward dynamics."""
        given = {"q": self.q, "v": self.v, "tau": self.tau}
        row = "articulated_sweep" if self.closed is None else "closed_sweep"
        return self.mixed(row, given)["vdot"]

    @cached_property
    def wrenches_of_joints(self) -> Twice:
        """The wrenches of the joints on the bodies, (6 bodies,)."""
        given = {"q": self.q, "v": self.v, "vdot": self.vdot}
        return self.mixed("carried_wrenches", given)["wrenches"]

    @cached_property
    def changed(self) -> tuple[tuple[list[Channel], list[Channel]], float] | None:
        """The outputs of the system with a larger and a smaller number, and their difference; None for a number that is
        zero.
        """
        value = np.array(self.parameter.value, dtype=float)
        size = STEP * abs(float(value[self.place]))
        if size == 0.0:
            return None
        ends = []
        for change in (size, -size):
            x = value.copy()
            x[self.place] += change
            system = self.system.with_parameters({self.parameter.name: x})
            ends.append(channels.checked(system, self.outputs, "outputs", channels.OUTPUTS))
        return (ends[0], ends[1]), 2.0 * size

    def jacobian(self, channel: Channel) -> Array:
        """The derivative along p of the Jacobian (6, nv) of a node."""
        given = {"q": (self.q.value, self.q.other[:, None])}
        node = channel.of, channel.node
        i = int(np.ravel_multi_index(self.place, self.parameter.value.shape)) if self.place else 0
        found = slopes_of(self.system, "jacobian", given, node=node, stepped=(self.parameter, i))
        return found["J"][1].reshape(6, -1)


# --- outputs: the slopes along p of their slopes along x and u, (components, d) -------------------

_Slopes = Callable[[_Moved, Channel], Array]


def _none(moved: _Moved, channel: Channel) -> Array:
    """Zero: coordinates, speeds, modes and torques are those of x and u, independent of p."""
    return np.zeros((max(channel.components) + 1, moved.directions))


def _placed(first: int, of: str) -> _Slopes:
    """Derivatives of J dq and, at rest, J dv: rows 0 to 2 of the Jacobian are angular, 3 to 5 linear."""

    def slopes(moved: _Moved, channel: Channel) -> Array:
        return moved.jacobian(channel)[first : first + 3] @ getattr(moved, of)

    return slopes


def _accelerated(first: int) -> _Slopes:
    def slopes(moved: _Moved, channel: Channel) -> Array:
        given = {"q": moved.q, "v": moved.v, "vdot": moved.vdot}
        found = moved.mixed("acceleration", given, (channel.of, channel.node))["a"]
        return found.mixed[first : first + 3]

    return slopes


def _deflection(moved: _Moved, channel: Channel) -> Array:
    """Derivatives of gamma eta + 1/2 eta^T B eta, in body axes."""
    assert channel.node is not None
    where = moved.system.layout[channel.of].v_modes
    second = moved.system.bodies[channel.of].node_set.shapes[[channel.node]].second
    if second is None:
        return _none(moved, channel)
    return second[0] @ moved.along_p[where] @ moved.dq[where]


def _recovered(moved: _Moved, channel: Channel) -> Array:
    """Derivatives of strains and section forces, which are linear in the modes."""
    along = moved.dq[moved.system.layout[channel.of].v_modes]
    if moved.parameter.body != channel.of or not moved.changed:
        return _none(moved, channel)
    (ahead, behind), size = moved.changed
    slope = (_shape(ahead, channel) - _shape(behind, channel)) / size
    return slope[None] @ along


def _shape(among: list[Channel], channel: Channel) -> Array:
    """The modal shape of the channel of the same name."""
    shape = next(one.shape for one in among if one.names == channel.names)
    assert shape is not None
    return shape


def _joint_force(moved: _Moved, channel: Channel) -> Array:
    i = 6 * (moved.system.number(channel.of) - 1)
    return to_body_frame(moved.system, channel.of) @ moved.wrenches_of_joints.mixed[i : i + 6]


_KINDS: dict[str, _Slopes] = {
    "coordinate": _none,
    "speed": _none,
    "torque": _none,
    "mode": _none,
    "mode_speed": _none,
    "rotation": _placed(0, "dq"),
    "position": _placed(3, "dq"),
    "angular_velocity": _placed(0, "dv"),
    "velocity": _placed(3, "dv"),
    "angular_acceleration": _accelerated(0),
    "acceleration": _accelerated(3),
    "deflection": _deflection,
    "strain": _recovered,
    "section_force": _recovered,
    "joint_force": _joint_force,
}
