"""Beams: exact frequencies and shapes, and integrals of the continuous shapes.

The closed forms here are the textbook ones in cosh and cos (Blevins, Formulas for Natural Frequency
and Mode Shape); the library uses none of them.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import limber as lb

TOLERANCE = 1e-12

LENGTH, MASS = 2.0, 3.0
EIY, EIZ, GJ, EA = 5.0, 20.0, 7.0, 4e3
POLAR = MASS * (EIY + EIZ) / EA
Y, Z = slice(0, 6, 2), slice(1, 6, 2)  # of a beam with three bending modes per plane


def close(actual, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


@pytest.fixture(scope="module")
def full():
    """Three bending modes per plane, two of torsion, two of stretch."""
    modes = {"bending": 3, "torsion": 2, "stretch": 2}
    return lb.beam(LENGTH, MASS, EI=(EIY, EIZ), GJ=GJ, EA=EA, modes=modes)


def clamped_free_root(i):
    """Root i = 1, 2, ... of cos b cosh b = -1."""
    middle = (i - 0.5) * np.pi
    return brentq(
        lambda b: np.cos(b) + 1.0 / np.cosh(b), middle - 0.4, middle + 0.4, xtol=1e-15, rtol=1e-15
    )


def bending(i, x):
    """Mode i of the clamped-free beam and its slope, mass-normalized, positive at the tip."""
    b = clamped_free_root(i)
    sigma = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    s, scale = b * x / LENGTH, (-1) ** (i + 1) / np.sqrt(MASS)
    value = np.cosh(s) - np.cos(s) - sigma * (np.sinh(s) - np.sin(s))
    slope = np.sinh(s) + np.sin(s) - sigma * (np.cosh(s) - np.cos(s))
    return scale * value, scale * b / LENGTH * slope


def stretch(i, x):
    """Mode i of the clamped-free bar, mass-normalized."""
    return np.sqrt(2.0 / MASS) * np.sin((i - 0.5) * np.pi * x / LENGTH)


def integral(f):
    """Of f over the beam's mass."""
    value, _ = quad(f, 0.0, LENGTH, epsabs=1e-13, epsrel=1e-13)
    return MASS / LENGTH * value


# frequencies


def test_clamped_free_frequencies_are_those_of_the_textbook():
    """beta L = 1.875104, 4.694091, 7.854757, 10.995541 (Blevins)."""
    b = lb.beam(LENGTH, MASS, EI=EIY, modes=4)
    unit = np.sqrt(EIY / (MASS * LENGTH**3))
    beta_length = (np.diag(b.stiffness) ** 0.5 / unit) ** 0.5
    pinned = np.repeat([1.875104, 4.694091, 7.854757, 10.995541], 2)
    np.testing.assert_allclose(beta_length, pinned, rtol=0.0, atol=5e-7)


def test_twenty_modes_solve_the_characteristic_equation():
    b = lb.beam(1.0, 1.0, EI=1.0, modes=20)
    roots = np.array([clamped_free_root(i) for i in range(1, 21)])
    close(np.diag(b.stiffness)[::2], roots**4)
    close(np.diag(b.stiffness)[1::2], roots**4)


def test_torsion_and_stretch_frequencies_are_odd_quarter_waves(full):
    omega = np.sqrt(np.diag(full.stiffness))[6:]
    wave = np.array([0.5, 1.5]) * np.pi / LENGTH
    close(omega[:2], wave * np.sqrt(GJ * LENGTH / POLAR))
    close(omega[2:], wave * np.sqrt(EA * LENGTH / MASS))


def test_eiz_bends_in_the_xy_plane(full):
    """EIz = 4 EIy: y modes have twice the frequency of z modes."""
    omega = np.sqrt(np.diag(full.stiffness))
    close(omega[Y], 2.0 * omega[Z])
    close(omega[Y][0], 1.8751040687119611**2 * np.sqrt(EIZ / (MASS * LENGTH**3)))


# shapes


def test_modes_come_in_order_y_z_torsion_stretch(full):
    translation, rotation = full.nodes.translation[-1], full.nodes.rotation[-1]
    moves = [1, 2, 1, 2, 1, 2]
    for r in range(10):
        expected = np.zeros(3, dtype=bool)
        if r < 6:
            expected[moves[r]] = True
        elif r >= 8:
            expected[0] = True
        assert ((translation[:, r] != 0.0) == expected).all()
    assert (np.flatnonzero(rotation[0]) == [6, 7]).all()
    assert (np.flatnonzero(rotation[1]) == [1, 3, 5]).all()
    assert (np.flatnonzero(rotation[2]) == [0, 2, 4]).all()


