"""Exit codes: a message for what a user can mend, never a traceback; what was computed is kept."""

import errno
import json
import os
import signal
import time

import pytest

from helpers.command import limber, limber_json, program, running
from helpers.files import EXAMPLES

SLEW = EXAMPLES / "canadarm_slew.yaml"

MODEL = """limber: 1
bodies:
  arm:
    beam: {length: 2, mass: 4, EI: 800}
    joint: {revolute: y}
"""

BAD_FILES = {
    "YAML": ("limber: 1\nbodies: [\n", "not valid YAML"),
    "unknown key": (MODEL.replace("length", "lenght"), "Did you mean 'length'?"),
    "wrong version": (MODEL.replace("limber: 1", "limber: 99"), "limber"),
    "negative mass": (MODEL.replace("mass: 4", "mass: -4"), "mass"),
    "NaN": (MODEL.replace("mass: 4", "mass: .nan"), "mass"),
    "wrong size": (
        "limber: 1\nmodel: {builtin: canadarm}\nduration: 1\ninitial: {q: [1, 2]}\n",
        "initial.q",
    ),
    "NaN torque": (
        "limber: 1\nmodel: {builtin: canadarm}\nduration: 1\ntorque: {constant: {link1: .nan}}\n",
        "torque",
    ),
    "unknown method": (
        "limber: 1\nmodel: {builtin: canadarm}\nduration: 1\nmethod: euler\n",
        "bad.yaml:4:1: method: must be one of auto, rk4",
    ),
    "singular": (MODEL.replace("revolute: y", "revolute: x"), "moves no mass"),
    "empty": ("", "empty"),
}

#: Torques that no step can follow after 1 s.
DIVERGING = """limber: 1
name: diverging
model: {builtin: canadarm}
torque: {table: {times: [0, 1, 2], bodies: {link1: [0, 1, 1e120]}}}
duration: 3
output: {every: 0.01}
"""


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_file_ends_with_3_and_says_where(tmp_path, case):
    text, words = BAD_FILES[case]
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    done = limber("simulate", file, *([] if "model:" in text else ["--duration", 1]), code=3)
    assert words in done.stderr and "bad.yaml" in done.stderr
    assert done.stdout == ""


def test_error_in_json_has_line_and_key(tmp_path):
    file = tmp_path / "bad.yaml"
    file.write_text(BAD_FILES["unknown key"][0])
    error = limber_json("info", file, code=3)["error"]
    assert (error["kind"], error["line"], error["key"]) == (
        "FileError",
        4,
        "bodies.arm.beam.lenght",
    )


@pytest.mark.parametrize("method", ["RK45", "cvode", "ida"])
def test_a_peer_that_gives_up_ends_with_4(tmp_path, method):
    """Its library may print what it likes: there is one JSON object on standard output."""
    if method != "RK45":
        pytest.importorskip("sksundae", reason="scikit-sundae is not installed (extra sundials)")
    file = tmp_path / "diverging.yaml"
    file.write_text(DIVERGING)
    found = limber_json("simulate", file, "--method", method, code=4)
    assert found["error"]["kind"] == "SimulationError" and 0.9 < found["reached"] < 3.0


@pytest.mark.parametrize("command", ["info", "modes", "simulate"])
def test_missing_file_ends_with_3(tmp_path, command):
    assert "no such file" in limber(command, tmp_path / "none.yaml", code=3).stderr
    assert "folder" in limber(command, tmp_path, code=3).stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["simulate", SLEW, "--method", "euler"], "unknown"),
        (["simulate", SLEW, "--method", "rk4"], "--step"),
        (["simulate", SLEW, "--duration", "-1"], "above zero"),
        (["simulate", SLEW, "--every", "nan"], "above zero"),
        (["simulate", SLEW, "--every", "1e-9"], "larger"),
        (["simulate", SLEW, "--engine", "steam"], "steam"),
        (["simulate", SLEW, "--plots"], "--out"),
        (["simulate", SLEW, "--csv", "no/such/folder/a.csv"], "does not"),
        (["simulate", SLEW, "--report", "a.txt"], ".html"),
        (["simulate", EXAMPLES / "canadarm.yaml"], "--duration"),
        (["modes", EXAMPLES / "canadarm.yaml", "--locked", "nobody"], "'link1', 'link2', 'link3'"),
        (["modes", EXAMPLES / "canadarm.yaml", "--count", "0"], "--count"),
        (["schema", "song"], "song"),
        (["dance"], "dance"),
    ],
    ids=lambda x: " ".join(map(str, x[:1] + x[2:])) if isinstance(x, list) else "",
)
def test_wrong_use_ends_with_2(arguments, words):
    assert words in limber(*arguments, code=2).stderr
    error = limber_json(*arguments, code=2)["error"]
    assert error["code"] == 2 and words in error["message"]


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (["info", "--json"], "MissingParameter", "Missing argument 'FILE'"),
        (["info", "--jsno", "--json"], "NoSuchOption", "--jsno"),
        (["--nonsense", "--json"], "NoSuchOption", "--nonsense"),
        (["--json", "info"], "NoSuchOption", "--json"),
        (["simulate", SLEW, "--json", "--rtol"], "BadOptionUsage", "--rtol"),
        (["dance", "--json"], "UsageError", "dance"),
    ],
)
def test_what_cannot_be_read_is_said_in_json_and_on_standard_error(arguments, kind, words):
    done = limber(*arguments, code=2)
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["kind"]) == (2, kind)
    assert words in error["message"] and "Error" in done.stderr
    plain = limber(*[a for a in arguments if a != "--json"], code=None)
    assert "{" not in plain.stdout


