"""Buckling of structures: Euler's columns, plates, frames, spins, and an independent assembly."""

import warnings

import numpy as np
import pytest
import scipy.linalg
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import limber as lb
from limber.structures import Member, frame, plate, solid

METAL = lb.Material(E=70e9, rho=2700.0, nu=0.3)
SLENDER = lb.Section.rectangle(0.02, 0.03, METAL).slender()
EI = min(SLENDER.EI)
LENGTH = 2.0
DOWN = {"top": (0.0, 0.0, -1.0)}


def column(parts=8, section=SLENDER):
    nodes = {"bottom": (0, 0, 0), "top": (0, 0, LENGTH)}
    return frame(nodes, [("bottom", "top")], section, divide=parts)


# --- columns --------------------------------------------------------------------------------------

SUPPORTS = {
    "cantilever": ({"clamped": "bottom"}, np.pi / 2.0),
    "ball joints": ({"pinned": "bottom", "held": {"top": ("x", "y", "rz")}}, np.pi),
    "clamped and ball joint": (
        {"clamped": "bottom", "held": {"top": ("x", "y")}},
        brentq(lambda x: np.tan(x) - x, 4.4, 4.6),
    ),
    "clamped at both ends": (
        {"clamped": "bottom", "held": {"top": ("x", "y", "rx", "ry")}},
        2.0 * np.pi,
    ),
}


@pytest.mark.parametrize("support", SUPPORTS)
def test_columns_buckle_at_the_loads_of_euler(support):
    held, k = SUPPORTS[support]
    exact = EI * (k / LENGTH) ** 2
    error = [
        column(n).buckling(1, forces=DOWN, **held).factors[0] / exact - 1.0 for n in (4, 8, 16)
    ]
    assert 0.0 < error[2] < 5e-5
    assert np.log2(error[0] / error[1]) == pytest.approx(4.0, abs=0.3)
    assert np.log2(error[1] / error[2]) == pytest.approx(4.0, abs=0.1)


def test_both_planes_and_higher_shapes_of_a_column():
    found = column(16).buckling(4, forces={"top": (0, 0, -2.5)}, clamped="bottom")
    weak, strong = sorted(SLENDER.EI)
    unit = (np.pi / (2.0 * LENGTH)) ** 2 / 2.5
    expected = sorted([weak * unit, strong * unit, 9 * weak * unit, 9 * strong * unit])
    np.testing.assert_allclose(found.factors, expected, rtol=2e-4)
    assert found.nodes[:2] == ("top", "top") and not found.note
    z = found.displacements[:, 2]
    assert z.min() == pytest.approx(-2.5 * LENGTH / SLENDER.EA)
    # 1 - cos of a quarter wave, with the largest displacement 1
    st = column(16)
    along = st.position[:, 2]
    shape = np.abs(found.shapes[:, :3, 0]).max(axis=1)
    np.testing.assert_allclose(shape, 1.0 - np.cos(np.pi * along / (2 * LENGTH)), atol=1e-4)


def test_a_column_buckles_under_its_own_weight():
    """rho A g L^3 / EI = 7.8373 (Greenhill)."""
    weight = SLENDER.rhoA * 9.81 * LENGTH**3 / EI
    found = [
        column(n).buckling(1, clamped="bottom", gravity=(0, 0, -9.81)).factors[0] for n in (12, 24)
    ]
    error = np.array(found) * weight / 7.83734744 - 1.0
    assert abs(error[1]) < 1e-3 and error[0] / error[1] == pytest.approx(4.0, rel=0.02)


def test_loads_act_together():
    """Weight and load: factors of one of them, less what the other takes, to the first order (Southwell)."""
    st = column(12)
    both = st.buckling(1, clamped="bottom", gravity=(0, 0, -9.81), forces={"top": (0, 0, -50.0)})
    load = st.buckling(1, clamped="bottom", forces={"top": (0, 0, -50.0)}).factors[0]
    weight = st.buckling(1, clamped="bottom", gravity=(0, 0, -9.81)).factors[0]
    assert both.factors[0] == pytest.approx(1.0 / (1.0 / load + 1.0 / weight), rel=0.01)


