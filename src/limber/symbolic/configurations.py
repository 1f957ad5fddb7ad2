"""The configuration matrices of the joints of an assembly, by name or by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from limber.checks import integer, listed, shown
from limber.errors import ArgumentValueError


class Configurations(Mapping):
    """The joint configuration matrices by body name, or by number in the order of attachment."""

    def __init__(self, matrices: dict[str, sp.Matrix]):
        self._matrices = matrices

    def __getitem__(self, key: str | int) -> sp.Matrix:
        body = self._body(key)
        if body is None:
            raise ArgumentValueError(
                f"X[{shown(key)}]: there is no such body. Give a name or a number, 0 to {len(self) - 1}, of: "
                f"{listed(self)}."
            )
        return self._matrices[body]

    def __contains__(self, key: object) -> bool:
        return self._body(key) is not None

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the matrix of a body, or `default` if there is no such body."""
        body = self._body(key)
        return default if body is None else self._matrices[body]

    def _body(self, key: object) -> str | None:
        if isinstance(key, str):
            return key if key in self._matrices else None
        number = integer(key)
        if number is None or not -len(self) <= number < len(self):
            return None
        return list(self._matrices)[number]

    def __iter__(self):
        return iter(self._matrices)

    def __len__(self):
        return len(self._matrices)

    def __repr__(self):
        return f"Configurations({self._matrices})"
