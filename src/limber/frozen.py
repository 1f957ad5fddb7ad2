"""Objects that do not change once made."""

from __future__ import annotations


class Frozen:
    """Base of immutable classes: `_freeze()` at the end of `__init__` ends all assignment."""

    _frozen = False

    def _freeze(self) -> None:
        object.__setattr__(self, "_frozen", True)

    def __setattr__(self, name: str, value: object) -> None:
        if self._frozen:
            kind = type(self).__name__
            raise AttributeError(f"{kind} is immutable: {name!r} cannot be set. Make a new {kind}.")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: {name!r} cannot be deleted.")
