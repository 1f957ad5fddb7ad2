"""Reading structures by the path of their file."""

from __future__ import annotations

from os import PathLike
from typing import Any

from limber.checks import shown
from limber.errors import ArgumentTypeError, ArgumentValueError
from limber.io.sources import Source
from limber.io.units import scales
from limber.structures import Structure
from limber.structures.superelement import Superelement

_CALCULIX = (".inp", ".sti", ".mas", ".dof")
_NASTRAN = (".asm", ".bdf", ".dat", ".blk", ".bulk", ".nas", ".pch", ".op4", ".op2")


def read_structure(
    path: str | PathLike,
    *,
    units: str | tuple[float, float] = "m-kg",
    mass: str | PathLike | None = None,
    nodes: str | PathLike | None = None,
    matrices: str | PathLike | None = None,
    matrix_names: tuple[str, str] | None = None,
) -> Structure | Superelement:
    """Read a structure or superelement from a file whose suffix determines the format.

    Parameters
    ----------
    path : .npz of `write_structure`; .inp, .sti, .mas or .dof of a CalculiX job (`read_calculix`); .asm, .bdf, .dat,
        .pch, .op4 or .op2 of Nastran (`read_nastran`); the stiffness matrix, .mtx, of Matrix Market files
        (`read_matrix_market`) or of Abaqus (`read_abaqus`).
    units : units of the numbers, as in `read_calculix`; those of an .npz are SI.
    mass : for .mtx: the mass matrix.
    nodes : for .mtx: the table of nodes or, for Abaqus, the deck (.inp); for CalculiX: the deck (.inp) or the results
        (.frd) with the nodes, if they are not in the .inp of the job.
    matrices : for Nastran: the file with the matrices, if it is neither in `path` nor next to it.
    matrix_names : for Nastran: names of the mass and the stiffness matrix, such as ("MGG", "KGG").
    """
    source = Source(path)
    suffix = source.path.suffix.lower()
    is_matrix = suffix == ".mtx" or source.path.name.lower().endswith(".mtx.gz")
    for name, given, meant in (
        ("mass", mass, is_matrix), ("nodes", nodes, is_matrix or suffix in _CALCULIX),
        ("matrices", matrices, suffix in _NASTRAN), ("matrix_names", matrix_names, suffix in _NASTRAN),
    ):  # fmt: skip
        if given is not None and not meant:
            what = "of Nastran" if name.startswith("matri") else "of .mtx matrices"
            raise ArgumentValueError(
                f"{name} is for files {what}, but {source.path.name} is not one: leave it out."
            )
    if is_matrix:
        return _from_matrices(source, mass, nodes, units)
    if suffix == ".npz":
        if scales(units) != (1.0, 1.0):
            raise ArgumentValueError(
                f"units={units!r} cannot be used with an .npz file of write_structure, which is in SI units: leave it out."
            )
        from limber.io.structure_npz import read_structure_npz  # noqa: PLC0415

        return read_structure_npz(source)
    if suffix in _CALCULIX:
        from limber.io.calculix import read_calculix  # noqa: PLC0415

        return read_calculix(path, geometry=nodes, units=units)
    if suffix in _NASTRAN:
        from limber.io.nastran import read_nastran  # noqa: PLC0415

        M, K = _names(matrix_names)
        return read_nastran(path, matrices=matrices, mass=M, stiffness=K, units=units)
    raise source.error(
        f"files that end in {suffix or 'nothing'} are not supported. Supported are .npz, "
        f"{', '.join((*_CALCULIX, *_NASTRAN))} and .mtx; read_sid reads Standard Input Data."
    )


def _names(names: Any) -> tuple[str | None, str | None]:
    """Names of the mass and the stiffness matrix."""
    if names is None:
        return None, None
    if not isinstance(names, tuple | list) or [type(name) for name in names] != [str, str]:
        raise ArgumentTypeError(
            f"matrix_names must be the names of the mass and the stiffness matrix, got {shown(names)}."
        )
    return names[0], names[1]


def _from_matrices(source: Source, mass: Any, nodes: Any, units: Any) -> Structure:
    """The structure of a stiffness matrix and the files that belong to it."""
    if mass is None or nodes is None:
        raise ArgumentValueError(
            f"{source.path.name} is one matrix of a structure: give the mass matrix in mass=... and, in nodes=..., the "
            "table of nodes (name x y z on each line) or, for matrices of Abaqus, the deck (.inp)."
        )
    if str(nodes).lower().endswith(".inp"):
        from limber.io.abaqus import read_abaqus  # noqa: PLC0415

        return read_abaqus(source.path, mass, nodes, units=units)
    from limber.io.matrix_market import read_matrix_market  # noqa: PLC0415

    return read_matrix_market(mass, source.path, nodes, units=units)
