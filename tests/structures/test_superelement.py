"""Superelements: what a finite-element program has reduced becomes a body with its frequencies."""

import numpy as np
import pytest
import scipy.linalg as la

import limber as lb
from helpers.straight_beam import straight_beam
from limber.structures import Superelement
from limber.structures.closure import closed_integrals

TOLERANCE = 1e-8


def craig_bampton(modes=6, elements=8):
    """A beam reduced to its ends and fixed-interface modes: Superelement, and the matrices of the whole beam."""
    position, M, K = straight_beam(elements)
    n = len(position)
    ends = np.r_[0:6, 6 * n - 6 : 6 * n]
    inside = np.setdiff1d(np.arange(6 * n), ends)
    T = np.zeros((6 * n, 12 + modes))
    T[ends, :12] = np.eye(12)
    T[inside, :12] = -la.solve(K[np.ix_(inside, inside)], K[np.ix_(inside, ends)])
    shapes = la.eigh(K[np.ix_(inside, inside)], M[np.ix_(inside, inside)])[1]
    T[inside, 12:] = shapes[:, :modes]
    se = Superelement(
        position[[0, -1]], T.T @ M @ T, T.T @ K @ T, np.arange(12).reshape(2, 6), ["root", "tip"]
    )
    return se, position, M, K


def test_clamped_frequencies_are_those_of_the_matrices():
    se, *_ = craig_bampton()
    assert repr(se) == "Superelement(nodes=2, generalized=6)"
    want = np.sqrt(la.eigh(se.K[6:, 6:], se.M[6:, 6:], eigvals_only=True))
    a = lb.Assembly("one")
    body = se.reduce(clamped="root", damping=0.01)
    a.attach("beam", body, lb.Fixed())
    s = a.build()
    modes = lb.modes(s, s.neutral())
    np.testing.assert_allclose(modes.omega, want, rtol=TOLERANCE)
    np.testing.assert_allclose(modes.damping, 0.01, rtol=1e-6)
    assert not np.any(body.nodes.translation[0]) and not np.any(body.nodes.rotation[0])
    np.testing.assert_allclose(body.nodes.position[0], 0.0)


def test_free_frequencies_are_those_of_the_matrices():
    se, *_ = craig_bampton()
    want = np.sqrt(np.maximum(la.eigh(se.K, se.M, eigvals_only=True), 0.0))[6:]
    a = lb.Assembly("one")
    a.attach("beam", se.reduce(), lb.Free(), inboard="tip")
    s = a.build()
    omega = lb.modes(s, s.neutral()).omega
    np.testing.assert_allclose(omega[6:], want, rtol=TOLERANCE)
    assert omega[:6].max() < 1e-3 * want[0]


