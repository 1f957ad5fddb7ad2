"""Calling generated C: arrays of every kind, batches, `out`, threads, memory, bad input."""

import gc
import pickle
import resource
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import limber as lb
from helpers.arrays import over_foreign_memory
from helpers.compare import assert_close
from helpers.generated import INPUTS, OF_NODE, arm, mixed, parts, pendulum, values
from helpers.refusals import refused
from limber.codegen import call

V, T = ValueError, TypeError


@pytest.fixture(params=["dispatcher", "plain"])
def f(request, monkeypatch):
    """Inverse dynamics of the arm, behind the compiled dispatcher and without it."""
    if request.param == "plain":
        monkeypatch.setattr(call, "dispatcher", lambda: None)
    made = lb.compile(arm(), "inverse_dynamics", lanes=4)
    if request.param == "dispatcher" and isinstance(made, call.Caller):
        pytest.skip("Python's headers are missing")
    assert isinstance(made, call.Caller) == (request.param == "plain")
    return made


@pytest.fixture
def args():
    return values(np.random.default_rng(1), arm(), "inverse_dynamics")


def test_every_kind_of_array(f, args):
    """Lists, integers, other types and orders, read-only, strided, unaligned, foreign byte order."""
    expected = f(*args)
    assert_close(expected, lb.inverse_dynamics(arm(), *args), 1e-12)
    q = args[0]
    frozen = q.copy()
    frozen.setflags(write=False)
    odd = np.frombuffer(b"x" + q.tobytes(), dtype=np.uint8)[1:].view(np.float64)
    assert not odd.flags.aligned
    strided = np.repeat(q, 2)[::2]
    for other in (q.tolist(), tuple(q), frozen, odd, strided, over_foreign_memory(q), q.astype(">f8"), q.astype(np.longdouble), np.array(q, dtype=object)):  # fmt: skip
        assert np.array_equal(f(other, *args[1:]), expected)
    assert np.array_equal(f([0, 1, 0, 0, 2], *args[1:]), f(np.array([0.0, 1, 0, 0, 2]), *args[1:]))
    matrix = np.asfortranarray(np.tile(q, (3, 1)))
    assert np.array_equal(f(matrix, *args[1:]), f(np.tile(q, (3, 1)), *args[1:]))


def test_batches_broadcast(f, args):
    q, v, vdot = args
    rng = np.random.default_rng(2)
    many = rng.standard_normal((3, 1, 5))
    row = rng.standard_normal((4, 5))
    got = f(q, many, row)
    assert got.shape == (3, 4, 5)
    for i in range(3):
        for j in range(4):
            assert_close(got[i, j], f(q, many[i, 0], row[j]), 1e-12)
    assert f(np.empty((0, 5)), v, vdot).shape == (0, 5)
    assert f(np.empty((2, 0, 5)), v, vdot).shape == (2, 0, 5)
    assert f(q[None], v, vdot).shape == (1, 5)


def test_out_is_filled_and_returned(f, args):
    expected = f(*args)
    out = np.full(5, np.nan)
    assert f(*args, out=out) is out and np.array_equal(out, expected)
    foreign = over_foreign_memory(np.zeros(5))
    assert np.array_equal(f(*args, out=foreign), expected)
    room = np.full((3, 5), np.nan)
    assert np.array_equal(f(*args, out=room[1]), expected)
    assert np.isnan(room[[0, 2]]).all() and np.array_equal(room[1], expected)
    assert np.array_equal(f(*args, out=None), expected)
    batch = np.full((2, 5), np.nan)
    q, v, vdot = args
    assert f(np.stack([q, q]), v, vdot, out=batch) is batch
    assert_close(batch, np.stack([expected] * 2), 1e-12)


