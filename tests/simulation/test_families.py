"""Batches whose cases are judged all at once have the outcomes that they have one by one, whatever their numbers are."""

import pickle
import warnings

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from limber.assembly.family import Family
from limber.checks import distributable, surely_distributable
from limber.dynamics.theory import lowest_frequencies, lowest_frequency
from limber.errors import collected_warnings
from limber.simulation.case_results import Later
from limber.simulation.doubts import cases_in_doubt, lowest_of_cases
from limber.simulation.result import Result
from limber.simulation.validity import warn_outside_theory

OPTIONS = {"every": 0.01, "method": "rk4", "step": 2e-3, "engine": "generated", "progress": False}


def spacecraft(mount="free"):
    """A body with an arm of two different beams, of which one may tip over, and a wheel."""
    a = lb.Assembly("spacecraft", gravity=(0, 0.3, -1.0))
    joint = lb.Free() if mount == "free" else lb.Revolute("z", armature=0.2)
    a.attach("hub", lb.RigidBody(5.0, (0.1, 0, 0), np.diag([0.5, 0.6, 0.7])), joint)
    panel = lb.beam(
        1.0, 0.5, EI=(900.0, 20.0), GJ=5.0, modes={"y": 1, "z": 1}, damping=[0.02, 0.03]
    )
    physics = {"stiffness": 2.0, "damping": 0.1, "friction": 0.05, "static_friction": 0.08}
    a.attach("panel", panel, lb.Revolute("y", **physics), to="hub", offset=(0.2, 0, 0))
    boom = lb.beam(0.7, 0.3, EI=30.0, EA=2e4, modes={"y": 2, "stretch": 1})
    limited = lb.Revolute("z", armature=0.01, limits=(-2.0, 2.0), stop_stiffness=50.0)
    a.attach("boom", boom, limited, to="panel", at="tip", inboard="root")
    a.attach("wheel", lb.RigidBody(0.2, inertia=(0.01, 0.01, 0.02)), lb.Revolute("x"), to="hub")
    return a.build()


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
        batch = lb.simulate(system, **({"t_end": 0.04} | OPTIONS | given | options))
    return batch, [
        (type(w.message), str(w.message), getattr(w.message, "degree", None)) for w in told
    ]


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
    assert sum(issubclass(kind, lb.TheoryWarning) for kind, *_ in both[0][1]) == 1
    assert_same(*both)


def test_cases_with_a_controller_are_judged_with_their_own_torques(monkeypatch):
    """Some slews load their beams too much, and which ones depends on the torques of the controller."""
    a = lb.Assembly("arm")
    beam = lb.beam(1.0, 2.0, EI=60.0, modes={"z": 1}, damping=0.05)
    a.attach("link", beam, lb.Revolute("y"))
    a.attach("fore", beam, lb.Revolute("y"), "link", "tip")
    s = a.build()
    path = lb.trajectories.Cycloid([0.3, -0.18], 0.3)
    law = lb.control.PD(30.0, 2.0, sample_time=0.002, reference=path)
    given = {"parameters": {"fore.mass": np.geomspace(0.5, 4.0, 60), "link.EI": np.geomspace(2.0, 200.0, 60)}}  # fmt: skip
    both = [outcome(s, given, monkeypatch, x, torque=law, t_end=0.2) for x in (False, True)]
    assert_same(*both)
    assert 10 < later(both[0][0]) < 50
    assert "cases of the batch gave a warning" in both[0][1][0][1]


def test_a_family_of_a_system_that_was_changed_before(monkeypatch):
    rng = np.random.default_rng(7)
    base = spacecraft("revolute").with_parameters({"boom.mass": 5.0, "panel.EI": [300.0, 60.0], "boom.stiffness_scale": 2.0})  # fmt: skip
    given = numbers(rng, 60)
    del given["panel.EI"], given["boom.EIz"]
    chosen = {"parameters": given, **starts(base, rng, 60)}
    both = [outcome(base, chosen, monkeypatch, x) for x in (False, True)]
    assert_same(*both)
    assert later(both[0][0]) > 10


