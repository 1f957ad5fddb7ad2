"""Damaged result files: the same numbers to the bit, or an error that names the file; never others, never a hang."""

import random
import warnings

import numpy as np
import pytest

import limber as lb
from limber.simulation.file_content import ROWS
from limber.simulation.recording import Recording

pytest.importorskip("h5py")


@pytest.fixture(scope="module")
def result():
    a = lb.Assembly("craft", gravity=(0, 0, -1.5))
    a.attach("hub", lb.RigidBody(5.0, (0.1, 0, 0), np.diag([1.0, 2.0, 2.5])), lb.Free())
    a.attach("panel", lb.beam(2.0, 1.0, EI=(50.0, 80.0), modes=1), lb.Revolute([0, 1, 0]), to="hub")
    event = lb.Event(lambda t, q, v: q[6] + 0.1, name="falls")
    return lb.simulate(a.build(), 0.5, events=event, every=0.01)


def whole_file(result, folder):
    result.save(folder / "r.h5")
    return folder / "r.h5"


def unfinished_file(result, folder):
    """The rows of a run that failed, in four blocks."""
    rows = 0
    with pytest.raises(ValueError), Recording(folder / "r.h5", lambda: result[:rows]) as file:
        for rows in (10, 11, 30, 51):
            file._keep(result[:rows])
        raise ValueError
    return folder / "r.h5.part"


def damaged(data, chance):
    """A copy of some bytes with one kind of damage."""
    data, n = bytearray(data), len(data)
    size = min(chance.choice([1, 2, 8, 64, 512, 4096]), n)
    # half of all damage to the first bytes, where there is more to break
    at = (
        chance.randrange(n - size + 1)
        if chance.random() < 0.5
        else chance.randrange(min(n - size, 4096) + 1)
    )
    kind = chance.randrange(8)
    if kind < 2:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 2:
        del data[at:]
    elif kind == 3:
        data[at : at + size] = bytes(size)
    elif kind == 4:
        data[at : at + size] = chance.randbytes(size)
    elif kind == 5:
        other = chance.randrange(n - size + 1)
        data[at : at + size] = data[other : other + size]
    elif kind == 6:
        del data[at : at + size]
    else:
        data[at:at] = chance.randbytes(size)
    return bytes(data)


def outcome(path, result, finished):
    """What a file loads as: "same", "refused" or, of a run that did not end, "fewer"."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            back = lb.Result.load(path)
        except lb.FileError as error:
            assert str(path) in str(error) and error.file == str(path)
            return "refused"
    first = result[: len(back)]
    assert all(getattr(back, n).tobytes() == getattr(first, n).tobytes() for n in ROWS)
    if finished:
        assert not said and len(back) == len(result)
        assert (back.events, back.message) == (result.events, result.message)
        assert back.statistics == result.statistics
        assert (back.energy == result.energy).all()
        return "same"
    assert (
        len(said) == 1 and "did not end" in str(said[0].message) and "did not end" in back.message
    )
    return "same" if len(back) == len(result) else "fewer"


def outcomes(write, result, folder, count, seed):
    """How many of so many damaged copies of a file have which outcome."""
    path = write(result, folder)
    data, chance = path.read_bytes(), random.Random(seed)
    found = {"same": 0, "refused": 0, "fewer": 0}
    for _ in range(count):
        path.write_bytes(damaged(data, chance))
        found[outcome(path, result, write is whole_file)] += 1
    return found


def test_damaged_file_of_a_result_is_refused_or_loads_the_same(result, tmp_path):
    found = outcomes(whole_file, result, tmp_path, 400, seed=1)
    assert found["refused"] > 300 and not found["fewer"]


def test_damaged_file_of_an_unfinished_run_is_refused_or_loads_the_rows_before(result, tmp_path):
    found = outcomes(unfinished_file, result, tmp_path, 200, seed=2)
    assert found["refused"] > 10 and found["fewer"] > 50


def test_file_of_an_unfinished_run_that_is_cut_anywhere_has_the_rows_before(result, tmp_path):
    path = unfinished_file(result, tmp_path)
    data, rows = path.read_bytes(), []
    for size in range(0, len(data), 211):
        path.write_bytes(data[:size])
        if outcome(path, result, False) != "refused":
            with pytest.warns(lb.ModelWarning):
                rows.append(len(lb.Result.load(path)))
    assert rows == sorted(rows) and set(rows) == {0, 10, 11, 30}
