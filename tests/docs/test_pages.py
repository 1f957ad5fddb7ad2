"""The README and the guide pages run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
#: What pages need besides the extra `test`, or what is large there.
NEEDS = {"viewing.md": "viser"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_blocks_run_in_order(page):
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name], reason=f"{page.name} needs {NEEDS[page.name]}")
    text = page.read_text(encoding="utf-8")
    scope = {}
    for match in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text.count("\n", 0, match.start(1))
        # keep line numbers: a failure points into the page
        exec(compile("\n" * line + match[1], str(page), "exec"), scope)


def test_every_page_linked_from_the_readme_exists():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", readme):
        assert (ROOT / link).exists(), link
