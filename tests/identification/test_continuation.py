"""Searches that end in a wrong minimum are repeated with a growing part of the data."""

import warnings

import numpy as np
import pytest

import limber as lb
from limber.identification import simulated_experiment

NAMES = ["link.EI", "link.damping_ratio", "tool.mass"]
GAUGE = lb.control.StrainGauge("link", at=0.1, y=0.01, rate=50.0, noise=2e-6)


def boom():
    a = lb.Assembly("boom")
    link = lb.beam(1.0, 2.0, EI=500.0, modes={"y": 1}, damping=0.005)
    a.attach("link", link, lb.Fixed())
    a.attach("tool", lb.RigidBody(0.5), lb.Fixed(), to="link", at="tip")
    return a.build()


@pytest.fixture(scope="module")
def tapped():
    """The boom rings for 18 periods, of which a model that is 14 % off in frequency misses two and a half."""
    force = [[0, 0, 0, 0, 5, 0]] * 2 + [[0] * 6]
    wrench = lb.Table([0.0, 0.1, 0.11], force)
    t = np.linspace(0.0, 3.0, 151)
    return simulated_experiment(boom(), GAUGE, t, external={("tool", None): wrench}, seed=1)


def found(data, **options):
    guess = {"link.EI": 375.0, "link.damping_ratio": 0.008, "tool.mass": 0.6}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return lb.identify(boom().with_parameters(guess), NAMES, data, GAUGE, **options), caught


@pytest.mark.parametrize("noise", [2e-6, None])
def test_models_that_run_out_of_step_are_found_by_a_growing_part_of_the_data(tapped, noise):
    levels = {"strain gauge": noise}
    alone, caught = found(tapped, windows=(1.0,), noise=levels)
    assert abs(alone.values["link.EI"] / 500.0 - 1.0) > 0.1 and caught
    result, caught = found(tapped, noise=levels)
    assert not caught and not result.warnings
    for name, truth in zip(NAMES, (500.0, 0.005, 0.5)):
        assert abs(result.values[name] - truth) < 3.0 * result.standard_errors[name]
    assert result.evaluations > alone.evaluations
    assert np.allclose(result.noise["strain gauge"], 2e-6, rtol=0.2)


def test_a_good_fit_is_not_searched_again(tapped):
    start = dict.fromkeys(NAMES)
    once = lb.identify(boom(), start, tapped, GAUGE, windows=(1.0,))
    again = lb.identify(boom(), start, tapped, GAUGE)
    assert again.evaluations == once.evaluations
    assert again.values == once.values


def test_the_first_part_of_the_data_does_not_move_what_it_does_not_tell():
    """While the joint still turns, stiffness and mass have little effect but together: alone they would run away."""
    a = lb.Assembly("boom")
    link = lb.beam(1.0, 2.0, EI=500.0, modes={"y": 1}, damping=0.005)
    a.attach("link", link, lb.Revolute("z"))
    a.attach("tool", lb.RigidBody(0.5), lb.Fixed(), to="link", at="tip")
    s = a.build()
    gauge = lb.control.StrainGauge("link", at=0.1, y=0.01, rate=100.0, noise=2e-6)
    turn = {"link": lb.trajectories.Cycloid(0.5, 0.3)}
    data = simulated_experiment(s, gauge, np.linspace(0.0, 4.0, 401), motion=turn, seed=1)
    start = s.with_parameters({"link.EI": 375.0, "link.damping_ratio": 0.008, "tool.mass": 0.6})
    names = ["link.EI", "tool.mass", "link.damping_ratio"]
    result = lb.identify(start, names, data, gauge, windows=(0.1, 0.3, 1.0))
    for name in names:
        assert result.values[name] == pytest.approx(s.parameters[name].value, rel=0.02)
