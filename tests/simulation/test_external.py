"""Wrenches at nodes in simulations: constant, over time, of the state; their work, and accelerations of nodes."""

import numba
import numpy as np
import pytest

import limber as lb
from helpers.random_systems import random_assembly, random_state

METHODS = ["rk4", "rk45", "dop853", "sdirk4", "auto", "DOP853"]


def options(method):
    return {"method": method, "step": 1e-3} if method == "rk4" else {"method": method}


def arm(fidelity="full"):
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    link = lb.beam(1.0, 1.0, EI=50.0, modes=2, damping=0.02)
    a.attach("a", link, lb.Revolute([0, 1, 0]))
    a.attach("b", link, lb.Revolute([0, 1, 0]), to="a", at="tip")
    return a.build(fidelity)


@pytest.mark.parametrize("method", METHODS)
def test_a_force_at_a_mass_gives_its_acceleration(method):
    a = lb.Assembly("m")
    a.attach("m", lb.RigidBody(2.0), lb.Prismatic([1, 0, 0]))
    s = a.build()
    r = lb.simulate(s, 1.0, external={("m", None): [0, 0, 0, 4.0, 0, 0]}, **options(method))
    assert r.q[-1, 0] == pytest.approx(1.0, abs=1e-8)
    assert np.array_equal(r.external["m", None], np.tile([0, 0, 0, 4.0, 0, 0], (len(r), 1)))
    assert np.allclose(r.vdot, 2.0, rtol=0, atol=1e-12)
    assert r.power_audit().external[-1] == pytest.approx(4.0, abs=1e-8)


