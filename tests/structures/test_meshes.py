"""Solids and plates from meshes: patch tests, rigid-body motions, beam and plate theory, stiffening."""

import numpy as np
import pytest
import scipy.linalg

import limber as lb
from helpers.meshes import bar, sheet
from limber.structures import plate, solid
from limber.structures.rigid import rigid_motions

pytest.importorskip("skfem")

METAL = lb.Material(E=70e9, rho=2700.0, nu=0.3)
PLAIN = lb.Material(E=70e9, rho=2700.0, nu=0.0)  # a clamped face is then as in beam theory
SKEW = np.array([[1.0, 0.3, 0.1], [0.0, 0.9, -0.2], [0.1, 0.0, 1.2]])


def bent_box(kind, order):
    """A box of few cells, sheared."""
    mesh = bar((2, 2, 1), (0.4, 0.3, 0.2), kind)
    return solid((mesh.p.T @ SKEW.T, usual(mesh)), METAL, order=order)


def usual(mesh):
    """The cells of a mesh of scikit-fem in the order of VTK."""
    cells = mesh.t.T
    if cells.shape[1] == 4:
        return cells
    corner = {tuple(x): i for i, x in enumerate(mesh.elem().doflocs.tolist())}
    order = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
    return cells[:, [corner[tuple(map(float, x))] for x in order]]


def static(structure, f, held):
    """Displacements (n, freedoms) under loads f, with the freedoms of the mask `held` zero."""
    free = np.flatnonzero(~held.ravel())
    u = np.zeros(f.size)
    u[free] = np.linalg.solve(structure.K.toarray()[np.ix_(free, free)], f.ravel()[free])
    return u


def spectrum(structure):
    """Eigenvalues of K, by the largest."""
    value = np.linalg.eigvalsh(structure.K.toarray())
    return value / value[-1]


# --- solids ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["hex", "tet"])
@pytest.mark.parametrize("order", [1, 2])
def test_constant_strain_of_a_solid_is_exact(kind, order):
    s = bent_box(kind, order)
    gradient = np.array([[1.0, 0.4, -0.3], [0.2, -0.5, 0.7], [0.6, -0.1, 0.3]]) * 1e-3
    u = (s.position @ gradient.T).ravel()
    strain = gradient + gradient.T
    expected = [*np.diag(gradient), strain[1, 2], strain[2, 0], strain[0, 1]]
    np.testing.assert_allclose(s.strain(u), np.tile(expected, (len(s), 1)), atol=1e-15)
    lam, mu = s.elements.lame
    stress = lam * np.trace(gradient) * np.eye(3) + mu * strain
    np.testing.assert_allclose(s.stress(u)[0, [0, 4]], [stress[0, 0], stress[2, 0]], rtol=1e-10)
    # no force at inner nodes, and the energy of the volume
    volume = 0.4 * 0.3 * 0.2 * np.linalg.det(SKEW)
    assert u @ (s.K @ u) == pytest.approx(volume * np.sum(stress * gradient), rel=1e-12)
    inner = np.setdiff1d(np.arange(len(s)), s.triangles)
    force = np.abs((s.K @ u).reshape(-1, 3))
    assert force[inner].max(initial=0.0) < 1e-12 * force.max()


@pytest.mark.parametrize("kind", ["hex", "tet"])
def test_a_solid_has_six_rigid_body_motions_and_the_inertia_of_a_block(kind):
    s = solid(bar((2, 1, 1), (0.6, 0.2, 0.1), kind), METAL)
    value = spectrum(s)
    assert np.abs(value[:6]).max() < 1e-14 < 1e-7 < value[6]
    R = rigid_motions(s.position, 3, np.array([0.3, 0.1, 0.05]))
    m = 2700.0 * 0.6 * 0.2 * 0.1
    sizes = np.square([0.6, 0.2, 0.1])
    inertia = m / 12.0 * (sizes.sum() - sizes)
    np.testing.assert_allclose(R.T @ (s.M @ R), np.diag([*inertia, m, m, m]), atol=1e-12)


