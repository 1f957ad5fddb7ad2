"""Reduction: bodies against beam theory, against the full matrices and against each other."""

import re
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

import limber as lb
from helpers.frames import BEAM, brick, named_beam, straight_beam
from limber.structures.cholesky import Cholesky
from limber.structures.eigen import LowestModes
from limber.structures.interface import NodeRows
from limber.structures.progress import Progress
from limber.structures.rigid import rigid_motions
from limber.structures.support import Support

PAYLOAD = lb.RigidBody(2.0, (0.1, 0.02, 0.0), (0.1, 0.2, 0.25))


def frequencies(body):
    return np.sqrt(np.diag(body.stiffness))


def with_payload(body, inboard=None, payload=PAYLOAD):
    """Frequencies of a body on a fixed joint with a payload at its tip."""
    a = lb.Assembly("arm")
    a.attach("link", body, lb.Fixed(), inboard=inboard)
    a.attach("payload", payload, lb.Fixed(), to="link", at="tip")
    s = a.build()
    return lb.modes(s, s.neutral()).omega


def full_frequencies(structure, held, extra=None):
    """All frequencies of the full matrices without the freedoms `held`."""
    K, M = structure.K.toarray(), structure.M.toarray()
    if extra is not None:
        M = M + extra
    free = np.setdiff1d(np.arange(len(K)), held)
    index = np.ix_(free, free)
    value = scipy.linalg.eigh(K[index], M[index], eigvals_only=True)
    return np.sqrt(np.maximum(value, 0.0))


def payload_matrix(structure, payload=PAYLOAD):
    """The mass matrix of the payload at the last node, with 6 freedoms a node."""
    c = np.array([[0, -payload.com[2], payload.com[1]], [payload.com[2], 0, -payload.com[0]],
                  [-payload.com[1], payload.com[0], 0]])  # fmt: skip
    m = payload.mass
    M = np.zeros(structure.M.shape)
    M[-6:, -6:] = np.block([[m * np.eye(3), -m * c], [m * c, payload.inertia - m * c @ c]])
    return M


BEAM_STRUCTURE = named_beam(20)
EXACT = full_frequencies(BEAM_STRUCTURE, range(6), payload_matrix(BEAM_STRUCTURE))


# --- beam theory ----------------------------------------------------------------------------------


def test_clamped_frequencies_converge_to_beam_theory_with_order_four():
    roots = np.array([1.875104068711961, 4.694091132974175, 7.854757438237613])
    scale = np.sqrt(BEAM["EIz"] / (BEAM["mass"] * BEAM["length"] ** 3))
    errors = []
    for n in (8, 16, 32):
        body = named_beam(n, EIy=BEAM["EIz"] * 400, GJ=1e4, EA=1e8).reduce(clamped="root", modes=3)
        errors.append(np.abs(frequencies(body) / (roots**2 * scale) - 1.0))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(orders > 3.8), orders
    assert errors[-1].max() < 2e-4


def test_the_body_of_a_fine_mesh_is_the_body_of_beam():
    body = named_beam(40).reduce(clamped="root", modes=5)
    beam = lb.beam(
        BEAM["length"],
        BEAM["mass"],
        EI=(BEAM["EIy"], BEAM["EIz"]),
        GJ=BEAM["GJ"],
        polar_inertia=BEAM["polar"],
        modes={"bending": 2, "torsion": 1},
    )
    ours, theirs = body.integrals, beam.integrals
    assert frequencies(body) == pytest.approx(np.sort(frequencies(beam)), rel=1e-4)
    order = np.argsort(frequencies(beam))
    mine, other = (
        np.hstack([x.E0, x.F0]) for x in (ours, theirs)
    )  # torsion has no E0 but rounding
    sign = np.sign(np.einsum("ki,ki->k", mine, other[order]))
    pair = np.outer(sign, sign)[..., None]
    assert ours.mass == pytest.approx(beam.mass)
    for name, tolerance in (("S0", 1e-12), ("J0", 1e-12)):
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), abs=tolerance), name
    for name in ("E0", "F0", "J1"):
        expected = sign[:, None] * getattr(theirs, name)[order]
        assert getattr(ours, name) == pytest.approx(expected, abs=5e-4), name
    for name in ("F1", "J2"):
        expected = pair * getattr(theirs, name)[np.ix_(order, order)]
        assert np.abs(getattr(ours, name)) == pytest.approx(np.abs(expected), abs=1e-2), name


