"""Model files say what the Python calls say; Denavit-Hartenberg tables mean what the books mean."""

import numpy as np
import pytest

import limber as lb
from helpers.files import EXAMPLES, bits, description


def load(tmp_path, text, name="m.yaml"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return lb.load(path)


JOINTS = {
    "{revolute: [0, 1, 2]}": lb.Revolute([0, 1, 2]),
    "{revolute: -z}": lb.Revolute([0, 0, -1]),
    "{prismatic: x}": lb.Prismatic([1, 0, 0]),
    "{screw: {axis: y, pitch: 0.1}}": lb.Screw([0, 1, 0], 0.1),
    "{cylindrical: z}": lb.Cylindrical([0, 0, 1]),
    "{universal: [x, [0, 1, 1]]}": lb.Universal([1, 0, 0], [0, 1, 1]),
    "{universal: {axis1: x, axis2: y}}": lb.Universal([1, 0, 0], [0, 1, 0]),
    "{planar: z}": lb.Planar([0, 0, 1]),
    "spherical": lb.Spherical(),
    "free": lb.Free(),
    "fixed": lb.Fixed(),
    "{free: }": lb.Free(),
    "{fixed: {}}": lb.Fixed(),
    "{simple: [[0], [0], [1], [0], [0], [0.1]]}": lb.SimpleJoint([[0], [0], [1], [0], [0], [0.1]]),
    "{compound: [{revolute: z}, spherical]}": lb.CompoundJoint(
        [lb.Revolute([0, 0, 1]), lb.Spherical()]
    ),
    "{revolute: z, damping: 0.1, limits: [-1, 1], stop_stiffness: 1000}": lb.Revolute(
        "z", damping=0.1, limits=(-1, 1), stop_stiffness=1000
    ),
    "{prismatic: x, limits: [null, 0.5], stop_stiffness: 0, effort_limit: 30}": lb.Prismatic(
        "x", limits=(None, 0.5), stop_stiffness=0, effort_limit=30
    ),
    "{spherical: {}, damping: [1, 2, 3]}": lb.Spherical(damping=[1, 2, 3]),
    "{free: , friction: 0.1, friction_speed: 1e-4}": lb.Free(friction=0.1, friction_speed=1e-4),
    "{universal: [x, y], limits: [null, [0, 1]], stop_stiffness: 5}": lb.Universal(
        "x", "y", limits=(None, (0, 1)), stop_stiffness=5
    ),
    "{compound: [{revolute: z, armature: 2}, {prismatic: z, stiffness: 3, rest: 0.1}]}": (
        lb.CompoundJoint([lb.Revolute("z", armature=2), lb.Prismatic("z", stiffness=3, rest=0.1)])
    ),
    "{compound: [{revolute: z}, {prismatic: z}], armature: [2, 4]}": lb.CompoundJoint(
        [lb.Revolute("z"), lb.Prismatic("z")], armature=[2, 4]
    ),
}


@pytest.mark.parametrize("text", JOINTS)
def test_joint(text, tmp_path):
    loaded = load(tmp_path, f"limber: 1\nbodies: {{b: {{rigid: {{mass: 1}}, joint: {text}}}}}")
    joint = loaded.attachments["b"].joint
    assert repr(joint) == repr(JOINTS[text])
    assert bits(joint.physics) == bits(JOINTS[text].physics)


def test_json_says_the_same(tmp_path):
    text = """{"limber": 1, "bodies": {"b": {"rigid": {"mass": 1},
        "joint": {"revolute": "z", "friction": 0.1, "limits": [null, 1], "stop_stiffness": 1e3}}}}"""
    joint = load(tmp_path, text).attachments["b"].joint
    expected = lb.Revolute("z", friction=0.1, limits=(None, 1), stop_stiffness=1e3)
    assert bits(joint) == bits(expected)


def test_joints_of_dh_tables_have_physics(tmp_path):
    text = """
limber: 1
dh:
  convention: modified
  links:
    - {name: a, joint: {revolute: {}, damping: 0.1}, rigid: {mass: 1}}
    - {name: b, joint: {prismatic: {}, limits: [0, 1], stop_stiffness: 10}, rigid: {mass: 1}}
    - {name: c, joint: prismatic, rigid: {mass: 1}}
    - {name: d, rigid: {mass: 1}}
"""
    items = load(tmp_path, text).attachments
    assert bits(items["a"].joint) == bits(lb.Revolute("z", damping=0.1))
    assert bits(items["b"].joint) == bits(lb.Prismatic("z", limits=(0, 1), stop_stiffness=10))
    assert bits(items["c"].joint) == bits(lb.Prismatic("z"))
    assert bits(items["d"].joint) == bits(lb.Revolute("z"))
    with pytest.raises(lb.FileError, match="damping must be at least 0, got -1") as caught:
        load(tmp_path, text.replace("damping: 0.1", "damping: -1"))
    assert (caught.value.line, caught.value.key) == (6, "dh.links[0].joint.damping")
    with pytest.raises(lb.FileError, match="Did you mean 'prismatic'"):
        load(tmp_path, text.replace("joint: prismatic", "joint: prismatik"))


ROTATIONS = {
    "{rpy: [0, 0, 1.5707963267948966]}": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
    "{rpy: [90, 0, 90], degrees: true}": [[0, 0, 1], [1, 0, 0], [0, 1, 0]],
    "{axis: y, angle: 90, degrees: true}": [[0, 0, 1], [0, 1, 0], [-1, 0, 0]],
    "{axis: [0, 0, 2], angle: 3.141592653589793}": [[-1, 0, 0], [0, -1, 0], [0, 0, 1]],
    "{quaternion: [0, 1, 0, 0]}": [[1, 0, 0], [0, -1, 0], [0, 0, -1]],
    "{matrix: [[0, -1, 0], [1, 0, 0], [0, 0, 1]]}": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
    "[[0, -1, 0], [1, 0, 0], [0, 0, 1]]": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
}


@pytest.mark.parametrize("text", ROTATIONS)
def test_rotation(text, tmp_path):
    body = f"{{rigid: {{mass: 1}}, joint: free, rotation: {text}}}"
    R = load(tmp_path, f"limber: 1\nbodies: {{b: {body}}}").attachments["b"].rotation
    assert np.array_equal(R, ROTATIONS[text])


def test_rotations_agree_with_scipy(tmp_path):
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(0)
    for _ in range(10):
        rpy, axis, quaternion = rng.normal(size=3), rng.normal(size=3), rng.normal(size=4)
        quaternion /= np.linalg.norm(quaternion)
        axis /= np.linalg.norm(axis)
        w, x, y, z = quaternion
        pairs = {
            f"{{rpy: {rpy.tolist()}}}": Rotation.from_euler("xyz", rpy),
            f"{{axis: {axis.tolist()}, angle: 1.1}}": Rotation.from_rotvec(1.1 * axis),
            f"{{quaternion: {quaternion.tolist()}}}": Rotation.from_quat([x, y, z, w]),
        }
        for text, expected in pairs.items():
            body = f"{{rigid: {{mass: 1}}, joint: free, rotation: {text}}}"
            R = load(tmp_path, f"limber: 1\nbodies: {{b: {body}}}").attachments["b"].rotation
            assert np.abs(R - expected.as_matrix()).max() < 1e-15


def test_whole_model_equals_python(tmp_path):
    loaded = load(
        tmp_path,
        """
limber: 1
name: arm
gravity: [0, 0, -9.81]
fidelity: ruthless
bodies:
  upper:
    beam: {length: 2, mass: 4, EI: [700, 800], GJ: 30, EA: 1e6, elements: 4, polar_inertia: 0.1,
           modes: {bending: 2, torsion: 1, stretch: 1}, damping: 0.01, load: [1, 0.1]}
    joint: {revolute: y}
  hand:
    rigid: {mass: 1.5, com: [0.1, 0, 0], inertia: [0.01, 0.02, 0.03], nodes: {grip: [0.2, 0, 0]}}
    joint: spherical
    to: upper
    at: node2
    offset: [0, 0.1, 0]
    inboard: grip
""",
    )
    made = lb.Assembly("arm", gravity=(0, 0, -9.81), fidelity="ruthless")
    upper = lb.beam(
        *(2, 4),
        EI=(700, 800),
        GJ=30,
        EA=1e6,
        elements=4,
        polar_inertia=0.1,
        modes={"bending": 2, "torsion": 1, "stretch": 1},
        damping=0.01,
        load=(1, 0.1),
    )
    made.attach("upper", upper, lb.Revolute([0, 1, 0]))
    hand = lb.RigidBody(1.5, (0.1, 0, 0), np.diag([0.01, 0.02, 0.03]), {"grip": (0.2, 0, 0)})
    made.attach("hand", hand, lb.Spherical(), "upper", 2, (0, 0.1, 0), inboard="grip")
    assert description(loaded) == description(made)


def test_canadarm_file_is_the_built_in_arm():
    assert description(lb.load(EXAMPLES / "canadarm.yaml")) == description(lb.models.canadarm())


NODES = {
    "mass": np.array([1.0, 2.0]),
    "position": np.array([[0.0, 0, 0], [1, 0, 0]]),
    "translation": np.array([[[0.0], [0], [0]], [[0], [0.1], [1]]]),
    "rotation": np.array([[[0.0], [0], [0]], [[0], [-1.5], [0]]]),
    "stiffness": np.array([[50.0]]),
}


def test_nodes_inline_and_in_a_file(tmp_path):
    made = lb.Assembly("m").attach("b", lb.FlexibleBody.from_nodes(**NODES), lb.Fixed())
    inline = ", ".join(f"{key}: {x.tolist()}" for key, x in NODES.items())
    head = "limber: 1\nbodies:\n  b:\n    joint: fixed\n    nodes: "
    assert description(load(tmp_path, f"{head}{{{inline}}}")) == description(made)
    np.savez(tmp_path / "panel.npz", **NODES)
    assert description(load(tmp_path, f"{head}{{file: panel.npz}}")) == description(made)
    softer = load(tmp_path, f"{head}{{file: panel.npz, stiffness: [[5]], names: [a, b]}}")
    body = softer.attachments["b"].body
    assert body.stiffness.tolist() == [[5.0]] and body.nodes.names == ("a", "b")


@pytest.mark.parametrize(
    "arrays, message",
    [
        (NODES | {"sttiffness": 1}, "unknown array 'sttiffness'. Did you mean 'stiffness'"),
        ({k: x for k, x in NODES.items() if k != "mass"}, "'mass' is missing both here and"),
        (NODES | {"mass": np.array([1.0, np.nan])}, r"mass\[1\] is nan"),
        (NODES | {"mass": np.array([1.0, 2.0, 3.0])}, r"position must have shape \(3, 3\)"),
        (NODES | {"mass": np.array(["a", "b"])}, "mass must be real numbers"),
        (NODES | {"mass": np.array([None, {}], dtype=object)}, "cannot be read as an .npz"),
    ],
)
def test_bad_arrays_are_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "panel.npz", **arrays)
    text = "limber: 1\nbodies: {b: {joint: fixed, nodes: {file: panel.npz}}}"
    with pytest.raises(lb.FileError, match=message) as caught:
        load(tmp_path, text)
    assert caught.value.line == 2