def test_loads_that_pull_do_not_buckle():
    found = column().buckling(clamped="bottom", forces={"top": (0, 0, 1.0)})
    assert found.factors.size == 0 and found.shapes.shape[2] == 0
    assert "does not buckle below" in str(found) and np.isfinite(found.limit)
    string = frame([(0, 0, 0), (1, 0, 0)], [(0, 1)], SLENDER, divide=2)
    unstressed = string.buckling(clamped=[0, 1], forces={1: (1.0, 0, 0)})
    assert unstressed.factors.size == 0 and "under any multiple" in str(unstressed)


def test_the_printed_table():
    found = column().buckling(2, clamped="bottom", forces=DOWN)
    lines = str(found).splitlines()
    assert lines[0].split() == ["mode", "factor", "moves", "most"]
    assert lines[1].split() == ["1", f"{found.factors[0]:.6g}", "top"] and len(lines) == 3


# --- spins ----------------------------------------------------------------------------------------


def test_a_shaft_bows_at_its_critical_speed():
    """A shaft that spins about its own axis is not stressed: its critical speed is its frequency."""
    st = column(16)
    found = st.buckling(1, clamped="bottom", spin=(0, 0, 10.0))
    speed = 10.0 * np.sqrt(found.factors[0])
    assert speed == pytest.approx(st.modes(1, clamped="bottom").omega[0], rel=2e-3)


def test_a_blade_that_points_inwards_buckles_in_a_spin():
    """Clamped on a rim, it buckles along the axis of the spin, as under a distributed load."""
    radius, section = 3.0, lb.Section.rectangle(0.01, 0.03, METAL).slender()
    st = frame(
        {"rim": (radius, 0, 0), "tip": (radius - 1.0, 0, 0)}, [("rim", "tip")], section, divide=24,
        up="y",
    )  # fmt: skip
    found = st.buckling(1, clamped="rim", spin=(0, 0, 1.0), about=(0, 0, 0))
    # Galerkin: EI w'''' + (N w')' = 0 with N = rho A W^2 int r from the tip, in polynomials of x from the rim
    powers = np.arange(2, 9)
    x, weight = np.polynomial.legendre.leggauss(30)
    x, weight = 0.5 * (x + 1.0), 0.5 * weight
    pressed = section.rhoA * 0.5 * ((radius - x) ** 2 - (radius - 1.0) ** 2)
    slope = powers * x[:, None] ** (powers - 1)
    curvature = powers * (powers - 1) * x[:, None] ** (powers - 2)
    K = min(section.EI) * curvature.T @ (weight[:, None] * curvature)
    S = slope.T @ ((weight * pressed)[:, None] * slope)
    exact = 1.0 / scipy.linalg.eigh(S, K, eigvals_only=True).max()
    assert found.factors[0] == pytest.approx(exact, rel=2e-3)
    assert np.abs(found.shapes[:, 2, 0]).max() == pytest.approx(1.0)
    outwards = st.buckling(1, clamped="tip", spin=(0, 0, 1.0), about=(0, 0, 0))
    assert outwards.factors.min(initial=np.inf) > 10.0 * found.factors[0]


# --- plates and solids ----------------------------------------------------------------------------


def square(n, side=1.0, thickness=0.005):
    """A plate on simple supports, pressed along x by a force of 1 N, and pi^2 D / side."""
    x = np.linspace(0.0, side, n + 1)
    points = np.array([(a, b) for b in x for a in x])
    i = np.arange(n)[:, None] * (n + 1) + np.arange(n)
    cells = np.stack([i, i + 1, i + n + 2, i + n + 1], axis=-1).reshape(-1, 4)
    p = plate((points, cells), METAL, thickness)
    inside = np.all((p.position[:, :2] > 0.0) & (p.position[:, :2] < side), axis=1)
    held = {int(j): ("z",) for j in np.flatnonzero(~inside)}
    held |= {0: ("x", "y", "z"), n * (n + 1): ("x", "z")}
    ends = {}
    for j, (px, py, _) in enumerate(p.position):
        if px in (0.0, side):
            share = 0.5 if py in (0.0, side) else 1.0
            ends[j] = ((1.0 if px == 0.0 else -1.0) * share / n, 0.0, 0.0)
    D = METAL.E * thickness**3 / (12.0 * (1.0 - METAL.nu**2))
    return p, {"held": held, "forces": ends}, np.pi**2 * D / side


