"""Spoilt files: each gives a clear error or a right model; none another exception, none a hang."""

import time
import warnings
from collections import Counter

import numpy as np
import pytest

import limber as lb
from helpers.files import EXAMPLES, description
from helpers.limits import within
from helpers.mutants import of_text, of_tree

LIMIT = 60  # seconds for one file, far above what any takes
MODELS = ["canadarm.yaml", "dh_arm.yaml", "two_link.yaml", "everything.yaml"]
SCENARIOS = ["canadarm_slew.yaml", "canadarm_slew_printed.yaml", "free_floating.yaml"]

EVERYTHING = """\
limber: 1
name: everything
gravity: [0, 0, -9.81]
fidelity: full
bodies:
  base:
    rigid: {mass: 3, com: [0, 0.1, 0], inertia: [[1, 0, 0], [0, 1, 0.1], [0, 0.1, 1]], nodes: {a: [1, 0, 0]}}
    joint: {free: , damping: [1, 1, 1, 0, 0, 2], speed_limit: 3}
  rod:
    beam: {length: 2, mass: 1, EI: [50, 60], GJ: 9, EA: 1e5, modes: {bending: 1, torsion: 1, stretch: 1},
           elements: 3, damping: 0.01, load: [1, 0.1], offset: [0, 0, 0.1], rotation: {rpy: [0, 90, 0], degrees: true}}
    joint: {universal: [x, [0, 1, 1]], friction: [0.1, 0.2], limits: [[-1, 1], null], stop_stiffness: 100}
    to: base
    at: a
  panel:
    nodes:
      mass: [1, 2]
      position: [[0, 0, 0], [1, 0, 0]]
      translation: [[[0], [0], [0]], [[0], [0.1], [1]]]
      stiffness: [[50]]
      damping: [[0.1]]
      names: [root, end]
    joint: {compound: [{screw: {axis: z, pitch: 0.1}}, {simple: [[0], [0], [0], [1], [0], [0]],
                       stiffness: 4, rest: 0.1, limits: [null, 2], stop_stiffness: 1e3, effort_limit: .inf}]}
    to: rod
    at: tip
    offset: [0.1, 0, 0]
    rotation: {axis: y, angle: 0.3}
    inboard: end
  puck: {rigid: &puck {mass: 1, inertia: [1, 1, 1]}, joint: {planar: z, armature: 0.1}, rotation: {quaternion: [1, 0, 0, 0]}}
  rider: {rigid: *puck, joint: {cylindrical: -y}, to: puck}
"""


def text_of(name):
    return EVERYTHING if name == "everything.yaml" else (EXAMPLES / name).read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("mutants")
    for beside in EXAMPLES.glob("*.*"):
        (path / beside.name).write_bytes(beside.read_bytes())
    return path


def mutant(rng, name):
    return (of_text if rng.random() < 0.5 else of_tree)(rng, text_of(name))


def check_error(error, path):
    """A clear message: one place in a file, words, not too long."""
    text = str(error)
    assert text.startswith(str(path.parent)), text
    assert len(text) > len(str(path)) + 10 and len(text) < 8000
    assert "object at 0x" not in text and "Traceback" not in text and "pydantic" not in text


def check_model(assembly, folder):
    """A right model: it builds or says why not, and comes back from a file as it is."""
    lb.save(assembly, folder / "again.yaml")
    assert description(lb.load(folder / "again.yaml")) == description(assembly)
    try:
        with np.errstate(all="ignore"):
            s = assembly.build()
    except lb.LimberError:
        return "model that does not build"
    assert set(s.bodies) == set(assembly.attachments)
    return "model"


def outcome(path, folder, scenario):
    with within(LIMIT), warnings.catch_warnings():
        warnings.simplefilter("ignore", lb.ModelWarning)
        try:
            if scenario:
                lb.io.load_scenario(path)
                return "scenario"
            return check_model(lb.load(path), folder)
        except lb.FileError as error:
            check_error(error, path)
            return "error"


def run(folder, names, count, seed, scenario):
    counts = Counter()
    slowest = 0.0
    rng = np.random.default_rng(seed)
    for i in range(count):
        path = folder / "mutant.yaml"
        path.write_bytes(mutant(rng, names[i % len(names)]))
        start = time.perf_counter()
        try:
            counts[outcome(path, folder, scenario)] += 1
        except Exception as error:
            kept = path.read_bytes()
            raise AssertionError(f"mutant {i}: {error!r}\n{kept[:3000]!r}") from error
        slowest = max(slowest, time.perf_counter() - start)
    print(dict(counts), f"slowest {slowest:.2f} s")
    return counts


MANY = pytest.mark.slow


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=MANY)])
def test_mutated_models(folder, count):
    counts = run(folder, MODELS, count, 2024, scenario=False)
    assert counts["error"] > 0.4 * count and counts["model"] > 0.06 * count  # both are met


@pytest.mark.parametrize("count", [40, pytest.param(100, marks=MANY)])
def test_mutated_scenarios(folder, count):
    counts = run(folder, SCENARIOS, count, 7, scenario=True)
    assert counts["error"] > 0.4 * count and counts["scenario"] > 0.05 * count


def test_unspoilt_files_load(folder):
    for name in MODELS:
        path = folder / "mutant.yaml"
        path.write_text(text_of(name), encoding="utf-8")
        assert outcome(path, folder, scenario=False) == "model"
