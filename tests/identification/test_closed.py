"""Identification of closed systems: slopes are those of simulated readings, parameters are found within their errors, and
an equivalent open system gives the same."""

import numpy as np
import pytest

import limber as lb
from helpers.mechanisms import (
    GRAVITY,
    SliderCrank,
    at_crank,
    bar,
    carrying,
    five_bar,
    four_bar,
    geared,
)
from limber.control import Accelerometer, Encoder, ForceTorque, Gyro, StrainGauge, Tachometer
from limber.identification import (
    Experiment,
    Unknown,
    fit_frequency_response,
    simulated_experiment,
)
from limber.identification.experiment import prepared
from limber.identification.frequency import FrequencyProblem
from limber.identification.linear_slopes import AtRest
from limber.identification.problem import TimeProblem
from limber.identification.readings import checked, deviations
from limber.identification.unknowns import sought, with_numbers

pytestmark = pytest.mark.filterwarnings("ignore:the closures of")
#: Of the largest slope of a channel; simulations of closed systems keep about 1e-10 of their readings.
TOLERANCE = 1e-6
WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
T = np.linspace(0.0, 0.4, 11)


def table(s, body="crank", amplitude=3.0, end=0.4):
    """Torques of one joint over time."""
    tau = np.zeros((9, s.nv))
    size = amplitude * np.random.default_rng(0).standard_normal(9)
    tau[:, s.layout[body].v_joint] = size[:, None]
    return lb.Table(np.linspace(0.0, end, 9), tau, smooth=True)


def moving_four_bar(flexible):
    s = four_bar(flexible)
    q = at_crank(s)
    push = np.zeros(s.nv)
    push[s.layout["crank"].v_joint] = 1.0
    sensors = [
        Encoder("crank", rate=50.0, noise=1e-3),
        Tachometer("rocker", rate=50.0, noise=1e-3),
        Gyro("coupler", "tip", rate=50.0, noise=1e-3),
        Accelerometer("coupler", "tip", rate=50.0, noise=1e-2),
    ]
    if flexible:
        sensors.append(StrainGauge("coupler", at=0.3, y=0.01, rate=50.0, noise=1e-5))
    return s, q, lb.project(s, q, push)[1], sensors


def check(s, sensors, parameters, steps, **options):
    """Slopes against central differences of order eight of simulated readings, with a step for each unknown."""
    read = checked(s, sensors)
    plan = prepared(s, read, simulated_experiment(s, sensors, T, **options), 0, 1e-12, 1e-14)
    noise = {one.name: deviations(one, len(one.reader(s).labels)) for one in read}
    p = TimeProblem(s, [plan], read, sought(s, parameters), [], noise)
    z = np.zeros(p.size)
    values, slopes = p.slopes(z)
    for mine, other in zip(values, p.modelled(z)):
        assert np.allclose(mine, other, atol=1e-9 * np.abs(other).max(initial=1.0))
    assert len(steps) == p.size
    for j, (name, step) in enumerate(zip(p.names, steps)):
        along = step * np.eye(p.size)[j]
        pairs = [(p.modelled(i * along), p.modelled(-i * along)) for i in (1, 2, 3, 4)]
        moved = False
        for k, c in enumerate(p.channels):
            reference = sum(w * (up[k] - down[k]) for w, (up, down) in zip(WEIGHTS, pairs)) / step
            largest = np.abs(reference).max()
            moved |= largest > 1e-3
            error = np.abs(slopes[k][:, j] - reference).max()
            assert error <= TOLERANCE * largest + 1e-9, (name, c.label, error, largest)
        assert moved, name


def test_slopes_of_a_rigid_mechanism_whose_lengths_move_its_start():
    s, q, v, sensors = moving_four_bar(False)
    check(
        s, sensors, ["coupler.mass", "rocker.offset[0]", "pin.offset[0]"], [1e-2, 1e-2, 4e-2, 1e-2, 1e-2],
        q0=q, v0=v, torque=table(s), unknown_start=["crank.joint0", "crank.joint0 rate"],
    )  # fmt: skip


def test_slopes_of_a_flexible_mechanism():
    s, q, v, sensors = moving_four_bar(True)
    check(
        s, sensors, ["coupler.EIz", "coupler.damping_ratio", "rocker.mass"], [2e-3, 1e-2, 1e-2, 1e-4],
        q0=q, v0=v, torque=table(s), unknown_start=["coupler.mode1"],
    )  # fmt: skip