def test_a_square_plate_on_simple_supports():
    """sigma t b^2 / (pi^2 D) = 4 and 6.25 for one and two half waves (Bryan), less shear deformation."""
    errors = []
    for n in (8, 16):
        p, options, unit = square(n)
        found = p.buckling(2, **options)
        errors.append(found.factors / unit / [4.0, 6.25] - 1.0)
    assert np.abs(errors[1]).max() < 3e-3
    assert np.abs(errors[1][0] / errors[0][0]) < 0.3


def test_a_solid_column():
    pytest.importorskip("skfem")
    from helpers.meshes import bar

    plain = lb.Material(E=70e9, rho=2700.0, nu=0.0)
    st = solid(bar((16, 1, 1), (1.0, 0.04, 0.05), "hex"), plain, order=2)
    face = st.where(x=1.0)
    force = {j: (-1.0 / len(face), 0, 0) for j in face}
    found = st.buckling(1, clamped=st.where(x=0.0), forces=force)
    inertia = 0.05 * 0.04**3 / 12.0
    euler = np.pi**2 * plain.E * inertia / 4.0
    engesser = euler / (1.0 + euler / (5.0 / 6.0 * plain.shear_modulus * 0.04 * 0.05))
    assert found.factors[0] == pytest.approx(engesser, rel=2e-3)
    spread = st.buckling(
        1, clamped=st.where(x=0.0), forces={face[0]: (-1, 0, 0)}, patches={face[0]: face}
    )
    assert spread.factors[0] == pytest.approx(engesser, rel=2e-3)


# --- frames ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "base, equation, bracket",
    [
        ("clamped", lambda x: x / np.tan(x) + 6.0, (np.pi / 2 + 0.1, np.pi - 0.1)),
        ("hinged", lambda x: x * np.tan(x) - 6.0, (1.0, np.pi / 2 - 0.01)),
    ],
)
def test_a_portal_frame_sways(base, equation, bracket):
    """Both columns and the beam alike, a load on each column (Timoshenko & Gere, 2.4)."""
    nodes = {"a": (0, 0, 0), "b": (0, 0, 1), "c": (1, 0, 1), "d": (1, 0, 0)}
    # wide across the plane of the frame, and stiff along the members
    section = lb.Section(EI=(1e6, 100.0), GJ=1e6, EA=1e9, rhoA=1.0, rhoIx=1e-3)
    st = frame(nodes, [("a", "b"), ("b", "c"), ("c", "d")], section, up="y", divide=8)
    feet = dict.fromkeys("ad", ("x", "y", "z", "rx", "rz"))
    options = {"clamped": ["a", "d"]} if base == "clamped" else {"held": feet}
    found = st.buckling(1, forces={"b": (0, 0, -1), "c": (0, 0, -1)}, **options)
    assert found.factors[0] == pytest.approx(100.0 * brentq(equation, *bracket) ** 2, rel=1e-4)
    assert abs(found.shapes[st.node("b"), 0, 0]) == pytest.approx(1.0, abs=0.1)


def lattice(divide, bays=4):
    sections = {"chord": lb.Section.tube(0.01, 0.001, METAL), "lace": lb.Section.tube(0.006, 0.001, METAL)}  # fmt: skip
    corners = [(-0.15, -0.15), (0.15, -0.15), (0.15, 0.15), (-0.15, 0.15)]
    nodes, members = {"root": (0, 0, 0), "tip": (0.4 * bays, 0, 0)}, []
    for i in range(bays + 1):
        for j, (y, z) in enumerate(corners):
            nodes[f"{i}{j}"] = (0.4 * i, y, z)
            members.append((f"{i}{j}", f"{i}{(j + 1) % 4}", "lace"))
            if i:
                members.append((f"{i - 1}{j}", f"{i}{j}", "chord"))
                members.append((f"{i - 1}{j}", f"{i}{(j + 1) % 4}", "lace"))
    plates = {f"0{j}": "root" for j in range(4)} | {f"{bays}{j}": "tip" for j in range(4)}
    return frame(nodes, members, sections, divide=divide, rigid=plates)


