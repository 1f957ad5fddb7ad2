"""Cut joints that have coordinates of their own: found wherever the ends are, at any distance."""

import numpy as np
import pytest

import limber as lb
from constraints.placing import close_here
from constraints.reference import derivative, end_pose, rows
from helpers.random_systems import random_state
from limber.control.kernel_slopes import along_tangent, slopes_of
from limber.dynamics import charts
from limber.dynamics.closure_loads import closure_stiffness
from limber.dynamics.evaluate import evaluated
from limber.dynamics.freedoms import undeformed
from limber.dynamics.rows import row_space

JOINTS = {
    "frictionless point": lb.FrictionlessPoint(),
    "sliding line": lb.SlidingLine(0.1),
    "hinge and slider": lb.CompoundJoint([lb.Revolute("z"), lb.Prismatic("x")]),
    "hinge, slider and hinge": lb.CompoundJoint(
        [lb.Revolute("z"), lb.Prismatic("x"), lb.Revolute("y")]
    ),
    "ball and slider": lb.CompoundJoint([lb.Spherical(), lb.Prismatic("x")]),
    "telescope": lb.CompoundJoint([lb.Universal("x", "y"), lb.Prismatic("z")]),
    "screw and slider": lb.CompoundJoint([lb.Screw("z", 0.1), lb.Prismatic([1, 0, 0.5])]),
}


