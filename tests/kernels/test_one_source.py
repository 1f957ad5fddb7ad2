"""One kernel source: compiled, as plain Python on CasADi and on SymPy scalars, the same result."""

import casadi as ca
import numpy as np
import pytest
import sympy as sp

import limber as lb
from helpers.compare import assert_close
from helpers.random_systems import random_assembly, random_state
from limber.kernels import layout as L
from limber.kernels import plain

TOLERANCE = 1e-12
NONE = np.empty(0, dtype=np.int64)


def scratch(packed, extra=0):
    work = np.empty(packed.topo[L.WORK_SIZE] + extra, dtype=object)
    work[:] = np.nan  # nothing may be read before it is written
    return work


def every_joint_and_mode_kind(fidelity):
    """A small tree with every branch of the kernels: joints, clamped and free-free modes, rotary nodes."""
    rng = np.random.default_rng(5)
    a = random_assembly(rng, bodies=7, flexible=0.5, rotary=True, max_modes=2)
    kinds = {type(i.joint).__name__ for i in a.attachments.values()}
    assert len(kinds) > 3
    a.attach(
        "beam", lb.beam(1.0, 1.0, EI=50.0, modes=1, polar_inertia=0.1), lb.Free(), inboard="node5"
    )
    a.attach("tip", lb.RigidBody(0.3, inertia=np.eye(3)), lb.Spherical(), to="beam", at="tip")
    return a.build(fidelity=fidelity), rng


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_kernels_trace_on_casadi(fidelity):
    s, rng = every_joint_and_mode_kind(fidelity)
    kernels = plain.load(ca.sin, ca.cos, ca.sqrt)
    packed = s.dynamics
    q, v, tau = (ca.SX.sym(n, k) for n, k in (("q", s.nq), ("v", s.nv), ("tau", s.nv)))

    def trace(kernel, *args, size):
        out = np.empty(size, dtype=object)
        arrays = [np.array(ca.vertsplit(a), dtype=object) for a in args]
        kernel(packed.topo, packed.const, scratch(packed, s.nv**2), *arrays, out)
        return ca.Function("f", [q, v, tau], [ca.vertcat(*out)])

    def forces(kernel):
        def call(topo, const, work, a, b, c, out):
            kernel(topo, const, work, a, b, c, 0, NONE, NONE, out)

        return call

    def composite(topo, const, work, a, b, c, out):
        matrix = np.empty(s.nv * (s.nv + 1), dtype=object)
        kernels.composite.forward_dynamics(topo, const, work, a, b, c, 0, NONE, NONE, out, matrix)

    values = random_state(rng, s)
    vdot = lb.forward_dynamics(s, *values)
    for kernel in (kernels.articulated.forward_dynamics, kernels.ruthless.forward_dynamics):
        if kernel is kernels.articulated.forward_dynamics or fidelity == "ruthless":
            f = trace(forces(kernel), q, v, tau, size=s.nv)
            assert_close(f(*values).full()[:, 0], vdot, TOLERANCE, kernel.__module__)
    f = trace(composite, q, v, tau, size=s.nv)
    assert_close(f(*values).full()[:, 0], vdot, 1e3 * TOLERANCE, "composite")
    f = trace(forces(kernels.newton_euler.inverse_dynamics), q, v, tau, size=s.nv)
    assert_close(f(*values).full()[:, 0], lb.inverse_dynamics(s, *values), TOLERANCE)
    f = trace(kernels.energy.kinetic_energy, q, v, size=1)
    assert_close(f(*values).full()[0, 0], lb.kinetic_energy(s, *values[:2]), TOLERANCE)
    f = trace(kernels.manifold.coordinate_rates, q, v, size=s.nq)
    assert_close(f(*values).full()[:, 0], lb.qdot(s, *values[:2]), TOLERANCE)


def test_casadi_differentiates_the_energy_to_the_mass_matrix():
    """The trace is an expression: the Hessian of the kinetic energy in v is the mass matrix."""
    s = lb.models.canadarm(modes=1).build()
    kernels = plain.load(ca.sin, ca.cos, ca.sqrt)
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
    a.attach("bob", lb.RigidBody(2.0, (0, -3.0, 0), np.diag([0, 0, 1e-3])), lb.Revolute([0, 0, 1]))
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
