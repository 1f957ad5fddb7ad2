"""The meshes and materials that an MJCF file names."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from limber.io.mjcf_compiler import Defaults, yes
from limber.io.xml_tree import Element


class Assets:
    """The elements of `<asset>` by name, and the folder of mesh files."""

    def __init__(self, root: Element, defaults: Defaults):
        self.file = root.file
        self.meshes: dict[str, Element] = {}
        self.materials: dict[str, Element] = {}
        self._folder = ""
        self._strip = False
        for element in root.all("compiler"):
            for key in ("assetdir", "meshdir"):
                self._folder = element.attributes.get(key, self._folder)
            self._strip = yes(element, "strippath", "true" if self._strip else "false")
        for asset in root.all("asset"):
            for mesh in asset.all("mesh"):
                given = defaults.resolved(mesh, None)
                stem = Path(given.attributes.get("file", "")).stem
                self.meshes[given.attributes.get("name", stem)] = given
            for material in asset.all("material"):
                resolved = defaults.resolved(material, None)
                self.materials[resolved.attributes.get("name", "")] = resolved

    def address(self, mesh: Element) -> str:
        """The file of a mesh, relative to the file of the model."""
        given = mesh.get("file")
        if self._strip:
            given = PureWindowsPath(PurePosixPath(given).name).name
        return str(Path(self._folder) / given)
