"""Events: zero crossings and times at which a simulation stops to do something."""

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
    """Something that happens when function(t, q, v) crosses zero, or at a time.

    Parameters
    ----------
    function : callable (t, q, v) -> float, continuous; or a number, the time of the event.
    action : callable (t, q, v), called at the event; returns None to go on, (q, v) to go on from another
        state, "stop" to end the simulation there, or a change of topology.  Its q and v are read-only copies.
        Or a change of topology itself, or a list of them, carried out in order: `lb.attach`, `lb.release`, `lb.lock`
        and `lb.unlock`.
    direction : +1 for crossings upward only, -1 downward only, 0 for both.  A function that is zero at the start of a
        run, and goes on in this one direction, has its event there; with 0 it has none until it comes back.
    terminal : end the simulation at the event.
    name : for `Result.events`.
    once : whether only the first crossing counts.  An event that grasps at some distance passes this distance again
        when it lets go.
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
                f"terminal must be True or False, got {shown(self.terminal)}. An action may count, and return 'stop'."
            )
        if not isinstance(self.once, (bool, np.bool_)):
            raise ArgumentTypeError(f"once must be True or False, got {shown(self.once)}.")
        if not isinstance(self.name, str):
            raise ArgumentTypeError(f"name must be text, got {shown(self.name)}.")


@dataclass(frozen=True)
class Happened:
    """An event of a result: when, and which."""

    t: float
    name: str