def test_chords_of_a_lattice_buckle_where_members_are_divided():
    press = {"tip": (-1.0, 0, 0)}
    divided = lattice(4).buckling(1, clamped="root", forces=press)
    assert not divided.note and "-" in divided.nodes[0]  # a node inside a member
    chord = lb.Section.tube(0.01, 0.001, METAL)
    # each chord carries about a quarter, and buckles between ball joints and clamped ends
    alone = np.pi**2 * min(chord.EI) / 0.4**2 * 4.0
    assert alone < divided.factors[0] < 4.0 * alone
    with pytest.warns(lb.ModelWarning, match="local buckling is missed") as told:
        single = lattice(1).buckling(1, clamped="root", forces=press)
    assert single.factors[0] > 1.2 * divided.factors[0]
    assert len(told) == 1 and str(told[0].message) == single.note
    assert single.note in str(single) and "would buckle at the factor" in single.note


def test_single_elements_are_noted_and_warned_of_only_where_it_matters():
    single = column(1).buckling(1, clamped="bottom", forces=DOWN)  # warnings are errors here
    assert single.note.startswith(
        "1 of 1 member is under compression and consists of a single element"
    )
    assert single.factors[0] == pytest.approx(EI * (np.pi / 2 / LENGTH) ** 2, rel=0.01)
    assert "'bottom-top' would buckle at the factor" in single.note
    assert not column(1).buckling(1, clamped="bottom", forces={"top": (0, 0, 1)}).note


def test_trusses_say_at_which_load_their_members_buckle():
    nodes = {"a": (0, 0, 0), "b": (1, 0, 0), "c": (0, 1, 0), "top": (0.3, 0.3, 1.0)}
    members = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "top"), ("b", "top"), ("c", "top")]
    st = frame(nodes, [Member(a, b, pins="ab") for a, b in members], SLENDER)
    with pytest.warns(lb.ModelWarning, match=r"buckle at the first of these factors"):
        found = st.buckling(1, pinned=["a", "b", "c"], forces={"top": (0, 0, -1.0)})
    forces = st.member_forces(found.displacements.ravel()).axial[:, 0]
    length = np.array([np.linalg.norm(np.subtract(nodes[b], nodes[a])) for a, b in members])
    first = (np.pi**2 * EI / length**2 / np.maximum(-forces, 1e-12)).min()
    assert f"the factor {first:.4g}," in found.note


# --- bending and torsion --------------------------------------------------------------------------

BLADE = lb.Section.rectangle(0.004, 0.06, METAL).slender()


def test_a_deep_cantilever_tips_over_sideways():
    error = []
    for parts in (4, 8, 16):
        st = frame([(0, 0, 0), (LENGTH, 0, 0)], [(0, 1)], BLADE, divide=parts)
        for sign in (-1.0, 1.0):
            found = st.buckling(1, clamped=0, forces={1: (0, 0, sign)})
            error.append(
                found.factors[0] * LENGTH**2 / np.sqrt(BLADE.EI[1] * BLADE.GJ) / 4.0126 - 1
            )
    assert error[::2] == pytest.approx(error[1::2], rel=1e-6)  # the load may be reversed
    assert 0.0 < error[4] < 2e-3 and error[0] / error[2] == pytest.approx(4.0, rel=0.2)
    assert np.abs(found.shapes[:, 1, 0]).max() == pytest.approx(1.0)  # sideways


