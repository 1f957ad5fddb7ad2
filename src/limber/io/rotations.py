"""Rotations in files: a matrix, roll-pitch-yaw, axis and angle, or a quaternion."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np

from limber.checks import Array, unit_quaternion
from limber.checks import axis as unit_axis
from limber.errors import ArgumentValueError
from limber.io.fields import Axis, Flag, Matrix, Number, Vector, numbers
from limber.io.section import Section


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine, exact at multiples of a right angle (tables are full of them)."""
    quarter = angle / (math.pi / 2.0)
    if quarter == round(quarter) and abs(quarter) < 1e6:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[int(quarter) % 4]
    return math.cos(angle), math.sin(angle)


def rpy_matrix(rpy: Array) -> Array:
    """Rz(yaw) Ry(pitch) Rx(roll), as in URDF: rotations about the fixed axes x, y, z in this order."""
    (cr, sr), (cp, sp), (cy, sy) = (cos_sin(float(angle)) for angle in rpy)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def axis_angle_matrix(axis: Array, angle: float) -> Array:
    """The rotation by `angle` about the unit vector `axis`."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    c, s = cos_sin(angle)
    return np.eye(3) + s * cross + (1.0 - c) * (cross @ cross)


def quaternion_matrix(quaternion: Array) -> Array:
    """The rotation of a unit quaternion, scalar first."""
    w, x, y, z = quaternion / math.hypot(*quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


class RotationSection(Section):
    """A rotation; a 3 x 3 list is a short form of {matrix: ...}."""

    one_of: ClassVar[tuple[str, ...]] = ("matrix", "rpy", "axis", "quaternion")
    short: ClassVar[str] = "a 3 x 3 matrix"
    matrix: Matrix | None = None
    rpy: Vector | None = None
    axis: Axis | None = None
    angle: Number | None = None
    quaternion: Annotated[Any, numbers((4,))] | None = None
    degrees: Flag = False

    @classmethod
    def shorthand(cls, data: Any) -> Any:
        """A list is the matrix."""
        return {"matrix": data} if isinstance(data, list) else data

    def build(self) -> Array:
        """The 3 x 3 matrix; `Assembly.attach` checks that it is a rotation."""
        unit = math.pi / 180.0 if self.degrees else 1.0
        if (self.axis is None) != (self.angle is None):
            raise ArgumentValueError(
                "axis and angle belong together: give both, with the angle in radians."
            )
        if self.degrees and self.rpy is None and self.angle is None:
            raise ArgumentValueError("degrees can only be used with rpy, or with axis and angle.")
        if self.rpy is not None:
            return rpy_matrix(unit * self.rpy)
        if self.axis is not None and self.angle is not None:
            return axis_angle_matrix(unit_axis("axis", self.axis), unit * self.angle)
        if self.quaternion is not None:
            unit_quaternion("quaternion", self.quaternion)
            return quaternion_matrix(self.quaternion)
        if self.matrix is None:
            raise ArgumentValueError("rotation has no value: give its numbers.")
        return self.matrix
