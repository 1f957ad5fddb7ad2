"""Frames against exact statics, beam theory and one another."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg

import limber as lb
from limber.structures import Member, frame

TOLERANCE = 1e-10
METAL = lb.Material(E=70e9, rho=2700.0, nu=0.3)
BAR = lb.Section.rectangle(0.05, 0.1, METAL)
TUBE = lb.Section.tube(0.03, 0.002, METAL)
LENGTH = 2.0
BEAM = {"root": (0.0, 0.0, 0.0), "tip": (LENGTH, 0.0, 0.0)}


def close(actual, expected, tolerance=TOLERANCE):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)


def held(structure, *nodes):
    """The freedoms that remain when these nodes are clamped."""
    free = np.ones(6 * len(structure), dtype=bool)
    for node in nodes:
        j = structure.node(node)
        free[6 * j : 6 * j + 6] = False
    return np.flatnonzero(free & structure.active)


def clamped(matrix, keep):
    return matrix.toarray()[np.ix_(keep, keep)]


def static(structure, loads, *nodes):
    """Displacements (n, 6) under loads {node: (force, moment)}, with nodes clamped."""
    keep, f = held(structure, *nodes), np.zeros(6 * len(structure))
    for node, load in loads.items():
        j = structure.node(node)
        f[6 * j : 6 * j + 6] = load
    u = np.zeros_like(f)
    u[keep] = np.linalg.solve(clamped(structure.K, keep), f[keep])
    return u.reshape(-1, 6)


def squares(structure, *nodes):
    """omega^2 with these nodes clamped."""
    keep = held(structure, *nodes)
    K, M = clamped(structure.K, keep), clamped(structure.M, keep)
    return scipy.linalg.eigh(K, M, eigvals_only=True)


def rotation(seed):
    Q = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return Q * np.linalg.det(Q)


# statics


@pytest.mark.parametrize("parts", [1, 3])
def test_tip_deflection_is_exact_with_any_number_of_elements(parts):
    """P L^3/(3 EI) + P L/(kGA), P L^2/(2 EI), T L/GJ, N L/EA."""
    st = frame(BEAM, [("root", "tip")], BAR, divide=parts)
    tip = st.node("tip")
    for axis, EI, kGA, turn, sign in (
        (1, BAR.EI[1], BAR.kGA[0], 5, 1),
        (2, BAR.EI[0], BAR.kGA[1], 4, -1),
    ):
        u = static(st, {"tip": np.eye(6)[axis]}, "root")[tip]
        close(u[axis], LENGTH**3 / (3 * EI) + LENGTH / kGA)
        close(u[turn], sign * LENGTH**2 / (2 * EI))
    close(static(st, {"tip": np.eye(6)[0]}, "root")[tip, 0], LENGTH / BAR.EA)
    close(static(st, {"tip": np.eye(6)[3]}, "root")[tip, 3], LENGTH / BAR.GJ)
    slender = frame(BEAM, [("root", "tip")], BAR.slender(), divide=parts)
    u = static(slender, {"tip": np.eye(6)[1]}, "root")[tip]
    close(u[1], LENGTH**3 / (3 * BAR.EI[1]))


@pytest.mark.parametrize("slenderness", [1e1, 1e3, 1e5])
def test_thin_beams_do_not_lock(slenderness):
    s = lb.Section.rectangle(1.0 / slenderness, 1.0 / slenderness, METAL)
    st = frame([(0, 0, 0), (1, 0, 0)], [(0, 1)], s)
    u = static(st, {1: np.eye(6)[2]}, 0)[1]
    close(u[2] * 3 * s.EI[0], 1.0 + 3 * s.EI[0] / s.kGA[1], 1e-9)


def test_statics_of_a_taper_are_exact_with_one_element():
    ends = BAR, lb.Section.rectangle(0.03, 0.06, METAL)
    st = frame(BEAM, [Member("root", "tip", ends)], BAR)
    x, weight = np.polynomial.legendre.leggauss(60)
    x, weight = LENGTH * (x + 1) / 2, weight * LENGTH / 2
    at = [ends[0].between(ends[1], part) for part in x / LENGTH]
    exact = weight @ [((LENGTH - y) ** 2 / s.EI[0] + 1 / s.kGA[1]) for y, s in zip(x, at)]
    close(static(st, {"tip": np.eye(6)[2]}, "root")[1, 2], exact, 1e-8)
    divided = frame(BEAM, [Member("root", "tip", ends)], BAR, divide=5)
    close(static(divided, {"tip": np.eye(6)[2]}, "root")[1, 2], exact, 1e-10)


def test_a_section_at_an_angle_has_a_product_of_inertia():
    """Principal axes turned by an angle are the same beam as EIyz in the axes that are not turned."""
    angle = 0.4
    c, s = np.cos(angle), np.sin(angle)
    EIy, EIz = BAR.EI
    turned = lb.Section(
        BAR.EA,
        (c**2 * EIy + s**2 * EIz, s**2 * EIy + c**2 * EIz),
        BAR.GJ,
        BAR.rhoA,
        EIyz=c * s * (EIz - EIy),
        rhoIx=BAR.rhoIx,
    )
    one = frame(BEAM, [Member("root", "tip", angle=angle)], BAR.slender())
    two = frame(BEAM, [("root", "tip")], turned)
    close(two.K.toarray(), one.K.toarray())


def test_a_force_through_the_shear_centre_does_not_twist():
    y, z = 0.02, -0.05
    s = lb.Section(1e8, (1e4, 2e4), 3e2, 5.0, kGA=1e6, shear_centre=(y, z))
    st = frame(BEAM, [("root", "tip")], s)
    for force in ((0, 1, 0), (0, 0, 1)):
        moment = np.cross((0, y, z), force)
        u = static(st, {"tip": [*force, *moment]}, "root")[1]
        assert abs(u[3]) < 1e-12 * np.abs(u).max()
        assert abs(static(st, {"tip": [*force, 0, 0, 0]}, "root")[1, 3]) > 1e-5


# frequencies


def errors(section, kinds, parts):
    """Relative errors of omega by kind of mode, for numbers of elements."""
    found = []
    for n in parts:
        w2 = squares(frame(BEAM, [("root", "tip")], section, divide=n), "root")
        row = []
        for kind, mode in kinds:
            exact = lb.beam(LENGTH, section=section, modes={kind: mode}).stiffness[-1, -1]
            near = w2[np.argmin(np.abs(np.log(w2 / exact)))]
            row.append(0.5 * (near / exact - 1.0))
        found.append(row)
    return np.array(found)


def test_slender_bending_converges_with_the_fourth_power_from_above():
    """Problem 1: (beta L)^2 sqrt(EI/(rho A L^4)), beta L = 1.875104, 4.694091, 7.854757, 10.995541."""
    s = BAR.slender()
    found = errors(s, [("y", i) for i in (1, 2, 3)], (4, 8, 16))
    assert (found > 0.0).all()
    order = np.log2(found[:-1] / found[1:])
    assert (np.abs(order[-1] - 4.0) < 0.1).all() and (order > 3.6).all()
    assert found[-1, 0] < 2e-7 and found[-1, 2] < 5e-5
    w = np.sqrt(squares(frame(BEAM, [("root", "tip")], s, divide=16), "root")[[0, 2, 4]])
    beta_length = np.sqrt(w / np.sqrt(s.EI[1] / (s.rhoA * LENGTH**4)))
    close(beta_length[:2], np.array([1.875104, 4.694091]), 1e-5)


def test_torsion_stretch_and_shear_converge_with_the_second_power_from_above():
    thick = lb.Section.rectangle(0.3, 0.4, METAL)
    kinds = [("torsion", 1), ("stretch", 1), ("y", 1), ("z", 2)]
    found = errors(thick, kinds, (8, 16, 32))
    assert (found > 0.0).all()
    order = np.log2(found[:-1] / found[1:])
    assert (np.abs(order[:, :2] - 2.0) < 0.02).all()
    assert (order > 1.9).all() and found[-1].max() < 2e-3


def test_tapered_members_converge_to_the_tapered_beam():
    ends = TUBE, lb.Section.tube(0.015, 0.001, METAL)
    exact = lb.beam(LENGTH, section=ends, modes={"y": 2, "torsion": 1})
    st = frame(BEAM, [Member("root", "tip", ends, divide=24)], TUBE)
    w2 = squares(st, "root")
    close(np.sqrt(w2[[0, 2]]), np.sqrt(np.diag(exact.stiffness)[:2]), 1e-5)


def test_space_manipulator_beam_has_the_published_frequencies():
    """Problem 10 (NASA JSC, DETC2007-35511): pinned root, point mass at the tip; 5.283, 20.842, 46.769 rad/s."""
    length, rhoA, EI = 3.372, 2.82, 100.64
    s = lb.Section(EA=1e6, EI=EI, GJ=1e4, rhoA=rhoA)
    mass = 5.18 * rhoA * length
    st = frame([(0, 0, 0), (length, 0, 0)], [(0, 1)], s, divide=40, bodies={1: mass})
    keep = np.setdiff1d(held(st), [0, 1, 2, 3, 4])  # turns about z
    keep = [i for i in keep if i % 6 in (1, 5)]
    w2 = scipy.linalg.eigh(clamped(st.K, keep), clamped(st.M, keep), eigvals_only=True)
    assert abs(w2[0]) < 1e-3
    np.testing.assert_allclose(np.sqrt(w2[1:4]), [5.283, 20.842, 46.769], atol=6e-4)


# whole frames


def yoke(R, divide=1):
    """The yoke of a solar array: a mast, two arms to the corners of a panel, a crossbar, and the panel as a body."""
    nodes = {
        "drive": (0, 0, 0),
        "left": (1.2, 0.8, 0.1),
        "right": (1.2, -0.8, 0.1),
        "hub": (0.5, 0, 0),
    }
    members = [
        Member("drive", "hub", "tube"),
        Member("hub", "left", "bar", up=R @ (0.3, 0.2, 1.0)),
        Member("hub", "right", "taper", angle=0.3),
        Member("right", "left", "tube", pins="a"),
    ]
    taper = BAR, lb.Section.rectangle(0.03, 0.05, METAL)
    panel = lb.RigidBody(4.0, com=R @ (0.9, 0.8, 0.0), inertia=R @ np.diag([2.0, 3.0, 4.0]) @ R.T)
    return frame(
        {name: R @ p for name, p in nodes.items()},
        members,
        {"tube": TUBE, "bar": BAR, "taper": taper},
        up=R @ (0, 0, 1),
        divide=divide,
        bodies={"right": panel},
    )


def test_a_turned_frame_is_the_same_frame():
    R = rotation(1)
    here, there = yoke(np.eye(3)), yoke(R)
    turn = np.kron(np.eye(2 * len(here)), R)
    for a, b in ((here.K, there.K), (here.M, there.M)):
        close(turn @ a.toarray() @ turn.T, b.toarray(), 1e-11)
    u = np.random.default_rng(0).normal(size=6 * len(here))
    close(turn @ here.geometric(u).toarray() @ turn.T, there.geometric(turn @ u).toarray(), 1e-9)
    close(there.member_forces(turn @ u).forces, here.member_forces(u).forces, 1e-9)


def rigid_motions(position):
    """(6 n, 6): translations, then rotations about the origin."""
    motions = np.zeros((len(position), 6, 6))
    motions[:, :3, :3] = motions[:, 3:, 3:] = np.eye(3)
    for i in range(3):
        motions[:, :3, 3 + i] = np.cross(np.eye(3)[i], position)
    return motions.reshape(-1, 6)


@pytest.mark.parametrize("divide", [1, 3])
def test_mass_matrix_has_the_mass_and_the_centre_of_the_parts(divide):
    st = yoke(np.eye(3), divide)
    motions = rigid_motions(st.position)
    assert np.abs(st.K @ motions).max() < 1e-9 * abs(st.K).max()
    total = motions.T @ st.M @ motions
    mass, moment = 4.0, 4.0 * np.array([2.1, 0.0, 0.1])
    x, weight = np.polynomial.legendre.leggauss(4)
    for member in st.members:
        a, b = (st.position[st.node(end)] for end in (member.a, member.b))
        for part, w in zip((x + 1) / 2, weight / 2):
            dm = w * np.linalg.norm(b - a) * member.section[0].between(member.section[1], part).rhoA
            mass, moment = mass + dm, moment + dm * (a + part * (b - a))
    close(total[:3, :3], mass * np.eye(3), 1e-12)
    close(total[3:, :3], np.cross(moment, np.eye(3)).T, 1e-12)


def test_inertia_of_a_member_is_that_of_a_solid_bar():
    st = frame([(0, 0, 0), (1, 2, 2)], [(0, 1)], BAR)
    motions = rigid_motions(st.position - st.position.mean(axis=0))
    J = (motions.T @ st.M @ motions)[3:, 3:]
    m, (b, h) = 3.0 * BAR.rhoA, (0.05, 0.1)
    principal = m / 12.0 * np.array([b**2 + h**2, 9.0 + b**2, 9.0 + h**2])
    close(np.linalg.eigvalsh(J), np.sort(principal), 1e-11)


def test_divided_members_have_the_same_statics():
    load = {"left": np.arange(1.0, 7.0)}
    one, three = (static(yoke(np.eye(3), n), load, "drive")[:4] for n in (1, 3))
    close(three, one, 1e-6)  # quadrature of the taper
    st = yoke(np.eye(3), 3)
    assert st.names[4:6] == ("drive-hub.1", "drive-hub.2")
    close(st.position[4], np.array([0.5 / 3, 0, 0]))


def test_frames_converge_from_above_as_members_are_divided():
    lowest = [squares(yoke(np.eye(3), n), "drive")[:6] for n in (1, 2, 4, 8)]
    for coarse, fine in pairwise(lowest):
        assert (fine < coarse * (1.0 + 1e-7)).all()


def test_section_axes_point_up_unless_the_member_does():
    """The z axis points up; a vertical member has its y axis along y."""
    nodes = [(0, 0, 0), (1, 1, 0), (0, 0, 1), (0, 1, 0)]
    st = frame(nodes, [(0, 1), (0, 2), Member(0, 3, up="x"), Member(0, 1, angle=np.pi / 2)], BAR)
    half = np.sqrt(0.5)
    axes = st.elements.axes
    close(axes[0], np.array([[half, -half, 0], [half, half, 0], [0, 0, 1]]))
    close(axes[1], np.array([[0, 0, -1], [0, 1, 0], [1, 0, 0]]))
    close(axes[2][:, 2], np.array([1.0, 0, 0]))
    close(axes[3][:, 1], np.array([0.0, 0, 1]))
    for R in axes:
        close(R.T @ R, np.eye(3))
        assert np.linalg.det(R) > 0.0


def boom(bays, side, longeron, diagonal):
    """A square truss boom along x with one diagonal on each face of each bay."""
    corners = [(0, 0), (side, 0), (side, side), (0, side)]
    nodes = [(side * k, y, z) for k in range(bays + 1) for y, z in corners]
    members = []
    for k in range(bays + 1):
        for c in range(4):
            at = 4 * k + c
            members.append((at, 4 * k + (c + 1) % 4, diagonal))
            if k < bays:
                members.append((at, at + 4, longeron))
                members.append((at, 4 * (k + 1) + (c + 1) % 4, diagonal))
        members.append((4 * k, 4 * k + 2, diagonal))
    return nodes, members


@pytest.mark.parametrize("pins", ["ab", ""])
def test_truss_boom_bends_like_its_equivalent_beam(pins):
    """EI = EA b^2 of four longerons; two faces carry shear by diagonals at 45 degrees and battens."""
    bays, b = 24, 0.3
    s = lb.Section.tube(0.008, 0.001, METAL)
    st = frame(*boom(bays, b, s, s), s, pins=pins)
    assert bool(st.active.reshape(-1, 6)[:, 3:].any()) == (pins == "")
    length, root = bays * b, range(4)
    tip = {len(st) - 1 - i: np.eye(6)[1] / 4.0 for i in range(4)}
    u = static(st, tip, *root)[-4:, 1].mean()
    EI = s.EA * b**2
    GA = 2.0 * s.EA / (2.0**1.5 + 1.0)
    close(u, length**3 / (3.0 * EI) + length / GA, 0.005)


def test_ladder_is_stiffer_than_its_rails_and_softer_than_a_truss():
    rungs, pitch, width = 10, 0.3, 0.4
    nodes = {
        f"{side}{k}": (pitch * k, y, 0.0)
        for k in range(rungs)
        for side, y in (("l", 0.0), ("r", width))
    }
    rails = [(f"{s}{k}", f"{s}{k + 1}", "rail") for s in "lr" for k in range(rungs - 1)]
    steps = [(f"l{k}", f"r{k}", "rung") for k in range(rungs)]
    st = frame(nodes, rails + steps, {"rail": TUBE, "rung": TUBE})
    length = pitch * (rungs - 1)
    load = {"l9": np.eye(6)[1], "r9": np.eye(6)[1]}
    u = static(st, load, "l0", "r0")[st.node("l9"), 1]
    assert length**3 / (3.0 * TUBE.EA * width**2 / 4.0) < u < length**3 / (3.0 * TUBE.EI[1])
    out = static(st, {"l9": np.eye(6)[2], "r9": np.eye(6)[2]}, "l0", "r0")[st.node("r9"), 2]
    close(out, length**3 / (3.0 * TUBE.EI[0]) + length / TUBE.kGA[0], 1e-9)


# pins, offsets, rigid links


def test_pinned_members_have_the_textbook_stiffness():
    """12 EI/L^3 becomes 3 EI/L^3 with one pin, and nothing with two; EA/L stays."""
    s = BAR.slender()
    for pins, factor in (("", 12.0), ("a", 3.0), ("b", 3.0), ("ab", 0.0)):
        st = frame([(0, 0, 0), (LENGTH, 0, 0), (0, 1, 1), (LENGTH, 1, 1)], [
            Member(0, 1, pins=pins), (2, 3), (0, 2), (1, 3)], s)  # fmt: skip
        e = st.elements
        assert e.nodes[0].tolist() == [0, 1]
        forces = e.end_forces[0]
        unit = s.EI[1] / LENGTH**3
        assert abs(forces[1, 7] / unit - factor) < 1e-9
        close(forces[0, 6], s.EA / LENGTH)
        moments = st.member_forces(np.random.default_rng(3).normal(size=24)).forces[0, :, 3:]
        scale = s.EI[0]
        for end, letter in enumerate("ab"):
            if letter in pins:
                assert np.abs(moments[end]).max() < 1e-9 * scale
    assert abs(moments).max() < 1e-9 * scale


def test_offset_ends_and_followers_are_rigidly_connected():
    """A force at the end of a rigid arm bends and twists the beam behind it."""
    arm = np.array([0.1, 0.3, -0.2])
    nodes = BEAM | {"arm": BEAM["tip"] + arm, "end": (3.0, 0.3, -0.2)}
    plain = frame(BEAM, [("root", "tip")], BAR)
    force = np.array([1.0, 2.0, 3.0])
    lever = nodes["end"] - np.array(BEAM["tip"])
    u = static(plain, {"tip": [*force, *np.cross(lever, force)]}, "root")[1]
    stiff = lb.Section(1e13, 1e11, 1e11, 1e4)
    linked = frame(nodes, [("root", "tip"), ("arm", "end", stiff)], BAR, rigid={"arm": "tip"})
    assert linked.names == ("root", "tip", "end")
    close(static(linked, {"end": [*force, 0, 0, 0]}, "root")[1], u, 1e-8)
    shifted = frame(
        {name: nodes[name] for name in linked.names},
        [("root", "tip"), Member("tip", "end", stiff, offset_a=arm)],
        BAR,
    )
    close(shifted.K.toarray(), linked.K.toarray())
    close(shifted.M.toarray(), linked.M.toarray())


def test_bodies_of_followers_move_with_their_leader():
    nodes = BEAM | {"far": (LENGTH + 0.2, 0.3, 0.4)}
    load = lb.RigidBody(3.0, com=(0.1, 0.0, 0.0), inertia=(1.0, 2.0, 2.5))
    st = frame(nodes, [("root", "tip")], BAR, rigid={"far": "tip"}, bodies={"far": load})
    direct = lb.RigidBody(3.0, com=(0.3, 0.3, 0.4), inertia=(1.0, 2.0, 2.5))
    close(st.M.toarray(), frame(BEAM, [("root", "tip")], BAR, bodies={"tip": direct}).M.toarray())


# geometric stiffness


def column(parts, s):
    """A clamped column along z and its critical load over that of Euler, from K and K_g."""
    st = frame([(0, 0, 0), (0, 0, LENGTH)], [(0, 1)], s, divide=parts)
    u = static(st, {1: -np.eye(6)[2]}, 0).ravel()
    keep = held(st, 0)
    inverse = scipy.linalg.eigh(
        -clamped(st.geometric(u), keep), clamped(st.K, keep), eigvals_only=True
    )
    return 1.0 / inverse.max() / (np.pi**2 * min(s.EI) / (4.0 * LENGTH**2))


def test_buckling_load_of_a_column_converges_with_the_fourth_power():
    error = np.array([column(n, BAR.slender()) - 1.0 for n in (2, 4, 8)])
    assert (error > 0.0).all() and error[-1] < 3e-6
    assert (np.abs(np.log2(error[:-1] / error[1:]) - 4.0) < 0.1).all()


def test_shear_lowers_the_buckling_load():
    """1/P = 1/P_Euler + 1/kGA (Engesser)."""
    s = lb.Section.rectangle(0.3, 0.4, METAL)
    euler = np.pi**2 * min(s.EI) / (4.0 * LENGTH**2)
    close(column(16, s), 1.0 / (1.0 + euler / s.kGA[0]), 2e-3)


def test_geometric_stiffness_is_that_of_a_string():
    """Under tension, lateral stiffness N (1/a + 1/b) of the ends' chords, linear in u."""
    nodes, members = (
        [(0, 0, 0), (1, 0, 0), (3, 0, 0), (1, 1, 1)],
        [(0, 1), (1, 2), (1, 3), (0, 3), (2, 3)],
    )
    st = frame(nodes, members, BAR, pins="ab")
    u = np.zeros((4, 6))
    u[1, 0], u[2, 0] = 1e-3, 3e-3
    Kg = st.geometric(u.ravel()).toarray()
    close(Kg[7, 1], -BAR.EA * 1e-3 / 1.0)
    close(Kg[7, 13], -BAR.EA * 1e-3 / 2.0)
    close(st.geometric(-2.0 * u.ravel()).toarray(), -2.0 * Kg)


