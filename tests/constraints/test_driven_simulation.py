"""Prescribed motions in simulations of closed systems: closed forms, virtual work, energy, and what is refused."""

import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

import limber as lb
from constraints.known import flexible_slider_crank, four_bar, geared_pair
from limber.errors import ArgumentValueError, ModelWarning, SimulationError

pytestmark = pytest.mark.filterwarnings("ignore::limber.errors.ModelWarning")

CRANK, ROD = 0.3, 0.9
METHODS = ["rk4", "rk45", "tsit5", "dop853", "sdirk4", "auto", "DOP853"]


def rod(length, mass):
    inertia = mass * length**2 / 12.0
    return lb.RigidBody(mass, (length / 2, 0, 0), (0.01, inertia, inertia), {"tip": (length, 0, 0)})


def slider_crank():
    """A crank, a connecting rod and a slider along x, pinned to each other by a spatial revolute joint."""
    a = lb.Assembly("slider-crank", gravity=(0, -9.81, 0))
    a.attach("crank", rod(CRANK, 1.0), lb.Revolute("z", damping=0.1))
    a.attach("rod", rod(ROD, 2.0), lb.Revolute("z"), to="crank", at="tip")
    a.attach("slider", lb.RigidBody(1.5, inertia=(0.01, 0.01, 0.01)), lb.Prismatic("x"))
    return a.close(("rod", "tip"), ("slider", None), lb.Revolute("z"), name="pin")


def turning(t):
    """The crank speeds up: it passes its dead centres several times."""
    return 0.4 + 3.0 * t + 0.35 * t * t, 3.0 + 0.7 * t, 0.7


def state(t):
    """(q, v) of the slider-crank in closed form."""
    angle, speed, _ = turning(t)
    lean = -np.arcsin(CRANK / ROD * np.sin(angle))
    lean_rate = -CRANK * np.cos(angle) * speed / (ROD * np.cos(lean))
    x = CRANK * np.cos(angle) + ROD * np.cos(lean)
    x_rate = -CRANK * np.sin(angle) * speed - ROD * np.sin(lean) * lean_rate
    return np.array([angle, lean - angle, x]), np.array([speed, lean_rate - speed, x_rate])


def torque_by_virtual_work(s, t, h=1e-3):
    """The torque on the crank: the rate of the energy, and what the crank's damper and the load of the slider take."""

    def energy(t):
        q, v = state(t)
        return lb.kinetic_energy(s, q, v) + lb.potential_energy(s, q)

    rates = [(energy(t + k * h) - energy(t - k * h)) / (2 * k * h) for k in (1, 2, 3)]
    _, v = state(t)
    power = 1.5 * rates[0] - 0.6 * rates[1] + 0.1 * rates[2] + 0.1 * v[0] ** 2 + 2.0 * v[2] ** 2
    return power / v[0]


def load(t, q, v):
    return np.array([5.0, 0.0, -2.0 * v[2]])  # what acts on the driven crank has no effect


@pytest.mark.parametrize("method", METHODS)
def test_a_driven_slider_crank_moves_and_takes_torque_as_in_closed_form(method):
    s = slider_crank().build()
    options = {"step": 2e-3} if method == "rk4" else {"rtol": 1e-9, "atol": 1e-10}
    times = np.linspace(0.0, 3.0, 41)
    r = lb.simulate(
        s, 3.0, q0=state(0.0)[0], motion={"crank": turning}, torque=load, t_eval=times, method=method,
        **options,
    )  # fmt: skip
    q, v = (np.array(x) for x in zip(*map(state, times)))
    assert np.abs(r.q - q).max() < 1e-10
    assert np.abs(r.v - v).max() < 1e-9
    expected = [torque_by_virtual_work(s, t) for t in times]
    assert np.abs(r.driving["crank"][:, 0] - expected).max() < 1e-8
    assert np.array_equal(r.q[:, 0], [turning(t)[0] for t in times])


def test_ida_has_the_same_motion():
    s = slider_crank().build()
    r = lb.simulate(
        s, 0.3, q0=state(0.0)[0], motion={"crank": turning}, method="ida", t_eval=[0.3], rtol=1e-7
    )
    assert np.abs(r.q[-1] - state(0.3)[0]).max() < 1e-10


