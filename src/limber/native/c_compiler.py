"""Compilation of C sources by the system's compiler; the libraries are cached by content."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from limber import cache as disk
from limber.errors import CompileError

#: Rounding may change (fused multiply-add), and nothing else.
FLAGS = ("-std=gnu99", "-O2", "-ffp-contract=fast", "-fno-math-errno", "-shared", "-fPIC")


@cache
def compiler() -> tuple[str, ...]:
    """The command of the C compiler: $CC, else cc, gcc or clang."""
    given = os.environ.get("CC", "")
    try:
        wanted = shlex.split(given)
    except ValueError as error:
        raise CompileError(
            f"the environment variable CC={given!r} is not a command: {error}."
        ) from error
    for command in [wanted] if wanted else [["cc"], ["gcc"], ["clang"]]:
        path = shutil.which(command[0])
        if path is not None:
            return (path, *command[1:])
    tried = (
        f"the environment variable CC specifies {given!r}" if wanted else "tried cc, gcc and clang"
    )
    raise CompileError(
        f"no C compiler was found: {tried}. Install one (the package gcc or clang of your system), or set CC to its "
        'path. lb.forward_dynamics, the other functions of Limber and target="casadi" do not need one.'
    )


@cache
def _identity() -> str:
    """The version of the compiler and the processor; code for one processor is not loaded on another."""
    version = _run([*compiler(), "--version"]).splitlines()[:1]
    processor = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor += next((x for x in lines if x.startswith(("flags", "Features"))), "")
    except OSError:
        processor += platform.processor()
    return "\n".join([*compiler(), *version, processor])


@cache
def _native() -> tuple[str, ...]:
    """The option for the instructions of this processor, if the compiler has one."""
    for option in ("-march=native", "-mcpu=native"):
        command = [*compiler(), option, "-x", "c", "-c", os.devnull, "-o", os.devnull]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return (option,)
    return ()


def _run(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CompileError(
            f"the C compiler {command[0]} could not be started: {error}. Check $CC."
        ) from error
    if done.returncode != 0:
        message = "\n".join(done.stderr.strip().splitlines()[:12])
        raise CompileError(f"{' '.join(command[:6])} ... failed:\n{message}")
    return done.stdout


def _compiled(source: str, name: str, flags: tuple[str, ...], scratch: Path) -> Path:
    """The shared library of a source, in the folder `scratch`."""
    file, result = scratch / "source.c", scratch / name
    file.write_text(source)
    build(file, result, flags)
    return result


def build(file: Path, result: Path, flags: tuple[str, ...]) -> None:
    """Compile a C file to the shared library `result`; `flags` ask for that."""
    _run([*compiler(), *flags, "-o", str(result), str(file), "-lm"])
    if not result.exists():
        raise CompileError(
            f"{' '.join(compiler())} wrote no file: it is not a C compiler. Check $CC."
        )


def loaded(source: str, load: Callable[[str], Any] = ctypes.CDLL) -> Any:
    """What `load` makes of the shared library of a source, compiled for this processor; see `kept`."""
    identity = _identity()  # this raises an error if the compiler does not start
    flags = (*FLAGS, *_native())
    return kept("\n".join([identity, *flags, source]), source, flags, load)


def kept(
    key: str,
    source: str,
    flags: tuple[str, ...],
    load: Callable[[str], Any] = ctypes.CDLL,
    suffix: str = ".so",
) -> Any:
    """What `load` makes of the shared library of a source, which is compiled unless the cache has it.

    key : everything that the library depends on; its file in the cache is named by a digest of this text.

    A library that was made for another system and cannot be loaded is compiled again.  A library that cannot be kept
    is loaded from a temporary folder.
    """
    name = f"{hashlib.sha256(key.encode()).hexdigest()[:24]}{suffix}"
    file = disk.find(f"generated/{name}")
    if file is not None:
        with contextlib.suppress(OSError, ImportError):
            return load(str(file))
    try:
        with tempfile.TemporaryDirectory(prefix="limber-") as scratch:
            result = _compiled(source, name, flags, Path(scratch))
            path = disk.keep(f"generated/{name}", result.read_bytes()) or result
            return load(str(path))
    except (OSError, ImportError) as error:
        raise CompileError(
            f"the compiled code could not be written or loaded: {error}. Code is compiled in {tempfile.gettempdir()} "
            "(set TMPDIR to choose another folder) and loaded from the folder of LIMBER_CACHE_DIR: both need space, "
            "and code in them must be allowed to run."
        ) from error
