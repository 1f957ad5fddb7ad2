"""FMUs against the engine they were made from, in FMPy."""

import subprocess
from types import SimpleNamespace

import numpy as np
import pytest

import limber as lb
from helpers.closed import rod
from helpers.compare import assert_close
from helpers.fmu import instance, simulated
from helpers.random_systems import random_assembly, random_state
from limber.native import c_compiler

fmpy = pytest.importorskip("fmpy", reason="FMPy is in the extra limber-dynamics[fmi]")

VERSIONS = (2, 3)
KINDS = ("CoSimulation", "ModelExchange")
ROUNDING = 1e-11
ENDS = [("arm", "tip"), ("tool", None)]
GAUGE = lb.control.StrainGauge("arm", at=[0.0, 0.5], z=0.03, rate=1.0, name="gauge")
CHOSEN = ["gravity", "arm.EI", "tool.mass", "arm.joint_damping"]


def flexible_arm():
    """A flexible link on a hinge with a tool that slides at its tip."""
    a = lb.Assembly("flexible arm", gravity=(0, 0, -9.81))
    beam = lb.beam(2.0, 3.0, EI=2e3, modes={"z": 2}, damping=0.01)
    a.attach("arm", beam, lb.Revolute("y", damping=0.2), joint_name="shoulder")
    tool = lb.RigidBody(1.0, inertia=0.02 * np.eye(3))
    slide = lb.Prismatic("z", stiffness=300.0, damping=2.0)
    return a.attach("tool", tool, slide, to="arm", at="tip").build()


def top():
    """A fast top on a ball joint."""
    body = lb.RigidBody(1.0, (0, 0, 0.5), [0.1, 0.1, 0.05])
    return lb.Assembly("top", gravity=(0, 0, -9.81)).attach("top", body, lb.Spherical()).build()


def linkage():
    """A four-bar linkage, and a configuration that closes it."""
    a = lb.Assembly("linkage", gravity=(0, -9.81, 0))
    a.attach("crank", rod(1.0), lb.Revolute("z"))
    a.attach("coupler", rod(2.5), lb.Revolute("z"), to="crank", at="tip")
    a.attach("rocker", rod(1.8), lb.Revolute("z"), offset=(2.2, 0, 0))
    s = a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), name="pin").build()
    return s, lb.assemble(s, [1.0, -0.5, 1.5])


@pytest.fixture(scope="module")
def arms(tmp_path_factory):
    """The arm, and (file, folder) of its FMU in each version."""
    s, folder = flexible_arm(), tmp_path_factory.mktemp("fmu")
    made = {}
    for version in VERSIONS:
        path = folder / f"arm{version}.fmu"
        assert lb.exchange.fmu(
            s, path, version=version, parameters=CHOSEN, nodes=ENDS, forces=ENDS, accelerations=ENDS, gauges=[GAUGE]
        ) == path  # fmt: skip
        made[version] = path, folder / str(version)
    return s, made


@pytest.fixture(scope="module")
def tops(tmp_path_factory):
    s, folder = top(), tmp_path_factory.mktemp("top")
    path = lb.exchange.fmu(s, folder / "top.fmu", v0=[0.3, 0.0, 30.0], parameters=["top.inertia"])
    return s, path, folder / "unzipped"


@pytest.fixture(scope="module")
def linkages(tmp_path_factory):
    (s, q0), folder = linkage(), tmp_path_factory.mktemp("linkage")
    path = lb.exchange.fmu(s, folder / "linkage.fmu", q0=q0)
    return s, q0, path, folder / "unzipped"


