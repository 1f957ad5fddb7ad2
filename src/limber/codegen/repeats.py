"""Equal stretches of a program, in which the bodies of a chain do the same arithmetic one after the other.

The kernels go from body to body, so the nodes of bodies of the same kind are equal stretches of the trace, except
for the numbers and the values from which they start.  Such stretches become one loop.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from limber.codegen import graph as g
from limber.codegen.graph import Value

#: Arguments that are at most this many nodes away are compared when stretches are looked for.
WINDOW = 60
#: Stretches shorter than this are not worth a loop.
SHORTEST = 60
#: Nodes that are compared at once to find how far apart stretches are.
GRAM = 24
#: Distances between equal stretches that are tried, the most frequent ones.
DISTANCES = 40


@dataclass(frozen=True)
class Stretch:
    """Nodes [start, start + period * count), the same arithmetic `count` times."""

    start: int
    period: int
    count: int

    @property
    def stop(self) -> int:
        """The node behind the last one."""
        return self.start + self.period * self.count


def stretches(nodes: list[Value], outputs: dict[int, list[tuple[int, int]]]) -> list[Stretch]:
    """The nodes, none of which is an input or a call, as stretches in order; those that are done once have count 1.

    outputs : by the index of a value, the (output, element) pairs that it is written to.
    """
    where = {value.index: i for i, value in enumerate(nodes)}
    found: list[Stretch] = []
    for start, period, length in sorted(_runs(_signatures(nodes, where, outputs)), key=_saved):
        if all(start + length <= s.start or start >= s.stop for s in found):
            found += _exact(nodes, where, Stretch(start, period, length // period))
    found.sort(key=lambda s: s.start)
    whole, at = [], 0
    for s in [*found, Stretch(len(nodes), 0, 0)]:
        if s.start > at:
            whole.append(Stretch(at, s.start - at, 1))
        if s.count:
            whole.append(s)
        at = s.stop
    return whole


def _saved(run: tuple[int, int, int]) -> tuple[int, int]:
    _, period, length = run
    return -(length // period - 1) * period, period


def _signatures(nodes, where, outputs) -> np.ndarray:
    """A number for each node; nodes with the same number do the same, as far as nearby arguments show."""
    known: dict[tuple, int] = {}
    signatures = np.empty(len(nodes), dtype=np.int64)
    for i, value in enumerate(nodes):
        kinds: list[object] = []
        for x in (value.a, value.b):
            if type(x) is not Value:
                kinds.append(None if x is None else "number")
            elif x.op == g.INPUT:
                kinds.append(("input", x.a))
            else:
                away = i - where[x.index]
                kinds.append(away if away <= WINDOW else "far")
        written = tuple(output for output, _ in outputs.get(value.index, ()))
        signatures[i] = known.setdefault((value.op, *kinds, written), len(known))
    return signatures


def _runs(signatures: np.ndarray) -> list[tuple[int, int, int]]:
    """(start, period, length) of runs of at least two periods."""
    n = len(signatures)
    if n < 2 * SHORTEST:
        return []
    grams = np.zeros(n - GRAM + 1, dtype=np.uint64)
    for k in range(GRAM):
        part = signatures[k : n - GRAM + 1 + k].astype(np.uint64)
        grams = grams * np.uint64(0x9E3779B97F4A7C15) + part + np.uint64(1)
    last: dict[int, int] = {}
    distances: Counter[int] = Counter()
    for i, gram in enumerate(grams.tolist()):
        if gram in last:
            distances[i - last[gram]] += 1
        last[gram] = i
    runs = []
    for period, _ in distances.most_common(DISTANCES):
        if period < SHORTEST:
            continue
        differs = np.flatnonzero(
            np.concatenate([[True], signatures[:-period] != signatures[period:], [True]])
        )
        for start, length in zip(differs[:-1].tolist(), (np.diff(differs) - 1).tolist()):
            if length >= period:
                runs.append((start, period, length + period))
    return runs


def _exact(nodes: list[Value], where: dict[int, int], s: Stretch) -> list[Stretch]:
    """The parts of a stretch whose repetitions have the same arguments inside themselves."""
    shapes = [_shape(nodes, where, s.start + k * s.period, s.period) for k in range(s.count)]
    parts, first = [], 0
    for k in range(1, s.count + 1):
        if k == s.count or shapes[k] != shapes[first]:
            if k - first > 1:
                parts.append(Stretch(s.start + first * s.period, s.period, k - first))
            first = k
    return parts


def _shape(nodes: list[Value], where: dict[int, int], start: int, period: int) -> list[tuple]:
    """Where the arguments of each node are, as seen from the start, if they are inside; the others are outside."""
    shape = []
    for value in nodes[start : start + period]:
        places: list[object] = [value.op]
        for x in (value.a, value.b):
            if type(x) is not Value:
                places.append("number" if x is not None else None)
            elif x.op == g.INPUT:
                places.append(("input", x.a))
            else:
                at = where[x.index] - start
                places.append(at if at >= 0 else "outside")
        shape.append(tuple(places))
    return shape


def uses(nodes: list[Value]) -> dict[int, list[int]]:
    """The places of the nodes that use a value, by its index."""
    found: dict[int, list[int]] = defaultdict(list)
    for i, value in enumerate(nodes):
        for x in g.arguments(value):
            found[x.index].append(i)
    return found
