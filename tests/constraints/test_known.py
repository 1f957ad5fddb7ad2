"""The known closed systems are what they should be, and the reference gives their known answers."""

import numpy as np
import pytest
from numpy.polynomial.chebyshev import Chebyshev, chebpts1

import limber as lb
from constraints.known import (
    KNOWN,
    bricard,
    double_four_bar,
    double_four_bar_rate,
    double_four_bar_tip,
    four_bar,
    geared_pair,
    rack_and_pinion,
    scissor_boom,
    spatial_slider_crank,
)
from constraints.reference import assembled, freedoms, opened, rows, solve
from helpers.compare import assert_close

TOLERANCE = 1e-9


@pytest.mark.parametrize("name", KNOWN)
def test_states_are_consistent_and_freedoms_as_counted(name):
    make, free, rank, count = KNOWN[name]
    assembly, q, v = make()
    s = assembly.build()
    found = solve(s, q, v, np.zeros(s.nv))
    assert np.abs(found.rows.residual).max() < 1e-12
    assert np.abs(found.rows.A @ v).max() < 1e-12
    assert (freedoms(s, q).shape[1], found.rank, len(found.lam)) == (free, rank, count)
    assert found.gap < 1e-12


def reduced_acceleration(system, q, v, tau, drive):
    """The acceleration of the joint of the body `drive`, from the energies of the one-freedom reduction alone.

    q(x) has that joint at x and meets the closures; with m(x) = q'^T M q', m x'' + 1/2 m' x'^2 + V' = q'^T tau.
    """
    tree, at = opened(system), system.layout[drive].v_joint.start
    others = [i for i in range(system.nv) if i != at]

    def placed(x):
        p = q.copy()
        p[system.layout[drive].q_joint] += x
        for _ in range(6):  # Newton's method
            found = rows(system, p, np.zeros(system.nv))
            p[others] -= np.linalg.lstsq(found.A[:, others], found.residual, rcond=1e-9)[0]
        return p

    x = 0.2 * chebpts1(15)
    path = [placed(each) for each in x]
    slopes = np.array([smooth(x, column).deriv()(x) for column in np.transpose(path)]).T
    mass = smooth(x, [dq @ lb.mass_matrix(tree, p) @ dq for p, dq in zip(path, slopes)])
    potential = smooth(x, [lb.potential_energy(tree, p) for p in path])
    middle = slopes[len(x) // 2]
    force = middle @ tau - potential.deriv()(0.0)
    return (force - 0.5 * mass.deriv()(0.0) * v[at] ** 2) / mass(0.0)


def smooth(x, y):
    """The polynomial through all points."""
    return Chebyshev.fit(x, y, len(x) - 1)


@pytest.mark.parametrize(
    ("make", "drive"),
    [
        (four_bar, "crank"),
        (lambda: bricard(speed=1.5), "rod0"),
        (spatial_slider_crank, "crank"),
        (lambda: scissor_boom(2), "A0"),
    ],
    ids=["four-bar", "Bricard", "spatial slider-crank", "scissor boom"],
)
def test_accelerations_are_those_of_the_one_freedom_reduction(make, drive):
    assembly, q, v = make()
    s = assembly.build()
    tau = np.linspace(0.5, 1.0, s.nv)
    expected = reduced_acceleration(s, q, v, tau, drive)
    assert_close(solve(s, q, v, tau).vdot[s.layout[drive].v_joint][0], expected, TOLERANCE)


@pytest.mark.parametrize("angle", [0.3, 1.2, 2.5])
def test_double_four_bar_falls_as_its_cranks_do(angle):
    assembly, q, v = double_four_bar()
    s = assembly.build()
    for name, where in s.layout.items():
        q[where.q_joint] = angle if name.startswith("crank") else -angle
    vdot = solve(s, q, v, np.zeros(s.nv)).vdot
    for name, where in s.layout.items():
        sign = 1.0 if name.startswith("crank") else -1.0
        assert_close(vdot[where.v_joint], [sign * double_four_bar_rate(angle)], TOLERANCE)


def test_double_four_bar_is_singular_when_it_lies_flat():
    assembly, q, _ = double_four_bar()
    s = assembly.build()
    flat = np.zeros(s.nv)
    assert freedoms(s, flat).shape[1] == 3
    assert freedoms(s, q).shape[1] == 1


def test_double_four_bar_ends_where_it_should():
    """Problem 9: the first joint after 10 s, through ten singular positions."""
    position, velocity = double_four_bar_tip(10.0)
    assert_close(position, [0.3284581115, 0.9445185382], 1e-9)
    assert_close(velocity, [1.4230514702, -0.4948688455], 1e-9)


def test_gears_add_the_inertia_of_the_rotor():
    assembly, q, v = geared_pair(ratio=-3.0)
    found = solve(assembly.build(), q, v, np.array([1.0, 0.0]))
    rate = 1.0 / (1.0 / 3.0 + 9.0 * 0.02)
    assert_close(found.vdot, [rate, -3.0 * rate], 1e-13)
    assert_close(found.forces["relation1"], [0.02 * -3.0 * rate], 1e-13)


def test_racks_add_their_mass():
    assembly, q, v = rack_and_pinion(radius=0.1)
    found = solve(assembly.build(), q, v, np.array([1.0, 0.0]))
    rate = 1.0 / (0.02 + 3.0 * 0.01)
    assert_close(found.vdot, [rate, 0.1 * rate], 1e-13)


def test_rough_guesses_are_assembled():
    assembly, q, _ = bricard()
    s = assembly.build()
    rough = q + 0.02 * np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    assert np.abs(rows(s, assembled(s, rough), np.zeros(s.nv)).residual).max() < 1e-12
