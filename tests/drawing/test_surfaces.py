"""Shapes on bodies: they bend as the bodies do, and the dynamics does not know of them."""

import copy
import pickle

import numpy as np
import pytest

import limber as lb
from helpers.pictured import block
from helpers.shaped import GOLD, NAVY, bent, spacecraft, write_stl
from limber.drawing.colours import rgb
from limber.drawing.surface import bending
from limber.shapes import Box, Mesh, Panel, Tube
from limber.viewer import geometry


def test_shapes_change_nothing_in_the_dynamics():
    shaped = spacecraft()
    plain = lb.Assembly("plain")
    for item in shaped.attachments.values():
        place = item.to, item.at, item.offset, item.rotation, item.inboard
        plain.attach(item.name, item.body, item.joint, *place)
    bare = plain.build()
    assert shaped.dynamics.const.tobytes() == bare.dynamics.const.tobytes()
    assert shaped.dynamics.topo.tobytes() == bare.dynamics.topo.tobytes()


def test_shapes_survive_copies_and_changes():
    s = spacecraft()
    kinds = [[x.kind for x in item.shapes] for item in s.attachments.values()]
    a = lb.Assembly("a")
    for item in s.attachments.values():
        place = item.to, item.at, item.offset, item.rotation, item.inboard
        a.attach(item.name, item.body, item.joint, *place, shapes=item.shapes)
    for made in (
        pickle.loads(pickle.dumps(s)),
        copy.deepcopy(s),
        s.with_parameters({"bus.mass": 60.0}),
        a.rigid().build(),
    ):
        assert [[x.kind for x in i.shapes] for i in made.attachments.values()] == kinds
        geometry(made, made.neutral())


def test_a_panel_is_as_wide_and_as_long_as_it_should_be():
    s = spacecraft()
    g = geometry(s, s.neutral())
    corners = g.facets("east").reshape(-1, 3)
    assert np.allclose(np.ptp(corners, axis=0), [3.0, 0.8, 0.03])
    assert g.segments("east").shape[-3] == 0  # its line, and the stub to its joint, are not drawn
    assert {tuple(x) for x in g.skeletons["east"].triangle_colours("#000000")} == {rgb(NAVY)}
    paints = g.skeletons["bus"].triangle_colours("#123456")
    assert [tuple(paints[i]) for i in (0, -1)] == [rgb(GOLD), rgb("#123456")]


def test_swept_shapes_and_shapes_at_nodes_follow_the_nodes():
    """The middle of the section at each end of a panel is the node there, and its edges turn as the node does."""
    r = bent()
    s, q = r.system, r.q[3].copy()
    for where in s.layout.values():
        q[where.q_modes] *= 0.1  # the turns of sections are of first order
    g = geometry(s, q)
    east = g.skeletons["east"]
    first = int(east.triangles.min())
    R, tip = lb.pose(s, q, "east", "tip")
    section = g.points["east"][-4:]
    assert np.allclose(section.mean(axis=0), tip, atol=1e-12)
    across = section[1] - section[0]
    assert np.allclose(across / np.linalg.norm(across), R[:, 1], atol=2e-3)
    assert np.allclose(g.points["east"][first : first + 4].mean(axis=0), lb.pose(s, q, "east")[1])
    _, tip = lb.pose(s, q, "boom", "tip")
    every = g.facets("boom")[-g.skeletons["boom"].paints[-1][0] :].reshape(-1, 3)
    assert np.allclose(every.mean(axis=0), tip, atol=1e-12)


def test_a_box_on_a_beam_bends_with_it():
    """Points of a shape on the line of a beam are where the beam is."""
    body = lb.beam(2.0, 1.0, EI=1.0, modes={"y": 2}, elements=8)
    nodes = body.node_set
    shapes = bending(nodes.position, body)
    assert np.abs(shapes.translation - nodes.translation).max() < 1e-3
    assert np.abs(shapes.rotation - nodes.rotation).max() < 2e-2 * np.abs(nodes.rotation).max()
    a = lb.Assembly("a").attach(
        "arm", body, lb.Fixed(), shapes=Box((2.0, 0.1, 0.1), at=(1.0, 0, 0))
    )
    s = a.build()
    q = np.array([0.2, 0.0])
    corners = geometry(s, q).facets("arm").reshape(-1, 3)
    _, tip = lb.pose(s, q, "arm", "tip")
    right = corners[np.argsort(corners[:, 0])[-6:]]
    assert np.abs(right[:, 1] - tip[1]).max() < 0.06
    assert abs(tip[1]) > 0.2


def test_a_mesh_on_a_finite_element_body_bends_with_its_surface(tmp_path):
    """Points of a mesh that are points of the surface move as these do."""
    body = block().bodies["block"]
    surface = body.outline.shapes
    shapes = bending(surface.position, body)
    size = np.abs(surface.translation).max()
    assert np.abs(shapes.translation - surface.translation).max() < 1e-6 * size
    a = lb.Assembly("a")
    a.attach("block", body, lb.Fixed(), shapes=Mesh(write_stl(tmp_path / "t.stl"), scale=0.2))
    s = a.build()
    drawn = geometry(s, s.neutral()).skeletons["block"]
    own = len(body.drawing().outline.triangles)
    assert len(drawn.triangles) > own
    assert drawn.paints[0][0] == own


def test_lines_stay_beside_shapes_at_nodes():
    a = lb.Assembly("a")
    arm = lb.beam(1.0, 1.0, EI=1.0, modes={"y": 1})
    a.attach("arm", arm, lb.Revolute("z"), shapes=Box((0.1, 0.1, 0.1), node="tip"))
    s = a.build()
    g = geometry(s, s.neutral())
    assert len(g.skeletons["arm"].edges)
    assert np.allclose(np.ptp(g.facets("arm").reshape(-1, 3), axis=0), 0.1)


def test_large_meshes_are_made_coarser():
    s = spacecraft()
    few = geometry(s, s.neutral(), triangles=300)
    many = geometry(s, s.neutral(), triangles=20_000)
    assert len(few.skeletons["bus"].triangles) < 320 < len(many.skeletons["bus"].triangles)


@pytest.mark.parametrize("shape", [Tube(0.05), Panel(0.3, 0.02)])
def test_rigid_bars_have_tubes_as_well(shape):
    bar = lb.RigidBody(1.0, nodes={"tip": (0, 0, 2.0)})
    s = lb.Assembly("a").attach("bar", bar, lb.Prismatic("x"), shapes=shape).build()
    corners = geometry(s, [0.0]).facets("bar").reshape(-1, 3)
    assert np.ptp(corners[:, 2]) == pytest.approx(2.0)
