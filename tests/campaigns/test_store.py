"""Campaigns on disk: what is finished is never lost or run twice, and other studies are refused."""

import errno
import os
import signal
import time
import warnings
from functools import partial

import numpy as np
import pytest

import limber as lb
from helpers.studies import SCENARIO, STUDY, same, written
from limber.campaigns.store import StoreError

pytest.importorskip("zarr", reason="stores of campaigns need zarr, the extra `campaign`")


class Counted:
    """A function that notes its cases in a file, and is interrupted or waits at one of them."""

    def __init__(self, folder):
        self.folder, self.notes, self.waits = folder, folder / "notes", folder / "waits"
        self.stop_at = self.wait_at = None

    def __call__(self, x, seed):
        if x == self.stop_at:
            raise KeyboardInterrupt
        if x == self.wait_at:
            self.waits.touch()
            time.sleep(60)
        if x == 5:
            raise ValueError("five")
        with self.notes.open("a") as file:
            file.write(f"{x} ")
        return {"square": x * x, "noise": np.random.default_rng(seed).normal(size=2)}

    def cases(self):
        return sorted(map(int, self.notes.read_text().split()))


@pytest.fixture
def count(tmp_path):
    return Counted(tmp_path)


def run(function, store, **options):
    given = {
        "vary": {"x": list(range(14))},
        "method": "listed",
        "seed": 4,
        "unit": 3,
        "processes": 1,
    }
    return lb.campaign(function, store=store, **(given | options))


def test_an_interrupted_campaign_goes_on_and_repeats_nothing(count, tmp_path):
    undisturbed = run(count, None)
    count.notes.write_text("")
    count.stop_at = 7
    with pytest.warns(UserWarning, match="8 of its 14 cases did not run"):
        half = run(count, tmp_path / "c.zarr")
    assert (half.status == "not run").sum() == 8 and "six" not in half.messages
    count.stop_at = None
    done = run(count, tmp_path / "c.zarr")
    # case 6 had run, but its work unit was not finished
    assert same(done, undisturbed) and count.cases() == sorted([6, *(set(range(14)) - {5})])
    assert same(run(count, tmp_path / "c.zarr"), undisturbed) and len(count.cases()) == 14


def test_rows_that_are_being_stored_are_stored_before_an_interrupt(count, tmp_path, monkeypatch):
    from zarr.storage import _local

    put = _local._put

    def interrupted(path, *arguments, **options):
        if str(path).endswith("message/c/1"):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        return put(path, *arguments, **options)

    run(count, tmp_path / "c.zarr", vary={"x": [20]}, restart=True)  # makes the loop of zarr
    monkeypatch.setattr(_local, "_put", interrupted)
    with pytest.warns(UserWarning, match="8 of its 14 cases did not run"):
        half = run(count, tmp_path / "d.zarr")
    assert len(list((tmp_path / "d.zarr" / "status" / "c").iterdir())) == 2
    assert (half.status != "not run").sum() == 6


def test_a_store_is_read_by_others(count, tmp_path):
    xr = pytest.importorskip("xarray")
    done = run(count, tmp_path / "c.zarr")
    data = xr.open_zarr(tmp_path / "c.zarr", chunks=None, consolidated=False)
    assert np.array_equal(data["square"], done.quantities["square"], equal_nan=True)
    assert data["noise"].dims == ("case", "noise_0") and data["x"].values.tolist() == list(
        range(14)
    )
    assert data["status"].attrs["flag_meanings"].split()[int(data["status"][5])] == "failed"
    assert str(data["message"][5].values) == "ValueError: five"
    assert data["seed"].values.tolist() == list(done.seeds)


def test_histories_are_in_the_store(tmp_path):
    path, store = written(tmp_path, STUDY + "histories: true\n"), tmp_path / "c.zarr"
    memory, disk = (lb.campaign(path, store=s, processes=1) for s in (None, store))
    a, b = memory.dataset(), disk.dataset()
    assert np.array_equal(a["q"], b["q"]) and np.array_equal(a["t"], b["t"])
    for unit in (1, 4):
        (store / "status" / "c" / str(unit)).unlink()  # as if they had not been finished
    again = lb.campaign(path, store=store, processes=1).dataset()
    assert np.array_equal(a["v"], again["v"]) and np.array_equal(a["swing"], again["swing"])


