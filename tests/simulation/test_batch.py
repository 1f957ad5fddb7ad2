"""Batches of simulations: each case is the simulation that it would be alone."""

import sys

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close

OPTIONS = {"every": 0.05, "progress": False}
CASES = 5


@pytest.fixture(scope="module")
def arm():
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    beam = lb.beam(1.0, 2.0, EI=50.0, modes={"z": 2}, damping=0.02)
    a.attach("link", beam, lb.Revolute("y", damping=0.1))
    a.attach("hand", lb.RigidBody(0.5, (0.1, 0, 0), 0.01 * np.eye(3)), lb.Revolute("y"), "link", "tip")  # fmt: skip
    return a.build()


def starts(system, seed=0):
    rng = np.random.default_rng(seed)
    return 0.2 * rng.normal(size=(CASES, system.nq)), 0.1 * rng.normal(size=(CASES, system.nv))


def test_every_case_is_the_simulation_that_it_would_be_alone(arm):
    q0, v0 = starts(arm)
    torque = np.linspace(-1, 1, 2 * CASES).reshape(CASES, 2)  # for the joints alone
    EI, mass = np.linspace(40.0, 60.0, CASES), np.linspace(0.2, 1.0, CASES)
    gravity = np.outer(np.linspace(0.5, 1.5, CASES), [0, 0, -9.81])
    given = {"link.EI": EI, "hand.mass": mass, "gravity": gravity, "link.damping_ratio": 0.05}
    batch = lb.simulate(arm, 0.3, q0=q0, v0=v0, torque=torque, parameters=given, **OPTIONS)
    assert isinstance(batch, lb.BatchResult) and len(batch) == CASES
    assert batch.q.shape == (CASES, 7, arm.nq) and batch.v.shape == (CASES, 7, arm.nv)
    assert batch.finished.all() and not batch.failures
    for i in range(CASES):
        s = arm.with_parameters({name: x[i] if np.ndim(x) else x for name, x in given.items()})
        alone = lb.simulate(s, 0.3, q0=q0[i], v0=v0[i], torque=torque[i], **OPTIONS)
        for name in ("t", "q", "v", "tau"):
            assert np.array_equal(getattr(batch[i], name), getattr(alone, name))
        assert np.array_equal(batch.q[i], alone.q) and np.array_equal(batch.t, alone.t)
        assert np.array_equal(batch[i].energy, alone.energy)
        assert_close(batch[i].system.parameters["link.EI"].value, EI[i], 1e-15)
        assert batch.messages[i] == "reached t_end"


def test_what_all_cases_share_may_be_given_once(arm):
    q0, v0 = starts(arm, 1)
    batch = lb.simulate(arm, 0.1, q0=q0, v0=v0[0], torque=lambda t, q, v: -v, **OPTIONS)
    for i in range(CASES):
        alone = lb.simulate(arm, 0.1, q0=q0[i], v0=v0[0], torque=lambda t, q, v: -v, **OPTIONS)
        assert np.array_equal(batch.q[i], alone.q)


def test_cases_may_have_functions_of_their_own(arm):
    table = lb.Table([0.0, 1.0], [[1.0, 0.0], [0.0, 1.0]])
    torques = [None, np.ones(2), table, lambda t, q, v: np.cos(t) * np.ones(2)]
    batch = lb.simulate(arm, 0.1, torque=torques, **OPTIONS)
    for i, torque in enumerate(torques):
        assert np.array_equal(batch[i].v, lb.simulate(arm, 0.1, torque=torque, **OPTIONS).v)


def test_one_case_that_fails_is_a_row_with_its_reason(arm):
    def spoilt(t, q, v):
        if t > 0.12:
            raise ZeroDivisionError("no torque left")
        return np.zeros(2)

    mass = np.array([0.5, -1.0, 0.5])
    batch = lb.simulate(arm, 0.3, parameters={"hand.mass": mass}, torque=[None, None, spoilt], **OPTIONS)  # fmt: skip
    assert batch.status.tolist() == ["finished", "failed", "failed"]
    assert set(batch.failures) == {1, 2}
    assert "mass must be at least 0, got -1" in batch.messages[1]
    assert batch.messages[2] == "ZeroDivisionError: no torque left"
    assert np.isnan(batch.q[1]).all()
    assert np.isfinite(batch.q[2, :3]).all() and np.isnan(batch.q[2, 3:]).all()
    assert len(batch[2]) == 3 and batch[2].t[-1] == 0.1
    with pytest.raises(lb.SimulationError, match="case 1 has no result: parameters of body 'hand'"):
        batch[1]


