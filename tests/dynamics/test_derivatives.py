"""Slopes of forward and inverse dynamics: against complex steps of the kernels and against differences."""

import cmath

import numpy as np
import pytest

import limber as lb
from helpers.closed import four_bar, rod
from helpers.compare import some_externals
from helpers.every_kind import every_joint_and_mode_kind
from helpers.random_systems import random_assembly, random_flexible_body, random_state
from limber.assembly.parameter_constants import stepped
from limber.dynamics.evaluate import evaluated, node_pairs
from limber.dynamics.slopes import slopes_by_rows
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
        # the same arithmetic, but compiled into another function, whose rounding depends on the processor
        assert_slopes(
            d.value, getattr(lb, of)(s, q, v, x, external=external), 1e-13, f"{of} itself"
        )
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


# slopes are there at states that do not satisfy the closures too
@pytest.mark.filterwarnings("ignore:the closure 'tips' is off:limber.errors.ModelWarning")
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
    """The recursions keep their digits over hundreds of joints: that of rigid systems against that of flexible ones."""
    rng = np.random.default_rng(6)
    a = lb.Assembly("chain", gravity=(0, 0, -9.81))
    for i in range(150):
        on = {"to": f"b{i - 1}", "at": "tip"} if i else {}
        a.attach(f"b{i}", rod(), lb.Revolute(np.eye(3)[i % 3]), **on)
    s = a.build()
    q, v, tau = 0.1 * rng.standard_normal((3, s.nv))
    d = lb.derivatives(s, q, v, tau)
    found = evaluated(s, "forward_dynamics", (q, v, tau), row="flexible_forward_slopes")
    for name, other in slopes_by_rows("forward_dynamics", found).items():
        assert_slopes(getattr(d, name), other, 1e-9, name)


def test_long_flexible_chains():
    """Along random directions, against a complex step of the whole chain; forward against inverse dynamics."""
    rng = np.random.default_rng(6)
    a = lb.Assembly("chain", gravity=(0, 0, -9.81))
    beam = lb.beam(0.5, 1.0, EI=50.0, modes=1, damping=0.01, geometric_stiffening=True)
    for i in range(60):
        on = {"to": f"b{i - 1}", "at": "tip"} if i else {}
        a.attach(f"b{i}", beam, lb.Revolute(np.eye(3)[1 + i % 2], damping=0.1), **on)
    s = a.build()
    q, v, vdot = 0.02 * rng.standard_normal((3, s.nv))
    inverse = lb.derivatives(s, q, v, vdot, "inverse_dynamics")
    packed = s.dynamics
    step = rng.standard_normal((3, s.nv))
    given = [x + 1e-100j * dx for x, dx in zip((q, v, vdot), step)]
    work, out = [complex(np.nan)] * int(packed.topo[L.WORK_SIZE]), [0j] * s.nv
    lists = [x.tolist() for x in (packed.topo, packed.const)]
    state = [x.tolist() for x in given]
    COMPLEX.newton_euler.inverse_dynamics(*lists, work, *state, 0, [], [], out)
    found = inverse.q @ step[0] + inverse.v @ step[1] + inverse.vdot @ step[2]
    assert_slopes(found, np.array(out).imag / 1e-100, 1e-11, "along a direction")
    forward = lb.derivatives(s, q, v, inverse.value)
    for by in ("q", "v"):
        back = -inverse.vdot @ getattr(forward, by)
        assert_slopes(back, getattr(inverse, by), 1e-8, f"by {by}")
    up, down = (lb.forward_dynamics(s, q, v, inverse.value + x) for x in (step[2], -step[2]))
    assert_slopes(forward.tau @ step[2], 0.5 * (up - down), 1e-9, "by tau")  # vdot is linear in tau


def test_every_joint_and_mode_kind():
    """Every branch of the kernels, and a body with so many modes that its integrals are stored densely."""
    for fidelity in ("full", "ruthless"):
        s, rng = every_joint_and_mode_kind(fidelity)
        q, v, x = random_state(rng, s)
        check(s, q, v, x, {("base", 0): rng.standard_normal(6), ("b5", 1): rng.standard_normal(6)})
    rng = np.random.default_rng(8)
    for second in (False, True):
        a = lb.Assembly("dense", gravity=(0.3, 0.2, -9.81))
        a.attach("a", random_flexible_body(rng, 9, rotary=second), lb.Spherical())
        a.attach(
            "b",
            random_flexible_body(rng, 8, second=second),
            lb.Universal("x", "y"),
            "a",
            1,
            inboard=1,
        )
        a.attach("c", rod(), lb.Revolute("z"), "b", 0)
        s = a.build()
        q, v, x = random_state(rng, s)
        check(s, q, v, x, {("b", 1): rng.standard_normal(6)})


