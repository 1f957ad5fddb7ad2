"""Checks of the results passed to pictures, and selection of their rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from limber.assembly import Assembly
from limber.assembly.system import System
from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.simulation.result import Result


def pictured(picture: str, result: Any, least: int, why: str) -> Result:
    """Check that a result has at least one row, or two, and drop rows that repeat a time, as at events; the last of
    each stays. `picture` and `why` are for messages.
    """
    if not isinstance(result, Result):
        raise ArgumentTypeError(f"{picture} takes a Result, got {_instead(result, picture)}")
    keep = np.append(np.diff(result.t) > 0.0, True)[: len(result)]
    if not keep.all():
        result = result._with(lambda x: x[keep])
    if len(result) < least:
        raise ArgumentValueError(
            f"the result has {'one row' if len(result) else 'no rows'}: {why}."
        )
    return result


def _instead(given: Any, picture: str) -> str:
    """A message about an object that is not a result, and what to do."""
    if isinstance(given, (System, Assembly)):
        kind, build = type(given).__name__, ".build()" * isinstance(given, Assembly)
        return (
            f"the {kind} {given.name!r}. Simulate it first: result = lb.simulate(system{build}, t_end), then "
            f"result.{picture}(...); lb.plotting.mode_shapes shows a System."
        )
    return f"{shown(given)}. Make one with lb.simulate, or read one with lb.Result.load."
