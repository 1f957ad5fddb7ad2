"""All six section forces of beams from equilibrium: closed forms, joint wrenches, quadrature, work, chains of short beams."""

import warnings

import numpy as np
import pytest
from scipy.integrate import simpson

import limber as lb
from limber.bodies.quadrature import gauss_legendre
from limber.simulation import section_loads
from limber.structures import beam_forces

STEEL = lb.Material(E=200e9, nu=0.3, rho=7800.0)
SECTION = lb.Section.rectangle(0.02, 0.03, STEEL)
SLENDER = SECTION.slender()
LENGTH, WEIGHT = 1.5, SLENDER.rhoA
X = np.array([0.0, 0.4, 0.75 - 1e-6, 0.75 + 1e-6, 1.1, 1.5])
EXACT = 1e-9
TURNED = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])


def resting(body, gravity=(0, 0, 0), **external):
    """One row of a result: a body on a wall, in equilibrium with forces at nodes."""
    a = lb.Assembly("resting", gravity=gravity)
    a.attach("link", body, lb.Fixed())
    s = a.build()
    wrenches = {("link", node): np.array([0, 0, 0, *force]) for node, force in external.items()}
    zero, q = np.zeros((1, s.nv)), lb.equilibrium(s, external=wrenches)
    given = {key: wrench[None] for key, wrench in wrenches.items()}
    return lb.Result(s, np.zeros(1), q[None], zero, zero, external=given)


@pytest.mark.parametrize("modes", [1, 2, 5])
@pytest.mark.parametrize("theory", [SECTION, SLENDER])
def test_forces_of_a_cantilever_are_those_of_statics_with_any_number_of_modes(modes, theory):
    body = lb.beam(LENGTH, section=theory, modes=modes)
    F, G = np.array([0.0, 3e-4, -2e-4]), np.array([0.0, 1e-5, -2e-5])  # small deflections
    beyond = LENGTH - X
    middle = np.maximum(0.75 - X, 0.0)
    cases = {
        "tip": (resting(body, tip=F), np.ones(X.size), beyond),
        "middle": (resting(body, node5=F), (X < 0.75).astype(float), middle),
        "weight": (resting(body, G), WEIGHT * beyond, WEIGHT * beyond**2 / 2),
    }
    for name, (result, force, moment) in cases.items():
        _, y, z = G if name == "weight" else F
        forces = result.section_forces("link", X)
        close = {"rtol": EXACT, "atol": EXACT * np.abs(F).max(), "err_msg": name}
        np.testing.assert_allclose(forces.shear_y[0], y * force, **close)
        np.testing.assert_allclose(forces.shear_z[0], z * force, **close)
        np.testing.assert_allclose(forces.moment_z[0], y * moment, **close)
        np.testing.assert_allclose(forces.moment_y[0], -z * moment, **close)
        # the deflection gives the force a lever about the axis, next to none here
        np.testing.assert_allclose(forces.torsion[0], 0.0, rtol=0, atol=1e-7 * np.abs(F).max())
        strain = -0.01 * y * moment / theory.EI[1] - 0.015 * z * moment / theory.EI[0]
        # the force tilts with the section, by the slope, which strains the axis next to nothing
        axis = 1e-6 * np.abs(strain).max()
        np.testing.assert_allclose(forces.strain_at(0.01, 0.015)[0], strain, rtol=EXACT, atol=axis)


