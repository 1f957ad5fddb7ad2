r"""Outputs that are to follow a path: places of nodes, angles at which nodes are seen, and their rotations.

    ("position", body, node, "x")             a coordinate of a node in the world
    ("angle", body, node, "z")                the angle at which it is seen, about an axis through the first joint of its arm
    ("angle", body, node, "z", (x, y, z))     the same, about an axis through a point
    ("rotation", body, node, "z")             the angle about an axis to which the node is turned, itself

With the place p, the velocity u and the acceleration w of the node from that point, in the plane across the axis,

    angle' = (p x u) / |p|^2,     angle'' = (p x w - 2 angle' (p . u)) / |p|^2

A rotation is the angle of an axis d of the node, x of its frame for rotations about z and so on: d takes the place of p, with
u = omega x d and w = alpha x d + omega x u.  Slopes are exact: those of w come from the kernels, and those of the formulas by complex steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, array, shown
from limber.control.kernel_slopes import STEP, slopes_of
from limber.dynamics.kinematics import acceleration, jacobian, pose
from limber.errors import ArgumentTypeError, ArgumentValueError

AXES = ("x", "y", "z")
KINDS = ("position", "angle", "rotation")


@dataclass(frozen=True, eq=False)
class Output:
    """One output; `axis` is a number from 0 to 2, and `point` is the point from which angles are measured."""

    kind: str
    body: str
    node: int | None
    axis: int
    point: Array
    name: str

    @property
    def across(self) -> tuple[int, int]:
        """The two axes perpendicular to the axis of an angle."""
        return (self.axis + 1) % 3, (self.axis + 2) % 3


@dataclass(frozen=True, eq=False)
class OutputMotion:
    """Outputs (n, m), their rates, their accelerations for zero vdot, and the derivatives (n, m, nv) of the rates with
    respect to v.
    """

    value: Array
    rate: Array
    drift: Array
    slopes: Array


class Outputs:
    """The outputs of a system, for batches of states."""

    def __init__(self, system: System, outputs: tuple[Output, ...]):
        self.system, self.outputs = system, outputs

    def __len__(self) -> int:
        return len(self.outputs)

    @property
    def names(self) -> str:
        """Their names, for messages."""
        return ", ".join(output.name for output in self.outputs)

    def motion(self, q: Array, v: Array) -> OutputMotion:
        """Outputs of states (n, nq), (n, nv)."""
        columns = []
        for output in self.outputs:
            node = output.body, output.node
            R, place = pose(self.system, q, *node)
            J = jacobian(self.system, q, *node)
            V = np.einsum("nij,nj->ni", J, v)
            A = acceleration(self.system, q, v, np.zeros_like(v), *node)
            if output.kind == "rotation":
                p = R[..., output.across[0]]
                u = np.cross(V[:, :3], p)
                w = np.cross(A[:, :3], p) + np.cross(V[:, :3], u)
                J = _cross(J[:, :3], p)
            else:
                p, u, w, J = place - output.point, V[:, 3:], A[:, 3:], J[:, 3:]
            value, rate, drift = _scalars(output, p, u, w)
            columns.append((value, rate, drift, _rate_slopes(output, p, J)))
        value, rate, drift, slopes = (np.stack([c[i] for c in columns], axis=1) for i in range(4))
        return OutputMotion(value, rate, drift, slopes)

    def slopes(self, q: Array, v: Array, vdot: Array) -> tuple[Array, Array, Array]:
        """Derivatives (n, m, 2 nv) of outputs, rates and accelerations with respect to q and v."""
        n, nv = v.shape
        along_q = np.broadcast_to(np.eye(nv, 2 * nv), (n, nv, 2 * nv))
        along_v = np.broadcast_to(np.eye(nv, 2 * nv, nv), (n, nv, 2 * nv))
        given = {"q": (q, along_q), "v": (v, along_v), "vdot": (vdot, np.zeros((n, nv, 2 * nv)))}
        found = []
        accelerations = {
            node: slopes_of(self.system, "acceleration", given, node=node)["a"]
            for node in {(output.body, output.node) for output in self.outputs}
        }
        for output in self.outputs:
            node = output.body, output.node
            a, da = accelerations[node]
            R, place = pose(self.system, q, *node)
            J = jacobian(self.system, q, *node)
            V = np.einsum("nij,nj->ni", J, v)
            # of J vdot + J' v by v: of places 2 d(J v)/dq, of rotations that less J x (J v)
            by_q = 0.5 * da[:, :, nv:]
            by_q[:, :3] += 0.5 * _cross(J[:, :3], V[:, :3])
            dV = np.concatenate([by_q, J], axis=2)
            if output.kind == "rotation":
                p, omega, alpha = R[..., output.across[0]], V[:, :3], a[:, :3]
                dp = np.concatenate([_cross(J[:, :3], p), np.zeros_like(J[:, :3])], axis=2)
                u, du = np.cross(omega, p), _cross(dV[:, :3], p) - _cross(dp, omega)
                w = np.cross(alpha, p) + np.cross(omega, u)
                dw = _cross(da[:, :3], p) - _cross(dp, alpha) + _cross(dV[:, :3], u)
                dw -= _cross(du, omega)
            else:
                p, u, w = place - output.point, V[:, 3:], a[:, 3:]
                dp = np.concatenate([J[:, 3:], np.zeros_like(J[:, 3:])], axis=2)
                du, dw = dV[:, 3:], da[:, 3:]
            moving = (
                np.moveaxis(x[..., None] + 1j * STEP * dx, 1, -1)
                for x, dx in ((p, dp), (u, du), (w, dw))
            )
            found.append([x.imag / STEP for x in _scalars(output, *moving)])
        value, rate, second = (np.stack([f[i] for f in found], axis=1) for i in range(3))
        return value, rate, second

    def missing(self, value: Array, wanted: Array) -> Array:
        """wanted - value; for angles, the shorter way."""
        off = wanted - value
        for i, output in enumerate(self.outputs):
            if output.kind != "position":
                off[..., i] = (off[..., i] + np.pi) % (2.0 * np.pi) - np.pi
        return off


def _cross(columns: Array, x: Array) -> Array:
    """Columns (n, 3, k) times the vectors x (n, 3), as cross products."""
    return np.cross(columns, x[:, :, None], axis=1)


def _scalars(output: Output, p: Any, u: Any, w: Any) -> tuple[Any, Any, Any]:
    """The output, its rate and its acceleration, from those of its node (..., 3), real or complex."""
    if output.kind == "position":
        k = output.axis
        return p[..., k], u[..., k], w[..., k]
    i, j = output.across
    x, y = p[..., i], p[..., j]
    square = x * x + y * y
    rate = (x * u[..., j] - y * u[..., i]) / square
    second = (x * w[..., j] - y * w[..., i] - 2.0 * rate * (x * u[..., i] + y * u[..., j])) / square
    angle = np.arctan2(y.real, x.real)
    if np.iscomplexobj(x):
        angle = angle + 1j * ((x.real * y.imag - y.real * x.imag) / square.real)
    return angle, rate, second


def _rate_slopes(output: Output, p: Array, J: Array) -> Array:
    """The derivatives (n, nv) of the rate of an output with respect to v."""
    if output.kind == "position":
        return J[:, output.axis]
    i, j = output.across
    x, y = p[:, i, None], p[:, j, None]
    return (x * J[:, j] - y * J[:, i]) / (x * x + y * y)


def checked_outputs(system: System, given: Any) -> Outputs:
    """Check the outputs that a user requested."""
    example = '[("position", "link2", "tip", "x"), ("position", "link2", "tip", "y")]'
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentTypeError(f"outputs must be a list such as {example}, got {shown(given)}.")
    found = [_one(system, i, one, example) for i, one in enumerate(given)]
    if not found:
        raise ArgumentValueError(
            f"outputs is empty: give as many as there are joints, as {example}."
        )
    return Outputs(system, tuple(found))


def _one(system: System, i: int, given: Any, example: str) -> Output:
    where = f"outputs[{i}]"
    if not isinstance(given, list | tuple) or not 4 <= len(given) <= 5:
        raise ArgumentTypeError(
            f"{where} must have a kind, a body, a node and an axis, as in {example}; got {shown(given)}."
        )
    kind, body, node, axis, *rest = given
    if kind not in KINDS:
        raise ArgumentValueError(
            f"{where}: the kind must be 'position', 'angle' or 'rotation', got {shown(kind)}."
        )
    if axis not in AXES:
        raise ArgumentValueError(f"{where}: the axis must be 'x', 'y' or 'z', got {shown(axis)}.")
    if rest and kind != "angle":
        raise ArgumentValueError(
            f"{where}: only an angle has a point from which it is measured; leave it out."
        )
    at = system.node_number(body, node, f"{where}: node")
    point = np.zeros(3)
    if kind == "angle":
        point = array(f"{where}: point", rest[0], (3,)) if rest else _first_joint(system, body)
    name = " ".join(str(x) for x in (kind, body, node, axis) if x is not None)
    return Output(kind, body, at, AXES.index(axis), point, name)


def _first_joint(system: System, body: str) -> Array:
    """The position of the joint that connects the arm of a body to the world."""
    while system.attachments[body].to != "world":
        body = system.attachments[body].to
    return pose(system, system.neutral(), body)[1]
