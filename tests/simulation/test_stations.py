"""Stations of frames: by member, by node, by end and by place, with messages that list them."""

import numpy as np
import pytest

import limber as lb

SECTION = lb.Section.rectangle(0.02, 0.03, lb.Material(E=200e9, nu=0.3, rho=7800.0)).slender()
NODES = {"root": (0, 0, 0), "knee": (1, 0, 0), "tip": (1, 0.5, 0)}
FORCE = 3.0


@pytest.fixture(scope="module")
def result():
    """A bent boom on a wall, divided, with a force at its tip."""
    frame = lb.structures.frame(NODES, [("root", "knee"), ("knee", "tip")], SECTION, divide=3)
    a = lb.Assembly("boom")
    body = frame.reduce(clamped="root", interface="tip", modes=1, method="static-correction")
    a.attach("boom", body, lb.Fixed())
    s = a.build()
    q = lb.equilibrium(s, external={("boom", "tip"): np.array([0, 0, 0, 0, 0, FORCE])})
    zero = np.zeros((1, s.nv))
    return lb.Result(s, np.zeros(1), q[None], zero, zero)


@pytest.mark.parametrize(
    ("at", "names", "moments"),
    [
        ("root:knee", ["root:root-knee.1"], [-1.0]),
        ("knee:root", ["knee:root-knee.2"], [0.0]),
        (("root-knee", 0.25), ["root-knee at 0.25 m"], [-0.75]),
        (("root-knee", 0), ["root-knee at 0 m"], [-1.0]),
        (
            [("root-knee", 0.5), "root:knee"],
            ["root-knee at 0.5 m", "root:root-knee.1"],
            [-0.5, -1.0],
        ),
        (("root-knee", 1.0), ["root-knee at 1 m"], [0.0]),
        ("root", ["root:root-knee.1"], [-1.0]),
        ("knee", ["knee:root-knee.2", "knee:knee-tip.1"], [0.0, -0.5]),
    ],
)
def test_stations_of_a_divided_frame_are_found_as_one_thinks_of_them(result, at, names, moments):
    forces = result.section_forces("boom", at)
    assert list(forces.names) == names
    np.testing.assert_allclose(forces.moment_y[0], FORCE * np.array(moments), atol=1e-6)


def test_a_member_has_all_its_stations(result):
    forces = result.section_forces("boom", "root-knee")
    assert forces.names[0] == "root:root-knee.1" and forces.names[-1] == "knee:root-knee.2"
    body = result.system.bodies["boom"]
    assert body.members == ("root-knee", "knee-tip") and len(body.stations) == 12
    frame = lb.structures.frame(
        NODES, [("root", "knee"), ("root", "knee"), ("knee", "tip")], SECTION
    )
    assert frame.member_names == ("root-knee", "root-knee#2", "knee-tip")
    assert frame.stations[:4] == ("root:knee", "knee:root", "root:knee#2", "knee:root#2")
    assert lb.beam(1.0, 1.0, EI=1.0, elements=2).stations == ("root", "node1", "tip")
    assert lb.beam(1.0, 1.0, EI=1.0).members == ()


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("elbow", "Give a member: 'root-knee', 'knee-tip'; a node: 'root'"),
        ("knee:rot", "Did you mean"),
        (("root-knee", 2.0), "from 0 to the length 1 of the member"),
        (("root-knee", np.nan), "the distance along 'root-knee'"),
        (("knees", 0.1), r"is not a station of body 'boom'"),
        (3.0, "('root-knee', distance in m)"),
        (object(), "at must be a station"),
    ],
)
def test_messages_list_what_can_be_asked_for(result, at, message):
    with pytest.raises(lb.LimberError) as error:
        result.section_forces("boom", at)
    assert message in str(error.value)


def test_section_forces_are_shown_in_a_line_and_printed_as_a_table(result):
    forces = result.section_forces("boom", "root-knee")
    assert (
        repr(forces)
        == "SectionForces(1 times; 6 stations: root:root-knee.1, root-knee.1:root, root-knee.1:root-knee.2, ...)"
    )
    lines = str(forces).splitlines()
    assert lines[1].split()[:2] == ["station", "axial"] and len(lines) == 8
    assert lines[2].startswith("root:root-knee.1 ") and " 3" in lines[2]
    for kind in (
        lb.structures.beam_forces(lb.beam(1.0, 1.0, EI=1.0)),
        result[:0].section_forces("boom"),
    ):
        assert "\n" not in repr(kind) and len(str(kind).splitlines()) > 10
    assert len(str(result.section_forces("boom", [])).splitlines()) == 2
    beam = lb.beam(1.0, 1.0, EI=1.0)
    assert len(str(lb.structures.beam_forces(beam, [])).splitlines()) == 2
