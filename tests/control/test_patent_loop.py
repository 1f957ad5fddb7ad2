"""The loop of US 5,546,508, Figs. 4 and 6."""

import numpy as np
import pytest

import limber as lb
from limber import controlled_slew
from limber.control.controller import Measured
from limber.control.patent.processors import AccelerationProcessor, CompiledAccelerationProcessor
from limber.errors import ArgumentTypeError, ArgumentValueError

LAW = lb.control.Impedance(200.0, 60.0)


@pytest.fixture(scope="module")
def arm():
    a = lb.Assembly("arm")
    for i, to in ((1, "world"), (2, "link1")):
        beam = lb.beam(1.0, 3.0, EI=300.0, modes={"y": 2})
        joint = lb.Revolute("z", armature=0.5)
        a.attach(f"link{i}", beam, joint, to=to, at=None if to == "world" else "tip")
    return a.build()


@pytest.fixture(scope="module")
def motion(arm):
    path = lb.trajectories.Quintic([0.0, 0.3], [0.5, -0.2], 1.0)
    return lb.control.rest_to_rest(arm, path, 1.0, tip=("link2", "tip"))


def controller(arm, motion, **options):
    made = lb.control.FlexibleArmController(arm, motion, law=LAW, **options)
    lb.control.Loop(arm, made)
    return made


def measured(motion, row):
    return Measured(motion.t[row], motion.q[row], motion.v[row])


def test_desired_motion_is_one_of_the_arm_and_ends_at_rest(arm, motion):
    hinges = [arm.layout[name].q_joint.start for name in arm.layout]
    goal = arm.neutral()
    goal[hinges] = 0.5, -0.2
    assert np.abs(motion.q[-1] - goal).max() < 1e-5
    tau = np.zeros((len(motion.t), arm.nv))
    tau[:, hinges] = motion.force
    np.testing.assert_allclose(lb.forward_dynamics(arm, motion.q, motion.v, tau), motion.vdot)
    assert np.abs(motion.q[:, [i for i in range(arm.nq) if i not in hinges]]).max() > 1e-3


def test_processors_compute_what_the_engine_computes(arm, motion):
    loop = controller(arm, motion)
    row = 200
    loop.start(motion.t[row], measured(motion, row))
    loop.step(motion.t[row], measured(motion, row))
    found = loop.results
    assert isinstance(loop.accelerations, AccelerationProcessor)
    np.testing.assert_allclose(found["accelerations"], motion.vdot[row], rtol=1e-9, atol=1e-9)
    ops = lb.operators(arm, motion.q[row], motion.v[row])
    for mine, theirs in zip(found["articulated"].D, ops.D.blocks, strict=True):
        np.testing.assert_allclose(mine, theirs)
    np.testing.assert_allclose(found["coriolis"].b, ops.b)
    np.testing.assert_allclose(found["comparison"].force, motion.force[row], atol=1e-9)
    after = found["time_update"]
    np.testing.assert_allclose(after.q, motion.q[row + 1], atol=1e-6)


def test_numerals_are_those_of_the_figure(arm, motion):
    loop = controller(arm, motion)
    parts = ("sensors", "articulated", "coriolis", "accelerations", "comparison", "servos", "time_update")  # fmt: skip
    numbers = [getattr(loop, part).number for part in parts]
    assert numbers == [142, 125, 130, 135, 144, 146, 140]


def test_machine_code_gives_the_same_commands(arm, motion):
    commands = []
    for compiled in (False, True):
        loop = controller(arm, motion, compiled=compiled)
        loop.start(0.0, measured(motion, 0))
        off = Measured(0.002, motion.q[3], motion.v[3])
        commands.append([loop.step(0.002 * i, off) for i in range(5)])
    np.testing.assert_allclose(*commands, rtol=1e-9, atol=1e-9)


def test_processors_are_replaced_by_name(arm, motion):
    class Counting(CompiledAccelerationProcessor):
        calls = 0

        def __call__(self, *given):
            self.calls += 1
            return super().__call__(*given)

    counting = Counting()
    loop = controller(arm, motion, processors={"accelerations": counting})
    loop.start(0.0, measured(motion, 0))
    loop.step(0.0, measured(motion, 0))
    assert counting.calls == 2  # under the specified forces, and under the corrected ones
    with pytest.raises(ArgumentValueError, match="'servo' is not one of sensors"):
        controller(arm, motion, processors={"servo": None})


