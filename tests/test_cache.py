"""Compiled code on disk: no answer depends on it, whatever happens to its folder."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import limber
from limber import cache
from limber.errors import CacheWarning

SOURCE = str(Path(limber.__file__).parents[1])

#: The smallest entry points, so that compiling them in a cache of their own is quick.
COMPILE = """\
from limber import native
print(native.load("tree_shift") is native.load("tree_shift"), native.address("armatures") > 0)
"""
#: What they print.
RIGHT = "True True\n"

#: A user who may not write what root or another user owns.  What he needs is imported before.
ANOTHER_USER = """\
import os, numba
from limber.native import entries
numba.njit(lambda x: x)(1)
if os.geteuid() == 0:
    os.setuid(65534)
"""


def started(code, folder, **environment):
    environment = {"LIMBER_CACHE_DIR": str(folder), "PYTHONPATH": SOURCE} | environment
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process, timeout=300):
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, err
    return out, err


def python(code, folder, **environment):
    return finished(started(code, folder, **environment))


def files(folder):
    return sorted(path for path in Path(folder).rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def warmed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels")
    out, err = python(COMPILE, folder)
    assert out == RIGHT
    assert "compiling tree_shift" in err and "compiling armatures" in err
    return folder


@pytest.fixture
def common():
    """An empty folder that other users reach; those of pytest are private."""
    with tempfile.TemporaryDirectory() as path:
        Path(path).chmod(0o755)
        yield Path(path)


@pytest.fixture
def folder(warmed, common):
    return Path(shutil.copytree(warmed, common / "cache"))


def lock(folder):
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)


def test_second_process_loads_kernels_from_the_cache(folder):
    assert python(COMPILE, folder) == (RIGHT, "")


def test_changed_kernels_are_compiled_anew(folder):
    """The cache is named after the content of the kernel files."""
    code = "from pathlib import Path; read = Path.read_bytes; "
    code += "Path.read_bytes = lambda p: read(p) + b'#' * (p.suffix == '.py')\n"
    out, err = python(code + COMPILE, folder)
    assert out == RIGHT and "compiling tree_shift" in err


def spoilt(content, how):
    """The content of a file after some accident."""
    middle = len(content) // 2
    return {
        "empty": b"",
        "a few bytes": content[:4],
        "half": content[:middle],
        "garbage": b"not what was written",
        "zeros from the middle on": content[:middle].ljust(len(content), b"\0"),
        "one bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
    }[how]


@pytest.mark.parametrize(
    "accidents",
    [("empty", "one bit"), ("half", "a few bytes"), ("garbage", "zeros from the middle on")],
    ids=" and ".join,
)
def test_damaged_kernels_are_compiled_again_and_replaced(folder, accidents):
    """A flipped bit in machine code would crash the process that runs it."""
    names = files(folder)
    for file, how in zip(names, accidents, strict=True):
        file.write_bytes(spoilt(file.read_bytes(), how))
    out, err = python(COMPILE, folder)
    assert out == RIGHT and "compiling tree_shift" in err and "compiling armatures" in err
    assert files(folder) == names
    assert python(COMPILE, folder) == (RIGHT, "")


def test_an_entry_that_numba_cannot_read_is_compiled_again(folder):
    """Whole as a file, but not what Numba expects."""
    for file in files(folder):
        content = b"no pickle"
        file.write_bytes(content + cache._digest(content))
    out, err = python(COMPILE, folder)
    assert out == RIGHT and "compiling tree_shift" in err
    assert python(COMPILE, folder) == (RIGHT, "")


def test_a_warm_cache_that_cannot_be_written_is_used(folder):
    """Warmed by one user, for instance while an image is built, and read by others."""
    lock(folder)
    assert python(ANOTHER_USER + COMPILE, folder) == (RIGHT, "")


def test_files_of_the_cache_are_for_every_user_to_read(folder):
    mask = os.umask(0)
    os.umask(mask)
    assert {file.stat().st_mode & 0o777 for file in files(folder)} == {0o666 & ~mask}


def test_a_cache_that_cannot_be_written_is_said_once(common):
    """Nobody's folders can be written: two entry points compile, and one warning says what to do."""
    locked = common / "locked"
    locked.mkdir(mode=0o555)
    environment = {"XDG_CACHE_HOME": str(locked / "user")}
    out, err = python(ANOTHER_USER + COMPILE, locked / "cache", **environment)
    assert out == RIGHT
    assert err.count("CacheWarning") == 1
    assert f"compiled code cannot be cached in {locked / 'cache'} (Permission denied) or" in err
    assert "Results are not affected. Set LIMBER_CACHE_DIR to a writable folder" in err
    assert list(locked.iterdir()) == []


