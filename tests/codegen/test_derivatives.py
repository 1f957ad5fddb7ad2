"""Jacobians of generated functions: complex steps, central differences of the engine, Pinocchio.

Complex steps have no truncation error at h = 1e-30: they agree to rounding.  Central differences at
h = 1e-5 have an error of h^2 times third derivatives (about 1e-10 times 1e3) and rounding over h.
"""

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limber as lb
from helpers.compare import assert_close
from helpers.generated import (
    COMPLEX,
    ENGINE,
    FIDELITIES,
    FORCED,
    INPUTS,
    OF_NODE,
    arm,
    engine,
    evaluated,
    mixed,
    parts,
    program,
    values,
)
from helpers.peers import SUPPORTED_KINDS, to_pinocchio
from helpers.random_systems import quaternion_slices, random_assembly, random_state

COMPLEX_TOLERANCE = 1e-12
DIFFERENCES = 1e-7
PINOCCHIO = 1e-11
ENDS = (("link", "tip"), ("hull", None))
NODE = {"body": "link", "node": "tip"}


def kinematic_matrix(s, q):
    """N(q), from the engine."""
    return np.column_stack([lb.qdot(s, q, e) for e in np.eye(s.nv)]).reshape(s.nq, s.nv)


def directions(s, name, value, q):
    """One direction of an input for every column of its Jacobian."""
    if name == "q":
        return list(kinematic_matrix(s, q).T)
    return [x.reshape(np.shape(value)) for x in np.eye(np.size(value))]


def on_tangent_space(s, output, q_new, derivative):
    """nv rows from nq ones, for coordinates: N(q_new)^+."""
    if output.name != "q_new":
        return derivative
    return np.linalg.pinv(kinematic_matrix(s, q_new)) @ derivative


def complex_step(s, p, args, spot, functions=COMPLEX):
    """d results / d input `spot`, each of shape (*output, directions)."""
    h, columns = 1e-30, []
    for d in directions(s, p.inputs[spot].name, args[spot], args[0]):
        moved = [np.asarray(a, dtype=complex) for a in args]
        moved[spot] = moved[spot] + 1j * h * d
        columns.append([x.imag / h for x in evaluated(p, moved, functions)])
    results = evaluated(p, args)
    return [
        on_tangent_space(s, o, r, np.stack(c, axis=-1))
        for o, r, c in zip(p.outputs, results, zip(*columns))
    ]


#: A step of a ruthless system has the forward dynamics of one, which are there too, and takes long.
CASES = [
    pytest.param(function, fidelity, marks=[pytest.mark.slow] * long)
    for function in INPUTS
    for fidelity in FIDELITIES
    for long in [(function, fidelity) == ("step", "ruthless")]
]


@pytest.mark.parametrize("function, fidelity", CASES)
def test_jacobians_are_complex_steps(function, fidelity):
    """With respect to every input, all in one program; quaternions, several columns, external."""
    s, rng = mixed(fidelity), np.random.default_rng(1)
    options = NODE if function in OF_NODE else {}
    ends = ENDS if function in FORCED else ()
    args = values(rng, s, function, len(ends))
    p = program(s, function, external=ends, **options)
    names = [a.name for a in p.inputs]
    got = evaluated(program(s, function, external=ends, wrt=names, **options), args)
    outputs = len(p.outputs)
    for spot, name in enumerate(names):
        for o, expected in enumerate(complex_step(s, p, args, spot)):
            jacobian = got[o * len(names) + spot]
            assert_close(
                jacobian.reshape(expected.shape), expected, COMPLEX_TOLERANCE, f"d{p.outputs[o].name}/d{name}"
            )  # fmt: skip
    assert len(got) == outputs * len(names)


