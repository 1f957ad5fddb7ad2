"""The discrete Riccati equation: doubling where the Schur form of scipy cannot be ordered."""

import numpy as np
import pytest
import scipy.linalg

import limber as lb
from limber.control import lqr_gain, riccati
from limber.control.sampled import covariance_of_noise

#: Solutions by the two ways agree to this part of the largest entry.
TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def plant():
    """The Canadarm in its plane, whose modes have no damping, with the commands that are on their way."""
    s = lb.models.canadarm(modes={"y": 2}).build()
    return lb.linearize(s, inputs=["link1", "link2", "link3"]).sampled(0.004, 0.0005)


def weights(plant):
    Q = np.zeros((plant.order, plant.order))
    Q[:18, :18] = np.eye(18)
    return Q


def left_over(A, B, Q, R, X):
    """What X leaves of the equation, as a part of the largest entry, and the slowest pole."""
    K = np.linalg.solve(R + B.T @ X @ B, B.T @ X @ A)
    left = A.T @ X @ (A - B @ K) + Q - X
    return np.abs(left).max() / np.abs(X).max(), np.abs(np.linalg.eigvals(A - B @ K)).max()


def test_doubling_finds_the_solution_of_the_schur_form(plant):
    R = np.diag([1e-6, 1e-5, 1e-3])
    expected = scipy.linalg.solve_discrete_are(plant.A, plant.B, weights(plant), R)
    found = riccati._by_doubling(plant.A, plant.B, weights(plant), R)
    assert np.abs(found - expected).max() < TOLERANCE * np.abs(expected).max()


@pytest.mark.parametrize("effort", np.geomspace(0.1, 1e5, 13))
def test_gains_are_found_however_dear_torques_are(plant, effort):
    R = effort * np.diag([1e-6, 1e-5, 1e-3])
    X = riccati.discrete_riccati(plant.A, plant.B, weights(plant), R)
    left, slowest = left_over(plant.A, plant.B, weights(plant), R, X)
    assert left < TOLERANCE and slowest < 1.0
    assert np.isfinite(lqr_gain(plant, weights(plant), R)).all()


@pytest.mark.parametrize("density", [1.0, 10.0, 100.0, 1e3, 1e4])
def test_filters_settle_however_strong_disturbances_are(density):
    """Encoders of 20 bit, and disturbances of so many N m s^(1/2); the Schur form cannot be ordered for the stronger ones."""
    s = lb.models.canadarm(modes={"y": 2}).build()
    model = lb.linearize(s)
    joints = [s.layout[link].v_joint.start for link in s.layout]
    H = np.zeros((6, 2 * s.nv))
    H[range(3), joints] = H[range(3, 6), [s.nv + i for i in joints]] = 1.0
    R = np.diag([4e-12] * 3 + [4e-8] * 3)
    Phi = scipy.linalg.expm(0.004 * model.A)
    Q = covariance_of_noise(model.A, model.B, np.full(s.nv, density**2), 0.004)
    P = riccati.discrete_riccati(Phi.T, H.T, Q, R)
    left, slowest = left_over(Phi.T, H.T, Q, R, P)
    assert left < TOLERANCE and slowest < 1.0


@pytest.mark.parametrize(
    "A, B, Q",
    [
        (np.diag([1.0, 0.5]), [[0.0], [1.0]], np.eye(2)),  # nothing moves it, and it does not decay
        (np.diag([1.5, 0.5]), [[0.0], [1.0]], np.eye(2)),  # it grows
        (np.diag([1.5, 0.5]), [[1.0], [1.0]], np.zeros((2, 2))),  # but costs nothing
        (np.array([[0.6, 0.8], [-0.8, 0.6]]), [[0.0], [0.0]], np.eye(2)),
    ],
)
def test_what_has_no_solution_is_refused(A, B, Q):
    with pytest.raises(np.linalg.LinAlgError):
        riccati._by_doubling(A, np.array(B), Q, np.eye(1))
