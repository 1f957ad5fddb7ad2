"""Whether the torques of a result are within the effort limits of the joints."""

from __future__ import annotations

import numpy as np

from limber.checks import listed
from limber.errors import ModelWarning, warn
from limber.simulation.result import Result

#: A torque counts as larger than its limit from this fraction above it: clipped torques may be off by rounding.
ABOVE = 1e-6


def warn_of_efforts(result: Result) -> None:
    """Warn once of the joints whose torques or forces are above their effort limits in some row.

    Only controllers and actuators limit torques, so a run with a constant torque, a table, a prescribed motion or a
    controller without a limit may use a drive that does not exist.
    """
    s, found = result.system, {}
    for body, joint in s.joints.items():
        limit = joint.physics.effort_limit
        if not np.isfinite(limit).any() or not len(result):
            continue
        effort = np.abs(result.tau[:, s.layout[body].v_joint])
        parts = np.where(np.isfinite(effort), effort, 0.0) / limit
        row, i = np.unravel_index(int(parts.argmax()), parts.shape)
        if parts[row, i] > 1.0 + ABOVE:
            found[body] = (parts[row, i], effort[row, i], limit[i], result.t[row])
    if not found:
        return
    worst = max(found, key=lambda body: found[body][0])
    part, effort, limit, t = found[worst]
    others = [body for body in found if body != worst]
    also = f" The same applies to {listed(others)}." if others else ""
    warn(
        f"the drive of joint {worst!r} gives {effort:.4g} (N m or N) at t = {t:.4g} s, {part:.3g} times its effort_limit "
        f"of {limit:.4g}. The dynamics does not limit torques: give the controller a limit, or the joint a Servo with "
        f"one, or plan a slower motion.{also}",
        ModelWarning,
    )
