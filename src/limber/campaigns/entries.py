"""Entries of a scenario file by their paths, as in controller.sensors[0].encoder.noise."""

from __future__ import annotations

import re
from typing import Any

from limber.errors import ArgumentValueError
from limber.io.document import Key, dotted

_PART = re.compile(r"([^.\[\]]+)((?:\[\d+\])*)")


def parsed(path: str) -> tuple[Key, ...]:
    """The keys of a path."""
    keys: list[Key] = []
    for part in path.split("."):
        match = _PART.fullmatch(part)
        if match is None:
            raise ArgumentValueError(
                f"{path!r} is not the path of an entry: write it like initial.q.link1 or external[0].force[2]."
            )
        keys.append(match[1])
        keys += [int(i) for i in re.findall(r"\d+", match[2])]
    return tuple(keys)


def value_at(data: Any, keys: tuple[Key, ...]) -> Any:
    """The entry at a path; None if the file does not have it, or does not have a section around it."""
    for i, key in enumerate(keys):
        if isinstance(key, int):
            if not isinstance(data, list) or key >= len(data):
                have = f"{len(data)} entries" if isinstance(data, list) else "no list"
                raise ArgumentValueError(
                    f"{dotted(keys[: i + 1])}: the file has {have} at {dotted(keys[:i])}."
                )
            data = data[key]
        elif isinstance(data, dict):
            if key not in data and not any(isinstance(k, int) for k in keys[i:]):
                return None
            data = data.get(key)
        else:
            raise ArgumentValueError(
                f"{dotted(keys)}: {dotted(keys[:i])} of the file is {data!r}, which has no entries. Write it in full there."
            )
    return data


def replaced(data: Any, keys: tuple[Key, ...], value: Any) -> Any:
    """A copy of the data with a new entry at a path; missing sections around it are added, and the rest is shared."""
    if not keys:
        return value
    key, *rest = keys
    if isinstance(data, list):
        copy: Any = list(data)
        copy[int(key)] = replaced(data[int(key)], tuple(rest), value)
        return copy
    beside = {} if data is None else data
    return {**beside, key: replaced(beside.get(key), tuple(rest), value)}
