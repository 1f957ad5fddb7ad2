"""Joints with physics: the laws they obey, and references of other hands."""

from functools import cache

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import limber as lb
from helpers.compare import assert_close
from helpers.peers import SUPPORTED_KINDS, to_pinocchio
from helpers.random_systems import random_assembly, random_state, with_physics, with_rates

seeds = st.integers(0, 2**32 - 1)
fidelities = st.sampled_from(["full", "ruthless"])
METHODS = ("composite", "fd1", "fd2", "fd3", "fd4", "coupled", "split", "denoc", "cg")


def random_system(rng, fidelity="full", bodies=5, **options):
    return random_assembly(rng, bodies=bodies, physics=True, **options).build(fidelity=fidelity)


def friction(level, smoothing, peak=0.0, stribeck=1.0):
    """The friction of the docstrings, written once more."""
    return lambda v: (level + peak / (1.0 + (v / stribeck) ** 2)) * v / np.sqrt(v**2 + smoothing**2)


def stop(stiffness, softness, damping):
    """The force of a stop that is x deep at the speed v into it."""

    def force(x, v):
        y = damping * v
        return stiffness * (x + np.sqrt(x**2 + softness**2)) / 2.0 * (y + np.sqrt(y**2 + 1.0))

    return force


# --- Pinocchio --------------------------------------------------------------------------------------------


@given(seed=seeds, bodies=st.integers(1, 10))
def test_armature_equals_pinocchio(seed, bodies):
    rng = np.random.default_rng(seed)
    plain = random_assembly(rng, bodies=bodies, flexible=0.0, kinds=SUPPORTED_KINDS)
    assembly = lb.Assembly("geared", gravity=plain.gravity)
    armature = []
    for name, item in plain.attachments.items():
        own = rng.uniform(0.1, 1.0, item.joint.dofs) * with_rates(item.joint)
        joint = with_physics(item.joint, armature=own) if own.any() else item.joint
        at = (item.to, item.at, item.offset, item.rotation, item.inboard)
        assembly.attach(name, item.body, joint, *at)
        armature += own.tolist()
    s, peer = assembly.build(), to_pinocchio(plain)
    peer.model.armature = peer.to_v(np.array(armature)) / peer._v_scale**3
    peer.data = peer.model.createData()
    q, v, tau = random_state(rng, s)
    assert_close(lb.mass_matrix(s, q), peer.mass_matrix(q), 1e-10, "mass matrix")
    assert_close(lb.bias(s, q, v), peer.bias(q, v), 1e-10, "bias")
    theirs = peer.forward_dynamics(q, v, tau)
    for method in ("articulated", "composite"):
        assert_close(lb.forward_dynamics(s, q, v, tau, method=method), theirs, 1e-10, method)
    assert_close(
        lb.inverse_dynamics(s, q, v, tau), peer.inverse_dynamics(q, v, tau), 1e-10, "inverse"
    )
    T = 0.5 * v @ peer.mass_matrix(q) @ v
    assert_close(lb.kinetic_energy(s, q, v), T, 1e-10, "kinetic energy")


def test_derivatives_with_armature_equal_pinocchio():
    rng = np.random.default_rng(4)
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    to, own = "world", rng.uniform(0.1, 1.0, 5)
    for i in range(5):
        body = lb.RigidBody(1.0 + i, rng.uniform(-0.2, 0.2, 3), np.diag([0.3, 0.4, 0.5]))
        joint = lb.Revolute("xyzxy"[i], armature=own[i])
        a.attach(f"b{i}", body, joint, to=to, offset=(0.2, 0.1, 0.3))
        to = f"b{i}"
    s, peer = a.build(), to_pinocchio(a)
    peer.model.armature = own
    peer.data = peer.model.createData()
    q, v, tau = random_state(rng, s)
    ours = lb.compile(s, "forward_dynamics", wrt=("q", "v", "tau"))(q, v, tau)
    pin.computeABADerivatives(peer.model, peer.data, q, v, tau)
    inverse = np.triu(peer.data.Minv) + np.triu(peer.data.Minv, 1).T
    theirs = (peer.data.ddq_dq, peer.data.ddq_dv, inverse)
    for what, mine, other in zip(("q", "v", "tau"), ours, theirs):
        assert_close(mine, other, 1e-10, what)


