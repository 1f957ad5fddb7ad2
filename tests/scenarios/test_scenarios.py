"""Scenario files: models, states, torques, outputs."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from limber.integrators.methods import method_names
from limber.simulation.peers import PEERS

MODEL = """
model:
  bodies:
    base:
      rigid: {mass: 2, inertia: [1, 1, 1]}
      joint: free
    arm:
      beam: {length: 1, mass: 1, EI: 100, modes: 1}
      joint: {revolute: y}
      to: base
"""


def scenario(tmp_path, rest="", model=MODEL, head="limber: 1\nduration: 2\n"):
    path = tmp_path / "case.yaml"
    path.write_text(f"{head}{model}\n{rest}\n", encoding="utf-8")
    return lb.io.load_scenario(path)


def test_defaults(tmp_path):
    s = scenario(tmp_path)
    assert (s.name, s.description, s.fidelity, s.method) == ("case", "", "full", "auto")
    assert s.torque is s.times is s.every is s.rtol is s.atol is s.step is None
    assert np.array_equal(s.q0, s.system.neutral()) and not s.v0.any()
    assert s.duration == 2.0 and s.file.name == "case.yaml" and not s.paths
    with pytest.raises(AttributeError):
        s.duration = 3.0
    with pytest.raises(ValueError, match="read-only"):
        s.q0[0] = 0.0


def test_everything_said(tmp_path):
    s = scenario(
        tmp_path,
        "name: n\ndescription: d\nfidelity: ruthless\nmethod: rk4\nrtol: 1e-6\natol: 1e-8\nstep: 0.01\n"
        "output: {times: [0, 0.5, 2]}\ntorque: none",
    )
    assert (s.name, s.description, s.fidelity, s.method) == ("n", "d", "ruthless", "rk4")
    assert (s.rtol, s.atol, s.step) == (1e-6, 1e-8, 0.01)
    assert s.times.tolist() == [0.0, 0.5, 2.0]


def test_settings_are_what_simulate_takes(tmp_path):
    s = scenario(tmp_path, "output: {every: 0.5}\ntorque: {constant: {arm: 1}}\natol: 1e-7")
    settings = s.settings
    assert set(settings) == {"q0", "v0", "torque", "every", "method", "atol"}
    given = {"every": 0.5, "torque": s.torque, "atol": 1e-7}
    r, same = lb.simulate(s.system, s.duration, **settings), lb.simulate(s.system, 2.0, **given)
    assert np.array_equal(r.q, same.q)


def test_every_is_handed_on_as_it_is(tmp_path):
    s = scenario(tmp_path, "output: {every: 0.3}")
    assert s.times is None and s.every == 0.3


def test_paths_that_outlast_the_duration_are_warned_of(tmp_path):
    joints = (
        "{upper: {cycloid: {distance: 1, duration: 3}}, lower: [{hold: {duration: 1}}, {hold: {}}]}"
    )
    rest = f"torque:\n  follow:\n    joints: {joints}"
    with pytest.warns(lb.ModelWarning) as caught:
        scenario(tmp_path, rest, ARM)
    (warning,) = caught
    assert warning.filename == __file__
    text = str(warning.message)
    assert "case.yaml:12:14: torque.follow.joints.upper: the path of 'upper' takes 3 s" in text
    assert "its last 1 s are cut off, at 0.8045 on the way to 1. Raise the duration" in text
    head = "limber: 1\nduration: 3\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scenario(tmp_path, rest, ARM, head)


@pytest.mark.parametrize("name", ["auto", *method_names(), *PEERS])
def test_every_method_can_be_named(name, tmp_path):
    assert scenario(tmp_path, f"method: {name}\nstep: 0.01").method == name


def test_a_bad_method_is_refused_with_its_place(tmp_path):
    for text, message in (
        ("method: dop835", "method: must be one of auto, rk4, .* Did you mean 'dop853'"),
        ("method: rk4", "method: rk4 has fixed steps: give `step`"),
    ):
        with pytest.raises(lb.FileError, match=message) as caught:
            scenario(tmp_path, text)
        assert (caught.value.line, caught.value.key) == (14, "method")


def test_states(tmp_path):
    s = scenario(
        tmp_path,
        "initial:\n  q: {arm: {joint: 0.3, modes: [0.01, 0.02]}, base: [0, 1, 0, 0, 5, 6, 7]}\n"
        "  v: {arm: -1, base: {joint: [1, 2, 3, 4, 5, 6]}}",
    )
    assert s.q0.tolist() == [0, 1, 0, 0, 5, 6, 7, 0.01, 0.02, 0.3]
    assert s.v0.tolist() == [1, 2, 3, 4, 5, 6, 0, 0, -1]
    same = scenario(tmp_path, f"initial: {{q: {s.q0.tolist()}, v: {s.v0.tolist()}}}")
    assert np.array_equal(same.q0, s.q0) and np.array_equal(same.v0, s.v0)


def test_constant_torques(tmp_path):
    s = scenario(tmp_path, "torque: {constant: {arm: 3}}")
    assert s.torque.tolist() == [0] * 8 + [3]
    s = scenario(tmp_path, "torque: {constant: {arm: {modes: [1, 2]}}}")
    assert s.torque.tolist() == [0] * 6 + [1, 2, 0]


def test_tables(tmp_path):
    by_body = scenario(tmp_path, "torque: {table: {times: [0, 1, 2], bodies: {arm: [0, 5, 1]}}}")
    assert isinstance(by_body.torque, lb.Table)
    assert by_body.torque(1.5).tolist() == [0] * 8 + [3]
    rows = [[0] * 8 + [x] for x in (0, 5, 1)]
    whole = scenario(tmp_path, f"torque: {{table: {{times: [0, 1, 2], values: {rows}}}}}")
    assert np.array_equal(whole.torque.tau, by_body.torque.tau)
    (tmp_path / "t.csv").write_text("# seconds, N m\nt, arm\n0,0\n1,5\n2,1\n")
    from_csv = scenario(tmp_path, "torque: {table: {csv: t.csv}}")
    assert np.array_equal(from_csv.torque.tau, by_body.torque.tau)
    (tmp_path / "t.csv").write_text("t,base[5],arm.modes[1]\n0,1,2\n1,3,4\n")
    columns = scenario(tmp_path, "torque: {table: {csv: t.csv}}").torque
    assert columns.tau.tolist() == [[0] * 5 + [1, 0, 2, 0], [0] * 5 + [3, 0, 4, 0]]


ARM = """
model:
  gravity: [0, 0, -9.81]
  bodies:
    upper: {beam: {length: 1, mass: 2, EI: 500}, joint: {revolute: y}}
    lower: {beam: {length: 1, mass: 1, EI: 300}, joint: {universal: [y, z]}, to: upper, at: tip}
