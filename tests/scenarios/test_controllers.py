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
            "a controller produces the torques",
        ),
        (
            "controller: {pd: {kp: 1, sample_time: 1}, sensors: [{gyro: {body: hub, rate: 1, noise: 1}}]}",
            "no sensor reads the position",
        ),
        (
            "controller: {pd: {kp: 1, sample_time: 1}, sensors: [{encoder: {rate: 1, noise: 1}}]}",
            "has noise but no seed",
        ),
        (
            "controller: {pd: {kp: 1, sample_time: 1}, sensors: [{gyro: {body: hub, rate: 1, datasheet: honeywell-hr16-50}}]}",
            "describes a wheel, not a gyro",
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


HANGING = """
gravity: [0, -9.81, 0]
bodies:
  upper: {rigid: {mass: 2, com: [0.5, 0, 0], inertia: [0.1, 0.1, 0.1]}, joint: {revolute: z}}
  lower:
    beam: {length: 1, mass: 1, EI: 100, modes: {y: 1}}
    joint: {revolute: z}
    to: upper
    offset: [1, 0, 0]
"""


def hanging(tmp_path, rest):
    path = tmp_path / "case.yaml"
    model = HANGING.replace("\n", "\n  ")
    path.write_text(f"limber: 1\nduration: 0.3\nmodel:\n  {model}\n{rest}\n", encoding="utf-8")
    return lb.io.load_scenario(path)


@pytest.mark.parametrize("servos", [True, False])
def test_an_equilibrium_is_held_until_the_first_command_arrives(tmp_path, servos):
    parts = "actuators: [{servo: {body: lower}}, {servo: {body: upper}}]" if servos else ""
    case = hanging(
        tmp_path,
        f"""
initial: {{q: {{upper: 0.3}}, equilibrium: {{}}}}
controller:
  pd: {{kp: [300, 100], kd: [30, 10], sample_time: 0.01, gravity: true}}
  delay: 0.1
  {parts}
""",
    )
    needed = lb.inverse_dynamics(case.system, case.q0, case.v0, np.zeros(3))
    joints = [needed[-1], needed[0]] if servos else needed
    np.testing.assert_allclose(case.torque.initial, joints, atol=1e-12)
    r = run(case)
    before = r.t < 0.1
    assert before.sum() > 2 and np.abs(r.q[before] - case.q0).max() < 1e-9
    without = hanging(
        tmp_path, "controller: {pd: {kp: 300, kd: 30, sample_time: 0.01}, delay: 0.1}"
    )
    assert without.torque.initial is None


def test_a_series_elastic_joint_takes_the_place_of_a_stiff_one(tmp_path):
    case = hanging(
        tmp_path,
        """
initial: {q: {upper motor: 0.3}, equilibrium: {}}
controller:
  pd: {kp: 300, kd: 30, sample_time: 0.002, bodies: [upper motor], gravity: true}
  actuators:
    - series_elastic: {body: upper, stiffness: 500, spring_damping: 2, ratio: 50, rotor_inertia: 2.0e-4, limit: 60}
""",
    )
    s = case.system
    assert list(s.layout) == ["upper motor", "upper", "lower"]
    by_hand = lb.Assembly("case", gravity=(0, -9.81, 0))
    sea = lb.control.SeriesElastic(
        "upper", stiffness=500, spring_damping=2, ratio=50, rotor_inertia=2e-4, limit=60
    )
    body = lb.RigidBody(2.0, (0.5, 0, 0), inertia=[0.1] * 3)
    sea.attach(by_hand, body, lb.Revolute("z"))
    beam = lb.beam(1, 1, EI=100, modes={"y": 1})
    by_hand.attach("lower", beam, lb.Revolute("z"), to="upper", offset=(1, 0, 0))
    q = s.neutral() + 0.1
    np.testing.assert_allclose(lb.mass_matrix(s, q), lb.mass_matrix(by_hand.build(), q))
    # the spring is at rest under the weight
    carried = lb.inverse_dynamics(s, case.q0, case.v0, np.zeros(s.nv))
    assert abs(carried[1]) < 1e-6 and case.q0[1] == pytest.approx(-carried[0] / 500.0)
    assert np.abs(run(case).q[-1, 0] - 0.3) < 0.05


def test_series_elastic_joints_that_make_no_sense_are_refused(tmp_path):
    for given, said in (
        ("{body: upper, stiffness: 500}", "rotor_inertia' is missing"),
        ("{body: uper, stiffness: 500, rotor_inertia: 1}", "'uper' is not a body"),
    ):
        with pytest.raises(lb.LimberError, match=said):
            hanging(
                tmp_path,
                f"controller: {{pd: {{kp: 1, sample_time: 0.1}}, actuators: [{{series_elastic: {given}}}]}}",
            )


def test_a_reference_of_a_joint_with_two_coordinates_needs_two_numbers(tmp_path):
    model = """
limber: 1
model:
  bodies:
    link:
      rigid: {mass: 1.0, inertia: [0.1, 0.1, 0.1]}
      joint: {universal: [z, y]}
duration: 0.1
torque: {pd: {kp: 10, kd: 2, sample_time: 0.01, reference: {link: REFERENCE}}}
"""
    path = tmp_path / "case.yaml"
    path.write_text(model.replace("REFERENCE", "0.3"), encoding="utf-8")
    with pytest.raises(lb.FileError, match="needs 2 numbers, got 1"):
        lb.io.load_scenario(path)
    path.write_text(model.replace("REFERENCE", "[0.3, 0.1]"), encoding="utf-8")
    assert lb.io.load_scenario(path).paths["link"](0.0).position.tolist() == [0.3, 0.1]
