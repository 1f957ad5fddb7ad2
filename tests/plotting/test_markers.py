"""Markers in pictures: squares for rigid bodies, dots for bodies that are known by their nodes alone."""

import numpy as np
import pytest

import limber as lb
from limber.plotting.stage import mass_markers


def satellite():
    """A hub with a boom that carries a payload."""
    a = lb.Assembly("satellite")
    a.attach("hub", lb.RigidBody(200.0, inertia=(30, 40, 50)), lb.Free())
    a.attach("boom", lb.beam(4.0, 6.0, EI=100.0, modes=1), lb.Fixed(), to="hub")
    a.attach("payload", lb.RigidBody(1.6), lb.Fixed(), to="boom", at="tip")
    return a.build()


def markers(axes, kind):
    return [line for line in axes.lines if line.get_marker() == kind]


def test_rigid_bodies_are_squares_that_grow_with_the_cube_root_of_mass():
    s = satellite()
    drawn = lb.viewer.geometry(s, s.neutral())
    sizes = mass_markers(s, drawn)
    assert sizes == pytest.approx({"hub": 9.5, "payload": 3.5 + 6.0 * 0.2})
    axes = lb.plotting.mode_shapes(s, count=1).axes[0]
    squares = markers(axes, "s")
    assert len(squares) == 6  # still and at both ends of the swing
    assert {line.get_markersize() for line in squares} == set(sizes.values())
    tips = sorted(
        float(np.ravel(line.get_ydata())[0]) for line in squares if line.get_markersize() < 9.0
    )
    assert (
        tips[0] < -0.1 and tips[1] == pytest.approx(0.0) and tips[2] > 0.1
    )  # the payload moves with the boom


def test_bodies_known_by_their_nodes_are_dots_without_ribs(tmp_path):
    position = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    rng = np.random.default_rng(0)
    shapes = 0.1 * rng.standard_normal((4, 3, 2))
    whole = lb.FlexibleBody.from_nodes(np.ones(4), position, shapes, shapes, np.diag([4.0, 9.0]))
    lb.io.write_sid(whole, tmp_path / "plate.SID_FEM")
    a = lb.Assembly("sid")
    a.attach("plate", lb.io.read_sid(tmp_path / "plate.SID_FEM"), lb.Fixed())
    s = a.build()
    drawn = lb.viewer.geometry(s, s.neutral())
    assert len(drawn.skeletons["plate"].marks) == 4 and not len(drawn.ribs["plate"])
    axes = lb.plotting.mode_shapes(s, count=1).axes[0]
    assert sum(len(line.get_xdata()) == 4 for line in markers(axes, "o")) == 3
    result = lb.simulate(s, 0.1, q0=np.array([0.1, 0.0]), t_eval=[0.0, 0.1])
    result.animate(tmp_path / "plate.gif", fps=10)
    page = result.report(tmp_path / "plate.html").read_text()
    assert '"marks":[0,1,2,3]' in page.replace(" ", "")


def test_bodies_with_mass_points_have_no_dots():
    s = satellite()
    drawn = lb.viewer.geometry(s, s.neutral())
    assert not any(len(x.marks) for x in drawn.skeletons.values())
