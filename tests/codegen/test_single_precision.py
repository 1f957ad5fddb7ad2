"""Single precision, and the sines of the SIMD lanes."""

import mpmath
import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.generated import arm, mixed, pendulum, values

EPS = float(np.finfo(np.float32).eps)


@pytest.mark.parametrize("function", ["forward_dynamics", "inverse_dynamics", "integrate"])
def test_float32_is_float64_to_single_precision(function):
    """A few hundred roundings of 6e-8, magnified by the condition of the mass matrix (below 100)."""
    s, rng = arm(), np.random.default_rng(1)
    f = lb.compile(s, function, dtype="float32", lanes=16)
    states = [values(rng, s, function) for _ in range(37)]
    batch = [np.array(x) for x in zip(*states)]
    expected = np.array([getattr(lb, function)(s, *x) for x in states])
    got = f(*batch)
    assert got.dtype == np.float32
    assert_close(got, expected, 300 * EPS, "lanes")
    one = [f(*(np.asarray(x, dtype=np.float32) for x in args)) for args in states]
    assert all(x.dtype == np.float32 for x in one)
    assert_close(one, expected, 300 * EPS, "single calls")


def test_float32_step_of_quaternions_stays_unit():
    s, rng = mixed(), np.random.default_rng(2)
    f = lb.compile(s, "step", dtype=np.float32)
    q, v, tau, dt = values(rng, s, "step")
    q_new, v_new = f(q, v, tau, dt)
    assert q_new.dtype == v_new.dtype == np.float32
    double = lb.compile(s, "step")(q, v, tau, dt)
    assert_close(q_new, double[0], 300 * EPS)
    assert_close(v_new, double[1], 3000 * EPS)  # accelerations of hundreds, over dt
    assert abs(np.linalg.norm(q_new[2:6].astype(float)) - 1.0) < 4 * EPS


def angles(dtype):
    """Angles of every size, close to multiples of pi/2, on both sides of the limit to libm."""
    rng = np.random.default_rng(3)
    info = np.finfo(dtype)
    wide = 10.0 ** rng.uniform(np.log10(float(info.smallest_subnormal) * 2), 15, 4000)
    near = np.arange(1, 60000, 7) * (np.pi / 2)
    limits = np.array([1e3, 1e5])
    edges = np.concatenate([limits, np.nextafter(limits, 0), np.nextafter(limits, 1e9)])
    x = np.concatenate(
        [[0.0, -0.0], wide, -wide, near, -near, edges, -edges, rng.uniform(-10, 10, 4000)]
    )
    return x.astype(dtype)


def exact(x):
    with mpmath.workdps(60):
        angle = [mpmath.mpf(float(a)) for a in x]
        return np.array([[float(mpmath.sin(a)), float(mpmath.cos(a))] for a in angle])


@pytest.mark.parametrize("dtype, lanes", [(np.float64, 8), (np.float32, 16)])
def test_sines_of_lanes_have_small_relative_error(dtype, lanes):
    """R of a hinge is [cos, -sin; sin, cos]: within 2 ulp of the exact values, however large the angle,
    and where sin or cos is tiny."""
    f = lb.compile(pendulum(), "pose", body="bob", dtype=dtype, lanes=lanes)
    x = angles(dtype)
    R, _ = f(x[:, None])
    want = exact(x)
    for got, true in ((R[:, 1, 0], want[:, 0]), (R[:, 0, 0], want[:, 1])):
        true32 = true.astype(dtype)
        ulp = np.spacing(np.abs(true32)).astype(float)
        error = np.abs(got.astype(float) - true) / ulp
        worst = error.argmax()
        assert error[worst] <= 2.0, f"{error[worst]:.2f} ulp at {x[worst]!r}"


@pytest.mark.parametrize("dtype, lanes", [(np.float64, 8), (np.float32, 16)])
def test_lanes_handle_infinities_and_nan_as_libm(dtype, lanes):
    """NaN, and only in the lanes that have it: the neighbours in the block stay right."""
    f = lb.compile(pendulum(), "pose", body="bob", dtype=dtype, lanes=lanes)
    x = np.linspace(0.1, 2.0, 2 * lanes + 1).astype(dtype)
    bad = [1, lanes - 1, 2 * lanes]
    x[bad] = [np.nan, np.inf, -np.inf]
    R, _p = f(x[:, None])
    good = np.setdiff1d(np.arange(len(x)), bad)
    assert np.isnan(R[bad][:, :2, :2]).all()
    assert_close(R[good, 1, 0], np.sin(x[good]), 2 * float(np.finfo(dtype).eps))
    single = np.array([f(np.array([a], dtype=dtype))[0] for a in x])
    assert np.array_equal(np.isnan(R), np.isnan(single))
    assert_close(R[good], single[good], 2 * float(np.finfo(dtype).eps))
