"""Problems with known answers: cantilevers, welded beams, the two-link flexible arm."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq

import limber as lb

TOLERANCE = 1e-9
HEAVY = 1e4  # shapes for a load so many times the beam's own mass and inertia are cubics to 1e-9


def close(actual, expected, tolerance=TOLERANCE):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=0.0)


def orders(errors):
    """Observed orders of convergence when each error has half the step of the one before."""
    errors = np.array(errors)
    assert (errors > 0.0).all()
    return np.log2(errors[:-1] / errors[1:])


def roots(count):
    """The first roots of cos b cosh b = -1."""
    return np.array(
        [
            brentq(lambda b: np.cos(b) + 1.0 / np.cosh(b), x - 0.4, x + 0.4, xtol=1e-15, rtol=1e-15)
            for x in (np.arange(count) + 0.5) * np.pi
        ]
    )


# cantilevers of length, mass and stiffness 1, whole or in n equal parts


def cantilever(parts=1, modes=2, load=0.0, gravity=(0.0, 0.0, 0.0)):
    """Beams "0", "1", ... welded in a row, shaped for a load of that many times their own mass."""
    h = 1.0 / parts
    body = lb.beam(h, h, EI=1.0, modes=modes, elements=1, load=(load * h, load * h**3))
    a = lb.Assembly("cantilever", gravity=gravity)
    for i in range(parts):
        to, at = (str(i - 1), "tip") if i else ("world", None)
        a.attach(str(i), body, lb.Fixed(), to=to, at=at)
    return a.build()


def sag(s, external=None):
    """Deflection of the tip along y, linear about the undeformed state."""
    q, zero = s.neutral(), np.zeros(s.nv)
    K = np.zeros((s.nv, s.nv))
    for name, where in s.layout.items():
        K[where.v_modes, where.v_modes] = getattr(s.bodies[name], "stiffness", 0.0)
    eta = np.linalg.solve(K, -lb.inverse_dynamics(s, q, zero, zero, external=external))
    last = list(s.bodies)[-1]
    node = None if isinstance(s.bodies[last], lb.RigidBody) else "tip"
    return (lb.jacobian(s, q, last, node) @ eta)[4]


# problem 1: clamped beam


def test_clamped_beam_has_the_frequencies_of_the_textbook():
    """(beta L)^2 sqrt(EI/(rho A L^4)), beta L = 1.875104, 4.694091, 7.854757, 10.995541."""
    length, density, EI = 1.7, 0.6, 2.5
    a = lb.Assembly("beam")
    a.attach("beam", lb.beam(length, density * length, EI=EI, modes=4), lb.Fixed())
    s = a.build()
    omega = lb.modes(s, s.neutral()).omega
    pinned = np.array([1.875104, 4.694091, 7.854757, 10.995541]) ** 2
    close(omega[::2], pinned * np.sqrt(EI / (density * length**4)), 1e-6)
    close(omega[1::2], omega[::2])


def test_welded_beams_converge_with_fourth_order():
    """Two modes per plane, shaped for a heavy load, make each part a cubic finite element."""
    errors = []
    for parts in (4, 8, 16, 32):
        s = cantilever(parts, load=HEAVY)
        errors.append(lb.modes(s, s.neutral()).omega[:6:2] / roots(3) ** 2 - 1.0)
    observed = orders(errors)
    assert (observed[0] > 2.8).all() and (observed[1:] > 3.65).all()
    np.testing.assert_allclose(observed[-1], 4.0, atol=0.03)
    assert errors[-1][0] < 1e-8


def test_four_modes_in_each_welded_beam_are_better_by_orders():
    coarse = [cantilever(4, modes, HEAVY) for modes in (2, 4)]
    two, four = (lb.modes(s, s.neutral()).omega[0] / roots(1)[0] ** 2 - 1.0 for s in coarse)
    assert 0.0 < four < two / 100.0


def test_welded_clamped_free_beams_converge_with_their_modes_only():
    """Clamped-free shapes have no moment at the tip, where the next beam needs one.

    Of the turn L/EI of the tip under a unit moment, m modes give the share f = sum phi_i'(1)^2/omega_i^2
    (0.613 for one, 0.802 for two); many parts make a beam of stiffness EI/f, whatever their number.
    """
    b = roots(8)
    turn = 2.0 * b * (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))  # |phi_i'(1)|
    share = np.cumsum(turn**2 / b**4)
    errors = []
    for modes in (1, 2, 4, 8):
        s = cantilever(16, modes)
        errors.append(lb.modes(s, s.neutral()).omega[0] / b[0] ** 2 - 1.0)
    limits = 1.0 / np.sqrt(share[[0, 1, 3, 7]]) - 1.0
    assert (np.array(errors) < limits).all() and (np.array(errors) > 0.8 * limits).all()
    assert (orders(errors) > 0.9).all()


# problem 6: static cantilever


@pytest.mark.parametrize("modes", [1, 2, 5, 12])
def test_tip_force_bends_a_cantilever_by_the_series_of_its_modes(modes):
    """P L^3/(3 EI) less the modes left out: 4 P L^3/EI sum 1/b_i^4 over those kept."""
    s = cantilever(modes=modes)
    force = {("0", "tip"): [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]}
    close(sag(s, force), 4.0 * np.sum(roots(modes) ** -4.0))
    # the equations are linear in eta: one step from any state is the equilibrium
    zero, K = np.zeros(s.nv), s.bodies["0"].stiffness
    eta = np.linspace(-0.5, 1.0, s.nv)
    eta -= np.linalg.solve(K, lb.inverse_dynamics(s, eta, zero, zero, external=force))
    rest = lb.inverse_dynamics(s, eta, zero, zero, external=force)
    np.testing.assert_allclose(rest, 0.0, atol=1e-12 * K.max())


def test_tip_force_deflection_converges_to_the_exact_one_with_third_order():
    """P L^3/(3 EI); what m modes miss is 4 sum 1/b_i^4 beyond m, about (4/3) / (pi^4 m^3)."""
    force = {("0", "tip"): [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]}
    errors = [1.0 / 3.0 - sag(cantilever(modes=m), force) for m in (4, 8, 16, 32)]
    np.testing.assert_allclose(orders(errors), 3.0, atol=0.1)
    close(errors[-1], 4.0 / (3.0 * np.pi**4 * 32.0**3), 1e-2)


def test_own_weight_bends_a_cantilever_within_the_first_term_left_out():
    """w L^4/(8 EI); the terms 4 sigma_i/b_i^5 alternate in sign."""
    b = roots(9)
    sigma = (np.cosh(b) + np.cos(b)) / (np.sinh(b) + np.sin(b))
    for modes in range(1, 8):
        s = cantilever(modes=modes, gravity=(0.0, -1.0, 0.0))
        error = sag(s) + 1.0 / 8.0
        assert 0.0 < (-1) ** (modes + 1) * -error < 4.0 * sigma[modes] / b[modes] ** 5


def test_tip_weight_on_a_body_is_a_tip_force():
    """A mass of 3 at the tip of a beam of mass 1: 3 g/3 + g/8, with the shapes of that load."""
    for load, modes, tolerance in ((3.0, 6, 1e-7), (HEAVY, 2, 1e-3)):
        body = lb.beam(1.0, 1.0, EI=1.0, modes=modes, load=(load, load))
        a = lb.Assembly("crane", gravity=(0.0, -2.0, 0.0))
        a.attach("beam", body, lb.Fixed())
        a.attach("weight", lb.RigidBody(3.0), lb.Fixed(), to="beam", at="tip")
        close(sag(a.build()), -2.0 * (1.0 + 1.0 / 8.0), tolerance)


@pytest.mark.parametrize("parts", [1, 2, 5, 10])
def test_welded_cubic_beams_bend_exactly_under_a_tip_force(parts):
    """P L^3/(3 EI) whatever the number of parts: cubics are exact between loads."""
    s = cantilever(parts, load=HEAVY)
    force = {(str(parts - 1), "tip"): [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]}
    close(sag(s, force), 1.0 / 3.0, 1e-8)


def test_welded_cubic_beams_under_their_own_weight_converge():
    """w L^4/(8 EI); cubics with consistent loads are exact at the ends of the parts (to HEAVY)."""
    errors = [abs(sag(cantilever(n, load=HEAVY, gravity=(0.0, -1.0, 0.0))) + 0.125) for n in (1, 4)]
    assert max(errors) < 1e-6


@pytest.mark.parametrize(("parts", "modes"), [(2, 1), (3, 2), (6, 4)])
def test_welded_clamped_free_beams_bend_by_the_flexibility_of_their_modes(parts, modes):
    """Each part turns and moves by its modal flexibility F under force 1 and moment (1 - x)."""
    h = 1.0 / parts
    tip = lb.beam(h, h, EI=1.0, modes=modes)
    shapes = np.array([tip.nodes.translation[-1, 1, ::2], tip.nodes.rotation[-1, 2, ::2]])
    F = shapes / np.diag(tip.stiffness)[::2] @ shapes.T
    ends = np.array([[1.0, (parts - 1 - k) * h] for k in range(parts)])
    s = cantilever(parts, modes)
    force = {(str(parts - 1), "tip"): [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]}
    found = sag(s, force)
    close(found, np.einsum("ki,ij,kj", ends, F, ends))
    assert found < 1.0 / 3.0


# problem 5: two-link flexible arm (De Luca & Siciliano 1991)

LINK, DENSITY, EI = 0.5, 0.2, 1.0
M_LINK, M_HUB, M_LOAD = DENSITY * LINK, 1.0, 0.1
J_HUB, J_LOAD = 0.1, 5e-4
#: what each link carries: mass and inertia about its tip
CARRIED = (
    (M_HUB + M_LINK + M_LOAD, J_HUB + M_LINK * LINK**2 / 3.0 + J_LOAD + M_LOAD * LINK**2),
    (M_LOAD, J_LOAD),
)
#: De Luca & Siciliano, link frequencies in Hz
PUBLISHED = ((0.4797, 1.7966), (2.1783, 15.9145))


def rigid(mass, inertia):
    return lb.RigidBody(mass, inertia=inertia * np.eye(3))


def loaded_link(load, modes, shaped):
    a = lb.Assembly("link")
    body = lb.beam(LINK, M_LINK, EI=EI, modes=modes, load=load if shaped else None)
    a.attach("link", body, lb.Fixed())
    a.attach("load", rigid(*load), lb.Fixed(), to="link", at="tip")
    return a.build()


def test_the_first_link_carries_the_published_load():
    """1.2 kg and 0.13383 kg m^2."""
    assert CARRIED[0] == pytest.approx((1.2, 0.13383), abs=5e-6)


@pytest.mark.parametrize("i", [0, 1])
def test_two_loaded_modes_give_the_published_frequencies_exactly(i):
    s = loaded_link(CARRIED[i], modes=2, shaped=True)
    found = lb.modes(s, s.neutral()).frequencies
    np.testing.assert_allclose(found[::2], PUBLISHED[i], atol=5e-5)
    # the shapes solve the loaded problem: more of them change nothing
    more = loaded_link(CARRIED[i], modes=5, shaped=True)
    close(lb.modes(more, more.neutral()).frequencies[:4:2], found[::2], 1e-10)


@pytest.mark.parametrize("i", [0, 1])
def test_clamped_free_modes_converge_to_the_published_frequencies(i):
    """From above, and with first order: the carried inertia bends the tip, clamped-free shapes do not."""
    exact = loaded_link(CARRIED[i], modes=2, shaped=True)
    exact = lb.modes(exact, exact.neutral()).omega[::2]
    errors = []
    for modes in (4, 8, 16, 32):
        s = loaded_link(CARRIED[i], modes, shaped=False)
        errors.append(lb.modes(s, s.neutral()).omega[:4:2] / exact - 1.0)
    assert (orders(errors) > 0.9).all()
    np.testing.assert_allclose(orders(errors)[-1, 1], 1.0, atol=0.05)


def two_link_arm(modes, theta2):
    """Hubs, links and payload; stiffer out of the plane to tell those modes apart."""
    a = lb.Assembly("two-link arm")
    a.attach("hub1", rigid(0.0, J_HUB), lb.Revolute([0, 0, 1]))
    links = [
        lb.beam(LINK, M_LINK, EI=(7.3 * EI, EI), modes=modes, load=load, elements=1)
        for load in CARRIED
    ]
    a.attach("link1", links[0], lb.Fixed(), to="hub1")
    a.attach("hub2", rigid(M_HUB, J_HUB), lb.Revolute([0, 0, 1]), to="link1", at="tip")
    a.attach("link2", links[1], lb.Fixed(), to="hub2")
    a.attach("load", rigid(M_LOAD, J_LOAD), lb.Fixed(), to="link2", at="tip")
    s = a.build()
    q = s.neutral()
    q[s.layout["hub2"].q_joint] = theta2
    return s, q


def planar_frequencies(s, q, locked):
    """omega of the modes in the plane: those of the hinges and of the y shapes."""
    m = lb.modes(s, q, locked=locked)
    weight = np.einsum("ij,ik,kj->ij", m.shapes, lb.mass_matrix(s, q), m.shapes)
    out = [i for name in ("link1", "link2") for i in range(s.nv)[s.layout[name].v_modes][1::2]]
    return m.omega[np.abs(weight[out].sum(axis=0)) < 0.5]


def element(h):
    """Stiffness and mass of a cubic beam element."""
    K = [
        [12, 6 * h, -12, 6 * h],
        [6 * h, 4 * h**2, -6 * h, 2 * h**2],
        [-12, -6 * h, 12, -6 * h],
        [6 * h, 2 * h**2, -6 * h, 4 * h**2],
    ]
    M = [
        [156, 22 * h, 54, -13 * h],
        [22 * h, 4 * h**2, 13 * h, -3 * h**2],
        [54, 13 * h, 156, -22 * h],
        [-13 * h, -3 * h**2, -22 * h, 4 * h**2],
    ]
    return EI / h**3 * np.array(K), DENSITY * h / 420 * np.array(M)


def finite_elements(theta2, locked, n=32):
    """omega of the planar arm by n cubic elements a link, inextensible, linear about theta2.

    Link 2 starts with the deflection of link 1's tip: across it by the cosine, along it by the sine.
    """
    size = 2 * (n + 1)
    K, M = np.zeros((2 * size, 2 * size)), np.zeros((2 * size, 2 * size))
    k, m = element(LINK / n)
    for link in range(2):
        for e in range(n):
            at = link * size + 2 * e
            K[at : at + 4, at : at + 4] += k
            M[at : at + 4, at : at + 4] += m
    tip1, tip2 = size - 2, 2 * size - 2
    M[1, 1] += J_HUB
    M[tip1, tip1] += M_HUB + (M_LINK + M_LOAD) * np.sin(theta2) ** 2
    M[size + 1, size + 1] += J_HUB
    M[tip2, tip2] += M_LOAD
    M[tip2 + 1, tip2 + 1] += J_LOAD
    T = np.eye(2 * size)
    T[size, tip1] = np.cos(theta2)
    T[size + 1, tip1 + 1] = 1.0
    gone = [0, size] + ([1] if "hub1" in locked else []) + ([size + 1] if "hub2" in locked else [])
    T = np.delete(T, gone, axis=1)
    K, M = T.T @ K @ T, T.T @ M @ T
    inverse = eigh(M, K + M, eigvals_only=True)[::-1]  # 1/(omega^2 + 1), exact for the low ones
    return np.sqrt(np.maximum(1.0 / inverse - 1.0, 0.0))


@pytest.mark.parametrize("theta2", [0.0, 0.9, np.pi / 2])
@pytest.mark.parametrize("locked", [("hub1", "hub2"), ("hub1",), ()], ids=["both", "one", "none"])
def test_two_link_arm_equals_finite_elements(theta2, locked):
    """Three frequencies with the paper's two modes a link to 2e-4, with four to 1e-6, with eight to
    the elements' own error."""
    exact = finite_elements(theta2, locked)
    rigid_modes = 2 - len(locked)
    keep = slice(rigid_modes, rigid_modes + 3)
    for modes, tolerance in ((2, 2e-4), (4, 1e-6), (8, 5e-8)):
        s, q = two_link_arm(modes, theta2)
        found = planar_frequencies(s, q, locked)
        assert not found[:rigid_modes].any()
        error = found[keep] / exact[keep] - 1.0
        assert (error > -5e-8).all() and (error < tolerance).all()


def test_two_link_arm_has_these_frequencies():
    """Both hinges locked, straight and bent by a right angle, Hz (computed by finite elements)."""
    for theta2, pinned in (
        (0.0, (0.43813, 1.97280, 2.66890)),
        (np.pi / 2, (0.47796, 1.69143, 2.67785)),
    ):
        s, q = two_link_arm(2, theta2)
        found = planar_frequencies(s, q, ("hub1", "hub2"))[:3] / (2.0 * np.pi)
        np.testing.assert_allclose(found, pinned, atol=2e-5)
