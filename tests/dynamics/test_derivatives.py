"""Slopes of forward and inverse dynamics: against complex steps of the kernels and against differences."""

import cmath

import numpy as np
import pytest

import limber as lb
from helpers.closed import four_bar, rod
from helpers.compare import some_externals
from helpers.random_systems import random_assembly, random_state
from limber.dynamics.evaluate import evaluated, node_pairs
from limber.kernels import layout as L
from limber.kernels import plain

COMPLEX = plain.load(cmath.sin, cmath.cos, cmath.sqrt, cmath.log)

FUNCTIONS = {"forward_dynamics": ("q", "v", "tau"), "inverse_dynamics": ("q", "v", "vdot")}


def assert_slopes(actual, expected, tolerance, what):
    """Largest difference within `tolerance` of the largest slope."""
    assert actual.shape == expected.shape, what
    error = np.abs(actual - expected).max(initial=0.0) / max(
        np.abs(expected).max(initial=0.0), 1e-8
    )
    assert error <= tolerance, f"{what}: relative error {error:.2e} > {tolerance:.0e}"


def by_differences(s, q, v, x, of, external=None, h=1e-5):
    """Slopes by q, v and x by central differences of fourth order."""
    f = getattr(lb, of)

    def slope(function):
        columns = []
        for e in np.eye(s.nv):
            near = function(e, h) - function(e, -h)
            far = function(e, 2 * h) - function(e, -2 * h)
            columns.append((8 * near - far) / (12 * h))
        return np.stack(columns, axis=-1)

    return (
        slope(lambda e, h: f(s, lb.integrate(s, q, e, h), v, x, external=external)),
        slope(lambda e, h: f(s, q, v + h * e, x, external=external)),
        slope(lambda e, h: f(s, q, v, x + h * e, external=external)),
    )


def by_complex_steps(s, q, v, x, of, external=None):
    """Slopes along q and by v and x from complex steps of the kernels, as plain Python and from end to end."""
    external = external or {}
    packed = s.dynamics
    index = node_pairs(s, packed, external)
    wrenches = np.concatenate([*external.values(), np.zeros(1)])
    kernel = COMPLEX.newton_euler.inverse_dynamics
    if of == "forward_dynamics":
        kernel = (COMPLEX.closed if s.closures else COMPLEX.articulated).forward_dynamics

    def slope(dq, dv, dx):
        out = np.zeros(s.nv, dtype=complex)
        work = np.full(int(packed.topo[L.WORK_SIZE]), np.nan, dtype=complex)
        given = (q + 1e-100j * dq, v + 1e-100j * dv, x + 1e-100j * dx)
        # numbers of Python are faster than those of NumPy
        lists = [a.tolist() for a in (packed.topo, packed.const, work, *given)]
        result = out.tolist()
        kernel(*lists, len(external), index.tolist(), wrenches.tolist(), result)
        return np.array(result).imag / 1e-100

    zero_q, zero = np.zeros(s.nq), np.zeros(s.nv)
    unit = np.eye(s.nv)
    return [
        np.stack([slope(lb.qdot(s, q, e), zero, zero) for e in unit], axis=-1),
        np.stack([slope(zero_q, e, zero) for e in unit], axis=-1),
        np.stack([slope(zero_q, zero, e) for e in unit], axis=-1),
    ]


def check(s, q, v, x, external=None, exact=True):
    """Both functions at a state, against differences and, if `exact`, against complex steps."""
    for of, names in FUNCTIONS.items():
        d = lb.derivatives(s, q, v, x, of, external=external)
        np.testing.assert_array_equal(d.value, getattr(lb, of)(s, q, v, x, external=external))
        rough = by_differences(s, q, v, x, of, external)
        for name, y in zip(names, rough):
            assert_slopes(getattr(d, name), y, 1e-6, f"{of} by {name}, differences")
        if exact:
            for name, y in zip(names, by_complex_steps(s, q, v, x, of, external)):
                assert_slopes(getattr(d, name), y, 1e-10, f"{of} by {name}, complex steps")
        for key in external or {}:
            columns = []
            for e in np.eye(6):
                up, down = ({**external, key: external[key] + y} for y in (e, -e))
                up, down = (getattr(lb, of)(s, q, v, x, external=y) for y in (up, down))
                columns.append(0.5 * (up - down))
            assert_slopes(d.external[key], np.stack(columns, axis=-1), 1e-9, f"{of} by {key}")


