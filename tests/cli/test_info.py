"""`limber info`, `limber modes`, `limber schema`, `limber --version`, `limber --help`."""

import json
import re
import warnings

import numpy as np
import pytest
from matplotlib import image

import limber as lb
from helpers.closed import four_bar
from helpers.command import limber, limber_json
from helpers.files import EXAMPLES

COMMANDS = (
    "demo",
    "info",
    "modes",
    "linearize",
    "tune",
    "body",
    "simulate",
    "fmu",
    "schema",
    "bench",
)


def test_version_is_that_of_the_package():
    assert limber("--version").stdout.strip() == f"limber {lb.__version__}"


def test_help_names_every_command_and_exit_code():
    text = limber("--help").stdout
    for word in (*COMMANDS, "0  all", "1  this", "2  the", "3  a file", "4  the", "130  inter"):
        assert word in text


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_says_more_than_its_options(command):
    text = limber(command, "--help").stdout
    assert "Usage" in text
    assert command == "demo" or f" limber {command} " in text  # an example; the usage says root


def test_info_of_a_model_is_that_of_the_system():
    found = limber_json("info", EXAMPLES / "canadarm.yaml")
    s = lb.models.canadarm(modes=2).build()
    assert (found["kind"], found["nq"], found["nv"], found["modes"]) == ("model", s.nq, s.nv, 12)
    assert found["mass"] == pytest.approx(320.0)
    assert [b["name"] for b in found["bodies"]] == list(s.layout)
    assert found["bodies"][1]["parent"] == "link1" and found["bodies"][1]["at"] == "tip"
    assert "scenario" not in found


def test_info_lists_closures(tmp_path):
    made = four_bar().gear("rocker", "crank", 2.0, 0.1, name="belt")
    made.close(("crank", None), ("world", (1, 0, 0)), lb.Planar("z"), name="plate")
    lb.save(made, tmp_path / "model.yaml")
    pin, belt, plate = limber_json("info", tmp_path / "model.yaml")["closures"]
    assert (pin["name"], pin["kind"], pin["joint"], pin["rows"]) == ("pin", "joint", "Revolute", 5)
    assert (pin["a"]["body"], pin["a"]["node"], plate["a"]["node"]) == ("coupler", "tip", None)
    assert plate["b"]["offset"] == [1.0, 0.0, 0.0] and plate["rows"] == 3
    assert belt["kind"] == "relation" and belt["value"] == 0.1
    assert belt["terms"][1] == {"body": "crank", "coordinate": 0, "coefficient": -2.0}
    text = limber("info", tmp_path / "model.yaml").stdout
    for words in (
        "coupler, tip to rocker, tip",
        "crank to world (1, 0, 0)",
        "1 rocker - 2 crank = 0.1",
    ):
        assert words in text
    assert limber_json("info", EXAMPLES / "canadarm.yaml")["closures"] == []


def test_modes_of_a_closed_model_are_those_where_it_is_closed(tmp_path):
    a = lb.Assembly("linkage", gravity=(0, -9.81, 0))
    body = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1), {"tip": (1, 0, 0)})
    for name, x in (("left", 0.0), ("right", 1.2)):
        a.attach(name, body, lb.Revolute("z"), offset=(x, 0, 0))
    a.close(("left", "tip"), ("right", "tip"), lb.Cylindrical("z"), "pin")
    a.attach("hand", body, lb.Revolute("z", stiffness=20.0), "left", "tip")
    lb.save(a, tmp_path / "model.yaml")
    s = a.build()
    found = limber_json("modes", tmp_path / "model.yaml")
    assert np.allclose(found["frequencies"], lb.modes(s, lb.assemble(s)).frequencies)
    assert np.allclose(found["q"], lb.assemble(s))
    said = "the configuration that satisfies the closures, found from the neutral one"
    assert found["configuration"] == said
    assert f"About {said}." in limber("modes", tmp_path / "model.yaml").stdout
    found = limber_json("modes", tmp_path / "model.yaml", "--equilibrium")
    assert found["configuration"] == f"the equilibrium found from {said}"
    there = lb.equilibrium(s, lb.assemble(s))
    assert np.allclose(found["frequencies"], lb.modes(s, there).frequencies)


