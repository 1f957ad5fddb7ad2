"""Natural modes: against dense eigenvalue problems, pendulums and structures with known frequencies."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limber as lb
from helpers.loops import few_of
from helpers.random_systems import random_assembly, random_flexible_body, random_state
from helpers.units import coordinates_in_units, in_units

TOLERANCE = 1e-9
DIFFERENCES = 1e-6  # where differences of the test are one side
G = 9.81

seeds = st.integers(0, 2**32 - 1)


def close(actual, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def matrices(s, q, h=1e-5):
    """M, D and the derivative of the bias, K, all free."""
    D, K = np.zeros((s.nv, s.nv)), np.zeros((s.nv, s.nv))
    for i, e in enumerate(np.eye(s.nv)):
        ahead, behind = (lb.integrate(s, q, e, x) for x in (h, -h))
        zero = np.zeros(s.nv)
        K[:, i] = (lb.bias(s, ahead, zero) - lb.bias(s, behind, zero)) / (2.0 * h)
        D[:, i] = (lb.bias(s, q, h * e) - lb.bias(s, q, -h * e)) / (2.0 * h)
    return lb.mass_matrix(s, q), D, K


def first_order(M, D, K):
    """All eigenvalues of M x'' + D x' + K x = 0."""
    n = len(M)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    return np.linalg.eigvals(A)


def elastic_body(stiffness, damping=None, seed=0):
    """A random flexible body with these modal matrices."""
    stiffness = np.atleast_2d(np.asarray(stiffness, dtype=float))
    body = random_flexible_body(np.random.default_rng(seed), len(stiffness))
    points = body.points
    return lb.FlexibleBody.from_nodes(
        mass=points.mass,
        position=points.position,
        translation=points.translation,
        rotation=points.rotation,
        stiffness=stiffness,
        damping=damping,
    )


def undamped(assembly):
    """The same assembly without damping."""
    bare = lb.Assembly(assembly.name, gravity=assembly.gravity)
    for name, link in assembly.attachments.items():
        body = link.body
        if isinstance(body, lb.FlexibleBody):
            none = np.zeros_like(body.damping)
            body = lb.FlexibleBody(body.points, body.nodes, body.stiffness, none)
        place = {"at": link.at, "offset": link.offset, "rotation": link.rotation}
        bare.attach(name, body, link.joint, to=link.to, inboard=link.inboard, **place)
    return bare


def single(body, joint, gravity=(0.0, 0.0, 0.0)):
    return lb.Assembly("single", gravity=gravity).attach("body", body, joint).build()


def pendulum(length=0.7, mass=1.3):
    """A point mass on a massless rod, below the joint at q = 0 with gravity along -z."""
    return lb.RigidBody(mass, com=(0.0, 0.0, -length), nodes={"end": (0.0, 0.0, -length)})


# against dense eigenvalue problems


@given(seed=seeds)
def test_frequencies_are_the_generalized_eigenvalues(seed):
    rng = np.random.default_rng(seed)
    s = undamped(random_assembly(rng, bodies=4, flexible=1.0, gravity=False)).build()
    q, _, _ = random_state(rng, s)
    M, K = lb.mass_matrix(s, q), np.zeros((s.nv, s.nv))
    for name, where in s.layout.items():
        K[where.v_modes, where.v_modes] = s.bodies[name].stiffness
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)
    m = lb.modes(s, q)
    zero = s.nv - np.linalg.matrix_rank(K)
    assert not m.omega[:zero].any() and (m.omega[zero:] > 0.0).all()
    close(m.omega**2 / squares[-1], squares / squares[-1])
    close(m.frequencies * 2.0 * np.pi, m.omega)
    close(m.damping[zero:], 0.0)


@given(seed=seeds)
def test_shapes_are_mass_normalized_and_diagonalize_the_stiffness(seed):
    """Without damping, X^T M X = 1 and X^T K X = omega^2."""
    rng = np.random.default_rng(seed)
    s = undamped(random_assembly(rng, bodies=4, flexible=0.7, gravity=False)).build()
    q, _, _ = random_state(rng, s)
    m = lb.modes(s, q)
    M, _, K = matrices(s, q)
    assert m.shapes.dtype == float
    close(m.shapes.T @ M @ m.shapes, np.eye(s.nv))
    scale = max(1.0, m.omega[-1] ** 2)
    close(m.shapes.T @ K @ m.shapes / scale, np.diag(m.omega**2) / scale, DIFFERENCES)


