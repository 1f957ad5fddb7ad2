"""Singular mass matrices are refused, at build or at the call, by every method; sound ones are not.

The truth is the least eigenvalue of the mass matrix scaled to a unit diagonal.
"""

import warnings

import numpy as np
import pytest

import limber as lb
from helpers.loops import few_of
from helpers.random_systems import (
    random_assembly,
    random_joint,
    random_state,
    rotation_matrix,
    unit,
)
from helpers.units import coordinates_in_units, in_units
from limber.algebra.algorithms import ALGORITHMS
from limber.assembly.singular import generic_configuration
from limber.kernels import layout as L
from limber.native.calls import Call
from limber.native.status import OK, PIVOT_RATIO

METHODS = ("articulated", "composite", *ALGORITHMS)
KINDS = ("Revolute", "Prismatic", "Universal", "Spherical", "Cylindrical", "Planar", "Screw")
#: A scaled mass matrix with a least eigenvalue below the first is singular, above the second it is not.
SINGULAR, SOUND = 1e-14, 1e-9
X, Y, Z = np.eye(3)
#: Units of length and mass: metre and kilogram, millimetre and gram, kilometre and tonne, odd ones.
UNITS = {"SI": (1.0, 1.0), "mm, g": (1e3, 1e3), "km, t": (1e-3, 1e-3), "odd": (1e5, 1e-4)}
units = pytest.mark.parametrize("length, mass", UNITS.values(), ids=UNITS)


def chain(joints, tip, between=None, length=1.0):
    """Bodies a, b, ... in a row; all but the last are massless, or as `between` says."""
    joints = list(joints)
    between = lb.RigidBody(0.0) if between is None else between
    assembly, to = lb.Assembly("chain"), "world"
    for i, joint in enumerate(joints):
        name = chr(ord("a") + i)
        body = tip if i == len(joints) - 1 else between
        assembly.attach(name, body, joint, to=to, offset=(0.0, 0.0, 0.3 * length))
        to = name
    return assembly


def load(length=1.0, mass=1.0, inertia=0.05):
    """5 kg at the end, with inertia or without."""
    com = np.array([0.1, 0.05, 0.3]) * length
    return lb.RigidBody(5.0 * mass, com, inertia * mass * length**2 * np.diag([1.0, 1.2, 1.4]))


def least_eigenvalue(system, q):
    M = lb.mass_matrix(system, q)
    size = np.sqrt(np.maximum(np.diag(M), 1e-300))
    return np.linalg.eigvalsh(M / np.outer(size, size))[0]


def answers(system, q):
    """Accelerations by every method, in units of their own; None where it refuses."""
    size = np.sqrt(np.diag(lb.mass_matrix(system, q)))
    tau, zero = size * np.linspace(-1.0, 2.0, system.nv), np.zeros(system.nv)
    found = {}
    for method in METHODS:
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*has lost digits", lb.errors.ModelWarning)
                found[method] = size * lb.forward_dynamics(system, q, zero, tau, method=method)
        except lb.LimberError as error:
            assert "singular" in str(error)
            found[method] = None
    return found


@units
@pytest.mark.parametrize("joints", range(2, 13))
@pytest.mark.parametrize("inertia", [0.0, 0.05], ids=["point", "body"])
def test_massless_bodies_have_no_more_freedoms_than_what_they_carry(joints, inertia, length, mass):
    axes = [Y if (joints - i) % 2 else X for i in range(joints)]
    assembly = chain(map(lb.Revolute, axes), load(length, mass, inertia), length=length)
    if joints <= (6 if inertia else 3):
        system = assembly.build()
        assert least_eigenvalue(system, generic_configuration(system)) > SOUND
    else:
        with pytest.raises(lb.LimberError, match=r"moves no mass, alone or together .* outboard"):
            assembly.build()


def test_the_freedom_that_is_one_too_many_is_named():
    """A seventh axis under six: the body at the base is the one that moves nothing."""
    assembly = chain(map(lb.Revolute, (Z, Y, Z, Y, Z, Y, Z)), load())
    with pytest.raises(lb.LimberError, match=r"body 'a': joint speed 0 .*Give 'a' or a body"):
        assembly.build()


