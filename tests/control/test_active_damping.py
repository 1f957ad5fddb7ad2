"""Active damping and singular-perturbation control: poles where they were asked for, energy that decays, words on their range."""

import numpy as np
import pytest

import limber as lb
from limber.control import ActiveDamping, ComputedTorque, SingularPerturbation

GAINS = {"kp": [900.0, 400.0], "kd": [20.0, 10.0]}


def arm(stiff=1.0):
    a = lb.Assembly("arm")
    upper = lb.beam(1.0, 1.5, EI=300.0 * stiff, modes={"y": 2}, damping=0.005)
    fore = lb.beam(1.0, 1.0, EI=150.0 * stiff, modes={"y": 2}, damping=0.005)
    a.attach("upper", upper, lb.Revolute("z", armature=0.5))
    a.attach("fore", fore, lb.Revolute("z", armature=0.3), "upper", "tip")
    a.attach("load", lb.RigidBody(1.0, inertia=[0.01] * 3), lb.Fixed(), "fore", "tip")
    return a.build()


def bent(s):
    """An arm at rest, and the same with its links bent."""
    q = s.neutral()
    q[s.layout["fore"].q_joint] = 0.9
    swung = q.copy()
    swung[s.layout["upper"].q_modes.start] = 0.02
    return q, swung


def ratios(poles):
    """Distances from zero and damping ratios of the vibrations, in order."""
    found = poles[poles.imag > 0.0]
    found = found[np.argsort(np.abs(found))]
    return np.abs(found), -found.real / np.abs(found)


def left(s, controller, swung, duration=1.0):
    r = lb.simulate(s, duration, q0=swung, torque=controller, every=0.05)
    energy = r.kinetic_energy + r.potential_energy
    return energy[-1] / energy[0]


def test_modal_damping_moves_the_chosen_poles_and_no_others():
    s = arm()
    q, swung = bent(s)
    plant = lb.linearize(s, q, inputs=["upper", "fore"])
    held = lb.control.PD(**GAINS, sample_time=0.001, reference=[0.0, 0.9])
    K = np.zeros((2, 2 * s.nv))
    joints = [s.layout[body].v_joint.start for body in ("upper", "fore")]
    K[[0, 1], joints], K[[0, 1], np.add(joints, s.nv)] = GAINS["kp"], GAINS["kd"]
    before = ratios(np.linalg.eigvals(plant.A - plant.B @ K))
    c = ActiveDamping(
        **GAINS, sample_time=0.001, damping=0.2, modes=2, about=q, reference=[0.0, 0.9]
    )
    assert left(s, c, swung) < 0.15 * left(s, held, swung)
    after = ratios(c.poles)
    weak = np.flatnonzero(before[1] < 0.2)[:2]
    assert np.allclose(after[0], before[0], rtol=1e-6)
    assert np.allclose(after[1][weak], 0.2, atol=1e-6)
    assert np.allclose(np.delete(after[1], weak), np.delete(before[1], weak), atol=1e-6)
    assert np.allclose(c.frequencies, before[0][weak]) and np.allclose(c.ratios, before[1][weak])
    assert lb.control.margins(plant, c).stable


def test_positive_position_feedback_gives_filter_and_vibration_the_same_damping():
    """One undamped link on a spring: the formulas are then exact."""
    a = lb.Assembly("link")
    beam = lb.beam(1.0, 1.0, EI=100.0, modes={"y": 1}, damping=0.0)
    a.attach("link", beam, lb.Revolute("z", armature=0.2))
    s = a.build()
    c = ActiveDamping(100.0, 0.0, sample_time=0.0005, damping=0.25, law="ppf")
    lb.control.Loop(s, c)
    size, ratio = ratios(c.poles)
    w = c.frequencies[0]
    of_it = np.abs(size - w) < 1e-3 * w  # both pairs of poles are the same
    assert of_it.sum() == 2 and np.allclose(ratio[of_it], 0.25, atol=1e-3)


def test_positive_position_feedback_damps_an_arm():
    s = arm()
    q, swung = bent(s)
    c = ActiveDamping(
        **GAINS, sample_time=0.001, damping=0.2, law="ppf", about=q, reference=[0.0, 0.9]
    )
    held = lb.control.PD(**GAINS, sample_time=0.001, reference=[0.0, 0.9])
    assert left(s, c, swung) < 0.5 * left(s, held, swung)
    assert lb.control.margins(lb.linearize(s, q, inputs=["upper", "fore"]), c).stable


def test_damping_with_an_observer_on_encoders_and_strain_gauges():
    s = arm()
    q, swung = bent(s)
    kalman = lb.control.Kalman(0.05, initial=1e-2)
    c = ActiveDamping(
        **GAINS, sample_time=0.002, damping=0.2, about=q, reference=[0.0, 0.9], observer=kalman
    )
    sensors = [
        lb.control.Encoder(rate=500.0, counts=2**16),
        lb.control.StrainGauge("upper", at=0.1, y=0.01, rate=500.0, noise=1e-6, name="upper gauge"),
        lb.control.StrainGauge("fore", at=0.1, y=0.01, rate=500.0, noise=1e-6, name="fore gauge"),
    ]
    loop = lb.control.Loop(s, c, sensors=sensors, seed=2)
    r = lb.simulate(s, 1.0, q0=swung, torque=loop, every=0.05)
    energy = r.kinetic_energy + r.potential_energy
    assert energy[-1] < 0.05 * energy[0]
    assert "estimate" in r.signals


