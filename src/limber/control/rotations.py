"""Quaternions and rotations. The scalar comes first, and a quaternion maps components in the rotated axes to components
in the original axes.
"""

from __future__ import annotations

import math

import numpy as np

from limber.checks import Array


def quaternion_of(R: Array) -> Array:
    """The unit quaternion of a rotation matrix, with a nonnegative scalar."""
    # Each row has one part of the quaternion times all others; that of the largest part is accurate.
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    K = np.array(
        [
            [1.0 + trace, R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], 1.0 + 2.0 * R[0, 0] - trace, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], 1.0 + 2.0 * R[1, 1] - trace, R[1, 2] + R[2, 1]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1.0 + 2.0 * R[2, 2] - trace],
        ]
    )
    row = K[int(np.argmax(np.diag(K)))]
    row = row / math.sqrt(row @ row)
    return -row if row[0] < 0.0 else row


def quaternion_of_vector(rotation: Array) -> Array:
    """The quaternion of a rotation vector, rad."""
    angle = math.sqrt(rotation @ rotation)
    half = 0.5 * angle
    scale = math.sin(half) / angle if angle > 0.0 else 0.5
    return np.array([math.cos(half), *(scale * rotation)])


def product(a: Array, b: Array) -> Array:
    """The product of two quaternions: first the rotation b, then a."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return np.array(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ]
    )


def conjugate(a: Array) -> Array:
    """The quaternion of the inverse rotation."""
    return np.array([a[0], -a[1], -a[2], -a[3]])


def matrix_of(a: Array) -> Array:
    """The rotation matrix of a unit quaternion."""
    w, x, y, z = a
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
