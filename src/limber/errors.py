"""The exceptions Limber raises, and the way it warns."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from limber.printable import PrintableMessage

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


class LimberError(PrintableMessage):
    """The base class of all errors that Limber raises deliberately."""


class ArgumentValueError(LimberError, ValueError):
    """An argument has an invalid value; the message says which one, what was given and what to do."""


class ArgumentTypeError(LimberError, TypeError):
    """An argument has the wrong type."""


class ImmutableError(LimberError, AttributeError):
    """An attempt to change an immutable object."""


class ModelError(LimberError, ValueError):
    """A body, joint or assembly that cannot work."""


class FileError(LimberError, ValueError):
    """A model, scenario or data file that cannot be read.

    The message starts with file, line and column; `file`, `line`, `column` (both from 1, or None) and
    `key` (the path of the entry, as in "bodies.arm.beam.mass") contain them separately.
    """

    def __init__(
        self,
        message: str,
        file: str = "",
        line: int | None = None,
        column: int | None = None,
        key: str = "",
    ):
        super().__init__(message)
        self.file, self.line, self.column, self.key = file, line, column, key

    def __reduce__(self):
        return FileError, (str(self), self.file, self.line, self.column, self.key)


class ModelWarning(PrintableMessage, UserWarning):
    """Something about a model that its author probably did not intend, something that a file leaves out, or a file that is
    incomplete."""


class TheoryWarning(ModelWarning):
    """A motion that leaves the range of the theory behind its model.

    degree : how far outside it is, 1 at the limit, where that is known.
    """

    degree: float = 1.0


class CacheWarning(PrintableMessage, UserWarning):
    """Compiled code that cannot be kept on disk; results do not depend on it."""


class DynamicsError(LimberError, ValueError):
    """The equations have no finite solution at this state."""


class CompileError(LimberError, RuntimeError):
    """Code could not be compiled or loaded."""


class MissingExtraError(LimberError, ImportError):
    """A library of an optional extra is not installed."""


class MissingProgramError(LimberError, RuntimeError):
    """An external program, such as ffmpeg, is missing or has failed."""


class SimulationError(LimberError, RuntimeError):
    """A simulation could not continue; `result` holds everything up to then."""

    result: object = None


_collected: ContextVar[list[Warning] | None] = ContextVar("collected", default=None)


@contextmanager
def collected_warnings() -> Iterator[list[Warning]]:
    """Collect the warnings of Limber in this thread instead of issuing them; Python's filters apply to all threads."""
    found: list[Warning] = []
    before = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(before)


def warn(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line outside of Limber that led here; a message that is already a warning keeps its category."""
    collected = _collected.get()
    if collected is not None:
        collected.append(message if isinstance(message, Warning) else category(message))
        return
    level, frame = 1, sys._getframe()
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
