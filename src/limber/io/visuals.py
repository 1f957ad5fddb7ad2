"""Shapes of robots in files of other tools, and the meshes that they name, for pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from limber.checks import Array
from limber.errors import LimberError
from limber.io.xml_tree import Element
from limber.shapes import Mesh, Shape
from limber.shapes.shape import colour_of

#: At most this many things are named in a warning.
LISTED = 4
#: The environment variables of ROS and of new and old versions of Gazebo that list folders of packages and models.
RESOURCES = ("ROS_PACKAGE_PATH", "GZ_SIM_RESOURCE_PATH", "SDF_PATH", "GAZEBO_MODEL_PATH")


class Visuals:
    """Reads the shapes of a file; those that cannot be drawn are left out and recorded.

    The dynamics needs none of them.
    """

    def __init__(self, file: Path):
        self.file = file
        self._missing: dict[str, None] = {}
        self._wrong: dict[str, None] = {}

    def shape(self, kind: type[Shape], *sizes: Any, **look: Any) -> Shape | None:
        """A shape, or None if it cannot be made."""
        try:
            return kind(*sizes, **look)
        except LimberError as error:
            self.wrong(str(error))
            return None

    def mesh(
        self, address: str, scale: Any, beside: Path | None = None, **look: Any
    ) -> Shape | None:
        """A mesh by its address, or None if there is no such file; `beside` is the file that names it, if another one."""
        path = found(address, beside or self.file)
        if path is None:
            self._missing.setdefault(address)
            return None
        return self.shape(Mesh, path, scale, **look)

    def wrong(self, words: str) -> None:
        """Record what is wrong with a shape."""
        self._wrong.setdefault(words.rstrip("."))

    def notes(self) -> list[str]:
        """The warnings, as clauses."""
        said = []
        if self._missing:
            many = "the mesh files" if len(self._missing) > 1 else "the mesh file"
            said.append(
                f"pictures leave out {many} {_few(self._missing)}, which {'are' if len(self._missing) > 1 else 'is'} "
                "missing"
            )
        if self._wrong:
            said.append(f"pictures leave out what cannot be drawn: {_few(self._wrong, '')}")
        return said


def _few(names: dict[str, None], quote: str = "'") -> str:
    some = ", ".join(f"{quote}{name}{quote}" for name in list(names)[:LISTED])
    return some + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")


def found(address: str, file: Path) -> Path | None:
    """The file that an address names: a path from the file on, file://, package:// or model://; None if there is none.

    Packages are looked for in the folders above the file, which may be the package themselves, and in those that the
    variables in RESOURCES list.
    """
    scheme, _, rest = address.partition("://")
    if not rest:
        return _file(file.parent / address)
    rest = unquote(rest)
    if scheme == "file":
        return _file(Path(rest))
    if scheme not in ("package", "model"):
        return None
    package, _, inside = rest.partition("/")
    for folder in file.resolve().parents:
        if folder.name == package and (path := _file(folder / inside)):
            return path
        if path := _file(folder / package / inside):
            return path
    listed = os.pathsep.join(os.environ.get(name, "") for name in RESOURCES)
    for root in filter(None, listed.split(os.pathsep)):
        for folder in (Path(root), Path(root) / package):
            if folder.name == package and (path := _file(folder / inside)):
                return path
    return None


def _file(path: Path) -> Path | None:
    try:
        return path if path.is_file() else None
    except (OSError, ValueError):
        return None


def paint(element: Element, rgba: Array) -> str | None:
    """A colour of numbers from 0 to 1, the last of which is how opaque it is; None if nothing is to be seen."""
    if len(rgba) == 4 and rgba[3] <= 0.0:
        return None
    return colour_of(rgba[:3].clip(0.0, 1.0))