def test_the_surface_of_a_solid_is_closed_and_seen_from_outside():
    for kind in ("hex", "tet"):
        for order in (1, 2):
            s = solid(bar((2, 1, 2), (0.4, 0.3, 0.2), kind), METAL, order=order)
            a, b, c = (s.position[s.triangles[:, i]] for i in range(3))
            area = 0.5 * np.cross(b - a, c - a)
            assert np.linalg.norm(area, axis=1).sum() == pytest.approx(0.52)
            assert np.einsum("ij,ij->", a, area) / 3.0 == pytest.approx(0.4 * 0.3 * 0.2)
            assert set(s.group("left")) == set(s.where(x=0.0))


@pytest.mark.parametrize("kind", ["hex", "tet"])
def test_solid_cantilevers_converge_from_above_to_timoshenko(kind):
    size = 1.0, 0.12, 0.1
    section = lb.Section.rectangle(size[1], size[2], PLAIN)
    exact = np.sqrt(np.diag(lb.beam(1.0, section=section, modes=2).stiffness))
    errors = []
    for n in (3, 6):
        s = solid(bar((n, 1, 1), size, kind), PLAIN)
        omega = s.modes(4, clamped=s.group("left")).omega
        errors.append(omega / np.sort(exact) - 1.0)
    assert np.all(errors[0] > errors[1]) and np.all(errors[1][:2] > -2e-4)
    assert np.abs(errors[1][:2]).max() < (0.004 if kind == "hex" else 0.01)


@pytest.mark.parametrize("kind", ["hex", "tet"])
@pytest.mark.parametrize("order", [1, 2])
def test_stretch_converges_from_above_with_twice_the_order_of_the_cells(kind, order):
    exact = np.pi * np.sqrt(PLAIN.E / PLAIN.rho)  # of a free bar of length 1
    errors = []
    for n in (4, 8):
        s = solid(bar((n, 1, 1), (1.0, 0.1, 0.1), kind), PLAIN, order=order)
        K, M = (x[::3, ::3].toarray() for x in (s.K, s.M))  # displacements along x alone
        errors.append(scipy.linalg.eigh(K, M, eigvals_only=True)[1] ** 0.5 / exact - 1.0)
    assert errors[0] > errors[1] > 0.0
    assert np.log2(errors[0] / errors[1]) > 2 * order - 0.1


def test_a_solid_with_a_payload_has_the_frequencies_of_the_model_with_it():
    size = 0.5, 0.06, 0.05
    s = solid(bar((4, 1, 1), size), METAL, names={"tip": (0.5, 0.03, 0.025)})
    face = s.group("right")
    payload = lb.RigidBody(2.0, (0.05, 0.02, 0.0), (0.004, 0.005, 0.006))
    body = s.reduce(
        clamped=s.group("left"), interface="tip", patches={"tip": face}, modes=6,
        method="static-correction", origin=(0.0, 0.03, 0.025),
    )  # fmt: skip
    a = lb.Assembly("arm")
    a.attach("link", body, lb.Fixed())
    a.attach("payload", payload, lb.Fixed(), to="link", at="tip")
    system = a.build()
    found = lb.modes(system, system.neutral()).omega

    # the payload as a rigid element on the whole face, which the mean motion of the face carries
    tip = s.position[s.node("tip")]
    fit = np.linalg.pinv(rigid_motions(s.position[face], 3, tip))
    com = np.array([0.05, 0.02, 0.0])
    cross = np.array([[0, -com[2], com[1]], [com[2], 0, -com[0]], [-com[1], com[0], 0]])
    m = 2.0
    J = np.diag([0.004, 0.005, 0.006]) - m * cross @ cross
    mass = np.block([[J, m * cross], [-m * cross, m * np.eye(3)]])
    M, K = s.M.toarray(), s.K.toarray()
    at = (3 * np.array(face)[:, None] + np.arange(3)).ravel()
    M[np.ix_(at, at)] += fit.T @ mass @ fit
    held = np.zeros((len(s), 3), bool)
    held[s.group("left")] = True
    free = np.flatnonzero(~held.ravel())
    value = scipy.linalg.eigh(K[np.ix_(free, free)], M[np.ix_(free, free)], eigvals_only=True)
    np.testing.assert_allclose(found[:5], np.sqrt(value[:5]), rtol=2e-3)