@given(seed=seeds)
def test_every_mode_solves_the_linearized_equations(seed):
    """(lambda^2 M + lambda D + K) x = 0 with K the derivative of the bias, symmetric or not."""
    rng = np.random.default_rng(seed)
    s = random_assembly(rng, bodies=4, flexible=0.6).build()
    q, _, _ = random_state(rng, s, eta_scale=0.1)
    m = lb.modes(s, q)
    M, D, K = matrices(s, q)
    assert m.omega.shape == m.damping.shape == m.eigenvalues.shape == (s.nv,)
    norms = np.einsum("ij,ik,kj->j", m.shapes.conj(), M, m.shapes).real
    close(norms, 1.0)
    scale = np.linalg.norm(K, 2)
    for value, x in zip(m.eigenvalues, m.shapes.T):
        if value != 0.0:  # double zeros may be defective
            residual = (value**2 * M + value * D + K) @ x
            size = abs(value) ** 2 * np.linalg.norm(M, 2) + scale
            assert np.linalg.norm(residual) < 1e-5 * size * np.linalg.norm(x)


@given(seed=seeds)
def test_gravity_stiffness_is_the_second_derivative_of_the_potential_energy(seed):
    rng = np.random.default_rng(seed)
    kinds = ("Revolute", "Prismatic", "Screw", "Universal", "Cylindrical", "Planar")
    s = undamped(random_assembly(rng, bodies=3, flexible=0.6, kinds=kinds)).build()
    q, _, _ = random_state(rng, s, eta_scale=0.1)
    h, n = 1e-3, s.nv
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    steps = corners[:, :1, None, None] * np.eye(n)[:, None] + corners[:, 1:, None, None] * np.eye(n)
    V = lb.potential_energy(s, q + h * steps)
    hessian = (V[0] - V[1] - V[2] + V[3]) / (4.0 * h**2)
    squares = np.linalg.eigvals(np.linalg.solve(lb.mass_matrix(s, q), hessian))
    m = lb.modes(s, q)
    found = m.omega**2 - m.growth**2
    largest = np.abs(squares).max()
    close(np.sort(found) / largest, np.sort(squares.real) / largest, 1e-5)


# structures


def test_locked_joints_do_not_move():
    rng = np.random.default_rng(2)
    a = lb.Assembly("arm")
    a.attach("one", elastic_body(np.diag([5.0, 9.0])), lb.Revolute([0, 0, 1]))
    a.attach("two", elastic_body(np.diag([7.0, 8.0]), seed=1), lb.Spherical(), to="one", at="3")
    s = a.build()
    q, _, _ = random_state(rng, s)
    m = lb.modes(s, q, locked=["two"])
    keep = np.r_[0:3, 3:5]
    M, _, K = matrices(s, q)
    ix = np.ix_(keep, keep)
    squares = np.sort(np.linalg.eigvals(np.linalg.solve(M[ix], K[ix])).real)
    close(m.omega**2, np.maximum(squares, 0.0), DIFFERENCES)
    assert m.shapes.shape == (s.nv, 5) and not m.shapes[5:].any()
    both = lb.modes(s, q, locked=("one", "two"))
    assert both.omega.shape == (4,) and (both.omega > 0.0).all()


def test_free_floating_body_has_six_rigid_modes():
    """A tripod of masses that breathe against a hub: omega^2 = k/mu, and nothing else moves."""
    out = np.array(
        [[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0], [0, -1.0, 0], [0, 0, 1.0], [0, 0, -1.0]]
    )
    body = lb.FlexibleBody.from_nodes(
        mass=np.full(6, 0.5), position=out, translation=out[:, :, None], stiffness=[[48.0]]
    )
    s = single(body, lb.Free())
    m = lb.modes(s, s.neutral())
    close(m.omega, [0.0] * 6 + [np.sqrt(48.0 / 3.0)])
    assert not m.omega[:6].any() and np.isnan(m.damping[:6]).all()


