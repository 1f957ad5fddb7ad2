"""What `lb.exchange.fmu` writes and what it refuses; no importer is needed."""

import re
import zipfile
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import limber as lb
from helpers.closed import four_bar
from helpers.generated import arm, mixed
from helpers.random_systems import random_state
from limber.errors import ArgumentTypeError, ArgumentValueError, CompileError
from limber.exchange.fmi import build
from limber.exchange.fmi.equations import equations
from limber.exchange.fmi.export import fmu
from limber.exchange.fmi.variables import variables
from limber.native import c_compiler


def pendulum(name="pendulum", body="bob", node="end", joint_name=None):
    bob = lb.RigidBody(2.0, (0, 0, -1.5), nodes={node: (0, 0, -3.0)})
    a = lb.Assembly(name, gravity=(0, 0, -9.81))
    return a.attach(body, bob, lb.Revolute("x", damping=0.1), joint_name=joint_name).build()


@pytest.fixture
def uncompiled(monkeypatch):
    """FMUs whose binary is empty, for tests of the other files."""
    monkeypatch.setattr(build, "_binary", lambda *_: b"")


def described(path):
    with zipfile.ZipFile(path) as archive:
        return ET.fromstring(archive.read("modelDescription.xml"))


def named(root):
    """Attributes of variables by name; those of `Real` elements of FMI 2 among them."""
    found = {}
    for x in root.find("ModelVariables"):
        found[x.get("name")] = {**x.attrib, **(x[0].attrib if len(x) else {})}
    return found


@pytest.fixture(scope="module")
def pendulums(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pendulum")
    return {
        version: fmu(pendulum(), folder / f"p{version}.fmu", version=version, q0=[0.25])
        for version in (2, 3)
    }


@pytest.mark.parametrize("version", [2, 3])
def test_variables_have_units_start_values_and_causalities(pendulums, version):
    found = named(described(pendulums[version]))
    expected = {
        "time": ("independent", "s", None),
        "bob.q": ("output", "rad", "0.25"),
        "bob.v": ("output", "rad/s", "0.0"),
        "der(bob.q)": ("local", "rad/s", None),
        "der(bob.v)": ("local", "rad/s2", None),
        "bob.tau": ("input", "N.m", "0.0"),
        "kinetic_energy": ("output", "J", None),
        "potential_energy": ("output", "J", None),
        "gravity[1]": ("parameter", "m/s2", "0.0"),
        "gravity[2]": ("parameter", "m/s2", "0.0"),
        "gravity[3]": ("parameter", "m/s2", "-9.81"),
        "bob.mass": ("parameter", "kg", "2.0"),
        "bob.joint_damping": ("parameter", "N.m.s/rad", "0.1"),
    }
    seen = {n: (x["causality"], x.get("unit"), x.get("start")) for n, x in found.items()}
    assert seen == expected
    assert found["bob.mass"]["min"] == "0.0"


def test_the_structure_says_what_depends_on_what(pendulums):
    root = described(pendulums[3])
    references = {n: x["valueReference"] for n, x in named(root).items()}
    names = {reference: name for name, reference in references.items()}
    by = {
        names[x.get("valueReference")]: {names[r] for r in x.get("dependencies").split()}
        for x in root.find("ModelStructure")
        if x.tag != "InitialUnknown"
    }
    assert by == {
        "bob.q": {"bob.q"},
        "bob.v": {"bob.v"},
        "der(bob.q)": {"bob.v"},
        "der(bob.v)": {"bob.q", "bob.v", "bob.tau"},
        "kinetic_energy": {"bob.v"},
        "potential_energy": {"bob.q"},
    }


def test_all_files_are_there(pendulums):
    for version, path in pendulums.items():
        with zipfile.ZipFile(path) as archive:
            files = archive.namelist()
        expected = {"equations.h", "instance.h", "course.h", "derivatives.h", "solver.h", "common.h", f"fmi{version}.c", f"fmi{version}_types.h"}  # fmt: skip
        expected |= {"buildDescription.xml"} if version == 3 else set()
        assert {x.removeprefix("sources/") for x in files if x.startswith("sources/")} == expected
        (binary,) = [x for x in files if x.startswith("binaries/")]
        assert re.search(r"/pendulum\.(so|dylib|dll)$", binary)
        assert files[0] == "modelDescription.xml"


def test_the_same_system_gives_the_same_file(pendulums, tmp_path, uncompiled):
    again = fmu(pendulum(), tmp_path / "again.fmu", q0=[0.25])
    with zipfile.ZipFile(again) as one, zipfile.ZipFile(pendulums[3]) as two:
        for name in two.namelist():
            if not name.startswith("binaries/"):
                assert one.read(name) == two.read(name), name
    other = fmu(pendulum(), tmp_path / "other.fmu", q0=[0.5])
    tokens = {described(x).get("instantiationToken") for x in (again, other)}
    assert len(tokens) == 2


def test_joints_have_their_own_names(tmp_path, uncompiled):
    path = fmu(pendulum(joint_name="hinge"), tmp_path / "x.fmu")
    assert {"hinge.q", "hinge.v", "hinge.tau", "bob.mass"} <= named(described(path)).keys()


@pytest.mark.parametrize(
    ("body", "node", "convention", "expected"),
    [
        ("arm 1/link", "end", "structured", "'arm 1/link'.end.position[1]"),
        ("a.b", "<&>", "structured", "'a.b'.'<&>'.position[1]"),
        ("2", "end", "structured", "'2'.end.position[1]"),
        ("Glied_ä", "end", "flat", "Glied_ä.end.position[1]"),
        ('it\'s "x" \\ */', "end", "flat", 'it\'s "x" \\ */.end.position[1]'),
        ("per%cent %s", "end", "structured", "'per%cent %s'.end.position[1]"),
    ],
)
def test_names_of_all_kinds_become_legal_ones(
    tmp_path, monkeypatch, body, node, convention, expected
):
    if (
        convention == "structured"
    ):  # compiled are those with quotes, backslashes and letters beyond ASCII
        monkeypatch.setattr(build, "_binary", lambda *_: b"")
    path = fmu(pendulum(f"{body} </x>", body, node), tmp_path / "x.fmu", nodes=[(body, node)])
    root = described(path)
    assert root.get("variableNamingConvention") == convention
    assert root.get("modelName") == f"{body} </x>"
    assert expected in named(root)
    try:
        from fmpy.validation import validate_fmu
    except ImportError:
        return
    assert validate_fmu(str(path)) == []


def test_dependencies_hold_for_quaternions_and_modes():
    s = mixed()
    q, v, _ = random_state(np.random.default_rng(0), s)
    found = variables(s, q, v, [], [("link", "tip")], [])
    made = equations(s, found, q)
    depends = made.depends(made.rates)
    names = found.names
    nx = s.nq + s.nv
    by = {names[1 + nx + i]: {names[r] for r in refs} for i, refs in enumerate(depends)}
    assert by["der(hull.q[1])"] == {*(f"hull.q[{i}]" for i in (1, 2, 3, 4)), *(f"hull.v[{i}]" for i in (1, 2, 3))}  # fmt: skip
    assert by["der(link.q)"] == {"link.v"} and by["der(hull.eta[2])"] == {"hull.eta_dot[2]"}
    assert "link.tau" in by["der(link.v)"] and "hull.q[5]" not in by["der(link.v)"]


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"version": 1}, "version=1 must be 2 or 3"),
        ({"version": True}, "version=True must be 2 or 3"),
        ({"path": "arm.zip"}, "must end in .fmu"),
        ({"path": "nowhere/arm.fmu"}, "cannot be written: No such file"),
        ({"path": 3}, "path must be the name of a file"),
        ({"name": "two words"}, "must be a C identifier, such as 'two_words'"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"tolerance": 1.5}, "must be less than 1"),
        ({"parameters": "base.mass"}, "must be a list of names"),
        ({"parameters": ["base.mas"]}, "Did you mean 'base.mass'?"),
        ({"parameters": ["link.mass", "link.mass_scale"]}, "cannot be combined"),
        ({"nodes": ["hand", ("hand", None)]}, "twice"),
        ({"nodes": [("hand", "grib")]}, "grib"),
        ({"nodes": "hand"}, "nodes must be a list"),
        ({"forces": [("hand",)]}, "forces must be a list"),
        ({"q0": [0.0]}, "q0"),
    ],
)
def test_wrong_arguments_are_refused_in_words(tmp_path, monkeypatch, given, words):
    monkeypatch.chdir(tmp_path)
    arguments = {"path": "arm.fmu", **given}
    with pytest.raises((ArgumentValueError, ArgumentTypeError)) as caught:
        fmu(arm(), **arguments)
    assert words in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_system_without_freedoms_is_refused(tmp_path):
    s = lb.Assembly("rock").attach("rock", lb.RigidBody(1.0), lb.Fixed()).build()
    with pytest.raises(ArgumentValueError, match="'rock' has no degrees of freedom"):
        fmu(s, tmp_path / "rock.fmu")