@pytest.mark.parametrize("version", VERSIONS)
def test_fmpy_finds_nothing_wrong(arms, version):
    path, _ = arms[1][version]
    assert validate(path) == []
    described = fmpy.read_model_description(str(path))
    for part in (described.modelExchange, described.coSimulation):
        assert part.modelIdentifier == "flexible_arm"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_another_process_reproduces_simulate(arms, version, kind):
    s, made = arms
    signals = {"time": [0.0, 1.0], "shoulder.tau": [40.0, 40.0]}
    found = simulated(made[version][0], kind, 1.0, 0.05, 1e-8, signals)
    tau = np.zeros(s.nv)
    tau[s.layout["arm"].v_joint] = 40.0
    truth = lb.simulate(s, 1.0, torque=tau, every=0.05, rtol=1e-11, atol=1e-13)
    assert_close(found["time"], truth.t, 1e-12)
    for name, body, part, x in (
        ("shoulder.q", "arm", "q_joint", truth.q),
        ("shoulder.v", "arm", "v_joint", truth.v),
        ("tool.q", "tool", "q_joint", truth.q),
        ("tool.v", "tool", "v_joint", truth.v),
    ):
        expected = x[:, getattr(s.layout[body], part).start]
        assert_close(found[name], expected, 1e-5 * max(1.0, np.abs(expected).max()), name)
    tip = truth.node("arm", "tip").position
    for i in range(3):
        assert_close(found[f"arm.tip.position[{i + 1}]"], tip[:, i], 1e-5)


def test_co_simulation_keeps_the_tolerance_that_it_is_given(arms):
    s, made = arms
    truth = lb.simulate(s, 1.0, every=0.1, rtol=1e-12, atol=1e-14).q[:, s.layout["arm"].q_joint]
    errors = []
    for tolerance in (1e-4, 1e-6, 1e-8):
        with instance(*made[3]) as one:
            one.start(tolerance)
            found = []
            for n in range(11):
                found.append(one.get("shoulder.q"))
                if n < 10:
                    one.step(0.1 * n, 0.1)
            errors.append(np.abs(np.array(found) - truth).max())
    assert errors[0] < 1e-3 and errors[1] < 1e-5 and errors[2] < 1e-7
    assert errors[0] > errors[1] > errors[2]


def some_values(one, rng):
    """Random inputs, states and changed parameters, by name."""
    nx = one.description.numberOfContinuousStates
    names = [x.name for x in one.description.modelVariables]
    states = dict(zip(names[1 : 1 + nx], 0.1 * rng.standard_normal(nx)))
    inputs = {name: rng.standard_normal() for name in one.named("input")}
    start = {x.name: float(x.start) for x in one.description.modelVariables if x.start}
    numbers = {name: 1.1 * start[name] for name in one.named("parameter")}
    return states, inputs, numbers


@pytest.mark.parametrize("version", VERSIONS)
def test_rates_and_outputs_are_those_of_the_engine(arms, version):
    s, made = arms
    with instance(*made[version], "ModelExchange") as one:
        states, inputs, numbers = some_values(one, np.random.default_rng(2))
        one.start(**states, **numbers)
        one.set(inputs)
        x = np.array([*states.values()])
        q, v = x[: s.nq], x[s.nq :]
        gravity = [numbers[f"gravity[{i}]"] for i in (1, 2, 3)]
        changed = s.with_parameters(
            {"gravity": gravity, **{name: numbers[name] for name in CHOSEN[1:]}}
        )
        tau = np.zeros(s.nv)
        for body, name in (("arm", "shoulder"), ("tool", "tool")):
            tau[s.layout[body].v_joint] = inputs[f"{name}.tau"]
        external = {
            end: [inputs[f"{place}.{what}[{i}]"] for what in ("moment", "force") for i in (1, 2, 3)]
            for end, place in zip(ENDS, ("arm.tip", "tool.frame"))
        }
        expected = np.concatenate(
            [lb.qdot(s, q, v), lb.forward_dynamics(changed, q, v, tau, external=external)]
        )
        rates = one.get(*(f"der({name})" for name in states))
        assert_close(rates, expected, ROUNDING * np.abs(expected).max())
        energies = lb.kinetic_energy(changed, q, v), lb.potential_energy(changed, q)
        assert_close(one.get("kinetic_energy", "potential_energy"), energies, ROUNDING * 100)
        R, p = lb.pose(changed, q, "arm", "tip")
        three = (1, 2, 3)
        assert_close(one.get(*(f"arm.tip.position[{i}]" for i in three)), p, ROUNDING)
        found = one.get(*(f"arm.tip.rotation[{i},{j}]" for i in three for j in three))
        assert_close(found, R.ravel(), ROUNDING)
        velocity = lb.jacobian(changed, q, "arm", "tip") @ v
        found = one.get(
            *(f"arm.tip.{w}[{i}]" for w in ("angular_velocity", "velocity") for i in three)
        )
        assert_close(found, velocity, ROUNDING)
        for end, place in zip(ENDS, ("arm.tip", "tool.frame")):
            right = lb.acceleration(changed, q, v, expected[s.nq :], *end)
            assert_close(one.get(*accelerations(place)), right, ROUNDING * np.abs(right).max())
        strain = GAUGE.reader(changed).read(SimpleNamespace(q=q))
        assert_close(one.get("gauge[1]", "gauge[2]"), strain, ROUNDING)


