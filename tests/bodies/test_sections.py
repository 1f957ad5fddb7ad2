"""Cross sections against closed forms, published values and the finite elements of sectionproperties."""

import math
import pickle

import numpy as np
import pytest

import limber as lb

TOLERANCE = 1e-12
STEEL = lb.Material(E=200e9, rho=7800.0, nu=0.3)
CORK = lb.Material(E=20e6, rho=200.0, nu=0.0)
ALUMINIUM = lb.Material(E=70e9, rho=2700.0, G=26e9)


def close(actual, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=0.0)


def test_circle_has_the_textbook_moments():
    s, r = lb.Section.circle(0.03, STEEL), 0.03
    G = 200e9 / 2.6
    close(s.EA, 200e9 * math.pi * r**2)
    close(s.EI, (200e9 * math.pi * r**4 / 4,) * 2)
    close(s.GJ, G * math.pi * r**4 / 2)
    close(s.rhoA, 7800 * math.pi * r**2)
    close(s.rhoIx, 7800 * math.pi * r**4 / 2)
    close(s.kGA, (6 * 1.3 / (7 + 6 * 0.3) * G * math.pi * r**2,) * 2)  # Cowper


def test_tube_is_the_difference_of_circles_and_solid_at_full_wall():
    outer, inner = lb.Section.circle(0.05, ALUMINIUM), lb.Section.circle(0.04, ALUMINIUM)
    tube = lb.Section.tube(0.05, 0.01, ALUMINIUM)
    for name in ("EA", "GJ", "rhoA", "rhoIx"):
        close(getattr(tube, name), getattr(outer, name) - getattr(inner, name))
    close(tube.EI, np.subtract(outer.EI, inner.EI))
    solid = lb.Section.tube(0.05, 0.05, ALUMINIUM)
    close(solid.kGA, outer.kGA)
    thin = lb.Section.tube(1.0, 1e-7, lb.Material(E=1.0, rho=1.0, nu=0.3))
    k = thin.kGA[0] / (thin.EA / 2.6)
    close(k, 2 * 1.3 / (4 + 3 * 0.3), 1e-6)  # Cowper, thin-walled


@pytest.mark.parametrize(
    ("ratio", "beta"),
    [(1.0, 0.1406), (1.5, 0.196), (2.0, 0.229), (4.0, 0.281), (10.0, 0.312)],
)
def test_torsion_of_rectangles_is_saint_venants(ratio, beta):
    """J = beta a b^3 (Timoshenko & Goodier, Theory of Elasticity, table of rectangular bars)."""
    for sizes in ((ratio, 1.0), (1.0, ratio)):
        s = lb.Section.rectangle(*sizes, STEEL)
        assert abs(s.GJ / STEEL.shear_modulus / ratio - beta) < 5e-4


def test_torsion_of_rectangles_does_not_depend_on_the_side_of_the_series():
    """The series along the other side has the same sum; it converges more slowly."""
    a, b = 0.02, 0.03
    n = np.arange(1, 100_001, 2)
    other = (
        b
        * a**3
        * (1 / 3 - 64 / np.pi**5 * a / b * (np.tanh(n * np.pi * b / (2 * a)) / n**5.0).sum())
    )
    swapped = (
        a
        * b**3
        * (1 / 3 - 64 / np.pi**5 * b / a * (np.tanh(n * np.pi * a / (2 * b)) / n**5.0).sum())
    )
    close(other, swapped, 1e-11)
    close(lb.Section.rectangle(a, b, STEEL).GJ / STEEL.shear_modulus, swapped, 1e-11)