def test_a_beam_between_forks_tips_over_under_moments():
    """pi sqrt(EI GJ) / L for moments that are the same along it."""
    st = frame([(0, 0, 0), (LENGTH, 0, 0)], [(0, 1)], BLADE, divide=16)
    held = {0: ("x", "y", "z", "rx"), 1: ("y", "z", "rx")}
    found = st.buckling(1, held=held, moments={0: (0, 1.0, 0), 1: (0, -1.0, 0)})
    exact = np.pi * np.sqrt(BLADE.EI[1] * BLADE.GJ) / LENGTH
    assert found.factors[0] == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_load_on_a_rigid_arm(swapped):
    """tan(k L) = 1 / (k a) for a rigid arm a on top of a column."""
    arm = 0.7
    ends = {"bottom": (0, 0, 0), "top": (0, 0, LENGTH + arm)}
    member = Member("bottom", "top", SLENDER, offset_b=(0, 0, -arm))
    if swapped:
        member = Member("top", "bottom", SLENDER, offset_a=(0, 0, -arm))
    st = frame(ends, [member], {}, divide=8)
    k = brentq(lambda k: np.tan(k * LENGTH) - 1.0 / (k * arm), 1e-3, np.pi / 2 / LENGTH - 1e-6)
    found = st.buckling(2, clamped="bottom", forces=DOWN)
    np.testing.assert_allclose(found.factors, k**2 * np.sort(SLENDER.EI), rtol=1e-4)
    rng = np.random.default_rng(0)
    u, shapes = rng.standard_normal((6 * len(st), 2)), rng.standard_normal((6 * len(st), 3))
    for column_of_u, kappa in zip(u.T, st.modal_stiffness(u, shapes)):
        np.testing.assert_allclose(
            kappa, shapes.T @ (st.geometric(column_of_u) @ shapes), rtol=1e-9
        )


# --- an independent assembly ----------------------------------------------------------------------


def textbook(length, section):
    """The stiffness of a slender element (Przemieniecki)."""
    L, (EIy, EIz) = length, section.EI
    K = np.zeros((12, 12))
    ends = np.array([[1.0, -1.0], [-1.0, 1.0]])
    K[np.ix_([0, 6], [0, 6])] = section.EA / L * ends
    K[np.ix_([3, 9], [3, 9])] = section.GJ / L * ends
    for flexural, at, sign in ((EIz, [1, 5, 7, 11], 1.0), (EIy, [2, 4, 8, 10], -1.0)):
        turn = np.diag([1.0, sign, 1.0, sign])
        bend = np.array(
            [[12, 6 * L, -12, 6 * L], [6 * L, 4 * L**2, -6 * L, 2 * L**2],
             [-12, -6 * L, 12, -6 * L], [6 * L, 2 * L**2, -6 * L, 4 * L**2]]
        ) * flexural / L**3  # fmt: skip
        K[np.ix_(at, at)] += turn @ bend @ turn
    return K


def stressed(L, forces):
    """The geometric stiffness of an element: second differences of the work of its forces in the exact strains.

    forces : section forces at the second end.  The strains are those of Reissner and Simo, R^T r' - e1 and the axial
    vector of R^T R', of Hermite's displacements and the rotation vectors (theta_x, -w', v') that go with them.
    """
    xi, weight = np.polynomial.legendre.leggauss(5)
    s, e1 = 0.5 * (1.0 + xi), np.array([1.0, 0.0, 0.0])
    slope = np.array([6 * s**2 - 6 * s, L * (1 - 4 * s + 3 * s**2), 6 * s - 6 * s**2, L * (3 * s**2 - 2 * s)]) / L  # fmt: skip
    curvature = np.array([12 * s - 6, L * (6 * s - 4), 6 - 12 * s, L * (6 * s - 2)]) / L**2
    flip = np.array([1.0, -1.0, 1.0, -1.0])

    def work(u):
        v, w = u[[1, 5, 7, 11]], flip * u[[2, 4, 8, 10]]
        dr = np.stack([1 + (u[6] - u[0]) / L + 0 * s, v @ slope, w @ slope], axis=1)
        theta = np.stack([u[3] + (u[9] - u[3]) * s, -(w @ slope), v @ slope], axis=1)
        rate = np.stack([(u[9] - u[3]) / L + 0 * s, -(w @ curvature), v @ curvature], axis=1)
        R = Rotation.from_rotvec(theta)
        stretch = R.inv().apply(dr) - e1
        angle = np.linalg.norm(theta, axis=1)[:, None]
        small = angle < 1e-9
        t = np.where(small, 1.0, angle)
        b = np.where(small, 0.5, (1 - np.cos(t)) / t**2)
        c = np.where(small, 1 / 6, (t - np.sin(t)) / t**3)
        once = np.cross(theta, rate)
        bend = rate - b * once + c * np.cross(theta, once)
        left = L * (1 - s)
        n = forces[:3]
        m = forces[3:] + np.stack([0 * s, -left * n[2], left * n[1]], axis=1)
        return 0.5 * L * weight @ (stretch @ n + (bend * m).sum(axis=1))

    h, unit = 1e-4, np.eye(12)
    G = np.empty((12, 12))
    for i in range(12):
        for j in range(i + 1):
            a, b = h * unit[i], h * unit[j]
            G[i, j] = G[j, i] = (work(a + b) - work(a - b) - work(b - a) + work(-a - b)) / (4 * h * h)  # fmt: skip
    return G