@pytest.mark.parametrize(
    "name, value",
    [
        ("boom.offset", [[0.1, 0, 0], [0.2, 0, 0]]),
        ("boom.rotation", [np.eye(3), np.eye(3)]),
        ("wheel.rotation", [np.eye(3), 2.0 * np.eye(3)]),
        ("panel.damping", [np.eye(2), -np.eye(2)]),
        ("panel.stiffness", [1e4 * np.eye(2), -np.eye(2)]),
    ],
)
def test_other_parameters_are_left_to_the_way_one_by_one(name, value):
    family = Family(spacecraft(), {name: np.array(value)}, 2)
    assert not family.certain.any()


def test_numbers_that_are_not_finite_in_any_case_are_not_certain():
    given = {"panel.EI": np.full((3, 2), np.nan), "boom.joint_armature": np.full(3, np.inf)}
    assert not Family(spacecraft(), given, 3).certain.any()


def test_parameters_that_exclude_each_other_fail_in_every_case():
    family = Family(spacecraft(), {"panel.mass": np.ones(2), "panel.mass_scale": np.ones(2)}, 2)
    assert not family.certain.any()
    with pytest.raises(lb.LimberError, match="mass and mass_scale are both given"):
        family.member(0)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_constants_of_a_family_are_those_of_its_members(fidelity):
    s = spacecraft()
    a = lb.Assembly("same", gravity=s.gravity)
    for item in s.attachments.values():
        a.attach(item.name, item.body, item.joint, item.to, at=item.at, offset=item.offset)
    s, count = a.build(fidelity=fidelity), 5
    family = Family(s, {k: np.broadcast_to(x, (count, *np.shape(x)[1:])) for k, x in numbers(np.random.default_rng(1), count).items()}, count)  # fmt: skip
    assert family.certain.all()
    for i, const in enumerate(family.constants(np.arange(count))):
        own = family.member(i).dynamics.const
        assert not np.array_equal(own, s.dynamics.const)
        assert_close(const, own, 1e-14)


def test_a_member_with_a_singular_mass_matrix_is_not_certain():
    s = spacecraft()
    thin = np.array([0.01, 1e-3, 0.0])[:, None, None] * np.eye(3)
    family = Family(s, {"wheel.inertia": thin}, 3)
    assert family.certain.tolist() == [True, True, False]
    with pytest.raises(lb.LimberError, match=r"'wheel': joint speed 0 .* moves no mass"):
        family.member(2)


def test_results_are_made_once_when_they_are_first_used():
    s, rng = spacecraft(), np.random.default_rng(0)
    given = {"panel.EI": spread_out(rng, np.array([900.0, 300.0]), 4), "hub.mass": np.full(4, 5.0)}
    batch = lb.simulate(s, 0.02, parameters=given, **(OPTIONS | {"every": 0.01}))
    assert later(batch) == 4 and batch.finished.all()
    given["hub.mass"][:] = 7.0  # too late
    part = batch[np.array([3, 1])]
    assert part[0] is batch[3] and batch.results[1:3][0] is part[1]
    assert batch[2].system.bodies["hub"].mass == 5.0
    assert [len(x) for x in batch] == [3] * 4
    assert np.shares_memory(batch[0].q, batch.q) and batch[0].message == "reached t_end"
    again = pickle.loads(pickle.dumps(batch))
    assert np.array_equal(again[2].q, batch.q[2])
    assert np.array_equal(again[2].system.dynamics.const, batch[2].system.dynamics.const)


def test_lowest_frequencies_bound_those_of_bodies_one_by_one():
    rng = np.random.default_rng(4)
    L, R = rng.normal(size=(2, 6, 6))
    n = 7
    mass, gamma = rng.uniform(1.0, 2.0, n), rng.normal(size=(n, 3, 6))
    body = lb.FlexibleBody.from_nodes(mass, rng.normal(size=(n, 3)), gamma, stiffness=L @ L.T)
    cases = [L @ L.T, R @ R.T, np.diag([0, 1e-12, 1.0, 2.0, 3.0, 4.0]), np.zeros((6, 6))]
    found = lowest_frequencies(body, np.array(cases), np.full(4, 4.0))
    for K, x in zip(cases, found):
        own = lowest_frequency(body.with_parameters({"stiffness": K, "mass_scale": 4.0}))
        assert own == x == np.inf or own * 0.99 < x <= own
    flat = lb.FlexibleBody.from_nodes(mass, rng.normal(size=(n, 3)), gamma * 10.0 ** np.arange(6), stiffness=L @ L.T)  # fmt: skip
    assert not lowest_frequencies(flat, np.array(cases), 1.0).any()


