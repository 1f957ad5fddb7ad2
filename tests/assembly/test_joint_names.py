"""Joints are found by names of their own besides the names of their bodies."""

import pickle

import numpy as np
import pytest

import limber as lb

BALL = lb.RigidBody(1.0, (0.1, 0.2, 0.3), (0.1, 0.1, 0.1))


def arm():
    """An arm with a hip of three joints, of which one has no name, and an elbow."""
    made = lb.Assembly("arm", (0, 0, -9.81))
    hip = lb.CompoundJoint([lb.Prismatic("x"), lb.Spherical(), lb.Prismatic("z", damping=1.0)])
    made.attach("hip", BALL, hip, joint_name=["hip_x", "", "hip_z"])
    made.attach("fore", BALL, lb.Revolute("y"), "hip", offset=(1, 0, 0), joint_name="elbow")
    made.attach("hand", BALL, lb.Revolute("y"), "fore", offset=(1, 0, 0), joint_name="fore")
    return made.attach("tip", BALL, lb.Revolute("z"), "hand", offset=(1, 0, 0))


def test_layout_and_joints_take_names_of_joints():
    s = arm().build()
    assert s.layout["elbow"] == s.layout["fore"]
    assert s.joints["elbow"] is s.joints["fore"]
    assert list(s.layout) == list(s.joints) == ["hip", "fore", "hand", "tip"]
    assert "elbow" in s.layout and "elbow" not in s.bodies
    assert s.layout.get("elbow") == s.layout["fore"] and s.layout.get("nothing") is None
    with pytest.raises(KeyError):
        _ = s.layout["nothing"]


def test_parts_of_a_compound_joint_have_their_own_places():
    s = arm().build()
    first, last = s.layout["hip_x"], s.layout["hip_z"]
    assert (first.q_joint, first.v_joint) == (slice(0, 1), slice(0, 1))
    assert (last.q_joint, last.v_joint) == (slice(5, 6), slice(4, 5))
    assert last.q_modes.start == last.q_modes.stop
    assert repr(s.joints["hip_z"]) == repr(lb.Prismatic("z", damping=1.0))


def test_a_body_goes_before_a_joint_of_the_same_name():
    s = arm().build()
    assert s.joints["fore"] is s.attachments["fore"].joint


def test_arguments_that_name_joints_take_their_names():
    s = arm().build()
    q, v, tau = s.neutral(), np.linspace(0.1, 0.8, s.nv), np.zeros(s.nv)
    by_body, by_joint = (lb.forward_dynamics(s, q, v, tau, motion={name: [2.0]}) for name in ("fore", "elbow"))  # fmt: skip
    assert np.array_equal(by_body, by_joint)
    held = [lb.modes(s, q, locked=("hip", name)).omega for name in ("fore", "elbow")]
    assert np.array_equal(*held)
    path = lb.trajectories.Hold([0.0])
    runs = [lb.simulate(s, 0.1, motion={name: path}, t_eval=[0.1]).q for name in ("fore", "elbow")]
    assert np.array_equal(*runs)


def test_what_needs_a_body_says_which():
    s = arm().build()
    with pytest.raises(
        lb.LimberError,
        match="'elbow' is a joint of the system 'arm': give the name of its body, 'fore'",
    ):
        lb.pose(s, s.neutral(), "elbow")
    with pytest.raises(lb.LimberError, match="'hip_x' is one of several joints of the body 'hip'"):
        lb.modes(s, s.neutral(), locked=["hip_x"])
    with pytest.raises(lb.LimberError, match="motion contains the joint of body 'fore' twice"):
        lb.forward_dynamics(s, s.neutral(), np.zeros(s.nv), np.zeros(s.nv), motion={"fore": [0], "elbow": [0]})  # fmt: skip


def test_gears_take_names_of_joints():
    made = lb.Assembly("a")
    made.attach(
        "hip", BALL, lb.CompoundJoint([lb.Revolute("x"), lb.Revolute("y")]), joint_name=["x", "y"]
    )
    made.attach("knee", BALL, lb.Revolute("x"), "hip", joint_name="bend")
    made.gear("bend", "y", 2.0)
    assert dict(made.closures["relation1"].terms) == {("knee", 0): 1.0, ("hip", 1): -2.0}
    with pytest.raises(
        lb.LimberError, match="named twice, once by its body and once by its own name"
    ):
        made.relate({"bend": 1.0, "knee": 2.0})


def test_names_are_checked():
    made = arm()
    with pytest.raises(lb.LimberError, match="joint_name='elbow' of 'new' is already taken"):
        made.attach("new", BALL, lb.Revolute("x"), joint_name="elbow")
    with pytest.raises(
        lb.LimberError, match="joint_name of 'new' must be a name, or one name for each"
    ):
        made.attach("new", BALL, lb.Revolute("x"), joint_name=["a", "b"])


