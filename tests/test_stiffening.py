"""Geometric stiffening: spinning beams, columns, and large deflections of beams in several parts."""

import re
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve
from scipy.spatial.transform import Rotation

import limber as lb
from limber.errors import DynamicsError, TheoryWarning

UPRIGHT = np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]])  # beams along z


def close(actual, expected, tolerance):
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=0.0)


# problem 2: a rotating cantilever of length, mass and stiffness 1

FLAP = {
    0: (3.5160, 22.0345, 61.6972),
    1: (3.6816, 22.1810, 61.8418),
    3: (4.7973, 23.3203, 62.9850),
    6: (7.3604, 26.8091, 66.6839),
}


@pytest.fixture(scope="module")
def rotor():
    a = lb.Assembly("rotor")
    a.attach(
        "blade", lb.beam(1.0, 1.0, EI=1.0, modes=9, geometric_stiffening=True), lb.Revolute("z")
    )
    return a.build()


def spinning(s, rate):
    v = np.zeros(s.nv)
    v[-1] = rate
    return lb.modes(s, v=v, locked=["blade"])


@pytest.mark.parametrize("ratio", FLAP)
def test_flap_frequencies_of_a_rotating_cantilever(rotor, ratio):
    """Wright et al.; Hodges & Rutkowski: dimensionless frequencies at zero hub radius."""
    found = spinning(rotor, ratio)
    flap = [
        w
        for w, (what, _) in zip(found.omega, found.moves)
        if int(re.findall(r"\d+", what)[0]) % 2 == 0
    ]
    close(flap[:3], FLAP[ratio], 1.5e-5)


def test_chordwise_frequencies_of_a_rotating_cantilever(rotor):
    found = [spinning(rotor, ratio).omega[0] for ratio in (1, 6)]
    close(found, [3.5432, 4.2632], 2e-5)


def test_a_spinning_beam_stretches():
    """By tan(k L)/(k L) - 1 of its length, k^2 = rho A Omega^2/EA, which is 5.142857e-4 m to first order (problem 3)."""
    x = np.sqrt(1.2 * 36.0 * 100.0 / 2.8e7)
    exact = 10.0 * (np.tan(x) / x - 1.0)
    assert exact == pytest.approx(5.142857e-4, rel=1e-3)
    errors = []
    for modes in (2, 4, 8):
        body = lb.beam(10.0, 12.0, EI=1.4e4, EA=2.8e7, modes={"y": 1, "stretch": modes})
        a = lb.Assembly("spun").attach("beam", body, lb.Revolute("z"))
        s = a.build()
        v = np.append(np.zeros(s.nv - 1), 6.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TheoryWarning)
            q = lb.equilibrium(s, v=v, locked=["beam"])
        stretch = body.nodes.shapes[[-1]].displacements(q[:-1])[0, 0]
        errors.append(abs(stretch / exact - 1.0))
    assert errors[-1] < 1e-4
    assert (
        np.log2(np.array(errors[:-1]) / errors[1:]) > 2.8
    ).all()  # the series has terms of 1/n^4


# problems 3 and 4: spin-up


def spin_up(length, EI, density, speed, stiffened, modes=3):
    """A beam on a hub that is too heavy to feel it, taken to its speed in 15 s (Simo & Vu-Quoc)."""
    heavy, T = 1e9, 15.0
    body = lb.beam(
        length, density * length, EI=EI, modes={"y": modes}, geometric_stiffening=stiffened
    )
    a = lb.Assembly("spin-up")
    a.attach("hub", lb.RigidBody(1.0, inertia=(heavy, heavy, heavy)), lb.Revolute("z"))
    a.attach("beam", body, lb.Fixed(), "hub")
    s = a.build()

    def torque(t, q, v):
        rate = speed / T * (1.0 - np.cos(2.0 * np.pi * t / T)) if t < T else 0.0
        return np.append(heavy * rate, np.zeros(modes))

    return lb.simulate(s, 20.0, torque=torque, t_eval=np.linspace(0.0, 20.0, 2001), rtol=1e-8)


