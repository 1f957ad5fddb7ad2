"""Reading and writing files: models in YAML, URDF, Denavit-Hartenberg tables, and scenarios (`limber.scenarios`)."""

from importlib import import_module
from typing import TYPE_CHECKING

from limber.io.files import file_kind, load, save
from limber.registry import registered

if TYPE_CHECKING:
    from limber.io.dh import DhRow, attach_dh
    from limber.io.urdf import Urdf, parse_urdf
    from limber.io.urdf_assembly import read_urdf

#: Names whose modules need pydantic or PyYAML.  They are imported at first use.
_LATER = {
    "DhRow": "limber.io.dh",
    "Urdf": "limber.io.urdf",
    "attach_dh": "limber.io.dh",
    "parse_urdf": "limber.io.urdf",
    "read_urdf": "limber.io.urdf_assembly",
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
    "Scenario",
    "Urdf",
    "attach_dh",
    "file_kind",
    "load",
    "load_scenario",
    "parse_urdf",
    "read_urdf",
    "save",
    "schema",
]
