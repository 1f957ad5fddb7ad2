"""MJCF: equal to MuJoCo where it is installed; hand-checked numbers otherwise; what is left out is said.

MuJoCo is in no extra: `pip install mujoco`.
"""

import importlib.util

import numpy as np
import pytest

import limber as lb

TOLERANCE = 1e-9  # relative


def write(folder, body="", more="", name="model.xml"):
    path = folder / name
    path.write_text(f"<mujoco model='m'>{more}<worldbody>{body}</worldbody></mujoco>")
    return path


def read(path, **options):
    """The assembly and the words of its one warning."""
    with pytest.warns(lb.ModelWarning) as caught:
        made = lb.io.read_mjcf(path, **options)
    (warning,) = caught
    return made, str(warning.message)


BALL = '<geom size="0.1" mass="1" contype="0" conaffinity="0"/>'
TREES = {
    "shapes": (
        """
        <body name="a" pos="0.1 0.2 0.3" euler="30 -20 50">
          <joint axis="1 2 3" pos="0.05 0.1 -0.2" damping="0.3" armature="0.02"/>
          <geom type="capsule" size="0.05 0.2" pos="0.1 0 0.05" quat="1 2 -1 0.5"/>
          <geom type="cylinder" size="0.04" fromto="0 0 0 0.3 0.2 -0.1" density="700"/>
          <body pos="0.4 0 0" axisangle="1 1 0 40">
            <joint type="slide" axis="0 1 1" pos="9 9 9" stiffness="20" springref="0.1" damping="1"/>
            <geom type="box" size="0.1 0.2 0.3" mass="2" pos="0.1 0 0" xyaxes="1 1 0 -1 1 0.5"/>
            <geom type="ellipsoid" size="0.1 0.2 0.3" zaxis="1 -2 0.3"/>
            <geom type="box" size="0.02" fromto="0 0.1 0 0.2 0.2 0.4"/>
            <body pos="0 0 0.5"><geom size="0.2"/></body>
          </body>
        </body>
        """,
        "<option gravity='1 -2 -9'/>",
    ),
    "several joints in a body": (
        """
        <body name="hip" pos="0 0 1">
          <joint name="x" axis="1 0 0" pos="0 0 0.1"/>
          <joint name="slide" type="slide" axis="0 1 1"/>
          <joint name="y" axis="0 1 0" pos="0.1 0 0.2" stiffness="3" springref="20" ref="5"/>
          <joint name="z" axis="0 0 1" pos="0.1 0.05 0"/>
          <inertial pos="0.1 0.2 0" mass="3" diaginertia="0.1 0.2 0.25" euler="10 20 30"/>
          <body name="knee" pos="0 0 -0.5">
            <joint type="ball" pos="0 0.1 0" damping="0.2"/>
            <inertial pos="0 0 -0.2" mass="1" fullinertia="0.2 0.3 0.25 0.01 -0.02 0.03"/>
          </body>
        </body>
        """,
        "",
    ),
    "free, classes, frames, radians": (
        """
        <body name="ship" pos="1 2 3" euler="0.3 0.2 0.1" childclass="heavy">
          <freejoint/>
          <geom size="0.3"/>
          <frame pos="0.5 0 0" euler="0 0.4 0">
            <body name="arm">
              <joint axis="0 0 1"/>
              <joint class="soft" axis="1 0 0" pos="0.1 0 0"/>
              <geom size="0.1 0.3" type="capsule"/>
            </body>
            <geom size="0.05" pos="0 0 0.1"/>
          </frame>
          <body pos="0 1 0"><joint type="ball" pos="0 -0.1 0"/><geom class="main" size="0.2"/></body>
        </body>
        """,
        """<compiler angle="radian" eulerseq="zYx"/>
        <default><joint damping="0.1"/>
          <default class="heavy"><geom density="3000"/><joint armature="0"/>
            <default class="soft"><joint stiffness="4" springref="0.3" armature="0.1"/></default>
          </default>
        </default>""",
    ),
    "bounds and total mass": (
        """
        <body><joint/><inertial pos="0.3 0 0" mass="0.5" diaginertia="0.1 0.1 0.001"/>
          <body pos="1 0 0"><joint axis="0 1 0"/><inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.5"/></body>
          <body pos="0 1 0"><joint axis="1 0 0"/><geom size="0.1" group="3"/><geom size="0.2" group="1"/></body>
        </body>
        """,
        """<compiler boundmass="0.7" boundinertia="0.02" balanceinertia="true" settotalmass="5"
            inertiagrouprange="0 2"/>""",
    ),
    "an inertial in a frame, a bounded body without mass, sizes completed by a class": (
        """
        <body pos="0 0 1"><joint axis="1 1 0"/>
          <frame pos="0.4 0 0.1" euler="0 0 50"><frame euler="20 0 0">
            <inertial pos="0.1 0.2 0" mass="2" diaginertia="0.1 0.2 0.25" euler="10 20 30"/>
          </frame></frame>
          <geom type="box" size="0.3"/>
          <frame pos="0.3 0 0" euler="0 40 0"><body pos="0.2 0.1 0.5"><joint axis="0 1 0"/></body></frame>
          <body pos="0 1 0"><joint axis="1 0 1"/><geom type="box" size="0.3"/></body>
        </body>
        """,
        """<compiler boundmass="0.7" boundinertia="0.02"/><default><geom size="0.1 0.2 0.3"/></default>""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TREES)
def test_equals_mujoco(name, tmp_path):
    if importlib.util.find_spec("mujoco") is None:
        pytest.skip("mujoco is not installed: trees are not compared with it")
    import mujoco

    from helpers.compare_mujoco import assert_equal_dynamics

    path = write(tmp_path, *TREES[name])
    with lb.errors.collected_warnings():
        system = lb.io.read_mjcf(path).build()
    assert_equal_dynamics(mujoco, path, system, np.random.default_rng(1), TOLERANCE)


def test_pendulum_by_hand(tmp_path):
    """A rod of a capsule without its ends' rounding in the numbers: mass and inertia are given."""
    body = """<body name="rod" pos="0 0 2"><joint name="pivot" axis="0 1 0" damping="0.3" armature="0.1"
        stiffness="5" springref="90"/><inertial pos="0 0 -0.5" mass="2" diaginertia="0.2 0.2 0.01"/></body>"""
    system = lb.io.read_mjcf(write(tmp_path, body)).build()
    angle, rate = 0.4, 0.7
    assert lb.mass_matrix(system, [angle])[0, 0] == pytest.approx(0.2 + 2 * 0.25 + 0.1)
    expected = 2 * 9.81 * 0.5 * np.sin(angle) + 0.3 * rate + 5 * (angle - np.pi / 2)
    assert lb.bias(system, [angle], [rate])[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    "geom, mass, moments",
    [
        ('size="0.1" density="500"', 500 * 4 / 3 * np.pi * 1e-3, [0.4 * 0.01] * 3),
        ('type="box" size="0.1 0.2 0.3" mass="6"', 6, np.array([0.13, 0.10, 0.05]) / 3),
        ('type="ellipsoid" size="0.1 0.2 0.3" mass="6"', 6, np.array([0.13, 0.10, 0.05]) / 5),
        ('type="cylinder" size="0.2 0.3" mass="2"', 2, [0.04, 0.04, 0.02]),
        # a capsule of no length is a sphere, nearly
        ('type="capsule" size="0.1 1e-9" mass="2"', 2, [0.004] * 3),
    ],
)
def test_masses_and_inertias_of_shapes(geom, mass, moments, tmp_path):
    path = write(tmp_path, f"<body><freejoint/><geom {geom} pos='1 2 3'/></body>")
    body = lb.io.read_mjcf(path).attachments["body1"].body
    assert body.mass == pytest.approx(mass)
    assert body.com.tolist() == [1, 2, 3]
    assert body.inertia == pytest.approx(mass * np.diag(moments), abs=1e-9)


def test_inertial_or_geoms_as_the_compiler_says(tmp_path):
    body = f'<body><freejoint/><inertial pos="0 0 0" mass="5" diaginertia="1 1 1"/>{BALL}</body>'
    for how, mass in (("auto", 5.0), ("false", 5.0), ("true", 1.0)):
        path = write(tmp_path, body, f"<compiler inertiafromgeom='{how}'/>")
        assert lb.io.read_mjcf(path).attachments["body1"].body.mass == mass


def test_an_inertial_in_a_frame_is_placed_by_the_frame(tmp_path):
    body = """<body name="a"><joint axis="0 0 1"/><geom type="mesh" mesh="none"/>
      <frame pos="10 0 0" euler="0 0 90"><inertial pos="1 2 3" mass="2" diaginertia="1 1.1 1.2"/></frame></body>"""
    with lb.errors.collected_warnings():
        made = lb.io.read_mjcf(write(tmp_path, body)).attachments["a"].body
    assert np.allclose(made.com, [8, 1, 3])
    assert np.allclose(made.inertia, np.diag([1.1, 1.0, 1.2]))


def test_a_short_size_leaves_the_other_numbers_to_its_class(tmp_path):
    body = '<body name="a"><joint/><geom type="box" size="0.3" density="1000"/></body>'
    with lb.errors.collected_warnings():
        read = lb.io.read_mjcf(
            write(tmp_path, body, '<default><geom size="0.1 0.2 0.3"/></default>')
        )
    assert read.attachments["a"].body.mass == pytest.approx(8 * 0.3 * 0.2 * 0.3 * 1000)


def test_limits_follow_autolimits_and_angles(tmp_path):
    def made(joint, more="", **options):
        path = write(tmp_path, f"<body><joint name='j' {joint}/>{BALL}</body>", more)
        return lb.io.read_mjcf(path, **options).attachments["body1"].joint

    both = "range='-90 45' actuatorfrcrange='-10 10'"
    quarter, turn = np.pi / 2, 0.75 * np.pi
    expected = lb.Revolute("z", limits=(-quarter, quarter / 2), stop_stiffness=10 / (0.01 * turn), effort_limit=10.0)  # fmt: skip
    assert repr(made(both)) == repr(expected)
    assert made(both, stops=False).physics.stop_stiffness == [0.0]
    assert repr(made(both + " limited='false' actuatorfrclimited='false'")) == repr(
        lb.Revolute("z")
    )
    with pytest.warns(lb.ModelWarning, match="joint 'j' has limits, but no finite effort"):
        slide = made("type='slide' range='-1 2'")
    assert (slide.physics.lower, slide.physics.upper) == ([-1.0], [2.0])
    with pytest.raises(lb.FileError, match='autolimits="false": state whether it is limited'):
        made("range='-1 2'", "<compiler autolimits='false'/>")
    with pytest.raises(lb.FileError, match="limited of <joint> is true, but range is missing"):
        made("limited='true'")
    made_friction = made("frictionloss='0.4'")
    assert repr(made_friction) == repr(lb.Revolute("z", friction=0.4))


LOOP = f"""
<body name="a"><joint name="j1" axis="0 1 0"/>{BALL}<site name="end" pos="1 0 0"/>
  <body name="b" pos="1 0 0"><joint name="j2" axis="0 1 0"/><joint name="j3" axis="0 1 0" pos="0 0 0.5"/>{BALL}</body>
</body>
<body name="c" pos="2 0 0" euler="0 30 0"><joint name="j4" axis="0 1 0"/>{BALL}<site name="tip" pos="0.1 0 0"/></body>
"""  # fmt: skip


def closed(folder, equality):
    return write(folder, LOOP, f"<equality>{equality}</equality>")


def test_equalities_close_loops_where_the_file_has_them(tmp_path):
    path = closed(
        tmp_path,
        '<connect name="pin" body1="b" body2="c" anchor="0.5 0 0"/><weld body1="b"/>'
        '<joint joint1="j1" joint2="j3" polycoef="0.1 -2"/><joint name="held" joint1="j4"/>',
    )
    made = lb.io.read_mjcf(path)
    assert list(made.closures) == ["pin", "closure1", "relation1", "held"]
    assert dict(made.closures["relation1"].terms) == {("a", 0): 1.0, ("b", 1): 2.0}
    assert made.closures["relation1"].value == 0.1
    assert dict(made.closures["held"].terms) == {("c", 0): 1.0}
    pin, weld = made.closures["pin"], made.closures["closure1"]
    assert isinstance(pin.joint, lb.Spherical) and isinstance(weld.joint, lb.Fixed)
    system = made.build()
    residual = lb.constraint_residual(system, system.neutral())
    at = system.closure_rows
    assert (
        np.abs(residual[at["pin"]]).max() < 1e-12 and np.abs(residual[at["closure1"]]).max() < 1e-12
    )
    assert weld.b.body == "world"


PAIR = f"""<body name="a" pos="1 0 0" euler="0 30 0"><freejoint/>{BALL}</body>
<body name="b" pos="0 1 0" euler="10 0 0"><freejoint/>{BALL}</body>"""


def weld(folder, attributes):
    path = write(folder, PAIR, f"<equality><weld body1='a' body2='b' {attributes}/></equality>")
    return lb.io.read_mjcf(path).closures["closure1"]


def test_a_weld_ties_its_anchor_to_the_place_that_relpose_has(tmp_path):
    """The point `anchor` of the second body is at the position of `relpose` in the first one, as MuJoCo has it."""
    there = weld(tmp_path, 'relpose="0.3 0.1 0 1 0 0 0" anchor="0.5 0.6 0"')
    assert there.a.offset == pytest.approx([0.3, 0.1, 0])
    assert there.b.offset == pytest.approx([0.5, 0.6, 0])
    assert isinstance(there.joint, lb.Fixed)


@pytest.mark.parametrize("scale, kind", [("0", lb.Spherical), ("0.2", lb.Fixed)])
def test_a_weld_without_torques_lets_its_bodies_turn(scale, kind, tmp_path):
    made = weld(tmp_path, f'torquescale="{scale}" anchor="0.3 0 0"')
    assert isinstance(made.joint, kind)
    assert made.b.offset == pytest.approx([0.3, 0, 0])
    system = lb.io.read_mjcf(tmp_path / "model.xml").build()
    assert np.abs(lb.constraint_residual(system, system.neutral())).max() < 1e-12


def test_bodies_without_a_name_get_one_that_no_other_has(tmp_path):
    bodies = f"<body name='body2'><joint/>{BALL}</body><body><joint/>{BALL}</body><body name='body2_'><joint/>{BALL}</body>"
    made = lb.io.read_mjcf(write(tmp_path, bodies))
    assert list(made.attachments) == ["body2", "body2__", "body2_"]


@pytest.mark.parametrize("joints", ["<joint/>", "<joint/><joint type='slide'/>", "<joint name='j'/><joint type='slide'/>"])  # fmt: skip
def test_joints_without_a_name_come_back_from_model_and_result_files(joints, tmp_path):
    bodies = f"<body name='a'>{joints}<geom size='0.1' pos='1 0 0'/></body>"
    made = lb.io.read_mjcf(write(tmp_path, bodies))
    lb.save(made, tmp_path / "model.yaml")
    again = lb.load(tmp_path / "model.yaml")
    lb.simulate(made.build(), 0.01).save(tmp_path / "result.h5")
    stored = lb.Result.load(tmp_path / "result.h5").system
    for attachments in (again.attachments, stored.attachments):
        assert attachments["a"].joint_names == made.attachments["a"].joint_names


def test_sites_are_nodes_and_ends_of_closures(tmp_path):
    path = closed(tmp_path, '<connect site1="end" site2="tip"/>')
    made = lb.io.read_mjcf(path)
    assert made.attachments["a"].body.nodes["end"].tolist() == [1, 0, 0]
    closure = made.closures["closure1"]
    assert (closure.a.body, closure.b.body) == ("a", "c")
    assert closure.b.offset == pytest.approx([0.1, 0, 0])


def test_equalities_that_are_not_read_are_said(tmp_path):
    content = (
        '<joint joint1="j1" joint2="j2" polycoef="0 1 2 0 0"/><connect body1="a" anchor="0 0 0" active="false"/>'
        '<tendon tendon1="t"/>'
    )
    made, text = read(closed(tmp_path, content))
    assert not made.closures
    for words in (
        "the <joint> constraint of line 1 is not linear (polycoef) and left out",
        "the <connect> of line 1 is not active and left out",
        "<tendon> in <equality> (line 1)",
    ):
        assert text.count(words) == 1, words
    _, text = read(closed(tmp_path, '<weld body1="a"/>'), equality=False)
    assert "the equality constraints are left out, as requested" in text


def test_what_is_left_out_is_said_once(tmp_path):
    more = """<option density="1.2" timestep="0.001"><flag contact="disable"/></option><visual/><asset/>
      <contact/><actuator/><actuator/><tendon/><sensor/><keyframe/>
      <default><joint armature="0.3"/><geom rgba="1 0 0 1"/></default>"""
    body = """<geom type="plane" size="1 1 1"/>
      <body gravcomp="1"><joint type="free" stiffness="2" springdamper="1 1"/><geom size="1"/><camera/></body>
      <body><joint ref="30" group="2"/><geom size="1"/><plugin/></body>"""
    _, text = read(write(tmp_path, body, more))
    for words in (
        "density of <option>",
        "contact of <flag>",
        "<contact> in <mujoco>",
        "<actuator> in <mujoco>",
        "<tendon> in <mujoco>",
        "<sensor> in <mujoco>",
        "<keyframe> in <mujoco>",
        "gravcomp of <body>",
        "springdamper of <joint>",
        "<plugin> in <body>",
        "armature 0.3 of the free joint",
        "stiffness 2 of the free joint",
        "contacts of geoms are left out",
        "positions of MuJoCo minus `ref`",
    ):
        assert text.count(words) == 1, words
    for words in ("timestep", "visual", "rgba", "camera", "group"):
        assert words not in text


def test_included_files_are_part_of_the_model(tmp_path):
    (tmp_path / "arm.xml").write_text(f"<mujocoinclude><body name='arm'><joint/>{BALL}</body></mujocoinclude>")  # fmt: skip
    made = lb.io.read_mjcf(write(tmp_path, '<include file="arm.xml"/>'))
    assert list(made.attachments) == ["arm"]
    with pytest.raises(lb.FileError, match="includes itself"):
        lb.io.read_mjcf(write(tmp_path, '<include file="model.xml"/>'))


REFUSED = {
    "not mjcf": ("<robot/>", "starts with <mujoco>, got <robot>"),
    "empty": ("<mujoco/>", "the model has no bodies"),
    "mesh": ("<body><joint/><geom type='mesh' mesh='m'/></body>", "the mesh 'm' is not among the assets"),
    "replicate": ("<replicate count='3'><body/></replicate>", "<replicate> creates bodies"),
    "class": (f"<body childclass='no'><joint/>{BALL}</body>", "unknown class 'no'"),
    "kind": (f"<body><joint type='hing'/>{BALL}</body>", "Did you mean 'hinge'"),
    "axis": (f"<body><joint axis='0 0 0'/>{BALL}</body>", "axis of <joint> has a vector of length"),
    "two orientations": (f"<body quat='1 0 0 0' euler='0 0 0'>{BALL}</body>", "give its orientation once"),
    "free beside": (f"<body><freejoint/><joint/>{BALL}</body>", "a free joint must be the only joint"),
    "seven": ("<body>" + "<joint/>" * 7 + BALL + "</body>", "7 speeds together"),
    "same name": (f"<body name='a'>{BALL}</body><body name='a'>{BALL}</body>", "a second body 'a'"),
    "inertia": ("<body><joint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 3'/></body>", "'body1': inertia has"),
    "joint of the world": ("<joint/>", "the world has no <joint>"),
    "size": ("<body><joint/><geom type='box' size='1 1'/></body>", "size of a box must be 3 numbers"),
    "huge": ("<body><joint/><geom size='1e200'/></body>", "'body1': its inertia is too large for a number"),
    "spring": (f"<body><joint stiffness='1 2'/>{BALL}</body>", "stiffness of <joint> is a polynomial"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_bad_files_are_refused(what, tmp_path):
    text, message = REFUSED[what]
    path = write(tmp_path, text)
    if "<mujoco" in text or "<robot" in text:
        path.write_text(text)
    with pytest.raises(lb.FileError, match=message) as caught:
        lb.io.read_mjcf(path)
    assert str(caught.value).startswith(str(path)) and caught.value.line


def test_files_are_found_by_their_first_tag(tmp_path):
    path = write(tmp_path, f"<body name='a'><joint/>{BALL}</body>")
    assert lb.io.file_kind(path) == "mjcf"
    assert list(lb.load(path).attachments) == ["a"]
    scenario = tmp_path / "case.yaml"
    scenario.write_text("limber: 1\nmodel: model.xml\nduration: 1\n")
    assert list(lb.io.load_scenario(scenario).system.bodies) == ["a"]
    with pytest.raises(
        lb.LimberError, match=r"lenient is for URDF and SDF files, not for model\.xml"
    ):
        lb.load(path, lenient=True)
    path.write_text("<page/>")
    with pytest.raises(lb.FileError, match="starts with <page>: expected <mujoco>"):
        lb.load(path)


def test_an_orientation_of_an_inner_class_replaces_that_of_the_outer_one(tmp_path):
    default = "<default><geom euler='0 90 0'/><default class='up'><geom quat='1 0 0 1'/></default></default>"
    body = "<body><joint/><geom class='up' type='box' size='0.1 0.2 0.3' mass='3'/></body>"
    made = lb.io.read_mjcf(write(tmp_path, body, default)).attachments["body1"].body
    assert np.diag(made.inertia) == pytest.approx([0.10, 0.13, 0.05])


def test_the_outermost_default_class_is_for_all_whatever_its_name(tmp_path):
    body = f"""
      <body name="a"><joint/>{BALL}
        <body name="b"><joint class="root"/>{BALL}</body>
        <body name="c"><joint class="light"/>{BALL}</body>
      </body>"""
    default = """
      <default class="root"><joint damping="0.7"/>
        <default class="light"><joint armature="0.2"/></default>
      </default>"""
    made = lb.io.read_mjcf(write(tmp_path, body, default)).attachments
    assert [made[name].joint.physics.damping.tolist() for name in "abc"] == [[0.7]] * 3
    assert [made[name].joint.physics.armature[0] for name in "abc"] == [0.0, 0.0, 0.2]
