"""The documentation site: what its parts are made of.  `make docs` builds it, where a warning is an error."""

import inspect
import re
import sys
from pathlib import Path

import pytest
import yaml

import limber as lb

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture
def site(monkeypatch):
    """The modules that make pages, as docs/conf.py imports them."""
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    for name in ("api", "docstrings"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import api
    import docstrings

    return api, docstrings


def test_reference_has_every_public_name_once(site):
    """Of `limber`, of the packages that it exports, and of those that define what it exports."""
    api, _ = site
    entries = [path for page in api.pages() for path in page.names]
    assert len(entries) == len(set(entries)) > 200
    there = [x for page in api.pages() for x in page.names.values()]
    for name in lb.__all__:
        x = getattr(lb, name)
        if inspect.ismodule(x):
            assert x.__name__ in api.public_packages()
            for inner in x.__all__:
                assert any(y is getattr(x, inner) for y in there), f"{x.__name__}.{inner}"
        else:
            assert f"limber.{name}" in entries


def test_pages_of_the_reference_name_their_entries(site, tmp_path):
    api, _ = site
    api.write(tmp_path)
    index = (tmp_path / "index.rst").read_text(encoding="utf-8")
    for page in api.pages():
        assert f"\n   {page.file.removesuffix('.rst')}\n" in index
        text = (tmp_path / page.file).read_text(encoding="utf-8")
        for path in page.names:
            assert re.search(rf"^\.\. auto(class|exception|function|data):: {path}$", text, re.M)


def test_every_page_of_the_reference_has_a_title_in_words(site):
    api, _ = site
    assert [page.package for page in api.pages() if page.package not in api.TITLES] == []


def test_the_reference_has_the_tasks_of_the_environments(site):
    pytest.importorskip("gymnasium", reason="environments need Gymnasium (the extra `gym`)")
    api, _ = site
    entries = {path.rsplit(".", 1)[-1] for page in api.pages() for path in page.names}
    assert {"flexible_arm_task", "flexible_spacecraft_task"} <= entries


def test_docstrings_become_definitions_code_and_escaped_text(site):
    _, docstrings = site
    text = """What it does with `q`, 2 * 3 and a_b.

    Parameters
    ----------
    one, two : first line,
        second line with `code`.
    rest : {"a": *x}

        example(1)

    - an item
    """
    made = docstrings.to_rst(inspect.cleandoc(text).splitlines())
    assert made[0] == r"What it does with \ ``q``\ , 2 \* 3 and a\_b."
    assert made[made.index("``one``, ``two``") + 1].startswith("    first line, second line with")
    assert r'    {"a": \*x} example(1)' in made and "- an item" in made
    assert ".. rubric:: Parameters" in made


def test_every_page_is_in_a_table_of_contents():
    """Guides that no list names are added when the site is built."""
    for folder in ("theory", "dev", "coming_from"):
        listed = (DOCS / folder / "index.md").read_text(encoding="utf-8").split("\n")
        for page in (DOCS / folder).glob("*.md"):
            assert page.stem == "index" or page.stem in listed, page
    guides = (DOCS / "guide" / "index.md").read_text(encoding="utf-8").split("\n")
    assert "OTHERS" in guides
    for line in guides:
        if re.fullmatch(r"[a-z_-]+", line):
            assert (DOCS / "guide" / f"{line}.md").exists(), line


def test_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == lb.__version__
    assert {"cff-version", "message", "title", "authors", "license"} <= set(citation)


PAGES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    ROOT / "benchmarks" / "README.md",
    *sorted(DOCS.glob("*/*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.name}")
def test_every_link_leads_to_a_page_and_a_heading(page):
    for target, anchor in links(page):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there), f"{target}#{anchor}"


def prose(page):
    """The text of a page without its code."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def links(page):
    found = re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)", prose(page))
    return [(target, anchor) for target, anchor in found if target or anchor]


def anchors(page):
    """The names of the headings of a page, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.M)
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-") for head in heads}
