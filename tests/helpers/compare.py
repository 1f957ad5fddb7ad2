"""How results are compared."""

import numpy as np


def assert_close(actual, expected, tolerance, what=""):
    """Largest difference within `tolerance` of the largest value, at least 1."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert actual.shape == expected.shape, f"{what}: {actual.shape} != {expected.shape}"
    if expected.size == 0:
        return
    error = np.abs(actual - expected).max() / max(1.0, np.abs(expected).max())
    assert error <= tolerance, f"{what}: relative error {error:.2e} > {tolerance:.0e}"


def some_node(rng, system, body):
    """A random node of a body, by name, by number, or its body frame."""
    names = system.bodies[body].node_set.names
    choice = rng.integers(3)
    if choice == 0 or not names:
        return None
    i = int(rng.integers(len(names)))
    return names[i] if choice == 1 else i


def some_externals(rng, system, count=2):
    """Wrenches on random nodes of random bodies."""
    bodies = list(system.bodies)
    keys = {}
    for _ in range(count):
        body = bodies[rng.integers(len(bodies))]
        keys[body, some_node(rng, system, body)] = rng.standard_normal(6)
    return keys
