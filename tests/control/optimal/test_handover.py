"""Models for other tools are the same models."""

import ctypes
import subprocess

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.slews import arm, bar
from limber import control
from limber.native import c_compiler


def test_opti_finds_the_optimal_motion():
    shot = control.opti(bar(), 1.0, 10)
    p = shot.opti
    p.minimize(0.05 * (shot.u @ shot.u.T))
    p.subject_to(shot.q[:, 0] == 0), p.subject_to(shot.v[:, 0] == 0)
    p.subject_to(shot.q[:, -1] == 0.5), p.subject_to(shot.v[:, -1] == 0)
    p.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    u = np.array(p.solve().value(shot.u))
    best = control.OptimalControl(bar(), 1.0, 10, end={"bar": 0.5}, costs=control.Effort()).solve()
    assert_close(u, best.forces[:, 0], 1e-6)
    assert shot.labels == ("bar",)


def test_do_mpc_has_the_rates_of_the_model():
    pytest.importorskip("do_mpc")
    s, rng = arm(), np.random.default_rng(2)
    model = control.do_mpc_model(s)
    q, v, u = (0.1 * rng.standard_normal(n) for n in (s.nq, s.nv, 1))
    rates = np.array(model._rhs_fun(np.concatenate([q, v]), u, [], [], [], [])).ravel()
    assert_close(rates, np.concatenate([v, lb.forward_dynamics(s, q, v, [0.0, u[0]])]), 1e-12)


def call(library, name, inputs, shapes):
    """A C function with the signature of CasADi, on arrays by columns."""
    sizes = [ctypes.c_int() for _ in range(4)]
    getattr(library, f"{name}_work")(*(ctypes.byref(x) for x in sizes))
    arg, res = (ctypes.c_void_p * sizes[0].value)(), (ctypes.c_void_p * sizes[1].value)()
    kept = [np.asarray(x, dtype=float).ravel("F") for x in inputs]
    out = [np.zeros(int(np.prod(shape))) for shape in shapes]
    for i, x in enumerate(kept):
        arg[i] = x.ctypes.data
    for i, x in enumerate(out):
        res[i] = x.ctypes.data
    iw, w = (ctypes.c_int * max(1, sizes[2].value))(), (ctypes.c_double * max(1, sizes[3].value))()
    assert getattr(library, name)(arg, res, iw, w, 0) == 0
    return [x.reshape(shape, order="F") for x, shape in zip(out, shapes)]


def test_acados_functions_have_the_slopes_of_the_model(tmp_path):
    s, rng = arm(), np.random.default_rng(3)
    files = control.acados(s, tmp_path / "model", name="arm")
    suffixes = ("expl_ode_fun", "expl_vde_forw", "expl_vde_adj")
    assert [f.name for f in files] == [f"arm_{x}.c" for x in suffixes]
    target = tmp_path / "arm.so"
    subprocess.run(
        [*c_compiler.compiler(), "-O1", "-shared", "-fPIC", "-o", target, *files, "-lm"], check=True
    )
    library = ctypes.CDLL(str(target))
    n = s.nv
    q, v, u = (0.1 * rng.standard_normal(k) for k in (n, n, 1))
    tau = np.array([0.0, u[0]])
    A_q, A_v, by_tau = lb.compile(s, "forward_dynamics", wrt=("q", "v", "tau"))(q, v, tau)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [A_q, A_v]])
    B = np.concatenate([np.zeros((n, 1)), by_tau[:, 1:]])
    f = np.concatenate([v, lb.forward_dynamics(s, q, v, tau)])
    x, Sx, Su, multipliers = (
        np.concatenate([q, v]),
        *(rng.standard_normal(k) for k in ((4, 4), (4, 1), 4)),
    )
    none = np.zeros(0)
    (found,) = call(library, "arm_expl_ode_fun", [x, u, none], [(4,)])
    assert_close(found, f, 1e-12)
    found = call(library, "arm_expl_vde_forw", [x, Sx, Su, u, none], [(4,), (4, 4), (4, 1)])
    for got, expected in zip(found, (f, A @ Sx, A @ Su + B)):
        assert_close(got, expected, 1e-12)
    (found,) = call(library, "arm_expl_vde_adj", [x, multipliers, u, none], [(5,)])
    assert_close(found, np.concatenate([A.T @ multipliers, B.T @ multipliers]), 1e-12)


def test_what_cannot_be_handed_over_is_refused(tmp_path):
    ball = lb.Assembly("ball").attach("ball", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Spherical())
    ball.attach("arm", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Revolute("z"), "ball")
    with pytest.raises(lb.LimberError, match="has quaternions"):
        control.acados(ball.build(), tmp_path)
    with pytest.raises(lb.LimberError, match="name must be a C identifier"):
        control.acados(bar(), tmp_path, name="two words")