@pytest.mark.parametrize("state", ["sensors", "model", "observer"])
def test_exact_arm_follows_the_motion_with_every_state(arm, motion, state):
    made = lb.control.FlexibleArmController(arm, motion, law=LAW, state=state, compiled=True)
    result = lb.simulate(arm, 1.2, torque=made, q0=motion.q[0])
    assert np.abs(result.q[-1] - motion.q[-1]).max() < 1e-4
    names = set(result.signals)
    assert {"135 accelerations", "144 hinge deviation", "144 corrected force"} <= names


def test_optimal_law_damps_a_deflection(arm, motion):
    law = lb.control.Optimal(100.0)
    made = lb.control.FlexibleArmController(arm, motion, law=law, state="observer", compiled=True)
    q0 = motion.q[0].copy()
    q0[arm.layout["link1"].q_modes.start] += 1e-3
    result = lb.simulate(arm, 3.0, torque=made, q0=q0)
    assert np.abs(result.q[-1] - motion.q[-1]).max() < 2e-4


def test_what_does_not_fit_is_refused(arm, motion):
    with pytest.raises(ArgumentValueError, match="state must be one of 'observer'"):
        controller(arm, motion, state="exact")
    with pytest.raises(ArgumentTypeError, match="motion must be a DesiredMotion"):
        controller(arm, None)
    with pytest.raises(ArgumentValueError, match="friction must be one number, or 2 of them"):
        controller(arm, motion, friction=(1.0, 2.0, 3.0))
    with pytest.raises(ArgumentValueError, match="multiple of sample_time"):
        lb.control.rest_to_rest(
            arm, [0.1, 0.1], 1.0, tip=("link2", "tip"), sample_time=0.002, hold=0.003
        )
    made = lb.control.FlexibleArmController(arm, motion, law=LAW)
    with pytest.raises(ArgumentValueError, match="no sensor reads the position of 'link2'"):
        lb.control.Loop(arm, made, sensors=[lb.control.Encoder("link1", rate=500.0)])
    floating = lb.Assembly("floating")
    floating.attach("hub", lb.RigidBody(1.0, inertia=(1, 1, 1)), lb.Free())
    with pytest.raises(ArgumentValueError, match="has joints with quaternions"):
        lb.control.rest_to_rest(floating.build(), [0.1], 1.0, tip=("hub", None))


def test_canadarm_is_at_rest_after_the_slew():
    """Below 5 % of the locked run in every link, the tip within 5 mm, with noise, quantization, friction and limits."""
    path = lb.trajectories.Cycloid(rate=(0.075, 0.05, 0.1), duration=(10.0, 5.0, 5.0))
    slew = controlled_slew.compute(path)
    controlled, locked = slew.swings
    assert (controlled < 0.05 * locked).all()
    assert slew.tip_errors.max() < 5e-3


