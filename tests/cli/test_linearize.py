"""`limber linearize`."""

import numpy as np
import pytest

import limber as lb
from helpers.closed import four_bar
from helpers.command import limber, limber_json
from helpers.files import EXAMPLES


def test_poles_matrices_and_files_of_a_model(tmp_path):
    picture, matrices = tmp_path / "bode.png", tmp_path / "model.npz"
    given = ["--input", "link1", "--output", "[position, link2, tip, y]", "--output", "link2"]
    found = limber_json(
        "linearize", EXAMPLES / "canadarm.yaml", *given, "--bode", picture, "--out", matrices
    )
    s = lb.load(EXAMPLES / "canadarm.yaml").build()
    m = lb.linearize(s, inputs=["link1"], outputs=[("position", "link2", "tip", "y"), "link2"])
    assert found["inputs"] == ["torque link1"]
    assert found["outputs"] == list(m.outputs)
    assert np.allclose(found["A"], m.A) and np.allclose(found["B"], m.B)
    assert picture.stat().st_size > 5000
    with np.load(matrices) as saved:
        assert np.array_equal(saved["C"], found["C"])


def test_poles_are_printed_as_frequencies():
    text = limber("linearize", EXAMPLES / "canadarm.yaml").stdout
    assert "frequency Hz" in text and "integrates" in text


def test_a_scenario_is_linearized_at_its_start_and_at_a_time():
    file = EXAMPLES / "canadarm_slew.yaml"
    start, later = (limber_json("linearize", file, "--at", at) for at in ("start", "0.05"))
    assert np.shape(start["A"]) == np.shape(later["A"])
    assert not np.allclose(start["A"], later["A"])


def test_closed_models_and_equilibria(tmp_path):
    lb.save(four_bar(), tmp_path / "bar.yaml")
    found = limber_json("linearize", tmp_path / "bar.yaml", "--at", "equilibrium")
    s = four_bar().build()
    expected = lb.modes(s, lb.equilibrium(s, lb.assemble(s))).frequencies
    assert found["frequencies"] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    "given, text",
    [
        (["--at", "noon"], "which has no times"),
        (["--input", "[force, link1"], "not a list as YAML has it"),
        (["--output", "[place, link1]"], "no kind of output"),
        (["--out", "model.txt"], "must end in .npz"),
    ],
)
def test_wrong_options_are_refused(given, text):
    assert text in limber("linearize", EXAMPLES / "canadarm.yaml", *given, code=2).stderr
