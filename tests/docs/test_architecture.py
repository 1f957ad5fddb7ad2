"""docs/dev/architecture.md names files that exist, and the layers that the linter holds."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "dev" / "architecture.md").read_text(encoding="utf-8")


def test_every_path_named_in_the_architecture_exists():
    paths = re.findall(r"`((?:src/limber|tests)/[^`]*)`", TEXT)
    assert len(paths) > 50
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_every_link_of_the_architecture_leads_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / "docs" / "dev" / link).exists(), link


def test_the_picture_shows_the_layers_that_the_linter_holds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = project["tool"]["importlinter"]["contracts"]
    picture = re.search(r"^```\n(__main__.*?)^```", TEXT, re.DOTALL | re.MULTILINE)[1]
    drawn = [re.split(r" {3,}", line.rstrip())[0] for line in picture.splitlines()]
    assert drawn == contract["layers"]
