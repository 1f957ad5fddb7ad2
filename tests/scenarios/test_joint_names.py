"""Names of joints in scenario files."""

import pytest

import limber as lb

MODEL = """
limber: 1
model:
  gravity: [0, 0, -9.81]
  bodies:
    arm: {rigid: {mass: 1, com: [1, 0, 0], inertia: [0.1, 0.1, 0.1]}, joint: {revolute: y}, joint_name: hinge}
duration: 0.1
"""


@pytest.mark.parametrize(
    "section",
    [
        "external: [{body: hinge, force: [0, 0, 1]}]",
        "events: [{when: {distance: [{body: hinge}, {world: [0, 0, 0]}], below: 0.1}, stop: true}]",
    ],
    ids=["external", "distance"],
)
def test_the_name_of_a_joint_where_a_body_is_needed_is_refused_with_its_place(tmp_path, section):
    (tmp_path / "case.yaml").write_text(MODEL + section)
    with pytest.raises(
        lb.FileError, match=r"case\.yaml:8:.*body: 'hinge' is a joint.*name of its body, 'arm'"
    ):
        lb.io.load_scenario(tmp_path / "case.yaml")


def test_events_lock_joints_by_their_names(tmp_path):
    runs = []
    for name in ("arm", "hinge"):
        section = f"events: [{{at: 0.05, do: [{{lock: {name}}}]}}]"
        (tmp_path / "case.yaml").write_text(MODEL + section)
        case = lb.io.load_scenario(tmp_path / "case.yaml")
        runs.append(lb.simulate(case.system, case.duration, **case.settings))
    assert runs[0].q[-1] == runs[1].q[-1] != 0.0
    assert [change.name for change in runs[1].changes] == ["arm"]


def test_servos_with_names_of_their_own_drive_their_joints(tmp_path):
    runs = []
    for servo in ("body: arm", "body: hinge", "body: hinge, name: motor"):
        section = (
            "controller: {pd: {kp: 50, kd: 5, sample_time: 0.01, reference: {hinge: 0.3}}, "
            f"actuators: [{{servo: {{{servo}}}}}]}}"
        )
        (tmp_path / "case.yaml").write_text(MODEL + section)
        case = lb.io.load_scenario(tmp_path / "case.yaml")
        runs.append(lb.simulate(case.system, case.duration, **case.settings).q[-1])
    assert runs[0] == runs[1] == runs[2]
