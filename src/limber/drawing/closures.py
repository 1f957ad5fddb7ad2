"""Where and when closures are drawn."""

from __future__ import annotations

import numpy as np

from limber.assembly.closures import Closure, End, Relation
from limber.assembly.system import System
from limber.simulation.result import Result

#: The two ends of each closure that is drawn, by name.
DrawnEnds = dict[str, tuple[End, End]]


def drawn_ends(system: System) -> DrawnEnds:
    """The closures of a system that are drawn.

    A relation of one coordinate holds a joint, such as a locked one: both of its ends are at that joint. Other
    relations have no position.
    """
    every = ((name, _ends(system, closure)) for name, closure in system.closures.items())
    return {name: ends for name, ends in every if ends is not None}


def _ends(system: System, closure: Closure | Relation) -> tuple[End, End] | None:
    if isinstance(closure, Closure):
        return closure.a, closure.b
    if len(closure.terms) > 1:
        return None
    ((body, _),) = closure.terms
    at = End(body, system.attachments[body].inboard, np.zeros(3), np.eye(3))
    return at, at


def ever_drawn(result: Result) -> tuple[DrawnEnds, dict[str, np.ndarray]]:
    """All closures of a result that are drawn at any time, and the stages in which each is active, (stages,).

    A closure that was attached again elsewhere appears twice; the second has (2) after its name.
    """
    names: dict[int, str] = {}  # by the identity of the closure
    counts: dict[str, int] = {}
    found: DrawnEnds = {}
    active: dict[str, np.ndarray] = {}
    for stage, system in enumerate(result.systems):
        for closure in system.closures.values():
            if id(closure) not in names:
                count = counts[closure.name] = counts.get(closure.name, 0) + 1
                names[id(closure)] = closure.name if count == 1 else f"{closure.name} ({count})"
                ends = _ends(result.system, closure)
                if ends is not None:
                    found[names[id(closure)]] = ends
                    active[names[id(closure)]] = np.zeros(len(result.systems), dtype=bool)
            if names[id(closure)] in found:
                active[names[id(closure)]][stage] = True
    return found, active


def closure_nodes(closures: DrawnEnds, body: str) -> set[int]:
    """The numbers of the nodes of a body at the ends of closures."""
    ends = (end for both in closures.values() for end in both)
    return {end.node for end in ends if end.body == body and end.node is not None}