# --- plates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["quad", "tri"])
def test_constant_strain_and_curvature_of_a_plate_are_exact(kind):
    p = plate(sheet((4, 3), (0.8, 0.5), kind, distort=0.2), METAL, 0.01)
    x, y = p.position[:, 0], p.position[:, 1]
    u = np.zeros((len(p), 6))
    u[:, 0], u[:, 1] = 1e-3 * x + 3e-3 * y, -1e-3 * x + 2e-3 * y
    u[:, 5] = -2e-3  # (v,x - u,y) / 2
    k = np.array([0.3, -0.2, 0.25])  # w = (kx x^2 + ky y^2) / 2 + kxy x y
    u[:, 2] = 0.5 * (k[0] * x**2 + k[1] * y**2) + k[2] * x * y
    u[:, 3], u[:, 4] = k[1] * y + k[2] * x, -(k[0] * x + k[2] * y)
    top = np.array([1e-3, 2e-3, 2e-3]) - 0.005 * k * [1, 1, 2]
    np.testing.assert_allclose(
        p.strain(u.ravel())[:, [0, 1, 5]], np.tile(top, (len(p), 1)), atol=1e-13
    )
    C = p.elements.plane_stress
    np.testing.assert_allclose(p.stress(u.ravel())[5, [0, 1, 5]], C @ top, rtol=1e-9)
    membrane, bending = np.array([1e-3, 2e-3, 2e-3]), k * [1, 1, 2]
    energy = 0.4 * (0.01 * membrane @ C @ membrane + 0.01**3 / 12.0 * bending @ C @ bending)
    assert u.ravel() @ (p.K @ u.ravel()) == pytest.approx(energy, rel=1e-10)
    edge = {*p.where(x=0), *p.where(x=0.8), *p.where(y=0), *p.where(y=0.5)}
    force = np.abs((p.K @ u.ravel()).reshape(-1, 6))
    inner = [i for i in range(len(p)) if i not in edge]
    assert force[inner].max() < 1e-10 * force.max()


def test_a_plate_in_space_has_six_rigid_body_motions_and_its_mass():
    points, cells = sheet((2, 2), (0.6, 0.4), "quad", distort=0.1)
    fold = np.column_stack([points, 0.5 * np.maximum(points[:, 0] - 0.3, 0.0)])
    p = plate((fold, cells), METAL, 0.02)
    value = spectrum(p)
    assert np.abs(value[:6]).max() < 1e-14 < 1e-9 < value[6]
    R = rigid_motions(p.position, 6, np.zeros(3))
    a, b, c = (p.position[p.triangles[:, i]] for i in range(3))
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    np.testing.assert_allclose(
        (R.T @ (p.M @ R))[3:, 3:], 2700.0 * 0.02 * area * np.eye(3), rtol=0.02, atol=1e-9
    )


@pytest.mark.parametrize("kind", ["quad", "tri"])
def test_a_strip_of_plate_is_a_beam_in_both_planes(kind):
    length, width, thickness = 1.0, 0.05, 0.01
    section = lb.Section.rectangle(width, thickness, PLAIN)
    beam = lb.beam(length, section=section, modes={"y": 1, "z": 3})
    p = plate(sheet((12, 1), (length, width), kind), PLAIN, thickness)
    omega = p.modes(4, clamped=p.where(x=0)).omega
    np.testing.assert_allclose(omega, np.sort(np.sqrt(np.diag(beam.stiffness))), rtol=0.01)