@pytest.mark.slow
@pytest.mark.parametrize("payload", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("stiffness", [0.8, 1.0, 1.2])
def test_canadarm_is_stable_with_unknown_payload_and_stiffness(payload, stiffness):
    path = lb.trajectories.Cycloid(rate=(0.075, 0.05, 0.1), duration=(10.0, 5.0, 5.0))
    servos = controlled_slew.servos()
    planar = lb.control.fit(lb.models.canadarm(modes={"y": 2}), *servos).build()
    model = lb.control.without_friction(planar)
    motion = lb.control.rest_to_rest(model, path, 10.0, tip=("link3", "tip"), tracking=0.1)
    made = lb.control.FlexibleArmController(
        model, motion, law=controlled_slew.LAW, friction=controlled_slew.KNOWN_FRICTION, compiled=True
    )  # fmt: skip
    changes = {"link3.mass_scale": payload} | {
        f"{link}.stiffness_scale": stiffness for link in controlled_slew.LINKS
    }
    plant = lb.control.fit(lb.models.canadarm(modes=2), *servos).build().with_parameters(changes)
    result = lb.simulate(plant, 40.0, torque=controlled_slew.loop(plant, made), every=0.02)
    for link in controlled_slew.LINKS:
        tip = result.deflection(link, "tip")[:, 1]
        after = np.ptp(tip[(result.t >= 10.0) & (result.t < 20.0)])
        late = np.ptp(tip[result.t >= 30.0])
        assert late < max(0.35 * after, 1e-3)


def weighed(modes, gravity=-9.81):
    a = lb.Assembly("weighed", gravity=(0, gravity, 0))
    for i, to in ((1, "world"), (2, "link1")):
        rod = lb.RigidBody(2.0, (0.5, 0, 0), (0.2, 0.2, 0.2), {"tip": (1.0, 0, 0)})
        body = lb.beam(1.0, 2.0, EI=200.0, modes={"y": modes}, damping=0.01) if modes else rod
        joint = lb.Revolute("z", armature=0.5)
        a.attach(f"link{i}", body, joint, to=to, at=None if to == "world" else "tip")
    return a.build()


@pytest.mark.parametrize("modes", [0, 1])
def test_an_arm_with_weight_rests_before_and_after_its_motion(modes):
    s = weighed(modes)
    path = lb.trajectories.Quintic([0.0, 0.3], [0.5, -0.2], 1.0)
    motion = lb.control.rest_to_rest(s, path, 1.0, tip=("link2", "tip"))
    at = [s.layout[name].v_joint.start for name in s.layout]
    rest, hold = np.zeros(s.nv), np.zeros(s.nv)
    for row, hinges in ((0, (0.0, 0.3)), (-1, (0.5, -0.2))):
        hold[at] = motion.force[row]
        found = s.neutral()
        found[at] = hinges
        found = lb.equilibrium(s, found, locked=list(s.layout)) if modes else found
        np.testing.assert_allclose(motion.q[row], found, atol=2e-5)
        if row:  # the first forces are those that set off
            assert np.abs(lb.forward_dynamics(s, motion.q[row], rest, hold)).max() < 1e-2
    c = lb.control.FlexibleArmController(s, motion, law=LAW, compiled=True)
    r = lb.simulate(s, 2.0, q0=motion.q[0], torque=c, every=0.1)
    late = r.q[r.t > 1.2][:, at]
    assert (
        np.abs(late - [0.5, -0.2]).max() < 1e-4
    )  # without its weight in the plan it sinks by 0.1 rad


def test_gains_are_those_of_an_arm_at_rest():
    """The stiffness of a pendulum is that of its weight; without torque it would be that of an arm that falls."""
    s = weighed(0)
    path = {"link2": lb.trajectories.Quintic(0.3, 0.4, 0.2)}
    motion = lb.control.rest_to_rest(s, path, 0.2, tip=("link2", "tip"), q0=[0.7, 0.3])
    assert np.abs(motion.q[[0, -1], 0] - 0.7).max() < 1e-5
    law = lb.control.Optimal(force=10.0)
    made = lb.control.FlexibleArmController(s, motion, law=law)
    lb.control.Loop(s, made)
    q, rest, M = motion.q[0], np.zeros(2), lb.mass_matrix(s, motion.q[0])
    plant = lb.linearize(s, q, rest, lb.inverse_dynamics(s, q, rest, rest))
    K = -M @ plant.A[2:, :2]
    Q = np.zeros((4, 4))
    Q[:2, :2], Q[2:, 2:] = (
        0.5 * (K + K.T) / law.energy + np.eye(2) / law.position**2,
        M / law.energy,
    )
    wanted = lb.control.lqr_gain(plant, Q, 1.0 / law.force**2, sample_time=0.002)
    np.testing.assert_allclose(made.schedule.at(0).feedback, wanted, rtol=1e-6)


@pytest.mark.parametrize("gravity", [0.0, -9.81])
def test_the_state_of_the_next_step_is_that_of_the_moving_arm(gravity):
    """Deviations grow as those of the motion do, and not as those of an arm at rest."""
    s = weighed(1, gravity)
    path = lb.trajectories.Quintic([0.0, 0.3], [0.5, -0.2], 1.0)
    motion = lb.control.rest_to_rest(s, path, 1.0, tip=("link2", "tip"))
    c = controller(s, motion)
    row = 200  # one of the 21 instants of gains
    tau = np.zeros(s.nv)
    tau[c.places.v] = motion.force[row]
    model = lb.linearize(s, motion.q[row], motion.v[row], tau)
    np.testing.assert_allclose(c.schedule.at(row).stiffness, model.A[s.nv :], atol=1e-9)


def test_a_motion_is_no_shorter_than_its_path():
    s = weighed(0)
    path = lb.trajectories.Quintic([0.0, 0.3], [0.5, -0.2], 0.5)
    motion = lb.control.rest_to_rest(s, path, 0.5, tip=("link2", "tip"), hold=0.024)
    assert motion.t[-1] == pytest.approx(0.504)
    assert np.abs(motion.q[-1] - [0.5, -0.2]).max() < 1e-5
