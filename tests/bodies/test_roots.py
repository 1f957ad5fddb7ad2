"""Roots between two points, against closed forms."""

import math

import numpy as np
import pytest

from limber.bodies.roots import bracketed_root

CASES = {
    "line": (lambda x: 2.0 * x - 1.0, 0.0, 3.0, 0.5),
    "at the left end": (lambda x: x, 0.0, 1.0, 0.0),
    "at the right end": (lambda x: x - 1.0, 0.0, 1.0, 1.0),
    "in the middle": (lambda x: x**3, -1.0, 1.0, 0.0),
    "falling": (math.cos, 0.0, 3.0, 0.5 * math.pi),
    "cubic with a flat part": (lambda x: (x - 0.3) ** 3, 0.0, 1.0, 0.3),
    "near zero": (lambda x: math.cos(x) - 1e12 * x * math.sin(x), 0.0, 1.5, 1e-6),
    "a jump": (lambda x: 1.0 if x > 0.7 else -1.0, 0.0, 1.0, 0.7),
    "steep": (lambda x: math.expm1(30.0 * (x - 0.9)), 0.0, 1.0, 0.9),
}


@pytest.mark.parametrize("case", CASES)
def test_roots_are_found_to_rounding(case):
    f, left, right, expected = CASES[case]
    tolerance = {"cubic with a flat part": 1e-5, "near zero": 1e-12}.get(case, 1e-15)
    for ends in ((left, right), (right, left)):
        assert bracketed_root(f, *ends) == pytest.approx(expected, rel=tolerance, abs=1e-300)


def test_it_needs_few_evaluations():
    rng = np.random.default_rng(0)
    for shift in rng.uniform(-1.0, 1.0, 50):
        asked = []

        def f(x, shift=shift, asked=asked):
            asked.append(x)
            return math.tanh(3.0 * (x - shift)) + 0.1 * (x - shift)

        assert bracketed_root(f, -1.5, 1.5) == pytest.approx(shift, abs=1e-15)
        assert len(asked) <= 24


def test_a_function_without_numbers_ends():
    assert math.isnan(bracketed_root(lambda x: math.nan, 0.0, 1.0))
