"""The scripts of the gallery run, and each makes a picture that can be read."""

import ast
import re
import runpy

import matplotlib
import numpy as np
import pytest

from helpers.files import EXAMPLES

matplotlib.use("Agg")

import matplotlib.pyplot as plt

SCRIPTS = sorted((EXAMPLES / "gallery").glob("*.py"))
#: Scripts that take more than a second or two.
LONG = {"buckling", "payload_batch", "plate_reduction", "optimal_slew", "generated_c"}
LINES = 65


def marked(path):
    return pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in LONG))


@pytest.mark.parametrize("path", [marked(path) for path in SCRIPTS])
@pytest.mark.filterwarnings("error::limber.errors.TheoryWarning")  # good models stay in their range
def test_script_makes_one_picture_with_labels(path, monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    try:
        with matplotlib.rc_context():
            runpy.run_path(str(path))
        (number,) = plt.get_fignums()
        figure = plt.figure(number)
        assert [*filter(None, (ax.get_xlabel() + ax.get_title() for ax in figure.axes))]
        figure.canvas.draw()
        shown = np.asarray(figure.canvas.buffer_rgba())[..., :3]
        assert (shown < 255).any(axis=-1).mean() > 0.01  # not an empty page
    finally:
        plt.close("all")


def test_modes_of_a_spacecraft_are_lines_along_its_panels(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    try:
        runpy.run_path(str(EXAMPLES / "gallery" / "spacecraft_modes.py"))
        for axes in plt.gcf().axes:
            largest = []
            for line in axes.lines:
                y, z = line.get_data()
                assert (
                    np.diff(np.abs(y)) > 0
                ).all()  # from the root to the tip, without a step back
                largest.append(np.abs(z).max())
            assert max(largest) == pytest.approx(1.0, rel=0.01)  # it bends visibly
    finally:
        plt.close("all")


def test_there_are_enough_scripts_and_all_are_short():
    assert len(SCRIPTS) >= 20
    assert {path.stem for path in SCRIPTS} >= LONG
    for path in SCRIPTS:
        assert path.read_text(encoding="utf-8").count("\n") <= LINES, path.name


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_has_a_title_a_text_and_a_claim(path):
    text = path.read_text(encoding="utf-8")
    title, line, blank, *about = ast.get_docstring(ast.parse(text)).split("\n")
    assert line == "=" * len(title) and not blank and len(" ".join(about)) > 100
    assert re.search(r"^ *assert ", text, re.MULTILINE)
    assert text.endswith("plt.show()\n")