@pytest.mark.parametrize(
    ("beam", "peak", "when"),
    [((10.0, 1.4e4, 1.2, 6.0), -0.5744, 6.76), ((8.0, 566.6, 0.2019, 4.0), -0.5346, 6.77)],
    ids=["Simo and Vu-Quoc", "Wu and Haug"],
)
def test_spin_up_of_a_stiffened_beam(beam, peak, when):
    r = spin_up(*beam, stiffened=True)
    tip = r.deflection("beam", "tip")[:, 1]
    assert tip.min() == pytest.approx(peak, rel=0.01)
    assert r.t[tip.argmin()] == pytest.approx(when, rel=0.01)
    after = np.abs(tip[r.t > 15.0]).max()
    assert 0.0 < after < 0.01


def spun_path(speed, T=15.0):
    """The angle of a joint that is taken to its speed in T, as a function for `motion`."""
    w = 2.0 * np.pi / T

    def path(t):
        x = min(t, T)
        rate = speed / T * (x - np.sin(w * x) / w)
        angle = speed / T * (0.5 * x * x + (np.cos(w * x) - 1.0) / w**2) + speed * (t - x)
        return angle, rate, speed / T * (1.0 - np.cos(w * x))

    path.breaks = [T]
    return path


def test_spin_up_by_prescribed_motion():
    """Problem 3 without a heavy hub: the joint of the beam itself is driven."""
    by_torque = spin_up(10.0, 1.4e4, 1.2, 6.0, stiffened=True)
    body = lb.beam(10.0, 12.0, EI=1.4e4, modes={"y": 3}, geometric_stiffening=True)
    s = lb.Assembly("driven").attach("beam", body, lb.Revolute("z")).build()
    r = lb.simulate(s, 20.0, motion={"beam": spun_path(6.0)}, t_eval=by_torque.t, rtol=1e-8)
    tip = r.deflection("beam", "tip")[:, 1]
    assert tip.min() == pytest.approx(-0.5744, rel=0.01)
    assert r.t[tip.argmin()] == pytest.approx(6.76, rel=0.01)
    np.testing.assert_allclose(tip, by_torque.deflection("beam", "tip")[:, 1], atol=2e-6)
    assert r.power_audit().accuracy < 1e-8


def test_spin_up_of_a_plain_beam_diverges_and_says_so():
    """The "premature linearization" of Jain & Rodriguez, Appendix B."""
    with pytest.warns(TheoryWarning) as told:
        r = spin_up(10.0, 1.4e4, 1.2, 6.0, stiffened=False)
    assert np.abs(r.deflection("beam", "tip")).max() > 1000.0
    text = str(told[0].message)
    assert "turns at" in text and "geometric_stiffening=True" in text and len(told) == 1
    assert "node 'tip' turns by" in text


def test_spin_of_a_plain_beam_names_the_remedy():
    a = lb.Assembly("spun").attach("beam", lb.beam(10.0, 12.0, EI=1.4e4, modes=1), lb.Revolute("z"))
    with pytest.warns(TheoryWarning, match="geometric_stiffening=True") as told:
        lb.simulate(a.build(), 0.1, v0=[0.0, 0.0, 5.7])
    assert len(told) == 1


