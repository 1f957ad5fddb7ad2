"""What functions for JAX and PyTorch evaluate: directional and adjoint derivatives, quaternions of any norm, refusals."""

import sys

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.cuda_host import by_structure, needs_gpp, on_host
from helpers.generated import evaluated
from helpers.gradients import (
    PARAMETERS,
    TOLERANCE,
    by_speeds,
    flyer,
    four_bar,
    parameter_values,
    right_slopes,
    state,
)
from helpers.random_systems import random_assembly, random_state
from limber.errors import ArgumentTypeError, ArgumentValueError, MissingExtraError
from limber.exchange.gradients.smooth import smooth_function


@pytest.mark.parametrize("of", ["forward_dynamics", "inverse_dynamics"])
def test_adjoints_are_the_slopes_of_derivatives(of):
    s, given = flyer(), state()
    _, f = smooth_function(s, of, {"parameters": PARAMETERS})
    rows = [
        evaluated(f.adjoint.program, [*given, *parameter_values(), weight])
        for weight in np.eye(s.nv)
    ]
    found = [np.stack(x) for x in zip(*rows)]
    found[0] = found[0] @ by_speeds(s, given[0])
    for mine, right in zip(found, right_slopes(of, *given)):
        assert_close(mine, right, TOLERANCE)


@pytest.mark.parametrize("name", ["b1.stiffness", "b1.damping"])
def test_modal_matrices_count_by_their_upper_triangle(name):
    rng = np.random.default_rng(2)
    s = random_assembly(rng, 3).build()
    given = random_state(rng, s)
    value = s.parameters[name].value
    assert value.shape == (2, 2)
    _, f = smooth_function(s, "forward_dynamics", {"parameters": [name]})
    rows = [evaluated(f.adjoint.program, [*given, value, w])[-1] for w in np.eye(s.nv)]
    right = lb.derivatives(s, *given, by=name).parameters[name]
    assert_close(np.stack(rows), right, TOLERANCE)
    below = value + np.array([[0.0, 0.0], [5.0, 0.0]])
    (found,) = evaluated(f.program, [*given, below])
    assert_close(found, lb.forward_dynamics(s, *given), TOLERANCE)


def test_slopes_by_a_quaternion_have_no_part_along_it():
    s, (q, v, tau) = flyer(), state()
    _, f = smooth_function(s, "forward_dynamics", {})
    (value,) = evaluated(f.program, [q, v, tau])
    longer = q.copy()
    longer[:4] *= 1.7
    assert_close(evaluated(f.program, [longer, v, tau])[0], value, TOLERANCE)
    along = np.zeros(s.nq)
    along[:4] = q[:4]
    zero = np.zeros(s.nv)
    (change,) = evaluated(f.directional.program, [longer, v, tau, along, zero, zero])
    assert np.abs(change).max() < TOLERANCE * np.abs(value).max()
    slope = evaluated(f.adjoint.program, [longer, v, tau, value])[0]
    unit = evaluated(f.adjoint.program, [q, v, tau, value])[0]
    assert_close(1.7 * slope[:4], unit[:4], TOLERANCE)  # the same rotation is a larger change


def test_code_gives_the_numbers_of_the_program_in_batches():
    s, many = flyer(), state(1, 9)
    _, f = smooth_function(s, "potential_energy", {"parameters": ["hub.mass"]})
    q = many[0]
    energy, weights = f.code(9)(q, 3.0)[0], np.ones(9)
    assert_close(energy, lb.potential_energy(s, q), TOLERANCE)
    slopes = f.adjoint.code(9)(q, 3.0, weights)
    assert slopes[0].shape == (9, s.nq) and slopes[1].shape == (9,)
    for i in (0, 8):
        one = evaluated(f.adjoint.program, [q[i], 3.0, 1.0])
        assert_close(slopes[0][i], one[0], TOLERANCE)
        assert_close(slopes[1][i], one[1], TOLERANCE)


@needs_gpp
def test_kernels_of_adjoints_give_the_numbers_of_code(tmp_path):
    """CUDA text on the host, with a call of another program in it."""
    _, f = smooth_function(flyer(), "forward_dynamics", {})
    given = [*state(2, 3), np.random.default_rng(0).standard_normal((3, 9))]
    right = f.adjoint.code(1)(*given)
    arrays = [by_structure(x) for x in (*given, *right)]
    results = arrays[len(given) :]
    for x in results:
        x[:] = np.nan
    kernel = f.adjoint.kernel
    on_host(tmp_path, kernel.source, f.adjoint.program.name, arrays, [], 3)(0)
    for mine, other in zip(results, right):
        assert_close(np.moveaxis(mine, -1, 0), other, TOLERANCE)


def test_arguments_go_by_order_and_by_name():
    signature, _ = smooth_function(flyer(), "forward_dynamics", {"parameters": ["hub.mass"]})
    assert signature.ordered((1, 2), {"hub_mass": 4, "tau": 3}) == [1, 2, 3, 4]
    with pytest.raises(ArgumentTypeError, match="takes q, v, tau, hub_mass; got 2 in order, mass"):
        signature.ordered((1, 2), {"mass": 3})
    assert signature.batch([(5, 1, 10), (3, 9), (9,), ()]) == (5, 3)
    with pytest.raises(ArgumentValueError, match=r"^v \(.*must have shape \(9,\).*got \(8,\)"):
        signature.batch([(10,), (8,), (9,), ()])
    with pytest.raises(ArgumentValueError, match=r"do not match: q \(5, 10\), v \(4, 9\)"):
        signature.batch([(5, 10), (4, 9), (9,), ()])


def test_what_cannot_work_is_refused(monkeypatch):
    with pytest.raises(ArgumentValueError, match='rows="all" has no derivatives'):
        lb.exchange.jax_function(four_bar(), "forward_dynamics", rows="all")
    for library, make in (("jax", lb.exchange.jax_function), ("torch", lb.exchange.torch_function)):
        with pytest.raises(ArgumentTypeError, match="system"):
            make(lb.Assembly("x"), "forward_dynamics")
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(MissingExtraError, match=rf"limber-dynamics\[{library}\]"):
            make(flyer(), "forward_dynamics")