def test_mass_at_rest_is_exact_and_growth_with_deformation_close():
    """The rigid block and coupling equal those of the whole beam; the closure comes close for a beam's first modes."""
    se, position, M, K = craig_bampton()
    body = se.reduce(clamped="root", modes=4)
    held = np.arange(6, 6 * len(position))
    omega2, X = la.eigh(K[np.ix_(held, held)], M[np.ix_(held, held)])
    np.testing.assert_allclose(np.diag(body.stiffness)[:2], omega2[:2], rtol=1e-3)
    assert body.mass == pytest.approx(2.0 * np.linalg.norm(position[-1] - position[0]))
    full = np.vstack([np.zeros((6, 4)), X[:, :4]])
    lumped = np.full(len(position), 1.0)
    lumped[[0, -1]] = 0.5
    lumped *= body.mass / lumped.sum()
    shapes = full.reshape(-1, 6, 4)[:, :3]
    J2 = sum(
        m * (2 * u @ u * np.eye(3) - 2 * np.outer(u, u)) for m, u in zip(lumped, shapes[:, :, 0])
    )
    got = body.integrals.J2[0, 0][[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3)
    assert np.abs(got - J2).max() < 0.15 * np.abs(J2).max()


def test_closure_is_exact_for_rigid_motion():
    """Modes that are rigid motions of a set of points have the integrals of those points."""
    rng = np.random.default_rng(1)
    n, m = 6, 3
    mass, l = rng.uniform(0.5, 2, n), rng.normal(size=(n, 3))
    b, theta = rng.normal(size=(2, 3, m))
    shapes = b + np.cross(theta.T[:, None], l[None]).transpose(1, 2, 0)
    body = lb.FlexibleBody.from_nodes(mass, l, shapes, None, np.eye(m))
    x = body.integrals
    y = closed_integrals(x.rigid_block(), np.hstack([x.F0, x.E0]), x.G0)
    for name in ("mass", "S0", "J0", "E0", "F0", "J1", "G0", "F1", "J2"):
        np.testing.assert_allclose(getattr(y, name), getattr(x, name), atol=1e-12, err_msg=name)


def test_mass_matrix_stays_positive_definite_at_any_deformation():
    se, *_ = craig_bampton()
    a = lb.Assembly("one")
    a.attach("beam", se.reduce(clamped="root"), lb.Free())
    s = a.build()
    rng = np.random.default_rng(2)
    for size in (1e-2, 1.0, 1e3):
        q = s.neutral()
        q[: s.nv - 6] = size * rng.normal(size=s.nv - 6)
        assert la.eigvalsh(lb.mass_matrix(s, q))[0] > 0


def test_a_spinning_superelement_keeps_energy_and_momentum():
    se, *_ = craig_bampton(2, 4)
    a = lb.Assembly("one")
    a.attach("beam", se.reduce(clamped="root", modes=3), lb.Free())
    s = a.build()
    rng = np.random.default_rng(3)
    q, v = s.neutral(), 0.3 * rng.normal(size=s.nv)
    result = lb.simulate(s, 0.5, q0=q, v0=v, rtol=1e-10, atol=1e-12)
    energy = [
        lb.kinetic_energy(s, q, v) + lb.potential_energy(s, q) for q, v in zip(result.q, result.v)
    ]
    momentum = np.array([lb.momentum(s, q, v) for q, v in zip(result.q, result.v)])
    assert np.ptp(energy) < 1e-8 * energy[0]
    assert np.ptp(momentum, axis=0).max() < 1e-8 * np.abs(momentum).max()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda a: a["K"].__setitem__((0, 0), 2 * a["K"][0, 0]), r"K resists rigid-body motion \(row 0, x of node 'root'\)"),
        (lambda a: a["M"].__setitem__((13, 13), -1.0), "M has the negative eigenvalue"),
        (lambda a: a["K"].__setitem__((13, 13), -1.0), "K has the negative eigenvalue"),
        (lambda a: a["K"].__setitem__((0, 5), 1e5), "K is not symmetric"),
        (lambda a: a["M"].__setitem__((0, 0), np.nan), "must be finite"),
        (lambda a: a.__setitem__("M", a["M"][:-1, :-1]), "must have the same size, got 17 and 18"),
        (lambda a: a.__setitem__("names", ["a", "a"]), "different names"),
        (lambda a: a.__setitem__("freedoms", np.zeros((2, 6))), "different rows"),
        (lambda a: a.__setitem__("freedoms", [[0, 1, 2, -1, -1, -1], [-1] * 6]), "six rigid-body motions"),
        (lambda a: a.__setitem__("position", a["position"] * 1000), "different units"),
    ],
)  # fmt: skip
def test_impossible_superelements_are_refused(change, match):
    se, *_ = craig_bampton()
    given = {"position": np.array(se.position), "M": np.array(se.M), "K": np.array(se.K), "freedoms": se.freedoms, "names": se.names}  # fmt: skip
    change(given)
    with pytest.raises(lb.LimberError, match=match):
        Superelement(**given)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (
            {"clamped": "rot"},
            r"clamped='rot' is not a boundary node; they are: 'root', 'tip'. Did you mean 'root'",
        ),
        ({"clamped": 3}, "must be None, the name of a node"),
        ({"modes": 99}, "more than the 12 modes"),
        ({"modes": 0}, "modes must be"),
        ({"damping": -1}, "damping must be at least 0"),
    ],
)
def test_bad_reductions_are_refused(arguments, match):
    se, *_ = craig_bampton()
    with pytest.raises(lb.LimberError, match=match):
        se.reduce(**arguments)


def test_a_loose_coordinate_is_refused():
    se, *_ = craig_bampton()
    K = np.array(se.K)
    K[13, :] = K[:, 13] = 0.0
    with pytest.raises(lb.LimberError, match="a generalized coordinate has no stiffness"):
        Superelement(se.position, se.M, K, se.freedoms, se.names).reduce(clamped="root")