def test_sections_turn_with_the_beam():
    """A large force at the tip: the sections carry it in their own axes, with the lever of the deformed beam."""
    for stiffening in (False, True):
        body = lb.beam(LENGTH, section=SLENDER, modes={"y": 3}, geometric_stiffening=stiffening)
        F = np.array([-300.0, 200.0, 0.0])
        result = resting(body, tip=F)
        forces, s = result.section_forces("link"), result.system
        R, p = zip(*[lb.pose(s, result.q[0], "link", f"node{i}") for i in range(1, 10)])
        end = lb.pose(s, result.q[0], "link", "tip")[1]
        assert end[1] > 0.03 * LENGTH
        np.testing.assert_allclose(
            forces.forces[0, 1:-1, :3], np.einsum("nij,i->nj", R, F), rtol=EXACT
        )
        moment = np.cross(end - np.array(p), F)[:, 2]
        np.testing.assert_allclose(forces.moment_z[0, 1:-1], moment, rtol=EXACT)


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
@pytest.mark.parametrize("stiffening", [False, True])
def test_the_ends_carry_the_wrenches_of_joints_in_any_motion(fidelity, stiffening):
    modes = {"y": 2, "z": 1, "torsion": 1, "stretch": 1}
    placed = {"offset": (0.1, 0.2, 0), "rotation": TURNED}
    body = lb.beam(LENGTH, section=SECTION, modes=modes, geometric_stiffening=stiffening, **placed)
    rng = np.random.default_rng(0)
    for inboard, far in ((None, "tip"), ("tip", "root")):
        a = lb.Assembly("any", gravity=(1.0, -2.0, 9.0))
        a.attach("hub", lb.RigidBody(3.0, inertia=(1, 1, 1)), lb.Revolute("x"))
        joint = lb.Fixed() if inboard is None else lb.Revolute("z", damping=0.1)
        a.attach("link", body, joint, to="hub", inboard=inboard, offset=(0.1, 0, 0))
        payload = lb.RigidBody(4.0, com=(0.1, 0.2, -0.1), inertia=(0.3, 0.4, 0.5))
        a.attach("payload", payload, lb.Fixed(), to="link", at=far)
        a.attach("side", payload, lb.Revolute("y"), to="link", at="node7", offset=(0, 0.1, 0.2))
        s = a.build(fidelity=fidelity)
        q = s.neutral() + 0.02 * rng.standard_normal((3, s.nq))
        v, tau = rng.standard_normal((2, 3, s.nv))
        pushed = {("link", "node5"): rng.standard_normal((3, 6)), ("side", None): np.ones((3, 6))}
        result = lb.Result(s, np.arange(3.0), q, v, tau, external=pushed)
        found = result.section_forces("link", [far, inboard or "root"]).forces
        carried, held = result.joint_wrench("payload"), result.joint_wrench("link")
        sign = -1.0 if inboard is None else 1.0
        at_far, at_joint = (
            sign * np.concatenate([x[:, 3:] @ TURNED, x[:, :3] @ TURNED], axis=1)
            for x in (
                carried,
                _moved(held, (0.1, 0.2, 0)) if inboard is None else _turned(held, result),
            )
        )
        scale = EXACT * np.abs(found).max()
        np.testing.assert_allclose(found[:, 0], at_far, rtol=0, atol=scale)
        np.testing.assert_allclose(found[:, 1], at_joint, rtol=0, atol=scale)


def test_forces_jump_at_a_joint_between_the_ends_by_its_wrench():
    a = lb.Assembly("balance", gravity=(0.5, -2.0, 9.0))
    body = lb.beam(LENGTH, section=SECTION, modes={"y": 2, "z": 2, "torsion": 1})
    a.attach("link", body, lb.Revolute("z"), inboard="node5")
    for end in ("root", "tip"):
        a.attach(end, lb.RigidBody(2.0, com=(0.1, 0.2, 0.1)), lb.Fixed(), to="link", at=end)
    s = a.build()
    rng = np.random.default_rng(2)
    q, v, tau = 0.03 * rng.standard_normal((1, s.nq)), *rng.standard_normal((2, 1, s.nv))
    result = lb.Result(s, np.zeros(1), q, v, tau)
    at = [LENGTH / 2 - 1e-8, LENGTH / 2, LENGTH / 2 + 1e-8]
    before, here, beyond = result.section_forces("link", at).forces[0]
    wrench = _turned(result.joint_wrench("link"), result)[0]
    jump = np.concatenate([wrench[3:], wrench[:3]])
    np.testing.assert_allclose(before - beyond, jump, rtol=0, atol=1e-6 * np.abs(jump).max())
    np.testing.assert_allclose(here, before, rtol=0, atol=1e-6 * np.abs(jump).max())
    assert min(np.abs(before).max(), np.abs(beyond).max()) > 0.1 * np.abs(jump).max()


