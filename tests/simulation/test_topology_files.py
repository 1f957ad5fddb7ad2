"""Changes of topology in result files: nothing is lost, whether the run ends or not, and earlier files are read."""

import warnings

import numpy as np
import pytest

import limber as lb
from limber.simulation import hdf5, recording
from simulation.grasping import GRASP, flyer

EVENTS = [
    lb.Event(0.3, lb.attach(GRASP, in_place=True), name="catch"),
    lb.Event(0.5, [lb.lock("arm1/boom"), lb.lock("arm1/hull")]),
    lb.Event(0.7, [lb.release("grasp"), lb.unlock("arm1/hull")]),
]


def run(**more):
    s, q, v = flyer()
    return lb.simulate(s, 1.0, q0=q, v0=v, every=0.02, **{"events": EVENTS, **more})


def assert_same(a, b):
    for name in ("t", "q", "v", "tau", "supplied", "stage"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert len(a.changes) == len(b.changes)
    for x, y in zip(a.changes, b.changes):
        assert str(x) == str(y) and x.event == y.event and x.energy == y.energy
        for name in ("q", "v", "q_after", "v_after"):
            np.testing.assert_array_equal(getattr(x, name), getattr(y, name))
        assert x.wrenches.keys() == y.wrenches.keys()
        for name in x.wrenches:
            np.testing.assert_array_equal(x.wrenches[name], y.wrenches[name])
        assert list(x.system.closures) == list(y.system.closures)
    assert [i.closures for i in a.topology] == [i.closures for i in b.topology]
    np.testing.assert_array_equal(a.vdot, b.vdot)
    for name, forces in a.constraint_forces().items():
        np.testing.assert_array_equal(forces, b.constraint_forces(name))


def test_files_keep_what_was_active_when(tmp_path):
    r = run(save=tmp_path / "a.h5")
    assert next(iter(r.system.bodies)) == "arm1/hull"  # names with slashes
    assert_same(r, lb.Result.load(tmp_path / "a.h5"))
    for rows in (slice(10, 40, 3), slice(None, None, -1), slice(40, None), slice(0, 0)):
        part = r[rows]
        part.save(tmp_path / "b.h5")
        if len(part):
            assert_same(part, lb.Result.load(tmp_path / "b.h5"))


def test_runs_that_do_not_end_keep_their_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(recording, "PAUSE", 0.0)

    def fails(t, q, v):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        run(events=[*EVENTS, lb.Event(0.85, fails)], save=tmp_path / "a.h5")
    assert not (tmp_path / "a.h5").exists()
    with pytest.warns(lb.ModelWarning, match="the run did not end"):
        read = lb.Result.load(tmp_path / "a.h5")
    so_far = caught.value.result
    assert len(so_far.changes) == 5 and so_far.t[-1] == pytest.approx(0.84)
    assert_same(so_far, read)
    # a change is there before the rows after it, wherever the file is cut
    data = (tmp_path / "a.h5.part").read_bytes()
    for size in range(len(data) - 1, len(data) // 2, -max(1, len(data) // 25)):
        (tmp_path / "cut.h5.part").write_bytes(data[:size])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", lb.ModelWarning)
            cut = lb.Result.load(tmp_path / "cut.h5")
        assert cut.stage.max(initial=0) <= len(cut.changes)
        np.testing.assert_array_equal(cut.v, so_far.v[: len(cut)])


def test_damaged_changes_are_refused(tmp_path):
    run(save=tmp_path / "a.h5")
    data = bytearray((tmp_path / "a.h5").read_bytes())
    at = data.index(b"grasp", 600)
    data[at] ^= 1
    (tmp_path / "a.h5").write_bytes(data)
    with pytest.raises(lb.FileError, match="damaged"):
        lb.Result.load(tmp_path / "a.h5")


def test_files_of_the_earlier_format_are_read(tmp_path, monkeypatch):
    r = run(events=())
    with monkeypatch.context() as patch:
        laid_out, block = hdf5._laid_out, hdf5._block
        patch.setattr(
            hdf5, "_laid_out", lambda rows, known: laid_out(_without(rows), _without(known))
        )
        patch.setattr(hdf5, "_block", lambda size, digest: block(size, digest, 2))
        r.save(tmp_path / "a.h5")
    assert (tmp_path / "a.h5").read_bytes().startswith(b"Limber result, format 2\n")
    assert_read(r, tmp_path / "a.h5")
    with monkeypatch.context() as patch:
        shapes, rows_of = recording.shapes, recording.rows_of
        patch.setattr(recording, "FORMAT", 2)
        patch.setattr(recording, "shapes", lambda *given: _without(shapes(*given)))
        patch.setattr(recording, "rows_of", lambda result: _without(rows_of(result)))
        file = recording.Recording(tmp_path / "b.h5", lambda: r)
        file.__exit__(None, RuntimeError(), None)
    with pytest.warns(lb.ModelWarning, match="the run did not end"):
        assert_read(r, tmp_path / "b.h5")


def _without(given):
    return {name: x for name, x in given.items() if name not in ("stage", "changes")}


def assert_read(r, path):
    read = lb.Result.load(path)
    np.testing.assert_array_equal(read.q, r.q)
    assert not read.changes and not read.stage.any() and len(read.stage) == len(r)
