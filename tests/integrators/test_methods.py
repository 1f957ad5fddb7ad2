"""The records of the integration methods: every order condition of every method, and what the loop relies on."""

from functools import cache
from math import prod

import numpy as np
import pytest

from limber.integrators.method_record import HEAD, from_powers, hermite
from limber.integrators.methods import method_named, method_names

#: Rounding in sums of coefficients of size 1e2 and their products over up to 8 levels of a tree.
ROUNDING = 1e-11
#: The number of rooted trees of each order, and so of order conditions.
TREES = (1, 1, 2, 4, 9, 20, 48, 115)

every_method = pytest.mark.parametrize("name", method_names())


@cache
def trees(order):
    """All rooted trees with `order` nodes; a tree is the sorted tuple of the trees on its root."""
    if order == 1:
        return [()]
    # One branch more on the root of a smaller tree gives every tree, some of them several times.
    grown = {
        tuple(sorted((*tree, branch)))
        for size in range(1, order)
        for tree in trees(order - size)
        for branch in trees(size)
    }
    return sorted(grown)


def nodes(tree):
    return 1 + sum(map(nodes, tree))


def density(tree):
    return nodes(tree) * prod(map(density, tree))


def elementary_weights(tree, A):
    """The derivative that a tree stands for, at all stages of A."""
    return prod((A @ elementary_weights(branch, A) for branch in tree), start=np.ones(len(A)))


def all_stages(method):
    """The tableau of all rates that a step keeps: stages, the rate at the end, extra stages."""
    s, rates = method.stages, method.rates
    A = np.zeros((rates, rates))
    A[:s, :s], A[s, :s], A[s + 1 :] = method.A, method.b, method.extra_A.reshape(-1, rates)
    return A


def dense_weights(method, x):
    """The weights of the rates at the fraction x of a step, by the formula in `method_record`."""
    b = np.append(method.b, np.zeros(method.rates - method.stages))
    z = 1.0 - x
    functions = [x ** ((p + 3) // 2) * z ** (p // 2 + 1) for p in range(method.dense.shape[1])]
    return b * x + method.dense @ functions


def largest_residual(weights, A, order, scale):
    """The largest error of `weights` in the conditions of one order: sum_j w_j Phi_j = scale / density."""
    A = A[: len(weights), : len(weights)]
    return max(
        abs(weights @ elementary_weights(tree, A) - scale / density(tree)) for tree in trees(order)
    )


def test_there_are_as_many_trees_as_there_must_be():
    assert tuple(len(trees(order)) for order in range(1, 9)) == TREES


@every_method
def test_stages_lie_at_the_sums_of_their_rows(name):
    method = method_named(name)
    times = np.concatenate([method.c, [1.0], method.extra_c])
    assert np.abs(all_stages(method).sum(axis=1) - times).max() < ROUNDING


@every_method
def test_the_solution_has_its_order_and_no_more(name):
    method = method_named(name)
    A = all_stages(method)
    for order in range(1, method.order + 1):
        assert largest_residual(method.b, A, order, 1.0) < ROUNDING
    if method.order < 8:  # there are 286 trees of order 9
        assert largest_residual(method.b, A, method.order + 1, 1.0) > 1e-6


@every_method
def test_error_estimates_vanish_up_to_their_order(name):
    method = method_named(name)
    orders = {"dop853": (5, 3)}.get(name, (method.error_order,))
    assert len(method.errors) == (len(orders) if method.adaptive else 0)
    for weights, known in zip(method.errors, orders):
        for order in range(1, known + 1):
            assert largest_residual(weights, all_stages(method), order, 0.0) < ROUNDING
        assert largest_residual(weights, all_stages(method), known + 1, 0.0) > 1e-6


@every_method
@pytest.mark.parametrize("x", [0.1, 0.37, 0.5, 0.8, 1.0])
def test_dense_output_has_its_order(name, x):
    method = method_named(name)
    weights = dense_weights(method, x)
    for order in range(1, method.dense_order + 1):
        assert largest_residual(weights, all_stages(method), order, x**order) < ROUNDING


@every_method
def test_dense_output_has_the_rate_of_the_start(name):
    """Its slope at x = 0 is k_0, except where the method is implicit and its first stage no part of the solution."""
    method = method_named(name)
    slope = method.dense[:, 0] + np.append(method.b, np.zeros(method.rates - method.stages))
    if not method.implicit:
        assert np.abs(slope - np.eye(method.rates)[0]).max() < ROUNDING


@every_method
def test_stages_depend_on_those_before_them(name):
    method = method_named(name)
    above = np.triu(method.A)
    if method.implicit:
        gamma = method.A[-1, -1]
        assert np.array_equal(above, gamma * np.diag([0.0] + [1.0] * (method.stages - 1)))
        assert np.array_equal(method.A[-1], method.b)  # stiffly accurate
        assert len(method.errors) == 1
    else:
        assert not above.any()


@every_method
def test_records_hold_the_method(name):
    method = method_named(name)
    parts = (method.A, method.b, method.c, method.errors, method.extra_A, method.extra_c)
    stages = method.stages if method.adaptive else 0
    dense = method.rates * (1 + method.dense.shape[1])
    assert method.record.size == HEAD + sum(part.size for part in parts) + stages + dense
    assert method.record.dtype == np.float64 and np.isfinite(method.record).all()
    assert method_named(name) is method


def test_powers_become_the_alternating_form():
    """The cubic of Hermite in powers of x: 3 x^2 - 2 x^3 of the way, and x (1 - x)^2 and -x^2 (1 - x) of the rates."""
    b = np.array([0.25, 0.75])
    powers = np.outer(np.append(b, 0.0), [0.0, 3.0, -2.0])
    powers[0] += [1.0, -2.0, 1.0]
    powers[2] += [0.0, -1.0, 1.0]
    assert np.allclose(from_powers(powers), hermite(b, 3), rtol=0.0, atol=1e-15)
