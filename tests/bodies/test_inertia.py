"""Inertias are those of some distribution of mass, to rounding, whatever the units; they come as matrices or as
their diagonals, and axes by name, in Python and in files."""

import pickle
import warnings

import numpy as np
import pytest

import limber as lb
from helpers.random_systems import cloud_inertia, rotation_matrix

UNITS = (1e-12, 1e-6, 1.0, 1e6, 1e12)


def sheet(a, b):
    """Principal moments of a flat body: the largest is the sum of the others."""
    return np.array([a, b, a + b])


def node(mass, inertia):
    """A body of one node, its mass centre one metre along x from it."""
    shapes = np.ones((1, 3, 1))
    return lb.FlexibleBody.from_nodes(
        [mass], [[0, 0, 0]], shapes, None, [[1.0]], inertia=[inertia], com=[[1, 0, 0]]
    )


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("seed", range(10))
def test_bodies_that_exist_are_taken(unit, seed):
    rng = np.random.default_rng(seed)
    R = rotation_matrix(rng)
    flat = R @ np.diag(sheet(*rng.uniform(0.0, 1.0, 2))) @ R.T
    for inertia in (cloud_inertia(rng, 1.0, 0.3), flat, np.diag(sheet(1.0, 0.0)), np.zeros((3, 3))):
        lb.RigidBody(unit, inertia=unit * inertia)
        shifted = unit * (inertia + np.diag([0.0, 1.0, 1.0]))
        node(unit, shifted)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("excess", [2e-6, 1e-3, 3.0])
def test_bodies_that_do_not_exist_are_refused(unit, excess):
    R = rotation_matrix(np.random.default_rng(1))
    inertia = unit * R @ np.diag([1.0, 1.0, 2.0 * (1.0 + excess)]) @ R.T
    with pytest.raises(lb.LimberError, match=r"principal moments .* sum of the others"):
        lb.RigidBody(unit, inertia=inertia)
    taken = lb.RigidBody(unit, inertia=inertia, check_inertia=False)
    assert taken.inertia == pytest.approx(inertia)
    shifted = inertia + unit * np.diag([0.0, 1.0, 1.0])
    with pytest.raises(lb.LimberError, match=r"inertia\[0\] of node '0', referred to its"):
        node(unit, shifted)


@pytest.mark.parametrize("unit", UNITS)
def test_rounding_is_no_negative_inertia(unit):
    for inertia in (-1e-35, [0, 0, -1e-35], [1e-35, 0, -1e-35], [1.0, 1.0, -1e-12]):
        moments = np.broadcast_to(inertia, 3) * unit
        assert lb.RigidBody(unit, inertia=moments).mass == unit
    for inertia in ([1, 1, -1e-6], [0, 0, -1e-20]):
        with pytest.raises(lb.LimberError, match="inertia must be positive semidefinite"):
            lb.RigidBody(unit, inertia=np.array(inertia) * unit)
        with pytest.raises(lb.LimberError, match="inertia must be positive semidefinite"):
            lb.RigidBody(unit, inertia=np.array(inertia) * unit, check_inertia=False)


@pytest.mark.parametrize("unit", UNITS)
def test_an_inertia_about_one_axis_is_taken(unit):
    """Of a pendulum in a plane, a rotor, a slice of a beam: the other moments do not matter."""
    R = rotation_matrix(np.random.default_rng(2))
    for inertia in (np.diag([1e-3, 0.0, 0.0]), R @ np.diag([0.0, 0.0, 1.0]) @ R.T):
        lb.RigidBody(unit, inertia=unit * inertia)
        lb.RigidBody(0.0, inertia=unit * inertia)
        node(unit, unit * (inertia + np.diag([0.0, 1.0, 1.0])))
    with pytest.raises(lb.LimberError, match="sum of the others"):
        lb.RigidBody(unit, inertia=(unit, 0.01 * unit, 0.0))


def test_what_is_not_checked_stays_so_in_files_and_pickles(tmp_path):
    body = lb.RigidBody(1.0, inertia=(1, 1, 5), check_inertia=False)
    assembly = lb.Assembly("odd").attach("a", body, lb.Revolute("z"))
    assert not pickle.loads(pickle.dumps(body)).check_inertia
    lb.save(assembly, tmp_path / "odd.yaml")
    back = lb.load(tmp_path / "odd.yaml").attachments["a"].body
    assert not back.check_inertia and np.array_equal(back.inertia, body.inertia)
    text = (tmp_path / "odd.yaml").read_text().replace("check_inertia: false", "")
    (tmp_path / "odd.yaml").write_text(text)
    with pytest.raises(lb.FileError, match="principal moments 1, 1 and 5"):
        lb.load(tmp_path / "odd.yaml")


LINK = """<link name="{}"><inertial><mass value="1"/>
  <inertia ixx="{}" ixy="0" ixz="0" iyy="{}" iyz="0" izz="{}"/></inertial></link>"""


def robot(*moments):
    links = [LINK.format(f"link{i}", *x) for i, x in enumerate(moments)]
    joints = [
        f'<joint name="j{i}" type="continuous"><parent link="link{i - 1}"/><child link="link{i}"/></joint>'
        for i in range(1, len(moments))
    ]
    return f'<robot name="r">{"".join(links + joints)}</robot>'


