"""SDF: the same robots as in URDF and as assemblies made by hand; frames, loops, worlds; what is left out is said."""

import warnings

import numpy as np
import pytest

import limber as lb
from limber.io.rotations import rpy_matrix

TOLERANCE = 1e-12


def write(folder, content, version="1.9", name="model.sdf"):
    path = folder / name
    path.write_text(f'<sdf version="{version}">{content}</sdf>')
    return path


def model(*content, name="m"):
    return f'<model name="{name}">{"".join(content)}</model>'


def link(name, pose="", mass=2.0, com="0.1 0.2 0.3 0.3 -0.2 0.1", moments="0.3 0.4 0.5", more=""):
    xx, yy, zz = moments.split()
    return (
        f'<link name="{name}">{pose}<inertial><mass>{mass}</mass><pose>{com}</pose><inertia><ixx>{xx}</ixx>'
        f"<iyy>{yy}</iyy><izz>{zz}</izz><ixy>0.01</ixy></inertia></inertial>{more}</link>"
    )


def joint(name, kind, parent, child, axis="<xyz>0 0 1</xyz>", more=""):
    axis = f"<axis>{axis}</axis>" if axis else ""
    return (
        f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>'
        f"{axis}{more}</joint>"
    )


def body(mass=2.0, nodes=None):
    """The body of `link`."""
    R = rpy_matrix(np.array([0.3, -0.2, 0.1]))
    inertia = np.array([[0.3, 0.01, 0.0], [0.01, 0.4, 0.0], [0.0, 0.0, 0.5]])
    return lb.RigidBody(mass, (0.1, 0.2, 0.3), R @ inertia @ R.T, nodes)