def _moved(wrench, arm):
    """A wrench (n, 6) about another point."""
    return np.hstack([wrench[:, :3] - np.cross(arm, wrench[:, 3:]), wrench[:, 3:]])


def _turned(wrench, result):
    """A wrench (n, 6) in the axes inboard of a joint about z, in those outboard."""
    c, s = (f(result.joint("link")[:, 0]) for f in (np.cos, np.sin))
    x = wrench.reshape(-1, 2, 3)
    rows = [
        c[:, None] * x[..., 0] + s[:, None] * x[..., 1],
        c[:, None] * x[..., 1] - s[:, None] * x[..., 0],
    ]
    return np.stack([*rows, x[..., 2]], axis=-1).reshape(-1, 6)


def test_a_spinning_beam_with_a_payload_carries_the_inertia_beyond_each_section():
    """Against an integral of the accelerations of the points, with all of the centrifugal, Euler and Coriolis terms."""
    a = lb.Assembly("spin")
    numbers = {"mass": WEIGHT * LENGTH, "EI": SLENDER.EI}  # without polar inertia
    body = lb.beam(LENGTH, **numbers, modes={"y": 2, "z": 1}, elements=300)
    a.attach("link", body, lb.Revolute((0.0, 0.6, 0.8)))
    a.attach("payload", lb.RigidBody(4.0), lb.Fixed(), to="link", at="tip")
    s = a.build()
    q, v, vdot = np.random.default_rng(1).standard_normal((3, s.nv))
    q *= 0.03
    tau = lb.inverse_dynamics(s, q, v, vdot)
    result = lb.Result(s, np.zeros(1), q[None], v[None], tau[None])
    R = lb.pose(s, q, "link")[0]
    names = body.nodes.names
    position = np.array([R.T @ lb.pose(s, q, "link", node)[1] for node in names])
    rate = np.array([R.T @ lb.acceleration(s, q, v, vdot, "link", node)[3:] for node in names])
    x = body.nodes.position[:, 0]
    sections = [0, 100, 250]
    found = result.section_forces("link", x[sections]).forces[0]
    for k, i in enumerate(sections):
        lever = position - position[i]
        force = 4.0 * rate[-1] + WEIGHT * simpson(rate[i:], x[i:], axis=0)
        moment = WEIGHT * simpson(np.cross(lever[i:], rate[i:]), x[i:], axis=0)
        moment = moment + np.cross(lever[-1], 4.0 * rate[-1])
        E = R.T @ lb.pose(s, q, "link", i)[0]
        expected = -np.concatenate([force @ E, moment @ E])
        np.testing.assert_allclose(found[k], expected, rtol=0, atol=EXACT * np.abs(found).max())