def test_free_beam_tends_to_free_free_frequencies():
    """beta L = 4.730041, 7.853205 (Blevins), from above; clamped shapes get there like modes^-4."""
    errors = []
    for count in (4, 8, 16):
        b = lb.beam(1.0, 1.0, EI=1.0, modes=count, polar_inertia=1e-2)
        omega = lb.modes(s := single(b, lb.Free()), s.neutral()).omega
        assert not omega[:6].any()
        errors.append(omega[[6, 8]] / np.array([4.730040744862704, 7.853204624095838]) ** 2 - 1.0)
    errors = np.array(errors)
    assert (errors > 0.0).all()
    assert (np.log2(errors[:-1] / errors[1:]) > 3.8).all()


def test_low_frequencies_are_exact_beside_very_high_ones():
    """Two oscillators eleven decades apart in omega^2, coupled by a joint between them."""
    rows = []
    for k in (1e3, 1e14):
        a = lb.Assembly("pair", gravity=(0.0, 0.0, -G))
        a.attach("stiff", elastic_body([[k]]), lb.Fixed())
        a.attach("bob", pendulum(), lb.Revolute([0, 1, 0]), to="stiff", at="4")
        s = a.build()
        rows.append(lb.modes(s, s.neutral()).omega)
    assert rows[1][1] / rows[1][0] > 1e6
    close(rows[1][0], np.sqrt(G / 0.7), 1e-7)
    a = lb.Assembly("free")
    a.attach("soft", elastic_body([[1e-2]]), lb.Free())
    a.attach("stiff", elastic_body([[1e14]], seed=1), lb.Fixed(), to="soft", at="4")
    s = a.build()
    omega = lb.modes(s, s.neutral()).omega
    assert not omega[:6].any() and 1e-2 < omega[6] < 1.0 < 1e6 < omega[7]


# pendulums


def test_pendulum_swings_with_root_g_over_l():
    s = single(pendulum(), lb.Revolute([0, 1, 0]), (0.0, 0.0, -G))
    m = lb.modes(s, s.neutral())
    close(m.omega, [np.sqrt(G / 0.7)])
    close(m.damping, [0.0])
    close(m.eigenvalues, [1j * np.sqrt(G / 0.7)])


def test_held_pendulum_swings_with_the_component_along_the_rod():
    """Held at the angle a by a constant torque: omega^2 = g cos(a)/l."""
    s = single(pendulum(), lb.Revolute([0, 1, 0]), (0.0, 0.0, -G))
    for angle in (0.3, 1.2):
        close(lb.modes(s, [angle]).omega, [np.sqrt(G * np.cos(angle) / 0.7)])
    assert lb.modes(s, [np.pi / 2]).omega[0] == 0.0


def test_inverted_pendulum_has_a_growth_rate_and_no_frequency():
    s = single(pendulum(), lb.Revolute([0, 1, 0]), (0.0, 0.0, -G))
    m = lb.modes(s, [np.pi])
    assert m.omega[0] == 0.0 and np.isnan(m.damping[0])
    close(m.eigenvalues, [np.sqrt(G / 0.7)])
    close(m.growth, [np.sqrt(G / 0.7)])


def test_double_pendulum_has_its_two_frequencies():
    """Equal masses and lengths: omega^2 = (2 -+ sqrt(2)) g/l."""
    a = lb.Assembly("double", gravity=(0.0, 0.0, -G))
    a.attach("one", pendulum(), lb.Revolute([0, 1, 0]))
    a.attach("two", pendulum(), lb.Revolute([0, 1, 0]), to="one", at="end")
    s = a.build()
    close(lb.modes(s, s.neutral()).omega ** 2, (2.0 + np.sqrt([2.0, 2.0]) * [-1, 1]) * G / 0.7)
    # both upright: two unstable directions; one up, one down: one of each
    upright = lb.modes(s, [np.pi, 0.0])
    assert not upright.omega.any() and upright.growth[0] > upright.growth[1] > 0.0
    mixed = lb.modes(s, [0.0, np.pi])
    assert mixed.growth[0] > 0.0 == mixed.omega[0] and mixed.omega[1] > 0.0 == mixed.growth[1]


def compound(com=(0.0, 0.0, -0.4)):
    return lb.RigidBody(2.0, com=com, inertia=np.diag([0.3, 0.5, 0.2]))


@pytest.mark.parametrize("turn", [0.0, 0.8])
def test_spherical_pendulum_has_two_swings_and_a_free_turn(turn):
    """omega^2 = m g c/(I + m c^2) about x and about y; turning about the vertical is free."""
    s = single(compound(), lb.Spherical(), (0.0, 0.0, -G))
    m = lb.modes(s, [np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)])
    swings = 2.0 * G * 0.4 / (np.array([0.5, 0.3]) + 2.0 * 0.4**2)
    close(m.omega, [0.0, *np.sqrt(swings)])
    assert m.omega[0] == 0.0


