"""What is saved and loaded is the same, bit for bit."""

import errno
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limber as lb
from helpers.files import bits, description
from helpers.pictured import block, yoke
from helpers.random_systems import random_assembly
from limber.bodies.placed import placed
from limber.joints.physics import OPTIONS


def again(assembly, folder, **options):
    lb.save(assembly, folder / "model.yaml", **options)
    return lb.load(folder / "model.yaml")


@given(seed=st.integers(0, 2**32 - 1), bodies=st.integers(1, 8), rotary=st.booleans())
def test_random_assemblies_come_back(seed, bodies, rotary, tmp_path_factory):
    rng = np.random.default_rng(seed)
    made = random_assembly(rng, bodies=bodies, rotary=rotary)
    folder = tmp_path_factory.mktemp("files")
    assert description(again(made, folder)) == description(made)
    assert description(again(made, folder, arrays="npz")) == description(made)


@pytest.mark.parametrize("make", [block, yoke])
@pytest.mark.parametrize("arrays", ["inline", "npz"])
def test_outlines_of_reduced_structures_come_back(make, arrays, tmp_path):
    made = make()
    read = again(made, tmp_path, arrays=arrays).build()
    body = next(iter(made.bodies))
    ours, theirs = made.bodies[body], read.bodies[body]
    assert theirs.outline is not None
    for name in ("position", "translation", "rotation", "second", "edges", "triangles"):
        a, b = getattr(ours.outline, name), getattr(theirs.outline, name)
        assert (a is None) == (b is None)
        if a is not None:
            assert a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b), name
    assert (tmp_path / "model.npz").exists() == (arrays == "npz")


def gauged_yoke():
    """A stiffened frame with section forces at its stations, and a gauge."""
    body = yoke().bodies["yoke"]
    rows = np.arange(2.0 * body.modes).reshape(2, -1) / 7.0
    old = body.recovered()
    return body.with_recovery(replace(old, gauges=("left é", "right"), strain=rows))


def test_all_large_arrays_go_to_the_npz(tmp_path):
    """The model file has names only; what is recovered from modes comes back with the body, bit for bit."""
    made = lb.Assembly("gauged")
    made.attach("yoke", gauged_yoke(), lb.Fixed())
    part = made.attachments["yoke"].body
    read = again(made, tmp_path, arrays="npz").attachments["yoke"].body
    assert len((tmp_path / "model.yaml").read_text()) < 600
    lb.io.write_body(part, tmp_path / "body.npz")
    alone = lb.io.read_body(tmp_path / "body.npz")
    points = lb.FlexibleBody.from_nodes(
        [1.0, 2.0], [[0, 0, 0], [1, 0, 0]], [[[0.0], [0], [0]], [[0], [1], [0]]], stiffness=[[9.0]],
        strain={"gauge": [3.0]},
    )  # fmt: skip
    lb.io.write_body(points, tmp_path / "points.npz")
    for ours, theirs in (
        (part, read),
        (part, alone),
        (points, lb.io.read_body(tmp_path / "points.npz")),
    ):
        assert bits(theirs.recovered()) == bits(ours.recovered())
    other = lb.Assembly("points")
    other.attach("points", points, lb.Fixed())
    found = again(other, tmp_path, arrays="npz").attachments["points"].body
    assert bits(found.recovered()) == bits(points.recovered())


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda a: a.pop("recovery/strain"), "recovery: gauges, strain belong together"),
        (lambda a: a.update({"recovery/forces": a["recovery/forces"][1:]}), "belong together, with one row per name"),
        (lambda a: a.update({"recovery/strain": a["recovery/strain"][:, 1:]}), "strain"),
        (lambda a: a.update({"recovery/forces": a["recovery/forces"] * np.nan}), "recovery/stations/0/forces.*must be finite"),
        (lambda a: a.update({"integrals/S0": a["integrals/S0"] * np.nan}), "integrals/S0.*must be finite"),
        (lambda a: a.update({"recovery/gauge": a["recovery/gauges"]}), "recovery/gauge is unknown. Did you mean 'gauges'"),
        (lambda a: a.update({"recovery/about": np.array("[]")}), "must be an object"),
        (lambda a: a.update({"recovery": np.zeros(3)}), "recovery"),
    ],
)  # fmt: skip
def test_damaged_recovery_arrays_are_refused(tmp_path, change, match):
    lb.io.write_body(gauged_yoke(), tmp_path / "body.npz")
    arrays = dict(np.load(tmp_path / "body.npz"))
    change(arrays)
    np.savez(tmp_path / "body.npz", **arrays)
    with pytest.raises(lb.FileError, match=match):
        lb.io.read_body(tmp_path / "body.npz")


