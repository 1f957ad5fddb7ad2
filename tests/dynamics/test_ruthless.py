"""The ruthless model: what it drops, what it keeps, and its two ways of inverting D_f."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limber as lb
from helpers.compare import assert_close, some_externals
from helpers.random_systems import random_assembly, random_state
from limber.dynamics import sweep

TOLERANCE = 1e-9
seeds = st.integers(0, 2**32 - 1)


def pair(rng):
    assembly = random_assembly(rng, bodies=6, flexible=0.7, rotary=bool(rng.integers(2)))
    return assembly.build(), assembly.build(fidelity="ruthless")


def without_modes(s, x, part):
    x = x.copy()
    for where in s.layout.values():
        x[getattr(where, part)] = 0.0
    return x


@given(seed=seeds)
def test_ruthless_equals_full_without_deformation_and_its_rate(seed):
    rng = np.random.default_rng(seed)
    full, ruthless = pair(rng)
    q, v, tau = random_state(rng, full, eta_scale=0.0)
    v = without_modes(full, v, "v_modes")
    external = some_externals(rng, full)
    assert_close(lb.mass_matrix(ruthless, q), lb.mass_matrix(full, q), TOLERANCE)
    a = lb.forward_dynamics(ruthless, q, v, tau, external=external)
    assert_close(a, lb.forward_dynamics(full, q, v, tau, external=external), TOLERANCE)


@given(seed=seeds)
def test_deformation_enters_ruthless_dynamics_only_through_stiffness_and_damping(seed):
    rng = np.random.default_rng(seed)
    _, s = pair(rng)
    q, v, vdot = random_state(rng, s)
    external = some_externals(rng, s)
    tau = lb.inverse_dynamics(s, q, v, vdot, external=external)
    still = lb.inverse_dynamics(
        s, without_modes(s, q, "q_modes"), without_modes(s, v, "v_modes"), vdot, external=external
    )
    for name, where in s.layout.items():
        body = s.bodies[name]
        if body.modes:
            still[where.v_modes] += body.stiffness @ q[where.q_modes]
            still[where.v_modes] += body.damping @ v[where.v_modes]
    assert_close(tau, still, TOLERANCE)


@given(seed=seeds)
def test_precomputed_inverse_equals_factorization(seed):
    """Eqs. (77), (78) against L D L^T of D_f, trees with several children on one body among them."""
    rng = np.random.default_rng(seed)
    assembly = random_assembly(rng, bodies=7, flexible=0.8, max_modes=5)
    q = v = tau = None
    results = []
    for threshold in (0, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sweep, "PRECOMPUTED_FROM", threshold)
            s = assembly.build(fidelity="ruthless")
            if q is None:
                q, v, tau = random_state(rng, s)
                external = some_externals(rng, s)
            results.append(lb.forward_dynamics(s, q, v, tau))
            results.append(lb.forward_dynamics(s, q, v, tau, external=external))
    assert_close(results[0], results[2], TOLERANCE)
    assert_close(results[1], results[3], TOLERANCE)


def test_ruthless_pose_shows_the_deflection():
    s = lb.models.canadarm().build(fidelity="ruthless")
    q = s.neutral()
    q[s.layout["link1"].q_modes.start] = 0.1
    assert lb.pose(s, q, "link1", "tip")[1][1] == pytest.approx(0.1 * 2 / np.sqrt(140))


@pytest.mark.parametrize("mass", [1.0, 1e-2, 1e-4, 1e-6, 1e-8])
def test_light_nodes_under_heavy_loads_keep_their_digits(mass):
    """The inverse of D_f made beforehand loses digits as the square of what a mode carries over its own mass:
    it is not used there, neither by the engine nor by generated code."""
    shapes = np.zeros((4, 3, 8))
    shapes[0, 1, 0] = shapes[1, 1, 1] = 1.0
    shapes[2, :, 2:5] = np.eye(3)
    shapes[0, 2, 5] = shapes[1, 2, 6] = shapes[0, 0, 7] = 1.0
    link = lb.FlexibleBody.from_nodes(
        mass=[1.0, mass, 3.0, 2.0],
        position=[[1, 0, 0], [2, 0, 0], [0.5, 0, 0], [0.8, 0.3, 0.2]],
        translation=shapes,
        stiffness=100 * np.eye(8),
    )
    a = lb.Assembly("light node")
    a.attach("link", link, lb.Revolute([0, 0, 1]))
    load = lb.RigidBody(10.0, (0.2, 0.1, 0), np.eye(3))
    a.attach("load", load, lb.Revolute([0, 0, 1]), to="link", at=1)
    s = a.build(fidelity="ruthless")
    q, v, vdot = 0.1 * np.random.default_rng(0).standard_normal((3, s.nv))
    tau = lb.inverse_dynamics(s, q, v, vdot)
    assert_close(lb.forward_dynamics(s, q, v, tau), vdot, 1e-11, "engine")
    generated = lb.compile(s, "forward_dynamics")
    assert_close(generated(q, v, tau), vdot, 1e-11, "generated code")
