"""Shapes in files: model files and back, URDF, SDF and MJCF; what is missing is said once and stops nothing."""

import numpy as np
import pytest

import limber as lb
from helpers.shaped import spacecraft, write_stl
from limber.io.visuals import found
from limber.shapes import Box, Capsule, Cylinder, Ellipsoid, Mesh, Panel, Sphere, Tube

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'


def same(a, b):
    assert type(a) is type(b)
    assert (a.node, a.colour) == (b.node, b.colour)
    assert np.array_equal(a.at, b.at) and np.array_equal(a.rotation, b.rotation)
    for name, size in a.sizes().items():
        if name == "file":
            assert size.resolve() == b.sizes()[name].resolve()
        else:
            assert np.array_equal(size, b.sizes()[name])


@pytest.mark.parametrize("arrays", ["inline", "npz"])
def test_shapes_of_every_kind_come_back(arrays, tmp_path):
    (tmp_path / "meshes").mkdir()
    mesh = write_stl(tmp_path / "meshes" / "t.stl")
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    every = [
        Box((1.0, 2.0, 0.3), at=(0.1, 0.2, 0.3), rotation=R, colour="gold", node="tip"),
        Cylinder(0.1, 0.5),
        Sphere(0.2, node=0),
        Capsule(0.1, 0.4, colour=(0.2, 0.4, 0.6)),
        Ellipsoid((0.1, 0.2, 0.3)),
        Tube(0.05),
        Panel(0.4, 0.02),
        Mesh(mesh, scale=(0.001, 0.001, 0.002)),
    ]
    a = lb.Assembly("a")
    a.attach("arm", lb.beam(2.0, 1.0, EI=10.0), lb.Revolute("z"), shapes=every)
    lb.save(a, tmp_path / "a.yaml", arrays=arrays)
    back = lb.load(tmp_path / "a.yaml").attachments["arm"].shapes
    assert len(back) == len(every)
    for ours, theirs in zip(every, back):
        same(ours, theirs)
    lb.save(spacecraft(), tmp_path / "s.yaml")
    assert [len(x.shapes) for x in lb.load(tmp_path / "s.yaml").attachments.values()] == [
        3,
        1,
        1,
        2,
    ]


def test_short_forms_and_dh_links_have_shapes(tmp_path):
    (tmp_path / "m.yaml").write_text(
        "limber: 1\n"
        "dh:\n  convention: standard\n  links:\n"
        "    - {name: up, a: 1.0, rigid: {mass: 1, inertia: [1, 1, 1]}, shapes: [{sphere: 0.1}]}\n"
        "bodies:\n  arm:\n    beam: {length: 1, mass: 1, EI: 10}\n    joint: {revolute: z}\n"
        "    shapes:\n"
        "      - {tube: 0.02, colour: silver}\n"
        "      - {box: [0.1, 0.1, 0.1], node: tip, rotation: {rpy: [0, 0, 45], degrees: true}}\n"
    )
    a = lb.load(tmp_path / "m.yaml")
    assert [x.kind for x in a.attachments["up"].shapes] == ["sphere"]
    tube, box = a.attachments["arm"].shapes
    assert tube.radius == 0.02
    assert box.rotation[0, 0] == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("{box: [1, 2]}", "m.yaml:7.*box"),
        ("{cylinder: {radius: 1}}", "'length' is missing"),
        ("{tube: -1}", "tube: must be greater than 0"),
        ("{box: [1, 1, 1], sphere: 2}", "needs one of"),
        ("{box: [1, 1, 1], colour: goldd}", "Did you mean 'gold'"),
        ("{box: [1, 1, 1], node: tipp}", "Did you mean 'tip'"),
        ("{ball: 1}", "not a known key"),
        ("{box: [1, 0, 1]}", "above zero"),
        ("{mesh: /etc/passwd}", "relative"),
        ("{mesh: {file: a.stl, scale: [1, 2]}}", "scale"),
    ],
)
def test_wrong_shapes_are_refused_at_their_place(shape, words, tmp_path):
    (tmp_path / "m.yaml").write_text(
        "limber: 1\nbodies:\n  arm:\n    beam: {length: 1, mass: 1, EI: 10}\n    joint: {revolute: z}\n"
        f"    shapes:\n      - {shape}\n"
    )
    with pytest.raises(lb.FileError, match=words):
        lb.load(tmp_path / "m.yaml")


