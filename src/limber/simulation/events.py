"""Events: zero crossings and times at which a simulation stops to take an action."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from limber.checks import number, shown, takes
from limber.constraints.topology import Change
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.simulation.topology import changes_of


@dataclass(frozen=True)
class Event:
    """An event that occurs when function(t, q, v) crosses zero, or at a given time.

    Parameters
    ----------
    function : callable (t, q, v) -> float, continuous; or a number, the time of the event.
    action : callable (t, q, v), called at the event with read-only copies of q and v.  It returns None to continue, (q,
        v) to continue from another state, "stop" to end the simulation there, or a change of topology.  The action may
        also be a change of topology itself, or a list of them, which are carried out in order: `lb.attach`,
        `lb.release`, `lb.lock` and `lb.unlock`.
    direction : +1 for upward crossings only, -1 for downward only, 0 for both.  If the function is zero at the start of
        a run and continues in this one direction, the event occurs there; with 0 it does not occur until the function
        comes back to zero.
    terminal : whether to end the simulation at the event.
    name : name of the event in `Result.events`.
    once : whether only the first crossing counts.  For example, an event that grasps at a certain distance passes this
        distance again at the release.
    """

    function: Callable[[float, Any, Any], float] | float
    action: Callable[[float, Any, Any], Any] | Change | Sequence[Change] | None = None
    direction: int = 0
    terminal: bool = False
    name: str = ""
    once: bool = False

    def __post_init__(self):
        if callable(self.function):
            takes("the function of an Event", self.function, "t", "q", "v")
        else:
            object.__setattr__(self, "function", number("the time of an Event", self.function))
        changes = changes_of(self.action)
        if self.action is not None and changes is None and not callable(self.action):
            raise ArgumentTypeError(
                "action must be a function (t, q, v), or one or several changes of topology such as lb.attach(...), got "
                f"{shown(self.action)}."
            )
        if self.action is not None and changes is None:
            takes("the action of an Event", self.action, "t", "q", "v")  # type: ignore[arg-type]
        if not isinstance(self.direction, (int, float, np.number)) or self.direction not in (
            -1,
            0,
            1,
        ):
            raise ArgumentValueError(f"direction must be -1, 0 or 1, got {shown(self.direction)}.")
        if not isinstance(self.terminal, (bool, np.bool_)):
            raise ArgumentTypeError(
                f"terminal must be True or False, got {shown(self.terminal)}. To stop after several occurrences, let the "
                "action count them and return 'stop'."
            )
        if not isinstance(self.once, (bool, np.bool_)):
            raise ArgumentTypeError(f"once must be True or False, got {shown(self.once)}.")
        if not isinstance(self.name, str):
            raise ArgumentTypeError(f"name must be text, got {shown(self.name)}.")


@dataclass(frozen=True)
class Happened:
    """An event in a result: its time and its name."""

    t: float
    name: str
