"""One kernel source: compiled, as plain Python on CasADi and on SymPy scalars, the same result."""

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import limber as lb
from helpers.compare import assert_close
from helpers.every_kind import every_joint_and_mode_kind
from helpers.random_systems import random_flexible_body, random_rigid_body, random_state
from limber.dynamics.evaluate import evaluated
from limber.kernels import layout as L
from limber.kernels import plain

TOLERANCE = 1e-12
NONE = np.empty(0, dtype=np.int64)


def scratch(packed):
    work = np.empty(packed.topo[L.WORK_SIZE], dtype=object)
    work[:] = np.nan  # nothing may be read before it is written
    return work


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_every_kernel_traces_on_casadi(fidelity):
    s, rng = every_joint_and_mode_kind(fidelity)
    k = plain.load(ca.sin, ca.cos, ca.sqrt, ca.log)
    names = (("q", s.nq), ("v", s.nv), ("x", s.nv), ("e", 12), ("dt", 1))
    symbols = [ca.SX.sym(n, size) for n, size in names]
    q, v, x, e, dt = (np.array(ca.vertsplit(a), dtype=object) for a in symbols)
    q_, v_, x_ = random_state(rng, s)
    e_, dt_ = rng.standard_normal(12), 0.3
    last, other = list(s.bodies)[-1], "b1"
    external = {(last, 1): e_[:6], (other, 0): e_[6:]}

    def index(packed):
        ends = [(s.number(b), packed.records[s.number(b)][n]) for b, n in external]
        return np.array([(i * L.COLUMNS, record) for i, record in ends]).ravel()

    def check(what, expected, kernel, packed, *args):
        expected = np.asarray(expected)
        out = np.empty(max(expected.size, 12), dtype=object)
        kernel(packed.topo, packed.const, scratch(packed), *args, out)
        f = ca.Function("f", symbols, [ca.vertcat(*out[: expected.size])])
        got = f(q_, v_, x_, e_, dt_).full().reshape(expected.shape)
        assert_close(got, expected, TOLERANCE, what)

    def composite(topo, const, work, a, b, c, count, where, forces, out):
        matrix = np.empty(s.nv * (s.nv + 1), dtype=object)
        k.composite.forward_dynamics(topo, const, work, a, b, c, count, where, forces, out, matrix)

    d, g = s.dynamics, s.geometry
    vdot = lb.forward_dynamics(s, q_, v_, x_, external=external)
    tau = lb.inverse_dynamics(s, q_, v_, x_, external=external)
    forces = (q, v, x, 2, index(d), e)
    check("articulated", vdot, k.articulated.forward_dynamics, d, *forces)
    if fidelity == "ruthless":
        check("precomputed", vdot, k.precomputed.forward_dynamics, d, *forces)
    check("composite", vdot, composite, d, *forces)
    check("inverse", tau, k.newton_euler.inverse_dynamics, d, *forces)
    check("mass", lb.mass_matrix(s, q_), k.composite.mass_matrix, d, q)
    check("kinetic", lb.kinetic_energy(s, q_, v_), k.energy.kinetic_energy, d, q, v)
    check("potential", lb.potential_energy(s, q_), k.energy.potential_energy, g, q)
    check("momentum", lb.momentum(s, q_, v_), k.energy.momentum, d, q, v)
    acceleration = lb.acceleration(s, q_, v_, x_, last, 1)
    end = (s.number(last) * L.COLUMNS, g.records[s.number(last)][1])
    check("acceleration", acceleration, k.observe.node_acceleration, g, q, v, x, *end)
    own = evaluated(s, "joint_forces", (q_, v_))
    check("joint forces", own, k.physics.joint_forces, d, q, v)
    slopes = np.concatenate(evaluated(s, "joint_slopes", (q_, v_)))
    check("joint slopes", slopes, k.physics.joint_slopes, d, q, v)
    lost = evaluated(s, "dissipation", (q_, v_))
    check("dissipation", lost, k.energy.dissipation, d, q, v)
    check("rates", lb.qdot(s, q_, v_), k.manifold.coordinate_rates, g, q, v)
    check("step", lb.integrate(s, q_, v_, dt_), k.manifold.integrate, g, q, v, dt[0])
    end = (s.number(last) * L.COLUMNS, g.records[s.number(last)][1])
    place = np.concatenate([part.ravel() for part in lb.pose(s, q_, last, 1)])
    check("pose", place, k.observe.pose, g, q, *end)
    check("jacobian", lb.jacobian(s, q_, last, 1), k.observe.jacobian, g, q, *end)


