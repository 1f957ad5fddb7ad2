"""Rigid systems equal Pinocchio in everything both can compute."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import limber as lb
from helpers.compare import assert_close, some_externals, some_node
from helpers.peers import SUPPORTED_KINDS, to_pinocchio
from helpers.random_systems import random_assembly, random_state

TOLERANCE = 1e-10


@given(seed=st.integers(0, 2**32 - 1), bodies=st.integers(1, 12), tree=st.booleans())
def test_rigid_tree_equals_pinocchio(seed, bodies, tree):
    rng = np.random.default_rng(seed)
    assembly = random_assembly(rng, bodies=bodies, flexible=0.0, kinds=SUPPORTED_KINDS, tree=tree)
    s = assembly.build()
    peer = to_pinocchio(assembly)
    q, v, tau = random_state(rng, s)
    body = list(s.bodies)[rng.integers(bodies)]
    node = some_node(rng, s, body)
    external = some_externals(rng, s)
    pairs = {
        "mass matrix": (lb.mass_matrix(s, q), peer.mass_matrix(q)),
        "bias": (lb.bias(s, q, v), peer.bias(q, v)),
        "inverse dynamics": (
            lb.inverse_dynamics(s, q, v, tau, external=external),
            peer.inverse_dynamics(q, v, tau, external=external),
        ),
        "Jacobian": (lb.jacobian(s, q, body, node), peer.jacobian(q, body, node)),
        "orientation": (lb.pose(s, q, body, node)[0], peer.pose(q, body, node)[0]),
        "position": (lb.pose(s, q, body, node)[1], peer.pose(q, body, node)[1]),
        "kinetic energy": (lb.kinetic_energy(s, q, v), peer.kinetic_energy(q, v)),
        "potential energy": (lb.potential_energy(s, q), peer.potential_energy(q)),
        "momentum": (lb.momentum(s, q, v), peer.momentum(q, v)),
    }
    for method in ("articulated", "composite"):
        pairs[f"forward dynamics, {method}"] = (
            lb.forward_dynamics(s, q, v, tau, external=external, method=method),
            peer.forward_dynamics(q, v, tau, external=external),
        )
    pairs["forward dynamics, no external forces"] = (
        lb.forward_dynamics(s, q, v, tau),
        peer.forward_dynamics(q, v, tau),
    )
    for what, (ours, theirs) in pairs.items():
        assert_close(ours, theirs, TOLERANCE, what)