def accelerations(place):
    """The variables of the acceleration of a node."""
    parts = ("angular_acceleration", "acceleration")
    return [f"{place}.{part}[{i}]" for part in parts for i in (1, 2, 3)]


@pytest.mark.parametrize("version", VERSIONS)
def test_accelerations_follow_the_inputs_at_once(arms, version):
    """Their derivatives by the joint forces are J M^{-1}, and the model description says that they depend on them."""
    s, made = arms
    with instance(*made[version], "ModelExchange") as one:
        states, inputs, _ = some_values(one, np.random.default_rng(5))
        one.start(**states)
        one.set(inputs)
        q = np.array([*states.values()])[: s.nq]
        names = accelerations("arm.tip")
        found = np.column_stack(
            [one.directional(names, [f"{x}.tau"], [1.0]) for x in ("shoulder", "tool")]
        )
        places = [s.layout[name].v_joint.start for name in ("arm", "tool")]
        right = lb.jacobian(s, q, "arm", "tip") @ np.linalg.inv(lb.mass_matrix(s, q))[:, places]
        assert_close(found, right, ROUNDING * np.abs(right).max())
        assert_close(one.directional(["gauge[1]"], ["shoulder.tau"], [1.0]), [0.0], 0.0)


def test_gauges_that_do_not_fit_are_refused(tmp_path):
    s, path = flexible_arm(), tmp_path / "x.fmu"
    for given, message in (
        (["root"], "gauges must be a list of lb.control.StrainGauge objects, got"),
        ([GAUGE, GAUGE], "gauges: two of them have the name 'gauge'; give each its own name"),
        ([lb.control.StrainGauge("tool", at="x", z=0.1, rate=1.0)], "body 'tool' has no section"),
    ):
        with pytest.raises(lb.LimberError, match=message):
            lb.exchange.fmu(s, path, gauges=given)
    with pytest.raises(lb.LimberError, match=r"accelerations=.* names .* twice"):
        lb.exchange.fmu(s, path, accelerations=[("arm", "tip"), ("arm", "tip")])
    assert not path.exists()


def test_stiffnesses_that_change_what_a_gauge_reads_are_said(tmp_path):
    """The modes of a beam with shear deformation carry other strains with another EI alone; scaled ones do not."""
    a, E = lb.Assembly("deep"), lb.Material(E=200e9, nu=0.3, rho=7800.0)
    section = lb.Section.rectangle(0.06, 0.04, E)
    a.attach("deep", lb.beam(1.0, section=section, modes={"z": 2}), lb.Revolute("y"))
    a.attach("thin", lb.beam(1.0, section=section.slender(), modes={"z": 2}), lb.Revolute("y"), to="deep", at="tip")  # fmt: skip
    s = a.build()
    gauges = [lb.control.StrainGauge(x, at=0.2, z=0.03, rate=1.0, name=x) for x in ("deep", "thin")]
    rows = gauges[0].rows(s)
    changed = gauges[0].rows(s.with_parameters({"deep.EI": 0.5 * s.parameters["deep.EI"].value}))
    assert np.abs(changed - rows).max() > 1e-3 * np.abs(rows).max()
    with pytest.warns(lb.ModelWarning, match="the strain of 'deep' .* depends on deep.EI, because"):
        lb.exchange.fmu(s, tmp_path / "x.fmu", gauges=gauges)
    some = ["*.mass", "thin.EI", "*.stiffness_scale"]
    lb.exchange.fmu(s, tmp_path / "x.fmu", gauges=gauges, parameters=some)  # without a warning


