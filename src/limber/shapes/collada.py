"""The triangles of COLLADA files (.dae), which many robots use: geometry and its places in the scene.

Lengths are in the unit stated in the file.  Colours, and the direction that the file calls up, are ignored, as in RViz
for robots.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as tree
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from limber.checks import Array
from limber.errors import FileError

#: Nodes within nodes, at most.
DEEPEST = 100


def read_collada(path: Path, data: bytes) -> tuple[Array, np.ndarray]:
    """Points (p, 3) and triangles (t, 3) of a file."""
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data:
        raise FileError(f"{path}: a document type (<!DOCTYPE ...>) is not allowed.", str(path))
    try:
        root = tree.fromstring(data)
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]  # without the name space
        found = list(_placed(root))
        if not found:
            return np.zeros((0, 3)), np.zeros((0, 3), np.int64)
        unit = root.find("asset/unit")
        metre = 1.0 if unit is None else float(unit.get("meter", "1"))
        starts = np.cumsum([0, *(len(points) for points, _ in found)])
        points = np.concatenate([points for points, _ in found])
        faces = np.concatenate([start + faces for start, (_, faces) in zip(starts, found)])
        return metre * points, faces
    except (tree.ParseError, ValueError, KeyError, IndexError, AttributeError) as error:
        raise FileError(
            f"{path}: cannot be read as a COLLADA file ({type(error).__name__}: {str(error)[:100]}).",
            str(path),
        ) from None


def _placed(root: tree.Element) -> Iterator[tuple[Array, np.ndarray]]:
    """The meshes of the scene, where it has them."""
    meshes = {x.get("id"): x.find("mesh") for x in root.iter("geometry")}
    nodes = {x.get("id"): x for x in root.iter("node")}
    scenes = root.findall("library_visual_scenes/visual_scene")
    if not scenes:
        for mesh in meshes.values():
            yield from _triangles(mesh)
        return
    wanted = root.find("scene/instance_visual_scene")
    name = "" if wanted is None else wanted.get("url", "").lstrip("#")
    scene = next((x for x in scenes if x.get("id") == name), scenes[0])
    stack = [(node, np.eye(4), 0) for node in reversed(scene.findall("node"))]
    while stack:
        node, outer, depth = stack.pop()
        if depth > DEEPEST:
            raise ValueError("nodes are nested too deep")
        place = outer @ _transform(node)
        for instance in node.findall("instance_geometry"):
            mesh = meshes.get(instance.get("url", "").lstrip("#"))
            for points, faces in _triangles(mesh):
                yield points @ place[:3, :3].T + place[:3, 3], faces
        inner = node.findall("node")
        inner += [nodes[x.get("url", "").lstrip("#")] for x in node.findall("instance_node")]
        stack += [(x, place, depth + 1) for x in reversed(inner)]


def _transform(node: tree.Element) -> Array:
    """The place of a node in the one around it, 4 x 4."""
    made = np.eye(4)
    for element in node:
        if element.tag == "matrix":
            made = made @ _numbers(element).reshape(4, 4)
        elif element.tag in ("translate", "scale"):
            step = np.eye(4)
            if element.tag == "translate":
                step[:3, 3] = _numbers(element)
            else:
                step[:3, :3] = np.diag(_numbers(element))
            made = made @ step
        elif element.tag == "rotate":
            x, y, z, degrees = _numbers(element)
            axis = np.array([x, y, z]) / (math.sqrt(x * x + y * y + z * z) or 1.0)
            cross = np.cross(axis, np.eye(3)).T
            c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
            step = np.eye(4)
            step[:3, :3] = c * np.eye(3) + s * cross + (1.0 - c) * np.outer(axis, axis)
            made = made @ step
    return made


def _triangles(mesh: tree.Element | None) -> Iterator[tuple[Array, np.ndarray]]:
    """Points and triangles of every primitive of a mesh; those of several sides become fans."""
    if mesh is None:
        return
    sources = {x.get("id"): x for x in mesh.findall("source")}
    vertices = {x.get("id"): x for x in mesh.findall("vertices")}
    for part in (*mesh.findall("triangles"), *mesh.findall("polylist"), *mesh.findall("polygons")):
        inputs = part.findall("input")
        vertex = next(x for x in inputs if x.get("semantic") == "VERTEX")
        given = vertices[vertex.get("source", "").lstrip("#")]
        place = next(x for x in given.findall("input") if x.get("semantic") == "POSITION")
        points = _points(sources[place.get("source", "").lstrip("#")])
        stride = max(int(x.get("offset", "0")) for x in inputs) + 1
        rows = [np.array((p.text or "").split(), dtype=np.int64) for p in part.findall("p")]
        corners = [row.reshape(-1, stride)[:, int(vertex.get("offset", "0"))] for row in rows]
        if part.tag == "polygons":
            sides = corners
        elif part.tag == "polylist" and corners:
            counts = np.array((part.findtext("vcount") or "").split(), dtype=np.int64)
            sides = np.split(corners[0], np.cumsum(counts)[:-1])
        else:
            sides = [three for row in corners for three in row.reshape(-1, 3)]
        faces = [(s[0], s[k], s[k + 1]) for s in sides for k in range(1, len(s) - 1)]
        if faces:
            made = np.array(faces, np.int64)
            if made.min() < 0 or made.max() >= len(points):
                raise ValueError("a triangle refers to a vertex that does not exist")
            yield points, made


def _points(source: tree.Element) -> Array:
    accessor = source.find("technique_common/accessor")
    stride = 3 if accessor is None else int(accessor.get("stride", "3"))
    array = source.find("float_array")
    if array is None:
        raise ValueError("a source has no numbers")
    return _numbers(array).reshape(-1, stride)[:, :3]


def _numbers(element: tree.Element) -> Array:
    return np.array((element.text or "").split(), dtype=float)