@pytest.mark.parametrize("elements", [30])
def test_a_beam_in_any_direction_gives_the_same_body(elements):
    Q, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))
    R = Q * np.linalg.det(Q)
    turned = named_beam(elements, axes=R, start=(1.0, -2.0, 0.5)).reduce(clamped="root", modes=6)
    plain = named_beam(elements).reduce(clamped="root", modes=6)
    assert frequencies(turned) == pytest.approx(frequencies(plain), rel=1e-8)
    assert pytest.approx(R @ plain.integrals.S0) == turned.integrals.S0
    assert np.linalg.norm(turned.integrals.E0, axis=1) == pytest.approx(
        np.linalg.norm(plain.integrals.E0, axis=1), abs=1e-8
    )
    assert turned.nodes.position[0] == pytest.approx(np.zeros(3), abs=1e-15)
    assert turned.nodes.names[0] == "root"


# --- the full matrices ----------------------------------------------------------------------------


def test_normal_modes_are_those_of_the_full_matrices():
    for held, kwargs in (
        (range(6), {"clamped": "root"}),
        ((), {}),
        (range(3), {"pinned": "root"}),
        ((*range(6), *range(60, 66)), {"clamped": ["root", "10"]}),
    ):
        body = BEAM_STRUCTURE.reduce(modes=12, **kwargs)
        expected = full_frequencies(BEAM_STRUCTURE, list(held))
        expected = expected[expected > 1e-2]
        assert frequencies(body) == pytest.approx(expected[:12], rel=1e-9)


def test_equal_frequencies_are_all_found():
    square = named_beam(16, EIy=300.0, EIz=300.0)
    body = square.reduce(clamped="root", modes=13)
    assert frequencies(body) == pytest.approx(full_frequencies(square, range(6))[:13], rel=1e-9)


def test_modes_that_the_start_vectors_do_not_have_are_found():
    """The start vectors bend the beam in one plane, and the iteration stays there until it is verified."""
    structure = named_beam(16)
    held = np.zeros(102, bool)
    held[:6] = True
    start = np.zeros((17, 6, 3))
    start[:, 1] = np.random.default_rng(5).standard_normal((17, 3))
    modes = LowestModes(
        Support(structure, held, structure.M).elastic, structure.M, start.reshape(102, 3)
    )
    value, shapes, accuracy = modes.find(6, lambda part: None)
    assert np.sqrt(value) == pytest.approx(full_frequencies(structure, range(6))[:6], rel=1e-9)
    assert shapes.T @ structure.M @ shapes == pytest.approx(np.eye(6), abs=1e-12)
    assert accuracy.max() < 1e-8


def test_a_structure_without_inertia_about_an_axis_has_no_effective_mass_there():
    position, _, K, _ = straight_beam(6)
    lumped = np.zeros(42)
    lumped.reshape(7, 6)[:, :3] = 0.5
    thin = lb.Structure(position, sp.diags_array(lumped), K)
    assert np.isnan(thin.modes(3, clamped=0).effective_mass[:, 3]).all()
    chosen = {"effective_mass": 0.7, "directions": ("y", "z", "rx")}
    assert thin.reduce(clamped=0, modes=chosen).modes >= 2


def test_all_modes_of_a_small_structure_are_found():
    structure = named_beam(3)
    body = structure.reduce(clamped="root", modes=18)
    assert frequencies(body) == pytest.approx(full_frequencies(structure, range(6)), rel=1e-8)


def test_massless_freedoms_have_no_modes_of_their_own():
    position, _, K, _ = straight_beam(6)
    lumped = np.zeros(42)
    lumped.reshape(7, 6)[:, :3] = 0.5  # no rotary inertia, so that the beam has no torsion modes
    body = lb.Structure(position, sp.diags_array(lumped), K).reduce(clamped=0, modes=18)
    index = np.arange(6, 42)
    flexibility = np.linalg.inv(K.toarray()[np.ix_(index, index)])
    half = np.sqrt(lumped[index])
    value = np.linalg.eigvalsh(half[:, None] * flexibility * half)[::-1][:18]
    assert frequencies(body) == pytest.approx(1.0 / np.sqrt(value), rel=1e-8)
    with pytest.raises(
        ValueError, match=r"^modes requests 19 modes, but with its supports .* has only 18"
    ):
        lb.Structure(position, sp.diags_array(lumped), K).reduce(clamped=0, modes=19)