def test_slopes_with_a_prescribed_motion():
    s, q, _, sensors = moving_four_bar(True)
    path = {"crank": lb.trajectories.Cycloid(0.6, 0.4, start=1.0)}
    check(s, sensors[1:], ["coupler.EIz", "rocker.offset[0]"], [2e-3, 1e-2], q0=q, motion=path)


def close(found, truth):
    """Whether estimates lie within three standard errors of the truth, and are not exact."""
    for name, true in truth.items():
        error = abs(found.values[name] - true) / found.standard_errors[name]
        assert error < 3.0, (name, found.values[name], true, found.standard_errors[name])
        assert found.standard_errors[name] < 0.1 * true, name


def test_a_slider_crank_gives_its_mass_spring_and_damper():
    def system(mass, stiffness, damping):
        a = lb.Assembly("sprung slider-crank", gravity=(0, -GRAVITY, 0))
        a.attach("crank", bar(0.4), lb.Revolute("z"))
        a.attach("rod", bar(1.1), lb.Revolute("z"), to="crank", at="tip")
        spring = lb.Prismatic("x", stiffness=stiffness, rest=1.0, damping=damping)
        a.attach("slider", lb.RigidBody(mass, inertia=[0.1] * 3), spring)
        a.close(("rod", "tip"), ("slider", None), lb.Revolute("z"), name="pin")
        return a.build()

    true, guess = system(2.0, 300.0, 4.0), system(1.5, 200.0, 2.0)
    sensors = [Encoder("crank", rate=50.0, noise=1e-3)]
    t = np.linspace(0.0, 0.7, 36)
    torque = table(true, amplitude=10.0, end=0.7)
    data = simulated_experiment(true, sensors, t, seed=3, q0=SliderCrank().q(0.8), torque=torque)
    names = ["slider.mass", "slider.joint_stiffness", "slider.joint_damping"]
    found = lb.identify(guess, names, data, sensors)
    close(found, dict(zip(names, (2.0, 300.0, 4.0))))


@pytest.mark.slow
def test_a_flexible_five_bar_gives_its_payload_stiffness_and_damping():
    motors = ["left upper", "right upper"]

    def system(payload, EI, damping):
        a = lb.Assembly("five-bar")
        for side, x in (("left", 0.0), ("right", 1.0)):
            fore = lb.beam(1.0, 1.0, EI=EI, modes={"y": 1}, damping=damping)
            a.attach(f"{side} upper", bar(0.8), lb.Revolute("z"), offset=(x, 0, 0))
            a.attach(f"{side} fore", fore, lb.Revolute("z"), to=f"{side} upper", at="tip")
        a.attach("payload", lb.RigidBody(payload, inertia=[0.01] * 3), lb.Fixed(), "left fore", "tip")  # fmt: skip
        a.close(("left fore", "tip"), ("right fore", "tip"), lb.Revolute("z"), name="tool")
        return a.build()

    true, guess = system(1.5, 50.0, 0.02), system(1.2, 55.0, 0.03)
    rigid = five_bar()[1]
    q0 = lb.assemble(true, true.configuration(dict(zip(("left upper", "left fore", "right upper", "right fore"), rigid))), locked=motors)  # fmt: skip
    sensors = [
        Encoder(motors, rate=100.0, noise=2e-4),
        StrainGauge("left fore", at=0.2, y=0.01, rate=100.0, noise=2e-6),
        StrainGauge("right fore", at=0.2, y=0.01, rate=100.0, noise=2e-6, name="right gauge"),
    ]
    tau = np.zeros((4, true.nv))
    tau[:, true.layout["left upper"].v_joint] = np.array([[8.0], [8.0], [-8.0], [-8.0]])
    torque = lb.Table([0.0, 0.2, 0.21, 0.6], tau)
    t = np.linspace(0.0, 0.6, 61)
    data = simulated_experiment(true, sensors, t, seed=5, q0=q0, torque=torque)
    names = ["payload.mass", "left fore.EIz", "right fore.EIz", "left fore.damping_ratio"]
    truth = [1.5, 50.0, 50.0, 0.02]
    both = guess.with_parameters({"right fore.damping_ratio": 0.02})
    found = lb.identify(both, names, data, sensors)
    close(found, dict(zip(names, truth)))


