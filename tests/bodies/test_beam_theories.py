"""Beams with shear deformation, rotary inertia and taper, in one plane, and placed.

Frequencies of Timoshenko beams are compared with the transcendental equation of Huang (1961), those of tapered beams
with published ones and with an integration of the differential equations.
"""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import limber as lb
from helpers.files import bits
from limber.bodies.placed import placed
from limber.structures import beam_forces

TOLERANCE = 1e-10
METAL = lb.Material(E=70e9, rho=2700.0, nu=0.3)


def close(actual, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def omega(body):
    return np.sqrt(np.diag(body.stiffness))


def huang(length, s, plane, count):
    """Frequencies of the cantilever: the roots below the cut-off of 2 + [...] cosh cos - ... sinh sin = 0."""
    EI, kGA, rhoI = (
        (s.EI[1], s.kGA[0], s.rhoI[1]) if plane == "y" else (s.EI[0], s.kGA[1], s.rhoI[0])
    )
    r2, s2 = rhoI / (s.rhoA * length**2), EI / (kGA * length**2)

    def equation(b):
        inner = np.sqrt((r2 - s2) ** 2 + 4.0 / b**2)
        alpha, beta = (np.sqrt((sign * (r2 + s2) + inner) / 2.0) for sign in (-1.0, 1.0))
        first = (b**2 * (r2 - s2) ** 2 + 2.0) * np.cosh(b * alpha) * np.cos(b * beta)
        second = b * (r2 + s2) / np.sqrt(1.0 - b**2 * r2 * s2)
        return 2.0 + first - second * np.sinh(b * alpha) * np.sin(b * beta)

    grid = np.arange(0.5, min(0.999 / np.sqrt(r2 * s2), 60.0 * count), 0.5)
    values = [equation(b) for b in grid]
    roots = [
        brentq(equation, x, y, xtol=1e-14, rtol=1e-14)
        for x, y, f, g in zip(grid, grid[1:], values, values[1:])
        if f * g < 0.0
    ]
    assert len(roots) >= count
    return np.array(roots[:count]) * np.sqrt(EI / (s.rhoA * length**4))


@pytest.mark.parametrize("length", [0.8, 2.0, 10.0])
def test_timoshenko_frequencies_solve_huangs_equation(length):
    s = lb.Section.rectangle(0.06, 0.1, METAL)
    count = 3 if length < 1.0 else 5
    w = omega(lb.beam(length, section=s, modes=count))
    close(w[::2], huang(length, s, "y", count))
    close(w[1::2], huang(length, s, "z", count))


def test_numbers_and_sections_make_the_same_beam():
    s = lb.Section.rectangle(0.06, 0.1, METAL)
    modes = {"bending": 2, "torsion": 1, "stretch": 1}
    one = lb.beam(1.5, section=s, modes=modes)
    inertia = 1.5 * np.array(s.rhoI)
    two = lb.beam(
        1.5, 1.5 * s.rhoA, EI=s.EI, GJ=s.GJ, EA=s.EA, GA=s.kGA, rotary_inertia=inertia, modes=modes
    )
    close(omega(one), omega(two), 1e-13)
    close(one.integrals.mass_matrix(), two.integrals.mass_matrix(), 1e-12)
    slender = lb.beam(1.5, section=s.slender(), modes=modes)
    plain = lb.beam(1.5, 1.5 * s.rhoA, EI=s.EI, GJ=s.GJ, EA=s.EA, modes=modes)
    close(omega(slender), omega(plain), 1e-13)


def test_stiff_shear_is_no_shear():
    rigid = lb.beam(2.0, 3.0, EI=(5.0, 20.0), GA=1e14, modes=4)
    close(omega(rigid), omega(lb.beam(2.0, 3.0, EI=(5.0, 20.0), modes=4)), 1e-10)


@pytest.mark.parametrize("load", [None, (2.0, 0.3), (1.0, (0.1, 0.2, 0.3))])
def test_modes_are_orthonormal_with_rotary_inertia_taper_and_load(load):
    ends = lb.Section.rectangle(0.1, 0.05, METAL), lb.Section.rectangle(0.03, 0.04, METAL)
    b = lb.beam(1.5, section=ends, modes={"y": 3, "z": 2, "torsion": 2, "stretch": 2}, load=load)
    total = b.integrals.G0.copy()
    if load is not None:
        moments = np.diag(np.broadcast_to(load[1], 3))
        total += load[0] * b.nodes.translation[-1].T @ b.nodes.translation[-1]
        total += b.nodes.rotation[-1].T @ moments @ b.nodes.rotation[-1]
    close(total, np.eye(9), 1e-11)
    close(b.mass, METAL.rho * 1.5 * (0.1 * 0.05 + 0.03 * 0.04 + (0.1 * 0.04 + 0.03 * 0.05) / 2) / 3)


def test_tapered_cantilevers_have_the_published_frequencies():
    """Depth, or depth and width, halved at the tip (Hodges & Rutkowski 1981; Naguleswaran 1994)."""
    root = lb.Section.rectangle(0.01, 0.02, METAL).slender()
    unit = np.sqrt(root.EI[0] / root.rhoA)
    wedge = lb.Section.rectangle(0.01, 0.01, METAL).slender()
    w = omega(lb.beam(1.0, section=(root, wedge), modes={"z": 3})) / unit
    np.testing.assert_allclose(w, [3.8238, 18.3173, 47.2648], atol=6e-5)
    pyramid = lb.Section.rectangle(0.005, 0.01, METAL).slender()
    w = omega(lb.beam(1.0, section=(root, pyramid), modes={"z": 3})) / unit
    np.testing.assert_allclose(w, [4.6252, 19.5476, 48.5789], atol=6e-5)


def test_tapered_timoshenko_modes_solve_the_differential_equations():
    """Integrated from the root: what is left of force and moment at the tip changes sign at each frequency."""
    ends = lb.Section.rectangle(0.06, 0.1, METAL), lb.Section.rectangle(0.04, 0.04, METAL)
    b = lb.beam(1.0, section=ends, modes={"z": 3})
    E, rho = METAL.E, METAL.rho
    kG = 10.0 * 1.3 / (12.0 + 11.0 * 0.3) * E / 2.6

    def rate(x, state, w2):
        width, height = 0.06 - 0.02 * x, 0.1 - 0.06 * x
        area, moment = width * height, width * height**3 / 12.0
        u, turn, bend, shear = state.reshape(4, 2)
        rates = [turn + shear / (kG * area), bend / (E * moment)]
        rates += [-shear - w2 * rho * moment * turn, -w2 * rho * area * u]
        return np.concatenate(rates)

    def residual(w):
        start = np.array([0, 0, 0, 0, 1e5, 0, 0, 1e5], dtype=float)
        end = solve_ivp(rate, (0, 1), start, "DOP853", args=(w**2,), rtol=1e-11, atol=1e-10)
        return np.linalg.det(end.y[4:, -1].reshape(2, 2))

    for w in omega(b):
        assert residual(w * (1.0 - 1e-8)) * residual(w * (1.0 + 1e-8)) < 0.0


@pytest.mark.parametrize(
    ("modes", "kinds"),
    [
        ({"y": 2}, "yy"),
        ({"z": 1}, "z"),
        ({"y": 1, "z": 3}, "yzzz"),
        ({"z": 2, "y": 2, "torsion": 1}, "yzyzt"),
        ({"stretch": 1, "y": 2}, "yys"),
    ],
)
def test_modes_of_one_plane_keep_the_order(modes, kinds):
    data = {"EI": (5.0, 20.0), "GJ": 3.0, "EA": 4e3, "polar_inertia": 0.2}
    b = lb.beam(2.0, 3.0, modes=modes, **data)
    full = lb.beam(2.0, 3.0, modes={"bending": 3, "torsion": 1, "stretch": 1}, **data)
    order = {"y": [0, 2, 4], "z": [1, 3, 5], "t": [6], "s": [7]}
    chosen = [order[kind][kinds[:i].count(kind)] for i, kind in enumerate(kinds)]
    assert np.array_equal(np.diag(b.stiffness), np.diag(full.stiffness)[chosen])
    close(b.nodes.translation, full.nodes.translation[:, :, chosen], 1e-12)


def test_offset_and_rotation_are_those_of_files():
    R = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    data = {"length": 1.0, "mass": 2.0, "EI": 3.0}
    b = lb.beam(**data, offset=(1.0, 2.0, 3.0), rotation=R)
    assert bits(b) == bits(placed(lb.beam(**data), (1.0, 2.0, 3.0), R))
    close(b.nodes.position[-1], [1.0, 3.0, 3.0])


SECTIONS = {
    "one": lb.Section.tube(0.05, 0.003, METAL),
    "taper": (lb.Section.box(0.1, 0.2, 0.004, METAL), lb.Section.box(0.05, 0.1, 0.002, METAL)),
    "slender": lb.Section.circle(0.1 / 3.0, lb.Material(E=7e10, rho=2700.0, G=2.6e10)).slender(),
    "numbers": lb.Section(
        1e7, (1e3 / 3.0, 2e3), 7e2, 2.1, kGA=(1e6, 2e6 / 7.0), surface=[(0.1, 0.2)]
    ),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_sections_come_back_from_files(name, tmp_path):
    b = lb.beam(1.0, section=SECTIONS[name], modes={"y": 2, "torsion": 1}, offset=(0.1, 0.2, 0.3))
    made = lb.Assembly("arm").attach("arm", b, lb.Revolute("z"))
    lb.save(made, tmp_path / "arm.yaml")
    again = lb.load(tmp_path / "arm.yaml")
    assert bits(again.attachments["arm"].body) == bits(b)
    lb.save(made, tmp_path / "numbers.yaml", expand_beams=True)
    expanded = lb.load(tmp_path / "numbers.yaml").attachments["arm"].body
    assert bits(expanded.points) == bits(b.points)


def test_shear_and_rotary_inertia_come_back_from_files(tmp_path):
    b = lb.beam(
        1.0, 2.0, EI=(3.0, 4.0), GA=(50.0, 60.0), rotary_inertia=(0.01, 0.02), modes={"z": 2}
    )
    lb.save(lb.Assembly("arm").attach("arm", b, lb.Revolute("z")), tmp_path / "arm.yaml")
    text = (tmp_path / "arm.yaml").read_text()
    assert "modes: {z: 2}" in text
    assert bits(lb.load(tmp_path / "arm.yaml").attachments["arm"].body) == bits(b)


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{circle: {radius: 0.1}}", "circle needs a material"),
        ("{circle: {radius: 0.1}, material: {E: 1, rho: 1}}", "give either nu or G, got neither"),
        ("{circle: {radius: 0.1}, EA: 1}", "got circle and EA"),
        ("{EA: 1, EI: 1, GJ: 1}", "rhoA is missing"),
        ("{circel: {radius: 0.1}}", r"Did you mean 'circle'\?$"),
        ("{root: {EA: 1, EI: 1, GJ: 1, rhoA: 1}}", "a taper must have root and tip"),
        ("{root: {EA: 1, EI: 1, GJ: 1, rhoA: 1}, tip: {EA: 1}}", r"section.tip: EI is missing"),
        ("3", "must be a mapping with keys of circle, tube"),
        (
            "{tube: {radius: 0.1, wall: 0.2}, material: {E: 1, rho: 1, nu: 0.3}}",
            "wall = 0.2 is thicker",
        ),
    ],
)
def test_files_say_what_is_wrong_with_a_section(section, message, tmp_path):
    path = tmp_path / "bad.yaml"
    body = f"{{beam: {{length: 1, section: {section}}}, joint: fixed}}"
    path.write_text(f"limber: 1\nbodies:\n  arm: {body}\n")
    with pytest.raises(lb.FileError, match=message):
        lb.load(path)


