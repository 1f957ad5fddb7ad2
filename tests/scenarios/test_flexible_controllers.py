"""Controllers of flexible arms in scenario files."""

import numpy as np
import pytest

import limber as lb
from helpers.files import EXAMPLES

ARM = """
limber: 1
model:
  bodies:
    upper:
      beam: {length: 1.0, mass: 1.5, EI: 3000, modes: {y: 1}, damping: 0.01}
      joint: {revolute: z, armature: 0.5}
    fore:
      beam: {length: 1.0, mass: 1.0, EI: 1500, modes: {y: 1}, damping: 0.01}
      joint: {revolute: z, armature: 0.3}
      to: upper
      at: tip
    load:
      rigid: {mass: 1.0, inertia: [0.01, 0.01, 0.01]}
      joint: fixed
      to: fore
      at: tip
initial: {q: {upper: 0.1, fore: 0.9}}
output: {every: 0.01}
"""
PATHS = "{upper: {quintic: {end: 0.3, duration: 0.3}}, fore: {quintic: {end: 0.7, duration: 0.3}}}"


def scenario(tmp_path, rest, head=ARM):
    path = tmp_path / "case.yaml"
    path.write_text(f"{head}\n{rest}\n", encoding="utf-8")
    return lb.io.load_scenario(path)


def run(case):
    return lb.simulate(case.system, case.duration, **case.settings)


@pytest.mark.parametrize(
    "controller",
    [
        f"computed_torque: {{kp: 400, kd: 40, model: flexible, sample_time: 0.001, reference: {PATHS}}}",
        f"singular_perturbation: {{kp: 400, kd: 40, sample_time: 0.001, damping: 0.1, reference: {PATHS}}}",
        f"active_damping: {{kp: [4000, 2000], kd: [60, 25], sample_time: 0.001, damping: 0.4, reference: {PATHS}}}",
        f"lqr: {{Q: 100, R: 1.0e-3, sample_time: 0.002, points: 3, reference: {PATHS}}}",
    ],
)
@pytest.mark.filterwarnings("ignore:SingularPerturbation")
def test_joints_arrive_where_their_paths_end(tmp_path, controller):
    case = scenario(tmp_path, f"duration: 0.6\ncontroller:\n  {controller}")
    r = run(case)
    assert r.joint("upper")[-1, 0] == pytest.approx(0.3, abs=0.02)
    assert r.joint("fore")[-1, 0] == pytest.approx(0.7, abs=0.02)
    assert set(case.paths) == {"upper", "fore"}


@pytest.mark.parametrize("observer", ["", "kalman: {disturbance: 0.05, initial: 1.0e-3}"])
def test_an_arm_with_weight_is_held_where_its_joints_start(tmp_path, observer):
    """About the straight links of the initial state, their sag would count as a deviation and move the joints."""
    head = ARM.replace("model:", "model:\n  gravity: [0, -9.81, 0]", 1)
    sensors = "sensors: [encoder: {rate: 500, noise: 1.0e-6}, tachometer: {rate: 500, noise: 1.0e-5}]\n  seed: 1"
    text = f"lqr: {{Q: 10, R: 0.01, sample_time: 0.002, {observer}}}"
    case = scenario(
        tmp_path,
        f"duration: 3\ncontroller:\n  {text}\n  {sensors if observer else 'delay: 0'}",
        head.replace("0.01}\n      joint", "0.05}\n      joint"),
    )
    r = run(case)
    assert r.joint("upper")[-1, 0] == pytest.approx(0.1, abs=2e-3)
    assert r.joint("fore")[-1, 0] == pytest.approx(0.9, abs=2e-3)