def test_upright_spherical_pendulum_falls_two_ways():
    s = single(compound(), lb.Spherical(), (0.0, 0.0, -G))
    m = lb.modes(s, [0.0, 1.0, 0.0, 0.0])
    falls = np.sqrt(2.0 * G * 0.4 / (np.array([0.3, 0.5]) + 2.0 * 0.4**2))
    assert not m.omega.any() and m.growth[2] == 0.0
    close(np.sort(m.growth[:2]), np.sort(falls))


def test_a_held_moment_follows_the_body():
    """A spherical pendulum held level, its mass centre on the x axis of the body, gravity along z.

    The moment holds in body axes, so K = -m g' c^T with g' = (0, 0, -g) and c = (0.4, 0, 0): turning
    about x tilts the weight about y no more than the moment, and nothing swings or falls.
    """
    s = single(compound((0.4, 0.0, 0.0)), lb.Spherical(), (0.0, 0.0, -G))
    m = lb.modes(s, s.neutral())
    assert not m.omega.any()


@pytest.mark.parametrize("boom", [False, True])
def test_hovering_body_neither_swings_nor_falls(boom):
    """The thrust that carries it turns with it: in any attitude all it does is drift."""
    a = lb.Assembly("craft", gravity=(1.0, 2.0, -G))
    a.attach("hub", compound((0.1, 0.0, 0.2)), lb.Free())
    if boom:
        a.attach("boom", lb.beam(1.0, 0.5, EI=(30.0, 40.0)), lb.Fixed(), to="hub")
    s = a.build()
    q = s.neutral()
    q[:4] = [0.5, 0.5, -0.5, 0.5]
    omega = lb.modes(s, q).omega
    assert not omega[:6].any() and (omega[6:] > 10.0).all()


def test_pendulum_hangs_from_a_locked_free_base():
    a = lb.Assembly("base", gravity=(0.0, 0.0, -G))
    a.attach("base", compound(), lb.Free())
    a.attach("bob", pendulum(), lb.Revolute([0, 1, 0]), to="base")
    s = a.build()
    close(lb.modes(s, s.neutral(), locked=["base"]).omega, [np.sqrt(G / 0.7)])


def test_pendulum_under_a_sliding_cart():
    """Cart M, bob m: omega^2 = (1 + m/M) g/l, and the cart rolls freely."""
    a = lb.Assembly("cart", gravity=(0.0, 0.0, -G))
    a.attach("cart", lb.RigidBody(4.0), lb.Prismatic([1, 0, 0]))
    a.attach("bob", pendulum(), lb.Revolute([0, 1, 0]), to="cart")
    s = a.build()
    close(lb.modes(s, s.neutral()).omega, [0.0, np.sqrt((1.0 + 1.3 / 4.0) * G / 0.7)])


# damping


def test_proportional_damping_gives_exact_ratios():
    """D = a M + b K: ratio a/(2 omega) + b omega/2."""
    stiffness = np.diag([4.0, 25.0, 100.0])
    mass = elastic_body(stiffness).integrals.G0
    body = elastic_body(stiffness, damping=0.1 * mass + 0.02 * stiffness)
    s = single(body, lb.Fixed())
    m = lb.modes(s, s.neutral())
    close(m.damping, 0.1 / (2.0 * m.omega) + 0.02 * m.omega / 2.0)
    close(m.eigenvalues, m.omega * (-m.damping + 1j * np.sqrt(1.0 - m.damping**2)))
    assert m.shapes.dtype == float


def test_beam_on_a_fixed_joint_has_the_ratios_it_was_given():
    ratios = [0.01, 0.02, 0.03, 0.04]
    b = lb.beam(1.0, 2.0, EI=(3.0, 4.0), damping=ratios)
    s = single(b, lb.Fixed())
    m = lb.modes(s, s.neutral())
    close(m.damping, [0.02, 0.01, 0.04, 0.03])  # z is softer than y
    close(m.omega, np.sort(np.sqrt(np.diag(b.stiffness))))


FULL = np.array([[1.0, 0.6, -0.3], [0.6, 2.0, 0.5], [-0.3, 0.5, 0.8]])