def test_an_open_system_that_moves_in_the_same_way_gives_the_same():
    """A link that a motor turns by a gear, and a link with the inertia of the rotor at its joint."""
    closed, direct, ratio = geared()
    sensors = [Encoder("link", rate=50.0, noise=1e-3)]
    t = np.linspace(0.0, 1.5, 76)
    torque = table(direct, "link", 10.0, 1.5)
    geared_down = lb.Table(torque.t, torque.tau / ratio @ [[1.0, 0.0]], smooth=True)
    data = simulated_experiment(direct, sensors, t, seed=1, q0=[0.3], torque=torque)
    names = {"link.mass": Unknown(start=1.7), "link.com[0]": Unknown(start=0.33)}
    one = lb.identify(direct, names, data, sensors)
    both = Experiment(t, data.readings, q0=[0.3 * ratio, 0.3], torque=geared_down)
    two = lb.identify(closed, names, both, sensors)
    first, second = (
        lb.identification.expected(s, names, x, sensors).information
        for s, x in ((direct, data), (closed, both))
    )
    assert np.allclose(first, second, rtol=1e-6)
    for name in names:
        error = one.standard_errors[name]
        assert abs(two.values[name] - one.values[name]) < 1e-2 * error < 1e-4
        assert two.standard_errors[name] == pytest.approx(error, rel=1e-4)


@pytest.mark.slow
def test_a_length_of_a_closure_is_found():
    """The ground pivot of the rocker is misplaced in the model: its start is assembled again for each trial."""
    true = four_bar()
    q = at_crank(true)
    guess = true.with_parameters({"rocker.offset": [2.15, 0.0, 0.0]})
    sensors = [Encoder("crank", rate=50.0, noise=1e-3), Encoder("rocker", name="rocker", rate=50.0, noise=1e-3)]  # fmt: skip
    data = simulated_experiment(true, sensors, np.linspace(0, 0.8, 41), seed=2, q0=q, torque=table(true))  # fmt: skip
    start = Experiment(
        data.t, data.readings, torque=data.torque, q0=lb.assemble(guess, q, locked=["crank"]), unknown_start={"crank.joint0": 1e-3}
    )  # fmt: skip
    found = lb.identify(guess, ["rocker.offset[0]"], start, sensors)
    error = found.standard_errors["rocker.offset[0]"]
    assert error < 5e-3 and abs(found.values["rocker.offset[0]"] - 2.2) < 3.0 * error


def test_what_cannot_be_identified_is_refused():
    s, q, v, sensors = moving_four_bar(True)
    options = {"q0": q, "v0": v}

    def run(read=sensors, **given):
        return simulated_experiment(s, read, T, **{**options, **given})

    with pytest.raises(lb.LimberError, match=r"settled, which is not supported for closed.*'pin'"):
        run(settled=True, v0=None)
    with pytest.raises(
        lb.LimberError, match=r"derivatives are not supported.*Leave this sensor out"
    ):
        run(read=[ForceTorque("rocker", rate=50.0)])
    names = ["crank.joint0", "coupler.mode0", "coupler.mode1", "rocker.joint0"]
    with pytest.raises(
        lb.LimberError, match=r"determine 'rocker\.joint0' from 'crank\.joint0'.*Leave these"
    ):
        run(unknown_start=names)
    with pytest.raises(lb.LimberError, match=r"does not satisfy the closures.*lb\.project"):
        run(q0=q + 0.1)
    rigid = four_bar()
    hold = {name: lb.trajectories.Cycloid(0.0, 1.0, start=float(rigid_q)) for name, rigid_q in zip(("crank", "rocker"), at_crank(rigid)[[0, 2]])}  # fmt: skip
    with pytest.raises(
        lb.LimberError, match=r"more joints are driven.*'rocker\.joint0' would follow"
    ):
        simulated_experiment(rigid, [Encoder("coupler", rate=50.0)], T, q0=at_crank(rigid), motion=hold)  # fmt: skip
    far = {"rocker": lb.trajectories.Cycloid(0.1, 1.0, start=0.0)}  # the coupler does not reach it
    with pytest.raises(lb.LimberError, match=r"the start of experiment 1.*cannot be satisfied"):
        simulated_experiment(rigid, [Encoder("coupler", rate=50.0)], T, q0=at_crank(rigid), motion=far)  # fmt: skip
    with pytest.raises(lb.LimberError, match="excitation does not support closed systems"):
        lb.identification.excitation(
            s, ["coupler.EIz"], sensors, ["crank"], duration=1.0, rate=50.0, limits={}
        )


# --- transfer functions -----------------------------------------------------------------------------

