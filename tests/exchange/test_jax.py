"""Functions for JAX: gradients are ours, in both modes, of batches, under jit, of any order."""

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.gradients import (
    PARAMETERS,
    TOLERANCE,
    by_speeds,
    complex_slopes,
    flyer,
    four_bar,
    parameter_values,
    right_slopes,
    state,
)
from limber.errors import ArgumentTypeError, ArgumentValueError

jax = pytest.importorskip("jax", reason="the extra jax is not installed")
jnp = pytest.importorskip("jax.numpy", reason="the extra jax is not installed")
pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def forward():
    return lb.exchange.jax_function(flyer(), "forward_dynamics", parameters=["hub.mass"])


@pytest.mark.parametrize("of", ["forward_dynamics", "inverse_dynamics"])
@pytest.mark.parametrize("mode", ["jacfwd", "jacrev"])
def test_jacobians_are_ours(of, mode):
    s, given = flyer(), state()
    f = lb.exchange.jax_function(s, of, parameters=PARAMETERS)
    arguments = [*given, *parameter_values()]
    assert_close(f(*arguments), getattr(lb, of)(s, *given), TOLERANCE)
    found = list(getattr(jax, mode)(f, argnums=tuple(range(len(arguments))))(*arguments))
    found[0] = found[0] @ by_speeds(s, given[0])
    for mine, right in zip(found, right_slopes(of, *given)):
        assert_close(mine, right, TOLERANCE)


def test_jacobians_of_a_step_are_complex_steps():
    from limber.exchange.gradients.smooth import smooth_function

    rng, given = np.random.default_rng(3), [*state(), 0.01]
    f = lb.exchange.jax_function(flyer(), "step")
    along = [rng.standard_normal(np.shape(x)) for x in given]
    _, changes = jax.jvp(f, tuple(map(jnp.asarray, given)), tuple(map(jnp.asarray, along)))
    _, smooth = smooth_function(flyer(), "step", {})
    right = complex_slopes(smooth.program, given, along)
    assert_close(np.concatenate(changes), right, TOLERANCE)
    weights = [rng.standard_normal(x.shape) for x in changes]
    _, back = jax.vjp(f, *map(jnp.asarray, given))
    slopes = back(tuple(map(jnp.asarray, weights)))
    total = sum(float(np.vdot(x, d)) for x, d in zip(slopes, along))
    assert np.isclose(total, np.concatenate(weights) @ right, rtol=TOLERANCE)


def test_closed_systems():
    s = four_bar()
    q, v, tau = lb.assemble(s, [1.2, -0.9, 1.4]), np.zeros(3), np.array([1.0, 0.5, -0.3])
    f = lb.exchange.jax_function(s, "forward_dynamics")
    right = lb.derivatives(s, q, v, tau)
    for mine, other in zip(
        jax.jacrev(f, argnums=(0, 1, 2))(q, v, tau), (right.q, right.v, right.tau)
    ):
        assert_close(mine, other, TOLERANCE)


def test_wrenches_and_nodes():
    s, (q, v, tau) = flyer(), state()
    end = ("link", "tip")
    f = lb.exchange.jax_function(s, "forward_dynamics", external=[end])
    wrench = np.arange(6.0)[None]
    right = lb.derivatives(s, q, v, tau, external={end: wrench[0]})
    assert_close(jax.jacrev(f, argnums=3)(q, v, tau, wrench)[:, 0], right.external[end], TOLERANCE)
    place = lb.exchange.jax_function(s, "pose", body="link", node="tip")
    J = jax.jacfwd(lambda q: place(q)[1])(q) @ by_speeds(s, q)
    assert_close(J, lb.jacobian(s, q, "link", "tip")[3:], TOLERANCE)


def test_vmap_is_a_batch(forward):
    s, (q, v, tau) = flyer(), state(1, 9)
    right = lb.forward_dynamics(s, q, v, tau)
    mass = 3.0
    assert_close(forward(q, v, tau, mass), right, TOLERANCE)
    assert_close(jax.vmap(forward, (0, 0, 0, None))(q, v, tau, mass), right, TOLERANCE)
    assert_close(jax.vmap(forward, (0, 0, 1, None))(q, v, tau.T, mass), right, TOLERANCE)
    masses = np.linspace(2.0, 4.0, 3)
    both = jax.vmap(jax.vmap(forward, (0, 0, 0, None)), (None, None, None, 0))(q, v, tau, masses)
    for m, rows in zip(masses, both):
        changed = s.with_parameters({"hub.mass": m})
        assert_close(rows, lb.forward_dynamics(changed, q, v, tau), TOLERANCE)
    other_way = jax.vmap(jax.vmap(forward, (None, None, None, 0)), (0, 0, 0, None))(
        q, v, tau, masses
    )
    assert_close(np.swapaxes(other_way, 0, 1), both, TOLERANCE)
    inside = jax.vmap(forward, (None, None, None, 0))(
        q, v, tau, masses
    )  # a batch, mapped once more
    assert_close(inside, both, TOLERANCE)