def test_names_stay_in_copies_and_files(tmp_path):
    made = arm()
    lb.save(made, tmp_path / "arm.yaml")
    again = lb.load(tmp_path / "arm.yaml")
    s = made.build()
    for system in (
        again.build(),
        pickle.loads(pickle.dumps(s)),
        made.rigid().build(),
        s.with_parameters({"fore.mass": 2.0}),
    ):
        assert system.layout["hip_z"] == s.layout["hip_z"]
        assert repr(system.joints["elbow"]) == repr(s.joints["elbow"])
    assert again.attachments["hip"].joint_names == ("hip_x", "", "hip_z")


def test_scenarios_take_names_of_joints(tmp_path):
    lb.save(arm(), tmp_path / "arm.yaml")
    (tmp_path / "case.yaml").write_text(
        "limber: 1\nmodel: arm.yaml\nduration: 0.1\n"
        "initial: {q: {elbow: {joint: [0.3]}, hip_x: {joint: [0.2]}}}\n"
    )
    case = lb.io.load_scenario(tmp_path / "case.yaml")
    assert case.q0[case.system.layout["fore"].q_joint].tolist() == [0.3]
    assert case.q0[0] == 0.2
    text = "limber: 1\nmodel: arm.yaml\nduration: 1\n"
    for more in (
        "initial: {v: {elbow: {joint: [0.3]}, fore: {joint: [0.2]}}}",
        "motion: {elbow: {cycloid: {distance: 0.1, duration: 1}}, fore: {cycloid: {distance: 0.1, duration: 1}}}",
    ):
        (tmp_path / "case.yaml").write_text(text + more)
        with pytest.raises(lb.FileError, match="'elbow' and 'fore' are the same joint: keep one"):
            lb.io.load_scenario(tmp_path / "case.yaml")
    (tmp_path / "case.yaml").write_text(
        text + "motion: {elbow: {cycloid: {distance: 0.1, duration: 1}}}"
    )
    assert list(lb.io.load_scenario(tmp_path / "case.yaml").motion) == ["fore"]


def test_urdf_and_mjcf_give_names(tmp_path):
    urdf = (
        '<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="turn" type="continuous"><parent link="a"/><child link="b"/></joint></robot>'
    )
    mjcf = (
        "<mujoco><worldbody><body name='b'><joint name='turn'/><joint name='bend' axis='1 0 0'/>"
        "<geom size='1'/></body></worldbody></mujoco>"
    )
    for name, text, places in (
        ("r.urdf", urdf, {"turn": slice(0, 1)}),
        ("m.xml", mjcf, {"turn": slice(0, 1), "bend": slice(1, 2)}),
    ):
        (tmp_path / name).write_text(text)
        s = lb.load(tmp_path / name).build()
        assert {joint: s.layout[joint].v_joint for joint in places} == places


def hand():
    """A turret with an upper arm and a finger; all joints have names."""
    made = lb.Assembly("robot", (0, 0, -9.81))
    made.attach("turret", BALL, lb.Revolute("z"), joint_name="j1")
    made.attach("upper", BALL, lb.Revolute("y"), "turret", offset=(1, 0, 0), joint_name="j2")
    wrist = lb.CompoundJoint([lb.Revolute("x"), lb.Revolute("y")])
    return made.attach("wrist", BALL, wrist, "upper", offset=(1, 0, 0), joint_name=["roll", "tilt"])


def test_results_give_joints_by_their_names():
    s = hand().build()
    r = lb.simulate(s, 0.1, v0=[0.3, -0.2, 0.5, 0.7])
    assert np.array_equal(r.joint("j2"), r.joint("upper"))
    assert np.array_equal(r.joint_speed("j1"), r.joint_speed("turret"))
    assert np.array_equal(r.joint("tilt"), r.joint("wrist")[:, 1:])
    shown = [r.plot("joints", bodies=[name]).axes[0].lines for name in ("j2", "upper")]
    assert np.array_equal(shown[0][0].get_ydata(), shown[1][0].get_ydata())
    with pytest.raises(lb.LimberError, match="'j2' is a joint of the system 'robot'"):
        r.modal("j2")
    with pytest.raises(lb.LimberError, match="body='j3' is not in the system 'robot'"):
        r.joint("j3")