def quaternion(R):
    """The unit quaternion of a rotation, by the eigenvector of Bar-Itzhack's matrix."""
    K = np.array(
        [
            [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [0, R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [0, 0, R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
            [0, 0, 0, R[2, 2] - R[0, 0] - R[1, 1]],
        ]
    )
    return np.linalg.eigh(K, UPLO="U")[1][:, -1]


@pytest.mark.parametrize("length", [0.001, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("name", JOINTS)
def test_a_body_held_by_a_cut_joint_moves_as_one_on_that_joint(name, length):
    """A free body that a joint holds, cut, accelerates as the body that is attached by the joint, at any distance."""
    on, held = on_and_held(JOINTS[name])
    rng = np.random.default_rng(0)
    slides = np.linalg.norm(lb.jacobian(on, on.neutral(), "body")[:3], axis=0) < 1e-9
    for _ in range(20):
        way = rng.uniform(-2.5, 2.5, on.nv) * np.where(slides, length, 1.0)
        at = lb.integrate(on, on.neutral(), way, 1.0)
        assert_alike(on, held, at, 0.1 * rng.standard_normal(on.nv), max(1.0, length))


def on_and_held(joint, length=1.0):
    """A body on a joint, and a free one that the same joint, cut, holds; sizes are in units of length."""
    center, gravity = length * np.array([0.1, -0.2, 0.3]), length * np.array([1.0, -9.0, 3.0])
    body = lb.RigidBody(2.0, center, length**2 * np.array([0.5, 0.6, 0.7]))
    on = lb.Assembly("on", gravity=gravity).attach("body", body, joint).build()
    held = lb.Assembly("held", gravity=gravity).attach("body", body, lb.Free())
    return on, held.close(("world", (0, 0, 0)), ("body", None), joint, name="cut").build()


def as_held(on, held, at, speed):
    """The state of the free body that is that of the body on its joint."""
    R, p = lb.pose(on, at, "body")
    q = np.concatenate([quaternion(R), p])
    return q, np.linalg.solve(lb.jacobian(held, q, "body"), lb.jacobian(on, at, "body") @ speed)


def assert_alike(on, held, at, speed, length=1.0):
    """The closure is met, and the body accelerates alike."""
    q, v = as_held(on, held, at, speed)
    assert np.abs(lb.constraint_residual(held, q)).max() < 1e-12 * length
    rates = lb.forward_dynamics(on, at, speed, np.zeros(on.nv))
    wanted = lb.acceleration(on, at, speed, rates, "body")
    rates = lb.forward_dynamics(held, q, v, np.zeros(6))
    found = lb.acceleration(held, q, v, rates, "body")
    assert np.allclose(found, wanted, rtol=1e-7, atol=1e-7 * np.abs(wanted).max())


def turned_about(axis, place):
    """A hinge about an axis through a place, in the axes of the frame before it."""
    axis = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    return lb.SimpleJoint(np.concatenate([axis, np.cross(place, axis)])[:, None])


RODS = {
    "two hinges": [lb.Revolute("z"), turned_about([0, 0, 1], (0.5, 0, 0))],
    "a long rod": [lb.Revolute("z"), turned_about([0, 0, 1], (20.0, 0, 0))],
    "hinges that are not quite parallel": [
        lb.Revolute("z"),
        turned_about([0, 0.2, 1], (0.5, 0.1, 0.3)),
    ],
    "a hinge and a cross": [
        lb.Revolute("z"),
        turned_about([0, 0, 1], (0.5, 0, 0)),
        turned_about([0, 1, 0], (0.5, 0, 0)),
    ],
    "almost parallel hinges and a slider": [
        lb.Revolute("z"),
        lb.Revolute([0, 0.1, 1]),
        lb.Prismatic("x"),
    ],
}


@pytest.mark.parametrize("name", RODS)
def test_rods_without_mass_are_found_in_all_positions(name):
    """A closure by two hinges of a rod is met wherever these turn, all the way round."""
    joint = lb.CompoundJoint(RODS[name])
    a = lb.Assembly("held").attach("body", lb.RigidBody(2.0, inertia=(1, 1, 1)), lb.Free())
    held = a.close(("world", (0, 0, 0)), ("body", None), joint, name="rod").build()
    angles = np.linspace(-3.1, 3.1, 32)
    q = []
    for first in angles:
        for second in angles:
            R, p = joint.configuration([first, second, 0.7][: joint.nq])
            q.append(np.concatenate([quaternion(R), p]))
    q = np.array(q)
    off = np.abs(lb.constraint_residual(held, q)).max(axis=1)
    assert (off < 1e-12 * np.maximum(1.0, np.abs(q[:, 4:]).max(axis=1))).all()


def any_hinges(count, seed, pitch=0.0):
    """Hinges, or screws, about axes in general positions."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(count):
        axis, place = rng.normal(size=3), 0.5 * rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        twist = np.concatenate([axis, np.cross(place, axis) + pitch * axis])
        parts.append(lb.SimpleJoint(twist[:, None]))
    return parts


#: Joints of which most have several positions with almost the same place of their ends.
FAR = {
    "rod of crosses": [
        lb.Universal("x", "y"),
        turned_about([1, 0, 0], (0, 0, 0.8)),
        turned_about([0, 1, 0], (0, 0, 0.8)),
    ],
    "rod of a ball and a cross": [
        lb.Spherical(),
        turned_about([1, 0, 0], (0, 0, 0.8)),
        turned_about([0, 1, 0], (0, 0, 0.8)),
    ],
    "three hinges": any_hinges(3, 0),
    "four hinges": any_hinges(4, 1),
    "five hinges": any_hinges(5, 2),
    "three screws": any_hinges(3, 3, 0.2),
    "hinges and sliders": [*any_hinges(2, 4), lb.Prismatic([1, 0.3, 0.2]), *any_hinges(1, 5)],
}


def anywhere(joint, rng):
    """Coordinates of a joint, all the way round."""
    theta = rng.uniform(-np.pi, np.pi, joint.nq)
    for part in joint.quaternions():
        theta[part] = rng.normal(size=4)
        theta[part] /= np.linalg.norm(theta[part])
    return theta


@pytest.mark.parametrize("name", FAR)
def test_coordinates_of_any_joint_are_found_all_the_way_round(name):
    joint = lb.CompoundJoint(FAR[name])
    on, held = on_and_held(joint)
    rng = np.random.default_rng(0)
    at = [anywhere(joint, rng) for _ in range(300)]
    q = [np.concatenate([quaternion(R), p]) for R, p in map(joint.configuration, at)]
    assert (
        np.abs(lb.constraint_residual(held, q)).max() < 1e-9
    )  # where its axes are almost parallel, digits are few
    for theta in at[:10]:
        if np.linalg.svd(joint.H(theta), compute_uv=False)[-1] > 0.05:
            assert_alike(on, held, theta, rng.standard_normal(on.nv))


@pytest.mark.parametrize("length", [1e-6, 1e-3, 1.0, 1e5])
@pytest.mark.parametrize("name", ["two hinges", "rod of crosses", "three hinges"])
def test_a_joint_of_any_size_holds_alike(name, length):
    """From a micrometre to 100 km: neither the search nor the rows depend on the unit of length."""
    parts = {**FAR, **RODS}[name]
    joint = lb.CompoundJoint([in_units(part, length) for part in parts])
    on, held = on_and_held(joint, length)
    unit = np.array([1.0, 1.0, 1.0, length, length, length])
    rng = np.random.default_rng(5)
    at = [t for t in (anywhere(joint, rng) for _ in range(30)) if width(joint, t, length) > 0.1]
    assert len(at) > 10
    speed, none = np.ones(on.nv), np.zeros(on.nv)
    for theta in at:
        q, v = as_held(on, held, theta, speed)
        assert np.abs(lb.constraint_residual(held, q)).max() < 1e-12 * length
        rates = lb.forward_dynamics(on, theta, speed, none)
        wanted = lb.acceleration(on, theta, speed, rates, "body") / unit
        rates = lb.forward_dynamics(held, q, v, np.zeros(6))
        found = lb.acceleration(held, q, v, rates, "body") / unit
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-10 * np.abs(wanted).max())


def width(joint, theta, length=1.0):
    """The least singular value of the joint map in units of length, which is small next to a singular position."""
    H = np.array(joint.H(theta))
    H[3:] /= length
    return np.linalg.svd(H, compute_uv=False)[-1]


def in_units(part, length):
    """A part of a joint whose lengths are so many times those of another."""
    if isinstance(part, lb.Universal):  # its axes meet
        return part
    twists = np.array(part.H(part.neutral()))
    return lb.SimpleJoint(np.vstack([twists[:3], length * twists[3:]]))


def held_anywhere(count):
    """A body that a massless rod between crosses holds, and states of it, all the way round."""
    joint = lb.CompoundJoint(FAR["rod of crosses"])
    on, held = on_and_held(joint)
    rng = np.random.default_rng(1)
    states = [as_held(on, held, anywhere(joint, rng), rng.standard_normal(4)) for _ in range(count)]
    return held, *map(np.array, zip(*states))


def test_a_batch_has_what_each_of_its_states_has():
    """States whose coordinates are found from different starts, beside one that is wrong."""
    held, q, v = held_anywhere(12)
    found = lb.forward_dynamics(held, q, v, np.zeros(6))
    for i in range(12):
        alone = lb.forward_dynamics(held, q[i], v[i], np.zeros(6))
        np.testing.assert_allclose(found[i], alone, rtol=0.0, atol=1e-9 * np.abs(alone).max())
    v[7, 2] = np.nan
    with pytest.raises(lb.LimberError, match=r"v\[2\] is nan \(state 7 of the batch\)"):
        lb.forward_dynamics(held, q, v, np.zeros(6))


def test_the_quick_way_answers_where_the_usual_start_finds_the_coordinates():
    """It leaves all other states, and those that meet no closure, to the careful way."""
    held, q, v = held_anywhere(40)
    wanted = lb.forward_dynamics(held, q, v, np.zeros(6))
    quick = held._ready["articulated"]
    found = [quick(*state, np.zeros(6)) for state in zip(q, v)]
    answered = [i for i, x in enumerate(found) if x is not None]
    assert 10 < len(answered) < 30
    for i in answered:
        np.testing.assert_allclose(found[i], wanted[i], rtol=0.0, atol=1e-9 * np.abs(wanted).max())
    off = q[answered[0]] + 1e-6 * np.eye(7)[4]
    assert quick(off, v[answered[0]], np.zeros(6)) is None


@pytest.mark.parametrize("method", ["dop853", "sdirk4"])
@pytest.mark.parametrize("name", ["rod of crosses", "rod of a ball and a cross", "three screws"])
def test_a_run_follows_coordinates_through_many_turns(name, method):
    """The body that is held moves as the one on the joint."""
    joint = lb.CompoundJoint(FAR[name])
    on, held = on_and_held(joint)
    rng = np.random.default_rng(3)
    theta, speed = anywhere(joint, rng), 6.0 * rng.standard_normal(joint.dofs)
    q, v = as_held(on, held, theta, speed)
    end, rtol = (1.5, 1e-12) if method == "dop853" else (1.0, 1e-8)
    one = lb.simulate(on, end, q0=theta, v0=speed, every=0.1, rtol=1e-12, atol=1e-13)
    other = lb.simulate(held, end, q0=q, v0=v, every=0.1, rtol=rtol, atol=0.1 * rtol, method=method)
    assert np.ptp(one.q, axis=0).max() > 2.0
    away = lb.pose(on, one.q, "body")[1] - lb.pose(held, other.q, "body")[1]
    assert np.abs(away).max() < (1e-7 if method == "dop853" else 1e-4)
    assert np.abs(lb.constraint_residual(held, other.q)).max() < 1e-10


def test_generated_code_seeks_coordinates_from_the_configuration_it_is_given():
    joint = lb.CompoundJoint(FAR["rod of crosses"])
    on, held = on_and_held(joint)
    theta = np.array([2.0, -1.1, 2.5, 1.2])
    q, v = as_held(on, held, theta, np.array([1.0, 2.0, -1.0, 0.5]))
    code = lb.compile(held, "forward_dynamics", target="c", rows=q)
    tau = np.arange(6.0)
    np.testing.assert_allclose(
        code(q, v, tau), lb.forward_dynamics(held, q, v, tau), rtol=1e-9, atol=1e-9
    )


def test_a_run_by_generated_code_takes_the_engine_that_follows():
    joint = lb.CompoundJoint(FAR["rod of crosses"])
    on, held = on_and_held(joint)
    q, v = as_held(on, held, np.array([0.3, 0.2, 0.1, 0.4]), np.ones(4))
    with pytest.warns(
        lb.ModelWarning, match="'cut' has coordinates of its own.*engine=\"general\""
    ):
        found = lb.simulate(held, 0.2, q0=q, v0=v, every=0.1, engine="generated")
    np.testing.assert_array_equal(found.q, lb.simulate(held, 0.2, q0=q, v0=v, every=0.1).q)


def test_a_rod_is_attached_where_it_is_in_a_run():
    """An action closes a loop by a rod that is far from its neutral position."""
    joint = lb.CompoundJoint(FAR["rod of crosses"])
    on, held = on_and_held(joint)
    q, v = as_held(on, held, np.array([2.2, -1.3, 2.4, 1.1]), np.array([0.5, -1.0, 2.0, 1.0]))
    free = held.closed_by([])
    grasp = (("world", (0, 0, 0)), ("body", None), joint, "cut")
    at_once = lb.Event(0.0, lb.attach(grasp))
    run = lb.simulate(free, 1.0, q0=q, v0=v, every=0.1, events=[at_once], rtol=1e-10)
    wanted = lb.simulate(held, 1.0, q0=q, v0=v, every=0.1, rtol=1e-10)
    np.testing.assert_allclose(run.q[-1], wanted.q[-1], atol=1e-7)


@pytest.mark.parametrize("name", ["rod of crosses", "three hinges", "four hinges"])
def test_equilibrium_and_modes_far_from_neutral_are_those_on_the_joint(name):
    joint = lb.CompoundJoint(FAR[name])
    on, held = on_and_held(joint)
    theta = anywhere(joint, np.random.default_rng(2))
    q, _ = as_held(on, held, theta, np.zeros(on.nv))
    rest = lb.equilibrium(on, theta)
    found = lb.equilibrium(held, q)
    assert np.isclose(lb.potential_energy(held, found), lb.potential_energy(on, rest), atol=1e-9)
    q, _ = as_held(on, held, rest, np.zeros(on.nv))
    np.testing.assert_allclose(lb.modes(held, q).omega, lb.modes(on, rest).omega, rtol=1e-9)


def hinge_then_slider(seed, fidelity="full"):
    """A flexible arm whose tip is held by a hinge and a slider in general directions, and a state that meets them."""
    rng = np.random.default_rng(seed)
    a = lb.Assembly("arm", gravity=(1.0, -2.0, -9.0))
    link = lb.beam(1.0, 1.0, EI=80.0, modes=1, polar_inertia=0.02)
    a.attach("lower", link, lb.Universal("x", "y"))
    a.attach("upper", link, lb.Spherical(), "lower", "tip")
    tree = a.build()
    q, _, _ = random_state(rng, tree)
    axes = rng.normal(size=(2, 3))
    joint = lb.CompoundJoint([lb.Revolute(axes[0]), lb.Prismatic(axes[1])])
    theta = rng.uniform(-0.8, 0.8, 2)
    close_here(a, tree, q, ("world", (0, 0, 0)), ("upper", "tip"), joint, theta, "cut")
    return a.build(fidelity), q, theta


def along(system, q, direction, step=0.01):
    """-d(A^T lambda)/dx along a direction, of rows of the reference whose wrench on end b is carried along."""

    def basis(p, rows):
        R = end_pose(system, p, system.closures["cut"].b)[0]
        return np.kron(np.eye(2), R.T) @ rows.force["cut"]

    here = rows(system, q, np.zeros(system.nv))
    wrench = basis(q, here) @ np.ones(len(here.A))

    def force(x):
        p = lb.integrate(system, q, direction, x)
        there = rows(system, p, np.zeros(system.nv), here.theta)
        return there.A.T @ (basis(p, there).T @ wrench)

    return here.A.T @ np.ones(len(here.A)), -derivative(force, step)


@pytest.mark.parametrize("seed", range(4))
def test_the_stiffness_of_closure_forces_is_that_of_the_reference(seed):
    """The slope of A^T lambda along the freedoms: rows change steadily, also where a part of them is zero."""
    s, q, _ = hinge_then_slider(seed)
    space = row_space(s, q)
    T = space.basis / np.abs(space.basis).max(axis=0)
    forces, slopes = zip(*(along(s, q, t) for t in T.T))
    lam = np.linalg.lstsq(space.A.T, forces[0], rcond=None)[0]
    expected = T.T @ np.array(slopes).T
    found = T.T @ closure_stiffness(s, q, lam) @ T
    assert np.allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_a_closure_that_q_does_not_meet_is_told():
    """Where it is met, nothing is said."""
    joint = lb.CompoundJoint([lb.Revolute("z"), turned_about([0, 0, 1], (0.5, 0, 0))])
    a = lb.Assembly("held").attach("body", lb.RigidBody(2.0, inertia=(1, 1, 1)), lb.Free())
    held = a.close(("world", (0, 0, 0)), ("body", None), joint, name="rod").build()
    R, p = joint.configuration([0.4, 0.3])
    met = np.concatenate([quaternion(R), p])
    off = met + np.array([0, 0, 0, 0, 0.1, 0.0, 0.0])
    zero = np.zeros(6)
    for _ in range(2):
        lb.forward_dynamics(held, met, zero, zero)
        for function in (lb.forward_dynamics, lb.constraint_forces, lb.derivatives):
            with pytest.warns(lb.ModelWarning, match="closure 'rod' is off by .* no coordinates"):
                function(held, off, zero, zero)
    with pytest.warns(lb.ModelWarning, match="of state 1: no"):
        lb.forward_dynamics(held, [met, off], np.zeros((2, 6)), zero)


@pytest.mark.parametrize(
    "function",
    [
        lb.freedoms,
        lb.constrained_inverse,
        lambda s, q: lb.impulse(s, q, np.ones(6)),
        lambda s, q: lb.operational_inertia(s, q, ("body", None)),
        lambda s, q: lb.grasp_map(s, q, "body"),
    ],
    ids=["freedoms", "constrained_inverse", "impulse", "operational_inertia", "grasp_map"],
)
def test_rows_of_a_closure_that_q_does_not_meet_are_told(function):
    """What follows from the rows of a joint whose coordinates were not found is not that of q."""
    joint = lb.CompoundJoint(FAR["rod of crosses"])
    on, held = on_and_held(joint)
    met, _ = as_held(on, held, np.array([0.3, 0.2, 0.1, 0.4]), np.zeros(4))
    function(held, met)
    with pytest.warns(lb.ModelWarning, match="closure 'cut' is off by .* no coordinates"):
        function(held, met + np.array([0, 0, 0, 0, 5.0, 0, 0]))


@pytest.mark.filterwarnings("ignore:joint of the closure 'links' moves its ends in a plane")
def test_a_cut_joint_that_is_singular_is_told():
    """Links that are folded allow one motion less; next to that position the answer is that of a plane."""
    joint = lb.CompoundJoint([turned_about([0, 0, 1], (x, 0, 0)) for x in (0.0, 0.5, 1.0)])
    body = lb.RigidBody(2.0, (0.1, -0.2, 0.3), [0.5, 0.6, 0.7])

    def held_by(cut, name):
        a = lb.Assembly("held", gravity=(1.0, -9.0, 3.0)).attach("body", body, lb.Free())
        return a.close(
            ("world", (0, 0, 0)), ("body", None), cut, name=name, offset_b=(0.2, 0.1, 0)
        ).build()

    def at(theta):
        R, p = joint.configuration(theta)
        return np.concatenate([quaternion(R), p - R @ [0.2, 0.1, 0.0]])

    links, plane = held_by(joint, "links"), held_by(lb.Planar("z"), "plane")
    beside, folded, zero = at([1.0, np.pi - 1e-6, 0.3]), at([1.0, np.pi, 0.3]), np.zeros(6)
    wanted = lb.forward_dynamics(plane, beside, zero, zero)
    assert np.allclose(lb.forward_dynamics(links, beside, zero, zero), wanted, atol=1e-8)
    for _ in range(2):
        for function in (lb.forward_dynamics, lb.constraint_forces):
            with pytest.warns(
                lb.ModelWarning, match="cut joint of the closure 'links' is singular"
            ):
                function(links, folded, zero, zero)
    with pytest.warns(lb.ModelWarning, match="'links' is singular at q of state 1"):
        lb.forward_dynamics(links, np.array([beside, folded]), zero, zero)
    with pytest.warns(lb.ModelWarning, match="'links' is singular"):
        lb.simulate(links, 0.01, q0=folded)


def test_a_closure_that_is_missed_beside_a_driven_joint_is_told():
    joint = lb.CompoundJoint([lb.Revolute("z"), turned_about([0, 0, 1], (0.5, 0, 0))])
    body = lb.RigidBody(2.0, inertia=(1, 1, 1))
    a = lb.Assembly("held").attach("body", body, lb.Planar("z"))
    a.attach("drum", body, lb.Revolute("z"))
    held = a.close(("world", (0, 0, 0)), ("body", None), joint, name="rod").build()
    for _ in range(2):
        with pytest.warns(lb.ModelWarning, match="closure 'rod' is off by"):
            lb.forward_dynamics(
                held, [0.9, 0, 0, 0], np.zeros(4), np.zeros(4), motion={"drum": 0.5}
            )


def test_a_run_goes_on_where_an_action_puts_it():
    """The state that an action returns meets the closures elsewhere: the coordinates are sought there anew."""
    for name in ("rod of crosses", "three screws"):
        joint = lb.CompoundJoint(FAR[name])
        on, held = on_and_held(joint)
        rng = np.random.default_rng(11)
        for _ in range(4):
            q, v = as_held(on, held, anywhere(joint, rng), rng.standard_normal(joint.dofs))
            there = as_held(on, held, anywhere(joint, rng), rng.standard_normal(joint.dofs))
            jump = lb.Event(0.1, lambda t, q, v, there=there: there)
            run = lb.simulate(held, 0.3, q0=q, v0=v, events=[jump], every=0.1, rtol=1e-9)
            wanted = lb.simulate(held, 0.2, q0=there[0], v0=there[1], every=0.1, rtol=1e-9)
            np.testing.assert_allclose(run.q[-1], wanted.q[-1], atol=1e-6)


def test_slopes_of_linear_models_are_those_of_derivatives():
    """Also where the coordinates are not found from the usual start, and for several states at once."""
    joint = lb.CompoundJoint(FAR["rod of crosses"])
    on, held = on_and_held(joint)
    rng = np.random.default_rng(7)
    at = [theta for theta in (anywhere(joint, rng) for _ in range(20)) if width(joint, theta) > 0.2]
    q, v = map(np.array, zip(*(as_held(on, held, t, rng.standard_normal(4)) for t in at)))
    tau = rng.standard_normal(v.shape)
    every = np.tile(np.eye(6), (len(q), 1, 1))
    given = {"v": (v, 0.0 * every), "tau": (tau, 0.0 * every)}
    given["q"] = along_tangent(held, q, every)
    value, slopes = slopes_of(held, "closed_sweep", given)["vdot"]
    wanted = lb.derivatives(held, q, v, tau)
    assert len(q) > 15
    np.testing.assert_allclose(value, wanted.value, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(slopes, wanted.q, rtol=0.0, atol=1e-9 * np.abs(wanted.q).max())


def test_a_linear_model_far_from_the_neutral_position_is_that_of_differences():
    joint = lb.CompoundJoint(FAR["rod of crosses"])
    on, held = on_and_held(joint)
    rng = np.random.default_rng(8)
    step, speeds = 1e-4, np.zeros(6)
    for theta in [t for t in (anywhere(joint, rng) for _ in range(9)) if width(joint, t) > 0.2]:
        q, v = as_held(on, held, theta, np.zeros(4))
        tau = lb.inverse_dynamics(held, q, v, speeds)
        model = lb.linearize(held, q, v, tau)
        T = model.T[:6, :4]
        for i, way in enumerate(T.T):
            aside = [lb.integrate(held, q, way, x) for x in (step, -step)]
            there = [lb.project(held, p, v)[0] for p in aside]
            ahead, back = (lb.forward_dynamics(held, p, v, tau) for p in there)
            slope = np.linalg.lstsq(T, (ahead - back) / (2.0 * step), rcond=None)[0]
            np.testing.assert_allclose(model.A[4:, i], slope, rtol=0.0, atol=1e-4)


def test_a_ruthless_system_that_bends_is_not_told_that_it_misses_its_closures():
    """Its rows are those of the undeformed geometry, which meets no closure; the deformed one does."""
    for seed in range(4):
        s, q, _ = hinge_then_slider(seed, "ruthless")
        lb.forward_dynamics(s, q, np.zeros(s.nv), np.zeros(s.nv))
        lb.constraint_forces(s, q, np.zeros(s.nv), np.zeros(s.nv))
        off = q.copy()
        off[0] += 0.1
        with pytest.warns(lb.ModelWarning, match="closure 'cut' is off by"):
            lb.forward_dynamics(s, off, np.zeros(s.nv), np.zeros(s.nv))


@pytest.mark.parametrize("seed", [0, 20, 25, 41, 44, 54, 56])  # all but the first were missed
def test_a_ruthless_system_whose_undeformed_geometry_meets_the_closures_ignores_its_deformation(
    seed,
):
    """Its equations depend on the modes by K eta alone, also where the deformed ends are out of reach of the joint."""
    rng = np.random.default_rng(seed)
    joint = lb.CompoundJoint(any_hinges(5, 2))
    a = lb.Assembly("arm", gravity=(1.0, -2.0, -9.0))
    link = lb.beam(1.0, 1.0, EI=80.0, modes=1, polar_inertia=0.02)
    a.attach("lower", link, lb.Universal("x", "y"))
    a.attach("upper", link, lb.Spherical(), "lower", "tip")
    tree = a.build()
    q = lb.integrate(tree, tree.neutral(), rng.uniform(-3.0, 3.0, tree.nv), 1.0)
    q = undeformed(tree, q)
    ends = ("world", (0, 0, 0)), ("upper", "tip")
    close_here(a, tree, q, *ends, joint, rng.uniform(-3.0, 3.0, 5), "cut")
    s = a.build("ruthless")
    bent, hold = q.copy(), np.zeros(s.nv)
    for name, where in s.layout.items():
        bent[where.q_modes] = eta = 0.02 * rng.normal(size=2)
        hold[where.v_modes] = s.bodies[name].stiffness @ eta
    zero = np.zeros(s.nv)
    wanted = lb.forward_dynamics(s, q, zero, zero)
    found = lb.forward_dynamics(s, bent, zero, hold)
    assert np.allclose(found, wanted, rtol=0.0, atol=1e-9 * np.abs(wanted).max())


def test_many_states_that_miss_a_closure_take_little_memory(monkeypatch):
    joint = lb.CompoundJoint(FAR["rod of crosses"])
    on, held = on_and_held(joint)
    rng = np.random.default_rng(0)
    q = np.array([as_held(on, held, anywhere(joint, rng), np.zeros(4))[0] for _ in range(200)])
    q[:, 4] += 0.01
    monkeypatch.setattr(charts, "TRIED", (2, 6))
    sizes = []

    def evaluate(states, starts):
        sizes.append(len(states))
        found = evaluated(held, "forward_dynamics", (states, starts), row="cut_coordinates")
        return charts.usable(found)

    charts.chosen_starts(held, q, "geometry", evaluate)
    assert len(sizes) > 5 and max(sizes) <= max(len(q), 6 * charts.STATES)


@pytest.mark.parametrize(
    "parts, speeds, independent",
    [
        ([lb.Spherical(), lb.Revolute("x"), turned_about([0, 1, 0], (0, 0, 0.8))], 5, 4),
        ([lb.Revolute("z"), lb.Revolute("z"), turned_about([0, 1, 0], (0, 0, 0.8))], 3, 2),
        ([lb.Spherical(), *(turned_about(axis, (0, 0, 0.8)) for axis in np.eye(3))], 6, 5),
    ],
)
def test_parts_of_a_joint_that_allow_the_same_are_refused(parts, speeds, independent):
    """Of a joint with speeds that depend on each other wherever it is, a row was lost."""
    a = lb.Assembly("held").attach("body", lb.RigidBody(2.0, inertia=(1, 1, 1)), lb.Free())
    words = f"'cut' has {speeds} speeds, of which only {independent} are independent"
    with pytest.raises(lb.LimberError, match=words):
        a.close(("world", (0, 0, 0)), ("body", None), lb.CompoundJoint(parts), name="cut")


def test_parts_that_allow_the_same_about_one_axis_are_one_hinge():
    """The motions of such a joint form a group, whose rows need no coordinates."""
    a = lb.Assembly("held").attach("body", lb.RigidBody(2.0, inertia=(1, 1, 1)), lb.Free())
    joint = lb.CompoundJoint([lb.Revolute("z"), lb.Revolute("z")])
    assert a.close(("world", (0, 0, 0)), ("body", None), joint, name="cut").build().rows == 5


def test_a_rod_between_two_balls_keeps_their_distance():
    """A ball at the world and two hinges at the body: one row, that of the distance."""
    body = lb.RigidBody(2.0, (0.1, -0.2, 0.3), (0.5, 0.6, 0.7), {"ball": (0, 0, 0.8)})
    a = lb.Assembly("held", gravity=(1.0, -9.0, 3.0)).attach("body", body, lb.Free())
    free = a.build()
    joint = lb.CompoundJoint(FAR["rod of a ball and a cross"])
    held = a.close(("world", (0, 0, 0)), ("body", None), joint, name="cut").build()
    rng = np.random.default_rng(0)
    for _ in range(20):
        turn, way = rng.normal(size=4), rng.normal(size=3)
        way /= np.linalg.norm(way)
        q = np.concatenate([turn / np.linalg.norm(turn), np.zeros(3)])
        q[4:] = 0.8 * way - lb.pose(held, q, "body", "ball")[1]
        assert np.abs(lb.constraint_residual(held, q)).max() < 1e-12
        J = lb.jacobian(held, q, "body", "ball")[3:]
        moved = np.linalg.solve(lb.mass_matrix(held, q), J.T @ way)
        v = rng.normal(size=6)
        v -= moved * (way @ J @ v) / (way @ J @ moved)
        rates = lb.forward_dynamics(free, q, v, np.zeros(6))
        off = way @ lb.acceleration(free, q, v, rates, "body", "ball")[3:]
        off += (J @ v) @ (J @ v) / 0.8
        wanted = rates - moved * off / (way @ J @ moved)
        found = lb.forward_dynamics(held, q, v, np.zeros(6))
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("length", [1e-3, 1.0, 1e3])
def test_many_hinges_with_sliders_hold_a_system_of_any_size(length):
    """Joints without a length of their own have rows in units of the system's size, so that none of them is lost to rounding."""
    rng = np.random.default_rng(1013)
    unit = length * np.array([[0.7], [0.5], [0.3], [0.9]])
    a = lb.Assembly("chain", gravity=(length, -2 * length, -9 * length))
    to, joint = {}, lb.CompoundJoint([lb.Revolute("z"), lb.Prismatic([1, 0.2, 0.1])])
    for i, tip in enumerate(unit * rng.normal(size=(4, 3))):
        body = lb.RigidBody(1.0, 0.3 * tip, length**2 * np.array([0.1, 0.15, 0.2]), {"tip": tip})
        a.attach(f"link{i}", body, lb.Spherical(), **to)
        to = {"to": f"link{i}", "at": "tip"}
    for i in range(3):
        a.attach(f"foot{i}", body, lb.Spherical(), offset=length * rng.normal(size=3))
    tree = a.build()
    q = lb.integrate(tree, tree.neutral(), rng.normal(size=tree.nv), 1.0)
    for i in range(3):
        theta = np.array([1.0, length]) * rng.uniform(-2.0, 2.0, 2)
        close_here(
            a, tree, q, (f"link{i + 1}", "tip"), (f"foot{i}", "tip"), joint, theta, f"cut{i}"
        )
    s = a.build()
    v = np.zeros(s.nv)
    wanted = -lb.constrained_inverse(s, q) @ lb.bias(s, q, v)
    found = lb.forward_dynamics(s, q, v, v)
    assert s.rows == 12 and lb.freedoms(s, q).rank == 12
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-9 * np.abs(wanted).max())


def test_searches_that_go_astray_have_no_coordinates():
    found = np.ones((3, 1, charts.GIVES))
    found[0, 0, 2], found[1, 0, 9] = np.nan, 1e31
    found[2, 0, charts.DEPENDENCE] = (
        np.inf
    )  # the joint is singular where the search ended, which is no fault of the search
    usable = charts.usable(found)
    for i in range(2):
        assert not usable[i, 0, :6].any() and usable[i, 0, 6] == charts.ASTRAY
    assert (usable[2, 0, : charts.DEPENDENCE] == 1.0).all()