@pytest.mark.parametrize("thickness", [0.1, 1e-2, 1e-4])
def test_plates_do_not_lock(thickness):
    p = plate(sheet((6, 1), (1.0, 0.1)), PLAIN, thickness)
    section = lb.Section.rectangle(0.1, thickness, PLAIN)
    force = np.zeros((len(p), 6))
    force[p.where(x=1.0), 2] = 0.5
    held = np.zeros(force.shape, bool)
    held[p.where(x=0)] = True
    w = static(p, force, held).reshape(-1, 6)[p.where(x=1.0), 2].mean()
    exact = 1.0 / (3.0 * section.EI[0]) + 1.0 / (5.0 / 6.0 * PLAIN.shear_modulus * 0.1 * thickness)
    assert w == pytest.approx(exact, rel=2e-3)


def test_square_plates_have_leissas_frequencies():
    """Leissa, Vibration of Plates, NASA SP-160 (1969), nu = 0.3."""
    p = plate(sheet((10, 10), (1.0, 1.0)), METAL, 0.002)
    scale = np.sqrt(METAL.E * 0.002**2 / (12.0 * (1.0 - 0.09) * METAL.rho))
    edge = sorted({*p.where(x=0), *p.where(x=1), *p.where(y=0), *p.where(y=1)})
    clamped = p.modes(3, clamped=edge).omega / scale
    np.testing.assert_allclose(clamped, [35.99, 73.41, 73.41], rtol=0.02)
    cantilever = p.modes(5, clamped=p.where(x=0)).omega / scale
    np.testing.assert_allclose(cantilever, [3.4917, 8.5246, 21.429, 27.331, 31.111], rtol=0.01)


def test_plates_converge_with_the_second_power():
    scale = np.sqrt(METAL.E * 0.002**2 / (12.0 * (1.0 - 0.09) * METAL.rho))
    errors = []
    for n in (4, 8):
        p = plate(sheet((n, n), (1.0, 1.0)), METAL, 0.002)
        edge = sorted({*p.where(x=0), *p.where(x=1), *p.where(y=0), *p.where(y=1)})
        errors.append(abs(p.modes(1, clamped=edge).omega[0] / scale - 35.985))
    assert 1.5 < np.log2(errors[0] / errors[1]) < 2.5


def test_a_thick_plate_of_solids_is_the_plate():
    size = 0.6, 0.4, 0.06
    s = solid(bar((5, 3, 1), size), METAL)
    p = plate(sheet((10, 7), size[:2]), METAL, size[2])
    flexible = [x.modes(3).omega for x in (s, p)]
    np.testing.assert_allclose(*flexible, rtol=0.012)


# --- stiffening -----------------------------------------------------------------------------------

ROTATING = {0: (3.5160, 22.0345), 1: (3.6816, 22.1810), 3: (4.7973, 23.3203), 6: (7.3604, 26.8091)}


def flapping(kind):
    """A slender strip along x that stiffens, and sqrt(EI / (rho A L^4))."""
    h = {"plate": 0.002, "solid": 0.012}[kind]
    if kind == "plate":
        s = plate(sheet((14, 1), (1.0, 0.03)), PLAIN, h)
        middle = (0.0, 0.015, 0.0)
    else:
        s = solid(bar((14, 1, 1), (1.0, 0.03, h)), PLAIN)
        middle = (0.0, 0.015, 0.5 * h)
    body = s.reduce(
        clamped=s.where(x=0), nodes=[s.nearest((1.0, 0.0, 0.0))], modes=5, origin=middle,
        geometric_stiffening=True,
    )  # fmt: skip
    return body, np.sqrt(PLAIN.E * h**2 / 12.0 / PLAIN.rho)