"""
PATHS = {
    "cycloid": "{upper: {cycloid: {distance: 1, duration: 2}}}",
    "quintic": "{upper: {quintic: {end: 1, duration: 1.5}}}",
    "two": "{lower: [{quintic: {end: 1, duration: 1.5}}, {cycloid: {distance: -1, duration: 0.7}}]}",
    "trapezoid": "{upper: {trapezoid: {end: -0.5, max_velocity: 1, max_acceleration: 4}}}",
    "waypoints": "{upper: {waypoints: {points: [1, 0.5], max_velocity: 2, max_acceleration: 9}}}",
    "sequence": "{upper: {sequence: [{hold: {duration: 0.3}}, {quintic: {end: 1, duration: 1}},"
    " {cycloid: {distance: -1, duration: 0.5}}]}}",
    "hold": "{upper: {hold: }}",
}


@pytest.mark.parametrize("name", [n for n in PATHS if n != "hold"])
def test_follow_is_rigid_inverse_dynamics_to_the_stated_error(name, tmp_path):
    rest = f"initial: {{q: {{upper: 0.2, lower: [0.1, 0.3]}}}}\ntorque: {{follow: {{joints: {PATHS[name]}}}}}"
    with pytest.warns(lb.ModelWarning, match="not named here are held where they start"):
        s = scenario(tmp_path, rest, ARM)
    assert 0.0 < s.torque.error <= 1e-6
    rigid = s.assembly.rigid().build()
    t = np.random.default_rng(0).uniform(0.0, 2.0, 3000)
    q = np.tile([0.2, 0.1, 0.3], (t.size, 1))
    v, vdot = np.zeros((2, t.size, 3))
    for body, columns in (("upper", [0]), ("lower", [1, 2])):
        if body in s.paths:
            q[:, columns], v[:, columns], vdot[:, columns] = s.paths[body](t)
    exact = lb.inverse_dynamics(rigid, q, v, vdot)
    found = s.torque(t)
    modes = [i for p in s.system.layout.values() for i in range(p.v_modes.start, p.v_modes.stop)]
    assert not found[:, modes].any()
    joints = [i for i in range(s.system.nv) if i not in modes]
    error = np.abs(found[:, joints] - exact).max(axis=0)
    assert (error <= 1.05e-6 * np.abs(exact).max(axis=0) + 1e-12).all()


def test_follow_announces_its_corners_and_the_rigid_arm_follows_its_paths(tmp_path):
    """Steps end at the corners, and the torques are smooth between: hardly any step is rejected."""
    joints = """
      upper: {waypoints: {points: [0.3, -0.2, 0.5], max_velocity: 0.6, max_acceleration: 1.5}}
      lower: [{trapezoid: {end: 0.5, max_velocity: 0.9, max_acceleration: 2}}, {quintic: {end: 0.4, duration: 1.8}}]