# forces


def test_moments_are_ei_times_the_second_derivative():
    b = lb.beam(
        2.0, 3.0, EI=(5.0, 20.0), GJ=7.0, EA=4e3, modes={"bending": 2, "torsion": 1, "stretch": 1}
    )
    x, h = np.linspace(0.2, 1.8, 9), 1e-3
    force = beam_forces(b, x)

    fine = lb.beam(2.0, 3.0, EI=(5.0, 20.0), modes=2, elements=2000)

    def shape(i, at):
        return np.interp(at, fine.nodes.position[:, 0], fine.nodes.translation[:, i[0], i[1]])

    second = (shape((1, 2), x + h) - 2 * shape((1, 2), x) + shape((1, 2), x - h)) / h**2
    np.testing.assert_allclose(force.moment_z[:, 2], 20.0 * second, rtol=1e-4, atol=1e-4)
    second = (shape((2, 3), x + h) - 2 * shape((2, 3), x) + shape((2, 3), x - h)) / h**2
    np.testing.assert_allclose(force.moment_y[:, 3], -5.0 * second, rtol=1e-4, atol=1e-4)
    tip = beam_forces(b, [2.0]).forces
    assert np.abs(tip).max() < 1e-9  # the end is free
    assert force.torsion[:, 4].min() > 0.0 and force.axial[:, 5].min() > 0.0
    assert not force.forces[:, [0, 2, 3, 4], 0].any()


