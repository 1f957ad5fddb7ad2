"""The geoms of MJCF as shapes."""

from __future__ import annotations

from pathlib import Path

from limber.errors import FileError
from limber.io.mjcf_compiler import Compiler, Defaults
from limber.io.mjcf_geoms import SIZES, size_and_pose
from limber.io.placement import Pose
from limber.io.visuals import Visuals, paint
from limber.io.xml_tree import Element
from limber.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere

#: Geoms of groups above this are not drawn by MuJoCo unless requested: they are for contacts.
SHOWN = 2


class GeomShapes:
    """Makes shapes from geoms, with the meshes and materials of the file."""

    def __init__(self, root: Element, defaults: Defaults, compiler: Compiler):
        self.visuals = Visuals(root.file)
        self._compiler = compiler
        self._meshes: dict[str, Element] = {}
        self._materials: dict[str, Element] = {}
        self._folder = ""
        for element in root.all("compiler"):
            for key in ("assetdir", "meshdir"):
                self._folder = element.attributes.get(key, self._folder)
        for asset in root.all("asset"):
            for mesh in asset.all("mesh"):
                given = defaults.resolved(mesh, None)
                stem = Path(given.attributes.get("file", "")).stem
                self._meshes[given.attributes.get("name", stem)] = given
            for material in asset.all("material"):
                resolved = defaults.resolved(material, None)
                self._materials[resolved.attributes.get("name", "")] = resolved

    def shape(self, geom: Element, frame: Pose) -> Shape | None:
        """The shape of a geom given in a frame of its body; None if there is nothing to draw."""
        try:
            kind = geom.attributes.get("type", "mesh" if "mesh" in geom.attributes else "sphere")
            if geom.number("group", "0") > SHOWN or kind not in (*SIZES, "mesh"):
                return None
            look = {"colour": self._colour(geom)}
            if kind == "mesh":
                return self._mesh(geom, frame, look)
            size, pose = size_and_pose(geom, kind, self._compiler)
            place = frame.then(pose)
            look |= {"at": place.position, "rotation": place.rotation}  # type: ignore[dict-item]
            if kind == "sphere":
                return self.visuals.shape(Sphere, size[0], **look)
            if kind in ("capsule", "cylinder"):
                round_kind = Capsule if kind == "capsule" else Cylinder
                return self.visuals.shape(round_kind, size[0], 2.0 * size[1], **look)
            if kind == "box":
                return self.visuals.shape(Box, 2.0 * size, **look)
            return self.visuals.shape(Ellipsoid, size, **look)
        except FileError as error:
            self.visuals.wrong(str(error))
            return None

    def _mesh(self, geom: Element, frame: Pose, look: dict) -> Shape | None:
        asset = self._meshes.get(geom.attributes.get("mesh", ""))
        if asset is None or "file" not in asset.attributes:
            self.visuals.wrong(f"the mesh of the geom in line {geom.line}")
            return None
        place = frame.then(self._compiler.pose(geom))
        address = str(Path(self._folder) / asset.attributes["file"])
        scale = asset.numbers("scale", 3, "1 1 1")
        return self.visuals.mesh(address, scale, at=place.position, rotation=place.rotation, **look)

    def _colour(self, geom: Element) -> str | None:
        material = self._materials.get(geom.attributes.get("material", ""))
        if "rgba" in geom.attributes:
            return paint(geom, geom.numbers("rgba", 4))
        if material is not None and "rgba" in material.attributes:
            return paint(material, material.numbers("rgba", 4))
        return None
