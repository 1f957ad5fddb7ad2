"""Simulation of closed systems: closures stay met, orders are kept, energy is, singular positions are passed."""

import numpy as np
import pytest

import limber as lb
from constraints.known import (
    KNOWN,
    double_four_bar,
    double_four_bar_tip,
    flexible_slider_crank,
    four_bar,
    geared_pair,
    rack_and_pinion,
    scissor_boom,
)

#: Closures are met to rounding.
MET = 1e-12

quiet = pytest.mark.filterwarnings("ignore::limber.errors.ModelWarning")


def assert_met(result, speed=1.0):
    position, velocity = result.constraint_residual()
    assert np.abs(position).max() < MET
    assert np.abs(velocity).max() < MET * speed


def end(system, q, v, t, **options):
    result = lb.simulate(system, t, q0=q, v0=v, t_eval=[t], **options)
    return np.concatenate([result.q[-1], result.v[-1]])


@quiet
@pytest.mark.parametrize("method", ["rk4", "rk45", "tsit5", "dop853", "sdirk4", "auto"])
@pytest.mark.parametrize(
    "name", ["four-bar", "flexible four-bar", "pinned chain", "arms", "spatial slider-crank"]
)
def test_closures_stay_met_and_energy_is_kept(name, method):
    assembly, q, v = KNOWN[name][0]()
    s = assembly.build()
    options = {"step": 2e-4} if method == "rk4" else {"rtol": 1e-8, "atol": 1e-10}
    r = lb.simulate(s, 0.3, q0=q, v0=v, method=method, every=0.037, **options)
    assert_met(r, np.abs(r.v).max())
    assert np.ptp(r.energy) < 1e-7 * max(1.0, np.abs(r.kinetic_energy).max())


@quiet
@pytest.mark.parametrize(
    ("method", "order", "steps"),
    [("rk4", 4, 100), ("rk45", 5, 60), ("tsit5", 5, 60), ("dop853", 8, 16)],
)
@pytest.mark.parametrize("flexible", [False, True], ids=["rigid", "flexible"])
def test_explicit_methods_keep_their_order(method, order, steps, flexible):
    """With a huge tolerance and a largest step the steps are fixed: the order of the formula shows."""
    assembly, q, v = four_bar(flexible=flexible)
    s = assembly.build()
    t = 0.8 if not flexible else 0.4
    exact = end(s, q, v, t, method="dop853", rtol=1e-13, atol=1e-13)
    errors = []
    for count in (steps, 2 * steps):
        step = {"step": t / count, "max_step": t / count}
        errors.append(
            np.abs(end(s, q, v, t, method=method, rtol=1e-9, atol=1e9, **step) - exact).max()
        )
    assert np.log2(errors[0] / errors[1]) > order - 0.5, errors


@quiet
@pytest.mark.parametrize("flexible", [False, True], ids=["rigid", "flexible"])
def test_the_implicit_method_keeps_its_order(flexible):
    """Error against number of steps, as the tolerance tightens."""
    assembly, q, v = four_bar(flexible=flexible)
    s = assembly.build()
    exact = end(s, q, v, 0.4, method="dop853", rtol=1e-13, atol=1e-13)
    steps, errors = [], []
    for tolerance in (1e-6, 1e-8, 1e-10):
        r = lb.simulate(
            s, 0.4, q0=q, v0=v, t_eval=[0.4], method="sdirk4", rtol=tolerance, atol=tolerance
        )
        steps.append(r.statistics.steps)
        errors.append(np.abs(np.concatenate([r.q[-1], r.v[-1]]) - exact).max())
    assert np.log(errors[0] / errors[-1]) / np.log(steps[-1] / steps[0]) > 3.6, (steps, errors)


@quiet
@pytest.mark.parametrize("rtol", [1e-8, 1e-9, 1e-10, 1e-11, 1e-12])
def test_double_four_bar_passes_ten_singular_positions(rtol):
    """Problem 9: the parallelogram branch, from the one-freedom reduction."""
    assembly, q, v = double_four_bar()
    s = assembly.build()
    r = lb.simulate(s, 10.0, q0=q, v0=v, rtol=rtol, atol=rtol, t_eval=[5.0, 10.0])
    tip = r.node("crank0", "tip")
    position, velocity = double_four_bar_tip(10.0)
    np.testing.assert_allclose(position, [0.3284581115, 0.9445185382], atol=1e-9)
    assert np.abs(tip.position[-1, :2] - position).max() < 1e-6
    assert np.abs(tip.velocity[-1, :2] - velocity).max() < 1e-6
    assert_met(r, 10.0)