@pytest.mark.parametrize("i", [1, 2, 3])
def test_node_shapes_are_the_closed_form(full, i):
    x = full.nodes.position[:, 0]
    value, slope = bending(i, x)
    y, z = 2 * i - 2, 2 * i - 1
    close(full.nodes.translation[:, 1, y], value)
    close(full.nodes.rotation[:, 2, y], slope)
    close(full.nodes.translation[:, 2, z], value)
    close(full.nodes.rotation[:, 1, z], -slope)


def test_root_is_clamped_and_tip_moves_two_by_root_mass():
    """|phi_i(L)| = 2/sqrt(m) for every clamped-free mode."""
    b = lb.beam(LENGTH, MASS, EI=1.0, modes=15)
    assert b.nodes.names[0] == "root" and b.nodes.names[-1] == "tip"
    close(b.nodes.position[[0, -1], 0], [0.0, LENGTH])
    close(b.nodes.translation[0], 0.0)
    close(b.nodes.rotation[0], 0.0)
    tip = np.abs(b.nodes.translation[-1])
    close(tip[1, ::2], 2.0 / np.sqrt(MASS))
    close(tip[2, 1::2], 2.0 / np.sqrt(MASS))


def test_elements_name_the_nodes_and_leave_the_mass_alone():
    coarse = lb.beam(LENGTH, MASS, EI=1.0, elements=1)
    fine = lb.beam(LENGTH, MASS, EI=1.0, elements=4)
    assert list(coarse.nodes.names) == ["root", "tip"]
    assert list(fine.nodes.names) == ["root", "node1", "node2", "node3", "tip"]
    close(fine.nodes.position[:, 0], np.linspace(0.0, LENGTH, 5))
    for name, value in vars(fine.integrals).items():
        assert np.array_equal(value, getattr(coarse.integrals, name)), name


# mass


@pytest.mark.parametrize("count", [1, 2, 8, 20, 40])
def test_modes_are_orthonormal(count):
    b = lb.beam(LENGTH, MASS, EI=(EIY, EIZ), modes=count)
    close(b.integrals.G0, np.eye(2 * count), 1e-13 * max(count, 10))
    assert np.array_equal(b.stiffness, np.diag(np.diag(b.stiffness)))


def test_torsion_and_stretch_are_orthonormal_too(full):
    close(full.integrals.G0, np.eye(10))


def test_mass_centre_and_inertia_are_those_of_a_rod(full):
    I = full.integrals
    close(I.mass, MASS)
    close(I.S0, [MASS * LENGTH / 2.0, 0.0, 0.0])
    rod = MASS * LENGTH**2 / 3.0
    close(I.J0, [POLAR, 0.0, 0.0, rod, 0.0, rod])
    slender = lb.beam(LENGTH, MASS, EI=EIY).integrals
    close(slender.J0, [0.0, 0.0, 0.0, rod, 0.0, rod])


