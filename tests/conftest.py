"""Hypothesis: few examples by default, the same ones every time; LIMBER_EXAMPLES asks for more."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "limber",
    max_examples=int(os.environ.get("LIMBER_EXAMPLES", "25")),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("limber")
