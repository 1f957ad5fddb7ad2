"""Kernels on a real GPU against the processor; skipped where there is none."""

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.generated import arm, engine, mixed, values
from helpers.gpu import needs_gpu
from helpers.gradients import four_bar
from limber.codegen import cuda_source

pytestmark = needs_gpu
TOLERANCE = 1e-11


def chain(links, modes=4):
    a = lb.Assembly("chain", gravity=(0, -9.81, 0))
    to, at = "world", None
    for i in range(links):
        beam = lb.beam(1.0, 2.0, EI=200.0, modes={"y": modes // 2, "z": modes // 2})
        a.attach(f"link{i}", beam, lb.Revolute([0, 0, 1]), to=to, at=at)
        to, at = f"link{i}", "tip"
    return a.build()


def on_gpu(f, columns):
    import cupy

    found = f(*(cupy.asarray(np.ascontiguousarray(np.moveaxis(x, 0, -1))) for x in columns))
    found = found if isinstance(found, tuple) else (found,)
    return [np.moveaxis(x.get(), -1, 0) for x in found]


def drawn(s, function, count, size=1.0):
    """`count` states; deformations are `size` times those that `values` draws."""
    rng = np.random.default_rng(5)
    states = [values(rng, s, function) for _ in range(count)]
    return [size * np.array(x) for x in zip(*states)]


@pytest.mark.parametrize(
    "function", ["forward_dynamics", "inverse_dynamics", "mass_matrix", "step"]
)
@pytest.mark.parametrize("system", [arm, mixed])
def test_functions(system, function):
    s = system()
    columns = drawn(s, function, 1000)
    if function == "step":
        columns[3] = np.full(1000, 0.01)
        right = lb.compile(s, "step")(*columns)
    else:
        right = [engine(s, function, columns)]
    found = on_gpu(lb.compile(s, function, "cuda"), columns)
    for mine, other in zip(found, right, strict=True):
        assert_close(mine, other, TOLERANCE)


@pytest.mark.parametrize("links", [5, 8, 12])
def test_loops(links):
    """Long chains, whose kernels have loops, shared memory and far memory."""
    s = chain(links)
    f = lb.compile(s, "forward_dynamics", "cuda")
    assert cuda_source.loops(f.program, single=False) is not None
    columns = drawn(s, "forward_dynamics", 300, size=0.05)
    (found,) = on_gpu(f, columns)
    assert_close(found, lb.forward_dynamics(s, *columns), TOLERANCE)


def test_closed_systems():
    s = four_bar()
    rng = np.random.default_rng(0)
    q = np.array([lb.assemble(s, [1.2 + x, -0.9, 1.4]) for x in 0.1 * rng.standard_normal(50)])
    v = np.array([lb.project(s, x, y)[1] for x, y in zip(q, rng.standard_normal((50, 3)))])
    columns = [q, v, rng.standard_normal((50, 3))]
    (found,) = on_gpu(lb.compile(s, "forward_dynamics", "cuda"), columns)
    assert_close(found, lb.forward_dynamics(s, *columns), TOLERANCE)


@pytest.mark.parametrize("system", [arm, mixed, lambda: lb.models.canadarm().build()])
def test_jacobians(system):
    s = system()
    columns = drawn(s, "forward_dynamics", 200, size=1.0 if s.nq != 15 else 0.05)
    f = lb.compile(s, "forward_dynamics", "cuda", wrt=("q", "v", "tau"))
    right = lb.derivatives(s, *columns)
    for mine, other in zip(on_gpu(f, columns), (right.q, right.v, right.tau), strict=True):
        assert_close(mine, other, TOLERANCE)


def test_rollouts():
    import cupy

    s = mixed()
    q, v, tau = drawn(s, "forward_dynamics", 64)
    step, dt = lb.compile(s, "step"), 1e-3
    forces = np.random.default_rng(1).standard_normal((4, *tau.shape))
    f = lb.compile(s, "rollout", "cuda")
    given = [cupy.asarray(np.ascontiguousarray(np.moveaxis(x, -1, -2))) for x in (q, v, forces)]
    Q, V = (x.get() for x in f(given[0], given[1], given[2], dt, 20, record=10))
    for k in range(20):
        q, v = step(q, v, forces[k // 5], np.full(64, dt))
        if k == 9:
            assert_close(Q[0].T, q, TOLERANCE)
    assert_close(Q[1].T, q, TOLERANCE)
    assert_close(V[1].T, v, TOLERANCE)