# --- parameters of the model -----------------------------------------------------------------


def changed(name, value, direction, h):
    """A parameter moved by h along a direction; a rotation stays one."""
    if name.endswith(".rotation"):
        return value @ so3_exp(h * direction)
    return value + h * direction


def so3_exp(w):
    """The rotation by a rotation vector."""
    angle = max(np.linalg.norm(w), 1e-300)
    K = np.cross(np.eye(3), -w / angle)
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def direction_of(rng, name, value):
    """A direction in which a parameter may change, and the change of its numbers that this is."""
    if name.endswith(".rotation"):
        w = rng.standard_normal(3)
        return w, value @ np.cross(np.eye(3), -w)
    d = 0.1 * rng.standard_normal(value.shape) * np.abs(value)
    if name.endswith(
        ("offset", "offset_b", "com", "gravity")
    ):  # zeros of others may not become negative
        d += 0.1 * rng.standard_normal(value.shape) * (value == 0.0)
    if name.endswith((".stiffness", ".damping")):
        d = 0.1 * value  # stays positive semidefinite
    elif value.ndim == 2:
        d = 0.5 * (d + d.T)
    return d, d


def by_differences_of(s, function, name, direction, h=1e-3):
    """The slope of function(system) along a direction of a parameter, by central differences of fourth order."""
    value = s.parameters[name].value

    def f(h):
        return function(s.with_parameters({name: changed(name, value, direction, h)}))

    return (8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)


def check_parameters(s, q, v, x, external, names, rng, of, function, exact=True):
    """Slopes by parameters of functions of a system with one array as value."""
    d = lb.derivatives(s, q, v, x, of, external=external, by=names)
    for name in names:
        slope = d.parameters[name]
        value = s.parameters[name].value
        assert slope.shape == (s.nv, *value.shape)
        direction, change = direction_of(rng, name, value)
        found = np.tensordot(slope, change, axes=value.ndim)
        rough = by_differences_of(s, function, name, direction)
        size = max(np.abs(rough).max(), 1e-8 * np.abs(d.value).max(), 1e-8)
        assert np.abs(found - rough).max() <= 1e-6 * size + 1e-9, f"{of} by {name}, differences"
        if exact:
            steps = by_complex_constants(s, q, v, x, of, external, name)
            size = max(np.abs(steps).max(), 1e-8)
            assert np.abs(slope - steps).max() <= 1e-10 * size, f"{of} by {name}, complex steps"


def by_complex_constants(s, q, v, x, of, external, name):
    """Slopes by a parameter from complex steps of the constants of the plain kernels, from end to end."""
    external = external or {}
    packed, parameter = s.dynamics, s.parameters[name]
    index = node_pairs(s, packed, external).tolist()
    wrenches = np.concatenate([*external.values(), np.zeros(1)]).tolist()
    kernel = COMPLEX.newton_euler.inverse_dynamics
    if of == "forward_dynamics":
        kernel = (COMPLEX.closed if s.closures else COMPLEX.articulated).forward_dynamics
    columns = []
    for i in range(parameter.value.size):
        const = stepped(s, packed, parameter, i, 1e-100j).tolist()
        work = [complex(np.nan)] * int(packed.topo[L.WORK_SIZE])
        given = [(a + 0j).tolist() for a in (q, v, x)]
        out = [0j] * s.nv
        kernel(packed.topo.tolist(), const, work, *given, len(external), index, wrenches, out)
        columns.append(np.array(out).imag / 1e-100)
    slope = np.stack(columns, axis=-1).reshape(s.nv, *parameter.value.shape)
    if name.endswith(".rotation"):  # the part along rotations
        R = parameter.value
        slope = 0.5 * (slope - R @ np.swapaxes(slope, -1, -2) @ R)
    if name.endswith((".stiffness", ".damping")) and parameter.value.ndim == 2:
        slope = np.triu(slope + np.swapaxes(slope, -1, -2) * (1.0 - np.eye(slope.shape[-1])))
    return slope


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("kind", ["rigid", "physics", "stiffened"])
def test_parameters(kind, fidelity):
    """Slopes by every parameter of random trees."""
    rng = np.random.default_rng([7, len(kind)])
    s = random_assembly(rng, bodies=3, **{**KINDS[kind], "physics": True}).build(fidelity=fidelity)
    q, v, x = random_state(rng, s)
    external = some_externals(rng, s)
    for of in FUNCTIONS:
        function = getattr(lb, of)
        check_parameters(
            s, q, v, x, external, [*s.parameters], rng, of,
            lambda t, f=function: f(t, q, v, x, external=external),
        )  # fmt: skip


