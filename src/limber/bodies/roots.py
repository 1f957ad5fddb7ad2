"""The root of a function between two points with different signs.

SciPy has several such searches, but importing them takes longer than everything else that a beam needs.
"""

from __future__ import annotations

import math
from collections.abc import Callable

#: A root is found when it moves by less than this fraction of itself.
EXACT = 4.0e-16


def bracketed_root(f: Callable[[float], float], left: float, right: float) -> float:
    """The root of `f` between `left` and `right`, to rounding.

    Ridders (1979): regula falsi on f times the exponential that makes the values at both ends and in the middle a line.  The
    bracket at least halves at every step, and the steps converge quadratically; each evaluates f twice.
    """
    f_left, f_right = f(left), f(right)
    if f_left == 0.0 or f_right == 0.0:
        return left if f_left == 0.0 else right
    last = math.inf
    while True:
        middle = 0.5 * (left + right)
        f_middle = f(middle)
        if f_middle == 0.0 or middle in (left, right):
            return middle
        weight = f_middle / math.sqrt(f_middle**2 - f_left * f_right)
        root = middle + (middle - left) * math.copysign(weight, f_left * f_middle)
        f_root = f(root)
        if f_root == 0.0 or not abs(root - last) > EXACT * abs(root):
            return root
        last = root
        # the narrowest of the brackets that the two new points make
        if f_middle * f_root < 0.0:
            (left, f_left), (right, f_right) = sorted([(middle, f_middle), (root, f_root)])
        elif f_left * f_root < 0.0:
            right, f_right = root, f_root
        else:
            left, f_left = root, f_root
