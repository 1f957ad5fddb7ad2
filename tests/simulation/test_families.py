"""Batches whose cases are judged all at once have the outcomes that they have one by one, whatever their numbers are."""

import pickle
import warnings

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from limber.assembly.family import Column, Family
from limber.bodies.recipe import BeamRecipe
from limber.dynamics.theory import lowest_frequencies, lowest_frequency
from limber.simulation.case_results import Later

OPTIONS = {"every": 0.01, "method": "rk4", "step": 2e-3, "engine": "generated", "progress": False}


def spacecraft(mount="free"):
    """A body with an arm of two different beams, of which one may tip over, and a wheel."""
    a = lb.Assembly("spacecraft", gravity=(0, 0.3, -1.0))
    joint = lb.Free() if mount == "free" else lb.Revolute("z", armature=0.2)
    a.attach("hub", lb.RigidBody(5.0, (0.1, 0, 0), np.diag([0.5, 0.6, 0.7])), joint)
    panel = lb.beam(1.0, 0.5, EI=(900.0, 20.0), GJ=5.0, modes={"y": 1, "z": 1}, damping=[0.02, 0.03])
    physics = {"stiffness": 2.0, "damping": 0.1, "friction": 0.05, "static_friction": 0.08}
    a.attach("panel", panel, lb.Revolute("y", **physics), to="hub", offset=(0.2, 0, 0))
    boom = lb.beam(0.7, 0.3, EI=30.0, EA=2e4, modes={"y": 2, "stretch": 1})
    limited = lb.Revolute("z", armature=0.01, limits=(-2.0, 2.0), stop_stiffness=50.0)
    a.attach("boom", boom, limited, to="panel", at="tip", inboard="root")
    a.attach("wheel", lb.RigidBody(0.2, inertia=(0.01, 0.01, 0.02)), lb.Revolute("x"), to="hub")
    return a.build()


@pytest.fixture(scope="module")
def craft():
    return spacecraft("revolute")


def spread_out(rng, value, count):
    return value * rng.uniform(0.5, 2.0, (count, *np.shape(value)))


def numbers(rng, count):
    """Parameters of every kind, with valid numbers."""
    inertia = np.array([np.diag(x) for x in rng.uniform(0.5, 0.9, (count, 3))])
    return {
        "hub.mass": spread_out(rng, 5.0, count),
        "hub.com": 0.1 * rng.normal(size=(count, 3)),
        "hub.inertia": inertia,
        "panel.mass_scale": spread_out(rng, 1.0, count),
        "panel.EI": spread_out(rng, np.array([900.0, 20.0]), count),
        "panel.stiffness_scale": spread_out(rng, 1.0, count),
        "panel.damping_ratio": rng.uniform(0.0, 0.05, (count, 2)),
        "panel.joint_friction": rng.uniform(0.0, 0.08, count),
        "panel.joint_stiffness": spread_out(rng, 2.0, count),
        "panel.joint_rest": 0.2 * rng.normal(size=count),
        "boom.mass": spread_out(rng, 0.3, count),
        "boom.EA": spread_out(rng, 2e4, count),
        "boom.EIz": spread_out(rng, 30.0, count),
        "boom.joint_lower": -spread_out(rng, 2.0, count),
        "boom.joint_stop_stiffness": spread_out(rng, 50.0, count),
        "boom.joint_armature": spread_out(rng, 0.01, count),
        "wheel.mass": spread_out(rng, 0.2, count),
        "gravity": rng.normal(size=(count, 3)),
        "boom.damping_ratio": 0.01,
        "panel.joint_damping": 0.2,
    }


