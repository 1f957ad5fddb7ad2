"""Reports on bodies: every number against a direct computation."""

import copy
import pickle

import numpy as np
import pytest
import scipy.linalg

import limber as lb
from helpers.frames import brick, named_beam
from limber.bodies.placed import placed
from limber.structures.comparison import assurance
from limber.structures.rigid import rigid_motions

CLOSE = 1e-9
BEAM = named_beam(8)
LOADS = {"tip": (2.0, (0.1, 0.2, 0.3))}
WAYS = {
    "clamped": {"clamped": "root"},
    "pinned": {"pinned": "root"},
    "free": {},
    "loaded": {"clamped": "root", "loads": LOADS},
    "free and loaded": {"loads": LOADS},
}


def errors(report):
    return np.array([s.error for s in report.static])


def dense(structure, held):
    """K and M of the freedoms that are not held, and these."""
    free = np.setdiff1d(np.arange(structure.K.shape[0]), held)
    at = np.ix_(free, free)
    return structure.K.toarray()[at], structure.M.toarray()[at], free


# --- mass -----------------------------------------------------------------------------------------


def test_effective_masses_of_all_modes_sum_to_the_mass_that_moves():
    s = named_beam(3)
    for way, left in ((WAYS["clamped"], 0), (WAYS["pinned"], 3), (WAYS["free"], 6)):
        held = {"clamped": 6, "pinned": 3}.get(next(iter(way), ""), 0)
        report = s.reduce(**way, modes=24 - held - left).report()
        sums = report.effective_mass.sum(axis=0)
        np.testing.assert_allclose(sums, report.comparison.movable, rtol=1e-8, atol=1e-10)


def test_the_mass_that_moves_is_that_of_the_free_freedoms():
    report = BEAM.reduce(clamped="root", modes=2).report()
    _, M, free = dense(BEAM, range(6))
    motions = rigid_motions(BEAM.position, 6, np.zeros(3))[:, [3, 4, 5, 0, 1, 2]]
    force = (BEAM.M @ motions)[free]
    np.testing.assert_allclose(
        report.comparison.movable, np.diag(force.T @ np.linalg.solve(M, force)), rtol=CLOSE
    )
    assert np.all(report.parts.sum(axis=0) <= report.movable_parts + 1e-12)


def test_parts_are_those_that_the_structure_has():
    report = BEAM.reduce(clamped="root", modes=5).report()
    np.testing.assert_allclose(
        report.parts, BEAM.modes(5, clamped="root").effective_mass, atol=1e-9
    )


def test_mass_centre_and_inertia_are_those_of_the_mass_matrix():
    s = lb.Structure(*brick((3, 2, 2), (0.6, 0.2, 0.1))[:3])
    body = s.reduce(nodes=["0"], modes=3, origin=(0.1, 0.05, 0.0))
    report = body.report(interface=())
    motions = rigid_motions(s.position, 3, np.zeros(3))
    rigid = motions.T @ (s.M @ motions)
    mass = rigid[5, 5]
    com = np.array([rigid[2, 4], rigid[0, 5], rigid[1, 3]]) / mass
    np.testing.assert_allclose(report.mass, mass, rtol=CLOSE)
    np.testing.assert_allclose(report.com, com - [0.1, 0.05, 0.0], atol=1e-9)
    about = mass * ((com @ com) * np.eye(3) - np.outer(com, com))
    np.testing.assert_allclose(report.inertia, rigid[:3, :3] - about, atol=1e-9 * mass)


# --- modes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_normal_modes_are_those_of_the_structure(way):
    report = BEAM.reduce(**WAYS[way], modes=5).report()
    c = report.comparison
    np.testing.assert_allclose(c.own, c.omega, rtol=1e-8)
    np.testing.assert_allclose(c.mac, np.eye(5), atol=1e-8)
    assert report.good_to == pytest.approx(c.omega[-1] / (2.0 * np.pi))


def test_a_mode_has_modal_assurance_one_with_itself_whatever_the_combination_of_equal_ones():
    rng = np.random.default_rng(3)
    turn = scipy.linalg.block_diag(1.0, np.linalg.qr(rng.standard_normal((3, 3)))[0], 1.0)
    np.testing.assert_allclose(
        assurance(turn, np.array([1.0, 2.0, 2.0, 2.0001, 5.0])), np.eye(5), atol=1e-12
    )
    apart = assurance(turn, np.arange(1.0, 6.0))
    np.testing.assert_allclose(apart, turn**2, atol=1e-15)


