"""The flexible body for `limber body`: one of a model, one from a file, or the reduction of a structure."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from limber import io
from limber.bodies import FlexibleBody
from limber.checks import listed, suggestion
from limber.cli.subject import read
from limber.errors import ArgumentValueError, FileError, LimberError
from limber.io.files_read import files_read

if TYPE_CHECKING:
    from limber.structures import Structure, Superelement

MODELS = (".yaml", ".yml", ".urdf")
SID = (".sid", ".sid_fem")
#: Nodes are on a plane if they are this fraction of the size of the structure from it, or nearer.
ON_PLANE = 1e-6


@dataclass(frozen=True)
class Reading:
    """The options that say how a file of a structure is read."""

    units: str | None = None
    mass: Path | None = None
    table: Path | None = None
    matrices: Path | None = None
    matrix_names: tuple[str, str] | None = None


@dataclass(frozen=True)
class Reducing:
    """The options that say how a structure is reduced; None and () where they are not given."""

    clamped: Sequence[str] = ()
    pinned: Sequence[str] = ()
    interface: Sequence[str] = ()
    node: Sequence[str] = ()
    modes: int | None = None
    band: tuple[float, float] | None = None
    effective_mass: float | None = None
    method: str | None = None
    load: Sequence[str] = ()
    patch: Sequence[str] = ()
    origin: str | None = None
    damping: float | None = None
    geometric_stiffening: bool | None = None


@dataclass(frozen=True, eq=False)
class Found:
    """A body, its name, and all files that were read for it; `joint_node` carries the joint of a free body."""

    body: FlexibleBody
    name: str
    inputs: tuple[Path, ...]
    joint_node: str | None = None


def flexible_body(file: Path, wanted: str | None, reading: Reading, reducing: Reducing) -> Found:
    """The body of a file."""
    suffix = file.suffix.lower()
    if suffix in MODELS:
        _refuse("a model, whose bodies are reduced already", reading, reducing)
        return _of_model(file, wanted)
    if wanted is not None:
        raise ArgumentValueError(
            f"--body {wanted} is for models (.yaml, .urdf): {file.name} has one body. Leave it out; --name names it."
        )
    with files_read() as inputs:
        if suffix in SID or (suffix == ".npz" and not _is_structure(file)):
            kind = "Standard Input Data" if suffix in SID else "a body"
            _refuse(f"{kind}, which is reduced already", reading, reducing)
            body = io.read_sid(file) if suffix in SID else io.read_body(file)
            return Found(body, file.stem, (file, *inputs))
        given: dict[str, Any] = {
            key: value
            for key, value in (
                ("units", reading.units), ("mass", reading.mass), ("nodes", reading.table), ("matrices", reading.matrices),
                ("matrix_names", reading.matrix_names),
            )
            if value is not None
        }  # fmt: skip
        structure = io.read_structure(file, **given)
    body, joint_node = _reduced(structure, reducing)
    return Found(body, file.stem, (file, *inputs), joint_node)


def _refuse(what: str, reading: Reading, reducing: Reducing) -> None:
    """Reject options that do not apply to a file."""
    for options in (reading, reducing):
        for field in fields(options):
            if getattr(options, field.name) not in (None, (), []):
                option = "--" + field.name.replace("_", "-")
                raise ArgumentValueError(
                    f"{option} is for structures, and the file is {what}: leave {option} out."
                )


def _of_model(file: Path, wanted: str | None) -> Found:
    subject = read(file)
    bodies = subject.system.bodies
    flexible = [n for n, body in bodies.items() if body.modes and body.kind == FlexibleBody.kind]
    if not flexible:
        raise FileError(f"{file}: none of its bodies is flexible.", str(file))
    if wanted is None:
        if len(flexible) > 1:
            raise ArgumentValueError(
                f"{file} has {len(flexible)} flexible bodies: choose one with --body, of {listed(flexible)}."
            )
        wanted = flexible[0]
    if wanted not in flexible:
        why = "is rigid" if wanted in bodies else "is not one of its bodies"
        raise ArgumentValueError(
            f"--body {wanted!r} {why}; flexible bodies of {file} are {listed(flexible)}.{suggestion(wanted, flexible)}"
        )
    return Found(cast(FlexibleBody, bodies[wanted]), wanted, subject.inputs)


def _is_structure(file: Path) -> bool:
    """Whether an .npz was written by `write_structure`; errors in a file are reported by its reader."""
    try:
        with zipfile.ZipFile(file) as archive:
            return "stiffness.npy" not in archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return True


def _reduced(
    structure: Structure | Superelement, options: Reducing
) -> tuple[FlexibleBody, str | None]:
    """The body of a structure, and the node for the joint of a free or pinned one."""
    from limber.structures import Superelement  # noqa: PLC0415 (sparse matrices)

    if isinstance(structure, Superelement):
        return _reduced_superelement(structure, options)
    arguments: dict[str, Any] = {"modes": _modes(options)}
    for option in ("clamped", "pinned", "interface", "node"):
        given = getattr(options, option)
        if given:
            found = [node for text in given for node in nodes_of(structure, option, text)]
            arguments["nodes" if option == "node" else option] = list(dict.fromkeys(found))
    if options.node and list(options.node) == ["all"] and "all" not in structure.names:
        arguments["nodes"] = "all"
    if options.origin is not None:
        arguments["origin"] = _origin(structure, options.origin)
    for name in ("method", "damping", "geometric_stiffening"):
        if getattr(options, name) is not None:
            arguments[name] = getattr(options, name)
    if options.load:
        arguments["loads"] = dict(map(_load, options.load))
    if options.patch:
        arguments["patches"] = dict(_patch(structure, text) for text in options.patch)
    body = structure.reduce(**arguments)
    if options.clamped:
        return body, None
    named = [*arguments.get("pinned", []), *arguments.get("interface", [])]
    return body, named[0] if named else body.nodes.names[0]


def _reduced_superelement(part: Superelement, options: Reducing) -> tuple[FlexibleBody, str | None]:
    for field in fields(options):
        if field.name not in ("clamped", "modes", "damping") and getattr(
            options, field.name
        ) not in (None, ()):
            option = "--" + field.name.replace("_", "-")
            raise ArgumentValueError(
                f"{option} is for structures: this file has a superelement, which takes --clamped, --modes and --damping."
            )  # fmt: skip
    body = part.reduce(
        clamped=list(options.clamped) or None, modes=options.modes, damping=options.damping or 0.0
    )
    return body, None if options.clamped else body.nodes.names[0]


def _modes(options: Reducing) -> int | dict:
    """The argument `modes` of `reduce`."""
    given = [
        name for name in ("modes", "band", "effective_mass") if getattr(options, name) is not None
    ]
    if len(given) > 1:
        first, second = ("--" + name.replace("_", "-") for name in given[:2])
        raise ArgumentValueError(
            f"{first} and {second} both select the modes: give only one of them."
        )
    if options.band is not None:
        low, high = options.band
        return {"band": (2.0 * np.pi * low, 2.0 * np.pi * high)}
    if options.effective_mass is not None:
        return {"effective_mass": options.effective_mass}
    return 10 if options.modes is None else options.modes


def nodes_of(structure: Structure, option: str, text: str) -> list[str]:
    """The nodes that a text names: a node or a group by its name, or all on a plane, as x=0.5, x=min or x=max."""
    plane = re.fullmatch(r"([xyz])=(.+)", text)
    if text in structure.groups or (option == "node" and text == "all"):
        return [text]
    if text in structure.names or plane is None:
        return [structure.names[structure.node(text, option)]]
    along = structure.position[:, "xyz".index(plane[1])]
    try:
        place = {"min": along.min(), "max": along.max()}.get(plane[2])
        place = float(plane[2]) if place is None else place
    except ValueError:
        raise ArgumentValueError(
            f"--{option} {text}: a plane is x, y or z = a number, min or max, got {plane[2]!r}."
        ) from None
    size = np.ptp(structure.position, axis=0).max()
    found = np.flatnonzero(np.abs(along - place) <= ON_PLANE * size)
    if not found.size:
        raise ArgumentValueError(
            f"--{option} {text}: no node is there; {plane[1]} goes from {along.min():g} to {along.max():g} m."
        )
    return [structure.names[j] for j in found]


def _origin(structure: Structure, text: str) -> Any:
    """A node or a group by its name, or a point x,y,z."""
    if "," not in text or text in structure.names or text in structure.groups:
        return text
    try:
        point = [float(x) for x in text.split(",")]
    except ValueError:
        point = []
    if len(point) != 3:
        raise ArgumentValueError(
            f"--origin {text}: give a node, a group or a point x,y,z in m, in the axes of the structure."
        )
    return point


def _load(text: str) -> tuple[str, tuple[float, Any]]:
    """NODE=MASS or NODE=MASS,INERTIA or NODE=MASS,IXX,IYY,IZZ."""
    node, _, numbers = text.rpartition("=")
    try:
        values = [float(x) for x in numbers.split(",")]
    except ValueError:
        values = []
    if not node or len(values) not in (1, 2, 4):
        raise ArgumentValueError(
            f"--load {text}: give NODE=MASS, NODE=MASS,INERTIA or NODE=MASS,IXX,IYY,IZZ, in kg and kg m^2."
        )
    inertia: Any = 0.0 if len(values) == 1 else values[1] if len(values) == 2 else values[1:]
    return node, (values[0], inertia)


def _patch(structure: Structure, text: str) -> tuple[str, list[str]]:
    """NODE:NODES, the nodes named or on a plane, separated by commas."""
    node, colon, others = text.partition(":")
    if not node or not colon or not others:
        raise ArgumentValueError(
            f"--patch {text}: give NODE:NODES, the nodes by their names or as x=max, separated by commas."
        )
    return node, [name for part in others.split(",") for name in nodes_of(structure, "patch", part)]


def saved(found: Found, path: Path) -> str:
    """Write the body for model files; how to use what was written."""
    if path.suffix.lower() == ".npz":
        kind = io.write_body(found.body, path)
        return f"in a model file: {kind}: {{file: {path.name}}}"
    from limber.assembly import Assembly  # noqa: PLC0415
    from limber.joints import Fixed, Free  # noqa: PLC0415

    assembly = Assembly(found.name)
    if found.joint_node is None:
        assembly.attach(found.name, found.body, Fixed())
    else:
        assembly.attach(found.name, found.body, Free(), inboard=found.joint_node)
    try:
        io.save(assembly, path)
    except LimberError as error:
        if isinstance(error, FileError):  # the disk, not the file that was read
            raise OSError(str(error)) from error
        raise
    return "a model of the body alone"
