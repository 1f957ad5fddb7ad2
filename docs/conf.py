"""Sphinx builds the documentation by this file: `make docs`."""

from __future__ import annotations

import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS / "site"))

import api  # noqa: E402
import docstrings  # noqa: E402

import limber  # noqa: E402

# -- the site ------------------------------------------------------------------------------------------

project = "Limber"
author = "The Limber developers"
copyright = author
release = version = limber.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "mathml",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
]
exclude_patterns = ["site", "gallery/*.ipynb", "gallery/*.py", "gallery/*.zip"]
smartquotes = False  # docstrings have values in quotes
html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"Limber {release}"
html_static_path = ["site/static"]
html_css_files = ["limber.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0072B2", "color-brand-content": "#0072B2"}
}
copybutton_prompt_text = r">>> |\$ "
copybutton_prompt_is_regexp = True

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4

autosummary_generate = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # docstrings say what arguments are, with shapes and units
python_maximum_signature_line_length = 90
add_module_names = True
toc_object_entries_show_parents = "hide"

# -- the gallery ---------------------------------------------------------------------------------------

os.environ.setdefault("LIMBER_PROGRESS", "0")
sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
    "thumbnail_size": (400, 280),
    "image_srcset": ["2x"],
    "plot_gallery": "True",
}

# -- pages that are files elsewhere in the repository -----------------------------------------------------

#: Page to file.  The page has the text of the file, followed by its own.
ELSEWHERE = {
    "index": "README.md",
    "changelog": "CHANGELOG.md",
    "benchmarks": "benchmarks/README.md",
    "dev/contributing": "CONTRIBUTING.md",
}
LINK = re.compile(r"(\]\()(?!\w+:|#|/)([^)#\s]+\.\w+)((?:#[^)\s]*)?\))")


def read_elsewhere(app: Sphinx, page: str, source: list[str]) -> None:
    """Put the text of files of the repository on their pages, and let links lead to pages."""
    file = ROOT / ELSEWHERE[page] if page in ELSEWHERE else Path(app.env.doc2path(page))
    if file.suffix != ".md":
        return
    text = source[0]
    if page in ELSEWHERE:
        app.env.note_dependency(str(file))
        text = f"{file.read_text(encoding='utf-8')}\n{text}"
    here = (DOCS / page).parent
    places = {(ROOT / name).resolve(): f"{made}.md" for made, name in ELSEWHERE.items()}
    places[(ROOT / "examples" / "gallery" / "README.rst").resolve()] = "gallery/index.rst"

    def led(match: re.Match[str]) -> str:
        there = (file.parent / match[2]).resolve()
        target = DOCS / places[there] if there in places else there
        return f"{match[1]}{os.path.relpath(target, here)}{match[3]}"

    source[0] = LINK.sub(led, text)


def list_the_other_guides(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace OTHERS on the page of guides by those that it does not list."""
    if page == "guide/index":
        listed = set(re.findall(r"^[\w-]+$", source[0], re.MULTILINE))
        others = sorted(p.stem for p in (DOCS / "guide").glob("*.md"))
        source[0] = source[0].replace(
            "OTHERS", "\n".join(x for x in others if x not in {*listed, "index", "first-steps"})
        )


def read_the_list_again(
    app: Sphinx, env: object, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """The page of guides is out of date when a page has come or gone."""
    return ["guide/index"] if added or removed else []


def plain_docstrings(
    app: Sphinx, what: str, name: str, x: Any, options: object, lines: list[str]
) -> None:
    """Docstrings are plain text; where one refers to the head of its file, that is put below it."""
    head = "head of this file" in " ".join(lines) and inspect.getdoc(sys.modules[x.__module__])
    lines[:] = docstrings.to_rst(lines)
    if head and what in ("class", "function"):
        lines += [".. rubric:: The head of the file", "", *docstrings.to_rst(head.splitlines())]


def nothing_public_is_missing(app: Sphinx, env: object) -> None:
    """Warn of public names that the reference does not have."""
    there = set(app.env.domaindata["py"]["objects"])
    for page in api.pages():
        for path in page.names:
            if path not in there:
                logging.getLogger(__name__).warning("%s is not in the API reference", path)


def remove_pages_without_script() -> None:
    """Remove pages of the gallery whose scripts are gone since they were made."""
    scripts = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")}
    for page in (DOCS / "gallery").glob("*.rst"):
        if page.stem not in {*scripts, "index"}:
            page.unlink()


def setup(app: Sphinx) -> None:
    """Write the pages of the reference, and connect the above."""
    remove_pages_without_script()
    api.write(DOCS / "api")
    app.connect("env-get-outdated", read_the_list_again)
    app.connect("source-read", list_the_other_guides)
    app.connect("source-read", read_elsewhere)
    app.connect("autodoc-process-docstring", plain_docstrings)
    app.connect("env-check-consistency", nothing_public_is_missing)
