"""Generated hybrid dynamics: the engine's numbers, derivatives, and what is refused."""

from functools import cache

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.generated import FIDELITIES, mixed
from helpers.random_systems import random_state
from limber.errors import ArgumentValueError

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