# --- laws -------------------------------------------------------------------------------------------------


@given(seed=seeds, fidelity=fidelities)
def test_every_method_gives_the_same_accelerations(seed, fidelity):
    rng = np.random.default_rng(seed)
    s = random_system(rng, fidelity)
    q, v, tau = random_state(rng, s)
    vdot = lb.forward_dynamics(s, q, v, tau)
    assert_close(lb.inverse_dynamics(s, q, v, vdot), tau, 1e-9, "inverse")
    assert_close(lb.mass_matrix(s, q) @ vdot + lb.bias(s, q, v), tau, 1e-9, "M vdot + bias")
    for method in METHODS:
        assert_close(lb.forward_dynamics(s, q, v, tau, method=method), vdot, 1e-9, method)


@given(seed=seeds)
def test_identities_of_the_operators_hold_with_armature(seed):
    rng = np.random.default_rng(seed)
    s = random_system(rng)
    q, _, _ = random_state(rng, s)
    residuals = lb.verify_identities(s, q)
    assert max(residuals.values()) < 1e-9, residuals


@given(seed=seeds, fidelity=fidelities)
def test_kinetic_energy_is_that_of_the_mass_matrix(seed, fidelity):
    rng = np.random.default_rng(seed)
    s = random_system(rng, fidelity)
    q, v, _ = random_state(rng, s)
    assert_close(lb.kinetic_energy(s, q, v), 0.5 * v @ lb.mass_matrix(s, q) @ v, 1e-10)


@given(seed=seeds)
def test_bias_at_rest_is_the_slope_of_the_potential(seed):
    rng = np.random.default_rng(seed)
    s = random_system(rng)
    q, v, _ = random_state(rng, s)
    h = 1e-3
    at = {k: lb.potential_energy(s, lb.integrate(s, q, v, k * h)) for k in (-2, -1, 1, 2)}
    slope = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
    assert_close(slope, v @ lb.bias(s, q, np.zeros(s.nv)), 1e-6)


@given(seed=seeds)
def test_joints_only_take_energy(seed):
    """The power of all forces is that which changes the energy, less what dampers and friction take."""
    rng = np.random.default_rng(seed)
    s = random_system(rng)
    q, v, tau = random_state(rng, s)
    vdot = lb.forward_dynamics(s, q, v, tau)
    h = 1e-4

    def energy(k):
        x = lb.integrate(s, q, v + 0.5 * k * h * vdot, k * h)
        w = v + k * h * vdot
        return lb.kinetic_energy(s, x, w) + lb.potential_energy(s, x)

    rate = (8 * (energy(1) - energy(-1)) - (energy(2) - energy(-2))) / (12 * h)
    lost = tau @ v - rate
    known = sum(
        v[w.v_modes] @ s.bodies[name].damping @ v[w.v_modes]
        for name, w in s.layout.items()
        if s.bodies[name].modes
    )
    scale = max(1.0, abs(tau @ v), abs(rate))
    assert lost - known > -1e-6 * scale


def test_a_stop_never_pulls():
    a = lb.Assembly("stop")
    joint = lb.Prismatic("x", limits=(None, 0.0), stop_stiffness=1e3, stop_damping=5.0)
    a.attach("m", lb.RigidBody(1.0), joint)
    s = a.build()
    q, v = np.meshgrid(np.linspace(-0.1, 0.1, 41), np.linspace(-50.0, 50.0, 41))
    force = lb.bias(s, q.reshape(-1, 1), v.reshape(-1, 1))
    assert (force >= 0.0).all()
    expected = stop(1e3, 1e-4, 5.0)(q.ravel(), v.ravel())
    assert_close(force[:, 0], expected, 1e-12)


# --- motions with known answers ---------------------------------------------------------------------------