def test_a_wrong_name_of_a_joint_is_told_with_those_that_there_are():
    s = hand().build()
    told = "'wrist', and the joints 'j1', 'j2', 'roll', 'tilt'. Did you mean 'roll'?"
    for call in (s.configuration, s.speeds, lambda x: lb.modes(s, locked=list(x))):
        with pytest.raises(lb.LimberError) as caught:
            call({"rol": 0.1})
        assert str(caught.value).endswith(told)
    with pytest.raises(lb.LimberError) as caught:  # a joint has no pose
        lb.pose(s, s.neutral(), "rol")
    assert "joints" not in str(caught.value)


def test_joints_are_locked_by_their_names():
    s, v0 = hand().build(), np.array([0.3, -0.2, 0.5, 0.7])
    runs = []
    for name in ("upper", "j2"):
        events = [lb.Event(0.05, lb.lock(name)), lb.Event(0.08, lb.unlock(name))]
        runs.append(lb.simulate(s, 0.1, v0=v0, events=events))
    assert np.array_equal(runs[0].q, runs[1].q)
    assert [(c.kind, c.name) for c in runs[1].changes] == [("lock", "upper"), ("unlock", "upper")]
    assert runs[1].changes[0].impulse == runs[0].changes[0].impulse != 0.0


def test_linear_models_have_joints_by_their_names():
    s = hand().build()
    by_body = lb.linearize(s, inputs=["upper"], outputs=["turret", ("speed", "upper")])
    by_joint = lb.linearize(s, inputs=["j2"], outputs=["j1", ("speed", "j2")])
    assert by_joint.inputs == by_body.inputs and by_joint.outputs == by_body.outputs
    assert np.array_equal(by_joint.B, by_body.B) and np.array_equal(by_joint.C, by_body.C)
    with pytest.raises(lb.LimberError, match=r"inputs\[0\].*'tilt' is one of several joints"):
        lb.linearize(s, inputs=["tilt"])


def test_generated_code_drives_joints_by_their_names():
    s = hand().build()
    a, b = (lb.compile(s, "hybrid_dynamics", driven=[name]) for name in ("upper", "j2"))
    q, v, tau = s.neutral() + 0.3, np.linspace(0.1, 0.4, 4), np.linspace(-1, 1, 4)
    assert np.array_equal(a(q, v, tau)[0], b(q, v, tau)[0])


def test_servos_and_references_take_names_of_joints():
    servos = [lb.control.Servo(name, ratio=10, rotor_inertia=1e-3) for name in ("j1", "j2")]
    fitted = lb.control.fit(hand(), *servos)
    assert fitted.attachments["upper"].joint.physics.armature[0] == pytest.approx(0.1)
    s, runs = fitted.build(), []
    for first, second in (("j1", "j2"), ("turret", "upper")):
        pd = lb.control.PD(
            50.0, 5.0, sample_time=0.01, bodies=[first, second], reference={second: 0.3}
        )
        runs.append(
            lb.simulate(s, 0.3, torque=lb.control.Loop(s, pd, actuators=servos), every=0.1).q
        )
    assert np.array_equal(*runs) and abs(runs[0][-1, 1]) > 1e-3
    pd = lb.control.PD(50.0, 5.0, sample_time=0.01, reference={"j2": 0.3, "upper": 0.2})
    with pytest.raises(lb.LimberError, match="reference has the joint of 'upper' twice"):
        lb.control.Loop(s, pd)
    pd = lb.control.PD(50.0, 5.0, sample_time=0.01, reference={"tilt": 0.3})
    tilted = lb.simulate(s, 0.3, torque=lb.control.Loop(s, pd), every=0.1)
    assert tilted.joint("tilt")[-1] > tilted.joint("roll")[-1]
    with pytest.raises(lb.LimberError, match="'tilt' is one of several joints of the body 'wrist'"):
        lb.control.fit(hand(), lb.control.Servo("tilt"))
    with pytest.raises(
        lb.LimberError, match="'j2' is a joint of 'robot': give the name of its body, 'upper'"
    ):
        lb.control.SeriesElastic("j2", stiffness=1e3, rotor_inertia=1e-3).inserted(hand())


def test_campaigns_keep_signals_of_joints_by_their_names():
    s = hand().build()
    keep = {
        "own": {"final": {"joint": "j2"}},
        "body": {"final": {"joint": "upper"}},
        "part": {"final": {"torque": "tilt"}},
    }
    found = lb.campaign(s, 0.1, vary={"upper.mass": [1.0, 2.0]}, method="grid", keep=keep)
    assert found.finished.all()
    assert np.array_equal(found.quantities["own"], found.quantities["body"])
    with pytest.raises(
        lb.LimberError, match=r"keep\['m'\]: body='j2' is a joint.*its body, 'upper'"
    ):
        lb.campaign(
            s, 0.1, vary={"upper.mass": [1.0]}, method="grid", keep={"m": {"peak": {"modal": "j2"}}}
        )