def test_width_is_along_y_and_height_along_z():
    s = lb.Section.rectangle(0.1, 0.3, STEEL)
    close(s.EI, (200e9 * 0.1 * 0.3**3 / 12, 200e9 * 0.3 * 0.1**3 / 12))
    close(s.kGA, (10 * 1.3 / (12 + 11 * 0.3) * STEEL.shear_modulus * 0.03,) * 2)
    assert set(s.surface) == {(0.05, 0.15), (-0.05, 0.15), (-0.05, -0.15), (0.05, -0.15)}
    box = lb.Section.box(0.1, 0.3, 0.005, STEEL)
    hole = lb.Section.rectangle(0.09, 0.29, STEEL)
    close(box.EI, np.subtract(s.EI, hole.EI))
    close(box.EA, s.EA - hole.EA)
    assert box.kGA[1] > 2.0 * box.kGA[0]  # the long walls carry the force along z


def test_numbers_have_the_defaults_of_a_homogeneous_section():
    plain = lb.Section(EA=10.0, EI=(1.0, 2.0), GJ=3.0, rhoA=0.5)
    assert plain.is_slender and plain.rhoI == (0.0, 0.0) and plain.kGA is None
    close(plain.rhoIx, 0.15)
    thick = lb.Section(EA=10.0, EI=(1.0, 2.0), GJ=3.0, rhoA=0.5, kGA=4.0)
    assert not thick.is_slender and thick.kGA == (4.0, 4.0)
    close(thick.rhoI, (0.05, 0.1))
    assert thick.slender() == plain
    assert pickle.loads(pickle.dumps(thick)) == thick


def test_sizes_vary_linearly_along_a_taper_of_one_form():
    a, b = (lb.Section.tube(r, 0.1 * r, STEEL) for r in (0.1, 0.06))
    middle = a.between(b, 0.5)
    close(middle.EI, lb.Section.tube(0.08, 0.008, STEEL).EI)
    assert a.between(b, 0.0) == a and a.between(a, 0.3) is a
    mixed = a.between(lb.Section.circle(0.06, STEEL), 0.25)
    close(mixed.EA, 0.75 * a.EA + 0.25 * lb.Section.circle(0.06, STEEL).EA)
    assert a.slender().between(b.slender(), 0.5) == middle.slender()


def ring(radius, n=128):
    angle = 2.0 * np.pi * np.arange(n) / n
    return radius * np.array([np.cos(angle), np.sin(angle)]).T


RECTANGLE = np.array([(0, 0), (0.1, 0), (0.1, 0.25), (0, 0.25)])


def test_polygons_agree_with_closed_forms():
    """With nu = 0, for which the shear coefficients of finite elements are Cowper's."""
    pytest.importorskip("sectionproperties")
    rectangle = lb.Section.polygon(RECTANGLE + 7.0, CORK, mesh=1e-4)
    hole = ring(0.07)
    tube = lb.Section.polygon(ring(0.1), CORK, holes=[hole], mesh=1e-4)
    for exact, found, tolerance in (
        (lb.Section.rectangle(0.1, 0.25, CORK), rectangle, 1e-4),
        (lb.Section.tube(0.1, 0.03, CORK), tube, 2e-3),
    ):
        for name in ("EA", "EI", "GJ", "rhoA", "rhoI", "rhoIx"):
            close(getattr(found, name), getattr(exact, name), tolerance)
        close(found.kGA, exact.kGA, 0.02)
        assert found.EIyz == 0.0 and found.shear_centre == (0.0, 0.0)


def test_thin_boxes_agree_with_finite_elements():
    pytest.importorskip("sectionproperties")
    hole = [(0.005, 0.005), (0.095, 0.005), (0.095, 0.245), (0.005, 0.245)]
    found = lb.Section.polygon(RECTANGLE, CORK, holes=[hole], mesh=1e-5)
    thin = lb.Section.box(0.1, 0.25, 0.005, CORK)
    close(thin.EI, found.EI, 1e-6)
    close(thin.GJ, found.GJ, 0.02)
    close(thin.kGA, found.kGA, 0.05)


