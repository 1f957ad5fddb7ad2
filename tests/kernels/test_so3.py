"""The series behind exp(x~) and its left Jacobian."""

from fractions import Fraction
from math import factorial

import pytest

from limber.kernels import plain

so3 = plain.load().so3


def exact(n, u, derivative=False):
    """g_n(u) or dg_n/du by its power series, in rational arithmetic."""
    u = Fraction(u)
    terms = ((-1) ** k * Fraction(1, factorial(2 * k + n)) for k in range(30))
    if derivative:
        return float(sum(k * c * u ** (k - 1) for k, c in enumerate(terms) if k))
    return float(sum(c * u**k for k, c in enumerate(terms)))


@pytest.mark.parametrize("u", [0.0, 1e-6, 0.1, 0.5, 1.0])
def test_coefficients_and_rates_reach_rounding_up_to_one_radian(u):
    expected = [exact(1, u), exact(2, u), exact(3, u), exact(2, u, True), exact(3, u, True)]
    for value, reference in zip(so3.series(u), expected):
        assert value == pytest.approx(reference, rel=1e-15 * 2)
