"""Generated functions of operational space: the engine's numbers on trees and closed systems, and derivatives."""

import numpy as np
import pytest

import limber as lb
from constraints.known import four_bar
from helpers.compare import assert_close
from helpers.random_systems import random_state
from limber.errors import ArgumentValueError

ENDS = [("link3", "tip"), ("link2", "tip")]


def canadarm():
    s = lb.models.canadarm().build()
    q, v, tau = random_state(np.random.default_rng(0), s, 0.1)
    return s, q, v, tau


@pytest.mark.parametrize("ends", [ENDS[0], ENDS], ids=["one", "two"])
def test_functions_of_ends_are_the_engine(ends):
    s, q, v, tau = canadarm()
    expected = lb.operational_inertia(s, q, ends)
    inertia, inverse = lb.compile(s, "operational_inertia", ends=ends)(q)
    assert_close(inverse, expected.inverse, 1e-12)
    if expected.rank == len(
        inverse
    ):  # the two ends together have more rows than the arm has freedoms
        assert_close(inertia @ expected.inverse, np.eye(len(inverse)), 1e-6)
    response = lb.compile(s, "operational_response", ends=ends)(q)
    assert_close(response, expected.response, 1e-10)
    f = lb.compile(s, "operational_acceleration", ends=ends)
    assert_close(f(q, v, tau), expected.acceleration(v, tau), 1e-10)
    assert "at the ends 'link3'/" in f.__doc__


@pytest.mark.filterwarnings("ignore::limber.errors.ModelWarning")
@pytest.mark.parametrize("all_rows", [False, True], ids=["independent", "all"])
def test_ends_of_a_mechanism_are_the_engine(all_rows):
    assembly, q, v = four_bar(flexible=True)
    s = assembly.build()
    rows = "all" if all_rows else q
    ends = ("rocker", "tip")
    tau = np.linspace(-1.0, 1.0, s.nv)
    expected = lb.operational_inertia(s, q, ends)
    f = lb.compile(s, "operational_acceleration", ends=ends, rows=rows)
    assert_close(f(q, v, tau), expected.acceleration(v, tau), 1e-9)
    response = lb.compile(s, "operational_response", ends=ends, rows=rows)(q)
    assert_close(response, expected.response, 1e-9)


def test_derivatives_and_external_forces():
    s, q, v, tau = canadarm()
    slopes = lb.compile(s, "operational_acceleration", ends=ENDS[0], wrt="tau")(q, v, tau)
    assert_close(slopes, lb.operational_inertia(s, q, ENDS[0]).response.T, 1e-10)
    force = np.linspace(-1.0, 1.0, 6)
    f = lb.compile(s, "operational_acceleration", ends=ENDS[0], external=[ENDS[0]])
    space = lb.operational_inertia(s, q, ENDS[0])
    assert_close(f(q, v, tau, force[None]), space.acceleration(v, tau, force), 1e-9)


@pytest.mark.parametrize(
    ("function", "ends", "text"),
    [
        ("operational_inertia", (), "operational_inertia applies to ends: specify them with"),
        (
            "forward_dynamics",
            ENDS,
            "is for operational_inertia, .*; forward_dynamics does not accept it",
        ),
        ("operational_inertia", ("arm", None), "ends: body='arm' is not in the system"),
    ],
)
def test_what_is_refused(function, ends, text):
    with pytest.raises(ArgumentValueError, match=text):
        lb.compile(canadarm()[0], function, ends=ends)