@pytest.mark.parametrize("joint", [lb.Fixed(), lb.Revolute([0, 0, 1]), lb.Free()], ids=repr)
def test_full_damping_gives_the_state_space_eigenvalues(joint):
    s = single(elastic_body(np.diag([9.0, 30.0, 50.0]), damping=FULL), joint)
    m = lb.modes(s, s.neutral())
    rigid = joint.dofs
    assert not m.omega[:rigid].any() and np.isnan(m.damping[:rigid]).all()
    values = first_order(*matrices(s, s.neutral()))
    values = values[values.imag > 0.1]
    values = values[np.argsort(np.abs(values))]
    close(m.eigenvalues[rigid:], values, DIFFERENCES)
    close(m.omega[rigid:], np.abs(values), DIFFERENCES)
    close(m.damping[rigid:], -values.real / np.abs(values), DIFFERENCES)
    assert m.shapes.dtype == complex


def test_overdamped_mode_keeps_its_frequency():
    """x'' + 4 x' + x = 0: omega = 1, ratio 2, lambda = -2 + sqrt(3) the slower."""
    mass = elastic_body([[1.0]]).integrals.G0
    s = single(elastic_body(mass, damping=4.0 * mass), lb.Fixed())
    m = lb.modes(s, s.neutral())
    close(m.omega, [1.0])
    close(m.damping, [2.0])
    close(m.eigenvalues, [-2.0 + np.sqrt(3.0)])


@pytest.mark.parametrize("size", [1.0, 10.0, 40.0])
@pytest.mark.parametrize("joint", [lb.Fixed(), lb.Free()], ids=repr)
def test_frequencies_and_ratios_keep_determinant_and_trace(size, joint):
    """Coupled, some overdamped: prod omega^2 = det K/M and sum 2 ratio omega = tr D/M hold."""
    stiffness = np.diag([9.0, 30.0, 50.0])
    s = single(elastic_body(stiffness, damping=size * FULL), joint)
    m = lb.modes(s, s.neutral())
    M, _, _ = matrices(s, s.neutral())
    flexible = np.linalg.inv(M)[:3, :3]
    omega, ratio = m.omega[joint.dofs :], m.damping[joint.dofs :]
    close(np.prod(omega) ** 2, np.linalg.det(flexible @ stiffness))
    close(np.sum(2.0 * ratio * omega), np.trace(flexible @ (size * FULL)))
    assert (ratio > 0.0).all()
    assert (size > 1.0) == (ratio > 1.0).any()


def test_damped_inverted_pendulum_still_falls():
    a = lb.Assembly("mast", gravity=(0.0, 0.0, -G))
    a.attach("foot", elastic_body(np.diag([90.0, 300.0, 500.0]), damping=FULL), lb.Fixed())
    a.attach("mast", pendulum(), lb.Revolute([0, 1, 0]), to="foot", at="4")
    s = a.build()
    q = s.neutral()
    q[3] = np.pi
    m = lb.modes(s, q)
    assert m.growth[0] > 0.0 == m.omega[0] and np.isnan(m.damping[0])
    assert (m.omega[1:] > 0.0).all() and not m.growth[1:].any()
    assert m.eigenvalues[0].imag == 0.0 and m.eigenvalues[0].real > 0.0


# refusals


def test_wrong_arguments_are_refused():
    s = single(pendulum(), lb.Revolute([0, 1, 0]), (0.0, 0.0, -G))
    with pytest.raises(ValueError, match=r"v must have shape \(\.\.\., 1\)"):
        lb.modes(s, [0.0], [1.0, 2.0])
    flexible = single(elastic_body([[1.0]]), lb.Revolute([0, 1, 0]))
    with pytest.raises(ValueError, match="the speed of mode 1 of body 'body', must be zero"):
        lb.modes(flexible, [0.0, 0.0], [1.0, 0.0])
    with pytest.raises(ValueError, match=r"got a batch of shape \(2,\)"):
        lb.modes(s, [[0.0], [0.0]])
    with pytest.raises(TypeError, match=r"use \['body'\]"):
        lb.modes(s, [0.0], locked="body")
    with pytest.raises(ValueError, match="'bob' is not in the system"):
        lb.modes(s, [0.0], locked=["bob"])
    with pytest.raises(ValueError, match=r"locked.* leaves .* free to move"):
        lb.modes(s, [0.0], locked=["body"])
    with pytest.raises(TypeError, match=r"Call its build\(\) first"):
        lb.modes(lb.Assembly("none"), [0.0])