def test_a_study_that_was_changed_is_refused(tmp_path):
    path, store = written(tmp_path), tmp_path / "c.zarr"
    lb.campaign(path, store=store)
    (tmp_path / "arm.yaml").write_text((tmp_path / "arm.yaml").read_text().replace("0.3", "0.4"))
    with pytest.raises(lb.LimberError, match=r"scenario: initial.*start again"):
        lb.campaign(path, store=store)
    (tmp_path / "arm.yaml").write_text((tmp_path / "arm.yaml").read_text().replace("0.4", "0.3"))
    path.write_text("# a comment changes nothing\n" + path.read_text())
    assert lb.campaign(path, store=store).finished.all()
    path.write_text(path.read_text().replace("seed: 3", "seed: 4"))
    with pytest.raises(lb.LimberError, match="changed: seed"):
        lb.campaign(path, store=store)
    assert lb.campaign(path, store=store, restart=True).finished.all()


def test_a_model_file_that_was_changed_is_refused(tmp_path):
    lb.save(
        lb.io.load_scenario(written(tmp_path).with_name("arm.yaml")).assembly, tmp_path / "m.yaml"
    )
    (tmp_path / "case.yaml").write_text("limber: 1\nmodel: m.yaml\nduration: 0.1\n")

    def again():
        lb.campaign(
            tmp_path / "case.yaml", vary={"link.EI": [100.0, 200.0]}, method="grid", rtol=1e-6,
            keep={"end": {"final": {"joint": "link"}}}, store=tmp_path / "c.zarr",
        )  # fmt: skip

    again()
    (tmp_path / "m.yaml").write_text((tmp_path / "m.yaml").read_text() + "\n# another\n")
    with pytest.raises(lb.LimberError, match=r"files: .*m\.yaml"):
        again()


def test_a_data_sheet_that_was_changed_is_refused(tmp_path):
    scenario = SCENARIO.replace(
        "torque: {constant: {link: 2.0}}",
        "controller: {pd: {kp: 20, kd: 4, sample_time: 0.01}, seed: 1, sensors: [{encoder: {datasheet: disc.yaml, rate: 100}},"
        " {tachometer: {rate: 100}}]}",
    )
    path = written(tmp_path, scenario=scenario)
    sheet = "name: disc\nkind: encoder\nsource: none\noptions: {{noise: {}}}\n"
    (tmp_path / "disc.yaml").write_text(sheet.format(0.001))
    lb.campaign(path, store=tmp_path / "c.zarr", processes=1)
    (tmp_path / "disc.yaml").write_text(sheet.format(0.1))
    with pytest.raises(lb.LimberError, match=r"files: disc\.yaml"):
        lb.campaign(path, store=tmp_path / "c.zarr", processes=1)


@pytest.mark.parametrize("begun", [False, True])
def test_a_store_that_another_process_writes_is_refused(count, tmp_path, begun):
    if begun:
        count.stop_at = 7
        with pytest.warns(UserWarning, match="interrupted"):
            run(count, tmp_path / "c.zarr")
        count.stop_at = None
    if (child := os.fork()) == 0:  # runs the campaign until it is ended
        count.wait_at = 10
        run(count, tmp_path / "c.zarr")
        os._exit(0)
    try:
        while not count.waits.exists():
            time.sleep(0.01)
        with pytest.raises(lb.LimberError, match="another process is running this campaign"):
            run(count, tmp_path / "c.zarr")
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    run(count, tmp_path / "c.zarr")


def test_folders_that_are_no_campaigns_are_refused(count, tmp_path):
    with pytest.raises(lb.FileError, match="not a campaign"):
        run(count, tmp_path)
    with pytest.raises(lb.FileError, match="not a campaign"):
        run(count, tmp_path, restart=True)
    assert tmp_path.exists()


def test_names_that_the_store_needs_are_refused(tmp_path):
    with pytest.raises(lb.LimberError, match="uses itself"):
        lb.campaign(
            lambda status: 1, vary={"status": [1]}, method="grid", store=tmp_path / "c.zarr"
        )


def test_a_full_disk_keeps_what_was_stored(count, tmp_path, monkeypatch):
    undisturbed = run(count, None)
    from zarr.storage import _local

    put, left = _local._put, [40]

    def full(path, *arguments, **options):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return put(path, *arguments, **options)

    monkeypatch.setattr(_local, "_put", full)
    with pytest.raises(StoreError, match=r"No space left on device.*continues from there"):
        run(count, tmp_path / "c.zarr")
    monkeypatch.setattr(_local, "_put", put)
    count.notes.write_text("")
    assert same(run(count, tmp_path / "c.zarr"), undisturbed)
    assert 0 < len(count.cases()) < 13