def test_shapes_are_orthonormal_and_damping_is_by_ratio():
    body = BEAM_STRUCTURE.reduce(
        clamped="root", interface="tip", method="static-correction", modes=4, damping=0.02
    )
    assert body.modal_mass == pytest.approx(np.eye(10), abs=1e-10)
    omega = frequencies(body)
    assert np.all(np.diff(omega) > 0.0)
    assert body.damping == pytest.approx(np.diag(0.04 * omega))
    several = BEAM_STRUCTURE.reduce(clamped="root", modes=2, damping=(0.01, 0.03))
    assert np.diag(several.damping) == pytest.approx(
        2 * np.array([0.01, 0.03]) * frequencies(several)
    )


# --- with a payload -------------------------------------------------------------------------------


def test_complete_bodies_with_a_payload_have_the_frequencies_of_the_full_matrices():
    """Clamped, free and pinned bodies that have all modes are the structure itself."""
    structure = named_beam(3)
    expected = full_frequencies(structure, range(6), payload_matrix(structure))
    for inboard, kwargs in (
        (None, {"clamped": "root", "modes": 18}),
        ("root", {"modes": 18}),
        ("root", {"pinned": "root", "modes": 18}),
    ):
        omega = with_payload(structure.reduce(**kwargs), inboard)
        assert omega[:10] == pytest.approx(expected[:10], rel=1e-6), kwargs


@pytest.mark.parametrize("free", [False, True])
def test_craig_bampton_frequencies_come_from_above_and_fall(free):
    before = np.full(6, np.inf)
    for modes in (0, 2, 4, 8, 16):
        if free:
            body = BEAM_STRUCTURE.reduce(
                interface=["root", "tip"], method="craig-bampton", modes=modes
            )
        else:
            body = BEAM_STRUCTURE.reduce(
                clamped="root", interface="tip", method="craig-bampton", modes=modes
            )
        omega = with_payload(body, "root" if free else None)[:6]
        assert np.all(omega >= EXACT[:6] * (1.0 - 1e-9))
        assert np.all(omega <= before * (1.0 + 1e-9))
        before = omega
    assert before == pytest.approx(EXACT[:6], rel=1e-4)


@pytest.mark.parametrize(
    "ends", [{"clamped": "root", "interface": "tip"}, {"interface": ["root", "tip"]}]
)
def test_craig_bampton_without_interior_freedoms_says_so(ends):
    """Held at both ends, a single element has no modes; the static shapes of its ends are all that it has."""
    section = lb.Section(EA=2.8e7, EI=1.4e4, GJ=1e4, rhoA=1.2)
    frame = lb.structures.frame(
        {"root": (0, 0, 0), "tip": (10.0, 0, 0)}, [("root", "tip")], section, divide=1
    )
    for modes in (2, {"band": (0.0, 1e4)}):
        with pytest.raises(lb.LimberError, match=r"has no modes: all of its .* Use modes=0"):
            frame.reduce(modes=modes, method="craig-bampton", **ends)
    assert frame.reduce(modes=0, method="craig-bampton", **ends).modes == 6


def test_free_and_clamped_craig_bampton_bodies_are_the_same_body():
    clamped = BEAM_STRUCTURE.reduce(
        clamped="root", interface="tip", method="craig-bampton", modes=4
    )
    free = BEAM_STRUCTURE.reduce(interface=["root", "tip"], method="craig-bampton", modes=4)
    assert clamped.modes == free.modes == 10
    assert with_payload(free, "root") == pytest.approx(with_payload(clamped), rel=1e-7)


def test_static_correction_gives_the_exact_static_deflection():
    tip = np.zeros((126, 6))
    tip[-6:] = np.eye(6)
    free = np.arange(6, 126)
    K = BEAM_STRUCTURE.K.toarray()
    exact = np.linalg.solve(K[np.ix_(free, free)], tip[free])[-6:]
    for modes in (0, 3):
        body = BEAM_STRUCTURE.reduce(
            clamped="root", interface="tip", method="static-correction", modes=modes
        )
        last = body.nodes.shapes[[body.nodes.names.index("tip")]]
        W = np.vstack([last.translation[0], last.rotation[0]])
        assert W @ np.linalg.solve(body.stiffness, W.T) == pytest.approx(exact, rel=1e-7, abs=1e-12)


