"""Reading and writing files by their path.

The first call, not the package, imports pydantic and PyYAML.
"""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Any

from limber.assembly import Assembly, System
from limber.checks import flag, shown
from limber.errors import ArgumentTypeError, ArgumentValueError


def file_path(path: Any, name: str = "path") -> Path:
    """`path` as a Path, after checks; `name` is the name of the argument."""
    try:
        if not isinstance(fspath(path), str):
            raise TypeError
    except TypeError:
        raise ArgumentTypeError(f"{name} must be the path of a file, got {shown(path)}.") from None
    if not fspath(path) or "\0" in fspath(path):
        raise ArgumentValueError(f"{name} must be the path of a file, got {shown(path)}.")
    return Path(path)


#: The kinds of files of other tools, by the tag with which they start, and by the ends of their names.
ROBOT_TAGS = {"robot": "urdf", "mujoco": "mjcf", "sdf": "sdf"}
#: The reader of URDF says how to expand the macros of a .xacro.
ROBOT_SUFFIXES = {
    ".urdf": "urdf",
    ".xacro": "urdf",
    ".mjcf": "mjcf",
    ".sdf": "sdf",
    ".world": "sdf",
}


def robot_kind(path: Path) -> str | None:
    """The kind of a file of another tool, "urdf", "mjcf" or "sdf"; None if it is not such a file."""
    suffix = path.suffix.lower()
    if suffix != ".xml":
        return ROBOT_SUFFIXES.get(suffix)
    from limber.io.xml_tree import parse_xml  # noqa: PLC0415

    root = parse_xml(path)
    if root.tag not in ROBOT_TAGS:
        raise root.error(
            f"this file starts with <{root.tag}>: expected <mujoco> (MJCF), <robot> (URDF) or <sdf> (SDF)."
        )
    return ROBOT_TAGS[root.tag]


def load(path: str | PathLike, *, lenient: bool = False) -> Assembly:
    """Read the assembly of a model file (YAML), or of a URDF, MJCF or SDF file.

    path : the path of the file.  Files that it names are looked for next to it.  An error in the file raises a
        `FileError` with file, line, column and the path of the key.  Nothing in a file is executed.
        Files that end in .xml are distinguished by their first tag.
    lenient : True for URDF and SDF files with minor errors; see `limber.io.read_urdf`.
    """
    where = file_path(path)
    kind = robot_kind(where)
    if flag("lenient", lenient) and kind not in ("urdf", "sdf"):
        hint = (
            " In a model file, write `lenient: true` in its `urdf` section." if kind is None else ""
        )
        raise ArgumentValueError(f"lenient is for URDF and SDF files, not for {where.name}.{hint}")
    if kind == "urdf":
        from limber.io.urdf_assembly import read_urdf  # noqa: PLC0415

        return read_urdf(where, lenient=lenient)
    if kind == "sdf":
        from limber.io.sdf_assembly import read_sdf  # noqa: PLC0415

        return read_sdf(where, lenient=lenient)
    if kind == "mjcf":
        from limber.io.mjcf_assembly import read_mjcf  # noqa: PLC0415

        return read_mjcf(where)
    from limber.io.model import read_model  # noqa: PLC0415

    return read_model(where)


def save(
    assembly: Assembly | System,
    path: str | PathLike,
    *,
    expand_beams: bool = False,
    arrays: str = "inline",
) -> None:
    """Write a model to a file; `load` restores its assembly bit for bit.

    Parameters
    ----------
    assembly : an Assembly, or a System, which is written as the assembly that builds it again.
    path : the path of the file, .yaml.  An existing file is replaced as a whole.
    expand_beams : True to write the numbers of a beam (mode shapes at all of its mass points) instead of its few
        arguments.  Otherwise `load` computes the beam again: the result is identical to the bit with the same
        versions of NumPy and SciPy, and to rounding with others.
    arrays : "inline", or "npz" to put arrays into an .npz next to the file: those of bodies with mode shapes, with
        strains, section forces, and the lines and surfaces of reduced structures for pictures.  An existing .npz of
        that name is replaced together with its model file; one without a model file is an error.
    """
    if not isinstance(assembly, (Assembly, System)):
        raise ArgumentTypeError(f"assembly must be an Assembly or a System, got {shown(assembly)}.")
    if arrays not in ("inline", "npz"):
        raise ArgumentValueError(f'arrays must be "inline" or "npz", got {shown(arrays)}.')
    from limber.io.export import write_model  # noqa: PLC0415

    where = file_path(path)
    if where.suffix.lower() in (*ROBOT_SUFFIXES, ".xml", ".npz"):
        raise ArgumentValueError(
            f"path={str(where)!r}: a model file is YAML, but the name ends in {where.suffix}: give a name that ends in "
            ".yaml."
        )
    write_model(assembly, where, flag("expand_beams", expand_beams), arrays)


def file_kind(path: str | PathLike) -> str:
    """Return the kind of a file: "model", "scenario", "study", "urdf", "mjcf" or "sdf".

    path : the path of the file.
    """
    where = file_path(path)
    robot = robot_kind(where)
    if robot is not None:
        return robot
    from limber.io.document import Document  # noqa: PLC0415
    from limber.io.model import check_format  # noqa: PLC0415

    document = Document(where)
    check_format(document)
    if "scenario" in document.data:
        return "study"
    return "scenario" if "model" in document.data else "model"