MOTORS = ["left upper", "right upper"]
OMEGA = np.geomspace(2.0, 150.0, 5)
OUTPUTS = [
    "left upper", ("speed", "right fore"), ("position", "right fore", "tip", "x"), ("velocity", "left fore", "tip", "y"),
    ("acceleration", "left fore", "tip", "x"), ("deflection", "left fore", "tip", "y"), ("strain", "left fore", 0.3, 0.01, 0.0),
]  # fmt: skip


def response_slopes(s, names, q, inputs, outputs, held, step=1e-2):
    """The derivatives of transfer functions, and those by differences of order eight of models that are each made anew."""
    unknowns = sought(s, names)
    point = AtRest(q, True, inputs, outputs, held)
    model = point.of(s).model(s)
    H = model.response(OMEGA)
    p = FrequencyProblem(s, unknowns, OMEGA, H, np.ones(H.shape), model, point)
    _, slopes = p.slopes(np.zeros(p.size))

    def at(z):
        changed = with_numbers(s, unknowns, p.values(z))
        here = point.of(changed).model(changed).response(OMEGA)
        return p._channel_parts(here)

    for j in range(p.size):
        along = step * np.eye(p.size)[j]
        pairs = [(at(i * along), at(-i * along)) for i in (1, 2, 3, 4)]
        yield (
            p.names[j],
            [slope[:, j] for slope in slopes],
            [sum(w * (up[k] - down[k]) for w, (up, down) in zip(WEIGHTS, pairs)) / step for k in range(len(slopes))],
        )  # fmt: skip


def test_slopes_of_transfer_functions_of_a_flexible_mechanism():
    """The links sag under gravity; lengths move the mechanism as well as its links."""
    s, q = five_bar(True)
    inputs = [*MOTORS, ("force", "left fore", "tip", "x")]
    held = np.array([s.layout[body].v_joint.start for body in MOTORS])
    names = ["left fore.EIz", "right fore.mass", "right upper.offset[0]", "tool.offset[0]"]  # fmt: skip
    for name, mine, others in response_slopes(s, names, q, inputs, OUTPUTS, held):
        largest = max(np.abs(x).max() for x in others)
        for slope, reference in zip(mine, others):
            assert np.abs(slope - reference).max() <= TOLERANCE * largest, name


def test_slopes_of_transfer_functions_with_a_free_object():
    s, q = carrying()
    motors = ["left0", "left1", "left2"]
    held = np.array([s.layout[body].v_joint.start for body in motors])
    outputs = ["left0", ("velocity", "box", None, "x"), ("angular_velocity", "box", None, "z")]
    for name, mine, others in response_slopes(s, ["box.mass", "right0.offset[0]"], q, motors, outputs, held):  # fmt: skip
        largest = max(np.abs(x).max() for x in others)
        for slope, reference in zip(mine, others):
            assert np.abs(slope - reference).max() <= TOLERANCE * largest, name


@pytest.mark.slow
def test_slopes_of_transfer_functions_with_redundant_motors():
    """Their torques are those of least squares for every number of the model."""
    g = SliderCrank()
    a = lb.Assembly("sprung slider-crank", gravity=(0, -GRAVITY, 0))
    a.attach("crank", bar(g.r), lb.Revolute("z"))
    a.attach("rod", bar(g.length), lb.Revolute("z"), to="crank", at="tip")
    slider = lb.RigidBody(g.slider, inertia=[0.1] * 3)
    a.attach("slider", slider, lb.Prismatic("x", stiffness=300.0, rest=1.0, damping=2.0))
    a.close(("rod", "tip"), ("slider", None), lb.Revolute("z"), name="pin")
    s, motors = a.build(), ["crank", "slider"]
    held = np.array([s.layout[body].v_joint.start for body in motors])
    names = ["crank.mass", "slider.joint_stiffness"]
    for name, mine, others in response_slopes(s, names, g.q(0.8), motors, ["rod"], held):
        largest = max(np.abs(x).max() for x in others)
        for slope, reference in zip(mine, others):
            assert np.abs(slope - reference).max() <= TOLERANCE * largest, name
    s2, q2 = five_bar(True)  # in which links could bend
    both = np.array([s2.layout[body].v_joint.start for body in s2.layout])
    for one, q, name, places in ((s, g.q(0.8), "pin", held), (s2, q2, "tool", both)):
        with pytest.raises(
            lb.LimberError, match=rf"'{name}\.offset' moves the closures.*redundant motors"
        ):
            list(response_slopes(one, [f"{name}.offset[0]"], q, list(one.layout)[:1], list(one.layout)[:1], places))  # fmt: skip


