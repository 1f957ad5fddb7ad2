"""Base parameters from torques: what torques tell of a rigid arm, in numbers and in words."""

import numpy as np
import pytest

import limber as lb
from limber.errors import DynamicsError
from limber.identification import regression
from limber.identification.base_parameters import columns, numbers_of, values_of

#: Of the largest torque or number.
ROUNDING = 1e-10


def body(rng: np.random.Generator) -> lb.RigidBody:
    """A body of five random points, whose inertia some distribution of mass has."""
    points = 0.1 * rng.standard_normal((5, 3))
    mass, com = rng.uniform(1.0, 4.0), points.mean(axis=0)
    S = mass / 5 * (points - com).T @ (points - com)
    return lb.RigidBody(mass, com, np.trace(S) * np.eye(3) - S, nodes={"out": (0.4, 0.0, 0.1)})


def arm(seed: int, gravity=(0, 0, -9.81), axes="zyx", first=None) -> lb.System:
    rng = np.random.default_rng(seed)
    a = lb.Assembly("arm", gravity=gravity)
    to, at = "world", None
    for i, axis in enumerate(axes):
        physics = {"armature": 0.1, "damping": 0.4, "friction": 0.5}
        scaled = {name: x * (0.5 + rng.random()) for name, x in physics.items()}
        joint = first if first is not None and i == 0 else lb.Revolute(axis, friction_speed=0.05, **scaled)  # fmt: skip
        a.attach(f"l{i}", body(rng), joint, to, at)
        to, at = f"l{i}", "out"
    a.attach("tool", body(rng), lb.Fixed(), to, at, inboard="out")
    return a.build()


