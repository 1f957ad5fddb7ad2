"""Trajectories: end points, derivatives, limits, continuity, shapes."""

import math
from itertools import pairwise

import numpy as np
import pytest

import limber as lb
from limber.trajectories import Cycloid, Hold, Quintic, Sequence, Together, Trapezoid, Waypoints

TOLERANCE = 1e-6  # of central differences

PATHS = {
    "cycloid": Cycloid([0.75, 0.25, 0.5], [10.0, 5.0, 5.0]),
    "cycloid from a start": Cycloid(-1.2, 2.0, 0.3),
    "cycloid as printed": Cycloid(rate=[0.075, 0.05], duration=[10.0, 5.0], printed=True),
    "quintic": Quintic([0.0, 1.0], [2.0, -1.0], 3.0),
    "quintic with rates": Quintic(
        0.2,
        1.5,
        1.7,
        start_velocity=0.3,
        end_velocity=-0.4,
        start_acceleration=1,
        end_acceleration=2,
    ),
    "trapezoid": Trapezoid([0.0, 1.0, 2.0], [3.0, -1.0, 2.0], [1.0, 0.5, 1.0], 2.0),
    "triangle": Trapezoid(0.0, 0.1, 1.0, 0.5),
    "waypoints": Waypoints([[0, 0], [1, 0.2], [0.5, -1], [0.5, -1]], [1, 2], [3, 1], pause=0.3),
    "hold": Hold([1.0, 2.0], 2.0),
    "sequence": Sequence([Cycloid(0.5, 2.0), Hold(0.5, 1.0), Quintic(0.5, 0.0, 1.0)]),
    "together": Together([Cycloid([0.1, 0.2], 2.0), Trapezoid(0.0, 1.0, 1.0, 1.0), Hold(3.0)]),
}
SMOOTH = {"cycloid", "cycloid from a start", "cycloid as printed", "quintic", "sequence", "hold"}


@pytest.fixture(params=PATHS)
def name(request):
    return request.param


def test_velocity_and_acceleration_are_the_derivatives(name):
    path = PATHS[name]
    t = np.linspace(-0.7, path.duration + 0.7, 997)
    h = 1e-5
    away = np.abs(t[:, None] - path.breaks).min(axis=1) > 2 * h
    t = t[away]
    ahead, behind, here = path(t + h), path(t - h), path(t)
    slope = (ahead.position - behind.position) / (2 * h)
    assert np.abs(slope - here.velocity).max() < TOLERANCE
    slope = (ahead.velocity - behind.velocity) / (2 * h)
    assert np.abs(slope - here.acceleration).max() < TOLERANCE


def test_position_and_velocity_are_continuous(name):
    path = PATHS[name]
    before, after = path(path.breaks - 1e-9), path(path.breaks + 1e-9)
    assert np.abs(after.position - before.position).max() < 1e-7
    assert np.abs(after.velocity - before.velocity).max() < 1e-7
    if name in SMOOTH:
        assert np.abs(after.acceleration - before.acceleration).max() < 1e-6


def test_shapes_follow_t_and_the_joints(name):
    path = PATHS[name]
    for t in (0.3, np.zeros(4), np.zeros(0), np.zeros((2, 3)), [0.1, 0.2]):
        for part in path(t):
            assert part.shape == np.shape(t) + path.shape
    many = path(np.array([0.0, 0.4, path.duration]))
    for i, t in enumerate((0.0, 0.4, path.duration)):
        for one, row in zip(path(t), many):
            assert np.array_equal(one, row[i])


def test_breaks_are_the_corners_in_order(name):
    path = PATHS[name]
    breaks = path.breaks
    assert breaks.shape == (len(breaks),) and breaks[0] == 0.0
    assert breaks[-1] == pytest.approx(path.duration, rel=1e-12)
    assert (np.diff(breaks) > 1e-12 * path.duration).all()
    for a, b in pairwise(breaks):
        # between them the acceleration is smooth: halving the distance halves its change
        t = np.linspace(a + 1e-9 * (b - a), b - 1e-9 * (b - a), 1025)
        change = np.abs(np.diff(path(t).acceleration, axis=0)).max()
        wide = np.abs(np.diff(path(t[::2]).acceleration, axis=0)).max()
        assert change <= 0.51 * wide + 1e-12


