"""The table of docs/theory/counts.md, recomputed."""

import re
from pathlib import Path

import numpy as np
import pytest

import limber as lb
from helpers.chains import dense_chain
from limber.algebra.plan import steps

PAGE = Path(__file__).parents[2] / "docs" / "theory" / "counts.md"
ROWS = [
    [int(x) for x in re.findall(r"\d+", row)]
    for row in re.findall(
        r"^\| \d.*", PAGE.read_text().split("# Operation counts of generated code")[0], re.M
    )
]


def operators(bodies, m):
    """Operators of a chain at a random configuration."""
    s = dense_chain(bodies, m, "full")
    return lb.operators(s, s.neutral() + 0.1 * np.random.default_rng(1).standard_normal(s.nq))


def per_body(m, expressions):
    """(multiplications, additions) of one more interior body."""
    counts = []
    for bodies in (4, 5):
        found = [step for e in expressions(operators(bodies, m)) for step in steps(e)]
        counts.append(np.array([(s.multiplications, s.additions) for s in found]).sum(axis=0))
    return tuple(int(x) for x in counts[1] - counts[0])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} modes")
def test_counts_are_those_of_the_page(row):
    m, values = row[0], row[1:]
    inward = per_body(m, lambda o: [o.psi, o.H, o.K, o.D.inv()])
    outward = per_body(m, lambda o: [o.psi.T, o.H.T, o.K.T])
    mass = per_body(m, lambda o: [o.H @ o.phi @ o.M @ o.phi.T @ o.H.T])
    patent = [
        (m**2 + 25 * m + 49, m**2 + 24 * m + 50),
        (18 * m + 52, 19 * m + 42),
        (2 * m**2 + 54 * m + 206, 2 * m**2 + 50 * m + 143),
    ]
    expected = [
        x for ours, theirs in zip((inward, outward, mass), patent) for x in zip(ours, theirs)
    ]
    # the page has ours and the patent's multiplications, then additions
    order = [x for pair in np.reshape(expected, (3, 2, 2)).tolist() for both in pair for x in both]
    assert values == order