def test_bad_npz_files_are_refused(tmp_path):
    text = "limber: 1\nbodies: {b: {joint: fixed, nodes: {file: panel.npz, group: g}}}"
    for content in (b"", b"PK\x03\x04nonsense", b"hello"):
        (tmp_path / "panel.npz").write_bytes(content)
        with pytest.raises(lb.FileError, match="cannot be read as an"):
            load(tmp_path, text)
    np.savez(tmp_path / "panel.npz", **{"h/mass": np.zeros(2)})
    with pytest.raises(lb.FileError, match=r"has no arrays g/\.\.\.; it has h"):
        load(tmp_path, text)


# --- Denavit-Hartenberg ----------------------------------------------------------------------------


def shift(axis, x):
    T = np.eye(4)
    T[axis, 3] = x
    return T


def turn(axis, x):
    T, (i, j) = np.eye(4), [(1, 2), (2, 0), (0, 1)][axis]
    T[i, i] = T[j, j] = np.cos(x)
    T[i, j], T[j, i] = -np.sin(x), np.sin(x)
    return T


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_dh_frames_are_those_of_the_convention(convention, tmp_path):
    rng = np.random.default_rng(4)
    rows = rng.uniform(-1, 1, (5, 4))
    kinds = ["revolute", "prismatic", "revolute", "prismatic", "revolute"]
    text = f"limber: 1\ndh:\n  convention: {convention}\n  offset: [0.1, 0.2, 0.3]\n  links:\n"
    for i, ((a, alpha, d, theta), kind) in enumerate(zip(rows.tolist(), kinds)):
        text += (
            f"    - {{name: l{i}, joint: {kind}, a: {a}, alpha: {alpha}, d: {d}, theta: {theta}, "
        )
        text += "rigid: {mass: 1, inertia: [1, 1, 1]}}\n"
    s = load(tmp_path, text).build()
    q = rng.uniform(-2, 2, 5)
    T = shift(0, 0.1) @ shift(1, 0.2) @ shift(2, 0.3)
    for i, ((a, alpha, d, theta), kind) in enumerate(zip(rows, kinds)):
        moved = (theta + q[i], d) if kind == "revolute" else (theta, d + q[i])
        joint = turn(2, moved[0]) @ shift(2, moved[1])
        cross = shift(0, a) @ turn(0, alpha)
        T = T @ joint if convention == "standard" else T @ cross @ joint
        R, p = lb.pose(s, q, f"l{i}")
        assert np.allclose(R, T[:3, :3], atol=1e-14) and np.allclose(p, T[:3, 3], atol=1e-14)
        if convention == "standard":
            T = T @ cross


