"""The integrators: orders, laws, agreement with each other and with SciPy."""

import numpy as np
import pytest

import limber as lb
from helpers.motions import arm, distance, moving, spacecraft

ADAPTIVE = ("rk45", "tsit5", "dop853", "sdirk4")


@pytest.mark.parametrize("make", [arm, spacecraft])
def test_rk4_is_of_order_four(make):
    s = make()
    q, v = moving(s)
    exact = lb.simulate(s, 0.2, q0=q, v0=v, t_eval=[0.2], method="dop853", rtol=1e-13, atol=1e-14)
    errors = []
    for n in (320, 640, 1280):
        r = lb.simulate(s, 0.2, q0=q, v0=v, t_eval=[0.2], method="rk4", step=0.2 / n)
        errors.append(distance(s, r.q, exact.q))
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (np.abs(orders - 4.0) < 0.25).all(), (errors, orders)


@pytest.mark.parametrize(
    ("method", "order", "first"), [("rk45", 5, 80), ("tsit5", 5, 80), ("dop853", 8, 40)]
)
def test_orders_of_the_explicit_methods(method, order, first):
    """With a huge tolerance and a largest step the steps are fixed: the order of the formula shows."""
    s = arm()
    q, v = moving(s, 0.3)
    exact = lb.simulate(s, 0.2, q0=q, v0=v, t_eval=[0.2], method="dop853", rtol=1e-13, atol=1e-15)
    errors = []
    for n in (first, 2 * first):
        step = {"step": 0.2 / n, "max_step": 0.2 / n}
        r = lb.simulate(
            s, 0.2, q0=q, v0=v, t_eval=[0.2], method=method, rtol=1e-9, atol=1e9, **step
        )
        assert r.statistics.steps <= n + 1
        errors.append(np.abs(r.q - exact.q).max())
    assert np.log2(errors[0] / errors[1]) > order - 0.4, errors


def test_order_of_the_implicit_method():
    """Error against number of steps, as the tolerance tightens."""
    s = arm()
    q, v = moving(s, 0.3)
    exact = lb.simulate(s, 0.2, q0=q, v0=v, t_eval=[0.2], method="dop853", rtol=1e-13, atol=1e-15)
    steps, errors = [], []
    for tolerance in (1e-7, 1e-9):
        options = {"method": "sdirk4", "rtol": tolerance, "atol": tolerance}
        r = lb.simulate(s, 0.2, q0=q, v0=v, t_eval=[0.2], **options)
        steps.append(r.statistics.steps)
        errors.append(np.abs(r.q - exact.q).max())
    order = np.log(errors[0] / errors[1]) / np.log(steps[1] / steps[0])
    assert abs(order - 4.0) < 0.4, (steps, errors)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_dense_output_is_as_good_as_the_steps(method):
    """Outputs between the steps are no worse than a few times the tolerance."""
    s = arm()
    q, v = moving(s, 0.3)
    times = np.linspace(0, 0.2, 2001)
    r = lb.simulate(s, 0.2, q0=q, v0=v, t_eval=times, method=method, rtol=1e-7, atol=1e-8)
    exact = lb.simulate(s, 0.2, q0=q, v0=v, t_eval=times, method="dop853", rtol=1e-13, atol=1e-15)
    assert r.statistics.steps < 1000
    assert np.abs(r.q - exact.q).max() < 1e-7


@pytest.mark.parametrize("method", ["auto", *ADAPTIVE])
@pytest.mark.parametrize("make", [arm, spacecraft])
def test_methods_agree_with_scipy(make, method):
    s = make()
    q, v = moving(s)
    times = np.linspace(0, 0.5, 11)
    peer = lb.simulate(s, 0.5, q0=q, v0=v, t_eval=times, method="DOP853", rtol=1e-11, atol=1e-12)
    r = lb.simulate(s, 0.5, q0=q, v0=v, t_eval=times, method=method, rtol=1e-9, atol=1e-10)
    assert distance(s, r.q, peer.q) < 1e-7
    assert np.abs(r.v - peer.v).max() < 1e-5


def test_radau_agrees_too():
    s = arm(damping=0.02)
    q, v = moving(s, 0.2)
    a = lb.simulate(s, 0.1, q0=q, v0=v, t_eval=[0.1], method="Radau", rtol=1e-8, atol=1e-10)
    b = lb.simulate(s, 0.1, q0=q, v0=v, t_eval=[0.1], method="sdirk4", rtol=1e-8, atol=1e-10)
    assert np.abs(a.q - b.q).max() < 1e-6


def test_energy_of_a_conservative_flexible_arm_over_100_seconds():
    """Within 1e-6 of the energy exchanged, at rtol = atol = 1e-10 with dop853."""
    s = arm(modes=1)
    q = s.neutral()
    q[s.layout["upper"].q_joint] = 0.4
    r = lb.simulate(
        s, 100.0, q0=q, method="dop853", rtol=1e-10, atol=1e-10, every=0.5, engine="generated"
    )
    assert len(r) == 201
    scale = np.ptp(r.kinetic_energy)
    assert np.abs(r.energy - r.energy[0]).max() < 1e-6 * scale


