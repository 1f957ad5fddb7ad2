"""Systems whose bodies have shapes, and mesh files."""

import struct
from functools import cache

import numpy as np

import limber as lb
from limber.shapes import Box, Cylinder, Panel, Sphere, Tube

GOLD, NAVY, RED = "#d4a017", "#1b2a6b", "#d62728"
TILT = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@cache
def spacecraft():
    """A bus with two panels that bend and twist, and a boom with an instrument on its tip."""
    a = lb.Assembly("spacecraft")
    nodes = {"east": (0.5, 0, 0), "west": (-0.5, 0, 0)}
    bus = lb.RigidBody(50.0, inertia=np.diag([8.0, 6.0, 7.0]), nodes=nodes)
    looks = [
        Box((1.0, 0.8, 0.8), colour=GOLD),
        Cylinder(0.3, 0.2, at=(0, 0, 0.5), colour="silver"),
        Sphere(0.15, at=(0, 0, 0.7)),
    ]
    a.attach("bus", bus, lb.Free(), shapes=looks)
    modes = {"bending": 1, "torsion": 1}
    wing = lb.beam(3.0, 5.0, EI=(20.0, 200.0), GJ=30.0, modes=modes, polar_inertia=0.5)
    blue = Panel(0.8, 0.03, colour=NAVY)
    a.attach("east", wing, lb.Revolute("x"), "bus", "east", shapes=blue)
    turn = np.diag([-1.0, -1.0, 1.0])
    a.attach("west", wing, lb.Revolute("x"), "bus", "west", rotation=turn, shapes=blue)
    boom = lb.beam(2.0, 1.0, EI=10.0, modes=1)
    looks = [Tube(0.03), Box((0.2, 0.2, 0.2), node="tip", colour=RED)]
    a.attach("boom", boom, lb.Fixed(), "bus", offset=(0, 0.4, 0), rotation=TILT, shapes=looks)
    return a.build()


def bent(rows=5):
    """The spacecraft with its panels and boom swinging."""
    s = spacecraft()
    t = np.linspace(0.0, 1.0, rows)
    q = np.tile(s.neutral(), (rows, 1))
    for name in ("east", "west", "boom"):
        where = s.layout[name].q_modes
        for k in range(where.stop - where.start):
            q[:, where.start + k] = 0.25 * np.sin(3.0 * t + k)
    still = np.zeros((rows, s.nv))
    return lb.Result(s, t, q, still, still)


def tetrahedron():
    """Corners (4, 3), and faces (4, 3)."""
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    return points, np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])


def write_stl(path):
    """A tetrahedron as binary STL."""
    points, faces = tetrahedron()
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *points[f].ravel(), 0) for f in faces)
    path.write_bytes(b"binary".ljust(80) + struct.pack("<I", len(faces)) + rows)
    return path


def write_text_stl(path):
    """A tetrahedron as STL in words."""
    points, faces = tetrahedron()
    lines = ["solid t"]
    for face in faces:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex " + " ".join(map(str, points[i])) for i in face]
        lines += ["endloop", "endfacet"]
    path.write_text("\n".join([*lines, "endsolid t"]))
    return path


def write_obj(path):
    """A pyramid whose base has four corners, as OBJ; some numbers count from the end."""
    path.write_text(
        "# pyramid\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0.5 0.5 1\n"
        "f 4/1 3/1 2/1 1/1\nf 1//2 2//2 5//2\nf 2 3 5\nf 3 4 -1\nf 4 1 5\n"
    )
    return path
