"""Stress in beams and frames: closed forms, bounds, refusals, files and pictures."""

import math

import numpy as np
import pytest

import limber as lb
from limber.structures import beam_forces

STEEL = lb.Material(E=200e9, nu=0.3, rho=7800.0)
LENGTH = 1.2
#: modes that a heavy load at the tip shapes are exact for forces and moments there
EXACT = {"modes": {"bending": 2, "torsion": 1, "stretch": 1}, "load": (1e7, 1e7)}


def resting(body, wrench):
    a = lb.Assembly("resting")
    a.attach("link", body, lb.Fixed())
    s = a.build()
    external = {("link", "tip"): np.array(wrench, dtype=float)}
    q = lb.equilibrium(s, external=external)
    zero = np.zeros((1, s.nv))
    return lb.Result(
        s, np.zeros(1), q[None], zero, zero, external={k: x[None] for k, x in external.items()}
    )


def test_a_shaft_in_bending_torsion_and_tension_has_the_textbook_stresses():
    r, F, T, N = 0.01, 2e-3, 3e-3, 5e-3  # small, or the deflection of the pulled tip counts
    body = lb.beam(LENGTH, section=lb.Section.circle(r, STEEL), **EXACT)
    forces = resting(body, (T, 0, 0, N, F, 0)).section_forces("link", "root")
    A, moment = math.pi * r**2, math.pi * r**4 / 4
    normal = N / A + F * LENGTH * r / moment  # a force along y pulls at -y
    shear = T * r / (2 * moment) + 4 / 3 * F / A
    far = np.allclose(forces.surface[0, 0, 4], (-r, 0.0))
    assert far
    assert forces.surface_stress[0, 0, 4] == pytest.approx(normal, rel=1e-5)
    assert forces.shear_stress[0, 0] == pytest.approx(shear, rel=1e-5)
    assert forces.von_mises[0, 0, 4] == pytest.approx(math.sqrt(normal**2 + 3 * shear**2), rel=1e-5)
    assert forces.stress_at(0.0, 0.0)[0, 0] == pytest.approx(N / A, rel=1e-5)


@pytest.mark.parametrize(
    ("section", "torsion", "along_z"),
    [
        (
            lb.Section.rectangle(1.0, 1.0, STEEL),
            1 / 0.20817,
            1.5,
        ),  # Timoshenko & Goodier, table 7.1
        (lb.Section.rectangle(3.0, 1.0, STEEL), 1 / (0.267 * 3.0), 0.5),
        (lb.Section.rectangle(1.0, 50.0, STEEL), 1 / (50.0 / 3.0), 0.03),
        (lb.Section.box(1.0, 2.0, 0.001, STEEL), 1 / (2 * 0.999 * 1.999 * 0.001), 300.0),
        (lb.Section.tube(1.0, 0.001, STEEL), 1 / (2 * math.pi * 0.9995**2 * 0.001), 318.47),
    ],
)
def test_largest_shear_stresses_are_those_of_tables(section, torsion, along_z):
    assert section.shear_stress[0] == pytest.approx(torsion, rel=0.02)
    assert section.shear_stress[2] == pytest.approx(along_z, rel=0.01)


def test_polygons_have_the_stresses_of_the_rectangle_that_they_are():
    pytest.importorskip("sectionproperties")
    polygon = lb.Section.polygon([(0, 0), (0.04, 0), (0.04, 0.08), (0, 0.08)], STEEL)
    known = lb.Section.rectangle(0.04, 0.08, STEEL)
    np.testing.assert_allclose(polygon.shear_stress, known.shear_stress, rtol=0.01)
    assert polygon.E == STEEL.E


def test_stress_of_a_frame_is_that_of_a_beam():
    section = lb.Section.box(0.04, 0.06, 0.003, STEEL)
    boom = lb.structures.frame(
        {"root": (0, 0, 0), "tip": (LENGTH, 0, 0)}, [("root", "tip")], section, divide=2
    )
    body = boom.reduce(clamped="root", interface="tip", modes=1, method="static-correction")
    wrench = 1e-2 * np.array([0.3, 0, 0, 5.0, 2.0, -1.0])
    found = [resting(x, wrench).section_forces("link", ["root", "tip"]) for x in (body, lb.beam(LENGTH, section=section, elements=1, **EXACT))]  # fmt: skip
    np.testing.assert_allclose(found[0].von_mises, found[1].von_mises, rtol=1e-4)
    np.testing.assert_allclose(found[0].surface_stress[0, 1], 1e-2 * 5.0 / 0.000564, rtol=1e-4)