@pytest.mark.parametrize("number", ["999", "0.5", "-1"])
def test_outlines_with_wrong_points_are_refused(number, tmp_path):
    path = tmp_path / "model.yaml"
    lb.save(block(), path)
    before, key, after = path.read_text().partition("triangles:")
    path.write_text(before + key + re.sub(r"\d+", number, after, count=1))
    message = f"triangles has {number}: numbers of points are whole, from 0 to"
    with pytest.raises(lb.errors.FileError, match=message):
        lb.load(path)


def slow(seed):
    return pytest.param(seed, marks=pytest.mark.slow)


def craft(rng):
    """Beams of every kind, placed ones too, and numbers of every size."""
    a = lb.Assembly(
        'craft é "q" \\ 日本 🙂\n#: x', gravity=-rng.uniform(0, 1e-300, 3), fidelity="ruthless"
    )
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R = R * np.linalg.det(R)
    rod = lb.beam(
        rng.uniform(1, 3),
        rng.uniform(1, 3),
        EI=rng.uniform(100, 900, 2),
        GJ=rng.uniform(100, 200),
        EA=rng.uniform(1e4, 1e6),
        modes={"bending": 2, "torsion": 1, "stretch": 1},
        elements=4,
        damping=rng.uniform(0, 0.1, 6),
        load=rng.uniform(0, 2, 2),
    )
    bar = lb.beam(1.7, 2.3, EI=rng.uniform(1, 9), modes=3, damping=0.013, polar_inertia=0.1)
    a.attach("true", rod, lb.Spherical())
    a.attach("1e5", bar, lb.Universal([1, 2, 3], [-1, 0.5, 0]), to="true", at=2, inboard="node3")
    a.attach("~", placed(bar, rng.normal(size=3), R), lb.Planar(rng.normal(size=3)), to="1e5")
    a.attach("a: b", placed(rod, None, R), lb.Cylindrical([-0.0, 1.0, 0.0]), to="~", at="tip")
    twice = placed(placed(bar, [1, 0, 0]), [0, 1, 0])
    a.attach("- c", twice, lb.Screw(rng.normal(size=3), -1e-17), to="a: b", rotation=R)
    parts = [lb.Revolute([0, 0, 1]), lb.CompoundJoint([lb.Prismatic([1, 1, 0])])]
    a.attach(
        "null",
        lb.RigidBody(1e-310),
        lb.CompoundJoint(parts),
        to="- c",
        offset=[-0.0, 5e-324, 1e300],
    )
    a.attach("<<", lb.RigidBody(1, nodes={"007": [1, 2, 3]}), lb.CompoundJoint([]), to="null")
    a.attach("z", lb.RigidBody(2, inertia=np.eye(3)), lb.Prismatic([0, -1, 0]), to="<<", at="007")
    return a


@pytest.mark.parametrize("seed", [0, 1, 2, *(slow(seed) for seed in range(3, 10))])
def test_beams_names_and_numbers_of_all_kinds_come_back(seed, tmp_path):
    made = craft(np.random.default_rng(seed))
    assert description(again(made, tmp_path)) == description(made)
    expanded = description(again(made, tmp_path, expand_beams=True), recipes=False)
    assert expanded == description(made, recipes=False)


def with_physics(rng):
    """Joints of every kind with every option, numbers of every size."""
    a = lb.Assembly("with physics")
    full = {name: rng.uniform(0, 2) for name in OPTIONS if name not in ("limits", "friction")}
    full |= {"limits": -np.sort(-rng.normal(size=2))[::-1], "friction": 5e-324, "rest": -0.0}
    several = {name: rng.uniform(0.1, 2, 3) for name in full}
    several |= {"static_friction": several["friction"], "limits": [(-1, None), None, (0.1, 0.3)]}
    several["effort_limit"] = [1.0, np.inf, 1e300]
    joints = [
        lb.Revolute("x", **full),
        lb.SimpleJoint(rng.normal(size=(6, 1)), **full),
        lb.Screw("z", 0.1, armature=np.float32(0.1), speed_limit=np.inf),
        lb.Planar("y", **several),
        lb.Spherical(damping=rng.uniform(size=3), effort_limit=[1, 2, 3]),
        lb.Free(friction=0.1),
        lb.Cylindrical(rng.normal(size=3), limits=[-np.inf, 1], stop_stiffness=[0, 7]),
        lb.Universal("x", "y", limits=[None, [0, 1]], stop_stiffness=3),
        lb.CompoundJoint([lb.Revolute("x", **full), lb.Fixed(), lb.Spherical(friction=[1, 2, 3])]),
        lb.CompoundJoint([lb.Prismatic("x"), lb.Planar("x")], stiffness=range(4)),
        lb.Prismatic("z", damping=0, effort_limit=np.inf),
    ]
    for i, joint in enumerate(joints):
        a.attach(f"b{i}", lb.RigidBody(1, inertia=np.eye(3)), joint)
    return a


