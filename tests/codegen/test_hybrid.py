"""Generated hybrid dynamics: the engine's numbers, derivatives, and what is refused."""

from functools import cache

import numpy as np
import pytest

import limber as lb
from constraints.known import four_bar
from helpers.compare import assert_close
from helpers.generated import FIDELITIES, mixed
from helpers.random_systems import random_state
from limber.errors import ArgumentValueError, DynamicsError

DRIVEN = ["link", "ball"]


def states(s, count=3):
    rng = np.random.default_rng(2)
    return [random_state(rng, s) for _ in range(count)]


def motion(s, x):
    return {body: x[s.layout[body].v_joint] for body in DRIVEN}


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_generated_hybrid_dynamics_is_the_engine(fidelity):
    s = mixed(fidelity)
    f = lb.compile(s, "hybrid_dynamics", driven=DRIVEN)
    for q, v, x in states(s):
        expected = lb.hybrid_dynamics(s, q, v, x, motion=motion(s, x))
        for got, want in zip(f(q, v, x), expected):
            assert_close(got, want, 1e-12)


@cache
def three():
    a = lb.Assembly("three")
    body = lb.RigidBody(1.0, (0.4, 0.1, 0.2), np.diag([0.1, 0.2, 0.25]), nodes={"tip": (1, 0, 0)})
    to, at = "world", None
    for name in ("one", "two", "three"):
        a.attach(name, body, lb.Universal("x", "y"), to=to, at=at)
        to, at = name, "tip"
    return a.build()


def test_accelerations_and_forces_are_affine_in_the_rates():
    s = three()
    q, v, x = states(s)[0]
    by_x = lb.compile(s, "hybrid_dynamics", driven=["two"], wrt="tau")(q, v, x)
    step = np.random.default_rng(1).normal(size=s.nv)
    ends = [lb.hybrid_dynamics(s, q, v, y, motion={"two": y[2:4]}) for y in (x, x + step)]
    for slope, here, there in zip(by_x, *ends):
        assert_close(here + slope @ step, there, 1e-12)


def test_a_driven_joint_costs_less_than_a_free_one():
    free = lb.operation_count(three(), "forward_dynamics")
    assert lb.operation_count(three(), "hybrid_dynamics", driven=["two"]).mul < free.mul


@pytest.mark.parametrize(
    ("function", "driven", "text"),
    [
        ("hybrid_dynamics", [], r"needs driven=\[\.\.\.\]"),
        ("hybrid_dynamics", ["lnik"], "driven: body='lnik' is not in the system"),
        ("hybrid_dynamics", ["link", "link"], "names one of them twice"),
        ("forward_dynamics", ["link"], "is for hybrid_dynamics"),
    ],
)
def test_what_is_refused(function, driven, text):
    with pytest.raises(ArgumentValueError, match=text):
        lb.compile(mixed(), function, driven=driven)


# closed systems


def flexible_four_bar():
    a = lb.Assembly("bar", gravity=(0, -9.81, 0))
    beam = lb.beam(2.5, 2.0, EI=50.0, modes={"y": 2})
    body = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1), {"tip": (1, 0, 0), "end": (1.8, 0, 0)})
    a.attach("crank", body, lb.Revolute("z", damping=0.1))
    a.attach("coupler", beam, lb.Revolute("z"), to="crank", at="tip")
    a.attach("rocker", body, lb.Revolute("z"), offset=(2.2, 0, 0))
    return a.close(("coupler", "tip"), ("rocker", "end"), lb.Revolute("z"), name="pin").build()


@pytest.mark.parametrize("rows", ["independent", "all"])
def test_generated_hybrid_dynamics_of_a_closed_system_is_the_engine(rows):
    s = flexible_four_bar()
    f = lb.compile(s, "hybrid_dynamics", driven=["rocker"], rows=rows)
    rng = np.random.default_rng(0)
    at = s.layout["rocker"].v_joint
    for _ in range(3):
        q = lb.assemble(s, [1.0, *0.01 * rng.normal(size=2), -0.5, 1.5] + 0.1 * rng.normal(size=5))
        q, v = lb.project(s, q, rng.normal(size=5))
        x = rng.normal(size=5)
        expected = lb.hybrid_dynamics(s, q, v, x, motion={"rocker": x[at]})
        for got, want in zip(f(q, v, x), expected):
            assert_close(got, want, 1e-10)
    assert ("3 of 'pin'" in repr(f)) == (rows == "independent")


def test_slopes_of_generated_closed_hybrid_dynamics():
    s = flexible_four_bar()
    q = lb.assemble(s, [1.0, 0.0, 0.0, -0.5, 1.5])
    v, x = np.zeros(5), np.linspace(-1.0, 1.0, 5)
    by_x = lb.compile(s, "hybrid_dynamics", driven=["crank"], wrt="tau")(q, v, x)
    step = np.random.default_rng(1).normal(size=5)
    ends = [lb.hybrid_dynamics(s, q, v, y, motion={"crank": y[:1]}) for y in (x, x + step)]
    for slope, here, there in zip(by_x, *ends):
        assert_close(here + slope @ step, there, 1e-10)


def test_more_driven_joints_than_closures_leave_free_are_refused():
    s = four_bar()[0].build()
    text = "more joints of 'four-bar' are driven than its closures leave free, 'crank', 'rocker'"
    with pytest.raises(DynamicsError, match=text):
        lb.compile(s, "hybrid_dynamics", driven=["crank", "rocker"])
