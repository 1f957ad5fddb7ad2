"""From equations to the file of an FMU: sources, the binary of this platform, and the description, in one zip file."""

from __future__ import annotations

import hashlib
import platform
import sys
import tempfile
import uuid
import zipfile
from pathlib import Path

from limber.errors import CompileError
from limber.exchange.fmi.description import build_description, description
from limber.exchange.fmi.equations import Equations
from limber.native import c_compiler
from limber.version import __version__
from limber.whole import replacing

#: The files of C that every FMU has, and those of one version.
_SHARED = ("instance.h", "course.h", "derivatives.h", "solver.h", "common.h")
_OF_VERSION = {2: ("fmi2.c", "fmi2_types.h"), 3: ("fmi3.c", "fmi3_types.h")}
#: Symbols that are not of FMI stay inside.
_FLAGS = (
    "-std=c99",
    "-O2",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fvisibility=hidden",
    "-shared",
    "-fPIC",
)


def write(made: Equations, path: Path, version: int, identifier: str, tolerance: float) -> None:
    """Write the FMU to `path`; the same system gives the same sources and the same token."""
    sources = {name: _file(name) for name in (*_SHARED, *_OF_VERSION[version])}
    with_adjoint = version == 3
    plain = made.source("", tolerance, with_adjoint)
    content = "\n".join([__version__, identifier, plain, *sources.values()])
    token = "{" + str(uuid.UUID(hashlib.sha256(content.encode()).hexdigest()[:32])) + "}"
    sources["equations.h"] = made.source(token, tolerance, with_adjoint)
    files = {
        "modelDescription.xml": description(made, version, identifier, token, tolerance),
        **{f"sources/{name}": text.encode() for name, text in sources.items()},
    }
    if version == 3:
        files["sources/buildDescription.xml"] = build_description(identifier)
    folder, suffix = _platform(version)
    files[f"binaries/{folder}/{identifier}{suffix}"] = _binary(sources, f"fmi{version}.c", suffix)
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


def _file(name: str) -> str:
    return (Path(__file__).parent / "c" / name).read_text(encoding="utf-8")


def _binary(sources: dict[str, str], main: str, suffix: str) -> bytes:
    """The shared library of the sources."""
    with tempfile.TemporaryDirectory(prefix="limber-") as scratch:
        folder = Path(scratch)
        for name, text in sources.items():
            (folder / name).write_text(text, encoding="utf-8")
        result = folder / f"fmu{suffix}"
        c_compiler.build(folder / main, result, _FLAGS)
        return result.read_bytes()


def _platform(version: int) -> tuple[str, str]:
    """The folder of binaries for this platform, and how their names end."""
    machine = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "aarch64", "aarch64": "aarch64"}
    processor = machine.get(platform.machine().lower(), platform.machine().lower())
    systems = {
        "linux": ("linux", "linux64", ".so"),
        "darwin": ("darwin", "darwin64", ".dylib"),
        "win32": ("windows", "win64", ".dll"),
    }
    if sys.platform not in systems:
        raise CompileError(
            f"FMI has no name for binaries of the platform {sys.platform!r}; it has them for {', '.join(systems)}."
        )
    name, old, suffix = systems[sys.platform]
    if version == 3:
        return f"{processor}-{name}", suffix
    if processor != "x86_64":
        raise CompileError(
            f"FMI 2 has no name for binaries of the processor {processor!r} on {name}: use version=3."
        )
    return old, suffix
