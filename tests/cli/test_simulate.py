"""`limber simulate`: problems 7 and 11 of the validation list, options, and the files it writes."""

import csv
import json

import numpy as np
import pytest

import limber as lb
from helpers.command import limber, limber_json
from helpers.files import EXAMPLES

SLEW, FLOATING = EXAMPLES / "canadarm_slew.yaml", EXAMPLES / "free_floating.yaml"
#: End of the rigid slew (Mohan & Saha, Eq. 44): validation problem 7.
RIGID = [0.75, 0.25, 0.5]
#: Torques are tabulated to 1e-6 of the largest, and act for 10 s.
TABULATED = 5e-6
#: Where the flexible arm ends, at rtol 1e-8: pinned, to the digits all methods agree on.
FLEXIBLE = [0.746864, 0.258065, 0.474442]


def ends(found):
    return [j["end"] for j in found["joints"]]


def test_rigid_slew_ends_where_its_paths_do():
    found = limber_json("simulate", SLEW, "--rigid")
    assert np.allclose(ends(found), RIGID, atol=TABULATED)
    assert [j["path_end"] for j in found["joints"]] == pytest.approx(RIGID)
    assert found["deflection"] == []


def test_flexible_slew_ends_where_it_should_by_another_method_too():
    found = limber_json("simulate", SLEW)
    other = limber_json("simulate", SLEW, "--method", "sdirk4", "--rtol", 1e-7)
    assert np.allclose(ends(found), FLEXIBLE, atol=2e-6)
    assert np.allclose(ends(found), ends(other), atol=2e-5)
    assert found["energy"]["relative_error"] < 1e-6
    assert found["energy"]["work"] == pytest.approx(found["energy"]["end"], abs=1e-5)


def test_free_floating_tree_keeps_momentum_and_energy():
    """Validation problem 11."""
    found = limber_json("simulate", FLOATING)
    assert found["energy"]["conserved"] and found["energy"]["relative_error"] < 1e-11
    for part in ("angular", "linear"):
        assert found["momentum"][part]["relative_drift"] < 1e-11
    assert found["reached"] == 20.0 and found["rows"] == 401


def test_energy_drift_of_a_run_at_rest_has_no_relative_size(tmp_path):
    """Nothing turns energy over there: the change is rounding, or noise of the size of the tolerance, and so is the
    kinetic energy.
    """
    a = lb.Assembly("shelf", gravity=(0, 0, -9.81))
    a.attach("shelf", lb.beam(2.0, 3.0, EI=3e3, modes=3), lb.Fixed())
    weight = lb.RigidBody(1.0, com=(0.1, 0, 0), inertia=0.1 * np.eye(3))
    a.attach("weight", weight, lb.Revolute("y"), "shelf", "tip")
    lb.save(a, tmp_path / "shelf.yaml")
    file = tmp_path / "rest.yaml"
    file.write_text("limber: 1\nmodel: shelf.yaml\ninitial: equilibrium\nduration: 1\n")
    for method, most in (("sdirk4", 1e-13), ("dop853", 1e-8)):
        found = limber_json("simulate", file, "--method", method)["energy"]
        assert found["relative_error"] is None and found["error"] < most
    assert "at most, of a system at rest" in limber("simulate", file).stdout
    moving = limber_json("simulate", tmp_path / "shelf.yaml", "--duration", 1)["energy"]
    assert 0.0 < moving["relative_error"] < 1e-4


def test_table_has_the_numbers_to_check():
    text = limber("simulate", SLEW, "--engine", "generated").stdout
    for word in (
        "0.746864",
        "0.750000",
        "unexplained energy",
        "generated engine",
        "times real time",
    ):
        assert word in text
    text = limber("simulate", FLOATING, "--duration", 1).stdout
    for word in ("energy drift", "angular momentum drift", "linear momentum drift", "1 s of 1 s"):
        assert word in text


HELD = """
limber: 1
model:
  bodies:
    bob: {rigid: {mass: 1.0, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1]}, joint: {revolute: z}}
controller:
  pd: {kp: 20, kd: 5, sample_time: 0.01, reference: {bob: 0.4}}
  actuators: [{servo: {body: bob, limit: 2.0}}]
duration: 1
"""


def test_a_controlled_run_tells_its_states_its_limits_and_where_it_should_be(tmp_path):
    (tmp_path / "held.yaml").write_text(HELD)
    found = limber_json("simulate", tmp_path / "held.yaml")
    assert found["joints"][0]["path_end"] == 0.4
    control = found["controller"]
    assert control["samples"] == 100 and control["states"]["ok"] > 90
    assert 5 < next(iter(control["at_limit"].values())) < 90
    text = limber("simulate", tmp_path / "held.yaml").stdout
    assert "100 samples: ok" in text and "commands at the limit: " in text


