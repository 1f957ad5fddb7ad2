"""Section forces that no mode has: by equilibrium in beams, nan in frames."""

from dataclasses import replace

import numpy as np
import pytest

import limber as lb

STEEL = lb.Material(E=200e9, nu=0.3, rho=7800.0)
SECTION = lb.Section.rectangle(0.02, 0.03, STEEL).slender()
LENGTH, PAYLOAD = 1.5, 4.0
MASS = SECTION.rhoA * LENGTH
X = np.array([0.0, 0.4, 1.5])
EXACT = 1e-9


def resting(body, wrench=6 * (0.0,), gravity=(0, 0, 0), payload=PAYLOAD, **attach):
    """One row of a result: a body on a wall with a payload at its tip, in equilibrium."""
    a = lb.Assembly("resting", gravity=gravity)
    a.attach("link", body, lb.Fixed(), **attach)
    if payload:
        inertia = 0.02 * payload * np.ones(3)
        a.attach("payload", lb.RigidBody(payload, inertia=inertia), lb.Fixed(), to="link", at="tip")
    s = a.build()
    external = {("link", "tip"): np.array(wrench, dtype=float)}
    q = lb.equilibrium(s, external=external)
    zero = np.zeros((1, s.nv))
    return lb.Result(
        s,
        np.zeros(1),
        q[None],
        zero,
        zero,
        external={("link", "tip"): external["link", "tip"][None]},
    )


def test_axial_force_of_a_hanging_beam_without_stretch_modes_is_the_weight_below():
    body = lb.beam(LENGTH, section=SECTION, modes=1)
    for rotation in (np.eye(3), np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])):
        result = resting(
            body, (0, 0, 0, *(7.0 * rotation[:, 0])), 9.0 * rotation[:, 0], rotation=rotation
        )
        forces = result.section_forces("link", X)
        expected = 9.0 * (PAYLOAD + MASS * (1.0 - X / LENGTH)) + 7.0
        np.testing.assert_allclose(forces.axial[0], expected, rtol=EXACT)
        # the strain and the stress have it too
        np.testing.assert_allclose(forces.strain_at(0.0, 0.0)[0], expected / SECTION.EA, rtol=EXACT)
        np.testing.assert_allclose(forces.stress_at(0.0, 0.0)[0], expected / 0.0006, rtol=EXACT)


def test_forces_out_of_the_plane_and_torsion_are_those_of_statics():
    body = lb.beam(LENGTH, section=SECTION, modes={"y": 1}, offset=(0.1, 0, 0))
    forces = resting(body, (0.3, 0, 0, 0, 0, 5.0), payload=0.0).section_forces("link", X)
    np.testing.assert_allclose(forces.torsion[0], 0.3, rtol=EXACT)
    np.testing.assert_allclose(forces.shear_z[0], 5.0, rtol=EXACT)
    np.testing.assert_allclose(forces.moment_y[0], -5.0 * (LENGTH - X), rtol=EXACT, atol=EXACT)
    np.testing.assert_allclose(forces.strains[0, :, 4], forces.moment_y[0] / SECTION.EI[0])


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_axial_force_of_a_spinning_beam_is_the_centripetal_force_of_what_is_outboard(fidelity):
    a = lb.Assembly("spin")
    a.attach("link", lb.beam(LENGTH, section=SECTION, modes=1), lb.Revolute("z"))
    a.attach("payload", lb.RigidBody(PAYLOAD), lb.Fixed(), to="link", at="tip")
    s = a.build(fidelity=fidelity)
    q, v = np.zeros((2, 2, s.nv))
    v[:, s.layout["link"].v_joint] = [[3.0], [5.0]]
    # without deflection, and with what keeps it at that
    tau = lb.inverse_dynamics(s, q, v, np.zeros_like(v))
    result = lb.Result(s, np.arange(2.0), q, v, tau)
    axial = result.section_forces("link", X).axial
    moment = PAYLOAD * LENGTH + SECTION.rhoA * (LENGTH**2 - X**2) / 2.0
    np.testing.assert_allclose(axial, np.outer([9.0, 25.0], moment), rtol=1e-8)


