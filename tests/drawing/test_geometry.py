"""The drawn points are where the dynamics says the nodes are, and everything hangs together."""

import numpy as np
import pytest

import limber as lb
from helpers.closed import moved_four_bar
from helpers.pictured import arm, block, craft, satellite, stiffened, swinging, yoke
from limber.drawing.skeleton import neighbours
from limber.viewer import geometry

TOLERANCE = 1e-9


@pytest.mark.parametrize("make", [arm, craft, stiffened])
def test_drawn_nodes_are_the_nodes(make):
    r = make()
    g = geometry(r.system, r.q)
    for body, drawn in g.skeletons.items():
        for node in drawn.nodes:
            p = lb.pose(r.system, r.q, body, node)[1]
            assert np.abs(g.node(body, node) - p).max() < TOLERANCE


@pytest.mark.parametrize("make", [arm, craft, stiffened])
@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0])
def test_bodies_stay_joined_at_any_scale(make, scale):
    r = make()
    g = geometry(r.system, r.q, scale)
    for body, item in r.system.attachments.items():
        if item.to == "world" or item.joint.dofs > 3:
            continue
        place = g.joints[body]
        lines = g.segments(body)
        # the joint is on a point of its body
        assert (
            np.abs(g.points[body] - place.outboard[:, None]).max(axis=2).min(axis=1).max()
            < TOLERANCE
        )
        ends = np.concatenate([g.points[item.to], lines.reshape(len(r), -1, 3)], axis=1)
        assert np.abs(ends - place.inboard[:, None]).max(axis=2).min(axis=1).max() < TOLERANCE


def test_scale_zero_is_undeformed_and_links_keep_their_length():
    r = arm()
    g = geometry(r.system, r.q, 0.0)
    lengths = np.linalg.norm(np.diff(g.segments("link2"), axis=-2), axis=-1).sum(axis=(-1, -2))
    assert np.abs(lengths - 7.0).max() < TOLERANCE


def test_closures_are_where_the_dynamics_says():
    r = moved_four_bar()
    g = geometry(r.system, r.q)
    assert list(g.closures) == ["pin", "tether"]  # a relation has no place
    tip = lb.pose(r.system, r.q, "coupler", "tip")[1]
    assert np.abs(g.closures["pin"][:, :2] - tip[:, None]).max() < TOLERANCE
    R, middle = lb.pose(r.system, r.q, "rocker", "mid")
    node, a, b, world = np.moveaxis(g.closures["tether"], 1, 0)
    assert np.abs(node - middle).max() < TOLERANCE
    assert np.abs(a - middle - R @ [0, -0.1, 0]).max() < TOLERANCE
    assert np.array_equal(b, world) and np.allclose(b, [1.6, 0.3, 0.1])
    assert g.closure_points().shape == (20, 4, 3) and g.closure_lines().shape == (20, 6, 2, 3)
    assert np.allclose(g.bounds()[1][[0, 2]], [1.6, 0.1])
    assert geometry(r.system, r.q[0]).closure_points().shape == (4, 3)
    tree = arm()
    assert geometry(tree.system, tree.q).closure_lines().shape == (len(tree), 0, 2, 3)


def test_nodes_with_closures_are_drawn_among_many():
    a = lb.Assembly("long").attach(
        "rail", lb.beam(1.0, 1.0, EI=1.0, modes=1, elements=400), lb.Revolute("z")
    )
    a.close(("rail", 7), ("world", (0, 0, 0)), lb.Spherical())
    s = a.build()
    assert 7 in geometry(s, s.neutral()).skeletons["rail"].nodes


def test_one_state_has_no_batch_dimension():
    r = arm()
    g = geometry(r.system, r.q[3])
    assert g.points["link1"].shape == (11, 3)
    assert np.allclose(g.points["link1"], geometry(r.system, r.q).points["link1"][3])


def test_a_beam_with_two_nodes_is_still_drawn_bent():
    r = craft()
    assert len(r.system.bodies["boom"].nodes.names) == 2
    assert len(geometry(r.system, r.q).skeletons["boom"].position) > 8


def test_axis_of_a_revolute_joint_turns_with_its_body():
    r = craft()
    R = lb.pose(r.system, r.q, "panel", "a")[0]
    axis = geometry(r.system, r.q).joints["panel"].axis
    assert np.abs(np.abs(np.einsum("ni,ni->n", axis, R[:, :, 0])) - 1).max() < TOLERANCE
    assert geometry(r.system, r.q).joints["ball"].axis is None


