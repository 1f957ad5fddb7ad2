"""Triangle meshes from files: STL, OBJ, COLLADA, MSH of MuJoCo, and others if trimesh is installed."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from limber.checks import Array, repeated, shown
from limber.errors import ArgumentTypeError, ArgumentValueError, FileError
from limber.shapes.collada import read_collada
from limber.shapes.shape import Shape, Triangles

#: Files larger than this are rejected, bytes.
LARGEST = 200 * 2**20


@dataclass(frozen=True, eq=False)
class Mesh(Shape):
    """A surface of triangles from a file: STL, OBJ, COLLADA (.dae) or the binary MSH of MuJoCo.

    file : the path of an existing file.  It is read when the first picture is made.  trimesh, if installed, reads other
        formats, such as glTF.  Pictures leave out a file that cannot be read, with a warning.
    scale : the unit of the file in metres, such as 0.001 for millimetres, or a factor for each axis.
    """

    kind: ClassVar[str] = "mesh"
    file: Any
    scale: Any = 1.0

    def _check(self) -> None:
        put = object.__setattr__
        if not isinstance(self.file, (str, PathLike)) or not fspath(self.file):
            raise ArgumentTypeError(f"file must be the path of a mesh, got {shown(self.file)}.")
        path = Path(self.file)
        put(self, "file", path)
        put(self, "scale", repeated("scale", self.scale, 3))
        if not self.scale.all():
            raise ArgumentValueError(f"scale must not be zero, got {shown(self.scale)}.")
        if not path.is_file():
            raise FileError(f"{path}: there is no such file.", str(path))

    def triangles(self) -> Triangles:
        """The triangles of the file."""
        points, faces = self._content
        return self.placed(points * self.scale), faces

    @cached_property
    def _content(self) -> Triangles:
        return read_mesh(self.file)


def read_mesh(path: Path) -> Triangles:
    """Read the triangles of a file, with coincident points merged."""
    try:
        if not path.is_file():
            raise FileError(f"{path}: there is no such file.", str(path))
        if path.stat().st_size > LARGEST:
            raise FileError(f"{path}: larger than {LARGEST // 2**20} MiB.", str(path))
        kind = path.suffix.lower()
        if kind == ".stl":
            found = _stl(path, path.read_bytes())
        elif kind == ".obj":
            found = _obj(path, path.read_text(encoding="utf-8", errors="replace"))
        elif kind == ".dae":
            found = read_collada(path, path.read_bytes())
        elif kind == ".msh":
            found = _msh(path, path.read_bytes())
        else:
            found = _other(path)
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}.", str(path)) from None
    points, faces = found
    if not len(faces) or not np.isfinite(points).all():
        raise FileError(f"{path}: has no triangles, or points that are not finite.", str(path))
    return joined(points, faces)


def joined(points: Array, faces: np.ndarray) -> Triangles:
    """The same triangles with coincident points merged, and without degenerate triangles."""
    size = float(np.ptp(points, axis=0).max()) or 1.0
    rounded = np.round((points - points.min(axis=0)) / (1e-7 * size)).astype(np.int64)
    _, first, which = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    faces = which.ravel()[faces]
    a, b, c = faces.T
    return points[first], faces[(a != b) & (b != c) & (c != a)]


def _stl(path: Path, data: bytes) -> Triangles:
    """Binary, or text that starts with `solid`."""
    if len(data) >= 84:
        (count,) = struct.unpack_from("<I", data, 80)
        if len(data) == 84 + 50 * count:
            record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
            corners = np.frombuffer(data, record, count, 84)["corners"].astype(float)
            return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)
    words = data.decode("ascii", errors="replace").split()
    if not words or words[0].lower() != "solid":
        raise FileError(
            f"{path}: is not an STL file: it is neither text nor binary with a matching length.",
            str(path),
        )
    places = [i for i, word in enumerate(words) if word.lower() == "vertex"]
    try:
        points = np.array([[float(x) for x in words[i + 1 : i + 4]] for i in places])
        points = points.reshape(-1, 3)
    except ValueError:
        raise FileError(
            f"{path}: a vertex of this STL file is not three numbers.", str(path)
        ) from None
    if len(points) % 3:
        raise FileError(f"{path}: the STL file ends within a triangle.", str(path))
    return points, np.arange(len(points)).reshape(-1, 3)


def _msh(path: Path, data: bytes) -> Triangles:
    """The binary format of MuJoCo: four counts, then points, normals, texture coordinates and faces."""
    counts = np.frombuffer(data[:16], "<i4") if len(data) >= 16 else np.full(4, -1)
    points, normals, textures, faces = counts.tolist()
    length = 16 + 12 * points + 12 * normals + 8 * textures + 12 * faces
    if counts.min() < 0 or len(data) != length:
        raise FileError(
            f"{path}: is no MSH file of MuJoCo: its length is not that of its counts.", str(path)
        )
    corners = np.frombuffer(data, "<i4", 3 * faces, length - 12 * faces).astype(np.int64)
    if not ((corners >= 0) & (corners < points)).all():
        raise FileError(
            f"{path}: a triangle of this MSH file has a corner that is not there.", str(path)
        )
    return np.frombuffer(data, "<f4", 3 * points, 16).astype(float).reshape(-1, 3), corners.reshape(
        -1, 3
    )


def _obj(path: Path, text: str) -> Triangles:
    """Vertices and faces; faces of more than three corners become fans."""
    points: list[list[float]] = []
    faces: list[tuple[int, int, int]] = []
    for line, words in enumerate((x.split() for x in text.splitlines()), start=1):
        try:
            if words[:1] == ["v"]:
                points.append([float(x) for x in words[1:4]])
            elif words[:1] == ["f"]:
                numbers = [int(word.split("/")[0]) for word in words[1:]]
                corners = [i - 1 if i > 0 else len(points) + i for i in numbers]
                if not all(0 <= i < len(points) for i in corners):
                    raise ValueError
                faces += [(corners[0], *pair) for pair in pairwise(corners[1:])]
        except ValueError:
            raise FileError(
                f"{path}:{line}: cannot be read: {' '.join(words)[:60]!r}.", str(path), line
            ) from None
    if any(len(p) != 3 for p in points):
        raise FileError(f"{path}: a vertex has fewer than three coordinates.", str(path))
    return np.array(points).reshape(-1, 3), np.array(faces, np.int64).reshape(-1, 3)


def _other(path: Path) -> Triangles:
    """A file that trimesh reads."""
    try:
        import trimesh  # noqa: PLC0415 (the extra `view`)

        found: Any = trimesh.load(path, force="mesh")
        return np.array(found.vertices, dtype=float), np.array(found.faces, dtype=np.int64)
    except Exception as error:
        raise FileError(
            f"{path}: Limber reads meshes from STL, OBJ and COLLADA files itself and all others with trimesh, which could "
            "not read this one "
            f"({type(error).__name__}: {str(error)[:120]}). Convert it to STL or OBJ.",
            str(path),
        ) from None