"""
    rest = f"torque:\n  follow:\n    joints:{joints}"
    case = scenario(tmp_path, rest, ARM, "limber: 1\nduration: 4\n")
    breaks = case.torque.breaks
    assert (breaks[0], breaks[-1]) == (0.0, 4.0)
    for path in case.paths.values():
        inside = path.breaks[path.breaks < 4.0]
        assert np.abs(inside[:, None] - breaks).min(axis=1).max() < 1e-11
    rigid = case.assembly.rigid().build()
    moving = [
        i for p in case.system.layout.values() for i in range(p.v_joint.start, p.v_joint.stop)
    ]
    torque = replace(case.torque, tau=case.torque.tau[:, moving])
    r = lb.simulate(rigid, 4.0, torque=torque, method="dop853", rtol=1e-10, atol=1e-12)
    assert r.statistics.rejected <= 0.1 * r.statistics.steps
    for body, path in case.paths.items():
        assert np.abs(r.joint(body) - path(r.t).position).max() < 1e-6


FLYING = """
model:
  bodies:
    bus: {rigid: {mass: 20, inertia: [4, 5, 6], com: [0.1, 0, 0.05]}, joint: free}
    upper: {beam: {length: 2, mass: 4, EI: 900}, joint: {revolute: z}, to: bus, offset: [0.6, 0, 0]}
    ball: {beam: {length: 1, mass: 2, EI: 800, polar_inertia: 0.1}, joint: spherical, to: upper, at: tip}
    lower: {beam: {length: 1.5, mass: 3, EI: 800}, joint: {universal: [y, z]}, to: upper, at: tip}
"""
FLYING_PATHS = """
torque:
  follow:
    joints:
      upper: {trapezoid: {end: 0.8, max_velocity: 0.6, max_acceleration: 1}}
      lower: [{quintic: {end: 0.6, duration: 2}}, {cycloid: {distance: -0.4, duration: 1.5}}]