def test_cases_that_an_event_stops_are_nan_after_it(arm):
    event = lb.Event(lambda t, q, v: q[-1] - 0.3, name="swing", terminal=True)
    q0 = np.zeros((2, arm.nq))
    v0 = np.zeros((2, arm.nv))
    v0[1, -1] = 3.0
    batch = lb.simulate(arm, 0.3, q0=q0, v0=v0, events=event, parameters={"gravity": (0, 0, 0)}, **OPTIONS)  # fmt: skip
    assert batch.status.tolist() == ["finished", "stopped"]
    assert "swing" in batch.messages[1]
    alone = batch[1]
    reached = batch.t <= alone.t[-1]
    assert np.isfinite(batch.q[1, reached]).all() and np.isnan(batch.q[1, ~reached]).all()
    assert abs(alone.q[-1, -1] - 0.3) < 1e-9


def test_an_interrupted_batch_returns_what_there_is(arm):
    def interrupting(t, q, v):
        if t > 0.12:
            raise KeyboardInterrupt
        return np.zeros(2)

    with pytest.warns(UserWarning, match="the batch was interrupted: 2 of its 3 cases did not run"):
        batch = lb.simulate(arm, 0.3, torque=[interrupting, None, None], **OPTIONS)
    assert batch.status.tolist() == ["stopped", "not run", "not run"]
    assert batch.messages[0].startswith("interrupted at t = 0.1") and len(batch[0]) == 3
    assert np.isnan(batch.q[1:]).all()


def test_cases_are_selected_by_numbers_and_slices(arm):
    batch = lb.simulate(arm, 0.1, parameters={"link.mass": [1.0, 2.0, 3.0]}, **OPTIONS)
    part = batch[1:]
    assert len(part) == 2 and np.array_equal(part.q, batch.q[1:])
    assert part.parameters["link.mass"].tolist() == [2.0, 3.0]
    assert [len(result) for result in batch] == [3, 3, 3]
    chosen = batch[batch.parameters["link.mass"] > 2.5]
    assert chosen[0] is batch[2]
    with pytest.raises(lb.LimberError, match="selected by a number, a slice"):
        batch["link"]
    with pytest.raises(ValueError, match="read-only"):
        batch.q[0] = 0.0


def test_batches_as_one_dataset(arm):
    xr = pytest.importorskip("xarray")
    EI, gravity = np.array([40.0, 60.0]), np.outer([1.0, 2.0], [0, 0, -9.81])
    batch = lb.simulate(arm, 0.1, parameters={"link.EI": EI, "gravity": gravity, "hand.mass": 0.4}, **OPTIONS)  # fmt: skip
    data = batch.to_xarray()
    assert isinstance(data, xr.Dataset)
    assert data["q"].dims == ("case", "time", "coordinate")
    assert data["v"].dims == data["tau"].dims == ("case", "time", "speed")
    assert np.array_equal(data["q"].sel(coordinate="link.joint0")[1], batch[1].joint("link")[:, 0])
    assert data["link.EI"].dims == ("case",) and np.array_equal(data["link.EI"], EI)
    assert data["gravity"].shape == (2, 3) and data["hand.mass"].values.tolist() == [0.4, 0.4]
    assert data["status"].values.tolist() == ["finished"] * 2
    assert_close(data["time"], batch.t, 0.0)


def test_datasets_need_the_extra(arm, monkeypatch):
    batch = lb.simulate(arm, 0.05, parameters={"link.EI": [50.0]}, **OPTIONS)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(lb.LimberError, match=r"to_xarray needs xarray: pip install \"limber-dynamics\[data\]\""):  # fmt: skip
        batch.to_xarray()


def test_warnings_of_cases_are_told_once(arm):
    q0 = np.zeros((3, arm.nq))
    q0[1:, 0] = 3.0  # far beyond small deformation
    with pytest.warns(lb.TheoryWarning, match="2 of 3 cases of the batch gave a warning. The most serious one is that of case 1: .*'link'"):  # fmt: skip
        lb.simulate(arm, 0.01, q0=q0, **OPTIONS)


class Counting:
    """A sampled torque that remembers how often it was called."""

    sample_time = 0.01

    def __init__(self):
        self.calls = 0

    def __call__(self, t, q, v):
        self.calls += 1
        return np.full(2, 0.01 * self.calls)


class Single(Counting):
    def __deepcopy__(self, memo):
        raise TypeError("there is only one")


def test_controllers_are_copied_for_cases_that_share_them(arm):
    shared, alone = Counting(), lb.simulate(arm, 0.1, torque=Counting(), **OPTIONS)
    v0 = np.zeros((4, arm.nv))
    own = [Counting() for _ in v0]
    for torque in (shared, [shared] * 4, own):
        batch = lb.simulate(arm, 0.1, v0=v0, torque=torque, **OPTIONS)
        for i in range(4):
            assert np.array_equal(batch.q[i], alone.q)
    assert shared.calls == 0 and all(x.calls == 10 for x in own)