def test_slopes_trace_on_casadi():
    """The recursions of slopes, with their scratch, on a system small enough for thousands of expressions."""
    rng = np.random.default_rng(3)
    a = lb.Assembly("small", gravity=(0.1, -0.2, -9.81))
    a.attach("a", random_flexible_body(rng, 1), lb.Revolute("z"), inboard=1)
    a.attach("b", random_rigid_body(rng), lb.Prismatic("x"), "a", 0)
    s = a.build()
    k = plain.load(ca.sin, ca.cos, ca.sqrt, ca.log)
    symbols = [ca.SX.sym(name, s.nv) for name in ("q", "v", "x")]
    given = [np.array(ca.vertsplit(x), dtype=object) for x in symbols]
    state = random_state(rng, s)
    packed, size = s.dynamics, int(s.dynamics.topo[L.WORK_SIZE])
    room = np.full(L.slope_scratch(len(s.bodies), s.nv, size), np.nan, dtype=object)
    for of, kernel, scratch_arrays in (
        ("inverse_dynamics", k.inverse_slopes.inverse_slopes, (room,)),
        ("forward_dynamics", k.flexible_slopes.flexible_forward_slopes, (scratch(packed), room)),
    ):
        out = np.empty((1 + 3 * s.nv) * s.nv, dtype=object)
        arrays = packed.topo, packed.const, scratch(packed)
        kernel(*arrays, *given, 0, NONE, NONE, out, *scratch_arrays)
        got = ca.Function("f", symbols, [ca.vertcat(*out)])(*state).full()
        d = lb.derivatives(s, *state, of)
        expected = np.concatenate([d.value[None], *d.slopes.values()])
        assert_close(got.reshape(expected.shape), expected, TOLERANCE, of)


def test_casadi_differentiates_the_energy_to_the_mass_matrix():
    """The trace is an expression: the Hessian of the kinetic energy in v is the mass matrix."""
    s = lb.models.canadarm(modes=1).build()
    kernels = plain.load(ca.sin, ca.cos, ca.sqrt, ca.log)
    q, v = ca.SX.sym("q", s.nq), ca.SX.sym("v", s.nv)
    out = np.empty(1, dtype=object)
    arrays = [np.array(ca.vertsplit(a), dtype=object) for a in (q, v)]
    kernels.energy.kinetic_energy(
        s.dynamics.topo, s.dynamics.const, scratch(s.dynamics), *arrays, out
    )
    M = ca.Function("M", [q], [ca.hessian(out[0], v)[0]])
    x, _, _ = random_state(np.random.default_rng(0), s)
    assert_close(M(x).full(), lb.mass_matrix(s, x), TOLERANCE)


def test_kernels_run_on_sympy():
    """A flexible link with an inboard node and a revolute arm: symbols in, values substituted after."""
    a = lb.Assembly("small", gravity=(0, 0, -9.81))
    a.attach(
        "link", lb.beam(1.0, 1.0, EI=(40.0, 60.0), modes=1), lb.Revolute([0, 1, 0]), inboard="root"
    )
    a.attach(
        "arm", lb.RigidBody(0.5, (0.2, 0, 0.1), np.eye(3)), lb.Revolute([1, 2, 0]), "link", "tip"
    )
    s = a.build()
    packed = s.dynamics
    kernels = plain.load(sp.sin, sp.cos, sp.sqrt)
    q, v, tau = (np.array(sp.symbols(f"{n}:{s.nv}"), dtype=object) for n in ("q", "v", "t"))
    values = random_state(np.random.default_rng(2), s)
    numbers = dict(zip((*q, *v, *tau), np.concatenate(values)))

    matrix = np.empty(s.nv**2, dtype=object)
    kernels.composite.mass_matrix(packed.topo, packed.const, scratch(packed), q, matrix)
    M = np.array(
        [[float(sp.sympify(x).subs(numbers)) for x in row] for row in matrix.reshape(s.nv, s.nv)]
    )
    assert_close(M, lb.mass_matrix(s, values[0]), TOLERANCE, "mass matrix")

    out = np.empty(s.nv, dtype=object)
    kernels.newton_euler.inverse_dynamics(
        packed.topo, packed.const, scratch(packed), q, v, tau, 0, NONE, NONE, out
    )
    result = [float(sp.sympify(x).subs(numbers)) for x in out]
    assert_close(result, lb.inverse_dynamics(s, *values), TOLERANCE, "inverse dynamics")


def test_sympy_forward_dynamics_of_a_pendulum_is_the_textbook_formula():
    """m l^2 theta_dd = tau - m g l sin(theta), from the articulated kernel on SymPy scalars."""
    a = lb.Assembly("pendulum", gravity=(0, -9.81, 0))
    a.attach(
        "bob", lb.RigidBody(2.0, (0, -3.0, 0), np.diag([5e-4, 5e-4, 1e-3])), lb.Revolute([0, 0, 1])
    )
    s = a.build()
    kernels = plain.load(sp.sin, sp.cos, sp.sqrt)
    theta, omega, tau = sp.symbols("theta omega tau")
    out = np.empty(1, dtype=object)
    state = [np.array([x], dtype=object) for x in (theta, omega, tau)]
    kernels.articulated.forward_dynamics(
        s.dynamics.topo, s.dynamics.const, scratch(s.dynamics), *state, 0, NONE, NONE, out
    )
    expected = (tau - 2 * sp.Float(9.81) * 3 * sp.sin(theta)) / (2 * 9 + sp.Float(1e-3))
    at = [{theta: t, omega: w, tau: u} for t, w, u in ((0.3, 1.0, 0.2), (-2.0, 0.5, 3.0))]
    for point in at:
        assert float(out[0].subs(point)) == pytest.approx(float(expected.subs(point)), rel=1e-12)