"""


def of_joints(case):
    """The rigid system of a scenario, the entries of v of its joints, and its state at the start."""
    rigid, q0 = case.assembly.rigid().build(), []
    moving = [
        i for p in case.system.layout.values() for i in range(p.v_joint.start, p.v_joint.stop)
    ]
    for place in case.system.layout.values():
        q0.extend(case.q0[place.q_joint])
    return rigid, moving, {"q0": q0, "v0": case.v0[moving]}


def test_a_free_base_floats_while_the_arm_follows_its_paths(tmp_path):
    """No force on joints with quaternions: the torques of the arm alone lead it along the paths, spin and all."""
    start = "initial:\n  q: {lower: [0.2, -0.3]}\n  v: {bus: [0.1, -0.2, 0.3, 0.05, 0, 0.1], ball: [1, 0.5, -2]}"
    case = scenario(tmp_path, start + FLYING_PATHS, FLYING)
    for name in ("bus", "ball"):
        assert not case.torque.tau[:, case.system.layout[name].v_joint].any()
    rigid, moving, state = of_joints(case)
    torque = replace(case.torque, tau=case.torque.tau[:, moving])
    r = lb.simulate(rigid, 2.0, torque=torque, rtol=1e-10, atol=1e-12, **state)
    for body, path in case.paths.items():
        assert np.abs(r.joint(body) - path(r.t).position).max() < 2e-6
    assert np.abs(r.momentum - r.momentum[0]).max() < 1e-8 * np.abs(r.momentum).max()


def test_torques_of_a_floating_arm_leave_its_momentum(tmp_path):
    case = scenario(tmp_path, FLYING_PATHS, FLYING)
    r = lb.simulate(case.system, 0.5, **(case.settings | {"rtol": 1e-9, "atol": 1e-11}))
    assert np.abs(r.tau).max() > 1.0 and np.abs(r.momentum).max() < 1e-6


def test_joints_that_follow_does_not_name_are_told_to_be_held(tmp_path):
    with pytest.warns(lb.ModelWarning) as caught:
        case = scenario(tmp_path, "torque: {follow: {joints: {upper: {hold: {}}}}}", ARM)
    (warning,) = caught
    assert (
        "torque.follow.joints: joints that are not named here are held where they start: 'lower'"
        in str(warning.message)
    )
    assert np.ptp(case.torque.tau, axis=0).max() < 1e-9  # nothing moves


@pytest.mark.parametrize(
    ("v", "named", "message"),
    [
        ("upper: 0.3", True, "'upper' starts with the speed 0.3 .* its path starts with 0.5"),
        ("lower: [0, 1], upper: 0.5", True, "'lower' starts with .* 0, 1 .* path starts with 0, 0"),
        ("lower: [0, 1], upper: 0.5", False, "'lower' starts with .* but it is held, with 0, 0"),
    ],
)
def test_speeds_at_the_start_that_contradict_a_path_are_warned_of(v, named, message, tmp_path):
    upper = "upper: {quintic: {end: 1, duration: 1.5, start_velocity: 0.5}}"
    lower = ", lower: [{hold: {}}, {hold: {}}]" if named else ""
    rest = f"initial: {{v: {{{v}}}}}\ntorque: {{follow: {{joints: {{{upper}{lower}}}}}}}"
    with pytest.warns(lb.ModelWarning) as caught:
        scenario(tmp_path, rest, ARM)
    assert re.search(message, str(caught[-1].message))
    assert len(caught) == (1 if named else 2)


def test_rigid_copy_has_the_mass_matrix_of_locked_modes():
    arm = lb.models.canadarm()
    rigid, flexible = arm.rigid().build(), arm.build()
    joints = [p.v_joint.start for p in flexible.layout.values()]
    M = lb.mass_matrix(flexible, flexible.neutral())[np.ix_(joints, joints)]
    assert np.allclose(lb.mass_matrix(rigid, rigid.neutral()), M, rtol=1e-13)


def test_models_by_file_and_by_name(tmp_path):
    lb.save(lb.models.canadarm(), tmp_path / "arm.yaml")
    assert scenario(tmp_path, model="model: arm.yaml").system.nv == 15
    assert scenario(tmp_path, model="model: {file: arm.yaml}").system.nv == 15
    rigid = "model: {builtin: canadarm, arguments: {modes: 0}}"
    assert scenario(tmp_path, model=rigid).system.nv == 3


TABLE = "torque: {{table: {{times: [0, 1], {}}}}}"
FOLLOW = "torque: {{follow: {{joints: {}}}}}"
REFUSED = {
    "no duration": ("", "'duration' is missing", {"head": "limber: 1\n"}),
    "negative": ("", "duration: must be greater than 0", {"head": "limber: 1\nduration: -1\n"}),
    "unknown key": ("torques: none", "torques: is not a known key. Did you mean 'torque'"),
    "no model": ("", "not a scenario: it has no `model`", {"model": ""}),
    "builtin": (
        "",
        "one of canadarm, scissor_boom, spacecraft; got 'canada'",
        {"model": "model: {builtin: canada}"},
    ),
    "argument": (
        "",
        "arguments.mode: is not an argument. Did you mean 'modes'",
        {"model": "model: {builtin: canadarm, arguments: {mode: 2}}"},
    ),
    "argument value": (
        "",
        "arguments.modes: must be a number, got the text",
        {"model": "model: {builtin: canadarm, arguments: {modes: many}}"},
    ),
    "no file": ("", "there is no such file", {"model": "model: none.yaml"}),
    "inside the model": (
        "",
        "model.bodies.b.rigid.mass",
        {"model": "model: {bodies: {b: {rigid: {mass: x}}}}"},
    ),
    "external": ("external: wind", "external: must be a list"),
    "fidelity": ("fidelity: high", "fidelity: must be one of full, ruthless"),
    "q body": ("initial: {q: {arn: 1}}", "initial.q.arn: is not a body .* mean 'arm'"),
    "q size": ("initial: {q: {arm: [1, 2]}}", "joint of body 'arm' needs 1 numbers, got 2"),
    "q modes": ("initial: {q: {arm: {modes: 1}}}", "q.arm.modes: .* needs 2 numbers, got 1"),
    "q list": ("initial: {q: [1, 2]}", "must have 10 entries .*base joint 7, arm modes 2"),
    "quaternion": ("initial: {q: {base: [1, 1, 0, 0, 0, 0, 0]}}", "q.base: .*must be 1 to within"),
    "v": ("initial: {v: {arm: .nan}}", "initial.v.arm: must be finite"),
    "initial": ("initial: rest", "initial: must be equilibrium, or a mapping with keys of q, v"),
    "equilibrium": ("initial: {equilibrium: 1}", "equilibrium: must be true, or a mapping"),
    "locked": (
        "initial: {equilibrium: {locked: [arn]}}",
        "equilibrium.locked.*: is not a body .* mean 'arm'",
    ),
    "no equilibrium": (
        "initial: equilibrium\ntorque: {constant: {arm: 1}}",
        "initial: .*has no equilibrium near this q: joint speed 0 of body 'arm'",
    ),
    "torque": (
        "torque: 5",
        "torque: must be none, or a mapping with keys of constant, table, follow",
    ),
    "torque kinds": (
        "torque: {constant: [1], table: {}}",
        "torque: needs one of .* constant and table",
    ),
    "empty torque": ("torque: {follow: }", "the torque is empty"),
    "columns": (TABLE.format("values: [[1], [2]]"), "must have 9 columns"),
    "rows": (TABLE.format("bodies: {arm: [1, 2, 3]}"), "3 entries where 2"),
    "table body": (TABLE.format("bodies: {ar: [1, 2]}"), "ar: is not a body"),
    "wide": (TABLE.format("bodies: {base: [1, 2]}"), "needs rows of 6 numbers"),
    "times": (
        "torque: {table: {times: [1, 0], bodies: {arm: [1, 2]}}}",
        "t must be strictly increasing",
    ),
    "no csv": ("torque: {table: {csv: no.csv}}", "no.csv: there is no such file"),
    "output": ("output: {times: [0, 5]}", "times from 0 to the duration"),
    "output order": ("output: {times: [1, 0.5]}", "must be strictly increasing"),
    "outputs": ("output: {every: 1e-12}", "more than 10000000"),
    "both": ("output: {every: 1, times: [1]}", "got every and times"),
    "method": ("method: 5", "method: must be one of auto, .* got 5"),
    "path body": (FOLLOW.format("{x: {hold: {}}}"), "x: is not a body"),
    "path kind": (FOLLOW.format("{arm: {cycloyd: {}}}"), "Did you mean 'cycloid'"),
    "path number": (
        FOLLOW.format("{arm: {cycloid: {rate: fast, duration: 1}}}"),
        "cycloid.rate: must be",
    ),
    "path both": (
        FOLLOW.format("{arm: {cycloid: {duration: 1}}}"),
        "distance or rate must be given",
    ),
    "path free": (FOLLOW.format("{base: {hold: {}}}"), "needs a joint whose speeds are rates"),
    "path count": (FOLLOW.format("{arm: [{hold: {}}, {hold: {}}]}"), "needs 1 paths, got 2"),
    "impulse": (
        FOLLOW.format(
            "{arm: {sequence: [{cycloid: {rate: 1, duration: 1, printed: true}}, {hold: {duration: 1}}]}}"
        ),
        "has a jump in its velocity at t = 1 s",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_scenarios_are_refused(case, tmp_path):
    rest, message, *options = REFUSED[case]
    with pytest.raises(lb.FileError, match=message) as caught:
        scenario(tmp_path, rest, **(options[0] if options else {}))
    assert caught.value.file


@pytest.mark.parametrize(
    "content, message",
    [
        ("", "must start with a header"),
        ("t,arm\n", "must start with a header"),
        ("time,arm\n0,1\n", "must start with a header"),
        ("t,arm\n0,x\n", "column 'arm' of t.csv: row 1 below the header has 'x'"),
        ("t,arm\n0,1\n1\n", "row 2 below the header of t.csv has 1 entries .* has 2 columns"),
        ("t,leg\n0,1\n", "column 'leg' of t.csv: there is no body 'leg' in 'case'"),
        ("t,amr.modes[0]\n0,1\n", r"column 'amr.modes\[0\]' of t.csv: .* Did you mean 'arm'"),
        ("t,base\n0,1\n", r"it has 6 speeds; name one of them, such as base\[0\]"),
        ("t,arm[1]\n0,1\n", "there are 1 speeds"),
        ("t,arm,arm[0]\n0,1,2\n", "two columns for the same speed"),
        ("t,arm\n0,nan\n", "column 'arm' of t.csv: row 1 below the header has 'nan'"),
    ],
)
def test_bad_csv_files_are_refused(content, message, tmp_path):
    (tmp_path / "t.csv").write_text(content)
    with pytest.raises(lb.FileError, match=message):
        scenario(tmp_path, "torque: {table: {csv: t.csv}}")


def test_external_forces_act_in_scenarios(tmp_path):
    s = scenario(
        tmp_path,
        "external:\n  - {body: arm, node: tip, force: [0, 0, 2]}\n  - {body: base, moment: [1, 0, 0]}\n"
        "  - {body: arm, table: {times: [0, 1], force: [[0, 0, 0], [3, 0, 0]]}}",
    )
    assert np.array_equal(s.external["arm", "tip"], [0, 0, 0, 0, 0, 2])
    assert np.array_equal(s.external["base", None], [1, 0, 0, 0, 0, 0])
    assert np.array_equal(s.external["arm", None](0.5), [0, 0, 0, 1.5, 0, 0])
    r = lb.simulate(s.system, 0.1, **(s.settings | {"t_eval": [0.0, 0.1]}))
    assert set(r.external) == set(s.external) and r.momentum[-1, 5] == pytest.approx(0.2, abs=1e-9)
    assert not scenario(tmp_path, "external: none").external


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("external: [{body: leg, force: [0, 0, 1]}]", "is not a body of"),
        ("external: [{body: arm, node: top, force: [0, 0, 1]}]", "top"),
        ("external: [{body: arm, force: [0, 1]}]", "force"),
        ("external: [{body: arm}]", "needs one of wrench, force, moment, table"),
        (
            "external: [{body: arm, force: [0, 0, 1]}, {body: arm, moment: [0, 0, 1]}]",
            "already given",
        ),
        ("external: [{body: arm, table: {times: [0, 1], force: [[0, 0, 1]]}}]", "table"),
        ("external: down", "external"),
    ],
)
def test_bad_external_forces_are_refused_with_their_place(tmp_path, text, message):
    with pytest.raises(lb.FileError, match=message) as caught:
        scenario(tmp_path, text)
    assert caught.value.line > 1


# equilibria

HANGING = """
model:
  gravity: [0, 0, -9.81]
  bodies:
    upper: {beam: {length: 1, mass: 2, EI: 100, modes: 1}, joint: {revolute: y, stiffness: 40}}
    lower: {to: upper, at: tip, beam: {length: 1, mass: 1, EI: 50, modes: 1}, joint: {revolute: y}}