def test_spin_of_a_stiffened_beam_needs_no_warning():
    body = lb.beam(10.0, 12.0, EI=1.4e4, modes=1, geometric_stiffening=True)
    a = lb.Assembly("spun").attach("beam", body, lb.Revolute("z"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.simulate(a.build(), 0.1, v0=[0.0, 0.0, 5.7])


# columns

EI, LENGTH = 100.0, 2.0
CRITICAL = np.pi**2 * EI / (4.0 * LENGTH**2)


def column(load, stiffened=True, shaped=False):
    """A light column, clamped below, with a load on top that is this part of its buckling load; negative loads hang.

    shaped : whether the shapes are those of a column that carries this load.
    """
    mass = abs(load) * CRITICAL / 10.0
    body = lb.beam(
        LENGTH, 1e-4, EI=EI, modes=3, geometric_stiffening=stiffened,
        load=(mass, 0.0) if shaped else None,
    )  # fmt: skip
    a = lb.Assembly("column", gravity=(0, 0, -10.0 * np.sign(load)))
    a.attach("column", body, lb.Fixed(), rotation=UPRIGHT)
    a.attach("load", lb.RigidBody(mass), lb.Fixed(), "column", "tip")
    return a.build()


def test_a_column_buckles_within_half_a_percent_of_its_load():
    """With three modes a plane the lowest frequency falls to zero between 0.995 and 1.005 of pi^2 EI/(4 L^2)."""
    below, above = lb.modes(column(0.995)), lb.modes(column(1.005))
    assert not below.growth.any() and below.omega[0] > 0.0
    assert above.growth[:2].min() > 0.0


@pytest.mark.parametrize("load", [-0.9, -0.2, 0.2, 0.9])
def test_hanging_loads_stiffen_and_standing_loads_soften(load):
    """The stiffness of a massless column with the load P on its tip is P / (tan(x L)/x - L), x^2 = P/EI; pulled, with tanh."""
    P = load * CRITICAL
    x = np.sqrt(abs(P) / EI)
    tangent = np.tan(x * LENGTH) if P > 0.0 else np.tanh(x * LENGTH)
    stiffness = P / (tangent / x - LENGTH)
    square = lb.modes(column(load, shaped=True)).omega[0] ** 2
    unloaded = 3.0 * EI / LENGTH**3
    assert square * abs(P) / 10.0 == pytest.approx(stiffness, abs=2e-3 * unloaded)


@pytest.mark.parametrize(
    ("load", "words"), [(1.5, "a real beam would buckle"), (0.3, "about 15 % too high")]
)
def test_a_plain_column_under_load_says_what_it_leaves_out(load, words):
    s = column(load, stiffened=False)
    for call in (lambda: lb.modes(s), lambda: lb.simulate(s, 0.01)):
        with pytest.warns(TheoryWarning, match="geometric_stiffening=True") as told:
            call()
        assert len(told) == 1
        text = str(told[0].message)
        assert words in text and "'column' is under compression" in text


def test_a_plain_column_under_a_small_load_is_left_alone():
    s = column(0.05, stiffened=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.modes(s)
        lb.simulate(s, 0.01)


# large deflections of beams in several parts


def divided(parts, length, EI, GJ, stiffened=True):
    """A cantilever of cubic elements."""
    h, light = length / parts, 1e-3
    body = lb.beam(
        h, light * h, EI=EI, GJ=GJ, polar_inertia=1e-6 * h, modes={"bending": 2, "torsion": 1},
        elements=1, load=(1e4 * light * h, 1e4 * light * h**3), geometric_stiffening=stiffened,
    )  # fmt: skip
    a = lb.Assembly("cantilever")
    for i in range(parts):
        a.attach(f"part{i}", body, lb.Fixed(), *((f"part{i - 1}", "tip") if i else ("world",)))
    return a.build()


def tip_under(s, wrench):
    """The displacement of the tip in equilibrium under a wrench there."""
    last = list(s.bodies)[-1]
    q = lb.equilibrium(s, external={(last, "tip"): wrench})
    start = lb.pose(s, s.neutral(), last, "tip")[1]
    return lb.pose(s, q, last, "tip")[1] - start


def test_a_moment_bends_a_divided_beam_to_an_arc():
    """A cantilever under a tip moment is an arc of the angle M L/EI; the error falls with the square of the parts."""
    angle = 1.5
    exact = np.array([np.sin(angle) / angle - 1.0, (1.0 - np.cos(angle)) / angle, 0.0])
    errors = [
        np.abs(tip_under(divided(n, 1.0, 2.0, 1.0), [0, 0, 2.0 * angle, 0, 0, 0]) - exact).max()
        for n in (4, 8, 16)
    ]
    assert errors[-1] < 1e-3
    assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 1.8).all()


PRINCETON = {  # angle: edgewise and flatwise tip deflection, m
    0: (0.010714, 0.0),
    30: (0.010112, 0.079395),
    60: (0.006605, 0.129888),
    90: (0.0, 0.146246),
}
L, WIDTH, HEIGHT, E, GJ, FORCE = 0.508, 12.3777e-3, 3.2024e-3, 71.7e9, 3.10, 8.896
FLAT, EDGE = E * WIDTH * HEIGHT**3 / 12.0, E * HEIGHT * WIDTH**3 / 12.0


def tip_force(angle):
    return FORCE * np.array([0.0, np.cos(np.radians(angle)), np.sin(np.radians(angle))])


@pytest.mark.parametrize("angle", PRINCETON)
def test_the_princeton_beam_in_eight_parts(angle):
    s = divided(8, L, (FLAT, EDGE), GJ)
    found = tip_under(s, np.append(np.zeros(3), tip_force(angle)))
    np.testing.assert_allclose(found[1:], PRINCETON[angle], rtol=0.01, atol=1e-9)


def rod(force):
    """Tip displacement of a slender, inextensible rod: moments by shooting, M' = -r' x F, kappa = R^T M / stiffness."""
    compliance = 1.0 / np.array([GJ, FLAT, EDGE])

    def rates(s, y):
        R = Rotation.from_quat(y[3:7]).as_matrix()
        x, b, c, w = y[3:7]
        k = compliance * (R.T @ y[7:])
        turn = 0.5 * np.array(
            [
                w * k[0] + b * k[2] - c * k[1],
                w * k[1] + c * k[0] - x * k[2],
                w * k[2] + x * k[1] - b * k[0],
                -x * k[0] - b * k[1] - c * k[2],
            ]
        )
        return np.concatenate([R[:, 0], turn, -np.cross(R[:, 0], force)])

    def end(moment):
        start = np.concatenate([np.zeros(6), [1.0], moment])
        return solve_ivp(rates, (0.0, L), start, rtol=1e-9, atol=1e-12).y[:, -1]

    root = fsolve(lambda m: end(m)[7:], 0.9 * np.cross([L, 0, 0], force), xtol=1e-12)
    return end(root)[:3] - [L, 0.0, 0.0]


def test_a_divided_beam_converges_to_a_rod():
    exact = rod(tip_force(60))
    wrench = np.append(np.zeros(3), tip_force(60))
    errors = [
        np.abs(tip_under(divided(n, L, (FLAT, EDGE), GJ), wrench) - exact).max() for n in (3, 6, 12)
    ]
    assert errors[-1] < 5e-4 * L
    assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 1.5).all()


# conservation


def test_a_spinning_free_body_keeps_energy_and_momentum():
    """A hub with two stiffened booms, one of them placed askew, turning faster than their first frequency."""
    boom = lb.beam(4.0, 3.0, EI=40.0, modes=2, geometric_stiffening=True)
    askew = lb.beam(
        3.0, 2.0, EI=(30.0, 50.0), GJ=20.0, polar_inertia=0.1, modes={"bending": 1, "torsion": 1},
        geometric_stiffening=True, offset=(0.1, 0.2, 0.0), rotation=Rotation.from_euler("xyz", [0.3, -0.4, 2.5]).as_matrix(),
    )  # fmt: skip
    a = lb.Assembly("spacecraft")
    a.attach("hub", lb.RigidBody(5.0, (0.1, 0, 0), (3.0, 4.0, 5.0)), lb.Free())
    a.attach("boom", boom, lb.Fixed(), "hub", offset=(0.5, 0, 0))
    a.attach(
        "tip", lb.RigidBody(0.5, (0.1, 0, 0), (0.01, 0.01, 0.01)), lb.Revolute("y"), "boom", "tip"
    )
    a.attach("askew", askew, lb.Fixed(), "hub")
    s = a.build()
    v0 = np.zeros(s.nv)
    v0[s.layout["hub"].v_joint] = [0.2, -0.1, 2.0, 0.3, 0.1, 0.0]
    v0[s.layout["boom"].v_modes] = [0.1, -0.2, 0.05, 0.1]
    assert np.sqrt(boom.stiffness[0, 0]) < 2.0
    r = lb.simulate(s, 5.0, v0=v0, rtol=1e-11, atol=1e-12)
    assert np.abs(r.deflection("boom", "tip")).max() > 0.02
    energy = r.energy
    assert np.ptp(energy) < 1e-8 * energy[0]
    assert np.ptp(r.momentum, axis=0).max() < 1e-8 * np.abs(r.momentum[0]).max()


# what users give


def test_stiffened_bodies_survive_files(tmp_path):
    rng = np.random.default_rng(0)
    B = rng.normal(size=(3, 3, 2, 2))
    nodes = lb.FlexibleBody.from_nodes(
        mass=[1.0, 2.0, 3.0], position=rng.normal(size=(3, 3)), translation=rng.normal(size=(3, 3, 2)),
        stiffness=np.eye(2), second=B + np.swapaxes(B, 2, 3),
    )  # fmt: skip
    a = lb.Assembly("both")
    a.attach("beam", lb.beam(2.0, 1.0, EI=3.0, geometric_stiffening=True), lb.Revolute("z"))
    a.attach("nodes", nodes, lb.Revolute("y"), "beam", "tip")
    s = a.build()
    q, v = 0.1 * rng.normal(size=s.nq), rng.normal(size=s.nv)
    for expand in (False, True):
        lb.save(a, tmp_path / "model.yaml", expand_beams=expand)
        back = lb.load(tmp_path / "model.yaml").build()
        assert np.array_equal(lb.bias(back, q, v), lb.bias(s, q, v))
        assert back.bodies["beam"].stiffens and back.bodies["nodes"].stiffens


def test_second_order_shapes_must_be_symmetric():
    B = np.zeros((1, 3, 2, 2))
    B[0, 1, 0, 1] = 1.0
    with pytest.raises(
        lb.LimberError, match=r"second\[0, 1\] is not symmetric in the modes: entry"
    ):
        lb.FlexibleBody.from_nodes(
            [1.0], np.zeros((1, 3)), np.ones((1, 3, 2)), stiffness=np.eye(2), second=B
        )
    with pytest.raises(lb.LimberError, match="second must have shape"):
        lb.FlexibleBody.from_nodes(
            [1.0], np.zeros((1, 3)), np.ones((1, 3, 2)), stiffness=np.eye(2), second=B[:, :2]
        )


# structures, whose stiffening is truncated


@pytest.fixture(scope="module")
def framed():
    section = lb.Section(EA=2.8e7, EI=1.4e4, GJ=1e4, rhoA=1.2)
    frame = lb.structures.frame(
        {"root": (0, 0, 0), "tip": (10.0, 0, 0)}, [("root", "tip")], section, divide=10
    )
    body = frame.reduce(clamped="root", interface="tip", modes=6, geometric_stiffening=True)
    return lb.Assembly("frame").attach("boom", body, lb.Revolute("z")).build()


def test_a_spinning_frame_is_a_spinning_beam(framed):
    body = lb.beam(10.0, 12.0, EI=1.4e4, modes=3, geometric_stiffening=True)
    beam = lb.Assembly("beam").attach("boom", body, lb.Revolute("z")).build()
    v = np.append(np.zeros(6), 6.0)
    found, expected = (lb.modes(s, v=v, locked=["boom"]).omega for s in (framed, beam))
    close(found, expected, 2e-3)


def test_a_truncated_mass_matrix_that_is_indefinite_is_refused_by_name(framed):
    q, zero = framed.neutral(), np.zeros(framed.nv)
    for eta in (2.0, 20.0):
        q[0] = eta
        for method in ("articulated", "composite"):
            with pytest.raises(
                DynamicsError, match=r"not positive definite .* of body 'boom'. Its geometric"
            ):
                lb.forward_dynamics(framed, q, zero, zero, method=method)


def test_no_function_of_an_indefinite_mass_matrix_answers(framed):
    """Nor do batches with one such state, nor what was called before; forces at rest do not depend on it."""
    zero = np.zeros(framed.nv)
    q = np.array([framed.neutral(), framed.neutral()])
    q[1, 0] = 2.0
    calls = {
        lb.mass_matrix: (),
        lb.kinetic_energy: (zero,),
        lb.momentum: (zero,),
        lb.bias: (zero,),
        lb.inverse_dynamics: (zero, zero),
    }
    for function, rest in calls.items():
        for _ in range(2):
            function(framed, q[0], *rest)
        for state in (q[1], q):
            with pytest.raises(DynamicsError, match=r"not positive definite .* of body 'boom'"):
                function(framed, state, *rest)
    force = {("boom", "tip"): [0, 0, 0, 0, 500.0, 0]}
    bent = lb.equilibrium(framed, locked=["boom"], external=force)
    with pytest.raises(DynamicsError, match="not positive definite"):
        lb.mass_matrix(framed, bent)


def test_the_truncated_body_is_named_on_the_joint_of_another(framed):
    hub = lb.RigidBody(0.01, inertia=1e-3 * np.eye(3))
    a = lb.Assembly("hub").attach("hub", hub, lb.Revolute("z"))
    s = a.attach("boom", framed.bodies["boom"], lb.Fixed(), "hub").build()
    q = s.neutral()
    q[s.layout["boom"].q_modes][0] = 2.0
    with pytest.raises(
        DynamicsError,
        match=r"'boom'. Its geometric stiffening is truncated, since it is derived from",
    ):
        lb.mass_matrix(s, q)


def test_generated_accelerations_of_an_indefinite_state_are_nan(framed):
    f = lb.compile(framed, "forward_dynamics")
    q, zero = framed.neutral(), np.zeros(framed.nv)
    tau = np.linspace(1.0, 2.0, framed.nv)
    q[:6] = 0.05
    close(f(q, zero, tau), lb.forward_dynamics(framed, q, zero, tau), 1e-10)
    q[0] = 2.0
    assert np.isnan(f(q, zero, tau)).all()
    both = f(np.array([framed.neutral(), q]), zero, tau)
    assert np.isfinite(both[0]).all() and np.isnan(both[1]).all()


def test_generated_hybrid_dynamics_of_an_indefinite_state_is_nan(framed):
    a = lb.Assembly("hub").attach("hub", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Revolute("z"))
    s = a.attach("boom", framed.bodies["boom"], framed.joints["boom"], "hub").build()
    f = lb.compile(s, "hybrid_dynamics", driven=["hub"])
    q, zero = s.neutral(), np.zeros(s.nv)
    x = np.linspace(1.0, 2.0, s.nv)
    rates = {"hub": x[s.layout["hub"].v_joint]}
    for part, right in zip(f(q, zero, x), lb.hybrid_dynamics(s, q, zero, x, motion=rates)):
        close(part, right, 1e-10)
    q[s.layout["boom"].q_modes][0] = 2.0
    with pytest.raises(DynamicsError, match=r"not positive definite .* of body 'boom'"):
        lb.hybrid_dynamics(s, q, zero, x, motion=rates)
    assert all(np.isnan(part).all() for part in f(q, zero, x))


@pytest.mark.parametrize("method", ["auto", "sdirk4", "DOP853"])
def test_a_motion_with_an_indefinite_mass_matrix_is_refused(framed, method):
    """One starts there, another gets stuck where the mass matrix becomes singular."""
    q0, v0 = np.append(20.0, np.zeros(6)), np.append(8.0, np.zeros(6))
    with pytest.raises(
        lb.SimulationError, match=r"'boom'.* is truncated, since it is derived from"
    ):
        lb.simulate(framed, 0.5, q0=q0, method=method)
    with pytest.raises(
        lb.SimulationError, match=r"'boom'.*is truncated, since it is derived from"
    ) as found:
        lb.simulate(framed, 0.5, v0=v0, method=method, t_eval=np.linspace(0.0, 0.5, 101))
    result = found.value.result
    assert 0.0 < result.t[-1] < 0.5 and len(result) > 1


def test_a_beam_that_does_not_bend_has_nothing_to_stiffen():
    modes = {"torsion": 1, "stretch": 1}
    body = lb.beam(
        1.0, 1.0, GJ=1.0, EA=1.0, polar_inertia=0.1, modes=modes, geometric_stiffening=True
    )
    assert not body.stiffens


# --- frames at an angle ------------------------------------------------------------------------------


def bent(force, divided):
    """Eigenvalues of an L in the x-y plane, stiff in it, with a force in the plane at its end."""
    section = lb.Section(EA=1e7, EI=(10.0, 3e4), GJ=8.0, rhoA=0.3, rhoI=(1e-4, 1e-4))
    parts = 5
    a = lb.Assembly("bent")
    if divided:
        place, turn = ("world", None), np.eye(3)
        for length, corner in ((1.0, np.eye(3)), (0.6, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])):
            h = length / parts
            load = (1e4 * section.rhoA * h, 1e4 * section.rhoA * h**3)
            body = lb.beam(
                h, section=section, modes={"y": 2, "z": 2, "torsion": 1, "stretch": 1},
                load=load, elements=1, geometric_stiffening=True,
            )  # fmt: skip
            for i in range(parts):
                name = f"{length}.{i}"
                a.attach(name, body, lb.Fixed(), *place, rotation=turn.T @ corner)
                place, turn = (name, "tip"), np.asarray(corner)
    else:
        nodes = {"root": (0, 0, 0), "corner": (1, 0, 0), "tip": (1, 0.6, 0)}
        members = [("root", "corner"), ("corner", "tip")]
        structure = lb.structures.frame(nodes, members, section, divide=parts)
        body = structure.reduce(
            clamped="root", interface="tip", nodes=["tip"], modes=10, method="static-correction",
            geometric_stiffening=True,
        )  # fmt: skip
        a.attach("frame", body, lb.Fixed())
        place = ("frame", "tip")
    s = a.build()
    external = {place: [0, 0, 0, *force]}
    q = lb.equilibrium(s, external=external)
    return lb.modes(s, q, external=external).omega[:2] ** 2


