"""What the commands write: never over what they read, and nothing lost."""

import os

import numpy as np
import pytest

import limber as lb
from helpers.command import limber

MODEL = """limber: 1
bodies:
  arm:
    beam: {length: 2, mass: 4, EI: 800}
    joint: {revolute: y}
"""
SCENARIO = """limber: 1
model: model.yaml
duration: 0.1
torque: {table: {csv: result.csv}}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.yaml").write_text(MODEL)
    (tmp_path / "scenario.yaml").write_text(SCENARIO)
    (tmp_path / "result.csv").write_text("t,arm\n0,1\n1,1\n")
    os.symlink(tmp_path / "model.yaml", tmp_path / "link.csv")
    os.link(tmp_path / "model.yaml", tmp_path / "hard.html")
    os.symlink(tmp_path / "model.yaml", tmp_path / "mode.png")
    return tmp_path


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(
    "command",
    [
        "simulate model.yaml --duration 0.1 --csv model.yaml",
        "simulate model.yaml --duration 0.1 --csv ./../{name}/model.yaml",
        "simulate model.yaml --duration 0.1 --csv link.csv",
        "simulate model.yaml --duration 0.1 --report hard.html",
        "simulate scenario.yaml --csv scenario.yaml",
        "simulate scenario.yaml --csv model.yaml",
        "simulate scenario.yaml --csv result.csv",
        "simulate scenario.yaml --out .",
        "modes model.yaml --plot mode.png",
    ],
)
def test_no_output_replaces_an_input(folder, monkeypatch, command):
    monkeypatch.chdir(folder)
    before = content(folder)
    done = limber(*command.format(name=folder.name).split(), code=2)
    assert "read by this command" in " ".join(done.output.split())
    assert content(folder) == before


def test_arrays_beside_a_model_are_inputs_too(folder, monkeypatch):
    position = np.array([[0.0, 0, 0], [1, 0, 0]])
    flexible = lb.FlexibleBody.from_nodes(
        mass=[1.0, 1.0],
        position=position,
        translation=position[:, :, None],
        rotation=np.zeros((2, 3, 1)),
        stiffness=[[4.0]],
    )
    arm = lb.Assembly("arm").attach("arm", flexible, lb.Revolute([0, 1, 0]))
    lb.save(arm, folder / "arm.yaml", arrays="npz")
    monkeypatch.chdir(folder)
    done = limber("simulate", "arm.yaml", "--duration", 0.1, "--csv", "arm.npz", code=2)
    assert "read by this command" in " ".join(done.output.split())
    assert lb.load("arm.yaml").build().nv == 2


def test_two_outputs_have_two_names(folder):
    same = folder / "a.html"
    options = ["--csv", same, "--report", same]
    done = limber("simulate", folder / "model.yaml", "--duration", 0.1, *options, code=2)
    assert "already written by --csv" in " ".join(done.output.split())
    assert not same.exists()


def test_output_through_a_link_keeps_the_link(folder):
    os.symlink(folder / "far.csv", folder / "near.csv")
    limber("simulate", folder / "model.yaml", "--duration", 0.1, "--csv", folder / "near.csv")
    assert (folder / "near.csv").is_symlink() and (folder / "far.csv").read_text().startswith("t,")


def test_demo_says_what_is_wrong_with_its_folder(folder):
    done = limber("demo", "--out", folder / "model.yaml", code=1)
    assert "model.yaml" in done.stderr
    assert (folder / "model.yaml").read_text() == MODEL


STILL = """limber: 1
bodies:
  block: {rigid: {mass: 1, inertia: [1, 1, 1]}, joint: fixed}
"""


def test_system_without_freedoms_is_simulated_and_reported(tmp_path):
    (tmp_path / "still.yaml").write_text(STILL)
    options = ["--report", tmp_path / "r.html", "--out", tmp_path / "out", "--plots"]
    done = limber("simulate", tmp_path / "still.yaml", "--duration", 1, *options)
    assert "left out" not in done.output and "diverged" not in done.output
    assert "<html" in (tmp_path / "r.html").read_text()
    assert (tmp_path / "out" / "result.csv").read_text().startswith("t\n0.0\n")
    assert (tmp_path / "out" / "energy.png").exists()
