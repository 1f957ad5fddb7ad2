"""The package as a whole: light to import, its names, its command line."""

import os
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import limber


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_import_does_not_load_the_heavy_libraries():
    done = python(
        "import sys, limber; print([m for m in ('numba', 'scipy', 'casadi', 'sympy', 'matplotlib',"
        " 'rich', 'pydantic', 'yaml') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_import_does_not_load_the_packages_that_few_programs_need():
    done = python(
        "import sys, limber; print([p for p in ('algebra', 'codegen', 'drawing', 'plotting', 'scenarios', 'symbolic', 'viewer')"
        " if f'limber.{p}' in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_packages_that_are_imported_late_are_there():
    done = python(
        "import limber as lb; from limber import plotting, viewer;"
        "print(lb.plotting is plotting, lb.viewer is viewer, lb.scenarios.Scenario is lb.io.Scenario)"
    )
    assert done.stdout == "True True True\n", done.stderr


@pytest.mark.parametrize("name", ["plot", "animate", "report"])
def test_pictures_of_a_result_show_their_arguments_in_help(name):
    text = pydoc.plain(pydoc.render_doc(getattr(limber.Result, name)))
    assert f"{name}(self, " in text and "**options" in text and "; see `limber." in text


def test_names_that_a_lower_layer_offers_are_those_of_the_layer_above():
    assert limber.io.load_scenario is limber.scenarios.load_scenario
    assert limber.io.schema is limber.scenarios.schema
    assert limber.io.Scenario is limber.scenarios.Scenario


def test_names_that_are_imported_late_are_listed():
    done = python(
        "import sys, limber; print('symbolic' in dir(limber), 'sympy' in sys.modules, 'algebra' in dir(limber))"
    )
    assert done.stdout == "True False True\n", done.stderr
    assert set(limber.__all__) <= set(dir(limber))


def test_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert limber.__version__ == version("limber-dynamics")


def test_demo_does_the_main_job(tmp_path):
    """Tables, the paper's figures and the report; the flexible arm misses its desired ends by a few per cent."""
    done = python("from limber.cli import app; app()", COLUMNS="100")
    assert "demo" in done.stdout + done.stderr
    done = subprocess.run(
        [sys.executable, "-m", "limber.cli", "demo"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "160", "PYTHONPATH": str(Path(limber.__file__).parents[1])},
    )
    for text in (
        "Flexible Canadarm",
        "0.7500",
        "0.7469",
        "0.2581",
        "0.4744",
        "non-recursive",
        "none of this is seen",
        "(c) The loop of US 5,546,508",
    ):
        assert text in done.stdout, text
    names = {file.name for file in (tmp_path / "out").iterdir()}
    pictures = {f"figure{i}.png" for i in range(4, 9)}
    assert names == {*pictures, "controlled.png", "canadarm.html"}
    assert all(file.stat().st_size > 10_000 for file in (tmp_path / "out").iterdir())
