"""Flexible bodies with other numbers and the same shapes."""

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from limber.bodies.beam_forces import beam_forces, section_forces_of
from limber.bodies.placed import placed

TOLERANCE = 1e-11
MODES = {"bending": 2, "torsion": 1, "stretch": 1}
NUMBERS = {"EI": (1e3, 2e3), "GJ": 500.0, "EA": 1e6, "polar_inertia": 0.01}


def link(**changed):
    return lb.beam(2.0, **({"mass": 3.0, "modes": MODES, "damping": 0.01} | NUMBERS | changed))


def arm(*bodies):
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    to, at = "world", None
    for i, body in enumerate(bodies):
        a.attach(f"link{i}", body, lb.Revolute("y"), to=to, at=at)
        to, at = f"link{i}", "tip"
    return a.build()


@pytest.mark.parametrize(
    "given, made",
    [
        ({"EI": 3e3}, {"EI": 3e3}),
        ({"EI": (3e3, 5e3)}, {"EI": (3e3, 5e3)}),
        ({"EIy": 3e3}, {"EI": (3e3, 2e3)}),
        ({"EIz": 3e3, "GJ": 900.0}, {"EI": (1e3, 3e3), "GJ": 900.0}),
        ({"EA": 2e6}, {"EA": 2e6}),
        ({"damping_ratio": 0.03}, {"damping": 0.03}),
        ({"damping_ratio": 0.001 * np.arange(6), "EA": 3e6}, {"damping": 0.001 * np.arange(6), "EA": 3e6}),
        ({"stiffness_scale": 1.7}, {"EI": (1.7e3, 3.4e3), "GJ": 850.0, "EA": 1.7e6}),
        ({"damping_scale": 3.0}, {"damping": 0.03}),
    ],
)  # fmt: skip
def test_a_uniform_beam_is_the_one_that_is_made_with_these_numbers(given, made):
    found, expected = link().with_parameters(given), link(**made)
    assert_close(found.stiffness, expected.stiffness, TOLERANCE)
    assert_close(found.damping, expected.damping, TOLERANCE)
    assert_close(found.modal_mass, expected.modal_mass, TOLERANCE)
    assert_close(beam_forces(found).forces, beam_forces(expected).forces, TOLERANCE)
    assert_close(found.buckling()[1], expected.buckling()[1], TOLERANCE)
    for name, value in given.items():
        assert_close(found.parameters()[name].value, np.array(value), TOLERANCE, name)


@pytest.mark.parametrize("key, value", [("mass", 5.0), ("mass_scale", 5.0 / 3.0)])
def test_a_heavier_beam_is_the_one_that_is_made_but_for_the_scale_of_its_modes(key, value):
    found = link().with_parameters({key: value})
    expected = link(mass=5.0, polar_inertia=0.01 * 5.0 / 3.0)
    ratio = np.sqrt(5.0 / 3.0)  # eta of a new beam over eta of this one
    s, t = arm(found, found), arm(expected, expected)
    rng = np.random.default_rng(3)
    q, v, tau = (0.1 * rng.normal(size=s.nv) for _ in range(3))
    scale = np.ones(s.nv)
    for where in s.layout.values():
        scale[where.v_modes] = ratio
    vdot = lb.forward_dynamics(s, q, v, tau)
    assert_close(scale * vdot, lb.forward_dynamics(t, scale * q, scale * v, tau / scale), 1e-10)
    assert_close(lb.modes(s, s.neutral()).omega, lb.modes(t, t.neutral()).omega, 1e-9)
    assert_close(lb.pose(s, q, "link1", "tip")[1], lb.pose(t, scale * q, "link1", "tip")[1], 1e-12)
    assert_close(ratio * beam_forces(expected).forces, beam_forces(found).forces, TOLERANCE)


