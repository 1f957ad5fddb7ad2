"""Result files: exact round trips, the model inside, and what a killed, failed or interrupted run leaves."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import limber as lb
from limber.simulation import recording
from limber.simulation.file_content import ROWS
from limber.simulation.recording import Recording

h5py = pytest.importorskip("h5py")
SOURCE = Path(lb.__file__).parents[1]
posix = pytest.mark.skipif(sys.platform == "win32", reason="limits and kills as POSIX has them")


def system(fidelity="full"):
    a = lb.Assembly("craft", gravity=(0, 0, -1.5), fidelity=fidelity)
    a.attach("hub", lb.RigidBody(5.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5])), lb.Free())
    a.attach("panel", lb.beam(2.0, 1.0, EI=(50.0, 80.0), modes=1), lb.Revolute([0, 1, 0]), to="hub")
    return a.build()


def still():
    block = lb.RigidBody(1.0, (0, 0, 0), np.eye(3))
    return lb.Assembly("still").attach("block", block, lb.Fixed()).build()


def same(a, b):
    """Whether two results are the same to the bit, but for the description of the system."""
    arrays = all(getattr(a, n).tobytes() == getattr(b, n).tobytes() for n in ROWS)
    return arrays and (a.events, a.statistics, a.message) == (b.events, b.statistics, b.message)


def begins(part, whole):
    """Whether a result has the first rows of another one, to the bit."""
    first = whole[: len(part)]
    return all(getattr(part, n).tobytes() == getattr(first, n).tobytes() for n in ROWS)


def in_a_program(code, *arguments):
    """What a program of its own prints: one without the threads of the tests, which may crash."""
    environment = os.environ | {"PYTHONPATH": f"{SOURCE}{os.pathsep}{Path(__file__).parent}"}
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- what is in a file --------------------------------------------------------------------------------


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_round_trip_is_exact(tmp_path, fidelity):
    s = system(fidelity)
    event = lb.Event(lambda t, q, v: q[6] + 0.1, name="ümlaut <falls> \0 \ud800")
    r = lb.simulate(s, 0.5, events=event, every=0.01)
    assert r.events
    r.save(tmp_path / "r.h5")
    back = lb.Result.load(tmp_path / "r.h5")
    assert same(back, r)
    assert back.system.fidelity == fidelity and list(back.system.bodies) == ["hub", "panel"]
    assert (back.energy == r.energy).all()


def test_a_slice_and_no_rows_come_back(tmp_path):
    r = lb.simulate(system(), 0.5, every=0.01)
    for rows in (slice(None, None, 3), slice(0, 0), slice(7, 8)):
        r[rows].save(tmp_path / "r.h5")
        assert same(lb.Result.load(tmp_path / "r.h5"), r[rows])


def test_other_programs_read_the_file(tmp_path):
    r = lb.simulate(system(), 0.5, every=0.01)
    r.save(tmp_path / "r.h5")
    with h5py.File(tmp_path / "r.h5", "r") as file:
        assert all((file[name][:] == getattr(r, name)).all() for name in ROWS)
        assert "panel" in file.attrs["model"] and r.message in file.attrs["ending"]


@pytest.mark.parametrize("make", [system, still])
def test_a_file_written_on_the_way_is_the_same(tmp_path, monkeypatch, make):
    monkeypatch.setattr(recording, "PAUSE", 0.0)
    r = lb.simulate(make(), 0.5, every=0.01, save=tmp_path / "r.h5")
    assert same(lb.Result.load(tmp_path / "r.h5"), r)
    assert os.listdir(tmp_path) == ["r.h5"]


def test_system_without_freedoms_is_saved(tmp_path):
    r = lb.simulate(still(), 1.0)
    r.save(tmp_path / "r.h5")
    assert same(lb.Result.load(tmp_path / "r.h5"), r)


def test_files_that_cannot_be_read_or_written_are_refused_in_words(tmp_path):
    with pytest.raises(lb.FileError, match="no such file"):
        lb.Result.load(tmp_path / "none.h5")
    with pytest.raises(lb.FileError, match="not a regular file"):
        lb.Result.load(tmp_path)
    (tmp_path / "bad.h5").write_bytes(b"not a result")
    with pytest.raises(lb.FileError, match="not a result file"):
        lb.Result.load(tmp_path / "bad.h5")
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file.attrs["format"] = 1
    with pytest.raises(lb.FileError, match="earlier versions have no digest"):
        lb.Result.load(tmp_path / "other.h5")
    for path in (tmp_path / "none" / "r.h5", tmp_path):
        with pytest.raises(lb.FileError, match="cannot be written"):
            lb.simulate(system(), 0.1, save=path)
        with pytest.raises(lb.FileError, match="cannot be written"):
            lb.simulate(system(), 0.1).save(path)
    with pytest.raises(lb.LimberError, match="path"):
        lb.Result.load(3)
    r = lb.simulate(system(), 0.1)
    for name in ("x.csv", "x.yaml", "x.H5.png"):
        for write in (r.save, lambda path: lb.simulate(system(), 0.1, save=path)):
            with pytest.raises(lb.LimberError, match=f"'{name}' is not .* a result file: .*to_csv"):
                write(tmp_path / name)
        assert not (tmp_path / name).exists()
    with pytest.raises(lb.LimberError, match="tau of the result has shape"):
        lb.Result(r.system, r.t, r.q, r.v, r.tau[1:]).save(tmp_path / "r.h5")
    assert not (tmp_path / "r.h5").exists()


def test_a_file_that_is_cut_off_is_refused(tmp_path):
    path = tmp_path / "r.h5"
    lb.simulate(system(), 0.1).save(path)
    whole = path.read_bytes()
    for share in (0.3, 0.6, 0.9):
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(lb.FileError, match="cut off"):
            lb.Result.load(path)


# --- runs that do not reach their end -----------------------------------------------------------------


def test_a_failed_run_leaves_its_rows(tmp_path):
    def torque(t, q, v):
        if t > 0.3:
            raise ValueError("sensor")
        return np.zeros(len(v))

    with pytest.raises(ValueError, match="sensor") as failure:
        lb.simulate(
            system(), 1.0, torque=torque, every=0.01, max_step=0.005, save=tmp_path / "r.h5"
        )
    with pytest.warns(lb.ModelWarning, match="did not end"):
        back = lb.Result.load(tmp_path / "r.h5")
    assert 0.2 < back.t[-1] <= 0.3 and "did not end" in back.message
    assert len(back) == len(failure.value.result) and begins(back, failure.value.result)


def test_an_older_file_stays_until_a_run_has_ended(tmp_path):
    def torque(t, q, v):
        with pytest.warns(lb.ModelWarning, match="is still running"):
            assert same(lb.Result.load(tmp_path / "r.h5"), old)
        if t > 0.02:
            raise ValueError("sensor")
        return np.zeros(len(v))

    old = lb.simulate(system(), 0.1)
    old.save(tmp_path / "r.h5")
    with pytest.raises(ValueError, match="sensor"):
        lb.simulate(system(), 1.0, torque=torque, every=0.01, save=tmp_path / "r.h5")
    with pytest.warns(lb.ModelWarning, match=r"r\.h5\.part"):
        assert same(lb.Result.load(tmp_path / "r.h5"), old)
    new = lb.simulate(system(), 1.0, every=0.01, save=tmp_path / "r.h5")
    assert same(lb.Result.load(tmp_path / "r.h5"), new)


def test_one_run_at_a_time_writes_a_file(tmp_path):
    def torque(t, q, v):
        with pytest.raises(lb.FileError, match="another run is writing"):
            lb.simulate(system(), 0.1, save=tmp_path / "r.h5")
        return np.zeros(len(v))

    r = lb.simulate(system(), 0.01, torque=torque, every=0.01, save=tmp_path / "r.h5")
    assert same(lb.Result.load(tmp_path / "r.h5"), r)


class InterruptedAt:
    """A Ctrl-C at the n-th line of the functions that write rows."""

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename != recording.__file__:
            return None
        return self.line

    def line(self, frame, event, argument):
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.line


def written_with_an_interrupt(path, result, line):
    """Write 45 rows with a Ctrl-C at a line of the code that writes rows 20 to 40; whether it came."""
    rows, before, came = [20], sys.gettrace(), False
    with pytest.raises(ValueError), Recording(path, lambda: result[: rows[0]]) as file:
        file._keep(result[:20])
        rows[0] = 40
        sys.settrace(InterruptedAt(line))
        try:
            file._keep(result[:40])
        except KeyboardInterrupt:
            came = True
        finally:
            sys.settrace(before)
        rows[0] = 45
        raise ValueError  # a torque function
    return came


def test_rows_are_written_once_whenever_an_interrupt_comes(tmp_path):
    r = lb.simulate(system(), 0.5, every=0.01)
    line = 1
    while written_with_an_interrupt(tmp_path / "r.h5", r, line):
        with pytest.warns(lb.ModelWarning, match=r"the file has 45 rows\."):
            back = lb.Result.load(tmp_path / "r.h5")
        assert len(back) == 45 and begins(back, r)
        line += 1
    assert line > 10


def test_an_interrupted_flush_leaves_the_result_as_it_is(tmp_path, monkeypatch):
    flush, calls = Recording._write, []

    def interrupted(self, *arguments):
        flush(self, *arguments)
        calls.append(arguments)
        if len(calls) == 3:  # the first rows
            raise KeyboardInterrupt

    monkeypatch.setattr(recording, "PAUSE", 0.0)
    monkeypatch.setattr(Recording, "_write", interrupted)
    with pytest.warns(UserWarning, match="interrupted"):
        r = lb.simulate(system(), 5.0, every=0.01, method="rk4", step=1e-3, save=tmp_path / "r.h5")
    assert 0 < len(r) < 501 and (np.diff(r.t) > 0.0).all()
    assert same(lb.Result.load(tmp_path / "r.h5"), r)


def test_an_interrupt_while_the_result_is_saved_leaves_it_in_the_error(tmp_path, monkeypatch):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        lb.simulate(system(), 0.5, every=0.01, save=tmp_path / "r.h5")
    with pytest.warns(lb.ModelWarning, match="51 rows"):
        back = lb.Result.load(tmp_path / "r.h5")
    assert len(back) == len(stopped.value.result) and begins(back, stopped.value.result)


# --- a full disk --------------------------------------------------------------------------------------

FULL = """
import resource, sys, warnings
from pathlib import Path
import numpy as np
import limber as lb
from test_storage import begins, recording, same, system
path = Path(sys.argv[1])
old = lb.simulate(system(), 0.1, every=0.01)
whole = lb.simulate(system(), 1.0, every=1e-4)
old.save(path)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]

