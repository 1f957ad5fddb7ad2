"""Correlated variables."""

import numpy as np
import pytest
from scipy import stats

import limber as lb
from helpers.studies import STUDY, written

NORMAL = {"a": {"normal": [1.0, 0.1]}, "b": {"normal": [5.0, 2.0]}, "c": {"uniform": [0, 1]}}
PAIRS = [("a", "b", 0.8), ("b", "c", -0.3)]


def sampled(method="monte_carlo", samples=4000, vary=NORMAL, correlate=PAIRS):
    study = lb.campaigns.make_study(
        lambda a, b, c: a + b + c, vary=vary, correlate=correlate, samples=samples, method=method, seed=2
    )  # fmt: skip
    return np.array([study.values[name] for name in vary])


def test_correlations_of_normal_variables_are_those_of_their_values():
    a, b, c = sampled()
    assert abs(np.corrcoef(a, b)[0, 1] - 0.8) < 4 * (1 - 0.8**2) / np.sqrt(4000)
    # between a normal and a uniform variable by the copula: r sqrt(3 / pi)
    assert abs(np.corrcoef(b, c)[0, 1] + 0.3 * np.sqrt(3 / np.pi)) < 4 / np.sqrt(4000)
    assert abs(np.corrcoef(a, c)[0, 1]) < 4 / np.sqrt(4000)
    for x, wanted in ((a, stats.norm(1, 0.1)), (b, stats.norm(5, 2)), (c, stats.uniform(0, 1))):
        assert stats.kstest(x, wanted.cdf).pvalue > 0.001


def test_variables_that_are_not_named_keep_their_values():
    a, b, c = sampled(correlate=None)
    after_a, after_b, after_c = sampled(correlate=[("a", "b", 0.5)])
    assert np.array_equal(after_c, c)
    assert np.allclose(after_a, a, rtol=1e-12, atol=0)  # the first one leads
    assert not np.allclose(after_b, b)


def test_a_latin_hypercube_stays_one():
    n = 200
    x = sampled("latin_hypercube", n)
    strata = [np.floor(n * d.cdf(y)) for d, y in zip((stats.norm(1, 0.1), stats.norm(5, 2)), x)]
    for each in (*strata, np.floor(n * x[2])):
        assert sorted(each) == list(range(n))
    scores = stats.norm.ppf((stats.rankdata(x, axis=1) - 0.5) / n)
    assert np.allclose(np.corrcoef(scores), [[1, 0.8, 0], [0.8, 1, -0.3], [0, -0.3, 1]], atol=0.03)


@pytest.mark.parametrize("method", ["sobol", "halton"])
def test_low_discrepancy_samples_can_be_correlated(method):
    a, b, _ = sampled(method, 1024)
    assert abs(np.corrcoef(a, b)[0, 1] - 0.8) < 0.02


def test_a_study_file_takes_correlations(tmp_path):
    study = STUDY.replace("sample:", "correlate:\n  - [load, link.EI, 0.9]\nsample:")
    done = lb.campaigns.load_study(written(tmp_path, study), samples=500)
    assert stats.spearmanr(done.values["load"], done.values["link.EI"]).statistic > 0.8
    assert done.record["correlate"] == [["load", "link.EI", 0.9]]
    assert "correlate" not in lb.campaigns.load_study(written(tmp_path)).record
    wrong = STUDY.replace("sample:", "correlate:\n  - [load, link.E, 0.9]\nsample:")
    with pytest.raises(lb.FileError, match=r"correlate: 'link.E' is not among.*Did you mean 'link.EI'") as caught:  # fmt: skip
        lb.campaigns.load_study(written(tmp_path, wrong))
    assert caught.value.key == "correlate"
    twice = STUDY.replace(
        "sample:", "correlate: [[load, link.EI, 0.9], [link.EI, load, 0.5]]\nsample:"
    )
    with pytest.raises(
        lb.FileError, match=r"correlate: 'link.EI' and 'load' are named twice"
    ) as caught:
        lb.campaigns.load_study(written(tmp_path, twice))
    assert caught.value.key == "correlate"


@pytest.mark.parametrize(
    "correlate, more, words",
    [
        ([("a", "d", 0.5)], {}, "'d' is not among the variables"),
        ([("a", "a", 0.5)], {}, "with itself"),
        ([("a", "b", 1.0)], {}, "between -1 and 1"),
        ([("a", "b", "much")], {}, "must be a number"),
        ([("a", "b", 0.5), ("b", "a", 0.4)], {}, "twice"),
        ([("a", "b")], {}, "variable, variable, coefficient"),
        ({("a", "b"): 0.5}, {}, "must be a list"),
        ([("a", "b", 0.9), ("b", "c", 0.9), ("a", "c", -0.9)], {}, "not positive definite"),
        ([("a", "b", 0.5)], {"vary": NORMAL | {"b": [1, 2]}}, "'b' has single values"),
        ([("a", "b", 0.5)], {"method": "saltelli", "samples": 8}, "independent variables"),
    ],
)
def test_correlations_that_cannot_be_are_refused(correlate, more, words):
    with pytest.raises(lb.LimberError, match=words):
        sampled(correlate=correlate, **more)
