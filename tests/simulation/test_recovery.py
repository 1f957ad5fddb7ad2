"""Section forces and strains in results: closed forms, momentum, frames, gauges, files and pictures."""

from dataclasses import replace

import numpy as np
import pytest

import limber as lb
from helpers.meshes import sheet

STEEL = lb.Material(E=200e9, nu=0.3, rho=7800.0)
SECTION = lb.Section.rectangle(0.02, 0.03, STEEL).slender()
LENGTH, FORCE = 1.5, 3.0


def at_rest(body, wrench, node="tip"):
    """The result of one row: the body on a wall, in equilibrium with a wrench at a node."""
    a = lb.Assembly("cantilever")
    a.attach("link", body, lb.Fixed())
    s = a.build()
    external = {("link", node): np.array(wrench, dtype=float)}
    q = lb.equilibrium(s, external=external)
    zero = np.zeros((1, s.nv))
    given = {key: load[None] for key, load in external.items()}
    return lb.Result(s, np.zeros(1), q[None], zero, zero, external=given)


def cantilever(modes, **more):
    return lb.beam(LENGTH, section=SECTION, modes=modes, **more)


# --- beams ----------------------------------------------------------------------------------------


def test_the_root_moment_of_the_modes_converges_to_that_of_the_result():
    """Gauges and linear models read the curvature of the modes; a result knows the equilibrium."""
    errors = []
    for modes in (1, 2, 4, 8):
        result = at_rest(cantilever({"y": modes}), (0, 0, 0, 0, 1e-3 * FORCE, 0))
        # outboard acts on inboard: a force along y turns the root about z
        exact = result.section_forces("link", 0.0).moment_z[0, 0]
        assert exact == pytest.approx(1e-3 * FORCE * LENGTH, rel=1e-9)
        by_modes = lb.structures.beam_forces(result.system.bodies["link"], [0.0])
        errors.append(abs(by_modes.moment_z[0] @ result.q[0] / exact - 1.0))
    assert np.all(np.diff(errors) < 0.0) and errors[-1] < 0.005 < 0.1 < errors[0]