@pytest.mark.parametrize("writes", range(1, 44, 6))
def test_wherever_a_campaign_dies_it_goes_on(count, tmp_path, monkeypatch, writes):
    """The process ends at one of its writes; what the file system has then is what the next one finds."""
    undisturbed = run(count, None)
    if (child := os.fork()) == 0:
        from zarr.storage import _local

        put, left = _local._put, [writes]

        def dying(path, value, *arguments, **options):
            left[0] -= 1
            if left[0] < 0:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.with_suffix(".partial").write_bytes(b"half")
                os._exit(9)
            return put(path, value, *arguments, **options)

        _local._put = dying
        try:
            run(count, tmp_path / "c.zarr")
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert same(run(count, tmp_path / "c.zarr"), undisturbed)


def _arm():
    arm = lb.Assembly("arm")
    link = lb.RigidBody(1.0, (0.5, 0, 0), (0.01, 0.1, 0.1))
    return arm.attach("link", link, lb.Revolute("z", damping=0.1)).build()


def _pd(gain, distance=0.3):
    path = lb.trajectories.Cycloid(distance, 0.1)
    return lb.control.PD(gain, 1.0, sample_time=0.01, bodies="link", reference=path)


def _push(force, t, q, v):
    return [force]


def _shaped(omega):
    return lb.control.zv(omega).shaped(lb.trajectories.Cycloid(0.3, 0.1))


def _closure(force):
    return lambda t, q, v: [force]


class Push:
    """A torque with a number of its own, and one that changes while it is used."""

    def __init__(self, force):
        self.force, self.calls = force, 0

    def __call__(self, t, q, v):
        self.calls += 1
        return [self.force]


@pytest.mark.parametrize(
    ("argument", "make"),
    [
        ("torque", lambda x: _pd(10.0 * x)),
        ("torque", lambda x: _pd(10.0, 0.3 * x)),
        ("torque", Push),
        ("torque", _closure),
        ("torque", lambda x: partial(_push, x)),
        ("motion", lambda x: {"link": lb.trajectories.Cycloid(0.3 * x, 0.1)}),
        ("motion", lambda x: {"link": lb.trajectories.Trapezoid(0.0, 0.3, 9.0 * x, 300.0)}),
        ("motion", lambda x: {"link": _shaped(60.0 * x)}),
    ],
)
def test_arguments_that_were_changed_are_refused(tmp_path, argument, make):
    arm = _arm()

    def campaign(value):
        return lb.campaign(
            arm, 0.1, vary={"link.mass": [1.0, 2.0]}, method="grid", every=0.05, processes=1,
            keep={"end": {"final": {"joint": "link"}}}, store=tmp_path / "c.zarr", **{argument: value},
        )  # fmt: skip

    first = make(1.0)
    done = campaign(first)
    for same_one in (first, make(1.0)):
        assert same(campaign(same_one), done)
    with pytest.raises(lb.LimberError, match=f"scenario: {argument}"):
        campaign(make(2.0))


@pytest.mark.parametrize(
    "name", ["status", "message", "seed", "case", "x", "a/b", "..", "zarr.json"]
)
@pytest.mark.parametrize("stored", [False, True])
def test_names_that_stand_for_something_else_are_refused(tmp_path, name, stored):
    store = tmp_path / "c.zarr" if stored else None
    with pytest.raises(lb.LimberError, match=r"choose another|rename one"):
        lb.campaign(
            lambda x: {name: 2.0 * x}, vary={"x": [1, 2]}, method="grid", store=store, processes=1
        ).dataset()
    if name != "x":
        with pytest.raises(lb.LimberError, match="choose another name for the variable"):
            lb.campaign(lambda **y: 1.0, vary={name: [1, 2]}, method="grid", processes=1)
    with pytest.raises(lb.LimberError, match="must be text"):
        lb.campaign(lambda x: {1: x}, vary={"x": [1, 2]}, method="grid", processes=1)


def test_histories_have_their_names_for_themselves(tmp_path):
    text = STUDY.replace("swing:", "q:") + "histories: true\n"
    with pytest.raises(lb.LimberError, match="'q' is a name that the store uses"):
        lb.campaign(written(tmp_path, text), processes=1)


def _flip(chunk):
    content = bytearray(chunk.read_bytes())
    content[-6] ^= 1
    chunk.write_bytes(content)


