"""Aligned modal coordinates: the loaded nodes along unit vectors, the answers unchanged."""

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from limber.assembly.align import CONDITION, aligning_basis
from limber.kernels import layout as L


def test_a_beam_tip_moves_along_unit_vectors():
    beam = lb.beam(1.0, 1.0, EI=(40.0, 60.0), modes=3)
    j = beam.node_set.names.index("tip")
    S = np.vstack([beam.node_set.rotation[j], beam.node_set.translation[j]])
    B, aligned = aligning_basis(S, beam.integrals.G0)
    assert_close(S @ B, aligned, 1e-13)
    assert (
        np.count_nonzero(aligned) == 4
    )  # two slopes and two displacements; two modes move nothing
    assert set(aligned.ravel()) == {0.0, 1.0}
    assert not aligned[:, 4:].any()


def test_the_basis_is_well_conditioned_or_refused():
    rng = np.random.default_rng(0)
    S = rng.standard_normal((6, 6))
    S[:, 1] = S[:, 0] + 1e-5 * rng.standard_normal(6)
    B, aligned = aligning_basis(S, np.eye(6))
    assert_close(S @ B, aligned, 1e-10)
    assert np.linalg.cond(B / np.linalg.norm(B, axis=0)) ** 2 <= 1.01 * CONDITION
    assert aligning_basis(S, np.diag([0.0] + [1.0] * 5)) is None


def test_many_modes_are_aligned_only_if_half_come_to_rest():
    S = np.random.default_rng(1).standard_normal((6, 14))
    _, aligned = aligning_basis(S, np.eye(14))
    assert np.count_nonzero(aligned.any(axis=0)) <= 6
    assert aligning_basis(S[:, :9], np.eye(9)) is None


@pytest.mark.parametrize("modes", [1, 2, 6, 9])
def test_bodies_with_two_loaded_nodes_agree_with_the_mass_matrix(modes):
    rng = np.random.default_rng(modes)

    def body():
        n = 6
        root = rng.standard_normal((modes, modes))
        return lb.FlexibleBody.from_nodes(
            mass=rng.uniform(0.5, 1.0, n),
            position=rng.uniform(-1.0, 1.0, (n, 3)),
            translation=0.3 * rng.standard_normal((n, 3, modes)),
            rotation=0.3 * rng.standard_normal((n, 3, modes)),
            stiffness=root @ root.T,
            damping=0.1 * root @ root.T,
            names=[f"n{i}" for i in range(n)],
        )

    a = lb.Assembly("tree", gravity=(1.0, 2.0, -9.81))
    a.attach("a", body(), lb.Revolute((0, 1, 0)))
    a.attach("b", body(), lb.Revolute((1, 0, 0)), "a", "n1", offset=(0.1, 0.2, 0.3))
    a.attach("c", body(), lb.Universal((1, 0, 0), (0, 1, 0)), "a", "n4")
    a.attach("d", body(), lb.Prismatic((0, 0, 1)), "b", "n2")
    s = a.build()
    topo = s.dynamics.topo.reshape(-1, L.COLUMNS)
    modal = topo[topo[1, L.MODAL] // L.COLUMNS]
    assert (modal[L.A_B] > 0) == (modes <= 6)
    q, v, tau = 0.1 * rng.standard_normal((3, s.nv))
    external = {("a", "n3"): rng.standard_normal(6), ("d", "n5"): rng.standard_normal(6)}
    got = lb.forward_dynamics(s, q, v, tau, external=external)
    expected = lb.forward_dynamics(s, q, v, tau, external=external, method="composite")
    assert_close(got, expected, 1e-11)