def test_inertias_that_surely_are_possible_are():
    """Inertias at random, of which some are on the border of what is possible, or beyond."""
    rng = np.random.default_rng(5)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    moments = rng.uniform(-0.2, 1.0, (300, 3))
    moments[:100, 2] = moments[:100, 0] + moments[:100, 1]  # flat bodies
    moments[200:] *= rng.integers(0, 2, (100, 3))  # slender ones
    inertias = turn @ (moments[:, :, None] * np.eye(3)) @ turn.T
    inertias[::7, 0, 1] += rng.choice([1e-12, 1e-9, 1e-6], 43)
    sure = surely_distributable(inertias)
    possible = np.ones(300, dtype=bool)
    for i, J in enumerate(inertias):
        try:
            distributable("inertia", J, 1.0, "")
        except lb.LimberError:
            possible[i] = False
    assert not (sure & ~possible).any()
    assert sure.sum() > 50 and (possible & ~sure).sum() <= 2


def test_limits_of_a_family_are_those_of_its_members():
    """Buckling loads and tipping moments for factors in arrays, and one by one."""
    rng = np.random.default_rng(6)
    root = lb.Section.box(0.1, 0.05, 0.004, material=lb.Material(7e10, 2700.0, nu=0.33))
    bodies = [
        lb.beam(1.0, 0.5, EI=(900.0, 20.0), GJ=5.0, modes={"y": 1, "z": 1}),
        lb.beam(1.0, 0.5, EI=(20.0, 900.0), GJ=5.0, modes={"z": 1}),
        lb.beam(1.0, section=root, modes={"y": 1, "z": 1, "torsion": 1}),
    ]
    for body in bodies:
        names = [x for x in ("EIy", "EIz", "GJ") if x in body.parameters()]
        factors = {x: rng.uniform(0.3, 3.0, 8) for x in names} | {"stiffness": rng.uniform(1, 2, 8)}
        load, moments = body.buckling(factors)[1], body.tipping(factors)[2]
        for i in range(8):
            given = {x: factors[x][i] * float(body.parameters()[x].value) for x in names}
            own = body.with_parameters(given | {"stiffness_scale": factors["stiffness"][i]})
            assert_close(load[i], own.buckling()[1], 1e-14)
            tipping = own.tipping()
            expected = np.full(2, np.inf) if tipping is None else tipping[2]
            finite = np.isfinite(expected)
            assert (np.isfinite(moments[i]) == finite).all()
            assert_close(moments[i][finite], expected[finite], 1e-14)


def test_lowest_frequencies_of_a_family_are_those_of_its_members():
    rng = np.random.default_rng(8)
    base = spacecraft().with_parameters({"boom.mass_scale": 0.05, "panel.mass": 0.1})
    given = {k: x for k, x in numbers(rng, 20).items() if np.ndim(x) and k != "boom.mass"}
    given["boom.mass_scale"] = rng.uniform(0.02, 0.2, 20)
    family = Family(base, given, 20)
    found = lowest_of_cases(family, np.arange(20), family.constants(np.arange(20)))
    for i, x in enumerate(found):
        bodies = family.member(i).bodies.values()
        own = min(lowest_frequency(body) for body in bodies if body.modes)
        assert 0.998 * own < x <= own