@pytest.mark.parametrize("version", VERSIONS)
def test_directional_derivatives_are_those_of_the_engine(arms, version):
    s, made = arms
    with instance(*made[version], "ModelExchange") as one:
        states, inputs, _ = some_values(one, np.random.default_rng(3))
        one.start(**states)
        one.set(inputs)
        q, v = np.array([*states.values()])[: s.nq], np.array([*states.values()])[s.nq :]
        external = {
            end: [inputs[f"{place}.{what}[{i}]"] for what in ("moment", "force") for i in (1, 2, 3)]
            for end, place in zip(ENDS, ("arm.tip", "tool.frame"))
        }
        tau = np.zeros(s.nv)
        for body, name in (("arm", "shoulder"), ("tool", "tool")):
            tau[s.layout[body].v_joint] = inputs[f"{name}.tau"]
        exact = lb.derivatives(s, q, v, tau, external=external)
        unknowns = [f"der({name})" for name in states][s.nq :]
        A = np.column_stack([one.directional(unknowns, [name], [1.0]) for name in states])
        expected = np.hstack([exact.q, exact.v])
        assert_close(A, expected, ROUNDING * np.abs(expected).max())
        B = one.directional(unknowns, ["shoulder.tau", "tool.tau"], [2.0, -1.0])
        places = [s.layout[name].v_joint.start for name in ("arm", "tool")]
        expected = exact.tau[:, places] @ [2.0, -1.0]
        assert_close(B, expected, ROUNDING * np.abs(expected).max())


def test_adjoint_derivatives_are_transposed_directional_ones(arms):
    with instance(*arms[1][3], "ModelExchange") as one:
        rng = np.random.default_rng(4)
        states, inputs, numbers = some_values(one, rng)
        one.start(**states, **numbers)
        one.set(inputs)
        knowns = [*states, *inputs, *numbers]
        unknowns = [*(f"der({name})" for name in states), *one.named("output")]
        along = rng.standard_normal(len(knowns))
        against = rng.standard_normal(len(unknowns))
        forward = one.directional(unknowns, knowns, along)
        back = one.adjoint(unknowns, knowns, against)
        assert abs(forward @ against - back @ along) < ROUNDING * np.linalg.norm(forward) * 10
        h = 1e-6
        changed = {name: h * d for name, d in zip(numbers, along[-len(numbers) :])}
        slopes = one.directional(unknowns, list(numbers), along[-len(numbers) :])
        ends = []
        for sign in (1.0, -1.0):
            one.set({name: numbers[name] + sign * changed[name] for name in numbers})
            ends.append(one.get(*unknowns))
        assert_close((ends[0] - ends[1]) / (2.0 * h), slopes, 1e-6 * np.abs(slopes).max())


@pytest.mark.parametrize("version", VERSIONS)
def test_a_state_can_be_kept_and_set_again(arms, version):
    path, folder = arms[1][version]
    names = ("shoulder.q", "shoulder.v", "tool.q", "time")
    with instance(path, folder) as one, instance(path, folder, name="two") as two:
        one.start()
        one.step(0.0, 0.1)
        suffix = "state" if version == 2 else "State"
        kept = getattr(one.fmu, f"getFMU{suffix}")()
        written = getattr(one.fmu, f"serializeFMU{suffix}")(kept)
        one.step(0.1, 0.1)
        first = one.get(*names)
        getattr(one.fmu, f"setFMU{suffix}")(kept)
        one.step(0.1, 0.1)
        assert np.array_equal(one.get(*names), first)
        two.start(**{"shoulder.q": 1.0})
        read = "deSerializeFMUstate" if version == 2 else "deserializeFMUState"
        moved = getattr(two.fmu, read)(written)
        getattr(two.fmu, f"setFMU{suffix}")(moved)
        two.step(0.1, 0.1)
        assert np.array_equal(two.get(*names), first)
        with pytest.raises(Exception, match="error"):
            getattr(two.fmu, read)(written[:-1])
        assert two.said == ["these bytes are not a serialized state of this model."]
        getattr(one.fmu, f"freeFMU{suffix}")(kept)
        getattr(two.fmu, f"freeFMU{suffix}")(moved)


