"""Closed-form equations of closed systems: the engine's accelerations and forces, and published linkages."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import limber as lb
from constraints.known import four_bar, spatial_slider_crank
from constraints.placing import close_here
from constraints.random_closed import random_closed
from helpers.compare import assert_close
from helpers.random_systems import random_flexible_body, random_joint, random_rigid_body
from helpers.symbolic_states import euler_state

TOLERANCE = 1e-12
#: Cut joints with a closed form; the others have rows that depend on coordinates which they do not have.
CUT = ("Revolute", "Prismatic", "Screw", "Cylindrical", "Universal", "Planar", "Spherical", "Fixed")


def small_tree(rng):
    """Two branches of revolute and prismatic joints, one of the bodies flexible."""
    a = lb.Assembly("tree", gravity=(0.3, -9.0, 1.0))
    kinds = ("Revolute", "Prismatic")
    a.attach("base", random_rigid_body(rng), random_joint(rng, kinds))
    for name in ("left", "right"):
        for i in range(3):
            to = f"{name}{i - 1}" if i else "base"
            body = (
                random_flexible_body(rng, 1) if (name, i) == ("left", 1) else random_rigid_body(rng)
            )
            a.attach(
                f"{name}{i}", body, random_joint(rng, ("Revolute",)), to, None, rng.normal(size=3)
            )
    return a


@pytest.mark.parametrize("kind", CUT)
def test_every_cut_joint_is_the_engine(kind):
    """Accelerations and what the closures do to the speeds, A^T lambda."""
    case = random_closed(7, kinds=(kind,), closures=1, tree=small_tree)
    s, q, v, tau = case.system, case.q, case.v, case.tau
    f = lb.symbolic.equations(case.assembly).lambdify()
    assert np.abs(f.residual(q)).max() < 1e-10
    assert np.abs(f.A(q) @ v).max() < 1e-10 * np.abs(f.A(q)).max() * np.abs(v).max()
    vdot = lb.forward_dynamics(s, q, v, tau)
    assert_close(f.pdot(q, v, tau), vdot, 1e-11, kind)
    force = lb.inverse_dynamics(s, q, v, vdot) - tau
    assert_close(f.A(q).T @ f.multipliers(q, v, tau), force, 1e-10, f"forces of {kind}")


def test_spherical_joints_of_the_tree_have_euler_angles():
    """Two rods on balls, whose tips a third ball joins: speeds are those of the engine, coordinates are angles."""
    rng = np.random.default_rng(3)
    a = lb.Assembly("balls", gravity=(0, 0, -9.81))
    a.attach("one", random_rigid_body(rng), lb.Spherical())
    a.attach("two", random_rigid_body(rng), lb.Spherical(), offset=(1.0, 0, 0))
    tree = a.build()
    angles, q, v = euler_state(rng, tree)
    close_here(a, tree, q, ("one", None), ("two", None), lb.Spherical(), offset=(0.3, 0.4, 0.5))
    s = a.build()
    _, v = lb.project(s, q, v)
    tau = rng.normal(size=s.nv)
    f = lb.symbolic.equations(a).lambdify()
    assert np.abs(f.residual(angles)).max() < 1e-12
    assert_close(f.pdot(angles, v, tau), lb.forward_dynamics(s, q, v, tau), 1e-11)


def linkage():
    """A four-bar with symbols: crank a, coupler b, rocker c, ground d; thin rods of the masses m2, m3, m4."""
    a, b, c, d, g, m2, m3, m4 = sp.symbols("a b c d g m2 m3 m4")

    def rod(length, mass):
        inertia = sp.diag(0, 0, mass * length**2 / 12)
        return lb.RigidBody(mass, (length / 2, 0, 0), inertia, {"tip": (length, 0, 0)})

    z = lb.Revolute("z")
    model = lb.Assembly("four-bar", gravity=(0, -g, 0))
    model.attach("crank", rod(a, m2), z)
    model.attach("coupler", rod(b, m3), z, "crank", "tip")
    model.attach("rocker", rod(c, m4), z, offset=(d, 0, 0))
    model.close(("coupler", "tip"), ("rocker", "tip"), z, "pin")
    return model, lb.symbolic.equations(model, q=["q1", "q2", "q3"], p=["w1", "w2", "w3"])


def test_four_bar_is_that_of_the_textbook():
    """Norton, Design of Machinery, Eqs. (6.18): the angular velocities of coupler and rocker from that of the crank."""
    _, eq = linkage()
    a, b, c, d, q1, q2, q3 = sp.symbols("a b c d q1 q2 q3")
    loop = sp.Matrix([
        d + c * sp.cos(q3) - a * sp.cos(q1) - b * sp.cos(q1 + q2),
        c * sp.sin(q3) - a * sp.sin(q1) - b * sp.sin(q1 + q2),
    ])  # fmt: skip
    assert (eq.residual - loop).expand() == sp.zeros(2, 1)
    assert (eq.A - loop.jacobian([q1, q2, q3])).expand() == sp.zeros(2, 3)
    assert eq.row_names == ["pin", "pin"] and list(map(str, eq.multipliers)) == [
        "lambda1_pin",
        "lambda2_pin",
    ]
    r = eq.reduced(["w1"])
    crank, coupler, rocker = q1, q1 + q2, q3
    w3 = a / b * sp.sin(rocker - crank) / sp.sin(coupler - rocker)
    w4 = a / c * sp.sin(crank - coupler) / sp.sin(rocker - coupler)
    assert r.N[0] == 1
    assert sp.simplify((1 + r.N[1] - w3).expand(trig=True)) == 0
    assert sp.simplify((r.N[2] - w4).expand(trig=True)) == 0


def test_reduced_equations_are_those_with_multipliers_and_the_engine():
    """The four-bar of `known`, which has these lengths and masses."""
    _, eq = linkage()
    numbers = {"a": 1.0, "b": 2.5, "c": 1.8, "d": 2.2, "g": 9.81, "m2": 1.0, "m3": 2.0, "m4": 1.5}
    r = eq.subs(numbers).reduced(["w1"])
    assembly, q, v = four_bar(speed=2.0)
    s = assembly.build()
    values = dict(zip(r.q, q)) | {r.u[0]: 2.0}

    def number(x):
        return np.array(x.subs(values).evalf(), dtype=float)

    N = number(r.N)
    assert_close((N * 2.0).ravel(), v, TOLERANCE, "speeds")
    tau = np.array([0.4, -0.3, 0.2])
    udot = np.linalg.solve(number(r.M), N.T @ tau - (number(r.F) + number(r.G)).ravel())
    vdot = N @ udot + number(r.Ndot_u).ravel()
    f = eq.lambdify(numbers)
    assert_close(f.pdot(q, v, tau), vdot, TOLERANCE)
    assert_close(number(r.C) @ [2.0], number(r.F).ravel(), TOLERANCE)
    assert_close(lb.forward_dynamics(s, q, v, tau), vdot, TOLERANCE)
    # without damping Mdot - 2 C of one speed is zero: C = Mdot / 2
    rates = dict(zip(r.q, v))
    slope = sum(r.M[0].diff(x) * rate for x, rate in rates.items())
    assert_close(number(r.C)[0, 0], float(slope.subs(values)) / 2, TOLERANCE)


def test_relations_have_minimal_coordinates():
    """A gear is linear: the reduced inertia is that of every book, I1 + n^2 I2."""
    I1, I2 = sp.symbols("I1 I2")
    a = lb.Assembly("gears", gravity=(0, 0, 0))
    for name, inertia in (("motor", I1), ("wheel", I2)):
        a.attach(
            name, lb.RigidBody(1, inertia=sp.diag(0, 0, inertia)), lb.Revolute("z", damping=0.5)
        )
    a.gear("wheel", "motor", ratio=-0.25, name="mesh")
    eq = lb.symbolic.equations(a)
    r = eq.reduced("qdot_motor")
    assert (r.M[0] - I1 - I2 / 16).expand() == 0
    assert (r.C[0] - sp.Rational(1, 2) * (1 + sp.Rational(1, 16))).expand() == 0
    assert [str(x) for x in eq.multipliers] == ["lambda_mesh"]
    assert "A^T lambda" in str(eq) and r"\lambda" in eq.latex()


def test_spatial_slider_crank_is_the_engine():
    assembly, q, v = spatial_slider_crank()
    s = assembly.build()
    tau = np.random.default_rng(0).normal(size=s.nv)
    f = lb.symbolic.equations(assembly).lambdify()
    assert_close(f.pdot(q, v, tau), lb.forward_dynamics(s, q, v, tau), 1e-11)
    ball = lb.constraint_forces(s, q, v, tau)["ball"][3:]
    assert_close(f.multipliers(q, v, tau), ball, 1e-10, "force in world axes")


def test_what_has_no_closed_form_says_why():
    a = linkage()[0]
    slot = lb.CompoundJoint([lb.Prismatic("x"), lb.Revolute("z")])
    a.close(("rocker", "tip"), ("world", (1, 1, 0)), slot, "slot")
    with pytest.raises(
        lb.LimberError, match=r"cut joint of the closure 'slot'.*Cut the loop at another"
    ):
        lb.symbolic.equations(a)
    eq = linkage()[1]
    with pytest.raises(lb.LimberError, match="must name 1 different speeds"):
        eq.reduced(["w1", "w2"])
    high = linkage()[0]
    high.close(("rocker", "tip"), ("world", (1, 1, 0.5)), lb.Spherical(), "high")
    with pytest.raises(
        lb.LimberError, match=r"'high' cannot be satisfied in any position.*off by 1/2"
    ):
        lb.symbolic.equations(high).A  # noqa: B018
