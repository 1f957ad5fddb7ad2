"""Pictures of results whose topology changes: closures are drawn where and when they are active."""

import numpy as np
import pytest
from PIL import Image

import limber as lb
from helpers.closed import moved_four_bar
from limber.drawing.geometry import result_geometry
from simulation.grasping import GRASP, flyer


@pytest.fixture(scope="module")
def result():
    s, q, v = flyer()
    again = [lb.release("grasp"), lb.attach((*GRASP[:2], lb.Spherical(), "grasp"), in_place=True)]
    events = [
        lb.Event(0.21, lb.attach(GRASP, in_place=True)),
        lb.Event(0.41, lb.lock("arm1/boom")),
        lb.Event(0.61, again),
        lb.Event(0.81, lb.release("grasp")),
    ]
    return lb.simulate(s, 1.0, q0=q, v0=v, events=events, t_eval=np.linspace(0.0, 1.0, 41))


def test_closures_are_drawn_where_they_are_active(result):
    g = result_geometry(result)
    assert list(g.closures) == ["grasp", "lock of arm1/boom", "grasp (2)"]
    t = result.t
    spans = {"grasp": (0.21, 0.61), "lock of arm1/boom": (0.41, 2.0), "grasp (2)": (0.61, 0.81)}
    for name, (start, end) in spans.items():
        drawn = np.isfinite(g.closures[name]).all(axis=(1, 2))
        np.testing.assert_array_equal(drawn, (t > start) & (t < end))
    palm = result.node("arm1/hand", "palm").position
    rows = np.isfinite(g.closures["grasp"][:, 1, 0])
    assert np.abs(g.closures["grasp"][rows, 1] - palm[rows]).max() < 1e-9
    assert np.abs(g.closures["grasp"][rows, 2] - palm[rows]).max() < 1e-9  # it holds
    joint = g.joints["arm1/boom"].outboard
    rows = t > 0.42
    assert np.abs(g.closures["lock of arm1/boom"][rows] - joint[rows, None]).max() < 1e-9
    assert np.isfinite(g.bounds()).all()


def test_the_report_tells_of_changes(result, tmp_path):
    text = result.report(tmp_path / "r.html", what="joints").read_text()
    for change in result.changes:
        said = str(change).split(": ", 1)[1].replace("'", "&#x27;")
        assert said in text
    assert "active: grasp, lock of arm1/boom" in text and "impacts" in text
    other = moved_four_bar().report(tmp_path / "o.html", what="joints").read_text()
    assert "Changes of topology" not in other


def test_animations_of_changing_topology_have_all_frames(result, tmp_path):
    file = result.animate(tmp_path / "r.gif", fps=10)
    with Image.open(file) as picture:
        assert picture.n_frames == 11