def test_moments_in_a_frame_change_its_stiffness_as_in_divided_beams():
    """Axial forces alone would give half of the first change, and the second with the wrong sign."""
    force = np.array([0.5, 0.0, 0.0])
    found, exact = (
        (bent(force, divided) - bent(-force, divided)) / bent(0 * force, divided)
        for divided in (False, True)
    )
    np.testing.assert_allclose(found, exact, rtol=0.02)


# --- deep beams --------------------------------------------------------------------------------------


def deep(parts, stiffened=True, **place):
    """A deep cantilever in some parts, its tip, and the force there at which it tips over sideways."""
    section = lb.Section.rectangle(0.004, 0.06, lb.Material(E=70e9, rho=2700.0, nu=0.3)).slender()
    length = 1.5
    h = length / parts
    load = (1e4 * section.rhoA * h, 1e4 * section.rhoA * h**3)
    body = lb.beam(
        h, section=section, modes={"y": 2, "z": 2, "torsion": 1}, load=load, elements=1,
        geometric_stiffening=stiffened, **place,
    )  # fmt: skip
    a, end = lb.Assembly("deep"), ("world", None)
    for i in range(parts):
        a.attach(f"part{i}", body, lb.Fixed(), *end)
        end = (f"part{i}", "tip")
    put_off = np.sqrt(1.0 - section.EI[1] / section.EI[0])
    return a.build(), end, 4.013 * np.sqrt(section.EI[1] * section.GJ) / length**2 / put_off


