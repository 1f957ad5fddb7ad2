"""The record of a study: everything that determines its numbers, as JSON, so that a campaign resumes only with the same
study.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from limber.assembly import System
from limber.frozen import Frozen
from limber.orbit import Environment
from limber.simulation import Event, Table
from limber.version import __version__


def versions() -> dict[str, str]:
    """The versions of the software that computes the numbers."""
    found = {"limber": __version__}
    return found | {name: importlib.metadata.version(name) for name in ("numpy", "scipy", "numba")}


def files(paths: Iterable[Path], study: Path | None) -> dict[str, str]:
    """Digests of files, by their names relative to the study."""
    folder = Path() if study is None else study.parent
    return {os.path.relpath(path, folder): digest(path.read_bytes()) for path in paths}


def digest(content: bytes) -> str:
    """A short digest of some content."""
    return hashlib.sha256(content).hexdigest()[:20]


def described(value: Any, within: tuple[int, ...] = ()) -> Any:
    """An argument of `simulate`, a function, or a part of one, as JSON; large arrays are replaced by a digest.

    within : the identities of the enclosing objects, so that circular references end there.
    """
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
    if id(value) in within:
        return "itself"
    around = (*within, id(value))
    if isinstance(value, Mapping):
        return {str(key): described(x, around) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [described(x, around) for x in value]
    if isinstance(value, Environment):
        return {"environment": described(asdict(value), around)}
    if isinstance(value, Event):
        return {"event": described(vars(value), around)}
    if isinstance(value, partial):
        parts = {"partial": value.func, "args": value.args, "keywords": value.keywords}
        return described(parts, around)
    if inspect.ismethod(value):
        return {"method": function_record(value), "of": described(value.__self__, around)}
    if inspect.isclass(value) or inspect.isroutine(value) or hasattr(value, "__wrapped__"):
        return function_record(value)
    made_with = {name: described(x, around) for name, x in _arguments(value).items()}
    return {"object": function_record(type(value)), **made_with}


def function_record(function: Any) -> str:
    """A function or a class by its name, its source if Python has it, and the numbers bound in it."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        text = ""
    return f"{name} {digest((text + json.dumps(_bound(inspect.unwrap(function)))).encode())}"


def _bound(function: Any) -> list[Any]:
    """The numbers, texts and arrays among the defaults of a function and the variables of the functions around it."""
    values = [*(getattr(function, "__defaults__", None) or ())]
    values += (getattr(function, "__kwdefaults__", None) or {}).values()
    for cell in getattr(function, "__closure__", None) or ():
        try:
            values.append(cell.cell_contents)
        except ValueError:  # not assigned yet
            continue
    plain = (bool, int, float, str, np.generic, np.ndarray)
    return [described(x) for x in values if isinstance(x, plain)]


def _arguments(value: Any) -> dict[str, Any]:
    """What an object was made with: all of its attributes if it is immutable, like sensors and paths of this package.

    For other objects these are the attributes named like arguments. The rest follows from them, or changes while the
    object is used.
    """
    if isinstance(value, Frozen):
        return vars(value)
    found = {}
    for kind in type(value).__mro__:
        made_by = vars(kind).get("__init__")
        if not inspect.isfunction(made_by):
            continue
        for name in list(inspect.signature(made_by).parameters)[1:]:
            for kept in (name, f"_{name}"):
                if name not in found and hasattr(value, kept):
                    found[name] = getattr(value, kept)
    return found


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The differences between two records, in words."""
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
