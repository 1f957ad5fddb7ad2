"""Reading and writing files by their path.

pydantic and PyYAML are imported by the first call, not with the package.
"""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limber.assembly import Assembly
from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError

if TYPE_CHECKING:
    from limber.io.scenario import Scenario


def file_path(path: Any) -> Path:
    """`path` as a Path, checked."""
    try:
        if not isinstance(fspath(path), str):
            raise TypeError
    except TypeError:
        raise ArgumentTypeError(f"path must be the path of a file, got {shown(path)}.") from None
    if not fspath(path) or "\0" in fspath(path):
        raise ArgumentValueError(f"path must be the path of a file, got {shown(path)}.")
    return Path(path)


def load(path: str | PathLike) -> Assembly:
    """The assembly of a model file (YAML), or of a URDF file.

    path : of the file; files that it names are looked for beside it.  What is wrong in it is a
    `FileError` with file, line, column and the path of the key.  Nothing in a file is executed.
    """
    where = file_path(path)
    if where.suffix.lower() == ".urdf":
        from limber.io.urdf_assembly import read_urdf  # noqa: PLC0415

        return read_urdf(where)
    from limber.io.model import read_model  # noqa: PLC0415

    return read_model(where)


def save(
    assembly: Assembly,
    path: str | PathLike,
    *,
    expand_beams: bool = False,
    arrays: str = "inline",
) -> None:
    """Write an assembly to a model file; `load` gives it back bit for bit.

    Parameters
    ----------
    assembly : what to write.
    path : of the file, .yaml; one that exists is replaced, whole.
    expand_beams : write the numbers of a beam (mode shapes at all of its mass points) instead of its few
        arguments.  Without it, the beam is computed anew by `load`: the same bits with the same versions
        of NumPy and SciPy, the same to rounding with others.
    arrays : "inline", or "npz" to put the arrays of bodies given by nodes into an .npz beside the file.  An .npz of
        that name is replaced along with the model file that it belongs to; one without is not ours, and refused.
    """
    if not isinstance(assembly, Assembly):
        raise ArgumentTypeError(
            f"assembly must be an Assembly, got {shown(assembly)}. A System does not keep its description apart."
        )
    if arrays not in ("inline", "npz"):
        raise ArgumentValueError(f'arrays must be "inline" or "npz", got {shown(arrays)}.')
    from limber.io.export import write_model  # noqa: PLC0415

    where = file_path(path)
    if where.suffix.lower() in (".urdf", ".npz"):
        raise ArgumentValueError(
            f"path={str(where)!r}: a model file is YAML, and {where.suffix} says something else: give a name that ends in "
            ".yaml."
        )
    write_model(assembly, where, bool(expand_beams), arrays)


def load_scenario(path: str | PathLike) -> Scenario:
    """The scenario of a file: a model, its state at the start, torques, duration and outputs.

    path : of the file; files that it names are looked for beside it.
    """
    from limber.io.scenario import read_scenario  # noqa: PLC0415

    return read_scenario(file_path(path))


def file_kind(path: str | PathLike) -> str:
    """What a file holds: "model", "scenario" or "urdf".

    path : of the file.
    """
    where = file_path(path)
    if where.suffix.lower() == ".urdf":
        return "urdf"
    from limber.io.document import Document  # noqa: PLC0415
    from limber.io.model import check_format  # noqa: PLC0415

    document = Document(where)
    check_format(document)
    return "scenario" if "model" in document.data else "model"


def schema(kind: str = "model") -> dict[str, Any]:
    """The JSON schema of a file, for editors.

    kind : "model", "scenario" or "side" (flexible links for a URDF).
    """
    from limber.io.json_schema import file_schema  # noqa: PLC0415

    return file_schema(kind)
