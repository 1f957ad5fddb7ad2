"""Places of a structure: its nodes by name, number, coordinates or point, and its groups of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from limber.checks import Array, array, integer, listed, number, shown, suggestion
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelWarning, warn
from limber.frozen import Frozen

if TYPE_CHECKING:
    from limber.structures.structure import Structure

#: Points closer than this fraction of the size of a structure have the same coordinate.
SAME = 1e-6


class Located(Frozen):
    """An object with nodes at positions (n, 3), and groups of them, {name: node numbers}."""

    position: Array
    groups: Mapping[str, tuple[int, ...]]

    def nearest(self, point: ArrayLike) -> int:
        """Return the number of the node nearest to a point."""
        return nearest(self.position, array("point", point, (3,)))

    def where(
        self, x: float | None = None, y: float | None = None, z: float | None = None
    ) -> list[int]:
        """Return the numbers of the nodes with these coordinates: `where(x=0)` is the face in the plane x = 0.

        Parameters
        ----------
        x, y, z : coordinates, m, matched to a millionth of the size of the structure.  None: any.
        """
        given = {i: number("xyz"[i], c) for i, c in enumerate((x, y, z)) if c is not None}
        if not given:
            raise ArgumentTypeError("where needs a coordinate, as in where(x=0.0).")
        close = SAME * np.ptp(self.position, axis=0).max()
        on = np.all([np.abs(self.position[:, i] - c) <= close for i, c in given.items()], axis=0)
        if not on.any():
            low, high = self.position.min(axis=0), self.position.max(axis=0)
            ranges = ", ".join(f"{'xyz'[i]} from {low[i]:g} to {high[i]:g}" for i in given)
            asked = ", ".join(f"{'xyz'[i]}={c:g}" for i, c in given.items())
            raise ArgumentValueError(f"no node lies at {asked}: the structure has {ranges}.")
        return np.flatnonzero(on).tolist()

    def group(self, name: str) -> list[int]:
        """Return the numbers of the nodes of a group, such as a named face of a mesh or a node set of a deck."""
        if name not in self.groups:
            known = ", ".join(map(repr, self.groups)) or "none"
            raise ArgumentValueError(
                f"name={shown(name)} is not a group of the structure; its groups are: {known}."
                f"{suggestion(str(name), self.groups)}"
            )
        return list(self.groups[name])


def nearest(position: Array, point: Array) -> int:
    """The number of the position that is nearest to a point."""
    return int(np.square(position - point).sum(axis=1).argmin())


def checked_groups(groups: Any, n: int) -> dict[str, tuple[int, ...]]:
    """Groups of the nodes 0 to n - 1."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        raise ArgumentTypeError(
            f"groups must be a dict of names to node numbers, as in {{'root': [0, 1, 2]}}, got {shown(groups)}."
        )
    found = {}
    for name, nodes in groups.items():
        if not isinstance(name, str) or not name:
            raise ArgumentTypeError(
                f"groups: a name must be a non-empty string, got {shown(name)}."
            )
        numbers = [integer(x) for x in nodes] if isinstance(nodes, Iterable) else []
        if not numbers or not all(i is not None and 0 <= i < n for i in numbers):
            raise ArgumentValueError(
                f"groups[{name!r}] must have node numbers from 0 to {n - 1}, one or more, got {shown(nodes)}."
            )
        found[name] = tuple(dict.fromkeys(i for i in numbers if i is not None))
    return found


def warn_of_shadowed(groups: Mapping[str, tuple[int, ...]], names: Sequence[str]) -> None:
    """Warn of groups that have the name of a node but contain other nodes than that one."""
    numbers = {name: i for i, name in enumerate(names)} if groups else {}
    shadowed = [
        name for name, nodes in groups.items() if name in numbers and nodes != (numbers[name],)
    ]
    if shadowed:
        warn(
            f"the group {listed(shadowed)} has the name of a node: where a node or a group is expected, that name means "
            "the node. group(name) gives the numbers of the nodes of the group.",
            ModelWarning,
        )


class Places:
    """The nodes of a structure and, after them, its groups, each as one node in the middle of its nodes.

    A group with the name of a node is only known by its nodes.
    """

    def __init__(self, structure: Structure):
        self.structure = structure
        self._groups = [name for name in structure.groups if name not in structure.numbers]

    def number(self, which: Any, argument: str) -> int:
        """The number of a node or group; `argument` is for the message."""
        if isinstance(which, str) and which in self._groups:
            return len(self.structure) + self._groups.index(which)
        return self.structure.node(which, argument)

    def numbers(self, argument: str, value: Any) -> list[int]:
        """The numbers of one place or several, or of none; a place that occurs twice is an error."""
        if value is None:
            return []
        if isinstance(value, str | int | np.integer):
            return [self.number(value, argument)]
        try:
            given = list(value)
        except TypeError:
            raise ArgumentTypeError(
                f"{argument} must be a node or a list of nodes, got {shown(value)}."
            ) from None
        found = [self.number(x, argument) for x in given]
        if len(set(found)) < len(found):
            twice = next(j for j in found if found.count(j) > 1)
            kind = "node" if twice < len(self.structure) else "group"
            raise ArgumentValueError(f"{argument} has the {kind} {self.name(twice)!r} twice.")
        return found

    def nodes(self, places: Iterable[int]) -> list[int]:
        """The nodes of places, each once."""
        return list(dict.fromkeys(node for place in places for node in self.members(place)))

    def members(self, place: int) -> tuple[int, ...]:
        """The nodes of a place."""
        n = len(self.structure)
        return (place,) if place < n else self.structure.groups[self._groups[place - n]]

    def name(self, place: int) -> str:
        """The name of a node or group."""
        n = len(self.structure)
        return self.structure.names[place] if place < n else self._groups[place - n]

    def position(self, places: Sequence[int]) -> Array:
        """(k, 3): the positions of places."""
        found = [self.structure.position[list(self.members(j))].mean(axis=0) for j in places]
        return np.array(found).reshape(-1, 3)
