"""Requirements on quantities, and how often they are met."""

import json

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

import limber as lb
from helpers.studies import STUDY, written
from limber.campaigns.requirements import interval
from limber.cli import app


@pytest.mark.parametrize("met, cases", [(0, 10), (10, 10), (3, 10), (960, 1000)])
def test_intervals_are_those_of_clopper_and_pearson(met, cases):
    wanted = stats.binomtest(met, cases).proportion_ci(0.95, "exact")
    assert interval(met, cases) == pytest.approx((wanted.low, wanted.high), abs=1e-9)


def case(x):
    if x > 0.9:
        raise ValueError("too much")
    return {"y": np.nan if x > 0.8 else x, "z": [x, x]}


def test_failed_cases_and_unknown_numbers_do_not_meet_a_requirement():
    done = lb.campaign(case, vary={"x": {"uniform": [0, 1]}}, samples=200, seed=1, processes=1)
    x = done.values["x"]
    found = done.requirement("y", below=0.5)
    assert (found.met, found.cases) == ((x < 0.5).sum(), 200)
    assert (found.low, found.high) == interval(found.met, 200)
    assert done.requirement("y", above=0.5).met == ((x > 0.5) & (x <= 0.8)).sum()
    both = done.requirement("y", above=0.2, below=0.5)
    assert both.met == ((x > 0.2) & (x < 0.5)).sum()
    assert str(both).startswith(f"y between 0.2 and 0.5: met in {both.met} of 200 cases")
    for given, words in (
        ({}, "needs below"),
        ({"below": 1, "above": 2}, "must be less than"),
        ({"below": "x"}, "below must be"),
    ):
        with pytest.raises(lb.LimberError, match=words):
            done.requirement("y", **given)
    with pytest.raises(lb.LimberError, match="not a quantity with one number"):
        done.requirement("z", below=1)


def test_infinite_quantities_lie_beyond_every_limit():
    done = lb.campaign(
        lambda x: x, vary={"x": [-np.inf, 1.0, np.inf]}, method="listed", processes=1
    )
    assert done.requirement("value", above=0.0).met == 2
    assert done.requirement("value", below=2.0).met == 2
    assert done.requirement("value", above=0.0, below=2.0).met == 1


def test_results_say_that_requirements_on_several_numbers_are_not_evaluated():
    a = lb.Assembly("a")
    a.attach("b", lb.RigidBody(1.0, inertia=np.eye(3)), lb.Universal("x", "y"))
    vary = {"b.mass": {"uniform": [1, 2]}}
    keep = {"q": {"final": {"joint": "b"}, "below": 1.0}, "p": {"final": {"joint": "b"}}}
    done = lb.campaign(a.build(), 0.1, vary=vary, samples=2, keep=keep, processes=1)
    assert not done.requirements
    told = ["requirement is not evaluated: select one number" in x for x in done.remarks]
    assert told == [True, False]


def test_cases_that_are_not_drawn_have_no_interval():
    done = lb.campaign(lambda x: x, vary={"x": [1, 2, 3]}, method="grid", processes=1)
    found = done.requirement("value", below=2.5)
    assert (found.fraction, str(found)) == (2 / 3, "value < 2.5: met in 2 of 3 cases")
    assert np.isnan(found.low) and np.isnan(found.high)


LIMITED = STUDY.replace("{deflection: [link, tip]}}", "{deflection: [link, tip]}, below: 0.0057}")


def test_requirements_of_a_study_are_in_all_of_its_tables(tmp_path):
    study = written(tmp_path, LIMITED)
    done = lb.campaign(study, processes=1)
    found = done.requirements["swing"]
    assert found == done.requirement("swing", below=0.0057)
    assert 0 < found.met < found.cases == 12
    assert str(found) in str(done)
    page = done.report(tmp_path / "page.html").read_text()
    assert "<h2>Requirements</h2>" in page and f"{found.met} of 12" in page
    out = CliRunner().invoke(app, ["campaign", str(study), "--out", str(tmp_path), "--json"])
    told = json.loads(out.stdout)["requirements"]["swing"]
    assert (told["met"], told["below"], told["above"]) == (found.met, 0.0057, None)
    out = CliRunner().invoke(app, ["campaign", str(study), "--out", str(tmp_path)])
    assert "Requirements" in out.stdout and "< 0.0057" in out.stdout


def test_limits_may_change_without_new_runs(tmp_path):
    before = lb.campaign(written(tmp_path, LIMITED), store=tmp_path / "s.zarr", processes=1)
    changed = written(tmp_path, LIMITED.replace("0.0057", "1.0"))
    after = lb.campaign(changed, store=tmp_path / "s.zarr", processes=1)
    assert np.array_equal(before.quantities["swing"], after.quantities["swing"])
    assert after.requirements["swing"].met == 12


def test_a_lower_limit_makes_the_smallest_number_the_worst(tmp_path):
    study = STUDY.replace("{joint: link}}", "{joint: link}, above: 0.1}")
    done = lb.campaign(written(tmp_path, study), processes=1)
    assert done.worst("angle", 1) == [done.quantities["angle"].argmin()]
    wrong = STUDY.replace("{joint: link}}", "{joint: link}, above: 2, below: 1}")
    with pytest.raises(lb.FileError, match="above must be less than below"):
        lb.campaigns.load_study(written(tmp_path, wrong))


def test_a_sensitivity_without_numbers_has_no_panel(tmp_path):
    study = STUDY.replace(
        "{joint: link}}", "{joint: link}}\n  never: {settle: {joint: link}, within: 0.1, target: 9}"
    )
    done = lb.campaign(written(tmp_path, study), processes=1)
    page = done.report(tmp_path / "page.html").read_text()
    assert "sensitivity of angle" in page
    assert "sensitivity of never" not in page