def test_ribs_turn_with_their_nodes_and_only_bodies_that_twist_have_them():
    s = satellite()
    rng = np.random.default_rng(0)
    q = np.array(
        [lb.integrate(s, s.neutral(), 0.05 * rng.standard_normal(s.nv), 1.0) for _ in "ab"]
    )
    g = geometry(s, q)
    assert g.ribs["hub"].shape == (2, 0, 2, 3)
    for body in ("east", "west"):
        drawn = g.skeletons[body]
        assert g.ribs[body].shape == (2, 11, 2, 3)
        for node, point in drawn.nodes.items():
            (i,) = np.flatnonzero(drawn.ribs.points == point)
            R, p = lb.pose(s, q, body, node)
            ends = p[:, None] + np.stack([-0.5 * R[:, :, 1], 0.5 * R[:, :, 1]], axis=1)
            assert np.abs(g.ribs[body][:, i] - ends).max() < TOLERANCE
    assert all(not ribs.size for ribs in geometry(arm().system, arm().q).ribs.values())


def test_neighbours_are_the_chain_of_a_line_and_the_edges_of_a_grid():
    line = np.outer([0.0, 3.0, 1.0, 2.0], [1, 2, 2])
    assert {tuple(e) for e in neighbours(line)} == {(0, 2), (2, 3), (1, 3)}
    x, y = np.meshgrid(range(4), range(3))
    grid = np.column_stack([x.ravel(), y.ravel(), 0 * x.ravel()]).astype(float)
    edges = neighbours(grid)
    assert len(edges) == 3 * 3 + 4 * 2
    assert np.allclose(np.linalg.norm(grid[edges[:, 0]] - grid[edges[:, 1]], axis=1), 1)


def test_wrong_arguments_are_refused():
    r = arm()
    with pytest.raises(lb.LimberError, match="scale"):
        geometry(r.system, r.q, np.nan)
    with pytest.raises(lb.LimberError, match="must have shape"):
        geometry(r.system, r.q[:, 1:])
    with pytest.raises(lb.LimberError, match="System"):
        geometry(lb.models.canadarm(), r.q)


@pytest.mark.parametrize("make", [block, yoke])
def test_outlines_are_drawn_where_the_nodes_are(make):
    r = swinging(make())
    g = geometry(r.system, r.q)
    body = next(iter(r.system.bodies))
    drawn, outline = g.skeletons[body], r.system.bodies[body].outline
    R, p = lb.pose(r.system, r.q, body)
    local = outline.shapes.places(r.modal(body))
    expected = p[:, None] + np.einsum("nij,npj->npi", R, local)
    assert np.abs(g.points[body][:, -len(outline.shapes) :] - expected).max() < TOLERANCE
    assert g.facets(body).shape == (3, len(outline.triangles), 3, 3)
    assert g.creases(body).shape == (3, len(drawn.creases), 2, 3)
    # the joint of the load is on the outline, or a line leads there
    other = list(g.joints)[1]
    start = g.joints[other].start
    places = np.concatenate([expected, g.segments(body).reshape(3, -1, 3)], axis=1)
    assert np.abs(places - start[:, None]).max(axis=2).min(axis=1).max() < TOLERANCE


def test_a_frame_that_twists_has_ribs_on_its_members():
    s = yoke()
    drawn = geometry(s, s.neutral()).skeletons["yoke"]
    shaft = np.abs(drawn.position[drawn.ribs.points, 1]) < 1e-9
    assert shaft.sum() >= 5
    assert np.allclose(np.abs(drawn.ribs.along[shaft]), [1.0, 0.0, 0.0])
    assert np.linalg.norm(drawn.ribs.half, axis=1).max() <= 0.13 * 1.01
    assert np.allclose((drawn.ribs.half * drawn.ribs.along).sum(axis=1), 0.0)


def test_coarse_surfaces_have_points_of_the_fine_one():
    s = block()
    fine, coarse = (geometry(s, s.neutral(), triangles=n) for n in (3000, 60))
    assert 10 < len(coarse.skeletons["block"].triangles) <= 60
    apart = np.linalg.norm(coarse.points["block"][:, None] - fine.points["block"][None], axis=2)
    assert apart.min(axis=1).max() < TOLERANCE