@pytest.mark.parametrize("engine", ["general", "generated"])
@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_the_ways_to_give_a_wrench_agree(engine, fidelity):
    s = arm(fidelity)
    t = np.linspace(0.0, 0.5, 2001)

    def wrench(t, q, v):
        return np.array([0.0, 0.3 * np.sin(5 * t), 0.0, np.cos(3 * t), 0.0, 2.0])

    @numba.cfunc("void(float64, CPointer(float64), CPointer(float64), CPointer(float64))")
    def compiled(t, q, v, out):
        out[0] = out[2] = out[4] = 0.0
        out[1], out[3], out[5] = 0.3 * np.sin(5 * t), np.cos(3 * t), 2.0

    table = lb.Table(t, np.array([wrench(x, None, None) for x in t]), smooth=True)
    ends = [
        lb.simulate(
            s,
            0.5,
            external={("b", "tip"): w},
            rtol=1e-10,
            atol=1e-12,
            method="dop853",
            engine=engine,
        ).q[-1]
        for w in (wrench, compiled, table)
    ]
    assert np.allclose(ends[1], ends[0], rtol=0, atol=1e-13)
    assert np.allclose(ends[2], ends[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_wrenches_in_a_run_are_those_of_forward_dynamics(seed):
    """One short step of a random tree with three wrenches against forward_dynamics(external=...)."""
    rng = np.random.default_rng(seed)
    s = random_assembly(rng, bodies=5).build()
    q, v, tau = random_state(rng, s)
    keys = [(name, 0) for name in list(s.bodies)[:3]]
    external = {key: rng.normal(size=6) for key in keys}
    h = 1e-5
    r = lb.simulate(
        s, h, q0=q, v0=v, torque=tau, external=external, method="rk4", step=h, t_eval=[0.0, h]
    )
    middle = lb.integrate(s, q, v, 0.5 * h)
    vdot = lb.forward_dynamics(s, q, v, tau, external=external)
    vdot = lb.forward_dynamics(s, middle, v + 0.5 * h * vdot, tau, external=external)
    assert np.allclose((r.v[1] - v) / h, vdot, rtol=1e-6, atol=1e-6 * np.abs(vdot).max())


@pytest.mark.parametrize("method", ["rk45", "dop853", "sdirk4", "DOP853"])
def test_the_audit_closes_with_every_force_at_once(method):
    s = arm()

    def contact(t, q, v):
        """A soft floor below the tip."""
        _, p = lb.pose(s, q, "b", "tip")
        J = lb.jacobian(s, q, "b", "tip")
        depth = -0.3 - p[2]
        up = 400.0 * depth - 2.0 * (J[5] @ v) if depth > 0.0 else 0.0
        return np.array([0.0, 0.0, 0.0, 0.0, 0.0, up])

    r = lb.simulate(
        s, 1.0, q0=0.3 * np.eye(s.nq)[4], torque=lambda t, q, v: -0.1 * v,
        external={("b", "tip"): contact, ("a", "tip"): [0, 0.1, 0, 0, 0, 1.0]},
        method=method, rtol=1e-9, atol=1e-10, t_eval=[0.0, 0.37, 1.0],
    )  # fmt: skip
    audit = r.power_audit()
    assert min(np.abs(x[-1]) for x in (audit.work, audit.external, audit.dissipation)) > 1e-3
    assert audit.accuracy < 1e-6


def test_sampled_torques_close_the_audit_at_any_output_times():
    s = arm()

    class Servo:
        sample_time = 0.01

        def __call__(self, t, q, v):
            return [30.0 * (0.5 - q[4]) - 5.0 * v[4], -20.0 * q[9] - 2.0 * v[9]]

    for rows in ([0.0, 1.0], np.linspace(0.0, 1.0, 11)):
        r = lb.simulate(s, 1.0, torque=Servo(), t_eval=rows, rtol=1e-9, atol=1e-10)
        assert r.power_audit().accuracy < 1e-6


def test_actions_of_events_are_in_the_audit():
    a = lb.Assembly("ball", gravity=(0, 0, -9.81))
    a.attach("b", lb.RigidBody(2.0), lb.Prismatic([0, 0, 1]))
    event = lb.Event(lambda t, q, v: q[0], lambda t, q, v: (q, -0.8 * v), direction=-1)
    r = lb.simulate(a.build(), 1.0, q0=[1.0], events=event)
    audit = r.power_audit()
    assert audit.actions[-1] == pytest.approx(2.0 * 9.81 * (0.8**2 - 1.0), rel=1e-9)
    assert audit.accuracy < 1e-9


def test_external_forces_are_kept_in_files(tmp_path):
    s = arm()
    r = lb.simulate(
        s, 0.1, external={("b", "tip"): lambda t, q, v: [0, 0, 0, t, 0, 1], ("a", None): np.ones(6)},
        t_eval=[0.0, 0.05, 0.1], save=tmp_path / "r.h5",
    )  # fmt: skip
    back = lb.Result.load(tmp_path / "r.h5")
    assert list(back.external) == [("b", "tip"), ("a", None)]
    assert all(np.array_equal(back.external[k], r.external[k]) for k in r.external)
    assert np.array_equal(back.supplied, r.supplied)
    assert np.array_equal(back.vdot, r.vdot)


@pytest.mark.parametrize("seed", range(6))
def test_node_accelerations_are_the_rates_of_node_velocities(seed):
    """J vdot + (dJ/dt) v against central differences of J v along a motion, every joint and body kind."""
    rng = np.random.default_rng(seed)
    s = random_assembly(rng, bodies=5, rotary=True).build()
    q, v, tau = random_state(rng, s)
    vdot = lb.forward_dynamics(s, q, v, tau)
    for body in s.bodies:
        for node in (None, 0):
            h = 1e-5
            twists = []
            for dt in (-h, h):
                r = lb.simulate(
                    s,
                    abs(dt),
                    q0=q,
                    v0=v * np.sign(dt),
                    torque=tau,
                    method="rk4",
                    step=h,
                    t_eval=[h],
                )
                if dt < 0:  # backward in time: the same motion with reversed speeds
                    twists.append(-lb.jacobian(s, r.q[0], body, node) @ r.v[0])
                else:
                    twists.append(lb.jacobian(s, r.q[0], body, node) @ r.v[0])
            if any(np.any(getattr(b, "damping", 0.0)) for b in s.bodies.values()):
                return  # dampers do not run backward
            expected = (twists[1] - twists[0]) / (2 * h)
            got = lb.acceleration(s, q, v, vdot, body, node)
            assert np.allclose(got, expected, rtol=0, atol=1e-6 * (1 + np.abs(expected).max()))


def test_a_node_at_rest_in_free_fall_accelerates_with_gravity():
    s = arm()
    r = lb.simulate(s, 0.1, t_eval=[0.0, 0.1])
    motion = r.node("a")
    assert np.allclose(motion.acceleration, 0.0, atol=1e-12)  # the body frame lies on the joint
    free = lb.Assembly("free", gravity=(0, 0, -9.81))
    free.attach("b", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Free())
    r = lb.simulate(free.build(), 0.1, v0=[0.1, 0.2, 0.3, 1.0, 0.0, 0.0])
    assert np.allclose(r.node("b").acceleration, [0, 0, -9.81], rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("external", "message"),
    [
        ([1, 2], r"external must map \(\"body\", node\)"),
        ({"b": np.zeros(6)}, r"a key must be \(\"body\", node\)"),
        ({("c", "tip"): np.zeros(6)}, "body"),
        ({("b", "top"): np.zeros(6)}, "node"),
        ({("b", "tip"): np.zeros(5)}, r"external\[\('b', 'tip'\)\] must have shape \(6,\)"),
        ({("b", "tip"): [0, 0, 0, 0, 0, np.nan]}, "must be finite"),
        ({("b", "tip"): lambda t, q, v: np.zeros(5)}, "must return 6 numbers"),
        (
            {("b", "tip"): lambda t, q, v: np.full(6, np.nan)},
            "not finite at t = 0 s, first for its moment x",
        ),
        ({("b", "tip"): lambda t: np.zeros(6)}, "is called with"),
        ({("b", "tip"): lb.Table([0, 1], np.zeros((2, 3)))}, "must have 6 columns"),
        ({("b", "tip"): "down"}, "must be real numbers"),
    ],
)
def test_bad_wrenches_are_refused_in_words(external, message):
    with pytest.raises(lb.LimberError, match=message):
        lb.simulate(arm(), 0.1, external=external)
