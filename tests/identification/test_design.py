"""Expected errors, placement of sensors, excitation, and fits of transfer functions."""

from itertools import combinations

import numpy as np
import pytest

import limber as lb
from limber.identification import (
    Experiment,
    FourierPath,
    excitation,
    expected,
    fit_frequency_response,
    place_sensors,
    simulated_experiment,
)

T = np.linspace(0.0, 0.6, 31)
PULSE = lb.Table([0.0, 0.1, 0.101, 0.2, 0.201], [[4.0], [4.0], [-4.0], [-4.0], [0.0]])
NAMES = ["link.EI", "link.damping_ratio", "tool.mass"]


@pytest.fixture(scope="module")
def arm() -> lb.System:
    a = lb.Assembly("arm")
    a.attach("link", lb.beam(1.0, 1.0, EI=50.0, modes={"y": 1}, damping=0.02), lb.Revolute("z", damping=0.1))  # fmt: skip
    a.attach("tool", lb.RigidBody(0.5, inertia=0.01 * np.eye(3)), lb.Fixed(), "link", "tip")
    return a.build()


def gauges() -> list:
    return [
        lb.control.StrainGauge("link", at=x, y=0.01, rate=50.0, noise=1e-5, name=f"gauge at {x}")
        for x in (0.1, 0.5, 0.9)
    ]


def sensors() -> list:
    return [
        lb.control.Encoder(rate=50.0, noise=1e-3),
        lb.control.Gyro("tool", rate=50.0, noise=1e-2),
        *gauges(),
    ]


PLAN = Experiment(T, {}, torque=PULSE)


def test_expected_errors_are_those_of_identify(arm):
    read = [sensors()[0], gauges()[0]]
    data = simulated_experiment(arm, read, T, seed=0, torque=PULSE)
    found = lb.identify(arm, NAMES, data, read)
    told = expected(arm, NAMES, PLAN, read)
    for name in NAMES:
        assert told.standard_errors[name] == pytest.approx(found.standard_errors[name], rel=0.2)
    assert np.allclose(np.linalg.inv(told.information).diagonal() ** 0.5, list(told.standard_errors.values()))  # fmt: skip
    assert "std. error" in str(told) and "known to" in str(told)


def test_placement_is_the_best_of_all_choices(arm):
    candidates = sensors()
    found = place_sensors(arm, NAMES, PLAN, candidates, 2)

    def score(chosen) -> float:
        return float(np.linalg.slogdet(expected(arm, NAMES, PLAN, list(chosen)).information)[1])

    best = max(combinations(candidates, 2), key=score)
    assert set(found.chosen) == {one.name for one in best}
    for name in NAMES:
        assert found.expected.standard_errors[name] >= found.all.standard_errors[name]
    assert "with all" in str(found)


def test_placement_counts_fixed_sensors_and_other_criteria(arm):
    found = place_sensors(arm, NAMES, PLAN, gauges(), 1, fixed=sensors()[0], criterion="A")
    assert len(found.chosen) == 1 and found.chosen[0].startswith("gauge")
    with pytest.raises(ValueError, match="count is 4, but there are 3 candidates"):
        place_sensors(arm, NAMES, PLAN, gauges(), 4)
    with pytest.raises(ValueError, match='criterion must be "D" or "A"'):
        place_sensors(arm, NAMES, PLAN, gauges(), 1, criterion="E")
    silent = lb.control.Encoder(rate=50.0)
    with pytest.raises(ValueError, match="the noise of 'encoder' must be known"):
        place_sensors(arm, NAMES, PLAN, [silent], 1)


def test_fourier_paths_start_and_end_as_their_series():
    path = FourierPath(0.3, [0.1, -0.05], [0.02, -0.005], 2.0)
    for t in (0.0, 0.37, 1.1, 1.9):
        w = np.pi * np.array([1.0, 2.0])
        position = 0.3 + np.sin(w * t) @ [0.1, -0.05] + (1 - np.cos(w * t)) @ [0.02, -0.005]
        speed = (w * np.cos(w * t)) @ [0.1, -0.05] + (w * np.sin(w * t)) @ [0.02, -0.005]
        found = path(t)
        assert found.position == pytest.approx(position, abs=1e-9)
        assert found.velocity == pytest.approx(speed, abs=1e-7)
    assert path.end == pytest.approx(path.start)


def test_excitation_tells_more_within_its_limits(arm):
    limits = {"position": 0.4, "speed": 3.0, "acceleration": 40.0, "torque": 8.0}
    found = excitation(arm, NAMES, gauges()[:1], "link", duration=0.6, rate=50.0, limits=limits, harmonics=3, iterations=4)  # fmt: skip
    assert found.scores[-1] > found.scores[0] + 1.0
    for what, limit in limits.items():
        assert found.largest["link"][what] <= limit * (1.0 + 1e-3)
    told = found.expected.standard_errors
    assert np.prod(list(told.values())) < np.prod(list(found.first.standard_errors.values()))
    # the experiment that it made serves for identification
    data = simulated_experiment(arm, gauges()[:1], T, seed=1, motion=found.motion, settled=True)
    done = lb.identify(arm.with_parameters({"link.EI": 45.0}), NAMES, data, gauges()[:1])
    assert done.standard_errors["link.EI"] == pytest.approx(told["link.EI"], rel=0.2)
    with pytest.raises(TypeError, match="limits must have at least one of"):
        excitation(arm, NAMES, gauges()[:1], "link", duration=0.6, rate=50.0, limits={})


