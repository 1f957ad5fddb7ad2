"""The record of a study: everything that determines its numbers, as JSON, so that a campaign resumes only with the same
study.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import inspect
import json
import os
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from limber.assembly import System
from limber.errors import LimberError
from limber.frozen import Frozen
from limber.io.export import model_data
from limber.orbit import Environment
from limber.simulation import Event, Table
from limber.version import __version__

#: Where Python and the libraries are.
INSTALLED = [Path(sysconfig.get_path(x)) for x in ("stdlib", "platstdlib", "purelib", "platlib")]


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
        return described(value.item())
    if isinstance(value, np.ndarray):
        return {"array": digest(np.ascontiguousarray(value).tobytes()), "shape": list(value.shape)}
    if isinstance(value, System):
        return _system(value)
    if isinstance(value, Table):
        rows = [described(np.asarray(x)) for x in (value.t, value.tau)]
        return {"table": rows, "smooth": bool(value.smooth)}
    if id(value) in within:
        return "itself"
    around = (*within, id(value))
    if isinstance(value, Mapping):
        return {str(key): described(x, around) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [described(x, around) for x in value]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(described(x, around), default=str) for x in value)
    if isinstance(value, complex | bytes | slice | range):
        return repr(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    if hasattr(value, "program") and isinstance(source := getattr(value, "source", None), str):
        return {"code": digest(source.encode())}  # of lb.compile
    if isinstance(value, Environment):
        return {"environment": described(asdict(value), around)}
    if isinstance(value, Event):
        return {"event": described(vars(value), around)}
    if isinstance(value, partial):
        parts = {"partial": value.func, "args": value.args, "keywords": value.keywords}
        return described(parts, around)
    if inspect.ismethod(value):
        own = function_record(value.__func__, around)
        return {"method": own, "of": described(value.__self__, around)}
    if inspect.isclass(value) or inspect.isroutine(value) or hasattr(value, "__wrapped__"):
        return function_record(value, within)
    made_with = {name: described(x, around) for name, x in _arguments(value).items()}
    return {"object": function_record(type(value), around), **made_with}


def _system(system: System) -> dict[str, Any]:
    """A system by the numbers of its dynamics, and by all else that its results follow from: names, nodes, limits,
    gauges."""
    packed = system.dynamics
    found = {
        "system": system.name,
        "bodies": list(system.bodies),
        "numbers": digest(packed.topo.tobytes() + packed.const.tobytes()),
    }
    try:
        model = model_data(system)
    except LimberError:  # joints of a user's own kind, which no file can have
        return found
    for body in model["bodies"].values():
        body.pop("shapes", None)  # of pictures
    return found | {"model": digest(json.dumps(described(model), default=str).encode())}


def _arguments(value: Any) -> dict[str, Any]:
    """What an object was made with: all of its attributes if it is immutable, like sensors and paths of this package.

    For other objects these are the attributes named like arguments, or those that `kept_as` of their class names
    instead. The rest follows from them, or changes while the object is used. If an argument cannot be found in this
    way, all attributes count.
    """
    own = dict(getattr(value, "__dict__", {}))
    if isinstance(value, Frozen):
        return own
    kept_as = getattr(type(value), "kept_as", {})
    makers = [
        x for kind in type(value).__mro__ if inspect.isfunction(x := vars(kind).get("__init__"))
    ]
    found: dict[str, Any] = {}
    lost = not makers
    for i, made_by in enumerate(makers):
        for name, given in list(inspect.signature(made_by).parameters.items())[1:]:
            passed_on = given.kind is given.VAR_KEYWORD and i + 1 < len(makers)
            places = (kept_as[name],) if name in kept_as else (name, f"_{name}")
            kept = next((x for x in places if hasattr(value, x)), None)
            if kept is not None:
                found.setdefault(name, getattr(value, kept))
            elif not passed_on and i == 0:
                lost = True
    known = _is_ours(type(value)) or _is_users(type(value))
    return own | found if lost and known else found


# --- functions -------------------------------------------------------------------------------------


def function_record(function: Any, within: tuple[int, ...] = ()) -> str:
    """A function or a class by its name, its source if Python has it, and the values that it uses."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        text = ""
    bare = inspect.unwrap(function)
    code = getattr(bare, "__code__", None)
    if code is not None and (not text or bare.__name__ == "<lambda>"):
        text += json.dumps(_code(code))  # the source of a lambda may have several of them
    used = [] if id(bare) in within else _used(bare, (*within, id(bare)))
    return f"{name} {digest((text + json.dumps(used, default=str)).encode())}"


def _code(code: CodeType) -> list[Any]:
    """The instructions of a function and of those within it."""
    parts = [_code(x) if isinstance(x, CodeType) else described(x) for x in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), *parts]


def _used(function: Any, within: tuple[int, ...]) -> list[Any]:
    """The defaults of a function, the variables of the functions around it, and, for a user's own function, the
    variables of its module that it uses; for a user's own class, those of its methods."""
    if inspect.isclass(function):
        parts = [getattr(x, "__func__", getattr(x, "fget", x)) for x in vars(function).values()]
        own = [x for x in parts if inspect.isfunction(x)]
        return [_used(x, (*within, id(x))) for x in own if _is_users(x) and id(x) not in within]
    values = {
        f"default {i}": x for i, x in enumerate(getattr(function, "__defaults__", None) or ())
    }
    values |= getattr(function, "__kwdefaults__", None) or {}
    code = getattr(function, "__code__", None)
    if code is not None:
        for name, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                values[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        if _is_users(function):
            there = function.__globals__
            values |= {name: there[name] for name in _names(code) if name in there}
    return [[name, _part(x, within)] for name, x in values.items() if not inspect.ismodule(x)]


def _part(value: Any, within: tuple[int, ...]) -> Any:
    """A value that a function uses; functions and objects of other libraries count by their names."""
    bare = inspect.unwrap(value)  # of a function that Numba compiles
    kind = bare if inspect.isclass(bare) or inspect.isroutine(bare) else type(value)
    plain = np.ndarray | np.generic | partial | os.PathLike
    known = kind.__module__ == "builtins" or isinstance(value, plain)
    ours = kind is not bare and _is_ours(kind)
    if known or ours or _is_users(kind):
        return described(value, within)
    return f"{kind.__module__}.{kind.__qualname__}"


def _names(code: CodeType) -> list[str]:
    """The names that a function, and those within it, look up."""
    inner = [x for x in code.co_consts if isinstance(x, CodeType)]
    return sorted({*code.co_names, *(name for x in inner for name in _names(x))})


def _is_ours(thing: Any) -> bool:
    """Whether a function or a class is of this package."""
    return str(getattr(thing, "__module__", "")).partition(".")[0] == "limber"


def _is_users(thing: Any) -> bool:
    """Whether a function or a class is neither of this package nor of Python or a library that is installed."""
    thing = inspect.unwrap(thing)
    if _is_ours(thing):
        return False
    try:
        file = thing.__code__.co_filename if hasattr(thing, "__code__") else inspect.getfile(thing)
    except (OSError, TypeError):  # written in C, or typed at a prompt
        return inspect.isclass(thing) and thing.__module__ == "__main__"
    return not file.startswith("<frozen") and not any(
        Path(file).is_relative_to(place) for place in INSTALLED
    )


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