def test_static_correction_improves_a_loaded_free_body():
    plain = with_payload(BEAM_STRUCTURE.reduce(modes=8), "root")
    better = with_payload(
        BEAM_STRUCTURE.reduce(interface=["root", "tip"], method="static-correction", modes=8),
        "root",
    )
    assert better[:4] == pytest.approx(EXACT[:4], rel=1e-5)
    assert np.all(plain[:4] > EXACT[:4] * 1.01)


def test_modes_with_the_load_are_exact_for_that_load():
    centred = lb.RigidBody(2.0, (0.0, 0.0, 0.0), (0.1, 0.2, 0.25))
    body = BEAM_STRUCTURE.reduce(
        clamped="root", modes=4, loads={"tip": (2.0, np.diag([0.1, 0.2, 0.25]))}
    )
    expected = full_frequencies(BEAM_STRUCTURE, range(6), payload_matrix(BEAM_STRUCTURE, centred))
    assert with_payload(body, payload=centred) == pytest.approx(expected[:4], rel=1e-8)
    assert body.modal_mass == pytest.approx(np.eye(4), abs=1e-10)
    assert body.mass == pytest.approx(3.0)


def test_shapes_of_the_user_span_the_same_space_as_the_modes_they_are():
    structure = named_beam(8)
    K, M = structure.K.toarray()[6:, 6:], structure.M.toarray()[6:, 6:]
    value, vector = scipy.linalg.eigh(K, M)
    shapes = np.zeros((9, 6, 3))
    shapes[1:] = (vector[:, :3] @ np.array([[1, 2, 0], [0, 1, 1], [3, 0, 1.0]])).reshape(8, 6, 3)
    own = structure.reduce(clamped="root", modes=0, shapes=shapes)
    assert frequencies(own) == pytest.approx(np.sqrt(value[:3]), rel=1e-8)
    both = structure.reduce(clamped="root", modes=2, shapes=shapes[..., :1])
    assert frequencies(both) == pytest.approx(np.sqrt(value[:3]), rel=1e-6)


def test_rigid_motion_in_shapes_of_the_user_is_taken_out_of_a_free_body():
    structure = named_beam(8)
    x = structure.position[:, 0]
    shape = np.zeros((9, 6, 1))
    shape[:, 1, 0], shape[:, 5, 0] = x**2, 2.0 * x
    moved = shape.copy()
    moved[:, 1, 0] += 3.0 + 2.0 * x
    moved[:, 5, 0] += 2.0
    bodies = [structure.reduce(modes=0, shapes=s) for s in (shape, moved)]
    assert bodies[0].stiffness == pytest.approx(bodies[1].stiffness)
    assert pytest.approx(np.zeros((1, 3)), abs=1e-9) == bodies[0].integrals.E0


# --- which modes ----------------------------------------------------------------------------------


def test_modes_by_frequency_band():
    omega = full_frequencies(BEAM_STRUCTURE, range(6))
    inside = omega[(omega >= 50.0) & (omega <= 900.0)]
    body = BEAM_STRUCTURE.reduce(clamped="root", modes={"band": (50.0, 900.0)})
    assert frequencies(body) == pytest.approx(inside, rel=1e-9)


def test_modes_by_effective_mass():
    body = BEAM_STRUCTURE.reduce(clamped="root", modes={"effective_mass": 0.8})
    fewer = BEAM_STRUCTURE.reduce(clamped="root", modes=body.modes - 1)
    parts = (body.integrals.E0**2).sum(axis=0) / body.mass
    assert np.all(parts >= 0.8)
    assert np.any((fewer.integrals.E0**2).sum(axis=0) / body.mass < 0.8)
    sideways = BEAM_STRUCTURE.reduce(
        clamped="root", modes={"effective_mass": 0.6, "directions": ("y", "z")}
    )
    assert sideways.modes == 2