# forces


def test_member_forces_of_a_cantilever():
    st = frame(BEAM, [("root", "tip")], BAR, divide=4)
    P, Q, N, T = 3.0, 5.0, 7.0, 11.0
    u = static(st, {"tip": (N, P, Q, T, 0, 0)}, "root").ravel()
    force = st.member_forces(u)
    x = np.linspace(0.0, LENGTH, 5)
    ends = np.array([x[:-1], x[1:]]).T
    close(force.axial, np.full((4, 2), N))
    close(force.shear_y, np.full((4, 2), P))
    close(force.shear_z, np.full((4, 2), Q))
    close(force.torsion, np.full((4, 2), T))
    close(force.moment_z, P * (LENGTH - ends))
    close(force.moment_y, -Q * (LENGTH - ends))
    strain = (
        N / BAR.EA
        - 0.025 * P * (LENGTH - ends) / BAR.EI[1]
        - 0.05 * Q * (LENGTH - ends) / BAR.EI[0]
    )
    close(force.surface_strain[:, :, 0], strain)
    both = st.member_forces(np.stack([u, 2 * u], axis=1))
    close(both.moment_z[..., 1], 2.0 * force.moment_z)
    assert both.surface_strain.shape == (4, 2, 4, 2)
    assert (st.member_of == 0).all() and st.edges.shape == (4, 2)


