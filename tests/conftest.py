"""Settings of all tests.

Hypothesis draws few examples by default, the same ones every time; LIMBER_EXAMPLES asks for more, as `make test-all`
does.
"""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# A shell that starts the tests in the background lets them ignore Ctrl-C, which some of them send to themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "limber",
    max_examples=int(os.environ.get("LIMBER_EXAMPLES", "12")),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
settings.load_profile("limber")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Leave out of later garbage collections what stays until the end: they take a tenth of the time otherwise."""
    gc.disable()
    result = yield
    gc.collect()
    gc.freeze()
    gc.enable()
    return result