"""


def test_initial_equilibrium_is_that_of_the_library(tmp_path):
    s = scenario(tmp_path, "initial: equilibrium", HANGING)
    assert s.in_equilibrium and not scenario(tmp_path, "", HANGING).in_equilibrium
    assert np.array_equal(s.q0, lb.equilibrium(s.system))
    assert np.abs(s.q0).max() > 0.1
    off = scenario(tmp_path, "initial: {equilibrium: false}", HANGING)
    assert np.array_equal(off.q0, off.system.neutral())


def test_equilibria_have_the_forces_at_the_start(tmp_path):
    force = "external: [{body: lower, node: tip, table: {times: [0, 1], force: [[9, 0, 0], [0, 0, 0]]}}]"
    torque = "torque: {table: {times: [0, 1], bodies: {upper: [4, 0]}}}"
    start = "initial: {q: {upper: 0.5}, equilibrium: true}"
    s = scenario(tmp_path, f"{start}\n{force}\n{torque}", HANGING)
    wrench = {("lower", "tip"): [0, 0, 0, 9.0, 0, 0]}
    tau = np.zeros(s.system.nv)
    tau[s.system.layout["upper"].v_joint] = 4.0
    rest = np.zeros(s.system.nv)
    held = lb.inverse_dynamics(s.system, s.q0, rest, rest, external=wrench)
    assert np.allclose(held, tau, atol=1e-10)
    other = "initial: {equilibrium: {torque: {upper: -3}, locked: [lower]}}"
    s = scenario(tmp_path, f"{other}\n{torque}", HANGING)
    held = lb.bias(s.system, s.q0, rest)
    assert np.isclose(held[s.system.layout["upper"].v_joint][0], -3.0)
    assert s.q0[s.system.layout["lower"].q_joint] == 0.0


def test_paths_hold_the_joints_of_an_equilibrium(tmp_path):
    paths = "{upper: {cycloid: {distance: 0.5, duration: 1}}, lower: {hold: {}}}"
    rest = f"initial: {{q: {{upper: 0.3}}, equilibrium: true}}\ntorque: {{follow: {{joints: {paths}}}}}"
    s = scenario(tmp_path, rest, HANGING)
    upper = s.system.layout["upper"]
    assert s.q0[upper.q_joint] == 0.3 and s.paths["upper"](0.0).position == 0.3
    assert np.abs(lb.bias(s.system, s.q0, np.zeros(s.system.nv))[upper.v_modes]).max() < 1e-10
    assert np.abs(s.q0[upper.q_modes]).max() > 1e-3


def test_all_joints_of_an_equilibrium_can_be_locked(tmp_path):
    s = scenario(tmp_path, "initial: {equilibrium: {all_locked: true}}", HANGING)
    joints = [s.q0[where.q_joint] for where in s.system.layout.values()]
    assert not np.any(joints) and s.q0.any()


def test_an_equilibrium_in_a_steady_spin(tmp_path):
    model = """
