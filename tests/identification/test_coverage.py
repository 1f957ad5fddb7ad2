"""Bounds of identified parameters have the true values in them as often as they say."""

import numpy as np
import pytest

import limber as lb
from limber.identification import simulated_experiment

TRIALS = 200
#: Of 200 trials, bounds of 95 % have the truth in them 190 times on average; these are 2.9 standard deviations from that.
FEWEST, MOST = 181, 197


def arm() -> lb.System:
    a = lb.Assembly("arm", gravity=(0, 0, -9.81))
    link = lb.beam(2.0, 3.0, EI=2e3, modes={"z": 2}, damping=0.01)
    a.attach("link", link, lb.Revolute("y", damping=0.2))
    a.attach("tool", lb.RigidBody(1.0, inertia=0.02 * np.eye(3)), lb.Fixed(), to="link", at="tip")
    return a.build()


TRUE = {"link.EI": 2e3, "link.damping_ratio": 0.01, "tool.mass": 1.0}
START = {"link.EI": 1.7e3, "link.damping_ratio": 0.015, "tool.mass": 1.2}
SENSORS = [
    lb.control.Encoder(rate=100.0, noise=1e-3),
    lb.control.StrainGauge("link", at=0.2, z=0.02, rate=100.0, noise=1e-5),
]


def trial(seed: int) -> lb.identification.Identified:
    s = arm()
    t = np.linspace(0.0, 1.2, 121)
    pulse = [0.0, 0.199, 0.2, 0.399, 0.4, 0.599, 0.6]
    torque = -50.0 + 25.0 * np.array([1, 1, -1, -1, 1, 1, 0])
    table = lb.Table(pulse, torque[:, None])
    data = simulated_experiment(s, SENSORS, t, seed=seed, torque=table, settled=True)
    return lb.identify(s.with_parameters(START), list(START), data, SENSORS)


def within(found: lb.identification.Identified) -> list[bool]:
    return [low <= TRUE[name] <= high for name, (low, high) in found.bounds.items()]


def test_parameters_are_found_within_four_standard_errors():
    for seed in range(2):
        found = trial(seed)
        for name, value in found.values.items():
            assert abs(value - TRUE[name]) < 4.0 * found.standard_errors[name]
        assert found.identifiable
        assert found.estimated_noise == ()


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.filterwarnings("ignore::limber.errors.ModelWarning")
def test_bounds_of_95_percent_cover_the_truth():
    found = [trial(seed) for seed in range(TRIALS)]
    inside = np.sum([within(one) for one in found], axis=0)
    doubted = sum(bool(one.warnings) for one in found)
    counts = dict(zip(TRUE, inside.tolist()))
    print(f"of {TRIALS} trials, the truth was within the bounds: {counts}; {doubted} were doubted")
    assert (inside >= FEWEST).all() and (inside <= MOST).all(), counts
    # each test of the residuals has a false alarm in some thousands
    assert doubted <= 2