def test_forces_on_the_nodes_are_in_equilibrium_with_the_members():
    """K u is the sum of what the members exert, with their offsets and pins."""
    st = yoke(rotation(5))
    u = np.random.default_rng(2).normal(size=6 * len(st))
    force = st.member_forces(u)
    total = np.zeros((len(st), 6))
    for (a, b), R, ends in zip(st.edges, st.elements.axes, force.forces):
        for node, sign, f in ((a, -1.0, ends[0]), (b, 1.0, ends[1])):
            total[node] += sign * np.concatenate([R @ f[:3], R @ f[3:]])
    close(total.ravel(), st.K @ u, 1e-9)


def test_frame_modes_have_the_moments_of_the_beam():
    s = BAR.slender()
    st = frame(BEAM, [("root", "tip")], s, divide=40)
    keep = held(st, "root")
    _, shapes = scipy.linalg.eigh(clamped(st.K, keep), clamped(st.M, keep))
    u = np.zeros((6 * len(st), 1))
    u[keep] = shapes[:, :1]
    found = st.member_forces(u).moment_z[0, 0, 0]
    exact = lb.structures.beam_forces(lb.beam(LENGTH, section=s, modes={"y": 1})).moment_z[0, 0]
    close(abs(found), abs(exact), 2e-3)