def test_loops_of_controllers_run_in_batches(arm):
    loop = lb.control.Loop(arm, lb.control.PID(kp=5.0, ki=1.0, kd=0.5, sample_time=0.01))
    mass = np.array([0.4, 0.6, 0.8])
    batch = lb.simulate(arm, 0.1, torque=loop, parameters={"hand.mass": mass}, **OPTIONS)
    assert batch.finished.all()
    for i in range(3):
        s = arm.with_parameters({"hand.mass": mass[i]})
        assert np.array_equal(batch.q[i], lb.simulate(s, 0.1, torque=loop, **OPTIONS).q)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"q0": np.zeros((3, 2))}, r"q0 must have shape \(4,\), or \(cases, 4\) for a batch, got \(3, 2\)"),
        ({"q0": np.zeros((3, 4)), "v0": np.zeros((2, 4))}, "the numbers of cases do not match: q0 3, v0 2"),
        ({"torque": np.zeros((2, 3, 4))}, r"torque must have shape \(4,\), or \(cases, 4\)"),
        ({"parameters": {"gravity": np.zeros((2, 2))}}, r"parameters\['gravity'\] must have shape \(3,\)"),
        ({"parameters": {"link.colour": [1.0]}}, "parameter 'link.colour' is unknown"),
        ({"parameters": {"link.EI": [1.0, 2.0]}, "torque": Single()}, "cannot be copied .*Give a list with one object for each"),
        ({"parameters": {"link.EI": [1.0, 2.0]}, "method": "euler"}, "method='euler' is unknown"),
        ({"parameters": {"link.EI": [1.0, 2.0]}, "save": "x.h5"}, "save= is for a single run"),
        ({"parameters": 3.0}, "parameters must map names to numbers"),
        ({"parameters": {"link.EI": -1.0}}, "body 'link': EI must be greater than 0"),
    ],
)  # fmt: skip
def test_refusals(arm, given, message):
    with pytest.raises(lb.LimberError, match=message):
        lb.simulate(arm, 0.1, progress=False, **given)


def test_a_batch_of_no_cases_and_of_one(arm):
    assert len(lb.simulate(arm, 0.1, q0=np.zeros((0, arm.nq)), **OPTIONS)) == 0
    batch = lb.simulate(arm, 0.1, q0=np.zeros((1, arm.nq)), **OPTIONS)
    assert np.array_equal(batch.q[0], lb.simulate(arm, 0.1, **OPTIONS).q)


def test_generated_code_takes_the_parameters_of_cases_as_arguments(arm, monkeypatch):
    """One compilation for all cases, and the motion of the general engine."""
    from limber.native import c_compiler

    built = []
    loaded = c_compiler.loaded
    monkeypatch.setattr(c_compiler, "loaded", lambda source: built.append(1) or loaded(source))
    given = {"link.EI": np.linspace(40.0, 60.0, 3), "hand.mass": np.array([0.2, 0.5, 0.9])}
    given |= {"link.mass": np.array([1.0, 2.0, 3.0]), "link.damping_ratio": 0.1}
    options = OPTIONS | {"rtol": 1e-10, "atol": 1e-12, "torque": np.array([1.0, -0.5])}
    general = lb.simulate(arm, 0.3, parameters=given, **options)
    code = lb.simulate(arm, 0.3, parameters=given, engine="generated", **options)
    assert len(built) == 1 and code.finished.all()
    assert_close(code.q, general.q, 1e-8)
    chained = arm.with_parameters({"link.mass": 5.0}).with_parameters({"link.mass_scale": 0.5})
    found, expected = (
        lb.simulate(chained, 0.1, engine=engine, **options) for engine in ("generated", "general")
    )
    assert_close(found.q, expected.q, 1e-8)


def test_a_constant_torque_of_another_size_is_told_both_sizes():
    a = lb.Assembly("arm")
    a.attach("link", lb.beam(1.0, 1.0, EI=100.0, modes={"y": 2}), lb.Revolute("z"))
    with pytest.raises(lb.LimberError, match=r"got \(2,\)\. Give 3 numbers, or 1 for the joints"):
        lb.simulate(a.build(), 0.1, torque=[1.0, 2.0])


def test_a_batch_prints_how_its_cases_ended():
    a = lb.Assembly("block").attach("block", lb.RigidBody(1.0), lb.Prismatic("x"))
    batch = lb.simulate(a.build(), 0.1, every=0.05, parameters={"block.mass": [1.0, -1.0, 2.0]})
    assert repr(batch) == "BatchResult('block', 3 cases, 3 rows, 2 finished, 1 failed)"