def test_breaks_that_rounding_alone_keeps_apart_are_one():
    scale = np.array([1.0, 0.1, 0.7, 0.3, 1.1, 0.9, 0.6])
    path = Trapezoid(0.0, scale / 3.0, 0.1 * scale, 0.07 * scale)
    ramp = 0.1 / 0.07
    corners = [0.0, ramp, path.duration - ramp, path.duration]
    assert np.allclose(path.breaks, corners, rtol=1e-14)


def test_ends_are_met_exactly():
    for path, end in (
        (Quintic([0.1, 0.3], [0.7, -0.9], 3.3), [0.7, -0.9]),
        (Trapezoid([0.1, 0.3], [0.7, -0.9], 0.3, 0.7), [0.7, -0.9]),
        (Sequence([Quintic(0.1, 0.7, 1.1), Quintic(0.7, 0.2, 1.3)]), 0.2),
    ):
        for t in (path.duration, path.duration + 5.0):
            motion = path(t)
            assert np.array_equal(motion.position, end)
            assert not np.any(motion.velocity)


def test_one_time_given_as_any_number_is_the_same():
    path = PATHS["together"]
    for t in (1, np.float32(0.5), np.int64(1), np.float64(0.7), np.array(0.7)):
        for one, other in zip(path(t), path(float(t))):
            assert np.array_equal(one, other)
    for t in (math.inf, -math.inf, np.array([0.0, math.nan])):
        with pytest.raises(lb.LimberError, match="t must be finite"):
            path(t)


def test_copies_are_the_same_motion(name):
    import copy
    import pickle

    path = PATHS[name]
    t = np.linspace(-1.0, path.duration + 1.0, 33)
    for other in (copy.deepcopy(path), pickle.loads(pickle.dumps(path))):
        assert all(np.array_equal(a, b) for a, b in zip(path(t), other(t)))


def test_compiled_functions_follow_a_path():
    import numba

    from limber.kernels.paths import along

    path = PATHS["waypoints"]
    knots, pieces, n = path.knots, path.pieces.ravel(), path.shape[0]

    @numba.njit
    def motion(t):
        out = np.empty((3, n))
        along(knots, len(knots), pieces, n, t, out[0], out[1], out[2])
        return out

    for t in (-0.3, 0.0, 0.9, path.duration):
        assert np.allclose(motion(t), path(t), rtol=1e-14, atol=1e-15)


def test_is_immutable(name):
    with pytest.raises(lb.LimberError, match="immutable"):
        PATHS[name].duration = 1.0


def test_canadarm_cycloid_rests_and_ends_where_the_paper_ends():
    """Mohan & Saha, Eq. (44), with the period that rests: 0.75, 0.25, 0.5 rad."""
    path = Cycloid(rate=[0.075, 0.05, 0.1], duration=[10.0, 5.0, 5.0])
    end = path(10.0)
    assert np.allclose(end.position, [0.75, 0.25, 0.5], rtol=0, atol=1e-15)
    assert not end.velocity.any() and not end.acceleration.any()
    held = path(np.linspace(5.0, 12.0, 30))
    assert np.ptp(held.position[:, 1:], axis=0).max() == 0.0
    t = 3.7
    expected = 0.05 * (t - 5 / (2 * math.pi) * math.sin(2 * math.pi * t / 5))
    assert path(t).position[1] == pytest.approx(expected, rel=1e-15)


def test_printed_cycloid_ends_with_twice_its_mean_rate():
    path = Cycloid(rate=0.075, duration=10.0, printed=True)
    for t in (0.0, 2.5, 10.0):
        expected = 0.075 * (t - 10 / math.pi * math.sin(math.pi * t / 10))
        assert path(t).position == pytest.approx(expected, abs=1e-15)
    assert path(10.0).velocity == 0.15
    assert path(12.0).position == pytest.approx(0.75 + 0.3)