@pytest.mark.parametrize("stiffening", [False, True])
def test_forces_at_the_root_are_the_reaction_of_the_joint(stiffening):
    """In any motion of a straight beam, by inverse dynamics of the system whose joint is free."""
    modes = {"y": 2, "torsion": 1}
    body = lb.beam(LENGTH, section=SECTION, modes=modes, geometric_stiffening=stiffening)
    systems = []
    for joint in (lb.Revolute("z"), lb.Free()):
        a = lb.Assembly("any", gravity=(1.0, -2.0, 9.0))
        a.attach("link", body, joint)
        payload = lb.RigidBody(PAYLOAD, com=(0.1, 0.2, -0.1), inertia=(0.3, 0.4, 0.5))
        a.attach("payload", payload, lb.Revolute("y"), to="link", at="node4", offset=(0, 0.1, 0.2))
        systems.append(a.build())
    s, free = systems
    rng = np.random.default_rng(3)
    q, v = s.neutral(), rng.standard_normal(s.nv)
    q[-1] = 0.7
    result = lb.Result(s, np.zeros(1), q[None], v[None], rng.standard_normal((1, s.nv)))
    at, joint = s.layout["link"].v_joint, free.layout["link"].v_joint

    def freed(x):
        rest = np.zeros(free.nv)
        rest[: at.start], rest[joint.start + 2], rest[-1] = x[: at.start], x[at.start], x[-1]
        return rest

    q_free = free.neutral()
    q_free[-1] = 0.7
    reaction = lb.inverse_dynamics(free, q_free, freed(v), freed(result.vdot[0]))[joint]
    forces = result.section_forces("link", "root")
    np.testing.assert_allclose(forces.axial[0, 0], -reaction[3], rtol=EXACT)
    np.testing.assert_allclose(forces.shear_z[0, 0], -reaction[5], rtol=EXACT)
    np.testing.assert_allclose(forces.moment_y[0, 0], -reaction[1], rtol=EXACT)


def test_a_beam_held_at_its_tip_carries_the_weight_of_its_other_end():
    a = lb.Assembly("held", gravity=(-9.0, 0, 0))
    a.attach("link", lb.beam(LENGTH, section=SECTION, modes=1), lb.Fixed(), inboard="tip")
    s = a.build()
    zero = np.zeros((1, s.nv))
    axial = lb.Result(s, np.zeros(1), zero, zero, zero).section_forces("link", X).axial[0]
    np.testing.assert_allclose(axial, 9.0 * SECTION.rhoA * X, rtol=EXACT, atol=EXACT)


def test_equilibrium_and_stretch_modes_agree_where_both_are_exact():
    """A tapered beam that is pulled: the axial force by equilibrium is that of the beam that can stretch."""
    tip = lb.Section.rectangle(0.01, 0.02, STEEL)
    load = (1e4, 1e4)
    found = []
    for stretch in (0, 1):
        modes = {"y": 2, "stretch": stretch}
        body = lb.beam(LENGTH, section=(SECTION.slender(), tip.slender()), modes=modes, load=load)
        forces = resting(body, (0, 0, 0, 30.0, 0.01, 0), payload=0.0).section_forces("link", X)
        found.append(forces.axial)
    np.testing.assert_allclose(*found, rtol=1e-4)


def test_damped_and_replaced_beams_keep_their_axial_force(tmp_path):
    body = lb.beam(LENGTH, section=SECTION, modes=1)
    damped = body.with_damping(0.1 * np.eye(2))
    moved = lb.bodies.placed.placed(lb.bodies.placed.placed(damped, (1, 0, 0)), (0, 1, 0))
    a = lb.Assembly("saved")
    a.attach("link", moved, lb.Fixed())
    lb.save(a, tmp_path / "saved.yaml")
    read = lb.load(tmp_path / "saved.yaml").build().bodies["link"]
    for link in (damped, moved, read):
        forces = resting(link, (0, 0, 0, 7.0, 0, 0), payload=0.0).section_forces(
            "link", [*X, "node5"]
        )
        np.testing.assert_allclose(forces.axial[0], 7.0, rtol=EXACT)
        assert forces.names[-1] == "node5"


def test_forces_of_a_frame_that_no_mode_has_are_nan_and_said():
    boom = lb.structures.frame(
        {"root": (0, 0, 0), "tip": (LENGTH, 0, 0)}, [("root", "tip")], SECTION, divide=3
    )
    body = boom.reduce(clamped="root", modes={"band": (0.0, 600.0)})
    result = resting(body, (0, 0, 0, 7.0, 1.0, 0), payload=0.0)
    with pytest.warns(lb.ModelWarning, match="'link' has these section forces .*: axial, torsion"):
        forces = result.section_forces("link", "root:tip")
    assert np.isnan(forces.axial).all() and np.isfinite(forces.moment_z).all()
    assert np.isnan(forces.surface_strain).all()
    corrected = boom.reduce(clamped="root", interface="tip", modes=1, method="static-correction")
    forces = resting(corrected, (0, 0, 0, 7.0, 1.0, 0), payload=0.0).section_forces(
        "link", "root:tip"
    )
    assert forces.axial[0, 0] == pytest.approx(7.0, rel=1e-6)


def test_ball_joints_have_no_moments_and_no_nan():
    nodes = {"a": (0, 0, 0), "b": (0, 1, 0), "c": (1, 0, 0), "d": (0, 0, 1)}
    pairs = [(a, b) for a in nodes for b in nodes if a < b]
    truss = lb.structures.frame(nodes, pairs, SECTION, pins="ab")
    absent = truss.recovery(np.random.default_rng(0).standard_normal((24, 2))).forces.absent
    assert not absent.any()


def test_results_without_rows_have_section_forces_without_rows():
    result = resting(lb.beam(LENGTH, section=SECTION, modes=1), payload=0.0)
    assert result[:0].section_forces("link").axial.shape == (0, 11)
    assert replace(result, external={}).section_forces("link", "root").axial[0, 0] == pytest.approx(
        0.0
    )