def test_forces_and_strains_are_exact_with_modes_that_the_load_shapes():
    heavy = 1e6 * SECTION.rhoA * LENGTH
    body = cantilever({"y": 2, "z": 2, "torsion": 1, "stretch": 1}, load=(heavy, heavy * LENGTH**2))
    x = np.linspace(0.0, LENGTH, 5)
    load = 1e-3 * np.array(
        [0.7, 0.0, 0.0, 5.0, FORCE, -2.0]
    )  # deflections of second order are negligible
    result = at_rest(body, load)
    forces = result.section_forces("link", x)
    np.testing.assert_allclose(forces.moment_z[0], load[4] * (LENGTH - x), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(forces.moment_y[0], -load[5] * (LENGTH - x), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(forces.torsion[0], load[0], rtol=1e-5)
    np.testing.assert_allclose(forces.axial[0], load[3], rtol=1e-5)
    strain = load[3] / SECTION.EA - 0.01 * forces.moment_z / SECTION.EI[1]
    strain = strain + 0.015 * forces.moment_y / SECTION.EI[0]
    close = {"rtol": 1e-5, "atol": 1e-15}
    np.testing.assert_allclose(forces.strain_at(0.01, 0.015), strain, **close)
    assert forces.surface_strain.shape == (1, 5, len(SECTION.surface))
    corner = next(i for i, p in enumerate(SECTION.surface) if np.allclose(p, (0.01, 0.015)))
    np.testing.assert_allclose(forces.surface_strain[0, :, corner], strain[0], **close)


def test_stations_by_node_are_those_by_distance():
    result = at_rest(cantilever(2), (0, 0, 0, 0, FORCE, 0))
    by_node = result.section_forces("link", ["root", "node5"])
    by_distance = result.section_forces("link", [0.0, 0.5 * LENGTH])
    np.testing.assert_allclose(by_node.forces, by_distance.forces)
    assert result.section_forces("link").moment_z.shape == (1, 11)


def test_the_root_moment_of_a_slew_is_the_rate_of_momentum_outboard():
    hub = 0.2
    a = lb.Assembly("slew")
    a.attach("hub", lb.RigidBody(1.0, inertia=(hub, hub, hub)), lb.Revolute("z"))
    a.attach("link", lb.beam(2.0, 1.0, EI=40.0, modes={"y": 6}), lb.Fixed(), to="hub")
    s = a.build()
    at = s.layout["hub"].v_joint.start

    def torque(t, q, v):
        tau = np.zeros(s.nv)
        tau[at] = 2.0 * np.sin(np.pi * t) ** 2 * np.cos(0.5 * np.pi * t)
        return tau

    result = lb.simulate(s, 2.0, torque=torque, t_eval=np.linspace(0.0, 2.0, 81))
    moment = result.section_forces("link", "root").moment_z[:, 0]
    # the momentum of the beam about the hub, whose axis is at rest, by Newton's law for the hub
    momentum = result.momentum[:, 2] - hub * result.v[:, at]
    rate = np.gradient(momentum, result.t, edge_order=2)
    assert np.abs(moment + rate).max() < 0.01 * np.abs(rate).max()
    exact = result.tau[:, at] - hub * result.vdot[:, at]
    np.testing.assert_allclose(moment, -exact, rtol=0, atol=1e-11 * np.abs(exact).max())


# --- frames and meshes ----------------------------------------------------------------------------


def bent_boom():
    """Two members at a right angle, from the wall along x and then along y."""
    nodes = {"root": (0, 0, 0), "knee": (1, 0, 0), "tip": (1, 0.5, 0)}
    return lb.structures.frame(nodes, [("root", "knee"), ("knee", "tip")], SECTION, divide=2)


def test_forces_in_the_members_of_a_reduced_frame_are_those_of_statics():
    body = bent_boom().reduce(clamped="root", interface="tip", modes=2, method="static-correction")
    result = at_rest(body, (0, 0, 0, 0, 0, FORCE))
    forces = result.section_forces("link", "root:root-knee.1")
    assert forces.torsion[0, 0] == pytest.approx(0.5 * FORCE, rel=1e-6)
    assert forces.moment_y[0, 0] == pytest.approx(-FORCE * 1.0, rel=1e-6)
    assert forces.shear_z[0, 0] == pytest.approx(FORCE, rel=1e-6)
    assert result.section_forces("link").torsion.shape == (1, 8)


def test_gauges_of_a_plate_show_the_strain_of_beam_theory():
    plain = lb.Material(E=70e9, nu=0.0, rho=2700.0)
    p = lb.structures.plate(sheet((10, 2), (1.0, 0.1)), plain, 0.01, names={"tip": (1.0, 0.05, 0)})
    middle = p.nearest((0.5, 0.05, 0.0))
    body = p.reduce(
        clamped=p.where(x=0), interface="tip", modes=1, method="static-correction", origin=(0, 0.05, 0),
        strain={"top": p.gauge(middle, "x"), "bottom": p.gauge(middle, "x", "bottom")},
    )  # fmt: skip
    result = at_rest(body, (0, 0, 0, 0, 0, FORCE))
    expected = -FORCE * 0.5 * 0.005 / (plain.E * 0.1 * 0.01**3 / 12.0)
    assert result.strain("link", "top")[0] == pytest.approx(expected, rel=0.01)
    np.testing.assert_allclose(
        result.strain("link")[:, 1], -result.strain("link", "top"), rtol=1e-9
    )


def test_gauges_of_nodes_in_results():
    shape = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    body = lb.FlexibleBody.from_nodes(
        [1.0], [[1.0, 0, 0]], shape, stiffness=np.diag([4.0, 9.0]), names=["tip"],
        strain={"a": [1e-3, 0.0], "b": [2e-3, -1e-3]},
    )  # fmt: skip
    result = at_rest(body, (0, 0, 0, 0, 8.0, 9.0))  # eta = 2, 1
    np.testing.assert_allclose(result.strain("link"), [[2e-3, 3e-3]])
    np.testing.assert_allclose(result.strain("link", "b"), [3e-3])


# --- files, other bodies, pictures ----------------------------------------------------------------


def test_files_keep_gauges_and_section_forces(tmp_path):
    frame = bent_boom().reduce(clamped="root", modes=3, nodes=["tip"])
    frame = frame.with_recovery(
        replace(frame.recovery, gauges=("g",), strain=np.array([[1.0, 2.0, 3.0]]))
    )
    damped = cantilever(2).with_damping(0.1 * np.eye(4))
    bodies = {"frame": frame, "damped": damped, "beam": cantilever(1)}
    a = lb.Assembly("all")
    for name, body in bodies.items():
        a.attach(name, body, lb.Fixed())
    for options in ({}, {"expand_beams": True}, {"arrays": "npz"}):
        lb.save(a, tmp_path / "all.yaml", **options)
        s = lb.load(tmp_path / "all.yaml").build()
        eta = np.random.default_rng(0).standard_normal((2, s.nq))
        results = [lb.Result(x, np.arange(2.0), eta, eta, eta) for x in (a.build(), s)]
        for name in bodies:
            before, after = (r.section_forces(name) for r in results)
            np.testing.assert_array_equal(after.forces, before.forces)
            np.testing.assert_array_equal(after.surface_strain, before.surface_strain)
        np.testing.assert_array_equal(*(r.strain("frame") for r in results))


def test_a_body_placed_twice_keeps_its_section_forces():
    body = cantilever(2)
    turned = lb.bodies.placed.placed(lb.bodies.placed.placed(body, (1, 0, 0)), (0, 1, 0))
    assert turned.recipe is None and turned.recovery.stations == body.nodes.names
    forces = lb.structures.beam_forces(body)
    np.testing.assert_array_equal(turned.recovery.forces.forces, forces.forces)


def test_pictures_of_moments_and_strains():
    result = at_rest(cantilever(2), (0, 0, 0, 0, FORCE, 0))
    figure = result.plot(["moments", "strain"])
    assert [axes.get_ylabel().split(" (")[0] for axes in figure.axes] == ["moment", "strain"]
    rigid = lb.FlexibleBody.from_nodes(
        [1.0], [[1.0, 0, 0]], np.ones((1, 3, 1)), stiffness=[[1.0]], names=["tip"]
    )
    bare = at_rest(rigid, np.zeros(6))
    for what in ("moments", "strain"):
        with pytest.raises(lb.LimberError, match=f"what='{what}': none of the bodies"):
            bare.plot(what)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.section_forces("link", "elbow"), "at='elbow' is not a station of body 'link'"),
        (lambda r: r.section_forces("link", 99.0), "x must be from 0 to the length"),
        (lambda r: r.section_forces("arm"), "'arm'"),
        (lambda r: r.strain("link"), "no strain gauges"),
    ],
)
def test_what_a_body_does_not_have_is_said(ask, message):
    result = at_rest(cantilever(1), np.zeros(6))
    with pytest.raises(lb.LimberError) as error:
        ask(result)
    assert message in str(error.value)
    with pytest.raises(lb.LimberError, match="strain must have shape"):
        lb.FlexibleBody.from_nodes(
            [1.0], [[1.0, 0, 0]], np.ones((1, 3, 1)), stiffness=[[1.0]], strain=np.ones((2, 2))
        )