def test_transfer_functions_give_payload_stiffness_and_damping():
    s, q = five_bar(True)
    q = lb.equilibrium(s, q, locked=MOTORS)
    truth = {"right upper.mass": 1.0, "left fore.EIz": 300.0, "left fore.damping_ratio": 0.01}
    tau = np.zeros(s.nv)
    holding = lb.inverse_dynamics(s, q, np.zeros(s.nv), np.zeros(s.nv), actuated=MOTORS)
    outputs = ["left upper", ("strain", "left fore", 0.3, 0.01, 0.0)]
    model = lb.linearize(s, q, np.zeros(s.nv), tau + holding, MOTORS, outputs)
    omega = np.geomspace(1.0, 200.0, 40)
    exact = model.response(omega)
    rng = np.random.default_rng(4)
    noise = 0.01 * np.abs(exact) * (rng.standard_normal(exact.shape) + 1j * rng.standard_normal(exact.shape))  # fmt: skip
    guess = s.with_parameters({"right upper.mass": 1.3, "left fore.EIz": 260.0, "left fore.damping_ratio": 0.02})  # fmt: skip
    found = fit_frequency_response(guess, list(truth), omega, exact + noise, MOTORS, outputs, q=q, noise=0.01)  # fmt: skip
    close(found, truth)


def test_a_geared_link_has_the_fit_of_an_open_one():
    closed, direct, ratio = geared()
    omega = np.geomspace(1.0, 30.0, 20)
    exact = lb.linearize(direct, [0.3], [0.0], lb.inverse_dynamics(direct, [0.3], [0.0], [0.0]), ["link"], ["link"]).response(omega)  # fmt: skip
    rng = np.random.default_rng(6)
    H = exact * (1.0 + 0.01 * (rng.standard_normal(exact.shape) + 1j * rng.standard_normal(exact.shape)))  # fmt: skip
    names = {"link.mass": Unknown(start=1.7), "link.com[0]": Unknown(start=0.33)}
    one = fit_frequency_response(direct, names, omega, H, ["link"], ["link"], q=[0.3], noise=0.01)
    # a torque of the motor acts on the link `ratio` times
    two = fit_frequency_response(
        closed, names, omega, H * ratio, ["motor"], ["link"], q=[0.3 * ratio, 0.3], noise=0.01
    )
    for name in names:
        error = one.standard_errors[name]
        assert abs(two.values[name] - one.values[name]) < 1e-2 * error
        assert two.standard_errors[name] == pytest.approx(error, rel=1e-4)


def test_what_transfer_functions_cannot_tell_is_refused():
    s, q = five_bar(True)
    H = np.ones(len(OMEGA))

    def fit(outputs=("left upper",), system=s, **given):
        return fit_frequency_response(system, ["left upper.mass"], OMEGA, H, ["left upper"], list(outputs), **{"q": q, **given})  # fmt: skip

    with pytest.raises(lb.LimberError, match=r"settled=False is for open systems.*'tool'"):
        fit(settled=False)
    with pytest.raises(lb.LimberError, match=r"forces of the closures of 'five-bar'.*Leave it out"):
        fit([("joint_force", "left fore", "fx")])
    rigid, there = five_bar()
    with pytest.raises(lb.LimberError, match=r"not move independently.*motors=\[\.\.\.\]"):
        fit(motors=["left upper", "right upper", "left fore"], system=rigid, q=there)
    with pytest.raises(
        lb.LimberError, match=r"not near an equilibrium.*would settle.*motors=\[\.\.\.\]"
    ):
        fit_frequency_response(s, ["left upper.mass"], OMEGA, H, [("force", "left fore", "tip", "x")], ["left upper"], q=q)  # fmt: skip
    ruthless, there = five_bar(True, fidelity="ruthless")
    with pytest.raises(lb.LimberError, match=r"needs fidelity=\"full\""):
        fit(system=ruthless, q=there)
    with pytest.raises(lb.LimberError, match=r"needs fidelity=\"full\""):
        simulated_experiment(ruthless, [Encoder(MOTORS, rate=50.0)], T, q0=there)
    open_ = geared()[1]
    with pytest.raises(lb.LimberError, match="motors is for closed systems, but 'direct' is open"):
        fit_frequency_response(open_, ["link.mass"], OMEGA, H, ["link"], ["link"], motors="link")