@pytest.mark.parametrize("i", [1, 2, 3])
def test_first_moments_are_integrals_of_the_continuous_shape(full, i):
    """E0 = int phi dm, F0 = int x phi dm, and off the diagonal J1 = -int x phi dm + int phi' dJ."""
    I = full.integrals
    y, z = 2 * i - 2, 2 * i - 1
    E = integral(lambda x: bending(i, x)[0])
    F = integral(lambda x: x * bending(i, x)[0])
    close(I.E0[y], [0.0, E, 0.0])
    close(I.E0[z], [0.0, 0.0, E])
    close(I.F0[y], [0.0, 0.0, F])  # x cross y = z
    close(I.F0[z], [0.0, -F, 0.0])  # x cross z = -y
    # xx, xy, xz, yy, yz, zz
    turned = POLAR / LENGTH * bending(i, LENGTH)[0]
    close(I.J1[y], [0.0, -F + turned, 0.0, 0.0, 0.0, 0.0])
    close(I.J1[z], [0.0, 0.0, -F + turned, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("i", [1, 2])
def test_stretch_moves_the_mass_along_the_beam(full, i):
    I, r = full.integrals, 7 + i
    F = integral(lambda x: x * stretch(i, x))
    close(I.E0[r], [integral(lambda x: stretch(i, x)), 0.0, 0.0])
    close(I.F0[r], 0.0)
    close(I.J1[r], [0.0, 0.0, 0.0, 2.0 * F, 0.0, 2.0 * F])


@pytest.mark.parametrize("i", [1, 2])
def test_torsion_turns_the_polar_inertia(full, i):
    """F0 = int theta dJ about x; theta = sqrt(2/J) sin((i - 1/2) pi x/L)."""
    F = POLAR * np.sqrt(2.0 / POLAR) / ((i - 0.5) * np.pi)
    close(full.integrals.E0[5 + i], 0.0)
    close(full.integrals.F0[5 + i], [F, 0.0, 0.0])


def test_second_moments_are_integrals_of_products_of_shapes(full):
    """F1[r, s] = int gamma_s x gamma_r dm, J2 = int 2 gamma.gamma I - ... dm."""
    I = full.integrals
    for i in (1, 2, 3):
        for j in (1, 2):
            y, z, r = 2 * i - 2, 2 * i - 1, 7 + j
            mixed = integral(lambda x, i=i, j=j: stretch(j, x) * bending(i, x)[0])
            close(I.F1[y, r], [0.0, 0.0, mixed])  # x cross y = z
            close(I.F1[z, r], [0.0, -mixed, 0.0])
            close(I.J2[y, r], [0.0, -mixed, 0.0, 0.0, 0.0, 0.0])
    slender = lb.beam(LENGTH, MASS, EI=EIY, modes=2).integrals
    close(slender.F1[1, 0], [1.0, 0.0, 0.0])  # y cross z = x, and the shapes are orthonormal
    close(slender.F1[0, 1], [-1.0, 0.0, 0.0])
    close(slender.F1[3, 0], 0.0)
    close(slender.J2[0, 0], [2.0, 0.0, 0.0, 0.0, 0.0, 2.0])
    close(slender.J2[0, 1], [0.0, 0.0, 0.0, 0.0, -1.0, 0.0])


# loads


@pytest.mark.parametrize("load", [(0.5, 0.0), (0.0, 0.3), (1.2, 0.7), (300.0, 1000.0)])
def test_loaded_shapes_satisfy_the_end_conditions(load):
    """EI u''(L) = omega^2 J u'(L), EI u'''(L) = -omega^2 M u(L), u(0) = u'(0) = 0.

    The nodes give u and u'; with b known, four constants fit them and give u'' and u'''.
    """
    b = lb.beam(LENGTH, MASS, EI=(EIY, EIZ), modes=4, load=load)
    x = b.nodes.position[:, 0] / LENGTH
    for r, EI in zip(range(8), [EIZ, EIY] * 4):
        square = b.stiffness[r, r]
        beta = (square * MASS * LENGTH**3 / EI) ** 0.25
        s = beta * x
        basis = np.array([np.sin(s), np.cos(s), np.exp(-s), np.exp(s - beta)]).T
        rates = np.array([np.cos(s), -np.sin(s), -np.exp(-s), np.exp(s - beta)]).T * beta / LENGTH
        axis, turn, sign = (1, 2, 1.0) if r % 2 == 0 else (2, 1, -1.0)
        u, slope = b.nodes.translation[:, axis, r], sign * b.nodes.rotation[:, turn, r]
        A, rhs = np.vstack([basis, rates]), np.concatenate([u, slope])
        c = np.linalg.lstsq(A, rhs, rcond=None)[0]
        scale = np.abs(rhs).max()
        close(A @ c / scale, rhs / scale, 1e-11)
        assert abs(u[0]) < 1e-11 * scale and abs(slope[0]) < 1e-11 * scale
        sin, cos, e, k = np.sin(beta), np.cos(beta), np.exp(-beta), beta / LENGTH
        moment = EI * k**2 * (c @ [-sin, -cos, e, 1.0])
        shear = EI * k**3 * (c @ [-cos, sin, -e, 1.0])
        size = EI * k**2 * np.abs(c).max()
        assert abs(moment - square * load[1] * slope[-1]) < 1e-9 * size
        assert abs(shear + square * load[0] * u[-1]) < 1e-9 * size * k


@pytest.mark.parametrize("load", [(0.5, 0.0), (0.0, 0.3), (1.2, 0.7), (3e6, 12e6)])
def test_loaded_modes_are_orthonormal_with_the_load(load):
    b = lb.beam(LENGTH, MASS, EI=(EIY, EIZ), modes=3, load=load)
    u, turn = b.nodes.translation[-1], b.nodes.rotation[-1]
    close(b.integrals.G0 + load[0] * u.T @ u + load[1] * turn.T @ turn, np.eye(6), 1e-11)


def test_heavy_tip_mass_moves_like_a_mass_on_a_cantilever_spring():
    """omega^2 (M + 33/140 m) = 3 EI/L^3 (Rayleigh), to 1/M^2."""
    square = lb.beam(LENGTH, MASS, EI=EIY, modes=1, load=(1e4 * MASS, 0.0)).stiffness[0, 0]
    close(square * (1e4 + 33.0 / 140.0) * MASS * LENGTH**3 / (3.0 * EIY), 1.0, 1e-9)


def test_zero_load_is_no_load():
    plain, loaded = (lb.beam(LENGTH, MASS, EI=EIY, modes=3, load=x) for x in (None, (0.0, 0.0)))
    assert np.array_equal(plain.stiffness, loaded.stiffness)
    assert np.array_equal(plain.nodes.translation, loaded.nodes.translation)


# damping and polar inertia


def test_damping_is_two_ratios_times_omega(full):
    omega = np.sqrt(np.diag(lb.beam(LENGTH, MASS, EI=EIY).stiffness))
    one = lb.beam(LENGTH, MASS, EI=EIY, damping=0.02)
    each = lb.beam(LENGTH, MASS, EI=EIY, damping=[0.01, 0.02, 0.03, 0.04])
    close(one.damping, np.diag(0.04 * omega))
    close(each.damping, np.diag([0.02, 0.04, 0.06, 0.08] * omega))
    assert not full.damping.any()


def test_polar_inertia_is_that_of_the_section_only_with_torsion():
    """mass (EIy + EIz)/EA for a homogeneous section: J = rho (Iy + Iz) L."""

    def polar(modes, **more):
        data = {"EI": (EIY, EIZ), "GJ": GJ, "EA": EA} | more
        return lb.beam(LENGTH, MASS, modes=modes, **data).integrals.J0[0]

    torsion = {"bending": 1, "torsion": 1}
    close(polar(torsion), POLAR)
    assert polar({"bending": 1, "stretch": 1}) == 0.0
    close(polar(torsion, polar_inertia=0.3), 0.3)
    close(polar(2, polar_inertia=0.3), 0.3)


def test_bending_can_be_left_out():
    b = lb.beam(LENGTH, MASS, EA=EA, modes={"stretch": 2})
    assert b.modes == 2
    close(b.nodes.translation[-1, 0], np.sqrt(2.0 / MASS) * np.array([1.0, -1.0]))


# refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"length": 0.0}, "length must be greater than 0"),
        ({"mass": -1.0}, "mass must be greater than 0"),
        ({"EI": None}, "EI is missing, but modes requests 2 of bending"),
        ({"EI": (1.0, 2.0, 3.0)}, r"EI must have shape \(2,\).*\(3,\)"),
        ({"EI": (1.0, -1.0)}, "EI must be greater than 0, got -1"),
        ({"modes": 0}, "use a RigidBody instead"),
        ({"modes": 1.5}, "modes must be a number of modes"),
        ({"modes": {"bend": 1}}, "unknown key 'bend'"),
        ({"modes": {"bending": -1}}, r"modes\['bending'\] must be a whole number"),
        ({"modes": {"stretch": 1}}, "EA is missing, but modes requests 1 of stretch"),
        ({"modes": {"torsion": 1}, "GJ": 1.0}, "polar_inertia is missing"),
        ({"elements": 0}, "elements must be a whole number, at least 1, got 0"),
        ({"damping": -0.1}, "damping ratios must not be negative, got -0.1"),
        ({"damping": [0.1]}, r"damping must have shape \(4,\).*\(1,\)"),
        ({"damping": "light"}, "damping"),
        ({"load": (-1.0, 0.0)}, r"load must not be negative, got \(-1.0, 0.0\)"),
        ({"load": 1.0}, r"load must have shape \(2,\)"),
        ({"geometric_stiffening": "yes"}, "geometric_stiffening must be True or False, got 'yes'"),
    ],
)
def test_wrong_data_are_refused(change, message):
    with pytest.raises(lb.LimberError, match=message):
        lb.beam(**({"length": 1.0, "mass": 1.0, "EI": 1.0} | change))


def test_a_beam_is_immutable(full):
    with pytest.raises(AttributeError, match="FlexibleBody is immutable"):
        full.stiffness = np.eye(10)
    arrays = (full.stiffness, full.points.mass, full.nodes.position, full.integrals.G0)
    for x in arrays:
        with pytest.raises(ValueError, match="read-only"):
            x[0] = 1.0