def test_modes_of_equal_frequency_are_compared_in_the_nearest_combination():
    s = named_beam(8, EIz=500.0, EIy=500.0)
    report = s.reduce(clamped="root", interface="tip", method="craig-bampton", modes=6).report()
    assert min(m.mac for m in report.matches[:4]) > 0.99


def test_half_a_pair_of_equal_frequencies_is_compared_with_both():
    s = named_beam(8, EIz=500.0, EIy=500.0)
    for modes in (1, 4):
        report = s.reduce(clamped="root", modes=modes).report()
        assert [m.alike for m in report.matches] == modes * [True] + [False]
        np.testing.assert_allclose([m.mac for m in report.matches[:modes]], 1.0, atol=1e-8)
        assert report.good_modes == modes


def test_frequencies_are_those_of_dense_matrices():
    body = BEAM.reduce(clamped="root", interface="tip", method="craig-bampton", modes=2)
    c = body.report().comparison
    K, M, _ = dense(BEAM, range(6))
    exact = np.sqrt(scipy.linalg.eigh(K, M, eigvals_only=True)[: body.modes])
    np.testing.assert_allclose(c.omega, exact, rtol=1e-8)
    np.testing.assert_allclose(c.own, np.sqrt(np.diag(body.stiffness)), rtol=CLOSE)
    assert np.all(c.own > c.omega * (1.0 - 1e-9))


def test_with_loads_body_and_structure_are_compared_as_they_are_in_an_assembly():
    body = BEAM.reduce(clamped="root", modes=6)
    c = body.report(loads=LOADS).comparison
    a = lb.Assembly("arm")
    a.attach("link", body, lb.Fixed())
    a.attach("load", lb.RigidBody(2.0, inertia=(0.1, 0.2, 0.3)), lb.Fixed(), to="link", at="tip")
    s = a.build()
    np.testing.assert_allclose(c.own, lb.modes(s, s.neutral()).omega, rtol=1e-8)
    exact = BEAM.modes(6, clamped="root", loads=LOADS).omega
    np.testing.assert_allclose(c.omega, exact, rtol=1e-8)
    assert "with the loads at 'tip'" in c.held
    assert "loads" not in body.report(loads={}).comparison.held


def test_what_a_band_leaves_out_is_said():
    omega = BEAM.modes(6, clamped="root").omega
    band = (0.5 * (omega[1] + omega[2]), 0.5 * (omega[4] + omega[5]))
    report = BEAM.reduce(clamped="root", modes={"band": band}).report()
    assert len(report.matches) == 5 and report.body.modes == 3
    assert [m.alike for m in report.matches] == [False, False, True, True, True]
    assert report.good_to == 0.0
    assert "and 1 above it of the 5 compared have no mode" in str(report)


# --- statics --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_static_error_is_zero_with_static_correction(way):
    reduced = BEAM.reduce(**WAYS[way], interface=["3", "tip"], method="static-correction", modes=2)
    assert len(reduced.report().static) == 12
    assert np.abs(errors(reduced.report())).max() < 1e-7


def test_static_error_of_craig_bampton_is_zero_for_a_held_structure_and_not_under_inertia_relief():
    held = BEAM.reduce(clamped="root", interface=["3", "tip"], method="craig-bampton", modes=2)
    assert np.abs(errors(held.report())).max() < 1e-7
    free = BEAM.reduce(interface=["root", "tip"], method="craig-bampton", modes=2).report()
    assert errors(free).max() > 0.1


def test_compliances_are_those_of_dense_matrices_and_of_the_nodes_of_the_body():
    body = BEAM.reduce(clamped="root", modes=4)
    report = body.report()
    K, _, _ = dense(BEAM, range(6))
    exact = np.diag(np.linalg.inv(K))[-6:]
    rows = np.vstack([body.nodes.translation[-1], body.nodes.rotation[-1]])
    own = np.diag(rows @ np.linalg.solve(body.stiffness, rows.T))
    np.testing.assert_allclose([s.full for s in report.static], exact, rtol=1e-8)
    np.testing.assert_allclose([s.body for s in report.static], own, rtol=1e-8, atol=1e-20)
    assert np.all(errors(report) > -1e-9) and {s.node for s in report.static} == {"tip"}
    assert "method='static-correction'" in report.notes[-1]


