"""Controllers, sensors and actuators in scenario files."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import limber as lb
from helpers.files import EXAMPLES
from limber.cli import app

MODEL = """
model:
  bodies:
    hub:
      rigid: {mass: 20, inertia: [3, 3, 3]}
      joint: free
    arm:
      beam: {length: 1, mass: 1, EI: 100, modes: 1}
      joint: {revolute: y}
      to: hub
    tool:
      rigid: {mass: 1, inertia: [0.1, 0.1, 0.1]}
      joint: {universal: [z, y]}
      to: arm
      at: tip
"""


def scenario(tmp_path, rest):
    path = tmp_path / "case.yaml"
    path.write_text(f"limber: 1\nduration: 0.2\n{MODEL}\n{rest}\n", encoding="utf-8")
    return lb.io.load_scenario(path)


def run(case):
    return lb.simulate(case.system, case.duration, **case.settings)


def test_pd_as_torque_knows_the_state_exactly(tmp_path):
    case = scenario(
        tmp_path,
        "torque: {pd: {kp: 30, kd: 3, sample_time: 0.01, reference: {arm: 0.2, tool: [0.1, -0.1]}}}",
    )
    r = run(case)
    assert set(r.signals) == {"command", "guard"}
    by_hand = lb.control.PD(
        30, 3, sample_time=0.01, reference={"arm": 0.2, "tool[0]": 0.1, "tool[1]": -0.1}
    )
    assert (lb.simulate(case.system, 0.2, torque=by_hand).q == r.q).all()


def test_paths_of_references_start_where_the_joints_do(tmp_path):
    case = scenario(
        tmp_path,
        """
initial: {q: {arm: 0.3, tool: [0.1, 0.2]}}
torque:
  pid:
    kp: 30
    ki: 5
    kd: 3
    sample_time: 0.01
    reference:
      arm: {quintic: {end: 0.5, duration: 0.1}}
      tool: [{hold: {}}, {quintic: {end: 0, duration: 0.1}}]
""",
    )
    assert case.paths["arm"](0.0).position[0] == 0.3
    assert case.paths["tool"](0.2).position.tolist() == [0.1, 0.0]
    first = run(case).signals["command"].y[0]
    assert np.abs(first).max() < 1e-9  # nothing to correct yet


def test_a_whole_loop(tmp_path):
    sheet = tmp_path / "mine.yaml"
    sheet.write_text("name: x\nkind: servo\nsource: measured\noptions: {ratio: 10, limit: 2}\n")
    case = scenario(
        tmp_path,
        """
controller:
  pd: {kp: 30, kd: 3, sample_time: 0.01, bodies: [arm]}
  sensors:
    - encoder: {bodies: [arm], rate: 100, counts: 4096}
    - tachometer: {bodies: [arm], rate: 50, delay: 0.004}
    - gyro: {body: hub, rate: 100, datasheet: stim300-gyro, name: gyro 1}
    - accelerometer: {body: arm, node: tip, rate: 100}
    - strain_gauge: {body: arm, at: root, z: 0.01, rate: 100}
    - force_torque: {body: tool, rate: 100}
    - star_tracker: {body: hub, rate: 5, noise: [1e-5, 1e-5, 8e-5], seed: 3}
  actuators:
    - servo: {body: arm, datasheet: mine.yaml, rotor_inertia: 1e-3, friction: 0.1}
    - wheel: {name: wheel, axis: z, to: hub, datasheet: honeywell-hr16-50}
    - thruster: {name: jet, body: hub, position: [0, 1, 0], direction: x, force: 1, period: 0.01}
  delay: 0.002
  seed: 1
  guard: {hold: 0.5, oldest: 0.1}
""",
    )
    assert list(case.system.layout) == ["hub", "arm", "tool", "wheel"]
    assert case.system.joints["arm"].physics.armature[0] == pytest.approx(0.1)
    loop = case.torque
    assert loop.channels == ("arm", "wheel", "jet")
    assert loop.limits.tolist() == [2.0, 0.2, 1.0]
    assert loop.controller.hold == 0.5
    r = run(case)
    assert {"encoder", "tachometer", "gyro 1", "accelerometer", "strain gauge"} < set(r.signals)


def test_the_example_ends_where_it_is_sent_and_the_program_runs_it(tmp_path):
    file = EXAMPLES / "controlled_arm.yaml"
    done = CliRunner().invoke(app, ["simulate", str(file), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    ends = {joint["body"]: joint for joint in found["joints"]}
    assert ends["upper arm"]["end"] == pytest.approx(0.2, abs=2e-3)
    assert ends["forearm"]["end"] == pytest.approx(0.9, abs=2e-3)
    told = CliRunner().invoke(app, ["info", str(file), "--json"])
    assert json.loads(told.stdout)["scenario"]["torque"] == "controller"
    rigid = CliRunner().invoke(app, ["simulate", str(file), "--rigid"])
    assert rigid.exit_code != 0 and "made for the flexible system" in rigid.output


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("torque: {pd: {kp: 1}}", "'sample_time' is missing"),
        (
            "controller: {pd: {kp: 1, sample_time: 1}, sensors: [{encoder: {rate: 1, bits: 16}}]}",
            "give `counts`",
        ),
        ("torque: {pd: {kp: 1, sample_time: 0}}", "must be greater than 0"),
        ("torque: {pd: {kp: 1, sample_time: 1, reference: {leg: 1}}}", "is not a body of"),
        ("torque: {pd: {kp: [1, 2], sample_time: 1}}", "kp must be one number, or 3 of them"),
        ("controller: {delay: 0.1}", "needs one of pd, pid"),
        (
            "controller: {pd: {kp: 1, sample_time: 1}}\ntorque: {constant: {arm: 1}}",
            "a controller makes the torques",
        ),
        (
            "controller: {pd: {kp: 1, sample_time: 1}, sensors: [{gyro: {body: hub, rate: 1, noise: 1}}]}",
            "no sensor reads the position",
        ),
        (
            "controller: {pd: {kp: 1, sample_time: 1}, sensors: [{encoder: {rate: 1, noise: 1}}]}",
            "has noise and no seed",
        ),
        (
            "controller: {pd: {kp: 1, sample_time: 1}, sensors: [{gyro: {body: hub, rate: 1, datasheet: honeywell-hr16-50}}]}",
            "is of a wheel, not of a gyro",
        ),
        (
            "controller: {pd: {kp: 1, sample_time: 1}, actuators: [{wheel: {name: w, axis: z, to: hub}}]}",
            "'inertia' is missing",
        ),
        (
            "controller: {pd: {kp: 1, sample_time: 1}, actuators: [{servo: {body: leg}}]}",
            "'leg' is not a body",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, rest, message):
    with pytest.raises(lb.FileError, match=message) as caught:
        scenario(tmp_path, rest)
    assert "case.yaml" in str(caught.value)


def test_the_schema_knows_controllers():
    schema = lb.io.schema("scenario")
    assert "controller" in schema["properties"]
    names = set(schema["$defs"])
    assert {"ControllerSection", "PIDSection", "EncoderSection", "ServoSection"} < names