def test_a_missing_mesh_of_a_model_file_is_said_once(tmp_path):
    (tmp_path / "m.yaml").write_text(
        "limber: 1\nbodies:\n  a:\n    rigid: {mass: 1}\n    joint: {prismatic: z}\n"
        "    shapes: [{mesh: a.stl}, {mesh: b.stl}, {sphere: 0.1}]\n"
    )
    with pytest.warns(lb.ModelWarning) as said:
        a = lb.load(tmp_path / "m.yaml")
    assert len(said) == 1
    assert "leave out the mesh files 'a.stl', 'b.stl', which are missing" in str(said[0].message)
    assert [x.kind for x in a.attachments["a"].shapes] == ["sphere"]


def urdf(folder, visuals, more=""):
    path = folder / "robot.urdf"
    path.write_text(f'<robot name="r">{more}<link name="base">{INERTIAL}{visuals}</link></robot>')
    return path


def test_urdf_visuals_become_shapes(tmp_path):
    write_stl(tmp_path / "t.stl")
    visuals = (
        '<visual><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><geometry><box size="1 2 3"/></geometry>'
        '<material name="gold"/></visual>'
        '<visual><geometry><cylinder radius="0.1" length="2"/></geometry>'
        '<material name="own"><color rgba="1 0 0 1"/></material></visual>'
        '<visual><geometry><sphere radius="0.3"/></geometry></visual>'
        '<visual><geometry><mesh filename="t.stl" scale="0.1 0.1 0.1"/></geometry></visual>'
        '<collision><geometry><box size="9 9 9"/></geometry></collision>'
    )
    gold = '<material name="gold"><color rgba="0.8 0.6 0 1"/></material>'
    path = urdf(tmp_path, visuals, gold)
    box, cylinder, sphere, mesh = lb.load(path).attachments["base"].shapes
    assert np.allclose(box.rotation @ [1, 0, 0], [0, 1, 0])
    assert (box.at.tolist(), box.colour) == ([1.0, 2.0, 3.0], "#cc9900")
    assert (cylinder.radius, cylinder.length, cylinder.colour) == (0.1, 2.0, "#ff0000")
    assert (sphere.radius, sphere.colour) == (0.3, None)
    assert mesh.triangles()[0].max() == pytest.approx(0.1)
    assert lb.io.read_urdf(path, visuals=False).attachments["base"].shapes == ()


def test_missing_and_strange_visuals_are_said_once_and_stop_nothing(tmp_path):
    visuals = "".join(
        f"<visual><geometry>{x}</geometry></visual>"
        for x in (
            *(f'<mesh filename="package://r/{i}.dae"/>' for i in range(6)),
            '<box size="1 1"/>',
            "<torus/>",
            '<sphere radius="0"/>',
            '<sphere radius="1"/>',
        )
    )
    with pytest.warns(lb.ModelWarning) as said:
        a = lb.load(urdf(tmp_path, visuals))
    assert len(said) == 1
    text = str(said[0].message)
    assert "the mesh files 'package://r/0.dae'" in text and "and 2 more, which are missing" in text
    assert "<torus>" in text and "size of <box>" in text and "radius" in text
    assert [x.kind for x in a.attachments["base"].shapes] == ["sphere"]


def test_packages_are_found_above_the_file_and_on_the_path(tmp_path, monkeypatch):
    for folder in ("ws/arm/urdf", "ws/arm/meshes", "ws/hand/meshes", "elsewhere/tool"):
        (tmp_path / folder).mkdir(parents=True)
    file = tmp_path / "ws/arm/urdf/arm.urdf"
    places = {
        "package://arm/meshes/a.stl": "ws/arm/meshes/a.stl",
        "package://hand/meshes/h.stl": "ws/hand/meshes/h.stl",
        "package://tool/t.stl": "elsewhere/tool/t.stl",
        "../meshes/a%20b.stl": "ws/arm/meshes/a%20b.stl",
        "package://arm/meshes/a%20c.stl": "ws/arm/meshes/a c.stl",
    }
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "elsewhere"))
    for address, path in places.items():
        assert found(address, file) is None
        write_stl(tmp_path / path)
        assert found(address, file).resolve() == (tmp_path / path).resolve()
    path = (tmp_path / "ws/arm/meshes/a.stl").as_uri()
    assert found(path, file) is not None
    assert found("http://x/y.stl", file) is None