@pytest.mark.parametrize("kind", ["plate", "solid"])
def test_spinning_strips_have_the_frequencies_of_the_rotating_cantilever(kind):
    body, scale = flapping(kind)
    a = lb.Assembly("spinner")
    a.attach("hub", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Revolute("z"))
    a.attach("strip", body, lb.Fixed(), to="hub")
    s = a.build()
    for ratio, expected in ROTATING.items():
        v = np.zeros(s.nv)
        v[s.layout["hub"].v_joint] = ratio * scale
        q = lb.equilibrium(s, v=v, locked=["hub"])
        omega = lb.modes(s, q, v, locked=["hub"]).omega / scale
        for x in expected:
            assert np.abs(omega / x - 1.0).min() < 0.01, (ratio, x, omega)


def test_columns_of_plates_and_solids_buckle_at_eulers_load():
    b, h = 0.03, 0.004
    strips = (
        plate(sheet((10, 1), (1.0, b)), PLAIN, h),
        solid(bar((6, 1, 1), (1.0, b, 5 * h)), PLAIN),
    )
    for s, thickness in zip(strips, (h, 5 * h)):
        end = s.where(x=1.0)
        force = np.zeros((len(s), s.freedoms))
        # nodes in the middle of an edge carry four times as much as those at its ends
        middle = np.abs(s.position[end][:, 1:] - s.position[end][:, 1:].mean(axis=0)) < 1e-9
        share = np.where(middle, 4.0, 1.0).prod(axis=1) if s.freedoms == 3 else np.ones(len(end))
        force[end, 0] = -share / share.sum()
        held = np.zeros(force.shape, bool)
        held[s.where(x=0)] = True
        free = np.flatnonzero(~held.ravel())
        u = static(s, force, held)
        K, G = (x.toarray()[np.ix_(free, free)] for x in (s.K, s.geometric(u)))
        critical = 1.0 / scipy.linalg.eigh(-G, K, eigvals_only=True)[-1]
        euler = np.pi**2 * PLAIN.E * b * thickness**3 / 48.0
        assert critical == pytest.approx(euler, rel=0.01)


# --- strains --------------------------------------------------------------------------------------


def test_surface_strain_of_a_cantilever_is_that_of_beam_theory():
    length, width, h = 1.0, 0.06, 0.04
    p = plate(sheet((12, 1), (length, width)), PLAIN, h)
    s = solid(bar((12, 1, 1), (length, width, h)), PLAIN)
    for structure, z in ((p, 0.0), (s, h)):
        face = structure.where(x=length)
        force = np.zeros((len(structure), structure.freedoms))
        force[face, 2] = 1.0 / len(face)
        held = np.zeros(force.shape, bool)
        held[structure.where(x=0)] = True
        u = static(structure, force, held)
        node = structure.nearest((0.5, 0.0, z))
        expected = -0.5 * 0.5 * h / (PLAIN.E * width * h**3 / 12.0)  # -M z / EI
        assert structure.strain(u)[node, 0] == pytest.approx(expected, rel=0.01)
        assert structure.gauge(node, "x") @ u == pytest.approx(structure.strain(u)[node, 0])
        assert structure.stress(u)[node, 0] == pytest.approx(PLAIN.E * expected, rel=0.01)


# --- meshes ---------------------------------------------------------------------------------------


def test_meshes_of_points_and_quadratic_cells():
    import skfem

    hexes, tets = bar((2, 1, 1), (0.4, 0.1, 0.1)), bar((2, 1, 1), (0.4, 0.1, 0.1), "tet")
    first = {}
    for name, mesh in {
        "hex": hexes,
        "hex27": skfem.MeshHex2.from_mesh(hexes),
        "arrays": (hexes.p.T, usual(hexes)),
        "tet": tets,
        "tet10": skfem.MeshTet2.from_mesh(tets),
    }.items():
        s = solid(mesh, METAL)
        assert s.M.diagonal().min() > 0.0
        first[name] = s.modes(2, clamped=s.where(x=0)).omega
    np.testing.assert_allclose(first["hex27"], first["hex"], rtol=1e-9)
    np.testing.assert_allclose(first["arrays"], first["hex"], rtol=1e-9)
    np.testing.assert_allclose(first["tet10"], first["tet"], rtol=1e-9)
    cell = solid(hexes, METAL).elements
    twenty = solid(_serendipity(cell), METAL)
    np.testing.assert_allclose(
        twenty.modes(2, clamped=twenty.where(x=0)).omega, first["hex"], rtol=0.03
    )