def test_out_that_does_not_fit(f, args):
    q, v, vdot = args
    frozen = np.empty(5)
    frozen.setflags(write=False)
    for out in (np.empty(4), np.empty((1, 5)), np.empty(5, np.float32), [0.0] * 5, np.empty(10)[::2], frozen, 3.0):  # fmt: skip
        with refused(
            V, r"out for tau must be a writable, C-contiguous float64 array of shape \(5,\)"
        ):
            f(q, v, vdot, out=out)
    whole = np.zeros(8)
    for given, out in ((q, q), (whole[:5], whole[3:]), (whole[3:], whole[:5])):
        with refused(V, "out for tau overlaps an input"):
            f(given, v, vdot, out=out)
    with refused(V, "out for tau overlaps an input"):
        f(q, v, vdot, out=vdot)


def test_several_outputs():
    f, s = lb.compile(arm(), "step"), arm()
    args = values(np.random.default_rng(3), s, "step")
    q_new, v_new = f(*args)
    out = np.empty(5), np.empty(5)
    assert f(*args, out=out) is out
    assert np.array_equal(out[0], q_new) and np.array_equal(out[1], v_new)
    x = np.empty(5)
    with refused(V, "out for v_new overlaps another"):
        f(*args, out=(x, x))
    for bad in (x, (x,), 3):
        with refused(T, r"out must be a tuple of 2 arrays \(q_new, v_new\)"):
            f(*args, out=bad)
    dt = np.array(args[3])
    for same in (dt, float(args[3]), np.float64(args[3])):
        assert np.array_equal(f(*args[:3], same)[0], q_new)
    assert f(*args[:3], [0.0, args[3]])[0].shape == (2, 5)  # a batch of time steps


def test_scalar_results_are_numbers():
    e = lb.compile(pendulum(), "kinetic_energy")
    assert isinstance(e(np.ones(1), np.ones(1)), np.float64)
    assert e(np.ones((3, 1)), np.ones(1)).shape == (3,)


BAD = {
    "too few": (lambda q: (q,), T, r"inverse_dynamics takes 3 arguments \(q, v, vdot\), got 1"),
    "too many": (lambda q: (q,) * 4, T, "inverse_dynamics takes 3 arguments .*got 4"),
    "text": (lambda q: (q, "abc", q), T, "v must be real numbers of shape .*got text: 'abc'"),
    "None": (lambda q: (None, q, q), T, "q must be real numbers of shape .*got None"),
    "complex": (lambda q: (q + 0j, q, q), T, "q must be real numbers.*got complex"),
    "bool": (lambda q: (q > 0, q, q), T, "q must be real numbers.*got booleans"),
    "ragged": (lambda q: ([[1], [1, 2]], q, q), T, "q must be real numbers"),
    "masked": (lambda q: (np.ma.masked_array(q, q > 0), q, q), V, "q has masked values"),
    "short": (lambda q: (q, q[:4], q), V, r"v \(speeds\) must have shape \(5,\).*got \(4,\)"),
    "number": (lambda q: (1.0, q, q), V, r"q \(coordinates\) must have shape \(5,\).*got \(\)"),
    "turned": (lambda q: (np.zeros((5, 3)), q, q), V, r"q .*got \(5, 3\)"),
    "batches": (lambda q: (np.zeros((2, 5)), np.zeros((3, 5)), q), V, r"the batch dimensions do not match: q \(2, 5\), v \(3, 5\)"),
}  # fmt: skip


@pytest.mark.parametrize("way", BAD)
def test_bad_arguments(f, args, way):
    spoil, kind, message = BAD[way]
    with refused(kind, message):
        f(*spoil(args[0]))


def test_nan_in_nan_out(f, args):
    """Documented: values are not checked.  A NaN in one state of a batch stays in it."""
    q, v, vdot = args
    bad = q.copy()
    bad[3] = np.nan  # not q[0], which nothing depends on: the base turns about the vertical
    assert np.isnan(f(bad, v, vdot)).any()
    batch = f(np.stack([q, bad, q, q, q]), v, vdot)
    assert np.isnan(batch[1]).any() and np.isfinite(batch[[0, 2, 3, 4]]).all()


