"""`limber fmu`."""

import zipfile

import pytest

from helpers.command import limber, limber_json
from limber.exchange.fmi import build

MODEL = """
limber: 1
name: swing
gravity: [0, 0, -9.81]
bodies:
  rope:
    rigid: {mass: 2.0, com: [0, 0, -1.0], nodes: {seat: [0, 0, -2.0]}}
    joint: {revolute: x, damping: 0.1}
"""
SCENARIO = """
limber: 1
name: push
model: swing.yaml
initial: {q: {rope: 0.3}}
duration: 1.0
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model and a scenario, in which the command runs; binaries are empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(build, "_binary", lambda *_: b"")
    (tmp_path / "swing.yaml").write_text(MODEL)
    (tmp_path / "push.yaml").write_text(SCENARIO)
    return tmp_path


def description(path):
    with zipfile.ZipFile(path) as archive:
        return archive.read("modelDescription.xml").decode()


def test_a_model_becomes_an_fmu_beside_it(folder):
    done = limber("fmu", "swing.yaml", "--node", "[rope, seat]", "--force", "rope")
    assert done.stdout == "wrote swing.fmu: FMI 3, model exchange and co-simulation\n"
    text = description(folder / "swing.fmu")
    for name in ("rope.q", "rope.tau", "rope.seat.position[3]", "rope.frame.force[1]", "rope.mass"):
        assert f'name="{name}"' in text
    assert 'fmiVersion="3.0"' in text


def test_options_and_json(folder):
    said = limber_json(
        "fmu", "swing.yaml", "--fmi", "2", "--out", "a.fmu", "--parameter", "rope.com", "--tolerance", "1e-9"
    )  # fmt: skip
    assert said == {"file": "swing.yaml", "name": "swing", "fmi": "2", "out": "a.fmu"}
    text = description(folder / "a.fmu")
    assert 'fmiVersion="2.0"' in text and 'tolerance="1e-09"' in text
    assert 'name="rope.com[3]"' in text and 'name="rope.mass"' not in text
    limber("fmu", "swing.yaml", "--parameter", "none")
    assert "parameter" not in description(folder / "swing.fmu")


def test_of_a_scenario_the_fmu_has_the_initial_state(folder):
    done = limber("fmu", "push.yaml")
    assert "joint torques are inputs" in done.stderr
    assert 'start="0.3"' in description(folder / "push.fmu")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--fmi", "4"], 2, "4"),
        (["--out", "swing.yaml"], 2, "swing.yaml"),
        (["--out", "a.zip"], 2, "must end in .fmu"),
        (["--parameter", "rope.EI"], 2, "rope.EI"),
        (["--node", "[rope, seet]"], 2, "seet"),
    ],
)
def test_what_is_wrong_is_said(folder, arguments, code, words):
    done = limber("fmu", "swing.yaml", *arguments, code=code)
    assert words in done.output
