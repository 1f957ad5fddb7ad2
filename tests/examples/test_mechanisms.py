"""The example scripts of closed systems: what they show is right."""

import numpy as np
import pytest

import limber as lb
from helpers.compare import assert_close
from helpers.files import EXAMPLES
from limber.cli.examples import loaded

# planar mechanisms with spatial hinges, whose superfluous rows do no harm
pytestmark = pytest.mark.filterwarnings("ignore:the closures of .* are redundant")


def example(name):
    return loaded(EXAMPLES / f"{name}.py")


def closed(result):
    """Whether closures hold, in positions and speeds."""
    return max(np.abs(x).max() for x in result.constraint_residual()) < 1e-10


# --- four-bar linkage -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run_up():
    with pytest.warns(lb.ModelWarning, match="redundant"):
        return example("four_bar").run(1.0)


def test_rigid_four_bar_moves_by_the_law_of_cosines(run_up):
    crank, rocker = (run_up.rigid.joint(name)[:, 0] for name in ("crank", "rocker"))
    assert crank[-1] > 2 * np.pi  # more than a turn
    assert np.abs(rocker - example("four_bar").rocker_angle(crank)).max() < 1e-10


def test_four_bar_turns_work_into_energy_and_stays_closed(run_up):
    for result in (run_up.flexible, run_up.rigid):
        assert result.power_audit().accuracy < 1e-7
        assert closed(result)


def test_stress_of_a_slow_four_bar_is_that_of_a_beam_column(run_up):
    """Once the start has rung out.  Without the force along the coupler one is off by a fifth."""
    late = run_up.flexible.t > 0.6
    stress, by_hand, beam_column = (
        x[late] for x in (run_up.stress, run_up.by_hand, run_up.beam_column)
    )
    size = np.abs(stress).max()
    assert np.abs(stress - beam_column).max() < 0.04 * size
    assert np.abs(stress - by_hand).max() > 0.2 * size


# --- scissor boom -----------------------------------------------------------------------------------


def test_boom_follows_its_slider_and_stays_closed():
    made = example("scissor_boom").run(3.0)
    result = made.result
    assert closed(result)
    assert result.power_audit().accuracy < 1e-6
    height = lb.trajectories.Quintic(0.966, 0.574, duration=12)(result.t).position
    # the same kernel in two compiled functions
    assert_close(result.joint("slider")[:, 0], height, 1e-13)
    assert made.forces.shape == (len(result), 10)
    assert (np.diff(made.forces[-1]) < 0).all()  # each hinge moves one cell less than that before
    assert 0.1 < np.abs(made.payload - made.rigid).max() < 0.5  # m: the boom is soft


def test_drive_of_a_rigid_boom_by_virtual_work():
    """One freedom: the kinetic energy is m(h) hdot^2 / 2, and the force of the drive m hddot + m' hdot^2 / 2."""
    cells, slider, payload, h0 = 3, 0.5, 5.0, 0.9
    boom = lb.models.scissor_boom(cells, modes=0, payload=payload)
    bar = boom.attachments["A1"].body.mass
    s = boom.build()
    q = s.neutral()
    q[s.layout["slider"].q_joint] = h0
    for name in s.layout:
        if name[0] in "AB":
            q[s.layout[name].q_joint] = {"A1": 1.1, "A": 2.2, "B": -2.2}[
                name if name == "A1" else name[0]
            ]
    path = lb.trajectories.Quintic(h0, 0.6, duration=2.0)
    result = lb.simulate(
        s,
        2.0,
        q0=lb.assemble(s, q, locked=["slider"]),
        motion={"slider": path},
        rtol=1e-10,
        atol=1e-12,
    )
    h, speed, acceleration = path(result.t)
    assert np.allclose(
        result.node("payload").position[:, 0], (cells - 0.5) * np.sqrt(1 - h**2), atol=1e-10
    )

    def mass(h):
        """Crossings are at half the height and (k - 1/2) cells along; the bars turn by d phi = dh / cos phi."""
        along = (np.arange(cells) + 0.5) ** 2 * h[:, None] ** 2 / (1 - h[:, None] ** 2)  # (dx/dh)^2
        bars = 2 * bar * (along + 0.25).sum(axis=1) + 2 * cells * bar / 12 / (1 - h**2)
        return slider + bars + payload * (along[:, -1] + 0.25)

    slope = (mass(h + 1e-5) - mass(h - 1e-5)) / 2e-5
    force = mass(h) * acceleration + slope * speed**2 / 2
    assert np.allclose(result.driving["slider"][:, 0], force, atol=1e-6 * np.abs(force).max())