def states(s: lb.System, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    moves, v, vdot = np.random.default_rng(seed).standard_normal((3, n, s.nv))
    return lb.integrate(s, np.tile(s.neutral(), (n, 1)), moves, 1.0), v, vdot


@pytest.mark.parametrize("first", [None, lb.Free()], ids=["revolute", "free"])
def test_torques_are_linear_in_the_numbers(first):
    s = arm(0, first=first)
    numbers = numbers_of(s, list(s.bodies), ["armature", "damping", "friction"])
    at = states(s, 20)
    tau = lb.inverse_dynamics(s, *at)
    Y = columns(s, numbers, *at)
    assert np.abs(Y @ values_of(s, numbers) - tau).max() <= ROUNDING * np.abs(tau).max()
    # the columns do not depend on the numbers
    assert (
        np.abs(Y - columns(arm(1, first=first), numbers, *at)).max() <= ROUNDING * np.abs(Y).max()
    )


@pytest.mark.parametrize("first", [None, lb.Free()], ids=["revolute", "free"])
def test_clean_torques_give_the_base_parameters(first):
    true, model = arm(0, first=first), arm(1, first=first)
    at = states(true, 60)
    with pytest.warns(lb.ModelWarning, match="no mass distribution"):
        found = regression(model, *at, lb.inverse_dynamics(true, *at))
    known = {one.name: x for one, x in zip(found._numbers, values_of(true, found._numbers))}
    for name, weights in found.combinations.items():
        truth = sum(w * known[number] for number, w in weights.items())
        assert found.values[name] == pytest.approx(truth, abs=1e-8)
    # and these predict torques of any other motion
    more = states(true, 20, seed=1)
    tau = lb.inverse_dynamics(true, *more)
    Y = columns(model, found._numbers, *more)
    assert np.abs(Y @ np.array(list(found.numbers.values())) - tau).max() <= 1e-8 * np.abs(tau).max()  # fmt: skip
    with pytest.raises(DynamicsError, match="consistent=True"):
        _ = found.system


def test_base_parameters_in_words():
    a = lb.Assembly("two links", gravity=(0, -9.81, 0))
    link = lb.RigidBody(2.0, (0.3, 0, 0), 0.1 * np.eye(3), nodes={"tip": (0.5, 0, 0)})
    a.attach("upper", link, lb.Revolute("z"))
    a.attach("lower", link, lb.Revolute("z"), "upper", "tip")
    s = a.build()
    at = states(s, 30)
    found = regression(s, *at, lb.inverse_dynamics(s, *at))
    assert found.names == (
        "upper.Izz + 0.25 lower.mass",
        "upper.mx + 0.5 lower.mass",
        "upper.my",
        "lower.Izz",
        "lower.mx",
        "lower.my",
    )
    assert "upper.mass" in found.unseen and "lower.Ixx" in found.unseen
    assert found.values["upper.mx + 0.5 lower.mass"] == pytest.approx(1.6)
    assert "0.25 lower.mass" in str(found) and "6 base parameters of 20 numbers" in str(found)
    # a prismatic joint feels the mass, and without gravity no first moment
    b = lb.Assembly("slide")
    b.attach("slide", link, lb.Prismatic("x", armature=0.0))
    slide = b.build()
    at = states(slide, 5)
    tau = lb.inverse_dynamics(slide, *at)
    assert regression(slide, *at, tau).names == ("slide.joint_armature + slide.mass",)
    assert regression(slide, *at, tau, joints=()).names == ("slide.mass",)


@pytest.mark.filterwarnings("ignore::limber.errors.ModelWarning")
def test_noise_and_standard_errors():
    true, model = arm(0), arm(1)
    at = states(true, 150)
    clean = lb.inverse_dynamics(true, *at)
    sigma = np.array([0.5, 0.2, 0.1])
    rng = np.random.default_rng(3)
    chi_squares = []
    for _ in range(4):
        found = regression(model, *at, clean + sigma * rng.standard_normal(clean.shape))
        assert np.allclose(found.noise, sigma, rtol=0.3)
        known = {one.name: x for one, x in zip(found._numbers, values_of(true, found._numbers))}
        off = [
            found.values[name] - sum(w * known[n] for n, w in weights.items())
            for name, weights in found.combinations.items()
        ]
        chi_squares.append(off @ np.linalg.solve(found.covariance, off) / len(off))
    # chi squares of 22 base parameters in 4 trials: their mean has the standard deviation 0.15
    assert len(found.names) == 22
    assert np.mean(chi_squares) == pytest.approx(1.0, abs=0.5)


def test_consistent_bodies_are_possible():
    true, model = arm(0), arm(1)
    at = states(true, 60)
    tau = lb.inverse_dynamics(true, *at)
    rng = np.random.default_rng(5)
    found = regression(model, *at, tau + 2.0 * rng.standard_normal(tau.shape), consistent=True)
    assert found.impossible == ()
    s = found.system  # RigidBody refuses inertias that no mass distribution has
    for one in s.bodies.values():
        assert one.mass > 0.0 and (np.linalg.eigvalsh(one.inertia) > 0.0).all()
    assert all(x >= 0.0 for name, x in found.numbers.items() if ".joint_" in name)
    # least squares leave the part p / n of the variance of the noise in what they predict
    left = np.std(lb.inverse_dynamics(s, *at) - tau)
    assert left < 1.2 * 2.0 * np.sqrt(len(found.names) / tau.size)
    # clean torques are met to rounding, by possible bodies
    clean = regression(model, *at, tau, consistent=True)
    assert np.abs(clean.residuals).max() <= 1e-6 * np.abs(tau).max()
    assert np.allclose(lb.inverse_dynamics(clean.system, *at), tau, atol=1e-6 * np.abs(tau).max())
    # and a start for `identify`
    assert set(clean.system.parameters) == set(model.parameters)


def test_motion_that_tells_little():
    s = arm(0)
    q, v, vdot = states(s, 60)
    v[:], vdot[:] = 0.0, 0.0
    with pytest.warns(lb.ModelWarning, match="the motion does not determine"):
        still = regression(s, q, v, vdot, lb.inverse_dynamics(s, q, v, vdot), noise=0.1)
    assert not np.isfinite(still.standard_errors["l1.joint_damping"])
    assert np.isfinite(still.covariance).any()


def test_regression_of_some_numbers():
    s = arm(0)
    heavier = s.with_parameters({"tool.mass": 3.0, "l1.joint_damping": 0.9})
    at = states(s, 30)
    wrench = {("tool", None): np.random.default_rng(2).standard_normal((30, 6))}
    tau = lb.inverse_dynamics(heavier, *at, external=wrench)
    found = regression(s, *at, tau, bodies="tool", joints="damping", external=wrench)
    assert found.numbers["l1.joint_damping"] == pytest.approx(0.9)
    assert all(name.startswith("tool.") or ".joint_damping" in name for name in found.numbers)
    assert np.abs(found.residuals).max() <= ROUNDING * np.abs(tau).max()


def test_regression_refused():
    s = arm(0)
    at = states(s, 30)
    tau = lb.inverse_dynamics(s, *at)
    with pytest.raises(ValueError, match="flexible and their modes are not measured"):
        c = lb.models.canadarm().build()
        regression(c, *states(c, 3), np.zeros((3, c.nv)))
    with pytest.raises(ValueError, match=r"joints: 'dampin' is not one of armature.*Did you mean 'damping'"):  # fmt: skip
        regression(s, *at, tau, joints="dampin")
    with pytest.raises(ValueError, match="bodies='hand' is not in the system"):
        regression(s, *at, tau, bodies=["hand"])
    with pytest.raises(ValueError, match="cannot determine"):
        regression(s, *(x[:2] for x in at), tau[:2])
    with pytest.raises(ValueError, match="there is nothing to estimate"):
        regression(s, *at, tau, bodies=(), joints="stiffness")
    with pytest.raises(ValueError, match="tau must have shape"):
        regression(s, *at, tau[:, :2])
    with pytest.raises(TypeError, match="noise must be one standard deviation"):
        regression(s, *at, tau, noise=[0.1, 0.1])
