"""Outlines of reduced structures: their points are where the structure's own displacements put them."""

import numpy as np
import pytest
import scipy.linalg

import limber as lb
from helpers.frames import box_surface, brick, straight_beam
from limber.bodies.outline import coarser, creases
from limber.structures import Member, frame

SECTION = lb.Section.tube(0.02, 0.002, lb.Material(70e9, 2700.0, nu=0.3))


def solid(cells=(4, 2, 2), size=(1.0, 0.3, 0.2)):
    position, M, K = brick(cells, size)
    return lb.Structure(position, M, K, triangles=box_surface(cells)), position[:, 0] == 0.0


def point_at(outline, place):
    distance = np.linalg.norm(outline.position - place, axis=1)
    assert distance.min() < 1e-12
    return int(distance.argmin())


def test_the_surface_of_a_solid_moves_as_its_nodes_do():
    structure, held = solid()
    origin = (0.1, -0.2, 0.3)
    body = structure.reduce(
        clamped=np.flatnonzero(held), interface=[len(held) - 1], modes=3, origin=origin
    )
    outline = body.outline
    on_surface = np.unique(structure.triangles)
    assert np.array_equal(outline.position, structure.position[on_surface] - origin)
    assert np.array_equal(on_surface[outline.triangles], structure.triangles)
    assert len(outline.edges) == 0
    free = np.flatnonzero(np.repeat(~held, 3))
    index = np.ix_(free, free)
    shapes = np.zeros((3 * len(held), 3))
    _, shapes[free] = scipy.linalg.eigh(
        structure.K.toarray()[index], structure.M.toarray()[index], subset_by_index=[0, 2]
    )
    expected = shapes.reshape(-1, 3, 3)[on_surface]
    sign = np.sign((expected * outline.translation).sum(axis=(0, 1)))
    assert outline.translation == pytest.approx(sign * expected, abs=1e-6 * np.abs(expected).max())


def test_members_bend_between_their_nodes():
    nodes = {"root": (0, 0, 0), "tip": (2, 0.5, 1)}
    one = frame(nodes, [("root", "tip")], SECTION)
    many = frame(nodes, [("root", "tip")], SECTION, divide=8)
    load = np.zeros(12)
    load[6:] = [3.0, -1.0, 2.0, 0.4, 0.3, -0.6]
    rows, fine = one.outline_rows(), many.outline_rows()
    u = np.zeros(12)
    u[6:] = np.linalg.solve(one.K.toarray()[6:, 6:], load[6:])
    divided = np.zeros(6 * len(many))
    full = np.zeros(6 * len(many))
    full[6:12] = load[6:]
    divided[6:] = np.linalg.solve(many.K.toarray()[6:, 6:], full[6:])
    got = (rows.rows @ u).reshape(-1, 6)
    exact = (fine.rows @ divided).reshape(-1, 6)
    for point, moves in zip(fine.position, exact):
        i = int(np.linalg.norm(rows.position - point, axis=1).argmin())
        assert rows.position[i] == pytest.approx(point, abs=1e-12)
        # a slender member: shear deformation is the difference
        assert got[i] == pytest.approx(moves, abs=2e-3 * np.abs(exact).max())


@pytest.mark.parametrize("pins", ["a", "b", "ab"])
def test_ends_with_ball_joints_do_not_bend_their_members(pins):
    nodes = {"root": (0, 0, 0), "tip": (2, 0, 0), "up": (1, 0, 1)}
    members = [("root", "up"), ("up", "tip"), Member("root", "tip", pins=pins)]
    built = frame(nodes, members, SECTION.slender())
    rows = built.outline_rows()
    rng = np.random.default_rng(3)
    u = rng.standard_normal(18)
    got = (rows.rows @ u).reshape(-1, 6)
    along = np.flatnonzero((np.abs(rows.position[:, 2]) < 1e-12) & (rows.position[:, 0] > 0.01))
    order = along[np.argsort(rows.position[along, 0])]
    x, moves = rows.position[order, 0], got[order]
    start, end = u[:6], u[6:12]
    if pins == "ab":
        assert len(order) == 1  # a straight line
        return
    inner = moves[:-1]
    # no moment at the ball joint: the curvature is linear and vanishes there
    fit = np.polyfit(np.append(x, 0.0), np.append(moves[:, 1], start[1]), 3)
    at = 0.0 if pins == "a" else 2.0
    assert np.polyval(np.polyder(fit, 2), at) == pytest.approx(0.0, abs=1e-9)
    other = end if pins == "a" else start
    assert np.polyval(np.polyder(fit), 2.0 - at) == pytest.approx(other[5])
    assert inner[:, 3] == pytest.approx(np.full(len(inner), other[3]))


