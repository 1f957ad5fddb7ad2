"""The rows of a result that pictures use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from limber.simulation.result import Result


def increasing(result: Result) -> Result:
    """The result without rows that repeat a time, as at events: the last of each stays."""
    keep = np.append(np.diff(result.t) > 0.0, True)[: len(result)]
    if keep.all():
        return result
    return result._with(result.t[keep], result.q[keep], result.v[keep], result.tau[keep])