model:
  bodies:
    rotor:
      beam: {length: 1, mass: 2, EI: 100, EA: 1e4, modes: {stretch: 2}}
      joint: {revolute: z}
"""
    start = "initial: {v: {rotor: 5}, equilibrium: {locked: [rotor]}}"
    s = scenario(tmp_path, start, model)
    assert np.array_equal(s.q0, lb.equilibrium(s.system, v=s.v0, locked=["rotor"])) and s.q0[0] > 0


def test_motions_of_joints(tmp_path):
    """`motion` has the paths that joints follow exactly, and `torque` acts on the others."""
    s = scenario(
        tmp_path,
        "initial: {q: {arm: 0.2}, equilibrium: {locked: [base]}}\nmotion: {arm: {quintic: {end: 1, duration: 1.5}}}\n"
        "torque: {constant: {base: [0, 0, 0, 0, 0, 1]}}\nexternal: [{body: arm, node: tip, force: [0, 1, 0]}]",
    )
    assert s.motion["arm"](0.0).position == 0.2 and s.settings["motion"] == s.motion
    r = lb.simulate(s.system, s.duration, **s.settings)
    # the same kernel in two compiled functions
    assert_close(r.joint("arm"), s.motion["arm"](r.t).position, 1e-13)
    assert r.driven == ("arm",) and r.power_audit().accuracy < 1e-5


def test_motions_give_the_speeds_at_the_start(tmp_path):
    path = "motion: {arm: {quintic: {end: 1, duration: 1.5, start_velocity: 0.4}}}"
    assert scenario(tmp_path, path).v0[-1] == 0.4
    with pytest.raises(lb.FileError, match=r"motion\.arm.* starts with the speed 0.3 of `initial`, but its motion starts with 0.4"):  # fmt: skip
        scenario(tmp_path, f"{path}\ninitial: {{v: {{arm: 0.3}}}}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("motion: {amr: {hold: {}}}", "is not a body of 'case'.*'arm'"),
        ("motion: {base: {hold: {}}}", "needs a joint whose speeds are rates of its coordinates"),
        ("motion: {arm: {hold: {}}}\ntorque: {follow: {joints: {arm: {hold: {}}}}}", "give only one of the two"),
    ],
)  # fmt: skip
def test_motions_that_make_no_sense(tmp_path, text, message):
    with pytest.raises(lb.FileError, match=message):
        scenario(tmp_path, text)


CLOSED = """
limber: 1
model:
  name: four-bar
  gravity: [0, -9.81, 0]
  bodies:
    crank: {rigid: {mass: 1, inertia: [1, 1, 1], nodes: {tip: [1, 0, 0]}}, joint: {revolute: z}}
    coupler:
      rigid: {mass: 1, inertia: [1, 1, 1], nodes: {tip: [2, 0, 0]}}
      joint: {revolute: z}
      to: crank
      at: tip
    rocker:
      rigid: {mass: 1, inertia: [1, 1, 1], nodes: {tip: [1.5, 0, 0]}}
      joint: {revolute: z}
      offset: [2, 0, 0]
  closures:
    - name: pin
      a: {body: coupler, node: tip}
      b: {body: rocker, node: tip}
      joint: {compound: [{revolute: z}, {prismatic: z}, {revolute: x}, {revolute: y}]}