@pytest.mark.parametrize("stiffened", [False, True])
def test_a_deep_beam_that_would_tip_over_says_so(stiffened):
    """In modes, equilibria and simulations, wherever the beam lies in its body frame."""
    turn = Rotation.from_euler("xyz", [0.3, -0.4, 2.5]).as_matrix()
    for place in ({}, {"offset": (0.3, -0.2, 0.5), "rotation": turn}):
        s, tip, critical = deep(1, stiffened, **place)
        axes = turn if place else np.eye(3)
        force = {
            part: {tip: [0, 0, 0, *(-part * critical * axes[:, 2])]} for part in (0.25, 0.5, 1.2)
        }
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            lb.modes(s, external=force[0.25])
            lb.modes(s, external={tip: [0, 0, 0, *(0.1 * critical * axes[:, 1])]})  # sideways
        with pytest.warns(
            TheoryWarning, match=", 0.5 of the moment .*of this kind sideways.* 12 % too high"
        ):
            lb.modes(s, external=force[0.5])
        with pytest.warns(TheoryWarning, match="a real beam would buckle sideways"):
            lb.equilibrium(s, external=force[1.2])
        with pytest.warns(TheoryWarning):
            q = lb.equilibrium(s, external=force[0.5])
        with pytest.warns(TheoryWarning, match=r"at its root at t = 0 s, 0\.5 of the moment"):
            lb.simulate(s, 1e-4, q0=q, external=force[0.5])


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_a_deep_beam_that_hangs_by_its_tip_has_its_moment_there(fidelity):
    s, (body, _), critical = deep(1)
    hung = lb.Assembly("hung").attach(
        "part0", s.bodies[body], lb.Fixed(), inboard="tip"
    )  # its root is free
    load = {(body, "root"): [0, 0, 0, 0, 0, -0.5 * critical]}
    with pytest.warns(TheoryWarning, match=r"at node 'tip', 0\.5 of the moment"):
        lb.modes(hung.build(fidelity), external=load)


def test_a_deep_beam_in_parts_tips_over():
    s, tip, critical = deep(8)
    for part, falls in ((0.95, False), (1.05, True)):
        external = {tip: [0, 0, 0, 0, 0, -part * critical]}
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            q = lb.equilibrium(s, external=external)
            found = lb.modes(s, q, external=external)
        assert bool(found.growth.any()) == falls
        assert len(told) == falls and all("is unstable: after" in str(x.message) for x in told)