@pytest.mark.parametrize("scale", [1.0, 1e-2, 1e-4])
def test_similar_cantilevers_have_similar_frequencies(scale):
    """A cantilever with a tip mass under its weight; lengths and masses scaled so that the ratio of weight
    to stiffness stays: frequencies go as sqrt(g / length)."""
    length = scale ** (1 / 3)
    a = lb.Assembly("cantilever", gravity=(0, 0, -9.81))
    mass = 1.0 * scale
    beam = lb.beam(
        length, mass, EI=60.0 * mass * length**2, modes=3, polar_inertia=0.01 * mass * length**2
    )
    a.attach("beam", beam, lb.Fixed())
    a.attach("tip", lb.RigidBody(0.5 * mass), lb.Fixed(), to="beam", at="tip")
    s = a.build()
    omega = lb.modes(s, s.neutral()).omega * np.sqrt(length)
    a = lb.Assembly("reference", gravity=(0, 0, -9.81))
    a.attach("beam", lb.beam(1.0, 1.0, EI=60.0, modes=3, polar_inertia=0.01), lb.Fixed())
    a.attach("tip", lb.RigidBody(0.5), lb.Fixed(), to="beam", at="tip")
    r = a.build()
    assert omega == pytest.approx(lb.modes(r, r.neutral()).omega, rel=1e-7)


# units

#: metres, kilograms and seconds in: millimetres and grams, kilometres and tonnes, decimetres, minutes
UNITS = [
    (1e3, 1e3, 1.0),
    (1e-3, 1e-3, 1.0),
    (10.0, 1.0, 1.0),
    (1.0, 1.0, 1.0 / 60.0),
    (70.0, 3e-6, 11.0),
]


@pytest.mark.parametrize("length, mass, time", UNITS)
@pytest.mark.parametrize("seed", few_of(25, 8))
def test_modes_are_the_same_in_any_units(seed, length, mass, time):
    rng = np.random.default_rng(seed)
    assembly = random_assembly(rng, bodies=4, flexible=0.5)
    s = assembly.build()
    q, _, _ = random_state(rng, s, eta_scale=0.1)
    if seed % 2:
        q = s.neutral()
    here = lb.modes(s, q)
    other = in_units(assembly, length, mass, time).build()
    there = lb.modes(other, coordinates_in_units(s, q, length))
    # time in smaller units: larger numbers of seconds
    np.testing.assert_allclose(there.omega * time, here.omega, rtol=1e-8, atol=0.0)
    np.testing.assert_allclose(there.growth * time, here.growth, rtol=1e-8, atol=0.0)
    np.testing.assert_allclose(there.damping, here.damping, rtol=1e-7, atol=1e-9)
    for i in np.flatnonzero(here.omega + here.growth):  # those of zero have no order
        assert there.moves[i][1] == pytest.approx(here.moves[i][1], rel=1e-4)


@pytest.mark.parametrize("length, mass, time", [(1.0, 1.0, 1.0), *UNITS])
def test_a_held_load_on_a_small_arm(length, mass, time):
    """Grams and centimetres: the moment that holds the load makes the stiffness unsymmetric, by little beside
    the stiffness of the beam."""
    a = lb.Assembly("small", gravity=(0.0, 0.0, -G))
    modes = {"bending": 1, "torsion": 1}
    beam = lb.beam(0.1, 1.6e-3, EI=1.3e-3, GJ=1e-3, modes=modes, polar_inertia=1.4e-8)
    load = lb.RigidBody(1e-3, (0.01, 0.02, 0.0), (1e-6, 2e-6, 2.5e-6))
    a.attach("beam", beam, lb.Revolute("y"))
    a.attach("load", load, lb.Spherical(), to="beam", at="tip")
    s = in_units(a, length, mass, time).build()
    m = lb.modes(s, s.neutral())
    M, D, K = matrices(a.build(), s.neutral())
    exact = np.sort_complex(first_order(M, D, K))
    close(m.growth[0] * time, exact.real.max(), 1e-4)
    assert not m.omega[:3].any() and not m.growth[1:].any()
    close(m.omega[3] * time, 4.3623, 1e-4)
    assert np.isfinite(m.omega).all()


# what is printed