def test_several_instances_share_nothing(arms):
    _, made = arms
    with instance(*made[3]) as one, instance(*made[3], name="two") as two:
        one.start(**{"tool.mass": 5.0, "shoulder.q": 0.3})
        two.start()
        alone = []
        for n in range(5):
            one.step(0.1 * n, 0.1)
            two.step(0.1 * n, 0.1)
            alone.append(two.get("shoulder.q"))
        with instance(*made[3], name="three") as three:
            three.start()
            for n in range(5):
                three.step(0.1 * n, 0.1)
                assert np.array_equal(three.get("shoulder.q"), alone[n])
        two.fmu.reset()
        two.start()
        two.step(0.0, 0.1)
        assert np.array_equal(two.get("shoulder.q"), alone[0])
        assert not np.array_equal(one.get("shoulder.q"), alone[-1])


def test_parameters_change_between_steps(arms):
    s, made = arms
    with instance(*made[3]) as one:
        one.start(1e-9)
        one.step(0.0, 0.2)
        one.set({"tool.mass": 3.0})
        one.step(0.2, 0.2)
        found = one.get("shoulder.q", "shoulder.v")
    half = lb.simulate(s, 0.2, t_eval=[0.2], rtol=1e-10, atol=1e-12)
    other = s.with_parameters({"tool.mass": 3.0})
    end = lb.simulate(other, 0.2, q0=half.q[-1], v0=half.v[-1], t_eval=[0.2], rtol=1e-10, atol=1e-12)  # fmt: skip
    at = s.layout["arm"].q_joint.start, s.layout["arm"].v_joint.start
    assert_close(found, [end.q[-1, at[0]], end.v[-1, at[1]]], 1e-6)


def test_an_element_of_a_symmetric_matrix_stands_for_its_mirror_image_too(tops):
    s, path, folder = tops
    inertia = s.parameters["top.inertia"].value.copy()
    inertia[0, 2] = inertia[2, 0] = 0.02
    rates = [f"der(top.v[{i}])" for i in (1, 2, 3)]
    known = {x.name for x in fmpy.read_model_description(str(path)).modelVariables}
    assert {"top.inertia[1,3]", "top.inertia[3,3]"} <= known and "top.inertia[3,1]" not in known
    with instance(path, folder) as one:
        one.start()
        q, v = one.get(*(f"top.q[{i}]" for i in range(1, 5))), one.get(*(f"top.v[{i}]" for i in (1, 2, 3)))  # fmt: skip
        one.set({"top.inertia[1,3]": 0.02})
        found = one.get(*rates)
    other = s.with_parameters({"top.inertia": inertia})
    assert_close(found, lb.forward_dynamics(other, q, v, np.zeros(3)), 1e-12)


# --- quaternions and closures ---------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "off"), [("CoSimulation", 1e-12), ("ModelExchange", 1e-6)])
def test_quaternions_stay_unit(tops, kind, off):
    s, path, _ = tops
    found = simulated(path, kind, 2.0, 0.1, 1e-8)
    q = np.column_stack([found[f"top.q[{i}]"] for i in (1, 2, 3, 4)])
    assert np.abs(np.linalg.norm(q, axis=1) - 1.0).max() <= off
    truth = lb.simulate(s, 2.0, v0=[0.3, 0.0, 30.0], every=0.1, rtol=1e-11, atol=1e-13)
    assert_close(q, truth.q, 3e-5)