def test_stress_of_modes_is_linear_and_of_static_loads_in_frames():
    body = lb.beam(LENGTH, section=lb.Section.tube(0.02, 0.002, STEEL), modes=1)
    by_mode = beam_forces(body)
    assert by_mode.surface_stress.shape == by_mode.surface_strain.shape == (11, 8, 2)
    np.testing.assert_allclose(by_mode.surface_stress, STEEL.E * by_mode.surface_strain)


@pytest.mark.parametrize("what", ["surface_stress", "von_mises", "shear_stress"])
def test_sections_known_by_stiffness_alone_have_no_stress(what):
    bare = lb.Section(EA=1e7, EI=(2e3, 5e4), GJ=8e2, rhoA=1.7)
    for body in (
        lb.beam(LENGTH, 1.0, EI=100.0, modes=1),
        lb.beam(LENGTH, section=bare, modes=1),
    ):
        result = resting(body, np.zeros(6))
        with pytest.raises(lb.LimberError, match=r"(lb\.Section\.tube|made from a form)"):
            getattr(result.section_forces("link"), what)
        with pytest.raises(lb.LimberError, match=r"lb\.Section"):
            result.plot("stress")


def test_numbers_give_stress_once_the_modulus_is_known():
    with_E = lb.Section(EA=2e11 * 1e-4, EI=10.0, GJ=5.0, rhoA=1.0, surface=[(0.01, 0.0)], E=2e11)
    forces = resting(lb.beam(LENGTH, section=with_E, modes=1), (0, 0, 0, 3.0, 0, 0)).section_forces(
        "link"
    )
    np.testing.assert_allclose(forces.surface_stress, 3.0 / 1e-4, rtol=1e-9)
    with pytest.raises(lb.LimberError, match="shear_stress="):
        _ = forces.von_mises
    with pytest.raises(lb.LimberError, match="shear_stress must not be negative"):
        lb.Section(1, 1, 1, 1, shear_stress=(1, -1, 0))


def test_files_keep_what_stress_needs(tmp_path):
    section = lb.Section(
        EA=2e7, EI=10.0, GJ=5.0, rhoA=1.0, surface=[(0.01, 0)], E=2e11, shear_stress=(1, 2, 3)
    )
    tube = lb.Section.tube(0.02, 0.002, STEEL)
    nodes = {"root": (0, 0, 0), "tip": (LENGTH, 0, 0), "end": (LENGTH, 1, 0)}
    frame = lb.structures.frame(nodes, [("root", "tip", tube), ("tip", "end", section)], tube)
    a = lb.Assembly("all")
    a.attach("beam", lb.beam(LENGTH, section=section, modes=1), lb.Fixed())
    a.attach("frame", frame.reduce(clamped="root", modes=4, interface="end"), lb.Fixed())
    lb.save(a, tmp_path / "all.yaml")
    s, again = a.build(), lb.load(tmp_path / "all.yaml").build()
    eta = np.random.default_rng(0).standard_normal((1, s.nq))
    results = [lb.Result(x, np.zeros(1), eta, eta, eta) for x in (s, again)]
    for name, at in (("beam", None), ("frame", "root-tip"), ("frame", ("tip-end", 0.25))):
        np.testing.assert_array_equal(*(r.section_forces(name, at).von_mises for r in results))


def test_pictures_of_stress_at_chosen_stations():
    body = lb.beam(LENGTH, section=lb.Section.tube(0.02, 0.002, STEEL), modes=1)
    result = resting(body, (0, 0, 0, 1.0, 2.0, 0))
    figure = result.plot(["moments", "forces", "stress"], stations={"link": ["root", 0.3]})
    titles = [axes.get_legend().get_title().get_text() for axes in figure.axes]
    assert [title.split(" (")[0] for title in titles[:2]] == ["link at root", "link at 0.3 m"]
    assert len(figure.axes) == 6
    assert len(result.plot("strain", stations={"link": ["root", 0.3]}).axes[0].lines) == 2
    for wrong in ({"link": "elbow"}, {"arm": "root"}, ["root"]):
        with pytest.raises(lb.LimberError, match=r"(elbow|arm|stations must map)"):
            result.plot("moments", stations=wrong)