@pytest.mark.parametrize("tight", ["position", "speed", "acceleration", "torque"])
def test_limits_of_excitation_hold_between_readings(arm, tight):
    limits = {"position": 9.0, "speed": 90.0, "acceleration": 900.0, "torque": 90.0}
    limits |= {tight: {"position": 0.4, "speed": 2.0, "acceleration": 20.0, "torque": 4.0}[tight]}
    found = excitation(arm, NAMES, gauges()[:1], "link", duration=0.6, rate=15.0, limits=limits, harmonics=4, iterations=2)  # fmt: skip
    t = np.linspace(0.0, 0.6, 3001)
    moved = lb.simulate(arm, 0.6, motion=found.motion, t_eval=t)
    along = {
        "position": moved.joint("link"),
        "speed": moved.joint_speed("link"),
        "acceleration": moved.vdot[:, arm.layout["link"].v_joint],
        "torque": moved.tau[:, arm.layout["link"].v_joint],
    }
    for what, limit in limits.items():
        largest = np.abs(along[what]).max()
        assert largest <= limit * (1.0 + 1e-3)
        assert found.largest["link"][what] == pytest.approx(largest, rel=1e-2)


INPUTS, OUTPUTS = (
    ["link"],
    [("strain", "link", 0.1, 0.01, 0.0), ("acceleration", "tool", None, "y")],
)


def response(s: lb.System, omega) -> np.ndarray:
    return lb.linearize(s, inputs=INPUTS, outputs=OUTPUTS).response(omega)


def test_transfer_functions_give_parameters(arm):
    omega = np.geomspace(3.0, 200.0, 40)
    H = response(arm, omega)
    rng = np.random.default_rng(2)
    coherence = np.clip(0.9 + 0.09 * rng.random(H.shape), 0.0, 1.0)
    deviation = np.abs(H) * np.sqrt((1.0 - coherence) / (2.0 * 16 * coherence))
    noisy = H + deviation * (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape))
    start = arm.with_parameters({"link.EI": 40.0, "tool.mass": 0.6, "link.damping_ratio": 0.03})
    found = fit_frequency_response(start, NAMES, omega, noisy, INPUTS, OUTPUTS, coherence=coherence, averages=16)  # fmt: skip
    truth = {"link.EI": 50.0, "link.damping_ratio": 0.02, "tool.mass": 0.5}
    for name, value in truth.items():
        assert abs(found.values[name] - value) < 4.0 * found.standard_errors[name]
    assert found.identifiable
    assert len(found.residuals) == 4 and found.residuals[0].axis == "frequency (rad/s)"


def test_noise_of_transfer_functions_does_not_bias_the_result(arm):
    """Weights by the measured magnitudes would favour what is measured too small, by more than a standard error here."""
    omega = np.geomspace(3.0, 200.0, 40)
    H = response(arm, omega)
    coherence = np.full(H.shape, 0.5)
    deviation = np.abs(H) * np.sqrt((1.0 - coherence) / (2.0 * 16 * coherence))
    truth = {"link.EI": 50.0, "link.damping_ratio": 0.02, "tool.mass": 0.5}
    errors = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        noisy = H + deviation * (rng.standard_normal(H.shape) + 1j * rng.standard_normal(H.shape))
        found = fit_frequency_response(arm, NAMES, omega, noisy, INPUTS, OUTPUTS, coherence=coherence, averages=16)  # fmt: skip
        errors.append([(found.values[n] - x) / found.standard_errors[n] for n, x in truth.items()])
    assert np.abs(np.mean(errors, axis=0)).max() < 3.0 / np.sqrt(len(errors))


def test_transfer_functions_refused(arm):
    omega = np.array([1.0, 2.0])
    with pytest.raises(ValueError, match=r"response must have shape \(2, 2, 1\)"):
        fit_frequency_response(arm, NAMES, omega, np.ones(3), INPUTS, OUTPUTS)
    with pytest.raises(ValueError, match="response is infinite at 2 rad/s"):
        fit_frequency_response(arm, NAMES, omega, np.array([1.0, np.inf]).reshape(2, 1, 1) * np.ones((2, 2, 1)), INPUTS, OUTPUTS)  # fmt: skip
    with pytest.raises(ValueError, match="response is zero at 2 rad/s"):
        fit_frequency_response(arm, NAMES, omega, [[[1.0], [1.0]], [[1.0], [0.0]]], INPUTS, OUTPUTS)
    with pytest.raises(TypeError, match="give coherence or noise, not both"):
        fit_frequency_response(arm, NAMES, omega, np.ones((2, 2, 1)), INPUTS, OUTPUTS, coherence=np.ones((2, 2, 1)), noise=0.1)  # fmt: skip
