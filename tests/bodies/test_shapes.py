"""Shapes of points: where they go with the modes, seen from any frame, and what the kernels make of their records."""

import numpy as np
from scipy.spatial.transform import Rotation

from limber.bodies.shapes import Shapes, record_labels
from limber.kernels import layout as L
from limber.kernels import plain

TOLERANCE = 1e-13
KERNELS = plain.load()
#: The row of a body with three modes, whose coordinates are the first of all.
TOPO = np.zeros(L.COLUMNS, dtype=np.int64)
TOPO[L.MODES] = 3


def some(rng, n=5, m=3):
    return Shapes(*(rng.normal(size=s) for s in ((n, 3), (n, 3, m), (n, 3, m))))


def close(got, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(got, expected, rtol=0.0, atol=tolerance)


def test_points_go_where_their_shapes_say():
    rng = np.random.default_rng(0)
    shapes, eta = some(rng), rng.normal(size=(4, 3))
    for row, places, turns in zip(eta, shapes.places(eta), shapes.turns(eta), strict=True):
        for j in range(len(shapes)):
            close(places[j], shapes.position[j] + shapes.translation[j] @ row)
            close(turns[j], shapes.rotation[j] @ row)
    close(shapes.places(eta[0]), shapes.places(eta)[0])
    close(shapes.displacements(eta), shapes.places(eta) - shapes.position)


def test_no_point_turns_further_than_the_bound():
    rng = np.random.default_rng(1)
    shapes, eta = some(rng), rng.normal(size=(50, 3))
    turned = np.linalg.norm(shapes.turns(eta), axis=2).max(axis=1)
    assert np.all(turned <= np.abs(eta) @ shapes.steepest() + TOLERANCE)


def test_kernels_read_the_record_of_a_point():
    rng = np.random.default_rng(2)
    shapes, nodes = some(rng), KERNELS.nodes
    q, v, vdot = rng.normal(size=(3, 3))
    places, turns = shapes.places(q), shapes.turns(q)
    for j in range(len(shapes)):
        const = shapes.record(j)
        x, l = nodes.deformed(TOPO, const, q, 0, 0)
        close(x, turns[j])
        close(l, places[j])
        close(nodes.undeformed(const, 0), shapes.position[j])
        xd, ld, drift = nodes.rates(TOPO, const, q, v, 0, 0)
        xdd, ldd = nodes.accelerations(TOPO, const, q, v, vdot, 0, 0)
        close(np.concatenate([xd, ld]), shapes.twist(j) @ v)
        close(np.concatenate([xdd, ldd]), shapes.twist(j) @ vdot + [0.0, 0.0, 0.0, *drift])
        for r in range(3):
            close(np.concatenate(nodes.shape(const, 0, r)), shapes.twist(j)[:, r])


def test_rates_of_a_node_are_the_derivatives_of_its_place():
    """Central differences along eta(t) = q + v t + vdot t^2 / 2."""
    rng = np.random.default_rng(3)
    const, nodes, h = some(rng).record(1), KERNELS.nodes, 1e-4
    q, v, vdot = rng.normal(size=(3, 3))
    before, now, after = (
        np.concatenate(nodes.deformed(TOPO, const, q + t * v + t * t / 2.0 * vdot, 0, 0))
        for t in (-h, 0.0, h)
    )
    xd, ld, _ = nodes.rates(TOPO, const, q, v, 0, 0)
    close(np.concatenate([xd, ld]), (after - before) / (2.0 * h), 1e-9)
    second = np.concatenate(nodes.accelerations(TOPO, const, q, v, vdot, 0, 0))
    close(second, (after - 2.0 * now + before) / h**2, 1e-6)
    for r in range(3):
        step = h * np.eye(3)[r]
        ahead, behind = (nodes.deformed(TOPO, const, q + s * step, 0, 0) for s in (1.0, -1.0))
        slope = (np.concatenate(ahead) - np.concatenate(behind)) / (2.0 * h)
        close(np.concatenate(nodes.shape_at(TOPO, const, q, 0, 0, r)), slope, 1e-9)


def test_labels_of_a_record_are_where_its_numbers_are():
    rng = np.random.default_rng(4)
    shapes = some(rng, m=2)
    record, numbers = shapes.record(3), {}
    for r in range(2):
        for i, axis in enumerate("xyz"):
            numbers[f"phi{r + 1}{axis}_tip"] = shapes.rotation[3, i, r]
            numbers[f"u{r + 1}{axis}_tip"] = shapes.translation[3, i, r]
            numbers[f"{axis}_tip"] = shapes.position[3, i]
    kinds = record_labels("tip", 2)
    assert {label: record[i] for kind in kinds for i, label in kind} == numbers
    assert sorted(i for kind in kinds for i, _ in kind) == list(range(len(record)))


def test_points_in_another_frame_are_the_same_points():
    rng = np.random.default_rng(5)
    shapes, eta, shift = some(rng), rng.normal(size=3), rng.normal(size=3)
    R = Rotation.random(random_state=0).as_matrix()
    placed = shapes.placed(R, shift)
    close(placed.places(eta), shapes.places(eta) @ R.T + shift)
    close(placed.turns(eta), shapes.turns(eta) @ R.T)


def test_points_seen_from_a_node_to_first_order():
    rng = np.random.default_rng(6)
    shapes = some(rng)
    seen = shapes.held_at(shapes[[2]])
    assert not seen.moves(2)
    assert seen.moves(1)
    eta = 1e-5 * rng.normal(size=3)
    back = Rotation.from_rotvec(-shapes.turns(eta)[2])
    expected = back.apply(shapes.places(eta) - shapes.places(eta)[2])
    close(seen.places(eta), expected, 1e-8)
    close(seen.turns(eta), shapes.turns(eta) - shapes.turns(eta)[2])


def test_points_can_be_taken_apart_joined_and_held_still():
    rng = np.random.default_rng(7)
    shapes, eta = some(rng), rng.normal(size=3)
    close(Shapes.joined([shapes[:2], shapes[[2]], shapes[3:]]).places(eta), shapes.places(eta))
    still = Shapes.still(shapes.position, 3)
    close(still.places(eta), shapes.position)
    assert not any(still.moves(j) for j in range(len(still)))
    rigid = shapes.without_modes()
    assert rigid.modes == 0
    close(rigid.places(np.zeros(0)), shapes.position)