def test_an_assembly_is_refused(tmp_path):
    with pytest.raises(ArgumentTypeError, match="build it first"):
        fmu(lb.Assembly("a"), tmp_path / "a.fmu")


def test_names_that_no_file_can_have_are_refused(tmp_path):
    with pytest.raises(ArgumentValueError, match="cannot have: rename"):
        fmu(pendulum(body="b\x01"), tmp_path / "x.fmu")


def test_without_a_compiler_there_is_no_fmu(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    c_compiler.compiler.cache_clear()
    try:
        with pytest.raises(CompileError, match="no C compiler was found"):
            fmu(pendulum(), tmp_path / "x.fmu")
    finally:
        monkeypatch.undo()
        c_compiler.compiler.cache_clear()
    assert not list(tmp_path.iterdir())


def test_a_start_outside_of_limits_is_told(tmp_path, uncompiled):
    door = lb.Revolute("z", limits=(0.5, 1.0), stop_stiffness=100.0)
    s = lb.Assembly("door").attach("door", lb.RigidBody(1.0, (1, 0, 0)), door).build()
    with pytest.warns(lb.ModelWarning, match="neutral configuration, from which the FMU starts"):
        fmu(s, tmp_path / "x.fmu")


def test_a_start_off_the_closures_is_refused(tmp_path):
    with pytest.raises(ArgumentValueError, match="does not satisfy the closures"):
        fmu(four_bar().build(), tmp_path / "x.fmu", q0=[0.3, 0.0, 0.0])


def test_a_quaternion_that_is_not_unit_is_refused(tmp_path):
    a = lb.Assembly("ball").attach("ball", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Spherical())
    with pytest.raises(ArgumentValueError, match="quaternion of body 'ball', has norm 2"):
        fmu(a.build(), tmp_path / "x.fmu", q0=[2.0, 0.0, 0.0, 0.0])