def _serendipity(elements):
    used, cells = np.unique(elements.cells[:, :20], return_inverse=True)
    return elements.position[used], cells.reshape(-1, 20)


def test_mesh_files_are_read(tmp_path):
    meshio = pytest.importorskip("meshio")
    mesh = bar((2, 1, 1), (0.4, 0.1, 0.1), "tet")
    mesh.save(str(tmp_path / "bar.msh"))
    s = solid(tmp_path / "bar.msh", METAL)
    expected = solid(mesh, METAL)
    assert abs(s.K - expected.K).max() < 1e-9 * abs(s.K).max()
    assert s.group("left") == s.where(x=0)
    meshio.write_points_cells(tmp_path / "bar.vtu", mesh.p.T, {"tetra": mesh.t.T})
    assert abs(solid(str(tmp_path / "bar.vtu"), METAL).K - s.K).max() < 1e-9 * abs(s.K).max()
    (tmp_path / "bad.vtu").write_text("<VTKFile>")
    with pytest.raises(lb.FileError, match="cannot be read"):
        solid(tmp_path / "bad.vtu", METAL)
    with pytest.raises(lb.FileError, match="no such mesh file"):
        solid(tmp_path / "nowhere.msh", METAL)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: solid(bar((1, 1, 1), (1, 1, 1)), "steel"), "material must be an lb.Material"),
        (lambda: solid(bar((1, 1, 1), (1, 1, 1)), lb.Material(E=1e6, rho=1e3, nu=0.5)), "nu = 0.5"),
        (lambda: solid(sheet((1, 1), (1, 1)), METAL), "points must have shape"),
        (lambda: plate(bar((1, 1, 1), (1, 1, 1)), METAL, 0.1), "cells of 3 nodes"),
        (lambda: plate(sheet((1, 1), (1, 1)), METAL, -0.1), "thickness must be"),
        (lambda: solid(bar((1, 1, 1), (1, 1, 1)), METAL, order=3), "order must be 1 or 2"),
        (lambda: solid(bar((1, 1, 1), (1, 1, 0)), METAL), "has no volume"),
        (lambda: plate((np.eye(3) * [[1], [2], [0]], [[0, 1, 2], [0, 1, 1]]), METAL, 0.1), "no area"),
        (lambda: plate((np.eye(3), [[0, 1, 3]]), METAL, 0.1), "3 points"),
        (lambda: plate((np.eye(4)[:, :3], [[0, 1, 2]]), METAL, 0.1), "no cell uses"),
        (lambda: solid(3.0, METAL), "mesh must be (points, cells)"),
        (lambda: plate(sheet((2, 1), (1, 1)), METAL, 0.1, names={"7": (0, 0, 0)}), "not a number"),
        (lambda: plate(sheet((2, 1), (1, 1)), METAL, 0.1).where(x=0.3), "no node lies at x=0.3"),
        (lambda: plate(sheet((2, 1), (1, 1)), METAL, 0.1).group("root"), "is not a group"),
        (lambda: plate(sheet((2, 1), (1, 1)), METAL, 0.1).strain(np.zeros(36), "up"), "side='up'"),
    ],
)  # fmt: skip
def test_wrong_meshes_are_refused(make, message):
    with pytest.raises(lb.LimberError) as error:
        make()
    assert message in str(error.value)
