"""Structures by the path of their file."""

from __future__ import annotations

from os import PathLike

from limber.io.sources import Source
from limber.structures import Structure
from limber.structures.superelement import Superelement

_CALCULIX = (".inp", ".sti", ".mas", ".dof")
_NASTRAN = (".asm", ".bdf", ".dat", ".blk", ".bulk", ".nas", ".pch", ".op4", ".op2")


def read_structure(path: str | PathLike) -> Structure | Superelement:
    """The structure or superelement of a file, whose name says what it is.

    path : .npz of `write_structure`; .inp, .sti, .mas or .dof of a CalculiX job (`read_calculix`); .asm, .bdf, .dat, .pch,
        .op4 or .op2 of Nastran (`read_nastran`).  Units are SI; those functions take others, and other file names.
    """
    source = Source(path)
    suffix = source.path.suffix.lower()
    if suffix == ".npz":
        from limber.io.structure_npz import read_structure_npz  # noqa: PLC0415

        return read_structure_npz(source)
    if suffix in _CALCULIX:
        from limber.io.calculix import read_calculix  # noqa: PLC0415

        return read_calculix(path)
    if suffix in _NASTRAN:
        from limber.io.nastran import read_nastran  # noqa: PLC0415

        return read_nastran(path)
    raise source.error(
        f"files that end in {suffix or 'nothing'} are not known here. Known are .npz, {', '.join((*_CALCULIX, *_NASTRAN))}; "
        "read_matrix_market reads .mtx, read_sid Standard Input Data."
    )