@pytest.mark.parametrize("fidelity", FIDELITIES)
@pytest.mark.parametrize("function", ENGINE)
def test_jacobians_are_differences_of_the_engine_along_integrate(fidelity, function):
    """The engine itself moved along lb.integrate; the compiled C of the Jacobian."""
    s, rng = mixed(fidelity), np.random.default_rng(2)
    options = NODE if function in OF_NODE else {}
    ends = ENDS if function in FORCED else ()
    args = values(rng, s, function, len(ends))
    p = program(s, function, external=ends, **options)
    h = 1e-5

    def moved(spot, j, by):
        changed = list(args)
        if p.inputs[spot].name == "q":
            changed[spot] = lb.integrate(s, args[0], np.eye(s.nv)[j], by)
        else:
            changed[spot] = np.asarray(args[spot]) + by * np.eye(np.size(args[spot]))[j].reshape(
                np.shape(args[spot])
            )
        return parts(engine(s, function, changed, ends, **options))

    for spot, a in enumerate(p.inputs):
        size = s.nv if a.name == "q" else a.size
        got = evaluated(program(s, function, external=ends, wrt=a.name, **options), args)
        here = parts(engine(s, function, args, ends, **options))
        ahead = [moved(spot, j, h) for j in range(size)]
        back = [moved(spot, j, -h) for j in range(size)]
        for o, output in enumerate(p.outputs):
            slope = np.stack([(x[o] - y[o]) / (2 * h) for x, y in zip(ahead, back)], axis=-1)
            expected = on_tangent_space(s, output, here[o], slope)
            assert_close(got[o].reshape(expected.shape), expected, DIFFERENCES, f"{function} d{a.name}")  # fmt: skip