def test_modes_of_the_structure_itself_have_effective_masses():
    modes = BEAM_STRUCTURE.modes(6, clamped="root")
    body = BEAM_STRUCTURE.reduce(clamped="root", modes=6)
    assert modes.omega == pytest.approx(frequencies(body), rel=1e-10)
    assert modes.shapes.shape == (21, 6, 6) and modes.accuracy.max() < 1e-8
    # the first modes of a clamped beam have 61.3 % and 18.8 % of its mass
    assert modes.effective_mass[[0, 1], [1, 2]] == pytest.approx([0.6131, 0.6131], abs=1e-4)
    assert modes.effective_mass[[2, 3], [1, 2]] == pytest.approx([0.1883, 0.1883], abs=1e-4)
    assert modes.effective_mass[:, :3] == pytest.approx(body.integrals.E0**2 / 3.0, abs=1e-9)
    assert modes.effective_mass[:, 3:] == pytest.approx(
        body.integrals.F0**2 / body.integrals.J0[[0, 3, 5]], abs=1e-9
    )
    text = str(modes)
    assert text.splitlines()[1].split()[:2] == ["1", "11.3479"] and "sum" in text
    free = BEAM_STRUCTURE.modes(4)
    assert free.effective_mass == pytest.approx(np.zeros((4, 6)), abs=1e-12)


# --- solids ---------------------------------------------------------------------------------------


def solid_bar(cells=(12, 2, 2), width=0.1):
    position, M, K = brick(cells, (1.0, width, 0.1), nu=0.0)
    names = [f"n{i}" for i in range(len(position))]
    for tip in np.flatnonzero((position == [1.0, 0.05, 0.05]).all(axis=1)):
        names[tip] = "tip"
    return lb.Structure(position, M, K, names=names)


def test_a_solid_has_the_frequencies_of_its_full_matrices_and_the_mass_of_its_volume():
    bar = solid_bar()
    root = np.flatnonzero(bar.position[:, 0] == 0.0)
    body = bar.reduce(clamped=root, interface="tip", modes=8, origin=(0.0, 0.05, 0.05))
    held = (3 * root[:, None] + np.arange(3)).ravel()
    assert frequencies(body) == pytest.approx(full_frequencies(bar, held)[:8], rel=1e-9)
    assert body.mass == pytest.approx(27.0)
    assert pytest.approx([13.5, 0.0, 0.0], abs=1e-9) == body.integrals.S0
    assert body.integrals.J0[[3, 5]] == pytest.approx(27.0 * (1 / 3 + 0.01 / 12), rel=1e-9)


def test_a_solid_with_recovered_rotations_carries_a_payload_as_its_full_matrices_do():
    """The reference joins the payload to the end face with an RBE3 element."""
    bar = solid_bar()
    root = np.flatnonzero(bar.position[:, 0] == 0.0)
    face = np.flatnonzero(bar.position[:, 0] == 1.0)
    payload = lb.RigidBody(10.0, (0.0, 0.0, 0.0), (0.3, 0.5, 0.4))
    body = bar.reduce(
        clamped=root,
        interface="tip",
        method="static-correction",
        modes=8,
        origin=(0.0, 0.05, 0.05),
        patches={"tip": face},
    )
    # the motion of the face, fitted by hand: mean displacement, and moments of the displacements over the square
    arms = bar.position[face] - [1.0, 0.05, 0.05]
    W = np.zeros((6, bar.M.shape[0]))
    for arm, node in zip(arms, face):
        for i in range(3):
            W[i, 3 * node + i] = 1.0 / len(face)
        for i, axis in enumerate(np.eye(3)):
            lever = np.cross(axis, arm)
            W[3 + i, 3 * node : 3 * node + 3] = lever / (np.cross(axis, arms) ** 2).sum()
    mass = np.diag([10.0, 10.0, 10.0, 0.3, 0.5, 0.4])
    held = (3 * root[:, None] + np.arange(3)).ravel()
    expected = full_frequencies(bar, held, W.T @ mass @ W)
    omega = with_payload(body, payload=payload)
    assert omega[:5] == pytest.approx(expected[:5], rel=1e-4)


