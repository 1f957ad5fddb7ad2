"""Products of Jacobians with vectors, forward and transposed, against complex steps and each other."""

import cmath

import numpy as np
import pytest

from helpers.compare import assert_close
from helpers.generated import arm, evaluated, mixed, program, values
from limber.codegen.directional import adjoint, directional

TOLERANCE = 1e-12
STEP = 1e-30
COMPLEX = {"sin": cmath.sin, "cos": cmath.cos, "sqrt": cmath.sqrt, "log": cmath.log}
CASES = [
    (mixed, "forward_dynamics", {}),
    (mixed, "qdot", {}),
    (mixed, "potential_energy", {}),
    (arm, "forward_dynamics", {"parameters": ("hand.mass", "link.stiffness", "gravity")}),
    (arm, "pose", {"body": "hand", "node": "grip"}),
    (arm, "step", {}),
]


def flat(arrays):
    """All numbers in one array."""
    return np.concatenate([np.ravel(x) for x in arrays])


def inputs(rng, system, p):
    """Inputs of a program at a random state, parameters as they are in the system."""
    state = values(rng, system, p.name)
    return [np.asarray(x, dtype=float) for x in (*state, *p.example[len(state) :])]


@pytest.mark.parametrize(("make", "function", "options"), CASES)
def test_directional_derivatives_are_complex_steps(make, function, options):
    rng, s = np.random.default_rng(5), make()
    p = program(s, function, **options)
    given = inputs(rng, s, p)
    along = [rng.standard_normal(x.shape) for x in given]
    found = evaluated(directional(p), [*given, *along])
    complex_inputs = (flat(given) + 1j * STEP * flat(along)).tolist()
    stepped = np.array(p.evaluate(complex_inputs, COMPLEX), dtype=complex).imag / STEP
    assert_close(flat(found), stepped, TOLERANCE * max(1.0, np.abs(stepped).max()))


@pytest.mark.parametrize(("make", "function", "options"), CASES)
def test_adjoint_is_the_transpose_of_the_directional_derivative(make, function, options):
    rng, s = np.random.default_rng(6), make()
    p = program(s, function, **options)
    given = inputs(rng, s, p)
    along = [rng.standard_normal(x.shape) for x in given]
    forward = evaluated(directional(p), [*given, *along])
    against = [rng.standard_normal(x.shape) for x in forward]
    back = evaluated(adjoint(p), [*given, *against])
    one, size = float(np.vdot(flat(forward), flat(against))), np.linalg.norm(flat(forward))
    other = float(np.vdot(flat(back), flat(along)))
    assert abs(one - other) <= TOLERANCE * max(1.0, size)


@pytest.mark.parametrize(("make", "function", "options"), [CASES[3], CASES[5]])
@pytest.mark.parametrize("first", [directional, adjoint])
@pytest.mark.parametrize("second", [directional, adjoint])
def test_derivatives_of_derivatives_are_complex_steps(make, function, options, first, second):
    rng, s = np.random.default_rng(7), make()
    p = program(s, function, **options)
    once = first(p)
    given = [*inputs(rng, s, p)]
    given += [rng.standard_normal(a.shape) for a in once.inputs[len(given) :]]
    twice = second(once)
    names = [a.name for a in (*twice.inputs, *twice.outputs)]
    assert len(set(names)) == len(names)
    along = [rng.standard_normal(x.shape) for x in given]
    stepped = once.evaluate((flat(given) + 1j * STEP * flat(along)).tolist(), COMPLEX)
    change = np.array(stepped, dtype=complex).imag / STEP
    if second is directional:
        found = flat(evaluated(twice, [*given, *along]))
        assert_close(found, change, TOLERANCE * max(1.0, np.abs(change).max()))
    else:
        weights = rng.standard_normal(len(change))
        split = np.split(weights, np.cumsum([a.size for a in once.outputs])[:-1])
        found = float(flat(evaluated(twice, [*given, *split])) @ flat(along))
        assert abs(found - weights @ change) <= TOLERANCE * max(1.0, np.abs(change).max()) * 10


def test_calls_stay_calls():
    step = program(mixed(), "step")
    for derived in (directional(step), adjoint(step)):
        assert len(derived.callees) == 2  # forward dynamics and its derivative, at four stages
        assert derived.count().mul < 5.0 * step.count().mul


def test_results_that_do_not_depend_on_an_input_have_zeros():
    s = arm()
    p = program(s, "potential_energy")
    back = evaluated(adjoint(program(s, "kinetic_energy")), [s.neutral(), np.zeros(s.nv), [1.0]])
    assert not np.any(back[0]) and not np.any(back[1])
    (change,) = evaluated(directional(p), [s.neutral(), np.zeros(s.nq)])
    assert change == 0.0


def test_they_cost_a_few_evaluations():
    p = program(mixed(), "forward_dynamics")
    once = p.count().mul
    assert directional(p).count().mul < 3.0 * once
    assert adjoint(p).count().mul < 4.0 * once