def test_modes_print_as_a_table():
    a = lb.Assembly("double", gravity=(0.0, 0.0, -G))
    a.attach("one", elastic_body(np.diag([1e3, 1e4]), 0.1 * np.eye(2)), lb.Revolute([0, 1, 0]))
    a.attach("two", pendulum(), lb.Revolute([0, 1, 0]), to="one", at="4")
    s = a.build()
    m = lb.modes(s, [0.0, 0.0, 0.0, np.pi])
    lines = str(m).splitlines()
    assert lines[0].split() == ["mode", "Hz", "rad/s", "damping", "growth", "1/s", "moves", "most"]
    assert len(lines) == 1 + s.nv + 1
    assert lines.pop() == m.note and 0.1 < m.imbalance < 0.2
    assert m.note.startswith(
        "Not an equilibrium: mode 2 of body 'one' has an unbalanced generalized force"
    )
    for i, line in enumerate(lines[1:]):
        number, hertz, omega, *_ = line.split()
        assert int(number) == i + 1
        close(float(hertz), m.frequencies[i], 1e-4)
        close(float(omega), m.omega[i], 1e-4)
        assert line.endswith(f"{m.moves[i][0]}, {100 * m.moves[i][1]:.0f} %")
    assert f"{m.growth[0]:.5g}" in lines[1] and "mode 2 of 'one'" in lines[-1]
    assert "growth" not in str(lb.modes(s, s.neutral(), locked=["one", "two"]))


def test_tables_of_equilibria_have_no_note():
    s = single(lb.beam(1.0, 1.0, EI=1.0), lb.Fixed(), (0.0, 0.0, -0.1))
    assert "Not an equilibrium: mode 2 of body 'body'" in str(lb.modes(s))
    q = lb.equilibrium(s)
    assert not lb.modes(s, q).note and lb.modes(s, q).imbalance < 1e-12


def test_given_torques_must_balance():
    s = single(pendulum(), lb.Revolute([0, 1, 0]), (0.0, 0.0, -G))
    m = lb.modes(s, [0.3], tau=[0.0])
    assert "joint speed 0 of body 'body' has an unbalanced generalized force" in m.note
    assert not lb.modes(s, [0.3], tau=lb.bias(s, [0.3], [0.0])).note


def test_a_dead_force_stiffens_a_pendulum_in_its_direction():
    """A force F along the rod adds F l to the stiffness; one across it none."""
    s = single(pendulum(), lb.Revolute([0, 1, 0]), (0.0, 0.0, -G))
    omega = lb.modes(s, external={("body", "end"): [0, 0, 0, 0, 0, -5.0]}).omega
    close(omega, np.sqrt((G + 5.0 / 1.3) / 0.7))
    close(lb.modes(s, external={("body", "end"): [0, 0, 0, 5.0, 0, 0]}).omega, np.sqrt(G / 0.7))


def test_long_tables_are_cut():
    s = single(lb.beam(1.0, 1.0, EI=1.0, modes=25), lb.Fixed())
    lines = str(lb.modes(s, s.neutral())).splitlines()
    assert len(lines) == 42 and lines[-1] == "... and 10 more"


def test_what_moves_most_has_most_of_the_energy():
    a = lb.Assembly("pair", gravity=(0.0, 0.0, -G))
    a.attach("heavy", lb.RigidBody(100.0, (0, 0, -1)), lb.Revolute([0, 1, 0]))
    a.attach("beam", lb.beam(1.0, 1.0, EI=100.0, modes=1), lb.Fixed(), to="heavy")
    s = a.build()
    (slow, *fast) = lb.modes(s, s.neutral()).moves
    assert slow[0] == "joint of 'heavy'" and slow[1] > 0.9
    assert {name for name, _ in fast} == {"mode 1 of 'beam'", "mode 2 of 'beam'"}


def test_modes_are_those_of_the_neutral_configuration_unless_told():
    s = single(lb.beam(1.0, 1.0, EI=1.0, modes=2), lb.Revolute([0, 1, 0]))
    assert np.array_equal(lb.modes(s).omega, lb.modes(s, s.neutral()).omega)
    here, there = lb.modes(s, locked=["body"]), lb.modes(s, s.neutral(), locked=["body"])
    assert np.array_equal(here.omega, there.omega)


