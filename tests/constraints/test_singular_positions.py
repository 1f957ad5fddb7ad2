"""Singular positions of mechanisms of other sizes and shapes than problem 9 are passed on the branch of the motion."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import limber as lb

pytestmark = pytest.mark.filterwarnings("ignore::limber.errors.ModelWarning")


def rod(length, mass):
    inertia = mass * length**2 / 12.0
    nodes = {"tip": (length, 0, 0)}
    return lb.RigidBody(mass, (length / 2, 0, 0), (0.01 * inertia, inertia, inertia), nodes)


def windows(cells, crank, coupler, mass):
    """Parallelograms in a row; gravity is in proportion to the length of the cranks, so that angles move alike."""
    a = lb.Assembly("windows", gravity=(0, -9.81 * crank, 0))
    for i in range(cells + 1):
        a.attach(f"crank{i}", rod(crank, mass), lb.Revolute("z"), offset=(i * coupler, 0, 0))
    for i in range(cells):
        a.attach(f"coupler{i}", rod(coupler, mass), lb.Revolute("z"), f"crank{i}", "tip")
        a.close((f"coupler{i}", "tip"), (f"crank{i + 1}", "tip"), lb.Revolute("z"))
    s = a.build()
    signs = np.concatenate([np.ones(cells + 1), -np.ones(cells)])
    return s, signs * np.pi / 2.0, -signs


def angle_and_rate(cells, t):
    """Of the cranks, from the one-freedom reduction."""
    n = cells + 1
    pull = (n / 2.0 + cells) * 9.81 / (n / 3.0 + cells)
    return solve_ivp(
        lambda _, y: (y[1], -pull * np.cos(y[0])), (0.0, t), (np.pi / 2.0, -1.0), method="DOP853", rtol=1e-13, atol=1e-13
    ).y[:, -1]  # fmt: skip


@pytest.mark.parametrize("rtol", [1e-9, 1e-12])
@pytest.mark.parametrize(
    "case",
    [(2, 1e-3, 1e-3, 1e-6), (2, 100.0, 100.0, 1e5), (1, 1.0, 3.0, 1.0), (3, 1.0, 0.3, 1.0)],
    ids=["1 mm", "100 m", "long coupler", "short couplers"],
)
def test_parallelograms_of_other_sizes(case, rtol):
    s, q, v = windows(*case)
    r = lb.simulate(s, 10.0, q0=q, v0=v, rtol=rtol, atol=rtol, t_eval=[10.0])
    expected = angle_and_rate(case[0], 10.0)
    assert np.abs([r.q[-1, 0], r.v[-1, 0]] - expected).max() < 1e-6


@pytest.mark.parametrize("size", [1.0, 1e-3, 100.0])
def test_a_toggle_goes_on_where_it_could_fold(size):
    """A slider-crank of equal lengths: its rod stays at twice the angle of the crank, against it, and energy is kept."""
    a = lb.Assembly("toggle", gravity=(0, -9.81 * size, 0))
    mass = size**3
    a.attach("crank", rod(size, mass), lb.Revolute("z"))
    a.attach("rod", rod(size, mass), lb.Revolute("z"), "crank", "tip")
    a.attach("slider", lb.RigidBody(mass, inertia=(mass * size**2,) * 3), lb.Prismatic("x"))
    a.close(("rod", "tip"), ("slider", None), lb.Revolute("z"))
    s = a.build()
    q = [0.5, -1.0, 2.0 * size * np.cos(0.5)]
    v = [6.0, -12.0, -12.0 * size * np.sin(0.5)]
    r = lb.simulate(s, 3.0, q0=q, v0=v, rtol=1e-10, atol=1e-10)
    assert r.q[-1, 0] > 4.0 * np.pi  # several turns
    assert np.abs(r.q[:, 1] + 2.0 * r.q[:, 0]).max() < 1e-9
    assert np.ptp(r.energy) < 1e-7 * r.kinetic_energy.max()


def test_mechanisms_that_share_nothing_are_passed_each():
    """Two windows side by side, of different sizes, whose rows are eliminated in parts of one front."""
    a = lb.Assembly("two", gravity=(0, -9.81, 0))
    for name, offset in (("a", 0.0), ("b", 10.0)):
        for i in range(2):
            a.attach(f"{name}{i}", rod(1.0, 1.0), lb.Revolute("z"), offset=(offset + i, 0, 0))
        a.attach(f"{name}2", rod(1.0, 1.0), lb.Revolute("z"), f"{name}0", "tip")
        a.close((f"{name}2", "tip"), (f"{name}1", "tip"), lb.Revolute("z"))
    s = a.build()
    signs = np.array([1.0, 1.0, -1.0] * 2)
    r = lb.simulate(
        s, 10.0, q0=signs * np.pi / 2.0, v0=-signs, rtol=1e-10, atol=1e-10, t_eval=[10.0]
    )
    expected = angle_and_rate(1, 10.0)
    for first in (0, 3):
        assert np.abs([r.q[-1, first], r.v[-1, first]] - expected).max() < 1e-6


@pytest.mark.parametrize(("angle", "said"), [(0.0, "is singular"), (1.0, "is unique")])
def test_a_start_in_a_singular_position_is_told(angle, said):
    """A parallelogram in one line may go on as such or fold, and a spatial pin is redundant everywhere."""
    s, up, speeds = windows(1, 1.0, 1.0, 1.0)
    with pytest.warns(lb.ModelWarning, match=said):
        lb.simulate(s, 0.1, q0=angle * np.sign(up), v0=speeds)
