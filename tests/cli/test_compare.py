"""`limber compare`."""

from helpers.command import limber


def test_what_is_not_there_is_told(tmp_path):
    wrong = limber("compare", "canadarn", "--out", tmp_path, code=None)
    assert wrong.exit_code != 0 and "Did you mean 'canadarm'" in wrong.output
    wrong = limber("compare", "two-link", "--only", "PD, ZV", "--out", tmp_path, code=None)
    assert wrong.exit_code != 0 and "Did you mean 'PD, ZVD'" in wrong.output
    wrong = limber("compare", "--page", tmp_path / "none.md", "--out", tmp_path, code=None)
    assert wrong.exit_code != 0 and "there is no such file" in wrong.output