def test_what_cannot_be_damped_is_refused():
    s = arm()

    def refused(text, **options):
        with pytest.raises(lb.LimberError, match=text):
            lb.control.Loop(s, ActiveDamping(**GAINS, sample_time=0.001, **options))

    refused("only .* vibrations that the torques reach", modes=9)
    refused("at most as many vibrations as there are torques, 2", modes=3, law="ppf")
    refused("law must be 'modal' or 'ppf'", law="velocity")
    refused("damping must be below 1", damping=1.5)
    with pytest.raises(
        lb.LimberError, match="needs the modal coordinates, which sensors do not measure"
    ):
        lb.control.Loop(
            s, ActiveDamping(**GAINS, sample_time=0.001), sensors=[lb.control.Encoder(rate=1000.0)]
        )


def test_fast_feedback_damps_what_computed_torque_leaves():
    s = arm(stiff=10.0)
    q, _ = bent(s)
    plant = lb.linearize(s, q, inputs=["upper", "fore"])
    joints = np.array([s.layout[body].v_joint.start for body in ("upper", "fore")])
    least = []
    for damping in (0.0, 0.6):
        c = SingularPerturbation(25.0, 10.0, damping=damping, sample_time=0.0005)
        lb.control.Loop(s, c)
        at_rest = lb.control.Measured(0.0, q, np.zeros(s.nv))
        c.start(0.0, at_rest)
        still, K = c.command(0.0, at_rest), np.zeros((2, 2 * s.nv))
        for i in range(2 * s.nv):  # the controller is linear about rest
            step = np.zeros(2 * s.nv)
            step[i] = 1e-6
            x = lb.control.Measured(0.0, q + step[: s.nv], step[s.nv :])
            K[:, i] = -(c.command(0.0, x) - still)[joints] / 1e-6
        size, ratio = ratios(np.linalg.eigvals(plant.A - plant.B @ K))
        least.append(ratio[size < 300.0].min())
    assert least[1] > 2.5 * least[0]


def test_slow_motion_follows_and_ranges_are_told():
    move = lb.trajectories.Quintic([0.0, 0.3], [0.3, 0.6], 0.5)
    errors = []
    for kind in (ComputedTorque, SingularPerturbation):
        s = arm(stiff=10.0)
        q0 = s.neutral()
        q0[s.layout["fore"].q_joint] = 0.3
        c = kind(100.0, 20.0, sample_time=0.001, reference=move)
        r = lb.simulate(s, 0.7, q0=q0, torque=c, every=0.02)
        wanted = move(np.minimum(r.t, 0.5)).position
        q = np.column_stack([r.joint("upper"), r.joint("fore")])
        errors.append(np.abs(q - wanted).max())
    assert errors[1] < 1.3 * errors[0] < 0.02
    with pytest.warns(lb.errors.ModelWarning, match="there are two separate time scales only"):
        soft = SingularPerturbation(900.0, 60.0, sample_time=0.001)
        lb.simulate(arm(), 0.002, torque=soft)
    rigid = lb.Assembly("rigid")
    rigid.attach("link", lb.RigidBody(1.0, inertia=[1.0] * 3), lb.Revolute("z"))
    with pytest.raises(lb.LimberError, match="has no modes: use ComputedTorque"):
        lb.control.Loop(rigid.build(), SingularPerturbation(1.0, 1.0, sample_time=0.01))
    sensors = [lb.control.Encoder(rate=1000.0), lb.control.Tachometer(rate=1000.0)]
    with pytest.raises(lb.LimberError, match="the rates of the modes, which the fast feedback"):
        lb.control.Loop(arm(), SingularPerturbation(1.0, 1.0, sample_time=0.01), sensors=sensors)


@pytest.mark.parametrize("law", ["modal", "ppf"])
def test_damping_is_designed_about_the_arm_that_is_held_against_its_weight(law):
    a = lb.Assembly("arm", gravity=(0, -9.81, 0))
    a.attach("link", lb.beam(1.0, 1.5, EI=300.0, modes={"y": 2}), lb.Revolute("z", armature=0.5))
    a.attach("load", lb.RigidBody(3.0, inertia=[0.01] * 3), lb.Fixed(), "link", "tip")
    s, rest = a.build(), np.zeros(3)
    q = s.neutral()
    q[s.layout["link"].q_joint] = 0.5
    c = ActiveDamping(900.0, 20.0, sample_time=0.001, damping=0.25, law=law, about=q, reference=0.5)
    lb.control.Loop(s, c)
    still = lb.equilibrium(s, q, locked=["link"])
    tau = lb.inverse_dynamics(s, still, rest, rest)
    plant = lb.linearize(s, still, rest, tau, inputs=["link"])
    K, at = np.zeros((1, 6)), s.layout["link"].v_joint.start
    K[0, at], K[0, 3 + at] = 900.0, 20.0 if law == "modal" else 0.0
    held, _ = ratios(np.linalg.eigvals(plant.A - plant.B @ K))
    assert np.allclose(c.frequencies, held[0], rtol=1e-6 if law == "modal" else 2e-3)