def test_quintic_meets_its_ends():
    given = {"start_velocity": 0.3, "end_velocity": -0.4, "start_acceleration": 1.0}
    path = Quintic(0.2, 1.5, 1.7, end_acceleration=2.0, **given)
    assert np.allclose(path(0.0), [0.2, 0.3, 1.0], atol=1e-14)
    assert np.allclose(path(1.7), [1.5, -0.4, 2.0], atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_trapezoids_keep_limits_and_one_joint_is_at_its_limit_all_the_time(seed):
    rng = np.random.default_rng(seed)
    start, end = rng.normal(size=(2, 4))
    v, a = rng.uniform(0.1, 3.0, (2, 4))
    path = Trapezoid(start, end, v, a)
    motion = path(np.linspace(0.0, path.duration, 2000))  # not the very top of a triangle
    assert (np.abs(motion.velocity) <= v * (1 + 1e-12)).all()
    assert (np.abs(motion.acceleration) <= a * (1 + 1e-12)).all()
    at_limit = np.isclose(np.abs(motion.velocity), v) | np.isclose(np.abs(motion.acceleration), a)
    assert at_limit.all(axis=0).any()
    assert np.allclose(path.start, start) and np.allclose(path.end, end)
    alone = [Trapezoid(*x).duration for x in zip(start, end, v, a)]
    assert path.duration == pytest.approx(max(alone), rel=1e-14)


def test_trapezoid_times():
    assert Trapezoid(0.0, 3.0, 1.0, 2.0).duration == pytest.approx(3.5)  # 0.5 + 2.5 + 0.5
    assert Trapezoid(0.0, 0.1, 1.0, 0.4).duration == pytest.approx(1.0)  # a triangle
    assert Trapezoid(1.0, 1.0, 1.0, 1.0).duration == 0.0
    assert Trapezoid(1.0, 1.0, 1.0, 1.0)([-1.0, 0.0, 2.0]).position.tolist() == [1.0, 1.0, 1.0]


def test_waypoints_are_met_at_rest_within_limits():
    points = np.random.default_rng(3).normal(size=(6, 3))
    path = Waypoints(points, [1.0, 0.5, 2.0], [2.0, 1.0, 0.7], pause=0.25)
    motion = path(path.arrivals)
    assert np.allclose(motion.position, points, atol=1e-12)
    assert np.abs(motion.velocity).max() < 1e-12
    motion = path(np.linspace(0.0, path.duration, 5001))
    assert (np.abs(motion.velocity) <= np.array([1.0, 0.5, 2.0]) * (1 + 1e-12)).all()
    assert (np.abs(motion.acceleration) <= np.array([2.0, 1.0, 0.7]) * (1 + 1e-12)).all()


REFUSED = [
    (lambda: Cycloid(1.0), "duration is missing"),
    (lambda: Cycloid(1.0, 2.0, rate=1.0), "distance or rate"),
    (lambda: Cycloid([1.0, 2.0], [1.0, 2.0, 3.0]), "different numbers of joints"),
    (lambda: Cycloid(1.0, 0.0), "duration must be greater than 0"),
    (lambda: Cycloid(math.nan, 1.0), "distance is nan"),
    (lambda: Cycloid("far", 1.0), "distance must be real numbers"),
    (lambda: Quintic(0.0, 1.0, -1.0), "duration must be greater"),
    (lambda: Quintic([[0.0]], 1.0, 1.0), r"start must have shape"),
    (lambda: Trapezoid(0.0, 1.0, 0.0, 1.0), "max_velocity must be greater than 0"),
    (lambda: Trapezoid(0.0, 1.0, 1.0, -1.0), "max_acceleration must be greater than 0"),
    (lambda: Trapezoid(0.0, 1e300, 1e-300, 1.0), "overflows"),
    (lambda: Waypoints([1.0], 1.0, 1.0), "at least two waypoints"),
    (lambda: Sequence([]), "list of trajectories"),
    (lambda: Sequence([Hold(0.0, 1.0), 3.0]), r"parts\[1\] must be a trajectory"),
    (lambda: Sequence([Hold(0.0, 1.0), Hold(1.0, 1.0)]), "a joint cannot jump"),
    (lambda: Sequence([Hold(0.0, 1.0), Hold([0.0], 1.0)]), "shape"),
    (lambda: Hold(0.0, 1.0)(math.nan), "t must be finite"),
]


@pytest.mark.parametrize("make, message", REFUSED, ids=[m for _, m in REFUSED])
def test_bad_arguments_are_refused(make, message):
    with pytest.raises(lb.LimberError, match=message):
        make()


def test_trajectories_say_what_they_are():
    assert repr(lb.trajectories.Cycloid(1.0, 2.0)) == "Cycloid(1 joint, 2 s)"
    assert repr(lb.trajectories.Hold([0.0, 1.0], duration=3.0)) == "Hold(2 joints, 3 s)"