def test_stiffnesses_of_beams():
    """EI, GJ, EA, damping ratios and masses of beams, on which the modal damping depends too."""
    rng = np.random.default_rng(1)
    a = lb.Assembly("beams", gravity=(0, -9.81, 1.0))
    modes = {"bending": 1, "torsion": 1, "stretch": 1}
    for i in range(2):
        on = {"to": "b0", "at": "tip"} if i else {}
        beam = lb.beam(
            1.0, 2.0, EI=(30.0, 20.0), GJ=10.0, EA=1e3, modes=modes, damping=0.02, polar_inertia=0.1
        )
        a.attach(f"b{i}", beam, lb.Revolute("z", damping=0.1), **on)
    s = a.build()
    q, v, x = random_state(rng, s)
    names = [n for n in s.parameters if not n.endswith("rotation")]
    assert {"b0.EI", "b1.GJ", "b1.EA", "b0.mass", "b0.damping_ratio", "gravity"} <= set(names)
    for of in FUNCTIONS:
        function = getattr(lb, of)
        check_parameters(
            s, q, v, x, None, names, rng, of, lambda t, f=function: f(t, q, v, x), exact=False
        )


def test_parameters_of_batches():
    rng = np.random.default_rng(4)
    s = random_assembly(rng, bodies=3).build()
    states = [random_state(rng, s) for _ in range(3)]
    q, v, tau = (np.array(x) for x in zip(*states))
    d = lb.derivatives(s, q, v, tau, by=("v", "b1.mass", "b2.offset"))
    assert d.v.shape == (3, s.nv, s.nv)
    assert d.parameters["b1.mass"].shape == (3, s.nv)
    assert "parameters['b2.offset'] (3, " in repr(d)
    for i in range(3):
        one = lb.derivatives(s, q[i], v[i], tau[i], by=("b1.mass", "b2.offset"))
        for name in ("b1.mass", "b2.offset"):
            np.testing.assert_allclose(
                d.parameters[name][i], one.parameters[name], rtol=1e-9, atol=1e-12
            )
    with pytest.raises(AttributeError, match="are not with respect to parameters"):
        _ = lb.derivatives(s, q, v, tau).parameters
    with pytest.raises(AttributeError, match=r"are with respect to b1\.mass, b2\.offset, not q"):
        _ = one.q


# --- closure forces ---------------------------------------------------------------------------


def all_forces(found):
    """The forces of all closures in one vector."""
    return np.concatenate([np.atleast_1d(x) for x in found.values()])


# slopes are there at states that do not satisfy the closures too
@pytest.mark.filterwarnings("ignore:the closure 'tips' is off:limber.errors.ModelWarning")
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("joint", ["universal", "compound", "spherical"])
def test_closure_forces(joint, fidelity):
    rng = np.random.default_rng(5)
    s = two_arms(CLOSING[joint]).build(fidelity=fidelity)
    q, v, x = random_state(rng, s)
    external = {("c1", "mid"): rng.standard_normal(6)}
    names = ["b0.EI", "a1.mass", "c0.offset", "tips.offset", "tips.offset_b", "gear.coefficients"]
    inputs = ("q", "v", "tau", "external")
    d = lb.derivatives(s, q, v, x, "constraint_forces", external=external, by=(*inputs, *names))

    def forces(t=s, q=q, v=v, x=x, external=external):
        return all_forces(lb.constraint_forces(t, q, v, x, external=external))

    np.testing.assert_allclose(all_forces(d.value), forces(), rtol=1e-8, atol=1e-8)
    assert d.q["tips"].shape == (6, s.nv) and d.q["gear"].shape == (s.nv,)

    def slope(function, h=1e-4):
        near, far = function(h) - function(-h), function(2 * h) - function(-2 * h)
        return (8 * near - far) / (12 * h)

    def stacked(found, columns):
        return np.concatenate([np.reshape(y, (-1, columns)) for y in found.values()])

    for name, f in {
        "q": lambda e: lambda h: forces(q=lb.integrate(s, q, e, h)),
        "v": lambda e: lambda h: forces(v=v + h * e),
        "tau": lambda e: lambda h: forces(x=x + h * e),
    }.items():
        rough = np.stack([slope(f(e)) for e in np.eye(s.nv)], axis=-1)
        assert_slopes(stacked(getattr(d, name), s.nv), rough, 1e-6, name)
    key = ("c1", "mid")
    rough = [slope(lambda h, e=e: forces(external={key: external[key] + h * e})) for e in np.eye(6)]
    assert_slopes(stacked(d.external[key], 6), np.stack(rough, axis=-1), 1e-6, "external")
    for name in names:
        value = s.parameters[name].value
        direction, change = direction_of(rng, name, value)
        found = stacked(d.parameters[name], value.size) @ change.ravel()
        rough = by_differences_of(s, forces, name, direction)
        size = max(np.abs(rough).max(), np.abs(forces()).max())  # some slopes are zero
        assert np.abs(found - rough).max() <= 1e-6 * size, name