@pytest.mark.parametrize("name", ["one", "taper", "slender"])
@pytest.mark.parametrize("load", [None, (3.0, 0.2)])
def test_section_forces_carry_the_inertia_outboard(name, load):
    """V(0) and M(0) are the sums of omega^2 u dm over the beam and its load; V = kGA gamma inside of it."""
    b = lb.beam(1.3, section=SECTIONS[name], modes={"y": 2}, load=load)
    force = beam_forces(b)
    points, tip = b.points, (b.nodes.translation[-1, 1], b.nodes.rotation[-1, 2])
    u = points.translation[:, 1]
    turn = np.einsum("n,nm->m", points.inertia[:, 2, 2], points.rotation[:, 2])
    mass, inertia = load or (0.0, 0.0)
    w2 = np.diag(b.stiffness)
    shear = w2 * (points.mass @ u + mass * tip[0])
    moment = (points.mass * points.position[:, 0]) @ u + turn
    moment = w2 * (moment + mass * 1.3 * tip[0] + inertia * tip[1])
    np.testing.assert_allclose(force.shear_y[0], shear, rtol=1e-9)
    np.testing.assert_allclose(force.moment_z[0], moment, rtol=1e-9)
    if name != "slender":
        first, last = SECTIONS[name] if name == "taper" else 2 * (SECTIONS[name],)
        kGA = [first.between(last, part).kGA[0] for part in np.linspace(0, 1, 11)]
        strain = np.array(kGA)[:, None] * force.strains[:, 1]
        np.testing.assert_allclose(
            force.shear_y, strain, rtol=1e-7, atol=1e-7 * np.abs(strain).max()
        )


