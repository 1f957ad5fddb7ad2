"""The README, the guide pages and the ports from other tools run."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PORTS = sorted((ROOT / "docs" / "coming_from").glob("*.md"))
#: What pages need besides the extra `test`, or what is large there.
NEEDS = {"learning.md": "gymnasium", "viewing.md": "viser"}
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


@pytest.mark.slow
@pytest.mark.parametrize("library", ["jax", "torch"])
def test_blocks_of_a_library_run_where_it_is_installed(library):
    pytest.importorskip(library, reason=f"learning.md has blocks that need {library}")
    page = ROOT / "docs" / "guide" / "learning.md"
    text = page.read_text(encoding="utf-8")
    scope = {}
    for match in re.finditer(rf"^```python {library}\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        line = text.count("\n", 0, match.start(1))
        exec(compile("\n" * line + match[1], str(page), "exec"), scope)
    assert scope


@pytest.mark.parametrize("page", PORTS, ids=lambda p: p.name)
def test_ports_agree_with_the_other_tool(page):
    """Blocks "python peer" are those of the other tool, and run where it is installed."""
    text = page.read_text(encoding="utf-8")
    scope = {}
    for match in re.finditer(r"^```python ?(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        peer, code = match.groups()
        if not peer or importlib.util.find_spec(peer):
            line = text.count("\n", 0, match.start(2))
            exec(compile("\n" * line + code, str(page), "exec"), scope)


def test_every_page_linked_from_the_readme_exists():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", readme):
        assert (ROOT / link).exists(), link
