"""Events in scenario files: changes of topology at times and under conditions, and what is refused."""

import json

import numpy as np
import pytest

import limber as lb
from helpers.command import limber, limber_json

CASE = """
limber: 1
model:
  bodies:
    hull: {rigid: {mass: 50, inertia: [5, 6, 7], nodes: {shoulder: [0.5, 0, 0]}}, joint: free}
    boom: {beam: {length: 1, mass: 3, EI: 1000, modes: 1}, joint: {revolute: z, damping: 0.1}, to: hull, at: shoulder}
    target: {rigid: {mass: 8, inertia: [1, 2, 2.5], nodes: {rim: [-0.2, 0, 0]}}, joint: free}
closures:
  - {name: grasp, a: {body: boom, node: tip}, b: {body: target, node: rim}, joint: fixed}
initial:
  q: {target: [1, 0, 0, 0, 2.1, 0, 0]}
  v: {target: [0, 0.02, 0.01, -0.3, 0, 0], boom: 0.05}
duration: 2.5
output: {every: 0.05}
"""
NEAR = "when: {distance: [{body: boom, node: tip}, {body: target, node: rim}], below: 0.08}"
EVENTS = f"""
events:
  - {{name: near, once: true, {NEAR}, do: [{{attach: grasp, in_place: true}}, {{lock: boom}}]}}
  - {{at: 2, do: [{{unlock: boom}}, {{release: grasp}}]}}
"""


def written(tmp_path, text):
    path = tmp_path / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_scenario_does_what_python_does(tmp_path):
    case = lb.io.load_scenario(written(tmp_path, CASE + EVENTS))
    assert not case.system.closures  # those of the scenario wait
    r = lb.simulate(case.system, case.duration, **case.settings)
    s = case.system

    def near(t, q, v):
        ends = (("boom", "tip"), ("target", "rim"))
        return np.linalg.norm(np.subtract(*(lb.pose(s, q, *end)[1] for end in ends))) - 0.08

    grasp = (("boom", "tip"), ("target", "rim"), lb.Fixed(), "grasp")
    events = [
        lb.Event(
            near, [lb.attach(grasp, in_place=True), lb.lock("boom")], -1, name="near", once=True
        ),
        lb.Event(2.0, [lb.unlock("boom"), lb.release("grasp")]),
    ]
    python = lb.simulate(s, 2.5, q0=case.q0, v0=case.v0, events=events, every=0.05)
    np.testing.assert_array_equal(r.q, python.q)
    assert [str(c) for c in r.changes] == [str(c) for c in python.changes]


def test_the_command_line_prints_the_changes(tmp_path):
    path = written(tmp_path, CASE + EVENTS)
    found = limber_json("simulate", path)
    assert [(c["kind"], c["name"]) for c in found["changes"]] == [
        ("attach", "grasp"), ("lock", "boom"), ("unlock", "boom"), ("release", "grasp"),
    ]  # fmt: skip
    assert np.shape(found["changes"][0]["impulses"]["grasp"]) == (6,)
    assert found["energy"]["impacts"] < 0.0 and found["energy"]["relative_error"] < 1e-7
    text = limber("simulate", path, "--rigid", "--report", tmp_path / "r.html").stdout
    assert "attach 'grasp' (impulse" in text and "energy lost by impacts" in text
    assert "attach &#x27;grasp&#x27; (impulse" in (tmp_path / "r.html").read_text()
    told = limber_json("info", path)["scenario"]["events"]
    assert told[0] == (
        "near: when the distance of 'boom', 'tip' and 'target', 'rim' passes below 0.08: attach 'grasp', lock 'boom'"
    )
    assert told[1] == "at 2 s: unlock 'boom', release 'grasp'"


def test_a_coordinate_may_stop_the_run_or_lock_its_joint(tmp_path):
    text = CASE + "events:\n  - {when: {coordinate: boom, above: 0.03}, do: [{lock: boom}]}\n"
    case = lb.io.load_scenario(written(tmp_path, text))
    r = lb.simulate(case.system, case.duration, **case.settings)
    assert r.joint("boom")[-1] == pytest.approx(0.03, abs=1e-9) and len(r.changes) == 1
    case = lb.io.load_scenario(written(tmp_path, text.replace("do: [{lock: boom}]", "stop: true")))
    r = lb.simulate(case.system, case.duration, **case.settings)
    assert r.joint("boom")[-1] == pytest.approx(0.03, abs=1e-9) and r.t[-1] < 1.0