def test_a_singular_state_gives_no_number_and_no_error():
    """A compound joint with its axes in line has no acceleration; the engine says so, the code does not."""
    joint = lb.CompoundJoint(
        [lb.Revolute([1, 0, 0]), lb.Revolute([0, 1, 0]), lb.Revolute([1, 0, 0])]
    )
    s = lb.Assembly("a").attach("b", lb.RigidBody(1.0, (0, 0, 0), np.eye(3)), joint).build()
    with pytest.raises(lb.LimberError):
        lb.forward_dynamics(s, np.zeros(3), np.zeros(3), np.ones(3))
    got = lb.compile(s, "forward_dynamics")(np.zeros(3), np.zeros(3), np.ones(3))
    assert not np.isfinite(got).all()


def test_memory_does_not_grow(args):
    """A hundred thousand calls, good and bad: no object is left, no memory kept."""
    f = lb.compile(arm(), "inverse_dynamics", lanes=4)
    step = lb.compile(arm(), "step")
    more = [*args, 0.01]
    out = np.empty(5)
    counts = [sys.getrefcount(x) for x in (*args, out, f)]

    def calls(n):
        for _ in range(n):
            f(*args)
            f(*args, out=out)
            step(*more)

    calls(1000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(33000)
    for _ in range(300):
        with pytest.raises(ValueError):
            f(args[0][:4], *args[1:])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # KiB
    assert [sys.getrefcount(x) for x in (*args, out, f)] == counts


def test_threads_may_call_one_function(args):
    f = lb.compile(mixed(), "momentum", lanes=8)
    rng = np.random.default_rng(4)
    states = [values(rng, mixed(), "momentum") for _ in range(8)]
    expected = [f(*x) for x in states]

    def work(i):
        return all(np.array_equal(f(*states[i]), expected[i]) for _ in range(2000))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_the_function_outlives_its_system():
    s = lb.Assembly("gone").attach("a", lb.RigidBody(2.0, (0, 0, 0), np.eye(3)), lb.Prismatic([1, 0, 0])).build()  # fmt: skip
    f = lb.compile(s, "forward_dynamics")
    del s
    gc.collect()
    assert f(np.zeros(1), np.zeros(1), np.array([3.0])).tolist() == [1.5]
    assert "gone" in repr(f) and "vdot (1,)" in repr(f)


def test_pickling_compiles_again(f, args):
    """To another process goes the recipe; there the code is found in the cache."""
    again = pickle.loads(pickle.dumps(f))
    assert again is not f and again.source == f.source
    assert np.array_equal(again(*args), f(*args))
    batch = [np.stack([x] * 5) for x in args]
    assert np.array_equal(again(*batch), f(*batch))


def test_cycles_are_collected():
    """The dispatcher takes part in garbage collection: a function that holds itself is freed."""
    f = lb.compile(pendulum(), "bias")
    f.me = f

    class Flag:
        pass

    freed = []
    flag = Flag()
    f.flag = flag
    import weakref

    weakref.finalize(flag, freed.append, True)
    del f, flag
    gc.collect()
    assert freed


@pytest.mark.parametrize("function", INPUTS)
def test_systems_without_freedoms(function):
    """A body welded to the world: arrays of size zero in and out, also in lanes and for derivatives."""
    s = lb.Assembly("weld", gravity=(0, 0, -9.81)).attach("a", lb.RigidBody(2.0, (0, 0, 0.5), np.eye(3)), lb.Fixed(), offset=(0, 0, 1)).build()  # fmt: skip
    options = {"body": "a"} if function in OF_NODE else {}
    args = values(np.random.default_rng(5), s, function)
    f = lb.compile(s, function, lanes=4, **options)
    results = parts(f(*args))
    if function == "potential_energy":
        assert_close(results[0], 2.0 * 9.81 * 1.5, 1e-14)
    elif function == "pose":
        assert results[1].tolist() == [0.0, 0.0, 1.0]
    elif function not in ("kinetic_energy", "momentum", "acceleration"):
        assert all(x.size == 0 for x in results)
    batch = [np.stack([np.asarray(x)] * 5) for x in args]
    for x, one in zip(parts(f(*batch)), results):
        assert np.array_equal(x, np.stack([one] * 5))
    d = lb.compile(s, function, wrt=[INPUTS[function][0]], **options)
    assert all(x.size == 0 for x in parts(d(*args)))
