"""`limber campaign`."""

import pytest

import limber as lb
from helpers.command import limber, limber_json
from helpers.studies import STUDY, written

pytest.importorskip("zarr", reason="stores of campaigns need zarr, the extra `campaign`")


def test_a_campaign_tells_what_is_worst_and_how_to_repeat_it(tmp_path):
    path = written(tmp_path)
    found = limber_json("campaign", path, "--out", tmp_path / "out", "--samples", 8)
    assert found["status"] == {"finished": 8} and (tmp_path / "out" / "study.html").exists()
    worst = found["worst"]["swing"][0]
    assert worst["value"] == found["statistics"]["swing"]["max"]
    assert worst["command"] == f"limber campaign {path} --samples 8 --case {worst['case']}"
    again = limber_json(*worst["command"].split()[1:])
    assert again["quantities"]["swing"] == worst["value"] and again["seed"] == worst["seed"]
    assert again["variables"] == worst["variables"]
    told = limber("campaign", path, "--out", tmp_path / "out", "--samples", 8).output
    assert "8 cases, 8 finished" in told and "--case" in told and "Rank correlations" in told


def test_one_case_has_a_page_of_its_motion(tmp_path):
    page = tmp_path / "case.html"
    told = limber("campaign", written(tmp_path), "--case", 2, "--report", page).output
    assert page.exists() and "Case 2 of loads" in told and not (tmp_path / "out").exists()


def test_a_study_that_was_changed_is_refused_until_it_starts_anew(tmp_path):
    path, out = written(tmp_path), tmp_path / "out"
    limber("campaign", path, "--out", out)
    path.write_text(path.read_text().replace("seed: 3", "seed: 4"))
    assert "another study" in limber("campaign", path, "--out", out, code=2).output
    limber("campaign", path, "--out", out, "--restart")


def test_what_is_wrong_is_told(tmp_path):
    path = written(tmp_path, STUDY.replace("link.EI", "link.IE"))
    told = limber("campaign", path, code=3).output
    assert f"{path}:7:3: vary.'link.IE'" in told and "Did you mean 'link.EI'" in told
    path = written(tmp_path)
    assert "from 0 to 11" in limber("campaign", path, "--case", 12, code=2).output
    assert "--case" in limber("campaign", path, "--report", "x.html", code=2).output
    assert "one of the two" in limber("campaign", path, "--dask", "--scheduler", "x", code=2).output
    assert "limber campaign" in limber("simulate", path, code=3).output


def test_all_cases_failing_is_an_error(tmp_path):
    path = written(
        tmp_path,
        STUDY.replace("link.EI: {normal: [200, 20], within: [150, 250]}", "link.mass: [-1]"),
    )
    told = limber("campaign", path, "--out", tmp_path / "out", code=4).output
    assert "all cases failed" in told and "12 cases failed" in told


def test_the_schema_of_studies_is_there():
    assert "vary" in limber_json("schema", "study")["properties"]


def test_the_example_is_a_study():
    from limber.cli.examples import folder

    study = lb.campaigns.load_study(folder() / "canadarm_campaign.yaml")
    assert len(study) == 200 and study.runs.batched