def test_urdf_keeps_inertias_that_do_not_exist_and_says_which(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(robot((1, 1, 5), (1, 1, 1), (9, 2, 1)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assembly = lb.io.read_urdf(path)
    assert len(caught) == 1
    assert "links 'link0', 'link2' are kept, although no mass distribution" in str(
        caught[0].message
    )
    assert np.array_equal(assembly.attachments["link2"].body.inertia, np.diag([9.0, 2.0, 1.0]))
    lb.save(assembly, tmp_path / "r.yaml")
    lb.load(tmp_path / "r.yaml").build()
    path.write_text(robot((1, 1, 1), (1, 1, -1)))
    with pytest.raises(lb.FileError, match="link 'link1': inertia must be positive semidefinite"):
        lb.io.read_urdf(path)


def test_diagonals_stand_for_matrices():
    moments = np.array([2.0, 3.0, 4.0])
    assert np.array_equal(lb.RigidBody(1.0, inertia=moments).inertia, np.diag(moments))
    assert np.array_equal(lb.RigidBody(1, (0, 0, 0), (2, 3, 4)).inertia, np.diag(moments))
    shapes = np.ones((3, 3, 1))

    def from_nodes(inertia):
        points = [[0, 0, 0], [1, 0, 0], [2, 0, 0]]
        body = lb.FlexibleBody.from_nodes([1] * 3, points, shapes, shapes, [[1.0]], inertia=inertia)
        return body.points.inertia

    many = np.outer([1.0, 2.0, 3.0], moments)  # three nodes: three diagonals, not one matrix
    assert np.array_equal(from_nodes(many), [np.diag(x) for x in many])
    assert np.array_equal(from_nodes([np.diag(x) for x in many]), from_nodes(many))


def test_symbols_may_stand_in_diagonals():
    sympy = pytest.importorskip("sympy")
    a, b, c = sympy.symbols("a b c")
    body = lb.RigidBody(1.0, inertia=(a, b, c))
    assert body.inertia.tolist() == sympy.diag(a, b, c).tolist()
    assert body.free_symbols == {a, b, c}


def test_a_load_of_a_beam_may_differ_in_the_two_planes():
    """EIz bends in x-y about z, so Izz of the load counts there, and Iyy in x-z."""
    beam = {"length": 1.0, "mass": 1.0, "EI": 1.0, "modes": 2}
    both = lb.beam(**beam, load=(2.0, (9.0, 0.3, 0.7)))
    about_y, about_z = lb.beam(**beam, load=(2.0, 0.3)), lb.beam(**beam, load=(2.0, 0.7))
    frequencies = np.sqrt(np.diag(both.stiffness))
    assert np.array_equal(frequencies[0::2], np.sqrt(np.diag(about_z.stiffness))[0::2])
    assert np.array_equal(frequencies[1::2], np.sqrt(np.diag(about_y.stiffness))[1::2])
    same = lb.beam(**beam, load=(2.0, np.diag([9.0, 0.3, 0.7])))
    assert np.array_equal(same.stiffness, both.stiffness) and same.recipe == both.recipe


MODEL = """
limber: 1
name: arm
bodies:
  base:
    joint: {{revolute: z}}
    rigid: {{mass: 1.0, inertia: {rigid}}}
  panel:
    to: base
    joint: {{prismatic: -y}}
    nodes:
      mass: [1.0, 1.0]
      position: [[0, 0, 0], [1, 0, 0]]
      translation: [[[0], [0], [0]], [[0], [0], [1]]]
      stiffness: [[4.0]]
      inertia: {nodes}
  boom:
    to: base
    joint: fixed
    beam: {{length: 1.0, mass: 1.0, EI: 1.0, load: [2.0, {load}]}}
"""
IN_FILES = {
    "diagonals": ("[1, 2, 3]", "[[1, 2, 3], [2, 2, 2]]", "[1, 2, 3]"),
    "matrices": (
        "[[1, 0, 0], [0, 2, 0], [0, 0, 3]]",
        "[[[1, 0, 0], [0, 2, 0], [0, 0, 3]], [[2, 0, 0], [0, 2, 0], [0, 0, 2]]]",
        "[[1, 0, 0], [0, 2, 0], [0, 0, 3]]",
    ),
}


@pytest.mark.parametrize("rigid, nodes, load", IN_FILES.values(), ids=IN_FILES)
def test_files_take_both(rigid, nodes, load, tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text(MODEL.format(rigid=rigid, nodes=nodes, load=load))
    assembly = lb.load(path)
    items = assembly.attachments
    assert np.array_equal(items["base"].body.inertia, np.diag([1.0, 2.0, 3.0]))
    assert np.array_equal(items["panel"].body.points.inertia[0], np.diag([1.0, 2.0, 3.0]))
    assert np.array_equal(items["panel"].joint.axis, [0.0, -1.0, 0.0])
    assert items["boom"].body.recipe.load == (2.0, (1.0, 2.0, 3.0))
    lb.save(assembly, tmp_path / "again.yaml")
    again = lb.load(tmp_path / "again.yaml").attachments
    assert again["boom"].body.recipe == items["boom"].body.recipe


AXES = {
    "x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1),
}  # fmt: skip
JOINTS = {
    "Revolute": lb.Revolute,
    "Prismatic": lb.Prismatic,
    "Screw": lambda axis: lb.Screw(axis, 0.1),
    "Cylindrical": lb.Cylindrical,
    "Planar": lb.Planar,
    "Universal, first": lambda axis: lb.Universal(axis, (1.0, 2.0, 3.0)),
    "Universal, second": lambda axis: lb.Universal((1.0, 2.0, 3.0), axis),
}


@pytest.mark.parametrize("make", JOINTS.values(), ids=JOINTS)
@pytest.mark.parametrize("name, axis", AXES.items(), ids=AXES)
def test_axes_have_names(make, name, axis):
    by_name, by_numbers = make(name), make(axis)
    theta = np.full(by_name.nq, 0.3)
    assert repr(by_name) == repr(by_numbers)
    assert np.array_equal(by_name.H(theta), by_numbers.H(theta))
    with pytest.raises(lb.LimberError, match="or as one of x, y, z, -x, -y, -z"):
        make("w")