@pytest.mark.parametrize("seed", few_of(60, 30))
def test_chains_are_refused_exactly_where_their_mass_matrix_is_singular(seed):
    """Chains of massless and nearly massless bodies, all kinds of joints, of small and large units."""
    rng = np.random.default_rng(seed)
    length, mass = 10.0 ** rng.uniform(-3.0, 3.0, 2)
    light = mass * 10.0 ** rng.uniform(-10.0, 0.0) * (rng.random() < 0.4)
    between = lb.RigidBody(light, inertia=0.01 * light * length**2 * np.eye(3))
    kinds = KINDS if seed % 2 else ("Revolute", "Prismatic")
    joints = [random_joint(rng, kinds) for _ in range(rng.integers(2, 9))]
    assembly = chain(joints, load(length, mass, 0.05 * (seed % 3 > 0)), between, length)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.errors.ModelWarning)
        try:
            system = assembly.build()
        except lb.LimberError:
            system = unchecked(assembly)
            least = min(
                least_eigenvalue(system, generic_configuration(system, i)) for i in range(3)
            )
            assert least < SOUND
    for scale in (1.0, 10.0 ** rng.uniform(-6.0, 0.0)):
        q = generic_configuration(system, seed)
        for name, where in system.layout.items():
            if not list(system.joints[name].quaternions()):
                q[where.q_joint] *= scale
        least, found = least_eigenvalue(system, q), answers(system, q)
        exact = found["articulated"]
        if least < SINGULAR:
            assert all(x is None for x in found.values())
        elif least > SOUND:
            for x in found.values():
                np.testing.assert_allclose(x, exact, rtol=0, atol=1e-5 * np.abs(exact).max())
        else:
            assert exact is None or all(
                x is None or np.abs(x - exact).max() <= 0.05 * np.abs(exact).max()
                for x in found.values()
            )