def test_angles_and_channels_keep_their_coupling():
    """An angle has a product of inertia; the shear centre of a thin channel lies behind its web."""
    pytest.importorskip("sectionproperties")
    t, h = 0.004, 0.1
    angle = [(0, 0), (h, 0), (h, t), (t, t), (t, h), (0, h)]
    L = lb.Section.polygon(angle, STEEL, mesh=1e-5)
    c = (h * h * t / 2 + (h - t) * t * t / 2) / (t * (2 * h - t))
    Iyz = t * h * (h / 2 - c) * (t / 2 - c) + t * (h - t) * (t / 2 - c) * ((h + t) / 2 - c)
    close(L.EIyz, STEEL.E * Iyz, 1e-6)
    channel = [(0, 0), (h, 0), (h, t), (t, t), (t, h - t), (h, h - t), (h, h), (0, h)]
    U = lb.Section.polygon(channel, STEEL, mesh=1e-5)
    assert U.EIyz == 0.0
    b, d = (
        h - t / 2,
        h - t,
    )  # of the middle lines; the shear centre is 3 b^2 / (6 b + d) behind the web
    centroid = (t * h * t / 2 + 2 * t * (h - t) * (h + t) / 2) / (t * (3 * h - 2 * t))
    assert abs(U.shear_centre[0] + centroid - (t / 2 - 3 * b**2 / (6 * b + d))) < 0.01 * h
    assert abs(U.shear_centre[1]) < 1e-4


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lb.Material(E=1.0, rho=1.0), "give either nu or G, got neither"),
        (lambda: lb.Material(E=1.0, rho=1.0, nu=0.3, G=1.0), "give either nu or G, got both"),
        (
            lambda: lb.Material(E=1.0, rho=1.0, nu=0.6),
            "nu must be above -1 and at most 0.5, got 0.6",
        ),
        (lambda: lb.Material(E=-1.0, rho=1.0, nu=0.3), "E must be greater than 0, got -1"),
        (lambda: lb.Section.circle(0.0, STEEL), "radius must be greater than 0"),
        (lambda: lb.Section.circle(0.1, "steel"), "material must be an lb.Material"),
        (
            lambda: lb.Section.tube(0.1, 0.2, STEEL),
            "wall = 0.2 is thicker than the outer radius 0.1",
        ),
        (lambda: lb.Section.box(0.1, 0.2, 0.05, STEEL), "wall = 0.05 leaves no hole"),
        (lambda: lb.Section(1.0, (1.0, -1.0), 1.0, 1.0), "EI must be greater than 0, got -1"),
        (lambda: lb.Section(1.0, 1.0, 1.0, 1.0, EIyz=1.0), "EIyz = 1 is too large"),
        (lambda: lb.Section(1.0, 1.0, 1.0, 1.0, kGA=(1, 2, 3)), r"kGA must have shape \(2,\)"),
        (lambda: lb.Section(1.0, 1.0, 1.0, 1.0, rhoI=-1.0), "rhoI must be at least 0, got -1"),
        (
            lambda: lb.Section(1, 1, 1, 1).between(lb.Section(1, 1, 1, 1, kGA=1), 0.5),
            "cannot taper from a section with shear deformation",
        ),
    ],
)
def test_wrong_data_are_refused(make, message):
    with pytest.raises(lb.LimberError, match=message):
        make()


@pytest.mark.parametrize(
    ("points", "holes", "message"),
    [
        ([(0, 0), (1, 0)], [], "points must have at least 3 corners, got 2"),
        ([(0, 0), (1, 1), (1, 0), (0, 1)], [], "edges do not cross"),
        ([(0, 0), (1, 0), (1, 1)], [[(2, 2), (3, 2), (3, 3)]], "holes lie inside"),
    ],
)
def test_bad_polygons_are_refused(points, holes, message):
    pytest.importorskip("sectionproperties")
    with pytest.raises(lb.LimberError, match=message):
        lb.Section.polygon(points, STEEL, holes=holes)


def test_a_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sectionproperties.analysis", None)
    with pytest.raises(lb.LimberError, match=r"limber-dynamics\[sections\]"):
        lb.Section.polygon(RECTANGLE, STEEL)