def test_diverging_simulation_ends_with_4_and_keeps_what_it_has(tmp_path):
    (tmp_path / "case.yaml").write_text(DIVERGING)
    out = tmp_path / "out"
    done = limber("simulate", tmp_path / "case.yaml", "--out", out, code=4)
    for words in (
        "got stuck at t = 1",
        "body 'link1'",
        "loosen rtol",
        f"to t = 1 s, is in {out}",
    ):
        assert words in done.stderr
    lines = (out / "result.csv").read_text().splitlines()
    assert len(lines) == 102 and lines[-1].startswith("1.0,")
    assert "got stuck" in json.loads((out / "summary.json").read_text())["message"]
    found = limber_json("simulate", tmp_path / "case.yaml", code=4)
    assert found["error"]["code"] == 4 and found["reached"] == pytest.approx(1.0)
    assert found["files"] == []


def test_states_that_overflow_are_still_written(tmp_path):
    options = ["--method", "rk4", "--step", 0.05, "--csv", tmp_path / "a.csv", "--out", tmp_path]
    done = limber("simulate", SLEW, *options, "--plots", code=4)
    assert "no longer finite" in done.stderr and "smaller step" in done.stderr
    assert len((tmp_path / "a.csv").read_text().splitlines()) > 1
    assert (tmp_path / "joints.png").exists()


def full_disk(_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_place_that_cannot_be_written_ends_with_1_and_keeps_what_was_there(tmp_path, monkeypatch):
    (tmp_path / "a.csv").write_text("old")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "result.csv").write_text("old")
    monkeypatch.setattr(os, "fsync", full_disk)
    options = ["--csv", tmp_path / "a.csv", "--out", tmp_path / "out"]
    done = limber("simulate", SLEW, "--rigid", *options, code=1)
    assert "No space left" in done.stderr and "a.csv" in done.stderr
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.read_text() for path in files] == ["old", "old"]


def test_program_speaks_json_on_stdout_and_messages_on_stderr(tmp_path):
    done = program("simulate", SLEW, "--duration", 11, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["reached"] == 11.0
    assert "keep their last values" in done.stderr


def test_debug_shows_where_an_error_came_from(tmp_path):
    limber("info", tmp_path / "none", code=3)  # without a traceback
    debug = program("info", tmp_path / "none", "--debug")
    assert debug.returncode == 3 and "Traceback" in debug.stderr
    (tmp_path / "case.yaml").write_text(DIVERGING)
    debug = program("simulate", tmp_path / "case.yaml", "--debug", "--json")
    assert debug.returncode == 4 and "Traceback" in debug.stderr
    assert json.loads(debug.stdout)["error"]["code"] == 4


def test_interrupt_anywhere_ends_with_130(monkeypatch):
    def interrupted(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("limber.io.file_kind", interrupted)
    assert "interrupted" in limber("info", SLEW, code=130).stderr


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals on Windows")
@pytest.mark.parametrize("request_to_end", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_simulation_ends_with_130_and_keeps_what_it_has(tmp_path, request_to_end):
    file = tmp_path / "a.csv"
    for method in ("dop853", "sdirk4"):  # compiled by now, so that the run begins at once
        limber("simulate", SLEW, "--duration", "0.1", "--method", method)
    with running("simulate", SLEW, "--duration", "1e6", "--every", "1", "--csv", file) as run:
        assert "keep their last values" in run.stderr.readline()  # said just before the run
        time.sleep(2.0)
        run.send_signal(request_to_end)
        _, err = run.communicate(timeout=60)
    assert run.returncode == 130, err
    assert "interrupted at t" in err and "Traceback" not in err
    assert len(file.read_text().splitlines()) > 2