def unchecked(assembly):
    """The system of an assembly that `build` refuses, for the checks at the call."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("limber.assembly.system.refuse_singular", lambda system: None)
        return assembly.build()


@pytest.mark.parametrize("method", METHODS)
@units
def test_a_stretched_arm_is_refused_by_every_method(method, length, mass):
    """Axes y, z, y under a point: in a row, the second turns the point about itself."""
    tip = lb.RigidBody(5.0 * mass, (0, 0, 0.3 * length))
    system = chain(map(lb.Revolute, (Y, Z, Y)), tip, length=length).build()
    zero, tau = np.zeros(3), np.ones(3)
    for body, angle in (("b", 0.0), ("[ab]", np.pi)):
        with pytest.raises(lb.LimberError, match=f"singular.*joint speed 0 .*'{body}' moves no"):
            lb.forward_dynamics(system, [0.3, 0.2, angle], zero, tau, method=method)
    bent = np.array([0.3, 0.2, 1e-2])
    vdot = lb.forward_dynamics(system, bent, zero, tau, method=method)
    M = lb.mass_matrix(system, bent)
    np.testing.assert_allclose(vdot, np.linalg.solve(M, tau), rtol=1e-6)


def test_a_batch_goes_on_behind_a_state_that_is_nearly_singular():
    system = chain(map(lb.Revolute, (Y, Z, Y)), lb.RigidBody(5.0, (0, 0, 0.3))).build()
    q = np.zeros((300, 3))
    q[:, 2] = np.where(np.arange(300) % 3 == 0, 1e-4, 0.5)
    zero, tau = np.zeros(3), np.ones(3)
    vdot = lb.forward_dynamics(system, q, zero, tau)
    for i in range(0, 300, 37):
        assert np.array_equal(vdot[i], lb.forward_dynamics(system, q[i], zero, tau))
    q[201, 2] = 0.0
    with pytest.raises(lb.LimberError, match=r"\(state 201 of the batch\).*singular"):
        lb.forward_dynamics(system, q, zero, tau)


@units
def test_nearly_singular_systems_are_warned_of_by_name(length, mass):
    """Axes z, y, z, y, z, y, z, the body on the second one of next to no mass."""
    light = 1e-10 * mass
    between = lb.RigidBody(light, inertia=light * length**2 * np.eye(3))
    assembly = chain(map(lb.Revolute, (Z, Y, Z, Y, Z, Y, Z)), load(length, mass), between, length)
    message = "body 'a': joint speed 0 .*almost no mass.*loses about 9 of 16 digits"
    with pytest.warns(lb.errors.ModelWarning, match=message):
        system = assembly.build()
    found = answers(system, generic_configuration(system))
    for x in found.values():
        np.testing.assert_allclose(x, found["articulated"], rtol=1e-3)


@pytest.mark.parametrize("seed", few_of(80, 20))
def test_random_trees_raise_no_alarm_in_any_units(seed):
    rng = np.random.default_rng(seed)
    assembly = random_assembly(rng, bodies=int(rng.integers(1, 9)), rotary=bool(seed % 2))
    system = assembly.build()
    q, v, tau = random_state(rng, system)
    for length, mass in UNITS.values():
        other = in_units(assembly, length, mass).build()
        lb.forward_dynamics(other, coordinates_in_units(system, q, length), v, tau)


def long_arm(n, slender=0.02):
    rod = lb.RigidBody(1.0, (0.5, 0, 0), np.diag([slender, 0.1, 0.1]))
    assembly, to = lb.Assembly("arm"), "world"
    for i in range(n):
        offset = (1.0, 0, 0) if i else (0, 0, 0)
        assembly.attach(f"{i}", rod, lb.Revolute((X, Y, Z)[i % 3]), to=to, offset=offset)
        to = f"{i}"
    return assembly


def slender_boom(joint):
    """A boom of 10 m that turns about itself with hardly any inertia."""
    boom = lb.RigidBody(1.0, (5.0, 0, 0), np.diag([1e-9, 8.0, 8.0]))
    return lb.Assembly("boom").attach("boom", boom, joint)


UNUSUAL = {
    "long": lambda: long_arm(300),
    "slender": lambda: long_arm(30, 1e-5),
    "boom": lambda: slender_boom(lb.Revolute(X)),
    "boom on a ball": lambda: slender_boom(lb.Spherical()),
    "free boom": lambda: slender_boom(lb.Free()),
    "oblique boom": lambda: lb.Assembly("boom").attach(
        "boom", lb.beam(10.0, 1.0, EI=1.0, modes=2, polar_inertia=1e-9), lb.Revolute(X)
    ),
}


@pytest.mark.parametrize("make", UNUSUAL.values(), ids=UNUSUAL)
@pytest.mark.parametrize("bend", [0.0, 0.4, np.pi], ids=["straight", "bent", "folded"])
def test_unusual_but_sound_systems_raise_no_alarm(make, bend):
    system = make().build()
    q = system.neutral()
    for name, where in system.layout.items():
        if not list(system.joints[name].quaternions()):
            q[where.q_joint] = bend
    tau = np.linspace(1.0, 2.0, system.nv)
    vdot = lb.forward_dynamics(system, q, np.zeros(system.nv), tau)
    back = lb.inverse_dynamics(system, q, np.zeros(system.nv), vdot)
    np.testing.assert_allclose(back, tau, rtol=1e-6)


def test_an_axis_of_any_direction_is_judged_the_same():
    """Six axes of random directions are sound, seven are not, wherever they point."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        axes = [unit(rng) for _ in range(7)]
        chain(map(lb.Revolute, axes[:6]), load()).build()
        with pytest.raises(lb.LimberError, match=r"body 'a': .*moves no mass"):
            chain(map(lb.Revolute, axes), load()).build()


def far_screw(pitch):
    """Three parallel axes, and a screw that takes the last body far away."""
    body = lb.RigidBody(1.0, (0.1, 0.2, 0.1), (0.1, 0.12, 0.14))
    joints = (lb.Revolute(Y), lb.Revolute(Y), lb.Revolute(Y), lb.Screw(X, pitch))
    return chain(joints, body, body).build()


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_method_that_loses_half_of_the_digits_says_so(method):
    q, v, tau = np.array([0.3, 0.5, 0.2, 0.9]), np.ones(4), np.ones(4)
    for pitch in (1.0, 1e2, 1e3, 1e4):
        system = far_screw(pitch)
        size = np.sqrt(np.diag(lb.mass_matrix(system, q)))
        exact = lb.forward_dynamics(system, q, v, tau)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answer = lb.forward_dynamics(system, q, v, tau, method=method)
        loss = np.abs((answer - exact) * size).max() / np.abs(exact * size).max()
        assert loss < 1e-11 * pitch**2
        said = [w for w in caught if f"method='{method}' has lost digits" in str(w.message)]
        assert said or loss < 1e-7
        assert not caught or pitch == 1e4