def test_generated_code_has_the_same_motion_and_torque():
    s = slider_crank().build()
    options = {"q0": state(0.0)[0], "motion": {"crank": turning}, "torque": load, "every": 0.1}
    r, g = (lb.simulate(s, 1.0, engine=engine, **options) for engine in ("general", "generated"))
    assert np.abs(r.q - g.q).max() < 1e-12
    assert np.abs(r.tau - g.tau).max() < 1e-9


@pytest.mark.parametrize("method", ["dop853", "sdirk4"])
def test_energy_of_a_flexible_slider_crank_is_balanced(method):
    assembly, q, v = flexible_slider_crank()
    s = assembly.build()
    crank = s.layout["crank"].q_joint.start
    speed = v[s.layout["crank"].v_joint][0]

    def motion(t):
        return q[crank] + speed * t, speed, 0.0

    r = lb.simulate(
        s, 0.01, q0=q, v0=v, motion={"crank": motion}, method=method, rtol=1e-8, atol=1e-10
    )
    audit = r.power_audit()
    size = np.abs(r.kinetic_energy - r.kinetic_energy[0]).max()
    assert size > 0.0 and audit.accuracy < 1e-6
    position, velocity = r.constraint_residual()
    assert np.abs(position).max() < 1e-12
    assert np.abs(velocity).max() < 1e-12 * speed
    # the forces of the drive are those of hybrid dynamics, and closure forces follow from them
    i = len(r) // 2
    _, force = lb.hybrid_dynamics(s, r.q[i], r.v[i], np.zeros(s.nv), motion={"crank": 0.0})
    assert np.abs(force - r.tau[i]).max() < 1e-7 * np.abs(r.tau).max()
    forces = lb.constraint_forces(s, r.q[i], r.v[i], r.tau[i])
    for name, found in r.constraint_forces().items():
        assert np.allclose(found[i], forces[name], rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("flexible", [False, True], ids=["rigid", "flexible"])
def test_a_driven_four_bar_moves_as_its_own_torque_moves_it(flexible):
    """The path of the crank in a free motion, prescribed in another run, gives the same motion and no torque."""
    assembly, q, v = four_bar(flexible=flexible)
    s = assembly.build()
    end = 0.4
    times = np.linspace(0.0, end, 401)
    free = lb.simulate(s, end, q0=q, v0=v, rtol=1e-12, atol=1e-13, t_eval=times)
    spline = make_interp_spline(times, free.joint("crank")[:, 0], 7)
    rates = [spline, spline.derivative(1), spline.derivative(2)]

    def path(t):
        return tuple(float(f(t)) for f in rates)

    r = lb.simulate(
        s, end, q0=q, v0=v, motion={"crank": path}, rtol=1e-10, atol=1e-12, t_eval=times[::10]
    )
    assert np.abs(r.q - free.q[::10]).max() < 1e-7
    size = np.abs(lb.bias(s, free.q, free.v)).max()
    assert np.abs(r.tau[1:-1]).max() < 1e-5 * size


def test_a_wrench_on_a_driven_loop_is_not_part_of_the_torque_twice():
    s = slider_crank().build()
    push = {("slider", None): [0.0, 0.0, 0.0, 7.0, 0.0, 0.0]}
    options = {"q0": state(0.0)[0], "motion": {"crank": turning}, "t_eval": [0.5]}
    with_push, without = (lb.simulate(s, 0.5, external=x, **options) for x in (push, None))
    _, v = state(0.5)
    difference = with_push.tau[-1, 0] - without.tau[-1, 0]
    assert np.isclose(difference, -7.0 * v[2] / v[0], rtol=1e-9)


def test_a_driven_gear():
    """Two geared bodies, of which the second is driven."""
    assembly, _, v = geared_pair()
    s = assembly.build()
    first, second = s.bodies
    path = lb.trajectories.Cycloid(0.7, 1.0)
    start = lb.assemble(s, locked=[second])
    r = lb.simulate(s, 1.0, q0=start, motion={second: path}, rtol=1e-9)
    ratio = v[0] / v[1]
    expected = start[0] + ratio * path(r.t).position
    assert np.allclose(r.joint(first)[:, 0], expected, atol=1e-12)
    assert r.power_audit().accuracy < 1e-7


def test_actions_of_events_keep_driven_joints_and_closures():
    s = slider_crank().build()
    hits = []

    def brake(t, q, v):
        hits.append(t)
        return q, v

    event = lb.Event(lambda t, q, v: q[2] - 1.0, name="slider", action=brake)
    r = lb.simulate(s, 2.0, q0=state(0.0)[0], motion={"crank": turning}, events=event, every=0.1)
    assert len(hits) >= 2
    assert np.abs(r.q - [state(t)[0] for t in r.t]).max() < 1e-10


# what is refused


def test_other_joints_follow_from_the_start_unless_v0_is_given():
    s = slider_crank().build()
    q, v = state(0.0)
    r = lb.simulate(s, 0.1, q0=q, motion={"crank": turning})
    assert np.allclose(r.v[0], v, atol=1e-12)
    with pytest.raises(ArgumentValueError, match=r"violates the closures .* locked=\['crank'\]\)"):
        lb.simulate(s, 0.1, q0=q, v0=[3.0, 0.0, 0.0], motion={"crank": turning})


def test_a_start_off_the_closures_names_the_remedy():
    s = slider_crank().build()
    with pytest.raises(
        ArgumentValueError, match=r"lb.assemble\(system, guess, locked=\['crank'\]\)"
    ):
        lb.simulate(s, 0.1, motion={"crank": turning})


@pytest.mark.parametrize("method", ["dop853", "sdirk4"])
def test_a_motion_that_closures_cannot_follow_is_an_error_with_names_and_time(method):
    """The slider is pulled beyond where crank and rod are stretched out, at t = 0.2 s."""
    s = slider_crank().build()
    reach = CRANK + ROD
    q = lb.assemble(s, [0.3, -0.4, reach - 0.1], locked=["slider"])

    def pull(t):
        return reach - 0.1 + 0.5 * t, 0.5, 0.0

    text = (
        r"the closures of 'slider-crank' cannot follow the motion of 'slider' after t = 0\.(2|199\d*) s: at t = 0\.2.* s, "
        r"'pin' is off by .* even in the closest configuration\. Change the motion, or drive fewer joints"
    )
    with pytest.raises(SimulationError, match=text) as caught:
        lb.simulate(s, 1.0, q0=q, motion={"slider": pull}, method=method)
    assert len(caught.value.result) > 50


def test_too_many_drives_that_agree_are_told_and_those_that_do_not_are_refused():
    s = slider_crank().build()
    q, _ = state(0.0)

    def slide(t):
        q, v = state(t)
        h = 1e-4
        rates = [(state(t + k * h)[1][2] - state(t - k * h)[1][2]) / (2 * k * h) for k in (1, 2)]
        return q[2], v[2], (4.0 * rates[0] - rates[1]) / 3.0

    both = {"crank": turning, "slider": slide}
    with pytest.warns(ModelWarning, match="the motion of 'crank', 'slider' are not unique"):
        r = lb.simulate(s, 0.5, q0=q, motion=both, rtol=1e-8)
    assert np.abs(r.q[-1] - state(0.5)[0]).max() < 1e-9

    def faster(t):
        return tuple(x + y for x, y in zip(slide(t), (1e-2 * t, 1e-2, 0.0)))

    def later(t):
        return tuple(x + y for x, y in zip(slide(t), (5e-2 * t**2, 0.1 * t, 0.1)))

    with pytest.raises(
        ArgumentValueError, match="cannot follow the motion of 'crank', 'slider' where"
    ):
        lb.simulate(s, 0.5, q0=q, motion={"crank": turning, "slider": faster})
    with pytest.raises(
        SimulationError, match="cannot follow the motion of 'crank', 'slider' after"
    ):
        lb.simulate(s, 0.5, q0=q, motion={"crank": turning, "slider": later})


def test_scenarios_have_driven_loops(tmp_path):
    lb.save(slider_crank(), tmp_path / "model.yaml")
    (tmp_path / "case.yaml").write_text(
        "limber: 1\nmodel: model.yaml\nduration: 2\n"
        "initial: {q: {crank: 0.4, rod: -0.5, slider: 1.1}, assemble: {locked: [crank]}}\n"
        "motion: {crank: {quintic: {end: 2.4, duration: 2, start_velocity: 1.5}}}\n"
    )
    case = lb.io.load_scenario(tmp_path / "case.yaml")
    r = lb.simulate(case.system, case.duration, **case.settings)
    assert r.v[0, 0] == 1.5
    assert np.abs(lb.constraint_residual(case.system, r.q[0], r.v[0])[1]).max() < 1e-12
    lean = -np.arcsin(CRANK / ROD * np.sin(2.4))
    assert np.isclose(r.q[-1, 2], CRANK * np.cos(2.4) + ROD * np.cos(lean), atol=1e-10)