def test_a_solid_has_the_static_error_of_its_patch():
    s = lb.Structure(*brick((4, 1, 1), (1.0, 0.1, 0.1))[:3])
    root, face = (np.flatnonzero(np.isclose(s.position[:, 0], x)).tolist() for x in (0.0, 1.0))
    options = {"clamped": root, "interface": face[0], "patches": {face[0]: face}}
    rough = s.reduce(**options, modes=2).report()
    exact = s.reduce(**options, modes=2, method="static-correction").report()
    assert errors(rough).max() > 0.5 and np.abs(errors(exact)).max() < 1e-7
    assert rough.comparison.held == "clamped at '0', '1', '2', '3'"


# --- other bodies ---------------------------------------------------------------------------------


def test_a_placed_body_has_the_same_report_in_its_own_axes():
    body = BEAM.reduce(clamped="root", interface="tip", method="craig-bampton", modes=2)
    R = np.array(
        [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    )  # x of the beam is y of the body
    before, after = body.report(), placed(body, (0.1, 0.2, 0.3), R).report()
    np.testing.assert_allclose(after.omega, before.omega, rtol=CLOSE)
    np.testing.assert_allclose(after.comparison.mac, before.comparison.mac, atol=1e-9)
    order = [1, 0, 2, 4, 3, 5]
    np.testing.assert_allclose(
        [s.full for s in after.static], np.array([s.full for s in before.static])[order], rtol=1e-8
    )
    np.testing.assert_allclose(errors(after), 0.0, atol=1e-7)
    np.testing.assert_allclose(
        after.comparison.movable[:3], before.comparison.movable[order][:3], rtol=1e-8
    )
    # all modes of the structure, seen from the new frame
    s = named_beam(3)
    moved = placed(s.reduce(clamped="root", modes=18), (0.1, 0.2, 0.3), R).report()
    np.testing.assert_allclose(
        moved.effective_mass.sum(axis=0), moved.comparison.movable, rtol=1e-8
    )


def test_a_beam_has_the_frequencies_and_deflections_of_beam_theory():
    L, EI = 2.0, (80.0, 50.0)
    body = lb.beam(L, 3.0, EI=EI, GJ=20.0, EA=4e4, modes={"bending": 2, "torsion": 1})
    report = body.report(name="boom")
    full = {s.load: s.full for s in report.static}
    assert full["force along y"] == pytest.approx(L**3 / 3.0 / EI[1], rel=CLOSE)
    assert full["moment about y"] == pytest.approx(L / EI[0], rel=CLOSE)
    assert full["moment about x"] == pytest.approx(L / 20.0, rel=CLOSE)
    shapes = body.nodes.translation[-1]
    own = np.diag(shapes @ np.linalg.solve(body.stiffness, shapes.T))
    np.testing.assert_allclose([s.body for s in report.static[:3]], own, rtol=1e-9, atol=1e-18)
    assert {s.load: s.error for s in report.static}["force along x"] == 1.0  # no mode stretches it
    np.testing.assert_allclose(report.comparison.own, report.comparison.omega, rtol=1e-9)
    np.testing.assert_allclose(report.comparison.mac, np.eye(5), atol=1e-9)
    assert "Euler and Bernoulli's beam theory" in str(report)


def test_a_tapered_beam_deflects_as_a_frame_does():
    steel = lb.Material(E=2e11, nu=0.3, rho=7800.0)
    ends = (lb.Section.rectangle(0.05, 0.04, steel), lb.Section.rectangle(0.03, 0.02, steel))
    beam = lb.beam(1.0, section=ends, modes=1).report()
    frame = lb.structures.frame(
        {"root": (0, 0, 0), "tip": (1, 0, 0)}, [("root", "tip")], [ends], divide=4
    )
    found = {
        s.load: s.full
        for s in frame.reduce(clamped="root", modes=2, interface="tip").report().static
    }
    for s in beam.static:
        assert s.full == pytest.approx(found[s.load], rel=1e-4)
    assert beam.comparison.full.startswith("Timoshenko")


def test_a_superelement_of_all_freedoms_has_the_report_of_the_structure():
    s = named_beam(3)
    part = lb.structures.Superelement(
        s.position, s.M.toarray(), s.K.toarray(), np.arange(24).reshape(4, 6), s.names
    )
    for way in ({"clamped": "root"}, {}):
        one, two = (x.reduce(**way, modes=4).report(interface="tip") for x in (part, s))
        np.testing.assert_allclose(one.omega, two.omega, rtol=1e-6)
        np.testing.assert_allclose(one.comparison.omega, two.comparison.omega, rtol=1e-6)
        np.testing.assert_allclose(one.comparison.mac, np.eye(4), atol=1e-6)
        for name in ("full", "body"):
            np.testing.assert_allclose(
                [getattr(x, name) for x in one.static],
                [getattr(x, name) for x in two.static], rtol=1e-5, atol=1e-12,
            )  # fmt: skip
        np.testing.assert_allclose(
            one.comparison.movable, two.comparison.movable, rtol=1e-6, atol=1e-7
        )
    assert np.abs(errors(part.reduce(clamped="root").report())).max() < 1e-6
    with pytest.raises(lb.LimberError, match="loads are for bodies reduced from structures"):
        part.reduce(clamped="root").report(loads=LOADS)


def test_bodies_without_a_structure_say_what_cannot_be_known():
    body = BEAM.reduce(clamped="root", modes=3)
    alone = pickle.loads(pickle.dumps(body))
    assert body.reduced_from is not None and alone.reduced_from is None
    assert copy.deepcopy(body).reduced_from is None
    report = alone.report()
    assert (
        report.comparison is None
        and report.good_to is None
        and report.matches == report.static == ()
    )
    assert "are not known" in report.notes[0] and report.notes[0] in str(report)
    np.testing.assert_array_equal(report.effective_mass, body.report().effective_mass)
    assert body.with_damping(0.1 * np.eye(3)).report().comparison is not None
    assert "no effective mass" in str(BEAM.reduce(modes=2).report())


def test_files_do_not_hold_the_structure(tmp_path):
    a = lb.Assembly("arm")
    body = BEAM.reduce(clamped="root", modes=3)
    a.attach("link", body, lb.Fixed())
    for arrays in ("inline", "npz"):
        lb.save(a, tmp_path / f"{arrays}.yaml", arrays=arrays)
        again = lb.load(tmp_path / f"{arrays}.yaml").attachments["link"].body
        assert again.reduced_from is None
        for name in ("J0", "J2", "F1", "E0"):
            assert np.array_equal(getattr(again.integrals, name), getattr(body.integrals, name))
        np.testing.assert_array_equal(again.nodes.translation, body.nodes.translation)


@pytest.mark.parametrize(
    "ask, words",
    [
        (lambda: BEAM.reduce(clamped="root", modes=2).report(interface="root"), "'root', which is held"),
        (lambda: BEAM.reduce(clamped="root", modes=2).report(interface="tpi"), "Did you mean 'tip'"),
        (lambda: BEAM.reduce(clamped="root", modes=2).report(modes=0), "modes must be"),
        (lambda: BEAM.reduce(clamped="root", modes=2).report(name=3), "name must be text"),
        (lambda: lb.beam(1.0, 1.0, EI=1.0).report(loads={}), "a beam is compared with beam theory"),
        (lambda: lb.structures.report(lb.RigidBody(1.0)), "must be a FlexibleBody"),
    ],
)  # fmt: skip
def test_bad_arguments_are_refused_in_words(ask, words):
    with pytest.raises(lb.LimberError, match=words):
        ask()


def test_the_printed_tables_have_the_numbers():
    report = BEAM.reduce(clamped="root", modes=3, damping=0.02).report(name="boom")
    text = str(report)
    rows = [line.split() for line in text.splitlines()]
    first = next(row for row in rows if row[:1] == ["1"])
    assert first[1:4] == [f"{report.frequencies[0]:.6g}", f"{report.omega[0]:.6g}", "0.02"]
    sums = next(row for row in rows if row[:1] == ["sum"])
    assert [float(x) for x in sums[1:]] == pytest.approx(report.parts.sum(axis=0), abs=6e-5)
    tip = next(row for row in rows if row[:4] == ["tip", "force", "along", "y"])
    assert tip[4:6] == [f"{report.static[1].full:.6g}", f"{report.static[1].body:.6g}"]
    assert "clamped at 'root'" in text and "boom" in text and "3 kg" in text