def test_simulate_takes_closed_systems(tmp_path):
    lb.save(four_bar(), tmp_path / "model.yaml")
    case = "limber: 1\nmodel: model.yaml\nduration: 0.1\ninitial: {assemble: true}\n"
    (tmp_path / "case.yaml").write_text(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        run = limber("simulate", tmp_path / "case.yaml", code=None)
    assert run.exit_code == 0, run.output
    (tmp_path / "case.yaml").write_text(case.replace("assemble: true", "q: {crank: 0.5}"))
    run = limber("simulate", tmp_path / "case.yaml", code=None)
    assert run.exit_code != 0
    said = " ".join(run.output.split())
    assert "the start does not satisfy the closures of 'four-bar': 'pin' is off by" in said
    assert "`initial: {assemble: true}`" in said


PHYSICS = """
limber: 1
bodies:
  arm:
    rigid: {mass: 1, inertia: [1, 1, 1]}
    joint: {revolute: z, damping: 0.25, limits: [-1, null], stop_stiffness: 1000}
  wrist:
    rigid: {mass: 1, inertia: [1, 1, 1]}
    joint: {universal: [x, y], damping: 0.5, armature: [0.125, 0.0625]}
  plain:
    rigid: {mass: 1, inertia: [1, 1, 1]}
    joint: free
"""


def test_info_has_the_physics_of_joints(tmp_path):
    model = tmp_path / "arm.yaml"
    model.write_text(PHYSICS)
    arm, wrist, plain = limber_json("info", model)["bodies"]
    assert arm["physics"] == {
        "damping": [0.25],
        "limits": [[-1.0, None]],
        "stop_stiffness": [1000.0],
    }
    assert wrist["physics"] == {"armature": [0.125, 0.0625], "damping": [0.5, 0.5]}
    assert plain["physics"] == {}
    text = limber("info", model).stdout
    head, rows = text.split("Physics of joints")
    for words in (
        "armature",
        "damping",
        "limits",
        "stop stiffness",
        "at least -1",
        "0.125, 0.0625",
    ):
        assert words in rows and words not in head
    assert "friction" not in rows and "plain" not in rows
    model.write_text(PHYSICS[: PHYSICS.index("  arm:")] + PHYSICS[PHYSICS.index("  plain:") :])
    assert "Physics of joints" not in limber("info", model).stdout


def test_info_of_a_scenario_has_its_duration_torques_and_outputs():
    case = limber_json("info", EXAMPLES / "canadarm_slew.yaml")["scenario"]
    assert (case["duration"], case["torque"], case["output_every"]) == (10.0, "follow", 0.02)
    assert case["paths"] == ["link1", "link2", "link3"]
    case = limber_json("info", EXAMPLES / "free_floating.yaml")["scenario"]
    assert (case["torque"], case["at_rest"]) == ("none", False)


MOVING = """
limber: 1
name: spinner
duration: 1
model:
  bodies:
    bus: {rigid: {mass: 2, inertia: [1, 1, 1], nodes: {port: [1, 0, 0]}}, joint: free}
initial: {v: {bus: [0, 0, 2, 0, 0, 0]}}
external:
  - {body: bus, node: port, force: [0, 0.2, 0]}
  - {body: bus, table: {times: [0, 1], moment: [[0, 0, -3], [1, 0, 2]]}}
"""


def test_info_of_a_scenario_has_its_external_forces(tmp_path):
    (tmp_path / "case.yaml").write_text(MOVING)
    found = limber_json("info", tmp_path / "case.yaml")["scenario"]["external"]
    assert found == [
        {"body": "bus", "node": "port", "kind": "constant", "wrench": [0, 0, 0, 0, 0.2, 0]},
        {"body": "bus", "node": None, "kind": "table", "largest": [1, 0, 3, 0, 0, 0]},
    ]
    table = limber("info", tmp_path / "case.yaml").stdout
    assert "bus, port: force 0, 0.2, 0 N" in table
    assert "bus: a table, at most moment 1, 0, 3 N m" in table
    slew = limber("info", EXAMPLES / "canadarm_slew.yaml").stdout
    assert re.search("external .* none", slew)


def test_modes_say_that_a_motion_at_the_start_is_left_out(tmp_path):
    (tmp_path / "case.yaml").write_text(MOVING)
    done = limber("modes", tmp_path / "case.yaml")
    assert "spinner starts in motion (initial.v), which these modes ignore" in done.stderr
    assert "starts in motion" in limber_json("modes", tmp_path / "case.yaml")["about"]
    quiet = limber("modes", EXAMPLES / "canadarm_slew.yaml")
    assert "starts in motion" not in quiet.stderr
    assert limber_json("modes", EXAMPLES / "canadarm_slew.yaml")["about"] == "rest"


@pytest.mark.parametrize(
    "file",
    sorted(x for x in EXAMPLES.glob("*.*") if x.suffix != ".py"),
    ids=lambda p: p.name,
)
def test_every_shipped_file_but_the_side_file_and_the_study_has_a_table(file):
    if file.name in ("two_link_flexible.yaml", "canadarm_campaign.yaml"):
        limber("info", file, code=3)
    else:
        assert "nq = " in limber("info", file).stdout


def test_modes_are_those_of_the_library():
    arm = lb.load(EXAMPLES / "canadarm.yaml").build()
    found = limber_json(
        "modes", EXAMPLES / "canadarm.yaml", "--locked", "link1", "--locked", "link3"
    )
    here = lb.modes(arm, arm.neutral(), locked=["link1", "link3"])
    assert np.allclose(found["frequencies"], here.frequencies)
    assert found["locked"] == ["link1", "link3"]
    assert found["damping"][0] is None  # a rigid motion has none
    table = limber("modes", EXAMPLES / "canadarm.yaml", "--all-locked", "--count", 2).stdout
    assert "0.1555" in table and "lowest 2 of 12" in table


def test_modes_about_the_state_of_a_scenario_and_their_picture(tmp_path):
    file = EXAMPLES / "free_floating.yaml"
    found = limber_json("modes", file, "--count", 14, "--plot", tmp_path / "modes.png")
    case = lb.io.load_scenario(file)
    assert np.allclose(found["frequencies"], lb.modes(case.system, case.q0).frequencies[:14])
    assert (tmp_path / "modes.png").read_bytes().startswith(b"\x89PNG")
    height, width = image.imread(tmp_path / "modes.png").shape[:2]
    assert height < 2 * width  # twelve modes fit on a page


@pytest.mark.parametrize("kind", ["model", "scenario", "side"])
def test_schema_is_that_of_the_library(kind):
    assert json.loads(limber("schema", kind).stdout) == lb.io.schema(kind)


def test_schema_without_a_kind_is_that_of_models():
    assert json.loads(limber("schema").stdout) == lb.io.schema("model")


def test_modes_of_an_arm_that_falls_have_growth_rates(tmp_path):
    model = tmp_path / "upright.yaml"
    model.write_text(
        "limber: 1\ngravity: [0, 0, -9.81]\nbodies:\n"
        "  bob: {joint: {revolute: y}, rigid: {mass: 2, com: [0, 0, 0.7]}}\n"
        "  tip: {to: bob, joint: {revolute: y}, rigid: {mass: 1, com: [0, 0, -0.2]}}\n"
    )
    found = limber_json("modes", model)
    assert found["growth"][0] > 0.0 == found["growth"][1]
    assert found["frequencies"][0] == 0.0 < found["frequencies"][1]
    assert found["moves"][0]["what"] == "joint of 'bob'"
    table = limber("modes", model).stdout
    assert "growth 1/s" in table and f"{found['growth'][0]:.4f}" in table and "nan" not in table


SAGGING = """
limber: 1
duration: 1
model:
  gravity: [0, 0, -9.81]
  bodies:
    arm: {beam: {length: 2, mass: 2, EI: 200, modes: 2}, joint: {revolute: y}}
"""


def test_modes_out_of_equilibrium_say_so_and_find_one(tmp_path):
    file = tmp_path / "case.yaml"
    file.write_text(SAGGING)
    done = limber("modes", file, "--all-locked")
    assert "Not an equilibrium: mode 2 of body 'arm'" in done.stderr
    assert "--equilibrium finds one" in done.stderr
    assert not limber_json("modes", file, "--all-locked")["equilibrium"]
    found = limber_json("modes", file, "--all-locked", "--equilibrium")
    s = lb.io.load_scenario(file).system
    here = lb.modes(s, lb.equilibrium(s, locked=["arm"]), locked=["arm"])
    assert found["equilibrium"] and np.allclose(found["frequencies"], here.frequencies)
    file.write_text(f"{SAGGING}initial: {{equilibrium: {{all_locked: true}}}}\n")
    assert not limber("modes", file, "--all-locked").stderr
    assert limber_json("info", file)["scenario"]["in_equilibrium"]
    assert "at rest, in equilibrium" in limber("info", file).stdout


def test_modes_about_the_motion_at_the_start(tmp_path):
    file = tmp_path / "case.yaml"
    file.write_text(MOVING.partition("external:")[0].replace("[1, 1, 1]", "[1, 2, 2.5]"))
    found = limber_json("modes", file, "--motion")
    assert found["about"] == "the initial motion"
    nutation = 2.0 * np.sqrt(1.5 * 0.5 / 2.0)
    assert np.isclose(np.array(found["frequencies"]) * 2 * np.pi, nutation, rtol=1e-6).any()
    still = tmp_path / "still.yaml"
    still.write_text(SAGGING)
    assert "does not start in motion" in limber("modes", still, "--motion", code=2).stderr


def test_modes_note_that_friction_counts_as_a_damper(tmp_path):
    rod = "{rigid: {mass: 1, com: [0.5, 0, 0], inertia: [0.01, 0.1, 0.1]}, joint: {revolute: z, friction: 0.2}}"
    (tmp_path / "model.yaml").write_text(
        f"limber: 1\nname: rod\nbodies:\n  rod: {rod}\n  other: {rod}\n"
    )
    assert (
        "the friction of 'rod', 'other' acts as a strong damper"
        in limber("modes", tmp_path / "model.yaml").stderr
    )
    assert (
        "friction of 'other' acts"
        in limber("modes", tmp_path / "model.yaml", "--locked", "rod").stderr
    )