def test_offsets_of_members_are_lines_to_their_ends():
    nodes = {"root": (0, 0, 0), "tip": (1, 0, 0)}
    member = Member("root", "tip", offset_a=(0, 0, 0.2), offset_b=(0, 0, 0.2))
    rows = frame(nodes, [member], SECTION).outline_rows()
    spans = rows.position[rows.edges]
    upright = np.abs(spans[:, 1, 2] - spans[:, 0, 2]) > 0.1
    assert upright.sum() == 2
    # the whole turns about z: the ends of the member with it
    u = np.zeros(12)
    u[5] = u[11] = 1.0
    u[7] = 1.0
    got = (rows.rows @ u).reshape(-1, 6)
    assert got[:, 1] == pytest.approx(rows.position[:, 0])
    assert got[:, 5] == pytest.approx(np.ones(len(got)))


def test_second_order_shapes_of_outlines_meet_those_of_the_nodes():
    position, M, K, geometric = straight_beam(6)
    edges = np.column_stack([np.arange(6), np.arange(1, 7)])
    beam = lb.Structure(position, M, K, edges=edges, geometric=geometric)
    body = beam.reduce(clamped=0, modes=4, geometric_stiffening=True)
    assert len(body.nodes.names) == 7
    size = np.abs(body.nodes.second).max()
    assert np.abs(body.outline.second - body.nodes.second).max() < 1e-7 * size
    # with the tip alone as a node the shapes between are interpolated by the structure
    few = beam.reduce(clamped=0, modes=4, nodes=[6], geometric_stiffening=True)
    assert np.abs(few.outline.second[-1] - body.nodes.second[-1]).max() < 1e-7 * size
    assert np.abs(few.outline.second - body.nodes.second).max() < 0.2 * size


def test_bodies_keep_their_outline_and_turn_it():
    structure, held = solid()
    body = structure.reduce(clamped=np.flatnonzero(held), interface=[len(held) - 1], modes=3)
    R = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    turned = lb.bodies.placed.placed(body, (1, 2, 3), R)
    assert turned.outline.position == pytest.approx(body.outline.position @ R.T + [1, 2, 3])
    assert turned.outline.translation[:, 1] == pytest.approx(body.outline.translation[:, 0])
    assert body.with_damping(np.eye(3)).outline is body.outline
    assert body.without_modes().outline.translation.shape[2] == 0
    with pytest.raises(ValueError, match="read-only"):
        body.outline.triangles[0] = 1


def test_large_surfaces_become_coarser_and_stay_whole():
    n = 201
    x, y = np.meshgrid(np.linspace(0, 2, n), np.linspace(0, 1, n), indexing="ij")
    position = np.column_stack([x.ravel(), y.ravel(), np.sin(x.ravel())])
    number = np.arange(n * n).reshape(n, n)
    a, b, c, d = (
        number[i : n - 1 + i, j : n - 1 + j].ravel() for i, j in ((0, 0), (1, 0), (1, 1), (0, 1))
    )
    triangles = np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])
    none = np.zeros((0, 2), np.int64)
    kept, _, few = coarser(position, none, triangles, 3000)
    assert 1000 < len(few) <= 3000
    assert len(kept) == len(np.unique(few)) == few.max() + 1

    def area(points, faces):
        sides = points[faces[:, 1:]] - points[faces[:, :1]]
        return np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1).sum() / 2

    assert area(position[kept], few) == pytest.approx(area(position, triangles), rel=0.05)
    same, _, all_of_them = coarser(position, none, triangles, 10**6)
    assert np.array_equal(same, np.arange(n * n)) and np.array_equal(all_of_them, triangles)


def test_creases_are_the_edges_of_a_box():
    cells = (3, 2, 2)
    position, _, _ = brick(cells, (1.0, 1.0, 1.0))
    found = creases(position, box_surface(cells))
    assert len(found) == 4 * (3 + 2 + 2)
    on_sides = ((position == 0.0) | (position == 1.0)).sum(axis=1)
    assert (on_sides[found] >= 2).all()