@pytest.mark.parametrize("seed", range(3))
def test_physics_of_joints_comes_back(seed, tmp_path):
    made = with_physics(np.random.default_rng(seed))
    assert description(again(made, tmp_path)) == description(made)
    system, there = made.build(), again(made, tmp_path).build()
    assert np.array_equal(there.dynamics.topo, system.dynamics.topo)
    assert np.array_equal(there.dynamics.const, system.dynamics.const)


def test_only_the_options_that_were_given_are_written(tmp_path):
    made = lb.Assembly("arm").attach("a", lb.RigidBody(1.0), lb.Revolute("z", damping=[0.1]))
    made.attach("b", lb.RigidBody(1.0), lb.Spherical(friction=2))
    lb.save(made, tmp_path / "arm.yaml")
    text = (tmp_path / "arm.yaml").read_text()
    assert "joint: {revolute: z, damping: 0.1}" in text
    assert "joint: {spherical: {}, friction: 2.0}" in text


def test_what_was_given_is_kept_whatever_becomes_of_it():
    damping, limits = np.array([1.0, 2.0]), [[0, 1], [None, 2]]
    joint = lb.Universal("x", "y", damping=damping, limits=limits, stop_stiffness=1)
    damping[0], limits[0] = 7.0, None
    assert joint.physics.given["damping"] == (1.0, 2.0)
    assert joint.physics.given["limits"] == ((0.0, 1.0), (None, 2.0))


def test_result_files_keep_the_physics_of_joints(tmp_path):
    system = with_physics(np.random.default_rng(0)).build()
    with pytest.warns(lb.ModelWarning, match="outside the limits"):
        result = lb.simulate(system, 1e-6, method="rk4", step=1e-6, every=1e-6)
    result.save(tmp_path / "run.h5")
    there = lb.Result.load(tmp_path / "run.h5").system
    for name, joint in system.joints.items():
        assert bits(there.joints[name].physics) == bits(joint.physics)
    assert np.array_equal(there.dynamics.const, system.dynamics.const)


def test_symbols_are_not_written(tmp_path):
    sympy = pytest.importorskip("sympy")
    joint = lb.Revolute("z", damping=sympy.Symbol("d"))
    made = lb.Assembly("arm").attach("a", lb.RigidBody(1.0), joint)
    with pytest.raises(
        lb.LimberError, match="damping of a joint contains the symbols d, but files hold"
    ):
        lb.save(made, tmp_path / "arm.yaml")


@pytest.mark.parametrize("kind", [lb.Revolute, lb.Prismatic, lb.Planar])
def test_axes_are_normalized_once(kind):
    """A normalized axis is kept as it is, so that writing and reading changes nothing."""
    for axis in np.random.default_rng(0).normal(size=(500, 3)):
        unit = kind(axis).groups[-1].H[:, 0 if kind is not lb.Planar else -1]
        unit = unit[:3] if unit[:3].any() else unit[3:]
        assert lb.Revolute(unit).axis.tobytes() == unit.tobytes()


def test_saved_file_says_what_it_is_and_replaces_the_old_one(tmp_path):
    path = tmp_path / "arm.yaml"
    path.write_text("old")
    lb.save(lb.models.canadarm(), path)
    head = path.read_text().splitlines()[:4]
    assert head[0].startswith("# A model for Limber, 3 bodies; written by limber ")
    assert 'limber.load("arm.yaml"). SI units' in head[1]
    assert head[3] == "limber: 1"
    assert [p.name for p in tmp_path.iterdir()] == ["arm.yaml"]


