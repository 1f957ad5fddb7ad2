"""Flexible bodies from nodes: the modal integrals against the kinetic energy of the nodal bodies.

Node j is a rigid body at l0 + gamma eta, turned by exp(x~), x = lambda eta, with the angular velocity
w + Tl(x) lambda eta_dot.  `exact` adds up the mass matrices of these bodies, nothing truncated;
`expanded` is the expansion that `ModalIntegrals` promises: G, F, E to first order in eta, J and m p to
second.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

import limber as lb
from limber.bodies import points

TOLERANCE = 1e-12
MODES = 3


def cross(x):
    return np.array([[0.0, -x[2], x[1]], [x[2], 0.0, -x[0]], [-x[1], x[0], 0.0]])


def symmetric(six):
    """xx, xy, xz, yy, yz, zz as matrices."""
    return six[..., [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(*six.shape[:-1], 3, 3)


def random_nodes(rng, rotary, n=5, m=MODES):
    """Arguments of `from_nodes`: mass points, or small rigid bodies off their nodes."""
    data = {
        "mass": rng.uniform(0.5, 2.0, n),
        "position": rng.normal(size=(n, 3)),
        "translation": rng.normal(size=(n, 3, m)),
        "rotation": rng.normal(size=(n, 3, m)),
        "stiffness": np.diag(rng.uniform(1.0, 9.0, m)),
    }
    if rotary:
        data["com"] = 0.4 * rng.normal(size=(n, 3))
        data["inertia"] = np.array([inertia(rng, *x) for x in zip(data["mass"], data["com"])])
    return data


def inertia(rng, mass, com):
    """About the node, of a body with a random inertia about its mass centre."""
    A = rng.normal(size=(3, 3))
    second = A @ A.T  # of mass
    return np.trace(second) * np.eye(3) - second - mass * cross(com) @ cross(com)


def exact(data, eta):
    """M_m(eta) of the nodal rigid bodies."""
    n, m = len(data["mass"]), len(eta)
    com = data.get("com", np.zeros((n, 3)))
    about_node = data.get("inertia", np.zeros((n, 3, 3)))
    M = np.zeros((m + 6, m + 6))
    for j in range(n):
        mass, turn = data["mass"][j], data["rotation"][j]
        x = cross(turn @ eta)
        R = expm(x)
        Tl = expm(np.block([[x, np.eye(3)], [np.zeros((3, 6))]]))[:3, 3:]  # int_0^1 exp(s x~) ds
        l, c = data["position"][j] + data["translation"][j] @ eta, R @ com[j]
        spin = np.hstack([Tl @ turn, np.eye(3), np.zeros((3, 3))])
        node = np.hstack([data["translation"][j], -cross(l), np.eye(3)])
        centre = node - cross(c) @ spin
        central = R @ (about_node[j] + mass * cross(com[j]) @ cross(com[j])) @ R.T
        M += mass * centre.T @ centre + spin.T @ central @ spin
    return M


def expanded(I, eta):
    """M_m(eta) from the modal integrals (the docstring of `limber.kernels.modal`)."""
    moment = I.S0 + eta @ I.E0 + 0.5 * np.einsum("rsi,r,s", I.S2, eta, eta)
    J = I.J0 + eta @ I.J1 + 0.5 * np.einsum("rsi,r,s", I.J2, eta, eta)
    E = I.E0 + np.einsum("rsi,s->ri", I.S2, eta)
    F = I.F0 + np.einsum("rsi,s->ri", I.F1, eta)
    G = I.G0 + I.G1 @ eta
    rigid = np.block(
        [[symmetric(J), cross(moment)], [cross(moment).T, I.mass * np.eye(3)]],
    )
    return np.block([[G, F, E], [np.vstack([F.T, E.T]), rigid]])


def blocks(M, m=MODES):
    w, v = slice(m, m + 3), slice(m + 3, m + 6)
    return {
        "G": M[:m, :m],
        "F": M[:m, w],
        "E": M[:m, v],
        "J": M[w, w],
        "m p": M[w, v],
        "m": M[v, v],
    }


def close(actual, expected, what=""):
    np.testing.assert_allclose(actual, expected, rtol=TOLERANCE, atol=TOLERANCE, err_msg=what)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [0.0, 0.1, 10.0])
def test_point_masses_are_exact_at_any_deformation(seed, size):
    rng = np.random.default_rng(seed)
    data = random_nodes(rng, rotary=False)
    eta = size * rng.normal(size=MODES)
    M = exact(data, eta)
    I = lb.FlexibleBody.from_nodes(**data).integrals
    close(expanded(I, eta) / np.abs(M).max(), M / np.abs(M).max())
    assert not I.second and not I.S2.any() and not I.G1.any()


@pytest.mark.parametrize("seed", range(3))
def test_nodal_bodies_are_exact_without_deformation(seed):
    data = random_nodes(np.random.default_rng(seed), rotary=True)
    I = lb.FlexibleBody.from_nodes(**data).integrals
    M = exact(data, np.zeros(MODES))
    close(expanded(I, np.zeros(MODES)), M)
    close(I.mass_matrix(), M)


@pytest.mark.parametrize("seed", range(3))
def test_expansion_has_the_stated_orders(seed):
    """The error falls like |eta|^2 in G, F, E and like |eta|^3 in J, m p; m is exact."""
    rng = np.random.default_rng(seed)
    data = random_nodes(rng, rotary=True)
    I = lb.FlexibleBody.from_nodes(**data).integrals
    direction = rng.normal(size=MODES)
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        eta = step * direction
        M, expansion = blocks(exact(data, eta)), blocks(expanded(I, eta))
        errors.append({name: np.abs(M[name] - expansion[name]).max() for name in M})
    for name, order in {"G": 2, "F": 2, "E": 2, "J": 3, "m p": 3}.items():
        observed = [np.log2(a[name] / b[name]) for a, b in pairwise(errors)]
        np.testing.assert_allclose(observed, order, atol=0.05, err_msg=name)
    assert errors[0]["m"] < TOLERANCE


def test_first_order_of_the_flexible_blocks_is_the_derivative():
    """dG/deta and dE/deta at zero, by central differences: what a dropped G1 or S2 would miss."""
    rng = np.random.default_rng(5)
    data = random_nodes(rng, rotary=True)
    I = lb.FlexibleBody.from_nodes(**data).integrals
    h = 1e-4
    for s, e in enumerate(np.eye(MODES)):
        slope = (exact(data, h * e) - exact(data, -h * e)) / (2.0 * h)
        parts = blocks(slope)
        for name, integral in (("G", I.G1[:, :, s]), ("F", I.F1[:, s]), ("E", I.S2[:, s])):
            np.testing.assert_allclose(parts[name], integral, atol=1e-6, err_msg=name)
            assert np.abs(integral).max() > 1e-2


@pytest.mark.parametrize("rotary", [False, True])
def test_mass_matrix_of_a_free_body_is_m_m(rotary):
    rng = np.random.default_rng(8)
    data = random_nodes(rng, rotary)
    body = lb.FlexibleBody.from_nodes(**data)
    s = lb.Assembly("body").attach("body", body, lb.Free()).build()
    q = s.neutral()
    q[:MODES] = 0.2 * rng.normal(size=MODES)
    turn = rng.normal(size=4)
    q[MODES : MODES + 4] = turn / np.linalg.norm(turn)
    close(lb.mass_matrix(s, q), expanded(body.integrals, q[:MODES]))


def test_a_rigid_body_in_pieces_has_its_mass_and_inertia():
    """Two halves of a rigid body about their own nodes make the whole."""
    rng = np.random.default_rng(9)
    data = random_nodes(rng, rotary=True, n=2)
    I = lb.FlexibleBody.from_nodes(**data).integrals
    mass, at = data["mass"], data["position"] + data["com"]
    close(I.mass, mass.sum())
    close(I.S0, mass @ at)
    whole = sum(
        data["inertia"][j] + mass[j] * (cross(data["com"][j]) @ cross(data["com"][j]))
        for j in range(2)
    ) - sum(mass[j] * cross(at[j]) @ cross(at[j]) for j in range(2))
    close(symmetric(I.J0), whole)


def test_nodes_beams_and_integrals_agree_in_the_limit():
    """A beam lumped at n nodes has the integrals of the continuous beam to order 1/n^2."""
    b = lb.beam(2.0, 3.0, EI=5.0, modes=2)
    errors = []
    for n in (20, 40, 80):
        fine = lb.beam(2.0, 3.0, EI=5.0, modes=2, elements=2 * n).nodes
        middles = slice(1, None, 2)
        lumped = lb.FlexibleBody.from_nodes(
            mass=np.full(n, 3.0 / n),
            position=fine.position[middles],
            translation=fine.translation[middles],
            stiffness=b.stiffness,
        ).integrals
        pairs = ((lumped.G0, b.integrals.G0), (lumped.F0, b.integrals.F0))
        errors.append(max(np.abs(x - y).max() for x, y in pairs))
    np.testing.assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 2.0, atol=0.05)


def test_defaults_are_point_masses_that_do_not_turn():
    data = random_nodes(np.random.default_rng(1), rotary=False)
    del data["rotation"]
    body = lb.FlexibleBody.from_nodes(**data)
    assert list(body.nodes.names) == ["0", "1", "2", "3", "4"]
    assert not body.nodes.rotation.any() and not body.damping.any()
    assert body.modes == MODES and body.mass == pytest.approx(data["mass"].sum())


def test_point_masses_may_sit_off_their_nodes():
    """Without inertia, a node's mass is a point at its mass centre."""
    rng = np.random.default_rng(7)
    data = random_nodes(rng, rotary=False)
    data["com"] = rng.normal(size=(5, 3))
    I = lb.FlexibleBody.from_nodes(**data).integrals
    steiner = np.array([-m * cross(c) @ cross(c) for m, c in zip(data["mass"], data["com"])])
    close(I.mass_matrix(), exact(data | {"inertia": steiner}, np.zeros(MODES)))