def test_surface_strain_is_curvature_times_distance():
    b = lb.beam(1.0, section=lb.Section.rectangle(0.06, 0.1, METAL), modes=1)
    force = beam_forces(b)
    assert force.surface_strain.shape == (11, 4, 2)
    close(
        force.surface_strain[:, 0, 0], -0.03 * force.strains[:, 5, 0]
    )  # a positive Mz presses the side of y
    close(force.surface_strain[:, 0, 1], 0.05 * force.strains[:, 4, 1])
    close(force.strain_at(0.03, 0.05), force.surface_strain[:, 0])


# refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"section": SECTIONS["one"], "mass": 1.0}, "mass and section are both given"),
        ({"section": SECTIONS["one"], "GJ": 1.0}, "GJ and section are both given"),
        ({"section": "tube"}, "section must be an lb.Section, or two of them"),
        ({"section": lb.Section(1, 1, 1, 1, EIyz=0.1)}, "Use lb.structures.frame"),
        ({"EI": 1.0}, "mass must be real numbers.*or its section"),
        ({"mass": 1.0, "EI": 1.0, "GA": -1.0}, "GA must be greater than 0"),
        ({"mass": 1.0, "EI": 1.0, "rotary_inertia": -1.0}, "rotary_inertia must be at least 0"),
        (
            {"mass": 1.0, "EI": 1.0, "rotary_inertia": (1.0, 3.0), "polar_inertia": 1.0},
            "polar_inertia = 1 is smaller than the difference",
        ),
        ({"mass": 1.0, "EI": 1.0, "modes": {"bending": 2, "y": 1}}, "Give only 'y' and 'z'"),
        ({"mass": 1.0, "modes": {"y": 2}}, "EI is missing, but modes requests 2 of bending"),
    ],
)
def test_wrong_data_are_refused(change, message):
    with pytest.raises(lb.LimberError, match=message):
        lb.beam(1.0, **change)


def test_forces_of_what_is_no_beam_are_refused():
    with pytest.raises(lb.LimberError, match=r"body must be a beam made by lb.beam"):
        beam_forces(lb.RigidBody(1.0))
    with pytest.raises(lb.LimberError, match="x must be from 0 to the length 1"):
        beam_forces(lb.beam(1.0, 1.0, EI=1.0), [2.0])
