"""Systems for other tools: functional mock-up units (FMI), environments for Gymnasium, functions for JAX and PyTorch."""

import importlib
import typing

from limber.exchange.fmi import fmu

if typing.TYPE_CHECKING:
    from limber.exchange.gradients.functions import jax_function, torch_function
    from limber.exchange.learning.environment import Environment, VectorEnvironment
    from limber.exchange.learning.task import Moment, Task

#: Names whose modules are imported when they are first used; some need an extra.
_LATER = {
    "Environment": "learning.environment",
    "Moment": "learning.task",
    "Task": "learning.task",
    "VectorEnvironment": "learning.environment",
    "jax_function": "gradients.functions",
    "torch_function": "gradients.functions",
}


def __getattr__(name: str):
    """Import names on first use."""
    if name in _LATER:
        return getattr(importlib.import_module(f"limber.exchange.{_LATER[name]}"), name)
    raise AttributeError(f"module 'limber.exchange' has no attribute {name!r}")


__all__ = [
    "Environment",
    "Moment",
    "Task",
    "VectorEnvironment",
    "fmu",
    "jax_function",
    "torch_function",
]
