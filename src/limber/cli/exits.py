"""Exit codes, and user-friendly errors: a message, not a traceback."""

from __future__ import annotations

import signal
import threading
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from limber.cli.output import note, print_json
from limber.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    DynamicsError,
    FileError,
    LimberError,
    ModelError,
    SimulationError,
)

#: A command line that Typer cannot read; it has Click's class, by whatever name it keeps Click.
UsageError: Any = typer.BadParameter.__bases__[0]

FINE, MACHINE, USE, FILE, SIMULATION, INTERRUPTED = 0, 1, 2, 3, 4, 130

#: The first class that an error is an instance of says the code.
CODES: tuple[tuple[type[BaseException], int], ...] = (
    (KeyboardInterrupt, INTERRUPTED),
    (SimulationError, SIMULATION),
    (DynamicsError, SIMULATION),
    (FileError, FILE),
    (ModelError, FILE),
    (ArgumentValueError, USE),
    (ArgumentTypeError, USE),
    (UsageError, USE),
    (LimberError, MACHINE),  # a compiler or a library is missing
    (OSError, MACHINE),
)


def code_of(error: BaseException) -> int:
    """The exit code of an error."""
    return next(code for kind, code in CODES if isinstance(error, kind))


def described(error: BaseException) -> dict[str, object]:
    """An error for --json."""
    found: dict[str, object] = {
        "code": code_of(error),
        "kind": type(error).__name__,
        "message": message_of(error),
    }
    if isinstance(error, FileError):
        found |= {key: getattr(error, key) for key in ("file", "line", "column", "key")}
    return found


def message_of(error: BaseException) -> str:
    """What an error says."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted."
    return error.format_message() if isinstance(error, UsageError) else str(error)


@contextmanager
def interruptible() -> Iterator[None]:
    """A request to end (SIGTERM, as `kill` and batch systems send it) is an interrupt like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def readable(as_json: bool) -> Iterator[None]:
    """Read a command line: Typer says what is wrong with it, and with --json it is said in JSON as well."""
    try:
        yield
    except UsageError as error:
        if as_json:
            print_json({"error": described(error)})
        raise


@contextmanager
def guarded(as_json: bool, debug: bool) -> Iterator[None]:
    """Run a command: errors that are a user's, a file's or a machine's end it with their code."""
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda message, *_, **__: note(str(message))
        try:
            with interruptible():
                yield
        except BrokenPipeError:  # `limber schema | head`: Typer knows what to do
            raise
        except (KeyboardInterrupt, LimberError, OSError) as error:
            if debug:
                traceback.print_exc()
            note(message_of(error), "error")
            if as_json:
                print_json({"error": described(error)})
            raise typer.Exit(code_of(error)) from None
