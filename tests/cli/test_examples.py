"""`limber examples`."""

import pytest

from helpers.command import limber
from helpers.files import EXAMPLES

SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py"))


def test_list_has_all_scripts_and_what_they_show():
    said = limber("examples").stdout
    assert SCRIPTS == [
        "carry_panel",
        "four_bar",
        "grasp_tumbling",
        "robust_canadarm",
        "scissor_boom",
    ]
    assert all(name in said for name in SCRIPTS)
    assert "A four-bar linkage with a flexible coupler" in said
    assert "Scripts, models and scenarios are in" in said


def test_unknown_example_is_refused_with_a_suggestion():
    said = limber("examples", "four_ba", code=2)
    assert "there is no example 'four_ba'. Did you mean 'four_bar'?" in said.stderr


def ran(name, folder):
    done = limber("examples", name, "--out", folder)
    for ending in ("png", "html"):
        file = folder / f"{name}.{ending}"
        assert file.stat().st_size > 10_000
        assert f"wrote {file}" in done.stdout
    return done


def test_example_writes_picture_and_report(tmp_path):
    done = ran("four_bar", tmp_path / "new")
    assert "largest stress in mid-coupler: 41.4 MPa" in done.stdout


ELSEWHERE = ("four_bar", "robust_canadarm")  # above, and with few cases in tests/examples


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SCRIPTS if name not in ELSEWHERE])
def test_every_example_runs(name, tmp_path):
    ran(name, tmp_path)