def test_model_alone_falls_from_its_neutral_state():
    file = EXAMPLES / "dh_arm.yaml"
    found = limber_json("simulate", file, "--duration", 0.3, "--every", 0.1, "--rtol", 1e-9)
    s = lb.load(file).build()
    here = lb.simulate(s, 0.3, t_eval=[0.0, 0.1, 0.2, 0.3], rtol=1e-9)
    moving = [here.joint(b)[-1, 0] for b in s.layout if s.joints[b].nq]
    assert np.allclose(ends(found), moving, atol=1e-7)
    assert found["rows"] == 4 and found["momentum"] is None
    assert found["settings"]["rtol"] == 1e-9


@pytest.mark.parametrize(("duration", "rows"), [(1.99, 101), (12, 601)])
def test_duration_stands_over_that_of_the_scenario(duration, rows):
    found = limber_json("simulate", SLEW, "--rigid", "--duration", duration)
    assert (found["reached"], found["rows"]) == (duration, rows)


def test_files_asked_for_are_written_and_right(tmp_path):
    out, page = tmp_path / "deep" / "out", tmp_path / "deep" / "out" / "page.html"
    options = [
        "--duration",
        1,
        "--out",
        out,
        "--plots",
        "--report",
        page,
        "--csv",
        tmp_path / "a.csv",
    ]
    found = limber_json("simulate", SLEW, *options)
    assert sorted(found["files"]) == sorted(str(p) for p in (*out.iterdir(), tmp_path / "a.csv"))
    names = {p.name for p in out.glob("*.png")}
    assert {"joints.png", "errors.png", "energy.png", "power.png", "deflection.png"} <= names
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html")
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert ends(summary) == ends(found)
    assert (out / "result.csv").read_bytes() == (tmp_path / "a.csv").read_bytes()
    with (tmp_path / "a.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == found["rows"] == 51
    assert float(rows[-1]["t"]) == 1.0
    last = [float(rows[-1][f"q.link{i}.joint0"]) for i in (1, 2, 3)]
    assert last == ends(found)  # to the last bit


def test_names_with_commas_stay_one_column(tmp_path):
    (tmp_path / "m.yaml").write_text(
        'limber: 1\nbodies:\n  "a, \\"b\\" [red]":\n    rigid: {mass: 1, inertia: [1, 1, 1]}\n    joint: {revolute: z}\n'
    )
    done = limber("simulate", tmp_path / "m.yaml", "--duration", 1, "--csv", tmp_path / "m.csv")
    assert "[red]" in done.stdout
    with (tmp_path / "m.csv").open(newline="") as stream:
        assert next(csv.reader(stream))[1] == 'q.a, "b" [red].joint0'


def test_bench_measures_and_ends_soon(monkeypatch):
    monkeypatch.setattr("limber.cli.bench.SECONDS", 0.01)
    rows = limber_json("bench")["measurements"]
    assert len(rows) >= 11
    assert all(row["value"] is None or row["value"] > 0.0 for row in rows)


def test_numbers_of_the_model_are_set():
    """The torques of the file act on an arm with other numbers."""
    found = limber_json(
        "simulate", SLEW, "--duration", 2, "--set", "link1.EI=8e4", "--set", "link3.mass=120"
    )
    case = lb.io.load_scenario(SLEW)
    other = case.system.with_parameters({"link1.EI": 8e4, "link3.mass": 120.0})
    settings = {k: x for k, x in case.settings.items() if k not in ("every", "t_eval")}
    expected = lb.simulate(other, 2.0, **settings)
    assert np.allclose(
        ends(found), [expected.joint(f"link{i}")[-1, 0] for i in (1, 2, 3)], atol=1e-5
    )
    assert not np.allclose(
        ends(found), ends(limber_json("simulate", SLEW, "--duration", 2)), atol=1e-5
    )


@pytest.mark.parametrize(
    "given, message",
    [
        (["link1.EI"], "must be NAME=NUMBER"),
        (["link1.EI=soft"], "must be NAME=NUMBER"),
        (["link1.EI=1", "link1.EI=2"], "names link1.EI twice"),
        (["link1.EI=-1"], "EI must be greater than 0"),
        (["link1.E=1"], "parameter 'link1.E' is unknown"),
    ],
)
def test_numbers_that_cannot_be_set_are_refused(given, message):
    options = [x for text in given for x in ("--set", text)]
    done = limber("simulate", SLEW, *options, code=None)
    assert message in done.stderr