@pytest.mark.parametrize("seed", range(3))
def test_a_frame_in_space_agrees_with_a_dense_assembly(seed):
    rng = np.random.default_rng(seed)
    n = 6
    position = rng.uniform(-1.0, 1.0, (n, 3))
    members = [(i, j) for i in range(n) for j in range(i) if i - j < 3]
    section = lb.Section.tube(0.02, 0.002, METAL).slender()
    st = frame(position, members, section)
    force = rng.standard_normal((2, 3))

    K = np.zeros((6 * n, 6 * n))
    parts = []
    for a, b in members:
        span = position[b] - position[a]
        L = np.linalg.norm(span)
        x = span / L
        y = np.cross(rng.standard_normal(3), x)  # a round section has no axes of its own
        y /= np.linalg.norm(y)
        T = np.kron(np.eye(4), np.stack([x, y, np.cross(x, y)]))
        k = textbook(L, section)
        at = [*range(6 * a, 6 * a + 6), *range(6 * b, 6 * b + 6)]
        K[np.ix_(at, at)] += T.T @ k @ T
        parts.append((at, T, k, L))
    free = np.arange(6, 6 * n)
    f = np.zeros(6 * n)
    f[12:15], f[24:27] = force
    u = np.zeros(6 * n)
    u[free] = np.linalg.solve(K[np.ix_(free, free)], f[free])
    G = np.zeros_like(K)
    for at, T, k, L in parts:
        G[np.ix_(at, at)] += T.T @ stressed(L, (k @ T @ u[at])[6:]) @ T
    inner = np.ix_(free, free)
    inverse = scipy.linalg.eigh(-G[inner], K[inner], eigvals_only=True)
    exact = 1.0 / inverse[::-1][:4]
    for sign in (1.0, -1.0):  # the reversed load has the other end of the spectrum
        if sign < 0.0:
            exact = -1.0 / inverse[:4]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lb.ModelWarning)  # single elements
            found = st.buckling(4, clamped=0, forces={2: sign * force[0], 4: sign * force[1]})
        np.testing.assert_allclose(found.factors, exact, rtol=1e-6)  # second differences
        mode = found.shapes[:, :, 0].ravel()
        rest = K @ mode + sign * found.factors[0] * (G @ mode)
        assert np.abs(rest[free]).max() < 1e-5 * np.abs(K @ mode).max()