def quiet(path, **options):
    """The assembly, without any warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return lb.io.read_sdf(path, **options)


def said(path, **options):
    """The assembly and the words of its one warning."""
    with pytest.warns(lb.ModelWarning) as caught:
        made = lb.io.read_sdf(path, **options)
    (warning,) = caught
    return made, str(warning.message)


def assert_same(one, other, seed=1):
    """Equal mass matrices and biases, and poses of the bodies that both have."""
    a, b = one.build(), other.build()
    rng = np.random.default_rng(seed)
    for _ in range(5):
        q, v = lb.integrate(a, a.neutral(), rng.normal(size=a.nv), 1.0), rng.normal(size=a.nv)
        M = lb.mass_matrix(b, q)
        assert np.abs(lb.mass_matrix(a, q) - M).max() < TOLERANCE * np.abs(M).max()
        h = lb.bias(b, q, v)
        assert np.abs(lb.bias(a, q, v) - h).max() < TOLERANCE * np.abs(h).max()
        for name in a.bodies:
            for x, y in zip(lb.pose(a, q, name), lb.pose(b, q, name)):
                assert np.abs(x - y).max() < TOLERANCE


G = (0.0, 0.0, -9.81)
R1, R2 = rpy_matrix(np.array([0.1, 0.2, 0.3])), rpy_matrix(np.array([-0.4, 0.5, 0.6]))


def chain():
    """An arm, made by hand: `upper` at R1 in the world, `fore` at R2 in it, with the joint away from its origin."""
    made = lb.Assembly("m", G)
    made.attach("base", body(), lb.Fixed(), offset=(1, 2, 3))
    made.attach(
        *("upper", body(), lb.Revolute((0, 0.6, 0.8), damping=0.5, friction=0.0), "base"),
        offset=(0.1, 0.2, 0.3),
        rotation=R1,
    )
    elbow = np.array([0.0, 0.1, -0.2])
    made.attach(
        *("fore", body(nodes={"joint anchor": elbow}), lb.Revolute("x", stiffness=3.0, rest=0.2)),
        to="upper",
        offset=np.array([0.5, 0, 0]) + R2 @ elbow,
        rotation=R2,
        inboard="joint anchor",
    )
    made.attach("slide", body(), lb.Prismatic("y"), "fore", offset=(0, 0, 0.4))
    return made


def test_equals_an_assembly_made_by_hand(tmp_path):
    path = write(
        tmp_path,
        model(
            "<pose>1 2 3 0 0 0</pose>",
            joint("weld", "fixed", "world", "base", ""),
            link("base"),
            link("upper", '<pose relative_to="base">0.1 0.2 0.3 0.1 0.2 0.3</pose>'),
            link("fore", '<pose relative_to="upper">0.5 0 0 -0.4 0.5 0.6</pose>'),
            link("slide", '<pose relative_to="rail"/>'),
            '<frame name="rail" attached_to="fore"><pose>0 0 0.4 0 0 0</pose></frame>',
            joint(
                *("shoulder", "revolute", "base", "upper"),
                "<xyz>0 0.6 0.8</xyz><dynamics><damping>0.5</damping></dynamics>",
            ),
            joint(
                *("elbow", "revolute", "upper", "fore"),
                "<xyz expressed_in='fore'>2 0 0</xyz><dynamics><spring_stiffness>3</spring_stiffness>"
                "<spring_reference>0.2</spring_reference></dynamics>",
                "<pose>0 0.1 -0.2 0.7 0 0.3</pose>",
            ),
            joint("push", "prismatic", "fore", "slide", "<xyz expressed_in='rail'>0 1 0</xyz>"),
        ),
    )
    made = quiet(path)
    assert_same(made, chain())
    assert made.attachments["upper"].joint.physics.damping == [0.5]


def test_axes_of_old_files_are_in_the_frame_of_the_model(tmp_path):
    pose = "<pose>0.1 0.2 0.3 0.1 0.2 0.3</pose>"
    for version, more in (
        ("1.4", ""),
        ("1.6", "<use_parent_model_frame>1</use_parent_model_frame>"),
    ):
        axis = f"<xyz>0 0.6 0.8</xyz>{more}"
        content = model(link("a", pose), joint("j", "revolute", "world", "a", axis))
        made = quiet(write(tmp_path, content, version)).attachments["a"].joint
        expected = R1.T @ np.array([0, 0.6, 0.8])
        assert made.groups[0].H[:3, 0] == pytest.approx(expected, abs=1e-15)
    made = quiet(write(tmp_path, content.replace(more, ""), "1.6")).attachments["a"].joint
    assert made.groups[0].H[:3, 0] == pytest.approx([0, 0.6, 0.8], abs=1e-15)


def test_links_without_a_joint_are_free_unless_asked_otherwise(tmp_path):
    path = write(tmp_path, model(link("a"), link("b"), joint("j", "ball", "a", "b", "")))
    made = quiet(path)
    assert [type(x.joint).__name__ for x in made.attachments.values()] == ["Free", "Spherical"]
    made = quiet(path, root="fixed")
    assert [type(x.joint).__name__ for x in made.attachments.values()] == ["Fixed", "Spherical"]
    with pytest.raises(lb.LimberError, match='root must be "fixed" or "free", got \'loose\''):
        lb.io.read_sdf(path, root="loose")


def test_kinds_of_joints(tmp_path):
    second = "<axis2><xyz>0 1 0</xyz></axis2>"
    content = model(
        link("a"), link("b"), link("c"), link("d"),
        joint("u", "universal", "world", "a", "<xyz>1 0 0</xyz>", second),
        joint("s", "screw", "a", "b", more="<screw_thread_pitch>0.5</screw_thread_pitch>"),
        joint("c", "continuous", "b", "c", "<xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1</upper></limit>"),
        joint("r", "revolute2", "c", "d", "<xyz>1 0 0</xyz>", second),
    )  # fmt: skip
    made = quiet(write(tmp_path, content.replace('name="c" type', 'name="cc" type'))).attachments
    two = lb.CompoundJoint([lb.Revolute("x"), lb.Revolute("y")])
    assert repr(made["a"].joint) == repr(made["d"].joint) == repr(two)
    assert repr(made["b"].joint) == repr(lb.Screw("z", 0.5 / (2.0 * np.pi)))
    assert repr(made["c"].joint) == repr(lb.Revolute("z"))


def test_the_older_pitch_of_a_screw_counts_turns_a_meter_backwards(tmp_path):
    def made(more):
        return quiet(
            write(tmp_path, model(link("a"), joint("s", "screw", "world", "a", more=more)))
        )

    old = "<thread_pitch>-4</thread_pitch>"
    new = "<screw_thread_pitch>0.5</screw_thread_pitch>"
    assert repr(made(old).attachments["a"].joint) == repr(lb.Screw("z", 0.25))
    both = lb.Screw("z", 0.5 / (2.0 * np.pi))
    assert repr(made(old + new).attachments["a"].joint) == repr(both)
    with pytest.raises(lb.LimberError, match="thread_pitch 0"):
        made(old.replace("-4", "0"))


def test_limits_and_stops(tmp_path):
    def made(limit, **options):
        axis = f"<xyz>0 0 1</xyz><limit>{limit}</limit>"
        path = write(tmp_path, model(link("a"), joint("j", "revolute", "world", "a", axis)))
        return lb.io.read_sdf(path, **options).attachments["a"].joint

    both = "<lower>-1</lower><upper>1.5</upper>"
    effort = "<effort>10</effort><velocity>2</velocity>"
    known = {"limits": (-1.0, 1.5), "effort_limit": 10.0, "speed_limit": 2.0}
    assert repr(made(both + effort)) == repr(lb.Revolute("z", stop_stiffness=400.0, **known))
    given = made(both + effort + "<stiffness>123</stiffness>")
    assert repr(given) == repr(lb.Revolute("z", stop_stiffness=123.0, **known))
    assert repr(made(both + effort, stops=False)) == repr(
        lb.Revolute("z", stop_stiffness=0.0, **known)
    )
    free = "<lower>-1e16</lower><upper>inf</upper><effort>-1</effort><velocity>-1</velocity>"
    assert repr(made(free)) == repr(lb.Revolute("z"))
    with pytest.warns(lb.ModelWarning, match="'j' has limits, but no finite effort"):
        made(both)
    with pytest.warns(lb.ModelWarning, match="dissipation> in <limit>.*'j' has no range"):
        made("<lower>1</lower><upper>-1</upper><dissipation>3</dissipation>")


def test_a_second_joint_closes_a_loop(tmp_path):
    """A four-bar linkage, whose last joint hangs on the world."""
    at = '<pose relative_to="__model__">{} 0 0 0 0</pose>'
    content = model(
        link("a", at.format("0 0")), link("b", at.format("0 1")), link("c", at.format("1 1")),
        joint("j1", "revolute", "world", "a"),
        joint("j2", "revolute", "a", "b"),
        joint("j3", "revolute", "b", "c"),
        joint("j4", "revolute", "world", "c", "<xyz>0 0 1</xyz><dynamics><damping>1</damping></dynamics>",
              "<pose>0 -1 0 0 0 0</pose>"),
    )  # fmt: skip
    made, text = said(write(tmp_path, content))
    assert "joint 'j4' closes a loop: its dynamics and limits are left out" in text
    assert list(made.closures) == ["j4"]
    system = made.build()
    assert np.abs(lb.constraint_residual(system, system.neutral())).max() < TOLERANCE
    q = lb.assemble(system, [0.3, -0.3, 0.3])  # a parallelogram
    assert q == pytest.approx([0.3, -0.3, 0.3], abs=1e-9)


def test_mimic_is_a_gear(tmp_path):
    mimic = (
        "<xyz>0 0 1</xyz><mimic joint='j'><multiplier>2</multiplier><offset>0.3</offset>"
        "<reference>0.1</reference></mimic>"
    )
    joints = joint("j", "revolute", "world", "a"), joint("k", "revolute", "world", "b", mimic)
    made = quiet(write(tmp_path, model(link("a"), link("b"), *joints)))
    relation = made.closures["k"]
    assert dict(relation.terms) == {("b", 0): 1.0, ("a", 0): -2.0}
    assert relation.value == pytest.approx(0.1)


def test_the_second_axis_of_a_joint_may_mimic_another(tmp_path):
    second = "<axis2><xyz>0 1 0</xyz><mimic joint='j'><multiplier>3</multiplier></mimic></axis2>"
    joints = (
        joint("j", "revolute", "world", "a"),
        joint("k", "universal", "a", "b", "<xyz>1 0 0</xyz>", second),
    )
    made = quiet(write(tmp_path, model(link("a"), link("b"), *joints)))
    assert dict(made.closures["k axis2"].terms) == {("b", 1): 1.0, ("a", 0): -3.0}


def test_a_joint_that_closes_a_loop_is_not_mimicked(tmp_path):
    """The joint that carries the same link moved in its place."""
    joints = (
        joint("j", "revolute", "world", "a"),
        joint("again", "ball", "world", "a", ""),
        joint("k", "revolute", "world", "b", "<xyz>0 0 1</xyz><mimic joint='again'/>"),
    )
    path = write(tmp_path, model(link("a"), link("b"), *joints))
    with pytest.raises(lb.FileError, match="mimics the joint 'again', which has no coordinate"):
        lb.io.read_sdf(path)


def test_worlds_nested_and_static_models(tmp_path):
    nested = model(
        "<pose>0 0 1 0 0 0</pose>",
        link("hand"),
        joint("grip", "revolute", "hand", "finger"),
        link("finger", '<pose relative_to="hand">0 0 0.5 0 0 0</pose>'),
        name="gripper",
    )
    arm = model(
        "<pose>5 0 0 0 0 0</pose>", link("a"), nested, joint("flange", "fixed", "a", "gripper::hand", ""),
        name="arm",
    )  # fmt: skip
    table = model(link("top"), "<static>true</static>", name="table")
    made = quiet(write(tmp_path, f'<world name="w"><gravity>0 1 -2</gravity>{arm}{table}</world>'))
    names = {"arm::a": "Free", "arm::gripper::hand": "Fixed", "arm::gripper::finger": "Revolute"}
    names["table::top"] = "Fixed"
    assert {n: type(x.joint).__name__ for n, x in made.attachments.items()} == names
    assert made.gravity.tolist() == [0.0, 1.0, -2.0]
    system = made.build()
    assert lb.pose(system, system.neutral(), "arm::gripper::finger")[1].tolist() == [5.0, 0.0, 1.5]
    assert quiet(write(tmp_path, arm), gravity=(0, 0, 1)).gravity.tolist() == [0, 0, 1]


def test_models_of_a_world_are_placed_in_the_frames_that_they_name(tmp_path):
    turned = "<pose relative_to='dock'>1 0 0 0 0 1.5707963267948966</pose>"
    world = "".join(
        [
            "<world name='w'><frame name='dock'><pose>0 0 2 0 0 0</pose></frame>",
            model("<pose relative_to='arm::a'>0 1 0 0 0 0</pose>", link("b"), name="first"),
            model(turned, link("a", "<pose>0.5 0 0 0 0 0</pose>"), name="arm"),
            model("<pose relative_to='arm'>0 0 1 0 0 0</pose>", link("b"), name="last"),
            "</world>",
        ]
    )
    system = quiet(write(tmp_path, world)).build()
    places = {name: lb.pose(system, system.neutral(), name)[1] for name in system.bodies}
    expected = {"first::b": [0, 0.5, 2], "arm::a": [1, 0.5, 2], "last::b": [1, 0, 3]}
    assert places == {name: pytest.approx(place, abs=1e-12) for name, place in expected.items()}
    with pytest.raises(lb.FileError, match="there is no frame 'dok' in this model"):
        quiet(write(tmp_path, world.replace("relative_to='dock'", "relative_to='dok'")))


def test_poses_in_degrees_and_quaternions(tmp_path):
    quarter = float(np.sqrt(0.5))
    poses = (
        '<pose degrees="true">1 2 3 0 0 90</pose>',
        f'<pose rotation_format="quat_xyzw">1 2 3 0 0 {quarter!r} {quarter!r}</pose>',
    )
    for pose in poses:
        item = quiet(write(tmp_path, model(link("a", pose)))).attachments["a"]
        assert item.rotation == pytest.approx(
            np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]]), abs=1e-12
        )
        assert item.offset.tolist() == [1, 2, 3]


def test_what_is_left_out_is_said_once(tmp_path):
    content = model(
        link("a", more='<collision name="c"/><sensor name="s"/><gravity>0</gravity>'),
        link("b", more='<collision name="c"/><visual name="v"/>'),
        '<link name="bare"/><plugin name="p"/>',
        joint("j", "ball", "a", "b"),
        joint("g", "gearbox", "a", "b"),
    )
    made, text = said(write(tmp_path, content))
    for words in (
        "<plugin> in <model> (line 1)",
        "<sensor> in <link>",
        "collisions are left out",
        "link 'a' moves and falls like the others",
        "link 'bare' has no <inertial>, so it has 1 kg",
        "joint 'j' is ball: its <axis> is left out",
        "joint 'g' is a gearbox and is left out",
    ):
        assert text.count(words) == 1, words
    assert "visual" not in text
    assert made.attachments["bare"].body.mass == 1.0


HERE = '<pose relative_to="?">0 0 0 0 0 0</pose>'
REFUSED = {
    "not sdf": ("<?xml version='1.0'?><robot/>", "starts with <sdf>, got <robot>"),
    "version": ("<sdf version='new'/>", "version of <sdf> must be a number such as 1.9, got 'new'"),
    "no model": ("<sdf/>", "has no <model>"),
    "no links": ("<sdf><model name='m'/></sdf>", "the model has no links"),
    "two models": ("<sdf><model name='m'/><model name='n'/></sdf>", "put several models into"),
    "include": ("<sdf><model name='m'><include/></model></sdf>", "<uri> is missing in <include>"),
    "unknown frame": (
        f"<sdf>{model(link('a', HERE.replace('?', 'b')))}</sdf>",
        "there is no frame 'b' in this model",
    ),
    "circle": (
        f"<sdf>{model(link('a', HERE.replace('?', 'a')))}</sdf>",
        "'a' is given relative to itself",
    ),
    "unknown type": (
        f"<sdf>{model(link('a'), joint('j', 'revolut', 'world', 'a'))}</sdf>",
        "unknown type 'revolut'. Did you mean 'revolute'",
    ),
    "unknown link": (
        f"<sdf>{model(link('a'), joint('j', 'fixed', 'b', 'a'))}</sdf>",
        "parent of joint 'j' is the unknown link 'b'",
    ),
    "no axis": (
        f"<sdf>{model(link('a'), joint('j', 'revolute', 'world', 'a', ''))}</sdf>",
        "'j' is revolute and needs 1 <axis>",
    ),
    "five numbers": (
        f"<sdf>{model(link('a', '<pose>0 0 0 0 0</pose>'))}</sdf>",
        "<pose> must be 6 finite numbers",
    ),
    "negative": (
        f"<sdf>{model(link('a', moments='1 1 -1'))}</sdf>",
        "link 'a': inertia must be positive .*lenient=True",
    ),
    "same name": (f"<sdf>{model(link('a'), link('a'))}</sdf>", "a second frame 'a'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_bad_files_are_refused(what, tmp_path):
    text, message = REFUSED[what]
    path = tmp_path / "bad.sdf"
    path.write_text(text)
    with pytest.raises(lb.FileError, match=message) as caught:
        lb.io.read_sdf(path)
    assert str(caught.value).startswith(str(path)) and caught.value.line


def test_files_are_found_by_name_and_by_tag(tmp_path):
    content = model(link("a"))
    for name in ("a.sdf", "a.world", "a.xml"):
        path = write(tmp_path, content, name=name)
        assert lb.io.file_kind(path) == "sdf"
        assert list(lb.load(path).attachments) == ["a"]
    write(tmp_path, model(link("a", moments="1 1 -1")))
    with pytest.warns(lb.ModelWarning, match="lenient: negative principal moments"):
        lb.load(tmp_path / "model.sdf", lenient=True)