def test_lqg_holds_the_start(tmp_path):
    case = scenario(
        tmp_path,
        """
duration: 0.2
controller:
  lqr: {Q: 10, R: 0.01, sample_time: 0.002, kalman: {disturbance: 0.05, initial: 1.0e-3, bias: {strain gauge: 1.0e-5}, sensors: [encoder, strain gauge]}}
  sensors:
    - encoder: {rate: 500, counts: 65536, delay: 0.002}
    - strain_gauge: {body: upper, at: root, y: 0.01, rate: 500, noise: 1.0e-6}
    - accelerometer: {body: upper, rate: 500}
  seed: 1
""",
    )
    r = run(case)
    assert "estimate" in r.signals and "bias strain gauge" in r.signals
    assert "innovation accelerometer" not in r.signals
    assert np.abs(r.joint("upper")[:, 0] - 0.1).max() < 2e-3


def test_the_tip_of_the_example_follows_a_line():
    case = lb.io.load_scenario(EXAMPLES / "tip_line.yaml")
    r = run(case)
    tip = r.node("fore", "tip").position
    assert np.allclose(tip[-1, :2], 1.2, atol=2e-5)
    c = case.torque.controller.controller
    inside = r.t > c.begin
    line = c.inversion.path(np.minimum(r.t[inside] - c.begin, 0.6)).position
    assert np.abs(tip[inside, :2] - line).max() < 2e-5  # m


CARRIED = """
limber: 1
model:
  bodies:
    left: {rigid: {mass: 1, inertia: [1, 1, 1]}, joint: {prismatic: x}, offset: [-0.5, 0, 0]}
    right: {rigid: {mass: 1, inertia: [1, 1, 1]}, joint: {prismatic: x}, offset: [0.5, 0, 0]}
    box:
      rigid: {mass: 2, inertia: [1, 1, 1], nodes: {left: [-0.5, 0, 0], right: [0.5, 0, 0]}}
      joint: {prismatic: x}
  closures:
    - {name: at left, a: {body: left}, b: {body: box, node: left}, joint: spherical}
    - {name: at right, a: {body: right}, b: {body: box, node: right}, joint: spherical}
output: {every: 0.01}
"""


@pytest.mark.filterwarnings(
    "ignore::limber.errors.ModelWarning"
)  # the spheres hold y and z besides
def test_an_object_is_carried_and_squeezed(tmp_path):
    case = scenario(
        tmp_path,
        """
duration: 0.5
controller:
  carried_object:
    kp: 100
    kd: 20
    sample_time: 0.01
    object: box
    place: [{quintic: {end: 0.2, duration: 0.3}}, {hold: {}}, {hold: {}}]
    squeeze: [{between: [at left, at right], path: {quintic: {end: 30, duration: 0.2}}}]
""",
        CARRIED,
    )
    r = run(case)
    assert r.joint("box")[-1, 0] == pytest.approx(0.2, abs=2e-3)
    assert r.signals["squeeze"].y[-1, 0] == pytest.approx(30.0, rel=1e-3)


def test_wrong_sections_are_refused_in_words(tmp_path):
    base = "duration: 1\ncontroller:\n  "

    def refused(text, controller):
        with pytest.raises(lb.LimberError, match=text):
            scenario(tmp_path, base + controller)

    refused("needs 2 paths, one for each output; got 1", "stable_inversion: {outputs: [[angle, upper, tip, z], [angle, fore, tip, z]], path: [{hold: {}}], sample_time: 0.01}")  # fmt: skip
    refused("must be a path. To hold a joint", "lqr: {Q: 1, R: 1, sample_time: 0.01, reference: {upper: 0.3}}")  # fmt: skip
    refused("has no path of 'fore'", "lqr: {Q: 1, R: 1, sample_time: 0.01, reference: {upper: {quintic: {end: 1, duration: 1}}}}")  # fmt: skip
    refused("needs three paths", "carried_object: {kp: 1, kd: 1, sample_time: 0.01, object: load, place: [{hold: {}}]}")  # fmt: skip
    refused("'crate' is neither a body", "carried_object: {kp: 1, kd: 1, sample_time: 0.01, object: crate, place: [{hold: {}}, {hold: {}}, {hold: {}}]}")  # fmt: skip
    refused("names of two closures", "carried_object: {kp: 1, kd: 1, sample_time: 0.01, squeeze: [{between: [a], force: 1}]}")  # fmt: skip