def test_names_find_nodes():
    data = random_nodes(np.random.default_rng(1), rotary=False)
    names = ["hub", "left", "right", "boom", "tip"]
    body = lb.FlexibleBody.from_nodes(**data, names=names)
    s = lb.Assembly("body").attach("body", body, lb.Fixed()).build()
    _, p = lb.pose(s, s.neutral(), "body", "boom")
    close(p, data["position"][3])
    with pytest.raises(ValueError, match=r"'bom' is not a node of body 'body'.*'boom'"):
        lb.pose(s, s.neutral(), "body", "bom")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mass": []}, "mass is empty"),
        ({"mass": [1.0, 1.0, -0.5, 1.0, 1.0]}, r"mass\[2\].*-0.5"),
        ({"mass": np.zeros(5)}, "mass is zero at every node"),
        ({"position": np.zeros((4, 3))}, r"position must have shape \(5, 3\).*\(4, 3\)"),
        ({"translation": np.zeros((5, 2, 3))}, r"translation must have shape \(5, 3, m\)"),
        ({"rotation": np.zeros((5, 3, 2))}, r"rotation must have shape \(5, 3, 3\)"),
        ({"stiffness": np.eye(2)}, r"stiffness must have shape \(3, 3\)"),
        ({"stiffness": -np.eye(3)}, "stiffness must be positive semidefinite"),
        ({"stiffness": np.triu(np.ones((3, 3)))}, "stiffness must be symmetric"),
        ({"damping": -np.eye(3)}, "damping must be positive semidefinite.*feed energy in"),
        ({"com": np.ones((5, 3)), "inertia": np.zeros((5, 3, 3))}, r"inertia\[0\]"),
        ({"inertia": np.full((5, 3, 3), np.nan)}, "inertia must be finite"),
        ({"names": list("abcd")}, "names.* 5 "),
        ({"names": list("aabcd")}, "names.* 5 "),
    ],
)
def test_wrong_data_are_refused(change, message):
    data = random_nodes(np.random.default_rng(1), rotary=False)
    with pytest.raises(lb.LimberError, match=message):
        lb.FlexibleBody.from_nodes(**(data | change))


