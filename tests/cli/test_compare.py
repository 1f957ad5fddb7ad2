"""`limber compare`."""

from helpers.command import limber
from helpers.turned_wheel import turned_wheel
from limber import comparison


def test_what_is_not_there_is_told(tmp_path):
    wrong = limber("compare", "canadarn", "--out", tmp_path, code=None)
    assert wrong.exit_code != 0 and "Did you mean 'canadarm'" in wrong.output
    wrong = limber("compare", "two-link", "--only", "PD, ZVDD", "--out", tmp_path, code=None)
    assert wrong.exit_code != 0 and "Did you mean 'PD, ZVD'" in wrong.output
    wrong = limber("compare", "--page", tmp_path / "none.md", "--out", tmp_path, code=None)
    assert wrong.exit_code != 0 and "there is no such file" in wrong.output


def test_a_plant_is_compared_and_its_settings_are_tried(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "plants", lambda: {"wheel": turned_wheel})
    page = tmp_path / "page.md"
    page.write_text("<!-- table of wheel -->\n<!-- end of wheel -->\n")
    done = limber("compare", "--out", tmp_path, "--page", page)
    assert "PD" in done.stdout and (tmp_path / "compare_wheel.png").is_file()
    assert page.read_text().count("| PD |") == 1
    tried = limber("compare", "wheel", "--tune", "--out", tmp_path).stdout
    assert tried.index("kp 2") < tried.index("kp 0.3") and "kp -1" in tried