def test_rest_is_no_loss():
    """At equilibrium accelerations are rounding errors, which no two methods share."""
    for seed in range(10):
        system = random_assembly(np.random.default_rng(seed), bodies=4).build()
        q, v, _ = random_state(np.random.default_rng(seed), system)
        hold = lb.bias(system, q, v)
        for method in METHODS:
            lb.forward_dynamics(system, q, v, hold, method=method)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("seed", range(10))
def test_bounds_of_pivots_hold_at_every_configuration(seed, fidelity):
    """P along a joint speed and the inertias that the bodies outboard bring there are at most three times the largest
    D_SIZE from its body on."""
    rng = np.random.default_rng(seed)
    kinds = ("Revolute", "Universal", "Spherical", "Fixed")
    flexible = 0.7 if fidelity == "ruthless" else 0.0
    s = random_assembly(rng, bodies=7, flexible=flexible, kinds=kinds).build(fidelity)
    topo, const = s.dynamics.topo, s.dynamics.const
    assert topo[L.BOUNDED]
    work, out = np.empty(topo[L.WORK_SIZE]), np.empty(s.nv)
    sweep = Call(s, "articulated_sweep", topo, const)
    bodies = range(topo[L.END] - L.COLUMNS, 0, -L.COLUMNS)
    for _ in range(20):
        assert sweep.run(random_state(rng, s), work, out, 0, 1) == OK
        outboard = {k: np.zeros(2) for k in (0, *bodies)}  # the largest angular and linear traces
        bound = 0.0
        for k in bodies:
            b = topo[k + L.WORK]
            P = work[b + L.P : b + L.P + 21]
            own = np.array([P[[0, 3, 5]].sum(), P[[15, 18, 20]].sum()])
            bound = max(bound, 3.0 * work[topo[k + L.W_PIVOTS] + L.D_SIZE])
            assert own[0] + outboard[k][0] <= bound * (1.0 + 1e-12)
            angular, linear = np.maximum(own, outboard[k])
            o = work[b + L.ORIGIN : b + L.ORIGIN + 3]
            p = topo[k + L.PARENT]
            outboard[p] = np.maximum(outboard[p], [angular + o @ o * linear, linear])


def test_distances_of_sliding_joints_are_not_known():
    """Pivots of a joint on the world are bounded though it slides, since nothing is inboard of it."""
    body = lb.RigidBody(1.0, (0.1, 0.2, 0.3), np.eye(3))
    for first, second, known in (
        (lb.Free(), lb.Revolute("z"), True),
        (lb.Prismatic("x"), lb.Revolute("z"), True),
        (lb.Revolute("z"), lb.Prismatic("x"), False),
        (lb.Screw("z", 3.0), lb.Revolute("z"), False),  # the column of its map is longer than 1
        (lb.CompoundJoint([lb.Prismatic("x"), lb.Revolute("z")]), lb.Revolute("z"), False),
    ):
        a = lb.Assembly("two bodies")
        a.attach("first", body, first)
        a.attach("second", body, second, "first", offset=(3.0, 4.0, 0.0))
        packed = a.build().dynamics
        assert packed.topo[L.BOUNDED] == known
        assert packed.const[L.REACH] == (25.0 if known else 0.0)


def test_pivots_of_a_long_chain_are_within_their_bounds():
    """A check that went through all inertias of 3,000 bodies would be slow."""
    rng = np.random.default_rng(0)
    a = lb.Assembly("chain")
    to = "world"
    for k in range(3000):
        place = {"offset": rng.uniform(-0.3, 0.3, 3), "rotation": rotation_matrix(rng)}
        a.attach(
            f"b{k}",
            lb.RigidBody(1.0, (0.1, 0.0, 0.1), 0.1 * np.eye(3)),
            lb.Revolute("z"),
            to,
            **place,
        )
        to = f"b{k}"
    s = a.build()
    topo = s.dynamics.topo
    work, out = np.empty(topo[L.WORK_SIZE]), np.empty(s.nv)
    state = random_state(rng, s)
    assert Call(s, "articulated_sweep", topo, s.dynamics.const).run(state, work, out, 0, 1) == OK
    records = work[topo[L.COLUMNS + L.W_PIVOTS] :][: 2 * s.nv].reshape(-1, 2)
    sizes = np.maximum.accumulate(records[::-1, 0])[::-1]
    assert (3.0 * sizes * records[:, 1] * PIVOT_RATIO < 1.0).all()