def test_damping_ratios_stay_and_matrices_stay():
    of_ratios, of_matrix = link(), link(damping=0.1 * np.eye(6))
    for given in ({"EI": 5e3}, {"mass": 9.0}, {"EI": 5e3, "mass": 9.0}):
        x, y = of_ratios.with_parameters(given), of_matrix.with_parameters(given)
        omega = np.sqrt(x.stiffness.diagonal() / x.modal_mass.diagonal())
        assert_close(x.damping.diagonal() / x.modal_mass.diagonal(), 2 * 0.01 * omega, TOLERANCE)
        assert np.array_equal(y.damping, of_matrix.damping)
    with pytest.raises(lb.LimberError, match="damping_ratio is not one of its parameters"):
        of_matrix.with_parameters({"damping_ratio": 0.01})


def test_shear_deformation_keeps_its_part_of_the_stiffness():
    """At fixed shapes K is linear in EI and GA, and frequencies are those of the new beam to second order."""
    b = link(GA=5e4, rotary_inertia=0.02)
    K = b.stiffness
    assert_close(b.with_parameters({"EI": (2e3, 4e3), "GA": 1e5, "GJ": 1e3, "EA": 2e6}).stiffness, 2 * K, 1e-10)  # fmt: skip
    both = b.with_parameters({"EIz": 2.4e3}).stiffness + b.with_parameters({"GAy": 6e4}).stiffness
    assert_close(both, K + b.with_parameters({"EIz": 2.4e3, "GAy": 6e4}).stiffness, 1e-10)
    for change in (1e-2, 1e-3):
        near = b.with_parameters({"EI": (1e3 * (1 + change), 2e3 * (1 + change))})
        new = link(GA=5e4, rotary_inertia=0.02, EI=(1e3 * (1 + change), 2e3 * (1 + change)))
        omega = np.sqrt(np.sort(np.linalg.eigvalsh(near.stiffness)))
        assert_close(omega / np.sort(np.sqrt(new.stiffness.diagonal())), np.ones(6), change**2)


def test_what_is_known_of_a_body_follows():
    b = link()
    stiffer = b.with_parameters({"stiffness_scale": 2.0, "mass": 6.0})
    assert_close(stiffer.buckling()[1], 2.0 * b.buckling()[1], TOLERANCE)
    assert_close(stiffer.integrals.J0, 2.0 * b.integrals.J0, TOLERANCE)
    assert_close(stiffer.integrals.mass_matrix(), stiffer.carrier.integrals().mass_matrix(), TOLERANCE)  # fmt: skip
    moved = placed(stiffer, offset=(1.0, 0, 0), rotation=np.eye(3)[[1, 2, 0]])
    again = placed(b, offset=(1.0, 0, 0), rotation=np.eye(3)[[1, 2, 0]]).with_parameters(
        {"stiffness_scale": 2.0, "mass": 6.0}
    )
    assert_close(moved.integrals.mass_matrix(), again.integrals.mass_matrix(), TOLERANCE)
    twice = placed(moved, offset=(0, 1.0, 0))
    assert_close(section_forces_of(twice, None, "").forces, beam_forces(stiffer).forces, TOLERANCE)
    lighter = twice.with_parameters({"EI": (5e2, 1e3)})
    assert_close(section_forces_of(lighter, None, "").forces[:, 4:], 0.5 * beam_forces(stiffer).forces[:, 4:], TOLERANCE)  # fmt: skip