@quiet
@pytest.mark.slow
@pytest.mark.parametrize("atol", [None, 1e-8, 1e-12])
def test_double_four_bar_at_every_tolerance(atol):
    assembly, q, v = double_four_bar()
    s = assembly.build()
    for rtol in np.logspace(-8, -12, 101):
        r = lb.simulate(s, 10.0, q0=q, v0=v, rtol=rtol, atol=atol or rtol, t_eval=[10.0])
        tip = r.node("crank0", "tip")
        assert np.abs(tip.position[-1, :2] - [0.3284581115, 0.9445185382]).max() < 1e-6, rtol
        assert np.abs(tip.velocity[-1, :2] - [1.4230514702, -0.4948688455]).max() < 1e-6, rtol


@quiet
@pytest.mark.slow
@pytest.mark.parametrize("name", ["Bricard", "spatial slider-crank", "flexible slider-crank"])
def test_a_hundred_seconds(name):
    assembly, q, v = KNOWN[name][0]()
    s = assembly.build()
    if name == "flexible slider-crank":  # 2400 turns at its own speed
        assembly, q, v = flexible_slider_crank(speed=10.0, modes=1)
        s = assembly.build()
    r = lb.simulate(s, 100.0, q0=q, v0=v, rtol=1e-9, atol=1e-11)
    assert_met(r, 1e2)
    assert np.ptp(r.energy) < 1e-5 * np.abs(r.kinetic_energy).max()


@quiet
def test_stiff_closed_systems_take_few_implicit_steps():
    """Explicit steps follow the oscillations of a stiff coupler; implicit ones are as long as those of a rigid one."""
    lengths = (1.0, 2.5, 1.8, 2.2)
    a = lb.Assembly("stiff four-bar", gravity=(0, -9.81, 0))
    _, q0, v0 = four_bar(lengths)
    rod = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1), nodes={"tip": (1, 0, 0)})
    a.attach("crank", rod, lb.Revolute("z"))
    coupler = lb.beam(2.5, 2.0, EI=5e6, modes={"y": 2}, damping=0.2)
    a.attach("coupler", coupler, lb.Revolute("z"), "crank", "tip")
    rocker = lb.RigidBody(1.5, (0.9, 0, 0), (0.01, 0.4, 0.4), nodes={"tip": (1.8, 0, 0)})
    a.attach("rocker", rocker, lb.Revolute("z"), offset=(2.2, 0, 0))
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Revolute("z"), "pin")
    s = a.build()
    q, v = s.neutral(), np.zeros(s.nv)
    for name, angle, speed in zip(s.layout, q0, v0):
        q[s.layout[name].q_joint], v[s.layout[name].v_joint] = angle, speed
    r = lb.simulate(s, 1.0, q0=q, v0=v, method="sdirk4", rtol=1e-5, atol=1e-6)
    assert r.statistics.steps < 150
    assert r.statistics.evaluations < 14 * r.statistics.steps  # two or three corrections a stage
    assert_met(r, 10.0)
    explicit = lb.simulate(s, 1.0, q0=q, v0=v, method="dop853", rtol=1e-5, atol=1e-6)
    assert explicit.statistics.steps > 10 * r.statistics.steps
    auto = lb.simulate(s, 1.0, q0=q, v0=v, rtol=1e-5, atol=1e-6)
    assert auto.statistics.steps < 300
    for name in ("crank", "rocker"):
        np.testing.assert_allclose(r.joint(name), explicit.joint(name), atol=1e-4)


@quiet
def test_torques_and_dampers_are_in_the_audit_and_closures_are_not():
    assembly, q, v = KNOWN["flexible four-bar"][0]()
    s = assembly.build()
    tau = np.zeros(s.nv)
    tau[0] = 5.0
    r = lb.simulate(s, 0.5, q0=q, v0=v, torque=tau, rtol=1e-9, atol=1e-11)
    assert r.power_audit().accuracy < 1e-7


@pytest.mark.parametrize("make", [geared_pair, rack_and_pinion])
def test_relations_act_as_reflected_inertias(make):
    assembly, q, v = make()
    s = assembly.build()
    driven, other = s.layout
    r = lb.simulate(s, 1.0, q0=q, v0=v, torque=np.array([0.7, 0.0]), rtol=1e-9, atol=1e-11)
    ratio = v[1] / v[0]
    inertia = lb.mass_matrix(s, q)
    rate = 0.7 / (inertia[0, 0] + ratio**2 * inertia[1, 1])
    np.testing.assert_allclose(r.joint_speed(driven)[:, 0], v[0] + rate * r.t, atol=1e-8)
    np.testing.assert_allclose(
        r.joint_speed(other)[:, 0], ratio * r.joint_speed(driven)[:, 0], atol=1e-12
    )
    np.testing.assert_allclose(
        np.abs(r.constraint_forces()[next(iter(s.closures))]).std(), 0.0, atol=1e-9
    )


