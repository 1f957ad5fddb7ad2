"""Modal integrals of a full mass matrix."""

import numpy as np
import pytest
import scipy.sparse as sp

import limber as lb
from helpers.frames import brick, named_beam
from limber.structures.inertia import modal_integrals

NAMES = ("mass", "S0", "J0", "E0", "F0", "J1", "G0", "F1", "J2", "S2", "G1")


def random_lumps(rng, n, m, rotary):
    inertia = np.array(
        [np.trace(x @ x.T) * np.eye(3) - x @ x.T for x in rng.standard_normal((n, 3, 3))]
    )
    return (
        rng.uniform(1.0, 2.0, n),
        rng.standard_normal((n, 3)),
        rng.standard_normal((n, 3, m)),
        rng.standard_normal((n, 3, m)),
        inertia if rotary else np.zeros((n, 3, 3)),
    )


@pytest.mark.parametrize("rotary", [False, True])
def test_lumped_masses_have_the_integrals_of_mass_points(rotary):
    mass, position, translation, rotation, inertia = random_lumps(
        np.random.default_rng(0), 7, 4, rotary
    )
    body = lb.FlexibleBody.from_nodes(
        mass, position, translation, rotation, np.eye(4), inertia=inertia
    )
    M = sp.block_diag([sp.block_diag([m * np.eye(3), i]) for m, i in zip(mass, inertia)], "csr")
    shapes = np.concatenate([translation, rotation], axis=1).reshape(42, 4)
    ours = modal_integrals(M, position, shapes)
    for name in NAMES:
        assert getattr(ours, name) == pytest.approx(getattr(body.integrals, name), abs=1e-11), name


def test_three_freedoms_have_the_integrals_of_mass_points():
    rng = np.random.default_rng(1)
    mass, position, translation, _, _ = random_lumps(rng, 6, 3, False)
    body = lb.FlexibleBody.from_nodes(mass, position, translation, stiffness=np.eye(3))
    ours = modal_integrals(
        sp.diags_array(np.repeat(mass, 3)).tocsr(), position, translation.reshape(18, 3)
    )
    for name in NAMES:
        assert getattr(ours, name) == pytest.approx(getattr(body.integrals, name), abs=1e-12), name
    assert not ours.second


def test_integrals_of_a_solid_are_those_of_a_finer_sum_over_its_volume():
    """A box in quadratic shapes: the consistent mass matrix integrates the shapes as the bricks interpolate them."""
    position, M, _ = brick((6, 4, 4), (1.0, 0.4, 0.3))
    x, y, _ = position.T
    shapes = np.stack([0 * x, x**2, x * y], axis=1).reshape(-1, 1)
    ours = modal_integrals(M, position, shapes)
    # exact integrals over the box, to the order of the interpolation error
    mass = 2700.0 * 0.12
    assert ours.mass == pytest.approx(mass)
    assert ours.E0[0] == pytest.approx([0.0, mass / 3.0, mass * 0.1], rel=0.02)
    assert ours.G0[0, 0] == pytest.approx(mass * (1 / 5 + 0.16 / 9), rel=0.03)
    assert pytest.approx(0.0, abs=1e-9 * mass) == ours.F1


def test_small_rotary_terms_are_left_out():
    slender = named_beam(12, polar=1e-4).reduce(clamped="root", modes=6)
    assert not slender.integrals.second
    thick = named_beam(12, polar=0.1).reduce(clamped="root", modes=6)
    assert thick.integrals.second


@pytest.mark.parametrize("stiffened", [False, True])
def test_a_free_body_keeps_energy_and_momentum(stiffened):
    """The kinetic energy of the integrals is that of a Lagrangian system whatever the mass matrix."""
    body = named_beam(8).reduce(clamped="root", modes=5, geometric_stiffening=stiffened)
    a = lb.Assembly("free")
    a.attach("beam", body, lb.Free())
    s = a.build()
    q, v = s.neutral(), np.zeros(s.nv)
    rng = np.random.default_rng(2)
    v[:] = rng.uniform(-1.0, 1.0, s.nv)
    q[:5] = 0.01 * rng.uniform(-1.0, 1.0, 5)
    r = lb.simulate(s, 0.2, q0=q, v0=v, rtol=1e-10, atol=1e-12)
    energy = [lb.kinetic_energy(s, *x) + lb.potential_energy(s, x[0]) for x in zip(r.q, r.v)]
    momentum = np.array([lb.momentum(s, *x) for x in zip(r.q, r.v)])
    assert np.ptp(energy) < 1e-7 * max(energy)
    assert np.ptp(momentum, axis=0).max() < 1e-7 * np.abs(momentum).max()