@pytest.mark.parametrize("given", [{"EIy": 700.0}, {"GAz": 3e4}, {"EI": (2e3, 5e2), "GA": 2e4}])
def test_a_beam_that_is_made_softer_carries_the_same_load(given):
    # A cantilever is statically determinate: no stiffness changes its moments and shear forces, and strains follow from these.
    options = {"GA": 5e4, "rotary_inertia": 0.02, "modes": {"bending": 3}, "load": (1e6, 1e5)}
    made = lb.beam(2.0, 3.0, EI=(1e3, 2e3), **options)
    body = made.with_parameters(given)
    tip = body.nodes.translation[-1].T @ [0.0, 7.0, -5.0]
    found = beam_forces(body, [0.0, 0.5, 1.5])
    eta = np.linalg.solve(body.stiffness, tip)
    forces, strains = found.forces @ eta, found.strains @ eta
    assert_close(forces[:, [1, 2]], np.tile([7.0, -5.0], (3, 1)), 1e-4)
    assert_close(forces[:, [4, 5]], np.outer([2.0, 1.5, 0.5], [5.0, 7.0]), 1e-3)
    stiffness = {name: body.parameters()[name].value for name in ("GAy", "GAz", "EIy", "EIz")}
    assert_close(forces[:, [1, 2, 4, 5]], strains[:, [1, 2, 4, 5]] * np.array(list(stiffness.values())), 1e-3)  # fmt: skip
    moved = placed(made, offset=(1.0, 0, 0)).with_parameters(given)
    assert_close(section_forces_of(moved, None, "").forces, beam_forces(body).forces, TOLERANCE)


def test_a_matrix_in_place_of_the_stiffness_leaves_no_section_forces():
    b = link().with_parameters({"stiffness": 2.0 * link().stiffness})
    assert "EI" not in b.parameters() and b.buckling() is None
    with pytest.raises(lb.LimberError, match="no section forces"):
        section_forces_of(b, None, "body 'x'")
    with pytest.raises(lb.LimberError, match="EI is not one of its parameters, which are mass,"):
        b.with_parameters({"EI": 1.0})


@pytest.mark.parametrize(
    "given, message",
    [
        ({"mass": 0.0}, "mass must be greater than 0, got 0"),
        ({"EI": -1.0}, "EI must be greater than 0, got -1"),
        ({"stiffness_scale": -1.0}, "stiffness_scale must be greater than 0"),
        ({"damping_ratio": -0.1}, "damping_ratio must be at least 0"),
        ({"mass": 1.0, "mass_scale": 2.0}, "mass and mass_scale are both given"),
        ({"EI": 1.0, "EIy": 2.0}, "EI and EIy are both given"),
        ({"stiffness": np.eye(6), "EI": 2.0}, "stiffness and EI are both given"),
        ({"EI": 2.0, "stiffness": np.eye(6)}, "stiffness and EI are both given"),
        ({"damping": np.eye(6), "damping_ratio": 2.0}, "damping and damping_ratio are both given"),
        ({"stiffness": -np.eye(6)}, "stiffness must be positive semidefinite"),
        ({"EI": np.nan}, "EI.* is nan"),
        ({"EIx": 1.0}, "EIx is not one of its parameters, which are.* Did you mean 'EI"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(lb.LimberError, match=message):
        link().with_parameters(given)


@pytest.mark.parametrize("expand", [False, True])
def test_files_hold_what_was_changed(tmp_path, expand):
    b = link().with_parameters({"mass": 4.0, "EIy": 1.3e3, "stiffness_scale": 1.1, "damping_ratio": 0.02})  # fmt: skip
    s = arm(b)
    lb.save(s, tmp_path / "arm.yaml", expand_beams=expand)
    found = lb.load(tmp_path / "arm.yaml").build().bodies["link0"]
    assert np.array_equal(found.stiffness, b.stiffness)
    assert np.array_equal(found.damping, b.damping)
    assert np.array_equal(found.points.mass, b.points.mass)
    assert_close(section_forces_of(found, None, "").forces, beam_forces(b).forces, TOLERANCE)


def test_reports_compare_with_the_theory_of_the_new_numbers():
    for b in (link(), link(load=(1.0, 0.2))):
        found = b.with_parameters({"EI": (1.5e3, 4e3), "mass": 6.0}).report()
        expected = link(EI=(1.5e3, 4e3), mass=6.0, polar_inertia=0.02, load=b.recipe.load).report()
        assert_close(found.comparison.omega, expected.comparison.omega, 1e-8)
        if b.recipe.load is None:
            assert_close(found.comparison.own, expected.comparison.own, 1e-8)
            for x, y in zip(found.comparison.static, expected.comparison.static):
                assert_close([x.full, x.body], [y.full, y.body], 1e-8)