@quiet
def test_states_at_events_meet_the_closures():
    assembly, q, v = four_bar()
    s = assembly.build()
    seen = []

    def look(t, q, v):
        seen.append((q.copy(), v.copy()))

    event = lb.Event(lambda t, q, v: q[0] - 1.5, look, name="passing")
    lb.simulate(s, 1.0, q0=q, v0=v, events=event)
    assert seen
    for q, v in seen:
        assert abs(q[0] - 1.5) < 1e-9
        position, velocity = lb.constraint_residual(s, q, v)
        assert max(np.abs(position).max(), np.abs(velocity).max()) < MET


@quiet
def test_repeated_runs_give_the_same_bits():
    assembly, q, v = double_four_bar()
    s = assembly.build()
    one, two = (lb.simulate(s, 3.0, q0=q, v0=v, rtol=1e-9, atol=1e-9).q for _ in range(2))
    assert np.array_equal(one, two)


@quiet
def test_ruthless_systems_hold_their_closures():
    assembly, q, v = KNOWN["flexible four-bar"][0]()
    s = assembly.build(fidelity="ruthless")
    full = lb.simulate(assembly.build(), 0.2, q0=q, v0=v, rtol=1e-8, atol=1e-10)
    r = lb.simulate(s, 0.2, q0=q, v0=v, rtol=1e-8, atol=1e-10)
    assert_met(r, 10.0)
    assert np.abs(r.q - full.q).max() < 0.05


# --- the start, and what cannot go on -------------------------------------------------------------


def test_start_off_the_closures_is_refused_with_name_gap_and_remedy():
    assembly, q, v = four_bar()
    s = assembly.build()
    with pytest.raises(
        lb.LimberError,
        match=r"q0 does not satisfy the closures of 'four-bar': 'pin' is off by 0\.135 .*lb\.assemble",
    ):
        lb.simulate(s, 1.0, q0=q + np.array([0.05, 0.0, 0.0]))
    with pytest.raises(
        lb.LimberError, match=r"the neutral configuration does not satisfy the closures"
    ):
        lb.simulate(s, 1.0)
    with pytest.raises(
        lb.LimberError,
        match=r"v0 violates the closures .*'pin' is off by .*lb\.project",
    ):
        lb.simulate(s, 1.0, q0=q, v0=v + np.array([0.1, 0.0, 0.0]))


@quiet
def test_small_gaps_at_the_start_are_projected():
    assembly, q, v = four_bar()
    s = assembly.build()
    r = lb.simulate(s, 0.1, q0=q + np.array([1e-7, 0.0, 0.0]), v0=v + np.array([0.0, 1e-7, 0.0]))
    assert_met(r)
    assert np.abs(r.q[0] - q).max() < 1e-6


@quiet
def test_an_implicit_method_goes_past_singular_positions_or_says_that_it_does_not():
    """A rigid scissor boom that closes: the energy stays, or the run ends with words, at every tolerance.

    Steps that end next to the singular position decide which of both, so that it differs from machine to machine.
    """
    assembly, q, v = scissor_boom(4)
    s = assembly.build()
    for rtol in (1e-4, 1e-6, 1e-8):
        options = {"method": "sdirk4", "rtol": rtol, "atol": 1e-2 * rtol}
        try:
            r = lb.simulate(s, 1.5, q0=q, v0=v, **options)
        except lb.SimulationError as error:
            assert rtol < 1e-5
            assert "close to a singular position" in str(error) and 'method="dop853"' in str(error)
            r = error.result
        assert np.ptp(r.energy) < 100.0 * rtol * r.energy[0]


def scaled_four_bar(scale):
    """A four-bar whose lengths are multiplied, and a configuration that meets its pin."""
    a = lb.Assembly("four-bar")
    bars = {"crank": 0.5, "coupler": 1.0, "rocker": 0.8}
    for name, bar in bars.items():
        length = scale * bar
        body = lb.RigidBody(1.0, (length / 2, 0, 0), scale**2 * np.eye(3), {"tip": (length, 0, 0)})
        to = {"to": "crank", "at": "tip"} if name == "coupler" else {}
        offset = (scale, 0, 0) if name == "rocker" else (0, 0, 0)
        a.attach(name, body, lb.Revolute("z"), offset=offset, **to)
    a.close(("coupler", "tip"), ("rocker", "tip"), lb.Cylindrical("z"), "pin")
    s = a.build()
    return s, lb.assemble(s, [1.0, -0.5, 1.5])


@quiet
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_gaps_at_the_start_are_measured_by_the_size_of_the_system(scale):
    s, q = scaled_four_bar(scale)
    r = lb.simulate(s, 0.1, q0=q + np.array([1e-7, 0.0, 0.0]))
    assert np.abs(r.constraint_residual()[0]).max() < 1e-9 * max(1.0, scale)
    with pytest.raises(lb.LimberError, match=r"q0 does not satisfy the closures .*'pin' is off by"):
        lb.simulate(s, 0.1, q0=q + np.array([1e-5, 0.0, 0.0]))


