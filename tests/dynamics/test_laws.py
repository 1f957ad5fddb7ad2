"""Laws of mechanics, over random trees that mix every joint and body kind and both mode types."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limber as lb
from helpers.compare import assert_close
from helpers.random_systems import random_assembly, random_state

TOLERANCE = 1e-9
DIFFERENCES = 1e-7  # where central differences are one side

seeds = st.integers(0, 2**32 - 1)
fidelities = st.sampled_from(["full", "ruthless"])


def random_system(rng, fidelity="full", bodies=6, **options):
    options = {
        "flexible": 0.6,
        "rotary": bool(rng.integers(2)),
        "second": bool(rng.integers(2)),
    } | options
    return random_assembly(rng, bodies=bodies, **options).build(fidelity=fidelity)


def derivative(f, s, q, v, h=1e-4):
    """df/dt along q_dot = N(q) v, fourth order."""
    at = {k: np.asarray(f(lb.integrate(s, q, v, k * h))) for k in (-2, -1, 1, 2)}
    return (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)


@given(seed=seeds, fidelity=fidelities)
def test_forward_inverts_inverse_dynamics(seed, fidelity):
    rng = np.random.default_rng(seed)
    s = random_system(rng, fidelity)
    q, v, tau = random_state(rng, s)
    for method in ("articulated", "composite"):
        vdot = lb.forward_dynamics(s, q, v, tau, method=method)
        assert_close(lb.inverse_dynamics(s, q, v, vdot), tau, TOLERANCE, method)


@given(seed=seeds, fidelity=fidelities)
def test_articulated_equals_composite(seed, fidelity):
    rng = np.random.default_rng(seed)
    s = random_system(rng, fidelity, bodies=10)
    q, v, tau = random_state(rng, s)
    articulated = lb.forward_dynamics(s, q, v, tau)
    assert_close(articulated, lb.forward_dynamics(s, q, v, tau, method="composite"), TOLERANCE)


@given(seed=seeds, fidelity=fidelities)
def test_mass_matrix_is_symmetric_positive_definite(seed, fidelity):
    rng = np.random.default_rng(seed)
    s = random_system(rng, fidelity)
    q, _, _ = random_state(rng, s)
    M = lb.mass_matrix(s, q)
    assert np.array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0.0


@given(seed=seeds, fidelity=fidelities)
def test_inverse_dynamics_is_mass_matrix_times_acceleration_plus_bias(seed, fidelity):
    rng = np.random.default_rng(seed)
    s = random_system(rng, fidelity)
    q, v, vdot = random_state(rng, s)
    tau = lb.mass_matrix(s, q) @ vdot + lb.bias(s, q, v)
    assert_close(lb.inverse_dynamics(s, q, v, vdot), tau, TOLERANCE)


@given(seed=seeds, fidelity=fidelities)
def test_kinetic_energy_is_half_v_m_v(seed, fidelity):
    rng = np.random.default_rng(seed)
    s = random_system(rng, fidelity)
    q, v, _ = random_state(rng, s)
    assert_close(lb.kinetic_energy(s, q, v), v @ lb.mass_matrix(s, q) @ v / 2, TOLERANCE)


@given(seed=seeds)
def test_power_equals_energy_rate(seed):
    """dE/dt = v.(tau - D v) + sum of J v . wrench, the full model at finite deformation."""
    rng = np.random.default_rng(seed)
    s = random_system(rng)
    q, v, tau = random_state(rng, s)
    body = list(s.bodies)[-1]
    wrench = rng.standard_normal(6)
    vdot = lb.forward_dynamics(s, q, v, tau, external={(body, 0): wrench})
    power = v @ tau - v @ damping(s) @ v + wrench @ lb.jacobian(s, q, body, 0) @ v
    kinetic = v @ lb.mass_matrix(s, q) @ vdot
    kinetic += derivative(lambda x: lb.kinetic_energy(s, x, v), s, q, v)
    potential = derivative(lambda x: lb.potential_energy(s, x), s, q, v)
    assert abs(kinetic + potential - power) < DIFFERENCES * max(1.0, abs(kinetic), abs(potential))


def damping(s):
    D = np.zeros((s.nv, s.nv))
    for name, where in s.layout.items():
        if s.bodies[name].modes:
            D[where.v_modes, where.v_modes] = s.bodies[name].damping
    return D


@given(seed=seeds)
def test_gravity_and_elasticity_are_the_gradient_of_the_potential(seed):
    """bias(q, 0) . v = dV/dt for every v."""
    rng = np.random.default_rng(seed)
    s = random_system(rng)
    q, v, _ = random_state(rng, s)
    rate = derivative(lambda x: lb.potential_energy(s, x), s, q, v)
    assert_close(lb.bias(s, q, 0 * v) @ v, rate, DIFFERENCES)


@given(seed=seeds)
def test_jacobian_is_the_derivative_of_the_pose(seed):
    rng = np.random.default_rng(seed)
    s = random_system(rng, "ruthless" if rng.integers(2) else "full")
    q, v, _ = random_state(rng, s)
    body = list(s.bodies)[rng.integers(len(s.bodies))]
    node = 0 if s.bodies[body].node_set.names else None
    w, u = np.split(lb.jacobian(s, q, body, node) @ v, 2)
    R, _ = lb.pose(s, q, body, node)
    spin = derivative(lambda x: lb.pose(s, x, body, node)[0], s, q, v) @ R.T
    assert_close(u, derivative(lambda x: lb.pose(s, x, body, node)[1], s, q, v), DIFFERENCES)
    assert_close(w, [spin[2, 1], spin[0, 2], spin[1, 0]], DIFFERENCES)


@given(seed=seeds)
def test_qdot_is_the_rate_of_integrate(seed):
    rng = np.random.default_rng(seed)
    s = random_system(rng)
    q, v, _ = random_state(rng, s)
    assert_close(lb.qdot(s, q, v), derivative(lambda x: x, s, q, v), DIFFERENCES)


@given(seed=seeds, fidelity=fidelities)
def test_external_forces_act_through_the_jacobian(seed, fidelity):
    """tau + J^T f, at eta = 0 for the ruthless model, whose dynamics has no deformed geometry."""
    rng = np.random.default_rng(seed)
    s = random_system(rng, fidelity)
    q, v, tau = random_state(rng, s, eta_scale=1.0 if fidelity == "full" else 0.0)
    body = list(s.bodies)[-1]
    wrench = rng.standard_normal(6)
    pushed = lb.forward_dynamics(s, q, v, tau, external={(body, 1): wrench})
    equal = lb.forward_dynamics(s, q, v, tau + lb.jacobian(s, q, body, 1).T @ wrench)
    assert_close(pushed, equal, TOLERANCE)


@given(seed=seeds)
def test_momentum_of_a_free_system_is_conserved(seed):
    """No gravity, a free base, internal forces only on the joints and modes outboard of it."""
    rng = np.random.default_rng(seed)
    s = floating(rng)
    q, v, tau = random_state(rng, s)
    tau[s.layout["base"].v_joint] = 0.0
    vdot = lb.forward_dynamics(s, q, v, tau)
    rate = derivative(lambda x: lb.momentum(s, x, v), s, q, v) + lb.momentum(s, q, vdot)
    assert_close(rate, np.zeros(6), DIFFERENCES * max(1.0, np.abs(lb.momentum(s, q, vdot)).max()))


def floating(rng):
    """A free flexible base with a random tree on it."""
    part = random_assembly(
        rng, bodies=4, flexible=0.6, gravity=False, rotary=bool(rng.integers(2)), second=True
    )
    a = lb.Assembly("floating")
    a.attach(
        "base", lb.beam(2.0, 3.0, EI=100.0, modes=2, polar_inertia=0.1), lb.Free(), inboard="node3"
    )
    for name, item in part.attachments.items():
        to, at = ("base", "tip") if item.to == "world" else (item.to, item.at)
        a.attach(name, item.body, item.joint, to, at, item.offset, item.rotation, item.inboard)
    return a.build()


@given(seed=seeds)
def test_mdot_minus_2c_is_skew(seed):
    """x . (Mdot - 2C) x = 0 with C from Christoffel symbols, that is: for any speeds x,
    x.Mdot x/2 equals the power of the velocity forces at x.  Coordinates without quaternions."""
    rng = np.random.default_rng(seed)
    kinds = ("Revolute", "Prismatic", "Screw", "Cylindrical", "Universal", "Planar", "Fixed")
    s = random_system(rng, kinds=kinds, gravity=False)
    q, v, _ = random_state(rng, s)
    velocity_forces = lb.bias(s, q, v) - lb.bias(s, q, 0 * v) - damping(s) @ v
    Mdot = derivative(lambda x: lb.mass_matrix(s, x), s, q, v)
    assert_close(v @ velocity_forces, v @ Mdot @ v / 2, DIFFERENCES * max(1.0, np.abs(Mdot).max()))

    # C(q, v) entry by entry, column j from the polarization of the quadratic velocity forces
    def quadratic(x):
        return lb.bias(s, q, x) - lb.bias(s, q, 0 * x) - damping(s) @ x

    C = np.array([(quadratic(v + e) - quadratic(v) - quadratic(e)) / 2 for e in np.eye(s.nv)]).T
    # this C is symmetric in its two velocity arguments, as Christoffel's is: N = Mdot - 2C is skew
    N = Mdot - 2 * C
    assert_close(N + N.T, np.zeros_like(N), DIFFERENCES * max(1.0, np.abs(Mdot).max()))


def rk4_step(s, q, v, h):
    """One step of the classical method in (q, v), coordinates without quaternions."""

    def rate(q, v):
        return lb.qdot(s, q, v), lb.forward_dynamics(s, q, v, np.zeros(s.nv))

    k1, l1 = rate(q, v)
    k2, l2 = rate(q + h / 2 * k1, v + h / 2 * l1)
    k3, l3 = rate(q + h / 2 * k2, v + h / 2 * l2)
    k4, l4 = rate(q + h * k3, v + h * l3)
    return q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), v + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)


def test_energy_drift_of_rk4_falls_with_order_four():
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    link = lb.beam(1.0, 1.0, EI=(30.0, 50.0), modes=1)
    a.attach("one", link, lb.Revolute([0, 1, 0]))
    a.attach("two", link, lb.Universal([0, 1, 0], [0, 0, 1]), to="one", at="tip")
    s = a.build()
    drifts = []
    for steps in (200, 400, 800):
        q, v = s.neutral(), np.zeros(s.nv)
        start = lb.potential_energy(s, q)
        for _ in range(steps):
            q, v = rk4_step(s, q, v, 0.5 / steps)
        drifts.append(abs(lb.kinetic_energy(s, q, v) + lb.potential_energy(s, q) - start))
    # energy of a conservative system: the error of the method itself, or one order better
    orders = np.log2(np.array(drifts[:-1]) / drifts[1:])
    assert orders.min() > 3.8
    assert drifts[-1] < 1e-6


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_stiff_limit_of_a_flexible_arm_is_the_rigid_arm(fidelity):
    """Joint accelerations, averaged over the fast elastic motion, tend to those of rigid links:
    the statically deflected flexible arm accelerates as the rigid one, to O(1/EI)."""

    def arm(EI):
        a = lb.Assembly("arm", gravity=(0, -9.81, 0))
        for name, to, at in (("one", "world", None), ("two", "one", "tip")):
            if EI is None:
                bar = 1.5 / 12
                body = lb.RigidBody(
                    1.5, (0.5, 0, 0), np.diag([0, bar, bar]), nodes={"tip": (1, 0, 0)}
                )
            else:
                body = lb.beam(1.0, 1.5, EI=EI, modes=3)
            a.attach(name, body, lb.Revolute([0, 0, 1]), to=to, at=at)
        return a.build(fidelity=fidelity)

    rigid = arm(None)
    expected = lb.forward_dynamics(rigid, [0.3, 0.8], [0.5, -0.2], [1.0, 2.0])
    errors = []
    for EI in (1e4, 1e5, 1e6):
        s = arm(EI)
        joints = np.concatenate([np.arange(s.nv)[w.v_joint] for w in s.layout.values()])
        modes = np.setdiff1d(np.arange(s.nv), joints)
        q, v, tau = s.neutral(), np.zeros(s.nv), np.zeros(s.nv)
        q[joints], v[joints], tau[joints] = [0.3, 0.8], [0.5, -0.2], [1.0, 2.0]
        # quasi-static deflection: eta with eta_dd = 0, by fixed-point iteration on K eta
        K = np.concatenate([np.diag(s.bodies[n].stiffness) for n in s.bodies])
        for _ in range(20):
            held = np.zeros(s.nv)
            held[joints] = solve_joints(s, q, v, tau, joints)
            q[modes] -= lb.inverse_dynamics(s, q, v, held)[modes] / K
        vdot = lb.forward_dynamics(s, q, v, tau)
        assert np.abs(vdot[modes]).max() < 1e-3 * np.abs(vdot[joints]).max()
        errors.append(np.abs(vdot[joints] - expected).max())
    if fidelity == "ruthless":  # its joints do not see the deflection: rigid at once
        assert max(errors) < 1e-10
        return
    assert np.log10(errors[0] / errors[1]) == pytest.approx(1.0, abs=0.2)
    assert np.log10(errors[1] / errors[2]) == pytest.approx(1.0, abs=0.2)


def solve_joints(s, q, v, tau, joints):
    """Joint accelerations with the modes held still."""
    M = lb.mass_matrix(s, q)[np.ix_(joints, joints)]
    return np.linalg.solve(M, (tau - lb.bias(s, q, v))[joints])