def test_a_drifted_quaternion_asks_for_an_event_that_mends_it(tops):
    s, path, folder = tops
    with instance(path, folder, "ModelExchange") as one:
        one.start()
        assert one.description.modelExchange.needsCompletedIntegratorStep
        one.fmu.updateDiscreteStates()
        one.fmu.enterContinuousTimeMode()
        x = np.concatenate([[0.8, 0.0, 0.6, 0.0], [0.3, 0.2, 5.0]])
        unit = rates(one, s, x)
        drifted = np.concatenate([1.01 * x[:4], x[4:]])
        found = rates(one, s, drifted)
        assert_close(found[:4], 1.01 * unit[:4], ROUNDING)
        assert_close(found[4:], unit[4:], ROUNDING)
        event, ended = one.fmu.completedIntegratorStep()
        assert event and not ended
        one.fmu.enterEventMode()
        moved = one.fmu.updateDiscreteStates()
        assert moved[3]  # the values of the states have changed
        assert_close(one.get(*(f"top.q[{i}]" for i in (1, 2, 3, 4))), x[:4], ROUNDING)
        assert one.fmu.completedIntegratorStep()[0] is False


def rates(one, s, x):
    """The rates at the states x, set as a solver sets them."""
    from ctypes import c_double

    block = (c_double * len(x))(*x)
    one.fmu.setContinuousStates(block, len(x))
    one.fmu.getContinuousStateDerivatives(block, len(x))
    return np.array(block)