def test_bodies_that_bend_too_far_are_in_doubt():
    """A body with geometric stiffening has no other limit."""
    a = lb.Assembly("blade")
    a.attach("blade", lb.beam(1.0, 1.0, EI=10.0, modes={"y": 1}, geometric_stiffening=True), lb.Fixed())  # fmt: skip
    s = a.build()
    q = np.linspace(0.0, 0.5, 100)[:, None, None]
    family = Family(s, {"blade.EI": np.full(100, 5.0)}, 100)
    doubtful = cases_in_doubt(family, np.arange(100), q, 0 * q, 0 * q)
    warned = []
    for i in range(100):
        with collected_warnings() as found:
            warn_outside_theory(Result(family.member(i), np.zeros(1), *(q[i], 0 * q[i], 0 * q[i])))  # fmt: skip
        warned += [i] * bool(found)
    assert 0 < len(warned) < 100
    assert set(warned) <= set(doubtful.tolist()) and len(doubtful) <= len(warned) + 1


def test_beams_that_tip_over_are_in_doubt(monkeypatch):
    """Two planes of bending; cases in which neither is much stiffer have no such limit."""
    a = lb.Assembly("shelf")
    plank = lb.beam(1.0, 1.0, EI=(2000.0, 20.0), GJ=10.0, modes={"y": 1, "z": 1})
    a.attach("plank", plank, lb.Fixed())
    a.attach("load", lb.RigidBody(1.0, inertia=(0.1, 0.1, 0.1)), lb.Fixed(), to="plank", at="tip")
    s, count = a.build(), 60
    weight = np.linspace(0.0, 30.0, count)
    softer = np.resize([2000.0, 20.0, 19.0], count)
    given = {"gravity": weight[:, None] * [0.0, 0.0, -1.0], "plank.EI": np.stack([softer, np.full(count, 20.0)], axis=1)}  # fmt: skip
    both = [outcome(s, {"parameters": given}, monkeypatch, x) for x in (False, True)]
    assert_same(*both)
    assert "buckle" in both[0][1][0][1] and "sideways" in both[0][1][0][1]
    assert 10 < later(both[0][0]) < 55


def test_nothing_is_in_doubt_without_cases():
    s = spacecraft()
    none = np.zeros(0, dtype=int)
    shape = 0, 3
    assert not len(cases_in_doubt(Family(s, {}, 0), none, *(np.zeros((*shape, n)) for n in (s.nq, s.nv, s.nv))))  # fmt: skip
    batch = lb.simulate(s, 0.02, parameters={"hub.mass": np.zeros(0)}, **OPTIONS)
    assert len(batch) == 0


@pytest.mark.parametrize(
    "parameters",
    [{}, {"link.joint_upper": [1.0, 0.3, 1.0, 1.0]}, {"link.joint_stop_stiffness": [0.0, 9.0, 0.0, 5.0]}],
)  # fmt: skip
@pytest.mark.parametrize("stiffness", [0.0, 50.0])
def test_batches_warn_of_starts_outside_limits_and_of_efforts(parameters, stiffness):
    a = lb.Assembly("arm", gravity=(0.0, 0.0, 0.0))
    limits = {"limits": (-1.0, 1.0), "stop_stiffness": stiffness, "effort_limit": 2.0}
    a.attach("link", lb.RigidBody(1.0, (0.5, 0, 0), (0.1, 0.2, 0.3)), lb.Revolute("z", **limits))
    s = a.build()
    q0, tau = np.array([[0.5], [0.5], [1.5], [-2.0]]), np.array([[1.0], [0.0], [0.0], [-3.0]])
    numbers = {name: np.array(x) for name, x in parameters.items()}
    alone = {}
    for case in range(4):
        own = s.with_parameters({name: x[case] for name, x in numbers.items()})
        with collected_warnings() as found:
            lb.simulate(own, 0.01, q0=q0[case], torque=tau[case], **OPTIONS)
        if found:
            alone[case] = str(found[0])
    assert 3 in alone and 0 not in alone
    with collected_warnings() as found:
        batch = lb.simulate(s, 0.01, q0=q0, torque=tau, parameters=parameters, **OPTIONS)
    assert batch.finished.all() and len(found) == 1
    first = min(alone)
    words = f"{len(alone)} of 4 cases of the batch gave a warning. The most serious one is that of case {first}: {alone[first]}"
    assert str(found[0]) == words
    kept = [isinstance(x, Later) for x in batch.results.entries]
    assert kept[0] and not any(kept[case] for case in alone)