def test_damped_joints_come_to_rest_where_the_springs_hold_the_weight():
    a = lb.Assembly("hang", gravity=(0.0, 0.0, -9.81))
    link = lb.RigidBody(2.0, (0.5, 0.0, 0.0), np.diag([0.01, 0.2, 0.2]))
    joint = lb.Revolute("y", stiffness=30.0, rest=0.3, damping=20.0, armature=0.5)
    a.attach("link", link, joint)
    s = a.build()
    result = lb.simulate(s, 60.0, method="sdirk4", rtol=1e-10, atol=1e-13)
    rest = brentq(lambda x: 30.0 * (x - 0.3) - 2.0 * 9.81 * 0.5 * np.cos(x), -2.0, 2.0, xtol=1e-15)
    assert result.q[-1, 0] == pytest.approx(rest, abs=1e-10)


@cache
def stick_slip(m, k, belt, armature):
    """Place and speed after 6 s, by SciPy, of a mass held by a spring on a running belt."""
    force = friction(2.0, 0.01, 2.0, 0.1)

    def rates(t, y):
        x, v = y  # of the mass, in the world; the belt has run belt * t
        return [v, (-k * x - force(v - belt)) / (m + armature)]

    exact = solve_ivp(rates, (0.0, 6.0), [0.0, 0.0], "Radau", rtol=1e-11, atol=1e-13, max_step=0.01)
    return exact.y[:, -1]


@pytest.mark.parametrize("method", ["dop853", "rk45", "sdirk4", "auto"])
def test_stick_slip_equals_scipy(method):
    """A mass held by a spring on a running belt: friction with a Stribeck peak makes it stick and slip."""
    m, k, belt = 1.0, 10.0, 0.2
    options = {
        "friction": 2.0,
        "static_friction": 4.0,
        "friction_speed": 0.01,
        "stribeck_speed": 0.1,
        "armature": 0.3,
    }
    a = lb.Assembly("belt")
    a.attach("belt", lb.RigidBody(1e9), lb.Prismatic("x"))
    a.attach("mass", lb.RigidBody(m), lb.Prismatic("x", **options), to="belt")
    s = a.build()

    def spring(t, q, v):
        return np.array([-k * (q[0] + q[1]), -k * (q[0] + q[1])])

    exact = stick_slip(m, k, belt, options["armature"])
    result = lb.simulate(
        s, 6.0, v0=[belt, -belt], torque=spring, method=method, rtol=1e-8, atol=1e-10
    )
    x = result.q[-1].sum()
    v = result.v[-1].sum()
    # the belt of 1e9 kg is slowed by 1e-8 m/s
    assert x == pytest.approx(exact[0], abs=2e-6)
    assert v == pytest.approx(exact[1], abs=2e-6)
    slip = np.abs(result.v[:, 1]) > 0.05
    assert slip.any() and (~slip).any()


def test_an_elastic_stop_is_half_a_period_of_its_spring():
    """Far from the stop a mass moves freely; within, softness going to zero, it swings as on a spring."""
    m, k, speed, gap = 2.0, 5e4, 3.0, 0.4
    joint = lb.Prismatic(
        "x", limits=(None, gap), stop_stiffness=k, stop_damping=0.0, stop_softness=1e-7
    )
    a = lb.Assembly("wall")
    a.attach("m", lb.RigidBody(m), joint)
    s = a.build()
    contact = np.pi * np.sqrt(m / k)
    t_end = 2.0 * gap / speed + contact
    result = lb.simulate(s, t_end, v0=[speed], rtol=1e-11, atol=1e-14)
    assert result.q[-1, 0] == pytest.approx(0.0, abs=1e-8)
    assert result.v[-1, 0] == pytest.approx(-speed, abs=1e-8)
    deepest = result.q[:, 0].max() - gap
    assert deepest <= speed * np.sqrt(m / k) * (1.0 + 1e-8)


@cache
def pendulum_between_stops():
    """Times, angles and speeds, by SciPy."""
    wall, rub = stop(400.0, 1e-3, 0.5), friction(0.1, 0.02)

    def rates(t, y):
        x, v = y
        f = 0.05 * v + rub(v) + wall(x - 0.7, v) - wall(-0.4 - x, -v)
        return [v, (-9.81 * 0.5 * np.sin(x) - f) / 0.27]

    times = np.linspace(0.0, 4.0, 81)
    exact = solve_ivp(
        rates, (0.0, 4.0), [0.6, 2.0], "Radau", times, rtol=1e-11, atol=1e-13, max_step=0.005
    )
    return times, *exact.y


