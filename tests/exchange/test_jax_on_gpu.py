"""Functions for JAX on a real GPU, whose arrays stay there; skipped where there is none."""

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.gpu import needs_gpu
from helpers.gradients import flyer, state

jax = pytest.importorskip("jax", reason="the extra jax is not installed")
pytestmark = [pytest.mark.slow, needs_gpu]
TOLERANCE = 1e-11


def devices(kind):
    try:
        return jax.devices(kind)
    except RuntimeError:
        return []


@pytest.fixture(scope="module")
def gpu():
    found = devices("cuda")
    if not found:
        pytest.skip("needs a JAX with CUDA")
    return found[0]


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def forward():
    return lb.exchange.jax_function(flyer(), "forward_dynamics", parameters=["hub.mass"])


def placed(device, given):
    return [jax.device_put(np.asarray(x, dtype=float), device) for x in given]


@pytest.mark.parametrize("count", [None, 1, 300])
def test_values_and_gradients(gpu, forward, count):
    given = [*state(1, count), 3.0]

    def cost(*x):
        return (forward(*x) ** 2).sum()

    run = jax.jit(lambda *x: (forward(*x), jax.grad(cost, argnums=(0, 1, 2, 3))(*x)))
    text = run.trace(*placed(gpu, given)).lower().as_text()
    assert "limber_cuda_" in text and "callback" not in text
    there = run(*placed(gpu, given))
    here = run(*placed(jax.devices("cpu")[0], given))
    assert there[0].devices() == {gpu}
    for mine, right in zip(jax.tree.leaves(there), jax.tree.leaves(here), strict=True):
        assert_close(mine, right, TOLERANCE)
    assert_close(there[0], lb.forward_dynamics(flyer(), *given[:3]), TOLERANCE)


def test_jacobians_under_vmap_and_scans(gpu, forward):
    given = [*state(2, 20), 3.0]
    given[0][:, 7:9] *= 0.1  # within the theory, so that the motions stay finite
    jacobians = jax.jit(jax.vmap(jax.jacrev(forward, argnums=(0, 1, 2)), in_axes=(0, 0, 0, None)))
    step = lb.exchange.jax_function(flyer(), "step")

    def rolled(q, v, tau):
        return jax.lax.scan(lambda x, _: (step(*x, tau, 1e-3), None), (q, v), None, length=50)[0]

    rolled = jax.jit(rolled)
    cpu = jax.devices("cpu")[0]
    for f, x in ((jacobians, given), (rolled, given[:3])):
        there, here = f(*placed(gpu, x)), f(*placed(cpu, x))
        for mine, right in zip(jax.tree.leaves(there), jax.tree.leaves(here), strict=True):
            assert mine.devices() == {gpu}
            assert_close(mine, right, TOLERANCE)


def test_chains_of_operations_wait_for_each_other(gpu, forward):
    """Kernels run on the stream of XLA: results of one operation are the inputs of the next."""
    q, v, tau = state(3, 4096)
    f = jax.jit(
        lambda q, v, tau, m: forward(q, 2.0 * forward(q, jax.numpy.sin(v), tau, m) / 50.0, tau, m)
    )
    there = f(*placed(gpu, [q, v, tau, 3.0]))
    inner = 2.0 * lb.forward_dynamics(flyer(), q, np.sin(v), tau) / 50.0
    assert_close(there, lb.forward_dynamics(flyer(), q, inner, tau), TOLERANCE)
