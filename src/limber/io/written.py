"""Code shared by the writers of sections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal bit for bit."""
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def present(owner: Any, names: Iterable[str]) -> dict[str, Any]:
    """The attributes of these names that are not None."""
    values = {name: getattr(owner, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}