#: Numbers of single cases that are wrong, or unusual.
BAD = [
    ("hub.mass", -1.0),
    ("hub.mass", 0.0),
    ("hub.com", [np.nan, 0.0, 0.0]),
    ("hub.inertia", np.diag([0.1, 0.1, 5.0])),
    ("hub.inertia", -np.eye(3)),
    ("hub.inertia", [[1.0, 0.5, 0], [0.0, 1.0, 0], [0, 0, 1]]),
    ("hub.inertia", np.zeros((3, 3))),
    ("panel.EI", [900.0, 0.0]),
    ("panel.EI", [20.0, 900.0]),
    ("panel.EI", [np.inf, 20.0]),
    ("panel.EI", [1e-6, 1e-6]),
    ("panel.mass_scale", -2.0),
    ("panel.damping_ratio", [-0.1, 0.1]),
    ("panel.joint_friction", 0.09),
    ("panel.joint_friction", -0.09),
    ("panel.joint_stiffness", 1e101),
    ("boom.EIz", 1e-3),
    ("boom.mass", 1e4),
    ("boom.joint_lower", 2.5),
    ("boom.joint_lower", np.nan),
    ("boom.joint_armature", -1.0),
    ("boom.joint_armature", 0.0),
    ("wheel.mass", np.inf),
    ("gravity", [0.0, np.nan, 0.0]),
]
#: Numbers with which motions diverge.
WILD = [
    ("panel.EI", [1e307, 1e307]),
    ("panel.mass_scale", 1e-14),
    ("boom.mass", 1e-9),
    ("gravity", [0.0, 0.0, -1e4]),
]


def outcome(system, given, monkeypatch, one_by_one, **options):
    """The batch, and its warnings; one by one, no case is certain."""
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        if one_by_one:
            patch.setattr(Family, "certain", property(lambda f: np.zeros(len(f), dtype=bool)))
        batch = lb.simulate(system, 0.04, **(OPTIONS | given | options))
    return batch, [(type(w.message), str(w.message), getattr(w.message, "degree", None)) for w in told]


def assert_same(found, expected):
    """Two batches with their warnings, bit for bit."""
    (batch, told), (other, told_there) = found, expected
    assert told == told_there
    assert batch.status.tolist() == other.status.tolist()
    assert batch.messages == other.messages
    for name in ("t", "q", "v", "tau"):
        assert np.array_equal(getattr(batch, name), getattr(other, name), equal_nan=True)
    for mine, own in zip(batch.results, other.results):
        assert (mine is None) == (own is None)
        if mine is not None:
            assert mine.message == own.message and mine.statistics.steps == own.statistics.steps
            assert np.array_equal(mine.system.dynamics.const, own.system.dynamics.const)
            assert mine.system._origin.values == own.system._origin.values
            for name in ("t", "q", "v", "tau", "stage"):
                assert np.array_equal(getattr(mine, name), getattr(own, name))


def later(batch):
    return sum(isinstance(x, Later) for x in batch.results.entries)


def starts(system, rng, count):
    """Slow, fast, bent and loaded cases."""
    scale = np.resize([1e-3, 0.02, 0.1, 0.5], (count, 1))
    size = np.repeat(scale, system.nv, axis=1)
    for where in system.layout.values():
        size[:, where.v_modes] = 0.2 * scale**2
    q0 = [lb.integrate(system, system.neutral(), s * rng.normal(size=system.nv), 1.0) for s in size]
    return {"q0": np.array(q0), "v0": 2.0 * size * rng.normal(size=(count, system.nv))}


@pytest.mark.parametrize("mount", ["free", "revolute"])
def test_bad_cases_among_good_ones_are_judged_as_one_by_one(mount, monkeypatch):
    system, rng = spacecraft(mount), np.random.default_rng(3)
    bad = BAD if mount == "free" else BAD + WILD
    count = 4 * len(bad)
    given = numbers(rng, count)
    for i, (name, value) in enumerate(bad):
        given[name][4 * i + i % 4] = value
    chosen = {"parameters": given, **starts(system, rng, count)}
    chosen["q0"][2, 0], chosen["v0"][5, 0] = np.nan, np.inf
    if mount == "free":
        chosen["q0"][11, :4] *= 1.1
        chosen["q0"][14, :4] *= 1.0 + 9e-7
    else:
        chosen["v0"][8, 0] = 1e160
    both = [outcome(system, chosen, monkeypatch, x) for x in (False, True)]
    assert later(both[0][0]) > 10 and later(both[1][0]) == 0
    assert (both[0][0].status == "failed").sum() > 15
    print(both[0][1][:2], both[1][1][:2])
    assert sum(issubclass(kind, lb.TheoryWarning) for kind, *_ in both[0][1]) == 1
    assert_same(*both)