KINDS = {
    "rigid": {"flexible": 0.0},
    "rigid chain": {"flexible": 0.0, "tree": False, "kinds": ["Revolute", "Prismatic"]},
    "flexible": {"flexible": 0.8},
    "physics": {"physics": True},
    "stiffened": {"flexible": 0.9, "second": True, "rotary": True, "physics": True},
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("kind", KINDS)
def test_random_trees(kind, fidelity, seed):
    rng = np.random.default_rng([seed, len(kind)])
    s = random_assembly(rng, bodies=4, **KINDS[kind]).build(fidelity=fidelity)
    q, v, x = random_state(rng, s)
    check(s, q, v, x, some_externals(rng, s) if seed else None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_trees(kind, fidelity, seed):
    rng = np.random.default_rng([100 + seed, len(kind)])
    s = random_assembly(rng, bodies=9, **KINDS[kind]).build(fidelity=fidelity)
    q, v, x = random_state(rng, s)
    check(s, q, v, x, some_externals(rng, s))


CLOSING = {
    "fixed": lb.Fixed(),
    "revolute": lb.Revolute("z"),
    "prismatic": lb.Prismatic([1, 2, 3]),
    "screw": lb.Screw("y", 0.1),
    "universal": lb.Universal("x", [0, 1, 1]),
    "planar": lb.Planar("z"),
    "spherical": lb.Spherical(),
    "compound": lb.CompoundJoint([lb.Revolute("x"), lb.Prismatic("y")]),
}


def two_arms(joint):
    """Two arms with a flexible link, joined at their tips, with springs and friction in the joints, and a gear."""
    a = lb.Assembly("two arms", gravity=(0.3, -9.81, 0.2))
    beam = lb.beam(1.0, 1.0, EI=30.0, modes=1, geometric_stiffening=True)
    for i, place in enumerate([(0, 0, 0), (1, 0, 0)]):
        a.attach(f"a{i}", rod(), lb.Spherical(), offset=place)
        a.attach(f"b{i}", beam, lb.Revolute("z", stiffness=2.0, friction=0.3), f"a{i}", "tip")
        a.attach(f"c{i}", rod(), lb.Revolute([1, 1, 0], armature=0.2), f"b{i}", "tip")
    a.gear("c0", "c1", 0.5, name="gear")
    return a.close(("c0", "tip"), ("c1", "tip"), joint, name="tips")


@pytest.mark.slow  # its entry takes a minute to compile
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("joint", CLOSING)
def test_closed_systems(joint, fidelity):
    rng = np.random.default_rng(3)
    s = two_arms(CLOSING[joint]).build(fidelity=fidelity)
    q, v, x = random_state(rng, s)
    exact = (joint, fidelity) in (("universal", "full"), ("revolute", "ruthless"))
    check(s, q, v, x, {("c1", "mid"): rng.standard_normal(6)}, exact)


@pytest.mark.slow
def test_redundant_closures():
    """A planar four-bar linkage in space has three superfluous rows; its accelerations are smooth."""
    rng = np.random.default_rng(3)
    for coupler in (None, lb.beam(1.0, 1.0, EI=10.0, modes=1)):
        s = four_bar(coupler).build()
        q, v, x = random_state(rng, s)
        check(s, q, v, x)


def test_spacecraft_far_from_the_origin():
    """A moving base far away loses no digits: its place and its velocity change nothing."""
    rng = np.random.default_rng(2)
    a = lb.Assembly("spacecraft")
    a.attach("base", lb.RigidBody(100.0, (0.1, 0, 0), (20.0, 30.0, 40.0)), lb.Free())
    for i in range(4):
        a.attach(
            f"b{i}",
            rod(),
            lb.Revolute(np.eye(3)[i % 3]),
            f"b{i - 1}" if i else "base",
            offset=(1, 0, 0),
        )
    s = a.build()
    q, v, tau = random_state(rng, s)
    near = lb.derivatives(s, q, v, tau)
    moved = q.copy()
    moved[s.layout["base"].q_joint.start + 4 : s.layout["base"].q_joint.start + 7] += 7e6
    far = lb.derivatives(s, moved, v, tau)
    for name in ("q", "v", "tau"):
        assert_slopes(getattr(far, name), getattr(near, name), 1e-8, name)


def test_long_chains():
    """The recursions keep their digits over hundreds of joints: against sweeps over the same columns."""
    rng = np.random.default_rng(6)
    a = lb.Assembly("chain", gravity=(0, 0, -9.81))
    for i in range(150):
        on = {"to": f"b{i - 1}", "at": "tip"} if i else {}
        a.attach(f"b{i}", rod(), lb.Revolute(np.eye(3)[i % 3]), **on)
    s = a.build()
    q, v, tau = 0.1 * rng.standard_normal((3, s.nv))
    d = lb.derivatives(s, q, v, tau)
    found = evaluated(s, "forward_dynamics", (q, v, d.value), row="forward_slopes_by_steps")
    for name, y in zip(("q", "v", "tau"), found):
        assert_slopes(getattr(d, name), y.T, 1e-9, name)


def test_batches():
    rng = np.random.default_rng(4)
    s = random_assembly(rng, bodies=4).build()
    states = [random_state(rng, s) for _ in range(6)]
    q, v, tau = (np.array(x).reshape(2, 3, -1) for x in zip(*states))
    external = {("b3", None): rng.standard_normal((3, 6))}
    for of, names in FUNCTIONS.items():
        many = lb.derivatives(s, q, v, tau, of, external=external)
        assert many.q.shape == (2, 3, s.nv, s.nv)
        for i in np.ndindex(2, 3):
            one = {("b3", None): external["b3", None][i[1]]}
            single = lb.derivatives(s, q[i], v[i], tau[i], of, external=one)
            for name in names:
                np.testing.assert_allclose(
                    getattr(many, name)[i], getattr(single, name), rtol=1e-12, atol=1e-12
                )
            np.testing.assert_allclose(many.external["b3", None][i], single.external["b3", None])
    # arguments without a batch are shared
    shared = lb.derivatives(s, q[0, 0], v, tau[0, 0], "inverse_dynamics")
    assert shared.q.shape == shared.vdot.shape == (2, 3, s.nv, s.nv)


def test_only_what_is_asked_for():
    s = four_bar().build()
    q, v, tau = random_state(np.random.default_rng(0), s)
    d = lb.derivatives(s, q, v, tau, by="v")
    assert d.v.shape == (3, 3) and "v (3, 3)" in repr(d)
    with pytest.raises(AttributeError, match="are by v, not by q: name it in `by`"):
        _ = d.q
    with pytest.raises(AttributeError, match="forward_dynamics has no input vdot"):
        _ = d.vdot
    with pytest.raises(AttributeError, match="not by external wrenches"):
        _ = d.external


REFUSED = {
    "of": ({"of": "bias"}, "of must be one of 'forward_dynamics', 'inverse_dynamics', got 'bias'"),
    "input": ({"by": "qq"}, "by='qq' is no input of forward_dynamics, which has q, v, tau"),
    "other input": ({"by": ("q", "vdot")}, "by='vdot' is no input of forward_dynamics"),
    "external": ({"by": "external"}, 'by="external" needs the wrenches'),
    "parameter": (
        {"by": ("q", "crank.mass")},
        "slopes by parameters of the model are not available",
    ),
    "none": ({"by": ()}, "by names no input"),
    "type": ({"by": 3}, "by must be the name of an input"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    options, message = REFUSED[case]
    s = four_bar().build()
    zero = np.zeros(3)
    with pytest.raises(lb.LimberError, match=message.replace("(", r"\(")):
        lb.derivatives(s, zero, zero, zero, **options)