# bodies


def test_a_reduced_frame_is_the_beam():
    """Frequencies, mass, inertia and the forces of each mode."""
    st = frame(BEAM, [("root", "tip")], BAR, divide=24)
    body, beam = st.reduce(clamped="root", modes=4), lb.beam(LENGTH, section=BAR, modes=2)
    order = np.argsort(np.diag(beam.stiffness))
    close(np.diag(body.stiffness), np.diag(beam.stiffness)[order], 1e-4)
    close(body.integrals.rigid_block(), beam.integrals.rigid_block())
    shapes = np.concatenate([body.nodes.translation, body.nodes.rotation], axis=1)
    forces = st.member_forces(shapes.reshape(6 * len(st), 4))
    exact = lb.structures.beam_forces(beam)
    close(np.abs(forces.moment_z[0, 0, 0]), np.abs(exact.moment_z[0, order[0]]), 5e-3)


def test_nodes_of_a_truss_turn_with_their_neighbours():
    s = lb.Section.tube(0.008, 0.001, METAL)
    tips = []
    for pins in ("ab", ""):
        st = frame(*boom(8, 0.3, s, s), s, pins=pins)
        body = st.reduce(clamped=range(4), interface=len(st) - 1, modes=1)
        tip = body.nodes.names.index(str(len(st) - 1))
        tips.append(
            [*np.abs(body.nodes.translation[tip, :, 0]), *np.abs(body.nodes.rotation[tip, :, 0])]
        )
    # the first mode bends in a diagonal plane, whichever of two equal ones
    for part in (slice(0, 3), slice(3, 6)):
        close(*(np.linalg.norm(t[part]) for t in tips), 0.1)