@given(seed=st.integers(0, 10**6))
def test_jacobians_of_random_trees_are_complex_steps(seed):
    rng = np.random.default_rng(seed)
    s = random_assembly(rng, bodies=3, max_modes=2).build(fidelity=FIDELITIES[seed % 2])
    function = ("forward_dynamics", "inverse_dynamics", "step", "integrate")[seed // 2 % 4]
    if s.nv == 0:
        return
    args = values(rng, s, function)
    p = program(s, function)
    names = [a.name for a in p.inputs]
    got = evaluated(program(s, function, wrt=names), args)
    for spot in range(len(names)):
        for o, expected in enumerate(complex_step(s, p, args, spot)):
            jacobian = got[o * len(names) + spot].reshape(expected.shape)
            # a badly conditioned M (compound joints) magnifies rounding
            assert_close(jacobian, expected, 1e-11, f"{function} {names[spot]} of seed {seed}")


def pinocchio_matrix(peer, matrix, rows, columns, symmetric):
    """A Pinocchio matrix in Limber's layout: rows and columns as "v" (speeds) or "tau" (forces).

    Of symmetric ones some versions fill the upper triangle only.
    """
    matrix = np.array(matrix).reshape(peer.nv, peer.nv)
    if symmetric:
        matrix = np.triu(matrix) + np.triu(matrix, 1).T
    back = {"v": peer.from_v, "tau": peer.from_tau}
    return back[columns](back[rows](matrix.T).T)


@given(seed=st.integers(0, 10**6))
def test_rigid_jacobians_are_pinocchios(seed):
    """computeABADerivatives and computeRNEADerivatives.  Their tangent directions of q at a spherical or
    free joint are the body speeds, as ours; a joint of ours that is several of theirs scales by its rate."""
    rng = np.random.default_rng(seed)
    a = random_assembly(rng, bodies=5, flexible=0.0, kinds=SUPPORTED_KINDS)
    s, peer = a.build(), to_pinocchio(a)
    if s.nv == 0:
        return
    q, v, tau = random_state(rng, s)
    names = ["q", "v", "tau"]
    forward = evaluated(program(s, "forward_dynamics", wrt=names), [q, v, tau])
    found = pin.computeABADerivatives(
        peer.model, peer.data, peer.to_q(q), peer.to_v(v), peer.to_tau(tau)
    )
    for ours, theirs, name in zip(forward, found, names):
        expected = pinocchio_matrix(
            peer, theirs, "v", "v" if name == "tau" else "tau", name == "tau"
        )
        assert_close(ours, expected, PINOCCHIO, f"dvdot/d{name} of seed {seed}")
    names = ["q", "v", "vdot"]
    inverse = evaluated(program(s, "inverse_dynamics", wrt=names), [q, v, tau])
    found = pin.computeRNEADerivatives(
        peer.model, peer.data, peer.to_q(q), peer.to_v(v), peer.to_v(tau)
    )
    for ours, theirs, name in zip(inverse, found, names):
        expected = pinocchio_matrix(peer, theirs, "tau", "tau", name == "vdot")
        assert_close(ours, expected, PINOCCHIO, f"dtau/d{name} of seed {seed}")


@pytest.mark.parametrize("fidelity", FIDELITIES)
def test_inverse_mass_matrix_is_symmetric_and_inverse(fidelity):
    s, rng = mixed(fidelity), np.random.default_rng(4)
    q, v, tau = values(rng, s, "forward_dynamics")
    (inverse,) = evaluated(program(s, "forward_dynamics", wrt="tau"), [q, v, tau])
    assert np.array_equal(inverse, inverse.T)
    assert_close(inverse @ lb.mass_matrix(s, q), np.eye(s.nv), 1e-11)


def test_gradient_of_the_potential_energy_is_minus_the_force_at_rest():
    """bias(q, 0) = dV/dq: gravity and stiffness."""
    s, rng = mixed(), np.random.default_rng(5)
    q, _, _ = random_state(rng, s)
    (slope,) = evaluated(program(s, "potential_energy", wrt="q"), [q])
    assert_close(slope, lb.bias(s, q, np.zeros(s.nv)), 1e-12)


def test_gradient_of_the_kinetic_energy_is_the_momentum():
    """dT/dv = M v."""
    s, rng = mixed(), np.random.default_rng(6)
    q, v, _ = random_state(rng, s)
    (slope,) = evaluated(program(s, "kinetic_energy", wrt="v"), [q, v])
    assert_close(slope, lb.mass_matrix(s, q) @ v, 1e-12)


def test_rate_of_the_position_is_the_jacobian():
    """dp/dq is the linear part of J, and dR/dq v its angular part, at the tip of a flexible body."""
    s, rng = mixed(), np.random.default_rng(7)
    q, v, _ = random_state(rng, s)
    dR, dp = evaluated(program(s, "pose", wrt="q", **NODE), [q])
    J = lb.jacobian(s, q, **NODE)
    assert_close(dp, J[3:], 1e-12)
    R, _ = lb.pose(s, q, **NODE)
    w = J[:3] @ v
    assert_close(dR @ v, np.cross(w, R.T).T, 1e-12)


def test_derivatives_are_finite_at_rest_in_the_neutral_configuration():
    """No 0/0 at zero deformation, zero speed: exponentials are polynomials there."""
    s = mixed()
    q, v = s.neutral(), np.zeros(s.nv)
    for function, args in (
        ("integrate", [q, v, 0.0]),
        ("step", [q, v, v, 0.0]),
        ("pose", [q]),
        ("forward_dynamics", [q, v, v]),
    ):
        options = NODE if function in OF_NODE else {}
        wrt = list(INPUTS[function])
        for x in evaluated(program(s, function, wrt=wrt, **options), args):
            assert np.isfinite(x).all(), function


def test_compiled_jacobians_are_those_of_the_program():
    """C of derivatives, single and in lanes: step, with calls of the Jacobian of its callee."""
    s, rng = arm(), np.random.default_rng(8)
    f = lb.compile(s, "step", wrt=["dt"], lanes=4)
    states = [values(rng, s, "step") for _ in range(7)]
    batch = f(*[np.array(x) for x in zip(*states)])
    for i, args in enumerate(states):
        expected = evaluated(f.program, args)
        for x, y, z in zip(f(*args), batch, expected):
            assert_close(x, z, 1e-12)
            assert_close(y[i], z, 1e-12)


def test_step_jacobian_at_zero_dt_is_the_identity():
    """On the tangent space, quaternions included."""
    s, rng = mixed(), np.random.default_rng(9)
    q, v, tau, _ = values(rng, s, "step")
    assert quaternion_slices(s)
    dq_dq, dq_dv, dv_dq, dv_dv = evaluated(program(s, "step", wrt=["q", "v"]), [q, v, tau, 0.0])
    assert_close(dq_dq, np.eye(s.nv), 1e-13)
    assert_close(dv_dv, np.eye(s.nv), 1e-13)
    assert_close(dq_dv, np.zeros((s.nv, s.nv)), 1e-13)
    assert_close(dv_dq, np.zeros((s.nv, s.nv)), 1e-13)
