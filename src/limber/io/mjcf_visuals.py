"""The geoms of MJCF as shapes."""

from __future__ import annotations

from limber.errors import FileError
from limber.io.mjcf_assets import Assets
from limber.io.mjcf_compiler import Compiler
from limber.io.mjcf_geoms import SIZES, size_and_pose
from limber.io.mjcf_meshes import Meshes
from limber.io.placement import Pose
from limber.io.visuals import Visuals, paint
from limber.io.xml_tree import Element
from limber.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere

#: Geoms of groups above this are not drawn by MuJoCo unless requested: they are for contacts.
SHOWN = 2


class GeomShapes:
    """Makes shapes from geoms, with the meshes and materials of the file."""

    def __init__(self, assets: Assets, compiler: Compiler, meshes: Meshes):
        self.visuals = Visuals(assets.file)
        self._compiler = compiler
        self._assets = assets
        self._meshes = meshes

    def shape(self, geom: Element, frame: Pose) -> Shape | None:
        """The shape of a geom given in a frame of its body; None if there is nothing to draw."""
        try:
            kind = geom.attributes.get("type", "mesh" if "mesh" in geom.attributes else "sphere")
            if geom.number("group", "0") > SHOWN or kind not in (*SIZES, "mesh"):
                return None
            look = {"colour": self._colour(geom)}
            if kind == "mesh":
                return self._mesh(geom, frame, look)
            size, pose = size_and_pose(geom, kind, self._compiler, self._meshes)
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
        asset = self._assets.meshes.get(geom.attributes.get("mesh", ""))
        if asset is None or "file" not in asset.attributes:
            self.visuals.wrong(f"the mesh of the geom in line {geom.line}")
            return None
        place = frame.then(self._compiler.pose(geom))
        address, scale = self._assets.address(asset), asset.numbers("scale", 3, "1 1 1")
        return self.visuals.mesh(address, scale, at=place.position, rotation=place.rotation, **look)

    def _colour(self, geom: Element) -> str | None:
        material = self._assets.materials.get(geom.attributes.get("material", ""))
        if "rgba" in geom.attributes:
            return paint(geom, geom.numbers("rgba", 4))
        if material is not None and "rgba" in material.attributes:
            return paint(material, material.numbers("rgba", 4))
        return None
