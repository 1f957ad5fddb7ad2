"""How large a system is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from limber.bodies import FlexibleBody

if TYPE_CHECKING:
    from limber.assembly.system import System


def extent(system: System) -> float:
    """A length of the size of the system, in its own units; 1 for points in one place."""
    lengths = [0.0]
    for name, item in system.attachments.items():
        body = system.bodies[name]
        lengths.append(float(np.linalg.norm(item.offset)))
        if isinstance(body, FlexibleBody):
            places = np.vstack([body.points.position, body.nodes.position])
        else:
            places = np.vstack([body.com, *body.nodes.values()])
            if body.mass > 0.0:
                lengths.append(float(np.sqrt(max(np.trace(body.inertia), 0.0) / body.mass)))
        lengths.append(float(np.linalg.norm(places, axis=1).max()))
    return max(lengths) or 1.0
