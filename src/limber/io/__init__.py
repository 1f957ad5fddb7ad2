"""Reading and writing files.

These are models in YAML, URDF, MJCF and SDF, Denavit-Hartenberg tables, structures of finite-element programs, and
scenarios (`limber.scenarios`).
"""

from importlib import import_module
from typing import TYPE_CHECKING

from limber.io.files import file_kind, load, save
from limber.registry import registered

if TYPE_CHECKING:
    from limber.io.abaqus import read_abaqus
    from limber.io.body_npz import read_body, write_body
    from limber.io.calculix import read_calculix
    from limber.io.dh import DhRow, attach_dh
    from limber.io.frd import FrdModes, read_frd
    from limber.io.matrix_market import read_matrix_market
    from limber.io.mjcf_assembly import read_mjcf
    from limber.io.nastran import read_nastran
    from limber.io.sdf_assembly import read_sdf
    from limber.io.sid import read_sid
    from limber.io.sid_writer import write_sid
    from limber.io.structure_npz import write_structure
    from limber.io.structures import read_structure
    from limber.io.urdf import Urdf, parse_urdf
    from limber.io.urdf_assembly import read_urdf

#: Names whose modules need pydantic, PyYAML or sparse matrices.  They are imported at first use.
_LATER = {
    "DhRow": "limber.io.dh",
    "FrdModes": "limber.io.frd",
    "Urdf": "limber.io.urdf",
    "attach_dh": "limber.io.dh",
    "parse_urdf": "limber.io.urdf",
    "read_abaqus": "limber.io.abaqus",
    "read_body": "limber.io.body_npz",
    "read_calculix": "limber.io.calculix",
    "read_frd": "limber.io.frd",
    "read_matrix_market": "limber.io.matrix_market",
    "read_mjcf": "limber.io.mjcf_assembly",
    "read_nastran": "limber.io.nastran",
    "read_sdf": "limber.io.sdf_assembly",
    "read_sid": "limber.io.sid",
    "read_structure": "limber.io.structures",
    "read_urdf": "limber.io.urdf_assembly",
    "write_body": "limber.io.body_npz",
    "write_sid": "limber.io.sid_writer",
    "write_structure": "limber.io.structure_npz",
}
#: Names that an upper layer implements.
_ABOVE = ("Scenario", "load_scenario", "schema")


def __getattr__(name: str):
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    if name in _ABOVE:
        return registered(f"io.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The names of this module, including those that are not imported yet."""
    return sorted({*globals(), *_LATER, *_ABOVE})


__all__ = [
    "DhRow",
    "FrdModes",
    "Scenario",
    "Urdf",
    "attach_dh",
    "file_kind",
    "load",
    "load_scenario",
    "parse_urdf",
    "read_abaqus",
    "read_body",
    "read_calculix",
    "read_frd",
    "read_matrix_market",
    "read_mjcf",
    "read_nastran",
    "read_sdf",
    "read_sid",
    "read_structure",
    "read_urdf",
    "save",
    "schema",
    "write_body",
    "write_sid",
    "write_structure",
]