def test_what_fails_in_the_run_keeps_what_was_computed(tmp_path):
    text = CASE + "events:\n  - {name: early, at: 1, do: [{attach: grasp}]}\n"
    done = limber("simulate", written(tmp_path, text), "--csv", tmp_path / "r.csv", code=None)
    assert done.exit_code not in (0, 1) and (tmp_path / "r.csv").exists()
    assert (
        "event 'early' at t = 1 s: attach: the ends do not coincide: 'grasp'"
        in done.output.replace("\n", " ")
    )


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ("{at: 1}", "events[0]: does nothing"),
        ("{do: [{lock: boom}]}", "needs one of at, when; got none"),
        ("{at: 3, do: [{lock: boom}]}", "events[0].at: is after the end of the run, 2.5 s"),
        ("{at: 1, do: [{lock: bom}]}", "events[0].do[0].lock: is not a body of 'case'. Did you mean 'boom'?"),
        ("{at: 1, do: [{attach: grap}]}", "events[0].do[0].attach: there is no closure 'grap'. Did you mean 'grasp'?"),
        ("{at: 1, do: [{release: grasp, in_place: true}]}", "in_place: can only be used with attach"),
        ("{at: 1, do: [{attach: grasp, restitution: 2}]}", "restitution must lie between 0 and 1"),
        ("{at: 1, do: [{attach: grasp, lock: boom}]}", "needs one of attach, release, lock, unlock; got attach and lock"),
        ("{when: {coordinate: target, above: 1}, do: [{lock: boom}]}", "the speeds of the joint of 'target'"),
        ("{when: {coordinate: boom}, do: [{lock: boom}]}", "needs one of below, above; got none"),
        ("{when: {distance: [{body: boom}], below: 1}, do: [{lock: boom}]}", "must be two points, got 1"),
        ("{when: {distance: [{body: boom, node: tp}, {world: [0, 0, 0]}], below: 1}, do: [{lock: boom}]}", "Did you mean 'tip'?"),
        ("{when: {distance: [{body: boom}, {world: [0, 0, 0]}], below: -1}, do: [{lock: boom}]}", "the value of a distance must be above 0"),
    ],
)  # fmt: skip
def test_errors_name_the_place_and_the_remedy(tmp_path, event, text):
    with pytest.raises(lb.FileError) as caught:
        lb.io.load_scenario(written(tmp_path, f"{CASE}events:\n  - {event}\n"))
    assert text in str(caught.value) and "case.yaml:" in str(caught.value)


def test_a_condition_that_is_met_at_the_start_is_told(tmp_path):
    event = "{name: near, when: {coordinate: boom, below: 5.0}, do: [{lock: boom}]}"
    told = r"event 'near': coordinate 0 of .* is .* at the start, below 5 already. .* give `at: 0`"
    with pytest.warns(lb.ModelWarning, match=told):
        lb.io.load_scenario(written(tmp_path, f"{CASE}events:\n  - {event}\n"))


def test_a_table_of_forces_that_has_too_few_times_says_so(tmp_path):
    force = "{body: target, table: {times: [0, 1], force: [[0, 0, 0], [0, 0, 1], [0, 0, 2]]}}"
    told = r"external\[0\].table.force: needs one row for each of the 2 times, got 3"
    with pytest.raises(lb.FileError, match=told):
        lb.io.load_scenario(written(tmp_path, f"{CASE}external:\n  - {force}\n"))


def test_closures_of_a_scenario_have_names_of_their_own(tmp_path):
    ends = "a: {body: boom, node: tip}, b: {body: target}, joint: fixed"
    for name, text in (("", "'name' is missing"), ("name: grasp, ", "'grasp' is taken")):
        more = CASE.replace("initial:", f"  - {{{name}{ends}}}\ninitial:")
        with pytest.raises(lb.FileError, match=text):
            lb.io.load_scenario(written(tmp_path, more))
    with pytest.raises(lb.FileError, match="does not support events"):
        lb.io.load_scenario(written(tmp_path, CASE + EVENTS + "method: RK45\n"))


def test_the_schema_knows_events():
    schema = lb.io.schema("scenario")
    assert {"events", "closures"} <= set(schema["properties"])
    action = json.dumps(schema["$defs"]["ActionSection"])
    assert all(key in action for key in ("attach", "release", "lock", "unlock", "restitution"))
