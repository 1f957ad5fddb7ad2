"""Why LQG fails on the changed Canadarm, by linear theory, and what makes it stable there."""

import numpy as np
import pytest

import limber as lb
from limber import comparison, control


@pytest.fixture(scope="module")
def arm():
    return comparison.canadarm()


def loops(arm, Q, at_joints):
    """Margins about the start, on the known arm and on the changed one, both without friction."""
    s, rest = arm.model, np.zeros(arm.model.nv)
    disturbance = np.ones(s.nv)
    for joint in arm.joints:
        disturbance[s.layout[joint].v_joint] = at_joints
    kalman = control.Kalman(disturbance)
    R = np.square(1.0 / np.array(arm.torque))
    lqg = control.LQR(Q, R, sample_time=arm.observed, about=arm.q0, delay=arm.delay, observer=kalman)  # fmt: skip
    sensors = arm.loop(control.PD(1.0, 1.0, sample_time=arm.sample)).sensors
    control.Loop(s, lqg, sensors=sensors, delay=arm.delay, seed=1)
    return [
        control.margins(
            kalman.seen(lb.linearize(plant, arm.q0, rest, rest, inputs=list(arm.joints))),
            lqg,
            delay=arm.delay,
        )
        for plant in (s, control.without_friction(arm.changed))
    ]


def joints(arm, Q):
    for joint in arm.joints:
        i = arm.model.layout[joint].v_joint.start
        Q[i, i] += 100.0
    return Q


def test_equal_weights_and_equal_disturbances_leave_no_margin(arm):
    known, changed = loops(arm, joints(arm, np.eye(2 * arm.model.nv)), 1.0)
    assert known.stable and known.disk < 0.06
    assert not changed.stable


def test_weights_by_energy_and_disturbances_at_joints_bear_the_changed_arm(arm):
    s = arm.model
    Q = np.zeros((2 * s.nv, 2 * s.nv))
    for name, where in s.layout.items():
        Q[where.v_modes, where.v_modes] = s.bodies[name].stiffness
    Q[s.nv :, s.nv :] = lb.mass_matrix(s, arm.q0)
    known, changed = loops(arm, joints(arm, Q / arm.energy), 30.0)
    assert known.stable and known.disk > 0.15
    assert changed.stable
