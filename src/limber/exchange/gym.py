"""Gymnasium environments; importing this module registers them.

    import gymnasium
    import limber.exchange.gym

    arm = gymnasium.make("limber/FlexibleArm-v0")
    many = gymnasium.make_vec("limber/FlexibleArm-v0", num_envs=256)

`gymnasium.make("limber.exchange.gym:limber/FlexibleArm-v0")` does both.
"""

from __future__ import annotations

from typing import Any

from limber.errors import MissingExtraError
from limber.exchange.learning.environment import Environment, VectorEnvironment
from limber.exchange.learning.flexible_arm import flexible_arm_task
from limber.exchange.learning.flexible_spacecraft import flexible_spacecraft_task

try:
    import gymnasium
except ImportError:
    raise MissingExtraError(
        "limber.exchange.gym needs Gymnasium, which is not installed: pip install 'limber-dynamics[gym]'."
    ) from None

__all__ = ["Environment", "VectorEnvironment", "flexible_arm_task", "flexible_spacecraft_task"]


def flexible_arm(*, render_mode: str | None = None, **options: Any) -> Environment:
    """Make `limber/FlexibleArm-v0`; the options are those of `flexible_arm_task`."""
    return Environment(flexible_arm_task(**options), render_mode=render_mode)


def flexible_arms(num_envs: int, *, render_mode: str | None = None, **options: Any):
    """Make many `limber/FlexibleArm-v0` as a vector environment."""
    return VectorEnvironment(flexible_arm_task(**options), num_envs, render_mode=render_mode)


def flexible_spacecraft(*, render_mode: str | None = None, **options: Any) -> Environment:
    """Make `limber/FlexibleSpacecraft-v0`; the options are those of `flexible_spacecraft_task`."""
    return Environment(flexible_spacecraft_task(**options), render_mode=render_mode)


def flexible_spacecrafts(num_envs: int, *, render_mode: str | None = None, **options: Any):
    """Make many `limber/FlexibleSpacecraft-v0` as a vector environment."""
    return VectorEnvironment(flexible_spacecraft_task(**options), num_envs, render_mode=render_mode)


for _name, _one, _many in (
    ("FlexibleArm", "flexible_arm", "flexible_arms"),
    ("FlexibleSpacecraft", "flexible_spacecraft", "flexible_spacecrafts"),
):
    gymnasium.register(
        f"limber/{_name}-v0",
        entry_point=f"limber.exchange.gym:{_one}",
        vector_entry_point=f"limber.exchange.gym:{_many}",
    )