@pytest.mark.slow
def test_parameters_of_closed_systems():
    rng = np.random.default_rng(6)
    s = two_arms(CLOSING["universal"]).build()
    q, v, x = random_state(rng, s)
    names = [n for n in s.parameters if not n.endswith("_b")]
    check_parameters(
        s, q, v, x, None, names, rng, "forward_dynamics",
        lambda t: lb.forward_dynamics(t, q, v, x), exact=False,
    )  # fmt: skip


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
    rng = np.random.default_rng(0)
    s = random_assembly(rng, bodies=3, tree=False, flexible=0.0, kinds=["Revolute"]).build()
    q, v, tau = random_state(rng, s)
    d = lb.derivatives(s, q, v, tau, by="v")
    assert d.v.shape == (3, 3) and "v (3, 3)" in repr(d)
    with pytest.raises(AttributeError, match="are with respect to v, not q: add it to `by`"):
        _ = d.q
    with pytest.raises(AttributeError, match="forward_dynamics has no input vdot"):
        _ = d.vdot
    with pytest.raises(AttributeError, match="do not include external wrenches"):
        _ = d.external


REFUSED = {
    "of": (
        {"of": "bias"},
        "of must be one of 'forward_dynamics', 'inverse_dynamics', 'constraint_forces', got 'bias'",
    ),
    "of an array": ({"of": np.zeros(3)}, "of must be one of 'forward_dynamics'"),
    "input": ({"by": "qq"}, "by='qq' is not an input of forward_dynamics, which has q, v, tau"),
    "other input": ({"by": ("q", "vdot")}, "by='vdot' is not an input of forward_dynamics"),
    "external": ({"by": "external"}, 'by="external" requires the wrenches: give'),
    "parameter": ({"by": ("q", "crank.mas")}, "parameter 'crank.mas' is unknown: body 'crank' has"),
    "body": ({"by": ("q", "krank.mass")}, "krank"),
    "none": ({"by": ()}, "by names no input"),
    "type": ({"by": 3}, "by must be the name of one input"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    options, message = REFUSED[case]
    s = four_bar().build()
    zero = np.zeros(3)
    with pytest.raises(lb.LimberError, match=message.replace("(", r"\(")):
        lb.derivatives(s, zero, zero, zero, **options)


@pytest.mark.parametrize("of", ["inverse_dynamics", "forward_dynamics"])
@pytest.mark.parametrize("quantity", ["stiffness", "damping"])
def test_modal_matrices_count_by_their_upper_triangle(of, quantity):
    a = lb.Assembly("a")
    modes = {"y": 1, "z": 1}
    a.attach("b", lb.beam(1.0, 1.0, EI=(100.0, 200.0), modes=modes, damping=0.01), lb.Revolute("z"))
    s = a.build()
    state = [0.1, 0.01, 0.02], [0.3, 0.2, 0.1], np.zeros(3)
    name = f"b.{quantity}"
    slope = lb.derivatives(s, *state, of=of, by=name).parameters[name]
    both = np.array([[0.0, 1e-3], [1e-3, 0.0]])
    value, function = s.parameters[name].value, getattr(lb, of)
    up, down = (
        function(s.with_parameters({name: value + sign * both}), *state) for sign in (1, -1)
    )
    assert np.allclose(slope[:, 0, 1], (up - down) / 2e-3, rtol=1e-6, atol=1e-8)
    assert np.abs(slope[:, 0, 1]).max() > 1e-3
    assert (slope[:, 1, 0] == 0.0).all()
