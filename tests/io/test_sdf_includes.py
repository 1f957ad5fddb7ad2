"""SDF files that include others are those with the models written in their places."""

import numpy as np
import pytest

import limber as lb

ARM = """
<link name="base"><inertial><mass>3</mass></inertial></link>
<link name="tip"><pose>0 0 0.5 0 0.4 0</pose><inertial><mass>2</mass><pose>0.1 0 0.2 0 0 0</pose></inertial>{visual}</link>
<frame name="flange" attached_to="tip"><pose>0 0.1 0.3 0.2 0 0</pose></frame>
<joint name="elbow" type="revolute"><parent>base</parent><child>tip</child><axis><xyz>0 1 0.5</xyz></axis></joint>
"""


def folder(at, name="arm", content=None, config=True, version="1.9", visual=""):
    """A folder with a model, as Gazebo has them."""
    place = at / name
    place.mkdir(parents=True)
    model = f'<model name="{name}">{ARM.format(visual=visual)}</model>'
    file = place / ("arm-1_9.sdf" if config else "model.sdf")
    file.write_text(f'<sdf version="{version}">{model if content is None else content}</sdf>')
    if config:
        (place / "model.config").write_text(
            '<model><name>An arm</name><sdf version="1.4">old.sdf</sdf><sdf version="1.9">arm-1_9.sdf</sdf></model>'
        )
    return place


def write(at, content, version="1.9"):
    path = at / "world.sdf"
    path.write_text(f'<sdf version="{version}">{content}</sdf>')
    return path


def read(path, **options):
    with lb.errors.collected_warnings():
        return lb.io.read_sdf(path, **options)


def same(first, second):
    """Whether two assemblies have the same dynamics in a random state."""
    a, b = first.build(), second.build()
    assert list(a.bodies) == list(b.bodies)
    rng = np.random.default_rng(0)
    v, vdot = rng.standard_normal((2, a.nv))
    q = lb.integrate(a, a.neutral(), 0.3 * v, 1.0)
    return np.allclose(
        lb.inverse_dynamics(a, q, v, vdot), lb.inverse_dynamics(b, q, v, vdot), rtol=1e-12
    )


@pytest.mark.parametrize("config", [True, False])
def test_a_world_of_included_models_is_the_world_with_them_in_it(tmp_path, config):
    folder(tmp_path / "models", config=config)
    poses = ("1 0 0 0.1 0.2 0.3", "0 2 0 0 0 1")
    includes = "".join(
        f"<include><uri>models/arm</uri><name>{name}</name><pose>{pose}</pose></include>"
        for name, pose in zip(("left", "right"), poses)
    )
    inline = "".join(
        f'<model name="{name}"><pose>{pose}</pose>{ARM.format(visual="")}</model>'
        for name, pose in zip(("left", "right"), poses)
    )
    found = read(write(tmp_path, f'<world name="w">{includes}</world>'))
    assert "left::tip" in found.attachments and "elbow" not in found.attachments
    assert same(found, read(write(tmp_path, f'<world name="w">{inline}</world>')))


def test_a_model_is_joined_to_one_that_it_includes(tmp_path):
    folder(tmp_path)
    content = """<model name="cart"><link name="car"><inertial><mass>9</mass></inertial></link>{0}
      <joint name="mount" type="prismatic"><parent>car</parent><child>arm::base</child><axis><xyz>1 0 0</xyz></axis></joint></model>"""
    found = read(write(tmp_path, content.format("<include><uri>model://arm</uri></include>")))
    inline = content.format(f'<model name="arm">{ARM.format(visual="")}</model>')
    assert same(found, read(write(tmp_path, inline)))


def test_axes_are_as_the_version_of_their_own_file_says(tmp_path):
    folder(tmp_path, version="1.4")  # axes in the frame of the model
    include = '<world name="w"><include><uri>model://arm</uri></include></world>'
    old = read(write(tmp_path, include)).build()
    alone = read(tmp_path / "arm" / "arm-1_9.sdf").build()
    new = read(
        write(
            tmp_path, f'<world name="w"><model name="arm">{ARM.format(visual="")}</model></world>'
        )
    ).build()
    q = old.neutral()
    q[old.layout["tip"].q_joint] = 0.7
    turned = [lb.pose(s, q, "tip")[0] for s in (old, alone, new)]
    assert np.allclose(turned[0], turned[1])
    assert not np.allclose(turned[0], turned[2])


def test_a_placement_frame_is_where_the_pose_says(tmp_path):
    folder(tmp_path)
    include = (
        '<world name="w"><include><uri>arm</uri><placement_frame>flange</placement_frame>'
        "<pose>1 2 3 0.1 0.2 0.3</pose></include></world>"
    )
    s = read(write(tmp_path, include), root="fixed").build()
    R, p = lb.pose(s, s.neutral(), "tip")
    about_x = lb.io.rotations.rpy_matrix(np.array([0.2, 0, 0]))
    assert np.allclose(p + R @ [0, 0.1, 0.3], [1, 2, 3])
    assert np.allclose(R @ about_x, lb.io.rotations.rpy_matrix(np.array([0.1, 0.2, 0.3])))


def test_static_and_light_are_as_in_gazebo(tmp_path):
    folder(tmp_path)
    folder(tmp_path, "sun", '<light name="sun" type="directional"/>')
    content = (
        '<world name="w"><include><uri>model://sun</uri></include>'
        "<include><uri>model://arm</uri><static>true</static></include>"
        "<include><uri>model://arm</uri><name>free</name></include></world>"
    )
    s = read(write(tmp_path, content)).build()
    assert list(s.bodies) == ["arm::base", "arm::tip", "free::base", "free::tip"]
    assert s.nv == 7


def test_models_and_their_meshes_are_found_where_gazebo_finds_them(tmp_path, monkeypatch):
    visual = '<visual name="v"><geometry><mesh><uri>box.stl</uri></mesh></geometry></visual>'
    place = folder(tmp_path / "far" / "away", visual=visual)
    corners = "".join(f"vertex {p}\n" for p in ("0 0 0", "1 0 0", "0 1 0"))
    (place / "box.stl").write_text(
        f"solid\nfacet\nouter loop\n{corners}endloop\nendfacet\nendsolid"
    )
    path = write(tmp_path, '<world name="w"><include><uri>model://arm</uri></include></world>')
    with pytest.raises(lb.FileError, match=r"no model 'model://arm'.*GZ_SIM_RESOURCE_PATH"):
        read(path)
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(tmp_path / "far" / "away"))
    (shape,) = read(path).attachments["tip"].shapes
    assert shape.file == place / "box.stl"


REFUSED = {
    "web": ("<include><uri>https://fuel.gazebosim.org/x</uri></include>", "is not on this machine"),
    "no uri": ("<include><name>x</name></include>", "<uri> is missing"),
    "merge": ('<include merge="true"><uri>arm</uri></include>', 'merge="true" is not read'),
    "itself": ("<include><uri>world.sdf</uri></include>", "world.sdf includes itself"),
    "world": ("<include><uri>other</uri></include>", "only one model can be included"),
    "twice": ("<include><uri>arm</uri></include>" * 2, "second model 'arm': give this <include> a"),
    "nothing": ("<include><uri>empty</uri></include>", "has no <model>"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_includes_that_cannot_be_read_are_refused(what, tmp_path):
    folder(tmp_path)
    folder(tmp_path, "other", '<world name="x"/>')
    folder(tmp_path, "empty", "")
    content, words = REFUSED[what]
    with pytest.raises(lb.FileError, match=words) as caught:
        read(write(tmp_path, f'<world name="w">{content}</world>'))
    assert caught.value.line == 1