def test_what_a_locked_cache_lacks_is_kept_in_the_folder_of_the_user(folder, common):
    for file in files(folder):
        if "tree_shift" in file.name:
            file.unlink()
    lock(folder)
    user = common / "user"
    user.mkdir()
    user.chmod(0o777)
    out, err = python(ANOTHER_USER + COMPILE, folder, XDG_CACHE_HOME=str(user))
    assert out == RIGHT
    assert (
        f"compiled code is cached in {user / 'limber'} because the preferred folder cannot be used: {folder} (Permission denied)"
        in err
    )
    assert len(files(user)) == 1
    assert python(ANOTHER_USER + COMPILE, folder, XDG_CACHE_HOME=str(user)) == (RIGHT, "")


#: Files of more than 2000 bytes break off, as on a disk that runs full.
FULL = """\
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
"""


def test_a_full_disk_costs_no_answer_and_keeps_no_parts(tmp_path):
    out, err = python(FULL + COMPILE, tmp_path)
    assert out == RIGHT
    assert err.count("CacheWarning") == 1
    assert f"compiled code cannot be cached in {tmp_path} (File too large)" in err
    assert files(tmp_path) == []


def test_a_cache_folder_that_is_a_file_is_passed_over(tmp_path):
    """Nothing is left in the temporary folder either."""
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {"XDG_CACHE_HOME": str(blocked), "TMPDIR": str(scratch)}
    out, err = python(COMPILE, blocked, **environment)
    assert out == RIGHT and f"cannot be cached in {blocked} (Not a directory) or" in err
    assert list(scratch.iterdir()) == []


def test_users_without_a_home_get_answers(folder):
    """No HOME, and a user that the system does not know, as in some containers."""
    unknown = "import os, pwd; pwd.getpwuid = lambda uid: {}[uid]\nfor name in ('HOME', 'XDG_CACHE_HOME'): os.environ.pop(name, None)\n"
    assert python(unknown + COMPILE, folder) == (RIGHT, "")
    out, err = python(unknown + COMPILE, "")
    assert out == RIGHT
    assert err.count("cannot be cached anywhere, because this user has no home folder") == 1
    assert "Set LIMBER_CACHE_DIR" in err


def test_processes_that_warm_a_cache_at_once(tmp_path):
    """All are right, the cache is whole, and nothing lies beside its entries."""
    wait = "import numba\nprint('ready', flush=True)\ninput()\n"
    running = [started(wait + COMPILE, tmp_path) for _ in range(2)]
    for process in running:
        assert process.stdout.readline() == "ready\n"
    for process in running:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [finished(process)[0] for process in running] == [RIGHT] * 2
    assert len(files(tmp_path)) == 2
    assert python(COMPILE, tmp_path) == (RIGHT, "")


def test_warnings_as_errors_do_not_spoil_the_next_call(tmp_path, monkeypatch):
    monkeypatch.setenv("LIMBER_CACHE_DIR", "/dev/null/x")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/y")
    cache._warn.cache_clear()
    with pytest.raises(CacheWarning, match=r"in /dev/null/x \(Not a directory\) or /dev/null/y"):
        cache.keep("name", b"content")
    assert cache.read("name") is None


# --- processes that fork, and Numba without its compiler ------------------------------------------------

FORK = """\
import os, sys, threading, time
from limber import integrators, native
from limber.native import compilation
native.load("tree_shift")
announced, begun = compilation._announce, threading.Event()
def announce(text):
    announced(text)
    begun.set()
compilation._announce = announce
thread = threading.Thread(target=native.address, args=("potential_energy",))
thread.start()
begun.wait()
time.sleep(0.2)
child = os.fork()
if child == 0:
    native.load("tree_shift")
    integrators.address("engine_forces")
    native.address("potential_energy")
    os._exit(0)
end = time.time() + 60
while time.time() < end:
    done, status = os.waitpid(child, os.WNOHANG)
    if done:
        break
    time.sleep(0.1)
else:
    os.kill(child, 9)
    sys.exit("the child hangs")
thread.join()
print(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forked_while_a_thread_compiles_has_every_entry(tmp_path):
    """What is compiled already, what was being compiled, and what was not yet."""
    assert python(FORK, tmp_path)[0] == "0\n"


def test_numba_without_its_compiler_is_refused_in_words(folder):
    code = """\
import limber as lb
s = lb.models.canadarm().build()
"""
    process = started(code, folder, NUMBA_DISABLE_JIT="1")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "CompileError: the environment variable NUMBA_DISABLE_JIT is set, but" in err
    assert "Unset it and start Python again." in err