def test_moments_do_the_work_of_the_modal_forces():
    """The moments of a vibrating beam, on the curvatures of any mode, do the work K eta + D eta_dot."""
    a = lb.Assembly("vibrating", gravity=(0, -1e-5, 2e-5))
    body = lb.beam(LENGTH, section=SLENDER, modes={"y": 3, "z": 2}, damping=0.05)
    a.attach("link", body, lb.Fixed())
    s = a.build()
    rng = np.random.default_rng(5)
    q, v = 1e-6 * rng.standard_normal(s.nv), 1e-4 * rng.standard_normal(s.nv)
    result = lb.Result(s, np.zeros(1), q[None], v[None], np.zeros((1, s.nv)))
    xi, weight = gauss_legendre(48)
    x = 0.5 * LENGTH * (1.0 + xi)
    moments = result.section_forces("link", x).forces[0, :, 4:]
    curvature = beam_forces(body, x).strains[:, 4:]
    work = 0.5 * LENGTH * np.einsum("n,ni,nir->r", weight, moments, curvature)
    expected = body.stiffness @ q + body.damping @ v
    np.testing.assert_allclose(work, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def pushed(links, modes, load=None):
    """A cantilever of some beams in a row that is pushed in its middle for a second."""
    a = lb.Assembly("pushed")
    for i in range(links):
        part = lb.beam(2.0 / links, 1.0 / links, EI=40.0, modes={"y": modes}, load=load)
        place = {"to": f"link{i - 1}", "at": "tip"} if i else {}
        a.attach(f"link{i}", part, lb.Fixed(), **place)
    middle = ("link0", "node5") if links == 1 else (f"link{links // 2 - 1}", "tip")
    t = np.linspace(0.0, 1.0, 41)
    push = lb.Table(t, np.outer(np.sin(np.pi * t) ** 2, [0, 0, 0, 0, 0.03, 0]), smooth=True)
    return lb.simulate(a.build(), 1.0, external={middle: push}, t_eval=t, rtol=1e-8, atol=1e-12)


def test_a_beam_that_is_pushed_in_its_middle_against_a_chain_of_short_beams():
    chain = pushed(8, 2, load=(1e5, 1e5))  # cubic finite elements
    reference = np.concatenate(
        [-chain.joint_wrench(f"link{i}")[:, [4, 2]] for i in (0, 2, 6)], axis=1
    )
    scale = np.abs(reference).max(axis=0)
    for modes, bound, of_modes in ((1, 0.03, 0.15), (2, 1e-3, 0.1)):
        result = pushed(1, modes)
        x = [0.0, 0.5, 1.5]
        forces = result.section_forces("link0", x)
        found = np.stack([forces.shear_y, forces.moment_z], axis=2).reshape(len(result), -1)
        assert (np.abs(found - reference).max(axis=0) / scale).max() < bound
        curvature = beam_forces(result.system.bodies["link0"], x).forces[:, [1, 5]] @ result.q.T
        by_modes = np.moveaxis(curvature, -1, 0).reshape(len(result), -1)
        assert (np.abs(by_modes - reference).max(axis=0) / scale).max() > of_modes


def held_twice(modes, joint, gravity=(0, -1e-4, 0)):
    """A beam that is clamped at its root and held at its tip by a closure, in equilibrium."""
    a = lb.Assembly("held twice", gravity=gravity)
    a.attach("link", lb.beam(LENGTH, section=SLENDER, modes=modes), lb.Fixed())
    a.close(("world", (LENGTH, 0, 0)), ("link", "tip"), joint, name="end")
    s = a.build()
    zero = np.zeros((1, s.nv))
    return lb.Result(s, np.zeros(1), lb.equilibrium(s)[None], zero, zero)


def test_a_propped_cantilever_carries_the_reaction_of_its_prop():
    result = held_twice({"bending": 6, "stretch": 1}, lb.Spherical())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forces = result.section_forces("link", ["root", "tip"]).forces[0]
    weight = 1e-4 * WEIGHT * LENGTH
    reaction = result.constraint_forces("end")[0]
    assert reaction[4] == pytest.approx(3 / 8 * weight, rel=1e-3)
    R = lb.pose(result.system, result.q[0], "link", "tip")[0]
    np.testing.assert_allclose(R @ forces[1, :3], reaction[3:], rtol=0, atol=EXACT * weight)
    np.testing.assert_allclose(forces[1, 3:], 0.0, atol=EXACT * weight)
    assert forces[0, 1] == pytest.approx(reaction[4] - weight, rel=EXACT)
    assert forces[0, 5] == pytest.approx((reaction[4] - weight / 2) * LENGTH, rel=EXACT)


@pytest.mark.parametrize(
    ("modes", "gravity", "unsure"),
    [(2, (0, 0, 1e-4), "shear_z, moment_y"), (1, (0, 1e-4, 0), "shear_y, moment_z"), (2, (0, 1e-4, 0), "")],
)  # fmt: skip
def test_forces_that_redundant_closures_leave_open_are_said(modes, gravity, unsure):
    """Two modes in a plane determine both closure forces on a clamped end there; one mode does not."""
    result = held_twice({"y": modes}, lb.Fixed(), gravity)
    if unsure:
        with pytest.warns(
            lb.ModelWarning, match=f"'link' are not unique in this model: {unsure}\\."
        ):
            result.section_forces("link", 0.5)
    else:
        forces = result.section_forces("link", [0.0, LENGTH])  # without a warning
        with pytest.warns(lb.ModelWarning, match="are not unique: 'end' \\(mx, my, fx, fz\\)"):
            held = result.constraint_forces("end")[0]
        assert forces.shear_y[0, 1] == pytest.approx(held[4], rel=EXACT)
        assert forces.moment_z[0, 1] == pytest.approx(held[2], rel=EXACT)


def test_many_stations_in_any_order_are_those_one_by_one():
    result = resting(lb.beam(LENGTH, section=SECTION, modes=2), tip=[1.0, 2.0, 3.0])
    x = np.random.default_rng(0).permutation(np.repeat(np.linspace(0, LENGTH, 31), 2))
    forces = result.section_forces("link", x).forces[0]
    for i in (0, 7, 61):
        one = result.section_forces("link", x[i]).forces[0, 0]
        np.testing.assert_allclose(forces[i], one, rtol=0, atol=1e-11)


def test_long_results_are_taken_in_parts(monkeypatch):
    a = lb.Assembly("long")
    a.attach("link", lb.beam(LENGTH, section=SLENDER, modes=2), lb.Revolute("z"))
    s = a.build()
    q, v, tau = np.random.default_rng(0).standard_normal((3, 7, s.nv))
    pushed = {("link", "tip"): np.ones((7, 6))}
    result = lb.Result(s, np.arange(7.0), q, v, tau, external=pushed)
    whole = result.section_forces("link").forces
    monkeypatch.setattr(section_loads, "NUMBERS", 400)  # three rows
    np.testing.assert_array_equal(result.section_forces("link").forces, whole)


def test_a_varied_beam_carries_its_new_mass():
    a = lb.Assembly("varied", gravity=(0, -9.0, 0))
    a.attach("link", lb.beam(LENGTH, section=SLENDER, modes=2), lb.Fixed())
    s = a.build().with_parameters({"link.mass": 3.0 * WEIGHT * LENGTH, "link.EI": 2e3})
    result = lb.Result(s, np.zeros(1), *np.zeros((3, 1, s.nv)))
    forces = result.section_forces("link", "root")
    np.testing.assert_allclose(forces.shear_y[0, 0], -result.joint_wrench("link")[0, 4], rtol=EXACT)
    np.testing.assert_allclose(
        forces.moment_z[0, 0], -result.joint_wrench("link")[0, 2], rtol=EXACT
    )
    np.testing.assert_allclose(forces.strains[0, 0, 5], forces.moment_z[0, 0] / 2e3, rtol=EXACT)


def test_moments_in_an_environment_are_those_of_the_modes():
    """A result has only the generalized forces of an environment, so equilibrium does not know its moments."""
    result = resting(lb.beam(LENGTH, section=SLENDER, modes=2), tip=[0.0, 1.0, 0.0])
    body = result.system.bodies["link"]
    felt = lb.Result(
        result.system, result.t, result.q, result.v, result.tau, environment=0.0 * result.tau
    )
    with pytest.warns(lb.ModelWarning, match="do not include what the environment does"):
        moment = felt.section_forces("link", [0.0]).moment_z[0]
    assert moment == pytest.approx(beam_forces(body, [0.0]).moment_z @ result.q[0], rel=EXACT)


def test_other_bodies_may_have_names_like_those_of_parts():
    found = []
    for name in ("payload", "link (part 1)"):
        a = lb.Assembly("names", gravity=(0, -9.0, 0))
        a.attach("link", lb.beam(LENGTH, section=SLENDER, modes=2), lb.Fixed())
        a.attach(
            name, lb.RigidBody(4.0, inertia=(1, 1, 1)), lb.Prismatic("y"), to="link", at="node5"
        )
        s = a.build()
        result = lb.Result(s, np.zeros(1), s.neutral()[None], *np.zeros((2, 1, s.nv)))
        found.append(result.section_forces("link").forces)
    np.testing.assert_array_equal(*found)
