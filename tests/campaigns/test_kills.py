"""Campaigns whose processes are killed, whose disk is full, and on Dask: the same numbers to the bit."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

import limber as lb
from helpers.command import program, running
from helpers.studies import SCENARIO, STUDY, same, written

pytestmark = pytest.mark.slow
pytest.importorskip("zarr", reason="stores of campaigns need zarr, the extra `campaign`")

CASES, UNIT = 120, 3
#: Cases of some hundredths of a second.
LONG = SCENARIO.replace("duration: 0.2", "duration: 20").replace("every: 0.02", "every: 0.05")


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A study, and its campaign undisturbed."""
    folder = tmp_path_factory.mktemp("study")
    text = STUDY.replace("monte_carlo: 12", f"monte_carlo: {CASES}").replace(
        "unit: 2", f"unit: {UNIT}"
    )
    path = written(folder, text + "histories: true\n", LONG + "rtol: 1e-10\natol: 1e-12\n")
    return path, lb.campaign(path, processes=1)


def chunks(store):
    """The times at which work units were marked finished, by their numbers."""
    folder = store / "status" / "c"
    marks = folder.iterdir() if folder.is_dir() else ()
    return {int(mark.name): mark.stat().st_mtime_ns for mark in marks if mark.name.isdigit()}


def wait_for(store, units, process):
    """Wait until so many work units are finished."""
    while len(chunks(store)) < units:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(x) for x in file.read().split()]


def check_resumed(path, store, undisturbed, before):
    """Resume; nothing that was finished runs again, and all rows are those of the undisturbed campaign."""
    done = program("campaign", path, "--out", store.parent)
    assert done.returncode == 0, done.stderr
    after = chunks(store)
    assert len(after) == CASES // UNIT and all(after[unit] == when for unit, when in before.items())
    found = lb.campaign(path, store=store)
    assert same(found, undisturbed)
    assert found.dataset()["q"].equals(undisturbed.dataset()["q"])


@pytest.mark.parametrize("units", [0, 1, 7, 20, 37])
def test_a_killed_campaign_goes_on(given, tmp_path, units):
    path, undisturbed = given
    store = tmp_path / "study.zarr"
    with running("campaign", path, "--out", tmp_path) as process:
        wait_for(store, units, process)
        workers = children(process.pid)
        process.send_signal(signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 20.0
    while any(os.path.exists(f"/proc/{worker}") for worker in workers):  # they end by themselves
        assert time.monotonic() < deadline
        time.sleep(0.05)
    before = chunks(store)
    assert len(before) < CASES // UNIT
    check_resumed(path, store, undisturbed, before)


def test_a_killed_worker_is_replaced(given, tmp_path):
    path, undisturbed = given
    store = tmp_path / "study.zarr"
    with running("campaign", path, "--out", tmp_path) as process:
        for units in (5, 15):
            wait_for(store, units, process)
            while not (workers := children(process.pid)):
                time.sleep(0.01)
            os.kill(workers[0], signal.SIGKILL)
        assert process.wait(120) == 0
    assert same(lb.campaign(path, store=store), undisturbed)


def test_ctrl_c_keeps_what_is_finished(given, tmp_path):
    path, undisturbed = given
    store = tmp_path / "study.zarr"
    with running("campaign", path, "--out", tmp_path) as process:
        wait_for(store, 6, process)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 130, said
        assert (
            "cases did not run" in said
            and "continue with these" in said
            and "Traceback" not in said
        )
    check_resumed(path, store, undisturbed, chunks(store))


def test_a_full_disk_ends_a_campaign_in_words(given, tmp_path):
    path, undisturbed = given
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("a file system of its own cannot be mounted here")
    try:
        done = program("campaign", path, "--out", small)
        assert done.returncode == 1 and "No space left on device" in done.stderr
        assert "continues from there" in done.stderr and "Traceback" not in done.stderr
        before = chunks(small / "study.zarr")
        assert 0 < len(before) < CASES // UNIT
        subprocess.run(["mount", "-o", "remount,size=50m", str(small)], check=True)
        check_resumed(path, small / "study.zarr", undisturbed, before)
    finally:
        subprocess.run(["umount", str(small)], check=True)


@contextmanager
def cluster(workers):
    """The processes of a Dask scheduler with some workers, and its address."""
    pytest.importorskip("distributed", reason="needs Dask, the extra `distributed`")
    started = []

    def start(*arguments):
        log = subprocess.PIPE if not started else subprocess.DEVNULL
        command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
        started.append(subprocess.Popen(command, stderr=log, stdout=subprocess.DEVNULL, text=True))
        return started[-1]

    try:
        scheduler = start("scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1")
        for line in scheduler.stderr:
            if "tcp://" in line:
                address = line[line.index("tcp://") :].split()[0]
                break
        for _ in range(workers):
            start("worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")
        yield address, started
    finally:
        for process in started:
            process.kill()
            process.wait()
        started[0].stderr.close()


def on_dask(path, folder, address):
    """A campaign on a Dask cluster, as a program."""
    return running("campaign", path, "--out", folder, "--scheduler", address)


def test_dask_gives_the_same_numbers(given, tmp_path):
    path, undisturbed = given
    with cluster(2) as (address, _):
        assert same(lb.campaign(path, scheduler=address), undisturbed)


def test_a_killed_worker_of_dask_is_done_without(given, tmp_path):
    path, undisturbed = given
    store = tmp_path / "study.zarr"
    with cluster(2) as (address, processes), on_dask(path, tmp_path, address) as process:
        wait_for(store, 10, process)
        processes[1].kill()
        assert process.wait(120) == 0, process.stderr.read()
    assert same(lb.campaign(path, store=store), undisturbed)


def test_a_killed_scheduler_ends_the_campaign_in_words(given, tmp_path):
    path, undisturbed = given
    store = tmp_path / "study.zarr"
    with cluster(2) as (address, processes), on_dask(path, tmp_path, address) as process:
        wait_for(store, 10, process)
        processes[0].kill()
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 1 and "Dask cluster no longer answers" in said
        assert "Traceback" not in said
    before = chunks(store)
    assert 10 <= len(before) < CASES // UNIT
    check_resumed(path, store, undisturbed, before)


def test_a_scheduler_that_is_not_there_is_told(given):
    pytest.importorskip("distributed", reason="needs Dask, the extra `distributed`")
    with pytest.raises(lb.LimberError, match="no Dask scheduler at"):
        lb.campaign(given[0], scheduler="tcp://127.0.0.1:9")