def test_the_lowest_load_is_found_where_the_reversed_one_is_far_lower():
    """A long boom that is pulled, with a short strut inside that this presses: needs a shift."""
    nodes = {"root": (0, 0, 0), "tip": (6, 0, 0), "end": (5.6, 0, 0.3)}
    thick, thin = lb.Section.tube(0.02, 0.002, METAL), lb.Section.tube(0.01, 0.001, METAL)
    members = [
        Member("root", "tip", thick, divide=60),
        Member("tip", "end", thin, divide=8),
    ]
    st = frame(nodes, members, thick)
    load = {"tip": (9.0, 0, 0), "end": (0.8, 0, -0.6)}
    found = st.buckling(2, clamped="root", forces=load)
    free = np.flatnonzero(st.active & (np.arange(6 * len(st)) >= 6))
    K = st.K.toarray()[np.ix_(free, free)]
    G = st.geometric(found.displacements.ravel()).toarray()[np.ix_(free, free)]
    inverse = scipy.linalg.eigh(-G, K, eigvals_only=True)
    assert -inverse[0] > 20.0 * inverse[-1] > 0.0
    np.testing.assert_allclose(found.factors, 1.0 / inverse[::-1][:2], rtol=1e-8)


# --- reports --------------------------------------------------------------------------------------


@pytest.mark.parametrize("stiffened", [False, True])
def test_a_report_has_the_lowest_buckling_force(stiffened, tmp_path):
    st = column(8)
    body = st.reduce(clamped="bottom", interface="top", modes=6, geometric_stiffening=stiffened)
    report = body.report()
    exact = st.buckling(1, clamped="bottom", forces=DOWN).factors[0]
    found = report.buckling
    assert (found.node, found.along) == ("top", "-z")
    assert found.full == pytest.approx(exact, rel=1e-9)
    assert 1.0 <= found.force / exact < 1.01
    assert f"at a force of {found.force:.5g} N along -z at 'top'; the full model at" in str(report)
    if not stiffened:  # a file has what loads do, and no structure
        lb.io.write_body(body, tmp_path / "body.npz")
        read = lb.io.read_body(tmp_path / "body.npz").report().buckling
        assert (read.along, read.full) == ("-z", None) and read.force == found.force


def test_a_report_says_where_parts_buckle_before_the_modes_do():
    report = lattice(4, bays=3).reduce(clamped="root", interface="tip", modes=4).report()
    assert report.buckling.force > 1.5 * report.buckling.full
    assert "warnings about its loads come too late" in report.notes[-1]


def test_reports_of_beams_and_of_free_bodies():
    turned = lb.beam(2.0, 3.0, EI=100.0, modes=2, rotation=[[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    found = turned.report().buckling
    assert found.along == "-y" and found.force == pytest.approx(np.pi**2 * 100.0 / 16.0)
    assert column(4).reduce(interface="top", modes=4).report().buckling is None


# --- arguments ------------------------------------------------------------------------------------


def test_structures_without_elements_are_refused():
    st = column()
    bare = lb.Structure(st.position, st.M, st.K, names=st.names)
    with pytest.raises(lb.LimberError, match=r"this structure has no elements.*geometric="):
        bare.buckling(clamped="bottom", forces=DOWN)
    own = lb.Structure(st.position, st.M, st.K, names=st.names, geometric=st.geometric)
    close = own.buckling(1, clamped="bottom", forces=DOWN).factors
    np.testing.assert_allclose(close, st.buckling(1, clamped="bottom", forces=DOWN).factors)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"clamped": "bottom"}, "there is no load: give forces="),
        ({"forces": DOWN}, "not held: 6 rigid-body motions are left"),
        ({"forces": DOWN, "pinned": ["bottom", "top"]}, "1 rigid-body motion is left"),
        ({"forces": {"tip": (0, 0, 1)}, "clamped": 0}, "forces='tip' is not a node"),
        ({"forces": [1.0], "clamped": 0}, "forces must be a dict of nodes to vectors"),
        ({"forces": {"top": (1, 2)}, "clamped": 0}, r"forces\['top'\]"),
        (
            {"forces": DOWN, "clamped": 0, "held": {"top": "w"}},
            r"held\['top'\] has 'w'; .* x, y, z",
        ),
        ({"forces": DOWN, "clamped": 0, "held": "top"}, "held must be a dict"),
        ({"forces": DOWN, "clamped": 0, "count": 0}, "count"),
        ({"gravity": 9.81, "clamped": 0}, "gravity"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(lb.LimberError, match=message):
        column().buckling(**options)