@pytest.mark.parametrize("method", ["dop853", "sdirk4"])
def test_a_pendulum_between_stops_equals_scipy(method):
    joint = lb.Revolute(
        "y", damping=0.05, friction=0.1, friction_speed=0.02, limits=(-0.4, 0.7), stop_stiffness=400.0,
        stop_damping=0.5, stop_softness=1e-3,
    )  # fmt: skip
    a = lb.Assembly("clapper", gravity=(0.0, 0.0, -9.81))
    a.attach("rod", lb.RigidBody(1.0, (0.0, 0.0, -0.5), np.diag([0.02, 0.02, 0.0])), joint)
    s = a.build()
    times, angle, speed = pendulum_between_stops()
    result = lb.simulate(
        s, 4.0, q0=[0.6], v0=[2.0], t_eval=times, method=method, rtol=1e-9, atol=1e-11
    )
    assert_close(result.q[:, 0], angle, 1e-6)
    assert_close(result.v[:, 0], speed, 1e-5)


@pytest.mark.parametrize("engine", ["general", "generated"])
@pytest.mark.parametrize("method", ["dop853", "sdirk4"])
def test_the_power_audit_closes_with_friction_and_stops(method, engine):
    if engine == "generated" and method == "sdirk4":
        pytest.skip("implicit steps have the general engine only")
    a = lb.models.canadarm(modes=2)
    physical = lb.Assembly("arm", gravity=(0.0, 0.0, -1.0))
    for i, (name, item) in enumerate(a.attachments.items()):
        joint = with_physics(
            item.joint, armature=5.0, damping=50.0, friction=20.0, friction_speed=0.05, stiffness=10.0,
            limits=(-0.3, 0.25 + 0.1 * i), stop_stiffness=1e4, stop_softness=0.01,
        )  # fmt: skip
        physical.attach(name, item.body, joint, item.to, item.at, item.offset, item.rotation)
    s = physical.build()
    v0 = np.zeros(s.nv)
    for where in s.layout.values():
        v0[where.v_joint] = 0.5
    result = lb.simulate(s, 1.5, v0=v0, method=method, rtol=1e-9, atol=1e-11, engine=engine)
    audit = result.power_audit()
    energy = lb.kinetic_energy(s, result.q[0], v0)
    assert np.abs(audit.residual).max() < 1e-6 * energy
    assert audit.dissipation[-1] < -0.05 * energy


# --- small motion -----------------------------------------------------------------------------------------


def test_modes_have_the_springs_dampers_and_rotors_of_the_joints():
    joint = lb.Revolute("z", armature=0.5, stiffness=8.0, damping=0.4)
    a = lb.Assembly("oscillator")
    a.attach("disc", lb.RigidBody(1.0, inertia=np.diag([1.0, 1.0, 1.5])), joint)
    modes = lb.modes(a.build(), [0.0])
    assert modes.omega[0] == pytest.approx(2.0, rel=1e-12)
    assert modes.damping[0] == pytest.approx(0.4 / (2.0 * 2.0 * 2.0), rel=1e-12)


def test_modes_at_a_stop_have_its_stiffness_beside_gravity():
    """Gravity's stiffness is found by differences, which a stop as stiff as that would spoil."""
    joint = lb.Revolute("y", limits=(None, 0.0), stop_stiffness=1e5, stop_softness=1e-5)
    a = lb.Assembly("door", gravity=(0.0, 0.0, -9.81))
    a.attach("rod", lb.RigidBody(1.0, (0.0, 0.0, -0.5), np.diag([0.02, 0.02, 0.0])), joint)
    s = a.build()
    for q in (-0.5, 0.001):
        slope = 1e5 * 0.5 * (1.0 + q / np.hypot(q, 1e-5))
        omega = np.sqrt((9.81 * 0.5 * np.cos(q) + slope) / 0.27)
        assert lb.modes(s, [q]).omega[0] == pytest.approx(omega, rel=1e-9)