# size and refusals


def test_many_elements_are_made_at_once():
    n = 2000
    nodes = np.array([(0.1 * k, np.sin(0.01 * k), 0.0) for k in range(n + 1)])
    elements = np.array([(k, k + 1) for k in range(n)])
    st = frame(nodes, elements, TUBE)
    assert len(st) == n + 1 and st.names[:2] == ("0", "1")
    length = np.linalg.norm(np.diff(nodes, axis=0), axis=1).sum()
    translation = np.tile([1.0, 0, 0, 0, 0, 0], n + 1)
    close(translation @ st.M @ translation, TUBE.rhoA * length)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": {"a": (0, 0, 0)}}, "nodes has 1 entries: a frame needs at least two"),
        ({"nodes": {"a": (0, 0), "b": (1, 0, 0)}}, r"nodes\['a'\] must have shape \(3,\)"),
        ({"nodes": {"a": (0, 0, 0), 3: (1, 0, 0)}}, "a name must be a non-empty string, got 3"),
        ({"elements": []}, "elements must be a list of pairs"),
        ({"elements": [("a", "b", BAR, 1)]}, r"elements\[0\] must be a pair of nodes"),
        ({"elements": [("a", "bb")]}, r"elements\[0\] has the node 'bb'.*Did you mean 'b'"),
        ({"elements": [(0, 7)]}, r"elements\[0\] has the node 7, which is out of range"),
        ({"elements": [("a", 1.5)]}, r"elements\[0\] must have names or numbers of nodes, got 1.5"),
        ({"elements": [("a", "a")]}, r"elements\[0\] from 'a' to 'a' has no length"),
        (
            {"elements": [("a", "b", "rod")]},
            r"elements\[0\] has the section 'rod', which sections does not",
        ),
        ({"sections": 3}, "sections must be an lb.Section, a dict"),
        (
            {"sections": {"x": BAR, "y": TUBE}},
            r"elements\[0\] has no section, but sections names several",
        ),
        ({"sections": [BAR, BAR]}, "sections has 2 entries for 1 elements"),
        ({"sections": ["BAR"]}, "the section"),
        ({"elements": [Member("a", "b", up="x")]}, r"elements\[0\].up is parallel to the member"),
        (
            {"elements": [Member("a", "b", divide=0)]},
            r"elements\[0\].divide must be a whole number, at least 1",
        ),
        (
            {"elements": [Member("a", "b", pins="c")]},
            r'elements\[0\].pins must be "", "a", "b" or "ab"',
        ),
        ({"divide": 2, "pins": "ab"}, "nothing would prevent it from spinning"),
        ({"up": (0, 0, 0)}, "up is the zero vector"),
        ({"bodies": {"c": 1.0}}, "bodies has the node 'c'"),
        ({"bodies": {"a": -1.0}}, r"bodies\['a'\] must be at least 0"),
        ({"bodies": [1.0]}, "bodies must be a dict"),
        ({"rigid": {"a": "b", "b": "a"}}, "rigid forms a cycle"),
        (
            {"nodes": {"a": (0, 0, 0), "b": (1, 0, 0), "c": (1, 1, 0)}},
            "node 'c' belongs to no member",
        ),
    ],
)
def test_wrong_data_are_refused(change, message):
    data = {"nodes": {"a": (0, 0, 0), "b": (1, 0, 0)}, "elements": [("a", "b")], "sections": BAR}
    with pytest.raises(lb.LimberError, match=message):
        frame(**(data | change))


def test_displacements_of_the_wrong_size_are_refused():
    with pytest.raises(lb.LimberError, match=r"u must have shape \(12,\)"):
        frame(BEAM, [("root", "tip")], BAR).member_forces(np.zeros(5))


def test_sections_may_be_left_out_where_every_member_has_its_own():
    nodes = [(0, 0, 0), (1, 0, 0), (1, 1, 0)]
    named = frame(nodes, [(0, 1, "a"), (1, 2, "a")], {"a": BAR})
    close(frame(nodes, [(0, 1, BAR), Member(1, 2, BAR)]).K.toarray(), named.K.toarray())
    with pytest.raises(
        lb.LimberError, match=r"elements\[1\] has no section, but sections is not given"
    ):
        frame(nodes, [(0, 1, BAR), (1, 2)])