def test_canadarm_by_its_dh_table():
    """Mohan & Saha, Table 2: a_i = 6, 7, 2, all else zero."""
    made = lb.models.canadarm()
    lengths = (6.0, 7.0, 2.0)
    rows = [
        lb.io.DhRow(name, item.body, a=length)
        for (name, item), length in zip(made.attachments.items(), lengths)
    ]
    table = lb.io.attach_dh(lb.Assembly("canadarm"), rows)
    assert description(table) == description(made)


def test_dh_arm_bends_at_its_tips():
    arm = lb.load(EXAMPLES / "dh_arm.yaml")
    assert arm.attachments["forearm"].at == 10  # the tip of the upper arm
    assert arm.attachments["wrist 1"].at == 10
    s = arm.build()
    assert s.nv == 6 + 4


def test_bad_dh_tables_are_refused(tmp_path):
    row = "{name: l0, rigid: {mass: 1}}"
    for text, message in [
        (f"{{links: [{row}]}}", "dh: 'convention' is missing"),
        (f"{{convention: classic, links: [{row}]}}", "one of standard, modified; got 'classic'"),
        (f"{{convention: standard, links: [{row}, {row}]}}", "name='l0' is already taken"),
        ("{convention: standard, links: [{name: l0, a: x, rigid: {mass: 1}}]}", r"links\[0\].a"),
        ("{convention: standard, links: {}}", "dh.links: must be a list"),
        (f"{{convention: standard, to: moon, links: [{row}]}}", "to='moon'"),
    ]:
        with pytest.raises(lb.FileError, match=message):
            load(tmp_path, f"limber: 1\ndh: {text}")


