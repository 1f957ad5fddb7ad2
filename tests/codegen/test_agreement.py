"""Generated code, the compiled engine and the operator algebra give the same numbers.

All of them are sums of products of well-scaled numbers: 1e-12 of the largest result is some thousand
roundings, far less than any wrong term.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limber as lb
from helpers.compare import assert_close, some_node
from helpers.generated import (
    ENGINE,
    FIDELITIES,
    FORCED,
    INPUTS,
    OF_NODE,
    engine,
    evaluated,
    mixed,
    parts,
    program,
    values,
)
from helpers.random_systems import random_assembly

TOLERANCE = 1e-12
ENDS = (("link", "tip"), ("wrist", 1), ("hull", None))
NODE = {"body": "link", "node": "tip"}


def agree(got, expected, what, tolerance=TOLERANCE):
    got, expected = parts(got), parts(expected)
    assert len(got) == len(expected)
    for x, y in zip(got, expected):
        assert_close(x, y, tolerance, what)


@given(seed=st.integers(0, 10**6), rotary=st.booleans(), fidelity=st.sampled_from(FIDELITIES))
def test_traces_of_random_trees_are_the_engine(seed, rotary, fidelity):
    """Every function, every joint kind, inboard nodes, rotary inertias, external wrenches."""
    rng = np.random.default_rng(seed)
    a = random_assembly(rng, bodies=4, rotary=rotary, max_modes=3)
    s = a.build(fidelity=fidelity)
    bodies = list(s.bodies)
    for function in ENGINE:
        options = {}
        ends = ()
        if function in OF_NODE:
            body = bodies[rng.integers(len(bodies))]
            options = {"body": body, "node": some_node(rng, s, body)}
        elif function in FORCED:
            ends = tuple({(b, some_node(rng, s, b)) for b in bodies[:2]})
        args = values(rng, s, function, len(ends))
        p = program(s, function, external=ends, **options)
        expected = engine(s, function, args, ends, **options)
        agree(tuple(evaluated(p, args)), tuple(parts(expected)), f"{function} of seed {seed}")


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("function", ENGINE)
def test_c_is_the_engine_one_by_one_and_in_lanes(fidelity, function):
    """One state; 13 states (three blocks of four and a remainder of one), some inputs shared."""
    s, rng = mixed(fidelity), np.random.default_rng(1)
    options = NODE if function in OF_NODE else {}
    ends = ENDS if function in FORCED else ()
    f = lb.compile(s, function, external=ends, lanes=4, **options)
    states = [values(rng, s, function, len(ends)) for _ in range(13)]
    expected = [parts(engine(s, function, args, ends, **options)) for args in states]
    for args, want in zip(states, expected):
        agree(f(*args), tuple(want), function)
    batch = [np.array(x) for x in zip(*states)]
    for i, y in enumerate(parts(f(*batch))):
        agree(y, np.array([want[i] for want in expected]), f"{function} in lanes")
    # the first input varies, the others are those of the first state
    mix = [batch[0], *states[0][1:]]
    for i, y in enumerate(parts(f(*mix))):
        want = [parts(f(q, *states[0][1:]))[i] for q in batch[0]]
        agree(y, np.array(want), f"{function}, shared inputs")


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("method", ["fd1", "fd2", "fd3", "split", "composite"])
def test_c_is_the_operator_algebra(fidelity, method):
    s, rng = mixed(fidelity), np.random.default_rng(2)
    f = lb.compile(s, "forward_dynamics", external=ENDS, lanes=4)
    q, v, tau, wrenches = values(rng, s, "forward_dynamics", len(ENDS))
    external = dict(zip(ENDS, wrenches))
    expected = lb.forward_dynamics(s, q, v, tau, external=external, method=method)
    agree(f(q, v, tau, wrenches), expected, method)


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("function", INPUTS)
def test_casadi_function_is_the_program(fidelity, function):
    """Through CasADi, matrices in and out: external (n, 6) and M, J, R are not transposed."""
    s, rng = mixed(fidelity), np.random.default_rng(3)
    options = NODE if function in OF_NODE else {}
    ends = ENDS if function in FORCED else ()
    f = lb.compile(s, function, "casadi", external=ends, **options)
    args = values(rng, s, function, len(ends))
    got = f(*args)
    got = got if isinstance(got, tuple) else (got,)
    p = program(s, function, external=ends, **options)
    expected = (
        evaluated(p, args)
        if function == "step"
        else parts(engine(s, function, args, ends, **options))
    )
    assert [f.name_in(i) for i in range(f.n_in())] == [a.name for a in p.inputs]
    for x, y in zip(got, expected):
        agree(x.full().reshape(y.shape), y, function)


def test_casadi_parameters_and_derivatives_of_more_dimensions():
    """An array of three dimensions is a matrix of its first by the others."""
    s, rng = mixed(), np.random.default_rng(4)
    q, v, vdot = values(rng, s, "inverse_dynamics")
    inertia = np.array(s.bodies["wrist"].inertia)
    keys = {"parameters": ["wrist.inertia"], "wrt": "wrist.inertia"}
    got = lb.compile(s, "inverse_dynamics", "casadi", **keys)(q, v, vdot, inertia).full()
    expected = evaluated(program(s, "inverse_dynamics", **keys), [q, v, vdot, inertia])[0]
    agree(got.reshape(expected.shape), expected, "d tau / d inertia")


@pytest.mark.parametrize("lanes", [1, 8])
def test_threads_change_nothing(lanes):
    """A batch cut between threads, at places that are no multiples of the lanes, bit for bit."""
    s, rng = mixed(), np.random.default_rng(5)
    one = lb.compile(s, "qdot", lanes=lanes, threads=1)
    many = lb.compile(s, "qdot", lanes=lanes, threads=3)
    q, v, _ = values(rng, s, "forward_dynamics")
    n = 3 * 2048 + 77
    v = rng.standard_normal((n, s.nv))
    assert np.array_equal(one(q, v), many(q, v))
    assert_close(many(q, v)[-1], lb.qdot(s, q, v[-1]), TOLERANCE)
    assert_close(many(q, v)[0], one(q, v[:1])[0], 1e-13)


def test_every_lane_and_every_remainder():
    """1 to 17 states in 8 lanes: each state gets its own result, nothing is written behind the last."""
    s, rng = mixed(), np.random.default_rng(6)
    f = lb.compile(s, "momentum", lanes=8)
    states = [values(rng, s, "momentum") for _ in range(17)]
    q, v = (np.array(x) for x in zip(*states))
    expected = lb.momentum(s, q, v)
    for n in range(1, 18):
        room = np.full((n + 1, 6), np.pi)
        f(q[:n], v[:n], out=room[:n])
        assert_close(room[:n], expected[:n], TOLERANCE, f"{n} states")
        assert (room[n] == np.pi).all()