def test_model_predictive_control_arrives_within_its_bounds(tmp_path):
    pytest.importorskip("piqp")
    case = scenario(
        tmp_path,
        f"""
duration: 0.6
controller:
  nmpc:
    intervals: 20
    sample_time: 0.01
    effort: 1.0e-4
    tracking: {{q: 100, v: 0.1, final_q: 10, final_v: 1}}
    vibration: {{weight: 0.1, final: 1}}
    nodes: [{{body: load, target: [2, 0, 0], weight: 0}}, {{body: load, box: [[-3, -3, -1], [3, 3, 1]]}}]
    torque: [60, 30]
    speed: 3
    coordinates: {{fore: [-2, 2]}}
    reference: {PATHS}
""",
    )
    r = run(case)
    assert r.joint("upper")[-1, 0] == pytest.approx(0.3, abs=0.02)
    assert r.joint("fore")[-1, 0] == pytest.approx(0.7, abs=0.02)
    assert np.abs(r.signals["command"].y).max(axis=0).max() <= 60.0 + 1e-6
    assert (r.signals["solved"].y == 1.0).all() and set(case.paths) == {"upper", "fore"}


CRAFT = """
limber: 1
model:
  bodies:
    base:
      rigid: {mass: 100, inertia: [20, 25, 30], nodes: {side: [1, 0, 0]}}
      joint: free
    upper:
      rigid: {mass: 5, com: [0.5, 0, 0], inertia: [0.05, 0.5, 0.5]}
      joint: {revolute: z}
      to: base
      at: side
output: {every: 0.5}
"""
TURN = "initial: {q: {base: [0.8, 0.6, 0, 0, 0, 0, 0], upper: 0.3}}"
WHEELS = "".join(
    f"    - wheel: {{name: {x}, to: base, axis: {x}, inertia: 0.05, mass: 2}}\n" for x in "xyz"
)


@pytest.mark.parametrize("extended", ["false", pytest.param("true", marks=pytest.mark.slow)])
def test_a_free_flyer_turns_to_the_attitude_of_its_regulator(tmp_path, extended):
    free = 'free: [x, y, z, "base[3]", "base[4]", "base[5]"]'
    case = scenario(
        tmp_path,
        f"""{TURN}
duration: 60
controller:
  lqr:
    Q: 1
    R: 1
    sample_time: 0.1
    {free}
    about: {{base: [1, 0, 0, 0, 0, 0, 0], upper: 0}}
    kalman: {{disturbance: 0.01, extended: {extended}}}
  sensors:
    - star_tracker: {{body: base, rate: 10, noise: 1.0e-4}}
    - gyro: {{body: base, rate: 10, noise: 1.0e-4}}
    - encoder: {{rate: 10, noise: 1.0e-4}}
  actuators:
{WHEELS}    - servo: {{body: upper}}
  seed: 1
""",
        CRAFT,
    )
    s, r = case.system, run(case)
    error = lb.difference(s, s.neutral(), r.q)
    assert abs(np.linalg.norm(error[0, :3]) - 2.0 * np.arccos(0.8)) < 1e-12
    assert np.abs(error[-1, [0, 1, 2, 6]]).max() < 2e-3


def test_a_floating_base_needs_no_path(tmp_path):
    path = "reference: {upper: {quintic: {end: 1.0, duration: 4}}}"
    law = f"controller:\n  lqr: {{Q: 1, R: 0.01, sample_time: 0.05, free: [base], {path}}}"
    case = scenario(tmp_path, f"{TURN}\nduration: 8\n{law}", CRAFT)
    s, r = case.system, run(case)
    assert r.joint("upper")[-1, 0] == pytest.approx(1.0, abs=2e-3)
    assert np.abs(lb.momentum(s, r.q[-1], r.v[-1])).max() < 1e-9
    both = law.replace("free:", "about: {upper: 0}, free:")
    with pytest.raises(lb.LimberError, match=r"both a reference and about"):
        run(scenario(tmp_path, f"{TURN}\nduration: 8\n{both}", CRAFT))
