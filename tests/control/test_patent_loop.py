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
