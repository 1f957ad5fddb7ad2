"""Where and when closures are drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from limber.assembly.closures import Closure, End
from limber.assembly.system import System
from limber.simulation.result import Result


def drawn_ends(system: System) -> dict[str, tuple[End, End]]:
    """The ends of the closures of a system that are drawn, by name.

    A relation of one coordinate holds a joint, such as one that is locked: both of its ends are there.  Other relations
    have no place.
    """
    found = {}
    for name, closure in system.closures.items():
        if isinstance(closure, Closure):
            found[name] = closure.a, closure.b
        elif len(closure.terms) == 1:
            ((body, _),) = closure.terms
            at = End(body, system.attachments[body].inboard, np.zeros(3), np.eye(3))
            found[name] = at, at
    return found


def ever_closed(result: Result) -> tuple[System, np.ndarray]:
    """The system of a result with all closures that were ever active, and (stages, closures) whether each of them was.

    A closure that was attached again elsewhere is there twice; the second has (2) behind its name.
    """
    if not result.changes:
        return result.system, np.ones((1, len(result.system.closures)), dtype=bool)
    found: dict[int, str] = {}
    made, given = [], []
    for system in result.systems:
        for closure in system.closures.values():
            if id(closure) not in found:
                count = 1 + sum(name == closure.name for name in given)
                name = closure.name if count == 1 else f"{closure.name} ({count})"
                found[id(closure)] = name
                made.append(replace(closure, name=name))
                given.append(closure.name)
    active = [
        [key in {id(c) for c in system.closures.values()} for key in found]
        for system in result.systems
    ]
    return result.system.closed_by(made), np.array(active).reshape(len(result.systems), len(made))
