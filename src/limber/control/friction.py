"""Dry friction in linear models: a joint at rest sticks, and its linear model is one with a strong damper."""

from __future__ import annotations

import numpy as np

from limber.assembly.system import System
from limber.checks import Array, listed
from limber.errors import ModelWarning, warn

#: Names of the parameters of dry friction end so.
OF_FRICTION = (".joint_friction", ".joint_static_friction")
#: A joint sticks below this many times its `friction_speed`, where the slope of friction is a third of that at rest.
STICKING = 1.0


def without_friction(system: System) -> System:
    """Return the same system without dry friction in its joints, as needed for the model of a controller."""
    rough = [name for name in system.parameters if name.endswith(OF_FRICTION)]
    changed = {name: np.zeros_like(system.parameters[name].value) for name in rough}
    return system.with_parameters(changed) if rough else system


def sticking(system: System, v: Array, driven: tuple[int, ...] = ()) -> dict[str, float]:
    """The bodies whose joints stick at one of the speeds v (..., nv), with the damping of their friction at rest.

    driven : the numbers of bodies whose joints have a prescribed motion.
    """
    found = {}
    for body, joint in system.joints.items():
        level = joint.physics.static_friction
        if not joint.dofs or not level.any() or system.number(body) in driven:
            continue
        at, slow = system.layout[body].v_joint, joint.physics.friction_speed
        stuck = (np.abs(v[..., at]) < STICKING * slow).reshape(-1, joint.dofs).any(axis=0)
        damping = np.where(stuck, level / slow, 0.0)
        if damping.any():
            found[body] = float(damping.max())
    return found


def warn_of_sticking(
    who: str, system: System, v: Array, driven: tuple[int, ...], remedy: str
) -> None:
    """Warn if joints stick at one of the speeds, so that a linear model about them does not describe their motion."""
    found = sticking(system, v, driven)
    if found:
        worst = max(found, key=lambda body: found[body])
        warn(
            f"{who}: the friction of the joint of {listed(list(found))} acts as a strong damper at rest ({found[worst]:.3g} N m s/rad "
            f"or N s/m for {worst!r}), so the linear model describes a joint that sticks, not one that moves. {remedy}",
            ModelWarning,
        )