def test_empty_assembly_comes_back(tmp_path):
    assert description(again(lb.Assembly("none"), tmp_path)) == description(lb.Assembly("none"))


def test_fidelity_of_the_file_is_that_of_build(tmp_path):
    made = lb.models.canadarm()
    made.fidelity = "ruthless"
    assert again(made, tmp_path).build().fidelity == "ruthless"
    assert again(made, tmp_path).build("full").fidelity == "full"


def test_system_is_saved_as_the_assembly_that_it_was_built_from(tmp_path):
    made = lb.models.canadarm()
    system = made.build()
    lb.save(made, tmp_path / "model.yaml")
    expected = (tmp_path / "model.yaml").read_text()
    made.attach("later", lb.RigidBody(1.0), lb.Fixed())  # the system does not change any more
    lb.save(system, tmp_path / "model.yaml")
    assert (tmp_path / "model.yaml").read_text() == expected


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_saved_system_builds_the_same_system(fidelity, tmp_path):
    system = lb.models.canadarm().build(fidelity)
    lb.save(system, tmp_path / "model.yaml")
    again = lb.load(tmp_path / "model.yaml").build()
    assert again.fidelity == fidelity
    assert np.array_equal(again.dynamics.topo, system.dynamics.topo)
    assert np.array_equal(again.dynamics.const, system.dynamics.const)


class Odd(lb.Joint):
    pass


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(lb.LimberError, match="assembly must be an Assembly or a System, got"):
        lb.save(lb.RigidBody(1.0), tmp_path / "a.yaml")
    with pytest.raises(lb.LimberError, match="arrays must be"):
        lb.save(lb.models.canadarm(), tmp_path / "a.yaml", arrays="json")
    with pytest.raises(lb.LimberError, match="cannot be written"):
        lb.save(lb.models.canadarm(), tmp_path / "no" / "a.yaml")
    with pytest.raises(lb.LimberError, match="half a character"):
        lb.save(lb.Assembly("\ud800"), tmp_path / "a.yaml")
    odd = lb.Assembly("odd").attach("b", lb.RigidBody(1.0), Odd())
    with pytest.raises(lb.LimberError, match="of a kind that cannot be written to a file"):
        lb.save(odd, tmp_path / "a.yaml")
    with pytest.raises(lb.LimberError, match="path must be the path of a file"):
        lb.load(3)
    assert list(tmp_path.iterdir()) == []


def by_nodes(stiffness):
    position = np.array([[0.0, 0, 0], [1, 0, 0]])
    body = lb.FlexibleBody.from_nodes(
        mass=[1.0, 1.0],
        position=position,
        translation=position[:, :, None],
        rotation=np.zeros((2, 3, 1)),
        stiffness=[[stiffness]],
    )
    return lb.Assembly("arm").attach("arm", body, lb.Revolute([0, 1, 0]))


def test_arrays_of_another_model_are_not_replaced(tmp_path):
    lb.save(by_nodes(4.0), tmp_path / "first.yaml", arrays="npz")
    text = (tmp_path / "first.yaml").read_text()
    (tmp_path / "first.npz").rename(tmp_path / "shared.npz")
    (tmp_path / "first.yaml").write_text(text.replace("first.npz", "shared.npz"))
    before = (tmp_path / "shared.npz").read_bytes()
    with pytest.raises(lb.LimberError, match="would be lost"):
        lb.save(by_nodes(9.0), tmp_path / "shared.yaml", arrays="npz")
    for name in ("shared.npz", "robot.urdf"):
        with pytest.raises(lb.LimberError, match="a model file is YAML"):
            lb.save(by_nodes(9.0), tmp_path / name)
    assert (tmp_path / "shared.npz").read_bytes() == before
    assert lb.load(tmp_path / "first.yaml").build().bodies["arm"].stiffness == [[4.0]]


def test_a_full_disk_leaves_the_old_model_and_its_arrays(tmp_path, monkeypatch):
    lb.save(by_nodes(4.0), tmp_path / "arm.yaml", arrays="npz")
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def full_disk(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(lb.FileError, match="cannot be written: No space left"):
        lb.save(by_nodes(9.0), tmp_path / "arm.yaml", arrays="npz")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_flags_are_true_or_false(tmp_path):
    a = lb.Assembly("a").attach("b", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Free())
    with pytest.raises(lb.LimberError, match="expand_beams must be True or False, got 'no'"):
        lb.save(a, tmp_path / "model.yaml", expand_beams="no")
