"""Bodies can be told apart by their colours."""

import numpy as np
import pytest

from limber.drawing.colours import COLOURS, colour


def lab(code):
    """CIE L*a*b* of "#rrggbb" under D65."""
    c = np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    ) @ linear / [0.95047, 1.0, 1.08883]  # fmt: skip
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("n", range(9, 31))
def test_colours_of_bodies_are_apart_and_those_of_neighbours_far(n):
    found = np.array([lab(colour(i)) for i in range(n)])
    distance = np.linalg.norm(found[:, None] - found[None], axis=2)
    assert (distance + 1e3 * np.eye(n)).min() > 25.0
    assert np.diag(distance, 1).min() > 38.0
    assert found[:, 0].min() > 30.0 and found[:, 0].max() < 82.0  # seen on white and on black


def test_neighbours_differ_in_long_chains_too():
    codes = [colour(i) for i in range(200)]
    assert len(set(codes)) == len(COLOURS) == 30
    found = np.array([lab(code) for code in codes])
    assert np.linalg.norm(np.diff(found, axis=0), axis=1).min() > 38.0