def full(write):
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, hard))
    try:
        write()
    except lb.FileError as error:
        return error
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

error = full(lambda: whole.save(path))
assert "r.h5: cannot be written: File too large" in str(error), error
assert same(lb.Result.load(path), old) and [p.name for p in path.parent.iterdir()] == ["r.h5"]

for pause in (1e9, 0.0):  # only the end is written, or rows on the way
    recording.PAUSE = pause
    error = full(lambda: lb.simulate(system(), 1.0, every=1e-4, save=path))
    assert "r.h5: cannot be written: File too large" in str(error), error
    assert begins(error.result, whole)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        assert same(lb.Result.load(path), old)
        part = lb.Result.load(str(path) + ".part")
        assert len(said) == 2 and "did not end" in part.message, said
    assert begins(part, whole)

done = lb.simulate(system(), 1.0, every=1e-4, save=path)  # with room again
assert same(lb.Result.load(path), done) and [p.name for p in path.parent.iterdir()] == ["r.h5"]
"""


@posix
def test_a_full_disk_loses_neither_the_old_file_nor_the_result(tmp_path):
    in_a_program(FULL, tmp_path / "r.h5")


# --- kills --------------------------------------------------------------------------------------------


def killed(work, after, begun=lambda: True):
    """Do something without end in a process of its own, and kill that some seconds after it has begun."""
    child = os.fork()
    if child == 0:
        while True:
            work()
    while not begun():
        time.sleep(0.005)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def killed_saves(path, times):
    """Kill saves of two results in turn; how often which of them was there."""
    wholes = [lb.simulate(system(), 1.0, every=1.0 / n) for n in (4000, 7000)]
    wholes[0].save(path)
    chance, found = random.Random(1), [0, 0]
    for _ in range(times):
        killed(lambda: [whole.save(path) for whole in wholes], chance.uniform(0.0, 0.1))
        back = lb.Result.load(path)
        which = len(back) == len(wholes[1])
        assert same(back, wholes[which])
        found[which] += 1
    return found


def killed_runs(path, times):
    """Kill runs that write as they go on; the most rows that one left."""
    recording.PAUSE = 0.0
    run = {"t_end": 10.0, "every": 0.01, "max_step": 0.002, "method": "rk45"}
    run |= {"torque": lambda t, q, v: np.zeros(len(v))}
    whole = lb.simulate(system(), **run)
    chance, most, part = random.Random(2), 0, recording.part_of(path)
    for _ in range(times):
        part.unlink(missing_ok=True)
        after = chance.uniform(0.0, whole.statistics.seconds)
        killed(
            lambda: lb.simulate(system(), **run, save=path),
            after,
            lambda: path.exists() or (part.exists() and part.stat().st_size > 10_000),
        )
        if not path.exists():
            with pytest.warns(lb.ModelWarning, match="did not end"):
                back = lb.Result.load(path)
            assert "did not end" in back.message
        else:  # the run ended before it was killed, and another one began
            with warnings.catch_warnings(action="ignore"):
                back = lb.Result.load(path)
            assert len(back) == len(whole)
            path.unlink()
        assert begins(back, whole)
        most = max(most, len(back))
    return most


KILLS = """
import sys
from pathlib import Path
import test_storage
print(getattr(test_storage, sys.argv[1])(Path(sys.argv[2]), int(sys.argv[3])))
"""


@posix
def test_a_kill_while_a_result_is_saved_leaves_the_old_or_the_new_one(tmp_path):
    assert sum(json.loads(in_a_program(KILLS, "killed_saves", tmp_path / "r.h5", 20))) == 20


@posix
def test_a_killed_run_leaves_its_rows(tmp_path):
    assert int(in_a_program(KILLS, "killed_runs", tmp_path / "r.h5", 6)) > 50
