"""Result files: exact round trips, the model inside, and what a killed run leaves."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import limber as lb

pytest.importorskip("h5py")
SOURCE = Path(lb.__file__).parents[1]


def system(fidelity="full"):
    a = lb.Assembly("craft", gravity=(0, 0, -1.5), fidelity=fidelity)
    a.attach("hub", lb.RigidBody(5.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5])), lb.Free())
    a.attach("panel", lb.beam(2.0, 1.0, EI=(50.0, 80.0), modes=1), lb.Revolute([0, 1, 0]), to="hub")
    return a.build()


@pytest.mark.parametrize("fidelity", ["full", "ruthless"])
def test_round_trip_is_exact(tmp_path, fidelity):
    s = system(fidelity)
    event = lb.Event(lambda t, q, v: q[6] + 0.1, name="ümlaut <falls>")
    r = lb.simulate(s, 0.5, events=event, every=0.01)
    assert r.events
    r.save(tmp_path / "r.h5")
    back = lb.Result.load(tmp_path / "r.h5")
    for name in ("t", "q", "v", "tau"):
        assert (getattr(back, name) == getattr(r, name)).all()
    assert back.events == r.events and back.message == r.message
    assert back.statistics == r.statistics
    assert back.system.fidelity == fidelity and list(back.system.bodies) == ["hub", "panel"]
    assert (back.energy == r.energy).all()


def test_a_file_written_on_the_way_is_the_same(tmp_path):
    s = system()
    r = lb.simulate(s, 0.5, every=0.01, save=tmp_path / "r.h5")
    back = lb.Result.load(tmp_path / "r.h5")
    assert (back.q == r.q).all() and back.statistics == r.statistics


def test_a_failed_run_leaves_its_rows(tmp_path):
    def torque(t, q, v):
        if t > 0.3:
            raise ValueError("sensor")
        return np.zeros(len(v))

    with pytest.raises(ValueError, match="sensor"):
        lb.simulate(
            system(), 1.0, torque=torque, every=0.01, max_step=0.005, save=tmp_path / "r.h5"
        )
    back = lb.Result.load(tmp_path / "r.h5")
    assert 0.2 < back.t[-1] <= 0.3 and "did not end" in back.message


CODE = """
import sys, time
import numpy as np
import limber as lb
sys.path.insert(0, sys.argv[2])
from test_storage import system
def slow(t, q, v):
    time.sleep(2e-4)
    return np.zeros(len(v))
print("going", flush=True)
lb.simulate(system(), 100.0, torque=slow, every=0.001, max_step=0.002, method="rk45", save=sys.argv[1])
"""


def test_a_killed_run_leaves_its_rows(tmp_path):
    path = tmp_path / "r.h5"
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    arguments = [sys.executable, "-c", CODE, str(path), str(Path(__file__).parent)]
    running = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE)
    try:
        running.stdout.readline()
        deadline = time.time() + 60
        rows = 0
        while rows < 50 and time.time() < deadline:
            time.sleep(0.2)
            if path.exists() and path.stat().st_size > 20_000:
                try:
                    rows = len(lb.Result.load(path))  # readable while it is written, too
                except lb.LimberError:
                    continue
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
        running.stdout.close()
    back = lb.Result.load(path)
    assert len(back) >= 50
    assert np.isfinite(back.q).all() and np.allclose(np.diff(back.t), 0.001)
    assert "did not end" in back.message


def test_refusals(tmp_path):
    with pytest.raises(lb.LimberError, match="no such file"):
        lb.Result.load(tmp_path / "none.h5")
    (tmp_path / "bad.h5").write_bytes(b"not a result")
    with pytest.raises(lb.LimberError, match="no result file"):
        lb.Result.load(tmp_path / "bad.h5")
    with pytest.raises(lb.LimberError, match="cannot be written"):
        lb.simulate(system(), 0.1, save=tmp_path / "none" / "r.h5")
    with pytest.raises(lb.LimberError, match="path"):
        lb.Result.load(3)