def test_neighbours_give_the_rotation_of_a_solid_node_exactly_in_rigid_motion():
    bar = solid_bar((4, 2, 2))
    rows = NodeRows(bar, {}).rows(bar.node("tip"))
    motions = rows @ rigid_motions(bar.position, 3, bar.position[bar.node("tip")])
    expected = np.block([[np.zeros((3, 3)), np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
    assert motions == pytest.approx(expected, abs=1e-10)


def test_a_free_solid_attached_at_a_patch_is_a_little_softer_than_one_clamped_there():
    """The patch moves as a rigid body on average only; a clamped face cannot warp."""
    bar = solid_bar((8, 2, 2))
    root = np.flatnonzero(bar.position[:, 0] == 0.0)
    face = np.flatnonzero(bar.position[:, 0] == 1.0)
    node = int(root[np.argmin(np.linalg.norm(bar.position[root] - [0.0, 0.05, 0.05], axis=1))])
    free = bar.reduce(
        interface=[node, "tip"],
        patches={node: root, "tip": face},
        method="craig-bampton",
        modes=10,
    )
    a = lb.Assembly("bar")
    a.attach("bar", free, lb.Fixed(), inboard=f"n{node}")
    s = a.build()
    omega = lb.modes(s, s.neutral()).omega
    clamped = bar.reduce(clamped=root, interface="tip", modes=3)
    ratio = omega[:3] / frequencies(clamped)
    assert np.all((ratio > 0.985) & (ratio < 1.0)), ratio


def test_all_modes_are_found_where_freedoms_have_no_mass():
    """The last block has fewer new vectors than columns: what rounding leaves of the others is no mode."""
    rng, n, massive = np.random.default_rng(0), 42, 18
    for _ in range(20):
        turn, _ = np.linalg.qr(rng.standard_normal((n, n)))
        flexibility = (turn * 10.0 ** rng.uniform(-6, 0, n)) @ turn.T
        mass = np.zeros(n)
        mass[:massive] = rng.uniform(0.5, 2.0, massive)
        start = rng.standard_normal((n, 8))
        search = LowestModes(lambda f, G=flexibility: G @ f, sp.csr_array(np.diag(mass)), start)
        squares, _, _ = search.find(massive, lambda part: None)
        root = np.sqrt(mass[:massive])
        inverse = np.linalg.eigvalsh(root[:, None] * flexibility[:massive, :massive] * root)
        assert squares == pytest.approx(1.0 / inverse[::-1], rel=1e-7)
        assert search.V.T @ (mass[:, None] * search.V) == pytest.approx(np.eye(massive), abs=1e-12)


def test_rotations_that_no_element_uses_may_have_rows_of_zeros():
    bar = solid_bar((6, 1, 2), width=0.13)
    n = len(bar)
    at = (6 * np.arange(n)[:, None] + np.arange(3)).ravel()
    spread = sp.csr_array((np.ones(3 * n), (at, np.arange(3 * n))), shape=(6 * n, 3 * n))
    wide = lb.Structure(bar.position, spread @ bar.M @ spread.T, spread @ bar.K @ spread.T)
    root = np.flatnonzero(bar.position[:, 0] == 0.0)
    ours, theirs = (x.reduce(clamped=root, interface=n - 1, modes=5) for x in (wide, bar))
    assert frequencies(ours) == pytest.approx(frequencies(theirs), rel=1e-9)
    mine, other = np.abs(ours.nodes.rotation), np.abs(theirs.nodes.rotation)
    largest = other.max()
    assert largest > 0.0
    assert mine == pytest.approx(
        other, rel=1e-6, abs=1e-9 * largest
    )  # zero by symmetry is rounding


# --- stiffening -----------------------------------------------------------------------------------


def spun_stiffness(body, speed):
    """The modal stiffness that is left at a steady spin about z, with the spin prescribed."""
    a = lb.Assembly("rotor")
    a.attach("hub", body, lb.Revolute("z"))
    s = a.build()
    m = body.modes
    v = np.zeros(m + 1)
    v[m] = speed
    step, K = 1e-5, np.zeros((m, m))
    for r in range(m):
        q = np.zeros(m + 1)
        q[r] = step
        K[:, r] = (lb.bias(s, q, v) - lb.bias(s, -q, v))[:m] / (2 * step)
    return K


@pytest.mark.parametrize("ratio, expected", [(1.0, 3.6816), (3.0, 4.7973), (6.0, 7.3604)])
def test_a_stiffened_beam_has_the_flap_frequencies_of_a_rotating_cantilever(ratio, expected):
    """Wright; Hodges and Rutkowski: omega sqrt(rho A L^4/EI) at Omega sqrt(rho A L^4/EI) = ratio."""
    unit = np.sqrt(BEAM["EIy"] / (BEAM["mass"] * BEAM["length"] ** 3))
    structure = named_beam(20, EIz=1e4 * BEAM["EIy"], GJ=1e5, EA=1e8, polar=1e-6)
    body = structure.reduce(clamped="root", modes=5, geometric_stiffening=True)
    K = spun_stiffness(body, ratio * unit)
    omega = np.sqrt(np.linalg.eigvalsh(0.5 * (K + K.T)))
    assert omega[0] / unit == pytest.approx(expected, rel=1e-3)
    plain = structure.reduce(clamped="root", modes=5)
    assert np.linalg.eigvalsh(spun_stiffness(plain, ratio * unit))[0] < 12.5 * unit**2


def test_a_stiffened_column_buckles_at_its_buckling_load():
    structure = named_beam(20)
    body = structure.reduce(
        clamped="root", interface="tip", modes=6, geometric_stiffening=True, nodes=()
    )
    a = lb.Assembly("column")
    a.attach("column", body, lb.Fixed())
    s = a.build()
    critical = np.pi**2 * BEAM["EIz"] / (4.0 * BEAM["length"] ** 2)

    def lowest(load):
        push = {("column", "tip"): np.array([0, 0, 0, -load, 0, 0])}
        step, K = 1e-5, np.zeros((body.modes, body.modes))
        for r, q in enumerate(step * np.eye(body.modes)):
            force = [lb.inverse_dynamics(s, x, 0 * q, 0 * q, external=push) for x in (q, -q)]
            K[:, r] = (force[0] - force[1]) / (2 * step)
        return np.linalg.eigvalsh(0.5 * (K + K.T))[0]

    assert lowest(0.99 * critical) > 0.0 > lowest(1.01 * critical)


# --- the sparse machinery -------------------------------------------------------------------------


def test_the_sparse_factor_solves():
    bar = solid_bar((10, 4, 5))
    free = np.flatnonzero(np.repeat(bar.position[:, 0] > 0.0, 3))
    K = bar.K[free][:, free]
    used, node_of = np.unique(free // 3, return_inverse=True)
    parts = []
    factor = Cholesky(K, node_of, bar.position[used], parts.append)
    b = np.random.default_rng(0).standard_normal((free.size, 3))
    assert K @ factor.solve(b) == pytest.approx(b, abs=1e-10)
    assert len(factor.blocks) > 5 and parts[-1] == 1.0
    assert factor.entries < 0.7 * free.size**2 / 2


def test_progress_is_shown(monkeypatch):
    seen = {}
    monkeypatch.setattr(
        Progress, "_show", lambda self, work, part: seen.setdefault(work, []).append(part)
    )
    named_beam(4).reduce(clamped="root", modes=2, geometric_stiffening=True, progress=True)
    assert list(seen) == ["factoring K", "computing modes", "unit loads", "unit forces"]
    for parts in seen.values():
        assert sorted(parts) == parts and parts[0] >= 0.0 and parts[-1] <= 1.0


def test_an_unbalanced_neighbour_of_a_reduced_lattice_is_noticed():
    """Modes in which the kept nodes hardly move have no place in the scale of the forces of others."""
    alu = lb.Material(E=70e9, nu=0.33, rho=2700.0)
    sections = {
        "chord": lb.Section.tube(0.01, 0.001, alu),
        "lace": lb.Section.tube(0.006, 0.001, alu),
    }
    nodes, members = {"root": (0, 0, 0), "tip": (1.2, 0, 0)}, []
    for i in range(5):
        for j, (y, z) in enumerate([(-0.15, -0.15), (0.15, -0.15), (0.15, 0.15), (-0.15, 0.15)]):
            nodes[f"{i}{j}"] = (0.3 * i, y, z)
            members.append((f"{i}{j}", f"{i}{(j + 1) % 4}", "lace"))
            if i:
                members.append((f"{i - 1}{j}", f"{i}{j}", "chord"))
                members.append((f"{i - 1}{j}", f"{i}{(j + 1) % 4}", "lace"))
    plates = {f"0{j}": "root" for j in range(4)} | {f"4{j}": "tip" for j in range(4)}
    boom = lb.structures.frame(nodes, members, sections, divide=2, rigid=plates)
    a = lb.Assembly("pair", gravity=(0, 0, -9.81))
    a.attach("boom", boom.reduce(clamped="root", modes=6, nodes=["tip"]), lb.Fixed())
    a.attach("arm", lb.beam(2.0, 3.0, EI=100.0, modes=2), lb.Fixed(), offset=(0, 1, 0))
    found = lb.modes(a.build())
    assert found.imbalance > 0.1 and "Not an equilibrium" in found.note


def test_numbers_that_are_names_of_other_nodes_are_refused():
    body = lb.FlexibleBody.from_nodes(
        [1.0, 1.0], np.eye(2, 3), np.ones((2, 3, 1)), stiffness=[[1.0]], names=["1", "2"]
    )
    a = lb.Assembly("named").attach("body", body, lb.Fixed())
    with pytest.raises(lb.LimberError, match=r"at=1 is ambiguous: .*'body' has a node named '1'"):
        a.attach("load", lb.RigidBody(1.0), lb.Fixed(), "body", at=1)
    a.attach("load", lb.RigidBody(1.0), lb.Fixed(), "body", at="1")
    a.attach("other", lb.RigidBody(1.0), lb.Fixed(), "body", at=0)


def test_a_node_is_clamped_or_pinned():
    with pytest.raises(
        lb.LimberError, match=r"pinned has the node 'root', which is clamped as well"
    ):
        named_beam(4).reduce(clamped="root", pinned="root", modes=2)


# --- interface nodes that share their neighbours -----------------------------------------------------


def pinned_boom(bays=3):
    """A truss boom with four corners a bay."""
    tube = lb.Section.tube(0.02, 0.002, lb.Material(E=70e9, rho=2700.0, nu=0.3))
    corner = [(-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2)]
    nodes = {f"{b}{c}": (0.4 * b, *at) for b in range(bays + 1) for c, at in zip("abcd", corner)}
    members = []
    for b in range(bays + 1):
        members += [(f"{b}{i}", f"{b}{j}") for i, j in ("ab", "bc", "cd", "da", "ac")]
        for i, j in ("ab", "bc", "cd", "da") if b < bays else ():
            members += [(f"{b}{i}", f"{b + 1}{i}"), (f"{b}{i}", f"{b + 1}{j}")]
    return lb.structures.frame(nodes, members, tube, pins="ab")


@pytest.mark.parametrize("method", ["craig-bampton", "static-correction"])
def test_motions_of_interface_nodes_that_others_imply_are_left_out(method):
    """The corners of a truss turn with neighbours that they share: 24 motions, 22 of them independent."""
    st = pinned_boom()
    tips = ["3a", "3b", "3c", "3d"]
    body = st.reduce(clamped=["0a", "0b", "0c", "0d"], interface=tips, modes=2, method=method)
    assert body.modes == 2 + 22
    report = body.report()
    assert len(report.static) == 24 and max(load.error for load in report.static) < 1e-9
    full = st.modes(4, clamped=["0a", "0b", "0c", "0d"]).omega
    error = np.sqrt(np.sort(np.diag(body.stiffness)))[:4] / full - 1.0
    assert (error > -1e-9).all() and error.max() < 0.05


def test_a_node_that_bars_hold_in_a_plane_only_is_named():
    """Rounding errors of the bars are no stiffness across the plane."""
    tube = lb.Section.tube(0.02, 0.002, lb.Material(E=70e9, rho=2700.0, nu=0.3))
    nodes = {"a": (0, 0, 0), "b": (1, 0, 0.1), "c": (0, 1, 0.3), "d": (0, 0, 1), "e": (0.7, 0, 1.3)}
    members = [(x[0], x[1]) for x in ("ab", "bc", "ac", "ad", "bd", "cd", "ea", "ed")]
    with pytest.raises(lb.LimberError, match=r"y of node 'e' has mass, .* and no stiffness"):
        lb.structures.frame(nodes, members, tube, pins="ab")


def test_frequencies_that_rounding_may_move_are_told_of():
    """Two nodes of a beam 0.1 mm apart: EI / h^3 leaves few digits of the rest, and 0.1 % of the frequency is gone."""
    rod = lb.Section.circle(0.01, lb.Material(E=70e9, rho=2700.0, nu=0.3)).slender()

    def beam(gap):
        return lb.structures.frame(
            {"root": (0, 0, 0), "a": (1, 0, 0), "b": (1 + gap, 0, 0), "tip": (2, 0, 0)},
            [("root", "a"), ("a", "b"), ("b", "tip")],
            rod,
        )

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exact = beam(1e-2).modes(2, clamped="root").omega
    for call in (lambda s: s.modes(2, clamped="root"), lambda s: s.reduce(clamped="root", modes=2)):
        with pytest.warns(
            lb.ModelWarning, match=r"K loses digits: .* may change the frequency of"
        ) as told:
            call(beam(1e-4))
    bound = float(re.search(r"up to ([\d.e+-]+) %", str(told[0].message))[1]) / 100.0
    with pytest.warns(lb.ModelWarning):
        error = np.abs(beam(1e-4).modes(2, clamped="root").omega / exact - 1.0).max()
    assert error < bound + 1e-4
