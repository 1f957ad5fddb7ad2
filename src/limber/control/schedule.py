"""Sample times of several rates, on one clock."""

from __future__ import annotations

import math

#: Instants closer together than this part of the shortest period are one.
SAME = 1e-6


class Ticks:
    """The times first, first + period, ... of a periodic event, counted from 0."""

    __slots__ = ("count", "first", "next", "period")

    def __init__(self, period: float, first: float = 0.0):
        self.period, self.first = period, first
        self.count = 0
        self.next = first

    def step(self) -> None:
        """Advance to the next time."""
        self.count += 1
        self.next = self.first + self.count * self.period


class Pending:
    """Items that arrive at given times, in order of time; items with equal times arrive in the order they were sent."""

    __slots__ = ("_items", "next")

    def __init__(self):
        self._items: list[tuple[float, object]] = []
        self.next = math.inf

    def send(self, t: float, item: object) -> None:
        """Schedule an item to arrive at a time."""
        items = self._items
        i = len(items)
        while i and items[i - 1][0] > t:
            i -= 1
        items.insert(i, (t, item))
        self.next = items[0][0]

    def arrived(self, t: float) -> list:
        """The items that have arrived by a time."""
        items, count = self._items, 0
        while count < len(items) and items[count][0] <= t:
            count += 1
        found = [item for _, item in items[:count]]
        del items[:count]
        self.next = items[0][0] if items else math.inf
        return found
