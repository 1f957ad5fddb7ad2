"""C sources to loaded libraries, by the system's compiler, kept by content."""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from limber import cache as disk
from limber.errors import CompileError

#: Rounding may change (fused multiply-add); nothing else does.
FLAGS = ("-std=gnu99", "-O2", "-ffp-contract=fast", "-fno-math-errno", "-shared", "-fPIC")

#: Bytes of the digest behind a library.
SEAL = 16


@cache
def compiler() -> tuple[str, ...]:
    """The command of the C compiler: $CC, else cc, gcc or clang."""
    given = os.environ.get("CC", "")
    try:
        wanted = shlex.split(given)
    except ValueError as error:
        raise CompileError(
            f"the environment variable CC={given!r} is no command: {error}."
        ) from error
    for command in [wanted] if wanted else [["cc"], ["gcc"], ["clang"]]:
        path = shutil.which(command[0])
        if path is not None:
            return (path, *command[1:])
    tried = (
        f"the environment variable CC asks for {given!r}" if wanted else "tried cc, gcc and clang"
    )
    raise CompileError(
        f"no C compiler was found: {tried}. Install one (the package gcc or clang of your system), or set CC to its "
        'path. target="casadi" needs none, nor do lb.forward_dynamics and the other functions of limber.'
    )


@cache
def _identity() -> str:
    """Compiler version and processor: code for one is not loaded on another."""
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
    """The option for this processor's instructions, where the compiler knows it."""
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


def _sealed(content: bytes) -> bytes:
    """A library with a digest of it behind its end, where no loader looks."""
    return content + hashlib.blake2b(content, digest_size=SEAL).digest()


def _whole(path: Path) -> bool:
    """Whether a library is there as it was written: one that was cut or overwritten may crash its loader."""
    try:
        content = path.read_bytes()
    except OSError:
        return False
    return content == _sealed(content[:-SEAL])


def library(source: str, suffix: str = ".so", options: tuple[str, ...] = ()) -> Path:
    """The shared library of a source, compiled unless one of the same content is there, whole.

    Two processes may do this at once: each compiles into a file of its own, which takes its final
    name in one step.
    """
    identity = _identity()  # says so if the compiler does not start
    flags = (*FLAGS, *_native(), *options)
    text = "\n".join([identity, *flags, source])
    name = hashlib.sha256(text.encode()).hexdigest()[:24]
    folder = disk.folder("generated")
    path = folder / f"{name}{suffix}"
    if _whole(path):
        return path
    try:
        with tempfile.TemporaryDirectory(dir=folder, prefix=name) as scratch:
            file, result = Path(scratch) / f"{name}.c", Path(scratch) / path.name
            file.write_text(source)
            _run([*compiler(), *flags, "-o", str(result), str(file), "-lm"])
            if not result.exists():
                raise CompileError(
                    f"{' '.join(compiler())} wrote no file: it is no C compiler. Check $CC."
                )
            result.write_bytes(_sealed(result.read_bytes()))
            os.replace(result, path)
    except OSError as error:
        raise CompileError(
            f"the compiled code could not be written to {folder}: {error}. Free some space, or set LIMBER_CACHE_DIR "
            "to a folder that can be written."
        ) from error
    return path


def loaded(source: str) -> ctypes.CDLL:
    """The library of a source, loaded; one made for another system, which it cannot load, is made again."""
    path = library(source)
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        path.unlink(missing_ok=True)
    path = library(source)
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise CompileError(f"{path} could not be loaded: {error}.") from error