def test_free_floating_tree_keeps_momentum_and_energy():
    s = spacecraft()
    q, v = moving(s)
    r = lb.simulate(s, 5.0, q0=q, v0=v, rtol=1e-10, atol=1e-11)
    assert np.abs(r.momentum - r.momentum[0]).max() < 1e-8 * np.abs(r.momentum[0]).max()
    assert np.abs(r.energy - r.energy[0]).max() < 1e-8 * r.energy[0]
    norms = [np.linalg.norm(r.joint(b)[:, :4], axis=1) for b in ("hub", "ball")]
    assert np.abs(np.array(norms) - 1.0).max() < 1e-14


def test_generated_engine_equals_the_general_one():
    for s in (arm(), spacecraft(), arm_ruthless()):
        q, v = moving(s)
        runs = [
            lb.simulate(s, 0.5, q0=q, v0=v, method="rk4", step=1e-3, engine=e)
            for e in ("general", "generated")
        ]
        assert np.allclose(runs[0].q, runs[1].q, rtol=1e-10, atol=1e-11)


def arm_ruthless():
    a = lb.Assembly("ruthless arm", gravity=(0, 0, -9.81))
    link = lb.beam(1.0, 2.0, EI=(80.0, 120.0), modes=1)
    a.attach("upper", link, lb.Revolute([0, 1, 0]))
    a.attach("lower", link, lb.Revolute([0, 0, 1]), to="upper", at="tip")
    return a.build(fidelity="ruthless")


def test_implicit_steps_are_large_where_stiff_modes_are_at_rest():
    """Damped modes up to 100 times the lowest: the implicit method needs far fewer steps."""
    a = lb.Assembly("stiff", gravity=(0, 0, -9.81))
    a.attach(
        "link", lb.beam(1.0, 2.0, EI=(80.0, 120.0), modes=6, damping=0.05), lb.Revolute([0, 1, 0])
    )
    s = a.build()
    omega = lb.modes(s, s.neutral()).omega
    assert omega.max() > 100 * omega[omega > 1.0].min()
    options = {"rtol": 1e-4, "atol": 1e-5}
    stiff = lb.simulate(s, 1.0, method="sdirk4", **options)
    plain = lb.simulate(s, 1.0, method="dop853", **options)
    auto = lb.simulate(s, 1.0, **options)
    fine = lb.simulate(s, 1.0, method="dop853", rtol=1e-10, atol=1e-12)
    joint = s.layout["link"].q_joint.start
    for r in (stiff, plain, auto):
        assert np.abs(r.q[:, joint] - fine.q[:, joint]).max() < 1e-3
    assert stiff.statistics.evaluations < 0.5 * plain.statistics.evaluations


@pytest.mark.parametrize("method", ["sdirk4", "auto", "dop853", "Radau"])
def test_system_without_freedoms(method):
    a = lb.Assembly("fixed")
    a.attach("block", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Fixed())
    r = lb.simulate(a.build(), 1.0, method=method)
    assert r.q.shape == r.v.shape == (501, 0)


@pytest.mark.parametrize("method", ["auto", "rk45", "dop853", "sdirk4"])
def test_what_stays_at_zero_needs_no_absolute_tolerance(method):
    a = lb.Assembly("satellite")
    a.attach("hub", lb.RigidBody(1.0, inertia=np.diag([1.0, 2.0, 3.0])), lb.Free())
    s = a.build()
    r = lb.simulate(s, 1.0, v0=[0, 0, 2.0, 0, 0, 0], method=method, atol=0.0)
    assert np.abs(r.q[-1, :4] - [np.cos(1.0), 0.0, 0.0, np.sin(1.0)]).max() < 1e-4


def test_auto_goes_on_where_a_trial_gets_stuck(monkeypatch):
    """Dry friction that holds a body: no implicit step has a solution there, explicit ones chatter on."""
    monkeypatch.setattr("limber.simulation.stepping.WORK_BEFORE_TRIALS", 0)
    a = lb.Assembly("sled")
    a.attach("sled", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Prismatic([1, 0, 0]))
    r = lb.simulate(
        a.build(), 1.0001, v0=[1.0], torque=lambda t, q, v: -np.sign(v), t_eval=[1.0001]
    )
    assert abs(r.q[0, 0] - 0.5) < 1e-6 and abs(r.v[0, 0]) < 1e-5


@pytest.mark.parametrize("method", ["cvode", "ida"])
def test_sundials_needs_a_state(method):
    a = lb.Assembly("fixed")
    a.attach("block", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Fixed())
    with pytest.raises(lb.LimberError, match="has no degrees of freedom"):
        lb.simulate(a.build(), 1.0, method=method)


def test_a_free_motion_over_a_very_long_time(rotor):
    assert lb.simulate(rotor, 1e12, v0=[1.0]).q[-1, 0] == pytest.approx(1e12)
