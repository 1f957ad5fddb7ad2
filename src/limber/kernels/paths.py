"""Motions along a path: the piece of the path at a time, and its position, velocity and acceleration.

A path has `count` knots, which are increasing times, and count + 1 pieces: one before the first knot, one between
each two knots and one after the last.  A piece has PIECE numbers for each joint: an origin o, the six coefficients
of a polynomial, an amplitude b and its frequency w,

    x = t - o,    position = c0 + c1 x + ... + c5 x^5 + b/w sin(w x)

with w = 1 where b is zero.  At a knot the later piece applies; at the last knot, where the path ends, the earlier
one does.  This file is only compiled: paths are not traced.
"""

from .path_layout import COEFFICIENTS, FREQUENCY, ORIGIN, PIECE, SWING
from .scalar import cos, kernel, sin


@kernel
def piece_at(knots, count, t):
    """The number of the piece that applies at time t."""
    if t == knots[count - 1]:
        return count - 1
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if knots[middle] <= t:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def along(knots, count, pieces, joints, t, position, velocity, acceleration):
    """Position, velocity and acceleration of the joints at time t."""
    at = piece_at(knots, count, t) * joints * PIECE
    for j in range(joints):
        c = at + COEFFICIENTS
        x = t - pieces[at + ORIGIN]
        c1, c2, c3 = pieces[c + 1], pieces[c + 2], pieces[c + 3]
        c4, c5 = pieces[c + 4], pieces[c + 5]
        position[j] = pieces[c] + x * (c1 + x * (c2 + x * (c3 + x * (c4 + x * c5))))
        velocity[j] = c1 + x * (2.0 * c2 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5)))
        acceleration[j] = 2.0 * c2 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5))
        b, w = pieces[at + SWING], pieces[at + FREQUENCY]
        if b != 0.0:
            s = sin(w * x)
            position[j] += b / w * s
            velocity[j] += b * cos(w * x)
            acceleration[j] -= b * w * s
        at += PIECE
