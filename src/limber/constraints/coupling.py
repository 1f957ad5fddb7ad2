"""Primary and secondary systems: arms and the object that they hold, as one system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from limber.assembly import Assembly, System
from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError, ModelError

#: How arms are given.
ARMS = 'a list of systems, of ("name", system) pairs, or a dict of systems by name'
OBJECT = (
    'The object is one system, or a pair ("name", system); several objects go into one assembly.'
)


def couple(arms, obj, closures: Iterable = (), *, name: str = "coupled") -> System:
    """Combine arms and the object that they hold into one System.

    Its bodies are named arm1/link2, object/panel and so on.  The systems are placed side by side as they are; their
    bodies are neither rebuilt nor packed again.  q and v contain those of the arms, in order, and then those of the
    object.  Grasp, release and exchange change only the closures, by `System.closed_by`.

    Parameters
    ----------
    arms : a list of systems or assemblies, which are named arm1, arm2, ...  A dict, or a list of (name, system) pairs,
        gives other names.
    obj : the system that they hold, named object, or a pair ("name", system).  Put several objects into one assembly.
    closures : the closures that join them, in addition to their own: (end_a, end_b, joint), (end_a, end_b, joint, name)
        or dicts with the arguments of `Assembly.close`.  Bodies have the names of the combined system.  Grasp models
        such as `lb.SoftFinger` are joints; their end a is on the arm and end b on the object.
    name : name of the system.
    """
    *named, held = _named(arms, obj)
    parts = {part: _built(part, system, f"arms is {ARMS}.") for part, system in named}
    parts[held[0]] = _built(*held, OBJECT)
    _refuse_different(parts)
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(f"name must be a non-empty string, got {shown(name)}.")
    together = System.side_by_side(name, parts)
    given = list(closures) if isinstance(closures, list | tuple) else closures
    if not given:
        return together
    if not isinstance(given, list):
        raise ArgumentTypeError(f"closures must be a list of closures, got {shown(closures)}.")
    return together.closed_by([*together.closures.values(), *given])


def _named(arms, obj) -> list[tuple[str, object]]:
    """(name, system) of the arms and of the object, in order; names are checked."""
    if isinstance(arms, Mapping):
        named = list(arms.items())
    elif isinstance(arms, list | tuple):
        named = [
            each if isinstance(each, tuple) and len(each) == 2 else (f"arm{i}", each)
            for i, each in enumerate(arms, start=1)
        ]
    else:
        raise ArgumentTypeError(f"arms must be {ARMS}; got {shown(arms)}.")
    if not named:
        raise ArgumentValueError("arms is empty: give at least one system.")
    named.append(obj if isinstance(obj, tuple) and len(obj) == 2 else ("object", obj))
    found = set()
    for part, _ in named:
        if not isinstance(part, str) or not part or part == "world" or "/" in part:
            raise ArgumentValueError(
                f'the name of an arm or object must be a word other than "world", without a slash; got {shown(part)}.'
            )
        if part in found:
            raise ArgumentValueError(
                f"two systems are called {part!r}: give each of them a different name, as in couple({{'left': arm, ...}}, "
                "...)."
            )
        found.add(part)
    return named


def _built(part: str, system, expected: str) -> System:
    if isinstance(system, Assembly):
        return system.build()
    if not isinstance(system, System):
        raise ArgumentTypeError(
            f"{part} must be a System or an Assembly, got {shown(system)}. {expected}"
        )
    return system


def _refuse_different(parts: Mapping[str, System]) -> None:
    """Reject systems of different gravity or fidelity."""
    lead, first = next(iter(parts.items()))
    for part, system in parts.items():
        if not np.array_equal(system.gravity, first.gravity):
            raise ModelError(
                f"couple: {lead} has gravity {first.gravity.tolist()} and {part} has {system.gravity.tolist()}. Systems "
                "that act on each other must have the same gravity: build them with equal values."
            )
        if system.fidelity != first.fidelity:
            raise ModelError(
                f"couple: {lead} has fidelity {first.fidelity!r} and {part} has {system.fidelity!r}: build them with the "
                "same fidelity."
            )
