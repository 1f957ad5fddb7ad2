"""Distributions and samples."""

import numpy as np
import pytest
from scipy import stats

from limber.campaigns.distributions import distribution
from limber.campaigns.sampling import case_seed, drawn, saltelli, sample_of
from limber.errors import LimberError

U = np.linspace(0.01, 0.99, 25)


@pytest.mark.parametrize(
    "given, expected",
    [
        ({"uniform": [2, 5]}, stats.uniform(2, 3)),
        ({"uniform": {"low": 2, "high": 5}}, stats.uniform(2, 3)),
        ({"loguniform": [1, 100]}, stats.loguniform(1, 100)),
        ({"normal": [1, 0.2]}, stats.norm(1, 0.2)),
        ({"lognormal": [3, 0.5]}, stats.lognorm(0.5, scale=3)),
        ({"triangular": [0, 1, 4]}, stats.triang(0.25, 0, 4)),
        ({"beta": [2, 3, -1, 1]}, stats.beta(2, 3, -1, 2)),
        ({"exponential": 2.0}, stats.expon(scale=2)),
        (stats.weibull_min(1.5), stats.weibull_min(1.5)),
        ({"normal": [0, 1], "within": [-1, 2]}, stats.truncnorm(-1, 2)),
        ({"normal": [0, 1], "within": [8, 20]}, stats.truncnorm(8, 20)),
        ({"normal": [0, 1], "within": [-20, -8]}, stats.truncnorm(-20, -8)),
        ({"exponential": 1.0, "within": [50, 90]}, stats.truncexpon(40, loc=50)),
    ],
)
def test_distributions_are_those_of_scipy(given, expected):
    assert np.allclose(distribution("x", given).at(U), expected.ppf(U), rtol=1e-9)


def test_choices_come_as_often_as_their_weights_say():
    evenly = (np.arange(1000) + 0.5) / 1000
    found = distribution("x", {"choice": ["a", "b"], "weights": [3, 1]}).at(evenly)
    assert found.count("a") == 750 and found.count("b") == 250
    assert distribution("x", [1, 2]).at(np.array([0.1, 0.9])) == [1, 2]
    assert distribution("x", {"steps": [0, 1, 5]}).values == (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.mark.parametrize(
    "given, words",
    [
        ({"unifrom": [0, 1]}, "Did you mean 'uniform'"),
        ({"uniform": [1, 0]}, "low must be less than high"),
        ({"uniform": [0]}, r"must be \[low, high\]"),
        ({"uniform": [0, np.inf]}, "finite"),
        ({"uniform": [0, 1], "normal": [0, 1]}, "needs one of"),
        ({"uniform": [0, 1], "within": [2, 3]}, "does not overlap"),
        ({"normal": [0, -1]}, "deviation must be greater"),
        ({"choice": []}, "list of values"),
        ({"choice": [1, 2], "weights": [1]}, "weights"),
        ({"steps": [0, 1, 1]}, "at least 2"),
        (3.0, "must be a distribution"),
        (stats.norm(np.array([1.0, 2.0]), 1.0), "of one finite number"),
        (stats.norm(0.0, -1.0), "of one finite number"),
    ],
)
def test_distributions_that_cannot_be_are_refused(given, words):
    with pytest.raises(LimberError, match=words) as told:
        distribution("EI", given)
    assert "vary['EI']" in str(told.value)


def test_a_latin_hypercube_has_one_case_in_every_stratum():
    values = drawn(
        sample_of("latin_hypercube", 20), {"x": distribution("x", {"uniform": [0, 20]})}, 1
    )
    assert sorted(int(x) for x in values["x"]) == list(range(20))


def test_a_sobol_sample_is_balanced():
    x = {name: distribution(name, {"uniform": [0, 2]}) for name in "ab"}
    values = drawn(sample_of("sobol", 64), x, 0)
    assert sum(a < 1 and b < 1 for a, b in zip(values["a"], values["b"])) == 16


def test_saltelli_replaces_one_column_at_a_time():
    points = np.random.default_rng(0).random((4, 6))
    A, B, *mixed = saltelli(points).reshape(5, 4, 3)
    for i, block in enumerate(mixed):
        others = [k for k in range(3) if k != i]
        assert (block[:, i] == B[:, i]).all() and (block[:, others] == A[:, others]).all()


def test_a_grid_has_all_combinations_and_a_list_goes_side_by_side():
    x = {"a": distribution("a", [1, 2]), "b": distribution("b", [5, 6])}
    assert drawn(sample_of("grid", None), x, 0) == {"a": [1, 1, 2, 2], "b": [5, 6, 5, 6]}
    assert drawn(sample_of("listed", None), x, 0) == {"a": [1, 2], "b": [5, 6]}
    with pytest.raises(LimberError, match="the same number of listed values"):
        drawn(sample_of("listed", None), {**x, "c": distribution("c", [1])}, 0)
    with pytest.raises(LimberError, match="needs values"):
        drawn(sample_of("grid", None), {"u": distribution("u", {"uniform": [0, 1]})}, 0)


@pytest.mark.parametrize(
    "method, count, words",
    [
        ("sobol", 100, "give 64 or 128"),
        ("montecarlo", 10, "Did you mean 'monte_carlo'"),
        ("monte_carlo", None, "needs samples"),
        ("grid", 4, "leave samples out"),
    ],
)
def test_samples_that_cannot_be_are_refused(method, count, words):
    with pytest.raises(LimberError, match=words):
        sample_of(method, count)


def test_the_seed_of_a_case_depends_on_its_number_and_the_campaign_alone():
    seeds = [case_seed(7, case) for case in range(2000)]
    assert len(set(seeds)) == 2000 and max(seeds) < 2**53
    assert case_seed(7, 1234) == seeds[1234] != case_seed(8, 1234)


def test_random_cases_stay_when_more_are_asked_for():
    x = {name: distribution(name, {"normal": [0, 1]}) for name in "ab"}
    few, many = (drawn(sample_of("monte_carlo", n), x, 5) for n in (10, 30))
    assert few["b"] == many["b"][:10]


def test_values_that_are_not_finite_are_refused():
    wide = {"x": distribution("x", {"uniform": [-1e308, 1e308]})}
    words = r"vary\['x'\].*not finite"
    with np.errstate(all="ignore"), pytest.raises(LimberError, match=words):
        drawn(sample_of("monte_carlo", 3), wide, 0)


def test_distributions_without_arguments_are_told_apart():
    first, second = (
        distribution("x", stats.rv_histogram(np.histogram(x, bins=3)).freeze())
        for x in ([0.0, 1.0, 3.0], [0.0, 2.0, 3.0])
    )
    assert first.record != second.record
