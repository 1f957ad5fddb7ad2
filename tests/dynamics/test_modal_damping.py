"""Damping of whole systems by the ratios of their modes."""

import numpy as np
import pytest
from scipy.linalg import eigvals

import limber as lb

TOLERANCE = 1e-9


def close(actual, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def arm():
    """Two beams at an angle, with a load, and the ratio 0.005 for each beam alone."""
    a = lb.Assembly("arm")
    beam = lb.beam(2.0, 3.0, EI=(400.0, 500.0), modes=2, damping=0.005)
    a.attach("one", beam, lb.Revolute("y"))
    a.attach("two", beam, lb.Revolute("y"), to="one", at="tip")
    a.attach("load", lb.RigidBody(20.0, inertia=(1, 1, 1)), lb.Fixed(), to="two", at="tip")
    s = a.build()
    q = s.neutral()
    q[s.layout["two"].q_joint] = 1.0
    return s, q


BOTH = ["one", "two"]


def test_ratios_of_bodies_are_not_those_of_the_system():
    s, q = arm()
    own = lb.modes(s, q, locked=BOTH).damping
    assert own.min() < 0.002 and own.max() > 0.01


def test_the_ratios_of_a_single_body_are_met():
    b = lb.beam(2.0, 3.0, EI=(400.0, 500.0), modes=3)
    a = lb.Assembly("beam").attach("beam", b, lb.Fixed())
    a.attach("load", lb.RigidBody(5.0, inertia=(1, 1, 1)), lb.Fixed(), to="beam", at="tip")
    s = a.build()
    asked = [0.01, 0.02, 0.03, 0.01, 0.02, 0.03]
    damped = lb.modal_damping(s, asked)
    close(damped.achieved, asked, 1e-4)
    close(lb.modes(damped.system).damping, damped.achieved)
    close(lb.modes(damped.system).omega, lb.modes(s).omega, 1e-4)
    assert not any(b.damping.any() for b in s.bodies.values())  # the system itself stays


def test_an_arm_comes_far_closer_than_by_the_ratios_of_its_bodies():
    s, q = arm()
    own = lb.modes(s, q, locked=BOTH).damping
    with pytest.warns(lb.ModelWarning, match="mode 2 of 'arm'.* where 0.005 was requested"):
        damped = lb.modal_damping(s, 0.005, q, locked=BOTH)
    off, before = (np.abs(x / 0.005 - 1.0).max() for x in (damped.achieved, own))
    assert off < 0.5 * before
    for body in damped.system.bodies.values():
        if body.modes:
            assert np.linalg.eigvalsh(body.damping).min() > -1e-12 * np.abs(body.damping).max()
    lines = str(damped).splitlines()
    assert lines[0].split() == ["mode", "Hz", "requested", "achieved"] and len(lines) == 1 + 8


def test_weights_choose_the_modes_that_count():
    s, q = arm()
    with pytest.warns(lb.ModelWarning):
        damped = lb.modal_damping(s, 0.005, q, locked=BOTH, weights=[1, 1, *[1e-4] * 6])
    close(damped.achieved[:2], 0.005, 1e-2 * 0.005)


def test_the_matrix_of_the_system_is_exact():
    """As a force -matrix v it gives every mode its ratio, coupling none."""
    s, q = arm()
    with pytest.warns(lb.ModelWarning):
        D = lb.modal_damping(s, 0.005, q, locked=BOTH).matrix
    keep = np.r_[s.layout["one"].v_modes, s.layout["two"].v_modes]
    part = np.ix_(keep, keep)
    M, K = lb.mass_matrix(s, q)[part], np.zeros((s.nv, s.nv))
    for name, where in s.layout.items():
        K[where.v_modes, where.v_modes] = s.bodies[name].stiffness
    n = len(keep)
    A = np.block(
        [
            [np.zeros((n, n)), np.eye(n)],
            [-np.linalg.solve(M, K[part]), -np.linalg.solve(M, D[part])],
        ]
    )
    values = eigvals(A)
    close(-values.real / np.abs(values), 0.005)


def test_a_damped_system_can_be_saved(tmp_path):
    b = lb.beam(2.0, 3.0, EI=(400.0, 500.0), modes=1)
    s = lb.Assembly("beam").attach("beam", b, lb.Fixed()).build()
    damped = lb.modal_damping(s, 0.02)
    lb.save(damped.system, tmp_path / "beam.yaml")
    close(lb.modes(lb.load(tmp_path / "beam.yaml").build()).damping, 0.02, 1e-6)


def test_wrong_ratios_are_refused():
    s, q = arm()
    with pytest.raises(ValueError, match=r"one number or 8, .* got shape \(2,\)"):
        lb.modal_damping(s, [0.1, 0.2], q, locked=BOTH)
    with pytest.raises(ValueError, match=r"ratios must be above 0 and below 1 .*got 1\.5"):
        lb.modal_damping(s, 1.5, q)
    with pytest.raises(ValueError, match="weights must be above 0 and finite, got 0"):
        lb.modal_damping(s, 0.1, q, locked=BOTH, weights=0.0)
    rigid = lb.Assembly("rigid").attach("b", lb.RigidBody(1.0, (1, 0, 0)), lb.Revolute("z")).build()
    with pytest.raises(ValueError, match="no flexible bodies"):
        lb.modal_damping(rigid, 0.1)


def test_damped_beams_stay_beams_in_files(tmp_path):
    """Their damping matrices are part of what makes them; a placed beam keeps its place."""
    s, _ = arm()
    turned = lb.beam(1.0, 2.0, EI=50.0, modes=1, offset=(0.1, 0, 0), rotation=np.eye(3)[[1, 2, 0]])
    a = lb.Assembly("arm")
    for name, item in s.attachments.items():
        a.attach(name, item.body, item.joint, item.to, item.at)
    s = a.attach("rod", turned, lb.Fixed(), "two", "tip").build()
    q = s.neutral()
    with pytest.warns(lb.ModelWarning, match="was requested"):
        damped = lb.modal_damping(s, 0.01, q, locked=BOTH).system
    lb.save(damped, tmp_path / "arm.yaml")
    back = lb.load(tmp_path / "arm.yaml").build()
    assert "modal:" not in (tmp_path / "arm.yaml").read_text()
    for name, body in damped.bodies.items():
        assert np.array_equal(back.bodies[name].damping, body.damping)
        assert np.array_equal(back.bodies[name].stiffness, body.stiffness)
    close(lb.modes(back, q, locked=BOTH).damping, lb.modes(damped, q, locked=BOTH).damping, 1e-12)
    assert damped.bodies["one"].recipe is not None


def test_damping_matrices_of_beams_are_checked(tmp_path):
    D = np.array([[0.2, 0.1], [0.1, 0.3]])
    b = lb.beam(2.0, 3.0, EI=400.0, modes=1, damping=D)
    assert np.array_equal(b.damping, D)
    with pytest.raises(ValueError, match=r"damping must have shape \(2, 2\)"):
        lb.beam(2.0, 3.0, EI=400.0, modes=1, damping=np.eye(3))
    with pytest.raises(ValueError, match="damping"):
        lb.beam(2.0, 3.0, EI=400.0, modes=1, damping=-D)
    text = "limber: 1\nbodies:\n  b: {beam: {length: 2, mass: 3, EI: 400, modes: 1, damping: DAMPING}, joint: fixed}\n"
    file = tmp_path / "beam.yaml"
    for damping in ("[[0.2, 0.1], [0.1, 0.3]]", "[0.01, 0.02]", "0.01"):
        file.write_text(text.replace("DAMPING", damping))
        lb.load(file).build()
    file.write_text(text.replace("DAMPING", "[[0.2, 0.1], [0.1, much]]"))
    with pytest.raises(lb.LimberError, match=r"beam\.yaml:3.*damping.*much"):
        lb.load(file)