@pytest.mark.slow
def test_boom_swings_about_the_length_of_a_rigid_one():
    made = example("scissor_boom").run()
    after = made.result.t > 12
    assert abs(np.mean(made.payload[after] - made.rigid[after])) < 0.03
    assert closed(made.result)


# --- two arms and a panel ---------------------------------------------------------------------------


def test_path_of_the_panel_is_one_motion():
    """Its speeds are the rates of its places, and its accelerations those of its speeds."""
    path, h, t = example("carry_panel").path, 1e-5, 6.0
    a = lb.Assembly("panel").attach("box", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Free()).build()
    (before, v_before, _), (q, v, vdot), (after, v_after, _) = (path(t + x) for x in (-h, 0, h))
    rates = (np.array(after) - np.array(before)) / (2 * h)
    assert np.allclose(rates, lb.qdot(a, np.array(q), np.array(v)), atol=1e-9)
    assert np.allclose((np.array(v_after) - np.array(v_before)) / (2 * h), vdot, atol=1e-9)


def carried(duration, held_within, off_path):
    module = example("carry_panel")
    made = module.run(duration)
    assert closed(made.result) and closed(made.plan)
    assert made.result.power_audit().accuracy < 1e-5
    assert np.abs(made.held - made.wanted).max() < held_within * module.SQUEEZE
    assert made.off_path.max() < off_path
    box = made.plan.node("object/box").position
    assert np.allclose(box, module.CARRY(made.plan.t).position[:, :3], atol=1e-12)
    return made


def test_panel_is_carried_and_squeezed_within_a_per_cent():
    carried(1.5, held_within=0.01, off_path=0.003)


@pytest.mark.slow
def test_panel_is_carried_to_the_end_of_its_path():
    made = carried(None, held_within=0.01, off_path=0.015)
    late = made.result.t > 6.0
    assert np.abs(made.held - made.wanted)[late].max() < 0.003 * 20.0


# --- grasp of a tumbling satellite ------------------------------------------------------------------


@pytest.fixture(scope="module")
def grasp():
    return example("grasp_tumbling").run(6.0)


def test_momentum_is_kept_through_the_impulse(grasp):
    before, after = grasp.change.momentum_before, grasp.change.momentum_after
    assert np.abs(after - before).max() < 1e-10 * np.abs(before).max()
    assert grasp.drift.max() < 1e-10


def test_hand_and_handle_have_one_motion_after_the_grasp(grasp):
    result, change = grasp.result, grasp.change
    held = result.t > change.t
    hand, handle = result.node("hand", "palm"), result.node("satellite", "handle")
    distance = np.linalg.norm(hand.position - handle.position, axis=1)
    assert np.abs(distance[held] - 0.01).max() < 1e-8  # where the event closed the hand
    spin = hand.angular_velocity - handle.angular_velocity
    assert np.abs(spin[held]).max() < 1e-10 and np.abs(spin[~held]).max() > 0.1


def test_energy_of_the_grasp_is_accounted_for(grasp):
    audit = grasp.result.power_audit()
    assert audit.accuracy < 1e-9
    assert grasp.change.energy_lost > 0.005
    assert np.isclose(audit.impacts[-1], -grasp.change.energy_lost)


def test_picture_of_the_grasp_is_drawn(grasp):
    """The others are drawn by the tests of the command."""
    assert len(example("grasp_tumbling").figure(grasp).axes) == 4