def test_sdf_visuals_become_shapes(tmp_path):
    (tmp_path / "m.sdf").write_text(
        '<sdf version="1.9"><model name="m"><link name="l"><inertial><mass>1</mass></inertial>'
        '<visual name="a"><pose>1 0 0 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry>'
        "<material><diffuse>0 0.5 1 1</diffuse></material></visual>"
        '<visual name="b"><geometry><capsule><radius>0.1</radius><length>0.5</length></capsule></geometry></visual>'
        '<visual name="c"><geometry><mesh><uri>model://m/none.stl</uri></mesh></geometry></visual>'
        "</link></model></sdf>"
    )
    with pytest.warns(lb.ModelWarning, match="leave out the mesh file 'model://m/none.stl'"):
        box, capsule = lb.load(tmp_path / "m.sdf").attachments["l"].shapes
    assert (box.size.tolist(), box.at.tolist(), box.colour) == ([1, 2, 3], [1, 0, 0], "#0080ff")
    assert (capsule.radius, capsule.length) == (0.1, 0.5)


def test_mjcf_geoms_become_shapes(tmp_path):
    (tmp_path / "meshes").mkdir()
    write_stl(tmp_path / "meshes" / "t.stl")
    (tmp_path / "m.xml").write_text(
        '<mujoco><compiler meshdir="meshes" angle="radian"/>'
        '<asset><mesh name="t" file="t.stl" scale="2 2 2"/><material name="m" rgba="0 1 0 1"/></asset>'
        '<worldbody><geom type="plane" size="1 1 1"/><body name="b" pos="0 0 1"><inertial pos="0 0 0" mass="1" '
        'diaginertia="1 1 1"/><joint name="j" axis="0 0 1"/>'
        '<geom type="capsule" fromto="0 0 0 1 0 0" size="0.1" rgba="1 0 0 1" contype="0" conaffinity="0"/>'
        '<geom type="box" size="0.1 0.2 0.3" material="m" contype="0" conaffinity="0"/>'
        '<geom type="mesh" mesh="t" contype="0" conaffinity="0"/>'
        '<geom type="ellipsoid" size="1 2 3" group="3" contype="0" conaffinity="0"/></body></worldbody></mujoco>'
    )
    capsule, box, mesh = lb.load(tmp_path / "m.xml").attachments["b"].shapes
    points = capsule.triangles()[0]
    assert np.allclose([points[:, 0].min(), points[:, 0].max()], [-0.1, 1.1])
    assert (box.size.tolist(), box.colour) == ([0.2, 0.4, 0.6], "#00ff00")
    assert mesh.triangles()[0].max() == pytest.approx(2.0)


def test_visuals_of_a_flexible_link_bend_with_it(tmp_path):
    box = '<visual><origin xyz="0.5 0 0"/><geometry><box size="1 0.1 0.1"/></geometry></visual>'
    beam = lb.beam(1.0, 1.0, EI=10.0, modes={"y": 1}, polar_inertia=0.1)
    s = lb.io.read_urdf(urdf(tmp_path, box), {"base": beam}, root="free").build()
    g = lb.viewer.geometry(s, np.array([0.3, 1, 0, 0, 0, 0, 0, 0]))
    _, tip = lb.pose(s, np.array([0.3, 1, 0, 0, 0, 0, 0, 0]), "base", "tip")
    corners = g.facets("base").reshape(-1, 3)
    right = corners[corners[:, 0].argmax()]
    assert abs(tip[1]) > 0.3 and abs(right[1] - tip[1]) < 0.1
