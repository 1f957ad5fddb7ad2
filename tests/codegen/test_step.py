"""The generated step is the classical Runge-Kutta method: order four, quaternions unit."""

import itertools

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.generated import FIDELITIES, arm, evaluated, mixed, pendulum, program, values
from helpers.random_systems import quaternion_slices
from limber.codegen import derivatives
from limber.kernels import layout as L
from limber.kernels import plain

TOLERANCE = 1e-12


def runge_kutta(rates, x, dt):
    """The textbook, for any x' = rates(x)."""
    k1 = rates(x)
    k2 = rates(x + 0.5 * dt * k1)
    k3 = rates(x + 0.5 * dt * k2)
    k4 = rates(x + dt * k3)
    return x + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


def engine_rates(s, tau):
    """q_dot and v_dot by the engine, which refuses quaternions that are not unit."""

    def rates(x):
        q, v = x[: s.nq], x[s.nq :]
        return np.concatenate([lb.qdot(s, q, v), lb.forward_dynamics(s, q, v, tau)])

    return rates


def kernel_rates(s, tau):
    """The same by the kernels as plain Python: no checks, so that stages need not be unit."""
    k, packed = plain.load(), s.dynamics
    sweep = k.precomputed if s.fidelity == "ruthless" else k.articulated
    topo, const = packed.topo.tolist(), packed.const.tolist()

    def rates(x):
        q, v = x[: s.nq].tolist(), x[s.nq :].tolist()
        work, rate, vdot = [None] * topo[L.WORK_SIZE], [0.0] * s.nq, [0.0] * s.nv
        sweep.forward_dynamics(topo, const, work, q, v, tau.tolist(), 0, [], [], vdot)
        k.manifold.coordinate_rates(topo, const, work, q, v, rate)
        return np.array(rate + vdot)

    return rates


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_step_is_runge_kutta_over_the_engine(fidelity):
    """A flexible arm without quaternions: lb.qdot and lb.forward_dynamics in a textbook step."""
    s, rng = arm(fidelity), np.random.default_rng(1)
    q, v, tau, dt = values(rng, s, "step")
    expected = runge_kutta(engine_rates(s, tau), np.concatenate([q, v]), dt)
    for got in (
        lb.compile(s, "step")(q, v, tau, dt),
        evaluated(program(s, "step"), [q, v, tau, dt]),
    ):
        assert_close(np.concatenate(got), expected, TOLERANCE)


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_step_with_quaternions_is_runge_kutta_then_unit_length(fidelity):
    s, rng = mixed(fidelity), np.random.default_rng(2)
    q, v, tau, dt = values(rng, s, "step")
    expected = runge_kutta(kernel_rates(s, tau), np.concatenate([q, v]), dt)
    for part in quaternion_slices(s):
        expected[part] /= np.linalg.norm(expected[part])
    f = lb.compile(s, "step", lanes=4)
    assert_close(np.concatenate(f(q, v, tau, dt)), expected, TOLERANCE)
    q_new, v_new = f(np.tile(q, (5, 1)), v, tau, dt)
    assert_close(np.hstack([q_new, v_new]), np.tile(expected, (5, 1)), TOLERANCE)


SYSTEMS = {
    "pendulum": pendulum,
    "arm": arm,
    "ruthless arm": lambda: arm("ruthless"),
    "mixed": mixed,
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_observed_order_is_four(name):
    """Over a fixed time, halving dt divides the difference between successive solutions by 16."""
    s, rng = SYSTEMS[name](), np.random.default_rng(3)
    f = lb.compile(s, "step", lanes=4 if name == "mixed" else 1)
    q0, v0, tau, _ = values(rng, s, "step")
    q0[: 2 if name == "mixed" else 0] *= 0.2
    time, ends = (0.5 if name == "pendulum" else 0.02), []
    for steps in (8, 16, 32, 64):
        q, v = q0, v0
        for _ in range(steps):
            q, v = f(q, v, tau, time / steps)
        ends.append(np.concatenate([q, v]))
    errors = [np.abs(a - b).max() for a, b in itertools.pairwise(ends)]
    assert errors[0] > 1e-12  # above rounding, or there is no order to see
    orders = [np.log2(a / b) for a, b in itertools.pairwise(errors) if b > 1e-13]
    assert orders and all(3.7 < x < 4.4 for x in orders), (orders, errors)


def test_quaternions_stay_unit_over_a_thousand_steps():
    """Normalized every step, also from a start that is not quite unit."""
    spin = lb.Assembly("spin").attach("top", lb.RigidBody(1.0, (0, 0, 0), np.diag([1.0, 2.0, 2.5])), lb.Spherical()).build()  # fmt: skip
    f = lb.compile(spin, "step")
    q, v, tau = np.array([1.0, 1e-3, 0.0, 0.0]), np.array([3.0, 0.1, 0.2]), np.zeros(3)
    L0 = None
    for _ in range(1000):
        q, v = f(q, v, tau, 0.005)
        assert abs(np.linalg.norm(q) - 1.0) < 4e-16
        momentum = lb.momentum(spin, q, v)
        L0 = momentum if L0 is None else L0
    assert_close(momentum, L0, 1e-5)  # five seconds of tumbling at dt = 5 ms


def test_zero_step_changes_nothing():
    s, rng = mixed(), np.random.default_rng(4)
    q, v, tau, _ = values(rng, s, "step")
    got = evaluated(program(s, "step"), [q, v, tau, 0.0])
    assert_close(got[0], q, 1e-15)
    assert np.array_equal(got[1], v)


def test_step_takes_parameters_into_its_stages():
    """The callee gets the gravity of the step, not the model's."""
    weightless, heavy = pendulum(gravity=(0.0, 0.0, 0.0)), pendulum()
    f = lb.compile(weightless, "step", parameters=["gravity", "bob.mass"])
    g = lb.compile(heavy, "step")
    args = np.array([0.4]), np.array([0.2]), np.array([0.3]), 0.01
    assert_close(f(*args, [0.0, -9.81, 0.0], 2.0), g(*args), TOLERANCE)


@pytest.mark.parametrize("name", ["ruthless arm", "mixed"])
def test_chained_derivative_is_the_expanded_one(name, monkeypatch):
    """Products with the derivatives of the stages as loops, in C and in lanes, against every product written out."""
    s, rng = SYSTEMS[name](), np.random.default_rng(5)
    args = values(rng, s, "step")
    wrt = ["v", "tau", "dt"] if name == "mixed" else ["q", "v", "tau", "dt"]
    chained = program(s, "step", wrt=wrt)
    assert any(p.name.startswith("product") for p in chained.callees)
    monkeypatch.setattr(derivatives, "LOOPED", 10**9)
    expanded = program(s, "step", wrt=wrt)
    assert not any(p.name.startswith("product") for p in expanded.callees)
    expected = evaluated(expanded, args)
    for got, wanted in zip(evaluated(chained, args), expected):
        assert_close(got, wanted, TOLERANCE)
    monkeypatch.undo()
    if name == "mixed":  # whose code takes long to compile
        return
    f = lb.compile(s, "step", wrt=wrt, lanes=4)
    for got, wanted in zip(f(*args), expected):
        assert_close(np.reshape(got, wanted.shape), wanted, TOLERANCE)
    batch = f(np.tile(args[0], (5, 1)), *args[1:])
    for got, wanted in zip(batch, expected):
        assert_close(got, np.tile(wanted, (5, *[1] * wanted.ndim)), TOLERANCE)