@pytest.mark.parametrize("name", ["square/c/1", "noise/c/1/0", "message/c/1", "status/c/1"])
@pytest.mark.parametrize(
    "spoil", [_flip, lambda chunk: chunk.write_bytes(b"no"), lambda chunk: chunk.unlink()]
)
def test_results_that_are_damaged_are_computed_again(count, tmp_path, name, spoil):
    done = run(count, tmp_path / "c.zarr")
    count.notes.write_text("")
    spoil(tmp_path / "c.zarr" / name)
    gone = not (tmp_path / "c.zarr" / name).exists()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert same(run(count, tmp_path / "c.zarr"), done)
    words = "the results of 1 work units are damaged or missing, for instance those of cases 3 to 5"
    assert [words in str(x.message) for x in told] == ([] if gone and "status" in name else [True])
    assert count.cases() == [3, 4]
    assert same(run(count, tmp_path / "c.zarr"), done) and count.cases() == [3, 4]


def test_quantities_that_are_nan_are_no_damage(tmp_path):
    def campaign():
        return lb.campaign(
            lambda x: float("nan"), vary={"x": [1, 2, 3]}, method="grid", store=tmp_path / "c.zarr",
            processes=1,
        )  # fmt: skip

    campaign()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        campaign()


@pytest.mark.parametrize("name", ["square/zarr.json", "status/zarr.json", "noise/zarr.json"])
def test_a_store_whose_arrays_are_damaged_is_refused(count, tmp_path, name):
    done = run(count, tmp_path / "c.zarr")
    (tmp_path / "c.zarr" / name).unlink()
    with pytest.raises(lb.FileError, match=f"'{name[:6].rstrip('/')}' cannot be opened"):
        run(count, tmp_path / "c.zarr")
    assert same(run(count, tmp_path / "c.zarr", restart=True), done)


@pytest.mark.parametrize("name", ["t", "q", "v"])
@pytest.mark.parametrize("spoil", [_flip, lambda chunk: chunk.write_bytes(b"")])
def test_histories_that_are_damaged_are_computed_again(tmp_path, name, spoil):
    study = written(tmp_path, STUDY + "histories: true\n")
    store = tmp_path / "c.zarr"
    whole = lb.campaign(study, store=store, processes=1).dataset().load()
    (chunk,) = (x for x in (store / f"history_{name}" / "c" / "1").rglob("*") if x.is_file())
    spoil(chunk)
    with pytest.warns(UserWarning, match="the results of 1 work units are damaged"):
        again = lb.campaign(study, store=store, processes=1)
    assert again.dataset().load().identical(whole)


@pytest.mark.parametrize("name", ["seed/c/1", "x/c/4", "kind/c/0"])
@pytest.mark.parametrize(
    "spoil", [_flip, lambda chunk: chunk.write_bytes(b"no"), lambda chunk: chunk.unlink()]
)
def test_seeds_and_variables_that_are_damaged_are_written_again(tmp_path, name, spoil):
    xr = pytest.importorskip("xarray")
    store = tmp_path / "c.zarr"

    def square(x, kind):
        return x * x

    def again():
        both = {"x": list(range(14)), "kind": ["a", "bc"] * 7}
        run(square, store, vary=both)
        return xr.open_zarr(str(store), chunks=None, consolidated=False).load()

    whole = again()
    spoil(store / name)
    with pytest.warns(UserWarning, match="is damaged and is written again"):
        assert again().identical(whole)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert again().identical(whole)


def test_descriptions_of_arrays_that_are_damaged_are_told_in_words(count, tmp_path):
    run(count, tmp_path / "c.zarr")
    about = tmp_path / "c.zarr" / "square" / "zarr.json"
    about.write_text(about.read_text().replace("chunk_shape", "ghunk_shape"))
    with pytest.raises(lb.FileError, match="'square' cannot be opened"):
        run(count, tmp_path / "c.zarr")


def test_quantities_of_no_numbers_are_no_damage(tmp_path):
    given = {"a": np.zeros(0), "b": np.ones((2, 0)), "c": 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            run(lambda x: given, tmp_path / "c.zarr")


def test_messages_that_are_no_unicode_are_stored(tmp_path):
    def fails(x):
        raise OSError(f"no file {os.fsdecode(bytes([120, 255]))}")

    for _ in range(2):
        done = run(fails, tmp_path / "c.zarr")
        assert done.messages[0] == "OSError: no file x\\udcff"


def test_two_threads_do_not_write_one_store(count, tmp_path):
    told = []

    def meanwhile(x):
        if x == 7 and not told:
            with pytest.raises(lb.LimberError, match="another thread of this process") as refused:
                run(meanwhile, tmp_path / "c.zarr")
            told.append(refused)
        return x

    assert run(meanwhile, tmp_path / "c.zarr").finished.all() and told