def test_input_arrays_are_copied():
    data = random_nodes(np.random.default_rng(1), rotary=False)
    body = lb.FlexibleBody.from_nodes(**data)
    before = body.points.mass.copy()
    data["mass"][:] = 100.0
    assert np.array_equal(body.points.mass, before)
    with pytest.raises(ValueError, match="read-only"):
        body.points.mass[0] = 1.0


def test_two_bodies_in_one_add_their_integrals():
    """Modal integrals are sums over the nodes."""
    rng = np.random.default_rng(4)
    parts = [random_nodes(rng, rotary=True) for _ in range(2)]
    both = {k: np.concatenate([p[k] for p in parts]) for k in parts[0] if k != "stiffness"}
    both["stiffness"] = parts[0]["stiffness"]
    first, second, whole = (lb.FlexibleBody.from_nodes(**d).integrals for d in (*parts, both))
    for name in ("mass", "S0", "J0", "E0", "F0", "G0", "J1", "F1", "J2", "S2", "G1"):
        close(getattr(first, name) + getattr(second, name), getattr(whole, name), name)


@pytest.mark.parametrize("size", [1, 1000])
def test_sums_over_many_nodes_are_taken_in_parts(monkeypatch, size):
    data = random_nodes(np.random.default_rng(5), rotary=True, n=50)
    whole = lb.FlexibleBody.from_nodes(**data).integrals
    monkeypatch.setattr(points, "PART", size)
    parts = lb.FlexibleBody.from_nodes(**data).integrals
    assert len(data["mass"]) > size // (9 * MODES**2)
    for name in ("F1", "J2", "S2", "G1"):
        close(getattr(parts, name), getattr(whole, name), name)


def test_separate_parts_do_not_couple():
    """Modes of two parts that share no node: G0 is block diagonal, F1 between them zero."""
    rng = np.random.default_rng(6)
    a, b = random_nodes(rng, rotary=False), random_nodes(rng, rotary=False)
    blank = np.zeros((5, 3, MODES))
    data = {
        "mass": np.concatenate([a["mass"], b["mass"]]),
        "position": np.concatenate([a["position"], b["position"]]),
        "stiffness": block_diag(a["stiffness"], b["stiffness"]),
    }
    for name in ("translation", "rotation"):
        data[name] = np.concatenate(
            [np.concatenate([a[name], blank], axis=2), np.concatenate([blank, b[name]], axis=2)]
        )
    I = lb.FlexibleBody.from_nodes(**data).integrals
    one, two = (lb.FlexibleBody.from_nodes(**d).integrals for d in (a, b))
    close(I.G0, block_diag(one.G0, two.G0))
    assert not I.F1[:MODES, MODES:].any() and not I.J2[MODES:, :MODES].any()
