"""Masses that follow from the meshes of MJCF: equal to MuJoCo where it is installed; hand-checked numbers otherwise."""

import importlib.util

import numpy as np
import pytest

import limber as lb

TOLERANCE = 1e-9  # relative
AXES = 1e-7  # the principal axes to which MuJoCo turns a mesh have eight digits


def l_shape():
    """An L, 0.5 high, of unit squares, four in each leg: (n, 3) points and triangles that look outwards."""
    outline = [(0, 0), (4, 0), (4, 1), (1, 1), (1, 4), (0, 4)]
    points = np.array([(x, y, z) for z in (0.0, 0.5) for x, y in outline])
    lid = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [(a, c, b) for a, b, c in lid] + [(a + 6, b + 6, c + 6) for a, b, c in lid]
    for i in range(6):
        j = (i + 1) % 6
        faces += [(i, j, j + 6), (i, j + 6, i + 6)]
    return points, np.array(faces)


POINTS, FACES = l_shape()
INLINE = f'vertex="{" ".join(map(str, POINTS.ravel()))}" face="{" ".join(map(str, FACES.ravel()))}"'
PLACED = 'pos="1 2 3" euler="10 20 30"'
OBJ = "".join(f"v {x} {y} {z}\n" for x, y, z in POINTS.tolist()) + "".join(
    f"f {a} {b} {c}\n" for a, b, c in (FACES + 1).tolist()
)
MSH = (
    np.array([12, 0, 0, len(FACES)], "<i4").tobytes()
    + POINTS.astype("<f4").tobytes()
    + FACES.astype("<i4").tobytes()
)


def write(folder, assets, geom):
    (folder / "meshes").mkdir(exist_ok=True)
    (folder / "meshes" / "l.obj").write_text(OBJ)
    (folder / "meshes" / "l.msh").write_bytes(MSH)
    path = folder / "model.xml"
    path.write_text(
        f"<mujoco>{assets}<worldbody><body name='b'><freejoint/>{geom}</body></worldbody></mujoco>"
    )
    return path


def read(folder, assets, geom):
    with lb.errors.collected_warnings():
        return lb.io.read_mjcf(write(folder, assets, geom)).attachments["b"].body


def mesh(more=""):
    return f'<asset><mesh name="m" {INLINE} {more}/></asset>'


CASES = {
    rule: (
        mesh(f'inertia="{rule}" scale="0.1 0.2 -0.3" refpos="0.1 0.2 0.3" refquat="1 .2 .3 .4"'),
        f'<geom type="mesh" mesh="m" density="700" {PLACED}/>',
    )
    for rule in ("legacy", "exact", "convex", "shell")
}
CASES |= {
    f"fitted {shape}": (
        mesh('scale="1 2 1"'),
        f'<geom type="{shape}" mesh="m" fitscale="0.9" {PLACED}/>',
    )
    for shape in ("sphere", "capsule", "cylinder", "ellipsoid", "box")
}
CASES |= {
    "hull": (
        f'<asset><mesh name="m" vertex="{" ".join(map(str, POINTS.ravel()))}"/></asset>',
        f'<geom type="mesh" mesh="m" mass="3" {PLACED}/>',
    ),
    "msh": ('<asset><mesh file="meshes/l.msh"/></asset>', '<geom type="mesh" mesh="l"/>'),
    "stripped": (
        '<compiler meshdir="meshes" strippath="true"/><asset><mesh file="/far/away/l.obj" scale="-1 1 1"/></asset>',
        '<geom type="mesh" mesh="l"/>',
    ),
}


