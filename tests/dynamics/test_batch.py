"""Batches, threads, purity: the same numbers whatever the way of calling."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import limber as lb
from helpers.random_systems import random_assembly, random_state


@pytest.fixture(scope="module", params=["full", "ruthless"])
def case(request):
    rng = np.random.default_rng(3)
    s = random_assembly(rng, bodies=6, flexible=0.5).build(fidelity=request.param)
    states = [random_state(rng, s) for _ in range(210)]
    return s, *(np.array(x) for x in zip(*states))


FUNCTIONS = {
    "forward": lambda s, q, v, x: lb.forward_dynamics(s, q, v, x),
    "composite": lambda s, q, v, x: lb.forward_dynamics(s, q, v, x, method="composite"),
    "external": lambda s, q, v, x: lb.forward_dynamics(
        s, q, v, x, external={(list(s.bodies)[-1], 0): x[..., :1] * np.ones(6)}
    ),
    "inverse": lambda s, q, v, x: lb.inverse_dynamics(s, q, v, x),
    "bias": lambda s, q, v, x: lb.bias(s, q, v),
    "mass": lambda s, q, v, x: lb.mass_matrix(s, q),
    "kinetic": lambda s, q, v, x: lb.kinetic_energy(s, q, v),
    "potential": lambda s, q, v, x: lb.potential_energy(s, q),
    "momentum": lambda s, q, v, x: lb.momentum(s, q, v),
    "orientation": lambda s, q, v, x: lb.pose(s, q, list(s.bodies)[-1], 0)[0],
    "position": lambda s, q, v, x: lb.pose(s, q, list(s.bodies)[-1], 0)[1],
    "jacobian": lambda s, q, v, x: lb.jacobian(s, q, list(s.bodies)[-1]),
    "qdot": lambda s, q, v, x: lb.qdot(s, q, v),
    "integrate": lambda s, q, v, x: lb.integrate(s, q, v, 0.1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batch_equals_one_by_one(case, name):
    s, q, v, x = case
    f = FUNCTIONS[name]
    one_by_one = np.array([f(s, *row) for row in zip(q, v, x)])
    assert np.array_equal(f(s, q, v, x), one_by_one)
    shaped = f(s, *(a.reshape(7, 30, -1) for a in (q, v, x)))
    assert np.array_equal(shaped.reshape(one_by_one.shape), one_by_one)


def test_arguments_broadcast(case):
    s, q, v, x = case
    both = lb.forward_dynamics(s, q[:, None], v[None, :3], x[0])
    assert both.shape == (len(q), 3, s.nv)
    assert np.array_equal(both[5, 2], lb.forward_dynamics(s, q[5], v[2], x[0]))


def test_empty_batch_gives_empty_result(case):
    s, q, v, x = case
    assert lb.forward_dynamics(s, q[:0], v[:0], x[:0]).shape == (0, s.nv)
    assert lb.mass_matrix(s, q[:0]).shape == (0, s.nv, s.nv)


def test_results_do_not_depend_on_earlier_calls(case):
    """Scratch is reused: a call between two equal ones changes nothing, nor do NaNs left in it."""
    s, q, v, x = case
    first = lb.forward_dynamics(s, q[0], v[0], x[0])
    lb.forward_dynamics(s, q[1], 1e3 * v[1], x[1])
    for pool in s.dynamics.pools.values():
        for work in pool.free:
            work[:] = np.nan
    again = lb.forward_dynamics(s, q[0], v[0], x[0])
    assert np.array_equal(first, again)
    first[:] = 0.0
    assert again.any()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_is_read_from_scratch_before_it_is_written(case, name):
    s, q, v, x = case
    f = FUNCTIONS[name]
    before = f(s, q[2], v[2], x[2])
    for packed in (s.dynamics, s.geometry):
        for pool in packed.pools.values():
            for work in pool.free:
                work[:] = np.nan
    assert np.array_equal(f(s, q[2], v[2], x[2]), before)


def test_inputs_are_not_changed(case):
    s, q, v, x = case
    copies = [a.copy() for a in (q, v, x)]
    for f in FUNCTIONS.values():
        f(s, q, v, x)
        f(s, q[0], v[0], x[0])
    assert all(np.array_equal(a, b) for a, b in zip((q, v, x), copies))


def test_lists_strided_and_read_only_arrays_are_taken(case):
    s, q, v, x = case
    expected = lb.forward_dynamics(s, q[4], v[4], x[4])
    wide = np.repeat(q[4], 2)[::2]
    frozen = v[4].copy()
    frozen.setflags(write=False)
    assert np.array_equal(lb.forward_dynamics(s, wide, frozen, x[4].tolist()), expected)
    assert np.allclose(
        lb.forward_dynamics(s, q[4].astype(np.longdouble), v[4], x[4]), expected, rtol=1e-12
    )


def test_a_system_is_shared_between_threads(case):
    s, q, v, x = case
    expected = lb.forward_dynamics(s, q, v, x)

    def work(_):
        return np.array([lb.forward_dynamics(s, *row) for row in zip(q, v, x)])

    with ThreadPoolExecutor(4) as executor:
        for result in executor.map(work, range(8)):
            assert np.array_equal(result, expected)


def test_a_batch_of_a_system_without_coordinates_is_that_of_its_only_state():
    fixed = lb.RigidBody(2.0, (0.5, 0, 0), np.eye(3), nodes={"end": (1, 0, 0)})
    s = lb.Assembly("still", gravity=(0, 0, -9.81)).attach("b", fixed, lb.Fixed()).build()
    one, many = np.zeros(0), np.zeros((1000, 0))
    for name in set(FUNCTIONS) - {"external"}:  # its forces come from the state
        f = FUNCTIONS[name]
        assert np.array_equal(f(s, many, many, many), np.array([f(s, one, one, one)] * 1000))