@pytest.mark.parametrize("speed", [1e-4, 1e-6, 1e-9])
def test_steep_friction_slows_every_mode_in_proportion(speed):
    """Friction at rest is a damper of level / speed, by which slow modes become slower and lose no digits."""
    a = lb.Assembly("chain", gravity=(0, 0, -9.81))
    for i in range(5):
        joint = lb.Revolute("y", friction=5.0, friction_speed=speed)
        place = {"to": f"link{i - 1}", "offset": (0, 0, -1)} if i else {}
        a.attach(f"link{i}", lb.RigidBody(1.0, (0, 0, -0.5), (0.1, 0.1, 0.1)), joint, **place)
    s = a.build()
    upright = np.array([np.pi, 0, 0, 0, 0])
    hanging, standing = lb.modes(s), lb.modes(s, upright)
    # x' = -(level / speed)^-1 K x, with K the stiffness of gravity
    K = stiffness_of_gravity(s, s.neutral())
    slow = np.sort(np.linalg.eigvalsh(K)) * speed / 5.0
    np.testing.assert_allclose(
        np.sort(-hanging.eigenvalues.real), slow, rtol=1e-3 if speed > 1e-5 else 1e-6
    )
    K = stiffness_of_gravity(s, upright)
    grows = np.sort(-np.linalg.eigvalsh(K)) * speed / 5.0
    np.testing.assert_allclose(np.sort(standing.growth), grows, rtol=1e-3 if speed > 1e-5 else 1e-6)
    assert not hanging.growth.any() and (hanging.omega > 0.0).all()


def stiffness_of_gravity(s, q):
    """The slope of the bias by differences."""
    h, zero = 1e-5, np.zeros(s.nv)
    steps = h * np.eye(s.nv)
    K = np.array([(lb.bias(s, q + x, zero) - lb.bias(s, q - x, zero)) / (2.0 * h) for x in steps])
    return 0.5 * (K + K.T)


# --- growth that is none ----------------------------------------------------------------------------------------


def some(rng, low, high):
    """Six positive numbers of very different size, about half of them zero."""
    return (10.0 ** rng.uniform(low, high, 6) * (rng.random(6) < 0.5)).tolist()


def lump(rng, com):
    spread = rng.standard_normal((3, 3))
    inertia = np.eye(3) * np.sum(spread**2) - spread @ spread.T + 0.1 * np.eye(3)
    mass = 10.0 ** rng.uniform(-1, 3)
    return lb.RigidBody(mass, com, inertia=mass * 10.0 ** rng.uniform(-2, 1) * inertia)


@pytest.mark.parametrize("seed", range(12))
def test_floating_systems_with_friction_never_grow(seed):
    """Friction in some freedoms of joints that nothing holds: motions with neither stiffness nor damping stay zero modes."""
    rng = np.random.default_rng(seed)
    a = lb.Assembly("floating")
    a.attach("base", lump(rng, rng.standard_normal(3)), lb.Free(friction=some(rng, -3, 3)))
    arm = lb.beam(2.0, 5.0, EI=300.0, GJ=100.0, modes=1, polar_inertia=0.1)
    a.attach("arm", arm, lb.Revolute("z", friction=0.1), "base", offset=rng.standard_normal(3))
    a.attach(
        "loose", lump(rng, rng.standard_normal(3)), lb.Free(damping=some(rng, -3, 3)), "arm", "tip"
    )
    s = a.build()
    q = lb.integrate(s, s.neutral(), 0.3 * rng.standard_normal(s.nv), 1.0)
    for where in s.layout.values():
        q[where.q_modes] = 0.0
    found = lb.modes(s, q)
    assert not found.growth.any()
    oscillating = found.omega[found.omega > 0.0]
    assert oscillating.size <= 2 and oscillating.min() > 1e-3  # those of the beam


@pytest.mark.parametrize("seed", range(20))
def test_a_floating_body_held_at_its_centre_never_grows(seed):
    """The force that holds it follows it, so that the stiffness is not symmetric, and defective with its zeros.

    About the mass centre nothing but damping acts.
    """
    rng = np.random.default_rng(seed)
    damping = some(rng, -4, -1) if seed % 2 else 10.0 ** rng.uniform(-4, -1)
    a = lb.Assembly("held", gravity=9.81 * rng.standard_normal(3))
    a.attach("body", lump(rng, np.zeros(3)), lb.Free(damping=damping))
    s = a.build()
    q = lb.integrate(s, s.neutral(), rng.standard_normal(6), 1.0)
    assert not lb.modes(s, q).growth.any()