def test_redundant_closures_are_told_once():
    assembly, q, v = four_bar()
    s = assembly.build()
    with pytest.warns(
        lb.ModelWarning, match=r"2 of 5 rows are independent, and 1 degree.*3 of 'pin'"
    ) as told:
        lb.simulate(s, 0.1, q0=q, v0=v)
    assert len(told) == 1
    assembly, q, v = KNOWN["spatial slider-crank"][0]()
    lb.simulate(assembly.build(), 0.1, q0=q, v0=v)  # no warning, which would be an error here


@quiet
def test_actions_must_leave_states_on_the_closures():
    assembly, q, v = four_bar()
    s = assembly.build()
    wrong = lb.Event(0.1, lambda t, q, v: (q, v + np.array([1.0, 0.0, 0.0])), name="kick")
    with pytest.raises(lb.LimberError, match=r"action of event 'kick'.*lb\.project"):
        lb.simulate(s, 0.2, q0=q, v0=v, events=wrong)
    right = lb.Event(
        0.1, lambda t, q, v: lb.project(s, q, v + np.array([1.0, 0.0, 0.0])), name="kick"
    )
    assert_met(lb.simulate(s, 0.2, q0=q, v0=v, events=right))


@quiet
def test_closures_that_cannot_be_met_are_named():
    assembly, q, v = four_bar(speed=30.0)
    s = assembly.build()
    said = r"closures of 'four-bar' can no longer be satisfied after t = .*'pin' is off by .*smaller step"
    with pytest.raises(lb.SimulationError, match=said) as caught:
        lb.simulate(s, 5.0, q0=q, v0=v, method="rk4", step=0.5)
    assert len(caught.value.result) > 0


# --- results and comparison -----------------------------------------------------------------------


@quiet
def test_results_have_constraint_forces():
    assembly, q, v = four_bar()
    s = assembly.build()
    r = lb.simulate(s, 0.1, q0=q, v0=v, every=0.05)
    expected = lb.constraint_forces(s, r.q, r.v, r.tau)
    np.testing.assert_array_equal(r.constraint_forces("pin"), expected["pin"])
    with pytest.raises(
        lb.LimberError, match="'pen' is not a closure of 'four-bar'; its closures are: 'pin'"
    ):
        r.constraint_forces("pen")


@quiet
@pytest.mark.parametrize("method", ["DOP853", "Radau", "ida"])
def test_other_solvers_agree(method):
    if method == "ida":
        pytest.importorskip("sksundae")
    assembly, q, v = four_bar()
    s = assembly.build()
    ours = lb.simulate(s, 0.1, q0=q, v0=v, every=0.05, rtol=1e-9, atol=1e-11)
    theirs = lb.simulate(s, 0.1, q0=q, v0=v, every=0.05, rtol=1e-6, atol=1e-8, method=method)
    np.testing.assert_allclose(theirs.q, ours.q, atol=1e-5)
    np.testing.assert_allclose(theirs.v, ours.v, atol=1e-4)
    assert_met(theirs, 10.0)
    assert theirs.power_audit().accuracy <= 1.0


@quiet
def test_generated_code_gives_the_same_motion():
    assembly, q, v = four_bar()
    s = assembly.build()
    settings = {"q0": q, "v0": v, "every": 0.05, "rtol": 1e-9, "atol": 1e-11}
    general = lb.simulate(s, 0.5, **settings)
    generated = lb.simulate(s, 0.5, **settings, engine="generated")
    np.testing.assert_allclose(generated.q, general.q, atol=1e-8)
    assert_met(generated, 10.0)


@quiet
def test_files_keep_closures(tmp_path):
    pytest.importorskip("h5py")
    assembly, q, v = four_bar()
    r = lb.simulate(assembly.build(), 0.1, q0=q, v0=v, every=0.05, save=tmp_path / "run.h5")
    again = lb.Result.load(tmp_path / "run.h5")
    assert list(again.system.closures) == ["pin"]
    np.testing.assert_array_equal(again.constraint_forces("pin"), r.constraint_forces("pin"))


@quiet
def test_axial_loads_of_closures_are_told():
    """A block that pulls at the end of a pinned beam loads it through the closure alone."""
    a = lb.Assembly("tie")
    a.attach("tie", lb.beam(1.0, 1.0, EI=1.0, modes={"y": 1}), lb.Revolute("z"))
    a.attach("block", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Prismatic("x"), offset=(1, 0, 0))
    a.close(("tie", "tip"), ("block", None), lb.Spherical(), "pin")
    s = a.build()
    pull = {("block", None): [0, 0, 0, 4.0, 0, 0]}
    with pytest.warns(lb.TheoryWarning, match="'tie' is under tension"):
        lb.simulate(s, 0.1, q0=s.neutral(), external=pull)
