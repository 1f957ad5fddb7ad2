"""The record of a study: what decides its numbers, as JSON, so that a campaign goes on only with the study it began with."""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from limber.assembly import System
from limber.orbit import Environment
from limber.simulation import Event, Table
from limber.version import __version__


def versions() -> dict[str, str]:
    """The versions of what computes the numbers."""
    found = {"limber": __version__}
    return found | {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "numba")}


def files(paths: Iterable[Path], study: Path | None) -> dict[str, str]:
    """Marks of the content of files, by their names as seen from the study."""
    folder = Path() if study is None else study.parent
    return {os.path.relpath(path, folder): digest(path.read_bytes()) for path in paths}


def digest(content: bytes) -> str:
    """A short mark of some content."""
    return hashlib.sha256(content).hexdigest()[:20]


def function_record(function: Any) -> str:
    """A function by its name and its source, where Python knows it."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        text = ""
    return f"{name} {digest(text.encode())}"


def described(value: Any) -> Any:
    """An argument of `simulate`, or a part of one, as JSON; large arrays by a mark of their content."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return {"array": digest(np.ascontiguousarray(value).tobytes()), "shape": list(value.shape)}
    if isinstance(value, System):
        packed = value.dynamics
        return {
            "system": value.name,
            "bodies": list(value.bodies),
            "numbers": digest(packed.topo.tobytes() + packed.const.tobytes()),
        }
    if isinstance(value, Table):
        return {"table": [described(np.asarray(value.t)), described(np.asarray(value.tau))]}
    if isinstance(value, Mapping):
        return {str(key): described(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [described(x) for x in value]
    if isinstance(value, Environment):
        return {"environment": described(asdict(value))}
    if isinstance(value, Event):
        return {"event": described(vars(value))}
    if callable(value):
        return function_record(value)
    return type(value).__qualname__


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two records, in words."""
    found = []
    for key in dict.fromkeys([*before, *now]):
        a, b = (json.loads(json.dumps(x.get(key))) for x in (before, now))
        if a == b:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            parts = [k for k in dict.fromkeys([*a, *b]) if a.get(k) != b.get(k)]
            found += [f"{key}: {part}" for part in parts]
        else:
            found.append(key)
    return found
