"""Shapes: closed surfaces of the right size, read from files, refused in words."""

import pickle

import numpy as np
import pytest

import limber as lb
from helpers.shaped import write_obj, write_stl, write_text_stl
from limber.bodies.outline import sides_of
from limber.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Panel, Sphere, Tube
from limber.shapes.swept import SIDES

TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def volume(points, triangles):
    """By the divergence theorem; positive if all triangles look outward."""
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return float(np.einsum("ni,ni->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize(
    ("shape", "exact"),
    [
        (Box((1.0, 2.0, 3.0)), 6.0),
        (Sphere(0.5), np.pi / 6.0),
        (Ellipsoid((0.5, 1.0, 2.0)), 4.0 / 3.0 * np.pi),
        (Cylinder(0.5, 2.0), 0.5 * np.pi),
        (Capsule(0.5, 2.0), 0.5 * np.pi + np.pi / 6.0),
        (Cylinder.between((0, 0, 0), (1, 2, 2), 0.5), 0.75 * np.pi),
    ],
)
def test_solids_are_closed_and_have_their_volume(shape, exact):
    points, triangles = shape.triangles()
    _, count = np.unique(sides_of(triangles), axis=0, return_counts=True)
    assert (count == 2).all()
    assert volume(points, triangles) == pytest.approx(exact, rel=0.04)
    moved = type(shape)(**shape.sizes(), at=(3.0, -1.0, 2.0), rotation=TURN)
    assert volume(*moved.triangles()) == pytest.approx(volume(points, triangles))
    if not np.any(shape.at):
        assert np.allclose(moved.triangles()[0], points @ TURN.T + [3.0, -1.0, 2.0])


@pytest.mark.parametrize("shape", [Tube(0.2), Panel(0.4, 0.1)])
@pytest.mark.parametrize("along", [(1, 0, 0), (0, 1, 0), (1, 2, 2)])
def test_sections_along_a_line_are_closed_and_look_outward(shape, along):
    direction = np.array(along) / np.linalg.norm(along)
    points, triangles = shape.along(np.outer(np.linspace(0.0, 2.0, 7), direction))
    _, count = np.unique(sides_of(triangles), axis=0, return_counts=True)
    assert (count == 2).all()
    area = 0.04
    if isinstance(shape, Tube):  # of a polygon
        area *= 0.5 * SIDES * np.sin(2.0 * np.pi / SIDES)
    assert volume(points, triangles) == pytest.approx(2.0 * area)


def test_a_cylinder_between_two_points_has_its_ends_there():
    points, _ = Cylinder.between((1, 0, 0), (1, 3, 0), 0.1).triangles()
    assert points[:, 1].min() == pytest.approx(0.0)
    assert points[:, 1].max() == pytest.approx(3.0)


@pytest.mark.parametrize("kind", [Cylinder, Capsule])
def test_long_cylinders_have_rings_along_their_length_so_that_they_can_bend(kind):
    points, triangles = kind(0.04, 1.2).triangles()
    height = points[triangles][:, :, 2]
    assert np.ptp(height, axis=1).max() == pytest.approx(1.2 / 8)
    points, triangles = kind(0.04, 0.06).triangles()
    assert np.ptp(points[triangles][:, :, 2], axis=1).max() == pytest.approx(0.06)


@pytest.mark.parametrize("write", [write_stl, write_text_stl])
def test_stl_files_are_read_and_their_points_joined(write, tmp_path):
    mesh = Mesh(write(tmp_path / "t.stl"), scale=2.0, at=(0, 0, 1))
    points, triangles = mesh.triangles()
    assert points.shape == (4, 3)
    assert volume(points - [0, 0, 1], triangles) == pytest.approx(8.0 / 6.0)
    assert pickle.loads(pickle.dumps(mesh)).triangles()[0].tolist() == points.tolist()


def test_obj_files_are_read_and_their_faces_split(tmp_path):
    points, triangles = Mesh(write_obj(tmp_path / "p.obj")).triangles()
    assert points.shape == (5, 3)
    assert triangles.shape == (6, 3)
    assert volume(points, triangles) == pytest.approx(1.0 / 3.0)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.stl", b"nothing of the kind", "not an STL"),
        ("a.stl", b"solid x\nvertex 1 2 y\n", "three numbers"),
        ("a.stl", b"solid x\nvertex 1 2 3\n", "within a triangle"),
        ("a.stl", b"solid x\nendsolid\n", "no triangles"),
        ("a.obj", b"v 0 0 0\nf 1 2 3\n", "a.obj:2"),
        ("a.obj", b"v 0 0\n", "three coordinates"),
        ("a.xyz", b"?", "STL, OBJ and COLLADA"),
        ("a.dae", b"<COLLADA", "read as a COLLADA file"),
        ("a.dae", b"<!DOCTYPE x><COLLADA/>", "document type"),
        ("a.dae", b"<COLLADA/>", "no triangles"),
    ],
)
def test_spoilt_meshes_are_refused_in_words_and_left_out_of_pictures(
    name, content, words, tmp_path
):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(lb.FileError, match=words):
        Mesh(path).triangles()
    a = lb.Assembly("a").attach("b", lb.RigidBody(1.0), lb.Prismatic("x"), shapes=Mesh(path))
    with pytest.warns(lb.ModelWarning, match=f"a mesh is left out of the picture.*{words}"):
        drawn = lb.viewer.geometry(a.build(), [0.0])
    assert drawn.skeletons["b"].centre is not None  # it is drawn as without shapes


