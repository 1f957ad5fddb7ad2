"""The forces of closures as loads on nodes."""

from __future__ import annotations

import numpy as np

from limber.assembly.closures import Closure
from limber.assembly.system import System
from limber.checks import Array
from limber.dynamics.evaluate import External, evaluated
from limber.dynamics.inverse import inverse_dynamics
from limber.dynamics.kinematics import pose
from limber.dynamics.rows import row_space, undeformed

Loads = dict[tuple[str, str | int | None], Array]


def closure_loads(
    system: System, q: Array, v: Array, vdot: Array, tau: Array, external: External | None = None
) -> Loads:
    """What the cut joints of motions (n, ...) exert on the nodes of their ends, {("body", node): (n, 6)}.

    Wrenches are [moment, force] at the node, world axes; those of least norm where closures are redundant.  Relations
    exert forces within joints, which load no node.  O(N^3) in each row.
    """
    loads: Loads = {}
    if not system.closures:
        return loads
    force = inverse_dynamics(system, q, v, vdot, external=external) - tau
    states = undeformed(system, q) if system.fidelity == "ruthless" else q
    multipliers = np.array([row_space(system, x).multipliers(f) for x, f in zip(states, force)])
    wrenches = evaluated(system, "wrenches", (states, multipliers))
    for i, name in enumerate(system.closure_rows):
        closure = system.closures[name]
        if isinstance(closure, Closure):
            moment, push = wrenches[:, i, :3], wrenches[:, i, 3:]
            at = closure.b.offset
            if closure.b.body != "world":
                R, p = pose(system, q, closure.b.body, closure.b.node)
                at = p + R @ closure.b.offset
            for end, sign in ((closure.a, -1.0), (closure.b, 1.0)):
                if end.body != "world":
                    key = (end.body, end.node)
                    _, p = pose(system, q, end.body, end.node)
                    load = sign * np.hstack([moment + np.cross(at - p, push), push])
                    loads[key] = loads.get(key, 0.0) + load
    return loads
