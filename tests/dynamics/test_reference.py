"""Flexible systems equal a brute-force model: every mass point a rigid body, Kane's equations,
all derivatives by automatic differentiation, no recursion (`helpers.reference`)."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import limber as lb
from helpers.compare import assert_close, some_externals, some_node
from helpers.random_systems import random_assembly, random_state
from helpers.reference import Reference

TOLERANCE = 1e-9


def compare(rng, assembly, eta_scale):
    s = assembly.build()
    assume(s.nv > 0)
    reference = Reference(assembly)
    q, v, tau = random_state(rng, s, eta_scale=eta_scale)
    body = list(s.bodies)[rng.integers(len(s.bodies))]
    node = some_node(rng, s, body)
    external = some_externals(rng, s)
    pairs = {
        "mass matrix": (lb.mass_matrix(s, q), reference.mass_matrix(q)),
        "bias": (lb.bias(s, q, v), reference.bias(q, v)),
        "inverse dynamics": (
            lb.inverse_dynamics(s, q, v, tau, external=external),
            reference.inverse_dynamics(q, v, tau, external=external),
        ),
        "Jacobian": (lb.jacobian(s, q, body, node), reference.jacobian(q, body, node)),
        "orientation": (lb.pose(s, q, body, node)[0], reference.pose(q, body, node)[0]),
        "position": (lb.pose(s, q, body, node)[1], reference.pose(q, body, node)[1]),
        "kinetic energy": (lb.kinetic_energy(s, q, v), reference.kinetic_energy(q, v)),
        "potential energy": (lb.potential_energy(s, q), reference.potential_energy(q)),
        "momentum": (lb.momentum(s, q, v), reference.momentum(q, v)),
        "qdot": (lb.qdot(s, q, v), reference.qdot(q, v)),
    }
    for method in ("articulated", "composite"):
        pairs[f"forward dynamics, {method}"] = (
            lb.forward_dynamics(s, q, v, tau, external=external, method=method),
            reference.forward_dynamics(q, v, tau, external=external),
        )
    for what, (ours, theirs) in pairs.items():
        assert_close(ours, theirs, TOLERANCE, what)


@given(seed=st.integers(0, 2**32 - 1), bodies=st.integers(1, 5), inboard=st.booleans())
def test_point_mass_nodes_are_exact_at_finite_deformation(seed, bodies, inboard):
    rng = np.random.default_rng(seed)
    compare(rng, random_assembly(rng, bodies=bodies, flexible=0.7, inboard=inboard), 1.0)


@given(seed=st.integers(0, 2**32 - 1), bodies=st.integers(1, 5), inboard=st.booleans())
def test_second_order_shapes_are_exact_at_finite_deformation(seed, bodies, inboard):
    rng = np.random.default_rng(seed)
    assembly = random_assembly(rng, bodies=bodies, flexible=0.7, inboard=inboard, second=True)
    compare(rng, assembly, 1.0)


@given(seed=st.integers(0, 2**32 - 1), bodies=st.integers(1, 5), second=st.booleans())
def test_rotary_inertia_nodes_are_exact_undeformed(seed, bodies, second):
    rng = np.random.default_rng(seed)
    assembly = random_assembly(rng, bodies=bodies, flexible=0.7, rotary=True, second=second)
    compare(rng, assembly, 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_rotary_inertia_error_falls_with_deformation(seed):
    """G, F and E are kept to first order: the error of the forces is of first order in eta, through the
    derivatives that b_m takes of them."""
    rng = np.random.default_rng(seed)
    assembly = random_assembly(rng, bodies=3, flexible=1.0, rotary=True)
    s, reference = assembly.build(), Reference(assembly)
    q, v, tau = random_state(rng, s)
    eta = np.zeros(s.nq)
    for where in s.layout.values():
        eta[where.q_modes] = q[where.q_modes]
    # from the same joint coordinates, with less and less deformation
    errors = []
    for scale in (0.2, 0.1, 0.05):
        x = q - (1.0 - scale) * eta
        ours = lb.inverse_dynamics(s, x, v, tau)
        errors.append(np.abs(ours - reference.inverse_dynamics(x, v, tau)).max())
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert rates.min() > 0.9
