"""The size of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from limber.assembly.system import System


def extent(system: System) -> float:
    """A length that is typical of the system, in its own units; 1 if the whole system is in one point."""
    lengths = [0.0]
    for name, item in system.attachments.items():
        lengths += [float(np.linalg.norm(item.offset)), system.bodies[name].extent()]
    return max(lengths) or 1.0