def test_a_start_that_is_no_unit_quaternion_is_refused(tops):
    _, path, folder = tops
    with instance(path, folder) as one, pytest.raises(Exception, match="error"):
        one.start(**{"top.q[1]": 0.5})
    assert one.said == [
        "the quaternion that starts with top.q[1] has the norm 0.5 at the start: it must be 1."
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_closed_systems_stay_closed(linkages, kind):
    s, q0, path, _ = linkages
    found = simulated(path, kind, 1.0, 0.1, 1e-8)
    q = np.column_stack([found[f"{name}.q"] for name in s.bodies])
    assert max(np.abs(lb.constraint_residual(s, x)).max() for x in q) < 1e-6
    with pytest.warns(lb.ModelWarning, match="redundant"):
        truth = lb.simulate(s, 1.0, q0=q0, every=0.1, rtol=1e-11, atol=1e-13)
    assert_close(q, truth.q, 1e-5)


def test_starts_off_the_closures_are_mended_or_refused(linkages):
    s, q0, path, folder = linkages
    with instance(path, folder) as one:
        one.start(**{"rocker.q": q0[2] + 1e-3})
        assert "they have been projected" in one.said[0]
        q = one.get("crank.q", "coupler.q", "rocker.q")
        assert np.abs(lb.constraint_residual(s, q)).max() < 1e-10
    with instance(path, folder) as one, pytest.raises(Exception, match="error"):
        one.start(**{"crank.q": np.pi, "coupler.q": np.pi, "rocker.q": 0.0})
    assert "do not satisfy the closures" in one.said[0]


def test_states_that_are_not_finite_are_an_error_at_the_event(linkages):
    from ctypes import c_double

    s, q0, path, folder = linkages
    x = np.concatenate([q0, np.zeros(s.nv)])
    for i in range(len(x)):
        with instance(path, folder, "ModelExchange") as one:
            one.start()
            one.fmu.enterContinuousTimeMode()
            block = (c_double * len(x))(*np.where(np.arange(len(x)) == i, np.nan, x))
            one.fmu.setContinuousStates(block, len(x))
            assert one.fmu.completedIntegratorStep()[0]
            one.fmu.enterEventMode()
            with pytest.raises(Exception, match="error"):
                one.fmu.updateDiscreteStates()
            assert one.said == [
                "unit quaternions and the closures cannot be satisfied at time 0: they are off by inf."
            ]


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_a_step_that_cannot_be_done_is_an_error_in_words(arms, version):
    with instance(*arms[1][version]) as one:
        one.start()
        one.step(0.0, 0.1)
        before = one.get("shoulder.q", "shoulder.v", "time")
        one.set({"shoulder.tau": 1e300})
        with pytest.raises(Exception, match="error"):
            one.step(0.1, 0.1)
        assert len(one.said) == 1 and "not finite" in one.said[0] and "der(" in one.said[0]
        assert np.array_equal(one.get("shoulder.q", "shoulder.v", "time"), before)
        one.set({"shoulder.tau": 0.0})
        one.step(0.1, 0.1)  # it goes on from there


def test_calls_that_are_wrong_are_refused_in_words(arms):
    with instance(*arms[1][3]) as one:
        cases = [
            (lambda: one.step(0.0, 0.1), "doStep was called in a mode"),
            (lambda: one.set({"tool.mass": -1.0}), "set tool.mass: it must not be less than 0, got -1."),
            (lambda: one.set({"shoulder.tau": np.nan}), "set shoulder.tau: the value is not finite."),
            (lambda: one.set({"der(shoulder.v)": 1.0}), "this is not possible for the variable der(shoulder.v)"),
            (lambda: one.fmu.getFloat64([100000]), "no variable with the value reference 100000"),
            (lambda: one.fmu.getInt32([1]), "no variables of the type Int32"),
            (lambda: one.directional(["shoulder.tau"], ["shoulder.q"], [1.0]), "this is not possible for the variable shoulder.tau"),
            (lambda: one.fmu.enterConfigurationMode(), "no structural parameters"),
            (lambda: one.start(tolerance=2.0), "tolerance of the experiment must be between 0 and 1"),
        ]  # fmt: skip
        for call, words in cases:
            del one.said[:]
            with pytest.raises(Exception, match="error"):
                call()
            assert words in one.said[0]
        one.start()
        del one.said[:]
        for call, words in (
            (lambda: one.step(1.0, 0.1), "the model is at 0"),
            (
                lambda: one.set({"shoulder.q": 1.0}),
                "this is not possible for the variable shoulder.q",
            ),
            (lambda: one.step(0.0, -0.1), "the step not negative"),
        ):
            with pytest.raises(Exception, match="error"):
                call()
            assert words in one.said.pop()


def test_another_token_is_refused(arms):
    from fmpy.fmi3 import FMU3Slave

    path, folder = arms[1][3]
    with instance(path, folder):  # unzipped
        pass
    said = []
    other = FMU3Slave(guid="{other}", unzipDirectory=str(folder), modelIdentifier="flexible_arm", instanceName="x")  # fmt: skip
    with pytest.raises(Exception, match="Failed to instantiate"):
        other.instantiate(logMessage=lambda *told: said.append(told[-1].decode()))
    assert said == ["the instantiation token is not that of this FMU."]


# --- sources --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_sources_agree_with_the_headers_of_the_standard(arms, version, tmp_path):
    from pathlib import Path

    path, _ = arms[1][version]
    folder = tmp_path / "arm"  # never over a library that is loaded
    fmpy.extract(str(path), unzipdir=str(folder))
    headers = Path(fmpy.__file__).parent / "c-code"
    command = [*c_compiler.compiler(), "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]  # fmt: skip
    source = str(folder / "sources" / f"fmi{version}.c")
    for more in (["-DLIMBER_STANDARD_HEADERS", f"-I{headers}"], [f"-DFMI{version}_FUNCTION_PREFIX=arm_"]):  # fmt: skip
        done = subprocess.run(
            [*command, *more, source], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_binary_can_be_built_again_from_the_sources(arms, version, tmp_path):
    path, _ = arms[1][version]
    folder = tmp_path / "arm"
    fmpy.extract(str(path), unzipdir=str(folder))
    (binary,) = (folder / "binaries").glob("*/flexible_arm.*")
    before = simulated(folder, "CoSimulation", 0.5, 0.1)
    binary.unlink()
    command = [*c_compiler.compiler(), "-O2", "-shared", "-fPIC", "-o", binary]
    subprocess.run([*command, folder / "sources" / f"fmi{version}.c", "-lm"], check=True)
    after = simulated(folder, "CoSimulation", 0.5, 0.1)
    assert_close(after["shoulder.q"], before["shoulder.q"], 1e-9)


# --- stiff systems, and systems of all kinds --------------------------------------------------------


def spring(stiffness):
    a = lb.Assembly("spring")
    joint = lb.Prismatic("x", stiffness=stiffness)
    return a.attach("mass", lb.RigidBody(1.0), joint).build()


def test_stiff_systems_take_small_steps_or_end_in_words(tmp_path):
    s = spring(1.0)
    path = lb.exchange.fmu(s, tmp_path / "spring.fmu", parameters=["mass.joint_stiffness"])
    omega = 1e4
    with instance(path, tmp_path / "x") as one:
        one.start(1e-8, **{"mass.joint_stiffness": omega**2, "mass.v": 1.0})
        one.step(0.0, 0.1)
        energy, at = one.get("kinetic_energy", "potential_energy"), one.get("mass.q")
        assert abs(energy.sum() - 0.5) < 1e-3
        assert abs(at * omega - np.sin(omega * 0.1)) < 1e-3
    with instance(path, tmp_path / "x") as one:
        one.start(**{"mass.joint_stiffness": 1e20, "mass.v": 1.0})
        with pytest.raises(Exception, match="error"):
            one.step(0.0, 1.0)
        assert "takes more than 1000000 steps" in one.said[0] and "stiff" in one.said[0]
        assert np.array_equal(one.get("time", "mass.q", "mass.v"), [0.0, 0.0, 1.0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*outside the limits")
@pytest.mark.parametrize("seed", range(12))
def test_random_trees_of_all_joints_are_those_of_the_engine(tmp_path, seed):
    rng = np.random.default_rng(seed)
    a = random_assembly(rng, bodies=4, flexible=0.5, max_modes=2, physics=True)
    s = a.build(fidelity="ruthless" if seed % 3 == 2 else "full")
    q, v, _ = random_state(rng, s, eta_scale=0.3)
    version = 2 + seed % 2
    tip = (list(s.bodies)[-1], None)
    path = lb.exchange.fmu(
        s, tmp_path / "x.fmu", version=version, q0=q, v0=v, nodes=[tip], accelerations=[tip]
    )
    assert validate(path) == []
    with instance(path, tmp_path / "x", "ModelExchange") as one:
        one.start()
        nx = s.nq + s.nv
        names = [x.name for x in one.description.modelVariables]
        states, unknowns = names[1 : 1 + nx], names[1 + nx : 1 + 2 * nx]
        expected = np.concatenate([lb.qdot(s, q, v), lb.forward_dynamics(s, q, v, np.zeros(s.nv))])
        found = one.get(*unknowns)
        assert_close(found, expected, 1e-9 * max(1.0, np.abs(expected).max()))
        right = lb.acceleration(s, q, v, expected[s.nq :], tip[0])
        found = one.get(*(name for name in names if "acceleration[" in name))
        assert_close(found, right, 1e-9 * max(1.0, np.abs(right).max()))
        direction = rng.standard_normal(s.nv)
        along = [*lb.qdot(s, q, direction), *np.zeros(s.nv)]
        slope = one.directional(unknowns[s.nq :], states, along)
        exact = lb.derivatives(s, q, v, np.zeros(s.nv)).q @ direction
        assert_close(slope, exact, 1e-8 * max(1.0, np.abs(exact).max()))
    with instance(path, tmp_path / "x") as one:
        one.start(1e-9)
        one.step(0.0, 0.05)
        x = one.get(*states)
        truth = lb.simulate(s, 0.05, q0=q, v0=v, t_eval=[0.05], rtol=1e-11, atol=1e-13)
        expected = np.concatenate([truth.q[-1], truth.v[-1]])
        assert_close(x, expected, 1e-6 * max(1.0, np.abs(expected).max()))
        _, p = lb.pose(s, truth.q[-1], *tip)
        place = names.index(one_name(names, "frame.position[1]"))
        assert_close(one.get(*names[place : place + 3]), p, 1e-6 * max(1.0, np.abs(p).max()))


def one_name(names, end):
    """The name that ends so."""
    (name,) = [x for x in names if x.endswith(end)]
    return name


def validate(path):
    from fmpy.validation import validate_fmu

    return validate_fmu(str(path))