# --- URDF ------------------------------------------------------------------------------------------


def test_urdf_section_and_side_file_agree(tmp_path):
    by_section = lb.load(EXAMPLES / "two_link.yaml")
    by_call = lb.io.read_urdf(EXAMPLES / "two_link.urdf", EXAMPLES / "two_link_flexible.yaml")
    by_call.name = by_section.name
    assert description(by_section) == description(by_call)
    s = by_section.build()
    assert s.nv == 8 + 2
    assert "world" not in s.bodies
    rigid = lb.load(EXAMPLES / "two_link.urdf").build()
    for name in rigid.bodies:
        for ours, theirs in zip(
            lb.pose(s, s.neutral(), name), lb.pose(rigid, rigid.neutral(), name)
        ):
            assert np.allclose(ours, theirs, atol=1e-14)


def test_urdf_section_refuses_unknown_links(tmp_path):
    (tmp_path / "a.urdf").write_text((EXAMPLES / "two_link.urdf").read_text())
    beam = "{beam: {length: 1, mass: 1, EI: 1}}"
    with pytest.raises(lb.FileError, match=r"unknown link 'forarm'\. Did you mean 'forearm'"):
        load(tmp_path, f"limber: 1\nurdf: {{file: a.urdf, flexible: {{forarm: {beam}}}}}")
    with pytest.raises(lb.FileError, match=r"b.urdf: there is no such file"):
        load(tmp_path, "limber: 1\nurdf: {file: b.urdf}")