@pytest.mark.skipif(importlib.util.find_spec("mujoco") is None, reason="MuJoCo is not installed")
@pytest.mark.parametrize("case", CASES)
def test_bodies_made_of_meshes_equal_those_of_mujoco(case, tmp_path):
    import mujoco

    found = read(tmp_path, *CASES[case])
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "model.xml"))
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.body_iquat[1])
    R = turn.reshape(3, 3)
    inertia = R @ np.diag(model.body_inertia[1]) @ R.T
    assert found.mass == pytest.approx(model.body_mass[1], rel=TOLERANCE)
    assert np.allclose(found.com, model.body_ipos[1], rtol=0, atol=TOLERANCE)
    moments = np.linalg.eigvalsh(found.inertia)
    assert moments == pytest.approx(np.sort(model.body_inertia[1]), rel=TOLERANCE)
    assert np.allclose(found.inertia, inertia, rtol=0, atol=AXES * inertia.max())


def test_an_exact_mesh_has_the_inertia_of_its_boxes(tmp_path):
    found = read(tmp_path, mesh('inertia="exact"'), '<geom type="mesh" mesh="m" density="10"/>')
    mass, along = 5.0, [(i + 0.5, 0.5, 0.25) for i in range(4)]
    centres = np.array(along + [(y, x, z) for x, y, z in along[1:]])
    com = centres.mean(axis=0)
    inertia = 7 * mass * np.diag([1.25, 1.25, 2.0]) / 12
    for c in centres - com:
        inertia += mass * (c @ c * np.eye(3) - np.outer(c, c))
    assert found.mass == pytest.approx(35.0)
    assert np.allclose(found.com, com)
    assert np.allclose(found.inertia, inertia)


def test_the_old_setting_of_the_compiler_makes_meshes_exact(tmp_path):
    geom = '<geom type="mesh" mesh="m" density="10"/>'
    exact = read(tmp_path, '<compiler exactmeshinertia="true"/>' + mesh(), geom)
    assert exact.mass == pytest.approx(35.0)
    assert read(tmp_path, mesh(), geom).mass > 35.1  # the L is not convex


FLAT = '<asset><mesh name="m" vertex="0 0 0 1 0 0 1 1 0 0 1 0" face="0 1 2 0 2 3"/></asset>'
USED = '<geom type="mesh" mesh="m"/>'
REFUSED = {
    "no file": ('<asset><mesh name="m" file="no.stl"/></asset>', USED, "'no.stl', which is not there"),
    "flat": (FLAT, USED, "encloses no volume by the rule inertia='legacy'"),
    "flat hull": (FLAT.replace('face="0 1 2 0 2 3"', ""), USED, "lie in a plane"),
    "rule": (mesh('inertia="exakt"'), USED, "Did you mean 'exact'"),
    "face": (FLAT.replace("0 2 3", "0 2 4"), USED, "numbers of points, from 0 to 3"),
    "points": ('<asset><mesh name="m" vertex="0 0 0 1"/></asset>', USED, "three numbers for each"),
    "built in": ('<asset><mesh name="m" builtin="cone"/></asset>', USED, "built-in mesh 'm'"),
    "bounds": ('<compiler fitaabb="true"/>' + mesh(), '<geom type="box" mesh="m"/>', "fitted to the bounds"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_meshes_without_a_mass_are_refused(what, tmp_path):
    assets, geom, message = REFUSED[what]
    with pytest.raises(lb.FileError, match=message) as caught:
        read(tmp_path, assets, geom)
    assert caught.value.line == 1


def test_a_mesh_that_is_inside_out_has_no_exact_volume(tmp_path):
    turned = FACES[:, ::-1]
    assets = f'<asset><mesh name="m" vertex="{" ".join(map(str, POINTS.ravel()))}" face="{" ".join(map(str, turned.ravel()))}" inertia="exact"/></asset>'
    with pytest.raises(lb.FileError, match="encloses no volume by the rule inertia='exact'"):
        read(tmp_path, assets, USED)


def test_msh_files_that_are_cut_off_are_refused(tmp_path):
    path = tmp_path / "cut.msh"
    path.write_bytes(MSH[:-4])
    with pytest.raises(lb.FileError, match="its length is not that of its counts"):
        lb.shapes.Mesh(path).triangles()