initial: INITIAL
duration: 0.5
"""


def closed_case(tmp_path, initial):
    file = tmp_path / "case.yaml"
    file.write_text(CLOSED.replace("INITIAL", initial))
    return lb.io.load_scenario(file)


def test_closed_scenarios_start_from_a_rough_guess(tmp_path):
    guess = "q: {crank: 1.0, rocker: 1.5}, v: {crank: 2.0}"
    case = closed_case(tmp_path, f"{{{guess}, assemble: {{locked: [crank]}}}}")
    assert case.q0[0] == 1.0 and case.v0[0] == 2.0
    result = lb.simulate(case.system, case.duration, **case.settings)
    position, velocity = result.constraint_residual()
    assert max(np.abs(position).max(), np.abs(velocity).max()) < 1e-12
    with pytest.raises(lb.LimberError, match=r"q0 does not satisfy the closures .*lb.assemble"):
        case = closed_case(tmp_path, f"{{{guess}, assemble: false}}")
        lb.simulate(case.system, case.duration, **case.settings)
    with pytest.raises(lb.FileError, match=r"case.yaml:\d+.*speeds of `v` contradict the closures"):
        closed_case(tmp_path, "{q: {crank: 1.0}, v: [1.0, 1.0, 1.0], assemble: true}")
    with pytest.raises(lb.FileError, match=r"locked.*is not a body.*'crank'"):
        closed_case(tmp_path, "{assemble: {locked: [crnk]}}")