def test_gradients_of_batches(forward):
    s, (q, v, tau) = flyer(), state(1, 9)

    def cost(q, v, tau, mass):
        return (forward(q, v, tau, mass) ** 2).sum()

    by_all = jax.grad(cost, argnums=(0, 3))(q, v, tau, 3.0)
    one_by_one = jax.vmap(jax.grad(cost, argnums=(0, 3)), (0, 0, 0, None))(q, v, tau, 3.0)
    assert_close(by_all[0], one_by_one[0], TOLERANCE)
    assert_close(by_all[1], one_by_one[1].sum(), TOLERANCE)
    d = lb.derivatives(s, q, v, tau, by=("q", "hub.mass"))
    right = 2.0 * np.einsum("ni,ni->", d.value, d.parameters["hub.mass"])
    assert_close(by_all[1], right, TOLERANCE)
    jacobians = jax.vmap(jax.jacfwd(forward), (0, 0, 0, None))(q, v, tau, 3.0)
    N = np.stack([by_speeds(s, x) for x in q])
    assert_close(jacobians @ N, d.q, TOLERANCE)


def test_second_derivatives_are_complex_steps_of_the_first(forward):
    from limber.exchange.gradients.smooth import smooth_function

    q, v, tau = state()
    weights = np.random.default_rng(2).standard_normal(len(v))

    def cost(v):
        return forward(q, v, tau, 3.0) @ weights

    hessian = jax.hessian(cost)(v)
    _, smooth = smooth_function(flyer(), "forward_dynamics", {})
    slopes = [
        complex_slopes(smooth.adjoint.program, [q, v, tau, weights], [0 * q, e, 0 * tau, 0 * v])
        for e in np.eye(len(v))
    ]
    right = np.array(slopes)[:, len(q) : len(q) + len(v)]
    assert_close(hessian, right, TOLERANCE)
    assert_close(jax.jacrev(jax.grad(cost))(v), right, TOLERANCE)
    assert_close(jax.jacfwd(jax.jacfwd(cost))(v), right, TOLERANCE)


def test_scans_of_steps_under_jit():
    s, (q, v, tau) = flyer(), state()
    step = lb.exchange.jax_function(s, "step", parameters=["link.EI"])

    @jax.jit
    def end(EI, tau):
        def one(now, _):
            return step(*now, tau, 1e-3, EI), None

        (_, v_end), _ = jax.lax.scan(one, (jnp.asarray(q), jnp.asarray(v)), None, length=20)
        return v_end @ v_end

    by_hand = lb.compile(s, "step")
    x, y = q, v
    for _ in range(20):
        x, y = by_hand(x, y, tau, 1e-3)
    assert_close(end(60.0, tau), y @ y, TOLERANCE)
    slope = jax.grad(end)(60.0, tau)
    forward_slope = jax.jvp(lambda EI: end(EI, tau), (60.0,), (1.0,))[1]
    assert_close(slope, forward_slope, TOLERANCE)
    h = 1e-3
    assert np.isclose(slope, (end(60.0 + h, tau) - end(60.0 - h, tau)) / (2 * h), rtol=1e-5)


def test_callbacks_give_the_same_numbers(forward):
    """What runs where the device is not the CPU."""
    from limber.exchange.gradients import for_jax
    from limber.exchange.gradients.smooth import smooth_function

    _, smooth = smooth_function(flyer(), "step", {})
    for count in (None, 9):
        given = [jax.device_put(x, jax.devices("cpu")[0]) for x in (*state(4, count), 0.01)]
        found = jax.jit(lambda *x: for_jax._on_host(*x, smooth=smooth))(*given)
        right = jax.jit(lambda *x: for_jax._on_cpu(*x, smooth=smooth))(*given)
        for mine, other in zip(found, right):
            assert_close(mine, other, TOLERANCE)


def test_single_precision_and_numbers_are_converted(forward):
    q, v, tau = state()
    found = forward(q, v, tau=jnp.asarray(tau, "float32"), hub_mass=3)
    assert found.dtype == np.float64
    right = forward(q, v, tau.astype("float32"), 3.0)
    assert np.array_equal(found, right)


def test_what_cannot_work_is_refused(forward):
    q, v, tau = state()
    with pytest.raises(ArgumentValueError, match=r"tau .*must have shape \(9,\).*got \(4,\)"):
        forward(q, v, np.zeros(4), 3.0)
    with pytest.raises(ArgumentTypeError, match="q must be an array of real numbers, got complex"):
        forward(q + 1j, v, tau, 3.0)
    for wrong in (None, "one", object()):
        with pytest.raises(ArgumentTypeError, match=r"tau must be an? array of real numbers, got"):
            forward(q, v, wrong, 3.0)
    with pytest.raises(ArgumentTypeError, match="takes q, v, tau, hub_mass; got 3 in order"):
        forward(q, v, tau)
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(ArgumentValueError, match=r'update\("jax_enable_x64", True\)'):
            forward(q, v, tau, 3.0)
    finally:
        jax.config.update("jax_enable_x64", True)
