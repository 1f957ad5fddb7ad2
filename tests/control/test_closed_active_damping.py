"""Active damping of closed systems: chosen poles move where they were asked to, others stay, and simulations agree."""

import numpy as np
import pytest

import limber as lb
from helpers.mechanisms import five_bar, floating_five_bar
from helpers.sampled_map import sampled_map
from limber.control import PD, ActiveDamping, Loop, margins

pytestmark = pytest.mark.filterwarnings("ignore:the closures of")
T = 0.001
MOTORS = ["left upper", "right upper"]
GAINS = {"kp": [3000.0, 2500.0], "kd": [60.0, 50.0], "sample_time": T, "bodies": MOTORS}


def held(gravity):
    """A flexible five-bar mechanism in equilibrium, its linear model there, and the reference of its motors."""
    s, q = five_bar(True)
    if not gravity:
        s = s.with_parameters({"gravity": np.zeros(3)})
    q = lb.equilibrium(s, q, locked=MOTORS)
    tau = lb.inverse_dynamics(s, q, np.zeros(s.nv), np.zeros(s.nv), actuated=MOTORS)
    at = [s.layout[body].q_joint.start for body in MOTORS]
    return s, q, lb.linearize(s, q, np.zeros(s.nv), tau, MOTORS), q[at]


def vibrations(poles):
    """Frequencies and damping ratios, in order."""
    found = poles[poles.imag > 0.0]
    found = found[np.argsort(np.abs(found))]
    return np.abs(found), -found.real / np.abs(found)


def left(s, q, start, controller):
    """The fraction of a deviation of the modes that is left after a tenth of a second."""
    r = lb.simulate(s, 0.14, q0=start, torque=controller, every=0.002)
    where = np.concatenate([np.arange(s.nq)[x.q_modes] for x in s.layout.values()])
    off = np.abs(r.q[:, where] - q[where]).max(axis=1)
    return off[45:].max() / off[0]


def test_modal_damping_moves_the_chosen_poles_and_no_others():
    s, q, plant, reference = held(False)
    places = [s.layout[body].v_joint.start for body in MOTORS]
    K = np.zeros((2, 2 * s.nv))
    K[[0, 1], places], K[[0, 1], np.add(places, s.nv)] = GAINS["kp"], GAINS["kd"]
    before = vibrations(np.linalg.eigvals(plant.A - plant.B @ K @ plant.T))
    c = ActiveDamping(**GAINS, damping=0.3, modes=1, about=q, reference=reference)
    Loop(s, c)
    after = vibrations(c.poles)
    weak = np.flatnonzero(before[1] < 0.3)[:1]
    assert len(weak) and np.allclose(after[0], before[0], rtol=1e-6)
    assert after[1][weak] == pytest.approx(0.3, abs=1e-6)
    assert np.allclose(np.delete(after[1], weak), np.delete(before[1], weak), atol=1e-6)


@pytest.mark.parametrize("gravity", [False, True])
def test_poles_are_those_of_the_motion_from_sample_to_sample(gravity):
    s, q, plant, reference = held(gravity)
    c = ActiveDamping(**GAINS, damping=0.3, about=q, reference=reference, gravity=gravity)
    Loop(s, c)
    expected = np.sort_complex(margins(plant, c).poles)
    found = np.sort_complex(np.linalg.eigvals(sampled_map(s, q, c, T)))
    # gravity=True compensates the weight of straight links, so that these settle a little away from q
    assert np.allclose(found, expected, atol=1e-4 if gravity else 2e-6)


@pytest.mark.parametrize("law", ["modal", "ppf"])
def test_vibrations_decay_faster_than_under_pd(law):
    s, q, plant, reference = held(False)
    c = ActiveDamping(**GAINS, damping=0.3, law=law, about=q, reference=reference)
    bend = np.zeros(s.nv)
    bend[s.layout["left fore"].v_modes.start] = 1e-3
    start = lb.project(s, lb.integrate(s, q, bend, 1.0))
    assert left(s, q, start, c) < 0.5 * left(s, q, start, PD(**GAINS, reference=reference))
    assert margins(plant, c).stable


def test_what_cannot_be_damped_is_refused():
    s, q = floating_five_bar()
    with pytest.raises(lb.LimberError, match="involve only joints with quaternions"):
        Loop(s, ActiveDamping(**GAINS, about=q))
    s, q, _, _ = held(False)
    with pytest.raises(lb.LimberError, match="bodies, joints, modes and closures of 'five-bar'"):
        Loop(s, ActiveDamping(**GAINS, about=q, system=s.closed_by([])))