def test_several_spoilt_meshes_are_said_once(tmp_path):
    a = lb.Assembly("a")
    for name in "xyz":
        (tmp_path / f"{name}.stl").write_text("nothing")
        look = Mesh(tmp_path / f"{name}.stl")
        a.attach(name, lb.RigidBody(1.0), lb.Prismatic("x"), shapes=look)
    with pytest.warns(lb.ModelWarning, match=r"x.stl.*So are 2 more\.") as said:
        lb.viewer.geometry(a.build(), [0.0] * 3)
    assert len(said) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Box((1.0, 0.0, 1.0)), "size must be three lengths above zero"),
        (lambda: Sphere(-1.0), "radius"),
        (lambda: Cylinder(1.0, np.nan), "length"),
        (lambda: Box((1, 1, 1), colour="goldd"), "Did you mean 'gold'"),
        (lambda: Box((1, 1, 1), colour=(2, 0, 0)), "from 0 to 1"),
        (lambda: Box((1, 1, 1), rotation=2 * np.eye(3)), "rotation"),
        (lambda: Box((1, 1, 1), node=1.5), "node of a box"),
        (lambda: Capsule.between((1, 0, 0), (1, 0, 0), 0.1), "two points"),
        (lambda: Mesh("there/is/none.stl"), "no such file"),
        (lambda: Mesh(3), "path of a mesh"),
        (lambda: Tube(0.1).triangles(), "along a body"),
    ],
)
def test_shapes_are_refused_in_words(make, words):
    with pytest.raises(lb.LimberError, match=words):
        make()


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ("box", "must be shapes such as"),
        ([Box((1, 1, 1)), 3], "must be shapes such as"),
        (Box((1, 1, 1), node="tipp"), "Did you mean 'tip'"),
        (Tube(0.1, node="tip"), "Omit node"),
    ],
)
def test_bodies_refuse_shapes_that_do_not_fit(shapes, words):
    with pytest.raises(lb.LimberError, match=words):
        lb.Assembly("a").attach("arm", lb.beam(1.0, 1.0, EI=1.0), lb.Fixed(), shapes=shapes)


def test_a_tube_needs_a_line():
    corners = {"a": (1, 0, 0), "b": (0, 1, 0)}
    with pytest.raises(lb.LimberError, match="follows the line of a body"):
        lb.Assembly("a").attach("l", lb.RigidBody(1.0, nodes=corners), lb.Fixed(), shapes=Tube(0.1))


DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.001"/><up_axis>Y_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="15">0 0 0 1 0 0 1 1 0 0 1 0 0.5 0.5 1</float_array>
<technique_common><accessor source="#a" count="5" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<polylist count="2"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>
<vcount>4 3</vcount><p>3 0 2 0 1 0 0 0 0 1 1 1 4 1</p></polylist>
<triangles count="3"><input semantic="VERTEX" source="#v" offset="0"/><p>1 2 4 2 3 4 3 0 4</p></triangles>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="scene"><node id="n"><translate>0 0 5</translate><rotate>0 0 1 90</rotate>
<node><scale>1000 1000 2000</scale><instance_geometry url="#g"/></node></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#scene"/></scene></COLLADA>"""


def test_collada_files_are_read_where_their_scene_has_them(tmp_path):
    (tmp_path / "p.dae").write_text(DAE)
    points, triangles = Mesh(tmp_path / "p.dae").triangles()
    assert points.shape == (5, 3)
    assert triangles.shape == (6, 3)
    assert volume(points, triangles) == pytest.approx(2.0 / 3.0)
    # turned by a right angle: x becomes y
    assert np.allclose(points.min(axis=0), [-1.0, 0.0, 0.005])
    assert np.allclose(points.max(axis=0), [0.0, 1.0, 2.005])
